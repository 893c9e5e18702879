"""Critical paths of jobs."""

from __future__ import annotations

from typing import Any

import pyarrow.compute
import pytest

import fabricsim


def applications(traffic: dict[str, Any], collect: dict[str, Any]) -> dict[str, Any]:
    """An exchange beside traffic, until it ends."""
    exchange = {
        "name": "exchange",
        "workload": {"motif": "all-to-all", "ranks": 8, "bytes": "4 KiB", "compute": "1 us"},
    }
    return {**traffic, "job": [exchange, *traffic["job"]], "run": {"until": "1 ms"}, "collect": collect}


def test_a_run_that_collected_nothing_says_what_to_do(traffic: dict[str, Any]) -> None:
    result = fabricsim.run(applications(traffic, {"series": "off"}))
    with pytest.raises(fabricsim.ResultError, match=r"no table timeline.*collect\.timeline=true"):
        fabricsim.explain(result)
    with pytest.raises(fabricsim.ResultError, match="no job 'exchanges'; it has: exchange, noise"):
        fabricsim.explain(result, "exchanges")
    with pytest.raises(fabricsim.ResultError, match="synthetic traffic"):
        fabricsim.explain(result, "noise")


def test_the_path_is_as_long_as_the_job(traffic: dict[str, Any]) -> None:
    result = fabricsim.run(applications(traffic, {"series": "off", "timeline": True, "waits": True}))
    (path,) = fabricsim.explain(result).jobs
    assert path.finished
    assert path.time_ns == pytest.approx(result.summary.jobs[0].time_ns)
    parts = path.compute_ns + path.overhead_ns + path.transfer_ns + path.wait_ns
    assert parts == pytest.approx(path.time_ns)
    assert path.text.startswith("job exchange: ")
    steps = result.tables["critical_path"]
    lengths = pyarrow.compute.subtract(steps["end_ps"], steps["begin_ps"])
    assert pyarrow.compute.sum(lengths).as_py() == round(1000 * path.time_ns)
    assert steps.num_rows == path.steps
