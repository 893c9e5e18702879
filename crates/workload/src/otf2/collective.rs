//! Collectives: conversion of Score-P's byte counts to the arguments of the MPI call.
//!
//! With n ranks in the communicator and k bytes in one rank's argument, Score-P records as sent and
//! received bytes
//!
//! | operation | sent | received |
//! | --- | --- | --- |
//! | bcast | n k by the root | k |
//! | gather | k | n k by the root |
//! | scatter | n k by the root | k |
//! | allgather, alltoall, allreduce | n k | n k |
//! | reduce | k | n k by the root |
//! | reduce_scatter, reduce_scatter_block | the whole vector | n times the own block |
//! | scan | (n - rank) k | (rank + 1) k |
//! | exscan | (n - rank - 1) k | rank k |
//!
//! and the totals for the `v` variants. A rank that passes `MPI_IN_PLACE` counts one share less:
//!
//! | operation in place | sent | received |
//! | --- | --- | --- |
//! | gather, reduce, at the root | 0 | (n - 1) k |
//! | scatter, at the root | (n - 1) k | 0 |
//! | allgather, alltoall, allreduce | (n - 1) k | (n - 1) k |
//! | reduce_scatter, reduce_scatter_block | the vector without the own block | (n - 1) times the own block |
//! | scan | (n - rank - 1) k | rank k |
//!
//! The records do not tell whether a call was in place, and some fit both tables. MPI requires that all ranks of
//! allgather, alltoall, allreduce and reduce_scatter_block are in place or none (MPI 4.1, chapter 6); their records
//! are equal on all ranks, and so are the sizes read from them. A rank of scan and reduce_scatter may be in place
//! alone, so their other size is kept for the comparison of the ranks.
//!
//! Source: `scorep_mpi_coll_bytes_...` in the MPI adapter of Score-P, and `otf2-print` of the traces in the tests.

use std::num::NonZeroU64;

use crate::Collective;

/// Kind of an `OTF2_CollectiveOp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectiveKind {
    /// All ranks give the same count.
    Regular(Collective),
    /// Counts differ between ranks.
    Varying(Collective),
    /// All ranks give the same list of counts, of which their sum and the own one are recorded.
    Listed(Collective),
    /// Creates or frees a communicator, RMA window, file or memory, without data of the application.
    Internal,
}

/// Kind of an `OTF2_CollectiveOp`; `None` for an unknown number.
pub fn collective_kind(number: u32) -> Option<CollectiveKind> {
    use CollectiveKind::{Internal, Listed, Regular, Varying};
    Some(match number {
        0 => Regular(Collective::Barrier),
        1 => Regular(Collective::Bcast),
        2 => Regular(Collective::Gather),
        3 => Varying(Collective::Gather),
        4 => Regular(Collective::Scatter),
        5 => Varying(Collective::Scatter),
        6 => Regular(Collective::Allgather),
        7 => Varying(Collective::Allgather),
        8 => Regular(Collective::Alltoall),
        9 | 10 => Varying(Collective::Alltoall),
        11 => Regular(Collective::Allreduce),
        12 => Regular(Collective::Reduce),
        13 => Listed(Collective::ReduceScatter),
        16 => Regular(Collective::ReduceScatter),
        14 => Regular(Collective::Scan),
        15 => Regular(Collective::Exscan),
        17..=22 => Internal,
        _ => return None,
    })
}

/// MPI name of an `OTF2_CollectiveOp`, without prefix.
pub fn name(number: u32) -> &'static str {
    const NAMES: [&str; 17] = [
        "barrier",
        "bcast",
        "gather",
        "gatherv",
        "scatter",
        "scatterv",
        "allgather",
        "allgatherv",
        "alltoall",
        "alltoallv",
        "alltoallw",
        "allreduce",
        "reduce",
        "reduce_scatter",
        "scan",
        "exscan",
        "reduce_scatter_block",
    ];
    NAMES.get(number as usize).copied().unwrap_or("other")
}

/// The record of one rank of a collective.
#[derive(Clone, Copy, Debug)]
pub struct RecordedBytes {
    /// Ranks in the communicator, at least 1.
    pub ranks: u64,
    /// Own rank in it.
    pub rank: u64,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
}

impl RecordedBytes {
    /// The bytes of the operation as [`Collective`] defines them.
    pub fn bytes(self, operation: CollectiveKind) -> u64 {
        let n = self.ranks;
        match operation {
            CollectiveKind::Internal | CollectiveKind::Regular(Collective::Barrier) => 0,
            CollectiveKind::Listed(_) => {
                let [separate, in_place] = self.vectors();
                separate.or(in_place).unwrap_or(self.sent)
            }
            CollectiveKind::Varying(Collective::Scatter) if self.received == 0 => self.sent.div_ceil(n),
            CollectiveKind::Varying(Collective::Gather) if self.sent == 0 => self.received.div_ceil(n),
            // The total over all ranks gives the mean part. In an allgather all ranks know it.
            CollectiveKind::Varying(Collective::Allgather) => self.received.div_ceil(n),
            CollectiveKind::Varying(Collective::Alltoall) => self.sent.div_ceil(n),
            CollectiveKind::Regular(kind) | CollectiveKind::Varying(kind) => self.regular(kind),
        }
    }

    fn regular(self, kind: Collective) -> u64 {
        let n = self.ranks;
        match kind {
            Collective::Barrier => 0,
            Collective::Bcast => nonzero(self.received).unwrap_or_else(|| share(self.sent, n)),
            // A root that receives nothing of a scatter, or sends nothing to a gather or reduction, is in
            // place. Its size must equal that of the other ranks, so that all select the same algorithm.
            Collective::Scatter => nonzero(self.received).unwrap_or_else(|| share_in_place(self.sent, n)),
            Collective::Gather | Collective::Reduce => {
                nonzero(self.sent).unwrap_or_else(|| share_in_place(self.received, n))
            }
            Collective::Allgather | Collective::Alltoall | Collective::Allreduce => {
                share(self.sent.max(self.received), n)
            }
            Collective::ReduceScatter => share(self.sent, n).saturating_mul(n),
            Collective::Scan => {
                let [separate, in_place] = self.scanned();
                let other_writer = self.received.div_ceil(self.rank + 1);
                separate.or(in_place).unwrap_or(other_writer)
            }
            Collective::Exscan if self.rank == 0 => self.sent / (n - 1).max(1),
            Collective::Exscan => self.received / self.rank,
        }
    }
}

impl RecordedBytes {
    /// The bytes of an operation in place, if the record fits one that is not in place too.
    pub fn in_place_bytes(self, operation: CollectiveKind) -> Option<NonZeroU64> {
        let readings = match operation {
            CollectiveKind::Regular(Collective::Scan) => self.scanned(),
            CollectiveKind::Listed(_) => self.vectors(),
            _ => [None, None],
        };
        let [Some(separate), Some(in_place)] = readings else {
            return None;
        };
        NonZeroU64::new(in_place).filter(|bytes| bytes.get() != separate)
    }

    /// Bytes of a scan that is not in place, and of one in place, where the record fits.
    fn scanned(self) -> [Option<u64>; 2] {
        let after = self.ranks - self.rank - 1;
        let fitting = |sent_shares: u64, received_shares: u64| {
            let bytes = match received_shares {
                0 => self.sent.checked_div(sent_shares)?,
                shares => self.received / shares,
            };
            let fits = bytes.checked_mul(sent_shares) == Some(self.sent)
                && bytes.checked_mul(received_shares) == Some(self.received);
            fits.then_some(bytes)
        };
        [fitting(after + 1, self.rank + 1), fitting(after, self.rank)]
    }

    /// Bytes of the whole vector of a reduce_scatter that is not in place, and of one in place, where the record
    /// fits.
    fn vectors(self) -> [Option<u64>; 2] {
        let block = |shares: u64| {
            let is_whole = shares > 0 && self.received.is_multiple_of(shares);
            is_whole.then(|| self.received / shares)
        };
        let separate = block(self.ranks).filter(|block| *block <= self.sent);
        let in_place = block(self.ranks - 1);
        [
            separate.map(|_| self.sent),
            in_place.and_then(|block| self.sent.checked_add(block)),
        ]
    }

    /// Parts that a rank sends to itself and expects from itself, if they are recorded and differ.
    pub fn unequal_own_parts(self, operation: CollectiveKind) -> Option<[u64; 2]> {
        let (n, sent, received) = (self.ranks, self.sent, self.received);
        let is_both = sent > 0 && received > 0;
        let parts = match operation {
            // Other writers than Score-P count one part as sent.
            CollectiveKind::Regular(Collective::Allgather) if sent.checked_mul(n) == Some(received) => {
                return None;
            }
            CollectiveKind::Regular(Collective::Allgather | Collective::Alltoall) => {
                [share(sent, n), share(received, n)]
            }
            // A root that is in place has one of them only.
            CollectiveKind::Regular(Collective::Gather) if is_both => [sent, received.div_ceil(n)],
            CollectiveKind::Regular(Collective::Scatter) if is_both => [sent.div_ceil(n), received],
            _ => return None,
        };
        (parts[0] != parts[1]).then_some(parts)
    }
}

fn nonzero(bytes: u64) -> Option<u64> {
    (bytes > 0).then_some(bytes)
}

/// One of `n` parts of a total, which omits the own part if the call was in place. A total that both n and n -
/// 1 divide is taken as not in place, since the records do not tell.
fn share(total: u64, n: u64) -> u64 {
    if !total.is_multiple_of(n) && n > 1 && total.is_multiple_of(n - 1) {
        total / (n - 1)
    } else {
        total.div_ceil(n)
    }
}

/// One of `n` parts of a total that omits the own part, if it can.
fn share_in_place(total: u64, n: u64) -> u64 {
    if n > 1 && total.is_multiple_of(n - 1) {
        total / (n - 1)
    } else {
        total.div_ceil(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(number: u32, ranks: u64, rank: u64, sent: u64, received: u64) -> u64 {
        let share = RecordedBytes {
            ranks,
            rank,
            sent,
            received,
        };
        share.bytes(collective_kind(number).unwrap())
    }

    /// All sizes that a record can mean.
    fn readings(number: u32, ranks: u64, rank: u64, [sent, received]: [u64; 2]) -> Vec<u64> {
        let share = RecordedBytes {
            ranks,
            rank,
            sent,
            received,
        };
        let kind = collective_kind(number).unwrap();
        let in_place = share.in_place_bytes(kind).map(NonZeroU64::get);
        std::iter::once(share.bytes(kind)).chain(in_place).collect()
    }

    /// 8 B in place on four ranks, and blocks of 4, 8, 5 and 23 B. In place, a multiple of 4 B fits both.
    #[test]
    fn records_in_place_give_the_argument() {
        for (rank, block) in (0..4).zip([4, 8, 5, 23]) {
            assert_eq!(readings(14, 4, rank, [(3 - rank) * 8, rank * 8]), [8], "scan");
            let expected: &[u64] = match block {
                4 => &[36, 40],
                8 => &[32, 40],
                _ => &[40],
            };
            assert_eq!(
                readings(13, 4, rank, [40 - block, 3 * block]),
                expected,
                "{block}"
            );
        }
        assert_eq!(
            readings(14, 3, 1, [8, 8]),
            [4, 8],
            "the middle rank of three fits both"
        );
        assert_eq!(bytes(16, 4, 0, 3 * 7, 3 * 7), 28);
        // Other writers count other sizes.
        assert_eq!(bytes(14, 4, 1, 16, 16), 8);
    }

    #[test]
    fn a_rank_sends_to_itself_what_it_expects() {
        let unequal = |number, sent, received| {
            let share = RecordedBytes {
                ranks: 4,
                rank: 0,
                sent,
                received,
            };
            share.unequal_own_parts(collective_kind(number).unwrap())
        };
        assert_eq!(unequal(6, 32, 64), Some([8, 16]));
        assert_eq!(unequal(8, 0, 64), Some([0, 16]));
        assert_eq!(unequal(2, 8, 64), Some([8, 16]));
        assert_eq!(unequal(4, 64, 8), Some([16, 8]));
        for (number, sent, received) in [
            (6, 32, 32),
            (6, 24, 24),
            // Another writer counts the own part once.
            (6, 8, 32),
            (8, 32, 32),
            (2, 8, 32),
            (2, 0, 24),
            (2, 8, 0),
            (4, 32, 8),
            (4, 24, 0),
            (4, 0, 8),
            (11, 32, 64),
        ] {
            assert_eq!(
                unequal(number, sent, received),
                None,
                "{number} {sent} {received}"
            );
        }
    }

    #[test]
    fn unknown_numbers_are_no_operation() {
        assert_eq!(
            (name(11), name(16), name(17)),
            ("allreduce", "reduce_scatter_block", "other")
        );
        assert_eq!(collective_kind(23), None);
        assert_eq!(collective_kind(255), None);
        assert_eq!(collective_kind(17), Some(CollectiveKind::Internal));
    }

    #[test]
    fn a_single_rank_and_zero_bytes_do_not_divide_by_zero() {
        for number in 0..=22 {
            assert_eq!(bytes(number, 1, 0, 0, 0), 0);
            bytes(number, 1, 0, 24, 24);
        }
    }

    proptest! {
        #[test]
        fn the_argument_comes_back(n in 2u64..200, k in 0u64..100_000, seed in 0u64..1000) {
            let rank = seed % n;
            let root = rank == 0;
            let at_root = |bytes| if root { bytes } else { 0 };
            prop_assert_eq!(bytes(1, n, rank, at_root(n * k), k), k, "bcast");
            prop_assert_eq!(bytes(2, n, rank, k, at_root(n * k)), k, "gather");
            prop_assert_eq!(bytes(4, n, rank, at_root(n * k), k), k, "scatter");
            prop_assert_eq!(bytes(12, n, rank, k, at_root(n * k)), k, "reduce");
            for number in [6, 8, 11] {
                prop_assert_eq!(bytes(number, n, rank, n * k, n * k), k, "{}", number);
            }
            prop_assert_eq!(bytes(14, n, rank, (n - rank) * k, (rank + 1) * k), k, "scan");
            prop_assert_eq!(bytes(15, n, rank, (n - rank - 1) * k, rank * k), k, "exscan");
            prop_assert_eq!(bytes(16, n, rank, n * k, n * k), n * k, "reduce_scatter_block");
            prop_assert_eq!(bytes(13, n, rank, n * k, n * k), n * k, "reduce_scatter");
        }

        /// Each size that a legal record can have is among those that are read from it.
        #[test]
        fn in_place_on_any_rank(blocks in proptest::collection::vec(0u64..5000, 2..70), k in 0u64..100_000) {
            let n = blocks.len() as u64;
            let vector: u64 = blocks.iter().sum();
            for (rank, block) in (0..).zip(&blocks) {
                for own in [0, 1] {
                    let scan = [(n - rank - 1 + own) * k, (rank + own) * k];
                    prop_assert!(readings(14, n, rank, scan).contains(&k), "scan of rank {} with {}", rank, own);
                    let parts = [vector - (1 - own) * block, (n - 1 + own) * block];
                    prop_assert!(readings(13, n, rank, parts).contains(&vector), "reduce_scatter of rank {}", rank);
                }
            }
        }

        #[test]
        fn in_place_at_the_root(n in 2u64..200, k in 1u64..100_000) {
            prop_assert_eq!(bytes(2, n, 0, 0, (n - 1) * k), k, "gather");
            prop_assert_eq!(bytes(4, n, 0, (n - 1) * k, 0), k, "scatter");
            prop_assert_eq!(bytes(12, n, 0, 0, (n - 1) * k), k, "reduce");
            prop_assume!(n > 2 && !((n - 1) * k).is_multiple_of(n));
            prop_assert_eq!(bytes(11, n, 1, (n - 1) * k, (n - 1) * k), k, "allreduce");
        }
    }

    #[test]
    fn varying_counts_give_the_mean() {
        assert_eq!(
            bytes(7, 4, 1, 8, 43),
            11,
            "allgatherv: of the total that all receive"
        );
        assert_eq!(bytes(9, 4, 1, 10, 99), 3, "alltoallv: of what this rank sends");
        assert_eq!(bytes(10, 4, 1, 8, 99), 2, "alltoallw");
        assert_eq!(bytes(3, 4, 1, 10, 0), 10, "gatherv: what this rank gives");
        assert_eq!(bytes(3, 4, 0, 0, 10), 3, "gatherv in place");
        assert_eq!(bytes(5, 4, 1, 0, 10), 10, "scatterv: what this rank gets");
    }
}
