//! The reference executor: one priority queue, one event after the other.

use std::sync::Arc;
use std::time::Instant;

use crate::event_signer::EventSigner;
use crate::leg::RunLeg;
use crate::lps::{LpEntry, Lps};
use crate::queue::Queue;
use crate::run::{Finished, Observer, Run, RunEnd};
use crate::statistics::{EngineStatistics, ThreadSeconds, seconds};
use crate::tally::DRAIN_INTERVAL;
use crate::{Context, LpId, Model, SavedLp, Snapshot, Tally, TallyStep, Time};

/// Number of events between two checks for interruption and snapshots.
const CONTROL_INTERVAL: u64 = 4096;

struct Sequential<'a, M: Model> {
    signer: EventSigner,
    now: Time,
    queue: Queue<M::Payload>,
    observer: &'a mut dyn Observer<M>,
    stop: Time,
    failure: Option<M::Error>,
    tally: M::Tally,
}

impl<M: Model> Context<M> for Sequential<'_, M> {
    const REVERSIBLE: bool = false;

    fn now(&self) -> Time {
        self.now
    }
    fn lp(&self) -> LpId {
        self.signer.lp()
    }
    fn send(&mut self, target: LpId, delay: Time, payload: M::Payload) {
        self.queue
            .push(self.signer.write(self.now, target, delay, payload));
    }
    fn random(&mut self) -> u64 {
        self.signer.draw()
    }
    fn emit(&mut self, record: M::Record) {
        self.signer.may_emit();
        self.observer.commit(self.now, record);
    }
    #[inline(always)]
    fn tally(&mut self, step: TallyStep<M>) {
        self.tally.add(self.now, step);
    }
    #[inline(always)]
    fn certain_tally(&mut self) -> Option<&mut M::Tally> {
        Some(&mut self.tally)
    }
    fn undo(&mut self, _: M::Undo) {}
    fn stop(&mut self) {
        self.stop = self.stop.min(self.signer.stop(self.now));
    }
    fn fail(&mut self, error: M::Error) {
        self.failure.get_or_insert(error);
    }
}

impl<M: Model> Sequential<'_, M> {
    fn drain_tally(&mut self) {
        let (observer, now) = (&mut *self.observer, self.now);
        self.tally.drain(&mut |record| observer.commit(now, record));
    }
}

pub(crate) fn run<M: Model>(
    run: &Run<'_, M>,
    leg: &RunLeg<M>,
    observer: &mut dyn Observer<M>,
) -> Result<Finished<M>, String> {
    let Run {
        model,
        settings,
        control,
        ..
    } = *run;
    let start = Instant::now();
    let midway = leg.take(0);
    let is_midway = midway.is_some();
    let mut context = Sequential::<M> {
        signer: EventSigner::new(model.lookahead(), settings),
        now: leg.last,
        queue: Queue::new(model.lookahead()),
        observer,
        stop: leg.stop,
        failure: None,
        tally: model.tally(),
    };
    let (mut entries, pending) = match midway {
        Some(midway) => midway,
        None => (run.entries(0..model.lps())?, Arc::default()),
    };
    for event in pending.iter().flatten() {
        context.queue.push(*event);
    }
    drop(pending);
    match run.from {
        _ if is_midway => {}
        Some(snapshot) => snapshot
            .pending
            .iter()
            .for_each(|event| context.queue.push(*event)),
        None => {
            for (lp, entry) in entries.iter_mut().enumerate() {
                with_entry(&mut context, entry, LpId(lp as u32), |lp, context| {
                    model.start(lp, context)
                });
            }
        }
    }
    context.signer.begin_events();

    let (mut processed, mut timer) = (0u64, leg.start());
    let (mut next_control, mut next_drain) = (0, 0);
    // A snapshot lies between two times, so it may have to wait for the next time.
    let mut snapshot_wanted = false;
    let end = loop {
        if let Some(error) = context.failure.take() {
            break RunEnd::Failed(error);
        }
        if processed >= next_control {
            next_control = processed + timer.interval(CONTROL_INTERVAL);
            control.report(context.now, processed);
            if control.interrupted() {
                break RunEnd::Interrupted;
            }
            if timer.is_over_at(processed, 0.0, Instant::now) {
                let next = context.queue.next().unwrap_or(context.now);
                leg.pause(next, context.stop, Some(&timer), processed);
                break RunEnd::Until;
            }
            if processed >= next_drain {
                next_drain = processed + DRAIN_INTERVAL;
                context.drain_tally();
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
            context.drain_tally();
            let snapshot = Snapshot {
                time: next,
                stop: context.stop,
                lps: entries.iter().map(|entry| SavedLp::new(model, entry)).collect(),
                pending: context.queue.events().collect(),
            };
            context.observer.snapshot(snapshot);
        }
        let Some(event) = context.queue.pop_before(limit) else {
            break match () {
                () if context.stop < settings.until => RunEnd::Stopped,
                () if context.queue.next().is_none() => RunEnd::Drained,
                () => RunEnd::Until,
            };
        };
        context.now = event.time;
        let entry = &mut entries[event.target.0 as usize];
        with_entry(&mut context, entry, event.target, |lp, context| {
            model.handle(lp, &event, context)
        });
        processed += 1;
    };
    context.drain_tally();
    let time = match end {
        RunEnd::Until if leg.paused().is_none() => settings.until,
        RunEnd::Stopped => context.stop,
        _ => context.now,
    };
    let mut pending: Vec<_> = context.queue.events().collect();
    if leg.paused().is_some() {
        leg.leave(vec![std::mem::take(&mut pending)]);
    }
    Ok(Finished {
        end,
        time,
        lps: Lps::new(entries),
        pending,
        statistics: EngineStatistics {
            processed,
            committed: processed,
            threads: vec![ThreadSeconds {
                processing: seconds(start.elapsed()),
                ..ThreadSeconds::default()
            }],
            ..EngineStatistics::default()
        },
    })
}

/// Loads an LP's counters for one handler call.
#[inline]
fn with_entry<'a, M: Model>(
    context: &mut Sequential<'a, M>,
    entry: &mut LpEntry<M::Lp>,
    lp: LpId,
    handler: impl FnOnce(&mut M::Lp, &mut Sequential<'a, M>),
) {
    context.signer.open(lp, entry);
    handler(&mut entry.lp, context);
    context.signer.close(entry);
}
