import importlib
import pkgutil

import pytest

from envace.config import Config
from envace.plugins import names

PACKAGES = (
    "envace.benchmarks.suites",
    "envace.grpo.advantages",
    "envace.inference.backends",
    "envace.rewards",
    "envace.tasks.sources",
    "envace.tracking.sinks",
    "envace.training.bases",
    "envace.worlds",
)
PROTOCOLS = {"envace.rewards.reward", "envace.worlds.world"}
"""Files of a plug-in package that say what its plug-ins are."""


def modules(package: str) -> list[str]:
    path = importlib.import_module(package).__path__
    return [f"{package}.{i.name}" for i in pkgutil.iter_modules(path) if i.name[0] != "_"]


PLUGINS = [name for package in PACKAGES for name in modules(package) if name not in PROTOCOLS]


@pytest.mark.parametrize("package", PACKAGES)
def test_each_file_of_a_plugin_package_is_a_plugin(package: str) -> None:
    found = [f"{package}.{name}" for name in names(package)]
    assert found == [plugin for plugin in PLUGINS if plugin.rpartition(".")[0] == package] != []


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_plugin_has_its_config_and_builds(plugin: str) -> None:
    module = importlib.import_module(plugin)
    assert issubclass(module.Config, Config)
    assert callable(module.build)


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_plugin_says_what_it_is(plugin: str) -> None:
    assert importlib.import_module(plugin).__doc__


@pytest.mark.parametrize("plugin", PLUGINS)
def test_each_field_of_a_plugin_has_a_default_or_says_what_it_needs(plugin: str) -> None:
    fields = importlib.import_module(plugin).Config.model_fields
    assert not [
        key for key, field in fields.items() if field.is_required() and not field.description
    ]
