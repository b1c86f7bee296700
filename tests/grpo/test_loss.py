"""The objective at single tokens, by hand; the limits are 0.8 and 1.2."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from envace.grpo.loss import Tokens, clipped, likelihood, objective
from envace.grpo.settings import Clip, Settings


def tensor(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.double)


def tokens(logprobs: Tensor, advantages: Tensor, **others: Any) -> Tokens:
    """Tokens that were sampled at log-probability 0 and have weight 1, unless said."""
    zero = torch.zeros_like(advantages)
    fields = {"sampled": zero, "old": zero, "reference": None, "weights": zero + 1}
    return Tokens(logprobs, **{**fields, **others}, advantages=advantages)


def value_and_slope(ratio: float, advantage: float, clip: Clip) -> tuple[float, float]:
    """The objective of one token with this ratio, and its derivative by the log-probability."""
    logprobs = tensor(math.log(ratio)).requires_grad_()
    value = objective(tokens(logprobs, tensor(advantage)), Settings(clip=clip))
    value.backward()
    assert logprobs.grad is not None
    return value.item(), logprobs.grad.item()


@pytest.mark.parametrize(
    ("ratio", "advantage", "value", "slope"),
    [
        (1.0, 0.5, 0.5, 0.5),  # at the start the slope is A
        (1.1, 2.0, 2.2, 2.2),  # inside the limits: ratio · A
        (1.5, 2.0, 2.4, 0.0),  # good and already likelier by 1.2: no more
        (0.5, 2.0, 1.0, 1.0),  # good and less likely: pulled back without a limit
        (0.5, -2.0, -1.6, 0.0),  # bad and already less likely than 0.8: no more
        (1.5, -2.0, -3.0, -3.0),  # bad and likelier: pushed back without a limit
        (1.5, 0.0, 0.0, 0.0),  # no advantage, no objective
    ],
)
def test_a_token_has_its_value_and_its_slope(
    ratio: float, advantage: float, value: float, slope: float
) -> None:
    assert value_and_slope(ratio, advantage, Clip()) == pytest.approx((value, slope))


@pytest.mark.parametrize(
    ("ratio", "advantage", "value", "slope"),
    [
        (2.0, -1.0, -2.0, -2.0),  # not yet at the second limit
        (4.0, -1.0, -3.0, 0.0),  # bad and four times likelier: no more than dual · A
        (0.5, -1.0, -0.8, 0.0),  # the first limit is as before
        (4.0, 1.0, 1.2, 0.0),  # a good token knows no second limit
        (2.0, 0.0, 0.0, 0.0),
    ],
)
def test_the_dual_limit_bounds_a_bad_token(
    ratio: float, advantage: float, value: float, slope: float
) -> None:
    assert value_and_slope(ratio, advantage, Clip(dual=3.0)) == pytest.approx((value, slope))


def test_the_limits_may_differ() -> None:
    found = clipped(tensor(1.5, 0.5), tensor(1.0, -1.0), Clip(low=0.1, high=0.3))
    assert found.tolist() == pytest.approx([1.3, -0.9])


def test_objectives_of_the_parts_add_up_to_that_of_the_batch() -> None:
    now, then, gain = tensor(-1.0, -2.0, -0.5), tensor(-1.1, -1.0, -0.5), tensor(1.0, -0.5, 2.0)
    third = tensor(1, 1, 1) / 3

    def part(cut: slice) -> float:
        chosen = tokens(now[cut], gain[cut], old=then[cut], sampled=then[cut], weights=third[cut])
        return objective(chosen, Settings()).item()

    whole = part(slice(0, 3))
    assert part(slice(0, 1)) + part(slice(1, 3)) == pytest.approx(whole)
    # min(e^0.1, 1.2)·1 + min(−0.5·e^−1, −0.5·0.8) + 2
    assert whole == pytest.approx((math.exp(0.1) - 0.4 + 2) / 3)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        # The training engine finds the tokens 4, 1 and 1/4 times as likely as the sampling one.
        ("truncated", 2 * 1.0 + 1 * 1.0 + 0.25 * 1.0),
        ("masked", 1.0),
    ],
)
def test_a_correction_weighs_what_the_engines_disagree_on(kind: str, expected: float) -> None:
    old = tensor(math.log(4), 0.0, -math.log(4))
    settings = Settings.model_validate({"correction": {"kind": kind, "limit": 2.0}})
    logprobs = old.clone().requires_grad_()
    value = objective(tokens(logprobs, tensor(1, 1, 1), old=old), settings)
    value.backward()
    assert value.item() == pytest.approx(expected)
    assert logprobs.grad is not None
    assert logprobs.grad.sum().item() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("estimator", "value", "slope"),
    [
        # log π − log π_ref = ln 2, ratio 1, A 1, β 0.5; k1 is taken off A and has no slope itself.
        ("k1", 1 - 0.5 * math.log(2), 1 - 0.5 * math.log(2)),
        ("k2", 1 - 0.5 * math.log(2) ** 2 / 2, 1 - 0.5 * math.log(2)),
        ("k3", 1 - 0.5 * (0.5 - 1 + math.log(2)), 1 - 0.5 * (1 - 0.5)),
    ],
)
def test_a_penalty_pulls_towards_the_first_policy(
    estimator: str, value: float, slope: float
) -> None:
    settings = Settings.model_validate({"kl": {"estimator": estimator, "weight": 0.5}})
    logprobs = tensor(0.0).requires_grad_()
    found = objective(tokens(logprobs, tensor(1.0), reference=tensor(-math.log(2))), settings)
    found.backward()
    assert found.item() == pytest.approx(value)
    assert logprobs.grad is not None
    assert logprobs.grad.item() == pytest.approx(slope)


def test_likelihood_is_the_weighted_log_probability() -> None:
    assert likelihood(tensor(-1.0, -3.0), tensor(0.25, 0.25)).item() == -1.0


def test_tensors_of_different_lengths_are_refused() -> None:
    with pytest.raises(TypeError, match="advantages"):
        clipped(torch.zeros(3), torch.zeros(2), Clip())
