//! Groups in random order, with all free hosts of each. In a tree, a group is a subtree below the top level: a pod of a
//! fat tree of three levels, a leaf of one of two levels.

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
