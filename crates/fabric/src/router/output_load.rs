//! The load of an output, split by where its bytes are ([`routing::LoadMetric`]).

use routing::{LoadMetric, LoadQuantity, LoadScope};

/// Bytes of one output, and of one VC of the buffer behind it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OutputLoad {
    /// All bytes of the output: packets that wait for credits, and packets whose credits have not returned.
    pub(super) all: u64,
    /// Bytes of packets of the VC that wait in the router, without those that have taken its credits.
    pub(super) waiting_for_vc: u64,
    /// Bytes of credits that are taken, of all VCs.
    pub(super) taken: u64,
    /// Bytes of credits of the VC that are taken.
    pub(super) taken_of_vc: u64,
    /// Bytes for which the link is reserved and which are not on it yet, of all VCs. The router has no record of
    /// their VCs.
    pub(super) unsent: u64,
}

impl OutputLoad {
    /// The load by a metric, in bytes.
    ///
    /// A packet takes its credits when it reserves the link, so credits that are taken include `unsent`. With
    /// [`LoadQuantity::Credits`] of one VC, the VC's part of `unsent` is assumed to be its part of all credits that are
    /// taken. It is exact if packets of one VC only have them.
    pub(super) fn by(self, metric: LoadMetric) -> u64 {
        let unsent = self.unsent.min(self.taken);
        match (metric.quantity, metric.scope) {
            (LoadQuantity::Total, LoadScope::Port) => self.all,
            (LoadQuantity::Credits, LoadScope::Port) => self.taken - unsent,
            (LoadQuantity::Queue, LoadScope::Port) => self.all.saturating_sub(self.taken - unsent),
            (LoadQuantity::Total, LoadScope::Vc) => self.waiting_for_vc.saturating_add(self.taken_of_vc),
            (LoadQuantity::Credits, LoadScope::Vc) => {
                let part = u128::from(unsent) * u128::from(self.taken_of_vc);
                let part = part / u128::from(self.taken.max(1));
                self.taken_of_vc
                    .saturating_sub(u64::try_from(part).unwrap_or(u64::MAX))
            }
            (LoadQuantity::Queue, LoadScope::Vc) => self.waiting_for_vc.saturating_add(unsent),
        }
    }
}
