# Made from the registry: UPDATE_EXPECTED=1 pytest python/tests/test_parts.py
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fabricsim.kinds import Topology
from fabricsim.part import Path

__all__ = [
    "Dragonfly",
    "Dragonfly2d",
    "DragonflyPlus",
    "ExpressMesh",
    "FatTree",
    "Graph",
    "Hyperx",
    "Mesh",
    "SlimFly",
    "Topology",
    "Torus",
]

@dataclass(frozen=True, kw_only=True, repr=False)
class Dragonfly(Topology):
    """Groups of routers, all-to-all inside a group, links between all groups (Kim et al. 2008).

    Parameters
    ----------
    hosts_per_router : int
        p, hosts on every router (required, or network.hosts).
    routers_per_group : int
        a, routers in every group, all linked to each other (required, or network.hosts).
    global_links_per_router : int
        h, links of every router to other groups (required, or links_between_groups, or network.hosts).
    links_between_groups : int
        Links between any two groups, instead of the global links of a router (default: from the links of
        a router).
    groups : int
        1 to the global ports of a group + 1; fewer groups have several links to each other (default: one
        more than the links of a group to others).
    arrangement : {"consecutive", "palmtree", "random"}
        Which global port leads where: consecutive, palmtree or random (default: consecutive).
    seed : int
        Of arrangement random (default: 1).
    """

    hosts_per_router: int | None = ...
    routers_per_group: int | None = ...
    global_links_per_router: int | None = ...
    links_between_groups: int | None = ...
    groups: int | None = ...
    arrangement: Literal["consecutive", "palmtree", "random"] | None = ...
    seed: int | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Dragonfly2d(Topology):
    """Dragonfly whose groups are grids, all-to-all in every row and column (Cray XC).

    Parameters
    ----------
    hosts_per_router : int
        Hosts on every router (default: 4).
    rows : int
        Rows of routers in every group (default: 6).
    columns : int
        Columns of routers in every group: how many a row has (default: 16).
    row_links : int
        Parallel links between two routers of a row (default: 1).
    column_links : int
        Parallel links between two routers of a column (default: 3).
    global_links_per_router : int
        Links of every router to other groups (required, or links_between_groups, or network.hosts).
    links_between_groups : int
        Links between any two groups, instead of the global links of a router (default: from the links of
        a router).
    groups : int
        1 to the global ports of a group + 1; fewer groups have several links to each other (default: one
        more than the links of a group to others).
    arrangement : {"consecutive", "palmtree", "random"}
        Which global port leads where: consecutive, palmtree or random (default: consecutive).
    seed : int
        Of arrangement random (default: 1).
    """

    hosts_per_router: int | None = ...
    rows: int | None = ...
    columns: int | None = ...
    row_links: int | None = ...
    column_links: int | None = ...
    global_links_per_router: int | None = ...
    links_between_groups: int | None = ...
    groups: int | None = ...
    arrangement: Literal["consecutive", "palmtree", "random"] | None = ...
    seed: int | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class DragonflyPlus(Topology):
    """Groups of leaves with hosts and spines with global links (Dragonfly+, Megafly; Shpiner et al. 2017).

    Parameters
    ----------
    hosts_per_leaf : int
        Hosts on every leaf (required, or network.hosts).
    leaves_per_group : int
        Leaf routers in every group (required, or network.hosts).
    spines_per_group : int
        Spine routers in every group, each linked to all of its leaves (default: leaves_per_group).
    global_links_per_spine : int
        Links of every spine to other groups (required, or links_between_groups, or network.hosts).
    links_between_groups : int
        Links between any two groups, instead of the global links of a router (default: from the links of
        a router).
    groups : int
        1 to the global ports of a group + 1; fewer groups have several links to each other (default: one
        more than the links of a group to others).
    arrangement : {"consecutive", "palmtree", "random"}
        Which global port leads where: consecutive, palmtree or random (default: consecutive).
    seed : int
        Of arrangement random (default: 1).
    """

    hosts_per_leaf: int | None = ...
    leaves_per_group: int | None = ...
    spines_per_group: int | None = ...
    global_links_per_spine: int | None = ...
    links_between_groups: int | None = ...
    groups: int | None = ...
    arrangement: Literal["consecutive", "palmtree", "random"] | None = ...
    seed: int | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class ExpressMesh(Topology):
    """Mesh with links to every gap-th router behind the neighbour (Dally 1991, CODES express mesh).

    Parameters
    ----------
    sizes : Sequence[int]
        Routers in each dimension, 1 to 8 dimensions, for example [8, 8, 8] (required, or network.hosts).
    gap : int or Sequence[int]
        G: links go to the routers 1, 1 + g, 1 + 2g, ... away, one number or a list with one for each
        dimension (required, or network.hosts).
    hosts_per_router : int
        Hosts on every router (default: 1).
    """

    sizes: Sequence[int] | None = ...
    gap: int | Sequence[int] | None = ...
    hosts_per_router: int | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class FatTree(Topology):
    """Levels of routers of one radix or of given ports, tapered and partly filled as wished.

    Parameters
    ----------
    radix : int
        Ports of every router; even (required, or down and up, or network.hosts).
    levels : int
        Levels of routers, 2 to 8 (default: 3).
    tapering : str
        Hosts per leaf : uplinks per leaf, such as "2:1"; both are then as large as the radix allows
        (default: 1:1).
    hosts_per_leaf : int
        Hosts on every leaf, with uplinks_per_leaf instead of tapering (default: from tapering).
    uplinks_per_leaf : int
        Uplinks of every leaf, with hosts_per_leaf instead of tapering (default: from tapering).
    leaves : int
        Number of leaves; the last pod has those that are left over (default: all that fit).
    pods : int
        Three or more levels: subtrees of the top level, at most the radix (default: the radix).
    down : Sequence[int]
        Instead of a radix: downward ports of a router, one number for each level, the first one hosts
        (default: none).
    up : Sequence[int]
        With down: upward ports of a router, one number for each level but the top (default: none).
    cables : int or Sequence[int]
        With down: how many of the upward ports go to one router above, one number or a list as for up
        (default: 1, with down).
    """

    radix: int | None = ...
    levels: int | None = ...
    tapering: str | None = ...
    hosts_per_leaf: int | None = ...
    uplinks_per_leaf: int | None = ...
    leaves: int | None = ...
    pods: int | None = ...
    down: Sequence[int] | None = ...
    up: Sequence[int] | None = ...
    cables: int | Sequence[int] | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Graph(Topology):
    """Any network, from an edge list, GraphML, node-link JSON or a BookSim anynet file.

    Parameters
    ----------
    file : Path
        File that describes the network, relative to the experiment's (default: this or edges).
    edges : Sequence[Sequence[int or str or Mapping]]
        Instead of a file, its cables: pairs of router names, with a third number where they are several,
        and a table of attributes at the end, such as { bandwidth = "200 Gbps" } (default: this or file).
    format : {"edge-list", "graphml", "node-link", "anynet"}
        Format of the file (default: by the ending of the file).
    hosts_per_router : int
        Hosts on every router, where the file names no hosts (default: 1).
    ignore_latencies : bool
        Anynet only: pass over the latencies of the file instead of refusing them (default: false).
    """

    file: Path | None = ...
    edges: Sequence[Sequence[int | str | Mapping[str, int | float | str]]] | None = ...
    format: Literal["edge-list", "graphml", "node-link", "anynet"] | None = ...
    hosts_per_router: int | None = ...
    ignore_latencies: bool | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Hyperx(Topology):
    """Grid of any number of dimensions, all-to-all within each (Ahn et al. 2009).

    Parameters
    ----------
    shape : Sequence[int]
        Routers in each dimension, 1 to 8 dimensions, for example [4, 4, 4] (required, or network.hosts).
    width : int or Sequence[int]
        Links between two routers of a dimension, one number or a list with one for each (default: 1).
    hosts_per_router : int
        Hosts on every router (default: 1).
    """

    shape: Sequence[int] | None = ...
    width: int | Sequence[int] | None = ...
    hosts_per_router: int | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Mesh(Topology):
    """Grid of any number of dimensions without wrap-around links (k-ary n-mesh).

    Parameters
    ----------
    sizes : Sequence[int]
        Routers in each dimension, 1 to 12 dimensions, for example [4, 4, 8] (required, or network.hosts).
    links : int or Sequence[int]
        Parallel cables between neighbours, one number or a list with one for each dimension (default: 1).
    hosts_per_router : int
        Hosts on every router (default: 1).
    """

    sizes: Sequence[int] | None = ...
    links: int | Sequence[int] | None = ...
    hosts_per_router: int | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class SlimFly(Topology):
    """Routers at most two links apart, nearly as many as possible (Besta and Hoefler 2014).

    Parameters
    ----------
    q : int
        Power of a prime, at least 3: 2 q^2 routers, each with about 3q/2 links to others (required, or
        network.hosts).
    hosts_per_router : int
        Hosts on every router (default: half of its links to routers, rounded up).
    """

    q: int | None = ...
    hosts_per_router: int | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Torus(Topology):
    """Grid of any number of dimensions, each a ring (k-ary n-cube).

    Parameters
    ----------
    sizes : Sequence[int]
        Routers in each dimension, 1 to 12 dimensions, for example [4, 4, 8] (required, or network.hosts).
    links : int or Sequence[int]
        Parallel cables between neighbours, one number or a list with one for each dimension (default: 1).
    hosts_per_router : int
        Hosts on every router (default: 1).
    """

    sizes: Sequence[int] | None = ...
    links: int | Sequence[int] | None = ...
    hosts_per_router: int | None = ...
