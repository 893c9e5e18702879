//! Ranks in random order, with as many on each host as `linear` puts there.

use super::Mapping;
use crate::setup::placement::shuffle;

pub(super) const KIND: Mapping = Mapping {
    name: "random",
    summary: "ranks in random order, ranks_per_host of them on each host",
    parameters: &[],
    seat: |_, crew| {
        let mut seating = crew.filled(|rank, per_host, _| rank / per_host)?;
        shuffle(&mut crew.random, &mut seating.hosts);
        Ok(seating)
    },
};
