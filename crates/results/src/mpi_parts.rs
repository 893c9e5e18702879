//! The parts of the time of ranks in MPI calls. `docs/methods/mpi.md`, "Idle time by cause", defines them.

use serde::{Deserialize, Serialize};

use crate::nanoseconds::nanoseconds;
use crate::rows::RankRow;

/// Parts of the time in MPI calls of all ranks of a job together, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MpiPartsTotals {
    overhead: u128,
    partner: u128,
    transfer: u128,
    link_wait: u128,
    collective_partner: u128,
    collective_transfer: u128,
    collective_link_wait: u128,
}

/// Parts of the time of a rank in MPI calls, mean over the ranks of a job, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MpiParts {
    /// CPU time: overheads, copies, searches of queues.
    pub overhead_ns: f64,
    /// Idle time until another rank handed over the point-to-point message that ended the wait.
    pub partner_ns: f64,
    /// Idle time until its bytes had arrived, if they had found all links free.
    pub transfer_ns: f64,
    /// The rest of this idle time: waits of the message for links and buffers.
    pub link_wait_ns: f64,
    /// As `partner_ns`, of messages of collectives.
    pub collective_partner_ns: f64,
    /// As `transfer_ns`, of messages of collectives.
    pub collective_transfer_ns: f64,
    /// As `link_wait_ns`, of messages of collectives.
    pub collective_link_wait_ns: f64,
}

impl MpiPartsTotals {
    /// Adds a rank.
    pub fn add(&mut self, rank: &RankRow) {
        self.overhead += u128::from(rank.overhead_ps);
        self.partner += u128::from(rank.partner_ps);
        self.transfer += u128::from(rank.transfer_ps);
        self.link_wait += u128::from(rank.link_wait_ps);
        self.collective_partner += u128::from(rank.collective_partner_ps);
        self.collective_transfer += u128::from(rank.collective_transfer_ps);
        self.collective_link_wait += u128::from(rank.collective_link_wait_ps);
    }

    /// The means over this number of ranks; `None` if there are no ranks.
    pub(crate) fn mean(&self, ranks: u64) -> Option<MpiParts> {
        let ranks = (ranks > 0).then_some(u128::from(ranks))?;
        // A mean of 64-bit times fits 64 bits.
        let mean = |sum: u128| nanoseconds(u64::try_from(sum / ranks).unwrap_or(u64::MAX));
        Some(MpiParts {
            overhead_ns: mean(self.overhead),
            partner_ns: mean(self.partner),
            transfer_ns: mean(self.transfer),
            link_wait_ns: mean(self.link_wait),
            collective_partner_ns: mean(self.collective_partner),
            collective_transfer_ns: mean(self.collective_transfer),
            collective_link_wait_ns: mean(self.collective_link_wait),
        })
    }
}
