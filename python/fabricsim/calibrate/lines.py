"""Straight lines over ranges of sizes, without any model of a message: where a library changes its behaviour.

Each range has its own intercept and slope. The sum of absolute relative residuals is minimal over all places
of the changes at measured sizes. The report shows the result beside the fit of the model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from fabricsim.calibrate.robust import minimise

__all__ = ["Break", "Lines", "lines"]

_MOST_SEGMENTS = 3
_LEAST_IN_SEGMENT = 3
# Sizes beyond this are thinned, since the number of ranges grows with the square.
_MOST_SIZES = 48
_ITERATIONS = 18
# Parameters of one more range: intercept, slope, place, and one for the choice of the place.
_PER_SEGMENT = 4


@dataclass(frozen=True)
class Break:
    """A change of line between two measured sizes."""

    last: int
    first: int
    gain: float
    """By which part the sum of absolute residuals is smaller than without this change, 0 to 1."""


@dataclass(frozen=True)
class Lines:
    """The best lines."""

    breaks: tuple[Break, ...]
    mean_residual: float


def lines(times: Mapping[int, float]) -> Lines | None:
    """The best one, two or three lines by the Bayesian information criterion; None with too few sizes."""
    sizes = sorted(times)
    sizes = sizes[:: -(-len(sizes) // _MOST_SIZES)]
    count = len(sizes)
    if count < _LEAST_IN_SEGMENT:
        return None
    cost = {
        (start, end): _cost(sizes[start:end], times)
        for start in range(count)
        for end in range(start + _LEAST_IN_SEGMENT, count + 1)
    }
    found: list[tuple[float, float, tuple[int, ...]]] = []
    for segments in range(1, _MOST_SEGMENTS + 1):
        best = _best(cost, count, segments)
        if best is not None:
            total, cuts = best
            score = 2 * count * math.log(max(total / count, 1e-3)) + _PER_SEGMENT * segments * math.log(count)
            found.append((score, total, cuts))
    _, total, cuts = min(found)
    breaks = []
    for cut in cuts:
        others = tuple(other for other in cuts if other != cut)
        without = _total(cost, count, others)
        gain = max(0.0, 1 - total / without) if without > 0 else 0.0
        breaks.append(Break(sizes[cut - 1], sizes[cut], gain))
    return Lines(tuple(breaks), total / count)


def _cost(sizes: list[int], times: Mapping[int, float]) -> float:
    rows = [(1.0 / times[size], size / times[size]) for size in sizes]
    solution = minimise(rows, [1.0] * len(rows), ((None, None), (0.0, None)), None, _ITERATIONS)
    return math.inf if solution is None else solution.cost


def _total(cost: Mapping[tuple[int, int], float], count: int, cuts: tuple[int, ...]) -> float:
    edges = (0, *cuts, count)
    return sum(cost.get(edge, math.inf) for edge in zip(edges, edges[1:], strict=False))


def _best(
    cost: Mapping[tuple[int, int], float], count: int, segments: int
) -> tuple[float, tuple[int, ...]] | None:
    if segments == 1:
        choices: list[tuple[int, ...]] = [()]
    elif segments == 2:
        choices = [(cut,) for cut in range(1, count)]
    else:
        choices = [(low, high) for high in range(2, count) for low in range(1, high)]
    best = min(((_total(cost, count, cuts), cuts) for cuts in choices), default=None)
    return None if best is None or math.isinf(best[0]) else best
