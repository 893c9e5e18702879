"""Fewer links between leaves, groups and switches: time of codes and throughput of traffic.

See README.md; ``studies/study.py`` has the options.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from study import (  # noqa: E402
    Case,
    Check,
    Row,
    Study,
    at_least,
    at_most,
    markdown,
    number,
    select,
    topology_colour,
    within,
)

GBPS = 200
# Networks of 8,192 hosts by their share of global bandwidth: topology and routing.
PAR = 'algorithm = "par", paths = "adaptive", bias = "122880 B"'
NETWORKS: dict[str, dict[str, tuple[str, str]]] = {
    "fat tree": {
        f"{32 // up}:1": (
            f'kind = "fat-tree", radix = 64, leaves = 256, hosts_per_leaf = 32, uplinks_per_leaf = {up}',
            'algorithm = "adaptive"',
        )
        for up in (32, 16, 8)
    },
    "dragonfly": {
        str(links): (
            'kind = "dragonfly", hosts_per_router = 16, routers_per_group = 32, groups = 16, '
            f"links_between_groups = {links}",
            PAR + ', local = "ugal"',
        )
        for links in (32, 16, 8, 4)
    },
    "Dragonfly+": {
        str(links): (
            'kind = "dragonfly-plus", hosts_per_leaf = 32, leaves_per_group = 32, groups = 8, '
            f"links_between_groups = {links}",
            PAR,
        )
        for links in (128, 64, 32)
    },
}
PLACEMENTS = ["linear", "random"]
CUBE = "pex = 32, pey = 32, pez = 32"
CODES = {
    "halo": f'motif = "halo3d-26", {CUBE}, barriers = false, nx = 64, ny = 64, nz = 64, vars = 1',
    "all-to-all": f'motif = "subcom3d-a2a", {CUBE}, bytes_z = "0 B", bytes_x = "8 KiB", bytes_y = "8 KiB"',
}
# Traffic at full load; in the second pattern each group, or pod of 1,024 hosts, sends to the next.
PATTERNS = {
    "uniform": 'pattern = "uniform"',
    "next group": 'pattern = "shift", unit = "groups", to = "random"',
}
SEEDS = [1, 2, 3]
UNTIL_US, WARMUP_US = 60, 30
# What differs from the base case.
BASE = {"buffer": "512 KB", "packet": "4 KiB", "overhead": "", "routing": ""}
VARIANTS = {
    "buffer 64 KB": {"buffer": "64 KB"},
    "buffer 4 MB": {"buffer": "4 MB"},
    "packet 1 KiB": {"packet": "1 KiB"},
    "overhead 500 ns": {"overhead": "500 ns"},
    "minimal routing": {"routing": 'algorithm = "minimal", paths = "adaptive"'},
    "4 x bias": {"routing": PAR.replace("122880", "491520") + ', local = "ugal"'},
}
# All links and half of them, whose halo is run with these variants.
HALF = {"fat tree": ("1:1", "2:1"), "dragonfly": ("32", "16"), "Dragonfly+": ("128", "64")}
HALO_VARIANTS = ["buffer 64 KB", "packet 1 KiB", "overhead 500 ns"]
# Variants of uniform traffic on the fat tree with all links, and on the dragonfly with half of them.
TREE_VARIANTS = ["buffer 4 MB"]
DRAGONFLY_VARIANTS = ["minimal routing", "4 x bias"]


def experiment(topology: str, routing: str, job: str, run: str, variant: str) -> str:
    values = BASE | VARIANTS.get(variant, {})
    overhead = values["overhead"]
    mpi = f'[mpi]\nsend_overhead = "{overhead}"\nreceive_overhead = "{overhead}"\n' if overhead else ""
    return f"""
[network]
topology = {{ {topology} }}
routing = {{ {values["routing"] or routing} }}
link = {{ bandwidth = "{GBPS} Gbps", latency = "50 ns" }}
router = {{ delay = "100 ns", buffer = "{values["buffer"]}" }}
memory = {{ bandwidth = "400 GB/s", latency = "100 ns" }}
packet = "{values["packet"]}"
{mpi}[[job]]
{job}
[run]
{run}
[collect]
series = "off"
"""


def case(network: str, share: str, work: str, placement: str, seed: int, variant: str = "base") -> Case:
    topology, routing = NETWORKS[network][share]
    columns = {"network": network, "links": share, "work": work, "placement": placement, "seed": seed}
    columns["variant"] = variant
    if work in CODES:
        job = f'workload = {{ {CODES[work]} }}\nplacement = "{placement}"\nranks_per_host = 4'
        return Case(columns, experiment(topology, routing, job, f"seed = {seed}", variant))
    job = f"traffic = {{ {PATTERNS[work]}, load = 1.0 }}"
    run = f'seed = {seed}\nuntil = "{UNTIL_US} us"\nwarmup = "{WARMUP_US} us"'
    return Case(columns, experiment(topology, routing, job, run, variant))


def cases(smoke: bool) -> list[Case]:
    if smoke:
        small = [case("fat tree", share, "halo", "random", 1) for share in ("1:1", "4:1")]
        smaller = "nx = 32, ny = 32, nz = 32"
        return [
            Case(one.columns, one.experiment.replace("nx = 64, ny = 64, nz = 64", smaller)) for one in small
        ]
    found = [
        case(network, share, code, placement, seed)
        for network, shares in NETWORKS.items()
        for share in shares
        for code in CODES
        for placement in PLACEMENTS
        for seed in (SEEDS if (code, placement) == ("halo", "random") else SEEDS[:1])
    ]
    found += [
        case(network, share, pattern, "all hosts", 1)
        for network, shares in NETWORKS.items()
        for share in shares
        for pattern in PATTERNS
    ]
    found += [
        case(network, share, "halo", "random", 1, variant)
        for network, shares in HALF.items()
        for share in shares
        for variant in HALO_VARIANTS
    ]
    found += [case("fat tree", "1:1", "uniform", "all hosts", 1, variant) for variant in TREE_VARIANTS]
    return found + [
        case("dragonfly", "16", "uniform", "all hosts", seed, variant)
        for seed in SEEDS
        for variant in ("base", *DRAGONFLY_VARIANTS)
        if (variant, seed) != ("base", 1)
    ]


def measure(summary: dict, _folder: Path | None) -> dict[str, object]:
    network, job = summary["network"], summary["jobs"][0]
    time_ns = job.get("time_ns") if job["kind"] != "traffic" else None
    return {
        "time_us": "" if time_ns is None else f"{time_ns / 1000:.2f}",
        "accepted": "" if network["accepted_load"] is None else f"{network['accepted_load']:.4f}",
        # A cable is two links, one for each direction; those of hosts do not count.
        "cables_between_routers": (network["links"] - 2 * network["hosts"]) // 2,
        "routers": network["routers"],
    }


def value(
    rows: list[Row],
    column: str,
    network: str,
    share: str,
    work: str,
    placement: str,
    seed: int = 1,
    variant: str = "base",
) -> float:
    keys = {"network": network, "links": share, "work": work, "placement": placement}
    return number(rows, column, **keys, seed=seed, variant=variant)


def uniform(rows: list[Row], network: str, share: str, variant: str = "base", seed: int = 1) -> float:
    """The accepted part of uniform traffic at full load."""
    return value(rows, "accepted", network, share, "uniform", "all hosts", seed, variant)


def seeds_of_traffic(rows: list[Row]) -> list[int]:
    """The seeds of which all runs of uniform traffic on the dragonfly with half of the links are there."""
    return [
        seed
        for seed in SEEDS
        if all(
            select(rows, network="dragonfly", links="16", work="uniform", seed=seed, variant=variant)
            for variant in ("base", *DRAGONFLY_VARIANTS)
        )
    ]


def checks(rows: list[Row], smoke: bool) -> list[Check]:
    if smoke:
        full, tapered = (float(row["time_us"]) for row in rows)
        return [at_least("halo, random, fat tree: 4:1 over 1:1", tapered / full, 1.2)]
    found = []
    for ratio in (1, 2, 4):
        # A host sends to the 31 others of its leaf without an uplink.
        bound = min(1.0, 1 / ratio / (1 - 31 / 8191))
        accepted = value(rows, "accepted", "fat tree", f"{ratio}:1", "uniform", "all hosts")
        # Without tapering the bound is the link of each host. Random arrivals at exactly this rate leave it
        # idle at times, less so the longer the measurement is in packets: see README.md.
        least = 0.92 if ratio == 1 else 0.95
        found.append(
            within(f"fat tree {ratio}:1, uniform: accepted over its bound", accepted / bound, least, 1.0)
        )
    for network, shares in NETWORKS.items():
        times = [value(rows, "time_us", network, share, "halo", "random") for share in shares]
        text = ", ".join(f"{time:.1f}" for time in times)
        # Fewer links may not help, but for what chance does.
        holds = all(more >= 0.97 * less for less, more in zip(times, times[1:], strict=False))
        found.append(Check(f"{network}: halo, random, takes longer with fewer links", text, holds))
    for seed in seeds_of_traffic(rows):
        base = uniform(rows, "dragonfly", "16", seed=seed)
        for variant in DRAGONFLY_VARIANTS:
            statement = f"dragonfly, 16 links, uniform, seed {seed}: accepted with {variant} over PAR"
            found.append(at_least(statement, uniform(rows, "dragonfly", "16", variant, seed) / base, 1.1))
    tree = [value(rows, "time_us", "fat tree", share, "halo", "linear") for share in ("2:1", "1:1")]
    found.append(at_most("fat tree, halo, linear: 2:1 over 1:1", tree[0] / tree[1], 1.8))
    return found


def conclusions(rows: list[Row]) -> str:
    def slower(network: str, share: str, placement: str) -> str:
        """Time of the halo over that with all links."""
        times = [
            value(rows, "time_us", network, links, "halo", placement)
            for links in (share, next(iter(NETWORKS[network])))
        ]
        return f"{times[0] / times[1]:.1f}"

    accepted = {
        (network, share): f"{value(rows, 'accepted', network, share, 'uniform', 'all hosts'):.2f}"
        for network, shares in NETWORKS.items()
        for share in shares
    }
    spreads = []
    for network, shares in NETWORKS.items():
        for share in shares:
            times = [value(rows, "time_us", network, share, "halo", "random", seed) for seed in SEEDS]
            spreads.append(max(times) / min(times) - 1)
    orders = []
    for variant in ("base", *HALO_VARIANTS):
        factors = {}
        for network, shares in HALF.items():
            full, half = (
                value(rows, "time_us", network, share, "halo", "random", variant=variant) for share in shares
            )
            factors[network] = half / full
        names = sorted(factors, key=factors.__getitem__, reverse=True)
        orders.append(f"{variant}: " + ", ".join(f"{name} ({factors[name]:.2f})" for name in names))
    return f"""\
- **Uniform traffic gets what is paid for in the fat tree and the Dragonfly+.** Half of the links carry half \
of the load: the fat tree accepts {accepted["fat tree", "1:1"]}, {accepted["fat tree", "2:1"]} and \
{accepted["fat tree", "4:1"]}. At 1:1 it accepts less than 1: hosts offer exactly the link rate at random \
times, and the first queues leave a link idle at times. With a buffer of 4 MB it accepts \
{uniform(rows, "fat tree", "1:1", "buffer 4 MB"):.2f}.
- **The dragonfly loses more than its share with PAR**: {accepted["dragonfly", "16"]} with 16 links and \
{accepted["dragonfly", "8"]} with 8. With 16 links minimal routing accepts \
{uniform(rows, "dragonfly", "16", "minimal routing"):.2f}, and PAR with four times the bias \
{uniform(rows, "dragonfly", "16", "4 x bias"):.2f}. At full load the queues of all ports are long, so PAR \
takes detours, and each detour uses two global links. The routing, not the wiring, bounds this network, and \
a bias must fit the load.
- **Codes lose less with linear placement.** The halo takes {slower("fat tree", "2:1", "linear")} times as \
long in a fat tree tapered 2:1, and {slower("Dragonfly+", "64", "linear")} times with half of the links of a \
Dragonfly+. The all-to-all in rows needs no global link of the dragonfly and Dragonfly+ then.
- **Random placement removes this advantage.** The halo slows down by {slower("fat tree", "2:1", "random")} \
in the fat tree tapered 2:1, by {slower("Dragonfly+", "64", "random")} in the Dragonfly+ with half of the \
links, by {slower("dragonfly", "16", "random")} in the dragonfly.
- **Sensitivity.** Three seeds differ by at most {100 * max(spreads):.0f} %, less than any of these ratios. \
By the factor of the halo with random placement and half of the links, the networks have these orders: \
{"; ".join(orders)}. So which network loses most depends on the buffer."""


def blocks(rows: list[Row]) -> dict[str, str]:
    lines = []
    for network, shares in NETWORKS.items():
        for share in shares:
            of = select(rows, network=network, links=share)
            cables = int(of[0]["cables_between_routers"])
            line = [network, share, of[0]["routers"], f"{cables / 8192:.2f}"]
            for code in CODES:
                line += [
                    f"{value(rows, 'time_us', network, share, code, placement):.1f}"
                    for placement in PLACEMENTS
                ]
            line += [
                f"{value(rows, 'accepted', network, share, pattern, 'all hosts'):.3f}" for pattern in PATTERNS
            ]
            lines.append(line)
    header = ["network", "links", "routers", "cables between routers per host"]
    header += [f"{code}, {placement} (us)" for code in CODES for placement in PLACEMENTS]
    header += [f"{pattern}: accepted" for pattern in PATTERNS]
    seeds = []
    for network, shares in NETWORKS.items():
        for share in shares:
            times = [value(rows, "time_us", network, share, "halo", "random", seed) for seed in SEEDS]
            seeds.append([network, share, *(f"{time:.1f}" for time in times)])
    varied = []
    for network, (full, half) in HALF.items():
        for variant in ("base", *HALO_VARIANTS):
            times = [
                value(rows, "time_us", network, share, "halo", "random", variant=variant)
                for share in (full, half)
            ]
            varied.append(
                [network, variant, *(f"{time:.1f}" for time in times), f"{times[1] / times[0]:.2f}"]
            )
    traffic = []
    for variant in ("base", *DRAGONFLY_VARIANTS):
        line = [
            f"{uniform(rows, 'dragonfly', '16', variant, seed):.3f}" if seed in seeds_of_traffic(rows) else ""
            for seed in SEEDS
        ]
        traffic.append(["dragonfly", "16", variant, *line])
    traffic += [
        ["fat tree", "1:1", variant, f"{uniform(rows, 'fat tree', '1:1', variant):.3f}", "", ""]
        for variant in ("base", *TREE_VARIANTS)
    ]
    return {
        "conclusions": conclusions(rows),
        "table": markdown(header, lines),
        "sensitivity": markdown(
            ["halo, random (us)", "variant", "all links", "half of the links", "half over all"], varied
        ),
        "traffic": markdown(
            ["uniform, full load: accepted", "links", "variant", *(f"seed {seed}" for seed in SEEDS)], traffic
        ),
        "seeds": markdown(["halo, random (us)", "links", *(f"seed {seed}" for seed in SEEDS)], seeds),
    }


def figures(rows: list[Row], folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    for panel, work in zip(panels, (*CODES, "accepted"), strict=True):
        for network, marker in zip(NETWORKS, "os^", strict=False):
            colour = topology_colour(network)
            shares = list(NETWORKS[network])
            cables = [
                int(select(rows, network=network, links=share)[0]["cables_between_routers"]) / 8192
                for share in shares
            ]
            kinds = PATTERNS if work == "accepted" else PLACEMENTS
            for kind, style in zip(kinds, ("-", "--"), strict=True):
                if work == "accepted":
                    values = [value(rows, "accepted", network, share, kind, "all hosts") for share in shares]
                else:
                    values = [value(rows, "time_us", network, share, work, kind) for share in shares]
                panel.plot(cables, values, marker + style, color=colour, label=f"{network}, {kind}")
        ylabel = "accepted at full load, of the link rate" if work == "accepted" else f"time of {work} (us)"
        panel.set(xlabel="cables between routers per host", ylabel=ylabel, ylim=(0, None))
        panel.grid(color="#DDDDDD")
        # Long enough to tell solid lines from dashed ones.
        panel.legend(fontsize=7, handlelength=3.5)
    figure.savefig(folder / "links.png", dpi=100)


if __name__ == "__main__":
    Study(HERE, cases, measure, checks, blocks, figures).main()
