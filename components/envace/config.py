"""The base of every component's `Config`, and the sentence that a bad one gets."""

import difflib
from collections.abc import Iterable
from typing import Self, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from envace.errors import ConfigError


class Config(BaseModel):
    """Frozen parameters of one component; an unknown key is an error.

    Each field carries a docstring with its unit and meaning; a test checks that none lacks one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    @classmethod
    def read(cls, values: object, where: str) -> Self:
        """`values` as this config. Raises `ConfigError` naming the first bad key under `where`."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            sentence = " ".join(_sentence(cls, error, where).splitlines())
            raise ConfigError(sentence) from None


def nearest(name: str, known: Iterable[str]) -> str:
    """A clause that helps after a misspelt name: the closest known one, or all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    return f"did you mean '{close[0]}'?" if close else f"it has {', '.join(names) or 'none'}."


def _sentence(cls: type[BaseModel], error: ValidationError, where: str) -> str:
    errors = error.errors()
    unknown = (one for one in errors if one["type"] == "extra_forbidden")
    first = next(unknown, errors[0])  # a misspelt key is missing too, under its right name
    path = [str(part) for part in first["loc"]]
    key = ".".join([where, *path])
    if first["type"] == "extra_forbidden":
        known = _owner(cls, path[:-1]).model_fields
        names = (field.alias or name for name, field in known.items())
        return f"{key} is not a parameter; {nearest(path[-1], names)}"
    if first["type"] == "missing":
        return f"{key} is missing; add it (see profiles/ for complete examples)."
    if isinstance(cause := first.get("ctx", {}).get("error"), ConfigError):
        return f"{key}: {cause}"
    return f"{key} is {first['input']!r}: {first['msg'].lower()}."


def _owner(cls: type[BaseModel], path: list[str]) -> type[BaseModel]:
    """The config class that the key path leads to; a place in a list or mapping leads nowhere."""
    for part in path:
        fields = {field.alias or name: field for name, field in cls.model_fields.items()}
        inner = _inside(fields[part].annotation) if part in fields else None
        cls = inner or cls
    return cls


def _inside(annotation: object) -> type[BaseModel] | None:
    """The first config class that an annotation names."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_inside, get_args(annotation))), None)
