//! The reference executor: one priority queue, one event after the other.

use std::time::Instant;

use crate::queue::Queue;
use crate::run::{Anatomy, End, Finished, Observer, Run, ThreadSeconds, seconds};
use crate::slot::Slot;
use crate::{Context, Event, LpId, Model, SavedLp, Snapshot, Stream, Time};

/// Events between two looks at the owner's wishes.
const CONTROL_INTERVAL: u64 = 4096;

struct Sequential<'a, M: Model> {
    queue: Queue<M::Payload>,
    observer: &'a mut dyn Observer<M>,
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
        self.observer.commit(self.now, record);
    }
    fn undo(&mut self, _: M::Undo) {}
    fn stop(&mut self) {
        self.stop = self.stop.min(self.now + self.lookahead);
    }
    fn fail(&mut self, error: M::Error) {
        self.failure.get_or_insert(error);
    }
}

pub(crate) fn run<M: Model>(run: &Run<'_, M>, observer: &mut dyn Observer<M>) -> Result<Finished<M>, String> {
    let Run {
        model,
        settings,
        control,
        ..
    } = *run;
    let begin = Instant::now();
    let mut slots = Slot::create(run, 0..model.lps())?;
    let mut context = Sequential::<M> {
        queue: Queue::new(),
        observer,
        lookahead: model.lookahead(),
        seed: settings.seed,
        stop: run.from.map_or(Time::MAX, |snapshot| snapshot.stop),
        failure: None,
        now: run.from.map_or(Time::ZERO, |snapshot| snapshot.time),
        lp: LpId(0),
        draws: 0,
        sequence: 0,
        least: Time::ZERO,
    };
    match run.from {
        Some(snapshot) => snapshot
            .pending
            .iter()
            .for_each(|event| context.queue.push(*event)),
        None => {
            for (lp, slot) in slots.iter_mut().enumerate() {
                in_slot(&mut context, slot, LpId(lp as u32), |lp, context| {
                    model.start(lp, context)
                });
            }
        }
    }
    context.least = Time(1);

    let mut processed = 0u64;
    // A snapshot lies between two times, so it may have to wait for the next.
    let mut snapshot_wanted = false;
    let end = loop {
        if let Some(error) = context.failure.take() {
            break End::Failed(error);
        }
        if processed.is_multiple_of(CONTROL_INTERVAL) {
            control.report(context.now, processed);
            if control.interrupted() {
                break End::Interrupted;
            }
            snapshot_wanted = snapshot_wanted || context.observer.wants_snapshot(context.now);
        }
        let limit = settings.until.min(context.stop);
        if snapshot_wanted
            && let Some(next) = context.queue.next()
            && next > context.now
            && next < limit
        {
            snapshot_wanted = false;
            let snapshot = Snapshot {
                time: next,
                stop: context.stop,
                lps: slots.iter().map(|slot| SavedLp::new(model, slot)).collect(),
                pending: context.queue.events().collect(),
            };
            context.observer.snapshot(snapshot);
        }
        let Some(event) = context.queue.pop_before(limit) else {
            break match () {
                () if context.stop < settings.until => End::Stopped,
                () if context.queue.next().is_none() => End::Drained,
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
    Ok(Finished {
        end,
        time,
        lps: slots.into_iter().map(|slot| slot.lp).collect(),
        pending: context.queue.events().collect(),
        anatomy: Anatomy {
            processed,
            committed: processed,
            threads: vec![ThreadSeconds {
                processing: seconds(begin.elapsed()),
                ..ThreadSeconds::default()
            }],
            ..Anatomy::default()
        },
    })
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
