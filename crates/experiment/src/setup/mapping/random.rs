//! Ranks in random order, with as many on each host as in `linear`.

use super::Mapping;
use crate::setup::placement::shuffle;

pub(super) const KIND: Mapping = Mapping {
    name: "random",
    summary: "ranks in random order, ranks_per_host of them on each host",
    parameters: &[],
    map: |_, request| {
        let mut mapping = request.filled(|rank, per_host, _| rank / per_host)?;
        shuffle(&mut request.random, &mut mapping.hosts);
        Ok(mapping)
    },
};
