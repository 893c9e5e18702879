"""The fit of the model of a message to half round-trip times, with the protocol changes that explain them
best.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, stdev

from fabricsim._errors import CalibrationError
from fabricsim.calibrate.model import COPY, GAP, LATENCY, OVERHEAD, Framing, Thresholds, coefficients
from fabricsim.calibrate.robust import Bounds, minimise

__all__ = ["Fit", "Limits", "Threshold", "fit", "time_per_byte"]

_LEAST_SIZES = 5
_MOST_SIZES = 2000
# Sizes that may be thresholds in the first search; with more, the second looks between the best of them.
_MOST_CANDIDATES = 26
_LEAST_IN_SEGMENT = 2
# Parameters that a threshold counts as in the criterion: its place, and one for the choice among all places.
_PER_THRESHOLD = 2
_COARSE, _FINE = 14, 60
_SHORT_LIST = 6
_COARSE_SHORT = 5
# Equal overheads are at the limit of twice the time per message, which has an error itself.
_SLACK = 0.1
_REPLICATES = 100
_SEED = 1995


@dataclass(frozen=True)
class Limits:
    """What is known besides the half round-trip times, in the units of the parameters."""

    gap: float | None = None
    """Nanoseconds per byte, from the plateau of a window."""
    message_time: float | None = None
    """Time per message in a window in microseconds: the larger overhead, so their sum is between once and
    twice it.
    """
    latency: float = 0.0
    """Least network latency in microseconds: of the cables and switches that the user gives."""
    overhead: float | None = None
    """Both overheads together in microseconds, for fits with a rendezvous; None: searched."""
    exact: bool = False
    """Whether the network latency is exactly this one."""
    eager: int | None = None
    """Largest eager payload, where it is known; None: it is searched."""
    most_gap: float | None = None
    """Most nanoseconds per byte: those of a link that a row proves."""
    any_handshake: bool = False
    """Whether the jump may be larger than two network latencies can be. Overhead and network latency are
    then not told apart, but no handshake makes the link slower."""


@dataclass(frozen=True)
class Threshold:
    """A protocol change."""

    name: str
    """``"short"`` or ``"eager"``."""
    last: int
    """Largest measured size before the change."""
    first: int
    """Smallest measured size after it."""
    gain: float
    """By which part the sum of absolute residuals is smaller than without this change, 0 to 1."""


@dataclass(frozen=True)
class Fit:
    """Parameters with their errors, and what they predict."""

    thresholds: Thresholds
    values: tuple[float, ...]
    """Overhead, network latency, time per byte, copy time per byte. Without rendezvous, the overhead is the
    sum of both overheads and the network latency, and the network latency is 0."""
    errors: tuple[float, ...]
    """Standard deviations over replicates of the residuals (bootstrap)."""
    held: frozenset[int]
    """Parameters that a limit holds: alone, the times would have them beyond it."""
    changes: tuple[Threshold, ...]
    sizes: tuple[int, ...]
    measured: tuple[float, ...]
    predicted: tuple[float, ...]

    @property
    def residuals(self) -> tuple[float, ...]:
        """Prediction over measurement, less 1."""
        return tuple(p / m - 1 for p, m in zip(self.predicted, self.measured, strict=True))

    @property
    def mean_residual(self) -> float:
        """Mean of the absolute residuals."""
        return sum(map(abs, self.residuals)) / len(self.sizes)

    @property
    def jump(self) -> bool:
        """Whether there is a rendezvous, whose handshake shows the network latency."""
        return self.thresholds.eager is not None


@dataclass(frozen=True)
class _Trial:
    thresholds: Thresholds
    values: tuple[float, ...]
    cost: float
    score: float
    held: frozenset[int]


class _Times:
    """Half round-trip times, framing and limits: everything but the thresholds."""

    def __init__(self, times: Mapping[int, float], framing: Framing, limits: Limits) -> None:
        self.sizes = tuple(sorted(times))
        self.times = tuple(times[size] for size in self.sizes)
        self.framing = framing
        self.limits = limits

    def bounds(self, jump: bool) -> Bounds:
        each = self.limits.message_time
        least = self.limits.latency
        gap = (0.0, self.limits.most_gap)
        if jump and self.limits.any_handshake:
            return ((None, None), (0.0, None), gap, (0.0, None))
        if jump:
            most = least if self.limits.exact else None
            low, high = (each * (1 - _SLACK), 2 * each * (1 + _SLACK)) if each else (0.0, None)
            return ((low, high), (least, most), gap, (0.0, None))
        return ((least + (each or 0.0), None), (None, None), gap, (0.0, None))

    def fixed(self, thresholds: Thresholds) -> dict[int, float]:
        fixed = {}
        if thresholds.eager is None:
            fixed[LATENCY] = 0.0
        if thresholds.short is None:
            fixed[COPY] = 0.0
        if self.limits.gap is not None:
            fixed[GAP] = self.limits.gap
        if self.limits.overhead is not None and thresholds.eager is not None:
            fixed[OVERHEAD] = self.limits.overhead
        return fixed

    def rows(self, thresholds: Thresholds, times: Sequence[float]) -> list[tuple[float, ...]]:
        return [
            tuple(x / time for x in coefficients(size, thresholds, self.framing))
            for size, time in zip(self.sizes, times, strict=True)
        ]

    def trial(self, thresholds: Thresholds, iterations: int) -> _Trial | None:
        """The best parameters with these thresholds."""
        fixed = self.fixed(thresholds)
        solution = minimise(
            self.rows(thresholds, self.times),
            [1.0] * len(self.sizes),
            self.bounds(thresholds.eager is not None),
            fixed,
            iterations,
        )
        if solution is None:
            return None
        count = len(self.sizes)
        parameters = 4 - len(fixed) + _PER_THRESHOLD * (thresholds.segments - 1)
        # The Bayesian information criterion for residuals with a Laplace distribution, for which absolute
        # residuals are the likelihood. A thousandth is about the rounding of printed times.
        scale = max(solution.cost / count, 1e-3)
        score = 2 * count * math.log(scale) + parameters * math.log(count)
        return _Trial(thresholds, solution.values, solution.cost, score, solution.at_bound)

    def allowed(self, thresholds: Thresholds) -> bool:
        """Whether every range has enough sizes, and its parameters can be told apart."""
        ranges: dict[str, int] = {}
        for size in self.sizes:
            name = thresholds.protocol(size).value
            ranges[name] = ranges.get(name, 0) + 1
        if len(ranges) != thresholds.segments or min(ranges.values()) < _LEAST_IN_SEGMENT:
            return False
        # Without rendezvous, link and copies are one slope.
        return thresholds.short is None or thresholds.eager is not None or self.limits.gap is not None

    def search(self, short: Iterable[int | None], eager: Iterable[int | None]) -> list[_Trial]:
        """All trials with these thresholds, the best score first."""
        eager = list(eager)
        found = []
        for low in short:
            for high in eager:
                thresholds = Thresholds(low, high)
                if (low is None or high is None or low < high) and self.allowed(thresholds):
                    trial = self.trial(thresholds, _COARSE)
                    if trial is not None:
                        found.append(trial)
        return sorted(found, key=lambda trial: trial.score)


def fit(times: Mapping[int, float], framing: Framing, limits: Limits) -> Fit:
    """Fits the model to half round-trip times in microseconds by payload in bytes.

    All pairs of measured sizes are tried as thresholds, at most three ranges. The criterion decides whether
    a threshold is worth its parameters.

    Raises
    ------
    CalibrationError
        There are too few or too many sizes, or nothing fits.
    """
    data = _Times(times, framing, limits)
    best, trials = _search(data)
    predicted = _predict(data, best.thresholds, best.values)
    return Fit(
        best.thresholds,
        best.values,
        _errors(data, best, predicted),
        best.held,
        tuple(_changes(data, best, trials)),
        data.sizes,
        data.times,
        predicted,
    )


def time_per_byte(times: Mapping[int, float], framing: Framing, limits: Limits) -> tuple[float, float]:
    """Of the fit with these limits the time of a byte on the link in nanoseconds, and the median of the
    absolute residuals.

    Where copies begin hardly matters for them, so fewer sizes are tried there.
    """
    data = _Times(times, framing, limits)
    best, _ = _search(data, _COARSE_SHORT)
    predicted = _predict(data, best.thresholds, best.values)
    return best.values[GAP], median(abs(p / t - 1) for p, t in zip(predicted, data.times, strict=True))


def _search(data: _Times, every: int = 1) -> tuple[_Trial, list[_Trial]]:
    """The best thresholds and parameters, and all that were tried, with every n-th size as the short one."""
    if not _LEAST_SIZES <= len(data.times) <= _MOST_SIZES:
        raise CalibrationError(
            f"half round-trip times of {len(data.times)} sizes; expected {_LEAST_SIZES} to {_MOST_SIZES:,}, "
            "for example the powers of two to 4 MiB"
        )
    step = -(-len(data.sizes) // _MOST_CANDIDATES)
    candidates = data.sizes[::step]
    eager: list[int | None] = [None, *candidates]
    if data.limits.eager is not None:
        eager = [_last_eager(data.sizes, data.limits.eager)]
    trials = data.search([None, -1, *candidates[::every]], eager)
    if not trials:
        raise CalibrationError(
            "no parameters of the model fit these times; the latencies given may be too large"
        )
    if step > 1:
        near = _near(data.sizes, trials[0].thresholds, step)
        trials = sorted([*trials, *data.search(*near)], key=lambda trial: trial.score)
    refined = [data.trial(trial.thresholds, _FINE) for trial in trials[:_SHORT_LIST]]
    best = min((trial for trial in refined if trial), key=lambda trial: trial.score)
    return best, trials


def _last_eager(sizes: Sequence[int], threshold: int) -> int | None:
    """The largest measured size that is eager; None if all are."""
    last = max((size for size in sizes if size <= threshold), default=None)
    if last is None:
        raise CalibrationError(
            f"eager threshold {threshold} B: expected at least one measured size up to it; the smallest is "
            f"{sizes[0]} B"
        )
    return None if last == sizes[-1] else last


def _near(sizes: Sequence[int], found: Thresholds, step: int) -> tuple[list[int | None], list[int | None]]:
    """The thresholds themselves and the sizes between them and their neighbours in the first search."""

    def around(threshold: int | None) -> list[int | None]:
        if threshold is None or threshold < 0:
            return [threshold]
        at = sizes.index(threshold)
        return list(sizes[max(0, at - step + 1) : at + step])

    return around(found.short), around(found.eager)


def _predict(data: _Times, thresholds: Thresholds, values: Sequence[float]) -> tuple[float, ...]:
    return tuple(
        sum(x * value for x, value in zip(coefficients(size, thresholds, data.framing), values, strict=True))
        for size in data.sizes
    )


def _changes(data: _Times, best: _Trial, trials: Sequence[_Trial]) -> Iterable[Threshold]:
    for name, last in (("short", best.thresholds.short), ("eager", best.thresholds.eager)):
        if last is None or last < 0:
            continue
        without = [
            trial.cost
            for trial in trials
            if (trial.thresholds.eager is None if name == "eager" else trial.thresholds.short in (None, -1))
        ]
        gain = 1 - best.cost / min(without) if without and min(without) > 0 else 0.0
        first = data.sizes[data.sizes.index(last) + 1]
        yield Threshold(name, last, first, max(0.0, gain))


def _errors(data: _Times, best: _Trial, predicted: Sequence[float]) -> tuple[float, ...]:
    """Bootstrap of the residuals: each replicate has the prediction with residuals drawn from all sizes."""
    count = len(data.sizes)
    fixed = data.fixed(best.thresholds)
    free = 4 - len(fixed)
    widen = (count / max(1, count - free)) ** 0.5
    residuals = [widen * (time / value - 1) for time, value in zip(data.times, predicted, strict=True)]
    # A seed of its own: the same files give the same preset.
    generator = random.Random(_SEED)
    replicates = []
    for _ in range(_REPLICATES):
        times = [value * max(0.05, 1 + generator.choice(residuals)) for value in predicted]
        solution = minimise(
            data.rows(best.thresholds, times),
            [1.0] * count,
            data.bounds(best.thresholds.eager is not None),
            fixed,
            25,
        )
        if solution is not None:
            replicates.append(solution.values)
    if len(replicates) < 2:
        return (0.0,) * 4
    return tuple(stdev(values) for values in zip(*replicates, strict=True))
