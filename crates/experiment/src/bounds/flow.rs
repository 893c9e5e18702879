//! Flows: the load of each link under oblivious routing, computed without simulating packets.
//!
//! For each destination, the walk collects the situations of packets to it (router, routing state, inputs of the
//! latency). It pushes the loads of all sources through them in topological order: a situation passes its load on when
//! all of its inputs are known. The memory is that of all links and of the situations of one destination.

use foldhash::fast::FixedState;
use indexmap::IndexSet;
use routing::{RouteState, Routing};
use topology::{HostId, Peer, Port, RouterId, Topology};

use super::effort::Effort;
use super::timing::{Timing, Upstream};

/// Numbers the outgoing links of routers, by router and port.
pub struct Channels {
    first: Vec<u32>,
}

impl Channels {
    /// The channels of a topology.
    ///
    /// # Errors
    /// The topology has too many ports.
    pub fn new(topology: &dyn Topology) -> Result<Channels, String> {
        let mut first = vec![0u32];
        let mut sum = 0u32;
        for router in (0..topology.routers()).map(RouterId) {
            sum = sum
                .checked_add(u32::from(topology.ports(router)))
                .ok_or("too large: more than 2^32 ports")?;
            first.push(sum);
        }
        Ok(Channels { first })
    }

    /// Number of channels.
    pub fn count(&self) -> usize {
        *self.first.last().expect("one more than routers") as usize
    }

    /// The number of the channel of a port.
    pub fn of(&self, router: RouterId, port: Port) -> usize {
        self.first[router.0 as usize] as usize + usize::from(port.0)
    }

    /// The links between routers, with router, port and number.
    pub fn between_routers<'a>(
        &'a self,
        topology: &'a dyn Topology,
    ) -> impl Iterator<Item = (RouterId, Port, usize)> + 'a {
        let ports = move |router| (0..topology.ports(router)).map(move |port| (router, Port(port)));
        (0..topology.routers())
            .map(RouterId)
            .flat_map(ports)
            .filter(move |(router, port)| matches!(topology.peer(*router, *port), Peer::Router(..)))
            .map(move |(router, port)| (router, port, self.of(router, port)))
    }
}

/// Sums over destinations. Loads are in units of an injection link.
pub struct FlowPattern {
    /// Load by channel, without ejection links.
    pub loads: Vec<f64>,
    /// Load of all packets.
    pub sent: f64,
    /// Load of all packets times their links between routers.
    pub hops: f64,
    /// Load of all packets times their latency, in picoseconds.
    pub latency: f64,
    /// Longest latency in picoseconds.
    pub longest: f64,
    /// Largest number of links between routers on any one path, by link class.
    pub most: Vec<u32>,
    /// Number of situations so far.
    pub situations: u64,
    /// Number of steps between them so far.
    pub steps: u64,
    /// Whether packets of some situation take several ports: at random, or by a hash.
    pub is_split: bool,
}

/// A situation of a packet to the destination.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct FlowState {
    router: RouterId,
    state: RouteState,
    behind: Upstream,
}

/// A transition to the next situation.
struct FlowStep {
    /// The next situation; `None` after delivery.
    to: Option<u32>,
    channel: usize,
    class: usize,
    chance: f64,
    /// Mean and largest time of the transition, in picoseconds.
    mean: f64,
    max: f64,
}

/// The walk for one destination. Its memory is reused for the next destination.
pub struct FlowWalk<'a> {
    topology: &'a dyn Topology,
    routing: &'a dyn Routing,
    channels: &'a Channels,
    timing: &'a Timing,
    /// Situations in the order of discovery.
    situations: IndexSet<FlowState, FixedState>,
    loads: Vec<f64>,
    /// Index of the first transition, by situation.
    first: Vec<usize>,
    steps: Vec<FlowStep>,
    chances: Vec<(Port, RouteState, f64)>,
    is_split: bool,
}

impl<'a> FlowWalk<'a> {
    /// A walk without a destination.
    pub fn new(
        topology: &'a dyn Topology,
        routing: &'a dyn Routing,
        channels: &'a Channels,
        timing: &'a Timing,
    ) -> FlowWalk<'a> {
        FlowWalk {
            topology,
            routing,
            channels,
            timing,
            situations: IndexSet::default(),
            loads: Vec::new(),
            first: Vec::new(),
            steps: Vec::new(),
            chances: Vec::new(),
            is_split: false,
        }
    }

    /// An empty result.
    pub fn flow(&self) -> FlowPattern {
        FlowPattern {
            loads: vec![0.0; self.channels.count()],
            sent: 0.0,
            hops: 0.0,
            latency: 0.0,
            longest: 0.0,
            most: vec![0; self.topology.link_classes().len()],
            situations: 0,
            steps: 0,
            is_split: false,
        }
    }

    /// Adds the flow from the sources (routers with loads) to one destination. `remaining` is the number of
    /// destinations that need about as many situations, this one included.
    ///
    /// # Errors
    /// The walk needs more situations or steps in total than the effort has, extrapolated to the remaining
    /// destinations; or the routing permits infinite paths.
    pub fn add(
        &mut self,
        sources: impl Iterator<Item = (RouterId, f64)>,
        destination: HostId,
        remaining: u64,
        most: Effort,
        flow: &mut FlowPattern,
    ) -> Result<(), String> {
        self.situations.clear();
        self.loads.clear();
        self.first.clear();
        self.steps.clear();
        let (behind, injection) = self.timing.injection();
        for (router, load) in sources {
            let start = self.number(FlowState {
                router,
                state: RouteState::default(),
                behind,
            });
            self.loads[start as usize] += load;
            flow.sent += load;
            flow.latency += load * injection as f64;
        }
        let starts = self.situations.len();
        let mut next = 0;
        while next < self.situations.len() {
            let open = (self.situations.len() - next) as u64;
            if (flow.situations + open).saturating_mul(remaining) > most.situations {
                let most = most.situations;
                return Err(format!("too large: more than {most} routing situations"));
            }
            flow.situations += 1;
            let before = self.steps.len();
            self.explore(next as u32, destination)?;
            flow.steps += (self.steps.len() - before) as u64;
            if flow.steps.saturating_mul(remaining) > most.steps {
                let most = most.steps;
                return Err(format!(
                    "too large: more than {most} steps between routing situations"
                ));
            }
            next += 1;
        }
        self.first.push(self.steps.len());
        let order = self.order()?;
        for situation in &order {
            self.push_on(*situation as usize, flow);
        }
        self.longest_paths(&order, starts, injection as f64, flow);
        flow.is_split |= self.is_split;
        Ok(())
    }

    fn number(&mut self, situation: FlowState) -> u32 {
        let (number, new) = self.situations.insert_full(situation);
        if new {
            self.loads.push(0.0);
        }
        number as u32
    }

    /// Finds the transitions of a situation.
    fn explore(&mut self, number: u32, destination: HostId) -> Result<(), String> {
        let FlowState {
            router,
            state,
            behind,
        } = self.situations[number as usize];
        self.first.push(self.steps.len());
        let mut chances = std::mem::take(&mut self.chances);
        chances.clear();
        self.routing.chances(router, destination, state, &mut chances);
        self.is_split |= chances.len() > 1;
        for (port, state, chance) in &chances {
            let class = self.topology.link_class(router, *port);
            let step = match self.topology.peer(router, *port) {
                Peer::Host(_) => {
                    let tail = self.timing.ejection(behind);
                    FlowStep {
                        to: None,
                        channel: 0,
                        class: 0,
                        chance: *chance,
                        mean: tail.mean,
                        max: tail.max,
                    }
                }
                Peer::Router(next, _) => {
                    let (behind, time) = self.timing.link(behind, class);
                    let next = FlowState {
                        router: next,
                        state: *state,
                        behind,
                    };
                    FlowStep {
                        to: Some(self.number(next)),
                        channel: self.channels.of(router, *port),
                        class: usize::from(class.0),
                        chance: *chance,
                        mean: time as f64,
                        max: time as f64,
                    }
                }
                Peer::Unwired => {
                    return Err(format!(
                        "routing sends packets to port {} of router {}, which is not wired",
                        port.0, router.0
                    ));
                }
            };
            self.steps.push(step);
        }
        self.chances = chances;
        Ok(())
    }

    fn steps(&self, situation: usize) -> &[FlowStep] {
        &self.steps[self.first[situation]..self.first[situation + 1]]
    }

    /// The situations in topological order.
    fn order(&self) -> Result<Vec<u32>, String> {
        let mut before = vec![0u32; self.situations.len()];
        for step in &self.steps {
            if let Some(to) = step.to {
                before[to as usize] += 1;
            }
        }
        let mut order: Vec<u32> = (0..before.len() as u32)
            .filter(|number| before[*number as usize] == 0)
            .collect();
        let mut next = 0;
        while next < order.len() {
            for step in self.steps(order[next] as usize) {
                if let Some(to) = step.to {
                    before[to as usize] -= 1;
                    if before[to as usize] == 0 {
                        order.push(to);
                    }
                }
            }
            next += 1;
        }
        if order.len() < before.len() {
            return Err("packets can go round forever with this routing".into());
        }
        Ok(order)
    }

    fn push_on(&mut self, situation: usize, flow: &mut FlowPattern) {
        let load = self.loads[situation];
        for index in self.first[situation]..self.first[situation + 1] {
            let step = &self.steps[index];
            let load = load * step.chance;
            flow.latency += load * step.mean;
            if let Some(to) = step.to {
                flow.loads[step.channel] += load;
                flow.hops += load;
                self.loads[to as usize] += load;
            }
        }
    }

    /// Longest paths, computed backwards to the first `starts` situations, which are those of the sources.
    fn longest_paths(&self, order: &[u32], starts: usize, injection: f64, flow: &mut FlowPattern) {
        let classes = flow.most.len();
        let mut longest = vec![0.0f64; self.situations.len()];
        let mut most = vec![0u32; self.situations.len() * classes];
        for situation in order.iter().rev().map(|number| *number as usize) {
            for step in self.steps(situation) {
                let mut time = step.max;
                if let Some(to) = step.to.map(|to| to as usize) {
                    time += longest[to];
                    for class in 0..classes {
                        let ahead = most[to * classes + class] + u32::from(class == step.class);
                        let here = &mut most[situation * classes + class];
                        *here = ahead.max(*here);
                    }
                }
                longest[situation] = longest[situation].max(time);
            }
        }
        for start in 0..starts {
            flow.longest = flow.longest.max(injection + longest[start]);
            for class in 0..classes {
                flow.most[class] = flow.most[class].max(most[start * classes + class]);
            }
        }
    }
}
