//! Where a rank is in its program.

use std::fmt;

use workload::{Operation, Program, TraceError};

use crate::journal::RankJournal;

/// What a program answers; small, since an error is the exception.
type Answer = Result<Option<Operation>, Box<TraceError>>;

/// A program, and what rollback has given back of it.
pub(crate) struct ProgramCursor {
    program: Box<dyn Program>,
    /// Answers to be given again, the next one last.
    put_back: Vec<Answer>,
    /// Operations that have been taken and not put back.
    position: u64,
}

/// An answer that the program gave.
#[derive(Debug)]
pub(crate) struct TakenOperation(Answer);

impl ProgramCursor {
    /// The beginning of a program.
    pub fn new(program: Box<dyn Program>) -> ProgramCursor {
        ProgramCursor {
            program,
            put_back: Vec::new(),
            position: 0,
        }
    }

    /// The next operation; none at the end.
    pub fn next(&mut self, journal: &mut RankJournal) -> Result<Option<Operation>, TraceError> {
        let answer = match self.put_back.pop() {
            Some(answer) => answer,
            None => self.program.next().map_err(Box::new),
        };
        self.position += u64::from(matches!(answer, Ok(Some(_))));
        journal.note(|| TakenOperation(answer.clone()));
        answer.map_err(|error| *error)
    }

    pub fn undo(&mut self, TakenOperation(answer): TakenOperation) {
        self.position -= u64::from(matches!(answer, Ok(Some(_))));
        self.put_back.push(answer);
    }

    /// Operations that the rank has taken.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Takes so many operations that the rank has had before; false if the program ends earlier.
    pub fn skip(&mut self, operations: u64) -> Result<bool, TraceError> {
        for _ in 0..operations {
            if self.program.next()?.is_none() {
                return Ok(false);
            }
            self.position += 1;
        }
        Ok(true)
    }
}

impl fmt::Debug for ProgramCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgramCursor")
            .field("put_back", &self.put_back)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}
