//! Intermediate places and VCs of path segments in networks of groups.

use topology::{Divisor, Groups, RouterId};

use super::{INSIDE_GROUP, Intermediate};
use crate::RouteState;

/// The ends of a path with intermediate places between them.
#[derive(Clone, Copy)]
pub(crate) enum Ends {
    /// The groups of source and destination.
    Groups(u32, u32),
    /// The routers of source and destination, in one group.
    Routers(RouterId, RouterId),
}

/// An intermediate place.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// A router or a group, by [`Intermediate`], for packets to other groups; with a drawn link, which of the links to
    /// that group it is, else 0.
    Outside(u32, u16),
    /// Another router of the group that is the source's and the destination's.
    Inside(RouterId),
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

/// Places and VCs that all rules for the choice among equal paths share.
pub(super) struct GroupPlaces {
    pub(super) intermediate: Intermediate,
    groups: u32,
    /// Number of intermediate places in every group.
    places: u32,
    /// Number of intermediate places between two routers with hosts of one group.
    places_inside: u32,
    /// Number of routers with hosts in every group, if there are others.
    pub(super) leaves: Option<Divisor>,
    /// First VC of the first segment.
    pub(super) first_vc: u8,
    /// First VC of the last segment.
    pub(super) last_vc: u8,
}

impl GroupPlaces {
    /// `local_detours` tells whether packets inside a group have intermediate places.
    pub(super) fn new(
        groups: &dyn Groups,
        intermediate: Intermediate,
        local_detours: bool,
        retractable: bool,
    ) -> Self {
        let (routers, leaves) = (groups.routers_per_group(), groups.host_routers_per_group());
        let first_vc = u8::from(retractable);
        let (places, last_vc) = match intermediate {
            Intermediate::Router | Intermediate::AnyRouter => (leaves, first_vc + 2),
            Intermediate::Group | Intermediate::GlobalLink => (1, first_vc + 1),
        };
        GroupPlaces {
            intermediate,
            groups: groups.groups(),
            places,
            places_inside: match local_detours {
                true => leaves.saturating_sub(2),
                false => 0,
            },
            leaves: (leaves < routers).then(|| Divisor::new(leaves)),
            first_vc,
            last_vc,
        }
    }

    pub(super) fn has_hosts(&self, groups: &impl Groups, router: RouterId) -> bool {
        let of_group = groups.routers_per_group();
        self.leaves
            .is_none_or(|leaves| router.0 % of_group < leaves.get())
    }

    /// The ends of a path from the router of a packet to its destination's router, if there are places between them.
    #[inline]
    pub(super) fn ends(&self, groups: &impl Groups, here: RouterId, target: RouterId) -> Option<Ends> {
        let (from, to) = (groups.group(here), groups.group(target));
        let between = from != to && self.groups > 2;
        if between || self.intermediate == Intermediate::AnyRouter {
            return Some(Ends::Groups(from, to));
        }
        (from == to && self.places_inside > 0).then_some(Ends::Routers(here, target))
    }

    /// Number of places between two ends.
    #[inline]
    pub(super) fn count(&self, groups: &impl Groups, ends: Ends) -> u32 {
        match (ends, self.intermediate) {
            (Ends::Routers(..), _) => self.places_inside,
            (_, Intermediate::AnyRouter) => self.groups * self.places,
            (Ends::Groups(source, destination), Intermediate::GlobalLink) => {
                groups.links_elsewhere(source, destination)
            }
            _ => (self.groups - 2) * self.places,
        }
    }

    /// The `index`-th place between two ends.
    #[inline]
    pub(super) fn place(&self, groups: &impl Groups, index: u32, ends: Ends) -> Place {
        match ends {
            Ends::Groups(source, destination) if self.intermediate == Intermediate::GlobalLink => {
                let (group, link) = groups.link_elsewhere(source, destination, index);
                Place::Outside(group, link as u16)
            }
            Ends::Groups(source, destination) => {
                Place::Outside(self.outside(groups, index, (source, destination)), 0)
            }
            Ends::Routers(source, destination) => Place::Inside(inside(groups, index, source, destination)),
        }
    }

    /// The `index`-th place between two groups. The numbering skips these groups if they are excluded.
    #[inline]
    fn outside(&self, groups: &impl Groups, index: u32, (source, destination): (u32, u32)) -> u32 {
        let size = self.places;
        let (low, high) = (source.min(destination), source.max(destination));
        let without_high = if index >= low * size { index + size } else { index };
        let place = match self.intermediate {
            Intermediate::AnyRouter => index,
            _ if without_high >= high * size => without_high + size,
            _ => without_high,
        };
        match (self.leaves, self.intermediate) {
            (Some(leaves), Intermediate::Router | Intermediate::AnyRouter) => {
                let (group, leaf) = leaves.divide(place);
                group * groups.routers_per_group() + leaf
            }
            _ => place,
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
