"""``fabricsim compare ... --html FILE``: the core's command with an additional page.

The core's `compare` describes the options in its help and writes the text.
"""

from __future__ import annotations

import argparse
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

from fabricsim import _core
from fabricsim._errors import ResultError, SweepError
from fabricsim.result import load
from fabricsim.sweep import comparison
from fabricsim.sweep.costs import load_costs
from fabricsim.sweep.page import need_plots

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Runs the command with the arguments after ``fabricsim compare``; returns the exit status."""
    parser = argparse.ArgumentParser(prog="fabricsim compare", allow_abbrev=False, add_help=False)
    parser.add_argument("results", type=Path, nargs="*")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--html", type=Path, required=True)
    parser.add_argument("--costs", type=Path)
    parser.add_argument("--force", action="store_true")
    parser.add_argument("-h", "--help", action="store_true")
    given = parser.parse_args(arguments)
    try:
        need_plots()
    except SweepError as error:
        print(f"fabricsim: {error}", file=sys.stderr)
        return 1
    flags = ["--help"] * given.help + ["--json"] * given.json + ["--force"] * given.force
    status = _core.main(["fabricsim", "compare", *flags, "--", *(str(folder) for folder in given.results)])
    if status != 0 or given.help:
        return status
    try:
        costs = None if given.costs is None else load_costs(given.costs)
        names = comparison.names(given.results)
        results = {
            name: load(folder, force=given.force) for name, folder in zip(names, given.results, strict=True)
        }
        _write(given.html, comparison.page(results, costs))
    except (SweepError, ResultError) as error:
        print(f"fabricsim: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"fabricsim: {given.html}: cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    if not given.json:
        print(f"page    {given.html}")
    return 0


def _write(file: Path, text: str) -> None:
    """Writes a file completely or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_name(f".{file.name}-{uuid.uuid4().hex[:8]}")
    try:
        aside.write_text(text, encoding="utf-8")
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)
