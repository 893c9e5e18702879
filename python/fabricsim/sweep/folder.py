"""The folder of a sweep: tables, page, description. Written to a temporary folder and moved when complete."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import uuid
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.csv
import pyarrow.parquet

from fabricsim import _core
from fabricsim._errors import SweepError
from fabricsim._input import read_text
from fabricsim.sweep import markdown, report
from fabricsim.sweep.findings import Findings
from fabricsim.sweep.table import Row, runs_table, summary_table

__all__ = ["may_write", "write"]

SCHEMA = "fabricsim/sweep/1"
MARK = "sweep.json"
# First characters of formulas, and of blanks before them that an import may remove.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def may_write(folder: Path) -> None:
    """Checks that a sweep may be written there.

    Raises
    ------
    SweepError
        There is something that is no sweep.
    """
    if folder.is_dir() and any(folder.iterdir()):
        try:
            schema = json.loads(read_text(folder / MARK))["schema"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            schema = None
        if schema != SCHEMA:
            raise SweepError("holds something that is not a sweep; expected another folder", str(folder))
    elif folder.exists() and not folder.is_dir():
        raise SweepError("is a file; expected a folder", str(folder))


def write(folder: Path, found: Findings) -> tuple[pyarrow.Table, pyarrow.Table]:
    """Writes all files; returns the tables of runs and points.

    Raises
    ------
    SweepError
        The folder cannot be written.
    """
    runs = runs_table(found.plan, found.rows)
    summary = summary_table(found.plan, found.summaries)
    failed = [row for row in found.rows if row.failure is not None]
    aside = folder.with_name(f".{folder.name}-{os.getpid()}-{uuid.uuid4().hex[:8]}")
    try:
        aside.mkdir(parents=True)
        for name, table in {"sweep": runs, "summary": summary}.items():
            pyarrow.parquet.write_table(table, aside / f"{name}.parquet")
            pyarrow.csv.write_csv(_for_spreadsheets(table), aside / f"{name}.csv")
        if failed:
            _write_failed(aside / "failed.csv", failed)
        (aside / "summary.md").write_text(markdown.page(found), encoding="utf-8")
        (aside / "sweep.html").write_text(report.page(found), encoding="utf-8")
        (aside / MARK).write_text(json.dumps(_about(found), indent=2), encoding="utf-8")
        _move(aside, folder)
    except OSError as error:
        raise SweepError(f"cannot be written: {error}", str(folder)) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return runs, summary


def _write_failed(file: Path, failed: list[Row]) -> None:
    with file.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(["point", "experiment", "overrides", "error", "message"])
        for row in failed:
            assert row.failure is not None
            overrides = "\n".join(f"{key}={value}" for key, value in row.case.overrides)
            texts = [str(row.case.point.experiment), overrides, row.failure.kind, row.failure.message]
            writer.writerow([row.case.point.number, *map(_cell, texts)])


def _for_spreadsheets(table: pyarrow.Table) -> pyarrow.Table:
    """The table with texts and names of columns that no spreadsheet takes for formulas."""
    columns = [
        pyarrow.array([None if value is None else _cell(value) for value in column.to_pylist()], column.type)
        if pyarrow.types.is_string(column.type)
        else column
        for column in table.columns
    ]
    return pyarrow.table(columns, names=[_cell(name) for name in table.column_names])


def _cell(text: str) -> str:
    """The text with a leading apostrophe if a spreadsheet would execute it: names of jobs, axes and variants
    come from users."""
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def _about(found: Findings) -> dict[str, Any]:
    """The description of the sweep, what it answers, and the bills of its networks."""
    plan, rows = found.plan, found.rows
    return {
        "schema": SCHEMA,
        "version": _core.__version__,
        "name": plan.name,
        "answer": found.answer,
        "problems": found.problems,
        "file": str(plan.file),
        "points": len(plan.points),
        "runs": len(rows),
        "failed": sum(row.failure is not None for row in rows),
        "seeds": list(plan.seeds),
        "confidence": plan.confidence,
        "axes": [
            {"name": axis.name, "keys": list(axis.keys), "values": [step.label for step in axis.steps]}
            for axis in plan.axes
        ],
        "currency": None if found.costs is None else found.costs.currency,
        "networks": [
            {
                "topology": network.topology,
                "points": network.points,
                "missing": network.missing,
                "items": [
                    {"name": item.name, "count": item.count, "each": item.each, "cost": item.cost}
                    for item in network.items
                ],
            }
            for network in found.networks
        ],
    }


def _move(aside: Path, folder: Path) -> None:
    if not folder.exists():
        aside.rename(folder)
        return
    old = aside.with_name(f"{aside.name}-old")
    folder.rename(old)
    try:
        aside.rename(folder)
    except OSError:
        old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)
