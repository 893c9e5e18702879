"""``sweep.html``: the results of a sweep on one page that opens offline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fabricsim._input import read_text
from fabricsim.sweep import charts, choice, markdown, show
from fabricsim.sweep.costs import CostTable, total
from fabricsim.sweep.findings import Findings
from fabricsim.sweep.metrics import describe
from fabricsim.sweep.page import Figure, card, document, escape
from fabricsim.sweep.page import table as html_table
from fabricsim.sweep.plan import Plan
from fabricsim.sweep.work import Failure, distinct

__all__ = ["bills", "figures", "page"]

MOST_LINES = 1000
MOST_FAILURES = 100
MOST_BILLS = 20


def page(found: Findings) -> str:
    """The page."""
    plan = found.plan
    subtitle = f"{plan.file.name}: {' × '.join(axis.name for axis in plan.axes)}"
    return document(plan.name, subtitle, _parts(found))


def _parts(found: Findings) -> Iterator[str | Figure]:
    plan = found.plan
    yield _answer(found.answer)
    failed = [(row.name, row.failure) for row in found.rows if row.failure is not None]
    yield '<div class="cards">\n'
    yield card(f"{len(plan.points):,}", "points")
    yield card(
        f"{len(plan.seeds):,}", "runs of each, with different seeds" if len(plan.seeds) > 1 else "run of each"
    )
    yield card(f"{len(failed):,}", "runs failed", bad=bool(failed))
    yield "</div>\n"
    if failed:
        yield _failures(failed)
    if found.problems:
        lines = "".join(f"<p>{escape(problem)}</p>\n" for problem in found.problems)
        yield f'<section class="note">\n<h2>What could not be computed</h2>\n{lines}</section>\n'
    yield from figures(found)
    yield _notes(found)
    yield _table(found)
    if found.costs is not None:
        bill = [(network.topology, network.items, network.missing) for network in found.networks]
        yield bills(bill, found.costs)
    yield _file(plan)


def figures(found: Findings) -> Iterator[Figure]:
    """The figures, the one that answers first: cost against performance where there are costs, else
    curves."""
    plan, summaries, marks = found.plan, found.summaries, found.marks
    if not any(row["seeds"] for row in summaries):
        return
    x = choice.along(plan)
    against = choice.performance(plan, found.rows)
    metric = None if against is None else describe(against)
    if found.costs is not None and against is not None and metric is not None:
        yield from charts.pareto(plan, summaries, x, against, metric, found.costs.currency, marks)
    columns = [(name, describe(name)) for name in choice.results(plan, found.rows)]
    if x is not None and x.numbers is not None:
        for name, metric in columns:
            if metric is not None:
                yield from charts.curves(plan, summaries, x, name, metric, marks)
    for name, metric in columns:
        if metric is not None:
            yield from charts.bars(plan, summaries, x, name, metric, marks)


def _answer(sentences: list[str]) -> str:
    first, *others = sentences
    more = "".join(f"<p>{escape(sentence)}</p>\n" for sentence in others)
    return f'<section class="answer">\n<h2>The answer</h2>\n<p><b>{escape(first)}</b></p>\n{more}</section>\n'


def _notes(found: Findings) -> str:
    """What the marks mean, with the message of the first point of each kind."""
    lines = [
        [mark, kind, f"{count:,}", message] for mark, kind, count, message in found.marks.lines(found.rows)
    ]
    if not lines:
        return ""
    shown = html_table(["mark", "note", "points", "of the first of them"], lines, texts=4)
    return f"<section>\n<h2>Notes</h2>\n<p>How far these numbers are valid.</p>\n{shown}</section>\n"


def _failures(failed: Sequence[tuple[str, Failure]]) -> str:
    groups = distinct(failed)
    lines = "".join(
        f"<tr><td>{escape(which)}</td>"
        f'<td class="wide">{escape(failure.kind)}: {escape(failure.message)}</td></tr>\n'
        for which, failure in groups[:MOST_FAILURES]
    )
    more = (
        f"<p>{len(groups) - MOST_FAILURES} more are in failed.csv.</p>\n"
        if len(groups) > MOST_FAILURES
        else ""
    )
    return (
        '<section class="note">\n<h2>Runs that failed</h2>\n<div class="scroll"><table><thead><tr>'
        f"<th>which</th><th>why</th></tr></thead><tbody>\n{lines}</tbody></table></div>\n{more}</section>\n"
    )


def _table(found: Findings) -> str:
    plan, points = found.plan, len(found.summaries)
    headings, lines = markdown.table(found)
    note = f"Means of {len(plan.seeds)} seeds, ± half of the interval. " if len(plan.seeds) > 1 else ""
    legend = found.marks.legend(found.summaries)
    note += f"Letters in brackets are notes: {legend}. " if legend else ""
    if points > MOST_LINES:
        note += f"The first {MOST_LINES:,} of {points:,} points. "
    note += "All columns are in summary.csv and summary.parquet, all runs in sweep.csv and sweep.parquet."
    shown = html_table(headings, lines[:MOST_LINES], texts=max(1, len(plan.axes)))
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
        text = read_text(plan.file, errors="replace")
    except OSError:
        return ""
    return f"<details><summary>The sweep file, to copy</summary>\n<pre>{escape(text)}</pre></details>\n"
