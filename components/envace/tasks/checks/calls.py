"""Rules on calls and what answered them."""

from functools import lru_cache
from itertools import pairwise

from pydantic import JsonValue

from envace.strict_json import canonical, shared
from envace.tasks.checks.dialect import MAX_DEPTH, arguments_errors, short, unbounded
from envace.tasks.task import Task

MAX_TIMES = 2
"""Times in a row that one call may be made and be told the same."""


def bad_result(task: Task) -> str | None:
    """`bad_result`: a tool answered anything but a bounded JSON object or array."""
    for call, text in task.recorded_calls:
        if isinstance(found := result_of(text), str):
            return f"bad_result: '{short(call.name)}' answered {found}"
    return None


def invalid_call(task: Task) -> str | None:
    """`unknown_tool`, `invalid_arguments`: a call that the schemas do not allow.

    One that the recorded environment refused may be a bad one: its error is what is recorded.
    """
    tools = {tool.name: tool for tool in task.tools}
    for call, text in task.recorded_calls:
        if _refused(result_of(text)):
            if found := unbounded(dict(call.arguments), MAX_DEPTH):
                return f"invalid_arguments: '{short(call.name)}': arguments: {found}"
            continue
        if call.name not in tools:
            return f"unknown_tool: '{short(call.name)}' is not among the tools"
        if errors := arguments_errors(tools[call.name], call.arguments):
            return f"invalid_arguments: '{short(call.name)}': {errors[0]}"
    return None


def repeated_call(task: Task) -> str | None:
    """`repeated_call`: the agent makes one call again and again and is told the same each time.

    A call that failed may be tried again.
    """
    times = 1
    for (last, told), (call, text) in pairwise(task.recorded_calls):
        same = call.name == last.name and text == told and not _failed(result_of(text))
        again = same and canonical({**call.arguments}) == canonical({**last.arguments})
        times = times + 1 if again else 1
        if times > MAX_TIMES:
            return f"repeated_call: '{short(call.name)}' is made {times} times in a row"
    return None


@lru_cache(maxsize=256)
def result_of(text: str) -> dict[str, JsonValue] | list[JsonValue] | str:
    """The value of a tool message, not to be changed; or what is wrong with it."""
    try:
        result = shared(text)
    except ValueError as error:
        return f"{short(repr(text))}, expected JSON ({error})"
    if not isinstance(result, dict | list):
        return f"{short(repr(text))}, expected an object or array"
    if found := unbounded(result, MAX_DEPTH):
        return f"with a value that is refused: {found}"
    return result


def _refused(result: object) -> bool:
    """Is it the error of a check that stands before the tool?"""
    error = result.get("error") if isinstance(result, dict) else None
    return isinstance(error, dict) and isinstance(error.get("code"), str)


def _failed(result: object) -> bool:
    """Does it say that the call had no effect: an `error` that is not empty?"""
    return isinstance(result, dict) and bool(result.get("error"))
