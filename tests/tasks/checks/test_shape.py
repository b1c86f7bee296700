"""Each rule on shape drops what breaks it and keeps what nearly does."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from envace.tasks.checks.rules import problem
from envace.tasks.task import Task

Make = Callable[..., Task]
USER, REPLY = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes."}
TOOL: dict[str, Any] = {"name": "t", "parameters": {"type": "object"}}
CALL: dict[str, Any] = {"name": "add_event", "arguments": {"title": "x", "day": "2026-03-02"}}
ITEM: dict[str, Any] = {
    "id": "a",
    "question": "?",
    "focus_on": "tool.content",
    "pass_condition": "!",
    "weight": 0.5,
}


def items(*changes: dict[str, Any]) -> list[list[dict[str, Any]]]:
    return [[{**ITEM, **change} for change in changes]]


@pytest.mark.parametrize("number", [math.nan, math.inf, 2**1024, -(2**1024)])
def test_a_number_that_no_float_holds_is_refused_in_a_schema(make_task: Make, number: float):
    tool = {"name": "add_event", "parameters": {"maximum": number}}
    expected = "not_finite: the record holds a number that is not finite"
    assert problem(make_task(tools=[tool])) == expected


def test_a_number_of_more_than_64_bits_beside_a_null_is_kept(make_task: Make):
    tool = {"name": "t", "parameters": {"type": "object", "default": None, "maximum": 2**70}}
    assert problem(make_task(tools=[*make_task().tools, tool])) is None


HALF = "a\ud83d"


@pytest.mark.parametrize(
    "changes",
    [
        {"id": HALF},
        {"system": HALF},
        {"reply": HALF},
        {"call": {"name": "add_event", "arguments": {"title": [{"x": HALF}]}}},
        {"call": {"name": "add_event", "arguments": {HALF: 1}}},
        {"tools": [{**TOOL, "description": HALF}]},
        {"tools": [{**TOOL, "parameters": {"properties": {HALF: {}}}}]},
        {"checklists": items({"evidence": [HALF]})},
        {"checklists": items({"check": {"kind": "reply_has", "any_of": [HALF]}})},
        {"checklists": items({"check": {"kind": "only_calls", "names": [HALF]}})},
        {"checklists": items({"check": {"kind": "call_made", "name": HALF, "arguments": {}}})},
        {"checklists": items({"check": {"kind": "observation_has", "name": HALF, "fields": {}}})},
    ],
)
def test_half_of_a_surrogate_pair_is_found_wherever_it_hides(
    make_task: Make, changes: dict[str, Any]
):
    found = problem(make_task(**changes))
    assert found == r"not_unicode: 'a\ud83d' holds half of a surrogate pair"


def test_a_whole_pair_and_a_nul_are_text(make_task: Make):
    assert problem(make_task(reply="Done \U0001f600\x00")) is None


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"conversation": [USER, REPLY] * 50, "checklists": []}, None),
        (
            {"conversation": [USER, REPLY] * 51, "checklists": []},
            "too_many: 51 user messages, limit 50",
        ),
        (
            {"tools": [{**TOOL, "name": f"t{n}"} for n in range(129)]},
            "too_many: 129 tools, limit 128",
        ),
        (
            {
                "conversation": [
                    USER,
                    {"role": "assistant", "calls": [CALL] * 201},
                    *[{"role": "tool", "name": "add_event", "content": "{}"}] * 201,
                    REPLY,
                ]
            },
            "too_many: 201 calls, limit 200",
        ),
        ({"tools": [{**TOOL, "name": " "}]}, "invalid_schema: a tool has no name"),
        ({"system": "x" * 65_536}, None),
        ({"system": "x" * 65_537}, "too_large: the system text takes 65,537 bytes, limit 65,536"),
        ({"reply": "é" * 32_769}, "too_large: message 3 takes 65,538 bytes, limit 65,536"),
        (
            {"tools": [{**TOOL, "description": "x" * 70_000}]},
            "too_large: the description of tool 0 takes 70,000 bytes, limit 65,536",
        ),
        (
            {
                "call": {"name": "add_event", "arguments": {"x": "y" * 65_537}},
                "result": '{"error": {"code": "INVALID_PARAMETERS"}}',
            },
            "too_large: a call of message 1 takes 65,578 bytes, limit 65,536",
        ),
        (
            {"reply": "<think>Was that all?</think>\n "},
            "empty_message: message 3 (assistant) says and calls nothing",
        ),
        (
            {"conversation": [{**USER, "calls": [CALL]}, REPLY]},
            "role_order: message 0 is user and makes calls",
        ),
        (
            {"conversation": [USER, REPLY, REPLY]},
            "role_order: message 2 is assistant, expected user",
        ),
        (
            {"conversation": [USER, {"role": "assistant", "calls": [CALL]}]},
            "unfinished: the conversation ends where tool was expected",
        ),
    ],
)  # fmt: skip
def test_the_shape_of_a_recording(make_task: Make, changes: dict[str, Any], expected: str | None):
    assert problem(make_task(**changes)) == expected


@pytest.mark.parametrize(
    ("checklists", "expected"),
    [
        (items({}, {"id": "b", "dependence": ["a"]}), None),
        (items({"dependence": ["b"]}, {"id": "b"}), None),
        (items({}, {"id": "b", "weight": 0.4}), "the weights of turn 0 sum to 0.9, expected 1"),
        (items({}, {}), "two items of turn 0 have one id"),
        (
            items({}, {"id": "b", "dependence": ["{z}"]}),
            "items of turn 0 depend on '{z}', which is none of them",
        ),
        (
            items({"dependence": ["b"]}, {"id": "b", "dependence": ["a"]}),
            "items of turn 0 depend on each other",
        ),
        (
            items({"weight": 1, "dependence": ["a"]}),
            "items of turn 0 depend on each other",
        ),
        (items({"weight": 1}) * 2, "2 for 1 user messages, expected one each"),
    ],
)
def test_checklists(make_task: Make, checklists: list[Any], expected: str | None):
    found = problem(make_task(checklists=checklists))
    assert found == (expected and f"checklists: {expected}")
