"""The training loop: rehearse groups of episodes, turn rewards into advantages, update, repeat."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from envace.episode import Group
from envace.errors import TrainingError
from envace.grpo.batch import Estimator, samples
from envace.grpo.update import Learner, update
from envace.inference.backends.hf import HfPolicy
from envace.inference.policy import seed_for
from envace.rehearsal.act import Actor
from envace.rewards.reward import Reward
from envace.rollout.group import play_groups
from envace.rollout.play import Rules
from envace.tasks.task import Task
from envace.training.abort import Limits, Watch
from envace.training.checkpoint import Checkpoints
from envace.training.health import describe
from envace.training.refill import refilled
from envace.training.sampler import choose
from envace.training.schedule import Schedule


@dataclass(frozen=True)
class Run:
    """What a training run is made of."""

    policy: HfPolicy
    actor: Actor
    learner: Learner
    estimate: Estimator
    reward: Reward
    rules: Rules
    schedule: Schedule
    limits: Limits
    checkpoints: Checkpoints
    seed: int


def train(run: Run, tasks: Sequence[Task]) -> Iterator[tuple[int, dict[str, float]]]:
    """Trains in place; yields each step, counted from 1, with its metrics.

    Raises `TrainingError` on an empty set, when no episode of a step has a reward, and when a limit
    on the run's health is broken.
    """
    if not tasks:
        raise TrainingError("there is no task to train on; check the report of `curate`.")
    first, steps = run.checkpoints.resume(run.learner), run.schedule.steps
    watch = Watch(run.limits)
    for step in range(first, steps):
        began = time.monotonic()
        run.policy.version = f"step-{step}"
        groups = asyncio.run(_played(run, tasks, step))
        _rewarded(groups, step + 1)
        played = time.monotonic()
        batch = samples(groups, run.estimate, run.learner.settings.mask_overlong)
        measured = update(run.learner, batch)
        run.checkpoints.save(run.learner, step + 1, steps)
        spent = {"time/rollout": played - began, "time/update": time.monotonic() - played}
        row = {**describe(groups, run.estimate), **measured, **spent}
        yield step + 1, row
        watch.see(step + 1, row)


async def _played(run: Run, tasks: Sequence[Task], step: int) -> tuple[Group, ...]:
    """The groups of a step, and those that are played for the dead among them."""

    async def play(chosen: Sequence[Task], seed: int) -> tuple[Group, ...]:
        size = run.schedule.episodes_per_task
        return await play_groups(chosen, size, run.actor, run.rules, run.reward, seed)

    picked = choose(len(tasks), run.schedule.tasks_per_step, step, run.seed)
    seed = seed_for(run.seed, "rollout", step)
    groups = await play([tasks[index] for index in picked], seed)
    return await refilled(groups, tasks, play, run.estimate, run.schedule.refill, seed)


def _rewarded(groups: Sequence[Group], step: int) -> None:
    """Refuses a step that nothing can be learned from: all its rewards are missing."""
    rewards = [reward for group in groups for reward in group.rewards]
    if all(reward is None for reward in rewards):
        raise TrainingError(
            f"no reward of step {step} could be had: those of its {len(rewards)} episodes are all "
            "missing; see that train.reward can score these tasks, then run it again."
        )
