"""What the command prints: the data, the parameters, the fit over size, the warnings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fabricsim.calibrate.calibration import Calibration
from fabricsim.calibrate.checks import CalibrationWarning
from fabricsim.calibrate.measurement import KINDS
from fabricsim.calibrate.preset import Preset
from fabricsim.calibrate.simulation import Simulated

__all__ = ["as_json", "text"]


def text(
    calibration: Calibration, found: Preset, warned: Sequence[CalibrationWarning], simulated: Simulated | None
) -> str:
    """The whole report, with a line at its end."""
    parts = [
        _measurements(calibration),
        _entries(found),
        _missing(found),
        _changes(calibration),
        _latency(calibration, simulated),
        _bandwidth(calibration, simulated),
        "\n".join(f"warning  {warning}" for warning in warned),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _measurements(calibration: Calibration) -> str:
    lines = []
    for table in calibration.measurements:
        pairs = f", {table.pairs} pairs" if table.pairs > 1 else ""
        use = KINDS[table.kind]
        if table.kind == "collective":
            bus = table.benchmark.startswith("nccl-tests")
            use = "collective: bus bandwidth only" if bus else "recognised, not fitted"
        lines.append(f"read     {table.file}: {table.benchmark}, {len(table.rows)} sizes{pairs} ({use})")
    return "\n".join(lines)


def _entries(found: Preset) -> str:
    return _table(
        ["key", "value", "uncertainty", "determined by"],
        [[entry.key, entry.value, entry.error, entry.source] for entry in found.entries],
        "<<<<",
    )


def _missing(found: Preset) -> str:
    return "\n".join(["not determined", *(f"  {one.key}: {one.reason}" for one in found.missing)])


def _changes(calibration: Calibration) -> str:
    fitted, free = calibration.fit, calibration.lines
    if fitted is None:
        return ""
    lines = [f"fit of the model: residuals {100 * fitted.mean_residual:.1f} % on average"]
    for change in fitted.changes:
        lines.append(
            f"  {change.name} threshold between {change.last} and {change.first} B: {100 * change.gain:.0f} "
            "% less residual than without"
        )
    if free is not None:
        lines.append(f"straight lines without a model: residuals {100 * free.mean_residual:.1f} % on average")
        for one in free.breaks:
            lines.append(
                f"  change between {one.last} and {one.first} B: {100 * one.gain:.0f} % less residual than "
                "without"
            )
    return "\n".join(lines)


def _latency(calibration: Calibration, simulated: Simulated | None) -> str:
    fitted = calibration.fit
    if fitted is None:
        return ""
    head = ["bytes", "protocol", "measured us", "fit us", "residual"]
    if simulated is not None:
        head += ["simulated us", "difference"]
    rows = []
    for size, measured, predicted, residual in zip(
        fitted.sizes, fitted.measured, fitted.predicted, fitted.residuals, strict=True
    ):
        row = [str(size), fitted.thresholds.protocol(size).value, _digits(measured), _digits(predicted)]
        row.append(_percent(residual))
        if simulated is not None:
            again = simulated.latency[size]
            row += [_digits(again), _percent(again / measured - 1)]
        rows.append(row)
    return "half round-trip time\n" + _table(head, rows, "><" + ">" * (len(head) - 2))


def _bandwidth(calibration: Calibration, simulated: Simulated | None) -> str:
    if simulated is None or not simulated.bandwidth:
        return ""
    rows = [
        [
            str(size),
            _digits(calibration.bandwidth[size]),
            _digits(rate),
            _percent(rate / calibration.bandwidth[size] - 1),
        ]
        for size, rate in simulated.bandwidth.items()
    ]
    head = ["bytes", "measured GB/s", "simulated GB/s", "difference"]
    title = f"bandwidth of a window of {calibration.window} messages; only its ends are used for the fit"
    return f"{title}\n" + _table(head, rows, ">>>>")


def _digits(value: float) -> str:
    return f"{value:.2f}" if value >= 10 else f"{value:.3f}" if value >= 0.1 else f"{value:.4f}"


def _percent(ratio: float) -> str:
    return f"{100 * ratio:+.1f} %"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], align: str) -> str:
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(head))]
    return "\n".join(
        "  ".join(
            f"{cell:{side}{width}}" for cell, side, width in zip(line, align, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def as_json(
    calibration: Calibration, found: Preset, warned: Sequence[CalibrationWarning], simulated: Simulated | None
) -> dict[str, Any]:
    """The report as JSON: preset, what is missing, warnings, and the fit by size."""
    fitted = calibration.fit
    points: list[dict[str, Any]] = []
    if fitted is not None:
        for size, measured, predicted in zip(fitted.sizes, fitted.measured, fitted.predicted, strict=True):
            point: dict[str, Any] = {"bytes": size, "protocol": fitted.thresholds.protocol(size).value}
            point |= {"measured_us": measured, "fit_us": predicted}
            if simulated is not None:
                point["simulated_us"] = simulated.latency[size]
            points.append(point)
    return {
        "preset": found.to_dict(),
        "entries": [
            {"key": one.key, "value": one.value, "uncertainty": one.error, "source": one.source}
            for one in found.entries
        ],
        "missing": [{"key": one.key, "reason": one.reason} for one in found.missing],
        "warnings": [{"name": one.name, "text": one.text} for one in warned],
        "latency": points,
    }
