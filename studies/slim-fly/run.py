"""Slim Fly q = 13: accepted load and latency over offered load, as in figures 5 to 7 of Wolfe et al. 2016.

See README.md; ``studies/study.py`` has the options.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from study import COLOURS, Case, Check, Row, Study, at_least, markdown, number, select, shown, within  # noqa: E402

ROUTINGS = {
    "minimal": 'algorithm = "minimal"',
    "Valiant": 'algorithm = "valiant"',
    "UGAL": 'algorithm = "ugal", candidates = 3, weight = {weight}{metric}',
}
PATTERNS = {"uniform": 'pattern = "uniform"', "worst case": 'pattern = "adversarial"'}
LOADS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0]
BASE = {"seed": 1, "buffer": "100 KB", "packet": "256 B", "weight": 1, "metric": "", "warmup_us": 20}
# What a buyer may doubt: each replaces one value of the base.
VARIANTS = {
    "base": {},
    "seed 2": {"seed": 2},
    "seed 3": {"seed": 3},
    "buffer 25 KB": {"buffer": "25 KB"},
    # Buffers of this size take longer than 20 us to fill.
    "buffer 400 KB": {"buffer": "400 KB", "warmup_us": 100},
    "packet 1 KiB": {"packet": "1 KiB"},
    "weight 2": {"weight": 2},
    "load: queue": {"metric": ', metric = "queue"'},
    "load: queue, by VC": {"metric": ', metric = "queue", metric_scope = "vc"'},
}
UGAL_ONLY = {"weight 2", "load: queue", "load: queue, by VC"}
# The part of the link rate that equation 4 of the paper calls full.
FULL = 0.71


def experiment(routing: str, pattern: str, load: float, until_us: int, variant: dict[str, object]) -> str:
    values = BASE | variant
    return f"""
[network]
topology = {{ kind = "slim-fly", q = 13, hosts_per_router = 9 }}
routing = {{ {ROUTINGS[routing].format(**values)} }}
link = {{ bandwidth = "100 Gbps", latency = "50 ns" }}
router = {{ delay = "100 ns", buffer = "{values["buffer"]}" }}
packet = "{values["packet"]}"
[[job]]
traffic = {{ {PATTERNS[pattern]}, load = {load} }}
[run]
until = "{until_us} us"
warmup = "{values["warmup_us"]} us"
seed = {values["seed"]}
[collect]
series = "off"
"""


def end_us(variant: str) -> int:
    """When a run of a variant ends: after 40 us that are measured."""
    return int((BASE | VARIANTS[variant])["warmup_us"]) + 40


def case(variant: str, routing: str, pattern: str, load: float, until_us: int) -> Case:
    columns = {"variant": variant, "pattern": pattern, "routing": routing, "load": load, "until_us": until_us}
    return Case(columns, experiment(routing, pattern, load, until_us, VARIANTS[variant]))


def cases(smoke: bool) -> list[Case]:
    if smoke:
        return [case("base", routing, pattern, 0.5, 25) for routing in ROUTINGS for pattern in PATTERNS]
    curves = [
        case("base", routing, pattern, load, 220)
        for routing in ROUTINGS
        for pattern in PATTERNS
        for load in LOADS
    ]
    sensitivity = [
        case(variant, routing, pattern, 1.0, end_us(variant))
        for variant in VARIANTS
        for routing in ROUTINGS
        for pattern in PATTERNS
        if variant not in UGAL_ONLY or routing == "UGAL"
    ]
    return curves + sensitivity


def measure(summary: dict, _folder: Path | None) -> dict[str, object]:
    network = summary["network"]
    return {
        "accepted": f"{network['accepted_load']:.4f}",
        "latency_ns": shown(network["latency_ns"]["mean"], ".1f"),
        "hops": shown(network["mean_hops"] and network["mean_hops"] - 2, ".4f"),
    }


def accepted(
    rows: list[Row], pattern: str, routing: str, load: float, variant: str = "base", until_us: int = 220
):
    keys = {"variant": variant, "pattern": pattern, "routing": routing, "load": load, "until_us": until_us}
    return number(rows, "accepted", **keys)


def checks(rows: list[Row], smoke: bool) -> list[Check]:
    if smoke:
        shares = {(row["routing"], row["pattern"]): float(row["accepted"]) for row in rows}
        return [
            within("uniform, minimal, load 0.5: accepted", shares["minimal", "uniform"], 0.49, 0.51),
            within(
                "worst case, minimal, load 0.5: accepted is 1/18",
                shares["minimal", "worst case"],
                0.0546,
                0.0566,
                ".4f",
            ),
            at_least("worst case, UGAL, load 0.5: accepted", shares["UGAL", "worst case"], 0.48),
        ]
    worst = [accepted(rows, "worst case", "minimal", load) for load in LOADS]
    valiant = [accepted(rows, pattern, "Valiant", 1.0) for pattern in PATTERNS]
    found = [
        within(
            "uniform, minimal, load 0.95: accepted", accepted(rows, "uniform", "minimal", 0.95), 0.945, 0.955
        ),
        within(
            "uniform, minimal, load 1.0: accepted (paper: 0.98)",
            accepted(rows, "uniform", "minimal", 1.0),
            0.978,
            0.998,
        ),
        within("worst case, minimal: greatest accepted load is 1/18", max(worst), 0.0546, 0.0566, ".4f"),
        within("uniform, Valiant, load 1.0: accepted", valiant[0], 0.49, 0.52),
        within("worst case, Valiant, load 1.0: accepted", valiant[1], 0.49, 0.52),
        within(
            "worst case, UGAL, load 1.0: accepted (paper: 0.58)",
            accepted(rows, "worst case", "UGAL", 1.0),
            0.54,
            0.56,
        ),
        at_least(
            "uniform, UGAL, load 1.0: accepted (paper: nearly 1)",
            accepted(rows, "uniform", "UGAL", 1.0),
            0.97,
        ),
    ]
    for variant in VARIANTS:
        if variant not in UGAL_ONLY:
            order = [
                accepted(rows, "worst case", routing, 1.0, variant, end_us(variant))
                for routing in ("UGAL", "Valiant", "minimal")
            ]
            text = " > ".join(f"{value:.3f}" for value in order)
            found.append(
                Check(
                    f"worst case, load 1.0, {variant}: UGAL > Valiant > minimal",
                    text,
                    order == sorted(order, reverse=True),
                )
            )
    return found


def blocks(rows: list[Row]) -> dict[str, str]:
    paper = {
        ("uniform", "minimal"): "follows the load to 0.95, 0.98 at 1.0",
        ("uniform", "Valiant"): "just under 0.50",
        ("uniform", "UGAL"): "nearly 1.0 at 1.0",
        ("worst case", "minimal"): "0.055, flat",
        ("worst case", "Valiant"): "just under 0.50",
        ("worst case", "UGAL"): "follows to 0.55, limit 0.58",
    }
    lines = []
    for (pattern, routing), theirs in paper.items():
        of = select(rows, variant="base", pattern=pattern, routing=routing, until_us=220)
        follows = [float(row["load"]) for row in of if float(row["accepted"]) >= 0.99 * float(row["load"])]
        greatest = max(float(row["accepted"]) for row in of)
        last = accepted(rows, pattern, routing, 1.0)
        to = f"{max(follows):g}" if follows else f"below {LOADS[0]}"
        lines.append(
            [f"{pattern}, {routing}", to, f"{greatest:.3f}", f"{last:.3f}", f"{last / FULL:.2f}", theirs]
        )
    header = [
        "traffic, routing",
        "follows the load to",
        "greatest accepted",
        "accepted at 1.0",
        "the same, of 71 Gbps",
    ]
    limits = markdown([*header, "the paper"], lines)
    lines = []
    for variant in VARIANTS:
        line = [variant]
        for pattern in PATTERNS:
            for routing in ROUTINGS:
                known = select(
                    rows,
                    variant=variant,
                    pattern=pattern,
                    routing=routing,
                    load=1.0,
                    until_us=end_us(variant),
                )
                line.append(f"{float(known[0]['accepted']):.3f}" if known else "")
        lines.append(line)
    header = [
        "at load 1.0",
        *(f"{pattern}, {routing}" for pattern in PATTERNS for routing in ROUTINGS),
    ]
    excess = max(accepted(rows, "worst case", "minimal", load) for load in LOADS) - 1 / 18
    low_load = (
        "- Worst case at low load: 2 of the 338 routers find no place in a row and send to each other, which "
        f"adds {excess:.4f} to 1/18."
    )
    return {"low load": low_load, "limits": limits, "sensitivity": markdown(header, lines)}


def figures(rows: list[Row], folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 2, figsize=(10, 7.4), sharex=True, sharey="row")
    for column, pattern in enumerate(PATTERNS):
        throughput, latency = panels[:, column]
        throughput.plot([0, 1], [0, 1], color="#BBBBBB", linewidth=1, label="offered")
        for routing, colour, marker in zip(ROUTINGS, COLOURS, "os^", strict=False):
            of = select(rows, variant="base", pattern=pattern, routing=routing, until_us=220)
            loads = [float(row["load"]) for row in of]
            values = [float(row["accepted"]) for row in of]
            throughput.plot(loads, values, marker + "-", color=colour, label=routing)
            steady = [row for row in of if float(row["accepted"]) > 0.98 * float(row["load"])]
            latency.plot(
                [float(row["load"]) for row in steady],
                [float(row["latency_ns"]) / 1000 for row in steady],
                marker + "-",
                color=colour,
                label=routing,
            )
        throughput.set(title=f"{pattern} traffic")
        throughput.secondary_yaxis("right", functions=(lambda y: y / FULL, lambda y: y * FULL)).set_ylabel(
            "of 71 Gbps (equation 4 of the paper)"
        )
        latency.set(xlabel="offered load, of the link rate", yscale="log")
        for panel in (throughput, latency):
            panel.grid(color="#DDDDDD")
            panel.legend()
    panels[0, 0].set_ylabel("accepted load, of the link rate")
    panels[1, 0].set_ylabel("mean packet latency below saturation (us)")
    figure.tight_layout()
    figure.savefig(folder / "throughput.png", dpi=110)


if __name__ == "__main__":
    Study(HERE, cases, measure, checks, blocks, figures).main()
