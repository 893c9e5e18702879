//! The history of a thread: its executed events that may still be undone, with their effects.

use std::collections::VecDeque;

use super::message::SentEvent;
use crate::commit::Emitted;
use crate::event::Key;
use crate::{Event, Model, Tally, TallyStep, Time};

/// Number of no execution.
const NONE: u64 = u64::MAX;

/// One execution of an event. Its undo steps, sends and records lie side by side in the lists of [`EventHistory`].
struct Execution<P> {
    event: Event<P>,
    /// The LP's execution before, if it is still in the history.
    before: u64,
    /// Number of the first undo step, send and output, counted from the start of the run.
    first_step: u64,
    first_sent: u64,
    first_output: u64,
    steps: u32,
    sent: u32,
    outputs: u32,
    draws: u32,
    is_undone: bool,
}

/// An output of an event, on its way to the results.
#[derive(Clone, Copy)]
enum EventOutput<R, S> {
    Record(Emitted<R>),
    Tally(S),
}

/// A queue whose elements keep their numbers while others leave at the front.
struct NumberedQueue<T> {
    list: VecDeque<T>,
    /// Number of the first element.
    first: u64,
}

impl<T> NumberedQueue<T> {
    const fn new() -> Self {
        NumberedQueue {
            list: VecDeque::new(),
            first: 0,
        }
    }

    fn end(&self) -> u64 {
        self.first + self.list.len() as u64
    }

    fn get(&mut self, number: u64) -> &mut T {
        &mut self.list[(number - self.first) as usize]
    }

    /// Removes elements from the front up to one of this number.
    fn drop_before(&mut self, number: u64) {
        self.list.drain(..(number - self.first) as usize);
        self.first = number;
    }
}

/// The history of one LP.
pub(super) struct LpHistory {
    /// Its latest execution in the history.
    last: u64,
    /// The key of that event, or of an earlier one.
    last_key: Key,
    pub(super) rollbacks: u32,
}

impl LpHistory {
    pub(super) const EMPTY: LpHistory = LpHistory {
        last: NONE,
        last_key: Key::FIRST,
        rollbacks: 0,
    };

    /// Whether an event with this key or a later one was executed, and may be undone.
    #[inline]
    pub(super) fn is_past(&self, key: Key) -> bool {
        self.last_key >= key && self.last != NONE
    }
}

/// What an undone event leaves to do.
pub(super) struct UndoneEvent<P> {
    pub(super) event: Event<P>,
    /// Random numbers that it drew.
    pub(super) draws: u32,
    /// Events that it sent.
    pub(super) sent: u32,
}

/// The executions of a thread in the order in which they happened, that is by window and LP, but for events that were
/// late.
pub(super) struct EventHistory<M: Model> {
    executions: NumberedQueue<Execution<M::Payload>>,
    steps: NumberedQueue<Option<M::Undo>>,
    sent: NumberedQueue<SentEvent>,
    outputs: NumberedQueue<EventOutput<M::Record, TallyStep<M>>>,
    /// Requested stops, by event; few.
    pub(super) stops: Vec<(Key, Time)>,
    /// Failures, by event; few.
    pub(super) failures: Vec<(Key, M::Error)>,
    /// Numbers of the first step, send and observation of the current event.
    start: [u64; 3],
    /// Key of the event that was executed last, to find out whether executions are in the order of windows.
    latest: Time,
    is_disordered: bool,
    /// Time of the last committed event.
    pub(super) last: Time,
}

impl<M: Model> EventHistory<M> {
    pub(super) fn new() -> Self {
        EventHistory {
            executions: NumberedQueue::new(),
            steps: NumberedQueue::new(),
            sent: NumberedQueue::new(),
            outputs: NumberedQueue::new(),
            stops: Vec::new(),
            failures: Vec::new(),
            start: [0; 3],
            latest: Time::ZERO,
            is_disordered: false,
            last: Time::ZERO,
        }
    }

    /// Whether nothing can be undone.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.executions.list.is_empty()
    }

    /// Memory of executions, in bytes, without what undo steps own.
    pub(super) fn bytes(&self) -> usize {
        self.executions.list.len() * size_of::<Execution<M::Payload>>()
            + self.steps.list.len() * size_of::<Option<M::Undo>>()
            + self.sent.list.len() * size_of::<SentEvent>()
            + self.outputs.list.len() * size_of::<EventOutput<M::Record, TallyStep<M>>>()
    }

    /// Begins an execution.
    #[inline(always)]
    pub(super) fn begin(&mut self) {
        self.start = [self.steps.end(), self.sent.end(), self.outputs.end()];
    }

    /// Keeps an undo step of the current event.
    #[inline(always)]
    pub(super) fn keep_step(&mut self, step: M::Undo) {
        self.steps.list.push_back(Some(step));
    }

    /// Keeps a send of the current event.
    #[inline(always)]
    pub(super) fn keep_sent(&mut self, sent: SentEvent) {
        self.sent.list.push_back(sent);
    }

    /// Keeps a record of the current event.
    pub(super) fn keep_record(&mut self, key: Key, record: M::Record) {
        let index = (self.outputs.end() - self.start[2]) as u32;
        let record = Emitted { key, index, record };
        self.outputs.list.push_back(EventOutput::Record(record));
    }

    /// Keeps an addition of the current event to the tally.
    #[inline(always)]
    pub(super) fn keep_tally(&mut self, step: TallyStep<M>) {
        self.outputs.list.push_back(EventOutput::Tally(step));
    }

    /// Completes the current event, which drew so many random numbers.
    #[inline(always)]
    pub(super) fn complete(&mut self, lp: &mut LpHistory, event: &Event<M::Payload>, draws: u32) {
        let [first_step, first_sent, first_output] = self.start;
        let before = std::mem::replace(&mut lp.last, self.executions.end());
        lp.last_key = event.key();
        self.executions.list.push_back(Execution {
            event: *event,
            before,
            first_step,
            first_sent,
            first_output,
            steps: (self.steps.end() - first_step) as u32,
            sent: (self.sent.end() - first_sent) as u32,
            outputs: (self.outputs.end() - first_output) as u32,
            draws,
            is_undone: false,
        });
    }

    /// Notes that a window begins that is about to be executed with history.
    pub(super) fn begin_window(&mut self, start: Time) {
        self.is_disordered |= start < self.latest && !self.is_empty();
        self.latest = start;
    }

    /// Whether an LP has executed the event with this key, and may undo it.
    pub(super) fn has_executed(&mut self, lp: &LpHistory, key: Key) -> bool {
        if !lp.is_past(key) {
            return false;
        }
        let mut number = lp.last;
        while number != NONE && number >= self.executions.first {
            let execution = self.executions.get(number);
            match execution.event.key() {
                found if found == key => return true,
                found if found < key => return false,
                _ => number = execution.before,
            }
        }
        false
    }

    /// Undoes the latest event of an LP if its key is `since` or a later one. Adds what it sent to `cancelled`.
    pub(super) fn undo_since(
        &mut self,
        since: Key,
        lp: &mut LpHistory,
        undo: impl FnMut(M::Undo),
        cancelled: &mut Vec<SentEvent>,
    ) -> Option<UndoneEvent<M::Payload>> {
        if !lp.is_past(since) {
            return None;
        }
        let first = self.executions.first;
        let execution = self.executions.get(lp.last);
        execution.is_undone = true;
        let steps = execution.first_step..execution.first_step + u64::from(execution.steps);
        let sent = execution.first_sent..execution.first_sent + u64::from(execution.sent);
        let key = execution.event.key();
        let undone = UndoneEvent {
            event: execution.event,
            draws: execution.draws,
            sent: execution.sent,
        };
        let before = execution.before;
        steps
            .rev()
            .filter_map(|step| self.steps.get(step).take())
            .for_each(undo);
        sent.for_each(|number| cancelled.push(*self.sent.get(number)));
        if !self.stops.is_empty() {
            self.stops.retain(|(by, _)| *by != key);
        }
        if !self.failures.is_empty() {
            self.failures.retain(|(by, _)| *by != key);
        }
        if before == NONE || before < first {
            // What was executed before is committed.
            (lp.last, lp.last_key) = (NONE, Key::FIRST);
        } else {
            (lp.last, lp.last_key) = (before, self.executions.get(before).event.key());
        }
        Some(undone)
    }

    /// Commits all executions before `bound`: drops their undo steps, and passes on their records and additions.
    pub(super) fn commit_before(
        &mut self,
        bound: Time,
        records: &mut Vec<Emitted<M::Record>>,
        tally: &mut M::Tally,
    ) {
        let (outputs, start) = (&self.outputs.list, self.outputs.first);
        let mut pass_on = |execution: &Execution<M::Payload>| {
            let first = (execution.first_output - start) as usize;
            for output in outputs.range(first..first + execution.outputs as usize) {
                match output {
                    EventOutput::Record(record) => records.push(*record),
                    EventOutput::Tally(step) => tally.add(execution.event.time, *step),
                }
            }
        };
        let mut count = 0;
        for execution in &self.executions.list {
            if !execution.is_undone && execution.event.time >= bound {
                break;
            }
            count += 1;
            if !execution.is_undone {
                self.last = self.last.max(execution.event.time);
                pass_on(execution);
            }
        }
        if self.is_disordered {
            // Behind the first that stays.
            for execution in self.executions.list.range_mut(count..) {
                if execution.event.time < bound && !execution.is_undone && execution.outputs > 0 {
                    pass_on(execution);
                    execution.outputs = 0;
                }
            }
        }
        if count > 0 {
            let [step, sent, outputs] = match self.executions.list.get(count) {
                Some(next) => [next.first_step, next.first_sent, next.first_output],
                None => [self.steps.end(), self.sent.end(), self.outputs.end()],
            };
            self.executions.drop_before(self.executions.first + count as u64);
            self.steps.drop_before(step);
            self.sent.drop_before(sent);
            self.outputs.drop_before(outputs);
        }
        self.is_disordered &= !self.is_empty();
    }

    /// Time of the last event that was executed and not undone.
    pub(super) fn last(&self) -> Time {
        let left = self
            .executions
            .list
            .iter()
            .filter(|execution| !execution.is_undone);
        left.map(|execution| execution.event.time)
            .fold(self.last, Time::max)
    }

    /// Time of the first failure.
    pub(super) fn failed(&self) -> Time {
        let times = self.failures.iter().map(|(key, _)| key.time);
        times.min().unwrap_or(Time::MAX)
    }

    /// The earliest stop that an executed event requested.
    pub(super) fn stop(&self) -> Time {
        let times = self.stops.iter().map(|(_, stop)| *stop);
        times.min().unwrap_or(Time::MAX)
    }
}
