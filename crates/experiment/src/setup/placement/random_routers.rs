//! Routers in random order, with all free hosts of each.

use super::{Placement, shuffle};

pub(super) const KIND: Placement = Placement {
    name: "random-routers",
    summary: "routers in random order, with all free hosts of each",
    parameters: &[],
    names_hosts: false,
    order: |_, site| {
        let mut routers = site.by_router();
        shuffle(&mut site.random, &mut routers);
        Ok(routers.concat())
    },
};
