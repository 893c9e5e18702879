//! Toy placement: hosts in the reverse order of their numbers.

use super::Placement;

pub(super) const KIND: Placement = Placement {
    name: "toy-backwards",
    summary: "hosts from the last to the first",
    parameters: &[],
    names_hosts: false,
    order: |_, site| Ok(site.free.iter().rev().copied().collect()),
};
