//! The conservative executor: windows of the model's lookahead (YAWNS), on threads and processes.
//!
//! Time is cut into windows as long as the lookahead. What one LP does in a window cannot reach another
//! LP before the next, so inside a window each LP's events are carried out together, LP by LP, its state
//! loaded once; threads meet only between windows. An LP sees its own events in the total order, which is
//! all that its state can depend on; records are sorted into the total order before they are committed.

mod calendar;
mod lp_schedule;
mod worker;

use crate::gather::gather;
use crate::run::{Finished, Observer, Run};
use crate::team::{Team, in_threads};
use crate::{Event, Model};

use worker::Worker;

/// What the threads of a process share.
type Windows<'a, M> = Team<'a, Event<<M as Model>::Payload>, <M as Model>::Record>;

pub(crate) fn run<M: Model>(run: &Run<'_, M>, observer: &mut dyn Observer<M>) -> Result<Finished<M>, String> {
    let work = |team: &Windows<'_, M>, parts: &_, thread, observer: Option<&mut dyn Observer<M>>| {
        Worker::new(run, team, parts, thread).run(observer)
    };
    gather(run, in_threads(run, observer, work))
}
