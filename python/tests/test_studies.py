"""The studies: each one's small run with its expectations, and its README beside its table."""

from __future__ import annotations

import json
import re
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
def test_the_list_of_studies_has_the_time_of_the_full_run(script: Path) -> None:
    provenance = script.parent / "provenance.json"
    if not provenance.exists():
        pytest.skip(f"the study {script.parent.name} was not run in full: it has no provenance.json")
    run = json.loads(provenance.read_text())
    minutes = sum(part["cpu_minutes"] for part in [run, *run.get("added", [])])
    name = script.parent.name
    row = re.search(
        rf"^\| \[{name}\].*\| ([0-9.]+) min \|$", (STUDIES / "README.md").read_text(), re.MULTILINE
    )
    assert row, f"studies/README.md has no row of {name} that ends with minutes"
    assert float(row[1]) == pytest.approx(minutes, abs=0.05)
    # 40 minutes on two cores.
    assert minutes <= 80


def test_the_readme_says_how_well_real_machines_are_predicted() -> None:
    study = (STUDIES / "real-machines/README.md").read_text()
    machines = re.search(
        r"^\| \*\*all with a preset\*\* \| \*\*all\*\* \| (\d+) \| (\d+ %) \|", study, re.MULTILINE
    )
    ring = re.search(r"^\| ARCHER \| ring \| \d+ \| (\d+ %) \|", study, re.MULTILINE)
    rate = re.search(r"^\| \*\*both\*\* \|  \| all \|(.*)\|$", study, re.MULTILINE)
    assert machines and ring and rate
    cells = [cell.strip() for cell in rate[1].split("|")]
    readme = (STUDIES.parent / "README.md").read_text()
    assert f"predictions of {machines[1]} measured times" in readme
    assert f"have a median error of {machines[2]}" in readme
    assert f"Rings on ARCHER are predicted to {ring[1]}" in readme
    assert f"larger ones have a median error of {cells[4]} instead of {cells[1]}" in readme


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.parent.name)
def test_a_program_that_is_missing_is_named(script: Path, tmp_path: Path) -> None:
    ended = start(script, "--smoke", "--fabricsim", str(tmp_path / "nothing"))
    assert ended.returncode == 1
    assert "nothing is missing" in ended.stderr
