"""`fabricsim view` of several results: what differs in experiments and values, at one scale."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import view_results
from test_view import CONTRASTS
from unverified import unverified
from view_networks import NETWORKS, Network, run
from view_pages import chromium, page_of, serving, settle, shows

UGAL = {name: Network(NETWORKS[name].topology, "ugal", NETWORKS[name].hosts, 1, "pairs") for name in NETWORKS}
#: Pairs of results that are compared, from 72 to 8,320 hosts, and a key in which they differ.
PAIRS = {
    "72": (NETWORKS["dragonfly-72"], UGAL["dragonfly-72"], "network.routing.algorithm"),
    "1056": (NETWORKS["dragonfly-1056"], UGAL["dragonfly-1056"], "network.routing.algorithm"),
    "kinds": (NETWORKS["dragonfly-72"], NETWORKS["fat-tree-72"], "network.topology.kind"),
    "8320": (NETWORKS["dragonfly-8320"], NETWORKS["fat-tree-1024"], "network.topology.kind"),
}
ANY_PAIR = [pytest.param(name, marks=pytest.mark.long) if name == "8320" else name for name in PAIRS]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium."""
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def made() -> dict[str, list[Path]]:
    """Results by name of the pair, added by the tests that need them."""
    return {}


@pytest.fixture
def results(request: pytest.FixtureRequest, made: dict[str, list[Path]], tmp_path_factory: Any) -> list[Path]:
    """Two results of one traffic."""
    name = request.param
    if name not in made:
        folder = tmp_path_factory.mktemp(f"compare-{name}")
        made[name] = []
        for letter, network in zip("ab", PAIRS[name][:2], strict=True):
            (folder / letter).mkdir()
            result = run(folder / letter, network, "adversarial", 0.3, "classes")
            made[name].append(result.rename(folder / f"{network.routing}-{letter}"))
    return made[name]


def rows(page: Any, caption: str) -> dict[str, list[str]]:
    """The rows of a table of the comparison whose caption begins so, opened or not."""
    table = page.evaluate(
        """caption => { const made = [...document.querySelectorAll("#comparison table")]
            .find(each => each.caption.textContent.startsWith(caption));
            const rows = [...(made?.tBodies[0].rows ?? [])];
            return rows.map(row => [...row.cells].map(cell => cell.textContent)); }""",
        caption,
    )
    return {row[0]: [cell.replace("\u00a0", " ") for cell in row[1:]] for row in table}


@pytest.mark.parametrize("results", ANY_PAIR, indirect=True)
def test_what_differs_comes_first_and_then_the_values(
    browser: Any, results: list[Path], made: dict[str, list[Path]]
) -> None:
    [name] = [name for name, of in made.items() if of == results]
    key = PAIRS[name][2]
    summaries = [json.loads((result / "summary.json").read_text()) for result in results]
    with serving(*results) as view, page_of(browser, view.url) as page:
        settle(page)
        path = key.split(".")
        expected = [summary["experiment"][path[0]][path[1]][path[2]] for summary in summaries]
        assert rows(page, "The experiments differ in")[key] == expected
        differ = page.inner_text("#comparison table >> nth=0")
        assert "job" not in differ and "collect" not in differ, "what is equal is not there"
        boxes = [page.locator(f"#comparison {what}").first.bounding_box() for what in ("summary", "table")]
        first_map = page.locator(".panel canvas").first.bounding_box()
        assert boxes[0]["y"] < boxes[1]["y"] < first_map["y"]
        values = rows(page, "Values that differ")
        traffic = [summary["jobs"][0]["traffic"] for summary in summaries]
        shares = [min(1.0, of["accepted_bytes"] / of["offered_bytes"]) for of in traffic]
        shown = [f"{100 * share:.1f} %" for share in shares]
        if max(shares) > 1.02 * min(shares):
            best = shares.index(max(shares))
            marked = [words + (" ◂" if best == at else "") for at, words in enumerate(shown)]
            job = summaries[0]["jobs"][0]["name"]
            assert values[f"job {job}: delivered of offered ↑"] == marked
            headline = page.inner_text("#comparison summary >> nth=0").replace("\u00a0", " ")
            if max(shares) > 1.06 * min(shares) and min(shares) < 0.95:
                start = f"{'AB'[best]} delivers more of the traffic that job {job} offers, {shown[best]}"
                assert headline.startswith(start)
        for words in values.values():
            assert any(word.endswith("◂") for word in words)
        assert page.locator(".panel h2 .badge").all_inner_texts() == ["A", "B"]
        # Its own numbers, and one colour scale.
        for number, result in enumerate(results):
            # A tree that is shown in a period has its routers as cells.
            of = page.evaluate(f"() => fabricsim.state.panels[{number}].view.layout.of")
            table = "routers" if of == "routers" else "links"
            members = pq.read_metadata(result / f"{table}.parquet").num_rows
            cells = page.evaluate(
                f"() => fabricsim.state.panels[{number}].view.cells.reduce((n, c) => n + c.sum.links, 0)"
            )
            assert cells == members
        # By keyboard: the headline folds the comparison.
        page.focus("#comparison summary >> nth=0")
        page.keyboard.press("Enter")
        assert not page.locator("#comparison table >> nth=0").is_visible()


@pytest.mark.parametrize("results", ["72"], indirect=True)
def test_charts_of_all_results_have_one_scale(browser: Any, results: list[Path]) -> None:
    with serving(*results) as view, page_of(browser, view.url) as page:
        page.click("#tab-time")
        page.wait_for_function("() => document.querySelectorAll('.charts:not([hidden]) .strip').length >= 4")
        axes = page.evaluate("() => fabricsim.state.panels.map(panel => panel.axis)")
        assert axes[0] == axes[1] == page.evaluate("() => fabricsim.state.span.until")
        # The same heights mean the same values: each chart has the axis of the greatest value of all.
        tops = page.evaluate(
            """() => [...document.querySelectorAll(".charts:not([hidden]) .chart")]
                .filter(chart => chart.getAttribute("aria-label").startsWith("Received by jobs"))
                .map(chart => chart.dataset.top)"""
        )
        assert len(tops) == 2 and tops[0] == tops[1]


@pytest.mark.parametrize("results", ["1056"], indirect=True)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_comparison_fits_a_phone_and_can_be_read(browser: Any, results: list[Path], scheme: str) -> None:
    with serving(*results) as view, page_of(browser, view.url) as page:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": 390, "height": 844})
        settle(page)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 390, "nothing scrolls sideways"
        contrasts = page.evaluate(CONTRASTS, "#comparison summary, #comparison th, #comparison td, .badge")
        assert len(contrasts) > 20 and min(contrasts) >= 4.5


def test_equal_results_and_those_of_older_versions_are_compared(browser: Any, tmp_path: Path) -> None:
    result = view_results.run(tmp_path)
    old = tmp_path / "old"
    shutil.copytree(result, old)
    unverified(old)
    summary = json.loads((old / "summary.json").read_text())
    for key in ("verdict", "bounds", "notes"):
        summary.pop(key, None)
    summary["experiment"]["run"]["threads"] = 7
    (old / "summary.json").write_text(json.dumps(summary))
    for table in [
        *old.glob("*_series.parquet"),
        old / "units.parquet",
        old / "pairs.parquet",
        old / "top_links.parquet",
    ]:
        table.unlink(missing_ok=True)
    with serving(result, old) as view, page_of(browser, view.url) as page:
        assert (
            page.inner_text("#comparison summary >> nth=0")
            == "All results are the same: their digests agree."
        )
        shows(page, "#comparison", "do not differ in a key on which results depend")
        assert rows(page, "Keys on which no result depends") == {"run.threads": ["auto", "7"]}


def test_one_result_has_no_comparison(browser: Any, tmp_path: Path) -> None:
    with serving(view_results.run(tmp_path)) as view, page_of(browser, view.url) as page:
        assert page.locator("#comparison > *").count() == 0
        assert page.locator(".badge").count() == 0
