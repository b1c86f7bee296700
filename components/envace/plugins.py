"""One file = one plug-in: the file name is the name in params.yaml.

A plug-in module exposes `Config` and `build(config, …)`. There is no registry and no import side
effect: a name is turned into a module of the package and imported. Importing a plug-in file is
cheap; a heavy library is imported inside the function that needs it.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer

from envace.config import Config, nearest
from envace.errors import ConfigError, PluginError


@dataclass(frozen=True)
class Plugin:
    """A plug-in that was chosen and configured, not yet built."""

    package: str
    name: str
    config: Config

    def build(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the module's `build(config, *args, **kwargs)`."""
        module = importlib.import_module(f"{self.package}.{self.name}")
        return module.build(self.config, *args, **kwargs)


def names(package: str) -> list[str]:
    """The plug-in names of a package: its modules that don't start with `_`."""
    path = importlib.import_module(package).__path__
    return sorted(info.name for info in pkgutil.iter_modules(path) if not info.name.startswith("_"))


def choose(package: str, spec: object) -> Plugin:
    """`{"name": NAME, **fields}` (or just NAME) as a configured plug-in of `package`.

    Raises `PluginError` for an unknown name and `ConfigError` for a bad field.
    """
    fields = {"name": spec} if isinstance(spec, str) else spec
    if not isinstance(fields, Mapping) or not isinstance(fields.get("name"), str):
        raise ConfigError(f"got {spec!r}, expected a name or a mapping with a 'name'.")
    options = {str(key): value for key, value in fields.items()}
    name = options.pop("name")
    if name not in (known := names(package)):
        raise PluginError(f"{package} has no '{name}'; {nearest(name, known)}")
    module = importlib.import_module(f"{package}.{name}")
    return Plugin(package, name, module.Config.read(options, name))


def plugin_of(package: str) -> Any:
    """A pydantic field type for a plug-in of `package`: `reward: plugin_of("envace.rewards")`."""

    def read(spec: object) -> Plugin:
        try:
            return spec if isinstance(spec, Plugin) else choose(package, spec)
        except PluginError as error:
            raise ConfigError(str(error)) from None

    def write(plugin: Plugin) -> dict[str, Any]:
        return {"name": plugin.name, **plugin.config.model_dump(mode="json")}

    return Annotated[Any, BeforeValidator(read), PlainSerializer(write)]
