"""The warm start: what is imitated, how fast, and that an interruption leaves no trace."""

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

import pytest
import torch
from torch import Tensor

from envace.episode import Role
from envace.errors import TrainingError
from envace.grpo.update import Learner
from envace.inference.chat import ChatML
from envace.tasks.task import Task
from envace.training.checkpoint import Checkpoints
from envace.training.schedule import WarmSchedule
from envace.training.warmstart import Demonstration, demonstrate, rate, warm_start

New = Callable[[], Learner]
Flat = Callable[[Learner], Tensor]
Chosen = list[Demonstration]


@pytest.fixture(scope="module")
def demonstrations(renderer: ChatML, tasks: tuple[Task, ...]) -> Chosen:
    return [demonstrate(renderer, task, WarmSchedule(), seed=0) for task in tasks]


Rows = Iterable[tuple[int, dict[str, float]]]


def untimed(rows: Rows) -> list[tuple[int, dict[str, float]]]:
    return [(step, {k: v for k, v in row.items() if "time" not in k}) for step, row in rows]


def test_a_recording_is_imitated_in_both_roles(renderer: ChatML, tasks: tuple[Task, ...]) -> None:
    acted, rehearsed = demonstrate(renderer, tasks[0], WarmSchedule(), seed=0)
    assert (acted.role, acted.outputs) == (Role.ACT, 2)
    assert (rehearsed.role, rehearsed.outputs) == (Role.REHEARSE, 1)
    ids = [token for token, own in zip(rehearsed.ids, rehearsed.trained, strict=True) if own]
    assert renderer.decode(ids) == '<execution_result>{"sky": "clear"}</execution_result>'


@pytest.mark.parametrize(("share", "shown"), [(0.0, False), (1.0, True)])
def test_the_share_decides_whether_recorded_calls_are_shown(
    renderer: ChatML, tasks: tuple[Task, ...], share: float, shown: bool
) -> None:
    schedule = WarmSchedule(recorded_share=share)
    _, rehearsed = demonstrate(renderer, tasks[0], schedule, seed=0)
    assert ("-> {" in renderer.decode(rehearsed.ids)) is shown


def test_a_share_of_the_tasks_is_imitated_in_the_act_role_alone(
    renderer: ChatML, tasks: tuple[Task, ...]
) -> None:
    schedule = WarmSchedule(rehearsed_share=0.5)
    many = [tasks[0].model_copy(update={"id": str(number)}) for number in range(200)]
    counts = [len(demonstrate(renderer, task, schedule, seed=0)) for task in many]
    assert set(counts) == {1, 2}
    assert 80 <= counts.count(1) <= 120


def test_the_rate_rises_in_a_line_and_falls_in_a_cosine() -> None:
    schedule = WarmSchedule(steps=6, warmup_steps=2, learning_rate=0.9)
    # 0.9/3, 2·0.9/3, all of it, then 0.9·(0.1 + 0.9·(1 + cos(kπ/4))/2).
    expected = [0.3, 0.6, 0.9, 0.7813782, 0.495, 0.2086218]
    assert [rate(schedule, step) for step in range(6)] == pytest.approx(expected)


def test_the_optimiser_gets_the_rate_of_each_step(
    tmp_path: Path, learner: New, demonstrations: Chosen
) -> None:
    schedule, own = WarmSchedule(steps=3, tasks_per_step=1, learning_rate=3e-3), learner()
    checkpoints = Checkpoints(tmp_path, "run", 0)
    rates = [
        own.optimizer.param_groups[0]["lr"]
        for _ in warm_start(own, demonstrations, schedule, checkpoints, seed=0)
    ]
    assert rates == pytest.approx([1e-3, 2e-3, 3e-3])


def test_imitation_lowers_the_loss(tmp_path: Path, learner: New, demonstrations: Chosen) -> None:
    schedule = WarmSchedule(steps=6, tasks_per_step=2, learning_rate=1e-2)
    rows = warm_start(learner(), demonstrations, schedule, Checkpoints(tmp_path, "run", 0), seed=0)
    losses = [row["warmstart/loss"] for _, row in rows]
    assert losses[-1] < 0.8 * losses[0]


def test_an_interrupted_run_ends_as_an_uninterrupted_one(
    tmp_path: Path, learner: New, weights: Flat, demonstrations: Chosen
) -> None:
    schedule = WarmSchedule(steps=5, tasks_per_step=1)

    def run(own: Learner, folder: str) -> Rows:
        checkpoints = Checkpoints(tmp_path / folder, "run", 2)
        return warm_start(own, demonstrations, schedule, checkpoints, seed=0)

    whole, killed, resumed = learner(), learner(), learner()
    expected = untimed(run(whole, "whole"))
    assert untimed(islice(run(killed, "killed"), 3)) == expected[:3]
    assert untimed(run(resumed, "killed")) == expected[2:]
    assert torch.equal(weights(whole), weights(resumed))


def test_a_run_that_is_at_its_last_step_trains_nothing_more(
    tmp_path: Path, learner: New, weights: Flat, demonstrations: Chosen
) -> None:
    checkpoints, schedule = Checkpoints(tmp_path, "run", 1), WarmSchedule(steps=2)
    checkpoints.save(learner(), 2, steps=9)
    own = learner()
    assert list(warm_start(own, demonstrations, schedule, checkpoints, seed=0)) == []
    assert torch.equal(weights(own), weights(learner()))


def test_an_empty_set_is_refused(tmp_path: Path, learner: New) -> None:
    with pytest.raises(TrainingError, match="there is no recording to imitate"):
        next(warm_start(learner(), [], WarmSchedule(), Checkpoints(tmp_path, "run", 0), seed=0))
