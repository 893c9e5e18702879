//! Sending ahead: a host makes messages before they are due.
//!
//! # Theorem
//! While the NIC of a host has nothing queued and credits for the packet, the time at which the next message of its
//! only source starts onto the injection link is certain. The host may make the message early and send its packet with
//! that time, and save the event of the source.
//!
//! # Preconditions
//! - Those of [early commit](super::early_commit): the end of the run is known, the host has no ranks, and nothing
//!   reads its state before the end.
//! - The event at the host is not one that may be undone. The optimistic executor has such events beside certain ones;
//!   at those, each message is made at its time.
//! - Hosts have one rail. Packets of several rails may reach a router at one picosecond, in the order in which they
//!   were sent.
//! - The NIC model sends the packets of messages only, each once, and its reservations are final.
//! - The host has one source ([`crate::lp::host::Host`] and [`fabric::Nic::send`] ask): several take turns at the NIC.
//! - The message is one packet, the NIC's queue is empty, and credits are there ([`fabric::Nic::send`] asks). Otherwise
//!   the message is queued at its time.
//!
//! # Proof
//! When a source makes messages, and for whom, depends on its own random numbers only, which it draws in the same
//! order. Only the source sends through the NIC, so the link is free when the message before it has left, and credits
//! that return in between can only add to those that suffice already. The packet reaches the router as an event with
//! the same time.
//!
//! # Test
//! `crates/sim/tests/suite/early_commit.rs`, as for early commit; it also compares the number of events.

use des::Time;

use super::{Declared, Requested, early_commit};

/// Hosts send ahead by so many latencies of the shortest link: enough for several messages, few enough to be near in
/// memory when they are due.
const SHORTEST_LINKS: u64 = 16;

/// How far hosts send ahead.
#[derive(Clone, Copy, Debug)]
pub struct SendAhead {
    /// Messages are made less than this before they are due.
    reach: Time,
    /// Messages due from here on are made at their time.
    until: Time,
}

impl SendAhead {
    /// Each message is made at its time.
    pub const OFF: SendAhead = SendAhead {
        reach: Time::ZERO,
        until: Time::ZERO,
    };

    /// Whether a message that is due at `due`, after `now`, may be made now.
    #[inline]
    pub fn reaches(self, now: Time, due: Time) -> bool {
        self.covers(due) && due - now < self.reach
    }

    /// Whether a packet that starts onto the injection link at `start` may be sent before.
    #[inline]
    pub fn covers(self, start: Time) -> bool {
        start < self.until
    }
}

/// The shortcut, if its preconditions hold.
pub fn applies(requested: &Requested, declared: &Declared) -> Option<SendAhead> {
    early_commit::applies(requested, declared)?;
    let nic = &declared.nic;
    (declared.rails == 1 && nic.sends_only_messages && nic.final_reservations).then(|| SendAhead {
        reach: Time(declared.shortest_link.ps().saturating_mul(SHORTEST_LINKS)),
        until: requested.until.unwrap_or_default(),
    })
}
