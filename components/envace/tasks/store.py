"""Tasks and rejections at rest: JSON Lines, one record a line, written whole or not at all."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import to_json

from envace.errors import TaskError
from envace.files import write_atomically
from envace.strict_json import loads
from envace.tasks.source import Rejected
from envace.tasks.task import Task


def read_tasks(path: Path) -> tuple[Task, ...]:
    """Every task of a JSONL file, in order. Raises `TaskError` naming the first bad line."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        raise TaskError(f"{path} is not there; run the stage that writes it.") from None
    return tuple(
        _task(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()
    )


def write_tasks(path: Path, tasks: Iterable[Task]) -> None:
    """Replaces `path` by `tasks`, one a line."""
    _write_lines(path, (task.model_dump_json().encode() for task in tasks))


def write_rejected(path: Path, rejected: Iterable[Rejected]) -> None:
    """Replaces `path` by `rejected`, one a line."""
    _write_lines(path, (to_json(asdict(record)) for record in rejected))


def _task(line: bytes, where: str) -> Task:
    try:
        return Task.model_validate(loads(line.decode()))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "the record"
        got = f"{field} is wrong ({first['msg'].lower()})"
    except ValueError as error:
        got = f"it is not JSON ({error})"
    raise TaskError(f"{where}: {got}; expected one task a line; correct or delete the line.")


def _write_lines(path: Path, lines: Iterable[bytes]) -> None:
    write_atomically(path, b"".join(line + b"\n" for line in lines))
