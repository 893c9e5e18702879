"""From measurements to parameters: which table determines which parameter, and what none determines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from fabricsim._errors import CalibrationError
from fabricsim.calibrate.fit import Fit, Limits, fit
from fabricsim.calibrate.lines import Lines, lines
from fabricsim.calibrate.measurement import Kind, Measurement
from fabricsim.calibrate.model import GAP, LATENCY, OVERHEAD, Framing
from fabricsim.calibrate.stream import Estimate, bus_bandwidth, message_gap, message_time, plateau

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
    cable_latency: float | None = None
    """Of each of the cables, one more than switches."""
    eager_threshold: int | None = None
    framing: Framing = Framing()

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
    given: Given
    latency: dict[int, float]
    """Half round-trip times in microseconds by size: the medians of all files."""
    bandwidth: dict[int, float]
    """Rates of one pair in a window in 10^9 bytes per second by size, likewise."""
    window: int
    fit: Fit | None
    """None without half round-trip times."""
    lines: Lines | None
    link: Estimate | None
    """Bandwidth of the slowest link in bytes per nanosecond."""
    link_source: str
    """What determines the link, or why nothing does."""
    message_time: Estimate | None
    """Time per small message in a window, in microseconds."""
    gap: Estimate | None
    """Least time between two messages of a NIC, in microseconds."""
    gap_reason: str
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
    link, source = _link(bandwidth, window, latency, buses, given.framing)
    each = message_time(bandwidth, window, latency) if bandwidth and latency else None
    fitted, unusable, handshake = None, False, False
    if latency and given.latency is not None and given.latency >= min(latency.values()):
        raise CalibrationError(
            f"the given cables and switches take {given.latency:g} us together, but the smallest measured "
            f"half round-trip time is {min(latency.values()):g} us; expected less"
        )
    if latency:
        limits = Limits(
            1 / link.value if link is not None and bandwidth else None,
            each.value if each else None,
            given.latency or 0.0,
            eager=given.eager_threshold,
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
        if link is None or not bandwidth:
            link, source = _slope(fitted, link, source)
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
        source,
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
    bandwidth: dict[int, float],
    window: int,
    latency: dict[int, float],
    buses: Sequence[Measurement],
    framing: Framing,
) -> tuple[Estimate | None, str]:
    """The link's bandwidth by windows or bus bandwidths."""
    if bandwidth:
        found = plateau(bandwidth, framing, window, latency)
        if found is not None:
            return found, "plateau of the windows of messages"
        return None, "fewer than three sizes of at least 256 KiB in a window"
    alone = [(m, bus_bandwidth(m)) for m in buses if m.ranks_per_host == 1]
    found = max((bus for _, bus in alone if bus is not None), key=lambda bus: bus.value, default=None)
    if found is not None:
        return found, "largest plateau of bus bandwidths of nccl-tests with one rank on each host"
    if buses:
        return None, (
            "nccl-tests with several ranks on a host, or an unknown number: their bus bandwidth mixes "
            "several NICs with links inside hosts"
            if not alone
            else "fewer than three buffers of at least 64 MiB"
        )
    return None, "no windows of messages"


def _slope(fitted: Fit, link: Estimate | None, source: str) -> tuple[Estimate | None, str]:
    """The link's bandwidth by the slope of the half round-trip times, if they reach large sizes."""
    gap = fitted.values[GAP]
    large = [size for size in fitted.sizes if size >= 64 * 1024]
    if gap <= 0 or len(large) < 3:
        return link, f"{source}; fewer than three half round-trip times of at least 64 KiB"
    return Estimate(1 / gap, fitted.errors[GAP] / gap**2), "slope of the half round-trip times"


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
