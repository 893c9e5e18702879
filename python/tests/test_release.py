"""scripts/release.py and scripts/sbom.py: what they refuse, and what the bill of materials has."""

from __future__ import annotations

import datetime
import hashlib
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tomllib", reason="the scripts need Python 3.11")

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "scripts"

pytestmark = pytest.mark.skipif(not SCRIPTS.is_dir(), reason="the sources are not here")

TODAY = datetime.date(2026, 12, 24)
FILES = {
    "Cargo.toml": """[workspace.package]
version = "1.2.3"

[workspace.dependencies]
des = { path = "crates/des", package = "fabricsim-des", version = "1.2.3" }
serde = "1"
""",
    "Cargo.lock": """[[package]]
name = "fabricsim-des"
version = "1.2.3"

[[package]]
name = "serde"
version = "1.0.0"
source = "registry"
""",
    "pyproject.toml": '[project]\nname = "fabricsim"\ndynamic = ["version"]\n',
    "CITATION.cff": "title: FabricSim\nversion: 1.2.3\n",
    "CHANGELOG.md": """# Changelog

## 1.2.3 (unreleased)

- A change.

## 1.2.2 (2026-11-30)

- Another.
""",
}


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look up their module while it is executed.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def release() -> Any:
    return load("release")


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A repository that can be released."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "All")
    return tmp_path


def problems(release: Any, root: Path, tagging: bool = False) -> list[str]:
    return [
        *release.repository_problems(root),
        *release.version_problems(root),
        *release.changelog_problems(root, tagging=tagging, today=TODAY),
    ]


def change(root: Path, name: str, old: str, new: str) -> None:
    text = (root / name).read_text()
    assert old in text
    (root / name).write_text(text.replace(old, new, 1))
    git(root, "commit", "--quiet", "--all", "--message", "Change")


def test_a_clean_commit_is_accepted(release: Any, sources: Path) -> None:
    assert problems(release, sources) == []


def test_what_is_not_committed_is_refused(release: Any, sources: Path) -> None:
    (sources / "notes.txt").write_text("x")
    assert problems(release, sources) == ["1 files are not committed (notes.txt); commit or remove them"]


def test_an_existing_tag_is_refused(release: Any, sources: Path) -> None:
    git(sources, "tag", "v1.2.3")
    assert problems(release, sources) == [
        "the tag v1.2.3 exists; a new release needs a new version in Cargo.toml"
    ]


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("CITATION.cff", "1.2.3", "1.2.2", ["CITATION.cff: the version is 1.2.2, Cargo.toml has 1.2.3"]),
        (
            "Cargo.lock",
            "1.2.3",
            "1.2.2",
            [
                "Cargo.lock: 'fabricsim-des' has version 1.2.2, Cargo.toml has 1.2.3; "
                "run 'cargo update --workspace --offline'"
            ],
        ),
        (
            "Cargo.toml",
            ', version = "1.2.3"',
            ', version = "1.2.2"',
            ["Cargo.toml: the dependency 'des' has version 1.2.2; expected 1.2.3"],
        ),
        (
            "pyproject.toml",
            'dynamic = ["version"]',
            'version = "1.2.2"',
            ["pyproject.toml: the version is 1.2.2, Cargo.toml has 1.2.3"],
        ),
        (
            "pyproject.toml",
            'dynamic = ["version"]',
            "",
            ["pyproject.toml: 'version' must be in 'dynamic', so that it is that of Cargo.toml"],
        ),
        (
            "CHANGELOG.md",
            "## 1.2.3 (unreleased)",
            "## 1.2.4 (unreleased)",
            ["CHANGELOG.md: has no section '## 1.2.3'; write what users see since the last version"],
        ),
        (
            "CHANGELOG.md",
            "- A change.",
            "### Added",
            ["CHANGELOG.md:3: the section of 1.2.3 names no change; write what users see"],
        ),
        (
            "CHANGELOG.md",
            "(2026-11-30)",
            "(unreleased)",
            [
                "CHANGELOG.md:7: 1.2.2 is unreleased, but only 1.2.3 can be; write its date in the "
                "parentheses, or nothing"
            ],
        ),
        (
            "CHANGELOG.md",
            "(2026-11-30)",
            "(30.11.2026)",
            ["CHANGELOG.md:7: '30.11.2026' is no date; expected '## 1.2.2 (YYYY-MM-DD)'"],
        ),
        (
            "CHANGELOG.md",
            "(2026-11-30)",
            "(2026-02-30)",
            ["CHANGELOG.md:7: '2026-02-30' is no date; expected '## 1.2.2 (YYYY-MM-DD)'"],
        ),
        (
            "CHANGELOG.md",
            "(unreleased)",
            "(2026-12-24)",
            ["CITATION.cff: 'date-released' is None; expected 2026-12-24, the date of CHANGELOG.md:3"],
        ),
        (
            "CITATION.cff",
            "version",
            "date-released: 2026-12-24\nversion",
            ["CITATION.cff: 'date-released' is 2026-12-24, but CHANGELOG.md:3 has no date; remove it"],
        ),
    ],
)
def test_files_that_disagree_are_refused(
    release: Any, sources: Path, file: str, old: str, new: str, expected: list[str]
) -> None:
    change(sources, file, old, new)
    assert problems(release, sources) == expected


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("packaging/Containerfile", "ARG VERSION=1.2.2\n", "the version is 1.2.2, Cargo.toml has 1.2.3"),
        (
            "packaging/spack/package.py",
            '    version("1.2.2")\n',
            "the version is 1.2.2, Cargo.toml has 1.2.3",
        ),
        ("packaging/spack/package.py", "", "has no version; expected 1.2.3 in a line like"),
        (
            "packaging/easybuild/fabricsim-1.2.2.eb",
            "version = '1.2.2'\n",
            "the version is 1.2.2, Cargo.toml has 1.2.3",
        ),
    ],
)
def test_recipes_of_another_version_are_refused(
    release: Any, sources: Path, file: str, text: str, expected: str
) -> None:
    (sources / file).parent.mkdir(parents=True)
    (sources / file).write_text(text)
    (problem,) = release.version_problems(sources)
    assert problem.startswith(f"{file}: {expected}")


def test_a_tag_needs_dates_that_agree(release: Any, sources: Path) -> None:
    assert problems(release, sources, tagging=True) == [
        "CHANGELOG.md:3: a release has its date; expected '## 1.2.3 (2026-12-24)'"
    ]
    change(sources, "CHANGELOG.md", "(unreleased)", "(2026-12-25)")
    change(sources, "CITATION.cff", "version", "date-released: 2026-12-25\nversion")
    assert problems(release, sources, tagging=True) == [
        "CHANGELOG.md:3: the date 2026-12-25 is in the future; today is 2026-12-24"
    ]
    change(sources, "CHANGELOG.md", "2026-12-25", "2026-12-24")
    change(sources, "CITATION.cff", "2026-12-25", "2026-12-24")
    assert problems(release, sources, tagging=True) == []


def test_all_mistakes_are_told_and_nothing_is_made(
    release: Any, sources: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(sources, "CITATION.cff", "1.2.3", "1.2.2")
    (sources / "notes.txt").write_text("x")
    assert release.main([], root=sources) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert [line.partition(": ")[2].split()[0] for line in told.err.splitlines()] == ["1", "CITATION.cff:"]
    assert not (sources / "dist").exists()


def test_files_of_this_version_are_listed_with_their_hashes(release: Any, sources: Path) -> None:
    (sources / "dist").mkdir()
    for name in (
        "fabricsim-1.2.3.tar.gz",
        "fabricsim-1.2.3-cp310-abi3-linux_x86_64.whl",
        "fabricsim-1.2.2.tar.gz",
    ):
        (sources / "dist" / name).write_text(name)
    lines = release.listing(release.artefacts(sources)).splitlines()
    assert [line.split()[-1] for line in lines] == [
        "fabricsim-1.2.3-cp310-abi3-linux_x86_64.whl",
        "fabricsim-1.2.3.tar.gz",
    ]
    assert lines[1].split()[:3] == [hashlib.sha256(b"fabricsim-1.2.3.tar.gz").hexdigest(), "0.0", "kB"]


def test_the_files_of_this_repository_agree(release: Any) -> None:
    today = datetime.datetime.now(datetime.timezone.utc).date()
    assert list(release.version_problems(ROOT)) == []
    assert list(release.changelog_problems(ROOT, tagging=False, today=today)) == []


def test_changes_of_the_next_version_are_short() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    assert max(map(len, text.splitlines())) <= 200
    assert len(text.splitlines()) <= 150


# The bill of materials


@pytest.fixture(scope="module")
def bill() -> Any:
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    return load("sbom").document()


def test_the_bill_has_the_required_fields(bill: Any) -> None:
    """Those that the schema of CycloneDX 1.6 requires, and the patterns that it gives."""
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", bill["metadata"]["timestamp"])
    for component in [bill["metadata"]["component"], *bill["components"]]:
        assert component["type"] in ("application", "library") and component["name"], component
        assert component.get("scope", "required") in ("required", "optional")
        for licence in component.get("licenses", []):
            assert set(licence) == {"expression"} and "/" not in licence["expression"], component
        for hashed in component.get("hashes", []):
            assert hashed["alg"] == "SHA-256" and re.fullmatch("[0-9a-f]{64}", hashed["content"])
    references = [c["bom-ref"] for c in bill["components"]]
    assert len(set(references)) == len(references)


def test_all_components_are_reached_from_the_product(bill: Any) -> None:
    graph = {entry["ref"]: entry["dependsOn"] for entry in bill["dependencies"]}
    reached: set[str] = set()
    waiting = [bill["metadata"]["component"]["bom-ref"]]
    while waiting:
        reference = waiting.pop()
        if reference not in reached:
            reached.add(reference)
            waiting += graph.get(reference, [])
    expected = {c["bom-ref"] for c in bill["components"]} | {bill["metadata"]["component"]["bom-ref"]}
    assert reached == expected


def test_the_bill_has_what_the_notices_list(bill: Any) -> None:
    """THIRD-PARTY.md has all crates and other libraries that are linked; `make lint` compares it."""
    rows = re.findall(
        r"^\| (?!name|crate|---)([^|]+) \| ([^|]+) \|", (ROOT / "THIRD-PARTY.md").read_text(), re.MULTILINE
    )
    others = {
        (c["name"], c["version"])
        for c in bill["components"]
        if not c["bom-ref"].startswith(("pkg:pypi/", "pkg:cargo/fabricsim-"))
    }
    assert len(rows) > 100 and others == {(name.strip(), version.strip()) for name, version in rows}


def test_crates_of_the_lock_file_that_the_command_links_are_in_the_bill(bill: Any) -> None:
    command = ["cargo", "tree", "--locked", "--package", "fabricsim-cli", "--edges", "normal,no-proc-macro"]
    tree = subprocess.run(
        [*command, "--prefix", "none", "--format", "{p}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    linked = {tuple(line.split()[:2]) for line in tree.stdout.splitlines() if line}
    known = {(c["name"], f"v{c['version']}") for c in bill["components"] if "version" in c}
    assert len(linked) > 50 and linked <= known
    published = [c for c in bill["components"] if re.match("pkg:cargo/(?!fabricsim-)", c["bom-ref"])]
    assert all("hashes" in c and "licenses" in c for c in published)


def test_python_dependencies_have_their_requirements(bill: Any) -> None:
    python = {c["name"]: c for c in bill["components"] if c["bom-ref"].startswith("pkg:pypi/")}
    assert python["pyarrow"]["scope"] == "required" and python["dask"]["scope"] == "optional"
    assert {"name": "fabricsim:requirement", "value": ">=15"} in python["pyarrow"]["properties"]
    assert "pytest" not in python and "mypy" not in python
