//! MPI semantics as a plain state machine per rank: operations in, messages out.
//!
//! A [`Rank`] reads a [`workload::Program`] and answers with [`Action`]s: send this message, call me again at
//! this time, finished. Its owner reports which messages [arrived](Rank::arrived) and [left the
//! NIC](Rank::injected). A rank knows nothing of packets, hosts, the kernel or other ranks.
//!
//! An optimistic executor may deliver messages that are cancelled later. A rank notes what it
//! [changes](Rank::keep_changes), [undoes](Rank::undo) it exactly, and answers contradictory input with an
//! error. Its state can be [saved](Rank::state) and [restored](Rank::restore).
//!
//! Source: the eager and rendezvous protocols of MPICH and Open MPI; overheads as in LogGP (Alexandrov,
//! Ionescu, Schauser, Scheiman 1995). `docs/methods/mpi.md` has the formulas.

mod agreement;
mod answering;
mod blocking_collective;
mod changes;
mod collectives;
mod compute;
mod cpu;
mod error;
mod expected_message;
mod idle;
mod job;
mod journal;
mod matching;
mod message;
mod nonblocking_collective;
mod ordering;
mod path;
mod presets;
mod program;
mod rank;
mod repetition;
mod requests;
mod settings;
mod statistics;
mod timeline;

pub use collectives::{
    ALGORITHMS, AlgorithmSelection, CollectiveAlgorithm, CollectiveArgs, CollectiveCall, CollectiveVariant,
    HostLayout, NamedAlgorithm, RanksByHost, Round, RoundReceive, SelectionRule, SelectionTable, TABLES,
};
pub use compute::{ComputeRule, ComputeScale};
pub use error::ReplayError;
pub use expected_message::ExpectedMessage;
pub use idle::IdleTime;
pub use job::MpiJob;
pub use message::{COLLECTIVE_CONTEXT, Message, MessageKind, NO_REQUEST, RMA_CONTEXT};
pub use path::{Awaited, PackedPath, PathTime, Transit};
pub use presets::{PRESETS, Preset};
pub use rank::agreement::check_agreement;
pub use rank::state::RankState;
pub use rank::undo::Changes;
pub use rank::{Action, Rank};
pub use settings::MpiSettings;
pub use statistics::{CallTime, RankStats};
pub use timeline::{TimelineActivity, TimelineEvent};
