"""`fabricsim view`: ranks by cause, as bars that add up to their table, and over time."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import view_results
from unverified import unverified
from view_pages import chromium, page_of, serving, settle, shows
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
        assert sorted(name for name, _ in bars) == [f"rank {rank}" for rank in range(8)]
        for name, widths in bars:
            assert widths == pytest.approx(expected[int(name.split()[1])], abs=0.01)
        waits = [sum(widths[part] for part in (2, 4, 5, 7)) for _, widths in bars]
        assert waits == pytest.approx(sorted(waits, reverse=True), abs=1e-3), (
            "the ranks that wait the longest are first"
        )
        axis = page.locator(".axis i").all_inner_texts()
        assert len(axis) >= 3 and axis[0].startswith("0 ")
        assert max(sum(widths) for _, widths in bars) == pytest.approx(100, abs=0.1), (
            "a full bar is the longest"
        )
        shows(page, ".panel .charts:not([hidden])", "were not collected")
        page.focus(".bar >> nth=3")
        page.keyboard.press("Enter")
        page.wait_for_selector(f"#detail[data-shows='{bars[3][0]}']")


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
        shows(page, ".panel .charts:not([hidden])", "of the differences")
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
                // Every third of 9,999 would see one of three kinds only.
                const thirds = Array.from({ length: 9_999 }, (_, i) => [i % 3]);
                return [groups.map(group => [group.length, group[0]]), between,
                    alike(noise, 2).between, alike(thirds, 8).groups.map(group => group.length)]; }"""
        )
        assert sorted(found[0]) == [[1000, 3], [1000, 7], [8000, 0]]
        assert found[1] == pytest.approx(1) and found[2] < 0.7
        assert found[3] == [3333, 3333, 3333]


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result of 144 ranks with their timeline, waits and critical path."""
    folder = tmp_path_factory.mktemp("lanes")
    many = view_results.EXPERIMENT.replace("ranks = 8,", "ranks = 144,").replace('"20 us"', '"1 ms"')
    many = many.replace("[run]", "ranks_per_host = 4\n\n[run]")
    (folder / "many.toml").write_text(many + "\n[collect]\ntimeline = true\nwaits = true\n")
    result = folder / "many"
    line = [command(), "run", str(folder / "many.toml"), "--out", str(result)]
    subprocess.run(line, check=True, capture_output=True)
    subprocess.run([command(), "explain", str(result)], check=True, capture_output=True)
    return result


def part(row: dict[str, Any]) -> str:
    """What a rank does in a row of the timeline."""
    if row["state"] == "compute":
        return "compute"
    if not row["blocked"]:
        return "overhead"
    return "blocked_collective" if row["state"].startswith(("MPI_All", "MPI_Barrier")) else "blocked"


#: The ranks of each lane, and the time of a rank in each state, summed over the ranks.
LANES = """() => { const { ranks } = fabricsim.state.panels[0];
    const length = (ranks.span.to - ranks.span.from) / ranks.lanes[0].means[0].length;
    return [ranks.lanes.map(lane => lane.ranks), ranks.lanes.reduce((sum, lane) => sum.map((of, state) =>
        of + length * lane.ranks.length * lane.means[state].reduce((a, b) => a + b, 0)), [0, 0, 0, 0])]; }"""


def open_lanes(page: Any) -> None:
    """Opens the lanes."""
    page.click("#tab-ranks")
    page.wait_for_function("() => fabricsim.state.panels[0].ranks?.drawn?.lanes > 0")
    settle(page)


def test_many_ranks_over_time_are_lanes_that_add_up(browser: Any, timed: Path) -> None:
    rows = pq.read_table(timed / "timeline.parquet").to_pylist()
    expected = dict.fromkeys(("compute", "overhead", "blocked", "blocked_collective"), 0)
    for row in rows:
        expected[part(row)] += row["end_ps"] - row["begin_ps"]
    with serving(timed) as view, page_of(browser, view.url) as page:
        open_lanes(page)
        lanes, sums = page.evaluate(LANES)
        assert 1 < len(lanes) <= 8
        assert sorted(rank for lane in lanes for rank in lane) == list(range(144))
        assert sums == pytest.approx(list(expected.values()), rel=1e-4, abs=1)
        shows(page, ".panel .stage:not([hidden]) .status", "of the differences")
        steps = pq.read_metadata(timed / "critical_path.parquet").num_rows
        assert page.evaluate("() => fabricsim.state.panels[0].ranks.drawn.path") == steps
        # Zoomed in, the same lanes with the time in sight.
        box = page.locator(".panel .stage:not([hidden]) canvas").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_selector("#tip:not([hidden])")
        shows(page, "#tip", "computation")
        shows(page, "#tip", "waits, collectives")
        page.mouse.wheel(0, -600)
        page.wait_for_function(
            "() => { const { ranks } = fabricsim.state.panels[0];"
            " const { from, to, until } = ranks.span; return to < until && ranks.range === `${from} ${to}`; }"
        )
        from_ps, to_ps = page.evaluate(
            "() => { const { from, to } = fabricsim.state.span; return [from, to]; }"
        )
        within = dict.fromkeys(expected, 0.0)
        for row in rows:
            within[part(row)] += max(0, min(row["end_ps"], to_ps) - max(row["begin_ps"], from_ps))
        zoomed, sums = page.evaluate(LANES)
        assert zoomed == lanes
        assert sums == pytest.approx(list(within.values()), rel=1e-3, abs=1e4)


def test_a_lane_opens_by_key_and_shows_its_ranks_and_their_messages(browser: Any, timed: Path) -> None:
    messages = pq.read_table(timed / "messages.parquet", columns=["from_rank", "to_rank"]).to_pylist()
    with serving(timed) as view, page_of(browser, view.url) as page:
        open_lanes(page)
        [first, *_], _ = page.evaluate(LANES)
        page.focus(".panel .stage:not([hidden]) canvas")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_function("() => fabricsim.state.panels[0].ranks?.drawn?.messages !== undefined")
        page.wait_for_function("() => fabricsim.state.panels[0].ranks.messages !== null")
        settle(page)
        shown = page.evaluate("() => fabricsim.state.panels[0].ranks.only")
        assert shown == first[:64]
        among = sum(row["from_rank"] in shown and row["to_rank"] in shown for row in messages)
        assert page.evaluate("() => fabricsim.state.panels[0].ranks.messages[0].matching") == among
        drawn = page.evaluate("() => [...fabricsim.state.panels[0].ranks.rows.keys()]")
        assert sorted(drawn) == shown
        page.click("text=All lanes")
        page.wait_for_function("() => fabricsim.state.panels[0].ranks?.drawn?.lanes > 0")


def test_a_wait_leads_to_the_links_that_its_message_waited_for(
    browser: Any, timed: Path, tmp_path: Path
) -> None:
    waits: dict[tuple[int, int], dict[int, int]] = {}
    for row in pq.read_table(timed / "waits.parquet").to_pylist():
        of = waits.setdefault((row["from_host"], row["number"]), {})
        of[row["link"]] = of.get(row["link"], 0) + row["end_ps"] - row["begin_ps"]
    ends = {
        (row["to_rank"], row["matched_ps"]): waits[row["from_host"], row["number"]]
        for row in pq.read_table(timed / "messages.parquet").to_pylist()
        if (row["from_host"], row["number"]) in waits
    }
    timeline = pq.read_table(timed / "timeline.parquet").to_pylist()
    waiting = [row for row in timeline if row["blocked"] and (row["rank"], row["end_ps"]) in ends]
    assert waiting, "some rank waits for a message that waited for a link"
    row = max(waiting, key=lambda row: row["end_ps"] - row["begin_ps"])
    links = ends[row["rank"], row["end_ps"]]
    thing = {"kind": "rank", "id": row["rank"], "job": "rows", "at": row["begin_ps"] + 1}
    detail = f"#detail[data-shows='rank {row['rank']}']"
    with serving(timed) as view, page_of(browser, view.url) as page:
        page.click("#tab-ranks")
        page.evaluate("thing => fabricsim.choose(0, thing)", thing)
        page.wait_for_selector(detail)
        shows(page, "#detail", f"Waits in {row['state']}")
        listed = page.locator("#detail .go").all_inner_texts()
        named = [int(words.split()[1]) for words in listed if words.startswith("link ")]
        assert set(named) == set(sorted(links, key=lambda link: -links[link])[:8]) or len(named) == 8
        assert links[named[0]] == max(links.values())
        page.click(f"#detail .go >> text='link {named[0]}'")
        page.wait_for_selector(f"#detail[data-shows='link {named[0]}']")
        assert page.get_attribute("#tab-network", "aria-selected") == "true"
        # Work of the CPU is no wait.
        other = next(row for row in timeline if not row["blocked"] and row["end_ps"] > row["begin_ps"] + 1)
        at = {**thing, "id": other["rank"], "at": (other["begin_ps"] + other["end_ps"]) // 2}
        page.evaluate("thing => fabricsim.choose(0, thing)", at)
        page.wait_for_selector(f"#detail[data-shows='rank {other['rank']}']")
        shows(page, "#detail", f"{other['state']}, ")
        assert "Waits in" not in page.inner_text("#detail")
    without = tmp_path / "without"
    shutil.copytree(timed, without)
    (without / "waits.parquet").unlink()
    with serving(without) as view, page_of(browser, view.url) as page:
        page.evaluate("thing => fabricsim.choose(0, thing)", thing)
        page.wait_for_selector(detail)
        shows(page, "#detail", "collect.waits = true")


def test_a_timeline_of_an_older_version_has_lines(browser: Any, timed: Path, tmp_path: Path) -> None:
    old = tmp_path / "old"
    shutil.copytree(timed, old)
    unverified(old)
    timeline = pq.read_table(old / "timeline.parquet")
    pq.write_table(timeline.drop_columns(["blocked"]), old / "timeline.parquet")
    with serving(old) as view, page_of(browser, view.url) as page:
        found = view.ask("/data/0/shares?job=rows&from_ps=0&to_ps=1000&parts=3")
        assert found[0] == 400, "the server says what is missing"
        page.click("#tab-ranks")
        page.wait_for_function("() => fabricsim.state.panels[0].ranks?.drawn?.states >= 144")
        page.evaluate("() => fabricsim.choose(0, { kind: 'rank', id: 3, job: 'rows', at: 1 })")
        page.wait_for_selector("#detail[data-shows='rank 3']")
        found = page.evaluate(
            "() => fabricsim.state.panels[0].result.table('timeline', ['rank', 'blocked']).catch(String)"
        )
        assert "The table timeline has no column blocked" in found, "not asked of the server"


def test_the_matrix_shows_what_ranks_sent_to_each_other(browser: Any, timed: Path) -> None:
    expected: dict[tuple[int, int], list[int]] = {}
    for row in pq.read_table(timed / "messages.parquet").to_pylist():
        if row["protocol"] not in ("eager", "rendezvous"):
            continue
        sums = expected.setdefault((row["from_rank"], row["to_rank"]), [0, 0])
        sums[0] += 1
        sums[1] += row["bytes"]
    with serving(timed) as view, page_of(browser, view.url) as page:
        page.click("#tab-ranks")
        page.select_option("select[aria-label='What is shown of ranks']", "by partner")
        page.wait_for_selector("canvas.matrix")
        read = """async most => {
            const where = { job: "rows", ranks: 144, most };
            const rows = await fabricsim.state.panels[0].result.made("communication", where);
            return [...rows.from].map((from, i) => [from, rows.to[i], rows.messages[i], rows.bytes[i]]); }"""
        cells = page.evaluate(read, 256)
        assert {(a, b): [messages, size] for a, b, messages, size in cells} == expected
        # In two rows and columns of 72 ranks each.
        halves = page.evaluate(read, 2)
        assert sum(cell[2] for cell in halves) == sum(of[0] for of in expected.values()) and len(halves) <= 4
        (a, b), (messages, _) = next(iter(expected.items()))
        box = page.locator("canvas.matrix").bounding_box()
        size = min(40, (box["width"] - 64) / 144, (box["height"] - 38) / 144)
        page.mouse.move(box["x"] + 56 + (b + 0.5) * size, box["y"] + 34 + (a + 0.5) * size)
        page.wait_for_selector("#tip:not([hidden])")
        shows(page, "#tip", f"from rank {a} to rank {b}\n{messages} message")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_lanes_fit_a_phone(browser: Any, timed: Path, scheme: str) -> None:
    with serving(timed) as view, page_of(browser, view.url) as page:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": 390, "height": 844})
        open_lanes(page)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 390, "nothing scrolls sideways"
        assert page.evaluate("() => fabricsim.state.panels[0].ranks.wide") > 200
