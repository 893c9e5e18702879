//! One thread of the optimistic executor: the rounds of GVT, and what it executes in each.

use super::Warp;
use super::message::EventMessage;
use super::part::{Certain, OptimisticPart, Speculative};
use super::throttle::Throttle;
use crate::barrier::Ticket;
use crate::commit::Committer;
use crate::gather::WorkerEnd;
use crate::leg::{LegTimer, RunLeg};
use crate::lps::Lps;
use crate::run::{Observer, Run};
use crate::service::CpuMeter;
use crate::statistics::EngineStatistics;
use crate::tally::DRAIN_INTERVAL;
use crate::team::{PanicGuard, SnapshotParts, SyncState};
use crate::windows::StripLoop;
use crate::{Model, Time};

/// Events that take a thread about as long as a synchronisation with the other threads of its process: some
/// microseconds.
const EVENTS_PER_SYNCHRONISATION: u64 = 32;
/// The same where processes exchange messages.
const EVENTS_PER_EXCHANGE: u64 = 256;

pub(super) struct OptimisticWorker<'a, M: Model> {
    run: &'a Run<'a, M>,
    leg: &'a RunLeg<M>,
    team: &'a Warp<'a, M>,
    parts: &'a SnapshotParts<M>,
    thread: usize,
    part: OptimisticPart<'a, M>,
    strips: StripLoop<'a, M>,
    gvt: Time,
    /// The end of the run, as far as it is known.
    limit: Time,
    throttle: Throttle,
    /// Received messages.
    mail: Vec<EventMessage<M::Payload>>,
    /// Number of synchronisations so far.
    synchronisations: usize,
    /// Time before which no other thread executes or undoes anything in this round, unless this thread sends it a
    /// message.
    others: Time,
    /// Events of this thread when its round began, before the certain window.
    round_began: u64,
    /// Events of the certain window.
    certain: u64,
    /// Certain events of a thread in a round from which on the rounds of all threads end with the certain window.
    long_window: u64,
    /// A thread had as many in the round before.
    is_long: bool,
    speculated: u64,
}

impl<'a, M: Model> OptimisticWorker<'a, M> {
    pub(super) fn new(
        run: &'a Run<'a, M>,
        leg: &'a RunLeg<M>,
        team: &'a Warp<'a, M>,
        parts: &'a SnapshotParts<M>,
        thread: usize,
    ) -> Self {
        let part = OptimisticPart::new(run, leg, team.part(thread));
        let (first, strip) = (part.context.range.start, part.context.calendar.strip_size());
        OptimisticWorker {
            run,
            leg,
            team,
            parts,
            thread,
            part,
            strips: StripLoop::new(run.model, first, strip),
            gvt: Time::ZERO,
            limit: run.settings.until,
            throttle: Throttle::new(run.settings.optimism.ahead),
            mail: Vec::new(),
            synchronisations: 0,
            others: Time::ZERO,
            round_began: 0,
            certain: 0,
            long_window: match team.processes() {
                1 => EVENTS_PER_SYNCHRONISATION,
                _ => EVENTS_PER_EXCHANGE,
            },
            is_long: false,
            speculated: 0,
        }
    }

    /// Executes the whole run. The leading thread has the observer.
    pub(super) fn run(mut self, mut observer: Option<&mut dyn Observer<M>>) -> WorkerEnd<M> {
        let team = self.team;
        let _guard = PanicGuard(team);
        let until = self.run.settings.until;
        let mut committer = Committer::new();
        let part = team.part(self.thread);
        let broken = self.part.begin(self.run, self.leg, part).err();
        let (mut timer, mut meter): (Option<LegTimer>, Option<CpuMeter>) = (None, None);
        // The first synchronisation commits nothing.
        let (mut certain, mut gvt_rounds) = (Time::ZERO, 0);
        let mut next_drain = DRAIN_INTERVAL;
        let interrupted = loop {
            if self.part.processed >= next_drain {
                next_drain = self.part.processed + DRAIN_INTERVAL;
                self.part.context.drain_tally(&mut observer);
            }
            // A thread that could not begin executes nothing, and ends the run at the first synchronisation.
            let may_speculate = broken.is_none() && gvt_rounds > 0;
            let mut is_over = |worker: &Self| {
                if let Some(meter) = &mut meter {
                    meter.note_rarely(worker.part.clock.last());
                }
                timer
                    .as_mut()
                    .is_some_and(|timer| timer.is_over(worker.part.processed, &worker.part.clock))
            };
            let mut sync_state = |worker: &Self, observer: &mut Option<&mut dyn Observer<M>>| SyncState {
                next: worker.part.next(),
                stop: worker.part.stop(),
                failed: worker.part.failed(),
                interrupted: broken.is_some() || (worker.thread == 0 && worker.run.control.interrupted()),
                snapshot: observer.as_mut().is_some_and(|o| o.wants_snapshot(worker.gvt)),
                pause: is_over(worker),
                is_long: worker.certain >= worker.long_window,
            };
            let agreed = self.agree_on_gvt(may_speculate, |worker| sync_state(worker, &mut observer));
            if agreed.interrupted {
                break true;
            }
            if gvt_rounds == 0 {
                // Now all threads have their LPs.
                match observer {
                    Some(_) => timer = Some(self.leg.start()),
                    None => meter = self.leg.meter(),
                }
            }
            self.collect();
            gvt_rounds += 1;
            self.throttle
                .adapt(self.gvt, self.speculated, self.part.rolled_back);
            self.gvt = agreed.next;
            self.is_long = agreed.is_long;
            self.limit = until.min(agreed.stop);
            if let Some(observer) = &mut observer {
                committer.take(&mut team.collect_records());
                committer.commit_before(certain, *observer);
                self.run.control.report(certain, self.part.processed);
            }
            // A stop or a failure before GVT is final. A later one may still be undone.
            if agreed.failed < self.gvt.min(self.limit) {
                break false;
            }
            if self.gvt >= self.limit || self.gvt == Time::MAX {
                self.settle(self.limit.min(self.gvt), &mut committer, &mut observer);
                break false;
            }
            if agreed.pause {
                let stop = self.settle(self.gvt, &mut committer, &mut observer);
                self.leg
                    .pause(self.gvt, stop, timer.as_ref(), self.part.processed);
                break false;
            }
            let (start, end) = self.part.context.calendar.bounds(self.gvt);
            if agreed.snapshot {
                let stop = self.settle(self.gvt, &mut committer, &mut observer);
                self.drain_tally(&mut committer, &mut observer);
                self.part
                    .context
                    .share_snapshot(self.run.model, &self.part.entries, self.parts);
                team.gather_snapshot(self.thread, self.gvt, stop, self.parts, &mut observer);
                // All threads have undone the events after GVT.
                self.others = Time::ZERO;
            } else {
                self.commit_before(start);
            }
            certain = start;
            self.round_began = self.part.processed;
            self.part.clock.lap(|s| &mut s.queue);
            self.execute_certain(end);
        };
        self.drain_tally(&mut committer, &mut observer);
        WorkerEnd {
            pending: self.part.context.end(self.run.model, self.leg),
            broken,
            interrupted,
            stop: self.limit,
            last: self.part.last.max(self.part.history.last()),
            statistics: EngineStatistics {
                processed: self.part.processed,
                committed: self.part.processed - self.part.rolled_back,
                rolled_back: self.part.rolled_back,
                primary_rollbacks: self.part.primary_rollbacks,
                secondary_rollbacks: self.part.secondary_rollbacks,
                anti_messages: self.part.anti_messages,
                remote: self.part.context.remote,
                windows: 0,
                gvt_rounds,
                threads: vec![self.part.clock.seconds],
                rollbacks: self.part.lps.iter().map(|lp| lp.rollbacks).collect(),
                gears: Vec::new(),
            },
            lps: Lps::new(std::mem::take(&mut self.part.entries)),
            failure: self.part.into_failure(),
        }
    }

    /// Agrees with all threads on GVT. Speculates before the thread arrives, if windows are short, and while others
    /// have not arrived.
    ///
    /// A synchronisation takes less time than the history of many events. So all threads arrive after the certain
    /// window if it was long for any of them in the round before: then more events are certain. They have one rule, for
    /// who arrives early in processes waits.
    fn agree_on_gvt(
        &mut self,
        may_speculate: bool,
        sync_state: impl FnOnce(&Self) -> SyncState,
    ) -> SyncState {
        let target = self.end_of_round();
        // Also while others wait: a round of a few events would take less time than the synchronisation after it.
        while may_speculate && !self.is_long && self.part.processed < target && self.speculate(None) {}
        self.post();
        let sync_state = sync_state(self);
        self.part.clock.lap(|s| &mut s.queue);
        self.synchronisations += 1;
        let ticket = self.team.arrive(self.synchronisations, self.thread, sync_state);
        // What is sent from now on counts at the next arrival.
        let on_the_way = std::mem::replace(&mut self.part.context.sent, Time::MAX);
        let mut is_idle = false;
        while may_speculate && !self.team.has_all_arrived(ticket) {
            is_idle = !self.speculate(Some(ticket));
            if is_idle {
                // A thread with little work may get more from the others, long before GVT gets there.
                let goes_on = self.team.waits_for_mail(self.thread, ticket);
                self.part.clock.lap(|s| &mut s.idle);
                if !goes_on {
                    break;
                }
            }
        }
        self.part.clock.lap(|s| &mut s.queue);
        let agreed = self.team.agree(self.synchronisations, self.thread, ticket);
        // Another thread undoes an event only for a message, and this thread has received all that the others have
        // sent.
        self.others = self
            .team
            .next_of_others(self.synchronisations, self.thread)
            .min(on_the_way);
        self.part.clock.lap(|s| {
            if is_idle {
                &mut s.idle
            } else {
                &mut s.synchronisation
            }
        });
        agreed
    }

    /// Number of events of this thread after which its round ends.
    fn end_of_round(&self) -> u64 {
        let optimism = self.run.settings.optimism;
        self.round_began + u64::from(optimism.batch) * u64::from(optimism.gvt_interval)
    }

    /// Executes the certain window, which ends at `end`: all its events have arrived. Goes on with later windows while
    /// they end before anything that another thread may execute or undo: they are certain, too. A thread with nearly
    /// all of the work, or behind all others, keeps no history of them.
    fn execute_certain(&mut self, end: Time) {
        self.part.set_limit(self.limit);
        if self.part.context.calendar.next() < end {
            self.execute_window();
        }
        self.certain = self.part.processed - self.round_began;
        let target = self.end_of_round();
        while self.part.processed < target {
            self.part.set_limit(self.limit);
            let next = self.part.context.calendar.next();
            let (start, end) = self.part.context.calendar.bounds(next);
            let bound = self.others.min(self.part.context.sent);
            let is_over = next == Time::MAX || start >= self.part.limit || self.part.failed() < Time::MAX;
            if is_over || end > bound {
                break;
            }
            self.execute_window();
        }
        self.part.clock.lap(|s| &mut s.processing);
    }

    /// Executes the next window with events, which are certain.
    fn execute_window(&mut self) {
        let next = self.part.context.calendar.next();
        let Some(mut window) = self.part.context.calendar.take(next) else {
            return;
        };
        let start = self.part.context.open_window(next);
        self.part.is_open = true;
        self.strips
            .execute(&mut window, start, &mut Certain(&mut self.part));
        self.part.is_open = false;
        self.part.context.calendar.recycle(window);
    }

    /// Executes about a batch of events with history. Returns false if none may execute. `ticket`: that of the
    /// synchronisation at which this thread has arrived.
    fn speculate(&mut self, ticket: Option<Ticket>) -> bool {
        self.collect();
        self.part.clock.lap(|s| &mut s.queue);
        let (team, thread, optimism) = (self.team, self.thread, self.run.settings.optimism);
        let target = self.part.processed + u64::from(optimism.batch);
        let yields = || team.has_mail(thread) || ticket.is_some_and(|ticket| team.has_all_arrived(ticket));
        let mut has_executed = false;
        while self.part.processed < target {
            self.part.set_limit(self.limit);
            let next = self.part.context.calendar.next();
            let bound = self.throttle.limit(self.gvt).min(self.part.limit);
            if next >= bound || next > self.part.failed() || self.part.history.bytes() >= optimism.memory {
                break;
            }
            has_executed = true;
            let before = self.part.processed;
            let window = self.part.context.calendar.take(next);
            let start = self.part.context.open_window(next);
            let Some(mut window) = window else { continue };
            self.part.history.begin_window(start);
            self.throttle.reached = self.throttle.reached.max(start);
            self.part.is_open = true;
            let mut lps = Speculative {
                part: &mut self.part,
                yields,
            };
            let is_complete = self.strips.execute(&mut window, start, &mut lps);
            self.part.is_open = false;
            if is_complete {
                self.part.context.calendar.recycle(window);
            } else {
                self.part.take_back(window);
            }
            self.speculated += self.part.processed - before;
            if yields() {
                break;
            }
        }
        self.part.clock.lap(|s| &mut s.processing);
        self.post_messages();
        has_executed
    }

    /// Commits the executed events before `time`.
    fn commit_before(&mut self, time: Time) {
        let context = &mut self.part.context;
        self.part
            .history
            .commit_before(time, &mut context.records, &mut context.tally);
    }

    /// Sends messages to other threads.
    fn post_messages(&mut self) {
        for (part, outbox) in self.part.context.outboxes.iter_mut().enumerate() {
            self.team.post(part, outbox);
        }
    }

    /// Sends messages to other threads, and records to the committer.
    fn post(&mut self) {
        self.post_messages();
        self.team.post_records(&mut self.part.context.records);
    }

    /// Reads the mailbox: takes events in, and undoes cancelled ones.
    fn collect(&mut self) {
        let mut mail = std::mem::take(&mut self.mail);
        self.team.collect(self.thread, &mut mail);
        mail.drain(..).for_each(|message| self.part.receive(message));
        self.mail = mail;
    }

    /// Passes on the tallies of all threads.
    fn drain_tally(
        &mut self,
        committer: &mut Committer<M::Record>,
        observer: &mut Option<&mut dyn Observer<M>>,
    ) {
        self.part.context.drain_tally(observer);
        self.team.post_records(&mut self.part.context.records);
        self.synchronise(SyncState::NOTHING);
        if let Some(observer) = observer {
            committer.take(&mut self.team.collect_records());
            // Records of tallies have no time.
            committer.commit_before(Time(1), *observer);
        }
    }

    fn synchronise(&mut self, sync_state: SyncState) -> SyncState {
        self.synchronisations += 1;
        let agreed = self
            .team
            .synchronise(self.synchronisations, self.thread, sync_state);
        self.part.context.sent = Time::MAX;
        agreed
    }

    /// Undoes all events at `time` or later on all threads, and commits all earlier ones. Returns the earliest
    /// committed stop.
    fn settle(
        &mut self,
        time: Time,
        committer: &mut Committer<M::Record>,
        observer: &mut Option<&mut dyn Observer<M>>,
    ) -> Time {
        self.part.undo_since(time);
        self.post();
        self.synchronise(SyncState::NOTHING);
        // Only pending events are cancelled here, since all threads have undone the later ones.
        self.collect();
        self.commit_before(time);
        self.post();
        let agreed = self.synchronise(SyncState {
            stop: self.part.stop(),
            ..SyncState::NOTHING
        });
        if let Some(observer) = observer {
            committer.take(&mut self.team.collect_records());
            committer.commit_before(time, *observer);
        }
        agreed.stop
    }
}
