"""Linear fits that minimise the sum of absolute residuals, with bounds on the parameters.

Iteratively reweighted least squares (Schlossmacher 1973): an outlier has the weight of its distance, not of
its square. Rows are few and parameters are at most four, so plain Python is fast enough, and numpy is not
needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import mul

__all__ = ["Bounds", "Line", "minimise"]

# Residuals are relative. Below the first, all rows have one weight in the first step; below the last, a
# residual counts as zero. Between them the limit shrinks by a factor in each step, so that no early zero
# residual pins the fit.
_FIRST_ZERO, _LAST_ZERO, _SHRINK = 0.05, 1e-7, 0.55
_SINGULAR = 1e-13

Line = Sequence[float]
Bounds = Sequence[tuple[float | None, float | None]]


@dataclass(frozen=True)
class Solution:
    """The best parameters, and the sum of absolute residuals."""

    values: tuple[float, ...]
    cost: float
    at_bound: frozenset[int]
    """Parameters that a bound holds."""


def minimise(
    rows: Sequence[Line],
    targets: Sequence[float],
    bounds: Bounds,
    fixed: Mapping[int, float] | None = None,
    iterations: int = 40,
) -> Solution | None:
    """The parameters that minimise the sum of ``|row . parameters - target|``.

    Parameters
    ----------
    rows, targets
        One row of coefficients for each target.
    bounds
        Least and greatest value of each parameter, None for no bound.
    fixed
        Parameters with given values.
    iterations
        Of the reweighting.

    Returns
    -------
    Solution or None
        None if the rows do not determine the parameters.
    """
    known = dict(fixed or {})
    return _bounded(rows, targets, bounds, known, frozenset(), iterations)


def _bounded(
    rows: Sequence[Line],
    targets: Sequence[float],
    bounds: Bounds,
    known: dict[int, float],
    held: frozenset[int],
    iterations: int,
) -> Solution | None:
    """Solves without bounds; holds each parameter that violates one there, and takes the best of these."""
    values = _reweighted(rows, targets, len(bounds), known, iterations)
    if values is None:
        return None
    violated = []
    for place, (low, high) in enumerate(bounds):
        if place in known:
            continue
        if low is not None and values[place] < low:
            violated.append((place, low))
        elif high is not None and values[place] > high:
            violated.append((place, high))
    if not violated:
        return Solution(tuple(values), sum(map(abs, _residuals(rows, targets, values))), held)
    found = [
        _bounded(rows, targets, bounds, {**known, place: bound}, held | {place}, iterations)
        for place, bound in violated
    ]
    return min((solution for solution in found if solution), key=lambda one: one.cost, default=None)


def _residuals(rows: Sequence[Line], targets: Sequence[float], values: Line) -> list[float]:
    return [sum(map(mul, row, values)) - target for row, target in zip(rows, targets, strict=True)]


def _reweighted(
    rows: Sequence[Line], targets: Sequence[float], count: int, known: Mapping[int, float], iterations: int
) -> list[float] | None:
    free = [place for place in range(count) if place not in known]
    rest = [
        target - sum(row[place] * value for place, value in known.items())
        for row, target in zip(rows, targets, strict=True)
    ]
    values = [known.get(place, 0.0) for place in range(count)]
    if not free:
        return values
    system = _System([tuple(row[place] for place in free) for row in rows], rest)
    weights = [1.0] * len(rest)
    best: list[float] = []
    least, zero = float("inf"), _FIRST_ZERO
    for _ in range(iterations):
        found = system.weighted(weights)
        if found is None:
            return None
        residuals = _residuals(system.rows, rest, found)
        cost = sum(map(abs, residuals))
        if cost < least:
            settled = zero == _LAST_ZERO and least - cost < 1e-9 * least
            best, least = found, cost
            if settled:
                break
        weights = [1.0 / max(abs(residual), zero) for residual in residuals]
        zero = max(_LAST_ZERO, zero * _SHRINK)
    for place, value in zip(free, best, strict=True):
        values[place] = value
    return values


class _System:
    """Weighted least squares by the normal equations, for many weights."""

    def __init__(self, rows: Sequence[Line], targets: Sequence[float]) -> None:
        self.rows = rows
        columns = list(zip(*rows, strict=True))
        self._count = len(columns)
        # Products of columns are the same for all weights.
        self._products = [
            [list(map(mul, columns[i], columns[j])) for j in range(i + 1)] for i in range(self._count)
        ]
        self._right = [list(map(mul, column, targets)) for column in columns]

    def weighted(self, weights: Sequence[float]) -> list[float] | None:
        """The solution for these weights; None if the columns depend on each other."""
        places = range(self._count)
        matrix = [[0.0] * self._count for _ in places]
        for i in places:
            for j in range(i + 1):
                matrix[i][j] = matrix[j][i] = sum(map(mul, weights, self._products[i][j]))
        right = [sum(map(mul, weights, products)) for products in self._right]
        # Columns of length one: parameters have different units.
        scale = [matrix[i][i] ** 0.5 for i in places]
        if min(scale) == 0.0:
            return None
        for i in places:
            right[i] /= scale[i]
            for j in places:
                matrix[i][j] /= scale[i] * scale[j]
        solved = _eliminate(matrix, right)
        return None if solved is None else [value / s for value, s in zip(solved, scale, strict=True)]


def _eliminate(matrix: list[list[float]], right: list[float]) -> list[float] | None:
    """Gauss with pivots; None if the matrix is singular."""
    count = len(right)
    for step in range(count):
        pivot = max(range(step, count), key=lambda row: abs(matrix[row][step]))
        if abs(matrix[pivot][step]) < _SINGULAR:
            return None
        matrix[step], matrix[pivot] = matrix[pivot], matrix[step]
        right[step], right[pivot] = right[pivot], right[step]
        for row in range(step + 1, count):
            factor = matrix[row][step] / matrix[step][step]
            right[row] -= factor * right[step]
            for column in range(step, count):
                matrix[row][column] -= factor * matrix[step][column]
    values = [0.0] * count
    for step in reversed(range(count)):
        rest = sum(matrix[step][column] * values[column] for column in range(step + 1, count))
        values[step] = (right[step] - rest) / matrix[step][step]
    return values
