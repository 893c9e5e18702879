"""The roles of axes and columns in a sweep: defaults of its report, and what its answer compares."""

from __future__ import annotations

from collections.abc import Iterable

from fabricsim.sweep.plan import Axis, Plan
from fabricsim.sweep.table import Row

__all__ = ["along", "families", "first_performance", "is_design", "load_axis", "performance", "results"]

# Fewer values make no curve.
FEWEST = 3


def along(plan: Plan) -> Axis | None:
    """The axis of numbers with the most values, at least three; None if there is none."""
    if plan.report.x is not None:
        return next(axis for axis in plan.axes if axis.name == plan.report.x)
    numbers = [axis for axis in plan.axes if axis.numbers is not None and len(axis.steps) >= FEWEST]
    return max(numbers, key=lambda axis: len(axis.steps), default=None)


def is_design(axis: Axis) -> bool:
    """Whether an axis changes the network itself."""
    experiments = any(step.experiment is not None for step in axis.steps)
    return experiments or any(key.startswith("network.") for key in axis.keys)


def load_axis(plan: Plan) -> Axis | None:
    """The axis of numbers along which the offered load of synthetic traffic changes; None without one."""
    loads = (axis for axis in plan.axes if axis.numbers is not None and len(axis.steps) > 1)
    return next((axis for axis in loads if axis.keys[0].endswith(".traffic.load")), None)


def families(plan: Plan, x: Axis | None) -> list[Axis]:
    """The other axes."""
    return [axis for axis in plan.axes if axis is not x]


def results(plan: Plan, rows: list[Row]) -> list[str]:
    """Columns to show: times of jobs of ranks; what arrives of the traffic of jobs, and latencies."""
    columns = list(dict.fromkeys(name for row in rows for name in row.measures))
    if plan.report.y is not None:
        return [name for name in plan.report.y if name in columns]
    times = [name for name in columns if name.startswith("job.") and name.endswith(".time_ns")]
    slower = [name for name in columns if name.endswith(".slowdown")]
    if times:
        return [*times[:4], *slower[:4], "network.latency_mean_ns"]
    delivered = [name for name in columns if name.endswith(".delivered_share")]
    known = [*delivered[:4], "network.latency_mean_ns", "network.latency_p99_ns"]
    return [name for name in known if name in columns]


def performance(plan: Plan, rows: list[Row]) -> str | None:
    """The column to plot against costs."""
    columns = list(dict.fromkeys(name for row in rows for name in row.measures))
    if plan.report.performance is not None:
        return plan.report.performance if plan.report.performance in columns else None
    return first_performance(columns)


def first_performance(columns: Iterable[str]) -> str | None:
    """The time of the first job of ranks, or what arrives of the first job of traffic; None with neither."""
    of_jobs = [name for name in columns if name.startswith("job.")]
    times = [name for name in of_jobs if name.endswith(".time_ns")]
    delivered = [name for name in of_jobs if name.endswith(".delivered_gbps_per_host")]
    return next(iter([*times, *delivered]), None)
