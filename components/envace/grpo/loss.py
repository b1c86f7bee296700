"""The objective that is maximised, as printed; `update` negates its sum once.

    ratio(t) = exp(log π(t) − log π_old(t))
    S(t)     = min(ratio · A, clip(ratio, 1 − low, 1 + high) · A)
    J        = Σ_t w(t) · (c(t) · S(t) − β · kl(t))

w are the weights of the mean (`grpo.weights`), c the importance correction (`grpo.correction`) and
kl the divergence from the first policy (`grpo.kl`). Each w is given for the whole batch, so that
the sum over a batch's packs is exactly J. Letters: t sampled tokens.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from envace.grpo import correction, kl
from envace.grpo.settings import Clip, Settings


@dataclass(frozen=True)
class Tokens:
    """What is known of some sampled tokens; all but `logprobs` are constants."""

    logprobs: Float[Tensor, " t"]
    """Under the policy that is trained."""
    sampled: Float[Tensor, " t"]
    """Under the policy that sampled them."""
    old: Float[Tensor, " t"]
    """Under the trained policy before the batch."""
    reference: Float[Tensor, " t"] | None
    """Under the first policy; None where there is no penalty."""
    advantages: Float[Tensor, " t"]
    weights: Float[Tensor, " t"]


def objective(tokens: Tokens, settings: Settings) -> Float[Tensor, ""]:
    """J of some of a batch's tokens."""
    ratio = torch.exp(tokens.logprobs - tokens.old)
    gain = tokens.advantages
    if settings.kl and tokens.reference is not None and settings.kl.estimator == "k1":
        gain = gain - settings.kl.weight * kl.k1(tokens.logprobs.detach(), tokens.reference)
    values = clipped(ratio, gain, settings.clip)
    if settings.correction:
        values = correction.weights(tokens.old - tokens.sampled, settings.correction) * values
    if settings.kl and tokens.reference is not None and settings.kl.estimator != "k1":
        divergence = kl.OF[settings.kl.estimator](tokens.logprobs, tokens.reference)
        values = values - settings.kl.weight * divergence
    return (tokens.weights * values).sum()


def clipped(
    ratio: Float[Tensor, " t"], advantages: Float[Tensor, " t"], clip: Clip
) -> Float[Tensor, " t"]:
    """S of each token (arXiv 1707.06347, eq. 7), with its second limit if `clip` has one."""
    limited = ratio.clamp(1 - clip.low, 1 + clip.high)
    values = torch.minimum(ratio * advantages, limited * advantages)
    if clip.dual is None:
        return values
    floor = torch.where(advantages < 0, clip.dual * advantages, -torch.inf)
    return torch.maximum(values, floor)


def likelihood(logprobs: Float[Tensor, " t"], weights: Float[Tensor, " t"]) -> Float[Tensor, ""]:
    """The weighted log-probability of demonstrated tokens (the warm start's objective)."""
    return (weights * logprobs).sum()
