# Made from the registry: UPDATE_EXPECTED=1 pytest python/tests/test_parts.py
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fabricsim.kinds import ArrivalName, Pattern
from fabricsim.part import Path

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

@dataclass(frozen=True, kw_only=True, repr=False)
class Adversarial(Pattern):
    """The worst case of the topology for minimal routing.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of the bandwidth of its injection links, all rails together:
        above 0, at most 1.
    arrival : Arrival or name
        Times between messages: a class of :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or the distribution that sizes are drawn from: a class of
        :mod:`fabricsim.message`; `load` counts the mean (default: one packet).
    offset : int
        In networks with groups, and trees: how many groups further on (default: 1).
    """

    offset: int | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class AllToAll(Pattern):
    """Each host to all others in turn, beginning with the next one.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of the bandwidth of its injection links, all rails together:
        above 0, at most 1.
    arrival : Arrival or name
        Times between messages: a class of :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or the distribution that sizes are drawn from: a class of
        :mod:`fabricsim.message`; `load` counts the mean (default: one packet).
    """

@dataclass(frozen=True, kw_only=True, repr=False)
class Bisection(Pattern):
    """Each host of one half to its partner in the other half; an even number of hosts.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of the bandwidth of its injection links, all rails together:
        above 0, at most 1.
    arrival : Arrival or name
        Times between messages: a class of :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or the distribution that sizes are drawn from: a class of
        :mod:`fabricsim.message`; `load` counts the mean (default: one packet).
    """

@dataclass(frozen=True, kw_only=True, repr=False)
class BitComplement(Pattern):
    """To the host whose number has all bits inverted; a power of two hosts.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of the bandwidth of its injection links, all rails together:
        above 0, at most 1.
    arrival : Arrival or name
        Times between messages: a class of :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or the distribution that sizes are drawn from: a class of
        :mod:`fabricsim.message`; `load` counts the mean (default: one packet).
    """

@dataclass(frozen=True, kw_only=True, repr=False)
class BitReverse(Pattern):
    """To the host whose number has the bits in reverse order; a power of two hosts.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of the bandwidth of its injection links, all rails together:
        above 0, at most 1.
    arrival : Arrival or name
        Times between messages: a class of :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or the distribution that sizes are drawn from: a class of
        :mod:`fabricsim.message`; `load` counts the mean (default: one packet).
    """

@dataclass(frozen=True, kw_only=True, repr=False)
class Diagonal(Pattern):
    """a step in each dimension at once; on a torus, mesh or HyperX.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of the bandwidth of its injection links, all rails together:
        above 0, at most 1.
    arrival : Arrival or name
        Times between messages: a class of :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or the distribution that sizes are drawn from: a class of
        :mod:`fabricsim.message`; `load` counts the mean (default: one packet).
    step : {"one", "half"}
        By how much each coordinate moves: one, or half the size, modulo the size (default: one).
    """

    step: Literal["one", "half"] | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class DimensionComplementReverse(Pattern):
    """Coordinates in reverse order and each from the other end; on a HyperX, mesh or torus.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of the bandwidth of its injection links, all rails together:
        above 0, at most 1.
    arrival : Arrival or name
        Times between messages: a class of :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or the distribution that sizes are drawn from: a class of
        :mod:`fabricsim.message`; `load` counts the mean (default: one packet).
    """

@dataclass(frozen=True, kw_only=True, repr=False)
class Hotspot(Pattern):
    """Uniform, with a share of the messages for a few hosts on top (Pfister and Norton 1985).

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of the bandwidth of its injection links, all rails together:
        above 0, at most 1.
    arrival : Arrival or name
        Times between messages: a class of :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or the distribution that sizes are drawn from: a class of
        :mod:`fabricsim.message`; `load` counts the mean (default: one packet).
    targets : int or Sequence[int]
        The hot hosts: how many, spread evenly, or a list of their numbers in the job (default: 1).
    share : float
        Share of each host's messages that is for the hot hosts on top of their uniform part, above 0 to 1
        (default: 0.1).
    """

    targets: int | Sequence[int] | None = ...
    share: float | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Incast(Pattern):
    """All hosts to a few, which are silent.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of the bandwidth of its injection links, all rails together:
        above 0, at most 1.
    arrival : Arrival or name
        Times between messages: a class of :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or the distribution that sizes are drawn from: a class of
        :mod:`fabricsim.message`; `load` counts the mean (default: one packet).
    targets : int or Sequence[int]
        The hosts that are sent to: how many, spread evenly, or a list of their numbers in the job
        (default: 1).
    """

    targets: int | Sequence[int] | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Matrix(Pattern):
    """Shares of each source's messages by destination, from a CSV file.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of the bandwidth of its injection links, all rails together:
        above 0, at most 1.
    arrival : Arrival or name
        Times between messages: a class of :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or the distribution that sizes are drawn from: a class of
        :mod:`fabricsim.message`; `load` counts the mean (default: one packet).
    file : Path
        Rows source,destination,weight; relative to the current folder.
    """

    file: Path

@dataclass(frozen=True, kw_only=True, repr=False)
class NearestNeighbour(Pattern):
    """To the same position on a random router one link away; where there is none, on the same router.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of the bandwidth of its injection links, all rails together:
        above 0, at most 1.
    arrival : Arrival or name
        Times between messages: a class of :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or the distribution that sizes are drawn from: a class of
        :mod:`fabricsim.message`; `load` counts the mean (default: one packet).
    """

@dataclass(frozen=True, kw_only=True, repr=False)
class Permutation(Pattern):
    """a random permutation of the hosts, drawn from the run's seed and the job's number.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of the bandwidth of its injection links, all rails together:
        above 0, at most 1.
    arrival : Arrival or name
        Times between messages: a class of :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or the distribution that sizes are drawn from: a class of
        :mod:`fabricsim.message`; `load` counts the mean (default: one packet).
    """

@dataclass(frozen=True, kw_only=True, repr=False)
class Shift(Pattern):
    """To the host, router or group at a fixed distance.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of the bandwidth of its injection links, all rails together:
        above 0, at most 1.
    arrival : Arrival or name
        Times between messages: a class of :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or the distribution that sizes are drawn from: a class of
        :mod:`fabricsim.message`; `load` counts the mean (default: one packet).
    by : int
        How many further on; may be negative (default: 1).
    unit : {"hosts", "routers", "groups"}
        Unit of the distance (default: hosts).
    to : {"same", "random"}
        Host of that router or group: the same position, or a random one (default: same).
    """

    by: int | None = ...
    unit: Literal["hosts", "routers", "groups"] | None = ...
    to: Literal["same", "random"] | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Shuffle(Pattern):
    """To the host whose number has the bits rotated left by one; a power of two hosts.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of the bandwidth of its injection links, all rails together:
        above 0, at most 1.
    arrival : Arrival or name
        Times between messages: a class of :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or the distribution that sizes are drawn from: a class of
        :mod:`fabricsim.message`; `load` counts the mean (default: one packet).
    """

@dataclass(frozen=True, kw_only=True, repr=False)
class Stencil(Pattern):
    """Halo exchange on a grid of hosts: each to its neighbours in turn.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of the bandwidth of its injection links, all rails together:
        above 0, at most 1.
    arrival : Arrival or name
        Times between messages: a class of :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or the distribution that sizes are drawn from: a class of
        :mod:`fabricsim.message`; `load` counts the mean (default: one packet).
    shape : Sequence[int]
        Hosts in each dimension of the grid, 1 to 8 dimensions, for example [4, 4, 8]; all hosts of the
        job.
    neighbours : {"faces", "all"}
        Faces, one step in one dimension, or all, with diagonals (default: faces).
    periodic : bool
        Whether the grid is closed in all dimensions (default: true).
    """

    shape: Sequence[int]
    neighbours: Literal["faces", "all"] | None = ...
    periodic: bool | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Tornado(Pattern):
    """Nearly half of the way around in each dimension; on a torus, mesh or HyperX.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of the bandwidth of its injection links, all rails together:
        above 0, at most 1.
    arrival : Arrival or name
        Times between messages: a class of :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or the distribution that sizes are drawn from: a class of
        :mod:`fabricsim.message`; `load` counts the mean (default: one packet).
    """

@dataclass(frozen=True, kw_only=True, repr=False)
class Transpose(Pattern):
    """From row and column of a square matrix of hosts to column and row; a square number of hosts.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of the bandwidth of its injection links, all rails together:
        above 0, at most 1.
    arrival : Arrival or name
        Times between messages: a class of :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or the distribution that sizes are drawn from: a class of
        :mod:`fabricsim.message`; `load` counts the mean (default: one packet).
    """

@dataclass(frozen=True, kw_only=True, repr=False)
class Uniform(Pattern):
    """Each message to a host chosen at random, all with the same probability.

    Parameters
    ----------
    load : float
        Bytes that each host sends, as a fraction of the bandwidth of its injection links, all rails together:
        above 0, at most 1.
    arrival : Arrival or name
        Times between messages: a class of :mod:`fabricsim.arrival` (default: exponential).
    message : Size, such as "4 KiB", or MessageSize
        Size of each message, or the distribution that sizes are drawn from: a class of
        :mod:`fabricsim.message`; `load` counts the mean (default: one packet).
    include_self : bool
        Whether a host may choose itself, as in BookSim (default: false).
    """

    include_self: bool | None = ...
