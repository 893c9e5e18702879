"""The studies: each one's small run with its expectations, and its README beside its table."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

STUDIES = Path(__file__).parents[2] / "studies"
SCRIPTS = sorted(STUDIES.glob("*/run.py"))


def start(script: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(script), *options], capture_output=True, text=True)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.parent.name)
def test_the_expectations_hold_in_a_small_run(script: Path) -> None:
    program = shutil.which("fabricsim")
    assert program, "the command `fabricsim` of the package is not on the path"
    ended = start(script, "--smoke", "--fabricsim", program)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.parent.name)
def test_every_number_of_the_readme_is_that_of_the_table(script: Path) -> None:
    if not (script.parent / "table.csv").exists():
        assert "**Not run in full yet**" in (script.parent / "README.md").read_text()
        pytest.skip(f"the study {script.parent.name} was not run in full: it has no table")
    ended = start(script, "--verify")
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.parent.name)
def test_a_program_that_is_missing_is_named(script: Path, tmp_path: Path) -> None:
    ended = start(script, "--smoke", "--fabricsim", str(tmp_path / "nothing"))
    assert ended.returncode == 1
    assert "nothing is missing" in ended.stderr
