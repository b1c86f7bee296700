import json
from collections.abc import Mapping

import pytest
from pydantic import JsonValue

from envace.episode import Call, Message, Tool
from envace.tasks.labels.recorded import checklists
from envace.tasks.task import CallMade, ChecklistItem, ObservationHas, OnlyCalls, ReplyHas, says
from envace.worlds.world import CANNOT


def _tool(name: str, *parameters: str) -> Tool:
    return Tool(name=name, parameters={"type": "object", "properties": {p: {} for p in parameters}})


TOOLS = (_tool("find", "name", "item"), _tool("cancel", "order", "reason"))
FIND: tuple[str, Mapping[str, JsonValue], JsonValue] = (
    "find",
    {"name": "Mia", "item": "lamp"},
    {"order": "O-48", "status": "pending"},
)
CANCEL: tuple[str, Mapping[str, JsonValue], JsonValue] = (
    "cancel",
    {"order": "O-48", "reason": "late"},
    {"order": "O-48", "status": "cancelled"},
)


def _turn(
    user: str, reply: str, *calls: tuple[str, Mapping[str, JsonValue], JsonValue]
) -> list[Message]:
    messages = [Message(role="user", content=user)]
    for name, arguments, result in calls:
        content = result if isinstance(result, str) else json.dumps(result)
        messages += [
            Message(role="assistant", calls=(Call(name=name, arguments=arguments),)),
            Message(role="tool", name=name, content=content),
        ]
    return [*messages, Message(role="assistant", content=reply)]


def _label(
    user: str, reply: str, *calls: tuple[str, Mapping[str, JsonValue], JsonValue]
) -> dict[str, ChecklistItem]:
    (items,) = checklists(_turn(user, reply, *calls), TOOLS)
    assert sum(item.weight for item in items) == pytest.approx(1, abs=1e-9)
    return {item.id: item for item in items}


def _weights(items: dict[str, ChecklistItem]) -> dict[str, float]:
    return {name: round(item.weight, 12) for name, item in items.items()}


def test_one_call_gives_half_the_score_to_the_call() -> None:
    items = _label("Cancel O-48, late.", "O-48 is cancelled.", CANCEL)
    assert _weights(items) == {
        "call-1": 0.5,
        "final-state": 0.2,
        "only-calls": 0.1,
        "reply-1": 0.1,
        "reply-2": 0.1,
    }
    assert {name: item.check for name, item in items.items()} == {
        "call-1": CallMade(name="cancel", arguments={"order": "O-48", "reason": "late"}),
        "final-state": ObservationHas(
            name="cancel", fields={"order": "O-48", "status": "cancelled"}
        ),
        "only-calls": OnlyCalls(names=("cancel",)),
        "reply-1": ReplyHas(any_of=("cancelled",)),
        "reply-2": ReplyHas(any_of=("O-48",)),
    }


def test_a_call_that_changes_something_weighs_twice_as_much_as_one_that_reads() -> None:
    items = _label("Cancel my lamp.", "O-48 is cancelled.", FIND, CANCEL)
    assert _weights(items) == {
        "call-1": round(0.5 / 3, 12),
        "call-2": round(1 / 3, 12),
        "final-state": round(0.4 / 3, 12),
        "result-1": round(0.2 / 3, 12),
        "only-calls": 0.1,
        "reply-1": 0.1,
        "reply-2": 0.1,
    }
    assert items["only-calls"].check == OnlyCalls(names=("cancel", "find"))


def test_calls_that_only_read_weigh_the_same() -> None:
    again = ("find", {"name": "Mia", "item": "desk"}, {"order": "O-50"})
    weights = _weights(_label("Where are they?", "On the way.", FIND, again))
    assert weights["call-1"] == weights["call-2"] == round(0.25 / 0.8, 12)


def test_what_was_changed_is_required_and_replies_rest_on_it() -> None:
    items = _label("Cancel my lamp.", "O-48 is cancelled.", FIND, CANCEL)
    assert [name for name, item in items.items() if item.required_for_next_turn] == ["call-2"]
    assert items["reply-1"].dependence == ("call-2",)
    assert items["final-state"].dependence == ("call-2",)
    assert items["result-1"].dependence == ("call-1",)


def test_without_a_change_all_reads_are_required_and_replies_rest_on_them() -> None:
    again = ("find", {"name": "Mia", "item": "desk"}, {"order": "O-50"})
    items = _label("Where are they?", "O-48 and O-50 are pending.", FIND, again)
    required = [name for name, item in items.items() if item.required_for_next_turn]
    assert tuple(required) == items["reply-1"].dependence == ("call-1", "call-2")


def test_a_refused_call_is_asked_for_and_its_reply_must_say_so() -> None:
    refusal: JsonValue = {"error": "NOT_PENDING", "message": "Order O-48 is shipped."}
    items = _label("Cancel it.", "I cannot cancel O-48.", ("cancel", CANCEL[1], refusal))
    assert items["result-1"].check == ObservationHas(
        name="cancel", fields={"error": "NOT_PENDING", "message": "Order O-48 is shipped."}
    )
    assert items["reply-1"].check == ReplyHas(any_of=("O-48",))
    assert items["reply-2"].check == ReplyHas(any_of=CANNOT)


@pytest.mark.parametrize(
    "code", ["INVALID_PARAMETERS", "TOOL_NOT_AVAILABLE", "INVALID_TOOL_CALL_FORMAT"]
)
def test_a_call_that_a_check_refused_is_no_example(code: str) -> None:
    error: JsonValue = {"error": {"code": code, "message": "no", "details": {"errors": []}}}
    bad = ("cancel", {"order": "O-48"}, error)
    assert _label("Cancel O-48, late.", "O-48 is cancelled.", bad, CANCEL) == _label(
        "Cancel O-48, late.", "O-48 is cancelled.", CANCEL
    )


def test_a_question_must_ask_for_the_missing_argument_without_a_call() -> None:
    items = _label("Cancel O-48.", "What is the reason: late or price?")
    assert _weights(items) == {"only-calls": round(5 / 7, 12), "reply-1": round(2 / 7, 12)}
    assert items["only-calls"].check == OnlyCalls(names=())
    assert items["reply-1"].check == ReplyHas(any_of=("reason",))


@pytest.mark.parametrize("reply", ["Which one?", "What reasons?", "I'm unable to.", "Unabled?"])
def test_a_reply_passes_the_items_that_are_made_of_it(reply: str) -> None:
    for item in _label("Cancel O-48.", reply).values():
        if isinstance(item.check, ReplyHas):
            assert any(says(reply, text) for text in item.check.any_of)


def test_a_turn_with_nothing_to_check_may_make_no_call() -> None:
    items = _label("Thanks!", "You're welcome.")
    assert _weights(items) == {"only-calls": 1}
    assert items["only-calls"].check == OnlyCalls(names=())


def test_each_user_message_has_its_own_checklist() -> None:
    conversation = _turn("Find it.", "It is O-48.", FIND) + _turn("Thanks!", "Bye.")
    first, second = checklists(conversation, TOOLS)
    assert [len(first), len(second)] == [4, 1]


def test_a_result_item_asks_for_four_short_fields_at_most() -> None:
    result: JsonValue = {
        "a": 1,
        "b": "x" * 41,
        "c": [1],
        "d": True,
        "e": 2.5,
        "f": None,
        "g": "y",
        "h": 3,
    }
    check = _label("?", "ok", ("find", {}, result))["result-1"].check
    assert check == ObservationHas(name="find", fields={"a": 1, "d": True, "e": 2.5, "g": "y"})


@pytest.mark.parametrize("result", ["not json", "[1, 2]", "{}", '{"a": NaN}', "[" * 200])
def test_a_result_without_short_fields_gives_no_item(result: str) -> None:
    assert set(_label("?", "ok", ("find", {}, result))) == {"call-1", "only-calls"}


def test_a_reply_is_asked_for_three_values_at_most_those_from_results_first() -> None:
    result: JsonValue = {"rows": [{"id": "A-1"}, {"id": "A-2"}, {"day": "2026-03-14"}], "n": 40}
    reply = "For X-9: A-1, A-2 and 40 on 2026-03-14."
    items = _label("What about X-9 and A-1?", reply, ("find", {"name": "X-9"}, result))
    texts = [item.check.any_of for item in items.values() if isinstance(item.check, ReplyHas)]
    assert texts == [("A-2",), ("2026-03-14",), ("40",)]


def test_a_value_counts_only_as_a_whole_word_of_the_reply() -> None:
    items = _label("?", "It is O-4812.", ("find", {"name": "48"}, {"n": 12}))
    assert "reply-1" not in items


def test_the_same_call_twice_is_asked_for_once() -> None:
    items = _label("?", "ok", FIND, FIND)
    assert set(items) == {"call-1", "result-1", "only-calls"}


def test_a_call_to_a_tool_that_is_not_offered_is_no_example() -> None:
    items = _label("?", "ok", ("fly", {}, {"a": 1}))
    assert {name: item.check for name, item in items.items()} == {
        "only-calls": OnlyCalls(names=("fly",))
    }


def test_an_unfinished_recording_is_labelled_as_far_as_it_goes() -> None:
    assert checklists([], TOOLS) == ()
    cut = _turn("Cancel it.", "", CANCEL)[:2]
    assert [item.id for item in checklists(cut, TOOLS)[0]] == ["only-calls"]


def _find(number: int, result: JsonValue = None) -> tuple[str, Mapping[str, JsonValue], JsonValue]:
    return "find", {"name": f"N{number}"}, result or {"n": number}


def _cancel(number: int) -> tuple[str, Mapping[str, JsonValue], JsonValue]:
    return "cancel", {"order": f"O-{number}", "reason": "late"}, {"order": f"O-{number}"}


def test_a_long_turn_is_asked_for_its_changes_and_its_first_reads() -> None:
    items = _label("?", "Done.", *map(_find, range(27)), *map(_cancel, range(3)))
    calls = [name for name in items if name.startswith("call")]
    assert calls == [f"call-{n}" for n in (1, 2, 3, 4, 5, 28, 29, 30)]
    assert [name for name in items if name not in calls] == [
        "final-state", "result-1", "result-2", "result-3", "only-calls",
    ]  # fmt: skip
    assert items["final-state"].check == ObservationHas(name="cancel", fields={"order": "O-2"})


def test_of_many_changes_the_last_are_asked_for() -> None:
    items = _label("?", "Done.", *map(_cancel, range(12)))
    assert [name for name in items if name.startswith("call")] == [
        f"call-{number}" for number in range(5, 13)
    ]


def test_the_final_state_is_first_of_all_what_no_result_before_it_showed() -> None:
    order = {"order": "O-48", "item": "lamp", "owner": "Mia", "paid": True, "status": "pending"}
    after = {**order, "status": "cancelled", "refund": 12}
    found, done = _find(1, {**order}), ("cancel", {"order": "O-48"}, {**after})
    check = _label("?", "Done.", found, done)["final-state"].check
    assert check == ObservationHas(
        name="cancel",
        fields={"status": "cancelled", "refund": 12, "order": "O-48", "item": "lamp"},
    )


@pytest.mark.parametrize(
    "result",
    [{"error": "SHIPPED"}, "Error: it is shipped", {"result": "Error: no"}, {"success": False}],
)
def test_a_change_that_failed_leaves_no_final_state(result: JsonValue) -> None:
    items = _label("Cancel it.", "Sorry.", FIND, ("cancel", {"order": "O-48"}, result))
    assert "final-state" not in items
    assert items["call-1"].weight == items["call-2"].weight


def test_a_change_that_passes_when_made_again_is_a_change() -> None:
    failed = ("cancel", CANCEL[1], {"error": "BUSY"})
    items = _label("Cancel it.", "Done.", FIND, failed, CANCEL)
    assert [name for name, item in items.items() if item.required_for_next_turn] == ["call-2"]
    assert items["final-state"].dependence == ("call-2",)


def test_prose_need_not_be_repeated_word_for_word() -> None:
    text = "The customer wants to cancel an order that is shipped already."
    items = _label("?", "ok", ("cancel", {"order": "O-48", "reason": text}, {"ok": True}))
    assert items["call-1"].check == CallMade(
        name="cancel", arguments={"order": "O-48", "reason": text}, loose=("reason",)
    )
    assert "any text is right as reason" in items["call-1"].pass_condition


def test_calls_that_differ_in_prose_alone_are_one_item() -> None:
    texts = ("I must find out what happened to it.", "I must see who else could know about it.")
    thoughts = [("find", {"name": text}, {"n": 1}) for text in texts]
    assert set(_label("?", "ok", *thoughts)) == {"call-1", "result-1", "only-calls"}


def test_a_float_may_be_said_in_other_forms() -> None:
    items = _label("?", "It is 1,234.50 in all.", ("find", {"name": "x"}, {"total": 1234.5}))
    assert items["reply-1"].check == ReplyHas(any_of=("1234.5", "1,234.5", "1,234.50", "1234.50"))
