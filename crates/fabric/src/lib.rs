//! The network at work: packets, links, credits, NICs and routers, as plain state machines that know
//! their ports and not their neighbours. What goes in is a fact, what comes out goes into an
//! out-parameter; no engine, no events, so that a router is tested by calling methods.
//!
//! Flow control is lossless and credit based: a packet leaves only when the buffer at the far end of its
//! link has room for all of it (virtual cut-through; Kermani and Kleinrock 1979). The `packet` router
//! has input-buffered virtual channels whose packets wait by output ("virtual output queues"), so a
//! packet is held up only by those that want the same link and channel.

mod inbox;
mod link;
mod nic;
mod packet;
mod rate;
pub mod router;

pub use inbox::Inbox;
pub use link::LinkUse;
pub use nic::{Nic, NicOutputs, Outgoing};
pub use packet::Packet;
pub use rate::Rate;
