//! The hosts of scheduled jobs: each job takes its hosts at its start, from those that are free then, so that free
//! hosts become fragmented as on a machine.

use std::collections::BTreeSet;

use topology::HostId;

use super::JobRequest;

/// The hosts of each job. `order` gives free hosts, in ascending order, in the order in which job `number` takes them.
/// Jobs that start at the same time take hosts in their order in `jobs`. `jobs` and `starts` are a valid schedule for
/// the number of `hosts`.
///
/// # Errors
/// Those of `order`.
///
/// # Panics
/// The jobs use more hosts at a time than there are, or `order` gives fewer hosts than are free.
pub fn allocate<E>(
    jobs: &[JobRequest],
    starts: &[u64],
    hosts: &[HostId],
    mut order: impl FnMut(usize, Vec<HostId>) -> Result<Vec<HostId>, E>,
) -> Result<Vec<Vec<HostId>>, E> {
    let mut by_start: Vec<usize> = (0..jobs.len()).collect();
    by_start.sort_by_key(|job| (starts[*job], *job));
    let mut free: BTreeSet<HostId> = hosts.iter().copied().collect();
    let mut ends: BTreeSet<(u64, usize)> = BTreeSet::new();
    let mut allocated = vec![Vec::new(); jobs.len()];
    for job in by_start {
        while let Some((end, ended)) = ends.first().copied()
            && end <= starts[job]
        {
            ends.pop_first();
            free.extend(allocated[ended].iter().copied());
        }
        let mut taken = order(job, free.iter().copied().collect())?;
        let needed = jobs[job].hosts as usize;
        assert!(taken.len() >= needed, "the schedule leaves enough hosts");
        taken.truncate(needed);
        for host in &taken {
            free.remove(host);
        }
        allocated[job] = taken;
        ends.insert((starts[job] + jobs[job].duration, job));
    }
    Ok(allocated)
}
