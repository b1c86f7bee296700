import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pytest

from envace.config import Config
from envace.errors import ConfigError, PluginError
from envace.plugins import Plugin, choose, names, plugin_of

PLUGIN = '''
from envace.config import Config as Base


class Config(Base):
    """Options."""

    size: int = 1
    """A number."""


def build(config, *args, **kwargs):
    return config.size, args, kwargs
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package of two plug-ins, a private file, and one that is none."""
    folder = tmp_path / "pieces"
    folder.mkdir()
    for file in ("__init__", "square", "round_one", "_private", "vocabulary"):
        text = "" if file in ("__init__", "vocabulary") else PLUGIN
        (folder / f"{file}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "pieces"
    for module in [name for name in sys.modules if name.partition(".")[0] == "pieces"]:
        del sys.modules[module]


class Holder(Config):
    """Holds a plug-in of this project."""

    world: Annotated[Plugin, plugin_of("envace.worlds")]
    """Any world."""


def test_the_plugins_of_a_package_are_its_files_with_a_config(package: str) -> None:
    assert names(package) == ["round_one", "square"]


def test_asking_for_names_imports_no_plugin(package: str) -> None:
    names(package)
    assert not [name for name in sys.modules if name.startswith("pieces.")]


def test_a_plugin_is_chosen_by_name_configured_and_built(package: str) -> None:
    assert choose(package, "square").build() == (1, (), {})
    assert choose(package, {"name": "square", "size": 3}).build(1, a=2) == (3, (1,), {"a": 2})


def test_what_was_given_is_left_as_it_was(package: str) -> None:
    spec = {"name": "square", "size": 3}
    choose(package, spec)
    assert spec == {"name": "square", "size": 3}


@pytest.mark.parametrize("name", ["squar", "_private", "vocabulary", "../square", "square.py", ""])
def test_a_name_that_no_file_carries_is_refused(package: str, name: str) -> None:
    with pytest.raises(PluginError, match=r"^pieces has no '"):
        choose(package, name)


def test_a_misspelt_name_gets_the_nearest(package: str) -> None:
    with pytest.raises(PluginError, match=r"^pieces has no 'squar'; did you mean 'square'\?$"):
        choose(package, "squar")


@pytest.mark.parametrize("spec", [None, 3, ["square"], {}, {"size": 1}, {"name": 3}])
def test_what_names_no_plugin_is_refused(package: str, spec: object) -> None:
    with pytest.raises(ConfigError, match="expected a name or a mapping with a 'name'"):
        choose(package, spec)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"siz": 1}, "square.siz is not a parameter; did you mean 'size'?"),
        (
            {"size": "x"},
            "square.size is 'x': input should be a valid integer, "
            "unable to parse string as an integer.",
        ),
    ],
)
def test_a_bad_option_is_refused_in_one_sentence(
    package: str, options: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ConfigError) as error:
        choose(package, {"name": "square", **options})
    assert str(error.value) == sentence


def test_a_plugin_in_a_config_is_written_as_it_is_read() -> None:
    holder = Holder.read({"world": "airline"}, "h")
    assert holder.model_dump(mode="json") == {"world": {"name": "airline"}}
    assert Holder.read(holder.model_dump(mode="json"), "h") == holder
    assert Holder(world=holder.world) == holder
