"""Which tasks are played for dead groups; a group is alive where its two rewards differ."""

import asyncio
from collections.abc import Sequence as Many

import pytest

from envace.episode import Episode, Group, Role, Sequence, Source, Span
from envace.grpo.advantages import role_wise
from envace.tasks.task import Task
from envace.training.refill import dead, refilled

ESTIMATE = role_wise.build(role_wise.Config())
TASKS = tuple(
    Task(id=name, source="s", domain="d", tier="t", system="", tools=(), conversation=())
    for name in "abcdef"
)


def group(name: str, alive: bool) -> Group:
    spans = (Span(Source.TEMPLATE, (1,)), Span(Source.SAMPLED, (5,), (-1.0,), "v"))
    episode = Episode(name, (), Sequence(Role.ACT, spans))
    return Group(name, (episode, episode), (1.0, 0.0 if alive else 1.0))


def played(first: Many[Group], living: str, rounds: int) -> tuple[list[str], list[list[str]]]:
    """The tasks of all groups, and those of each round; only the tasks in `living` are alive."""
    asked: list[list[str]] = []

    async def play(tasks: Many[Task], seed: int) -> tuple[Group, ...]:
        asked.append([task.id for task in tasks])
        return tuple(group(task.id, task.id in living) for task in tasks)

    groups = asyncio.run(refilled(first, TASKS, play, ESTIMATE, rounds, seed=7))
    return [each.task_id for each in groups], asked


def test_a_group_without_spread_is_dead() -> None:
    assert dead([group("a", True), group("b", False)], ESTIMATE) == 1


def test_nothing_is_played_when_all_are_alive_or_none_may_be() -> None:
    assert played([group("a", True)], "", rounds=3) == (["a"], [])
    assert played([group("a", False)], "", rounds=0) == (["a"], [])


def test_a_round_plays_one_other_task_for_each_dead_group() -> None:
    names, asked = played([group("a", False), group("b", False)], "cdef", rounds=3)
    assert [len(each) for each in asked] == [2]
    assert names[:2] == ["a", "b"]
    assert not {"a", "b"} & set(names[2:])


def test_rounds_go_on_until_they_or_the_tasks_run_out() -> None:
    dead_one = [group("a", False)]
    names, asked = played(dead_one, "", rounds=2)
    assert [len(each) for each in asked] == [1, 1]
    names, asked = played(dead_one, "", rounds=99)
    assert sorted(names) == sorted("abcdef")
    assert len(asked) == 5


@pytest.mark.parametrize("rounds", [1, 3])
def test_the_same_step_draws_the_same_tasks(rounds: int) -> None:
    first = [group("a", False), group("b", True)]
    assert played(first, "f", rounds) == played(first, "f", rounds)
