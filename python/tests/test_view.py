"""`fabricsim view` in a real browser: drawing, clicks, answered requests."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import view_results
from view_results import BINS, HOT_BINS, HOT_LINK, busy, command

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is in the extra 'test'")
image = pytest.importorskip("PIL.Image", reason="pillow is in the extra 'test'")

REFERENCES = Path(__file__).parent / "view"
#: If set, pictures are written instead of compared; inspect them afterwards.
RECORD = "FABRICSIM_RECORD_SCREENSHOTS"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A result with series and timelines, and one without."""
    folder = tmp_path_factory.mktemp("view")
    plain = view_results.run(folder)
    for grown in ("class_series", "link_series", "vc_series", "host_series", "router_series", "job_series"):
        (plain / f"{grown}.parquet").unlink(missing_ok=True)
    full = folder / "full"
    shutil.copytree(plain, full)
    view_results.series(full)
    view_results.timeline(full)
    view_results.verdict(full)
    return {"plain": plain, "full": full}


class Served:
    """A running view."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.port = int(url.rsplit(":", 1)[1].strip("/"))

    def ask(self, path: str, method: str = "GET", host: str | None = None) -> tuple[int, bytes]:
        """Status and body of a raw request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.putrequest(method, path, skip_host=True)
        if host != "":
            connection.putheader("Host", host or f"127.0.0.1:{self.port}")
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read()


@contextmanager
def serving(*folders: Path) -> Iterator[Served]:
    """Serves folders; ends it as Ctrl-C does."""
    arguments = [command(), "view", "--no-browser", "--json", *map(str, folders)]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout and process.stderr
    line = process.stdout.readline()
    assert line, process.stderr.read()
    try:
        yield Served(json.loads(line)["url"])
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0


@pytest.fixture(scope="module")
def served(folders: dict[str, Path]) -> Iterator[Served]:
    with serving(folders["full"], folders["plain"]) as view:
        yield view


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium with software rendering, so that pictures agree on all machines."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if not found:
        pytest.skip("no Chromium here: scripts/install-packages.sh --python installs it")
    flags = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=found, args=flags)
        yield chromium
        chromium.close()


@contextmanager
def page_of(browser: Any, url: str, before: str = "") -> Iterator[Any]:
    """A loaded page without console messages and without requests to other hosts."""
    page = browser.new_page(viewport={"width": 1200, "height": 760})
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: request.url.startswith(url) or complaints.append(request.url))
    if before:
        page.add_init_script(before)
    page.set_default_timeout(60_000)
    page.goto(url)
    page.wait_for_selector("body[data-ready]")
    assert page.get_attribute("body", "data-ready") == "yes"
    yield page
    assert not complaints
    page.close()


@pytest.fixture
def page(browser: Any, served: Served) -> Iterator[Any]:
    with page_of(browser, served.url) as opened:
        yield opened


def move(page: Any, number: int) -> None:
    """Moves the slider."""
    page.evaluate(
        """number => { const slider = document.getElementById("slider"); slider.value = number;
                       slider.dispatchEvent(new Event("input")); }""",
        number,
    )
    page.wait_for_selector(f"body[data-shown='{number}']")
    settle(page)


def settle(page: Any) -> None:
    """Waits until the requested data are drawn."""
    page.wait_for_function("() => fabricsim.state.panels.every(panel => !panel.view?.moving)")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


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
    drawn = page.evaluate("() => fabricsim.state.panels.map(panel => panel.view.drawn.lines)")
    # Each direction of the 30 local and 10 global cables of 5 groups of 4 routers.
    assert drawn == [80, 80]
    banners = page.locator(".panel:nth-child(2) .banner").all_inner_texts()
    assert any("over the whole run only" in words for words in banners)
    assert page.locator(".panel:nth-child(1) .banner").count() == 0
    assert "rows" in page.inner_text("#detail"), "the jobs"


def test_the_verdict_comes_first_and_leads_to_its_links_and_times(
    page: Any, folders: dict[str, Path]
) -> None:
    box = ".panel:nth-child(1) .verdict"
    headline = page.locator(f"{box} summary")
    assert headline.inner_text().replace("\u00a0", " ") == "One link is full for 20 % of the time."
    assert headline.bounding_box()["y"] < page.locator(NETWORK).bounding_box()["y"]
    assert page.locator(f"{box} dt").all_inner_texts() == ["where", "when", "why", "try", "trust"]
    assert "medium: a note" in page.inner_text(box)
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
    assert "20 global links" in page.inner_text("#detail")
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
    assert not page.locator(f"{box} dl").is_visible(), "folded, for a larger drawing"


def test_a_result_without_a_verdict_gets_one(browser: Any, folders: dict[str, Path], tmp_path: Path) -> None:
    old = tmp_path / "old"
    shutil.copytree(folders["plain"], old)
    summary = json.loads((old / "summary.json").read_text())
    verdict = summary.pop("verdict")
    (old / "summary.json").write_text(json.dumps(summary))
    with serving(old) as view, page_of(browser, view.url) as page:
        assert page.inner_text(".verdict summary").replace("\u00a0", " ") == verdict["headline"]
        assert page.inner_text(".verdict dd:last-of-type").startswith(verdict["confidence"]["level"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_verdict_fits_a_phone_and_can_be_read(browser: Any, served: Served, scheme: str) -> None:
    with page_of(browser, served.url) as page:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": 390, "height": 844})
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
        assert 0 <= box["y"] < 844 - box["height"], "the drawing has come into sight"


def test_the_slider_changes_what_is_drawn(page: Any) -> None:
    move(page, 1)
    before = picture(page, NETWORK)
    move(page, HOT_BINS[0])
    after = picture(page, NETWORK)
    assert difference(before, after) > 1
    loads = page.evaluate("() => [...fabricsim.state.panels[0].loads]")
    for link, load in enumerate(loads):
        assert load == pytest.approx(busy(link, HOT_BINS[0]), abs=1e-5)
    plain = page.evaluate("() => [...fabricsim.state.panels[1].loads]")
    totals = page.evaluate("() => [...fabricsim.state.panels[1].network.links.busy_fraction]")
    assert plain == pytest.approx(totals), "without series the whole run"
    assert "8 us to 9 us" in page.inner_text("#time")


def test_every_measure_has_its_own_colours(page: Any) -> None:
    move(page, 3)
    of: dict[str, list[float]] = {}
    for metric in ("busy", "full", "waiting"):
        page.select_option("#metric", metric)
        page.wait_for_function(f"() => fabricsim.state.panels[0].wanted.endsWith('{metric}')")
        page.wait_for_timeout(200)
        of[metric] = page.evaluate("() => [...fabricsim.state.panels[0].loads]")
    assert of["full"] == pytest.approx([load / 5 for load in of["busy"]], abs=1e-5)
    assert 0 < max(of["waiting"]) < 1
    # Colours of queue lengths are logarithmic; texts give packets.
    row, packets = page.evaluate(
        """async () => {
            const [panel] = fabricsim.state.panels;
            const row = panel.view.hottest();
            const link = panel.network.links.link[row];
            const from = panel.bins.begin[fabricsim.state.index];
            const span = { from_ps: from, to_ps: from + 1 };
            const rows = await panel.result.table("link_series", ["link", "waiting_packets"], span);
            return [row, rows.waiting_packets[[...rows.link].indexOf(link)]];
        }"""
    )
    assert packets > 1
    router = page.evaluate("row => fabricsim.state.panels[0].network.links.from_id[row]", row)
    page.fill("#find-text", f"router {router}")
    page.press("#find-text", "Enter")
    page.wait_for_selector("#detail h3:text('Most loaded links now')")
    assert page.inner_text("#detail table:last-of-type td.n >> nth=0") == f"{packets} packets"


def test_play_goes_on(page: Any) -> None:
    page.click("#play")
    page.wait_for_function("() => fabricsim.state.index >= 2")
    page.click("#play")
    assert not page.evaluate("() => fabricsim.state.playing")


def click_link(page: Any, link: int) -> None:
    """Clicks the middle of a link in the drawing."""
    at = page.evaluate(
        """link => {
            const { view, network } = fabricsim.state.panels[0];
            const { ends, form } = view.geometry(network.row(link));
            const [a, b] = [view.project(ends[0], ends[1]), view.project(ends[2], ends[3])];
            const along = [b[0] - a[0], b[1] - a[1]];
            const length = Math.hypot(...along);
            const away = form[1] * view.lane * 2.6;
            const side = [-along[1], along[0]];
            const middle = [0, 1].map(i => (a[i] + b[i]) / 2 + side[i] * (form[0] + away / length));
            const box = view.canvas.getBoundingClientRect();
            return [box.left + middle[0], box.top + middle[1]];
        }""",
        link,
    )
    page.mouse.click(*at)


def test_a_click_opens_the_right_link(page: Any) -> None:
    # The folded verdict leaves room for whole links.
    page.click(".panel:nth-child(1) .verdict summary")
    settle(page)
    links = page.evaluate(
        """() => { const { network } = fabricsim.state.panels[0];
                   return [...network.between].map(row => network.links.link[row]); }"""
    )
    for link in links[:: len(links) // 6]:
        # Close enough to separate both directions of a cable.
        page.fill("#find-text", f"link {link}")
        page.press("#find-text", "Enter")
        page.evaluate("() => fabricsim.choose(0, null)")
        page.wait_for_selector("#detail[data-shows='overview']")
        settle(page)
        click_link(page, link)
        page.wait_for_selector(f"#detail[data-shows='link {link}']")
    assert page.locator("#detail canvas").count() >= 3, "histories of load, full buffers and waiting packets"
    shown = page.inner_text("#detail")
    for title in ("Buffer occupancy by VC", "Packets waiting by VC", "Most packets waiting by VC"):
        assert title in shown


def test_routers_and_hosts_open_and_lead_to_each_other(page: Any) -> None:
    page.fill("#find-text", "router 5")
    page.press("#find-text", "Enter")
    page.wait_for_selector("#detail[data-shows='router 5']")
    settle(page)
    at = page.evaluate(
        """() => { const { view, network } = fabricsim.state.panels[0];
                   const box = view.canvas.getBoundingClientRect();
                   const [x, y] = view.project(network.hosts.x[10], network.hosts.y[10]);
                   return [box.left + x, box.top + y]; }"""
    )
    assert page.evaluate("() => fabricsim.state.panels[0].view.drawn.hosts") > 0
    page.mouse.click(*at)
    page.wait_for_selector("#detail[data-shows='host 10']")
    page.click("#detail .go >> text=router 5")
    page.wait_for_selector("#detail[data-shows='router 5']")
    page.fill("#find-text", "router 5000")
    page.press("#find-text", "Enter")
    assert not page.evaluate("() => document.getElementById('find-text').checkValidity()")


def test_hovering_names_what_lies_under_the_pointer(page: Any) -> None:
    at = page.evaluate(
        """() => { const { view, network } = fabricsim.state.panels[0];
                   const box = view.canvas.getBoundingClientRect();
                   const [x, y] = view.project(network.routers.x[6], network.routers.y[6]);
                   return [box.left + x, box.top + y]; }"""
    )
    page.mouse.move(*at)
    page.wait_for_selector("#tip:not([hidden])")
    assert page.inner_text("#tip") == "router 6 (group 1, router 2)"


def test_the_hottest_link_is_found(page: Any) -> None:
    move(page, HOT_BINS[1])
    page.click("#hottest")
    page.wait_for_selector(f"#detail[data-shows='link {HOT_LINK}']")


def test_ranks_have_their_lines_messages_and_critical_path(page: Any) -> None:
    page.click("#tab-ranks")
    page.wait_for_function("() => fabricsim.state.panels[0].ranks?.drawn?.messages > 0")
    drawn = page.evaluate("() => fabricsim.state.panels[0].ranks.drawn")
    assert drawn == {"states": 5 * 8 * 3, "messages": 40, "path": 5}
    assert "were not collected" in page.inner_text(".panel:nth-child(2) .stage:not([hidden])")
    box = page.locator(NETWORK).bounding_box()
    # The line of rank 3, where it computes.
    x, y = box["x"] + 70, box["y"] + 20 + (box["height"] - 38) * 3.5 / 8
    page.mouse.move(x, y)
    page.wait_for_selector("#tip:not([hidden])")
    assert page.inner_text("#tip").startswith("rank 3: compute")
    page.mouse.click(x, y)
    page.wait_for_selector("#detail[data-shows='rank 3']")
    assert "MPI calls" in page.inner_text("#detail")
    page.wait_for_function("() => fabricsim.state.panels[0].ranks.drawn.messages === 10")
    before = page.evaluate("() => fabricsim.state.span.to - fabricsim.state.span.from")
    page.mouse.wheel(0, -400)
    page.wait_for_function(f"() => fabricsim.state.span.to - fabricsim.state.span.from < {0.7 * before}")


def test_pictures_are_those_on_record(page: Any) -> None:
    move(page, HOT_BINS[0])
    compare(picture(page, NETWORK), "network")
    page.click("#tab-ranks")
    page.wait_for_function("() => fabricsim.state.panels[0].ranks?.drawn?.messages > 0")
    settle(page)
    compare(picture(page, NETWORK), "ranks")


def test_without_webgl_the_rest_works(browser: Any, served: Served) -> None:
    none = """const get = HTMLCanvasElement.prototype.getContext;
              HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
                return kind === "webgl2" ? null : get.call(this, kind, ...more); };"""
    with page_of(browser, served.url, before=none) as page:
        assert "has no WebGL2" in page.inner_text(".panel:first-child .missing")
        page.fill("#find-text", f"link {HOT_LINK}")
        page.press("#find-text", "Enter")
        page.wait_for_selector(f"#detail[data-shows='link {HOT_LINK}']")


def test_a_hundred_thousand_links_are_drawn_by_levels(
    browser: Any, folders: dict[str, Path], tmp_path: Path
) -> None:
    view_results.large(tmp_path / "large", folders["plain"], 10_000, 10)
    with serving(tmp_path / "large") as view, page_of(browser, view.url) as page:
        settle(page)
        whole = page.evaluate("() => fabricsim.state.panels[0].view.drawn")
        assert whole["level"] != "exact" and whole["lines"] <= 30_000
        frames = "() => fabricsim.state.panels[0].view.measure(9).sort((a, b) => a - b)[4]"
        print(f"{whole['lines']} lines of the whole: {page.evaluate(frames):.1f} ms a frame")
        page.fill("#find-text", "router 5050")
        page.press("#find-text", "Enter")
        page.wait_for_selector("#detail[data-shows='router 5050']")
        settle(page)
        near = page.evaluate("() => fabricsim.state.panels[0].view.drawn")
        assert near["level"] == "exact" and 0 < near["lines"] < 30_000, "those in the picture"
        print(f"{near['lines']} lines from near: {page.evaluate(frames):.1f} ms a frame")
        update = """() => { const { view } = fabricsim.state.panels[0];
                            const begin = performance.now();
                            view.setLoads(view.loads.slice());
                            view.draw();
                            return performance.now() - begin; }"""
        print(f"other loads: {page.evaluate(update):.1f} ms")
        page.click("#fit")
        box = page.locator(NETWORK).bounding_box()
        page.mouse.move(box["x"] + 300, box["y"] + 200)
        page.mouse.down()
        for step in range(40):
            page.mouse.move(box["x"] + 300 + 3 * step, box["y"] + 200)
        moving = page.evaluate(
            "() => { const { drawn, budget } = fabricsim.state.panels[0].view; return { ...drawn, budget }; }"
        )
        page.mouse.up()
        print(f"while it is dragged: {moving}")
        page.wait_for_function("() => !fabricsim.state.panels[0].view.moving")
        settle(page)
        assert page.evaluate("() => fabricsim.state.panels[0].view.drawn.lines") == whole["lines"], (
            "all of it again"
        )


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
        assert "has not ended" in page.inner_text(".banner >> nth=0")
        assert page.locator(".missing").count() == 0
        assert "has no verdict yet" in page.inner_text(".verdict")
        assert page.evaluate("() => fabricsim.state.panels[0].view.drawn.lines") == 80
        assert not page.is_checked("#whole")
        assert page.evaluate("() => Math.max(...fabricsim.state.panels[0].loads)") > 0
        shown = picture(page, NETWORK)
        page.click("#hottest")
        page.wait_for_selector("#detail[data-shows^='link']")
        words = page.inner_text("#detail")
        assert "router" in words and "Load" in words and "whole run" not in words
        page.check("#whole")
        page.wait_for_selector("body[data-shown='whole']")
        page.evaluate("() => fabricsim.choose(0, null)")
        page.wait_for_selector("#detail[data-shows='overview']")
        page.click("#fit")
        settle(page)
        assert page.evaluate("() => Math.max(...fabricsim.state.panels[0].loads)") == -1, "not known"
        assert difference(shown, picture(page, NETWORK)) > 0.5
        assert "Mean load by kind of link" in page.inner_text("#detail")


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
        assert "has not ended" in page.inner_text(".banner >> nth=0")
        assert "cannot be drawn" in page.inner_text(".missing")


def test_damaged_tables_are_named_and_left_out(
    browser: Any, folders: dict[str, Path], tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(folders["full"], damaged)
    file = damaged / "link_series.parquet"
    file.write_bytes(file.read_bytes()[:1000])
    with serving(damaged) as view, page_of(browser, view.url) as page:
        assert "link_series" in page.inner_text(".banner >> nth=0")
        assert page.evaluate("() => fabricsim.state.panels[0].view.drawn.lines") == 80


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
