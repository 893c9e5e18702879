//! Sums that handlers add to and none reads.

use crate::Time;

/// Events of a worker after which it drains its tally, so that readers of a running simulation see the sums.
pub(crate) const DRAIN_INTERVAL: u64 = 1 << 20;

/// Sums of the LPs of one worker. Addition has no order, so that the total does not depend on how LPs are divided among
/// workers. It is drained into records now and then, before each snapshot and at the end of the run. These records have
/// no place in the total order, so their receiver must add them up.
pub trait Tally<R>: Send {
    /// One addition.
    type Step: Copy + Send;

    /// Adds what an event at `now` has decided. Events come in any order.
    fn add(&mut self, now: Time, step: Self::Step);

    /// Passes on all that was added, as records, and starts again from zero.
    fn drain(&mut self, emit: &mut dyn FnMut(R));
}

/// For models that add nothing up.
impl<R> Tally<R> for () {
    type Step = ();
    fn add(&mut self, _: Time, (): ()) {}
    fn drain(&mut self, _: &mut dyn FnMut(R)) {}
}
