"""Chat completions in every way that clients write them become one form, or a reason."""

import math
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envace.episode import Call, Message
from envace.tasks.checks.rules import problem
from envace.tasks.source import Rejected
from envace.tasks.sources._chat import About, task_of
from envace.tasks.task import ReplyHas, Task

TOOL: Any = {
    "name": "find_room",
    "description": "Finds a room.",
    "parameters": {"type": "object", "properties": {"day": {"type": "string"}}},
}
USER: Any = {"role": "user", "content": "Is a room free on Monday?"}
REPLY: Any = {"role": "assistant", "content": "Ada is free."}
RESULT = {"role": "tool", "content": '{"room": "Ada"}'}


def call(day: object = "Monday", name: str = "") -> dict[str, Any]:
    arguments = day if isinstance(day, str) and day[:1] in ("{", "[", "") else {"day": day}
    return {"id": name, "function": {"name": "find_room", "arguments": arguments}}


def calls(*made: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [*made], **fields}


def read(*messages: Any, tools: Any = (TOOL,), **about: Any) -> Task | Rejected:
    listed = [*tools] if isinstance(tools, tuple) else tools
    return task_of([*messages], listed, About("logs", "a.jsonl:@0", **about))


def task(*messages: Any, **fields: Any) -> Task:
    found = read(*messages, **fields)
    assert isinstance(found, Task), found
    assert problem(found) is None
    return found


def reason(*messages: Any, **fields: Any) -> str:
    found = read(*messages, **fields)
    assert isinstance(found, Rejected), found
    assert (found.source, found.record) == ("logs", "a.jsonl:@0")
    return found.reason


@pytest.mark.parametrize(
    "tool",
    [
        TOOL,
        {"type": "function", "function": TOOL},
        {"name": "find_room", "description": "Finds a room.", "inputSchema": TOOL["parameters"]},
    ],
)
def test_a_tool_is_read_in_each_of_its_forms(tool: Any) -> None:
    (found,) = task(USER, REPLY, tools=(tool,)).tools
    assert found.model_dump() == TOOL


def test_a_tool_without_a_schema_takes_no_arguments() -> None:
    (found,) = task(USER, REPLY, tools=({"name": "now"},)).tools
    assert found.parameters == {"type": "object", "properties": {}}


def test_both_lists_may_be_json_text() -> None:
    messages = '[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]'
    found = task_of(messages, '[{"name": "now"}]', About("logs", "a"))
    assert isinstance(found, Task)
    assert (len(found.conversation), len(found.tools)) == (2, 1)


def test_system_and_developer_messages_are_the_policy_text() -> None:
    first = {"role": "system", "content": "Be brief."}
    second = {"role": "developer", "content": "Use tools."}
    assert task(first, second, USER, REPLY).system == "Be brief.\n\nUse tools."


def test_a_greeting_before_the_user_is_left_out() -> None:
    hello = {"role": "assistant", "content": "Hello, what can I do?"}
    assert task(hello, USER, REPLY).conversation[0].role == "user"


def test_instructions_in_mid_conversation_are_a_reason() -> None:
    late = {"role": "system", "content": "Forget all."}
    assert reason(USER, REPLY, late, USER, REPLY).startswith("late_system: message 2")


@pytest.mark.parametrize("content", [[{"type": "text", "text": "Is a"}, "room free?"]])
def test_parts_of_text_are_lines(content: Any) -> None:
    assert task({"role": "user", "content": content}, REPLY).user_messages == ("Is a\nroom free?",)


@pytest.mark.parametrize(
    "arguments", ['{"day": "Monday"}', {"day": "Monday"}, ' {"day":"Monday"}\n']
)
def test_arguments_are_text_or_object(arguments: Any) -> None:
    made = calls({"function": {"name": "find_room", "arguments": arguments}}, content=None)
    found = task(USER, made, RESULT, REPLY)
    assert found.conversation[1].calls == (Call(name="find_room", arguments={"day": "Monday"}),)


@pytest.mark.parametrize("arguments", [None, "", "{}", {}])
def test_no_arguments_are_an_empty_object(arguments: Any) -> None:
    made = calls({"function": {"name": "find_room", "arguments": arguments}})
    assert task(USER, made, RESULT, REPLY).recorded_calls[0][0].arguments == {}


def test_the_form_before_tools_is_read() -> None:
    made = {"role": "assistant", "function_call": {"name": "find_room", "arguments": "{}"}}
    found = task(USER, made, {**RESULT, "role": "function", "name": "find_room"}, REPLY)
    assert found.conversation[2] == Message(
        role="tool", name="find_room", content='{"room": "Ada"}'
    )


def test_a_call_that_is_written_in_both_forms_is_made_once() -> None:
    made = calls(call(name="a"), function_call={"name": "find_room", "arguments": "{}"})
    assert len(task(USER, made, {**RESULT, "tool_call_id": "a"}, REPLY).recorded_calls) == 1


def test_results_come_in_the_order_of_their_calls() -> None:
    made = calls(call("Monday", "a"), call("Friday", "b"))
    late, early = ({"role": "tool", "tool_call_id": i, "content": f'["{i}"]'} for i in "ba")
    pairs = task(USER, made, late, early, REPLY).recorded_calls
    assert [(c.arguments["day"], text) for c, text in pairs] == [
        ("Monday", '["a"]'),
        ("Friday", '["b"]'),
    ]


def test_results_without_ids_are_in_the_order_of_the_calls() -> None:
    made = calls(call("Monday", "a"), call("Friday", "b"))
    results = [{"role": "tool", "content": '["1"]'}, {"role": "tool", "content": '["2"]'}]
    pairs = task(USER, made, *results, REPLY).recorded_calls
    assert [text for _, text in pairs] == ['["1"]', '["2"]']


def test_calls_that_were_logged_one_by_one_are_parallel() -> None:
    made = [{"role": "assistant", "content": "One moment."}, calls(call("Monday", "a"))]
    results = [{**RESULT, "tool_call_id": i} for i in "ab"]
    found = task(USER, *made, calls(call("Friday", "b")), *results, REPLY)
    assert found.conversation[1].content == "One moment."
    assert len(found.conversation[1].calls) == 2


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Ada", '{"result": "Ada"}'),
        ("", '{"result": ""}'),
        (None, '{"result": ""}'),
        ("7", '{"result": 7}'),
        ("{'room': 1}", '{"result": "{\'room\': 1}"}'),
        ('{"a": NaN}', '{"result": "{\\"a\\": NaN}"}'),
        ("[1]", "[1]"),
        ({"room": "Ada"}, '{"room": "Ada"}'),
        ([{"room": "Ada"}], '[{"room": "Ada"}]'),
        ([], "[]"),
        ([{"type": "text", "text": "[1]"}], "[1]"),
    ],
)
def test_a_result_is_an_object_or_an_array(content: Any, text: str) -> None:
    found = task(USER, calls(call()), {"role": "tool", "content": content}, REPLY)
    assert found.conversation[2].content == text


@pytest.mark.parametrize(
    "rest",
    [
        (USER,),
        (USER, calls(call())),
        (USER, calls(call(), call()), RESULT),
        (USER, calls(call()), RESULT),
    ],
)
def test_what_the_log_leaves_open_is_cut_off(rest: tuple[Any, ...]) -> None:
    assert task(USER, REPLY, *rest).conversation == task(USER, REPLY).conversation


def test_a_value_that_only_a_thought_names_is_no_item() -> None:
    thought = "<think>Booking B-77, with deposit 12.5.</think>"
    result = {"role": "tool", "content": '{"booking": "B-77", "deposit": 12.5}'}
    reply = {"role": "assistant", "content": f"{thought} The deposit is 12.5."}
    found = task(USER, calls(call()), result, reply)
    said = [i.check.any_of for i in found.checklists[0] if isinstance(i.check, ReplyHas)]
    assert found.conversation[-1].content == reply["content"]
    assert ("B-77",) not in said
    assert any("12.5" in texts for texts in said)


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        ((), "unfinished: no turn ends with a reply"),
        ((USER,), "unfinished: "),
        (("Hello",), "bad_messages: message 0 is 'Hello', expected an object"),
        (({"content": "x"},), "unknown_role: message 0 is of None"),
        (({**USER, "role": "narrator"},), "unknown_role: message 0 is of 'narrator'"),
        (({**USER, "role": ["user"]},), "unknown_role: message 0 is of ['user']"),
        (({**USER, "content": 7}, REPLY), "not_text: message 0 holds 7"),
        (({**USER, "content": [{"type": "image_url"}]}, REPLY), "not_text: message 0 holds"),
        ((USER, calls("x"), REPLY), "bad_call: message 1 calls 'x'"),
        ((USER, {**REPLY, "tool_calls": 7}), "bad_call: message 1 calls 7, expected a list"),
        ((USER, {**REPLY, "function_call": "auto"}), "bad_call: message 1 calls"),
        ((USER, calls(call("{"))), "bad_arguments: message 1 calls with '{', expected JSON"),
        (
            (USER, calls(call("[1]"))),
            "bad_arguments: message 1 calls with '[1]'",
        ),
        (
            (USER, calls(call(math.nan))),
            "bad_arguments: message 1 calls with {'day': nan}, expected JSON",
        ),
        ((USER, calls(call(date(2026, 3, 2)))), "bad_arguments: message 1 calls with"),
        ((USER, calls(call()), {**RESULT, "content": {"n": math.inf}}), "bad_result: message 2"),
        ((USER, RESULT, REPLY), "unmatched_result: "),
        ((USER, calls(call()), RESULT, RESULT, REPLY), "unmatched_result: 1 results answer no"),
        ((USER, calls(call()), REPLY), "missing_result: a call of"),
        (
            (USER, calls(call(name="a")), {**RESULT, "tool_call_id": "b"}, REPLY),
            "missing_result: a call of",
        ),
    ],
)
def test_a_record_that_is_no_task_is_a_reason(messages: tuple[Any, ...], code: str) -> None:
    assert reason(*messages).startswith(code)


@pytest.mark.parametrize(
    ("tools", "code"),
    [
        (7, "bad_tools: got 7, expected a list"),
        ("[", "bad_json: tools cannot be read"),
        (({"type": "web_search"},), "bad_tool: got {'type': 'web_search'}, expected a function"),
        (("find_room",), "bad_tool: got 'find_room'"),
        (({**TOOL, "parameters": "object"},), "bad_record: parameters: input should be a valid"),
    ],
)
def test_tools_that_are_none_are_a_reason(tools: Any, code: str) -> None:
    assert reason(USER, REPLY, tools=tools).startswith(code)


def test_messages_that_are_no_list_are_a_reason() -> None:
    found = task_of({"role": "user"}, None, About("logs", "a"))
    assert isinstance(found, Rejected)
    assert found.reason.startswith("bad_messages: got {'role': 'user'}, expected a list")


def test_a_task_is_named_by_its_own_id_or_by_what_it_holds() -> None:
    assert task(USER, REPLY, id="7").id == "logs/7"
    named = task(USER, REPLY).id
    assert named == task(USER, REPLY).id != task(USER, {**REPLY, "content": "None is."}).id
    assert len(named) == len("logs/") + 32


@pytest.mark.parametrize(
    ("messages", "tier"),
    [
        ((USER, REPLY), "no_call"),
        ((USER, calls(call()), RESULT, REPLY), "one_call"),
        ((USER, calls(call(), call("Friday")), RESULT, RESULT, REPLY), "several_calls"),
        ((USER, REPLY, USER, calls(call()), RESULT, REPLY), "several_turns_one_call"),
    ],
)
def test_the_tier_is_how_much_is_done(messages: tuple[Any, ...], tier: str) -> None:
    assert task(*messages).tier == tier


SCALAR = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.binary(max_size=3)
    | st.text(st.characters(), max_size=5)
    | st.sampled_from(["user", "assistant", "tool", "system", "find_room", "{}", '{"a": 1}', "a"])
)
KEYS = st.sampled_from(
    ["role", "content", "tool_calls", "function", "name", "arguments", "id", "tool_call_id", "text"]
)
ANY: Any = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(messages=ANY | st.lists(ANY), tools=ANY)
def test_nothing_raises_whatever_a_record_holds(messages: Any, tools: Any) -> None:
    assert isinstance(task_of(messages, tools, About("logs", "a")), Task | Rejected)


CALLS = st.lists(
    st.builds(call, st.sampled_from(["Monday", "{}", "{"]), st.sampled_from(["", "a", "b"])),
    max_size=2,
)
MESSAGE: Any = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "tool", "system", "function"]),
        "content": st.sampled_from(["Hi", "", None, '{"n": 1}', "<think>x</think>y", "<think>"]),
    },
    optional={
        "tool_calls": CALLS,
        "tool_call_id": st.sampled_from(["", "a", "b"]),
    },
)


@given(messages=st.lists(MESSAGE, max_size=8))
def test_what_looks_like_a_chat_is_a_task_that_can_be_checked_or_a_reason(messages: Any) -> None:
    found = read(*messages)
    assert isinstance(found, Rejected) or problem(found) is None or ": " in str(problem(found))
