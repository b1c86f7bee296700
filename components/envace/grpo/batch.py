"""Episodes to a batch: each sequence with its advantages, packed so that prefixes are shared.

A pack is one row of tokens: a prefix that its sequences share, then the rest of each, one after
the other. A token attends to the prefix and to its own sequence only, at the position it had
there, so the log-probabilities are those of the sequences computed one by one. There is no padding.
Letters: t tokens of a pack, s trained tokens of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from envace import episode
from envace.episode import Group, Role
from envace.prefix import Ids, runs, shared

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


@dataclass(frozen=True)
class Pack:
    """Sequences in one row that share a prefix."""

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


def samples(groups: Sequence[Group], estimate: Estimator) -> tuple[Sample, ...]:
    """The training sequences of all groups; an episode whose reward is missing leaves its group."""
    return tuple(chain.from_iterable(_group_samples(group, estimate) for group in groups))


def demonstrations(sequences: Sequence[episode.Sequence]) -> tuple[Sample, ...]:
    """Sequences of recordings: every demonstrated token with advantage 1."""
    return tuple(_sample(sequence, [1.0] * sequence.outputs) for sequence in sequences)


def pack(chosen: Sequence[Sample], most_tokens: int) -> list[Pack]:
    """Packs of at most `most_tokens` tokens (a longer sequence has one of its own).

    Sequences join a pack as long as that computes fewer tokens than starting another.
    """

    def joins(run: list[Ids], following: Ids) -> bool:
        before = _common(run) if len(run) > 1 else 0
        common = min(_common([*run, following]), *(heads[tuple(ids)] for ids in run))
        size = sum(map(len, run)) + len(following) - len(run) * common
        return size <= most_tokens and len(run) * common >= (len(run) - 1) * before

    heads = {sample.ids: sample.trained[0] for sample in chosen}
    return [_pack([chosen[index] for index in run]) for run in runs([s.ids for s in chosen], joins)]


def _group_samples(group: Group, estimate: Estimator) -> list[Sample]:
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


def _common(run: Sequence[Ids]) -> int:
    """Length of the prefix that all share."""
    return min((shared(run[0], other) for other in run[1:]), default=len(run[0]))


def _pack(members: Sequence[Sample]) -> Pack:
    """One row: the shared prefix (never a trained token of it), then each member's own tokens."""
    alone = len(members) == 1
    first = min(sample.trained[0] for sample in members)
    common = 0 if alone else min(_common([s.ids for s in members]), first)
    ids, positions, owners = list(members[0].ids[:common]), list(range(common)), [0] * common
    sources: list[int] = []
    for number, sample in enumerate(members, start=1):
        offset = len(ids) - common
        ids += sample.ids[common:]
        positions += range(common, len(sample.ids))
        owners += [number] * (len(sample.ids) - common)
        sources += [p - 1 + (offset if p - 1 >= common else 0) for p in sample.trained]
    owner = torch.tensor(owners)
    visible = (owner[:, None] == owner[None, :]) | (owner[None, :] == 0)
    return Pack(
        ids=torch.tensor(ids),
        positions=torch.tensor(positions),
        mask=visible & torch.ones_like(visible).tril(),
        sources=torch.tensor(sources),
        targets=torch.tensor([s.ids[p] for s in members for p in s.trained]),
        sampled=torch.tensor([value for s in members for value in s.sampled]),
        advantages=torch.tensor([value for s in members for value in s.advantages]),
    )
