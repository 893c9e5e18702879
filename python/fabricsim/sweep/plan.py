"""The sweep file: a base experiment, axes along which it changes, seeds. docs/formats/sweep.md.

The points are the Cartesian product of the axes. The meaning of keys is not known here; the simulation core
reports errors when it builds the experiment of a point.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from fabricsim.sweep.cluster import ClusterSettings
from fabricsim.sweep.derived import Derived
from fabricsim.sweep.derived import read as read_derived
from fabricsim.sweep.metrics import COLUMNS, DERIVED, describe
from fabricsim.sweep.quantity import Quantity
from fabricsim.sweep.section import Section, nearest, read, shortened
from fabricsim.sweep.toml_value import inline
from fabricsim.sweep.values import shown_count, values

__all__ = ["Axis", "Case", "Plan", "Point", "ReportSettings", "Step", "load"]

SEED = "run.seed"
# Top-level tables of an experiment; a table under one of these names is a dotted key without its quotes.
_TOP = ("network", "job", "mpi", "run")
# Runs of a sweep: points times seeds. Each takes some kilobytes of memory.
MOST_RUNS = 1_000_000
# Nearer to 1, the probability of the quantile rounds to 1.
_MOST_CONFIDENCE = 0.999999999
# Greatest seed of an experiment.
_LARGEST_SEED = 2**63 - 1
# Columns of the tables that no axis may have, beside the columns of results.
_OWN_COLUMNS = ("point", "seed", "state", "error", "notes", "cache_key", "digest", "seeds", "failed")


@dataclass(frozen=True)
class Step:
    """One value of an axis: its name, and its changes."""

    label: str
    changes: Mapping[str, Any]
    experiment: Path | None = None


@dataclass(frozen=True)
class Axis:
    """Something that changes from point to point.

    Attributes
    ----------
    name : str
        The key, where there is one only; otherwise a name.
    keys : tuple of str
        All keys that its steps change.
    named : bool
        Whether its steps have names of their own, as variants do.
    """

    name: str
    steps: tuple[Step, ...]
    keys: tuple[str, ...]
    named: bool

    @property
    def numbers(self) -> list[float] | None:
        """The values as numbers, quantities in the smallest unit; None if they are not numbers."""
        if self.named or len(self.keys) != 1:
            return None
        found: list[float] = []
        for step in self.steps:
            value = step.changes[self.keys[0]]
            if isinstance(value, str):
                quantity = Quantity.parse(value)
                if quantity is None:
                    return None
                found.append(float(quantity.amount))
            elif isinstance(value, (int, float)) and not isinstance(value, bool):
                if not abs(value) <= sys.float_info.max:
                    return None
                found.append(float(value))
            else:
                return None
        return found


@dataclass(frozen=True)
class Point:
    """One combination of the axes: an experiment without its seed."""

    number: int
    experiment: Path
    steps: tuple[Step, ...]
    overrides: Mapping[str, Any]

    @property
    def label(self) -> str:
        """Its steps as text."""
        return ", ".join(step.label for step in self.steps) or "the experiment"


@dataclass(frozen=True)
class Case:
    """One run: a point and a seed; None stands for the experiment's own seed."""

    point: Point
    seed: int | None

    @property
    def overrides(self) -> list[tuple[str, str]]:
        """Keys and values in TOML, as for ``--set``; tables before their contents."""
        given = dict(self.point.overrides)
        if self.seed is not None:
            given[SEED] = self.seed
        return [(key, inline(given[key])) for key in sorted(given, key=lambda key: key.count("."))]


@dataclass(frozen=True)
class ReportSettings:
    """The contents of the page; None selects a default."""

    x: str | None = None
    y: tuple[str, ...] | None = None
    baseline: Mapping[str, str] = field(default_factory=dict)
    performance: str | None = None


@dataclass(frozen=True)
class Plan:
    """The contents of a sweep file."""

    file: Path
    """The sweep file."""
    name: str
    """Heading of the page."""
    axes: tuple[Axis, ...]
    """What varies."""
    points: tuple[Point, ...]
    """All combinations of the axes."""
    seeds: tuple[int | None, ...]
    """Of the runs of each point; None stands for the experiment's own seed."""
    confidence: float
    """Level of the confidence intervals."""
    interference: bool
    """Whether each job of ranks also runs alone."""
    keep_results: bool
    """Whether whole results are cached, and not only summaries."""
    costs: Path | None
    """The cost table."""
    derived: tuple[Derived, ...]
    """Columns that formulas make."""
    report: ReportSettings
    """The contents of the page."""
    cluster: ClusterSettings
    """Where the runs execute."""

    @property
    def cases(self) -> Iterator[Case]:
        """All runs; the seeds of a point are adjacent."""
        for point in self.points:
            for seed in self.seeds:
                yield Case(point, seed)


def load(file: str | PathLike[str]) -> Plan:
    """Reads a sweep file.

    Raises
    ------
    SweepError
        Something in it is wrong.
    """
    file = Path(file)
    given = read(file)
    axes = _axes(given)
    common = _changes(given.section("set"))
    base = given.path("experiment")
    seeds = _seeds(given, math.prod(len(axis.steps) for axis in axes))
    _no_key_twice(given, axes, seeds)
    _no_column_twice(given, axes)
    if base is None and not any(all(step.experiment for step in axis.steps) for axis in axes):
        raise given.error("experiment", "missing; expected the path of an experiment file")
    confidence = given.number("confidence")
    confidence = 0.95 if confidence is None else confidence
    if not 0 < confidence <= _MOST_CONFIDENCE:
        message = f"expected a number between 0 and 1, at most {_MOST_CONFIDENCE}, found {confidence!r}"
        raise given.error("confidence", message)
    keep = given.one_of("keep", ["summaries", "results"])
    derived = read_derived(given.sections("derived"))
    plan = Plan(
        file=file,
        name=given.text("name") or file.stem,
        axes=tuple(axes),
        points=tuple(_points(base, common, axes)),
        seeds=seeds,
        confidence=confidence,
        interference=given.flag("interference"),
        keep_results=keep == "results",
        costs=given.path("costs"),
        derived=derived,
        report=_report(given.section("report"), axes, derived),
        cluster=ClusterSettings.of(given.section("cluster")),
    )
    given.close()
    return plan


def _axes(given: Section) -> list[Axis]:
    """The axes. Those that give too many points together are refused before the next one is read."""
    axes: list[Axis] = []
    points = 1
    for number, section in enumerate(given.sections("axis")):
        axes.append(_axis(section))
        points *= len(axes[-1].steps)
        if points > MOST_RUNS:
            factors = " x ".join(f"{len(axis.steps):,}" for axis in axes if len(axis.steps) > 1)
            raise given.error(
                ("axis", str(number)),
                f"with the axes above gives {shown_count(points)} points ({factors}); at most {MOST_RUNS:,} "
                "runs are possible: give fewer values",
            )
    return axes


def _points(base: Path | None, common: dict[str, Any], axes: list[Axis]) -> Iterator[Point]:
    for number, steps in enumerate(itertools.product(*(axis.steps for axis in axes))):
        overrides = dict(common)
        experiment = base
        for step in steps:
            overrides.update(step.changes)
            experiment = step.experiment or experiment
        assert experiment is not None
        yield Point(number, experiment, steps, overrides)


def _axis(section: Section) -> Axis:
    section.only("name", "key", "values", "zip", "variants")
    kinds = [kind for kind in ("key", "zip", "variants") if kind in section]
    if len(kinds) != 1:
        raise section.error("", "expected exactly one of 'key' (with 'values'), 'zip' and 'variants'")
    name = section.text("name")
    if kinds[0] == "key":
        key = _key(section, "key", section.text("key") or "")
        steps = [Step(_label(value), {key: value}) for value in values(section, "values")]
        axis = Axis(name or key, tuple(steps), (key,), named=False)
    elif kinds[0] == "zip":
        axis = _zip(section, name)
    else:
        axis = _variants(section, name)
    section.close()
    return axis


def _zip(section: Section, name: str | None) -> Axis:
    given = section.section("zip")
    assert given is not None
    columns: dict[str, list[Any]] = {}
    for key in given:
        column = columns[_key(given, key, key)] = values(given, key, distinct=False)
        count = len(column) * len(list(given))
        if count > MOST_RUNS:
            message = f"gives {count:,} values with the other keys; at most {MOST_RUNS:,} are possible"
            raise given.error(key, message)
    if not columns:
        raise section.error("zip", 'expected keys with their values, such as "run.seed" = [1, 2]')
    lengths = {key: len(column) for key, column in columns.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{length} of '{key}'" for key, length in lengths.items())
        raise section.error("zip", f"expected as many values of each key, found {found}")
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    steps = [Step(", ".join(_label(value) for value in row.values()), row) for row in rows]
    seen: set[str] = set()
    for step in steps:
        changes = repr(step.changes)
        if changes in seen:
            raise section.error("zip", f"'{shortened(step.label)}' is there twice")
        seen.add(changes)
    return Axis(name or " and ".join(columns), tuple(steps), tuple(columns), named=False)


def _variants(section: Section, name: str | None) -> Axis:
    given = section.section("variants")
    assert given is not None
    steps = []
    for label in given:
        variant = given.section(label)
        assert variant is not None
        experiment = variant.path("experiment")
        changes = {
            _key(variant, key, key): variant.get(key, "", object) for key in variant if key != "experiment"
        }
        steps.append(Step(label, changes, experiment))
    if not steps:
        raise section.error("variants", "expected a table of changes for each name")
    keys = dict.fromkeys(key for step in steps for key in step.changes)
    return Axis(name or "variant", tuple(steps), tuple(keys), named=True)


def _changes(section: Section | None) -> dict[str, Any]:
    if section is None:
        return {}
    return {_key(section, key, key): section.get(key, "", object) for key in section}


def _key(section: Section, place: str, key: str) -> str:
    """A key of an experiment; the simulation core checks that it exists."""
    top = key.split(".")[0]
    if key in _TOP:
        example = '"network.topology.groups" = 9'
        raise section.error(place, f"expected whole keys, in quotes: {example}")
    if top not in _TOP or not all(key.split(".")):
        raise section.error(
            place,
            f"'{shortened(key)}' is no key of an experiment{nearest(top, _TOP)}; "
            "expected one such as network.topology.groups",
        )
    return key


def _seeds(given: Section, points: int) -> tuple[int | None, ...]:
    """The seeds of each of this many points."""
    seeds = given.get("seeds", "how many, or a list of seeds", int, list)
    if seeds is None:
        return (None,)
    if isinstance(seeds, int):
        if seeds < 1:
            raise given.error("seeds", f"expected at least 1, found {shortened(seeds)}")
    elif not seeds:
        raise given.error("seeds", "an empty list: there would be nothing to run")
    count = seeds if isinstance(seeds, int) else len(seeds)
    if count * points > MOST_RUNS:
        of = f"{shown_count(count)} seed{'s' * (count > 1)} of {points:,} point{'s' * (points > 1)}"
        raise given.error(
            "seeds",
            f"{of} give {shown_count(count * points)} runs; at most {MOST_RUNS:,} are possible: give fewer "
            "seeds or fewer values",
        )
    if isinstance(seeds, int):
        return tuple(range(1, seeds + 1))
    for seed in seeds:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= _LARGEST_SEED:
            raise given.error(
                "seeds", f"expected whole numbers from 0 to 2^63 - 1, found {shortened(repr(seed))}"
            )
    if len(set(seeds)) < len(seeds):
        raise given.error("seeds", "expected different numbers")
    return tuple(seeds)


def _no_key_twice(given: Section, axes: list[Axis], seeds: tuple[int | None, ...]) -> None:
    keys: set[str] = {SEED} if seeds != (None,) else set()
    names: set[str] = set()
    for number, axis in enumerate(axes):
        if axis.name in names:
            raise given.error(
                ("axis", str(number)), f"there is another axis '{axis.name}'; give one of them a 'name'"
            )
        names.add(axis.name)
        for key in axis.keys:
            if key in keys:
                by = "'seeds'" if key == SEED and seeds != (None,) else "another axis"
                raise given.error(("axis", str(number)), f"'{key}' is changed by {by}, too")
        keys.update(axis.keys)


def _no_column_twice(given: Section, axes: list[Axis]) -> None:
    """An error for an axis that has a column of the name of another column of the tables."""
    taken = dict.fromkeys(_OWN_COLUMNS, "a column of each sweep")
    if any(step.experiment is not None for axis in axes for step in axis.steps):
        taken["experiment"] = "the column of the experiment files"
    for number, axis in enumerate(axes):
        for name in [*([axis.name] if axis.named else []), *axis.keys]:
            other = taken.get(name) or (None if describe(name) is None else "a column of results")
            if other is not None:
                raise given.error(
                    ("axis", str(number)),
                    f"'{name}' would be a column of this axis and {other}; expected another name, or another "
                    "key",
                )
            taken[name] = f"one of axis '{axis.name}'"


def _report(section: Section | None, axes: list[Axis], derived: tuple[Derived, ...]) -> ReportSettings:
    if section is None:
        return ReportSettings()
    names = [axis.name for axis in axes]
    names_of_derived = [column.name for column in derived]
    x = section.one_of("x", names)
    if x is not None and next(axis for axis in axes if axis.name == x).numbers is None:
        raise section.error("x", f"'{x}' is no axis of numbers")
    y = section.get("y", "a list of columns", list)
    performance = section.text("performance")
    for key, columns in {"y": y or [], "performance": [] if performance is None else [performance]}.items():
        for column in columns:
            unknown = str(column).startswith(f"{DERIVED}.") and column not in names_of_derived
            if not isinstance(column, str) or describe(column) is None or unknown:
                near = nearest(str(column), [*COLUMNS, *names_of_derived])
                raise section.error(key, f"'{column}' is no column of results{near}")
    baseline = section.section("baseline")
    values: dict[str, str] = {}
    if baseline is not None:
        for name in baseline:
            axis = next((axis for axis in axes if axis.name == name), None)
            if axis is None:
                raise baseline.error(name, f"there is no such axis{nearest(name, names)}")
            label = _label(baseline.get(name, "", object))
            labels = [step.label for step in axis.steps]
            if label not in labels:
                raise baseline.error(name, f"'{label}' is no value of this axis{nearest(label, labels)}")
            values[name] = label
    settings = ReportSettings(
        x=x,
        y=None if y is None else tuple(y),
        baseline=values,
        performance=performance,
    )
    section.close()
    return settings


def _label(value: Any) -> str:
    """A value as text."""
    return value if isinstance(value, str) else inline(value)
