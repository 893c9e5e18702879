"""`fabricsim view`: the time of ranks by cause, as bars that add up to the table of ranks."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import view_results
from view_pages import chromium, page_of, serving
from view_results import command

COLUMNS = ["compute_ps", "overhead_ps", "partner_ps", "transfer_ps", "link_wait_ps"]
COLUMNS += [f"collective_{name}_ps" for name in ("partner", "transfer", "link_wait")]

#: Label of each bar, and the widths of its parts in percent.
BARS = """() => [...document.querySelectorAll(".bar")].map(bar => [
    bar.querySelector("span").textContent,
    [...bar.querySelectorAll("i")].map(part => parseFloat(part.style.width)) ])"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium."""
    with chromium() as opened:
        yield opened


def shares(result: Path) -> list[list[float]]:
    """The parts of each rank in percent of the longest time."""
    rows = pq.read_table(result / "ranks.parquet").to_pylist()
    longest = max(row["time_ps"] for row in rows)
    return [[100 * row[name] / longest for name in COLUMNS] for row in rows]


def test_each_rank_has_a_bar_of_its_causes(browser: Any, tmp_path: Path) -> None:
    result = view_results.run(tmp_path)
    expected = shares(result)
    with serving(result) as view, page_of(browser, view.url) as page:
        page.click("#tab-ranks")
        page.wait_for_selector(".bar")
        bars = page.evaluate(BARS)
        assert [name for name, _ in bars] == [f"rank {rank}" for rank in range(8)]
        for (_, widths), parts in zip(bars, expected, strict=True):
            assert widths == pytest.approx(parts, abs=0.01)
        assert max(sum(widths) for _, widths in bars) == pytest.approx(100, abs=0.1), (
            "a full bar is the longest"
        )
        assert "were not collected" in page.inner_text(".panel .charts:not([hidden])")
        page.focus(".bar >> nth=3")
        page.keyboard.press("Enter")
        page.wait_for_selector("#detail[data-shows='rank 3']")


def test_many_ranks_are_folded_by_their_causes(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "many.toml"
    many = view_results.EXPERIMENT.replace("ranks = 8,", "ranks = 128,")
    file.write_text(
        many.replace("[run]", "ranks_per_host = 4\n\n[run]").replace('until = "20 us"', 'until = "1 ms"')
    )
    result = tmp_path / "many"
    subprocess.run([command(), "run", str(file), "--out", str(result)], check=True, capture_output=True)
    expected = shares(result)
    with serving(result) as view, page_of(browser, view.url) as page:
        page.click("#tab-ranks")
        page.wait_for_selector(".bar")
        bars = page.evaluate(BARS)
        assert 1 < len(bars) <= 8
        counts = [int(name.split(" ×")[0]) if "×" in name else 1 for name, _ in bars]
        assert sum(counts) == 128 and counts == sorted(counts, reverse=True)
        # Each bar is the mean of its ranks, so that all of them keep the sums.
        for part in range(len(COLUMNS)):
            shown = sum(count * widths[part] for count, (_, widths) in zip(counts, bars, strict=True))
            assert shown == pytest.approx(sum(parts[part] for parts in expected), abs=0.2)
        assert "of the differences" in page.inner_text(".panel .charts:not([hidden])")
        page.click(".bar >> nth=0")
        page.wait_for_selector("text=All groups")
        single = page.evaluate(BARS)
        assert len(single) == min(64, counts[0])
        for name, widths in single:
            assert widths == pytest.approx(expected[int(name.split()[1])], abs=0.01)
        page.click("text=All groups")
        assert page.evaluate(BARS) == bars


def test_groups_are_those_that_are_there(browser: Any, tmp_path: Path) -> None:
    result = view_results.run(tmp_path)
    with serving(result) as view, page_of(browser, view.url) as page:
        found = page.evaluate(
            """async () => { const { alike } = await import("/bars.js");
                const points = Array.from({ length: 10_000 },
                    (_, i) => [i % 10 === 3 ? 1 : 0, i % 10 === 7 ? 2 : 0]);
                const { groups, between } = alike(points, 8);
                const noise = points.map((_, i) => [Math.sin(i * i), Math.sin(7 * i * i + 1)]);
                return [groups.map(group => [group.length, group[0]]), between,
                    alike(noise, 2).between]; }"""
        )
        assert sorted(found[0]) == [[1000, 3], [1000, 7], [8000, 0]]
        assert found[1] == pytest.approx(1) and found[2] < 0.7
