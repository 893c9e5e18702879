"""The studies: each one's small run with its expectations, and its README beside its table."""

from __future__ import annotations

import ast
import csv
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

STUDIES = Path(__file__).parents[2] / "studies"
SCRIPTS = sorted(STUDIES.glob("*/run.py"))


NUMBER = r"\d[\d,]*(?:\.\d+)?"
WORD = "two|three|four|five|six|seven|eight|nine|ten|twenty"
UNIT = r"%|times|minutes?|hours?|[munp]?s|[KMGT]i?B/s|[MGT]bps|[GT]i?B"
# Numbers with a unit of a result, alone or in a list ("2, 3 and 4 %"); all numbers with a decimal point.
QUANTITIES = re.compile(
    rf"(?<![\w.,])((?:{NUMBER}(?:, | to | and | or ))*)({NUMBER}|{WORD}) ({UNIT})(?![\w/])"
)
DECIMALS = re.compile(r"(?<![\w.,])\d[\d,]*\.\d+(?!\w|\.\d)")
KINDS = {"parameter", "source", "limit"}


def typed_numbers(text: str) -> set[str]:
    """The numbers in a text that could be results: with a unit, or with a decimal point."""
    found = set()
    for quantity in QUANTITIES.finditer(text):
        others = re.findall(NUMBER, quantity[1])
        found |= {f"{number.rstrip(',')} {quantity[3]}" for number in [*others, quantity[2]]}
    rest = QUANTITIES.sub(" ", text)
    return found | set(DECIMALS.findall(rest))


def prose_of_readme(text: str) -> str:
    """The text of a README that is typed by hand, without code and addresses."""
    text = re.sub(r"<!-- (.+?) -->\n.*?<!-- /\1 -->", "", text, flags=re.DOTALL)
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return re.sub(r"`[^`\n]*`|\]\([^)]*\)", "", text)


def prose_of_script(text: str) -> str:
    """The typed parts of the sentences that a script writes: strings of eight words, without experiments."""
    tree = ast.parse(text)
    inside = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    descriptions = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef))
        and isinstance(node.body[0], ast.Expr)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "..." for part in node.values]
            found.append("".join(map(str, parts)))
        elif isinstance(node, ast.Constant) and node not in inside | descriptions:
            found.append(str(node.value))
    return "\n".join(string for string in found if len(string.split()) >= 8 and " = " not in string)


def start(script: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(script), *options], capture_output=True, text=True)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.parent.name)
def test_the_expectations_hold_in_a_small_run(script: Path) -> None:
    holds(script, "part")


@pytest.mark.long
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.parent.name)
def test_the_expectations_hold_in_the_whole_small_run(script: Path) -> None:
    holds(script, "whole")


def holds(script: Path, smoke: str) -> None:
    program = shutil.which("fabricsim")
    assert program, "the command `fabricsim` of the package is not on the path"
    ended = start(script, "--smoke", smoke, "--fabricsim", program)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.parent.name)
def test_every_number_of_the_readme_is_that_of_the_table(script: Path) -> None:
    if not (script.parent / "table.csv").exists():
        assert "**Not run in full yet**" in (script.parent / "README.md").read_text()
        pytest.skip(f"the study {script.parent.name} was not run in full: it has no table")
    ended = start(script, "--verify")
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.parent.name)
def test_a_number_that_is_typed_by_hand_is_no_result(script: Path) -> None:
    """`typed.csv` declares each such number: a parameter, one of the source, or a limit of the study."""
    folder = script.parent
    with (folder / "typed.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["kind"] for row in rows} <= KINDS
    declared = [row["number"] for row in rows]
    assert len(declared) == len(set(declared)), "a number is there twice"
    readme, written = (folder / "README.md").read_text(), script.read_text()
    found = typed_numbers(prose_of_readme(readme)) | typed_numbers(prose_of_script(written))
    assert not found - set(declared), (
        f"{folder.name} has numbers typed by hand. Write a result from the table, in a block of README.md; "
        "declare another number in typed.csv"
    )
    assert not set(declared) - found, "typed.csv declares numbers that are not there any more"


def test_the_readme_shows_two_figures_of_studies() -> None:
    readme = STUDIES.parent / "README.md"
    figures = re.findall(r"^!\[.+\]\((studies/.+\.png)\)$", readme.read_text(), re.MULTILINE)
    assert len(figures) >= 2
    assert all((readme.parent / figure).exists() for figure in figures)


def test_another_number_in_the_table_fails(tmp_path: Path) -> None:
    """`--verify` compares the README with the table, and the table with the expectations."""
    folder = tmp_path / "studies/single-switch"
    shutil.copytree(STUDIES / "single-switch", folder)
    shutil.copy(STUDIES / "study.py", tmp_path / "studies")
    colours = "crates/results/src/colours.json"
    (tmp_path / colours).parent.mkdir(parents=True)
    shutil.copy(STUDIES.parent / colours, tmp_path / colours)
    script, table = folder / "run.py", folder / "table.csv"
    assert start(script, "--verify").returncode == 0
    text, changed = re.subn(
        r"^(saturation,8,packet,1\.0,1,[^,]+),[^,]+", r"\1,0.6", table.read_text(), flags=re.M
    )
    assert changed == 1
    table.write_text(text)
    ended = start(script, "--verify")
    assert ended.returncode == 1
    assert "differs from table.csv" in ended.stderr
    assert start(script, "--render").returncode == 0
    ended = start(script, "--verify")
    assert ended.returncode == 1
    assert "FAILS: packet: least accepted load" in ended.stdout


def test_numbers_in_sentences_are_found() -> None:
    text = """\
It took the median error from 20 % to 7 %, and fits have 10.9 and 2.1 %.
<!-- name -->
Generated: 99.9 %.
<!-- /name -->
Hosts: 1,056 in 33 groups, figure 9. It takes five times as long, 2 to 4 ms, `0.5 us`, and accepts 0.94.
"""
    expected = {"20 %", "7 %", "10.9 %", "2.1 %", "five times", "2 ms", "4 ms", "0.94"}
    assert typed_numbers(prose_of_readme(text)) == expected
    script = 'x = 3\ny = f"- **Bold.** The halo takes {x:.1f} us and 4.5 us, 7 times as long."\n'
    assert typed_numbers(prose_of_script(script)) == {"4.5 us", "7 times"}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.parent.name)
def test_the_list_of_studies_has_the_time_of_the_full_run(script: Path) -> None:
    provenance = script.parent / "provenance.json"
    if not provenance.exists():
        pytest.skip(f"the study {script.parent.name} was not run in full: it has no provenance.json")
    run = json.loads(provenance.read_text())
    parts = [run, *run.get("added", [])]
    minutes = sum(part["cpu_minutes"] - part.get("replaced_cpu_minutes", 0) for part in parts)
    if any("replaced_runs" in part for part in parts):
        # Starts and ends of the programs of replaced runs stay in this sum. The rows do not have them. Where
        # the rows have nearly all of the time, they count.
        with (script.parent / "table.csv").open() as table:
            of_rows = sum(float(row["cpu_s"]) for row in csv.DictReader(table)) / 60
        minutes = of_rows if of_rows > 0.9 * minutes else minutes
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
    lots = re.search(r"and (\d+) % and (\d+) % with two other lots", study)
    assert lots, "the study has the errors of two other lots of hosts"
    others = f"{lots[1]} and {lots[2]} % with two other lots of hosts"
    assert f"Rings on ARCHER are predicted to {ring[1]}, and to {others}" in readme
    assert f"larger ones have a median error of {cells[4]} instead of {cells[1]}" in readme


def test_presets_have_the_errors_that_the_study_of_their_machine_finds() -> None:
    study = (STUDIES / "real-machines/README.md").read_text()
    rows = re.findall(r"^\| (\w+) \| \*\*all\*\* \| (\d+) \| (\d+) % \|", study, re.MULTILINE)
    presets = STUDIES.parent / "crates/experiment/presets/machines"
    found = {}
    for name, points, median in rows:
        text = (presets / f"{name.lower()}.toml").read_text()
        numbers = re.search(r"^points = (\d+)\nmedian_percent = (\d+)$", text, re.MULTILINE)
        assert numbers, f"the preset {name.lower()} has no table [study]"
        found[name] = (numbers[1], numbers[2]) == (points, median)
    assert len(found) >= 4 and all(found.values()), found
    others = [file.stem for file in presets.glob("*.toml") if "[study]" in file.read_text()]
    assert set(others) == {name.lower() for name in found}


def test_our_numbers_on_the_page_of_the_papers_are_those_of_the_studies() -> None:
    """Each is in the README or in a table of the study that its row names, or in the record of benches."""
    form = r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?!\w|\.\d)"
    docs = STUDIES.parent / "docs"
    section, rows = "", []
    for line in (docs / "papers.md").read_text().splitlines():
        section = line if line.startswith("#") else section
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 7 and cells[0] not in ("item", "---"):
            # item, claim, command, our number, their number, state, reason
            pages = re.findall(r"\]\((\.\./[^)#]+)", cells[2])
            rows.append((cells[0], pages or ["../benches/README.md"] * ("bench" in cells[2]), cells[3]))
        elif len(cells) == 4 and section.startswith("### ") and cells[0] not in ("simulator", "---"):
            # simulator, conclusion, ours, holds
            pages = [f"../studies/{name}/README.md" for name in ("ecp-topologies", "ecp-routers")]
            rows.append((f"{section[4:]}, {cells[1]}", pages, cells[2]))
    assert len(rows) > 60
    for item, pages, ours in rows:
        known = set()
        for page in pages:
            for file in [docs / page, *(docs / page).parent.glob("*.csv")]:
                text = file.read_text()
                text = text.replace(",", " ") if file.suffix == ".csv" else text
                known |= {number.replace(",", "") for number in re.findall(form, text)}
        missing = [number for number in re.findall(form, ours) if number.replace(",", "") not in known]
        assert not (pages and missing), f"{item}: {missing} is not on {pages}"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.parent.name)
def test_a_program_that_is_missing_is_named(script: Path, tmp_path: Path) -> None:
    ended = start(script, "--smoke", "--fabricsim", str(tmp_path / "nothing"))
    assert ended.returncode == 1
    assert "nothing is missing" in ended.stderr
