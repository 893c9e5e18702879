//! The links that a packet between two hosts crosses, by walks through the idle network.

use std::collections::HashMap;

use routing::Random;
use topology::HostId;

use super::sample::SampleRandom;
use crate::idle_path::IdlePath;
use crate::setup::network::NetworkModel;

/// Largest number of walks. Further pairs have the mean of those that were walked.
const MOST_WALKS: u32 = 40_000;

/// Walks for each pair, if its path depends on chance.
const WALKS_OF_PAIR: u32 = 4;

/// Links after which a walk ends: more than any path has.
const LONGEST_PATH: u32 = 1 << 12;

/// Hops of pairs of hosts.
pub struct PairHops<'a> {
    /// The network.
    pub network: &'a NetworkModel,
    /// Random numbers of walks and samples.
    pub random: SampleRandom,
    known: HashMap<(u32, u32), f64>,
    walks_left: u32,
    /// Sum over the known pairs.
    sum: f64,
}

impl<'a> PairHops<'a> {
    /// No pair has been walked yet.
    pub fn new(network: &'a NetworkModel, seed: u64) -> PairHops<'a> {
        PairHops {
            network,
            random: SampleRandom::new(seed),
            known: HashMap::new(),
            walks_left: MOST_WALKS,
            sum: 0.0,
        }
    }

    /// Mean number of links that a packet crosses, injection and ejection included.
    pub fn between(&mut self, from: HostId, to: HostId) -> f64 {
        if self.network.router_models.capabilities().crosses_at_once {
            return 2.0;
        }
        if let Some(hops) = self.known.get(&(from.0, to.0)) {
            return *hops;
        }
        if self.walks_left == 0 {
            return self.sum / self.known.len().max(1) as f64;
        }
        let hops = self.walk_pair(from, to);
        self.known.insert((from.0, to.0), hops);
        self.sum += hops;
        hops
    }

    fn walk_pair(&mut self, from: HostId, to: HostId) -> f64 {
        let (mut hops, mut walks) = (0, 0);
        while walks < WALKS_OF_PAIR && self.walks_left > 0 {
            self.random.was_asked = false;
            hops += self.walk(from, to);
            walks += 1;
            self.walks_left -= 1;
            if !self.random.was_asked {
                break;
            }
        }
        f64::from(hops) / f64::from(walks)
    }

    fn walk(&mut self, from: HostId, to: HostId) -> u32 {
        let rails = &self.network.rails;
        // A packet arrives at the rail with the number of the rail that sent it.
        let rail = self.random.below(rails.count());
        let [source, destination] = [from, to].map(|host| rails.end_point(host, rail).0);
        let mut path = IdlePath::new(self.network, source, destination);
        let mut hops = 2;
        while hops < LONGEST_PATH && path.next_link(&mut self.random).is_some() {
            hops += 1;
        }
        hops
    }
}
