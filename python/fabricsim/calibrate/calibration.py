"""From measurements to parameters: which table determines which parameter, and what none determines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from fabricsim._errors import CalibrationError
from fabricsim.calibrate.fit import Fit, Limits, fit
from fabricsim.calibrate.lines import Lines, lines
from fabricsim.calibrate.link import Link, by_buses, by_times, by_windows
from fabricsim.calibrate.measurement import Kind, Measurement
from fabricsim.calibrate.model import LATENCY, OVERHEAD, Framing
from fabricsim.calibrate.stream import Estimate, message_gap, message_time

__all__ = ["Calibration", "Given", "Separation", "calibrate", "merged"]

# One overhead is the time per message in a window, the other one at most that: the middle of once and twice.
_BETWEEN = 1.5

Separation = Literal["jump", "window", "given", "none"]


@dataclass(frozen=True)
class Given:
    """What the user knows. Times are in microseconds."""

    switches: int = 1
    """Switches between the two hosts."""
    switch_latency: float | None = None
    """Of each of the switches."""
    cable_latency: float | None = None
    """Of each of the cables, one more than switches."""
    eager_threshold: int | None = None
    """In bytes; None: found in the measurements."""
    framing: Framing = Framing()
    """Bytes on the wire besides payloads."""

    @property
    def latency(self) -> float | None:
        """Latency of all cables and switches; None if one of them is not given."""
        if self.switch_latency is None or self.cable_latency is None:
            return None
        return self.switches * self.switch_latency + (self.switches + 1) * self.cable_latency


@dataclass(frozen=True)
class Calibration:
    """What the measurements say."""

    measurements: tuple[Measurement, ...]
    """The tables that were read."""
    given: Given
    """What the user knows."""
    latency: dict[int, float]
    """Half round-trip times in microseconds by size: the medians of all files."""
    bandwidth: dict[int, float]
    """Rates of one pair in a window in 10^9 bytes per second by size, likewise."""
    window: int
    """Messages in flight in the measurements of bandwidth."""
    fit: Fit | None
    """None without half round-trip times."""
    lines: Lines | None
    """Half round-trip times as straight lines between jumps; None with too few sizes."""
    link: Estimate | None
    """Bandwidth of the slowest link in bytes per nanosecond."""
    link_source: str
    """What determines the link, or why nothing does."""
    link_doubts: tuple[str, ...]
    """What contradicts this bandwidth; its uncertainty covers it."""
    message_time: Estimate | None
    """Time per small message in a window, in microseconds."""
    gap: Estimate | None
    """Least time between two messages of a NIC, in microseconds."""
    gap_reason: str
    """Why there is no gap."""
    large_handshake: bool
    """Whether the jump at the eager threshold is larger than the network latency can explain."""
    separation: Separation
    """What tells overhead and network latency apart."""
    overhead: Estimate | None
    """Overheads of sender and receiver together, in microseconds; None if they are not told apart."""
    network: Estimate | None
    """All latencies between the NICs, NICs included, in microseconds; likewise."""
    together: Estimate | None
    """The sum of both, which every set of half round-trip times determines."""


def merged(measurements: Sequence[Measurement], kind: Kind) -> dict[int, float]:
    """The median of all tables of one kind, by size."""
    values: dict[int, list[float]] = {}
    for measurement in measurements:
        if measurement.kind == kind:
            for size, value in measurement.values().items():
                values.setdefault(size, []).append(value)
    return {size: median(values[size]) for size in sorted(values)}


def calibrate(measurements: Sequence[Measurement], given: Given | None = None) -> Calibration:
    """Determines the parameters of the model.

    Parameters
    ----------
    measurements
        Tables of all files; several of one kind are repetitions.
    given
        What is known besides.

    Raises
    ------
    CalibrationError
        The tables have nothing to fit, or contradict what is given.
    """
    given = given or Given()
    measurements = tuple(measurements)
    _refuse_zeros(measurements)
    one_pair = [m for m in measurements if m.pairs == 1]
    latency = merged(one_pair, "latency")
    streams = [m for m in one_pair if m.kind in ("bandwidth", "message-rate")]
    streams = [m for m in streams if m.kind == "bandwidth"] or streams
    bandwidth = merged(streams, streams[0].kind) if streams else {}
    window = max((m.window or 1 for m in streams), default=1)
    buses = [m for m in measurements if m.benchmark.startswith("nccl-tests")]
    if not latency and not bandwidth and not buses:
        names = ", ".join(dict.fromkeys(f"{m.benchmark} ({m.file})" for m in measurements))
        raise CalibrationError(
            f"nothing to fit in {names}; expected osu_latency, osu_bw, IMB PingPong, nccl-tests or CSV of "
            "one pair of ranks"
        )
    found = _link(one_pair, latency, bandwidth, window, buses, given)
    link = found.bandwidth
    each = message_time(bandwidth, window, latency) if bandwidth and latency else None
    fitted, unusable, handshake = None, False, False
    if latency and given.latency is not None and given.latency >= min(latency.values()):
        raise CalibrationError(
            f"the given cables and switches take {given.latency:g} us together, but the smallest measured "
            f"half round-trip time is {min(latency.values()):g} us; expected less"
        )
    if latency:
        limits = Limits(
            1 / link.value if link is not None and found.fits_times else None,
            each.value if each else None,
            given.latency or 0.0,
            eager=given.eager_threshold,
            most_gap=found.most_gap,
        )
        fitted = fit(latency, given.framing, limits)
        if fitted.jump and fitted.held & {OVERHEAD, LATENCY}:
            # The jump does not fit what is known besides, so it tells overhead and network latency not apart.
            unusable = True
            handshake = fitted.values[OVERHEAD] <= (each.value if each else 0.0)
            if each is not None:
                limits = replace(limits, overhead=_BETWEEN * each.value)
            elif given.latency is not None:
                limits = replace(limits, exact=True)
            fitted = fit(latency, given.framing, limits)
    gap, reason = message_gap([m for m in measurements if m.kind == "message-rate"], link)
    separation, overhead, network, together = _separate(fitted, unusable, each, given)
    return Calibration(
        measurements,
        given,
        latency,
        bandwidth,
        window,
        fitted,
        lines(latency) if latency else None,
        link,
        found.source,
        found.doubts,
        each,
        gap,
        reason,
        handshake,
        separation,
        overhead,
        network,
        together,
    )


def _refuse_zeros(measurements: Sequence[Measurement]) -> None:
    for measurement in measurements:
        for row in measurement.rows:
            if row.value == 0 and measurement.kind != "collective":
                raise CalibrationError(
                    f"{row.size} B: the value is 0; expected a time or a rate above 0",
                    measurement.file,
                    row.line,
                )


def _link(
    tables: Sequence[Measurement],
    latency: dict[int, float],
    bandwidth: dict[int, float],
    window: int,
    buses: Sequence[Measurement],
    given: Given,
) -> Link:
    """The best source of the link's bandwidth: windows, then half round-trip times, then bus bandwidths."""
    other = by_windows(bandwidth, window, latency, given.framing) if bandwidth else by_buses(buses)
    if bandwidth and other.bandwidth is not None:
        return other
    if not latency:
        return other
    times = by_times(latency, tables, given.framing, given.eager_threshold)
    if times.bandwidth is not None:
        return times
    if other.bandwidth is not None:
        return replace(other, most_gap=times.most_gap)
    return replace(times, source=f"{other.source}; {times.source}") if bandwidth else times


def _separate(
    fitted: Fit | None, unusable: bool, each: Estimate | None, given: Given
) -> tuple[Separation, Estimate | None, Estimate | None, Estimate | None]:
    if fitted is None:
        return "none", None, None, None
    overhead, network = fitted.values[OVERHEAD], fitted.values[LATENCY]
    errors = fitted.errors[OVERHEAD], fitted.errors[LATENCY]
    error = (errors[0] ** 2 + errors[1] ** 2) ** 0.5 if fitted.jump else errors[0]
    together = Estimate(overhead + network, min(error, overhead + network))
    known = given.latency
    if fitted.jump and not unusable:
        return "jump", Estimate(overhead, errors[0]), Estimate(network, errors[1]), together
    if each is not None:
        half = Estimate(min(_BETWEEN * each.value, together.value - (known or 0.0)), each.value / 2)
        return "window", half, Estimate(together.value - half.value, half.error), together
    if known is not None:
        return "given", Estimate(together.value - known, together.error), Estimate(known, 0.0), together
    return "none", None, None, together
