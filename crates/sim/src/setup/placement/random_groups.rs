//! Groups in random order, all free hosts of one before those of the next. Groups are those of a dragonfly and
//! its kin, and in a tree what is below a router of the level under the top: the pods of a fat tree of three
//! levels, the leaves of one of two.

use super::{Placement, shuffle};

pub(super) const KIND: Placement = Placement {
    name: "random-groups",
    summary: "groups of a dragonfly, or pods of a tree, in random order, with all free hosts of each",
    parameters: &[],
    names_hosts: false,
    order: |section, site| {
        let mut groups = site.by_group(section, "")?;
        shuffle(&mut site.random, &mut groups);
        Ok(groups.concat())
    },
};
