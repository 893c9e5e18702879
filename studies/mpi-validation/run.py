"""MPI on simulated networks beside closed forms: ping-pong, all-to-all, a stencil, and the bisection test.

See README.md; ``studies/study.py`` has the options.
"""

import math
import sys
from pathlib import Path

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
    number,
    select,
    within,
)

# Nanoseconds, bytes, and bytes per nanosecond.
KIB = 1024
FAT_TREE = """
topology = { kind = "fat-tree", radix = 48, levels = 2, hosts_per_leaf = 32, uplinks_per_leaf = 16 }
routing = { algorithm = "adaptive" }
link = { bandwidth = "100 Gbps", latency = "50 ns" }
router = { delay = "100 ns", buffer = "256 KiB" }
packet = "4 KiB"
"""
RATE, LATENCY, DELAY = 12.5, 50, 100
OVERHEAD, HEADER, CONTROL, EAGER = 300, 32, 64, 8 * KIB
HOSTS_PER_LEAF = 32

TORI = {
    "Blue Gene/P": {
        "sizes": [8, 8, 8],
        "bandwidth": "374 MB/s",
        "rate": 0.374,
        "latency": 20,
        "delay": 80,
        "packet": 256,
    },
    "Blue Gene/Q": {
        "sizes": [8, 4, 4, 4, 2],
        "bandwidth": "1932.735283 MB/s",
        "rate": 1.932735283,
        "latency": 5,
        "delay": 35,
        "packet": 512,
    },
}
# A node's NIC is on the router's chip.
NIC_LATENCY = 1
HOPS = [1, 8, 11]
BISECTION_BYTES = [4 * 4**step for step in range(8)] + [128 * KIB]

PING_PONG_BYTES = [4 << step for step in range(21)]
HOSTS, RANKS = 16, 512
ALL_TO_ALL = {
    "bruck": [4, 32, 256, 2 * KIB, 16 * KIB],
    "scattered": [4, 32, 256, 2 * KIB, 16 * KIB, 64 * KIB, 256 * KIB],
    "pairwise": [4, 32, 256, 2 * KIB, 16 * KIB, 64 * KIB, 256 * KIB],
}
SEEDS = [1, 2, 3]
SEEDED = [32, 16 * KIB]
# What is varied for these sizes of the all-to-all: parts of the fat tree's text, and what replaces them.
CHANGES = {
    "buffer 64 KiB": {'"256 KiB"': '"64 KiB"'},
    "packet 1 KiB": {'"4 KiB"': '"1 KiB"'},
    "overhead 1 us": {
        'packet = "4 KiB"': 'packet = "4 KiB"\n[mpi]\nsend_overhead = "1 us"\nreceive_overhead = "1 us"'
    },
}
HALO_RANKS = [32, 128, 512, 1024]
COMPUTE_US = 1000
ITERATIONS = 4


def columns(part: str, **known: object) -> dict[str, object]:
    """The columns that name a case; those that a part does not have are empty."""
    names = ("system", "variant", "pairs", "hops", "algorithm", "ranks", "bytes", "expected_us")
    return {"part": part} | {name: known.get(name, "") for name in names}


def job(name: str, workload: str, more: str = "") -> str:
    return f'[[job]]\nname = "{name}"\nworkload = {{ {workload} }}\n{more}\n'


def ranks_only(text: str, seed: int = 1) -> str:
    return f'[network]{text}\n[run]\nseed = {seed}\n[collect]\nseries = "off"\n'


def message_ns(size: int, links: int, rate: float = RATE) -> float:
    """Time of some bytes from NIC to NIC over some links of the fat tree, cut through at each router."""
    return links * LATENCY + (links - 1) * DELAY + size / rate


def one_way_ns(size: int, links: int) -> float:
    """The time from the send to the end of the receive, docs/methods/mpi.md."""
    if size <= EAGER:
        return OVERHEAD + message_ns(size + HEADER, links) + OVERHEAD
    control = message_ns(CONTROL, links)
    return OVERHEAD + 2 * control + message_ns(size + HEADER, links) + OVERHEAD


def ping_pong(place: str, size: int) -> Case:
    # Neighbouring hosts share a leaf; a whole leaf lies between host 0 and host 32.
    links, other = (2, 1) if place == "one leaf" else (4, HOSTS_PER_LEAF)
    known = columns(
        "ping-pong",
        system="fat tree",
        variant=place,
        bytes=size,
        ranks=other + 1,
        expected_us=f"{one_way_ns(size, links) / 1000:.4f}",
    )
    workload = (
        f'motif = "ping-pong", ranks = {other + 1}, pairs = "first", partner = {other}, bytes = "{size} B", '
        "barriers = false"
    )
    return Case(known, ranks_only(FAT_TREE + job("first", workload)), tables=True)


def displacement(sizes: list[int], hops: int) -> list[int]:
    """Steps in each dimension to a node so many hops away: as far as possible in each dimension in turn."""
    steps = []
    for size in sizes:
        steps.append(min(hops, size // 2))
        hops -= steps[-1]
    if hops:
        raise ValueError(f"no two nodes of {sizes} are so far from each other")
    return steps


def mapping(name: str, sizes: list[int], hops: int) -> Path:
    """A file that puts rank r and r + half of the ranks on nodes so many hops apart."""
    steps = displacement(sizes, hops)

    def beyond(node: int) -> int:
        other, stride = 0, 1
        for step, size in zip(steps, sizes, strict=True):
            other += (node // stride % size + step) % size * stride
            stride *= size
        return other

    firsts, seconds, taken = [], [], set()
    for start in range(math.prod(sizes)):
        # Along the nodes that follow each other at this displacement, every second one starts a pair.
        node = start
        while node not in taken and beyond(node) not in taken:
            firsts.append(node)
            seconds.append(beyond(node))
            taken |= {node, beyond(node)}
            node = beyond(beyond(node))
    if len(taken) != math.prod(sizes):
        raise ValueError(f"{sizes}: nodes {hops} hops apart do not pair")
    # The experiment names the file by an absolute path, so it must outlive the temporary folder of a run.
    file = ROOT / "results/studies/mpi-validation-mappings" / f"{name}-{hops}.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{node}\n" for node in firsts + seconds))
    return file


def bisection(
    system: str,
    hops: int,
    pairs: str,
    size: int,
    deadlock: str = "bubble",
    seed: int = 1,
    packets: int = 8,
    packet_factor: int = 1,
) -> Case:
    torus = TORI[system]
    packet = packet_factor * torus["packet"]
    nodes = math.prod(torus["sizes"])
    # The closed form: every cable and router of the way once, and the bytes once, as packets are cut through.
    cables = 2 * NIC_LATENCY + hops * torus["latency"]
    expected = cables + (hops + 1) * torus["delay"] + size / torus["rate"]
    variant = deadlock if seed == 1 else f"{deadlock}, seed {seed}"
    if packets != 8:
        variant += f", {packets} packets"
    if packet_factor != 1:
        variant += f", packets x {packet_factor}"
    known = columns(
        "bisection",
        system=system,
        variant=variant,
        pairs=pairs,
        hops=hops,
        ranks=nodes,
        bytes=size,
        expected_us=f"{expected / 1000:.4f}",
    )
    network = f"""
topology = {{ kind = "torus", sizes = {torus["sizes"]} }}
routing = {{ algorithm = "dimension-order", deadlock = "{deadlock}" }}
link = {{ bandwidth = "{torus["bandwidth"]}", latency = "{torus["latency"]} ns" }}
links.host = {{ bandwidth = "{torus["bandwidth"]}", latency = "{NIC_LATENCY} ns" }}
router = {{ delay = "{torus["delay"]} ns", buffer = "{packets * packet} B" }}
packet = "{packet} B"
[mpi]
eager_threshold = "1 GB"
send_overhead = "0 ns"
receive_overhead = "0 ns"
header_size = "0 B"
"""
    size_key = f'bytes = "{size} B", barriers = false'
    if pairs == "all, by rank":
        # mpptest's own pairs: rank r and r + 1, which are neighbours in the first dimension.
        workload = f'motif = "ping-pong", ranks = {nodes}, pairs = "distance", distance = {hops}, {size_key}'
        return Case(known, ranks_only(network + job("distance", workload), seed), tables=True)
    name = system.replace("/", "").replace(" ", "-")
    file = f'mapping = {{ kind = "file", file = "{mapping(name, torus["sizes"], hops)}" }}'
    kind = 'pairs = "halves"' if pairs == "all" else f'pairs = "first", partner = {nodes // 2}'
    workload = f'motif = "ping-pong", ranks = {nodes}, {kind}, {size_key}'
    return Case(known, ranks_only(network + job(pairs, workload, file), seed), tables=True)


def bound_us(size: int) -> float:
    """The least time of an all-to-all: what one host's ranks send to other hosts, at the link rate."""
    per_host = RANKS // HOSTS
    return per_host * (RANKS - per_host) * size / RATE / 1000


def all_to_all(algorithm: str, size: int, placement: str = "linear", seed: int = 1, change: str = "") -> Case:
    known = columns(
        "all-to-all",
        system="fat tree",
        variant=change or (placement if placement == "linear" else f"{placement}, seed {seed}"),
        algorithm=algorithm,
        ranks=RANKS,
        bytes=size,
        expected_us=f"{bound_us(size):.4f}",
    )
    network = FAT_TREE
    for old, new in CHANGES.get(change, {}).items():
        if network.count(old) != 1:
            raise ValueError(f"{old} is not there once")
        network = network.replace(old, new)
    text = network + f'[mpi.collectives]\nalltoall = "{algorithm}"\n'
    more = f'ranks_per_host = {RANKS // HOSTS}\nplacement = "{placement}"'
    workload = f'motif = "all-to-all", ranks = {RANKS}, bytes = "{size} B"'
    return Case(known, ranks_only(text + job("all-to-all", workload, more), seed), tables=True)


def halo(ranks: int, compute_us: int) -> Case:
    known = columns("stencil", system="fat tree", variant=f"computation {compute_us} us", ranks=ranks)
    workload = (
        f'motif = "halo3d", ranks = {ranks}, nx = 64, ny = 64, nz = 64, iterations = {ITERATIONS}, '
        f'compute = "{compute_us} us"'
    )
    more = f"ranks_per_host = {HOSTS_PER_LEAF}"
    return Case(known, ranks_only(FAT_TREE + job("stencil", workload, more)), tables=True)


def cases(smoke: bool) -> list[Case]:
    if smoke:
        return [
            ping_pong("two leaves", 4),
            ping_pong("two leaves", 4 * KIB * KIB),
            bisection("Blue Gene/P", 1, "one", 128 * KIB),
            bisection("Blue Gene/P", 1, "all", 128 * KIB),
            bisection("Blue Gene/P", 8, "one", 128 * KIB),
            bisection("Blue Gene/P", 8, "all", 128 * KIB),
            all_to_all("pairwise", 4),
            halo(32, 0),
        ]
    found = [ping_pong(place, size) for place in ("one leaf", "two leaves") for size in PING_PONG_BYTES]
    found += [
        bisection(system, hops, pairs, size)
        for system in TORI
        for hops in HOPS
        for pairs in ("one", "all")
        for size in BISECTION_BYTES
    ]
    for system in TORI:
        found.append(bisection(system, 1, "all, by rank", 128 * KIB))
        found += [bisection(system, hops, "all", 128 * KIB, "dateline") for hops in HOPS]
        found += [bisection(system, hops, "all", 128 * KIB, packets=400) for hops in HOPS]
        found += [
            bisection(system, hops, "all", 128 * KIB, "bubble", seed) for hops in HOPS for seed in SEEDS[1:]
        ]
        found += [bisection(system, hops, "all", 128 * KIB, packet_factor=2) for hops in HOPS]
    found += [all_to_all(algorithm, size) for algorithm, sizes in ALL_TO_ALL.items() for size in sizes]
    found += [
        all_to_all(algorithm, size, "random", seed)
        for algorithm in ALL_TO_ALL
        for size in SEEDED
        for seed in SEEDS
    ]
    found += [
        all_to_all(algorithm, size, change=change)
        for change in CHANGES
        for algorithm in ALL_TO_ALL
        for size in SEEDED
    ]
    return found + [halo(ranks, compute) for compute in (0, COMPUTE_US) for ranks in HALO_RANKS]


def measure(summary: dict, folder: Path | None) -> dict[str, object]:
    import pyarrow.parquet as pq

    job = summary["jobs"][0]
    names = ["rank", "time_ps", "messages_sent"]
    ranks = pq.read_table(folder / "ranks.parquet", columns=names).to_pylist()
    if job["name"] in ("all-to-all", "stencil"):
        times = [row["time_ps"] for row in ranks]
    else:
        # The first of a pair gets the reply, which ends the round trip; ranks are paired neighbours if the
        # distance is 1, else halves.
        first = (
            (lambda rank: rank % 2 == 0)
            if job["name"] == "distance"
            else (lambda rank: rank < len(ranks) // 2)
        )
        times = [row["time_ps"] / 2 for row in ranks if row["messages_sent"] and first(row["rank"])]
    return {
        "mean_us": f"{sum(times) / len(times) / 1e6:.4f}",
        "slowest_us": f"{max(times) / 1e6:.4f}",
        "messages": job["messages"],
    }


def value(row: Row, column: str = "slowest_us") -> float:
    return float(row[column])


def off_percent(row: Row) -> float:
    return 100 * abs(value(row) / value(row, "expected_us") - 1)


def pick(rows: list[Row], **known: object) -> Row:
    found = select(rows, **known)
    if len(found) != 1:
        raise LookupError(f"{len(found)} rows have {known}, expected one")
    return found[0]


def sharing(
    rows: list[Row], system: str, hops: int, size: int, column: str, variant: str = "bubble"
) -> float:
    """How many times as long all pairs at once take as one alone."""
    keys = {"part": "bisection", "system": system, "hops": hops, "bytes": size}
    alone = number(rows, "slowest_us", pairs="one", variant="bubble", **keys)
    return number(rows, column, pairs="all", variant=variant, **keys) / alone


def checks(rows: list[Row], smoke: bool) -> list[Check]:
    exact = [*select(rows, part="ping-pong"), *select(rows, part="bisection", pairs="one")]
    found = [
        at_most(
            f"ping-pong on idle networks, {len(exact)} times: greatest difference from the closed form (%)",
            max(off_percent(row) for row in exact),
            0.1,
            ".4f",
        )
    ]
    size = 128 * KIB
    for system in ("Blue Gene/P",) if smoke else TORI:
        found.append(
            within(
                f"{system}, 1 hop, 128 KiB: slowest of all pairs over one pair",
                sharing(rows, system, 1, size, "slowest_us"),
                0.99,
                1.01,
            )
        )
    found.append(
        within(
            "Blue Gene/P, 8 hops, 128 KiB: slowest of all pairs over one pair",
            sharing(rows, "Blue Gene/P", 8, size, "slowest_us"),
            3.5,
            5.5,
        )
    )
    if smoke:
        return found
    for system in TORI:
        by_rank = number(rows, "slowest_us", part="bisection", system=system, pairs="all, by rank")
        alone = number(rows, "slowest_us", part="bisection", system=system, pairs="one", hops=1, bytes=size)
        found.append(
            within(
                f"{system}, mpptest's pairs at a distance of 1 rank over one pair",
                by_rank / alone,
                0.99,
                1.01,
            )
        )
        for variant in ("bubble", "bubble, seed 2", "bubble, seed 3"):
            far = min(sharing(rows, system, hops, size, "slowest_us", variant) for hops in HOPS[1:])
            found.append(
                at_least(f"{system}, {variant}: 8 and 11 hops, least sharing factor", far, 1.5, ".2f")
            )
    for algorithm in ("scattered", "pairwise"):
        large = [
            row
            for row in select(rows, part="all-to-all", algorithm=algorithm)
            if int(row["bytes"]) >= 64 * KIB
        ]
        ratios = [value(row) / value(row, "expected_us") for row in large]
        found.append(
            at_least(f"all-to-all, {algorithm}, 64 KiB and more: least time over the bound", min(ratios), 1)
        )
        found.append(at_most(f"all-to-all, {algorithm}, 64 KiB and more: greatest", max(ratios), 1.3))
    for size, best in ((SEEDED[0], "bruck"), (SEEDED[1], "other")):
        for seed in SEEDS:
            times = {
                algorithm: number(
                    rows,
                    "slowest_us",
                    part="all-to-all",
                    algorithm=algorithm,
                    bytes=size,
                    variant=f"random, seed {seed}",
                )
                for algorithm in ALL_TO_ALL
            }
            fastest = min(times, key=times.get)
            statement = f"all-to-all of {size} B, random placement, seed {seed}: "
            statement += "bruck is fastest" if best == "bruck" else "bruck is not fastest"
            found.append(Check(statement, fastest, (fastest == "bruck") == (best == "bruck")))
    for ranks in HALO_RANKS:
        none, some = (
            number(rows, "slowest_us", part="stencil", ranks=ranks, variant=f"computation {compute} us")
            for compute in (0, COMPUTE_US)
        )
        found.append(
            within(
                f"stencil, {ranks} ranks: time with computation over its sum with the time without",
                some / (none + ITERATIONS * COMPUTE_US),
                0.97,
                1.01,
            )
        )
    return found


def hops_text(hops: int) -> str:
    return f"{hops} hop" if hops == 1 else f"{hops} hops"


def size_text(size: int) -> str:
    for unit, factor in (("MiB", KIB * KIB), ("KiB", KIB)):
        if size >= factor:
            return f"{size // factor} {unit}"
    return f"{size} B"


def blocks(rows: list[Row]) -> dict[str, str]:
    lines = []
    for size in PING_PONG_BYTES[::4]:
        line = [size_text(size)]
        for place in ("one leaf", "two leaves"):
            row = pick(rows, part="ping-pong", variant=place, bytes=size)
            line += [f"{value(row):.3f}", f"{value(row, 'expected_us'):.3f}"]
        lines.append(line)
    header = ["message", "one leaf (us)", "closed form (us)", "two leaves (us)", "closed form (us)"]
    ping = markdown(header, lines)

    lines = []
    for system in TORI:
        for hops in HOPS:
            for size in (4, 1024, 128 * KIB):
                keys = {
                    "part": "bisection",
                    "system": system,
                    "hops": hops,
                    "bytes": size,
                    "variant": "bubble",
                }
                one, all_pairs = pick(rows, pairs="one", **keys), pick(rows, pairs="all", **keys)
                lines.append(
                    [
                        system,
                        str(hops),
                        size_text(size),
                        f"{value(one):.2f}",
                        f"{value(all_pairs, 'mean_us'):.2f}",
                        f"{value(all_pairs):.2f}",
                        f"{sharing(rows, system, hops, size, 'slowest_us'):.2f}",
                    ]
                )
    header = ["torus", "hops", "message", "one pair (us)", "all pairs, mean (us)", "slowest (us)"]
    torus = markdown([*header, "slowest / one"], lines)

    lines = []
    for system in TORI:
        for hops in HOPS:
            variants = ("bubble", "bubble, seed 2", "bubble, seed 3", "bubble, 400 packets")
            variants += ("bubble, packets x 2", "dateline")
            values = [sharing(rows, system, hops, 128 * KIB, "slowest_us", variant) for variant in variants]
            lines.append([f"{system}, {hops_text(hops)}", *(f"{factor:.2f}" for factor in values)])
    header = ["slowest of all pairs / one pair, 128 KiB", "1 VC with bubbles, seed 1", "seed 2", "seed 3"]
    sensitivity = markdown([*header, "buffers of 400 packets", "packets x 2", "2 VCs, dateline"], lines)

    lines = []
    for variant in ("linear", *(f"random, seed {seed}" for seed in SEEDS), *CHANGES):
        for size in SEEDED:
            times = {
                name: number(
                    rows, "slowest_us", part="all-to-all", variant=variant, algorithm=name, bytes=size
                )
                for name in ALL_TO_ALL
            }
            line = [variant, size_text(size), *(f"{time:,.1f}" for time in times.values())]
            lines.append([*line, " < ".join(sorted(times, key=times.__getitem__))])
    orders = markdown(["variant", "each to each", *(f"{name} (us)" for name in ALL_TO_ALL), "order"], lines)

    lines = []
    for size in ALL_TO_ALL["pairwise"]:
        line = [size_text(size), f"{bound_us(size):,.1f}"]
        for algorithm in ALL_TO_ALL:
            found = select(rows, part="all-to-all", variant="linear", algorithm=algorithm, bytes=size)
            line.append(f"{value(found[0]):,.1f}" if found else "")
        lines.append(line)
    together = markdown(["each to each", "bound (us)", *(f"{name} (us)" for name in ALL_TO_ALL)], lines)

    lines = []
    for ranks in HALO_RANKS:
        values = [
            number(rows, "slowest_us", part="stencil", ranks=ranks, variant=f"computation {compute} us")
            / ITERATIONS
            for compute in (0, COMPUTE_US)
        ]
        lines.append([str(ranks), *(f"{time:,.1f}" for time in values)])
    header = ["ranks", "an iteration without computation (us)", f"with {COMPUTE_US} us (us)"]
    stencil = markdown(header, lines)

    far = [sharing(rows, "Blue Gene/P", 8, 128 * KIB, column) for column in ("slowest_us", "mean_us")]
    small = {
        name: number(rows, "slowest_us", part="all-to-all", variant="linear", algorithm=name, bytes=32)
        for name in ALL_TO_ALL
    }
    conclusions = f"""\
- **What holds.** Single messages follow the closed form on every network, from 4 B to 4 MiB, eager and \
rendezvous. All pairs of neighbours at once take as long as one pair. Large all-to-alls are close to the \
bound of the hosts' links.
- **What it means.** An idle-network test says nothing about a loaded one: at 8 hops on the Blue Gene/P \
torus all pairs at once take {far[0]:.1f} times as long as one (slowest pair; {far[1]:.1f} times on \
average). Nodes half a ring apart choose their direction by a hash, so some links carry several pairs.
- **All-to-all.** `bruck` is fastest for small messages (32 B: {small["bruck"]:.0f} us, `scattered` \
{small["scattered"]:.0f} us, `pairwise` {small["pairwise"]:.0f} us) and not for large ones, with linear \
and with random placement."""
    return {
        "ping-pong": ping,
        "bisection": torus,
        "sensitivity": sensitivity,
        "orders": orders,
        "all-to-all": together,
        "stencil": stencil,
        "conclusions": conclusions,
    }


def figures(rows: list[Row], folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 2, figsize=(11, 8), layout="constrained")

    def draw(panel, of: list[Row], label: str, style: str, colour: str, column: str = "slowest_us") -> None:
        sizes = [int(row["bytes"]) for row in of]
        panel.plot(sizes, [value(row, column) for row in of], style, color=colour, label=label, markersize=4)

    for place, colour, marker in zip(("one leaf", "two leaves"), COLOURS, "os", strict=False):
        of = select(rows, part="ping-pong", variant=place)
        draw(panels[0, 0], of, f"{place}", marker, colour)
        draw(panels[0, 0], of, f"{place}, closed form", "-", colour, "expected_us")
    panels[0, 0].set(title="ping-pong on the fat tree", ylabel="one-way time (us)")
    for algorithm, colour, marker in zip(ALL_TO_ALL, COLOURS, "os^", strict=False):
        of = select(rows, part="all-to-all", variant="linear", algorithm=algorithm)
        draw(panels[0, 1], of, algorithm, marker + "-", colour)
    of = select(rows, part="all-to-all", variant="linear", algorithm="pairwise")
    draw(panels[0, 1], of, "bound of the hosts' links", "--", "#000000", "expected_us")
    panels[0, 1].set(title=f"all-to-all, {RANKS} ranks on {HOSTS} hosts", ylabel="time (us)")
    for panel, system in zip(panels[1], TORI, strict=True):
        for hops, colour, marker in zip(HOPS, COLOURS, "os^", strict=False):
            keys = {"part": "bisection", "system": system, "hops": hops, "variant": "bubble"}
            one, all_pairs = select(rows, pairs="one", **keys), select(rows, pairs="all", **keys)
            draw(panel, one, f"{hops_text(hops)}, closed form", "-", colour, "expected_us")
            draw(panel, one, f"{hops_text(hops)}, one pair", marker, colour)
            draw(panel, all_pairs, f"{hops_text(hops)}, slowest of all pairs", marker + "--", colour)
        panel.set(title=f"bisection test, {system} torus", ylabel="one-way time (us)")
    for panel in panels.flat:
        panel.set(xlabel="message (bytes)", yscale="log")
        panel.set_xscale("log", base=2)
        panel.grid(color="#DDDDDD")
        panel.legend(fontsize=7)
    figure.savefig(folder / "times.png", dpi=110)


if __name__ == "__main__":
    Study(HERE, cases, measure, checks, blocks, figures).main()
