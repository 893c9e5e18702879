//! The arrangement of the global links of groups: the far end of each global port.
//!
//! Source: J. Kim, W. J. Dally, S. Scott, D. Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA
//! 2008; names and patterns as in C. Camarero, E. Vallejo, R. Beivide, "Topological characterization of Hamming and
//! dragonfly networks and its implications on routing", ACM Trans. Architecture and Code Optimization 11(4), 2014.
//!
//! The P global ports of a group are counted over its routers (j = router * h + k if each router has h). With G
//! groups, the first floor(P / (G-1)) rounds of G-1 ports lead once to every other group:
//!
//! - `consecutive`: port i of a round leads to the i-th other group. With the greatest number of groups, P + 1,
//!   port j of group s leads to group j if j < s, else to j + 1;
//! - `palmtree`: to group s - (i + 1) modulo G;
//! - `random`: as `consecutive`, with the ports of every group shuffled by a permutation of its own. The routers
//!   that have the links between two groups are then random; the number of these links is not. The permutation is
//!   computed (see `shuffle.rs`), not stored.
//!
//! The i-th link between two groups uses the i-th round of both, so links are symmetric for any order within a
//! round. The remaining ports give one more link each to the groups at distance 1, -1, 2, -2, ... around the ring
//! of groups, which is symmetric too. An odd port joins opposite groups, or stays unwired if the number of groups
//! is odd too.
//!
//! Alternatively, the number of links between two groups is given. Routers then have the necessary global ports; if
//! these do not divide evenly, the first routers have one more.

use std::ops::Range;

use config::{Error, Parameter, Section, Type};

use crate::Divisor;
use crate::shuffle::Shuffle;
use crate::size::{count, nonzero, positive_or};

pub(crate) const GROUPS: Parameter = Parameter::computed(
    "groups",
    Type::Integer,
    "one more than the links of a group to others",
    "1 to the global ports of a group + 1; fewer groups have several links to each other",
);
pub(crate) const LINKS_BETWEEN_GROUPS: Parameter = Parameter::computed(
    "links_between_groups",
    Type::Integer,
    "from the links of a router",
    "links between any two groups, instead of the global links of a router",
);
pub(crate) const ARRANGEMENT: Parameter = Parameter::choice(
    "arrangement",
    &["consecutive", "palmtree", "random"],
    "which global port leads where: consecutive, palmtree or random",
);
pub(crate) const SEED: Parameter = Parameter::integer("seed", 1, "of arrangement random");

/// Number of link costs that [`GlobalLinks::nearest_by`] keeps: more than the links between two of ten groups of a
/// Cray XC.
const REMEMBERED: u32 = 128;

const SYMMETRIC: &str = "extra links lead both ways";

/// The global links of all groups. A router number counts the routers of its group that have global ports.
#[derive(Clone, Debug)]
pub(crate) struct GlobalLinks {
    groups: u32,
    /// The number of other groups, groups - 1, but at least 1.
    others: Divisor,
    /// Number of links that every pair of groups has at least.
    rounds: u32,
    /// Ports of a group that lead to nearby groups beyond the even rounds.
    extra: u32,
    order: GlobalLinkOrder,
    /// Whether the order is consecutive and all routers have equally many ports.
    is_plain: bool,
    /// Global ports of a group.
    ports: u32,
    /// Global ports of each of the first routers of a group.
    most: Divisor,
    /// The first port of the routers that have one port less.
    border: u32,
    /// The first router that has one port less.
    full: u32,
    /// Global ports of each router from `full` on.
    fewer: Divisor,
}

#[derive(Clone, Debug)]
enum GlobalLinkOrder {
    Consecutive,
    Palmtree,
    Random(Shuffle),
}

/// A router with global ports, by its group and its number in the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupMember {
    pub(crate) group: u32,
    pub(crate) router: u32,
}

/// Names of the routers with global ports in experiments and messages.
pub(crate) struct RouterNames {
    /// Plural of the routers, for example `"routers"`.
    pub(crate) routers: &'static str,
    /// Key of their number of ports, for example `"global_links_per_router"`.
    pub(crate) per_router: &'static str,
}

/// The links between two groups, seen from one router in each.
struct GroupPairLinks {
    /// Rounds that start at the router of the first group.
    at_from: Range<u32>,
    /// Rounds that end at the router of the second group.
    at_to: Range<u32>,
    /// Number of rounds.
    rounds: u32,
    /// The extra link, with index `rounds`, if there is one: whether it is at the first and at the second router.
    extra: Option<(bool, bool)>,
}

impl GlobalLinks {
    /// Reads the links of groups that have `routers` routers with global ports each.
    pub(crate) fn read(section: &Section, routers: u32, names: &RouterNames) -> Result<GlobalLinks, Error> {
        let per_router = section.optional::<u32>(names.per_router)?;
        let between = section.optional::<u32>(LINKS_BETWEEN_GROUPS.name)?;
        let (ports, groups, rounds, extra) = match (per_router, between) {
            (Some(_), Some(_)) => {
                let text = format!(
                    "is given already by {}; expected one or the other",
                    names.per_router
                );
                return Err(section.error(LINKS_BETWEEN_GROUPS.name, text));
            }
            (None, Some(_)) => read_between(section)?,
            (_, None) => read_per_router(section, routers, names)?,
        };
        let (full, most) = match (ports % routers, ports / routers) {
            (0, each) => (routers, each),
            (left, each) => (left, each + 1),
        };
        let order = read_order(section, ports)?;
        Ok(GlobalLinks {
            groups,
            others: Divisor::new((groups - 1).max(1)),
            rounds,
            extra,
            is_plain: full == routers && matches!(order, GlobalLinkOrder::Consecutive),
            order,
            ports,
            most: Divisor::new(most.max(1)),
            border: if full == routers { u32::MAX } else { full * most },
            full,
            fewer: Divisor::new(most.saturating_sub(1).max(1)),
        })
    }

    #[inline]
    pub(crate) fn groups(&self) -> u32 {
        self.groups
    }

    /// The largest number of global ports of a router.
    pub(crate) fn ports_of_router(&self) -> u32 {
        if self.ports == 0 { 0 } else { self.most.get() }
    }

    /// Global ports of a group that have a cable.
    pub(crate) fn wired(&self) -> u32 {
        self.rounds * (self.groups - 1) + self.extra
    }

    #[inline]
    pub(crate) fn links_between(&self, from: u32, to: u32) -> u32 {
        self.rounds + u32::from(self.extra > 0 && self.extra_port(from, to).is_some())
    }

    /// Whether any two groups have exactly one link.
    #[inline]
    pub(crate) fn is_single(&self) -> bool {
        self.rounds == 1 && self.extra == 0
    }

    /// The router of group `from` with the `index`-th link to group `to`, and which of its global ports that
    /// is.
    #[inline]
    pub(crate) fn gateway(&self, from: u32, to: u32, index: u32) -> (u32, u32) {
        // Most packets of most networks take this branch. The general case costs a fifth more.
        if self.is_plain && index < self.rounds {
            let position = if to < from { to } else { to - 1 };
            return self.most.divide(index * self.others.get() + position);
        }
        self.any_gateway(from, to, index)
    }

    #[inline(never)]
    fn any_gateway(&self, from: u32, to: u32, index: u32) -> (u32, u32) {
        self.router_of(self.port(from, to, index))
    }

    /// Destination of the `k`-th global port of a router: group, router in it, and its global port.
    pub(crate) fn across(&self, at: GroupMember, k: u32) -> Option<(GroupMember, u32)> {
        let ports = self.ports_at(at.router);
        if k >= ports.end - ports.start {
            return None;
        }
        let port = match &self.order {
            GlobalLinkOrder::Random(shuffle) => shuffle.backward(at.group, ports.start + k),
            _ => ports.start + k,
        };
        let (group, index) = self.lead(at.group, port)?;
        let (router, k) = self.gateway(group, at.group, index);
        Some((GroupMember { group, router }, k))
    }

    /// Position of group `of` among the groups other than `seen_from`, in the order of a round.
    #[inline]
    fn position(&self, seen_from: u32, of: u32) -> u32 {
        match self.order {
            GlobalLinkOrder::Palmtree if of < seen_from => seen_from - of - 1,
            GlobalLinkOrder::Palmtree => seen_from + (self.groups - of) - 1,
            _ if of < seen_from => of,
            _ => of - 1,
        }
    }

    /// The group at a position.
    fn at_position(&self, seen_from: u32, position: u32) -> u32 {
        match self.order {
            GlobalLinkOrder::Palmtree if position < seen_from => seen_from - position - 1,
            GlobalLinkOrder::Palmtree => seen_from + (self.groups - position) - 1,
            _ if position < seen_from => position,
            _ => position + 1,
        }
    }

    /// The port of group `from`, counted through the group, of a link to group `to`.
    #[inline]
    fn port(&self, from: u32, to: u32, index: u32) -> u32 {
        let port = if index < self.rounds {
            index * self.others.get() + self.position(from, to)
        } else {
            self.extra_port(from, to).expect("index < links_between")
        };
        match &self.order {
            GlobalLinkOrder::Random(shuffle) => shuffle.forward(from, port),
            _ => port,
        }
    }

    /// The port, before shuffling, of the extra link to group `to`.
    #[inline]
    fn extra_port(&self, from: u32, to: u32) -> Option<u32> {
        let ahead = if to > from {
            to - from
        } else {
            to + (self.groups - from)
        };
        let behind = self.groups - ahead;
        let first = self.rounds * (self.groups - 1);
        if ahead <= self.extra / 2 {
            Some(first + 2 * (ahead - 1))
        } else if behind <= self.extra / 2 {
            Some(first + 2 * (behind - 1) + 1)
        } else if ahead == behind && !self.extra.is_multiple_of(2) {
            Some(first + self.extra - 1)
        } else {
            None
        }
    }

    /// The group that a port, before shuffling, leads to, and which of the links to it that is.
    fn lead(&self, group: u32, port: u32) -> Option<(u32, u32)> {
        let even = self.rounds * (self.groups - 1);
        if port < even {
            let (round, position) = self.others.divide(port);
            return Some((self.at_position(group, position), round));
        }
        let extra = port - even;
        if extra >= self.extra {
            return None;
        }
        let (step, backwards) = (extra / 2 + 1, !extra.is_multiple_of(2));
        // The last port of an odd number joins opposite groups, where both directions are the same.
        let opposite = extra == self.extra - 1 && !self.extra.is_multiple_of(2);
        let ahead = match (opposite, backwards) {
            (true, _) => self.groups / 2,
            (false, true) => self.groups - step,
            (false, false) => step,
        };
        let to = if ahead >= self.groups - group {
            ahead - (self.groups - group)
        } else {
            group + ahead
        };
        Some((to, self.rounds))
    }

    /// Number of links from a group to the groups other than `to`.
    #[inline]
    pub(crate) fn links_elsewhere(&self, from: u32, to: u32) -> u32 {
        self.wired() - self.links_between(from, to)
    }

    /// The `index`-th of the links from a group to the groups other than `to`: the group it leads to, and which of the
    /// links to that group it is. They count by port before shuffling.
    pub(crate) fn link_elsewhere(&self, from: u32, to: u32, index: u32) -> (u32, u32) {
        let of_round = self.groups - 2;
        let port = match index.checked_sub(self.rounds * of_round) {
            None => {
                let (round, position) = (index / of_round, index % of_round);
                let skipped = u32::from(position >= self.position(from, to));
                round * self.others.get() + position + skipped
            }
            Some(extra) => {
                let port = self.rounds * self.others.get() + extra;
                let taken = self.extra_port(from, to);
                port + u32::from(taken.is_some_and(|taken| port >= taken))
            }
        };
        self.lead(from, port).expect("index < links_elsewhere")
    }

    /// The router that has a port, and which of its global ports it is.
    #[inline]
    fn router_of(&self, port: u32) -> (u32, u32) {
        if port < self.border {
            return self.most.divide(port);
        }
        let (router, k) = self.fewer.divide(port - self.border);
        (self.full + router, k)
    }

    /// The ports of a router.
    #[inline]
    fn ports_at(&self, router: u32) -> Range<u32> {
        if router < self.full {
            // With a single group there may be no port at all.
            let first = router * self.most.get();
            return first.min(self.ports)..(first + self.most.get()).min(self.ports);
        }
        // These routers have no port where the first routers have one.
        let each = self.most.get() - 1;
        let first = self.border + (router - self.full) * each;
        first..first + each
    }

    /// The rounds in which the group at `position` is reached from a router.
    fn rounds_at(&self, router: u32, position: u32) -> Range<u32> {
        let ports = self.ports_at(router);
        let first = ports.start.saturating_sub(position);
        let end = ports.end.saturating_sub(position);
        let (first, end) = (self.others.quotient_up(first), self.others.quotient_up(end));
        first.min(self.rounds)..end.min(self.rounds)
    }

    fn links(&self, from: GroupMember, to: GroupMember) -> GroupPairLinks {
        GroupPairLinks {
            at_from: self.rounds_at(from.router, self.position(from.group, to.group)),
            at_to: self.rounds_at(to.router, self.position(to.group, from.group)),
            rounds: self.rounds,
            extra: self.extra_port(from.group, to.group).map(|port| {
                let back = self.extra_port(to.group, from.group).expect(SYMMETRIC);
                (
                    self.router_of(port).0 == from.router,
                    self.router_of(back).0 == to.router,
                )
            }),
        }
    }

    /// For groups with all-to-all local links: a link between the groups of two routers with the fewest local links
    /// beside it, and the number of links of the path through it.
    #[inline]
    pub(crate) fn nearest(&self, from: GroupMember, to: GroupMember, draw: u32) -> (u32, u32) {
        let differ = |a: u32, b: u32| u8::from(a != b);
        let (index, local) = match self.order {
            GlobalLinkOrder::Random(_) => self.nearest_by(from.group, to.group, draw, |here, there| {
                differ(here, from.router) + differ(there, to.router)
            }),
            _ => self.links(from, to).choose(draw),
        };
        (index, local + 1)
    }

    /// A link between two groups with the least cost, and that cost. The routers at both ends define the cost. Visits
    /// every link once, and the links beyond the first [`REMEMBERED`] twice.
    #[inline]
    pub(crate) fn nearest_by(
        &self,
        from: u32,
        to: u32,
        draw: u32,
        cost: impl Fn(u32, u32) -> u8,
    ) -> (u32, u32) {
        let links = self.links_between(from, to);
        let cost = |index| cost(self.gateway(from, to, index).0, self.gateway(to, from, index).0);
        let mut costs = [0; REMEMBERED as usize];
        let (mut least, mut equal) = (u8::MAX, 0u32);
        for index in 0..links {
            let cost = cost(index);
            if let Some(remembered) = costs.get_mut(index as usize) {
                *remembered = cost;
            }
            match cost.cmp(&least) {
                std::cmp::Ordering::Less => (least, equal) = (cost, 1),
                std::cmp::Ordering::Equal => equal += 1,
                std::cmp::Ordering::Greater => {}
            }
        }
        let (chosen, _) = crate::pick(draw, equal);
        let remembered = |index: &u32| costs.get(*index as usize).copied();
        let mut of_least =
            (0..links).filter(|index| remembered(index).unwrap_or_else(|| cost(*index)) == least);
        let index = of_least.nth(chosen as usize);
        (
            index.expect("there is a link between every two groups"),
            u32::from(least),
        )
    }

    /// Description of the links between groups, with a leading comma.
    pub(crate) fn describe(&self) -> String {
        let mut text = String::new();
        let (least, most) = (self.rounds, self.rounds + u32::from(self.extra > 0));
        match (least, most) {
            (0, _) | (1, 1) => {}
            (_, _) if least == most => text += &format!(", {least} links between any two groups"),
            _ => text += &format!(", {least} or {most} links between any two groups"),
        }
        match self.order {
            GlobalLinkOrder::Consecutive => {}
            GlobalLinkOrder::Palmtree => text += ", global links palmtree",
            GlobalLinkOrder::Random(_) => text += ", global links random",
        }
        match self.ports - self.wired() {
            0 => {}
            1 => text += ", 1 global port of each group not wired",
            n => text += &format!(", {n} global ports of each group not wired"),
        }
        text
    }
}

/// Ports, groups, rounds and extra links for given ports of a router.
fn read_per_router(
    section: &Section,
    routers: u32,
    names: &RouterNames,
) -> Result<(u32, u32, u32, u32), Error> {
    let per_router = nonzero(section, names.per_router, section.required(names.per_router)?)?;
    let ports = count(
        section,
        names.per_router,
        "global ports of a group",
        &[routers, per_router],
    )?;
    let most = ports.saturating_add(1);
    let groups = positive_or(section, GROUPS.name, most)?;
    if groups > most {
        return Err(section.error(
            GROUPS.name,
            format!(
                "{groups} groups cannot all be linked: {routers} {} per group with {per_router} global links \
                 each reach {ports} other groups; expected 1 to {most}",
                names.routers
            ),
        ));
    }
    let (rounds, left) = match groups - 1 {
        0 => (0, 0),
        others => (ports / others, ports % others),
    };
    let pairs_up = left.is_multiple_of(2) || groups.is_multiple_of(2);
    let extra = if pairs_up { left } else { left - 1 };
    Ok((ports, groups, rounds, extra))
}

/// Ports, groups, rounds and extra links for a given number of links between two groups.
fn read_between(section: &Section) -> Result<(u32, u32, u32, u32), Error> {
    let between = nonzero(
        section,
        LINKS_BETWEEN_GROUPS.name,
        section.required(LINKS_BETWEEN_GROUPS.name)?,
    )?;
    let groups = section.optional::<u32>(GROUPS.name)?.ok_or_else(|| {
        let text = "missing; links_between_groups needs the number of groups beside it";
        section.error(GROUPS.name, text)
    })?;
    nonzero(section, GROUPS.name, groups)?;
    let ports = count(
        section,
        LINKS_BETWEEN_GROUPS.name,
        "global ports of a group",
        &[between, groups - 1],
    )?;
    Ok((ports, groups, if groups > 1 { between } else { 0 }, 0))
}

fn read_order(section: &Section, ports: u32) -> Result<GlobalLinkOrder, Error> {
    let name = section.choice(ARRANGEMENT.name)?;
    if name == "random" {
        let seed = section.get::<u64>(SEED.name)?;
        return Ok(GlobalLinkOrder::Random(Shuffle::new(seed, ports)));
    }
    if section.optional::<u64>(SEED.name)?.is_some() {
        let text = format!("is for arrangement = \"random\"; this one is {name}");
        return Err(section.error(SEED.name, text));
    }
    Ok(match name {
        "palmtree" => GlobalLinkOrder::Palmtree,
        _ => GlobalLinkOrder::Consecutive,
    })
}

impl GroupPairLinks {
    /// The `draw`-th link with the fewest local links beside it, and the number of these.
    fn choose(&self, draw: u32) -> (u32, u32) {
        let both = self.at_from.start.max(self.at_to.start)..self.at_from.end.min(self.at_to.end);
        let none = 0..0;
        let (near, far) = self.extra.unwrap_or((false, false));
        if !both.is_empty() || (near && far) {
            return (pick(draw, both, none, (near && far).then_some(self.rounds)), 0);
        }
        if !self.at_from.is_empty() || !self.at_to.is_empty() || near || far {
            let extra = (near || far).then_some(self.rounds);
            return (pick(draw, self.at_from.clone(), self.at_to.clone(), extra), 1);
        }
        let extra = self.extra.map(|_| self.rounds);
        (pick(draw, 0..self.rounds, none, extra), 2)
    }
}

/// Picks one of two ranges and a single number by scaling `draw` to their total length.
fn pick(draw: u32, first: Range<u32>, second: Range<u32>, single: Option<u32>) -> u32 {
    let total = (first.len() + second.len() + usize::from(single.is_some())) as u64;
    let index = ((u64::from(draw) * total) >> 32) as u32;
    let (first_len, second_len) = (first.len() as u32, second.len() as u32);
    if index < first_len {
        first.start + index
    } else if index < first_len + second_len {
        second.start + (index - first_len)
    } else {
        single.expect("there is a link between every two groups")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: RouterNames = RouterNames {
        routers: "routers",
        per_router: "global_links_per_router",
    };

    fn built(routers: u32, parameters: &str) -> GlobalLinks {
        let section = Section::from_toml(parameters, "x.toml").unwrap();
        section.declare(&[ARRANGEMENT, SEED]);
        GlobalLinks::read(&section, routers, &NAMES).unwrap()
    }

    /// Camarero et al.: port k of router r of group g leads to group g - (r h + k + 1), to the port that is as
    /// far from the last as this one is from the first.
    #[test]
    fn palmtree_is_that_of_the_paper() {
        let (a, h) = (4, 2);
        let wires = built(a, "global_links_per_router = 2\narrangement = \"palmtree\"");
        assert_eq!(wires.groups(), 9);
        for (group, router, k) in [(0, 0, 0), (5, 3, 1), (2, 1, 1), (8, 2, 0)] {
            let port = router * h + k;
            let to = (group + 9 - (port + 1)) % 9;
            let expected = GroupMember {
                group: to,
                router: a - 1 - router,
            };
            assert_eq!(
                wires.across(GroupMember { group, router }, k),
                Some((expected, h - 1 - k))
            );
        }
    }

    #[test]
    fn random_depends_on_the_seed() {
        let wires = |seed: u32| {
            let text = format!("global_links_per_router = 2\narrangement = \"random\"\nseed = {seed}");
            let wires = built(8, &text);
            let ends = (0..17).flat_map(|group| (0..8).map(move |router| GroupMember { group, router }));
            ends.map(|at| wires.across(at, 0)).collect::<Vec<_>>()
        };
        assert_eq!(wires(3), wires(3));
        assert_ne!(wires(3), wires(4));
        assert_ne!(wires(3), {
            let wires = built(8, "global_links_per_router = 2");
            let ends = (0..17).flat_map(|group| (0..8).map(move |router| GroupMember { group, router }));
            ends.map(|at| wires.across(at, 0)).collect::<Vec<_>>()
        });
    }

    #[test]
    fn links_to_third_groups_count_each_of_them_once() {
        for (routers, parameters) in [
            (4, "global_links_per_router = 2"),
            (4, "global_links_per_router = 3\narrangement = \"random\""),
            (2, "global_links_per_router = 1\ngroups = 3"),
            // One round and 6 extra links, which lead to groups at distance 1 to 3.
            (7, "global_links_per_router = 2\ngroups = 9"),
            // Three rounds and 3 extra links, of which one leads to the opposite group.
            (
                3,
                "global_links_per_router = 6\ngroups = 6\narrangement = \"palmtree\"",
            ),
            (
                3,
                "global_links_per_router = 6\ngroups = 6\narrangement = \"random\"",
            ),
            (5, "links_between_groups = 3\ngroups = 4"),
        ] {
            let links = built(routers, parameters);
            let groups = links.groups();
            for (from, to) in (0..groups).flat_map(|from| (0..groups).map(move |to| (from, to))) {
                if from == to {
                    continue;
                }
                let all = (0..groups).filter(|via| *via != from && *via != to);
                let all =
                    all.flat_map(|via| (0..links.links_between(from, via)).map(move |link| (via, link)));
                let mut expected: Vec<_> = all.collect();
                let count = links.links_elsewhere(from, to);
                let mut found: Vec<_> = (0..count)
                    .map(|index| links.link_elsewhere(from, to, index))
                    .collect();
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(found, expected, "{parameters}: {from} to {to}");
            }
        }
    }

    /// 21 links on 8 routers: five have three, three have two.
    #[test]
    fn routers_share_the_links_between_groups() {
        let wires = built(8, "links_between_groups = 3\ngroups = 8");
        let of_router = |router| {
            let wired = |k: &u32| wires.across(GroupMember { group: 2, router }, *k).is_some();
            (0..9).filter(wired).count()
        };
        assert_eq!(
            (0..8).map(of_router).collect::<Vec<_>>(),
            [3, 3, 3, 3, 3, 2, 2, 2]
        );
        assert_eq!(wires.ports_of_router(), 3);
        assert_eq!(wires.wired(), 21);
    }
}
