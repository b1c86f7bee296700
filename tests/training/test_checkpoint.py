"""A checkpoint is whole or it is not used."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from envace.grpo.update import Learner
from envace.training.checkpoint import Checkpoints

New = Callable[[], Learner]
Flat = Callable[[Learner], Tensor]
Damage = Callable[[Path], object]


def step(learner: Learner) -> None:
    """One optimiser step away from where the learner is."""
    for parameter in learner.model.parameters():
        parameter.grad = torch.ones_like(parameter)
    learner.optimizer.step()
    learner.optimizer.zero_grad()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def test_what_was_saved_is_what_is_resumed(tmp_path: Path, learner: New, weights: Flat) -> None:
    saved, fresh = learner(), learner()
    step(saved)
    Checkpoints(tmp_path, "run", 1).save(saved, 1, 9)
    assert Checkpoints(tmp_path, "run", 1).resume(fresh) == 1
    assert torch.equal(weights(saved), weights(fresh))
    step(saved)
    step(fresh)
    assert torch.equal(weights(saved), weights(fresh))


def test_only_the_newest_stays(tmp_path: Path, learner: New) -> None:
    checkpoints = Checkpoints(tmp_path, "run", 1)
    for number in (1, 2, 3):
        checkpoints.save(learner(), number, 9)
    assert names(tmp_path / "run") == ["step-000003"]


@pytest.mark.parametrize(("every", "number"), [(0, 1), (2, 1), (1, 4)])
def test_nothing_is_written_out_of_turn_or_at_the_last_step(
    tmp_path: Path, learner: New, every: int, number: int
) -> None:
    Checkpoints(tmp_path, "run", every).save(learner(), number, steps=4)
    assert names(tmp_path) == []


def truncate(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1])


def flip(folder: Path) -> None:
    path = folder / "optimizer.pt"
    path.write_bytes(path.read_bytes()[:-1] + b"?")


DAMAGES: dict[str, Damage] = {
    "weights cut short": truncate,
    "optimiser altered": flip,
    "optimiser gone": lambda folder: (folder / "optimizer.pt").unlink(),
    "manifest gone": lambda folder: (folder / "manifest.json").unlink(),
    "manifest cut short": lambda folder: (folder / "manifest.json").write_text('{"step": 2, "fi'),
    "manifest without hashes": lambda folder: (folder / "manifest.json").write_text('{"step": 2}'),
    "manifest of another form": lambda folder: (folder / "manifest.json").write_text("[]"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_checkpoint_is_skipped_for_the_one_before(
    tmp_path: Path, learner: New, weights: Flat, damage: Damage
) -> None:
    checkpoints, run, older = Checkpoints(tmp_path, "run", 1), tmp_path / "run", learner()
    checkpoints.save(older, 1, 9)
    shutil.copytree(run / "step-000001", tmp_path / "kept")
    newer, resumed = learner(), learner()
    step(newer)
    checkpoints.save(newer, 2, 9)
    shutil.move(tmp_path / "kept", run / "step-000001")
    damage(run / "step-000002")
    assert checkpoints.resume(resumed) == 1
    assert torch.equal(weights(resumed), weights(older))


def test_what_a_killed_save_left_is_ignored_and_replaced(tmp_path: Path, learner: New) -> None:
    checkpoints = Checkpoints(tmp_path, "run", 1)
    (tmp_path / "run" / ".step-000001.part").mkdir(parents=True)
    (tmp_path / "run" / ".step-000001.part" / "optimizer.pt").write_bytes(b"half")
    assert checkpoints.resume(learner()) == 0
    checkpoints.save(learner(), 1, 9)
    assert names(tmp_path / "run") == ["step-000001"]


def test_another_run_is_not_resumed(tmp_path: Path, learner: New) -> None:
    Checkpoints(tmp_path, "one", 1).save(learner(), 1, 9)
    assert Checkpoints(tmp_path, "other", 1).resume(learner()) == 0


def test_a_cleared_run_leaves_nothing(tmp_path: Path, learner: New) -> None:
    checkpoints = Checkpoints(tmp_path, "run", 1)
    checkpoints.save(learner(), 1, 9)
    checkpoints.clear()
    checkpoints.clear()
    assert names(tmp_path) == []
