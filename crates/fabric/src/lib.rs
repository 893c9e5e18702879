//! Packets, links, credits, NICs and routers as plain state machines that know their ports and not their neighbours.
//! A method call is an input, and an out-parameter receives the outputs. So tests drive a router without an engine.
//!
//! Flow control is lossless and credit based: a packet leaves only if the buffer at the far end of its link has
//! space for all of it (virtual cut-through; Kermani and Kleinrock 1979). In the `packet` router, packets of an
//! input buffer wait by output ("virtual output queues"), so a packet is delayed only by packets that need the same
//! link and channel. In the `input-queued` router, packets of one input and channel leave in order. The `output-queued`
//! router is without flow control: it has space for all packets.
//!
//! A state machine notes an undo step for every change in a [`des::Journal`]. Under an optimistic executor it may
//! receive contradictory inputs until they are undone. Its numbers may then be meaningless (counters wrap), but it
//! neither panics nor hangs.

mod capabilities;
mod fate;
mod inbox;
mod link;
pub mod nic;
mod nic_source;
mod packet;
mod packet_pool;
pub mod rails;
mod rate;
#[cfg(test)]
mod reverse_check;
pub mod router;
mod traffic_classes;
mod waits;

pub use capabilities::{
    FlitFlow, LINKS, LinkCapabilities, NicCapabilities, PacketLimit, PacketLimits, RouterCapabilities,
    Switching,
};
pub use fate::{DropReason, PacketFate};
pub use inbox::{Inbox, InboxState, InboxUndo};
pub use link::{Flow, LinkUse, Measured};
pub use nic::{
    NIC_ARBITERS, Nic, NicArbiter, NicClassView, NicModel, NicOutputs, NicParameters, NicReport, NicSetup,
    NicState, NicTimer, NicUndo, NicVisitor, Outgoing, RegisteredNic, SignalOf,
};
pub use nic_source::NicSource;
pub use packet::{Packet, PacketFormat, PacketIdentity, PacketProgress};
pub use packet_pool::Previous;
pub use rate::Rate;
pub use traffic_classes::{ClassSet, ClassTurnUndo, ClassTurns, MAX_TRAFFIC_CLASSES, TrafficClasses};
pub use waits::{
    BufferStay, CrossbarCrossing, CrossbarDeparture, CrossbarObservation, CrossbarSpans, CrossbarWaitTracker,
    CrossbarWaitTrackerUndo, InputQueuedObservation, InputQueuedWaitTracker, InputQueuedWaitTrackerUndo,
    NicWaitTracker, NicWaitTrackerUndo, PacketObservation, PacketWaitTracker, PacketWaitTrackerUndo,
    QueuedPacket, Reason, RouterDeparture, Span, SpanList, SpansUndo, VcQueue, Wait, WaitOutputs,
    WaitTracker, WaitingChange,
};
