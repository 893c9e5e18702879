# Made from the registry: UPDATE_EXPECTED=1 pytest python/tests/test_parts.py
from dataclasses import dataclass
from typing import Literal

from fabricsim.kinds import Placement
from fabricsim.part import Path

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

@dataclass(frozen=True, kw_only=True, repr=False)
class Clusters(Placement):
    """Runs of consecutive hosts at random places.

    Parameters
    ----------
    size : int
        Hosts of each run.
    """

    size: int

@dataclass(frozen=True, kw_only=True, repr=False)
class File(Placement):
    """The hosts that a file lists, one number on each line.

    Parameters
    ----------
    file : Path
        Path, relative to the current folder.
    """

    file: Path

@dataclass(frozen=True, kw_only=True, repr=False)
class Hostlist(Placement):
    """The hosts that a Slurm hostlist names by their numbers, such as nid[0001-0016,0020].

    Parameters
    ----------
    hostlist : str
        Names, with ranges in brackets.
    first : int
        Number in the name of host 0 (default: 0).
    """

    hostlist: str
    first: int | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Linear(Placement):
    """Hosts in the order of their numbers; the default."""

@dataclass(frozen=True, kw_only=True, repr=False)
class Random(Placement):
    """Hosts in random order."""

@dataclass(frozen=True, kw_only=True, repr=False)
class RandomGroups(Placement):
    """Groups of a dragonfly, or pods of a tree, in random order, with all free hosts of each."""

@dataclass(frozen=True, kw_only=True, repr=False)
class RandomRouters(Placement):
    """Routers in random order, with all free hosts of each."""

@dataclass(frozen=True, kw_only=True, repr=False)
class RoundRobin(Placement):
    """One host of each router, or of each group, in turn.

    Parameters
    ----------
    over : {"routers", "groups"}
        What takes turns (default: routers).
    """

    over: Literal["routers", "groups"] | None = ...
