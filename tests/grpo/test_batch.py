"""Which tokens train with which advantage, and what a pack computes."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel

from envace.episode import (
    Episode,
    Fault,
    Group,
    Observation,
    Role,
    Sequence,
    Source,
    Span,
    Step,
    Turn,
)
from envace.grpo.advantages import role_wise
from envace.grpo.batch import Sample, demonstrations, pack, samples
from envace.grpo.forward import logprobs_of

Family = tuple[Sample, ...]
Logprobs = Callable[..., Tensor]

EVEN = (0.5, 0.25, 0.125, 1.0)
"""Weights of the four sequences of the family."""

ESTIMATE = role_wise.build(role_wise.Config())


def sampled(*ids: int) -> Span:
    return Span(Source.SAMPLED, ids, tuple(-float(each) for each in ids), "v")


def template(*ids: int) -> Span:
    return Span(Source.TEMPLATE, ids)


def episode(acted: tuple[Span, ...], *rehearsed: tuple[Span, ...]) -> Episode:
    """An episode of one step with these ACT spans and REHEARSE sequences."""
    seen = [
        Observation({}, Turn(Role.REHEARSE, "", sequence=Sequence(Role.REHEARSE, spans)))
        for spans in rehearsed
    ]
    rounds = ((Step(Turn(Role.ACT, ""), tuple(seen)),),)
    return Episode("task", rounds, Sequence(Role.ACT, acted))


TWO = episode((template(1, 2), sampled(3, 4), template(5), sampled(6)), (template(7), sampled(8)))
ONE = episode((template(1, 2), sampled(9)), (template(7), sampled(8, 9)))


def test_every_output_hands_its_advantage_to_its_tokens() -> None:
    found = samples([Group("task", (TWO, ONE), (1.0, 0.0))], ESTIMATE)
    # ACT has three outputs with rewards 1, 1, 0; REHEARSE has two with 1, 0.
    assert [sample.role for sample in found] == ["act", "rehearse", "act", "rehearse"]
    assert [sample.ids for sample in found] == [(1, 2, 3, 4, 5, 6), (7, 8), (1, 2, 9), (7, 8, 9)]
    assert [sample.trained for sample in found] == [(2, 3, 5), (1,), (2,), (1, 2)]
    assert [sample.sampled for sample in found] == [(-3, -4, -6), (-8,), (-9,), (-8, -9)]
    assert found[0].advantages == pytest.approx((1 / 3,) * 3)
    assert found[1].advantages == (0.5,)
    assert found[2].advantages == pytest.approx((-2 / 3,))
    assert found[3].advantages == (-0.5, -0.5)


def test_an_episode_that_was_cut_off_counts_in_the_baseline_and_does_not_train() -> None:
    cut_off = replace(ONE, fault=Fault.TOO_LONG)
    found = samples([Group("task", (TWO, cut_off), (1.0, 0.0))], ESTIMATE, mask_overlong=True)
    assert found[0].advantages == pytest.approx((1 / 3,) * 3)
    assert [sample.advantages for sample in found[2:]] == [(0.0,), (0.0, 0.0)]


def test_a_missing_reward_leaves_its_group_and_is_not_zero() -> None:
    found = samples([Group("task", (TWO, ONE, ONE), (1.0, None, 0.5))], ESTIMATE)
    assert len(found) == 4
    # ACT: the mean of 1, 1, 0.5 is 5/6.
    assert [sample.advantages[0] for sample in found[::2]] == pytest.approx([1 / 6, -1 / 3])


def test_groups_do_not_share_a_baseline() -> None:
    group, other = Group("a", (TWO,), (1.0,)), Group("b", (ONE,), (0.0,))
    assert all(not any(sample.advantages) for sample in samples([group, other], ESTIMATE))


def test_a_group_without_rewards_trains_nothing() -> None:
    assert samples([Group("task", (TWO, ONE), (None, None))], ESTIMATE) == ()


def test_an_episode_that_ended_before_its_first_output_trains_nothing() -> None:
    empty = episode((template(1, 2),))
    found = samples([Group("task", (TWO, empty), (1.0, 0.0))], ESTIMATE)
    assert [sample.ids[-1] for sample in found] == [6, 8]


def test_demonstrated_tokens_have_advantage_one() -> None:
    spans = (template(1), Span(Source.DEMONSTRATED, (5, 2)), Span(Source.RECORDED, (9,)))
    found = demonstrations([Sequence(Role.ACT, spans)])
    assert found == (Sample(Role.ACT, (1, 5, 2, 9), (1, 2), (0.0, 0.0), (1.0, 1.0)),)


def test_a_pack_holds_a_shared_beginning_once(family: Family) -> None:
    (packed,) = pack(family, EVEN, most_tokens=100)
    # Sorted: (1 20 30 40), then … 50 60, then … 90 80, then 70 70 30 2.
    assert packed.ids.tolist() == [1, 20, 30, 40, 50, 60, 90, 80, 70, 70, 30, 2]
    assert packed.positions.tolist() == [0, 1, 2, 3, 4, 5, 3, 4, 0, 1, 2, 3]
    assert packed.targets.tolist() == [30, 40, 40, 60, 90, 80, 70]
    assert packed.sources.tolist() == [1, 2, 2, 4, 2, 6, 8]
    assert packed.advantages.tolist() == [0.25, 0.25, 1.0, 1.0, -0.5, -0.5, -1.0]
    assert packed.sampled.tolist() == [-2, -2.5, -2, -2.5, -2, -2.5, -2]
    assert packed.weights.tolist() == [0.125, 0.125, 0.5, 0.5, 0.25, 0.25, 1.0]
    assert packed.old is None


def test_a_token_sees_its_own_sequence_up_to_itself(family: Family) -> None:
    (packed,) = pack(family, EVEN, most_tokens=100)
    seen = [np.flatnonzero(row).tolist() for row in packed.mask.numpy()]
    assert seen[5] == [0, 1, 2, 3, 4, 5]
    assert seen[7] == [0, 1, 2, 6, 7]
    assert seen[9] == [8, 9]


@pytest.mark.parametrize(
    ("most", "sizes"), [(12, [12]), (11, [8, 4]), (8, [8, 4]), (7, [6, 5, 4]), (1, [4, 6, 5, 4])]
)
def test_packs_hold_at_most_so_many_tokens(family: Family, most: int, sizes: list[int]) -> None:
    # Alone they have 4, 6, 5 and 4 tokens; in a tree 4, then 2, 2 and 4 more.
    assert [len(packed.ids) for packed in pack(family, EVEN, most)] == sizes


@pytest.mark.parametrize("most", [100, 8, 1])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
@torch.no_grad()
def test_a_pack_has_the_log_probabilities_of_its_sequences(
    llama: PreTrainedModel, family: Family, alone: Logprobs, most: int, temperature: float
) -> None:
    order = sorted(family, key=lambda sample: sample.ids)
    expected = torch.cat([alone(llama, sample, temperature) for sample in order])
    found = [logprobs_of(llama, packed, temperature) for packed in pack(family, EVEN, most)]
    torch.testing.assert_close(torch.cat(found), expected, atol=1e-5, rtol=0)


def test_sequences_of_equal_ids_are_computed_once_and_trained_each(family: Family) -> None:
    (packed,) = pack([family[0], family[0]], EVEN[:2], most_tokens=100)
    assert len(packed.ids) == 6
    assert packed.targets.tolist() == [40, 60, 40, 60]
