"""Estimates of a divergence, by hand and in the mean over a small vocabulary."""

import math

import pytest
import torch

from envace.grpo.kl import OF

POLICY, REFERENCE = torch.tensor([0.5, 0.3, 0.2]).double(), torch.tensor([0.2, 0.3, 0.5]).double()
DIVERGENCE = 0.5 * math.log(2.5) + 0.2 * math.log(0.4)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("k1", math.log(2.5)), ("k2", math.log(2.5) ** 2 / 2), ("k3", 0.4 - 1 + math.log(2.5))],
)
def test_an_estimate_at_one_token(name: str, expected: float) -> None:
    found = OF[name](POLICY.log()[:1], REFERENCE.log()[:1])
    assert found.item() == pytest.approx(expected)


@pytest.mark.parametrize("name", ["k1", "k3"])
def test_the_mean_of_an_unbiased_estimate_is_the_divergence(name: str) -> None:
    mean = (POLICY * OF[name](POLICY.log(), REFERENCE.log())).sum().item()
    assert mean == pytest.approx(DIVERGENCE)


def test_the_gradient_of_k2_is_that_of_the_divergence_and_that_of_k1_is_none() -> None:
    logits = POLICY.log().clone().requires_grad_()

    def slope(name: str) -> list[float]:
        estimate = OF[name](logits.log_softmax(0), REFERENCE.log())
        (found,) = torch.autograd.grad((POLICY * estimate).sum(), logits)
        return found.tolist()

    logp = logits.log_softmax(0)
    (true,) = torch.autograd.grad((logp.exp() * (logp - REFERENCE.log())).sum(), logits)
    assert slope("k2") == pytest.approx(true.tolist())
    assert slope("k1") == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)
