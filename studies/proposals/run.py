"""Whether the runs that a verdict proposes make the job faster: 20 small cases, each explained.

See README.md; ``studies/study.py`` has the options.
"""

import statistics
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from study import COLOURS, ROOT, Case, Check, Row, Study, at_least, markdown, select  # noqa: E402

TRACES = ROOT / "examples/traces"
# A proposal helps if the job is faster by at least this part.
HELPED = 0.02
BASE = "as it is"

DRAGONFLY = 'kind = "dragonfly", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2'
FAT_TREE = 'kind = "fat-tree", down = [8, 8], up = [8]'
TAPERED = 'kind = "fat-tree", down = [8, 8], up = [2]'
TORUS = 'kind = "torus", sizes = [4, 4], hosts_per_router = 2'
HYPERX = 'kind = "hyperx", shape = [4, 4], hosts_per_router = 2'
# Topology and routing.
NETWORKS = {
    "dragonfly": (DRAGONFLY, "minimal"),
    "dragonfly, ugal": (DRAGONFLY, "ugal"),
    "fat tree": (FAT_TREE, "adaptive"),
    "tapered tree": (TAPERED, "destination-mod-k"),
    "torus": (TORUS, "dimension-order"),
    "HyperX": (HYPERX, "dimension-order"),
}
HALO = 'motif = "halo3d-26", ranks = {ranks}, nx = 64, ny = 64, nz = 64, barriers = false, iterations = 2'
EXCHANGE = 'motif = "all-to-all", ranks = {ranks}, bytes = "32 KiB"'
SMALL = 'motif = "allreduce", ranks = {ranks}, bytes = "8 B", iterations = 20'
IMBALANCED = (
    'motif = "phases", ranks = {ranks}, iterations = 5, phases = [{{ compute = "200 us", imbalance = 0.5 }}, '
    '{{ collective = "allreduce", bytes = "1 KiB" }}]'
)
SWEEP = 'motif = "sweep3d", ranks = {ranks}, nz = 20, compute_per_cell = "1 ns", barriers = false'
INCAST = f'dumpi = "{TRACES}/dumpi-ember-incast-16"'
NARROW_GLOBAL = 'links = { global = { bandwidth = "10 Gbps" } }'
NARROW_HOST = 'links = { host = { bandwidth = "10 Gbps" } }'
LONG_CABLES = 'link = { bandwidth = "100 Gbps", latency = "5 us" }'
SLOW_CALLS = '[mpi]\nsend_overhead = "5 us"\nreceive_overhead = "5 us"\n'
# Name of the case: network, workload, ranks, placement, more keys of the network, tables, keys of the job.
CASES: dict[str, tuple[str, str, int, str, str, str, str]] = {
    "narrow global links, halo, linear": ("dragonfly", HALO, 32, "linear", NARROW_GLOBAL, "", ""),
    "narrow global links, halo, random": ("dragonfly", HALO, 32, "random", NARROW_GLOBAL, "", ""),
    "narrow global links, all-to-all": ("dragonfly", EXCHANGE, 32, "linear", NARROW_GLOBAL, "", ""),
    "narrow global links, all-to-all, full": ("dragonfly", EXCHANGE, 72, "linear", NARROW_GLOBAL, "", ""),
    "narrow global links, halo, ugal": ("dragonfly, ugal", HALO, 32, "random", NARROW_GLOBAL, "", ""),
    "narrow host links, all-to-all": ("dragonfly, ugal", EXCHANGE, 32, "random", NARROW_HOST, "", ""),
    "narrow host links, halo": ("fat tree", HALO, 32, "linear", NARROW_HOST, "", ""),
    "tapered, halo, linear": ("tapered tree", HALO, 32, "linear", "", "", ""),
    "tapered, halo, random": ("tapered tree", HALO, 32, "random", "", "", ""),
    "tapered, all-to-all, full": ("tapered tree", EXCHANGE, 64, "linear", "", "", ""),
    "torus, halo, random": ("torus", HALO, 16, "random", "", "", ""),
    "torus, all-to-all, full": ("torus", EXCHANGE, 32, "linear", "", "", ""),
    "HyperX, all-to-all": ("HyperX", EXCHANGE, 16, "random", "", "", ""),
    "long cables, small allreduce": ("torus", SMALL, 16, "random", LONG_CABLES, "", ""),
    "slow MPI calls, small allreduce": ("fat tree", SMALL, 32, "linear", "", SLOW_CALLS, ""),
    "imbalance": ("HyperX", IMBALANCED, 16, "linear", "", "", ""),
    "chain of computations": ("fat tree", SWEEP, 16, "linear", "", "", ""),
    "one host": ("fat tree", EXCHANGE, 16, "linear", "", "", "ranks_per_host = 16"),
    "recorded incast": ("fat tree", INCAST, 16, "linear", "", "", 'compute = "off"'),
    "ring of a schedule": ("torus", f'goal = "{TRACES}/goal-ring-6/ring.goal"', 6, "linear", "", "", ""),
}
# Cases of the smoke run, and those of its part.
SMOKE = ["narrow global links, all-to-all", "slow MPI calls, small allreduce", "imbalance", "one host"]
PART = SMOKE[:3]


def case(name: str) -> Case:
    network, workload, ranks, placement, links, tables, job = CASES[name]
    topology, routing = NETWORKS[network]
    link = "" if links.startswith("link =") else 'link = { bandwidth = "100 Gbps", latency = "50 ns" }'
    return Case(
        {"case": name, "proposal": BASE},
        f"""
[network]
topology = {{ {topology} }}
routing = {{ algorithm = "{routing}" }}
{link}
{links}
packet = "2 KiB"
{tables}
[[job]]
name = "job"
workload = {{ {workload.format(ranks=ranks)} }}
placement = "{placement}"
{job}
[collect]
series = "off"
timeline = true
waits = true
""",
        explained=True,
    )


def cases(smoke: bool) -> list[Case]:
    return [case(name) for name in (SMOKE if smoke else CASES)]


def proposed(case: Case, summary: dict) -> list[Case]:
    """The runs that the verdict of a case proposes."""
    found = []
    for comparison in summary["verdict"]["comparisons"]:
        options = ["--set", "collect.timeline=false", "--set", "collect.waits=false"]
        for changed in comparison["set"]:
            options += ["--set", f"{changed['key']}={changed['value']}"]
        columns = case.columns | {"proposal": comparison["differs"].split(":")[0]}
        found.append(Case(columns, case.experiment, tuple(options)))
    return found


def measure(summary: dict, result: Path | None) -> dict[str, object]:
    job = summary["jobs"][0]
    bound_by = job["bound_by"]
    shares = {name: bound_by[name] for name in ("computation", "imbalance", "overhead", "latency", "memory")}
    shares |= {f"{link['class']} links": link["share"] for link in bound_by["links"]}
    bound = max(shares, key=lambda name: shares[name])
    return {"bound": bound, "share": f"{shares[bound]:.3f}", "time_us": f"{job['time_ns'] / 1e3:.3f}"}


def gains(rows: list[Row]) -> list[tuple[Row, float]]:
    """Each proposal with the part of the time that it saves; negative if it costs time."""
    before = {row["case"]: float(row["time_us"]) for row in select(rows, proposal=BASE)}
    proposals = [row for row in rows if row["proposal"] != BASE]
    return [(row, 1 - float(row["time_us"]) / before[row["case"]]) for row in proposals]


def helped(rows: list[Row]) -> float:
    """The share of proposals that help."""
    found = [gain for _, gain in gains(rows)]
    return sum(gain >= HELPED for gain in found) / len(found)


def checks(rows: list[Row], smoke: bool) -> list[Check]:
    named = {row["case"] for row, gain in gains(rows) if gain >= HELPED}
    all_cases = [row["case"] for row in select(rows, proposal=BASE)]
    without = [name for name in all_cases if name not in named]
    text = "; ".join(without) or "none"
    return [
        at_least("share of proposals that help", helped(rows), 0.5),
        Check("cases without a proposal that helps: at most two", text, len(without) <= 2),
    ]


def blocks(rows: list[Row]) -> dict[str, str]:
    found = gains(rows)
    helping = [gain for _, gain in found if gain >= HELPED]
    failed = sorted((gain, row["case"], row["proposal"]) for row, gain in found if gain < HELPED)
    cases = select(rows, proposal=BASE)
    share = (
        f"The verdicts of {len(cases)} cases make {len(found)} proposals. {len(helping)} of them, "
        f"{helped(rows):.0%}, make the job faster by at least {HELPED:.0%}; the median gain of all proposals "
        f"is {statistics.median(gain for _, gain in found):.0%} of the time."
    ).replace("%", " %")
    lines = []
    for row in cases:
        of_case = [(other["proposal"], gain) for other, gain in found if other["case"] == row["case"]]
        listed = "; ".join(f"{name}: {gain:+.1%}".replace("%", " %") for name, gain in of_case) or "none"
        lines.append([row["case"], row["bound"], f"{float(row['share']):.1%}".replace("%", " %"), listed])
    header = ["case", "largest bound", "its share", "proposals, with the part of the time that each saves"]
    not_helping = [[case, name, f"{gain:+.1%}".replace("%", " %")] for gain, case, name in failed]
    return {
        "share": share,
        "cases": markdown(header, lines),
        "failed": markdown(["case", "proposal", "saves"], not_helping) if failed else "All proposals helped.",
    }


def figures(rows: list[Row], folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    found = sorted(gain for _, gain in gains(rows))
    figure, panel = plt.subplots(figsize=(7, 3), layout="constrained")
    colours = [COLOURS[2] if gain >= HELPED else COLOURS[1] for gain in found]
    panel.bar(range(1, len(found) + 1), [100 * gain for gain in found], color=colours)
    panel.axhline(0, color="#000000", linewidth=0.8)
    panel.set(xlabel="proposals, by what they save", ylabel="% of the job's time saved")
    figure.savefig(folder / "gains.png", dpi=100)


STUDY = Study(
    HERE,
    cases,
    measure,
    checks,
    blocks,
    figures,
    followers=proposed,
    in_part=lambda case: case.columns["case"] in PART,
)

if __name__ == "__main__":
    STUDY.main()
