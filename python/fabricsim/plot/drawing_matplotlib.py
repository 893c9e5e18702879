"""Charts drawn by matplotlib, for papers. Imported with the first such figure.

Nothing global changes: fonts and sizes are those of the caller's ``rcParams``, and pyplot does not know the
figures, so that nothing has to be closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from fabricsim.plot.chart import GRID, LOAD, Arrows, Axis, Bars, Chart, Curve, Heat, Points, Spans, colour

__all__ = ["Paper", "draw"]

_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (5, 2, 1, 2)), (0, (1, 1.5)))
_MOST_LEGEND = 6


class Paper(Figure):
    """A figure that a notebook shows without pyplot."""

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format="png", dpi=120)
        return buffer.getvalue()


def draw(charts: Sequence[Chart]) -> Paper:
    """Charts one below the other; several share one time axis."""
    heights = [chart.height for chart in charts]
    figure = Paper(figsize=(6.4, 0.5 + 3.3 * sum(heights)), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(
        len(charts), 1, sharex=len(charts) > 1, squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    for chart, axes in zip(charts, grid[:, 0], strict=True):
        _chart(axes, chart)
    for axes in grid[:-1, 0]:
        axes.set_xlabel("")
    return figure


def _chart(axes: Axes, chart: Chart) -> None:
    axes.set_title(_text(chart.title), fontsize="medium")
    axes.grid(True, color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    for layer in chart.layers:
        match layer:
            case Curve():
                _curve(axes, layer)
            case Bars():
                axes.bar(
                    layer.x,
                    layer.y,
                    width=layer.width,
                    bottom=layer.base if layer.base is not None else 0,
                    color=layer.colour,
                    hatch="///" if layer.is_hatched else None,
                    edgecolor="white",
                    linewidth=0.4,
                    label=_text(layer.name),
                )
            case Points():
                axes.plot(
                    layer.x,
                    layer.y,
                    "D",
                    color=layer.colour,
                    markersize=5,
                    clip_on=False,
                    label=_text(layer.name),
                )
            case Heat():
                _heat(axes, layer)
            case Spans():
                _spans(axes, layer)
            case Arrows():
                _arrows(axes, layer)
    _axis(axes, chart.x, "x")
    _axis(axes, chart.y, "y")
    names = axes.get_legend_handles_labels()[1]
    if chart.legend and names:
        # A long legend stands beside the axes, so that it covers nothing.
        full = any(
            isinstance(layer, Spans) or (isinstance(layer, Bars) and layer.base) for layer in chart.layers
        )
        if full or len(names) > _MOST_LEGEND:
            axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize="small", frameon=False)
        else:
            axes.legend(loc="best", fontsize="small", framealpha=0.9)


def _curve(axes: Axes, curve: Curve) -> None:
    axes.plot(
        curve.x,
        curve.y,
        color=colour(curve.number),
        linestyle=_DASHES[curve.number % len(_DASHES)],
        linewidth=1.8,
        drawstyle="steps-post" if curve.steps else "default",
        label=_text(curve.name),
    )


def _heat(axes: Axes, heat: Heat) -> None:
    values = [[float("nan") if value is None else value for value in row] for row in heat.values]
    axes.grid(False)
    image = axes.imshow(
        values,
        aspect="auto",
        origin="lower",
        extent=(heat.begin, heat.end, -0.5, len(heat.rows) - 0.5),
        cmap=LinearSegmentedColormap.from_list("load", LOAD),
        vmin=heat.low,
        vmax=heat.high,
        interpolation="nearest",
    )
    axes.figure.colorbar(image, ax=axes, label=_text(heat.label))
    # At most as many names as are readable.
    step = -(-len(heat.rows) // 24)
    places = range(0, len(heat.rows), step)
    axes.set_yticks(list(places), [_text(heat.rows[place]) for place in places], fontsize="x-small")


def _spans(axes: Axes, spans: Spans) -> None:
    # One collection, because tens of thousands of bars would each be a patch.
    bars = [
        [(begin, lane - 0.41), (end, lane - 0.41), (end, lane + 0.41), (begin, lane + 0.41)]
        for lane, begin, end in zip(spans.lanes, spans.begins, spans.ends, strict=True)
    ]
    axes.add_collection(
        PolyCollection(bars, facecolors=spans.colour, edgecolors="none", label=_text(spans.name))
    )


def _arrows(axes: Axes, arrows: Arrows) -> None:
    ends = zip(arrows.from_x, arrows.from_y, arrows.to_x, arrows.to_y, strict=True)
    for number, (x, y, to_x, to_y) in enumerate(ends):
        axes.annotate(
            "",
            xy=(to_x, to_y),
            xytext=(x, y),
            arrowprops={
                "arrowstyle": "-|>",
                "color": "black",
                "linewidth": 0.5,
                "mutation_scale": 6,
                "shrinkA": 0,
                "shrinkB": 0,
            },
            annotation_clip=True,
        )
        if number == 0:
            axes.plot([], [], color="black", linewidth=0.7, label=_text(arrows.name))


def _axis(axes: Axes, axis: Axis, which: str) -> None:
    axes.set(**{f"{which}label": _text(axis.label)})
    if axis.log:
        axes.set(**{f"{which}scale": "log"})
        _plain_ticks(axes.xaxis if which == "x" else axes.yaxis)
    if axis.low is not None or axis.high is not None:
        axes.set(**{f"{which}lim": (axis.low, axis.high)})
    if axis.ticks is not None:
        places = [place for place, _ in axis.ticks]
        axes.set(**{f"{which}ticks": places, f"{which}ticklabels": [_text(name) for _, name in axis.ticks]})


def _plain_ticks(axis: XAxis | YAxis) -> None:
    """Numbers instead of powers; below two decades, 2 and 5 as well."""
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 100 * low else (1.0,)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def _text(name: str) -> str:
    """A name as plain text: without formulas, and not hidden from the legend by a leading underscore."""
    name = name.replace("$", r"\$")
    return f" {name}" if name.startswith("_") else name
