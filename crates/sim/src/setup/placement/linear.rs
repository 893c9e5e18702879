//! Hosts by their numbers: the ranks of a job sit as close together as hosts are free.

use super::Placement;

pub(super) const KIND: Placement = Placement {
    name: "linear",
    summary: "hosts in the order of their numbers; the default",
    parameters: &[],
    names_hosts: false,
    order: |_, site| Ok(site.free.clone()),
};
