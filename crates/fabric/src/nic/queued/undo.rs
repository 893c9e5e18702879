//! The undo steps of a NIC port.

use des::Time;
use topology::HostId;

use super::pair_windows::{Acknowledgement, Pair};
use crate::ClassTurnUndo;
use crate::nic::arbiter::TurnUndo;

/// An undo step of a [`QueuedNic`].
#[derive(Clone, Copy, Debug)]
pub enum QueuedNicUndo<T> {
    /// A message went to the end of the queue of the source whose turn it is.
    Taken {
        /// The source that had its turn before.
        source: u16,
    },
    /// The other sources, or the turn, changed.
    Turn(TurnUndo),
    /// The timer expired.
    Woken {
        /// Whether a timer was pending.
        pending: bool,
    },
    /// The timer was set.
    TimerSet,
    /// The router returned credits.
    Credited {
        /// Bytes.
        bytes: u32,
    },
    /// The next packet lacked credits.
    Blocked,
    /// A packet of the first message departed.
    Departed {
        /// Bytes of the packet on the wire.
        bytes: u32,
        /// End of the previous link reservation.
        busy_until: Time,
        /// Since when the packet had lacked credits.
        blocked_since: Option<Time>,
    },
    /// The queues and credits of another traffic class were loaded.
    ClassLoaded {
        /// The class before.
        class: u8,
    },
    /// The credits of another copy of the VC were loaded.
    CopyLoaded {
        /// The copy before.
        copy: u8,
    },
    /// The turns of the traffic classes changed.
    ClassTurn(ClassTurnUndo),
    /// A packet took its time on the way into memory.
    Stored {
        /// When the way was free before.
        free: Time,
        /// Whether it is delivered later.
        held: bool,
    },
    /// A packet was delivered that had waited for memory.
    Delivered,
    /// A packet to an end point left or was acknowledged.
    PairChanged {
        /// The end point.
        to: HostId,
        /// What was known of it.
        before: Option<Pair>,
    },
    /// A packet that arrived is to be acknowledged.
    AcknowledgementQueued,
    /// An acknowledgement departed.
    Acknowledged(Acknowledgement),
    /// A packet of the NIC itself took the link. Fields as above.
    LinkReserved {
        /// Bytes of the packet on the wire.
        bytes: u32,
        /// End of the previous link reservation.
        busy_until: Time,
        /// Since when the packet had lacked credits.
        blocked_since: Option<Time>,
    },
    /// All windows were closed while the next packet lacked credits.
    Unblocked {
        /// Since when it had lacked them.
        since: Time,
        /// The time of the change.
        until: Time,
    },
    /// A message went to the front of the queue.
    MovedForward {
        /// Its place before.
        from: u32,
    },
    /// The first message went to the end of the queue.
    MovedBack,
    /// The first message was completely sent and left the queue.
    Finished {
        /// Receiving end point.
        destination: HostId,
        /// Its number.
        number: u32,
        /// Job.
        job: u16,
        /// Whether its packets count individually.
        standalone: bool,
        /// The report that was due.
        report: Option<T>,
        /// Time at which the host handed it over.
        created_at: Time,
    },
}
