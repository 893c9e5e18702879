//! Errors of a replayed program.

use des::Time;
use thiserror::Error;
use workload::TraceError;

/// A program that cannot be replayed, or an owner that breaks the contract of a rank.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ReplayError {
    /// The source of the operations is broken.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A message is longer than the buffer of the receive that matches it (MPI_ERR_TRUNCATE).
    #[error(
        "rank {rank}: {call}: the message of {sent} bytes from rank {source_rank}, tag {tag}, communicator \
         {communicator} does not fit the receive buffer of {buffer} bytes"
    )]
    Truncation {
        /// Receiving rank.
        rank: u32,
        /// Name of the call that posted the receive.
        call: &'static str,
        /// Sending rank, counted in the communicator.
        source_rank: u32,
        /// Tag of the message.
        tag: u32,
        /// Communicator.
        communicator: u32,
        /// Bytes of the message.
        sent: u64,
        /// Bytes of the buffer.
        buffer: u64,
    },
    /// A call waits for a request that is not open.
    #[error("rank {rank}: {call}: request {request} was never opened, or is already completed")]
    UnknownRequest {
        /// Rank.
        rank: u32,
        /// Name of the call.
        call: &'static str,
        /// The request as the program numbers it.
        request: u64,
    },
    /// The simulation decides what a call completes, and the program does not read it.
    #[error(
        "rank {rank}: {call}: the simulation decides what it completes, and this workload does not read answers; give it \
         `reacts = true`, or name the requests that it completes in a wait"
    )]
    Unanswered {
        /// Rank.
        rank: u32,
        /// Name of the call.
        call: &'static str,
    },
    /// A call opens a request under the number of another one that is still open.
    #[error("rank {rank}: {call}: request {request} is still open")]
    RequestInUse {
        /// Rank.
        rank: u32,
        /// Name of the call.
        call: &'static str,
        /// The request as the program numbers it.
        request: u64,
    },
    /// Too many collectives of one communicator are in progress to distinguish them.
    #[error(
        "rank {rank}: {call}: {limit} collectives of communicator {communicator} are in progress, more than the \
         simulator distinguishes; wait for some of them first"
    )]
    TooManyCollectives {
        /// Rank.
        rank: u32,
        /// Name of the call.
        call: &'static str,
        /// Communicator.
        communicator: u32,
        /// Largest allowed number.
        limit: u32,
    },
    /// A job that repeats its program until others end, or until its own end, would stop the time.
    #[error(
        "rank {rank}: many repetitions in a row take no time, so that a job with `repeat_until_others_end` or `end` would \
         never end; give the rank computation, or MPI calls an overhead"
    )]
    EndlessRepetition {
        /// Rank.
        rank: u32,
    },
    /// A call names a communicator that the job does not have.
    #[error("rank {rank}: {call}: there is no communicator {communicator}; the job has {known}")]
    NoSuchCommunicator {
        /// Rank.
        rank: u32,
        /// Name of the call.
        call: &'static str,
        /// Communicator.
        communicator: u32,
        /// Number of communicators of the job.
        known: u32,
    },
    /// A rank makes a communicator that contradicts the job, or what another member made of it.
    #[error("rank {rank}: {call}: {what}")]
    NewCommunicator {
        /// Rank.
        rank: u32,
        /// Name of the call.
        call: &'static str,
        /// The contradiction.
        what: String,
    },
    /// A call names a communicator that the rank is no member of.
    #[error("rank {rank}: {call}: the rank is not a member of communicator {communicator}")]
    NotAMember {
        /// Rank.
        rank: u32,
        /// Name of the call.
        call: &'static str,
        /// Communicator.
        communicator: u32,
    },
    /// A call names a peer or root that the communicator does not have.
    #[error("rank {rank}: {call}: there is no rank {peer} in communicator {communicator} of {size} ranks")]
    NoSuchRank {
        /// Rank.
        rank: u32,
        /// Name of the call.
        call: &'static str,
        /// Peer or root, counted in the communicator.
        peer: u32,
        /// Communicator.
        communicator: u32,
        /// Size of the communicator.
        size: u32,
    },
    /// The counts of a collective are not one for each rank.
    #[error("rank {rank}: {call}: {given} counts for communicator {communicator} of {size} ranks")]
    Counts {
        /// Rank.
        rank: u32,
        /// Name of the call.
        call: &'static str,
        /// Number of counts.
        given: usize,
        /// Communicator.
        communicator: u32,
        /// Size of the communicator.
        size: u32,
    },
    /// The ranks of a communicator disagree about a collective.
    #[error("{kind} {number} of communicator {communicator}: {what}")]
    Collective {
        /// Communicator.
        communicator: u32,
        /// `collective` or `fence`.
        kind: &'static str,
        /// Number among the calls of its kind in the communicator, from 0.
        number: u64,
        /// Ranks, counted in the communicator, with their calls.
        what: String,
    },
    /// Simulated time ends (2^64 ps, 213 days).
    #[error("rank {rank}: at {now}, {span} more is beyond the end of simulated time, 213 days")]
    TimeOverflow {
        /// Rank.
        rank: u32,
        /// Time of the call.
        now: Time,
        /// Span that does not fit.
        span: Time,
    },
    /// The owner called the rank with input that the rank did not request: a defect of the simulator, not of the
    /// program.
    #[error("rank {rank}: defect of the simulator: {what}")]
    Contract {
        /// Description.
        rank: u32,
        /// What happened.
        what: String,
    },
    /// A saved state that does not belong to this rank in this job.
    #[error("rank {rank}: cannot continue from the checkpoint: {what}")]
    Checkpoint {
        /// Rank.
        rank: u32,
        /// The contradiction.
        what: &'static str,
    },
    /// The ranks or communicators of a job contradict each other.
    #[error("{0}")]
    Job(String),
}
