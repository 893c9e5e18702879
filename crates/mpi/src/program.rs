//! The position of a rank in its program.

use std::fmt;

use des::Journal;
use workload::{Answer, Operation, Program, Recording, SentMessage, TraceError};

/// What a program gave. Boxed errors keep it small.
type Given = Result<Option<Operation>, Box<TraceError>>;

/// A program and the operations that rollback has put back.
pub(crate) struct ProgramCursor {
    program: Box<dyn Program>,
    /// What is to be given again, the next one last.
    put_back: Vec<Given>,
    /// Number of operations taken and not put back.
    position: u64,
}

/// What was taken.
#[derive(Debug)]
pub(crate) struct TakenOperation(Given);

impl ProgramCursor {
    /// The start of a program.
    pub fn new(program: Box<dyn Program>) -> ProgramCursor {
        ProgramCursor {
            program,
            put_back: Vec::new(),
            position: 0,
        }
    }

    /// What the last operation brought to a program that reads it. Such a program is never taken back.
    pub fn answer(&mut self, answer: Answer) {
        self.program.answer(answer);
    }

    /// The last send of a program that reads answers has left as this message.
    pub fn sent(&mut self, message: SentMessage) {
        self.program.sent(message);
    }

    /// The next operation; `None` at the end.
    pub fn next(
        &mut self,
        journal: &mut impl Journal<TakenOperation>,
    ) -> Result<Option<Operation>, TraceError> {
        let given = match self.put_back.pop() {
            Some(given) => given,
            None => self.program.next().map_err(Box::new),
        };
        self.position += u64::from(matches!(given, Ok(Some(_))));
        journal.note(|| TakenOperation(given.clone()));
        given.map_err(|error| *error)
    }

    pub fn undo(&mut self, TakenOperation(given): TakenOperation) {
        self.position -= u64::from(matches!(given, Ok(Some(_))));
        self.put_back.push(given);
    }

    /// What the recording tells, complete once the program has ended.
    pub fn recording(&self) -> Option<&Recording> {
        self.program.recording()
    }

    /// Number of operations taken.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Takes `operations` operations. Returns false if the program ends earlier.
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
