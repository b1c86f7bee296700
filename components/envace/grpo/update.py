"""The optimiser's steps over a batch, and what they measured.

Gradients of the packs add up to the gradient of the whole, because the weights of its tokens are
those of the whole. The language-model head is applied to trained tokens only, a chunk at a time,
and sequences on which nothing pulls are not computed.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import torch
from torch import Tensor
from transformers import PreTrainedModel

from envace.errors import TrainingError
from envace.grpo.batch import Pack, Sample, pack
from envace.grpo.forward import logprobs_of, recomputing
from envace.grpo.loss import Tokens, likelihood, objective
from envace.grpo.measure import Measured, summed
from envace.grpo.settings import Settings
from envace.grpo.weights import token_mean, weights_of


@dataclass(frozen=True)
class Learner:
    """A model with its optimiser: the two things that training changes."""

    model: PreTrainedModel
    optimizer: torch.optim.Optimizer
    settings: Settings
    temperature: float = 1.0
    """That of sampling: log-probabilities must be of the same distribution."""
    reference: PreTrainedModel | None = None
    """The first policy, where the objective has a penalty on leaving it."""


def learner_of(
    model: PreTrainedModel, learning_rate: float, settings: Settings, temperature: float = 1.0
) -> Learner:
    """A learner with a fresh AdamW (no weight decay) over all weights of `model`."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.0)
    reference = copy.deepcopy(model).requires_grad_(False) if settings.kl else None
    if settings.gradient_checkpointing:
        model.activation_checkpointing_enable({"use_reentrant": False})
    return Learner(model, optimizer, settings, temperature, reference)


def update(learner: Learner, batch: Sequence[Sample]) -> dict[str, float]:
    """The steps of role-wise GRPO over `batch`: one, or `settings.updates` over its parts."""
    count = min(learner.settings.updates, max(len(batch), 1))
    if count == 1:
        return _descend(learner, batch)
    if learner.settings.correction:
        batch = _scored(learner, batch)
    cuts = [len(batch) * part // count for part in range(count + 1)]
    parts = [batch[low:high] for low, high in pairwise(cuts)]
    return summed([_descend(learner, part) for part in parts])


def imitate(learner: Learner, batch: Sequence[Sample]) -> dict[str, float]:
    """One step of supervised imitation. The loss is a mean over all demonstrated tokens."""
    weights = token_mean([len(sample.trained) for sample in batch])
    total, computed = 0.0, 0
    for packed in pack(batch, weights, learner.settings.pack_tokens):
        with recomputing(learner.model):
            logprobs = logprobs_of(learner.model, packed, 1.0)
            loss = -likelihood(logprobs, packed.weights.to(logprobs))
            _backward(learner, loss)
        total, computed = total + loss.item(), computed + len(packed.ids)
    norm = _step(learner)
    return {
        "warmstart/loss": total,
        "warmstart/trained_tokens": sum(len(sample.trained) for sample in batch),
        "warmstart/computed_tokens": computed,
        "warmstart/grad_norm": norm,
    }


def _descend(learner: Learner, batch: Sequence[Sample]) -> dict[str, float]:
    """One optimiser step on `batch`, whose mean is over all its sampled tokens."""
    settings = learner.settings
    weights = weights_of([len(sample.trained) for sample in batch], settings)
    # Where a penalty pulls on every token, a sequence without advantage is computed too.
    penalised = settings.kl is not None
    live = [(s, w) for s, w in zip(batch, weights, strict=True) if penalised or any(s.advantages)]
    seen = Measured(settings.clip)
    for packed in pack([s for s, _ in live], [w for _, w in live], settings.pack_tokens):
        with recomputing(learner.model):
            tokens = _tokens(learner, packed)
            loss = -objective(tokens, settings)
            _backward(learner, loss)
        seen.add(loss, tokens.logprobs.detach() - tokens.sampled, len(packed.ids))
    return {**seen.metrics(), "update/grad_norm": _step(learner) if live else 0.0}


def _tokens(learner: Learner, packed: Pack) -> Tokens:
    """The trained tokens of a pack with what the objective needs."""
    logprobs = logprobs_of(learner.model, packed, learner.temperature)
    sampled = packed.sampled.to(logprobs)
    reference = None
    if learner.reference is not None:
        with torch.no_grad():
            reference = logprobs_of(learner.reference, packed, learner.temperature)
    old = sampled
    if learner.settings.correction:
        old = logprobs.detach() if packed.old is None else packed.old.to(logprobs)
    return Tokens(
        logprobs,
        sampled,
        old,
        reference,
        packed.advantages.to(logprobs),
        packed.weights.to(logprobs),
    )


@torch.no_grad()
def _scored(learner: Learner, batch: Sequence[Sample]) -> list[Sample]:
    """The batch with the log-probabilities of the policy before its first step."""
    found: list[Sample] = []
    for sample in batch:
        (packed,) = pack([sample], [0.0], len(sample.ids))
        old = logprobs_of(learner.model, packed, learner.temperature)
        found.append(replace(sample, old=tuple(old.tolist())))
    return found


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
