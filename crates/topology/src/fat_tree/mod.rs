//! Fat tree of two or more levels: of routers of one radix, or with given ports of every level; optionally tapered
//! and partly filled.
//!
//! Sources: C. E. Leiserson, "Fat-trees", IEEE Trans. Computers C-34(10), 1985; S. R. Ohring, M. Ibel, S. K.
//! Das, M. J. Kumar, "On generalized fat trees", IPPS 1995 (XGFT), and E. Zahavi, "D-Mod-K routing providing
//! non-blocking traffic for shift permutations on real life fat trees", CCIT report 776, Technion 2010, for
//! parallel cables (PGFT): h; m_1..m_h; w_1..w_h; p_1..p_h. The three-level form of routers with one radix k
//! is that of M. Al-Fares, A. Loukissas, A. Vahdat, "A scalable, commodity data center network
//! architecture", SIGCOMM 2008: k pods of k/2 leaves and k/2 spines, (k/2)^2 cores, k^3/4 hosts at tapering
//! 1:1.
//!
//! The *tops* of a *subtree* of level l are all routers of level l above the same leaves; the subtree is everything
//! below them. A leaf is a subtree of level 0 with one top. A subtree of level l consists of m_l subtrees of level
//! l-1 and has w_l times as many tops as each of these. The t-th top of each of them is linked to the tops t*w_l ..
//! (t+1)*w_l by p_l parallel cables each. Two levels are leaves and spines. Three levels are pods of these, and
//! cores; the cores above the s-th spine of every pod form plane s. If the number of leaves is given, the last
//! subtree of a level has fewer leaves, but all its tops.
//!
//! Routers are numbered by level from the leaves, within a level by subtree, within a subtree by top. Ports of a
//! router: downward ports first (hosts; or the subtrees below, cable by cable), then upward ports (the tops above,
//! cable by cable); the rest of the radix is not wired.

mod ports;

use std::ops::Range;

use config::{Error, Section};

use crate::host_ports::HostPorts;
use crate::size::count;
use crate::{Divisor, HOST_LINK, HostId, Kind, LinkClass, Peer, Port, RouterId, Shape, Topology, Tree};
use ports::LevelConnection;

pub(crate) const KIND: Kind = Kind {
    name: "fat-tree",
    summary: "levels of routers of one radix or of given ports, tapered and partly filled as wished",
    parameters: ports::PARAMETERS,
    example: "radix = 4\n",
    build: |section| Ok(Box::new(FatTree::read(section)?)),
    sizing: Some(ports::SIZING),
};

/// A tree with 32-bit router numbers needs fewer levels.
const MOST_LEVELS: usize = 8;

#[derive(Debug)]
struct FatTree {
    hosts: u32,
    routers: u32,
    host_ports: HostPorts,
    levels: Vec<TreeLevel>,
    /// Ports of every router, wired or not, if all routers have the same number.
    radix: Option<u16>,
}

/// The routers of one level.
#[derive(Clone, Copy, Debug)]
struct TreeLevel {
    /// Number of the first router.
    first: u32,
    /// Number of subtrees.
    subtrees: u32,
    /// Tops of a subtree.
    tops: Divisor,
    /// Leaves of a subtree, unless it is the last one.
    leaves: Divisor,
    /// Subtrees of the level below in one of this, unless it is the last one; 1 at level 0.
    below: Divisor,
    /// Tops of this level above each top of the level below, w; 1 at level 0.
    spread: Divisor,
    /// Parallel cables to the level below, p; 1 at level 0.
    cables: Divisor,
    /// A host's number divided by this picks one of the cables.
    span: Divisor,
    down: u32,
    /// Number of upward ports; 0 at the top.
    up: u32,
}

/// The position of a router.
#[derive(Clone, Copy, PartialEq, Eq)]
struct TreeRouter {
    level: usize,
    subtree: u32,
    top: u32,
}

impl FatTree {
    fn read(section: &Section) -> Result<FatTree, Error> {
        let plan = ports::read(section)?;
        let bottom = TreeLevel {
            first: 0,
            subtrees: plan.leaves,
            tops: Divisor::new(1),
            leaves: Divisor::new(1),
            below: Divisor::new(1),
            spread: Divisor::new(1),
            cables: Divisor::new(1),
            span: Divisor::new(1),
            down: plan.hosts_per_leaf,
            up: 0,
        };
        let mut levels = vec![bottom];
        let (mut routers, mut leaves, mut tops, mut uplinks) = (u64::from(plan.leaves), 1u32, 1u32, 1u32);
        for LevelConnection {
            below,
            spread,
            cables,
        } in &plan.steps
        {
            leaves = leaves.saturating_mul(*below);
            let subtrees = plan.leaves.div_ceil(leaves);
            tops = count(section, plan.key, "routers above a leaf", &[tops, *spread])?;
            count(section, plan.key, "routers of a level", &[subtrees, tops])?;
            let lower = levels.last_mut().expect("there are leaves");
            lower.up = spread * cables;
            // Every host number divided by a divisor above 32 bits is 0, as it is by the greatest number.
            let span = uplinks.saturating_mul(*spread);
            uplinks = uplinks.saturating_mul(spread * cables);
            levels.push(TreeLevel {
                first: u32::try_from(routers).unwrap_or(u32::MAX),
                subtrees,
                tops: Divisor::new(tops),
                leaves: Divisor::new(leaves),
                below: Divisor::new(*below),
                spread: Divisor::new(*spread),
                cables: Divisor::new(*cables),
                span: Divisor::new(span),
                down: below * cables,
                up: 0,
            });
            routers += u64::from(subtrees) * u64::from(tops);
        }
        let too_many = |_| section.error(plan.key, format!("{routers} routers are too many"));
        Ok(FatTree {
            hosts: count(section, plan.key, "hosts", &[plan.leaves, plan.hosts_per_leaf])?,
            routers: u32::try_from(routers).map_err(too_many)?,
            host_ports: HostPorts::new(plan.hosts_per_leaf),
            levels,
            radix: plan.radix,
        })
    }

    /// The level of a router.
    #[inline]
    fn level_of(&self, router: RouterId) -> usize {
        let above_leaves = &self.levels[1..];
        above_leaves
            .iter()
            .take_while(|level| level.first <= router.0)
            .count()
    }

    #[inline]
    fn place(&self, router: RouterId) -> TreeRouter {
        let level = self.level_of(router);
        let TreeLevel { first, tops, .. } = self.levels[level];
        let (subtree, top) = tops.divide(router.0 - first);
        TreeRouter { level, subtree, top }
    }

    fn router(&self, place: TreeRouter) -> RouterId {
        let TreeLevel { first, tops, .. } = self.levels[place.level];
        RouterId(first + place.subtree * tops.get() + place.top)
    }

    /// The router below at a downward port, and its upward port. `None` if its subtree is not built.
    fn below(&self, place: TreeRouter, port: u32) -> Option<(TreeRouter, u32)> {
        let level = self.levels[place.level];
        let (cable, child) = level.below.divide(port);
        let subtree = place.subtree * level.below.get() + child;
        let (top, above) = level.spread.divide(place.top);
        let lower = place.level - 1;
        let below = TreeRouter {
            level: lower,
            subtree,
            top,
        };
        (subtree < self.levels[lower].subtrees).then(|| (below, cable * level.spread.get() + above))
    }

    /// The router above at an uplink, and its downward port.
    fn above(&self, place: TreeRouter, uplink: u32) -> (TreeRouter, u32) {
        let level = self.levels[place.level + 1];
        let (cable, above) = level.spread.divide(uplink);
        let (subtree, child) = level.below.divide(place.subtree);
        let above = TreeRouter {
            level: place.level + 1,
            subtree,
            top: place.top * level.spread.get() + above,
        };
        (above, cable * level.below.get() + child)
    }

    /// Names of the levels, where levels have names.
    fn level_name(&self, level: usize) -> Option<&'static str> {
        ["leaf", "spine", "core"]
            .get(level)
            .copied()
            .filter(|_| self.levels.len() <= 3)
    }
}

impl Topology for FatTree {
    fn hosts(&self) -> u32 {
        self.hosts
    }

    fn routers(&self) -> u32 {
        self.routers
    }

    fn ports(&self, router: RouterId) -> u16 {
        self.radix.unwrap_or_else(|| {
            let TreeLevel { down, up, .. } = self.levels[self.level_of(router)];
            (down + up) as u16
        })
    }

    fn peer(&self, router: RouterId, port: Port) -> Peer {
        let place = self.place(router);
        let TreeLevel { down, up, .. } = self.levels[place.level];
        if let Some(uplink) = u32::from(port.0).checked_sub(down) {
            if uplink >= up {
                return Peer::Unwired;
            }
            let (above, port) = self.above(place, uplink);
            return Peer::Router(self.router(above), Port(port as u16));
        }
        if place.level == 0 {
            return Peer::Host(HostId(router.0 * down + u32::from(port.0)));
        }
        match self.below(place, u32::from(port.0)) {
            Some((below, uplink)) => {
                let port = self.levels[below.level].down + uplink;
                Peer::Router(self.router(below), Port(port as u16))
            }
            None => Peer::Unwired,
        }
    }

    fn attachment(&self, host: HostId) -> (RouterId, Port) {
        self.host_ports.attachment(host)
    }

    /// An upward link replaces the position of a subtree in the next larger one by a choice of the tops above. A
    /// downward link does the reverse. So a path has to touch the lowest level at which both routers lie below each
    /// other's tops, and the highest level at which they are tops above the same top. It visits both in the order
    /// that is shorter.
    fn distance(&self, from: RouterId, to: RouterId) -> u32 {
        let (from, to) = (self.place(from), self.place(to));
        let (mut high, mut low) = (from.level.max(to.level), from.level.min(to.level));
        let subtree_at = |place: TreeRouter, level: usize| {
            let above = &self.levels[place.level + 1..=level];
            above
                .iter()
                .fold(place.subtree, |subtree, l| l.below.quotient(subtree))
        };
        while subtree_at(from, high) != subtree_at(to, high) {
            high += 1;
        }
        let top_at = |place: TreeRouter, level: usize| {
            let below = &self.levels[level + 1..=place.level];
            below
                .iter()
                .rev()
                .fold(place.top, |top, l| l.spread.quotient(top))
        };
        while top_at(from, low) != top_at(to, low) {
            low -= 1;
        }
        let up_first = (high - from.level) + (to.level - low);
        let down_first = (from.level - low) + (high - to.level);
        (high - low + up_first.min(down_first)) as u32
    }

    fn link_classes(&self) -> Vec<&str> {
        const CLASSES: &[&str] = &[
            "host", "level-1", "level-2", "level-3", "level-4", "level-5", "level-6", "level-7",
        ];
        match self.levels.len() {
            2 => vec!["host", "leaf-spine"],
            3 => vec!["host", "leaf-spine", "spine-core"],
            levels => CLASSES[..levels].to_vec(),
        }
    }

    fn link_class(&self, router: RouterId, port: Port) -> LinkClass {
        let level = self.level_of(router);
        let up = u32::from(port.0) >= self.levels[level].down;
        if level == 0 && !up {
            return HOST_LINK;
        }
        // Ports behind the downward ones of a top are not wired; any existing class is correct.
        let class = level + usize::from(up);
        LinkClass(class.min(self.levels.len() - 1) as u8)
    }

    fn coordinates(&self, router: RouterId) -> String {
        let TreeRouter { level, subtree, top } = self.place(router);
        match (self.levels.len(), level) {
            (2, 0) => format!("leaf {subtree}"),
            (2, _) => format!("spine {top}"),
            (3, 0) => {
                let (pod, leaf) = self.levels[1].below.divide(subtree);
                format!("pod {pod}, leaf {leaf}")
            }
            (3, 1) => format!("pod {subtree}, spine {top}"),
            (3, _) => {
                let (plane, core) = self.levels[2].spread.divide(top);
                format!("plane {plane}, core {core}")
            }
            _ => format!("level {level}, subtree {subtree}, router {top}"),
        }
    }

    fn describe(&self) -> String {
        let (leaf, spine) = (self.levels[0], self.levels[1]);
        let leaves = spine.below.get();
        let last = leaf.subtrees % leaves;
        let mut text = match self.levels.len() {
            2 => format!(
                "fat tree of {} leaves and {} spines",
                leaf.subtrees,
                spine.tops.get()
            ),
            3 => format!(
                "fat tree of {} pods of {leaves} leaves and {} spines, {} cores",
                spine.subtrees,
                spine.tops.get(),
                self.levels[2].tops.get()
            ),
            levels => {
                let routers: Vec<String> = self
                    .levels
                    .iter()
                    .map(|level| (level.subtrees * level.tops.get()).to_string())
                    .collect();
                format!("fat tree of {levels} levels of {} routers", routers.join(", "))
            }
        };
        text += &format!(", {} hosts and {} uplinks per leaf", leaf.down, leaf.up);
        if let Some(radix) = self.radix {
            text += &format!(", radix {radix}");
        }
        for (index, level) in self.levels.iter().enumerate().skip(1) {
            let cables = level.cables.get();
            match (self.level_name(index - 1), self.level_name(index)) {
                _ if cables == 1 => {}
                (Some(below), Some(above)) => text += &format!(", {cables} parallel {below}-{above} links"),
                _ => {
                    text += &format!(
                        ", {cables} parallel links between levels {} and {index}",
                        index - 1
                    )
                }
            }
        }
        if self.levels.len() == 3 && last != 0 {
            text += &format!(", {last} in the last pod");
        }
        text
    }

    fn shape(&self) -> Shape<'_> {
        Shape::Tree(self)
    }

    fn router_links(&self) -> u64 {
        let of_level = |level: &TreeLevel| {
            2 * u64::from(level.subtrees) * u64::from(level.tops.get()) * u64::from(level.up)
        };
        self.levels.iter().map(of_level).sum()
    }
}

impl Tree for FatTree {
    fn levels(&self) -> u32 {
        self.levels.len() as u32
    }

    fn level(&self, router: RouterId) -> u32 {
        self.level_of(router) as u32
    }

    fn up_ports(&self, router: RouterId) -> Range<u16> {
        // The number of the router in its level has no effect, so this needs no division.
        let TreeLevel { down, up, .. } = self.levels[self.level_of(router)];
        down as u16..(down + up) as u16
    }

    /// The host's number picks one of the parallel cables, as destination-mod-k routing picks uplinks. So hosts that
    /// are kept apart on the way up stay apart on the way down.
    fn down_port(&self, router: RouterId, host: HostId) -> Option<Port> {
        let (leaf, port) = self.host_ports.attachment(host);
        let index = self.level_of(router);
        if index == 0 {
            return (router == leaf).then_some(port);
        }
        let level = self.levels[index];
        let lower = self.levels[index - 1];
        let (subtree, child) = level.below.divide(lower.leaves.quotient(leaf.0));
        // All routers of the top level share its only subtree.
        let own = match index + 1 == self.levels.len() {
            true => 0,
            false => level.tops.quotient(router.0 - level.first),
        };
        let cable = level.cables.remainder(level.span.quotient(host.0));
        (own == subtree).then(|| Port((cable * level.below.get() + child) as u16))
    }
}
