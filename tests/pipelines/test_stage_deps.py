"""The deps of a stage in dvc.yaml name the code that decides what it makes."""

from pathlib import Path

import grimp
import pytest

from pipelines.dag import stages
from pipelines.yaml12 import read_yaml

ROOT = Path(__file__).parents[2]
STAGES = stages(ROOT / "dvc.yaml")
PLUMBING = {
    "envace.artifacts",
    "envace.config",
    "envace.errors",
    "envace.plugins",
    "envace.tracking.sinks.jsonl",
    "envace.tracking.sinks.mlflow",
    "envace.tracking.tracker",
    "pipelines.params",
    "pipelines.paths",
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
