//! Shift: each host, router or group sends to the one at a fixed distance, cyclically.
//!
//! Between groups, to random hosts, it is the worst case of a dragonfly with minimal routing: all traffic of a
//! group crosses the few links to one other group (J. Kim, W. J. Dally, S. Scott, D. Abts, "Technology-driven,
//! highly-scalable dragonfly topology", ISCA 2008, "WC"; BookSim: `bad_dragon`, which is by = 1, unit =
//! "groups", to = "random").

use config::{Error, Section, parameters};

use super::block::HostBlock;
use super::{Pattern, PatternContext, PatternKind, TrafficRandom};

pub(super) const KIND: PatternKind = PatternKind {
    name: "shift",
    summary: "to the host, router or group at a fixed distance",
    parameters: parameters! {
        integer("by", 1, "how many further on; may be negative");
        choice("unit", &["hosts", "routers", "groups"], "unit of the distance");
        choice("to", &["same", "random"], "host of that router or group: the same position, or a random one");
    },
    example: "",
    build: |section, place| {
        let by: i64 = section.get("by")?;
        let unit = section.choice("unit")?;
        let random = section.choice("to")? == "random";
        let size = match unit {
            "hosts" => 1,
            "routers" => router_size(section, place)?,
            _ => group_size(section, place)?,
        };
        Ok(Box::new(Shift::new(
            section,
            "by",
            by,
            size,
            random,
            place.hosts,
        )?))
    },
};

/// Hosts of a router.
fn router_size(section: &Section, place: &PatternContext<'_>) -> Result<u32, Error> {
    let network = place.network(section, "the routers that hosts are on")?;
    network.hosts_per_router().ok_or_else(|| {
        let message = format!(
            "expected a network with as many hosts on each router that has any, and this is a {}",
            network.describe()
        );
        section.error("unit", message)
    })
}

/// Hosts of a group.
pub(super) fn group_size(section: &Section, place: &PatternContext<'_>) -> Result<u32, Error> {
    let network = place.network(section, "the groups of the network")?;
    network.hosts_per_group().ok_or_else(|| {
        let message = format!(
            "needs groups of equal size; expected a dragonfly or a tree, and this is a {}",
            network.describe()
        );
        section.error(if section.has("unit") { "unit" } else { "pattern" }, message)
    })
}

pub(super) struct Shift {
    /// Hosts of a unit.
    size: u32,
    /// Distance in host numbers, modulo `hosts`.
    distance: u32,
    /// Whether to any host of the unit instead of the one in the same position.
    random: bool,
}

impl Shift {
    /// A shift by units of `size` hosts; `key` names the parameter in errors.
    pub(super) fn new(
        section: &Section,
        key: &str,
        by: i64,
        size: u32,
        random: bool,
        hosts: u32,
    ) -> Result<Shift, Error> {
        let units = hosts / size;
        let by = by.rem_euclid(i64::from(units)) as u32;
        // To a random host, a shift by 0 is traffic within the router or group.
        if by == 0 && (!random || size == 1) {
            let message = format!(
                "leads each host to itself, as there are {units} to shift among; expected another number"
            );
            return Err(section.error(key, message));
        }
        Ok(Shift {
            size,
            distance: by * size,
            random,
        })
    }

    /// Whether each unit sends to itself.
    pub(super) fn is_within(&self) -> bool {
        self.distance == 0
    }

    fn moved(&self, source: u32, hosts: u32) -> u32 {
        // The sum may exceed 32 bits.
        let moved = u64::from(source) + u64::from(self.distance);
        (moved % u64::from(hosts)) as u32
    }
}

impl Pattern for Shift {
    fn destination(&self, source: u32, hosts: u32, _: u64, random: &mut dyn TrafficRandom) -> Option<u32> {
        let moved = self.moved(source, hosts);
        if self.random {
            HostBlock::around(moved, self.size).any_but(source, random)
        } else {
            Some(moved)
        }
    }

    fn shares(&self, source: u32, hosts: u32, each: &mut dyn FnMut(u32, f64)) {
        let moved = self.moved(source, hosts);
        if self.random {
            HostBlock::around(moved, self.size).shares(source, 1.0, each);
        } else {
            each(moved, 1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{FakeNetwork, check_shares, error, partners, partners_on, shares};

    #[test]
    fn hosts() {
        assert_eq!(partners("shift", "", 4), [1, 2, 3, 0].map(Some));
        assert_eq!(partners("shift", "by = -1", 4), [3, 0, 1, 2].map(Some));
        assert_eq!(partners("shift", "by = 6", 4), [2, 3, 0, 1].map(Some));
    }

    #[test]
    fn routers_and_groups() {
        let network = FakeNetwork::groups(3, 2, 2);
        let routers = partners_on("shift", "unit = \"routers\"", &network);
        assert_eq!(routers[..3], [Some(2), Some(3), Some(4)]);
        let groups = partners_on("shift", "unit = \"groups\", by = 2", &network);
        assert_eq!((groups[0], groups[11]), (Some(8), Some(7)));
    }

    #[test]
    fn a_random_host_of_the_next_group() {
        let network = FakeNetwork::groups(3, 2, 2);
        let pattern = network.built("shift", "unit = \"groups\", to = \"random\"");
        assert_eq!(
            shares(pattern.as_ref(), 9, 12),
            [(0, 0.25), (1, 0.25), (2, 0.25), (3, 0.25)]
        );
        check_shares(pattern.as_ref(), 12);
    }

    #[test]
    fn by_nothing_within_the_group() {
        let network = FakeNetwork::groups(3, 2, 2);
        let pattern = network.built("shift", "unit = \"groups\", to = \"random\", by = 0");
        let third = 1.0 / 3.0;
        assert_eq!(
            shares(pattern.as_ref(), 5, 12),
            [(4, third), (6, third), (7, third)]
        );
        check_shares(pattern.as_ref(), 12);
    }

    #[test]
    fn what_cannot_be() {
        assert!(error("shift", "by = 8", 4).contains("leads each host to itself"));
        assert!(error("shift", "unit = \"routers\"", 4).contains("needs the routers"));
        let torus = FakeNetwork::torus(&[4], 1);
        assert!(
            torus
                .error("shift", "unit = \"groups\"")
                .contains("expected a dragonfly or a tree")
        );
        assert!(
            torus
                .error("shift", "unit = \"group\"")
                .contains("did you mean 'groups'?")
        );
    }
}
