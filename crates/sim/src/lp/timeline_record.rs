//! Timeline records of ranks, NICs and routers, from which the tables `timeline`, `messages` and `waits` are built. The
//! simulation does not depend on them.
//!
//! An LP emits a record when it knows the fact. The record contains nothing that only another LP knows.
//! `crates/sim/src/collect/message_history.rs` joins the records of a message when they are committed.

use des::{LpId, Time};
use fabric::Wait;
use mpi::{Message, MessageKind, TimelineActivity};
use serde::{Deserialize, Serialize};
use topology::HostId;
use workload::Call;

/// Identifies a message between two ranks, among those in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MessageKey {
    /// Job.
    pub job: u16,
    /// Part of its protocol.
    pub kind: u8,
    /// Sending rank.
    pub from: u32,
    /// Receiving rank.
    pub to: u32,
    /// Number in the order of messages between the two ranks; for one-sided communication, the request of the origin.
    pub sequence: u32,
}

impl MessageKey {
    /// The key of a message.
    pub fn new(job: u16, message: &Message) -> MessageKey {
        let sequence = match message.kind {
            MessageKind::Eager
            | MessageKind::RequestToSend
            | MessageKind::ClearToSend
            | MessageKind::Data => message.sequence,
            MessageKind::Put | MessageKind::PutDone | MessageKind::Get | MessageKind::GetData => {
                message.request
            }
        };
        MessageKey {
            job,
            kind: message.kind as u8,
            from: message.from,
            to: message.to,
            sequence,
        }
    }
}

/// Activity of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Activity {
    /// Computation, with the region of the application's code.
    Compute(Option<u32>),
    /// An MPI call.
    Call(Call),
}

impl From<TimelineActivity> for Activity {
    fn from(activity: TimelineActivity) -> Activity {
        match activity {
            TimelineActivity::Compute(region) => Activity::Compute(region),
            TimelineActivity::Call(call) => Activity::Call(call),
        }
    }
}

/// A timeline record. "Now" is the time of its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimelineRecord {
    /// A rank finished an activity.
    Did {
        /// Job.
        job: u16,
        /// Rank.
        rank: u32,
        /// Begin.
        since: Time,
        /// End: now, or the time at which it began to wait until now.
        until: Time,
        /// The activity.
        what: Activity,
        /// Whether it waited in the call with an idle CPU.
        blocked: bool,
    },
    /// A rank asked to send a message.
    Asked {
        /// The message.
        key: MessageKey,
        /// Number among the messages of its host; `None` through memory.
        number: Option<u32>,
        /// Time of the request.
        at: Time,
    },
    /// Properties of the message, emitted directly after `Asked`.
    Described {
        /// The message.
        key: MessageKey,
        /// Payload in bytes.
        bytes: u64,
        /// Tag of a point-to-point message of the program.
        tag: Option<u32>,
        /// Index of the collective algorithm to which it belongs.
        algorithm: Option<u16>,
    },
    /// A message was handed to the NIC after a gap.
    Handed {
        /// The message.
        key: MessageKey,
    },
    /// A rail injects its last packet of a message.
    Injected {
        /// The end point.
        source: HostId,
        /// Number among the messages of its host.
        number: u32,
        /// Time at which its last byte leaves.
        at: Time,
    },
    /// A message has arrived completely.
    Arrived {
        /// The message.
        key: MessageKey,
    },
    /// A receive has matched a message.
    Matched {
        /// The message.
        key: MessageKey,
    },
    /// A packet has waited for a link and now departs.
    Waited {
        /// Its job.
        job: u16,
        /// Its source end point.
        source: HostId,
        /// Number of its message among those of the source host.
        number: u32,
        /// The router or host at which it waited.
        lp: LpId,
        /// Output port; at a host, the rail.
        port: u16,
        /// VC at the far end of the link.
        vc: u8,
        /// Bytes of the packet.
        bytes: u32,
        /// Number of this part of its wait, from 0.
        part: u8,
        /// Begin, end, reason, and the jobs that delayed it.
        wait: Wait,
    },
}

// Series produce at least as many records, so records stay small.
const _: () = assert!(size_of::<TimelineRecord>() <= 48);
