"""Neighbours, measured: how much an aggressor slows a victim on three machines, beside measurements.

See README.md; ``studies/study.py`` has the options.
"""

import csv
import functools
import math
import re
import statistics
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from study import COLOURS, Case, Check, Row, Study, at_least, at_most, markdown, select, within  # noqa: E402

KIB, MIB = 1024, 1024 * 1024
# Bytes of a message of the aggressors, and about the rate of a NIC in bytes per microsecond.
AGGRESSOR_BYTES, NIC_RATE = 2 * MIB, 25_000
# Rounds of the aggressor in a run, and times of the victim alone that it has beside these. An incast has few
# packets and stalls victims for whole rounds. Iterations of the victim that begin in the first round do not
# count.
ROUNDS = {"all-to-all": 3, "incast": 20}
MORE_TIMES = {"all-to-all": 12, "incast": 60}
# Iterations of a victim alone, which differ by adaptive routing only, and the first ones, which do not count.
ALONE, FIRST = 8, 2
# Above this many packets a run has larger packets, with headers and buffers in proportion.
FINE_PACKETS = 6_000_000
# A simulated slow-down within this part of the measured one counts as right.
NEAR = 0.25

# The keys of [network] by machine, without those of the calibration.
NETWORKS = {
    "leonardo": 'preset = "leonardo"\nrails = 2\ntopology.hosts_per_leaf = 20\n',
    "lumi": 'preset = "lumi"\n',
    # Derived from the times of the all-to-all alone; see README.md.
    "cresco8": """\
hardware = "infiniband-ndr"
topology = { kind = "fat-tree", down = [64, 12], up = [3] }
routing.algorithm = "destination-mod-k"
links.host.bandwidth = "200 Gbps"
links.leaf-spine.latency = "100 ns"
""",
}
CALIBRATIONS = {"leonardo": "infiniband-hdr100", "lumi": "slingshot-11", "cresco8": "infiniband-hdr100"}
# Bytes of the header of a packet of 4 KiB, and of a buffer, in the presets.
HEADERS = {"leonardo": 114, "lumi": 50, "cresco8": 100}
BUFFERS = {"leonardo": 100_000, "lumi": 100_000, "cresco8": 400_000}
NAMES = {"leonardo": "Leonardo", "lumi": "LUMI", "cresco8": "CRESCO8"}
# Variants of some points that tell causes apart: the model's name, and what is different.
PRESET = "preset"
VARIANTS = {
    "small": "a quarter of the buffers",
    "large": "eight times the buffers",
    "input-queued": "router `input-queued`",
    "classes": "router `input-queued`, each job in a traffic class of its own",
    "minimal": "minimal routing",
    "uncontrolled": "no congestion control",
    "before": "neither congestion control nor detours inside groups",
}
VARIANT_BYTES = ("512", str(2 * MIB))
ALGORITHMS = '[mpi.collectives]\nallgather = "ring"\nalltoall = "linear"\nbcast = "binomial"\n'
# Numbers of the first node, as it is named.
FIRST_NODE = {"leonardo": 1, "lumi": 5000, "cresco8": 1}
COLUMNS = ("system", "nodes", "collective", "bytes", "aggressor", "mode", "allocation")
MEASURED = ("isolated_us", "slowdown", "slowdown_mean", "same_nodes")

Point = dict[str, str]


@functools.cache
def read(name: str) -> list[Point]:
    with (HERE / name).open(newline="") as file:
        return list(csv.DictReader(file))


@functools.cache
def hosts(allocation: str, job: str) -> list[int]:
    """The hosts of the preset for the nodes of a job, by rank."""
    names = next(line for line in read("allocations.csv") if line["allocation"] == allocation)[job]
    system = next(point["system"] for point in read("measured.csv") if point["allocation"] == allocation)
    found = []
    for number in re.findall(r"\d+", names.split("[", 1)[1]):
        node = int(number) - FIRST_NODE[system]
        # 124 of the 128 hosts of a group of LUMI are nodes.
        found.append(node // 124 * 128 + node % 124 if system == "lumi" else node)
    return found


def round_us(nodes: int) -> float:
    """About the time of a round of an aggressor, which the NICs bound."""
    return (nodes // 2 - 1) * AGGRESSOR_BYTES / NIC_RATE


def end_us(point: Point) -> float:
    """When a run ends."""
    kind = point["aggressor"]
    return ROUNDS[kind] * round_us(int(point["nodes"])) + MORE_TIMES[kind] * float(point["isolated_us"])


def coarse(point: Point) -> int:
    """How many times as large packets are as those of the preset. An incast leaves few to simulate."""
    rate = int(point["nodes"]) // 2 * NIC_RATE
    if int(point["bytes"]) >= 256 * KIB:
        rate *= 2
    is_large = point["aggressor"] == "all-to-all" and rate * end_us(point) / 4096 > FINE_PACKETS
    return 4 if is_large else 1


def network(system: str, factor: int, model: str) -> str:
    """The tables [network] and [mpi]."""
    folder = HERE.parent / "real-machines/calibration"
    found = tomllib.loads((folder / f"{CALIBRATIONS[system]}.toml").read_text())
    lines = [NETWORKS[system]]
    lines += [
        f'{key} = "{found["network"][key]}"\n' for key in ("nic_injection_delay", "nic_reception_delay")
    ]
    if system == "lumi":
        lines.append(f'links.host.bandwidth = "{found["network"]["link"]["bandwidth"]}"\n')
    sizes = {"packet": 4096, "packet_header": HEADERS[system], "router.buffer": BUFFERS[system]}
    if model == "small":
        sizes["router.buffer"] //= 4
    if model == "large":
        sizes["router.buffer"] *= 8
    lines += [f'{key} = "{factor * size} B"\n' for key, size in sizes.items()]
    if model in ("input-queued", "classes"):
        lines.append('router.model = "input-queued"\n')
    if model == "classes":
        lines.append('traffic_class = [{ name = "victim" }, { name = "aggressor" }]\n')
    if model in ("uncontrolled", "before"):
        lines.append('nic.congestion_control = "none"\n')
    if model == "before":
        lines.append('routing.local = "minimal"\n')
    if model == "minimal":
        lines.append('routing.algorithm = "minimal"\n')
    mpi = "".join(f'{key} = "{value}"\n' for key, value in found["mpi"].items())
    return f"[network]\n{''.join(lines)}\n[mpi]\n{mpi}\n{ALGORITHMS}"


def job(name: str, point: Point, model: str, phases: str, repeated: str) -> str:
    places = ",".join(f"n{host}" for host in hosts(point["allocation"], f"{name}s"))
    traffic_class = f'traffic_class = "{name}"\n' if model == "classes" else ""
    return (
        f'[[job]]\nname = "{name}"\nplacement = {{ hostlist = "{places}" }}\n{repeated}{traffic_class}'
        f'workload = {{ motif = "phases", ranks = {int(point["nodes"]) // 2}, phases = [{phases}] }}\n\n'
    )


def victim(point: Point, model: str, repeated: str) -> str:
    """The job that is measured."""
    if point["collective"] == "all-gather":
        call = f'collective = "allgather", bytes = "{point["bytes_per_message"]} B"'
    else:
        call = f'collective = "alltoall", bytes = "{point["bytes"]} B"'
    return job("victim", point, model, f'{{ collective = "barrier" }}, {{ {call} }}', repeated)


def aggressor(point: Point, model: str, repeated: str) -> str:
    """The job beside it."""
    if point["aggressor"] == "incast":
        phases = f'{{ motif = "incast", target = 0, barriers = false, bytes = "{AGGRESSOR_BYTES} B" }}'
    else:
        phases = f'{{ collective = "alltoall", bytes = "{AGGRESSOR_BYTES} B" }}'
    if point["mode"] == "bursty":
        # After each round rank 0 says whether the burst goes on. A burst has at least one round.
        rounds = math.ceil(float(point["burst_us"]) / round_us(int(point["nodes"])))
        phases = (
            f'{{ iterations = {rounds}, phases = [{phases}, {{ collective = "bcast", bytes = "4 B" }}] }}, '
            f'{{ compute = "{point["pause_us"]} us" }}'
        )
    return job("aggressor", point, model, phases, repeated)


def case(point: Point, model: str, alone: bool) -> Case:
    factor = coarse(point)
    columns = {"model": model} | {name: point[name] for name in COLUMNS} | {"packets": factor}
    measured = {name: point[name] for name in MEASURED}
    text = network(point["system"], factor, model)
    if alone:
        columns |= {"aggressor": "none", "mode": "", "allocation": point["allocation"]}
        measured = dict.fromkeys(MEASURED, "")
        text += victim(point, model, f"repetitions = {ALONE}\n")
    else:
        end = f'end = "{math.ceil(end_us(point))} us"\n'
        text += victim(point, model, end) + aggressor(point, model, end)
    return Case(columns | measured, text + '[collect]\nseries = "off"\ntimeline = true\n', tables=True)


def has_variant(point: Point, model: str) -> bool:
    """Steady aggressors on the most nodes of a system and collective, two sizes. Two variants have more."""
    if model == "large" and point["system"] == "leonardo" and point["aggressor"] == "incast":
        return True
    # All routing on the fat tree is minimal.
    if model == "minimal" and point["system"] == "cresco8":
        return False
    # Only Slingshot has congestion control, and only dragonflies have detours inside groups.
    if model in ("uncontrolled", "before"):
        return point["system"] == "lumi"
    # Where the victim is not slowed, this would take minutes.
    is_heavy = (
        point["collective"] == "all-to-all" and point["bytes"] != "512" and point["system"] != "cresco8"
    )
    if model == "classes" and is_heavy:
        return False
    if point["aggressor"] == "all-to-all" and point["system"] != "cresco8":
        return False
    some = [of for of in read("measured.csv") if same(of, point, "system", "collective")]
    most = max(int(of["nodes"]) for of in some)
    return point["mode"] == "steady" and int(point["nodes"]) == most and point["bytes"] in VARIANT_BYTES


def same(one: Point, other: Point, *names: str) -> bool:
    return all(one[name] == other[name] for name in names)


def cases(smoke: bool) -> list[Case]:
    points = [(point, PRESET) for point in read("measured.csv")]
    if smoke:
        small = {"nodes": "8", "bytes": "512", "mode": "steady"}
        points = [(point, model) for point, model in points if same(point, small, *small)]
    else:
        points += [
            (point, model)
            for model in VARIANTS
            for point in read("measured.csv")
            if has_variant(point, model)
        ]
    found = {}
    for point, model in points:
        for one in (case(point, model, True), case(point, model, False)):
            found.setdefault(tuple(one.columns[name] for name in ("model", *COLUMNS, "packets")), one)
    return list(found.values())


def in_part(case: Case) -> bool:
    """Half of the small runs."""
    return case.columns["collective"] == "all-to-all"


def measure(_: dict, folder: Path | None) -> dict[str, object]:
    """Median and mean over the iterations of the slowest rank's time in the collective."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    rows = pq.read_table(folder / "timeline.parquet", columns=["job", "rank", "begin_ps", "end_ps", "state"])
    found: dict[int, list[list[int]]] = {}
    previous: dict[int, str] = {}
    for row in rows.filter(pc.equal(rows["job"], "victim")).to_pylist():
        rank, state = row["rank"], row["state"]
        calls = found.setdefault(rank, [])
        if state != "MPI_Barrier":
            if previous.get(rank) == state:
                calls[-1][1] = row["end_ps"]
            else:
                calls.append([row["begin_ps"], row["end_ps"]])
        previous[rank] = state
    # The last call of a rank may have been interrupted, unless all ranks ended it.
    stopped = "aggressor" in set(pc.unique(rows["job"]).to_pylist())
    complete = min(len(calls) for calls in found.values()) - stopped
    iterations = []
    for number in range(complete):
        of = [calls[number] for calls in found.values()]
        iterations.append((min(begin for begin, _ in of), max(end - begin for begin, end in of) / 1e6))
    start = round_us(2 * len(found)) * 1e6 if stopped else 0
    times = [time for begin, time in iterations[FIRST:] if begin >= start]
    if not times:
        times = [time for _, time in iterations[-1:]]
    return {
        "iterations": len(times),
        "median_us": f"{statistics.median(times):.3f}",
        "mean_us": f"{statistics.mean(times):.3f}",
        "largest_us": f"{max(times):.3f}",
    }


def of(rows: list[Row], model: str = PRESET, **known: object) -> list[Row]:
    """The rows of a model with an aggressor and these values."""
    return [row for row in select(rows, model=model, **known) if row["aggressor"] != "none"]


def base(rows: list[Row], row: Row) -> Row:
    """The run of the same victim alone."""
    names = ("model", "system", "nodes", "collective", "bytes", "allocation", "packets")
    return select(rows, aggressor="none", **{name: row[name] for name in names})[0]


def slowdown(rows: list[Row], row: Row, kind: str = "median") -> float:
    """The simulated slow-down, of medians or means over the iterations."""
    return float(row[f"{kind}_us"]) / float(base(rows, row)[f"{kind}_us"])


def measured(row: Row, kind: str = "median") -> float:
    return float(row["slowdown" if kind == "median" else "slowdown_mean"])


def is_near(one: float, other: float) -> bool:
    return abs(one / other - 1) <= NEAR


def near(rows: list[Row], some: list[Row], kind: str = "median") -> float:
    """The part of some rows in which the simulated slow-down is near the measured one."""
    return sum(is_near(slowdown(rows, row, kind), measured(row, kind)) for row in some) / len(some)


def checks(rows: list[Row], smoke: bool) -> list[Check]:
    if smoke:
        found = [
            at_most(f"{NAMES[system]}, 8 nodes, all-to-all of 512 B beside an all-to-all", value, 1.1)
            for system in NAMES
            for value in [
                slowdown(rows, row)
                for row in of(rows, system=system, collective="all-to-all", aggressor="all-to-all")
                if row["mode"] == "steady"
            ]
        ]
        return [*found, at_least("runs with an aggressor", len(of(rows)), 6, ".0f")]
    lone = [abs(alone_error(row)) for row in select(rows, model=PRESET, aggressor="none") if alone_known(row)]
    classes = [slowdown(rows, row) for row in of(rows, "classes") if row["bytes"] == "512"]
    one_switch = [slowdown(rows, row) for row in of(rows, system="cresco8") if int(row["nodes"]) <= 32]
    lumi = {kind: of(rows, system="lumi", aggressor=kind) for kind in AGGRESSORS}
    detours = [slowdown(rows, row) for row in lumi["all-to-all"]]
    large = of(rows, "large", system="leonardo", nodes=64)
    ratios = {kind: [slowdown(rows, row, kind) / measured(row, kind) for row in large] for kind in KINDS}
    return [
        at_least("cases", len(of(rows)), 304, ".0f"),
        at_least("cases that are near, by medians", near(rows, of(rows)), 0.7, ".2f"),
        at_most("CRESCO8, up to 32 nodes: largest slow-down", max(one_switch), 1.01, ".2f"),
        at_most("LUMI, all-to-all: largest slow-down", max(detours), 1.3, ".2f"),
        at_least("LUMI, incast: cases that are near, by medians", near(rows, lumi["incast"]), 0.9, ".2f"),
        within(
            "Leonardo, 64 nodes, eight times the buffers: median ratio to the measured medians",
            statistics.median(ratios["median"]),
            0.75,
            1.5,
            ".2f",
        ),
        within("the same for means", statistics.median(ratios["mean"]), 0.75, 2.0, ".2f"),
        at_most("victims alone: median relative error of their times", statistics.median(lone), 0.40, ".2f"),
        at_most(
            "512 B, each job in a class of its own: median slow-down", statistics.median(classes), 1.5, ".2f"
        ),
    ]


def alone_known(row: Row) -> bool:
    return bool(lone_times().get(tuple(row[name] for name in LONE)))


LONE = ("system", "nodes", "collective", "bytes")


@functools.cache
def lone_times() -> dict[tuple[str, ...], float]:
    """Measured times of victims alone; their allocations differ, and the times hardly."""
    found: dict[tuple[str, ...], list[float]] = {}
    for point in read("measured.csv"):
        found.setdefault(tuple(point[name] for name in LONE), []).append(float(point["isolated_us"]))
    return {key: statistics.median(times) for key, times in found.items()}


def alone_error(row: Row) -> float:
    return float(row["median_us"]) / lone_times()[tuple(row[name] for name in LONE)] - 1


def size_text(size: int) -> str:
    return f"{size} B" if size < KIB else f"{size // KIB} KiB" if size < MIB else f"{size // MIB} MiB"


def span(values: list[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}"


def share(part: float) -> str:
    return f"{100 * part:.0f} %"


def target_line(rows: list[Row], name: str, kind: str, some: list[Row]) -> list[str]:
    return [
        name,
        kind,
        str(len(some)),
        share(near(rows, some)),
        share(near(rows, some, "mean")),
        share(sum(is_near(1, measured(row)) for row in some) / len(some)),
        f"{max(measured(row) for row in some):.1f}",
        f"{max(slowdown(rows, row) for row in some):.1f}",
    ]


AGGRESSORS = ("all-to-all", "incast")
KINDS = ("median", "mean")


def target_block(rows: list[Row]) -> str:
    lines = []
    for system, name in NAMES.items():
        for kind in AGGRESSORS:
            lines.append(target_line(rows, name, kind, of(rows, system=system, aggressor=kind)))
    lines.append(target_line(rows, "**all**", "**both**", of(rows)))
    for system, model in (("leonardo", "large"), ("lumi", "uncontrolled"), ("lumi", "before")):
        for kind in AGGRESSORS:
            if (system, kind) != ("leonardo", "all-to-all"):
                some = of(rows, model, system=system, aggressor=kind)
                lines.append(target_line(rows, f"{NAMES[system]}, {VARIANTS[model]}", kind, some))
    name = f"**all**, LUMI with {VARIANTS['before']}"
    lines.append(target_line(rows, name, "**both**", with_before(rows)))
    name = f"**all**, Leonardo with {VARIANTS['large']}"
    lines.append(target_line(rows, name, "**both**", changed(rows)))
    header = ["machine", "aggressor", "cases", "near, by medians", "near, by means"]
    header += ["measured near 1", "most, measured", "most, simulated"]
    return markdown(header, lines)


def with_before(rows: list[Row]) -> list[Row]:
    """All cases, with the preset of LUMI as it was at first."""
    return [row for row in of(rows) if row["system"] != "lumi"] + of(rows, "before")


def changed(rows: list[Row]) -> list[Row]:
    """All cases, with larger buffers on Leonardo beside an incast."""
    others = [row for row in of(rows) if (row["system"], row["aggressor"]) != ("leonardo", "incast")]
    return others + of(rows, "large", system="leonardo")


def cases_block(rows: list[Row]) -> str:
    sizes = sorted({int(row["bytes"]) for row in rows})
    lines = []
    for point in read("measured.csv"):
        names = ("system", "collective", "nodes", "aggressor", "mode")
        known = {name: point[name] for name in names}
        line = [NAMES[point["system"]], *(point[name] for name in names[1:])]
        if lines and lines[-1][: len(line)] == line:
            continue
        for size in sizes:
            found = of(rows, bytes=size, **known)
            texts = [
                f"{slowdown(rows, row):.2f} / {measured(row):.2f}, "
                f"{slowdown(rows, row, 'mean'):.1f} / {measured(row, 'mean'):.1f}"
                for row in found
            ]
            line.append(texts[0] if texts else "")
        lines.append(line)
    header = ["machine", "victim", "nodes", "aggressor", "mode", *map(size_text, sizes)]
    return markdown(header, lines)


def alone_block(rows: list[Row]) -> str:
    lines = []
    for system in NAMES:
        for collective in ("all-gather", "all-to-all"):
            line = [NAMES[system], collective]
            some = select(rows, model=PRESET, system=system, collective=collective, aggressor="none")
            for size in sorted({int(row["bytes"]) for row in rows}):
                errors = [alone_error(row) for row in some if int(row["bytes"]) == size]
                line.append(f"{100 * statistics.median(errors):+.0f} %" if errors else "")
            lines.append(line)
    header = ["machine", "victim", *(size_text(size) for size in sorted({int(row["bytes"]) for row in rows}))]
    return markdown(header, lines)


def findings_block(rows: list[Row]) -> str:
    every = of(rows)
    first = with_before(rows)
    above = [row for row in every if slowdown(rows, row) > (1 + NEAR) * measured(row)]
    below = [row for row in every if slowdown(rows, row) < (1 - NEAR) * measured(row)]
    one_switch = [row for row in of(rows, system="cresco8") if int(row["nodes"]) <= 32]
    incast = of(rows, system="leonardo", aggressor="incast")
    large = of(rows, "large", system="leonardo", aggressor="incast")
    few = [row for row in incast if row["nodes"] == "8"]
    thirty_two = of(
        rows,
        system="leonardo",
        nodes=32,
        aggressor="incast",
        mode="steady",
        collective="all-gather",
        bytes=512,
    )[0]
    with_large = select(large, nodes="32", mode="steady", collective="all-gather", bytes="512")[0]
    quiet = of(rows, system="leonardo", aggressor="all-to-all")
    lumi = of(rows, system="lumi")
    lumi_incast = [row for row in lumi if row["aggressor"] == "incast"]
    lumi_quiet = [row for row in lumi if row["aggressor"] != "incast"]
    before_quiet = of(rows, "before", system="lumi", aggressor="all-to-all")
    before_incast = of(rows, "before", system="lumi", aggressor="incast")
    free_incast = of(rows, "uncontrolled", system="lumi", aggressor="incast")
    tree = of(rows, system="cresco8", nodes=64, aggressor="all-to-all", mode="steady", bytes=512)
    tree_small = of(
        rows, "small", system="cresco8", nodes=64, aggressor="all-to-all", mode="steady", bytes=512
    )
    place = {
        mode: of(
            rows,
            system="cresco8",
            nodes=64,
            collective="all-gather",
            aggressor="incast",
            mode=mode,
            bytes=16 * MIB,
        )[0]
        for mode in ("steady", "bursty")
    }
    lone = [
        alone_error(row)
        for row in select(rows, model=PRESET, system="cresco8", nodes=64, aggressor="none")
        if row["collective"] == "all-to-all" and int(row["bytes"]) >= 256 * KIB
    ]
    return f"""\
- **The aim**: {share(near(rows, every))} of the cases are near by medians, \
{share(near(rows, every, "mean"))} by means. That is no blind prediction: what brought it there was added \
to the preset of LUMI after the first ones, which had {share(near(rows, first))} and \
{share(near(rows, first, "mean"))}. {len(above)} slow-downs are too large and {len(below)} too small. \
Most measured slow-downs are about 1, so that the prediction \
"no effect" is near in {share(sum(is_near(1, measured(row)) for row in every) / len(every))}.
- **Below one switch** nobody is slowed, measured or simulated: on up to 32 nodes of CRESCO8 the measured \
slow-downs are {span([measured(row) for row in one_switch])} and the simulated ones \
{span([slowdown(rows, row) for row in one_switch])}, {share(near(rows, one_switch))} near. An all-to-all \
beside a victim on Leonardo is right, too: {share(near(rows, quiet))} near.
- **Leonardo, incast: buffers.** Already three senders slow a victim up to \
{max(slowdown(rows, row) for row in few):.1f} times in the simulation, and at most \
{max(measured(row) for row in few):.1f} times on the machine. With eight times the buffers of the preset, \
which are assumed, the 32 nodes have a median of {slowdown(rows, with_large):.2f} and a mean of \
{slowdown(rows, with_large, "mean"):.1f} in place of {slowdown(rows, thirty_two):.2f} and \
{slowdown(rows, thirty_two, "mean"):.1f}; measured {measured(thirty_two):.2f} and \
{measured(thirty_two, "mean"):.1f} (all-gather of 512 B). So the sign of this machine appears, a median \
of about 1 with a mean far above it: a victim stalls until the round of the incast ends, and then is \
fast. Of all cases with an incast {share(near(rows, large))} are near by medians and \
{share(near(rows, large, "mean"))} by means, in place of {share(near(rows, incast))} and \
{share(near(rows, incast, "mean"))}. Buffers that switches share among ports may do this, or a \
congestion control that takes some time; which of them Leonardo has is not public.
- **LUMI, all-to-all: routing.** Measured slow-downs are {span([measured(row) for row in lumi])}. On \
shortest paths inside a group two switches share one cable: up to \
{max(slowdown(rows, row) for row in before_quiet):.1f} beside an all-to-all. With detours inside groups \
(`routing.local`), which the preset has since, it is at most \
{max(slowdown(rows, row) for row in lumi_quiet):.2f}, and {share(near(rows, lumi_quiet))} are near in \
place of {share(near(rows, before_quiet))}.
- **LUMI, incast: congestion control.** Slingshot slows only the senders of an incast. Without such a \
control slow-downs reach {max(slowdown(rows, row) for row in before_incast):.1f}, and \
{max(slowdown(rows, row) for row in free_incast):.1f} with detours, which spread the incast. With the \
[control of the preset](../../docs/methods/packet.md#congestion-control) they are \
{span([slowdown(rows, row) for row in lumi_incast])}; {share(near(rows, lumi_incast))} are near by medians \
and {share(near(rows, lumi_incast, "mean"))} by means, in place of {share(near(rows, before_incast))} and \
{share(near(rows, before_incast, "mean"))}. Window and threshold are the defaults of the model, which \
were set before these runs.
- **CRESCO8, all-to-all: buffers, the other way.** On 64 nodes small messages of a victim wait in the \
full buffers before three uplinks: all-gather and all-to-all of 512 B take \
{span([slowdown(rows, row) for row in tree])} times as long in the simulation, \
{span([measured(row) for row in tree])} times on the machine, and \
{span([slowdown(rows, row) for row in tree_small])} times with a quarter of the buffers.
- **CRESCO8, incast: places.** Steady and bursty runs had different nodes. The all-gather of 16 MiB was \
slowed {measured(place["steady"]):.1f} and {measured(place["bursty"]):.1f} times, and is \
{slowdown(rows, place["steady"]):.1f} and {slowdown(rows, place["bursty"]):.1f} times here. Which flows \
share an uplink depends on forwarding tables that are not public. The uplinks themselves are right: the \
all-to-all of 256 KiB and more on 64 nodes alone has errors of {100 * min(lone):+.0f} to \
{100 * max(lone):+.0f} %."""


def variants_block(rows: list[Row]) -> str:
    lines = []
    for row in of(rows, "small"):
        names = ("system", "nodes", "collective", "bytes", "aggressor", "mode")
        known = {name: row[name] for name in names}
        line = [
            NAMES[row["system"]],
            row["collective"],
            row["nodes"],
            row["aggressor"],
            size_text(int(row["bytes"])),
        ]
        line.append(f"{measured(row):.2f}, {measured(row, 'mean'):.1f}")
        for model in (PRESET, *VARIANTS):
            found = of(rows, model, **known)
            texts = [f"{slowdown(rows, one):.2f}, {slowdown(rows, one, 'mean'):.1f}" for one in found]
            line.append(texts[0] if texts else "")
        lines.append(line)
    header = ["machine", "victim", "nodes", "aggressor", "bytes", "measured", PRESET, *VARIANTS.values()]
    return markdown(header, lines)


def blocks(rows: list[Row]) -> dict[str, str]:
    return {
        "target": target_block(rows),
        "findings": findings_block(rows),
        "cases": cases_block(rows),
        "alone": alone_block(rows),
        "variants": variants_block(rows),
    }


def figures(rows: list[Row], folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 2, figsize=(12, 10), layout="constrained")
    parts = ((of(rows), "presets"), (changed(rows), "larger buffers on Leonardo"))
    for line, (part, title) in zip(panels, parts, strict=True):
        for panel, kind in zip(line, KINDS, strict=True):
            draw(panel, rows, part, kind)
            panel.set_title(f"{kind}: {title}")
    panels[0][0].legend(fontsize=8, loc="lower right")
    figure.savefig(folder / "slowdowns.png", dpi=110)
    plt.close(figure)


def draw(panel, rows: list[Row], part: list[Row], kind: str) -> None:
    """Simulated over measured slow-downs of some rows."""
    for system, colour in zip(NAMES, COLOURS, strict=False):
        for aggressor, marker in (("incast", "o"), ("all-to-all", "x")):
            some = select(part, system=system, aggressor=aggressor)
            label = f"{NAMES[system]}, {aggressor} beside it"
            style = {"color": colour, "label": label, "markersize": 5, "alpha": 0.7}
            simulated = [slowdown(rows, row, kind) for row in some]
            panel.loglog([measured(row, kind) for row in some], simulated, marker, **style)
    limits = [0.5, 70]
    low, high = ([(1 + sign * NEAR) * limit for limit in limits] for sign in (-1, 1))
    panel.fill_between(limits, low, high, color="#DDDDDD", label="near")
    panel.loglog(limits, limits, "-", color="#000000", linewidth=0.8)
    panel.set(xlim=limits, ylim=limits, xlabel="measured slow-down", ylabel="simulated slow-down")
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:g}")
    panel.grid(color="#DDDDDD")


if __name__ == "__main__":
    Study(HERE, cases, measure, checks, blocks, figures, in_part=in_part).main()
