//! Uniform random traffic.

use super::{Kind, Pattern, Random};

pub(super) const KIND: Kind<dyn Pattern> = Kind {
    name: "uniform",
    summary: "each packet to a host chosen at random, all with the same probability",
    parameters: &[(
        "include_self",
        "whether a host may choose itself, as in BookSim (default: false)",
    )],
    build: |section| {
        let include_self = section.or("include_self", false)?;
        Ok(Box::new(Uniform { include_self }))
    },
};

struct Uniform {
    include_self: bool,
}

impl Pattern for Uniform {
    fn destination(&self, source: u32, hosts: u32, random: &mut dyn Random) -> u32 {
        if self.include_self {
            return random.below(hosts.into()) as u32;
        }
        if hosts < 2 {
            // A lone host has nobody else.
            return source;
        }
        // The others are numbered without a gap: skip the source.
        let other = random.below(u64::from(hosts) - 1) as u32;
        other + u32::from(other >= source)
    }

    fn shares(&self, source: u32, hosts: u32, each: &mut dyn FnMut(u32, f64)) {
        if hosts < 2 {
            return each(source, 1.0);
        }
        let choices = if self.include_self { hosts } else { hosts - 1 };
        for host in (0..hosts).filter(|host| self.include_self || *host != source) {
            each(host, 1.0 / f64::from(choices));
        }
    }

    fn is_uniform(&self) -> Option<bool> {
        Some(self.include_self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::tests::{Script, SplitMix};
    use super::*;

    const HOSTS: u32 = 17;

    fn chi2(include_self: bool, source: u32) -> (f64, u32) {
        let pattern = Uniform { include_self };
        let (mut counts, mut random, n) = ([0u32; HOSTS as usize], SplitMix(11), 160_000);
        for _ in 0..n {
            counts[pattern.destination(source, HOSTS, &mut random) as usize] += 1;
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
    fn a_lone_host_sends_to_itself() {
        assert_eq!(
            Uniform { include_self: false }.destination(0, 1, &mut Script(vec![])),
            0
        );
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
        let pattern = Uniform { include_self: false };
        assert_eq!(pattern.destination(5, 10, &mut Script(vec![1 << 62])), 2);
        assert_eq!(pattern.destination(0, 10, &mut Script(vec![1])), 1);
        assert_eq!(pattern.destination(9, 10, &mut Script(vec![u64::MAX])), 8);
        assert_eq!(pattern.destination(3, 10, &mut Script(vec![u64::MAX])), 9);
    }

    #[test]
    fn shares_are_what_is_drawn_from() {
        for (include_self, source, hosts, choices) in
            [(false, 3, HOSTS, 16), (true, 3, HOSTS, 17), (false, 0, 1, 1)]
        {
            let pattern = Uniform { include_self };
            let mut found = Vec::new();
            pattern.shares(source, hosts, &mut |host, share| found.push((host, share)));
            let expected = (0..hosts).filter(|host| include_self || *host != source || hosts == 1);
            let expected: Vec<(u32, f64)> = expected.map(|host| (host, 1.0 / f64::from(choices))).collect();
            assert_eq!(found, expected);
            assert_eq!(pattern.is_uniform(), Some(include_self));
        }
    }
}
