"""Input files that Python reads: named pipes, devices, folders and huge files are errors that name them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sweep_bench import Here

import fabricsim
from fabricsim import CalibrationError, ExperimentError, ResultError, SweepError, calibrate, sweep
from fabricsim._input import MOST_BYTES, read_bytes, read_text
from fabricsim.program import _load
from fabricsim.sweep.folder import may_write

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="named pipes and devices are files of Unix")

READERS: dict[str, tuple[Callable[[Path], Any], type[Exception]]] = {
    "sweep": (sweep.load, SweepError),
    "costs": (sweep.load_costs, SweepError),
    "measurements": (calibrate.read, CalibrationError),
    "experiment": (fabricsim.Experiment.load, ExperimentError),
    "program": (lambda path: _load(str(path)), OSError),
}


@pytest.fixture(autouse=True)
def soon() -> Iterator[None]:
    """A reader that waits for a pipe fails instead of waiting for ever."""

    def late(*_: Any) -> None:
        raise AssertionError("the file was waited for")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@pytest.mark.parametrize("reader", READERS)
def test_only_regular_files_of_bounded_size_are_read(reader: str, pipe: Path, tmp_path: Path) -> None:
    read, error = READERS[reader]
    huge = tmp_path / "huge"
    huge.touch()
    os.truncate(huge, MOST_BYTES + 1)
    for path, why in {
        pipe: "it is a named pipe; expected a regular file: give a file, or copy the content into one",
        Path("/dev/zero"): "it is a device; expected a regular file",
        tmp_path: "it is a folder; expected a regular file",
        huge: f"it has {MOST_BYTES + 1:,} bytes; expected at most {MOST_BYTES:,}: give another file",
    }.items():
        with pytest.raises(error) as found:
            read(path)
        assert str(path) in str(found.value) and why in str(found.value)


def test_a_file_that_grows_while_it_is_read_is_bounded_too() -> None:
    # Files of /proc have no size until they are read.
    status = Path("/proc/self/status")
    if not status.is_file():
        pytest.skip("no /proc here")
    assert status.stat().st_size == 0 and read_bytes(status).startswith(b"Name:")
    with pytest.raises(OSError, match="it has more than 9 bytes; expected at most 9"):
        read_bytes(status, 9)


def test_ends_of_lines_are_those_of_text(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"a\r\nb\rc\n\xff")
    with pytest.raises(UnicodeDecodeError):
        read_text(tmp_path / "text")
    assert read_text(tmp_path / "text", errors="replace") == "a\nb\nc\n\ufffd"


def test_the_experiment_of_a_sweep_is_a_regular_file(pipe: Path, tmp_path: Path) -> None:
    pytest.importorskip("plotly", reason="fabricsim[sweep] is not installed")
    (tmp_path / "sweep.toml").write_text('experiment = "pipe"')
    done = sweep.run(tmp_path / "sweep.toml", engine=Here(), out=tmp_path / "out", cache=tmp_path / "cache")
    ((_, failure),) = done.failed
    assert failure.message.startswith(f"{pipe}: cannot be read: it is a named pipe; expected a regular file")


def test_files_of_results_are_regular_files(tmp_path: Path, traffic: dict[str, Any]) -> None:
    result = fabricsim.run(traffic, out=tmp_path / "result")
    (tmp_path / "result/links.parquet").unlink()
    os.mkfifo(tmp_path / "result/links.parquet")
    for read in (lambda: result.tables["links"], lambda: result.tables.dataset("links")):
        with pytest.raises(ResultError, match=r"links\.parquet: .*is a named pipe; expected a regular file"):
            read()
    (tmp_path / "result/summary.json").unlink()
    (tmp_path / "result/summary.json").symlink_to("/dev/zero")
    with pytest.raises(ResultError, match="not a FabricSim result: .*it is a device"):
        fabricsim.load(tmp_path / "result")
    (tmp_path / "result/summary.json").unlink()
    (tmp_path / "result/summary.json").write_text("[" * 100_000)
    with pytest.raises(ResultError, match=r"summary\.json is damaged"):
        fabricsim.load(tmp_path / "result")


def test_a_folder_with_a_pipe_for_a_mark_is_no_sweep(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "sweep.json")
    with pytest.raises(SweepError, match="not a sweep"):
        may_write(tmp_path)
