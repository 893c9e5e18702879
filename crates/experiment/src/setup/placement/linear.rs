//! Hosts by ascending number: the ranks of a job are as close together as free hosts permit.

use super::Placement;

pub(super) const KIND: Placement = Placement {
    name: "linear",
    summary: "hosts in the order of their numbers; the default",
    parameters: &[],
    names_hosts: false,
    order: |_, site| Ok(site.free.clone()),
};
