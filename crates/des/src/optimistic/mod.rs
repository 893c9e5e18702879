//! The optimistic executor: Time Warp (Jefferson, *Virtual time*, TOPLAS 1985) on threads and processes, with reverse
//! computation (Carothers, Perumalla and Fujimoto, *Efficient optimistic parallel simulations using reverse
//! computation*, TOMACS 1999), in [windows](crate::windows).
//!
//! All threads agree on global virtual time (GVT): no event before GVT is pending or in transit. So nothing can arrive
//! in the window that holds GVT, whose events are certain: they execute without history, and everything before is
//! committed. A thread arrives at the next synchronisation after that window, and does not wait for the others: it
//! speculates, window after window. An event that arrives late (a straggler) rolls its LP back: the LP's later events
//! are undone, latest first, and the events that they sent are cancelled. Cancellations to other threads are
//! anti-messages, and may roll back further LPs.
//!
//! GVT is the minimum over the pending events of each thread at its arrival, and over what it has sent since its
//! arrival before (Fujimoto, Hybinette, *Computing global virtual time in shared-memory multiprocessors*, TOMACS
//! 1997). A message is in the mailbox of its receiver before its sender arrives, so it needs no acknowledgement.
//!
//! Handlers may see states that no correct run has, on events that are cancelled later. Their effects are undone like
//! all others. A failure or a stop counts once GVT has passed it.
//!
//! `worker` has the rounds, `part` the LPs of a thread and rollback, `history` what can be undone.

mod history;
mod message;
mod part;
mod throttle;
mod worker;

use crate::Model;
use crate::gather::gather;
use crate::leg::RunLeg;
use crate::run::{Finished, Observer, Run};
use crate::team::{Team, in_threads};

use message::EventMessage;
use worker::OptimisticWorker;

/// What the threads of a process share.
type Warp<'a, M> = Team<'a, EventMessage<<M as Model>::Payload>, <M as Model>::Record>;

pub(crate) fn run<M: Model>(
    run: &Run<'_, M>,
    leg: &RunLeg<M>,
    observer: &mut dyn Observer<M>,
) -> Result<Finished<M>, String> {
    let work = |team: &Warp<'_, M>, parts: &_, thread, observer: Option<&mut dyn Observer<M>>| {
        OptimisticWorker::new(run, leg, team, parts, thread).run(observer)
    };
    gather(run, leg, in_threads(run, observer, work))
}
