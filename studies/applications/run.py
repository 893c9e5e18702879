"""Bandwidth, placement and tapering for four codes on networks of 1,024 hosts.

The test suite (part ``sanity``) runs most of the cases with the same bounds. See README.md;
``studies/study.py`` has the options.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from study import COLOURS, ROOT, Case, Check, Row, Study, at_least, markdown, number, within  # noqa: E402

# Topologies of 1,024 hosts with all links and with a quarter of them.
NETWORKS = {
    ("tree", "full"): 'kind = "fat-tree", levels = 3, radix = 16',
    ("tree", "tapered"): 'kind = "fat-tree", down = [8, 8, 16], up = [8, 2]',
    ("two levels", "full"): 'kind = "fat-tree", down = [32, 32], up = [32]',
    ("two levels", "tapered"): 'kind = "fat-tree", down = [32, 32], up = [8]',
    ("dragonfly+", "full"): 'kind = "dragonfly-plus", hosts_per_leaf = 8, leaves_per_group = 8, groups = 16, '
    "global_links_per_spine = 8",
}
CELLS = "nx = 64, ny = 64, nz = 64"
CODES = {
    "halo": f'motif = "halo3d-26", ranks = 1024, {CELLS}, barriers = false',
    "halo of layers": f'motif = "halo3d-26", pex = 4, pey = 4, pez = 64, {CELLS}, barriers = false',
    "halo of cubes": f'motif = "halo3d-26", ranks = 1024, {CELLS}, barriers = false',
    "rows": 'motif = "subcom3d-a2a", ranks = 1024, bytes_x = "8 KiB", bytes_y = "8 KiB", bytes_z = "8 KiB", '
    "barriers = false",
    "all-to-all": 'motif = "all-to-all", ranks = 1024, bytes = "128 B"',
    "sweep": 'motif = "sweep3d", ranks = 1024, nz = 20, compute_per_cell = "1 ns", barriers = false',
    "hasty sweep": 'motif = "sweep3d", ranks = 1024, nz = 20, barriers = false',
}
SEEDS = [1, 2, 3]
STATIC = "destination-mod-k"
VARIANTS = {
    "buffer / 4": {"buffer": "25 KB"},
    "packet 1 KiB": {"packet": "1 KiB"},
    "overhead 1 us": {"overhead": "1 us"},
}
BASE = {"buffer": "100 KB", "packet": "4 KiB", "overhead": "300 ns"}
# Least and greatest speed-up by four times the bandwidth.
GAINS = {"halo": (2.5, 4.0), "rows": (2.5, 4.0), "sweep": (1.0, 1.15), "hasty sweep": (1.4, 2.5)}
GAIN_REASONS = {
    "halo": "192 KiB from each rank take 63 us at 25 Gbps; the overhead of 52 sends and receives remains",
    "rows": "232 KiB, and 58 sends and receives",
    "sweep": "a block is computed for 26 us; its messages take 1.3 us at 25 Gbps",
    "hasty sweep": "a block is computed for 1 us",
}
# Least and greatest slow-down by a quarter of the links, and its reason.
TAPERED = {
    ("all-to-all", "two levels"): (1.8, 4.0, "five of ten exchanges leave the leaf, and half of another"),
    ("rows", "two levels"): (1.6, 4.0, "half of it stays inside leaves: rows along x are half a leaf"),
    ("all-to-all", "tree"): (1.6, 4.0, "four exchanges leave the pod, and half of another"),
    ("halo of layers", "two levels"): (
        0.95,
        1.1,
        "a leaf has two layers of 4 x 4 ranks: 32 of their 160 faces leave it, on 8 links",
    ),
    ("halo of cubes", "tree"): (0.95, 1.1, "at most 64 faces leave a pod, on 16 links"),
    ("halo", "two levels"): (1.6, 4.0, "see below"),
}


def blocks_under_pods() -> Path:
    """The hosts of ranks: cubes of 4 x 4 x 4 of a grid of 16 x 8 x 8 are under one pod of 64 hosts."""
    hosts = []
    for rank in range(1024):
        x, y, z = rank % 16, rank // 16 % 8, rank // 128
        pod = x // 4 + 4 * (y // 4 + 2 * (z // 4))
        hosts.append(pod * 64 + x % 4 + 4 * (y % 4 + 4 * (z % 4)))
    file = ROOT / "results/studies/applications-cubes.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{host}\n" for host in hosts))
    return file


def case(
    network: str,
    links: str,
    code: str,
    gbps: int = 25,
    routing: str = "",
    placement: str = "linear",
    seed: int = 1,
    variant: str = "base",
) -> Case:
    routing = routing or ("minimal" if network == "dragonfly+" else "adaptive")
    columns = {"network": network, "links": links, "code": code, "gbps": gbps, "routing": routing}
    columns |= {"placement": placement, "seed": seed, "variant": variant}
    values = BASE | VARIANTS.get(variant, {})
    mapping = f'mapping = {{ file = "{blocks_under_pods()}" }}' if code == "halo of cubes" else ""
    return Case(
        columns,
        f"""
[network]
topology = {{ {NETWORKS[network, links]} }}
routing = {{ algorithm = "{routing}" }}
link = {{ bandwidth = "{gbps} Gbps", latency = "50 ns" }}
router = {{ buffer = "{values["buffer"]}" }}
packet = "{values["packet"]}"
[mpi]
send_overhead = "{values["overhead"]}"
receive_overhead = "{values["overhead"]}"
[[job]]
workload = {{ {CODES[code]} }}
placement = "{placement}"
{mapping}
[run]
seed = {seed}
[collect]
series = "off"
""",
    )


def cases(smoke: bool) -> list[Case]:
    if smoke:
        return [case("tree", "full", "halo", gbps) for gbps in (25, 100)]
    found = [
        case(network, "full", code, gbps)
        for code in GAINS
        for network in ("tree", "dragonfly+")
        for gbps in (25, 100, 400)
    ]
    found += [
        case("tree", "full", "halo", routing=routing, placement=placement, seed=seed)
        for routing in ("adaptive", STATIC)
        for placement, seeds in (("linear", SEEDS[:1]), ("random", SEEDS))
        for seed in seeds
        # It is one of the cases above.
        if (routing, placement) != ("adaptive", "linear")
    ]
    found += [case(network, links, code) for code, network in TAPERED for links in ("full", "tapered")]
    for variant in VARIANTS:
        found += [
            case(network, "full", code, gbps, variant=variant)
            for code in ("halo", "rows")
            for network in ("tree", "dragonfly+")
            for gbps in (25, 100)
        ]
        found += [
            case("tree", "full", "halo", routing=routing, placement="random", variant=variant)
            for routing in ("adaptive", STATIC)
        ]
        found += [
            case("two levels", links, code, variant=variant)
            for code in ("all-to-all", "halo")
            for links in ("full", "tapered")
        ]
    return found


def measure(summary: dict, _folder: Path | None) -> dict[str, object]:
    return {"time_us": f"{summary['jobs'][0]['time_ns'] / 1000:.3f}"}


def time(
    rows: list[Row],
    network: str,
    code: str,
    links: str = "full",
    gbps: int = 25,
    routing: str = "",
    placement: str = "linear",
    seed: int = 1,
    variant: str = "base",
) -> float:
    """The time of one run in microseconds."""
    columns = case(network, links, code, gbps, routing, placement, seed, variant).columns
    return number(rows, "time_us", **columns)


def gain(
    rows: list[Row], network: str, code: str, variant: str = "base", gbps: tuple[int, int] = (25, 100)
) -> float:
    slow, fast = (time(rows, network, code, gbps=rate, variant=variant) for rate in gbps)
    return slow / fast


def slower(rows: list[Row], code: str, network: str, variant: str = "base") -> float:
    full, tapered = (time(rows, network, code, links, variant=variant) for links in ("full", "tapered"))
    return tapered / full


def random_cost(rows: list[Row], routing: str, seed: int = 1, variant: str = "base") -> float:
    """Time of the halo with random placement over that with linear placement and without a variant."""
    random = time(rows, "tree", "halo", routing=routing, placement="random", seed=seed, variant=variant)
    return random / time(rows, "tree", "halo", routing=routing)


def checks(rows: list[Row], smoke: bool) -> list[Check]:
    if smoke:
        return [within("tree, halo: speed-up from 25 to 100 Gbps", gain(rows, "tree", "halo"), 2.5, 4.0)]
    found = [
        within(f"{network}, {code}: speed-up from 25 to 100 Gbps", gain(rows, network, code), *limits)
        for code, limits in GAINS.items()
        for network in ("tree", "dragonfly+")
    ]
    for routing in ("adaptive", STATIC):
        for seed in SEEDS:
            statement = f"tree, halo, {routing}, seed {seed}: random over linear placement"
            found.append(at_least(statement, random_cost(rows, routing, seed), 1 / 1.05))
    for seed in SEEDS:
        static, adaptive = (
            time(rows, "tree", "halo", routing=routing, placement="random", seed=seed)
            for routing in (STATIC, "adaptive")
        )
        found.append(
            at_least(f"tree, halo, random, seed {seed}: {STATIC} over adaptive", static / adaptive, 1.2)
        )
    found += [
        within(f"{network}, {code}: tapered over full", slower(rows, code, network), least, most)
        for (code, network), (least, most, _) in TAPERED.items()
    ]
    return found


def blocks(rows: list[Row]) -> dict[str, str]:
    lines = []
    for code, (least, most) in GAINS.items():
        for network in ("tree", "dragonfly+"):
            times = [time(rows, network, code, gbps=gbps) for gbps in (25, 100)]
            line = [code, network, *(f"{value:,.3f}" for value in times), f"{times[0] / times[1]:.3f}"]
            lines.append([*line, f"{least:g} to {most:g}", GAIN_REASONS[code]])
    header = ["", "network", "25 Gbps (us)", "100 Gbps (us)", "faster by", "bound", "reason"]
    bandwidth = markdown(header, lines)
    lines = []
    for routing in ("adaptive", STATIC):
        linear = time(rows, "tree", "halo", routing=routing)
        randoms = [
            time(rows, "tree", "halo", routing=routing, placement="random", seed=seed) for seed in SEEDS
        ]
        lines.append([f"`{routing}`", f"{linear:.3f}", *(f"{value:.3f}" for value in randoms)])
    header = ["routing", "linear (us)", *(f"random, seed {seed}" for seed in SEEDS)]
    placement = markdown(header, lines)
    lines = []
    for (code, network), (least, most, reason) in TAPERED.items():
        times = [time(rows, network, code, links) for links in ("full", "tapered")]
        line = [code, network, *(f"{value:.3f}" for value in times), f"{times[1] / times[0]:.3f}"]
        lines.append([*line, f"{least:g} to {most:g}", reason])
    header = ["", "network", "full (us)", "tapered (us)", "slower by", "bound", "reason"]
    tapering = markdown(header, lines)
    lines = []
    for variant in ("base", *VARIANTS):
        line = [variant]
        line += [
            f"{gain(rows, network, code, variant):.2f}"
            for code in ("halo", "rows")
            for network in ("tree", "dragonfly+")
        ]
        static, adaptive = (
            time(rows, "tree", "halo", routing=routing, placement="random", variant=variant)
            for routing in (STATIC, "adaptive")
        )
        line.append(f"{static / adaptive:.2f}")
        line += [f"{slower(rows, code, 'two levels', variant):.2f}" for code in ("all-to-all", "halo")]
        lines.append(line)
    header = [
        "variant",
        *(
            f"{code}, {network}: 25 over 100 Gbps"
            for code in ("halo", "rows")
            for network in ("tree", "dragonfly+")
        ),
        f"halo, tree, random: {STATIC} over adaptive",
        *(f"{code}, two levels: tapered over full" for code in ("all-to-all", "halo")),
    ]
    sensitivity = markdown(header, lines)
    more = {
        (network, code): gain(rows, network, code, gbps=(100, 400))
        for network in ("tree", "dragonfly+")
        for code in ("halo", "hasty sweep")
    }
    costs = {
        routing: [random_cost(rows, routing, seed) for seed in SEEDS] for routing in ("adaptive", STATIC)
    }
    faster = f"""\
- **Two rows need explanation.** *Sweeps ignore bandwidth only if they compute.* With the motif's default of \
1 us for 25,000 cells, which no processor reaches, a sweep waits for its messages, and slow links matter. \
From 100 to 400 Gbps it becomes {more["tree", "hasty sweep"]:.2f} times as fast on the tree, since latency \
and overheads remain. *Halos stop gaining where overheads dominate.* From 100 to 400 Gbps the halo becomes \
{more["tree", "halo"]:.2f} times as fast on the tree, because 52 overheads of 300 ns are 15.6 us already. On \
the dragonfly+, where it waits for global links, it becomes {more["dragonfly+", "halo"]:.2f} times as \
fast."""
    placed = f"""\
- Random placement takes {min(costs["adaptive"]):.2f} to {max(costs["adaptive"]):.2f} times as long as \
linear placement with adaptive routing, and {min(costs[STATIC]):.2f} to {max(costs[STATIC]):.2f} times with \
`{STATIC}` (three seeds)."""
    return {
        "bandwidth": bandwidth,
        "faster": faster,
        "placement": placement,
        "tapering": tapering,
        "sensitivity": sensitivity,
        "placed": placed,
    }


def figures(rows: list[Row], folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panel = plt.subplots(figsize=(7, 4), layout="constrained")
    for network, style in (("tree", "-"), ("dragonfly+", "--")):
        for code, colour, marker in zip(GAINS, COLOURS, "os^D", strict=False):
            times = [time(rows, network, code, gbps=gbps) for gbps in (25, 100, 400)]
            values = [times[0] / value for value in times]
            panel.plot([25, 100, 400], values, marker + style, color=colour, label=f"{code}, {network}")
    panel.set(xscale="log", yscale="log", xlabel="Gbps of a link", ylabel="speed over that at 25 Gbps")
    panel.set_xticks([25, 100, 400], ["25", "100", "400"])
    panel.set_yticks([1, 2, 4, 8], ["1", "2", "4", "8"])
    panel.minorticks_off()
    panel.grid(color="#DDDDDD")
    panel.legend(fontsize=7, handlelength=3.5)
    figure.savefig(folder / "bandwidth.png", dpi=100)


if __name__ == "__main__":
    Study(HERE, cases, measure, checks, blocks, figures).main()
