//! The conservative executor: windows of the model's lookahead (YAWNS), on threads and processes.
//!
//! Threads synchronise only between [windows](crate::windows). Records are sorted into the total order before they are
//! committed.

mod worker;

use crate::gather::gather;
use crate::leg::RunLeg;
use crate::run::{Finished, Observer, Run};
use crate::team::{Team, in_threads};
use crate::{Event, Model};

use worker::ConservativeWorker;

/// What the threads of a process share.
type Windows<'a, M> = Team<'a, Event<<M as Model>::Payload>, <M as Model>::Record>;

pub(crate) fn run<M: Model>(
    run: &Run<'_, M>,
    leg: &RunLeg<M>,
    observer: &mut dyn Observer<M>,
) -> Result<Finished<M>, String> {
    let work = |team: &Windows<'_, M>, parts: &_, thread, observer: Option<&mut dyn Observer<M>>| {
        ConservativeWorker::new(run, leg, team, parts, thread).run(observer)
    };
    gather(run, leg, in_threads(run, observer, work))
}
