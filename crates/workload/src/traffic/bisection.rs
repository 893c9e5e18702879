//! Bisection: each host of one half of the host numbers exchanges with its partner in the other half.
//!
//! Dividing host numbers in the middle divides a grid of even size in its last dimension, and an even number of
//! groups, where they have the fewest links.

use super::PatternKind;
use super::pair::PartnerPattern;

pub(super) const KIND: PatternKind = PatternKind {
    name: "bisection",
    summary: "each host of one half to its partner in the other half; an even number of hosts",
    parameters: &[],
    example: "",
    build: |section, place| {
        let (hosts, half) = (place.hosts, place.hosts / 2);
        if hosts % 2 != 0 {
            let message = format!(
                "pairs two halves of the hosts; expected an even number of them, and the job has {hosts}"
            );
            return Err(section.error("pattern", message));
        }
        let partner = move |source| {
            if source < half {
                source + half
            } else {
                source - half
            }
        };
        Ok(Box::new(PartnerPattern(partner)))
    },
};

#[cfg(test)]
mod tests {
    use super::super::test_support::{error, partners};

    #[test]
    fn six_hosts() {
        assert_eq!(partners("bisection", "", 6), [3, 4, 5, 0, 1, 2].map(Some));
    }

    #[test]
    fn odd_numbers_are_refused() {
        assert!(error("bisection", "", 9).contains("an even number of them, and the job has 9"));
    }
}
