"""How a stage runs: one closing line when it is done; one sentence and exit code 1 when not."""

import hashlib
import json
import sys
import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from envace.errors import EnvaceError

QUIET_SECONDS = 10
"""Without a terminal a bar prints a line at most this often."""


def run(name: str, body: Callable[[], str]) -> None:
    """Runs a stage; `body` returns what it made and where."""
    began = time.monotonic()
    try:
        made = body()
    except EnvaceError as error:
        sys.exit(f"{name}: {error}")
    say(f"{name}: {made} ({time.monotonic() - began:.0f} s)")


def say(text: str) -> None:
    """One line on standard output, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def fingerprint(*parts: object) -> str:
    """A short name for what `parts`, plain values, decide."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


class Bar:
    """Progress of a long loop: a bar on a terminal, now and then a line elsewhere."""

    def __init__(self, name: str, total: int) -> None:
        self._name, self._total, self._done = name, total, 0
        self._console = Console()
        self._began = self._spoke = time.monotonic()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("eta"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=self._console,
        )
        self._task = self._bar.add_task(name, total=total, note="")

    def __enter__(self) -> "Bar":
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def at(self, done: int, note: str = "") -> None:
        """`done` of the total are done; `note` says how it goes."""
        self._done, now = done, time.monotonic()
        self._bar.update(self._task, completed=done, note=note)
        last = done >= self._total
        if not self._console.is_terminal and (last or now - self._spoke >= QUIET_SECONDS):
            self._spoke = now
            left = (now - self._began) / max(done, 1) * (self._total - done)
            say(f"{self._name}: {done}/{self._total}, eta {left:.0f} s {note}".rstrip())

    def step(self, note: str = "") -> None:
        """One more is done."""
        self.at(self._done + 1, note)
