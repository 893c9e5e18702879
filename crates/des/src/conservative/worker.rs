//! One thread of the conservative executor: its LPs, their pending events, and the loop over windows.

use std::collections::BinaryHeap;
use std::ops::Range;
use std::time::Instant;

use super::calendar::Calendar;
use super::{Committer, Emitted, Shared};
use crate::event::{Indexed, Key};
use crate::run::{Partition, Settings, ThreadSeconds, seconds};
use crate::slot::Slot;
use crate::{Context, Control, Event, LpId, Model, Stream, Time, prefetch};

/// No event: the end of an LP's list.
const NONE: u32 = u32::MAX;

/// Events of a block are asked for so many before they are looked at.
const AHEAD: usize = 8;

/// What a worker leaves behind.
pub(super) struct Report<M: Model> {
    pub(super) lps: Vec<M::Lp>,
    pub(super) pending: Vec<Event<M::Payload>>,
    pub(super) failure: Option<(Key, M::Error)>,
    pub(super) interrupted: bool,
    pub(super) stop: Time,
    pub(super) last: Time,
    pub(super) processed: u64,
    pub(super) remote: u64,
    pub(super) windows: u64,
    pub(super) seconds: ThreadSeconds,
}

/// The part of a worker that handlers reach through [`Context`].
struct Desk<'a, M: Model> {
    me: usize,
    range: Range<u32>,
    partition: &'a Partition,
    lookahead: Time,
    seed: u64,
    calendar: Calendar<M::Payload>,
    /// Events that the LP at work sent itself within the current window.
    soon: BinaryHeap<Indexed>,
    soon_events: Vec<Event<M::Payload>>,
    outboxes: Vec<Vec<Event<M::Payload>>>,
    records: Vec<Emitted<M::Record>>,
    failure: Option<(Key, M::Error)>,
    stop: Time,
    remote: u64,
    /// Earliest event in the outboxes.
    sent: Time,
    window_begin: Time,
    window_end: Time,
    key: Key,
    emitted: u32,
    lp: LpId,
    draws: u64,
    sequence: u32,
    least: Time,
}

impl<M: Model> Context<M> for Desk<'_, M> {
    const REVERSIBLE: bool = false;

    #[inline]
    fn now(&self) -> Time {
        self.key.time
    }
    #[inline]
    fn lp(&self) -> LpId {
        self.lp
    }
    #[inline(always)]
    fn send(&mut self, target: LpId, delay: Time, payload: M::Payload) {
        let least = if target == self.lp {
            self.least
        } else {
            self.lookahead
        };
        assert!(
            delay >= least,
            "LP {} sends to LP {} in {delay}, less than {least}",
            self.lp.0,
            target.0
        );
        let event = Event {
            time: self.key.time + delay,
            source: self.lp,
            sequence: self.sequence,
            target,
            payload,
        };
        self.sequence = self.sequence.wrapping_add(1);
        if event.time < self.window_end {
            // Only an LP itself can be reached within the window.
            self.soon.push(Indexed {
                key: event.key(),
                index: self.soon_events.len() as u32,
            });
            self.soon_events.push(event);
        } else if self.range.contains(&target.0) {
            self.calendar.push(event);
        } else {
            self.sent = self.sent.min(event.time);
            self.remote += 1;
            self.outboxes[self.partition.owner(target)].push(event);
        }
    }
    #[inline]
    fn random(&mut self) -> u64 {
        let number = Stream::new(self.seed, self.lp.0, self.draws).next_u64();
        self.draws += 1;
        number
    }
    fn emit(&mut self, record: M::Record) {
        assert!(self.least > Time::ZERO, "an LP emits records in events only");
        self.records.push(Emitted {
            key: self.key,
            index: self.emitted,
            record,
        });
        self.emitted += 1;
    }
    #[inline]
    fn undo(&mut self, _: M::Undo) {}
    fn stop(&mut self) {
        self.stop = self.stop.min(self.key.time + self.lookahead);
    }
    fn fail(&mut self, error: M::Error) {
        if self.failure.as_ref().is_none_or(|(first, _)| self.key < *first) {
            self.failure = Some((self.key, error));
        }
    }
}

pub(super) struct Worker<'a, M: Model> {
    model: &'a M,
    control: &'a Control,
    shared: &'a Shared<M>,
    until: Time,
    desk: Desk<'a, M>,
    slots: Vec<Slot<M::Lp>>,
    /// First event of each LP of the block at work, as a list through `chain`.
    heads: Vec<u32>,
    /// LPs of the block that have events, one bit each.
    active: Vec<u64>,
    chain: Vec<u32>,
    /// Those LPs, in their order.
    order: Vec<u32>,
    /// One LP's events of the window in the total order: see [`sort_plan`].
    turn: Vec<u64>,
    /// Makes offsets into a window fit 32 bits.
    shift: u32,
    /// Events of the last window at or after the end of the run.
    leftover: Vec<Event<M::Payload>>,
    processed: u64,
    last: Time,
}

impl<'a, M: Model> Worker<'a, M> {
    pub(super) fn new(
        model: &'a M,
        settings: &'a Settings,
        control: &'a Control,
        shared: &'a Shared<M>,
        me: usize,
    ) -> Self {
        let range = settings.partition.range(me);
        let calendar = Calendar::new(model.lookahead(), &range);
        let block = calendar.block_size();
        Worker {
            model,
            control,
            shared,
            until: settings.until,
            slots: Slot::create(model, range.clone()),
            desk: Desk {
                me,
                range,
                partition: &settings.partition,
                lookahead: model.lookahead(),
                seed: settings.seed,
                calendar,
                soon: BinaryHeap::new(),
                soon_events: Vec::new(),
                outboxes: (0..settings.partition.parts()).map(|_| Vec::new()).collect(),
                records: Vec::new(),
                failure: None,
                stop: Time::MAX,
                remote: 0,
                sent: Time::MAX,
                window_begin: Time::ZERO,
                window_end: Time::ZERO,
                key: Key::FIRST,
                emitted: 0,
                lp: LpId(0),
                draws: 0,
                sequence: 0,
                least: Time::ZERO,
            },
            heads: vec![NONE; block],
            active: vec![0; block.div_ceil(64)],
            chain: Vec::new(),
            order: Vec::new(),
            turn: Vec::new(),
            shift: (64 - model.lookahead().ps().leading_zeros()).saturating_sub(32),
            leftover: Vec::new(),
            processed: 0,
            last: Time::ZERO,
        }
    }

    /// All windows, from the first event to the end of the run.
    pub(super) fn run(mut self, mut committer: Option<Committer<'_, M::Record>>) -> Report<M> {
        let shared = self.shared;
        let _guard = PanicGuard(&shared.barrier);
        let mut clock = Clock::start();
        self.start();
        let (mut windows, mut interrupted) = (0, false);
        for round in 0.. {
            self.post();
            interrupted = interrupted || (self.desk.me == 0 && self.control.interrupted());
            let halt = interrupted || self.desk.failure.is_some();
            let next = self.desk.calendar.next().min(self.desk.sent);
            clock.lap(|s| &mut s.queue);
            let agreed = shared.agree(round, self.desk.me, next, self.desk.stop, halt);
            clock.lap(|s| &mut s.synchronisation);
            self.desk.stop = agreed.stop;
            self.collect();
            let limit = self.until.min(agreed.stop);
            if let Some(committer) = &mut committer {
                committer.commit_before(agreed.next, &shared.records);
                self.control.report(agreed.next.min(limit), self.processed);
            }
            if agreed.halt || agreed.next >= limit {
                break;
            }
            windows += 1;
            self.window(agreed.next, limit, &mut clock);
        }
        Report {
            lps: self.slots.into_iter().map(|slot| slot.lp).collect(),
            pending: self.desk.calendar.into_events().chain(self.leftover).collect(),
            failure: self.desk.failure,
            interrupted,
            stop: self.desk.stop,
            last: self.last,
            processed: self.processed,
            remote: self.desk.remote,
            windows,
            seconds: clock.seconds,
        }
    }

    fn start(&mut self) {
        for lp in self.desk.range.clone() {
            let slot = &mut self.slots[(lp - self.desk.range.start) as usize];
            self.desk.open(slot, LpId(lp));
            self.model.start(&mut slot.lp, &mut self.desk);
            self.desk.close(slot);
        }
        self.desk.least = Time(1);
    }

    /// Gives events and records to whom they go to.
    fn post(&mut self) {
        for (to, outbox) in self.desk.outboxes.iter_mut().enumerate() {
            if !outbox.is_empty() {
                self.shared.mail[to][self.desk.me]
                    .lock()
                    .expect("no worker panics while it appends")
                    .append(outbox);
            }
        }
        if !self.desk.records.is_empty() {
            let mut records = self.shared.records[self.desk.me]
                .lock()
                .expect("no worker panics while it appends");
            records.append(&mut self.desk.records);
        }
    }

    fn collect(&mut self) {
        self.desk.sent = Time::MAX;
        if self.shared.mail.len() == 1 {
            return;
        }
        for mailbox in &self.shared.mail[self.desk.me] {
            for event in mailbox
                .lock()
                .expect("no worker panics while it appends")
                .drain(..)
            {
                self.desk.calendar.push(event);
            }
        }
    }

    /// Carries out the window that holds `next`, up to `limit`.
    fn window(&mut self, next: Time, limit: Time, clock: &mut Clock) {
        let window = self.desk.calendar.take(next);
        (self.desk.window_begin, self.desk.window_end) = self.desk.calendar.bounds(next);
        let Some(mut window) = window else { return };
        window.active.sort_unstable();
        clock.lap(|s| &mut s.queue);
        for block in &window.active {
            let events = &mut window.blocks[*block as usize];
            let first = *block as usize * self.desk.calendar.block_size();
            self.sort_by_lp(first, events);
            for i in 0..self.order.len() {
                self.look_ahead(first, i);
                let inside = self.order[i] as usize;
                let head = std::mem::replace(&mut self.heads[inside], NONE);
                self.turn(first + inside, head, events, limit);
            }
            events.clear();
        }
        self.desk.calendar.recycle(window);
        clock.lap(|s| &mut s.processing);
    }

    /// Chains the events of each LP of a block whose LPs begin at `first`; the chains need no memory but
    /// one number per event.
    fn sort_by_lp(&mut self, first: usize, events: &[Event<M::Payload>]) {
        assert!(
            events.len() < NONE as usize,
            "more than 2^32 events in one window"
        );
        let first = self.desk.range.start + first as u32;
        self.chain.clear();
        for (i, event) in events.iter().enumerate() {
            if let Some(soon) = events.get(i + AHEAD) {
                prefetch(soon);
            }
            let inside = (event.target.0 - first) as usize;
            self.active[inside / 64] |= 1 << (inside % 64);
            self.chain
                .push(std::mem::replace(&mut self.heads[inside], i as u32));
        }
        self.order.clear();
        for (word, bits) in self.active.iter_mut().enumerate() {
            let mut bits = std::mem::take(bits);
            while bits != 0 {
                self.order.push(word as u32 * 64 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
    }

    /// Asks for the memory of the LPs whose turns come next: of the one after the next itself, of the
    /// next what it points to.
    #[inline]
    fn look_ahead(&self, first: usize, turn: usize) {
        let slot = |i: usize| {
            self.order
                .get(i)
                .map(|inside| &self.slots[first + *inside as usize])
        };
        if let Some(slot) = slot(turn + 2) {
            prefetch(slot);
        }
        if let Some(slot) = slot(turn + 1) {
            self.model.prefetch(&slot.lp);
        }
    }

    /// One LP's turn in a window: its events in the total order, those among them that it sends itself.
    fn turn(&mut self, local: usize, head: u32, events: &[Event<M::Payload>], limit: Time) {
        let begin = self.desk.window_begin;
        let mut plan = std::mem::take(&mut self.turn);
        plan.clear();
        let mut index = head;
        while index != NONE {
            let offset = (events[index as usize].time - begin).ps() >> self.shift;
            plan.push(offset << 32 | u64::from(index));
            index = self.chain[index as usize];
        }
        sort_plan(&mut plan, events);

        let (model, slot, desk) = (self.model, &mut self.slots[local], &mut self.desk);
        desk.open(slot, LpId(desk.range.start + local as u32));
        let mut carry_out = |desk: &mut Desk<'_, M>, event: &Event<M::Payload>| {
            if event.time >= limit {
                // The run ends inside this window.
                self.leftover.push(*event);
                return;
            }
            desk.key = event.key();
            desk.emitted = 0;
            model.handle(&mut slot.lp, event, desk);
            self.processed += 1;
        };
        let mut planned = plan.iter().map(|entry| &events[*entry as u32 as usize]);
        let mut next = planned.next();
        loop {
            match next {
                Some(event) if desk.soon.peek().is_none_or(|soon| event.key() < soon.key) => {
                    carry_out(desk, event);
                    next = planned.next();
                }
                _ => match desk.soon.pop() {
                    Some(soon) => {
                        let event = desk.soon_events[soon.index as usize];
                        carry_out(desk, &event);
                    }
                    None => break,
                },
            }
        }
        self.last = self.last.max(desk.key.time);
        desk.soon_events.clear();
        desk.close(slot);
        self.turn = plan;
    }
}

impl<M: Model> Desk<'_, M> {
    /// Lends an LP's counters to the context while its handlers run.
    #[inline]
    fn open(&mut self, slot: &Slot<M::Lp>, lp: LpId) {
        self.lp = lp;
        self.draws = slot.draws;
        self.sequence = slot.sequence;
    }

    #[inline]
    fn close(&self, slot: &mut Slot<M::Lp>) {
        slot.draws = self.draws;
        slot.sequence = self.sequence;
    }
}

/// Brings entries of time offset (upper half) and place in `events` (lower half) into the total order.
/// Times alone nearly always decide, so that whole keys are looked at for ties only.
fn sort_plan<P>(plan: &mut [u64], events: &[Event<P>]) {
    plan.sort_unstable();
    let key = |entry: u64| events[entry as u32 as usize].key();
    for end in 1..plan.len() {
        let moving = plan[end];
        let mut hole = end;
        while hole > 0 && plan[hole - 1] >> 32 == moving >> 32 && key(moving) < key(plan[hole - 1]) {
            plan[hole] = plan[hole - 1];
            hole -= 1;
        }
        plan[hole] = moving;
    }
}

/// Tells the other workers if this one panics.
struct PanicGuard<'a>(&'a super::Barrier);

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        self.0.break_if_panicking();
    }
}

/// Attributes wall time to phases.
struct Clock {
    last: Instant,
    seconds: ThreadSeconds,
}

impl Clock {
    fn start() -> Clock {
        Clock {
            last: Instant::now(),
            seconds: ThreadSeconds::default(),
        }
    }

    fn lap(&mut self, phase: impl FnOnce(&mut ThreadSeconds) -> &mut f64) {
        let now = Instant::now();
        *phase(&mut self.seconds) += seconds(now - self.last);
        self.last = now;
    }
}
