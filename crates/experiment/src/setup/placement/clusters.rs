//! Clusters of consecutive hosts at random positions: between `linear`, with all hosts in one cluster, and `random`,
//! with clusters of one host.
//!
//! Free hosts are divided from the front into clusters of `size` consecutive numbers. Clusters of full size come first,
//! in random order. Shorter clusters between other jobs come last, also in random order.

use config::{Type, parameters};
use topology::HostId;

use super::{Placement, shuffle};

pub(super) const KIND: Placement = Placement {
    name: "clusters",
    summary: "runs of consecutive hosts at random places",
    parameters: parameters! {
        required("size", Type::Integer, "hosts of each run");
    },
    names_hosts: false,
    order: |section, site| {
        let size: u32 = section.required("size")?;
        if size == 0 {
            return Err(section.error("size", "0 is out of range; expected at least 1"));
        }
        let (mut full, mut short): (Vec<_>, Vec<_>) = clusters(&site.free, size as usize)
            .into_iter()
            .partition(|cluster| cluster.len() == size as usize);
        shuffle(&mut site.random, &mut full);
        shuffle(&mut site.random, &mut short);
        Ok(full.into_iter().chain(short).flatten().copied().collect())
    },
};

/// Clusters of consecutive numbers, of at most `size` hosts.
fn clusters(hosts: &[HostId], size: usize) -> Vec<&[HostId]> {
    hosts
        .chunk_by(|before, host| before.0 + 1 == host.0)
        .flat_map(|cluster| cluster.chunks(size))
        .collect()
}
