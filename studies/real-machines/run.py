"""Real machines: calibrated on two nodes, predicted on many.

See README.md; ``studies/study.py`` has the options.
"""

import csv
import dataclasses
import functools
import hashlib
import math
import random
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
from study import (  # noqa: E402
    COLOURS,
    ROOT,
    Case,
    Check,
    Row,
    Study,
    at_least,
    at_most,
    markdown,
    within,
)

KIB, MIB = 1024, 1024 * 1024
# Above this many packets a run has larger packets, with headers and buffers in proportion.
FINE_PACKETS = 400_000
# Above this many packets or messages a point is not simulated: the study shall end within 40 minutes.
MOST_PACKETS = 3_000_000
MOST_MESSAGES = 4_500_000
# Above so many messages, more bytes are not simulated either.
MANY_MESSAGES, MOST_BYTES = 1_100_000, 3_000_000_000
# Bytes of a message of HPCC's rings, and random orders in a run; HPCC has more of them.
RING_BYTES, RING_ORDERS = 2_000_000, 3
# Sizes from which the arithmetic of reductions is derived: below, overheads are as large.
ARITHMETIC_BYTES = 128 * KIB

Point = dict[str, str]


@dataclasses.dataclass(frozen=True)
class Machine:
    """How a machine of the measurements is described."""

    # Hosts, and the keys of the table [network] without those of the calibration.
    hosts: int
    network: str
    # Two-node measurements: a file in calibration/ without its ending.
    calibration: str
    # Bytes of a packet, its header and a buffer in the preset, and how many times as large coarse ones are.
    packet: int
    header: int
    buffer: int
    coarse: int
    # What an algorithm of the measurements is here, by operation and name there. A `table` is the choice
    # of a library.
    algorithms: dict[tuple[str, str], str]
    # Whether a preset describes the machine; the aim is for such machines only.
    preset: bool = True


def named(names: dict[str, str], *operations: str) -> dict[tuple[str, str], str]:
    """The same names for several operations."""
    return {(operation, there): here for operation in operations for there, here in names.items()}


DOUBLING = "recursive-doubling"
# A table replaces the algorithm of Cray MPICH's all-to-all, which is not public; see README.md.
IMB = {("alltoall", "Cray MPICH"): "table mpich", ("sendrecv", "Cray MPICH"): "exchange"}
MACHINES = {
    "LUMI": Machine(
        hosts=2978,
        network='preset = "lumi"\n',
        calibration="slingshot-11",
        packet=4096,
        header=50,
        buffer=100_000,
        coarse=16,
        algorithms=named(
            {
                "ring_mpich": "ring",
                "ring_over": "ring",
                "recursive_doubling_mpich": DOUBLING,
                "recursive_doubling_over": DOUBLING,
            },
            "allgather",
            "allreduce",
        )
        | named(
            {"pairwise_mpich": "pairwise", "recursive_doubling_mpich": DOUBLING, "ring_over": "ring"},
            "reduce-scatter",
        ),
    ),
    "Leonardo": Machine(
        hosts=3456,
        network='preset = "leonardo"\nrails = 2\ntopology.hosts_per_leaf = 20\n',
        calibration="infiniband-hdr100",
        packet=4096,
        header=114,
        buffer=100_000,
        coarse=16,
        algorithms=named(
            {
                "ring_ompi": "ring",
                "recursive_doubling_ompi": DOUBLING,
                "rabenseifner_ompi": "rabenseifner",
                "default_ompi": "table openmpi-4.1",
            },
            "allgather",
            "allreduce",
            "reduce-scatter",
        ),
    ),
    "ARCHER": Machine(
        hosts=4920,
        network='preset = "archer"\n',
        calibration="aries",
        packet=64,
        header=0,
        buffer=100_000,
        coarse=64,
        algorithms=named({"natural": "natural", "random": "random"}, "ring") | IMB,
    ),
    "ARCHER2": Machine(
        # The first four cabinets, eight groups, which ran at that time.
        hosts=1024,
        network='preset = "archer2"\n',
        calibration="slingshot-10",
        packet=4096,
        header=50,
        buffer=100_000,
        coarse=16,
        algorithms={("ping-pong", "different switches"): "ping-pong"} | IMB,
    ),
    # The logical torus of a job stands for the part of the 6-D torus below it, and six interfaces are one.
    "Fugaku": Machine(
        hosts=158_976,
        network="""\
topology = { kind = "torus", sizes = SIZES }
routing.algorithm = "dimension-order"
link.bandwidth = "6.8 GB/s"
link.latency = "10 ns"
links.host.bandwidth = "40.8 GB/s"
links.host.latency = "1 ns"
router.delay = "100 ns"
router.buffer = "100 KB"
packet = "2 KiB"
nic_injection_delay = "139 ns"
nic_reception_delay = "139 ns"
""",
        calibration="none",
        packet=2048,
        header=0,
        buffer=100_000,
        coarse=32,
        algorithms=named({"default-ring": "ring", "default-recursive_doubling": DOUBLING}, "allreduce")
        | named({"default-ring": "ring"}, "allgather", "reduce-scatter")
        | named({"default-pairwise": "pairwise", "default-linear": "linear"}, "alltoall")
        | named({"default-binomial": "binomial"}, "bcast"),
        preset=False,
    ),
}
# Sides of the logical tori of Fugaku's jobs by nodes.
TORI = {8: [2, 2, 2], 64: [4, 4, 4], 4096: [64, 64]}
# Rates of reductions in the jobs on 8 nodes, the fewest: medians of the rates that the time implies by
# which predictions without arithmetic are short. Predictions with them are shown apart, as two nodes do not
# give them.
REDUCTION_RATES = {"LUMI": "3.2 GB/s", "Leonardo": "4.9 GB/s"}
NO_PRESET = {
    "MareNostrum 5": "no preset: its topology is not public",
}
# Variants of some points, that tell causes apart: the model's name, and what is different.
# Predictions in which reductions cost no CPU time: implied rates and variants are compared with them.
FREE = "free reductions"
VARIANTS = {
    "preset": "not calibrated",
    "linear": "the first hosts of the machine",
    "minimal": "minimal routing",
    "buffers": "a quarter of the buffers",
    "packets": "packets four times as large",
}
# Change of a predicted time, as a part of it, that counts as one.
CHANGED = 0.05
# Seeds of the hosts by lot beside the first one, for rings.
LOTS = {"lot 2": 2, "lot 3": 3}


@functools.cache
def read(name: str) -> list[Point]:
    with (HERE / name).open(newline="") as file:
        return list(csv.DictReader(file))


def algorithm(point: Point) -> str:
    """The algorithm here, or nothing."""
    machine = MACHINES.get(point["machine"])
    return machine.algorithms.get((point["operation"], point["algorithm"]), "") if machine else ""


def reason_against(point: Point) -> str:
    """Why a measured point is not predicted; nothing if it is."""
    if point["machine"] in NO_PRESET:
        return NO_PRESET[point["machine"]]
    if not algorithm(point):
        return f"which messages `{point['algorithm']}` sends is not known"
    messages, volume = cost(point)
    machine = MACHINES[point["machine"]]
    most = MOST_PACKETS * machine.coarse * machine.packet if messages <= MANY_MESSAGES else MOST_BYTES
    if messages > MOST_MESSAGES or volume > most:
        return "its simulation takes too long"
    return ""


def ranks_of(point: Point) -> int:
    return int(point["nodes"]) * int(point["ranks_per_node"])


def payload(point: Point) -> int:
    """The bytes in the argument of the call. Those of an all-gather are whole elements of 4 B for each."""
    size = int(point["bytes"])
    if point["benchmark"] == "pico" and point["operation"] in ("allgather", "alltoall"):
        return size // 4 // int(point["nodes"]) * 4
    return size


def cost(point: Point) -> tuple[float, float]:
    """Messages and bytes that cross the network, about."""
    ranks, size, here = ranks_of(point), int(point["bytes"]), algorithm(point)
    if point["operation"] in ("ring", "sendrecv", "ping-pong"):
        orders = RING_ORDERS if here == "random" else 1
        return 2 * ranks * orders, 2 * ranks * orders * size
    if point["operation"] == "alltoall":
        return ranks * ranks, ranks * ranks * payload(point)
    if point["operation"] == "bcast":
        return ranks, ranks * size
    vectors = 2 * ranks if point["operation"] == "allreduce" else ranks
    if here == DOUBLING:
        rounds = 1 if point["operation"] == "allgather" else math.log2(ranks)
        return ranks * math.log2(ranks), ranks * size * rounds
    if here == "rabenseifner":
        return 2 * ranks * math.log2(ranks), vectors * size
    return vectors * ranks, vectors * size


@functools.cache
def positions() -> dict[str, list[int]]:
    """Hosts of the presets for the nodes of each run, by rank."""
    found: dict[str, list[int]] = {}
    # Cabinets of LUMI-G by their numbers, each a group; 16 nodes of a chassis at four switches.
    cabinets = [1100 + 100 * row + place for row in range(4) for place in range(6)]
    for line in read("allocations.csv"):
        node = line["node"]
        if node.startswith("x"):
            cabinet, rest = node[1:].split("c")
            chassis, rest = rest.split("s")
            slot, rest = rest.split("b")
            host = cabinets.index(int(cabinet)) * 128 + int(chassis) * 16 + int(slot) * 2 + int(rest[0])
        else:
            host = int(node.removeprefix("lrdn")) - 1
        found.setdefault(line["run"], []).append(host)
    return found


def placement(point: Point, model: str) -> list[int]:
    """The host of each node."""
    nodes, hosts = int(point["nodes"]), MACHINES[point["machine"]].hosts
    if point["operation"] == "ping-pong":
        # A host of the next group, not at the switches with the links between both.
        return [0, 128 + 60]
    run = point["source"].split()[-1].rsplit("/", 1)[0]
    if model in ("linear", "local") or not MACHINES[point["machine"]].preset:
        return list(range(nodes))
    # Where no allocation is given: large jobs evenly over the machine, small ones by lot, and ranks in the
    # order of the hosts.
    if point["benchmark"] == "pico":
        return positions().get(run) or [rank * hosts // nodes for rank in range(nodes)]
    return sorted(random.Random(LOTS.get(model, 1)).sample(range(hosts), nodes))


@functools.cache
def calibration(name: str) -> dict[str, str]:
    """The lines of a calibration by table of the experiment."""
    if name == "none":
        return {"mpi": "", "network": ""}
    found = tomllib.loads((HERE / "calibration" / f"{name}.toml").read_text())
    mpi, network = found.get("mpi", {}), found["network"]
    lines = {"mpi": "".join(f'{key} = "{value}"\n' for key, value in mpi.items()), "network": ""}
    for key in ("nic_injection_delay", "nic_reception_delay"):
        # Without them in a fit of overheads, the overheads contain the pipelines of the NICs.
        if key in network or mpi:
            lines["network"] += f'{key} = "{network.get(key, "0 ps")}"\n'
    host = network.get("links", {}).get("host", {})
    # The fit takes one bandwidth for all links. On Leonardo those of hosts are slower, and on Slingshot 10
    # no window of messages determined it, so both keep the preset's.
    if name == "slingshot-11":
        host = network["link"]
    if host:
        lines["network"] += f'links.host.bandwidth = "{host["bandwidth"]}"\n'
    return lines


def goal(ranks: int, orders: list[list[int]], size: int, both: bool) -> Path:
    """A schedule in which each rank exchanges with its neighbours in rings, one order after the other.

    HPCC sends to the right and then to the left (``both``), IMB to the right only.
    """
    lines: list[list[str]] = [[] for _ in range(ranks)]
    for tag, order in enumerate(orders):
        for place, rank in enumerate(order):
            left, right = order[place - 1], order[(place + 1) % ranks]
            for step, (to, source) in enumerate([(right, left), (left, right)] if both else [(right, left)]):
                here, name = 2 * tag + step, f"{tag}_{step}"
                lines[rank].append(f"s{name}: send {size}b to {to} tag {here}")
                lines[rank].append(f"r{name}: recv {size}b from {source} tag {here}")
                if here:
                    before = f"{tag}_0" if step else f"{tag - 1}_{1 if both else 0}"
                    lines[rank] += [
                        f"{kind}{name} requires {other}{before}" for kind in "sr" for other in "sr"
                    ]
    blocks = [f"rank {rank} {{\n" + "\n".join(of) + "\n}\n" for rank, of in enumerate(lines)]
    text = f"num_ranks {ranks}\n" + "".join(blocks)
    folder = ROOT / "results/studies/real-machines-schedules"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.goal"
    if not file.exists():
        file.write_text(text)
    return file


def workload(point: Point) -> str:
    """The name of the job, and the table of its workload."""
    operation, here, ranks = point["operation"], algorithm(point), ranks_of(point)
    if operation == "ping-pong":
        return (
            'name = "ping-pong"\n[job.workload]\nmotif = "ping-pong"\nranks = 2\nbarriers = false\n'
            f'bytes = "{point["bytes"]} B"\n'
        )
    if operation in ("ring", "sendrecv"):
        orders = [list(range(ranks))]
        if here == "random":
            orders = [random.Random(seed).sample(orders[0], ranks) for seed in range(RING_ORDERS)]
        file = goal(ranks, orders, int(point["bytes"]), operation == "ring")
        return f'name = "rings {len(orders)}"\n[job.workload]\ngoal = "{file}"\n'
    call = f'{{ collective = "{operation}", bytes = "{payload(point)} B" }}'
    return (
        f'name = "collective"\n[job.workload]\nmotif = "phases"\nranks = {ranks}\n'
        f'phases = [{{ collective = "barrier" }}, {call}]\n'
    )


def experiment(point: Point, model: str) -> str:
    machine, here, operation = MACHINES[point["machine"]], algorithm(point), point["operation"]
    lines = {"mpi": "", "network": ""} if model == "preset" else dict(calibration(machine.calibration))
    network = machine.network.replace("SIZES", str(TORI.get(int(point["nodes"]), ""))) + lines["network"]
    sizes = {"packet": machine.packet, "packet_header": machine.header, "router.buffer": machine.buffer}
    if cost(point)[1] / machine.packet > FINE_PACKETS:
        changed = {key: size * machine.coarse for key, size in sizes.items()}
    else:
        changed = {}
    if model == "buffers":
        changed["router.buffer"] = changed.get("router.buffer", machine.buffer) // 4
    if model == "packets":
        changed["packet"] = changed.get("packet", machine.packet) * 4
    # A key may be there once.
    network = "".join(line + "\n" for line in network.splitlines() if line.split(" = ")[0] not in changed)
    network += "".join(f'{key} = "{size} B"\n' for key, size in changed.items())
    if model == "minimal":
        network += 'routing.algorithm = "minimal"\n'
    if model == "local":
        network += 'routing.local = "ugal"\n'
    if is_reduction(point) and model not in ("calibrated", "reductions"):
        lines["mpi"] += 'reduction_bandwidth = "none"\n'
    if model == "reductions":
        lines["mpi"] += f'reduction_bandwidth = "{REDUCTION_RATES[point["machine"]]}"\n'
    choice = ""
    if here.startswith("table"):
        choice = f'[mpi.collectives]\ntable = "{here.removeprefix("table ")}"\n'
    elif point["benchmark"] == "pico":
        choice = f'[mpi.collectives]\n{operation} = "{here}"\n'
    names = ",".join(f"n{host}" for host in placement(point, model))
    return f"""\
[network]
{network}
[mpi]
{lines["mpi"]}
{choice}
[[job]]
placement = {{ hostlist = "{names}" }}
ranks_per_host = {point["ranks_per_node"]}
{workload(point)}
[collect]
series = "off"
"""


NAMES = ("benchmark", "machine", "operation", "algorithm", "nodes", "ranks_per_node", "bytes", "measured_us")


def case(point: Point, model: str) -> Case:
    source = point["source"]
    run = source.split()[-1] if point["benchmark"] == "pico" else source.split("/")[-1]
    return Case(
        {"model": model} | {name: point[name] for name in NAMES} | {"run": run},
        experiment(point, model),
        tables=True,
    )


def predicted_points() -> list[Point]:
    return [point for point in read("measured.csv") if not reason_against(point)]


def has_variants(point: Point) -> bool:
    """Points of some hundred nodes that are quick to simulate."""
    return (
        100 <= int(point["nodes"]) <= 200
        and MACHINES[point["machine"]].preset
        and point["benchmark"] == "pico"
        and cost(point)[1] < 4e9
    )


def is_reduction(point: Row) -> bool:
    return point["operation"] in ("allreduce", "reduce-scatter")


def is_larger_reduction(point: Row) -> bool:
    """Reductions on more nodes than those from which the rates of reductions come."""
    return point["machine"] in REDUCTION_RATES and is_reduction(point) and int(point["nodes"]) > 8


def cases(smoke: bool) -> list[Case]:
    points = predicted_points()
    if smoke:
        small = [point for point in points if int(point["nodes"]) <= 8 and cost(point)[1] < 4e6]
        return [case(point, "calibrated") for point in small[::2]]
    found = [case(point, "calibrated") for point in points]
    rings = [point for point in points if point["operation"] == "ring"]
    found += [case(point, model) for model in ("linear", "local", *LOTS) for point in rings]
    found += [case(point, model) for model in VARIANTS for point in points if has_variants(point)]
    found += [case(point, "reductions") for point in points if is_larger_reduction(point)]
    return found + [case(point, FREE) for point in points if is_reduction(point)]


def in_part(case: Case) -> bool:
    """Fewer of the small runs: those of two nodes and of collectives of 8 bytes."""
    return case.columns["nodes"] == "2" or case.columns["bytes"] == "8"


def measure(summary: dict, folder: Path | None) -> dict[str, object]:
    import pyarrow.parquet as pq

    name = summary["jobs"][0]["name"]
    if name == "collective":
        # After a barrier each rank measures its own time, and the slowest counts, as in the benchmarks.
        calls = pq.read_table(folder / "calls.parquet", columns=["call", "time_ps"]).to_pylist()
        time = max(row["time_ps"] for row in calls if row["call"] != "MPI_Barrier")
    else:
        times = pq.read_table(folder / "ranks.parquet", columns=["time_ps"]).column(0).to_pylist()
        # Half of a round trip, or the mean of the orders of a ring.
        time = times[0] / 2 if name == "ping-pong" else max(times) / int(name.removeprefix("rings "))
    return {"predicted_us": f"{time / 1e6:.3f}"}


def of(rows: list[Row], model: str = "calibrated", **known: object) -> list[Row]:
    """The rows of a model with these values."""
    return [
        row
        for row in rows
        if row["model"] == model and all(row[name] == str(value) for name, value in known.items())
    ]


def without_arithmetic(rows: list[Row], **known: object) -> list[Row]:
    """The predictions in which reductions cost no CPU time."""
    return of(rows, FREE, **known) + [row for row in of(rows, **known) if not is_reduction(row)]


def complete(rows: list[Row]) -> list[Row]:
    """The predictions for machines that a preset describes."""
    return [row for row in of(rows) if MACHINES[row["machine"]].preset]


def error(row: Row, more_us: float = 0) -> float:
    """The relative error of a prediction, to which some time may be added."""
    return (float(row["predicted_us"]) + more_us) / float(row["measured_us"]) - 1


def percentile(values: list[float], part: float) -> float:
    ordered = sorted(values)
    place = part * (len(ordered) - 1)
    low = int(place)
    return ordered[low] + (ordered[min(low + 1, len(ordered) - 1)] - ordered[low]) * (place - low)


def spread(rows: list[Row]) -> list[str]:
    """Number, median and 90th percentile of the absolute errors, and the median with its sign."""
    errors = [error(row) for row in rows]
    absolute = [abs(value) for value in errors]
    return [
        str(len(rows)),
        f"{100 * statistics.median(absolute):.0f} %",
        f"{100 * percentile(absolute, 0.9):.0f} %",
        f"{100 * statistics.median(errors):+.0f} %",
    ]


def reduced_bytes(row: Row) -> float:
    """The bytes that a rank adds to others one after the other in a reduction; 0 in other operations."""
    here, nodes, size = algorithm(row), int(row["nodes"]), int(row["bytes"])
    if not is_reduction(row) or here.startswith("table"):
        return 0
    power = 1 << (nodes.bit_length() - 1)
    if here == DOUBLING:
        return size * (math.log2(power) + (power < nodes))
    if here == "rabenseifner":
        return size * (1 - 1 / power + (power < nodes) / 2)
    return size * (1 - 1 / nodes)


def reductions(rows: list[Row], machine: str) -> list[Row]:
    """Reductions of large vectors, predicted without arithmetic."""
    return [
        row
        for row in of(rows, FREE, machine=machine)
        if reduced_bytes(row) and int(row["bytes"]) >= ARITHMETIC_BYTES
    ]


def implied_rate(row: Row) -> float:
    """GB/s at which the reduction's arithmetic would have to run for the prediction to be right."""
    missing = float(row["measured_us"]) - float(row["predicted_us"])
    return reduced_bytes(row) / missing / 1e3 if missing > 0 else math.inf


def smallest_rate(rows: list[Row], machine: str) -> float:
    """The median of the implied rates in the jobs with the fewest nodes."""
    found = reductions(rows, machine)
    fewest = min(int(row["nodes"]) for row in found)
    return statistics.median(implied_rate(row) for row in found if int(row["nodes"]) == fewest)


def checks(rows: list[Row], smoke: bool) -> list[Check]:
    every = of(rows)
    found = [at_least("predicted points", len(every), 5 if smoke else 250, ".0f")]
    if smoke:
        middle = statistics.median(abs(error(row)) for row in every)
        return [*found, at_most("median relative error of the small runs", middle, 0.7, ".2f")]
    far = of(rows, machine="ARCHER2", operation="ping-pong")
    small = [abs(error(row)) for row in far if int(row["bytes"]) <= 128]
    found.append(
        at_most("ARCHER2, different switches, up to 128 B: greatest relative error", max(small), 0.1, ".2f")
    )
    ring = [abs(error(row)) for row in of(rows, machine="ARCHER", operation="ring")]
    found.append(
        at_most("ARCHER, rings on 4 to 128 nodes: median relative error", statistics.median(ring), 0.2, ".2f")
    )
    for machine in ("LUMI", "Leonardo"):
        rates = [implied_rate(row) for row in reductions(rows, machine)]
        found.append(
            within(
                f"{machine}, reductions of 128 KiB and more: median implied rate of arithmetic (GB/s)",
                statistics.median(rates),
                1,
                10,
                ".1f",
            )
        )
        rate = float(REDUCTION_RATES[machine].removesuffix(" GB/s"))
        found.append(
            within(
                f"{machine}, 8 nodes: rate of reductions that the larger jobs take (GB/s)",
                smallest_rate(rows, machine),
                rate - 0.05,
                rate + 0.05,
                ".2f",
            )
        )
    return found


def size_text(size: int) -> str:
    for unit, factor in (("MiB", MIB), ("KiB", KIB)):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size:,} B"


def grouped(rows: list[Row], *names: str) -> dict[tuple[str, ...], list[Row]]:
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return found


def summary_block(rows: list[Row]) -> str:
    header = ["machine", "operation", "points", "median", "90th percentile", "median with sign"]
    lines = [
        [machine, operation, *spread(some)]
        for (machine, operation), some in grouped(of(rows), "machine", "operation").items()
    ]
    for machine, known in MACHINES.items():
        name = machine if known.preset else f"{machine} (no preset)"
        lines.append([name, "**all**", *spread(of(rows, machine=machine))])
    return markdown(header, [*lines, ["**all with a preset**", "**all**", *spread(complete(rows))]])


def target_block(rows: list[Row]) -> str:
    absolute = [abs(error(row)) for row in complete(rows)]
    middle, high = statistics.median(absolute), percentile(absolute, 0.9)
    lines = [
        ["median", "20 %", f"{100 * middle:.0f} %", "yes" if middle <= 0.2 else "**no**"],
        ["90th percentile", "60 %", f"{100 * high:.0f} %", "yes" if high <= 0.6 else "**no**"],
    ]
    return markdown(
        ["relative error over all predicted points of machines with a preset", "aim", "reached", "holds"],
        lines,
    )


def errors_block(rows: list[Row]) -> str:
    sizes = sorted({int(row["bytes"]) for row in of(rows) if row["benchmark"] == "pico"})
    lines = []
    keys = ("machine", "operation", "algorithm", "nodes", "run")
    for known, some in grouped([row for row in of(rows) if row["benchmark"] == "pico"], *keys).items():
        cells = {int(row["bytes"]): f"{100 * error(row):+.0f}" for row in some}
        lines.append([*known[:4], *(cells.get(size, "") for size in sizes)])
    header = ["machine", "operation", "algorithm", "nodes", *(size_text(size) for size in sizes)]
    return markdown(header, lines)


def others_block(rows: list[Row]) -> str:
    lines = []
    for row in of(rows):
        if row["benchmark"] != "pico":
            times = [f"{float(row[name]):,.2f}" for name in ("measured_us", "predicted_us")]
            names = [row[name] for name in ("machine", "operation", "algorithm", "nodes", "ranks_per_node")]
            lines.append([*names, size_text(int(row["bytes"])), *times, f"{100 * error(row):+.0f} %"])
    header = ["machine", "operation", "kind", "nodes", "ranks per node", "message"]
    return markdown([*header, "measured (us)", "predicted (us)", "error"], lines)


def arithmetic_block(rows: list[Row]) -> str:
    lines = []
    for machine in ("LUMI", "Leonardo"):
        found = reductions(rows, machine)
        fewest = min(int(row["nodes"]) for row in found)
        rate = smallest_rate(rows, machine)
        for name, some in grouped(found, "algorithm").items():
            rest = [row for row in some if int(row["nodes"]) > fewest]
            if not rest:
                continue
            rates = [implied_rate(row) for row in rest]
            found_again = [same(rows, row, "reductions") for row in rest]
            lines.append(
                [
                    machine,
                    *name,
                    str(len(rest)),
                    f"{percentile(rates, 0.25):.1f} to {percentile(rates, 0.75):.1f}",
                    f"{100 * statistics.median(abs(error(row)) for row in rest):.0f} %",
                    f"{rate:.1f} ({fewest} nodes)",
                    f"{100 * statistics.median(abs(error(row)) for row in found_again):.0f} %",
                ]
            )
    header = ["machine", "algorithm", "points", "implied rate, quartiles (GB/s)", "median error"]
    return markdown([*header, "rate of the smallest job (GB/s)", "median error with it"], lines)


def same(rows: list[Row], row: Row, model: str) -> Row:
    """The row of the same point with another model."""
    known = {name: row[name] for name in (*NAMES, "run")}
    return of(rows, model, **known)[0]


def rates_block(rows: list[Row]) -> str:
    """All reductions on more than 8 nodes without and with the rate of reductions of 8 nodes."""
    lines = []
    for machine, rate in REDUCTION_RATES.items():
        for low, high, sizes in (
            (0, ARITHMETIC_BYTES - 1, "below 128 KiB"),
            (ARITHMETIC_BYTES, 1 << 40, "128 KiB and more"),
        ):
            some = [
                row for row in of(rows, "reductions", machine=machine) if low <= int(row["bytes"]) <= high
            ]
            without = [same(rows, row, FREE) for row in some]
            lines.append([machine, rate, sizes, *spread(without), *spread(some)[1:]])
    every = of(rows, "reductions")
    without = [same(rows, row, FREE) for row in every]
    lines.append(["**both**", "", "all", *spread(without), *spread(every)[1:]])
    header = ["machine", "rate", "vectors", "points"]
    names = ["median", "90th percentile", "median with sign"]
    return markdown([*header, *names, *(f"{name}, with the rate" for name in names)], lines)


def ring_pairs() -> list[tuple[str, str, str, int, float, float, float]]:
    """Measured rings with the same messages: machine, algorithm, nodes, bytes, time without arithmetic, time
    with it, and the rate of the difference in GB/s, infinite if there is none."""
    found = {}
    for point in read("measured.csv"):
        known = (point["machine"], point["nodes"], point["algorithm"], point["bytes"])
        if point["benchmark"] == "pico" and int(point["bytes"]) >= MIB and "ring" in point["algorithm"]:
            found[(point["operation"], *known)] = float(point["measured_us"])
    pairs = []
    for (operation, machine, nodes, name, size), time in found.items():
        without = found.get(("allgather", machine, nodes, name, size))
        if operation == "reduce-scatter" and without and int(size) in (MIB, 8 * MIB, 64 * MIB, 512 * MIB):
            volume = int(size) * (1 - 1 / int(nodes)) / 1e3
            rate = volume / (time - without) if time > without else math.inf
            pairs.append((machine, name, nodes, int(size), without, time, rate))
    return pairs


def pairs_block(_: list[Row]) -> str:
    """Measured rings with and without arithmetic: no simulation takes part."""
    lines = []
    for machine, name, nodes, size, without, time, rate in ring_pairs():
        text = "no difference" if rate == math.inf else f"{rate:.1f}"
        lines.append([machine, name, nodes, size_text(size), f"{without:,.0f}", f"{time:,.0f}", text])
    header = ["machine", "algorithm", "nodes", "vector", "all-gather (us)", "reduce-scatter (us)"]
    return markdown([*header, "rate of the difference (GB/s)"], lines)


def gathers_block(rows: list[Row]) -> str:
    """Rates of the largest all-gathers, which have no arithmetic."""
    lines = []
    for (machine, name, nodes), some in grouped(
        of(rows, operation="allgather"), "machine", "algorithm", "nodes"
    ).items():
        row = max(some, key=lambda row: int(row["bytes"]))
        volume = int(row["bytes"]) * (1 - 1 / int(nodes))
        rates = [f"{volume / float(row[time]) / 1e3:.1f}" for time in ("measured_us", "predicted_us")]
        lines.append([machine, name, nodes, size_text(int(row["bytes"])), *rates])
    header = ["machine", "algorithm", "nodes", "result", "measured (GB/s)", "predicted (GB/s)"]
    return markdown(header, lines)


def variants_block(rows: list[Row]) -> str:
    lines = []
    keys = ("machine", "operation", "algorithm", "nodes", "bytes", "run")
    models = {"calibrated": grouped(without_arithmetic(rows), *keys)}
    models |= {model: grouped(of(rows, model), *keys) for model in VARIANTS}
    for machine in ("LUMI", "Leonardo"):
        for low, high, name in ((0, 16 * KIB, "up to 16 KiB"), (16 * KIB + 1, 1 << 40, "above")):
            known = [key for key in models["preset"] if key[0] == machine and low <= int(key[4]) <= high]
            if known:
                cells = [
                    f"{100 * statistics.median(error(models[model][key][0]) for key in known):+.0f} %"
                    for model in models
                ]
                lines.append([machine, name, str(len(known)), *cells])
    header = ["machine", "vectors", "points", "calibrated", *VARIANTS.values()]
    return markdown(header, lines)


def fit(name: str) -> tuple[str, str]:
    """The eager threshold of a calibration, and the mean of its residuals in percent."""
    text = (HERE / "calibration" / f"{name}.toml").read_text()
    residual = re.search(r"^# Fit: residuals (\S+) % on average", text, re.MULTILINE)
    if not residual:
        raise LookupError(f"{name}.toml does not name its residuals")
    return tomllib.loads(text)["mpi"]["eager_threshold"], residual[1]


def choices_block(rows: list[Row]) -> str:
    """What choices change that were made after the first predictions had been seen."""
    rings = {
        model: [abs(error(row)) for row in of(rows, model, operation="ring")]
        for model in ("linear", "calibrated")
    }
    median = {model: f"{100 * statistics.median(errors):.0f} %" for model, errors in rings.items()}
    most = {model: f"{100 * percentile(errors, 0.9):.0f} %" for model, errors in rings.items()}
    fits = [
        f"{machine}: {searched[0]} with residuals of {searched[1]} %, and {given[0]} with {given[1]} %"
        for machine, name in (("Slingshot 10", "slingshot-10"), ("Slingshot 11", "slingshot-11"))
        for searched, given in [(fit(f"{name}-fitted-threshold"), fit(name))]
    ]
    return f"""\
- Hosts of jobs without an allocation on ARCHER and ARCHER2 were the first of the machine at first. Then \
they were drawn by lot, as the known allocations of other machines are scattered. ARCHER's rings have a \
median error of {median["linear"]} on the first hosts and {median["calibrated"]} on hosts by lot, and a 90th \
percentile of {most["linear"]} and {most["calibrated"]}. Both placements are below.
- The eager thresholds of Slingshot 10 and 11 were those that the calibration found at first. Then they were \
those of the presets. The reason is that the fit takes a step inside the eager range for a rendezvous. The \
first fits have smaller residuals on two nodes, on average. {fits[0]}. {fits[1]}.
- The preset of ARCHER2 divided a large message among both NICs of a host at first. Ping-pongs of large \
messages were predicted too short then. Now each rank has one NIC, as HPE's libraries assign them. \
The presets of LUMI and Frontier follow; for LUMI the study chose one NIC for each message before."""


def parameters_block(_: list[Row]) -> str:
    """The keys that calibrations set, with their files."""
    lines = []
    for name, machine in MACHINES.items():
        for table, text in calibration(machine.calibration).items():
            for line in text.splitlines():
                key, value = line.split(" = ")
                file = f"calibration/{machine.calibration}.toml"
                lines.append([name, f"`{table}.{key}`", value.strip('"'), f"[{file}]({file})"])
    return markdown(["machine", "key", "value", "from"], lines)


def rings_block(rows: list[Row]) -> str:
    """Rings on ARCHER on hosts side by side and by lot."""
    lines = []
    for (kind, nodes), some in grouped(of(rows, operation="ring"), "algorithm", "nodes").items():
        known = {"operation": "ring", "algorithm": kind, "nodes": nodes}
        times = [statistics.mean(float(row["measured_us"]) for row in some)]
        for model in ("calibrated", *LOTS, "linear", "local"):
            times.append(float(of(rows, model, **known)[0]["predicted_us"]))
        # Two messages out for each rank.
        lines.append([kind, nodes, *(f"{2 * RING_BYTES / time / 1e3:.2f}" for time in times)])
    header = ["ring", "nodes", "measured, mean of runs (GB/s for each rank)", "hosts by lot"]
    header += [f"another lot ({seed})" for seed in LOTS.values()]
    return markdown([*header, "first hosts", "first hosts, adaptive inside groups"], lines)


def measured_us(**known: object) -> float:
    """The time of the only measured point with these values."""
    found = [
        point
        for point in read("measured.csv")
        if all(point[name] == str(value) for name, value in known.items())
    ]
    if len(found) != 1:
        raise LookupError(f"{len(found)} points of measured.csv have {known}, expected one")
    return float(found[0]["measured_us"])


def factors(rows: list[Row], model: str) -> list[float]:
    """Predicted times of a variant over those of the calibrated prediction, reductions without arithmetic."""
    base = grouped(without_arithmetic(rows), *NAMES, "run")
    points = grouped(of(rows, model), *NAMES, "run")
    time = "predicted_us"
    return [float(point[0][time]) / float(base[key][0][time]) for key, point in points.items()]


def findings_block(rows: list[Row]) -> str:
    varied = {model: factors(rows, model) for model in ("buffers", "packets")}
    changed = {model: sum(abs(factor - 1) > CHANGED for factor in found) for model, found in varied.items()}
    rates = {}
    for machine in ("LUMI", "Leonardo"):
        some = [implied_rate(row) for row in reductions(rows, machine)]
        rates[machine] = f"{percentile(some, 0.25):.1f} to {percentile(some, 0.75):.1f} GB/s"
    doubling = [
        implied_rate(row) for row in reductions(rows, "LUMI") if row["algorithm"] == "recursive_doubling_over"
    ]
    large = [abs(error(row)) for machine in ("LUMI", "Leonardo") for row in reductions(rows, machine)]
    other = [abs(error(row)) for row in complete(rows) if not is_reduction(row)]
    ring = of(rows, machine="LUMI", operation="allgather", algorithm="ring_mpich", nodes=16, bytes=512 * MIB)[
        0
    ]
    host = {name: 512 * MIB * 15 / 16 / float(ring[name]) / 1e3 for name in ("measured_us", "predicted_us")}
    rounds = {128: 7, 2048: 11}
    step = {
        nodes: measured_us(
            machine="Leonardo",
            operation="allreduce",
            algorithm="recursive_doubling_ompi",
            nodes=nodes,
            bytes=32,
        )
        / number
        for nodes, number in rounds.items()
    }
    larger = of(rows, "reductions")
    pairs = [rate for machine, *_, rate in ring_pairs() if machine == "LUMI" and rate != math.inf]
    alps = float(re.sub(r"\D", "", calibration("slingshot-11")["network"].split("bandwidth")[1])) / 8e3
    lines = (HERE / "calibration/slingshot-11-latency.csv").read_text().splitlines()
    table = csv.DictReader(line for line in lines if not line.startswith("#"))
    latencies = {int(row["bytes"]): float(row["latency_us"]) for row in table}
    with_rate = [abs(error(row)) for row in larger]
    without_rate = [abs(error(same(rows, row, FREE))) for row in larger]
    default_rate = [abs(error(same(rows, row, "calibrated"))) for row in larger]
    gather = {"machine": "Leonardo", "operation": "allgather", "algorithm": "ring_ompi"}
    turn = {
        nodes: measured_us(nodes=nodes, bytes=size, **gather) / (nodes - 1)
        for nodes, size in ((200, 2 * KIB), (2048, 16 * KIB))
    }
    far = of(rows, nodes=2048, bytes=16 * KIB, **gather)[0]
    turn_predicted = float(far["predicted_us"]) / 2047
    jump = [
        measured_us(
            machine="LUMI", operation="allreduce", algorithm="recursive_doubling_over", nodes=8, bytes=size
        )
        / 3
        for size in (32, 256)
    ]
    switched = of(rows, machine="LUMI", algorithm="recursive_doubling_mpich", nodes=16, operation="allreduce")
    again = [row for row in switched if "2025_03_16" in row["run"]]
    ratios = [
        float(row["measured_us"])
        / measured_us(
            machine="LUMI",
            operation="allreduce",
            algorithm="default_mpich",
            nodes=16,
            bytes=row["bytes"],
            source="HLC-Lab/pico " + row["run"],
        )
        for row in again
    ]
    gathers = [
        abs(error(row))
        for row in of(rows, machine="Leonardo", operation="allgather")
        if int(row["bytes"]) >= ARITHMETIC_BYTES
    ]
    ring_errors = {
        model: statistics.median(abs(error(row)) for row in of(rows, model, operation="ring"))
        for model in ("calibrated", *LOTS, "linear", "local")
    }
    erratic = [
        measured_us(machine="ARCHER", operation="sendrecv", nodes=32, bytes=size)
        for size in (8, 256, 4 * KIB)
    ]
    return f"""\
- **The arithmetic of reductions** is much of their time. Reductions of 128 KiB and more, predicted without \
it, have a median error of {100 * statistics.median(large):.0f} %, operations without a reduction \
{100 * statistics.median(other):.0f} %. The time that is missing implies {rates["LUMI"]} on LUMI and \
{rates["Leonardo"]} on Leonardo (quartiles). For recursive doubling written by the benchmark itself it \
is {min(doubling):.1f} to {max(doubling):.1f} GB/s on LUMI, on 8 and 16 nodes and over all vectors. On LUMI \
this rate also contains the slow hosts of the next item, so that of the arithmetic alone is higher: rings \
with and without arithmetic, below, differ by {percentile(pairs, 0.25):.1f} to \
{percentile(pairs, 0.75):.1f} GB/s (quartiles). The key `mpi.reduction_bandwidth` has this \
rate; nobody has published it for these machines, so the predictions above have the default of 4 GB/s. \
Reductions on more than 8 nodes have a median error of {100 * statistics.median(default_rate):.0f} % \
with it, {100 * statistics.median(without_rate):.0f} % without arithmetic, and \
{100 * statistics.median(with_rate):.0f} % with the rate of the jobs on 8 nodes of each machine.
- **Hosts of LUMI** send and receive at {host["measured_us"]:.1f} GB/s where two hosts of Alps, which \
stand for them, send at {alps:.0f} GB/s: a ring of 16 nodes, 15 of them side by side, is predicted at \
{host["predicted_us"]:.1f} GB/s. Congestion is unlikely, as all messages but two stay inside a \
chassis. The NICs of LUMI-G are at its GPUs (general knowledge, unverified), and the data come from the \
memory of the CPU; whether this is the cause is open. Measurements of two nodes of LUMI would tell.
- **Small messages on LUMI.** A round of recursive doubling takes {jump[0]:.1f} us with 32 B and \
{jump[1]:.1f} us with 256 B. The step between messages inside a work request and those that the NIC fetches \
is {latencies[128] - latencies[64]:.1f} us in the two-node measurements that stand for LUMI, and the model \
has no such step.
- **Small messages on Leonardo.** A round of recursive doubling with 32 B takes {step[128]:.1f} us on \
128 nodes and {step[2048]:.1f} us on 2,048 nodes, nine days later. A round of the all-gather over a ring, \
with blocks of about 10 B, takes {turn[200]:.1f} us on 200 and {turn[2048]:.1f} us on 2,048 nodes, and the \
prediction for 2,048 nodes is {turn_predicted:.1f} us. So the longer rounds of the smaller jobs are no \
matter of distance or of the algorithm. Other jobs, noise or other settings of the library are open.
- **Algorithm not as named.** In one run of LUMI on 16 nodes `recursive_doubling_mpich` takes \
as long as `default_mpich`, within 7 %, at {sum(abs(ratio - 1) < 0.07 for ratio in ratios)} of \
{len(ratios)} sizes, while both differ in the other runs. So the default may have \
run. The points stay in the table and in the medians.
- **What is right.** All-gathers of 128 KiB and more on 200 and 2,048 nodes of Leonardo, which move data \
through the network and do nothing else, have a median error of {100 * statistics.median(gathers):.0f} %.
- **Routing inside a group of ARCHER.** The rings have a median error of \
{100 * ring_errors["calibrated"]:.0f} % on hosts by lot, and {100 * ring_errors["lot 2"]:.0f} % and \
{100 * ring_errors["lot 3"]:.0f} % with two other lots. On the first hosts it is \
{100 * ring_errors["linear"]:.0f} %, and {100 * ring_errors["local"]:.0f} % if packets may take detours \
inside their group. Which hosts the jobs had is not known. The preset's routing stays on shortest paths \
inside a group. Aries routes adaptively there, too (general knowledge, unverified).
- **Buffers and packets** of these machines are not published; the presets assume 100 KB and 4 KiB. Of \
{len(varied["buffers"])} points of 100 to 200 nodes, a quarter of the buffers changes the predicted time of \
{changed["buffers"]} by more than 5 %, and by a factor of {max(varied["buffers"]):.1f} at most. Packets of \
four times the size change {changed["packets"]}, by factors of {min(varied["packets"]):.1f} to \
{max(varied["packets"]):.1f}. Either way a virtual channel holds a single packet, and its link waits for \
credits. Large vectors are nearer to the measurements then, which is no reason to choose such buffers.
- **IMB Sendrecv on ARCHER** is erratic: {erratic[0]:.0f} us with 8 B, {erratic[1]:.0f} us with 256 B and \
{erratic[2]:.0f} us with 4 KiB on 32 nodes. No model of the machine alone gives that; other jobs or noise \
are open."""


def missing_block(_: list[Row]) -> str:
    found: dict[tuple[str, str, str], int] = {}
    for point in read("measured.csv"):
        if reason := reason_against(point):
            key = (point["machine"], point["operation"], reason)
            found[key] = found.get(key, 0) + 1
    lines = [[*key[:2], str(number), key[2]] for key, number in found.items()]
    return markdown(["machine", "operation", "points", "reason"], lines)


def blocks(rows: list[Row]) -> dict[str, str]:
    return {
        "choices": choices_block(rows),
        "target": target_block(rows),
        "findings": findings_block(rows),
        "parameters": parameters_block(rows),
        "summary": summary_block(rows),
        "errors": errors_block(rows),
        "others": others_block(rows),
        "arithmetic": arithmetic_block(rows),
        "rates": rates_block(rows),
        "pairs": pairs_block(rows),
        "gathers": gathers_block(rows),
        "variants": variants_block(rows),
        "rings": rings_block(rows),
        "missing": missing_block(rows),
    }


def figures(rows: list[Row], folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(12, 5.5), layout="constrained")
    for machine, colour in zip(MACHINES, COLOURS, strict=False):
        for kind, marker in (("reduction", "o"), ("other", "x")):
            some = [
                row
                for row in of(rows, machine=machine)
                if (row["operation"] in ("allreduce", "reduce-scatter")) == (kind == "reduction")
            ]
            if not some:
                continue
            style = {"color": colour, "label": f"{machine}, {kind}", "markersize": 4, "alpha": 0.7}
            measured = [float(row["measured_us"]) for row in some]
            predicted = [float(row["predicted_us"]) for row in some]
            panels[0].loglog(measured, predicted, marker, **style)
            ratios = [one / other for one, other in zip(predicted, measured, strict=True)]
            panels[1].loglog([int(row["bytes"]) for row in some], ratios, marker, **style)
    limits = [1, 1e7]
    panels[0].loglog(limits, limits, "-", color="#000000", linewidth=0.8, label="equal")
    panels[0].set(xlabel="measured time (us)", ylabel="predicted time (us)")
    panels[1].axhline(1, color="#000000", linewidth=0.8)
    within_band = panels[1].axhspan(0.8, 1.2, color="#DDDDDD", label="within 20 %")
    panels[1].set(xlabel="message or vector (bytes)", ylabel="predicted / measured time")
    panels[0].legend(fontsize=7)
    panels[1].legend(handles=[within_band], fontsize=7, loc="lower left")
    for panel in panels:
        panel.grid(color="#DDDDDD")
    figure.savefig(folder / "predictions.png", dpi=110)


if __name__ == "__main__":
    Study(HERE, cases, measure, checks, blocks, figures, in_part=in_part).main()
