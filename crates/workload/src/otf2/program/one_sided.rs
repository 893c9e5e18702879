//! One-sided communication between fences.

use ::otf2::RmaRecord;

use super::super::definitions::{CommunicatorMembership, Definitions};
use super::EventReplay;
use super::collectives::creates;
use crate::mpi_calls::{AGREE_ON_CONTEXT, EXCHANGE_RMA_WINDOWS};
use crate::{Call, Operation};

impl EventReplay {
    /// A one-sided transfer; `there` and `back` are the directions of its data.
    pub(super) fn transfer(
        &mut self,
        transfer: RmaRecord,
        (there, back): (bool, bool),
        now: u64,
        definitions: &Definitions,
    ) -> Result<(), String> {
        let Some(CommunicatorMembership::Group(communicator)) = definitions.rma_window(transfer.window)?
        else {
            // An RMA window of another paradigm, or the rank's own memory.
            return Ok(());
        };
        let size = definitions.communicators[communicator as usize].len();
        let RmaRecord { peer, bytes, .. } = transfer;
        if peer as usize >= size {
            let window = transfer.window;
            return Err(format!(
                "transfer with rank {peer}, which window {window} of {size} ranks does not have"
            ));
        }
        let call = self.call(Call::Other);
        if there {
            let call = if call == Call::Other { Call::Put } else { call };
            let put = Operation::Put {
                to: peer,
                communicator,
                bytes,
                call,
            };
            self.push(put, now);
        }
        if back {
            let call = if call == Call::Other { Call::Get } else { call };
            let bytes = if there || bytes == 0 {
                transfer.received
            } else {
                bytes
            };
            let get = Operation::Get {
                from: peer,
                communicator,
                bytes,
                call,
            };
            self.push(get, now);
        }
        Ok(())
    }

    pub(super) fn rma_collective(
        &mut self,
        window: u32,
        operation: u32,
        now: u64,
        definitions: &Definitions,
    ) -> Result<(), String> {
        let Some(membership) = definitions.rma_window(window)? else {
            return Ok(());
        };
        let call = self.call(Call::Other);
        if creates(operation) {
            self.push_internal(membership, &[AGREE_ON_CONTEXT, EXCHANGE_RMA_WINDOWS], call, now);
        } else if destroys(operation) {
            self.push_internal(membership, &[(crate::Collective::Barrier, 0)], call, now);
        } else if let CommunicatorMembership::Group(communicator) = membership {
            self.push(Operation::Fence { communicator, call }, now);
        }
        Ok(())
    }

    pub(super) fn rma_lock(&self, window: u32, definitions: &Definitions) -> Result<(), String> {
        if definitions.rma_window(window)?.is_none() {
            return Ok(());
        }
        let name = self.current.as_ref().map_or("MPI", |c| &c.region.name);
        Err(format!(
            "{name}: one-sided communication other than between fences is not supported"
        ))
    }
}

/// Whether it frees one.
fn destroys(operation: u32) -> bool {
    matches!(operation, 18 | 22)
}
