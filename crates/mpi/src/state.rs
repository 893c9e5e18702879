//! The state of a rank as a value: for checkpoints, for ranks that go to another process, and to compare.

use std::sync::Arc;

use des::Time;
use serde::{Deserialize, Serialize};
use workload::Program;

use crate::background::Background;
use crate::journal::{Handles, Journal, Value};
use crate::matching::Matching;
use crate::ongoing::{Ongoing, Place};
use crate::ordering::OrderingState;
use crate::program::Cursor;
use crate::rank::{Activity, Rank, State};
use crate::requests::Requests;
use crate::statistics::Statistics;
use crate::{Job, RankStats, ReplayError};

/// All that a rank knows, and how far it is in its program. Nothing in it is accidental: a rank that was
/// rolled back and one that never went further have equal states, and equal states have equal bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankState {
    /// Operations that the rank has taken from its program.
    position: u64,
    state: State,
    activity: Activity,
    since: Time,
    ordering: OrderingState,
    matching: Matching,
    requests: Requests,
    open: Handles<u64>,
    awaiting_data: Handles<(u32, u32)>,
    sequences: Handles<u32>,
    collective: Place,
    background: Background,
    stats: RankStats,
}

impl Rank {
    /// Its state, without changes that have not been taken.
    pub fn state(&self) -> RankState {
        RankState {
            position: self.program.position(),
            state: *self.state,
            activity: *self.activity,
            since: *self.since,
            ordering: self.ordering.state(),
            matching: self.matching.clone(),
            requests: self.requests.clone(),
            open: self.open.clone(),
            awaiting_data: self.awaiting_data.clone(),
            sequences: self.sequences.clone(),
            collective: self.collective.place().clone(),
            background: self.background.clone(),
            stats: self.stats.get().clone(),
        }
    }

    /// The rank of this state, which goes on in `program`, a fresh one that is read again up to where it
    /// was. It keeps neither changes nor notes.
    ///
    /// # Errors
    /// The program is broken, or the state is none of this rank, job or program.
    pub fn restore(
        job: Arc<Job>,
        rank: u32,
        program: Box<dyn Program>,
        state: RankState,
    ) -> Result<Rank, ReplayError> {
        let wrong = |what| ReplayError::Checkpoint { rank, what };
        let mut program = Cursor::new(program);
        if !program.skip(state.position)? {
            return Err(wrong("the trace is not the one of the checkpoint"));
        }
        let waits_for = match state.state {
            State::Waiting { outstanding, .. } => outstanding as usize,
            _ => 0,
        };
        if !state.requests.is_sound()
            || !state.background.is_sound(&state.requests, &job, rank)
            || state.requests.blocking().count() != waits_for
        {
            return Err(wrong("its requests contradict each other"));
        }
        let collective = Ongoing::at(state.collective, &job, rank)
            .ok_or_else(|| wrong("it is in a collective that the job does not have"))?;
        Ok(Rank {
            job,
            rank,
            journal: Journal::default(),
            notes: false,
            program,
            state: Value::new(state.state),
            activity: Value::new(state.activity),
            since: Value::new(state.since),
            ordering: state.ordering.into(),
            matching: state.matching,
            requests: state.requests,
            open: state.open,
            awaiting_data: state.awaiting_data,
            sequences: state.sequences,
            collective,
            background: state.background,
            stats: Statistics::new(state.stats),
        })
    }
}
