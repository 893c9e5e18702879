//! Programs that a recording gives call by call: each call makes some operations, or none, and the time between two
//! of them is computation.

use std::collections::VecDeque;

use crate::{Operation, TraceError};

/// Operations that calls have made and nobody has taken yet.
#[derive(Default)]
pub struct Pending {
    queue: VecDeque<Operation>,
    /// Computation that is not in the queue yet, in picoseconds.
    computed_ps: u64,
    ended: bool,
}

impl Pending {
    /// Computation, which comes before the next operation.
    pub fn compute(&mut self, ps: u64) {
        self.computed_ps = self.computed_ps.saturating_add(ps);
    }

    /// Puts an operation at the end.
    pub fn push(&mut self, operation: Operation) {
        self.push_computed();
        self.queue.push_back(operation);
    }

    /// Puts the computation so far at the end.
    pub fn push_computed(&mut self) {
        let ps = std::mem::take(&mut self.computed_ps);
        if ps > 0 {
            self.queue.push_back(Operation::Compute { ps, region: None });
        }
    }
}

/// Reads one call after the other.
pub trait ByCall {
    /// What has been read.
    fn pending(&mut self) -> &mut Pending;

    /// Reads a call; false: there is none any more.
    ///
    /// # Errors
    /// It cannot be read, or makes no sense.
    fn read(&mut self) -> Result<bool, TraceError>;
}

/// The next operation; none at the end, and after an error.
///
/// # Errors
/// As [`ByCall::read`].
pub fn next(program: &mut impl ByCall) -> Result<Option<Operation>, TraceError> {
    loop {
        let pending = program.pending();
        if let Some(operation) = pending.queue.pop_front() {
            return Ok(Some(operation));
        }
        if pending.ended {
            return Ok(None);
        }
        let more = program.read();
        let pending = program.pending();
        pending.ended = !matches!(more, Ok(true));
        if let Err(error) = more {
            pending.queue.clear();
            return Err(error);
        }
    }
}
