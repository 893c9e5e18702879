//! Hotspot: uniform traffic, of which an additional share goes to a few hosts.
//!
//! G. F. Pfister, V. A. Norton, "Hot spot contention and combining in multistage interconnection networks",
//! IEEE Trans. Computers C-34(10), 1985: a fraction h of all messages goes to the hot module, the rest is
//! uniform over all modules.

use super::block::HostBlock;
use super::targets::targets;
use super::{Pattern, PatternKind, TrafficRandom};
use config::{DefaultValue, Type, parameters};

/// Resolution of shares.
const STEPS: u64 = 1_000_000_000;

pub(super) const KIND: PatternKind = PatternKind {
    name: "hotspot",
    summary: "uniform, with a share of the messages for a few hosts on top (Pfister and Norton 1985)",
    parameters: parameters! {
        new("targets", Type::ONE_OR_EACH, DefaultValue::Integer(1),
            "the hot hosts: how many, spread evenly, or a list of their numbers in the job");
        number("share", 0.1,
            "share of each host's messages that is for the hot hosts on top of their uniform part, above 0 \
             to 1");
    },
    example: "",
    build: |section, place| {
        let targets = targets(section, place.hosts)?;
        let share: f64 = section.get("share")?;
        let steps = (share * STEPS as f64 + 0.5) as u64;
        if share > 1.0 || steps == 0 {
            let message = format!("{share} is out of range; expected a number above 0, at most 1");
            return Err(section.error("share", message));
        }
        Ok(Box::new(Hotspot { targets, steps }))
    },
};

struct Hotspot {
    /// Hot hosts in ascending order.
    targets: Box<[u32]>,
    /// Hot share in units of 1e-9.
    steps: u64,
}

impl Hotspot {
    /// Index of the source among the targets, and the number of its targets.
    fn choices(&self, source: u32) -> (Option<usize>, usize) {
        let own = self.targets.binary_search(&source).ok();
        (own, self.targets.len() - usize::from(own.is_some()))
    }
}

impl Pattern for Hotspot {
    fn destination(&self, source: u32, hosts: u32, _: u64, random: &mut dyn TrafficRandom) -> Option<u32> {
        let (own, choices) = self.choices(source);
        // The only hot host sends uniform traffic.
        if choices > 0 && random.below(STEPS) < self.steps {
            let choice = random.below(choices as u64) as usize;
            let skip = own.is_some_and(|own| choice >= own);
            return Some(self.targets[choice + usize::from(skip)]);
        }
        HostBlock {
            first: 0,
            size: hosts,
        }
        .any_but(source, random)
    }

    fn shares(&self, source: u32, hosts: u32, each: &mut dyn FnMut(u32, f64)) {
        let (_, choices) = self.choices(source);
        let hot = if choices > 0 {
            self.steps as f64 / STEPS as f64
        } else {
            0.0
        };
        let others = self.targets.iter().filter(|target| **target != source);
        others.for_each(|target| each(*target, hot / choices as f64));
        if hot < 1.0 {
            HostBlock {
                first: 0,
                size: hosts,
            }
            .shares(source, 1.0 - hot, each);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{check_shares, error, pattern, shares};

    #[test]
    fn the_hot_hosts_get_their_share_on_top() {
        let built = pattern("hotspot", "targets = [4, 1], share = 0.2", 11);
        let of_a_cold_host = shares(built.as_ref(), 0, 11);
        assert!(
            (of_a_cold_host[0].1 - (0.1 + 0.08)).abs() < 1e-12,
            "{of_a_cold_host:?}"
        );
        assert!((of_a_cold_host[1].1 - 0.08).abs() < 1e-12);
        let of_a_hot_host = shares(built.as_ref(), 1, 11);
        assert!(
            (of_a_hot_host[3].1 - (0.2 + 0.08)).abs() < 1e-12,
            "{of_a_hot_host:?}"
        );
        check_shares(built.as_ref(), 11);
    }

    #[test]
    fn a_number_of_hosts_is_spread_evenly() {
        let built = pattern("hotspot", "targets = 3, share = 1", 10);
        let to: Vec<u32> = shares(built.as_ref(), 9, 10)
            .iter()
            .map(|share| share.0)
            .collect();
        assert_eq!(to, [0, 3, 6]);
        check_shares(built.as_ref(), 10);
    }

    #[test]
    fn a_lone_hot_host_is_uniform_itself() {
        let built = pattern("hotspot", "share = 0.5", 5);
        assert_eq!(
            shares(built.as_ref(), 0, 5),
            [1, 2, 3, 4].map(|host| (host, 0.25))
        );
        check_shares(built.as_ref(), 5);
    }

    #[test]
    fn what_cannot_be() {
        for share in ["0.0", "1.1", "-0.5"] {
            assert!(error("hotspot", &format!("share = {share}"), 4).contains("at most 1"));
        }
        assert!(error("hotspot", "targets = 0", 4).contains("expected 1 to 4 hosts"));
        assert!(error("hotspot", "targets = 5", 4).contains("expected 1 to 4 hosts"));
        assert!(error("hotspot", "targets = []", 4).contains("the list is empty"));
        assert!(error("hotspot", "targets = [4]", 4).contains("there is no host 4; expected 0 to 3"));
        assert!(error("hotspot", "targets = [1, 1]", 4).contains("host 1 is named twice"));
    }
}
