//! State that all ranks of one application share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use des::Time;
use workload::Call;

use crate::message::RMA_CONTEXT;
use crate::{MpiSettings, RanksByHost, ReplayError};

/// State that all ranks of one application share, read-only but for the communicators that they make.
#[derive(Debug)]
pub struct MpiJob {
    /// Number of ranks.
    pub ranks: u32,
    /// Protocol parameters.
    pub settings: MpiSettings,
    /// The communicators that the job has from the start, by their number.
    groups: Vec<Group>,
    /// The communicators that ranks of this process have made, by their number.
    made: Mutex<BTreeMap<u32, Arc<Group>>>,
    /// Host of each rank; empty where no algorithm of the job needs them.
    hosts: Vec<u32>,
    /// Whether a receive pays more than its overhead for the message that it matches.
    matching_takes_time: bool,
}

/// The members of one communicator.
#[derive(Debug)]
pub(crate) struct Group {
    /// Ranks of the job, in the communicator's order.
    members: Vec<u32>,
    positions: Positions,
    /// The members by host, if an algorithm of the job needs them.
    pub hosts: Option<Arc<RanksByHost>>,
}

/// Map from a rank of the job to its rank in one communicator.
#[derive(Debug)]
enum Positions {
    /// The ranks are equal, as in `MPI_COMM_WORLD`.
    Identity,
    Table(BTreeMap<u32, u32>),
}

impl Group {
    /// The members of communicator `number` of a job with this many ranks. The error says what contradicts.
    fn new(ranks: u32, number: u32, members: Vec<u32>) -> Result<Group, String> {
        if let Some(stranger) = members.iter().find(|m| **m >= ranks) {
            return Err(format!(
                "communicator {number} has the member {stranger}; the job has the ranks 0 to {}",
                ranks - 1
            ));
        }
        let mut positions = Positions::Identity;
        if !members
            .iter()
            .zip(0..)
            .all(|(member, position)| *member == position)
        {
            let mut table = BTreeMap::new();
            for (member, position) in members.iter().zip(0..) {
                if table.insert(*member, position).is_some() {
                    return Err(format!("communicator {number} has the member {member} twice"));
                }
            }
            positions = Positions::Table(table);
        }
        Ok(Group {
            members,
            positions,
            hosts: None,
        })
    }

    pub fn size(&self) -> u32 {
        self.members.len() as u32
    }

    /// Rank in the communicator of a rank of the job; `None` if it is not a member.
    pub fn rank_in(&self, rank: u32) -> Option<u32> {
        match &self.positions {
            Positions::Identity => (rank < self.size()).then_some(rank),
            Positions::Table(table) => table.get(&rank).copied(),
        }
    }

    /// Rank in the communicator of a rank of the job that calls this.
    pub fn member(&self, rank: u32, call: Call, communicator: u32) -> Result<u32, ReplayError> {
        self.rank_in(rank).ok_or_else(|| ReplayError::NotAMember {
            rank,
            call: call.name(),
            communicator,
        })
    }

    /// The rank of the job that is `peer` in the communicator, for a call of `rank`.
    pub fn peer(&self, rank: u32, call: Call, communicator: u32, peer: u32) -> Result<u32, ReplayError> {
        self.member(rank, call, communicator)?;
        let found = self.members.get(peer as usize).copied();
        found.ok_or_else(|| ReplayError::NoSuchRank {
            rank,
            call: call.name(),
            peer,
            communicator,
            size: self.size(),
        })
    }
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
        if communicators.len() >= RMA_CONTEXT as usize {
            return Err(ReplayError::Job("2^30 communicators or more".into()));
        }
        let group = |(members, number): (&Vec<u32>, u32)| Group::new(ranks, number, members.clone());
        let groups = communicators.iter().zip(0..).map(group).collect::<Result<_, _>>();
        let matching_takes_time =
            settings.matching_overhead > Time::ZERO || settings.receive_copy_bandwidth.is_some();
        Ok(MpiJob {
            ranks,
            settings,
            groups: groups.map_err(ReplayError::Job)?,
            made: Mutex::default(),
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
            self.hosts = (0..self.ranks).map(host_of).collect();
            for group in &mut self.groups {
                group.hosts = by_host(&self.hosts, &group.members);
            }
        }
        self
    }

    /// A communicator that the job has from the start.
    pub(crate) fn group(&self, communicator: u32) -> Option<&Group> {
        self.groups.get(communicator as usize)
    }

    /// The members of a communicator that a rank makes. The error says what contradicts the job, or another rank.
    pub(crate) fn make_group(&self, communicator: u32, members: Vec<u32>) -> Result<Arc<Group>, String> {
        let taken = self.groups.len() as u32;
        if !(taken..RMA_CONTEXT).contains(&communicator) {
            return Err(format!(
                "the number of a new communicator is {communicator}; expected {taken} to {}",
                RMA_CONTEXT - 1
            ));
        }
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = made.get(&communicator) {
            return match known.members == members {
                true => Ok(known.clone()),
                false => Err(format!(
                    "communicator {communicator} was made before of {} ranks; all its members give the same ranks in \
                     the same order, here {}",
                    known.size(),
                    members.len()
                )),
            };
        }
        let mut group = Group::new(self.ranks, communicator, members)?;
        group.hosts = by_host(&self.hosts, &group.members);
        let group = Arc::new(group);
        made.insert(communicator, group.clone());
        Ok(group)
    }

    /// Members of a communicator, also of one that ranks have made; none if there is no such communicator.
    pub(crate) fn members_of(&self, communicator: u32) -> Vec<u32> {
        if let Some(group) = self.group(communicator) {
            return group.members.clone();
        }
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.get(&communicator)
            .map_or_else(Vec::new, |group| group.members.clone())
    }

    /// A communicator that the job has from the start, for a call of a rank.
    pub(crate) fn known(&self, rank: u32, call: Call, communicator: u32) -> Result<&Group, ReplayError> {
        let none = || ReplayError::NoSuchCommunicator {
            rank,
            call: call.name(),
            communicator,
            known: self.groups.len() as u32,
        };
        self.group(communicator).ok_or_else(none)
    }
}

/// The members of a communicator by host; `None` where the hosts of the ranks are not known.
fn by_host(hosts: &[u32], members: &[u32]) -> Option<Arc<RanksByHost>> {
    let of = |rank: &u32| hosts[*rank as usize];
    (!hosts.is_empty()).then(|| Arc::new(RanksByHost::new(members.iter().map(of))))
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
        let rank_in = |communicator, rank| job.group(communicator)?.rank_in(rank);
        assert_eq!((rank_in(0, 3), rank_in(0, 4)), (Some(3), None));
        assert_eq!(
            (rank_in(1, 3), rank_in(1, 1), rank_in(1, 0)),
            (Some(0), Some(1), None)
        );
        assert_eq!((rank_in(2, 0), rank_in(3, 0)), (None, None));
        assert_eq!(job.members_of(1), [3, 1]);
    }

    #[test]
    fn ranks_make_communicators_of_the_same_members() {
        let job = job(4, &[&[0, 1, 2, 3]]).unwrap();
        let group = job.make_group(7, vec![3, 1]).unwrap();
        assert_eq!((group.rank_in(3), group.rank_in(2)), (Some(0), None));
        assert!(Arc::ptr_eq(&group, &job.make_group(7, vec![3, 1]).unwrap()));
        assert_eq!(job.members_of(7), [3, 1]);
        for (number, members, needle) in [
            (7, vec![1, 3], "communicator 7 was made before of 2 ranks"),
            (
                0,
                vec![1, 3],
                "the number of a new communicator is 0; expected 1 to 1073741823",
            ),
            (RMA_CONTEXT, vec![1, 3], "expected 1 to"),
            (8, vec![1, 4], "communicator 8 has the member 4"),
            (8, vec![1, 1], "member 1 twice"),
        ] {
            let message = job.make_group(number, members).unwrap_err();
            assert!(message.contains(needle), "{message}");
        }
    }
}
