"""Warm start: imitate the recordings in both roles, so that GRPO has outputs worth comparing.

An untuned small model writes no well-formed call at all, and a group whose rewards are all 0
teaches nothing.
"""

import math
import random
import time
from collections.abc import Iterator, Sequence

from envace import episode
from envace.errors import TrainingError
from envace.grpo.batch import demonstrations
from envace.grpo.update import Learner, imitate
from envace.inference.chat import ChatML
from envace.inference.policy import seed_for
from envace.rehearsal import act, rehearse
from envace.tasks.task import Task
from envace.training.checkpoint import Checkpoints
from envace.training.sampler import choose
from envace.training.schedule import WarmSchedule

Demonstration = tuple[episode.Sequence, ...]
"""All recorded outputs of one task in the roles that produce them."""


def demonstrate(renderer: ChatML, task: Task, schedule: WarmSchedule, seed: int) -> Demonstration:
    """The ACT sequence of a recording and, for a share of them, REHEARSE sequences of its calls."""
    acted = act.demonstrate(renderer, task.system, task.tools, task.conversation)
    draw = random.Random(seed_for(seed, "demonstrate", task.id))
    show, rehearsed = draw.random() < schedule.recorded_share, draw.random()
    if rehearsed >= schedule.rehearsed_share:
        return (acted,)
    return (acted, *rehearse.demonstrate(renderer, task.tools, task.conversation, show))


def warm_start(
    learner: Learner,
    chosen: Sequence[Demonstration],
    schedule: WarmSchedule,
    checkpoints: Checkpoints,
    seed: int,
) -> Iterator[tuple[int, dict[str, float]]]:
    """Trains in place; yields each step, counted from 1, with its metrics.

    Raises `TrainingError` on an empty set.
    """
    if not chosen:
        raise TrainingError("there is no recording to imitate; check the report of `curate`.")
    for step in range(checkpoints.resume(learner), schedule.steps):
        began = time.monotonic()
        for group in learner.optimizer.param_groups:
            group["lr"] = rate(schedule, step)
        picked = choose(len(chosen), schedule.tasks_per_step, step, seed)
        outputs = [sequence for index in picked for sequence in chosen[index]]
        metrics = imitate(learner, demonstrations(outputs))
        checkpoints.save(learner, step + 1, schedule.steps)
        yield step + 1, {**metrics, "time/update": time.monotonic() - began}


def rate(schedule: WarmSchedule, step: int) -> float:
    """Learning rate of a step (the first is 0): linear warm-up, then a cosine to a tenth."""
    if step < schedule.warmup_steps:
        return schedule.learning_rate * (step + 1) / (schedule.warmup_steps + 1)
    left = max(schedule.steps - schedule.warmup_steps, 1)
    cosine = (1 + math.cos(math.pi * (step - schedule.warmup_steps) / left)) / 2
    return schedule.learning_rate * (0.1 + 0.9 * cosine)
