"""The map of `fabricsim view` for each kind of network: its cells are the sums of the tables."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from view_networks import CELLS, NETWORKS, run
from view_pages import chromium, click_cell, page_of, serving, settle, shows


@pytest.fixture(scope="module")
def results() -> dict[str, Path]:
    """Results by name of the network, added by the tests that need them."""
    return {}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium."""
    with chromium() as opened:
        yield opened


@pytest.fixture
def result(request: pytest.FixtureRequest, results: dict[str, Path], tmp_path_factory: Any) -> Path:
    """The result of the network of a test."""
    name = request.param
    if name not in results:
        results[name] = run(tmp_path_factory.mktemp(name), NETWORKS[name])
    return results[name]


def pairs(folder: Path) -> list[dict[str, Any]]:
    """Rows of the table `pairs` with the names of their units, and loads as shares of the measured time."""
    units = pq.read_table(folder / "units.parquet")["name"].to_pylist()
    measured = json.loads((folder / "summary.json").read_text())["network"]["measured_ns"] * 1000
    rows = pq.read_table(folder / "pairs.parquet").to_pylist()
    for row in rows:
        row["from"], row["to"] = units[row["from_unit"]], units[row["to_unit"]]
        for name in ("busy_ps", "busy_ps_max", "buffer_full_ps"):
            row[name.replace("_ps", "")] = row[name] / measured
    return rows


def agrees(cell: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """A cell shows the sum of these rows."""
    links = sum(row["links"] for row in rows)
    assert cell["links"] == links
    assert cell["mean"] == pytest.approx(sum(row["busy"] for row in rows) / links, abs=1e-9)
    assert cell["most"] == pytest.approx(max(row["busy_max"] for row in rows), abs=1e-9)
    assert cell["blocked"] == pytest.approx(sum(row["buffer_full"] for row in rows) / links, abs=1e-9)
    assert cell["full"] == sum(row["full_links"] for row in rows), "the page's threshold is that of the table"
    assert cell["held"] == sum(row["blocked_links"] for row in rows)


def place(row: dict[str, Any]) -> str:
    """Name of the cell of a matrix that has a row of `pairs`."""
    if row["class"] == "injection":
        return f"from the hosts of {row['from']}"
    if row["class"] == "ejection":
        return f"to the hosts of {row['to']}"
    return f"inside {row['from']}" if row["from"] == row["to"] else f"from {row['from']} to {row['to']}"


@pytest.mark.parametrize("result", NETWORKS, indirect=True)
def test_every_network_has_its_map(browser: Any, result: Path, results: dict[str, Path]) -> None:
    [name] = [name for name, folder in results.items() if folder == result]
    network = NETWORKS[name]
    rows = pairs(result)
    with serving(result) as view, page_of(browser, view.url) as page:
        settle(page)
        drawn = page.evaluate("() => fabricsim.state.panels[0].view.drawn")
        cells = page.evaluate(CELLS)
        assert (drawn["frames"], drawn["of"], drawn["cells"]) == (network.frames, network.of, len(cells))
        assert sum(cell["links"] for cell in cells) == sum(row["links"] for row in rows), "each link is once"
        busy = sum(row["busy"] for row in rows)
        assert sum(cell["busy"] for cell in cells) == pytest.approx(busy, rel=1e-9)
        assert sum(cell["full"] for cell in cells) == sum(row["full_links"] for row in rows)
        assert sum(cell["held"] for cell in cells) == sum(row["blocked_links"] for row in rows)
        if network.of == "pairs":
            expected: dict[str, list[dict[str, Any]]] = {}
            for row in rows:
                expected.setdefault(place(row), []).append(row)
            assert {cell["name"] for cell in cells} == set(expected)
            for cell in cells:
                agrees(cell, expected[cell["name"]])
        elif "tree" in name:
            assert len(cells) == pq.read_metadata(result / "links.parquet").num_rows, "a cell is a link"
            bands = page.evaluate(
                "() => fabricsim.state.panels[0].view.layout.frames.map(frame => frame.title)"
            )
            for number, band in enumerate(bands):
                levels = [int(word) for word in band.split() if word.isdigit()]
                own = [row for row in rows if band.startswith(row["class"])]
                if levels:
                    first, second = (f"level {level}," for level in levels)
                    own = [
                        row for row in own if row["from"].startswith(first) and row["to"].startswith(second)
                    ]
                inside = [cell for cell in cells if cell["frame"] == number]
                assert len(inside) == sum(row["links"] for row in own) > 0
                assert sum(cell["busy"] for cell in inside) == pytest.approx(sum(row["busy"] for row in own))
                # Cables of a router are in the order of their loads.
                for cell, below in zip(inside, inside[1:], strict=False):
                    if cell["column"] == below["column"]:
                        assert cell["mean"] <= below["mean"]
        else:
            assert len(cells) == pq.read_metadata(result / "routers.parquet").num_rows, "a cell is a router"
        shows(page, ".banner", "shows the whole run only")
        # Every cell is inside the picture, and none lies on another.
        outside, overlapping = page.evaluate(
            """() => {
                const { view } = fabricsim.state.panels[0];
                const [width, height] = [view.canvas.clientWidth, view.canvas.clientHeight];
                const places = new Set();
                let outside = 0;
                for (const { frame, row, column } of view.cells) {
                    const [x, y] = [frame.xs[column], frame.ys[row]];
                    if (x < 0 || y < 0 || x + frame.w > width || y + frame.h > height) outside++;
                    places.add(`${x} ${y}`);
                }
                return [outside, view.cells.length - places.size];
            }"""
        )
        assert (outside, overlapping) == (0, 0)
        # A click opens the cell, which lists as many links as the table has.
        number = len(cells) // 3
        wanted = cells[number]
        click_cell(page, f"cell === view.cells[{number}]")
        if wanted["members"] == 1 and network.of == "links":
            page.wait_for_selector("#detail[data-shows^='link ']")
        else:
            page.wait_for_selector(f"#detail[data-shows='cell {wanted['name']}']")
            listed = page.locator("#detail table:last-of-type button").count()
            assert listed == min(50, wanted["links"])
            total = sum(
                int(text.replace(",", "")) for text in page.locator(".sums td:nth-child(2)").all_inner_texts()
            )
            assert total == wanted["links"]


@pytest.mark.parametrize("result", ["fat-tree-1024"], indirect=True)
def test_the_label_of_a_pod_opens_it_with_all_its_levels(browser: Any, result: Path) -> None:
    own = [row for row in pairs(result) if any(row[end].endswith(", pod 1") for end in ("from", "to"))]
    with serving(result) as view, page_of(browser, view.url) as page:
        settle(page)
        x, y = page.evaluate(
            """() => {
                const { layout, canvas } = fabricsim.state.panels[0].view;
                const frame = layout.frames.find(frame => frame.title.startsWith("leaf-spine up"));
                const box = canvas.getBoundingClientRect();
                // The ninth leaf is the first of pod 1.
                return [box.left + frame.xs[8] + frame.w / 2, box.top + frame.ys[0] - 8];
            }"""
        )
        page.mouse.click(x, y)
        page.wait_for_selector("#detail[data-shows='cell pod 1']")
        shown = {
            line.split("\t")[0]: line.split("\t")[1] for line in page.inner_text(".sums").splitlines()[2:]
        }
        for name in ("leaf-spine", "spine-core", "injection", "ejection"):
            links = sum(row["links"] for row in own if row["class"] == name)
            assert shown[name].strip() == f"{links}", name
        # 8 leaves and 8 spines.
        assert page.locator("#detail svg .router").count() == 16


@pytest.mark.parametrize("result", ["torus-72", "fat-tree-72", "slim-fly-100"], indirect=True)
def test_the_map_of_one_class_has_only_its_links(browser: Any, result: Path) -> None:
    rows = pairs(result)
    with serving(result) as view, page_of(browser, view.url) as page:
        shown = page.locator("#class option").all_inner_texts()
        classes = sorted({row["class"] for row in rows})
        assert shown == ["all links", *(f"{name} links" for name in classes)]
        for name in classes:
            page.select_option("#class", name)
            page.wait_for_function(f"() => fabricsim.state.panels[0].view.only === '{name}'")
            own = [row for row in rows if row["class"] == name]
            cells = [cell for cell in page.evaluate(CELLS) if cell["links"] > 0]
            assert sum(cell["links"] for cell in cells) == sum(row["links"] for row in own)
            assert sum(cell["busy"] for cell in cells) == pytest.approx(sum(row["busy"] for row in own))
            assert max(cell["most"] for cell in cells) == pytest.approx(max(row["busy_max"] for row in own))


@pytest.mark.parametrize("result", ["fat-tree-1024", "torus-1056", "dragonfly-1056"], indirect=True)
def test_without_single_links_the_map_shows_sums(browser: Any, result: Path, tmp_path: Path) -> None:
    sums = tmp_path / "sums"
    shutil.copytree(result, sums)
    (sums / "links.parquet").unlink()
    rows = pairs(sums)
    with serving(sums) as view, page_of(browser, view.url) as page:
        settle(page)
        cells = page.evaluate(CELLS)
        assert page.evaluate("() => fabricsim.state.panels[0].view.drawn.of") == "pairs"
        assert sum(cell["links"] for cell in cells) == sum(row["links"] for row in rows)
        assert sum(cell["busy"] for cell in cells) == pytest.approx(sum(row["busy"] for row in rows))
        if result.parent.name.startswith("fat-tree"):
            [cell] = [cell for cell in cells if cell["name"] == "leaf-spine up: level 0 to 1, level 0, pod 3"]
            agrees(
                cell,
                [row for row in rows if row["from"] == "level 0, pod 3" and row["class"] == "leaf-spine"],
            )
        if result.parent.name.startswith("torus"):
            [cell] = [cell for cell in cells if cell["name"] == "dimension-2 links from slice 4"]
            agrees(cell, [row for row in rows if row["from"] == "slice 4" and row["class"] == "dimension-2"])
        click_cell(page, "cell === view.cells[0]")
        page.wait_for_selector("#detail[data-shows^='cell ']")
        shows(page, "#detail", "Only these sums are there")


def test_links_that_the_page_does_not_hold_are_requested(browser: Any, tmp_path: Path) -> None:
    result = run(tmp_path, NETWORKS["dragonfly-72"])
    links = pq.read_table(result / "links.parquet").to_pylist()
    with serving(result) as view, page_of(browser, view.url) as page:
        # As with more than a million links: sums only, and the server is asked for the links of a cell.
        page.evaluate(
            """async () => {
                const panel = fabricsim.state.panels[0];
                panel.networkStage.replaceChildren();
                const { network } = await import("/data.js");
                panel.network = await network(panel.result, 10);
                await panel.openMap();
                await fabricsim.update();
            }"""
        )
        settle(page)
        for find, kind in [
            ("cell.row === 2 && cell.column === 5", "global"),
            ("cell.row === 3 && cell.column === 9", "injection"),
            ("cell.row === 9 && cell.column === 3", "ejection"),
        ]:
            name = page.evaluate(f"() => fabricsim.state.panels[0].view.cells.find(cell => {find}).name")
            click_cell(page, find)
            page.wait_for_selector(f"#detail[data-shows='cell {name}']")
            shown = {
                text.split()[1] for text in page.locator("#detail > table td:first-child").all_inner_texts()
            }
            group = {
                "global": lambda link: (link["from_id"] // 4, link["to_id"] // 4) == (2, 5),
                "injection": lambda link: link["to_id"] // 4 == 3,
                "ejection": lambda link: link["from_id"] // 4 == 3,
            }[kind]
            assert shown == {str(link["link"]) for link in links if link["class"] == kind and group(link)}


def test_causes_are_numbered_in_the_list_and_on_the_map(browser: Any, tmp_path: Path) -> None:
    result = run(tmp_path, NETWORKS["dragonfly-72"], "adversarial", 0.5)
    links = pq.read_table(result / "links.parquet").to_pylist()
    full = {str(link["link"]) for link in links if link["busy_fraction"] >= 0.95}
    assert full, "adversarial traffic fills the links to the next group"
    sums = tmp_path / "sums"
    shutil.copytree(result, sums)
    (sums / "links.parquet").unlink()
    with serving(result, sums) as view, page_of(browser, view.url) as page:
        settle(page)
        listed = page.locator("#detail .causes li")
        assert 0 < listed.count() <= 8
        shows(page, "#detail .causes summary", f": {len(full)} full link")
        names = [text.split()[1] for text in page.locator("#detail .causes li button").all_inner_texts()]
        assert set(names) <= full
        cells = page.evaluate("() => fabricsim.state.panels[0].view.causes.map(cause => cause.cell().name)")
        for number, cell in zip(names, cells, strict=True):
            link = links[int(number)]
            assert cell == f"from group {link['from_id'] // 4} to group {link['to_id'] // 4}"
        page.click("#detail .causes li button >> nth=1")
        page.wait_for_selector(f"#detail[data-shows='link {names[1]}']")
        # From sums, the same places.
        of_sums = page.evaluate("() => fabricsim.state.panels[1].view.causes.map(cause => cause.cell().name)")
        assert set(of_sums) >= set(cells) or len(of_sums) == 8
        assert all(cell.startswith("from group") for cell in of_sums)


def test_results_without_units_have_groups_or_blocks(browser: Any, tmp_path: Path) -> None:
    grouped = run(tmp_path, NETWORKS["dragonfly-72"])
    (tmp_path / "tree").mkdir()
    tree = run(tmp_path / "tree", NETWORKS["fat-tree-1024"])
    for folder in (grouped, tree):
        for table in ("units", "pairs"):
            (folder / f"{table}.parquet").unlink()
    with serving(grouped, tree) as view, page_of(browser, view.url) as page:
        settle(page)
        units = page.evaluate("() => fabricsim.state.panels.map(panel => panel.pairs.units.names)")
        assert units[0] == [f"group {group}" for group in range(9)]
        # 320 routers in 64 blocks.
        assert units[1][:2] == ["routers 0 to 4", "routers 5 to 9"] and len(units[1]) == 64


@pytest.mark.parametrize("result", ["dragonfly-1056", "fat-tree-1024", "torus-72"], indirect=True)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_map_fits_a_phone(browser: Any, result: Path, scheme: str) -> None:
    with serving(result) as view, page_of(browser, view.url) as page:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": 390, "height": 844})
        settle(page)
        settle(page)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 390, "nothing scrolls sideways"
        right = page.evaluate(
            "() => Math.max(...fabricsim.state.panels[0].view.layout.frames.map(frame => frame.xs.at(-1)))"
        )
        assert right <= 390
