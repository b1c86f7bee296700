"""Pooled advantage: standard GRPO, one baseline for the outputs of both roles.

    b(x) = mean of R over all outputs in the group of task x
    A(o) = R(episode of o) − b(x)

Letters: n outputs of one group.
"""

import numpy as np
from jaxtyping import Float, Int

from envace.config import Config as BaseConfig


class Config(BaseConfig):
    """Options of the estimator."""

    divide_by_std: bool = False
    """Divide by the standard deviation of R over the group's outputs, as GRPO first did."""


def build(config: Config) -> "Pooled":
    """The estimator with its options."""
    return Pooled(config)


class Pooled:
    """Advantages of the outputs of one group, whatever their role."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def __call__(
        self,
        rewards: Float[np.ndarray, " n"],
        roles: Int[np.ndarray, " n"],
        episodes: Int[np.ndarray, " n"],
    ) -> Float[np.ndarray, " n"]:
        """A of each output; 0 for all when they have one reward."""
        if np.ptp(rewards) == 0:
            return np.zeros_like(rewards)
        return (rewards - rewards.mean()) / (rewards.std() if self._config.divide_by_std else 1.0)
