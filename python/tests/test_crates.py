"""Manifests of the crates: what a published crate needs, and that none is published that cannot be."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
# Slugs of crates.io, of which it ignores all others.
CATEGORIES = {"command-line-utilities", "science", "simulation"}
# Where a module of tests begins.
TESTS = r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*mod \w+ \{"

pytestmark = pytest.mark.skipif(
    not (ROOT / "crates").is_dir() or shutil.which("cargo") is None,
    reason="the sources or cargo are not here",
)


def cargo(*arguments: str) -> str:
    done = subprocess.run(["cargo", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def crates() -> list[dict[str, Any]]:
    described: list[dict[str, Any]] = json.loads(
        cargo("metadata", "--no-deps", "--offline", "--locked", "--format-version", "1")
    )["packages"]
    assert len(described) == len(list((ROOT / "crates").glob("*/Cargo.toml")))
    return described


def is_published(crate: dict[str, Any]) -> bool:
    # `publish = false` is an empty list of registries.
    return crate["publish"] != []


def outside(file: Path, text: str, folder: Path) -> list[str]:
    """Files that code of a crate includes, except for its tests, and that are not in the crate's folder."""
    # Modules of tests are the last of a file, or files of their own.
    code = "" if re.search(r"(^|_)tests?$", file.stem) else re.split(TESTS, text)[0]
    paths = re.findall(r'include_(?:str|bytes)!\(\s*(?:concat!\(\s*)?"([^"]+)"', code)
    paths += re.findall(r'#\[path = "([^"]+)"\]', code)
    return [path for path in paths if not (file.parent / path).resolve().is_relative_to(folder)]


def test_every_crate_says_what_it_is(crates: list[dict[str, Any]]) -> None:
    for crate in crates:
        assert re.match(r"FabricSim: \S", crate["description"] or ""), crate["name"]
        assert crate["license"] == "Apache-2.0", crate["name"]
        assert crate["rust_version"] and crate["edition"], crate["name"]
        assert crate["authors"] == ["The FabricSim developers"], crate["name"]


def test_published_crates_have_what_their_pages_show(crates: list[dict[str, Any]]) -> None:
    published = [crate for crate in crates if is_published(crate)]
    assert {"fabricsim-cli", "fabricsim-sim", "fabricsim-des"} <= {crate["name"] for crate in published}
    for crate in published:
        assert 1 <= len(crate["keywords"]) <= 5, crate["name"]
        assert all(re.fullmatch(r"[a-z][\w+-]{0,19}", word) for word in crate["keywords"]), crate["name"]
        assert crate["categories"] and set(crate["categories"]) <= CATEGORIES, crate["name"]
        folder = Path(crate["manifest_path"]).parent
        assert (folder / crate["readme"]).resolve() == ROOT / "README.md", crate["name"]
        manifest = (folder / "Cargo.toml").read_text()
        assert "\nrepository.workspace = true\n" in manifest, crate["name"]


def test_a_crate_that_is_not_published_says_why(crates: list[dict[str, Any]]) -> None:
    private = [crate for crate in crates if not is_published(crate)]
    assert private
    for crate in private:
        manifest = Path(crate["manifest_path"]).read_text()
        assert re.search(r"^# .+\.\npublish = false$", manifest, re.MULTILINE), crate["name"]


def test_published_crates_need_published_crates_of_this_version(crates: list[dict[str, Any]]) -> None:
    by_name = {crate["name"]: crate for crate in crates}
    for crate in filter(is_published, crates):
        for needed in crate["dependencies"]:
            own = by_name.get(needed["name"])
            # cargo leaves out development dependencies without a version.
            if own is None or (needed["kind"] == "dev" and needed["req"] == "*"):
                continue
            where = f"{crate['name']} needs {needed['name']}"
            assert is_published(own), where
            assert needed["req"] == f"^{own['version']}", where


def test_packages_have_all_files_that_are_compiled(crates: list[dict[str, Any]]) -> None:
    for crate in filter(is_published, crates):
        folder = Path(crate["manifest_path"]).parent
        sources = [*(folder / "src").rglob("*.rs"), *folder.glob("*.rs")]
        assert sources, crate["name"]
        for file in sources:
            assert outside(file, file.read_text(), folder) == [], file
        listed = cargo("package", "--package", crate["name"], "--list", "--allow-dirty", "--offline")
        packed = set(listed.splitlines())
        kept = {
            str(file.relative_to(folder))
            for name in ("src", "assets", "presets")
            for file in (folder / name).rglob("*")
            if file.is_file()
        }
        assert kept and kept <= packed, crate["name"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('include_str!("../../docs/page.md")', ["../../docs/page.md"]),
        ('include_bytes!(\n    "../../../x")', ["../../../x"]),
        ('include_str!(concat!("../../presets/", $name))', ["../../presets/"]),
        ('#[path = "../../other/table.rs"]\nmod table;', ["../../other/table.rs"]),
        ('include_str!("page.css"); include_str!("../assets/a.js")', []),
        ('#[cfg(test)]\nfn f() {}\nfn g() { include_str!("../../docs/page.md") }', ["../../docs/page.md"]),
        ('#[cfg(test)]\nmod tests { include_str!("../../docs/page.md") }', []),
    ],
)
def test_files_outside_of_a_crate_are_found(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert outside(tmp_path / "src" / "lib.rs", text, tmp_path) == expected
