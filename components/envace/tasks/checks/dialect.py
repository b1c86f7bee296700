"""Tool schemas are untrusted: a closed dialect of JSON Schema, and what breaks it.

One idea: a schema may not refer to anything (`$ref`), nothing is ever fetched, and every value is
finite, shallow and small, so that checking it is bounded in time and memory.
"""

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError
from pydantic import JsonValue
from referencing import Registry

from envace.episode import Tool

MAX_DEPTH = 8
"""Levels of nesting of a value; a schema takes two (`properties` and the property) for each."""
MAX_BYTES = 65_536
"""Size of one schema, arguments object, result or message, as UTF-8."""
MAX_PATTERN = 200
"""Characters of a regular expression in a schema."""
MAX_MESSAGE = 200
"""Characters of one error message that quotes untrusted text."""

_REFERENCES = {"$ref", "$dynamicRef", "$recursiveRef"}
_REPEATED_GROUP = re.compile(r"\)[*+{]")
# The format "regex" compiles the checked text itself, which deep nesting can break.
_FORMATS = FormatChecker(set(Draft202012Validator.FORMAT_CHECKER.checkers) - {"regex"})


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
        for error in validator.iter_errors(value)
    }
    return tuple(sorted(errors))


def schema_problem(tool: Tool) -> str | None:
    """Why the tool's schema cannot be used; None if it can."""
    validator = _validator(_schema_text(tool))
    return validator if isinstance(validator, str) else None


def _schema_text(tool: Tool) -> str:
    return json.dumps(dict(tool.parameters), sort_keys=True)


@lru_cache(maxsize=1024)
def _validator(schema_text: str) -> Draft202012Validator | str:
    """The validator of a schema, or why there is none."""
    schema: dict[str, JsonValue] = json.loads(schema_text)
    if found := unbounded(schema, 2 * MAX_DEPTH) or _open(schema):
        return found
    if schema.get("type", "object") != "object":
        return f"its type is {short(repr(schema['type']))}, expected 'object'"
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return short(f"{error.json_path}: {error.message}")
    return Draft202012Validator(schema, registry=Registry(), format_checker=_FORMATS)


def _open(schema: JsonValue) -> str | None:
    """The first part of a schema that leaves the closed dialect."""
    for part, _ in walk(schema):
        if not isinstance(part, dict):
            continue
        if found := _REFERENCES & part.keys():
            return f"it holds {min(found)}, and references are not followed; write it out in place"
        named = part.get("patternProperties")
        for pattern in (part.get("pattern"), *(named if isinstance(named, dict) else ())):
            if isinstance(pattern, str) and (
                len(pattern) > MAX_PATTERN or _REPEATED_GROUP.search(pattern)
            ):
                return f"its pattern {short(pattern)!r} is too long or repeats a group"
    return None


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
