//! Occupants of hosts: which ranks and which traffic sources each host has.

use topology::HostId;

use crate::setup::job::{Job, JobKind};
use crate::setup::lifetime::Lifetime;
use crate::setup::rails::PlaceOnHost;

/// The ranks and traffic sources of each host.
pub struct HostOccupants {
    /// By host: index of its first rank slot. The number of slots stands at the end.
    first: Vec<u32>,
    /// Job and rank, by slot.
    slots: Vec<(u16, u32)>,
    /// By job and rank: its slot on its host.
    slots_of_ranks: Vec<Box<[u16]>>,
    /// By job: the sources of its traffic.
    sources: Vec<SourceHosts>,
}

/// The hosts on which a job has a traffic source.
enum SourceHosts {
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
                    sources.push(SourceHosts::None);
                    slots.extend(
                        ranks
                            .hosts
                            .iter()
                            .enumerate()
                            .map(|(rank, host)| (*host, index as u16, rank as u32)),
                    );
                }
                JobKind::Traffic(traffic) => sources.push(match &traffic.hosts {
                    None => SourceHosts::All,
                    Some(members) => {
                        let mut numbers = vec![u32::MAX; hosts as usize];
                        for (number, host) in members.iter().enumerate() {
                            numbers[host.0 as usize] = number as u32;
                        }
                        SourceHosts::Some(numbers)
                    }
                }),
            }
        }
        slots.sort_unstable();
        let first: Vec<u32> = (0..=hosts)
            .map(|host| slots.partition_point(|s| s.0.0 < host) as u32)
            .collect();
        let ranks = |job: &Job| match &job.kind {
            JobKind::Ranks(ranks) => ranks.hosts.len(),
            JobKind::Traffic(_) => 0,
        };
        let mut slots_of_ranks: Vec<Box<[u16]>> = jobs.iter().map(|job| vec![0; ranks(job)].into()).collect();
        for (place, (host, job, rank)) in (0..).zip(&slots) {
            let slot: u32 = place - first[host.0 as usize];
            slots_of_ranks[usize::from(*job)][*rank as usize] =
                u16::try_from(slot).expect("a host has at most 65536 ranks over time");
        }
        let occupants = HostOccupants {
            first,
            slots: slots.into_iter().map(|(_, job, rank)| (job, rank)).collect(),
            slots_of_ranks,
            sources,
        };
        for host in occupants
            .hosts()
            .filter(|host| occupants.jobs(*host).nth(1).is_some())
        {
            let mut lifetimes: Vec<Lifetime> = occupants
                .jobs(host)
                .map(|job| jobs[usize::from(job)].lifetime())
                .collect();
            lifetimes.sort_unstable_by_key(|lifetime| lifetime.start);
            assert!(
                !lifetimes.windows(2).any(|pair| pair[0].overlaps(pair[1])),
                "no two jobs have a host at one time"
            );
        }
        occupants
    }

    /// Job and rank of each slot of a host.
    pub fn ranks(&self, host: HostId) -> impl Iterator<Item = (u16, u32)> + '_ {
        let (from, to) = (self.first[host.0 as usize], self.first[host.0 as usize + 1]);
        self.slots[from as usize..to as usize].iter().copied()
    }

    /// Jobs of ranks of a host, in the order of their slots.
    pub fn jobs(&self, host: HostId) -> impl Iterator<Item = u16> + '_ {
        let mut last = None;
        self.ranks(host)
            .filter_map(move |(job, _)| (last.replace(job) != Some(job)).then_some(job))
    }

    /// Hosts with ranks.
    pub fn hosts(&self) -> impl Iterator<Item = HostId> + '_ {
        let taken = |pair: &[u32]| pair[0] != pair[1];
        (0..)
            .map(HostId)
            .zip(self.first.windows(2))
            .filter_map(move |(host, pair)| taken(pair).then_some(host))
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
                SourceHosts::None => return None,
                SourceHosts::All => host.0,
                SourceHosts::Some(numbers) => numbers[host.0 as usize],
            };
            (number != u32::MAX).then_some((job as u16, number))
        })
    }

    /// The slot of a rank on its host.
    #[inline]
    pub fn slot(&self, job: u16, rank: u32) -> u16 {
        self.slots_of_ranks[usize::from(job)][rank as usize]
    }

    /// The place of the rank in this slot of a host among the ranks of its job there.
    #[inline]
    pub fn place(&self, host: HostId, slot: u16) -> PlaceOnHost {
        let (from, to) = (self.first[host.0 as usize], self.first[host.0 as usize + 1]);
        let slots = &self.slots[from as usize..to as usize];
        // Slots are in the order of jobs.
        let (job, _) = slots[usize::from(slot)];
        let start = slots.partition_point(|(other, _)| *other < job);
        let end = slots.partition_point(|(other, _)| *other <= job);
        PlaceOnHost {
            position: (usize::from(slot) - start) as u32,
            of: (end - start) as u32,
        }
    }
}
