"""Latency, throughput and detours over load, beside the curves of CODES in ``codes.csv``.

``make``, ``.venv/bin/pip install matplotlib`` once, then ``.venv/bin/python studies/codes-curves/run.py``
(some minutes). Writes ``table.csv``, ``trends.csv`` and ``curves.png`` beside itself, and ends with an
error if an expectation of README.md fails. ``--smoke`` runs three curves and writes nothing.
"""

import concurrent.futures
import csv
import itertools
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pyarrow.parquet as pq

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import sweep  # noqa: E402

# Hosts, hosts per router (leaf), routers (leaves) per group, topology.
NETWORKS = {
    "d36": (36, 1, 4, dict(hosts_per_router=1, routers_per_group=4, global_links_per_router=2)),
    "d40": (40, 2, 4, dict(hosts_per_router=2, routers_per_group=4, global_links_per_router=2, groups=5)),
    "d72": (72, 2, 4, dict(hosts_per_router=2, routers_per_group=4, global_links_per_router=2)),
    "d342": (342, 3, 6, dict(hosts_per_router=3, routers_per_group=6, global_links_per_router=3)),
    "d1056": (1056, 4, 8, dict(hosts_per_router=4, routers_per_group=8, global_links_per_router=4)),
    "p80": (80, 4, 4, dict(hosts_per_leaf=4, leaves_per_group=4, global_links_per_spine=4, groups=5)),
    "p144": (144, 4, 4, dict(hosts_per_leaf=4, leaves_per_group=4, global_links_per_spine=4, groups=9)),
    "p272": (272, 4, 4, dict(hosts_per_leaf=4, leaves_per_group=4, global_links_per_spine=4)),
    "p1056": (1056, 4, 8, dict(hosts_per_leaf=4, leaves_per_group=8, global_links_per_spine=4)),
    "sf150": (150, 3, 5, dict(q=5, hosts_per_router=3)),
    "ft128": (128, 4, 4, dict(radix=8, levels=3)),
}
KINDS = {"d": "dragonfly", "p": "dragonfly-plus", "s": "slim-fly", "f": "fat-tree"}
TRAFFIC = {
    "uniform": 'pattern = "uniform"',
    "next_group_random": 'pattern = "shift", unit = "groups", to = "random"',
    "next_group_same_place": 'pattern = "shift", unit = "groups"',
    "half_shift": 'pattern = "bisection"',
}
# The routing of CODES by the middle of a curve's name, and ours that is nearest. CODES compares the bytes of
# a port, delta with a factor of two for the detour, and draws among equal minimal paths without their loads.
ALPHA, DELTA = 'bias = "0 B", weight = 1', 'bias = "0 B", weight = 2'
PAR = 'algorithm = "par", intermediate = "group", paths = "adaptive"'
LEGACY = 'algorithm = "par", paths = "random", local = "ugal", candidates = 2'
ROUTINGS = {
    "minimal": 'algorithm = "minimal", paths = "random"',
    "non-minimal": 'algorithm = "valiant", intermediate = "group", paths = "random"',
    "non-minimal-leaf": 'algorithm = "valiant", intermediate = "router", paths = "adaptive"',
    "prog-adaptive": f"{PAR}, {DELTA}",
    "prog-adaptive_alpha": f"{PAR}, {ALPHA}",
    "prog-adaptive_delta": f"{PAR}, {DELTA}",
    "prog-adaptive_delta_threshold4096": f'{PAR}, bias = "4096 B", weight = 2',
    "prog-adaptive-legacy_alpha": f"{LEGACY}, {DELTA}",
    "prog-adaptive-legacy_delta": f"{LEGACY}, {DELTA}",
    "prog-adaptive-legacy_delta_threshold2048": f'{LEGACY}, bias = "2048 B", weight = 2',
}
# Curves whose throughput differs for a reason in README.md.
EXPLAINED = {"d72_prog-adaptive-legacy_delta_uniform", "p80_prog-adaptive_delta_next_group_same_place"}
SATURATED = 0.97  # accepted over offered, below which latency depends on the length of the run


def routing(curve: str, network: str, traffic: str) -> str:
    name = curve.removeprefix(f"{network}_").removesuffix(f"_{traffic}")
    if network == "ft128":
        return 'algorithm = "adaptive"'
    if network == "sf150":
        return (
            'algorithm = "minimal"'
            if name == "minimal"
            else 'algorithm = "ugal", weight = 1, cost = "load-hops"'
        )
    if name == "minimal" and network.startswith("p"):
        # A leaf of CODES compares the loads of its spines, a spine draws a link.
        return 'algorithm = "minimal", paths = "adaptive"'
    if network.startswith("p"):
        # A detour of CODES visits a leaf of the intermediate group, as paths over a router do here.
        return ROUTINGS[name].replace('intermediate = "group"', 'intermediate = "router"')
    return ROUTINGS[name]


def next_router(network: str, folder: Path) -> str:
    """Uniform over the hosts of the next router of the own group, as a matrix."""
    hosts, per_router, routers, _ = NETWORKS[network]
    file = folder / f"{network}.csv"
    with file.open("w") as out:
        for source in range(hosts):
            router = source // per_router
            group = router // routers
            target = group * routers + (router + 1) % routers
            out.writelines(f"{source},{target * per_router + k},1\n" for k in range(per_router))
    return f'pattern = "matrix", file = "{file}"'


def experiment(row: dict, folder: Path) -> str:
    network, traffic = row["network"], row["traffic"]
    topology = ", ".join(f"{key} = {value}" for key, value in NETWORKS[network][3].items())
    if network[0] in "dp":
        topology += ', arrangement = "palmtree"'
    pattern = next_router(network, folder) if traffic == "next_router_random" else TRAFFIC[traffic]
    # CODES has a delay of links in its dragonfly only; the shortest cable is the lookahead, so that 10 ns of
    # the router's delay are the cable's in the others.
    cables = 'local = { latency = "10 ns" }, global = { latency = "100 ns" }'
    links = f"links = {{ {cables} }}" if network[0] == "d" else ""
    return f"""
[network]
topology = {{ kind = "{KINDS[network[0]]}", {topology} }}
routing = {{ {routing(row["curve"], network, traffic)} }}
link = {{ bandwidth = "100 Gbps", latency = "10 ns" }}
{links}
router = {{ delay = "90 ns", buffer = "64 KiB" }}
packet = "256 B"
[[job]]
traffic = {{ {pattern}, load = {row["load"]} }}
[run]
warmup = "{row["warm_up_ns"]} ns"
until = "{row["until_ns"]} ns"
drain = "1 ms"
"""


def measure(row: dict, folder: Path) -> dict:
    out = folder / f"{row['curve']}-{row['load']}"
    network = sweep.run(experiment(row, folder), out)["network"]
    links = pq.read_table(out / "links.parquet", columns=["class", "packets"]).to_pydict()
    packets = {"global": 0, "ejection": 0}
    for name, count in zip(links["class"], links["packets"], strict=True):
        if name in packets:
            packets[name] += count
    group = row["global_hops"] != ""
    found = {
        "accepted": f"{network['accepted_load']:.4f}",
        "latency_ns": f"{network['latency_ns']['mean']:.1f}",
        "routers": f"{network['mean_hops'] - 1:.4f}",
        "global_hops": f"{packets['global'] / packets['ejection']:.4f}" if group else "",
    }
    print(row["curve"], row["load"], *found.values(), flush=True)
    names = {key: row[key] for key in ("curve", "network", "traffic", "load")}
    return names | {f"codes_{key}": row[key] for key in found} | found


def trends(table: list[dict]) -> list[dict]:
    """Greatest load below saturation, greatest accepted load and share of detours of each curve, twice.

    The share is the global links of a packet at the lowest load and at the greatest load below saturation of
    both, less those without detours, of which each has one more.
    """
    found = []
    for curve in sorted({row["curve"] for row in table}):
        rows = sorted((row for row in table if row["curve"] == curve), key=lambda row: float(row["load"]))
        network, traffic = rows[0]["network"], rows[0]["traffic"]
        line = {
            "network": network,
            "traffic": traffic,
            "routing": curve.removeprefix(f"{network}_").removesuffix(f"_{traffic}"),
        }
        for whose in ("codes_", ""):
            below = [
                float(row["load"])
                for row in rows
                if float(row[f"{whose}accepted"]) >= SATURATED * float(row["load"])
            ]
            line[f"{whose}below"] = max(below, default=0.0)
            line[f"{whose}peak"] = f"{max(float(row[f'{whose}accepted']) for row in rows):.3f}"
        common = [row for row in rows if float(row["load"]) <= min(line["codes_below"], line["below"])]
        hosts, per_router, routers, _ = NETWORKS[network]
        direct = (hosts - per_router * routers) / (hosts - 1) if traffic == "uniform" else 1.0
        for name, row in (("first", common[0]), ("last", common[-1])):
            for whose in ("codes_", ""):
                links = row[f"{whose}global_hops"]
                detours = float(links) - direct if links and traffic != "next_router_random" else None
                line[f"{whose}detours_{name}"] = "" if detours is None else f"{max(detours, 0.0):.2f}"
        found.append(line)
    return found


def expectations(table: list[dict], lines: list[dict]) -> list[str]:
    """The expectations of README.md that fail."""
    failed = []

    def expect(holds: bool, what: str) -> None:
        if not holds:
            failed.append(what)

    # Latency of minimal routing at the lowest load: CODES stores and forwards (20.48 ns for each router), and
    # has the constants of its NIC and routers, with the mean of their jitter.
    for row in table:
        network, name = row["network"], row["curve"]
        first = min(float(other["load"]) for other in table if other["curve"] == name)
        same_paths = abs(float(row["routers"]) - float(row["codes_routers"])) < 0.02
        if "_minimal_" not in name or float(row["load"]) != first or not same_paths:
            continue
        routers = float(row["routers"])
        if network.startswith("d"):
            predicted = 11.01 + routers * 20.48 + 0.5
        else:
            predicted = 12.03 - 10 + routers * (20.48 + 0.51 + 1.3)
        difference = float(row["codes_latency_ns"]) - float(row["latency_ns"])
        expect(
            abs(difference - predicted) < 0.03 * float(row["latency_ns"]),
            f"{name}: latency {difference:.1f}, {predicted:.1f}",
        )
    for line in lines:
        curve = f"{line['network']}_{line['routing']}_{line['traffic']}"
        if curve in EXPLAINED:
            continue
        loads = sorted(float(row["load"]) for row in table if row["curve"] == curve)
        steps = [0.0, *loads]
        apart = abs(steps.index(line["below"]) - steps.index(line["codes_below"]))
        expect(apart <= 1, f"{curve}: below saturation up to {line['codes_below']}, {line['below']}")
        peaks = float(line["codes_peak"]), float(line["peak"])
        expect(abs(peaks[0] - peaks[1]) <= 0.055, f"{curve}: greatest accepted load {peaks}")
        if line["traffic"].startswith("next_group"):
            shares = float(line["codes_detours_last"]), float(line["detours_last"])
            expect(abs(shares[0] - shares[1]) <= 0.1, f"{curve}: share of detours {shares}")
    # Where a routing of CODES is ahead of another by more than 5 % in the greatest accepted load, so is ours.
    for a, b in itertools.permutations(lines, 2):
        if (a["network"], a["traffic"]) != (b["network"], b["traffic"]):
            continue
        if float(a["codes_peak"]) > 1.05 * float(b["codes_peak"]):
            wrong = f"{a['network']} {a['traffic']}: {b['routing']} is not behind {a['routing']}"
            expect(float(a["peak"]) > float(b["peak"]), wrong)
    return failed


def draw(table: list[dict]) -> None:
    panels = [
        ("d72", "uniform"),
        ("d72", "next_group_random"),
        ("p80", "uniform"),
        ("p80", "next_group_random"),
    ]
    figure, axes = plt.subplots(2, 4, figsize=(15, 7), sharex=True)
    for across, (network, traffic) in enumerate(panels):
        curves = sorted(
            {row["curve"] for row in table if (row["network"], row["traffic"]) == (network, traffic)}
        )
        for curve, colour in zip(curves, sweep.COLOURS, strict=False):
            rows = [row for row in table if row["curve"] == curve]
            label = curve.removeprefix(f"{network}_").removesuffix(f"_{traffic}")
            loads = [float(row["load"]) for row in rows]
            for down, quantity in enumerate(("accepted", "latency_ns")):
                panel = axes[down][across]
                for whose, style in (("", "-"), ("codes_", ":")):
                    points = [
                        (load, float(row[whose + quantity]))
                        for load, row in zip(loads, rows, strict=True)
                        if row[whose + quantity]
                    ]
                    panel.plot(
                        *zip(*points, strict=True), style, color=colour, label=label if style == "-" else None
                    )
        axes[0][across].set(title=f"{network}, {traffic}", ylim=(0, 1.02))
        axes[0][across].legend(fontsize=7)
        axes[1][across].set(xlabel="offered load", ylim=(0, 2000))
    axes[0][0].set_ylabel("accepted load")
    axes[1][0].set_ylabel("mean latency (ns)")
    figure.suptitle("solid: FabricSim, dotted: CODES")
    figure.tight_layout()
    figure.savefig(HERE / "curves.png", dpi=80)


def main() -> None:
    smoke = sys.argv[1:] == ["--smoke"]
    with (HERE / "codes.csv").open() as file:
        rows = list(csv.DictReader(file))
    if smoke:
        chosen = ("d36_", "d40_minimal", "sf150_minimal_half")
        rows = [row for row in rows if row["curve"].startswith(chosen)]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        table = list(pool.map(lambda row: measure(row, Path(folder)), rows))
    lines = trends(table)
    if not smoke:
        sweep.write(table, HERE / "table.csv")
        sweep.write(lines, HERE / "trends.csv")
        draw(table)
    failed = expectations(table, lines)
    print(*failed, sep="\n")
    sys.exit(f"{len(failed)} expectations failed" if failed else 0)


if __name__ == "__main__":
    main()
