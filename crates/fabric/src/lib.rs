//! The network at work: packets, links, credits, NICs and routers, as plain state machines that know
//! their ports and not their neighbours. What goes in is a fact, what comes out goes into an
//! out-parameter; no engine, no events, so that a router is tested by calling methods.
//!
//! Flow control is lossless and credit based: a packet leaves only when the buffer at the far end of its
//! link has room for all of it (virtual cut-through; Kermani and Kleinrock 1979). The `packet` router
//! has input-buffered virtual channels whose packets wait by output ("virtual output queues"), so a
//! packet is held up only by those that want the same link and channel; in the `input-queued` router, those
//! of one input and channel leave in their order.
//!
//! Every change is noted in a [`des::Journal`] and can be taken back exactly. Under an optimistic executor
//! a state machine may for a while see facts that contradict each other, until they are taken back: then
//! its numbers may be nonsense (counters wrap), but it neither panics nor hangs.

mod inbox;
mod link;
mod nic;
mod packet;
mod packet_pool;
pub mod rails;
mod rate;
#[cfg(test)]
mod reverse_check;
pub mod router;
mod waits;

pub use inbox::{Inbox, InboxState, InboxUndo};
pub use link::{Flow, LinkUse};
pub use nic::{Nic, NicModel, NicOutputs, NicState, NicUndo, Outgoing};
pub use packet::{Packet, PacketIdentity, PacketProgress};
pub use packet_pool::Previous;
pub use rate::Rate;
pub use waits::{
    InputQueuedObservation, InputQueuedWaitTracker, InputQueuedWaitTrackerUndo, NicWaitTracker,
    NicWaitTrackerUndo, PacketObservation, PacketWaitTracker, PacketWaitTrackerUndo, QueuedPacket, Reason,
    RouterDeparture, Span, SpanList, SpansUndo, VcQueue, Wait, WaitOutputs, WaitTracker,
};
