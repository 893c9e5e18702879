//! The conservative executor: windows of the model's lookahead (YAWNS), on threads and processes.
//!
//! Time is cut into windows as long as the lookahead. What one LP does in a window cannot reach another
//! LP before the next, so inside a window each LP's events are carried out together, LP by LP, its state
//! loaded once; threads meet only between windows. An LP sees its own events in the total order, which is
//! all that its state can depend on; records are sorted into the total order before they are committed.

mod calendar;
mod worker;

use std::sync::Mutex;

use crate::gather::{Report, gather};
use crate::run::{Finished, Observer, Run};
use crate::team::Team;
use crate::{Event, Model};

use worker::Worker;

/// What the threads of a process share.
type Windows<'a, M> = Team<'a, Event<<M as Model>::Payload>, <M as Model>::Record>;

pub(crate) fn run<M: Model>(run: &Run<'_, M>, observer: &mut dyn Observer<M>) -> Result<Finished<M>, String> {
    let team: Windows<'_, M> = Team::new(&run.settings.partition, run.processes);
    let shares = Mutex::new(Vec::new());
    let reports: Vec<Report<M>> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..team.threads())
            .map(|thread| {
                let (team, shares) = (&team, &shares);
                scope.spawn(move || Worker::new(run, team, shares, thread).run(None))
            })
            .collect();
        // The first worker runs on the caller's thread, so that the observer need not be Send, and MPI is
        // used by the thread that initialised it.
        let observer = team.leads(0).then_some(observer);
        let first = Worker::new(run, &team, &shares, 0).run(observer);
        std::iter::once(first)
            .chain(
                others
                    .into_iter()
                    .map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
            )
            .collect()
    });
    gather(run, reports)
}
