"""Which items a step takes: each pass over the set is a fresh permutation, cut into steps.

Stateless: step and seed decide, so a resumed run goes on exactly where it stopped.
"""

import random

from envace.inference.policy import seed_for


def choose(total: int, count: int, step: int, seed: int) -> tuple[int, ...]:
    """Indices (below `total`) of the `count` items of step `step`."""
    found: list[int] = []
    for place in range(step * count, (step + 1) * count):
        epoch, index = divmod(place, total)
        order = list(range(total))
        random.Random(seed_for(seed, "epoch", epoch)).shuffle(order)
        found.append(order[index])
    return tuple(found)
