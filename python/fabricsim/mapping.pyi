# Made from the registry: UPDATE_EXPECTED=1 pytest python/tests/test_parts.py
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fabricsim.kinds import RankMapping
from fabricsim.part import Path

__all__ = ["Blocked", "File", "Linear", "Random", "RankMapping", "RoundRobin"]

@dataclass(frozen=True, kw_only=True, repr=False)
class Blocked(RankMapping):
    """The ranks of a process grid in blocks of neighbours, one block on each host.

    Parameters
    ----------
    grid : Sequence[int]
        Ranks in each dimension, together all of the job.
    block : Sequence[int]
        Ranks of a host in each dimension.
    order : {"first-fastest", "last-fastest"}
        Which dimension of the grid rank numbers go through fastest; last-fastest as MPI_Cart_create does
        (default: first-fastest).
    """

    grid: Sequence[int]
    block: Sequence[int]
    order: Literal["first-fastest", "last-fastest"] | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class File(RankMapping):
    """The host that a file gives for each rank, by its number among the job's.

    Parameters
    ----------
    file : Path
        Path, relative to the current folder.
    """

    file: Path

@dataclass(frozen=True, kw_only=True, repr=False)
class Linear(RankMapping):
    """Ranks_per_host consecutive ranks on each host; the default."""

@dataclass(frozen=True, kw_only=True, repr=False)
class Random(RankMapping):
    """Ranks in random order, ranks_per_host of them on each host."""

@dataclass(frozen=True, kw_only=True, repr=False)
class RoundRobin(RankMapping):
    """Rank i on host i mod n, of the n hosts that ranks_per_host makes necessary."""
