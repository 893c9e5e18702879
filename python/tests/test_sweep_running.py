"""Running sweeps: cached results, failures, interrupted sweeps."""

from __future__ import annotations

import ast
import csv
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from sweep_bench import Here, write

import fabricsim
from fabricsim import SweepError, sweep
from fabricsim.sweep import ClusterSettings, derived
from fabricsim.sweep.cache import Outcome, Resolved
from fabricsim.sweep.conduct import estimates
from fabricsim.sweep.engine import Dask
from fabricsim.sweep.inputs import FILES
from fabricsim.sweep.progress import Progress
from fabricsim.sweep.work import Failure

pytest.importorskip("plotly", reason="fabricsim[sweep] is not installed")


LOADS = """
seeds = 3
[[axis]]
name = "load"
key = "job.0.traffic.load"
values = [0.1, 0.3]
"""


def test_tables_have_overrides_and_results(bench: Path, traffic: dict[str, Any]) -> None:
    done = sweep.run(write(LOADS), engine=Here())
    assert (done.executed, done.cached, done.failed, done.problems) == (6, 0, [], [])
    runs = pyarrow.parquet.read_table(bench / "results/load/sweep.parquet").to_pylist()
    assert [(row["point"], row["seed"], row["job.0.traffic.load"]) for row in runs] == [
        (point, seed, load) for point, load in enumerate([0.1, 0.3]) for seed in (1, 2, 3)
    ]
    # Each row agrees with a single run of the same experiment.
    alone = fabricsim.run(traffic, set={"run.seed": 2, "job.0.traffic.load": 0.3})
    row = runs[4]
    assert row["digest"] == alone.digest
    network = alone.summary.network
    assert row["network.latency_mean_ns"] == network.latency_ns.mean
    assert row["network.accepted_load"] == network.accepted_load
    assert row["network.accepted_gbps_per_host"] == pytest.approx(100 * network.accepted_load)
    # No link is full at this load, and some carry more than others.
    assert row["network.full_links_peak"] == 0
    assert row["job.noise.latency_p99_ns"] == alone.summary.jobs[0].latency_ns.p99
    assert row["network.hosts"] == 16
    # The mean over the seeds lies in its interval, which is that of Student's t with two degrees of freedom.
    summary = pyarrow.parquet.read_table(bench / "results/load/summary.parquet").to_pylist()
    assert [row["seeds"] for row in summary] == [3, 3]
    of = [row["network.latency_mean_ns"] for row in runs[3:]]
    mean = sum(of) / 3
    half = 4.302653 * (sum((value - mean) ** 2 for value in of) / 2 / 3) ** 0.5
    assert summary[1]["network.latency_mean_ns"] == pytest.approx(mean)
    assert summary[1]["network.latency_mean_ns.low"] == pytest.approx(mean - half)
    assert summary[1]["network.latency_mean_ns.high"] == pytest.approx(mean + half)
    assert "| 0.3 | " in (bench / "results/load/summary.md").read_text()
    header = (bench / "results/load/summary.csv").read_text().splitlines()[0]
    assert '"network.latency_mean_ns.low"' in header


def test_nothing_is_run_twice(bench: Path) -> None:
    first = Here()
    sweep.run(write(LOADS), engine=first)
    assert first.calls == ["resolve"] * 6 + ["simulate"] * 6
    again = Here()
    done = sweep.run(write(LOADS), engine=again)
    assert (again.calls, done.cached, done.executed) == ([], 6, 0)
    # Another sweep with some of the same experiments, written differently.
    other = """
    [set]
    "run.warmup" = "2000 ns"
    [[axis]]
    name = "both"
    zip = { "job.0.traffic.load" = [0.3, 0.3, 0.4], "run.seed" = [1, 2, 2] }
    """
    more = Here()
    done = sweep.run(write(other, "other.toml"), engine=more)
    assert more.calls == ["resolve"] * 3 + ["simulate"]
    assert (done.cached, done.executed) == (2, 1)
    # The same experiment in two points runs once.
    same = """
    [[axis]]
    [axis.variants]
    a = { "job.0.traffic.load" = 0.7 }
    b = { "job.0.traffic.load" = 0.7, "run.warmup" = "2 us" }
    """
    twice = Here()
    done = sweep.run(write(same, "same.toml"), engine=twice)
    assert twice.calls == ["resolve"] * 2 + ["simulate"]
    assert done.runs.column("digest")[0] == done.runs.column("digest")[1]


def test_what_changes_the_result_changes_the_key(bench: Path, traffic: dict[str, Any]) -> None:
    Path("hosts.txt").write_text("\n".join(str(host) for host in range(16)))
    traffic["job"][0]["placement"] = {"file": "hosts.txt"}
    Path("small.toml").write_text(fabricsim.experiment.dumps(traffic))
    sweep.run(write(""), engine=Here())

    def runs() -> int:
        engine = Here()
        sweep.run(write(""), engine=engine)
        return engine.calls.count("simulate")

    assert runs() == 0
    # The input file of the experiment.
    Path("hosts.txt").write_text("\n".join(str(host) for host in reversed(range(16))))
    assert runs() == 1
    assert runs() == 0
    # The experiment itself; a comment does not change it.
    text = Path("small.toml").read_text()
    Path("small.toml").write_text(text.replace("0.2", "0.25"))
    assert runs() == 1
    Path("small.toml").write_text("# as before\n" + text.replace("0.2", "0.25"))
    assert runs() == 0
    # An explicit default.
    Path("small.toml").write_text(text.replace("0.2", "0.25") + 'watchdog = "1 ms"\n')
    assert runs() == 0


def test_another_build_of_the_core_has_results_of_its_own(
    bench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep.run(write(""), engine=Here())
    monkeypatch.setattr("fabricsim.sweep.cache.build", lambda: "another")
    engine = Here()
    sweep.run(write(""), engine=engine)
    assert engine.calls == ["resolve", "simulate"]


def test_keys_that_name_files_are_those_of_the_documentation() -> None:
    page = Path(__file__).parents[2] / "docs/formats/experiment.md"
    if not page.is_file():
        pytest.skip("the documentation is not here")
    lines = [line.split("|") for line in page.read_text().splitlines() if line.startswith("| `")]
    paths = {cells[1].strip().strip("`") for cells in lines if cells[2].strip() == "path"}
    assert paths == set(FILES)


def test_damaged_entries_are_made_again(bench: Path) -> None:
    sweep.run(write(""), engine=Here())
    (entry,) = (bench / "results/cache").glob("??/*/summary.json")
    entry.write_text(entry.read_text()[:100])
    engine = Here()
    done = sweep.run(write(""), engine=engine)
    assert engine.calls == ["simulate"]
    assert not done.failed
    assert json.loads(entry.read_text())["digest"]


def test_result_folders_are_kept_where_they_are_wanted(bench: Path) -> None:
    sweep.run(write(""), engine=Here())
    assert not list((bench / "results/cache").glob("*/*/result"))
    done = sweep.run(write('keep = "results"'), engine=Here())
    (folder,) = (bench / "results/cache").glob("*/*/result")
    assert fabricsim.load(folder).digest == done.runs.column("digest")[0].as_py()
    assert done.executed == 1
    assert sweep.run(write('keep = "results"'), engine=Here()).executed == 0


FAILING = """
seeds = 2
[[axis]]
name = "load"
key = "job.0.traffic.load"
values = [0.1, 7.5]
"""


def test_points_that_fail_leave_the_others(bench: Path) -> None:
    done = sweep.run(write(FAILING), engine=Here())
    assert [name for name, _ in done.failed] == ["point 1 (7.5, seed 1)", "point 1 (7.5, seed 2)"]
    rows = done.runs.to_pylist()
    assert [row["state"] for row in rows] == ["done", "done", "failed", "failed"]
    assert "job.0.traffic.load" in rows[2]["error"]
    assert rows[0]["network.latency_mean_ns"] > 0 and rows[2]["network.latency_mean_ns"] is None
    summary = done.summary.to_pylist()
    assert [(row["seeds"], row["failed"]) for row in summary] == [(2, 0), (0, 2)]
    failed = (bench / "results/load/failed.csv").read_text()
    assert "job.0.traffic.load=7.5" in failed and "run.seed=1" in failed and "ExperimentError" in failed
    page = (bench / "results/load/sweep.html").read_text()
    # Each different error stands on the page and in the terminal once.
    assert "Runs that failed" in page and page.count("point 1 (7.5, seed 1) and 1 more") == 1
    # Failed runs are tried again; the others are not.
    engine = Here()
    sweep.run(write(FAILING), engine=engine)
    assert engine.calls == ["resolve"] * 2


def test_a_run_may_fail_in_any_way(bench: Path) -> None:
    def change(function: Any, item: Any) -> Any:
        if function.__name__ == "simulate" and ("job.0.traffic.load", "0.3") in item.overrides:
            return (
                MemoryError("out of memory") if ("run.seed", "1") in item.overrides else Failure("X", "<why>")
            )
        return function(item)

    done = sweep.run(write(LOADS), engine=Here(change))
    assert done.executed == 3
    assert [failure.message for _, failure in done.failed] == ["out of memory", "<why>", "<why>"]
    assert "X: &lt;why&gt;" in (bench / "results/load/sweep.html").read_text()


def test_everything_may_fail(bench: Path) -> None:
    done = sweep.run(write('[set]\n"network.packet" = "three"'), engine=Here())
    assert len(done.failed) == 1
    assert "network.packet" in done.failed[0][1].message
    assert sweep.run(write("").rename("b.toml"), engine=Here(lambda *_: OSError("disk"))).executed == 0


def test_jobs_of_one_name_have_no_columns(
    bench: Path, traffic: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    del traffic["job"]
    jobs = '[[job]]\nname = "noise"\ntraffic = { pattern = "uniform", load = 0.1 }\nhosts = 8\n' * 2
    Path("small.toml").write_text(jobs + fabricsim.experiment.dumps(traffic))
    message = (
        f"{bench}/small.toml:6: job.1.name: 'noise' is also the name of job.0 ({bench}/small.toml:2); "
        "expected another name: the tables of a sweep have the columns job.noise.* for one job only"
    )
    plan = write('[[axis]]\nkey = "job.1.name"\nvalues = ["noise", "more"]')
    # Also a result that the cache has: older versions ran such experiments.
    with monkeypatch.context() as older:
        older.setattr("fabricsim.sweep.work.equal_names", lambda *_: None)
        of_older = sweep.run(plan, engine=Here(), out="older")
    for done in (of_older, sweep.run(plan, engine=Here(), cache="other")):
        ((which, failure),) = done.failed
        assert (which, failure.message) == ("point 0 (noise)", message)
        assert done.runs["job.more.delivered_share"].to_pylist()[1] > 0.9
    listed = [of for _, of in estimates(sweep.load(plan), Here())]
    assert listed[0] == Failure("SweepError", message) and not isinstance(listed[1], Failure)


def test_a_formula_that_fails_after_the_runs_leaves_the_tables(
    bench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = sweep.load(write('[[derived]]\nname = "square"\nformula = "[network.mean_hops] ** 2"\n'))

    def fails(*_: float) -> float:
        raise RecursionError("too deep")

    monkeypatch.setitem(derived._OPERATORS, ast.Pow, fails)
    done = sweep.run(plan, engine=Here())
    why = "derived.square has no value at any point: RecursionError: too deep"
    assert (done.problems, done.failed) == ([why], [])
    assert done.runs["derived.square"].to_pylist() == [None]
    assert done.runs["network.mean_hops"].to_pylist()[0] > 1
    folder = bench / "results/load"
    assert pyarrow.parquet.read_table(folder / "sweep.parquet").num_rows == 1
    assert json.loads((folder / "sweep.json").read_text())["problems"] == [why]
    assert f"Not computed: {why}." in (folder / "summary.md").read_text()
    assert why in (folder / "sweep.html").read_text()


def test_numbers_beyond_64_bits_fail_and_have_tables(bench: Path) -> None:
    done = sweep.run(write(f'[[axis]]\nkey = "run.seed"\nvalues = [1, {2**63}, {10**400}]'), engine=Here())
    assert [failure.kind for _, failure in done.failed] == ["ExperimentError"] * 2
    assert done.runs["run.seed"].to_pylist() == ["1", str(2**63), str(10**400)]


def test_texts_in_csv_are_no_formulas_of_spreadsheets(bench: Path) -> None:
    formulas, plain = ["=1+1", "+a", "-5 ns", "@sum", "\t=1"], ["-5", "+1.5e3", "a=1", "'b"]
    names = [*plain, *formulas]
    packets = ["256 B", *["-1 B"] * 8]
    text = '[[axis]]\nname = "=name"\n' + "".join(
        f'[axis.variants.{json.dumps(name)}]\n"run.seed" = {number}\n"network.packet" = "{packet}"\n'
        for number, (name, packet) in enumerate(zip(names, packets, strict=True))
    )
    done = sweep.run(write(text), engine=Here())
    assert done.runs["=name"].to_pylist() == names
    for name in ("sweep", "summary"):
        with (bench / f"results/load/{name}.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["'=name"] for row in rows] == [*plain, *(f"'{name}" for name in formulas)]
        assert [row["network.packet"] for row in rows] == ["256 B"] + ["'-1 B"] * 8
        # Numbers of the table stay numbers.
        assert [row["run.seed"] for row in rows] == [str(n) for n in range(9)]
    with (bench / "results/load/failed.csv").open(newline="") as file:
        failed = list(csv.DictReader(file))
    assert len(failed) == 8 and all(row["message"].startswith("'--set: network.packet") for row in failed)
    # Other programs read the Parquet tables.
    assert pyarrow.parquet.read_table("results/load/sweep.parquet")["=name"].to_pylist() == names


def test_memory_of_workers_is_a_size(bench: Path) -> None:
    pytest.importorskip("distributed", reason="fabricsim[sweep] is not installed")
    with Dask(ClusterSettings(workers=1, memory="lots")) as dask, pytest.raises(SweepError) as found:
        list(dask.each(len, ["item"]))
    assert str(found.value) == "cluster.memory: expected a size such as \"8 GB\", found 'lots'"


def test_a_missing_experiment_is_a_failure(bench: Path) -> None:
    Path("gone.toml").write_text('experiment = "nothing.toml"')
    done = sweep.run("gone.toml", engine=Here())
    assert "nothing.toml" in done.failed[0][1].message


def test_workers_of_another_version_are_refused(bench: Path) -> None:
    def change(function: Any, item: Any) -> Any:
        found = function(item)
        return Resolved(found.settings, found.inputs, 1, "9.9") if isinstance(found, Resolved) else found

    done = sweep.run(write(""), engine=Here(change))
    assert "the workers have FabricSim 9.9" in done.failed[0][1].message


def test_other_folders_are_left_alone(bench: Path) -> None:
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("precious")
    engine = Here()
    with pytest.raises(SweepError, match="not a sweep"):
        sweep.run(write(""), out="mine", engine=engine)
    assert engine.calls == []
    sweep.run(write(""), out="fine", engine=engine)
    sweep.run(write(""), out="fine", engine=engine)
    assert not [path for path in bench.iterdir() if path.name.startswith(".")]


def test_jobs_of_ranks_have_their_times(bench: Path, traffic: dict[str, Any]) -> None:
    traffic["job"] = [
        {"name": "ping", "workload": {"motif": "ping-pong", "ranks": 4, "iterations": 20}},
        {"name": "noise", "traffic": {"pattern": "uniform", "load": 0.4}, "hosts": "free"},
    ]
    del traffic["run"]["until"], traffic["run"]["warmup"]
    Path("small.toml").write_text(fabricsim.experiment.dumps(traffic))
    done = sweep.run(write("interference = true"), engine=Here())
    (row,) = done.runs.to_pylist()
    assert row["job.ping.finished"] is True
    assert row["job.ping.time_ns"] > row["job.ping.mpi_ns"] > 0
    assert row["job.ping.slowdown"] >= 1
    # Traffic has no time, and a job that is cut off has none either.
    assert "job.noise.time_ns" not in row
    cut = sweep.run(write('[set]\n"run.until" = "3 us"'), engine=Here()).runs.to_pylist()[0]
    assert cut["job.ping.finished"] is False and cut["job.ping.time_ns"] is None
    # Results with and without the runs alone are separate entries.
    assert sweep.run(write(""), engine=Here()).executed == 1


def test_progress_says_what_is_left() -> None:
    progress = Progress(None)
    progress.begin("runs", 12, cached=2)
    assert progress.line(0) == "runs: 2 of 12 done, 2 from the cache"
    progress.one(failed=False)
    progress.one(failed=True)
    assert progress.line(30) == "runs: 4 of 12 done, 2 from the cache, 1 failed, 2:00 left"
    assert progress.line(3600) == "runs: 4 of 12 done, 2 from the cache, 1 failed, 4:00:00 left"


# The following tests run on Dask, in separate processes.

SLOW = """
[set]
"run.until" = "1 ms"
[[axis]]
name = "load"
key = "job.0.traffic.load"
values = [0.31, 0.32, 0.33, 0.34, 0.35, 0.36, 0.37, 0.38]
"""


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "fabricsim", "sweep", *arguments]


def entries(bench: Path) -> int:
    return len(list((bench / "results/cache").glob("??/*/entry.json")))


def begin_and_stop(bench: Path, with_signal: int) -> tuple[int, str]:
    """Starts the slow sweep and stops it after two runs; returns its exit status and its output."""
    line = command(str(write(SLOW)), "--workers", "1")
    # A script that runs the tests in the background may ignore Ctrl-C, and processes inherit this.
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True, start_new_session=True)
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        try:
            deadline = time.monotonic() + 300
            while entries(bench) < 2 and time.monotonic() < deadline:
                assert process.poll() is None, process.communicate()
                time.sleep(0.01)
            if with_signal == signal.SIGKILL:
                process.kill()
            else:
                # As a terminal does: to all of its processes.
                os.killpg(process.pid, with_signal)
            _, said = process.communicate(timeout=120)
        finally:
            process.kill()
    return process.returncode, said


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_sweep_that_was_broken_off_goes_on(bench: Path, how: signal.Signals) -> None:
    pytest.importorskip("distributed", reason="fabricsim[sweep] is not installed")
    status, said = begin_and_stop(bench, how)
    if how == signal.SIGINT:
        assert status == 130
        assert said.splitlines()[-1].startswith("fabricsim: interrupted")
        assert "Traceback" not in said
    else:
        assert status == -signal.SIGKILL
    # Workers end with their parent process: no further entry appears.
    deadline = time.monotonic() + 60
    kept = entries(bench)
    while time.monotonic() < deadline:
        time.sleep(1.0)
        if entries(bench) == kept:
            break
        kept = entries(bench)
    assert 2 <= kept < 8
    assert not Path("results/load").exists()
    before = {path: path.stat().st_mtime_ns for path in (bench / "results/cache").glob("??/*/entry.json")}
    engine = Here()
    done = sweep.run("load.toml", engine=engine)
    assert engine.calls.count("simulate") == done.executed == 8 - kept
    assert done.cached == kept
    assert {path: path.stat().st_mtime_ns for path in before} == before
    # Incomplete entries of the killed process are gone, and the result is that of an uninterrupted sweep.
    assert not list((bench / "results/cache/under-way").iterdir())
    whole = sweep.run("load.toml", cache="other-cache", out="other", engine=Here())
    assert whole.runs.column("digest") == done.runs.column("digest")


def test_the_command_runs_on_dask(bench: Path) -> None:
    pytest.importorskip("distributed", reason="fabricsim[sweep] is not installed")
    line = command(str(write(FAILING)), "--workers", "2", "--json", "--out", "out", "--cache", "kept")
    found = subprocess.run(line, capture_output=True, text=True, timeout=300)
    assert found.returncode == 1, found.stderr
    assert found.stderr.count("point 1 (7.5, seed 1) and 1 more failed: ExperimentError: ") == 1
    assert json.loads(found.stdout) == {
        "folder": "out",
        "answer": ["Of the traffic of job noise, the network can carry all up to a load of 0.1."],
        "runs": 4,
        "executed": 2,
        "cached": 0,
        "failed": 2,
        "problems": [],
        "figures": [],
    }
    assert (bench / "out/sweep.html").is_file()


def test_the_command_names_what_is_wrong(bench: Path) -> None:
    wrong = command(str(write("[[axes]]\nkey = 3")))
    found = subprocess.run(wrong, capture_output=True, text=True, timeout=300)
    assert found.returncode == 2
    assert found.stderr.startswith("fabricsim: load.toml:2: axes: unknown key 'axes'; did you mean 'axis'?; ")
    assert found.stderr.count("\n") == 1
    listed = subprocess.run(command(str(write(LOADS)), "--list"), capture_output=True, text=True, timeout=300)
    first, second, points, together = listed.stdout.splitlines()
    assert first.startswith("point 0: 0.1: about ") and second.startswith("point 1: 0.3: about ")
    assert points == "2 points, 3 runs of each"
    assert together.startswith("all together: about ") and "million packet-hops per second" in together
    line = command("load.toml", "--list", "--json")
    work = json.loads(subprocess.run(line, capture_output=True, text=True, timeout=300).stdout)
    low, high = (point["packet_hops"] for point in work["points"])
    assert high == pytest.approx(3 * low, rel=0.01) and work["packet_hops"] == pytest.approx(3 * (low + high))
    assert work["runs"] == 6 and work["cpu_s"] > 0
    assert not Path("results").exists()


def test_the_list_names_points_that_cannot_run(bench: Path) -> None:
    line = command(str(write(FAILING)), "--list")
    listed = subprocess.run(line, capture_output=True, text=True, timeout=300)
    assert listed.returncode == 2
    assert "point 1: 7.5: cannot run" in listed.stdout
    assert listed.stderr.count("point 1 (7.5) failed: ExperimentError: ") == 1


@pytest.mark.parametrize(("module", "name"), [("distributed", "Dask"), ("plotly", "plotly")])
def test_what_is_not_installed_is_named(bench: Path, module: str, name: str) -> None:
    hidden = f"import sys; sys.modules[{module!r}] = None; from fabricsim.sweep import command; "
    line = hidden + f"sys.exit(command.main([{str(write(LOADS))!r}]))"
    found = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, timeout=300)
    assert found.returncode != 0
    said = found.stderr.splitlines()
    assert said[-1].startswith("fabricsim: ") and name in said[-1]
    assert "pip install 'fabricsim[sweep]'" in said[-1]


def test_a_scheduler_that_runs_already(bench: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="fabricsim[sweep] is not installed")
    here = {"processes": False, "protocol": "tcp", "dashboard_address": None}
    with distributed.LocalCluster(n_workers=1, threads_per_worker=2, **here) as cluster:
        settings = sweep.ClusterSettings(scheduler=cluster.scheduler_address)
        done = sweep.run(write(LOADS), cluster=settings)
    assert (done.executed, done.failed) == (6, [])
    gone = sweep.ClusterSettings(scheduler="tcp://127.0.0.1:9")
    with pytest.raises(SweepError, match="no Dask scheduler answers at tcp://127.0.0.1:9"):
        sweep.run(write(SLOW), cluster=gone)


def test_batch_jobs(bench: Path) -> None:
    """dask-jobqueue's own replacement of a batch system: jobs are processes of this machine."""
    # Its import is that of the sweep.
    if importlib.util.find_spec("dask_jobqueue") is None:
        pytest.skip("fabricsim[sweep] is not installed")
    before = signal.getsignal(signal.SIGINT)
    queue = '[cluster]\njobqueue = { kind = "local", cores = 1, processes = 1, memory = "2 GB", CORES }\n'
    with pytest.raises(SweepError, match=r"cluster\.jobqueue: dask-jobqueue says: .*'corse'"):
        sweep.run(write(LOADS.replace("[[axis]]", queue.replace("CORES", "corse = 1") + "[[axis]]")))
    done = sweep.run(write(LOADS.replace("[[axis]]", queue.replace(", CORES", "") + "[[axis]]")))
    assert (done.executed, done.failed) == (6, [])
    assert signal.getsignal(signal.SIGINT) is before


def test_a_worker_that_dies_takes_its_run_only(bench: Path) -> None:
    pytest.importorskip("distributed", reason="fabricsim[sweep] is not installed")
    from fabricsim.sweep.engine import Dask

    with Dask(sweep.ClusterSettings(workers=1)) as dask:
        found = dict(dask.each(_dies_of_three, [1, 3, 5]))
    assert (found[1], found[5]) == (1, 5)
    assert "the process that carried it out ended" in str(found[3])


def _dies_of_three(number: int) -> int:
    if number == 3:
        os._exit(1)
    return number


def test_an_outcome_is_plain_data(bench: Path) -> None:
    """The value travels from worker to scheduler, and into JSON."""
    kept: list[Outcome] = []

    def change(function: Any, item: Any) -> Any:
        found = function(item)
        kept.extend([found] if isinstance(found, Outcome) else [])
        return found

    sweep.run(write(""), engine=Here(change))
    assert json.loads(json.dumps(kept[0].inventory)) == kept[0].inventory
    assert kept[0].inventory["routers"] == [
        {"kind": "router", "ports": 5, "bandwidth_bits_per_s": 100_000_000_000, "count": 16}
    ]
