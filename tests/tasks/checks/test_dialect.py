import math
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from envace.episode import Tool
from envace.tasks.checks.dialect import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_ERRORS,
    MAX_MESSAGE,
    MAX_WORK,
    arguments_errors,
    schema_problem,
    short,
    unbounded,
    unreal,
)
from envace.tasks.checks.schema import (
    MAX_COUNT,
    MAX_ENUM,
    MAX_NODES,
    MAX_PATTERN,
    MAX_REFERENCES,
)


def tool(properties: dict[str, Any], **more: Any) -> Tool:
    return Tool(name="t", parameters={"type": "object", "properties": properties, **more})


def one(**schema: Any) -> Tool:
    return tool({"a": schema})


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"not": value}
    return value


def chain(references: int) -> Tool:
    """A property that leads through so many definitions."""
    names = [{"$ref": f"#/$defs/{n}"} for n in range(references)]
    definitions = {str(n): part for n, part in enumerate([*names[1:], {"type": "null"}])}
    return tool({"a": names[0]}, **{"$defs": definitions})


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
    ("found", "expected"),
    [
        (one(requird=["b"]), "$.properties.a.requird is no keyword; did you mean 'required'?"),
        (tool({}, propertees={}), "$.propertees is no keyword; did you mean 'properties'?"),
        (one(exclusiveMinimum=True), "$.properties.a.exclusiveMinimum is True, expected a number"),
        (one(type="dict"), "$.properties.a.type is 'dict', expected one or some of string, number"),
        (one(type=[]), "$.properties.a.type is [], expected one or some of"),
        (one(type=["null", "null"]), "$.properties.a.type is ['null', 'null'], expected"),
        (one(required=True), "$.properties.a.required is True, expected a list of different names"),
        (one(required=["b", "b"]), "$.properties.a.required is ['b', 'b'], expected"),
        (one(enum=[]), "$.properties.a.enum is [], expected a list of 1 to 1,000 values"),
        (one(multipleOf=0), "$.properties.a.multipleOf is 0, expected a number above 0"),
        (one(minLength=-1), "$.properties.a.minLength is -1, expected a whole number"),
        (one(maxLength=True), "$.properties.a.maxLength is True, expected a whole number"),
        (one(maxLength=10**300), "$.properties.a.maxLength is 1000"),
        (one(maxLength=10**400), "it holds a number that is not finite"),
        (one(minimum=math.nan), "it holds a number that is not finite"),
        (one(default=math.inf), "it holds a number that is not finite"),
        (one(enum=[math.nan, 2**70]), "it holds a number that is not finite"),
        (one(items=[{}]), "$.properties.a.items is [{}], expected a schema"),
        (one(anyOf=[]), "$.properties.a.anyOf is [], expected a list of schemas"),
        (one(properties=[]), "$.properties.a.properties is [], expected schemas by name"),
        (one(**{"$ref": "#"}), "$.properties.a refers to '#', and only definitions"),
        (one(**{"$ref": "#/properties/a"}), "$.properties.a refers to '#/properties/a', and only"),
        (one(**{"$ref": "other.json#/$defs/B"}), "$.properties.a refers to 'other.json#/$defs/B'"),
        (one(**{"$ref": "http://x/"}), "$.properties.a refers to 'http://x/', and only"),
        (one(**{"$ref": 1}), "$.properties.a refers to 1, and only"),
        (one(**{"$ref": "#/$defs/B"}), "$.properties.a refers to '#/$defs/B', which is not there"),
        (one(**{"$id": "http://x/"}), "$.properties.a.$id is outside the dialect"),
        (one(**{"$anchor": "x"}), "$.properties.a.$anchor is outside the dialect"),
        (one(**{"$dynamicRef": "#x"}), "$.properties.a.$dynamicRef is outside the dialect"),
        (one(**{"$recursiveRef": "#"}), "$.properties.a.$recursiveRef is outside the dialect"),
        (one(contains={}), "$.properties.a.contains is outside the dialect"),
        (one(pattern="("), "$.properties.a.pattern is '(', expected an RE2 expression"),
        (one(pattern="(?=a)b"), "$.properties.a.pattern is '(?=a)b', expected an RE2 expression"),
        (one(pattern=r"(a)\1"), r"$.properties.a.pattern is '(a)\\1', expected an RE2 expression"),
        (one(pattern=r"\pL{900}"), r"$.properties.a.pattern is '\\pL{900}', expected an RE2"),
        (one(patternProperties={"(": {}}), "$.properties.a.patternProperties has a name that is"),
        (tool({}, **{"$defs": {"B": {"type": "x"}}}), "$.$defs.B.type is 'x', expected"),
        (Tool(name="t", parameters={"type": "array"}), "its type is 'array', expected 'object'"),
        (
            Tool(name="t", parameters={"$ref": "#/$defs/B", "$defs": {"B": True}}),
            "it refers to true or false, expected an object",
        ),
    ],
)
def test_a_schema_outside_the_closed_dialect_is_refused(found, expected):
    assert schema_problem(found).startswith(expected)
    assert arguments_errors(found, {})[0].startswith("the schema of tool 't' cannot be used")


def test_a_definition_that_refers_to_itself_is_refused():
    both = {"B": {"items": {"$ref": "#/$defs/C"}}, "C": {"items": {"$ref": "#/$defs/B"}}}
    found = schema_problem(tool({}, **{"$defs": both}))
    assert found == "#/$defs/C.items refers to '#/$defs/B', which refers to itself" or (
        found == "#/$defs/B.items refers to '#/$defs/C', which refers to itself"
    )


@pytest.mark.parametrize(
    ("allowed", "refused", "reason"),
    [
        (one(pattern="a" * MAX_PATTERN), one(pattern="a" * (MAX_PATTERN + 1)), "at most 200 chara"),
        (one(enum=[*range(MAX_ENUM)]), one(enum=[*range(MAX_ENUM + 1)]), "1 to 1,000 values"),
        (one(maxItems=MAX_COUNT), one(maxItems=MAX_COUNT + 1), "a whole number up to 1,000,000"),
        (one(maximum=2.0**1023), one(maximum=2**1023), "not finite"),
        (one(multipleOf=5e-324), one(multipleOf=0.0), "a number above 0"),
        (chain(MAX_REFERENCES), chain(MAX_REFERENCES + 1), "is inside 8 references already"),
        (one(anyOf=[True] * (MAX_NODES - 2)), one(anyOf=[True] * (MAX_NODES - 1)), "5,000 parts"),
        (one(**nested(2 * MAX_DEPTH - 2)), one(**nested(2 * MAX_DEPTH - 1)), "more than 16 levels"),
        (one(description="x" * 65_400), one(description="x" * 65_536), "limit 65,536"),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else "",
)
def test_a_limit_is_allowed_and_one_past_it_is_refused(allowed: Tool, refused: Tool, reason: str):
    assert schema_problem(allowed) is None
    assert reason in str(schema_problem(refused))


def test_the_limit_of_parts_counts_what_references_lead_to():
    def wide(references: int) -> Tool:
        definitions = {"B": {"allOf": [True] * 99}}
        return tool(
            {"a": {"anyOf": [{"$ref": "#/$defs/B"}] * references}}, **{"$defs": definitions}
        )

    # the root and `a`, `B` once by itself, and for each reference: itself, `B` and its 99
    assert schema_problem(wide((MAX_NODES - 2 - 100) // 101)) is None
    assert "more than 5,000 parts" in str(schema_problem(wide((MAX_NODES - 2 - 100) // 101 + 1)))


def test_a_bomb_of_references_is_refused():
    bomb = {f"B{n}": {"allOf": [{"$ref": f"#/$defs/B{n + 1}"}] * 8} for n in range(7)}
    found = schema_problem(tool({}, **{"$defs": {**bomb, "B7": {}}}))
    assert found == "it has more than 5,000 parts once its references are followed"


def test_the_deepest_schema_that_is_allowed_can_be_held_against_a_value():
    names = [f"#/$defs/{n}" for n in range(MAX_REFERENCES)]
    definitions: dict[str, Any] = {}
    for n in range(MAX_REFERENCES):
        part: dict[str, Any] = {"$ref": names[n + 1]} if n + 1 < len(names) else {"type": "null"}
        for _ in range(2 * MAX_DEPTH - 4):
            part = {"not": part}
        definitions[str(n)] = part
    found = tool({"a": {"$ref": names[0]}}, **{"$defs": definitions})
    assert schema_problem(found) is None
    assert arguments_errors(found, {"a": None}) == ()  # 96 times `not` is an even number


def test_the_limits_of_arguments():
    free = one()
    value: Any = {}
    for _ in range(MAX_DEPTH - 2):
        value = [value]
    assert arguments_errors(free, {"a": value}) == ()
    deeper = arguments_errors(free, {"a": [value]})
    assert deeper == ("arguments: it nests more than 8 levels deep",)
    filled = "x" * (MAX_BYTES - len('{"a": ""}'))
    assert arguments_errors(free, {"a": filled}) == ()
    longer = arguments_errors(free, {"a": filled + "x"})
    assert longer == ("arguments: it takes 65,537 bytes, limit 65,536",)
    assert arguments_errors(free, {"a": 2**1023 - 1}) == ()
    assert "not finite" in arguments_errors(free, {"a": 2**1023})[0]


def test_a_large_schema_checks_only_small_arguments():
    found = one(anyOf=[{"type": "null"}] * 1_996)
    # 1,996 times a schema and its type, and the root, its type and `a`
    limit = MAX_WORK // 3_995
    filled = "x" * (limit - len('{"a": ""}'))
    assert arguments_errors(found, {"a": filled})[0].startswith("a: 'xxx")
    longer = arguments_errors(found, {"a": filled + "x"})
    assert longer == (f"arguments: it takes 1,002 bytes, limit {limit:,}",)


def test_so_many_errors_are_looked_for_and_each_is_cut():
    found = one(items={"type": "null"})
    errors = arguments_errors(found, {"a": ["x" * 1_000] * (MAX_ERRORS + 1)})
    assert len(errors) == MAX_ERRORS
    assert {len(error) for error in errors} == {MAX_MESSAGE}
    assert len(arguments_errors(found, {"a": [1] * (MAX_ERRORS - 1)})) == MAX_ERRORS - 1


def test_a_message_can_always_be_written():
    assert short("x" * MAX_MESSAGE) == "x" * MAX_MESSAGE
    assert short("x" * (MAX_MESSAGE + 1)) == "x" * (MAX_MESSAGE - 1) + "…"
    assert short("\ud800") == "?"
    assert str(schema_problem(tool({}, **{"\ud800": 1}))).startswith("$.? is no keyword")


def test_the_reason_is_seen_behind_a_long_name():
    found = schema_problem(tool({"x" * 5_000: {"requird": []}}))
    assert str(found).endswith("did you mean 'required'?")


def test_names_of_any_kind_are_only_names():
    for name in ("__proto__", "\x00", "$ref", "pattern", "", "a.b", "x-y", "\ud800"):
        found = tool({name: {"type": "null"}}, additionalProperties=False)
        assert schema_problem(found) is None
        assert arguments_errors(found, {name: None}) == ()
        assert len(arguments_errors(found, {name: 1, "other": 1})) == 2


def test_a_remote_reference_is_never_fetched():
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.path)

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        reference = f"http://127.0.0.1:{server.server_port}/schema.json"
        assert arguments_errors(one(**{"$ref": reference}), {"a": 1})
        assert arguments_errors(tool({}, **{"$schema": reference}), {"a": 1}) == ()
        server.shutdown()
    assert seen == []


def test_hostile_arguments_are_answered_in_time():
    start = time.perf_counter()
    free = one(type="string", format="regex")
    assert arguments_errors(free, {"a": "(" * 60_000}) == ()
    assert "not finite" in arguments_errors(one(multipleOf=0.1), {"a": 10**400})[0]
    assert len(arguments_errors(one(multipleOf=1e-300), {"a": 10**300 + 1})) == 0
    assert len(arguments_errors(one(multipleOf=0.5), {"a": 1e308})) == 0
    assert len(arguments_errors(one(pattern="^(a+)+$"), {"a": "a" * 60_000 + "!"})) == 1
    assert len(arguments_errors(one(pattern="(x+x+)+y"), {"a": "x" * 60_000})) == 1
    objects = [{"k": n} for n in range(3_500)]
    assert arguments_errors(one(uniqueItems=True), {"a": objects}) == ()
    assert arguments_errors(one(patternProperties={"^(a|a)*$": {}}), {"a": {"a" * 60_000: 1}}) == ()
    assert time.perf_counter() - start < 5


def test_a_heavy_expression_is_held_against_short_text_only():
    heavy = one(allOf=[{"pattern": f"(?:(?:a?b?{n}?){{30}}){{30}}$"} for n in range(10)])
    assert arguments_errors(heavy, {"a": "ab"}) == ()
    assert "bytes, limit" in arguments_errors(heavy, {"a": "ab" * 10_000})[0]


def test_equal_schemas_are_told_from_unequal_ones():
    for value, other in ((1, True), (0, False), (2**70, 2**70 + 1), (None, "null")):
        assert arguments_errors(one(const=value), {"a": value}) == ()
        assert len(arguments_errors(one(const=value), {"a": other})) == 1
        assert len(arguments_errors(one(const=other), {"a": value})) == 1


def test_a_number_is_real_or_not():
    assert not any(map(unreal, (0, -1, 1.5, True, None, "nan", 2**1023 - 1)))
    assert all(map(unreal, (math.nan, math.inf, -math.inf, 2**1023, -(2**1024))))
    assert unbounded([1], 1, 3) is None
    assert unbounded([1], 1, 2) == "it takes 3 bytes, limit 2"
