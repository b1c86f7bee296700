"""The three means, by hand: two sequences with 1 and 3 trained tokens."""

import pytest

from envace.grpo.settings import Settings
from envace.grpo.weights import weights_of

LENGTHS = (1, 3)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"normalisation": "token"}, [1 / 4, 1 / 4]),
        ({"normalisation": "sequence"}, [1 / 2, 1 / 6]),
        ({"normalisation": "fixed", "fixed_length": 10}, [1 / 20, 1 / 20]),
    ],
)
def test_a_token_has_its_weight(options: dict[str, object], expected: list[float]) -> None:
    assert weights_of(LENGTHS, Settings.model_validate(options)) == pytest.approx(expected)


@pytest.mark.parametrize("normalisation", ["token", "sequence"])
def test_the_weights_of_all_tokens_sum_to_one(normalisation: str) -> None:
    weights = weights_of(LENGTHS, Settings.model_validate({"normalisation": normalisation}))
    assert sum(w * n for w, n in zip(weights, LENGTHS, strict=True)) == pytest.approx(1)


def test_no_sequence_has_no_weight() -> None:
    assert weights_of((), Settings()) == []
