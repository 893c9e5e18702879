//! Tallies: series of injection links and jobs are added up when they are decided, not sampled from hosts.
//!
//! # Theorem
//! With series of link classes and jobs only, the sums of a bin over all hosts are those of the intervals and moments
//! that events decide: reservations of injection links, times without credits, messages and deliveries. They do not
//! depend on the order in which they are added, nor on when. So nothing reads the state of a host before the end of
//! the run.
//!
//! # Preconditions
//! - No series of single links, hosts, routers or VCs: those have levels, which are looked at when a bin ends.
//! - There are at most 2^20 time bins. Any worker may add to any bin, so sums of all bins stay in memory until the end
//!   of the run, a few hundred bytes each. Sampled sums are written when their bin is over.
//! - The run writes no checkpoint and resumes from none.
//! - Reservations of the NIC model are final.
//!
//! # Proof
//! An injection link carries packets one after the other, and its state changes only by reservations. So the time in
//! which it was busy within a bin is the sum over the parts of its reservations in the bin. The same holds for the
//! times without credits, which end with a reservation or with the run, and for counts, which have one moment each. An
//! executor that undoes events adds when an event can no longer be undone. What lies after the end of the run is
//! subtracted when it is known, at the end of collection. Routers are sampled, since they have all of their events in
//! any run; workers add up the samples, which need no order.
//!
//! # Test
//! `crates/sim/tests/suite/tallies.rs` compares the series of runs with tallies and with samples, and both with
//! the sums over series of single links, for all kinds of ends; corpus and random experiments compare the digests of
//! collected data on all executors.

use super::{Declared, Requested};
use experiment::{MOST_TALLIED, Series};

/// Whether sums by link class and job are tallied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tallies(bool);

impl Tallies {
    /// Sums are sampled, if at all.
    pub const OFF: Tallies = Tallies(false);

    /// Whether sums are tallied.
    #[inline(always)]
    pub fn is_on(self) -> bool {
        self.0
    }
}

/// The shortcut, if its preconditions hold.
pub fn applies(requested: &Requested, declared: &Declared) -> Option<Tallies> {
    let few_bins = requested.bins.is_some_and(|bins| bins <= MOST_TALLIED);
    let applies =
        requested.series == Series::Classes && few_bins && requested.whole && declared.nic.final_reservations;
    applies.then_some(Tallies(true))
}
