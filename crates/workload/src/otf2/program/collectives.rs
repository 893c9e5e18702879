//! Collectives, and those that MPI performs internally.

use ::otf2::CollectiveRecord;

use super::super::collective::{CollectiveKind, RecordedBytes, collective_kind};
use super::super::definitions::{CommunicatorMembership, Definitions};
use super::{EventReplay, OpenRequest, RequestCompletion};
use crate::mpi_calls::{InternalCollective, ReplayFailure, creation_cost, internal_collective};
use crate::{Call, Counts, Operation};

impl EventReplay {
    pub(super) fn complete_collective(
        &mut self,
        collective: CollectiveRecord,
        id: u64,
        now: u64,
        definitions: &Definitions,
    ) -> Result<(), ReplayFailure> {
        let Some(OpenRequest::Collective { number, sequence }) = self.requests.remove(&id) else {
            return Err(format!("request {id} completes a collective but was never started as one").into());
        };
        self.fill(
            sequence,
            Some(RequestCompletion::Collective(collective)),
            definitions,
        )?;
        let replayed = self.collective(collective, None, Call::Other, definitions)?;
        if replayed.is_some() {
            self.note_completion(number, now);
        }
        Ok(())
    }

    /// The operation of a collective; `None` if it moves no data of the application.
    pub(super) fn collective(
        &mut self,
        collective: CollectiveRecord,
        request: Option<u64>,
        call: Call,
        definitions: &Definitions,
    ) -> Result<Option<Operation>, String> {
        let number = collective.operation;
        let which =
            collective_kind(number).ok_or_else(|| format!("unknown collective operation number {number}"))?;
        let kind = match which {
            CollectiveKind::Regular(kind) | CollectiveKind::Varying(kind) | CollectiveKind::Listed(kind) => {
                kind
            }
            CollectiveKind::Internal => return Ok(None),
        };
        let id = collective.communicator;
        let (communicator, second_group) = match super::membership(definitions, id)? {
            CommunicatorMembership::Own(_) => return Ok(None),
            CommunicatorMembership::Group(c) => (c, None),
            CommunicatorMembership::Inter(c, second) => (c, Some(u64::from(second))),
        };
        let members = &definitions.communicators[communicator as usize];
        let own = self.own_rank(communicator, members);
        let rank =
            own.ok_or_else(|| format!("{} on communicator {id}, which it is no member of", kind.name()))?;
        let ranks = members.len() as u64;
        let inter = second_group.is_some();
        let share = RecordedBytes {
            // On an inter-communicator, Score-P counts the ranks of the other group.
            ranks: match second_group {
                Some(second) if rank < second => ranks - second,
                Some(second) => second,
                None => ranks,
            },
            rank,
            sent: collective.sent,
            received: collective.received,
        };
        if let Some([sent, received]) = share.unequal_own_parts(which).filter(|_| !inter) {
            return Err(crate::mpi_calls::unequal_own_parts(rank, sent, received));
        }
        let unequal = inter || matches!(which, CollectiveKind::Varying(_));
        let in_place_bytes = share.in_place_bytes(which).filter(|_| !inter);
        Ok(Some(Operation::Collective {
            collective: kind,
            communicator,
            root: root(collective.root, kind, rank, members.len(), inter)?,
            bytes: share.bytes(which),
            // The counts differ between ranks, or between the groups, and are not recorded.
            counts: (unequal || in_place_bytes.is_some()).then(|| {
                Box::new(Counts {
                    in_place_bytes,
                    ..Counts::default()
                })
            }),
            request,
            reduction: None,
            call,
        }))
    }

    /// Appends the internal collectives of a call that creates a communicator.
    pub(super) fn make_communicator(
        &mut self,
        collective: CollectiveRecord,
        now: u64,
        definitions: &Definitions,
    ) -> Result<(), String> {
        if !creates(collective.operation) {
            return Ok(());
        }
        let Some(current) = &self.current else {
            return Ok(());
        };
        // MPI_Comm_create_group concerns some of the communicator's ranks only.
        let Some(steps) = creation_cost(&current.region.name) else {
            return Ok(());
        };
        let call = current.region.call;
        let membership = super::membership(definitions, collective.communicator)?;
        self.push_internal(membership, steps, call, now);
        Ok(())
    }

    /// Appends the collectives that a function performs internally.
    pub(super) fn push_internal(
        &mut self,
        membership: CommunicatorMembership,
        steps: &[InternalCollective],
        call: Call,
        now: u64,
    ) {
        let CommunicatorMembership::Group(communicator) = membership else {
            return;
        };
        for (collective, bytes) in steps {
            let operation = internal_collective(communicator, *collective, *bytes, call);
            self.push(operation, now);
        }
    }

    fn own_rank(&mut self, communicator: u32, members: &[u32]) -> Option<u64> {
        if let Some(rank) = self.ranks.get(&communicator) {
            return Some(*rank);
        }
        let rank = members.iter().position(|m| *m == self.rank)? as u64;
        self.ranks.insert(communicator, rank);
        Some(rank)
    }
}

/// Whether an `OTF2_CollectiveOp` creates a communicator or RMA window.
pub(super) fn creates(operation: u32) -> bool {
    matches!(operation, 17 | 21)
}

pub(super) const ROOT_NONE: u32 = u32::MAX;
pub(super) const ROOT_SELF: u32 = u32::MAX - 1;

/// Root of a collective in its communicator; 0 where there is none.
fn root(recorded: u32, kind: crate::Collective, own: u64, ranks: usize, inter: bool) -> Result<u32, String> {
    use crate::Collective::{Bcast, Gather, Reduce, Scatter};
    let name = kind.name();
    if !matches!(kind, Bcast | Gather | Reduce | Scatter) {
        return Ok(0);
    }
    match recorded {
        _ if inter => Err(format!(
            "{name} with a root on an inter-communicator is not supported"
        )),
        ROOT_NONE => Err(format!("{name} without a root")),
        ROOT_SELF => Ok(own as u32),
        root if (root as usize) < ranks => Ok(root),
        root => Err(format!(
            "{name} with root {root} on a communicator of {ranks} ranks"
        )),
    }
}
