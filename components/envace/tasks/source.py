"""A source of recorded conversations: one file under `sources/` per data set.

A source yields a task, or a rejection with its reason, for every record it reads; it never skips
one in silence and never executes, unpickles or fetches anything because a record says so.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from envace.tasks.task import Task


@dataclass(frozen=True)
class Rejected:
    """A record that did not become a task."""

    source: str
    record: str
    """The record's id or its place in the source, for example `logs.jsonl:17`."""
    reason: str
    """A short code first, then what was got: `unknown_tool: 'fly' is not among the tools`."""


class Source(Protocol):
    """What `build(config, cache)` of a source plug-in returns; `cache` is an `artifacts.Cache`."""

    def read(self) -> Iterator[Task | Rejected]:
        """Every record once, in a stable order."""
        ...
