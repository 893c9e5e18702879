"""The command ``fabricsim sweep``: its options, what it prints, its exit status.

Exit status: 0 all runs have a result; 1 some failed, or the result could not be written; 2 the sweep file,
the cost table or the arguments are wrong; 130 interrupted.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from fabricsim._errors import SweepError
from fabricsim.sweep.conduct import CACHE, Sweep, run
from fabricsim.sweep.plan import Plan, load

__all__ = ["main"]

FAILED, WRONG_INPUT, INTERRUPTED = 1, 2, 130
# Printed failures; failed.csv has all of them.
MOST_FAILURES = 10


def main(arguments: Sequence[str]) -> int:
    """Runs the command with the arguments after ``fabricsim sweep``; returns the exit status."""
    given = _parser().parse_args(arguments)
    try:
        plan = _with_options(load(given.sweep), given)
    except SweepError as error:
        return _fail(error, WRONG_INPUT)
    if given.list:
        _list(plan)
        return 0
    try:
        stream = None if given.json else sys.stderr
        sweep = run(plan, out=given.out, cache=given.cache, costs=given.costs, progress=stream)
    except SweepError as error:
        return _fail(error, WRONG_INPUT)
    except KeyboardInterrupt:
        print(
            "fabricsim: interrupted; completed runs are in the cache, and the same command continues",
            file=sys.stderr,
        )
        sys.stderr.flush()
        return INTERRUPTED
    _tell(sweep, given.json)
    return FAILED if sweep.failed or sweep.problems else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fabricsim sweep",
        description="Run many experiments that differ in some keys, and compare them. "
        "Results are cached by their inputs: no experiment runs twice, and an interrupted sweep continues "
        "when it is started again.",
    )
    parser.add_argument("sweep", type=Path, metavar="SWEEP.toml", help="sweep file")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder for tables and page [default: results/NAME for NAME.toml]",
    )
    parser.add_argument(
        "--cache", type=Path, metavar="DIR", help=f"folder of results, which sweeps share [default: {CACHE}]"
    )
    parser.add_argument(
        "--costs", type=Path, metavar="FILE", help="cost table (TOML), instead of the sweep file's"
    )
    parser.add_argument(
        "--workers", type=int, metavar="N", help="runs at a time on this machine [default: its cores]"
    )
    parser.add_argument("--scheduler", metavar="ADDRESS", help="run on the Dask cluster with this scheduler")
    parser.add_argument(
        "--list", action="store_true", help="print the points with what they change, and run nothing"
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON: where the result is, how many runs failed"
    )
    return parser


def _with_options(plan: Plan, given: argparse.Namespace) -> Plan:
    cluster = plan.cluster
    if given.workers is not None and given.scheduler is not None:
        raise SweepError("--workers is for this machine, --scheduler for another: expected one of them")
    if given.workers is not None:
        if given.workers < 1:
            raise SweepError(f"--workers: expected at least 1, found {given.workers}")
        cluster = dataclasses.replace(cluster, workers=given.workers, scheduler=None, jobqueue=None)
    if given.scheduler is not None:
        cluster = dataclasses.replace(cluster, scheduler=given.scheduler, workers=None, jobqueue=None)
    return dataclasses.replace(plan, cluster=cluster)


def _list(plan: Plan) -> None:
    for point in plan.points:
        print(f"point {point.number}: {point.label}")
    seeds = len(plan.seeds)
    print(f"{len(plan.points)} points, {seeds} run{'s' * (seeds > 1)} of each")


def _tell(sweep: Sweep, as_json: bool) -> None:
    for name, failure in sweep.failed[:MOST_FAILURES]:
        print(f"fabricsim: {name} failed: {failure.kind}: {failure.message}", file=sys.stderr)
    if len(sweep.failed) > MOST_FAILURES:
        more = len(sweep.failed) - MOST_FAILURES
        print(f"fabricsim: {more} more failed, see {sweep.folder / 'failed.csv'}", file=sys.stderr)
    for problem in sweep.problems:
        print(f"fabricsim: {problem}", file=sys.stderr)
    runs = sweep.runs.num_rows
    if as_json:
        about = {
            "folder": str(sweep.folder),
            "runs": runs,
            "executed": sweep.executed,
            "cached": sweep.cached,
            "failed": len(sweep.failed),
            "problems": sweep.problems,
        }
        print(json.dumps(about, indent=2))
        return
    failed = f", {len(sweep.failed)} failed" if sweep.failed else ""
    print(f"{runs} runs: {sweep.executed} executed, {sweep.cached} from the cache{failed}")
    print(f"tables  {sweep.folder}{os.sep}")
    print(f"page    {sweep.folder / 'sweep.html'}")


def _fail(error: Exception, status: int) -> int:
    print(f"fabricsim: {error}", file=sys.stderr)
    return status
