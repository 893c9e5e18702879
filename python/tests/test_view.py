"""`fabricsim view` in a real browser: maps, clicks, answered requests."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import view_results
from unverified import unverified
from view_pages import Served, cell_at, chromium, click_cell, page_of, serving, settle, shows, slide
from view_results import BINS, HOT_BINS, HOT_LINK, busy, command

image = pytest.importorskip("PIL.Image", reason="pillow is in the extra 'test'")

REFERENCES = Path(__file__).parent / "view"
#: If set, pictures are written instead of compared; inspect them afterwards.
RECORD = "FABRICSIM_RECORD_SCREENSHOTS"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A result with series and timelines, and one without."""
    folder = tmp_path_factory.mktemp("view")
    plain = view_results.run(folder)
    for grown in [*plain.glob("*_series.parquet"), plain / "top_links.parquet"]:
        grown.unlink()
    full = folder / "full"
    shutil.copytree(plain, full)
    view_results.series(full)
    view_results.timeline(full)
    view_results.verdict(full)
    return {"plain": plain, "full": full}


@pytest.fixture(scope="module")
def served(folders: dict[str, Path]) -> Iterator[Served]:
    with serving(folders["full"], folders["plain"]) as view:
        yield view


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium."""
    with chromium() as opened:
        yield opened


@pytest.fixture
def page(browser: Any, served: Served) -> Iterator[Any]:
    with page_of(browser, served.url) as opened:
        yield opened


def picture(page: Any, selector: str) -> Any:
    """The picture of an element without its text."""
    import io

    page.evaluate("() => document.querySelectorAll('.status').forEach(e => { e.style.display = 'none'; })")
    return image.open(io.BytesIO(page.locator(selector).first.screenshot())).convert("RGB")


def difference(a: Any, b: Any) -> float:
    """Mean difference of two pictures of one size, 0 to 255."""
    from PIL import ImageChops, ImageStat

    return float(sum(ImageStat.Stat(ImageChops.difference(a, b)).mean) / 3)


def compare(found: Any, name: str) -> None:
    """Compares with the recorded picture; both are reduced, so that fonts and edges matter little."""
    small = found.resize((300, 300 * found.height // found.width), image.Resampling.BOX)
    file = REFERENCES / f"{name}.png"
    if os.environ.get(RECORD):
        file.parent.mkdir(exist_ok=True)
        small.quantize(64).save(file, optimize=True)
    expected = image.open(file).convert("RGB")
    assert small.size == expected.size
    differs = difference(small, expected)
    assert differs < 4, f"{name} differs by {differs:.2f} of 255 on average from {file}"


#: Contrast of the text of all elements of a selector to their ground, as WCAG 2 defines it.
CONTRASTS = """selector => {
    const light = colour => {
        const parts = colour.match(/[\\d.]+/g).slice(0, 3).map(part => part / 255);
        const linear = parts.map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    };
    const ground = element => {
        const colour = getComputedStyle(element).backgroundColor;
        return colour === "rgba(0, 0, 0, 0)" ? ground(element.parentElement) : colour;
    };
    return [...document.querySelectorAll(selector)].map(element => {
        const [a, b] = [light(getComputedStyle(element).color), light(ground(element))];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    });
}"""

NETWORK = ".panel:first-child .stage:not([hidden]) canvas"


def test_results_are_shown_side_by_side(page: Any) -> None:
    assert page.locator(".panel").count() == 2
    drawn = page.evaluate("() => fabricsim.state.panels.map(panel => panel.view.drawn.cells)")
    # 5 groups: 20 pairs, 5 insides, and the hosts of each send and receive.
    assert drawn == [35, 35]
    banners = page.locator(".panel:nth-child(2) .banner").all_inner_texts()
    assert any("shows the whole run only" in words for words in banners)
    assert page.locator(".panel:nth-child(1) .banner").count() == 0
    shows(page, "#detail", "rows")


def test_the_verdict_comes_first_and_leads_to_its_links_and_times(
    page: Any, folders: dict[str, Path]
) -> None:
    box = ".panel:nth-child(1) .verdict"
    headline = page.locator(f"{box} summary")
    assert not page.locator(f"{box} dl").is_visible(), "three lines at first"
    shows(page, box, "2 experiments to try")
    assert page.locator(f"{box} .second").is_visible()
    headline.press("Enter")
    words = page.inner_text(f"{box} summary strong").replace("\u00a0", " ")
    assert words == "One link is full for 20 % of the time."
    assert headline.bounding_box()["y"] < page.locator(NETWORK).bounding_box()["y"]
    assert page.locator(f"{box} dt").all_inner_texts() == [
        "where",
        "when",
        "why",
        "try",
        "router model",
        "trust",
    ]
    shows(page, box, "medium: a note")
    places = page.locator(f"{box} dd")
    assert places.nth(2).inner_text() == "MPI calls" and places.nth(2).locator("button").count() == 0
    # By keyboard only: the headline, then each button in its turn.
    headline.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#detail[data-shows='link {HOT_LINK}']")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("#detail[data-shows='links global']")
    shows(page, "#detail", "20 global links")
    marked = page.evaluate(
        "() => { const { view, network } = fabricsim.state.panels[0];"
        " return view.chosen.rows.map(row => network.className(row)); }"
    )
    assert marked == ["global"] * 20
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"body[data-shown='{HOT_BINS[0]}']")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for number, name in enumerate(("ugal", "valiant"), 1):
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_selector(f"{box} dd:has-text('routing {name}') >> text=copied")
        changed = f"""--set 'network.routing="{name}"' --out {folders["full"]}-{number}"""
        copied = page.evaluate("() => navigator.clipboard.readText()")
        assert copied == f"fabricsim run EXPERIMENT.toml {changed}"
    headline.press("Enter")
    assert not page.locator(f"{box} dl").is_visible(), "folded, for a larger map"


def test_a_result_without_a_verdict_gets_one(browser: Any, folders: dict[str, Path], tmp_path: Path) -> None:
    old = tmp_path / "old"
    shutil.copytree(folders["plain"], old)
    unverified(old)
    summary = json.loads((old / "summary.json").read_text())
    verdict = summary.pop("verdict")
    (old / "summary.json").write_text(json.dumps(summary))
    with serving(old) as view, page_of(browser, view.url) as page:
        assert page.inner_text(".verdict summary strong").replace("\u00a0", " ") == verdict["headline"]
        page.click(".verdict summary")
        assert page.inner_text(".verdict dd:last-of-type").startswith(verdict["confidence"]["level"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_verdict_fits_a_phone_and_can_be_read(browser: Any, served: Served, scheme: str) -> None:
    with page_of(browser, served.url) as page:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": 390, "height": 844})
        page.click(".panel:nth-child(1) .verdict summary")
        settle(page)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 390, "nothing scrolls sideways"
        contrasts = page.evaluate(
            CONTRASTS, ".verdict summary, .verdict dt, .verdict dd, .verdict dd button, code"
        )
        assert len(contrasts) > 10
        assert min(contrasts) >= 4.5
        page.click(".verdict .lead >> nth=0")
        page.wait_for_selector(f"#detail[data-shows='link {HOT_LINK}']")
        page.wait_for_timeout(300)
        box = page.locator(NETWORK).bounding_box()
        assert 0 <= box["y"] < 844 - box["height"], "the map has come into sight"


def test_the_slider_changes_what_is_drawn(page: Any) -> None:
    slide(page, 1)
    before = picture(page, NETWORK)
    slide(page, HOT_BINS[0])
    after = picture(page, NETWORK)
    assert difference(before, after) > 1
    loads = page.evaluate("() => [...fabricsim.state.panels[0].now.links.busy]")
    for link, load in enumerate(loads):
        assert load == pytest.approx(busy(link, HOT_BINS[0]), abs=1e-5)
    plain = page.evaluate("() => [...fabricsim.state.panels[1].now.links.busy]")
    totals = page.evaluate("() => [...fabricsim.state.panels[1].network.links.busy_fraction]")
    assert plain == pytest.approx(totals), "without series the whole run"
    shows(page, "#time", "8 us to 9 us")


def choose_measure(page: Any, measure: str) -> None:
    page.select_option("#measure", measure)
    page.wait_for_function(f"() => fabricsim.state.panels.every(panel => panel.view.measure === '{measure}')")
    settle(page)


def test_cells_show_the_sums_of_their_links_by_three_measures(page: Any, folders: dict[str, Path]) -> None:
    slide(page, HOT_BINS[1])
    links = pq.read_table(folders["full"] / "links.parquet").to_pylist()
    expected: dict[tuple[int, int], list[float]] = {}
    for number, link in enumerate(links):
        if link["class"] in ("local", "global"):
            key = (link["from_id"] // 4, link["to_id"] // 4)
            expected.setdefault(key, []).append(busy(number, HOT_BINS[1]))
    cells = page.evaluate(
        "() => fabricsim.state.panels[0].view.cells.map(({ row, column, sum }) => ({ row, column, ...sum }))"
    )
    inner = {(cell["row"], cell["column"]): cell for cell in cells if max(cell["row"], cell["column"]) < 5}
    assert set(inner) == set(expected)
    for key, loads in expected.items():
        assert inner[key]["mean"] == pytest.approx(sum(loads) / len(loads), abs=1e-5)
        assert inner[key]["most"] == pytest.approx(max(loads), abs=1e-5)
        assert inner[key]["blocked"] == pytest.approx(sum(loads) / len(loads) / 5, abs=1e-5)
        assert inner[key]["full"] == sum(load >= 0.95 for load in loads)
    pictures = {}
    for measure in ("mean", "busiest", "blocked"):
        choose_measure(page, measure)
        pictures[measure] = picture(page, NETWORK)
        shows(page, "#legend", "of the time")
    assert difference(pictures["mean"], pictures["busiest"]) > 1
    assert difference(pictures["mean"], pictures["blocked"]) > 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_higher_load_is_always_a_more_distinct_colour(page: Any, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    ramp, full = page.evaluate(
        """async () => { const { loadColour } = await import("/colours.js");
            return [Array.from({ length: 96 }, (_, i) => loadColour(i / 100)), loadColour(1, true)]; }"""
    )
    light = [0.2126 * r**2.2 + 0.7152 * g**2.2 + 0.0722 * b**2.2 for r, g, b in ramp]
    assert light == sorted(light, reverse=scheme == "light")
    # Full links have a colour of their own.
    assert min(math.dist(full, colour) for colour in ramp) > 60


def test_play_goes_on(page: Any) -> None:
    page.click("#play")
    page.wait_for_function("() => fabricsim.state.index >= 2")
    page.click("#play")
    assert not page.evaluate("() => fabricsim.state.playing")


def test_a_click_opens_a_group_a_pair_and_a_link(page: Any) -> None:
    click_cell(page, "cell.row === 1 && cell.column === 1")
    page.wait_for_selector("#detail[data-shows='cell inside group 1']")
    shown = page.inner_text("#detail")
    assert "router 5 (group 1, router 1) port" in shown
    assert page.locator("#detail table:last-of-type button").count() == 12, "each local link"
    assert page.locator("#detail svg .router").count() == 4 and page.locator("#detail svg .host").count() == 8
    # The drawing has the 12 local links and those of the 8 hosts, and opens them.
    assert page.locator("#detail svg [data-link]").count() == 28
    link = page.locator("#detail svg [data-link]").first.get_attribute("data-link")
    page.locator("#detail svg [data-link]").first.dispatch_event("click")
    page.wait_for_selector(f"#detail[data-shows='link {link}']")
    page.wait_for_function("() => document.querySelectorAll('#detail .chart canvas').length >= 3")
    click_cell(page, "cell.row === 1 && cell.column === 3")
    page.wait_for_selector("#detail[data-shows='cell from group 1 to group 3']")
    link = page.inner_text("#detail table:last-of-type button")
    page.click("#detail table:last-of-type button")
    page.wait_for_selector(f"#detail[data-shows='{link}']")
    for title in ("Buffer occupancy by VC", "Packets waiting by VC", "Most packets waiting by VC"):
        shows(page, "#detail", title)
    # The label of a row opens all links of its group.
    _, y = cell_at(page, "cell.row === 2 && cell.column === 0")
    left = page.evaluate("() => fabricsim.state.panels[0].view.layout.frames[0].xs[0]")
    page.mouse.click(page.locator(NETWORK).bounding_box()["x"] + left - 8, y)
    page.wait_for_selector("#detail[data-shows='cell group 2']")
    # 12 local links, 8 global ones, 8 from hosts and 8 to them.
    assert page.locator("#detail table:last-of-type button").count() == 36


def test_the_map_works_by_keyboard(page: Any) -> None:
    page.focus(NETWORK)
    for key in ("ArrowRight", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    settle(page)
    status = page.inner_text(".panel:first-child .stage .status")
    assert status.startswith("from group 1 to group 1") or status.startswith("inside group 1")
    page.keyboard.press("ArrowRight")
    settle(page)
    name = page.inner_text(".panel:first-child .stage .status").split(":")[0]
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#detail[data-shows='cell {name}']")
    page.keyboard.press("Escape")
    page.wait_for_selector("#detail[data-shows='overview']")


def test_routers_and_hosts_open_and_lead_to_each_other(page: Any) -> None:
    page.fill("#find-text", "router 5")
    page.press("#find-text", "Enter")
    page.wait_for_selector("#detail[data-shows='router 5']")
    marked = page.evaluate("() => fabricsim.state.panels[0].view.chosen.rows.length")
    assert marked == 2 * (3 + 1 + 2), "the cells of its links"
    page.click("#detail .go >> text=all links of group 1")
    page.wait_for_selector("#detail[data-shows='cell group 1']")
    page.locator("#detail svg [data-host='10']").dispatch_event("click")
    page.wait_for_selector("#detail[data-shows='host 10']")
    page.click("#detail .go >> text=router 5")
    page.wait_for_selector("#detail[data-shows='router 5']")
    page.fill("#find-text", "router 5000")
    page.press("#find-text", "Enter")
    assert not page.evaluate("() => document.getElementById('find-text').checkValidity()")


def test_hovering_names_what_lies_under_the_pointer(page: Any) -> None:
    slide(page, HOT_BINS[0])
    page.mouse.move(*cell_at(page, "cell.row === 3 && cell.column === 3"))
    page.wait_for_selector("#tip:not([hidden])")
    links = page.evaluate(
        """() => { const { view } = fabricsim.state.panels[0];
                   return view.linksOf(view.cells.find(cell => cell.row === 3 && cell.column === 3)); }"""
    )
    loads = [busy(link, HOT_BINS[0]) for link in links]
    mean = 100 * sum(loads) / len(loads)
    shows(page, "#tip", f"inside group 3\n12 links: mean load {mean:.1f} %, busiest")


def test_causes_are_the_full_links_that_others_wait_for(page: Any) -> None:
    # 0 -> 1 -> 2 -> 3 is a queue before the full link 3 -> 4; the link from 7 is full alone.
    found = page.evaluate(
        """async () => {
            const { causes, ofLinks } = await import("/sums.js");
            const busy = [0.6, 0.7, 0.8, 1, 0.2, 0.96, 0.5];
            const blocked = [0.4, 0.3, 0.2, 0, 0, 0, 0.5];
            const [from, to] = [[0, 1, 2, 3, 2, 7, 8], [1, 2, 3, 4, 0, -1, 9]];
            return causes(ofLinks(busy, blocked, { FULL: 0.95, BLOCKED: 0.1 }), from, to);
        }"""
    )
    assert found == [{"row": 3, "behind": 3}, {"row": 5, "behind": 0}]
    # A queue in a circle has no cause, and ends.
    circle = page.evaluate(
        """async () => {
            const { causes, ofLinks } = await import("/sums.js");
            const of = ofLinks([0.6, 0.6, 0.6], [0.4, 0.4, 0.4], { FULL: 0.95, BLOCKED: 0.1 });
            return causes(of, [0, 1, 2], [1, 2, 0]);
        }"""
    )
    assert circle == []


def test_the_hottest_link_is_found(page: Any) -> None:
    slide(page, HOT_BINS[1])
    page.click("#hottest")
    page.wait_for_selector(f"#detail[data-shows='link {HOT_LINK}']")


def test_ranks_have_their_lines_messages_and_critical_path(page: Any) -> None:
    page.click("#tab-ranks")
    page.wait_for_function("() => fabricsim.state.panels[0].ranks?.drawn?.messages > 0")
    drawn = page.evaluate("() => fabricsim.state.panels[0].ranks.drawn")
    assert drawn == {"states": 5 * 8 * 3, "messages": 40, "path": 5}
    shows(page, ".panel:nth-child(2) .stage:not([hidden])", "were not collected")
    box = page.locator(NETWORK).bounding_box()
    # The line of rank 3, where it computes.
    x, y = box["x"] + 70, box["y"] + 20 + (box["height"] - 38) * 3.5 / 8
    page.mouse.move(x, y)
    page.wait_for_selector("#tip:not([hidden])")
    shows(page, "#tip", "rank 3: compute")
    page.mouse.click(x, y)
    page.wait_for_selector("#detail[data-shows='rank 3']")
    shows(page, "#detail", "MPI calls")
    page.wait_for_function("() => fabricsim.state.panels[0].ranks.drawn.messages === 10")
    before = page.evaluate("() => fabricsim.state.span.to - fabricsim.state.span.from")
    page.mouse.wheel(0, -400)
    page.wait_for_function(f"() => fabricsim.state.span.to - fabricsim.state.span.from < {0.7 * before}")


def test_pictures_are_those_on_record(page: Any) -> None:
    slide(page, HOT_BINS[0])
    compare(picture(page, NETWORK), "network")
    page.click("#tab-ranks")
    page.wait_for_function("() => fabricsim.state.panels[0].ranks?.drawn?.messages > 0")
    settle(page)
    compare(picture(page, NETWORK), "ranks")


def test_a_hundred_thousand_links_are_fluid(browser: Any, folders: dict[str, Path], tmp_path: Path) -> None:
    view_results.large(tmp_path / "large", folders["plain"], 10_000, 10, bins=8)
    with serving(tmp_path / "large") as view, page_of(browser, view.url) as page:
        settle(page)
        # Without the table of units, blocks of routers that follow each other.
        cells = page.evaluate("() => fabricsim.state.panels[0].view.drawn.cells")
        assert 64 <= cells <= 64 * 64
        times = page.evaluate(
            """() => { const { view, now } = fabricsim.state.panels[0];
                return Array.from({ length: 9 }, () => {
                    const begin = performance.now();
                    view.setNow({ links: now.links, pairs: view.pairs.add(now.links) }, "mean", []);
                    view.draw();
                    return performance.now() - begin;
                }).sort((a, b) => a - b); }"""
        )
        print(f"100,000 links: {times[4]:.1f} ms for other loads and their picture")
        assert times[4] < 500
        total = page.evaluate(
            "() => fabricsim.state.panels[0].view.cells.reduce((n, c) => n + c.sum.links, 0)"
        )
        assert total == 100_000, "each link is in one cell"
        # The slider dragged through all bins, and the pointer over the map: times between pictures.
        page.evaluate("() => { fabricsim.state.whole = false; return fabricsim.update(); }")
        page.evaluate(
            """() => { window.frames = []; let last = performance.now();
                const tick = now => {
                    window.frames.push(now - last);
                    last = now;
                    requestAnimationFrame(tick);
                };
                requestAnimationFrame(tick); }"""
        )
        box = page.locator("#slider").bounding_box()
        grid = page.locator(NETWORK).bounding_box()
        for name, at, wide in [("slider", box, 0.5), ("pointer over the map", grid, 0.3)]:
            page.evaluate("() => { window.frames.length = 0; }")
            page.mouse.move(at["x"] + 10, at["y"] + at["height"] / 2)
            if at is box:
                page.mouse.down()
            for step in range(60):
                x = at["x"] + 10 + (at["width"] - 20) * (step % 30) / 30
                page.mouse.move(x, at["y"] + at["height"] * wide)
            page.mouse.up()
            settle(page)
            times = sorted(page.evaluate("() => window.frames"))
            median, late = times[len(times) // 2], times[int(0.95 * len(times))]
            print(f"100,000 links, {name}: {median:.1f} ms between pictures, 95 % below {late:.1f} ms")
            assert median < 250


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an endless run that was killed."""
    folder = tmp_path_factory.mktemp("killed")
    network = view_results.EXPERIMENT.split("[[job]]")[0]
    job = '[[job]]\ntraffic = { pattern = "uniform", load = 0.3 }\n'
    run = '[run]\nuntil = "5 s"\n[collect]\nbin = "1 us"\nseries = "links"\n'
    (folder / "endless.toml").write_text(network + job + run)
    result = folder / "result"
    line = [command(), "run", str(folder / "endless.toml"), "--out", str(result)]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    deadline = time.monotonic() + 120
    # The latest rows appear within a second.
    while not all(list(result.glob(f"running/{kind}_series.*.parquet")) for kind in ("link", "class")):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline, "nothing is written"
        time.sleep(0.05)
    process.kill()
    process.communicate()
    return result


def test_the_network_of_a_killed_run_is_drawn(browser: Any, killed: Path) -> None:
    with serving(killed) as view, page_of(browser, view.url) as page:
        shows(page, ".banner >> nth=0", "has not ended")
        assert page.locator(".missing").count() == 0
        shows(page, ".verdict", "has no verdict yet")
        assert page.evaluate("() => fabricsim.state.panels[0].view.drawn.cells") == 35
        assert not page.is_checked("#whole")
        assert page.evaluate("() => Math.max(...fabricsim.state.panels[0].now.links.busy)") > 0
        shown = picture(page, NETWORK)
        page.click("#hottest")
        page.wait_for_selector("#detail[data-shows^='link']")
        words = page.inner_text("#detail")
        assert "router" in words and "Load" in words and "load, whole run" not in words
        page.check("#whole")
        page.wait_for_selector("body[data-shown='whole']")
        page.click("#whole-map")
        page.wait_for_selector("#detail[data-shows='overview']")
        settle(page)
        assert page.evaluate("() => fabricsim.state.panels[0].now.links") is None, "not known"
        assert difference(shown, picture(page, NETWORK)) > 0.5
        page.click("#tab-time")
        page.wait_for_selector(".charts h3")
        shows(page, ".charts", "Mean load by class")


def test_a_run_killed_before_it_began_is_shown_as_such(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "running").mkdir()
    running = {
        "schema": "fabricsim/running/1",
        "version": "1",
        "began_unix_s": 0,
        "process": 1,
        "tables": ["class_series"],
        "experiment": {},
    }
    (tmp_path / "RUNNING.json").write_text(json.dumps(running))
    with serving(tmp_path) as view, page_of(browser, view.url) as page:
        shows(page, ".banner >> nth=0", "has not ended")
        shows(page, ".missing", "There is no map")


def test_damaged_tables_are_named_and_left_out(
    browser: Any, folders: dict[str, Path], tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(folders["full"], damaged)
    file = damaged / "link_series.parquet"
    file.write_bytes(file.read_bytes()[:1000])
    with serving(damaged) as view, page_of(browser, view.url) as page:
        shows(page, ".banner >> nth=0", "link_series")
        assert page.evaluate("() => fabricsim.state.panels[0].view.drawn.cells") == 35


@pytest.mark.parametrize(
    "content, expected",
    [
        ({}, "it has no summary.json"),
        ({"summary.json": "{}"}, "names no schema"),
        ({"summary.json": "{"}, "is damaged"),
        ({"summary.json": '{"schema": "other/1"}'}, "its schema is 'other/1'"),
        ({"RUNNING.json": "[]"}, "RUNNING.json is damaged"),
    ],
)
def test_foreign_folders_are_refused(tmp_path: Path, content: dict[str, str], expected: str) -> None:
    for name, text in content.items():
        (tmp_path / name).write_text(text)
    done = subprocess.run([command(), "view", "--no-browser", str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 2
    assert expected in done.stderr and str(tmp_path) in done.stderr


def test_a_print_has_the_verdict_the_map_and_charts_on_white(page: Any) -> None:
    page.emulate_media(color_scheme="dark", media="print")
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    settle(page)
    shown = page.evaluate(
        """() => [...document.querySelectorAll(".stage > canvas, .chart canvas, .causes, header, #play")]
            .filter(each => each.getClientRects().length > 0 && each.clientWidth > 0)
            .map(each => each.className || each.parentElement.className || each.localName)"""
    )
    assert "header" not in shown and "play" not in shown
    assert shown.count("map") == 2 and shown.count("causes") == 1
    assert sum("uplot" in name or "u-wrap" in name for name in shown) == page.locator(".chart").count() > 0
    ground = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    ink = page.evaluate("() => getComputedStyle(document.querySelector('.verdict summary')).color")
    assert (ground, ink) == ("rgb(255, 255, 255)", "rgb(27, 31, 36)")
    # An idle cell of the map is light, although the page is dark.
    light = page.evaluate(
        """() => { const { view } = fabricsim.state.panels[0];
            const pen = view.canvas.getContext("2d");
            const { frame, row, column } = view.cells[0];
            const at = [frame.xs[column] + frame.w / 2, frame.ys[row] + 3].map(place => place * view.pixels);
            return Math.max(...pen.getImageData(...at, 1, 1).data.slice(0, 3)); }"""
    )
    assert light > 0x9C
    page.emulate_media(color_scheme="dark", media="screen")
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    settle(page)
    assert not page.locator(".charts").first.is_visible() and page.locator("header").is_visible()


def test_libraries_are_those_that_were_published() -> None:
    vendor = Path(__file__).parents[2] / "crates" / "view" / "assets" / "vendor"
    if not vendor.is_dir():
        pytest.skip("the sources are not here")
    named = re.findall(r"`([^`]+)` \| `([0-9a-f]{64})` \|", (vendor / "README.md").read_text())
    assert {name for name, _ in named} == {file.name for file in vendor.glob("*.*s*") if file.suffix != ".md"}
    for name, digest in named:
        assert hashlib.sha256((vendor / name).read_bytes()).hexdigest() == digest, name
    assert "MIT License" in (vendor / "uPlot-LICENSE").read_text()


def test_only_what_was_found_is_given_out(served: Served, folders: dict[str, Path]) -> None:
    (folders["full"] / "secret.txt").write_text("secret")
    (folders["full"] / "secret.parquet").write_text("secret")
    for path in [
        "/../secret.txt",
        "/secret.txt",
        "/data/0/table/secret?columns=a",
        "/data/0/table/../secret.txt",
        "/data/0/table/..%2Fsecret.txt",
        "/data/0/table/%2e%2e%2fsecret.txt?columns=a",
        "/data/0/table//etc/passwd",
        "/data/../../etc/passwd",
        "/data/7/table/links?columns=link",
        "/data/-1/table/links?columns=link",
        "//etc/passwd",
        "/style.css/../../Cargo.toml",
        "/data/0/summary.json",
        "http://127.0.0.1/../secret.txt",
    ]:
        status, body = served.ask(path)
        assert status == 404, path
        assert b"secret" not in body and b"root:" not in body
    for path, status in [
        ("/data/0/table/links?columns=nothing", 400),
        ("/data/0/table/links?columns=", 400),
        ("/data/0/table/links?columns=link&from_ps=1", 400),
        ("/data/0/table/links?columns=link&%ff=1", 400),
        ("/data/0/table/links?columns=link,link", 400),
        ("/data/0/table/links?columns=link&limit=-5", 400),
        ("/data/0/table/link_series?columns=link&from_ps=abc", 400),
        ("/data/0/table/links?columns=link&limit=2&limit=3", 400),
        ("/data/0/bins?from_ps=1", 400),
        ("/data/results?results=0,0", 400),
        ("/data/0/table/links?columns=link&limit=2", 200),
        ("/data/0/bins", 200),
    ]:
        assert served.ask(path)[0] == status, path


def test_only_pages_of_its_own_are_answered(served: Served) -> None:
    assert served.ask("/")[0] == 200
    assert served.ask("/", host=f"localhost:{served.port}")[0] == 200
    for host in [
        "evil.example",
        f"evil.example:{served.port}",
        "127.0.0.1",
        f"127.0.0.1.evil.example:{served.port}",
        "",
    ]:
        status, body = served.ask("/data/results", host=host)
        assert status == 421, host
        assert b"summary" not in body
    for site, status in [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)]:
        assert served.ask("/data/results", site=site)[0] == status, site
        assert served.ask("/", site=site)[0] == 200, "links lead to the page"
    for method in ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"]:
        assert served.ask("/", method=method)[0] == 405
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
        connection.sendall(b"nonsense\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 400")
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 4000)
        assert connection.recv(100).startswith((b"HTTP/1.1 431", b"HTTP/1.1 400"))


def test_only_this_machine_can_reach_it(served: Served) -> None:
    listening = Path("/proc/net/tcp")
    if not listening.exists():
        pytest.skip("no /proc/net/tcp here")
    port = f":{served.port:04X}"
    own = [line.split()[1] for line in listening.read_text().splitlines() if line.split()[1].endswith(port)]
    assert own and all(address.startswith("0100007F:") for address in own)


def test_a_port_that_is_taken_is_an_error(served: Served, folders: dict[str, Path]) -> None:
    arguments = [command(), "view", "--no-browser", "--port", str(served.port), str(folders["plain"])]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == 1
    assert f"cannot listen on 127.0.0.1, port {served.port}" in done.stderr


def test_bins_are_those_of_the_tables(served: Served) -> None:
    _, body = served.ask("/data/0/bins")
    length = int.from_bytes(body[:4], "little")
    assert json.loads(body[4 : 4 + length])["rows"] == BINS


def test_a_folder_of_results_lists_those_inside(browser: Any, folders: dict[str, Path]) -> None:
    with serving(folders["full"].parent) as view, page_of(browser, view.url) as page:
        assert page.locator(".catalogue a").all_inner_texts() == ["full", "small"]
        shows(page, ".catalogue", "One link is full")
        page.check("[aria-label='compare full']")
        assert page.is_disabled("text=Compare"), "one result is not compared"
        page.check("[aria-label='compare small']")
        page.click("button:has-text('Compare')")
        page.wait_for_selector("body[data-ready='yes'] .panel:nth-child(2)")
        assert page.locator("#comparison summary").count() >= 1
        page.goto(f"{view.url}?results=1")
        page.wait_for_selector("body[data-ready='yes']")
        shows(page, ".panel h2", "small")
        assert view.ask("/data/results?results=7")[0] == 404
        assert view.ask("/data/results?results=x")[0] == 400


def test_an_address_opens_the_view_that_it_names(browser: Any, folders: dict[str, Path]) -> None:
    with serving(folders["full"]) as view, page_of(browser, view.url) as page:
        slide(page, HOT_BINS[0])
        choose_measure(page, "blocked")
        page.select_option("#class", "global")
        page.fill("#find-text", "Group 2")
        page.press("#find-text", "Enter")
        page.wait_for_selector("#detail[data-shows='cell group 2']")
        address = page.evaluate("() => location.href")
        assert "time=8000000" in address and "show=group+2" in address
        other = browser.new_page()
        other.goto(address)
        other.wait_for_selector("#detail[data-shows='cell group 2']")
        read = "({ measure, only, index, tab }) => [measure, only, index, tab]"
        shown = other.evaluate(f"() => ({read})(fabricsim.state)")
        assert shown == ["blocked", "global", HOT_BINS[0], "network"]
        other.close()
        page.evaluate("() => { location.hash = '#tab=time&time=whole&colour=none&show=link+99999'; }")
        page.wait_for_selector("body[data-shown='whole']")
        page.wait_for_selector("#tab-time[aria-selected='true']")
        page.wait_for_selector("#detail[data-shows='overview']")


def test_the_slider_is_linear_in_time_and_idle_times_are_shown_as_such(
    browser: Any, folders: dict[str, Path], tmp_path: Path
) -> None:
    gap = tmp_path / "gap"
    shutil.copytree(folders["full"], gap)
    for name in ("link_series", "class_series"):
        rows = pq.read_table(gap / f"{name}.parquet")
        begins = rows["begin_ps"].to_pylist()
        kept = [row for row, begin in enumerate(begins) if not 5_000_000 <= begin < 12_000_000]
        pq.write_table(rows.take(kept), gap / f"{name}.parquet")
    with serving(gap) as view, page_of(browser, view.url) as page:
        times = page.evaluate("() => fabricsim.state.times")
        assert 5_000_000 in times and 6_000_000 not in times
        slide(page, times.index(5_000_000))
        shows(page, "#time", "5 us to 12 us")
        assert page.evaluate("() => Math.max(...fabricsim.state.panels[0].now.links.busy)") == 0
        slider = page.locator("#slider")
        assert float(slider.input_value()) / float(slider.get_attribute("max")) == pytest.approx(
            5 / 20, abs=0.01
        )
        page.focus("#slider")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(f"body[data-shown='{times.index(12_000_000)}']")
        assert slider.get_attribute("aria-valuetext") == "12 us to 13 us"
