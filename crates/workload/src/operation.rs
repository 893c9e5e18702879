//! The language between a workload and the MPI layer.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Index of a communicator in [`Workload::communicators`].
pub type Communicator = u32;

/// Index of a part of the application's code in [`Workload::regions`].
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
            /// All of them, in the order of their discriminants.
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

/// One thing that a rank does. Ranks are numbers in the communicator that is named with them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// Computes for so many picoseconds of the recorded machine.
    Compute {
        /// Picoseconds.
        ps: u64,
        /// The part of the application's code that it does so in; none: not known.
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
        /// Non-blocking: the request, a number that no other open request of the rank has.
        request: Option<u64>,
        /// Recorded call. A synchronous mode (Ssend, Issend) completes when matched.
        call: Call,
    },
    /// Receives; `request` makes it non-blocking.
    Receive {
        /// Source rank; none: `MPI_ANY_SOURCE`.
        from: Option<u32>,
        /// Tag; none: `MPI_ANY_TAG`.
        tag: Option<u32>,
        /// Communicator.
        communicator: Communicator,
        /// Size of the buffer in bytes.
        bytes: u64,
        /// Non-blocking: the request.
        request: Option<u64>,
        /// Recorded call.
        call: Call,
    },
    /// Waits until all of these requests are complete: Wait, Waitall; Waitany, Waitsome and the Test
    /// family with the requests that the recording saw completed (none: goes on at once).
    Wait {
        /// Requests.
        requests: Vec<u64>,
        /// Recorded call.
        call: Call,
    },
    /// Blocks until a message that a receive with this envelope would take is here, and leaves it: Probe,
    /// and an Iprobe that found something.
    Probe {
        /// Source rank; none: `MPI_ANY_SOURCE`.
        from: Option<u32>,
        /// Tag; none: `MPI_ANY_TAG`.
        tag: Option<u32>,
        /// Communicator.
        communicator: Communicator,
        /// Recorded call.
        call: Call,
    },
    /// Takes part in a collective of all ranks of the communicator.
    Collective {
        /// Which.
        collective: Collective,
        /// Communicator.
        communicator: Communicator,
        /// Root rank in the communicator; 0 where there is none.
        root: u32,
        /// Bytes, see [`Collective`].
        bytes: u64,
        /// What each rank gives and takes, for the `v` variants, where it is known.
        counts: Option<Box<Counts>>,
        /// Non-blocking: the request.
        request: Option<u64>,
        /// Recorded call.
        call: Call,
    },
    /// Writes into the memory of another rank; complete, there too, at the next fence.
    Put {
        /// Whose memory.
        to: u32,
        /// Communicator of the window.
        communicator: Communicator,
        /// Bytes.
        bytes: u64,
        /// Recorded call.
        call: Call,
    },
    /// Reads from the memory of another rank; complete at the next fence.
    Get {
        /// Whose memory.
        from: u32,
        /// Communicator of the window.
        communicator: Communicator,
        /// Bytes.
        bytes: u64,
        /// Recorded call.
        call: Call,
    },
    /// Ends what all ranks of the communicator have put and got since the last fence.
    Fence {
        /// Communicator of the window.
        communicator: Communicator,
        /// Recorded call.
        call: Call,
    },
}

/// What one rank gives to and takes from each rank of a communicator, in bytes and in the communicator's
/// order. Where a rank gives all others the same (allgatherv, gatherv: its own part), `sends` has one entry;
/// where it takes one part only (scatterv), `receives` has. What the caller of MPI need not know (`receives`
/// of gatherv but at the root, `sends` of scatterv but there) is empty. For reduce-scatter, `receives` has the
/// part of each rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Bytes to each rank.
    pub sends: Vec<u64>,
    /// Bytes from each rank.
    pub receives: Vec<u64>,
}

/// An error of a workload while it is read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{file}: {}{message}", rank.map(|r| format!("rank {r}: ")).unwrap_or_default())]
pub struct TraceError {
    /// File or folder.
    pub file: String,
    /// Rank, where one is at fault.
    pub rank: Option<u32>,
    /// What is wrong and what to do.
    pub message: String,
}

/// The operations of one rank, one after the other.
pub trait Program: Send {
    /// The next operation; none at the end.
    ///
    /// # Errors
    /// The source is broken.
    fn next(&mut self) -> Result<Option<Operation>, TraceError>;
}

/// An application: a number of ranks, their communicators and programs.
pub trait Workload: Send + Sync {
    /// Number of ranks.
    fn ranks(&self) -> u32;
    /// World ranks of each communicator's members, in their order. The first is [`WORLD`].
    fn communicators(&self) -> Arc<[Vec<u32>]>;
    /// Names of the parts of the application's code that computations are told apart by; none, if they are
    /// not.
    fn regions(&self) -> Arc<[String]> {
        Arc::new([])
    }
    /// A program that starts at the beginning of a rank's operations.
    ///
    /// # Errors
    /// The source is broken.
    fn program(&self, rank: u32) -> Result<Box<dyn Program>, TraceError>;
    /// Whether another process that reads the same experiment finds the same programs: then a run can be
    /// checkpointed, and continued.
    fn reopens(&self) -> bool {
        false
    }
}
