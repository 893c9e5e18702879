"""Twelve networks, three codes, up to three bandwidths, two placements and three sets of routings.

After the milestone report of the Exascale Computing Project on network topologies. See README.md;
``studies/study.py`` has the options.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from networks import (  # noqa: E402
    ADAPTIVE,
    BANDWIDTHS,
    CODES,
    GLOBAL,
    LATE,
    MERLIN,
    MINIMAL,
    MINIMAL_ADAPTIVE,
    PAPER_CODES,
    PLACEMENTS,
    ROUTINGS,
    SIZES,
    SMALL_HALO,
    TOPOLOGIES,
    bandwidths,
    experiment,
)
from study import (  # noqa: E402
    Case,
    Check,
    Row,
    Study,
    at_least,
    at_most,
    markdown,
    number,
    topology_colour,
)

QUARTER = {"bias": "30720 B", "par_bias": "8 KiB"}
SMALL = "buffer 64 KB with bias / 4"
VARIANTS = {
    "seed 2": {"seed": 2},
    "seed 3": {"seed": 3},
    "packet 1 KiB": {"packet": "1 KiB"},
    "bias / 4": QUARTER,
    # A bias that fits the smaller buffer, so that the difference to the variant before is that of the buffer.
    SMALL: {"buffer": "64 KB"} | QUARTER,
    "overhead 500 ns": {"overhead": "500 ns"},
}
SEEDS = ("seed 2", "seed 3")
# Codes that have these seeds beside the halo, with random placement.
SEEDED = ["sweep", "all-to-all"]
RAILS = {
    "2 rails per packet": 'rails = 2\nplanes = 2\nrail_per = "packet"',
    "2 rails per message": 'rails = 2\nplanes = 2\nrail_per = "message"',
}


def case(
    routing: str,
    topology: str,
    size: str,
    bandwidth: int,
    placement: str,
    code: str,
    variant: str = "base",
) -> Case:
    columns = {
        "routing": routing,
        "topology": topology,
        "size": size,
        "gbps": bandwidth,
        "placement": placement,
        "code": code,
        "variant": variant,
    }
    codes = {"the report's size": PAPER_CODES, "small": {"halo": SMALL_HALO}}.get(variant, CODES)
    text = experiment(
        topology,
        size,
        bandwidth,
        ROUTINGS[routing][topology],
        codes[code],
        placement,
        RAILS.get(variant, ""),
        **VARIANTS.get(variant, {}),
    )
    # Two runs at a time on two cores: each takes the least CPU time on one thread.
    return Case(columns, text, ("--threads", "1"))


def cases(smoke: bool) -> list[Case]:
    if smoke:
        networks = ("fat tree", "dragonfly")
        return [case(ADAPTIVE, topology, "8K", 200, "linear", "halo", "small") for topology in networks]
    found = [
        case(ADAPTIVE, topology, size, bandwidth, placement, code)
        for code in CODES
        for topology in TOPOLOGIES
        for size in SIZES
        for bandwidth in bandwidths(code, size)
        for placement in PLACEMENTS
    ]
    found += [
        case(MINIMAL, topology, size, 200, placement, code)
        for code in ("halo", "all-to-all")
        for topology in TOPOLOGIES
        for size in SIZES
        for placement in PLACEMENTS
    ]
    found += [
        case(routing, topology, "8K", 200, placement, code)
        for routing in (MERLIN, MINIMAL_ADAPTIVE, GLOBAL, LATE)
        for code in ("halo", "all-to-all")
        for topology in ROUTINGS[routing]
        for placement in PLACEMENTS
    ]
    found += [
        case(ADAPTIVE, topology, "8K", 200, placement, "halo", variant)
        for variant in VARIANTS
        for topology in TOPOLOGIES
        for placement in PLACEMENTS
    ]
    found += [
        case(ADAPTIVE, topology, "8K", 200, "random", code, variant)
        for code in SEEDED
        for variant in SEEDS
        for topology in TOPOLOGIES
    ]
    # Two rails of 200 Gbps beside one of 400.
    found += [
        case(ADAPTIVE, topology, "8K", 200, "linear", "halo", variant)
        for topology in ("fat tree", "Dragonfly+")
        for variant in RAILS
    ]
    found += [
        case(ADAPTIVE, "fat tree", "8K", bandwidth, "linear", code, "the report's size")
        for code in PAPER_CODES
        for bandwidth in (200, 800)
    ]
    return found


def measure(summary: dict, _folder: Path | None) -> dict[str, object]:
    job, network = summary["jobs"][0], summary["network"]
    shares = {link["class"]: link["share"] for link in job["bound_by"]["links"]}
    inside = sum(share for kind, share in shares.items() if kind not in ("injection", "ejection"))
    return {
        "time_us": f"{job['time_ns'] / 1000:.2f}",
        "mpi_us": f"{job['mpi_ns'] / 1000:.2f}",
        "links_between_routers_share": f"{inside:.3f}",
        "packet_hops": network["packet_hops"],
        "cpu_s": f"{summary['run']['cpu_s']:.1f}",
    }


def time(
    rows: list[Row],
    topology: str,
    code: str = "halo",
    placement: str = "linear",
    gbps: int = 200,
    size: str = "8K",
    routing: str = ADAPTIVE,
    variant: str = "base",
) -> float:
    """The time of one run in microseconds."""
    return number(
        rows,
        "time_us",
        topology=topology,
        code=code,
        placement=placement,
        gbps=gbps,
        size=size,
        routing=routing,
        variant=variant,
    )


def checks(rows: list[Row], smoke: bool) -> list[Check]:
    if smoke:
        tree, dragonfly = (float(row["time_us"]) for row in rows)
        return [at_most("halo, linear: dragonfly over fat tree", dragonfly / tree, 1.5)]
    found = []
    for code in ("halo", "all-to-all"):
        ratios = [
            time(rows, topology, code, placement, 200) / time(rows, topology, code, placement, 800)
            for topology in TOPOLOGIES
            for placement in PLACEMENTS
        ]
        found.append(at_least(f"{code}, 8K: least time at 200 Gbps over that at 800", min(ratios), 2.3))
    ratios = [
        time(rows, topology, "sweep") / time(rows, topology, "sweep", gbps=800) for topology in TOPOLOGIES
    ]
    found.append(at_most("sweep, 8K: greatest time at 200 Gbps over that at 800", max(ratios), 1.15))

    def over(
        statement: str, one: float, other: float, low: float | None = None, high: float | None = None
    ) -> None:
        check = (
            at_least(statement, one / other, low) if high is None else at_most(statement, one / other, high)
        )
        found.append(check)

    tree, hyperx, dragonfly, plus = TOPOLOGIES
    over(
        "fat tree, adaptive: random over linear",
        time(rows, tree, placement="random"),
        time(rows, tree),
        high=1.5,
    )
    over(
        "fat tree, random: destination-mod-k over adaptive",
        time(rows, tree, placement="random", routing=MERLIN),
        time(rows, tree, placement="random"),
        low=1.5,
    )
    over("linear: Dragonfly+ over dragonfly", time(rows, plus), time(rows, dragonfly), high=0.95)
    random = {topology: time(rows, topology, placement="random") for topology in TOPOLOGIES}
    over("random: Dragonfly+ over dragonfly", random[plus], random[dragonfly], high=1.05)
    over("random: Dragonfly+ over fat tree", random[plus], random[tree], high=1.3)
    over(
        "linear: HyperX, minimal, over fat tree",
        time(rows, hyperx, routing=MINIMAL),
        time(rows, tree),
        low=1.3,
    )
    over(
        "linear: HyperX, DOAL over minimal",
        time(rows, hyperx, routing=MERLIN),
        time(rows, hyperx, routing=MINIMAL),
        high=0.9,
    )
    over("dragonfly: random over linear", random[dragonfly], time(rows, dragonfly), high=1.1)
    over("linear: dragonfly over fat tree", time(rows, dragonfly), time(rows, tree), high=1.3)
    over(
        "linear: dragonfly, global detours over adaptive",
        time(rows, dragonfly, routing=GLOBAL),
        time(rows, dragonfly),
        low=2.5,
    )
    over(
        "linear: dragonfly, late detours over adaptive",
        time(rows, dragonfly, routing=LATE),
        time(rows, dragonfly),
        low=1.1,
    )
    for topology in TOPOLOGIES:
        few = time(rows, topology, gbps=800, size="8K")
        many = time(rows, topology, gbps=200, size="32K")
        over(f"{topology}, linear: 8K at 800 Gbps over 32K at 200", few, many, high=1.02)
    for topology in ("fat tree", "Dragonfly+"):
        one = time(rows, topology, gbps=400)
        two = time(rows, topology, variant="2 rails per packet")
        over(f"{topology}: 2 rails of 200 Gbps, per packet, over 1 of 400", two, one, high=1.1)
    for code in PAPER_CODES:
        small = time(rows, tree, code) / time(rows, tree, code, gbps=800)
        large = [time(rows, tree, code, gbps=gbps, variant="the report's size") for gbps in (200, 800)]
        ratio = large[0] / large[1] / small
        found.append(
            at_least(f"{code}: gain from 800 Gbps at the report's size over that of this size", ratio, 0.9)
        )
    return found


def _relative(rows: list[Row], code: str, topology: str, size: str, gbps: int, placement: str) -> float:
    return time(rows, topology, code, placement, gbps, size) / time(rows, "fat tree", code)


def _span(values: list[float], form: str = ".1f") -> str:
    """The least and the greatest value."""
    least, greatest = f"{min(values):{form}}", f"{max(values):{form}}"
    return least if least == greatest else f"{least} to {greatest}"


def _seed_lines(rows: list[Row]) -> list[list[str]]:
    """Times of sweep and all-to-all on 8,192 hosts by seed, with the order of the networks."""
    lines = []
    for code in SEEDED:
        for variant in ("base", *SEEDS):
            times = {name: time(rows, name, code, "random", variant=variant) for name in TOPOLOGIES}
            order = " < ".join(sorted(times, key=times.__getitem__))
            seed = "1" if variant == "base" else variant.removeprefix("seed ")
            lines.append([code, seed, *(f"{value:,.1f}" for value in times.values()), order])
    return lines


def _seed_sentences(rows: list[Row]) -> str:
    """Whether three seeds rank the networks alike under sweep and all-to-all."""
    orders: dict[str, set[str]] = {}
    spreads = []
    lines = _seed_lines(rows)
    for code, *_, order in lines:
        orders.setdefault(code, set()).add(order)
    for column in range(2, 2 + len(TOPOLOGIES)):
        for first in range(0, len(lines), 1 + len(SEEDS)):
            values = [float(line[column].replace(",", "")) for line in lines[first : first + 1 + len(SEEDS)]]
            spreads.append(100 * (max(values) / min(values) - 1))
    moves = [code for code, of in orders.items() if len(of) > 1]
    alike = f", except for the {' and the '.join(moves)}" if moves else ""
    longer = {}
    for code in SEEDED:
        linear = [time(rows, topology, code) for topology in TOPOLOGIES]
        longer[code] = 100 * (max(linear) / min(linear) - 1)
    return (
        "With random placement three seeds rank the networks alike for the sweep and for the all-to-all"
        f"{alike}. A seed changes a time by at most {max(spreads):.1f} %. With linear placement there is one "
        f"seed, and no network is ranked: the slowest one takes {longer['sweep']:.0f} % longer than the "
        f"fastest for the sweep, and {longer['all-to-all']:.0f} % for the all-to-all. Buffer, packet, bias "
        "and overhead were varied for the halo only."
    )


def _order(rows: list[Row], placement: str, variant: str) -> str:
    """The networks of 8,192 hosts by the time of the halo."""
    times = {name: time(rows, name, placement=placement, variant=variant) for name in TOPOLOGIES}
    return " < ".join(sorted(times, key=times.__getitem__))


def _variants_by_order(rows: list[Row], placement: str) -> tuple[list[str], list[str]]:
    """The variants with the order of the base case, and those with another one."""
    base = _order(rows, placement, "base")
    same = [name for name in VARIANTS if _order(rows, placement, name) == base]
    return same, [name for name in VARIANTS if name not in same]


def conclusions(rows: list[Row]) -> str:
    tree, hyperx, dragonfly, plus = TOPOLOGIES
    gains = {
        code: [
            time(rows, topology, code, placement) / time(rows, topology, code, placement, 800)
            for topology in TOPOLOGIES
            for placement in placements
        ]
        for code, placements in (("halo", PLACEMENTS), ("all-to-all", PLACEMENTS), ("sweep", ["linear"]))
    }
    random = {topology: time(rows, topology, placement="random") for topology in TOPOLOGIES}
    minimal = [time(rows, topology, placement="random", routing=MINIMAL) for topology in TOPOLOGIES]
    rails = {
        variant: [
            100 * (time(rows, topology, variant=variant) / time(rows, topology, gbps=400) - 1)
            for topology in (tree, plus)
        ]
        for variant in RAILS
    }
    buffers = {
        topology: max(
            time(rows, topology, placement=placement, variant=SMALL)
            / time(rows, topology, placement=placement, variant="bias / 4")
            for placement in PLACEMENTS
        )
        for topology in TOPOLOGIES
    }
    large = time(rows, dragonfly, "all-to-all", size="32K")
    slow = time(rows, dragonfly, "all-to-all", size="32K", routing=MINIMAL)
    late = [
        time(rows, topology, code, placement, routing=LATE) / time(rows, topology, code, placement)
        for topology in (dragonfly, plus)
        for code in ("halo", "all-to-all")
        for placement in PLACEMENTS
    ]
    linear, *others = late
    degrees = [time(rows, dragonfly, size=size) / time(rows, tree, size=size) for size in SIZES]
    return f"""\
- **Bandwidth decides for the halo and the all-to-all, and not for the sweep.** From 200 to 800 Gbps they \
become {_span(gains["halo"] + gains["all-to-all"])} times as fast on 8,192 hosts. The sweep, with linear \
placement, becomes at most {max(gains["sweep"]):.2f} times as fast, because it waits for latency.
- **Adaptive routing matters more than the topology.** Under adaptive routings and random placement, the \
halo on 8,192 hosts takes {_span(list(random.values()))} us on all four networks. The order \
changes with {", ".join(_variants_by_order(rows, "random")[1])}, so this table names no winner. \
Under minimal routing the same networks take {_span(minimal)} us.
- **With linear placement a dragonfly needs detours inside its groups.** On 8,192 hosts the halo takes \
{time(rows, dragonfly):.1f} us with them, {degrees[0]:.2f} times the fat tree, and \
{time(rows, dragonfly, routing=GLOBAL):.1f} us without. With random placement it takes \
{random[dragonfly]:.1f} and {time(rows, dragonfly, placement="random", routing=GLOBAL):.1f} us. On 16,384 \
and 32,768 hosts, with one seed, linear placement takes {degrees[1]:.2f} and {degrees[2]:.2f} times the fat \
tree.
- **Late detours.** A bias above the buffer makes the halo on the dragonfly with linear placement \
{linear:.2f} times as long ({time(rows, dragonfly, routing=LATE):.1f} us). Halo and all-to-all in the other \
rows of this set take {_span(others, ".2f")} times as long as with the smaller bias.
- **Fewer hosts with faster links are at least as good**, at equal bandwidth per rank, in all four networks.
- **Two rails cost {_span(rails["2 rails per packet"], ".0f")} % of one of twice the bandwidth** if each \
packet chooses its rail. If each message does, the halo takes {_span(rails["2 rails per message"], ".0f")} % \
longer, as a rank has few large messages at a time.
- **Buffers matter to the dragonfly and the Dragonfly+.** With an eighth of the buffer the halo takes up to \
{buffers[dragonfly]:.2f} and {buffers[plus]:.2f} times as long, both with a quarter of the bias. HyperX and \
fat tree take {buffers[hyperx]:.2f} and {buffers[tree]:.2f} times as long.
- **Sweep and all-to-all on 8,192 hosts.** {_seed_sentences(rows)}
- **Not shown.** The tables of 16,384 and 32,768 hosts have one seed and rank no networks. Prices are in \
[fat-tree-procurement](../fat-tree-procurement/README.md). At the linear all-to-all the dragonfly of \
32,768 hosts takes {large / time(rows, tree, "all-to-all", size="32K"):.2f} times the fat tree. The cause \
was not isolated; minimal routing takes {slow / large:.1f} times as long."""


def ratio_blocks(rows: list[Row]) -> dict[str, str]:
    """Ratios of times with the adaptive routings, to which the page of the papers refers."""

    def ratio(topology: str, one: dict[str, object], other: dict[str, object]) -> str:
        values = [
            time(rows, topology, placement=placement, **one)
            / time(rows, topology, placement=placement, **other)
            for placement in PLACEMENTS
        ]
        return " / ".join(f"{value:.2f}" for value in values)

    def cells(one: dict[str, object], other: dict[str, object], **known: object) -> list[str]:
        """The ratio of two kinds of runs by topology, with linear and random placement."""
        return [ratio(topology, known | one, known | other) for topology in TOPOLOGIES]

    header = [f"{topology}, linear / random" for topology in TOPOLOGIES]
    gains = [
        [code, size, *cells({"gbps": 200}, {"gbps": 800}, code=code, size=size)]
        for code in CODES
        for size in SIZES
        if 800 in bandwidths(code, size)
    ]
    sizes = [
        [code, str(gbps), *cells({"size": "32K"}, {"size": "8K"}, code=code, gbps=gbps)]
        for code in CODES
        for gbps in bandwidths(code, "32K")
    ]
    few = [
        [code, *cells({"size": "8K", "gbps": 800}, {"size": "32K", "gbps": 200}, code=code)] for code in CODES
    ]
    plus = []
    for code in CODES:
        for gbps in bandwidths(code, "8K"):
            line = [code, str(gbps)]
            for size in SIZES:
                if gbps not in bandwidths(code, size):
                    line.append("")
                    continue
                values = [
                    time(rows, "Dragonfly+", code, placement, gbps, size)
                    / time(rows, "dragonfly", code, placement, gbps, size)
                    for placement in PLACEMENTS
                ]
                line.append(" / ".join(f"{value:.2f}" for value in values))
            plus.append(line)
    routed = []
    for code in ("halo", "all-to-all"):
        for routing in ROUTINGS:
            line = [code, routing]
            for topology in TOPOLOGIES:
                values = [
                    time(rows, topology, code, placement, routing=routing)
                    / time(rows, "fat tree", code, placement)
                    for placement in PLACEMENTS
                    if topology in ROUTINGS[routing]
                ]
                line.append(" / ".join(f"{value:.2f}" for value in values))
            routed.append(line)
    placed = []
    spread = []
    for code in CODES:
        for size in SIZES:
            for gbps in bandwidths(code, size):
                times = {
                    placement: [time(rows, topology, code, placement, gbps, size) for topology in TOPOLOGIES]
                    for placement in PLACEMENTS
                }
                ratios = [random / linear for linear, random in zip(*times.values(), strict=True)]
                placed.append([code, size, str(gbps), *(f"{value:.2f}" for value in ratios)])
                line = [f"{max(of) / min(of):.2f}" for of in times.values()]
                spread.append([code, size, str(gbps), *line])
    return {
        "gains": markdown(["200 over 800 Gbps", "hosts", *header], gains),
        "sizes": markdown(["32K over 8K", "Gbps", *header], sizes),
        "plus": markdown(
            ["Dragonfly+ over dragonfly", "Gbps", *(f"{size}, linear / random" for size in SIZES)], plus
        ),
        "routed": markdown(["8K, 200 Gbps, over the adaptive fat tree", "routings", *header], routed),
        "few": markdown(["8K, 800 Gbps, over 32K, 200 Gbps", *header], few),
        "placed": markdown(["random over linear placement", "hosts", "Gbps", *TOPOLOGIES], placed),
        "spread": markdown(["slowest over fastest topology", "hosts", "Gbps", *PLACEMENTS], spread),
    }


def blocks(rows: list[Row]) -> dict[str, str]:
    found = {"conclusions": conclusions(rows)}
    for code in CODES:
        lines = []
        for size in SIZES:
            for gbps in bandwidths(code, size):
                line = [size, str(gbps)]
                for topology in TOPOLOGIES:
                    values = [
                        _relative(rows, code, topology, size, gbps, placement) for placement in PLACEMENTS
                    ]
                    line.append(" / ".join(f"{value:.2f}" for value in values))
                lines.append(line)
        base = time(rows, "fat tree", code)
        header = [f"{code}: hosts", "Gbps", *(f"{topology}, linear / random" for topology in TOPOLOGIES)]
        note = f"1.00 is {base:,.1f} us."
        found[f"grid {code}"] = markdown(header, lines) + f"\n\n{note}"
    lines = []
    for code in ("halo", "all-to-all"):
        for routing in ROUTINGS:
            line = [code, routing]
            for topology in TOPOLOGIES:
                if topology in ROUTINGS[routing]:
                    values = [
                        time(rows, topology, code, placement, routing=routing) for placement in PLACEMENTS
                    ]
                    line.append(" / ".join(f"{value:.1f}" for value in values))
                else:
                    line.append("")
            lines.append(line)
    header = ["8K, 200 Gbps, us", "routings", *(f"{topology}, linear / random" for topology in TOPOLOGIES)]
    found["routings"] = markdown(header, lines)
    lines = []
    for code in ("halo", "all-to-all"):
        for size in SIZES:
            line = [code, size]
            for topology in TOPOLOGIES:
                values = [
                    time(rows, topology, code, placement, size=size, routing=MINIMAL)
                    / time(rows, topology, code, placement, size=size)
                    for placement in PLACEMENTS
                ]
                line.append(" / ".join(f"{value:.2f}" for value in values))
            lines.append(line)
    header = ["minimal over adaptive", "hosts", *(f"{topology}, linear / random" for topology in TOPOLOGIES)]
    found["minimal"] = markdown(header, lines)
    lines = []
    for code in CODES:
        for routing in (ADAPTIVE, MINIMAL) if code != "sweep" else (ADAPTIVE,):
            for size in SIZES:
                line = [code, routing, size]
                for topology in list(TOPOLOGIES)[1:]:
                    values = [
                        time(rows, topology, code, placement, size=size, routing=routing)
                        / time(rows, "fat tree", code, placement, size=size, routing=routing)
                        for placement in PLACEMENTS
                    ]
                    line.append(" / ".join(f"{value:.2f}" for value in values))
                lines.append(line)
    header = ["time over the fat tree", "routings", "hosts"]
    header += [f"{topology}, linear / random" for topology in list(TOPOLOGIES)[1:]]
    found["over the fat tree"] = markdown(header, lines)
    found |= ratio_blocks(rows)
    lines = []
    for placement in PLACEMENTS:
        for variant in ("base", *VARIANTS):
            times = [time(rows, topology, placement=placement, variant=variant) for topology in TOPOLOGIES]
            order = _order(rows, placement, variant)
            lines.append([placement, variant, *(f"{value:.1f}" for value in times), order])
    found["sensitivity"] = markdown(["placement", "variant", *TOPOLOGIES, "order"], lines)
    sentences = []
    for placement in PLACEMENTS:
        same, other = _variants_by_order(rows, placement)
        sentences.append(
            f"With {placement} placement the order of the four networks is that of the base case with "
            f"{', '.join(same) or 'no variant'}, and another one with {', '.join(other) or 'no variant'}."
        )
    found["orders"] = " ".join(sentences)
    header = ["8K, 200 Gbps, random, us", "seed", *TOPOLOGIES, "order"]
    found["seeds"] = markdown(header, _seed_lines(rows))
    lines = []
    for topology in ("fat tree", "Dragonfly+"):
        values = [time(rows, topology, gbps=400)]
        values += [time(rows, topology, variant=variant) for variant in RAILS]
        lines.append([topology, *(f"{value:.1f}" for value in values)])
    found["rails"] = markdown(
        ["halo, 8K, linear, us", "1 x 400 Gbps", *(f"{name}, 2 x 200" for name in RAILS)], lines
    )
    return found


def figures(rows: list[Row], folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    figure, panels = plt.subplots(len(CODES), len(SIZES), figsize=(12, 9), sharex=True, sharey="row")
    colours = {name: topology_colour(name) for name in TOPOLOGIES}
    for line, code in zip(panels, CODES, strict=True):
        for panel, size in zip(line, SIZES, strict=True):
            for place, topology in enumerate(TOPOLOGIES):
                for gbps in bandwidths(code, size):
                    x = BANDWIDTHS.index(gbps) + 0.18 * (place - 1.5)
                    values = [
                        _relative(rows, code, topology, size, gbps, placement) for placement in PLACEMENTS
                    ]
                    panel.plot([x, x], values, color=colours[topology], linewidth=1)
                    panel.plot(x, values[0], "o", color=colours[topology])
                    panel.plot(x, values[1], "D", color=colours[topology], markerfacecolor="white")
            panel.set_xticks(range(len(BANDWIDTHS)), [f"{gbps}" for gbps in BANDWIDTHS])
            panel.grid(axis="y", color="#DDDDDD")
            if code == next(iter(CODES)):
                panel.set_title(f"{SIZES[size][0]:,} hosts")
        line[0].set_ylabel(f"{code}: time, fat tree 8K\n200 Gbps linear = 1")
    for panel in panels[-1]:
        panel.set_xlabel("Gbps of a link")
    for panel in panels[:, 0]:
        # The panels of a line share the axis, so this comes after all points.
        panel.set_ylim(bottom=0, top=1.04 * panel.get_ylim()[1])
    handles = [
        Line2D([], [], marker="o", linestyle="", color=colours[name], label=name) for name in TOPOLOGIES
    ]
    handles += [
        Line2D([], [], marker="o", linestyle="", color="black", label="linear placement"),
        Line2D(
            [], [], marker="D", linestyle="", color="black", markerfacecolor="white", label="random placement"
        ),
    ]
    figure.legend(handles=handles, loc="upper center", ncols=6, frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.96))
    figure.savefig(folder / "times.png", dpi=100)

    figure, panel = plt.subplots(figsize=(8, 4.4))
    steps = [("8K", 800), ("16K", 400), ("32K", 200)]
    for topology, marker in zip(TOPOLOGIES, "os^D", strict=True):
        values = [time(rows, topology, gbps=gbps, size=size) for size, gbps in steps]
        panel.plot(range(3), values, marker + "-", color=colours[topology], label=topology)
    panel.set_xticks(range(3), [f"{SIZES[size][0]:,} hosts\n{gbps} Gbps" for size, gbps in steps])
    panel.set(ylabel="time of halo, linear placement (us)", ylim=(0, None))
    panel.grid(axis="y", color="#DDDDDD")
    panel.legend()
    figure.tight_layout()
    figure.savefig(folder / "equal-injection.png", dpi=100)


if __name__ == "__main__":
    Study(HERE, cases, measure, checks, blocks, figures).main()
