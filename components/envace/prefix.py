"""Token sequences that begin alike: what they share is computed once.

Both generation (a batch of prompts) and training (a pack of sequences) sort their sequences, so
that those that begin alike stand side by side, and cut the sorted list into runs.
"""

from collections.abc import Callable, Sequence

Ids = Sequence[int]
Joins = Callable[[list[Ids], Ids], bool]
"""Does the next sequence join this run of sequences?"""


def shared(first: Ids, second: Ids) -> int:
    """How many leading ids two sequences have in common."""
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count


def runs(sequences: Sequence[Ids], joins: Joins) -> list[list[int]]:
    """Indices of `sequences` in sorted order, cut into runs wherever `joins` says no."""
    order = sorted(range(len(sequences)), key=lambda index: tuple(sequences[index]))
    found: list[list[int]] = []
    for index in order:
        if found and joins([sequences[member] for member in found[-1]], sequences[index]):
            found[-1].append(index)
        else:
            found.append([index])
    return found


def alike(least: float, most: int) -> Joins:
    """Runs of at most `most` sequences; neighbours share at least the part `least` of the next."""

    def joins(run: list[Ids], following: Ids) -> bool:
        return len(run) < most and shared(run[-1], following) >= least * len(following)

    return joins
