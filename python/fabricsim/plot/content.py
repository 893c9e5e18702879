"""Charts from tables: aggregation and axes, independent of the plotting library.

Tables that a run streams can be larger than memory. They are read column by column and batch by batch, and
only as much as the figure needs is kept. A figure has a few thousand points at most.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pyarrow
import pyarrow.compute
import pyarrow.dataset

from fabricsim._errors import ResultError
from fabricsim.plot.chart import (
    COLOURS,
    GREY,
    INK,
    TIME,
    Arrows,
    Axis,
    Bars,
    Chart,
    Curve,
    Heat,
    Layer,
    Points,
    Spans,
    colour,
    of_time,
)

if TYPE_CHECKING:
    from fabricsim.result import Result

Counts: TypeAlias = list[tuple[int, int]]
"""Values and their counts, in ascending order."""

Results: TypeAlias = Mapping[str, "Result"]

# Protocols of messages without data. Their rows in the table `messages` repeat the size of the MPI message.
CONTROL = ["request-to-send", "clear-to-send", "put-done", "get"]

_ALL = "all packets"
_MOST_POINTS = 2000
_MOST_BLOCKS = 128
_MOST_CALLS = len(COLOURS) - 1
_HOST_LINKS = ("injection", "ejection")
# The number of a router identifies it in less space.
_COORDINATES = re.compile(r" \([^)]*\)")


# Distributions


def latency(results: Results, job: str | None, tail: bool) -> list[Chart]:
    """Share of the packets with at most this latency; with `tail`, with a longer one."""
    counted = _distributions(results, "latency_histogram", "high_ps", job)
    unit, ps = of_time(max(value for counts in counted.values() for value, _ in counts))
    curves = []
    for number, (name, counts) in enumerate(counted.items()):
        x, y = _cumulative(counts, tail)
        curves.append(Curve(name, [value / ps for value in x], y, number))
    shares = [share for curve in curves for share in curve.y if share > 0]
    y_axis = (
        Axis("packets that took longer (%)", log=True, low=min(shares, default=1) / 2, high=120)
        if tail
        else Axis("packets that took at most this (%)", low=0, high=101)
    )
    of_job = f" of {job}" if job is not None else ""
    return [Chart(f"Packet latency{of_job}", Axis(f"latency ({unit})", log=True), y_axis, curves)]


def hops(results: Results, job: str | None) -> list[Chart]:
    """Share of the packets by the number of links crossed."""
    counted = _distributions(results, "hops_histogram", "low_hops", job)
    # Beside the jobs, all packets would only repeat their sum.
    first = 1 if _ALL in counted and len(counted) > 1 else 0
    shown = list(counted.items())[first:]
    width = 0.8 / len(shown)
    bars = []
    for place, (name, counts) in enumerate(shown):
        total = sum(packets for _, packets in counts)
        x = [value + (place - (len(shown) - 1) / 2) * width for value, _ in counts]
        y = [100 * packets / total for _, packets in counts]
        bars.append(Bars(name, x, y, colour(place + first), width * 0.95))
    values = [value for counts in counted.values() for value, _ in counts]
    fewest, longest = min(values), max(values)
    few = longest - fewest <= 24
    ticks = [(float(value), str(value)) for value in range(fewest, longest + 1)] if few else None
    label = "links crossed, injection and ejection included"
    x_axis = Axis(label, ticks=ticks, low=fewest - 0.6, high=longest + 0.6)
    of_job = f" of {job}" if job is not None else ""
    return [Chart(f"Hops{of_job}", x_axis, Axis("packets (%)", low=0), bars, legend=len(bars) > 1)]


def host_latency(results: Results, what: Literal["latency", "hops"], job: str | None) -> list[Chart]:
    """Mean latency or hops of the packets that each host received, hosts in ascending order."""
    means: dict[str, list[float]] = {}
    for result_name, result in results.items():
        by_host = _means(result, "latency_sum_ps" if what == "latency" else "hops_sum")
        of_jobs = _hosts_of_jobs(result) if "ranks" in result.tables else {}
        if job is not None and job not in of_jobs:
            raise ResultError(f"no ranks of a job '{job}'; there are those of: {', '.join(of_jobs)}")
        if job is not None or len(results) == 1:
            chosen = of_jobs if job is None else {job: of_jobs[job]}
            whole = job is None and not (len(of_jobs) == 1 and by_host.keys() <= next(iter(of_jobs.values())))
            if whole:
                means["all hosts"] = list(by_host.values())
            for job_name, hosts in list(chosen.items())[: len(COLOURS) - whole]:
                called = _called(result_name, job_name, results, job)
                means[called] = [value for host, value in by_host.items() if host in hosts]
        else:
            means[result_name] = list(by_host.values())
    means = {name: sorted(values) for name, values in means.items() if values}
    if not means:
        raise ResultError("no host received a measured packet")
    label, scale = "mean hops (links crossed)", 1.0
    if what == "latency":
        unit, scale = of_time(max(values[-1] for values in means.values()))
        label = f"mean latency ({unit})"
    curves = []
    for number, (name, values) in enumerate(means.items()):
        step = -(-len(values) // _MOST_POINTS)
        places = [*range(0, len(values) - 1, step), len(values) - 1]
        x = [100 * place / len(values) for place in places]
        y = [values[place] / scale for place in places]
        curves.append(Curve(name, [*x, 100.0], [*y, y[-1]], number))
    title = {"latency": "Packet latency", "hops": "Hops"}[what]
    of_job = f" of {job}" if job is not None else ""
    return [
        Chart(
            f"{title} by receiving host{of_job}",
            Axis("hosts, sorted (%)", low=0, high=100),
            Axis(label, low=0),
            curves,
        )
    ]


def _means(result: Result, column: str) -> dict[int, float]:
    """A column of ``hosts`` per packet, by host, for the hosts that received packets."""
    if column not in result.tables.dataset("hosts").schema.names:
        raise ResultError(
            "the table 'hosts' of this version has no packets of hosts: run the experiment again"
        )
    rows = list(_rows(result, "hosts", ["host", "packets_received", column]))
    if any(packets is None for _, packets, _ in rows):
        raise ResultError(
            "the packets of hosts were not recorded: set collect.host_latency = true in the experiment"
        )
    return {host: total / packets for host, packets, total in rows if packets > 0}


def _hosts_of_jobs(result: Result) -> dict[str, set[int]]:
    """The hosts of the ranks of each job."""
    hosts: dict[str, set[int]] = defaultdict(set)
    for job, host in _rows(result, "ranks", ["job", "host"]):
        hosts[job].add(host)
    return dict(hosts)


def _distributions(results: Results, name: str, value: str, job: str | None) -> dict[str, Counts]:
    """Histograms by name: the jobs of one result, or the results."""
    found: dict[str, Counts] = {}
    for result_name, result in results.items():
        by_job = _by_job(result, name, value)
        if job is not None:
            if job not in by_job:
                raise ResultError(f"no packets of a job '{job}'; there are those of: {', '.join(by_job)}")
            found[result_name if len(results) > 1 else job] = by_job[job]
        elif len(results) > 1:
            found[result_name] = by_job[_ALL]
        else:
            # With one job, its packets are all packets.
            if len(by_job) == 2:
                del by_job[_ALL]
            found = dict(list(by_job.items())[: len(COLOURS)])
    return found


def _by_job(result: Result, name: str, value: str) -> dict[str, Counts]:
    table = _table(result, name).to_pydict()
    by_job: dict[str, Counts] = defaultdict(list)
    for job, at, packets in zip(table["job"], table[value], table["packets"], strict=True):
        by_job[_ALL if job is None else job].append((at, packets))
    return dict(by_job)


def _cumulative(counts: Counts, tail: bool) -> tuple[list[int], list[float]]:
    total = sum(number for _, number in counts)
    seen = 0
    x: list[int] = []
    y: list[float] = []
    for value, number in counts:
        seen += number
        x.append(value)
        y.append(100 * ((total - seen) if tail else seen) / total)
    if tail:
        # The last value is zero, which has no logarithm.
        return x[:-1] or x, y[:-1] or y
    return [x[0], *x], [0.0, *y]


# Links


def link_load(results: Results) -> list[Chart]:
    """Mean and largest load of the links of each class."""
    names = list(results)
    loads = {name: _loads(result) for name, result in results.items()}
    classes = list(dict.fromkeys(kind for by_class in loads.values() for kind in by_class))
    width = 0.8 / len(names)
    layers: list[Layer] = []
    for number, name in enumerate(names):
        shift = (number - (len(names) - 1) / 2) * width
        shown = [
            (place + shift, loads[name][kind]) for place, kind in enumerate(classes) if kind in loads[name]
        ]
        x = [place for place, _ in shown]
        means = [100 * sum(values) / len(values) for _, values in shown]
        called = "mean" if len(names) == 1 else name
        layers.append(Bars(called, x, means, colour(number), width * 0.9))
    for number, name in enumerate(names):
        shift = (number - (len(names) - 1) / 2) * width
        shown = [
            (place + shift, loads[name][kind]) for place, kind in enumerate(classes) if kind in loads[name]
        ]
        most = [100 * max(values) for _, values in shown]
        if number == 0:
            layers.append(Points("most loaded link", [place for place, _ in shown], most, INK))
        else:
            layers.append(Points("", [place for place, _ in shown], most, INK))
    ticks = [(float(place), kind) for place, kind in enumerate(classes)]
    return [
        Chart(
            "Load of links by class",
            Axis("class of links", ticks=ticks, low=-0.6, high=len(classes) - 0.4),
            Axis("time busy (%)", low=0),
            layers,
        )
    ]


def link_load_cdf(results: Results, link_class: str | None) -> list[Chart]:
    """Share of the links that are busy at most this share of the time."""
    curves: dict[str, list[float]] = {}
    for name, result in results.items():
        by_class = _loads(result)
        if link_class is not None:
            if link_class not in by_class:
                raise ResultError(f"no links of class '{link_class}'; the classes are: {', '.join(by_class)}")
            by_class = {link_class: by_class[link_class]}
        if len(results) == 1:
            curves.update(by_class)
        else:
            between = [v for kind, v in by_class.items() if link_class or kind not in _HOST_LINKS]
            curves[name] = [value for values in between for value in values]
    layers = []
    for number, (name, values) in enumerate(curves.items()):
        values = sorted(values)
        step = -(-len(values) // _MOST_POINTS)
        places = [*range(0, len(values) - 1, step), len(values) - 1]
        x = [100 * values[place] for place in places]
        y = [100 * (place + 1) / len(values) for place in places]
        layers.append(Curve(name, [x[0], *x], [0.0, *y], number))
    which = link_class or ("all" if len(results) == 1 else "between routers")
    return [
        Chart(
            "Load of links" if which == "all" else f"Load of links ({which})",
            Axis("time busy (%)", low=0),
            Axis("links that are busy at most this (%)", low=0, high=101),
            layers,
        )
    ]


def _loads(result: Result) -> dict[str, list[float]]:
    table = _table(result, "links").select(["class", "busy_fraction"]).to_pydict()
    loads: dict[str, list[float]] = defaultdict(list)
    for kind, load in zip(table["class"], table["busy_fraction"], strict=True):
        loads[kind].append(load)
    return dict(loads)


# Over time


def class_load(results: Results, what: Literal["busy", "buffer_full"], link_class: str | None) -> list[Chart]:
    """Load of the classes of links over time."""
    columns = ["begin_ps", "end_ps", "class", "links", f"{what}_ps"]
    rows: dict[str, list[tuple[int, int, float]]] = {}
    for name, result in results.items():
        by_class: dict[str, dict[tuple[int, int], float]] = defaultdict(lambda: defaultdict(float))
        for begin, end, kind, links, time in _rows(result, "class_series", columns):
            # A bin that was written early has further rows.
            by_class[kind][begin, end] += 100 * time / (links * (end - begin))
        if link_class is not None and link_class not in by_class:
            raise ResultError(f"no links of class '{link_class}'; the classes are: {', '.join(by_class)}")
        for kind, bins in by_class.items():
            if link_class in (None, kind):
                called = _called(name, kind, results, link_class)
                rows[called] = [(begin, end, load) for (begin, end), load in bins.items()]
    end = max(end for bins in rows.values() for _, end, _ in bins)
    unit, ps = of_time(end)
    curves = [Curve(name, *_steps(bins, ps, end), number) for number, (name, bins) in enumerate(rows.items())]
    title, label = {
        "busy": ("Load of links by class", "time busy, mean of the links (%)"),
        "buffer_full": ("Full buffers by class", "time waiting for credits, mean of the links (%)"),
    }[what]
    return [
        Chart(
            f"{title} over time",
            Axis(f"simulated time ({unit})", low=0, high=end / ps),
            Axis(label, low=0),
            curves,
        )
    ]


def sends_receives(
    results: Results,
    of: Literal["hosts", "routers", "jobs"],
    what: Literal["packets", "bytes", "messages"],
    only: Sequence[int] | Sequence[str] | None,
) -> list[Chart]:
    """Packets, bytes or messages sent and received over time."""
    name, key = {
        "hosts": ("host_series", "host"),
        "routers": ("router_series", "router"),
        "jobs": ("job_series", "job"),
    }[of]
    rows: dict[str, list[tuple[int, int, float]]] = {}
    for result_name, result in results.items():
        schema = result.tables.dataset(name).schema
        known = [field for field in schema.names if field.endswith("_sent")]
        if f"{what}_sent" not in schema.names:
            kinds = ", ".join(field.removesuffix("_sent") for field in known)
            raise ResultError(f"{name} does not count {what}; it counts: {kinds}")
        columns = [f"{what}_sent", f"{what}_received"]
        kept = None if only is None else pyarrow.dataset.field(key).isin(list(only))
        sums = _sums(result, name, columns, kept)
        for column in columns:
            way = column.rpartition("_")[2]
            rows[way if len(results) == 1 else f"{result_name}, {way}"] = [
                (begin, end, values[column]) for (begin, end), values in sums.items()
            ]
    last = max(end for bins in rows.values() for _, end, _ in bins)
    unit, ps = of_time(last)
    # Per microsecond, or as a data rate: bytes per picosecond are 8000 Gbit/s.
    factor, label = (8000.0, "rate (Gbit/s)") if what == "bytes" else (1e6, f"{what} per \u00b5s")
    curves = []
    for number, (called, bins) in enumerate(rows.items()):
        rates = [(begin, end, factor * value / (end - begin)) for begin, end, value in bins]
        curves.append(Curve(called, *_steps(rates, ps, last), number))
    whose = of if only is None else f"{of} {', '.join(str(item) for item in only)}"
    return [
        Chart(
            f"Sent and received by {whose}",
            Axis(f"simulated time ({unit})", low=0, high=last / ps),
            Axis(label, low=0),
            curves,
        )
    ]


def _sums(
    result: Result, name: str, columns: list[str], kept: pyarrow.dataset.Expression | None
) -> dict[tuple[int, int], dict[str, int]]:
    """Columns added up by time bin, in order of time."""
    sums: dict[tuple[int, int], dict[str, int]] = {}
    for batch in result.tables.dataset(name).to_batches(
        columns=["begin_ps", "end_ps", *columns], filter=kept
    ):
        grouped = pyarrow.Table.from_batches([batch]).group_by(["begin_ps", "end_ps"])
        for row in grouped.aggregate([(column, "sum") for column in columns]).to_pylist():
            at = sums.setdefault((row["begin_ps"], row["end_ps"]), dict.fromkeys(columns, 0))
            for column in columns:
                at[column] += row[f"{column}_sum"]
    if not sums:
        raise ResultError(f"the table '{name}' has no such rows")
    return dict(sorted(sums.items()))


def occupancy(
    result: Result,
    links: Sequence[int] | None,
    link_class: str | None,
    vcs: Sequence[int] | None,
    most: int,
    columns: int,
) -> list[Chart]:
    """Buffer levels: a row for each buffer, time to the right, one map for each VC."""
    numbers = _links_of(result, links, link_class)
    kept = None if numbers is None else pyarrow.dataset.field("link").isin(numbers)
    if vcs is not None:
        on_vcs = pyarrow.dataset.field("vc").isin(list(vcs))
        kept = on_vcs if kept is None else kept & on_vcs
    wanted = ["begin_ps", "end_ps", "link", "vc", "used_bytes", "capacity_bytes"]
    # The end comes first, since it gives the width of a column. Levels hold until the end of the run.
    last = round(result.summary.run.simulated_ns * 1000)
    for (end,) in _rows(result, "vc_series", ["end_ps"], kept):
        last = max(last, end)
    levels: dict[tuple[int, int], dict[int, tuple[int, float]]] = defaultdict(dict)
    for _, end, link, vc, used, capacity in _rows(result, "vc_series", wanted, kept):
        column = min(columns - 1, -(-end * columns // last) - 1)
        buffer = levels[vc, link]
        if column not in buffer or buffer[column][0] <= end:
            buffer[column] = (end, 100 * used / capacity)
    fullness: dict[int, float] = defaultdict(float)
    for (_, link), buffer in levels.items():
        fullness[link] += sum(_held(buffer, columns))
    shown = sorted(sorted(fullness, key=lambda link: (-fullness[link], link))[:most])
    maps = {
        vc: [_held(levels.get((vc, link), {}), columns) for link in shown]
        for vc in sorted({vc for vc, _ in levels})
    }
    names = _link_names(result, shown)
    unit, ps = of_time(last)
    high = max(max(row) for rows in maps.values() for row in rows)
    what = (
        f"{len(shown)} of {len(fullness)} links, the fullest" if len(shown) < len(fullness) else "all links"
    )
    return [
        Chart(
            f"Occupancy of buffers, VC {vc} ({what})",
            Axis(f"simulated time ({unit})", low=0, high=last / ps),
            Axis("buffer at the far end of"),
            [
                Heat(
                    0,
                    last / ps,
                    [names[link] for link in shown],
                    rows,
                    "space taken (%)",
                    0,
                    max(high, 1e-9),
                )
            ],
            legend=False,
            height=min(1.6, max(0.6, len(shown) / 24)),
        )
        for vc, rows in maps.items()
    ]


def _held(buffer: Mapping[int, tuple[int, float]], columns: int) -> list[float]:
    """The level of a buffer in each column. It holds until the next row; all buffers begin empty."""
    levels = []
    level = 0.0
    for column in range(columns):
        level = buffer[column][1] if column in buffer else level
        levels.append(level)
    return levels


def _links_of(result: Result, links: Sequence[int] | None, link_class: str | None) -> list[int] | None:
    if link_class is None:
        return None if links is None else list(links)
    table = _table(result, "links").select(["link", "class"]).to_pydict()
    if link_class not in table["class"]:
        raise ResultError(
            f"no links of class '{link_class}'; the classes are: {', '.join(dict.fromkeys(table['class']))}"
        )
    both = zip(table["link"], table["class"], strict=True)
    return [link for link, kind in both if kind == link_class and (links is None or link in set(links))]


def _link_names(result: Result, links: Sequence[int]) -> dict[int, str]:
    kept = pyarrow.dataset.field("link").isin(list(links))
    return {
        link: f"link {link}: {_COORDINATES.sub('', begin)}"
        for link, begin in _rows(result, "links", ["link", "from"], kept)
    }


# Jobs and ranks


def job_time(results: Results, job: str | None) -> list[Chart]:
    """Time of jobs in computation and MPI calls, mean of the ranks."""
    times = {name: _times(result) for name, result in results.items()}
    named = {job_name for by_job in times.values() for job_name in by_job}
    only = job or (named.pop() if len(named) == 1 else None)
    bars = [
        (_called(name, job_name, results, only), parts)
        for name, by_job in times.items()
        for job_name, parts in by_job.items()
        if only in (None, job_name)
    ]
    if not bars:
        which = "of MPI ranks" if job is None else f"'{job}' of MPI ranks"
        raise ResultError(f"there is no job {which}")
    unit, ps = of_time(max(sum(parts.values()) for _, parts in bars))
    return [
        Chart(
            "Composition of job time" if only is None else f"Composition of the time of {only}",
            Axis(
                "",
                ticks=[(float(place), name) for place, (name, _) in enumerate(bars)],
                low=-0.6,
                high=len(bars) - 0.4,
            ),
            Axis(f"time, mean of the ranks ({unit})", low=0),
            _stacked([parts for _, parts in bars], ps, 0.6),
        )
    ]


def communication(result: Result, job: str | None, what: Literal["bytes", "messages"]) -> list[Chart]:
    """What the ranks of one job sent to each other, on a logarithmic scale; of many ranks, blocks of
    consecutive ones.
    """
    job = one_job(result, job)
    size = next(ranks for name, ranks in _rows(result, "jobs", ["job", "ranks"]) if name == job)
    per = -(-size // _MOST_BLOCKS)
    blocks = -(-size // per)
    sums: list[list[int]] = [[0] * blocks for _ in range(blocks)]
    sent = result.communication(job).select(["from_rank", "to_rank", what]).to_pydict()
    for source, target, count in zip(*sent.values(), strict=True):
        sums[source // per][target // per] += count
    high = max(math.log10(1 + max(row)) for row in sums)
    grouped = f", blocks of {per} ranks" if per > 1 else ""
    return [
        Chart(
            f"What the ranks of {job} sent to each other{grouped}",
            Axis("to rank", low=-0.5, high=blocks * per - 0.5),
            Axis("from rank"),
            [
                Heat(
                    -0.5,
                    blocks * per - 0.5,
                    [str(block * per) for block in range(blocks)],
                    [[math.log10(1 + count) if count else None for count in row] for row in sums],
                    "sent (log10 of bytes)" if what == "bytes" else "sent (log10 of messages)",
                    0,
                    max(high, 1e-9),
                )
            ],
            legend=False,
            height=1.4,
        )
    ]


def rank_time(result: Result, job: str | None) -> list[Chart]:
    """Time of each rank of one job in computation and MPI calls; of many ranks, for groups of consecutive
    ones.
    """
    ranks = _table(result, "ranks").select(["job", "rank", "compute_ps", "mpi_ps"]).to_pydict()
    job = one_job(result, job)
    size = 1 + max(r for name, r in zip(ranks["job"], ranks["rank"], strict=True) if name == job)
    group = -(-size // 200)
    parts: list[dict[str, float]] = [defaultdict(float) for _ in range(-(-size // group))]
    members = [min(group, size - first) for first in range(0, size, group)]
    for name, rank, compute, mpi in zip(*ranks.values(), strict=True):
        if name == job:
            parts[rank // group]["computation"] += compute / members[rank // group]
            parts[rank // group]["other MPI"] += mpi / members[rank // group]
    kept = pyarrow.dataset.field("job") == job
    for rank, call, time in _rows(result, "calls", ["rank", "call", "time_ps"], kept):
        parts[rank // group][call] += time / members[rank // group]
        parts[rank // group]["other MPI"] -= time / members[rank // group]
    unit, ps = of_time(max(sum(part.values()) for part in parts))
    grouped = f", mean of {group} ranks each" if group > 1 else ""
    layers = _stacked(parts, ps, 0.9)
    scaled = [
        Bars(
            bar.name,
            [group * x + (group - 1) / 2 for x in bar.x],
            bar.y,
            bar.colour,
            bar.width * group,
            bar.base,
        )
        for bar in layers
    ]
    return [
        Chart(
            f"Where the time of {job} goes{grouped}",
            Axis("rank", low=-0.6, high=size - 0.4),
            Axis(f"time ({unit})", low=0),
            scaled,
        )
    ]


def _times(result: Result) -> dict[str, dict[str, float]]:
    """Jobs of ranks: computation and calls in picoseconds, mean of the ranks."""
    jobs = _table(result, "jobs").select(["job", "ranks", "compute_ps", "mpi_ps"]).to_pydict()
    times: dict[str, dict[str, float]] = {}
    sizes = dict(zip(jobs["job"], jobs["ranks"], strict=True))
    for job, ranks, compute, mpi in zip(*jobs.values(), strict=True):
        if ranks:
            times[job] = {"computation": float(compute), "other MPI": float(mpi)}
    if "calls" in result.tables:
        calls = _table(result, "calls").group_by(["job", "call"]).aggregate([("time_ps", "sum")])
        for row in calls.to_pylist():
            mean = row["time_ps_sum"] / sizes[row["job"]]
            times[row["job"]][row["call"]] = mean
            times[row["job"]]["other MPI"] -= mean
    return times


def _stacked(parts: Sequence[Mapping[str, float]], ps: float, width: float) -> list[Bars]:
    """Stacked bars: computation, the longest calls, the rest."""
    sums: dict[str, float] = defaultdict(float)
    for part in parts:
        for name, time in part.items():
            sums[name] += time
    calls = sorted(
        (name for name in sums if name not in ("computation", "other MPI")), key=lambda n: (-sums[n], n)
    )
    shown = [name for name in calls if sums[name] > 0][:_MOST_CALLS]
    rest = [name for name in calls if name not in shown] + ["other MPI"]
    series = [("computation", TIME["compute"], ["computation"])]
    series += [(name, COLOURS[number], [name]) for number, name in enumerate(shown)]
    # Means are rounded down, so that less than a picosecond per call may be missing.
    if sum(sums[name] for name in rest) > len(parts) * (len(calls) + 1):
        series.append(("other MPI", GREY, rest))
    base = [0.0] * len(parts)
    bars = []
    for name, paint, names in series:
        y = [max(0.0, sum(part.get(name, 0.0) for name in names)) / ps for part in parts]
        bars.append(Bars(name, list(range(len(parts))), y, paint, width, list(base)))
        base = [below + more for below, more in zip(base, y, strict=True)]
    return bars


def timeline(
    result: Result,
    job: str | None,
    ranks: Sequence[int] | None,
    begin_ns: float | None,
    end_ns: float | None,
    messages: bool | None,
    pixels: int = 1500,
) -> list[Chart]:
    """The state of each rank over time, with messages as arrows."""
    job = one_job(result, job)
    of_job = pyarrow.dataset.field("job") == job
    chosen = list(range(_MOST_RANKS)) if ranks is None else list(ranks)
    kept = of_job & pyarrow.dataset.field("rank").isin(chosen)
    begin, end = (None if at is None else round(at * 1000) for at in (begin_ns, end_ns))
    if begin is not None:
        kept &= pyarrow.dataset.field("end_ps") > begin
    if end is not None:
        kept &= pyarrow.dataset.field("begin_ps") < end
    first, last, count = _extent(result, kept, begin, end)
    rows = (
        (rank, max(since, first), min(until, last), state)
        for rank, since, until, state in _rows(
            result, "timeline", ["rank", "begin_ps", "end_ps", "state"], kept
        )
    )
    spans, sums = _readable(rows, count, first, last, pixels)
    lanes = sorted({span[0] for span in spans})
    states = sorted(sums, key=lambda state: (state != "compute", -sums[state], state))
    unit, ps = of_time(last)
    where = {rank: place for place, rank in enumerate(lanes)}
    layers: list[Layer] = []
    # The rarest states share a colour.
    rare = set(states[len(COLOURS) :])
    kinds = [(state, {state}, COLOURS[number]) for number, state in enumerate(states[: len(COLOURS)])]
    for name, shown, paint in [*kinds, ("other calls", rare, GREY)]:
        here = [span for span in spans if span[3] in shown]
        if here:
            layers.append(
                Spans(
                    {"compute": "computation"}.get(name, name),
                    [where[span[0]] for span in here],
                    [span[1] / ps for span in here],
                    [span[2] / ps for span in here],
                    paint,
                )
            )
    if messages is not False:
        layers += _arrows(result, job, where, first, last, ps, always=messages is True)
    step = -(-len(lanes) // 24)
    ticks = [(float(place), str(rank)) for place, rank in enumerate(lanes) if place % step == 0]
    size = dict(_rows(result, "jobs", ["job", "ranks"]))[job]
    part = f", {len(lanes)} of {size} ranks" if len(lanes) < size else ""
    return [
        Chart(
            f"Timeline of {job}{part}",
            Axis(f"simulated time ({unit})", low=first / ps, high=last / ps),
            Axis("rank", ticks=ticks, low=len(lanes) - 0.5, high=-0.5),
            layers,
            height=min(2.4, max(0.7, len(lanes) / 20)),
        )
    ]


_MOST_RANKS = 64
_MOST_ARROWS = 400

Span: TypeAlias = tuple[int, int, int, str]
"""Rank, begin, end in picoseconds, state."""


def _extent(
    result: Result, kept: pyarrow.dataset.Expression, begin: int | None, end: int | None
) -> tuple[int, int, int]:
    """Begin and end of the shown part of a timeline, and its number of rows."""
    count = 0
    least: list[int] = []
    largest: list[int] = []
    for batch in result.tables.dataset("timeline").to_batches(columns=["begin_ps", "end_ps"], filter=kept):
        if batch.num_rows:
            count += batch.num_rows
            least.append(pyarrow.compute.min(batch["begin_ps"]).as_py())
            largest.append(pyarrow.compute.max(batch["end_ps"]).as_py())
    if not count:
        raise ResultError("the table 'timeline' has no such rows")
    first = max(min(least), begin or 0)
    last = max(largest) if end is None else min(max(largest), end)
    return first, max(last, first + 1), count


def _readable(
    rows: Iterable[Span], count: int, first: int, last: int, pixels: int
) -> tuple[list[Span], dict[str, int]]:
    """The same spans, if there are few; else each rank in pixels with the state that fills most of each.

    And the time of each state.
    """
    sums: dict[str, int] = defaultdict(int)
    if count <= 4 * pixels:
        few = sorted(row for row in rows if row[1] < row[2])
        for _, begin, end, state in few:
            sums[state] += end - begin
        return few, sums
    width = -(-(last - first) // pixels)
    filled: dict[tuple[int, int], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for rank, begin, end, state in rows:
        sums[state] += end - begin
        pixel = (begin - first) // width
        while begin < end:
            until = min(end, first + (pixel + 1) * width)
            filled[rank, pixel][state] += until - begin
            begin, pixel = until, pixel + 1
    spans: list[Span] = []
    for (rank, pixel), states in sorted(filled.items()):
        state = max(states, key=lambda name: (states[name], name))
        begin, end = first + pixel * width, min(last, first + (pixel + 1) * width)
        if spans and spans[-1][0] == rank and spans[-1][2] == begin and spans[-1][3] == state:
            spans[-1] = (rank, spans[-1][1], end, state)
        else:
            spans.append((rank, begin, end, state))
    return spans, sums


def _arrows(
    result: Result, job: str, where: Mapping[int, int], first: int, last: int, ps: float, always: bool
) -> list[Layer]:
    """The messages between the shown ranks; of many, none or the largest."""
    if "messages" not in result.tables:
        return []
    field = pyarrow.dataset.field
    kept = (
        (field("job") == job)
        & field("from_rank").isin(list(where))
        & field("to_rank").isin(list(where))
        & ~field("protocol").isin(CONTROL)
        & (field("sent_ps") >= first)
        & (field("arrived_ps") <= last)
    )
    columns = ["bytes", "sent_ps", "arrived_ps", "from_rank", "to_rank"]
    found = 0

    def counted() -> Iterator[tuple[int, ...]]:
        nonlocal found
        for row in _rows(result, "messages", columns, kept, may_lack=True):
            found += 1
            yield row

    shown = heapq.nsmallest(_MOST_ARROWS, counted(), key=lambda row: (-row[0], *row[1:]))
    if not shown or (found > len(shown) and not always):
        return []
    name = "message" if len(shown) == found else f"message (largest {len(shown)} of {found})"
    return [
        Arrows(
            name,
            [sent / ps for _, sent, _, _, _ in shown],
            [where[rank] for _, _, _, rank, _ in shown],
            [arrived / ps for _, _, arrived, _, _ in shown],
            [where[rank] for _, _, _, _, rank in shown],
        )
    ]


# Helpers of several figures


def _table(result: Result, name: str) -> pyarrow.Table:
    result.tables.path(name)
    table = result.tables[name]
    if table.num_rows == 0:
        raise ResultError(f"the table '{name}' has no rows")
    return table


def _rows(
    result: Result,
    name: str,
    columns: list[str],
    kept: pyarrow.dataset.Expression | None = None,
    may_lack: bool = False,
) -> Iterator[tuple[Any, ...]]:
    """The rows of some columns, batch by batch."""
    found = False
    for batch in result.tables.dataset(name).to_batches(columns=columns, filter=kept):
        found = found or batch.num_rows > 0
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
    if not found and not may_lack:
        raise ResultError(f"the table '{name}' has no such rows")


def one_job(result: Result, job: str | None) -> str:
    """The requested job of MPI ranks, or the only one."""
    jobs = _rows(result, "jobs", ["job", "ranks"], may_lack=True)
    known: list[str] = [name for name, ranks in jobs if ranks]
    if job is None and len(known) == 1:
        return known[0]
    if job is None or job not in known:
        asked = "which job" if job is None else f"no job '{job}' of MPI ranks"
        raise ResultError(f"{asked}? The jobs of MPI ranks are: {', '.join(known) or 'none'}")
    return job


def _called(result: str, thing: str, results: Results, asked: str | None) -> str:
    """A name within one result, the name of a result, or both."""
    if len(results) == 1:
        return thing
    return result if asked is not None else f"{result}, {thing}"


def _steps(bins: Sequence[tuple[int, int, float]], ps: float, last: int) -> tuple[list[float], list[float]]:
    """Values of bins as steps until `last`; missing bins are zero."""
    x: list[float] = []
    y: list[float] = []
    reached = 0
    for begin, end, value in sorted(bins):
        if begin > reached:
            x.append(reached / ps)
            y.append(0.0)
        x.append(begin / ps)
        y.append(value)
        reached = end
    if reached < last:
        x.append(reached / ps)
        y.append(0.0)
    return [*x, last / ps], [*y, y[-1]]
