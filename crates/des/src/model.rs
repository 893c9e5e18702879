//! Models, and the interface of their handlers.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Event, LpId, Tally, Time};

/// A set of LPs that interact only through events.
///
/// A handler sees its own LP and the event, and acts through the [`Context`]. Data of the model behind `&self` is
/// read-only. Everything is monomorphised for each executor.
pub trait Model: Sync {
    /// Content of an event: a small plain value, which may cross to another process.
    type Payload: Copy + Send + Sync + Serialize + DeserializeOwned + 'static;
    /// The state of one LP.
    type Lp: Send;
    /// An output of an event, which reaches the results at commit.
    type Record: Copy + Send + Serialize + DeserializeOwned + 'static;
    /// One undo step of a handler: a saved field, a popped element. It may own the value that it restores. It is
    /// dropped at commit.
    type Undo: Send + 'static;
    /// Failure of a handler.
    type Error: Send + 'static;
    /// Sums that handlers add to and none reads ([`Context::tally`]).
    type Tally: Tally<Self::Record>;

    /// Number of LPs.
    fn lps(&self) -> u32;

    /// The least delay of any event between two different LPs; at least 1 ps.
    fn lookahead(&self) -> Time;

    /// The tally of a worker, before it adds anything.
    fn tally(&self) -> Self::Tally;

    /// An LP in its first state.
    fn create(&self, lp: LpId) -> Self::Lp;

    /// Sends an LP's first events, at time zero. Only here an LP may send itself an event without delay. It may not
    /// emit records.
    fn start(&self, lp: &mut Self::Lp, context: &mut impl Context<Self>);

    /// Executes one event.
    fn handle(&self, lp: &mut Self::Lp, event: &Event<Self::Payload>, context: &mut impl Context<Self>);

    /// Prefetches memory that the LP's next events, those before `until`, will touch, by [`crate::prefetch`]. Called
    /// shortly before some of them execute. By default it does nothing.
    #[inline]
    fn prefetch(&self, lp: &Self::Lp, until: Time) {
        let _ = (lp, until);
    }

    /// Prefetches memory for one event that the LP will soon execute, after the memory of [`Model::prefetch`] has
    /// arrived. Called only in models of many LPs. By default it does nothing.
    #[inline]
    fn prefetch_for(&self, lp: &Self::Lp, event: &Event<Self::Payload>) {
        let _ = (lp, event);
    }

    /// Reverts one step of [`Context::undo`]. Called in reverse order.
    fn undo(&self, lp: &mut Self::Lp, step: Self::Undo);

    /// Appends all state of an LP that its handlers can see, in canonical form: states that no handler can
    /// distinguish give equal bytes.
    fn save(&self, lp: &Self::Lp, bytes: &mut Vec<u8>);

    /// Restores the state that [`Model::save`] wrote into an LP of [`Model::create`]. `purpose` tells whether the run
    /// continues, since an LP that is only read needs less.
    ///
    /// # Errors
    /// The bytes are not such a state, or a file that they refer to has changed.
    fn restore(&self, lp: &mut Self::Lp, bytes: &[u8], purpose: Purpose) -> Result<(), String>;
}

/// One addition to a model's tally.
pub type TallyStep<M> = <<M as Model>::Tally as Tally<<M as Model>::Record>>::Step;

/// The use of a restored LP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The run continues with it.
    GoOn,
    /// The run is over, and its results are read.
    Read,
}

/// The receiver of undo steps of a part of an LP: a [`Context`] from the view of that part.
pub trait Journal<Step> {
    /// Whether undo steps are kept.
    const KEPT: bool;

    /// Keeps a step. Called by [`Journal::note`], and only where [`Journal::KEPT`] is true.
    fn keep(&mut self, step: Step);

    /// Notes how to undo a change. Computes nothing unless [`Journal::KEPT`]. Steps are undone in reverse order.
    #[inline(always)]
    fn note(&mut self, step: impl FnOnce() -> Step) {
        if Self::KEPT {
            self.keep(step());
        }
    }
}

/// The interface of a handler. The kernel itself undoes random draws, sends and records. The steps given to
/// [`Context::undo`] undo all other changes of the LP.
pub trait Context<M: Model + ?Sized> {
    /// Whether this event may be rolled back; where not, undo steps need not even be computed.
    const REVERSIBLE: bool;

    /// Current time.
    fn now(&self) -> Time;

    /// The current LP.
    fn lp(&self) -> LpId;

    /// Sends an event. The delay is at least 1 ps to the LP itself, and at least the model's lookahead to another LP:
    /// a smaller delay would reach a time that other threads have passed. Events at or after the end of the run are
    /// not executed, and may have any delay.
    ///
    /// # Panics
    /// The delay is too small, which is a bug of the model.
    fn send(&mut self, target: LpId, delay: Time, payload: M::Payload);

    /// The LP's next random number.
    fn random(&mut self) -> u64;

    /// Emits a record. It reaches the results when the event is committed, in the total order.
    fn emit(&mut self, record: M::Record);

    /// Adds to the tally of this worker, when the event can no longer be undone.
    fn tally(&mut self, step: TallyStep<M>);

    /// The tally of this worker, if the event cannot be undone: many additions at once cost less than a step for each.
    #[inline(always)]
    fn certain_tally(&mut self) -> Option<&mut M::Tally> {
        None
    }

    /// Notes an undo step. Does nothing unless [`Context::REVERSIBLE`].
    fn undo(&mut self, step: M::Undo);

    /// Ends the run one lookahead from now: no event at or after that time is executed. (Executors may already have
    /// advanced by one lookahead.)
    fn stop(&mut self);

    /// Ends the run with an error. The first error in the total order counts.
    fn fail(&mut self, error: M::Error);
}
