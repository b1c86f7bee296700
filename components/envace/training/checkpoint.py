"""Checkpoints of a run: written whole or not at all, and resumed only by the run they belong to.

A checkpoint is a folder with weights, optimiser state and a manifest of hashes; it is written
under a temporary name, synced and renamed, then the older ones go. Sampling is seeded by step, so
weights, optimiser and step are all the state there is. The folder lies outside every DVC output,
where `dvc repro` cannot delete it.
"""

import json
import logging
import shutil
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_model, save_model

from envace.files import sha256_of, sync
from envace.grpo.update import Learner

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints of one run under `folder`."""

    folder: Path
    run: str
    """Identifies the run: a hash of its parameters, data and first weights."""
    every: int
    """Steps between two checkpoints; 0 writes none."""

    def save(self, learner: Learner, step: int, steps: int) -> None:
        """Writes the state after `step` steps, if it is the turn of one, and drops older ones."""
        if not self.every or step % self.every or step == steps:
            return
        target = self._at(step)
        temporary = target.with_name(f".{target.name}.part")
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        save_model(learner.model, str(temporary / "model.safetensors"))
        torch.save(learner.optimizer.state_dict(), temporary / "optimizer.pt")
        hashes = {path.name: sha256_of(path) for path in sorted(temporary.iterdir())}
        (temporary / "manifest.json").write_text(json.dumps({"step": step, "files": hashes}))
        for path in temporary.iterdir():
            sync(path)
        shutil.rmtree(target, ignore_errors=True)
        temporary.rename(target)
        for other in self._all():
            if other != target:
                shutil.rmtree(other)

    def resume(self, learner: Learner) -> int:
        """Loads the newest sound checkpoint into `learner`; returns its step, or 0 without one."""
        for path in reversed(self._all()):
            if (step := _sound(path)) is None:
                _log.warning("%s is damaged and is left out; training goes on without it.", path)
                continue
            load_model(learner.model, str(path / "model.safetensors"))
            state = torch.load(path / "optimizer.pt", weights_only=True)
            learner.optimizer.load_state_dict(state)
            _log.warning("resumed at step %d from %s", step, path)
            return step
        return 0

    def clear(self) -> None:
        """Removes all checkpoints of the run; called when its result is safely written."""
        shutil.rmtree(self.folder / self.run, ignore_errors=True)

    def _at(self, step: int) -> Path:
        return self.folder / self.run / f"step-{step:06d}"

    def _all(self) -> list[Path]:
        return sorted((self.folder / self.run).glob("step-*"))


def _sound(path: Path) -> int | None:
    """The step of a checkpoint whose files all have their hashes."""
    try:
        manifest = json.loads((path / "manifest.json").read_text())
        whole = all(sha256_of(path / name) == sha for name, sha in manifest["files"].items())
        return int(manifest["step"]) if whole else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
