"""Slim Fly with 73,926, a million and 6.5 million hosts: load, latency and cost of the run.

Figure 10 of Wolfe et al. 2016, and the network that they leave to future work. See README.md;
``studies/study.py`` has the options.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from study import COLOURS, Case, Check, Row, Study, at_least, markdown, number, select, shown, within  # noqa: E402

ROUTINGS = {
    "minimal": 'algorithm = "minimal"',
    "Valiant": 'algorithm = "valiant"',
    "UGAL": 'algorithm = "ugal", candidates = 3, weight = 1',
}
PATTERNS = {"uniform": 'pattern = "uniform"', "worst case": 'pattern = "adversarial"'}
LOADS = [0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
SEEDS = [1, 2, 3]
# q and hosts per router.
SIZES = {"74K": (37, 27), "1M": (163, 19), "6.5M": (163, 122)}
# Load, warm-up and end in microseconds of the networks that one run after the other fills the memory with.
MILLION = [(0.1, 1, 10), (0.5, 1, 4), (0.71, 1, 3), (1.0, 1, 3)]
FUTURE = (0.1, 1, 3)
# Warm-up and end in microseconds of the runs above saturation after the buffers have filled. Valiant routing
# ends earlier, as its packets need the most memory.
LATE = {"minimal": (60, 70), "Valiant": (45, 50), "UGAL": (60, 70)}
# Variants of the worst case at full load.
VARIANTS = {
    "buffer 25 KB": {"buffer": "25 KB"},
    "packet 1 KiB": {"packet": "1 KiB"},
}
# Uniform load at which minimal routing fills the first link of the 73,926 hosts, by `fabricsim check`.
LIMIT = 0.9303


def case(
    size: str,
    routing: str,
    pattern: str,
    load: float,
    warmup_us: float,
    until_us: float,
    seed: int,
    variant: str = "base",
) -> Case:
    q, hosts = SIZES[size]
    columns = {"size": size, "pattern": pattern, "routing": routing, "load": load, "warmup_us": warmup_us}
    columns |= {"until_us": until_us, "seed": seed, "variant": variant}
    varied = {"buffer": "100 KB", "packet": "256 B"} | VARIANTS.get(variant, {})
    return Case(
        columns,
        f"""
[network]
topology = {{ kind = "slim-fly", q = {q}, hosts_per_router = {hosts} }}
routing = {{ {ROUTINGS[routing]} }}
link = {{ bandwidth = "100 Gbps", latency = "50 ns" }}
router = {{ delay = "100 ns", buffer = "{varied["buffer"]}" }}
packet = "{varied["packet"]}"
[[job]]
traffic = {{ {PATTERNS[pattern]}, load = {load} }}
[run]
until = "{until_us} us"
warmup = "{warmup_us} us"
seed = {seed}
[collect]
series = "off"
""",
    )


def cases(smoke: bool) -> list[Case]:
    if smoke:
        return [case("74K", "minimal", pattern, 0.1, 1, 2.5, 1) for pattern in PATTERNS]
    # Largest first: two of the million hosts at a time would not fit into the memory of a small machine.
    found = [case("6.5M", "minimal", "uniform", *FUTURE, 1)]
    found += [case("1M", "minimal", "uniform", *point, 1) for point in MILLION]
    found += [
        case("74K", routing, pattern, load, 5, 20, 1)
        for routing in ROUTINGS
        for pattern in PATTERNS
        for load in LOADS
    ]
    found += [
        case("74K", routing, "worst case", 1.0, 5, 20, 1, variant)
        for variant in VARIANTS
        for routing in ROUTINGS
    ]
    # Late, when the buffers are full.
    found += [case("74K", routing, "uniform", 1.0, *span, 1) for routing, span in LATE.items()]
    # From an empty network without warm-up, as the totals of the paper, at the load that it calls 100 %.
    found.append(case("74K", "minimal", "uniform", 0.71, 0, 40, 1))
    found += [
        case("74K", routing, "worst case", 1.0, 5, 20, seed) for routing in ROUTINGS for seed in SEEDS[1:]
    ]
    return found


def measure(summary: dict, _folder: Path | None) -> dict[str, object]:
    network, run = summary["network"], summary["run"]
    return {
        "hosts": network["hosts"],
        "accepted": f"{network['accepted_load']:.4f}",
        "latency_ns": shown(network["latency_ns"]["mean"], ".1f"),
        "packet_hops": network["packet_hops"],
        "cpu_s": f"{run['cpu_s']:.1f}",
        "memory_gib": f"{run['peak_rss_bytes'] / 2**30:.2f}",
    }


def point(
    rows: list[Row], pattern: str, routing: str, load: float, column: str = "accepted", **more: object
) -> float:
    keys = {
        "size": "74K",
        "pattern": pattern,
        "routing": routing,
        "load": load,
        "warmup_us": 5,
        "seed": 1,
        "variant": "base",
    } | more
    return number(rows, column, **keys)


def late_runs(rows: list[Row]) -> dict[str, Row]:
    """The rows above saturation after the buffers have filled, by routing, of those in the table."""
    found = {}
    for routing, (start, end) in LATE.items():
        of = select(rows, size="74K", pattern="uniform", routing=routing, warmup_us=start, until_us=end)
        if of:
            found[routing] = of[0]
    return found


def checks(rows: list[Row], smoke: bool) -> list[Check]:
    if smoke:
        first, worst = (float(row["accepted"]) for row in rows)
        return [
            within("uniform, minimal, load 0.1: accepted", first, 0.098, 0.102, ".4f"),
            within("worst case, minimal, load 0.1: accepted is 1/54", worst, 0.0175, 0.0195, ".4f"),
        ]
    follows = [point(rows, "uniform", "minimal", load) / load for load in LOADS[:-1]]
    worst = [point(rows, "worst case", "minimal", load) for load in LOADS]
    million = select(rows, size="1M")
    found = [
        at_least("74K, uniform, minimal: least accepted part of the load to 0.9", min(follows), 0.985),
        at_least("74K, uniform, minimal, load 1.0: accepted", point(rows, "uniform", "minimal", 1.0), 0.9),
        within("74K, worst case, minimal: greatest accepted load is 1/54", max(worst), 0.0175, 0.0195, ".4f"),
    ]
    # Above saturation the buffers still fill during the measurement, so only bounds are known: see README.md.
    for pattern in PATTERNS:
        below = point(rows, pattern, "Valiant", 0.3)
        found.append(within(f"74K, {pattern}, Valiant, load 0.3: accepted", below, 0.297, 0.303))
        most = max(point(rows, pattern, "Valiant", load) for load in LOADS)
        found.append(within(f"74K, {pattern}, Valiant: greatest accepted load", most, 0.4, 0.52))
    late = late_runs(rows)
    if "minimal" in late:
        ratio = float(late["minimal"]["accepted"]) / LIMIT
        found.append(
            within("74K, uniform, minimal, load 1.0, measured late: over its limit", ratio, 0.97, 1.0)
        )
    if "Valiant" in late:
        accepted = float(late["Valiant"]["accepted"])
        found.append(within("74K, uniform, Valiant, load 1.0, measured late: accepted", accepted, 0.45, 0.52))
    if {"minimal", "UGAL"} <= late.keys():
        ratio = float(late["UGAL"]["accepted"]) / float(late["minimal"]["accepted"])
        found.append(at_least("74K, uniform, UGAL, load 1.0, measured late: over minimal", ratio, 0.9))
    kinds: list[tuple[str, dict[str, object]]] = [(f"seed {seed}", {"seed": seed}) for seed in SEEDS]
    kinds += [(variant, {"variant": variant}) for variant in VARIANTS]
    for name, more in kinds:
        order = [
            point(rows, "worst case", routing, 1.0, **more) for routing in ("UGAL", "Valiant", "minimal")
        ]
        text = " > ".join(f"{value:.3f}" for value in order)
        holds = order == sorted(order, reverse=True)
        found.append(Check(f"74K, worst case, load 1.0, {name}: UGAL > Valiant > minimal", text, holds))
    below = [float(row["accepted"]) / float(row["load"]) for row in million if float(row["load"]) < 1]
    found.append(
        at_least("a million hosts, uniform, minimal: least accepted part of the load", min(below), 0.98)
    )
    return found


def conclusions(rows: list[Row]) -> str:
    late = late_runs(rows)
    million = [row for row in select(rows, size="1M") if float(row["load"]) < 1]
    most = max(float(row["load"]) for row in million)
    changes = [
        f"that of {routing} from {point(rows, 'uniform', routing, 1.0):.4f} to {row['accepted']}"
        for routing, row in late.items()
    ]
    future = select(rows, size="6.5M")[0]
    full = number(rows, "accepted", size="1M", load=1.0)
    # The paper's 8.2 GB/s as a part of 71 Gbps.
    paper = 8.2 * 8 / 71
    return f"""\
- **The links bound uniform traffic of 73,926 hosts.** With minimal routing the first link between routers \
is full at a load of {LIMIT}, as `fabricsim check` computes for this network. On [3,042 \
hosts](../slim-fly/README.md) this limit is above 1. So the larger network accepts less at full load, and \
the value measured late, {late["minimal"]["accepted"]}, is within the limit. With one scale, the paper \
agrees: 8.2 GB/s are {paper:.3f} of its 71 Gbps.
- **Minimal routing carries uniform traffic** of 73,926 hosts up to 0.9 of the link rate \
({point(rows, "uniform", "minimal", 0.9):.4f} is accepted), and of a million hosts up to {most:g}, the \
greatest load that was run below full load. The worst case gets \
{point(rows, "worst case", "minimal", 1.0):.4f}, which is 1/54, at full load.
- **Values above saturation are those of a network that still fills.** From 5 to 20 us the buffers take what \
the hosts send, and the first halves of Valiant's paths take the links. So Valiant shows \
{point(rows, "uniform", "Valiant", 1.0):.2f} at full load, less than on [3,042 \
hosts](../slim-fly/README.md), which were measured after 20 us. Measured late, when the buffers \
are full, the accepted load changes: {" and ".join(changes)}. UGAL accepts less than minimal routing there: \
where the links are the limit, each detour takes a link from others. A million hosts at full load were \
measured for 2 us only, in which queues of random arrivals still grow: their value, {full:.4f}, is no steady \
one, either.
- **The ranking of the worst case is sure**: UGAL, then Valiant, then minimal, with three seeds, a quarter \
of the buffers, and packets of four times the size. Uniform traffic has one seed, and no ranking is \
claimed for it.
- **For a buyer.** Check the limit of the links before the run: with 27 hosts on a router with 55 links, \
full uniform load is above the limit of {LIMIT}, and UGAL is the routing that no pattern stops.
- **6.5 million hosts run** on the machine above, with {float(future["memory_gib"]):.0f} GiB."""


def blocks(rows: list[Row]) -> dict[str, str]:
    lines = []
    for pattern in PATTERNS:
        for routing in ROUTINGS:
            values = [f"{point(rows, pattern, routing, load):.4f}" for load in LOADS]
            lines.append([f"{pattern}, {routing}", *values])
    accepted = markdown(["accepted at an offered load of", *map(str, LOADS)], lines)
    lines = []
    for row in rows:
        if row["size"] != "74K" or row["warmup_us"] == "0":
            rate = 12.5 * float(row["accepted"])
            times = f"{row['warmup_us']} to {row['until_us']} us"
            hops = f"{float(row['packet_hops']) / 1e6:.0f} M"
            line = [f"{int(row['hosts']):,}", row["load"], times, row["accepted"], f"{rate:.2f}"]
            lines.append([*line, row["latency_ns"], hops, row["cpu_s"], row["memory_gib"]])
    header = ["hosts", "load", "measured", "accepted", "GB/s per host", "mean latency (ns)", "packet-hops"]
    large = markdown([*header, "CPU time (s)", "memory (GiB)"], lines)
    lines = []
    for routing, row in late_runs(rows).items():
        early = point(rows, "uniform", routing, 1.0)
        line = [routing, f"{early:.4f}", f"{row['warmup_us']} to {row['until_us']} us", row["accepted"]]
        line += [f"{12.5 * float(row['accepted']):.2f}", f"{int(row['packet_hops']) / 1e6:.0f} M"]
        lines.append([*line, row["cpu_s"], row["memory_gib"]])
    header = ["load 1.0", "accepted, 5 to 20 us", "later", "accepted later", "GB/s per host", "packet-hops"]
    steady = markdown([*header, "CPU time (s)", "memory (GiB)"], lines)
    return {"conclusions": conclusions(rows), "accepted": accepted, "large": large, "late": steady}


def figures(rows: list[Row], folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 2, figsize=(10, 7.4), sharex=True, sharey="row")
    for column, pattern in enumerate(PATTERNS):
        throughput, latency = panels[:, column]
        throughput.plot([0, 1], [0, 12.5], color="#BBBBBB", linewidth=1, label="offered")
        for routing, colour, marker in zip(ROUTINGS, COLOURS, "os^", strict=False):
            of = select(
                rows, size="74K", pattern=pattern, routing=routing, warmup_us=5, seed=1, variant="base"
            )
            loads = [float(row["load"]) for row in of]
            rates = [12.5 * float(row["accepted"]) for row in of]
            throughput.plot(loads, rates, marker + "-", color=colour, label=routing)
            steady = [row for row in of if float(row["accepted"]) > 0.98 * float(row["load"])]
            loads = [float(row["load"]) for row in steady]
            values = [float(row["latency_ns"]) / 1000 for row in steady]
            latency.plot(loads, values, marker + "-", color=colour, label=routing)
        if pattern == "uniform":
            # Two microseconds at full load show no steady value.
            of = [row for row in select(rows, size="1M") if float(row["load"]) < 1]
            loads = [float(row["load"]) for row in of]
            throughput.plot(
                loads, [12.5 * float(row["accepted"]) for row in of], "k*", label="a million hosts, minimal"
            )
            latency.plot(
                loads, [float(row["latency_ns"]) / 1000 for row in of], "k*", label="a million hosts, minimal"
            )
        throughput.set(title=f"{pattern} traffic, 73,926 hosts")
        latency.set(xlabel="offered load, of the link rate", yscale="log")
        for panel in (throughput, latency):
            panel.grid(color="#DDDDDD")
            panel.legend()
    panels[0, 0].set_ylabel("GB/s received by a host")
    panels[1, 0].set_ylabel("mean packet latency below saturation (us)")
    figure.tight_layout()
    figure.savefig(folder / "throughput.png", dpi=110)


if __name__ == "__main__":
    Study(HERE, cases, measure, checks, blocks, figures).main()
