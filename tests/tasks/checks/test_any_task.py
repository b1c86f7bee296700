"""Whatever a well-typed task holds, the rules answer with a reason or with none."""

import re
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from envace.tasks.checks import pii
from envace.tasks.checks.language import language_of
from envace.tasks.checks.rules import OPTIONAL, RULES, by_name, problem
from envace.tasks.task import Task

NASTY = [
    "",
    " ",
    "\x00",
    "\ud800",
    "<think>",
    "</think>",
    "{turn}",
    "{}",
    "[]",
    "NaN",
    "a" * 70_000,
]
HARD = ["[" * 300 + "]" * 300, '{"error": {"code": "X"}}', "1" * 5_000, "<|im_end|>", "4111 " * 9]
text = st.one_of(st.sampled_from([*NASTY, *HARD]), st.text(st.characters(), max_size=8))
number = st.one_of(
    st.integers(), st.floats(), st.sampled_from([70, 1_400, 20_000]).map(lambda bits: 2**bits)
)
json = st.recursive(
    st.none() | st.booleans() | number | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(
    text | st.sampled_from(["type", "properties", "required", "pattern", "$ref"]), json, max_size=3
)
names = st.sampled_from(["a", "b"]) | text
tools = st.fixed_dictionaries({"name": names, "description": text, "parameters": objects})
calls = st.fixed_dictionaries({"name": names, "arguments": objects})
messages = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "tool"]),
        "content": text,
        "calls": st.lists(calls, max_size=2),
        "name": st.none() | names,
    }
)
played = st.builds(
    lambda said, call, result, reply: [
        {"role": "user", "content": said},
        {"role": "assistant", "calls": [call]},
        {"role": "tool", "name": call["name"], "content": result},
        {"role": "assistant", "content": reply},
    ],
    text, calls, text, text,
)  # fmt: skip
checks = st.fixed_dictionaries({"kind": st.just("call_made"), "name": names, "arguments": objects})
items = st.fixed_dictionaries(
    {
        "id": text,
        "question": text,
        "focus_on": st.just("tool.content"),
        "pass_condition": text,
        "weight": st.sampled_from([0.5, 1.0]),
        "dependence": st.lists(text, max_size=2),
        "check": st.none() | checks,
    }
)
tasks = st.fixed_dictionaries(
    {
        **dict.fromkeys(("id", "source", "domain", "tier", "family", "system"), text),
        "tools": st.lists(tools, max_size=3),
        "conversation": st.lists(messages, max_size=5) | played,
        "checklists": st.lists(st.lists(items, max_size=2), max_size=2),
    }
)


@given(tasks)
@settings(
    max_examples=200,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_no_task_breaks_a_rule(fields: dict[str, Any]) -> None:
    try:
        task = Task.model_validate(fields)
    except ValidationError:
        return
    for rules in (RULES, by_name(OPTIONAL)):
        found = problem(task, rules)
        assert found is None or re.match(r"[a-z_]+: .", found)
    language_of(task)
    if problem(task, by_name(OPTIONAL)) is None:
        pii.count(task)
