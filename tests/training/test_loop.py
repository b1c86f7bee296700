"""The training loop on a random model, whose reward is made up from what it wrote."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
import torch
from torch import Tensor

from envace.episode import Episode
from envace.errors import TrainingError
from envace.grpo.advantages import role_wise
from envace.grpo.update import Learner
from envace.inference.backends.hf import HfPolicy
from envace.inference.chat import ChatML
from envace.rehearsal.act import Actor, Budget
from envace.rewards.reward import Missing, Valid
from envace.rollout.play import Rules
from envace.tasks.task import Task
from envace.training.abort import Limits
from envace.training.checkpoint import Checkpoints
from envace.training.loop import Run, train
from envace.training.schedule import Schedule

New = Callable[[], Learner]
Flat = Callable[[Learner], Tensor]
NewRun = Callable[..., Run]
Tasks = tuple[Task, ...]


class Silent:
    """Cannot score anything."""

    async def score(self, task: Task, episode: Episode) -> Missing:
        return Missing("no judge")

    def goes_on(self, task: Task, rounds: object) -> bool:
        return False


class Flatly:
    """0.5 for everything, so that every group is dead."""

    async def score(self, task: Task, episode: Episode) -> Valid:
        return Valid(0.5)

    def goes_on(self, task: Task, rounds: object) -> bool:
        return False


class Parity:
    """1 for an episode whose ids have an even sum."""

    def __init__(self) -> None:
        self.versions: list[str] = []

    async def score(self, task: Task, episode: Episode) -> Valid:
        self.versions += [span.version for span in episode.sequence.spans if span.version]
        return Valid(1.0 - sum(episode.sequence.ids) % 2)

    def goes_on(self, task: Task, rounds: object) -> bool:
        return False


@pytest.fixture
def new_run(tmp_path: Path, renderer: ChatML, learner: New) -> NewRun:
    """Makes a run of five steps with fresh weights and checkpoints in `folder`."""

    def make(folder: str = "run", **schedule: int) -> Run:
        own = learner()
        policy = HfPolicy(own.model, renderer.stop, max_batch=8, version="")
        options = {"steps": 5, "tasks_per_step": 1, "checkpoint_every": 2} | schedule
        return Run(
            policy=policy,
            actor=Actor(policy, renderer, Budget(act_tokens=6, rehearse_tokens=6)),
            learner=own,
            estimate=role_wise.build(role_wise.Config()),
            reward=Parity(),
            rules=Rules(max_steps=2, on_fault="tell"),
            schedule=Schedule.model_validate(options),
            limits=Limits(),
            checkpoints=Checkpoints(tmp_path / folder, "run", options["checkpoint_every"]),
            seed=0,
        )

    return make


Rows = Iterable[tuple[int, dict[str, float]]]


def untimed(rows: Rows) -> list[tuple[int, dict[str, float]]]:
    return [(step, {k: v for k, v in row.items() if "time" not in k}) for step, row in rows]


def test_a_step_trains_what_it_sampled_on_its_own_weights(new_run: NewRun, tasks: Tasks) -> None:
    run = new_run(steps=1, checkpoint_every=0)
    ((step, row),) = train(run, tasks)
    assert step == 1
    assert row["update/trained_tokens"] == row["act/outputs"] * row["act/tokens"] > 0
    assert row["update/mismatch_kl"] == pytest.approx(0, abs=1e-6)
    assert row["update/grad_norm"] > 0


def test_samples_carry_the_version_of_the_weights(new_run: NewRun, tasks: Tasks) -> None:
    run = new_run(steps=2, checkpoint_every=0)
    list(train(run, tasks))
    assert isinstance(run.reward, Parity)
    assert sorted(set(run.reward.versions)) == ["step-0", "step-1"]


def test_an_interrupted_run_ends_as_an_uninterrupted_one(
    new_run: NewRun, tasks: Tasks, weights: Flat
) -> None:
    whole, killed, resumed = new_run("whole"), new_run("killed"), new_run("killed")
    expected = untimed(train(whole, tasks))
    assert untimed(islice(train(killed, tasks), 3)) == expected[:3]
    assert untimed(train(resumed, tasks)) == expected[2:]
    assert torch.equal(weights(whole.learner), weights(resumed.learner))
    assert not torch.equal(weights(whole.learner), weights(new_run().learner))


def test_a_run_that_is_at_its_last_step_trains_nothing_more(new_run: NewRun, tasks: Tasks) -> None:
    run = new_run()
    run.checkpoints.save(run.learner, 2, steps=9)
    assert list(train(replace(run, schedule=Schedule(steps=2)), tasks)) == []


def test_a_step_without_any_reward_stops_the_run(new_run: NewRun, tasks: Tasks) -> None:
    run = replace(new_run(), reward=Silent())
    with pytest.raises(TrainingError, match="no reward of step 1 could be had: those of its 4 ep"):
        next(train(run, tasks))


def test_a_broken_limit_stops_the_run_in_one_sentence(new_run: NewRun, tasks: Tasks) -> None:
    run = replace(new_run(), limits=Limits(min_well_formed=1.0, patience=2))
    with pytest.raises(TrainingError, match=r"step 2: act/well_formed is .*, expected at least 1"):
        list(train(run, tasks))


def test_dead_groups_are_refilled_in_the_step(new_run: NewRun, tasks: Tasks) -> None:
    run = replace(new_run(steps=1, refill=1, checkpoint_every=0), reward=Flatly())
    ((_, row),) = train(run, tasks)
    assert row["act/outputs"] >= 8
    assert row["act/dead_groups"] == 1


def test_an_empty_set_is_refused(new_run: NewRun) -> None:
    with pytest.raises(TrainingError, match="there is no task to train on"):
        next(train(new_run(), []))
