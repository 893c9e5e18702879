//! Collectives as rounds of point-to-point messages; one algorithm a file.
//!
//! An algorithm is a stateless function that gives what one rank sends and receives in round `k`. All messages
//! of a round start together; the next round starts when they are complete. Ranks may be in different rounds:
//! matching pairs their messages.

mod allgather_bruck;
mod allgather_gather_bcast;
mod allgather_neighbor_exchange;
mod allgather_recursive_doubling;
mod allgather_ring;
mod allgather_two_level;
mod allreduce_binary_tree;
mod allreduce_double_binary_tree;
mod allreduce_rabenseifner;
mod allreduce_recursive_doubling;
mod allreduce_reduce_bcast;
mod allreduce_ring;
mod allreduce_two_level;
mod alltoall_bruck;
mod alltoall_linear;
mod alltoall_pairwise;
mod alltoall_pairwise_exchange;
mod alltoall_ring;
mod alltoall_scattered;
mod barrier_binary_tree;
mod barrier_dissemination;
mod barrier_linear;
mod barrier_recursive_doubling;
mod barrier_tree;
mod barrier_two_level;
mod bcast_binary_tree;
mod bcast_binomial;
mod bcast_chain;
mod bcast_knomial;
mod bcast_linear;
mod bcast_pipeline;
mod bcast_scatter_recursive_doubling_allgather;
mod bcast_scatter_ring_allgather;
mod bcast_two_level;
mod binary_tree;
mod binomial_tree;
mod choice;
mod exscan_linear;
mod exscan_recursive_doubling;
mod folding;
mod gather_binomial;
mod gather_linear;
mod gather_two_level;
mod hosts;
mod reduce_binary_tree;
mod reduce_binomial;
mod reduce_chain;
mod reduce_in_order_binary_tree;
mod reduce_linear;
mod reduce_pipeline;
mod reduce_rabenseifner;
mod reduce_scatter_pairwise;
mod reduce_scatter_recursive_doubling;
mod reduce_scatter_recursive_halving;
mod reduce_scatter_reduce_scatterv;
mod reduce_scatter_ring;
mod reduce_two_level;
mod scan_linear;
mod scan_recursive_doubling;
mod scatter_binomial;
mod scatter_linear;
mod scatter_two_level;
mod segments;
#[cfg(test)]
mod symbolic;
mod tables;
mod two_level;

use std::ops::{Deref, Range};

use serde::{Deserialize, Serialize};
use workload::{Collective, Counts};

pub use choice::{AlgorithmSelection, CollectiveVariant, SelectionRule};
pub use hosts::{HostLayout, RanksByHost};
pub use tables::{NamedAlgorithm, SelectionTable, TABLES};

/// One rank's part in one collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectiveCall {
    /// This rank in the communicator.
    pub rank: u32,
    /// Size of the communicator.
    pub ranks: u32,
    /// Root in the communicator; 0 where there is none.
    pub root: u32,
    /// Bytes, as [`Collective`] counts them.
    pub bytes: u64,
}

impl CollectiveCall {
    /// The call of `rank` of `ranks`.
    pub fn new(rank: u32, ranks: u32, root: u32, bytes: u64) -> CollectiveCall {
        CollectiveCall {
            rank,
            ranks,
            root,
            bytes,
        }
    }

    /// Number of rounds in which a doubling distance covers all ranks: log2 of the ranks, rounded up.
    fn doublings(&self) -> u32 {
        u32::BITS - (self.ranks - 1).leading_zeros()
    }

    /// The rank `distance` after this one, cyclically.
    fn rank_after(&self, distance: u32) -> u32 {
        ((u64::from(self.rank) + u64::from(distance)) % u64::from(self.ranks)) as u32
    }

    /// The rank `distance` before this one, cyclically; `distance` is at most `ranks`.
    fn rank_before(&self, distance: u32) -> u32 {
        self.rank_after(self.ranks - distance)
    }

    /// Bytes of a range of parts of a vector of `bytes` that is cut into `parts`. Parts differ by at most one
    /// byte and add up exactly.
    fn even_part(&self, parts: u32, range: Range<u32>) -> u64 {
        let edge = |r: u32| u128::from(self.bytes) * u128::from(r) / u128::from(parts);
        (edge(range.end) - edge(range.start)) as u64
    }
}

/// The arguments of an algorithm: one rank's call, with the counts that the rank knows.
#[derive(Clone, Copy, Debug)]
pub struct CollectiveArgs<'a> {
    call: CollectiveCall,
    counts: Option<&'a Counts>,
    /// The communicator's ranks by host, if an algorithm of the job needs them.
    hosts: Option<&'a RanksByHost>,
}

impl Deref for CollectiveArgs<'_> {
    type Target = CollectiveCall;

    fn deref(&self) -> &CollectiveCall {
        &self.call
    }
}

impl<'a> CollectiveArgs<'a> {
    /// `counts` as in [`workload::Operation::Collective`]. Missing counts are `bytes`.
    pub fn new(call: CollectiveCall, counts: Option<&'a Counts>) -> CollectiveArgs<'a> {
        CollectiveArgs {
            call,
            counts,
            hosts: None,
        }
    }

    /// The same call, with the communicator's ranks by host.
    pub fn on_hosts(self, hosts: Option<&'a RanksByHost>) -> CollectiveArgs<'a> {
        CollectiveArgs { hosts, ..self }
    }

    /// Whether the communicator's ranks are known to have such a layout.
    fn has_layout(&self, layout: HostLayout) -> bool {
        layout == HostLayout::Any || self.hosts.is_some_and(|hosts| hosts.has(layout))
    }

    /// The same collective without counts, as another rank or with another root.
    fn as_rank(&self, rank: u32, root: u32) -> CollectiveArgs<'static> {
        let call = CollectiveCall {
            rank,
            root,
            ..self.call
        };
        CollectiveArgs {
            call,
            counts: None,
            hosts: None,
        }
    }

    fn sends(&self) -> &'a [u64] {
        self.counts.map_or(&[], |counts| &counts.sends)
    }

    fn receives(&self) -> &'a [u64] {
        self.counts.map_or(&[], |counts| &counts.receives)
    }

    /// Whether counts were recorded. If so, all ranks have them.
    fn knows_sizes(&self) -> bool {
        !self.sends().is_empty() || !self.receives().is_empty()
    }

    /// Bytes that this rank sends to a rank (alltoall, root of a scatter).
    fn bytes_to(&self, rank: u32) -> u64 {
        self.sends().get(rank as usize).copied().unwrap_or(self.bytes)
    }

    /// Bytes that this rank receives from a rank (alltoall, root of a gather).
    fn bytes_from(&self, rank: u32) -> u64 {
        self.receives().get(rank as usize).copied().unwrap_or(self.bytes)
    }

    /// Bytes that this rank sends (gather).
    fn sent_bytes(&self) -> u64 {
        self.sends().first().copied().unwrap_or(self.bytes)
    }

    /// Bytes that this rank receives (scatter).
    fn received_bytes(&self) -> u64 {
        self.receives().first().copied().unwrap_or(self.bytes)
    }

    /// Bytes that a range of ranks contributes (allgather).
    fn contributions(&self, ranks: Range<u32>) -> u64 {
        match self.known(ranks.clone()) {
            Some(counts) => sum(counts),
            None => self.bytes.saturating_mul(ranks.len() as u64),
        }
    }

    /// Contributions of `count` ranks from `first` on, cyclically.
    fn contributions_from(&self, first: u32, count: u32) -> u64 {
        let before_the_end = count.min(self.ranks - first);
        self.contributions(first..first + before_the_end)
            .saturating_add(self.contributions(0..count - before_the_end))
    }

    /// Bytes of the vector that belong to a range of ranks (reduce-scatter, ring allreduce), by counts or cut
    /// evenly.
    fn parts(&self, ranks: Range<u32>) -> u64 {
        match self.known(ranks.clone()) {
            Some(counts) => sum(counts),
            None => self.even_part(self.ranks, ranks),
        }
    }

    /// Bytes of the vector that belong to one rank.
    fn part(&self, rank: u32) -> u64 {
        self.parts(rank..rank + 1)
    }

    /// Counts of a range of ranks, if all ranks know them.
    fn known(&self, ranks: Range<u32>) -> Option<&'a [u64]> {
        let counts = self.receives();
        (counts.len() == self.ranks as usize)
            .then(|| counts.get(ranks.start as usize..ranks.end as usize))
            .flatten()
    }
}

fn sum(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
}

/// A receive of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundReceive {
    /// The sender, in the communicator.
    pub from: u32,
    /// Bytes of the message.
    pub bytes: u64,
    /// Bytes that the receiver then reduces: it combines them with bytes that it has, by the operation of the
    /// collective. 0 where it keeps the message as it is.
    pub reduced: u64,
}

/// Messages of one round: peer in the communicator, and bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Sends, in the order in which the CPU issues them.
    pub sends: Vec<(u32, u64)>,
    /// Receives, in the order in which they are posted.
    pub receives: Vec<RoundReceive>,
    /// Offset of the round number: the messages belong to round `k + round_offset`. It saves ranks that start
    /// late their empty rounds.
    pub round_offset: u32,
}

impl Round {
    /// Removes the messages and keeps the memory.
    pub fn clear(&mut self) {
        self.sends.clear();
        self.receives.clear();
        self.round_offset = 0;
    }

    fn send(&mut self, to: u32, bytes: u64) {
        self.sends.push((to, bytes));
    }

    /// Adds a receive of data that stay as they are.
    fn receive(&mut self, from: u32, bytes: u64) {
        self.receives.push(RoundReceive {
            from,
            bytes,
            reduced: 0,
        });
    }

    /// Adds a receive of data that are combined with those of the rank.
    fn receive_and_reduce(&mut self, from: u32, bytes: u64) {
        self.receives.push(RoundReceive {
            from,
            bytes,
            reduced: bytes,
        });
    }
}

impl Round {
    /// Adds a send, unless the sizes are known and it is empty. The receiver knows the size, too.
    fn send_some(&mut self, to: u32, bytes: u64, call: &CollectiveArgs) {
        if bytes > 0 || !call.knows_sizes() {
            self.send(to, bytes);
        }
    }

    /// The receive of [`Round::send_some`].
    fn receive_some(&mut self, from: u32, bytes: u64, call: &CollectiveArgs) {
        if bytes > 0 || !call.knows_sizes() {
            self.receive(from, bytes);
        }
    }
}

/// One algorithm for one collective.
#[derive(Debug)]
pub struct CollectiveAlgorithm {
    /// The collective that it implements.
    pub collective: Collective,
    /// Name in experiments; the file is named `<collective>_<name>.rs`.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Where it is published.
    pub source: &'static str,
    /// Whether it supports different amounts by rank, known to sender and receiver, as the `v` variants need.
    /// (Reduce-scatter always has counts.)
    pub varying: bool,
    /// What it needs of the distribution of the ranks over hosts. Rules do not select it elsewhere.
    pub layout: HostLayout,
    /// Writes the messages of the rank in this round into an empty [`Round`]. Returns false if the rank's part
    /// has ended. A round may be empty.
    pub round: fn(&CollectiveArgs, u32, &mut Round) -> bool,
}

impl PartialEq for CollectiveAlgorithm {
    fn eq(&self, other: &CollectiveAlgorithm) -> bool {
        (self.collective, self.name) == (other.collective, other.name)
    }
}

impl Eq for CollectiveAlgorithm {}

/// All algorithms, by collective.
pub static ALGORITHMS: &[&CollectiveAlgorithm] = &[
    &barrier_dissemination::ALGORITHM,
    &barrier_recursive_doubling::ALGORITHM,
    &barrier_tree::ALGORITHM,
    &barrier_linear::ALGORITHM,
    &barrier_binary_tree::ALGORITHM,
    &barrier_two_level::ALGORITHM,
    &bcast_binomial::ALGORITHM,
    &bcast_scatter_recursive_doubling_allgather::ALGORITHM,
    &bcast_scatter_ring_allgather::ALGORITHM,
    &bcast_pipeline::ALGORITHM,
    &bcast_linear::ALGORITHM,
    &bcast_binary_tree::ALGORITHM,
    &bcast_knomial::ALGORITHM,
    &bcast_chain::ALGORITHM,
    &bcast_two_level::ALGORITHM,
    &reduce_binomial::ALGORITHM,
    &reduce_rabenseifner::ALGORITHM,
    &reduce_pipeline::ALGORITHM,
    &reduce_linear::ALGORITHM,
    &reduce_binary_tree::ALGORITHM,
    &reduce_in_order_binary_tree::ALGORITHM,
    &reduce_chain::ALGORITHM,
    &allreduce_recursive_doubling::ALGORITHM,
    &allreduce_rabenseifner::ALGORITHM,
    &allreduce_ring::ALGORITHM,
    &allreduce_reduce_bcast::ALGORITHM,
    &allreduce_double_binary_tree::ALGORITHM,
    &allreduce_binary_tree::ALGORITHM,
    &allreduce_two_level::ALGORITHM,
    &allgather_ring::ALGORITHM,
    &allgather_recursive_doubling::ALGORITHM,
    &allgather_bruck::ALGORITHM,
    &allgather_neighbor_exchange::ALGORITHM,
    &allgather_gather_bcast::ALGORITHM,
    &allgather_two_level::ALGORITHM,
    &alltoall_pairwise::ALGORITHM,
    &alltoall_scattered::ALGORITHM,
    &alltoall_linear::ALGORITHM,
    &alltoall_bruck::ALGORITHM,
    &alltoall_pairwise_exchange::ALGORITHM,
    &alltoall_ring::ALGORITHM,
    &gather_binomial::ALGORITHM,
    &gather_linear::ALGORITHM,
    &gather_two_level::ALGORITHM,
    &scatter_binomial::ALGORITHM,
    &scatter_linear::ALGORITHM,
    &scatter_two_level::ALGORITHM,
    &reduce_scatter_pairwise::ALGORITHM,
    &reduce_scatter_recursive_halving::ALGORITHM,
    &reduce_scatter_recursive_doubling::ALGORITHM,
    &reduce_scatter_ring::ALGORITHM,
    &reduce_scatter_reduce_scatterv::ALGORITHM,
    &reduce_two_level::ALGORITHM,
    &scan_recursive_doubling::ALGORITHM,
    &scan_linear::ALGORITHM,
    &exscan_recursive_doubling::ALGORITHM,
    &exscan_linear::ALGORITHM,
];

/// All collectives, in the order of their discriminants.
const COLLECTIVES: [Collective; 11] = [
    Collective::Barrier,
    Collective::Bcast,
    Collective::Reduce,
    Collective::Allreduce,
    Collective::Allgather,
    Collective::Alltoall,
    Collective::Gather,
    Collective::Scatter,
    Collective::ReduceScatter,
    Collective::Scan,
    Collective::Exscan,
];

fn known(collective: Collective) -> impl Iterator<Item = &'static CollectiveAlgorithm> {
    ALGORITHMS
        .iter()
        .copied()
        .filter(move |algorithm| algorithm.collective == collective)
}

/// Serialises an algorithm by its collective and name.
pub(crate) mod registered {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::{Serialize, Serializer};
    use workload::Collective;

    use super::{CollectiveAlgorithm, known};

    pub fn serialize<S: Serializer>(
        algorithm: &&'static CollectiveAlgorithm,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        (algorithm.collective, algorithm.name).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<&'static CollectiveAlgorithm, D::Error> {
        let (collective, name) = <(Collective, String)>::deserialize(from)?;
        let unknown = || D::Error::custom(format!("no algorithm '{name}' for {}", collective.name()));
        known(collective)
            .find(|algorithm| algorithm.name == name)
            .ok_or_else(unknown)
    }
}

/// Tag of a message of a collective. It distinguishes the collectives of a context that are in progress at once
/// ([`SEQUENCES`]), their kinds and rounds, so that ranks that call different collectives wait for each other
/// instead of matching.
///
/// The round is there for error messages, modulo 2^18: messages between two ranks in one collective are ordered by
/// round.
pub(crate) fn tag(collective: Collective, sequence: u32, round: u32) -> u32 {
    (collective as u32) << (SEQUENCE_BITS + ROUND_BITS)
        | (sequence % SEQUENCES) << ROUND_BITS
        | (round & ((1 << ROUND_BITS) - 1))
}

/// The round of a [`tag`].
pub(crate) fn round_of(tag: u32) -> u32 {
    tag & ((1 << ROUND_BITS) - 1)
}

/// Largest number of collectives that a rank may have in progress in one context. Message order between two
/// ranks distinguishes collectives at this distance.
pub(crate) const SEQUENCES: u32 = 1 << SEQUENCE_BITS;

const SEQUENCE_BITS: u32 = 10;
const ROUND_BITS: u32 = 18;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_collective_is_here_and_names_are_unique() {
        for (index, collective) in COLLECTIVES.into_iter().enumerate() {
            assert_eq!(collective as usize, index);
            let names: Vec<_> = known(collective).map(|a| a.name).collect();
            assert!(!names.is_empty());
            assert!(
                names
                    .iter()
                    .enumerate()
                    .all(|(i, name)| !names[..i].contains(name))
            );
        }
    }

    #[test]
    fn files_are_named_after_the_registry() {
        for algorithm in ALGORITHMS {
            let stem = format!("{}_{}", algorithm.collective.name(), algorithm.name).replace('-', "_");
            let path = format!("{}/src/collectives/{stem}.rs", env!("CARGO_MANIFEST_DIR"));
            assert!(std::path::Path::new(&path).exists(), "{path}");
            assert!(!algorithm.summary.is_empty() && !algorithm.source.is_empty());
        }
    }

    #[test]
    fn one_rank_has_nothing_to_do() {
        for algorithm in ALGORITHMS {
            let call = CollectiveCall::new(0, 1, 0, 100);
            let mut round = Round::default();
            let rounds = (0..)
                .take_while(|k| (algorithm.round)(&CollectiveArgs::new(call, None), *k, &mut round))
                .count();
            assert!(rounds < 4, "{}", algorithm.name);
            round.round_offset = 0;
            assert_eq!(round, Round::default(), "{}", algorithm.name);
        }
    }

    #[test]
    fn parts_add_up() {
        let call = CollectiveCall::new(0, 7, 0, 100);
        let even = CollectiveArgs::new(call, None);
        let parts: Vec<u64> = (0..7).map(|rank| even.part(rank)).collect();
        assert_eq!(parts.iter().sum::<u64>(), 100);
        assert!(parts.iter().all(|part| [14, 15].contains(part)));
        assert_eq!(even.parts(2..6), parts[2..6].iter().sum::<u64>());
        assert_eq!(even.contributions_from(5, 3), 300);
        let bytes = u64::MAX;
        let huge = CollectiveArgs::new(CollectiveCall { bytes, ..call }, None);
        assert_eq!((huge.part(6), huge.parts(0..7)), (u64::MAX / 7 + 1, u64::MAX));
        assert_eq!(huge.contributions(0..7), u64::MAX);
    }

    #[test]
    fn counts_go_before_bytes_and_broken_ones_do_no_harm() {
        let call = CollectiveCall::new(2, 3, 0, 100);
        let counts = Counts {
            sends: vec![7],
            receives: vec![1, 2, 4],
            ..Counts::default()
        };
        let part = CollectiveArgs::new(call, Some(&counts));
        assert_eq!(
            (
                part.sent_bytes(),
                part.bytes_to(0),
                part.bytes_to(1),
                part.bytes_from(2)
            ),
            (7, 7, 100, 4)
        );
        assert_eq!((part.contributions(1..3), part.contributions_from(2, 2)), (6, 5));
        assert_eq!((part.part(1), part.parts(0..3)), (2, 7));
        let short = Counts {
            sends: vec![],
            receives: vec![9],
            ..Counts::default()
        };
        let part = CollectiveArgs::new(call, Some(&short));
        assert_eq!(
            (part.received_bytes(), part.contributions(0..3), part.parts(0..3)),
            (9, 300, 100)
        );
    }

    #[test]
    fn tags_distinguish_collectives_and_rounds() {
        assert_ne!(tag(Collective::Scan, 0, 0), tag(Collective::Exscan, 0, 0));
        assert_ne!(
            tag(Collective::Scan, 0, 0),
            tag(Collective::Scan, SEQUENCES - 1, 0)
        );
        assert_eq!(
            tag(Collective::Scan, 3, 5),
            tag(Collective::Scan, SEQUENCES + 3, 5)
        );
        assert_eq!(round_of(tag(Collective::Exscan, 1023, 77)), 77);
        assert!(COLLECTIVES.len() <= 1 << (u32::BITS - SEQUENCE_BITS - ROUND_BITS));
    }
}
