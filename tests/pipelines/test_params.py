"""Parameters: every profile loads; what is wrong is said in one sentence before any work."""

import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from envace.config import Config
from envace.errors import ConfigError
from envace.plugins import Plugin
from pipelines import params
from pipelines.yaml12 import read_yaml

ROOT = Path(__file__).parents[2]
PROFILES = sorted((ROOT / "profiles").glob("*.yaml"))
LAPTOP = (ROOT / "profiles/laptop.yaml").read_text("utf-8")


def changed(tmp_path: Path, before: str, after: str) -> Path:
    """A copy of the laptop profile in which one text is another."""
    assert before in LAPTOP
    path = tmp_path / "params.yaml"
    path.write_text(LAPTOP.replace(before, after, 1), "utf-8")
    return path


@pytest.mark.parametrize("profile", PROFILES, ids=lambda path: path.stem)
def test_every_shipped_profile_loads_and_says_its_name(profile: Path) -> None:
    assert params.load(profile).profile == profile.stem


def test_the_active_parameters_load() -> None:
    assert params.load(ROOT / "params.yaml").train.advantage.name == "role_wise"


def test_a_rate_without_a_point_is_a_number() -> None:
    assert params.load(ROOT / "profiles/laptop.yaml").train.schedule.learning_rate == 1e-5


def test_a_misspelt_key_names_the_nearest(tmp_path: Path) -> None:
    path = changed(tmp_path, "episodes_per_task:", "episode_per_task:")
    expected = (
        f"{path}.train.schedule.episode_per_task is not a parameter; "
        "did you mean 'episodes_per_task'?"
    )
    with pytest.raises(ConfigError) as caught:
        params.load(path)
    assert str(caught.value) == expected


def test_a_misspelt_section_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"warmstrat is not .*'warmstart'"):
        params.load(changed(tmp_path, "warmstart:", "warmstrat:"))


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\.seed is missing; add it"):
        params.load(changed(tmp_path, "seed: 0\n", ""))


def test_an_unknown_plug_in_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"train\.advantage: .* has no 'rolewise'.*'role_wise'"):
        params.load(changed(tmp_path, "name: role_wise", "name: rolewise"))


def test_a_misspelt_option_of_a_plug_in_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"worlds\.conversation is not .*'conversations'"):
        params.load(changed(tmp_path, "conversations: 100", "conversation: 100"))


def test_a_word_where_a_number_belongs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"seed is 'no'"):
        params.load(changed(tmp_path, "seed: 0", "seed: no"))


WRONG = [
    ("promote.suite", "wolds", "promote.suite: there is no 'wolds'; did you mean 'worlds'?"),
    ("serve.world", "retial", "serve.world: there is no 'retial'; did you mean 'retail'?"),
    ("curate.sources.0.domains", ["calender"], "'calender'; did you mean 'calendar'?"),
    ("curate.sources.0.tiers", ["one_cal"], "'one_cal'; did you mean 'one_call'?"),
    ("evaluate.suites.0.domains", ["airlin"], "worlds.domains: there is no 'airlin'; did you"),
    ("evaluate.suites.0.tiers", ["one_cal"], "worlds.tiers: there is no 'one_cal'; did you mean"),
    ("curate.rules.held_out_share", {"wrlds": 0.1}, "held_out_share: there is no 'wrlds'; did you"),
    ("curate.rules.skip", ["no_such_rule"], "no_such_rule"),
    ("train.budget.temperature", 0, "train.budget.temperature is 0, expected more"),
    ("warmstart.schedule.steps", -1, "warmstart.schedule.steps is -1"),
    ("train.schedule.tasks_per_step", 0, "train.schedule.tasks_per_step is 0"),
    ("train.schedule.episodes_per_task", 0, "train.schedule.episodes_per_task is 0"),
    ("train.schedule.learning_rate", -1, "train.schedule.learning_rate is -1"),
    ("warmstart.update.pack_tokens", 0, "warmstart.update.pack_tokens is 0"),
    ("register.name", "it's", 'register.name is "it\'s"'),
    ("serve.port", 70000, "serve.port is 70000"),
]


@pytest.mark.parametrize(("place", "value", "said"), WRONG, ids=[place for place, _, _ in WRONG])
def test_a_wrong_name_or_value_is_refused_at_load(place: str, value: object, said: str) -> None:
    values = read_yaml(ROOT / "profiles/laptop.yaml")
    *way, last = place.split(".")
    owner: Any = values
    for key in way:
        owner = owner[int(key) if key.isdigit() else key]
    owner[last] = value
    with pytest.raises(ConfigError, match=re.escape(said)):
        params.Params.read(values, "params")


class Moded(Config):
    """A suite that runs every policy in one mode."""

    first_mode: str = "N=0"
    """That mode."""


@pytest.mark.parametrize(("mode", "holds"), [("N=0", True), ("N=2", False)])
def test_promotion_compares_in_a_mode_that_every_policy_is_run_in(mode: str, holds: bool) -> None:
    values = read_yaml(ROOT / "profiles/laptop.yaml")
    values["evaluate"] = {"suites": [Plugin("envace.benchmarks.suites", "worlds", Moded())]}
    values["promote"]["mode"] = mode
    said = "promote.mode is 'N=2', but worlds runs every policy in 'N=0' only; write 'N=0'"
    with nullcontext() if holds else pytest.raises(ConfigError, match=said):
        params.Params.read(values, "params")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.yaml cannot be read"):
        params.load(tmp_path / "gone.yaml")


def test_what_is_read_can_be_written_and_read_again() -> None:
    first = params.load(ROOT / "profiles/laptop.yaml")
    assert params.Params.read(params.plain(first), "again") == first
