"""Pages of sweeps and comparisons: they load nothing, show their data, and escape texts."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html import escape
from pathlib import Path
from typing import Any

import pytest
from sweep_bench import Here, write

import fabricsim
from fabricsim import sweep
from fabricsim.sweep import comparison

pytest.importorskip("plotly", reason="fabricsim[sweep] is not installed")

# The job of traffic in these experiments, and the column of what arrives of it.
JOB = "noise"
DELIVERED = f"job.{JOB}.delivered_share"

EVIL = "<script>alert(1)</script>&\"'|`</pre>"

COSTS = """
currency = "EUR"
note = "Made up."
[[switch]]
per_port = 100
[[cable]]
cost = 10
"""


def figures(page: str) -> list[dict[str, Any]]:
    """The plots of a page."""
    found = re.search(r"^const plots = (.*);$", page, re.MULTILINE)
    assert found is not None
    plots: list[dict[str, Any]] = json.loads(found.group(1))
    return plots


def headings(page: str) -> list[str]:
    return re.findall(r"<h2>(.*?)</h2>", page)


def check_offline(page: str) -> None:
    """No element refers to anything outside the page. plotly.js itself is not inspected: it loads maps
    only on demand."""
    own = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    targets = re.findall(r"""<[a-z]+[^>]*\s(?:src|href)\s*=\s*["']?([^"'>]*)""", own)
    assert targets == ["data:,"]
    assert "@import" not in own and "url(" not in own
    assert len(page) < 10_000_000


NETWORKS = """
name = "Networks"
seeds = 2
[[axis]]
name = "network"
[axis.variants."{evil}"]
"network.topology" = {{ kind = "torus", sizes = [4, 4] }}
[axis.variants.mesh]
"network.topology" = {{ kind = "mesh", sizes = [4, 4] }}
[[axis]]
key = "job.0.traffic.pattern"
values = ["uniform", "tornado"]
[[axis]]
name = "load"
key = "job.0.traffic.load"
values = {{ from = 0.1, to = 0.3, step = 0.1 }}
[report]
baseline = {{ network = "mesh" }}
"""


def test_the_page_of_a_sweep(bench: Path) -> None:
    Path("costs.toml").write_text(COSTS)
    toml_key = EVIL.replace('"', '\\"')
    done = sweep.run(write(NETWORKS.format(evil=toml_key)), costs="costs.toml", engine=Here())
    assert not done.failed and not done.problems
    page = (done.folder / "sweep.html").read_text()
    check_offline(page)
    assert EVIL not in page and "<script>alert" not in page
    # What answers stands first: the sentences, and cost against performance.
    assert headings(page) == [
        "The answer",
        "Cost against performance: job.0.traffic.pattern = uniform",
        "Cost against performance: job.0.traffic.pattern = tornado",
        f"{JOB}: delivered of offered",
        "packet latency, mean",
        "packet latency, p99",
        f"{JOB}: delivered of offered, relative",
        "packet latency, mean, relative",
        "packet latency, p99, relative",
        "All points",
        "Costs",
    ]
    costs, plots = figures(page)[:2], figures(page)[2:]
    summary = done.summary.to_pylist()
    # Curves: a line for each network and pattern, along the load, in percent, with whiskers.
    assert len(plots[0]["data"]) == 4
    line = plots[0]["data"][2]
    assert all(trace["showlegend"] for trace in plots[0]["data"])
    assert line["name"] == "mesh, uniform"
    assert line["x"] == [0.1, 0.2, 0.3]
    mine = summary[6:9]
    assert line["y"] == pytest.approx([100 * row[DELIVERED] for row in mine])
    half = [100 * abs(row[f"{DELIVERED}.high"] - row[DELIVERED]) for row in mine]
    assert line["error_y"]["array"] == pytest.approx(half)
    assert "&lt;script&gt;" in plots[0]["data"][0]["name"]
    # Bars: relative to the mesh under the same pattern and load.
    bars = plots[4]["data"]
    assert bars[2]["y"] == [1, 1, 1] and bars[3]["y"] == [1, 1, 1]
    torus, mesh = summary[5], summary[11]
    name = "network.latency_mean_ns"
    assert bars[1]["y"][2] == pytest.approx(torus[name] / mesh[name])
    # Costs: 16 routers of five ports or fewer, 48 cables of the torus and 40 of the mesh.
    assert [summary[0]["network.cost"], summary[6]["network.cost"]] == [8480, 6400 + 400]
    marks = [trace for trace in costs[0]["data"] if trace["mode"] == "markers"]
    assert [trace["x"] for trace in marks] == [[8480], [6800]]
    assert marks[1]["y"] == pytest.approx([max(row[f"job.{JOB}.delivered_gbps_per_host"] for row in mine)])
    assert "Made up." in page and "<td>all</td>" in page
    assert "Made up." in (done.folder / "summary.md").read_text()


SATURATED = """
seeds = 2
[set]
"network.topology" = { kind = "mesh", sizes = [8] }
[[axis]]
name = "load"
key = "job.0.traffic.load"
values = [0.1, 0.3, 0.9]
"""


def test_curves_of_latency_end_at_saturation(bench: Path) -> None:
    done = sweep.run(write(SATURATED), engine=Here())
    kinds = [None, None, "near-saturation", "near-saturation", "saturated", "saturated"]
    assert done.runs.column("notes").to_pylist() == kinds
    assert done.summary.column("notes").to_pylist() == kinds[::2]
    page = (done.folder / "sweep.html").read_text()
    accepted, latency = (plot["data"] for plot in figures(page)[:2])
    assert len(accepted) == 1 and None not in accepted[0]["y"]
    line, marks, way = latency
    assert line["y"][2] is None and None not in line["y"][:2]
    # The end is marked above all values, and a dotted line leads there.
    assert marks["x"] == [0.9] and marks["y"][0] > max(line["y"][:2])
    assert marks["marker"]["color"] == line["marker"]["color"]
    assert marks["marker"]["symbol"] == "triangle-up-open" and "saturated" in marks["hovertemplate"]
    assert (way["x"], way["y"]) == ([0.3, 0.9], [line["y"][1], marks["y"][0]])
    assert "Triangles at the top mark saturated points" in page
    assert "| saturated |" in (done.folder / "summary.md").read_text()


def test_without_measured_packets_there_are_no_latencies_and_no_intervals(bench: Path) -> None:
    text = '[set]\n"run.warmup" = "19.9 us"\n[[axis]]\nkey = "run.seed"\nvalues = [1, 2]'
    done = sweep.run(write(text), engine=Here())
    assert done.runs.column("notes").to_pylist() == ["nothing-measured"] * 2
    for name in ("network.latency_mean_ns", "network.latency_mean_ns.high", "network.mean_hops"):
        assert done.summary.column(name).to_pylist() == [None, None], name


def test_what_the_cost_table_lacks_is_a_problem(bench: Path) -> None:
    Path("costs.toml").write_text("[[switch]]\nports = 4\n[[cable]]\ncost = 1\n")
    done = sweep.run(write('costs = "costs.toml"'), engine=Here())
    assert len(done.problems) == 1 and "with 5 ports in use" in done.problems[0]
    assert done.runs.column("network.cost").to_pylist() == [None]
    assert "with 5 ports in use" in (done.folder / "sweep.html").read_text()


def test_a_sweep_of_names_has_bars_only(bench: Path) -> None:
    text = '[[axis]]\nkey = "network.router.buffer"\nvalues = ["64 KiB", "8 KiB"]'
    done = sweep.run(write(text), engine=Here())
    page = (done.folder / "sweep.html").read_text()
    plots = figures(page)
    assert len(plots) == 3
    assert plots[0]["data"][0]["x"] == ["64 KiB", "8 KiB"]
    assert plots[0]["data"][0]["y"][0] == 1
    assert "Relative to 64 KiB, which is 1." in page


NAMED = """
[set]
"job.0.traffic.load" = 0.02
[[axis]]
name = "routing"
key = "network.routing.algorithm"
values = ["dimension-order", "valiant", "ugal"]
[[axis]]
name = "pattern"
key = "job.0.traffic.pattern"
values = ["uniform", "all-to-all"]
[report]
baseline = { pattern = "all-to-all" }
"""


def test_two_axes_of_names_are_rows_of_marks(bench: Path) -> None:
    done = sweep.run(write(NAMED), engine=Here())
    page = (done.folder / "sweep.html").read_text()
    plot = figures(page)[1]
    uniform, other = plot["data"]
    assert (uniform["name"], other["name"]) == ("uniform", "all-to-all")
    assert uniform["y"] == other["y"] == ["dimension-order", "valiant", "ugal"]
    assert uniform["mode"] == "markers" and uniform["marker"]["symbol"] != other["marker"]["symbol"]
    assert other["x"] == [1, 1, 1]
    columns = ["network.routing.algorithm", "job.0.traffic.pattern", "network.latency_mean_ns"]
    latencies = done.summary.select(columns).to_pylist()
    rows = {tuple(row[column] for column in columns[:2]): row[columns[2]] for row in latencies}
    ratios = [rows[name, "uniform"] / rows[name, "all-to-all"] for name in uniform["y"]]
    assert uniform["x"] == pytest.approx(ratios)
    assert "Relative to all-to-all with the same routing, which is 1." in page
    assert "Marks are the values of pattern." in page


MANY = """
[[axis]]
name = "pattern"
key = "job.0.traffic.pattern"
values = ["uniform", "tornado"]
[[axis]]
name = "buffer"
key = "network.router.buffer"
values = ["64 KiB", "32 KiB", "16 KiB", "8 KiB"]
[[axis]]
name = "load"
key = "job.0.traffic.load"
values = [0.05, 0.1, 0.15, 0.2, 0.25]
"""


def test_many_lines_are_small_plots_with_one_scale(bench: Path) -> None:
    done = sweep.run(write(MANY), engine=Here())
    page = (done.folder / "sweep.html").read_text()
    assert headings(page)[1:4] == [
        f"{JOB}: delivered of offered",
        "packet latency, mean",
        "packet latency, p99",
    ]
    plot = figures(page)[0]
    lines = [trace for trace in plot["data"] if trace["mode"] == "lines+markers"]
    assert [trace["name"] for trace in lines] == ["64 KiB", "32 KiB", "16 KiB", "8 KiB"] * 2
    assert [trace.get("xaxis", "x") for trace in lines] == ["x"] * 4 + ["x2"] * 4
    assert [trace["showlegend"] for trace in lines] == [True] * 4 + [False] * 4
    assert all(a["line"] == b["line"] for a, b in zip(lines[:4], lines[4:], strict=True))
    layout = plot["layout"]
    assert [note["text"] for note in layout["annotations"]] == ["pattern = uniform", "pattern = tornado"]
    assert (layout["xaxis2"]["matches"], layout["yaxis2"]["matches"]) == ("x", "y")
    assert layout["xaxis"]["domain"][1] < layout["xaxis2"]["domain"][0]
    assert 'style="--height: 330px"' in page


def test_geometric_ranges_are_shown_on_a_logarithmic_scale(bench: Path) -> None:
    text = '[[axis]]\nkey = "network.packet"\nvalues = { from = "64 B", to = "1 KiB", factor = 2 }'
    done = sweep.run(write(text), engine=Here())
    along = figures((done.folder / "sweep.html").read_text())[0]["layout"]["xaxis"]
    assert along["type"] == "log"
    assert along["ticktext"] == ["64 B", "128 B", "256 B", "512 B", "1024 B"]
    assert along["tickvals"] == [64, 128, 256, 512, 1024]


@pytest.fixture
def results(tmp_path: Path, traffic: dict[str, Any]) -> list[Path]:
    """Two result folders."""
    for name, load in {"low": 0.1, "high": 0.4}.items():
        fabricsim.run(traffic, set={"job.0.traffic.load": load}, out=tmp_path / name)
    return [tmp_path / "low", tmp_path / "high"]


def test_pages_follow_the_ground(bench: Path) -> None:
    done = sweep.run(write(NETWORKS.format(evil="torus")), engine=Here())
    page = (done.folder / "sweep.html").read_text()
    assert "@media screen and (prefers-color-scheme: dark)" in page
    table = re.search(r"^const DARK = (.*);$", page, re.MULTILINE)
    assert table
    dark = json.loads(table[1])
    used = set(re.findall(r'"(#[0-9a-fA-F]{3,8})"', json.dumps(figures(page))))
    assert len(used) > 4 and used <= set(dark), used - set(dark)


def test_the_page_of_a_comparison(tmp_path: Path, results: list[Path]) -> None:
    (tmp_path / "costs.toml").write_text(COSTS)
    line = [sys.executable, "-m", "fabricsim", "compare", *map(str, results)]
    plain = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    options = ["--html", str(tmp_path / "page.html"), "--costs", str(tmp_path / "costs.toml")]
    found = subprocess.run([*line, *options], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    # The text stays as it is.
    assert found.stdout == plain + f"page    {tmp_path / 'page.html'}\n"
    page = (tmp_path / "page.html").read_text()
    check_offline(page)
    assert headings(page) == [
        "Which is better",
        "The experiments differ in",
        "The network, relative to low",
        "Latency of packets",
        "Load of links between routers",
        "Cost against performance",
        "Costs",
        "All figures",
    ]
    low, high = (fabricsim.load(folder) for folder in results)
    bars, latency, busy, costs = figures(page)
    assert [trace["name"] for trace in bars["data"]] == ["low", "high"]
    assert set(bars["data"][0]["x"]) == {1}
    ratio = high.summary.network.latency_ns.mean / low.summary.network.latency_ns.mean
    shown = dict(zip(bars["data"][1]["y"], bars["data"][1]["x"], strict=True))
    assert shown["packet latency, mean<br>(lower is better)"] == pytest.approx(ratio)
    # No fraction of the bandwidth of all hosts ranks results, and each bar says what is better.
    assert not any("accepted load" in title for title in shown)
    assert all(title.endswith(" is better)") for title in shown)
    # The words are those of the command; different loads make no run deliver better.
    assert not any("delivered" in title for title in shown)
    headline = plain.partition("\n")[0]
    assert escape(headline) in page
    assert f"<td>job.{JOB}.traffic.load</td><td>0.1</td><td>0.4</td>" in page
    # Distributions rise to all packets, and the median agrees with the summary.
    ends, shares = latency["data"][1]["x"], latency["data"][1]["y"]
    assert shares == sorted(shares) and shares[-1] == 100
    median = next(end for end, share in zip(ends, shares, strict=True) if share >= 50)
    assert median == pytest.approx(high.summary.network.latency_ns.p50 / 1000, rel=0.02)
    assert busy["data"][0]["y"][-1] == 100
    assert [trace["x"] for trace in costs["data"]] == [[8480], [8480]]


def test_bars_say_what_is_better_and_leave_parts_and_unknown_values_out() -> None:
    def value(label: str, better: str | None, values: list[float | None], **more: Any) -> dict[str, Any]:
        of = {"of": "job halo", "is_part": False, "best": [], "cells": ["x", "y"], **more}
        return {**of, "label": label, "better": better, "values": values}

    values = [
        value("job halo: time", "lower", [2.0, 3.0], of=None),
        value("delivered of offered", "higher", [1.0, 0.5]),
        value("offered per host", None, []),
        value("overhead", "lower", [1.0, 2.0], is_part=True),
        value("energy", "lower", [0.0, 2.0]),
        value("packet latency, p99", "lower", [4.0, None], of="network"),
    ]
    jobs, network = comparison._bars(values, ["a", "b"])
    assert jobs.heading == "Jobs, relative to a" and network.heading == "The network, relative to a"
    assert jobs.traces[1]["y"] == [
        "job halo:<br>time<br>(lower is better)",
        "job halo:<br>delivered of offered<br>(higher is better)",
    ]
    assert jobs.traces[1]["x"] == [1.5, 0.5] and jobs.traces[1]["text"] == ["y", "y"]
    assert network.traces[1]["x"] == [None]


def test_tables_of_a_comparison_scroll_and_its_sentences_wrap() -> None:
    text = "A is better.\n\n  a  b\n------\ntime  1  2\n\nnote: <one>\n\nnote: two\n\nkey  a\n------\nx  1"
    assert comparison._text(text) == (
        "<pre>A is better.</pre>\n"
        '<pre class="columns">  a  b\n------\ntime  1  2</pre>\n'
        "<pre>note: &lt;one&gt;\n\nnote: two</pre>\n"
        '<pre class="columns">key  a\n------\nx  1</pre>\n'
    )


def test_a_comparison_names_what_is_wrong(tmp_path: Path, results: list[Path]) -> None:
    line = [sys.executable, "-m", "fabricsim", "compare", "--html", str(tmp_path / "page.html")]
    missing = subprocess.run([*line, str(tmp_path / "nothing")], capture_output=True, text=True)
    assert missing.returncode == 2 and "nothing" in missing.stderr
    costs = [str(results[0]), "--costs", str(tmp_path / "gone.toml")]
    wrong = subprocess.run([*line, *costs], capture_output=True, text=True)
    assert wrong.returncode == 2 and "gone.toml: cannot be read" in wrong.stderr
    assert not (tmp_path / "page.html").exists()


def test_names_tell_results_apart() -> None:
    assert comparison.names([Path("/a/x"), Path("/a/y")]) == ["x", "y"]
    assert comparison.names([Path("/a/x"), Path("/b/x")]) == ["a/x", "b/x"]
    assert comparison.names([Path("/a/x"), Path("/a/x")]) == ["x (1)", "x (2)"]


def test_a_distribution_has_few_points() -> None:
    ends, shares = comparison._cumulative([float(n) for n in range(100_000)], [1] * 100_000)
    assert len(ends) <= comparison.MOST_POINTS + 1
    assert shares[-1] == 100 and ends[-1] == 99_999
    assert shares[len(shares) // 2] == pytest.approx(50, abs=1)
