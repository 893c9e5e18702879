"""One switch: what it accepts when all hosts send all the time, and how long packets wait at a link.

Run ``make build python`` first, then ``.venv/bin/pip install matplotlib`` and
``.venv/bin/python studies/single-switch/run.py``. Writes ``saturation.csv``, ``waiting.csv``, ``switch.png``
beside itself, prints the tables, and fails where a tolerance is exceeded. ``FABRICSIM`` in the environment
names another binary.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
FABRICSIM = Path(os.environ.get("FABRICSIM", HERE.parent.parent / "target/release/fabricsim"))

PORTS = [2, 4, 8, 16, 32, 64]
# Table I of Karol, Hluchyj and Morgan (1987); the limit of many ports is 2 - sqrt(2).
KAROL = {2: 0.75, 4: 0.6553, 8: 0.6184}
LIMIT = 2 - 2**0.5
# The chain of a switch of more ports has too many states.
MOST_PORTS_SOLVED = 32
MODELS = {
    "input-queued, random": ["model=input-queued", "arbiter=random"],
    "input-queued, round-robin": ["model=input-queued", "arbiter=round-robin"],
    "packet": ["model=packet"],
}
LOADS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
# 256 B at 100 Gbps, and the two cables of a packet's way, in ns.
SERVICE = 20.48
CABLES = 2.0
# Hosts, self included or not, simulated time and warm-up of the two kinds of waiting.
ONE_QUEUE = (2, False, "40 ms", "1 ms")
TWO_QUEUES = (32, True, "4 ms", "200 us")
# Largest differences, as fractions.
TOLERANCES = {"saturation": 0.005, "output queues": 0.02, "one queue": 0.03, "two queues": 0.03}


def run(settings: list[str]) -> dict:
    """Summary of one run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(FABRICSIM), "run", str(HERE / "switch.toml"), "--json", "--out", f"{folder}/result"]
        for setting in settings:
            command += ["--set", setting]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        return json.loads(done.stdout)


def chain(ports: int) -> float:
    """Throughput of Karol's saturated switch: the chain of how many first packets want each output.

    A state is how often each number occurs among the outputs. In a slot each output that is wanted takes one
    packet, and the packet behind it wants any output with equal probability.
    """

    def add(state: tuple[int, ...]) -> list[tuple[tuple[int, ...], float]]:
        numbers = Counter(state)
        numbers[0] = ports - len(state)
        grown = []
        for number, outputs in numbers.items():
            rest = list(state)
            if number:
                rest.remove(number)
            grown.append((tuple(sorted([*rest, number + 1])), outputs / ports))
        return grown

    successors: dict = {}
    states = {(1,) * ports: 1.0}
    throughput, before = 0.0, 1.0
    while abs(throughput - before) > 1e-7:
        before = throughput
        throughput = sum(p * len(state) for state, p in states.items()) / ports
        # By packets that have chosen so far; outputs that nobody wants are left out.
        chosen: list = [defaultdict(float) for _ in range(ports + 1)]
        for state, p in states.items():
            left = tuple(number - 1 for number in state if number > 1)
            chosen[sum(left)][left] += p
        for packets in range(ports):
            for state, p in chosen[packets].items():
                if state not in successors:
                    successors[state] = add(state)
                for grown, share in successors[state]:
                    chosen[packets + 1][grown] += p * share
        states = chosen[ports]
    return throughput


def saturation() -> list[dict]:
    """Accepted load of each model by number of ports, at full load."""
    rows = []
    for ports in PORTS:
        row: dict = {"ports": ports}
        row["karol"] = KAROL.get(ports)
        row["chain"] = round(chain(ports), 5) if ports <= MOST_PORTS_SOLVED else None
        for name, model in MODELS.items():
            settings = [f"network.topology.hosts_per_router={ports}"]
            settings += [f"network.router.{setting}" for setting in model]
            row[name] = round(run(settings)["network"]["accepted_load"], 5)
        print(row, file=sys.stderr)
        rows.append(row)
    return rows


def waiting() -> list[dict]:
    """Mean waiting of a packet in units of its service time, beside that of M/D/1."""
    rows = []
    for load in LOADS:
        row: dict = {"load": load, "M/D/1": round(load / (2 * (1 - load)), 5)}
        for name, (hosts, to_self, until, warmup) in {"one": ONE_QUEUE, "two": TWO_QUEUES}.items():
            settings = [f"network.topology.hosts_per_router={hosts}", f"job.0.traffic.load={load}"]
            settings += [f"job.0.traffic.include_self={str(to_self).lower()}"]
            settings += [f"run.until={until}", f"run.warmup={warmup}"]
            mean = run(settings)["network"]["latency_ns"]["mean"]
            row[f"{name} queue" + "s" * (name == "two")] = round((mean - CABLES - SERVICE) / SERVICE, 5)
        # The stream into an output comes over N links, each of which brings one packet at a time.
        row["at the output"] = round(row["two queues"] - row["M/D/1"], 5)
        row["(N-1)/N M/D/1"] = round(row["M/D/1"] * (1 - 1 / TWO_QUEUES[0]), 5)
        print(row, file=sys.stderr)
        rows.append(row)
    return rows


def check(found: list[dict], waits: list[dict]) -> None:
    """Fails where a result is outside its tolerance, and says by how much each kind differs."""
    worst: dict = defaultdict(float)
    for row in found:
        reference = row["chain"] or row["input-queued, random"]
        if row["karol"]:
            assert abs(reference - row["karol"]) < 1e-4, f"the chain is not Karol's: {row}"
        for name in ["input-queued, random", "input-queued, round-robin"]:
            worst["saturation"] = max(worst["saturation"], abs(row[name] / reference - 1))
            assert row[name] > LIMIT, f"below the limit of many ports: {row}"
        worst["output queues"] = max(worst["output queues"], abs(row["packet"] - 1))
    for row in waits:
        worst["one queue"] = max(worst["one queue"], abs(row["one queue"] / row["M/D/1"] - 1))
        both = row["M/D/1"] + row["(N-1)/N M/D/1"]
        worst["two queues"] = max(worst["two queues"], abs(row["two queues"] / both - 1))
    for kind, difference in worst.items():
        print(
            f"{kind}: largest difference {100 * difference:.2f} %, tolerance {100 * TOLERANCES[kind]:.1f} %"
        )
    failed = [kind for kind, difference in worst.items() if difference > TOLERANCES[kind]]
    if failed:
        sys.exit(f"outside the tolerance: {', '.join(failed)}")


def write(name: str, rows: list[dict]) -> None:
    """One table, as a file and in Markdown for the README."""
    with (HERE / name).open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    print("| " + " | ".join(rows[0]) + " |\n|" + " --- |" * len(rows[0]))
    for row in rows:
        texts = [
            "" if value is None else str(value) if i == 0 else f"{value:.4f}"
            for i, value in enumerate(row.values())
        ]
        print("| " + " | ".join(texts) + " |")
    print()


def draw(found: list[dict], waits: list[dict]) -> None:
    """Saturation over ports, waiting over load."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4))
    ports = [row["ports"] for row in found]
    left.axhline(LIMIT, color="#8C959F", linestyle="--", linewidth=1)
    left.text(ports[-1], LIMIT - 0.035, "2 - √2 = 0.5858", ha="right", color="#57606A", fontsize=9)
    left.plot(ports, [row["packet"] for row in found], "s-", color="#009E73", label="packet (output queues)")
    solved = [row for row in found if row["chain"]]
    left.plot([r["ports"] for r in solved], [r["chain"] for r in solved], "k-", label="Karol et al., solved")
    left.plot(
        ports, [r["input-queued, random"] for r in found], "o", color="#0072B2", label="input-queued, random"
    )
    label = "input-queued, round-robin"
    left.plot(ports, [r[label] for r in found], "x", color="#D55E00", label=label)
    left.set_xscale("log", base=2)
    left.set_xticks(ports, [str(n) for n in ports])
    left.set_ylim(0.5, 1.05)
    left.set_xlabel("ports")
    left.set_ylabel("accepted load when all hosts send all the time")
    left.legend(frameon=False, loc="center right")

    loads = [row["load"] for row in waits]
    right.plot(loads, [row["M/D/1"] for row in waits], "k-", label="M/D/1: ρ / 2(1 - ρ)")
    right.plot(loads, [row["one queue"] for row in waits], "o", color="#0072B2", label="at an injection link")
    label = f"at an output of {TWO_QUEUES[0]} ports"
    right.plot(loads, [row["at the output"] for row in waits], "x", color="#D55E00", label=label)
    right.set_yscale("log")
    right.set_xlabel("load ρ")
    right.set_ylabel("mean waiting in packet times")
    right.legend(frameon=False)
    for panel in (left, right):
        panel.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(HERE / "switch.png", dpi=130)


def main() -> None:
    if not FABRICSIM.exists():
        sys.exit(f"{FABRICSIM} is missing: make build")
    found, waits = saturation(), waiting()
    write("saturation.csv", found)
    write("waiting.csv", waits)
    draw(found, waits)
    check(found, waits)


if __name__ == "__main__":
    main()
