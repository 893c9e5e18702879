"""Figures: errors first, then their numbers, then both libraries."""

from __future__ import annotations

import builtins
import io
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import recorded

import fabricsim
from fabricsim import ResultError, plot
from fabricsim.plot import causes, content
from fabricsim.plot.chart import Arrows, Bars, Chart, Curve, Heat, Points, Spans

EXPERIMENT: dict[str, Any] = {
    "network": {
        "topology": {"kind": "torus", "sizes": [4, 4]},
        "routing": {"algorithm": "dimension-order"},
    },
    "job": [
        {"name": "halo", "workload": {"motif": "halo3d", "ranks": 8, "iterations": 2}},
        {"name": "noise", "traffic": {"pattern": "uniform", "load": 0.2}, "hosts": "free"},
    ],
    "run": {"until": "12 us"},
    "collect": {"host_latency": True},
}

FIGURES: dict[str, Callable[[plot.Plots, Any], Any]] = {
    "latency": lambda p, b: p.latency(backend=b),
    "latency tail": lambda p, b: p.latency(job="noise", tail=True, backend=b),
    "hops": lambda p, b: p.hops(backend=b),
    "host_latency": lambda p, b: p.host_latency(backend=b),
    "host_latency hops": lambda p, b: p.host_latency(what="hops", job="halo", backend=b),
    "link_load": lambda p, b: p.link_load(backend=b),
    "link_load_cdf": lambda p, b: p.link_load_cdf(backend=b),
    "class_load": lambda p, b: p.class_load(backend=b),
    "buffer_full": lambda p, b: p.class_load(what="buffer_full", backend=b),
    "sends_receives": lambda p, b: p.sends_receives(backend=b),
    "sends_receives routers": lambda p, b: p.sends_receives(of="routers", only=[0, 2], backend=b),
    "sends_receives jobs": lambda p, b: p.sends_receives(of="jobs", what="messages", backend=b),
    "occupancy": lambda p, b: p.occupancy(backend=b),
    "job_time": lambda p, b: p.job_time(backend=b),
    "communication": lambda p, b: p.communication(backend=b),
    "communication messages": lambda p, b: p.communication(job="halo", what="messages", backend=b),
    "rank_time": lambda p, b: p.rank_time(job="halo", backend=b),
    "timeline": lambda p, b: p.timeline(backend=b),
    "composition": lambda p, b: p.composition(backend=b),
    "critical_path": lambda p, b: p.critical_path(backend=b),
    "message_phases": lambda p, b: p.message_phases(backend=b),
    "hottest_links": lambda p, b: p.hottest_links(backend=b),
    "hottest_routers": lambda p, b: p.hottest_routers(backend=b),
    "nic_queues": lambda p, b: p.nic_queues(backend=b),
    "threads": lambda p, b: p.threads(backend=b),
}
# Labels that are names without a unit.
NAMES = {
    "rank",
    "from rank",
    "to rank",
    "class of links",
    "link",
    "router",
    "thread",
    "buffer at the far end of",
    "",
    "links crossed, injection and ejection included",
}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> fabricsim.Result:
    """A run with synthetic tables over time."""
    folder = tmp_path_factory.mktemp("plots") / "result"
    fabricsim.run(EXPERIMENT, out=folder)
    recorded.write(folder, "halo")
    return fabricsim.load(folder)


@pytest.fixture(scope="module")
def bare() -> fabricsim.Result:
    """A run without tables over time."""
    experiment = {**EXPERIMENT, "job": EXPERIMENT["job"][1:]}
    result = fabricsim.run(experiment)
    # The default collection has further tables.
    for path in result.folder.glob("*_series.parquet"):
        path.unlink()
    result.tables = fabricsim.Tables(result.folder)
    return result


def only(charts: list[Chart]) -> Chart:
    (chart,) = charts
    return chart


def curves(chart: Chart) -> dict[str, Curve]:
    return {layer.name: layer for layer in chart.layers if isinstance(layer, Curve)}


def bars(chart: Chart) -> dict[str, Bars]:
    return {layer.name: layer for layer in chart.layers if isinstance(layer, Bars)}


def test_what_was_not_recorded_is_named_with_how_to_record_it(bare: fabricsim.Result) -> None:
    with pytest.raises(fabricsim.ResultError, match="no table 'class_series'.*collect = { series"):
        bare.plot.class_load()
    with pytest.raises(fabricsim.ResultError, match='series = "vcs"'):
        bare.plot.occupancy()
    with pytest.raises(fabricsim.ResultError, match="The jobs of MPI ranks are: none"):
        bare.plot.timeline()
    with pytest.raises(fabricsim.ResultError, match="no job of MPI ranks"):
        bare.plot.job_time()
    with pytest.raises(fabricsim.ResultError, match="no table 'ranks'"):
        bare.plot.rank_time()


def test_causes_add_up_to_the_time_of_the_job(shown: fabricsim.Result) -> None:
    chart = only(causes.composition({"": shown}, "halo"))
    sums = [sum(bar.y[0] for bar in bars(chart).values())]
    assert sums == pytest.approx([100], abs=0.5)
    ranks = shown.tables["ranks"].to_pylist()
    [job] = [row for row in shown.tables["jobs"].to_pylist() if row["job"] == "halo"]
    whole = job["time_ps"] * job["ranks"]
    for name, _, column in causes.CAUSES:
        share = 100 * sum(row[column] for row in ranks) / whole
        assert name not in bars(chart) or bars(chart)[name].y == pytest.approx([share])
        assert name in bars(chart) or share < 0.05
    with pytest.raises(ResultError, match="no job 'hallo' of MPI ranks"):
        shown.plot.composition(job="hallo")
    twice = only(causes.composition({"a": shown, "b": shown}, None))
    assert [name for _, name in twice.x.ticks or []] == ["a, halo", "b, halo"]


def test_the_critical_path_is_a_line_through_the_ranks(shown: fabricsim.Result) -> None:
    chart = only(causes.critical_path(shown, None))
    spans = {layer.name: layer for layer in chart.layers if isinstance(layer, Spans)}
    assert list(spans) == ["computation, 50.0 %", "network, 25.0 %", "waiting for links and buffers, 25.0 %"]
    # Neighbours of one kind are one span.
    computed = spans["computation, 50.0 %"]
    found = list(zip(computed.lanes, computed.begins, computed.ends, strict=True))
    assert found == [(0, 0, 4), (1, 10, 12)]
    steps = [(n, n + 1, n % 7, "wait") for n in range(10_000)]
    merged = causes._merged(steps, 100)
    assert len(merged) <= 100 and merged[0][0] == 0 and merged[-1][1] == 10_000
    assert all(step[1] == after[0] for step, after in zip(merged, merged[1:], strict=False))


def test_phases_of_messages_are_those_of_their_times(shown: fabricsim.Result) -> None:
    chart = only(causes.message_phases({"": shown}, None))
    # Each of the rendezvous messages; those of the protocol do not count.
    assert [bar.y for bar in bars(chart).values()] == [[pytest.approx(y)] for y in (0.1, 0.2, 0.6, 0.1)]
    assert "\u00b5s" in chart.y.label
    with pytest.raises(ResultError, match="no message of a job 'noise'"):
        shown.plot.message_phases(job="noise")


def test_the_hottest_links_are_the_most_loaded_ones(shown: fabricsim.Result) -> None:
    links = shown.tables["links"].to_pylist()
    loads = sorted((100 * row["busy_fraction"] for row in links), reverse=True)[:5]
    chart = only(causes.hottest_links(shown, 5))
    found = {
        lane: end
        for layer in chart.layers
        if isinstance(layer, Spans)
        for lane, end in zip(layer.lanes, layer.ends, strict=True)
    }
    assert [found[place] for place in range(5)] == pytest.approx(loads)
    assert chart.x.high is not None and chart.x.high >= loads[0]
    assert all("\u2192" in name for _, name in chart.y.ticks or [])


def test_the_hottest_routers_have_the_busiest_links(shown: fabricsim.Result) -> None:
    of: dict[int, list[float]] = {}
    for row in shown.tables["links"].to_pylist():
        if row["from_kind"] == "router":
            of.setdefault(row["from_id"], []).append(100 * row["busy_fraction"])
    means = sorted((sum(busy) / len(busy) for busy in of.values()), reverse=True)[:5]
    chart = only(causes.hottest_routers(shown, 5))
    spans, points = chart.layers
    assert isinstance(spans, Spans) and isinstance(points, Points)
    assert list(spans.ends) == pytest.approx(means)
    routers = [int(name.removeprefix("router ")) for _, name in chart.y.ticks or []]
    assert list(points.x) == pytest.approx([max(of[router]) for router in routers])


def test_queues_of_nics_are_summed_over_hosts_that_keep_their_level(
    shown: fabricsim.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [(0, 10, 0, 64), (0, 10, 1, 16), (20, 30, 0, 0), (30, 40, 1, 8)]
    monkeypatch.setattr(causes, "_rows", lambda *_: iter(rows))
    curve = curves(only(causes.nic_queues(shown)))["queued"]
    assert list(zip(curve.x, curve.y, strict=True)) == [(0, 80), (0.02, 16), (0.03, 8), (0.04, 8)]


def test_times_of_threads_are_those_of_the_summary(shown: fabricsim.Result) -> None:
    chart = only(causes.threads(shown))
    seconds = shown.summary.run.thread_seconds
    for thread, of in enumerate(seconds):
        total = of.processing + of.queue + of.rollback + of.synchronisation + of.idle
        assert sum(bar.y[thread] for bar in bars(chart).values()) == pytest.approx(total)


def test_a_wrong_name_is_answered_with_the_right_ones(shown: fabricsim.Result) -> None:
    with pytest.raises(
        fabricsim.ResultError, match="no packets of a job 'hallo'; there are those of: .*halo"
    ):
        shown.plot.latency(job="hallo")
    with pytest.raises(fabricsim.ResultError, match="the classes are: .*dimension-0"):
        shown.plot.link_load_cdf(link_class="global")
    with pytest.raises(fabricsim.ResultError, match="the classes are: .*global"):
        shown.plot.class_load(link_class="dimension-0")
    with pytest.raises(fabricsim.ResultError, match="no job 'noise' of MPI ranks.*halo"):
        shown.plot.timeline(job="noise")
    with pytest.raises(fabricsim.ResultError, match="it counts: packets$"):
        shown.plot.sends_receives(of="routers", what="bytes")
    with pytest.raises(fabricsim.ResultError, match="no such rows"):
        shown.plot.sends_receives(only=[77])
    with pytest.raises(fabricsim.ResultError, match="no such rows"):
        shown.plot.timeline(ranks=[77])
    with pytest.raises(ValueError, match="unknown backend 'gnuplot'; expected one of: matplotlib, plotly"):
        shown.plot.latency(backend="gnuplot")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no figure 'colour' of several results"):
        plot.compare({"a": shown}, "colour")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no results"):
        plot.compare({})


@pytest.mark.parametrize(("backend", "extra"), [("matplotlib", "plot"), ("plotly", "notebook")])
def test_a_missing_library_says_how_to_get_it(
    backend: str, extra: str, shown: fabricsim.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported = builtins.__import__

    def without(name: str, *rest: Any, **others: Any) -> Any:
        if name.split(".")[0] == backend:
            raise ModuleNotFoundError(f"No module named '{backend}'", name=backend)
        return imported(name, *rest, **others)

    monkeypatch.delitem(__import__("sys").modules, f"fabricsim.plot.drawing_{backend}", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=re.escape(f"pip install 'fabricsim[{extra}]'")) as caught:
        shown.plot.latency(backend=backend)  # type: ignore[arg-type]
    assert caught.value.name == backend


def test_importing_the_package_imports_no_plotting_library() -> None:
    import subprocess
    import sys

    code = "import sys, fabricsim; sys.exit(bool({'matplotlib', 'plotly', 'numpy'} & set(sys.modules)))"
    # pyarrow imports numpy where it is installed.
    code = code.replace(", 'numpy'", "")
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_latency_curve_is_the_histogram(shown: fabricsim.Result) -> None:
    chart = only(content.latency({"": shown}, None, False))
    assert list(curves(chart)) == ["all packets", "halo", "noise"]
    assert chart.x.label in ("latency (ns)", "latency (\u00b5s)")
    ps = 1e3 if chart.x.label == "latency (ns)" else 1e6
    curve = curves(chart)["all packets"]
    assert (curve.y[0], curve.y[-1]) == (0.0, 100.0)
    assert list(curve.y) == sorted(curve.y)
    median = next(x for x, y in zip(curve.x, curve.y, strict=True) if y >= 50) * ps / 1000
    assert median == pytest.approx(shown.summary.network.latency_ns.p50, rel=1 / 64)
    tail = curves(only(content.latency({"": shown}, None, True)))["all packets"]
    at = list(curve.x).index(tail.x[5])
    assert tail.y[5] == pytest.approx(100 - curve.y[at])


def test_shares_of_hops_add_up(shown: fabricsim.Result) -> None:
    chart = only(content.hops({"": shown}, None))
    assert set(bars(chart)) == {"halo", "noise"}
    for bar in bars(chart).values():
        assert sum(bar.y) == pytest.approx(100)
    apart = {round(x, 6) for bar in bars(chart).values() for x in bar.x}
    assert len(apart) == sum(len(bar.x) for bar in bars(chart).values()), "side by side"


def test_loads_of_links_are_those_of_the_table(shown: fabricsim.Result) -> None:
    rows = shown.links.to_pylist()
    loads = [100 * row["busy_fraction"] for row in rows if row["class"] == "dimension-0"]
    chart = only(content.link_load({"": shown}))
    assert chart.x.ticks is not None
    place = [name for _, name in chart.x.ticks].index("dimension-0")
    assert bars(chart)["mean"].y[place] == pytest.approx(sum(loads) / len(loads))
    points = next(layer for layer in chart.layers if isinstance(layer, Points))
    assert points.y[place] == pytest.approx(max(loads))
    curve = curves(only(content.link_load_cdf({"": shown}, "dimension-0")))["dimension-0"]
    assert curve.x[-1] == pytest.approx(max(loads))
    assert curve.y[-1] == 100
    below = 100 * sum(load <= curve.x[3] for load in loads) / len(loads)
    assert curve.y[3] <= below + 1e-9


def test_a_class_without_a_row_was_idle(shown: fabricsim.Result) -> None:
    chart = only(content.class_load({"": shown}, "busy", None))
    curve = curves(chart)["global"]
    assert chart.x.label == "simulated time (\u00b5s)"
    # Bins 0, 1, 3, 4 to 7 have rows; 2 to 3 us has none.
    assert list(curve.x) == [0, 1, 2, 3, 4, 6, 8, 10, 12]
    assert [round(y, 6) for y in curve.y] == [10, 20, 0, 40, 50, 60, 70, 80, 80]
    # Forty percent, and ten more in another row of the first bin.
    assert [round(y, 6) for y in curves(chart)["injection"].y] == [50] + [40] * 8
    full = curves(only(content.class_load({"": shown}, "buffer_full", "global")))
    assert list(full) == ["global"]
    assert full["global"].y[0] == pytest.approx(2.5)


def test_rates_count_the_width_of_bins(shown: fabricsim.Result) -> None:
    all_hosts = curves(only(content.sends_receives({"": shown}, "hosts", "packets", None)))
    # 10 + 20 + 30 + 40 packets in each bin, of which the first four are 1 us and the others 2 us wide.
    assert [round(y, 6) for y in all_hosts["sent"].y] == [100] * 4 + [50] * 5
    assert [round(y, 6) for y in all_hosts["received"].y] == [80] * 4 + [40] * 5
    chart = only(content.sends_receives({"": shown}, "hosts", "bytes", [1]))
    assert chart.y.label == "rate (Gbit/s)"
    # 20,000 B in 1 us.
    assert curves(chart)["sent"].y[0] == pytest.approx(160)


def test_a_level_holds_until_it_changes(shown: fabricsim.Result) -> None:
    charts = content.occupancy(shown, None, None, None, most=48, columns=24)
    assert [chart.title for chart in charts] == [
        f"Occupancy of buffers, VC {vc} (all links)" for vc in (0, 1)
    ]
    heat = charts[0].layers[0]
    assert isinstance(heat, Heat)
    assert (heat.begin, heat.end, heat.low) == (0, 12, 0)
    # 24 columns of 0.5 us. Link 2 fills to half in the bin from 2 to 3 us, which is known at its end.
    assert [round(value or 0) for value in heat.values[2]] == [0] * 5 + [50] * 19
    assert heat.rows[2].startswith("link 2: ")
    fullest = content.occupancy(shown, None, None, [1], most=2, columns=24)
    assert "2 of 6 links, the fullest" in only(fullest).title
    some = content.occupancy(shown, [0, 3], None, None, most=48, columns=24)[0].layers[0]
    assert isinstance(some, Heat) and len(some.rows) == 2


def test_the_communication_matrix_is_the_sum_of_the_messages(shown: fabricsim.Result) -> None:
    sent = shown.communication("halo").to_pylist()
    rows = shown.tables["messages"].to_pylist()
    messages = [row for row in rows if row["protocol"] in ("eager", "rendezvous", "put", "get-data")]
    assert sum(row["messages"] for row in sent) == len(messages)
    for row in sent:
        of = [
            m["bytes"]
            for m in messages
            if (m["from_rank"], m["to_rank"]) == (row["from_rank"], row["to_rank"])
        ]
        assert (row["messages"], row["bytes"]) == (len(of), sum(of))
    with pytest.raises(fabricsim.ResultError, match="no job 'other' of MPI ranks"):
        shown.communication("other")
    heat = only(content.communication(shown, "halo", "messages")).layers[0]
    assert isinstance(heat, Heat)
    first = sent[0]
    value = heat.values[first["from_rank"]][first["to_rank"]]
    assert value == pytest.approx(math.log10(1 + first["messages"]))


def test_the_parts_of_a_time_add_up(shown: fabricsim.Result) -> None:
    chart = only(content.job_time({"": shown}, None))
    ps = {"time, mean of the ranks (\u00b5s)": 1e6, "time, mean of the ranks (ns)": 1e3}[chart.y.label]
    total = sum(bar.y[0] for bar in bars(chart).values()) * ps / 1000
    job = shown.summary.jobs[0]
    assert total == pytest.approx(job.compute_ns + job.mpi_ns, rel=1e-3)
    ranks = only(content.rank_time(shown, "halo"))
    for place, row in enumerate(shown.ranks.to_pylist()):
        told = row["compute_ps"] + row["mpi_ps"]
        assert sum(bar.y[place] for bar in bars(ranks).values()) * ps == pytest.approx(told, rel=1e-6)


def test_hosts_are_sorted_by_the_mean_of_their_packets(shown: fabricsim.Result) -> None:
    rows = [row for row in shown.hosts.to_pylist() if row["packets_received"] > 0]
    of_halo = {row["host"] for row in shown.ranks.to_pylist()}
    assert 0 < len(of_halo) < len(rows)
    for what, column, scale in (("latency", "latency_sum_ps", 1e3), ("hops", "hops_sum", 1.0)):
        chart = only(content.host_latency({"": shown}, what, None))  # type: ignore[arg-type]
        if what == "latency":
            scale = 1e6 if "\u00b5s" in chart.y.label else 1e3
        drawn = curves(chart)
        assert list(drawn) == ["all hosts", "halo"]
        for name, hosts in (("all hosts", {row["host"] for row in rows}), ("halo", of_halo)):
            chosen = [row for row in rows if row["host"] in hosts]
            means = sorted(row[column] / row["packets_received"] / scale for row in chosen)
            assert drawn[name].y == pytest.approx([*means, means[-1]])
            assert (drawn[name].x[0], drawn[name].x[-1], len(drawn[name].x)) == (0, 100, len(means) + 1)
    one = curves(only(content.host_latency({"": shown}, "latency", "halo")))
    assert list(one) == ["halo"]
    both = curves(only(content.host_latency({"a": shown, "b": shown}, "latency", None)))
    assert list(both) == ["a", "b"] and both["a"].y == both["b"].y


def test_hosts_without_counted_packets_say_what_to_set() -> None:
    result = fabricsim.run({**EXPERIMENT, "collect": {}})
    with pytest.raises(ResultError, match="set collect.host_latency = true"):
        content.host_latency({"": result}, "latency", None)


def test_ranks_of_an_unknown_job_are_an_error(shown: fabricsim.Result) -> None:
    with pytest.raises(ResultError, match="no ranks of a job 'noise'; there are those of: halo"):
        content.host_latency({"": shown}, "latency", "noise")


def test_a_timeline_has_every_state_and_message(shown: fabricsim.Result) -> None:
    chart = only(content.timeline(shown, None, None, None, None, None))
    spans = {layer.name: layer for layer in chart.layers if isinstance(layer, Spans)}
    assert list(spans)[0] == "computation"
    assert set(spans) == {"computation", *recorded.CALLS}
    total = sum(
        end - begin for layer in spans.values() for begin, end in zip(layer.begins, layer.ends, strict=True)
    )
    assert total == pytest.approx(8 * 12)
    arrows = next(layer for layer in chart.layers if isinstance(layer, Arrows))
    assert len(arrows.from_x) == 8, "of each message once, however many the protocol made of it"
    # The largest message comes first: from rank 7, sent after 8.1 us, received after 8.9 us.
    assert (arrows.from_x[0], arrows.to_x[0]) == (pytest.approx(8.1), pytest.approx(8.9))
    assert (arrows.from_y[0], arrows.to_y[0]) == (7, 0)
    part = only(content.timeline(shown, "halo", [2, 3], 2000, 5000, False))
    assert (part.x.low, part.x.high) == (2, 5)
    assert part.title == "Timeline of halo, 2 of 8 ranks"
    assert part.y.ticks == [(0.0, "2"), (1.0, "3")]


def test_a_long_timeline_shows_what_fills_most_of_a_pixel() -> None:
    # A call of 1 ps between computations of 9 ps, then a long one.
    rows = [
        (0, 10 * i + b, 10 * i + e, s) for i in range(500) for b, e, s in ((0, 9, "compute"), (9, 10, "call"))
    ]
    rows.append((0, 5000, 10000, "call"))
    spans, sums = content._readable(rows, len(rows), 0, 10000, 100)
    assert spans == [(0, 0, 5000, "compute"), (0, 5000, 10000, "call")]
    assert sums == {"compute": 4500, "call": 5500}
    assert content._readable(rows, len(rows), 0, 10000, 1000)[0] == rows


def test_figures_of_a_run_that_recorded_everything_add_up(tmp_path: Path) -> None:
    collect = {"series": "vcs", "timeline": True}
    result = fabricsim.run({**EXPERIMENT, "collect": collect}, out=tmp_path / "result")
    sent = curves(only(content.sends_receives({"": result}, "hosts", "packets", None)))["sent"]
    widths = [end - begin for begin, end in zip(sent.x, sent.x[1:], strict=False)]
    total = sum(rate * width for rate, width in zip(sent.y, widths, strict=False))
    assert total == pytest.approx(result.summary.network.packets_injected)
    load = curves(only(content.class_load({"": result}, "busy", "dimension-0")))["dimension-0"]
    area = sum(y * (b - a) for y, a, b in zip(load.y, load.x, load.x[1:], strict=False)) / load.x[-1]
    busy = [100 * row["busy_fraction"] for row in result.links.to_pylist() if row["class"] == "dimension-0"]
    assert area == pytest.approx(sum(busy) / len(busy), rel=1e-6)
    chart = only(content.timeline(result, None, None, None, None, None))
    spans = [layer for layer in chart.layers if isinstance(layer, Spans)]
    shown = sum(end - begin for part in spans for begin, end in zip(part.begins, part.ends, strict=True))
    known = sum(row["compute_ps"] + row["mpi_ps"] for row in result.ranks.to_pylist())
    ps = 1e6 if "\u00b5s" in chart.x.label else 1e3
    # The run is cut off, and what its end interrupts is in no row of the timeline.
    interrupted = len(result.ranks) * result.summary.run.simulated_ns * 1e3 - shown * ps
    assert 0 <= interrupted < 0.05 * known
    assert shown * ps + interrupted == pytest.approx(known)
    assert len(content.occupancy(result, None, "dimension-0", None, 48, 100)) > 0


@pytest.mark.parametrize("backend", ["matplotlib", "plotly"])
@pytest.mark.parametrize("name", FIGURES)
def test_both_libraries_draw_it_with_units(name: str, backend: str, shown: fabricsim.Result) -> None:
    pytest.importorskip(backend)
    figure = FIGURES[name](shown.plot, backend)
    if backend == "matplotlib":
        labels = [label for axes in figure.axes for label in (axes.get_xlabel(), axes.get_ylabel())]
        buffer = io.BytesIO()
        figure.savefig(buffer, format="pdf")
        assert len(buffer.getvalue()) > 5000
        assert figure._repr_png_().startswith(b"\x89PNG")
        drawn = sum(len(a.lines) + len(a.patches) + len(a.images) + len(a.collections) for a in figure.axes)
    else:
        labels = [axis.title.text for axis in (*figure.select_xaxes(), *figure.select_yaxes())]
        drawn = len(figure.data)
        assert len(figure.to_json()) > 500
    assert drawn > 0
    for label in labels:
        assert (label or "") in NAMES or re.search(r"\(.+\)|per \u00b5s", label), label


@pytest.mark.parametrize("backend", ["matplotlib", "plotly"])
@pytest.mark.parametrize(
    "what",
    [
        "latency",
        "hops",
        "host_latency",
        "host_hops",
        "link_load",
        "link_load_cdf",
        "class_load",
        "job_time",
    ],
)
def test_results_are_compared_in_one_figure(what: Any, backend: Any, shown: fabricsim.Result) -> None:
    pytest.importorskip(backend)
    figure = plot.compare({"first": shown, "second": shown}, what, backend=backend)
    text = figure.to_json() if backend == "plotly" else " ".join(texts(figure))
    assert "first" in text and "second" in text


def texts(figure: Any) -> list[str]:
    """All texts of a figure of matplotlib."""
    from matplotlib.text import Text

    return [text.get_text() for text in figure.findobj(Text)]


def test_names_are_shown_as_they_are(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("plotly")
    name = "_a$b_c$<b>"
    experiment = {**EXPERIMENT, "job": [{**EXPERIMENT["job"][0], "name": name}, EXPERIMENT["job"][1]]}
    result = fabricsim.run(experiment)
    assert any("<b>" in text and r"\$b" in text for text in texts(result.plot.latency()))
    assert "<b>" not in result.plot.latency(backend="plotly").to_json()
    result.plot.job_time().savefig(tmp_path / "a.png")


def test_figures_change_nothing_global(shown: fabricsim.Result) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    before = dict(matplotlib.rcParams)
    shown.plot.latency()
    assert dict(matplotlib.rcParams) == before


def contrast(first: str, second: str) -> float:
    """The contrast ratio of two colours (WCAG 2.1)."""

    def brightness(paint: str) -> float:
        parts = [int(paint[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = ((p / 12.92) if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted((brightness(first), brightness(second)))
    return (light + 0.05) / (dark + 0.05)


def seen(paint: str, deficiency: str) -> tuple[float, ...]:
    """A colour as seen without one kind of cones (Machado, Oliveira, Fernandes 2009, severity 1)."""
    matrices = {
        "protan": (
            (0.152286, 1.052583, -0.204868),
            (0.114503, 0.786281, 0.099216),
            (-0.003882, -0.048116, 1.051998),
        ),
        "deutan": (
            (0.367322, 0.860646, -0.227968),
            (0.280085, 0.672501, 0.047413),
            (-0.011820, 0.042940, 0.968881),
        ),
        "tritan": (
            (1.255528, -0.076749, -0.178779),
            (-0.078411, 0.930809, 0.147602),
            (0.004733, 0.691367, 0.303900),
        ),
    }
    linear = [(int(paint[at : at + 2], 16) / 255) ** 2.2 for at in (1, 3, 5)]
    mixed = [sum(m * c for m, c in zip(row, linear, strict=True)) for row in matrices[deficiency]]
    return tuple(max(0.0, value) ** (1 / 2.2) for value in mixed)


@pytest.mark.parametrize("deficiency", ["protan", "deutan", "tritan"])
def test_colours_are_told_apart_without_one_kind_of_cones(deficiency: str) -> None:
    from fabricsim.plot.chart import COLOURS

    looks = [seen(paint, deficiency) for paint in COLOURS]
    for number, first in enumerate(looks):
        for second in looks[:number]:
            distance = sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) ** 0.5
            assert distance > 0.1
    assert contrast(COLOURS[0], "#FFFFFF") > 4.5
