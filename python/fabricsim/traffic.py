"""Synthetic traffic: who sends to whom, and how much. The `traffic` of a :class:`fabricsim.Job`.

A field that is ``None`` is left to the simulator's default. Formulas: ``docs/methods/traffic.md``. Patterns
that are made of the network's routers, groups or coordinates need all hosts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from fabricsim.arrival import Arrival
from fabricsim.message import MessageSize
from fabricsim.part import Part, Path, Size, Table

__all__ = [
    "Adversarial",
    "AllToAll",
    "ArrivalName",
    "Bisection",
    "BitComplement",
    "BitReverse",
    "Diagonal",
    "DimensionComplementReverse",
    "Hotspot",
    "Incast",
    "Matrix",
    "NearestNeighbour",
    "Pattern",
    "Permutation",
    "Shift",
    "Shuffle",
    "Stencil",
    "Tornado",
    "Transpose",
    "Uniform",
]

ArrivalName: TypeAlias = Literal["bernoulli", "exponential", "fixed", "on-off"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Pattern(Part, key="pattern", kind="patterns"):
    """A pattern of traffic. What all of them have:

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of the bandwidth of its injection links, all rails together;
        above 0, at most 1.
    arrival : Arrival or name
        Times between messages, one of the classes of :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or the distribution that sizes are drawn from, one of the classes of
        :mod:`fabricsim.message`; `load` counts the mean (default: a packet).
    """

    load: float
    arrival: Arrival | ArrivalName | None = None
    message: Size | MessageSize | None = None

    def table(self) -> dict[str, Any]:
        # The file has the parameters of an arrival process beside those of the pattern.
        table = super().table()
        arrival = table.pop("arrival", None)
        if isinstance(arrival, Arrival):
            return {**table, **arrival.table()}
        return table if arrival is None else {**table, "arrival": arrival}

    @classmethod
    def of_table(cls, table: Table) -> tuple[type[Part], dict[str, Any]] | None:
        found = super().of_table(table)
        arrival = Arrival.of_table(table)
        if found is None or arrival is None:
            return found
        part, values = found
        known = {"arrival", *arrival[0].parameters()}
        # Without parameters, its name says it all.
        if known & set(values) != {"arrival"}:
            values["arrival"] = {key: value for key, value in values.items() if key in known}
            values = {key: value for key, value in values.items() if key not in known or key == "arrival"}
        return part, values


@dataclass(frozen=True, kw_only=True, repr=False)
class Adversarial(Pattern, name="adversarial"):
    """The worst case of the topology for minimal routing.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of its injection bandwidth: above 0, at most 1.
    arrival : Arrival or name
        Times between messages, see :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or its distribution, see :mod:`fabricsim.message` (default: one packet).
    offset : int
        In networks with groups, and trees: how many groups further on (default: 1).
    """

    offset: int | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class AllToAll(Pattern, name="all-to-all"):
    """Each host to all others in turn, beginning with the next one.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of its injection bandwidth: above 0, at most 1.
    arrival : Arrival or name
        Times between messages, see :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or its distribution, see :mod:`fabricsim.message` (default: one packet).
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class Bisection(Pattern, name="bisection"):
    """Each host of one half to its partner in the other half; an even number of hosts.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of its injection bandwidth: above 0, at most 1.
    arrival : Arrival or name
        Times between messages, see :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or its distribution, see :mod:`fabricsim.message` (default: one packet).
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class BitComplement(Pattern, name="bit-complement"):
    """To the host whose number has all bits inverted; a power of two hosts.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of its injection bandwidth: above 0, at most 1.
    arrival : Arrival or name
        Times between messages, see :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or its distribution, see :mod:`fabricsim.message` (default: one packet).
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class BitReverse(Pattern, name="bit-reverse"):
    """To the host whose number has the bits in reverse order; a power of two hosts.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of its injection bandwidth: above 0, at most 1.
    arrival : Arrival or name
        Times between messages, see :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or its distribution, see :mod:`fabricsim.message` (default: one packet).
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class Diagonal(Pattern, name="diagonal"):
    """A step in each dimension at once; on a torus, mesh or HyperX.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of its injection bandwidth: above 0, at most 1.
    arrival : Arrival or name
        Times between messages, see :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or its distribution, see :mod:`fabricsim.message` (default: one packet).
    step : {"one", "half"}
        "one" or "half": by how much each coordinate moves, modulo the size (default: "one").
    """

    step: Literal["one", "half"] | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class DimensionComplementReverse(Pattern, name="dimension-complement-reverse"):
    """Coordinates in reverse order and each from the other end; on a HyperX, mesh or torus.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of its injection bandwidth: above 0, at most 1.
    arrival : Arrival or name
        Times between messages, see :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or its distribution, see :mod:`fabricsim.message` (default: one packet).
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class Hotspot(Pattern, name="hotspot"):
    """Uniform, with a share of the messages for a few hosts on top (Pfister and Norton 1985).

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of its injection bandwidth: above 0, at most 1.
    arrival : Arrival or name
        Times between messages, see :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or its distribution, see :mod:`fabricsim.message` (default: one packet).
    targets : int or Sequence[int]
        The hot hosts: how many, spread evenly, or a list of their numbers in the job (default: 1).
    share : float
        Share of each host's messages that is for the hot hosts on top of their uniform part, above 0 to 1
        (default: 0.1).
    """

    targets: int | Sequence[int] | None = None
    share: float | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Incast(Pattern, name="incast"):
    """All hosts to a few, which are silent.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of its injection bandwidth: above 0, at most 1.
    arrival : Arrival or name
        Times between messages, see :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or its distribution, see :mod:`fabricsim.message` (default: one packet).
    targets : int or Sequence[int]
        The hosts that are sent to: how many, spread evenly, or a list of their numbers in the job
        (default: 1).
    """

    targets: int | Sequence[int] | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Matrix(Pattern, name="matrix"):
    """Shares of each source's messages by destination, from a CSV file.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of its injection bandwidth: above 0, at most 1.
    arrival : Arrival or name
        Times between messages, see :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or its distribution, see :mod:`fabricsim.message` (default: one packet).
    file : Path
        Rows source,destination,weight; relative to the current folder.
    """

    file: Path


@dataclass(frozen=True, kw_only=True, repr=False)
class NearestNeighbour(Pattern, name="nearest-neighbour"):
    """To the same position on a random router one link away; where there is none, on the same router.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of its injection bandwidth: above 0, at most 1.
    arrival : Arrival or name
        Times between messages, see :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or its distribution, see :mod:`fabricsim.message` (default: one packet).
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class Permutation(Pattern, name="permutation"):
    """A random permutation of the hosts, drawn from the run's seed and the job's number.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of its injection bandwidth: above 0, at most 1.
    arrival : Arrival or name
        Times between messages, see :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or its distribution, see :mod:`fabricsim.message` (default: one packet).
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class Shift(Pattern, name="shift"):
    """To the host, router or group so many further on.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of its injection bandwidth: above 0, at most 1.
    arrival : Arrival or name
        Times between messages, see :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or its distribution, see :mod:`fabricsim.message` (default: one packet).
    by : int
        How many further on; may be negative (default: 1).
    unit : {"hosts", "routers", "groups"}
        What is counted: "hosts", "routers" or "groups" (default: "hosts").
    to : {"same", "random"}
        Host of that router or group: "same" position or "random" (default: "same").
    """

    by: int | None = None
    unit: Literal["hosts", "routers", "groups"] | None = None
    to: Literal["same", "random"] | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Shuffle(Pattern, name="shuffle"):
    """To the host whose number has the bits rotated left by one; a power of two hosts.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of its injection bandwidth: above 0, at most 1.
    arrival : Arrival or name
        Times between messages, see :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or its distribution, see :mod:`fabricsim.message` (default: one packet).
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class Stencil(Pattern, name="stencil"):
    """Halo exchange on a grid of hosts: each to its neighbours in turn.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of its injection bandwidth: above 0, at most 1.
    arrival : Arrival or name
        Times between messages, see :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or its distribution, see :mod:`fabricsim.message` (default: one packet).
    shape : Sequence[int]
        Hosts in each dimension of the grid, 1 to 8 dimensions, for example [4, 4, 8]; all hosts of the
        job.
    neighbours : {"faces", "all"}
        "faces", one step in one dimension, or "all", with diagonals (default: "faces").
    periodic : bool
        Whether the grid is closed in all dimensions (default: true).
    """

    shape: Sequence[int]
    neighbours: Literal["faces", "all"] | None = None
    periodic: bool | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Tornado(Pattern, name="tornado"):
    """Nearly half of the way around in each dimension; on a torus, mesh or HyperX.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of its injection bandwidth: above 0, at most 1.
    arrival : Arrival or name
        Times between messages, see :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or its distribution, see :mod:`fabricsim.message` (default: one packet).
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class Transpose(Pattern, name="transpose"):
    """From row and column of a square matrix of hosts to column and row; a square number of hosts.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of its injection bandwidth: above 0, at most 1.
    arrival : Arrival or name
        Times between messages, see :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or its distribution, see :mod:`fabricsim.message` (default: one packet).
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class Uniform(Pattern, name="uniform"):
    """Each message to a host chosen at random, all with the same probability.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of its injection bandwidth: above 0, at most 1.
    arrival : Arrival or name
        Times between messages, see :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or its distribution, see :mod:`fabricsim.message` (default: one packet).
    include_self : bool
        Whether a host may choose itself, as in BookSim (default: false).
    """

    include_self: bool | None = None
