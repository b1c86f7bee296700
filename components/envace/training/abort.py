"""When a run is stopped before it wastes more time: limits on what a step measured.

A limit that is broken in `patience` steps in a row stops the run with the numbers in the sentence.
A quantity that a step has not measured breaks nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import Field

from envace.config import Config
from envace.errors import TrainingError


class Limits(Config):
    """The limits; null switches one off."""

    min_well_formed: float | None = Field(default=None, ge=0, le=1)
    """Least share of well-formed outputs, in each role."""
    min_entropy: float | None = Field(default=None, ge=0)
    """Least entropy in nats a token, in each role: below it the policy has collapsed."""
    max_dead_groups: float | None = Field(default=None, ge=0, le=1)
    """Largest share of ACT groups without an advantage."""
    max_mismatch_kl: float | None = Field(default=1.0, gt=0)
    """Largest KL between the policy that sampled and the one that trains, in nats a token."""
    max_ratio_p99: float | None = Field(default=None, gt=1)
    """Largest 99th percentile of the importance ratio."""
    patience: int = Field(default=3, ge=1)
    """Steps in a row."""


@dataclass(frozen=True)
class Breach:
    """A measured quantity beyond its limit."""

    metric: str
    value: float
    limit: str


@dataclass
class Watch:
    """Counts, for each metric, the steps in a row that broke its limit."""

    limits: Limits
    _run: dict[str, int] = field(default_factory=dict[str, int])

    def see(self, step: int, row: Mapping[str, float]) -> None:
        """Raises `TrainingError` when a limit is broken for the last step that it may be."""
        found = {breach.metric: breach for breach in breaches(row, self.limits)}
        self._run = {metric: self._run.get(metric, 0) + 1 for metric in found}
        for metric, count in self._run.items():
            if count >= self.limits.patience:
                raise TrainingError(
                    f"step {step}: {metric} is {found[metric].value:.3g}, {found[metric].limit}, "
                    f"for {count} steps in a row; lower train.schedule.learning_rate or look at "
                    "the data, or change train.abort if this is meant."
                )


def breaches(row: Mapping[str, float], limits: Limits) -> list[Breach]:
    """The limits that a step breaks."""
    roles = ("act", "rehearse")
    least = {
        **{f"{role}/well_formed": limits.min_well_formed for role in roles},
        **{f"{role}/entropy": limits.min_entropy for role in roles},
    }
    most = {
        "act/dead_groups": limits.max_dead_groups,
        "update/mismatch_kl": limits.max_mismatch_kl,
        "update/ratio_p99": limits.max_ratio_p99,
    }
    return [
        Breach(metric, row[metric], f"expected {side} {limit:g}")
        for side, table, broken in (
            ("at least", least, float.__lt__),
            ("at most", most, float.__gt__),
        )
        for metric, limit in table.items()
        if limit is not None and metric in row and broken(float(row[metric]), float(limit))
    ]
