import pytest
from scipy.stats import binomtest

from envace.benchmarks.stats import wilson


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
