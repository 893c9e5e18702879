"""Real programs in Python: the wheel of mpi4py as it is, on a simulated network."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import fabricsim

if sys.version_info >= (3, 11):
    import tomllib

pytest.importorskip("mpi4py", reason="mpi4py is not installed")

ROOT = Path(__file__).parents[2]

# Four hosts on one switch: 100 ns on cables, 100 ns in the switch, 80 ps for a byte.
NETWORK = """
[network]
topology = { kind = "fat-tree", levels = 2, radix = 8 }
routing = { algorithm = "destination-mod-k" }
link = { bandwidth = "100 Gbps", latency = "50 ns" }
router.delay = "100 ns"
[mpi]
send_overhead = "300 ns"
receive_overhead = "200 ns"
header_size = "32 B"
"""


def mpirun(folder: Path, ranks: int, program: Path, *options: str) -> subprocess.CompletedProcess[str]:
    network = folder / "network.toml"
    network.write_text(NETWORK)
    command = [sys.executable, "-m", "fabricsim", "mpirun", "-n", str(ranks), "--on", str(network)]
    command += ["--compute", "none", "--out", str(folder / "result"), *options, sys.executable, str(program)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def digest(folder: Path) -> str:
    return str(json.loads((folder / "result/summary.json").read_text())["digest"])


def script(folder: Path, text: str) -> Path:
    program = folder / "program.py"
    program.write_text("import numpy\nfrom mpi4py import MPI\n\nworld = MPI.COMM_WORLD\n" + text)
    return program


def test_a_ping_pong_takes_the_time_of_the_closed_form(tmp_path: Path) -> None:
    program = script(
        tmp_path,
        """
data = numpy.zeros(1)
start = MPI.Wtime()
for _ in range(5):
    if world.rank == 0:
        world.Send(data, dest=1)
        world.Recv(data, source=1)
    else:
        world.Recv(data, source=0)
        data += 1
        world.Send(data, dest=0)
if world.rank == 0:
    print(round((MPI.Wtime() - start) * 1e12), data[0])
""",
    )
    done = mpirun(tmp_path, 2, program)
    assert done.returncode == 0, done.stderr
    message = 300_000 + 200_000 + 200_000 + 80 * (8 + 32)
    assert done.stdout.splitlines()[0] == f"{10 * message} 5.0"


def test_the_clocks_of_a_program_are_simulated(tmp_path: Path) -> None:
    program = script(
        tmp_path,
        """
import queue
import time

start, wtime = time.perf_counter(), MPI.Wtime()
time.sleep(3600)
try:
    queue.Queue().get(timeout=0.01)
except queue.Empty:
    pass
if world.rank == 0:
    print(time.strftime("%Y-%m-%d %H", time.gmtime()), round(time.perf_counter() - start, 3),
          round(MPI.Wtime() - wtime, 3))
""",
    )
    done = mpirun(tmp_path, 2, program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "2026-01-01 01 3600.01 3600.01"
    began = time.monotonic()
    text = program.read_text().replace("3600", "0.3")
    program.write_text(text.replace('"%Y', '"real %Y'))
    done = mpirun(tmp_path, 2, program, "--clocks", "real")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began > 0.31
    assert done.stdout.startswith("real ") and not done.stdout.startswith("real 2026-01-01")


def test_options_of_other_mpiruns(tmp_path: Path) -> None:
    program = script(
        tmp_path,
        """
import os

place = [os.environ[name] for name in ("PMI_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALNRANKS", "LEVEL")]
print(*place, MPI.Get_processor_name(), os.getcwd())
""",
    )
    (tmp_path / "below").mkdir()
    options = ["-x", "LEVEL=7", "-wdir", "below", "-ppn", "2", "--bind-to", "core", "-l"]
    done = mpirun(tmp_path, 4, program, *options)
    assert done.returncode == 0, done.stderr
    ranks = sorted(line for line in done.stdout.splitlines() if line.startswith("["))
    expected = [f"[{rank}] {rank} {rank % 2} 2 7 host{rank // 2} {tmp_path / 'below'}" for rank in range(4)]
    assert ranks == expected
    assert "ignored: --bind-to" in done.stderr


def test_objects_collectives_and_communicators(tmp_path: Path) -> None:
    """What the program computes is right, and the run is the same on every executor that it has."""
    program = script(
        tmp_path,
        """
rank, size = world.rank, world.size
assert world.bcast({"a": [1, "b"]} if rank == 1 else None, root=1) == {"a": [1, "b"]}
assert world.allreduce(rank) == sum(range(size))
assert world.gather(rank * "x", root=2) == (["", "x", "xx", "xxx"] if rank == 2 else None)
assert world.scatter([n**2 for n in range(size)] if rank == 0 else None) == rank**2
assert world.alltoall([(rank, other) for other in range(size)]) == [(other, rank) for other in range(size)]
assert world.scan(rank) == sum(range(rank + 1))
half = world.Split(rank % 2, -rank)
assert half.allgather(rank) == sorted(range(rank % 2, size, 2), reverse=True)
assert half.Dup().size == size // 2
vector = numpy.arange(6.0) + rank
total = numpy.empty(6)
request = world.Iallreduce(vector, total, op=MPI.MAX)
column = MPI.DOUBLE.Create_vector(3, 1, 2).Commit()
grid = numpy.zeros(6)
exchange = [
    world.Irecv([grid, 1, column], source=MPI.ANY_SOURCE, tag=3),
    world.Isend([vector, 1, column], dest=(rank + 1) % size, tag=3),
]
status = [MPI.Status(), MPI.Status()]
MPI.Request.Waitall(exchange, status)
left = (rank - 1) % size
assert status[0].source == left and status[0].Get_count(column) == 1
assert list(grid) == [left, 0, left + 2, 0, left + 4, 0]
request.Wait()
assert list(total) == [n + size - 1 for n in range(6)]
assert world.sendrecv(rank, dest=left, source=(rank + 1) % size) == (rank + 1) % size
""",
    )
    digests = set()
    for options in ([], ["--executor", "conservative", "--threads", "2"]):
        done = mpirun(tmp_path, 4, program, *options)
        assert done.returncode == 0, done.stderr
        digests.add(digest(tmp_path))
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("if world.rank == 1:\n    raise ValueError('no')\nworld.Barrier()", 2, "rank"),
        (
            "if world.rank == 1:\n    world.Abort(7)\nworld.Barrier()",
            7,
            "rank 1: the program called MPI_Abort with 7",
        ),
        ("world.send(1, dest=99)", 1, "invalid rank"),
        ("raise SystemExit(3 if world.rank == 1 else 0)", 3, "rank 1 ended with exit status 3"),
    ],
)
def test_what_goes_wrong_is_named(tmp_path: Path, text: str, status: int, message: str) -> None:
    done = mpirun(tmp_path, 3, script(tmp_path, text))
    assert done.returncode == status, done.stderr
    assert message in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-n", "0"], "ranks: 0 is out of range; expected 1 to 32768"),
        (["-n", "33"], "33 ranks"),
        (["--compute", "some"], "workload.compute: unknown name 'some'"),
        (["--executor", "optimistic"], "read answers and cannot be taken back"),
    ],
)
def test_wrong_options_start_nothing(tmp_path: Path, options: list[str], message: str) -> None:
    network = tmp_path / "network.toml"
    network.write_text(NETWORK)
    command = [sys.executable, "-m", "fabricsim", "mpirun", "--on", str(network)]
    ranks = [] if "-n" in options else ["-n", "2"]
    program = [sys.executable, "-c", "open('started', 'w')"]
    done = subprocess.run(
        [*command, *ranks, *options, *program], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "started").exists()


def test_python_runs_a_real_program_again_and_again(tmp_path: Path) -> None:
    program = script(tmp_path, "assert world.allreduce(1) == 4")
    network = tomllib.loads(NETWORK) if sys.version_info >= (3, 11) else pytest.skip("there is no tomllib")
    command = fabricsim.workload.Command([sys.executable, str(program)], ranks=4, compute="none")
    experiment = {**network, "job": [{"name": "sum", "workload": command.table()}]}
    first, second = fabricsim.run(experiment), fabricsim.run(experiment)
    assert first.summary["digest"] == second.summary["digest"]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_rank_that_computes_without_end_is_ended(tmp_path: Path, sent: signal.Signals) -> None:
    program = script(
        tmp_path,
        """
import os
if world.rank == 1:
    with open("started", "w") as file:
        file.write(str(os.getpid()))
    while True:
        pass
world.Barrier()
""",
    )
    network = tmp_path / "network.toml"
    network.write_text(NETWORK)
    command = [sys.executable, "-m", "fabricsim", "mpirun", "-n", "2", "--on", str(network)]
    run = subprocess.Popen(
        [*command, sys.executable, str(program)], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    started = tmp_path / "started"
    deadline = time.monotonic() + 60
    while not (started.exists() and started.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    rank = int(started.read_text())
    run.send_signal(sent)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 130, errors
    assert "interrupted" in errors
    # Ended and waited for by the simulator.
    with pytest.raises(ProcessLookupError):
        os.kill(rank, 0)
