"""The text protocol of both roles: total parsers, and the checks before any rehearsal.

ACT writes `<tool_call>{"name": …, "arguments": {…}}</tool_call>` blocks or a reply; REHEARSE writes
`<execution_result>…</execution_result>` around a JSON object or array. Any text is read to a value
or to a `Fault`; nothing a policy writes can raise. Calls are checked by rule, in order: format,
whitelist, argument schema (the paper's prompt leaves these to the policy).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from envace.episode import Call, Fault, Observation, Tool
from envace.strict_json import dumps, loads
from envace.tasks.checks.dialect import arguments_errors

_THINK = re.compile(r"^\s*<think>(.*?)</think>", re.DOTALL)
_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
_RESULT = re.compile(r"<execution_result>(.*?)</execution_result>", re.DOTALL)
_TAG = re.compile(r"<(?=/?(?:think|tool_call|execution_result)>)")


@dataclass(frozen=True)
class Act:
    """An ACT output, read."""

    reply: str = ""
    calls: tuple[Call, ...] = ()
    fault: Fault | None = None
    detail: str = ""
    """What exactly is wrong, when a fault is there."""


def parse_act(text: str) -> Act:
    """Reads an ACT output. A `parameters` key and a JSON list of calls are accepted."""
    visible = _THINK.sub("", text, count=1)
    if "<think>" in visible or "</think>" in visible:
        return Act(fault=Fault.MALFORMED_TAG, detail="<think> is not closed or not at the start")
    blocks = _CALL.findall(visible)
    reply = _CALL.sub("", visible).strip()
    if "<tool_call>" in reply or "</tool_call>" in reply:
        return Act(fault=Fault.INVALID_TOOL_CALL_FORMAT, detail="<tool_call> is not closed")
    calls: list[Call] = []
    for block in blocks:
        try:
            calls += _calls(loads(block))
        except ValueError as error:
            return Act(fault=Fault.INVALID_TOOL_CALL_FORMAT, detail=str(error))
    if not calls and not reply:
        return Act(fault=Fault.EMPTY, detail="neither a reply nor a call")
    return Act(reply=reply, calls=tuple(calls))


def parse_rehearse(text: str) -> JsonValue | Fault:
    """Reads a REHEARSE output to its JSON object or array, or to the fault it has."""
    if not text.strip():
        return Fault.EMPTY
    opened, closed = text.count("<execution_result>"), text.count("</execution_result>")
    if not opened and not closed:
        return Fault.NO_TAG
    match = _RESULT.fullmatch(text.strip())
    if opened != 1 or closed != 1 or match is None:
        return Fault.MALFORMED_TAG
    try:
        value = loads(match.group(1))
    except ValueError:
        return Fault.BAD_JSON
    return value if isinstance(value, dict | list) else Fault.WRONG_TYPE


def check(call: Call, tools: Sequence[Tool]) -> Observation | None:
    """The error object for a call that may not reach any environment, or None if it may."""
    tool = next((tool for tool in tools if tool.name == call.name), None)
    if tool is None:
        known = ", ".join(tool.name for tool in tools)
        return refuse("TOOL_NOT_AVAILABLE", f"{call.name} is not a tool here", [f"use {known}"])
    errors = arguments_errors(tool, call.arguments)
    if errors:
        return refuse("INVALID_PARAMETERS", f"{call.name} got invalid arguments", list(errors))
    return None


def refuse(code: str, message: str, errors: list[str]) -> Observation:
    """An error object in the protocol's form."""
    error: JsonValue = {"code": code, "message": message, "details": {"errors": [*errors]}}
    return Observation({"error": error}, code=code)


def format_calls(calls: Sequence[Call]) -> str:
    """Calls as an ACT output writes them."""
    return "\n".join(
        f"<tool_call>{_tagless({'name': c.name, 'arguments': c.arguments})}</tool_call>"
        for c in calls
    )


def format_result(content: JsonValue) -> str:
    """A response as a REHEARSE output writes it."""
    return f"<execution_result>{_tagless(content)}</execution_result>"


def _tagless(value: object) -> str:
    """JSON in which a tag of the protocol, which only a string can hold, is escaped."""
    return _TAG.sub(r"\\u003c", dumps(value))


def _calls(value: JsonValue) -> list[Call]:
    """One call, or a list of calls. Raises `ValueError` naming what is wrong."""
    return [_call(item) for item in (value if isinstance(value, list) else [value])]


def _call(item: JsonValue) -> Call:
    match item:
        case {"name": str(name), "arguments": dict(arguments)} if name:
            return Call(name=name, arguments=arguments)
        case {"name": str(name), "parameters": dict(arguments)} if name:
            return Call(name=name, arguments=arguments)
        case _:
            raise ValueError("a call is not an object with a name and an object of arguments")
