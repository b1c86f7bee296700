"""One file = one plug-in: the file name is the name in params.yaml.

A plug-in module exposes `Config` and `build(config, …)`. There is no registry and no import side
effect: a name is turned into a module of the package and imported. Importing a plug-in file is
cheap; a heavy library is imported inside the function that needs it.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import GetPydanticSchema
from pydantic_core import core_schema

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
    """The plug-in names of a package: its files that define `Config`, save those with a `_`."""
    folders = map(Path, importlib.import_module(package).__path__)
    files = [file for folder in folders for file in folder.glob("[!_]*.py")]
    return sorted(file.stem for file in files if "\nclass Config(" in file.read_text("utf-8"))


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


def plugin_of(package: str) -> GetPydanticSchema:
    """Marks a config field as a plug-in of `package`: `Annotated[Plugin, plugin_of("…")]`."""

    def read(spec: object) -> Plugin:
        try:
            return spec if isinstance(spec, Plugin) else choose(package, spec)
        except PluginError as error:
            raise ConfigError(str(error)) from None

    def write(plugin: Plugin) -> dict[str, Any]:
        return {"name": plugin.name, **plugin.config.model_dump(mode="json")}

    schema = core_schema.no_info_plain_validator_function(
        read, serialization=core_schema.plain_serializer_function_ser_schema(write)
    )

    def schema_of(kind: object, handler: object) -> core_schema.CoreSchema:
        return schema

    return GetPydanticSchema(schema_of)
