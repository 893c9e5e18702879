//! The bisection of a network: the cables between two halves of its hosts, at the narrowest place that is found.
//!
//! The smallest cut is NP-hard to find. The search starts from the hosts in their order, and from random halves, and
//! improves each by moving one router after the other (C. M. Fiduccia, R. M. Mattheyses, "A linear-time heuristic for
//! improving network partitions", DAC 1982). The result is an upper bound of the bisection.

use std::collections::BinaryHeap;

use crate::{Peer, Port, RouterId, Topology};

/// Random halves from which the search starts, beside that of the hosts in their order.
const RANDOM_STARTS: u32 = 4;

/// Passes over all routers for each start; a pass that improves nothing ends the search earlier.
const MOST_PASSES: u32 = 12;

/// Number of cables between routers from one half of the hosts to the other, as few as the search finds. With an odd
/// number of routers with hosts, the halves differ by the hosts of one.
pub fn bisection(topology: &dyn Topology) -> u64 {
    let network = Network::new(topology);
    let hosts: u64 = network.weights.iter().sum();
    // Routers with hosts in the order of these, half by half; the others follow their neighbours.
    let mut before = 0;
    let in_order: Vec<bool> = network
        .weights
        .iter()
        .map(|weight| {
            before += weight;
            2 * before - weight >= hosts && *weight > 0
        })
        .collect();
    let mut best = network.improved(in_order);
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..RANDOM_STARTS {
        let half = network.random_half(&mut state);
        best = best.min(network.improved(half));
    }
    best
}

/// Routers with their neighbours.
struct Network {
    /// Hosts of each router.
    weights: Vec<u64>,
    /// Neighbours, once for each cable.
    neighbours: Vec<Vec<u32>>,
    /// Greatest difference of the halves at the end.
    tolerance: u64,
    /// Greatest difference on the way.
    slack: u64,
}

impl Network {
    fn new(topology: &dyn Topology) -> Network {
        let mut weights = Vec::new();
        let mut neighbours = Vec::new();
        for router in (0..topology.routers()).map(RouterId) {
            let (mut hosts, mut of_router) = (0, Vec::new());
            for port in (0..topology.ports(router)).map(Port) {
                match topology.peer(router, port) {
                    Peer::Host(_) => hosts += 1,
                    Peer::Router(far, _) if far != router => of_router.push(far.0),
                    Peer::Router(..) | Peer::Unwired => {}
                }
            }
            weights.push(hosts);
            neighbours.push(of_router);
        }
        let most = weights.iter().copied().max().unwrap_or(0);
        let with_hosts = weights.iter().filter(|weight| **weight > 0);
        let are_equal = with_hosts.clone().all(|weight| *weight == most);
        let tolerance = match with_hosts.count() % 2 == 0 && are_equal {
            true => 0,
            false => most,
        };
        Network {
            weights,
            neighbours,
            tolerance,
            slack: tolerance + 2 * most,
        }
    }

    /// Half of the hosts, at random.
    fn random_half(&self, state: &mut u64) -> Vec<bool> {
        let mut order: Vec<usize> = (0..self.weights.len()).collect();
        for last in (1..order.len()).rev() {
            // The finaliser of SplitMix64.
            *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut bits = *state;
            bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            order.swap(last, ((bits ^ bits >> 31) % (last as u64 + 1)) as usize);
        }
        let hosts: u64 = self.weights.iter().sum();
        let (mut half, mut taken) = (vec![false; order.len()], 0);
        for router in order {
            if 2 * taken + self.weights[router] <= hosts + self.tolerance {
                half[router] = true;
                taken += self.weights[router];
            }
        }
        half
    }

    fn cut(&self, half: &[bool]) -> u64 {
        let crossing = |(router, neighbours): (usize, &Vec<u32>)| {
            let others = neighbours
                .iter()
                .filter(|other| half[**other as usize] != half[router]);
            others.count() as u64
        };
        self.neighbours.iter().enumerate().map(crossing).sum::<u64>() / 2
    }

    /// Difference of the hosts of both halves.
    fn difference(&self, half: &[bool]) -> i64 {
        let signed = self.weights.iter().zip(half);
        signed
            .map(|(weight, side)| if *side { *weight as i64 } else { -(*weight as i64) })
            .sum()
    }

    /// The cut of a half after passes that improve it.
    fn improved(&self, mut half: Vec<bool>) -> u64 {
        let mut best = u64::MAX;
        for _ in 0..MOST_PASSES {
            let cut = self.pass(&mut half);
            if cut >= best {
                break;
            }
            best = cut;
        }
        best
    }

    /// Moves each router once, the one that lessens the cut most first, and keeps the best halves on the way. Returns
    /// their cut.
    fn pass(&self, half: &mut Vec<bool>) -> u64 {
        let mut gains: Vec<i64> = self
            .neighbours
            .iter()
            .enumerate()
            .map(|(router, neighbours)| {
                let gain = |other: &u32| {
                    if half[*other as usize] != half[router] {
                        1i64
                    } else {
                        -1
                    }
                };
                neighbours.iter().map(gain).sum()
            })
            .collect();
        let mut moved = vec![false; half.len()];
        // Heaps for the routers of each half, without and with hosts; entries with an old gain are passed over.
        let heap_of =
            |router: usize, side: bool| 2 * usize::from(side) + usize::from(self.weights[router] > 0);
        let mut heaps: [BinaryHeap<(i64, usize)>; 4] = Default::default();
        for (router, gain) in gains.iter().enumerate() {
            heaps[heap_of(router, half[router])].push((*gain, router));
        }
        let (mut cut, mut difference) = (self.cut(half) as i64, self.difference(half));
        let is_even = |difference: i64| difference.unsigned_abs() <= self.tolerance;
        let mut best = if is_even(difference) {
            (cut, half.clone())
        } else {
            (i64::MAX, half.clone())
        };
        let mut moves = Vec::new();
        let mut at_best = 0;
        loop {
            let mut choice: Option<(bool, i64, usize)> = None;
            for (number, heap) in heaps.iter_mut().enumerate() {
                while heap
                    .peek()
                    .is_some_and(|(gain, router)| moved[*router] || gains[*router] != *gain)
                {
                    heap.pop();
                }
                let Some(&(gain, router)) = heap.peek() else {
                    continue;
                };
                let weight = self.weights[router] as i64;
                let after = match number / 2 {
                    1 => difference - 2 * weight,
                    _ => difference + 2 * weight,
                };
                let is_allowed = after.unsigned_abs() <= self.slack || after.abs() < difference.abs();
                // Routers without hosts follow their neighbours first: that costs no balance.
                let candidate = (weight == 0 && gain > 0, gain, router);
                if is_allowed && choice.is_none_or(|other| candidate > other) {
                    choice = Some(candidate);
                }
            }
            let Some((_, gain, router)) = choice else {
                break;
            };
            let weight = self.weights[router] as i64;
            difference += if half[router] { -2 * weight } else { 2 * weight };
            half[router] = !half[router];
            moved[router] = true;
            cut -= gain;
            moves.push(router);
            for other in self.neighbours[router].iter().map(|other| *other as usize) {
                if !moved[other] {
                    gains[other] += if half[other] == half[router] { -2 } else { 2 };
                    heaps[heap_of(other, half[other])].push((gains[other], other));
                }
            }
            if is_even(difference) && cut < best.0 {
                best.0 = cut;
                at_best = moves.len();
            }
        }
        // The best halves are those after the first moves.
        let (cut, mut kept) = best;
        for router in &moves[..at_best] {
            kept[*router] = !kept[*router];
        }
        *half = kept;
        cut as u64
    }
}

#[cfg(test)]
mod tests {
    use config::Section;

    use super::*;
    use crate::build;

    fn found(text: &str) -> u64 {
        let section = Section::from_toml(text, "x.toml").unwrap();
        bisection(build(&section).unwrap().as_ref())
    }

    #[test]
    fn known_bisections_are_found() {
        for (text, cables) in [
            // Two cables of each of 16 rings of the longest dimension.
            ("kind = \"torus\"\nsizes = [4, 4, 8]", 32),
            ("kind = \"mesh\"\nsizes = [4, 4, 8]", 16),
            // (S/2)^2 links of each line.
            ("kind = \"hyperx\"\nshape = [4, 4]\nhosts_per_router = 4", 16),
            ("kind = \"hyperx\"\nshape = [4, 4]\nwidth = 2", 32),
            // Full bisection: half as many cables as hosts.
            ("kind = \"fat-tree\"\nradix = 8\nlevels = 2", 16),
            ("kind = \"fat-tree\"\nradix = 4\nlevels = 3", 8),
            (
                "kind = \"fat-tree\"\nradix = 8\nlevels = 2\ntapering = \"3:1\"",
                8,
            ),
            // Two groups are joined by all of their global links.
            (
                "kind = \"dragonfly\"\nhosts_per_router = 2\nrouters_per_group = 8\nglobal_links_per_router = 1\ngroups = 2",
                8,
            ),
            (
                "kind = \"dragonfly-plus\"\nhosts_per_leaf = 3\nleaves_per_group = 3\nglobal_links_per_spine = 1\ngroups = 2",
                3,
            ),
        ] {
            assert_eq!(found(text), cables, "{text}");
        }
        // The two subgraphs are joined by q^3 = 125 cables; other halves by fewer.
        let slim_fly = found("kind = \"slim-fly\"\nq = 5");
        assert!((50..110).contains(&slim_fly), "{slim_fly}");
    }
}
