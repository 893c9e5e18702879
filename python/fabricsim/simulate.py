"""Running and checking experiments."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from fabricsim import _core, display
from fabricsim.experiment import ExperimentLike, build
from fabricsim.progress import Bar, Progress
from fabricsim.record import Record, parse
from fabricsim.result import Result

__all__ = ["Check", "check", "list_parts", "run", "trace_info"]


def run(
    experiment: ExperimentLike,
    *,
    set: Mapping[str, Any] | None = None,
    out: str | PathLike[str] | None = None,
    executor: str | None = None,
    threads: int | Literal["auto"] | None = None,
    interference: bool = False,
    progress: Progress | bool = False,
) -> Result:
    """Run one experiment.

    Other Python threads continue during the run, and Ctrl-C stops it.

    Parameters
    ----------
    experiment : path, dict or Experiment
        The path of a TOML file; nested dicts with the same keys; or a typed object. Paths of traces are
        relative to the file's folder, or to the current folder where there is no file.
    set : mapping
        Values that override keys, for example ``{"run.seed": 7}`` or ``{"network": {"packet": "1 KiB"}}``.
        Jobs are numbered: ``"job.0.traffic.load"``.
    out : path
        Result folder; replaces an earlier result there, and nothing else. Without it, a temporary folder
        that lives as long as the result.
    executor : str
        ``"auto"``, ``"sequential"``, ``"conservative"``, ``"optimistic"`` or ``"reverse-check"``; overrides
        ``run.executor``. The results are the same.
    threads : int or "auto"
        Threads; overrides ``run.threads``. The results are the same.
    interference : bool
        Also run each job of ranks alone, on the same hosts: ``summary.interference.jobs`` then has the
        slowdown of each by the other jobs.
    progress : bool or callable
        True: show a progress bar, in terminals and notebooks. A function: it is called about twenty times a
        second with the simulated time and the end of the simulation (None if unknown), both in nanoseconds.
        An exception stops the run.

    Returns
    -------
    Result
        Summary, Arrow tables, report.

    Raises
    ------
    ExperimentError
        The experiment is wrong; the message names file, line, key, and what was expected.
    TraceError
        A trace cannot be read.
    ApplicationError
        The application cannot go on, for example waits forever.
    ResultError
        The result cannot be written.
    KeyboardInterrupt
        Ctrl-C; nothing is written.

    Examples
    --------
    >>> result = fabricsim.run("examples/uniform-dragonfly.toml", threads=2)  # doctest: +SKIP
    >>> result.summary.network.latency_ns.p99  # doctest: +SKIP
    """
    overrides = dict(set or {})
    if executor is not None:
        overrides["run.executor"] = executor
    if threads is not None:
        overrides["run.threads"] = threads
    built = build(experiment, overrides)
    temporary = None
    if out is None:
        temporary = tempfile.TemporaryDirectory(prefix="fabricsim-")
        out = Path(temporary.name) / "result"
    folder = Path(out)
    bar = Bar() if progress is True else None
    callback: Progress | None = bar if isinstance(progress, bool) else progress
    try:
        summary = parse(built.run(folder, callback, interference))
        if bar is not None:
            bar.finish(summary.run.simulated_ns)
    except BaseException:
        if temporary is not None:
            temporary.cleanup()
        raise
    finally:
        if bar is not None:
            bar.close()
    return Result(folder, summary, temporary)


class Check(Record):
    """The report of a check: sizes, memory in bytes, deadlocks, bounds of traffic, all defaults.

    Prints as the command line's ``fabricsim check`` does.
    """

    text: str
    """What ``fabricsim check`` prints."""

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """For notebooks."""
        return display.check(self, self.text)


def check(experiment: ExperimentLike, *, set: Mapping[str, Any] | None = None) -> Check:
    """Check an experiment without running it: network, hosts of jobs, deadlocks, bounds of traffic.

    Parameters
    ----------
    experiment, set
        As in :func:`run`.

    Returns
    -------
    Check
        ``topology``, ``hosts``, ``rails``, ``planes``, ``routers``, ``router_links``, ``virtual_channels``,
        ``sizing`` (only with ``network.radix``: the chosen parameters), ``hosts_used`` (by jobs),
        ``routing``, ``routing_is_default``, ``jobs``, ``memory_bytes``, ``work``
        (expected ``packet_hops``, ``messages``, ``cpu_s``; ``packet_hops_per_s`` is the assumed rate; with
        ``is_lower_limit`` there is more), ``deadlock`` (in words),
        ``deadlock_free`` (None: too large to prove), ``bounds`` (of synthetic traffic, as in
        ``summary.json``; None without), ``experiment`` (with every default).

    Raises
    ------
    ExperimentError, TraceError
        As :func:`run`.
    """
    found, text = build(experiment, set or {}).check()
    checked = Check(parse(found))
    checked.text = text
    return checked


def list_parts(kind: str | None = None) -> Record | list[Record]:
    """List what an experiment can name, and its keys.

    Parameters
    ----------
    kind : str
        For example ``"topologies"``; without it, all kinds.

    Returns
    -------
    list of Record, or Record of kind to list
        Each part has ``name``, ``summary`` and ``parameters``. Each parameter has ``name``, ``type``,
        ``summary``, and where it has them ``choices`` and ``default``, or ``computed``, which says how the
        default is found.

    Raises
    ------
    ValueError
        There is no such kind of parts.
    """
    parts: Record = parse(_core.list_parts())
    if kind is None:
        return parts
    if kind not in parts:
        raise ValueError(f"unknown kind of parts {kind!r}; the kinds are: {', '.join(parts)}")
    known: list[Record] = parts[kind]
    return known


def trace_info(path: str | PathLike[str]) -> Record:
    """Summarise a trace.

    Parameters
    ----------
    path : path
        OTF2: the anchor file (``*.otf2``); DUMPI: the meta file (``*.meta``); liballprof: the file of
        any rank (``*-0.txt``); GOAL: the file, text or binary; BigSim: ``bgTrace``; or a folder with one
        such trace.

    Returns
    -------
    Record
        ``ranks``, ``span_ps``, ``compute_share`` (0 to 1), ``mpi_calls_by_name``, ``messages`` (count and
        sizes in bytes), ``collectives``, ``communicators``, ``notes``; of BigSim also ``bigsim``, with counts
        of logs, sends and dependences.

    Raises
    ------
    TraceError
        The trace cannot be read, or it is OTF2 and this build has no OTF2 library.
    """
    info: Record = parse(_core.trace_info(Path(path)))
    return info
