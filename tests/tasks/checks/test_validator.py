"""Our validator against jsonschema's own, on random schemas and values."""

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from referencing import Registry

from envace.episode import Tool
from envace.tasks.checks.dialect import arguments_errors, schema_problem
from envace.tasks.checks.schema import ANNOTATIONS, KEYWORDS, Refused, closed
from envace.tasks.checks.validator import FORMATS, Validator

HOSTILE = [
    *("1" * 65_536, "-" * 65_536, ":" * 65_536, "a." * 32_768, "1." * 32_768, "a@" * 32_768),
    *("http://" + mark * 65_529 for mark in "a%/:@[?"),
    *("2026-01-01T" + mark * 65_525 for mark in "0:.+"),
    *("P" + "1Y" * 32_767, "::" + "f:" * 32_767, "é" * 65_536, "\ud800" * 65_536, "x\x00" * 32_768),
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, "", "a", "ab"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=6,
)
TYPES = st.sampled_from(["string", "number", "integer", "boolean", "array", "object", "null"])


def described(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas of the dialect, from schemas of their parts."""
    named = st.dictionaries(st.sampled_from("abc"), inner, max_size=2)
    some = st.lists(inner, min_size=1, max_size=2)
    count = st.integers(0, 2)
    keywords = {
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True),
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "const": VALUES,
        "pattern": st.sampled_from(["^a", "b$", "^$"]),
        "format": st.sampled_from(["date", "email", "regex"]),
        "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "uniqueItems": st.booleans(),
        "title": st.just("t"),
        **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), count),
        **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), count),
        **dict.fromkeys(("minProperties", "maxProperties"), count),
        **dict.fromkeys(("items", "additionalProperties", "not", "propertyNames"), inner),
        **dict.fromkeys(("if", "then", "else"), inner),
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), some),
        "properties": named,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b"]), inner, max_size=2),
        "$ref": st.just("#/$defs/B"),
    }
    names = st.lists(st.sampled_from(sorted(keywords)), max_size=3, unique=True)
    return names.flatmap(
        lambda some: st.fixed_dictionaries({name: keywords[name] for name in some})
    )


PARTS = st.recursive(st.booleans() | st.just({}), described, max_leaves=5)
ANYTHING = st.dictionaries(
    st.sampled_from(sorted((*KEYWORDS, "properties", "items", "anyOf", "title", "default"))),
    VALUES | st.dictionaries(st.sampled_from("abc"), described(st.just({})), max_size=2),
    max_size=3,
)


@given(described(PARTS), TYPES, VALUES)
@settings(max_examples=400, deadline=None, database=None)
def test_a_value_is_valid_here_exactly_when_it_is_to_jsonschema(schema, kind, value):
    schema = {**schema, "$defs": {"B": {"type": kind}}}
    plain = Draft202012Validator(schema, registry=Registry(), format_checker=FORMATS)
    ours = Validator(closed(schema).schema, registry=Registry(), format_checker=FORMATS)
    assert ours.is_valid(value) == plain.is_valid(value)


@given(ANYTHING, VALUES)
@settings(max_examples=400, deadline=None, database=None)
def test_what_the_dialect_accepts_is_a_schema_and_raises_nothing(schema, value):
    try:
        written = closed(schema).schema
    except Refused:
        written = {}
    Draft202012Validator.check_schema(written)
    plain = {key: part for key, part in schema.items() if key not in ANNOTATIONS}
    tool = Tool(name="t", parameters={"type": "object", "properties": {"a": plain}})
    found = arguments_errors(tool, {"a": value})
    assert schema_problem(tool) is None or len(found) == 1


@pytest.mark.parametrize("name", sorted(FORMATS.checkers))
def test_a_format_is_checked_in_time_and_raises_nothing(name):
    start = time.perf_counter()
    assert [text for text in HOSTILE if not FORMATS.conforms(text, name)]
    assert time.perf_counter() - start < 1


def test_a_duration_is_no_format_here():
    # its checker raises decimal.Overflow on this text
    tool = Tool(name="t", parameters={"properties": {"a": {"format": "duration"}}})
    assert arguments_errors(tool, {"a": "P1E9999999D"}) == ()


@pytest.mark.parametrize(
    ("items", "unique"),
    [
        ([1, True], True),
        ([0, False], True),
        ([1, 1.0], False),
        ([[1], [True]], True),
        ([{"a": 1, "b": 2}, {"b": 2, "a": 1}], False),
        ([{}, []], True),
        (["1", 1, None], True),
    ],
)
def test_equality_of_items_is_that_of_json(items, unique):
    assert Validator({"uniqueItems": True}).is_valid(items) is unique


def test_a_property_is_additional_when_neither_a_name_nor_a_pattern_covers_it():
    schema = {"properties": {"a": {}}, "patternProperties": {"^b": {}, "^c": {}}}
    value = {"a": 1, "b1": 2, "c1": 3, "d": 4, "e": 5}
    for allowed in (False, {"type": "null"}):
        found = Validator({**schema, "additionalProperties": allowed})
        assert found.is_valid({"a": 1, "b1": 2, "c1": 3})
        assert not found.is_valid(value)
    errors = Validator({**schema, "additionalProperties": False}).iter_errors(value)
    assert [error.message for error in errors] == [
        "Additional properties are not allowed ('d', 'e' were unexpected)"
    ]
