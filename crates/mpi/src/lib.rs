//! MPI semantics as a plain state machine per rank: operations in, messages out.
//!
//! A [`Rank`] reads a [`workload::Program`] and answers with [`Action`]s: send this message, call me
//! again at this time, finished. Its owner tells it what [arrived](Rank::arrived) and what has
//! [left the NIC](Rank::injected). It sees nothing of packets, hosts or the kernel, and no other rank.
//!
//! Under an optimistic executor a rank is also brought what never happens in the end. It notes what it
//! [changes](Rank::keep_changes) and takes it [back](Rank::undo) exactly, answers nonsense with an error,
//! and can be [saved](Rank::state) and [restored](Rank::restore).
//!
//! Source of the protocol model: the eager and rendezvous protocols of MPICH and Open MPI; overheads
//! as in LogGP (Alexandrov, Ionescu, Schauser, Scheiman 1995). `docs/methods/mpi.md` has the formulas.

mod background;
mod collectives;
mod compute;
mod error;
mod job;
mod journal;
mod matching;
mod message;
mod note;
mod one_sided;
mod ongoing;
mod operations;
mod ordering;
mod presets;
mod program;
mod progress;
mod rank;
mod requests;
mod settings;
mod state;
mod statistics;

pub use collectives::{
    ALGORITHMS, Algorithm, Algorithms, CollectiveCall, Round, Rule, Share, TABLES, Table, Variant,
};
pub use compute::{ComputeRule, ComputeScale};
pub use error::ReplayError;
pub use job::Job;
pub use journal::Changes;
pub use message::{COLLECTIVE_CONTEXT, Kind, Message, NO_REQUEST, WINDOW_CONTEXT};
pub use note::{Doing, Note};
pub use presets::{PRESETS, Preset};
pub use rank::{Action, Rank};
pub use settings::Settings;
pub use state::RankState;
pub use statistics::{CallTime, RankStats};
