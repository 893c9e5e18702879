"""The tables of a sweep: one row for each run, and one for each point, with means over its seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow

from fabricsim.sweep.confidence import mean
from fabricsim.sweep.metrics import SATURATED, is_latency
from fabricsim.sweep.plan import Axis, Case, Plan, Point
from fabricsim.sweep.toml_value import inline
from fabricsim.sweep.work import Failure

__all__ = ["Row", "axis_columns", "has_note", "note_kinds", "runs_table", "summary_rows", "summary_table"]


@dataclass
class Row:
    """A case and its outcome."""

    case: Case
    seed: int | None = None
    key: str | None = None
    digest: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    measures: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    """The first message of each kind of note."""
    failure: Failure | None = None

    @property
    def name(self) -> str:
        """``point 3 (torus, 0.4, seed 1)``."""
        seed = "" if self.case.seed is None else f", seed {self.case.seed}"
        return f"point {self.case.point.number} ({self.case.point.label}{seed})"


def axis_columns(axis: Axis) -> dict[str, Callable[[Point, int], Any]]:
    """The columns of an axis, each with a function for its value: the name of a step, if it has one, and each
    changed key."""
    columns: dict[str, Callable[[Point, int], Any]] = {}
    if axis.named:
        columns[axis.name] = lambda point, number: point.steps[number].label
        if any(step.experiment is not None for step in axis.steps):
            columns["experiment"] = lambda point, number: str(point.experiment)
    for key in axis.keys:
        columns[key] = lambda point, number, key=key: point.steps[number].changes.get(key)  # type: ignore[misc]
    return columns


def runs_table(plan: Plan, rows: list[Row]) -> pyarrow.Table:
    """One row for each run, in the order of points and seeds."""
    columns: dict[str, list[Any]] = {
        "point": [row.case.point.number for row in rows],
        "seed": [row.seed if row.seed is not None else row.case.seed for row in rows],
    }
    columns |= _axes(plan, [row.case.point for row in rows])
    columns["state"] = ["done" if row.failure is None else "failed" for row in rows]
    columns["error"] = [None if row.failure is None else row.failure.message for row in rows]
    columns["notes"] = [_kinds(row.notes) for row in rows]
    columns["cache_key"] = [row.key for row in rows]
    columns["digest"] = [row.digest for row in rows]
    facts, measures = _names(rows)
    columns |= {name: [row.facts.get(name) for row in rows] for name in facts}
    columns |= {name: [row.measures.get(name) for row in rows] for name in measures}
    return _table(columns)


def summary_rows(plan: Plan, rows: list[Row]) -> list[dict[str, Any]]:
    """One row for each point: facts unchanged; for each measure the mean and the ends ``.low`` and ``.high``
    of its confidence interval, None with fewer than two seeds; for a boolean, whether it holds for all
    seeds. Latencies of saturated runs depend on the length of the run, so that they have no mean."""
    of_point: dict[int, list[Row]] = {}
    for row in rows:
        of_point.setdefault(row.case.point.number, []).append(row)
    summaries = []
    facts, measures = _names(rows)
    for number, runs in of_point.items():
        done = [row for row in runs if row.failure is None]
        summary: dict[str, Any] = {"point": number, "seeds": len(done), "failed": len(runs) - len(done)}
        summary["notes"] = _kinds(dict.fromkeys(kind for row in done for kind in row.notes))
        for name in facts:
            summary[name] = done[0].facts.get(name) if done else None
        for name in measures:
            is_valid = not (is_latency(name) and has_note(summary, SATURATED))
            values = [row.measures.get(name) for row in done] if is_valid else []
            summary |= _over_seeds(name, values, plan.confidence)
        summaries.append(summary)
    return summaries


def summary_table(plan: Plan, summaries: list[dict[str, Any]]) -> pyarrow.Table:
    """`summary_rows` with the axes as columns."""
    points = {point.number: point for point in plan.points}
    columns: dict[str, list[Any]] = {"point": [row["point"] for row in summaries]}
    columns |= _axes(plan, [points[row["point"]] for row in summaries])
    for name in dict.fromkeys(name for row in summaries for name in row):
        columns.setdefault(name, [row.get(name) for row in summaries])
    return _table(columns)


def note_kinds(row: Mapping[str, Any]) -> list[str]:
    """The kinds of the notes of a point, or of a run, of one of the tables."""
    return (row.get("notes") or "").split(", ") if row.get("notes") else []


def has_note(row: Mapping[str, Any], kinds: str | Iterable[str]) -> bool:
    """Whether a row of one of the tables has a note of one of these kinds."""
    wanted = {kinds} if isinstance(kinds, str) else set(kinds)
    return not wanted.isdisjoint(note_kinds(row))


def _kinds(kinds: Iterable[str]) -> str | None:
    """Kinds of notes as one text."""
    return ", ".join(kinds) or None


def _over_seeds(name: str, values: list[Any], level: float) -> dict[str, Any]:
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, bool) for value in known):
        return {name: all(known)}
    if not known:
        return {name: None, f"{name}.low": None, f"{name}.high": None}
    over = mean(known, level)
    return {name: over.mean, f"{name}.low": over.low, f"{name}.high": over.high}


def _axes(plan: Plan, points: list[Point]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    for number, axis in enumerate(plan.axes):
        for name, value in axis_columns(axis).items():
            columns[name] = _alike([value(point, number) for point in points])
    return columns


def _alike(values: list[Any]) -> list[Any]:
    """Values of one type: numbers unchanged, all others as text."""
    known = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in known):
        return values
    # Arrow has 64 bits; the simulation refuses longer numbers, and the row says so.
    if all(_is_number(value) for value in known):
        whole = all(isinstance(value, int) for value in known)
        return values if whole else [None if value is None else float(value) for value in values]
    return [value if value is None or isinstance(value, str) else inline(value) for value in values]


def _is_number(value: Any) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return -(2**63) <= value < 2**63
    return isinstance(value, float)


def _names(rows: list[Row]) -> tuple[list[str], list[str]]:
    """Names of facts and of measures, in the order of first occurrence."""
    facts = dict.fromkeys(name for row in rows for name in row.facts)
    measures = dict.fromkeys(name for row in rows for name in row.measures)
    return list(facts), list(measures)


def _table(columns: dict[str, list[Any]]) -> pyarrow.Table:
    """Empty columns hold text; whole numbers among others become floating-point numbers."""
    arrays = {}
    for name, values in columns.items():
        if any(isinstance(value, float) for value in values):
            values = [None if value is None else float(value) for value in values]
        array = pyarrow.array(values)
        arrays[name] = array.cast(pyarrow.string()) if pyarrow.types.is_null(array.type) else array
    return pyarrow.table(arrays)
