"""Throughput over load of minimal and non-minimal routing on three networks.

``make``, ``.venv/bin/pip install matplotlib`` once, then ``.venv/bin/python studies/non-minimal/run.py``
(a few minutes). Writes ``table.csv``, ``limits.csv`` and ``throughput.png`` beside itself.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import sweep  # noqa: E402

NETWORKS = {
    "dragonfly": (
        'kind = "dragonfly", hosts_per_router = 3, routers_per_group = 6, global_links_per_router = 3'
    ),
    "dragonfly-plus": (
        'kind = "dragonfly-plus", hosts_per_leaf = 4, leaves_per_group = 4, global_links_per_spine = 4'
    ),
    "HyperX": 'kind = "hyperx", shape = [6, 6], hosts_per_router = 6',
}
ROUTINGS = ["minimal", "valiant", "ugal", "piggyback", "par"]
PATTERNS = ["uniform", "adversarial"]
LOADS = [0.1, 0.3, 0.5, 0.7, 0.9]


def experiment(network: str, routing: str, pattern: str, load: float) -> str:
    return f"""
[network]
topology = {{ {NETWORKS[network]} }}
routing = {{ algorithm = "{routing}" }}
link = {{ bandwidth = "100 Gbps", latency = "50 ns" }}
router = {{ delay = "100 ns", buffer = "100 KB" }}
packet = "256 B"
[[job]]
traffic = {{ pattern = "{pattern}", load = {load} }}
[run]
until = "60 us"
warmup = "20 us"
"""


def limits() -> list[dict]:
    """What the network allows at most, of the algorithms that do not look at loads."""
    rows = []
    for network in NETWORKS:
        for pattern in PATTERNS:
            for routing in ["minimal", "valiant"]:
                job = sweep.check(experiment(network, routing, pattern, 0.5))["bounds"]["jobs"][0]
                rows.append(
                    {
                        "network": network,
                        "pattern": pattern,
                        "routing": routing,
                        "limit": f"{job['throughput']:.4f}",
                        "limited_by": job["limited_by"],
                    }
                )
    return rows


def main() -> None:
    cases = [
        (
            {"network": network, "pattern": pattern, "routing": routing, "load": load},
            experiment(network, routing, pattern, load),
        )
        for network in NETWORKS
        for pattern in PATTERNS
        for routing in ROUTINGS
        # Reports of loads are for networks of groups.
        if not (network == "HyperX" and routing == "piggyback")
        for load in LOADS
    ]
    rows, ideal = sweep.sweep(cases), limits()
    sweep.write(rows, HERE / "table.csv")
    sweep.write(ideal, HERE / "limits.csv")
    figure, panels = plt.subplots(len(PATTERNS), len(NETWORKS), figsize=(12, 7), sharex=True, sharey=True)
    for across, network in enumerate(NETWORKS):
        for down, pattern in enumerate(PATTERNS):
            panel = panels[down][across]
            panel.plot([0, 1], [0, 1], color="#BBBBBB", linewidth=1)
            for routing, colour in zip(ROUTINGS, sweep.COLOURS, strict=False):
                key = (network, pattern, routing)
                of = [row for row in rows if (row["network"], row["pattern"], row["routing"]) == key]
                accepted = [float(row["accepted"]) for row in of]
                panel.plot([row["load"] for row in of], accepted, "o-", color=colour, label=routing)
                for row in ideal:
                    if (row["network"], row["pattern"], row["routing"]) == key:
                        panel.axhline(float(row["limit"]), color=colour, linestyle="--", linewidth=1)
            panel.set(title=f"{network}, {pattern}", xlim=(0, 1), ylim=(0, 1.02))
            panel.grid(color="#DDDDDD")
    for panel in panels[-1]:
        panel.set_xlabel("offered load")
    for line in panels:
        line[0].set_ylabel("accepted load")
    panels[0][0].legend(title="dashed: limit")
    figure.tight_layout()
    figure.savefig(HERE / "throughput.png", dpi=100)


if __name__ == "__main__":
    main()
