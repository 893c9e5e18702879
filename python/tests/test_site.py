"""The documentation site: its navigation has all pages, and what it makes from the sources is complete."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs/site"

pytestmark = pytest.mark.skipif(not SITE.is_dir(), reason="the documentation is not here")


def module(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A program of the site, which is in no package."""
    monkeypatch.syspath_prepend(str(SITE))
    return importlib.import_module(name)


def test_the_navigation_names_every_page(monkeypatch: pytest.MonkeyPatch) -> None:
    navigation = module("navigation", monkeypatch)
    assert navigation.Navigation().problems() == []
    named = navigation.Navigation().pages()
    assert {f"studies/{study.parent.name}/README.md" for study in ROOT.glob("studies/*/run.py")} <= set(named)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"docs/quickstart.md", ', "", "docs/quickstart.md: not in docs/site/navigation.toml"),
        ("docs/trust.md", "docs/absent.md", "docs/absent.md: in docs/site/navigation.toml, but not there"),
        ("docs/trust.md", "docs/view.md", "docs/view.md: twice in docs/site/navigation.toml"),
        ('"docs/methods/routing.md",', "", "docs/methods/routing.md: has children, but is in no section"),
    ],
)
def test_a_wrong_navigation_is_told(
    old: str, new: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (SITE / "navigation.toml").read_text()
    assert old in text
    file = tmp_path / "navigation.toml"
    file.write_text(text.replace(old, new, 1))
    assert problem in module("navigation", monkeypatch).Navigation(file).problems()


def test_the_bibliography_names_each_publication_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = module("bibliography", monkeypatch).sources(ROOT)
    titles = [source.title.lower() for source in sources]
    assert len(set(titles)) == len(titles)
    by_title = {source.title: source for source in sources}
    # In a sentence, in a list, in a list that three pages share, with a subtitle that one page leaves out.
    assert by_title["Technology-driven, highly-scalable dragonfly topology"].where == "ISCA 2008"
    assert by_title["Virtual time"].authors == "D. R. Jefferson"
    assert len(by_title["Efficient fair queueing using deficit round robin"].pages) == 2
    assert len(by_title["LogGP: incorporating long messages into the LogP model"].pages) == 2


def test_the_bibliography_has_all_items_of_the_lists_of_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """An item that names authors, a title and a year is there."""
    bibliography = module("bibliography", monkeypatch)
    found = " ".join(source.title for source in bibliography.sources(ROOT))
    for page in (ROOT / "docs").rglob("*.md"):
        listed = re.search(r"^## Sources\n(.*?)(?=^## |\Z)", page.read_text(), re.MULTILINE | re.DOTALL)
        for item in re.split(r"\n(?=- )", listed[1].strip()) if listed else []:
            item = " ".join(item.split())
            title = re.match(r"- [^:;]+: (.+?)\. .*\b(19|20)\d\d\b", item)
            if title and '"' not in item:
                assert title[1] in found, f"{page.name}: {item}"


def test_every_public_name_of_the_package_is_documented(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("griffe")
    pytest.importorskip("sphinx")
    pages, problems = module("api", monkeypatch).pages(ROOT / "python")
    assert problems == []
    assert ".. py:function:: run(experiment: ExperimentLike, *, set: " in pages["fabricsim"]
    assert ".. py:class:: Dragonfly(*, hosts_per_router: int | None = None" in pages["fabricsim.topology"]
    assert "docs/methods/topologies.md </docs/methods/topologies>" in pages["fabricsim.topology"]


def test_a_public_name_without_a_description_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("griffe")
    pytest.importorskip("sphinx")
    package = tmp_path / "fabricsim"
    package.mkdir()
    described = '"""Described."""\n__all__ = ["Known", "unknown"]\n'
    body = 'class Known:\n    """Known.\n\n    Attributes\n    ----------\n    a : int\n    """\n\n'
    body += "    a: int\n    b: int\n\ndef unknown() -> None: ...\n"
    (package / "__init__.py").write_text(described + body)
    for name in ("mpi", "sweep", "calibrate"):
        (package / f"{name}.py").write_text('"""Described."""\n__all__ = []\n')
    _, problems = module("api", monkeypatch).pages(tmp_path)
    assert [problem.partition(":")[0] for problem in problems] == ["fabricsim.Known.b", "fabricsim.unknown"]


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("", "[a](/docs/view.md#keys) [b](/studies/index.md) [c](/LICENSE) docs"),
        (
            "https://host/us",
            "[a](/docs/view.md#keys) [b](/studies/index.md) [c](https://host/us/blob/main/LICENSE) "
            "[docs](https://host/us/blob/main/docs/methods)",
        ),
    ],
)
def test_links_to_files_that_are_no_pages_lead_to_the_repository(
    address: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a public address of the repository, files are part of the site, and folders have no link."""
    for library in ("griffe", "sphinx"):
        pytest.importorskip(library)
    build = module("build", monkeypatch)
    monkeypatch.setattr(build, "repository_address", lambda: address)
    stage = build.Stage(tmp_path / "source", build.Navigation())
    text = "[a](view.md#keys) [b](../studies/README.md) [c](../LICENSE) [docs](methods)"
    assert stage.links("docs/trust.md", text) == shown
    assert (tmp_path / "source/LICENSE").is_file() == (not address)
    code = "```md\n[a](absent.md)\n```\n"
    assert stage.links("docs/trust.md", code) == code
    assert stage.problems == []
    stage.links("docs/trust.md", "[a](absent.md)")
    assert stage.problems == ["docs/trust.md: the link to absent.md leads nowhere"]


@pytest.mark.long
def test_the_site_is_built(tmp_path: Path) -> None:
    """All links and anchors lead somewhere, and nothing is loaded from another site."""
    pytest.importorskip("furo")
    pytest.importorskip("myst_parser")
    command = [sys.executable, str(SITE / "build.py"), "--out", str(tmp_path / "site")]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    index = (tmp_path / "site/index.html").read_text()
    assert 'href="docs/methods/routing.html"' in index
