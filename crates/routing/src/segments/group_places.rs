//! Intermediate places and VCs of path segments in networks of groups.

use topology::{Divisor, Groups, RouterId};

use super::Intermediate;

/// Places and VCs that all rules for the choice among equal paths share.
pub(super) struct GroupPlaces {
    pub(super) intermediate: Intermediate,
    groups: u32,
    /// Number of intermediate places in every group.
    places: u32,
    /// Number of routers with hosts in every group, if there are others.
    pub(super) leaves: Option<Divisor>,
    /// First VC of the first segment.
    pub(super) first_vc: u8,
    /// First VC of the last segment.
    pub(super) last_vc: u8,
}

impl GroupPlaces {
    pub(super) fn new(groups: &dyn Groups, intermediate: Intermediate, retractable: bool) -> Self {
        let (routers, leaves) = (groups.routers_per_group(), groups.host_routers_per_group());
        let first_vc = u8::from(retractable);
        let (places, last_vc) = match intermediate {
            Intermediate::Router | Intermediate::AnyRouter => (leaves, first_vc + 2),
            Intermediate::Group => (1, first_vc + 1),
        };
        GroupPlaces {
            intermediate,
            groups: groups.groups(),
            places,
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

    /// The groups of source and destination, if there are places between them.
    #[inline]
    pub(super) fn ends(&self, groups: &impl Groups, here: RouterId, target: RouterId) -> Option<(u32, u32)> {
        let ends = (groups.group(here), groups.group(target));
        let between = ends.0 != ends.1 && self.groups > 2;
        (between || self.intermediate == Intermediate::AnyRouter).then_some(ends)
    }

    /// Number of places between two groups.
    #[inline]
    pub(super) fn count(&self) -> u32 {
        let groups = match self.intermediate {
            Intermediate::AnyRouter => self.groups,
            _ => self.groups - 2,
        };
        groups * self.places
    }

    /// The `index`-th place between two groups. The numbering skips these groups if they are excluded.
    #[inline]
    pub(super) fn place(&self, groups: &impl Groups, index: u32, (source, destination): (u32, u32)) -> u32 {
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
