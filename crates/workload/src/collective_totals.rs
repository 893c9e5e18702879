//! Data volume of recorded collectives, as bytes of one rank's part.

use std::collections::BTreeMap;

use crate::{Call, Collective, CollectiveInfo, Counts, Operation};

/// Totals of recorded collectives by name.
#[derive(Debug, Default)]
pub struct CollectiveTotals(BTreeMap<&'static str, CollectiveInfo>);

impl CollectiveTotals {
    /// Adds the part of rank `own` in a collective of `ranks` ranks. Ignores other operations.
    pub fn add(&mut self, operation: &Operation, ranks: usize, own: u64) {
        let Operation::Collective {
            collective,
            root,
            bytes,
            counts,
            call,
            ..
        } = operation
        else {
            return;
        };
        let part = RankCollective {
            ranks: ranks as u64,
            own,
            is_root: own == u64::from(*root),
            bytes: *bytes,
        };
        let (sent, received) = part.bytes(*collective, counts.as_deref());
        let entry = self.0.entry(name(*collective, *call)).or_default();
        entry.calls += 1;
        entry.sent_bytes = entry.sent_bytes.saturating_add(sent);
        entry.received_bytes = entry.received_bytes.saturating_add(received);
    }

    /// The totals by name.
    pub fn into_info(self) -> BTreeMap<String, CollectiveInfo> {
        self.0
            .into_iter()
            .map(|(name, info)| (name.into(), info))
            .collect()
    }
}

/// The name in MPI, without prefix.
fn name(collective: Collective, call: Call) -> &'static str {
    match call {
        Call::Gatherv | Call::Igatherv => "gatherv",
        Call::Scatterv | Call::Iscatterv => "scatterv",
        Call::Allgatherv | Call::Iallgatherv => "allgatherv",
        Call::Alltoallv | Call::Ialltoallv => "alltoallv",
        Call::Other => "alltoallw",
        Call::ReduceScatter | Call::IreduceScatter => "reduce_scatter",
        _ => collective.name(),
    }
}

/// One rank in a collective. Bytes are counted as in Score-P, so that traces of all formats compare.
struct RankCollective {
    /// Size of the communicator.
    ranks: u64,
    /// Number of the rank in it.
    own: u64,
    /// Whether the rank is the root.
    is_root: bool,
    /// Bytes, see [`Collective`].
    bytes: u64,
}

impl RankCollective {
    /// Bytes sent and received.
    fn bytes(&self, collective: Collective, counts: Option<&Counts>) -> (u64, u64) {
        match counts {
            Some(counts) => self.varying(collective, counts),
            None => self.regular(collective),
        }
    }

    fn regular(&self, collective: Collective) -> (u64, u64) {
        let all = self.ranks.saturating_mul(self.bytes);
        let if_root = |bytes| if self.is_root { bytes } else { 0 };
        match collective {
            Collective::Barrier => (0, 0),
            Collective::Bcast | Collective::Scatter => (if_root(all), self.bytes),
            Collective::Gather | Collective::Reduce => (self.bytes, if_root(all)),
            Collective::Allgather | Collective::Alltoall | Collective::Allreduce => (all, all),
            Collective::ReduceScatter => (self.bytes, self.bytes),
            Collective::Scan => (
                (self.ranks - self.own).saturating_mul(self.bytes),
                (self.own + 1).saturating_mul(self.bytes),
            ),
            Collective::Exscan => (
                (self.ranks - self.own - 1).saturating_mul(self.bytes),
                self.own.saturating_mul(self.bytes),
            ),
        }
    }

    fn varying(&self, collective: Collective, counts: &Counts) -> (u64, u64) {
        let sum = |sizes: &[u64]| sizes.iter().copied().fold(0, u64::saturating_add);
        let (sent, received) = (sum(&counts.sends), sum(&counts.receives));
        match collective {
            Collective::Allgather => (sent.saturating_mul(self.ranks), received),
            Collective::ReduceScatter => {
                let own = counts.receives.get(self.own as usize).copied().unwrap_or(0);
                (received, own.saturating_mul(self.ranks))
            }
            _ => (sent, received),
        }
    }
}
