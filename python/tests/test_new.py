"""``fabricsim new``: its sweeps have a point for each topology, and every point runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("dask", reason="sweeps need the extra sweep")

from fabricsim import sweep

TOPOLOGIES = ["dragonfly", "fat-tree", "hyperx", "slim-fly", "torus"]


@pytest.mark.parametrize("equal", ["hosts", "bisection", "cable-bandwidth"])
def test_a_sweep_that_new_writes_compares_the_topologies(equal: str, tmp_path: Path) -> None:
    file = tmp_path / "compare.toml"
    options = ["--hosts", "16", "--radix", "16", "--topology", ",".join(TOPOLOGIES), "--equal", equal]
    done = subprocess.run(
        [sys.executable, "-m", "fabricsim", "new", *options, "--workload", "allreduce", "--out", str(file)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    plan = sweep.load(file)
    (axis,) = plan.axes
    assert [step.label for step in axis.steps] == TOPOLOGIES
    cluster = sweep.ClusterSettings(workers=1)
    found = sweep.run(file, out=tmp_path / "out", cache=tmp_path / "cache", cluster=cluster)
    assert not found.failed
    assert found.summary.num_rows == len(TOPOLOGIES)
    assert min(found.summary["network.hosts"].to_pylist()) >= 16


# Of cables by speed; switches without a faster port are cheaper.
STEPS = """
[[switch]]
bandwidth = "100 Gbps"
cost = 500
per_port = 10
[[switch]]
cost = 900
per_port = 15
[[cable]]
class = "host"
cost = 40
[[cable]]
bandwidth = "50 Gbps"
cost = 30
[[cable]]
bandwidth = "100 Gbps"
cost = 50
[[cable]]
bandwidth = "200 Gbps"
cost = 80
[[cable]]
bandwidth = "25 Gbps"
cost = 20
"""

CONTINUOUS = """
currency = "EUR"
[[switch]]
per_port = 30
[[cable]]
per_gbps = 2
per_metre = 3
[length]
latency_per_metre = "5 ns"
[nic]
cost = 200
[host]
cost = 1000
"""


@pytest.mark.parametrize(("prices", "budget"), [(CONTINUOUS, None), (CONTINUOUS, 90000), (STEPS, 25000)])
def test_points_of_equal_cost_cost_what_new_says(prices: str, budget: float | None, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text(prices)
    (tmp_path / "mine").mkdir()
    file = tmp_path / "mine" / "compare.toml"
    topologies = ["fat-tree", "dragonfly", "hyperx", "torus"]
    options = ["--hosts", "16", "--radix", "16", "--topology", ",".join(topologies), "--equal", "cost"]
    options += ["--costs", str(tmp_path / "prices.toml"), "--workload", "allreduce", "--out", str(file)]
    options += [] if budget is None else ["--budget", str(budget)]
    new = [sys.executable, "-m", "fabricsim", "new", *options, "--json"]
    done = subprocess.run(new, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    listed = subprocess.run(
        [sys.executable, "-m", "fabricsim", "sweep", str(file), "--list"], capture_output=True, text=True
    )
    assert listed.returncode == 0, listed.stderr
    assert all(topology in listed.stdout for topology in topologies)
    cluster = sweep.ClusterSettings(workers=1)
    found = sweep.run(file, out=tmp_path / "out", cache=tmp_path / "cache", cluster=cluster)
    assert not found.failed and not found.problems
    costs = found.summary["network.cost"].to_pylist()
    assert costs == pytest.approx([network["cost"] for network in said["networks"]], rel=1e-12)
    assert max(costs) <= said["budget"] * (1 + 1e-12)
    written = re.findall(r"^# Cost: ([\d,]+)(?: EUR)?, ([\d,.]+)(?: EUR)? per host, ", file.read_text(), re.M)
    assert [float(all_.replace(",", "")) for all_, _ in written] == pytest.approx(costs, abs=0.5)
    each = found.summary["network.cost_per_host"].to_pylist()
    assert [float(one.replace(",", "")) for _, one in written] == pytest.approx(each, abs=0.5)
