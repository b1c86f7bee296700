"""Tool schemas and conversations are untrusted: each is checked before anything relies on it.

One idea: a closed dialect. A schema may not refer to anything (`$ref`), nothing is ever fetched,
and every value is finite, shallow and small, so that checking it is bounded in time and memory.
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

from envace.episode import Call, Message, Tool
from envace.strict_json import loads
from envace.tasks.task import Task

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


def problem(task: Task) -> str | None:
    """Why `task` cannot be trusted, as `code: detail` of the first reason; None if it can."""
    for check in (_numbers, _tools, _order, _sizes, _calls, _checklists):
        if found := check(task):
            return found
    return None


def arguments_errors(tool: Tool, arguments: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """What is wrong with `arguments` under the tool's schema: short sorted messages, or none."""
    validator = _validator(_schema_text(tool))
    if isinstance(validator, str):
        return (f"the schema of tool '{tool.name}' cannot be used: {validator}",)
    value = dict(arguments)
    if found := _unbounded(value, MAX_DEPTH):
        return (f"arguments: {found}",)
    errors = {
        _short(f"{error.json_path.removeprefix('$').lstrip('.') or 'arguments'}: {error.message}")
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
    if found := _unbounded(schema, 2 * MAX_DEPTH) or _open(schema):
        return found
    if schema.get("type", "object") != "object":
        return f"its type is {_short(repr(schema['type']))}, expected 'object'"
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return _short(f"{error.json_path}: {error.message}")
    return Draft202012Validator(schema, registry=Registry(), format_checker=_FORMATS)


def _open(schema: JsonValue) -> str | None:
    """The first part of a schema that leaves the closed dialect."""
    for part, _ in _walk(schema):
        if not isinstance(part, dict):
            continue
        if found := _REFERENCES & part.keys():
            return f"it holds {min(found)}, and references are not followed; write it out in place"
        named = part.get("patternProperties")
        for pattern in (part.get("pattern"), *(named if isinstance(named, dict) else ())):
            if isinstance(pattern, str) and (
                len(pattern) > MAX_PATTERN or _REPEATED_GROUP.search(pattern)
            ):
                return f"its pattern {_short(pattern)!r} is too long or repeats a group"
    return None


def _walk(value: JsonValue) -> Iterator[tuple[JsonValue, int]]:
    """`value` and everything inside it, each with its depth: 1 is the value itself."""
    stack = [(value, 1)]
    while stack:
        part, depth = stack.pop()
        yield part, depth
        if isinstance(part, dict):
            stack += [(inner, depth + 1) for inner in part.values()]
        elif isinstance(part, list):
            stack += [(inner, depth + 1) for inner in part]


def _unreal(value: JsonValue) -> bool:
    """Is it NaN, infinite, or an integer that no float can hold?"""
    if isinstance(value, float):
        return not math.isfinite(value)
    return isinstance(value, int) and value.bit_length() > sys.float_info.max_exp


def _unbounded(value: JsonValue, max_depth: int) -> str | None:
    """Why a value is not finite, shallow and small."""
    for part, depth in _walk(value):
        if isinstance(part, dict | list) and depth > max_depth:
            return f"it nests more than {max_depth} levels deep"
        if _unreal(part):
            return "it holds a number that is not finite"
    size = len(json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass"))
    return f"it takes {size:,} bytes, limit {MAX_BYTES:,}" if size > MAX_BYTES else None


def _numbers(task: Task) -> str | None:
    for part, _ in _walk(task.model_dump(mode="json")):
        if _unreal(part):
            return "not_finite: the record holds a number that is not finite"
    return None


def _tools(task: Task) -> str | None:
    names = [tool.name for tool in task.tools]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        return f"duplicate_tool: '{_short(twice[0])}' is offered {names.count(twice[0])} times"
    for tool in task.tools:
        if found := schema_problem(tool):
            return f"invalid_schema: tool '{_short(tool.name)}': {found}"
    return None


def _order(task: Task) -> str | None:
    """User, then assistant; after calls their tool messages in order; a reply at the end."""
    expected: list[str] = ["user"]
    waiting: list[Call] = []
    for index, message in enumerate(task.conversation):
        if message.role not in expected:
            return f"role_order: message {index} is {message.role}, expected {expected[0]}"
        if waiting and message.name != waiting[0].name:
            got, wanted = _short(str(message.name)), _short(waiting[0].name)
            return f"tool_order: message {index} answers '{got}', expected '{wanted}'"
        waiting = waiting[1:] if waiting else list(message.calls)
        expected = _next_roles(message, waiting)
        if message.calls and message.role != "assistant":
            return f"role_order: message {index} is {message.role} and makes calls"
        if not message.content.strip() and not message.calls:
            return f"empty_message: message {index} ({message.role}) says and calls nothing"
    if expected != ["user"] or not task.conversation:
        return f"unfinished: the conversation ends where {expected[0]} was expected"
    return None


def _next_roles(message: Message, waiting: list[Call]) -> list[str]:
    if waiting:
        return ["tool"]
    return ["user"] if message.role == "assistant" else ["assistant"]


def _sizes(task: Task) -> str | None:
    for index, message in enumerate(task.conversation):
        if (size := len(message.content.encode(errors="surrogatepass"))) > MAX_BYTES:
            return f"too_large: message {index} takes {size:,} bytes, limit {MAX_BYTES:,}"
    return None


def _calls(task: Task) -> str | None:
    tools = {tool.name: tool for tool in task.tools}
    for call, text in task.recorded_calls:
        name = _short(call.name)
        try:
            result = loads(text)
        except ValueError as error:
            return f"bad_result: '{name}' answered {_short(text)!r}, expected JSON ({error})"
        if not isinstance(result, dict | list):
            return f"bad_result: '{name}' answered {_short(text)!r}, expected an object or array"
        if found := _unbounded(result, MAX_DEPTH):
            return f"bad_result: '{name}' answered with a value that is refused: {found}"
        if _refused(result):
            continue
        if call.name not in tools:
            return f"unknown_tool: '{name}' is not among the tools"
        if errors := arguments_errors(tools[call.name], call.arguments):
            return f"invalid_arguments: '{name}': {errors[0]}"
    return None


def _refused(result: JsonValue) -> bool:
    """Did the recorded environment refuse the call? Then the call may be a bad one."""
    error = result.get("error") if isinstance(result, dict) else None
    return isinstance(error, dict) and isinstance(error.get("code"), str)


def _checklists(task: Task) -> str | None:
    turns = len(task.user_messages)
    if task.checklists and len(task.checklists) != turns:
        return f"checklists: {len(task.checklists)} for {turns} user messages, expected one each"
    for index, items in enumerate(task.checklists):
        total = sum(item.weight for item in items)
        if abs(total - 1) > 1e-6:
            return f"checklists: the weights of turn {index} sum to {total:g}, expected 1"
    return None


def _short(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE else text[: MAX_MESSAGE - 1] + "…"
