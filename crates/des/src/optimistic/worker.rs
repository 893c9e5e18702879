//! One thread of the optimistic executor: the loop over batches and GVT, and rollback.

use super::Warp;
use super::message::EventMessage;
use super::worker_context::{CERTAIN, LpHistory, SentEvent, WorkerContext};
use crate::commit::Committer;
use crate::event::{Indexed, Key};
use crate::gather::Report;
use crate::run::{Observer, Run};
use crate::slot::Lps;
use crate::snapshot::{SavedLp, SnapshotPart};
use crate::statistics::{Clock, EngineStatistics};
use crate::team::{PanicGuard, SnapshotParts, SyncState};
use crate::{LpId, Model, Time};

pub(super) struct Worker<'a, M: Model> {
    run: &'a Run<'a, M>,
    model: &'a M,
    team: &'a Warp<'a, M>,
    parts: &'a SnapshotParts<M>,
    thread: usize,
    context: WorkerContext<'a, M>,
    histories: Vec<LpHistory<M::Lp>>,
    gvt: Time,
    throttle: Throttle,
    clock: Clock,
    /// Received messages.
    mail: Vec<EventMessage<M::Payload>>,
    /// Events sent by undone events, to be cancelled.
    cancelled: Vec<(LpId, SentEvent)>,
    /// Number of synchronisations so far.
    meetings: usize,
    processed: u64,
    rolled_back: u64,
    primary_rollbacks: u64,
    secondary_rollbacks: u64,
}

/// Limits how far ahead of GVT a thread executes.
///
/// A thread with less work advances ahead of the others until their events arrive too late for it. Threads that are
/// far apart may do little but undo each other's work. So the limit is lowered whenever more than one event in 16 was
/// rolled back, and raised slowly while hardly any are (the idea of Breathing Time Warp, Steinman 1993, with feedback
/// instead of fixed phases).
struct Throttle {
    /// Events this far beyond GVT and later wait.
    ahead: Time,
    is_fixed: bool,
    /// Time of the latest executed event.
    reached: Time,
    /// Counts at the last adjustment.
    processed: u64,
    rolled_back: u64,
}

impl Throttle {
    fn new(ahead: Option<Time>) -> Throttle {
        Throttle {
            ahead: ahead.unwrap_or(Time::MAX),
            is_fixed: ahead.is_some(),
            reached: Time::ZERO,
            processed: 0,
            rolled_back: 0,
        }
    }

    /// Adjusts the limit between two values of GVT, of which `gvt` is the earlier.
    fn adapt(&mut self, gvt: Time, processed: u64, rolled_back: u64) {
        let executed = processed - std::mem::replace(&mut self.processed, processed);
        let undone = rolled_back - std::mem::replace(&mut self.rolled_back, rolled_back);
        if self.is_fixed || executed == 0 {
            return;
        }
        if undone * 16 > executed {
            let used = self.ahead.min(self.reached.saturating_sub(gvt));
            self.ahead = Time(used.0 / 4 * 3 + 1);
        } else if undone * 64 < executed {
            self.ahead = Time(self.ahead.0.saturating_add(self.ahead.0 / 16 + 1));
        }
    }
}

impl<'a, M: Model> Worker<'a, M> {
    pub(super) fn new(
        run: &'a Run<'a, M>,
        team: &'a Warp<'a, M>,
        parts: &'a SnapshotParts<M>,
        thread: usize,
    ) -> Self {
        let partition = &run.settings.partition;
        let range = partition.range(team.part(thread));
        let begin = run
            .from
            .map_or((Time::ZERO, Time::MAX), |snapshot| (snapshot.time, snapshot.stop));
        Worker {
            run,
            model: run.model,
            team,
            parts,
            thread,
            context: WorkerContext::new(run.model, partition, range, run.settings, begin),
            histories: Vec::new(),
            gvt: Time::ZERO,
            throttle: Throttle::new(run.settings.optimism.ahead),
            clock: Clock::start(),
            mail: Vec::new(),
            cancelled: Vec::new(),
            meetings: 0,
            processed: 0,
            rolled_back: 0,
            primary_rollbacks: 0,
            secondary_rollbacks: 0,
        }
    }

    /// Executes the whole run. The leading thread has the observer.
    pub(super) fn run(mut self, mut observer: Option<&mut dyn Observer<M>>) -> Report<M> {
        let team = self.team;
        let _guard = PanicGuard(team);
        let until = self.run.settings.until;
        let mut committer = Committer::new();
        let broken = self.begin().err();
        let mut limit = until;
        // The first synchronisation commits nothing.
        let (mut certain, mut gvt_rounds) = (Time::ZERO, 0);
        let interrupted = loop {
            // A thread that could not begin executes nothing, and ends the run at the first synchronisation.
            let idle = broken.is_some() || self.interval(limit);
            let sync_state = SyncState {
                next: self.context.next().min(self.context.sent),
                stop: self.context.stop(),
                failed: self.context.failed(),
                interrupted: broken.is_some() || (self.thread == 0 && self.run.control.interrupted()),
                snapshot: observer.as_mut().is_some_and(|o| o.wants_snapshot(self.gvt)),
            };
            self.clock.lap(|s| &mut s.queue);
            let agreed = self.meet(sync_state);
            self.clock
                .lap(|s| if idle { &mut s.idle } else { &mut s.synchronisation });
            if agreed.interrupted {
                break true;
            }
            self.collect();
            gvt_rounds += 1;
            self.throttle.adapt(self.gvt, self.processed, self.rolled_back);
            self.gvt = agreed.next;
            limit = until.min(agreed.stop);
            if let Some(observer) = &mut observer {
                committer.take(&mut team.collect_records());
                committer.commit_before(certain, *observer);
                self.run.control.report(certain, self.processed);
            }
            // A stop or a failure before GVT is final. A later one may still be undone.
            if agreed.failed < self.gvt.min(limit) {
                break false;
            }
            certain = self.gvt.min(limit);
            if certain == limit || self.gvt == Time::MAX {
                self.settle(certain, &mut committer, &mut observer);
                break false;
            }
            if agreed.snapshot {
                let stop = self.settle(certain, &mut committer, &mut observer);
                self.share_snapshot();
                team.gather_snapshot(self.thread, certain, stop, self.parts, &mut observer);
            } else {
                self.context.commit_before(certain);
            }
            self.clock.lap(|s| &mut s.queue);
        };
        Report {
            pending: self.context.pending().collect(),
            broken,
            interrupted,
            stop: limit,
            last: self.context.last_committed,
            statistics: EngineStatistics {
                processed: self.processed,
                committed: self.context.committed,
                rolled_back: self.rolled_back,
                primary_rollbacks: self.primary_rollbacks,
                secondary_rollbacks: self.secondary_rollbacks,
                anti_messages: self.context.anti_messages,
                remote: self.context.remote,
                windows: 0,
                gvt_rounds,
                threads: vec![self.clock.seconds],
                rollbacks: self.histories.iter().map(|history| history.rollbacks).collect(),
            },
            failure: self.context.into_failure(),
            lps: Lps::new(self.histories.into_iter().map(|history| history.slot).collect()),
        }
    }

    /// Creates the LPs and the first events, from the model's start or from the snapshot.
    fn begin(&mut self) -> Result<(), String> {
        let slots = self.run.slots(self.context.range.clone())?;
        self.histories = slots.into_iter().map(LpHistory::new).collect();
        match self.run.from {
            Some(snapshot) => {
                for event in &snapshot.pending {
                    if self.context.owns(event.target) {
                        self.context.hold(*event, CERTAIN);
                    }
                }
            }
            None => {
                for lp in self.context.range.clone().map(LpId) {
                    let history = &mut self.histories[(lp.0 - self.context.range.start) as usize];
                    self.context.open(history, lp);
                    self.model.start(&mut history.slot.lp, &mut self.context);
                    self.context.close(history);
                }
            }
        }
        self.context.signer.begin_events();
        Ok(())
    }

    /// Executes batches until the next GVT. Returns whether no work was left.
    fn interval(&mut self, limit: Time) -> bool {
        let optimism = self.run.settings.optimism;
        let ahead = self.gvt.saturating_add(self.throttle.ahead);
        // The limit is at least one lookahead, so that some thread can always advance.
        let certain_soon = self.gvt.saturating_add(self.model.lookahead());
        let bound = limit.min(ahead.max(certain_soon));
        for _ in 0..optimism.gvt_interval {
            self.collect();
            self.clock.lap(|s| &mut s.queue);
            let bound = if self.context.uncertain_bytes() < optimism.memory {
                bound
            } else {
                bound.min(certain_soon)
            };
            let executed = self.batch(optimism.batch, bound);
            self.clock.lap(|s| &mut s.processing);
            self.post();
            if executed < optimism.batch {
                return true;
            }
            if self.team.has_waiters() {
                break;
            }
        }
        false
    }

    /// Executes up to `batch` events before `bound`. Returns their number.
    fn batch(&mut self, batch: u32, bound: Time) -> u32 {
        for executed in 0..batch {
            match self.context.peek() {
                Some(first) if first.key.time < bound => self.execute(first),
                _ => return executed,
            }
        }
        batch
    }

    /// Executes the first pending event.
    #[inline]
    fn execute(&mut self, Indexed { key, index: place }: Indexed) {
        let event = self.context.pop(place);
        let local = self.local(event.target);
        if self.histories[local].is_past(key) {
            self.clock.lap(|s| &mut s.processing);
            self.primary_rollbacks += 1;
            self.roll_back(local, key);
            self.cancel_all();
            self.clock.lap(|s| &mut s.rollback);
        }
        let history = &mut self.histories[local];
        self.context.open(history, event.target);
        self.context.begin(key, place);
        self.model.handle(&mut history.slot.lp, &event, &mut self.context);
        self.context.note(history);
        self.processed += 1;
        self.throttle.reached = key.time;
    }

    fn local(&self, lp: LpId) -> usize {
        (lp.0 - self.context.range.start) as usize
    }

    /// Undoes the executed events of an LP from `since` on.
    fn roll_back(&mut self, local: usize, since: Key) {
        let history = &mut self.histories[local];
        history.rollbacks += 1;
        while let Some(processed_event) = history.last
            && history.last_key >= since
        {
            self.context
                .take_back(self.model, history, processed_event, &mut self.cancelled);
            self.rolled_back += 1;
        }
    }

    /// Cancels the events that undone events had sent, which may undo more.
    fn cancel_all(&mut self) {
        while let Some((source, sent)) = self.cancelled.pop() {
            if !self.context.owns(sent.target) {
                self.context.cancel_remote(source, &sent);
                continue;
            }
            if self.context.is_processed(&sent) {
                self.secondary_rollbacks += 1;
                self.roll_back(self.local(sent.target), sent.key(source));
            }
            self.context.cancel(&sent);
        }
    }

    fn meet(&mut self, sync_state: SyncState) -> SyncState {
        self.meetings += 1;
        let agreed = self.team.meet(self.meetings, self.thread, sync_state);
        self.context.sent = Time::MAX;
        agreed
    }

    /// Sends messages to other threads, and records to the committer.
    fn post(&mut self) {
        for (part, outbox) in self.context.outboxes.iter_mut().enumerate() {
            self.team.post(part, outbox);
        }
        self.team.post_records(&mut self.context.records);
    }

    /// Reads the mailbox: takes events in, and undoes cancelled ones.
    fn collect(&mut self) {
        let mut mail = std::mem::take(&mut self.mail);
        self.team.collect(self.thread, &mut mail);
        for message in mail.drain(..) {
            match message {
                EventMessage::Event { event, instance } => {
                    self.context.hold(event, instance);
                }
                EventMessage::Cancelled {
                    target,
                    key,
                    instance,
                } => {
                    let local = self.local(target);
                    if self.histories[local].is_past(key) {
                        self.clock.lap(|s| &mut s.queue);
                        self.secondary_rollbacks += 1;
                        self.roll_back(local, key);
                        self.cancel_all();
                        self.clock.lap(|s| &mut s.rollback);
                    }
                    self.context.mark_cancelled(key.source(), instance);
                }
            }
        }
        self.mail = mail;
    }

    /// Undoes all events at `time` or later on all threads, and commits all earlier ones. Returns the earliest
    /// committed stop.
    fn settle(
        &mut self,
        time: Time,
        committer: &mut Committer<M::Record>,
        observer: &mut Option<&mut dyn Observer<M>>,
    ) -> Time {
        for event in self.context.processed_since(time) {
            let local = self.local(event.target);
            if self.histories[local].is_past(event.key()) {
                self.roll_back(local, event.key());
            }
        }
        self.cancel_all();
        self.post();
        self.meet(SyncState::NOTHING);
        // Only pending events are cancelled here, since all threads have undone the later ones.
        self.collect();
        self.context.commit_before(time);
        self.post();
        let agreed = self.meet(SyncState {
            stop: self.context.stop(),
            ..SyncState::NOTHING
        });
        if let Some(observer) = observer {
            committer.take(&mut self.team.collect_records());
            committer.commit_before(time, *observer);
        }
        agreed.stop
    }

    /// Adds this thread's part to a snapshot at a time at which it has settled.
    fn share_snapshot(&self) {
        let lps = self
            .histories
            .iter()
            .map(|history| SavedLp::new(self.model, &history.slot));
        let part = SnapshotPart {
            first: self.context.range.start,
            lps: lps.collect(),
            pending: self.context.pending().collect(),
        };
        self.parts
            .lock()
            .expect("no worker panics while it appends")
            .push(part);
    }
}
