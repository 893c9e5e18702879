//! The end of a run on threads and processes: the first process gathers everything.

use serde::{Deserialize, Serialize};

use crate::event::Key;
use crate::leg::RunLeg;
use crate::lps::Lps;
use crate::run::{Finished, Run, RunEnd};
use crate::snapshot::SavedLp;
use crate::statistics::EngineStatistics;
use crate::team::{give_to_first, has_least};
use crate::{Event, LpId, Model, Purpose, Time};

/// The final state of a thread, or of all threads of a process.
pub(crate) struct WorkerEnd<M: Model> {
    /// LPs in order, followed by those of other threads.
    pub(crate) lps: Lps<M::Lp>,
    /// Events that were not executed.
    pub(crate) pending: Vec<Event<M::Payload>>,
    /// The first failure.
    pub(crate) failure: Option<(Key, M::Error)>,
    /// The reason why the run could not begin: the snapshot is not one of the model.
    pub(crate) broken: Option<String>,
    pub(crate) interrupted: bool,
    /// The time at which all threads agreed to stop.
    pub(crate) stop: Time,
    /// Time of the last executed event.
    pub(crate) last: Time,
    pub(crate) statistics: EngineStatistics,
}

impl<M: Model> WorkerEnd<M> {
    fn append(&mut self, other: WorkerEnd<M>) {
        self.lps.append(other.lps);
        self.pending.extend(other.pending);
        if let Some(failure) = other.failure
            && self.failure.as_ref().is_none_or(|first| failure.0 < first.0)
        {
            self.failure = Some(failure);
        }
        self.broken = self.broken.take().or(other.broken);
        self.interrupted |= other.interrupted;
        self.last = self.last.max(other.last);
        self.statistics.append(other.statistics);
    }
}

/// The final state of another process.
#[derive(Serialize, Deserialize)]
struct ProcessEnd<P> {
    lps: Vec<SavedLp>,
    pending: Vec<Event<P>>,
    broken: Option<String>,
    interrupted: bool,
    last: Time,
    statistics: EngineStatistics,
}

/// The agreement of all processes about the end.
struct Agreed {
    /// Whether the decisive failure is that of another process.
    elsewhere: bool,
    /// Whether no process has an event left.
    drained: bool,
}

/// Merges the final states of all threads and, in the first process, those of all processes.
pub(crate) fn gather<M: Model>(
    run: &Run<'_, M>,
    leg: &RunLeg<M>,
    ends: Vec<WorkerEnd<M>>,
) -> Result<Finished<M>, String> {
    let mut ends = ends.into_iter();
    let mut all = ends.next().expect("there is a thread");
    ends.for_each(|end| all.append(end));
    let mut agreed = Agreed {
        elsewhere: false,
        drained: all.pending.is_empty(),
    };
    if run.processes.count() > 1 {
        agreed = gather_processes(run, &mut all)?;
    }
    if let Some(why) = all.broken {
        return Err(why);
    }
    let until = run.settings.until;
    let (end, time) = match all.failure {
        Some((key, error)) => (RunEnd::Failed(error), key.time),
        None if agreed.elsewhere => (RunEnd::FailedElsewhere, all.last),
        None if all.interrupted => (RunEnd::Interrupted, all.last),
        None if leg.paused().is_some() => (RunEnd::Until, all.last),
        None if all.stop < until => (RunEnd::Stopped, all.stop),
        None if agreed.drained => (RunEnd::Drained, all.last),
        None => (RunEnd::Until, until),
    };
    Ok(Finished {
        end,
        time,
        lps: all.lps,
        pending: all.pending,
        statistics: all.statistics,
    })
}

/// Sends all final states to the first process.
fn gather_processes<M: Model>(run: &Run<'_, M>, all: &mut WorkerEnd<M>) -> Result<Agreed, String> {
    let mine = all.failure.as_ref().map(|(key, _)| *key);
    let mut flags = [u64::from(mine.is_none()), u64::from(all.pending.is_empty())];
    run.processes.least(&mut flags);
    let [failed, drained] = [flags[0] == 0, flags[1] == 1];
    if !has_least(run.processes, mine) {
        all.failure = None;
    }
    // LPs are not needed after a failure.
    let useless = failed || all.interrupted;
    let lps = match useless || run.processes.index() == 0 {
        true => Vec::new(),
        false => {
            let saved = all.lps.entries().map(|entry| SavedLp::new(run.model, entry));
            saved.collect()
        }
    };
    let first = run.processes.index() == 0;
    let end = ProcessEnd {
        lps,
        pending: if first {
            Vec::new()
        } else {
            std::mem::take(&mut all.pending)
        },
        interrupted: all.interrupted,
        broken: all.broken.take(),
        last: all.last,
        statistics: std::mem::take(&mut all.statistics),
    };
    if !first {
        all.lps = Lps::new(Vec::new());
    }
    for end in give_to_first(run.processes, &end) {
        let first = all.lps.len() as u32;
        let restored = end
            .lps
            .iter()
            .zip(first..)
            .map(|(saved, lp)| saved.restore(run.model, LpId(lp), Purpose::Read));
        all.lps.append(Lps::new(restored.collect::<Result<_, _>>()?));
        all.pending.extend(end.pending);
        all.broken = all.broken.take().or(end.broken);
        all.interrupted |= end.interrupted;
        all.last = all.last.max(end.last);
        all.statistics.append(end.statistics);
    }
    let elsewhere = failed && all.failure.is_none();
    Ok(Agreed { elsewhere, drained })
}
