//! The part of a thread of the optimistic executor: its LPs, their pending events and history, and rollback.

use super::history::{EventHistory, LpHistory};
use super::message::{EventMessage, SentEvent};
use crate::event::Key;
use crate::leg::RunLeg;
use crate::lps::LpEntry;
use crate::run::Run;
use crate::statistics::Clock;
use crate::windows::{ExecuteLp, PlannedEvents, Window, WindowContext};
use crate::{Context, Event, LpId, Model, TallyStep, Time};

/// The context of a thread, in windows whose events are certain.
type PartContext<'a, M> = WindowContext<'a, M, EventMessage<<M as Model>::Payload>>;

/// The LPs of a thread with all that belongs to them.
pub(super) struct OptimisticPart<'a, M: Model> {
    model: &'a M,
    pub(super) context: PartContext<'a, M>,
    pub(super) entries: Vec<LpEntry<M::Lp>>,
    pub(super) lps: Vec<LpHistory>,
    pub(super) history: EventHistory<M>,
    /// Events from here on are not executed.
    pub(super) limit: Time,
    /// Whether the strips of a window execute.
    pub(super) is_open: bool,
    /// Events sent by undone events, to be cancelled.
    cancelled: Vec<SentEvent>,
    /// Undone events of one LP, latest first.
    undone: Vec<Event<M::Payload>>,
    /// Cancelled events of the window that executes. They are in its strips, and were not executed.
    skipped: Vec<SentEvent>,
    pub(super) clock: Clock,
    pub(super) processed: u64,
    pub(super) rolled_back: u64,
    pub(super) primary_rollbacks: u64,
    pub(super) secondary_rollbacks: u64,
    pub(super) anti_messages: u64,
    /// Time of the last event that was executed as a certain one.
    pub(super) last: Time,
}

impl<'a, M: Model> OptimisticPart<'a, M> {
    pub(super) fn new(run: &Run<'a, M>, leg: &RunLeg<M>, part: usize) -> Self {
        OptimisticPart {
            model: run.model,
            context: WindowContext::new(run, leg, part),
            entries: Vec::new(),
            lps: Vec::new(),
            history: EventHistory::new(),
            limit: Time::ZERO,
            is_open: false,
            cancelled: Vec::new(),
            undone: Vec::new(),
            skipped: Vec::new(),
            clock: Clock::start(),
            processed: 0,
            rolled_back: 0,
            primary_rollbacks: 0,
            secondary_rollbacks: 0,
            anti_messages: 0,
            last: leg.last,
        }
    }

    /// Creates the LPs and the first events.
    ///
    /// # Errors
    /// The snapshot is not one of the model.
    pub(super) fn begin(&mut self, run: &Run<'_, M>, leg: &RunLeg<M>, part: usize) -> Result<(), String> {
        self.entries = self.context.begin(run, leg, part)?;
        self.lps = self.entries.iter().map(|_| LpHistory::EMPTY).collect();
        Ok(())
    }

    /// A lower bound of the times of pending events, and of messages since the last synchronisation.
    pub(super) fn next(&self) -> Time {
        self.context.next().min(self.leftover())
    }

    /// The first time of an event that waits because the run may end before it.
    fn leftover(&self) -> Time {
        let times = self.context.leftover.iter().map(|event| event.time);
        times.min().unwrap_or(Time::MAX)
    }

    /// The earliest stop that an event of this part requested.
    pub(super) fn stop(&self) -> Time {
        self.context.stop.min(self.history.stop())
    }

    /// Time of the first failure.
    pub(super) fn failed(&self) -> Time {
        self.context.failed().min(self.history.failed())
    }

    /// The first failure.
    pub(super) fn into_failure(self) -> Option<(Key, M::Error)> {
        let failures = self.history.failures.into_iter().chain(self.context.failure);
        failures.min_by_key(|(key, _)| *key)
    }

    /// Sets the time from which on nothing is executed, unless a stop comes before.
    pub(super) fn set_limit(&mut self, limit: Time) {
        self.limit = limit.min(self.stop());
        if !self.context.leftover.is_empty() && self.leftover() < self.limit {
            // A stop was undone.
            for event in std::mem::take(&mut self.context.leftover) {
                if self.context.owns(event.target) {
                    self.place(event);
                } else {
                    self.context.leftover.push(event);
                }
            }
        }
    }

    /// Takes in a message of another thread. No window executes.
    pub(super) fn receive(&mut self, message: EventMessage<M::Payload>) {
        match message {
            EventMessage::Event(event) => self.place(event),
            EventMessage::Cancelled(sent) => {
                self.cancel(sent);
                self.cancel_all();
            }
        }
    }

    /// Makes an event pending.
    fn place(&mut self, event: Event<M::Payload>) {
        if self.is_open && event.time < self.context.window_end() {
            // Of windows that execute, only events of the current LP are undone.
            self.context.add_soon(event);
        } else {
            self.context.calendar.go_back(event.time);
            self.context.calendar.add(event);
        }
    }

    /// Undoes the events of an LP that come after the first planned one.
    #[inline(always)]
    fn roll_back_if_late(&mut self, local: usize, planned: &PlannedEvents<'_, M::Payload>) {
        if !self.history.is_empty() && self.lps[local].is_past(planned.first().key()) {
            self.roll_back_late(local, planned.first().key());
        }
    }

    #[cold]
    #[inline(never)]
    fn roll_back_late(&mut self, local: usize, since: Key) {
        self.clock.lap(|s| &mut s.processing);
        self.primary_rollbacks += 1;
        self.roll_back(local, since, false);
        self.cancel_all();
        self.clock.lap(|s| &mut s.rollback);
    }

    /// Undoes the executed events of an LP from `since` on. They become pending again, without the first one if it is
    /// cancelled.
    fn roll_back(&mut self, local: usize, since: Key, is_cancelled: bool) {
        let (model, lp, entry) = (self.model, &mut self.lps[local], &mut self.entries[local]);
        lp.rollbacks += 1;
        let mut place = self.cancelled.len();
        while let Some(undone) = self.history.undo_since(
            since,
            lp,
            |step| model.undo(&mut entry.lp, step),
            &mut self.cancelled,
        ) {
            entry.draws -= u64::from(undone.draws);
            entry.sequence = entry.sequence.wrapping_sub(undone.sent);
            self.rolled_back += 1;
            self.undone.push(undone.event);
        }
        if is_cancelled {
            let first = self.undone.pop();
            debug_assert!(first.is_some_and(|event| event.key() == since));
        }
        // What these events sent to their own LP may be among them.
        let me = LpId(self.context.range.start + local as u32);
        const NO_LP: LpId = LpId(u32::MAX);
        while place < self.cancelled.len() {
            let SentEvent { key, target } = self.cancelled[place];
            if target == me
                && let Ok(found) = self.undone.binary_search_by(|event| key.cmp(&event.key()))
            {
                self.undone[found].target = NO_LP;
                self.cancelled.swap_remove(place);
            } else {
                place += 1;
            }
        }
        let mut undone = std::mem::take(&mut self.undone);
        for event in undone.drain(..) {
            if event.target != NO_LP {
                self.place(event);
            }
        }
        self.undone = undone;
    }

    /// Cancels the events that undone events had sent, which may undo more.
    fn cancel_all(&mut self) {
        while let Some(sent) = self.cancelled.pop() {
            self.cancel(sent);
        }
    }

    fn cancel(&mut self, sent: SentEvent) {
        let SentEvent { key, target } = sent;
        if let Some(place) = self.context.leftover.iter().position(|event| event.key() == key) {
            self.context.leftover.swap_remove(place);
            return;
        }
        if !self.context.owns(target) {
            self.anti_messages += 1;
            self.context.post(target, key.time, EventMessage::Cancelled(sent));
            return;
        }
        let local = self.context.local(target);
        if self.history.has_executed(&self.lps[local], key) {
            self.secondary_rollbacks += 1;
            self.roll_back(local, key, true);
        } else if self.is_open && key.time < self.context.window_end() {
            self.skipped.push(sent);
        } else {
            let found = self.context.calendar.remove(key, target);
            debug_assert!(found, "a cancelled event is pending if it was not executed");
        }
    }

    /// Undoes all events from `time` on. No window executes.
    pub(super) fn undo_since(&mut self, time: Time) {
        let since = Key::new(time, LpId(0), 0);
        for local in 0..self.lps.len() {
            if self.lps[local].is_past(since) {
                self.roll_back(local, since, false);
                self.cancel_all();
            }
        }
    }

    /// Executes planned events of an LP. `handle`: how one is executed.
    #[inline(always)]
    fn execute(
        &mut self,
        local: usize,
        planned: &PlannedEvents<'_, M::Payload>,
        mut handle: impl FnMut(
            &mut PartContext<'a, M>,
            &mut EventHistory<M>,
            &mut LpHistory,
            &mut M::Lp,
            &Event<M::Payload>,
        ),
    ) {
        self.roll_back_if_late(local, planned);
        let (limit, context) = (self.limit, &mut self.context);
        let (entry, lp, history) = (&mut self.entries[local], &mut self.lps[local], &mut self.history);
        let me = LpId(context.range.start + local as u32);
        context.signer.open(me, entry);
        // An event that this LP sends now may have the key of a cancelled one, so planned events alone are skipped.
        let skipped = &self.skipped[..];
        let is_left = |event: &&Event<M::Payload>| {
            let is_it = |sent: &SentEvent| sent.target == me && sent.key == event.key();
            skipped.is_empty() || !skipped.iter().any(is_it)
        };
        // So that the time of the last event is none of an LP before, which may be undone.
        context.begin_event(Key::FIRST);
        context.in_order(planned.iter().filter(is_left), |context, event| {
            if event.time >= limit {
                // The run may end inside this window.
                context.leftover.push(*event);
                return;
            }
            context.begin_event(event.key());
            handle(context, history, lp, &mut entry.lp, event);
            self.processed += 1;
        });
        context.signer.close(entry);
        if !self.skipped.is_empty() {
            self.skipped.retain(|sent| sent.target != me);
        }
    }

    /// Takes a window back whose last strips were not executed.
    pub(super) fn take_back(&mut self, window: Window<M::Payload>) {
        self.context.calendar.untake(window);
        for sent in std::mem::take(&mut self.skipped) {
            let found = self.context.calendar.remove(sent.key, sent.target);
            debug_assert!(found, "a cancelled event of the window is in its strips");
        }
    }
}

/// Executes events that nothing can undo.
pub(super) struct Certain<'p, 'a, M: Model>(pub(super) &'p mut OptimisticPart<'a, M>);

impl<M: Model> ExecuteLp<M> for Certain<'_, '_, M> {
    #[inline(always)]
    fn entries(&self) -> &[LpEntry<M::Lp>] {
        &self.0.entries
    }

    #[inline(always)]
    fn execute_lp(&mut self, local: usize, planned: PlannedEvents<'_, M::Payload>) {
        let model = self.0.model;
        self.0.execute(local, &planned, |context, _, _, lp, event| {
            model.handle(lp, event, context);
        });
        self.0.last = self.0.last.max(self.0.context.key.time);
    }
}

/// Executes events that may be undone.
pub(super) struct Speculative<'p, 'a, M: Model, Yields: Fn() -> bool> {
    pub(super) part: &'p mut OptimisticPart<'a, M>,
    /// Whether something else is to be done before the next strip.
    pub(super) yields: Yields,
}

impl<M: Model, Yields: Fn() -> bool> ExecuteLp<M> for Speculative<'_, '_, M, Yields> {
    #[inline(always)]
    fn entries(&self) -> &[LpEntry<M::Lp>] {
        &self.part.entries
    }

    #[inline(always)]
    fn execute_lp(&mut self, local: usize, planned: PlannedEvents<'_, M::Payload>) {
        let model = self.part.model;
        self.part
            .execute(local, &planned, |context, history, of_lp, lp, event| {
                let (before, _) = context.signer.counters();
                history.begin();
                let mut speculation = SpeculativeContext { context, history };
                model.handle(lp, event, &mut speculation);
                let (after, _) = context.signer.counters();
                history.complete(of_lp, event, (after - before) as u32);
            });
    }

    fn goes_on(&self) -> bool {
        !(self.yields)()
    }
}

/// The context of events that may be undone.
struct SpeculativeContext<'c, 'a, M: Model> {
    context: &'c mut PartContext<'a, M>,
    history: &'c mut EventHistory<M>,
}

impl<M: Model> Context<M> for SpeculativeContext<'_, '_, M> {
    const REVERSIBLE: bool = true;

    #[inline]
    fn now(&self) -> Time {
        self.context.key.time
    }
    #[inline]
    fn lp(&self) -> LpId {
        self.context.signer.lp()
    }
    #[inline]
    fn send(&mut self, target: LpId, delay: Time, payload: M::Payload) {
        let head = self.context.signer.sign(self.context.key.time, target, delay);
        self.history.keep_sent(SentEvent {
            key: Key::new(head.time, head.source, head.sequence),
            target,
        });
        self.context.deliver(head, payload);
    }
    #[inline]
    fn random(&mut self) -> u64 {
        self.context.signer.draw()
    }
    fn emit(&mut self, record: M::Record) {
        self.context.signer.may_emit();
        self.history.keep_record(self.context.key, record);
    }
    #[inline]
    fn tally(&mut self, step: TallyStep<M>) {
        self.history.keep_tally(step);
    }
    #[inline]
    fn undo(&mut self, step: M::Undo) {
        self.history.keep_step(step);
    }
    fn stop(&mut self) {
        let stop = self.context.signer.stop(self.context.key.time);
        self.history.stops.push((self.context.key, stop));
    }
    fn fail(&mut self, error: M::Error) {
        self.history.failures.push((self.context.key, error));
    }
}
