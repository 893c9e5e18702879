"""What a sweep answers: the sentence on top of its page and in the terminal, from tables with known
winners."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sweep_bench import Here, write

from fabricsim import sweep
from fabricsim.sweep.answer import answer
from fabricsim.sweep.marks import Marks
from fabricsim.sweep.table import has_note

pytest.importorskip("plotly", reason="fabricsim[sweep] is not installed")

THREE = """
[[axis]]
name = "network"
[axis.variants.dragonfly]
"network.topology" = { kind = "torus", sizes = [4, 4] }
[axis.variants.tree]
"network.topology" = { kind = "mesh", sizes = [4, 4] }
[axis.variants.torus]
"network.topology" = { kind = "torus", sizes = [2, 8] }
"""
LOADS = """
[[axis]]
key = "job.0.traffic.load"
values = [0.2, 0.4, 0.6]
"""
TIME, SHARE = "job.halo.time_ns", "job.noise.delivered_share"


def rows(column: str, values: list[float | None], **more: list[Any]) -> list[dict[str, Any]]:
    """Points of one seed with the values of one column, and of others."""
    common = {"seeds": 1, "failed": 0, "notes": None, "network.hosts": 16}
    return [
        {"point": n, **common, column: value, **{name.replace("__", "."): of[n] for name, of in more.items()}}
        for n, value in enumerate(values)
    ]


def test_jobs_of_ranks_are_ranked_by_time_at_their_cost(bench: Path) -> None:
    plan = sweep.load(write(THREE))
    found = rows(TIME, [2e6, 1e6, 1.5e6], network__cost=[400, 1000, 900])
    assert answer(plan, found, "EUR") == [
        "Job halo takes the least time with tree, 1 ms at 1,000 EUR; it takes 1.5 times as long with torus "
        "and "
        "2 times with dragonfly. torus costs 10 % less and takes 1.5 times as long and dragonfly costs 60 % "
        "less and "
        "takes 2 times as long."
    ]
    # What is neither cheaper nor faster is no bargain.
    dear = rows(TIME, [2e6, 1e6, 1.5e6], network__cost=[1500, 1000, 1200])
    assert answer(plan, dear, "EUR")[0].endswith("2 times with dragonfly. No other is cheaper.")
    assert "cost" not in answer(plan, found, None)[0]


def test_equal_times_are_a_tie_and_the_cheapest_is_named(bench: Path) -> None:
    plan = sweep.load(write(THREE))
    found = rows(TIME, [1.01e6, 1e6, 1.015e6], network__cost=[400, 1000, 900])
    assert answer(plan, found, "EUR") == [
        "Job halo takes equally long with tree, dragonfly and torus: 1 ms to 1.015 ms, which is equal "
        "within 2 %. "
        "The cheapest of them is dragonfly, 400 EUR; tree costs 2.5 times as much."
    ]
    # Times that differ by less than the intervals of their seeds are equal, too.
    wide = rows(TIME, [1.1e6, 1e6, 2e6])
    for row, half in zip(wide, [6e4, 6e4, 1e3], strict=True):
        row[f"{TIME}.high"] = row[TIME] + half
    assert answer(plan, wide, None) == [
        "Job halo takes the least time with tree and dragonfly (equal), 1 ms; it takes 2 times as long with "
        "torus."
    ]


def test_a_time_that_the_network_does_not_bound_ranks_nothing(bench: Path) -> None:
    """The all-to-all of the review: 613.8 us on three networks, 100 % MPI overhead."""
    plan = sweep.load(write(THREE))
    shares: dict[str, list[Any]] = {"job__halo__overhead_share": [1.0] * 3, "notes": ["overhead-bound"] * 3}
    found = rows(TIME, [613.8e3] * 3, network__cost=[400, 1000, 900], **shares)
    assert answer(plan, found, "EUR") == [
        "Job halo ranks nothing: MPI overhead (100 % of the critical path) bounds its time, and not the "
        "network."
    ]
    # Times that differ are ranked, with a warning.
    found = rows(TIME, [613.8e3, 700e3, 613.8e3], **shares)
    first, second = answer(plan, found, None)
    assert first.startswith(
        "Job halo takes the least time with dragonfly and torus (equal), 613.8 us; it takes 1.14"
    )
    assert (
        second.startswith("At 3 points of 3, MPI overhead (100 %")
        and "say little about the network" in second
    )


def test_what_did_not_finish_is_named(bench: Path) -> None:
    plan = sweep.load(write(THREE))
    text = answer(plan, rows(TIME, [None, 1e6, 2e6]), None)[0]
    assert text.endswith("It has no time with dragonfly.")
    assert answer(plan, rows(TIME, [None] * 3), None) == [
        "Job halo has no time at 3 points: it did not finish."
    ]


def test_traffic_says_where_each_network_saturates(bench: Path) -> None:
    plan = sweep.load(write(THREE + LOADS))
    shares = [1.0, 1.0, 1.0, 1.0, 0.99, 0.7, 0.9, 0.5, 0.3]
    notes = [None, None, None, None, None, "saturated", "saturated", "saturated", "saturated"]
    found = rows(SHARE, list(shares), notes=notes, network__cost=[1000] * 3 + [600] * 3 + [100] * 3)
    assert answer(plan, found, "EUR") == [
        "Of the traffic of job noise, dragonfly can carry all up to a load of 0.6, the largest that was "
        "tried; tree can "
        "carry 0.4 and not 0.6; torus cannot carry a load of 0.2, the least that was tried. "
        "dragonfly costs 1,000 EUR; the cheapest of all is torus, 100 EUR."
    ]


def test_traffic_that_all_carry_is_ranked_by_latency(bench: Path) -> None:
    plan = sweep.load(write(THREE + LOADS))
    latencies = [500.0, 600, 800, 500, 610, 800, 700, 800, 1200]
    found = rows(SHARE, [1.0] * 9, job__noise__latency_mean_ns=latencies)
    assert answer(plan, found, None) == [
        "Of the traffic of job noise, dragonfly, tree and torus can carry all up to a load of 0.6, the "
        "largest that was "
        "tried.",
        "At a load of 0.6, which all carry, the mean packet latency is the shortest with dragonfly and "
        "tree, 800 ns; it is "
        "1.5 times as long with torus.",
    ]


def test_several_uses_are_told_apart_and_many_are_counted(bench: Path) -> None:
    two = '[[axis]]\nname = "pattern"\nkey = "job.0.traffic.pattern"\nvalues = ["uniform", "tornado"]\n'
    plan = sweep.load(write(THREE + two))
    found = rows(TIME, [1e6, 2e6, 3e6, 1e6, 2e6, 2e6])
    assert [text.partition(":")[0] for text in answer(plan, found, None)] == ["uniform", "tornado"]
    many = '[[axis]]\nname = "buffer"\nkey = "run.until"\nvalues = ["1 us", "2 us", "3 us", "4 us", "5 us"]\n'
    plan = sweep.load(write(THREE + many))
    found = rows(TIME, [1e6] * 4 + [2e6] + [2e6] * 4 + [1e6] + [3e6] * 5)
    assert answer(plan, found, None) == [
        "Job halo takes the least time (or ties) with dragonfly in 4 and tree in 1 of 5 combinations.",
        "By the geometric mean over all of them, dragonfly is the fastest; it takes 1.52 times as long with "
        "tree and "
        "2.61 times with torus.",
    ]


def test_notes_have_letters_and_those_of_all_points_have_none() -> None:
    kinds = ["default-overheads", "default-overheads, saturated", "default-overheads, cut-off, saturated"]
    found = [{"seeds": 1, "notes": kind} for kind in kinds]
    marks = Marks.of([*found, {"seeds": 0, "notes": None}])
    assert marks.common == ("default-overheads",)
    assert [marks.of_point(row) for row in found] == ["", "[a]", "[ab]"]
    assert marks.legend(found) == "[a] saturated, [b] cut-off"
    assert has_note(found[1], "saturated") and not has_note(found[0], ["saturated", "cut-off"])


SATURATED = """
[set]
"network.topology" = { kind = "mesh", sizes = [8] }
[[axis]]
name = "load"
key = "job.0.traffic.load"
values = [0.1, 0.3, 0.9]
[[derived]]
name = "ratio"
formula = "[network.latency_mean_ns] / baseline([network.latency_mean_ns])"
"""


def test_a_saturated_latency_stands_in_no_summary_bar_or_formula(bench: Path) -> None:
    done = sweep.run(write(SATURATED), engine=Here())
    assert done.answer == ["Of the traffic of job noise, the network can carry 0.3 and not 0.9."]
    # The run has its number, and the point has none.
    assert done.runs.column("network.latency_mean_ns")[2].as_py() > 0
    for name in ("network.latency_mean_ns", "job.noise.latency_p99_ns", "derived.ratio"):
        assert done.summary.column(name)[2].as_py() is None, name
        assert done.summary.column(name)[1].as_py() > 0, name
    text = (done.folder / "summary.md").read_text()
    assert "| saturated |" in text and "] saturated (1 point)" in text
    assert done.answer[0] in text and done.answer[0] in (done.folder / "sweep.html").read_text()
    bars = next(figure for figure in done.figures if figure.heading == "packet latency, mean, relative")
    assert bars.traces[0]["y"][2] is None and "Saturated points have no bar" in bars.explanation


def test_figures_are_drawn_for_papers(bench: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="fabricsim[plot] is not installed")
    done = sweep.run(write(THREE + LOADS), engine=Here())
    files = done.save_figures("svg")
    assert [file.name for file in files][:2] == [
        "01-noise-delivered-of-offered.svg",
        "02-packet-latency-mean.svg",
    ]
    drawn = done.figures[1].matplotlib()
    (axes,) = drawn.axes
    assert axes.get_ylabel() == "packet latency, mean (us)"
    lines = [line for line in axes.get_lines() if len(line.get_xdata()) == 3]
    expected = [trace["y"] for trace in done.figures[1].traces if trace["mode"] == "lines+markers"]
    assert [list(line.get_ydata()) for line in lines] == expected
    assert all("<svg" in file.read_text() for file in files)
    assert done.figures[1].plotly().layout.title.text == "packet latency, mean"
