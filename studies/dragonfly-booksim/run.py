"""Dragonfly of 1,056 hosts: latency over load beside what BookSim 2 gives for the same network.

``make``, ``.venv/bin/pip install matplotlib`` once, then
``.venv/bin/python studies/dragonfly-booksim/run.py`` (a few minutes). Writes ``table.csv`` and
``latency.png`` beside itself; ends with an error if a latency or a number of routers below saturation is
more than 8 % off, or what minimal routing accepts of the worst case.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import sweep  # noqa: E402

# Half of the bias of BookSim, 30 flits, as its loads count a flit that is under way and its credit.
ROUTINGS = {
    "minimal": ('algorithm = "minimal"', 2),
    "UGAL": ('algorithm = "ugal", bias = "960 B"', 4),
}
PATTERNS = {
    "uniform": 'pattern = "uniform", include_self = true',
    "worst case": 'pattern = "adversarial", offset = 1',
}
# Mean latency in cycles and mean routers visited, measured with BookSim 2 (28f4329).
BOOKSIM = {
    ("uniform", "minimal", 0.001): (124.9, 3.70),
    ("uniform", "minimal", 0.1): (124.7, 3.69),
    ("uniform", "minimal", 0.5): (127.0, 3.69),
    ("uniform", "UGAL", 0.1): (124.8, 3.69),
    ("uniform", "UGAL", 0.5): (141.6, 4.08),
    ("worst case", "minimal", 0.02): (128.9, 3.76),
    ("worst case", "UGAL", 0.1): (307.0, 5.75),
}
# Accepted load where BookSim 2 is saturated.
BOOKSIM_ACCEPTED = {
    ("uniform", "minimal", 0.9): 0.755,
    ("worst case", "minimal", 0.1): 0.0312,
}
# Routers of the model `packet` have no allocator, which is what saturates BookSim's there: see the README.
NOT_COMPARED = ("uniform", "minimal", 0.9)
# Largest difference, as a part of BookSim's value.
OFF = 0.08
LOADS = {
    ("uniform", "minimal"): [0.001, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9],
    ("uniform", "UGAL"): [0.1, 0.3, 0.5, 0.7, 0.8, 0.9],
    ("worst case", "minimal"): [0.01, 0.02, 0.03, 0.1],
    ("worst case", "UGAL"): [0.05, 0.1, 0.2, 0.3, 0.4],
}


def experiment(routing: str, pattern: str, load: float) -> str:
    """A cycle is 1 ns, a flit a packet of 32 B; a channel of d cycles takes d + 1, a router one more."""
    parameters, vcs = ROUTINGS[routing]
    # More than a hundred thousand packets are measured at any load.
    span = 200 if load < 0.01 else 40 if load < 0.05 else 12
    return f"""
[network]
topology = {{ kind = "dragonfly", hosts_per_router = 4, routers_per_group = 8, global_links_per_router = 4 }}
routing = {{ {parameters} }}
link = {{ bandwidth = "256 Gbps", latency = "2 ns" }}
links.local = {{ latency = "11 ns" }}
links.global = {{ latency = "101 ns" }}
router = {{ delay = "1 ns", buffer = "{vcs * 256 * 32} B" }}
packet = "32 B"
[[job]]
traffic = {{ {PATTERNS[pattern]}, arrival = "bernoulli", load = {load} }}
[run]
until = "{span} us"
warmup = "{span / 4} us"
"""


def main() -> None:
    cases = [
        ({"pattern": pattern, "routing": routing, "load": load}, experiment(routing, pattern, load))
        for (pattern, routing), loads in LOADS.items()
        for load in loads
    ]
    rows = sweep.sweep(cases)
    wrong, compared = [], 0
    for row in rows:
        # The serialisation onto the last link, which BookSim's channels have in their d + 1.
        cycles = float(row["latency_ns"]) - 1
        row["cycles"], row["routers"] = f"{cycles:.1f}", f"{float(row['hops']) + 1:.3f}"
        key = (row["pattern"], row["routing"], row["load"])
        row["booksim_cycles"], row["booksim_routers"], row["difference_percent"] = "", "", ""
        row["booksim_accepted"] = BOOKSIM_ACCEPTED.get(key, "")
        pairs = []
        if key in BOOKSIM:
            row["booksim_cycles"], row["booksim_routers"] = known = BOOKSIM[key]
            row["difference_percent"] = f"{100 * (cycles / known[0] - 1):.1f}"
            pairs = [(cycles, known[0]), (float(row["hops"]) + 1, known[1])]
        elif key in BOOKSIM_ACCEPTED and key != NOT_COMPARED:
            pairs = [(float(row["accepted"]), BOOKSIM_ACCEPTED[key])]
        compared += bool(pairs)
        if any(abs(ours / theirs - 1) > OFF for ours, theirs in pairs):
            wrong.append(row)
        del row["latency_ns"], row["hops"]
    sweep.write(rows, HERE / "table.csv")
    figure, panels = plt.subplots(1, 2, figsize=(10, 4.2))
    for panel, pattern in zip(panels, PATTERNS, strict=True):
        for routing, colour in zip(ROUTINGS, sweep.COLOURS, strict=False):
            of = [row for row in rows if (row["pattern"], row["routing"]) == (pattern, routing)]
            # Saturated runs have no steady latency.
            steady = [row for row in of if float(row["accepted"]) > 0.98 * row["load"]]
            latencies = [float(row["cycles"]) for row in steady]
            panel.plot([row["load"] for row in steady], latencies, "o-", color=colour, label=routing)
            both = [row for row in of if row["booksim_cycles"] != ""]
            booksim = [row["booksim_cycles"] for row in both]
            panel.plot([row["load"] for row in both], booksim, "x", color="black", markersize=9)
        panel.plot([], [], "x", color="black", label="BookSim 2")
        panel.set(title=pattern, xlabel="load, flits per host and cycle", ylabel="latency in cycles")
        panel.set_ylim(bottom=0)
        panel.grid(color="#DDDDDD")
        panel.legend()
    figure.tight_layout()
    figure.savefig(HERE / "latency.png", dpi=110)
    for row in wrong:
        print(f"more than {OFF:.0%} off:", row)
    expected = len({*BOOKSIM, *BOOKSIM_ACCEPTED} - {NOT_COMPARED})
    if compared != expected:
        print(f"{compared} of {expected} of BookSim's cases were compared")
    if wrong or compared != expected:
        sys.exit(1)


if __name__ == "__main__":
    main()
