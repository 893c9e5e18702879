"""Runs of synthetic traffic for the studies: an experiment per case, two at a time, a row of results each."""

import concurrent.futures
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

FABRICSIM = Path(__file__).parent.parent / "target/release/fabricsim"
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]


def run(experiment: str, out: Path | None = None) -> dict:
    """Summary of the run of an experiment given as TOML; its result stays in ``out``, if that is given."""
    if not FABRICSIM.exists():
        sys.exit(f"{FABRICSIM} is missing: make")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "experiment.toml"
        file.write_text(experiment)
        result = out or Path(folder) / "result"
        command = [str(FABRICSIM), "run", str(file), "--json", "--out", str(result)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{experiment}\n{done.stderr}")
        return json.loads(done.stdout)


def check(experiment: str) -> dict:
    """What ``fabricsim check`` says of an experiment."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "experiment.toml"
        file.write_text(experiment)
        done = subprocess.run([str(FABRICSIM), "check", str(file), "--json"], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{experiment}\n{done.stderr}")
        return json.loads(done.stdout)


def sweep(cases: list[tuple[dict, str]], at_once: int = 2) -> list[dict]:
    """Runs all cases, each the columns that name it and its experiment, and adds what came out.

    Adds ``accepted`` (of the injection bandwidth), ``latency_ns`` (mean), ``hops`` (mean links between
    routers).
    """
    if not FABRICSIM.exists():
        sys.exit(f"{FABRICSIM} is missing: make")

    def number(value: float | None) -> float:
        return float("nan") if value is None else value

    def row(case: tuple[dict, str]) -> dict:
        network = run(case[1])["network"]
        found = {
            "accepted": f"{network['accepted_load']:.4f}",
            # Without a measured packet both are "nan".
            "latency_ns": f"{number(network['latency_ns']['mean']):.1f}",
            "hops": f"{number(network['mean_hops']) - 2:.4f}",
        }
        print(*case[0].values(), *found.values(), flush=True)
        return case[0] | found

    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(row, cases))


def write(rows: list[dict], file: Path) -> None:
    """Writes rows as CSV."""
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
