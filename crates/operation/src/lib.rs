//! What the programs of ranks ask of the MPI layer, and what it answers.
//!
//! No other crate of the project is below: the library that real programs load says the same as a workload inside the
//! simulator.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

/// Number of a communicator: an index of those that a workload declares, or of one that the ranks make.
pub type Communicator = u32;

/// Index of a part of the application's code among those that a workload names.
pub type Region = u32;

/// Index of the communicator of all ranks.
pub const WORLD: Communicator = 0;

macro_rules! calls {
    ($($call:ident = $name:literal,)*) => {
        /// The MPI call that an operation was recorded in, for the time-by-call statistics.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[repr(u8)]
        pub enum Call {
            $(#[doc = $name] $call,)*
            /// Any other call.
            Other,
        }

        impl Call {
            /// All calls in the order of their discriminants.
            pub const ALL: &[Call] = &[$(Call::$call,)* Call::Other];

            /// `MPI_Send` and so on; `MPI (other)` for the rest.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Call::$call => $name,)*
                    Call::Other => "MPI (other)",
                }
            }

            /// The call of a name; `None` for a function without a call of its own.
            pub fn from_name(name: &str) -> Option<Call> {
                match name {
                    $($name => Some(Call::$call),)*
                    _ => None,
                }
            }
        }
    };
}

calls! {
    Send = "MPI_Send",
    Ssend = "MPI_Ssend",
    Bsend = "MPI_Bsend",
    Rsend = "MPI_Rsend",
    Isend = "MPI_Isend",
    Issend = "MPI_Issend",
    Ibsend = "MPI_Ibsend",
    Irsend = "MPI_Irsend",
    Recv = "MPI_Recv",
    Irecv = "MPI_Irecv",
    Sendrecv = "MPI_Sendrecv",
    Start = "MPI_Start",
    Wait = "MPI_Wait",
    Waitall = "MPI_Waitall",
    Waitany = "MPI_Waitany",
    Waitsome = "MPI_Waitsome",
    Test = "MPI_Test",
    Testall = "MPI_Testall",
    Testany = "MPI_Testany",
    Testsome = "MPI_Testsome",
    Probe = "MPI_Probe",
    Iprobe = "MPI_Iprobe",
    Barrier = "MPI_Barrier",
    Bcast = "MPI_Bcast",
    Reduce = "MPI_Reduce",
    Allreduce = "MPI_Allreduce",
    Allgather = "MPI_Allgather",
    Allgatherv = "MPI_Allgatherv",
    Alltoall = "MPI_Alltoall",
    Alltoallv = "MPI_Alltoallv",
    Gather = "MPI_Gather",
    Gatherv = "MPI_Gatherv",
    Scatter = "MPI_Scatter",
    Scatterv = "MPI_Scatterv",
    ReduceScatter = "MPI_Reduce_scatter",
    Scan = "MPI_Scan",
    Exscan = "MPI_Exscan",
    ReduceScatterBlock = "MPI_Reduce_scatter_block",
    Ibarrier = "MPI_Ibarrier",
    Ibcast = "MPI_Ibcast",
    Ireduce = "MPI_Ireduce",
    Iallreduce = "MPI_Iallreduce",
    Iallgather = "MPI_Iallgather",
    Iallgatherv = "MPI_Iallgatherv",
    Ialltoall = "MPI_Ialltoall",
    Ialltoallv = "MPI_Ialltoallv",
    Igather = "MPI_Igather",
    Igatherv = "MPI_Igatherv",
    Iscatter = "MPI_Iscatter",
    Iscatterv = "MPI_Iscatterv",
    IreduceScatter = "MPI_Ireduce_scatter",
    IreduceScatterBlock = "MPI_Ireduce_scatter_block",
    Iscan = "MPI_Iscan",
    Iexscan = "MPI_Iexscan",
    Startall = "MPI_Startall",
    Put = "MPI_Put",
    Get = "MPI_Get",
    Accumulate = "MPI_Accumulate",
    WinCreate = "MPI_Win_create",
    WinFence = "MPI_Win_fence",
    WinFree = "MPI_Win_free",
    CommDup = "MPI_Comm_dup",
    CommSplit = "MPI_Comm_split",
    CommCreate = "MPI_Comm_create",
    CartCreate = "MPI_Cart_create",
    Mprobe = "MPI_Mprobe",
    Improbe = "MPI_Improbe",
    Mrecv = "MPI_Mrecv",
    Imrecv = "MPI_Imrecv",
    Cancel = "MPI_Cancel",
}

impl Call {
    /// The collective that the call performs for the application.
    pub const fn collective(self) -> Option<Collective> {
        Some(match self {
            Call::Barrier | Call::Ibarrier => Collective::Barrier,
            Call::Bcast | Call::Ibcast => Collective::Bcast,
            Call::Reduce | Call::Ireduce => Collective::Reduce,
            Call::Allreduce | Call::Iallreduce => Collective::Allreduce,
            Call::Allgather | Call::Iallgather | Call::Allgatherv | Call::Iallgatherv => {
                Collective::Allgather
            }
            Call::Alltoall | Call::Ialltoall | Call::Alltoallv | Call::Ialltoallv => Collective::Alltoall,
            Call::Gather | Call::Igather | Call::Gatherv | Call::Igatherv => Collective::Gather,
            Call::Scatter | Call::Iscatter | Call::Scatterv | Call::Iscatterv => Collective::Scatter,
            Call::ReduceScatter
            | Call::IreduceScatter
            | Call::ReduceScatterBlock
            | Call::IreduceScatterBlock => Collective::ReduceScatter,
            Call::Scan | Call::Iscan => Collective::Scan,
            Call::Exscan | Call::Iexscan => Collective::Exscan,
            _ => return None,
        })
    }

    /// Whether the call starts a collective and returns.
    pub fn is_nonblocking_collective(self) -> bool {
        (Call::Ibarrier..=Call::Iexscan).contains(&self)
    }

    /// Whether the call waits for requests or tests them.
    pub fn completes_requests(self) -> bool {
        (Call::Wait..=Call::Testsome).contains(&self)
    }
}

/// A collective operation of MPI. `bytes` of an operation are, as in the MPI standard's arguments:
/// the count of one rank's contribution times the size of its type (for alltoall: to each peer; for the
/// `v` variants: this rank's total divided by the number of ranks, rounded up).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Collective {
    Barrier,
    Bcast,
    Reduce,
    Allreduce,
    Allgather,
    Alltoall,
    Gather,
    Scatter,
    ReduceScatter,
    Scan,
    Exscan,
}

impl Collective {
    /// Name as in the registry of algorithms, for example `allreduce`.
    pub const fn name(self) -> &'static str {
        use Collective::*;
        match self {
            Barrier => "barrier",
            Bcast => "bcast",
            Reduce => "reduce",
            Allreduce => "allreduce",
            Allgather => "allgather",
            Alltoall => "alltoall",
            Gather => "gather",
            Scatter => "scatter",
            ReduceScatter => "reduce-scatter",
            Scan => "scan",
            Exscan => "exscan",
        }
    }
}

macro_rules! reductions {
    ($($reduction:ident = $name:literal,)*) => {
        /// A reduction operation that MPI predefines (MPI 4.1, section 6.9.2).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[repr(u8)]
        pub enum Reduction {
            $(#[doc = $name] $reduction,)*
        }

        impl Reduction {
            /// The reduction of a number from 1, in the order of MPICH and DUMPI.
            pub fn numbered(number: i64) -> Option<Reduction> {
                const ALL: &[Reduction] = &[$(Reduction::$reduction,)*];
                let index = usize::try_from(number).ok()?.checked_sub(1)?;
                ALL.get(index).copied()
            }

            /// `MPI_SUM` and so on.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Reduction::$reduction => $name,)*
                }
            }
        }
    };
}

reductions! {
    Max = "MPI_MAX",
    Min = "MPI_MIN",
    Sum = "MPI_SUM",
    Prod = "MPI_PROD",
    Land = "MPI_LAND",
    Band = "MPI_BAND",
    Lor = "MPI_LOR",
    Bor = "MPI_BOR",
    Lxor = "MPI_LXOR",
    Bxor = "MPI_BXOR",
    Minloc = "MPI_MINLOC",
    Maxloc = "MPI_MAXLOC",
}

/// One operation of a rank. Ranks are numbers in the communicator of the operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// Computes for a time of the recorded machine.
    Compute {
        /// Picoseconds.
        ps: u64,
        /// The region of the application's code; `None` if unknown.
        region: Option<Region>,
    },
    /// Sends; `request` makes it non-blocking.
    Send {
        /// Destination rank.
        to: u32,
        /// Tag.
        tag: u32,
        /// Communicator.
        communicator: Communicator,
        /// Bytes.
        bytes: u64,
        /// Request of a non-blocking send, a number that no other open request of the rank has.
        request: Option<u64>,
        /// Recorded call. A synchronous mode (Ssend, Issend) completes when matched.
        call: Call,
    },
    /// Receives; `request` makes it non-blocking.
    Receive {
        /// Source rank; `None` for `MPI_ANY_SOURCE`.
        from: Option<u32>,
        /// Tag; `None` for `MPI_ANY_TAG`.
        tag: Option<u32>,
        /// Communicator.
        communicator: Communicator,
        /// Size of the buffer in bytes.
        bytes: u64,
        /// Request of a non-blocking receive.
        request: Option<u64>,
        /// Recorded call.
        call: Call,
    },
    /// Waits until all of these requests are complete. Waitany, Waitsome and the Test family have the requests
    /// that the recording found complete, which may be none.
    Wait {
        /// Requests.
        requests: Vec<u64>,
        /// Recorded call.
        call: Call,
    },
    /// Blocks until a message with this envelope is available, and does not receive it: Probe, and an Iprobe
    /// that found a message.
    Probe {
        /// Source rank; `None` for `MPI_ANY_SOURCE`.
        from: Option<u32>,
        /// Tag; `None` for `MPI_ANY_TAG`.
        tag: Option<u32>,
        /// Communicator.
        communicator: Communicator,
        /// Recorded call.
        call: Call,
    },
    /// Completes requests that the simulation chooses, and answers which: Waitany, Waitsome and the Test family of a
    /// program that reacts to answers. Without requests, also a test of a recording that found nothing, which took its
    /// time.
    Select {
        /// Requests.
        requests: Vec<u64>,
        /// Which complete ones it takes.
        takes: Takes,
        /// Whether it waits until there is one to take; `takes` is then not [`Takes::All`].
        blocks: bool,
        /// Call.
        call: Call,
    },
    /// Answers whether a message with this envelope is available, and does not receive it. One of a recording whose
    /// times are not known, and that found a message, is [`Operation::Probe`].
    Iprobe {
        /// Source rank; `None` for `MPI_ANY_SOURCE`.
        from: Option<u32>,
        /// Tag; `None` for `MPI_ANY_TAG`.
        tag: Option<u32>,
        /// Communicator.
        communicator: Communicator,
        /// Call.
        call: Call,
    },
    /// Takes a message with this envelope, so that nothing but [`Operation::ReceiveMatched`] receives it: Mprobe and
    /// Improbe. An Improbe of a recording has found its message.
    MatchedProbe {
        /// Source rank; `None` for `MPI_ANY_SOURCE`.
        from: Option<u32>,
        /// Tag; `None` for `MPI_ANY_TAG`.
        tag: Option<u32>,
        /// Communicator.
        communicator: Communicator,
        /// The number under which the program has the message, below 2^32, which no other such message has.
        message: u64,
        /// Whether it waits until there is one.
        blocks: bool,
        /// Call.
        call: Call,
    },
    /// Receives a message that [`Operation::MatchedProbe`] has taken: Mrecv, and with a request Imrecv.
    ReceiveMatched {
        /// The number that the probe gave it.
        message: u64,
        /// Size of the buffer in bytes.
        bytes: u64,
        /// Request of a non-blocking receive.
        request: Option<u64>,
        /// Call.
        call: Call,
    },
    /// Cancels a request, and answers whether it did: a receive without a
    /// message is complete then, and its completion has no message. Others go on.
    Cancel {
        /// The request.
        request: u64,
        /// Call.
        call: Call,
    },
    /// Makes a communicator known to this rank, in a program that reacts to answers: all members make it with
    /// the same number and members, before they use it. It takes no time; a library that agrees on it sends messages
    /// of its own.
    NewCommunicator {
        /// The number of the communicator, at least that of those that the workload declares and below 2^30.
        communicator: Communicator,
        /// World ranks of the members, in their order.
        members: Vec<u32>,
        /// Call.
        call: Call,
    },
    /// Takes part in a collective of all ranks of the communicator.
    Collective {
        /// The collective.
        collective: Collective,
        /// Communicator.
        communicator: Communicator,
        /// Root rank in the communicator; 0 where there is none.
        root: u32,
        /// Bytes, see [`Collective`].
        bytes: u64,
        /// Bytes by rank for the `v` variants, where known.
        counts: Option<Box<Counts>>,
        /// Request of a non-blocking collective.
        request: Option<u64>,
        /// Reduction, by which the ranks are compared; `None` if there is none, or if it is unknown or defined by
        /// the application.
        reduction: Option<Reduction>,
        /// Recorded call.
        call: Call,
    },
    /// Writes into the memory of another rank. The next fence completes it.
    Put {
        /// Target rank.
        to: u32,
        /// Communicator of the RMA window.
        communicator: Communicator,
        /// Bytes.
        bytes: u64,
        /// Recorded call.
        call: Call,
    },
    /// Reads from the memory of another rank. The next fence completes it.
    Get {
        /// Target rank.
        from: u32,
        /// Communicator of the RMA window.
        communicator: Communicator,
        /// Bytes.
        bytes: u64,
        /// Recorded call.
        call: Call,
    },
    /// Completes all puts and gets of the communicator's ranks since the last fence.
    Fence {
        /// Communicator of the RMA window.
        communicator: Communicator,
        /// Recorded call.
        call: Call,
    },
    /// Marks the end of a repetition of the workload. It takes no time.
    RepetitionEnd {
        /// Number of repetitions that have ended.
        number: u64,
        /// Whether the job is measured up to here, and goes on.
        goes_on: bool,
        /// Whether all repetitions are measured, and none is the last one.
        is_endless: bool,
    },
}

impl Operation {
    /// The call of MPI; `None` of computation and of the end of a repetition.
    pub fn call(&self) -> Option<Call> {
        match self {
            Operation::Send { call, .. }
            | Operation::Receive { call, .. }
            | Operation::Wait { call, .. }
            | Operation::Probe { call, .. }
            | Operation::Select { call, .. }
            | Operation::Iprobe { call, .. }
            | Operation::MatchedProbe { call, .. }
            | Operation::ReceiveMatched { call, .. }
            | Operation::Cancel { call, .. }
            | Operation::NewCommunicator { call, .. }
            | Operation::Collective { call, .. }
            | Operation::Put { call, .. }
            | Operation::Get { call, .. }
            | Operation::Fence { call, .. } => Some(*call),
            Operation::Compute { .. } | Operation::RepetitionEnd { .. } => None,
        }
    }
}

/// Bytes that one rank sends to and receives from each rank of a communicator, in its order. Where a rank sends
/// the same to all (allgatherv, gatherv), `sends` has one entry; where it receives one part only (scatterv),
/// `receives` has one. Lists that the caller of MPI need not know (`receives` of gatherv and `sends` of
/// scatterv except at the root) are empty. For reduce-scatter, `receives` has the part of each rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Bytes to each rank.
    pub sends: Vec<u64>,
    /// Bytes from each rank.
    pub receives: Vec<u64>,
    /// The bytes of the call if it was in place (`MPI_IN_PLACE`), where a recording does not tell whether it was.
    /// The ranks are compared by it.
    pub in_place_bytes: Option<NonZeroU64>,
}

impl Counts {
    /// Known sizes by rank.
    pub fn new(sends: Vec<u64>, receives: Vec<u64>) -> Counts {
        Counts {
            sends,
            receives,
            in_place_bytes: None,
        }
    }
}

/// Which complete requests an [`Operation::Select`] takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Takes {
    /// All of the list, once all are complete: Test, Testall.
    All,
    /// The first of the list that is complete: Testany, Waitany.
    First,
    /// All that are complete: Testsome, Waitsome.
    Complete,
    /// All receives of the list that are complete, in the order in which they completed. A look that finds none takes
    /// no time, so a program may look only as often as it does something else: the scheduler of a recorded runtime,
    /// whose times have its own polls.
    Arrived,
}

/// What the last operation brought to a program that reacts to answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Time of the rank, in ps since the start of the run.
    pub now_ps: u64,
    /// Of [`Operation::Select`] and of probes: whether there was something to take, or to receive; of
    /// [`Operation::Cancel`]: whether it was cancelled. It is true for a selection from no requests.
    pub flag: bool,
    /// Requests that it completed, in the order in which they completed; of a receive or probe without a request, its
    /// message.
    pub completed: Vec<Completed>,
}

/// A request that is complete, or the message of a receive or probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completed {
    /// The request; `None` of a receive or probe without one.
    pub request: Option<u64>,
    /// The message; `None` of sends, collectives, one-sided communication and receives that were cancelled.
    pub message: Option<ReceivedMessage>,
}

/// The message of a receive or probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceivedMessage {
    /// Its sender in the communicator of the operation.
    pub source: u32,
    /// Its tag.
    pub tag: u32,
    /// Its bytes.
    pub bytes: u64,
    /// Which message it is.
    pub sent: SentMessage,
}

/// A message of one rank to another, told apart from all others between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SentMessage {
    /// World rank of the sender.
    pub from: u32,
    /// World rank of the receiver.
    pub to: u32,
    /// Its number; repeats after 2^32 messages between the two.
    pub sequence: u32,
}
