#!/usr/bin/env python3
"""Two threads against one, while another program has one of the two cores.

``benches/busy_core.py`` restricts itself to two cores, and starts a program that never waits and is pinned to
the first of them. Then it runs each case with one thread and with two, in turn, with each executor, and once
more without the other program. It prints rows of ``records/busy_core.csv``: medians of the ratio within each
round, so that the changing speed of the machine cancels out, and the share of the time on two threads.

Nothing else may run on the two cores.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

NETWORK = """
link = { bandwidth = "100 Gbps", latency = "50 ns" }
router = { delay = "100 ns", buffer = "100 KB" }
packet = "256 B"
"""

CASES = {
    "torus 4x4": f"""
[network]
topology = {{ kind = "torus", sizes = [4, 4] }}
routing = {{ algorithm = "dimension-order" }}
{NETWORK}
[[job]]
traffic = {{ pattern = "uniform", load = 0.5 }}
[run]
until = "12 ms"
""",
    "dragonfly of 1,056 hosts": f"""
[network]
topology = {{ kind = "dragonfly", hosts_per_router = 4, routers_per_group = 8, global_links_per_router = 4 }}
routing = {{ algorithm = "minimal" }}
{NETWORK}
[[job]]
traffic = {{ pattern = "uniform", load = 0.5 }}
[run]
until = "250 us"
""",
    "halo exchange, 1,024 ranks": f"""
[network]
topology = {{ kind = "dragonfly", hosts_per_router = 4, routers_per_group = 8, global_links_per_router = 4 }}
routing = {{ algorithm = "minimal" }}
{NETWORK}
[[job]]
workload = {{ motif = "halo3d-26", pex = 16, pey = 8, pez = 8, nx = 40, ny = 40, nz = 40, iterations = 20 }}
""",
}

EXECUTORS = ["conservative", "optimistic"]


@contextlib.contextmanager
def busy_program(core: int) -> Iterator[None]:
    """A program that never waits, on this core."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        os.sched_setaffinity(process.pid, {core})
        try:
            yield
        finally:
            process.kill()


def run(
    fabricsim: Path, experiment: Path, executor: str, threads: int, folder: Path
) -> tuple[float, float, str]:
    """Wall-clock seconds of a run, the part of them on ``threads`` threads, and its digest."""
    out = folder / f"{executor}-{threads}"
    command = [fabricsim, "run", experiment, "--executor", executor, "--threads", str(threads)]
    subprocess.run([*command, "--out", out, "--force"], check=True, stdout=subprocess.DEVNULL)
    summary = json.loads((out / "summary.json").read_text())
    cost = summary["run"]
    used = cost.get("fewer_threads", [])
    asked = [gear["wall_s"] for gear in used if gear["threads"] == threads]
    part = sum(asked) / sum(gear["wall_s"] for gear in used) if used else 1.0
    return cost["wall_s"], part, summary["digest"]


def measure(
    fabricsim: Path, experiment: Path, executor: str, rounds: int, folder: Path
) -> tuple[float, float, float]:
    """Medians over rounds: seconds on one thread, two threads over one, and the part of the time on two."""
    ones, ratios, parts = [], [], []
    for _ in range(rounds):
        one, _, digest = run(fabricsim, experiment, executor, 1, folder)
        two, part, same = run(fabricsim, experiment, executor, 2, folder)
        if digest != same:
            sys.exit(f"{experiment.name}: {executor} has another digest on two threads")
        ones.append(one)
        ratios.append(two / one)
        parts.append(part)
    return statistics.median(ones), statistics.median(ratios), statistics.median(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description="Two threads against one, beside a busy program.")
    parser.add_argument(
        "--fabricsim", type=Path, default=Path("target/release/fabricsim"), help="the program"
    )
    parser.add_argument("--cores", type=int, nargs=2, default=[0, 1], help="the two cores (default: 0 1)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each case (default: 5)")
    parser.add_argument("--case", default="", help="only cases whose name contains this text")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, set(arguments.cores))
    print("# case, one thread s, two over one alone, busy, part of the time on two threads")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case, text in CASES.items():
            if arguments.case not in case:
                continue
            experiment = folder / "experiment.toml"
            experiment.write_text(text)
            for executor in EXECUTORS:
                alone = measure(arguments.fabricsim, experiment, executor, arguments.rounds, folder)
                with busy_program(arguments.cores[0]):
                    busy = measure(arguments.fabricsim, experiment, executor, arguments.rounds, folder)
                numbers = [alone[0], alone[1], busy[1], busy[2]]
                cells = [f'"{case}, {executor}"', *(f"{number:.2f}" for number in numbers)]
                print(",".join(cells), flush=True)


if __name__ == "__main__":
    main()
