"""Figures of a sweep: families of curves, bars relative to a baseline, cost against performance."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fabricsim.sweep import show
from fabricsim.sweep.metrics import Metric
from fabricsim.sweep.page import COLOURS, DASHES, MARKS, Figure, axis, label, layout
from fabricsim.sweep.plan import Axis, Plan, Point

__all__ = ["bars", "curves", "pareto", "pareto_front"]

# More lines in one plot cannot be told apart.
MOST_LINES = len(COLOURS) * len(DASHES)
# From so many on, lines are easier to read in several plots.
MANY_LINES = 8
MOST_GROUPS = 12
MOST_FIGURES = 12


@dataclass(frozen=True)
class Series:
    """Points that differ along one axis only, by the number of their step on it."""

    name: str
    labels: dict[str, str]
    rows: dict[int, dict[str, Any]]


def series(plan: Plan, summaries: list[dict[str, Any]], x: Axis | None) -> list[Series]:
    """The points in families, one for each combination of the other axes."""
    points = {point.number: point for point in plan.points}
    found: dict[tuple[str, ...], Series] = {}
    for row in summaries:
        point = points[row["point"]]
        others = {a.name: step.label for a, step in zip(plan.axes, point.steps, strict=True) if a is not x}
        place = 0 if x is None else x.steps.index(point.steps[plan.axes.index(x)])
        key = tuple(others.values())
        name = ", ".join(others.values()) or plan.name
        found.setdefault(key, Series(name, others, {})).rows[place] = row
    return list(found.values())


def curves(
    plan: Plan, summaries: list[dict[str, Any]], x: Axis, column: str, metric: Metric
) -> Iterator[Figure]:
    """A result along an axis, a line for each combination of the others; a figure for each value of one of them
    where there are many."""
    numbers = x.numbers
    assert numbers is not None
    for title, part in _parts(plan, series(plan, summaries, x), x):
        traces = []
        for number, family in enumerate(part[:MOST_LINES]):
            places = sorted(family.rows, key=lambda place: numbers[place])
            rows = [family.rows[place] for place in places]
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": label(family.name),
                    "x": [numbers[place] for place in places],
                    "y": [_scaled(row.get(column), metric) for row in rows],
                    "error_y": _errors(rows, column, metric.scale),
                    **_look(number),
                    "hovertemplate": f"{label(family.name)}<br>%{{x}}: %{{y:.4~g}}<extra></extra>",
                }
            )
        note = _left_out(len(part), MOST_LINES, "lines")
        yield Figure(
            heading=f"{metric.title}{title}",
            explanation=f"Over {x.name}. {_interval(plan)}{note}".strip(),
            traces=traces,
            layout=layout(
                axis(x.name, **_ticks(x, numbers)),
                axis(show.heading(metric), rangemode="tozero"),
                showlegend=len(traces) > 1,
            ),
        )


def bars(
    plan: Plan, summaries: list[dict[str, Any]], x: Axis | None, column: str, metric: Metric
) -> Iterator[Figure]:
    """A result relative to that of a baseline: at each value of an axis, or each point by itself."""
    families = series(plan, summaries, x)
    baseline = _baseline(plan, families, x)
    if baseline is None:
        return
    fixed = plan.report.baseline.get(x.name) if x is not None else None
    if x is None or len(families) == 1:
        # Nothing to put side by side: the bars are the points.
        yield from _bars_of_points(plan, families, baseline, x, column, metric)
        return
    places = _spread(sorted({place for family in families for place in family.rows}))
    reference = {place: baseline.rows.get(place, {}).get(column) for place in places}
    if fixed is not None:
        at = [step.label for step in x.steps].index(fixed)
        reference = dict.fromkeys(places, baseline.rows.get(at, {}).get(column))
    for title, part in _parts(plan, families, x):
        shown = part[:MOST_LINES]
        if baseline not in shown:
            shown = [baseline, *shown]
        traces = [
            _bar(
                family.name,
                [x.steps[place].label for place in places],
                [family.rows.get(place, {}) for place in places],
                [reference[place] for place in places],
                column,
                number,
            )
            for number, family in enumerate(shown)
        ]
        to = f"{baseline.name} at {x.name} = {fixed}" if fixed is not None else f"{baseline.name} at the same {x.name}"
        yield _bar_figure(f"{metric.title}{title}", to, metric, traces, x.name, plan)


def _bars_of_points(
    plan: Plan, families: list[Series], baseline: Series, x: Axis | None, column: str, metric: Metric
) -> Iterator[Figure]:
    if x is None:
        names = [family.name for family in families]
        rows = [family.rows[0] for family in families]
        to, reference = baseline.name, baseline.rows[0].get(column)
    else:
        places = _spread(sorted(baseline.rows))
        names = [x.steps[place].label for place in places]
        rows = [baseline.rows[place] for place in places]
        at = [step.label for step in x.steps].index(plan.report.baseline.get(x.name, names[0]))
        to, reference = f"{x.name} = {x.steps[at].label}", baseline.rows.get(at, {}).get(column)
    if len(rows) < 2:
        return
    trace = _bar("", names, rows, [reference] * len(rows), column, 0)
    axes = " and ".join(axis.name for axis in plan.axes)
    yield _bar_figure(metric.title, to, metric, [trace], axes, plan)


def _bar_figure(
    title: str, to: str, metric: Metric, traces: list[dict[str, Any]], x: str, plan: Plan
) -> Figure:
    better = {True: "Higher is better. ", False: "Lower is better. ", None: ""}[metric.larger_is_better]
    return Figure(
        heading=f"{title}, relative",
        explanation=f"Relative to {to}, which is 1. {better}{_interval(plan)}".strip(),
        traces=traces,
        layout=layout(
            axis(x, type="category"),
            axis("relative to the baseline", rangemode="tozero"),
            barmode="group",
            showlegend=len(traces) > 1,
            shapes=[_line_at_one()],
        ),
    )


def _bar(
    name: str,
    labels: Sequence[str],
    rows: Sequence[dict[str, Any]],
    references: Sequence[float | None],
    column: str,
    number: int,
) -> dict[str, Any]:
    heights: list[float | None] = []
    halves: list[float] = []
    for row, reference in zip(rows, references, strict=True):
        found = row.get(column)
        usable = found is not None and bool(reference)
        heights.append(found / reference if usable and reference else None)
        high = row.get(f"{column}.high")
        halves.append((high - found) / reference if usable and reference and high is not None else 0.0)
    return {
        "type": "bar",
        "name": label(name),
        "x": [label(text) for text in labels],
        "y": heights,
        "error_y": {"type": "data", "array": halves, "visible": any(halves), "thickness": 1.2},
        "marker": {"color": COLOURS[number % len(COLOURS)], "pattern": {"shape": _pattern(number)}},
        "hovertemplate": f"{label(name)}<br>%{{x}}: %{{y:.4~g}}<extra></extra>",
    }


def pareto(plan: Plan, summaries: list[dict[str, Any]], column: str, metric: Metric, currency: str) -> Figure | None:
    """Cost against performance; None if all networks cost the same, or costs are not known."""
    # Networks of different sizes are compared by what a host costs.
    sizes = {row.get("network.hosts") for row in summaries if row.get("network.hosts") is not None}
    cost = "network.cost" if len(sizes) == 1 else "network.cost_per_host"
    rows = [row for row in summaries if row.get(cost) is not None and row.get(column) is not None]
    if len({row[cost] for row in rows}) < 2:
        return None
    points = {point.number: point for point in plan.points}
    front = pareto_front([(row[cost], row[column]) for row in rows], bool(metric.larger_is_better))
    title = "cost per host" if cost.endswith("per_host") else "cost of the network"
    names, of = _marks(plan, points)
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": "nothing is both cheaper and better",
            "x": [rows[n][cost] for n in front],
            "y": [rows[n][column] * metric.scale for n in front],
            "line": {"color": "#8c959f", "dash": "dot", "width": 2, "shape": "hv"},
            "hoverinfo": "skip",
        }
    ]
    for number, name in enumerate(names[:MOST_LINES]):
        mine = [row for row in rows if of(points[row["point"]]) == name]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": label(name),
                "x": [row[cost] for row in mine],
                "y": [row[column] * metric.scale for row in mine],
                "error_y": _errors(mine, column, metric.scale),
                "text": [label(points[row["point"]].label) for row in mine],
                "marker": {
                    "color": COLOURS[number % len(COLOURS)],
                    "symbol": MARKS[number % len(MARKS)],
                    "size": 10,
                },
                "hovertemplate": "%{text}<br>%{x:,.6~g}, %{y:.4~g}<extra></extra>",
            }
        )
    unit = f" ({currency})" if currency else ""
    better = "higher" if metric.larger_is_better else "lower"
    return Figure(
        heading="Cost against performance",
        explanation=f"Left is cheaper, {better} is better. "
        f"{_interval(plan)}{_left_out(len(names), MOST_LINES, 'kinds of points')}".strip(),
        traces=traces,
        layout=layout(axis(f"{title}{unit}", rangemode="tozero"), axis(show.heading(metric), rangemode="tozero")),
        tall=True,
    )


def pareto_front(points: Sequence[tuple[float, float]], larger_is_better: bool) -> list[int]:
    """The points (cost, performance) that no other beats, by rising cost: none is both at most as dear and
    better, or cheaper and at least as good."""
    sign = -1 if larger_is_better else 1
    found: list[int] = []
    best: float | None = None
    for number in sorted(range(len(points)), key=lambda n: (points[n][0], sign * points[n][1])):
        if best is None or sign * points[number][1] < best:
            best = sign * points[number][1]
            found.append(number)
    return found


def _marks(plan: Plan, points: dict[int, Point]) -> tuple[list[str], Callable[[Point], str]]:
    """Which points look the same: those of one value of the first axis with values that have names, or of the
    first axis."""
    chosen = next((n for n, a in enumerate(plan.axes) if a.named), 0)

    def name(point: Point) -> str:
        return point.steps[chosen].label if point.steps else plan.name

    return list(dict.fromkeys(name(point) for point in points.values())), name


def _parts(plan: Plan, families: list[Series], x: Axis | None) -> Iterator[tuple[str, list[Series]]]:
    """Families in as many figures as keep them readable: by the values of the other axis with the fewest."""
    others = [a for a in plan.axes if a is not x and len(a.steps) > 1]
    if len(families) <= MANY_LINES or len(others) < 2:
        yield "", families
        return
    by = min(others, key=lambda a: len(a.steps))
    for step in itertools.islice(by.steps, MOST_FIGURES):
        part = [family for family in families if family.labels[by.name] == step.label]
        if part:
            names = [", ".join(text for name, text in f.labels.items() if name != by.name) for f in part]
            short = [Series(name, f.labels, f.rows) for name, f in zip(names, part, strict=True)]
            yield f": {by.name} = {step.label}", short


def _baseline(plan: Plan, families: list[Series], x: Axis | None) -> Series | None:
    """The family that the file names, on the axes that it does not name the first value."""
    wanted = {a.name: plan.report.baseline.get(a.name, a.steps[0].label) for a in plan.axes if a is not x}
    return next((family for family in families if family.labels == wanted), None)


def _spread(places: list[int]) -> list[int]:
    """At most so many places as bars fit, evenly."""
    if len(places) <= MOST_GROUPS:
        return places
    last = len(places) - 1
    return [places[round(n * last / (MOST_GROUPS - 1))] for n in range(MOST_GROUPS)]


def _scaled(found: float | None, metric: Metric) -> float | None:
    return None if found is None else found * metric.scale


def _errors(rows: Sequence[dict[str, Any]], column: str, scale: float) -> dict[str, Any]:
    highs = [row.get(f"{column}.high") for row in rows]
    halves = [0.0 if high is None else (high - row[column]) * scale for high, row in zip(highs, rows, strict=True)]
    return {"type": "data", "array": halves, "visible": any(halves), "thickness": 1.2}


def _look(number: int) -> dict[str, Any]:
    """Colours first, then dashes, so that lines differ without colours, too."""
    colour = COLOURS[number % len(COLOURS)]
    return {
        "line": {"color": colour, "dash": DASHES[number // len(COLOURS) % len(DASHES)], "width": 2},
        "marker": {"color": colour, "symbol": MARKS[number % len(MARKS)], "size": 7},
    }


def _pattern(number: int) -> str:
    return ["", "/", "x", "."][number // len(COLOURS) % 4]


def _ticks(x: Axis, numbers: Sequence[float]) -> dict[str, Any]:
    """Values as they were written, on a logarithmic scale if they are a geometric range."""
    ordered = sorted(numbers)
    ticks: dict[str, Any] = {}
    if ordered[0] > 0 and len(ordered) >= 3 and ordered[-1] / ordered[0] >= 8:
        ratios = [b / a for a, b in itertools.pairwise(ordered)]
        if max(ratios) / min(ratios) < 1.3:
            ticks["type"] = "log"
    if len(numbers) <= MOST_GROUPS or any(not _plain(step.label) for step in x.steps):
        chosen = _spread(sorted(range(len(numbers)), key=lambda n: numbers[n]))
        ticks["tickvals"] = [numbers[n] for n in chosen]
        ticks["ticktext"] = [label(x.steps[n].label) for n in chosen]
    return ticks


def _plain(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _line_at_one() -> dict[str, Any]:
    return {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": 1,
        "y1": 1,
        "line": {"color": "#1b1f24", "width": 1, "dash": "dot"},
    }


def _interval(plan: Plan) -> str:
    if len(plan.seeds) < 2:
        return ""
    return f"Means of {len(plan.seeds)} seeds; whiskers are {100 * plan.confidence:.4g} % confidence intervals. "


def _left_out(count: int, most: int, what: str) -> str:
    return f"{count - most} more {what} are in the tables only." if count > most else ""
