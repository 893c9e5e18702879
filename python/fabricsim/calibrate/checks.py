"""Warnings: reasons not to take measurements, or the fit, as they are. docs/calibrate.md lists them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from fabricsim.calibrate.calibration import Calibration
from fabricsim.calibrate.measurement import KINDS, Kind, Measurement, Row
from fabricsim.calibrate.simulation import Simulated

__all__ = ["WARNINGS", "CalibrationWarning", "warnings"]

# No NIC and switch reach less between processes of two hosts (shared/machines: 1.0 us are the best
# published).
LEAST_LATENCY_US = 0.6
# The fastest port of a host is 800 Gbit/s.
MOST_BANDWIDTH = 100.0
TCP_LATENCY_US = 8.0
FALL = 0.15
NOT_MONOTONE = 0.05
DISAGREE = 0.20
CONTRADICT = 0.15
LEAST_SIZES = 12
LARGE = 1 << 20
HALF_DUPLEX = 1.5
MISFIT_MEAN, MISFIT_MOST = 0.10, 0.25
WINDOW_DIFFERS = 0.30

WARNINGS = (
    "inside-host",
    "tcp",
    "falling-bandwidth",
    "falling-latency",
    "files-disagree",
    "few-sizes",
    "slope-contradicts-window",
    "bandwidth-in-doubt",
    "half-duplex",
    "large-handshake",
    "thresholds-differ",
    "poor-fit",
    "window-differs",
)
_RATES: tuple[Kind, ...] = ("bandwidth", "bidirectional", "message-rate")


@dataclass(frozen=True)
class CalibrationWarning:
    """One reason."""

    name: str
    """One of `WARNINGS`."""
    text: str
    """The reason, as a sentence."""

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"


def warnings(calibration: Calibration, simulated: Simulated | None = None) -> list[CalibrationWarning]:
    """All warnings, those of the data before those of the fit and of a simulation with the preset."""
    found: list[CalibrationWarning] = []
    for name, texts in (
        ("inside-host", _inside_host(calibration)),
        ("tcp", _tcp(calibration)),
        ("falling-bandwidth", _falling_bandwidth(calibration)),
        ("falling-latency", _falling_latency(calibration)),
        ("files-disagree", _disagree(calibration.measurements)),
        ("few-sizes", _few_sizes(calibration)),
        ("slope-contradicts-window", _contradict(calibration)),
        ("bandwidth-in-doubt", calibration.link_doubts),
        ("half-duplex", _half_duplex(calibration)),
        ("large-handshake", _large_handshake(calibration)),
        ("thresholds-differ", _thresholds_differ(calibration)),
        ("poor-fit", _poor_fit(calibration)),
        ("window-differs", _window_differs(calibration, simulated)),
    ):
        found += [CalibrationWarning(name, text) for text in texts]
    return found


def _of(calibration: Calibration, *kinds: Kind) -> Iterable[Measurement]:
    return (measurement for measurement in calibration.measurements if measurement.kind in kinds)


def _inside_host(calibration: Calibration) -> Iterable[str]:
    for table in _of(calibration, "latency"):
        least = min(table.rows, key=lambda row: row.value)
        if least.value < LEAST_LATENCY_US:
            yield (
                f"{table.file}:{least.line}: {least.value:g} us for {least.size} B is less than any NIC "
                f"reaches ({LEAST_LATENCY_US} us): were both ranks on one host?"
            )
    for table in _of(calibration, "bandwidth"):
        most = max(table.rows, key=lambda row: row.value)
        if most.value > MOST_BANDWIDTH:
            yield (
                f"{table.file}:{most.line}: {most.value:.4g} GB/s for {most.size} B is more than any link of "
                f"a host has ({MOST_BANDWIDTH:g} GB/s): were both ranks on one host?"
            )


def _tcp(calibration: Calibration) -> Iterable[str]:
    for table in _of(calibration, "latency"):
        least = min(table.rows, key=lambda row: row.value)
        if least.value > TCP_LATENCY_US:
            yield (
                f"{table.file}: the smallest latency is {least.value:g} us, which fits TCP rather than RDMA "
                f"(below {TCP_LATENCY_US:g} us): check the transport that the library chose"
            )


def _falling_bandwidth(calibration: Calibration) -> Iterable[str]:
    for table in _of(calibration, *_RATES):
        most: Row | None = None
        worst: tuple[Row, Row] | None = None
        for row in sorted(table.rows, key=lambda row: row.size):
            if most is None or row.value > most.value:
                most = row
            elif worst is None or row.value * worst[0].value < worst[1].value * most.value:
                worst = most, row
        if worst is not None and worst[1].value < (1 - FALL) * worst[0].value:
            before, after = worst
            yield (
                f"{table.file}:{after.line}: {after.value:.4g} GB/s for {after.size} B, but "
                f"{before.value:.4g} GB/s for {before.size} B: the library or the host is not tuned, or "
                "other jobs interfered"
            )


def _falling_latency(calibration: Calibration) -> Iterable[str]:
    for table in _of(calibration, "latency"):
        rows = sorted(table.rows, key=lambda row: row.size)
        falls = [(a, b) for a, b in pairwise(rows) if b.value < (1 - NOT_MONOTONE) * a.value]
        if falls:
            before, after = min(falls, key=lambda pair: pair[1].value / pair[0].value)
            yield (
                f"{table.file}:{after.line}: {after.value:g} us for {after.size} B, but {before.value:g} us "
                f"for {before.size} B ({len(falls)} such {'size' if len(falls) == 1 else 'sizes'}): expected "
                "times that do not fall with the size; repeat the measurement"
            )


def _disagree(measurements: Iterable[Measurement]) -> Iterable[str]:
    groups: dict[tuple[Kind, int], list[Measurement]] = {}
    for table in measurements:
        if table.kind != "collective":
            groups.setdefault((table.kind, table.pairs), []).append(table)
    for (kind, _), tables in groups.items():
        worst: tuple[float, int, Measurement, Measurement] | None = None
        for number, one in enumerate(tables):
            values = one.values()
            for other in tables[number + 1 :]:
                for size, value in other.values().items():
                    if size in values:
                        ratio = max(value / values[size], values[size] / value)
                        if worst is None or ratio > worst[0]:
                            worst = ratio, size, one, other
        if worst is not None and worst[0] > 1 + DISAGREE:
            ratio, size, one, other = worst
            yield (
                f"{one.file} ({one.benchmark}) and {other.file} ({other.benchmark}) differ by "
                f"{100 * (ratio - 1):.0f} % in the {KINDS[kind]} for {size} B: other conditions, or other "
                "jobs"
            )


def _few_sizes(calibration: Calibration) -> Iterable[str]:
    for what, values in (("half round-trip times", calibration.latency), ("rates", calibration.bandwidth)):
        if not values:
            continue
        if len(values) < LEAST_SIZES:
            yield f"{what} of {len(values)} sizes; expected at least {LEAST_SIZES}: thresholds are coarse"
        if max(values) < LARGE:
            yield f"{what} end at {max(values)} B; expected at least {LARGE} B for the bandwidth"
        if min(values) > 64:
            yield f"{what} begin at {min(values)} B; expected at most 64 B for the overheads"


def _slope_bandwidth(latency: Mapping[int, float]) -> float | None:
    """Bandwidth between the two largest sizes of half round-trip times."""
    large = sorted(size for size in latency if size >= LARGE // 2)
    if len(large) < 2:
        return None
    first, last = large[0], large[-1]
    time = latency[last] - latency[first]
    return (last - first) / time * 1e-3 if time > 0 else None


def _contradict(calibration: Calibration) -> Iterable[str]:
    if not calibration.bandwidth or not calibration.latency or calibration.link is None:
        return
    slope = _slope_bandwidth(calibration.latency)
    if slope is not None and abs(slope / calibration.link.value - 1) > CONTRADICT:
        yield (
            f"the slope of the half round-trip times above {LARGE // 2} B is {slope:.4g} GB/s, the plateau "
            f"of the windows {calibration.link.value:.4g} GB/s: single large messages do not fill the link, "
            "or the files belong to different conditions; the plateau is used"
        )


def _half_duplex(calibration: Calibration) -> Iterable[str]:
    both = [
        row.value
        for table in _of(calibration, "bidirectional")
        for row in table.rows
        if row.size >= LARGE // 4
    ]
    if both and calibration.link is not None and calibration.bandwidth:
        ratio = max(both) / calibration.link.value
        if ratio < HALF_DUPLEX:
            yield (
                f"both directions together reach {max(both):.4g} GB/s, {ratio:.2f} times one direction: the "
                "host or its bus is the limit, and the model, whose links have full rate in each direction, "
                "is too fast there"
            )


def _large_handshake(calibration: Calibration) -> Iterable[str]:
    fitted = calibration.fit
    if fitted is not None and calibration.large_handshake:
        yield (
            f"the handshake after {fitted.thresholds.eager} B takes longer than two network latencies, as "
            "far as these can be: the library spends CPU time in it, which the model does not have; times "
            "of the sizes after it are too short"
        )


def _thresholds_differ(calibration: Calibration) -> Iterable[str]:
    fitted, free = calibration.fit, calibration.lines
    if fitted is None or free is None or calibration.given.eager_threshold is not None:
        return
    places = [change.last for change in free.breaks]
    for change in fitted.changes:
        if change.name == "eager" and not any(0.5 <= place / max(1, change.last) <= 2 for place in places):
            found = " and ".join(f"{place} B" for place in places) or "no size"
            yield (
                f"the model fits best with an eager threshold of {change.last} B, but straight lines change "
                f"at {found}: give the library's own with --eager-threshold if you know it"
            )


def _poor_fit(calibration: Calibration) -> Iterable[str]:
    fitted = calibration.fit
    if fitted is None:
        return
    most = max(range(len(fitted.sizes)), key=lambda at: abs(fitted.residuals[at]))
    if fitted.mean_residual > MISFIT_MEAN or abs(fitted.residuals[most]) > MISFIT_MOST:
        yield (
            f"the residuals are {100 * fitted.mean_residual:.1f} % on average and "
            f"{100 * fitted.residuals[most]:+.0f} % at {fitted.sizes[most]} B: the library does something "
            "that the model does not have"
        )


def _window_differs(calibration: Calibration, simulated: Simulated | None) -> Iterable[str]:
    if simulated is None:
        return
    ratios = {size: rate / calibration.bandwidth[size] - 1 for size, rate in simulated.bandwidth.items()}
    if ratios:
        size = max(ratios, key=lambda size: abs(ratios[size]))
        if abs(ratios[size]) > WINDOW_DIFFERS:
            yield (
                f"windows of messages of {size} B are {100 * ratios[size]:+.0f} % off in a simulation with "
                "the preset: the library overlaps, or does not overlap, what the model does with the CPU"
            )
