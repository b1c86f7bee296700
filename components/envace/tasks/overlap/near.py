"""Two tasks are nearly the same when their calls are equal and their users say nearly the same.

One idea: in tool use a changed order number or date is another task, however alike the words are.
So equal calls are a condition, and MinHash (Broder 1997; rensa's R-MinHash) judges the words alone.
Candidates come from bands of the signature, chosen so that a pair at the threshold is found with
99 %; each is then judged by its estimated Jaccard similarity.
"""

import importlib
import math
from array import array
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from envace.tasks.overlap._hashes import call_hash, words
from envace.tasks.task import Task

PERMUTATIONS = 128
"""Values of a signature, 16 bits each; the standard error of the estimate is at most 0.045."""
SHINGLE = 3
"""Words of a shingle."""
BANDS = 8
RECALL = 0.99
"""Chance that a pair whose similarity is the threshold becomes a candidate."""
SEED = 42
_CALLS = 8
"""Bytes of a sketch that stand for the calls."""


def sketch(task: Task) -> bytes:
    """264 bytes: a hash of the task's calls, whatever their order, and a signature of its words."""
    rensa: Any = importlib.import_module("rensa")  # it ships no types
    calls = sorted({call_hash(call) for call, _ in task.recorded_calls})
    digest = blake2b(b"".join(one.to_bytes(8, "big") for one in calls), digest_size=_CALLS).digest()
    said = [shingle.encode(errors="replace") for shingle in shingles(task.user_messages)]
    (signature,) = rensa.RMinHash.digests_from_token_sets([said], PERMUTATIONS, SEED)
    return digest + (np.array(signature, "<u4") & 0xFFFF).astype("<u2").tobytes()


def shingles(texts: Sequence[str]) -> list[str]:
    """Every three words that follow each other in a text, sorted; a shorter text is one shingle."""
    found: set[str] = set()
    for said in map(words, texts):
        last = max(len(said) - SHINGLE, 0)
        found |= {" ".join(said[start : start + SHINGLE]) for start in range(last + 1)}
    return sorted(found)


def similarity(one: bytes, other: bytes) -> float:
    """The estimated Jaccard similarity of two tasks' shingles, by their sketches."""
    left, right = (np.frombuffer(each, "<u2", offset=_CALLS) for each in (one, other))
    return float(np.count_nonzero(left == right)) / PERMUTATIONS


class Near:
    """The tasks kept so far, about 1 kB each, by the bands of their sketches."""

    def __init__(self, threshold: float) -> None:
        """Keeps tasks whose similarity to every one before, of equal calls, is below `threshold`.

        `threshold` is above 0 and at most 1.
        """
        self._threshold = threshold
        self._rows = rows(threshold)
        self._ids: list[str] = []
        self._sketches: list[bytes] = []
        self._last: dict[int, int] = {}
        """Of each band that was seen, the place of the last task that has it."""
        self._before = array("i")
        """Of each task and band, the place of the task before that has it too, or -1."""

    def seen(self, task_id: str, sketch: bytes) -> str | None:
        """The id of a task before that this one nearly equals; None: it is kept from now on."""
        keys = self._keys(sketch)
        judged: set[int] = set()
        for band, key in enumerate(keys):
            place = self._last.get(key, -1)
            while place >= 0:
                if place not in judged and self._same(self._sketches[place], sketch):
                    return self._ids[place]
                judged.add(place)
                place = self._before[place * BANDS + band]
        self._keep(task_id, sketch, keys)
        return None

    def _same(self, one: bytes, other: bytes) -> bool:
        return one[:_CALLS] == other[:_CALLS] and similarity(one, other) >= self._threshold

    def _keep(self, task_id: str, sketch: bytes, keys: Sequence[int]) -> None:
        place = len(self._ids)
        self._ids.append(task_id)
        self._sketches.append(sketch)
        self._before.extend(self._last.get(key, -1) for key in keys)
        self._last.update(dict.fromkeys(keys, place))

    def _keys(self, sketch: bytes) -> list[int]:
        width = 2 * self._rows
        starts = range(_CALLS, _CALLS + BANDS * width, width)
        bands = (sketch[start : start + width] for start in starts)
        return [hash((sketch[:_CALLS], band, part)) for band, part in enumerate(bands)]


def rows(threshold: float) -> int:
    """Values of a band: as many as leave a pair at the threshold a chance of `RECALL`.

    A band of r values is equal with chance t^r, so one of b bands is with 1 - (1 - t^r)^b.
    """
    most = PERMUTATIONS // BANDS
    if threshold >= 1:
        return most
    needed = 1 - (1 - RECALL) ** (1 / BANDS)
    return min(most, max(1, math.floor(math.log(needed) / math.log(threshold))))
