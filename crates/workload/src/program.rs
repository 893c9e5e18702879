//! Applications as the simulator runs them: ranks with programs, which give operations.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use operation::{Answer, Operation, SentMessage};
use thiserror::Error;

use crate::recording_window::CuttableRecording;
use crate::{OtherLocations, Recording};

/// An error while a workload is read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{file}: {}{message}", rank.map(|r| format!("rank {r}: ")).unwrap_or_default())]
pub struct TraceError {
    /// File or folder.
    pub file: String,
    /// Rank, if the error belongs to one.
    pub rank: Option<u32>,
    /// The error and its remedy.
    pub message: String,
}

/// The operations of one rank in order.
pub trait Program: Send {
    /// The next operation; `None` at the end.
    ///
    /// # Errors
    /// The source is broken.
    fn next(&mut self) -> Result<Option<Operation>, TraceError>;
    /// What the last operation brought, or the start of the rank. Called before each [`Program::next`] if the workload
    /// [reacts](Workload::reacts); others need not read it.
    fn answer(&mut self, answer: Answer) {
        let _ = answer;
    }
    /// The last [`Operation::Send`] has left as this message. Called if the workload [reacts](Workload::reacts), before
    /// anything can receive it.
    fn sent(&mut self, message: SentMessage) {
        let _ = message;
    }
    /// What the recording tells beside the operations, complete at the end of the program. `None` if the source is no
    /// recording.
    fn recording(&self) -> Option<&Recording> {
        None
    }
}

/// An application: a number of ranks, their communicators and programs.
pub trait Workload: Send + Sync {
    /// Number of ranks.
    fn ranks(&self) -> u32;
    /// World ranks of each communicator's members, in their order. The first is that of all ranks
    /// ([`operation::WORLD`]).
    fn communicators(&self) -> Arc<[Vec<u32>]>;
    /// Names of the regions of the application's code; empty if they are not distinguished.
    fn regions(&self) -> Arc<[String]> {
        Arc::new([])
    }
    /// A program at the start of a rank's operations.
    ///
    /// # Errors
    /// The source is broken.
    fn program(&self, rank: u32) -> Result<Box<dyn Program>, TraceError>;
    /// Told where to leave the operations of the next run (`docs/formats/operations.md`). Those that can be asked again
    /// leave none.
    fn leaves_operations(&self, file: &Path) -> bool {
        let _ = file;
        false
    }
    /// Told the host of each rank once the job has its place.
    fn placed(&self, hosts: &[u32]) {
        let _ = hosts;
    }
    /// A limit of the source on which a legal application may depend if its ranks wait forever or disagree about
    /// a collective. One sentence without full stop, for the error of such a run.
    fn matching_limit(&self) -> Option<Cow<'static, str>> {
        None
    }
    /// Locations of a recording that are no ranks, such as threads.
    fn other_locations(&self) -> OtherLocations {
        OtherLocations::default()
    }
    /// The recording, if it is one that can be cut to a window.
    fn recorded(self: Arc<Self>) -> Option<Arc<dyn CuttableRecording>> {
        None
    }
    /// Whether its programs read their answers ([`Program::answer`]), so that what they do may depend on the
    /// simulation. Such a program is asked for one operation at a time, cannot be asked again, and has
    /// [`Operation::Select`], [`Operation::Iprobe`], matched probes, [`Operation::Cancel`] and
    /// [`Operation::NewCommunicator`].
    fn reacts(&self) -> bool {
        false
    }
    /// Whether a job may execute its programs several times, one after the other.
    fn repeats(&self) -> bool {
        true
    }
    /// Whether another process that reads the same experiment gets the same programs, as checkpoints require.
    fn reopens(&self) -> bool {
        false
    }
}
