"""Numbers as text: three or four digits, with their unit."""

from __future__ import annotations

from typing import Any

from fabricsim.sweep.metrics import Metric

__all__ = ["heading", "number", "value", "with_interval"]


def number(value: float) -> str:
    """A number with four digits at most, whole numbers with commas."""
    if abs(value) < 1e15 and value == round(value):
        return f"{round(value):,}"
    if 1000 <= abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def heading(metric: Metric) -> str:
    """The title of a column."""
    return f"{metric.title} ({metric.unit})" if metric.unit else metric.title


def value(found: Any, metric: Metric) -> str:
    """A value in the unit of its metric, without the unit; a dash for none."""
    if found is None:
        return "-"
    if isinstance(found, bool):
        return "yes" if found else "no"
    return number(found * metric.scale)


def with_interval(row: dict[str, Any], column: str, metric: Metric) -> str:
    """A mean with half of its interval."""
    shown = value(row.get(column), metric)
    high = row.get(f"{column}.high")
    if high is None or row.get(column) is None:
        return shown
    return f"{shown} ± {abs(high - row[column]) * metric.scale:.2g}"
