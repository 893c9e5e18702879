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


def test_the_verdict_and_the_display_have_the_numbers_of_the_path(traffic: dict[str, Any]) -> None:
    result = fabricsim.run(applications(traffic, {"series": "off", "timeline": True, "waits": True}))
    counted = result.verdict
    assert counted is not None and counted.headline == result.summary.verdict.headline
    shown = result._repr_html_()
    report = result.report().read_text()
    (path,) = fabricsim.explain(result).jobs
    found = result.verdict
    assert found is not None and found.headline != counted.headline
    assert not any("estimate" in reason for reason in found.confidence.reasons)
    assert result._repr_html_() != shown and result.report().read_text() != report
    network = path.bound_by.latency + sum(link.share for link in path.bound_by.links)
    assert f"The network takes {network:.1%}".replace("%", " %") in found.headline
    assert found.headline in fabricsim.compare({"explained": result, "again": result})
    # A result that is loaded again is explained, too.
    assert fabricsim.load(result.folder).verdict == found
    # The summary is that of the run.
    assert result.summary.verdict.headline == counted.headline
