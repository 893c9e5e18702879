"""The router models on the same work: from which load on they differ, and what they cost.

See README.md; ``studies/study.py`` has the options.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from study import (  # noqa: E402
    COLOURS,
    OTHER,
    Case,
    Check,
    Row,
    Study,
    at_least,
    at_most,
    markdown,
    select,
    shown,
    within,
)

# The ladder from coarse to fine, and kinds of `crossbar` beside it.
LADDER = {
    "analytic": 'model = "analytic"',
    "output-queued": 'model = "output-queued"',
    "packet": 'model = "packet"',
    "input-queued": 'model = "input-queued", speedup = 1.5',
    "crossbar": 'model = "crossbar", arbiter = "round-robin", speedup = 1.5',
    "flit": 'model = "flit", speedup = 1.5',
}
BESIDE = {
    "least-recently-used": 'model = "crossbar", arbiter = "least-recently-used", speedup = 1.5',
    "first-come": 'model = "crossbar", arbiter = "first-come", speedup = 1.5',
    "stored": ('model = "crossbar", arbiter = "first-come", speedup = 1.5, switching = "store-and-forward"'),
}
MODELS = LADDER | BESIDE
# An arbiter that starves inputs, in saturation only.
ROTATING = {"rotating": 'model = "crossbar", arbiter = "rotating", speedup = 1.5'}
PAIRS = list(zip(LADDER, list(LADDER)[1:], strict=False))
# Hosts, topology, routing, worst pattern with its loads.
NETWORKS = {
    "dragonfly": (
        72,
        'kind = "dragonfly", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2',
        "minimal",
        "adversarial",
        [0.02, 0.04, 0.06, 0.08, 0.1, 0.11, 0.12, 0.15, 0.25, 0.5],
    ),
    "fat tree": (
        128,
        'kind = "fat-tree", radix = 16, levels = 2',
        "destination-mod-k",
        "bit-reverse",
        [0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.13, 0.14, 0.16, 0.25, 0.5],
    ),
    "HyperX": (
        64,
        'kind = "hyperx", shape = [4, 4], hosts_per_router = 4',
        "dimension-order",
        "adversarial",
        [0.04, 0.08, 0.12, 0.16, 0.2, 0.22, 0.24, 0.28, 0.4, 0.5],
    ),
}
LOADS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
# Load of the link of the target of an incast, by all senders together, and load of the other hosts.
INCASTS = [0.5, 0.9, 4.0]
BESIDE_INCAST = 0.3
SEEDS = [1, 2, 3]
# The loads that further seeds run, of uniform and worst traffic.
SEEDED = {
    "dragonfly": {"uniform": 0.7, "worst": 0.1},
    "fat tree": {"uniform": 0.7, "worst": 0.12},
    "HyperX": {"uniform": 0.7, "worst": 0.2},
}
SPAN = (20, 80)
BITS_PER_NS = 100
# Accepted over offered, below which latency depends on the length of the run.
SATURATED = 0.97
LIMITS = [2, 5, 10]
# A flit of 16 B in a crossbar of 150 Gbps; a packet of 1 KiB on a link and in such a crossbar.
CYCLE_NS = 16 * 8 / 150
STORED_NS = 1024 * 8 / 100 + 1024 * 8 / 150
# The loads in the README.
SHOWN = {
    "uniform": [0.1, 0.3, 0.5, 0.7, 0.9],
    "dragonfly": [0.02, 0.08, 0.1, 0.12, 0.5],
    "fat tree": [0.02, 0.1, 0.12, 0.14, 0.5],
    "HyperX": [0.04, 0.16, 0.2, 0.24, 0.5],
}


def traffic(network: str, work: str, load: float) -> str:
    hosts, _, _, worst, _ = NETWORKS[network]
    if work == "halo3d-26":
        return (
            '[[job]]\nworkload = { motif = "halo3d-26", ranks = 64, nx = 32, ny = 32, nz = 32, vars = 4, '
            "iterations = 2 }"
        )
    if work == "incast":
        even, odd = (",".join(str(host) for host in range(first, hosts, 2)) for first in (0, 1))
        each = round(load / (hosts // 2 - 1), 9)
        return f"""\
[[job]]
name = "incast"
traffic = {{ pattern = "incast", targets = 1, load = {each}, message = "1 KiB" }}
placement = {{ hostlist = "h[{even}]" }}
[[job]]
name = "others"
traffic = {{ pattern = "uniform", load = {BESIDE_INCAST}, message = "1 KiB" }}
placement = {{ hostlist = "h[{odd}]" }}"""
    pattern = worst if work == "worst" else work
    return f'[[job]]\ntraffic = {{ pattern = "{pattern}", load = {load}, message = "1 KiB" }}'


def experiment(
    network: str, work: str, load: float, model: str, seed: int, span: tuple[int, int] = SPAN
) -> str:
    _, topology, routing, _, _ = NETWORKS[network]
    times = "" if work == "halo3d-26" else f'warmup = "{span[0]} us"\nuntil = "{sum(span)} us"'
    return f"""
[network]
topology = {{ {topology} }}
routing = {{ algorithm = "{routing}" }}
link = {{ bandwidth = "100 Gbps", latency = "50 ns" }}
router = {{ {(MODELS | ROTATING)[model]}, delay = "100 ns", buffer = "32 KiB" }}
packet = "1 KiB"
{traffic(network, work, load)}
[run]
{times}
executor = "sequential"
seed = {seed}
[collect]
series = "off"
"""


def case(
    network: str, work: str, load: float, model: str, seed: int = 1, span: tuple[int, int] = SPAN
) -> Case:
    columns = {"network": network, "work": work, "load": load, "model": model, "seed": seed}
    return Case(columns, experiment(network, work, load, model, seed, span))


def loads(network: str, work: str) -> list[float]:
    return LOADS if work == "uniform" else NETWORKS[network][4]


def cases(smoke: bool) -> list[Case]:
    if smoke:
        return [
            case("dragonfly", work, load, model, span=(5, 15))
            for work, load in (("uniform", 0.1), ("worst", 0.15))
            for model in ("analytic", "packet", "crossbar")
        ]
    found = [
        case(network, work, load, model)
        for network in NETWORKS
        for work in ("uniform", "worst")
        for load in loads(network, work)
        for model in MODELS
    ]
    found += [case(network, "worst", loads(network, "worst")[-1], "rotating") for network in NETWORKS]
    found += [
        case(network, "incast", load, model) for network in NETWORKS for load in INCASTS for model in MODELS
    ]
    found += [case(network, "halo3d-26", "", model) for network in NETWORKS for model in MODELS]
    found += [
        case(network, work, SEEDED[network][work], model, seed)
        for network in NETWORKS
        for work in ("uniform", "worst")
        for seed in SEEDS[1:]
        for model in LADDER
    ]
    return found


def least_share(traffic: dict) -> str:
    fairness = traffic["fairness"]
    return f"{fairness['least_share'] / fairness['mean_share']:.4f}"


def measure(summary: dict, _folder: Path | None) -> dict[str, object]:
    network, run, jobs = summary["network"], summary["run"], summary["jobs"]
    found = {"offered": "", "accepted": "", "latency_ns": "", "others": "", "time_us": "", "limit": ""}
    found["routers"] = shown(network["mean_hops"] and network["mean_hops"] - 1, ".4f")
    # The share of what it offers that the worst host sends, over the mean of the hosts.
    found["least_share"] = ""
    if jobs[0]["name"] == "incast":
        first, others = (job["traffic"] for job in jobs)
        # Of the link of the target.
        bits = BITS_PER_NS * network["measured_ns"]
        found |= {
            "offered": f"{8 * first['offered_bytes'] / bits:.4f}",
            "accepted": f"{8 * first['accepted_bytes'] / bits:.4f}",
            "latency_ns": shown(jobs[1]["latency_ns"]["mean"], ".1f"),
            "others": f"{others['accepted_load'] / others['offered_load']:.4f}",
            "least_share": least_share(others),
        }
    elif jobs[0]["kind"] == "traffic":
        limit = summary["bounds"]["jobs"][0]["throughput"]
        found |= {
            "offered": f"{network['offered_load']:.5f}",
            "accepted": f"{network['accepted_load']:.5f}",
            "latency_ns": shown(network["latency_ns"]["mean"], ".1f"),
            "limit": shown(limit, ".4f"),
            "least_share": least_share(jobs[0]["traffic"]),
        }
    else:
        found |= {"time_us": f"{jobs[0]['time_ns'] / 1000:.3f}"}
    return found | {
        "events": run["events_committed"],
        "packet_hops": network["packet_hops"],
        "cpu_s": f"{run['cpu_s']:.3f}",
    }


def row(
    rows: list[Row], network: str, work: str, load: float | str, model: str, seed: int = 1
) -> dict[str, float]:
    """The numbers of a case."""
    keys = {"network": network, "work": work, "load": load, "model": model, "seed": seed}
    (found,) = select(rows, **keys)
    texts = {name: text for name, text in found.items() if text and name not in ("network", "work", "model")}
    numbers = {name: float(text) for name, text in texts.items()}
    if "offered" in numbers:
        numbers["share"] = numbers["accepted"] / numbers["offered"]
    return numbers


def apart(
    rows: list[Row], network: str, work: str, load: float, pair: tuple[str, str], seed: int = 1
) -> float:
    """By how much the coarser model of a pair is off the finer one, in percent.

    It is the mean latency, or the accepted load if one of them is saturated.
    """
    coarse, fine = (row(rows, network, work, load, model, seed) for model in pair)
    is_saturated = min(coarse["share"], fine["share"]) < SATURATED
    column = "accepted" if is_saturated else "latency_ns"
    return 100 * (coarse[column] / fine[column] - 1)


def least_load(rows: list[Row], network: str, work: str, pair: tuple[str, str], limit: float) -> float | None:
    """The least load at which the models of a pair differ by more than the limit."""
    for load in loads(network, work):
        if abs(apart(rows, network, work, load, pair)) > limit:
            return load
    return None


def below(rows: list[Row], network: str, work: str) -> list[float]:
    """The loads at which no model is saturated."""
    return [
        load
        for load in loads(network, work)
        if min(row(rows, network, work, load, model)["share"] for model in MODELS) >= SATURATED
    ]


def extra(rows: list[Row], network: str, load: float, fine: str, coarse: str) -> float:
    """How much longer a packet of uniform traffic takes for each router with the first model, in ns."""
    values = [row(rows, network, "uniform", load, model) for model in (fine, coarse)]
    return (values[0]["latency_ns"] - values[1]["latency_ns"]) / values[1]["routers"]


def cycles(rows: list[Row], network: str, load: float) -> float:
    """The extra time of crossbar over packet for each router, in cycles of a flit."""
    return extra(rows, network, load, "crossbar", "packet") / CYCLE_NS


def checks(rows: list[Row], smoke: bool) -> list[Check]:
    if smoke:
        low, high = (
            {model: row(rows, "dragonfly", work, load, model) for model in ("analytic", "packet", "crossbar")}
            for work, load in (("uniform", 0.1), ("worst", 0.15))
        )
        return [
            within(
                "dragonfly, uniform, load 0.1: crossbar over packet, in cycles for each router",
                cycles(rows, "dragonfly", 0.1),
                1,
                3,
            ),
            at_most(
                "dragonfly, uniform, load 0.1: latency of analytic over packet",
                low["analytic"]["latency_ns"] / low["packet"]["latency_ns"],
                1,
            ),
            at_most(
                "dragonfly, worst pattern: latency of analytic at load 0.15 over that at uniform 0.1",
                high["analytic"]["latency_ns"] / low["analytic"]["latency_ns"],
                1.15,
            ),
            at_most("dragonfly, worst pattern, load 0.15: packet accepts", high["packet"]["share"], 0.9),
        ]
    found = []
    every = [
        (network, work, load)
        for network in NETWORKS
        for work in ("uniform", "worst")
        for load in loads(network, work)
    ]

    def ratios(coarse: str, fine: str, column: str, places: list[tuple]) -> list[float]:
        return [row(rows, *at, coarse)[column] / row(rows, *at, fine)[column] for at in places]

    unsaturated = [
        (network, work, load)
        for network in NETWORKS
        for work in ("uniform", "worst")
        for load in below(rows, network, work)
    ]
    for coarse, fine in PAIRS:
        least = min(ratios(coarse, fine, "accepted", unsaturated))
        found.append(
            at_least(f"below saturation, accepted load of {coarse} over {fine}: the least", least, 0.99)
        )
    full = [(network, "worst", loads(network, "worst")[-1]) for network in NETWORKS]
    for model, low in (("output-queued", 0.95), *((model, 0.99) for model in list(LADDER)[2:])):
        # Hosts that would send to themselves are silent.
        shares = [
            of["accepted"] / (of["limit"] * of["offered"] / at[2])
            for at in full
            for of in [row(rows, *at, model)]
        ]
        statement = f"worst pattern, greatest load: {model} accepts, over the limit of the first full link"
        found += [at_least(f"{statement}, the least", min(shares), low)]
        found += [at_most(f"{statement}, the greatest", max(shares), 1.02)]
    found.append(
        at_most(
            "latency of analytic over packet, the greatest of all loads",
            max(ratios("analytic", "packet", "latency_ns", every)),
            1,
        )
    )
    found.append(
        at_least(
            "latency of input-queued over packet, below saturation: the least",
            min(ratios("input-queued", "packet", "latency_ns", unsaturated)),
            0.995,
        )
    )
    off = [abs(apart(rows, *at, ("output-queued", "packet"))) for at in unsaturated]
    found.append(at_most("below saturation, output-queued and packet differ by (%)", max(off), 0.5))
    for network in NETWORKS:
        off = [abs(apart(rows, network, "uniform", 0.1, pair)) for pair in PAIRS[1:]]
        found.append(
            at_most(f"{network}, uniform, load 0.1: models from output-queued on differ by (%)", max(off), 2)
        )
        statement = f"{network}, uniform, load 0.1: crossbar over packet, in cycles for each router"
        found.append(within(statement, cycles(rows, network, 0.1), 1, 3))
        statement = f"{network}, uniform, load 0.1: stored over first-come, over the closed form"
        found.append(
            within(statement, extra(rows, network, 0.1, "stored", "first-come") / STORED_NS, 0.98, 1.02)
        )
        saturated = next(
            load
            for load in loads(network, "worst")
            if row(rows, network, "worst", load, "packet")["share"] < 0.9
        )
        least = loads(network, "worst")[0]
        flat = [row(rows, network, "worst", load, "analytic")["latency_ns"] for load in (least, saturated)]
        found.append(
            at_most(
                f"{network}, worst pattern: analytic latency where packet is saturated, over the least load",
                flat[1] / flat[0],
                1.1,
            )
        )
    for network in ("dragonfly", "HyperX"):
        others = {model: row(rows, network, "incast", 4.0, model)["others"] for model in LADDER}
        statement = f"{network}, incast of load 4: other hosts are served by"
        found.append(at_least(f"{statement} output-queued", others["output-queued"], 0.97))
        found.append(at_most(f"{statement} packet", others["packet"], 0.8))
    times = {model: row(rows, "dragonfly", "halo3d-26", "", model)["time_us"] for model in LADDER}
    least = min(time for model, time in times.items() if model != "analytic")
    found.append(
        at_most(
            "dragonfly, halo3d-26: time of analytic over the least of the others",
            times["analytic"] / least,
            0.9,
        )
    )
    for network in ("fat tree", "HyperX"):
        least = {model: row(rows, network, "worst", 0.5, model)["least_share"] for model in MODELS | ROTATING}
        statement = f"{network}, worst pattern, load 0.5: worst host over the mean"
        found.append(
            at_least(f"{statement}, of crossbar over packet", least["crossbar"] / least["packet"], 0.95)
        )
        found.append(
            at_most(f"{statement}, of rotating over crossbar", least["rotating"] / least["crossbar"], 0.6)
        )
    # The dragonfly has several VCs.
    least = {model: row(rows, "dragonfly", "worst", 0.5, model)["least_share"] for model in MODELS | ROTATING}
    statement = "dragonfly, worst pattern, load 0.5: worst host over the mean"
    found.append(
        at_least(f"{statement}, of crossbar over input-queued", least["crossbar"] / least["input-queued"], 2)
    )
    found.append(
        at_most(f"{statement}, of rotating over crossbar", least["rotating"] / least["crossbar"], 0.1)
    )
    spread = []
    for network in NETWORKS:
        for work, load in SEEDED[network].items():
            for pair in PAIRS:
                of = [apart(rows, network, work, load, pair, seed) for seed in SEEDS]
                spread.append(max(of) - min(of))
    found.append(
        at_most("differences of two models between seeds (percentage points)", max(spread), 5, ".1f")
    )
    return found


NAMES = {"uniform": "uniform", "worst": "worst pattern"}


def cell(values: dict[str, float]) -> str:
    if values["share"] < SATURATED:
        return f"accepts {values['share']:.2f}"
    return f"{values['latency_ns'] / 1000:.3f}"


def span(values: list[float]) -> str:
    low, high = (f"{round(value, 1) + 0:+.1f}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def blocks(rows: list[Row]) -> dict[str, str]:
    lines = []
    for network in NETWORKS:
        for work in ("uniform", "worst"):
            for load in SHOWN[network] if work == "worst" else SHOWN["uniform"]:
                values = [cell(row(rows, network, work, load, model)) for model in MODELS]
                lines.append([network, NAMES[work], str(load), *values])
    latency = markdown(["network", "traffic", "load", *MODELS], lines)

    lines = []
    for network in NETWORKS:
        for load in INCASTS[1:]:
            of = [row(rows, network, "incast", load, model) for model in MODELS]
            lines.append([network, str(load), "accepted", *(f"{one['others']:.2f}" for one in of)])
            times = [f"{one['latency_ns'] / 1000:.3f}" for one in of]
            lines.append([network, str(load), "latency (us)", *times])
    incast = markdown(["network", "load of the target", "other hosts", *MODELS], lines)

    lines = [
        [network, *(f"{row(rows, network, 'halo3d-26', '', model)['time_us']:.1f}" for model in MODELS)]
        for network in NETWORKS
    ]
    motif = markdown(["time of halo3d-26 (us)", *MODELS], lines)

    def cost(model: str, work: str, column: str) -> float:
        of = select(rows, work=work, model=model, seed=1)
        return sum(float(one[column]) for one in of)

    lines = []
    for model in MODELS:
        line = [model]
        for work in ("uniform", "halo3d-26"):
            line.append(f"{cost(model, work, 'events') / cost(model, work, 'packet_hops'):.2f}")
        ratio = cost(model, "uniform", "cpu_s") / cost("packet", "uniform", "cpu_s")
        line.append(f"{float(f'{ratio:.1g}'):g}")
        lines.append(line)
    costs = markdown(
        ["model", "events per packet-hop, uniform", "halo3d-26", "CPU time over packet, uniform"], lines
    )

    lines = []
    for network in NETWORKS:
        for work in ("uniform", "worst"):
            for pair in PAIRS:
                found = [least_load(rows, network, work, pair, limit) for limit in LIMITS]
                line = ["" if load is None else str(load) for load in found]
                lines.append([network, NAMES[work], f"{pair[0]} and {pair[1]}", *line])
    differ = markdown(["network", "traffic", "models", *(f"{limit} %" for limit in LIMITS)], lines)

    lines = []
    for pair in PAIRS:
        line = [f"{pair[0]} over {pair[1]}"]
        line += [
            span([apart(rows, network, "uniform", load, pair) for network in NETWORKS])
            for load in (0.1, 0.3, 0.5, 0.7, 0.9)
        ]
        last = {network: below(rows, network, "worst")[-1] for network in NETWORKS}
        line.append(span([apart(rows, network, "worst", load, pair) for network, load in last.items()]))
        line.append(
            span([apart(rows, network, "worst", loads(network, "worst")[-1], pair) for network in NETWORKS])
        )
        lines.append(line)
    uniform = [f"uniform, {load}" for load in (0.1, 0.3, 0.5, 0.7, 0.9)]
    worst = ["worst, last load below saturation", "worst, greatest load (accepted)"]
    off = markdown(["difference (%)", *uniform, *worst], lines)

    lines = []
    for network in NETWORKS:
        load = loads(network, "worst")[-1]
        of = [row(rows, network, "worst", load, model)["least_share"] for model in MODELS | ROTATING]
        lines.append([network, *(f"{value:.2f}" for value in of)])
    fairness = markdown(["worst host over the mean", *MODELS, *ROTATING], lines)

    lines = []
    for network in NETWORKS:
        for work in ("uniform", "worst"):
            load = SEEDED[network][work]
            for pair in PAIRS:
                of = [apart(rows, network, work, load, pair, seed) for seed in SEEDS]
                names = [network, f"{NAMES[work]}, {load}", f"{pair[0]} over {pair[1]}"]
                lines.append([*names, *(f"{round(value, 1) + 0:+.1f}" for value in of)])
    seeds = markdown(
        ["network", "traffic, load", "difference (%)", *(f"seed {seed}" for seed in SEEDS)], lines
    )
    return {
        "differ": differ,
        "off": off,
        "costs": costs,
        "latency": latency,
        "incast": incast,
        "motif": motif,
        "fairness": fairness,
        "conclusions": conclusions(rows),
        "seeds": seeds,
    }


def conclusions(rows: list[Row]) -> str:
    def incast(network: str, model: str) -> str:
        return f"{row(rows, network, 'incast', 4.0, model)['others']:.2f}"

    def time(network: str, model: str) -> str:
        return f"{row(rows, network, 'halo3d-26', '', model)['time_us']:.1f}"

    def least(model: str, network: str = "dragonfly") -> str:
        return f"{row(rows, network, 'worst', 0.5, model)['least_share']:.2f}"

    queued = row(rows, "dragonfly", "worst", 0.5, "output-queued")["accepted"]
    packet = row(rows, "dragonfly", "worst", 0.5, "packet")["accepted"]
    return f"""\
- **Contention for links.** `analytic` does not see the worst pattern: its latency stays flat where all \
other models are saturated. halo3d-26 on the dragonfly takes {time("dragonfly", "analytic")} us with it, \
{time("dragonfly", "packet")} us with `packet`.
- **Credits.** `output-queued` and `packet` give equal latencies at each load below saturation: buffers of \
32 KiB do not fill. Incast beyond the rate of its target needs credits: other hosts of the dragonfly are \
served to {incast("dragonfly", "output-queued")} with `output-queued`, to {incast("dragonfly", "packet")} \
with `packet`.
- **Crossbar.** Head-of-line blocking and a crossbar cost latency under uniform traffic from half load on. \
Where one link is the limit (worst pattern), `packet`, `input-queued` and `crossbar` accept the same.
- **`crossbar` lies between `packet` and `input-queued`** under uniform traffic, at half load and above. A \
packet of `input-queued` holds its input and output until its tail has arrived, one of `crossbar` for the \
cycles of its flits. At low load `crossbar` is later by its cycles.
- **`flit` is the latest of the ladder below saturation**, with one virtual channel for each that routing \
needs, which a packet holds at an output until its tail has left. Where one link is the limit, it accepts \
what `crossbar` does. Its CPU time grows with flits: a packet of 1 KiB has 64 here.
- **`output-queued` is no bound in saturation.** On the dragonfly at a load of 0.5 it accepts {queued:.4f} \
of the worst pattern, `packet` {packet:.4f}. Queues without bound let packets that wait for a full global \
link fill local links before it, which packets from other groups need. Credits hold these packets back.
- **The arbiter decides which hosts are served in saturation.** The worst host of the dragonfly gets \
{least("crossbar")} of the mean with `crossbar` and `round-robin`, {least("least-recently-used")} with \
`least-recently-used`, {least("packet")} with `packet`. It is at a router whose local link carries packets \
of its hosts, and in another VC packets from another group. At the next router, the input of that link \
passes one packet at a time, of any VC. While a packet from another group crosses, the packets of the \
hosts lose their turn. `least-recently-used` serves them first afterwards, `round-robin` in the next \
round. Both hosts of such a router get the same share.
- **`input-queued` is less fair where an output has several VCs.** Its `round-robin` has one turn for each \
output, and `crossbar` one for each output and VC. The worst host of the dragonfly gets \
{least("input-queued")} of the mean. It is the second host of such a router. Each packet from another \
group moves the turn of the output back to the first host, while the second host waits for credits. On the \
fat tree and the HyperX, which have one VC, both models serve the worst host as `packet` does.
- **`rotating` starves hosts**: the worst host gets {least("rotating")} of the mean on the dragonfly, \
{least("rotating", "fat tree")} on the fat tree and {least("rotating", "HyperX")} on the HyperX. The input \
that is asked first follows the clock, whichever input has sent last.
- **Incast does not disturb the fat tree**: `destination-mod-k` gives packets to the target links that \
packets to other hosts of odd numbers do not take."""


def figures(rows: list[Row], folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, len(NETWORKS), figsize=(12, 7.2), sharey=True, layout="constrained")
    colours = [OTHER, COLOURS[4], *COLOURS[:3], COLOURS[5]]
    styles = dict(zip(LADDER, zip(colours, "xs^ovP", strict=True), strict=True))
    styles["stored"] = (COLOURS[3], "d")
    for across, network in enumerate(NETWORKS):
        for down, work in enumerate(NAMES):
            panel = panels[down][across]
            for model, (colour, marker) in styles.items():
                points = []
                for load in loads(network, work):
                    values = row(rows, network, work, load, model)
                    if values["share"] < SATURATED:
                        break
                    points.append((load, values["latency_ns"] / 1000))
                dashes = "--" if model in BESIDE else "-"
                panel.plot(
                    *zip(*points, strict=True),
                    marker + dashes,
                    color=colour,
                    label=model,
                    markersize=5,
                    # The lines of these two are the same nearly everywhere.
                    linewidth=5 if model == "output-queued" else 1.5,
                    alpha=0.5 if model == "output-queued" else 1,
                    markerfacecolor="none",
                )
            panel.set(title=f"{network}, {NAMES[work]}", yscale="log", ylim=(0.45, 3.2))
            panel.minorticks_off()
            panel.set_yticks([0.5, 0.7, 1, 1.5, 2, 3], ["0.5", "0.7", "1", "1.5", "2", "3"])
            panel.set_xlim(0, 0.95 if work == "uniform" else 0.52)
            panel.grid(color="#DDDDDD")
    for panel in panels[-1]:
        panel.set_xlabel("offered load (of the injection bandwidth)")
    for line in panels:
        line[0].set_ylabel("mean latency (us)")
    panels[1][0].legend(loc="upper right")
    figure.savefig(folder / "latency.png", dpi=100)


if __name__ == "__main__":
    Study(HERE, cases, measure, checks, blocks, figures).main()
