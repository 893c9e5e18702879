"""``sweep.html``: the results of a sweep on one page that opens offline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fabricsim.sweep import charts, choice, markdown, show
from fabricsim.sweep.costs import CostTable, total
from fabricsim.sweep.metrics import describe
from fabricsim.sweep.page import Figure, card, document, escape
from fabricsim.sweep.page import table as html_table
from fabricsim.sweep.plan import Plan
from fabricsim.sweep.table import Row

if TYPE_CHECKING:
    from fabricsim.sweep.conduct import Network

__all__ = ["bills", "page"]

MOST_LINES = 1000
MOST_FAILURES = 100
MOST_BILLS = 20


def page(
    plan: Plan,
    summaries: list[dict[str, Any]],
    rows: list[Row],
    networks: list[Network],
    costs: CostTable | None,
) -> str:
    """The page."""
    parts = _parts(plan, summaries, rows, networks, costs)
    return document(plan.name, f"{plan.file.name}: {' × '.join(axis.name for axis in plan.axes)}", parts)


def _parts(
    plan: Plan,
    summaries: list[dict[str, Any]],
    rows: list[Row],
    networks: list[Network],
    costs: CostTable | None,
) -> Iterator[str | Figure]:
    failed = [row for row in rows if row.failure is not None]
    yield '<div class="cards">\n'
    yield card(f"{len(plan.points):,}", "points")
    yield card(
        f"{len(plan.seeds):,}", "runs of each, with different seeds" if len(plan.seeds) > 1 else "run of each"
    )
    yield card(f"{len(failed):,}", "runs failed", bad=bool(failed))
    yield "</div>\n"
    if failed:
        yield _failures(failed)
    if len(failed) < len(rows):
        yield from _figures(plan, summaries, rows, costs)
    yield _table(plan, summaries, rows, costs)
    if costs is not None:
        yield bills([(network.topology, network.items, network.missing) for network in networks], costs)
    yield _file(plan)


def _figures(
    plan: Plan, summaries: list[dict[str, Any]], rows: list[Row], costs: CostTable | None
) -> Iterator[Figure]:
    x = choice.along(plan)
    columns = [(name, describe(name)) for name in choice.results(plan, rows)]
    if x is not None and x.numbers is not None:
        for name, metric in columns:
            if metric is not None:
                yield from charts.curves(plan, summaries, x, name, metric)
    for name, metric in columns:
        if metric is not None:
            yield from charts.bars(plan, summaries, x, name, metric)
    against = choice.performance(plan, rows)
    metric = None if against is None else describe(against)
    if costs is not None and against is not None and metric is not None:
        yield from charts.pareto(plan, summaries, x, against, metric, costs.currency)


def _failures(failed: list[Row]) -> str:
    lines = ""
    for row in failed[:MOST_FAILURES]:
        assert row.failure is not None
        seed = "" if row.case.seed is None else f", seed {row.case.seed}"
        lines += (
            f"<tr><td>{row.case.point.number}</td><td>{escape(row.case.point.label + seed)}</td>"
            f'<td class="wide">{escape(row.failure.kind)}: {escape(row.failure.message)}</td></tr>\n'
        )
    more = (
        f"<p>{len(failed) - MOST_FAILURES} more are in failed.csv.</p>\n"
        if len(failed) > MOST_FAILURES
        else ""
    )
    return (
        '<section class="note">\n<h2>Runs that failed</h2>\n<div class="scroll"><table><thead><tr>'
        f"<th>point</th><th>which</th><th>why</th></tr></thead><tbody>\n{lines}</tbody></table></div>\n{more}</section>\n"
    )


def _table(plan: Plan, summaries: list[dict[str, Any]], rows: list[Row], costs: CostTable | None) -> str:
    headings, lines = markdown.table(plan, summaries[:MOST_LINES], rows, costs)
    note = f"Means of {len(plan.seeds)} seeds, ± half of the interval. " if len(plan.seeds) > 1 else ""
    if len(summaries) > MOST_LINES:
        note += f"The first {MOST_LINES:,} of {len(summaries):,} points. "
    note += "All columns are in summary.csv and summary.parquet, all runs in sweep.csv and sweep.parquet."
    shown = html_table(headings, lines, texts=max(1, len(plan.axes)))
    return f"<section>\n<h2>All points</h2>\n<p>{escape(note)}</p>\n{shown}</section>\n"


def bills(networks: list[tuple[str, list[Any], str | None]], costs: CostTable) -> str:
    """The bill of each network, by the user's table."""
    currency = f" ({costs.currency})" if costs.currency else ""
    text = f"<section>\n<h2>Costs</h2>\n<p>By {escape(costs.file.name)}. {escape(costs.note)}</p>\n"
    for topology, items, missing in networks[:MOST_BILLS]:
        text += f"<h3>{escape(topology)}</h3>\n"
        if missing is not None:
            text += f"<p>{escape(missing)}</p>\n"
            continue
        lines = [
            [item.name, show.number(item.count), show.number(item.each), show.number(item.cost)]
            for item in items
        ]
        lines.append(["all", "", "", show.number(total(items))])
        text += html_table(["item", "how many", f"each{currency}", f"together{currency}"], lines, texts=1)
    if len(networks) > MOST_BILLS:
        text += f"<p>{len(networks) - MOST_BILLS} more networks are in sweep.json.</p>\n"
    return text + "</section>\n"


def _file(plan: Plan) -> str:
    try:
        text = plan.file.read_text(encoding="utf-8")
    except OSError:
        return ""
    return f"<details><summary>The sweep file, to copy</summary>\n<pre>{escape(text)}</pre></details>\n"
