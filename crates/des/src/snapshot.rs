//! A run between two events: the state that continues it to the same end on any executor and any number of threads
//! and processes.

use serde::{Deserialize, Serialize};

use crate::lps::LpEntry;
use crate::{Event, LpId, Model, Purpose, Time};

/// A model's run up to a point in simulated time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot<P> {
    /// All events before this time are executed and committed, and no others.
    pub time: Time,
    /// The time at which the model asked the run to stop, or [`Time::MAX`].
    pub stop: Time,
    /// All LPs by id.
    pub lps: Vec<SavedLp>,
    /// Pending events, in no particular order.
    pub pending: Vec<Event<P>>,
}

/// An LP with the kernel's data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedLp {
    pub(crate) draws: u64,
    pub(crate) sequence: u32,
    #[serde(with = "bytes")]
    pub(crate) state: Vec<u8>,
}

impl SavedLp {
    pub(crate) fn new<M: Model>(model: &M, entry: &LpEntry<M::Lp>) -> SavedLp {
        let mut state = Vec::new();
        model.save(&entry.lp, &mut state);
        SavedLp {
            draws: entry.draws,
            sequence: entry.sequence,
            state,
        }
    }

    /// Restores the LP.
    pub(crate) fn restore<M: Model>(
        &self,
        model: &M,
        id: LpId,
        purpose: Purpose,
    ) -> Result<LpEntry<M::Lp>, String> {
        let mut lp = model.create(id);
        model.restore(&mut lp, &self.state, purpose)?;
        Ok(LpEntry {
            lp,
            draws: self.draws,
            sequence: self.sequence,
        })
    }
}

/// One thread's part of a snapshot.
#[derive(Serialize, Deserialize)]
pub(crate) struct SnapshotPart<P> {
    pub(crate) first: u32,
    pub(crate) lps: Vec<SavedLp>,
    pub(crate) pending: Vec<Event<P>>,
}

impl<P> Snapshot<P> {
    /// Joins the parts of all threads.
    pub(crate) fn gather(time: Time, stop: Time, mut parts: Vec<SnapshotPart<P>>) -> Snapshot<P> {
        parts.sort_by_key(|part| part.first);
        let mut snapshot = Snapshot {
            time,
            stop,
            lps: Vec::new(),
            pending: Vec::new(),
        };
        for part in parts {
            snapshot.lps.extend(part.lps);
            snapshot.pending.extend(part.pending);
        }
        snapshot
    }
}

/// Serialises byte strings as bytes instead of sequences of numbers.
mod bytes {
    use serde::de::{Error, Visitor};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        struct ByteString;
        impl Visitor<'_> for ByteString {
            type Value = Vec<u8>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_vec())
            }
        }
        deserializer.deserialize_bytes(ByteString)
    }
}
