"""Dialogs of ToolACE, as its card describes them."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envace.artifacts import Cache
from envace.tasks.checks.rules import problem
from envace.tasks.source import Rejected, read_all
from envace.tasks.sources.toolace import Config, build
from envace.tasks.task import Task

TOOLS = [
    {
        "name": "Market Trends/v2",
        "description": "Trends of a market.",
        "parameters": {
            "type": "dict",
            "properties": {
                "country": {"type": "str"},
                "limits": {"type": "list", "items": {"type": "float"}},
                "type": {"type": "any"},
            },
            "required": ["country"],
        },
        "required": None,
    },
    {"name": "now", "description": "The time.", "parameters": {"type": "dict", "properties": {}}},
]
SYSTEM = f"You are an expert in composing functions. Here is a list:\n{json.dumps(TOOLS)}\nUse it."
CALL = '[Market Trends/v2(country="us, or(1)", limits=[1, 2.5]), now()]'
RESULT = json.dumps(
    [{"name": "Market Trends/v2", "results": {"up": 3}}, {"name": "now", "results": 7}]
)


def dialog(*turns: tuple[str, Any], system: Any = SYSTEM) -> dict[str, Any]:
    return {"system": system, "conversations": [{"from": f, "value": v} for f, v in turns]}


GOOD = dialog(("user", "Trends?"), ("assistant", CALL), ("tool", RESULT), ("assistant", "Up 3."))


def read(folder: Path, *records: Any) -> list[Task | Rejected]:
    (folder / "data.json").write_text(json.dumps(records))
    config = Config.read({"files": [{"path": str(folder / "data.json")}]}, "toolace")
    return list(read_all(build(config, Cache(folder))))


def test_calls_in_brackets_and_types_of_python_are_read(tmp_path: Path) -> None:
    (task,) = read(tmp_path, GOOD)
    assert isinstance(task, Task)
    assert problem(task) is None
    first, second = task.recorded_calls
    assert first[0].name == "Market Trends/v2"
    assert first[0].arguments == {"country": "us, or(1)", "limits": [1, 2.5]}
    assert (first[1], second[1]) == ('{"up": 3}', '{"result": 7}')
    assert (second[0].name, second[0].arguments) == ("now", {})
    assert task.tools[0].parameters == {
        "type": "object",
        "properties": {
            "country": {"type": "string"},
            "limits": {"type": "array", "items": {"type": "number"}},
            "type": {},
        },
        "required": ["country"],
    }
    assert task.system.startswith("You are an expert")
    assert task.family == ""


@pytest.mark.parametrize(
    ("record", "code"),
    [
        (dialog(("user", "Hi"), system="No tools here."), "no_tools"),
        (dialog(("user", "Hi"), ("assistant", "[now("), ("tool", "[]")), "bad_call"),
        (dialog(("user", "Hi"), ("assistant", "[now(1)]")), "bad_call"),
        (dialog(("user", "Hi"), ("assistant", "[now(a=open('x'))]")), "bad_call"),
        (dialog(("user", "Hi"), ("assistant", "[now(a=b'x')]")), "bad_call"),
        (dialog(("user", "Hi"), ("assistant", "[now(a=1e999)]")), "bad_call"),
        (dialog(("user", "Hi"), ("assistant", "[now(" + "a" * 30_000)), "bad_call"),
        (dialog(("user", "Hi"), ("assistant", "[now(a=" + "[" * 9_000)), "bad_call"),
        (dialog(("robot", "Hi")), "unknown_role"),
        ({"system": SYSTEM}, "bad_messages"),
    ],
)
def test_what_cannot_be_read_has_a_reason(tmp_path: Path, record: Any, code: str) -> None:
    (found,) = read(tmp_path, record)
    assert isinstance(found, Rejected)
    assert found.reason.partition(":")[0] == code


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="[](){}'\"=,\\ abf0.\n", max_size=60), st.text(max_size=30))
def test_no_text_raises(tmp_path_factory: pytest.TempPathFactory, said: str, result: str) -> None:
    text = said.encode(errors="ignore").decode()
    record = dialog(
        ("user", "Hi"),
        ("assistant", f"[now({text}"),
        ("tool", result.encode(errors="ignore").decode()),
    )
    assert len(read(tmp_path_factory.mktemp("t"), record)) == 1
