"""A run within a Python program: threads, Ctrl-C, progress, the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import fabricsim

INTERRUPTED = """
import sys
import fabricsim

experiment = {experiment!r}
started = False

def progress(now_ns, end_ns):
    global started
    if not started and now_ns > 0:
        started = True
        print("running", flush=True)

try:
    fabricsim.run(experiment, out={out!r}, progress=progress)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(42)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")
def test_ctrl_c_stops_a_run_and_leaves_nothing(tmp_path: Path, endless: dict[str, Any]) -> None:
    script = INTERRUPTED.format(experiment=endless, out=str(tmp_path / "result"))
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "running\n"
            begin = time.monotonic()
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (process.returncode, rest) == (42, "interrupted\n")
    assert time.monotonic() - begin < 10
    assert list(tmp_path.iterdir()) == []


def test_an_exception_of_the_progress_callback_stops_the_run(tmp_path: Path, endless: dict[str, Any]) -> None:
    seen: list[tuple[float, float | None]] = []

    def progress(now_ns: float, end_ns: float | None) -> None:
        seen.append((now_ns, end_ns))
        if len(seen) == 3:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        fabricsim.run(endless, out=tmp_path / "result", progress=progress)
    assert all(end == 3600e9 for _, end in seen)
    assert [now for now, _ in seen] == sorted(now for now, _ in seen)
    assert list(tmp_path.iterdir()) == []


def test_other_threads_go_on_while_a_run_runs(endless: dict[str, Any]) -> None:
    turns = 0
    over = threading.Event()

    def other() -> None:
        nonlocal turns
        while not over.is_set():
            turns += 1
            time.sleep(0.001)

    def progress(now_ns: float, end_ns: float | None) -> None:
        if time.monotonic() - begin > 1.0:
            raise TimeoutError

    thread = threading.Thread(target=other)
    begin = time.monotonic()
    thread.start()
    try:
        with pytest.raises(TimeoutError):
            fabricsim.run(endless, progress=progress)
    finally:
        over.set()
        thread.join()
    # A run that kept the lock would let the other thread run about once per progress report: 20 times.
    assert turns > 100


def test_two_runs_at_once_do_not_mix(traffic: dict[str, Any], result: fabricsim.Result) -> None:
    digests: list[str] = []
    threads = [
        threading.Thread(target=lambda: digests.append(fabricsim.run(traffic).digest)) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert digests == [result.digest] * 3


def test_the_module_is_the_command_line(tmp_path: Path, traffic: dict[str, Any]) -> None:
    file = tmp_path / "experiment.toml"
    file.write_text(fabricsim.experiment.dumps(traffic))

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "fabricsim", *arguments]
        return subprocess.run(line, capture_output=True, text=True, timeout=120, cwd=tmp_path)

    wrong = command("run", "nothing.toml")
    assert wrong.returncode == 2
    assert "nothing.toml" in wrong.stderr
    done = command("run", str(file), "--out", "out")
    assert done.returncode == 0, done.stderr
    assert fabricsim.load(tmp_path / "out").digest == fabricsim.run(file).digest
    assert fabricsim.__version__ in command("--version").stdout


def test_jobs_say_where_their_ranks_come_from(traffic: dict[str, Any], replay: fabricsim.Result) -> None:
    traffic["job"].append({"workload": {"motif": "ping-pong", "ranks": 2}})
    found = fabricsim.run(traffic)
    assert [job.kind for job in found.summary.jobs] == ["traffic", "motif"]
    assert [row["kind"] for row in found.jobs.to_pylist()] == ["traffic", "motif"]
    assert replay.summary.jobs[0].kind == "trace"
    # Programs in Python are in test_programs.py.
