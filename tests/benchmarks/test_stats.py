import math

import pytest
from scipy.stats import binomtest

from envace.benchmarks.stats import (
    mcnemar_exact,
    minimum_detectable_difference,
    paired_bootstrap,
    wilson,
)
from envace.errors import BenchmarkError


@pytest.mark.parametrize(("passed", "n"), [(0, 5), (8, 10), (45, 90), (90, 90)])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_wilson_agrees_with_scipy(passed, n, confidence):
    expected = binomtest(passed, n).proportion_ci(confidence, "wilson")
    assert wilson(passed, n, confidence) == pytest.approx((expected.low, expected.high))


def test_wilson_by_hand():
    # p = 1/2, n = 4, z = 1.95996: centre 1/2, half z·sqrt(1/16 + z²/64) / (1 + z²/4) = 0.3499
    assert wilson(2, 4) == pytest.approx((0.1501, 0.8499), abs=1e-4)


def test_nothing_run_says_nothing():
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("b", "c", "p"),
    [
        (0, 0, 1.0),
        (3, 3, 1.0),  # 2·P(X ≤ 3) is above 1
        (1, 5, 14 / 64),  # 2·(1 + 6) / 2⁶
        (5, 1, 14 / 64),
        (2, 10, 158 / 4096),  # 2·(1 + 12 + 66) / 2¹²
    ],
)
def test_mcnemar_by_hand(b, c, p):
    assert mcnemar_exact(b, c) == pytest.approx(p)


def test_mcnemar_agrees_with_scipy_on_large_counts():
    assert mcnemar_exact(700, 800) == pytest.approx(binomtest(700, 1500).pvalue)


def test_bootstrap_is_decided_by_its_seed():
    differences = [math.sin(k) for k in range(30)]
    found = paired_bootstrap(differences, seed=1)
    assert found == paired_bootstrap(differences, seed=1)
    assert found != paired_bootstrap(differences, seed=2)


def test_bootstrap_interval_is_the_normal_one_on_many_items():
    # 200 items of mean 0.25 and variance 3/16: 1.96·sqrt(0.1875/200) = 0.060
    mean, low, high = paired_bootstrap([1.0, 0.0, 0.0, 0.0] * 50, seed=0)
    assert mean == 0.25
    assert (low, high) == pytest.approx((0.19, 0.31), abs=0.005)


def test_equal_differences_leave_no_doubt():
    assert paired_bootstrap([0.5] * 3, seed=0, n=10) == (0.5, 0.5, 0.5)


def test_at_half_power_the_detectable_difference_is_the_critical_one():
    # power 1/2 has z = 0: d = 1.95996·sqrt(0.2/100)
    found = minimum_detectable_difference(100, 0.2, power=0.5)
    assert found == pytest.approx(0.08765, abs=1e-5)


def test_the_detectable_difference_solves_its_equation():
    # d = 0.12382: left 1.2382; right 1.95996·0.44721 + 0.84162·sqrt(0.2 − 0.01533) = 1.2382
    assert minimum_detectable_difference(100, 0.2) == pytest.approx(0.12382, abs=1e-5)


def test_more_items_show_smaller_differences_and_too_few_show_none():
    found = [minimum_detectable_difference(n, 0.3) for n in (30, 90, 400)]
    assert found == sorted(found, reverse=True)
    assert minimum_detectable_difference(5, 0.1) == math.inf


def test_what_cannot_be_computed_is_an_error():
    with pytest.raises(BenchmarkError, match="share none"):
        paired_bootstrap([], seed=0)
    with pytest.raises(BenchmarkError, match="discordant rate of 0"):
        minimum_detectable_difference(10, 0)
