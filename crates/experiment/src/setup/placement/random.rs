//! Hosts in random order. All orders are equally likely.

use super::{Placement, shuffle};

pub(super) const KIND: Placement = Placement {
    name: "random",
    summary: "hosts in random order",
    parameters: &[],
    names_hosts: false,
    order: |_, site| {
        let mut hosts = site.free.clone();
        shuffle(&mut site.random, &mut hosts);
        Ok(hosts)
    },
};
