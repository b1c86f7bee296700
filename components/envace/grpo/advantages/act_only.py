"""ACT alone is trained: the ablation that shows what training REHEARSE adds.

    A(o) = R(episode of o) − mean of R over the ACT outputs of the group     if o acts
    A(o) = 0                                                                 if o rehearses

Letters: n outputs of one group.
"""

import numpy as np
from jaxtyping import Float, Int

from envace.episode import Role
from envace.grpo.advantages import role_wise


class Config(role_wise.Config):
    """Those of `role_wise`."""


def build(config: Config) -> "ActOnly":
    """The estimator with its options."""
    return ActOnly(config)


class ActOnly:
    """Role-wise advantages of the ACT outputs of one group; those of REHEARSE are 0."""

    def __init__(self, config: Config) -> None:
        self._role_wise = role_wise.build(config)

    def __call__(
        self,
        rewards: Float[np.ndarray, " n"],
        roles: Int[np.ndarray, " n"],
        episodes: Int[np.ndarray, " n"],
    ) -> Float[np.ndarray, " n"]:
        """A of each output, from the reward, the role and the episode of each."""
        acts = roles == list(Role).index(Role.ACT)
        return np.where(acts, self._role_wise(rewards, roles, episodes), 0.0)
