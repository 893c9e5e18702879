"""Figures of a sweep: families of curves, bars and dots relative to a baseline, cost against performance."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fabricsim.plot.chart import GREY, INK
from fabricsim.sweep import show
from fabricsim.sweep.choice import is_design
from fabricsim.sweep.marks import Marks
from fabricsim.sweep.metrics import SATURATED, Metric, is_latency
from fabricsim.sweep.page import COLOURS, DASHES, MARKS, Figure, axis, label, layout
from fabricsim.sweep.plan import Axis, Plan, Point
from fabricsim.sweep.table import has_note

__all__ = ["bars", "curves", "line_at_one", "pareto", "pareto_front"]

# More lines in one plot are not distinguishable.
MOST_LINES = len(COLOURS) * len(DASHES)
# From this number on, several plots are easier to read.
MANY_LINES = 6
MOST_GROUPS = 12
MOST_FIGURES = 12
# Plots beside each other, and the height of one in pixels.
BESIDE = 3
PANEL = 250
MOST_ROWS = 60
ROW = 24


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
    plan: Plan, summaries: list[dict[str, Any]], x: Axis, column: str, metric: Metric, marks: Marks
) -> Iterator[Figure]:
    """A result along an axis, with a line for each combination of the other axes.

    Many lines are split into small plots by the values of one of these axes. Their axes have the same range,
    and a name the same look in all of them. Latencies of saturated networks depend on the length of the run:
    marks at the top stand for them.
    """
    numbers = x.numbers
    assert numbers is not None
    parts = list(_parts(plan, series(plan, summaries, x), x))
    shown = [family for _, part in parts for family in part[:MOST_LINES]]
    found = [row.get(column) for family in shown for row in family.rows.values()]
    top = 1.06 * max((value * metric.scale for value in found if value is not None), default=1.0)
    looks = {name: number for number, name in enumerate(dict.fromkeys(family.name for family in shown))}
    traces: list[dict[str, Any]] = []
    for panel, (_, part) in enumerate(parts):
        for family in part[:MOST_LINES]:
            first = all(trace["name"] != label(family.name) for trace in traces)
            common: dict[str, Any] = {
                **_look(looks[family.name]),
                **_place(panel),
                "name": label(family.name),
                "legendgroup": label(family.name),
            }
            line = _line(family, numbers, column, metric)
            noted = _noted(common["marker"], [family.rows[place] for place in _along(family, numbers)], marks)
            traces.append({**line, **common, **noted, "showlegend": first})
            for end, own in _ends(family, numbers, column, metric, top):
                styles = {key: {**common[key], **own.get(key, {})} for key in ("line", "marker")}
                traces.append({**end, **common, **styles, "showlegend": False})
    note = _left_out(max(len(part) for _, part in parts), MOST_LINES, "lines")
    rows = [row for family in shown for row in family.rows.values()]
    if any(_is_saturated(row, column) for row in rows):
        note += " Triangles at the top mark saturated points, whose latency depends on the length of the run."
    note += _explained(rows, marks)
    along, of = axis(x.name, **_ticks(x, numbers)), axis(show.heading(metric), rangemode="tozero")
    several = len(looks) > 1
    yield Figure(
        heading=metric.title,
        explanation=f"Over {x.name}. {_interval(plan)}{note.strip()}".strip(),
        traces=traces,
        layout=layout(along, of, showlegend=several)
        if len(parts) == 1
        else _panels([title for title, _ in parts], along, of, showlegend=several),
        height=None if len(parts) == 1 else 80 + PANEL * -(-len(parts) // BESIDE),
    )


def _line(family: Series, numbers: Sequence[float], column: str, metric: Metric) -> dict[str, Any]:
    """A family along the axis, without the latencies of saturated networks."""
    places = _along(family, numbers)
    rows = [family.rows[place] for place in places]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": [numbers[place] for place in places],
        "y": [_scaled(row.get(column), metric) for row in rows],
        "error_y": _errors(rows, column, metric.scale),
        "hovertemplate": f"{label(family.name)}<br>%{{x}}: %{{y:.4~g}} %{{text}}<extra></extra>",
    }


def _along(family: Series, numbers: Sequence[float]) -> list[int]:
    """The places of a family in the order of the axis."""
    return sorted(family.rows, key=lambda place: numbers[place])


def _noted(marker: dict[str, Any], rows: Sequence[dict[str, Any]], marks: Marks) -> dict[str, Any]:
    """The look of markers of which those with notes are open, and the text beside the value of each."""
    texts = [marks.of_point(row) for row in rows]
    symbol = marker["symbol"]
    symbols = [f"{symbol}-open" if text else symbol for text in texts] if any(texts) else symbol
    return {"marker": {**marker, "symbol": symbols}, "text": texts}


def _explained(rows: Sequence[dict[str, Any]], marks: Marks) -> str:
    """What the letters in a figure mean."""
    legend = marks.legend(rows)
    return f" Open marks, and letters in brackets, are points with notes: {legend}." if legend else ""


def _ends(
    family: Series, numbers: Sequence[float], column: str, metric: Metric, top: float
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Marks at the top for saturated points, and a dotted line from the last valid point to the first one.

    Each with what differs from the look of the family.
    """
    places = _along(family, numbers)
    full = [place for place in places if _is_saturated(family.rows[place], column)]
    if not full:
        return
    marks = {
        "type": "scatter",
        "mode": "markers",
        "x": [numbers[place] for place in full],
        "y": [top] * len(full),
        "hovertemplate": f"{label(family.name)}<br>%{{x}}: saturated<extra></extra>",
    }
    look = {"symbol": "triangle-up-open", "size": 10}
    yield marks, {"marker": look}
    before = [place for place in places if numbers[place] < numbers[full[0]] and place not in full]
    value = family.rows[before[-1]].get(column) if before else None
    if value is not None:
        line = {
            "type": "scatter",
            "mode": "lines",
            "x": [numbers[before[-1]], numbers[full[0]]],
            "y": [value * metric.scale, top],
            "hoverinfo": "skip",
        }
        yield line, {"line": {"dash": "dot", "width": 1.5}}


def _place(panel: int) -> dict[str, str]:
    """The axes of a small plot."""
    return {} if panel == 0 else {"xaxis": f"x{panel + 1}", "yaxis": f"y{panel + 1}"}


def _panels(titles: Sequence[str], x: dict[str, Any], y: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The layout of small plots, row by row, whose axes have the same range; outer ones have titles."""
    beside = min(BESIDE, len(titles))
    down = -(-len(titles) // beside)
    axes: dict[str, Any] = {}
    notes = []
    for panel, title in enumerate(titles):
        column, row = panel % beside, panel // beside
        left, above = (column + (0.05 if column else 0.0)) / beside, 1 - (row + 0.12) / down
        ends = {"x": [left, (column + 0.95) / beside], "y": [1 - (row + 0.86) / down, above]}
        name = "" if panel == 0 else str(panel + 1)
        for which, style, outer in (("x", x, panel + beside >= len(titles)), ("y", y, column == 0)):
            other = "y" if which == "x" else "x"
            axes[f"{which}axis{name}"] = {
                **style,
                "domain": ends[which],
                "anchor": f"{other}{name}",
                **({} if panel == 0 else {"matches": which}),
                **({} if outer else {"title": {"text": ""}, "showticklabels": which == "x"}),
            }
        notes.append(
            {
                "text": label(title),
                "x": left,
                "y": above,
                "xref": "paper",
                "yref": "paper",
                "xanchor": "left",
                "yanchor": "bottom",
                "showarrow": False,
            }
        )
    return {**layout(x, y, annotations=notes, **more), **axes}


def bars(
    plan: Plan,
    summaries: list[dict[str, Any]],
    x: Axis | None,
    column: str,
    metric: Metric,
    marks: Marks,
) -> Iterator[Figure]:
    """A result relative to a baseline that differs in the axes that the file names, by default in the first.

    Bars stand at each value of an axis; without an axis, or with one family, at each point. If the values
    have names and there are several axes, marks in rows take the place of bars.
    """
    named = [a for a in plan.axes if len(a.steps) > 1]
    if (x is None or x.numbers is None) and len(named) > 1:
        yield from _dots(plan, summaries, min(named, key=lambda a: len(a.steps)), column, metric, marks)
        return
    families = series(plan, summaries, x)
    if x is None:
        points = [Series(family.name, family.labels, family.rows) for family in families]
        yield from _bars_of(plan, points, {0: ""}, None, column, metric, marks)
    elif len(families) == 1:
        (family,) = families
        places = _spread(sorted(family.rows))
        single = [
            Series(x.steps[place].label, {x.name: x.steps[place].label}, {0: family.rows[place]})
            for place in places
        ]
        yield from _bars_of(plan, single, {0: ""}, None, column, metric, marks)
    else:
        places = _spread(sorted({place for family in families for place in family.rows}))
        shown = {place: x.steps[place].label for place in places}
        yield from _bars_of(plan, families, shown, x, column, metric, marks)


def _bars_of(
    plan: Plan,
    families: list[Series],
    places: dict[int, str],
    x: Axis | None,
    column: str,
    metric: Metric,
    marks: Marks,
) -> Iterator[Figure]:
    """Bars of families at places; without an axis `x`, families are side by side along the plot."""
    if len(families) < 2:
        return
    wanted, at = _baseline(plan, families, x)
    by_labels = {tuple(family.labels.items()): family for family in families}

    def reference(family: Series, place: int) -> float | None:
        labels = {**family.labels, **wanted}
        other = by_labels.get(tuple(labels.items()))
        value: float | None = (
            None if other is None else other.rows.get(place if at is None else at, {}).get(column)
        )
        return value

    same = [name for name in [*families[0].labels, *([] if x is None else [x.name])] if name not in wanted]
    to = ", ".join(wanted.values())
    if at is not None and x is not None:
        to += f" at {x.name} = {x.steps[at].label}"
        same.remove(x.name)
    if same:
        to += f" with the same {' and '.join(same)}"
    if x is None:
        shown = families[:MOST_LINES]
        rows = [family.rows.get(0, {}) for family in shown]
        trace = _bar("", [f.name for f in shown], rows, [reference(f, 0) for f in shown], column, 0, marks)
        said = _bar_notes(rows, column, marks)
        yield _bar_figure(metric.title, to, metric, [trace], " and ".join(families[0].labels), plan, said)
        return
    for title, part in _parts(plan, families, x):
        traces = [
            _bar(
                family.name,
                list(places.values()),
                [family.rows.get(place, {}) for place in places],
                [reference(family, place) for place in places],
                column,
                number,
                marks,
            )
            for number, family in enumerate(part[:MOST_LINES])
        ]
        heading = f"{metric.title}: {title}" if title else metric.title
        said = _bar_notes([family.rows.get(place, {}) for family in part for place in places], column, marks)
        yield _bar_figure(heading, to, metric, traces, x.name, plan, said)


def _bar_notes(rows: Sequence[dict[str, Any]], column: str, marks: Marks) -> str:
    """What letters mean, and why some points have no bar."""
    missing = any(_is_saturated(row, column) for row in rows)
    why = " Saturated points have no bar: their latency depends on the length of the run." if missing else ""
    legend = marks.legend(rows)
    return why + (f" Letters in brackets are notes: {legend}." if legend else "")


def _dots(
    plan: Plan, summaries: list[dict[str, Any]], by: Axis, column: str, metric: Metric, marks: Marks
) -> Iterator[Figure]:
    """A row for each combination of the values of all axes but one, with a mark for each value of that."""
    points = series(plan, summaries, None)
    wanted, _ = _baseline(plan, points, None)
    values = {tuple(point.labels.items()): point.rows[0] for point in points}
    rows = series(plan, summaries, by)
    traces = []
    for number, step in enumerate(by.steps[: len(COLOURS)]):
        found = []
        for row in rows[:MOST_ROWS]:
            labels = {a.name: row.labels.get(a.name, step.label) for a in plan.axes}
            own = values.get(tuple(labels.items()), {})
            other = values.get(tuple({**labels, **wanted}.items()), {}).get(column)
            found.append((own, other))
        names = [row.name for row in rows[:MOST_ROWS]]
        own_rows, others = [own for own, _ in found], [other for _, other in found]
        bar = _bar(step.label, names, own_rows, others, column, number, marks)
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": bar["name"],
                "x": bar["y"],
                "y": bar["x"],
                "error_x": bar["error_y"],
                **_noted({**_look(number)["marker"], "size": 10}, own_rows, marks),
                "hovertemplate": f"{bar['name']}<br>%{{y}}: %{{x:.4~g}} %{{text}}<extra></extra>",
            }
        )
    same = [name for name in points[0].labels if name not in wanted]
    to = ", ".join(wanted.values()) + (f" with the same {' and '.join(same)}" if same else "")
    figure = _bar_figure(metric.title, to, metric, traces, "", plan, "")
    all_rows = [row for point in points for row in point.rows.values()]
    notes = [
        figure.explanation,
        _explained(all_rows, marks).strip(),
        f"Marks are the values of {by.name}.",
        _left_out(len(by.steps), len(COLOURS), f"values of {by.name}"),
        _left_out(len(rows), MOST_ROWS, "rows"),
    ]
    shown = min(len(rows), MOST_ROWS)
    yield Figure(
        heading=figure.heading,
        explanation=" ".join(note for note in notes if note),
        traces=traces,
        layout=layout(
            axis("relative to the baseline", rangemode="tozero"),
            axis("", type="category", autorange="reversed"),
            showlegend=True,
            shapes=[line_at_one(upright=True)],
        ),
        height=max(260, 120 + ROW * shown),
    )


def _bar_figure(
    title: str, to: str, metric: Metric, traces: list[dict[str, Any]], x: str, plan: Plan, notes: str
) -> Figure:
    better = {True: "Higher is better. ", False: "Lower is better. ", None: ""}[metric.larger_is_better]
    return Figure(
        heading=f"{title}, relative",
        explanation=f"Relative to {to}, which is 1. {better}{_interval(plan)}".strip() + notes,
        traces=traces,
        layout=layout(
            axis(x, type="category"),
            axis("relative to the baseline", rangemode="tozero"),
            barmode="group",
            showlegend=len(traces) > 1,
            shapes=[line_at_one()],
        ),
    )


def _bar(
    name: str,
    labels: Sequence[str],
    rows: Sequence[dict[str, Any]],
    references: Sequence[float | None],
    column: str,
    number: int,
    marks: Marks,
) -> dict[str, Any]:
    heights: list[float | None] = []
    halves: list[float] = []
    for row, reference in zip(rows, references, strict=True):
        found = row.get(column)
        high = row.get(f"{column}.high")
        heights.append(found / reference if found is not None and reference else None)
        halves.append(
            (high - found) / reference if found is not None and reference and high is not None else 0.0
        )
    return {
        "type": "bar",
        "name": label(name),
        "x": [label(text) for text in labels],
        "y": heights,
        "error_y": {
            "type": "data",
            "array": halves,
            "visible": any(halves),
            "thickness": 1.2,
            "color": INK,
        },
        "marker": {"color": COLOURS[number % len(COLOURS)], "pattern": {"shape": _pattern(number)}},
        "text": [marks.of_point(row) for row in rows],
        "textposition": "outside",
        "hovertemplate": f"{label(name)}<br>%{{x}}: %{{y:.4~g}} %{{text}}<extra></extra>",
    }


def pareto(
    plan: Plan,
    summaries: list[dict[str, Any]],
    x: Axis | None,
    column: str,
    metric: Metric,
    currency: str,
    marks: Marks,
) -> Iterator[Figure]:
    """Cost against performance, a figure for each use of the networks. None if all networks cost the same or
    costs are unknown. If the axis `x` concerns their use, its best value counts."""
    # Networks of different sizes are compared by the cost per host.
    sizes = {row.get("network.hosts") for row in summaries if row.get("network.hosts") is not None}
    cost = "network.cost" if len(sizes) == 1 else "network.cost_per_host"
    points = {point.number: point for point in plan.points}
    uses = [n for n, a in enumerate(plan.axes) if a is not x and not is_design(a)]
    of_use: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in summaries:
        if row.get(cost) is not None and row.get(column) is not None:
            steps = points[row["point"]].steps
            of_use.setdefault(tuple(steps[n].label for n in uses), []).append(row)
    best = x is not None and not is_design(x)
    for labels, rows in itertools.islice(of_use.items(), MOST_FIGURES):
        if best:
            rows = _best(plan, points, rows, column, metric)
        if len({row[cost] for row in rows}) > 1:
            named = ", ".join(f"{plan.axes[n].name} = {text}" for n, text in zip(uses, labels, strict=True))
            along = f"The best over {x.name}. " if best and x is not None else ""
            yield _pareto_figure(plan, points, rows, (cost, column), metric, currency, (named, along), marks)


def _pareto_figure(
    plan: Plan,
    points: dict[int, Point],
    rows: list[dict[str, Any]],
    columns: tuple[str, str],
    metric: Metric,
    currency: str,
    notes: tuple[str, str],
    marks: Marks,
) -> Figure:
    cost, column = columns
    front = pareto_front([(row[cost], row[column]) for row in rows], bool(metric.larger_is_better))
    title = "cost per host" if cost.endswith("per_host") else "cost of the network"
    names, of = _marks(plan, [points[row["point"]] for row in rows])
    traces: list[dict[str, Any]] = []
    if len(front) > 1:
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": "nothing is both cheaper and better",
                "x": [rows[n][cost] for n in front],
                "y": [rows[n][column] * metric.scale for n in front],
                "line": {"color": GREY, "dash": "dot", "width": 2, "shape": "hv"},
                "hoverinfo": "skip",
            }
        )
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
                **_noted({**_look(number)["marker"], "size": 12}, mine, marks),
                "text": [label(marks.after(points[row["point"]].label, row)) for row in mine],
                "hovertemplate": "%{text}<br>%{x:,.6~g}, %{y:.4~g}<extra></extra>",
            }
        )
    unit = f" ({currency})" if currency else ""
    better = "higher" if metric.larger_is_better else "lower"
    use, along = notes
    return Figure(
        heading=f"Cost against performance{': ' if use else ''}{use}",
        explanation=f"{along}Left is cheaper, {better} is better. "
        f"{_interval(plan)}{_left_out(len(names), MOST_LINES, 'kinds of points')}".strip()
        + _explained(rows, marks),
        traces=traces,
        layout=layout(
            axis(f"{title}{unit}", rangemode="tozero"), axis(show.heading(metric), rangemode="tozero")
        ),
    )


def _best(
    plan: Plan, points: dict[int, Point], rows: list[dict[str, Any]], column: str, metric: Metric
) -> list[dict[str, Any]]:
    """For each network, the point with the best result."""
    sign = -1 if metric.larger_is_better else 1
    best: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in rows:
        steps = points[row["point"]].steps
        key = tuple(step.label for a, step in zip(plan.axes, steps, strict=True) if is_design(a))
        if key not in best or sign * row[column] < sign * best[key][column]:
            best[key] = row
    return list(best.values())


def pareto_front(points: Sequence[tuple[float, float]], larger_is_better: bool) -> list[int]:
    """The Pareto front of (cost, performance), by increasing cost."""
    sign = -1 if larger_is_better else 1
    found: list[int] = []
    best: float | None = None
    for number in sorted(range(len(points)), key=lambda n: (points[n][0], sign * points[n][1])):
        if best is None or sign * points[number][1] < best:
            best = sign * points[number][1]
            found.append(number)
    return found


def _marks(plan: Plan, points: list[Point]) -> tuple[list[str], Callable[[Point], str]]:
    """Points with the same look: those of one step of the first axis that changes the network, preferably one
    with names."""
    designs = [n for n, a in enumerate(plan.axes) if is_design(a)]
    named = [n for n in designs if plan.axes[n].named]
    chosen = next(iter([*named, *designs]), None)

    def name(point: Point) -> str:
        return plan.name if chosen is None else point.steps[chosen].label

    return list(dict.fromkeys(name(point) for point in points)), name


def _parts(plan: Plan, families: list[Series], x: Axis | None) -> Iterator[tuple[str, list[Series]]]:
    """Families in as many figures as keep them readable, by the values of the other axis with the fewest."""
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
            yield f"{by.name} = {step.label}", short


def _baseline(plan: Plan, families: list[Series], x: Axis | None) -> tuple[dict[str, str], int | None]:
    """Labels of the baseline, and its place on the axis if it has one place."""
    given = plan.report.baseline
    wanted = {name: text for name, text in given.items() if name in families[0].labels}
    at = None
    if x is not None and x.name in given:
        at = [step.label for step in x.steps].index(given[x.name])
    if not wanted and at is None:
        first = next(iter(families[0].labels))
        wanted = {first: families[0].labels[first]}
    return wanted, at


def _spread(places: list[int]) -> list[int]:
    """At most as many places as bars fit, evenly spaced."""
    if len(places) <= MOST_GROUPS:
        return places
    last = len(places) - 1
    return [places[round(n * last / (MOST_GROUPS - 1))] for n in range(MOST_GROUPS)]


def _is_saturated(row: dict[str, Any], column: str) -> bool:
    """Whether a latency comes from a saturated network, so that it depends on the length of the run."""
    return is_latency(column) and has_note(row, SATURATED)


def _scaled(found: float | None, metric: Metric) -> float | None:
    return None if found is None else found * metric.scale


def _errors(rows: Sequence[dict[str, Any]], column: str, scale: float) -> dict[str, Any]:
    highs = [row.get(f"{column}.high") for row in rows]
    halves = [
        0.0 if high is None else (high - row[column]) * scale for high, row in zip(highs, rows, strict=True)
    ]
    return {"type": "data", "array": halves, "visible": any(halves), "thickness": 1.2}


def _look(number: int) -> dict[str, Any]:
    """Colours first, then dashes, so that lines differ without colours."""
    colour = COLOURS[number % len(COLOURS)]
    return {
        "line": {"color": colour, "dash": DASHES[number // len(COLOURS) % len(DASHES)], "width": 2},
        "marker": {"color": colour, "symbol": MARKS[number % len(MARKS)], "size": 7},
    }


def _pattern(number: int) -> str:
    return ["", "/", "x", "."][number // len(COLOURS) % 4]


def _ticks(x: Axis, numbers: Sequence[float]) -> dict[str, Any]:
    """Values as written, on a logarithmic scale for a geometric range."""
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


def line_at_one(upright: bool = False) -> dict[str, Any]:
    """A line at the value of the baseline; upright, if values are along the horizontal axis."""
    along, across = ("y", "x") if upright else ("x", "y")
    return {
        "type": "line",
        f"{along}ref": "paper",
        f"{along}0": 0,
        f"{along}1": 1,
        f"{across}0": 1,
        f"{across}1": 1,
        "line": {"color": INK, "width": 1, "dash": "dot"},
    }


def _interval(plan: Plan) -> str:
    if len(plan.seeds) < 2:
        return ""
    return (
        f"Means of {len(plan.seeds)} seeds; whiskers are {100 * plan.confidence:.4g} % confidence intervals. "
    )


def _left_out(count: int, most: int, what: str) -> str:
    return f"{count - most} more {what} are in the tables only." if count > most else ""
