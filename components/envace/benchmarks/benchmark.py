"""A benchmark runs its items against a policy and gives a report for each mode it ran them in."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from envace.benchmarks.report import Report
from envace.inference.chat import ChatML
from envace.inference.policy import Policy
from envace.tasks.task import Task


@dataclass(frozen=True)
class Candidate:
    """The policy under test."""

    policy: Policy
    renderer: ChatML
    name: str
    """A short name, for example `base`."""
    digest: str
    """Content hash of its weights."""


@dataclass(frozen=True)
class Recordings:
    """The curated tasks; a suite with items of its own ignores them."""

    train: Sequence[Task]
    """What training saw."""
    heldout: Sequence[Task]
    """What it did not see."""


class Suite(Protocol):
    """What `build(config, recordings, seed)` of a suite plug-in returns."""

    def size(self, thorough: bool) -> int:
        """How many trials a run makes."""
        ...

    def run(
        self, candidate: Candidate, thorough: bool, done: Callable[[], None]
    ) -> Sequence[Report]:
        """One report for each mode, or only for the first unless it is to be `thorough`.

        `done` is called after every trial.
        """
        ...
