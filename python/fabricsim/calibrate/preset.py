"""The preset: keys of ``[mpi]`` and ``[network]`` that the measurements determine, and what they do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fabricsim import _core
from fabricsim.calibrate.calibration import Calibration
from fabricsim.calibrate.checks import CalibrationWarning
from fabricsim.calibrate.model import COPY, Framing
from fabricsim.calibrate.stream import Estimate

__all__ = ["Entry", "Missing", "Preset", "preset", "to_toml"]


@dataclass(frozen=True)
class Entry:
    """A key with its value."""

    key: str
    """Of an experiment, in dots."""
    value: str
    """As an experiment writes it."""
    error: str
    """Its uncertainty, or "given"."""
    source: str
    """What determines it."""


@dataclass(frozen=True)
class Missing:
    """A key, or a property, that the measurements do not determine."""

    key: str
    """Of an experiment, in dots, or the name of the property."""
    reason: str
    """Why the measurements do not determine it."""


@dataclass(frozen=True)
class Preset:
    """What is known and what is not."""

    entries: tuple[Entry, ...]
    """The keys with a value."""
    missing: tuple[Missing, ...]
    """The keys without one."""

    def to_dict(self) -> dict[str, Any]:
        """Nested tables, as `fabricsim.run` takes them in `set`."""
        tables: dict[str, Any] = {}
        for entry in self.entries:
            *path, last = entry.key.split(".")
            table = tables
            for name in path:
                table = table.setdefault(name, {})
            table[last] = entry.value
        return tables

    @property
    def complete(self) -> bool:
        """Whether a simulation of the measured hosts needs no other value of the network and the library."""
        keys = {entry.key for entry in self.entries}
        return {"mpi.send_overhead", "network.link.bandwidth", "network.link.latency"} <= keys


def _time(us: float) -> str:
    """Whole picoseconds, written in nanoseconds."""
    return f"{max(0.0, round(us * 1e6) / 1e3):.3f}".rstrip("0").rstrip(".") + " ns"


def _rate(bytes_per_ns: float) -> str:
    """Four digits and one more, as measurements have: whole Mbit/s."""
    return f"{round(bytes_per_ns * 8e3)} Mbps"


def _within(estimate: Estimate, scale: float = 1.0) -> str:
    return f"+- {_time(estimate.error * scale)}"


def _percent(estimate: Estimate) -> str:
    return f"+- {100 * estimate.error / estimate.value:.2g} %"


def preset(calibration: Calibration) -> Preset:
    """The entries and what is missing."""
    entries: list[Entry] = []
    missing: list[Missing] = []
    _overheads(calibration, entries, missing)
    _thresholds(calibration, entries, missing)
    _copies(calibration, entries, missing)
    if calibration.gap is not None:
        entries.append(
            Entry(
                "mpi.nic_gap",
                _time(calibration.gap.value),
                _within(calibration.gap),
                "message rate of many pairs",
            )
        )
    else:
        missing.append(Missing("mpi.nic_gap", calibration.gap_reason))
    _framing(calibration.given.framing, entries)
    if calibration.link is not None:
        entries.append(
            Entry(
                "network.link.bandwidth",
                _rate(calibration.link.value),
                _percent(calibration.link),
                f"{calibration.link_source}; slowest link of the path, taken for all",
            )
        )
    else:
        missing.append(Missing("network.link.bandwidth", calibration.link_source))
    _network(calibration, entries, missing)
    return Preset(tuple(entries), tuple(missing))


_SOURCES = {
    "jump": "jump of the time at the eager threshold, which is two network latencies",
    "window": "time per message in a window: the larger overhead; the smaller is between nothing and that",
    "given": "latency of small messages less the latencies given",
}


def _overheads(calibration: Calibration, entries: list[Entry], missing: list[Missing]) -> None:
    overhead, each = calibration.overhead, calibration.message_time
    if overhead is None:
        if calibration.together is None:
            why = "needs half round-trip times (osu_latency, IMB PingPong)"
        else:
            why = (
                f"with the network latency they are {_time(calibration.together.value)}; nothing tells the "
                "two apart: no usable jump at an eager threshold, no window of small messages (osu_bw), no "
                "--switch-latency and --cable-latency"
            )
        missing.append(Missing("mpi.send_overhead, mpi.receive_overhead", why))
        return
    source = _SOURCES[calibration.separation]
    if calibration.separation == "given":
        source += "; NIC pipelines are part of it"
    larger = None
    if each is not None and overhead.value / 2 < each.value <= overhead.value:
        larger = each.value
    send = overhead.value / 2 if larger is None else overhead.value - larger
    receive = overhead.value - send
    error = _within(overhead, 0.5 if larger is None else 1.0)
    entries.append(Entry("mpi.send_overhead", _time(send), error, source))
    entries.append(Entry("mpi.receive_overhead", _time(receive), error, "sum of both less the send overhead"))
    missing.append(
        Missing(
            "division of the overhead between sender and receiver",
            f"times determine the sum, {_time(overhead.value)} {_within(overhead)}; "
            + (
                "it is divided evenly"
                if larger is None
                else "windows determine the larger one, which is given to the receiver"
            ),
        )
    )


def _thresholds(calibration: Calibration, entries: list[Entry], missing: list[Missing]) -> None:
    fitted = calibration.fit
    if fitted is None:
        missing.append(Missing("mpi.eager_threshold", "needs half round-trip times"))
        return
    found = {change.name: change for change in fitted.changes}
    known = calibration.given.eager_threshold
    if known is not None:
        entries.append(Entry("mpi.eager_threshold", f"{known} B", "given", "--eager-threshold"))
    elif "eager" in found:
        change = found["eager"]
        entries.append(
            Entry(
                "mpi.eager_threshold",
                f"{change.last} B",
                f"below {change.first} B",
                f"jump of the time; gain {100 * change.gain:.0f} %",
            )
        )
    elif fitted.sizes[-1] >= 64 * 1024:
        entries.append(
            Entry(
                "mpi.eager_threshold",
                f"{fitted.sizes[-1]} B",
                "at least",
                "no jump up to the largest measured size",
            )
        )
    else:
        missing.append(Missing("mpi.eager_threshold", f"no jump up to {fitted.sizes[-1]} B"))
    if "short" in found:
        change = found["short"]
        entries.append(
            Entry(
                "mpi.short_threshold",
                f"{change.last} B",
                f"below {change.first} B",
                f"change of slope; gain {100 * change.gain:.0f} %",
            )
        )
    missing.append(
        Missing("mpi.copy_threshold", "not fitted: a fourth range; the simulator's default is none")
    )


def _copies(calibration: Calibration, entries: list[Entry], missing: list[Missing]) -> None:
    fitted = calibration.fit
    name = "mpi.send_copy_bandwidth, mpi.receive_copy_bandwidth"
    if fitted is None or fitted.values[COPY] <= 0:
        why = (
            "needs half round-trip times"
            if fitted is None
            else "the slopes of the ranges do not differ by a copy"
        )
        missing.append(Missing(name, why))
        return
    copy = Estimate(fitted.values[COPY], fitted.errors[COPY])
    rate = _rate(2 / copy.value)
    for key in ("mpi.send_copy_bandwidth", "mpi.receive_copy_bandwidth"):
        entries.append(Entry(key, rate, _percent(copy), "slope of the eager range less that of the link"))
    missing.append(
        Missing(
            "division of the copies between sender and receiver",
            f"times determine both together, {copy.value:.3g} ns per byte; they are divided evenly",
        )
    )


def _framing(framing: Framing, entries: list[Entry]) -> None:
    normal = Framing()
    for key, value, default in (
        ("mpi.header_size", framing.header, normal.header),
        ("mpi.control_size", framing.control, normal.control),
        ("network.packet", framing.packet, normal.packet),
        ("network.packet_header", framing.packet_header, normal.packet_header),
    ):
        if value != default:
            entries.append(Entry(key, f"{value} B", "given", "the fit takes it as given"))


def _network(calibration: Calibration, entries: list[Entry], missing: list[Missing]) -> None:
    given, network = calibration.given, calibration.network
    keys = (
        "network.link.latency, network.router.delay, network.nic_injection_delay, network.nic_reception_delay"
    )
    if given.cable_latency is None or given.switch_latency is None or given.latency is None:
        if network is None:
            why = "no network latency is determined; --switch-latency and --cable-latency are not given"
        else:
            why = (
                f"cables, switches and NICs together take {_time(network.value)} {_within(network)}; give "
                "--switch-latency and --cable-latency to divide it"
            )
        missing.append(Missing(keys, why))
        return
    entries.append(Entry("network.link.latency", _time(given.cable_latency), "given", "--cable-latency"))
    entries.append(Entry("network.router.delay", _time(given.switch_latency), "given", "--switch-latency"))
    nic = "network.nic_injection_delay, network.nic_reception_delay"
    if network is None:
        missing.append(Missing(nic, "needs half round-trip times"))
        return
    rest = Estimate(max(0.0, network.value - given.latency), network.error)
    if calibration.separation == "given":
        missing.append(Missing(nic, "nothing tells them apart from the overheads, which contain them"))
        return
    for key in ("network.nic_injection_delay", "network.nic_reception_delay"):
        entries.append(
            Entry(
                key,
                _time(rest.value / 2),
                _within(rest, 0.5),
                "network latency less the latencies given, divided evenly",
            )
        )


def to_toml(found: Preset, calibration: Calibration, warned: Sequence[CalibrationWarning], today: str) -> str:
    """The preset as text: comments with sources, then the tables."""
    lines = [
        f"# FabricSim preset, by `fabricsim calibrate` {_core.__version__} on {today}.",
        "# fabricsim run EXPERIMENT.toml --set-file PRESET.toml, or from Python:",
        '#   fabricsim.run("experiment.toml", set=tomllib.load(open("PRESET.toml", "rb")))',
        "#",
        "# Measurements:",
    ]
    for table in calibration.measurements:
        lines.append(f"# - {table.file}: {table.benchmark}, {len(table.rows)} sizes")
        conditions = dict(table.conditions)
        conditions.setdefault("date", "not in the file")
        lines += [f"#     {name}: {text}" for name, text in sorted(conditions.items())]
    fitted = calibration.fit
    if fitted is not None:
        lines.append(
            f"# Fit: residuals {100 * fitted.mean_residual:.1f} % on average, at most "
            f"{100 * max(map(abs, fitted.residuals)):.1f} %."
        )
    lines += [f"# Warning {warning}" for warning in warned]
    lines += ["#", "# Not determined:", *(f"# - {one.key}: {one.reason}" for one in found.missing)]
    tables: dict[str, list[Entry]] = {}
    for entry in found.entries:
        tables.setdefault(entry.key.rpartition(".")[0], []).append(entry)
    for name, entries in sorted(tables.items()):
        lines += ["", f"[{name}]"]
        for entry in entries:
            lines.append(
                f"# {entry.error}: {entry.source}" if entry.error != "given" else f"# given: {entry.source}"
            )
            lines.append(f'{entry.key.rpartition(".")[2]} = "{entry.value}"')
    return "\n".join(_one_line(line) for line in lines) + "\n"


def _one_line(text: str) -> str:
    """Names of files and headers may contain anything; TOML forbids control characters in comments."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
