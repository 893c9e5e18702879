"""Three applications on a dragonfly under minimal, Valiant and adaptive routing.

Figures 9 to 12 and 14 of Mubarak et al. (TPDS). See README.md; ``studies/study.py`` has the options.
"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from study import (  # noqa: E402
    COLOURS,
    Case,
    Check,
    Row,
    Study,
    at_least,
    at_most,
    markdown,
    number,
    read_table,
    select,
    shown,
    within,
)

SMALL = "hosts_per_router = 4, routers_per_group = 8, global_links_per_router = 4"
LARGE = "hosts_per_router = 8, routers_per_group = 16, global_links_per_router = 8"
LARGEST = "hosts_per_router = 13, routers_per_group = 26, global_links_per_router = 13"
# By scale: network, ranks and volume in MiB of each code. Volumes are a quarter of one of 100 passes of
# Crystal Router, all of AMG and 1/32 of MultiGrid; at the small scale, in proportion to the ranks, half of
# a pass, all and a quarter.
CODES = {
    "large": {
        "Crystal Router": (LARGE, 10_000, 5_242),
        "AMG": (LARGE, 13_824, 10_240),
        "MultiGrid": (LARGEST, 110_592, 326 * 1024 // 32),
    },
    "small": {
        "Crystal Router": (SMALL, 1_000, 1_048),
        "AMG": (SMALL, 1_000, 741),
        "MultiGrid": (SMALL, 1_000, 755),
    },
}
MOTIFS = {
    "Crystal Router": 'motif = "crystal-router", iterations = 1',
    "AMG": 'motif = "amg"',
    "MultiGrid": 'motif = "multigrid"',
}
# Virtual channels: a buffer of 8 KiB for each, of 16 KiB behind a global link.
VCS = {"minimal": 2, "valiant": 4, "ugal": 4, "par": 5, "piggyback": 4}
BASE = ["minimal", "valiant", "ugal", "par"]
ADAPTIVE = ["ugal", "par"]
# The routings of the paper; its adaptive routing decides at the source, as `ugal` does.
PAPER = ["minimal", "valiant", "ugal"]
SMOKE = ["Crystal Router", "AMG"]
PACKET, BIAS = 512, 15_360
SEEDS = [1, 2, 3]
# Sensitivity of one code at the small scale: what changes, and for which routings.
SENSITIVE = "AMG"
# Further runs without bias.
NO_BIAS = [("large", SENSITIVE), ("small", "Crystal Router"), ("small", "MultiGrid")]
VARIANTS: dict[str, tuple[dict[str, object], list[str]]] = {
    "buffer / 2": ({"buffer": 0.5}, BASE),
    "buffer x 4": ({"buffer": 4}, BASE),
    "32 KiB per port, 64 KiB global": ({"port": 32}, ["minimal", "par"]),
    "packet 2 KiB, buffer x 4, bias x 4": ({"packet": 2_048, "buffer": 4, "bias": 4 * BIAS}, BASE),
    "bias 0": ({"bias": 0}, ADAPTIVE),
    "bias / 4": ({"bias": BIAS // 4}, ADAPTIVE),
    "bias / 2": ({"bias": BIAS // 2}, ADAPTIVE),
    "bias x 4": ({"bias": 4 * BIAS}, ADAPTIVE),
    "intermediate group": ({"intermediate": "group"}, BASE[1:]),
    "intermediate global link": ({"intermediate": "global-link"}, BASE[1:]),
    "detours inside groups": ({"local": "ugal"}, BASE[1:]),
    "overhead 1 us": ({"overhead": "1 us"}, BASE),
    "random placement": ({"placement": "random"}, BASE),
    "random placement, bias 0": ({"placement": "random", "bias": 0}, BASE),
    "volume / 4": ({"volume": 0.25}, BASE),
    "volume / 16": ({"volume": 1 / 16}, BASE),
    "volume / 64": ({"volume": 1 / 64}, BASE),
    "volume / 64, bias 0": ({"volume": 1 / 64, "bias": 0}, BASE),
    "piggyback": ({}, ["piggyback"]),
}
CLASSES = ["injection", "local", "global"]


def has_peaks(scale: str, code: str) -> bool:
    """Whether the peaks of buffers are collected, in one bin; the largest network has too many buffers."""
    return (scale, code) != ("large", "MultiGrid")


def experiment(scale: str, code: str, routing: str, seed: int, change: dict[str, object]) -> str:
    topology, ranks, volume = CODES[scale][code]
    volume_kib = round(volume * 1024 * change.get("volume", 1))
    text = f'algorithm = "{routing}"'
    vcs = VCS[routing]
    if routing not in ("minimal", "valiant"):
        text += f', bias = "{change.get("bias", BIAS)} B"'
    if intermediate := change.get("intermediate"):
        text += f', intermediate = "{intermediate}"'
        vcs -= 1
    if "local" in change:
        text += f', local = "{change["local"]}"'
    overhead = change.get("overhead")
    mpi = f'[mpi]\nsend_overhead = "{overhead}"\nreceive_overhead = "{overhead}"\n' if overhead else ""
    buffer = change.get("port", vcs * 8 * change.get("buffer", 1))
    return f"""
[network]
topology = {{ kind = "dragonfly", {topology} }}
routing = {{ {text} }}
link = {{ bandwidth = "5.25 GiB/s", latency = "50 ns" }}
links.global = {{ bandwidth = "4.7 GiB/s", buffer = "{2 * buffer:g} KiB" }}
router = {{ delay = "100 ns", buffer = "{buffer:g} KiB" }}
packet = "{change.get("packet", PACKET)} B"
{mpi}[[job]]
workload = {{ {MOTIFS[code]}, ranks = {ranks}, volume = "{volume_kib} KiB" }}
placement = "{change.get("placement", "linear")}"
compute = "off"
[run]
seed = {seed}
[collect]
series = "{"vcs" if has_peaks(scale, code) else "off"}"
bin = "1 s"
host_latency = true
"""


def case(scale: str, code: str, routing: str, seed: int = 1, variant: str = "base") -> Case:
    change = VARIANTS[variant][0] if variant != "base" else {}
    columns = {"scale": scale, "code": code, "routing": routing, "variant": variant, "seed": seed}
    return Case(columns, experiment(scale, code, routing, seed, change), tables=True)


def cases(smoke: bool) -> list[Case]:
    if smoke:
        return [case("small", code, routing) for code in SMOKE for routing in PAPER]
    found = [case("small", code, routing, seed) for seed in SEEDS for code in MOTIFS for routing in BASE]
    found += [
        case("small", SENSITIVE, routing, variant=variant)
        for variant, (_, routings) in VARIANTS.items()
        for routing in routings
    ]
    found += [case("large", code, routing) for code in reversed(MOTIFS) for routing in BASE]
    return found + [
        case(scale, code, routing, variant="bias 0") for scale, code in NO_BIAS for routing in ADAPTIVE
    ]


def of_hosts(folder: Path) -> dict[str, object]:
    """Mean latency (us) and hops between routers of the packets that each host received."""
    import pyarrow.parquet as pq

    columns = ["packets_received", "latency_sum_ps", "hops_sum"]
    table = pq.read_table(folder / "hosts.parquet", columns=columns)
    packets, latency_ps, hops = (table[column].to_numpy() for column in columns)
    has = packets > 0
    # The two links of hosts are no hops between routers.
    return {
        "latency_us": latency_ps[has] / packets[has] / 1e6,
        "hops": hops[has] / packets[has] - 2,
    }


def of_links(folder: Path) -> dict[str, tuple[object, object]]:
    """Times (us) in which the buffer behind a link was full and in which it was busy, by class."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    links = pq.read_table(folder / "links.parquet", columns=["class", "buffer_full_ps", "busy_ps"])
    found = {}
    for name in CLASSES:
        of = links.filter(pc.equal(links["class"], name))
        found[name] = tuple(of[column].to_numpy() / 1e6 for column in ("buffer_full_ps", "busy_ps"))
    return found


def of_buffers(folder: Path) -> dict[str, float]:
    """Shares of links with a virtual channel that once had no room for a packet, by class."""
    import numpy
    import pyarrow.parquet as pq

    classes = numpy.array(pq.read_table(folder / "links.parquet", columns=["class"])["class"].to_pylist())
    columns = ["link", "used_bytes_max", "capacity_bytes"]
    peaks = pq.read_table(folder / "vc_series.parquet", columns=columns)
    link, used, capacity = (peaks[column].to_numpy() for column in columns)
    full = numpy.zeros(len(classes), bool)
    full[link[used.astype(int) + PACKET > capacity]] = True
    return {name: full[classes == name].mean() for name in CLASSES}


def measure(summary: dict, folder: Path | None) -> dict[str, object]:
    import numpy
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    assert folder is not None
    network, job = summary["network"], summary["jobs"][0]
    latency = of_hosts(folder)["latency_us"]
    ranks = pq.read_table(folder / "ranks.parquet", columns=["mpi_ps"])
    found = {
        "hops": f"{network['mean_hops'] - 2:.3f}",
        "latency_us": f"{network['latency_ns']['mean'] / 1000:.2f}",
        "latency_median_host_us": f"{numpy.median(latency):.2f}",
        "latency_max_host_us": f"{latency.max():.2f}",
        "time_us": f"{job['time_ns'] / 1000:.2f}",
        "mpi_max_us": f"{pc.max(ranks['mpi_ps']).as_py() / 1e6:.2f}",
    }
    for name, (full, busy) in of_links(folder).items():
        found |= {
            f"{name}_full_share": f"{(full > 0).mean():.4f}",
            f"{name}_full_mean_us": f"{full.mean():.3f}",
            f"{name}_full_max_us": f"{full.max():.2f}",
            f"{name}_busy_mean_us": f"{busy.mean():.2f}",
            f"{name}_busy_max_us": f"{busy.max():.2f}",
        }
    # With larger packets the peak has another meaning, but no check uses it.
    series = summary["experiment"]["collect"]["series"]
    peaks = of_buffers(folder) if series == "vcs" else {}
    found |= {f"{name}_vc_full_share": shown(peaks.get(name), ".4f") for name in CLASSES}
    return found | {"packet_hops": network["packet_hops"], "cpu_s": f"{summary['run']['cpu_s']:.1f}"}


# Points of the curves, in per cent of the hosts or links in ascending order.
PERCENT = [*range(0, 96, 5), 98, 99, 99.5, 99.9, 100]


def curves(run: Case, _summary: dict, folder: Path) -> list[dict[str, object]]:
    """Curves over the hosts and links of a large run."""
    import numpy

    if (run.columns["scale"], run.columns["variant"]) != ("large", "base"):
        return []
    values = of_hosts(folder) | {f"{name}_full_us": full for name, (full, _) in of_links(folder).items()}
    points = {name: numpy.percentile(of, PERCENT) for name, of in values.items()}
    named = {name: run.columns[name] for name in ("code", "routing")}
    return [
        named | {"percent": percent} | {name: f"{of[index]:.4g}" for name, of in points.items()}
        for index, percent in enumerate(PERCENT)
    ]


def value(rows: list[Row], column: str, scale: str, code: str, routing: str, **more: object) -> float:
    known = {"variant": "base", "seed": 1} | more
    return number(rows, column, scale=scale, code=code, routing=routing, **known)


def by_routing(rows: list[Row], column: str, scale: str, code: str, **more: object) -> dict[str, float]:
    found = select(rows, scale=scale, code=code, **({"variant": "base", "seed": 1} | more))
    return {row["routing"]: float(row[column]) for row in found}


def latest(rows: list[Row], scale: str, code: str, seed: int = 1) -> dict[str, float]:
    """The longest time of a rank in MPI (us) by routing."""
    return by_routing(rows, "mpi_max_us", scale, code, seed=seed)


def least(of: dict[str, float]) -> str:
    return min(of, key=of.__getitem__)


def claims(rows: list[Row], scale: str, code: str) -> list[tuple[str, str, bool]]:
    """What the paper says about a code: the statement, the measured values, whether it holds here."""
    found = []

    def add(statement: str, column: str, holds: Callable[[float, float, float], bool], form: str) -> None:
        of = by_routing(rows, column, scale, code)
        values = [of[routing] for routing in PAPER]
        found.append((statement, ", ".join(f"{value:{form}}" for value in values), holds(*values)))

    add("hops", "hops", lambda m, v, u: m < u < v, ".2f")
    add("latency", "latency_us", lambda m, v, u: m > max(v, u), ".1f")
    add("slowest", "mpi_max_us", lambda m, v, u: m > max(v, u), ".1f")
    add("fastest", "mpi_max_us", lambda _, v, u: v < u, ".1f")
    if has_peaks(scale, code):
        add("peaks", "local_vc_full_share", lambda m, v, _: m < v, ".3f")
        if code == "MultiGrid":
            add("adaptive peaks", "local_vc_full_share", lambda _, v, u: v < u, ".3f")
    add("full", "local_full_share", lambda m, v, _: m < v, ".3f")
    add("fullest", "local_full_max_us", lambda m, v, _: m > v, ".1f")
    return found


STATEMENTS = {
    "hops": "hops: minimal < UGAL < Valiant",
    "latency": "mean latency (us): minimal highest",
    "slowest": "time (us): minimal highest",
    "fastest": "time (us): Valiant lowest",
    "peaks": "local links that once had a full VC: minimal < Valiant",
    "adaptive peaks": "local links that once had a full VC: Valiant < UGAL",
    "full": "local links on which packets waited for room: minimal < Valiant",
    "fullest": "longest wait for credits on a local link (us): minimal above Valiant",
}
# Statements of the paper that do not hold here: they are reported as open, not checked.
OPEN = {
    ("small", "AMG", "full"),
    ("small", "MultiGrid", "full"),
    ("large", "AMG", "full"),
    ("large", "MultiGrid", "full"),
    ("large", "AMG", "peaks"),
}
# Times (us) of earlier runs at the small scale, in the order of PAPER, with 32 KiB at every port.
EARLIER = {"Crystal Router": [2461, 554, 703], "AMG": [842, 259, 407], "MultiGrid": [875, 282, 438]}


def scales(smoke: bool) -> list[tuple[str, str]]:
    """Scale and code of the base runs."""
    if smoke:
        return [("small", code) for code in SMOKE]
    return [(scale, code) for scale in CODES for code in MOTIFS]


def checks(rows: list[Row], smoke: bool) -> list[Check]:
    found = []
    for scale, code in scales(smoke):
        if smoke and not select(rows, scale=scale, code=code):
            continue
        of = {statement: (measured, holds) for statement, measured, holds in claims(rows, scale, code)}
        found += [
            Check(f"{code}, {scale}: {STATEMENTS[statement]}", *result)
            for statement, result in of.items()
            if (scale, code, statement) not in OPEN
        ]
        if scale == "small":
            times = by_routing(rows, "time_us", scale, code)
            factors = [times[routing] / time for routing, time in zip(PAPER, EARLIER[code], strict=True)]
            text = ", ".join(f"{factor:.2f}" for factor in factors)
            holds = all(0.9 <= factor <= 1.1 for factor in factors)
            found.append(Check(f"{code}, small: times over earlier ones within 10 %", text, holds))
        if code != "Crystal Router":
            busy = value(rows, "global_busy_max_us", scale, code, "minimal")
            share = busy / value(rows, "time_us", scale, code, "minimal")
            found.append(
                within(f"{code}, {scale}: minimal, busiest global link, part of the time", share, 0.9, 1)
            )
    return found if smoke else found + more_checks(rows)


def sensitivity(
    rows: list[Row], variant: str, scale: str = "small", code: str = SENSITIVE
) -> dict[str, float]:
    """Times of the base routings with a change, those that it does not concern as without it."""
    base = latest(rows, scale, code)
    if variant == "base":
        return base
    changed = by_routing(rows, "mpi_max_us", scale, code, variant=variant)
    return base | changed


def changed_checks(rows: list[Row]) -> list[Check]:
    """What the sensitivity shows, as expectations."""
    base = sensitivity(rows, "base")
    no_bias, placed = (sensitivity(rows, variant) for variant in ("bias 0", "random placement"))
    low = sensitivity(rows, "volume / 64")
    less = sensitivity(rows, "buffer / 2")
    # Groups have one link to each other, so a group and a global link of the source's are the same choice.
    group, link = (sensitivity(rows, f"intermediate {name}") for name in ("group", "global link"))
    name = f"{SENSITIVE}, small"
    # At the lowest volume routing hardly matters, and UGAL may be faster.
    loaded = [variant for variant in VARIANTS if not variant.startswith("volume / 64")]
    factors = [times["par"] / times["ugal"] for times in map(partial(sensitivity, rows), loaded)]
    no_biases = [(scale, code, sensitivity(rows, "bias 0", scale, code)) for scale, code in NO_BIAS]
    return [
        *(
            at_most(f"{code}, {scale}, bias 0: PAR over Valiant", times["par"] / times["valiant"], 1.02)
            for scale, code, times in no_biases
        ),
        at_most(f"{name}: PAR over UGAL, largest of all changes but volume / 64", max(factors), 1),
        at_most(f"{name}, bias 0: PAR over Valiant", no_bias["par"] / no_bias["valiant"], 1),
        at_most(f"{name}, random placement: PAR over Valiant", placed["par"] / placed["valiant"], 0.9),
        at_most(f"{name}: minimal, random over linear", placed["minimal"] / base["minimal"], 0.6),
        at_least(f"{name}: Valiant, random over linear", placed["valiant"] / base["valiant"], 1.3),
        at_most(f"{name}, volume / 64: slowest over fastest", max(low.values()) / min(low.values()), 1.02),
        at_least(f"{name}: UGAL, half of the buffer over all", less["ugal"] / base["ugal"], 1.5),
        within(f"{name}: Valiant, half of the buffer over all", less["valiant"] / base["valiant"], 0.9, 1.1),
        within(
            f"{name}: minimal, buffer x 4 over base",
            sensitivity(rows, "buffer x 4")["minimal"] / base["minimal"],
            0.95,
            1.05,
        ),
        Check(
            f"{name}: intermediate group and intermediate global link: same times",
            ", ".join(f"{group[routing]:.2f} {link[routing]:.2f}" for routing in BASE[1:]),
            group == link,
        ),
    ]


def more_checks(rows: list[Row]) -> list[Check]:
    """Expectations beyond the paper, on the full run."""
    found = []
    for scale, code in scales(False):
        hops = by_routing(rows, "hops", scale, code)
        text = ", ".join(f"{hops[routing]:.2f}" for routing in ("minimal", "par", "valiant"))
        holds = hops["minimal"] < hops["par"] < hops["valiant"]
        found.append(Check(f"{code}, {scale}: hops: minimal < PAR < Valiant", text, holds))
        times = latest(rows, scale, code)
        found.append(
            at_most(f"{code}, {scale}: time of PAR over minimal", times["par"] / times["minimal"], 0.9)
        )
    for code in MOTIFS:
        orders = []
        for scale in CODES:
            times = latest(rows, scale, code)
            orders.append(sorted(PAPER, key=times.__getitem__))
        text = "; ".join(", ".join(order) for order in orders)
        holds = orders[0] == orders[1]
        found.append(Check(f"{code}: the same order of times at both scales", text, holds))
        for routing in BASE:
            times = [latest(rows, "small", code, seed)[routing] for seed in SEEDS]
            spread = max(times) / min(times)
            found.append(at_most(f"{code}, small: {routing}, slowest over fastest seed", spread, 1.05))
    return found + changed_checks(rows)


def blocks(rows: list[Row]) -> dict[str, str]:
    lines = []
    for scale, code in scales(False):
        for routing in BASE:
            row = select(rows, scale=scale, code=code, routing=routing, variant="base", seed=1)[0]
            line = [f"{code}, {CODES[scale][code][1]:,}", routing, row["hops"], row["latency_us"]]
            line += [row["latency_max_host_us"], f"{float(row['mpi_max_us']):.1f}"]
            line += [f"{float(row['global_busy_max_us']) / float(row['time_us']):.2f}", row["cpu_s"]]
            lines.append(line)
    header = ["code, ranks", "routing", "hops", "mean latency (us)", "mean latency, worst host (us)"]
    header += ["time (us)", "busiest global link, part of the time", "CPU time (s)"]
    links = []
    for scale, code in scales(False):
        for routing in BASE:
            row = select(rows, scale=scale, code=code, routing=routing, variant="base", seed=1)[0]
            line = [f"{code}, {CODES[scale][code][1]:,}", routing]
            for name in ("local", "global"):
                peak = row[f"{name}_vc_full_share"]
                line += [f"{float(peak):.3f}" if peak else "-", f"{float(row[f'{name}_full_share']):.3f}"]
                line.append(f"{float(row[f'{name}_full_max_us']):.1f}")
            line.append(f"{float(row['injection_full_mean_us']):.1f}")
            links.append(line)
    columns = ["once a full VC", "packets waited", "longest wait (us)"]
    links_header = ["code, ranks", "routing"]
    links_header += [f"{name}: {column}" for name in ("local", "global") for column in columns]
    links_header.append("injection: mean wait (us)")
    paper = []
    for code in MOTIFS:
        found = {
            scale: {statement: rest for statement, *rest in claims(rows, scale, code)} for scale in CODES
        }
        for statement in found["small"]:
            line = [code, STATEMENTS[statement]]
            for scale in reversed(CODES):
                measured, holds = found[scale].get(statement, ("not measured", None))
                line += [measured, {True: "yes", False: "**open**", None: "-"}[holds]]
            paper.append(line)
    paper_header = ["code", "statement", "small: minimal, Valiant, UGAL", "holds"]
    paper_header += ["large: minimal, Valiant, UGAL", "holds"]
    seeds = [
        [code, routing, *(f"{latest(rows, 'small', code, seed)[routing]:.1f}" for seed in SEEDS)]
        for code in MOTIFS
        for routing in BASE
    ]
    changes = []
    for variant in ["base", *VARIANTS]:
        times = sensitivity(rows, variant)
        named = ["base", *BASE] if variant == "base" else [variant, *VARIANTS[variant][1]]
        line = [f"{times[routing]:.1f}" if routing in named else "same" for routing in BASE]
        if variant == "piggyback":
            line[-1] += f"; piggyback {times['piggyback']:.1f}"
        first, second = sorted(times, key=times.__getitem__)[:2]
        changes.append([variant, *line, first, f"{times[second] / times[first]:.2f} ({second})"])
    for scale, code in NO_BIAS:
        for variant in ("base", "bias 0"):
            times = sensitivity(rows, variant, scale, code)
            first, second = sorted(times, key=times.__getitem__)[:2]
            line = [f"{times[routing]:.1f}" for routing in BASE]
            ratio = f"{times[second] / times[first]:.2f} ({second})"
            changes.append([f"{code}, {scale}: {variant}", *line, first, ratio])
    shares = []
    for variant in ["base", "volume / 4", "volume / 16", "volume / 64"]:
        of = by_routing(rows, "local_vc_full_share", "small", SENSITIVE, variant=variant)
        shares.append([variant, *(f"{of[routing]:.3f}" for routing in BASE)])
    return {
        "table": markdown(header, lines),
        "shares": markdown(["local links that once had a full VC", *BASE], shares),
        "links": markdown(links_header, links),
        "paper": markdown(paper_header, paper),
        "seeds": markdown(["time (us)", "routing", *(f"seed {seed}" for seed in SEEDS)], seeds),
        "sensitivity": markdown(["change", *BASE, "lowest time", "second over lowest"], changes),
    }


def figures(rows: list[Row], folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator

    points = read_table(folder, "curves")
    figure, panels = plt.subplots(3, 3, figsize=(13, 10), layout="constrained")
    labels = {"latency_us": "mean packet latency (us)", "hops": "mean hops between routers"}
    for code, line in zip(MOTIFS, panels, strict=True):
        for panel, (column, label) in zip(line, labels.items(), strict=False):
            for routing, colour in zip(BASE, COLOURS, strict=False):
                of = select(points, code=code, routing=routing)
                values = [float(row[column]) for row in of]
                panel.plot([float(row["percent"]) for row in of], values, color=colour, label=routing)
            panel.set(title=code, xlabel="hosts in ascending order (%)", ylabel=label)
            if column == "hops":
                panel.set_ylim(bottom=0)
            else:
                panel.set_yscale("log")
                panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                panel.yaxis.set_major_formatter("{x:g}")
                panel.yaxis.set_minor_formatter("")
            panel.grid(color="#DDDDDD")
            panel.legend(fontsize=8)
        times = latest(rows, "large", code)
        line[2].bar(BASE, [times[routing] for routing in BASE], color=COLOURS[: len(BASE)])
        line[2].set(title=code, ylabel="longest time of a rank in MPI (us)")
        line[2].grid(color="#DDDDDD", axis="y")
        line[2].set_axisbelow(True)
    figure.savefig(folder / "applications.png", dpi=90)
    plt.close(figure)

    figure, panels = plt.subplots(3, 3, figsize=(13, 10), layout="constrained")
    for code, line in zip(MOTIFS, panels, strict=True):
        for panel, name in zip(line, CLASSES, strict=True):
            for routing, colour in zip(BASE, COLOURS, strict=False):
                of = select(points, code=code, routing=routing)
                waits = [float(row[f"{name}_full_us"]) for row in of]
                panel.plot(waits, [float(row["percent"]) for row in of], color=colour, label=routing)
            panel.set_xscale("symlog", linthresh=1)
            panel.set(
                title=f"{code}, {name} links",
                xlabel="time in which packets waited for room (us)",
                ylabel="links with at most this time (%)",
                xlim=(0, None),
                ylim=(95 if name == "global" else 0, 100.3),
            )
            panel.grid(color="#DDDDDD")
            panel.legend(fontsize=8)
    figure.savefig(folder / "links.png", dpi=90)


if __name__ == "__main__":
    Study(
        HERE,
        cases,
        measure,
        checks,
        blocks,
        figures,
        {"curves": curves},
        in_part=lambda case: case.columns["code"] == SMOKE[0],
    ).main()
