//! Which jobs of ranks have which hosts, and when. Jobs whose lifetimes do not overlap may have the same hosts.

use topology::HostId;

use crate::setup::lifetime::Lifetime;

/// Largest number of ranks of all jobs that one host has over time: the number of rank slots of a host.
const MOST_RANKS: u32 = 1 << 16;

/// The jobs of ranks of all hosts, as they are placed.
pub struct Occupancy {
    /// By host.
    hosts: Vec<Occupants>,
}

/// The jobs of one host, in the order in which they took it.
#[derive(Clone, Default)]
struct Occupants {
    jobs: Vec<Occupant>,
    ranks: u32,
}

/// A job that has a host, given by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupant {
    /// The job.
    pub job: usize,
    /// The time for which it has the host.
    pub lifetime: Lifetime,
}

impl Occupancy {
    /// This many hosts without ranks.
    pub fn new(hosts: usize) -> Occupancy {
        Occupancy {
            hosts: vec![Occupants::default(); hosts],
        }
    }

    /// Number of hosts.
    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// The first job that has a host at some time of a lifetime.
    pub fn holder(&self, host: HostId, lifetime: Lifetime) -> Option<Occupant> {
        let mut jobs = self.hosts[host.0 as usize].jobs.iter();
        jobs.find(|occupant| occupant.lifetime.overlaps(lifetime))
            .copied()
    }

    /// Hosts that no job has at any time of a lifetime, in ascending order.
    pub fn free_during(&self, lifetime: Lifetime) -> Vec<HostId> {
        let hosts = (0..self.hosts.len() as u32).map(HostId);
        hosts
            .filter(|host| self.holder(*host, lifetime).is_none())
            .collect()
    }

    /// Hosts that no job of ranks ever has, in ascending order.
    pub fn never_taken(&self) -> Vec<HostId> {
        let hosts = (0..).map(HostId).zip(&self.hosts);
        hosts
            .filter_map(|(host, occupants)| occupants.jobs.is_empty().then_some(host))
            .collect()
    }

    /// A job takes the host of each of its ranks. Ranks may share a host.
    ///
    /// # Errors
    /// A host that would have more than 65536 ranks over time.
    pub fn take(&mut self, occupant: Occupant, ranks: &[HostId]) -> Result<(), HostId> {
        for host in ranks {
            let of_host = &mut self.hosts[host.0 as usize];
            if of_host.ranks == MOST_RANKS {
                return Err(*host);
            }
            of_host.ranks += 1;
            // Ranks of other jobs do not come in between.
            if of_host.jobs.last() != Some(&occupant) {
                of_host.jobs.push(occupant);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use des::Time;

    use super::*;

    fn lifetime(start: u64, end: Option<u64>) -> Lifetime {
        Lifetime {
            start: Time(start),
            end: end.map(Time),
        }
    }

    #[test]
    fn a_host_is_free_between_its_jobs() {
        let mut occupancy = Occupancy::new(3);
        let jobs = [(0, 10, Some(20)), (1, 30, None)];
        for (job, start, end) in jobs {
            let lifetime = lifetime(start, end);
            let hosts = [HostId(1), HostId(1)];
            occupancy.take(Occupant { job, lifetime }, &hosts).unwrap();
        }
        let holder = |start, end| {
            let holder = occupancy.holder(HostId(1), lifetime(start, end));
            holder.map(|occupant| occupant.job)
        };
        assert_eq!(holder(0, Some(10)), None);
        assert_eq!(holder(20, Some(30)), None);
        assert_eq!(holder(0, Some(11)), Some(0));
        assert_eq!(holder(19, Some(20)), Some(0));
        assert_eq!(holder(20, Some(31)), Some(1));
        assert_eq!(holder(20, None), Some(1));
        assert_eq!(holder(1000, Some(1001)), Some(1));
        assert_eq!(occupancy.free_during(lifetime(20, Some(25))).len(), 3);
        assert_eq!(
            occupancy.free_during(lifetime(12, Some(13))),
            [HostId(0), HostId(2)]
        );
        assert_eq!(occupancy.never_taken(), [HostId(0), HostId(2)]);
    }

    #[test]
    fn a_host_has_a_largest_number_of_ranks() {
        let mut occupancy = Occupancy::new(1);
        let ranks = vec![HostId(0); 1 << 15];
        for job in 0..2 {
            let lifetime = lifetime(job as u64, Some(job as u64 + 1));
            occupancy.take(Occupant { job, lifetime }, &ranks).unwrap();
        }
        let lifetime = lifetime(5, None);
        let more = occupancy.take(Occupant { job: 2, lifetime }, &ranks[..1]);
        assert_eq!(more, Err(HostId(0)));
    }
}
