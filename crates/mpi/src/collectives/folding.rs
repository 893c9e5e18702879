//! Folding of ranks to a power of two, for recursive doubling and halving.
//!
//! With n ranks, p the largest power of two in n and r = n - p, the first 2 r ranks form r pairs. One rank of
//! each pair sits out: it sends its data to its partner before the first step and receives the result after the
//! last. The other ranks have the positions 0 to p - 1 in rank order. A position covers its rank and the
//! partner that sits out.
//!
//! SOURCE: MPICH; Thakur, Rabenseifner, Gropp 2005, section 4.5.

use std::ops::Range;

use super::{CollectiveCall, Round};

#[derive(Clone, Copy)]
pub(super) struct Folding {
    ranks: u32,
    /// log2 p.
    pub doublings: u32,
    /// r.
    pub rest: u32,
    /// The rank from which ranks are counted.
    origin: u32,
    /// Which rank of a pair has a position.
    stays: u32,
}

/// Phase of a round.
pub(super) enum FoldingPhase {
    /// Ranks that sit out send their data.
    Fold,
    /// A step among the positions.
    Step(u32),
    /// Ranks that sit out receive the result.
    Unfold,
}

impl Folding {
    /// The odd rank of each pair has a position, as in MPICH.
    pub fn new(call: &CollectiveCall) -> Folding {
        let doublings = call.ranks.ilog2();
        Folding {
            ranks: call.ranks,
            doublings,
            rest: call.ranks - (1 << doublings),
            origin: 0,
            stays: 1,
        }
    }

    /// Ranks are counted from the root, which has position 0.
    pub fn from_root(call: &CollectiveCall) -> Folding {
        Folding {
            origin: call.root,
            stays: 0,
            ..Folding::new(call)
        }
    }

    /// The phase of a round, with `steps` steps between folding and unfolding; `None` after the end.
    pub fn phase(&self, k: u32, steps: u32) -> Option<FoldingPhase> {
        let folds = u32::from(self.rest > 0);
        match k.checked_sub(folds) {
            None => Some(FoldingPhase::Fold),
            Some(step) if step < steps => Some(FoldingPhase::Step(step)),
            Some(step) if step == steps && folds > 0 => Some(FoldingPhase::Unfold),
            Some(_) => None,
        }
    }

    /// The rank, counted from the origin.
    fn relative(&self, rank: u32) -> u32 {
        if rank >= self.origin {
            rank - self.origin
        } else {
            rank + (self.ranks - self.origin)
        }
    }

    fn absolute(&self, relative: u32) -> u32 {
        ((u64::from(relative) + u64::from(self.origin)) % u64::from(self.ranks)) as u32
    }

    /// Position of a rank; `None` if it sits out.
    pub fn position(&self, rank: u32) -> Option<u32> {
        let relative = self.relative(rank);
        if relative >= 2 * self.rest {
            Some(relative - self.rest)
        } else {
            (relative % 2 == self.stays).then_some(relative / 2)
        }
    }

    /// The rank at a position.
    pub fn rank_at(&self, position: u32) -> u32 {
        self.absolute(if position < self.rest {
            2 * position + self.stays
        } else {
            position + self.rest
        })
    }

    /// The partner in the rank's pair.
    pub fn twin(&self, rank: u32) -> Option<u32> {
        let relative = self.relative(rank);
        (relative < 2 * self.rest).then(|| self.absolute(relative ^ 1))
    }

    /// The ranks that these positions cover, counted from the origin.
    pub fn covered(&self, positions: Range<u32>) -> Range<u32> {
        let first = |position: u32| position + position.min(self.rest);
        first(positions.start)..first(positions.end)
    }

    /// Ranks that sit out send `bytes` to their partners.
    pub fn fold(&self, call: &CollectiveCall, bytes: u64, out: &mut Round) {
        match (self.twin(call.rank), self.position(call.rank)) {
            (Some(twin), None) => out.send(twin, bytes),
            (Some(twin), Some(_)) => out.receive(twin, bytes),
            (None, _) => {}
        }
    }

    /// Ranks that sit out send `bytes` to their partners, who reduce them with their own.
    pub fn fold_and_reduce(&self, call: &CollectiveCall, bytes: u64, out: &mut Round) {
        match (self.twin(call.rank), self.position(call.rank)) {
            (Some(twin), None) => out.send(twin, bytes),
            (Some(twin), Some(_)) => out.receive_and_reduce(twin, bytes),
            (None, _) => {}
        }
    }

    /// Ranks that sit out receive `bytes` from their partners.
    pub fn unfold(&self, call: &CollectiveCall, bytes: u64, out: &mut Round) {
        match (self.twin(call.rank), self.position(call.rank)) {
            (Some(twin), None) => out.receive(twin, bytes),
            (Some(twin), Some(_)) => out.send(twin, bytes),
            (None, _) => {}
        }
    }
}

/// The positions that agree with this one in all bits from `bit` on.
pub(super) fn group(position: u32, bit: u32) -> Range<u32> {
    let start = position >> bit << bit;
    start..start + (1 << bit)
}

/// The parts of a vector of 2^`doublings` parts that a position keeps after `halvings` halvings at distances 1,
/// 2, 4, ...: the lower position of a pair keeps the lower half.
pub(super) fn halved(position: u32, halvings: u32, doublings: u32) -> Range<u32> {
    let start: u32 = (0..halvings)
        .map(|bit| (position >> bit & 1) << (doublings - 1 - bit))
        .sum();
    start..start + (1 << (doublings - halvings))
}

#[cfg(test)]
mod tests {
    use super::super::CollectiveCall;
    use super::*;

    #[test]
    fn every_position_has_one_rank_and_covers_its_pair() {
        for ranks in 1..=40u32 {
            for root in 0..ranks {
                let call = CollectiveCall::new(0, ranks, root, 0);
                for folding in [Folding::new(&call), Folding::from_root(&call)] {
                    let positions = 1 << folding.doublings;
                    assert_eq!(folding.covered(0..positions), 0..ranks);
                    for position in 0..positions {
                        let rank = folding.rank_at(position);
                        assert_eq!(folding.position(rank), Some(position));
                        let covered = folding.covered(position..position + 1);
                        assert!(covered.contains(&folding.relative(rank)));
                        assert_eq!(covered.len() == 2, folding.twin(rank).is_some());
                    }
                    let out = (0..ranks).filter(|rank| folding.position(*rank).is_none());
                    assert_eq!(out.count() as u32, ranks - positions);
                }
                assert_eq!(Folding::from_root(&call).position(root), Some(0));
            }
        }
    }

    #[test]
    fn halving_leaves_each_position_another_part() {
        assert_eq!(halved(5, 0, 3), 0..8);
        assert_eq!(
            (halved(5, 1, 3), halved(5, 2, 3), halved(5, 3, 3)),
            (4..8, 4..6, 5..6)
        );
        assert_eq!(halved(1, 3, 3), 4..5);
        assert_eq!((group(5, 0), group(5, 1), group(5, 3)), (5..6, 4..6, 0..8));
    }
}
