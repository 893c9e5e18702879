"""The result of a run: folder, summary, tables, report."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.compute
import pytest

import fabricsim
from fabricsim.experiment import Toml, override_pairs
from fabricsim.record import Record


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, traffic: dict[str, Any]) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(fabricsim.ResultError, match="thesis.tex"):
        fabricsim.run(traffic, out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_what_is_no_result_cannot_be_loaded(tmp_path: Path) -> None:
    with pytest.raises(fabricsim.ResultError, match="not a FabricSim result"):
        fabricsim.load(tmp_path)
    (tmp_path / "summary.json").write_text("[]")
    with pytest.raises(fabricsim.ResultError, match="damaged"):
        fabricsim.load(tmp_path)
    (tmp_path / "summary.json").write_text('{"schema": "fabricsim/summary/99"}')
    with pytest.raises(fabricsim.ResultError, match="summary/99"):
        fabricsim.load(tmp_path)


def test_damaged_files_are_refused_unless_forced(tmp_path: Path, traffic: dict[str, Any]) -> None:
    right = fabricsim.run(traffic, out=tmp_path / "run")
    table = right.folder / "links.parquet"
    content = table.read_bytes()
    # A bit that no reader would miss: the program that is named in the footer.
    assert content.count(b"FabricSim ") == 1
    table.write_bytes(content.replace(b"FabricSim ", b"FabricSil "))
    for read in (lambda links: links["links"], lambda links: links.dataset("links")):
        with pytest.raises(fabricsim.ResultError, match="links.parquet: the footer of"):
            read(fabricsim.load(right.folder).tables)
    assert fabricsim.load(right.folder).hosts == right.hosts, "other tables are read"
    assert fabricsim.load(right.folder, force=True).links == right.links
    table.write_bytes(content)
    assert fabricsim.load(right.folder).links == right.links

    summary = right.folder / "summary.json"
    text = summary.read_text()
    summary.write_text(text.replace('"packets_injected": ', '"packets_injected": 1', 1))
    with pytest.raises(fabricsim.ResultError, match="summary.json: it is damaged"):
        fabricsim.load(right.folder)
    forced = fabricsim.load(right.folder, force=True).summary.network.packets_injected
    assert forced == int(f"1{right.summary.network.packets_injected}")


def test_a_table_or_key_that_is_not_there_says_what_is(result: fabricsim.Result) -> None:
    with pytest.raises(fabricsim.ResultError, match="no table 'ranks'; it has: .*links"):
        _ = result.ranks
    with pytest.raises(KeyError):
        _ = result.tables["nothing"]
    with pytest.raises(AttributeError, match="the keys are: .*network"):
        _ = result.summary.netwrok


def test_the_summary_adds_up(result: fabricsim.Result) -> None:
    network = result.summary.network
    assert result.summary["schema"] == "fabricsim/summary/1"
    assert network.packets_injected == network.packets_delivered + network.packets_in_flight
    assert 0.1 < network.accepted_load < 0.3
    assert network.latency_ns.p50 <= network.latency_ns.p99 <= network.latency_ns.max
    assert "network" in dir(result.summary)
    assert result.notes == [] and "notes" not in repr(result)


def test_tables_are_arrow_tables(result: fabricsim.Result) -> None:
    assert set(result.tables) >= {"jobs", "links", "latency_histogram", "hops_histogram"}
    links = result.links
    assert isinstance(links, pyarrow.Table)
    assert links.num_rows == result.summary.network.links
    assert 0 < pyarrow.compute.max(links["busy_fraction"]).as_py() <= 1
    histogram = result.latency_histogram.to_pydict()
    all_packets = sum(n for job, n in zip(histogram["job"], histogram["packets"], strict=True) if job is None)
    assert all_packets == result.summary.jobs[0].packets
    assert len(result.hops_histogram) > 0
    assert result.jobs["job"].to_pylist() == ["noise"]
    assert result.tables["links"] is links, "read once"


def test_routers_and_hosts_say_where_they_are(result: fabricsim.Result) -> None:
    routers, hosts = result.routers, result.hosts
    assert routers.num_rows == result.summary.network.routers == 16
    assert hosts.num_rows == result.summary.network.hosts == 16
    assert routers["label"].to_pylist()[:2] == ["(0, 0)", "(1, 0)"]
    assert pyarrow.compute.sum(routers["hosts"]).as_py() == hosts.num_rows
    assert set(hosts["router"].to_pylist()) <= set(routers["router"].to_pylist())
    for table in (routers, hosts):
        for axis in ("x", "y"):
            places = table[axis].to_pylist()
            assert 0 <= min(places) < max(places) <= 1
    assert result.tables["routers"] is routers, "read once"


def test_a_replay_has_ranks_whose_time_is_all_accounted_for(replay: fabricsim.Result) -> None:
    ranks = replay.ranks.to_pydict()
    assert len(ranks["rank"]) == 27
    for time, compute, mpi in zip(ranks["time_ps"], ranks["compute_ps"], ranks["mpi_ps"], strict=True):
        assert time == compute + mpi
    calls = replay.calls.to_pydict()
    assert sum(calls["time_ps"]) == sum(ranks["mpi_ps"])
    assert replay.summary.jobs[0].time_ns == max(ranks["time_ps"]) / 1000


def test_a_result_folder_can_be_loaded_and_replaced(tmp_path: Path, traffic: dict[str, Any]) -> None:
    out = tmp_path / "a" / "result"
    first = fabricsim.run(traffic, out=out)
    assert first.folder == out
    second = fabricsim.run(traffic, set={"run.seed": 9}, out=str(out))
    loaded = fabricsim.load(out)
    assert loaded.digest == second.digest != first.digest
    assert loaded.summary == second.summary
    assert loaded.links == second.links


def test_a_temporary_folder_lives_as_long_as_its_result(traffic: dict[str, Any]) -> None:
    result = fabricsim.run(traffic)
    folder = result.folder
    assert (folder / "summary.json").is_file()
    del result
    gc.collect()
    assert not folder.exists()


def test_the_report_is_one_file_and_can_be_made_again(tmp_path: Path, traffic: dict[str, Any]) -> None:
    result = fabricsim.run(traffic, out=tmp_path / "result")
    page = result.report()
    text = page.read_text(encoding="utf-8")
    assert "Hottest links" in text
    assert result.digest in text
    page.unlink()
    assert result.report().read_text(encoding="utf-8") == text


def test_a_notebook_shows_names_as_they_are(tmp_path: Path, traffic: dict[str, Any]) -> None:
    traffic["job"][0]["name"] = "<b>bold</b>"
    result = fabricsim.run(traffic)
    assert "&lt;b&gt;bold&lt;/b&gt;" in result._repr_html_()
    assert "<b>bold</b>" in repr(result)


def test_without_a_measured_packet_there_is_no_latency_and_a_note(traffic: dict[str, Any]) -> None:
    traffic["run"]["warmup"] = "19.9 us"
    result = fabricsim.run(traffic)
    network = result.summary.network
    assert (network.latency_ns.mean, network.latency_ns.p99, network.mean_hops) == (None, None, None)
    (note,) = result.notes
    assert (note.kind, note.severity, note.job) == ("nothing-measured", "warning", None)
    assert "100 ns" in note.found and "run.until" in note.advice
    assert "notes: nothing-measured" in repr(result)
    assert "packet latency - ns mean" in result._repr_html_() and note.found in result._repr_html_()
    assert f"\nwarning: nothing-measured: {note.found}." in fabricsim.compare({"short": result})
    # Results of older versions have zeros, and no notes.
    del result.summary["notes"]
    network.latency_ns["mean"] = network["mean_hops"] = 0
    assert result.notes == [] and "packet latency - ns mean" in result._repr_html_()


def test_the_verdict_is_typed_and_its_comparisons_run(traffic: dict[str, Any]) -> None:
    traffic["job"][0]["traffic"]["load"] = 0.2
    result = fabricsim.run(traffic)
    verdict = result.verdict
    assert isinstance(verdict, fabricsim.Verdict) and verdict.headline == result.summary.verdict.headline
    assert verdict.places[0].link_class and verdict.confidence.level in ("high", "medium", "low")
    assert verdict.headline in str(verdict) and verdict.comparisons
    for comparison in verdict.comparisons:
        other = fabricsim.run(traffic, set=comparison.set)
        assert other.digest != result.digest and other.verdict is not None
        assert f"b: verdict   {other.verdict.headline}" in fabricsim.compare({"a": result, "b": other})
    # Results of older versions have none.
    del result.summary["verdict"]
    assert result.verdict is None


def test_a_table_in_toml_replaces_that_of_the_experiment(traffic: dict[str, Any]) -> None:
    whole = {"network.routing": Toml('{ algorithm = "minimal-adaptive" }')}
    assert override_pairs(whole) == [("network.routing", '{ algorithm = "minimal-adaptive" }')]
    assert override_pairs({"network": {"routing": {"algorithm": "x"}}}) == [
        ("network.routing.algorithm", '"x"')
    ]
    assert fabricsim.check(traffic, set=whole).hosts


def test_results_are_compared(result: fabricsim.Result, replay: fabricsim.Result) -> None:
    text = fabricsim.compare({"torus": result, "fat tree": replay})
    assert "torus" in text and "fat tree" in text and "lammps" in text


def test_a_key_that_changed_its_name_keeps_working_for_a_version() -> None:
    now = Record({"router": 1, "termination_detector": 2})
    with pytest.warns(FutureWarning, match="'overseer' is now 'termination_detector'"):
        assert now.overseer == 2
    # A result of an older version has the old key.
    assert Record({"overseer": 3}).termination_detector == 3
    with pytest.raises(AttributeError, match="no key 'host'; the keys are: router, termination_detector"):
        _ = now.host


def test_hosts_have_the_latency_of_their_packets_on_request(
    result: fabricsim.Result, traffic: dict[str, Any]
) -> None:
    columns = ("packets_received", "latency_sum_ps", "latency_max_ps", "hops_sum")
    assert all(result.hosts[column].null_count == result.hosts.num_rows for column in columns)
    collect = {**traffic.get("collect", {}), "host_latency": True}
    told = fabricsim.run({**traffic, "collect": collect})
    assert all(told.hosts[column].null_count == 0 for column in columns)
    packets, latency, hops = (
        pyarrow.compute.sum(told.hosts[column]).as_py()
        for column in ("packets_received", "latency_sum_ps", "hops_sum")
    )
    network = told.summary.network
    assert packets == told.summary.jobs[0].packets
    assert latency / packets / 1000 == pytest.approx(network.latency_ns.mean)
    assert pyarrow.compute.max(told.hosts["latency_max_ps"]).as_py() / 1000 == network.latency_ns.max
    assert hops / packets == pytest.approx(network.mean_hops)
    assert told.summary.digest == result.summary.digest
