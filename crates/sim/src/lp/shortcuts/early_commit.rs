//! Early commit: a router counts a delivery when it schedules it.
//!
//! # Theorem
//! A packet that counts by itself (it belongs to no message that waits for it) and that a router sends to a host is
//! delivered when its tail arrives. If that is before the end of the run, the router may count the delivery with that
//! time when it sends the packet, and save the event at the host.
//!
//! # Preconditions
//! - The end of the run is known, and it has no drain phase: there, hosts are asked what has arrived.
//! - All jobs are synthetic traffic: ranks act upon what arrives.
//! - Nothing reads the state of a host before the end: no time series but tallied ones ([`tallies`]), no timeline, no
//!   waits, no checkpoint.
//! - No counts of single hosts are collected: a router has one count for all its hosts.
//! - A packet that the router has sent leaves at that time and arrives: reservations of the router model are final, and
//!   links lose nothing. The NIC model delivers it on arrival, and does nothing else then.
//!
//! # Proof
//! The router reserves the link when it sends the packet, and nothing can change the reservation. A host returns no
//! credit, so the arrival has no effect but the counts. Counts are sums, maxima and
//! histograms, and do not depend on the order in which they are made. A packet that arrives at the end of the run or
//! later is sent as an event, so the audit finds it in flight. Where the event of the router is undone, so is the
//! count.
//!
//! # Test
//! `crates/sim/tests/suite/early_commit.rs` compares runs with and without it, at all loads, for ends at any
//! picosecond, on all executors.

use des::Time;
use experiment::Series;

use super::{Declared, Requested, tallies};

/// Deliveries before this time are counted early.
#[derive(Clone, Copy, Debug)]
pub struct EarlyCommit(Time);

impl EarlyCommit {
    /// No delivery is counted early.
    pub const OFF: EarlyCommit = EarlyCommit(Time::ZERO);

    /// Whether a delivery at `time` is counted early.
    #[inline(always)]
    pub fn covers(self, time: Time) -> bool {
        time < self.0
    }
}

/// The shortcut, if its preconditions hold.
pub fn applies(requested: &Requested, declared: &Declared) -> Option<EarlyCommit> {
    let tallied = || tallies::applies(requested, declared).is_some();
    let (router, nic) = (&declared.router, &declared.nic);
    let certain = router.final_reservations
        && nic.accepts_every_arrival
        && !nic.needs_arrivals
        && !declared.links.loses_packets;
    let unread = (requested.series == Series::Off || tallied())
        && !requested.timeline
        && !requested.waits
        && !requested.host_latency
        && requested.whole
        && !requested.drains
        && !requested.ranks;
    requested.until.filter(|_| certain && unread).map(EarlyCommit)
}
