"""Estimates of KL(π ‖ π_ref) at a sampled token, from d = log π − log π_ref.

    k1 = d              k2 = d² / 2              k3 = exp(−d) − 1 + d

The mean of k1 and of k3 over samples of π is the divergence; k2's is close to it. As part of a loss
the gradient of k1 is 0 in the mean, and so no penalty: k1 is taken off the advantage instead
(J. Schulman, "Approximating KL divergence", 2020). Letters: t sampled tokens.
"""

from collections.abc import Callable, Mapping

import torch
from jaxtyping import Float
from torch import Tensor


def k1(logprobs: Float[Tensor, " t"], reference: Float[Tensor, " t"]) -> Float[Tensor, " t"]:
    """Unbiased, of either sign."""
    return logprobs - reference


def k2(logprobs: Float[Tensor, " t"], reference: Float[Tensor, " t"]) -> Float[Tensor, " t"]:
    """Never negative; its gradient is, in the mean, that of the divergence."""
    return (logprobs - reference).square() / 2


def k3(logprobs: Float[Tensor, " t"], reference: Float[Tensor, " t"]) -> Float[Tensor, " t"]:
    """Unbiased and never negative (GRPO's, arXiv 2402.03300, eq. 4)."""
    back = reference - logprobs
    return torch.exp(back) - 1 - back


OF: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {"k1": k1, "k2": k2, "k3": k3}
"""By their names in params.yaml."""
