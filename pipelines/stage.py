"""How a stage runs: one closing line when it is done; one sentence and exit code 1 when not."""

import hashlib
import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError
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
from envace.files import sha256_of
from pipelines.yaml12 import read_yaml

DVC_YAML = Path("dvc.yaml")
Kind = TypeVar("Kind")

QUIET_SECONDS = 10
"""Without a terminal a bar prints a line at most this often."""


class InputError(EnvaceError, RuntimeError):
    """What a stage reads is not there, or is not what the stage before it wrote."""


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


def read(path: Path, kind: type[Kind], maker: str) -> Kind:
    """The JSON file that stage `maker` wrote, as a `kind`. Raises `InputError` if it is not."""
    try:
        return TypeAdapter(kind).validate_json(path.read_bytes())
    except OSError as error:
        got = f"cannot be read ({error.strerror})"
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        got = f"is not as {maker} writes it ({place}: {first['msg'].lower()})"
    raise InputError(f"{path} {got}; run 'dvc repro -f -s {maker}', then 'dvc repro'.")


def code_of(name: str, dvc_yaml: Path = DVC_YAML) -> str:
    """A short name for the code that decides what stage `name` makes: its deps in dvc.yaml."""
    root = dvc_yaml.parent
    deps = [Path(dep) for dep in read_yaml(dvc_yaml)["stages"][name]["deps"]]
    files = {
        file
        for dep in deps
        if dep.parts[0] in ("components", "pipelines")
        for file in (root / dep, *(root / dep).rglob("*"))
        if file.is_file() and file.suffix != ".pyc"
    }
    return fingerprint(
        *((file.relative_to(root).as_posix(), sha256_of(file)) for file in sorted(files))
    )


class Fetching:
    """Says which file is fetched, and now and then how far that is; for `Cache.progress`."""

    def __init__(self) -> None:
        self._spoke: dict[str, float] = {}

    def __call__(self, uri: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if now - self._spoke.get(uri, -math.inf) < QUIET_SECONDS:
            return
        self._spoke[uri] = now
        far = f", {done >> 20:,} of {total >> 20:,} MiB" if done and total else ""
        say(f"fetching {uri}{far}")


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
