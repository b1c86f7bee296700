"""Role-wise advantage against the other episodes alone (RLOO, arXiv 2402.14740, per role).

    b(o) = mean of R over the outputs of o's role in the group's other episodes
    A(o) = R(episode of o) − b(o)

An output is not part of its own baseline, so the gradient has no bias of 1/G. Letters: n outputs of
one group.
"""

import numpy as np
from jaxtyping import Float, Int

from envace.config import Config as BaseConfig


class Config(BaseConfig):
    """The estimator has no options."""


def build(config: Config) -> "LeaveOneOut":
    """The estimator."""
    return LeaveOneOut()


class LeaveOneOut:
    """Advantages of the outputs of one group."""

    def __call__(
        self,
        rewards: Float[np.ndarray, " n"],
        roles: Int[np.ndarray, " n"],
        episodes: Int[np.ndarray, " n"],
    ) -> Float[np.ndarray, " n"]:
        """A of each output; 0 where no other episode has an output of its role."""
        advantages = np.zeros_like(rewards)
        for output, (role, episode) in enumerate(zip(roles, episodes, strict=True)):
            others = rewards[(roles == role) & (episodes != episode)]
            if others.size:
                advantages[output] = rewards[output] - others.mean()
        return advantages
