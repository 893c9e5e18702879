//! Intermediate nodes and VCs of path segments in networks of groups.

use topology::{Divisor, Groups, RouterId, pick};

use super::own_links::OwnLinks;
use super::{AtSpine, Detours, INSIDE_GROUP, Intermediate};
use crate::RouteState;

/// The ends of a path with intermediate nodes between them.
#[derive(Clone, Copy)]
pub(crate) enum Ends {
    /// The groups of source and destination.
    Groups(u32, u32),
    /// A router whose packet may leave its minimal path, and the group of the destination. The nodes are in groups to
    /// which this router has links.
    Linked(RouterId, u32),
    /// The routers of source and destination, in one group.
    Routers(RouterId, RouterId),
}

/// An intermediate node.
#[derive(Clone, Copy)]
pub(crate) enum IntermediateNode {
    /// A router or a group, by [`Intermediate`], for packets to other groups; with a drawn link, which of the links to
    /// that group it is, else 0.
    Outside(u32, u16),
    /// The same, over a link of the deciding router.
    Linked(u32, u16),
    /// Another router of the group that is the source's and the destination's.
    Inside(RouterId),
    /// One in the group of an end, with which the path is minimal.
    AtAnEnd,
}

/// VC of the links to an intermediate router of the same group. No other packet waits for a local link of this VC: the
/// local links of a packet to another group come first on its path.
pub(super) const VC_INSIDE_GROUP: u8 = 0;

/// The state of a packet on its way to an intermediate router of the same group.
pub(super) fn towards_inside(via: RouterId) -> RouteState {
    RouteState {
        via: via.0,
        phase: INSIDE_GROUP,
        ..RouteState::default()
    }
}

/// Nodes and VCs that all rules for the choice among equal paths share.
pub(super) struct GroupNodes {
    pub(super) intermediate: Intermediate,
    pub(super) at_spine: AtSpine,
    groups: u32,
    /// Number of intermediate nodes in every group.
    nodes: u32,
    /// Number of intermediate nodes between two routers with hosts of one group.
    places_inside: u32,
    /// Number of routers with hosts in every group, if there are others.
    pub(super) leaves: Option<Divisor>,
    /// The links of routers that draw only among groups to which they have some.
    own: Option<OwnLinks>,
    /// First VC of the first segment.
    pub(super) first_vc: u8,
    /// First VC of the last segment.
    pub(super) last_vc: u8,
}

impl GroupNodes {
    pub(super) fn new(
        groups: &dyn Groups,
        intermediate: Intermediate,
        detours: Detours,
        retractable: bool,
    ) -> Self {
        let (routers, leaves) = (groups.routers_per_group(), groups.host_routers_per_group());
        let first_vc = u8::from(retractable);
        let (nodes, last_vc) = match intermediate {
            Intermediate::Router | Intermediate::AnyRouter | Intermediate::AnyGroup => (leaves, first_vc + 2),
            Intermediate::Group | Intermediate::GlobalLink => (1, first_vc + 1),
        };
        GroupNodes {
            intermediate,
            at_spine: detours.at_spine,
            groups: groups.groups(),
            nodes,
            places_inside: match detours.inside_groups {
                true => leaves.saturating_sub(2),
                false => 0,
            },
            own: detours.linked.then(|| OwnLinks::new(groups)),
            leaves: (leaves < routers).then(|| Divisor::new(leaves)),
            first_vc,
            last_vc,
        }
    }

    /// Whether packets inside a group have intermediate nodes.
    pub(super) fn has_places_inside(&self) -> bool {
        self.places_inside > 0
    }

    pub(super) fn has_hosts(&self, groups: &impl Groups, router: RouterId) -> bool {
        let of_group = groups.routers_per_group();
        self.leaves
            .is_none_or(|leaves| router.0 % of_group < leaves.get())
    }

    /// The VC on which packets go down from a spine of an intermediate group, and up again behind that.
    pub(super) fn down_first(&self) -> Option<u8> {
        self.intermediate.is_at_group().then_some(self.first_vc + 1)
    }

    /// The ends of a path from the router of a packet to its destination's router, if there are nodes between them.
    /// `under_way` tells whether the packet is on a minimal path that it may leave.
    #[inline]
    pub(super) fn ends(
        &self,
        groups: &impl Groups,
        (here, target): (RouterId, RouterId),
        under_way: bool,
    ) -> Option<Ends> {
        if under_way && self.own.is_some() {
            let ends = Ends::Linked(here, groups.group(target));
            return (self.count(groups, ends) > 0).then_some(ends);
        }
        let (from, to) = (groups.group(here), groups.group(target));
        let between = from != to && self.groups > 2;
        if between || self.intermediate == Intermediate::AnyRouter {
            return Some(Ends::Groups(from, to));
        }
        (from == to && self.places_inside > 0).then_some(Ends::Routers(here, target))
    }

    /// Number of nodes between two ends.
    #[inline]
    pub(super) fn count(&self, groups: &impl Groups, ends: Ends) -> u32 {
        match (ends, self.intermediate) {
            (Ends::Routers(..), _) => self.places_inside,
            (Ends::Linked(router, destination), _) => self.linked_places(router, destination),
            (_, Intermediate::AnyRouter | Intermediate::AnyGroup) => self.groups * self.nodes,
            (Ends::Groups(source, destination), Intermediate::GlobalLink) => {
                groups.links_elsewhere(source, destination)
            }
            _ => (self.groups - 2) * self.nodes,
        }
    }

    /// The `index`-th node between two ends.
    #[inline]
    pub(super) fn node(&self, groups: &impl Groups, index: u32, ends: Ends) -> IntermediateNode {
        match ends {
            Ends::Groups(source, destination) if self.intermediate == Intermediate::GlobalLink => {
                let (group, link) = groups.link_elsewhere(source, destination, index);
                IntermediateNode::Outside(group, link as u16)
            }
            Ends::Groups(source, destination)
                if self.intermediate == Intermediate::AnyGroup
                    && [source, destination].contains(&(index / self.nodes)) =>
            {
                IntermediateNode::AtAnEnd
            }
            Ends::Groups(source, destination) => {
                IntermediateNode::Outside(self.outside(groups, index, (source, destination)), 0)
            }
            Ends::Linked(router, destination) => self.linked_place(groups, index, router, destination),
            Ends::Routers(source, destination) => {
                IntermediateNode::Inside(inside(groups, index, source, destination))
            }
        }
    }

    fn own(&self) -> &OwnLinks {
        self.own
            .as_ref()
            .expect("ends are linked only with a table of links")
    }

    /// Number of nodes in groups to which a router has links, except the destination's: for `global-link` the links
    /// themselves.
    fn linked_places(&self, router: RouterId, destination: u32) -> u32 {
        let own = self.own();
        match self.intermediate {
            Intermediate::GlobalLink => {
                (own.links(router).len() - own.links_to(router, destination).len()) as u32
            }
            _ => {
                let groups = own.groups(router);
                (groups.len() - usize::from(groups.binary_search(&destination).is_ok())) as u32 * self.nodes
            }
        }
    }

    /// The `index`-th of these nodes.
    fn linked_place(
        &self,
        groups: &impl Groups,
        index: u32,
        router: RouterId,
        destination: u32,
    ) -> IntermediateNode {
        let own = self.own();
        if self.intermediate == Intermediate::GlobalLink {
            let links = own.links(router);
            let before = links.partition_point(|link| link.group < destination);
            let skipped = match (index as usize) < before {
                true => 0,
                false => own.links_to(router, destination).len(),
            };
            let link = links[index as usize + skipped];
            return IntermediateNode::Linked(link.group, link.index as u16);
        }
        let (group, rest) = ((index / self.nodes) as usize, index % self.nodes);
        let linked = own.groups(router);
        let skips = group >= linked.partition_point(|group| *group < destination)
            && linked.binary_search(&destination).is_ok();
        let group = linked[group + usize::from(skips)];
        match self.intermediate {
            Intermediate::Group => IntermediateNode::Linked(group, 0),
            // The routers with hosts are the first ones of a group.
            _ => IntermediateNode::Linked(group * groups.routers_per_group() + rest, 0),
        }
    }

    /// The group of an intermediate router or group.
    #[inline]
    pub(super) fn group_of(&self, groups: &impl Groups, via: u32) -> u32 {
        match self.intermediate.is_at_group() {
            true => via,
            false => groups.group(RouterId(via)),
        }
    }

    /// One of the links of a router to a group to which it has some, by any number.
    pub(super) fn own_link(&self, router: RouterId, group: u32, draw: u32) -> u32 {
        let links = self.own().links_to(router, group);
        links[pick(draw, links.len() as u32).0 as usize].index
    }

    /// The `index`-th node between two groups. The numbering skips these groups if they are excluded.
    #[inline]
    fn outside(&self, groups: &impl Groups, index: u32, (source, destination): (u32, u32)) -> u32 {
        let size = self.nodes;
        let (low, high) = (source.min(destination), source.max(destination));
        let without_high = if index >= low * size { index + size } else { index };
        let node = match self.intermediate {
            Intermediate::AnyRouter | Intermediate::AnyGroup => index,
            _ if without_high >= high * size => without_high + size,
            _ => without_high,
        };
        match (self.leaves, self.intermediate) {
            (Some(leaves), Intermediate::Router | Intermediate::AnyRouter | Intermediate::AnyGroup) => {
                let (group, leaf) = leaves.divide(node);
                group * groups.routers_per_group() + leaf
            }
            _ => node,
        }
    }
}

/// The `index`-th router with hosts of a group that is neither of these two.
fn inside(groups: &impl Groups, index: u32, source: RouterId, destination: RouterId) -> RouterId {
    let first = groups.group(source) * groups.routers_per_group();
    let (low, high) = (source.0.min(destination.0), source.0.max(destination.0));
    let without_high = first + index + u32::from(first + index >= low);
    RouterId(without_high + u32::from(without_high >= high))
}
