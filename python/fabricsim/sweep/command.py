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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fabricsim._errors import SweepError
from fabricsim.sweep import show
from fabricsim.sweep.cluster import MOST_WORKERS
from fabricsim.sweep.conduct import CACHE, MOST_FAILURES, Sweep, estimates, run
from fabricsim.sweep.engine import Dask, Here
from fabricsim.sweep.page import need_matplotlib
from fabricsim.sweep.plan import Plan, load
from fabricsim.sweep.progress import duration
from fabricsim.sweep.work import Failure, distinct

__all__ = ["main"]

FAILED, WRONG_INPUT, INTERRUPTED = 1, 2, 130
FORMATS = ("pdf", "png", "svg")
# Points whose work is estimated without other processes.
MOST_HERE = 32
_SIZES = (("billion", 1e9), ("million", 1e6), ("thousand", 1e3))


def main(arguments: Sequence[str]) -> int:
    """Runs the command with the arguments after ``fabricsim sweep``; returns the exit status."""
    given = _parser().parse_args(arguments)
    try:
        plan = _with_options(load(given.sweep), given)
    except SweepError as error:
        return _fail(error, WRONG_INPUT)
    stream = None if given.json else sys.stderr
    try:
        if given.list:
            return _list(plan, given.json)
        if given.figures is not None:
            need_matplotlib()
        sweep = run(plan, out=given.out, cache=given.cache, costs=given.costs, progress=stream)
        drawn = [] if given.figures is None else sweep.save_figures(given.figures)
    except SweepError as error:
        return _fail(error, WRONG_INPUT)
    except KeyboardInterrupt:
        print(
            "fabricsim: interrupted; completed runs are in the cache, and the same command continues",
            file=sys.stderr,
        )
        sys.stderr.flush()
        return INTERRUPTED
    _tell(sweep, drawn, given.json)
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
        "--figures", choices=FORMATS, help="also write each figure of the page as a file, into DIR/figures"
    )
    parser.add_argument(
        "--list",
        action="store_true",
        help="print the points with their expected packet-hops and processor time, and run nothing",
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
        if not 1 <= given.workers <= MOST_WORKERS:
            raise SweepError(
                f"--workers: expected at least 1 and at most {MOST_WORKERS:,}, found {given.workers}"
            )
        cluster = dataclasses.replace(cluster, workers=given.workers, scheduler=None, jobqueue=None)
    if given.scheduler is not None:
        cluster = dataclasses.replace(cluster, scheduler=given.scheduler, workers=None, jobqueue=None)
    return dataclasses.replace(plan, cluster=cluster)


def _list(plan: Plan, as_json: bool) -> int:
    """Prints the points, what each is expected to take, and what all of them take together."""
    stream = None if as_json else sys.stderr
    if len(plan.points) <= MOST_HERE:
        found = list(estimates(plan, Here(), stream))
    else:
        with Dask(plan.cluster) as dask:
            found = list(estimates(plan, dask, stream))
    failed = [(f"point {point.number} ({point.label})", of) for point, of in found if isinstance(of, Failure)]
    known = [of for _, of in found if not isinstance(of, Failure)]
    seeds = len(plan.seeds)
    hops, cpu_s = (seeds * sum(of[name] for of in known) for name in ("packet_hops", "cpu_s"))
    if as_json:
        points = [
            {"point": point.number, "label": point.label}
            | ({"error": of.message} if isinstance(of, Failure) else of)
            for point, of in found
        ]
        about = {"points": points, "runs": seeds * len(found), "packet_hops": hops, "cpu_s": cpu_s}
        print(json.dumps(about, indent=2))
        return WRONG_INPUT if failed else 0
    for point, of in found:
        work = "cannot run" if isinstance(of, Failure) else _work(of["packet_hops"], of["cpu_s"], of)
        print(f"point {point.number}: {point.label}: {work}")
    print(f"{len(found)} points, {seeds} run{'s' * (seeds > 1)} of each")
    if known:
        least = {"is_lower_limit": any(of["is_lower_limit"] for of in known)}
        rates = sorted({of["packet_hops_per_s"] for of in known})
        rate = " to ".join(show.number(rate / 1e6) for rate in dict.fromkeys((rates[0], rates[-1])))
        print(
            f"all together: {_work(hops, cpu_s, least)}, at an assumed {rate} million packet-hops per second"
        )
    _tell_failures(failed)
    return WRONG_INPUT if failed else 0


def _work(packet_hops: float, cpu_s: float, of: Mapping[str, Any]) -> str:
    """Packet-hops and processor time in words, to two digits."""
    least = "at least " if of["is_lower_limit"] else "about "
    size, name = next(((size, name) for name, size in _SIZES if packet_hops >= size), (1, ""))
    hops = f"{show.number(float(f'{packet_hops / size:.2g}'))} {name}".rstrip()
    seconds = f"{cpu_s:.2g} s" if cpu_s < 100 else duration(cpu_s)
    return f"{least}{hops} packet-hops, {seconds} of processor time"


def _tell(sweep: Sweep, drawn: Sequence[Path], as_json: bool) -> None:
    _tell_failures(sweep.failed, sweep.folder / "failed.csv")
    for problem in sweep.problems:
        print(f"fabricsim: {problem}", file=sys.stderr)
    runs = sweep.runs.num_rows
    if as_json:
        about = {
            "folder": str(sweep.folder),
            "answer": sweep.answer,
            "runs": runs,
            "executed": sweep.executed,
            "cached": sweep.cached,
            "failed": len(sweep.failed),
            "problems": sweep.problems,
            "figures": [str(file) for file in drawn],
        }
        print(json.dumps(about, indent=2))
        return
    for sentence in sweep.answer:
        print(sentence)
    failed = f", {len(sweep.failed)} failed" if sweep.failed else ""
    print(f"{runs} runs: {sweep.executed} executed, {sweep.cached} from the cache{failed}")
    print(f"tables  {sweep.folder}{os.sep}")
    print(f"page    {sweep.folder / 'sweep.html'}")
    if drawn:
        print(f"figures {drawn[0].parent}{os.sep}")


def _tell_failures(failed: Sequence[tuple[str, Failure]], all_in: Path | None = None) -> None:
    """One line for each different failure."""
    groups = distinct(failed)
    for which, failure in groups[:MOST_FAILURES]:
        print(f"fabricsim: {which} failed: {failure.kind}: {failure.message}", file=sys.stderr)
    if len(groups) > MOST_FAILURES:
        where = "" if all_in is None else f", see {all_in}"
        print(f"fabricsim: {len(groups) - MOST_FAILURES} more errors{where}", file=sys.stderr)


def _fail(error: Exception, status: int) -> int:
    print(f"fabricsim: {error}", file=sys.stderr)
    return status
