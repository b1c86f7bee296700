"""Each rule on calls drops what breaks it and keeps what nearly does."""

from collections.abc import Callable
from typing import Any

import pytest

from envace.tasks.checks.rules import problem
from envace.tasks.task import Task

Make = Callable[..., Task]
LUNCH = {"name": "add_event", "arguments": {"title": "Lunch", "day": "2026-03-02"}}
DINNER = {"name": "add_event", "arguments": {"title": "Dinner", "day": "2026-03-02"}}
OK, FULL = '{"id": "E1"}', '{"error": "the day is full"}'


def made(*calls: tuple[dict[str, Any], str]) -> list[dict[str, Any]]:
    """A conversation in which each call is made by a message of its own."""
    found: list[dict[str, Any]] = [{"role": "user", "content": "Plan my day."}]
    for call, result in calls:
        found.append({"role": "assistant", "calls": [call]})
        found.append({"role": "tool", "name": call["name"], "content": result})
    return [*found, {"role": "assistant", "content": "Done."}]


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([(LUNCH, OK)] * 2, None),
        ([(LUNCH, OK)] * 3, "repeated_call: 'add_event' is made 3 times in a row"),
        ([(LUNCH, OK), (LUNCH, OK), (DINNER, OK), (LUNCH, OK)], None),
        ([(LUNCH, OK), (LUNCH, '{"id": "E2"}'), (LUNCH, '{"id": "E3"}')], None),
        ([(LUNCH, FULL)] * 3, None),
    ],
)
def test_a_call_may_be_repeated_once(make_task: Make, calls: list[Any], expected: str | None):
    assert problem(make_task(conversation=made(*calls))) == expected


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("[]", None),
        ('{"a": ' * 8 + "1" + "}" * 8, None),
        (
            '{"a": ' * 9 + "1" + "}" * 9,
            "with a value that is refused: it nests more than 8 levels deep",
        ),
        ("[" * 65 + "]" * 65, f"'{'[' * 65 + ']' * 65}', expected JSON (nested deeper than 64)"),
        ("12", "'12', expected an object or array"),
        (
            '{"a": 1, "a": 2}',
            """'{"a": 1, "a": 2}', expected JSON (a key stands twice in one object)""",
        ),
    ],
)
def test_a_result_is_a_bounded_object_or_array(make_task: Make, result: str, expected: str | None):
    found = problem(make_task(result=result))
    assert found == (expected and f"bad_result: 'add_event' answered {expected}")


def test_a_refused_call_may_name_an_unknown_tool_but_is_bounded(make_task: Make):
    refusal = '{"error": {"code": "TOOL_NOT_AVAILABLE"}}'
    deep: dict[str, Any] = {}
    for _ in range(8):
        deep = {"a": deep}
    for arguments, expected in (
        ({}, None),
        (deep, "invalid_arguments: 'fly': arguments: it nests more than 8 levels deep"),
    ):
        calls = made(({"name": "fly", "arguments": arguments}, refusal))
        assert problem(make_task(conversation=calls)) == expected


def test_python_is_not_json(make_task: Make):
    expected = """bad_result: 'add_event' answered "{'a': 1}", expected JSON ("""
    assert str(problem(make_task(result="{'a': 1}"))).startswith(expected)


def test_an_error_without_a_code_is_no_refusal(make_task: Make):
    calls = made(({"name": "fly", "arguments": {}}, FULL))
    expected = "unknown_tool: 'fly' is not among the tools"
    assert problem(make_task(conversation=calls)) == expected
