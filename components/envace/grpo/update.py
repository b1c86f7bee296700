"""One optimiser step over a batch of packs, and what it measured.

Gradients of the packs add up to the gradient of the whole batch, because every pack's loss is
divided by the token count of the batch. The language-model head is applied to trained tokens only,
and sequences whose advantages are all 0 are not computed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from transformers import PreTrainedModel

from envace.errors import TrainingError
from envace.grpo.batch import Pack, Sample, pack
from envace.grpo.loss import clipped_loss, imitation_loss
from envace.grpo.settings import Clip, Settings


@dataclass(frozen=True)
class Learner:
    """A model with its optimiser: the two things that training changes."""

    model: PreTrainedModel
    optimizer: torch.optim.Optimizer
    settings: Settings
    temperature: float = 1.0
    """That of sampling: log-probabilities must be of the same distribution."""


def learner_of(
    model: PreTrainedModel, learning_rate: float, settings: Settings, temperature: float = 1.0
) -> Learner:
    """A learner with a fresh AdamW (no weight decay) over all weights of `model`."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.0)
    return Learner(model, optimizer, settings, temperature)


def update(learner: Learner, batch: Sequence[Sample]) -> dict[str, float]:
    """One step of role-wise GRPO. The loss is a mean over all sampled tokens of `batch`."""
    tokens = sum(len(sample.trained) for sample in batch)
    live = [sample for sample in batch if any(sample.advantages)]
    seen = _Seen()
    for packed in pack(live, learner.settings.pack_tokens):
        logprobs = logprobs_of(learner.model, packed, learner.temperature)
        sampled, advantages = packed.sampled.to(logprobs), packed.advantages.to(logprobs)
        loss = clipped_loss(logprobs, sampled, advantages, learner.settings.clip, tokens)
        _backward(learner, loss)
        seen.add(loss, logprobs.detach() - sampled, learner.settings.clip, len(packed.ids))
    return {**seen.metrics(), "update/grad_norm": _step(learner) if live else 0.0}


def imitate(learner: Learner, batch: Sequence[Sample]) -> dict[str, float]:
    """One step of supervised imitation. The loss is a mean over all demonstrated tokens."""
    tokens = sum(len(sample.trained) for sample in batch)
    total, computed = 0.0, 0
    for packed in pack(batch, learner.settings.pack_tokens):
        loss = imitation_loss(logprobs_of(learner.model, packed, 1.0), tokens)
        _backward(learner, loss)
        total, computed = total + loss.item(), computed + len(packed.ids)
    norm = _step(learner)
    return {
        "warmstart/loss": total,
        "warmstart/trained_tokens": tokens,
        "warmstart/computed_tokens": computed,
        "warmstart/grad_norm": norm,
    }


def logprobs_of(model: PreTrainedModel, packed: Pack, temperature: float) -> Float[Tensor, " s"]:
    """Log-probability of each trained token of a pack under `model`."""
    device = model.device
    states = model.base_model(
        input_ids=packed.ids[None].to(device),
        attention_mask=packed.mask[None, None].to(device),
        position_ids=packed.positions[None].to(device),
        use_cache=False,
    ).last_hidden_state[0]
    head = model.get_output_embeddings()
    assert head is not None, "a causal language model has a head"
    logits = head(states[packed.sources.to(device)])
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32)) / temperature
    return logits.log_softmax(dim=-1).gather(1, packed.targets.to(device)[:, None])[:, 0]


def _backward(learner: Learner, loss: Tensor) -> None:
    if not torch.isfinite(loss):
        learner.optimizer.zero_grad()
        raise TrainingError(f"the loss is {loss.item()}; expected a finite number: lower the lr.")
    loss.backward()


def _step(learner: Learner) -> float:
    norm = torch.nn.utils.clip_grad_norm_(
        learner.model.parameters(), learner.settings.max_norm
    ).item()
    if norm != norm or norm == float("inf"):
        learner.optimizer.zero_grad()
        raise TrainingError(f"the gradient norm is {norm}; expected a finite number: lower the lr.")
    learner.optimizer.step()
    learner.optimizer.zero_grad()
    return norm


@dataclass
class _Seen:
    """Running sums over the packs of one update."""

    loss: float = 0.0
    clipped: int = 0
    mismatch: float = 0.0
    trained: int = 0
    computed: int = 0

    def add(self, loss: Tensor, difference: Tensor, clip: Clip, computed: int) -> None:
        ratio = difference.exp()
        self.loss += loss.item()
        self.clipped += int(((ratio < 1 - clip.low) | (ratio > 1 + clip.high)).sum())
        self.mismatch += float((ratio - 1 - difference).sum())
        self.trained += len(difference)
        self.computed += computed

    def metrics(self) -> dict[str, float]:
        trained = max(self.trained, 1)
        return {
            "update/loss": self.loss,
            "update/clip_fraction": self.clipped / trained,
            "update/mismatch_kl": self.mismatch / trained,
            "update/trained_tokens": self.trained,
            "update/computed_tokens": self.computed,
        }
