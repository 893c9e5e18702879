//! Agreement with BookSim 2 by the cycle, on networks of routers and NIC ports that are driven here.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use des::Journal;
use proptest::prelude::*;
use routing::{BufferClaim, Hop, Random, RouteState, Routing};
use topology::HostId;

use super::*;
use crate::nic::flit::{FlitNic, FlitNicTimer};
use crate::nic::queued::QueuedNicParameters;
use crate::reverse_check::{Reversible, check, script};
use crate::router::bench::{self, RecordedOutput, RouterRecorder};
use crate::{NicArbiter, NicModel, NicOutputs, NicSetup, NicSource, Outgoing, PacketFate, PacketFormat};

/// Lists of packets with their cycles in BookSim 2 (28f43299), in networks of any form.
///
/// A case has the lines `set KEY=VALUE...` (BookSim's keys), `node ROUTER IN OUT LATENCY LATENCY` (of injection and
/// ejection, in cycles), `cable ROUTER OUT ROUTER IN LATENCY`, `packet SOURCE DESTINATION FLITS CREATED HEAD_INJECTED
/// TAIL_INJECTED HEAD_ARRIVED TAIL_ARRIVED VC HOPS` with hops as `OUT:CLASS:VC` of each router, and `rule CLASSES`.
/// Where the grants of the crossbar are known, a hop has `:HEAD+NEXT+...`, too: steps from the grant to the head in the
/// router before (first: from its injection), then from flit to flit. The last ones are left out if they are 1.
///
/// Four of the 110 lists are left out: `a13_chain_va2`, `a14_chain_sa2`, `d_va2_noassert` and `d_sa2_noassert` have
/// allocation in two cycles, with which BookSim stops by an assertion when two packets overlap in a router.
const BOOKSIM: &str = include_str!("../../tests/references/booksim.txt");

/// Longer lists under load, up to far past saturation, on meshes and tori: `grid SIZE DIMENSIONS WRAPS LATENCY` in
/// place of nodes and cables, and `p SOURCE DESTINATION FLITS CREATED TAIL_ARRIVED`. On a dragonfly: `dragonfly NODES
/// LOCAL GLOBAL` with the nodes of a router and the latencies, and at the end of `p` the VC of the injection.
const BOOKSIM_LONG: &str = include_str!("../../tests/references/booksim_long.txt");

/// Length of a cycle, and bytes of a flit.
const CYCLE: u64 = 1_000;
const BYTES: u32 = 8;

/// One list of packets.
struct Case {
    name: &'static str,
    settings: Vec<(&'static str, &'static str)>,
    nodes: Vec<[u32; 5]>,
    cables: Vec<[u32; 5]>,
    packets: Vec<ListedPacket>,
    classes: u8,
}

struct ListedPacket {
    source: u32,
    flits: u32,
    created: u64,
    /// Head and tail injected, tail arrived.
    cycles: [u64; 3],
    inject_vc: u8,
    hops: Vec<(u16, u8, u8)>,
    /// By hop, then flit: steps of the grants of the crossbar. Empty where they are not known.
    grants: Vec<Vec<u64>>,
}

impl ListedPacket {
    /// Hops as in [`BOOKSIM`].
    fn read_hops(&mut self, text: &str, speedup: Speedup) {
        let mut before = steps_before(speedup, self.cycles[0]);
        for hop in text.split(',') {
            let parts: Vec<&str> = hop.split(':').collect();
            let number = |place: usize| parts[place].parse::<u16>().expect("a number");
            self.hops.push((number(0), number(1) as u8, number(2) as u8));
            if let Some(grants) = parts.get(3) {
                let mut gaps = grants.split('+').map(|gap| gap.parse::<u64>().expect("steps"));
                before += gaps.next().expect("the grant to the head");
                let mut granted = before;
                let later = (1..self.flits).map(|_| {
                    granted += gaps.next().unwrap_or(1);
                    granted
                });
                self.grants.push(std::iter::once(before).chain(later).collect());
            }
        }
    }
}

fn numbers<T: std::str::FromStr<Err: std::fmt::Debug>>(line: &str) -> Vec<T> {
    line.split_whitespace()
        .map(|part| part.parse().expect("a number"))
        .collect()
}

impl Case {
    fn read(text: &'static str) -> Case {
        let (name, rest) = text.split_once('\n').expect("a name");
        let mut case = Case {
            name,
            settings: Vec::new(),
            nodes: Vec::new(),
            cables: Vec::new(),
            packets: Vec::new(),
            classes: 1,
        };
        let mut grid = Grid::default();
        let mut dragonfly = None;
        for line in rest.lines().filter(|line| !line.is_empty()) {
            let (kind, rest) = line.split_once(' ').expect("a kind");
            match kind {
                "set" => {
                    let pairs = rest.split(' ').map(|pair| pair.split_once('=').expect("a pair"));
                    case.settings = pairs.collect();
                }
                "node" => case.nodes.push(numbers(rest).try_into().expect("five numbers")),
                "cable" => case.cables.push(numbers(rest).try_into().expect("five numbers")),
                "packet" => {
                    let (rest, hops) = rest.rsplit_once(' ').expect("hops");
                    let cells: Vec<u64> = numbers(rest);
                    let mut packet = ListedPacket {
                        source: cells[0] as u32,
                        flits: cells[2] as u32,
                        created: cells[3],
                        cycles: [cells[4], cells[5], cells[7]],
                        inject_vc: cells[8] as u8,
                        hops: Vec::new(),
                        grants: Vec::new(),
                    };
                    packet.read_hops(hops, case.speedup());
                    case.packets.push(packet);
                }
                "grid" => {
                    let [size, dimensions, wraps, latency] = numbers(rest).try_into().expect("four numbers");
                    grid = Grid {
                        size,
                        dimensions,
                        wraps: wraps == 1,
                    };
                    grid.build(latency, &mut case);
                }
                "dragonfly" => {
                    let [nodes, local, global] = numbers(rest).try_into().expect("three numbers");
                    let built = Dragonfly { nodes };
                    built.build([local, global], &mut case);
                    dragonfly = Some(built);
                }
                "p" => {
                    let cells: Vec<u64> = numbers(rest);
                    let (source, destination) = (cells[0] as u32, cells[1] as u32);
                    case.packets.push(ListedPacket {
                        source,
                        flits: cells[2] as u32,
                        created: cells[3],
                        cycles: [0, 0, cells[4]],
                        inject_vc: cells.get(5).map_or(0, |vc| *vc as u8),
                        hops: match &dragonfly {
                            Some(dragonfly) => dragonfly.hops(source, destination),
                            None => grid.hops(source, destination),
                        },
                        grants: Vec::new(),
                    });
                }
                "rule" => case.classes = rest.parse().expect("a number"),
                other => panic!("{other}"),
            }
        }
        case
    }

    fn get(&self, key: &str) -> &'static str {
        self.settings
            .iter()
            .find(|(name, _)| *name == key)
            .expect("the key")
            .1
    }

    /// The value of a key that is given only where it differs from BookSim's default.
    fn given(&self, key: &str) -> Option<&'static str> {
        let mut given = self.settings.iter().filter(|(name, _)| *name == key);
        given.next().map(|(_, value)| *value)
    }

    fn number(&self, key: &str) -> u32 {
        self.get(key).parse().expect("a number")
    }

    fn speedup(&self) -> Speedup {
        Speedup::new(self.get("internal_speedup").parse().expect("a number")).expect("a speedup")
    }

    /// The router of a hop of a packet.
    fn router_of(&self, packet: &ListedPacket, hop: usize) -> u32 {
        let first = self.nodes[packet.source as usize][0];
        packet.hops[..hop].iter().fold(first, |router, (output, ..)| {
            let is_taken = |cable: &&[u32; 5]| cable[0] == router && cable[1] == u32::from(*output);
            self.cables.iter().find(is_taken).expect("a cable")[2]
        })
    }

    /// Number of ports of a router.
    fn ports_of(&self, router: u32) -> u16 {
        let of_node = |node: &[u32; 5]| (node[0] == router).then(|| node[1].max(node[2]));
        let of_cable = |cable: &[u32; 5]| {
            let ends = [(cable[0], cable[1]), (cable[2], cable[3])];
            ends.into_iter()
                .filter(|end| end.0 == router)
                .map(|end| end.1)
                .max()
        };
        let of_nodes = self.nodes.iter().filter_map(of_node);
        let last = of_nodes.chain(self.cables.iter().filter_map(of_cable)).max();
        last.map_or(0, |last| last as u16 + 1)
    }

    fn parameters(&self) -> FlitParameters {
        let allocator = match self.get("sw_allocator") {
            "separable_input_first" => Allocator::SeparableInputFirst,
            "separable_output_first" => Allocator::SeparableOutputFirst,
            "separable_input_first(matrix)" => Allocator::SeparableInputFirst,
            "wavefront" => Allocator::Wavefront(WavefrontPointer::Next),
            "separable_input_first(tree(2,round_robin))" => Allocator::SeparableInputFirst,
            "loa" => Allocator::LonelyOutput,
            "max_size" => Allocator::MaximumSize,
            "select(2)" => Allocator::Select(2),
            "rr_wavefront" => Allocator::Wavefront(WavefrontPointer::AfterFirstGrant),
            "islip" => Allocator::Islip(1),
            islip => {
                let iterations = islip
                    .strip_prefix("islip(")
                    .and_then(|rest| rest.strip_suffix(')'));
                Allocator::Islip(iterations.expect(islip).parse().expect("iterations"))
            }
        };
        let times = |key: &str| {
            self.given(key)
                .map_or(1, |times| times.parse().expect("a number"))
        };
        FlitParameters {
            flit: BYTES,
            allocator,
            arbiter: ArbiterTree {
                arbiter: match self.get("vc_allocator").ends_with("(matrix)") {
                    true => FlitArbiter::Matrix,
                    false => FlitArbiter::RoundRobin,
                },
                groups: match self.get("vc_allocator").contains("(tree(2,") {
                    true => 2,
                    false => 1,
                },
            },
            awaits_credits: self.number("wait_for_tail_credit") == 1,
            vcs_by_next_output: self.given("noq") == Some("1"),
            host_vcs_by_routing: self.given("vc_rule") == Some("dragonfly"),
            input_speedup: times("input_speedup"),
            output_speedup: times("output_speedup"),
            output_flits: self
                .given("output_buffer_size")
                .map(|flits| flits.parse().expect("flits")),
            asks_with_credit: self.given("vc_busy_when_full") == Some("1"),
            prefers_empty: self.given("vc_prioritize_empty") == Some("1"),
            requesters_by_vc: self.given("vc_shuffle_requests") == Some("1"),
            oldest_first: self.given("priority") == Some("age"),
            speculation: match (self.given("speculative"), self.given("spec_sw_allocator")) {
                (None, _) => Speculation::None,
                (Some(_), None) => Speculation::LowPriority,
                _ if self.given("spec_mask_by_reqs") == Some("1") => Speculation::MaskedByRequests,
                _ => Speculation::MaskedByGrants,
            },
            speculation_needs: match (self.given("spec_check_elig"), self.given("spec_check_cred")) {
                (None, None) => SpeculationNeeds::Credit,
                (None, Some(_)) => SpeculationNeeds::Free,
                _ => SpeculationNeeds::Nothing,
            },
            vcs_with_switch: self.get("vc_allocator") == "piggyback",
            holds_crossbar: self.given("hold_switch_for_packet") == Some("1"),
            private_part: self
                .given("private_buf_size")
                .and_then(|flits| NonZeroU32::new(flits.parse::<u32>().expect("flits") * BYTES)),
            batched: true,
            speedup: self.speedup(),
            routing_delay: self.number("routing_delay") as u16,
            crossbar_delay: (self.number("st_prepare_delay") + self.number("st_final_delay")) as u16,
            switching: Switching::Wormhole,
        }
    }
}

/// A mesh or a torus of routers with one node each. Port 2 d leads to the next router of dimension d, port 2 d + 1 to
/// the one before, the last port to the node.
#[derive(Default)]
struct Grid {
    size: u32,
    dimensions: u32,
    wraps: bool,
}

impl Grid {
    fn place(&self, router: u32, dimension: u32) -> u32 {
        router / self.size.pow(dimension) % self.size
    }

    /// The router one step up or down in a dimension.
    fn step(&self, router: u32, dimension: u32, up: bool) -> u32 {
        let place = self.place(router, dimension);
        let next = if up { place + 1 } else { place + self.size - 1 } % self.size;
        router - place * self.size.pow(dimension) + next * self.size.pow(dimension)
    }

    fn build(&self, latency: u32, case: &mut Case) {
        for router in 0..self.size.pow(self.dimensions) {
            let port = 2 * self.dimensions;
            case.nodes.push([router, port, port, 1, 1]);
            for dimension in 0..self.dimensions {
                for (up, out) in [(true, 2 * dimension), (false, 2 * dimension + 1)] {
                    let next = self.step(router, dimension, up);
                    case.cables.push([router, out, next, out ^ 1, latency]);
                }
            }
        }
    }

    /// Lowest dimension first, the shorter way. In a torus the class is fixed where a dimension is entered.
    fn hops(&self, source: u32, destination: u32) -> Vec<(u16, u8, u8)> {
        let (mut hops, mut at) = (Vec::new(), source);
        for dimension in 0..self.dimensions {
            let (from, to) = (self.place(at, dimension), self.place(destination, dimension));
            let ahead = (to + self.size - from) % self.size;
            let up = if self.wraps {
                2 * ahead < self.size
            } else {
                to > from
            };
            let class = u8::from(self.wraps && from > to);
            while self.place(at, dimension) != to {
                hops.push(((2 * dimension + u32::from(!up)) as u16, class, 0));
                at = self.step(at, dimension, up);
            }
        }
        hops.push(((2 * self.dimensions) as u16, 0, 0));
        hops
    }
}

/// The dragonfly of BookSim with so many nodes and global links of a router, 2 `nodes` routers in a group. Ports lead
/// to the nodes, to the other routers of the group in their order, then to other groups: link j of a group, from its
/// router j / `nodes`, to the j-th other group.
struct Dragonfly {
    nodes: u32,
}

impl Dragonfly {
    fn routers(&self) -> u32 {
        2 * self.nodes
    }

    /// Router and port of the link from a group to another.
    fn gateway(&self, from: u32, to: u32) -> (u32, u32) {
        let link = if to < from { to } else { to - 1 };
        let port = self.nodes + self.routers() - 1 + link % self.nodes;
        (from * self.routers() + link / self.nodes, port)
    }

    fn local_port(&self, from: u32, to: u32) -> u32 {
        let (from, to) = (from % self.routers(), to % self.routers());
        self.nodes + if to < from { to } else { to - 1 }
    }

    fn build(&self, [local, global]: [u32; 2], case: &mut Case) {
        let groups = self.routers() * self.nodes + 1;
        for group in 0..groups {
            let routers = group * self.routers()..(group + 1) * self.routers();
            for router in routers.clone() {
                case.nodes
                    .extend((0..self.nodes).map(|node| [router, node, node, 1, 1]));
                for to in routers.clone().filter(|to| *to != router) {
                    let ports = (self.local_port(router, to), self.local_port(to, router));
                    case.cables.push([router, ports.0, to, ports.1, local]);
                }
            }
            for to in (0..groups).filter(|to| *to != group) {
                let (near, far) = (self.gateway(group, to), self.gateway(to, group));
                case.cables.push([near.0, near.1, far.0, far.1, global]);
            }
        }
    }

    /// Class 0 up to the global link, 1 on it and after it.
    fn hops(&self, source: u32, destination: u32) -> Vec<(u16, u8, u8)> {
        let (mut hops, mut at, to) = (Vec::new(), source / self.nodes, destination / self.nodes);
        let mut hop = |port: u32, class: bool| hops.push((port as u16, u8::from(class), 0));
        let (here, there) = (at / self.routers(), to / self.routers());
        if here != there {
            let (gateway, port) = self.gateway(here, there);
            if at != gateway {
                hop(self.local_port(at, gateway), false);
            }
            hop(port, true);
            at = self.gateway(there, here).0;
        }
        if at != to {
            hop(self.local_port(at, to), here != there);
        }
        hop(destination % self.nodes, here != there);
        hops
    }
}

/// The hops of a list: the destination of a packet is its number in it.
struct Listed(Vec<Vec<(u16, u8, u8)>>);

impl Routing for Listed {
    fn vcs(&self) -> u8 {
        1
    }
    fn route(&self, at: At, state: &mut RouteState, _: &dyn Congestion, _: &mut dyn Random) -> Hop {
        let (port, vc, _) = self.0[at.destination.0 as usize][usize::from(state.phase)];
        state.phase += 1;
        Hop {
            port: Port(port),
            vc,
            claim: BufferClaim::Credit,
        }
    }
    fn host_vc(&self, at: At, state: RouteState) -> Option<u8> {
        let (_, class, _) = self.0[at.destination.0 as usize][usize::from(state.phase) - 1];
        Some(class)
    }
    fn options(&self, _: At, _: RouteState, _: &mut Vec<(Hop, RouteState)>) {
        unreachable!("no proof is asked for")
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A message of the list is made.
    Made(usize),
    Head(u16, u8, Packet),
    Body(u16, BodyFlit),
    Credit(u16, u8, u32),
    Cycle,
    Nic(FlitNicTimer),
    Delivered(u8, Packet),
}

/// A router or a NIC port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Router(usize),
    Nic(usize),
}

/// What a part does, with the time after now.
#[derive(Default)]
struct Outputs<'a> {
    now: Time,
    case: Option<&'a Case>,
    /// By port; 0 of a NIC port.
    sent: Vec<(u16, Event, Time)>,
    own: Vec<(Event, Time)>,
    injected: Vec<(u32, Time)>,
    /// The VC that a NIC port draws.
    drawn_vc: Option<u8>,
}

impl Journal<FlitUndo> for Outputs<'_> {
    const KEPT: bool = false;
    fn keep(&mut self, _: FlitUndo) {}
}

impl<T> Journal<crate::nic::flit::FlitNicUndo<T>> for Outputs<'_> {
    const KEPT: bool = false;
    fn keep(&mut self, _: crate::nic::flit::FlitNicUndo<T>) {}
}

/// Routers draw nothing, NIC ports the VC that they have in the list.
struct Drawn(Option<u8>);

impl Random for Drawn {
    fn below(&mut self, bound: u32) -> u32 {
        let drawn = self.0.expect("something is drawn");
        assert!(u32::from(drawn) < bound);
        drawn.into()
    }
}

impl Outputs<'_> {
    /// The output of a packet at its next router, after those where it has been routed.
    fn next_output(&self, packet: &Packet) -> Option<(u16, u16)> {
        let case = self.case?;
        let of = &case.packets[packet.destination.0 as usize];
        let next = of.hops.get(usize::from(packet.route.phase))?;
        let router = case.router_of(of, usize::from(packet.route.phase));
        Some((next.0, case.ports_of(router)))
    }
}

impl RouterOutputs<FlitRouter> for Outputs<'_> {
    fn output_ahead(&self, _: u16, _: u8, packet: &Packet) -> Option<(u16, u16)> {
        self.next_output(packet)
    }
    fn depart(&mut self, port: u16, vc: u8, packet: Packet, wait: Time, _: Time) {
        self.sent.push((port, Event::Head(0, vc, packet), wait));
    }
    fn credit(&mut self, port: u16, vc: u8, bytes: u32, after: Time) {
        self.sent.push((port, Event::Credit(0, vc, bytes), after));
    }
    fn timer(&mut self, _: FlitTimer, after: Time) {
        self.own.push((Event::Cycle, after));
    }
    fn signal(&mut self, port: u16, signal: BodyFlit, after: Time) {
        self.sent.push((port, Event::Body(0, signal), after));
    }
    fn random(&mut self) -> impl Random {
        Drawn(None)
    }
    fn fate(&mut self, _: &Packet, _: PacketFate) {
        unreachable!()
    }
}

impl NicOutputs<FlitNic<u32>> for Outputs<'_> {
    fn first_output(&self, packet: &Packet) -> Option<(u16, u16)> {
        self.next_output(packet)
    }
    fn depart(&mut self, vc: u8, packet: Packet, _: NicSource, wait: Time, _: Time, _: bool) {
        self.sent.push((0, Event::Head(0, vc, packet), wait));
    }
    fn timer(&mut self, timer: FlitNicTimer, after: Time) {
        self.own.push((Event::Nic(timer), after));
    }
    fn signal(&mut self, signal: BodyFlit, after: Time) {
        self.sent.push((0, Event::Body(0, signal), after));
    }
    fn random(&mut self) -> impl Random {
        Drawn(self.drawn_vc)
    }
    fn fate(&mut self, _: &Packet, _: PacketFate) {
        unreachable!()
    }
    fn injected(&mut self, number: u32, after: Time) {
        self.injected.push((number, self.now + after));
    }
}

/// The packets in the buffer of an input VC: which hop of its path each takes here, its flits that have left, and its
/// number.
type Buffered = VecDeque<(usize, u32, u32)>;

/// The far end of a cable: part, port, latency in cycles.
type End = (Part, u16, u64);

/// By router, then port.
type Ends = Vec<Vec<Option<End>>>;

/// What happened to a packet: head and tail injected and tail arrived, in cycles; VC of the injection; VC of each hop;
/// by hop, then flit, the step in which it got the crossbar.
#[derive(Clone, Debug, Default, PartialEq)]
struct Happened {
    cycles: [u64; 3],
    inject_vc: u8,
    vcs: Vec<u8>,
    grants: Vec<Vec<u64>>,
}

fn run(case: &Case) -> Vec<Happened> {
    let routing = Listed(case.packets.iter().map(|packet| packet.hops.clone()).collect());
    let context = RoutingContext {
        routing: &routing,
        loads: &[],
    };
    let parameters = case.parameters();
    let rate = Rate::bits_per_s(8 * u64::from(BYTES) * 1_000_000_000_000 / CYCLE);
    assert_eq!(rate.serialization(BYTES), Time(CYCLE));
    let routers = case.nodes.iter().map(|node| node[0]);
    let routers = routers.chain(case.cables.iter().flat_map(|cable| [cable[0], cable[2]]));
    let routers = routers.max().expect("a router") as usize + 1;
    // The far ends of what leaves there, and of the credits of what comes in there.
    let mut ends: Ends = vec![Vec::new(); routers];
    let mut back = ends.clone();
    let set = |of: &mut Vec<Option<End>>, port: u32, end: End| {
        let port = port as usize;
        of.resize(of.len().max(port + 1), None);
        of[port] = Some(end);
    };
    for (node, [router, input, output, in_latency, out_latency]) in case.nodes.iter().enumerate() {
        let router = *router as usize;
        set(
            &mut ends[router],
            *output,
            (Part::Nic(node), 0, u64::from(*out_latency)),
        );
        set(
            &mut back[router],
            *input,
            (Part::Nic(node), 0, u64::from(*in_latency)),
        );
    }
    for [from, output, to, input, latency] in &case.cables {
        let (from_router, to_router) = (*from as usize, *to as usize);
        set(
            &mut ends[from_router],
            *output,
            (Part::Router(to_router), *input as u16, u64::from(*latency)),
        );
        set(
            &mut back[to_router],
            *input,
            (Part::Router(from_router), *output as u16, u64::from(*latency)),
        );
    }
    let buffer = match case.given("buf_size") {
        Some(flits) => flits.parse::<u32>().expect("flits") * BYTES / case.number("num_vcs"),
        None => case.number("vc_buf_size") * BYTES,
    };
    let credit_delay = Time(u64::from(case.number("credit_delay")) * CYCLE);
    let vcs = case.number("num_vcs") as u8;
    let classes = TrafficClasses::new((case.classes, vcs / case.classes), &[(1, 0)]).expect("one class");
    let mut all: Vec<FlitRouter> = (0..routers)
        .map(|router| {
            let count = ends[router].len().max(back[router].len());
            let ports: Vec<PortSetting> = (0..count)
                .map(|port| {
                    let end = ends[router].get(port).copied().flatten();
                    PortSetting {
                        rate,
                        to_host: end.is_some_and(|end| matches!(end.0, Part::Nic(_))),
                        credits: buffer,
                        pipeline: Time::ZERO,
                        cable: Time(end.map_or(0, |end| end.2) * CYCLE),
                        whole_packets: false,
                    }
                })
                .collect();
            let setup = RouterSetup {
                id: RouterId(router as u32),
                vcs,
                traffic_classes: classes,
                ports: &ports,
                injection: rate,
                largest_packet: 64 * BYTES,
                bubbles: false,
                credit_delay,
                measured: Measured::after(Time::ZERO),
            };
            FlitRouter::new(&setup, parameters)
        })
        .collect();
    let largest = case
        .packets
        .iter()
        .map(|packet| packet.flits)
        .max()
        .expect("packets")
        * BYTES;
    let mut nics: Vec<FlitNic<u32>> = (0..case.nodes.len())
        .map(|node| {
            let setup = NicSetup {
                end_point: HostId(node as u32),
                rate,
                ejection: rate,
                format: PacketFormat::without_header(largest),
                credits: buffer,
                flits: FlitRouter::capabilities(&parameters).flits,
                pipeline: Time::ZERO,
                arbiter: NicArbiter::InOrder,
                traffic_classes: classes,
                measured: Measured::after(Time::ZERO),
            };
            FlitNic::new(&setup, QueuedNicParameters::default())
        })
        .collect();
    let mut events: BinaryHeap<Reverse<(Time, usize)>> = BinaryHeap::new();
    let mut known: Vec<(Part, Event)> = Vec::new();
    for (number, packet) in case.packets.iter().enumerate() {
        events.push(Reverse((Time(packet.created * CYCLE), known.len())));
        known.push((Part::Nic(packet.source as usize), Event::Made(number)));
    }
    let mut happened = vec![Happened::default(); case.packets.len()];
    let mut buffered: BTreeMap<(usize, u16, u8), Buffered> = BTreeMap::new();
    let mut to_send: Vec<VecDeque<u8>> = vec![VecDeque::new(); case.nodes.len()];
    let mut in_order: Vec<&ListedPacket> = case.packets.iter().collect();
    in_order.sort_by_key(|packet| packet.created);
    for packet in in_order {
        to_send[packet.source as usize].push_back(packet.inject_vc);
    }
    while let Some(Reverse((now, index))) = events.pop() {
        let (part, event) = known[index];
        let mut out = Outputs {
            now,
            case: Some(case),
            drawn_vc: match part {
                Part::Nic(node) => to_send[node].front().copied(),
                Part::Router(_) => None,
            },
            ..Outputs::default()
        };
        // What leaves in a cycle starts at its end.
        let cycle = |start: Time| start.ps() / CYCLE - 1;
        match (part, event) {
            (Part::Router(router), event) => match event {
                Event::Head(input, vc, packet) => {
                    let number = packet.destination.0;
                    let hop = happened[number as usize].grants.len();
                    happened[number as usize].grants.push(Vec::new());
                    let buffer = buffered.entry((router, input, vc)).or_default();
                    buffer.push_back((hop, 0, number));
                    all[router].arrived(now, Arrival { input, vc, packet }, &context, &mut out);
                }
                Event::Body(port, body) => all[router].signal(now, port, body, &context, &mut out),
                Event::Credit(port, vc, bytes) => all[router].credit(now, port, vc, bytes, &mut out),
                Event::Cycle => all[router].timer(now, FlitTimer::Cycle, &context, &mut out),
                other => unreachable!("{other:?}"),
            },
            (Part::Nic(node), Event::Made(number)) => {
                let message = Outgoing {
                    destination: HostId(number as u32),
                    number: number as u32,
                    bytes: u64::from(case.packets[number].flits * BYTES),
                    job: 0,
                    source: 0,
                    traffic_class: 0,
                    standalone: false,
                    report: Some(number as u32),
                };
                nics[node].send((now, now), &message, &mut out);
            }
            (Part::Nic(node), Event::Nic(timer)) => {
                let due = nics[node].timer(now, timer, &mut out);
                assert_eq!(due, None);
            }
            (Part::Nic(node), Event::Credit(_, vc, bytes)) => nics[node].credit(now, vc, bytes, &mut out),
            (Part::Nic(_), Event::Delivered(vc, packet)) => {
                let of = &mut happened[packet.destination.0 as usize];
                of.cycles[2] = now.ps() / CYCLE;
                of.vcs.push(vc);
            }
            (_, other) => unreachable!("{other:?}"),
        }
        let mut push = |time: Time, part: Part, event: Event| {
            events.push(Reverse((time, known.len())));
            known.push((part, event));
        };
        for (event, after) in out.own {
            push(now + after, part, event);
        }
        // Credits go back where flits get the crossbar. With one input of the crossbar an input port has one in a step,
        // and a cycle has at most two steps.
        let is_credit = |sent: &&(u16, Event, Time)| matches!(sent.1, Event::Credit(..));
        let mut later: BTreeMap<u16, u64> = BTreeMap::new();
        for (port, ..) in out.sent.iter().filter(is_credit) {
            *later.entry(*port).or_default() += 1;
        }
        for (port, event, after) in out.sent {
            let end = match part {
                Part::Nic(node) => {
                    let [router, input, _, latency, _] = case.nodes[node];
                    (Part::Router(router as usize), input as u16, u64::from(latency))
                }
                Part::Router(router) => match event {
                    Event::Credit(..) => back[router][usize::from(port)].expect("a cable"),
                    _ => ends[router][usize::from(port)].expect("a cable"),
                },
            };
            let own_port = port;
            let (to, port, latency) = end;
            let mut delay = after + Time(latency * CYCLE);
            let event = match event {
                Event::Head(_, vc, packet) => {
                    let of = &mut happened[packet.destination.0 as usize];
                    if let Part::Nic(node) = part {
                        (of.cycles[0], of.inject_vc) = (cycle(now + after), vc);
                        to_send[node].pop_front();
                    } else if let Part::Router(_) = to {
                        of.vcs.push(vc);
                    }
                    match to {
                        Part::Nic(_) => Event::Delivered(vc, packet),
                        Part::Router(_) => Event::Head(port, vc, packet),
                    }
                }
                Event::Body(_, body) => Event::Body(port, body),
                Event::Credit(_, vc, bytes) => {
                    if let Part::Router(_) = to {
                        delay += credit_delay;
                    }
                    if let Part::Router(router) = part {
                        let buffer = buffered.get_mut(&(router, own_port, vc)).expect("a buffer");
                        let (hop, sent, number) = buffer.front_mut().expect("a packet");
                        *sent += 1;
                        let of = &mut happened[*number as usize];
                        let later = later.get_mut(&own_port).expect("a credit");
                        *later -= 1;
                        let last = all[router].ports[usize::from(own_port)].state.credit_step;
                        of.grants[*hop].push(last - if parameters.input_speedup == 1 { *later } else { 0 });
                        if *sent == case.packets[*number as usize].flits {
                            buffer.pop_front();
                        }
                    }
                    Event::Credit(port, vc, bytes)
                }
                other => other,
            };
            push(now + delay, to, event);
        }
        for (number, ended) in out.injected {
            happened[number as usize].cycles[1] = cycle(ended) - 1;
        }
    }
    for router in &all {
        let mut held = Vec::new();
        router.for_each_held(&mut |what| held.push(format!("{what:?}")));
        assert!(held.is_empty(), "{}: {held:?}", case.name);
    }
    happened
}

#[test]
fn lists_of_packets_have_the_cycles_of_booksim() {
    let (mut wrong, mut packets, mut grants) = (Vec::new(), 0, 0);
    for text in BOOKSIM.split("case ").skip(1) {
        let case = Case::read(text);
        let mut happened = run(&case);
        packets += happened.len();
        for (packet, of) in case.packets.iter().zip(&mut happened) {
            grants += packet.grants.iter().map(Vec::len).sum::<usize>();
            if packet.grants.is_empty() {
                of.grants.clear();
            }
        }
        let expected = case.packets.iter().map(|packet| Happened {
            cycles: packet.cycles,
            inject_vc: packet.inject_vc,
            vcs: packet.hops.iter().map(|hop| hop.2).collect(),
            grants: packet.grants.clone(),
        });
        let differs = happened.iter().zip(expected).enumerate();
        let mut differs = differs.filter(|(_, (found, expected))| *found != expected);
        let first = differs.next();
        if let Some((number, (found, expected))) = first {
            let more = differs.count();
            wrong.push(format!(
                "{}: packet {number}: {found:?}, expected {expected:?}; {more} others differ",
                case.name
            ));
        }
    }
    println!("{packets} packets, {grants} grants");
    assert!(
        wrong.is_empty(),
        "{} cases differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn long_lists_under_load_have_the_arrivals_of_booksim() {
    for text in BOOKSIM_LONG.split("case ").skip(1) {
        let case = Case::read(text);
        let arrivals = run(&case).into_iter().map(|happened| happened.cycles[2]);
        let both = arrivals.zip(case.packets.iter().map(|packet| packet.cycles[2]));
        let wrong = both
            .enumerate()
            .filter(|(_, (found, expected))| found != expected);
        let wrong: Vec<_> = wrong.collect();
        println!("{}: {} packets", case.name, case.packets.len());
        assert!(
            wrong.is_empty(),
            "{}: {} differ, the first {:?}",
            case.name,
            wrong.len(),
            wrong[0]
        );
    }
}

#[derive(Clone, Debug)]
enum Op {
    Arrive(Arrival),
    Body(u16, u8),
    Credit(u16, u8, u32),
    /// The next cycle, or one that has not been set.
    Cycle,
}

/// A router under the reverse check, with ports of two speeds, and a warm-up. The number selects parameters.
struct Subject<const KIND: usize>(FlitRouter);

const KINDS: [&str; 11] = [
    "flit = \"16 B\"",
    "flit = \"8 B\"\nspeedup = 1.5\nallocator = \"islip\"\niterations = 3\nrouting_delay = 0",
    "flit = \"64 B\"\nallocator = \"separable-output-first\"\nvc_preference = \"empty\"\npriority = \"age\"\n\
     crossbar_delay = 3\nswitch_allocation = \"per-packet\"",
    "flit = \"16 B\"\nspeedup = 2\ninput_speedup = 2\noutput_buffer = \"40 B\"\nswitching = \"cut-through\"\narbiter = \"matrix\"",
    "allocator = \"wavefront\"\noutput_speedup = 2\npriority = \"age\"\n\
     vc_requests = \"with-credit\"\nvc_requesters = \"by-vc\"\nvc_reuse = \"after-credits\"",
    "allocator = \"lonely-output\"\nspeculation = \"masked-by-grants\"",
    "speculation = \"low-priority\"\nspeculation_needs = \"nothing\"",
    "speculation = \"masked-by-requests\"\nvc_allocation = \"with-switch\"",
    "allocator = \"maximum-size\"",
    "allocator = \"select\"\niterations = 2\narbiter_groups = 3\narbiter = \"matrix\"",
    "buffers = \"shared\"\nprivate_buffer = \"40 B\"\nhost_vcs = \"by-routing\"\nvc_requests = \"with-credit\"\nstages = \"batched\"\nrouting_delay = 3\ncrossbar_delay = 2",
];

/// The parameters of a section `network.router`.
fn read(text: &str) -> Result<FlitParameters, String> {
    let text = format!("model = \"flit\"\n{text}");
    let section = Section::from_toml(&text, "x.toml").expect("TOML");
    section.declare(FlitRouter::MODEL.parameters);
    FlitRouter::read(&section).map_err(|error| error.to_string())
}

/// Sends a packet to the port and VC that its destination names. Draws a random number and changes the routing state.
struct Explicit;

const EXPLICIT: RoutingContext<'static> = RoutingContext {
    routing: &Explicit,
    loads: &[],
};

impl Routing for Explicit {
    fn vcs(&self) -> u8 {
        2
    }
    fn route(&self, at: At, state: &mut RouteState, _: &dyn Congestion, random: &mut dyn Random) -> Hop {
        state.path = random.below(7) as u16;
        state.phase = state.phase.wrapping_add(1);
        Hop {
            port: Port((at.destination.0 % 4) as u16),
            vc: (at.destination.0 / 4 % 2) as u8,
            claim: BufferClaim::Credit,
        }
    }
    fn options(&self, _: At, _: RouteState, _: &mut Vec<(Hop, RouteState)>) {
        unreachable!("no proof is asked for")
    }
}

impl<const KIND: usize> Reversible for Subject<KIND> {
    type Op = Op;
    type Step = FlitUndo;
    type Output = RecordedOutput<FlitTimer>;
    type State = FlitRouterState;

    fn fresh() -> Self {
        let ports = bench::ports(400);
        let mut setup = bench::setup(&ports, 200, false);
        setup.measured = Measured {
            from: Time(1_000_000),
            until: Time(2_000_000),
        };
        Subject(FlitRouter::new(&setup, read(KINDS[KIND]).expect("parameters")))
    }

    fn apply<const KEPT: bool>(&mut self, now: Time, op: &Op, out: &mut RouterRecorder<FlitRouter, KEPT>) {
        match *op {
            Op::Arrive(arrival) => self.0.arrived(now, arrival, &EXPLICIT, out),
            Op::Body(port, vc) => {
                let body = BodyFlit { vc, bytes: 16 };
                self.0.signal(now, port, body, &EXPLICIT, out);
            }
            Op::Credit(port, vc, bytes) => self.0.credit(now, port, vc, bytes, out),
            Op::Cycle => {
                // What expires is due now.
                let now = match self.0.next {
                    ASLEEP => now,
                    next => self.0.clock.middle(next),
                };
                self.0.timer(now, FlitTimer::Cycle, &EXPLICIT, out);
            }
        }
    }

    fn undo(&mut self, step: FlitUndo) {
        self.0.undo(step);
    }
    fn state(&self) -> FlitRouterState {
        self.0.state()
    }
    fn restore(&mut self, state: FlitRouterState) -> Result<(), String> {
        self.0.restore(state)
    }
}

fn op() -> impl Strategy<Value = Op> {
    let arrivals = (0u16..4, 0u8..2, bench::packets(1..=200u32));
    let credit = |(port, vc, bytes)| Op::Credit(port, vc, bytes);
    prop_oneof![
        4 => arrivals.prop_map(|(input, vc, packet)| Op::Arrive(Arrival { input, vc, packet })),
        5 => (0u16..4, 0u8..2).prop_map(|(port, vc)| Op::Body(port, vc)),
        8 => Just(Op::Cycle),
        2 => bench::credits(0u32..300).prop_map(credit),
        1 => bench::credits(any::<u32>()).prop_map(credit),
    ]
}

proptest! {
    #[test]
    fn every_input_can_be_undone_and_saved(script in script(op(), 100_000)) {
        check::<Subject<0>>(&script)?;
        check::<Subject<1>>(&script)?;
        check::<Subject<2>>(&script)?;
        check::<Subject<3>>(&script)?;
        check::<Subject<4>>(&script)?;
        check::<Subject<5>>(&script)?;
        check::<Subject<6>>(&script)?;
        check::<Subject<7>>(&script)?;
        check::<Subject<8>>(&script)?;
        check::<Subject<9>>(&script)?;
        check::<Subject<10>>(&script)?;
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    let refused = [
        ("flit = \"0 B\"", "expected 1 B to 65536 B"),
        (
            "iterations = 2",
            "expected no iterations, or allocator = \"islip\" or \"select\"",
        ),
        ("allocator = \"islip\"\niterations = 65", "expected 1 to 64"),
        ("crossbar_delay = 0", "expected 1 to 1000 cycles"),
        (
            "allocator = \"wavefront\"\narbiter = \"matrix\"",
            "the allocator wavefront makes no use of arbiters; expected no arbiter, or a separable",
        ),
        (
            "allocator = \"maximum-size\"\narbiter_groups = 2",
            "expected no arbiter_groups, or a separable",
        ),
        ("arbiter_groups = 0", "expected 1 to 64"),
        (
            "vc_allocation = \"with-switch\"",
            "which is speculation; expected speculation = \"low-priority\"",
        ),
        (
            "speculation_needs = \"free\"",
            "there is no speculation; expected speculation = \"low-priority\"",
        ),
        (
            "allocator = \"islip\"\npriority = \"age\"",
            "the allocator islip has no priorities; expected priority = \"none\", or a separable",
        ),
        (
            "allocator = \"islip\"\nvc_preference = \"empty\"",
            "expected vc_preference = \"none\", or a separable",
        ),
        ("input_speedup = 0", "expected 1 to 64"),
        ("output_speedup = 65", "expected 1 to 64"),
        (
            "flit = \"32 B\"\noutput_buffer = \"31 B\"",
            "expected a flit, 32 B, to 1 GiB",
        ),
        ("routing_delay = 1001", "expected 0 to 1000 cycles"),
        (
            "vc_assignment = \"next-output\"",
            "vc_assignment: virtual channels by the next output need lookahead; expected routing_delay = 0",
        ),
        (
            "routing_delay = 0\nvc_assignment = \"next-output\"\nhost_vcs = \"by-routing\"",
            "host_vcs: virtual channels by the next output leave no choice to routing; expected host_vcs = \"any\"",
        ),
        (
            "private_buffer = \"32 B\"",
            "only shared buffers have private parts; expected no private_buffer, or buffers = \"shared\"",
        ),
        (
            "buffers = \"shared\"\nflit = \"32 B\"\nprivate_buffer = \"31 B\"",
            "private_buffer: 31 B is out of range; expected a flit, 32 B, to 1 GiB",
        ),
        (
            "buffers = \"shared\"\nswitching = \"cut-through\"",
            "buffers: a packet does not keep the space of a shared buffer for its next flits; expected buffers = \"private\"",
        ),
        (
            "buffers = \"shared\"\noutput_speedup = 2",
            "expected buffers = \"private\", or output_speedup = 1",
        ),
        (
            "stages = \"batched\"\nspeedup = 2",
            "stages: batches are those of whole cycles; expected speedup = 1, or stages = \"pipelined\"",
        ),
        ("speedup = 0.5", "expected a number from 1 to 1000"),
    ];
    for (text, expected) in refused {
        let error = read(text).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_state_of_another_router_is_refused_and_changes_nothing() {
    let fresh = || Subject::<0>::fresh().0;
    let mut first = fresh();
    let mut out = bench::RouterRecorder::<FlitRouter, false>::default();
    let packet = Packet::new(HostId(0), HostId(1), 0, 40, Time(0), 0);
    let arrival = Arrival {
        input: 0,
        vc: 1,
        packet,
    };
    first.arrived(Time(0), arrival, &EXPLICIT, &mut out);
    let good = first.state();
    let mut second = fresh();
    let untouched = second.state();
    let mut changed = [good.clone(), good.clone(), good.clone(), good.clone()];
    changed[0].ports.truncate(3);
    changed[1].pointers[0] = 8;
    changed[2].inputs[1].output = 4;
    changed[3].buffers[1].clear();
    for state in changed {
        let error = second.restore(state).unwrap_err();
        assert!(error.contains("saved state"), "{error}");
        assert_eq!(second.state(), untouched);
    }
    assert_eq!(second.restore(good.clone()), Ok(()));
    assert_eq!(second.state(), good);
}
