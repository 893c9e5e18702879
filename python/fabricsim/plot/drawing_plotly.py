"""Charts drawn by Plotly, the report page's library, for notebooks. Imported with the first such figure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import log10
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from fabricsim.plot.chart import INK, LOAD, Arrows, Axis, Bars, Chart, Curve, Heat, Points, Spans, colour

__all__ = ["draw"]

_DASHES = ("solid", "dash", "dashdot", "dot")


def draw(charts: Sequence[Chart]) -> go.Figure:
    """Charts one below the other; several share one time axis."""
    heights = [chart.height for chart in charts]
    several = len(charts) > 1
    figure = make_subplots(
        rows=len(charts),
        cols=1,
        shared_xaxes=several,
        row_heights=heights,
        vertical_spacing=0.09 / max(1, len(charts) - 1),
        subplot_titles=[escape(chart.title) for chart in charts] if several else None,
    )
    shown: set[str] = set()
    for row, chart in enumerate(charts, start=1):
        for layer in chart.layers:
            for trace in _traces(layer, figure, row, len(charts)):
                # One legend for all charts: the same name has the same colour.
                if hasattr(trace, "showlegend"):
                    trace.showlegend = chart.legend and trace.name not in {None, "", *shown}
                    trace.legendgroup = trace.name
                    shown.add(trace.name)
                figure.add_trace(trace, row=row, col=1)
        figure.update_xaxes(_axis(chart.x, row == len(charts)), row=row, col=1)
        figure.update_yaxes(_axis(chart.y, True), row=row, col=1)
        names = [layer for layer in chart.layers if isinstance(layer, Heat)]
        for heat in names:
            step = -(-len(heat.rows) // 24)
            places = list(range(0, len(heat.rows), step))
            figure.update_yaxes(
                {
                    "tickvals": places,
                    "ticktext": [escape(heat.rows[place]) for place in places],
                    "showgrid": False,
                },
                row=row,
                col=1,
            )
    figure.update_layout(
        title=None if several else {"text": escape(charts[0].title), "font": {"size": 16}},
        font={"size": 13, "color": INK},
        paper_bgcolor="white",
        plot_bgcolor="white",
        height=110 + 330 * sum(heights),
        margin={"l": 60, "r": 20, "t": 70, "b": 50},
        legend={"groupclick": "togglegroup"},
        barmode="overlay",
        hovermode="closest",
    )
    return figure


def _traces(layer: Any, figure: go.Figure, row: int, rows: int) -> list[Any]:
    match layer:
        case Curve():
            line = {
                "color": colour(layer.number),
                "width": 2.5,
                "dash": _DASHES[layer.number % len(_DASHES)],
                "shape": "hv" if layer.steps else "linear",
            }
            return [go.Scatter(x=layer.x, y=layer.y, mode="lines", name=escape(layer.name), line=line)]
        case Bars():
            return [
                go.Bar(
                    x=layer.x,
                    y=layer.y,
                    base=layer.base,
                    width=layer.width,
                    name=escape(layer.name),
                    marker={"color": layer.colour, "pattern": {"shape": "/" if layer.is_hatched else ""}},
                )
            ]
        case Points():
            marker = {"color": layer.colour, "symbol": "diamond", "size": 9}
            return [go.Scatter(x=layer.x, y=layer.y, mode="markers", name=escape(layer.name), marker=marker)]
        case Heat():
            return [_heat(layer, row, rows)]
        case Spans():
            widths = [end - begin for begin, end in zip(layer.begins, layer.ends, strict=True)]
            return [
                go.Bar(
                    x=widths,
                    base=layer.begins,
                    y=layer.lanes,
                    width=0.82,
                    orientation="h",
                    name=escape(layer.name),
                    marker={"color": layer.colour, "line": {"width": 0}},
                    hovertemplate="%{base:.6g} + %{x:.6g}",
                )
            ]
        case Arrows():
            return [_arrows(layer)]
    raise TypeError(f"no such layer: {type(layer).__name__}")


def _heat(heat: Heat, row: int, rows: int) -> Any:
    columns = len(heat.values[0]) if heat.values else 0
    width = (heat.end - heat.begin) / max(1, columns)
    return go.Heatmap(
        x=[heat.begin + width * (column + 0.5) for column in range(columns)],
        y=list(range(len(heat.rows))),
        z=heat.values,
        zmin=heat.low,
        zmax=heat.high,
        colorscale=[[place / (len(LOAD) - 1), paint] for place, paint in enumerate(LOAD)],
        customdata=[[escape(name)] * columns for name in heat.rows],
        hovertemplate="%{customdata}<br>%{x:.6g}: %{z:.4g}<extra></extra>",
        # One scale for all maps.
        showscale=row == 1,
        colorbar={"title": {"text": escape(heat.label), "side": "right"}},
    )


def _arrows(arrows: Arrows) -> Any:
    x: list[float | None] = []
    y: list[float | None] = []
    for begin_x, begin_y, end_x, end_y in zip(
        arrows.from_x, arrows.from_y, arrows.to_x, arrows.to_y, strict=True
    ):
        x += [begin_x, end_x, None]
        y += [begin_y, end_y, None]
    return go.Scatter(
        x=x,
        y=y,
        mode="lines+markers",
        name=escape(arrows.name),
        line={"color": "black", "width": 1},
        marker={"symbol": "arrow", "angleref": "previous", "size": 7, "color": "black"},
        hoverinfo="skip",
    )


def _axis(axis: Axis, labelled: bool) -> dict[str, Any]:
    said: dict[str, Any] = {
        "title": {"text": escape(axis.label) if labelled else ""},
        "gridcolor": "#E6EAEE",
        "linecolor": INK,
        "ticks": "outside",
        "zeroline": False,
        "automargin": True,
    }
    if axis.log:
        said["type"] = "log"
        if axis.low is not None and axis.high is not None:
            said["range"] = [log10(axis.low), log10(axis.high)]
    elif axis.low == 0 and axis.high is None:
        said["rangemode"] = "tozero"
    elif axis.low is not None or axis.high is not None:
        said["range"] = [axis.low, axis.high]
    if axis.ticks is not None:
        said["tickvals"] = [place for place, _ in axis.ticks]
        said["ticktext"] = [escape(name) for _, name in axis.ticks]
    return said
