"""A recorded call as an example: does it change anything, and which arguments must match?

Logs say neither, so both are read from names, schemas and values. Where they tell nothing, a call
is one that only reads, and an argument must match.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from pydantic import JsonValue

from envace.episode import Call, Tool
from envace.tasks.checks.dialect import walk

MAX_WORD = 40
"""Characters of a text that is a value even without punctuation; a longer one may be prose."""
MIN_WORDS = 5
"""Words of a text that may be prose."""

_READS = re.compile(
    "calculate|check|compare|compute|count|describe|estimate|fetch|find|get|has|is|list|load|lookup"
    "|preview|query|read|recommend|retrieve|search|see|show|think|track|validate|verify|view"
)
_WRITES = re.compile(
    "accept|activate|add|adjust|append|apply|approve|archive|assign|attach|book|buy|cancel|change"
    "|charge|clear|close|complete|confirm|connect|copy|create|deactivate|delete|deny|deposit"
    "|disable|disconnect|drop|edit|enable|exchange|execute|grant|insert|install|issue|lock|make"
    "|mark|merge|modify|move|open|pay|place|post|publish|purchase|put|reboot|refuel|refund|register"
    "|reject|remove|rename|reply|replace|reschedule|reserve|reset|restart|resume|return|revoke|run"
    "|save|schedule|send|set|share|start|stop|submit|subscribe|suspend|swap|switch|toggle|transfer"
    "|turn|unlock|unsubscribe|update|upgrade|upload|withdraw|write"
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SET = re.compile(r"(?:^|_)ids$|[a-z]Ids$")
_ENDS = (".", "!", "?", "。", "！", "？")
_EAST = "\u2e80"
"""From here on characters are Chinese, Japanese or Korean."""
_FIXED = {"$ref", "const", "enum", "format", "pattern"}
"""Keywords by which a schema says that a text is no prose."""


@lru_cache(maxsize=4096)
def changes(name: str) -> bool:
    """Does the tool `name` change state? Its first verb decides: `get_order` does not."""
    words = [word.lower() for word in _WORD.findall(name)]
    verbs = (word for word in words if _READS.fullmatch(word) or _WRITES.fullmatch(word))
    return _WRITES.fullmatch(next(verbs, "")) is not None


def failed(result: JsonValue) -> bool:
    """Does a response say that its call had no effect?"""
    said = result.get("result") if isinstance(result, dict) else result
    if isinstance(said, str) and said.lower().startswith("error"):
        return True
    return isinstance(result, dict) and (
        bool(result.get("error")) or result.get("success") is False or result.get("ok") is False
    )


def prose(call: Call, tool: Tool) -> tuple[str, ...]:
    """Arguments that are free text: no two people would write the same.

    Free is a text of five words or more that is longer than 40 characters or ends as a sentence
    does, unless the schema lists or shapes its values.
    """
    schemas = dict(_properties(tool))
    return tuple(
        name
        for name, value in call.arguments.items()
        if isinstance(value, str) and _is_prose(value) and not _is_fixed(schemas.get(name))
    )


def sets(call: Call, tool: Tool) -> tuple[str, ...]:
    """Arguments that are lists of texts whose order means nothing.

    Such is a list of ids (by its name), or one that the schema wants unique. Several such lists of
    one length belong together item by item; of different lengths, each keeps its order.
    """
    schemas = dict(_properties(tool))
    found = {
        name: value
        for name, value in call.arguments.items()
        if isinstance(value, list)
        and all(isinstance(item, str) for item in value)
        and (_SET.search(name) or _is_unique(schemas.get(name)))
    }
    return tuple(found) if len({*map(len, found.values())}) == 1 else ()


def parameters(tool: Tool) -> tuple[str, ...]:
    """Names of the tool's arguments."""
    return tuple(name for name, _ in _properties(tool))


def _properties(tool: Tool) -> Iterator[tuple[str, JsonValue]]:
    properties = tool.parameters.get("properties")
    yield from properties.items() if isinstance(properties, Mapping) else ()


def _is_prose(text: str) -> bool:
    if sum(map(_words, text.split())) < MIN_WORDS:
        return False
    return len(text) > MAX_WORD or text.rstrip().endswith(_ENDS)


def _words(text: str) -> int:
    """Words of a text without spaces; Chinese and Japanese words have two characters or so."""
    if any(map(str.isdigit, text)) or not any(map(str.isalpha, text)):
        return 0
    return 1 + sum(character >= _EAST for character in text) // 2


def _is_fixed(schema: JsonValue) -> bool:
    return any(isinstance(part, dict) and _FIXED & part.keys() for part, _ in walk(schema))


def _is_unique(schema: JsonValue) -> bool:
    return isinstance(schema, dict) and schema.get("uniqueItems") is True
