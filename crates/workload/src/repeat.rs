//! A workload that repeats another one.
//!
//! A rank starts the next repetition as soon as it ends the previous one, as in a loop around the program. MPI
//! matches messages between two ranks in order, so repetitions do not mix; only a receive from any source may
//! take an early message of the next repetition, as in such a loop. Memory does not grow with repetitions.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::{Answer, Operation, OtherLocations, Program, Recording, TraceError, Workload};

/// Number of repetitions of a workload that repeats without end. No run reaches it.
const ENDLESS: u64 = u64::MAX;

/// Repeats a workload without end, for a job that is stopped at a given time.
pub fn repeated_without_end(workload: Arc<dyn Workload>) -> Arc<dyn Workload> {
    repeated(workload, ENDLESS, false)
}

/// Repeats a workload `times` times; more often if it goes on after them, without end. Each repetition ends with an
/// [`Operation::RepetitionEnd`], unless there is one only.
pub fn repeated(workload: Arc<dyn Workload>, times: u64, goes_on: bool) -> Arc<dyn Workload> {
    match (times, goes_on) {
        (1, false) => workload,
        _ => Arc::new(Repeated {
            workload,
            times,
            goes_on,
        }),
    }
}

struct Repeated {
    workload: Arc<dyn Workload>,
    times: u64,
    goes_on: bool,
}

impl Workload for Repeated {
    fn ranks(&self) -> u32 {
        self.workload.ranks()
    }

    fn communicators(&self) -> Arc<[Vec<u32>]> {
        self.workload.communicators()
    }

    fn regions(&self) -> Arc<[String]> {
        self.workload.regions()
    }

    fn program(&self, rank: u32) -> Result<Box<dyn Program>, TraceError> {
        Ok(Box::new(Repetitions {
            current: None,
            ended: 0,
            times: self.times,
            goes_on: self.goes_on,
            has_begun: false,
            workload: self.workload.clone(),
            rank,
            answer: None,
            numbers: RequestNumbers::new(),
            recording: None,
        }))
    }

    fn matching_limit(&self) -> Option<Cow<'static, str>> {
        self.workload.matching_limit()
    }

    fn other_locations(&self) -> OtherLocations {
        self.workload.other_locations()
    }

    fn reopens(&self) -> bool {
        self.workload.reopens()
    }

    fn reacts(&self) -> bool {
        self.workload.reacts()
    }
}

struct Repetitions {
    workload: Arc<dyn Workload>,
    rank: u32,
    /// The current repetition; `None` before the next one is opened.
    current: Option<Box<dyn Program>>,
    /// Number of repetitions that have ended.
    ended: u64,
    /// Number of repetitions; the least one, if the program goes on after them.
    times: u64,
    goes_on: bool,
    /// Whether the current repetition has given an operation.
    has_begun: bool,
    numbers: RequestNumbers,
    /// What the end of the last repetition brought, for the next one.
    answer: Option<Answer>,
    /// What the recording of the last complete repetition tells. It is the same for each.
    recording: Option<Recording>,
}

impl Program for Repetitions {
    fn next(&mut self) -> Result<Option<Operation>, TraceError> {
        loop {
            let Some(program) = &mut self.current else {
                if self.ended >= self.times && !self.goes_on {
                    return Ok(None);
                }
                self.has_begun = false;
                let mut program = self.workload.program(self.rank)?;
                if let Some(answer) = self.answer.take() {
                    program.answer(answer);
                }
                self.current = Some(program);
                continue;
            };
            if let Some(operation) = program.next()? {
                self.has_begun = true;
                return Ok(Some(self.numbers.renumbered(operation)));
            }
            self.recording = program.recording().cloned();
            self.current = None;
            self.numbers.end_repetition();
            if !self.has_begun {
                // Repeating an empty program takes no simulated time.
                (self.ended, self.goes_on) = (self.times, false);
                continue;
            }
            self.ended += 1;
            return Ok(Some(Operation::RepetitionEnd {
                number: self.ended,
                goes_on: self.goes_on && self.ended == self.times,
                is_endless: self.times == ENDLESS,
            }));
        }
    }

    fn answer(&mut self, mut answer: Answer) {
        self.numbers.answered(&mut answer);
        match &mut self.current {
            Some(program) => program.answer(answer),
            None => self.answer = Some(answer),
        }
    }

    fn recording(&self) -> Option<&Recording> {
        self.recording.as_ref()
    }
}

/// Renumbers requests. A repetition may leave requests open; a request of the next repetition with the same
/// number gets another one.
struct RequestNumbers {
    /// Open requests of this repetition, with their renumbered requests.
    open: BTreeMap<u64, u64>,
    /// Renumbered open requests of all repetitions.
    taken: BTreeSet<u64>,
    /// The next replacement number, downwards.
    next_free: u64,
    /// Requests of the last wait: renumbered, and as the program numbers them.
    awaited: Vec<(u64, u64)>,
}

impl RequestNumbers {
    fn new() -> RequestNumbers {
        RequestNumbers {
            open: BTreeMap::new(),
            taken: BTreeSet::new(),
            next_free: u64::MAX,
            awaited: Vec::new(),
        }
    }

    fn renumbered(&mut self, mut operation: Operation) -> Operation {
        match &mut operation {
            Operation::Send { request, .. }
            | Operation::Receive { request, .. }
            | Operation::ReceiveMatched { request, .. }
            | Operation::Collective { request, .. } => {
                if let Some(number) = request {
                    *number = self.opened(*number);
                }
            }
            Operation::Wait { requests, .. } => {
                self.awaited.clear();
                for number in requests {
                    // The MPI layer reports a request that was never opened.
                    let outside = self.closed(*number).unwrap_or(*number);
                    self.awaited.push((outside, *number));
                    *number = outside;
                }
            }
            Operation::Cancel { request, .. } => {
                *request = self.open.get(request).copied().unwrap_or(*request);
            }
            // The answer says which it has closed.
            Operation::Select { requests, .. } => {
                self.awaited.clear();
                for number in requests {
                    *number = self.open.get(number).copied().unwrap_or(*number);
                }
            }
            Operation::Compute { .. }
            | Operation::Probe { .. }
            | Operation::Iprobe { .. }
            | Operation::MatchedProbe { .. }
            | Operation::NewCommunicator { .. }
            | Operation::Put { .. }
            | Operation::Get { .. }
            | Operation::Fence { .. }
            | Operation::RepetitionEnd { .. } => {}
        }
        operation
    }

    /// The renumbered request of an opened request: its own number, if that is free.
    fn opened(&mut self, number: u64) -> u64 {
        // The program reuses an open request, which the MPI layer reports.
        if let Some(outside) = self.open.get(&number) {
            return *outside;
        }
        let mut outside = number;
        while !self.taken.insert(outside) {
            outside = self.next_free;
            self.next_free = self.next_free.wrapping_sub(1);
        }
        self.open.insert(number, outside);
        outside
    }

    fn closed(&mut self, number: u64) -> Option<u64> {
        let outside = self.open.remove(&number)?;
        self.taken.remove(&outside);
        Some(outside)
    }

    /// Gives requests of an answer the numbers that the program knows.
    fn answered(&mut self, answer: &mut Answer) {
        for completed in &mut answer.completed {
            let Some(outside) = completed.request else {
                continue;
            };
            let awaited = self.awaited.iter().find(|(awaited, _)| *awaited == outside);
            let own = match awaited {
                Some((_, own)) => Some(*own),
                None => {
                    let open = self.open.iter().find(|(_, open)| **open == outside);
                    let own = open.map(|(own, _)| *own);
                    own.inspect(|own| _ = self.closed(*own))
                }
            };
            completed.request = own.or(Some(outside));
        }
    }

    fn end_repetition(&mut self) {
        self.open.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Call;

    /// One rank with these operations.
    struct ListWorkload(Vec<Operation>);

    struct ListProgram(std::vec::IntoIter<Operation>);

    impl Program for ListProgram {
        fn next(&mut self) -> Result<Option<Operation>, TraceError> {
            Ok(self.0.next())
        }
    }

    impl Workload for ListWorkload {
        fn ranks(&self) -> u32 {
            1
        }
        fn communicators(&self) -> Arc<[Vec<u32>]> {
            Arc::new([vec![0]])
        }
        fn regions(&self) -> Arc<[String]> {
            Arc::new(["main".to_string()])
        }
        fn program(&self, _: u32) -> Result<Box<dyn Program>, TraceError> {
            Ok(Box::new(ListProgram(self.0.clone().into_iter())))
        }
        fn reopens(&self) -> bool {
            true
        }
    }

    fn isend(request: u64) -> Operation {
        Operation::Send {
            to: 0,
            tag: 0,
            communicator: 0,
            bytes: 8,
            request: Some(request),
            call: Call::Isend,
        }
    }

    fn wait(requests: &[u64]) -> Operation {
        Operation::Wait {
            requests: requests.to_vec(),
            call: Call::Waitall,
        }
    }

    /// All operations but the ends of repetitions, which have to be counted from 1.
    fn repeat(operations: Vec<Operation>, times: u64) -> Vec<Operation> {
        let mut program = repeated(Arc::new(ListWorkload(operations)), times, false)
            .program(0)
            .unwrap();
        let mut all: Vec<Operation> = std::iter::from_fn(|| program.next().unwrap()).collect();
        assert_eq!(program.next(), Ok(None));
        let mut ended = 0;
        all.retain(|operation| match operation {
            Operation::RepetitionEnd { number, goes_on, .. } => {
                ended += 1;
                assert_eq!((*number, *goes_on), (ended, false));
                false
            }
            _ => true,
        });
        assert_eq!(ended, if times == 1 || all.is_empty() { 0 } else { times });
        all
    }

    /// A program that leaves out one call.
    struct Leaving(bool, Recording);

    impl Program for Leaving {
        fn next(&mut self) -> Result<Option<Operation>, TraceError> {
            if std::mem::replace(&mut self.0, true) {
                return Ok(None);
            }
            self.1.leave_out("MPI_File_open", 5);
            Ok(Some(Operation::Compute { ps: 1, region: None }))
        }
        fn recording(&self) -> Option<&Recording> {
            Some(&self.1)
        }
    }

    struct LeavingWorkload;

    impl Workload for LeavingWorkload {
        fn ranks(&self) -> u32 {
            1
        }
        fn communicators(&self) -> Arc<[Vec<u32>]> {
            Arc::new([vec![0]])
        }
        fn program(&self, _: u32) -> Result<Box<dyn Program>, TraceError> {
            Ok(Box::new(Leaving(false, Recording::default())))
        }
    }

    #[test]
    fn the_recording_is_that_of_one_repetition() {
        let mut program = repeated(Arc::new(LeavingWorkload), 3, false).program(0).unwrap();
        assert_eq!(program.recording(), None);
        while program.next().unwrap().is_some() {}
        assert_eq!(
            program.recording().unwrap().not_replayed["MPI_File_open"].count,
            1
        );
    }

    #[test]
    fn everything_comes_as_often_as_asked() {
        let once = vec![Operation::Compute { ps: 3, region: None }, isend(7), wait(&[7])];
        assert_eq!(repeat(once.clone(), 1), once);
        assert_eq!(repeat(once.clone(), 4), vec![once.clone(); 4].concat());
        let of = repeated(Arc::new(ListWorkload(once)), 3, false);
        assert_eq!((of.ranks(), of.regions().len(), of.reopens()), (1, 1, true));
        assert_eq!(of.communicators()[0], [0]);
    }

    /// A loop over them would take years.
    #[test]
    fn an_empty_program_ends_at_once() {
        assert_eq!(repeat(vec![], u64::MAX), []);
        let mut endless = repeated(Arc::new(ListWorkload(vec![])), 2, true)
            .program(0)
            .unwrap();
        assert_eq!(endless.next(), Ok(None));
    }

    #[test]
    fn a_program_that_goes_on_says_where_its_repetitions_end() {
        let once = Operation::Compute { ps: 3, region: None };
        let workload = repeated(Arc::new(ListWorkload(vec![once])), 2, true);
        let mut program = workload.program(0).unwrap();
        let ends: Vec<(u64, bool)> = std::iter::from_fn(|| program.next().unwrap())
            .filter_map(|operation| match operation {
                Operation::RepetitionEnd { number, goes_on, .. } => Some((number, goes_on)),
                _ => None,
            })
            .take(4)
            .collect();
        assert_eq!(ends, [(1, false), (2, true), (3, false), (4, false)]);
    }

    #[test]
    fn repetitions_without_end_are_marked() {
        let once = Operation::Compute { ps: 3, region: None };
        let of: Arc<dyn Workload> = Arc::new(ListWorkload(vec![once]));
        let marks = |workload: Arc<dyn Workload>| {
            let mut program = workload.program(0).unwrap();
            let ends =
                std::iter::from_fn(|| program.next().unwrap()).filter_map(|operation| match operation {
                    Operation::RepetitionEnd {
                        number,
                        goes_on,
                        is_endless,
                    } => Some((number, goes_on, is_endless)),
                    _ => None,
                });
            ends.take(3).collect::<Vec<_>>()
        };
        let endless = [(1, false, true), (2, false, true), (3, false, true)];
        assert_eq!(marks(repeated_without_end(of.clone())), endless);
        assert_eq!(
            marks(repeated(of, 2, false)),
            [(1, false, false), (2, false, false)]
        );
    }

    /// Request 5 is never waited for; a renumbered 5 might become 4.
    #[test]
    fn requests_that_are_left_open_do_not_clash() {
        let once = vec![isend(5), isend(u64::MAX), isend(4), wait(&[4, u64::MAX])];
        let all = repeat(once, 3);
        let mut open = BTreeSet::new();
        for operation in &all {
            match operation {
                Operation::Send {
                    request: Some(number),
                    ..
                } => assert!(open.insert(*number), "{number} is open: {all:?}"),
                Operation::Wait { requests, .. } => requests.iter().for_each(|r| assert!(open.remove(r))),
                _ => unreachable!(),
            }
        }
        assert_eq!(open.len(), 3);
    }

    /// Errors of the program are errors in the second repetition, too.
    #[test]
    fn mistakes_stay_mistakes() {
        let all = repeat(vec![isend(5), isend(5), wait(&[9])], 2);
        let Operation::Send { request: first, .. } = all[3] else {
            unreachable!()
        };
        let Operation::Send { request: second, .. } = all[4] else {
            unreachable!()
        };
        assert_eq!(first, second);
        assert_eq!(all[5], wait(&[9]));
    }
}
