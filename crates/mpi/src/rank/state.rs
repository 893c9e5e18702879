//! The state of a rank as a value: for checkpoints, for migration between processes, and for comparison.

use std::sync::Arc;

use des::Time;
use serde::{Deserialize, Serialize};
use workload::{Program, Recording};

use crate::agreement::CollectiveHistories;
use crate::blocking_collective::{BlockingCollective, BlockingCollectiveState};
use crate::changes::RankJournal;
use crate::cpu::{CpuActivity, CpuState};
use crate::journal::{HandleMap, Journaled};
use crate::matching::MatchingQueues;
use crate::nonblocking_collective::NonBlockingCollectives;
use crate::ordering::MessageOrderState;
use crate::path::PathState;
use crate::program::ProgramCursor;
use crate::rank::Rank;
use crate::repetition::{MeasuredEnd, MeasuredPart, Repetition};
use crate::requests::Requests;
use crate::statistics::Statistics;
use crate::timeline::TimelineUntil;
use crate::{MpiJob, RankStats, ReplayError};

/// The state of a rank and its position in its program, in canonical form: a rank that was rolled back and one
/// that was not have equal states, and equal states have equal bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankState {
    /// Number of operations taken from the program.
    position: u64,
    state: CpuState,
    activity: CpuActivity,
    since: Time,
    timeline_until: TimelineUntil,
    path: PathState,
    ordering: MessageOrderState,
    matching: MatchingQueues,
    requests: Requests,
    open: HandleMap<u64>,
    awaiting_data: HandleMap<(u32, u32)>,
    histories: CollectiveHistories,
    collective: BlockingCollectiveState,
    nonblocking: NonBlockingCollectives,
    stats: RankStats,
    repetition: Repetition,
    measured: Option<Box<MeasuredPart>>,
    /// Of a finished rank.
    recording: Option<Box<Recording>>,
}

impl Rank {
    /// The state, without changes that have not been taken.
    pub fn state(&self) -> RankState {
        RankState {
            position: self.program.position(),
            state: *self.state,
            activity: *self.activity,
            since: *self.since,
            timeline_until: *self.timeline_until,
            path: *self.path,
            ordering: self.ordering.state(),
            matching: self.matching.clone(),
            requests: self.requests.clone(),
            open: self.open.clone(),
            awaiting_data: self.awaiting_data.clone(),
            histories: self.histories.clone(),
            collective: self.collective.state().clone(),
            nonblocking: self.nonblocking.clone(),
            stats: self.stats.get().clone(),
            repetition: *self.repetition,
            measured: self.measured.get().cloned().map(Box::new),
            recording: self.recording().cloned().map(Box::new),
        }
    }

    /// The rank of this state. `program` is a new program, which is read up to the saved position. Changes and
    /// timeline events are off.
    ///
    /// # Errors
    /// The program is broken, or the state does not belong to this rank, job or program.
    pub fn restore(
        job: Arc<MpiJob>,
        rank: u32,
        program: Box<dyn Program>,
        state: RankState,
    ) -> Result<Rank, ReplayError> {
        let wrong = |what| ReplayError::Checkpoint { rank, what };
        let mut program = ProgramCursor::new(program);
        if !program.skip(state.position)? {
            return Err(wrong("the trace is not the one of the checkpoint"));
        }
        let blocking = state.requests.blocking().count();
        let waits_for = match state.state {
            CpuState::Waiting { outstanding, .. } => outstanding as usize,
            // Its requests are those of the time at which it was stopped.
            CpuState::Stopped { .. } => blocking,
            _ => 0,
        };
        if !state.requests.is_consistent()
            || !state.nonblocking.is_consistent(&state.requests, &job, rank)
            || blocking != waits_for
        {
            return Err(wrong("its requests contradict each other"));
        }
        let mut nonblocking = state.nonblocking;
        nonblocking.attach(&job);
        let collective = BlockingCollective::at(state.collective, &job, rank)
            .ok_or_else(|| wrong("it is in a collective that the job does not have"))?;
        Ok(Rank {
            job,
            rank,
            journal: RankJournal::default(),
            has_timeline: false,
            program,
            state: Journaled::new(state.state),
            activity: Journaled::new(state.activity),
            since: Journaled::new(state.since),
            timeline_until: Journaled::new(state.timeline_until),
            path: Journaled::new(state.path),
            arriving: None,
            ordering: state.ordering.into(),
            matching: state.matching,
            requests: state.requests,
            open: state.open,
            awaiting_data: state.awaiting_data,
            histories: state.histories,
            collective,
            nonblocking,
            stats: Statistics::new(state.stats),
            repetition: Journaled::new(state.repetition),
            measured: MeasuredEnd::new(state.measured),
            answering: None,
            restored_recording: state.recording,
        })
    }
}
