"""Everything that a finished sweep has found, from which its tables, its page and its answer are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabricsim.sweep.answer import answer
from fabricsim.sweep.marks import Marks
from fabricsim.sweep.table import Row, summary_rows

if TYPE_CHECKING:
    from fabricsim.sweep.conduct import Network
    from fabricsim.sweep.costs import CostTable
    from fabricsim.sweep.plan import Plan

__all__ = ["Findings"]


@dataclass(frozen=True)
class Findings:
    """The results of a sweep.

    Attributes
    ----------
    plan : Plan
        The sweep file.
    rows : list of Row
        One for each run.
    summaries : list of dict
        One for each point.
    networks : list of Network
        The bills.
    costs : CostTable or None
        The prices.
    answer : list of str
        What the sweep answers, in sentences.
    marks : Marks
        The letters of notes.
    problems : list of str
        What could not be computed, and why.
    """

    plan: Plan
    rows: list[Row]
    summaries: list[dict[str, Any]]
    networks: list[Network]
    costs: CostTable | None
    answer: list[str]
    marks: Marks
    problems: list[str]

    @classmethod
    def of(
        cls,
        plan: Plan,
        rows: list[Row],
        networks: list[Network],
        costs: CostTable | None,
        problems: list[str],
    ) -> Findings:
        """What these runs have found."""
        summaries = summary_rows(plan, rows)
        said = answer(plan, summaries, None if costs is None else costs.currency)
        return cls(plan, rows, summaries, networks, costs, said, Marks.of(summaries), problems)
