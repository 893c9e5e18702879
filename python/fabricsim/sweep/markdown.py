"""The results of a sweep as a table in Markdown."""

from __future__ import annotations

from typing import Any

from fabricsim.sweep import choice, show
from fabricsim.sweep.findings import Findings
from fabricsim.sweep.metrics import SATURATED, Metric, describe, is_latency
from fabricsim.sweep.table import has_note

__all__ = ["page", "table"]


def table(found: Findings) -> tuple[list[str], list[list[str]]]:
    """Headings, and a line of cells for each point, whose last name has the marks of its notes."""
    plan, summaries, costs = found.plan, found.summaries, found.costs
    columns: list[tuple[str, Metric]] = []
    names = choice.results(plan, found.rows)
    if costs is not None:
        names += ["network.cost", "network.cost_per_host"]
    for name in dict.fromkeys(names):
        metric = describe(name, "" if costs is None else costs.currency)
        if metric is not None:
            columns.append((name, metric))
    headings = [axis.name for axis in plan.axes] or ["experiment"]
    headings += [show.heading(metric) for _, metric in columns]
    failures = any(row["failed"] for row in summaries)
    points = {point.number: point for point in plan.points}
    lines = []
    for row in summaries:
        line = [step.label for step in points[row["point"]].steps] or [plan.name]
        line[-1] = found.marks.after(line[-1], row)
        line += [_shown(row, name, metric) for name, metric in columns]
        line += [str(row["failed"] or "")] if failures else []
        lines.append(line)
    return [*headings, *(["failed"] if failures else [])], lines


def _shown(row: dict[str, Any], name: str, metric: Metric) -> str:
    if is_latency(name) and has_note(row, SATURATED):
        return "saturated"
    return show.with_interval(row, name, metric)


def page(found: Findings) -> str:
    """The page."""
    plan, costs = found.plan, found.costs
    headings, lines = table(found)
    text = (
        f"# {_cell(plan.name)}\n\n{' '.join(_cell(sentence) for sentence in found.answer)}\n\n| "
        + " | ".join(_cell(heading) for heading in headings)
        + " |\n"
    )
    text += "|" + " --- |" * len(headings) + "\n"
    for line in lines:
        text += "| " + " | ".join(_cell(cell) for cell in line) + " |\n"
    if len(plan.seeds) > 1:
        text += (
            f"\nMeans of {len(plan.seeds)} seeds, ± half of the {plan.confidence:.4g} confidence interval.\n"
        )
    text += "".join(
        f"\n{mark} {kind} ({points} point{'s' * (points != 1)}): {_cell(message)}\n"
        for mark, kind, points, message in found.marks.lines(found.rows)
    )
    text += "".join(f"\nNot computed: {_cell(problem)}.\n" for problem in found.problems)
    if costs is not None and costs.note:
        text += f"\nCosts: {_cell(costs.note)}\n"
    return text


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
