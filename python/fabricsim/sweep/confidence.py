"""Means of several seeds with their confidence intervals.

Source: Student's t, as in W. S. Gosset, "The probable error of a mean", Biometrika 6 (1908): the mean of n
independent normal values is within t * s / sqrt(n) of the expected value with the stated probability, s being
the standard deviation with n - 1 below. The quantile comes from the regularised incomplete beta function,
whose continued fraction is that of Abramowitz and Stegun, Handbook of Mathematical Functions, 26.5.8.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

__all__ = ["Mean", "mean", "t_quantile"]


@dataclass(frozen=True)
class Mean:
    """A mean of `count` values. The interval is from `low` to `high`; None with fewer than two values."""

    mean: float
    low: float | None
    high: float | None
    count: int


def mean(values: Sequence[float], level: float) -> Mean:
    """The mean of at least one value, and its confidence interval at `level`."""
    count = len(values)
    middle = statistics.fmean(values)
    if count < 2:
        return Mean(middle, None, None, count)
    half = t_quantile(0.5 + level / 2, count - 1) * statistics.stdev(values) / math.sqrt(count)
    return Mean(middle, middle - half, middle + half, count)


@cache
def t_quantile(probability: float, freedom: int) -> float:
    """The quantile of Student's t for a probability above 1/2."""
    if not (0.5 <= probability < 1 and freedom >= 1):
        raise ValueError("expected a probability from 1/2 to below 1, and a degree of freedom")
    tail = 2 * (1 - probability)
    low, high = 0.0, 1.0
    while _both_tails(high, freedom) > tail:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if _both_tails(middle, freedom) > tail:
            low = middle
        else:
            high = middle
    return high


def _both_tails(t: float, freedom: int) -> float:
    """The two-sided tail probability of Student's t."""
    return _incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5)


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function."""
    if x <= 0 or x >= 1:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(1 - x, b, a)
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(logarithm) / a / _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction by Lentz's method."""
    value, c, d = 1.0, 1.0, 0.0
    for step in range(1, 10_000):
        m = step // 2
        if step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / (1 + term * d or 1e-300)
        c = 1 + term / c or 1e-300
        value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value
