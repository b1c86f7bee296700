"""Role-wise advantage (arXiv 2608.06197): each role has its own baseline within a group.

    b(x, r) = mean of R over the outputs of role r in the group of task x
    A(o)    = R(episode of o) − b(x, role of o)

Letters: n outputs of one group.
"""

from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from envace.config import Config as BaseConfig


class Config(BaseConfig):
    """Options of the estimator; the defaults are the paper's reference code."""

    weighting: Literal["output", "episode"] = "output"
    """Weight of an episode in the baseline: by its outputs of the role, or the same for each."""
    divide_by_std: bool = False
    """Divide by the standard deviation of R over the role's outputs, as GRPO first did."""


def build(config: Config) -> "RoleWise":
    """The estimator with its options."""
    return RoleWise(config)


class RoleWise:
    """Advantages of the outputs of one group."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def __call__(
        self,
        rewards: Float[np.ndarray, " n"],
        roles: Int[np.ndarray, " n"],
        episodes: Int[np.ndarray, " n"],
    ) -> Float[np.ndarray, " n"]:
        """A of each output, from the reward, the role and the episode of each.

        A role with a single output, or whose outputs all have one reward, gets 0.
        """
        advantages = np.zeros_like(rewards)
        for role in np.unique(roles):
            chosen = roles == role
            own, whose = rewards[chosen], episodes[chosen]
            if np.ptp(own) == 0:
                continue
            counts = np.bincount(whose)[whose] if self._config.weighting == "episode" else 1
            baseline = np.average(own, weights=np.broadcast_to(1 / counts, own.shape))
            advantages[chosen] = own - baseline
            if self._config.divide_by_std:
                advantages[chosen] /= own.std()
        return advantages
