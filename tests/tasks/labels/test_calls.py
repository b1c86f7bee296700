from collections.abc import Mapping

import pytest
from pydantic import JsonValue

from envace.episode import Call, Tool
from envace.tasks.labels.calls import changes, failed, prose, sets

SUMMARY = "The customer wants to undo a cancellation."


def _tool(**properties: JsonValue) -> Tool:
    return Tool(name="act", parameters={"type": "object", "properties": properties})


def _call(**arguments: JsonValue) -> Call:
    return Call(name="act", arguments=arguments)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cancel_pending_order", True),
        ("get_order_details", False),
        ("get_booking", False),
        ("list-updates", False),
        ("search_and_book", False),
        ("book_reservation", True),
        ("toggle_data", True),
        ("sendEmail", True),
        ("getUser", False),
        ("gmail.send_message", True),
        ("bookshop_hours", False),
        ("weather_forecast", False),
        ("DELETE_ROW", True),
        ("转账", False),
    ],
)
def test_the_first_verb_of_a_name_tells_whether_it_changes_anything(
    name: str, expected: bool
) -> None:
    assert changes(name) is expected


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"error": "NOT_FOUND"}, True),
        ({"error": None, "id": 1}, False),
        ({"error": ""}, False),
        ({"success": False}, True),
        ({"ok": False}, True),
        ("Error: no such order", True),
        ({"result": "ERROR"}, True),
        ({"result": "Success. No error."}, False),
        ([{"error": "x"}], False),
        (None, False),
    ],
)
def test_a_response_tells_whether_its_call_failed(result: JsonValue, expected: bool) -> None:
    assert failed(result) is expected


@pytest.mark.parametrize(
    "text",
    [
        SUMMARY,
        "I cannot fix the issue.",
        "Why is the line so slow?",
        f"{SUMMARY} " * 50,
        "顾客想要撤销取消订单的操作。",
    ],
)
def test_a_text_of_many_words_is_prose(text: str) -> None:
    assert prose(_call(note=text), _tool(note={"type": "string"})) == ("note",)
    assert prose(_call(note=text), _tool()) == ("note",)


@pytest.mark.parametrize(
    "value",
    [
        "ordered by mistake",
        "东京",
        "上海市浦东新区世纪大道",
        "667 Highland Drive, Suite 394",
        "2 * ((350 - 122) + (499 - 127)) + 200.8 + 96.35",
        "https://example.com/a/very/long/path/to/some/page?with=a&query=too",
        "isabella_johansson_2152_and_everything_that_follows",
        [SUMMARY],
        {"text": SUMMARY},
        7,
        None,
    ],
)
def test_values_are_no_prose(value: JsonValue) -> None:
    assert prose(_call(note=value), _tool(note={"type": "string"})) == ()


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "enum": [SUMMARY, "other"]},
        {"const": SUMMARY},
        {"type": "string", "pattern": "^The"},
        {"type": "string", "format": "uri"},
        {"anyOf": [{"enum": [SUMMARY]}, {"type": "null"}]},
        {"$ref": "#/$defs/Summary"},
    ],
)
def test_a_text_whose_schema_says_which_it_may_be_is_no_prose(schema: JsonValue) -> None:
    assert prose(_call(note=SUMMARY), _tool(note=schema)) == ()


LIST: Mapping[str, JsonValue] = {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize("name", ["item_ids", "ids", "itemIds"])
def test_the_order_of_ids_means_nothing(name: str) -> None:
    assert sets(_call(**{name: ["a", "b"]}), _tool(**{name: {**LIST}})) == (name,)


def test_lists_of_ids_of_one_length_belong_together() -> None:
    call = _call(item_ids=["a", "b"], new_item_ids=["c", "d"], order="x")
    assert sets(call, _tool()) == ("item_ids", "new_item_ids")
    call = _call(item_ids=["a", "b"], new_item_ids=["c"])
    assert sets(call, _tool()) == ()


def test_the_order_of_what_must_be_unique_means_nothing() -> None:
    unique: JsonValue = {**LIST, "uniqueItems": True}
    assert sets(_call(tags=["a", "b"]), _tool(tags=unique)) == ("tags",)


@pytest.mark.parametrize(
    ("name", "value"),
    [("route", ["SFO", "JFK"]), ("ids", [2, 1]), ("ids", "a,b"), ("bids", ["a"]), ("ids", [["a"]])],
)
def test_the_order_of_other_lists_counts(name: str, value: JsonValue) -> None:
    assert sets(_call(**{name: value}), _tool(**{name: {**LIST}})) == ()


def test_properties_that_are_no_object_tell_nothing() -> None:
    odd = Tool(name="act", parameters={"properties": ["note"]})
    assert prose(_call(note=SUMMARY), odd) == ("note",)
    assert sets(_call(ids=["a"]), odd) == ("ids",)
