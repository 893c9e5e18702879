"""Mappings: which rank sits on which of a job's hosts. The `mapping` of a :class:`fabricsim.Job`.

A field that is ``None`` is left to the simulator's default. What each does: ``docs/methods/jobs.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fabricsim.part import Part, Path

__all__ = ["Blocked", "File", "Linear", "Random", "RankMapping", "RoundRobin"]


class RankMapping(Part, key="kind", kind="mappings", implied=True):
    """Which rank sits on which host."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Linear(RankMapping, name="linear"):
    """Ranks_per_host consecutive ranks on each host; the default."""


@dataclass(frozen=True, kw_only=True, repr=False)
class RoundRobin(RankMapping, name="round-robin"):
    """Rank i on host i mod n, of the n hosts that ranks_per_host makes necessary."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Random(RankMapping, name="random"):
    """Ranks in random order, ranks_per_host of them on each host."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Blocked(RankMapping, name="blocked"):
    """The ranks of a process grid in blocks of neighbours, one block on each host.

    Parameters
    ----------
    grid : Sequence[int]
        Ranks in each dimension, together all of the job.
    block : Sequence[int]
        Ranks of a host in each dimension.
    order : {"first-fastest", "last-fastest"}
        Which dimension of the grid rank numbers go through fastest: "first-fastest", or "last-fastest" as
        MPI_Cart_create does; default "first-fastest".
    """

    grid: Sequence[int]
    block: Sequence[int]
    order: Literal["first-fastest", "last-fastest"] | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class File(RankMapping, name="file"):
    """The host that a file gives for each rank, by its number among the job's.

    Parameters
    ----------
    file : Path
        Path, relative to the current folder.
    """

    file: Path
