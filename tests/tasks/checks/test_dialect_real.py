"""Schemas as people and libraries write them are inside the dialect."""

import pytest
from pydantic import BaseModel, Field

from envace import plugins
from envace.episode import Tool
from envace.tasks.checks.dialect import arguments_errors, schema_problem


class Line(BaseModel):
    product: str = Field(pattern=r"^[A-Z]{2}-\d+$", examples=["AB-1"])
    count: int = Field(default=1, ge=1, multiple_of=1, title="How many")


class Order(BaseModel):
    """An order, as pydantic describes it."""

    lines: list[Line] = Field(min_length=1)
    first: Line | None = None
    sizes: tuple[int, str] = (1, "a")
    notes: dict[str, str] = Field(default_factory=dict)


def test_a_schema_of_pydantic_is_followed_into_its_definitions():
    found = Tool(name="order", parameters=Order.model_json_schema())
    assert "$defs" in found.parameters
    assert arguments_errors(found, {"lines": [{"product": "AB-12"}], "first": None}) == ()
    wrong = {"lines": [{"product": "12", "count": 0}], "sizes": ["x", "y"]}
    assert arguments_errors(found, wrong) == (
        "lines[0].count: 0 is less than the minimum of 1",
        r"lines[0].product: '12' does not match '^[A-Z]{2}-\\d+$'",
        "sizes[0]: 'x' is not of type 'integer'",
    )


def test_a_schema_in_the_manner_of_mcp_is_accepted():
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "title": "search",
        "properties": {
            "query": {"type": "string", "minLength": 1, "description": "What to find"},
            "mode": {"enum": ["fast", "deep"], "default": "fast", "x-order": 2},
            "since": {"type": "string", "format": "date-time", "nullable": True},
            "tags": {"type": "array", "items": {"$ref": "#/definitions/Tag"}, "uniqueItems": True},
            "page": {"oneOf": [{"type": "integer", "minimum": 0}, {"const": "all"}]},
        },
        "definitions": {"Tag": {"type": "string", "maxLength": 8, "example": "new"}},
        "required": ["query"],
        "additionalProperties": False,
    }
    found = Tool(name="search", parameters=schema)
    assert arguments_errors(found, {"query": "x", "tags": ["a", "b"], "page": "all"}) == ()
    assert arguments_errors(found, {"query": "x", "tags": ["a", "a"], "more": 1}) == (
        "arguments: Additional properties are not allowed ('more' was unexpected)",
        "tags: ['a', 'a'] has non-unique elements",
    )


@pytest.mark.parametrize("name", plugins.names("envace.worlds"))
def test_the_tools_of_a_world_are_accepted(name):
    tools = plugins.choose("envace.worlds", name).build().tools
    assert [schema_problem(tool) for tool in tools] == [None] * len(tools)


@pytest.mark.parametrize(
    ("value", "step"), [(19.99, 0.01), (0.3, 0.1), (7, 3.5), (1e308, 1e-300), (10**300 + 1, 1e-300)]
)
def test_a_decimal_number_is_a_multiple_as_it_is_written(value, step):
    tool = Tool(name="pay", parameters={"properties": {"sum": {"multipleOf": step}}})
    assert arguments_errors(tool, {"sum": value}) == ()
    assert arguments_errors(tool, {"sum": step / 2}) == (
        f"sum: {step / 2} is not a multiple of {step}",
    )
