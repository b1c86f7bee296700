"""The deps of a stage in dvc.yaml name the code that decides what it makes."""

from pathlib import Path
from typing import Any

import grimp
import pytest

from pipelines.dag import stages
from pipelines.register import MAKES, MARK
from pipelines.yaml12 import read_yaml

ROOT = Path(__file__).parents[2]
STAGES = stages(ROOT / "dvc.yaml")
PLUMBING = {
    "envace",
    "envace.artifacts",
    "envace.config",
    "envace.errors",
    "envace.files",
    "envace.plugins",
    "envace.tracking.sinks.jsonl",
    "envace.tracking.sinks.mlflow",
    "envace.tracking.tracker",
    "pipelines.params",
    "pipelines.paths",
    "pipelines.records",
    "pipelines.settings",
    "pipelines.stage",
}
"""Moves, checks, names or shows what a stage makes, and decides none of it. A stage's parameters
are among its params in dvc.yaml, so the file that composes them is not one of its deps."""


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("envace", "pipelines", cache_dir=None)


@pytest.mark.parametrize("stage", STAGES)
def test_deps_of_a_stage_cover_what_it_imports(stage: str, graph: grimp.ImportGraph) -> None:
    deps = [Path(dep) for dep in read_yaml(ROOT / "dvc.yaml")["stages"][stage]["deps"]]
    files = {_file(module) for module in _closure(f"pipelines.{stage}", graph)}
    assert not {file for file in files if not any(file.is_relative_to(dep) for dep in deps)}


@pytest.mark.parametrize("stage", STAGES)
def test_deps_of_a_stage_exist_or_are_made_by_another(stage: str) -> None:
    everything = read_yaml(ROOT / "dvc.yaml")["stages"]
    entries = [
        entry
        for each in everything.values()
        for key in ("outs", "metrics", "plots")
        for entry in each.get(key, ())
    ]
    made = [Path(next(iter(e)) if isinstance(e, dict) else e) for e in entries]
    for dep in map(Path, everything[stage]["deps"]):
        assert (ROOT / dep).exists() or any(dep.is_relative_to(out) for out in made), dep


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_that_speaks_to_the_registry_is_never_replayed(
    stage: str, graph: grimp.ImportGraph
) -> None:
    """DVC's run cache would restore what it wrote down, but not what it did to the registry."""
    if "envace.registry.models" in _closure(f"pipelines.{stage}", graph):
        assert all(options.get("persist") for options in _outs(stage).values())


def test_register_has_an_out_in_the_state_so_that_its_loss_is_noticed() -> None:
    assert _outs("register")[str(MARK)] == {"cache": False, "persist": True}


def test_register_depends_on_the_parameters_that_make_the_weights() -> None:
    assert set(MAKES) < set(read_yaml(ROOT / "dvc.yaml")["stages"]["register"]["params"])


def _outs(stage: str) -> dict[str, dict[str, Any]]:
    made = read_yaml(ROOT / "dvc.yaml")["stages"][stage]
    entries = [entry for key in ("outs", "metrics", "plots") for entry in made.get(key, ())]
    return {k: v for e in entries for k, v in (e.items() if isinstance(e, dict) else [(e, {})])}


def _closure(module: str, graph: grimp.ImportGraph) -> set[str]:
    found: set[str] = set()
    waiting = [module]
    while waiting:
        if (name := waiting.pop()) not in found | PLUMBING:
            found.add(name)
            waiting += graph.find_modules_directly_imported_by(name)
    return found


def _file(module: str) -> Path:
    path = Path(*module.split("."))
    path = Path("components") / path if module.startswith("envace") else path
    return path / "__init__.py" if (ROOT / path).is_dir() else path.with_suffix(".py")
