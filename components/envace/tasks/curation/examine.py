"""The first step of curation: a part of a source → a file of examined records, by any process.

One idea: whatever can be said of a record without knowing the others is said here, so that parts
can be examined anywhere, in any order, and never twice. The order is rules, language,
decontamination, split, token budget of the train side.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from envace.strict_json import canonical
from envace.tasks.checks import pii
from envace.tasks.checks.language import Language, language_of
from envace.tasks.checks.rules import Rule, problem
from envace.tasks.curation.split import Split, definition, name_key
from envace.tasks.overlap import decontaminate
from envace.tasks.overlap.exact import content_hash
from envace.tasks.overlap.near import sketch
from envace.tasks.rows import EXAMINED, Row, columns_of, write_rows
from envace.tasks.source import Part, Rejected, Source
from envace.tasks.task import Task

MAX_REASON = 500
"""Characters of a rejection that are kept."""


@dataclass(frozen=True)
class Checks:
    """What each record is held against."""

    rules: tuple[Rule, ...]
    languages: tuple[str, ...]
    manifest: Path | None
    """Of the benchmarks' items; None: tasks are compared with none."""
    split: Split
    count: Callable[[Task], int]
    """Tokens of a task."""
    max_tokens: int
    """Of a task that trains."""
    near: bool
    """Are near-duplicates looked for?"""


@dataclass(frozen=True)
class Job:
    """A part to examine; it is sent to another process, so it is picklable."""

    source: Source
    part: Part
    checks: Checks
    target: Path
    """The file that it becomes."""


def examine(job: Job) -> Path:
    """Writes the job's file, whole or not at all, unless it is there."""
    if not job.target.exists():
        write_rows(job.target, EXAMINED, examined(job))
    return job.target


def examined(job: Job) -> Iterator[Row]:
    """Every record of the part as one row."""
    for record in job.source.read(job.part):
        if isinstance(record, Rejected):
            yield _rejected(record.source, record.record, record.reason)
        else:
            yield _row(record, job.checks)


def _row(task: Task, checks: Checks) -> Row:
    if reason := problem(task, checks.rules) or _unwanted(task, checks):
        return _rejected(task.source, task.id, reason)
    placed = checks.split.place(task)
    if isinstance(placed, str):
        return _rejected(task.source, task.id, placed)
    tokens = None if placed.held_out else checks.count(placed.task)
    if tokens is not None and tokens > checks.max_tokens:
        reason = f"too_long: {tokens:,} tokens, limit {checks.max_tokens:,}"
        return _rejected(task.source, task.id, reason)
    return {
        **_written(placed.task),
        "sketch": sketch(placed.task) if checks.near else None,
        "n_tokens": tokens,
        "held_out": placed.held_out,
        "trimmed": placed.task is not task,
    }


def _unwanted(task: Task, checks: Checks) -> str | None:
    if checks.languages and (found := Language(checks.languages)(task)):
        return found
    return _decontaminator(checks.manifest)(task) if checks.manifest else None


@lru_cache(maxsize=2)
def _decontaminator(path: Path) -> decontaminate.Decontaminator:
    """Read once a process."""
    return decontaminate.load(path)


def _written(task: Task) -> Row:
    """The task's columns, and what the second step decides by."""
    return {
        **columns_of(task),
        "language": language_of(task),
        "n_turns": len(task.user_messages),
        "n_calls": len(task.recorded_calls),
        "n_tools": len(task.tools),
        "content": bytes.fromhex(content_hash(task))[:16],
        "definitions": [definition(tool) for tool in task.tools],
        "names": [] if task.family else [name_key(tool) for tool in task.tools],
        "pii": canonical({**pii.count(task)}),
    }


def _rejected(source: str, record: str, reason: str) -> Row:
    """Text that is not Unicode is shown by its escapes."""
    texts = {"source": source, "id": record, "reason": reason[:MAX_REASON]}
    return {k: v.encode(errors="backslashreplace").decode() for k, v in texts.items()}


def name_of(parts: list[object]) -> str:
    """A file name that is another one when anything in `parts` is."""
    return f"{hashlib.sha256(canonical(parts).encode()).hexdigest()[:32]}.parquet"
