"""Dragonfly of 1,056 hosts: latency over load beside what BookSim 2 gives for the same network.

See README.md; ``studies/study.py`` has the options. ``booksim.csv`` has the numbers of BookSim 2.
"""

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
    at_least,
    at_most,
    markdown,
    number,
    read_table,
    select,
    shown,
    within,
)

# Bytes of a flit, which is a packet here, and flits of a virtual channel's buffer.
FLIT, VC_FLITS = 32, 256
UGAL = f'algorithm = "ugal", bias = "{30 * FLIT} B", metric = "{{metric}}"'
# The routing and its VCs here.
ROUTINGS = {
    "minimal": ('algorithm = "minimal"', 2),
    "UGAL": (UGAL, 4),
    "Valiant": ('algorithm = "valiant"', 4),
}
PATTERNS = {
    "uniform": 'pattern = "uniform", include_self = true',
    "worst case": 'pattern = "adversarial", offset = 1',
}
LOADS = {
    ("uniform", "minimal"): [0.001, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
    ("uniform", "UGAL"): [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
    ("worst case", "minimal"): [0.01, 0.02, 0.03, 0.1],
    ("worst case", "UGAL"): [0.05, 0.1, 0.2, 0.3, 0.4],
    ("worst case", "Valiant"): [0.1, 0.2, 0.3, 0.4, 0.45, 0.6],
}
# The range of the paper's figures, below the saturation of BookSim.
COMPARED = {
    ("uniform", "minimal"): [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7],
    ("uniform", "UGAL"): [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7],
    ("worst case", "minimal"): [0.01, 0.02, 0.03],
    ("worst case", "UGAL"): [0.05, 0.1, 0.2, 0.3, 0.4],
}
# From here on BookSim's router nears its saturation, and `packet` does not.
NEAR_SATURATION = 0.7
# Largest mean and maximum of the differences below that load, in percent. Those of uniform traffic are what
# the paper found between CODES and BookSim 1.
LIMITS = {
    ("uniform", "minimal"): (4.2, 7.0),
    ("uniform", "UGAL"): (3.0, 7.8),
    ("worst case", "minimal"): (4.2, 8.0),
    ("worst case", "UGAL"): (4.2, 8.0),
}
BASE = {"seed": 1, "metric": "total", "model": "packet"}
VARIANTS = {
    "base": {},
    "seed 2": {"seed": 2},
    "seed 3": {"seed": 3},
    "metric credits": {"metric": "credits"},
    "input-queued": {"model": "input-queued"},
    "flit": {"model": "flit", "metric": "credits"},
}
# What the variants run; `flit` runs all loads.
VARIED = {
    ("uniform", "minimal"): [0.1, 0.3, 0.5, 0.7],
    ("uniform", "UGAL"): [0.1, 0.3, 0.5, 0.7],
    ("worst case", "UGAL"): [0.1, 0.3],
}


def experiment(pattern: str, routing: str, load: float, span: tuple[int, int], variant: dict) -> str:
    """A cycle is 1 ns; a channel of d cycles takes d + 1, a router one more, which `flit` knows."""
    values = BASE | variant
    text, vcs = ROUTINGS[routing]
    latencies, router = (2, 11, 101), 'delay = "1 ns"'
    if values["model"] == "flit":
        latencies = (1, 10, 100)
        router = f'delay = "0 ns", flit = "{FLIT} B", routing_delay = 0, speedup = 2, credit_delay = "2 ns"'
    return f"""
[network]
topology = {{ kind = "dragonfly", hosts_per_router = 4, routers_per_group = 8, global_links_per_router = 4 }}
routing = {{ {text.format(**values)} }}
link = {{ bandwidth = "256 Gbps", latency = "{latencies[0]} ns" }}
links.local = {{ latency = "{latencies[1]} ns" }}
links.global = {{ latency = "{latencies[2]} ns" }}
router = {{ model = "{values["model"]}", {router}, buffer = "{vcs * VC_FLITS * FLIT} B" }}
packet = "{FLIT} B"
[[job]]
traffic = {{ {PATTERNS[pattern]}, arrival = "bernoulli", load = {load} }}
[run]
warmup = "{span[0]} us"
until = "{sum(span)} us"
drain = "4 us"
seed = {values["seed"]}
[collect]
series = "off"
"""


def case(variant: str, pattern: str, routing: str, load: float, span: tuple[int, int] | None = None) -> Case:
    if span is None:
        # More than a hundred thousand packets are measured at any load.
        span = (50, 150) if load < 0.01 else (10, 30) if load < 0.05 else (2, 4)
        if pattern == "worst case" and routing != "minimal":
            # Detours begin only when the buffers of minimal paths have filled.
            span = (6, 4)
    columns = {"variant": variant, "pattern": pattern, "routing": routing, "load": load}
    return Case(columns, experiment(pattern, routing, load, span, VARIANTS[variant]))


def cases(smoke: bool) -> list[Case]:
    if smoke:
        points = [
            ("uniform", "minimal", 0.1),
            ("uniform", "UGAL", 0.1),
            ("worst case", "minimal", 0.1),
            ("worst case", "UGAL", 0.1),
        ]
        return [case("base", *point, span=(1, 1)) for point in points]
    curves = [case("base", *of, load) for of, loads in LOADS.items() for load in loads]
    curves += [case("flit", *of, load) for of, loads in LOADS.items() for load in loads]
    varied = [
        case(variant, *of, load)
        for variant in VARIANTS
        for of, loads in VARIED.items()
        for load in loads
        # Minimal routing compares no loads of paths.
        if variant not in ("base", "flit") and not (variant == "metric credits" and of[1] == "minimal")
    ]
    return curves + varied


def measure(summary: dict, _folder: Path | None) -> dict[str, object]:
    network = summary["network"]
    mean = network["latency_ns"]["mean"]
    return {
        "accepted": f"{network['accepted_load']:.4f}",
        # The serialisation onto the last link is in the d + 1 of BookSim's channels.
        "cycles": shown(mean and mean - 1, ".2f"),
        "routers": shown(network["mean_hops"] and network["mean_hops"] - 1, ".3f"),
    }


def booksim(pattern: str, routing: str, load: float) -> Row | None:
    """The row of BookSim 2, if there is one."""
    found = select(read_table(HERE, "booksim"), pattern=pattern, routing=routing, load=load)
    return found[0] if found else None


def steady(row: Row | None) -> bool:
    """Whether a run of either program is below saturation, so that its latency means something."""
    return row is not None and float(row["accepted"]) > 0.98 * float(row["load"])


def compared(of: tuple[str, str]) -> list[float]:
    """The loads of the comparison that BookSim has below its saturation."""
    return [load for load in COMPARED[of] if steady(booksim(*of, load))]


def off(rows: list[Row], column: str, of: tuple[str, str], load: float, variant: str = "base") -> float:
    """The difference to BookSim in percent."""
    keys = {"variant": variant, "pattern": of[0], "routing": of[1], "load": load}
    known = booksim(*of, load)
    if known is None:
        raise LookupError(f"booksim.csv has no row {of}, {load}")
    return 100 * (number(rows, column, **keys) / float(known[column]) - 1)


def mean_and_maximum(values: list[float]) -> tuple[float, float]:
    sizes = [abs(value) for value in values]
    return sum(sizes) / len(sizes), max(sizes)


def accepted(rows: list[Row], pattern: str, routing: str, load: float, variant: str = "base") -> float:
    return number(rows, "accepted", variant=variant, pattern=pattern, routing=routing, load=load)


def checks(rows: list[Row], smoke: bool) -> list[Check]:
    if smoke:
        found = [
            at_most(
                f"{', '.join(of)}, load 0.1: cycles off BookSim (%)", abs(off(rows, "cycles", of, 0.1)), 8
            )
            for of in COMPARED
            if of != ("worst case", "minimal")
        ]
        worst = accepted(rows, "worst case", "minimal", 0.1)
        return [*found, within("worst case, minimal: accepted is 1/32", worst, 0.0306, 0.0319, ".4f")]
    found = []
    for of in COMPARED:
        loads = [load for load in compared(of) if load < NEAR_SATURATION]
        cycles = mean_and_maximum([off(rows, "cycles", of, load) for load in loads])
        routers = mean_and_maximum([off(rows, "routers", of, load) for load in loads])
        for name, value, limit in zip(("mean", "greatest"), cycles, LIMITS[of], strict=True):
            found.append(
                at_most(
                    f"{', '.join(of)}: {name} difference of the latency below {NEAR_SATURATION} (%)",
                    value,
                    limit,
                    ".2f",
                )
            )
        found.append(at_most(f"{', '.join(of)}: greatest difference of routers (%)", routers[1], 3, ".2f"))
    for routing in ("minimal", "UGAL"):
        value = off(rows, "cycles", ("uniform", routing), NEAR_SATURATION)
        statement = f"uniform, {routing}, load {NEAR_SATURATION}: difference near BookSim's saturation (%)"
        found.append(within(statement, value, -12, 0, ".2f"))
    known = booksim("worst case", "minimal", 0.1)
    found += [
        within(
            f"worst case, minimal, load 0.1: accepted is 1/32 (BookSim {known['accepted']})",
            accepted(rows, "worst case", "minimal", 0.1),
            0.0306,
            0.0319,
            ".4f",
        ),
        within(
            "worst case, Valiant, load 0.6: accepted (the paper: slightly under 0.50)",
            accepted(rows, "worst case", "Valiant", 0.6),
            0.45,
            0.508,
        ),
        at_least(
            "uniform, minimal, load 0.9: accepted, above what BookSim accepts",
            accepted(rows, "uniform", "minimal", 0.9),
            0.89,
        ),
    ]
    for of, limits in LIMITS.items():
        values = mean_and_maximum([off(rows, "cycles", of, load, "flit") for load in compared(of)])
        found += [
            at_most(f"{', '.join(of)}, flit: {name} difference of the latency (%)", value, limit, ".2f")
            for name, value, limit in zip(("mean", "greatest"), values, limits, strict=True)
        ]
    ratio = accepted(rows, "uniform", "minimal", 0.9, "flit") / float(
        booksim("uniform", "minimal", 0.9)["accepted"]
    )
    found.append(within("uniform, minimal, load 0.9, flit: accepted, over BookSim", ratio, 0.99, 1.07))
    for variant in ("base", "seed 2", "seed 3"):
        pairs = [
            (of, load)
            for of, loads in VARIED.items()
            for load in loads
            if load in compared(of) and load < NEAR_SATURATION
        ]
        greatest = max(abs(off(rows, "cycles", of, load, variant)) for of, load in pairs)
        found.append(
            at_most(
                f"{variant}: greatest difference at its loads below {NEAR_SATURATION} (%)", greatest, 8, ".2f"
            )
        )
    return found


def blocks(rows: list[Row]) -> dict[str, str]:
    lines = []
    for of, loads in LOADS.items():
        for load in loads:
            variants = {
                name: select(rows, variant=name, pattern=of[0], routing=of[1], load=load)[0]
                for name in ("base", "flit")
            }
            theirs = booksim(*of, load)
            line = [", ".join(of), str(load), *(ours["accepted"] for ours in variants.values())]
            line.append(theirs["accepted"] if theirs else "")
            for ours in variants.values():
                line.append(f"{float(ours['cycles']):.1f}" if steady(ours) else "saturated")
            line.append("" if theirs is None else theirs["cycles"] if steady(theirs) else "saturated")
            for name, ours in variants.items():
                both = steady(ours) and steady(theirs)
                line.append(f"{off(rows, 'cycles', of, load, name):+.1f} %" if both else "")
            for ours in variants.values():
                line.append(f"{float(ours['routers']):.2f}" if steady(ours) else "")
            line.append(theirs["routers"] if steady(theirs) else "")
            lines.append(line)
    header = ["traffic, routing", "load", "accepted: `packet`", "`flit`", "BookSim"]
    header += ["cycles: `packet`", "`flit`", "BookSim", "difference: `packet`", "`flit`"]
    latency = markdown([*header, "routers: `packet`", "`flit`", "BookSim"], lines)

    lines = []
    for variant in VARIANTS:
        line = [variant]
        for of, loads in VARIED.items():
            for load in loads:
                ours = select(rows, variant=variant, pattern=of[0], routing=of[1], load=load)
                if not ours:
                    line.append("")
                elif load not in compared(of):
                    line.append(f"{float(ours[0]['cycles']):.0f} cycles")
                elif steady(ours[0]):
                    line.append(f"{off(rows, 'cycles', of, load, variant):+.1f}")
                else:
                    line.append(f"accepts {float(ours[0]['accepted']):.2f}")
        lines.append(line)
    header = [f"{', '.join(of)}, {load}" for of, loads in VARIED.items() for load in loads]
    sensitivity = markdown(["difference of the latency in %", *header], lines)

    def spread(pattern: str, routing: str, variant: str = "base") -> str:
        of = (pattern, routing)
        mean, most = mean_and_maximum([off(rows, "cycles", of, load, variant) for load in compared(of)])
        return f"{mean:.1f} % on average and at most {most:.1f} %"

    line = max(
        load
        for load in compared(("uniform", "minimal"))
        if all(
            abs(off(rows, "cycles", ("uniform", "minimal"), below)) <= 2
            for below in compared(("uniform", "minimal"))
            if below <= load
        )
    )
    knee = booksim("uniform", "minimal", 0.9)
    minimal, ugal = (spread("uniform", routing) for routing in ("minimal", "UGAL"))
    summary = (
        f"- Uniform traffic, loads 0.1 to 0.7: latency differs by {minimal} with minimal routing, by {ugal} "
        "with UGAL. The paper has 4.2 and 7 %, 3.0 and 7.8 % between CODES and BookSim 1.\n"
        f"- With minimal routing the difference is within 2 % up to a load of {line}.\n"
        f"- Worst case: {spread('worst case', 'minimal')} with minimal routing below its saturation, "
        f"{spread('worst case', 'UGAL')} with UGAL.\n"
        f"- At a load of 0.9 BookSim accepts {float(knee['accepted']):.3f} of uniform traffic with minimal "
        f"routing, FabricSim {accepted(rows, 'uniform', 'minimal', 0.9):.3f}.\n"
        f"- With `flit`, uniform traffic differs by {spread('uniform', 'minimal', 'flit')} with minimal "
        f"routing, by {spread('uniform', 'UGAL', 'flit')} with UGAL; the worst case by "
        f"{spread('worst case', 'minimal', 'flit')} and {spread('worst case', 'UGAL', 'flit')}. At a load of "
        f"0.9 it accepts {accepted(rows, 'uniform', 'minimal', 0.9, 'flit'):.3f} with minimal routing. "
        f"Valiant routing accepts {accepted(rows, 'worst case', 'Valiant', 0.6, 'flit'):.3f} of the worst "
        "case."
    )
    known = [(of, load, booksim(*of, load)) for of in list(LOADS)[:2] for load in (0.1, 0.5)]
    suite = markdown(
        ["routing, load", "latency in cycles", "routers visited"],
        [[f"{of[1]}, {load}", row["cycles"], row["routers"]] for of, load, row in known],
    )
    return {"latency": latency, "sensitivity": sensitivity, "summary": summary, "suite": suite}


def figures(rows: list[Row], folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        2, 2, figsize=(10, 6.6), sharex="col", layout="constrained", height_ratios=(2, 1)
    )
    for column, pattern in enumerate(PATTERNS):
        latency, difference = panels[:, column]
        for routing, colour, marker in zip(ROUTINGS, COLOURS, "os^", strict=False):
            if (pattern, routing) not in LOADS:
                continue
            for variant, style in (("base", "-"), ("flit", ":")):
                of = [
                    row
                    for row in select(rows, variant=variant, pattern=pattern, routing=routing)
                    if steady(row)
                ]
                latency.plot(
                    [float(row["load"]) for row in of],
                    [float(row["cycles"]) for row in of],
                    marker + style,
                    color=colour,
                    label=routing if variant == "base" else None,
                )
            theirs = [
                row
                for row in select(read_table(HERE, "booksim"), pattern=pattern, routing=routing)
                if steady(row)
            ]
            latency.plot(
                [float(row["load"]) for row in theirs],
                [float(row["cycles"]) for row in theirs],
                "x",
                color="black",
                markersize=8,
            )
            if (pattern, routing) in COMPARED:
                loads = compared((pattern, routing))
                for variant, style in (("base", "-"), ("flit", ":")):
                    values = [off(rows, "cycles", (pattern, routing), load, variant) for load in loads]
                    label = routing if variant == "base" else None
                    difference.plot(loads, values, marker + style, color=colour, label=label)
        latency.plot([], [], "x", color="black", label="BookSim 2")
        latency.set(title=f"{pattern} traffic", ylabel="mean packet latency (cycles)", ylim=(0, None))
        difference.axhline(0, color="#888888", linewidth=1)
        difference.set(
            xlabel="offered load (flits per host and cycle)", ylabel="difference (%)", ylim=(-12, 6)
        )
        for panel in (latency, difference):
            panel.grid(color="#DDDDDD")
            panel.legend()
    figure.suptitle("solid lines: packet; dotted lines: flit")
    figure.savefig(folder / "latency.png", dpi=110)


if __name__ == "__main__":
    Study(HERE, cases, measure, checks, blocks, figures).main()
