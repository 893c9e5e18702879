//! Deadlock freedom by the channel dependency graph.
//!
//! A channel is one VC of one link between routers. A packet that holds a channel and may next ask for
//! another makes the second depend on the first. If that graph has no cycle, no set of packets can wait
//! on itself, whatever the traffic (W. J. Dally and C. L. Seitz, "Deadlock-free message routing in
//! multiprocessor interconnection networks", IEEE Trans. Computers C-36(5), 1987). Injection and ejection
//! links are left out: hosts take what arrives, and nothing waits for an injection link.
//!
//! The proof walks every situation that [`Routing::options`] can lead to, for every pair of hosts, and so
//! finds on the way whether a packet can be sent to an unwired port, to the wrong host, or round for ever.
//! Its cost grows with hosts times situations: it is for small networks, and `max_states` ends it on
//! others.

use std::collections::{HashMap, VecDeque};
use std::fmt;

use topology::{HostId, Peer, Port, RouterId, Topology};

use crate::{At, Hop, RouteState, Routing};

/// What a completed proof has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlockFree {
    /// Channels that some packet can use.
    pub channels: u64,
    /// Pairs of channels of which a packet can hold the first and ask for the second.
    pub dependencies: u64,
    /// Situations walked: router, input, VC, routing state and destination.
    pub states: u64,
    /// Router-to-router links on the longest route.
    pub longest_route: u32,
}

/// Why there is no proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotProven {
    /// Packets can wait on each other in a circle.
    Cycle(Cycle),
    /// A packet can be sent where it cannot go.
    Misroute(Misroute),
    /// The network has more situations than the caller wanted to pay for; nothing is known.
    TooLarge {
        /// The caller's limit.
        max_states: u64,
    },
}

/// A cycle of channels; each can wait for the next, and the last for the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The channels in the order of waiting.
    pub channels: Vec<Channel>,
}

/// One VC of one link between routers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// The router that sends.
    pub router: RouterId,
    /// Its output port.
    pub port: Port,
    /// The virtual channel.
    pub vc: u8,
    /// The router that receives.
    pub to: RouterId,
    /// Coordinates of the sending router.
    pub from_coordinates: String,
    /// Coordinates of the receiving router.
    pub to_coordinates: String,
}

/// A routing decision that cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misroute {
    /// The router that decides.
    pub router: RouterId,
    /// Its coordinates.
    pub coordinates: String,
    /// The port through which the packet came in.
    pub input: Port,
    /// Where the packet should go.
    pub destination: HostId,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong with a routing decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No hop is offered.
    NoHop,
    /// The router has no such port.
    NoSuchPort(Port),
    /// The port is not wired.
    Unwired(Port),
    /// The hop uses a VC that the algorithm has not declared, or one other than 0 towards a host.
    NoSuchVc(u8),
    /// The port leads to another host than the destination.
    WrongHost(HostId),
    /// The packet can come back to the same situation.
    Endless,
}

impl fmt::Display for NotProven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotProven::Cycle(cycle) => cycle.fmt(f),
            NotProven::Misroute(misroute) => misroute.fmt(f),
            NotProven::TooLarge { max_states } => {
                write!(f, "not decided: the proof needs more than {max_states} states")
            }
        }
    }
}

impl std::error::Error for NotProven {}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} channels can wait on each other in a circle:",
            self.channels.len()
        )?;
        for channel in &self.channels {
            write!(f, "\n  {channel}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "router {} ({}) port {} VC {} -> router {} ({})",
            self.router.0, self.from_coordinates, self.port.0, self.vc, self.to.0, self.to_coordinates
        )
    }
}

impl fmt::Display for Misroute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a packet to host {} that came into router {} ({}) through port {} ",
            self.destination.0, self.router.0, self.coordinates, self.input.0
        )?;
        match self.fault {
            Fault::NoHop => write!(f, "gets no way on"),
            Fault::NoSuchPort(port) => write!(f, "is sent to port {}, which does not exist", port.0),
            Fault::Unwired(port) => write!(f, "is sent to port {}, which is not wired", port.0),
            Fault::NoSuchVc(vc) => write!(f, "is sent on VC {vc}, which does not exist there"),
            Fault::WrongHost(host) => write!(f, "is delivered to host {}", host.0),
            Fault::Endless => write!(f, "can come back to where it was, and so travel for ever"),
        }
    }
}

/// Proves that `routing` on `topology` cannot deadlock, and that every packet arrives at its host.
///
/// `max_states` bounds the work, about half a microsecond for each; memory is for the channels and for the
/// situations of one destination at a time. Dragonflies, for example: 72 hosts with UGAL take 80,000 states,
/// 1,056 hosts with minimal routing 1.4 million.
///
/// # Errors
/// A cycle of channels (a shortest one), a decision that leads nowhere, or more than `max_states`
/// situations.
pub fn prove_deadlock_free(
    topology: &dyn Topology,
    routing: &dyn Routing,
    max_states: u64,
) -> Result<DeadlockFree, NotProven> {
    let mut walk = Walk::new(topology, routing, max_states)?;
    for destination in 0..topology.hosts() {
        walk.towards(HostId(destination))?;
    }
    match shortest_cycle(&walk.successors) {
        Some(cycle) => {
            let channels = cycle.into_iter().map(|c| walk.channel(c)).collect();
            Err(NotProven::Cycle(Cycle { channels }))
        }
        None => Ok(DeadlockFree {
            channels: walk.used.iter().filter(|u| **u).count() as u64,
            dependencies: walk.successors.iter().map(|s| s.len() as u64).sum(),
            states: walk.states,
            longest_route: walk.longest_route,
        }),
    }
}

/// A packet's situation on the way to one destination.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Situation {
    router: RouterId,
    input: Port,
    vc: u8,
    state: RouteState,
}

/// Whether a situation has been walked: being walked, or done with this many links to go at most.
enum Visit {
    Open,
    Done(u32),
}

/// A situation on the path being walked.
struct Frame {
    here: Situation,
    /// The channel on which the packet came, or none at its first router.
    held: Option<u32>,
    /// Hops not yet walked.
    options: Vec<(Hop, RouteState)>,
    /// Most links to go, over the hops walked so far.
    links: u32,
}

struct Walk<'a> {
    topology: &'a dyn Topology,
    routing: &'a dyn Routing,
    max_states: u64,
    states: u64,
    /// Index of the first channel of each router.
    first_channel: Vec<u32>,
    /// Channels that each channel depends on.
    successors: Vec<Vec<u32>>,
    used: Vec<bool>,
    longest_route: u32,
}

impl<'a> Walk<'a> {
    fn new(topology: &'a dyn Topology, routing: &'a dyn Routing, max_states: u64) -> Result<Self, NotProven> {
        let too_large = NotProven::TooLarge { max_states };
        // Every pair of hosts is at least one state: refuse before anything of that size is allocated.
        let hosts = u64::from(topology.hosts());
        if hosts * hosts > max_states || u64::from(topology.routers()) > max_states {
            return Err(too_large);
        }
        let mut first_channel = Vec::with_capacity(topology.routers() as usize);
        let mut channels = 0u64;
        for router in 0..topology.routers() {
            first_channel.push(u32::try_from(channels).map_err(|_| too_large.clone())?);
            channels += u64::from(topology.ports(RouterId(router))) * u64::from(routing.vcs());
        }
        if channels > max_states.max(1 << 20).min(u64::from(u32::MAX)) {
            return Err(too_large);
        }
        Ok(Walk {
            topology,
            routing,
            max_states,
            states: 0,
            first_channel,
            successors: vec![Vec::new(); channels as usize],
            used: vec![false; channels as usize],
            longest_route: 0,
        })
    }

    fn index(&self, router: RouterId, hop: Hop) -> u32 {
        self.first_channel[router.0 as usize]
            + u32::from(hop.port.0) * u32::from(self.routing.vcs())
            + u32::from(hop.vc)
    }

    fn channel(&self, index: u32) -> Channel {
        let router = self.first_channel.partition_point(|first| *first <= index) as u32 - 1;
        let within = index - self.first_channel[router as usize];
        let vcs = u32::from(self.routing.vcs());
        let (router, port) = (RouterId(router), Port((within / vcs) as u16));
        let Peer::Router(to, _) = self.topology.peer(router, port) else {
            unreachable!("only links between routers are channels");
        };
        Channel {
            router,
            port,
            vc: (within % vcs) as u8,
            to,
            from_coordinates: self.topology.coordinates(router),
            to_coordinates: self.topology.coordinates(to),
        }
    }

    fn open(
        &mut self,
        here: Situation,
        held: Option<u32>,
        source: HostId,
        destination: HostId,
    ) -> Result<Frame, NotProven> {
        self.states += 1;
        if self.states > self.max_states {
            return Err(NotProven::TooLarge {
                max_states: self.max_states,
            });
        }
        let at = At {
            router: here.router,
            input: here.input,
            vc: here.vc,
            source,
            destination,
        };
        let mut options = Vec::new();
        self.routing.options(at, here.state, &mut options);
        if options.is_empty() {
            return Err(self.misroute(here, destination, Fault::NoHop));
        }
        Ok(Frame {
            here,
            held,
            options,
            links: 0,
        })
    }

    fn misroute(&self, here: Situation, destination: HostId, fault: Fault) -> NotProven {
        NotProven::Misroute(Misroute {
            router: here.router,
            coordinates: self.topology.coordinates(here.router),
            input: here.input,
            destination,
            fault,
        })
    }

    /// Walks all situations of packets to `destination`, depth first.
    fn towards(&mut self, destination: HostId) -> Result<(), NotProven> {
        let mut visits = HashMap::new();
        for source in (0..self.topology.hosts()).map(HostId) {
            let (router, input) = self.topology.attachment(source);
            let start = Situation {
                router,
                input,
                vc: 0,
                state: RouteState::default(),
            };
            let mut path = vec![self.open(start, None, source, destination)?];
            while let Some(mut frame) = path.pop() {
                let Some((hop, state)) = frame.options.pop() else {
                    visits.insert(frame.here, Visit::Done(frame.links));
                    match path.last_mut() {
                        Some(before) => before.links = before.links.max(frame.links + 1),
                        None => self.longest_route = self.longest_route.max(frame.links),
                    }
                    continue;
                };
                let Some((next, asked)) = self.step(&frame, hop, state, destination)? else {
                    path.push(frame);
                    continue;
                };
                match visits.get(&next) {
                    Some(Visit::Open) => {
                        return Err(self.misroute(frame.here, destination, Fault::Endless));
                    }
                    Some(Visit::Done(links)) => {
                        frame.links = frame.links.max(links + 1);
                        path.push(frame);
                    }
                    None => {
                        visits.insert(next, Visit::Open);
                        path.push(frame);
                        path.push(self.open(next, Some(asked), source, destination)?);
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes one hop: the situation it leads to and the channel it uses, or none at the destination.
    fn step(
        &mut self,
        frame: &Frame,
        hop: Hop,
        state: RouteState,
        destination: HostId,
    ) -> Result<Option<(Situation, u32)>, NotProven> {
        let router = frame.here.router;
        let fail = |walk: &Self, fault| Err(walk.misroute(frame.here, destination, fault));
        if hop.port.0 >= self.topology.ports(router) {
            return fail(self, Fault::NoSuchPort(hop.port));
        }
        match self.topology.peer(router, hop.port) {
            Peer::Unwired => fail(self, Fault::Unwired(hop.port)),
            Peer::Host(host) if host != destination => fail(self, Fault::WrongHost(host)),
            Peer::Host(_) if hop.vc != 0 => fail(self, Fault::NoSuchVc(hop.vc)),
            Peer::Host(_) => Ok(None),
            Peer::Router(..) if hop.vc >= self.routing.vcs() => fail(self, Fault::NoSuchVc(hop.vc)),
            Peer::Router(next, input) => {
                let asked = self.index(router, hop);
                self.used[asked as usize] = true;
                if let Some(held) = frame.held {
                    let successors = &mut self.successors[held as usize];
                    if !successors.contains(&asked) {
                        successors.push(asked);
                    }
                }
                let next = Situation {
                    router: next,
                    input,
                    vc: hop.vc,
                    state,
                };
                Ok(Some((next, asked)))
            }
        }
    }
}

/// A shortest cycle of the graph, or none.
fn shortest_cycle(successors: &[Vec<u32>]) -> Option<Vec<u32>> {
    let on_cycles = without_sources(successors);
    let mut best: Option<Vec<u32>> = None;
    for start in (0..successors.len() as u32).filter(|v| on_cycles[*v as usize]) {
        let limit = best.as_ref().map_or(usize::MAX, Vec::len);
        if let Some(cycle) = cycle_through(start, successors, &on_cycles, limit) {
            best = Some(cycle);
        }
        // No cycle of two links or more is shorter than two.
        if best.as_ref().is_some_and(|b| b.len() <= 2) {
            break;
        }
    }
    best
}

/// What is left when vertices without predecessors are taken away one after the other: every cycle, and
/// what lies behind one.
fn without_sources(successors: &[Vec<u32>]) -> Vec<bool> {
    let mut predecessors = vec![0u32; successors.len()];
    for next in successors.iter().flatten() {
        predecessors[*next as usize] += 1;
    }
    let mut left = vec![true; successors.len()];
    let mut sources: Vec<u32> = (0..successors.len() as u32)
        .filter(|v| predecessors[*v as usize] == 0)
        .collect();
    while let Some(source) = sources.pop() {
        left[source as usize] = false;
        for next in &successors[source as usize] {
            predecessors[*next as usize] -= 1;
            if predecessors[*next as usize] == 0 {
                sources.push(*next);
            }
        }
    }
    left
}

/// The shortest cycle through `start` that is shorter than `limit`, breadth first.
fn cycle_through(start: u32, successors: &[Vec<u32>], within: &[bool], limit: usize) -> Option<Vec<u32>> {
    let mut before: HashMap<u32, u32> = HashMap::new();
    let mut queue = VecDeque::from([(start, 1usize)]);
    while let Some((vertex, length)) = queue.pop_front() {
        if length >= limit {
            return None;
        }
        for next in successors[vertex as usize].iter().copied() {
            if next == start {
                let mut cycle = vec![vertex];
                let mut back = vertex;
                while back != start {
                    back = before[&back];
                    cycle.push(back);
                }
                cycle.reverse();
                return Some(cycle);
            }
            if within[next as usize] && !before.contains_key(&next) {
                before.insert(next, vertex);
                queue.push_back((next, length + 1));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Congestion, Random};
    use config::Section;

    /// What a test lets a packet do.
    type Rule = fn(&dyn Topology, At) -> Vec<Hop>;

    struct Scripted<'a>(&'a dyn Topology, Rule);

    impl Routing for Scripted<'_> {
        fn vcs(&self) -> u8 {
            1
        }
        fn route(&self, at: At, _: &mut RouteState, _: &dyn Congestion, _: &mut dyn Random) -> Hop {
            (self.1)(self.0, at)[0]
        }
        fn options(&self, at: At, state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
            out.extend((self.1)(self.0, at).into_iter().map(|hop| (hop, state)));
        }
    }

    const UP: Port = Port(1);

    fn hop(port: Port) -> Vec<Hop> {
        vec![Hop::new(port, 0)]
    }

    /// Leaves at the destination, else goes the given way.
    fn deliver_or(topology: &dyn Topology, at: At, port: Port) -> Vec<Hop> {
        let (router, ejection) = topology.attachment(at.destination);
        hop(if router == at.router { ejection } else { port })
    }

    fn ring(kind: &str) -> Box<dyn Topology> {
        let text = format!("kind = \"{kind}\"\nsizes = [4]");
        topology::build(&Section::from_toml(&text, "x.toml").unwrap()).unwrap()
    }

    fn prove(kind: &str, rule: Rule) -> Result<DeadlockFree, NotProven> {
        let topology = ring(kind);
        prove_deadlock_free(&*topology, &Scripted(&*topology, rule), 1000)
    }

    fn fault(kind: &str, rule: Rule) -> Fault {
        match prove(kind, rule) {
            Err(NotProven::Misroute(misroute)) => misroute.fault,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_ring_without_dateline_has_its_cycle() {
        let Err(NotProven::Cycle(cycle)) = prove("torus", |t, at| deliver_or(t, at, UP)) else {
            panic!("no cycle");
        };
        assert_eq!(cycle.channels.len(), 4);
        for (channel, next) in cycle.channels.iter().zip(cycle.channels.iter().cycle().skip(1)) {
            assert_eq!(channel.to, next.router);
        }
        let text = cycle.to_string();
        assert!(text.contains("4 channels can wait on each other"), "{text}");
        assert!(
            text.contains("router 3 ((3)) port 1 VC 0 -> router 0 ((0))"),
            "{text}"
        );
    }

    #[test]
    fn decisions_that_lead_nowhere_are_found() {
        assert_eq!(fault("mesh", |t, at| deliver_or(t, at, UP)), Fault::Unwired(UP));
        assert_eq!(fault("torus", |_, _| hop(UP)), Fault::Endless);
        assert_eq!(fault("torus", |_, _| hop(Port(9))), Fault::NoSuchPort(Port(9)));
        assert_eq!(fault("torus", |_, _| hop(Port(0))), Fault::WrongHost(HostId(1)));
        assert_eq!(fault("torus", |_, _| vec![]), Fault::NoHop);
        assert_eq!(fault("torus", |_, _| vec![Hop::new(UP, 1)]), Fault::NoSuchVc(1));
        assert_eq!(
            fault("torus", |_, _| vec![Hop::new(Port(0), 1)]),
            Fault::NoSuchVc(1)
        );
    }

    #[test]
    fn a_limit_ends_the_proof() {
        let topology = ring("torus");
        let routing = Scripted(&*topology, |t, at| deliver_or(t, at, UP));
        for max_states in [0, 1, 15, 16, 20] {
            assert_eq!(
                prove_deadlock_free(&*topology, &routing, max_states),
                Err(NotProven::TooLarge { max_states })
            );
        }
    }

    #[test]
    fn a_line_is_free_of_deadlock() {
        let there_and_back: Rule = |t, at| {
            let down = Port(2);
            deliver_or(t, at, if at.destination.0 > at.router.0 { UP } else { down })
        };
        let proof = prove("mesh", there_and_back).unwrap();
        assert_eq!(
            proof,
            DeadlockFree {
                channels: 6,
                dependencies: 4,
                // 16 pairs at their source, and for each destination the three links towards it.
                states: 28,
                longest_route: 3,
            }
        );
    }

    #[test]
    fn the_shortest_cycle_is_reported() {
        // 0 -> 1 -> 2 -> 3 -> 0 with the chord 2 -> 1, and a tail.
        let graph = [vec![1], vec![2], vec![3, 1], vec![0, 4], vec![]];
        let mut cycle = shortest_cycle(&graph).unwrap();
        cycle.sort();
        assert_eq!(cycle, [1, 2]);
        assert_eq!(shortest_cycle(&[vec![1], vec![2], vec![]]), None);
        assert_eq!(shortest_cycle(&[vec![0]]), Some(vec![0]));
    }
}
