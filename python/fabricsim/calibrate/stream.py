"""What windows of messages tell: bandwidth of the link, time per message, least gap of a NIC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from fabricsim.calibrate.measurement import Measurement
from fabricsim.calibrate.model import Framing

__all__ = ["Estimate", "bus_bandwidth", "message_gap", "message_time", "plateau"]

# The plateau is looked for among the sizes from here on, where a message takes much longer than its latency.
_LARGE = 256 * 1024
_LEAST_SIZES = 3
_BUS_LARGE = 64 * 1024 * 1024
# Messages up to here are limited by their number, not by their bytes.
_SMALL = 8
_SMALL_OF_MANY = 64
# More pairs that bring less than this factor: the NIC is the limit, not the ranks.
_NO_GROWTH = 1.2


@dataclass(frozen=True)
class Estimate:
    """A value with the half width of the range in which it lies."""

    value: float
    error: float


def _centre(values: Sequence[float]) -> Estimate:
    """The median, and 1.48 times the median absolute deviation over the root of the number of values."""
    middle = median(values)
    spread = 1.4826 * median(abs(value - middle) for value in values)
    return Estimate(middle, spread / len(values) ** 0.5)


def plateau(
    rates: Mapping[int, float], framing: Framing, window: int, latency: Mapping[int, float]
) -> Estimate | None:
    """Bandwidth on the wire in bytes per nanosecond, from payload rates by size.

    None with too few large sizes. Half round-trip times in microseconds, where they are known, correct for
    the beginning and the end of a window, as in `message_time`.
    """
    large = []
    for size, rate in rates.items():
        if size >= _LARGE and rate > 0:
            whole, messages = window * size / rate, window
            edges = (latency[size] + latency.get(4, min(latency.values()))) * 1e3 if size in latency else 0.0
            if edges and window > 1:
                whole, messages = whole - edges, window - 1
            if whole > 0:
                large.append(messages * framing.message(size) / whole)
    return _centre(large) if len(large) >= _LEAST_SIZES else None


def bus_bandwidth(measurement: Measurement) -> Estimate | None:
    """Bandwidth in bytes per nanosecond from the bus bandwidths of nccl-tests; None with too few large
    buffers.
    """
    large = [row.value for row in measurement.rows if row.size >= _BUS_LARGE]
    return _centre(large) if len(large) >= _LEAST_SIZES else None


def message_time(rates: Mapping[int, float], window: int, latency: Mapping[int, float]) -> Estimate | None:
    """Time per small message of one pair in a window, in microseconds.

    A window of *W* messages and its answer of 4 B take ``(W - 1) m + t(b) + t(4)`` in the model, where *t*
    is the half round-trip time and *m* the larger of the two overheads, or the gap of the NIC.
    """
    times = []
    answer = latency.get(4, min(latency.values()))
    for size, rate in rates.items():
        if 0 < size <= _SMALL and rate > 0 and window > 1:
            whole = window * size / rate * 1e-3
            times.append((whole - latency.get(size, answer) - answer) / (window - 1))
    if not times or min(times) <= 0:
        return None
    return _centre(times)


def message_gap(tables: Sequence[Measurement], link: Estimate | None) -> tuple[Estimate | None, str]:
    """Least time between two messages of a NIC in microseconds; or why it is not determined."""
    rates: dict[int, float] = {}
    bytes_per_us = 0.0
    for table in tables:
        small = [row for row in table.rows if 0 < row.size <= _SMALL_OF_MANY and row.value > 0]
        if small:
            fastest = max(small, key=lambda row: row.value / row.size)
            rate = fastest.value / fastest.size * 1e3
            rates[table.pairs] = max(rate, rates.get(table.pairs, 0.0))
            bytes_per_us = max(bytes_per_us, fastest.value * 1e3)
    if not rates:
        return None, "needs osu_mbw_mr with at least two numbers of pairs, one twice the other"
    most = max(rates)
    limit = f"at most {1e3 / rates[most]:.3g} ns ({rates[most]:.4g} messages per us with {most} pairs)"
    fewer = [pairs for pairs in rates if 2 * pairs <= most]
    if not fewer:
        return None, f"{limit}; needs another number of pairs, at most half as many"
    before = rates[max(fewer)]
    if rates[most] > _NO_GROWTH * before:
        return (
            None,
            f"{limit}; the rate still grows with the pairs, by a factor of {rates[most] / before:.2f}",
        )
    gap = 1 / rates[most]
    if link is not None and bytes_per_us > 0.5 * link.value * 1e3:
        return None, f"{limit}; the bytes on the link may be the limit"
    return Estimate(gap, abs(rates[most] / before - 1) * gap), ""
