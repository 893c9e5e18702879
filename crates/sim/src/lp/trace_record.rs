//! What ranks, NICs and routers tell of themselves as they go, where an experiment asks for it: records that the
//! tables `timeline`, `messages` and `waits` are made of. Nothing simulated depends on them.
//!
//! A record is told when its fact is certain in the LP that tells it, and holds nothing that another LP knows. What
//! belongs together, as the parts of a message's life do, comes together where records are committed
//! (`crates/sim/src/collect/message_history.rs`).

use des::{LpId, Time};
use fabric::Wait;
use mpi::{Message, MessageKind, TracedActivity};
use serde::{Deserialize, Serialize};
use topology::HostId;
use workload::Call;

/// One message between two ranks, among those that are under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MessageKey {
    /// Job.
    pub job: u16,
    /// Its part in its protocol.
    pub kind: u8,
    /// Sending rank.
    pub from: u32,
    /// Receiving rank.
    pub to: u32,
    /// Its place in the order of the two ranks; of one-sided communication, the request of who began it.
    pub sequence: u32,
}

impl MessageKey {
    /// Of a message.
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

/// What a rank was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Activity {
    /// It computed, in this part of the application's code.
    Compute(Option<u32>),
    /// It was in this call.
    Call(Call),
}

impl From<TracedActivity> for Activity {
    fn from(activity: TracedActivity) -> Activity {
        match activity {
            TracedActivity::Compute(region) => Activity::Compute(region),
            TracedActivity::Call(call) => Activity::Call(call),
        }
    }
}

/// A record; "now" is the time at which it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TraceRecord {
    /// A rank did something.
    Did {
        /// Job.
        job: u16,
        /// Rank.
        rank: u32,
        /// Since when.
        since: Time,
        /// Until when: now, or when it began to wait until now.
        until: Time,
        /// What it was.
        what: Activity,
        /// Whether it waited in the call, its CPU idle.
        blocked: bool,
    },
    /// A rank wants a message to be sent.
    Asked {
        /// Which one.
        key: MessageKey,
        /// Number among the messages of its host; none: it goes through memory.
        number: Option<u32>,
        /// When its rank came to it.
        at: Time,
    },
    /// What it is, told at once after that.
    Described {
        /// Which one.
        key: MessageKey,
        /// Payload in bytes.
        bytes: u64,
        /// Tag of the program's own messages.
        tag: Option<u32>,
        /// Index of the algorithm of a collective that it is a message of.
        algorithm: Option<u16>,
    },
    /// A message has kept its distance from the one before and is handed to the NIC only now.
    Handed {
        /// Which one.
        key: MessageKey,
    },
    /// The last packet that a rail has of a message is on its way out.
    Injected {
        /// The end point.
        source: HostId,
        /// Number among the messages of its host.
        number: u32,
        /// When its last byte will have left.
        at: Time,
    },
    /// All of a message is there.
    Arrived {
        /// Which one.
        key: MessageKey,
    },
    /// A receive takes it.
    Matched {
        /// Which one.
        key: MessageKey,
    },
    /// A packet gets its turn on a link and has waited for it.
    Waited {
        /// Its job.
        job: u16,
        /// The end point that it comes from.
        source: HostId,
        /// Number of its message among those of that host.
        number: u32,
        /// The router or host whose link it waited for.
        lp: LpId,
        /// Output port; of a host, the rail.
        port: u16,
        /// VC at the far end of the link.
        vc: u8,
        /// Bytes of the packet.
        bytes: u32,
        /// Number of this part of its wait, from 0.
        part: u8,
        /// Begin, end, reason, and who held the link.
        wait: Wait,
    },
}

// Series have as many records, and more.
const _: () = assert!(size_of::<TraceRecord>() <= 48);
