"""Files for the public that repeat what others say: CITATION.cff, workflows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not (ROOT / "CITATION.cff").is_file(), reason="the sources are not here")


def test_the_citation_has_version_licence_and_author_of_the_manifest() -> None:
    manifest = (ROOT / "Cargo.toml").read_text().partition("[workspace.package]")[2].partition("\n[")[0]
    citation = (ROOT / "CITATION.cff").read_text()
    for key, pattern in [
        ("version", r'^version = "(.+)"$'),
        ("license", r'^license = "(.+)"$'),
        ("  - name", r'^authors = \["(.+)"\]$'),
    ]:
        found = re.search(pattern, manifest, re.MULTILINE)
        assert found and f"\n{key}: {found[1]}\n" in citation, key


def test_pages_name_the_least_version_of_python() -> None:
    least = re.search(
        r'^requires-python = ">=(3\.\d+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE
    )
    assert least
    for page in ("README.md", "CONTRIBUTING.md", "docs/python.md"):
        assert set(re.findall(r"Python (3\.\d+)", (ROOT / page).read_text())) == {least[1]}, page


def test_stages_of_the_workflow_are_targets_of_the_makefile() -> None:
    stages = re.findall(
        r"^ +- stage: (\S+)$", (ROOT / ".github/workflows/test.yml").read_text(), re.MULTILINE
    )
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert stages and set(stages) <= set(targets)
