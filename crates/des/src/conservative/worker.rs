//! One thread of the conservative executor: its LPs, and the loop over windows.

use super::Windows;
use crate::commit::Committer;
use crate::gather::WorkerEnd;
use crate::leg::{LegTimer, RunLeg};
use crate::lps::{LpEntry, Lps};
use crate::run::{Observer, Run};
use crate::service::CpuMeter;
use crate::statistics::{Clock, EngineStatistics};
use crate::tally::DRAIN_INTERVAL;
use crate::team::{PanicGuard, SnapshotParts, SyncState};
use crate::windows::{ExecuteLp, PlannedEvents, StripLoop, WindowContext};
use crate::{Event, LpId, Model, Time};

/// The LPs of a thread, and their context.
struct ConservativePart<'a, M: Model> {
    model: &'a M,
    context: WindowContext<'a, M, Event<M::Payload>>,
    entries: Vec<LpEntry<M::Lp>>,
    /// Events from here on are not executed.
    limit: Time,
    processed: u64,
    /// Time of the last executed event.
    last: Time,
}

impl<M: Model> ExecuteLp<M> for ConservativePart<'_, M> {
    #[inline(always)]
    fn entries(&self) -> &[LpEntry<M::Lp>] {
        &self.entries
    }

    #[inline(always)]
    fn execute_lp(&mut self, local: usize, planned: PlannedEvents<'_, M::Payload>) {
        let (model, limit, context) = (self.model, self.limit, &mut self.context);
        let entry = &mut self.entries[local];
        context
            .signer
            .open(LpId(context.range.start + local as u32), entry);
        context.in_order(planned.iter(), |context, event| {
            if event.time >= limit {
                // The run ends inside this window.
                context.leftover.push(*event);
                return;
            }
            context.begin_event(event.key());
            model.handle(&mut entry.lp, event, context);
            self.processed += 1;
        });
        self.last = self.last.max(context.key.time);
        context.signer.close(entry);
    }
}

pub(super) struct ConservativeWorker<'a, M: Model> {
    run: &'a Run<'a, M>,
    leg: &'a RunLeg<M>,
    team: &'a Windows<'a, M>,
    parts: &'a SnapshotParts<M>,
    thread: usize,
    part: ConservativePart<'a, M>,
    strips: StripLoop<'a, M>,
    /// Received events.
    mail: Vec<Event<M::Payload>>,
    /// Number of synchronisations so far.
    synchronisations: usize,
}

impl<'a, M: Model> ConservativeWorker<'a, M> {
    pub(super) fn new(
        run: &'a Run<'a, M>,
        leg: &'a RunLeg<M>,
        team: &'a Windows<'a, M>,
        parts: &'a SnapshotParts<M>,
        thread: usize,
    ) -> Self {
        let context = WindowContext::new(run, leg, team.part(thread));
        ConservativeWorker {
            run,
            leg,
            team,
            parts,
            thread,
            strips: StripLoop::new(run.model, context.range.start, context.calendar.strip_size()),
            part: ConservativePart {
                model: run.model,
                context,
                entries: Vec::new(),
                limit: Time::ZERO,
                processed: 0,
                last: leg.last,
            },
            mail: Vec::new(),
            synchronisations: 0,
        }
    }

    /// Executes all windows, from the first event to the end of the run. The leading thread has the observer.
    pub(super) fn run(mut self, mut observer: Option<&mut dyn Observer<M>>) -> WorkerEnd<M> {
        let team = self.team;
        let _guard = PanicGuard(team);
        let mut clock = Clock::start();
        let mut committer = Committer::new();
        let broken = self.begin().err();
        let until = self.run.settings.until;
        let (mut windows, mut now) = (0, Time::ZERO);
        let mut next_drain = DRAIN_INTERVAL;
        let (mut timer, mut meter): (Option<LegTimer>, Option<CpuMeter>) = (None, None);
        let interrupted = loop {
            if self.part.processed >= next_drain {
                next_drain = self.part.processed + DRAIN_INTERVAL;
                self.part.context.drain_tally(&mut observer);
            }
            self.post();
            if let Some(meter) = &mut meter {
                meter.note_rarely(clock.last());
            }
            let sync_state = SyncState {
                next: self.part.context.next(),
                stop: self.part.context.stop,
                failed: self.part.context.failed(),
                interrupted: broken.is_some() || (self.thread == 0 && self.run.control.interrupted()),
                snapshot: observer.as_mut().is_some_and(|o| o.wants_snapshot(now)),
                pause: timer
                    .as_mut()
                    .is_some_and(|timer| timer.is_over(self.part.processed, &clock)),
                is_long: false,
            };
            clock.lap(|s| &mut s.queue);
            let agreed = self.synchronise(sync_state);
            clock.lap(|s| &mut s.synchronisation);
            if windows == 0 {
                // Now all threads have their LPs.
                match observer {
                    Some(_) => timer = Some(self.leg.start()),
                    None => meter = self.leg.meter(),
                }
            }
            self.part.context.stop = agreed.stop;
            self.collect();
            now = agreed.next;
            let limit = until.min(agreed.stop);
            if let Some(observer) = &mut observer {
                committer.take(&mut team.collect_records());
                committer.commit_before(now, *observer);
                self.run.control.report(now.min(limit), self.part.processed);
            }
            if agreed.failed != Time::MAX || agreed.interrupted || now >= limit {
                break agreed.interrupted;
            }
            if agreed.pause {
                self.leg
                    .pause(now, agreed.stop, timer.as_ref(), self.part.processed);
                break false;
            }
            if agreed.snapshot {
                self.drain_tally(now, &mut committer, &mut observer);
                self.part
                    .context
                    .share_snapshot(self.part.model, &self.part.entries, self.parts);
                team.gather_snapshot(self.thread, now, agreed.stop, self.parts, &mut observer);
                clock.lap(|s| &mut s.synchronisation);
            }
            windows += 1;
            self.window(now, limit, &mut clock);
        };
        self.drain_tally(Time::MAX, &mut committer, &mut observer);
        WorkerEnd {
            pending: self.part.context.end(self.run.model, self.leg),
            lps: Lps::new(self.part.entries),
            failure: self.part.context.failure,
            broken,
            interrupted,
            stop: self.part.context.stop,
            last: self.part.last,
            statistics: EngineStatistics {
                processed: self.part.processed,
                committed: self.part.processed,
                remote: self.part.context.remote,
                windows,
                threads: vec![clock.seconds],
                ..EngineStatistics::default()
            },
        }
    }

    fn begin(&mut self) -> Result<(), String> {
        let part = self.team.part(self.thread);
        self.part.entries = self.part.context.begin(self.run, self.leg, part)?;
        Ok(())
    }

    fn synchronise(&mut self, sync_state: SyncState) -> SyncState {
        self.synchronisations += 1;
        self.team
            .synchronise(self.synchronisations, self.thread, sync_state)
    }

    /// Sends events to other workers, and records to the committer.
    fn post(&mut self) {
        for (part, outbox) in self.part.context.outboxes.iter_mut().enumerate() {
            self.team.post(part, outbox);
        }
        self.team.post_records(&mut self.part.context.records);
    }

    fn collect(&mut self) {
        self.part.context.sent = Time::MAX;
        self.team.collect(self.thread, &mut self.mail);
        for event in self.mail.drain(..) {
            self.part.context.calendar.add(event);
        }
    }

    /// Passes on the tallies of all threads. `now`: a time that all have passed.
    fn drain_tally(
        &mut self,
        now: Time,
        committer: &mut Committer<M::Record>,
        observer: &mut Option<&mut dyn Observer<M>>,
    ) {
        self.part.context.drain_tally(observer);
        self.team.post_records(&mut self.part.context.records);
        self.synchronise(SyncState::NOTHING);
        if let Some(observer) = observer {
            committer.take(&mut self.team.collect_records());
            committer.commit_before(now.max(Time(1)), *observer);
        }
    }

    /// Executes the window that holds `next`, up to `limit`.
    fn window(&mut self, next: Time, limit: Time, clock: &mut Clock) {
        let window = self.part.context.calendar.take(next);
        let start = self.part.context.open_window(next);
        let Some(mut window) = window else { return };
        clock.lap(|s| &mut s.queue);
        self.part.limit = limit;
        self.strips.execute(&mut window, start, &mut self.part);
        self.part.context.calendar.recycle(window);
        clock.lap(|s| &mut s.processing);
    }
}
