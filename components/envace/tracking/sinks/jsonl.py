"""A file with one JSON object a step: the run's own record, which needs no server.

One idea: the file is a log that a resumed run continues. Whatever it holds from the first step of
this run on was written by an attempt that did not survive, and goes.
"""

import json
import math
from pathlib import Path

from envace import config
from envace.files import write_atomically
from envace.tracking.tracker import Row


class Config(config.Config):
    """Where the file is."""

    path: Path
    """The file; its folder is made when it is not there."""


class JsonlSink:
    """Appends rows and flushes each, so that a killed run loses none that it reported."""

    def __init__(self, path: Path, first_step: int) -> None:
        kept = [row for row in read_rows(path) if row.step < first_step]
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, "".join(map(_line, kept)))
        self._file = path.open("a", encoding="utf-8")

    def log(self, row: Row) -> None:
        """Appends one line."""
        self._file.write(_line(row))
        self._file.flush()

    def close(self, failed: bool = False) -> None:
        """Closes the file."""
        self._file.close()


def build(config: Config, run: str, first_step: int = 1) -> JsonlSink:
    """The sink, positioned at `first_step`; the file's name says which run it is."""
    return JsonlSink(config.path, first_step)


def read_rows(path: Path) -> tuple[Row, ...]:
    """The rows of a file, none when there is no file.

    A last line without its newline is half a row that a kill left, and is not one.
    """
    if not path.exists():
        return ()
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    return tuple(_row(json.loads(line)) for line in lines)


def _row(fields: dict[str, float | None]) -> Row:
    metrics = {name: math.nan if value is None else value for name, value in fields.items()}
    return Row(int(metrics.pop("step")), metrics)


def _line(row: Row) -> str:
    """JSON has no NaN and no infinity: a value that is not finite becomes null."""
    metrics = {name: value if math.isfinite(value) else None for name, value in row.metrics.items()}
    return json.dumps({"step": row.step, **metrics}, allow_nan=False) + "\n"
