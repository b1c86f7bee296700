"""Conversations are untrusted: each is checked before anything relies on it."""

from collections.abc import Callable

from pydantic import JsonValue

from envace.episode import Call, Message
from envace.strict_json import loads
from envace.tasks.checks.dialect import (
    MAX_BYTES,
    MAX_DEPTH,
    arguments_errors,
    schema_problem,
    short,
    unbounded,
    unreal,
    walk,
)
from envace.tasks.task import Task


def problem(task: Task) -> str | None:
    """Why `task` cannot be trusted, as `code: detail` of the first reason; None if it can."""
    for check in (_numbers, _tools, _order, _sizes, _calls, _checklists):
        if found := check(task):
            return found
    return None


def _numbers(task: Task) -> str | None:
    for part, _ in walk(task.model_dump(mode="json")):
        if unreal(part):
            return "not_finite: the record holds a number that is not finite"
    return None


def _tools(task: Task) -> str | None:
    names = [tool.name for tool in task.tools]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        return f"duplicate_tool: '{short(twice[0])}' is offered {names.count(twice[0])} times"
    for tool in task.tools:
        if found := schema_problem(tool):
            return f"invalid_schema: tool '{short(tool.name)}': {found}"
    return None


def _order(task: Task) -> str | None:
    """User, then assistant; after calls their tool messages in order; a reply at the end."""
    expected: list[str] = ["user"]
    waiting: list[Call] = []
    for index, message in enumerate(task.conversation):
        if message.role not in expected:
            return f"role_order: message {index} is {message.role}, expected {expected[0]}"
        if waiting and message.name != waiting[0].name:
            got, wanted = short(str(message.name)), short(waiting[0].name)
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
        name = short(call.name)
        try:
            result = loads(text)
        except ValueError as error:
            return f"bad_result: '{name}' answered {short(text)!r}, expected JSON ({error})"
        if not isinstance(result, dict | list):
            return f"bad_result: '{name}' answered {short(text)!r}, expected an object or array"
        if found := unbounded(result, MAX_DEPTH):
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


def within_tokens(task: Task, count: Callable[[Task], int], limit: int) -> str | None:
    """Drops a task that `count` says takes more than `limit` tokens."""
    tokens = count(task)
    return f"too_long: {tokens:,} tokens, limit {limit:,}" if tokens > limit else None
