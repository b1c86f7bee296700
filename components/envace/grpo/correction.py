"""Weights of tokens that one engine sampled and another trains, from r = π_old / π_sampled.

    truncated: c = min(r, limit)                     masked: c = r if 1/limit ≤ r ≤ limit else 0

Truncation bounds the variance and keeps every token (arXiv 1802.01561, sec. 4.1); masking leaves
out those on which the engines disagree. Letters: t sampled tokens.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from envace.grpo.settings import Correction


def weights(difference: Float[Tensor, " t"], chosen: Correction) -> Float[Tensor, " t"]:
    """c of each token, from log r."""
    kinds = {"truncated": truncated, "masked": masked}
    return kinds[chosen.kind](difference, chosen.limit)


def truncated(difference: Float[Tensor, " t"], limit: float) -> Float[Tensor, " t"]:
    """min(r, limit)."""
    return torch.exp(difference.clamp(max=math.log(limit)))


def masked(difference: Float[Tensor, " t"], limit: float) -> Float[Tensor, " t"]:
    """r where the engines agree within a factor of `limit`, else 0."""
    agrees = difference.abs() <= math.log(limit)
    return torch.where(agrees, torch.exp(difference), torch.zeros_like(difference))
