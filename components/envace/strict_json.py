"""JSON as the standard has it, from anybody: finite numbers, Unicode text, bounded size and depth.

What `loads` accepts, `dumps` can write and a UTF-8 file can hold.
"""

import json
import math
from functools import lru_cache
from typing import NoReturn

from pydantic import JsonValue

MAX_CHARACTERS = 1_000_000
MAX_DEPTH = 64
MAX_DIGITS = 100

_DEEPER = f"nested deeper than {MAX_DEPTH}"


def loads(text: str, limit: int = MAX_CHARACTERS) -> JsonValue:
    """The value of `text`, at most `limit` characters long.

    Raises `ValueError` in one clause when it is not plain, bounded JSON.
    """
    if len(text) > limit:
        raise ValueError(f"{len(text):,} characters, limit {limit:,}")
    if text.startswith("\ufeff"):
        raise ValueError("it begins with a byte order mark")
    if not text.isascii():
        text.encode()  # half of a surrogate pair is refused
    try:
        value = _decoder.decode(text)
    except RecursionError:  # long before the stack of the machine ends
        raise ValueError(_DEEPER) from None
    if text.count("[") + text.count("{") > MAX_DEPTH and _too_deep(value):
        raise ValueError(_DEEPER)
    if "\\u" in text:  # an escape can smuggle one in
        dumps(value).encode()
    return value


def dumps(value: object) -> str:
    """`value` as one line of JSON, non-ASCII text as it is."""
    return _encoder.encode(value)


def canonical(value: object) -> str:
    """JSON with sorted keys, so that equal values have equal texts (1, 1.0 and true differ)."""
    return _sorting.encode(value)


@lru_cache(maxsize=256)
def shared(text: str) -> JsonValue:
    """`loads`, remembered for a while: the value has other readers, so it must not be changed."""
    return loads(text)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _finite(number: str) -> float:
    if not math.isfinite(value := float(number)):
        raise ValueError(f"{number[:MAX_DIGITS]} is too large a number")
    return value


def _short(number: str) -> int:
    if len(number) > MAX_DIGITS:
        raise ValueError(f"a number has {len(number):,} digits, limit {MAX_DIGITS}")
    return int(number)


def _unique(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _too_deep(value: JsonValue) -> bool:
    """Does it nest deeper than `MAX_DEPTH`?"""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        inner = [part for part in level if isinstance(part, dict | list)]
        if not inner:
            return False
        level = [
            part
            for whole in inner
            for part in (whole.values() if isinstance(whole, dict) else whole)
        ]
    return True


_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_sorting = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True)
_decoder = json.JSONDecoder(
    parse_constant=_refuse,
    parse_float=_finite,
    parse_int=_short,
    object_pairs_hook=_unique,
)
