"""What a model answered, one JSON line each: a second run asks nothing again.

A line is on disk before its answer is used. A line that a killed run left half written goes.
"""

import fcntl
import os
from decimal import Decimal
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from envace.episode import Record
from envace.errors import TaskError


class _Line(Record):
    key: str
    text: str | None
    """The answer; none: there was none, but the request may have cost something."""
    cost: Decimal


class Verdicts:
    """Answers by key, in a file that is only ever appended to; used as a context.

    In memory are the keys and where their lines are. Raises `TaskError` when another run has the
    file, or when it holds anything else.
    """

    def __init__(self, path: Path) -> None:
        self.spent = Decimal(0)
        self._path, self._places = path, dict[str, int]()

    def __enter__(self) -> Self:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open("a+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._scan()
        except BlockingIOError:
            self._file.close()
            raise TaskError(f"{self._path} is in use by another run; wait for it.") from None
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def get(self, key: str) -> str | None:
        """The answer with this key, if there is one."""
        if (place := self._places.get(key)) is None:
            return None
        self._file.seek(place)
        return _Line.model_validate_json(self._file.readline()).text

    def add(self, key: str, text: str | None, cost: Decimal) -> None:
        """Appends an answer, or the cost of having none, and forces it to disk."""
        line = _Line(key=key, text=text, cost=cost)
        place = self._file.seek(0, os.SEEK_END)
        self._file.write(line.model_dump_json().encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._note(line, place)

    def _scan(self) -> None:
        self._file.seek(0)
        place = 0
        for number, line in enumerate(self._file, 1):
            if not line.endswith(b"\n"):
                self._file.truncate(place)
                return
            try:
                self._note(_Line.model_validate_json(line), place)
            except ValidationError:
                raise TaskError(
                    f"{self._path}, line {number} is no answer of a model; delete that line."
                ) from None
            place += len(line)

    def _note(self, line: _Line, place: int) -> None:
        self.spent += line.cost
        if line.text is not None:
            self._places[line.key] = place
