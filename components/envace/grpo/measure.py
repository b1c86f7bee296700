"""What one update measured: how far the policy has moved from the one that sampled the tokens.

    ratio(t) = π(t) / π_sampled(t), as the step began
    mismatch KL = mean of ratio − 1 − log ratio
    effective samples = (Σ ratio)² / (t · Σ ratio²), a share: 1 when all are alike (Kish)

Letters: t sampled tokens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from envace.grpo.settings import Clip


@dataclass
class Measured:
    """Running values over the packs of an update."""

    clip: Clip
    loss: float = 0.0
    computed: int = 0
    differences: list[Tensor] = field(default_factory=list[Tensor])

    def add(self, loss: Tensor, difference: Float[Tensor, " t"], computed: int) -> None:
        """One pack: its part of the loss, log ratio of its t trained tokens, tokens computed."""
        self.loss += loss.item()
        self.computed += computed
        self.differences.append(difference.double().cpu())

    def metrics(self) -> dict[str, float]:
        """`update/…` by name; a quantity of no tokens is left out."""
        found = ratios(torch.cat(self.differences), self.clip) if self.differences else {}
        trained = sum(map(len, self.differences))
        return {
            "update/loss": self.loss,
            "update/trained_tokens": trained,
            "update/computed_tokens": self.computed,
            **found,
        }


def ratios(difference: Float[Tensor, " t"], clip: Clip) -> dict[str, float]:
    """Of the log ratios of t ≥ 1 tokens."""
    ratio = difference.exp()
    outside = (ratio < 1 - clip.low) | (ratio > 1 + clip.high)
    return {
        "update/clip_fraction": outside.double().mean().item(),
        "update/mismatch_kl": (ratio - 1 - difference).mean().item(),
        "update/ratio_p99": torch.quantile(ratio[: 1 << 24], 0.99).item(),
        "update/effective_samples": (ratio.sum().square() / ratio.square().sum()).item()
        / len(ratio),
    }


def summed(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The metrics of the optimiser steps of one batch: counts add up, the others are averaged."""
    counts = {"update/trained_tokens", "update/computed_tokens"}
    names = dict.fromkeys(name for part in parts for name in part)
    values = {name: [part[name] for part in parts if name in part] for name in names}
    return {n: sum(v) / (1 if n in counts else len(v)) for n, v in values.items()}
