//! The links of each router to other groups, and the groups behind them.

use std::ops::Range;

use topology::{Groups, RouterId};

/// A link of a router to another group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OwnLink {
    /// The group at its far end.
    pub(super) group: u32,
    /// Its index among the links between the two groups, as [`Groups::gateway`] takes it.
    pub(super) index: u32,
}

/// The links to other groups, by router.
pub(super) struct OwnLinks {
    /// By router: the first of its links.
    first_link: Vec<u32>,
    /// By router, then by group and index.
    links: Vec<OwnLink>,
    /// By router: the first of its groups.
    first_group: Vec<u32>,
    /// By router, in ascending order: the groups to which it has links.
    groups: Vec<u32>,
}

impl OwnLinks {
    pub(super) fn new(topology: &dyn Groups) -> OwnLinks {
        let groups = topology.groups();
        let mut of_routers = vec![Vec::new(); (groups * topology.routers_per_group()) as usize];
        for here in 0..groups {
            for there in (0..groups).filter(|there| *there != here) {
                for index in 0..topology.links_between(here, there) {
                    let RouterId(router) = topology.gateway(here, there, index).0;
                    of_routers[router as usize].push(OwnLink { group: there, index });
                }
            }
        }
        let mut own = OwnLinks {
            first_link: vec![0],
            links: Vec::new(),
            first_group: vec![0],
            groups: Vec::new(),
        };
        // The links of a router were found in ascending order of their groups.
        for links in of_routers {
            own.groups.extend(
                links
                    .chunk_by(|one, next| one.group == next.group)
                    .map(|to| to[0].group),
            );
            own.first_group.push(own.groups.len() as u32);
            own.links.extend(links);
            own.first_link.push(own.links.len() as u32);
        }
        own
    }

    /// The groups to which a router has links.
    #[inline]
    pub(super) fn groups(&self, router: RouterId) -> &[u32] {
        &self.groups[range(&self.first_group, router)]
    }

    /// The links of a router to all groups.
    #[inline]
    pub(super) fn links(&self, router: RouterId) -> &[OwnLink] {
        &self.links[range(&self.first_link, router)]
    }

    /// The links of a router to one group.
    pub(super) fn links_to(&self, router: RouterId, group: u32) -> &[OwnLink] {
        let links = self.links(router);
        let first = links.partition_point(|link| link.group < group);
        let end = links.partition_point(|link| link.group <= group);
        &links[first..end]
    }
}

#[inline]
fn range(first: &[u32], router: RouterId) -> Range<usize> {
    let RouterId(router) = router;
    first[router as usize] as usize..first[router as usize + 1] as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::Section;
    use topology::{Peer, Port, Shape, Topology};

    /// Every port to another group is one link of the table, and the table has no others.
    fn check(toml: &str) {
        let topology: Box<dyn Topology> =
            topology::build(&Section::from_toml(toml, "x.toml").unwrap()).unwrap();
        let Shape::Groups(groups) = topology.shape() else {
            panic!("a network of groups")
        };
        let own = OwnLinks::new(groups);
        for router in (0..topology.routers()).map(RouterId) {
            let here = groups.group(router);
            let mut far: Vec<u32> = (0..topology.ports(router))
                .filter_map(|port| match topology.peer(router, Port(port)) {
                    Peer::Router(next, _) => Some(groups.group(next)),
                    _ => None,
                })
                .filter(|group| *group != here)
                .collect();
            far.sort_unstable();
            let listed: Vec<u32> = own.links(router).iter().map(|link| link.group).collect();
            assert_eq!(listed, far, "{toml}: {router:?}");
            far.dedup();
            assert_eq!(own.groups(router), far, "{toml}: {router:?}");
            let mut to_groups = 0;
            for group in far {
                for link in own.links_to(router, group) {
                    assert_eq!(groups.gateway(here, group, link.index).0, router);
                    to_groups += 1;
                }
            }
            assert_eq!(to_groups, own.links(router).len());
            assert!(own.links_to(router, here).is_empty());
        }
    }

    #[test]
    fn the_table_has_all_links_to_other_groups() {
        check(
            "kind = \"dragonfly\"\nhosts_per_router = 1\nrouters_per_group = 4\nglobal_links_per_router = 2",
        );
        // Two links between some pairs of groups, at one router or at two.
        check(
            "kind = \"dragonfly\"\nhosts_per_router = 1\nrouters_per_group = 2\nglobal_links_per_router = 4\ngroups = 4",
        );
        check(
            "kind = \"dragonfly-plus\"\nhosts_per_leaf = 1\nleaves_per_group = 3\nspines_per_group = 2\ngroups = 3\nlinks_between_groups = 2",
        );
    }
}
