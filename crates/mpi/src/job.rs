//! State that all ranks of one application share.

use std::collections::BTreeMap;
use std::sync::Arc;

use des::Time;
use workload::Call;

use crate::message::WINDOW_CONTEXT;
use crate::{MpiSettings, RanksByHost, ReplayError};

/// State that all ranks of one application share, read-only.
#[derive(Debug)]
pub struct MpiJob {
    /// Number of ranks.
    pub ranks: u32,
    /// Ranks of the job in each communicator, in the communicator's order.
    pub communicators: Arc<[Vec<u32>]>,
    /// Protocol parameters.
    pub settings: MpiSettings,
    /// Rank in the communicator of each member, by communicator.
    positions: Vec<Positions>,
    /// Ranks by host, by communicator; empty where no algorithm of the job needs them.
    hosts: Vec<Arc<RanksByHost>>,
    /// Whether a receive pays more than its overhead for the message that it matches.
    matching_takes_time: bool,
}

/// Map from a rank of the job to its rank in one communicator.
#[derive(Debug)]
enum Positions {
    /// The ranks are equal, as in `MPI_COMM_WORLD`.
    Identity,
    Table(BTreeMap<u32, u32>),
}

impl MpiJob {
    /// Creates a job of `ranks` ranks. `communicators` as in [`workload::Workload::communicators`].
    ///
    /// # Errors
    /// [`ReplayError::Job`]: a member is not a rank of the job or occurs twice, there is no rank, or there are
    /// 2^30 communicators or more.
    pub fn new(
        ranks: u32,
        communicators: Arc<[Vec<u32>]>,
        settings: MpiSettings,
    ) -> Result<MpiJob, ReplayError> {
        if ranks == 0 {
            return Err(ReplayError::Job("a job needs at least one rank".into()));
        }
        if communicators.len() >= WINDOW_CONTEXT as usize {
            return Err(ReplayError::Job("2^30 communicators or more".into()));
        }
        let positions = communicators
            .iter()
            .enumerate()
            .map(|(index, members)| positions(ranks, index, members))
            .collect::<Result<_, _>>()?;
        let matching_takes_time =
            settings.matching_overhead > Time::ZERO || settings.receive_copy_bandwidth.is_some();
        Ok(MpiJob {
            ranks,
            communicators,
            settings,
            positions,
            hosts: Vec::new(),
            matching_takes_time,
        })
    }

    /// Whether matching costs CPU time beyond the overhead of a receive: searches of queues, or copies of payloads.
    pub(crate) fn matching_takes_time(&self) -> bool {
        self.matching_takes_time
    }

    /// Tells the job the host of each rank, in any numbering. Algorithms on two levels need them; jobs without
    /// such algorithms forget them.
    #[must_use]
    pub fn on_hosts(mut self, host_of: impl Fn(u32) -> u32) -> MpiJob {
        if self.settings.collectives.needs_hosts() {
            let by_host = |members: &Vec<u32>| RanksByHost::new(members.iter().map(|rank| host_of(*rank)));
            self.hosts = self.communicators.iter().map(by_host).map(Arc::new).collect();
        }
        self
    }

    /// The ranks of a communicator by host, if an algorithm of the job needs them.
    pub(crate) fn ranks_by_host(&self, communicator: u32) -> Option<Arc<RanksByHost>> {
        self.hosts.get(communicator as usize).cloned()
    }

    /// Members of a communicator; `None` if the job does not have it.
    pub fn members(&self, communicator: u32) -> Option<&[u32]> {
        self.communicators.get(communicator as usize).map(Vec::as_slice)
    }

    /// Rank in the communicator of a rank of the job; `None` if it is not a member.
    pub fn rank_in(&self, communicator: u32, rank: u32) -> Option<u32> {
        match self.positions.get(communicator as usize)? {
            Positions::Identity => (rank < self.members(communicator)?.len() as u32).then_some(rank),
            Positions::Table(table) => table.get(&rank).copied(),
        }
    }

    /// Number of members of a communicator; 0 if the job does not have it.
    pub(crate) fn size_of(&self, communicator: u32) -> u32 {
        self.members(communicator)
            .map_or(0, |members| members.len() as u32)
    }

    /// Rank in the communicator of a rank of the job that calls this.
    pub(crate) fn member(&self, rank: u32, call: Call, communicator: u32) -> Result<u32, ReplayError> {
        let call = call.name();
        if self.members(communicator).is_none() {
            return Err(ReplayError::NoSuchCommunicator {
                rank,
                call,
                communicator,
                known: self.communicators.len() as u32,
            });
        }
        let not_a_member = || ReplayError::NotAMember {
            rank,
            call,
            communicator,
        };
        self.rank_in(communicator, rank).ok_or_else(not_a_member)
    }

    /// The rank of the job that is `peer` in the communicator, for a call of `rank`.
    pub(crate) fn peer(
        &self,
        rank: u32,
        call: Call,
        communicator: u32,
        peer: u32,
    ) -> Result<u32, ReplayError> {
        self.member(rank, call, communicator)?;
        let members = self.members(communicator).unwrap_or_default();
        members
            .get(peer as usize)
            .copied()
            .ok_or_else(|| ReplayError::NoSuchRank {
                rank,
                call: call.name(),
                peer,
                communicator,
                size: members.len() as u32,
            })
    }
}

fn positions(ranks: u32, index: usize, members: &[u32]) -> Result<Positions, ReplayError> {
    if let Some(stranger) = members.iter().find(|m| **m >= ranks) {
        return Err(ReplayError::Job(format!(
            "communicator {index} has the member {stranger}; the job has the ranks 0 to {}",
            ranks - 1
        )));
    }
    if members
        .iter()
        .zip(0..)
        .all(|(member, position)| *member == position)
    {
        return Ok(Positions::Identity);
    }
    let mut table = BTreeMap::new();
    for (member, position) in members.iter().zip(0..) {
        if table.insert(*member, position).is_some() {
            return Err(ReplayError::Job(format!(
                "communicator {index} has the member {member} twice"
            )));
        }
    }
    Ok(Positions::Table(table))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(ranks: u32, communicators: &[&[u32]]) -> Result<MpiJob, ReplayError> {
        let communicators: Vec<Vec<u32>> = communicators.iter().map(|c| c.to_vec()).collect();
        MpiJob::new(ranks, communicators.into(), MpiSettings::default())
    }

    #[test]
    fn contradictions_are_refused() {
        for (ranks, communicators, needle) in [
            (0, &[][..], "at least one rank"),
            (2, &[&[0, 1][..], &[2][..]][..], "communicator 1 has the member 2"),
            (3, &[&[2, 1, 2][..]][..], "member 2 twice"),
        ] {
            let message = job(ranks, communicators).unwrap_err().to_string();
            assert!(message.contains(needle), "{message}");
        }
    }

    #[test]
    fn ranks_are_found_in_their_communicators() {
        let job = job(4, &[&[0, 1, 2, 3], &[3, 1], &[]]).unwrap();
        assert_eq!(job.rank_in(0, 3), Some(3));
        assert_eq!(job.rank_in(0, 4), None);
        assert_eq!(
            (job.rank_in(1, 3), job.rank_in(1, 1), job.rank_in(1, 0)),
            (Some(0), Some(1), None)
        );
        assert_eq!((job.rank_in(2, 0), job.rank_in(3, 0)), (None, None));
        assert_eq!(job.members(1), Some(&[3, 1][..]));
    }
}
