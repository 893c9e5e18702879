//! The reference executor: one priority queue, one event after the other.

use std::collections::BinaryHeap;
use std::time::Instant;

use crate::event::Indexed;
use crate::run::{Anatomy, End, Finished, Settings, ThreadSeconds, seconds};
use crate::slot::Slot;
use crate::{Context, Control, Event, LpId, Model, Stream, Time};

/// Events between two looks at the owner's wishes.
const CONTROL_INTERVAL: u64 = 4096;

/// Pending events: a heap of keys over a slab, so that sifting moves 24 bytes and not whole events.
struct Queue<P> {
    heap: BinaryHeap<Indexed>,
    slab: Vec<Event<P>>,
    free: Vec<u32>,
}

impl<P: Copy> Queue<P> {
    fn push(&mut self, event: Event<P>) {
        let key = event.key();
        let index = match self.free.pop() {
            Some(slot) => {
                self.slab[slot as usize] = event;
                slot
            }
            None => {
                self.slab.push(event);
                (self.slab.len() - 1) as u32
            }
        };
        self.heap.push(Indexed { key, index });
    }

    fn pop_before(&mut self, limit: Time) -> Option<Event<P>> {
        if self.heap.peek()?.key.time >= limit {
            return None;
        }
        let Indexed { index, .. } = self.heap.pop()?;
        self.free.push(index);
        Some(self.slab[index as usize])
    }
}

struct Sequential<'a, M: Model> {
    queue: Queue<M::Payload>,
    commit: &'a mut dyn FnMut(Time, M::Record),
    lookahead: Time,
    seed: u64,
    stop: Time,
    failure: Option<M::Error>,
    now: Time,
    lp: LpId,
    draws: u64,
    sequence: u32,
    /// Least delay to itself: nothing while the first events are sent.
    least: Time,
}

impl<M: Model> Context<M> for Sequential<'_, M> {
    const REVERSIBLE: bool = false;

    fn now(&self) -> Time {
        self.now
    }
    fn lp(&self) -> LpId {
        self.lp
    }
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
        self.queue.push(Event {
            time: self.now + delay,
            source: self.lp,
            sequence: self.sequence,
            target,
            payload,
        });
        self.sequence = self.sequence.wrapping_add(1);
    }
    fn random(&mut self) -> u64 {
        let number = Stream::new(self.seed, self.lp.0, self.draws).next_u64();
        self.draws += 1;
        number
    }
    fn emit(&mut self, record: M::Record) {
        assert!(self.least > Time::ZERO, "an LP emits records in events only");
        (self.commit)(self.now, record);
    }
    fn undo(&mut self, _: M::Undo) {}
    fn stop(&mut self) {
        self.stop = self.stop.min(self.now + self.lookahead);
    }
    fn fail(&mut self, error: M::Error) {
        self.failure.get_or_insert(error);
    }
}

pub(crate) fn run<M: Model>(
    model: &M,
    settings: &Settings,
    control: &Control,
    commit: &mut dyn FnMut(Time, M::Record),
) -> Finished<M> {
    let begin = Instant::now();
    let mut context = Sequential::<M> {
        queue: Queue {
            heap: BinaryHeap::new(),
            slab: Vec::new(),
            free: Vec::new(),
        },
        commit,
        lookahead: model.lookahead(),
        seed: settings.seed,
        stop: Time::MAX,
        failure: None,
        now: Time::ZERO,
        lp: LpId(0),
        draws: 0,
        sequence: 0,
        least: Time::ZERO,
    };
    let mut slots = Slot::create(model, 0..model.lps());
    for (lp, slot) in slots.iter_mut().enumerate() {
        in_slot(&mut context, slot, LpId(lp as u32), |lp, context| {
            model.start(lp, context)
        });
    }
    context.least = Time(1);

    let mut processed = 0u64;
    let end = loop {
        if let Some(error) = context.failure.take() {
            break End::Failed(error);
        }
        if processed.is_multiple_of(CONTROL_INTERVAL) {
            control.report(context.now, processed);
            if control.interrupted() {
                break End::Interrupted;
            }
        }
        let limit = settings.until.min(context.stop);
        let Some(event) = context.queue.pop_before(limit) else {
            break match () {
                () if context.stop < settings.until => End::Stopped,
                () if context.queue.heap.is_empty() => End::Drained,
                () => End::Until,
            };
        };
        context.now = event.time;
        let slot = &mut slots[event.target.0 as usize];
        in_slot(&mut context, slot, event.target, |lp, context| {
            model.handle(lp, &event, context)
        });
        processed += 1;
    };
    let time = match end {
        End::Until => settings.until,
        End::Stopped => context.stop,
        _ => context.now,
    };
    let queue = context.queue;
    Finished {
        end,
        time,
        lps: slots.into_iter().map(|slot| slot.lp).collect(),
        pending: queue
            .heap
            .iter()
            .map(|pending| queue.slab[pending.index as usize])
            .collect(),
        anatomy: Anatomy {
            processed,
            committed: processed,
            threads: vec![ThreadSeconds {
                processing: seconds(begin.elapsed()),
                ..ThreadSeconds::default()
            }],
            ..Anatomy::default()
        },
    }
}

/// Lends an LP's counters to the context while one of its handlers runs.
#[inline]
fn in_slot<'a, M: Model>(
    context: &mut Sequential<'a, M>,
    slot: &mut Slot<M::Lp>,
    lp: LpId,
    handler: impl FnOnce(&mut M::Lp, &mut Sequential<'a, M>),
) {
    context.lp = lp;
    context.draws = slot.draws;
    context.sequence = slot.sequence;
    handler(&mut slot.lp, context);
    slot.draws = context.draws;
    slot.sequence = context.sequence;
}
