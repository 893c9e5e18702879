"""Experiments as typed objects, with the keys of the TOML file.

A field that is ``None`` takes the simulator's default, which the result's summary shows. The simulation core
alone checks values, so that there is one definition and one message. Quantities are texts with their unit, as
in the file: ``"100 Gbps"``, ``"50 ns"``. A dict with the same keys can replace any class.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, TypeAlias

import tomli_w

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from fabricsim import _core, display
from fabricsim._errors import ExperimentError
from fabricsim._input import read_text
from fabricsim.mapping import RankMapping
from fabricsim.motif import Motif
from fabricsim.part import Given, Rate, Size, Table, Time, Watts, field_hints, given, is_path, plain, typed
from fabricsim.placement import Placement
from fabricsim.program import Program
from fabricsim.routing import Routing
from fabricsim.topology import Topology
from fabricsim.traffic import Pattern
from fabricsim.workload import Source

__all__ = [
    "Collect",
    "Collectives",
    "Compute",
    "Draw",
    "Experiment",
    "ExperimentLike",
    "Job",
    "Link",
    "LinkClass",
    "Mpi",
    "Network",
    "Nic",
    "Optimistic",
    "Power",
    "Router",
    "Routers",
    "Rule",
    "Run",
    "dumps",
]

Barrier: TypeAlias = Literal[
    "dissemination", "recursive-doubling", "tree", "linear", "binary-tree", "two-level"
]
Bcast: TypeAlias = Literal[
    "binomial",
    "scatter-recursive-doubling-allgather",
    "scatter-ring-allgather",
    "pipeline",
    "linear",
    "binary-tree",
    "knomial",
    "chain",
    "two-level",
]
Reduce: TypeAlias = Literal[
    "binomial",
    "rabenseifner",
    "pipeline",
    "linear",
    "binary-tree",
    "in-order-binary-tree",
    "chain",
    "two-level",
]
Allreduce: TypeAlias = Literal[
    "recursive-doubling",
    "rabenseifner",
    "ring",
    "reduce-bcast",
    "double-binary-tree",
    "binary-tree",
    "two-level",
]
Allgather: TypeAlias = Literal[
    "ring", "recursive-doubling", "bruck", "neighbor-exchange", "gather-bcast", "two-level"
]
Allgatherv: TypeAlias = Literal["ring", "recursive-doubling", "bruck", "neighbor-exchange", "gather-bcast"]
Alltoall: TypeAlias = Literal["pairwise", "scattered", "linear", "bruck", "pairwise-exchange", "ring"]
Alltoallv: TypeAlias = Literal["pairwise", "scattered", "linear", "pairwise-exchange"]
Gather: TypeAlias = Literal["binomial", "linear", "two-level"]
Gatherv: TypeAlias = Literal["linear"]
ReduceScatter: TypeAlias = Literal[
    "pairwise", "recursive-halving", "recursive-doubling", "ring", "reduce-scatterv"
]
Scan: TypeAlias = Literal["recursive-doubling", "linear"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Link(Given):
    """Speed of a link.

    Parameters
    ----------
    bandwidth : Rate, such as "100 Gbps" or "25 GB/s"
        Bandwidth in each direction, 1 Mbps to 1000 Tbps (default: 100 Gbps; of memory: 300 Gbps).
    latency : Time, such as "50 ns"
        Propagation delay of a cable, 1 ps to 1 s (default: 50 ns; of memory: 100 ns).
    """

    bandwidth: Rate | None = None
    latency: Time | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class LinkClass(Link):
    """Links of one class: their speed, and the routers at their receiving ends.

    Parameters
    ----------
    bandwidth : Rate, such as "100 Gbps" or "25 GB/s"
        Bandwidth in each direction, 1 Mbps to 1000 Tbps (default: that of all links).
    latency : Time, such as "50 ns"
        Propagation delay of a cable, 1 ps to 1 s (default: that of all links).
    buffer : Size, such as "16 KiB"
        Buffer of the input port at the receiving end, divided evenly among its virtual channels,
        at most 1 GiB (default: that of the router).
    router_delay : Time, such as "100 ns"
        Pipeline of a router for packets that arrive by such a link, at most 1 s
        (default: delay of the router).
    """

    buffer: Size | None = None
    router_delay: Time | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Router(Given):
    """The router model.

    Parameters
    ----------
    model : {"packet", "input-queued", "crossbar", "flit", "output-queued", "analytic"}
        Name of the model; ``fabricsim.list_parts("router-models")`` describes them (default: packet).
    arbiter : {"round-robin", "rotating", "least-recently-used", "age", "random", "islip", "first-come", \
        "matrix"}
        Models input-queued (round-robin, random), crossbar (all but matrix): how packets cross; flit
        (round-robin, matrix): arbiters of the allocator (default: round-robin).
    allocator : {"separable-input-first", "separable-output-first", "islip", "wavefront", \
        "rotating-wavefront", "lonely-output", "maximum-size", "select"}
        Model flit only: allocator of virtual channels and of the switch (default: separable-input-first).
    arbiter_groups : int
        Model flit only: groups of the members of an arbiter, each with an arbiter of its own in a tree of
        two levels, 1 to 64 (default: 1).
    input_speedup : int
        Model flit only: inputs of the crossbar for each input port, 1 to 64 (default: 1).
    output_speedup : int
        Model flit only: outputs of the crossbar for each output port, 1 to 64 (default: 1).
    switch_allocation : {"per-flit", "per-packet"}
        Model flit only: each flit asks for the crossbar, or a packet holds it while it has flits and credits
        (default: per-flit).
    vc_assignment : {"any", "next-output"}
        Model flit only: a packet may get any virtual channel that routing allows, or one of those for its
        output at the next router (default: any).
    host_vcs : {"any", "by-routing"}
        Model flit only: a packet may get any virtual channel of a link to or from a host, or a random one
        from its host and the one that routing gives to its host (default: any).
    buffers : {"private", "shared"}
        Model flit only: each virtual channel has its part of a buffer, or all of a port share what exceeds a
        private part (default: private).
    private_buffer : Size, such as "64 B"
        Model flit only: part of a shared buffer that one virtual channel has for itself, in whole flits
        (default: a flit, of shared buffers).
    stages : {"pipelined", "batched"}
        Model flit only: routing and the crossbar, if they take several cycles, are pipelined, or take one
        batch after the other at all ports together (default: pipelined).
    speculation : {"none", "low-priority", "masked-by-grants", "masked-by-requests"}
        Model flit only: a head asks for the crossbar before it has a virtual channel, with a lower priority
        than other flits, or by an allocator of its own whose grants count where they meet no grants or no
        requests of others (default: none).
    speculation_needs : {"credit", "free", "nothing"}
        Model flit only: what a head needs for that: a free virtual channel with a credit, a free one, or
        nothing (default: credit).
    vc_allocation : {"allocator", "with-switch"}
        Model flit only: virtual channels have an allocator, or a head gets one when it has won the crossbar
        by speculation (default: allocator).
    vc_requests : {"free", "with-credit"}
        Model flit only: a head asks for all free virtual channels, or for those with a credit
        (default: free).
    vc_preference : {"none", "empty"}
        Model flit only: whether a head prefers virtual channels whose buffers are empty, with separable
        allocators (default: none).
    vc_requesters : {"by-port", "by-vc"}
        Model flit only: the arbiters of virtual channels know their requesters by port, then channel, or
        by channel, then port (default: by-port).
    priority : {"none", "age"}
        Model flit only: whether the oldest packets go first in all arbiters (default: none).
    vc_reuse : {"after-tail", "after-credits"}
        Model flit only: a virtual channel is free when a tail has left, or when all of its credits have
        returned (default: after-tail).
    routing_delay : int
        Model flit only: steps in which a head is routed, 0 (lookahead) to 1000 (default: 1).
    crossbar_delay : int
        Model flit only: steps in which a flit passes the crossbar, 1 to 1000 (default: 1).
    iterations : int
        Models crossbar and flit only: iterations of islip or select in one cycle, 1 to 64
        (default: 1).
    crossbar : {"per-port", "shared"}
        Model crossbar only: a crossbar port for each output, or one server for the whole router, with the
        arbiter first-come (default: per-port).
    crossbar_bandwidth : Rate, such as "100 Gbps"
        Model crossbar only: bandwidth of a port of the crossbar, or of all of a shared one
        (default: speedup times the bandwidth of the fastest link).
    speedup : float
        Models input-queued, crossbar and flit only: speed of the crossbar over that of a link, or internal
        steps of a cycle of flit, 1 to 1000 with at most six decimals (default: 1.0).
    flit : Size, such as "16 B"
        Models crossbar and flit only: bytes that cross in one cycle, at most 64 KiB (default: 16 B).
    vc_output_buffer : Size, such as "16 KiB"
        Model crossbar only: buffer of one virtual channel of an output port, at most 1 GiB
        (default: the buffer of a VC behind the link).
    queues : {"per-vc", "per-output"}
        Model crossbar only: one queue for each VC of an input port, or one for each VC and output
        (default: per-vc).
    switching : {"cut-through", "store-and-forward", "wormhole"}
        Model crossbar: whether a packet goes on when its head or its tail has arrived
        (default: cut-through). Model flit: wormhole (default) or cut-through.
    output_buffer : Size, such as "16 KiB"
        Models input-queued and flit only: buffer of an output port, between crossbar and link, in whole
        flits for flit, at most 1 GiB (default: no limit).
    delay : Time, such as "100 ns"
        Time from the arrival of a packet's head to its earliest departure, at most 1 s (default: 100 ns).
    buffer : Size, such as "100 KB"
        Buffer of an input port, divided evenly among its virtual channels, at most 1 GiB
        (default: 100 KB).
    credit_delay : Time, such as "50 ns"
        Time from the departure of a packet's tail until its credit starts back to the sender, in addition
        to the latency of the cable, at most 1 s (default: 0 ps).
    vc_copies : int
        Models input-queued and flit only: virtual channels of each traffic class for each one that routing
        needs, 1 to 255 (default: 1).
    """

    model: Literal["packet", "input-queued", "crossbar", "flit", "output-queued", "analytic"] | None = None
    allocator: (
        Literal[
            "separable-input-first",
            "separable-output-first",
            "islip",
            "wavefront",
            "rotating-wavefront",
            "lonely-output",
            "maximum-size",
            "select",
        ]
        | None
    ) = None
    arbiter_groups: int | None = None
    input_speedup: int | None = None
    output_speedup: int | None = None
    switch_allocation: Literal["per-flit", "per-packet"] | None = None
    vc_assignment: Literal["any", "next-output"] | None = None
    host_vcs: Literal["any", "by-routing"] | None = None
    buffers: Literal["private", "shared"] | None = None
    private_buffer: Size | None = None
    stages: Literal["pipelined", "batched"] | None = None
    speculation: Literal["none", "low-priority", "masked-by-grants", "masked-by-requests"] | None = None
    speculation_needs: Literal["credit", "free", "nothing"] | None = None
    vc_allocation: Literal["allocator", "with-switch"] | None = None
    vc_requests: Literal["free", "with-credit"] | None = None
    vc_preference: Literal["none", "empty"] | None = None
    vc_requesters: Literal["by-port", "by-vc"] | None = None
    priority: Literal["none", "age"] | None = None
    vc_reuse: Literal["after-tail", "after-credits"] | None = None
    routing_delay: int | None = None
    crossbar_delay: int | None = None
    arbiter: (
        Literal[
            "round-robin",
            "rotating",
            "least-recently-used",
            "age",
            "random",
            "islip",
            "first-come",
            "matrix",
        ]
        | None
    ) = None
    iterations: int | None = None
    crossbar: Literal["per-port", "shared"] | None = None
    crossbar_bandwidth: Rate | None = None
    speedup: float | None = None
    flit: Size | None = None
    vc_output_buffer: Size | None = None
    queues: Literal["per-vc", "per-output"] | None = None
    switching: Literal["cut-through", "store-and-forward", "wormhole"] | None = None
    output_buffer: Size | None = None
    delay: Time | None = None
    buffer: Size | None = None
    credit_delay: Time | None = None
    vc_copies: int | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Routers(Given):
    """Some routers with another model. With parameters of the model, it is written as a table:
    ``{"groups": "0-1", "model": "flit", "speedup": 1.5}``. One of `groups`, `levels` and `routers` selects
    the routers, each by a number, a list of numbers, or a text with ranges such as ``"0-3, 8"``.

    Parameters
    ----------
    model : str
        Name of the model; those that cannot meet the others at a link are refused.
    groups : int, str or Sequence[int]
        Routers of these groups (default: no groups).
    levels : int, str or Sequence[int]
        Routers of these levels of a tree, leaves are level 0 (default: no levels).
    routers : int, str or Sequence[int]
        Routers with these numbers, in each plane (default: no routers).
    """

    model: str
    groups: int | str | Sequence[int] | None = None
    levels: int | str | Sequence[int] | None = None
    routers: int | str | Sequence[int] | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Nic(Given):
    """The NIC model.

    Parameters
    ----------
    model : {"queued", "flit-queued"}
        Name of the model; ``fabricsim.list_parts("nic-models")`` describes them (default: queued, and
        flit-queued with the router model flit).
    injection_bandwidth : Rate, such as "100 Gbps"
        Bandwidth at which a NIC port sends (default: that of its link).
    memory_bandwidth : Rate, such as "100 Gbps"
        Bandwidth of the way from a NIC port into memory, in which packets queue (default: no limit).
    congestion_control : {"none", "pairs"}
        Whether a port limits what it has under way to each destination, where a last hop is congested
        (default: none).
    pair_window : Size, such as "64 KiB"
        With pairs: most bytes that a port has under way to one destination, at most 1 GiB (default: 256 KiB
        with pairs).
    congestion_threshold : Time, such as "100 ns"
        With pairs: wait of a packet for the link to its host beyond which its sender slows down, at most 1 s
        (default: 1 us with pairs).
    """

    model: Literal["queued", "flit-queued"] | None = None
    injection_bandwidth: Rate | None = None
    memory_bandwidth: Rate | None = None
    congestion_control: Literal["none", "pairs"] | None = None
    pair_window: Size | None = None
    congestion_threshold: Time | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class TrafficClass(Given):
    """A kind of traffic with virtual channels of its own. Several need the router model input-queued.

    Parameters
    ----------
    name : str
        Its name, for the `traffic_class` of a :class:`Job`.
    weight : int
        Share of a link among the classes of one priority that have packets for it, 1 to 255 (default: 1).
    priority : int
        Packets of a higher priority always go first, 0 to 255 (default: 0).
    """

    name: str
    weight: int | None = None
    priority: int | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Network(Given):
    """A network: topology, routing, links, routers and NICs.

    Parameters
    ----------
    preset : str
        Machine whose values are defaults; ``fabricsim.list_parts("machines")`` describes them
        (default: none).
    hardware : str
        Hardware family whose values are defaults; ``fabricsim.list_parts("hardware")`` describes them
        (default: that of the preset, or none).
    hosts : int
        At least this many hosts: with a preset a part of the machine, as few whole groups, leaves or
        midplanes as have them; with `radix` the smallest network that has them (default: all of the
        machine).
    radix : int
        Greatest number of ports of a router; with it, the topology needs none of the parameters that the
        number of hosts determines (default: none).
    topology : Topology
        One of the classes of :mod:`fabricsim.topology` (default: that of the preset; required without one).
    routing : Routing
        One of the classes of :mod:`fabricsim.routing` (default: that of the preset, or that of the topology).
    link : Link
        All links.
    links : Mapping[str, LinkClass]
        Links of one class, if they differ, for example ``{"global": LinkClass(latency="500 ns")}``; a `Link`
        gives bandwidth and latency only. The classes
        of each topology are in ``docs/formats/experiment.md``; ``host`` is in all of them.
    router : Router
        All routers.
    routers : Sequence[Routers]
        Routers of some groups, levels or numbers with another model (default: none).
    nic : Nic
        All NICs.
    packet : Size, such as "256 B"
        Largest payload of a packet; longer messages are divided. 1 B to 16 MiB (default: 256 B).
    packet_header : Size, such as "26 B"
        Bytes that every packet has on links and in buffers besides its payload, at most 64 KiB
        (default: 0 B).
    nic_arbiter : {"round-robin", "deficit-round-robin", "by-message", "in-order"}
        How ranks and jobs of one host share its NIC (default: round-robin).
    traffic_class : Sequence[TrafficClass]
        The traffic classes, at most eight (default: one class).
    nic_injection_delay : Time, such as "150 ns"
        Pipeline of a NIC, from the start of a packet until its head is on the cable, at most 1 s
        (default: 0 ps).
    nic_reception_delay : Time, such as "150 ns"
        Time from the arrival of a packet's tail at a NIC until the host has the packet, at most 1 s
        (default: 0 ps).
    memory : Link
        Messages between ranks of one host.
    rails : int
        NIC ports of each host, 1 to 64; hosts of the topology are then ports (default: 1).
    planes : int
        Disjoint copies of the topology; each has the same number of rails (default: 1).
    rail_arrangement : {"adjacent", "spread"}
        Position of a host's ports: side by side, or at different routers (default: adjacent).
    rail_choice : {"round-robin", "least-loaded", "by-destination", "by-rank"}
        How the NIC selects a rail (default: round-robin).
    rail_per : {"stripe", "message", "packet"}
        What it selects a rail for; stripe is packet for messages of at least `rail_stripe_threshold`, and
        message for smaller ones (default: stripe, or message with by-destination and by-rank).
    rail_stripe_threshold : Size, such as "16 KiB"
        With stripe, size from which a message uses all rails (default: 16 KiB).
    """

    preset: str | None = None
    hardware: str | None = None
    hosts: int | None = None
    radix: int | None = None
    topology: Topology | Table | None = None
    routing: Routing | Table | None = None
    link: Link | Table | None = None
    links: Mapping[str, LinkClass | Link | Table] | None = None
    router: Router | Table | None = None
    routers: Sequence[Routers | Table] | None = None
    nic: Nic | Table | None = None
    packet: Size | None = None
    packet_header: Size | None = None
    nic_arbiter: Literal["round-robin", "deficit-round-robin", "by-message", "in-order"] | None = None
    traffic_class: Sequence[TrafficClass | Table] | None = None
    nic_injection_delay: Time | None = None
    nic_reception_delay: Time | None = None
    memory: Link | Table | None = None
    rails: int | None = None
    planes: int | None = None
    rail_arrangement: Literal["adjacent", "spread"] | None = None
    rail_choice: Literal["round-robin", "least-loaded", "by-destination", "by-rank"] | None = None
    rail_per: Literal["stripe", "message", "packet"] | None = None
    rail_stripe_threshold: Size | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Compute(Given):
    """Duration of the computations of a job's ranks.

    Parameters
    ----------
    scale : float
        Factor on every recorded computation: 0.5 is a processor of twice the speed, 0 makes computation free
        (default: 1.0).
    each : Time, such as "10 us"
        Time of every computation, instead of `scale`.
    regions : Mapping[str, float or Time]
        Factor or time of the computations in a code region, by its name in the workload, for example
        ``{"PairLJCut::compute": 0.25}``.
    imbalance : float
        Greatest deviation of a rank's computations from this time, as a fraction (default: 0.0).
    imbalance_seed : int
        Seed of the deviations of ranks (default: 1331).
    """

    scale: float | None = None
    each: Time | None = None
    regions: Mapping[str, float | Time] | None = None
    imbalance: float | None = None
    imbalance_seed: int | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Job(Given):
    """An application, or synthetic traffic: exactly one of `workload` and `traffic`.

    Parameters
    ----------
    name : str
        Name in results (default: job0, job1, ...).
    workload : Source, Motif or Program
        Operations of its ranks: a recorded application, a schedule, or a program's file
        (:mod:`fabricsim.workload`); a generated application (:mod:`fabricsim.motif`); or a
        :class:`fabricsim.Program`.
    traffic_class : str
        Name of the traffic class of all its messages (default: the first of the network).
    traffic : Pattern
        Synthetic traffic: one of the classes of :mod:`fabricsim.traffic`.
    hosts : {"all", "free"} or int
        Hosts of the traffic: all, those without ranks, or this many (default: all).
    placement : Placement or name
        Order in which the job takes hosts: one of the classes of :mod:`fabricsim.placement`
        (default: linear).
    mapping : RankMapping or name
        Assignment of ranks to its hosts: one of the classes of :mod:`fabricsim.mapping`
        (default: linear).
    ranks_per_host : int
        Ranks that share a host, 1 to 4096 (default: 1, or as many as the mapping says).
    compute : Compute or "off"
        Duration of computations; off: none (default: as in the workload).
    repetitions : int
        Repetitions of the workload, 1 to 1000000000 (default: 1; without limit with `end`).
    repeat_until_others_end : bool
        Whether the ranks go on after the repetitions, unmeasured, until all other ranks are
        measured (default: false).
    start : Time, such as "10 us"
        Start of its ranks or traffic (default: 0 ps).
    end : Time, such as "2 ms"
        Time of the simulation at which its ranks are stopped; until then they repeat the workload
        (default: none).
    """

    name: str | None = None
    workload: Source | Motif | Program | Table | None = None
    traffic_class: str | None = None
    traffic: Pattern | Table | None = None
    hosts: Literal["all", "free"] | int | None = None
    placement: Placement | PlacementName | Table | None = None
    mapping: RankMapping | MappingName | Table | None = None
    ranks_per_host: int | None = None
    compute: Compute | Literal["off"] | Table | None = None
    repetitions: int | None = None
    repeat_until_others_end: bool | None = None
    start: Time | None = None
    end: Time | None = None


PlacementName: TypeAlias = Literal["linear", "random", "random-routers", "random-groups", "round-robin"]
"""Placements without a required parameter."""

MappingName: TypeAlias = Literal["linear", "round-robin", "random"]
"""Mappings without a required parameter."""


@dataclass(frozen=True, kw_only=True, repr=False)
class TraceApplication(Given):
    """What the jobs of one application of a job trace execute.

    Parameters
    ----------
    name : str
        Application of the trace, or ``*`` for all that have none.
    workload : Source or Table
        A recorded application, or the table of a generated one without the number of ranks, which follows
        from the size of each job: ``{"motif": "allreduce"}``.
    compute : Compute or "off"
        Duration of computations; off: none (default: as in the workload).
    mapping : RankMapping or name
        Assignment of ranks to the hosts of a job (default: linear).
    ranks_per_host : int
        Ranks on each host, 1 to 4096 (default: that of the trace).
    """

    name: str
    workload: Source | Table
    compute: Compute | Literal["off"] | Table | None = None
    mapping: RankMapping | MappingName | Table | None = None
    ranks_per_host: int | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class JobTrace(Given):
    """Jobs of a job trace, scheduled on the hosts without other ranks: ``docs/methods/job-trace.md``.

    Parameters
    ----------
    file : path
        The trace.
    applications : Sequence[TraceApplication]
        What its jobs execute; ``[[job_trace.application]]`` in the file.
    format : {"csv", "swf"}
        Format of the file (default: the extension of the file).
    scheduler : {"fcfs", "easy-backfill", "conservative-backfill"}
        Which job starts when (default: fcfs).
    placement : Placement or name
        Order in which a job takes free hosts at its start (default: linear).
    time_scale : int
        Seconds of the trace in a simulated second, 1 to 1000000000000 (default: 1).
    first : int
        Number of the first job of the file that is scheduled (default: 1).
    jobs : int
        Jobs of the file that are scheduled, at most 1000000 (default: all).
    from_ : seconds, or Time
        Time of the trace at which the simulation begins; ``from`` in the file (default: the first arrival).
    until : seconds, or Time
        Time of the trace at which running jobs are cut off (default: the end of the last job).
    invalid : {"error", "skip"}
        What happens to jobs that cannot run (default: error).
    processors_per_node : int
        Processors that make a node, with the format swf (default: as the file says, or 1).
    ranks_per_host : int
        Ranks on each host, unless the application or the job says otherwise (default: 1).
    """

    file: str | PathLike[str]
    applications: Sequence[TraceApplication | Table]
    format: Literal["csv", "swf"] | None = None
    scheduler: Literal["fcfs", "easy-backfill", "conservative-backfill"] | None = None
    placement: Placement | PlacementName | Table | None = None
    time_scale: int | None = None
    first: int | None = None
    jobs: int | None = None
    from_: float | Time | None = None
    until: float | Time | None = None
    invalid: Literal["error", "skip"] | None = None
    processors_per_node: int | None = None
    ranks_per_host: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The table ``[job_trace]`` of a file."""
        names = {"applications": "application", "from_": "from"}
        return {names.get(name, name): value for name, value in given(self).items()}

    @classmethod
    def fields_of(cls, table: Table) -> dict[str, Any]:
        """The fields for the table ``[job_trace]``."""
        names = {"application": "applications", "from": "from_"}
        return {names.get(name, name): value for name, value in table.items()}


@dataclass(frozen=True, kw_only=True, repr=False)
class Rule(Given):
    """A rule that selects an algorithm of a collective if all given conditions hold.

    Parameters
    ----------
    algorithm : str
        Name of the algorithm; ``fabricsim.list_parts("collectives")`` lists them.
    below : Size, such as "12 KiB"
        Payloads below it (default: any).
    below_per_rank : Size, such as "8 B"
        Payloads below this times the number of ranks (default: any).
    below_per_power_of_two : Size, such as "8 B"
        Payloads below this times the largest power of two in the number of ranks (default: any).
    ranks_below : int
        Communicators with fewer ranks (default: any).
    power_of_two : bool
        Communicators whose number of ranks is, or is not, a power of two (default: any).
    """

    algorithm: str
    below: Size | None = None
    below_per_rank: Size | None = None
    below_per_power_of_two: Size | None = None
    ranks_below: int | None = None
    power_of_two: bool | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Collectives(Given):
    """Algorithms of collectives: a name, or a list of rules of which the first matching one applies.

    Algorithms and default rules: ``docs/methods/collectives.md``. All keys but `table` are names of
    collectives.

    Parameters
    ----------
    table : {"thakur-2005", "mpich", "openmpi-4.1", "openmpi-5.0", "tracer"}
        Rules for collectives below without a value (default: thakur-2005).
    barrier : Barrier or Sequence[Rule]
        MPI_Barrier (default: dissemination).
    bcast : Bcast or Sequence[Rule]
        MPI_Bcast (default: rules of the table).
    reduce : Reduce or Sequence[Rule]
        MPI_Reduce (default: rules of the table).
    allreduce : Allreduce or Sequence[Rule]
        MPI_Allreduce (default: rules of the table).
    allgather : Allgather or Sequence[Rule]
        MPI_Allgather (default: rules of the table).
    allgatherv : Allgatherv or Sequence[Rule]
        MPI_Allgatherv (default: rules of the table).
    alltoall : Alltoall or Sequence[Rule]
        MPI_Alltoall (default: rules of the table).
    alltoallv : Alltoallv or Sequence[Rule]
        MPI_Alltoallv (default: scattered).
    gather : Gather or Sequence[Rule]
        MPI_Gather (default: binomial).
    gatherv : Gatherv or Sequence[Rule]
        MPI_Gatherv (default: linear).
    scatter : Gather or Sequence[Rule]
        MPI_Scatter (default: binomial).
    scatterv : Gatherv or Sequence[Rule]
        MPI_Scatterv (default: linear).
    reduce_scatter : ReduceScatter or Sequence[Rule]
        MPI_Reduce_scatter (default: rules of the table).
    scan : Scan or Sequence[Rule]
        MPI_Scan (default: recursive-doubling).
    exscan : Scan or Sequence[Rule]
        MPI_Exscan (default: recursive-doubling).
    """

    table: Literal["thakur-2005", "mpich", "openmpi-4.1", "openmpi-5.0", "tracer"] | None = None
    barrier: Barrier | Sequence[Rule | Table] | None = None
    bcast: Bcast | Sequence[Rule | Table] | None = None
    reduce: Reduce | Sequence[Rule | Table] | None = None
    allreduce: Allreduce | Sequence[Rule | Table] | None = None
    allgather: Allgather | Sequence[Rule | Table] | None = None
    allgatherv: Allgatherv | Sequence[Rule | Table] | None = None
    alltoall: Alltoall | Sequence[Rule | Table] | None = None
    alltoallv: Alltoallv | Sequence[Rule | Table] | None = None
    gather: Gather | Sequence[Rule | Table] | None = None
    gatherv: Gatherv | Sequence[Rule | Table] | None = None
    scatter: Gather | Sequence[Rule | Table] | None = None
    scatterv: Gatherv | Sequence[Rule | Table] | None = None
    reduce_scatter: ReduceScatter | Sequence[Rule | Table] | None = None
    scan: Scan | Sequence[Rule | Table] | None = None
    exscan: Scan | Sequence[Rule | Table] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The table ``[mpi.collectives]`` of a file."""
        return {name.replace("_", "-"): value for name, value in given(self).items()}

    @classmethod
    def fields_of(cls, table: Table) -> dict[str, Any]:
        """The fields for the table ``[mpi.collectives]``."""
        return {name.replace("-", "_"): value for name, value in table.items()}


@dataclass(frozen=True, kw_only=True, repr=False)
class Mpi(Given):
    """The MPI library of all jobs. Meaning of the times: ``docs/methods/mpi.md``.

    Parameters
    ----------
    preset : name
        Defaults of the two thresholds, as in an MPI library; ``fabricsim.list_parts("mpi-presets")``
        lists them (default: none).
    eager_threshold : Size, such as "8 KiB"
        Largest payload sent without handshake (default: 8 KiB).
    copy_threshold : Size, such as "64 KiB"
        Largest payload beyond that which the sender copies; it continues while the copy is sent as a
        rendezvous (default: 0 B).
    short_threshold : Size, such as "512 B"
        Largest payload that no side copies (default: 0 B).
    send_copy_bandwidth : Rate, such as "10 GB/s"
        Bandwidth at which the CPU of the sender copies eager and buffered messages (default: copies take
        no time).
    receive_copy_bandwidth : Rate, such as "10 GB/s"
        Bandwidth at which the CPU of the receiver copies eager messages (default: copies take no time).
    reduction_bandwidth : Rate, such as "6 GB/s"
        Bandwidth at which a rank combines a received vector with its own in a reduction; "none" for no time
        (default: 32 Gbps, which is 4 GB/s).
    send_overhead : Time, such as "300 ns"
        CPU time of the sender per message (default: 300 ns).
    receive_overhead : Time, such as "300 ns"
        CPU time of the receiver per message (default: 300 ns).
    matching_overhead : Time, such as "20 ns"
        CPU time of the receiver per inspected entry of a matching queue (default: 0 ps).
    nic_gap : Time, such as "100 ns"
        Minimum interval of messages handed to a host's NIC: LogP's g (default: 0 ps).
    control_size : Size, such as "64 B"
        Size on the wire of a request to send, a clear to send, the acknowledgement of a put and the request
        of a get (default: 64 B).
    header_size : Size, such as "32 B"
        Bytes on the wire in addition to a payload (default: 32 B).
    collectives : Collectives
        Algorithms of collectives.
    poll_overhead : Time, such as "1 us"
        CPU time of a test that completes nothing, and of an Iprobe (default: 100 ns).
    """

    preset: PresetName | None = None
    eager_threshold: Size | None = None
    copy_threshold: Size | None = None
    short_threshold: Size | None = None
    send_copy_bandwidth: Rate | None = None
    receive_copy_bandwidth: Rate | None = None
    reduction_bandwidth: Rate | Literal["none"] | None = None
    send_overhead: Time | None = None
    receive_overhead: Time | None = None
    matching_overhead: Time | None = None
    nic_gap: Time | None = None
    control_size: Size | None = None
    header_size: Size | None = None
    collectives: Collectives | Table | None = None
    poll_overhead: Time | None = None


PresetName: TypeAlias = Literal[
    "none",
    "psm2",
    "openmpi-tcp",
    "mpich-ch3",
    "psm3",
    "opx",
    "cxi",
    "rxm",
    "cray-mpich-rxm",
    "mvapich2",
    "mvapich2-xeon-8280-edr",
    "mvapich2-epyc-7551",
    "mvapich2-epyc-7763-edr",
    "mvapich2-epyc-7763-hdr",
    "mvapich2-epyc-7v12-hdr",
    "mvapich2-power9",
    "openmpi-openib",
    "openmpi-ugni",
    "sst-macro",
    "sst-macro-opa",
    "sst-firefly",
    "codes",
    "tracer",
]


@dataclass(frozen=True, kw_only=True, repr=False)
class Optimistic(Given):
    """Settings of the optimistic executor, none of which changes a result.

    Parameters
    ----------
    batch : int
        Events that a thread executes between two checks of its mailbox (default: 16).
    gvt_interval : int
        Batches between two computations of global virtual time (default: 64).
    ahead : Time, such as "1 us"
        Maximum time beyond global virtual time at which events execute (default: found as it runs).
    memory : Size, such as "128 MiB"
        Memory of a thread for uncommitted events (default: 128 MiB).
    """

    batch: int | None = None
    gvt_interval: int | None = None
    ahead: Time | None = None
    memory: Size | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Run(Given):
    """How to run.

    Parameters
    ----------
    until : Time, such as "100 us"
        End of the run, unless all ranks finish earlier; at most 100 days. Required without a job of ranks.
    warmup : Time, such as "10 us"
        Start of latencies, loads and link counters (default: 0 ps).
    drain : Time, such as "1 ms"
        Longest time after ``until`` for which the run goes on, until all measured packets of synthetic
        traffic have arrived; without jobs of ranks only (default: 0 ps).
    seed : int
        Seed of all random choices: traffic, routing, placement, mapping (default: 1).
    executor : {"sequential", "conservative", "optimistic", "auto", "reverse-check"}
        How events are executed; the result is the same. The last one is for developers.
        ``fabricsim.list_parts("executors")`` describes them (default: auto).
    threads : int or "auto"
        Threads of the conservative and the optimistic executor, 1 to 1024, and the most threads of the
        executor ``auto``; the result is the same (default: auto: one, or for ``auto`` one for each core).
    optimistic : Optimistic
        Settings of the optimistic executor.
    watchdog : Time, such as "1 ms"
        Simulated time between two deadlock checks of the ranks, where synthetic traffic keeps the run going
        (default: 1 ms).
    credits : {"auto", "each"}
        How credits return: in batches where results are identical, or each by itself (default: auto).
    """

    until: Time | None = None
    warmup: Time | None = None
    drain: Time | None = None
    seed: int | None = None
    executor: Literal["sequential", "conservative", "optimistic", "auto", "reverse-check"] | None = None
    threads: int | Literal["auto"] | None = None
    optimistic: Optimistic | Table | None = None
    watchdog: Time | None = None
    credits: Literal["auto", "each"] | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Collect(Given):
    """Data collected during the run, beside the totals: the tables ``*_series``, ``timeline`` and ``waits``.

    Parameters
    ----------
    series : {"auto", "off", "classes", "links", "vcs"}
        Samples per class of links; also per link, host and router; also per virtual channel
        (default: auto: links up to 512 links, otherwise classes).
    bin : Time, such as "1 us", or "auto"
        Width of a time bin (default: auto: 1/128 of `until`; without it, bins grow with time).
    routers : "all" or Sequence[int]
        Routers whose links, virtual channels and hosts are sampled singly (default: all).
    timeline : bool
        Timelines of ranks, and all messages (default: false).
    waits : bool
        Waits of packets and their causes; the critical path needs them (default: false).
    host_latency : bool
        Number, latency and hops of the packets that each host received, in the table ``hosts``
        (default: false).
    network_latency : bool
        Latency of the packets of synthetic traffic in the network, and their wait at the source, with
        percentiles (default: false).
    """

    series: Literal["auto", "off", "classes", "links", "vcs"] | None = None
    bin: Time | None = None
    routers: Literal["all"] | Sequence[int] | None = None
    timeline: bool | None = None
    waits: bool | None = None
    host_latency: bool | None = None
    network_latency: bool | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Draw(Given):
    """What one part of a network draws.

    Parameters
    ----------
    idle : Watts, such as "747 W"
        Power without traffic, at most 100 kW (default: 0 W; of one kind or class: that of all).
    busy : Watts, such as "900 W"
        Power at full load, at least `idle` (default: `idle` if that is given; of one kind or class
        otherwise that of all).
    """

    idle: Watts | None = None
    busy: Watts | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Power(Given):
    """What the parts of the network draw, for the energy of the run: ``docs/methods/energy.md``.

    At least one power has to be given.

    Parameters
    ----------
    router : Draw
        Each router.
    routers : Mapping[str, Draw]
        Each router of one kind, such as leaf, spine or core.
    link : Draw
        Each end of a cable. An end is busy while it transmits.
    links : Mapping[str, Draw]
        Each end of the cables of one link class.
    nic : Draw
        Each NIC port.
    host : Watts, such as "300 W"
        Each host, whatever it does (default: 0 W).
    """

    router: Draw | Table | None = None
    routers: Mapping[str, Draw | Table] | None = None
    link: Draw | Table | None = None
    links: Mapping[str, Draw | Table] | None = None
    nic: Draw | Table | None = None
    host: Watts | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Experiment(Given):
    """One experiment: network, jobs and execution.

    Parameters
    ----------
    network : Network
        The network.
    jobs : Sequence[Job]
        Its jobs; ``[[job]]`` in the file. May be empty with a job trace.
    job_trace : JobTrace
        Further jobs, from a trace with a scheduler.
    run : Run
        How to run.
    mpi : Mpi
        The MPI library.
    collect : Collect
        Data collected during the run.
    power : Power
        What the parts of the network draw; without it, results have no energy.

    Examples
    --------
    >>> from fabricsim import routing, topology, traffic
    >>> experiment = Experiment(
    ...     network=Network(topology=topology.Torus(sizes=[4, 4]), routing=routing.DimensionOrder()),
    ...     jobs=[Job(traffic=traffic.Uniform(load=0.1))],
    ...     run=Run(until="20 us"),
    ... )
    >>> print(experiment.to_toml().splitlines()[0])
    [network.topology]
    """

    network: Network | Table
    jobs: Sequence[Job | Table] = ()
    job_trace: JobTrace | Table | None = None
    run: Run | Table | None = None
    mpi: Mpi | Table | None = None
    collect: Collect | Table | None = None
    power: Power | Table | None = None

    @classmethod
    def from_dict(cls, tables: Table) -> Experiment:
        """The typed form of nested dicts with the keys of the file.

        A table with an unknown key stays a dict; running or checking the experiment reports the error.

        Raises
        ------
        ExperimentError
            There is no network, no list of jobs, or a table of another name.
        """
        same = ("network", "run", "mpi", "collect", "power", "job_trace")
        names = {"job": "jobs"} | {name: name for name in same}
        unknown = ", ".join(f"'{key}'" for key in tables if key not in names)
        if unknown:
            raise ExperimentError(f"unknown key {unknown}; expected one of: {', '.join(sorted(names))}")
        for key in ("network", "job"):
            if key not in tables and (key == "network" or "job_trace" not in tables):
                raise ExperimentError(f"{key} is missing", key=key)
        if not isinstance(tables.get("job", ()), (list, tuple)):
            raise ExperimentError("job: expected a list of tables", key="job")
        found = typed(cls, {names[key]: value for key, value in tables.items()})
        assert isinstance(found, Experiment)
        return found

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Experiment:
        """Read an experiment file, to inspect it and to change it with :func:`dataclasses.replace`.

        Relative paths become absolute.

        Raises
        ------
        ExperimentError
            The file cannot be read or is not TOML.
        """
        try:
            tables = tomllib.loads(read_text(Path(path)))
        except OSError as error:
            raise ExperimentError(f"{path}: {error.strerror}", str(path)) from None
        except (ValueError, RecursionError) as error:
            raise ExperimentError(f"{path}: {error}", str(path)) from None
        absolute: Experiment = _absolute(cls.from_dict(tables), Path(path).resolve().parent)
        return absolute

    def to_dict(self) -> dict[str, Any]:
        """The experiment as nested dicts with the keys of the file, without what is ``None``."""
        parts = {
            "network": self.network,
            # Without jobs there is no list of tables.
            "job": list(self.jobs) or None,
            "job_trace": self.job_trace,
            "mpi": self.mpi,
            "collect": self.collect,
            "power": self.power,
            "run": self.run,
        }
        tables: dict[str, Any] = plain(parts)
        return tables

    def to_toml(self) -> str:
        """The experiment as the text of a file."""
        return dumps(self.to_dict())

    def _repr_html_(self) -> str:
        """For notebooks: network and jobs in words, with the folded file."""
        return display.experiment(self.to_dict(), self.to_toml())


ExperimentLike: TypeAlias = "str | PathLike[str] | Mapping[str, Any] | Experiment"


def dumps(experiment: Mapping[str, Any]) -> str:
    """The text of an experiment file for nested dicts.

    Raises
    ------
    ExperimentError
        A value has no form in TOML.
    """
    try:
        return tomli_w.dumps(plain(experiment))
    except TypeError as error:
        raise ExperimentError(f"the experiment cannot be written as TOML: {error}") from None


def build(experiment: ExperimentLike, overrides: Mapping[str, Any]) -> _core.Experiment:
    """The experiment in the simulation core, with its network and the hosts of its jobs.

    Raises
    ------
    ExperimentError
        Anything that is wrong with it.
    TypeError
        `experiment` is none of path, mapping, Experiment.
    """
    pairs = override_pairs(overrides)
    if isinstance(experiment, (str, PathLike)):
        return _core.Experiment.load(Path(fspath(experiment)), pairs)
    text, name, programs = _as_text(experiment)
    return _core.Experiment.from_toml(text, name, pairs, programs)


def open_session(
    experiment: ExperimentLike, overrides: Mapping[str, Any], hosts: list[int] | None
) -> _core.Session:
    """The session in the simulation core. Raises as :func:`build`."""
    pairs = override_pairs(overrides)
    if isinstance(experiment, (str, PathLike)):
        return _core.Session.load(Path(fspath(experiment)), pairs, hosts)
    text, name, programs = _as_text(experiment)
    return _core.Session.from_toml(text, name, pairs, programs, hosts)


def _as_text(
    experiment: Experiment | Mapping[str, Any],
) -> tuple[str, str, dict[str, tuple[Any, Any, list[str], str]]]:
    """TOML, its name in messages, and the functions of programs."""
    if isinstance(experiment, Experiment):
        return experiment.to_toml(), "<Experiment>", _programs(experiment.jobs)
    if isinstance(experiment, Mapping):
        return dumps(experiment), "<dict>", _programs(experiment.get("job", ()))
    raise TypeError(f"expected a path, a dict or an Experiment, not {type(experiment).__name__}")


def _programs(jobs: Any) -> dict[str, tuple[Any, Any, list[str], str]]:
    """The functions of programs, by the path of their table."""
    found = {}
    for number, job in enumerate(jobs if isinstance(jobs, (list, tuple)) else ()):
        workload = job.get("workload") if isinstance(job, Mapping) else getattr(job, "workload", None)
        if isinstance(workload, Program):
            found[f"job.{number}.workload"] = workload.given()
    return found


def _absolute(value: Any, folder: Path) -> Any:
    """A typed object whose relative paths start from a folder."""
    if isinstance(value, list):
        return [_absolute(item, folder) for item in value]
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    changed = {}
    for name, hint in field_hints(type(value)).items():
        inner = getattr(value, name)
        if isinstance(inner, str) and is_path(hint):
            changed[name] = str(folder / inner)
        elif inner is not None:
            changed[name] = _absolute(inner, folder)
    return dataclasses.replace(value, **changed)


class Toml(str):
    """A value of an override as TOML writes it. A table then replaces the one of the experiment."""

    __slots__ = ()


def override_pairs(overrides: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Overrides as pairs of a dotted key and a value in TOML; nested mappings are flattened."""
    pairs: list[tuple[str, str]] = []
    for key, value in overrides.items():
        full = f"{prefix}{key}"
        if isinstance(value, Toml):
            pairs.append((full, str(value)))
            continue
        value = plain(value)
        if isinstance(value, dict):
            pairs += override_pairs(value, f"{full}.")
        else:
            pairs.append((full, _literal(full, value)))
    return pairs


def _literal(key: str, value: Any) -> str:
    """A value as TOML writes it after the equals sign."""
    text = dumps({"v": value})
    if not text.startswith("v = "):
        raise ExperimentError(f"{key}: None and lists of tables cannot override a key", "set", key=key)
    return text.removeprefix("v = ").rstrip("\n")
