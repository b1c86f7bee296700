"""How sure a success rate is: a pure function of counts."""

import math
from statistics import NormalDist


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
