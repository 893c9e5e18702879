//! What a host undoes: one step for each change of its state.

use des::{Context, Journal, Time};
use fabric::{InboxUndo, NicUndo};
use mpi::Changes;
use serde::{Deserialize, Serialize};

use crate::lp::host_message::HostMessage;
use crate::lp::simulation::Simulation;

/// Identifies a message whose injection the NIC reports: the slot of the rank, and its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Injected {
    pub slot: u16,
    pub request: u32,
}

/// One step of a host to undo.
pub enum HostUndo {
    /// A port of its NIC has changed.
    Nic { rail: u8, step: NicUndo<Injected> },
    /// Round robin over its rails has advanced.
    NextRail { before: u8 },
    /// The number of rails that still send a part of this message has changed; 0: it was not divided.
    Divided { message: Injected, before: u8 },
    /// Its inbox has changed.
    Inbox(InboxUndo<HostMessage>),
    /// A rank has started.
    Started { slot: u16 },
    /// A rank has executed operations.
    Rank { slot: u16, changes: Changes },
    /// A source has sent a message, which got a number.
    SourceSent { source: u16 },
    /// One of its ranks has sent a message.
    MessageSent {
        /// Its slot.
        slot: u16,
        /// Whether it got a number.
        numbered: bool,
    },
    /// A message for one of its ranks has arrived.
    MessageReceived { slot: u16 },
    /// The gap after a message has moved the time of the next handover.
    HandedOver { before: Time },
}

/// The journal of the LP that executes an event, for the parts of a host.
pub struct HostJournal<'a, C>(pub &'a mut C);

impl<C: Context<Simulation>> Journal<InboxUndo<HostMessage>> for HostJournal<'_, C> {
    const KEPT: bool = C::REVERSIBLE;

    #[inline]
    fn keep(&mut self, step: InboxUndo<HostMessage>) {
        self.0.undo(HostUndo::Inbox(step).into());
    }
}
