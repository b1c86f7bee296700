"""Combinations that mean nothing are refused when parameters are read, in one sentence."""

import pytest

from envace.errors import ConfigError
from envace.grpo.settings import Settings


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"clip": {"high": 3.0, "dual": 2.0}}, r"clip.dual is 2, expected more than 1 \+ clip"),
        ({"clip": {"dual": 0.5}}, "dual"),
        ({"normalisation": "fixed"}, "fixed_length is None; expected both or neither"),
        ({"fixed_length": 100}, "normalisation is 'token' and fixed_length is 100"),
        ({"kl": {"weight": 0}}, "kl.weight"),
        ({"kl": {"estimator": "k4", "weight": 0.1}}, "kl.estimator"),
        ({"correction": {"limit": 1.0}}, "correction.limit"),
        ({"correction": {}, "clip": {"low": 0.1}}, "the ratio is 1 and no limit acts"),
        ({"updates": 0}, "updates"),
    ],
)
def test_a_combination_that_means_nothing_is_refused(
    options: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        Settings.read(options, "update")


@pytest.mark.parametrize(
    "options",
    [
        {"clip": {"low": 0.2, "high": 0.28, "dual": 3.0}},
        {"correction": {"kind": "masked"}, "updates": 4, "clip": {"low": 0.1}},
        {"kl": {"estimator": "k1", "weight": 0.01}, "normalisation": "sequence"},
    ],
)
def test_the_others_are_not(options: dict[str, object]) -> None:
    assert Settings.read(options, "update")
