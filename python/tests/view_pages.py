"""The page of `fabricsim view` in a browser, for its tests."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from view_results import command

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is in the extra 'test'")


class Served:
    """A running view."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.port = int(url.rsplit(":", 1)[1].strip("/"))

    def ask(
        self, path: str, method: str = "GET", host: str | None = None, site: str | None = None
    ) -> tuple[int, bytes]:
        """Status and body of a raw request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.putrequest(method, path, skip_host=True)
        if host != "":
            connection.putheader("Host", host or f"127.0.0.1:{self.port}")
        if site:
            connection.putheader("Sec-Fetch-Site", site)
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


@contextmanager
def chromium() -> Iterator[Any]:
    """A headless Chromium of this machine."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if not found:
        pytest.skip("no Chromium here: scripts/install-packages.sh --python installs it")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


@contextmanager
def page_of(browser: Any, url: str) -> Iterator[Any]:
    """A loaded page without console messages and without requests to other hosts."""
    page = browser.new_page(viewport={"width": 1200, "height": 760})
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: request.url.startswith(url) or complaints.append(request.url))
    page.set_default_timeout(60_000)
    page.goto(url)
    page.wait_for_selector("body[data-ready]")
    assert page.get_attribute("body", "data-ready") == "yes", page.inner_text("#panels")
    yield page
    assert not complaints, complaints
    page.close()


def shows(page: Any, selector: str, text: str) -> None:
    """Asserts that the first element of a selector gets a text, with any white space between words.

    Reading its text at once would race with what the page still draws.
    """
    shown = page.locator(selector).first
    playwright.expect(shown).to_contain_text(text, use_inner_text=True, timeout=20_000)


def settle(page: Any) -> None:
    """Waits until the requested data are drawn."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def slide(page: Any, number: int) -> None:
    """Moves the slider to the begin of an interval of the page."""
    page.evaluate(
        """number => { const slider = document.getElementById("slider");
                       slider.value = fabricsim.state.times[number];
                       slider.dispatchEvent(new Event("input")); }""",
        number,
    )
    page.wait_for_selector(f"body[data-shown='{number}']")
    settle(page)


def cell_at(page: Any, find: str, number: int = 0) -> list[float]:
    """Position in the window of the first cell of a result that a JavaScript expression of `cell` finds."""
    return page.evaluate(  # type: ignore[no-any-return]
        f"""() => {{
            const {{ view }} = fabricsim.state.panels[{number}];
            const {{ frame, row, column }} = view.cells.find(cell => {find});
            const box = view.canvas.getBoundingClientRect();
            return [box.left + frame.xs[column] + frame.w / 2, box.top + frame.ys[row] + frame.h / 2];
        }}"""
    )


def click_cell(page: Any, find: str, number: int = 0) -> None:
    """Clicks that cell."""
    page.mouse.click(*cell_at(page, find, number))
