//! The state of one thread of the optimistic executor: its pending and uncommitted events, with their undo logs.

use std::collections::{HashSet, VecDeque};
use std::ops::Range;

use smallvec::SmallVec;

use super::message::EventMessage;
use crate::commit::Emitted;
use crate::event::{Indexed, Key};
use crate::event_signer::EventSigner;
use crate::pending::Pending;
use crate::slot::Slot;
use crate::{Context, Event, LpId, Model, Partition, Settings, Time};

/// The instance of events of a snapshot. Nothing cancels them, but their sources may cancel later events. A
/// cancellation must not match one of these.
pub(super) const CERTAIN: u32 = 0;

/// The state of an event on this thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EventState {
    /// The event is in the queue.
    Pending,
    /// The event is in the queue, and will be dropped when it is removed.
    Cancelled,
    /// The event is executed, but not committed.
    Processed,
}

#[derive(Clone, Copy)]
struct HeldEvent<P> {
    event: Event<P>,
    instance: u32,
    state: EventState,
}

/// One execution of an event: the index of the event, the index of its log, and a unique serial number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcessedEvent {
    place: u32,
    log: u32,
    serial: u64,
}

/// A sent event, for its cancellation.
#[derive(Clone, Copy)]
pub(super) struct SentEvent {
    pub(super) target: LpId,
    sequence: u32,
    time: Time,
    /// The event's index if its LP belongs to this thread, otherwise its instance.
    mark: u32,
}

/// The effects of executing an event.
struct EventLog<M: Model> {
    serial: u64,
    /// The LP's previous execution.
    before: Option<ProcessedEvent>,
    draws: u64,
    steps: SmallVec<[M::Undo; 3]>,
    sent: SmallVec<[SentEvent; 3]>,
    records: Vec<M::Record>,
}

impl<M: Model> EventLog<M> {
    fn new() -> Self {
        EventLog {
            serial: 0,
            before: None,
            draws: 0,
            steps: SmallVec::new(),
            sent: SmallVec::new(),
            records: Vec::new(),
        }
    }
}

/// An LP with its uncommitted history.
pub(super) struct LpHistory<L> {
    pub(super) slot: Slot<L>,
    /// Number of events sent so far, cancelled ones included, plus one, modulo 2^32.
    instance: u32,
    /// Its latest uncommitted event.
    pub(super) last: Option<ProcessedEvent>,
    /// The key of that event, or of an earlier one.
    pub(super) last_key: Key,
    pub(super) rollbacks: u32,
}

impl<L> LpHistory<L> {
    pub(super) fn new(slot: Slot<L>) -> Self {
        LpHistory {
            slot,
            instance: CERTAIN + 1,
            last: None,
            last_key: Key::FIRST,
            rollbacks: 0,
        }
    }

    /// Whether an event with this key or a later one was executed.
    #[inline]
    pub(super) fn is_past(&self, key: Key) -> bool {
        self.last.is_some() && self.last_key >= key
    }
}

/// The part of a worker that handlers access through [`Context`].
pub(super) struct WorkerContext<'a, M: Model> {
    pub(super) range: Range<u32>,
    partition: &'a Partition,
    pub(super) signer: EventSigner,
    /// Events of this thread, and free entries.
    events: Vec<HeldEvent<M::Payload>>,
    free: Vec<u32>,
    /// Logs of executed events. They are fewer than events, so that they stay in the cache.
    logs: Vec<EventLog<M>>,
    free_logs: Vec<u32>,
    queue: Pending,
    /// Events of other threads (source and instance) that are dropped when they leave the queue.
    cancelled: HashSet<(LpId, u32)>,
    /// Uncommitted executions in order. Some have been undone.
    processed: VecDeque<ProcessedEvent>,
    /// Whether `processed` may be out of the total order after a late event.
    is_disordered: bool,
    /// The last key in `processed`.
    newest: Key,
    serials: u64,
    pub(super) outboxes: Vec<Vec<EventMessage<M::Payload>>>,
    pub(super) records: Vec<Emitted<M::Record>>,
    /// Requested stops, by event; few.
    stops: Vec<(Key, Time)>,
    /// Failures, by event; few.
    failures: Vec<(Key, M::Error)>,
    /// Time of the earliest message since the last synchronisation.
    pub(super) sent: Time,
    pub(super) remote: u64,
    pub(super) anti_messages: u64,
    pub(super) committed: u64,
    pub(super) last_committed: Time,
    /// Key of the current event.
    key: Key,
    place: u32,
    log: u32,
    instance: u32,
}

impl<M: Model> Context<M> for WorkerContext<'_, M> {
    const REVERSIBLE: bool = true;

    #[inline]
    fn now(&self) -> Time {
        self.key.time
    }
    #[inline]
    fn lp(&self) -> LpId {
        self.signer.lp()
    }
    #[inline]
    fn send(&mut self, target: LpId, delay: Time, payload: M::Payload) {
        let event = self.signer.write(self.key.time, target, delay, payload);
        let instance = self.instance;
        self.instance = instance.wrapping_add(1);
        let mark = if self.range.contains(&target.0) {
            self.hold(event, instance)
        } else {
            self.sent = self.sent.min(event.time);
            self.remote += 1;
            self.outboxes[self.partition.owner(target)].push(EventMessage::Event { event, instance });
            instance
        };
        // Events of the model's start are never cancelled.
        if self.signer.is_in_event() {
            self.logs[self.log as usize].sent.push(SentEvent {
                target,
                sequence: event.sequence,
                time: event.time,
                mark,
            });
        }
    }
    #[inline]
    fn random(&mut self) -> u64 {
        self.signer.draw()
    }
    fn emit(&mut self, record: M::Record) {
        self.signer.may_emit();
        self.logs[self.log as usize].records.push(record);
    }
    #[inline]
    fn tally(&mut self) -> Option<&mut M::Tally> {
        None
    }
    #[inline]
    fn undo(&mut self, step: M::Undo) {
        if self.signer.is_in_event() {
            self.logs[self.log as usize].steps.push(step);
        }
    }
    fn stop(&mut self) {
        self.stops.push((self.key, self.signer.stop(self.key.time)));
    }
    fn fail(&mut self, error: M::Error) {
        self.failures.push((self.key, error));
    }
}

impl<'a, M: Model> WorkerContext<'a, M> {
    pub(super) fn new(
        model: &M,
        partition: &'a Partition,
        range: Range<u32>,
        settings: &Settings,
        (begin, stop): (Time, Time),
    ) -> Self {
        WorkerContext {
            range,
            partition,
            signer: EventSigner::new(model.lookahead(), settings),
            events: Vec::new(),
            free: Vec::new(),
            logs: Vec::new(),
            free_logs: Vec::new(),
            queue: Pending::new(Time(model.lookahead().0 / 64)),
            cancelled: HashSet::new(),
            processed: VecDeque::new(),
            is_disordered: false,
            newest: Key::FIRST,
            serials: 0,
            outboxes: (0..partition.parts()).map(|_| Vec::new()).collect(),
            records: Vec::new(),
            // A stop of the snapshot is committed.
            stops: vec![(Key::FIRST, stop)],
            failures: Vec::new(),
            sent: Time::MAX,
            remote: 0,
            anti_messages: 0,
            committed: 0,
            last_committed: begin,
            key: Key::FIRST,
            place: 0,
            log: 0,
            instance: 0,
        }
    }

    /// Adds an event for an LP of this thread. Returns its index.
    pub(super) fn hold(&mut self, event: Event<M::Payload>, instance: u32) -> u32 {
        let held = HeldEvent {
            event,
            instance,
            state: EventState::Pending,
        };
        let place = match self.free.pop() {
            Some(place) => {
                self.events[place as usize] = held;
                place
            }
            None => {
                assert!(
                    self.events.len() < u32::MAX as usize,
                    "a thread holds more than 2^32 events"
                );
                self.events.push(held);
                (self.events.len() - 1) as u32
            }
        };
        let key = event.key();
        self.queue.push(Indexed { key, index: place });
        place
    }

    /// The first pending event and its index, if it may execute: not after a failed handler.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<Indexed> {
        while let Some(first) = self.queue.peek() {
            let held = &self.events[first.index as usize];
            let is_cancelled = held.state == EventState::Cancelled
                || (!self.cancelled.is_empty() && self.cancelled.remove(&(held.event.source, held.instance)));
            if !is_cancelled {
                let failed = self.failures.iter().any(|(failed, _)| *failed < first.key);
                return (!failed).then_some(first);
            }
            self.queue.pop();
            self.free.push(first.index);
        }
        None
    }

    /// Removes the event that [`WorkerContext::peek`] returned.
    #[inline]
    pub(super) fn pop(&mut self, place: u32) -> Event<M::Payload> {
        self.queue.pop();
        self.events[place as usize].event
    }

    /// Loads an LP's counters before a handler.
    #[inline]
    pub(super) fn open(&mut self, history: &LpHistory<M::Lp>, lp: LpId) {
        self.signer.open(lp, &history.slot);
        self.instance = history.instance;
    }

    /// Begins the log of the event that executes next.
    #[inline]
    pub(super) fn begin(&mut self, key: Key, place: u32) {
        self.key = key;
        self.place = place;
        self.log = self.free_logs.pop().unwrap_or_else(|| {
            self.logs.push(EventLog::new());
            (self.logs.len() - 1) as u32
        });
    }

    #[inline]
    pub(super) fn close(&self, history: &mut LpHistory<M::Lp>) {
        self.signer.close(&mut history.slot);
        history.instance = self.instance;
    }

    /// Records after a handler that the current event is executed.
    #[inline]
    pub(super) fn note(&mut self, history: &mut LpHistory<M::Lp>) {
        self.serials += 1;
        let processed_event = ProcessedEvent {
            place: self.place,
            log: self.log,
            serial: self.serials,
        };
        let (draws, _) = self.signer.counters();
        let log = &mut self.logs[self.log as usize];
        log.serial = processed_event.serial;
        log.before = history.last;
        log.draws = draws - history.slot.draws;
        self.close(history);
        history.last = Some(processed_event);
        history.last_key = self.key;
        self.events[self.place as usize].state = EventState::Processed;
        self.is_disordered |= self.key < self.newest;
        self.newest = self.key;
        self.processed.push_back(processed_event);
    }

    /// Undoes an LP's latest event, which becomes pending again. Adds the events that it sent to `cancelled`.
    pub(super) fn take_back(
        &mut self,
        model: &M,
        history: &mut LpHistory<M::Lp>,
        processed_event: ProcessedEvent,
        cancelled: &mut Vec<(LpId, SentEvent)>,
    ) {
        let held = &mut self.events[processed_event.place as usize];
        held.state = EventState::Pending;
        let (key, source) = (held.event.key(), held.event.target);
        let log = &mut self.logs[processed_event.log as usize];
        while let Some(step) = log.steps.pop() {
            model.undo(&mut history.slot.lp, step);
        }
        history.slot.draws -= log.draws;
        history.slot.sequence = history.slot.sequence.wrapping_sub(log.sent.len() as u32);
        cancelled.extend(log.sent.drain(..).map(|sent| (source, sent)));
        log.records.clear();
        log.serial = 0;
        self.free_logs.push(processed_event.log);
        // The log of a committed event is freed, and may belong to another event.
        let before = log
            .before
            .filter(|b| self.logs[b.log as usize].serial == b.serial);
        history.last = before;
        history.last_key = before.map_or(Key::FIRST, |b| self.events[b.place as usize].event.key());
        self.stops.retain(|(by, _)| *by != key);
        self.failures.retain(|(by, _)| *by != key);
        self.queue.push(Indexed {
            key,
            index: processed_event.place,
        });
    }

    /// Whether this thread owns an LP.
    pub(super) fn owns(&self, lp: LpId) -> bool {
        self.range.contains(&lp.0)
    }

    /// Whether an event that was sent to an LP of this thread is executed.
    pub(super) fn is_processed(&self, sent: &SentEvent) -> bool {
        self.events[sent.mark as usize].state == EventState::Processed
    }

    /// Cancels a pending event that was sent to an LP of this thread.
    pub(super) fn cancel(&mut self, sent: &SentEvent) {
        self.events[sent.mark as usize].state = EventState::Cancelled;
    }

    /// Sends an anti-message.
    pub(super) fn cancel_remote(&mut self, source: LpId, sent: &SentEvent) {
        self.sent = self.sent.min(sent.time);
        self.anti_messages += 1;
        self.outboxes[self.partition.owner(sent.target)].push(EventMessage::Cancelled {
            target: sent.target,
            key: sent.key(source),
            instance: sent.mark,
        });
    }

    /// Marks a pending event of another thread to be dropped when it leaves the queue.
    pub(super) fn mark_cancelled(&mut self, source: LpId, instance: u32) {
        self.cancelled.insert((source, instance));
    }

    /// A lower bound of the times of all events on this thread.
    pub(super) fn next(&mut self) -> Time {
        let next = self.peek().map_or(Time::MAX, |first| first.key.time);
        // Nothing executes after a failure. Once GVT has passed it, the failure is final.
        let failed = self.failed();
        next.min(Time(failed.0.saturating_add(1)))
    }

    /// Time of the first failure.
    pub(super) fn failed(&self) -> Time {
        let times = self.failures.iter().map(|(key, _)| key.time);
        times.min().unwrap_or(Time::MAX)
    }

    /// The first failure.
    pub(super) fn into_failure(self) -> Option<(Key, M::Error)> {
        self.failures.into_iter().min_by_key(|(key, _)| *key)
    }

    /// The earliest stop that an executed event requested.
    pub(super) fn stop(&self) -> Time {
        self.stops
            .iter()
            .map(|(_, stop)| *stop)
            .min()
            .unwrap_or(Time::MAX)
    }

    /// Memory of uncommitted executed events, in bytes. Some have been undone since.
    pub(super) fn uncertain_bytes(&self) -> usize {
        self.processed.len() * (size_of::<HeldEvent<M::Payload>>() + size_of::<EventLog<M>>())
    }

    /// Executions at `time` or later, latest first.
    pub(super) fn processed_since(&self, time: Time) -> Vec<Event<M::Payload>> {
        let since = self.processed.iter().rev().filter_map(|processed_event| {
            let stands = self.logs[processed_event.log as usize].serial == processed_event.serial;
            stands.then(|| self.events[processed_event.place as usize].event)
        });
        since.filter(|event| event.time >= time).collect()
    }

    /// Commits everything before `bound`: passes on records and drops undo steps.
    pub(super) fn commit_before(&mut self, bound: Time) {
        while let Some(processed_event) = self.processed.front().copied()
            && self.commit_if_before(processed_event, bound)
        {
            self.processed.pop_front();
        }
        if std::mem::take(&mut self.is_disordered) {
            let mut rest = std::mem::take(&mut self.processed);
            rest.retain(|processed_event| !self.commit_if_before(*processed_event, bound));
            self.is_disordered = !rest.is_empty();
            self.processed = rest;
        }
    }

    /// Commits one execution. Returns false if it is still valid and not before `bound`.
    // As each event is committed here, and once more only after a rollback.
    #[inline(always)]
    fn commit_if_before(&mut self, processed_event: ProcessedEvent, bound: Time) -> bool {
        let log = &mut self.logs[processed_event.log as usize];
        if log.serial != processed_event.serial {
            return true;
        }
        let event = &self.events[processed_event.place as usize].event;
        if event.time >= bound {
            return false;
        }
        log.serial = 0;
        log.steps.clear();
        log.sent.clear();
        if !log.records.is_empty() {
            let key = event.key();
            for (index, record) in log.records.drain(..).enumerate() {
                let index = index as u32;
                self.records.push(Emitted { key, index, record });
            }
        }
        self.committed += 1;
        self.last_committed = self.last_committed.max(event.time);
        self.free.push(processed_event.place);
        self.free_logs.push(processed_event.log);
        true
    }

    /// All pending events, in no particular order.
    pub(super) fn pending(&self) -> impl Iterator<Item = Event<M::Payload>> + '_ {
        let held = self
            .queue
            .iter()
            .map(|queued| &self.events[queued.index as usize]);
        held.filter(|held| {
            held.state == EventState::Pending && !self.cancelled.contains(&(held.event.source, held.instance))
        })
        .map(|held| held.event)
    }
}

impl SentEvent {
    /// Position of an event in the total order.
    pub(super) fn key(&self, source: LpId) -> Key {
        Key::new(self.time, source, self.sequence)
    }
}
