"""Each rule on text drops what breaks it and keeps what nearly does."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from envace.tasks.checks.rules import problem
from envace.tasks.task import Task

Make = Callable[..., Task]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("\n<think>So I add it.</think> Done.", None),
        ("I think > you think>", None),
        ("<think>Hm. Done.", "<think>"),
        ("Hm.</think> Done.", "</think>"),
        ("Done. <think>Hm.</think>", "<think> </think>"),
        ("<think><think>a</think></think> Done.", "<think> <think> </think> </think>"),
    ],
)
def test_thoughts_are_one_pair_at_the_start(make_task: Make, reply: str, expected: str | None):
    found = problem(make_task(reply=reply))
    if expected == "<think>":  # nothing of it is shown
        assert found == "empty_message: message 3 (assistant) says and calls nothing"
    else:
        assert found == (expected and f"unbalanced_think: message 3 (assistant) has {expected}")


def test_the_users_and_the_tools_text_holds_no_think_tags(make_task: Make):
    found = problem(make_task(result='{"note": "</think>"}'))
    assert found == "unbalanced_think: message 2 (tool) has </think>"
    said = [{"role": "user", "content": "<think>a</think>?"}, {"role": "assistant", "content": "b"}]
    found = problem(make_task(conversation=said))
    assert found == "unbalanced_think: message 0 (user) has <think> </think>"


@pytest.mark.parametrize(
    ("reply", "written"),
    [
        ('<tool_call>{"name": "x"}</tool_call>', "<tool_call>"),
        ("It said <execution_result>1", "<execution_result>"),
        ("<tool_response>1</tool_response>", "<tool_response>"),
        ("<function=add>1</function>", "<function="),
        ('[TOOL_CALLS] [{"name"', "[TOOL_CALLS]"),
        ("<｜tool▁calls▁begin｜>", "<｜tool▁"),
        ('```json\n{ "name": "x",\n"arguments": {}}\n```', '{ "name": "x",\n"arguments":'),
        ('{"arguments": {"a": 1}, "name": "x"}', '{"arguments": {'),
        ('So:\nAction: add\nAction Input: {"a": 1}', "Action: add\nAction Input:"),
        ('```json\n{"name": "Ann", "age": 3}\n```', None),
        ("Action: I add it. The input: lunch.", None),
        ("Use the tool call <button> or [TOOLS].", None),
        ('The "arguments": {none}', None),
    ],
)  # fmt: skip
def test_a_call_is_not_written_as_text(make_task: Make, reply: str, written: str | None):
    found = problem(make_task(reply=reply))
    assert found == (written and f"tool_text: message 3 writes {written!r} as text")


@pytest.mark.parametrize(
    "token",
    ["<|im_start|>", "<|endoftext|>", "[INST]", "[/INST]", "<<SYS>>", "<s>", "</s>",
     "<end_of_turn>", "<eos>", "<｜end▁of▁sentence｜>", "[AVAILABLE_TOOLS]"],
)  # fmt: skip
def test_a_token_of_a_template_is_found(make_task: Make, token: str):
    assert problem(make_task(reply=f"a{token}b")) == f"control_tokens: message 3 holds {token!r}"


@pytest.mark.parametrize(
    ("where", "changes"),
    [
        ("the system text", {"system": "a <|im_end|>"}),
        ("message 2", {"result": '{"note": "<|im_end|>"}'}),
        ("tool 1", {"description": "<|im_end|>"}),
        ("tool 1", {"name": "<|im_end|>"}),
        ("tool 1", {"parameters": {"type": "object", "description": "<|im_end|>"}}),
    ],
)
def test_a_token_is_found_anywhere(make_task: Make, where: str, changes: dict[str, Any]):
    if "system" not in changes and "result" not in changes:
        tool = {"name": "t", "parameters": {"type": "object"}, **changes}
        changes = {"tools": [*make_task().tools, tool]}
    expected = f"control_tokens: {where} holds '<|im_end|>'"
    assert problem(make_task(**changes)) == expected


def test_a_token_is_found_in_an_argument(make_task: Make):
    call = {"name": "add_event", "arguments": {"title": "<|im_end|>", "day": "2026-03-02"}}
    expected = "control_tokens: a call of message 1 holds '<|im_end|>'"
    assert problem(make_task(call=call)) == expected


@pytest.mark.parametrize(
    "text", ["a <| b |> c", "<strong>x</strong>", "[INSTALL]", "x<<SYS", "<|>", "<start>"]
)
def test_what_only_looks_like_a_token_is_kept(make_task: Make, text: str):
    assert problem(make_task(reply=text, result=json.dumps({"note": text}))) is None
