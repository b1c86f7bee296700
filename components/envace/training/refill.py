"""Groups to learn from: where all episodes of a group earn alike, another task is played instead.

A dead group has no advantage in any role (DAPO's dynamic sampling, arXiv 2503.14476, sec. 3.2).
Which task comes next is decided by step and seed alone, so a resumed run draws the same.
"""

from collections.abc import Awaitable, Callable, Sequence

from envace.episode import Group
from envace.grpo.batch import Estimator, samples
from envace.inference.policy import seed_for
from envace.tasks.task import Task
from envace.training.sampler import choose

Play = Callable[[Sequence[Task], int], Awaitable[tuple[Group, ...]]]
"""(tasks, seed) → their groups."""


async def refilled(
    groups: Sequence[Group],
    tasks: Sequence[Task],
    play: Play,
    estimate: Estimator,
    rounds: int,
    seed: int,
) -> tuple[Group, ...]:
    """All of `groups`, then those played for the dead among them, in at most `rounds` rounds.

    A task is played once a step; with none left, or no dead group, no further round is played.
    """
    played, wanted = tuple(groups), dead(groups, estimate)
    for number in range(rounds):
        used = {group.task_id for group in played}
        order = choose(len(tasks), len(tasks), 0, seed_for(seed, "refill", number))
        fresh = [tasks[index] for index in order if tasks[index].id not in used][:wanted]
        if not fresh:
            break
        more = await play(fresh, seed_for(seed, "refill", number, "play"))
        played += more
        wanted = wanted - len(more) + dead(more, estimate)
    return played


def dead(groups: Sequence[Group], estimate: Estimator) -> int:
    """How many groups teach nothing."""
    return sum(not alive(group, estimate) for group in groups)


def alive(group: Group, estimate: Estimator) -> bool:
    """Has some output of the group an advantage?"""
    return any(any(sample.advantages) for sample in samples([group], estimate))
