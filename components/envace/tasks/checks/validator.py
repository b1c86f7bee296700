"""A JSON Schema validator (draft 2020-12) whose every keyword takes a bounded time.

One idea: what jsonschema does in exponential or quadratic time is done here in linear time: regular
expressions by RE2, `uniqueItems` by hashing. `multipleOf` takes numbers as they are written in
decimal, so that 19.99 is a multiple of 0.01. Formats are only those whose check is linear, raises
nothing and opens no connection.
"""

from collections.abc import Hashable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker, validators
from jsonschema.exceptions import ValidationError
from pydantic import JsonValue

from envace.tasks.checks.schema import pattern

FORMATS = FormatChecker(
    ("date", "time", "date-time", "email", "ipv4", "ipv6", "uuid", "hostname", "uri")
)
"""Formats that are checked; any other is an annotation."""


def _pattern(_: Any, expected: str, value: JsonValue, __: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and not _matches(expected, value):
        yield ValidationError(f"{value!r} does not match {expected!r}")


def _pattern_properties(
    validator: Any, patterns: Mapping[str, Any], value: JsonValue, _: Any
) -> Iterator[ValidationError]:
    if not isinstance(value, dict):
        return
    for expected, schema in patterns.items():  # outside, so that each is compiled once
        for name, part in value.items():
            if _matches(expected, name):
                yield from validator.descend(part, schema, path=name, schema_path=expected)


def _additional_properties(
    validator: Any, allowed: Any, value: JsonValue, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    if not isinstance(value, dict):
        return
    known = set(schema.get("properties", {}))
    for expected in schema.get("patternProperties", {}):
        known |= {name for name in value if _matches(expected, name)}
    extra = [name for name in value if name not in known]
    if allowed is False and extra:
        names = ", ".join(map(repr, sorted(extra)))
        yield ValidationError(
            f"Additional properties are not allowed ({names} {_were(extra)} unexpected)"
        )
    elif isinstance(allowed, dict):
        for name in extra:
            yield from validator.descend(value[name], allowed, path=name)


def _were(names: list[str]) -> str:
    return "was" if len(names) == 1 else "were"


def _multiple_of(_: Any, step: float, value: JsonValue, __: Any) -> Iterator[ValidationError]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    if (Fraction(str(value)) / Fraction(str(step))).denominator != 1:
        yield ValidationError(f"{value!r} is not a multiple of {step}")


def _unique_items(_: Any, wanted: bool, value: JsonValue, __: Any) -> Iterator[ValidationError]:
    if wanted and isinstance(value, list) and len(set(map(_identity, value))) < len(value):
        yield ValidationError(f"{value!r} has non-unique elements")


def _identity(value: JsonValue) -> Hashable:
    """Equal for equal JSON values: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, dict):
        return frozenset((name, _identity(part)) for name, part in value.items())
    if isinstance(value, list):
        return tuple(map(_identity, value))
    return (bool, value) if isinstance(value, bool) else value


def _matches(expected: str, text: str) -> bool:
    return pattern(expected).search(text.encode(errors="replace").decode()) is not None


Validator: type[Draft202012Validator] = validators.extend(
    Draft202012Validator,
    {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "multipleOf": _multiple_of,
        "uniqueItems": _unique_items,
    },
)
"""Draft 2020-12 within linear time a keyword."""
