"""Placements: in which order a job takes hosts. The `placement` of a :class:`fabricsim.Job`.

A field that is ``None`` is left to the simulator's default. What each does: ``docs/methods/jobs.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fabricsim.part import Part, Path

__all__ = [
    "Clusters",
    "File",
    "Hostlist",
    "Linear",
    "Placement",
    "Random",
    "RandomGroups",
    "RandomRouters",
    "RoundRobin",
]


class Placement(Part, key="kind", kind="placements", implied=True):
    """In which order a job takes hosts."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Linear(Placement, name="linear"):
    """Hosts in the order of their numbers; the default."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Random(Placement, name="random"):
    """Hosts in random order."""


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomRouters(Placement, name="random-routers"):
    """Routers in random order, with all free hosts of each."""


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomGroups(Placement, name="random-groups"):
    """Groups of a dragonfly, or pods of a tree, in random order, with all free hosts of each."""


@dataclass(frozen=True, kw_only=True, repr=False)
class RoundRobin(Placement, name="round-robin"):
    """One host of each router, or of each group, in turn.

    Parameters
    ----------
    over : {"routers", "groups"}
        "routers" or "groups"; default "routers".
    """

    over: Literal["routers", "groups"] | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Clusters(Placement, name="clusters"):
    """Runs of consecutive hosts at random places.

    Parameters
    ----------
    size : int
        Hosts of each run.
    """

    size: int


@dataclass(frozen=True, kw_only=True, repr=False)
class File(Placement, name="file"):
    """The hosts that a file lists, one number on each line.

    Parameters
    ----------
    file : Path
        Path, relative to the current folder.
    """

    file: Path


@dataclass(frozen=True, kw_only=True, repr=False)
class Hostlist(Placement, name="hostlist"):
    """The hosts that a Slurm hostlist names by their numbers, such as nid[0001-0016,0020].

    Parameters
    ----------
    hostlist : str
        Names, with ranges in brackets.
    first : int
        Number in the name of host 0; default 0.
    """

    hostlist: str
    first: int | None = None
