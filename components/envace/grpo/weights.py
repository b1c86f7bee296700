"""The mean in the objective: the weight of each of a sequence's tokens, for the whole batch.

    token     w = 1 / Σ s       every token of the batch counts the same (arXiv 2503.14476, eq. 8)
    sequence  w = 1 / (n · s)   every sequence counts the same (GRPO, arXiv 2402.03300, eq. 3)
    fixed     w = 1 / (n · L)   a longer sequence counts more, whatever the others (2503.20783)

Letters: n sequences of the batch, s trained tokens of one, L a fixed length.
"""

from collections.abc import Sequence

from envace.grpo.settings import Settings


def weights_of(lengths: Sequence[int], settings: Settings) -> list[float]:
    """The weight of one token of each of n sequences with so many trained tokens."""
    if settings.normalisation == "token":
        return token_mean(lengths)
    if settings.normalisation == "sequence":
        return sequence_mean(lengths)
    assert settings.fixed_length is not None, "the settings were validated"
    return fixed_length(lengths, settings.fixed_length)


def token_mean(lengths: Sequence[int]) -> list[float]:
    """The mean over all tokens."""
    total = sum(lengths)
    return [1 / total for _ in lengths]


def sequence_mean(lengths: Sequence[int]) -> list[float]:
    """The mean over sequences of their means."""
    return [1 / (len(lengths) * length) for length in lengths]


def fixed_length(lengths: Sequence[int], length: int) -> list[float]:
    """The mean over sequences of their sums, each over `length`."""
    return [1 / (len(lengths) * length) for _ in lengths]
