"""Conversations of APIGen-MT, as its card describes them."""

import json
from pathlib import Path
from typing import Any

import pytest

from envace.artifacts import Cache
from envace.tasks.checks.rules import problem
from envace.tasks.source import Rejected, read_all
from envace.tasks.sources.apigen_mt import Config, build
from envace.tasks.task import Task

TOOLS = json.dumps(
    [
        {
            "name": "get_order",
            "parameters": {"type": "object", "properties": {"id": {"type": "string"}}},
        },
        {
            "name": "think",
            "parameters": {"type": "object", "properties": {"thought": {"type": "string"}}},
        },
    ]
)
CALL = '{"name": "get_order", "arguments": {"id": "W1"}}'
THOUGHT = '{"name": "think", "arguments": {"thought": "Hm."}}'


def record(*turns: tuple[Any, Any]) -> dict[str, Any]:
    said = [{"from": kind, "value": value} for kind, value in turns]
    return {"conversations": said, "tools": TOOLS, "system": "You serve a shop."}


def read(folder: Path, *records: Any) -> list[Task | Rejected]:
    (folder / "data.json").write_text(json.dumps(records))
    config = Config.read({"files": [{"path": str(folder / "data.json")}]}, "apigen_mt")
    return list(read_all(build(config, Cache(folder))))


def test_a_conversation_is_a_task_without_its_thoughts(tmp_path: Path) -> None:
    (task,) = read(
        tmp_path,
        record(
            ("human", "Where is W1?"), ("function_call", THOUGHT), ("observation", ""),
            ("function_call", CALL), ("observation", '{"status": "sent"}'),
            ("gpt", "It was sent."), ("human", "Thanks"),
        ),
    )  # fmt: skip
    assert isinstance(task, Task)
    assert problem(task) is None
    assert [message.role for message in task.conversation] == [
        "user", "assistant", "tool", "assistant"
    ]  # fmt: skip
    assert [(c.name, dict(c.arguments), text) for c, text in task.recorded_calls] == [
        ("get_order", {"id": "W1"}, '{"status": "sent"}')
    ]
    assert task.system == "You serve a shop."


@pytest.mark.parametrize(
    ("turns", "code"),
    [
        ((("human", "Hi"), ("function_call", "get_order(W1)"), ("observation", "")), "bad_call"),
        ((("human", "Hi"), ("function_call", "[]")), "bad_call"),
        ((("human", "Hi"), ("function_call", '{"name": "x", "arguments": [1]}')), "bad_arguments"),
        ((("human", "Hi"), ("observation", "{}")), "unmatched_result"),
        ((("human", 3),), "not_text"),
        ((("god", "Hi"),), "unknown_role"),
        (((None, "Hi"),), "unknown_role"),
    ],
)
def test_what_cannot_be_read_has_a_reason(tmp_path: Path, turns: Any, code: str) -> None:
    (found,) = read(tmp_path, record(*turns))
    assert isinstance(found, Rejected)
    assert found.reason.partition(":")[0] == code


def test_a_record_without_conversations_has_a_reason(tmp_path: Path) -> None:
    first, second = read(tmp_path, {"tools": TOOLS}, {"conversations": [1, []]})
    assert isinstance(first, Rejected)
    assert first.reason == "bad_messages: it has no list of conversations"
    assert isinstance(second, Rejected)
