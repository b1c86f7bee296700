"""Tool schemas and arguments are untrusted: what breaks a schema, and what breaks it.

One idea: nothing is ever fetched, every value is finite, shallow and small, and every schema is in
a closed dialect (`schema`), so that checking a value is bounded in time and memory.
"""

import json
import math
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

import orjson
from jsonschema import Draft202012Validator, FormatChecker, validators
from jsonschema.exceptions import ValidationError
from pydantic import JsonValue
from referencing import Registry

from envace.episode import Tool
from envace.strict_json import canonical
from envace.tasks.checks.schema import Refused, closed, pattern

MAX_DEPTH = 8
"""Levels of nesting of a value; a schema takes two (`properties` and the property) for each."""
MAX_BYTES = 65_536
"""Size of one schema, arguments object, result or message, as UTF-8."""
MAX_MESSAGE = 200
"""Characters of one error message that quotes untrusted text."""
MAX_ERRORS = 20
"""Errors of one arguments object that are looked for."""

_FORMATS = FormatChecker(
    ("date", "time", "date-time", "duration", "email", "ipv4", "ipv6", "uuid", "hostname", "uri")
)
"""Formats whose checks take linear time; any other is an annotation."""


def arguments_errors(tool: Tool, arguments: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """What is wrong with `arguments` under the tool's schema: short sorted messages, or none."""
    validator = _validator(_schema_text(tool))
    if isinstance(validator, str):
        return (f"the schema of tool '{tool.name}' cannot be used: {validator}",)
    value = dict(arguments)
    if found := unbounded(value, MAX_DEPTH):
        return (f"arguments: {found}",)
    errors = {
        short(f"{error.json_path.removeprefix('$').lstrip('.') or 'arguments'}: {error.message}")
        for error in islice(validator.iter_errors(value), MAX_ERRORS)
    }
    return tuple(sorted(errors))


def schema_problem(tool: Tool) -> str | None:
    """Why the tool's schema cannot be used; None if it can."""
    validator = _validator(_schema_text(tool))
    return validator if isinstance(validator, str) else None


def _schema_text(tool: Tool) -> bytes:
    """Bytes by which a schema is known; equal ones are equal schemas."""
    try:
        return orjson.dumps(dict(tool.parameters), option=orjson.OPT_SORT_KEYS)
    except TypeError:  # a large integer, or half of a surrogate pair
        return canonical(dict(tool.parameters)).encode(errors="surrogatepass")


@lru_cache(maxsize=4096)
def _validator(schema_text: bytes) -> Draft202012Validator | str:
    """The validator of a schema, or why there is none."""
    schema: dict[str, JsonValue] = json.loads(schema_text.decode(errors="surrogatepass"))
    if found := unbounded(schema, 2 * MAX_DEPTH):
        return found
    try:
        written = closed(schema)
    except Refused as error:
        return short(str(error))
    if written.get("type", "object") != "object":
        return f"its type is {short(repr(written['type']))}, expected 'object'"
    return Validator(written, registry=Registry(), format_checker=_FORMATS)


def walk(value: JsonValue) -> Iterator[tuple[JsonValue, int]]:
    """`value` and everything inside it, each with its depth: 1 is the value itself."""
    stack = [(value, 1)]
    while stack:
        part, depth = stack.pop()
        yield part, depth
        if isinstance(part, dict):
            stack += [(inner, depth + 1) for inner in part.values()]
        elif isinstance(part, list):
            stack += [(inner, depth + 1) for inner in part]


def unreal(value: JsonValue) -> bool:
    """Is it NaN, infinite, or an integer that no float can hold?"""
    if isinstance(value, float):
        return not math.isfinite(value)
    return isinstance(value, int) and value.bit_length() > sys.float_info.max_exp


def unbounded(value: JsonValue, max_depth: int) -> str | None:
    """Why a value is not finite, shallow and small."""
    for part, depth in walk(value):
        if isinstance(part, dict | list) and depth > max_depth:
            return f"it nests more than {max_depth} levels deep"
        if unreal(part):
            return "it holds a number that is not finite"
    size = len(json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass"))
    return f"it takes {size:,} bytes, limit {MAX_BYTES:,}" if size > MAX_BYTES else None


def short(text: str) -> str:
    """`text` cut to `MAX_MESSAGE` characters."""
    return text if len(text) <= MAX_MESSAGE else text[: MAX_MESSAGE - 1] + "…"


def _pattern(_: Any, expected: str, value: JsonValue, __: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and not _matches(expected, value):
        yield ValidationError(f"{value!r} does not match {expected!r}")


def _pattern_properties(
    validator: Any, patterns: Mapping[str, Any], value: JsonValue, _: Any
) -> Iterator[ValidationError]:
    for name, part in value.items() if isinstance(value, dict) else ():
        for expected, schema in patterns.items():
            if _matches(expected, name):
                yield from validator.descend(part, schema, path=name, schema_path=expected)


def _additional_properties(
    validator: Any, allowed: Any, value: JsonValue, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    if not isinstance(value, dict):
        return
    patterns = schema.get("patternProperties", {})
    extra = [
        name
        for name in value
        if name not in schema.get("properties", {})
        and not any(_matches(expected, name) for expected in patterns)
    ]
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


def _matches(expected: str, text: str) -> bool:
    return pattern(expected).search(text.encode(errors="replace").decode()) is not None


Validator = validators.extend(
    Draft202012Validator,
    {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
    },
)
"""Draft 2020-12 with regular expressions of linear time."""
