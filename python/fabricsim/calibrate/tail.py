"""What the largest messages of a ping-pong tell about the link, without a model of the library.

Above the last protocol change a half round-trip time is a constant and the bytes over the link's bandwidth,
whatever the constant contains: overheads, latencies, a handshake of any length. So the slope of the last rows
is the time of a byte. Where this range begins is unknown: it is extended from the largest sizes downwards as
long as a row does not contradict the line through those above it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fabricsim.calibrate.measurement import Measurement
from fabricsim.calibrate.model import Framing
from fabricsim.calibrate.stream import Estimate

__all__ = ["LARGE", "LEAST_SIZES", "Proof", "Slope", "largest_proof", "slope"]

# Sizes from here on take longer than their latency on usual links; fewer of them leave too much open.
LARGE = 64 * 1024
LEAST_SIZES = 4
# A line over more than this factor of sizes says nothing more about the slope, only about the constant.
_SPAN = 128
# The shortest line. Its error is large unless the rows are on it to the last digit.
_SHORTEST = 3
# Quantiles by degrees of freedom, from 1: of |t|, 99.5 %, and of F with one degree in the numerator, 95 % (of
# the first, 99 %, so that noise seldom leaves a line of three rows).
_T = (127.3, 14.09, 7.453, 5.598, 4.773, 4.317, 4.029, 3.833, 3.690, 3.581)
_F = (4052.0, 18.51, 10.13, 7.709, 6.608, 5.987, 5.591, 5.318, 5.117, 4.965)
# Benchmarks print hundredths of a microsecond: half of one, as a standard deviation.
_ROUNDING_US = 0.005 / 3**0.5


@dataclass(frozen=True)
class Proof:
    """A row that no slower link can give."""

    rate: float
    """Bytes on the wire per nanosecond."""
    file: str
    line: int
    size: int


def largest_proof(tables: Iterable[Measurement], framing: Framing) -> Proof | None:
    """The row of half round-trip times or of windows with the most bytes on the wire per time."""
    proofs = [
        Proof(
            framing.wire(row.size) / (row.value * 1e3)
            if table.kind == "latency"
            else row.value * framing.wire(row.size) / row.size,
            table.file,
            row.line,
            row.size,
        )
        for table in tables
        for row in table.rows
        if row.size > 0
    ]
    return max(proofs, key=lambda proof: proof.rate, default=None)


@dataclass(frozen=True)
class _Line:
    """Weighted least squares of relative residuals."""

    rows: Sequence[tuple[float, float]]
    slope: float
    squares: float
    """Sum of the squares of the relative residuals, at least that of rounded times."""
    leverage: float
    """Variance of the slope per variance of a relative residual."""

    @property
    def freedom(self) -> int:
        return len(self.rows) - 2

    @property
    def variance(self) -> float:
        """Of a relative residual."""
        return self.squares / self.freedom


def _line(rows: Sequence[tuple[float, float]]) -> _Line:
    """Through sizes in bytes and times in microseconds; the slope is in nanoseconds per byte."""
    weights = [1 / time**2 for _, time in rows]
    total = sum(weights)
    size = sum(w * x for w, (x, _) in zip(weights, rows, strict=True)) / total
    time = sum(w * y for w, (_, y) in zip(weights, rows, strict=True)) / total
    spread = sum(w * (x - size) ** 2 for w, (x, _) in zip(weights, rows, strict=True))
    slope = sum(w * (x - size) * (y - time) for w, (x, y) in zip(weights, rows, strict=True)) / spread
    squares = sum(w * (time + slope * (x - size) - y) ** 2 for w, (x, y) in zip(weights, rows, strict=True))
    rounding = sum(w * _ROUNDING_US**2 for w in weights)
    return _Line(rows, slope * 1e3, max(squares, rounding), 1e6 / spread)


@dataclass(frozen=True)
class Slope(Estimate):
    """Nanoseconds per byte on the wire with a half width of 99.5 %."""

    deviation: float
    """Standard deviation by the scatter about the line, which few rows show badly."""
    per_noise: float
    """Standard deviation per relative deviation of the times."""


def slope(times: Mapping[int, float], framing: Framing) -> Slope | None:
    """The slope of the largest times; None with too few large sizes.

    `times` are half round-trip times in microseconds by payload.
    """
    if sum(size >= LARGE for size in times) < LEAST_SIZES:
        return None
    largest = max(times)
    rows = [(float(framing.message(b)), times[b]) for b in sorted(times) if b * _SPAN >= largest]
    found = _line(rows[-_SHORTEST:])
    for count in range(_SHORTEST + 1, len(rows) + 1):
        longer = _line(rows[-count:])
        # The F test of one more row.
        if longer.squares - found.squares > _quantile(_F, found.freedom) * found.variance:
            break
        found = longer
    deviation = (found.variance * found.leverage) ** 0.5
    error = _quantile(_T, found.freedom) * deviation
    return Slope(found.slope, error, deviation, found.leverage**0.5)


def _quantile(table: Sequence[float], freedom: int) -> float:
    return table[min(freedom, len(table)) - 1]
