//! The optimistic executor: Time Warp (Jefferson, *Virtual time*, TOPLAS 1985) on threads and processes,
//! with reverse computation (Carothers, Perumalla and Fujimoto, *Efficient optimistic parallel simulations
//! using reverse computation*, TOMACS 1999).
//!
//! Each thread carries out the events that it holds in the total order, without waiting for what others may
//! still send. An event that comes too late (a straggler) rolls its LP back: the LP's later events are
//! undone, latest first, and what they had sent is cancelled; cancellations that go to other threads are
//! anti-messages, and may roll back further LPs.
//!
//! Now and then all threads meet and agree on global virtual time (GVT): no event before it is left, held or
//! on its way, so that what lies before it is certain. Its undo steps are dropped (fossil collection), its
//! records are committed. Since the threads stand still when they meet, GVT is the least of what they hold
//! and of what they have sent since they last met, which is on its way at most until they next look at
//! their mail (as Samadi 1985, with the meeting in the place of acknowledgements).
//!
//! Handlers may see states that no correct run has, on events that will be cancelled. What they do then
//! is undone like everything else; a failure or a stop counts once GVT has passed it.
//!
//! `worker` has the loop and the rollback, `worker_context` what one thread holds and what handlers reach, `pending` the
//! queue.

mod pending;
mod worker;
mod worker_context;

use serde::{Deserialize, Serialize};

use crate::event::Key;
use crate::gather::gather;
use crate::run::{Finished, Observer, Run};
use crate::team::{Mail, Team, in_threads};
use crate::{Event, LpId, Model};

use worker::Worker;

/// What threads send each other.
#[derive(Clone, Copy, Serialize, Deserialize)]
enum EventMessage<P> {
    /// An event. The instance tells it from others with the same key, of sends that were cancelled; its source
    /// counts them.
    Event { event: Event<P>, instance: u32 },
    /// An anti-message: that event has not been sent.
    Cancelled { target: LpId, key: Key, instance: u32 },
}

impl<P: Send + Serialize + serde::de::DeserializeOwned> Mail for EventMessage<P> {
    fn target(&self) -> LpId {
        match self {
            EventMessage::Event { event, .. } => event.target,
            EventMessage::Cancelled { target, .. } => *target,
        }
    }
}

/// What the threads of a process share.
type Warp<'a, M> = Team<'a, EventMessage<<M as Model>::Payload>, <M as Model>::Record>;

pub(crate) fn run<M: Model>(run: &Run<'_, M>, observer: &mut dyn Observer<M>) -> Result<Finished<M>, String> {
    let work = |team: &Warp<'_, M>, parts: &_, thread, observer: Option<&mut dyn Observer<M>>| {
        Worker::new(run, team, parts, thread).run(observer)
    };
    gather(run, in_threads(run, observer, work))
}
