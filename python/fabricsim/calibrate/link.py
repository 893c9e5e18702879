"""The bandwidth of the link: from windows, from half round-trip times, or from bus bandwidths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabricsim.calibrate.fit import Limits, time_per_byte
from fabricsim.calibrate.measurement import Measurement
from fabricsim.calibrate.model import Framing
from fabricsim.calibrate.stream import Estimate, bus_bandwidth, plateau
from fabricsim.calibrate.tail import LARGE, LEAST_SIZES, Slope, largest_proof, slope

__all__ = ["Link", "by_buses", "by_times", "by_windows"]

# One direction of one link.
_PROVING = ("latency", "bandwidth", "message-rate")
# A bandwidth with a larger relative uncertainty is none.
_MOST_ERROR = 1.0
# Of a normal distribution: a quantile above 99.9 %, as residuals of a fit are too small, and the standard
# deviation per median absolute deviation.
_QUANTILE, _SIGMA = 4.0, 1.4826
_MOST_NOISE = 0.03
# Repetitions on one machine differ by this, however straight the times of each are.
_LEAST_ERROR = 0.01
# Less than this is not worth a warning.
_NOTABLE = 0.02


@dataclass(frozen=True)
class Link:
    """What is known of the slowest link."""

    bandwidth: Estimate | None
    """In bytes per nanosecond."""
    source: str
    """What determines it, or why nothing does."""
    doubts: tuple[str, ...] = ()
    """What contradicts it; the uncertainty covers it."""
    most_gap: float | None = None
    """Most nanoseconds per byte that half round-trip times allow."""
    fits_times: bool = True
    """Whether half round-trip times contain this bandwidth."""


def by_windows(
    rates: Mapping[int, float], window: int, latency: Mapping[int, float], framing: Framing
) -> Link:
    """By the plateau of windows, and at least what the median of a size proves."""
    proven = max((size / (time * 1e3) for size, time in latency.items()), default=0.0)
    proven = max(proven, *rates.values())
    found = plateau(rates, framing, window, latency)
    if found is None:
        return Link(
            None,
            f"fewer than three sizes of at least 256 KiB in a window; at least {_gbps(proven)}, which one "
            "size reaches",
            most_gap=1 / proven,
        )
    source = "plateau of the windows of messages"
    if proven <= found.value:
        return Link(found, source)
    doubt = (
        f"the plateau of the windows is {_gbps(found.value)}, but one size reaches {_gbps(proven)}, which no "
        "slower link can: the larger one is used, and the uncertainty covers both"
    )
    doubts = (doubt,) if proven > (1 + _NOTABLE) * found.value + 3 * found.error else ()
    return Link(Estimate(proven, proven - found.value + found.error), source, doubts)


def by_times(
    latency: Mapping[int, float], tables: Sequence[Measurement], framing: Framing, eager: int | None
) -> Link:
    """By the slope of the largest half round-trip times, and at least what a row proves."""
    proof = largest_proof((table for table in tables if table.kind in _PROVING), framing)
    if proof is None:
        return Link(None, "no time of a payload")
    least = f"at least {_gbps(proof.rate)}, which {proof.size} B in {proof.file}:{proof.line} prove"
    most_gap = 1 / proof.rate
    tail = slope(latency, framing)
    if tail is None:
        return Link(
            None,
            f"fewer than {LEAST_SIZES} half round-trip times of at least {LARGE // 1024} KiB, so a handshake "
            f"or copies may be part of their slope; {least}",
            most_gap=most_gap,
        )
    limits = Limits(eager=eager, most_gap=most_gap, any_handshake=True)
    model, residual = time_per_byte(latency, framing, limits)
    # The fastest and the slowest link that both allow.
    apart = abs(model - tail.value)
    within = _scattered(tail, residual) + apart
    low, high = tail.value - within, tail.value + within
    if low <= 0 or 1 / low - 1 / tail.value > _MOST_ERROR / tail.value:
        return Link(
            None,
            f"the largest half round-trip times are on no line, their slope is {_gbps(1 / high)} or more; "
            f"{least}; measure again, or osu_bw",
            most_gap=most_gap,
        )
    value = max(1 / tail.value, proof.rate)
    error = max(1 / low - value, value - 1 / high, _LEAST_ERROR * value)
    doubts = []
    if apart > max(tail.error, _NOTABLE * tail.value):
        doubts.append(
            f"the slope of the largest half round-trip times is {_gbps(1 / tail.value)}, that of the fit of "
            f"all sizes {_gbps(1 / model)}: the slope is used, and the uncertainty covers both"
        )
    if 1 / proof.rate < tail.value - max(tail.error, _NOTABLE * tail.value):
        doubts.append(
            f"{proof.file}:{proof.line}: {proof.size} B prove {_gbps(proof.rate)}, but the slope of the "
            f"largest half round-trip times is {_gbps(1 / tail.value)}: the larger one is used, and the "
            "uncertainty covers both; expected times that a constant and the bytes explain"
        )
    return Link(Estimate(value, error), "slope of the largest half round-trip times", tuple(doubts), most_gap)


def _scattered(tail: Slope, residual: float) -> float:
    """The error of the slope, with the scatter of all sizes besides that of the few on the line.

    Few times may be on a line by chance, and few show their scatter badly. Where the model does not fit, its
    residuals are no noise, so they make the error larger up to a limit only.
    """
    noise = _QUANTILE * _SIGMA * residual * tail.per_noise
    if noise < tail.error:
        return max(noise, _QUANTILE * tail.deviation)
    return min(noise, max(2 * tail.error, _MOST_NOISE * tail.value))


def by_buses(buses: Sequence[Measurement]) -> Link:
    """By bus bandwidths of nccl-tests with one rank on each host."""
    alone = [(m, bus_bandwidth(m)) for m in buses if m.ranks_per_host == 1]
    found = max((bus for _, bus in alone if bus is not None), key=lambda bus: bus.value, default=None)
    if found is not None:
        source = "largest plateau of bus bandwidths of nccl-tests with one rank on each host"
        return Link(found, source, fits_times=False)
    if not buses:
        return Link(None, "no windows of messages")
    if alone:
        return Link(None, "fewer than three buffers of at least 64 MiB")
    return Link(
        None,
        "nccl-tests with several ranks on a host, or an unknown number: their bus bandwidth mixes several "
        "NICs with links inside hosts",
    )


def _gbps(bytes_per_ns: float) -> str:
    """For texts."""
    return f"{bytes_per_ns * 8:.4g} Gbps"
