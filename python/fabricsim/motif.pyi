# Made from the registry: UPDATE_EXPECTED=1 pytest python/tests/test_parts.py
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fabricsim.kinds import Motif
from fabricsim.part import Size, Table, Time
from fabricsim.workload import Phase

__all__ = [
    "AllToAll",
    "Allreduce",
    "Amg",
    "Atratus",
    "CrystalRouter",
    "Fft3d",
    "Halo3d",
    "Halo3d26",
    "Hypre",
    "Incast",
    "Mercury",
    "Milc",
    "Motif",
    "Multigrid",
    "Paradis",
    "Pf3d",
    "Phases",
    "PingPong",
    "Qbox",
    "RandomPairs",
    "Stencil4d",
    "Subcom3dA2a",
    "Sweep3d",
]

@dataclass(frozen=True, kw_only=True, repr=False)
class AllToAll(Motif):
    """MPI_Alltoall of all ranks, again and again (SST, Ember motif Alltoall).

    Parameters
    ----------
    ranks : int
        Number of ranks.
    bytes : Size, such as "4 KiB"
        From each rank to each (default: 1 KiB).
    iterations : int
        How many (default: 1).
    compute : Time, such as "1 us"
        Time of the computation before each (default: 0 ps).
    """

    ranks: int
    bytes: Size | None = ...
    iterations: int | None = ...
    compute: Time | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Allreduce(Motif):
    """MPI_Allreduce of all ranks, again and again (SST, Ember motif Allreduce).

    Parameters
    ----------
    ranks : int
        Number of ranks.
    bytes : Size, such as "4 KiB"
        Of each rank's contribution (default: 8 B).
    iterations : int
        How many (default: 1).
    compute : Time, such as "1 us"
        Time of the computation before each (default: 0 ps).
    """

    ranks: int
    bytes: Size | None = ...
    iterations: int | None = ...
    compute: Time | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Amg(Motif):
    """Stand-in for Design Forward's AMG: V-cycles with six neighbours on ever fewer ranks (Design Forward,
    AMG (LLNL)).

    Parameters
    ----------
    ranks : int
        Number of ranks (default: the product of the sides, or 13824).
    pex : int
        Ranks along x (default: as cubic as can be).
    pey : int
        Ranks along y (default: as cubic as can be).
    pez : int
        Ranks along z (default: as cubic as can be).
    nx : int
        Cells of a rank along x on the finest level (default: 32).
    ny : int
        Cells of a rank along y on the finest level (default: 32).
    nz : int
        Cells of a rank along z on the finest level (default: 32).
    levels : int
        From the finest to the coarsest (default: until one rank is left).
    neighbours : int
        6 or 26 (default: 6).
    volume : Size, such as "4 KiB"
        Bytes of all messages together (default: 10 GiB for each 13,824 ranks).
    bytes_per_cell : Size, such as "4 KiB"
        Instead of volume: bytes for each cell between two neighbours (default: from volume).
    iterations : int
        How many V-cycles (default: 1).
    compute : Time, such as "1 us"
        Time of the computation on the finest level; others: by their cells (default: 0 ps).
    compute_per_cell : Time, such as "1 us"
        More of it for each cell (default: 0 ps).
    published_compute : bool
        Whether a rank computes for as long as in the published run, over all iterations, instead of
        compute (default: false).
    periodic : bool
        Whether the ends of the grid are neighbours (default: false).
    reduce : bool
        Whether each cycle ends with an allreduce of 8 bytes (default: true).
    """

    ranks: int | None = ...
    pex: int | None = ...
    pey: int | None = ...
    pez: int | None = ...
    nx: int | None = ...
    ny: int | None = ...
    nz: int | None = ...
    levels: int | None = ...
    neighbours: int | None = ...
    volume: Size | None = ...
    bytes_per_cell: Size | None = ...
    iterations: int | None = ...
    compute: Time | None = ...
    compute_per_cell: Time | None = ...
    published_compute: bool | None = ...
    periodic: bool | None = ...
    reduce: bool | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Atratus(Motif):
    """Stand-in for Atratus: V-cycles with 26 neighbours and small messages, and few large messages (Jain et
    al., SC 2017 (P4); see docs/methods/applications.md).

    Parameters
    ----------
    ranks : int
        Number of ranks.
    iterations : int
        How many times all phases (default: 1).
    compute : Time, such as "1 us"
        Time of the computation of a rank in an iteration; assumed, from the share of communication in P4,
        fig. 7 (default: 35 ms).
    nx : int
        Cells of a rank along x on the finest level; assumed (default: 8).
    ny : int
        Cells of a rank along y on the finest level; assumed (default: 8).
    nz : int
        Cells of a rank along z on the finest level; assumed (default: 8).
    bytes_per_cell : Size, such as "4 KiB"
        Bytes for each cell between two neighbours; source: P4, mean message below 1 KB; the value as for
        hypre is assumed (default: 14 B).
    sweeps : int
        V-cycles of messages for one of the solver; assumed (default: 2).
    reductions : int
        Allreduces of 8 bytes; assumed (default: 3).
    large : Size, such as "4 KiB"
        Message to the ranks before and after; source: P4, largest message above 100 KB; the value is
        assumed (default: 128 KiB).
    """

    ranks: int
    iterations: int | None = ...
    compute: Time | None = ...
    nx: int | None = ...
    ny: int | None = ...
    nz: int | None = ...
    bytes_per_cell: Size | None = ...
    sweeps: int | None = ...
    reductions: int | None = ...
    large: Size | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class CrystalRouter(Motif):
    """Stand-in for Design Forward's Crystal Router: exchange in the dimensions of a hypercube (Design
    Forward, Crystal Router (Nek5000)).

    Parameters
    ----------
    ranks : int
        Number of ranks (default: 10000).
    volume : Size, such as "4 KiB"
        Bytes of all messages together (default: 2 TiB for each 10,000 ranks).
    iterations : int
        How many times through all dimensions (default: 100).
    compute : Time, such as "1 us"
        Time of the computation before each (default: 0 ps).
    published_compute : bool
        Whether a rank computes for as long as in the published run, over all iterations, instead of
        compute (default: false).
    """

    ranks: int | None = ...
    volume: Size | None = ...
    iterations: int | None = ...
    compute: Time | None = ...
    published_compute: bool | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Fft3d(Motif):
    """FFT of three dimensions in pencils, there and back: all-to-alls of uneven parts (SST, Ember motif
    FFT3D).

    Parameters
    ----------
    ranks : int
        Number of ranks.
    rows : int
        Ranks that divide x, a divisor of ranks (default: as square as can be, the smaller side).
    nx : int
        Points along x, of all ranks together (default: 100).
    ny : int
        Points along y, of all ranks together (default: 100).
    nz : int
        Points along z, of all ranks together (default: 100).
    item_bytes : int
        Bytes of a real number; a complex one has twice as many (default: 8).
    iterations : int
        How many transforms there and back (default: 1).
    compute : Time, such as "1 us"
        Time of the computation along one dimension (default: 0 ps).
    compute_per_cell : Time, such as "1 us"
        More of it for each point of a rank (default: 1 ns).
    barriers : bool
        The barriers after each transform (default: true).
    """

    ranks: int
    rows: int | None = ...
    nx: int | None = ...
    ny: int | None = ...
    nz: int | None = ...
    item_bytes: int | None = ...
    iterations: int | None = ...
    compute: Time | None = ...
    compute_per_cell: Time | None = ...
    barriers: bool | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Halo3d(Motif):
    """Exchange with six neighbours in a grid, one dimension after the other (Ember, mpi/halo3d).

    Parameters
    ----------
    ranks : int
        Number of ranks (default: the product of the sides, which must then all be given).
    pex : int
        Ranks along x (default: as cubic as can be).
    pey : int
        Ranks along y (default: as cubic as can be).
    pez : int
        Ranks along z (default: as cubic as can be).
    nx : int
        Cells of a rank along x (default: 10).
    ny : int
        Cells of a rank along y (default: 10).
    nz : int
        Cells of a rank along z (default: 10).
    vars : int
        Numbers per cell (default: 1).
    item_bytes : int
        Bytes of a number (default: 8).
    iterations : int
        How many (default: 1).
    compute : Time, such as "1 us"
        Time of the computation of an iteration (default: 1 us).
    compute_per_cell : Time, such as "1 us"
        More of it for each number of each cell (default: 0 ps).
    periodic : bool
        Whether the ends of the grid are neighbours (default: false).
    reduce : bool
        Whether each iteration ends with an allreduce of 8 bytes (default: false).
    barriers : bool
        The two barriers before and the one after (default: true).
    """

    ranks: int | None = ...
    pex: int | None = ...
    pey: int | None = ...
    pez: int | None = ...
    nx: int | None = ...
    ny: int | None = ...
    nz: int | None = ...
    vars: int | None = ...
    item_bytes: int | None = ...
    iterations: int | None = ...
    compute: Time | None = ...
    compute_per_cell: Time | None = ...
    periodic: bool | None = ...
    reduce: bool | None = ...
    barriers: bool | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Halo3d26(Motif):
    """Exchange with all 26 neighbours in a grid at once: faces, edges, corners (Ember, mpi/halo3d-26).

    Parameters
    ----------
    ranks : int
        Number of ranks (default: the product of the sides, which must then all be given).
    pex : int
        Ranks along x (default: as cubic as can be).
    pey : int
        Ranks along y (default: as cubic as can be).
    pez : int
        Ranks along z (default: as cubic as can be).
    nx : int
        Cells of a rank along x (default: 10).
    ny : int
        Cells of a rank along y (default: 10).
    nz : int
        Cells of a rank along z (default: 10).
    vars : int
        Numbers per cell (default: 1).
    item_bytes : int
        Bytes of a number (default: 8).
    iterations : int
        How many (default: 1).
    compute : Time, such as "1 us"
        Time of the computation of an iteration (default: 1 us).
    compute_per_cell : Time, such as "1 us"
        More of it for each number of each cell (default: 0 ps).
    periodic : bool
        Whether the ends of the grid are neighbours (default: false).
    corners : bool
        Whether the eight corners take part; not so in Ember's own MPI code (default: true).
    reduce : bool
        Whether each iteration ends with an allreduce of 8 bytes (default: false).
    barriers : bool
        The two barriers before and the one after (default: true).
    """

    ranks: int | None = ...
    pex: int | None = ...
    pey: int | None = ...
    pez: int | None = ...
    nx: int | None = ...
    ny: int | None = ...
    nz: int | None = ...
    vars: int | None = ...
    item_bytes: int | None = ...
    iterations: int | None = ...
    compute: Time | None = ...
    compute_per_cell: Time | None = ...
    periodic: bool | None = ...
    corners: bool | None = ...
    reduce: bool | None = ...
    barriers: bool | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Hypre(Motif):
    """Stand-in for Hypre's algebraic multigrid: V-cycles with 26 neighbours and small messages, small
    allreduces (Jain et al., SC 2017 (P4); see docs/methods/applications.md).

    Parameters
    ----------
    ranks : int
        Number of ranks.
    iterations : int
        How many times all phases (default: 1).
    compute : Time, such as "1 us"
        Time of the computation of a rank in an iteration; assumed, from the share of communication in P4,
        fig. 7 (default: 35 ms).
    nx : int
        Cells of a rank along x on the finest level; source: recording hypre-amg-27 (default: 8).
    ny : int
        Cells of a rank along y on the finest level; source: recording hypre-amg-27 (default: 8).
    nz : int
        Cells of a rank along z on the finest level; source: recording hypre-amg-27 (default: 8).
    bytes_per_cell : Size, such as "4 KiB"
        Bytes for each cell between two neighbours; source: recording hypre-amg-27 (mean message of 124 B;
        P4: below 1 KB) (default: 14 B).
    sweeps : int
        V-cycles of messages for one of the solver, as smoothing exchanges repeatedly; assumed (default:
        2).
    reductions : int
        Allreduces of 8 bytes (their size: P4), as of conjugate gradients; assumed (default: 3).
    """

    ranks: int
    iterations: int | None = ...
    compute: Time | None = ...
    nx: int | None = ...
    ny: int | None = ...
    nz: int | None = ...
    bytes_per_cell: Size | None = ...
    sweeps: int | None = ...
    reductions: int | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Incast(Motif):
    """All ranks send to one at the same time (Ember, mpi/incast).

    Parameters
    ----------
    ranks : int
        Number of ranks; at least 2.
    bytes : Size, such as "4 KiB"
        From each rank (default: 8 KiB).
    target : int
        The rank that they send to (default: the last).
    iterations : int
        How many (default: 1).
    compute : Time, such as "1 us"
        Time of the computation before each (default: 0 ps).
    barriers : bool
        Those before, after, and between receives and sends of an iteration (default: true).
    """

    ranks: int
    bytes: Size | None = ...
    target: int | None = ...
    iterations: int | None = ...
    compute: Time | None = ...
    barriers: bool | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Mercury(Motif):
    """Stand-in for Mercury's particle transport: medium messages between far ranks, large collectives of all
    ranks (Jain et al., SC 2017 (P4); see docs/methods/applications.md).

    Parameters
    ----------
    ranks : int
        Number of ranks.
    iterations : int
        How many times all phases (default: 1).
    compute : Time, such as "1 us"
        Time of the computation of a rank in an iteration; assumed, from the share of communication in P4,
        fig. 7 (default: 30 ms).
    particles : Size, such as "4 KiB"
        Message to each of six neighbours; source: P4, medium messages between far ranks; the value is
        assumed (default: 16 KiB).
    exchanges : int
        Exchanges with the neighbours; assumed (default: 4).
    collective : Size, such as "4 KiB"
        An allreduce, a bcast and a reduce of all ranks; source: P4, tables 2 to 4 (default: 1 MB).
    """

    ranks: int
    iterations: int | None = ...
    compute: Time | None = ...
    particles: Size | None = ...
    exchanges: int | None = ...
    collective: Size | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Milc(Motif):
    """Stand-in for MILC's lattice QCD: exchange with eight neighbours in four dimensions, small allreduces
    (Jain et al., SC 2017 (P4); see docs/methods/applications.md).

    Parameters
    ----------
    ranks : int
        Number of ranks.
    iterations : int
        How many times all phases (default: 1).
    compute : Time, such as "1 us"
        Time of the computation of a rank in an iteration; assumed, from the share of communication in P4,
        fig. 7 (default: 19 ms).
    nx : int
        Sites of a rank along x; source: P4, 16384 sites per rank; the sides are assumed (default: 16).
    ny : int
        Sites of a rank along y; source: as nx (default: 16).
    nz : int
        Sites of a rank along z; source: as nx (default: 8).
    nt : int
        Sites of a rank along t; source: as nx (default: 8).
    bytes_per_site : Size, such as "4 KiB"
        Bytes for each site of a face, as of a colour vector of three complex numbers; assumed (default:
        48 B).
    exchanges : int
        Exchanges of the solver before the allreduces; assumed (default: 1).
    reductions : int
        Allreduces of 8 bytes, as of conjugate gradients; source: P4, small allreduces; the number is
        assumed (default: 2).
    """

    ranks: int
    iterations: int | None = ...
    compute: Time | None = ...
    nx: int | None = ...
    ny: int | None = ...
    nz: int | None = ...
    nt: int | None = ...
    bytes_per_site: Size | None = ...
    exchanges: int | None = ...
    reductions: int | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Multigrid(Motif):
    """Stand-in for Design Forward's MultiGrid: V-cycles with 26 neighbours, all ranks on all levels (Design
    Forward, MultiGrid (BoxLib)).

    Parameters
    ----------
    ranks : int
        Number of ranks (default: the product of the sides, or 110592).
    pex : int
        Ranks along x (default: as cubic as can be).
    pey : int
        Ranks along y (default: as cubic as can be).
    pez : int
        Ranks along z (default: as cubic as can be).
    nx : int
        Cells of a rank along x on the finest level (default: 32).
    ny : int
        Cells of a rank along y on the finest level (default: 32).
    nz : int
        Cells of a rank along z on the finest level (default: 32).
    levels : int
        From the finest to the coarsest (default: until the shortest side has two cells).
    neighbours : int
        6 or 26 (default: 26).
    volume : Size, such as "4 KiB"
        Bytes of all messages together (default: 326 GiB for each 110,592 ranks).
    bytes_per_cell : Size, such as "4 KiB"
        Instead of volume: bytes for each cell between two neighbours (default: from volume).
    iterations : int
        How many V-cycles (default: 1).
    compute : Time, such as "1 us"
        Time of the computation on the finest level; others: by their cells (default: 0 ps).
    compute_per_cell : Time, such as "1 us"
        More of it for each cell (default: 0 ps).
    published_compute : bool
        Whether a rank computes for as long as in the published run, over all iterations, instead of
        compute (default: false).
    periodic : bool
        Whether the ends of the grid are neighbours (default: false).
    reduce : bool
        Whether each cycle ends with an allreduce of 8 bytes (default: true).
    """

    ranks: int | None = ...
    pex: int | None = ...
    pey: int | None = ...
    pez: int | None = ...
    nx: int | None = ...
    ny: int | None = ...
    nz: int | None = ...
    levels: int | None = ...
    neighbours: int | None = ...
    volume: Size | None = ...
    bytes_per_cell: Size | None = ...
    iterations: int | None = ...
    compute: Time | None = ...
    compute_per_cell: Time | None = ...
    published_compute: bool | None = ...
    periodic: bool | None = ...
    reduce: bool | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Paradis(Motif):
    """Stand-in for ParaDiS's dislocation dynamics: imbalance, many small messages, few large ones, large
    allreduces (Jain et al., SC 2017 (P4); see docs/methods/applications.md).

    Parameters
    ----------
    ranks : int
        Number of ranks.
    iterations : int
        How many times all phases (default: 1).
    compute : Time, such as "1 us"
        Time of the computation of a rank in an iteration; assumed, from the share of communication in P4,
        fig. 7 (default: 60 ms).
    imbalance : float
        Greatest deviation of a rank's mean time from compute, as a fraction; assumed (default: 0.2).
    small : Size, such as "4 KiB"
        Message to a neighbour at a corner; at an edge four times, at a face 16 times as much; source: P4,
        small to medium messages; the value is assumed (default: 256 B).
    exchanges : int
        Exchanges with 26 neighbours; source: P4, many such messages; the number is assumed (default: 4).
    large : Size, such as "4 KiB"
        Message to each of six neighbours, once; source: P4, exchanges above 100 KB; the value is assumed
        (default: 128 KiB).
    reduction : Size, such as "4 KiB"
        An allreduce of all ranks; source: P4, large allreduces; the value is assumed (default: 256 KiB).
    """

    ranks: int
    iterations: int | None = ...
    compute: Time | None = ...
    imbalance: float | None = ...
    small: Size | None = ...
    exchanges: int | None = ...
    large: Size | None = ...
    reduction: Size | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Pf3d(Motif):
    """Stand-in for pF3D's laser-plasma interaction: all-to-all in planes of consecutive ranks, exchange with
    six neighbours (Jain et al., SC 2017 (P4); see docs/methods/applications.md).

    Parameters
    ----------
    ranks : int
        Number of ranks.
    iterations : int
        How many times all phases (default: 1).
    compute : Time, such as "1 us"
        Time of the computation of a rank in an iteration; assumed, from the share of communication in P4,
        fig. 7 (default: 64 ms).
    plane : int
        Consecutive ranks of an all-to-all; source: P4, 64 to 256 (default: all ranks if these are less
        than 64, else their divisor from 64 to 256 that is nearest to 128).
    pair : Size, such as "4 KiB"
        From each rank to each of its plane; source: P4, 1 MB of a rank in an all-to-all, here of 128
        ranks (default: 8 KiB).
    transforms : int
        All-to-alls, forth and back; assumed (default: 2).
    face : Size, such as "4 KiB"
        Message to each of six neighbours; assumed (default: 64 KiB).
    """

    ranks: int
    iterations: int | None = ...
    compute: Time | None = ...
    plane: int | None = ...
    pair: Size | None = ...
    transforms: int | None = ...
    face: Size | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Phases(Motif):
    """Motifs, collectives and computations in sequence, repeated and nested (composed by the experiment).

    Parameters
    ----------
    ranks : int
        Number of ranks.
    phases : Sequence[Phase or Motif or Mapping]
        The phases in their order.
    iterations : int
        How many times all phases (default: 1).
    grid : Sequence[int]
        Ranks in each dimension of the process grid, the first fastest: of rows, columns and planes
        (default: three sides, as cubic as can be).
    """

    ranks: int
    phases: Sequence[Phase | Motif | Table]
    iterations: int | None = ...
    grid: Sequence[int] | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class PingPong(Motif):
    """Pairs of ranks send messages there and back, for one size or several (Ember, mpi/pingpong).

    Parameters
    ----------
    ranks : int
        Number of ranks, at least 2; of an odd number, one has no partner (default: 2).
    pairs : {"neighbours", "halves", "first", "distance"}
        Who with whom: "neighbours" (0 and 1, 2 and 3), "halves" (0 and ranks / 2), "first" (0 and partner
        only), or "distance" (r and r + distance, as in mpptest's bisection) (default: neighbours).
    partner : int
        With pairs = "first": the other rank (default: 1).
    distance : int
        With pairs = "distance": difference of the ranks of a pair, in a ring (default: 1).
    bytes : Size, such as "4 KiB" or Sequence[Size, such as "4 KiB"]
        Size of a message, or a list of them, one after the other (default: 1 KiB).
    up_to : Size, such as "4 KiB"
        Sweep: sizes double from bytes up to this (default: no sweep).
    iterations : int
        How many times there and back with each size (default: 1).
    compute : Time, such as "1 us"
        Time of the first rank's computation before each (default: 0 ps).
    barriers : bool
        The barriers before and after (default: true).
    """

    ranks: int | None = ...
    pairs: Literal["neighbours", "halves", "first", "distance"] | None = ...
    partner: int | None = ...
    distance: int | None = ...
    bytes: Size | Sequence[Size] | None = ...
    up_to: Size | None = ...
    iterations: int | None = ...
    compute: Time | None = ...
    barriers: bool | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Qbox(Motif):
    """Stand-in for Qbox's molecular dynamics: all-to-all in columns of consecutive ranks, large collectives
    in rows (Jain et al., SC 2017 (P4); see docs/methods/applications.md).

    Parameters
    ----------
    ranks : int
        Number of ranks.
    iterations : int
        How many times all phases (default: 1).
    compute : Time, such as "1 us"
        Time of the computation of a rank in an iteration; assumed, from the share of communication in P4,
        fig. 7 (default: 23 ms).
    plane : int
        Ranks of a column, which are consecutive; source: P4, nearby columns; the value is assumed
        (default: all ranks if these are less than 64, else their divisor from 64 to 256 that is nearest
        to 128).
    pair : Size, such as "4 KiB"
        From each rank to each of its column; assumed (default: 2 KiB).
    transforms : int
        All-to-alls in columns, forth and back; assumed (default: 2).
    large : Size, such as "4 KiB"
        a bcast, a reduce and an allreduce in each row; source: P4, large messages of 128 to 1024 ranks;
        the value is assumed (default: 256 KiB).
    """

    ranks: int
    iterations: int | None = ...
    compute: Time | None = ...
    plane: int | None = ...
    pair: Size | None = ...
    transforms: int | None = ...
    large: Size | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class RandomPairs(Motif):
    """Each rank exchanges with one of the other half, found by lot or opposite (Chatterbug, pairs).

    Parameters
    ----------
    ranks : int
        Number of ranks; even.
    bytes : Size, such as "4 KiB"
        Of each message (default: 64 KiB).
    iterations : int
        How many (default: 1).
    compute : Time, such as "1 us"
        Time of the computation before each (default: 0 ps).
    random : bool
        Whether partners are found by lot; else rank r and r + ranks / 2 are (default: true).
    seed : int
        Of the lot (default: 1331).
    barriers : bool
        The barriers before and after (default: true).
    """

    ranks: int
    bytes: Size | None = ...
    iterations: int | None = ...
    compute: Time | None = ...
    random: bool | None = ...
    seed: int | None = ...
    barriers: bool | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Stencil4d(Motif):
    """Exchange with eight neighbours in a grid of four dimensions at once (Chatterbug, stencil4d).

    Parameters
    ----------
    ranks : int
        Number of ranks (default: the product of the sides, which must then all be given).
    pex : int
        Ranks along x (default: as cubic as can be).
    pey : int
        Ranks along y (default: as cubic as can be).
    pez : int
        Ranks along z (default: as cubic as can be).
    pet : int
        Ranks along t (default: as cubic as can be).
    nx : int
        Cells of a rank along x (default: 8).
    ny : int
        Cells of a rank along y (default: 8).
    nz : int
        Cells of a rank along z (default: 8).
    nt : int
        Cells of a rank along t (default: 8).
    vars : int
        Numbers per cell (default: 1).
    item_bytes : int
        Bytes of a number (default: 8).
    iterations : int
        How many (default: 1).
    compute : Time, such as "1 us"
        Time of the computation of an iteration (default: 0 ps).
    compute_per_cell : Time, such as "1 us"
        More of it for each number of each cell (default: 0 ps).
    periodic : bool
        Whether the ends of the grid are neighbours (default: true).
    barriers : bool
        The barriers before and after (default: true).
    """

    ranks: int | None = ...
    pex: int | None = ...
    pey: int | None = ...
    pez: int | None = ...
    pet: int | None = ...
    nx: int | None = ...
    ny: int | None = ...
    nz: int | None = ...
    nt: int | None = ...
    vars: int | None = ...
    item_bytes: int | None = ...
    iterations: int | None = ...
    compute: Time | None = ...
    compute_per_cell: Time | None = ...
    periodic: bool | None = ...
    barriers: bool | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Subcom3dA2a(Motif):
    """All-to-all in the rows of a grid along x, then y, then z (Chatterbug, subcom3d-a2a).

    Parameters
    ----------
    ranks : int
        Number of ranks (default: the product of the sides, which must then all be given).
    pex : int
        Ranks along x (default: as cubic as can be).
    pey : int
        Ranks along y (default: as cubic as can be).
    pez : int
        Ranks along z (default: as cubic as can be).
    bytes_x : Size, such as "4 KiB"
        From each rank to each of its row along x; 0: none of these all-to-alls (default: 4 KiB).
    bytes_y : Size, such as "4 KiB"
        The same along y (default: 4 KiB).
    bytes_z : Size, such as "4 KiB"
        The same along z (default: 4 KiB).
    iterations : int
        How many (default: 1).
    compute : Time, such as "1 us"
        Time of the computation before each all-to-all (default: 0 ps).
    barriers : bool
        The barriers before and after (default: true).
    """

    ranks: int | None = ...
    pex: int | None = ...
    pey: int | None = ...
    pez: int | None = ...
    bytes_x: Size | None = ...
    bytes_y: Size | None = ...
    bytes_z: Size | None = ...
    iterations: int | None = ...
    compute: Time | None = ...
    barriers: bool | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Sweep3d(Motif):
    """Blocking wavefronts through a grid of two dimensions, two from each corner, in blocks (Ember,
    mpi/sweep3d).

    Parameters
    ----------
    ranks : int
        Number of ranks (default: the product of the sides, which must then all be given).
    pex : int
        Ranks along x (default: as square as can be).
    pey : int
        Ranks along y (default: as square as can be).
    nx : int
        Cells of a rank along x (default: 50).
    ny : int
        Cells of a rank along y (default: 50).
    nz : int
        Cells along z, which is not divided (default: 100).
    kba : int
        Cells along z in a block, a divisor of nz (default: 10).
    vars : int
        Numbers per cell (default: 1).
    item_bytes : int
        Bytes of a number (default: 8).
    iterations : int
        How many times all eight sweeps (default: 1).
    compute : Time, such as "1 us"
        Time of the computation of a block (default: 1 us).
    compute_per_cell : Time, such as "1 us"
        More of it for each number of each cell of a block (default: 0 ps).
    barriers : bool
        The barrier at the end (default: true).
    """

    ranks: int | None = ...
    pex: int | None = ...
    pey: int | None = ...
    nx: int | None = ...
    ny: int | None = ...
    nz: int | None = ...
    kba: int | None = ...
    vars: int | None = ...
    item_bytes: int | None = ...
    iterations: int | None = ...
    compute: Time | None = ...
    compute_per_cell: Time | None = ...
    barriers: bool | None = ...
