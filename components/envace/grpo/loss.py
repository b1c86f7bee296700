"""The objective that is maximised, as printed, and negated once.

    ratio(t) = exp(log π(t) − log π_sampled(t))
    J        = Σ_t min(ratio · A, clip(ratio, 1 − low, 1 + high) · A) / tokens

The mean is over all sampled tokens of the batch; `tokens` is given, so that the sum of the losses
of a batch's packs is exactly the loss of the batch. Letters: t sampled tokens.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from envace.grpo.settings import Clip


def clipped_loss(
    logprobs: Float[Tensor, " t"],
    sampled: Float[Tensor, " t"],
    advantages: Float[Tensor, " t"],
    clip: Clip,
    tokens: int,
) -> Float[Tensor, ""]:
    """−J of some of a batch's sampled tokens; `tokens` counts those of the whole batch."""
    ratio = torch.exp(logprobs - sampled)
    clipped = ratio.clamp(1 - clip.low, 1 + clip.high)
    objective = torch.minimum(ratio * advantages, clipped * advantages)
    return -objective.sum() / tokens


def imitation_loss(logprobs: Float[Tensor, " t"], tokens: int) -> Float[Tensor, ""]:
    """Negative mean log-probability of demonstrated tokens (the warm start's loss)."""
    return -logprobs.sum() / tokens
