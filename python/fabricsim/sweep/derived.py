"""Derived columns of a sweep: formulas over the columns of results. docs/formats/sweep.md, "Derived columns".

A formula is an arithmetic expression of Python's grammar whose operands are numbers, columns in brackets and
the functions below. `ast` parses it; nothing of it is executed as code.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabricsim.sweep.metrics import COLUMNS, DERIVED, SATURATED, describe, is_latency
from fabricsim.sweep.section import Section, nearest

if TYPE_CHECKING:
    from fabricsim.sweep.plan import Axis, Plan
    from fabricsim.sweep.table import Row

__all__ = ["Derived", "add", "read"]

# A value is a number, or one for each job of a column with `*`; None where a run does not have it.
Value = float | list[float | None] | None

# A longer or deeper formula is a mistake: several derived columns can share the work.
MOST_CHARACTERS = 10_000
MOST_DEPTH = 200
# Squares of values, as the standard deviation has, and sums of them are still finite.
LARGEST = 1e100
_COLUMN = re.compile(r"\[([^\[\]]*)\]")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def _geometric_mean(values: Sequence[float]) -> float:
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))


_OVER_JOBS: dict[str, Callable[[Sequence[float]], float]] = {
    "sum": math.fsum,
    "mean": lambda values: math.fsum(values) / len(values),
    "geomean": _geometric_mean,
    "min": min,
    "max": max,
}
_BASELINE = "baseline"
_FAILURES = (ArithmeticError, RecursionError, TypeError, ValueError)
_SPLIT = "split it into several derived columns"
_FUNCTIONS = [*_OVER_JOBS, _BASELINE]


@dataclass(frozen=True)
class Derived:
    """A derived column.

    Attributes
    ----------
    name : str
        Name of the column, ``derived.NAME``.
    formula : str
        The formula as written.
    columns : tuple of str
        The columns in it, in the order of the variables ``_0``, ``_1``, ... of `tree`.
    tree : ast.expr
        The formula, checked.
    """

    name: str
    formula: str
    columns: tuple[str, ...]
    tree: ast.expr


def read(sections: Sequence[Section]) -> tuple[Derived, ...]:
    """The tables ``[[derived]]``.

    Raises
    ------
    SweepError
        A name or a formula is wrong.
    """
    found: dict[str, Derived] = {}
    for section in sections:
        name = section.text("name")
        if name is None or not _NAME.fullmatch(name):
            raise section.error("name", "expected a name of letters, digits, '_' and '-', such as 'rate'")
        full = f"{DERIVED}.{name}"
        if full in found:
            raise section.error("name", f"there is another derived column '{name}'")
        formula = section.text("formula")
        if formula is None:
            raise section.error("formula", "missing; expected one such as '1 / [job.halo.time_ns]'")
        found[full] = _parsed(section, full, formula, list(found))
        section.close()
    return tuple(found.values())


def _parsed(section: Section, name: str, formula: str, earlier: list[str]) -> Derived:
    if len(formula) > MOST_CHARACTERS:
        message = f"has {len(formula):,} characters; at most {MOST_CHARACTERS:,} are possible: {_SPLIT}"
        raise section.error("formula", message)
    columns: dict[str, int] = {}

    def variable(match: re.Match[str]) -> str:
        column = match.group(1).strip()
        if column.startswith(f"{DERIVED}."):
            if column not in earlier:
                message = f"there is no derived column '{column}' above{nearest(column, earlier)}"
                raise section.error("formula", message)
        elif describe(column) is None:
            raise section.error("formula", f"'{column}' is no column of results{nearest(column, COLUMNS)}")
        return f" _{columns.setdefault(column, len(columns))} "

    text = _COLUMN.sub(variable, formula)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        message = "not an expression; expected numbers, columns in brackets, + - * / ** and parentheses"
        raise section.error("formula", message) from None
    _check_depth(section, tree)
    _check(section, tree)
    if not columns:
        raise section.error("formula", "no column in brackets, such as [job.halo.time_ns]")
    derived = Derived(name, formula, tuple(columns), tree)
    if _is_list(tree, derived.columns):
        functions = ", ".join(f"{name}()" for name in _OVER_JOBS)
        message = f"one value for each job; expected one of {functions} around the column with '*'"
        raise section.error("formula", message)
    # Once before the runs, so that no formula fails after all of them.
    ones = dict.fromkeys((column.replace(".*.", ".a.") for column in derived.columns), 1.0)
    try:
        _Evaluation(derived.columns, ones, ones, {}).value(tree, ones)
    except _FAILURES as error:
        raise section.error("formula", f"cannot be evaluated: {type(error).__name__}: {error}") from None
    return derived


def _check_depth(section: Section, tree: ast.expr) -> None:
    """An error for operations in operations, of which a recursion would not reach the end."""
    level: list[ast.AST] = [tree]
    depth = 0
    while level:
        level = [inner for node in level for inner in ast.iter_child_nodes(node)]
        depth += 1
        if depth > MOST_DEPTH:
            message = f"more than {MOST_DEPTH} operations one after the other or in each other: {_SPLIT}"
            raise section.error("formula", message)


def _check(section: Section, node: ast.expr) -> None:
    """An error for everything that a formula cannot have."""
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            _check(section, left)
            _check(section, right)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            _check(section, operand)
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]):
            if name not in _FUNCTIONS:
                known = ", ".join(_FUNCTIONS)
                message = f"unknown function '{name}'{nearest(name, _FUNCTIONS)}; the functions are {known}"
                raise section.error("formula", message)
            _check(section, argument)
        case ast.Constant(value=bool()):
            raise section.error("formula", "expected numbers, not truth values")
        case ast.Constant(value=int() | float() as number):
            if not abs(number) <= LARGEST:
                raise section.error("formula", f"a number above {LARGEST:g}; expected smaller numbers")
        case ast.Name(id=name) if re.fullmatch(r"_\d+", name):
            pass
        case ast.Name(id=name):
            raise section.error("formula", f"'{name}' is no number; columns are in brackets: [{name}]")
        case _:
            message = (
                "expected numbers, columns in brackets, + - * / **, parentheses and functions of one value"
            )
            raise section.error("formula", message)


def _is_list(node: ast.expr, columns: Sequence[str]) -> bool:
    match node:
        case ast.BinOp(left=left, right=right):
            return _is_list(left, columns) or _is_list(right, columns)
        case ast.UnaryOp(operand=operand):
            return _is_list(operand, columns)
        case ast.Call(func=ast.Name(id=name), args=[argument]):
            return name == _BASELINE and _is_list(argument, columns)
        case ast.Name(id=name):
            return ".*." in columns[int(name[1:])]
    return False


def add(plan: Plan, rows: Sequence[Row]) -> list[str]:
    """Adds the derived columns to the measures of all runs.

    Returns
    -------
    list of str
        Columns without a value in any run, each as a sentence for people that says why.
    """
    done = [row for row in rows if row.failure is None]
    at = {(row.case.point.number, row.case.seed): row for row in done}
    problems = []
    for derived in plan.derived:
        reasons: dict[str, None] = {}
        for row in done:
            reference = at.get((_baseline(plan, row), row.case.seed))
            of_reference = None if reference is None else _columns(reference)
            evaluation = _Evaluation(derived.columns, _columns(row), of_reference, reasons)
            row.measures[derived.name] = evaluation.of(derived.tree)
        if done and all(row.measures[derived.name] is None for row in done):
            has = set().union(*(_columns(row) for row in done))
            missing = [column for column in derived.columns if not _matching(column, has)]
            why = f"no run has {', '.join(missing)}" if missing else ", ".join(reasons)
            problems.append(f"{derived.name} has no value at any point" + (f": {why}" if why else ""))
    return problems


def _baseline(plan: Plan, row: Row) -> int:
    """The number of the point to which a run is compared."""
    wanted = dict(plan.report.baseline) or _default(plan)
    number = 0
    for axis, step in zip(plan.axes, row.case.point.steps, strict=True):
        label = wanted.get(axis.name, step.label)
        number = number * len(axis.steps) + [step.label for step in axis.steps].index(label)
    return number


def _default(plan: Plan) -> dict[str, str]:
    """The first value of the first axis, or of the second if the first is that of curves."""
    axes: list[Axis] = [axis for axis in plan.axes if axis.name != plan.report.x] or list(plan.axes)
    return {axes[0].name: axes[0].steps[0].label} if axes else {}


def _columns(row: Row) -> Mapping[str, Any]:
    """The columns of a run. Latencies of a saturated run depend on its length: they have no value."""
    found = {**row.facts, **row.measures}
    if SATURATED in row.notes:
        found |= {name: None for name in found if is_latency(name)}
    return found


def _matching(column: str, names: Collection[str]) -> list[str]:
    """The columns that a column with or without ``*`` stands for, in their order."""
    head, star, tail = column.partition(".*.")
    if not star:
        return [column] if column in names else []
    return [name for name in names if name.startswith(f"{head}.") and name.endswith(f".{tail}")]


class _Evaluation:
    """Evaluates the formula of a run.

    Parameters
    ----------
    names : sequence of str
        The columns of the formula, in the order of its variables.
    run, reference : mapping
        The columns of the run, and of the run at the baseline, if there is one.
    reasons : dict
        Gets why there is no value.
    """

    def __init__(
        self,
        names: Sequence[str],
        run: Mapping[str, Any],
        reference: Mapping[str, Any] | None,
        reasons: dict[str, None],
    ) -> None:
        self._names = names
        self._run = run
        self._reference = reference
        self._reasons = reasons

    def of(self, tree: ast.expr) -> float | None:
        """The value of the whole formula; None where it fails, since other columns have been computed."""
        try:
            found = self.value(tree, self._run)
        except _FAILURES as error:
            return self._none(f"{type(error).__name__}: {error}")
        assert not isinstance(found, list)
        return found

    def _none(self, why: str) -> float | None:
        """No value, and why."""
        self._reasons[why] = None
        return None

    def value(self, node: ast.expr, run: Mapping[str, Any]) -> Value:
        """The value of a part of the formula with the columns of this run."""
        match node:
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.Name(id=name):
                return self._operand(self._names[int(name[1:])], run)
            case ast.UnaryOp(op=op, operand=operand):
                found = self.value(operand, run)
                return found if isinstance(op, ast.UAdd) else self._each(operator.mul, -1.0, found)
            case ast.BinOp(left=left, op=op, right=right):
                return self._each(_OPERATORS[type(op)], self.value(left, run), self.value(right, run))
            case ast.Call(func=ast.Name(id=name), args=[argument]) if name == _BASELINE:
                if self._reference is None:
                    return self._none("the run at the baseline failed")
                return self.value(argument, self._reference)
            case ast.Call(func=ast.Name(id=name), args=[argument]):
                found = self.value(argument, run)
                values = found if isinstance(found, list) else [found]
                # A job without the value would make a sum smaller than it is.
                known = [value for value in values if value is not None]
                if not known or len(known) < len(values):
                    return None
                return self._number(_OVER_JOBS[name], known)
        raise AssertionError(ast.dump(node))

    def _operand(self, column: str, run: Mapping[str, Any]) -> Value:
        if ".*." not in column:
            return self._as_number(column, run.get(column))
        # The name of a job may contain dots; jobs keep the order of the experiment.
        return [self._as_number(name, run[name]) for name in _matching(column, run)]

    def _as_number(self, name: str, value: Any) -> float | None:
        return self._none(f"{name} is null") if value is None else float(value)

    def _each(self, function: Callable[[float, float], float], left: Value, right: Value) -> Value:
        """The function of two numbers, or job by job."""
        if not isinstance(left, list) and not isinstance(right, list):
            return None if left is None or right is None else self._number(function, left, right)
        lefts = left if isinstance(left, list) else [left] * len(right)  # type: ignore[arg-type]
        rights = right if isinstance(right, list) else [right] * len(lefts)
        if len(lefts) != len(rights):
            return self._none("columns of different numbers of jobs")
        pairs = zip(lefts, rights, strict=True)
        return [None if a is None or b is None else self._number(function, a, b) for a, b in pairs]

    def _number(self, function: Callable[..., float], *arguments: Any) -> float | None:
        """A number up to `LARGEST`, or None."""
        try:
            value = function(*arguments)
        except ZeroDivisionError:
            return self._none("a division by zero")
        except OverflowError:
            value = math.inf
        except ValueError:
            return self._none("a geometric mean of a number that is not positive")
        if not isinstance(value, float):
            return self._none("a root of a negative number")
        return value if abs(value) <= LARGEST else self._none(f"a number above {LARGEST:g}")
