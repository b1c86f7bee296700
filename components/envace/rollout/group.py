"""A group: G episodes of one task, played side by side on the policy's own rehearsed responses."""

import asyncio
from collections.abc import Sequence

from envace.episode import Episode, Group
from envace.inference.policy import seed_for
from envace.rehearsal.act import Actor
from envace.rehearsal.rehearse import RehearsedEnvironment, examples
from envace.rewards.reward import Missing, Reward
from envace.rollout.play import Opening, Rules, Stage, play
from envace.tasks.task import Task


async def play_groups(
    tasks: Sequence[Task], size: int, actor: Actor, rules: Rules, reward: Reward, seed: int
) -> tuple[Group, ...]:
    """One group of `size` episodes for each task; every episode of all groups runs at once."""
    return tuple(
        await asyncio.gather(
            *(
                play_group(task, size, actor, rules, reward, seed_for(seed, task.id))
                for task in tasks
            )
        )
    )


async def play_group(
    task: Task, size: int, actor: Actor, rules: Rules, reward: Reward, seed: int
) -> Group:
    """Plays and scores `size` episodes of `task`, each from its own seed."""
    stage = Stage(actor, rules, lambda rounds: reward.goes_on(task, rounds))
    opening = Opening(task.id, task.system, task.tools, task.user_messages)
    shown = examples(task.tools, task.conversation)

    async def one(number: int) -> tuple[Episode, float | None]:
        own = seed_for(seed, number)
        environment = RehearsedEnvironment(
            actor.policy, actor.renderer, actor.budget, task.tools, shown, own
        )
        episode = await play(opening, stage, environment, own)
        score = await reward.score(task, episode)
        return episode, None if isinstance(score, Missing) else score.value

    results = await asyncio.gather(*(one(number) for number in range(size)))
    return Group(task.id, tuple(e for e, _ in results), tuple(r for _, r in results))
