"""A source of recorded conversations: one file under `sources/` per data set.

A source is read in parts, so that many processes can read it at once and a run that was stopped
goes on where it was. It yields a task, or a rejection with its reason, for every record it reads;
it never skips one in silence and never executes, unpickles or fetches anything because a record
says so.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from envace.episode import Record
from envace.tasks.task import Task


class Part(Record):
    """A piece of a source that is read on its own."""

    name: str
    """Unique in its source, for example `logs.jsonl:4194304-8388608`."""
    key: str
    """Changes when what the part would yield changes: a hash of its bytes, or of what makes it."""
    place: str = ""
    """Where it is: a file, a domain; the source knows which."""
    start: int = 0
    """First byte, row or seed."""
    stop: int = 0
    """One past the last."""


@dataclass(frozen=True)
class Rejected:
    """A record that did not become a task."""

    source: str
    record: str
    """The record's id or its place in the source, for example `logs.jsonl:17`."""
    reason: str
    """A short code first, then what was got: `unknown_tool: 'fly' is not among the tools`."""


class Source(Protocol):
    """What `build(config, cache)` of a source plug-in returns; `cache` is an `artifacts.Cache`.

    It is picklable, since worker processes read its parts.
    """

    def parts(self) -> Sequence[Part]:
        """The pieces, in a stable order that depends on the data alone; fetches what is missing."""
        ...

    def read(self, part: Part) -> Iterator[Task | Rejected]:
        """Every record of the part once, in a stable order."""
        ...


def read_all(source: Source) -> Iterator[Task | Rejected]:
    """Every record of the source, part by part, in this process."""
    for part in source.parts():
        yield from source.read(part)
