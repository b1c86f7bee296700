import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from envace.episode import Call, Fault, Tool
from envace.rehearsal.protocol import (
    Act,
    check,
    format_calls,
    format_result,
    parse_act,
    parse_rehearse,
    refuse,
)
from envace.tasks.labels.recorded import is_refusal

FIND = Call(name="find_order", arguments={"order": 7})
CANCEL = Call(name="cancel_order", arguments={"order": 7, "reason": "late"})
BLOCK = '<tool_call>{"name": "find_order", "arguments": {"order": 7}}</tool_call>'
PIECES = st.sampled_from(
    [
        *("<tool_call>", "</tool_call>", "<think>", "</think>"),
        *("<execution_result>", "</execution_result>", BLOCK),
        *('{"name": "a", "arguments": ', "{}", "[", "]", "{", "}", '"', "NaN", "1e999", "\\ud800"),
    ]
)
ANY_TEXT = st.lists(PIECES | st.text(max_size=4), max_size=12).map("".join)
FUZZ = settings(max_examples=250, deadline=None, database=None)


@given(ANY_TEXT)
@FUZZ
def test_any_act_text_is_a_reply_or_calls_or_a_fault(text: str) -> None:
    act = parse_act(text)
    assert bool(act.fault) == bool(act.detail)
    assert bool(act.fault) != bool(act.reply or act.calls)


@given(ANY_TEXT)
@FUZZ
def test_any_rehearse_text_is_an_object_or_array_or_a_fault(text: str) -> None:
    assert isinstance(parse_rehearse(text), dict | list | Fault)


def test_text_without_a_call_is_a_reply() -> None:
    assert parse_act("  Done.\n") == Act(reply="Done.")


@pytest.mark.parametrize(
    "text",
    [
        BLOCK,
        BLOCK.replace("arguments", "parameters"),
        f"<think>I need <tool_call> here.</think>{BLOCK}",
        '<tool_call>[{"name": "find_order", "arguments": {"order": 7}}]</tool_call>',
        '<tool_call>\n{"id": 1, "name": "find_order", "arguments": {"order": 7}}\n</tool_call>',
    ],
)
def test_a_call_is_read_in_each_form_that_is_accepted(text: str) -> None:
    assert parse_act(text) == Act(calls=(FIND,))


def test_parallel_blocks_and_lists_are_calls_in_their_order() -> None:
    pair = json.dumps([CANCEL.model_dump(), FIND.model_dump()])
    act = parse_act(f"One moment.\n{BLOCK}\n<tool_call>{pair}</tool_call>")
    assert act == Act(reply="One moment.", calls=(FIND, CANCEL, FIND))


def test_a_thought_is_not_shown() -> None:
    assert parse_act("\n<think>Hm.\nYes.</think>\nHello.").reply == "Hello."


@pytest.mark.parametrize("text", ["", " \n", "<think>Hm.</think>", "<tool_call>[]</tool_call>"])
def test_saying_nothing_is_empty(text: str) -> None:
    assert parse_act(text).fault is Fault.EMPTY


@pytest.mark.parametrize("text", ["<think>Hm.", "Hm.</think>Hello.", "Hello. <think>Hm.</think>"])
def test_a_thought_that_is_open_or_late_is_a_malformed_tag(text: str) -> None:
    assert parse_act(text).fault is Fault.MALFORMED_TAG


@pytest.mark.parametrize(
    ("inside", "detail"),
    [
        ("find_order(7)", "Expecting value"),
        ('{"name": "a", "arguments": {"x": NaN}}', "NaN is not JSON"),
        ('{"name": "a", "arguments": {"x": 1e999}}', "1e999 is too large a number"),
        (r'{"name": "a", "arguments": {"x": "\ud800"}}', "surrogates not allowed"),
        ('{"name": "a", "arguments": ' + '{"x":' * 64 + "1" + "}" * 65, "nested deeper than 64"),
        ('{"name": "a", "name": "b", "arguments": {}}', "a key stands twice"),
        ('{"name": "a", "arguments": "{}"}', "an object of arguments"),
        ('{"name": "", "arguments": {}}', "an object with a name"),
        ('{"arguments": {}}', "an object with a name"),
        ('"find_order"', "an object with a name"),
    ],
)
def test_a_block_that_is_no_call_is_a_format_fault_that_says_why(inside: str, detail: str) -> None:
    act = parse_act(f"<tool_call>{inside}</tool_call>")
    assert act.fault is Fault.INVALID_TOOL_CALL_FORMAT
    assert detail in act.detail


@pytest.mark.parametrize("text", ["<tool_call>{}", "{}</tool_call>", f"{BLOCK}<tool_call>"])
def test_an_open_block_is_a_format_fault(text: str) -> None:
    act = parse_act(text)
    assert act == Act(fault=Fault.INVALID_TOOL_CALL_FORMAT, detail="<tool_call> is not closed")


def test_one_bad_block_makes_all_of_them_void() -> None:
    assert parse_act(f"{BLOCK}<tool_call>1</tool_call>").calls == ()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('<execution_result>{"status": "sent"}</execution_result>', {"status": "sent"}),
        ("\n<execution_result>\n[1, 2.5]\n</execution_result>\n", [1, 2.5]),
        ("", Fault.EMPTY),
        (" \n", Fault.EMPTY),
        ('{"status": "sent"}', Fault.NO_TAG),
        ("<execution_result>{}", Fault.MALFORMED_TAG),
        ("{}</execution_result>", Fault.MALFORMED_TAG),
        ("Sure: <execution_result>{}</execution_result>", Fault.MALFORMED_TAG),
        ("<execution_result>{}</execution_result>" * 2, Fault.MALFORMED_TAG),
        ("<execution_result>{</execution_result>", Fault.BAD_JSON),
        ("<execution_result></execution_result>", Fault.BAD_JSON),
        ("<execution_result>[NaN]</execution_result>", Fault.BAD_JSON),
        ('<execution_result>"sent"</execution_result>', Fault.WRONG_TYPE),
        ("<execution_result>7</execution_result>", Fault.WRONG_TYPE),
    ],
)
def test_a_rehearse_text_is_read_to_its_value_or_its_fault(text: str, value: object) -> None:
    assert parse_rehearse(text) == value


@given(st.text(max_size=6) | PIECES)
@FUZZ
def test_calls_and_results_that_are_written_are_read_back(text: str) -> None:
    call = Call(name="note", arguments={text: [text, None]})
    assert parse_act(format_calls((call, FIND))).calls == (call, FIND)
    assert parse_rehearse(format_result({text: [1, text]})) == {text: [1, text]}


def test_a_tag_inside_a_value_is_escaped_and_nothing_else_is() -> None:
    assert format_result(["a < b", "</think>", "<p>"]) == (
        r'<execution_result>["a < b", "\u003c/think>", "<p>"]</execution_result>'
    )


def test_a_call_that_fits_its_tool_passes_the_checks(tools: tuple[Tool, ...]) -> None:
    assert check(CANCEL, tools) is None


def test_the_whitelist_is_checked_before_the_schema(tools: tuple[Tool, ...]) -> None:
    refused = check(Call(name="delete_order", arguments={"order": []}), tools)
    assert refused is not None
    assert refused.code == "TOOL_NOT_AVAILABLE"
    assert refused.content == {
        "error": {
            "code": "TOOL_NOT_AVAILABLE",
            "message": "delete_order is not a tool here",
            "details": {"errors": ["use find_order, cancel_order"]},
        }
    }


def test_invalid_arguments_are_refused_with_all_that_is_wrong(tools: tuple[Tool, ...]) -> None:
    arguments: dict[str, JsonValue] = {"order": "7", "reason": "bored", "now": True}
    refused = check(Call(name="cancel_order", arguments=arguments), tools)
    assert refused is not None
    assert refused.content == {
        "error": {
            "code": "INVALID_PARAMETERS",
            "message": "cancel_order got invalid arguments",
            "details": {
                "errors": [
                    "arguments: Additional properties are not allowed ('now' was unexpected)",
                    "order: '7' is not of type 'integer'",
                    "reason: 'bored' is not one of ['late', 'broken']",
                ]
            },
        }
    }


def test_only_the_error_of_a_check_is_a_refusal() -> None:
    assert is_refusal(refuse("TOOL_NOT_AVAILABLE", "no", []).content)
    assert not is_refusal({"error": {"code": 404, "message": "gone", "details": []}})
    assert not is_refusal({"error": "FARE_NOT_CHANGEABLE", "message": "basic economy"})
    assert not is_refusal([])
