"""What an update measured, by hand: ratios 1 and 3."""

import math

import pytest
import torch

from envace.grpo.measure import Measured, ratios, summed
from envace.grpo.settings import Clip


def test_the_ratios_of_two_tokens() -> None:
    found = ratios(torch.tensor([0.0, math.log(3)], dtype=torch.double), Clip())
    assert found["update/clip_fraction"] == 0.5
    assert found["update/mismatch_kl"] == pytest.approx((3 - 1 - math.log(3)) / 2)
    assert found["update/ratio_p99"] == pytest.approx(1 + 0.99 * 2)
    assert found["update/effective_samples"] == pytest.approx(16 / (2 * 10))


def test_packs_are_measured_as_one() -> None:
    seen = Measured(Clip())
    seen.add(torch.tensor(0.5), torch.tensor([0.0]), computed=4)
    seen.add(torch.tensor(-0.25), torch.tensor([math.log(3)]), computed=6)
    found = seen.metrics()
    assert (found["update/loss"], found["update/computed_tokens"]) == (0.25, 10)
    assert (found["update/trained_tokens"], found["update/clip_fraction"]) == (2, 0.5)


def test_a_quantity_of_no_tokens_is_left_out() -> None:
    assert Measured(Clip()).metrics() == {
        "update/loss": 0.0, "update/trained_tokens": 0, "update/computed_tokens": 0
    }  # fmt: skip


def test_counts_of_several_steps_add_up_and_the_rest_is_averaged() -> None:
    one = {"update/trained_tokens": 2.0, "update/loss": 1.0}
    two = {"update/trained_tokens": 4.0, "update/loss": 2.0, "update/ratio_p99": 3.0}
    found = summed([one, two])
    assert found == {
        "update/trained_tokens": 6.0, "update/loss": 1.5, "update/ratio_p99": 3.0
    }  # fmt: skip
