# Made from the registry: UPDATE_EXPECTED=1 pytest python/tests/test_parts.py
from dataclasses import dataclass
from typing import Literal

from fabricsim.kinds import Routing
from fabricsim.part import Size, Time

__all__ = [
    "Adaptive",
    "Dal",
    "DestinationModK",
    "DimensionOrder",
    "Doal",
    "Minimal",
    "MinimalAdaptive",
    "Par",
    "Piggyback",
    "Routing",
    "Scatter",
    "SourceDestinationHashed",
    "Ugal",
    "Valiant",
]

@dataclass(frozen=True, kw_only=True, repr=False)
class Adaptive(Routing):
    """Upwards through the least loaded port, downwards on the unique path (on fat-tree).

    Parameters
    ----------
    metric : {"total", "queue", "credits"}
        Bytes that are the load of an output: those that wait in the router (queue), those in flight or in
        the buffer behind the link by its credits (credits), or both (total) (default: total).
    metric_scope : {"port", "vc"}
        Virtual channels whose bytes count: all of the port (port), or the one that the packet would take
        (vc) (default: port).
    """

    metric: Literal["total", "queue", "credits"] | None = ...
    metric_scope: Literal["port", "vc"] | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Dal(Routing):
    """Dimensions in any order, in each straight or by one detour, by load, with an escape (Ahn et al. 2009)
    (on hyperx).

    Parameters
    ----------
    adaptive_vcs : int
        VCs on which any dimension and detour may be taken (default: 1).
    bias : Size, such as "4 KiB"
        Bytes by which the path without a detour may cost more; thirty packets of 256 B (default: 7680 B).
    metric : {"total", "queue", "credits"}
        Bytes that are the load of an output: those that wait in the router (queue), those in flight or in
        the buffer behind the link by its credits (credits), or both (total) (default: total).
    metric_scope : {"port", "vc"}
        Virtual channels whose bytes count: all of the port (port), or the one that the packet would take
        (vc) (default: port).
    """

    adaptive_vcs: int | None = ...
    bias: Size | None = ...
    metric: Literal["total", "queue", "credits"] | None = ...
    metric_scope: Literal["port", "vc"] | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class DestinationModK(Routing):
    """Static: the destination's number picks the upward ports (D-mod-k, Zahavi 2010) (on fat-tree)."""

@dataclass(frozen=True, kw_only=True, repr=False)
class DimensionOrder(Routing):
    """Dimension after dimension, in the shorter direction (Dally and Seitz 1987) (on torus, mesh, hyperx,
    express-mesh).

    Parameters
    ----------
    deadlock : {"dateline", "dateline-at-entry", "bubble"}
        What keeps the rings of a torus moving: dateline (2 VCs), dateline-at-entry (2 VCs, one of which a
        packet keeps in a ring, as in BookSim) or bubble (1 VC) (default: dateline).
    paths : {"hashed", "random"}
        Which direction of a ring of a torus if both are equally long: hashed, by source and destination,
        or random, for each packet (default: hashed).
    """

    deadlock: Literal["dateline", "dateline-at-entry", "bubble"] | None = ...
    paths: Literal["hashed", "random"] | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Doal(Routing):
    """Dimension after dimension, in each straight or by one detour, by load (Ahn et al. 2009; DimWAR) (on
    hyperx).

    Parameters
    ----------
    bias : Size, such as "4 KiB"
        Bytes by which the path without a detour may cost more; thirty packets of 256 B (default: 7680 B).
    metric : {"total", "queue", "credits"}
        Bytes that are the load of an output: those that wait in the router (queue), those in flight or in
        the buffer behind the link by its credits (credits), or both (total) (default: total).
    metric_scope : {"port", "vc"}
        Virtual channels whose bytes count: all of the port (port), or the one that the packet would take
        (vc) (default: port).
    """

    bias: Size | None = ...
    metric: Literal["total", "queue", "credits"] | None = ...
    metric_scope: Literal["port", "vc"] | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Minimal(Routing):
    """a shortest path; in a dragonfly with at most one global link (MIN of Kim et al. 2008) (on dragonfly,
    dragonfly-2d, dragonfly-plus, express-mesh, graph, hyperx, slim-fly).

    Parameters
    ----------
    paths : {"hashed", "random", "adaptive"}
        Which of several shortest paths: hashed, by source and destination; adaptive, by load; in networks
        of groups also random (default: adaptive in a dragonfly-plus; elsewhere hashed).
    metric : {"total", "queue", "credits"}
        Bytes that are the load of an output: those that wait in the router (queue), those in flight or in
        the buffer behind the link by its credits (credits), or both (total) (default: total).
    metric_scope : {"port", "vc"}
        Virtual channels whose bytes count: all of the port (port), or the one that the packet would take
        (vc) (default: port).
    vcs : {"by-segment", "by-phase"}
        Virtual channels of a path: by-segment, without cycles of waiting packets; by-phase, in a
        dragonfly those of BookSim, which under ugal can deadlock (default: by-segment).
    """

    paths: Literal["hashed", "random", "adaptive"] | None = ...
    metric: Literal["total", "queue", "credits"] | None = ...
    metric_scope: Literal["port", "vc"] | None = ...
    vcs: Literal["by-segment", "by-phase"] | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class MinimalAdaptive(Routing):
    """Any shortest path by load, with an escape in dimension order (Duato 1996; Blue Gene/L) (on torus,
    mesh, hyperx).

    Parameters
    ----------
    adaptive_vcs : int
        VCs on which any shortest path may be taken (default: 1).
    escape : {"dateline", "bubble"}
        What keeps the escape rings of a torus moving: dateline (2 VCs) or bubble (1 VC) (default:
        dateline).
    metric : {"total", "queue", "credits"}
        Bytes that are the load of an output: those that wait in the router (queue), those in flight or in
        the buffer behind the link by its credits (credits), or both (total) (default: total).
    metric_scope : {"port", "vc"}
        Virtual channels whose bytes count: all of the port (port), or the one that the packet would take
        (vc) (default: port).
    """

    adaptive_vcs: int | None = ...
    escape: Literal["dateline", "bubble"] | None = ...
    metric: Literal["total", "queue", "credits"] | None = ...
    metric_scope: Literal["port", "vc"] | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Par(Routing):
    """As ugal, but a minimal path can be left at later routers, too (Jiang et al. 2009) (on dragonfly,
    dragonfly-2d, dragonfly-plus, express-mesh, graph, hyperx, mesh, slim-fly, torus).

    Parameters
    ----------
    bias : Size, such as "4 KiB"
        Bytes by which the minimal path's port may be more loaded (default: 7680 B, thirty packets of 256
        B, in networks of groups; elsewhere 0 B).
    weight : float
        Factor on the cost of the non-minimal path before the comparison, in steps of 1/65536 (default: 2
        in networks of groups; elsewhere 1).
    cost : {"load", "load-hops", "load-remaining"}
        Compared quantity: load, or the load times the links of the path (load-hops), or times those of a
        shortest path from the next router to the destination (load-remaining) (default: load in networks
        of groups; elsewhere load-hops).
    candidates : int
        Random nodes tried, of which the cheapest is compared (default: 1; 4 where there are neither
        groups nor dimensions).
    intermediate : {"router", "any-group", "group", "global-link"}
        What a non-minimal path goes through: router or, in networks of groups, group, or global-link, a
        link of the source's group; there router is one of a third group, and any-group one of all, of
        which those in the groups of source and destination mean the minimal path (default: router).
    paths : {"hashed", "random", "adaptive"}
        Which of equal paths in networks of groups (spine, link between two groups): hashed, by source,
        intermediate node and destination; random or adaptive, at every router (default: adaptive in a
        dragonfly-plus; elsewhere hashed).
    local : {"minimal", "ugal"}
        Paths of packets that stay in their group, in networks of groups: minimal, or ugal, also through a
        random router of the group (default: minimal).
    metric : {"total", "queue", "credits"}
        Bytes that are the load of an output: those that wait in the router (queue), those in flight or in
        the buffer behind the link by its credits (credits), or both (total) (default: total).
    metric_scope : {"port", "vc"}
        Virtual channels whose bytes count: all of the port (port), or the one that the packet would take
        (vc) (default: port).
    intermediate_spine : {"direct", "leaf", "load"}
        Way from a spine of an intermediate group, if it has a link to the destination's group: direct,
        over this link; leaf, down to a router with hosts first; load, by the rule of the algorithm
        (default: direct).
    detours : {"any", "linked"}
        Groups among which a later router draws, in networks of groups: any, or linked, only those to
        which it has a link (default: any).
    """

    bias: Size | None = ...
    weight: float | None = ...
    cost: Literal["load", "load-hops", "load-remaining"] | None = ...
    candidates: int | None = ...
    intermediate: Literal["router", "any-group", "group", "global-link"] | None = ...
    paths: Literal["hashed", "random", "adaptive"] | None = ...
    local: Literal["minimal", "ugal"] | None = ...
    metric: Literal["total", "queue", "credits"] | None = ...
    metric_scope: Literal["port", "vc"] | None = ...
    intermediate_spine: Literal["direct", "leaf", "load"] | None = ...
    detours: Literal["any", "linked"] | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Piggyback(Routing):
    """As ugal, but avoids links to other groups that are reported as congested (PB, Jiang et al. 2009) (on
    dragonfly, dragonfly-2d, dragonfly-plus).

    Parameters
    ----------
    bias : Size, such as "4 KiB"
        Bytes by which the minimal path's port may be more loaded (default: 7680 B, thirty packets of 256
        B, in networks of groups; elsewhere 0 B).
    weight : float
        Factor on the cost of the non-minimal path before the comparison, in steps of 1/65536 (default: 2
        in networks of groups; elsewhere 1).
    cost : {"load", "load-hops", "load-remaining"}
        Compared quantity: load, or the load times the links of the path (load-hops), or times those of a
        shortest path from the next router to the destination (load-remaining) (default: load in networks
        of groups; elsewhere load-hops).
    candidates : int
        Random nodes tried, of which the cheapest is compared (default: 1; 4 where there are neither
        groups nor dimensions).
    intermediate : {"router", "any-group", "group", "global-link"}
        What a non-minimal path goes through: router or, in networks of groups, group, or global-link, a
        link of the source's group; there router is one of a third group, and any-group one of all, of
        which those in the groups of source and destination mean the minimal path (default: router).
    paths : {"hashed", "random", "adaptive"}
        Which of equal paths in networks of groups (spine, link between two groups): hashed, by source,
        intermediate node and destination; random or adaptive, at every router (default: adaptive in a
        dragonfly-plus; elsewhere hashed).
    local : {"minimal", "ugal"}
        Paths of packets that stay in their group, in networks of groups: minimal, or ugal, also through a
        random router of the group (default: minimal).
    metric : {"total", "queue", "credits"}
        Bytes that are the load of an output: those that wait in the router (queue), those in flight or in
        the buffer behind the link by its credits (credits), or both (total) (default: total).
    metric_scope : {"port", "vc"}
        Virtual channels whose bytes count: all of the port (port), or the one that the packet would take
        (vc) (default: port).
    intermediate_spine : {"direct", "leaf", "load"}
        Way from a spine of an intermediate group, if it has a link to the destination's group: direct,
        over this link; leaf, down to a router with hosts first; load, by the rule of the algorithm
        (default: direct).
    threshold : Size, such as "4 KiB"
        Bytes above twice the mean of its router's links from which on a link is congested (five packets
        of 256 B) (default: 1280 B).
    period : Time, such as "1 us"
        Time between two load reports of a router to its group (default: 100 ns).
    """

    bias: Size | None = ...
    weight: float | None = ...
    cost: Literal["load", "load-hops", "load-remaining"] | None = ...
    candidates: int | None = ...
    intermediate: Literal["router", "any-group", "group", "global-link"] | None = ...
    paths: Literal["hashed", "random", "adaptive"] | None = ...
    local: Literal["minimal", "ugal"] | None = ...
    metric: Literal["total", "queue", "credits"] | None = ...
    metric_scope: Literal["port", "vc"] | None = ...
    intermediate_spine: Literal["direct", "leaf", "load"] | None = ...
    threshold: Size | None = ...
    period: Time | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Scatter(Routing):
    """Upwards through a random port, each packet for itself (packet spraying) (on fat-tree)."""

@dataclass(frozen=True, kw_only=True, repr=False)
class SourceDestinationHashed(Routing):
    """Static: a hash of source and destination picks the upward ports (ECMP, RFC 2992) (on fat-tree)."""

@dataclass(frozen=True, kw_only=True, repr=False)
class Ugal(Routing):
    """Minimal, or through a random router or group if that is less congested (UGAL-L) (on dragonfly,
    dragonfly-2d, dragonfly-plus, express-mesh, graph, hyperx, mesh, slim-fly, torus).

    Parameters
    ----------
    bias : Size, such as "4 KiB"
        Bytes by which the minimal path's port may be more loaded (default: 7680 B, thirty packets of 256
        B, in networks of groups; elsewhere 0 B).
    weight : float
        Factor on the cost of the non-minimal path before the comparison, in steps of 1/65536 (default: 2
        in networks of groups; elsewhere 1).
    cost : {"load", "load-hops", "load-remaining"}
        Compared quantity: load, or the load times the links of the path (load-hops), or times those of a
        shortest path from the next router to the destination (load-remaining) (default: load in networks
        of groups; elsewhere load-hops).
    candidates : int
        Random nodes tried, of which the cheapest is compared (default: 1; 4 where there are neither
        groups nor dimensions).
    intermediate : {"router", "any-group", "group", "global-link"}
        What a non-minimal path goes through: router or, in networks of groups, group, or global-link, a
        link of the source's group; there router is one of a third group, and any-group one of all, of
        which those in the groups of source and destination mean the minimal path (default: router).
    paths : {"hashed", "random", "adaptive"}
        Which of equal paths in networks of groups (spine, link between two groups): hashed, by source,
        intermediate node and destination; random or adaptive, at every router (default: adaptive in a
        dragonfly-plus; elsewhere hashed).
    local : {"minimal", "ugal"}
        Paths of packets that stay in their group, in networks of groups: minimal, or ugal, also through a
        random router of the group (default: minimal).
    metric : {"total", "queue", "credits"}
        Bytes that are the load of an output: those that wait in the router (queue), those in flight or in
        the buffer behind the link by its credits (credits), or both (total) (default: total).
    metric_scope : {"port", "vc"}
        Virtual channels whose bytes count: all of the port (port), or the one that the packet would take
        (vc) (default: port).
    intermediate_spine : {"direct", "leaf", "load"}
        Way from a spine of an intermediate group, if it has a link to the destination's group: direct,
        over this link; leaf, down to a router with hosts first; load, by the rule of the algorithm
        (default: direct).
    information : {"router", "group"}
        Whose loads decide: those of the packet's router (UGAL-L) or, in networks of groups, group, of all
        links that leave it, too (UGAL-G) (default: router).
    period : Time, such as "1 us"
        Time between two load reports of a router to its group (default: 100 ns).
    vcs : {"by-segment", "by-phase"}
        Virtual channels of a path: by-segment, without cycles of waiting packets; by-phase, in a
        dragonfly those of BookSim, which under ugal can deadlock (default: by-segment).
    """

    bias: Size | None = ...
    weight: float | None = ...
    cost: Literal["load", "load-hops", "load-remaining"] | None = ...
    candidates: int | None = ...
    intermediate: Literal["router", "any-group", "group", "global-link"] | None = ...
    paths: Literal["hashed", "random", "adaptive"] | None = ...
    local: Literal["minimal", "ugal"] | None = ...
    metric: Literal["total", "queue", "credits"] | None = ...
    metric_scope: Literal["port", "vc"] | None = ...
    intermediate_spine: Literal["direct", "leaf", "load"] | None = ...
    information: Literal["router", "group"] | None = ...
    period: Time | None = ...
    vcs: Literal["by-segment", "by-phase"] | None = ...

@dataclass(frozen=True, kw_only=True, repr=False)
class Valiant(Routing):
    """Every packet through a random router or group (Valiant 1982) (on dragonfly, dragonfly-2d, dragonfly-
    plus, express-mesh, graph, hyperx, mesh, slim-fly, torus).

    Parameters
    ----------
    intermediate : {"router", "any-router", "group", "global-link"}
        What a path goes through: router or, in networks of groups, group, or global-link, a link of the
        source's group; router is one in a group that is neither the source's nor the destination's, or,
        without groups, one other than these two, and any-router any one (default: router).
    paths : {"hashed", "random", "adaptive"}
        Which of equal paths in networks of groups (spine, link between two groups): hashed, by source,
        intermediate node and destination; random or adaptive, at every router (default: adaptive in a
        dragonfly-plus; elsewhere hashed).
    local : {"minimal", "valiant", "ugal"}
        Paths of packets that stay in their group, in networks of groups: minimal, or through a random
        router of the group, always (valiant) or by load (ugal) (default: minimal).
    metric : {"total", "queue", "credits"}
        Bytes that are the load of an output: those that wait in the router (queue), those in flight or in
        the buffer behind the link by its credits (credits), or both (total) (default: total).
    metric_scope : {"port", "vc"}
        Virtual channels whose bytes count: all of the port (port), or the one that the packet would take
        (vc) (default: port).
    intermediate_spine : {"direct", "leaf", "load"}
        Way from a spine of an intermediate group, if it has a link to the destination's group: direct,
        over this link; leaf, down to a router with hosts first; load, by the rule of the algorithm
        (default: direct).
    """

    intermediate: Literal["router", "any-router", "group", "global-link"] | None = ...
    paths: Literal["hashed", "random", "adaptive"] | None = ...
    local: Literal["minimal", "valiant", "ugal"] | None = ...
    metric: Literal["total", "queue", "credits"] | None = ...
    metric_scope: Literal["port", "vc"] | None = ...
    intermediate_spine: Literal["direct", "leaf", "load"] | None = ...
