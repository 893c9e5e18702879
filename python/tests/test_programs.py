"""Programs in Python: wrong ones first, then the translation of each operation, then runs."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fabricsim
from fabricsim import ApplicationError, Experiment, ExperimentError, Job, Network, Program, Run, mpi
from fabricsim.mpi import Operation, Operations, Reactions

EXAMPLES = Path(__file__).parents[2] / "examples"

NETWORK = {
    "topology": {"kind": "torus", "sizes": [4, 4]},
    "routing": {"algorithm": "dimension-order"},
}


def ring(rank: int, ranks: int, rounds: int = 3, block: str = "20 KB") -> Operations:
    """Blocks travel around a ring, eager and rendezvous."""
    for number in range(rounds):
        received = yield mpi.irecv((rank - 1) % ranks, block)
        sent = yield mpi.isend((rank + 1) % ranks, block if number % 2 else 100)
        yield mpi.compute(1e-6 * (rank % 3))
        yield mpi.waitall([received, sent])
        yield mpi.allreduce(8)


def experiment(workload: Any) -> dict[str, Any]:
    return {"network": NETWORK, "job": [{"name": "app", "workload": workload}]}


def given(function: Callable[..., Iterator[Operation]], **how: Any) -> dict[str, Any]:
    """An experiment with this function."""
    return experiment(Program(function, **{"ranks": 4, **how}))


def file(folder: Path, text: str, **how: Any) -> dict[str, Any]:
    """An experiment with a program in a file."""
    path = folder / "app.py"
    path.write_text("from fabricsim.mpi import *\n" + textwrap.dedent(text))
    return experiment({"python": str(path), "ranks": 4, **how})


# Wrong programs.


@pytest.mark.parametrize(
    ("text", "how", "key", "error"),
    [
        ("def program(rank, ranks):\n    yield", {"function": "progam"}, "function", "mean 'program'"),
        ("def program(rank, ranks):\n    pass", {}, "python", r"program returned None; .* yield"),
        ("def program(rank, ranks):\n    return [fence()]", {}, "python", "an object of type list"),
        ("program = 7", {}, "python", "TypeError: 'int' object is not callable"),
        ("def program(rank, ranks)\n    yield", {}, "python", r"SyntaxError: .*\(app.py, line 2\)"),
        ("\n\nimport nothing_of_this_name", {}, "python", "app.py:4: in <module>: ModuleNotFoundError"),
        (
            "def program(rank, ranks, rounds):\n    yield",
            {"arguments": {"round": 3}},
            "python",
            r"program\(\) got an unexpected keyword argument 'round'",
        ),
        (
            "def program(rank, ranks, rounds):\n    yield",
            {"function": "program"},
            "function",
            r"missing 1 required positional argument: 'rounds'",
        ),
        ("def program(rank, ranks):\n    yield", {"ranks": 0}, "ranks", "expected 1 to 16777216"),
        ("def program(rank, ranks):\n    yield", {"ranks": 17}, None, "17 hosts, but only 16"),
        ("def program(rank, ranks):\n    yield", {"rank": 4}, "rank", "unknown key 'rank'"),
        ("def program(rank, ranks):\n    yield", {"arguments": 7}, "arguments", "not a table"),
    ],
)
def test_what_can_be_seen_of_a_file_is_wrong_at_once(
    tmp_path: Path, text: str, how: dict[str, Any], key: str | None, error: str
) -> None:
    with pytest.raises(ExperimentError, match=error) as caught:
        fabricsim.check(file(tmp_path, text, **how))
    assert caught.value.key == (f"job.0.workload.{key}" if key else "job.0.workload")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"nothing.py: cannot be read: No such file") as caught:
        fabricsim.check(experiment({"python": "nothing.py", "ranks": 4}))
    assert caught.value.key == "job.0.workload.python"
    with pytest.raises(ExperimentError, match=r"job.0.workload.ranks: missing"):
        fabricsim.check(experiment({"python": "nothing.py"}))


@pytest.mark.parametrize(
    ("returned", "error"),
    [
        ("[[0, 1]]", "object of type list; expected a dict"),
        ("{'a': [0, 4]}", r"'a' has the member 4; the job has the ranks 0 to 3"),
        ("{'a': [0, -1]}", r"'a' has the member -1"),
        ("{'a': ['x']}", r"'a' has the member 'x'"),
        ("{'a': [1, 2, 1]}", r"'a' has a member twice"),
        ("{'a': []}", r"'a' has no members"),
        ("{'a': 7}", r"not iterable"),
        ("1 / 0", r"app.py:5: in communicators: ZeroDivisionError"),
    ],
)
def test_wrong_communicators_are_refused(tmp_path: Path, returned: str, error: str) -> None:
    text = f"""
    def program(rank, ranks):
        yield barrier()
    def communicators(ranks): return {returned}
    """
    with pytest.raises(ExperimentError, match=error):
        fabricsim.check(file(tmp_path, text))


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise KeyError", "KeyError$"),
        ("yield send(-1, 8)", "ValueError: dest is -1; expected 0 to 4294967295"),
        ("yield send(1, -8)", "ValueError: bytes is -8; expected 0 to 9223372036854775807"),
        ("yield send(1, 1.5)", "TypeError: bytes is 1.5; expected a whole number"),
        ("yield send(1, '8 parsecs')", "unknown unit 'parsecs'"),
        ("yield send('1', 8)", "TypeError: dest is '1'; expected a whole number"),
        ("yield send(1, 8, tag=2**31)", "ValueError: tag is 2147483648; expected 0 to 2147483647"),
        ("yield compute(-1)", "ValueError: time is -1; expected 0 to 8640000 seconds"),
        ("yield compute(float('nan'))", "ValueError: time is nan"),
        ("yield compute('101 s' * 2)", "ValueError"),
        ("yield compute('9000000 s')", "expected 0 to 8640000 seconds"),
        ("yield compute(None)", "TypeError: time is None; expected seconds"),
        ("yield waitall([send(1, 8)])", "TypeError: found the Operation MPI_Send.*expected a request"),
        ("yield wait(None)", "TypeError: found None; expected a request"),
        ("yield waitall(7)", "not iterable"),
        ("yield alltoallv([1, 'x'], [1, 2])", "does not start with a number"),
        ("yield", "yields None; expected an operation"),
        ("yield 3", "yields the int 3; expected an operation"),
        ("yield send", "yields an object of type function; expected an operation"),
        ("yield send(4, 8)", "MPI_Send: dest is 4; the job has the ranks 0 to 3"),
        ("yield recv(9, 8)", "MPI_Recv: source is 9"),
        ("yield sendrecv(0, 8, 4)", "MPI_Sendrecv: source is 4"),
        ("yield bcast(8, root=4)", "MPI_Bcast: root is 4"),
        ("yield put(4, 8)", "MPI_Put: dest is 4"),
        (
            "yield send(1, 8, communicator='low')",
            "MPI_Send: dest is 1; communicator 'low' has .* 0 to 0",
        ),
        (
            "yield barrier(communicator='lwo')",
            r"there is no communicator 'lwo'; there are \['low', 'high'\]",
        ),
        ("yield barrier(communicator='high')", "MPI_Barrier: this rank is not a member of communicator"),
        ("yield barrier(communicator=[])", "unhashable type"),
        ("yield allgatherv([1, 2, 3])", "MPI_Allgatherv: counts has 3 entries for 4 ranks"),
        ("yield alltoallv([1, 2, 3, 4], [])", "MPI_Alltoallv: receives has 0 entries for 4 ranks"),
        ("yield allgatherv([2**62] * 4)", "more than 2.64 bytes"),
        ("yield reduce_scatter_block(2**62)", "more than 2.64 bytes"),
        ("yield wait(isend(1, 8))", r"MPI_Wait: MPI_Isend\(dest=1, bytes=8, tag=0\) is not active"),
        ("r = yield isend(2, 8); yield wait(r); yield wait(r)", "is not active"),
        ("r = isend(2, 8); yield r; yield r", "MPI_Isend: this request is already active"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str, error: str) -> None:
    text = f"""
    def inner():
        {line}
        yield fence()

    def program(rank, ranks):
        if rank == 0:
            yield from inner()

    def communicators(ranks):
        return {{"low": [0], "high": [1, 2, 3]}}
    """
    asked = file(tmp_path, text)
    pattern = rf"job 'app': .*app.py: rank 0: app.py:4: (in inner: )?.*{error}"
    for executor, threads in [("sequential", 1), ("conservative", 2), ("optimistic", 2)]:
        with pytest.raises(ApplicationError, match=pattern):
            fabricsim.run(asked, executor=executor, threads=threads)
    path = asked["job"][0]["workload"]["python"]
    with pytest.raises(ApplicationError, match=rf"app.py:4: .*{error}") as caught:
        Program.from_file(path, ranks=4).operations(0)
    if "in inner" in str(caught.value):
        assert caught.value.__cause__ is not None
    assert Program.from_file(path, ranks=4).operations(1) == []


def test_what_came_before_an_error_is_done(tmp_path: Path) -> None:
    def late(rank: int, ranks: int) -> Operations:
        yield mpi.compute("1 us")
        if rank == 2:
            yield mpi.compute("1 us")
            raise RuntimeError("late")
        yield mpi.recv(2, 8)

    with pytest.raises(ApplicationError, match="rank 2: test_programs.py:.*: in late: RuntimeError: late"):
        fabricsim.run(given(late))
    # The error appears at its simulated time, not when the program runs ahead.
    fabricsim.run(given(late), set={"run.until": "1500 ns"})


def test_ranks_that_wait_for_each_other_are_named() -> None:
    def deadlock(rank: int, ranks: int) -> Operations:
        yield mpi.recv((rank + 1) % ranks, 8, tag=rank)

    with pytest.raises(ApplicationError, match="rank 0.*MPI_Recv|MPI_Recv.*rank 0"):
        fabricsim.run(given(deadlock))


def test_no_such_rank_to_look_at() -> None:
    with pytest.raises(ValueError, match="no rank 4; the program has the ranks 0 to 3"):
        Program(ring, ranks=4).operations(4)
    with pytest.raises(TypeError, match="unexpected keyword argument 'laps'"):
        Program(ring, ranks=4, arguments={"laps": 2}).operations(0)


def test_arguments_must_have_a_form_in_toml() -> None:
    with pytest.raises(ExperimentError, match="cannot be written as TOML"):
        fabricsim.check(given(ring, arguments={"rounds": object()}))


# Translation of operations.


def seen(*operations: Operation, **how: Any) -> list[dict[str, Any]]:
    """The operations of rank 1 of 4, without None."""

    def program(rank: int, ranks: int) -> Operations:
        yield from operations

    records = Program(program, **{"ranks": 4, **how}).operations(1)
    return [{key: value for key, value in record.items() if value is not None} for record in records]


def message(operation: str, call: str, communicator: int = 0, **rest: Any) -> dict[str, Any]:
    return {"operation": operation, "call": call, "communicator": communicator, **rest}


def test_times_and_sizes_have_units() -> None:
    assert seen(mpi.compute("10 us"), mpi.compute(2.5e-6), mpi.compute(0), mpi.compute(1)) == [
        {"operation": "compute", "ps": ps} for ps in (10_000_000, 2_500_000, 0, 10**12)
    ]
    sizes = [record["bytes"] for record in seen(mpi.send(0, "64 KiB"), mpi.send(0, "1.5 KB"), mpi.send(0, 7))]
    assert sizes == [65536, 1500, 7]


def test_computations_are_told_apart_by_regions(tmp_path: Path) -> None:
    solve, other = seen(mpi.compute(0, region="solve"), mpi.compute("1 us"), regions=["assemble", "solve"])
    assert (solve["region"], "region" in other) == (1, False)
    with pytest.raises(ApplicationError, match=r'there is no region "sovle"; there are \["solve"\]'):
        seen(mpi.compute(0, region="sovle"), regions=["solve"])
    text = """
    regions = {}
    def program(rank, ranks):
        yield compute("1 us", region="solve")
    """
    fabricsim.run(file(tmp_path, text.format('["solve"]')))
    assert Program.from_file(tmp_path / "app.py", ranks=1).operations(0)[0].region == 0
    with pytest.raises(ExperimentError, match="app.py: regions is no list of names"):
        fabricsim.check(file(tmp_path, text.format('"solve"')))


@pytest.mark.parametrize("name", ["send", "ssend", "bsend", "rsend", "isend", "issend", "ibsend", "irsend"])
def test_sends(name: str) -> None:
    operation = getattr(mpi, name)(2, 8, tag=5)
    expected = message("send", f"MPI_{name.capitalize()}", to=2, bytes=8, tag=5)
    begins = name.startswith("i")
    assert isinstance(operation, mpi.Request) == begins
    assert repr(operation) == f"MPI_{name.capitalize()}(dest=2, bytes=8, tag=5)"
    if begins:
        expected["request"] = 0
    assert seen(operation) == [expected]


def test_receives_and_probes() -> None:
    assert seen(
        mpi.recv(0, 8, tag=3), mpi.recv(None, 9), mpi.irecv(2, "1 KiB"), mpi.probe(), mpi.probe(3, tag=0)
    ) == [
        message("receive", "MPI_Recv", **{"from": 0}, bytes=8, tag=3),
        message("receive", "MPI_Recv", bytes=9),
        message("receive", "MPI_Irecv", **{"from": 2}, bytes=1024, request=0),
        message("probe", "MPI_Probe"),
        message("probe", "MPI_Probe", **{"from": 3}, tag=0),
    ]
    assert seen(mpi.sendrecv(2, 8, 0, tag=4)) == [
        message("receive", "MPI_Sendrecv", **{"from": 0}, bytes=8, request=1),
        message("send", "MPI_Sendrecv", to=2, bytes=8, tag=4, request=0),
        {"operation": "wait", "call": "MPI_Sendrecv", "requests": [0, 1]},
    ]


def test_requests_are_numbered_and_may_be_used_again() -> None:
    def program(rank: int, ranks: int) -> Operations:
        a = mpi.irecv(0, 8)
        for _ in range(2):
            assert (yield a) is a
            b = yield mpi.isend(0, 8)
            yield mpi.waitall(r for r in (b, a))
        c = yield mpi.ibarrier()
        yield mpi.wait(c)
        yield mpi.waitall([])

    records = Program(program, ranks=2).operations(1)
    assert [r.request for r in records if "request" in r] == [0, 1, 2, 3, 4]
    waits = [(r.call, r.requests) for r in records if r.operation == "wait"]
    assert waits == [
        ("MPI_Waitall", [1, 0]),
        ("MPI_Waitall", [3, 2]),
        ("MPI_Wait", [4]),
        ("MPI_Waitall", []),
    ]


PARTS = [10, 20, 30, 44]
# Name, arguments, then of rank 1 of 4 with root 1: collective, bytes, sends, receives.
COLLECTIVES: list[tuple[str, tuple[Any, ...], str, int, list[int] | None, list[int] | None]] = [
    ("barrier", (), "barrier", 0, None, None),
    ("bcast", (8, 1), "bcast", 8, None, None),
    ("reduce", (8, 1), "reduce", 8, None, None),
    ("allreduce", (8,), "allreduce", 8, None, None),
    ("allgather", (8,), "allgather", 8, None, None),
    ("allgatherv", (PARTS,), "allgather", 26, [20], PARTS),
    ("alltoall", (8,), "alltoall", 8, None, None),
    ("alltoallv", ([1, 2, 3, 4], PARTS), "alltoall", 3, [1, 2, 3, 4], PARTS),
    ("gather", (8, 1), "gather", 8, None, None),
    ("gatherv", (PARTS, 1), "gather", 26, [20], PARTS),
    ("scatter", (8, 1), "scatter", 8, None, None),
    ("scatterv", (PARTS, 1), "scatter", 26, PARTS, [20]),
    ("reduce_scatter", (PARTS,), "reduce-scatter", 104, [], PARTS),
    ("reduce_scatter_block", (8,), "reduce-scatter", 32, None, None),
    ("scan", (8,), "scan", 8, None, None),
    ("exscan", (8,), "exscan", 8, None, None),
]


@pytest.mark.parametrize(("name", "arguments", "collective", "size", "sends", "receives"), COLLECTIVES)
def test_collectives(
    name: str,
    arguments: tuple[Any, ...],
    collective: str,
    size: int,
    sends: list[int] | None,
    receives: list[int] | None,
) -> None:
    root = 1 if arguments[1:] == (1,) else 0
    expected = message("collective", f"MPI_{name.capitalize()}", collective=collective, bytes=size, root=root)
    if receives is not None:
        expected["counts"] = {"sends": sends, "receives": receives, "in_place_bytes": None}
    assert seen(getattr(mpi, name)(*arguments)) == [expected]
    begun = getattr(mpi, f"i{name}")(*arguments)
    assert isinstance(begun, mpi.Request)
    assert seen(begun) == [{**expected, "call": f"MPI_I{name}", "request": 0}]


def test_parts_away_from_the_root() -> None:
    gather, scatter = seen(mpi.gatherv(PARTS, 2), mpi.scatterv(PARTS))
    known = {"in_place_bytes": None}
    assert (gather["counts"], gather["root"]) == ({"sends": [20], "receives": [], **known}, 2)
    assert (scatter["counts"], scatter["root"]) == ({"sends": [], "receives": [20], **known}, 0)


def test_one_sided() -> None:
    assert seen(mpi.fence(), mpi.put(2, 8), mpi.get(3, "1 KiB"), mpi.fence()) == [
        message("fence", "MPI_Win_fence"),
        message("put", "MPI_Put", to=2, bytes=8),
        message("get", "MPI_Get", **{"from": 3}, bytes=1024),
        message("fence", "MPI_Win_fence"),
    ]


def test_all_functions_are_tried_here() -> None:
    """The calls of the tests above; a new call needs a test."""
    tried = {"compute", "wait", "waitall", "recv", "irecv", "probe", "sendrecv", "put", "get", "fence"}
    tried |= {"send", "ssend", "bsend", "rsend", "isend", "issend", "ibsend", "irsend"}
    tried |= {"mprobe", "improbe", "mrecv", "imrecv", "cancel", "new_communicator"}
    tried |= {"iprobe", "waitany", "waitsome", "test", "testall", "testany", "testsome"}
    tried |= {name for name, *_ in COLLECTIVES} | {f"i{name}" for name, *_ in COLLECTIVES}
    assert {name for name in mpi.__all__ if name[0].islower()} == tried


def test_communicators_count_their_own_ranks() -> None:
    def communicators(ranks: int) -> dict[Any, list[int]]:
        return {"odd": [3, 1], ("row", 0): [0, 1]}

    odd, row = seen(
        mpi.scatterv([1, 2], communicator="odd"),
        mpi.send(0, 8, communicator=("row", 0)),
        communicators=communicators,
    )
    assert (odd["communicator"], odd["counts"]["receives"]) == (1, [2]), "rank 1 is the last of them"
    assert (row["communicator"], row["to"]) == (2, 0)


# Runs.


def digests(asked: Any, changes: dict[str, Any] | None = None) -> set[str]:
    return {
        fabricsim.run(asked, set=changes, executor=executor, threads=threads).digest
        for executor, threads in [
            ("sequential", 1),
            ("conservative", 2),
            ("optimistic", 2),
        ]
    }


def test_all_executors_agree() -> None:
    asked = given(ring, ranks=13, arguments={"rounds": 2, "block": "9 KB"})
    assert digests(asked) == {fabricsim.run(asked, executor="reverse-check").digest}


SIZES = (0, "100 B", "18 KB")
PAIRWISE = ("send", "ssend", "bsend", "rsend")
ROOTED = ("bcast", "reduce", "gather", "scatter")
EVEN = ("allreduce", "allgather", "alltoall", "scan", "exscan", "reduce_scatter_block")
IN_PARTS = ("allgatherv", "alltoallv", "gatherv", "scatterv", "reduce_scatter")


def everything(rank: int, ranks: int) -> Operations:
    """All ways to send, all collectives, blocking and nonblocking, and all one-sided calls."""
    for size in SIZES:
        yield from between_two(rank, ranks, size)
        yield mpi.compute("3 us")
        yield from one_sided(rank, ranks, size)
        for where in (None, ("low", "high")[rank >= ranks // 2]):
            yield from collectives(rank, ranks, size, where)


def between_two(rank: int, ranks: int, size: mpi.Size) -> Operations:
    up, down = (rank + 1) % ranks, (rank - 1) % ranks
    for name in PAIRWISE:
        received = yield mpi.irecv(None, size, tag=1)
        sent = yield getattr(mpi, f"i{name}")(up, size, tag=1)
        yield mpi.wait(sent)
        yield mpi.wait(received)
        yield mpi.barrier()
    for name in PAIRWISE:
        both = (getattr(mpi, name)(up, size), mpi.recv(down, size))
        yield from both if rank else both[::-1]
    yield mpi.sendrecv(up, size, down)
    sent = yield mpi.isend(up, size, tag=2)
    yield mpi.probe(down, tag=2)
    yield mpi.recv(down, size, tag=2)
    yield mpi.wait(sent)


def one_sided(rank: int, ranks: int, size: mpi.Size) -> Operations:
    yield mpi.fence()
    yield mpi.put((rank + 2) % ranks, size)
    yield mpi.get((rank - 1) % ranks, size)
    yield mpi.put(rank, 8)
    yield mpi.fence()


def collectives(rank: int, ranks: int, size: mpi.Size, where: str | None) -> Operations:
    members = ranks if where is None else ranks // 2
    own = rank % members
    parts = [size if member % 2 else 40 * member for member in range(members)]
    pairs = [40 * (own + member) for member in range(members)]
    arguments: dict[str, tuple[Any, ...]] = {
        "barrier": (),
        **dict.fromkeys(ROOTED, (size, 1)),
        **dict.fromkeys(EVEN, (size,)),
        "allgatherv": (parts,),
        "alltoallv": (pairs, pairs),
        "gatherv": (parts, 1),
        "scatterv": (parts, 1),
        "reduce_scatter": (parts,),
    }
    for name, given in arguments.items():
        yield getattr(mpi, name)(*given, communicator=where)
    begun = []
    for name, given in arguments.items():
        begun.append((yield getattr(mpi, f"i{name}")(*given, communicator=where)))
    yield mpi.compute("1 us")
    yield mpi.wait(begun.pop())
    yield mpi.waitall(begun)


def halves(ranks: int) -> dict[str, range]:
    return {"low": range(ranks // 2), "high": range(ranks // 2, ranks)}


def test_all_that_the_mpi_layer_carries_out_runs_to_the_end() -> None:
    asked = given(everything, ranks=6, communicators=halves)
    assert len(digests(asked)) == 1
    result = fabricsim.run(asked)
    calls = {row["call"]: row["count"] for row in result.calls.to_pylist() if row["rank"] == 0}
    expected = dict.fromkeys(("Probe", "Sendrecv", "Get"), 3)
    expected |= {"Put": 6, "Win_fence": 6, "Recv": 15, "Irecv": 12, "Wait": 33, "Waitall": 6, "Isend": 6}
    expected |= {name.capitalize(): 3 for name in PAIRWISE} | {f"I{name}": 3 for name in PAIRWISE[1:]}
    for name in (*ROOTED, *EVEN, *IN_PARTS):
        expected |= {name.capitalize(): 6, f"I{name}": 6}
    expected |= {"Barrier": 12 + 6, "Ibarrier": 6}
    assert calls == {f"MPI_{name}": count for name, count in expected.items()}
    assert all(rank["finished"] for rank in result.ranks.to_pylist())
    assert result.summary.jobs[0].kind == "program"


def test_rules_on_computations_reach_the_regions_of_programs(tmp_path: Path) -> None:
    def phases(rank: int, ranks: int) -> Operations:
        yield mpi.compute("1 us", region="assemble")
        yield mpi.compute("2 us", region="solve")
        yield mpi.compute("4 us", region="solve")
        yield mpi.compute("8 us")

    def computed(asked: dict[str, Any], rules: Any) -> float:
        changed = {**asked, "job": [{**asked["job"][0], "compute": rules}]}
        found: float = fabricsim.run(changed).summary.jobs[0].compute_ns
        return found

    regions = ["assemble", "solve"]
    asked = given(phases, regions=regions)
    assert computed(asked, {}) == 15_000
    assert computed(asked, {"regions": {"solve": 0.5}}) == 12_000
    assert computed(asked, {"regions": {"solve": "100 ns"}}) == 9_200
    assert computed(asked, {"scale": 2, "regions": {"assemble": 0}}) == 28_000
    assert computed(asked, "off") == 0
    with pytest.raises(ExperimentError, match="unknown name 'sovle'; did you mean 'solve'") as caught:
        computed(asked, {"regions": {"sovle": 0.5}})
    assert caught.value.key == "job.0.compute.regions.sovle"
    with pytest.raises(ExperimentError, match="distinguishes no regions of its code"):
        computed(given(ring), {"regions": {"solve": 0.5}})
    text = """
    regions = ["assemble", "solve"]
    def program(rank, ranks):
        yield compute("1 us", region="assemble")
        yield compute("2 us", region="solve")
    """
    assert computed(file(tmp_path, text), {"regions": {"solve": 3}}) == 7_000
    # Repetitions keep the regions of the workload.
    twice = file(tmp_path, text)
    twice["job"][0]["repetitions"] = 2
    assert computed(twice, {"regions": {"solve": 3}}) == 14_000


def test_file_function_and_typed_experiment_agree(tmp_path: Path) -> None:
    arguments = {"rounds": 2, "block": "2 KB"}
    (tmp_path / "laps.py").write_text("LAPS = 2\n")
    (tmp_path / "ring.py").write_text(
        textwrap.dedent("""
        import laps
        from dataclasses import dataclass
        from fabricsim import mpi

        @dataclass
        class Block:
            size: str

        def around(rank, ranks, rounds, block):
            size = Block(block).size
            for number in range(min(rounds, laps.LAPS)):
                r = mpi.irecv((rank - 1) % ranks, size)
                yield r
                s = mpi.isend((rank + 1) % ranks, size if number % 2 else 100)
                yield s
                yield mpi.compute(1e-6 * (rank % 3))
                yield mpi.waitall([r, s])
                yield mpi.allreduce(8)
        """)
    )
    typed = Experiment(
        network=Network(**NETWORK),
        jobs=[Job(name="app", workload=Program(ring, ranks=8, arguments=arguments))],
        run=Run(executor="sequential"),
    )
    toml = tmp_path / "ring.toml"
    table = {"python": "ring.py", "function": "around", "ranks": 8, "arguments": arguments}
    toml.write_text(fabricsim.experiment.dumps(experiment(table)))
    of_file = fabricsim.run(toml)
    assert of_file.summary.experiment.job[0].workload == table
    assert fabricsim.run(typed).digest == of_file.digest
    changed = {"job.0.workload.arguments.rounds": 1}
    assert fabricsim.run(typed, set=changed).digest == fabricsim.run(toml, set=changed).digest
    assert fabricsim.run(typed, set=changed).digest != of_file.digest
    # A typed experiment with a function of a file is a complete experiment file.
    asked = fabricsim.run(typed).summary.experiment.job[0].workload
    assert asked == {"python": __file__, "function": "ring", "ranks": 8, "arguments": arguments}
    toml.write_text(typed.to_toml())
    assert fabricsim.run(toml).digest == of_file.digest


def test_functions_that_no_file_has_run() -> None:
    namespace: dict[str, Any] = {}
    exec("from fabricsim.mpi import *\ndef f(rank, ranks):\n    yield barrier()", namespace)
    result = fabricsim.run(given(namespace["f"]))
    assert result.summary.experiment.job[0].workload.python == "<string>"


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "fabricsim", *arguments]
    return subprocess.run(line, capture_output=True, text=True, timeout=120, cwd=folder)


def test_the_example_runs_from_the_command_line(tmp_path: Path) -> None:
    path = EXAMPLES / "python-ring.toml"
    if not path.is_file():
        pytest.skip("the examples are not here")
    checked = command(tmp_path, "check", str(path))
    assert checked.returncode == 0, checked.stderr
    assert "ring: 32 ranks" in checked.stdout
    done = command(tmp_path, "run", str(path), "--out", "out", "--set", "job.0.workload.arguments.rounds=4")
    assert done.returncode == 0, done.stderr
    found = fabricsim.load(tmp_path / "out")
    assert digests(path, {"job.0.workload.arguments.rounds": 4}) == {found.digest}
    assert found.summary.jobs[0].ranks == 32


# Programs that read answers.


def farm(rank: int, ranks: int, notes: list[Any]) -> Reactions:
    """Rank 0 gives tasks to whoever is free; a task takes longer on higher ranks."""
    if rank > 0:
        while (yield mpi.recv(0, 8)).completed[0].tag == 1:
            yield mpi.compute(1e-6 * rank)
            yield mpi.send(0, "9 KB")
        return
    pending, tasks = [], 30
    for worker in range(1, ranks):
        pending.append((yield mpi.irecv(worker, "9 KB")))
        yield mpi.send(worker, 8, tag=1)
    while pending:
        answer = yield mpi.waitany(pending)
        (done,) = answer.completed
        notes.append((answer.now, done.source, done.bytes))
        pending.remove(done.request)
        more = len(notes) + len(pending) < tasks
        yield mpi.send(done.source, 8, tag=int(more))
        if more:
            pending.append((yield mpi.irecv(done.source, "9 KB")))


def test_who_is_faster_gets_more_tasks() -> None:
    found = []
    for executor, threads in [("sequential", 1), ("conservative", 1), ("conservative", 2), ("auto", 2)]:
        notes: list[Any] = []
        asked = given(lambda rank, ranks, to=notes: farm(rank, ranks, to), ranks=5, reacts=True)
        found.append((fabricsim.run(asked, executor=executor, threads=threads).digest, notes))
    assert all(other == found[0] for other in found)
    _, notes = found[0]
    done = [sum(source == worker for _, source, _ in notes) for worker in range(1, 5)]
    assert sum(done) == 30 and done == sorted(done, reverse=True) and done[0] > done[3] > 0
    assert [now for now, *_ in notes] == sorted(now for now, *_ in notes)
    assert {size for *_, size in notes} == {9000}


def polling(rank: int, ranks: int, seen: list[Any]) -> Reactions:
    if rank == 1:
        yield mpi.compute("10 us")
        for tag in range(4):
            yield mpi.send(0, 500, tag=tag)
    elif rank == 0:
        requests = []
        for tag in range(3):
            requests.append((yield mpi.irecv(1, "1 KB", tag=tag)))
        while not (answer := (yield mpi.test(requests[0]))).flag:
            pass
        seen.append([one.request is requests[0] for one in answer.completed])
        while not (answer := (yield mpi.testany(requests[1:]))).flag:
            pass
        seen.append([(one.source, one.tag, one.bytes) for one in answer.completed])
        some = (yield mpi.waitsome(requests[2:])).completed
        some += (yield mpi.testsome([])).completed
        seen.append([one.request is requests[2] for one in some])
        while not (answer := (yield mpi.iprobe())).flag:
            pass
        seen.append([(one.request, one.tag, one.bytes) for one in answer.completed])
        seen.append((yield mpi.recv(None, 500)).completed[0].tag)
        seen.append((yield mpi.testall([])).flag)
        seen.append((yield mpi.compute("1 us")).now)


def test_loops_of_tests_end() -> None:
    seen: list[Any] = []
    asked = given(lambda rank, ranks: polling(rank, ranks, seen), ranks=2, reacts=True)
    times = [
        fabricsim.run(asked, set={"mpi.poll_overhead": over}).summary.jobs[0].time_ns
        for over in ("50 ns", "3 us")
    ]
    assert seen[: len(seen) // 2][:-1] == [[True], [(1, 1, 500)], [True], [(None, 3, 500)], 3, True]
    assert 11e-6 < seen[6] < seen[-1] and times[0] < times[1]


def test_programs_with_answers_repeat_and_are_not_taken_back(tmp_path: Path) -> None:
    text = """
    def program(rank, ranks):
        request = yield isend((rank + 1) % ranks, 100)
        wanted = yield irecv((rank - 1) % ranks, 100)
        while not (yield testall([request, wanted])).flag:
            pass
    """
    asked = file(tmp_path, text, reacts=True)
    asked["job"][0]["repetitions"] = 3
    assert len({fabricsim.run(asked, threads=threads).digest for threads in (1, 2)}) == 1
    for executor in ("optimistic", "reverse-check"):
        with pytest.raises(
            ExperimentError, match="run.executor: it undoes events, and the programs of job 'app'"
        ):
            fabricsim.run(asked, executor=executor)
    (tmp_path / "x.toml").write_text(fabricsim.experiment.dumps(asked))
    refused = command(tmp_path, "run", "x.toml", "--out", "out", "--checkpoint-every-simulated", "10 us")
    assert refused.returncode == 2 and "its programs read answers" in refused.stderr
    assert command(tmp_path, "check", "x.toml").returncode == 0
    del asked["job"][0]["workload"]["reacts"]
    with pytest.raises(ApplicationError, match="MPI_Testall: the simulation decides what it completes"):
        fabricsim.run(asked)
    asked["mpi"] = {"poll_overhead": "0 ps"}
    with pytest.raises(ExperimentError, match="mpi.poll_overhead: a loop of tests would never end"):
        fabricsim.run(asked)


def test_a_message_that_a_probe_took_is_received_by_its_handle() -> None:
    seen: list[Any] = []

    def program(rank: int, ranks: int) -> Reactions:
        if rank == 1:
            for tag, bytes in ((5, 800), (5, 60)):
                yield mpi.send(0, bytes, tag=tag)
            yield mpi.recv(0, 1)
            yield mpi.send(0, 7, tag=6)
            return
        first = (yield mpi.mprobe(1, tag=5)).completed[0]
        second = (yield mpi.recv(None, "1 KB")).completed[0]
        request = yield mpi.imrecv(first.message, "1 KB")
        (third,) = (yield mpi.wait(request)).completed
        seen.append([first.bytes, second.message, second.bytes, third.bytes, third.request is request])
        nothing = yield mpi.improbe()
        never = yield mpi.irecv(1, 10, tag=9)
        cancelled = yield mpi.cancel(never)
        (ended,) = (yield mpi.wait(never)).completed
        seen.append([nothing.flag, nothing.completed, cancelled.flag, ended.source])
        yield mpi.send(1, 1)
        while not (answer := (yield mpi.improbe())).flag:
            pass
        (received,) = (yield mpi.mrecv(answer.completed[0].message, 7)).completed
        seen.append([received.tag, received.bytes])

    asked = given(program, ranks=2, reacts=True)
    assert len({fabricsim.run(asked, threads=threads).digest for threads in (1, 2)}) == 1
    assert seen[:3] == [[800, None, 60, 800, True], [False, [], True, None], [6, 7]] == seen[3:]
    assert repr(mpi.improbe(3, tag=1)) == "MPI_Improbe(source=3, tag=1)"


def test_ranks_make_communicators_while_they_run() -> None:
    """Those whose task took less time than the mean go on together; who they are is decided by answers."""
    seen: list[Any] = []

    def program(rank: int, ranks: int) -> Reactions:
        yield mpi.compute(f"{1 + rank % 3} us")
        if rank > 0:
            yield mpi.send(0, 8)
            members = []
            for member in range(ranks):
                if (yield mpi.recv(0, 8)).completed[0].tag:
                    members.append(member)
        else:
            order = []
            for _ in range(1, ranks):
                order.append((yield mpi.recv(None, 8)).completed[0].source)
            members = sorted(order[: ranks // 2])
            for other in range(1, ranks):
                for member in range(ranks):
                    yield mpi.send(other, 8, tag=int(member in members))
        if rank in members:
            fast = ("fast", len(members))
            yield mpi.new_communicator(fast, members)
            yield mpi.allreduce("1 KiB", communicator=fast)
            place = members.index(rank)
            if place == 0:
                yield mpi.send(len(members) - 1, 24, communicator=fast)
            elif place == len(members) - 1:
                got = (yield mpi.recv(None, 24, communicator=fast)).completed[0]
                seen.append((members, got.source, got.bytes))

    asked = given(program, ranks=9, reacts=True)
    asked["job"][0]["repetitions"] = 2
    assert len({fabricsim.run(asked, threads=threads).digest for threads in (1, 2)}) == 1
    # The second repetition begins before all have ended the first, with other members.
    assert seen == [([1, 3, 4, 6], 0, 24), ([2, 3, 4, 5], 0, 24)] * 2


@pytest.mark.parametrize(
    ("operations", "error"),
    [
        (
            'new_communicator("a", [1, 2])',
            r"app.py:5: MPI_Comm_create: this rank is not among the members \[1, 2\]",
        ),
        (
            'new_communicator("all", [0, 1])',
            "name of the new communicator is the str 'all', which the program has",
        ),
        ("new_communicator([], [0, 1])", "MPI_Comm_create: communicator: .*unhashable"),
        ('new_communicator("a", [0, 9])', "rank 0: MPI_Comm_create: communicator 2 has the member 9"),
        (
            'new_communicator("a", [rank, 1 - rank]); yield barrier(communicator="a")',
            "MPI_Barrier for a message from rank 1, round 0, communicator 2",
        ),
        ('barrier(communicator="a")', "MPI_Barrier: there is no communicator 'a'"),
        ("mrecv(None, 8)", "'None' is not an instance of 'Message'"),
        ("cancel(irecv(0, 8))", "MPI_Cancel: MPI_Irecv.* is not active"),
        (
            "send(1 - rank, 8); it = (yield mprobe()).completed[0].message\n"
            "        yield mrecv(it, 8); yield mrecv(it, 8)",
            "MPI_Mrecv: this message was received before",
        ),
    ],
)
def test_wrong_answers_are_errors(tmp_path: Path, operations: str, error: str) -> None:
    text = f"""
    communicators = lambda ranks: {{"all": range(ranks)}}
    def program(rank, ranks):
        yield {operations}
    """
    with pytest.raises(ApplicationError, match=error):
        fabricsim.run(file(tmp_path, text, reacts=True, ranks=2))


def test_ranks_with_answers_that_disagree_are_named(tmp_path: Path) -> None:
    for second, error in [
        ("yield barrier()", "rank 1 has ended without the call|ranks 0 and 1 differ"),
        ("yield allreduce(16)", "ranks 0 and 1 differ in the collective, the root or the size"),
    ]:
        text = f"""
        def program(rank, ranks):
            if rank == 0:
                yield allreduce(8)
            else:
                {second}
        """
        with pytest.raises(ApplicationError, match=error):
            fabricsim.run(file(tmp_path, text, reacts=True, ranks=2))


def test_a_run_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    text = """
    from pathlib import Path

    def program(rank, ranks):
        for number in range(40):
            yield sendrecv((rank + 1) % ranks, "1 KiB", (rank - 1) % ranks)
            yield compute("1 us")
            if number == 35 and Path(__file__).with_name("stop").exists():
                raise RuntimeError("broken off")
    """
    asked = file(tmp_path, text)
    (tmp_path / "x.toml").write_text(fabricsim.experiment.dumps(asked))
    (tmp_path / "stop").touch()
    every = ["--checkpoint-every-simulated", "10 us"]
    broken = command(tmp_path, "run", "x.toml", "--out", "out", *every)
    assert broken.returncode == 2
    assert "RuntimeError: broken off" in broken.stderr
    (tmp_path / "stop").unlink()
    resumed = command(tmp_path, "resume", "out")
    assert resumed.returncode == 0, resumed.stderr
    assert "continues from" in resumed.stdout
    result = fabricsim.load(tmp_path / "out")
    assert result.summary.run.resumed_at_ns > 0
    assert result.digest == fabricsim.run(asked).digest


def test_the_command_line_tells_of_wrong_programs(tmp_path: Path) -> None:
    asked = file(tmp_path, "def program(rank, ranks):\n    yield recv(rank, -1)")
    (tmp_path / "x.toml").write_text(fabricsim.experiment.dumps(asked))
    wrong = command(tmp_path, "run", "x.toml")
    assert wrong.returncode == 2
    assert "rank 0: app.py:3: in program: ValueError: bytes is -1" in wrong.stderr


def test_a_run_of_a_program_can_be_stopped() -> None:
    def endless(rank: int, ranks: int) -> Operations:
        while True:
            yield mpi.sendrecv(rank ^ 1, "1 MB", rank ^ 1)

    calls = 0

    def progress(now_ns: float, end_ns: float | None) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise TimeoutError

    for executor, threads in [("sequential", 1), ("conservative", 2), ("optimistic", 2)]:
        calls = 0
        with pytest.raises(TimeoutError):
            fabricsim.run(given(endless), executor=executor, threads=threads, progress=progress)


def test_long_programs_are_not_held_in_memory() -> None:
    made = 0

    def endless(rank: int, ranks: int) -> Operations:
        nonlocal made
        while True:
            made += 1
            yield mpi.compute("1 us")

    fabricsim.run(given(endless), set={"run.until": "100 us"})
    assert 400 <= made <= 4 * 200
    assert len(Program(endless, ranks=1).operations(0, limit=10)) == 10
