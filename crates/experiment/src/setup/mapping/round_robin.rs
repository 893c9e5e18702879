//! Ranks on the hosts in turn (`--distribution=cyclic` of Slurm).

use super::Mapping;

pub(super) const KIND: Mapping = Mapping {
    name: "round-robin",
    summary: "rank i on host i mod n, of the n hosts that ranks_per_host makes necessary",
    parameters: &[],
    map: |_, request| request.filled(|rank, _, hosts| rank % hosts),
};
