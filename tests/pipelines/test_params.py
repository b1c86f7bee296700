"""Parameters: every profile loads; what is wrong is said in one sentence before any work."""

from pathlib import Path

import pytest

from envace.errors import ConfigError
from pipelines import params

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


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.yaml cannot be read"):
        params.load(tmp_path / "gone.yaml")


def test_what_is_read_can_be_written_and_read_again() -> None:
    first = params.load(ROOT / "profiles/laptop.yaml")
    assert params.Params.read(params.plain(first), "again") == first
