//! What a model is, and what its handlers may do.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Event, LpId, Time};

/// A set of LPs that interact only through events.
///
/// A handler sees its own LP and the event, and acts through the [`Context`]. Model-wide data behind
/// `&self` is read-only. Everything is monomorphised for each executor.
pub trait Model: Sync {
    /// What an event says: a small plain value, which may cross to another process.
    type Payload: Copy + Send + Sync + Serialize + DeserializeOwned + 'static;
    /// The state of one LP.
    type Lp: Send;
    /// What reaches the results at commit.
    type Record: Copy + Send + Serialize + DeserializeOwned + 'static;
    /// One step of undoing a handler: a saved field, a popped element. It may own what it puts back, and is
    /// dropped once it is certain that nothing will be.
    type Undo: Send + 'static;
    /// What a handler can fail with.
    type Error: Send + 'static;

    /// Number of LPs.
    fn lps(&self) -> u32;

    /// The least delay of any event between two different LPs; at least 1 ps.
    fn lookahead(&self) -> Time;

    /// An LP in its first state.
    fn create(&self, lp: LpId) -> Self::Lp;

    /// Sends an LP's first events, at time zero. The only place from where an LP may send itself an
    /// event without delay; it may not emit records.
    fn start(&self, lp: &mut Self::Lp, context: &mut impl Context<Self>);

    /// Carries out one event.
    fn handle(&self, lp: &mut Self::Lp, event: &Event<Self::Payload>, context: &mut impl Context<Self>);

    /// Asks for memory that the LP's next events will touch, by [`crate::prefetch`]; called shortly
    /// before some of them are carried out. By default for nothing.
    #[inline]
    fn prefetch(&self, lp: &Self::Lp) {
        let _ = lp;
    }

    /// The same for one event that the LP will soon carry out, once what [`Model::prefetch`] asked for is there;
    /// in large models only, whose LPs have left the caches since their last turn. By default for nothing.
    #[inline]
    fn prefetch_for(&self, lp: &Self::Lp, event: &Event<Self::Payload>) {
        let _ = (lp, event);
    }

    /// Takes back one step that a handler gave to [`Context::undo`]; called in reverse order.
    fn undo(&self, lp: &mut Self::Lp, step: Self::Undo);

    /// Appends all of an LP's state that its handlers can see, in a form without accident: states that no
    /// handler can tell apart give the same bytes.
    fn save(&self, lp: &Self::Lp, bytes: &mut Vec<u8>);

    /// Brings an LP that [`Model::create`] has made into the state that [`Model::save`] wrote. `purpose` says
    /// what it is for, as an LP that is only read can do without what it would go on with.
    ///
    /// # Errors
    /// The bytes are not such a state, or what it refers to (a file) is not what it was.
    fn restore(&self, lp: &mut Self::Lp, bytes: &[u8], purpose: Purpose) -> Result<(), String>;
}

/// What a restored LP is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The run goes on with it.
    GoOn,
    /// The run is over, and its results are read.
    Read,
}

/// Where a part of an LP notes its undo steps: a [`Context`], as that part sees it.
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

/// What a handler can do. Random draws, sends and records are taken back by the kernel itself; other
/// changes of the LP by the steps given to [`Context::undo`].
pub trait Context<M: Model + ?Sized> {
    /// Whether this executor ever rolls back; where not, undo steps need not even be computed.
    const REVERSIBLE: bool;

    /// Current time.
    fn now(&self) -> Time;

    /// The LP at work.
    fn lp(&self) -> LpId;

    /// Sends an event. To the LP itself the delay is at least 1 ps, to another at least the model's
    /// lookahead: anything less would put an event into a past that other threads have left. What happens at the
    /// end of the run or later is not carried out, and may come sooner.
    ///
    /// # Panics
    /// On a smaller delay: a bug of the model.
    fn send(&mut self, target: LpId, delay: Time, payload: M::Payload);

    /// The LP's next random number.
    fn random(&mut self) -> u64;

    /// Gives a record to the results; it arrives there when the event is committed, in the total order.
    fn emit(&mut self, record: M::Record);

    /// Notes how to take back a change. Does nothing unless [`Context::REVERSIBLE`].
    fn undo(&mut self, step: M::Undo);

    /// Ends the run one lookahead from now: no event at or after that time is carried out. (One
    /// lookahead, because that far every executor may already be.)
    fn stop(&mut self);

    /// Ends the run with an error; of several, the first in the total order counts.
    fn fail(&mut self, error: M::Error);
}
