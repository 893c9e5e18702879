//! Uniform random traffic.

use super::block::HostBlock;
use super::{Pattern, PatternKind, TrafficRandom};
use config::parameters;

pub(super) const KIND: PatternKind = PatternKind {
    name: "uniform",
    summary: "each message to a host chosen at random, all with the same probability",
    parameters: parameters! {
        flag("include_self", false, "whether a host may choose itself, as in BookSim");
    },
    example: "",
    build: |section, _| {
        let include_self = section.get("include_self")?;
        Ok(Box::new(UniformPattern { include_self }))
    },
};

struct UniformPattern {
    include_self: bool,
}

impl Pattern for UniformPattern {
    fn destination(&self, source: u32, hosts: u32, _: u64, random: &mut dyn TrafficRandom) -> Option<u32> {
        if self.include_self {
            return Some(random.below(hosts.into()) as u32);
        }
        let all = HostBlock {
            first: 0,
            size: hosts,
        };
        all.any_but(source, random)
    }

    fn shares(&self, source: u32, hosts: u32, each: &mut dyn FnMut(u32, f64)) {
        if self.include_self {
            return (0..hosts).for_each(|host| each(host, 1.0 / f64::from(hosts)));
        }
        let all = HostBlock {
            first: 0,
            size: hosts,
        };
        all.shares(source, 1.0, each);
    }

    fn is_uniform(&self) -> Option<bool> {
        Some(self.include_self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::{SplitMix, tests::ScriptedRandom};
    use super::*;

    const HOSTS: u32 = 17;

    fn chi2(include_self: bool, source: u32) -> (f64, u32) {
        let pattern = UniformPattern { include_self };
        let (mut counts, mut random, n) = ([0u32; HOSTS as usize], SplitMix(11), 160_000);
        for _ in 0..n {
            counts[pattern.destination(source, HOSTS, 0, &mut random).unwrap() as usize] += 1;
        }
        let own = counts[source as usize];
        let cells = if include_self { HOSTS } else { HOSTS - 1 };
        let expected = f64::from(n) / f64::from(cells);
        let term = |(host, count): (usize, &u32)| {
            let counts_here = include_self || host != source as usize;
            if counts_here {
                (f64::from(*count) - expected).powi(2) / expected
            } else {
                0.0
            }
        };
        (counts.iter().enumerate().map(term).sum(), own)
    }

    #[test]
    fn a_lone_host_is_silent() {
        let pattern = UniformPattern { include_self: false };
        assert_eq!(pattern.destination(0, 1, 0, &mut ScriptedRandom(vec![])), None);
        pattern.shares(0, 1, &mut |_, _| panic!("a share of a lone host"));
    }

    #[test]
    fn all_others_are_equally_likely_and_the_source_never_chosen() {
        for source in [0, 8, HOSTS - 1] {
            let (chi2, own) = chi2(false, source);
            // 99.9 % quantile, 15 degrees of freedom.
            assert!(chi2 < 37.70 && own == 0, "{source}: {chi2}, {own}");
        }
    }

    #[test]
    fn with_itself_all_are_equally_likely() {
        let (chi2, own) = chi2(true, 3);
        // 99.9 % quantile, 16 degrees of freedom.
        assert!(chi2 < 39.25 && own > 0, "{chi2}, {own}");
    }

    #[test]
    fn first_and_last_host_are_reached() {
        let pattern = UniformPattern { include_self: false };
        let chosen = |source, drawn| pattern.destination(source, 10, 0, &mut ScriptedRandom(vec![drawn]));
        assert_eq!(chosen(5, 1 << 62), Some(2));
        assert_eq!(chosen(0, 1), Some(1));
        assert_eq!(chosen(9, u64::MAX), Some(8));
        assert_eq!(chosen(3, u64::MAX), Some(9));
    }

    #[test]
    fn shares_are_what_is_drawn_from() {
        for (include_self, source, hosts, choices) in
            [(false, 3, HOSTS, 16), (true, 3, HOSTS, 17), (false, 0, 1, 1)]
        {
            let pattern = UniformPattern { include_self };
            let mut found = Vec::new();
            pattern.shares(source, hosts, &mut |host, share| found.push((host, share)));
            // A single host is silent.
            let expected = (0..hosts).filter(|host| include_self || *host != source);
            let expected: Vec<(u32, f64)> = expected.map(|host| (host, 1.0 / f64::from(choices))).collect();
            assert_eq!(found, expected);
            assert_eq!(pattern.is_uniform(), Some(include_self));
        }
    }
}
