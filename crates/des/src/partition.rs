//! The assignment of LPs to threads.

use crate::LpId;

/// The assignment of LPs to threads, as contiguous ranges, so that a model that numbers neighbours consecutively
/// keeps them together. Each process has the same number of threads and takes that number of consecutive parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// First LP of each part in ascending order, then the number of LPs.
    bounds: Vec<u32>,
}

impl Partition {
    /// Ranges with these borders: the first LP of each part, then the number of LPs.
    ///
    /// # Panics
    /// The first border is not 0, or borders descend.
    pub fn new(bounds: Vec<u32>) -> Partition {
        assert!(
            bounds.len() >= 2 && bounds[0] == 0 && bounds.is_sorted(),
            "{bounds:?} are no borders of parts"
        );
        Partition { bounds }
    }

    /// `parts` ranges with about the same sum of weights. `weight` is the expected work of an LP.
    pub fn balanced(lps: u32, parts: usize, weight: impl Fn(LpId) -> u64) -> Partition {
        Partition::between_neighbours(lps, parts, weight, |_| 0)
    }

    /// As [`Partition::balanced`], with borders that separate fewer neighbours. `border` rates a border before an LP;
    /// 0 is any border. The best border within a tenth of a part's weight is taken, and the nearest of equally good
    /// ones.
    pub fn between_neighbours(
        lps: u32,
        parts: usize,
        weight: impl Fn(LpId) -> u64,
        border: impl Fn(LpId) -> u8,
    ) -> Partition {
        // Sum of the weights of all LPs before each LP.
        let mut before = Vec::with_capacity(lps as usize + 1);
        let mut total = 0u64;
        for lp in 0..lps {
            before.push(total);
            total += weight(LpId(lp));
        }
        before.push(total);
        let mut bounds = vec![0];
        for part in 1..parts as u128 {
            let ideal = (u128::from(total) * part / parts as u128) as u64;
            let slack = total / parts as u64 / 10;
            let within = before.partition_point(|w| *w < ideal.saturating_sub(slack))
                ..before.partition_point(|w| *w <= ideal.saturating_add(slack));
            let plain = before.partition_point(|w| *w < ideal) as u32;
            let candidates = within.map(|lp| lp as u32).filter(|lp| *lp < lps).chain([plain]);
            let quality = |lp: &u32| {
                let good = if *lp < lps { border(LpId(*lp)) } else { 0 };
                (good, std::cmp::Reverse(before[*lp as usize].abs_diff(ideal)))
            };
            let best = candidates.max_by_key(quality).unwrap_or(plain);
            bounds.push(best.max(bounds[bounds.len() - 1]));
        }
        bounds.push(lps);
        Partition { bounds }
    }

    /// Fewer parts, about equally many of these joined to each.
    pub fn joined(&self, parts: usize) -> Partition {
        let bounds = (0..=parts).map(|part| self.bounds[part * self.parts() / parts]);
        Partition {
            bounds: bounds.collect(),
        }
    }

    /// Number of LPs.
    pub(crate) fn lps(&self) -> u32 {
        self.bounds[self.parts()]
    }

    /// Number of parts.
    pub fn parts(&self) -> usize {
        self.bounds.len() - 1
    }

    /// LPs of a part.
    pub fn range(&self, part: usize) -> std::ops::Range<u32> {
        self.bounds[part]..self.bounds[part + 1]
    }

    /// The part that owns an LP.
    #[inline]
    pub fn owner(&self, lp: LpId) -> usize {
        self.bounds[1..].partition_point(|end| *end <= lp.0)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn partitions_cover_all_lps_once(weights in proptest::collection::vec(0u64..100, 0..200), parts in 1usize..9) {
            let lps = weights.len() as u32;
            let partition = Partition::balanced(lps, parts, |lp| weights[lp.0 as usize]);
            prop_assert_eq!(partition.parts(), parts);
            let mut next = 0;
            for part in 0..parts {
                let range = partition.range(part);
                prop_assert_eq!(range.start, next);
                next = range.end;
                for lp in range {
                    prop_assert_eq!(partition.owner(LpId(lp)), part);
                }
            }
            prop_assert_eq!(next, lps);
        }
    }

    #[test]
    fn borders_keep_neighbours_together_where_that_is_cheap() {
        // Groups have ten LPs: 50 LPs in 2 parts are cut at 20 or 30, which is too far; 5 parts are cut at all
        // groups.
        let group = |lp: LpId| u8::from(lp.0.is_multiple_of(10));
        let cut = |lps, parts| Partition::between_neighbours(lps, parts, |_| 1, group).bounds;
        assert_eq!(cut(50, 2), [0, 25, 50]);
        assert_eq!(cut(50, 5), [0, 10, 20, 30, 40, 50]);
        assert_eq!(cut(210, 2), [0, 110, 210], "the second of two as near");
        assert_eq!(cut(206, 2), [0, 100, 206], "the nearer of two");
        assert_eq!(cut(3, 5), [0, 0, 1, 1, 2, 3]);
        assert_eq!(cut(0, 2), [0, 0, 0]);
    }

    #[test]
    fn equal_weights_make_equal_parts() {
        let partition = Partition::balanced(9, 3, |_| 5);
        assert_eq!(
            (0..3).map(|p| partition.range(p).len()).collect::<Vec<_>>(),
            [3, 3, 3]
        );
    }
}
