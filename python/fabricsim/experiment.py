"""Experiments as typed objects, with the keys of the TOML file.

Every field that is ``None`` is left to the simulator's default, which the result's summary shows. Values
are checked by the simulation core, not here: there is one definition of what is right, and one message
for what is wrong. Quantities are texts with their unit, as in the file: ``"100 Gbps"``, ``"50 ns"``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias

import tomli_w

from fabricsim import _core
from fabricsim._errors import ExperimentError
from fabricsim.program import Program

__all__ = ["Experiment", "ExperimentLike", "Job", "Link", "Network", "Router", "Run", "dumps"]

Table: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Link:
    """Speed of a link.

    Parameters
    ----------
    bandwidth : str
        Data rate, for example ``"100 Gbps"`` or ``"25 GB/s"``.
    latency : str
        Time that a bit takes, for example ``"50 ns"``.
    """

    bandwidth: str | None = None
    latency: str | None = None


@dataclass(frozen=True, kw_only=True)
class Router:
    """The router model.

    Parameters
    ----------
    model : str
        Name of the model; ``fabricsim.list_parts("router-models")`` lists them.
    arbiter : str
        Model ``"input-queued"`` only: how an output chooses among inputs, ``"round-robin"`` or ``"random"``.
    delay : str
        Time from a packet's head at the input to its head at the output, for example ``"100 ns"``.
    buffer : str
        Buffer of an input port, shared out evenly among its virtual channels, for example ``"100 KB"``.
    """

    model: str | None = None
    arbiter: str | None = None
    delay: str | None = None
    buffer: str | None = None


@dataclass(frozen=True, kw_only=True)
class Network:
    """A network.

    Parameters
    ----------
    topology : mapping
        ``{"kind": name, ...}``; ``fabricsim.list_parts("topologies")`` lists names and parameters.
    routing : mapping
        ``{"algorithm": name, ...}``; see ``fabricsim.list_parts("routings")``.
    link : Link
        All links.
    links : mapping of str to Link
        Links of one class, where they differ, for example ``{"global": Link(latency="500 ns")}``.
    router : Router
        All routers.
    packet : str
        Largest packet, for example ``"256 B"``.
    memory : Link
        Messages between ranks of one host.
    rails : int
        NIC ports of each host; what the topology calls hosts are ports.
    planes : int
        Disjoint copies of the topology, among which the rails are shared out evenly.
    rail_arrangement : str
        Where the ports of a host are: ``"adjacent"`` or ``"spread"`` over routers.
    rail_choice : str
        How a rail is chosen: ``"round-robin"``, ``"least-loaded"`` or ``"by-destination"``.
    rail_per : str
        What it is chosen for: each ``"message"`` or each ``"packet"``.
    """

    topology: Table
    routing: Table
    link: Link | Table | None = None
    links: Mapping[str, Link | Table] | None = None
    router: Router | Table | None = None
    packet: str | None = None
    memory: Link | Table | None = None
    rails: int | None = None
    planes: int | None = None
    rail_arrangement: str | None = None
    rail_choice: str | None = None
    rail_per: str | None = None


@dataclass(frozen=True, kw_only=True)
class Job:
    """An application, or synthetic traffic: exactly one of `workload` and `traffic`.

    Parameters
    ----------
    name : str
        Name in results.
    workload : mapping or Program
        What its ranks do, from one source: a recorded application, ``{"otf2": path}``, ``{"dumpi": path}`` or
        ``{"liballprof": path}``; a schedule, ``{"goal": path}``; a made-up one,
        ``{"motif": name, "ranks": 64, ...}``; or a program in Python, a Program or as in a file,
        ``{"python": path, "ranks": 16, ...}``.
    traffic : mapping
        Synthetic traffic: ``{"pattern": name, "load": 0.5, ...}``; the load is a fraction of the injection
        bandwidth. See ``fabricsim.list_parts("patterns")`` and ``("arrivals")``.
    hosts : str or int
        Hosts of the traffic: ``"all"``, ``"free"`` (those without ranks), or how many.
    placement : str or mapping
        Name of the placement, or ``{"kind": name, ...}`` with its parameters, for example
        ``{"kind": "clusters", "size": 4}``, ``{"file": path}`` or ``{"hostlist": "nid[0001-0016]"}``; see
        ``fabricsim.list_parts("placements")``.
    mapping : str or mapping
        Which rank sits on which of the job's hosts, likewise; see ``fabricsim.list_parts("mappings")``.
    ranks_per_host : int
        Ranks that share a host.
    compute : str or mapping
        How long computations take: ``{"scale": 0.5}`` is a processor of twice the speed, and with
        ``{"each": "10 us"}`` each of them takes that; ``"off"`` is communication only.
        ``{"regions": {name: 0.25}}`` gives parts of the code a factor or time of their own.
    repetitions : int
        How often the ranks do what the workload holds.
    start : str
        When the job begins, for example ``"10 us"``.
    """

    name: str | None = None
    workload: Table | Program | None = None
    traffic: Table | None = None
    hosts: str | int | None = None
    placement: str | Table | None = None
    mapping: str | Table | None = None
    ranks_per_host: int | None = None
    compute: str | Table | None = None
    repetitions: int | None = None
    start: str | None = None


@dataclass(frozen=True, kw_only=True)
class Run:
    """How to run.

    Parameters
    ----------
    until : str
        End of the simulation, for example ``"100 us"``; needed where nothing ends by itself.
    warmup : str
        Loads, latencies and link statistics are measured from here on.
    seed : int
        Seed of all random numbers.
    executor : str
        ``"sequential"``, ``"conservative"``, ``"optimistic"``, or ``"reverse-check"``, which is for
        developers; the results are the same. ``fabricsim.list_parts("executors")`` says what they do.
    threads : int
        Threads of the conservative and the optimistic executor; the results are the same.
    optimistic : mapping
        Settings of the optimistic executor, none of which changes the results: ``batch`` (events between
        two looks at the mail), ``gvt_interval`` (batches between two computations of global virtual
        time), ``ahead`` (how far beyond global virtual time it goes, for example ``"1 us"``; without it,
        it finds out as it runs), ``memory`` (of each thread, for events that are not certain yet, for
        example ``"128 MiB"``).
    watchdog : str
        Time between two looks whether the ranks wait for each other for ever, where synthetic traffic keeps
        the simulation going.
    """

    until: str | None = None
    warmup: str | None = None
    seed: int | None = None
    executor: str | None = None
    threads: int | None = None
    optimistic: Table | None = None
    watchdog: str | None = None


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One experiment: a network, what runs on it, and how.

    Parameters
    ----------
    network : Network
        The network.
    jobs : sequence of Job
        What runs on it; ``[[job]]`` in the file.
    run : Run
        How to run.
    mpi : mapping
        Settings of the MPI layer, as the table ``[mpi]`` of the file.

    Examples
    --------
    >>> experiment = Experiment(
    ...     network=Network(
    ...         topology={"kind": "torus", "sizes": [4, 4]},
    ...         routing={"algorithm": "dimension-order"},
    ...     ),
    ...     jobs=[Job(traffic={"pattern": "uniform", "load": 0.1})],
    ...     run=Run(until="20 us"),
    ... )
    >>> print(experiment.to_toml().splitlines()[0])
    [network.topology]
    """

    network: Network | Table
    jobs: Sequence[Job | Table]
    run: Run | Table | None = None
    mpi: Table | None = field(default=None)

    def to_dict(self) -> dict[str, Any]:
        """The experiment as nested dicts with the keys of the file, without what is ``None``."""
        parts = {"network": self.network, "job": list(self.jobs), "mpi": self.mpi, "run": self.run}
        plain: dict[str, Any] = _plain(parts)
        return plain

    def to_toml(self) -> str:
        """The experiment as the text of a file."""
        return dumps(self.to_dict())


ExperimentLike: TypeAlias = "str | PathLike[str] | Mapping[str, Any] | Experiment"


def dumps(experiment: Mapping[str, Any]) -> str:
    """The text of an experiment file for nested dicts.

    Raises
    ------
    ExperimentError
        A value has no form in TOML.
    """
    try:
        return tomli_w.dumps(_plain(experiment))
    except TypeError as error:
        raise ExperimentError(f"the experiment cannot be written as TOML: {error}") from None


def build(experiment: ExperimentLike, overrides: Mapping[str, Any]) -> _core.Experiment:
    """The experiment as the simulation core holds it: the network built, the jobs in their places.

    Raises
    ------
    ExperimentError
        Anything that is wrong with it.
    TypeError
        `experiment` is none of path, mapping, Experiment.
    """
    pairs = override_pairs(overrides)
    if isinstance(experiment, (str, PathLike)):
        return _core.Experiment.load(Path(fspath(experiment)), pairs)
    if isinstance(experiment, Experiment):
        programs = _programs(experiment.jobs)
        return _core.Experiment.from_toml(experiment.to_toml(), "<Experiment>", pairs, programs)
    if isinstance(experiment, Mapping):
        programs = _programs(experiment.get("job", ()))
        return _core.Experiment.from_toml(dumps(experiment), "<dict>", pairs, programs)
    raise TypeError(f"expected a path, a dict or an Experiment, not {type(experiment).__name__}")


def _programs(jobs: Any) -> dict[str, tuple[Any, Any, list[str], str]]:
    """The functions of programs, by the path of the table that they stand in."""
    found = {}
    for number, job in enumerate(jobs if isinstance(jobs, (list, tuple)) else ()):
        workload = job.get("workload") if isinstance(job, Mapping) else getattr(job, "workload", None)
        if isinstance(workload, Program):
            found[f"job.{number}.workload"] = workload.given()
    return found


def override_pairs(overrides: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Overrides as pairs of a dotted key and a value in TOML; nested mappings are flattened."""
    pairs: list[tuple[str, str]] = []
    for key, value in overrides.items():
        full = f"{prefix}{key}"
        value = _plain(value)
        if isinstance(value, dict):
            pairs += override_pairs(value, f"{full}.")
        else:
            pairs.append((full, _literal(full, value)))
    return pairs


def _literal(key: str, value: Any) -> str:
    """A value as TOML writes it behind the equals sign."""
    text = dumps({"v": value})
    if not text.startswith("v = "):
        raise ExperimentError(f"{key}: None and lists of tables cannot override a key", "set", key=key)
    return text.removeprefix("v = ").rstrip("\n")


def _plain(value: Any) -> Any:
    """Typed objects as dicts, without what is None; paths as texts."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        if isinstance(value, Experiment):
            return value.to_dict()
        if isinstance(value, Program):
            return _plain(value.to_dict())
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, PathLike):
        return str(fspath(value))
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    # NumPy's numbers, which come from loops over arrays.
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value
