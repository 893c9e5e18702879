//! What a collective of a recording moves, for people: the bytes of one rank's part in it.

use crate::{Call, Collective, Counts};

/// As MPI calls it, without the prefix.
pub fn name(collective: Collective, call: Call) -> &'static str {
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

/// One rank in a collective. Bytes are counted as Score-P does, so that traces of both formats compare.
pub struct Share {
    /// Size of the communicator.
    pub ranks: u64,
    /// The rank in it.
    pub own: u64,
    /// Whether that is the root.
    pub is_root: bool,
    /// Bytes, see [`Collective`].
    pub bytes: u64,
}

impl Share {
    /// Bytes sent and received.
    pub fn bytes(&self, collective: Collective, counts: Option<&Counts>) -> (u64, u64) {
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
