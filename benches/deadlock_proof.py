#!/usr/bin/env python3
"""Measures the deadlock proof of ``fabricsim check``, and prints rows of ``records/deadlock_proof.csv``.

Every registered pair of topology and routing with default parameters at about 1,024 hosts, and large
dragonflies and Dragonfly+. ``cpu_s`` is the processor time of the whole command. Exit status 1 if a proof is
missing, or takes more than 2 s (20 s on large networks).

Usage: ``benches/deadlock_proof.py target/release/fabricsim MACHINE COMMIT``
"""

import csv
import datetime
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

GROUPS = ["minimal", "par", "piggyback", "ugal", "valiant"]
GRID = ["dimension-order", "minimal-adaptive", "par", "ugal", "valiant"]
GRAPH = ["minimal", "par", "ugal", "valiant"]
# Case, topology, routings.
NETWORKS = [
    ("dragonfly", "hosts_per_router = 4, routers_per_group = 8, global_links_per_router = 4", GROUPS),
    ("dragonfly-2d", "hosts_per_router = 2, rows = 4, columns = 4, global_links_per_router = 2", GROUPS),
    ("dragonfly-plus", "hosts_per_leaf = 4, leaves_per_group = 8, global_links_per_spine = 4", GROUPS),
    ("express-mesh", "sizes = [32, 32], gap = [4, 4]", ["dimension-order", *GRAPH]),
    (
        "fat-tree",
        "radix = 16",
        ["adaptive", "destination-mod-k", "scatter", "source-destination-hashed"],
    ),
    (
        "hyperx",
        "shape = [8, 4, 4], hosts_per_router = 8",
        ["dal", "dimension-order", "doal", "minimal", "minimal-adaptive", "par", "ugal", "valiant"],
    ),
    ("mesh", "sizes = [8, 8, 16]", GRID),
    ("slim-fly", "q = 11, hosts_per_router = 5", GRAPH),
    ("torus", "sizes = [8, 8, 16]", GRID),
    ("dragonfly", "hosts_per_router = 16, routers_per_group = 32, global_links_per_router = 16", GROUPS),
    ("dragonfly-plus", "hosts_per_leaf = 16, leaves_per_group = 16, global_links_per_spine = 16", GROUPS),
]
COLUMNS = ["date", "machine", "commit", "command", "case", "hosts", "deadlock", "cpu_s"]


def check(command: list[str], text: str, file: Path) -> tuple[dict, float]:
    """The summary of a check, and its processor time in seconds."""
    file.write_text(text)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run([*command, "check", str(file), "--json"], capture_output=True, check=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(run.stdout), seconds


def main() -> int:
    """Prints the rows."""
    binary, machine, commit = sys.argv[1:4]
    rows = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    rows.writeheader()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for kind, sizes, routings in NETWORKS:
            for routing in routings:
                text = (
                    f'[network]\ntopology = {{ kind = "{kind}", {sizes} }}\n'
                    f'routing = {{ algorithm = "{routing}" }}\n'
                    '[[job]]\ntraffic = { pattern = "uniform", load = 0.1 }\n[run]\nuntil = "1 us"\n'
                )
                summary, seconds = check([binary], text, Path(folder) / "x.toml")
                proven = summary["deadlock_free"] is True
                by_parts = "parts of all paths" in summary["deadlock"]
                how = "proven by parts" if by_parts else "proven"
                failed |= not proven or seconds > (2 if summary["hosts"] < 2_000 else 20)
                rows.writerow(
                    {
                        "date": datetime.date.today().isoformat(),
                        "machine": machine,
                        "commit": commit,
                        "command": "benches/deadlock_proof.py",
                        "case": f"{kind}/{routing}",
                        "hosts": summary["hosts"],
                        "deadlock": how if proven else "not proven",
                        "cpu_s": f"{seconds:.2f}",
                    }
                )
                sys.stdout.flush()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
