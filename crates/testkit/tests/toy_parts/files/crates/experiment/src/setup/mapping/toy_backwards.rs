//! Toy mapping: the last rank sits on the first host.

use super::Mapping;

pub(super) const KIND: Mapping = Mapping {
    name: "toy-backwards",
    summary: "ranks from the last to the first, ranks_per_host on each host",
    parameters: &[],
    map: |_, request| request.filled(|rank, per_host, hosts| hosts - 1 - rank / per_host),
};
