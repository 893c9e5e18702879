//! Collectives as rounds of point-to-point messages; one algorithm a file.
//!
//! An algorithm is a function without state: what one rank sends and receives in round `k`. All
//! messages of a round are started together; the next round begins when all of them are complete.
//! Ranks need not be in the same round: matching brings together what belongs together.

mod allgather_bruck;
mod allgather_ring;
mod allreduce_recursive_doubling;
mod allreduce_ring;
mod alltoall_pairwise;
mod barrier_dissemination;
mod bcast_binomial;
mod binomial_tree;
mod exscan_recursive_doubling;
mod gather_binomial;
mod reduce_binomial;
mod reduce_scatter_pairwise;
mod scan_recursive_doubling;
mod scatter_binomial;
#[cfg(test)]
mod symbolic;

use config::{Error, Section};
use serde::{Deserialize, Serialize};
use workload::Collective;

/// One rank's part in one collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectiveCall {
    /// This rank in the communicator.
    pub rank: u32,
    /// Size of the communicator.
    pub ranks: u32,
    /// Root in the communicator, below `ranks`; 0 where there is none.
    pub root: u32,
    /// Bytes, as [`Collective`] counts them.
    pub bytes: u64,
}

impl CollectiveCall {
    /// Rounds in which a distance that doubles covers all ranks: log2 of the ranks, rounded up.
    fn doublings(&self) -> u32 {
        u32::BITS - (self.ranks - 1).leading_zeros()
    }

    /// The rank so far up from this one, round the end.
    fn up(&self, distance: u32) -> u32 {
        ((u64::from(self.rank) + u64::from(distance)) % u64::from(self.ranks)) as u32
    }

    /// The rank so far down from this one, round the end; `distance` is at most `ranks`.
    fn down(&self, distance: u32) -> u32 {
        self.up(self.ranks - distance)
    }

    /// Size in bytes of the part of a vector of `bytes` that belongs to this rank when it is cut into
    /// as many parts as there are ranks; the parts differ by one byte at most and add up exactly.
    fn part(&self, rank: u32) -> u64 {
        let edge = |r: u32| u128::from(self.bytes) * u128::from(r) / u128::from(self.ranks);
        (edge(rank + 1) - edge(rank)) as u64
    }
}

/// Messages of one round: peer in the communicator, and bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Sends, in the order in which the CPU issues them.
    pub sends: Vec<(u32, u64)>,
    /// Receives, in the order in which they are posted.
    pub receives: Vec<(u32, u64)>,
}

impl Round {
    /// Forgets the messages, keeps the memory.
    pub fn clear(&mut self) {
        self.sends.clear();
        self.receives.clear();
    }

    fn send(&mut self, to: u32, bytes: u64) {
        self.sends.push((to, bytes));
    }

    fn receive(&mut self, from: u32, bytes: u64) {
        self.receives.push((from, bytes));
    }
}

/// One algorithm for one collective.
#[derive(Debug)]
pub struct Algorithm {
    /// The collective that it carries out.
    pub collective: Collective,
    /// Name in experiments; the file is named `<collective>_<name>.rs`.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Where it is described.
    pub source: &'static str,
    /// Writes what the rank sends and receives in this round into an empty [`Round`]; false if the
    /// rank's part ended before. A round may be empty.
    pub round: fn(&CollectiveCall, u32, &mut Round) -> bool,
}

impl PartialEq for Algorithm {
    fn eq(&self, other: &Algorithm) -> bool {
        (self.collective, self.name) == (other.collective, other.name)
    }
}

impl Eq for Algorithm {}

/// All algorithms, by collective; the first of each collective is its default.
pub static ALGORITHMS: &[&Algorithm] = &[
    &barrier_dissemination::ALGORITHM,
    &bcast_binomial::ALGORITHM,
    &reduce_binomial::ALGORITHM,
    &allreduce_recursive_doubling::ALGORITHM,
    &allreduce_ring::ALGORITHM,
    &allgather_ring::ALGORITHM,
    &allgather_bruck::ALGORITHM,
    &alltoall_pairwise::ALGORITHM,
    &gather_binomial::ALGORITHM,
    &scatter_binomial::ALGORITHM,
    &reduce_scatter_pairwise::ALGORITHM,
    &scan_recursive_doubling::ALGORITHM,
    &exscan_recursive_doubling::ALGORITHM,
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

/// The chosen algorithm of each collective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Algorithms {
    chosen: [&'static Algorithm; COLLECTIVES.len()],
}

impl Default for Algorithms {
    /// The first of each collective in [`ALGORITHMS`].
    fn default() -> Algorithms {
        Algorithms {
            chosen: COLLECTIVES.map(|collective| {
                known(collective)
                    .next()
                    .expect("every collective has an algorithm, as a test shows")
            }),
        }
    }
}

impl Algorithms {
    /// Reads `[mpi.collectives]`: one optional key for each collective.
    ///
    /// # Errors
    /// A name that is no algorithm of the collective.
    pub fn read(section: &Section) -> Result<Algorithms, Error> {
        let mut algorithms = Algorithms::default();
        for collective in COLLECTIVES {
            let key = collective.name();
            let name: String = section.or(key, algorithms.of(collective).name.to_string())?;
            algorithms
                .choose(collective, &name)
                .ok_or_else(|| section.unknown_name(key, &name, known(collective).map(|a| a.name)))?;
        }
        Ok(algorithms)
    }

    /// The algorithm of a collective.
    pub fn of(&self, collective: Collective) -> &'static Algorithm {
        self.chosen[collective as usize]
    }

    /// Chooses an algorithm by name; none if the collective has no such algorithm.
    pub fn choose(&mut self, collective: Collective, name: &str) -> Option<&'static Algorithm> {
        let algorithm = known(collective).find(|algorithm| algorithm.name == name)?;
        self.chosen[collective as usize] = algorithm;
        Some(algorithm)
    }
}

fn known(collective: Collective) -> impl Iterator<Item = &'static Algorithm> {
    ALGORITHMS
        .iter()
        .copied()
        .filter(move |algorithm| algorithm.collective == collective)
}

/// An algorithm in a saved state: by its collective and name.
pub(crate) mod registered {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::{Serialize, Serializer};
    use workload::Collective;

    use super::{Algorithm, known};

    pub fn serialize<S: Serializer>(algorithm: &&'static Algorithm, to: S) -> Result<S::Ok, S::Error> {
        (algorithm.collective, algorithm.name).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<&'static Algorithm, D::Error> {
        let (collective, name) = <(Collective, String)>::deserialize(from)?;
        let unknown = || D::Error::custom(format!("no algorithm '{name}' for {}", collective.name()));
        known(collective)
            .find(|algorithm| algorithm.name == name)
            .ok_or_else(unknown)
    }
}

/// Tag of a message of a collective, by its number among those of its context. It tells those that are under
/// way at once apart ([`SEQUENCES`]), and kinds and rounds, so that ranks that disagree about what they do
/// are found waiting instead of exchanging nonsense.
///
/// The round is there for reports: in one collective, messages between two ranks are sent and taken in the
/// order of rounds. Beyond 2^18 rounds it starts again at 0.
pub(crate) fn tag(collective: Collective, sequence: u32, round: u32) -> u32 {
    (collective as u32) << (SEQUENCE_BITS + ROUND_BITS)
        | (sequence % SEQUENCES) << ROUND_BITS
        | (round & ((1 << ROUND_BITS) - 1))
}

/// The round that [`tag`] was made of.
pub(crate) fn round_of(tag: u32) -> u32 {
    tag & ((1 << ROUND_BITS) - 1)
}

/// A rank may be in so many collectives of one context at once. Each begins after the one so many before it
/// has ended, hence the order of messages between two ranks tells these two apart.
pub(crate) const SEQUENCES: u32 = 1 << SEQUENCE_BITS;

const SEQUENCE_BITS: u32 = 10;
const ROUND_BITS: u32 = 18;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_collective_has_a_default_and_names_are_unique() {
        for (index, collective) in COLLECTIVES.into_iter().enumerate() {
            assert_eq!(collective as usize, index);
            let names: Vec<_> = known(collective).map(|a| a.name).collect();
            assert_eq!(Algorithms::default().of(collective).name, names[0]);
            assert!(
                names
                    .iter()
                    .enumerate()
                    .all(|(i, name)| !names[..i].contains(name))
            );
        }
        assert!(Algorithms::default().choose(Collective::Scan, "ring").is_none());
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
            let call = CollectiveCall {
                rank: 0,
                ranks: 1,
                root: 0,
                bytes: 100,
            };
            let mut round = Round::default();
            let rounds = (0..)
                .take_while(|k| (algorithm.round)(&call, *k, &mut round))
                .count();
            assert!(rounds < 2, "{}", algorithm.name);
            assert_eq!(round, Round::default(), "{}", algorithm.name);
        }
    }

    #[test]
    fn parts_add_up() {
        let call = CollectiveCall {
            rank: 0,
            ranks: 7,
            root: 0,
            bytes: 100,
        };
        let parts: Vec<u64> = (0..7).map(|rank| call.part(rank)).collect();
        assert_eq!(parts.iter().sum::<u64>(), 100);
        assert!(parts.iter().all(|part| [14, 15].contains(part)));
        assert_eq!(
            CollectiveCall {
                bytes: u64::MAX,
                ..call
            }
            .part(6),
            u64::MAX / 7 + 1
        );
    }

    #[test]
    fn tags_tell_collectives_and_rounds_apart() {
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
