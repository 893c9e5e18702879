"""The record of the benchmarks: its page is that of the measurements. Lengths of pages."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from view_networks import NETWORKS

ROOT = Path(__file__).parents[2]
BENCHES = ROOT / "benches"

pytestmark = pytest.mark.skipif(not BENCHES.is_dir(), reason="the sources are not here")

# Words outside tables, code and generated blocks. Pages that are longer repeat something or tell a history.
MOST_WORDS = {"benches/README.md": 2000, "docs/testing.md": 2000}
# The same of all pages together: a new page should take the place of repetitions. Lower it with the pages.
MOST_WORDS_OF_ALL = 66_200


def words(text: str) -> int:
    """The words of a page outside table rows, code and generated blocks."""
    text = re.sub(r"<!-- (.+?) -->\n.*?<!-- /\1 -->", "", text, flags=re.DOTALL)
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^\s*\|.*$", "", text, flags=re.MULTILINE)
    return len(text.split())


def verify(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHES / "render.py"), "--verify", "--folder", str(folder)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(BENCHES, tmp_path / "benches"))


def test_the_page_has_the_numbers_of_the_records() -> None:
    ended = verify(BENCHES)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("3.753", "3.754", "differs from the records"),
        ("date,", "day,", "the columns must be"),
        ("2026-11-22,", "22.11.2026,", "adaptive_cost.csv:2"),
        ("2026-11-22,", "2026-11-22,another cell,", "adaptive_cost.csv:2: a row must have"),
        (",,cargo bench", ",HEAD,cargo bench", "a commit has eight"),
    ],
)
def test_a_wrong_record_is_found(copied: Path, old: str, new: str, error: str) -> None:
    file = copied / "records/adaptive_cost.csv"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    ended = verify(copied)
    assert ended.returncode == 1
    assert error in ended.stderr


def test_an_older_record_of_a_machine_is_refused(copied: Path) -> None:
    file = copied / "records/construction.csv"
    last = file.read_text().splitlines()[-1]
    file.write_text(file.read_text() + last.replace("2026-", "2025-", 1) + "\n")
    ended = verify(copied)
    assert ended.returncode == 1
    assert "has an older record of this machine" in ended.stderr


def test_a_record_without_a_block_is_named(copied: Path) -> None:
    shutil.copy(copied / "records/phold.csv", copied / "records/another.csv")
    ended = verify(copied)
    assert ended.returncode == 1
    assert "another" in ended.stderr


def test_the_largest_network_of_the_viewer_is_that_of_the_page() -> None:
    """docs/testing.md says up to which size the viewer is compared."""
    largest = max(network.hosts for network in NETWORKS.values())
    assert f"its own tables up to {largest:,}." in (ROOT / "docs/testing.md").read_text()


@pytest.mark.parametrize("page", MOST_WORDS)
def test_a_page_of_measurements_or_lists_stays_short(page: str) -> None:
    assert words((ROOT / page).read_text()) <= MOST_WORDS[page]


def test_all_pages_together_stay_readable() -> None:
    pages = [
        ROOT / "README.md",
        ROOT / "ARCHITECTURE.md",
        BENCHES / "README.md",
        *(ROOT / "docs").rglob("*.md"),
    ]
    total = sum(words(page.read_text()) for page in pages)
    assert MOST_WORDS_OF_ALL - 5000 < total <= MOST_WORDS_OF_ALL


def test_words_are_those_outside_tables_code_and_blocks() -> None:
    table = "| no | no |\n| --- | --- |\n"
    code = "```sh\nno no\n```\n"
    block = "<!-- x -->\nno\n<!-- /x -->\n"
    page = f"# One two\n\n{table}\nthree\n\n{code}{block}four\n"
    assert words(page) == 5  # with the mark of the heading
