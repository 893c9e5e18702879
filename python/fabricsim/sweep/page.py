"""A self-contained HTML page with plots: it opens offline and loads nothing.

It contains plotly.js from the package `plotly` once. `escape` escapes text from experiments for HTML, and
`label` for Plotly's labels, which interpret tags.
"""

from __future__ import annotations

import html
import importlib.util
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from fabricsim import _core
from fabricsim._errors import SweepError
from fabricsim.plot.chart import COLOURS, GREY, GRID, INK

__all__ = [
    "COLOURS",
    "DASHES",
    "MARKS",
    "Figure",
    "axis",
    "card",
    "document",
    "escape",
    "label",
    "layout",
    "need_matplotlib",
    "need_plots",
    "table",
]

# Further line styles for more lines than colours.
DASHES = ["solid", "dash", "dot", "dashdot"]
MARKS = ["circle", "square", "diamond", "triangle-up", "x", "cross", "triangle-down"]
_PAGE = {part: light for part, (light, _) in json.loads(_core.COLOURS)["page"].items()}
_QUIET = _PAGE["quiet"]


@dataclass(frozen=True)
class Figure:
    """A plot with its heading: traces and layout are Plotly's."""

    heading: str
    explanation: str
    traces: list[dict[str, Any]]
    layout: dict[str, Any]
    height: int | None = None
    """In pixels, if it is not the usual one."""

    def plotly(self) -> Any:
        """The figure of Plotly, for notebooks: ``plotly.graph_objects.Figure``.

        Raises
        ------
        ImportError
            Plotly is not installed.
        """
        import plotly.graph_objects

        layout = {**self.layout, "title": {"text": label(self.heading)}, "height": self.height}
        return plotly.graph_objects.Figure(self.traces, layout)

    def matplotlib(self) -> Any:
        """The figure of matplotlib, for papers: ``matplotlib.figure.Figure``.

        Raises
        ------
        ImportError
            Matplotlib is not installed: ``pip install 'fabricsim[plot]'``.
        """
        from fabricsim.sweep.drawing import draw

        return draw(self)

    def save(self, file: str | PathLike[str]) -> None:
        """Writes the figure of matplotlib; the ending of the name is the format: ``.svg``, ``.pdf``,
        ``.png``.

        Raises
        ------
        ImportError
            Matplotlib is not installed.
        ValueError
            Matplotlib does not know the format.
        """
        self.matplotlib().savefig(file, dpi=200)


def escape(text: object) -> str:
    """Text as HTML shows it, inside elements and inside quoted attributes."""
    return html.escape(str(text), quote=True)


def label(text: str) -> str:
    """Text as Plotly's labels show it, which have tags and entities but know no quotes."""
    return html.escape(text, quote=False)


def axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis in the style of the pages."""
    return {
        "title": {"text": label(title), "font": {"size": 13}},
        "gridcolor": GRID,
        "linecolor": GREY,
        "zerolinecolor": _PAGE["line"],
        "automargin": True,
        **more,
    }


def layout(x: dict[str, Any], y: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A layout in the style of the pages; the legend is above the plot."""
    return {
        "xaxis": x,
        "yaxis": y,
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": INK},
        "paper_bgcolor": _PAGE["paper"],
        "plot_bgcolor": _PAGE["paper"],
        "margin": {"l": 60, "r": 36, "t": 16, "b": 48},
        "modebar": {
            "orientation": "v",
            "bgcolor": "rgba(0,0,0,0)",
            "color": GREY,
            "activecolor": _PAGE["mark"],
        },
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "font": {"color": _QUIET}},
        "hovermode": "closest",
        **more,
    }


def card(value: str, meaning: str, bad: bool = False) -> str:
    """A highlighted number."""
    kind = "card bad" if bad else "card"
    return f'<div class="{kind}"><b>{escape(value)}</b><span>{escape(meaning)}</span></div>\n'


def table(headings: Sequence[str], lines: Iterable[Sequence[str]], texts: int) -> str:
    """A table whose first columns are texts, and the rest numbers."""

    def row(tag: str, cells: Sequence[str]) -> str:
        number = ' class="n"'
        return "".join(
            f"<{tag}{number if n >= texts else ''}>{escape(cell)}</{tag}>" for n, cell in enumerate(cells)
        )

    body = "".join(f"<tr>{row('td', line)}</tr>\n" for line in lines)
    head = row("th", headings)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>\n'


def document(title: str, subtitle: str, parts: Iterable[str | Figure]) -> str:
    """The page: parts are HTML or figures."""
    figures: list[Figure] = []
    body = ""
    for part in parts:
        if isinstance(part, Figure):
            body += _frame(part, len(figures))
            figures.append(part)
        else:
            body += part
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>FabricSim: {escape(title)}</title>
<style>
{_core.page_style()}{style}</style>
{_library() if figures else ""}</head>
<body>
<header><div><h1>{escape(title)}</h1><p>{escape(subtitle)}</p></div></header>
<main>
{body}<footer>FabricSim {escape(_core.__version__)}</footer>
</main>
{_script(figures)}</body>
</html>
"""


def _frame(figure: Figure, number: int) -> str:
    size = "" if figure.height is None else f' style="--height: {figure.height}px"'
    return (
        f"<section>\n<h2>{escape(figure.heading)}</h2>\n<p>{escape(figure.explanation)}</p>\n"
        f'<div class="frame"{size} id="figure-{number}"></div>\n</section>\n'
    )


def need_plots() -> None:
    """Checks requirements before long work.

    Raises
    ------
    SweepError
        What pages need is not installed.
    """
    if importlib.util.find_spec("plotly") is None:
        raise SweepError("pages need plotly, which is not installed: pip install 'fabricsim[sweep]'")


def need_matplotlib() -> None:
    """Checks requirements of files of figures before long work.

    Raises
    ------
    SweepError
        Matplotlib is not installed.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise SweepError("--figures needs matplotlib, which is not installed: pip install 'fabricsim[plot]'")


def _library() -> str:
    from plotly.offline import get_plotlyjs

    return f"<script>{get_plotlyjs()}</script>\n"


def _script(figures: list[Figure]) -> str:
    if not figures:
        return ""
    plots = [{"data": figure.traces, "layout": figure.layout} for figure in figures]
    # Only its own end tag ends a script element.
    data = json.dumps(plots, allow_nan=False).replace("<", "\\u003c")
    return (
        "<script>\n"
        f"const plots = {data};\n"
        'const config = {responsive: true, displaylogo: false, modeBarButtonsToRemove: ["lasso2d"]};\n'
        "plots.forEach((plot, n) =>\n"
        '  Plotly.newPlot(document.getElementById("figure-" + n), plot.data, plot.layout, config));\n'
        f"{_core.page_script()}</script>\n"
    )
