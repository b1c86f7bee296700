"""Token sequences that begin alike: what they share is computed once.

Generation (a batch of prompts) and training (a pack of sequences) both lay their sequences out as
a prefix tree in one row. A token attends to its ancestors only, at the position it had in its own
sequence, so every result is that of the sequences computed one by one. Letters: t tokens of a tree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

Ids = Sequence[int]


@dataclass(frozen=True)
class Tree:
    """Sequences as one row of t tokens, each token after its parent."""

    ids: tuple[int, ...]
    positions: tuple[int, ...]
    """Position of each token in its own sequence."""
    parents: tuple[int, ...]
    """Place of the token before each in its sequence; −1 for a first token."""
    paths: tuple[tuple[int, ...], ...]
    """For each sequence, the places of its tokens."""


def shared(first: Ids, second: Ids) -> int:
    """How many leading ids two sequences have in common."""
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count


def runs(sequences: Sequence[Ids], most: int) -> list[list[int]]:
    """Indices of `sequences` in sorted order, cut into runs whose trees have at most `most` tokens.

    A sequence that is longer has a run of its own.
    """
    order = sorted(range(len(sequences)), key=lambda index: tuple(sequences[index]))
    found: list[list[int]] = [order[:1]] if order else []
    size = len(sequences[order[0]]) if order else 0
    for before, index in pairwise(order):
        ids = sequences[index]
        added = len(ids) - shared(sequences[before], ids)
        if size + added <= most:
            found[-1].append(index)
            size += added
        else:
            found.append([index])
            size = len(ids)
    return found


def tree(sequences: Sequence[Ids]) -> Tree:
    """The prefix tree of sorted sequences."""
    ids: list[int] = []
    positions: list[int] = []
    parents: list[int] = []
    paths: list[tuple[int, ...]] = []
    before: Ids = ()
    for sequence in sequences:
        path = list(paths[-1][: shared(before, sequence)]) if paths else []
        for place in range(len(path), len(sequence)):
            parents.append(path[-1] if path else -1)
            path.append(len(ids))
            ids.append(sequence[place])
            positions.append(place)
        paths.append(tuple(path))
        before = sequence
    return Tree(tuple(ids), tuple(positions), tuple(parents), tuple(paths))


def ancestors(parents: Sequence[int]) -> np.ndarray:
    """(t, t) booleans: is token j token i itself or one of its ancestors?"""
    mask = np.eye(len(parents), dtype=bool)
    for token, parent in enumerate(parents):
        if parent >= 0:
            mask[token] |= mask[parent]
    return mask
