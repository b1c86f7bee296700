"""Episodes to a batch: each sequence with its advantages, packed so that nothing is computed twice.

A pack is a prefix tree of sequences, laid out as one row: where sequences begin alike, the tokens
they share stand once. A token attends to its ancestors only, at the position it had in its own
sequence, so the log-probabilities are those of the sequences computed one by one. There is no
padding. Letters: t tokens of a pack, s trained tokens of its sequences.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from envace import episode
from envace.episode import Fault, Group, Role
from envace.prefix import ancestors, runs, tree

OVERLONG = {Fault.TRUNCATED, Fault.TOO_LONG, Fault.TOO_MANY_STEPS}
"""Faults of an episode that ran out of tokens or steps."""

Estimator = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""(rewards, roles, episodes) of a group's outputs → advantages; see `grpo.advantages`."""


@dataclass(frozen=True)
class Sample:
    """One training sequence. Letters: t its tokens, s the trained ones among them."""

    role: Role
    ids: tuple[int, ...]
    """All t token ids."""
    trained: tuple[int, ...]
    """Positions of the s trained tokens, ascending, none of them 0."""
    sampled: tuple[float, ...]
    """Sampling log-probability of each trained token."""
    advantages: tuple[float, ...]
    """Advantage of each trained token."""
    old: tuple[float, ...] | None = None
    """Log-probability of each trained token under the trained policy before the batch, where it was
    scored."""


@dataclass(frozen=True)
class Pack:
    """A prefix tree of sequences in one row."""

    ids: Int[Tensor, " t"]
    positions: Int[Tensor, " t"]
    """Position of each token in its own sequence."""
    mask: Bool[Tensor, "t t"]
    """mask[i, j]: may token i attend to token j?"""
    sources: Int[Tensor, " s"]
    """For each trained token: the place in the pack whose hidden state predicts it."""
    targets: Int[Tensor, " s"]
    """Its id."""
    sampled: Float[Tensor, " s"]
    advantages: Float[Tensor, " s"]
    weights: Float[Tensor, " s"]
    """Of each trained token in the mean over the batch."""
    old: Float[Tensor, " s"] | None
    """As in its samples; None when not all were scored."""


def samples(
    groups: Sequence[Group], estimate: Estimator, mask_overlong: bool = False
) -> tuple[Sample, ...]:
    """The training sequences of all groups; an episode whose reward is missing leaves its group.

    With `mask_overlong` the outputs of an episode that was cut off count in its group's baseline,
    and their own advantage is 0.
    """
    found = (_group_samples(group, estimate, mask_overlong) for group in groups)
    return tuple(chain.from_iterable(found))


def demonstrations(sequences: Sequence[episode.Sequence]) -> tuple[Sample, ...]:
    """Sequences of recordings: every demonstrated token with advantage 1."""
    return tuple(_sample(sequence, [1.0] * sequence.outputs) for sequence in sequences)


def pack(chosen: Sequence[Sample], weights: Sequence[float], most_tokens: int) -> list[Pack]:
    """Packs of at most `most_tokens` tokens; a longer sequence has one of its own.

    `weights` are those of one trained token of each sequence.
    """
    found = runs([sample.ids for sample in chosen], most_tokens)
    return [_pack([chosen[i] for i in run], [weights[i] for i in run]) for run in found]


def _group_samples(group: Group, estimate: Estimator, mask_overlong: bool) -> list[Sample]:
    scored = [(e, r) for e, r in zip(group.episodes, group.rewards, strict=True) if r is not None]
    owned = [
        (index, sequence, reward)
        for index, (episode_, reward) in enumerate(scored)
        for sequence in episode_.sequences
        if sequence.outputs
    ]
    outputs = [(i, s.role, reward) for i, s, reward in owned for _ in range(s.outputs)]
    if not outputs:
        return []
    roles = list(Role)
    advantages = estimate(
        np.array([reward for _, _, reward in outputs], dtype=np.float64),
        np.array([roles.index(role) for _, role, _ in outputs]),
        np.array([index for index, _, _ in outputs]),
    )
    if mask_overlong:
        cut_off = [scored[index][0].fault in OVERLONG for index, _, _ in outputs]
        advantages = np.where(cut_off, 0.0, advantages)
    values = iter(advantages.tolist())
    return [
        _sample(sequence, [next(values) for _ in range(sequence.outputs)])
        for _, sequence, _ in owned
    ]


def _sample(sequence: episode.Sequence, advantages: Sequence[float]) -> Sample:
    """A sequence with one advantage for each of its outputs."""
    trained = tuple(place for place, flag in enumerate(sequence.trained) if flag)
    logprobs = sequence.logprobs
    produced = (episode.Source.SAMPLED, episode.Source.DEMONSTRATED)
    spans = [span for span in sequence.spans if span.source in produced]
    spread = [value for span, value in zip(spans, advantages, strict=True) for _ in span.ids]
    sampled = tuple(logprobs[place] for place in trained)
    return Sample(sequence.role, sequence.ids, trained, sampled, tuple(spread))


def _pack(members: Sequence[Sample], weights: Sequence[float]) -> Pack:
    """The prefix tree of sequences that are sorted by their ids."""
    row = tree([sample.ids for sample in members])
    old = [sample.old for sample in members if sample.old is not None]
    both = list(zip(members, row.paths, strict=True))
    return Pack(
        ids=torch.tensor(row.ids),
        positions=torch.tensor(row.positions),
        mask=torch.from_numpy(ancestors(row.parents)),
        sources=torch.tensor([path[p - 1] for s, path in both for p in s.trained]),
        targets=torch.tensor([s.ids[p] for s in members for p in s.trained]),
        sampled=torch.tensor([value for s in members for value in s.sampled]),
        advantages=torch.tensor([value for s in members for value in s.advantages]),
        weights=torch.tensor(
            [w for s, w in zip(members, weights, strict=True) for _ in s.trained],
            dtype=torch.float64,
        ),
        old=torch.tensor([*chain.from_iterable(old)]) if len(old) == len(members) else None,
    )
