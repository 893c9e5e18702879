//! A run: its inputs, its observer and its result. `executor.rs` executes it.

use std::ops::Range;

use crate::slot::{Lps, Slot};
use crate::snapshot::Snapshot;
use crate::statistics::EngineStatistics;
use crate::{Control, Event, LpId, Model, Processes, Purpose, Settings, Time};

/// Who is told what happens as a run goes on, on the thread that called [`run`], in the first process.
pub trait Observer<M: Model> {
    /// A record, in the total order.
    fn commit(&mut self, time: Time, record: M::Record);

    /// Whether a snapshot is wanted, now that all events before `now` are certain. Asked often.
    fn wants_snapshot(&mut self, now: Time) -> bool {
        let _ = now;
        false
    }

    /// The snapshot that was wanted, of now or a little later.
    fn snapshot(&mut self, snapshot: Snapshot<M::Payload>) {
        let _ = snapshot;
    }
}

impl<M: Model, F: FnMut(Time, M::Record)> Observer<M> for F {
    fn commit(&mut self, time: Time, record: M::Record) {
        self(time, record);
    }
}

/// Why a run ended.
#[derive(Debug, PartialEq, Eq)]
pub enum RunEnd<E> {
    /// No event was left.
    Drained,
    /// `until` was reached.
    Until,
    /// The model stopped it.
    Stopped,
    /// The owner interrupted it through [`Control::interrupt`]; nothing of it is a result.
    Interrupted,
    /// A handler failed.
    Failed(E),
    /// A handler failed, and another process knows how.
    FailedElsewhere,
    /// `ReverseCheck` found that an event is not taken back as it should be, for developers of models.
    Irreversible(String),
}

/// The end of a run.
pub struct Finished<M: Model> {
    /// Why it ended.
    pub end: RunEnd<M::Error>,
    /// First time at which nothing was carried out any more: `until`, the time of the stop, or (drained)
    /// that of the last event.
    pub time: Time,
    /// Final state of all LPs, by id; in the first process, none in the others.
    pub lps: Lps<M::Lp>,
    /// Events that were not carried out, in no particular order: what was still under way. In the first
    /// process.
    pub pending: Vec<Event<M::Payload>>,
    /// What it cost all processes; in the first.
    pub statistics: EngineStatistics,
}

/// A run before it begins. All processes of a run have the same, but for themselves.
pub struct Run<'a, M: Model> {
    /// What is run.
    pub model: &'a M,
    /// How.
    pub settings: &'a Settings,
    /// Progress out, interruption in.
    pub control: &'a Control,
    /// Who takes part.
    pub processes: &'a dyn Processes,
    /// Where to begin; none: at the model's start.
    pub from: Option<&'a Snapshot<M::Payload>>,
}

impl<M: Model> Run<'_, M> {
    /// LPs in the state in which the run begins.
    ///
    /// # Errors
    /// The snapshot is not one of the model.
    pub(crate) fn slots(&self, lps: Range<u32>) -> Result<Vec<Slot<M::Lp>>, String> {
        let first = |lp| Slot {
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
