"""The closed dialect of JSON Schema (2020-12) that a tool's parameters may be written in.

One idea: a schema is walked once, as data, before anything is compiled from it. Every keyword is
known, has a value of its kind, and costs a bounded time to check; a reference leads to a definition
of the same schema and is written out in its place; nothing is ever fetched.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import re2
from pydantic import JsonValue

from envace.config import nearest

MAX_PATTERN = 200
"""Characters of a regular expression."""
MAX_NODES = 5_000
"""Schemas in a schema once its references are written out."""
MAX_REFERENCES = 8
"""References inside each other."""
MAX_ENUM = 1_000
"""Values of an `enum`."""
STEPS = 100
"""Steps of a regular expression that cost as much as one part of a schema."""
MAX_NAME = 80
"""Characters of a place or a name that an error quotes."""
MAX_COUNT = 1_000_000
"""Largest length or count that a keyword asks for."""
TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")

Schema = dict[str, JsonValue]

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
_OPTIONS.max_mem = 1 << 20


def pattern(text: str) -> Any:
    """A regular expression that takes linear time. Raises `re2.error`."""
    return re2.compile(text, _OPTIONS)


def _is_type(value: JsonValue) -> bool:
    if isinstance(value, list):
        return 0 < len(value) == len({str(one) for one in value}) and all(map(_is_type, value))
    return value in TYPES


def _is_pattern(value: JsonValue) -> bool:
    if not isinstance(value, str) or len(value) > MAX_PATTERN:
        return False
    try:
        pattern(value)
    except re2.error:
        return False
    return True


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT


def _is_names(value: JsonValue) -> bool:
    return (
        isinstance(value, list)
        and all(isinstance(name, str) for name in value)
        and len(set(map(str, value))) == len(value)
    )


@dataclass(frozen=True)
class Keyword:
    """What the value of a keyword must be."""

    expected: str
    holds: Callable[[JsonValue], bool]


def _is_annotation(key: str) -> bool:
    return key in ANNOTATIONS or key.startswith("x-")


def _is_boolean(value: JsonValue) -> bool:
    return isinstance(value, bool)


def _is_text(value: JsonValue) -> bool:
    return isinstance(value, str)


_COUNT = Keyword(f"a whole number up to {MAX_COUNT:,}", _is_count)
_NUMBER = Keyword("a number", _is_number)
_TEXT = Keyword("a text", _is_text)
_BOOLEAN = Keyword("true or false", _is_boolean)
_EXPRESSION = f"an RE2 expression of at most {MAX_PATTERN} characters"
_ANY = Keyword("any value", lambda _: True)
KEYWORDS: Mapping[str, Keyword] = {
    "type": Keyword(f"one or some of {', '.join(TYPES)}", _is_type),
    "enum": Keyword(
        f"a list of 1 to {MAX_ENUM:,} values",
        lambda value: isinstance(value, list) and 0 < len(value) <= MAX_ENUM,
    ),
    "const": _ANY,
    "pattern": Keyword(_EXPRESSION, _is_pattern),
    "format": _TEXT,
    "required": Keyword("a list of different names", _is_names),
    "multipleOf": Keyword("a number above 0", lambda v: _is_number(v) and float(str(v)) > 0),
    "uniqueItems": _BOOLEAN,
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _NUMBER),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _COUNT),
    **dict.fromkeys(("minProperties", "maxProperties"), _COUNT),
}
"""Keywords that hold no schema."""
ANNOTATIONS = frozenset(
    (
        *("title", "description", "default", "examples", "example", "deprecated", "$schema"),
        *("readOnly", "writeOnly", "nullable", "optional", "$comment", "discriminator"),
        *("contentEncoding", "contentMediaType"),
    )
)
"""Words that say nothing about validity; so do all that begin with `x-`."""
ONE = frozenset(("items", "additionalProperties", "not", "propertyNames", "if", "then", "else"))
"""Keywords that hold one schema."""
SOME = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
"""Keywords that hold a list of schemas."""
NAMED = frozenset(("properties", "patternProperties", "$defs", "definitions"))
"""Keywords that hold schemas by name."""
KNOWN = frozenset((*KEYWORDS, *ANNOTATIONS, *ONE, *SOME, *NAMED, "$ref"))
OUTSIDE = frozenset(
    (
        *("$id", "id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$vocabulary"),
        *("$recursiveAnchor", "contains", "minContains", "maxContains", "additionalItems"),
        *("unevaluatedItems", "unevaluatedProperties", "contentSchema"),
        *("dependentRequired", "dependentSchemas", "dependencies"),
    )
)
"""Words of JSON Schema that the dialect leaves out: they move references, or cost more than time
in proportion to the value."""
_LOCAL = re.compile(r"#/(\$defs|definitions)/([^/~%]+)")


class Refused(ValueError):
    """A schema is outside the dialect; the message says where and why."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{_ending(where)} {problem}")


class Closed(NamedTuple):
    """A schema in the dialect, with its references written out and its annotations left out."""

    schema: Schema
    cost: int
    """What it costs to check one byte of a value, in parts of the schema."""


def closed(schema: Schema) -> Closed:
    """The schema as it is checked. Raises `Refused`.

    It must be bounded in depth and size already (`dialect.unbounded`).
    """
    definitions = {
        (place, name): part
        for place in ("$defs", "definitions")
        for name, part in _named(schema.get(place, {}), f"$.{place}")
    }
    writer = _Writer(definitions)
    written = writer.write(schema, "$", ())
    if not isinstance(written, dict):
        raise Refused("it", "refers to true or false, expected an object")
    return Closed(written, writer.cost)


def _named(value: JsonValue, where: str) -> Iterator[tuple[str, JsonValue]]:
    if not isinstance(value, dict):
        raise Refused(where, f"is {_shown(value)}, expected schemas by name")
    yield from value.items()


def _size(value: JsonValue) -> int:
    """The values in a value."""
    if isinstance(value, dict):
        return 1 + sum(map(_size, value.values()))
    return 1 + sum(map(_size, value)) if isinstance(value, list) else 1


def _weight(key: str, value: JsonValue) -> int:
    """The cost of a keyword that holds no schema."""
    if key == "pattern":
        return 1 + pattern(str(value)).programsize // STEPS
    return _size(value)


def _ending(where: str) -> str:
    return where if len(where) <= MAX_NAME else "…" + where[1 - MAX_NAME :]


def _shown(value: JsonValue) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


@dataclass
class _Writer:
    """Writes a schema out, one part at a time, within a budget of parts."""

    definitions: Mapping[tuple[str, str], JsonValue]
    nodes: int = field(default=0)
    cost: int = field(default=0)

    def write(self, schema: JsonValue, where: str, inside: tuple[str, ...]) -> JsonValue:
        """The part at `where`, met while the references `inside` are written out."""
        self.nodes += 1
        self.cost += 1
        if self.nodes > MAX_NODES:
            raise Refused(
                "it", f"has more than {MAX_NODES:,} parts once its references are followed"
            )
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            raise Refused(where, f"is {_shown(schema)}, expected a schema")
        written = {
            key: self._value(key, value, f"{where}.{key}", inside)
            for key, value in schema.items()
            if not _is_annotation(key) and key != "$ref"
        }
        for place in (
            "$defs",
            "definitions",
        ):  # checked, and written out where they are referred to
            written.pop(place, None)
        if "$ref" not in schema:
            return written
        referred = self._referred(schema["$ref"], where, inside)
        if not written:
            return referred
        return {**written, "allOf": [referred, *_listed(written.get("allOf"))]}

    def _referred(self, reference: JsonValue, where: str, inside: tuple[str, ...]) -> JsonValue:
        found = _LOCAL.fullmatch(reference) if isinstance(reference, str) else None
        if found is None:
            raise Refused(
                where,
                f"refers to {_shown(reference)}, and only definitions of the schema itself "
                "are followed; write it out in place",
            )
        name = found[0]
        if len(inside) == MAX_REFERENCES:
            raise Refused(where, f"is inside {MAX_REFERENCES} references already")
        if name in inside:
            raise Refused(where, f"refers to {_shown(name)}, which refers to itself")
        if (found[1], found[2]) not in self.definitions:
            raise Refused(where, f"refers to {_shown(name)}, which is not there")
        return self.write(self.definitions[found[1], found[2]], name, (*inside, name))

    def _value(self, key: str, value: JsonValue, where: str, inside: tuple[str, ...]) -> JsonValue:
        if key in KEYWORDS:
            if not KEYWORDS[key].holds(value):
                raise Refused(where, f"is {_shown(value)}, expected {KEYWORDS[key].expected}")
            self.cost += _weight(key, value)
            return value
        if key in ONE:
            return self.write(value, where, inside)
        if key in SOME:
            return self._some(value, where, inside)
        if key in NAMED:
            return self._by_name(key, value, where, inside)
        if key in OUTSIDE:
            raise Refused(where, "is outside the dialect that is checked here; leave it out")
        raise Refused(where, f"is no keyword; {nearest(key[:MAX_NAME], KNOWN)}")

    def _some(self, value: JsonValue, where: str, inside: tuple[str, ...]) -> JsonValue:
        if not isinstance(value, list) or not value:
            raise Refused(where, f"is {_shown(value)}, expected a list of schemas")
        return [self.write(part, f"{where}[{n}]", inside) for n, part in enumerate(value)]

    def _by_name(
        self, key: str, value: JsonValue, where: str, inside: tuple[str, ...]
    ) -> JsonValue:
        named = dict(_named(value, where))
        if key == "patternProperties" and not all(map(_is_pattern, named)):
            raise Refused(where, f"has a name that is not {_EXPRESSION}")
            self.cost += sum(_weight("pattern", name) for name in named)
        return {name: self.write(part, f"{where}.{name}", inside) for name, part in named.items()}


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
