"""How sure a success rate, or a difference of two, is: pure functions of counts.

Two policies that were run on the same items are compared item by item; what decides is the items
on which they disagree.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from envace.errors import BenchmarkError


def wilson(passed: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a success rate, (0, 1) when nothing was run.

    (p + z²/2n ± z·sqrt(p(1−p)/n + z²/4n²)) / (1 + z²/n), with p = passed / n.
    """
    if n == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    p, scale = passed / n, 1 + z * z / n
    centre = (p + z * z / (2 * n)) / scale
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / scale
    low = 0.0 if passed == 0 else centre - half
    high = 1.0 if passed == n else centre + half
    return low, high


def mcnemar_exact(b: int, c: int) -> float:
    """Two-sided p-value of McNemar's exact test.

    `b` items passed only under the first policy and `c` only under the second. If neither policy is
    better, b is binomial(b + c, 1/2): p = min(1, 2·P(X ≤ min(b, c))), 1 if they never disagree.
    """
    n = b + c
    tail = sum(math.comb(n, k) for k in range(min(b, c) + 1))
    return min(1.0, 2 * tail / 2**n)


def paired_bootstrap(
    differences: Sequence[float], seed: int, n: int = 10_000
) -> tuple[float, float, float]:
    """Mean of the per-item differences and its 95 % percentile interval over `n` resamplings."""
    values = np.asarray(differences, dtype=np.float64)
    if values.size == 0:
        raise BenchmarkError(
            "Got no difference, expected one an item: the reports share none; run the same suite."
        )
    draw = np.random.default_rng(seed).integers(values.size, size=(n, values.size))
    low, high = np.quantile(values[draw].mean(axis=1), [0.025, 0.975])
    return float(values.mean()), float(low), float(high)


def minimum_detectable_difference(
    n: int, discordant_rate: float, alpha: float = 0.05, power: float = 0.8
) -> float:
    """Smallest difference of two success rates that `n` paired items show with this power.

    Normal approximation of McNemar's test: the difference d of the rates has variance ψ/n if there
    is none and (ψ − d²)/n if it is d, where ψ = `discordant_rate` is the share of items on which
    the policies disagree. d solves d·√n = z(1−α/2)·√ψ + z(power)·√(ψ − d²), in closed form. It
    cannot exceed ψ: the answer is `math.inf` where even d = ψ would not be shown.
    """
    if n < 1 or not 0 < discordant_rate <= 1:
        raise BenchmarkError(
            f"Got {n} items and a discordant rate of {discordant_rate}, expected at least 1 item "
            "and a rate above 0 and up to 1."
        )
    za = NormalDist().inv_cdf(1 - alpha / 2) * math.sqrt(discordant_rate)
    zb = NormalDist().inv_cdf(power)
    # (d√n − za)² = zb²(ψ − d²) is quadratic in d; its larger root has d√n ≥ za.
    a = n + zb * zb
    root = za * za * n - a * (za * za - zb * zb * discordant_rate)
    if root < 0:
        return math.inf
    found = (za * math.sqrt(n) + math.copysign(math.sqrt(root), zb)) / a
    return found if found <= discordant_rate else math.inf
