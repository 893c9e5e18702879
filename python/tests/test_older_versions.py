"""What docs/stability.md promises: results, experiments and sweeps of older versions open.

`tests/older/VERSION` has what that version wrote: `NAME.toml`, an experiment; `NAME`, its result without the
report; `sweep`, a sweep file with its experiment and its result without the page. A release adds a folder.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from sweep_bench import Here

import fabricsim
from fabricsim import sweep

OLDER = Path(__file__).parents[2] / "tests" / "older"

pytestmark = pytest.mark.skipif(not OLDER.is_dir(), reason="the sources are not here")

RESULTS = sorted(file.with_suffix("") for file in OLDER.glob("*/*.toml"))
SWEEPS = sorted(OLDER.glob("*/sweep"))


def identity(folder: Path) -> str:
    return "/".join(folder.relative_to(OLDER).parts)


results = pytest.mark.parametrize("folder", RESULTS, ids=identity)


def command(*arguments: str) -> str:
    line = [sys.executable, "-m", "fabricsim", *arguments]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def hashes(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}


def keys(value: Any, path: str = "") -> Iterator[str]:
    """The paths of all keys. Objects of a list are one; names of what an experiment has are no keys."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path}.{key}"
            yield from keys(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, f"{path}[]")


def written(folder: Path) -> dict[str, Any]:
    """The summary as it was written."""
    summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return summary


def columns(folder: Path) -> dict[str, set[str]]:
    return {file.stem: set(pyarrow.parquet.read_schema(file).names) for file in folder.glob("*.parquet")}


def test_there_is_something_to_open() -> None:
    assert {folder.name for folder in RESULTS} >= {"ranks", "virtual-channels"} and SWEEPS
    for folder in RESULTS:
        assert written(folder)["run"]["version"] == folder.parent.name


@results
def test_results_open_with_their_values(folder: Path) -> None:
    before = hashes(folder)
    summary = written(folder)
    result = fabricsim.load(folder)
    assert result.digest == summary["digest"]
    assert result.summary.network.hosts == summary["network"]["hosts"]
    assert [job.name for job in result.summary.jobs] == [job["name"] for job in summary["jobs"]]
    assert [note.kind for note in result.notes] == [note["kind"] for note in summary["notes"]]
    assert result.verdict is not None and result.verdict.headline
    assert set(result.tables) == {file.stem for file in folder.glob("*.parquet")}
    for name in result.tables:
        assert (
            result.tables[name].num_rows == pyarrow.parquet.read_metadata(folder / f"{name}.parquet").num_rows
        )
    assert hashes(folder) == before, "opening changes nothing"


@results
def test_commands_read_results(folder: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(folder, tmp_path / "old"))
    command("verify", str(copied))
    assert fabricsim.load(copied).report().is_file()
    compared = command("compare", str(copied), str(folder))
    assert written(folder)["jobs"][0]["name"] in compared
    command("export", str(copied), "--format", "graphml", "--out", str(tmp_path / "network.graphml"))
    assert (tmp_path / "network.graphml").stat().st_size > 1000


def test_critical_paths_of_older_results_are_read(tmp_path: Path) -> None:
    for folder in RESULTS:
        if (folder / "critical_path.json").is_file():
            copied = Path(shutil.copytree(folder, tmp_path / identity(folder)))
            stored = json.loads((folder / "critical_path.json").read_text())
            again = fabricsim.explain(fabricsim.load(copied))
            assert again.jobs[0].time_ns == stored["jobs"][0]["time_ns"]


@results
def test_experiments_run_with_all_keys_and_columns_of_their_results(folder: Path, tmp_path: Path) -> None:
    """A key or a column that goes away or changes its name is found here: scripts of users read it."""
    now = fabricsim.run(folder.with_suffix(".toml"), out=tmp_path / "now", executor="sequential", threads=1)
    if (folder / "critical_path.parquet").is_file():
        fabricsim.explain(now)
    assert set(keys(written(folder))) - set(keys(written(tmp_path / "now"))) == set()
    new = columns(tmp_path / "now")
    for table, names in columns(folder).items():
        assert names - new.get(table, set()) == set(), table


@results
def test_the_experiment_in_a_result_is_accepted(folder: Path) -> None:
    """A summary has all keys of its experiment, also those with default values."""
    assert fabricsim.check(fabricsim.load(folder).experiment).hosts


@pytest.mark.parametrize("folder", SWEEPS, ids=identity)
def test_sweeps_run_into_their_folder_with_all_columns(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("plotly", reason="fabricsim[sweep] is not installed")
    old = Path(shutil.copytree(folder, tmp_path / "sweep"))
    for name in ("load.toml", "small.toml"):
        shutil.move(old / name, tmp_path / name)
    before = columns(folder)
    done = sweep.run(tmp_path / "load.toml", out=old, cache=tmp_path / "cache", engine=Here())
    assert (done.executed, done.failed, done.problems) == (6, [], [])
    for table, names in before.items():
        assert names - columns(old)[table] == set(), table
    stored = json.loads((folder / "sweep.json").read_text())
    assert set(keys(stored)) <= set(keys(json.loads((old / "sweep.json").read_text())))
