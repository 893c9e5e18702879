//! What the CPU of a rank does.

use des::Time;
use serde::{Deserialize, Serialize};
use workload::{Call, Region};

use crate::MpiSettings;
use crate::matching::MatchPattern;
use crate::requests::{RequestInfo, RequestKind};

/// State of a rank's CPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum CpuState {
    /// The program has not started.
    New,
    /// Executes operations, only during a call of the owner.
    Running,
    /// Computes or pays an overhead, then issues a send.
    Busy {
        until: Time,
        departure: Option<OutgoingSend>,
    },
    /// Blocked on requests. Overheads of what has arrived last until `busy_until`.
    Waiting { outstanding: u32, busy_until: Time },
    /// Blocked until a matching message arrives. Comparisons with others last until `busy_until`. A matched probe takes
    /// the message under a number.
    Probing {
        pattern: MatchPattern,
        busy_until: Time,
        takes: Option<u32>,
    },
    /// The program has ended.
    Finished,
    /// [`crate::Rank::stop`] has interrupted the program.
    Stopped { at: Time },
}

/// A send whose overhead is being paid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct OutgoingSend {
    /// Rank of the job.
    pub to: u32,
    pub context: u32,
    pub tag: u32,
    pub bytes: u64,
    pub call: Call,
    pub origin: SendOrigin,
}

impl OutgoingSend {
    /// Whether it is complete for the sender once it has left, whatever its size.
    pub fn is_buffered(&self) -> bool {
        matches!(self.call, Call::Bsend | Call::Ibsend)
    }

    /// Whether it is complete only when it is matched, whatever its size.
    pub fn is_synchronous(&self) -> bool {
        matches!(self.call, Call::Ssend | Call::Issend)
    }

    /// Whether a receive at the other rank takes part.
    pub fn is_two_sided(&self) -> bool {
        !matches!(self.origin, SendOrigin::Put | SendOrigin::Get)
    }

    /// Whether it asks before it sends the payload.
    pub fn is_rendezvous(&self, settings: &MpiSettings) -> bool {
        self.is_synchronous() || self.bytes > settings.eager_threshold
    }

    /// Whether the sender copies the payload of a rendezvous, so that it is complete once it has left.
    pub fn is_copied(&self, settings: &MpiSettings) -> bool {
        self.is_buffered() || !self.is_synchronous() && self.bytes <= settings.copy_threshold
    }

    pub fn info(&self) -> RequestInfo {
        let OutgoingSend {
            to,
            context,
            tag,
            call,
            origin,
            ..
        } = *self;
        let kind = match origin {
            SendOrigin::Put => RequestKind::Put,
            SendOrigin::Get => RequestKind::Get,
            SendOrigin::Blocking | SendOrigin::NonBlocking(_) | SendOrigin::Collective => RequestKind::Send,
        };
        RequestInfo {
            kind,
            peer: Some(to),
            tag: Some(tag),
            context,
            call,
        }
    }
}

/// What the sender does after the send.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum SendOrigin {
    /// It blocks until the send is complete.
    Blocking,
    /// It continues; the program waits for this request later.
    NonBlocking(u64),
    /// It continues with the round of a collective.
    Collective,
    /// It continues; the payload goes into the memory of the target.
    Put,
    /// It continues; the payload comes from the memory of the target.
    Get,
}

/// What the time since the last operation counts as.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum CpuActivity {
    None,
    /// Computation in this region of the code.
    Compute(Option<Region>),
    Call {
        call: Call,
        calls: u64,
    },
}

/// Whether the CPU continues.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CpuStep {
    Continue,
    /// The CPU suspends; the state has the end.
    Suspend,
}
