"""A figure of a page drawn by matplotlib, for papers: SVG, PDF, PNG. Imported with the first such figure.

It draws what `charts` has: lines and markers, grouped bars, texts, dotted reference lines, several plots with
equal axes. Nothing global changes, and pyplot does not know the figures.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawn

from fabricsim.plot.chart import GRID, INK, QUIET
from fabricsim.plot.drawing_matplotlib import Paper
from fabricsim.sweep.page import Figure

__all__ = ["draw"]

_DASHES: Mapping[str, Any] = {
    "solid": "-",
    "dash": (0, (5, 2)),
    "dot": (0, (1, 1.5)),
    "dashdot": (0, (5, 2, 1, 2)),
}
_MARKS = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "triangle-up": "^",
    "x": "X",
    "cross": "P",
    "triangle-down": "v",
}
_HATCHES = {"": "", "/": "//", "x": "xx", ".": ".."}
# Names along an axis from which on they are turned.
MANY_NAMES = 4
# Inches of one plot beside others, and of a plot that is alone.
_PANEL, _WIDTH, _HEIGHT = 3.0, 6.4, 3.8


def draw(figure: Figure) -> Drawn:
    """The figure with its heading above, and its legend beside the plots."""
    panels = _panels(figure)
    beside = min(3, len(panels))
    down = -(-len(panels) // beside)
    size = (_WIDTH, _HEIGHT) if len(panels) == 1 else (_PANEL * beside, _PANEL * down)
    if figure.height is not None and len(panels) == 1:
        size = (_WIDTH, max(_HEIGHT, figure.height / 100))
    drawn = Paper(figsize=size, layout="constrained")
    grid = drawn.subplots(down, beside, squeeze=False, sharex=len(panels) > 1, sharey=len(panels) > 1).ravel()
    for axes, (title, traces) in zip(grid, panels, strict=False):
        _plot(axes, traces, figure.layout, title)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    drawn.suptitle(_text(figure.heading), fontsize="medium")
    _legend(drawn, list(grid[: len(panels)]))
    return drawn


def _panels(figure: Figure) -> list[tuple[str, list[dict[str, Any]]]]:
    """The traces of each plot with its title."""
    of: dict[str, list[dict[str, Any]]] = {}
    for trace in figure.traces:
        of.setdefault(trace.get("xaxis", "x"), []).append(trace)
    titles = [note["text"] for note in figure.layout.get("annotations", ())]
    return [(titles[n] if n < len(titles) else "", traces) for n, traces in enumerate(of.values())]


def _plot(axes: Axes, traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any], title: str) -> None:
    if title:
        axes.set_title(_text(title), fontsize="small")
    axes.grid(True, color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    names = _names(axes, traces, layout)
    bars = [trace for trace in traces if trace["type"] == "bar"]
    for trace in traces:
        if trace["type"] == "bar":
            _bars(axes, trace, bars.index(trace), len(bars), names["x"])
        else:
            _points(axes, trace, names)
    for shape in layout.get("shapes", ()):
        draw_line = axes.axvline if shape.get("yref") == "paper" else axes.axhline
        draw_line(1, color=INK, linewidth=0.8, linestyle=_DASHES["dot"])
    for which in ("x", "y"):
        _axis(axes, layout[f"{which}axis"], which)


def _names(
    axes: Axes, traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]
) -> dict[str, dict[str, int]]:
    """The places of names along an axis of names, in the order of their first use."""
    found: dict[str, dict[str, int]] = {"x": {}, "y": {}}
    for which, places in found.items():
        if layout[f"{which}axis"].get("type") != "category":
            continue
        for trace in traces:
            for name in trace[which]:
                places.setdefault(str(name), len(places))
        ticks, texts = list(places.values()), [_text(name) for name in places]
        if which == "x" and len(places) > MANY_NAMES:
            axes.set_xticks(ticks, texts, fontsize="small", rotation=30, horizontalalignment="right")
        else:
            (axes.set_xticks if which == "x" else axes.set_yticks)(ticks, texts, fontsize="small")
    return found


def _bars(axes: Axes, trace: Mapping[str, Any], number: int, of: int, places: Mapping[str, int]) -> None:
    width = 0.8 / of
    x = [places[str(name)] - 0.4 + width * (number + 0.5) for name in trace["x"]]
    heights = [0.0 if value is None else value for value in trace["y"]]
    drawn = axes.bar(
        x,
        heights,
        width=width,
        color=trace["marker"]["color"],
        hatch=_HATCHES[trace["marker"].get("pattern", {}).get("shape", "")],
        edgecolor="white",
        linewidth=0.4,
        yerr=trace["error_y"]["array"] if trace["error_y"]["visible"] else None,
        label=_text(trace["name"]),
    )
    texts = [text if value is not None else "" for text, value in zip(trace["text"], trace["y"], strict=True)]
    axes.bar_label(drawn, texts, fontsize="x-small")


def _points(axes: Axes, trace: Mapping[str, Any], names: Mapping[str, Mapping[str, int]]) -> None:
    x, y = (
        [float("nan") if value is None else names[which].get(str(value), value) for value in trace[which]]
        for which in ("x", "y")
    )
    look = {**trace.get("marker", {}), **trace.get("line", {})}
    colour = look.get("color", QUIET)
    label = _text(trace["name"]) if trace.get("showlegend", True) else None
    if "lines" in trace["mode"]:
        steps = "steps-post" if trace.get("line", {}).get("shape") == "hv" else "default"
        dash = _DASHES[trace["line"].get("dash", "solid")]
        width = 0.75 * trace["line"].get("width", 2)
        axes.plot(x, y, color=colour, linestyle=dash, linewidth=width, drawstyle=steps, zorder=2)
    if "markers" in trace["mode"]:
        _markers(axes, x, y, trace, colour)
        symbol = trace["marker"]["symbol"]
        first = symbol if isinstance(symbol, str) else next(iter(symbol), "circle")
        dash = _DASHES[trace["line"].get("dash", "solid")] if "lines" in trace["mode"] else ""
        mark = _MARKS[first.removesuffix("-open")]
        axes.plot([], [], color=colour, linestyle=dash, marker=mark, markersize=5, label=label)
    elif "lines" in trace["mode"]:
        axes.plot([], [], color=colour, linestyle=dash, label=label)
    _whiskers(axes, x, y, trace, colour)


def _markers(
    axes: Axes, x: Sequence[float], y: Sequence[float], trace: Mapping[str, Any], colour: str
) -> None:
    marker = trace["marker"]
    symbols = marker["symbol"] if isinstance(marker["symbol"], list) else [marker["symbol"]] * len(x)
    texts = trace.get("text") or [""] * len(x)
    for at, value, symbol, text in zip(x, y, symbols, texts, strict=True):
        is_open = symbol.endswith("-open")
        axes.plot(
            [at],
            [value],
            linestyle="",
            marker=_MARKS[symbol.removesuffix("-open")],
            markersize=0.7 * marker.get("size", 7),
            color=colour,
            markerfacecolor="white" if is_open else colour,
            clip_on=False,
            zorder=3,
        )
        if is_open and text and value == value:
            mark = text[text.rindex("[") :] if "[" in text else text
            axes.annotate(
                mark, (at, value), xytext=(3, 3), textcoords="offset points", fontsize="x-small", color=QUIET
            )


def _whiskers(
    axes: Axes, x: Sequence[float], y: Sequence[float], trace: Mapping[str, Any], colour: str
) -> None:
    for which in ("x", "y"):
        error = trace.get(f"error_{which}") or {}
        if error.get("visible"):
            axes.errorbar(
                x, y, **{f"{which}err": error["array"]}, fmt="none", ecolor=colour, elinewidth=0.9, capsize=2
            )


def _axis(axes: Axes, style: Mapping[str, Any], which: str) -> None:
    axes.set(**{f"{which}label": _text(style["title"]["text"])})
    if style.get("type") == "log":
        axes.set(**{f"{which}scale": "log"})
    if style.get("tickvals") is not None:
        names = [_text(name) for name in style["ticktext"]]
        (axes.set_xticks if which == "x" else axes.set_yticks)(style["tickvals"], names)
        axes.minorticks_off()
    if style.get("rangemode") == "tozero":
        axes.set(**{f"{which}lim": (0, None)})
    if style.get("autorange") == "reversed" and not axes.yaxis_inverted():
        axes.invert_yaxis()


def _legend(drawn: Drawn, grid: Sequence[Axes]) -> None:
    found: dict[str, Any] = {}
    for axes in grid:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(name, handle)
    if len(found) > 1:
        drawn.legend(
            list(found.values()),
            list(found),
            loc="outside lower center",
            ncols=3,
            fontsize="small",
            frameon=False,
        )


def _text(name: str) -> str:
    """A label of the page as plain text: without entities and formulas, and shown in the legend."""
    name = html.unescape(name).replace("$", r"\$")
    return f" {name}" if name.startswith("_") else name
