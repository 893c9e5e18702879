"""The results of a sweep as a table in Markdown."""

from __future__ import annotations

from typing import Any

from fabricsim.sweep import choice, show
from fabricsim.sweep.costs import CostTable
from fabricsim.sweep.metrics import Metric, describe
from fabricsim.sweep.plan import Plan
from fabricsim.sweep.table import Row

__all__ = ["page", "table"]


def table(
    plan: Plan, summaries: list[dict[str, Any]], rows: list[Row], costs: CostTable | None
) -> tuple[list[str], list[list[str]]]:
    """Headings, and a line of cells for each point."""
    columns: list[tuple[str, Metric]] = []
    names = choice.results(plan, rows)
    if costs is not None:
        names += ["network.cost", "network.cost_per_host"]
    for name in dict.fromkeys(names):
        metric = describe(name, "" if costs is None else costs.currency)
        if metric is not None:
            columns.append((name, metric))
    headings = [axis.name for axis in plan.axes] or ["experiment"]
    headings += [show.heading(metric) for _, metric in columns]
    noted = any(row["notes"] for row in summaries)
    failures = any(row["failed"] for row in summaries)
    points = {point.number: point for point in plan.points}
    lines = []
    for row in summaries:
        line = [step.label for step in points[row["point"]].steps] or [plan.name]
        line += [show.with_interval(row, name, metric) for name, metric in columns]
        line += [row["notes"] or ""] if noted else []
        line += [str(row["failed"] or "")] if failures else []
        lines.append(line)
    return [*headings, *(["notes"] if noted else []), *(["failed"] if failures else [])], lines


def page(plan: Plan, summaries: list[dict[str, Any]], rows: list[Row], costs: CostTable | None) -> str:
    """The page."""
    headings, lines = table(plan, summaries, rows, costs)
    text = f"# {_cell(plan.name)}\n\n| " + " | ".join(_cell(heading) for heading in headings) + " |\n"
    text += "|" + " --- |" * len(headings) + "\n"
    for line in lines:
        text += "| " + " | ".join(_cell(cell) for cell in line) + " |\n"
    if len(plan.seeds) > 1:
        text += (
            f"\nMeans of {len(plan.seeds)} seeds, ± half of the {plan.confidence:.4g} confidence interval.\n"
        )
    if costs is not None and costs.note:
        text += f"\nCosts: {_cell(costs.note)}\n"
    return text


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
