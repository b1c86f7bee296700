"""What is compared: words, runs of words, identifiers and calls, as 64-bit hashes.

One idea: what people change when they pass a task on is taken away first. "You" and "I" are one
word, case and spacing do not matter, 2.0 is 2, and a dot in the name of a tool is an underscore.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from hashlib import blake2b

from pydantic import JsonValue

from envace.episode import Call
from envace.strict_json import canonical

RUN = 10
"""Words of a run; a text that is shorter is one run by itself."""
MIN_WORDS = 4
"""Words of the shortest text that tells anything."""
NAME_DIGITS = 4
"""Digits of an identifier that names one thing alone."""
MIN_NAMES = 6
"""Names of tools and parameters in the smallest set of tools that tells anything."""

_EAST = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_EAST}]|[^\W{_EAST}]+")
"""A word, or one character of a script that has no spaces."""
_MARK = re.compile(r"[^\W_]\w{5,}")
_PERSON = {
    "i": "you",
    "me": "you",
    "my": "your",
    "mine": "yours",
    "myself": "yourself",
    "am": "are",
    "m": "are",
    "re": "are",
    "was": "were",
}


def hash64(text: str) -> int:
    """64 bits of BLAKE2b, the same on every machine."""
    return int.from_bytes(blake2b(text.encode(errors="replace"), digest_size=8).digest(), "big")


def words(text: str) -> list[str]:
    """The words of a text, whoever says it."""
    found: list[str] = _WORD.findall(unicodedata.normalize("NFKC", text).lower())
    return [_PERSON.get(word, word) for word in found]


def runs(texts: Iterable[str]) -> frozenset[int]:
    """Hashes of every run of ten words in a text; of short texts, one hash of all together."""
    split = [words(text) for text in texts]
    found = {
        hash64(" ".join(said[start : start + RUN]))
        for said in split
        for start in range(len(said) - RUN + 1)
    }
    together = [word for said in split for word in said]
    if not found and len(together) >= MIN_WORDS:
        found = {hash64(" ".join(together))}
    return frozenset(found)


def marks(texts: Iterable[str]) -> frozenset[int]:
    """Hashes of the identifiers in texts: six characters or more, with a letter and a digit."""
    return frozenset(hash64(word) for word in _marks(texts))


def names(texts: Iterable[str]) -> frozenset[int]:
    """Of the identifiers, those that name one thing alone: `mia_li_3668`, but not `python3`."""
    found = (word for word in _marks(texts) if sum(map(str.isdigit, word)) >= NAME_DIGITS)
    return frozenset(hash64(word) for word in found)


def _marks(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        for word in _MARK.findall(text):
            if any(map(str.isdigit, word)) and any(map(str.isalpha, word)):
                yield word.lower()


def tools_hash(tools: Iterable[tuple[str, Iterable[str]]]) -> int | None:
    """The hash of a set of tools by their names and parameters; None if it is a common little one.

    A lone `get_weather(city)` is offered everywhere and tells nothing.
    """
    found = sorted((name.replace(".", "_"), *sorted(parameters)) for name, parameters in tools)
    return hash64(repr(found)) if sum(map(len, found)) >= MIN_NAMES else None


def call_hash(call: Call) -> int:
    """The hash of a call's name and arguments; neither their order nor absent values matter."""
    return hash64(f"{call.name.replace('.', '_')} {canonical(_plain(dict(call.arguments)))}")


def _plain(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, str):
        return " ".join(value.lower().split())
    return int(value) if isinstance(value, float) and value.is_integer() else value
