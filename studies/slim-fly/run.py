"""Slim Fly q = 13: accepted over offered load, as in figures of Wolfe et al. 2016.

``make``, ``.venv/bin/pip install matplotlib`` once, then ``.venv/bin/python studies/slim-fly/run.py`` (some
ten minutes). Writes ``table.csv`` and ``throughput.png`` beside itself.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import sweep  # noqa: E402

# The paper gives loads as parts of this part of the injection bandwidth.
FULL = 0.71
ROUTINGS = {
    "minimal": 'algorithm = "minimal"',
    "Valiant": 'algorithm = "valiant"',
    "UGAL": 'algorithm = "ugal", candidates = 3, weight = 1',
}
PATTERNS = {"uniform": 'pattern = "uniform"', "worst case": 'pattern = "adversarial"'}
LOADS = {
    ("minimal", "uniform"): [0.25, 0.5, 0.75, 0.9, 1.0],
    ("Valiant", "uniform"): [0.25, 0.5, 0.65, 0.8, 1.0],
    ("UGAL", "uniform"): [0.25, 0.5, 0.75, 0.9, 1.0],
    ("minimal", "worst case"): [0.05, 0.1, 0.5, 1.0],
    ("Valiant", "worst case"): [0.25, 0.5, 0.65, 0.8, 1.0],
    ("UGAL", "worst case"): [0.25, 0.5, 0.65, 0.8, 1.0],
}


def network_and_job(routing: str, pattern: str, load: float) -> str:
    return f"""
[network]
topology = {{ kind = "slim-fly", q = 13, hosts_per_router = 9 }}
routing = {{ {ROUTINGS[routing]} }}
link = {{ bandwidth = "100 Gbps", latency = "50 ns" }}
router = {{ delay = "100 ns", buffer = "100 KB" }}
packet = "256 B"
[[job]]
traffic = {{ {PATTERNS[pattern]}, load = {load * FULL:.4f} }}
"""


def experiment(routing: str, pattern: str, load: float) -> str:
    return (
        network_and_job(routing, pattern, load)
        + """[run]
until = "220 us"
warmup = "20 us"
"""
    )


def main() -> None:
    cases = [
        ({"pattern": pattern, "routing": routing, "load": load}, experiment(routing, pattern, load))
        for (routing, pattern), loads in LOADS.items()
        for load in loads
    ]
    rows = sweep.sweep(cases)
    for row in rows:
        row["accepted_of_full"] = f"{float(row['accepted']) / FULL:.4f}"
    sweep.write(rows, HERE / "table.csv")
    figure, panels = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True)
    for panel, pattern in zip(panels, PATTERNS, strict=True):
        panel.plot([0, 1], [0, 1], color="#BBBBBB", linewidth=1)
        for routing, colour in zip(ROUTINGS, sweep.COLOURS, strict=False):
            of = [row for row in rows if (row["routing"], row["pattern"]) == (routing, pattern)]
            accepted = [float(row["accepted_of_full"]) for row in of]
            panel.plot([row["load"] for row in of], accepted, "o-", color=colour, label=routing)
        panel.set(title=pattern, xlabel="offered load, parts of 71 Gbps per host")
        panel.grid(color="#DDDDDD")
        panel.legend()
    panels[0].set_ylabel("accepted load, parts of 71 Gbps per host")
    figure.tight_layout()
    figure.savefig(HERE / "throughput.png", dpi=110)


if __name__ == "__main__":
    main()
