"""Throughput over load of minimal and non-minimal routing on three networks.

See README.md; ``studies/study.py`` has the options.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from study import COLOURS, Case, Check, Row, Study, at_least, at_most, markdown, number, select, shown, within  # noqa: E402

NETWORKS = {
    "dragonfly": (
        'kind = "dragonfly", hosts_per_router = 3, routers_per_group = 6, global_links_per_router = 3'
    ),
    "Dragonfly+": (
        'kind = "dragonfly-plus", hosts_per_leaf = 4, leaves_per_group = 4, global_links_per_spine = 4'
    ),
    "HyperX": 'kind = "hyperx", shape = [6, 6], hosts_per_router = 6',
}
ROUTINGS = {
    "minimal": "minimal",
    "valiant": "Valiant",
    "ugal": "UGAL",
    "piggyback": "piggyback",
    "par": "PAR",
}
ADAPTIVE = ["ugal", "piggyback", "par"]
PATTERNS = ["uniform", "adversarial"]
LOADS = [0.1, 0.3, 0.5, 0.7, 0.9]
BASE = {"seed": 1, "buffer": "100 KB", "packet": "256 B", "bias": ""}
VARIANTS = {
    "base": {},
    "seed 2": {"seed": 2},
    "seed 3": {"seed": 3},
    "buffer 25 KB": {"buffer": "25 KB"},
    "buffer 400 KB": {"buffer": "400 KB"},
    "packet 1 KiB": {"packet": "1 KiB"},
    "bias 2 KiB": {"bias": "2 KiB"},
}
# Hosts of a group, which share one link to the next group.
ONE_LINK = {"dragonfly": 18, "Dragonfly+": 16}
# The load of the variants.
VARIED = 0.9


def experiment(
    network: str, routing: str, pattern: str, load: float, span: tuple[int, int], variant: dict
) -> str:
    values = BASE | variant
    bias = f', bias = "{values["bias"]}"' if values["bias"] and routing in ADAPTIVE else ""
    return f"""
[network]
topology = {{ {NETWORKS[network]} }}
routing = {{ algorithm = "{routing}"{bias} }}
link = {{ bandwidth = "100 Gbps", latency = "50 ns" }}
router = {{ delay = "100 ns", buffer = "{values["buffer"]}" }}
packet = "{values["packet"]}"
[[job]]
traffic = {{ pattern = "{pattern}", load = {load} }}
[run]
warmup = "{span[0]} us"
until = "{sum(span)} us"
seed = {values["seed"]}
[collect]
series = "off"
"""


def routings(network: str) -> list[str]:
    # Reports of loads are for networks of groups.
    return [name for name in ROUTINGS if not (network == "HyperX" and name == "piggyback")]


def case(
    variant: str,
    network: str,
    pattern: str,
    routing: str,
    load: float,
    span: tuple[int, int] = (20, 40),
) -> Case:
    columns = {"variant": variant, "network": network, "pattern": pattern, "routing": routing, "load": load}
    return Case(columns, experiment(network, routing, pattern, load, span, VARIANTS[variant]))


def cases(smoke: bool) -> list[Case]:
    if smoke:
        return [
            case("base", "dragonfly", pattern, routing, VARIED, (10, 5))
            for pattern in PATTERNS
            for routing in ("minimal", "valiant", "par")
        ]
    return [
        case(variant, network, pattern, routing, load)
        for variant in VARIANTS
        for network in NETWORKS
        for pattern in PATTERNS
        for routing in routings(network)
        for load in LOADS
        if variant == "base" or (load == VARIED and pattern == "adversarial")
    ]


def measure(summary: dict, _folder: Path | None) -> dict[str, object]:
    network = summary["network"]
    job = summary["bounds"]["jobs"][0]
    # Links between routers have a known load only if routing does not look at loads, which it does among
    # equal paths in a Dragonfly+.
    known = job["router_throughput"] is not None
    return {
        "accepted": f"{network['accepted_load']:.4f}",
        "latency_ns": shown(network["latency_ns"]["mean"], ".1f"),
        "hops": shown(network["mean_hops"] and network["mean_hops"] - 2, ".4f"),
        # The load at which the first link is full.
        "limit": shown(job["throughput"], ".4f") if known else "",
        "limited_by": job["limited_by"] if known else "",
    }


def accepted(rows: list[Row], network: str, pattern: str, routing: str, variant: str = "base") -> float:
    keys = {"variant": variant, "network": network, "pattern": pattern, "routing": routing, "load": VARIED}
    return number(rows, "accepted", **keys)


def limit(rows: list[Row], network: str, pattern: str, routing: str) -> str:
    keys = {"variant": "base", "network": network, "pattern": pattern, "routing": routing, "load": VARIED}
    return select(rows, **keys)[0]["limit"]


def order(rows: list[Row], network: str, variant: str) -> list[str]:
    """Routings by accepted adversarial load, best first."""
    return sorted(
        routings(network),
        key=lambda routing: -accepted(rows, network, "adversarial", routing, variant),
    )


def best(rows: list[Row], network: str, variant: str) -> list[str]:
    """The routings that accept at most 2 % less adversarial load than the best."""
    ordered = order(rows, network, variant)
    values = [accepted(rows, network, "adversarial", routing, variant) for routing in ordered]
    return [routing for routing, value in zip(ordered, values, strict=True) if value >= 0.98 * values[0]]


def checks(rows: list[Row], smoke: bool) -> list[Check]:
    networks = ["dragonfly"] if smoke else list(NETWORKS)
    adaptive = ["par"] if smoke else ADAPTIVE
    found = []
    for network in networks:
        for pattern in PATTERNS:
            for routing in ("minimal", "valiant"):
                high = limit(rows, network, pattern, routing)
                if not high:
                    continue
                # Other links have room beyond the load at which the first is full.
                expected = min(float(high), VARIED)
                found.append(
                    at_most(
                        f"{network}, {pattern}, {routing}: accepted over the limit, or over the load",
                        accepted(rows, network, pattern, routing) / expected,
                        1.03,
                    )
                )
        if network in ONE_LINK:
            hosts = ONE_LINK[network]
            value = accepted(rows, network, "adversarial", "minimal")
            found.append(
                within(
                    f"{network}, adversarial, minimal: accepted is 1/{hosts}",
                    value,
                    0.99 / hosts,
                    1.01 / hosts,
                    ".4f",
                )
            )
        worst = {
            routing: accepted(rows, network, "adversarial", routing)
            for routing in adaptive
            if routing in routings(network)
        }
        minimal = accepted(rows, network, "adversarial", "minimal")
        found.append(
            at_least(
                f"{network}, adversarial: worst adaptive routing over minimal",
                min(worst.values()) / minimal,
                1.5,
                ".2f",
            )
        )
        even = [
            accepted(rows, network, "uniform", routing)
            for routing in adaptive
            if routing in routings(network)
        ]
        found.append(
            at_least(
                f"{network}, uniform: worst adaptive routing over minimal",
                min(even) / accepted(rows, network, "uniform", "minimal"),
                0.98,
            )
        )
    if smoke:
        return found
    for variant in ("base", "seed 2", "seed 3"):
        first = order(rows, "dragonfly", variant)[0]
        found.append(
            Check(
                f"dragonfly, adversarial, {variant}: piggyback is best", ROUTINGS[first], first == "piggyback"
            )
        )
    for variant in VARIANTS:
        values = [
            accepted(rows, "Dragonfly+", "adversarial", name, variant) for name in ("piggyback", "ugal")
        ]
        found.append(
            at_least(f"Dragonfly+, adversarial, {variant}: piggyback less UGAL", values[0] - values[1], 0.02)
        )
    return found


def blocks(rows: list[Row]) -> dict[str, str]:
    lines = []
    for network in NETWORKS:
        for pattern in PATTERNS:
            line = [network, pattern]
            for routing in ROUTINGS:
                if routing not in routings(network):
                    line.append("")
                    continue
                text = f"{accepted(rows, network, pattern, routing):.3f}"
                known = limit(rows, network, pattern, routing)
                line.append(f"{text} ({float(known):.3f})" if known else text)
            lines.append(line)
    table = markdown(["network", "traffic", *ROUTINGS.values()], lines)

    lines = []
    for variant in VARIANTS:
        for network in NETWORKS:
            known = routings(network)
            values = [
                f"{accepted(rows, network, 'adversarial', routing, variant):.3f}" if routing in known else ""
                for routing in ROUTINGS
            ]
            near = [ROUTINGS[routing] for routing in best(rows, network, variant)]
            lines.append([variant, network, *values, ", ".join(near)])
    sensitivity = markdown(
        ["adversarial, load 0.9", "network", *ROUTINGS.values(), "best, within 2 %"], lines
    )

    def of(network: str, routing: str, pattern: str = "adversarial") -> str:
        return f"{accepted(rows, network, pattern, routing):.2f}"

    silent = number(
        rows,
        "accepted",
        variant="base",
        network="HyperX",
        pattern="adversarial",
        routing="minimal",
        load=0.1,
    )
    conclusions = f"""\
- **What holds.** Adaptive routing carries uniform traffic as minimal routing does, and adversarial traffic \
about as Valiant does. A network whose traffic is not known needs it: minimal routing carries \
{of("dragonfly", "minimal")} of adversarial traffic on the dragonfly, the best adaptive one \
{max(of("dragonfly", name) for name in ADAPTIVE)}.
- **What does not.** UGAL on the Dragonfly+ carries {of("Dragonfly+", "ugal")} of adversarial traffic where \
piggyback carries {of("Dragonfly+", "piggyback")}: a leaf sees the spines' global links only once they have \
filled the buffers below. Piggyback gets load reports.
- A limit is the load at which the first link is full. Other links still have capacity beyond it, so a few \
values exceed it. Routing in a Dragonfly+ chooses among equal paths by load, so that the limits of its links \
are not known.
- Under adversarial traffic on a HyperX one host in six is silent because it would send to itself, so it \
accepts {silent:.3f} of 0.1. Minimal routing with hop-counting VCs accepts {of("HyperX", "minimal")} of its \
{float(limit(rows, "HyperX", "adversarial", "minimal")):.2f} when overloaded."""
    changed = [
        f"{network} with {variant.replace('buffer', 'buffers of').replace('packet', 'packets of')}: "
        f"{ROUTINGS[best(rows, network, variant)[0]]}"
        for variant in VARIANTS
        for network in NETWORKS
        if not set(best(rows, network, variant)) & set(best(rows, network, "base"))
    ]
    winner = (
        f"The best routing changes in these cases: {'; '.join(changed)}. "
        if changed
        else "It never changes. "
    ) + "All values are over the same 40 us; larger buffers take longer to fill."
    return {
        "throughput": table,
        "sensitivity": sensitivity,
        "conclusions": conclusions,
        "winner": winner,
    }


def figures(rows: list[Row], folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    base = select(rows, variant="base")
    figure, panels = plt.subplots(
        len(PATTERNS), len(NETWORKS), figsize=(12, 7), sharex=True, sharey=True, layout="constrained"
    )
    for across, network in enumerate(NETWORKS):
        for down, pattern in enumerate(PATTERNS):
            panel = panels[down][across]
            panel.plot([0, 1], [0, 1], color="#BBBBBB", linewidth=1)
            for routing, colour, marker in zip(ROUTINGS, COLOURS, "os^vD", strict=False):
                of = select(base, network=network, pattern=pattern, routing=routing)
                values = [float(row["accepted"]) for row in of]
                loads = [float(row["load"]) for row in of]
                panel.plot(loads, values, marker + "-", color=colour, label=ROUTINGS[routing])
                if of and of[0]["limit"]:
                    panel.axhline(float(of[0]["limit"]), color=colour, linestyle="--", linewidth=1)
            panel.set(title=f"{network}, {pattern} traffic", xlim=(0, 1), ylim=(0, 1.02))
            panel.grid(color="#DDDDDD")
    for panel in panels[-1]:
        panel.set_xlabel("offered load (of the injection bandwidth)")
    for line in panels:
        line[0].set_ylabel("accepted load (of the injection bandwidth)")
    panels[0][0].legend(title="dashed: limit")
    figure.savefig(folder / "throughput.png", dpi=100)


if __name__ == "__main__":
    Study(HERE, cases, measure, checks, blocks, figures).main()
