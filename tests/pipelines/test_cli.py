"""The command line: one sentence and exit code 1 for what is wrong, an example in every help."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMANDS = ("demo", "profile", "chat", "serve")


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
    assert all(f" {command} " in text for command in COMMANDS)


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
