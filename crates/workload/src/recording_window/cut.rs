//! A window of a recording as a workload.
//!
//! Each rank replays the operations of the calls that begin in its window. A message is replayed if both its send and
//! its receive are inside, a collective if all members of the communicator call it inside. The others are left out and
//! counted. Requests of operations that are left out are not waited for; open requests are waited for at the end of the
//! window. The operations that are left wait for each other in no way that they did not in the recording, so that a cut
//! causes no deadlock.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::borders::{self, KeptOperations, MatchKey, is_counted, match_key};
use super::{CuttableRecording, RecordedProgram, RecordingEdges, RecordingWindow, edges};
use crate::{Call, CutOperations, Operation, OtherLocations, Program, Recording, TraceError, Workload};

/// Opens a window of a recording.
///
/// # Errors
/// As [`RecordingWindow::of`].
pub fn open(
    recorded: Arc<dyn CuttableRecording>,
    window: &RecordingWindow,
) -> Result<Arc<dyn Workload>, TraceError> {
    let edges = edges::find(&*recorded, window)?;
    let kept = match window {
        RecordingWindow::Mpi | RecordingWindow::All => None,
        _ => Some(borders::find(&*recorded, window, &edges)?),
    };
    Ok(Arc::new(CutWorkload {
        communicators: recorded.communicators(),
        recorded,
        edges,
        kept: kept.map(|kept| kept.into_iter().map(Arc::new).collect()),
    }))
}

struct CutWorkload {
    recorded: Arc<dyn CuttableRecording>,
    communicators: Arc<[Vec<u32>]>,
    edges: Vec<RecordingEdges>,
    /// What each rank keeps; `None` for the whole recording.
    kept: Option<Vec<Arc<KeptOperations>>>,
}

impl Workload for CutWorkload {
    fn ranks(&self) -> u32 {
        self.recorded.ranks()
    }

    fn communicators(&self) -> Arc<[Vec<u32>]> {
        self.communicators.clone()
    }

    fn regions(&self) -> Arc<[String]> {
        self.recorded.regions()
    }

    fn program(&self, rank: u32) -> Result<Box<dyn Program>, TraceError> {
        let program = self.recorded.program_between(rank, self.edges[rank as usize])?;
        let Some(kept) = &self.kept else {
            return Ok(program);
        };
        Ok(Box::new(CutProgram {
            program,
            rank,
            communicators: self.communicators.clone(),
            kept: kept[rank as usize].clone(),
            counts: BTreeMap::new(),
            open: BTreeSet::new(),
            recording: Recording::default(),
            cut: CutOperations::default(),
            has_ended: false,
        }))
    }

    fn matching_limit(&self) -> Option<Cow<'static, str>> {
        self.recorded.matching_limit()
    }

    fn other_locations(&self) -> OtherLocations {
        self.recorded.other_locations()
    }

    fn reopens(&self) -> bool {
        self.recorded.reopens()
    }
}

struct CutProgram {
    program: Box<dyn RecordedProgram>,
    rank: u32,
    communicators: Arc<[Vec<u32>]>,
    kept: Arc<KeptOperations>,
    /// Operations in the window so far, of the keys of which not all are kept.
    counts: BTreeMap<MatchKey, u64>,
    /// Open requests of operations that are replayed.
    open: BTreeSet<u64>,
    recording: Recording,
    cut: CutOperations,
    has_ended: bool,
}

impl Program for CutProgram {
    fn next(&mut self) -> Result<Option<Operation>, TraceError> {
        while !self.has_ended {
            match self.program.next()? {
                Some(operation) if self.program.is_inside() => {
                    if let Some(operation) = self.replayed(operation) {
                        return Ok(Some(operation));
                    }
                }
                Some(_) => {}
                None => return Ok(self.end()),
            }
        }
        Ok(None)
    }

    fn recording(&self) -> Option<&Recording> {
        Some(&self.recording)
    }
}

impl CutProgram {
    /// Waits for the open requests, so that no message of the window is left in flight.
    fn end(&mut self) -> Option<Operation> {
        self.has_ended = true;
        self.recording = self.program.recording().cloned().unwrap_or_default();
        self.recording.cut = Some(self.cut);
        let requests: Vec<u64> = std::mem::take(&mut self.open).into_iter().collect();
        let call = Call::Other;
        (!requests.is_empty()).then_some(Operation::Wait { requests, call })
    }

    /// An operation in the window; `None` if its partner is outside.
    fn replayed(&mut self, mut operation: Operation) -> Option<Operation> {
        if !self.is_kept(&operation) {
            match operation {
                Operation::Send { .. } => self.cut.sends += 1,
                Operation::Receive { .. } | Operation::Probe { .. } => self.cut.receives += 1,
                Operation::Put { .. } | Operation::Get { .. } => self.cut.transfers += 1,
                _ => self.cut.collectives += 1,
            }
            return None;
        }
        match &mut operation {
            Operation::Send { request, .. }
            | Operation::Receive { request, .. }
            | Operation::Collective { request, .. } => self.open.extend(*request),
            Operation::Wait { requests, .. } => {
                let before = requests.len();
                requests.retain(|request| self.open.remove(request));
                self.cut.requests += (before - requests.len()) as u64;
            }
            _ => {}
        }
        Some(operation)
    }

    /// Whether the partners of an operation are inside, too.
    fn is_kept(&mut self, operation: &Operation) -> bool {
        let Some(key) = match_key(operation, self.rank, &self.communicators) else {
            return true;
        };
        let Some((start, end)) = self.kept.get(&key) else {
            return true;
        };
        let count = self.counts.entry(key).or_default();
        let number = *count;
        *count += u64::from(is_counted(operation));
        (*start..*end).contains(&number)
    }
}
