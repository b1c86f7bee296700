"""Pooled advantage: standard GRPO, one baseline for the outputs of both roles.

    b(x) = mean of R over all outputs in the group of task x
    A(o) = R(episode of o) − b(x)

Letters: n outputs of one group.
"""

import numpy as np
from jaxtyping import Float, Int

from envace.config import Config as BaseConfig


class Config(BaseConfig):
    """The pooled estimator has no options."""


def build(config: Config) -> "Pooled":
    """The estimator."""
    return Pooled()


class Pooled:
    """Advantages of the outputs of one group, whatever their role."""

    def __call__(
        self,
        rewards: Float[np.ndarray, " n"],
        roles: Int[np.ndarray, " n"],
        episodes: Int[np.ndarray, " n"],
    ) -> Float[np.ndarray, " n"]:
        """A of each output; 0 for all when they have one reward."""
        return rewards - rewards.mean() if np.ptp(rewards) else np.zeros_like(rewards)
