//! Runs an algorithm with contributions instead of numbers, to see who ends up with what.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use super::{Algorithm, CollectiveCall, Round};

/// A sum that remembers how often each rank's contribution is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sum(BTreeMap<u32, u32>);

impl Sum {
    pub fn of(rank: u32) -> Sum {
        Sum::of_all(rank..rank + 1)
    }

    pub fn of_all(ranks: Range<u32>) -> Sum {
        Sum(ranks.map(|rank| (rank, 1)).collect())
    }

    pub fn add(&mut self, other: &Sum) {
        for (rank, times) in &other.0 {
            *self.0.entry(*rank).or_default() += times;
        }
    }
}

/// Where a message is on its way, in the receiver's round.
#[derive(Clone, Copy, Debug)]
pub struct Passage {
    pub from: u32,
    pub to: u32,
    pub round: u32,
}

/// A message on its way: round, size, what it carries.
type Sent<Payload> = (u32, u64, Payload);

pub fn every_size(test: impl Fn(u32)) {
    (1..=33).for_each(test);
}

pub fn every_size_and_root(test: impl Fn(u32, u32)) {
    every_size(|ranks| (0..ranks).for_each(|root| test(ranks, root)));
}

/// Contributions times edges that they cross in a binomial tree: the sizes of all subtrees but the
/// whole tree.
pub fn subtrees(ranks: u32) -> u64 {
    (1..ranks)
        .map(|rank| u64::from((1 << rank.trailing_zeros()).min(ranks - rank)))
        .sum()
}

/// Pairs of ranks that differ in one bit.
pub fn pairs(ranks: u32) -> u64 {
    let pairs_at = |mask: u64| {
        let n = u64::from(ranks);
        n / (2 * mask) * mask + (n % (2 * mask)).saturating_sub(mask)
    };
    (0..32).map(|bit| pairs_at(1 << bit)).sum()
}

/// Runs all ranks. `send` gives what a message carries and the size that this has; `receive` adds it
/// to the receiver's state. Returns the final states, and messages and bytes.
///
/// All sends of a round leave before its receives are taken; ranks go on as soon as they can. Checked
/// on the way: a message has the size of what it carries and of what its receiver expects, the ranks
/// agree on the rounds, everyone ends, and nothing is left over.
pub fn run<State, Payload>(
    algorithm: &Algorithm,
    ranks: u32,
    root: u32,
    bytes: u64,
    start: impl Fn(u32) -> State,
    send: impl Fn(&mut State, Passage, u64) -> (Payload, u64),
    receive: impl Fn(&mut State, Passage, Payload),
) -> (Vec<State>, (u64, u64)) {
    let mut states: Vec<State> = (0..ranks).map(start).collect();
    let mut rounds: Vec<(u32, Option<Round>)> = vec![(0, None); ranks as usize];
    let mut ended = vec![false; ranks as usize];
    let mut network: BTreeMap<(u32, u32), VecDeque<Sent<Payload>>> = BTreeMap::new();
    let mut tally = (0, 0);
    let mut progress = true;
    while progress {
        progress = false;
        for rank in 0..ranks {
            let (k, current) = &mut rounds[rank as usize];
            let state = &mut states[rank as usize];
            if ended[rank as usize] {
                continue;
            }
            if current.is_none() {
                let call = CollectiveCall {
                    rank,
                    ranks,
                    root,
                    bytes,
                };
                let mut round = Round::default();
                progress = true;
                if !(algorithm.round)(&call, *k, &mut round) {
                    ended[rank as usize] = true;
                    continue;
                }
                for (to, size) in &round.sends {
                    assert_ne!(*to, rank);
                    let (payload, weight) = send(
                        state,
                        Passage {
                            from: rank,
                            to: *to,
                            round: *k,
                        },
                        *size,
                    );
                    assert_eq!(
                        weight, *size,
                        "{} {rank}->{to} of {ranks}, round {k}",
                        algorithm.name
                    );
                    network
                        .entry((rank, *to))
                        .or_default()
                        .push_back((*k, *size, payload));
                    tally = (tally.0 + 1, tally.1 + size);
                }
                *current = Some(round);
            }
            let round = current.as_ref().expect("entered above");
            let here = |from: u32| network.get(&(from, rank)).is_some_and(|queue| !queue.is_empty());
            if round.receives.iter().all(|(from, _)| here(*from)) {
                for (from, size) in &round.receives {
                    let (sent_in, sent_size, payload) = network
                        .get_mut(&(*from, rank))
                        .and_then(VecDeque::pop_front)
                        .expect("is here");
                    assert_eq!((sent_in, sent_size), (*k, *size), "{from}->{rank} of {ranks}");
                    receive(
                        state,
                        Passage {
                            from: *from,
                            to: rank,
                            round: *k,
                        },
                        payload,
                    );
                }
                (*k, *current, progress) = (*k + 1, None, true);
            }
        }
    }
    assert!(
        ended.iter().all(|e| *e),
        "{} of {ranks} ranks does not end",
        algorithm.name
    );
    assert!(
        network.values().all(VecDeque::is_empty),
        "{} leaves messages over",
        algorithm.name
    );
    (states, tally)
}
