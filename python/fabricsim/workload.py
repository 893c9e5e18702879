"""Sources of the operations of a job's ranks. The `workload` of a :class:`fabricsim.Job`.

Recorded applications, schedules and programs in a file. Motifs are in :mod:`fabricsim.motif`;
:class:`fabricsim.Program` is a program without a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fabricsim.kinds import Motif
from fabricsim.part import Given, Part, Path, Size, Table, Time, given

__all__ = [
    "Bigsim",
    "Command",
    "Dumpi",
    "Goal",
    "Liballprof",
    "Operations",
    "Otf2",
    "Over",
    "Phase",
    "Python",
    "Source",
    "Window",
]


@dataclass(frozen=True, kw_only=True, repr=False)
class Window(Given):
    """The part of a recording that is replayed. Its rules: ``docs/formats/window.md``.

    Parameters
    ----------
    kind : {"mpi", "all", "time", "calls", "region", "iterations"}
        Unit of the window: from MPI_Init to MPI_Finalize, the whole recording, a time, numbers of MPI calls,
        a region of the code, or entries of a region (default: mpi).
    start : Time, such as "1 ms", or int
        First time after the recording's first event, first MPI call of each rank, or first entry of the
        region (default: the end of MPI_Init).
    end : Time, such as "2 ms", or int
        Time, MPI call or entry of the region before which the window ends
        (default: the start of MPI_Finalize).
    region : str
        Name of the region of the code, or of an MPI function; kinds region and iterations only.
    """

    kind: Literal["mpi", "all", "time", "calls", "region", "iterations"] | None = None
    start: Time | int | None = None
    end: Time | int | None = None
    region: str | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Over(Given):
    """Groups of ranks of a collective in a phase: ``group``, ``axes`` or ``ranks``.

    Parameters
    ----------
    group : int
        Groups of this many consecutive ranks; the last may be smaller.
    axes : Sequence[int]
        Groups of the ranks that differ along these dimensions of the grid only, numbered from 0.
    grid : Sequence[int]
        With axes: ranks in each dimension, the first fastest (default: the grid of the workload).
    ranks : int
        One group of this many ranks; the others do not take part.
    first : int
        With ranks: the first (default: 0).
    stride : int
        With ranks: distance from one to the next (default: 1).
    """

    group: int | None = None
    axes: Sequence[int] | None = None
    grid: Sequence[int] | None = None
    ranks: int | None = None
    first: int | None = None
    stride: int | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Phase(Given):
    """A phase of :class:`fabricsim.motif.Phases`: a collective, a computation, or phases in sequence.

    A motif as a phase is an object of :mod:`fabricsim.motif`, or its table without the number of ranks. The
    rules: ``docs/methods/motifs.md``.

    Parameters
    ----------
    collective : {"barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall", "gather", "scatter", \
            "reduce-scatter", "scan", "exscan"}
        A blocking collective.
    compute : Time, such as "10 us"
        A computation; its mean time.
    phases : Sequence[Phase or Motif or Mapping]
        Phases in sequence.
    iterations : int
        Repetitions of the collective, the computation or the phases (default: 1).
    bytes : Size, such as "8 B"
        Size as in the arguments of the call; required, except for a barrier.
    root : int
        Bcast, reduce, gather, scatter: the root, a rank of each group (default: 0).
    over : {"all", "row", "column", "plane"} or Over
        Ranks that take part in one collective, in the grid of the workload; or other groups (default: all).
    imbalance : float
        Greatest deviation of a rank's mean time from compute, as a fraction (default: 0.0).
    distribution : {"fixed", "uniform", "normal", "exponential"}
        Times of a rank's computations around its mean (default: fixed).
    variation : float
        Of the rank's mean, uniform: greatest deviation of a time; normal: standard deviation
        (default: 0.5).
    seed : int
        Seed of the random times; ranks have the same deviation in all phases with the same seed
        (default: 1331).
    """

    collective: (
        Literal[
            "barrier",
            "bcast",
            "reduce",
            "allreduce",
            "allgather",
            "alltoall",
            "gather",
            "scatter",
            "reduce-scatter",
            "scan",
            "exscan",
        ]
        | None
    ) = None
    compute: Time | None = None
    phases: Sequence[Phase | Motif | Table] | None = None
    iterations: int | None = None
    bytes: Size | None = None
    root: int | None = None
    over: Literal["all", "row", "column", "plane"] | Over | Table | None = None
    imbalance: float | None = None
    distribution: Literal["fixed", "uniform", "normal", "exponential"] | None = None
    variation: float | None = None
    seed: int | None = None


@dataclass(frozen=True, repr=False)
class Source(Part, key="", kind="trace-formats"):
    """A file with the operations of ranks. The key of its path in experiment files is the name of its format.

    Parameters
    ----------
    path : Path
        The file, relative to the current folder.
    """

    path: Path

    def table(self) -> dict[str, Any]:
        values = given(self)
        return {self.part_name: values.pop("path"), **values}

    @classmethod
    def of_table(cls, table: Table) -> tuple[type[Part], dict[str, Any]] | None:
        for name, part in cls.parts.items():
            if name in table:
                return part, {"path" if key == name else key: value for key, value in table.items()}
        return None


@dataclass(frozen=True, repr=False)
class Bigsim(Source, name="bigsim"):
    """A recorded trace of a Charm++ or AMPI program. Its replay: ``docs/formats/bigsim.md``.

    Parameters
    ----------
    path : Path
        The folder, or the file bgTrace in it, relative to the current folder.
    runtime_logs : {"simulated", "recorded"}
        Time of the logs of AMPI and of Charm++'s collectives; simulated: none beside the costs of MPI
        (default: simulated).
    """

    runtime_logs: Literal["simulated", "recorded"] | None = field(default=None, kw_only=True)


@dataclass(frozen=True, repr=False)
class Command(Source, name="command"):
    """A real MPI program: one process for each rank. Its rules: ``docs/methods/online.md``.

    Parameters
    ----------
    path : Sequence[str]
        The command: the program and its arguments.
    ranks : int
        Number of ranks, 1 to 32768.
    compute : {"measured", "none"}
        What computation between calls takes: its CPU time here, or nothing (default: measured).
    clocks : {"simulated", "real"}
        What the clocks of the C library show to a rank, and how it sleeps (default: simulated).
    """

    path: Sequence[str]  # type: ignore[assignment]
    ranks: int = field(kw_only=True)
    compute: Literal["measured", "none"] | None = field(default=None, kw_only=True)
    clocks: Literal["simulated", "real"] | None = field(default=None, kw_only=True)


@dataclass(frozen=True, repr=False)
class Dumpi(Source, name="dumpi"):
    """A recorded trace in the format DUMPI. Replayed calls: ``docs/formats/dumpi.md``.

    Parameters
    ----------
    path : Path
        The meta file, the file of any rank, or the folder that holds them, relative to the current folder.
    clock : {"any", "cpu", "wall"}
        Clock that tells how long ranks compute; any: the CPU's where it was recorded (default: any).
    window : Window
        Part of the recording that is replayed (default: from MPI_Init to MPI_Finalize).
    """

    clock: Literal["any", "cpu", "wall"] | None = field(default=None, kw_only=True)
    window: Window | None = field(default=None, kw_only=True)


@dataclass(frozen=True, repr=False)
class Goal(Source, name="goal"):
    """A GOAL schedule, text or binary. Its execution: ``docs/formats/goal.md``.

    Parameters
    ----------
    path : Path
        The file, or the folder that holds one, relative to the current folder.
    """


@dataclass(frozen=True, repr=False)
class Liballprof(Source, name="liballprof"):
    """A recorded trace of liballprof. Replayed calls: ``docs/formats/liballprof.md``.

    Parameters
    ----------
    path : Path
        The file of any rank, or the folder that holds them all, relative to the current folder.
    window : Window
        Part of the recording that is replayed (default: from MPI_Init to MPI_Finalize).
    """

    window: Window | None = field(default=None, kw_only=True)


@dataclass(frozen=True, repr=False)
class Operations(Source, name="operations"):
    """Operations that a real program has left. Their layout: ``docs/formats/operations.md``.

    Parameters
    ----------
    path : Path
        The file, relative to the current folder.
    """


@dataclass(frozen=True, repr=False)
class Otf2(Source, name="otf2"):
    """A recorded trace in the Open Trace Format 2. Replayed calls: ``docs/formats/otf2.md``.

    Parameters
    ----------
    path : Path
        The anchor file (``traces.otf2``), or the folder that holds it, relative to the current folder.
    window : Window
        Part of the recording that is replayed (default: from MPI_Init to MPI_Finalize).
    """

    window: Window | None = field(default=None, kw_only=True)


@dataclass(frozen=True, repr=False)
class Python(Source, name="python"):
    """A program in Python, in a file. Its rules: ``docs/methods/programs.md``.

    Parameters
    ----------
    path : Path
        The file, relative to the current folder.
    ranks : int
        Number of ranks, 1 to 16777216.
    function : str
        Name of the generator function in it (default: program).
    arguments : Mapping[str, Any]
        Further arguments of the function, by name.
    reacts : bool
        Whether its operations return answers (default: false).
    """

    ranks: int = field(kw_only=True)
    function: str | None = field(default=None, kw_only=True)
    arguments: Table | None = field(default=None, kw_only=True)
    reacts: bool | None = field(default=None, kw_only=True)
