"""Tool schemas and arguments are untrusted: what breaks a schema, and what breaks it.

One idea: nothing is ever fetched, every value is finite, shallow and small, and every schema is in
a closed dialect (`schema`), so that checking a value (`validator`) is bounded in time and memory.
"""

import json
import math
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import orjson
from jsonschema import Draft202012Validator
from pydantic import JsonValue
from referencing import Registry

from envace.episode import Tool
from envace.tasks.checks.schema import Refused, closed
from envace.tasks.checks.validator import FORMATS, Validator

MAX_DEPTH = 8
"""Levels of nesting of a value; a schema takes two (`properties` and the property) for each."""
MAX_BYTES = 65_536
"""Size of one schema, arguments object, result or message, as UTF-8."""
MAX_MESSAGE = 200
"""Characters of one error message that quotes untrusted text."""
MAX_ERRORS = 20
"""Errors of one arguments object that are looked for."""

MAX_WORK = 4_000_000
"""Parts of a schema times bytes of the arguments: a few seconds at worst."""


class _Compiled(NamedTuple):
    """A validator, and how large the arguments may be that it checks."""

    validator: Draft202012Validator
    max_bytes: int


def arguments_errors(tool: Tool, arguments: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """What is wrong with `arguments` under the tool's schema: short sorted messages, or none."""
    compiled = _compiled(tool)
    if isinstance(compiled, str):
        return (f"the schema of tool '{short(tool.name)}' cannot be used: {compiled}",)
    value = dict(arguments)
    if found := unbounded(value, MAX_DEPTH, compiled.max_bytes):
        return (f"arguments: {found}",)
    errors = {
        short(f"{error.json_path.removeprefix('$').lstrip('.') or 'arguments'}: {error.message}")
        for error in islice(compiled.validator.iter_errors(value), MAX_ERRORS)
    }
    return tuple(sorted(errors))


def schema_problem(tool: Tool) -> str | None:
    """Why the tool's schema cannot be used; None if it can."""
    compiled = _compiled(tool)
    return compiled if isinstance(compiled, str) else None


def _compiled(tool: Tool) -> _Compiled | str:
    text = _schema_text(dict(tool.parameters))
    if len(text) > MAX_BYTES:  # and is no key of the cache, which would keep it
        return f"it takes {len(text):,} bytes, limit {MAX_BYTES:,}"
    return _compile(text)


def _schema_text(schema: dict[str, JsonValue]) -> bytes:
    """Bytes by which a schema is known; equal ones are equal schemas."""
    try:
        text = orjson.dumps(schema, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # a large integer, half of a surrogate pair, or very deep
        return _slow_text(schema)
    if any(null in text for null in (b":null", b",null", b"[null")):
        return _slow_text(schema)  # orjson writes NaN and Infinity as null too
    return text


def _slow_text(schema: dict[str, JsonValue]) -> bytes:
    text = json.dumps(schema, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode(errors="surrogatepass")


@lru_cache(maxsize=1024)
def _compile(schema_text: bytes) -> _Compiled | str:
    """The validator of a schema, or why there is none."""
    schema: dict[str, JsonValue] = json.loads(schema_text.decode(errors="surrogatepass"))
    if found := unbounded(schema, 2 * MAX_DEPTH):
        return found
    try:
        written, cost = closed(schema)
    except Refused as error:
        return short(str(error))
    if written.get("type", "object") != "object":
        return f"its type is {short(repr(written['type']))}, expected 'object'"
    validator = Validator(written, registry=Registry(), format_checker=FORMATS)
    return _Compiled(validator, min(MAX_BYTES, MAX_WORK // cost))


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
    """Is it NaN, infinite, or an integer too large for a float?"""
    if isinstance(value, float):
        return not math.isfinite(value)
    return isinstance(value, int) and value.bit_length() >= sys.float_info.max_exp


def unbounded(value: JsonValue, max_depth: int, max_bytes: int = MAX_BYTES) -> str | None:
    """Why a value is not finite, shallow and small."""
    for part, depth in walk(value):
        if isinstance(part, dict | list) and depth > max_depth:
            return f"it nests more than {max_depth} levels deep"
        if unreal(part):
            return "it holds a number that is not finite"
    size = len(json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass"))
    return f"it takes {size:,} bytes, limit {max_bytes:,}" if size > max_bytes else None


def short(text: str) -> str:
    """`text` cut to `MAX_MESSAGE` characters, as text that UTF-8 can hold."""
    cut = text if len(text) <= MAX_MESSAGE else text[: MAX_MESSAGE - 1] + "…"
    return cut.encode(errors="replace").decode()
