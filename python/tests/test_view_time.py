"""`fabricsim view` over time: maps of periods, charts and the slider show the tables of sums."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from unverified import unverified
from view_networks import CELLS, NETWORKS, Network, run
from view_pages import chromium, page_of, serving, settle, shows, slide

#: A ring of 150 routers: more units than the 128 blocks of a period.
RING = Network(
    f'kind = "graph", hosts_per_router = 1, edges = {[[at, (at + 1) % 150] for at in range(150)]}',
    "minimal",
    150,
    1,
    "pairs",
)
RUNS = {
    "dragonfly-72": (NETWORKS["dragonfly-72"], "adversarial", 0.5),
    "dragonfly-1056": (NETWORKS["dragonfly-1056"], "adversarial", 0.3),
    "dragonfly-8320": (NETWORKS["dragonfly-8320"], "adversarial", 0.3),
    "fat-tree-1024": (NETWORKS["fat-tree-1024"], "permutation", 0.8),
    "torus-1056": (NETWORKS["torus-1056"], "uniform", 0.3),
    "ring-150": (RING, "uniform", 0.1),
}
#: The map of this size is tested in test_view_map.py.
LARGEST = pytest.param("dragonfly-8320", marks=pytest.mark.long)
ANY_RUN = [LARGEST if name == "dragonfly-8320" else name for name in RUNS]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium."""
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def results() -> dict[str, Path]:
    """Results by name of the run, added by the tests that need them."""
    return {}


@pytest.fixture
def result(request: pytest.FixtureRequest, results: dict[str, Path], tmp_path_factory: Any) -> Path:
    """The result of a run with series of classes, so without series of single links."""
    name = request.param
    if name not in results:
        network, pattern, load = RUNS[name]
        results[name] = run(
            tmp_path_factory.mktemp(name),
            network,
            pattern,
            load,
            "classes",
            8 if name == "dragonfly-1056" else None,
        )
    assert not (results[name] / "link_series.parquet").exists()
    return results[name]


def at_each_period(page: Any, result: Path) -> Iterator[tuple[int, int]]:
    """Moves the slider into each period, and gives its begin and end."""
    rows = pq.read_table(result / "load_histogram_series.parquet", columns=["begin_ps", "end_ps"]).to_pylist()
    times = page.evaluate("() => fabricsim.state.times")
    for begin, end in sorted({(row["begin_ps"], row["end_ps"]) for row in rows}):
        # The last bin of the period.
        number = max(index for index, time in enumerate(times) if time < end)
        slide(page, number)
        yield begin, end


@pytest.mark.parametrize("result", ANY_RUN, indirect=True)
def test_the_map_at_a_time_is_made_of_the_sums_of_its_period(browser: Any, result: Path) -> None:
    sums = pq.read_table(result / "pair_series.parquet").to_pylist()
    units = pq.read_table(result / "units.parquet").to_pylist()
    links: dict[tuple[str, int, int], int] = {}
    for row in pq.read_table(result / "pairs.parquet").to_pylist():
        pair = (row["class"], units[row["from_unit"]]["block"], units[row["to_unit"]]["block"])
        links[pair] = links.get(pair, 0) + row["links"]
    with serving(result) as view, page_of(browser, view.url) as page:
        settle(page)
        assert page.locator(".banner").count() == 0, "nothing is missing"
        page.select_option("#measure", "mean")
        periods = 0
        for begin, end in at_each_period(page, result):
            periods += 1
            rows = {
                (row["class"], row["from_block"], row["to_block"]): row
                for row in sums
                if row["begin_ps"] == begin
            }
            pairs = page.evaluate(
                """() => { const { of, pairs } = fabricsim.state.panels[0].now;
                    return of.className.map((name, pair) => [
                        [name, of.from[pair], of.to[pair]], pairs.links[pair], pairs.busy[pair],
                        pairs.most[pair], pairs.blocked[pair], pairs.full[pair], pairs.held[pair]]); }"""
            )
            assert {tuple(pair): count for pair, count, *_ in pairs} == links, "idle pairs are shown, too"
            for pair, _, busy, most, blocked, full, held in pairs:
                if pair[0] == "injection":
                    assert busy is None or busy != busy, "hosts that send are not in the table"
                    continue
                row = rows.get(tuple(pair), dict.fromkeys(sums[0], 0))
                assert busy * (end - begin) == pytest.approx(row["busy_ps"])
                assert most * (end - begin) == pytest.approx(row["busy_ps_max"])
                assert blocked * (end - begin) == pytest.approx(row["buffer_full_ps"])
                assert (full, held) == (row["full_links"], row["blocked_links"])
            cells = page.evaluate(CELLS)
            assert sum(cell["links"] for cell in cells) == sum(links.values()), "each link is once"
            assert sum(cell["full"] for cell in cells) == sum(row["full_links"] for row in rows.values())
            busy = sum(row["busy_ps"] for row in rows.values()) / (end - begin)
            known = [
                cell["busy"] for cell in cells if cell["busy"] is not None and cell["busy"] == cell["busy"]
            ]
            assert sum(known) == pytest.approx(busy)
        assert periods >= 2
        page.check("#whole")
        page.wait_for_selector("body[data-shown='whole']")
        total = pq.read_table(result / "pairs.parquet").to_pylist()
        cells = page.evaluate(CELLS)
        assert sum(cell["full"] for cell in cells) == sum(row["full_links"] for row in total)


@pytest.mark.parametrize("result", ["ring-150"], indirect=True)
def test_blocks_join_units_where_there_are_too_many(browser: Any, result: Path) -> None:
    with serving(result) as view, page_of(browser, view.url) as page:
        settle(page)
        page.check("#whole")
        page.wait_for_selector("body[data-shown='whole']")
        shape = "() => fabricsim.state.panels[0].view.layout.frames[0].rows"
        assert page.evaluate(shape) == 151, "150 routers, and their hosts"
        page.uncheck("#whole")
        page.wait_for_selector("body:not([data-shown='whole'])")
        assert page.evaluate(shape) == 76
        assert "A row stands for 2 routers." in page.evaluate(
            "() => fabricsim.state.panels[0].view.layout.words"
        )
        names = {cell["name"] for cell in page.evaluate(CELLS)}
        assert {"inside routers 0 to 1", "from routers 0 to 1 to routers 2 to 3"} <= names
        # A cell that is open stays open, or closes if the other map does not have it.
        page.evaluate(
            """() => { const { view } = fabricsim.state.panels[0];
                const cell = view.cells.find(cell => cell.name === "inside routers 0 to 1");
                return fabricsim.choose(0, { kind: "cell", name: cell.name, cell }); }"""
        )
        page.check("#whole")
        page.wait_for_selector("#detail[data-shows='overview']")


@pytest.mark.parametrize("result", ANY_RUN, indirect=True)
def test_numbers_of_a_strip_add_up_to_the_links_of_its_class(browser: Any, result: Path) -> None:
    links = pq.read_table(result / "links.parquet", columns=["class"])["class"].to_pylist()
    rows = pq.read_table(result / "load_histogram_series.parquet").to_pylist()
    with serving(result) as view, page_of(browser, view.url) as page:
        page.click("#tab-time")
        classes = page.evaluate("() => fabricsim.state.panels[0].spread.classes")
        assert set(classes) == set(links) - {"injection"}
        page.wait_for_function(f"() => document.querySelectorAll('.strip').length === {len(classes)}")
        counts = page.evaluate(
            """() => { const { spread } = fabricsim.state.panels[0];
                return ["busy", "blocked"].map(kind => spread.classes.map((_, index) =>
                    spread.begin.map((_, period) => [...spread.counts(kind, index, period)]))); }"""
        )
        begins = page.evaluate("() => fabricsim.state.panels[0].spread.begin")
        assert begins == sorted({row["begin_ps"] for row in rows})
        for kind, of_kind in zip(("busy_step", "buffer_full_step"), counts, strict=True):
            for name, of_class in zip(classes, of_kind, strict=True):
                for begin, steps in zip(begins, of_class, strict=True):
                    assert sum(steps) == links.count(name)
                    own = [row for row in rows if row["begin_ps"] == begin and row["class"] == name]
                    for step, number in enumerate(steps):
                        if own:
                            assert number == sum(row["links"] for row in own if row[kind] == step)
        # The lines of a strip: the least upper end of a step below which the share of the links is.
        for kind, of_kind in zip(("busy", "blocked"), counts, strict=True):
            for index, of_class in enumerate(of_kind):
                for period, steps in enumerate(of_class):
                    for share in (0.5, 0.99):
                        found = page.evaluate(
                            "of => fabricsim.state.panels[0].spread.quantile(...of)",
                            [kind, index, period, share],
                        )
                        wanted = next(
                            step for step in range(20) if sum(steps[: step + 1]) >= share * sum(steps)
                        )
                        assert found == pytest.approx((wanted + 1) / 20)
        words = page.inner_text(".panel .charts")
        for name in classes:
            assert f"{name}: {links.count(name):,} links by load" in words
        assert "logarithmic" in words and "Mean load by class" in words and "Received by jobs" in words
        # The pointer reads a number, and a click moves the slider there.
        box = page.locator(".strip").first.bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 24)
        page.wait_for_selector("#tip:not([hidden])")
        shows(page, "#tip", f"of {links.count(classes[0]):,} {classes[0]} links have a load of")
        shows(page, "#tip", "99 % of them at most")
        page.mouse.click(box["x"] + 60, box["y"] + 20)
        page.wait_for_selector("body[data-shown='0']")
        page.select_option("#measure", "blocked")
        page.wait_for_selector(".charts h3:has-text('by time blocked')")
        page.select_option("#class", classes[-1])
        page.wait_for_function("() => document.querySelectorAll('.strip').length === 1")


@pytest.mark.parametrize("result", ["dragonfly-72", "dragonfly-1056", LARGEST], indirect=True)
def test_the_worst_period_is_found_and_its_causes_are_named(browser: Any, result: Path) -> None:
    rows = pq.read_table(result / "load_histogram_series.parquet").to_pylist()
    shares: dict[int, dict[str, list[int]]] = {}
    for row in rows:
        of = shares.setdefault(row["begin_ps"], {}).setdefault(row["class"], [0, 0])
        of[0] += row["links"]
        if row["busy_step"] == 19 or row["buffer_full_step"] >= 2:
            of[1] += row["links"]
    worst = {begin: max(bad / all_ for all_, bad in of.values()) for begin, of in shares.items()}
    top = pq.read_table(result / "top_links.parquet").to_pylist()
    size = {72: 4, 1056: 8, 8320: 16}[pq.read_metadata(result / "hosts.parquet").num_rows]
    ends = {row["link"]: row for row in pq.read_table(result / "links.parquet").to_pylist()}
    with serving(result) as view, page_of(browser, view.url) as page:
        settle(page)
        periods = {row["begin_ps"]: row["end_ps"] - row["begin_ps"] for row in rows}
        mean = sum(worst[at] * length for at, length in periods.items()) / sum(periods.values())
        opened = page.get_attribute("body", "data-shown")
        assert (opened == "whole") == (max(worst.values()) < 2 * mean), "a period only if it differs"
        page.evaluate("ps => fabricsim.goTo(ps)", max(worst, key=lambda at: worst[at]))
        page.wait_for_selector("body:not([data-shown='whole'])")
        settle(page)
        begin, end = page.evaluate(
            "() => { const { now } = fabricsim.state.panels[0]; return [now.begin, now.end]; }"
        )
        assert worst[begin] == max(worst.values()) > 0.01
        full = {
            row["link"] for row in top if row["begin_ps"] == begin and row["busy_ps"] >= 0.95 * (end - begin)
        }
        listed = page.locator("#detail .causes li button").all_inner_texts()
        # The run of the largest network is too short for links that wait behind full ones.
        assert 0 < len(listed) <= 8 or size == 16
        numbers = [int(words.split()[1]) for words in listed]
        assert set(numbers) <= full
        in_all = sum(row["links"] for row in rows if row["begin_ps"] == begin and row["busy_step"] == 19)
        assert f": {in_all} full link" in page.inner_text("#detail .causes summary").replace(",", "")
        cells = page.evaluate("() => fabricsim.state.panels[0].view.causes.map(cause => cause.cell().name)")
        for number, cell in zip(numbers, cells, strict=True):
            groups = [ends[number][f"{end_}_id"] // size for end_ in ("from", "to")]
            inside = f"inside group {groups[0]}"
            assert cell == (
                inside if groups[0] == groups[1] else f"from group {groups[0]} to group {groups[1]}"
            )
        if numbers:
            page.click("#detail .causes li button >> nth=0")
            page.wait_for_selector(f"#detail[data-shows='link {numbers[0]}']")
        assert "full" in page.get_attribute("#times", "title")
        # By keyboard.
        before = int(page.get_attribute("body", "data-shown"))
        page.focus("#slider")
        page.keyboard.press("ArrowRight" if before == 0 else "ArrowLeft")
        page.wait_for_selector(f"body[data-shown='{before + 1 if before == 0 else before - 1}']")
        page.keyboard.press("Home")
        page.wait_for_selector("body[data-shown='0']")


@pytest.mark.parametrize("result", ["torus-1056"], indirect=True)
def test_a_grid_shows_the_greatest_loads_of_its_routers_at_a_time(browser: Any, result: Path) -> None:
    rows = pq.read_table(result / "router_load_series.parquet").to_pylist()
    with serving(result) as view, page_of(browser, view.url) as page:
        for begin, _ in at_each_period(page, result):
            expected = {row["first_router"]: row for row in rows if row["begin_ps"] == begin}
            for measure, column in [("busiest", "busy_percent_max"), ("blocked", "buffer_full_percent_max")]:
                page.select_option("#measure", measure)
                page.wait_for_function(
                    f"() => fabricsim.state.panels[0].view.measure === '{measure}'"
                    " && fabricsim.state.panels[0].view.layout.of === 'routers'"
                )
                cells = page.evaluate(
                    """() => fabricsim.state.panels[0].view.cells.map(({ router, sum, frame, row, column }) =>
                        [router, sum.most, sum.blocked, frame.title, row, column])"""
                )
                assert sorted(cell[0] for cell in cells) == list(range(1056))
                for router, most, blocked, title, row, column_ in cells:
                    # Router x + 8 (y + 11 z).
                    assert router == column_ + 8 * (row + 11 * int(title.split("= ")[1]))
                    percent = expected.get(router, {}).get(column, 0)
                    value = most if measure == "busiest" else blocked
                    assert value == pytest.approx(max(0, percent / 100 - 0.005))
        # The mean of a router is not known, nor are its classes: slices again.
        page.select_option("#class", "dimension-0")
        page.wait_for_function("() => fabricsim.state.panels[0].view.layout.of === 'pairs'")
        page.select_option("#class", "")
        page.wait_for_function("() => fabricsim.state.panels[0].view.layout.of === 'routers'")
        page.evaluate("() => fabricsim.choose(0, { kind: 'router', id: 500 })")
        page.wait_for_selector("#detail[data-shows='router 500']")
        shows(page, "#detail", "Greatest values of the links that leave it")
        page.select_option("#measure", "mean")
        page.wait_for_function("() => fabricsim.state.panels[0].view.layout.of === 'pairs'")


@pytest.mark.parametrize("result", ["fat-tree-1024"], indirect=True)
def test_a_tree_shows_the_greatest_loads_of_its_routers_at_a_time(browser: Any, result: Path) -> None:
    rows = pq.read_table(result / "router_load_series.parquet").to_pylist()
    units = pq.read_table(result / "units.parquet").to_pylist()
    # Level and, below the top, pod of each router.
    known = {row["first_router"] + i: row["name"].split(", ") for row in units for i in range(row["routers"])}
    assert len(known) == 320
    with serving(result) as view, page_of(browser, view.url) as page:
        for begin, _ in at_each_period(page, result):
            expected = {row["first_router"]: row for row in rows if row["begin_ps"] == begin}
            for measure, column in [("busiest", "busy_percent_max"), ("blocked", "buffer_full_percent_max")]:
                page.select_option("#measure", measure)
                page.wait_for_function(
                    f"() => fabricsim.state.panels[0].view.measure === '{measure}'"
                    " && fabricsim.state.panels[0].view.layout.of === 'routers'"
                )
                cells = page.evaluate(
                    """() => fabricsim.state.panels[0].view.cells.map(({ router, sum, frame, row, column }) =>
                        [router, sum.most, sum.blocked, frame.title, row, column])"""
                )
                assert sorted(cell[0] for cell in cells) == list(range(320))
                for router, most, blocked, title, row, column_ in cells:
                    assert title == known[router][0]
                    # All routers of a level are in one row, those of the eight of a pod beside each other.
                    assert row == 0
                    if title != "level 2":
                        assert known[router][1] == f"pod {column_ // 8}"
                    percent = expected.get(router, {}).get(column, 0)
                    value = most if measure == "busiest" else blocked
                    assert value == pytest.approx(max(0, percent / 100 - 0.005))
        titles = page.evaluate("() => fabricsim.state.panels[0].view.layout.frames.map(({ title }) => title)")
        assert titles == ["level 2", "level 1", "level 0"]
        # On a phone a level has several rows of whole pods.
        page.set_viewport_size({"width": 390, "height": 844})
        page.wait_for_function("() => fabricsim.state.panels[0].view.layout.frames[2].rows > 1")
        settle(page)
        frames = page.evaluate(
            """() => fabricsim.state.panels[0].view.layout.frames.map(frame =>
                [frame.columns, frame.xs.at(-1), frame.cells.length])"""
        )
        assert [cells for _, _, cells in frames] == [64, 128, 128]
        assert all(columns % 8 == 0 for columns, _, _ in frames[1:])
        assert all(right <= 390 for _, right, _ in frames)
        # The mean of a router is not known, nor are its classes: pods again.
        page.set_viewport_size({"width": 1200, "height": 760})
        page.select_option("#measure", "mean")
        page.wait_for_function("() => fabricsim.state.panels[0].view.layout.of === 'pairs'")


@pytest.mark.parametrize("result", ["dragonfly-72"], indirect=True)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_charts_fit_a_phone(browser: Any, result: Path, scheme: str) -> None:
    with serving(result) as view, page_of(browser, view.url) as page:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": 390, "height": 844})
        page.click("#tab-time")
        page.wait_for_selector(".strip")
        settle(page)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 390, "nothing scrolls sideways"
        assert page.locator("#times").bounding_box()["width"] >= 160


@pytest.mark.parametrize("result", ["dragonfly-72"], indirect=True)
def test_results_of_older_versions_say_what_is_missing(browser: Any, result: Path, tmp_path: Path) -> None:
    old = tmp_path / "old"
    shutil.copytree(result, old)
    unverified(old)
    for table in ("pair_series", "router_load_series", "load_histogram_series", "top_links"):
        (old / f"{table}.parquet").unlink()
    units = pq.read_table(old / "units.parquet")
    pq.write_table(units.drop_columns(["block"]), old / "units.parquet")
    measured = json.loads((old / "summary.json").read_text())["network"]["measured_ns"]
    assert measured > 0
    with serving(old) as view, page_of(browser, view.url) as page:
        settle(page)
        shows(page, ".banner", "it is of an older version")
        assert page.get_attribute("body", "data-shown") == "whole"
        page.click("#tab-time")
        page.wait_for_selector(".charts canvas")
        shows(page, ".charts", "no table load_histogram_series")
        shows(page, ".charts", "Mean load by class")
