//! The loads of links where each pair of hosts has one path, as with a hash of source and destination: pair by pair.
//!
//! [`flow`](super::flow) spreads a hash evenly over equal paths. That is right for many pairs in each link, and far
//! from right for the few of a permutation: two pairs on one link halve its bound.

use routing::Random;

use super::flow::{Channels, FlowPattern};
use super::timing::Timing;
use super::{NetworkModel, Traffic};
use crate::idle_path::IdlePath;

/// Largest number of pairs of uniform traffic that are walked. More of them spread a hash nearly evenly.
const MOST_UNIFORM_PAIRS: u64 = 1 << 12;

/// Steps after which paths of more pairs than can be walked are taken to be fixed if no choice was random.
const SAMPLED_STEPS: u64 = 100_000;

/// What the walk finds.
pub enum PairFlow {
    /// The loads of all links.
    Exact(FlowPattern),
    /// Each pair has one path, and there are too many pairs: even loads are expected, and single links have more.
    TooManyPairs,
    /// Packets of one pair take several paths at random, so that even loads are right in the mean.
    RandomPaths,
}

/// Notices that a path depends on chance.
#[derive(Default)]
struct NoChance {
    was_asked: bool,
}

impl Random for NoChance {
    fn below(&mut self, bound: u32) -> u32 {
        self.was_asked |= bound > 1;
        0
    }
}

/// Adds up the path of each pair of a job, in at most `most` steps from router to router. `empty` has no load yet.
pub fn pair_flow(
    network: &NetworkModel,
    channels: &Channels,
    traffic: &Traffic<'_>,
    timing: &Timing,
    most: u64,
    empty: FlowPattern,
) -> PairFlow {
    let hosts = traffic.hosts.len() as u64;
    let uniform = traffic.pattern.is_uniform();
    let is_large = uniform.is_some() && hosts.saturating_mul(hosts) > MOST_UNIFORM_PAIRS;
    let mut walk = PairWalk {
        network,
        channels,
        timing,
        flow: empty,
        steps: 0,
        most: if is_large { SAMPLED_STEPS.min(most) } else { most },
        random: NoChance::default(),
    };
    for source in 0..hosts as u32 {
        let mut add = |to: u32, share: f64| walk.add(traffic, source, to, share);
        match uniform {
            None => traffic.pattern.shares(source, hosts as u32, &mut add),
            Some(include_self) => {
                let others = (0..hosts as u32).filter(|to| include_self || *to != source);
                let share = 1.0 / (hosts - u64::from(!include_self)).max(1) as f64;
                others.for_each(|to| add(to, share));
            }
        }
        if walk.random.was_asked {
            return PairFlow::RandomPaths;
        }
        if walk.steps > walk.most {
            return PairFlow::TooManyPairs;
        }
    }
    PairFlow::Exact(walk.flow)
}

struct PairWalk<'a> {
    network: &'a NetworkModel,
    channels: &'a Channels,
    timing: &'a Timing,
    flow: FlowPattern,
    steps: u64,
    most: u64,
    random: NoChance,
}

impl PairWalk<'_> {
    /// Adds the path from one host of the job to another.
    fn add(&mut self, traffic: &Traffic<'_>, from: u32, to: u32, share: f64) {
        let topology = self.network.topology.as_ref();
        let [source, destination] = [from, to].map(|index| traffic.hosts[index as usize]);
        let mut path = IdlePath::new(self.network, source, destination);
        let (mut behind, mut time) = self.timing.injection();
        let mut links = vec![0u32; self.flow.most.len()];
        let mut hops = 0u32;
        while !self.random.was_asked && self.steps <= self.most {
            self.steps += 1;
            let Some((router, port)) = path.next_link(&mut self.random) else {
                break;
            };
            let class = topology.link_class(router, port);
            self.flow.loads[self.channels.of(router, port)] += share;
            links[usize::from(class.0)] += 1;
            hops += 1;
            let (onto, crossing) = self.timing.link(behind, class);
            (behind, time) = (onto, time + crossing);
        }
        let tail = self.timing.ejection(behind);
        let flow = &mut self.flow;
        flow.sent += share;
        flow.hops += share * f64::from(hops);
        flow.latency += share * (time as f64 + tail.mean);
        flow.longest = flow.longest.max(time as f64 + tail.max);
        for (most, links) in flow.most.iter_mut().zip(links) {
            *most = (*most).max(links);
        }
    }
}
