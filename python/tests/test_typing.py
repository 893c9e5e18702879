"""Type checkers: strict checks of the package, no error for right code, an error for wrong code."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import fabricsim

pytest.importorskip("mypy", reason="mypy comes with the extra dev")

PACKAGE = Path(fabricsim.__file__).parent
CONFIGURATION = """
[mypy]
strict = true
follow_imports = silent
[mypy-plotly.*]
ignore_missing_imports = true
"""

# Each wrong line has the expected error after # E:.
CHECKED = """
from __future__ import annotations

import pyarrow
import pyarrow.dataset
from typing_extensions import assert_type

import fabricsim
from fabricsim import Experiment, Job, Link, Mpi, Network, Rule, Run
from fabricsim import arrival, motif, routing, topology, traffic

network = Network(
    topology=topology.FatTree(radix=8, levels=2, tapering="2:1"),
    routing=routing.Adaptive(),
    links={"host": Link(bandwidth="200 Gbps")},
)
Network(topology={"kind": "torus", "sizes": [4, 4]}, routing={"algorithm": "dimension-order"})
Network(topology=routing.Adaptive(), routing=routing.Adaptive())  # E: "topology" to "Network"
Network(preset="lumi", hosts=512)
Network(preset=5)  # E: "preset" to "Network"
topology.Torus(size=[4, 4])  # E: Unexpected keyword argument "size"
topology.Torus(sizes="4x4x4", links=["2"])  # E: List item 0 has incompatible type "str"
topology.Dragonfly2d(rows=2, links_between_groups=1, arrangement="palm")  # E: type "Literal['palm']"
topology.Torus(sizes=[4]).sizes = [5]  # E: Property "sizes" defined in "Torus" is read-only
traffic.Uniform()  # E: Missing named argument "load"
traffic.Uniform(load=0.5, arrival="on-of")  # E: incompatible type "Literal['on-of']"
traffic.Uniform(load=0.5, arrival=arrival.OnOff(burst="2 us"), message="4 KiB")
Job(workload=motif.PingPong(ranks=2, bytes=["1 KiB", "2 KiB"]), compute="off")
Job(workload=traffic.Uniform(load=0.1))  # E: "workload" to "Job" has incompatible type "Uniform"
Job(placement="clusters")  # E: incompatible type "Literal['clusters']"
Run(executor="parallel")  # E: incompatible type "Literal['parallel']"
Run(until=100)  # E: "until" to "Run" has incompatible type "int"
Mpi(collectives=fabricsim.Collectives(bcast="ring"))  # E: incompatible type "Literal['ring']"
fabricsim.Collectives(bcast=[Rule(algorithm="linear", below="1 KiB"), {"algorithm": "binomial"}])

experiment = Experiment(network=network, jobs=[Job(traffic=traffic.Uniform(load=0.1))], run=Run(until="1 us"))
result = fabricsim.run(experiment, progress=True)
assert_type(result, fabricsim.Result)
assert_type(result.links, pyarrow.Table)
assert_type(result.routers, pyarrow.Table)
assert_type(result.hosts, pyarrow.Table)
assert_type(result.experiment, Experiment)
assert_type(result.tables.dataset("links"), pyarrow.dataset.Dataset)
result.plot.latency(backend="plotly")
result.plot.latency(backend="gnuplot")  # E: incompatible type "Literal['gnuplot']"
fabricsim.plot.compare({"a": result}, "latency")
fabricsim.plot.compare({"a": result}, "colour")  # E: incompatible type "Literal['colour']"


def progress(now_ns: float, end_ns: float | None) -> None: ...


fabricsim.run("a.toml", progress=progress)
fabricsim.run("a.toml", progress=fabricsim.Bar("a"))
fabricsim.run("a.toml", progress=7)  # E: "progress" to "run" has incompatible type "int"
"""


def python(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *arguments], cwd=folder, capture_output=True, text=True)


def test_a_type_checker_finds_what_is_wrong_and_nothing_else(tmp_path: Path) -> None:
    source = textwrap.dedent(CHECKED).lstrip()
    (tmp_path / "checked.py").write_text(source)
    (tmp_path / "mypy.ini").write_text(CONFIGURATION)
    done = python("mypy", "--config-file", "mypy.ini", "checked.py", folder=tmp_path)
    said: dict[int, str] = {}
    for line in done.stdout.splitlines():
        found = re.match(r"checked\.py:(\d+): error: (.*)", line)
        if found:
            said[int(found[1])] = said.get(int(found[1]), "") + found[2]
    expected = {
        number: line.partition("# E: ")[2]
        for number, line in enumerate(source.splitlines(), start=1)
        if "# E: " in line
    }
    assert set(said) == set(expected), done.stdout + done.stderr
    for number, text in expected.items():
        assert text in said[number], f"line {number}: {said[number]}"


def test_the_stub_is_what_the_module_is(tmp_path: Path) -> None:
    (tmp_path / "mypy.ini").write_text(CONFIGURATION)
    done = python("mypy.stubtest", "fabricsim._core", "--mypy-config-file", "mypy.ini", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_says_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()
    assert (PACKAGE / "_core.pyi").is_file()
