"""Simulations that are stepped from outside."""

from __future__ import annotations

import importlib.util
import os
import signal
import threading
from pathlib import Path

import pytest

import fabricsim
from fabricsim import ApplicationError, Delivery, Experiment, ExperimentError, Network, Session
from fabricsim.mpi import Operations, recv

ROOT = Path(__file__).parents[2]
# Two hosts at one router: a message passes two links and a router.
NETWORK = Network(
    topology={"kind": "torus", "sizes": [2, 2], "hosts_per_router": 2},
    routing={"algorithm": "dimension-order"},
    link={"bandwidth": "100 Gbps", "latency": "50 ns"},
    router={"delay": "100 ns"},
    packet="1 KiB",
)


def test_wrong_sessions_are_refused() -> None:
    with pytest.raises(ExperimentError, match="topology"):
        Session({"network": {}})
    with pytest.raises(ExperimentError, match="host 1 is given twice"):
        Session(Experiment(network=NETWORK), hosts=[1, 1])
    with pytest.raises(ExperimentError, match="expected hosts from 0 to 7"):
        Session(Experiment(network=NETWORK), hosts=[8])
    with pytest.raises(TypeError, match="expected a path, a dict or an Experiment"):
        Session(7)  # type: ignore[arg-type]
    with Session(Experiment(network=NETWORK), hosts=[0, 3]) as session:
        assert session.hosts == [0, 3]
        session.advance(10)
        with pytest.raises(ValueError, match="9 ps is past"):
            session.advance(9)
        with pytest.raises(ValueError, match="9 ps is past"):
            session.send(0, 3, 1, at_ps=9)
        with pytest.raises(ValueError, match="host 1 has no part in it"):
            session.send(0, 1, 1, at_ps=10)
        with pytest.raises(ValueError, match="expected at least 1 B"):
            session.send(0, 3, 0, at_ps=10)
        with pytest.raises(OverflowError):
            session.send(0, 3, 1, at_ps=-1)
        assert session.now_ps == 10
    with pytest.raises(ValueError, match="it has ended"):
        session.advance(20)


def test_a_message_takes_what_the_network_makes_of_it(tmp_path: Path) -> None:
    experiment = Experiment(network=NETWORK)
    with Session(experiment) as session:
        # 80 ps per byte, cut through.
        time_ps = 2_000_000 + 1000 * 80 + 200_000
        number = session.send(0, 1, 1000, at_ps=2_000_000)
        assert session.advance(time_ps) == []
        assert session.advance(time_ps + 1) == [Delivery(number, time_ps)]
        later = session.send(1, 0, 1000, at_ps=session.now_ps)
        deliveries, result = session.finish(tmp_path / "result")
    assert deliveries == [Delivery(later, time_ps + 1 + 280_000)]
    assert result.summary.jobs[0].name == "session"
    assert fabricsim.load(tmp_path / "result").summary.digest == result.summary.digest


def test_a_session_of_one_file_gives_the_same_result_twice() -> None:
    def steps(width: int) -> tuple[list[Delivery], str]:
        found: list[Delivery] = []
        with Session(ROOT / "examples/uniform-dragonfly.toml", hosts=range(0, 300, 3)) as session:
            for number in range(20):
                session.send(3 * number, 297 - 3 * number, 20_000, at_ps=number * 50_000)
            for until in range(0, 2_000_000, width):
                found += session.advance(until)
            last, result = session.finish()
        return found + last, result.summary.digest

    fine, coarse = steps(100_000), steps(1_000_000)
    assert len(fine[0]) == 20
    assert fine[0] == coarse[0]


def stuck(rank: int, ranks: int) -> Operations:
    yield recv(1 - rank, 8)


def test_a_job_that_cannot_go_on_ends_the_session() -> None:
    job = fabricsim.Job(name="stuck", workload=fabricsim.Program(stuck, ranks=2))
    with Session(Experiment(network=NETWORK, jobs=[job])) as session:
        assert session.hosts == list(range(2, 8))
        with pytest.raises(ApplicationError, match="stuck"):
            session.finish()


@pytest.mark.parametrize("how", ["advance", "finish"])
def test_ctrl_c_ends_a_session(how: str) -> None:
    traffic = {"pattern": "uniform", "load": 0.5}
    beside = Experiment(network=NETWORK, jobs=[fabricsim.Job(name="noise", traffic=traffic)])
    with Session(beside) as session:
        # Between the ends of its one link a message of 10 TB takes 800 s.
        session.send(0, 1, 10**13, at_ps=0)
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            session.advance(10**18) if how == "advance" else session.finish()
        with pytest.raises(ValueError, match="it has ended"):
            session.advance(10**18)


def test_the_example_gives_all_tasks() -> None:
    spec = importlib.util.spec_from_file_location("session_example", ROOT / "examples/session.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    done = module.tasks_per_worker(workers=10, tasks=100)
    assert sum(done.values()) == 100
    # Workers whose tasks take longer get fewer.
    assert done[1] > done[5] > done[10] > 0
