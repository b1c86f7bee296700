import math
import pickle

import pytest

from envace.errors import ConfigError
from envace.tasks.checks.rules import OPTIONAL, RULES, by_name, problem


def said(*messages: tuple[str, str]) -> list[dict[str, str]]:
    return [{"role": role, "content": content} for role, content in messages]


def test_a_valid_task_has_no_problem(make_task):
    assert problem(make_task()) is None


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
