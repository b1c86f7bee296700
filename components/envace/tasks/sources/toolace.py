"""Source: Team-ACE's ToolACE, dialogs over a large pool of made-up tools.

Source: Hugging Face `Team-ACE/ToolACE`, `data.json`, one JSON array.
License: Apache-2.0.
Schema: `system` (instructions that end with the tools as a JSON list), `conversations` of
`{"from": "user" | "assistant" | "tool", "value": …}`; calls are written `[name(a=1, b="x"), …]` and
results as a JSON list of `{"name": …, "results": …}`.
Size: 11,300 dialogs.

Calls are parsed as Python and never run. Types of Python in the schemas are written as those of
JSON Schema. Every record has tools of its own.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice

from pydantic import JsonValue

from envace.artifacts import Cache
from envace.strict_json import dumps, loads
from envace.tasks.source import Rejected, Source
from envace.tasks.sources._chat import About, Refused, task_of
from envace.tasks.sources._files import FileConfig, Files, Records
from envace.tasks.task import Task

NAME = "toolace"
MAX_CALL = 20_000
"""Characters of a text that is parsed as calls."""
TYPES = {
    "dict": "object",
    "float": "number",
    "int": "integer",
    "str": "string",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
}
"""Of JSON Schema for Python's; `any` says nothing and goes."""
_CALLS = re.compile(r"\[\s*[A-Za-z_][^\[\]()=]{0,200}\(")
_NAMES = re.compile(
    r"""(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
    r"""|(?P<before>[\[,]\s*)(?P<name>[A-Za-z_][^\[\](),='"]{0,200})\("""
)
"""A text, or a name of a tool, which may hold what Python's may not: spaces, slashes, dots."""
MAX_STARTS = 16
"""Places at which the list of tools is looked for."""


class Config(FileConfig):
    """Which files, and what their tasks are called."""

    domain: str = "toolace"
    """Domain of the tasks, for slices."""


def build(config: Config, cache: Cache) -> Source:
    """The dialogs of the files as a source."""
    return Records(NAME, Files(config.files, cache), partial(_task, config.domain))


def _task(domain: str, record: Mapping[str, JsonValue], place: str) -> Task | Rejected:
    system, said = record.get("system"), record.get("conversations")
    if not isinstance(system, str) or not isinstance(said, list):
        return Rejected(NAME, place, "bad_messages: expected a system text and conversations")
    try:
        text, tools = _split(system)
        messages = [{"role": "system", "content": text}, *_messages(said)]
    except Refused as error:
        return Rejected(NAME, place, str(error))
    return task_of(messages, tools, About(NAME, place, domain=domain))


def _split(system: str) -> tuple[str, list[JsonValue]]:
    """The instructions and the tools, the JSON list that they hold."""
    end = system.rfind("]") + 1
    for start in islice((found.start() for found in re.finditer(r"\[\s*\{", system)), MAX_STARTS):
        try:
            tools = loads(system[start:end])
        except ValueError:
            continue
        if isinstance(tools, list):
            return system[:start].strip(), [_tool(tool) for tool in tools]
    raise Refused("no_tools: the system text ends with no JSON list of tools")


def _tool(tool: JsonValue) -> JsonValue:
    if not isinstance(tool, dict):
        return tool
    return {key: _schema(value) if key == "parameters" else value for key, value in tool.items()}


def _schema(value: JsonValue) -> JsonValue:
    """The schema with JSON Schema's types, at the few places where it holds schemas."""
    if not isinstance(value, dict):
        return value
    written: dict[str, JsonValue] = {}
    for key, inner in value.items():
        if key == "type" and isinstance(inner, str):
            if inner != "any":
                written[key] = TYPES.get(inner, inner)
        elif key == "properties" and isinstance(inner, dict):
            written[key] = {name: _schema(part) for name, part in inner.items()}
        elif key == "items":
            written[key] = _schema(inner)
        elif not (key == "required" and inner is None):
            written[key] = inner
    return written


def _messages(said: list[JsonValue]) -> Iterator[JsonValue]:
    """The turns in OpenAI's form. Raises `Refused` for calls that cannot be read."""
    for turn in said:
        kind = turn.get("from") if isinstance(turn, dict) else None
        value = turn.get("value") if isinstance(turn, dict) else None
        if kind == "assistant" and isinstance(value, str) and _CALLS.match(value.strip()):
            yield {"role": "assistant", "content": None, "tool_calls": list(_calls(value))}
        elif kind == "tool" and isinstance(value, str):
            for text in _results(value):
                yield {"role": "tool", "content": text}
        else:
            yield {"role": kind, "content": value}


def _calls(text: str) -> Iterator[JsonValue]:
    if len(text) > MAX_CALL:
        raise Refused(f"bad_call: calls of {len(text):,} characters, limit {MAX_CALL:,}")
    names: list[str] = []

    def named(found: re.Match[str]) -> str:
        if found["text"]:
            return found["text"]
        names.append(found["name"])
        return f"{found['before']}f{len(names) - 1}("

    plain = _NAMES.sub(named, text.strip())
    try:
        parsed = ast.parse(plain, mode="eval").body
        calls = parsed.elts if isinstance(parsed, ast.List) else []
        yield from (_call(call, names) for call in calls)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise Refused(f"bad_call: {text[:80]!r} cannot be read ({type(error).__name__})") from None


def _call(call: ast.expr, names: list[str]) -> JsonValue:
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
        raise ValueError("it is no call by names")
    values = {one.arg or "": ast.literal_eval(one.value) for one in call.keywords}
    name = names[int(call.func.id[1:])] if call.func.id[1:].isdigit() else call.func.id
    return {"function": {"name": name.strip(), "arguments": dumps(values)}}


def _results(text: str) -> list[str]:
    """One text for each result."""
    try:
        found = loads(text)
    except ValueError:
        return [text]
    if not isinstance(found, list):
        return [text]
    return [
        dumps(one["results"]) if isinstance(one, dict) and "results" in one else dumps(one)
        for one in found
    ]
