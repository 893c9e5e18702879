"""The router model `flit` beside BookSim 2 on 36 networks: latency, accepted load and hops over load.

See README.md; ``studies/study.py`` has the options. ``booksim.csv`` has the numbers of BookSim 2 and
``parameters.csv`` the parameters of its runs, from which the experiments are written.
"""

import collections
import functools
import statistics
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from study import (  # noqa: E402
    COLOURS,
    Case,
    Check,
    Row,
    Study,
    at_most,
    markdown,
    read_table,
    select,
)

# Bytes of a flit. A cycle is 1 ns.
FLIT = 32
SEEDS = 5
# Points at which the mean over a few seeds is left to chance, and their seeds.
CHANCE = [
    ("crossbar16_2vc_sif_1", "0.55"),
    ("crossbar16_4vc_islip1_1", "0.6"),
    ("crossbar16_2vc_sif_4", "0.63"),
    ("crossbar16_voq_sif_1", "0.7"),
    ("crossbar16_voq_islip1_1", "0.7"),
]
MANY_SEEDS, FEW_SEEDS = 40, 4
# Below saturation, the hops of a permutation are those of its hosts that happen to send most.
TRANSPOSE_SEEDS = 20
# BookSim's windows in us: two of 1,000 cycles to warm up, five measured.
SPAN = (2, 5)
DRAIN = 4
# Topology, routing, and virtual channels that this routing needs, by BookSim's topology and routing function.
NETWORKS = {
    ("fly", "dest_tag"): ('kind = "hyperx", shape = [1], hosts_per_router = {k}', '"minimal"', 1),
    ("mesh", "dor"): ('kind = "mesh", sizes = {sides}', '"dimension-order"', 1),
    ("torus", "dim_order"): (
        'kind = "torus", sizes = {sides}',
        '"dimension-order", deadlock = "dateline-at-entry", paths = "random"',
        2,
    ),
    ("fattree", "nca"): ('kind = "fat-tree", down = [{k}, {k}, {k}], up = [{k}, {k}]', '"scatter"', 1),
    ("flatfly", "ran_min"): (
        'kind = "hyperx", shape = {sides}, hosts_per_router = {c}',
        '"dimension-order"',
        1,
    ),
    ("flatfly", "valiant"): (
        'kind = "hyperx", shape = {sides}, hosts_per_router = {c}',
        '"valiant", intermediate = "any-router"',
        2,
    ),
    ("dragonflynew", "min"): (
        'kind = "dragonfly", hosts_per_router = {k}, routers_per_group = {twice}, '
        "global_links_per_router = {k}",
        '"minimal", vcs = "by-phase"',
        2,
    ),
    ("dragonflynew", "ugal"): (
        'kind = "dragonfly", hosts_per_router = {k}, routers_per_group = {twice}, '
        "global_links_per_router = {k}",
        f'"ugal", bias = "{30 * FLIT} B", metric = "credits", intermediate = "any-group", vcs = "by-phase"',
        3,
    ),
}
# Loads far past saturation whose accepted load is not compared: README.md has the causes.
NOT_COMPARED = [("dragonfly2_ugal_baddragon_1", "0.3"), ("dragonfly2_ugal_baddragon_1", "0.4")]
FAMILIES = {
    "single router": [("fly", "dest_tag")],
    "mesh": [("mesh", "dor")],
    "k-ary n-tree": [("fattree", "nca")],
    "flattened butterfly": [("flatfly", "ran_min"), ("flatfly", "valiant")],
    "torus": [("torus", "dim_order")],
    "dragonfly": [("dragonflynew", "min"), ("dragonflynew", "ugal")],
}
PATTERNS = {
    "uniform": 'pattern = "uniform", include_self = true',
    "transpose": 'pattern = "transpose"',
    "bad_dragon": 'pattern = "adversarial", offset = 1',
}
LINKS = {
    "dragonflynew": 'links.local = { latency = "10 ns" }\nlinks.global = { latency = "100 ns" }\n',
    "ring": 'links.host = { latency = "1 ns" }\n',
}
# Latency: this share, or so many standard deviations of BookSim's runs, up to this share of saturation.
LATENCY, DEVIATIONS, UP_TO = 0.01, 2, 0.95
# Accepted load in saturation and routers of a path below it: these shares, or the deviations.
ACCEPTED, ROUTERS = 0.01, 0.005
# The cases of the small run, and how far one of its runs may be off.
SMALL = {
    "crossbar16_voq_sif_1": 0.5,
    "mesh6_spec_la_3vc_uniform_4": 0.15,
    "mesh8_2vc_islip_transpose_1": 0.04,
    "tree4_3_2vc_islip_uniform_1": 0.05,
    "flatfly4x4c4_min_2vc_uniform_1": 0.2,
}
SMALL_LIMIT = 2.5


@functools.cache
def parameters() -> dict[str, Row]:
    """The parameters of BookSim's runs by network."""
    return {row["network"]: row for row in read_table(HERE, "parameters")}


@functools.cache
def booksim() -> dict[tuple[str, str], Row]:
    """BookSim's numbers by network and load."""
    return {(row["network"], row["load"]): row for row in read_table(HERE, "booksim")}


def kind(network: str) -> tuple[str, str]:
    of = parameters()[network]
    return of["topology"], of["routing_function"]


def family(network: str) -> str:
    return next(name for name, kinds in FAMILIES.items() if kind(network) in kinds)


def flits(network: str) -> int:
    return int(parameters()[network]["packet_size"])


def router_keys(of: Row, vcs: int) -> list[str]:
    """The keys of the router for BookSim's parameters and a routing that needs so many virtual channels."""
    # A routing that needs more of them than BookSim's has one copy of each.
    copies = max(1, int(of["num_vcs"]) // vcs)
    allocator, _, iterations = of["vc_allocator"].removesuffix(")").partition("(")
    keys = [
        'model = "flit"',
        f'flit = "{FLIT} B"',
        'delay = "0 ns"',
        f"routing_delay = {of['routing_delay']}",
        f'credit_delay = "{of["credit_delay"]} ns"',
        f"speedup = {of['internal_speedup']}",
        f'allocator = "{allocator.replace("_", "-")}"',
        f"vc_copies = {copies}",
        f'buffer = "{copies * vcs * int(of["vc_buf_size"]) * FLIT} B"',
    ]
    keys += [f"iterations = {iterations}"] if iterations else []
    keys += ['host_vcs = "by-routing"'] if of["topology"] == "dragonflynew" else []
    keys += ['vc_assignment = "next-output"'] if of["noq"] == "1" else []
    keys += ['speculation = "low-priority"'] if of["speculative"] == "1" else []
    return keys


def experiment(network: str, load: float, seed: int, drains: bool) -> str:
    """A packet has a payload of one flit, so that a slot of arrivals is a cycle; the rest is its header."""
    of = parameters()[network]
    topology, routing, vcs = NETWORKS[kind(network)]
    k, size = int(of["k"]), flits(network)
    topology = topology.format(k=k, c=of["c"], twice=2 * k, sides=[k] * int(of["n"]))
    # Channels between routers of a torus with `use_noc_latency` have a latency of 2.
    cable = 2 if of["use_noc_latency"] == "1" else 1
    links = LINKS["ring"] if cable == 2 else LINKS.get(of["topology"], "")
    drain = f'drain = "{DRAIN} us"' if drains else ""
    return f"""
[network]
topology = {{ {topology} }}
routing = {{ algorithm = {routing} }}
link = {{ bandwidth = "{8 * FLIT} Gbps", latency = "{cable} ns" }}
{links}router = {{ {", ".join(router_keys(of, vcs))} }}
packet = "{FLIT} B"
packet_header = "{(size - 1) * FLIT} B"
[[job]]
traffic = {{ {PATTERNS[of["traffic"]]}, arrival = "bernoulli", load = {load / size}, message = "{FLIT} B" }}
[run]
warmup = "{SPAN[0]} us"
until = "{sum(SPAN)} us"
{drain}
executor = "sequential"
seed = {seed}
[collect]
series = "off"
"""


def seeds(network: str, load: str) -> int:
    """The number of runs of a point."""
    if (network, load) in CHANCE:
        return MANY_SEEDS
    is_permutation = parameters()[network]["traffic"] == "transpose"
    return TRANSPOSE_SEEDS if is_permutation and steady(network, load) else SEEDS


def case(network: str, load: str, seed: int) -> Case:
    # As BookSim: it drains its network unless that is saturated.
    drains = booksim()[network, load]["drained"] != "0"
    columns = {"network": network, "load": load, "seed": seed}
    return Case(columns, experiment(network, float(load), seed, drains))


def cases(smoke: bool) -> list[Case]:
    if smoke:
        return [case(network, str(load), 1) for network, load in SMALL.items()]
    return [case(*at, seed) for at in booksim() for seed in range(1, seeds(*at) + 1)]


def measure(summary: dict, _folder: Path | None) -> dict[str, object]:
    network = summary["network"]
    return {
        # A packet is made at any moment of a cycle, and waits a cycle on average.
        "cycles": f"{network['latency_ns']['mean'] - 1:.3f}",
        "routers": f"{network['mean_hops'] - 1:.4f}",
        # Per host and cycle.
        "packets": f"{network['accepted_load']:.5f}",
    }


def with_diagonal(network: str, load: float, run: dict[str, float]) -> dict[str, float]:
    """A run of `transpose` with the hosts of the diagonal, which send to themselves in BookSim.

    Their packets share no link with others and wait for nothing at these loads: two channels, one router with
    routing in a step, and one flit.
    """
    if parameters()[network]["traffic"] != "transpose":
        return run
    side = int(parameters()[network]["k"])
    alone = 1 / side
    own = {"cycles": 2 * 1 + (3 + 1) + 1, "routers": 1}
    found = {name: (1 - alone) * run[name] + alone * value for name, value in own.items()}
    return found | {"accepted": run["accepted"] + alone * load}


# Means over the seeds by network and load.
Points = dict[tuple[str, str], dict[str, float]]


def means(rows: list[Row]) -> Points:
    """The means over the seeds of each point."""
    runs = collections.defaultdict(list)
    for row in rows:
        network, load = row["network"], row["load"]
        run = {
            "cycles": float(row["cycles"]),
            "routers": float(row["routers"]),
            "accepted": flits(network) * float(row["packets"]),
        }
        runs[network, load].append(with_diagonal(network, float(load), run))
    return {
        at: {name: statistics.mean(run[name] for run in found) for name in found[0]}
        for at, found in runs.items()
    }


def loads(network: str) -> list[str]:
    return [load for of, load in booksim() if of == network]


def steady(network: str, load: str) -> bool:
    """Whether BookSim has a latency: all that is offered arrives."""
    return booksim()[network, load]["cycles"] != ""


def saturation(network: str) -> float:
    """The greatest load that BookSim accepts where it accepts less than is offered."""
    return max(float(booksim()[network, load]["accepted"]) for load in saturated(network))


def compared(network: str) -> list[str]:
    """The loads at which latencies are compared."""
    limit = UP_TO * saturation(network)
    return [load for load in loads(network) if steady(network, load) and float(load) <= limit]


def saturated(network: str) -> list[str]:
    """The loads at which BookSim accepts less than is offered, and accepted loads are compared."""
    full = [load for load in loads(network) if not steady(network, load)]
    return [load for load in full if (network, load) not in NOT_COMPARED]


def off(points: Points, column: str, network: str, load: str) -> float:
    """The difference to BookSim as a share."""
    return points[network, load][column] / float(booksim()[network, load][column]) - 1


def over_limit(points: Points, column: str, share: float, network: str, load: str) -> float:
    """The difference to BookSim over its limit, which is a share or the deviations of BookSim's runs."""
    known = booksim()[network, load]
    deviations = DEVIATIONS * float(known[f"{column}_sd"]) / float(known[column])
    return abs(off(points, column, network, load)) / max(share, deviations)


def networks(of: str | None = None) -> list[str]:
    """The networks of one family or all."""
    return [name for name in parameters() if of is None or family(name) == of]


def checks(rows: list[Row], smoke: bool) -> list[Check]:
    points = means(rows)
    if smoke:
        return [
            at_most(
                f"{network}, load {load}: {name} off BookSim (%)",
                100 * abs(off(points, column, network, str(load))),
                SMALL_LIMIT,
            )
            for network, load in SMALL.items()
            for column, name in (("cycles", "latency"), ("routers", "routers"))
        ]
    found = []
    for name in FAMILIES:
        of = networks(name)
        latency = max(
            over_limit(points, "cycles", LATENCY, network, load)
            for network in of
            for load in compared(network)
        )
        hops = max(
            over_limit(points, "routers", ROUTERS, network, load)
            for network in of
            for load in compared(network)
        )
        full = max(
            over_limit(points, "accepted", ACCEPTED, network, load)
            for network in of
            for load in saturated(network)
        )
        found += [
            at_most(f"{name}: latency off BookSim over its limit, the greatest", latency, 1, ".2f"),
            at_most(f"{name}: routers of a path off BookSim over its limit, the greatest", hops, 1, ".2f"),
            at_most(f"{name}: accepted load off BookSim in saturation over its limit", full, 1, ".2f"),
        ]
    return found


def greatest(values: list[tuple[float, str]], form: str = "+.1f") -> str:
    """The value that is furthest from 0, with its load."""
    value, load = max(values, key=lambda pair: abs(pair[0]))
    return f"{value:{form}} % at {load}"


def blocks(rows: list[Row]) -> dict[str, str]:
    points = means(rows)
    lines = []
    for network in networks():
        within = compared(network)
        worst = max(over_limit(points, "cycles", LATENCY, network, load) for load in within)
        full = saturated(network)
        theirs = statistics.mean(float(booksim()[network, load]["accepted"]) for load in full)
        here = statistics.mean(points[network, load]["accepted"] for load in full)
        lines.append(
            [
                f"`{network}`",
                f"{within[0]} to {within[-1]}",
                greatest([(100 * off(points, "cycles", network, load), load) for load in within]),
                f"{worst:.2f}",
                greatest([(100 * off(points, "routers", network, load), load) for load in within], "+.2f"),
                f"{theirs:.4f}",
                f"{here:.4f}",
            ]
        )
    header = ["network", "loads", "latency, greatest difference", "over its limit"]
    header += ["routers, greatest difference", "BookSim accepts in saturation", "FabricSim"]
    table = markdown(header, lines)
    limits = [
        over_limit(points, "cycles", LATENCY, network, load)
        for network in networks()
        for load in compared(network)
    ]
    plain = [
        100 * abs(off(points, "cycles", network, load))
        for network in networks()
        for load in compared(network)
    ]
    full = [
        100 * abs(off(points, "accepted", network, load))
        for network in networks()
        for load in saturated(network)
    ]
    beyond = [
        (network, load)
        for network in networks()
        for load in loads(network)
        if steady(network, load) and load not in compared(network)
    ]
    near = [(100 * off(points, "cycles", *at), f"{at[1]} of `{at[0]}`") for at in beyond]
    known = booksim()[max(beyond, key=lambda at: abs(off(points, "cycles", *at)))]
    summary = (
        f"- Latencies on {len(networks())} networks up to {100 * UP_TO:.0f} % of the saturation load, "
        f"{len(limits)} points, differ by "
        f"{statistics.mean(plain):.2f} % on average; {sum(value <= 1 for value in limits)} are within their "
        "limit.\n"
        f"- In saturation, {len(full)} points, the accepted load differs by {statistics.mean(full):.2f} % on "
        f"average and at most {max(full):.2f} %.\n"
        "- Between there and saturation a mean over five seeds is left to chance. The greatest difference is "
        f"{greatest(near)}; BookSim's standard deviation there is "
        f"{100 * float(known['cycles_sd']) / float(known['cycles']):.0f} %."
    )
    return {
        "networks": table,
        "summary": summary,
        "beyond": "\n".join(beyond_comparison(points, *at) for at in NOT_COMPARED),
        "chance": chance(rows),
    }


def beyond_comparison(points: Points, network: str, load: str) -> str:
    """A load whose accepted load is not compared."""
    theirs, here = booksim()[network, load]["accepted"], points[network, load]["accepted"]
    return (
        f"- `{network}` at {load}: BookSim accepts {theirs}, FabricSim {here:.4f} "
        f"({100 * off(points, 'accepted', network, load):+.1f} %)."
    )


def chance(rows: list[Row]) -> str:
    """The points that run with many seeds: their means over the first seeds and over all."""
    lines = []
    for network, load in CHANCE:
        known = booksim()[network, load]
        cycles = [float(row["cycles"]) for row in select(rows, network=network, load=load)]
        few, all_ = statistics.mean(cycles[:FEW_SEEDS]), statistics.mean(cycles)
        expected = float(known["cycles"])
        lines.append(
            [
                f"`{network}`",
                load,
                known["cycles"],
                known["cycles_sd"],
                f"{few:.2f} ({100 * (few / expected - 1):+.1f} %)",
                f"{all_:.2f} ({100 * (all_ / expected - 1):+.1f} %)",
                f"{statistics.stdev(cycles):.2f}",
            ]
        )
    header = ["network", "load", "BookSim, five seeds", "deviation of a run"]
    header += [f"FabricSim, seeds 1 to {FEW_SEEDS}", f"seeds 1 to {MANY_SEEDS}", "deviation of a run"]
    return markdown(header, lines)


def figures(rows: list[Row], folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    points = means(rows)
    figure, panels = plt.subplots(2, 4, figsize=(16, 8), layout="constrained")
    queues = [name for name in networks("single router") if "voq" in name]
    groups = {
        "single router": [name for name in networks("single router") if name not in queues],
        "single router, a VC for each output": queues,
        **{name: networks(name) for name in list(FAMILIES)[1:]},
    }
    for panel, (title, of) in zip(panels.flat, groups.items(), strict=False):
        for index, network in enumerate(of):
            colour = COLOURS[index % len(COLOURS)]
            shown = [load for load in loads(network) if steady(network, load)]
            x = [float(load) for load in shown]
            here = [points[network, load]["cycles"] for load in shown]
            style = "-" if index < len(COLOURS) else "-."
            panel.plot(x, here, style, color=colour, label=network)
            panel.errorbar(
                x,
                [float(booksim()[network, load]["cycles"]) for load in shown],
                [float(booksim()[network, load]["cycles_sd"]) for load in shown],
                fmt="x",
                color=colour,
                markersize=6,
            )
        low = min(float(booksim()[network, loads(network)[0]]["cycles"]) for network in of)
        top = (7 if title == "single router" else 4) * low
        panel.set(title=title, ylim=(0, top), xlim=(0, None))
        panel.set(xlabel="offered load (flits per host and cycle)", ylabel="mean latency (cycles)")
        panel.grid(color="#DDDDDD")
        panel.legend(fontsize=6, loc="upper left")
    last = panels.flat[-1]
    full = [(network, load) for network in networks() for load in saturated(network)]
    last.errorbar(
        [float(booksim()[at]["accepted"]) for at in full],
        [100 * off(points, "accepted", *at) for at in full],
        [100 * float(booksim()[at]["accepted_sd"]) / float(booksim()[at]["accepted"]) for at in full],
        fmt="o",
        color=COLOURS[0],
        markersize=4,
    )
    last.axhspan(-100 * ACCEPTED, 100 * ACCEPTED, color="#DDDDDD", zorder=0)
    last.set(title="saturation", xlabel="accepted by BookSim", ylabel="difference of the accepted load (%)")
    figure.suptitle("lines: FabricSim; crosses: BookSim 2, its standard deviation")
    figure.savefig(folder / "curves.png", dpi=80)


if __name__ == "__main__":
    Study(HERE, cases, measure, checks, blocks, figures).main()
