"""Inputs in all three forms; wrong input first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fabricsim
from fabricsim import Experiment, ExperimentError, Job, Link, Network, Run
from fabricsim.experiment import build


def test_a_misspelt_key_is_named_with_the_nearest(traffic: dict[str, Any]) -> None:
    traffic["network"]["link"]["bandwith"] = traffic["network"]["link"].pop("bandwidth")
    with pytest.raises(ExperimentError, match="did you mean 'bandwidth'") as caught:
        fabricsim.check(traffic)
    assert caught.value.key == "network.link.bandwith"
    assert caught.value.file == "<dict>"
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, fabricsim.FabricSimError)


def test_a_wrong_unit_in_a_file_has_its_line(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text('[network]\npacket = "256 parsecs"\n')
    with pytest.raises(ExperimentError, match="parsecs|topology") as caught:
        fabricsim.run(file)
    assert caught.value.file == str(file)
    assert caught.value.line in (1, 2)


@pytest.mark.parametrize(
    ("experiment", "error"),
    [
        ("no/such/file.toml", "no/such/file.toml"),
        (Path("no/such/file.toml"), "no/such/file.toml"),
        ({}, "network"),
        ({"network": object()}, "cannot be written as TOML"),
        ({"network": {"topology": {"kind": "torus", "sizes": [4, None]}}}, "cannot be written as TOML"),
    ],
)
def test_what_is_no_experiment_says_why(experiment: Any, error: str) -> None:
    with pytest.raises(ExperimentError, match=error):
        fabricsim.run(experiment)


def test_another_type_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="not int"):
        fabricsim.run(7)  # type: ignore[arg-type]


def test_an_override_of_nothing_is_refused(traffic: dict[str, Any]) -> None:
    with pytest.raises(ExperimentError, match="job"):
        fabricsim.run(traffic, set={"job.7.traffic.load": 0.1})
    with pytest.raises(ExperimentError, match="cannot override"):
        fabricsim.run(traffic, set={"network.topology.sizes": None})
    with pytest.raises(ExperimentError, match="sequentiel.*did you mean 'sequential'"):
        fabricsim.run(traffic, executor="sequentiel")


def test_a_missing_trace_is_an_error_of_the_experiment(traffic: dict[str, Any]) -> None:
    traffic["job"][0] = {"name": "ghost", "workload": {"otf2": "no/such/trace"}}
    with pytest.raises(fabricsim.FabricSimError, match="no/such/trace"):
        fabricsim.run(traffic)
    with pytest.raises(fabricsim.TraceError, match="no/such/trace"):
        fabricsim.trace_info("no/such/trace")


def test_path_dict_and_typed_object_agree(
    tmp_path: Path, traffic: dict[str, Any], result: fabricsim.Result
) -> None:
    file = tmp_path / "experiment.toml"
    file.write_text(fabricsim.experiment.dumps(traffic))
    typed = Experiment(
        network=Network(
            topology={"kind": "torus", "sizes": (4, 4)},
            routing={"algorithm": "dimension-order"},
            link=Link(bandwidth="100 Gbps", latency="50 ns"),
            packet="256 B",
        ),
        jobs=[Job(name="noise", traffic={"pattern": "uniform", "load": 0.2})],
        run=Run(until="20 us", warmup="2 us", seed=3),
    )
    assert fabricsim.run(file).digest == result.digest
    assert fabricsim.run(str(file)).digest == result.digest
    assert fabricsim.run(typed).digest == result.digest
    assert fabricsim.run(traffic).summary.experiment == result.summary.experiment


def test_executor_and_threads_do_not_change_the_digest(
    traffic: dict[str, Any], result: fabricsim.Result
) -> None:
    sequential = fabricsim.run(traffic, executor="sequential")
    threaded = fabricsim.run(traffic, executor="conservative", threads=2)
    assert sequential.digest == threaded.digest == result.digest
    assert sequential.summary.run.executor == "sequential"
    assert threaded.summary.run.threads == 2


def test_the_optimistic_executor_does_not_change_the_digest(
    traffic: dict[str, Any], result: fabricsim.Result
) -> None:
    optimistic = fabricsim.run(traffic, executor="optimistic", threads=2)
    assert optimistic.digest == result.digest
    assert optimistic.summary.jobs == result.summary.jobs
    run = optimistic.summary.run
    assert (run.executor, run.threads, run.processes) == ("optimistic", 2, 1)
    assert len(run.parts) == len(run.thread_seconds) == 2
    assert run.events_processed == run.events_committed + run.events_rolled_back
    assert run.events_committed == result.summary.run.events_committed
    assert run.gvt_rounds > 0


def test_settings_of_the_optimistic_executor_reach_it(
    traffic: dict[str, Any], result: fabricsim.Result
) -> None:
    settings = {"batch": 3, "gvt_interval": 5, "ahead": "20 ns", "memory": "64 KiB"}
    how = Run(until="20 us", warmup="2 us", seed=3, executor="optimistic", threads=2, optimistic=settings)
    typed = Experiment(network=traffic["network"], jobs=traffic["job"], run=how)
    found = fabricsim.run(typed)
    assert found.summary.experiment.run.optimistic == settings
    assert found.digest == result.digest
    with pytest.raises(ExperimentError, match="expected 1 or more") as caught:
        fabricsim.check(typed.to_dict() | {"run": {"until": "20 us", "optimistic": {"batch": 0}}})
    assert caught.value.key == "run.optimistic.batch"


def test_the_reverse_check_does_not_change_the_digest(
    traffic: dict[str, Any], result: fabricsim.Result
) -> None:
    checked = fabricsim.run(traffic, executor="reverse-check")
    assert checked.digest == result.digest
    assert checked.summary.run.events_rolled_back == checked.summary.run.events_committed


def test_overrides_reach_the_experiment(traffic: dict[str, Any], result: fabricsim.Result) -> None:
    changed = fabricsim.run(
        traffic, set={"run.seed": 4, "network": {"packet": "128 B"}, "job.0.traffic.load": 0.1}
    )
    asked = changed.summary.experiment
    assert asked.run.seed == 4
    assert asked.network.packet == "128 B"
    assert asked.job[0].traffic.load == 0.1
    assert changed.digest != result.digest


def test_check_knows_sizes_and_deadlocks(traffic: dict[str, Any]) -> None:
    found = fabricsim.check(traffic)
    assert (found.hosts, found.routers) == (16, 16)
    assert found.deadlock_free is True
    assert 0 < found.bounds.jobs[0].throughput <= 1
    assert found.experiment.run.seed == 3
    assert "16 hosts" in str(found)


def test_work_is_estimated_without_a_check(traffic: dict[str, Any]) -> None:
    found = fabricsim.check(traffic)
    assert json.loads(build(traffic, {}).work()) == found.work
    counted = fabricsim.run(traffic).summary.network.packet_hops
    assert counted / 1.5 < found.work.packet_hops < counted * 1.5
    assert found.work.cpu_s > 0
    assert "packet-hops per second)" in str(found)


def test_parts_are_listed() -> None:
    assert {"torus", "fat-tree", "dragonfly"} <= {t.name for t in fabricsim.list_parts("topologies")}
    assert "routings" in fabricsim.list_parts()
    with pytest.raises(ValueError, match="unknown kind of parts 'topology'"):
        fabricsim.list_parts("topology")
