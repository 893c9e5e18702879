//! Consecutive ranks share a host.

use super::Mapping;

pub(super) const KIND: Mapping = Mapping {
    name: "linear",
    summary: "ranks_per_host consecutive ranks on each host; the default",
    parameters: &[],
    map: |_, request| request.filled(|rank, per_host, _| rank / per_host),
};
