"""Charts of where time goes: of ranks by cause, of the critical path by kind, of messages by phase, of links,
routers, queues of NICs, and threads of the simulator.

They have the names and colours of the report page.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from typing import TYPE_CHECKING

import pyarrow
import pyarrow.compute
import pyarrow.dataset

from fabricsim._errors import ResultError
from fabricsim.plot.chart import COLOURS, GREY, TIME, Axis, Bars, Chart, Curve, Layer, Points, Spans, of_time
from fabricsim.plot.content import _COORDINATES, CONTROL, Results, _called, _rows, _table, one_job

if TYPE_CHECKING:
    from fabricsim.result import Result

CAUSES = (
    ("computation", TIME["compute"], "compute_ps"),
    ("MPI overhead", TIME["overhead"], "overhead_ps"),
    ("waiting for the partner", TIME["partner"], "partner_ps"),
    ("transfer", TIME["transfer"], "transfer_ps"),
    ("waiting for links", TIME["link_wait"], "link_wait_ps"),
    ("collectives: waiting for the partner", TIME["partner"], "collective_partner_ps"),
    ("collectives: transfer", TIME["transfer"], "collective_transfer_ps"),
    ("collectives: waiting for links", TIME["link_wait"], "collective_link_wait_ps"),
)
"""Causes of the time of a rank, their colours, and their columns in ``ranks``."""

_KINDS = {
    "compute": ("computation", TIME["compute"]),
    "overhead": ("overhead of calls", TIME["overhead"]),
    "network": ("network", TIME["transfer"]),
    "wait": ("waiting for links and buffers", TIME["link_wait"]),
}
_OTHER = ("not explained", GREY)
_PHASES = (
    ("protocol, before the NIC", TIME["overhead"]),
    ("NIC, until its last byte has left", TIME["link_wait"]),
    ("network", TIME["transfer"]),
    ("until the receiver matches it", TIME["partner"]),
)
_PORT = re.compile(r" port \d+$")
# Activities of the threads of the simulator, by their names in the summary.
_ACTIVITIES = (
    ("processing", "executing events", COLOURS[0]),
    ("queue", "queue of events", COLOURS[1]),
    ("rollback", "rolling back events", COLOURS[2]),
    ("synchronisation", "synchronisation", COLOURS[3]),
    ("idle", "idle", GREY),
)
_MOST_THREADS = 64
_MOST_STEPS = 1500
_RANK_TICKS = 24


def composition(results: Results, job: str | None) -> list[Chart]:
    """Time of jobs by cause, mean of the ranks, as shares of the time of the job."""
    shares: dict[str, dict[str, float]] = {}
    for result_name, result in results.items():
        for job_name, parts in _split(result).items():
            if job in (None, job_name):
                shares[_called(result_name, job_name, results, job)] = parts
    if not shares:
        which = "of MPI ranks" if job is None else f"'{job}' of MPI ranks"
        raise ResultError(f"there is no job {which}")
    kinds = [(name, paint) for name, paint, _ in CAUSES] + [("finished before others", GREY)]
    title = "Composition of job time" if job is None else f"Composition of the time of {job}"
    return [_stacks(title, "share of the job's time (%)", kinds, shares)]


def _split(result: Result) -> dict[str, dict[str, float]]:
    """Shares of the time of each job by cause, in percent."""
    table = _table(result, "ranks")
    columns = [column for _, _, column in CAUSES]
    missing = [column for column in columns if column not in table.column_names]
    if missing:
        raise ResultError(
            f"the table 'ranks' of this version has no column {missing[0]}: run the experiment again"
        )
    sums = table.group_by(["job"]).aggregate([(column, "sum") for column in columns]).to_pylist()
    whole = {
        name: time * ranks
        for name, time, ranks in _rows(result, "jobs", ["job", "time_ps", "ranks"])
        if ranks
    }
    found = {}
    # In the order of the experiment.
    for name in [name for name in whole if whole[name] > 0]:
        for row in sums:
            if row["job"] == name:
                parts = {cause: 100 * row[f"{column}_sum"] / whole[name] for cause, _, column in CAUSES}
                parts["finished before others"] = max(0.0, 100 - sum(parts.values()))
                found[name] = parts
    return found


def _stacks(
    title: str, label: str, kinds: list[tuple[str, str]], shares: dict[str, dict[str, float]]
) -> Chart:
    """Stacked bars, one for each name, of the kinds that some bar has."""
    base = [0.0] * len(shares)
    layers: list[Layer] = []
    for name, paint in kinds:
        y = [parts.get(name, 0.0) for parts in shares.values()]
        if any(share >= 0.05 for share in y):
            is_hatched = name.startswith("collectives: ")
            layers.append(Bars(name, list(range(len(y))), y, paint, 0.6, list(base), is_hatched))
        base = [below + more for below, more in zip(base, y, strict=True)]
    ticks = [(float(place), name) for place, name in enumerate(shares)]
    return Chart(title, Axis("", ticks=ticks, low=-0.6, high=len(shares) - 0.4), Axis(label, low=0), layers)


def critical_path(result: Result, job: str | None) -> list[Chart]:
    """The chain of activities through the ranks that determines the time of a job."""
    job = one_job(result, job)
    kept = pyarrow.dataset.field("job") == job
    steps: list[tuple[int, int, int, str]] = []
    sums: dict[str, int] = defaultdict(int)
    columns = ["begin_ps", "end_ps", "rank", "kind"]
    for begin, end, rank, kind in _rows(result, "critical_path", columns, kept):
        sums[kind if kind in _KINDS else ""] += end - begin
        if steps and steps[-1][1:] == (begin, rank or 0, kind):
            steps[-1] = (steps[-1][0], end, rank or 0, kind)
        else:
            steps.append((begin, end, rank or 0, kind))
    shown = _merged(steps, _MOST_STEPS)
    last = max(end for _, end, _, _ in shown)
    unit, ps = of_time(last)
    ranks = sorted({rank for _, _, rank, _ in shown})
    lanes = {rank: place for place, rank in enumerate(ranks)}
    whole = sum(sums.values()) or 1
    layers: list[Layer] = []
    for kind in [*_KINDS, ""]:
        here = [step for step in shown if (step[3] if step[3] in _KINDS else "") == kind]
        if here:
            name, paint = _KINDS.get(kind, _OTHER)
            layers.append(
                Spans(
                    f"{name}, {100 * sums[kind] / whole:.1f} %",
                    [lanes[rank] for _, _, rank, _ in here],
                    [begin / ps for begin, _, _, _ in here],
                    [end / ps for _, end, _, _ in here],
                    paint,
                )
            )
    every = -(-len(ranks) // _RANK_TICKS)
    ticks = [(float(place), str(rank)) for place, rank in enumerate(ranks) if place % every == 0]
    return [
        Chart(
            f"Critical path of {job}",
            Axis(f"simulated time ({unit})", low=0, high=last / ps),
            Axis("rank", ticks=ticks, low=len(ranks) - 0.5, high=-0.5),
            layers,
            height=min(2.0, max(0.7, len(ranks) / 20)),
        )
    ]


def _merged(steps: list[tuple[int, int, int, str]], most: int) -> list[tuple[int, int, int, str]]:
    """Steps of which short ones are merged with those before, until they are few enough.

    A step absorbs at most the length that counts as short, which bounds the error of the picture.
    """
    short = 0
    while len(steps) > most:
        short = max(1, 2 * short)
        kept: list[tuple[int, int, int, str]] = []
        absorbed = 0
        for begin, end, rank, kind in steps:
            if kept and absorbed + end - begin <= short:
                kept[-1] = (kept[-1][0], end, *kept[-1][2:])
                absorbed += end - begin
            else:
                kept.append((begin, end, rank, kind))
                absorbed = 0
        steps = kept
    return steps


def message_phases(results: Results, job: str | None) -> list[Chart]:
    """Mean time of the messages of each job, from the sender's call to the receiver's match, by phase."""
    columns = ["job", "protocol", "posted_ps", "sent_ps", "injected_ps", "arrived_ps", "matched_ps"]
    means: dict[str, list[float]] = {}
    for result_name, result in results.items():
        sums: dict[str, list[int]] = defaultdict(lambda: [0] * len(_PHASES))
        counts: dict[str, int] = defaultdict(int)
        for of, protocol, posted, sent, injected, arrived, matched in _rows(result, "messages", columns):
            # Messages that the end of the run interrupted have no complete time.
            # The time of control messages is included in that of messages with data.
            if protocol in CONTROL or job not in (None, of) or None in (posted, arrived, matched):
                continue
            counts[of] += 1
            # Unknown phases count as network.
            sent = posted if sent is None else sent
            times = [posted, sent, sent if injected is None else injected, arrived, matched]
            for phase in range(len(_PHASES)):
                sums[of][phase] += max(0, times[phase + 1] - times[phase])
        for of, phases in sums.items():
            means[_called(result_name, of, results, job)] = [time / counts[of] for time in phases]
    if not means:
        of_job = "" if job is None else f" of a job '{job}'"
        raise ResultError(f"no message{of_job} was sent and received")
    unit, ps = of_time(max(sum(phases) for phases in means.values()))
    base = [0.0] * len(means)
    layers: list[Layer] = []
    for phase, (name, paint) in enumerate(_PHASES):
        y = [phases[phase] / ps for phases in means.values()]
        layers.append(Bars(name, list(range(len(y))), y, paint, 0.6, list(base)))
        base = [below + more for below, more in zip(base, y, strict=True)]
    ticks = [(float(place), name) for place, name in enumerate(means)]
    x_axis = Axis("", ticks=ticks, low=-0.6, high=len(means) - 0.4)
    return [Chart("Phases of messages", x_axis, Axis(f"mean time of a message ({unit})", low=0), layers)]


def hottest_links(result: Result, most: int) -> list[Chart]:
    """The links that were busy for the largest share of the time."""
    table = _table(result, "links").select(["link", "class", "busy_fraction", "buffer_full_ps", "from", "to"])
    order = pyarrow.compute.sort_indices(
        table,
        sort_keys=[("busy_fraction", "descending"), ("buffer_full_ps", "descending"), ("link", "ascending")],
    )
    rows = [row for row in table.take(order[:most]).to_pylist() if row["busy_fraction"] > 0]
    if not rows:
        raise ResultError("no link carried a packet in the measured time")
    classes = sorted({str(kind) for kind in table["class"].to_pylist()})
    layers: list[Layer] = []
    for number, kind in enumerate(classes):
        here = [(place, row) for place, row in enumerate(rows) if row["class"] == kind]
        if here:
            ends = [100 * row["busy_fraction"] for _, row in here]
            paint = COLOURS[number % len(COLOURS)]
            layers.append(Spans(kind, [place for place, _ in here], [0.0] * len(here), ends, paint))
    # The number of a router and the port where the link begins identify it in less space.
    names = [_COORDINATES.sub("", f"{row['from']} \u2192 {_PORT.sub('', row['to'])}") for row in rows]
    ticks = [(float(place), name) for place, name in enumerate(names)]
    return [
        Chart(
            f"The {len(rows)} most loaded links",
            Axis("time busy (%)", low=0, high=102 * rows[0]["busy_fraction"]),
            Axis("link", ticks=ticks, low=len(rows) - 0.5, high=-0.5),
            layers,
            height=max(0.7, len(rows) / 16),
        )
    ]


def hottest_routers(result: Result, most: int) -> list[Chart]:
    """The routers whose links, those to hosts included, were busy for the largest mean share of the time."""
    columns = ["from_kind", "from_id", "busy_fraction"]
    loads: dict[int, list[float]] = defaultdict(list)
    for kind, router, busy in _rows(result, "links", columns):
        if kind == "router":
            loads[router].append(100 * busy)
    means = {router: sum(busy) / len(busy) for router, busy in loads.items()}
    hottest = sorted((router for router in means if means[router] > 0), key=lambda r: (-means[r], r))[:most]
    if not hottest:
        raise ResultError("no link of a router carried a packet in the measured time")
    places = [float(place) for place in range(len(hottest))]
    busiest = [max(loads[router]) for router in hottest]
    layers: list[Layer] = [
        Spans(
            "mean of its links",
            places,
            [0.0] * len(places),
            [means[router] for router in hottest],
            COLOURS[0],
        ),
        Points("its busiest link", busiest, places, COLOURS[1]),
    ]
    ticks = [(place, f"router {router}") for place, router in zip(places, hottest, strict=True)]
    return [
        Chart(
            f"The {len(hottest)} most loaded routers of {len(means)}",
            Axis("time busy (%)", low=0, high=1.02 * max(busiest)),
            Axis("router", ticks=ticks, low=len(hottest) - 0.5, high=-0.5),
            layers,
            height=max(0.7, len(hottest) / 16),
        )
    ]


def nic_queues(result: Result) -> list[Chart]:
    """Bytes that wait in the NICs of all hosts over time. A host keeps its level until its next row."""
    levels: dict[int, int] = defaultdict(int)
    changes: dict[int, int] = defaultdict(int)
    last = 0
    columns = ["begin_ps", "end_ps", "host", "nic_queue_bytes"]
    for begin, end, host, queued in _rows(result, "host_series", columns):
        changes[begin] += queued - levels[host]
        levels[host] = queued
        last = max(last, end)
    times = sorted(changes)
    sums = list(itertools.accumulate(changes[time] for time in times))
    unit, ps = of_time(last)
    size, bytes_of = next(
        ((name, size) for name, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)) if max(sums) >= size),
        ("B", 1.0),
    )
    x = [time / ps for time in [*times, last]]
    y = [queued / bytes_of for queued in [*sums, sums[-1]]]
    return [
        Chart(
            "Data in the queues of the NICs",
            Axis(f"simulated time ({unit})", low=0, high=last / ps),
            Axis(f"all hosts together ({size})", low=0),
            [Curve("queued", x, y, 0)],
            legend=False,
        )
    ]


def threads(result: Result) -> list[Chart]:
    """Seconds of the simulator's own threads by activity. They differ between runs."""
    run = result.summary.run
    times = list(run.thread_seconds)[:_MOST_THREADS]
    if not times:
        raise ResultError(f"the executor '{run.executor}' measures no times of threads")
    several = run.processes > 1
    base = [0.0] * len(times)
    layers: list[Layer] = []
    for key, name, paint in _ACTIVITIES:
        y = [float(getattr(of, key)) for of in times]
        if any(y):
            layers.append(Bars(name, list(range(len(y))), y, paint, 0.6, list(base)))
        base = [below + more for below, more in zip(base, y, strict=True)]
    ticks = [
        (float(place), f"{place // run.threads}.{place % run.threads}" if several else str(place))
        for place in range(len(times))
    ]
    what = "process.thread" if several else "thread"
    x_axis = Axis(what, ticks=ticks, low=-0.6, high=len(times) - 0.4)
    return [Chart("Time of the simulator's threads", x_axis, Axis("time (s)", low=0), layers)]
