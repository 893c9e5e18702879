//! Occupants of hosts: which ranks and which traffic sources each host has.

use topology::HostId;

use crate::setup::job::{Job, JobKind};

/// The ranks and traffic sources of each host.
pub struct HostOccupants {
    /// By host: index of its first rank slot. The number of slots stands at the end.
    first: Vec<u32>,
    /// Job and rank, by slot.
    slots: Vec<(u16, u32)>,
    /// By job: the sources of its traffic.
    sources: Vec<Sources>,
}

/// The hosts on which a job has a traffic source.
enum Sources {
    /// The job has ranks.
    None,
    All,
    /// By host: its index among those of the job, `u32::MAX` for other hosts.
    Some(Vec<u32>),
}

impl HostOccupants {
    /// The occupants of all hosts.
    pub fn new(jobs: &[Job], hosts: u32) -> HostOccupants {
        let mut slots: Vec<(HostId, u16, u32)> = Vec::new();
        let mut sources = Vec::new();
        for (index, job) in jobs.iter().enumerate() {
            match &job.kind {
                JobKind::Ranks(ranks) => {
                    sources.push(Sources::None);
                    slots.extend(
                        ranks
                            .hosts
                            .iter()
                            .enumerate()
                            .map(|(rank, host)| (*host, index as u16, rank as u32)),
                    );
                }
                JobKind::Traffic(traffic) => sources.push(match &traffic.hosts {
                    None => Sources::All,
                    Some(members) => {
                        let mut numbers = vec![u32::MAX; hosts as usize];
                        for (number, host) in members.iter().enumerate() {
                            numbers[host.0 as usize] = number as u32;
                        }
                        Sources::Some(numbers)
                    }
                }),
            }
        }
        slots.sort_unstable();
        assert!(
            slots.windows(2).all(|s| s[0].0 != s[1].0 || s[0].1 == s[1].1),
            "no two jobs share a host"
        );
        let first = (0..=hosts)
            .map(|host| slots.partition_point(|s| s.0.0 < host) as u32)
            .collect();
        HostOccupants {
            first,
            slots: slots.into_iter().map(|(_, job, rank)| (job, rank)).collect(),
            sources,
        }
    }

    /// Job and rank of each slot of a host.
    pub fn ranks(&self, host: HostId) -> impl Iterator<Item = (u16, u32)> + '_ {
        let (from, to) = (self.first[host.0 as usize], self.first[host.0 as usize + 1]);
        self.slots[from as usize..to as usize].iter().copied()
    }

    /// Hosts with ranks.
    pub fn hosts(&self) -> impl Iterator<Item = HostId> + '_ {
        let taken = |window: &[u32]| window[0] != window[1];
        (0..)
            .map(HostId)
            .zip(self.first.windows(2))
            .filter_map(move |(host, window)| taken(window).then_some(host))
    }

    /// Hosts with traffic sources.
    pub fn hosts_with_sources(&self) -> impl Iterator<Item = HostId> + '_ {
        let hosts = (0..self.first.len() as u32 - 1).map(HostId);
        hosts.filter(|host| self.sources(*host).next().is_some())
    }

    /// The traffic sources of a host: job, and index of the host among those of the job.
    pub fn sources(&self, host: HostId) -> impl Iterator<Item = (u16, u32)> + '_ {
        self.sources.iter().enumerate().filter_map(move |(job, sources)| {
            let number = match sources {
                Sources::None => return None,
                Sources::All => host.0,
                Sources::Some(numbers) => numbers[host.0 as usize],
            };
            (number != u32::MAX).then_some((job as u16, number))
        })
    }

    /// The slot of a rank on its host.
    pub fn slot(&self, job: &Job, rank: u32) -> u16 {
        match &job.kind {
            JobKind::Ranks(ranks) => ranks.slots[rank as usize],
            JobKind::Traffic(_) => unreachable!("only jobs with ranks have rank slots"),
        }
    }
}
