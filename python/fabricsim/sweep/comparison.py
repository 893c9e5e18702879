"""The page of ``fabricsim compare A B C --html FILE``: results side by side, the first as the baseline."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from os import PathLike
from pathlib import Path
from typing import Any

from fabricsim import _core
from fabricsim._errors import SweepError
from fabricsim.result import Result, compare
from fabricsim.sweep import charts, choice, metrics, show
from fabricsim.sweep.cache import Outcome
from fabricsim.sweep.costs import CostTable, Item, total
from fabricsim.sweep.inventory import inventory
from fabricsim.sweep.metrics import Metric, describe
from fabricsim.sweep.page import (
    COLOURS,
    DASHES,
    MARKS,
    Figure,
    axis,
    document,
    escape,
    label,
    layout,
    table,
)
from fabricsim.sweep.report import bills

__all__ = ["page"]

# Maximum points of a distribution.
MOST_POINTS = 400
MOST_JOBS = 6
# Least pixels of a bar, and of the three lines of a name with space between them.
BAR, LINES = 20, 64
_HOST_LINKS = ["injection", "ejection"]


def page(results: Mapping[str, Result], costs: CostTable | None) -> str:
    """The page.

    Parameters
    ----------
    results : mapping of str to Result
        By name; the first is the baseline.
    costs : CostTable
        What networks cost, if that is to be compared, too.
    """
    return document("Comparison", " · ".join(results), _parts(results, costs))


def _parts(results: Mapping[str, Result], costs: CostTable | None) -> Iterator[str | Figure]:
    folders: list[tuple[str, str | PathLike[str]]] = [(name, one.folder) for name, one in results.items()]
    compared = json.loads(_core.compare_runs(folders))
    yield _headline(compared["found"])
    yield _differences(compared["differs"], list(results))
    yield from _bars(compared["found"]["values"], list(results))
    yield from _latencies(results)
    yield from _loads(results)
    if costs is not None:
        yield from _costs({name: _outcome(result) for name, result in results.items()}, costs)
    yield f"<section>\n<h2>All figures</h2>\n{_text(compare(results))}</section>\n"


def _outcome(result: Result) -> Outcome:
    return Outcome(result.summary, inventory(result.links, result.summary))


def _headline(found: Mapping[str, Any]) -> str:
    """Which result is better, and what is not ranked, in the core's words."""
    notes = "".join(f"<p>{escape(note)}</p>\n" for note in found["notes"])
    headline = f"<p><b>{escape(found['headline'])}</b></p>\n"
    return f"<section>\n<h2>Which is better</h2>\n{headline}{notes}</section>\n"


def _differences(differs: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    """The keys in which the experiments differ and on which results depend."""
    lines = [[of["key"], *(value or "-" for value in of["values"])] for of in differs if of["has_effect"]]
    shown = table(["key", *names], lines, texts=len(names) + 1) if lines else "<p>no key with an effect</p>\n"
    return f"<section>\n<h2>The experiments differ in</h2>\n{shown}</section>\n"


def _text(text: str) -> str:
    """The text of the command. Tables, which have a rule below their head, scroll; the other lines wrap."""
    tables = [list(block) for _, block in groupby(text.split("\n\n"), lambda block: "\n----" in block)]
    blocks = ((' class="columns"' if "\n----" in of[0] else "", "\n\n".join(of)) for of in tables)
    return "".join(f"<pre{kind}>{escape(block)}</pre>\n" for kind, block in blocks)


def _bars(values: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Iterator[Figure]:
    """The values of which lower or higher ones are better, relative to the first result."""
    judged = [of for of in values if of["better"] is not None and not of["is_part"] and of["values"][0]]
    network = [of for of in judged if of["of"] == "network"]
    for heading, part in {"Jobs": [of for of in judged if of not in network], "The network": network}.items():
        if part:
            yield _bars_of(heading, part, names)


def _bars_of(heading: str, values: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Figure:
    base = names[0]
    of_job = [f"{of['of']}: " if of["of"] not in (None, "network") else "" for of in values]
    # The job has a line of its own, as phones are narrow.
    titles = [
        f"{label(job + of['label']).replace(': ', ':<br>', 1)}<br>({of['better']} is better)"
        for job, of in zip(of_job, values, strict=True)
    ]
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": label(name),
            "y": titles,
            "x": [
                None if of["values"][number] is None else of["values"][number] / of["values"][0]
                for of in values
            ],
            # The length of the bar is the ratio, which the cell has behind the value.
            "text": [of["cells"][number].partition(" (")[0] for of in values],
            "textposition": "auto",
            "insidetextanchor": "start",
            "cliponaxis": False,
            "textangle": 0,
            "textfont": {"size": 11},
            "marker": {"color": COLOURS[number % len(COLOURS)]},
            "hovertemplate": f"{label(name)}<br>%{{y}}: %{{text}} (%{{x:.3f}})<extra></extra>",
        }
        for number, name in enumerate(names)
    ]
    return Figure(
        heading=f"{heading}, relative to {base}",
        explanation=f"{base} is 1. Below each name stands what is better; bars have their values.",
        traces=traces,
        layout=layout(
            axis(f"relative to {base}", rangemode="tozero"),
            axis("", type="category", autorange="reversed"),
            barmode="group",
            shapes=[{**charts.line_at_one(upright=True), "layer": "below"}],
        ),
        height=120 + len(values) * max(LINES, BAR * len(names)),
    )


def _latencies(results: Mapping[str, Result]) -> Iterator[Figure]:
    """Cumulative latency distribution of the packets of the network and of each job."""
    jobs = dict.fromkeys(job.name for result in results.values() for job in result.summary.jobs)
    parts: list[str | None] = [None]
    if len(jobs) > 1:
        parts += list(jobs)[:MOST_JOBS]
    for job in parts:
        lines = {}
        for name, result in results.items():
            rows = [row for row in result.latency_histogram.to_pylist() if row["job"] == job]
            # Bounds of buckets are inclusive: all packets of a bucket are at most this late.
            line = _cumulative([row["high_ps"] / 1e6 for row in rows], [row["packets"] for row in rows])
            if line[0]:
                lines[name] = line
        if lines:
            of = "" if job is None else f" of {job}"
            yield _distribution(
                f"Latency of packets{of}",
                "Share of the packets that take at most so long.",
                lines,
                axis("latency (µs)", type="log", dtick="D2"),
            )


def _loads(results: Mapping[str, Result]) -> Iterator[Figure]:
    """Cumulative distribution of the busy share of links between routers."""
    lines = {}
    for name, result in results.items():
        links = result.links.select(["class", "busy_fraction"]).to_pylist()
        busy = sorted(100 * link["busy_fraction"] for link in links if link["class"] not in _HOST_LINKS)
        if busy:
            lines[name] = _cumulative(busy, [1] * len(busy))
    if lines:
        yield _distribution(
            "Load of links between routers",
            "Share of the links that are busy for at most so much of the time.",
            lines,
            axis("busy (%)", rangemode="tozero"),
        )


def _cumulative(ends: Sequence[float], counts: Sequence[int]) -> tuple[list[float], list[float]]:
    """A distribution in at most this many steps."""
    whole = sum(counts)
    x: list[float] = []
    y: list[float] = []
    below, shown = 0, -math.inf
    for number, (end, count) in enumerate(zip(ends, counts, strict=True)):
        below += count
        if below - shown >= whole / MOST_POINTS or number == len(ends) - 1:
            x.append(end)
            y.append(100 * below / whole)
            shown = below
    return x, y


def _distribution(
    heading: str, explanation: str, lines: Mapping[str, tuple[list[float], list[float]]], x: dict[str, Any]
) -> Figure:
    traces = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": label(name),
            "x": ends,
            "y": shares,
            "line": {
                "color": COLOURS[number % len(COLOURS)],
                "dash": DASHES[number % len(DASHES)],
                "width": 2,
                "shape": "hv",
            },
            "hovertemplate": f"{label(name)}<br>%{{y:.2f}} % up to %{{x:.4~g}}<extra></extra>",
        }
        for number, (name, (ends, shares)) in enumerate(lines.items())
    ]
    return Figure(heading, explanation, traces, layout(x, axis("share (%)", range=[0, 101]), showlegend=True))


def _costs(outcomes: Mapping[str, Outcome], costs: CostTable) -> Iterator[str | Figure]:
    measured = {name: metrics.measures(outcome) for name, outcome in outcomes.items()}
    found: list[tuple[str, list[Item], str | None]] = []
    known: dict[str, list[Item]] = {}
    for name, outcome in outcomes.items():
        heading = f"{name}: {outcome.summary['network']['topology']}"
        try:
            electricity = costs.electricity_of(outcome.summary)
            known[name] = costs.of(outcome.inventory) + ([] if electricity is None else [electricity])
            found.append((heading, known[name], None))
        except SweepError as error:
            found.append((heading, [], str(error)))
    column = choice.first_performance(next(iter(measured.values())))
    metric = None if column is None else describe(column)
    if known and column is not None and metric is not None:
        yield _cost_figure(outcomes, measured, known, column, metric, costs.currency)
    yield bills(found, costs)


def _cost_figure(
    outcomes: Mapping[str, Outcome],
    measured: Mapping[str, Mapping[str, Any]],
    known: Mapping[str, list[Item]],
    column: str,
    metric: Metric,
    currency: str,
) -> Figure:
    each = len({outcomes[name].inventory["hosts"] for name in known}) > 1
    traces = []
    for number, (name, items) in enumerate(known.items()):
        performance = measured[name].get(column)
        if performance is None:
            continue
        cost = total(items) / (outcomes[name].inventory["hosts"] if each else 1)
        traces.append(
            {
                "type": "scatter",
                "mode": "markers+text",
                "name": label(name),
                "x": [cost],
                "y": [performance * metric.scale],
                "text": [label(name)],
                "textposition": "bottom center",
                "marker": {
                    "color": COLOURS[number % len(COLOURS)],
                    "symbol": MARKS[number % len(MARKS)],
                    "size": 12,
                },
                "hovertemplate": f"{label(name)}<br>%{{x:,.6~g}}, %{{y:.4~g}}<extra></extra>",
            }
        )
    unit = f" ({currency})" if currency else ""
    title = "cost per host" if each else "cost of the network"
    better = "higher" if metric.larger_is_better else "lower"
    return Figure(
        heading="Cost against performance",
        explanation=f"Left is cheaper, {better} is better.",
        traces=traces,
        layout=layout(
            axis(f"{title}{unit}", rangemode="tozero"),
            axis(show.heading(metric), rangemode="tozero"),
            showlegend=False,
        ),
    )


def names(folders: Sequence[Path]) -> list[str]:
    """Names of results: their folders, with as much of the path as needed to distinguish them."""
    parts = [folder.absolute().parts for folder in folders]
    for depth in range(1, max(len(part) for part in parts) + 1):
        found = ["/".join(part[-depth:]) for part in parts]
        if len(set(found)) == len(found):
            return found
    return [f"{'/'.join(part[-1:])} ({number})" for number, part in enumerate(parts, start=1)]
