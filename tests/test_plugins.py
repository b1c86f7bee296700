import importlib

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
PLUGINS = [
    f"{package}.{name}"
    for package in PACKAGES
    for name in names(package)
    if f"{package}.{name}" not in PROTOCOLS
]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_of_plugins_has_one(package: str) -> None:
    assert [plugin for plugin in PLUGINS if plugin.startswith(f"{package}.")]


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
