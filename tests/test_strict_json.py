import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from envace.strict_json import MAX_CHARACTERS, MAX_DEPTH, MAX_DIGITS, dumps, loads

DEEPER = MAX_DEPTH + 1
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
PIECES = st.sampled_from(["[", "]", "{", "}", '"', "\\", ",", ":", "1", "e9", "NaN", "\\ud8", " "])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("NaN", "NaN is not JSON"),
        ("[-Infinity]", "-Infinity is not JSON"),
        ("1e999", "1e999 is too large a number"),
        ("-1e999", "-1e999 is too large a number"),
        ("1" * (MAX_DIGITS + 1), "a number has 101 digits, limit 100"),
        ('{"a": 1, "a": 2}', "a key stands twice in one object"),
        ("[" * DEEPER + "]" * DEEPER, "nested deeper than 64"),
        (" " * (MAX_CHARACTERS + 1), "1,000,001 characters, limit 1,000,000"),
        ("1e" + "9" * 1_000, "1e" + "9" * (MAX_DIGITS - 2) + " is too large a number"),
        ('[{"b": [{"a": 1, "\\u0061": 2}]}]', "a key stands twice in one object"),
        ("\ufeff{}", "it begins with a byte order mark"),
    ],
)
def test_what_is_not_plain_bounded_json_is_refused_with_its_reason(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"^{why}$"):
        loads(text)


@pytest.mark.parametrize(
    "text", [r'"\ud800"', r'{"\udc00": 1}', r'["\ud83d x"]', '"\ud800"', '{"\udfff": 1}']
)
def test_half_of_a_surrogate_pair_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="surrogates not allowed"):
        loads(text)


def test_a_whole_surrogate_pair_is_one_character() -> None:
    assert loads(r'"\ud83d\ude00"') == "😀"


def test_brackets_in_strings_do_not_hide_how_deep_a_text_nests() -> None:
    text = '["' + "]" * 5_000 + '", ' + "[" * 5_000
    with pytest.raises(ValueError, match="nested deeper"):
        loads(text)


def test_brackets_in_strings_do_not_count_as_nesting() -> None:
    assert loads('["' + "[" * 100 + r'\"[["]') == ["[" * 100 + '"[[']


def test_the_limits_themselves_are_allowed() -> None:
    assert loads("1" * MAX_DIGITS) == int("1" * MAX_DIGITS)
    assert loads("1" + " " * (MAX_CHARACTERS - 1)) == 1
    assert loads("1", limit=1) == 1
    assert dumps(loads("[" * MAX_DEPTH + "]" * MAX_DEPTH)) == "[" * MAX_DEPTH + "]" * MAX_DEPTH


@pytest.mark.timeout(10)
def test_a_string_that_is_never_closed_is_refused_in_time() -> None:
    with pytest.raises(ValueError, match="property name"):
        loads("{" + r"\"" * 400_000 + "\\")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        "'a'",
        "{a: 1}",
        "[1,]",
        "01",
        "+1",
        ".5",
        "1.",
        '"\t"',
        '"\\x"',
        "nul",
        "1 2",
        "][",
    ],
)
def test_what_only_looks_like_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"line 1 column \d+"):
        loads(text)


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "text",
    [
        "[]" * 400_000,
        "[" * 64 + "[]," * 300_000,
        "]" * 400_000 + "[" * 400_000,
        '{"a":' * 60 + "0." + "1" * 900_000,
        '"' + "\\" * 999_998,
        "[" + '"",' * 300_000,
        "-" * 900_000,
    ],
)
def test_a_hostile_text_is_refused_in_time(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        loads(text)


@pytest.mark.parametrize("text", ["-0", "-0.0", "1.0", "1e2", "-1E-400", "12345678901234567890"])
def test_a_number_keeps_the_kind_in_which_it_is_written(text: str) -> None:
    found, expected = loads(text), json.loads(text)
    assert (type(found), str(found)) == (type(expected), str(expected))


def test_text_is_written_on_one_line_as_it_is() -> None:
    assert dumps({"Straße": "a\nb"}) == r'{"Straße": "a\nb"}'


def test_what_is_not_finite_is_not_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        dumps([math.inf])


@given(VALUES)
@settings(max_examples=100, deadline=None, database=None)
def test_what_is_written_is_read_back(value: JsonValue) -> None:
    assert loads(dumps(value)) == value


@given(st.lists(PIECES | st.text(max_size=3), max_size=30).map("".join))
@settings(max_examples=200, deadline=None, database=None)
def test_any_text_is_a_value_that_can_be_written_or_a_value_error(text: str) -> None:
    try:
        value = loads(text)
    except ValueError:
        value = None
    assert loads(dumps(value).encode().decode()) == value


def plain(text: str) -> JsonValue:
    """What `loads` should give, the slow way: by the rules, one after the other."""

    def unique(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
        if len({name for name, _ in pairs}) < len(pairs):
            raise ValueError
        return dict(pairs)

    def depth(value: JsonValue) -> int:
        parts = value.values() if isinstance(value, dict) else value
        return 1 + max(map(depth, parts), default=0) if isinstance(value, dict | list) else 0

    value = json.loads(text, object_pairs_hook=unique)
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    if depth(value) > MAX_DEPTH:
        raise ValueError
    return value


JSON_LIKE = VALUES.flatmap(
    lambda value: st.builds(
        lambda at, piece: (text := json.dumps(value))[: at % (len(text) + 1)] + piece + text[at:],
        st.integers(0, 60),
        PIECES | st.just(""),
    )
)
DEEP = st.tuples(st.integers(60, 68), st.integers(60, 68), st.sampled_from(["", '"[["', "[],{}"]))


@given(
    JSON_LIKE
    | st.lists(PIECES | st.text(max_size=3), max_size=30).map("".join)
    | DEEP.map(lambda parts: "[" * parts[0] + parts[2] + "]" * parts[1])
)
@settings(max_examples=400, deadline=None, database=None)
def test_every_text_is_accepted_and_read_as_by_the_rules_one_by_one(text: str) -> None:
    try:
        expected = plain(text)
    except ValueError:
        with pytest.raises(ValueError, match=r"."):
            loads(text)
    else:
        assert repr(loads(text)) == repr(expected)
