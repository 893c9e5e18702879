//! Which thread owns which LPs.

use crate::LpId;

/// Which thread owns which LPs: contiguous ranges, so that a model that numbers neighbours
/// consecutively keeps them together. Of several processes, each has equally many threads and takes as many
/// consecutive parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// First LP of each part, and the number of LPs at the end; ascending.
    bounds: Vec<u32>,
}

impl Partition {
    /// Ranges with these borders: the first LP of each part, and at the end the number of LPs.
    ///
    /// # Panics
    /// If the first is not 0, or they descend.
    pub fn new(bounds: Vec<u32>) -> Partition {
        assert!(
            bounds.len() >= 2 && bounds[0] == 0 && bounds.is_sorted(),
            "{bounds:?} are no borders of parts"
        );
        Partition { bounds }
    }

    /// `parts` ranges with about the same sum of weights; `weight` gives each LP's expected share of
    /// the work.
    pub fn balanced(lps: u32, parts: usize, weight: impl Fn(LpId) -> u64) -> Partition {
        let total: u64 = (0..lps).map(|lp| weight(LpId(lp))).sum();
        let mut bounds = vec![0];
        let mut sum = 0;
        for lp in 0..lps {
            // The LP starts the next part once the parts before have their share.
            if bounds.len() < parts
                && u128::from(sum) * parts as u128 >= u128::from(total) * bounds.len() as u128
                && lp > 0
            {
                bounds.push(lp);
            }
            sum += weight(LpId(lp));
        }
        bounds.resize(parts, lps);
        bounds.push(lps);
        Partition { bounds }
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

#[cfg(test)]
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
    fn equal_weights_make_equal_parts() {
        let partition = Partition::balanced(9, 3, |_| 5);
        assert_eq!(
            (0..3).map(|p| partition.range(p).len()).collect::<Vec<_>>(),
            [3, 3, 3]
        );
    }
}
