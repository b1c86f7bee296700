"""Metrics of a run, step by step, handed to every place that keeps them.

One idea: a metric is `area/quantity` at a step (`reward/mean`, `loss/act`). A sink keeps it in its
own way; no sink may stop the run, and the training loop knows none of them by name.
"""

import contextlib
import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from envace.files import write_atomically

_NAME = re.compile(r"[a-z][a-z0-9_]*(/[A-Za-z0-9_.=-]+)+")


@dataclass(frozen=True)
class Row:
    """All metrics of one step."""

    step: int
    metrics: Mapping[str, float]


class Sink(Protocol):
    """What `build(config, run, first_step)` of a sink plug-in returns.

    `run` names the run. Steps are counted from 1; `first_step` is the first that will be logged:
    1 in a new run, more in one that was resumed.
    """

    def log(self, row: Row) -> None:
        """Keeps the metrics of one step; steps come in order."""
        ...

    def close(self, failed: bool = False) -> None:
        """Hands over what is left and releases what is held; `failed` if the run broke off."""
        ...


class Tracker:
    """Hands each row to every sink, and closes them when its `with` block ends."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = tuple(sinks)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(failed=kind is not None)

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Keeps `metrics`, whose names are `area/quantity`, of `step`."""
        bad = [name for name in metrics if not _NAME.fullmatch(name)]
        assert not bad, f"metric {bad[0]!r} is not named area/quantity"
        row = Row(step, {name: float(value) for name, value in metrics.items()})
        for sink in self._sinks:
            sink.log(row)

    def close(self, failed: bool = False) -> None:
        """Closes every sink, whatever happens to the others."""
        with contextlib.ExitStack() as stack:
            for sink in self._sinks:
                stack.callback(sink.close, failed)


def write_curve(rows: Sequence[Row], path: Path) -> None:
    """Writes rows as a CSV that `dvc plots` reads: `step`, then a column a metric.

    A metric that a step lacks leaves its cell empty.
    """
    names = sorted({name for row in rows for name in row.metrics})
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["step", *names])
    for row in rows:
        writer.writerow([row.step, *(row.metrics.get(name, "") for name in names)])
    write_atomically(path, text.getvalue())
