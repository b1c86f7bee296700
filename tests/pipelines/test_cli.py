"""The command line: one sentence and exit code 1 for what is wrong, an example in every help."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipelines.cli import app
from pipelines.yaml12 import read_yaml

ROOT = Path(__file__).parents[2]
COMMANDS = ("demo", "curate", "profile", "chat", "serve")


def envace(workspace: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs the command line in a checkout."""
    path = os.pathsep.join([str(ROOT / "components"), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-m", "pipelines.cli", *words],
        cwd=workspace,
        env={**os.environ, "PYTHONPATH": path, "ENVACE_CACHE": str(workspace / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the shipped profiles and the laptop parameters."""
    shutil.copytree(ROOT / "profiles", tmp_path / "profiles")
    shutil.copyfile(ROOT / "profiles/laptop.yaml", tmp_path / "params.yaml")
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str, checkout: Path) -> None:
    assert f"Example: envace {command}" in envace(checkout, command, "--help").stdout


def test_help_lists_every_command(checkout: Path) -> None:
    text = envace(checkout, "--help").stdout
    assert all(f" {command} " in text for command in (*COMMANDS, "tasks"))


CURATE = {
    "sources": [{"name": "worlds", "tiers": ["one_call"], "conversations": 4}],
    "rules": {
        "held_out": ["worlds/retail"],
        "held_out_share": 0,
        "near": 0,
        "engine": {"name": "local", "workers": 1},
    },
}


def test_curation_into_a_folder_leaves_the_stage_alone(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(checkout)
    monkeypatch.setenv("ENVACE_CACHE", str(checkout / "cache"))
    values = {**read_yaml(checkout / "profiles/ci.yaml"), "curate": CURATE}
    Path("own.yaml").write_text(json.dumps(values), "utf-8")
    Path("dvc.yaml").write_text("stages: {curate: {cmd: c, deps: []}}\n", "utf-8")
    words = ["curate", "--params", "own.yaml", "--out", "out"]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["worlds", "8", "4", "4", "0"] in lines
    assert lines[-1][-1] == "out/curation.html"
    assert Path("out/tasks/train/part-00000.parquet").is_file()
    assert Path("out/curation.html").is_file()
    assert not Path("data").exists()


def test_other_parameters_are_never_those_of_the_stage(checkout: Path) -> None:
    done = envace(checkout, "curate", "--params", "profiles/ci.yaml")
    assert done.returncode == 1
    assert done.stderr.startswith("envace: got --params alone, expected --out DIR with it")


def test_a_profile_becomes_the_active_one(checkout: Path) -> None:
    assert envace(checkout, "profile", "ci").returncode == 0
    assert "profile: ci" in (checkout / "params.yaml").read_text("utf-8")
    assert not (checkout / "params.yaml.before").exists()


def test_edited_parameters_outlive_every_change_of_profile(checkout: Path) -> None:
    with (checkout / "params.yaml").open("a", encoding="utf-8") as file:
        file.write("# mine\n")
    for name in ("ci", "laptop", "ci"):
        assert envace(checkout, "profile", name).returncode == 0
    assert (checkout / "params.yaml.before").read_text("utf-8").endswith("# mine\n")


def test_an_unknown_profile_changes_nothing(checkout: Path) -> None:
    done = envace(checkout, "profile", "labtop")
    assert done.returncode == 1
    assert done.stderr == "envace: there is no profile 'labtop'; did you mean 'laptop'?\n"
    assert "profile: laptop" in (checkout / "params.yaml").read_text("utf-8")


def test_a_broken_profile_is_not_made_active(checkout: Path) -> None:
    (checkout / "profiles/ci.yaml").write_text("profile: ci\n", "utf-8")
    assert envace(checkout, "profile", "ci").returncode == 1
    assert "profile: laptop" in (checkout / "params.yaml").read_text("utf-8")


@pytest.mark.parametrize("command", ["chat", "serve"])
def test_nothing_promoted_is_said_in_a_sentence(command: str, checkout: Path) -> None:
    (checkout / "state").mkdir()
    done = envace(checkout, command)
    assert done.returncode == 1
    assert done.stderr.startswith("envace: no version of envace is champion yet; run 'envace demo'")


def test_an_unknown_world_is_refused_before_anything_is_loaded(checkout: Path) -> None:
    done = envace(checkout, "chat", "--world", "retial")
    assert done.returncode == 1
    assert "did you mean 'retail'?" in done.stderr
