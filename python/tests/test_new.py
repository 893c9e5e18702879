"""``fabricsim new``: its sweeps have a point for each topology, and every point runs."""

from __future__ import annotations

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
