//! The behaviour of ranks as streams of operations: trace readers, motifs and synthetic traffic. The crate
//! knows nothing of networks or of MPI's implementation.

mod bigsim;
mod collective_totals;
pub mod dumpi;
mod goal;
mod imbalance;
mod info;
mod liballprof;
pub mod motif;
mod mpi_calls;
mod operations;
pub mod otf2;
mod program;
mod recording;
pub mod recording_window;
mod repeat;
mod scan;
mod source;
pub mod trace;
pub mod traffic;

pub use imbalance::Imbalance;
pub use info::{
    BigsimInfo, BigsimReplayInfo, CollectiveInfo, CommunicatorInfo, MessageInfo, MpiTimes, SizeRange,
    TraceInfo,
};
pub use operation::{
    Answer, Call, Collective, Communicator, Completed, Counts, Operation, ReceivedMessage, Reduction, Region,
    SentMessage, Takes, WORLD,
};
pub use operations::OperationsWriter;
pub use program::{Program, TraceError, Workload};
pub use recording::{CutOperations, EventGap, OtherLocations, Recording, SkippedCalls};
pub use recording_window::RecordingWindow;
pub use repeat::{repeated, repeated_without_end};
pub use source::{Interpreter, Interpreters, SOURCES, WorkloadSource, named, read};
pub use trace::{info, open};
