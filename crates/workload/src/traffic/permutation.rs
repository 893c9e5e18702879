//! Random permutation: each host sends to one other and receives from one other, drawn once per run.
//!
//! All permutations are equally likely (Fisher and Yates), including those with fixed points: on average, one
//! host is its own partner and silent. BookSim: `randperm`.

use super::PatternKind;
use super::pair::PartnerPattern;

pub(super) const KIND: PatternKind = PatternKind {
    name: "permutation",
    summary: "a random permutation of the hosts, drawn from the run's seed and the job's number",
    parameters: &[],
    example: "",
    build: |_, place| {
        let mut partners: Vec<u32> = (0..place.hosts).collect();
        for last in (1..partners.len()).rev() {
            let other = place.random.below(last as u64 + 1);
            partners.swap(last, other as usize);
        }
        let partners = partners.into_boxed_slice();
        Ok(Box::new(PartnerPattern(move |source: u32| {
            partners[source as usize]
        })))
    },
};

#[cfg(test)]
mod tests {
    use super::super::random::SplitMix;
    use super::super::test_support::{built, is_permutation, partners_of};

    fn drawn(seed: u64, hosts: u32) -> Vec<Option<u32>> {
        let pattern = built("permutation", "", hosts, None, &mut SplitMix(seed)).unwrap();
        partners_of(pattern.as_ref(), hosts)
    }

    #[test]
    fn seeds_give_different_permutations() {
        for seed in 0..20 {
            assert!(is_permutation(&drawn(seed, 1000)), "{seed}");
        }
        assert_ne!(drawn(1, 1000), drawn(2, 1000));
        assert_eq!(drawn(1, 1000), drawn(1, 1000));
    }

    /// Chi-square of the six permutations of three hosts; 99.9 % quantile with 5 degrees of freedom.
    #[test]
    fn all_permutations_are_equally_likely() {
        let mut counts = std::collections::BTreeMap::new();
        for seed in 0..6000 {
            *counts.entry(drawn(seed, 3)).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 6);
        let chi2: f64 = counts
            .values()
            .map(|n| (f64::from(*n) - 1000.0).powi(2) / 1000.0)
            .sum();
        assert!(chi2 < 20.52, "{chi2}");
    }
}
