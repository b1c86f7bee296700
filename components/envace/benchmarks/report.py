"""A report: each trial of a benchmark is one row, and the rows are counted in one place.

An infrastructure failure is a row with status `infra`: it is counted apart and never scored.
"""

from typing import Literal

from envace.episode import Message, Record


class Trial(Record):
    """One item, run once."""

    item: str
    slice: str
    """What the score is broken down by, for example `airline/trap`."""
    status: Literal["pass", "fail", "infra"]
    score: float
    """In [0, 1]; of an `infra` row always 0 and never counted."""
    tokens: int = 0
    """Tokens sampled, private rehearsal included."""
    seconds: float = 0.0
    """Wall-clock time of the trial; trials of a batch share their machine."""
    why: str = ""
    """What made it fail, in a few words."""
    messages: tuple[Message, ...] = ()
    """The committed conversation."""
    memory: str = ""
    """The memory that private rehearsal left, if it ran."""


class Report(Record):
    """All trials of one suite with one policy in one mode."""

    suite: str
    policy: str
    """A short name of the policy, for example `base`, `warmstart`, `grpo`."""
    digest: str
    """Content hash of the weights that answered."""
    mode: str
    """How it answered, for example `N=0` or `N=2 parallel`."""
    seed: int
    n_expected: int
    trials: tuple[Trial, ...]

    @property
    def scored(self) -> tuple[Trial, ...]:
        """The trials that count."""
        return tuple(trial for trial in self.trials if trial.status != "infra")

    @property
    def complete(self) -> bool:
        """Was every expected trial scored?"""
        return len(self.scored) == self.n_expected

    @property
    def success(self) -> float:
        """Share of the scored trials that passed; 0 when none was scored."""
        passed = sum(trial.status == "pass" for trial in self.scored)
        return passed / len(self.scored) if self.scored else 0.0
