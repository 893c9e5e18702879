"""The figure: times over size with the fit, and residuals below. Needs matplotlib: ``fabricsim[plot]``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fabricsim._errors import CalibrationError
from fabricsim.calibrate.calibration import Calibration
from fabricsim.calibrate.simulation import Simulated
from fabricsim.plot.chart import COLOURS, GREY, GRID

__all__ = ["figure", "need_plots", "write"]


def need_plots() -> None:
    """Raises `CalibrationError` if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as error:
        raise CalibrationError(
            f"--figure needs the package {error.name}: pip install 'fabricsim[plot]'"
        ) from None


def figure(calibration: Calibration, simulated: Simulated | None) -> Any:
    """The figure of matplotlib; there must be a fit."""
    from fabricsim.plot.drawing_matplotlib import Paper

    fitted = calibration.fit
    if fitted is None:
        raise CalibrationError("no figure without half round-trip times (osu_latency, IMB PingPong)")
    # Size 0 has no place on a logarithmic axis: it stands at half a byte.
    places = [max(size, 0.5) for size in fitted.sizes]
    paper = Paper(figsize=(6.4, 6.0), layout="constrained")
    times, residuals = paper.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": [2, 1]})
    for table in calibration.measurements:
        if table.kind == "latency" and table.pairs == 1:
            sizes = [max(row.size, 0.5) for row in table.rows]
            times.plot(sizes, [row.value for row in table.rows], "o", color=GREY, markersize=4)
    times.plot([], [], "o", color=GREY, markersize=4, label="measured")
    times.plot(places, fitted.predicted, "-", color=COLOURS[0], label="fit")
    residuals.plot(places, [100 * one for one in fitted.residuals], "-o", color=COLOURS[0], markersize=3)
    if simulated is not None:
        again = [simulated.latency[size] for size in fitted.sizes]
        times.plot(places, again, linestyle=(0, (5, 2)), color=COLOURS[5], label="simulated with the preset")
        off = [100 * (one / measured - 1) for one, measured in zip(again, fitted.measured, strict=True)]
        residuals.plot(places, off, linestyle=(0, (5, 2)), color=COLOURS[5])
    for axes in (times, residuals):
        axes.grid(True, color=GRID, linewidth=0.8)
        axes.set_axisbelow(True)
        for change in fitted.changes:
            axes.axvline((change.last * change.first) ** 0.5, color=COLOURS[2], linewidth=1, linestyle=":")
    for change in fitted.changes:
        at = (change.last * change.first) ** 0.5
        times.annotate(
            f"{change.name} threshold", (at, 1), xycoords=("data", "axes fraction"), fontsize="small"
        )
    times.set(xscale="log", yscale="log", ylabel="half round-trip time (us)")
    times.set_xscale("log", base=2)
    residuals.axhline(0, color=GREY, linewidth=1)
    residuals.set(xlabel="payload (bytes; 0 at the left edge)", ylabel="residual (%)")
    times.legend(frameon=False)
    return paper


def write(calibration: Calibration, simulated: Simulated | None, file: Path) -> None:
    """Writes the figure; the name's ending gives the format."""
    paper = figure(calibration, simulated)
    if file.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise CalibrationError(
            f"--figure: expected a file that ends in .png, .svg or .pdf; found {file.name!r}"
        )
    paper.savefig(file, dpi=120)
