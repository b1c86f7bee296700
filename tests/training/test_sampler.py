"""Which tasks a step takes."""

from envace.training.sampler import choose


def test_every_epoch_is_a_permutation_cut_into_steps() -> None:
    taken = [index for step in range(5) for index in choose(5, 2, step, seed=0)]
    assert sorted(taken[:5]) == sorted(taken[5:]) == [0, 1, 2, 3, 4]
    assert taken[:5] != taken[5:]


def test_a_step_may_take_more_than_there_are() -> None:
    assert sorted(choose(2, 6, 0, seed=0)) == [0, 0, 0, 1, 1, 1]


def test_step_and_seed_alone_decide() -> None:
    assert choose(50, 8, 3, seed=1) == choose(50, 8, 3, seed=1)
    assert choose(50, 8, 3, seed=1) != choose(50, 8, 3, seed=2)
    assert choose(50, 8, 3, seed=1) != choose(50, 8, 4, seed=1)
