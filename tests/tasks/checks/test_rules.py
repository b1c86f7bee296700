import math
import pickle
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from envace.episode import Tool
from envace.errors import ConfigError
from envace.tasks.checks.dialect import arguments_errors, schema_problem
from envace.tasks.checks.rules import OPTIONAL, RULES, by_name, problem


def tool(properties: dict[str, Any], **more: Any) -> Tool:
    return Tool(name="t", parameters={"type": "object", "properties": properties, **more})


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def said(*messages: tuple[str, str]) -> list[dict[str, str]]:
    return [{"role": role, "content": content} for role, content in messages]


def test_a_valid_task_has_no_problem(make_task):
    assert problem(make_task()) is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"title": "x", "day": "2026-03-02"}, ()),
        ({"day": "2026-03-02"}, ("arguments: 'title' is a required property",)),
        ({"title": "x", "day": "2 March"}, ("day: '2 March' is not a 'date'",)),
        (
            {"title": 1, "day": "2026-03-02", "hour": 24},
            ("hour: 24 is greater than the maximum of 23", "title: 1 is not of type 'string'"),
        ),
        (
            {"title": "x", "day": "2026-03-02", "hour": math.nan},
            ("arguments: it holds a number that is not finite",),
        ),
    ],
)
def test_argument_errors_are_short_and_sorted(make_task, arguments, expected):
    assert arguments_errors(make_task().tools[0], arguments) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"call": {"name": "fly", "arguments": {}}}, "tool_order: message 2 answers 'add_event'"),
        ({"call": {"name": "add_event", "arguments": {}}}, "invalid_arguments: 'add_event': arg"),
        ({"result": "done"}, "bad_result: 'add_event' answered 'done', expected JSON"),
        ({"result": '"done"'}, "bad_result: 'add_event' answered '\"done\"', expected an object"),
        ({"result": '{"n": NaN}'}, "bad_result: 'add_event' answered"),
        ({"result": '{"n": 1e999}'}, "bad_result: 'add_event' answered"),
        ({"reply": " "}, "empty_message: message 3 (assistant)"),
        ({"tools": []}, "unknown_tool: 'add_event' is not among the tools"),
        ({"checklists": []}, None),
        ({"checklists": [[]]}, "checklists: the weights of turn 0 sum to 0, expected 1"),
        ({"conversation": []}, "unfinished: the conversation ends where user"),
        ({"conversation": said(("user", "hi"))}, "unfinished: the conversation ends"),
        ({"conversation": said(("assistant", "hi"))}, "role_order: message 0 is"),
        ({"conversation": said(("user", "a"), ("user", "b"))}, "role_order: message 1 is user"),
        ({"conversation": said(("user", "a"), ("tool", "{}"))}, "role_order: message 1 is tool"),
        ({"reply": "x" * 65_537}, "too_large: message 3 takes 65,537 bytes, limit 65,536"),
    ],
)  # fmt: skip
def test_the_first_reason_is_named(make_task, changes, expected):
    found = problem(make_task(**changes))
    assert found == expected if expected is None else found.startswith(expected)


def test_a_call_that_the_environment_refused_may_break_the_schema(make_task):
    bad = {"name": "add_event", "arguments": {"hour": "noon"}}
    refusal = '{"error": {"code": "INVALID_PARAMETERS", "message": "hour: not an integer"}}'
    assert problem(make_task(call=bad, result=refusal)) is None
    assert problem(make_task(call=bad)).startswith("invalid_arguments")


def test_parallel_calls_are_answered_one_by_one_in_order(make_task):
    task = make_task()
    user, calls, result, reply = task.conversation
    twice = calls.model_copy(update={"calls": calls.calls * 2})
    good = task.model_copy(update={"conversation": (user, twice, result, result, reply)})
    assert problem(good) is None
    short = task.model_copy(update={"conversation": (user, twice, result, reply)})
    assert problem(short) == "role_order: message 3 is assistant, expected tool"


def test_a_tool_may_be_offered_once(make_task):
    tools = make_task().tools
    assert problem(make_task(tools=tools * 2)) == "duplicate_tool: 'add_event' is offered 2 times"


def test_a_number_that_is_not_finite_is_refused_wherever_it_hides(make_task):
    item = make_task().checklists[0][0]
    check = {"kind": "observation_has", "name": "t", "fields": {"n": math.inf}}
    task = make_task(checklists=[[{**item.model_dump(), "check": check}]])
    assert problem(task).startswith("not_finite")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (tool({"a": {"$ref": "#"}}), "it holds $ref"),
        (tool({"a": {"type": "text"}}), "$.properties.a.type: 'text' is not valid"),
        (tool({"a": {"pattern": "("}}), "$.properties.a.pattern: '(' is not a 'regex'"),
        (tool({"a": {"pattern": "^(a+)+$"}}), "its pattern '^(a+)+$' is too long or repeats"),
        (tool(nested(17)), "it nests more than 16 levels deep"),
        (tool({"a": {"description": "x" * 65_536}}), "it takes 65,"),
        (Tool(name="t", parameters={"type": "array"}), "its type is 'array', expected 'object'"),
    ],
)
def test_a_schema_outside_the_closed_dialect_is_refused(found, expected):
    assert schema_problem(found).startswith(expected)
    assert arguments_errors(found, {})[0].startswith("the schema of tool 't' cannot be used")


def test_a_remote_reference_is_never_fetched():
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.path)

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        reference = f"http://127.0.0.1:{server.server_port}/schema.json"
        assert arguments_errors(tool({"a": {"$ref": reference}}), {"a": 1})
        server.shutdown()
    assert seen == []


def test_hostile_arguments_are_answered_at_once():
    start = time.perf_counter()
    free = tool({"a": {"type": "string", "format": "regex"}})
    assert arguments_errors(free, {"a": "(" * 60_000}) == ()
    assert "not finite" in arguments_errors(tool({"a": {"multipleOf": 0.1}}), {"a": 10**400})[0]
    assert "levels deep" in arguments_errors(free, nested(9))[0]
    assert "bytes, limit" in arguments_errors(free, {"a": "x" * 70_000})[0]
    assert time.perf_counter() - start < 1


def test_a_long_message_is_cut():
    assert len(arguments_errors(tool({"a": {"type": "null"}}), {"a": "x" * 9_000})[0]) == 200


def test_a_rule_on_style_can_be_skipped(make_task):
    task = make_task(reply="Done.<|im_end|>")
    assert problem(task) == "control_tokens: message 3 holds '<|im_end|>'"
    assert problem(task, by_name(["control_tokens"])) is None
    assert by_name([]) == RULES
    assert len(by_name(OPTIONAL)) == len(RULES) - 5


@pytest.mark.parametrize("name", ["role_order", "control_token"])
def test_a_rule_that_others_rely_on_cannot_be_skipped(name):
    with pytest.raises(ConfigError, match=f"skip: '{name}' is no optional rule"):
        by_name([name])


def test_rules_can_be_sent_to_another_process():
    assert pickle.loads(pickle.dumps(RULES)) == RULES
