"""Latency, throughput and detours over load, beside the curves of CODES in ``codes.csv``.

See README.md; ``studies/study.py`` has the options.
"""

import itertools
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
    at_most,
    markdown,
    number,
    read_table,
    select,
)

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
# Runs that explain a difference: replacements in the experiment of one point of a curve.
VARIANTS = {
    "buffers of 256 KiB": [
        ("d72_non-minimal_next_group_random", 1.0, ("64 KiB", "256 KiB")),
        ("p80_prog-adaptive_delta_next_group_random", 1.0, ("64 KiB", "256 KiB")),
    ],
    "detours to any group": [("d72_prog-adaptive_delta_uniform", 0.1, ('"linked"', '"any"'))],
    "detours over a group": [
        (
            "p80_non-minimal-leaf_uniform",
            0.9,
            ('intermediate = "router"', 'intermediate = "group"'),
        )
    ],
}
SEEDS = [2, 3]
# Curves of the small run.
SMOKE = ("d36_", "d40_minimal", "sf150_minimal_half")


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
    if ROUTINGS[name].startswith('algorithm = "par"'):
        # A later router of CODES draws among the groups to which it has links.
        return f'{ROUTINGS[name]}, detours = "linked"'
    return ROUTINGS[name]


def matrix(network: str) -> Path:
    """The file of a matrix: uniform over the hosts of the next router of the own group."""
    hosts, per_router, routers, _ = NETWORKS[network]
    # The experiment names the file by an absolute path, so it must outlive the temporary folder of a run.
    file = ROOT / "results/studies/codes-curves-matrices" / f"{network}.csv"
    lines = []
    for source in range(hosts):
        router = source // per_router
        group = router // routers
        target = group * routers + (router + 1) % routers
        lines += [f"{source},{target * per_router + k},1\n" for k in range(per_router)]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(lines))
    return file


def experiment(row: Row, seed: int = 1) -> str:
    network, traffic = row["network"], row["traffic"]
    topology = ", ".join(f"{key} = {value}" for key, value in NETWORKS[network][3].items())
    if network[0] in "dp":
        topology += ', arrangement = "palmtree"'
    if traffic == "next_router_random":
        pattern = f'pattern = "matrix", file = "{matrix(network)}"'
    else:
        pattern = TRAFFIC[traffic]
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
seed = {seed}
[collect]
series = "off"
"""


MEASURED = ("accepted", "latency_ns", "routers", "global_hops")


def case(row: Row, variant: str = "base", replaced: tuple[str, str] = ("", ""), seed: int = 1) -> Case:
    columns = {"variant": variant} | {key: row[key] for key in ("curve", "network", "traffic", "load")}
    text = experiment(row, seed)
    if replaced[0] not in text:
        raise ValueError(f"{row['curve']}: the experiment has no {replaced[0]}")
    if replaced[0]:
        text = text.replace(*replaced)
    return Case(columns | {f"codes_{key}": row[key] for key in MEASURED}, text, tables=True)


def cases(smoke: bool) -> list[Case]:
    rows = read_table(HERE, "codes")
    if smoke:
        return [case(row) for row in rows if row["curve"].startswith(SMOKE)]
    found = [case(row) for row in rows]
    for variant, points in VARIANTS.items():
        for curve, load, replaced in points:
            row = next(row for row in rows if row["curve"] == curve and float(row["load"]) == load)
            found.append(case(row, variant, replaced))
    # Other seeds run the load at which CODES accepts most.
    for seed in SEEDS:
        for curve in sorted({row["curve"] for row in rows}):
            peak = max(select(rows, curve=curve), key=lambda row: float(row["accepted"]))
            found.append(case(peak, f"seed {seed}", seed=seed))
    return found


def measure(summary: dict, folder: Path | None) -> dict[str, object]:
    import pyarrow.parquet as pq

    network = summary["network"]
    links = pq.read_table(folder / "links.parquet", columns=["class", "packets"]).to_pydict()
    packets = {"global": 0, "ejection": 0}
    for name, count in zip(links["class"], links["packets"], strict=True):
        if name in packets:
            packets[name] += count
    # A Slim Fly has links of this class, too, but no groups of detours.
    group = summary["experiment"]["network"]["topology"]["kind"].startswith("dragonfly")
    return {
        "accepted": f"{network['accepted_load']:.4f}",
        "latency_ns": f"{network['latency_ns']['mean']:.1f}",
        "routers": f"{network['mean_hops'] - 1:.4f}",
        "global_hops": f"{packets['global'] / packets['ejection']:.4f}" if group else "",
    }


def direct(network: str, traffic: str) -> float:
    """Global links of a packet without detours."""
    hosts, per_router, routers, _ = NETWORKS[network]
    return (hosts - per_router * routers) / (hosts - 1) if traffic == "uniform" else 1.0


def trends(table: list[Row]) -> list[dict]:
    """Greatest load below saturation, greatest accepted load and share of detours of each curve, twice.

    The share is the global links of a packet at the lowest load and at the greatest load below saturation of
    both, less those without detours, of which each has one more.
    """
    found = []
    base = select(table, variant="base")
    for curve in sorted({row["curve"] for row in base}):
        rows = sorted(select(base, curve=curve), key=lambda row: float(row["load"]))
        network, traffic = rows[0]["network"], rows[0]["traffic"]
        line = {
            "curve": curve,
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
            line[f"{whose}peak"] = max(float(row[f"{whose}accepted"]) for row in rows)
        common = [row for row in rows if float(row["load"]) <= min(line["codes_below"], line["below"])]
        for name, row in (("first", common[0]), ("last", common[-1])):
            for whose in ("codes_", ""):
                links = row[f"{whose}global_hops"]
                detours = None
                if links and traffic != "next_router_random":
                    detours = max(float(links) - direct(network, traffic), 0.0)
                line[f"{whose}detours_{name}"] = detours
        found.append(line)
    return found


def worst(statement: str, values: dict[str, float], limit: float, form: str) -> Check:
    """The expectation that none of the values by curve is above a limit."""
    curve, value = max(values.items(), key=lambda pair: pair[1])
    check = at_most(f"{statement}, {len(values)} curves", value, limit, form)
    return Check(check.expected, f"{check.measured} ({curve})", check.holds)


def unexplained_latency(table: list[Row]) -> dict[str, float]:
    """By curve of minimal routing: what is not explained of the latency at the lowest load, in percent.

    CODES stores and forwards (20.48 ns for each router), and has the constants of its NIC and routers, with
    the mean of their jitter.
    """
    found = {}
    base = select(table, variant="base")
    for curve in {row["curve"] for row in base if "_minimal_" in row["curve"]}:
        row = min(select(base, curve=curve), key=lambda row: float(row["load"]))
        if abs(float(row["routers"]) - float(row["codes_routers"])) >= 0.02:
            continue
        routers = float(row["routers"])
        if row["network"].startswith("d"):
            predicted = 11.01 + routers * 20.48 + 0.5
        else:
            predicted = 12.03 - 10 + routers * (20.48 + 0.51 + 1.3)
        ours = float(row["latency_ns"])
        found[curve] = 100 * abs(float(row["codes_latency_ns"]) - ours - predicted) / ours
    return found


def ranks(table: list[Row], lines: list[dict], variant: str) -> Check:
    """Where a routing of CODES is ahead by more than 5 % in the greatest accepted load, so is ours."""

    def peak(line: dict) -> float:
        if variant == "base":
            return line["peak"]
        return number(table, "accepted", variant=variant, curve=line["curve"])

    pairs, wrong = 0, []
    for a, b in itertools.permutations(lines, 2):
        if (a["network"], a["traffic"]) != (b["network"], b["traffic"]):
            continue
        if a["codes_peak"] > 1.05 * b["codes_peak"]:
            pairs += 1
            if peak(a) <= peak(b):
                wrong.append(f"{b['curve']} is not behind {a['routing']}")
    measured = "; ".join(wrong) if wrong else f"all {pairs} pairs"
    seed = "seed 1" if variant == "base" else variant
    return Check(f"routings that are 5 % apart in CODES rank the same, {seed}", measured, not wrong)


def checks(rows: list[Row], smoke: bool) -> list[Check]:
    lines = trends(rows)
    compared = [line for line in lines if line["curve"] not in EXPLAINED]

    def steps(line: dict) -> int:
        of = select(rows, variant="base", curve=line["curve"])
        loads = [0.0, *sorted(float(row["load"]) for row in of)]
        return abs(loads.index(line["below"]) - loads.index(line["codes_below"]))

    groups = [line for line in compared if line["traffic"].startswith("next_group")]
    found = [
        worst("minimal, lowest load: latency not explained (%)", unexplained_latency(rows), 3, ".2f"),
        worst(
            "saturation: loads between that of CODES and ours",
            {line["curve"]: steps(line) for line in compared},
            1,
            ".0f",
        ),
        worst(
            "greatest accepted load: difference",
            {line["curve"]: abs(line["codes_peak"] - line["peak"]) for line in compared},
            0.055,
            ".3f",
        ),
        worst(
            "traffic to the next group: difference of the share of detours",
            {line["curve"]: abs(line["codes_detours_last"] - line["detours_last"]) for line in groups},
            0.1,
            ".2f",
        ),
    ]
    if not smoke:
        found += [ranks(rows, lines, variant) for variant in ("base", *(f"seed {seed}" for seed in SEEDS))]
    return found


NAMES = {
    "d": "dragonfly",
    "p": "Dragonfly+",
    "s": "Slim Fly",
    "f": "fat tree",
}


def blocks(rows: list[Row]) -> dict[str, str]:
    lines = {line["curve"]: line for line in trends(rows)}

    def pair(line: dict, name: str, form: str) -> str:
        values = [line[f"codes_{name}"], line[name]]
        return "" if None in values else ", ".join(f"{value:{form}}" for value in values)

    table = [
        [
            f"{NAMES[line['network'][0]]}, {NETWORKS[line['network']][0]} hosts, {line['traffic']}",
            f"`{line['routing']}`",
            pair(line, "below", "g"),
            pair(line, "peak", ".3f"),
            pair(line, "detours_first", ".2f"),
            pair(line, "detours_last", ".2f"),
        ]
        for line in sorted(lines.values(), key=lambda line: (line["network"], line["traffic"], line["curve"]))
    ]
    header = ["network, traffic", "routing (name in CODES)", "below saturation", "accepted"]
    header += ["detours, lowest", "detours, highest"]

    def of(variant: str, number_of: int = 0) -> tuple[Row, Row]:
        """A run that explains a difference, and the point of the curve that it varies."""
        curve, load, _ = VARIANTS[variant][number_of]
        keys = {"curve": curve, "load": str(load)}
        return select(rows, variant=variant, **keys)[0], select(rows, variant="base", **keys)[0]

    par = lines["d72_prog-adaptive_delta_uniform"]
    anywhere, _ = of("detours to any group")
    alpha = lines["d72_prog-adaptive_alpha_uniform"]
    any_share = float(anywhere["global_hops"]) - direct("d72", "uniform")
    legacy = lines["d72_prog-adaptive-legacy_delta_uniform"]
    valiant = lines["d72_non-minimal_next_group_random"]
    large, large_plus = of("buffers of 256 KiB")[0], of("buffers of 256 KiB", 1)[0]
    plus = lines["p80_prog-adaptive_delta_next_group_random"]
    beyond = [row for row in select(rows, variant="base", curve=plus["curve"]) if float(row["load"]) > 0.6]
    fallen = min(float(row["codes_accepted"]) for row in beyond)
    group, leaf = of("detours over a group")
    first = min(
        select(rows, variant="base", curve="d40_minimal_next_group_random"),
        key=lambda row: float(row["load"]),
    )
    differences = f"""\
- **Detours of `par` in dragonflies.** The second router of the source group draws a new intermediate group. \
CODES draws among the groups to which this router has links, and so does `par` here (`linked`): \
{par["detours_first"]:.2f} of the packets make a detour at the lowest load with 72 hosts, \
{par["codes_detours_first"]:.2f} in CODES. With `any`, the default, it draws among all, and often finds an \
idle local link where the global link to the destination still lacks a credit: {any_share:.2f} at a load of \
0.1. Without the factor two (`alpha`) `par` accepts {alpha["peak"]:.2f}, CODES {alpha["codes_peak"]:.2f}.
- **`prog-adaptive-legacy`, uniform: {legacy["codes_peak"]:.2f} in CODES, {legacy["peak"]:.2f} here.** CODES \
treats port 0 of a router as full in this decision, so packets whose minimal path begins there always make a \
detour, at every load (share {legacy["codes_detours_last"]:.2f} at high load).
- **Beyond saturation CODES accepts less over detours**: {valiant["codes_peak"]:.3f} against \
{valiant["peak"]:.3f} (`non-minimal`, dragonfly of 72 hosts), and in the Dragonfly+ of 80 hosts a fall from \
{plus["codes_peak"]:.2f} to {fallen:.2f}. The measured 15 to 20 us include the \
time in \
which the network fills. A router of CODES keeps chunks for which an output has no room in a list without \
limit, so more packets wait inside the network. Larger buffers have the same effect here: with 256 KiB for \
each port, `non-minimal` accepts {float(large["accepted"]):.3f} and `prog-adaptive` on the Dragonfly+ \
{float(large_plus["accepted"]):.3f} at a load of 1. The curve \
`p80_prog-adaptive_delta_next_group_same_place` \
has only loads on both sides of the peak.
- **Two links between groups** (dragonfly, 40 hosts, `minimal`): CODES draws a link to the destination's \
group, and then needs {float(first["codes_routers"]):.2f} routers on average; `minimal` draws among the \
shortest paths only, with {float(first["routers"]):.2f} routers."""
    detours = f"""\
The paths of detours matter in a Dragonfly+: with `intermediate = "group"`, a packet leaves the intermediate \
group from the spine at which it arrived, if that has a link to the destination's group. This needs \
{float(group["routers"]):.1f} routers instead of {float(leaf["routers"]):.1f}, and Valiant routing accepts \
{float(group["accepted"]):.2f} of uniform traffic instead of {float(leaf["accepted"]):.2f}."""
    return {"trends": markdown(header, table), "differences": differences, "detours": detours}


def figures(rows: list[Row], folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    panels = [
        ("d72", "uniform"),
        ("d72", "next_group_random"),
        ("p80", "uniform"),
        ("p80", "next_group_random"),
    ]
    base = select(rows, variant="base")
    figure, axes = plt.subplots(2, 4, figsize=(15, 7), sharex=True, layout="constrained")
    for across, (network, traffic) in enumerate(panels):
        curves = sorted({row["curve"] for row in select(base, network=network, traffic=traffic)})
        for curve, colour, marker in zip(curves, COLOURS, "os^vDPX", strict=False):
            of = select(base, curve=curve)
            label = curve.removeprefix(f"{network}_").removesuffix(f"_{traffic}")
            for down, quantity in enumerate(("accepted", "latency_ns")):
                for whose, style in (("", "-"), ("codes_", ":")):
                    points = [
                        (float(row["load"]), float(row[whose + quantity]))
                        for row in of
                        if row[whose + quantity]
                    ]
                    axes[down][across].plot(
                        *zip(*points, strict=True),
                        style,
                        marker=marker,
                        markersize=4,
                        markerfacecolor=colour if whose == "" else "none",
                        color=colour,
                        label=label if whose == "" else None,
                    )
        name = f"{NAMES[network[0]]}, {NETWORKS[network][0]} hosts, {traffic.replace('_', ' ')}"
        axes[0][across].set_title(name, fontsize=10)
        axes[0][across].set(ylim=(0, 1.02))
        axes[0][across].legend(fontsize=7)
        axes[1][across].set(xlabel="offered load (of the injection bandwidth)", ylim=(0, 2000))
        for panel in axes[:, across]:
            panel.grid(color="#DDDDDD")
    axes[0][0].set_ylabel("accepted load (of the injection bandwidth)")
    axes[1][0].set_ylabel("mean packet latency (ns)")
    figure.suptitle("solid lines, filled markers: FabricSim; dotted lines, open markers: CODES")
    figure.savefig(folder / "curves.png", dpi=80)


if __name__ == "__main__":
    Study(HERE, cases, measure, checks, blocks, figures).main()
