"""A reward is a value or a reason why there is none; a missing one is never 0."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from envace.episode import Episode, Step
from envace.tasks.task import Task


@dataclass(frozen=True)
class Valid:
    """A reward in [0, 1]."""

    value: float


@dataclass(frozen=True)
class Missing:
    """No reward could be had; the episode leaves its group."""

    reason: str


class Reward(Protocol):
    """Scores one finished episode, and says turn by turn whether the next may follow."""

    async def score(self, task: Task, episode: Episode) -> Valid | Missing:
        """The episode's reward."""
        ...

    def goes_on(self, task: Task, rounds: Sequence[Sequence[Step]]) -> bool:
        """May the next user message follow these rounds?"""
        ...
