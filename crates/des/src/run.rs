//! A run: its inputs, its observer and its result. `executor.rs` executes it.

use std::ops::Range;

use crate::lps::{LpEntry, Lps};
use crate::snapshot::Snapshot;
use crate::statistics::EngineStatistics;
use crate::{Control, Event, LpId, Model, Processes, Purpose, Settings, Time};

/// Observes a run, on the thread that called [`run`](crate::run()), in the first process.
pub trait Observer<M: Model> {
    /// Receives a record, in the total order.
    fn commit(&mut self, time: Time, record: M::Record);

    /// Whether a snapshot is wanted now that all events before `now` are committed. Called often.
    fn wants_snapshot(&mut self, now: Time) -> bool {
        let _ = now;
        false
    }

    /// Receives the snapshot, of now or a little later.
    fn snapshot(&mut self, snapshot: Snapshot<M::Payload>) {
        let _ = snapshot;
    }
}

impl<M: Model, F: FnMut(Time, M::Record)> Observer<M> for F {
    fn commit(&mut self, time: Time, record: M::Record) {
        self(time, record);
    }
}

/// The reason for the end of a run.
#[derive(Debug, PartialEq, Eq)]
pub enum RunEnd<E> {
    /// No event is left.
    Drained,
    /// `until` was reached.
    Until,
    /// The model stopped it.
    Stopped,
    /// The owner interrupted it through [`Control::interrupt`]. There is no result.
    Interrupted,
    /// A handler failed.
    Failed(E),
    /// A handler failed in another process, which has the error.
    FailedElsewhere,
    /// `ReverseCheck` found an event whose undo is wrong, for developers of models.
    Irreversible(String),
}

/// The end of a run.
pub struct Finished<M: Model> {
    /// The reason for the end.
    pub end: RunEnd<M::Error>,
    /// First time at which nothing executes any more: `until`, the time of the stop, or (drained) that of the last
    /// event.
    pub time: Time,
    /// Final state of all LPs, by id. Empty in all processes except the first.
    pub lps: Lps<M::Lp>,
    /// Events that were not executed, in no particular order. Empty in all processes except the first.
    pub pending: Vec<Event<M::Payload>>,
    /// The statistics of all processes, in the first process.
    pub statistics: EngineStatistics,
}

/// A run before it begins. Processes of a run differ only in `processes`.
pub struct Run<'a, M: Model> {
    /// The model.
    pub model: &'a M,
    /// The settings.
    pub settings: &'a Settings,
    /// Progress out, interruption in.
    pub control: &'a Control,
    /// The processes of the run.
    pub processes: &'a dyn Processes,
    /// The snapshot to start from; `None` starts the model.
    pub from: Option<&'a Snapshot<M::Payload>>,
}

impl<M: Model> Run<'_, M> {
    /// LPs in the state in which the run begins.
    ///
    /// # Errors
    /// The snapshot is not one of the model.
    pub(crate) fn entries(&self, lps: Range<u32>) -> Result<Vec<LpEntry<M::Lp>>, String> {
        let first = |lp| LpEntry {
            lp: self.model.create(lp),
            draws: 0,
            sequence: 0,
        };
        match self.from {
            None => Ok(lps.map(|lp| first(LpId(lp))).collect()),
            Some(snapshot) => lps
                .map(|lp| {
                    let restored = snapshot.lps[lp as usize].restore(self.model, LpId(lp), Purpose::GoOn);
                    restored.map_err(|why| format!("logical process {lp}: {why}"))
                })
                .collect(),
        }
    }
}
