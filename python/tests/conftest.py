"""Small experiments that all tests use."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

import fabricsim

TRAFFIC: dict[str, Any] = {
    "network": {
        "topology": {"kind": "torus", "sizes": [4, 4]},
        "routing": {"algorithm": "dimension-order"},
        "link": {"bandwidth": "100 Gbps", "latency": "50 ns"},
        "packet": "256 B",
    },
    "job": [{"name": "noise", "traffic": {"pattern": "uniform", "load": 0.2}}],
    "run": {"until": "20 us", "warmup": "2 us", "seed": 3},
}

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def traffic() -> dict[str, Any]:
    """Uniform traffic on a small torus, as nested dicts."""
    return copy.deepcopy(TRAFFIC)


@pytest.fixture
def endless(traffic: dict[str, Any]) -> dict[str, Any]:
    """The same for an hour of simulated time; tests never wait for its end."""
    traffic["run"]["until"] = "3600 s"
    return traffic


@pytest.fixture(scope="session")
def result() -> fabricsim.Result:
    """The result of the small experiment."""
    return fabricsim.run(TRAFFIC)


@pytest.fixture(scope="session")
def replay() -> fabricsim.Result:
    """The recorded LAMMPS run, with ranks and calls."""
    if not (EXAMPLES / "lammps-fat-tree.toml").is_file():
        pytest.skip("the examples are not here")
    try:
        return fabricsim.run(EXAMPLES / "lammps-fat-tree.toml", threads=1)
    except fabricsim.FabricSimError as error:
        if "library" in str(error) and "OTF2" in str(error):
            pytest.skip(f"this build reads no OTF2: {error}")
        raise


@pytest.fixture
def bench(tmp_path: Path, traffic: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small experiment, as the current folder."""
    (tmp_path / "small.toml").write_text(fabricsim.experiment.dumps(traffic))
    monkeypatch.chdir(tmp_path)
    return tmp_path
