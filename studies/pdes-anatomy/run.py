"""Where the time of a run goes: both parallel executors on threads and processes.

Run ``make mpi python`` first, then ``.venv/bin/pip install matplotlib`` and
``.venv/bin/python studies/pdes-anatomy/run.py``. Writes ``table.csv`` and ``anatomy.png`` beside itself and
prints the table.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
FABRICSIM = HERE.parent.parent / "target/release/fabricsim"
NETWORKS = {"dragonfly": "links of 50 ns", "short-links": "links of 10 ps between hosts and routers"}
EXECUTORS = ["conservative", "optimistic"]
# Processes, and threads of each.
MACHINES = [(1, 1), (1, 2), (2, 1), (4, 1)]
# Of several runs the fastest is taken: the machine is shared with others.
RUNS = 3
PHASES = {
    "processing": ("carrying out events", "#0072B2"),
    "queue": ("queue, mail, commit", "#E69F00"),
    "rollback": ("taking events back", "#D55E00"),
    "synchronisation": ("agreeing with others", "#56B4E9"),
    "idle": ("idle", "#8C959F"),
}
# More processes than cores take turns, and containers run as root (Open MPI; others ignore it).
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


def run(network: str, executor: str, processes: int, threads: int) -> dict:
    """Summary of one run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(FABRICSIM), "run", str(HERE / f"{network}.toml"), "--json"]
        command += ["--executor", executor, "--threads", str(threads), "--out", f"{folder}/result"]
        if processes > 1:
            command = ["mpirun", "-n", str(processes), *command]
        done = subprocess.run(command, env=os.environ | ENVIRONMENT, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        return json.loads(done.stdout)


def main() -> None:
    if not FABRICSIM.exists():
        sys.exit(f"{FABRICSIM} is missing: make mpi")
    rows = []
    for network in NETWORKS:
        # Runs of one machine next to each other, so that all of them meet the same weather.
        reference = run(network, "sequential", 1, 1)
        cases = [("sequential", 1, 1)] + [(e, p, t) for e in EXECUTORS for p, t in MACHINES]
        best: dict = {}
        for _ in range(RUNS):
            for case in cases:
                summary = run(network, *case)
                assert summary["digest"] == reference["digest"], f"{network}, {case}: another digest"
                if case not in best or summary["run"]["wall_s"] < best[case]["wall_s"]:
                    best[case] = summary["run"]
        for (executor, processes, threads), cost in best.items():
            rows.append(row(network, executor, processes, threads, cost))
    with (HERE / "table.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    print(markdown(rows))
    draw(rows)


def row(network: str, executor: str, processes: int, threads: int, cost: dict) -> dict:
    """One line of the table. Shares are those of all threads' time together."""
    seconds = {phase: sum(thread[phase] for thread in cost["thread_seconds"]) for phase in PHASES}
    total = sum(seconds.values())
    return {
        "network": network,
        "executor": executor,
        "processes": processes,
        "threads": threads,
        "wall_s": round(cost["wall_s"], 3),
        "cpu_s": round(cost["cpu_s"], 3),
        "events_committed": cost["events_committed"],
        "events_remote": cost["events_remote"],
        "efficiency": round(cost["efficiency"], 4),
        "primary_rollbacks": cost["primary_rollbacks"],
        "secondary_rollbacks": cost["secondary_rollbacks"],
        "anti_messages": cost["anti_messages"],
        "rounds": cost["windows"] + cost["gvt_rounds"],
        **{f"{phase}_share": round(seconds[phase] / total, 4) for phase in PHASES},
    }


def markdown(rows: list[dict]) -> str:
    """The table for the README."""
    titles = ["network", "executor", "on", "wall s", "CPU s", "efficiency", "rollbacks", "anti-messages"]
    titles += ["windows or GVTs", *PHASES]
    lines = ["| " + " | ".join(titles) + " |", "|" + " --- |" * len(titles)]
    for r in rows:
        cells = [r["network"], r["executor"], label(r), f"{r['wall_s']:.2f}", f"{r['cpu_s']:.2f}"]
        cells += [f"{r['efficiency']:.4f}", f"{r['primary_rollbacks'] + r['secondary_rollbacks']:,}"]
        cells += [f"{r['anti_messages']:,}", f"{r['rounds']:,}"]
        cells += [f"{100 * r[f'{phase}_share']:.0f} %" for phase in PHASES]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def label(r: dict) -> str:
    if r["processes"] > 1:
        return f"{r['processes']} processes"
    return f"{r['threads']} thread" + ("s" if r["threads"] > 1 else "")


def draw(rows: list[dict]) -> None:
    """Bars of shares, one panel per network, with the wall-clock time above each bar."""
    figure, panels = plt.subplots(1, len(NETWORKS), figsize=(12, 4.6), sharey=True)
    for panel, (network, title) in zip(panels, NETWORKS.items(), strict=True):
        mine = [r for r in rows if r["network"] == network and r["executor"] in EXECUTORS]
        places = [i + (i >= len(MACHINES)) for i in range(len(mine))]
        bottom = [0.0] * len(mine)
        for phase, (name, colour) in PHASES.items():
            shares = [100 * r[f"{phase}_share"] for r in mine]
            panel.bar(places, shares, bottom=bottom, color=colour, label=name, width=0.8)
            bottom = [b + s for b, s in zip(bottom, shares, strict=True)]
        for place, r in zip(places, mine, strict=True):
            panel.text(place, 101, f"{r['wall_s']:.2f} s", ha="center", fontsize=8)
        panel.set_xticks(places, [label(r) for r in mine], rotation=35, ha="right", fontsize=8)
        middle = (len(MACHINES) - 1) / 2
        for i, executor in enumerate(EXECUTORS):
            panel.text(middle + i * (len(MACHINES) + 1), 108, executor, ha="center", weight="bold")
        panel.set_title(title, pad=14)
        panel.set_ylim(0, 115)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("share of all threads' time in %")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="lower center", ncols=len(PHASES), frameon=False)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    figure.savefig(HERE / "anatomy.png", dpi=130)


if __name__ == "__main__":
    main()
