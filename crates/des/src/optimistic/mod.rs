//! The optimistic executor: Time Warp (Jefferson, *Virtual time*, TOPLAS 1985) on threads and processes, with reverse
//! computation (Carothers, Perumalla and Fujimoto, *Efficient optimistic parallel simulations using reverse
//! computation*, TOMACS 1999).
//!
//! Each thread executes its events in the total order, without waiting for events that others may still send. An
//! event that arrives late (a straggler) rolls its LP back: the LP's later events are undone, latest first, and the
//! events that they sent are cancelled. Cancellations to other threads are anti-messages, and may roll back further
//! LPs.
//!
//! At intervals all threads synchronise and agree on global virtual time (GVT): no event before GVT is pending or in
//! transit, so everything before it is committed. Undo steps of committed events are dropped (fossil collection), and
//! their records are passed on. The threads stand still while they synchronise. So GVT is the minimum over their
//! pending events and the events sent since the last synchronisation, which are in transit at most until the
//! receivers next read their mailboxes (as Samadi 1985, with the synchronisation instead of acknowledgements).
//!
//! Handlers may see states that no correct run has, on events that are cancelled later. Their effects are undone like
//! all others. A failure or a stop counts once GVT has passed it.
//!
//! `worker` has the loop and the rollback, `worker_context` the per-thread state behind [`crate::Context`], `pending`
//! the queue.

mod message;
mod worker;
mod worker_context;

use crate::Model;
use crate::gather::gather;
use crate::run::{Finished, Observer, Run};
use crate::team::{Team, in_threads};

use message::EventMessage;
use worker::Worker;

/// What the threads of a process share.
type Warp<'a, M> = Team<'a, EventMessage<<M as Model>::Payload>, <M as Model>::Record>;

pub(crate) fn run<M: Model>(run: &Run<'_, M>, observer: &mut dyn Observer<M>) -> Result<Finished<M>, String> {
    let work = |team: &Warp<'_, M>, parts: &_, thread, observer: Option<&mut dyn Observer<M>>| {
        Worker::new(run, team, parts, thread).run(observer)
    };
    gather(run, in_threads(run, observer, work))
}
