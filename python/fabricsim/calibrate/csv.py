"""Measurements in CSV, for everything that has no reader; docs/calibrate.md documents the layout.

Comment lines ``# NAME: TEXT`` come first and give conditions. Then follow the names of the columns,
``bytes`` and one of ``latency_us``, ``bandwidth_MBps``, ``bidirectional_MBps`` and ``aggregate_MBps``, and
the rows.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

from fabricsim._errors import CalibrationError
from fabricsim.calibrate.measurement import Kind, Measurement
from fabricsim.calibrate.table import MOST_PAIRS, MOST_WINDOW, Rows, count, number, whole
from fabricsim.sweep.section import shortened

__all__ = ["is_header", "read"]

_VALUES: dict[str, Kind] = {
    "latency_us": "latency",
    "bandwidth_MBps": "bandwidth",
    "bidirectional_MBps": "bidirectional",
    "aggregate_MBps": "message-rate",
}
_CONDITION = re.compile(r"#\s*([^:]+?)\s*:\s*(.*\S)")
_NUMBERS = {"pairs": MOST_PAIRS, "window": MOST_WINDOW}


def is_header(line: str) -> bool:
    """Whether a line names columns of this layout."""
    return "bytes" in (word.strip() for word in line.split(","))


def read(path: Path, lines: list[str]) -> list[Measurement]:
    """A table for each column of values."""
    file = str(path)
    conditions: dict[str, str] = {}
    start = next((at for at, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0)
    places: dict[str, int] = {}
    for place, line in enumerate(lines[:start], start=1):
        if condition := _CONDITION.match(line):
            conditions[condition[1]] = condition[2]
            places[condition[1]] = place
    columns = [word.strip() for word in _cells(lines[start], file, start + 1)]
    known = ("bytes", *_VALUES)
    for column in columns:
        if column not in known:
            raise CalibrationError(
                f"unknown column {column!r}; expected 'bytes' and one or more of {', '.join(_VALUES)}",
                file,
                start + 1,
            )
    if len(set(columns)) != len(columns) or "bytes" not in columns or len(columns) < 2:
        raise CalibrationError(
            f"expected 'bytes' and one or more of {', '.join(_VALUES)}, each once", file, start + 1
        )
    counts = {
        name: count(conditions[name], most, file, places[name], f"'# {name}: {shortened(conditions[name])}'")
        if name in conditions
        else None
        for name, most in _NUMBERS.items()
    }
    tables = {column: Rows(file) for column in columns if column != "bytes"}
    for index in range(start + 1, len(lines)):
        line, place = lines[index], index + 1
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in _cells(line, file, place)]
        if len(cells) != len(columns):
            raise CalibrationError(f"expected {len(columns)} cells, found {len(cells)}", file, place)
        size = whole(cells[columns.index("bytes")], file, place, "the size of a message")
        for column, cell in zip(columns, cells, strict=True):
            if column != "bytes" and cell:
                value = number(cell, file, place, f"{column}")
                tables[column].add(place, size, value if column == "latency_us" else value / 1e3)
    measurements = []
    for column, rows in tables.items():
        if not rows.all():
            raise CalibrationError(f"column {column} has no values", file, start + 1)
        kind = _VALUES[column]
        pairs = counts["pairs"] or 1
        if kind == "message-rate" and counts["pairs"] is None:
            raise CalibrationError(
                "aggregate_MBps needs a line '# pairs: NUMBER' before the columns", file, start + 1
            )
        measurements.append(
            Measurement(file, f"CSV {column}", kind, rows.all(), pairs, counts["window"], None, conditions)
        )
    return measurements


def _cells(line: str, file: str, place: int) -> list[str]:
    try:
        return next(csv.reader([line]))
    except csv.Error as error:
        raise CalibrationError(f"no line of CSV: {error}; expected cells with commas", file, place) from None
