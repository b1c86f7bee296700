"""The estimators of advantages, by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envace.grpo.advantages import act_only, leave_one_out, pooled, role_wise

ACT, REHEARSE = 0, 1
# Episode 0 (reward 1): two ACT outputs, one REHEARSE. Episode 1 (reward 0): one ACT output.
REWARDS = np.array([1.0, 1.0, 1.0, 0.0])
ROLES = np.array([ACT, ACT, REHEARSE, ACT])
EPISODES = np.array([0, 0, 0, 1])


def advantages(**options: object) -> list[float]:
    estimate = role_wise.build(role_wise.Config.model_validate(options))
    return estimate(REWARDS, ROLES, EPISODES).tolist()


def test_an_output_is_compared_with_the_mean_over_the_outputs_of_its_role() -> None:
    # ACT: mean of 1, 1, 0 is 2/3.
    assert advantages() == pytest.approx([1 / 3, 1 / 3, 0.0, -2 / 3])


def test_episode_weighting_counts_each_episode_once() -> None:
    # ACT: mean of the episodes' 1 and 0 is 1/2.
    assert advantages(weighting="episode") == pytest.approx([0.5, 0.5, 0.0, -0.5])


def test_a_lone_output_of_a_role_gets_zero() -> None:
    assert advantages()[2] == 0.0


def test_division_by_std_uses_the_outputs_of_the_role() -> None:
    # ACT: the variance of 1, 1, 0 is 2/9.
    std = (2 / 9) ** 0.5
    expected = [1 / 3 / std, 1 / 3 / std, 0.0, -2 / 3 / std]
    assert advantages(divide_by_std=True) == pytest.approx(expected)


@pytest.mark.parametrize("divide", [False, True])
def test_outputs_without_spread_get_zero(divide: bool) -> None:
    estimate = role_wise.build(role_wise.Config(divide_by_std=divide))
    assert estimate(np.full(4, 0.7), ROLES, EPISODES).tolist() == [0.0] * 4


def test_roles_do_not_share_a_baseline() -> None:
    estimate = role_wise.build(role_wise.Config())
    found = estimate(
        np.array([1.0, 0.0, 0.5, 0.25]), np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3])
    )
    assert found.tolist() == [0.5, -0.5, 0.125, -0.125]


def test_pooled_has_one_baseline_for_both_roles() -> None:
    # mean of 1, 1, 1, 0 is 3/4
    found = pooled.build(pooled.Config())(REWARDS, ROLES, EPISODES)
    assert found.tolist() == [0.25, 0.25, 0.25, -0.75]


def test_pooled_divides_by_the_std_of_the_group() -> None:
    # the variance of 1, 1, 1, 0 is 3/16
    found = pooled.build(pooled.Config(divide_by_std=True))(REWARDS, ROLES, EPISODES)
    std = 3**0.5 / 4
    assert found.tolist() == pytest.approx([0.25 / std] * 3 + [-0.75 / std])


def test_act_only_gives_rehearsing_nothing() -> None:
    estimate = act_only.build(act_only.Config())
    roles = np.array([ACT, REHEARSE, ACT, REHEARSE])
    found = estimate(np.array([1.0, 1.0, 0.0, 0.0]), roles, np.array([0, 0, 1, 1]))
    assert found.tolist() == [0.5, 0.0, -0.5, 0.0]


def test_leave_one_out_compares_with_the_other_episodes() -> None:
    # ACT: outputs 0 and 1 (episode 0) against 0; output 3 (episode 1) against the mean of 1 and 1.
    found = leave_one_out.build(leave_one_out.Config())(REWARDS, ROLES, EPISODES)
    assert found.tolist() == [1.0, 1.0, 0.0, -1.0]


def test_leave_one_out_has_a_baseline_for_each_output() -> None:
    # Three episodes with one ACT output each: 0.9 against 0.45, 0.3 against 0.75, 0.6 against 0.6.
    found = leave_one_out.build(leave_one_out.Config())(
        np.array([0.9, 0.3, 0.6]), np.array([ACT] * 3), np.arange(3)
    )
    assert found.tolist() == pytest.approx([0.45, -0.45, 0.0])


def test_pooled_gives_zero_without_spread() -> None:
    found = pooled.build(pooled.Config())(np.full(4, 0.7), ROLES, EPISODES)
    assert found.tolist() == [0.0] * 4


outputs = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from([ACT, REHEARSE]), st.integers(0, 7)), min_size=1
)


@settings(database=None, deadline=None, max_examples=100)
@given(outputs)
def test_advantages_of_a_role_sum_to_zero(group: list[tuple[float, int, int]]) -> None:
    rewards, roles, episodes = (np.array(column) for column in zip(*group, strict=True))
    found = role_wise.build(role_wise.Config())(rewards, roles, episodes)
    for role in (ACT, REHEARSE):
        assert found[roles == role].sum() == pytest.approx(0, abs=1e-9)


def test_arrays_of_different_lengths_are_refused() -> None:
    with pytest.raises(TypeError, match="role"):
        role_wise.build(role_wise.Config())(REWARDS, ROLES[:2], EPISODES)
