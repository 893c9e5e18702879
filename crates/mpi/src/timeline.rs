//! Timeline events of a rank, the source of timelines and message histories. They are off by default and do not affect
//! the simulation.

use des::Time;
use serde::{Deserialize, Serialize};
use workload::{Call, Region};

use crate::{ALGORITHMS, CollectiveAlgorithm, Message};

/// A timeline event, in [`Action::Timeline`](crate::Action::Timeline).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimelineEvent {
    /// An operation, or a part of one, ended. A call in which the rank waits has several parts. Parts are
    /// contiguous; only calls are reported if they take no time.
    Activity {
        /// The activity.
        what: TimelineActivity,
        /// Its start.
        since: Time,
        /// Its end: now, or when the rank began to wait until now.
        until: Time,
        /// Whether the rank waited with an idle CPU.
        blocked: bool,
    },
    /// Describes the message in the next [`Action::Send`](crate::Action::Send).
    SendIssued {
        /// Start of the send overhead.
        at: Time,
        /// Index in [`ALGORITHMS`] of the collective algorithm, if it is a message of a collective.
        algorithm: Option<u16>,
    },
    /// A receive of this rank has matched this message, which had arrived.
    ReceiveMatched(Message),
}

/// What a rank did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimelineActivity {
    /// It computed in this region of the code, if known.
    Compute(Option<Region>),
    /// It was in this call.
    Call(Call),
}

/// Time up to which the activity has been reported. A time before its start means that nothing was reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TimelineUntil(pub Time);

/// Index of an algorithm in the registry.
pub(crate) fn index_of(algorithm: &'static CollectiveAlgorithm) -> Option<u16> {
    let place = ALGORITHMS
        .iter()
        .position(|registered| std::ptr::eq(*registered, algorithm));
    place.map(|place| place as u16)
}
