"""Closes the loop: the simulator runs the benchmark with the preset, between two hosts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fabricsim import mpi
from fabricsim.program import Program
from fabricsim.simulate import run

__all__ = ["Simulated", "experiment", "simulate"]

# Windows of larger messages take long to simulate, and their rate is that of the link.
_LARGEST_IN_WINDOW = 128 * 1024
# Messages of all windows; with more, only each second size is simulated, or fewer.
_MOST_MESSAGES = 1 << 20
_ANSWER = 4


@dataclass(frozen=True)
class Simulated:
    """What the simulator gives for the measured sizes."""

    latency: dict[int, float]
    """Half round-trip times in microseconds."""
    bandwidth: dict[int, float]
    """Rates of a window in 10^9 bytes per second, up to 128 KiB."""


def _ping_pong(rank: int, ranks: int, size: int) -> mpi.Operations:
    """osu_latency and IMB PingPong: one round trip between the first and the last rank."""
    if rank == 0:
        yield mpi.send(ranks - 1, size)
        yield mpi.recv(ranks - 1, size)
    elif rank == ranks - 1:
        yield mpi.recv(0, size)
        yield mpi.send(0, size)


def _window(rank: int, ranks: int, size: int, window: int) -> mpi.Operations:
    """osu_bw: a window of messages, then an answer of 4 B."""
    requests = []
    if rank == 0:
        for _ in range(window):
            requests.append((yield mpi.isend(ranks - 1, size)))
        yield mpi.waitall(requests)
        yield mpi.recv(ranks - 1, _ANSWER)
    elif rank == ranks - 1:
        for _ in range(window):
            requests.append((yield mpi.irecv(0, size)))
        yield mpi.waitall(requests)
        yield mpi.send(0, _ANSWER)


def experiment(
    tables: Mapping[str, Any], sizes: Iterable[int], window_sizes: Iterable[int], window: int, switches: int
) -> dict[str, Any]:
    """An experiment with a pair of hosts for each size, all at once and without contention.

    The network is a mesh with a row of `switches` routers for each pair; with one switch, both hosts are at
    it.
    """
    ranks = 2 if switches == 1 else switches
    jobs: list[dict[str, Any]] = [
        {"name": f"latency-{size}", "workload": Program(_ping_pong, ranks=ranks, arguments={"size": size})}
        for size in sizes
    ]
    jobs += [
        {
            "name": f"window-{size}",
            "workload": Program(_window, ranks=ranks, arguments={"size": size, "window": window}),
        }
        for size in window_sizes
    ]
    rows = max(2, len(jobs))
    shape = {"sizes": [rows], "hosts_per_router": 2} if switches == 1 else {"sizes": [switches, rows]}
    network = {
        "topology": {"kind": "mesh", **shape},
        "routing": {"algorithm": "dimension-order"},
        **tables.get("network", {}),
    }
    return {"network": network, "mpi": tables.get("mpi", {}), "job": jobs, "run": {"executor": "sequential"}}


def simulate(
    tables: Mapping[str, Any], latency: Iterable[int], bandwidth: Iterable[int], window: int, switches: int
) -> Simulated:
    """Runs ping-pongs and windows of these sizes with the keys of a preset."""
    sizes = sorted(latency)
    window_sizes = [size for size in sorted(bandwidth) if 0 < size <= _LARGEST_IN_WINDOW]
    window_sizes = window_sizes[:: -(-len(window_sizes) * window // _MOST_MESSAGES) or 1]
    result = run(experiment(tables, sizes, window_sizes, window, switches))
    times = {job.name: float(job.time_ns) for job in result.summary.jobs}
    return Simulated(
        {size: times[f"latency-{size}"] / 2 * 1e-3 for size in sizes},
        {size: window * size / times[f"window-{size}"] for size in window_sizes},
    )
