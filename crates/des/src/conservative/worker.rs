//! One thread of the conservative executor: its LPs, their pending events, and the loop over windows.

use std::collections::BinaryHeap;
use std::ops::Range;

use super::Windows;
use super::calendar::Calendar;
use super::lp_schedule::{LpSchedule, ScheduleSorter, ScheduledLp};
use crate::commit::{Committer, Emitted};
use crate::event::{Indexed, Key};
use crate::event_signer::EventSigner;
use crate::gather::Report;
use crate::prefetch::{prefetch_begin, prefetch_front};
use crate::run::{Observer, Run};
use crate::slot::{Lps, Slot};
use crate::snapshot::{SavedLp, SnapshotPart};
use crate::statistics::{Clock, EngineStatistics};
use crate::tally::DRAIN_INTERVAL;
use crate::team::{PanicGuard, SnapshotParts, SyncState};
use crate::{Context, Event, LpId, Model, Partition, Tally, Time};

/// From this number of LPs per thread on, an LP's memory leaves the caches between two windows, so that a second
/// prefetch of each event pays off.
const MANY: usize = 4096;

/// Prefetch distances in LPs: for an LP itself, for the memory it points to, and (in models of many LPs only) for the
/// memory that its events will touch.
const NEAR: [usize; 3] = [4, 2, 0];

/// The same distances in models of many LPs.
const FAR: [usize; 3] = [6, 4, 2];

/// Number of cache lines of an LP that are always prefetched. A model may prefetch others.
const FRONT: usize = 4;

/// The part of a worker that handlers access through [`Context`].
struct WorkerContext<'a, M: Model> {
    range: Range<u32>,
    partition: &'a Partition,
    signer: EventSigner,
    calendar: Calendar<M::Payload>,
    /// Events that the current LP sent itself within the current window.
    soon: BinaryHeap<Indexed>,
    soon_events: Vec<Event<M::Payload>>,
    outboxes: Vec<Vec<Event<M::Payload>>>,
    /// Events of the last window at or after the end of the run.
    leftover: Vec<Event<M::Payload>>,
    records: Vec<Emitted<M::Record>>,
    failure: Option<(Key, M::Error)>,
    stop: Time,
    remote: u64,
    /// Time of the earliest event in the outboxes.
    sent: Time,
    window_begin: Time,
    window_end: Time,
    key: Key,
    emitted: u32,
    tally: M::Tally,
}

impl<M: Model> WorkerContext<'_, M> {
    /// Turns the tally into records. They have no place in the total order.
    fn drain_tally(&mut self) {
        let mut index = 0;
        self.tally.drain(&mut |record| {
            let key = Key::FIRST;
            self.records.push(Emitted { key, index, record });
            index += 1;
        });
    }

    /// An event in the current window. Before the end of the run, only the sending LP can receive one.
    #[inline(never)]
    fn send_soon(&mut self, event: Event<M::Payload>) {
        if event.target != self.signer.lp() {
            return self.leftover.push(event);
        }
        self.soon.push(Indexed {
            key: event.key(),
            index: self.soon_events.len() as u32,
        });
        self.soon_events.push(event);
    }

    /// An event for another worker's LP.
    #[inline(never)]
    fn send_away(&mut self, event: Event<M::Payload>) {
        self.sent = self.sent.min(event.time);
        self.remote += 1;
        self.outboxes[self.partition.owner(event.target)].push(event);
    }
}

impl<M: Model> Context<M> for WorkerContext<'_, M> {
    const REVERSIBLE: bool = false;

    #[inline]
    fn now(&self) -> Time {
        self.key.time
    }
    #[inline]
    fn lp(&self) -> LpId {
        self.signer.lp()
    }
    #[inline(always)]
    fn send(&mut self, target: LpId, delay: Time, payload: M::Payload) {
        let head = self.signer.sign(self.key.time, target, delay);
        if head.time < self.window_end {
            self.send_soon(head.event(payload));
        } else if self.range.contains(&target.0) {
            self.calendar.push(head, payload);
        } else {
            self.send_away(head.event(payload));
        }
    }
    #[inline]
    fn random(&mut self) -> u64 {
        self.signer.draw()
    }
    fn emit(&mut self, record: M::Record) {
        self.signer.may_emit();
        self.records.push(Emitted {
            key: self.key,
            index: self.emitted,
            record,
        });
        self.emitted += 1;
    }
    #[inline]
    fn tally(&mut self) -> Option<&mut M::Tally> {
        Some(&mut self.tally)
    }
    #[inline]
    fn undo(&mut self, _: M::Undo) {}
    fn stop(&mut self) {
        self.stop = self.stop.min(self.signer.stop(self.key.time));
    }
    fn fail(&mut self, error: M::Error) {
        if self.failure.as_ref().is_none_or(|(first, _)| self.key < *first) {
            self.failure = Some((self.key, error));
        }
    }
}

/// Events that are about to execute.
struct UpcomingEvents<'a, P> {
    /// Events of the current block.
    events: &'a [Event<P>],
    /// Events of the next block.
    following: &'a [Event<P>],
}

pub(super) struct Worker<'a, M: Model> {
    run: &'a Run<'a, M>,
    model: &'a M,
    team: &'a Windows<'a, M>,
    parts: &'a SnapshotParts<M>,
    thread: usize,
    context: WorkerContext<'a, M>,
    slots: Vec<Slot<M::Lp>>,
    sorter: ScheduleSorter,
    /// Schedule of the current block.
    schedule: LpSchedule,
    /// Schedule of the next block.
    following: LpSchedule,
    /// Received events.
    mail: Vec<Event<M::Payload>>,
    /// Number of synchronisations so far.
    meetings: usize,
    processed: u64,
    last: Time,
}

impl<'a, M: Model> Worker<'a, M> {
    pub(super) fn new(
        run: &'a Run<'a, M>,
        team: &'a Windows<'a, M>,
        parts: &'a SnapshotParts<M>,
        thread: usize,
    ) -> Self {
        let (model, partition) = (run.model, &run.settings.partition);
        let range = partition.range(team.part(thread));
        let calendar = Calendar::new(model.lookahead(), &range);
        let block = calendar.block_size();
        Worker {
            run,
            model,
            team,
            parts,
            thread,
            slots: Vec::new(),
            context: WorkerContext {
                range,
                partition,
                signer: EventSigner::new(model.lookahead(), run.settings),
                calendar,
                soon: BinaryHeap::new(),
                soon_events: Vec::new(),
                outboxes: (0..partition.parts()).map(|_| Vec::new()).collect(),
                leftover: Vec::new(),
                records: Vec::new(),
                failure: None,
                stop: run.from.map_or(Time::MAX, |snapshot| snapshot.stop),
                remote: 0,
                sent: Time::MAX,
                window_begin: Time::ZERO,
                window_end: Time::ZERO,
                key: Key::FIRST,
                emitted: 0,
                tally: model.tally(),
            },
            sorter: ScheduleSorter::new(block, model.lookahead()),
            schedule: LpSchedule::default(),
            following: LpSchedule::default(),
            mail: Vec::new(),
            meetings: 0,
            processed: 0,
            last: run.from.map_or(Time::ZERO, |snapshot| snapshot.time),
        }
    }

    /// Executes all windows, from the first event to the end of the run. The leading thread has the observer.
    pub(super) fn run(mut self, mut observer: Option<&mut dyn Observer<M>>) -> Report<M> {
        let team = self.team;
        let _guard = PanicGuard(team);
        let mut clock = Clock::start();
        let mut committer = Committer::new();
        let broken = self.begin().err();
        let until = self.run.settings.until;
        let (mut windows, mut now) = (0, Time::ZERO);
        let mut next_drain = DRAIN_INTERVAL;
        let interrupted = loop {
            if self.processed >= next_drain {
                next_drain = self.processed + DRAIN_INTERVAL;
                self.context.drain_tally();
            }
            self.post();
            let sync_state = SyncState {
                next: self.context.calendar.next().min(self.context.sent),
                stop: self.context.stop,
                failed: self
                    .context
                    .failure
                    .as_ref()
                    .map_or(Time::MAX, |(key, _)| key.time),
                interrupted: broken.is_some() || (self.thread == 0 && self.run.control.interrupted()),
                snapshot: observer.as_mut().is_some_and(|o| o.wants_snapshot(now)),
            };
            clock.lap(|s| &mut s.queue);
            let agreed = self.meet(sync_state);
            clock.lap(|s| &mut s.synchronisation);
            self.context.stop = agreed.stop;
            self.collect();
            now = agreed.next;
            let limit = until.min(agreed.stop);
            if let Some(observer) = &mut observer {
                committer.take(&mut team.collect_records());
                committer.commit_before(now, *observer);
                self.run.control.report(now.min(limit), self.processed);
            }
            if agreed.failed != Time::MAX || agreed.interrupted || now >= limit {
                break agreed.interrupted;
            }
            if agreed.snapshot {
                self.drain_tally(now, &mut committer, &mut observer);
                self.share_snapshot();
                team.gather_snapshot(self.thread, now, agreed.stop, self.parts, &mut observer);
                clock.lap(|s| &mut s.synchronisation);
            }
            windows += 1;
            self.window(now, limit, &mut clock);
        };
        self.drain_tally(Time::MAX, &mut committer, &mut observer);
        Report {
            lps: Lps::new(self.slots),
            pending: self
                .context
                .calendar
                .into_events()
                .chain(self.context.leftover)
                .collect(),
            failure: self.context.failure,
            broken,
            interrupted,
            stop: self.context.stop,
            last: self.last,
            statistics: EngineStatistics {
                processed: self.processed,
                committed: self.processed,
                remote: self.context.remote,
                windows,
                threads: vec![clock.seconds],
                ..EngineStatistics::default()
            },
        }
    }

    /// Creates the LPs and the first events, from the model's start or from the snapshot.
    fn begin(&mut self) -> Result<(), String> {
        self.slots = self.run.slots(self.context.range.clone())?;
        match self.run.from {
            Some(snapshot) => {
                let range = &self.context.range;
                let mine = snapshot.pending.iter().filter(|e| range.contains(&e.target.0));
                mine.for_each(|event| self.context.calendar.add(*event));
            }
            None => {
                for lp in self.context.range.clone() {
                    let slot = &mut self.slots[(lp - self.context.range.start) as usize];
                    self.context.signer.open(LpId(lp), slot);
                    self.model.start(&mut slot.lp, &mut self.context);
                    self.context.signer.close(slot);
                }
            }
        }
        self.context.signer.begin_events();
        Ok(())
    }

    fn meet(&mut self, sync_state: SyncState) -> SyncState {
        self.meetings += 1;
        self.team.meet(self.meetings, self.thread, sync_state)
    }

    /// Sends events to other workers, and records to the committer.
    fn post(&mut self) {
        for (part, outbox) in self.context.outboxes.iter_mut().enumerate() {
            self.team.post(part, outbox);
        }
        self.team.post_records(&mut self.context.records);
    }

    fn collect(&mut self) {
        self.context.sent = Time::MAX;
        self.team.collect(self.thread, &mut self.mail);
        for event in self.mail.drain(..) {
            self.context.calendar.add(event);
        }
    }

    /// Passes on the tallies of all threads. `now`: a time that all have passed.
    fn drain_tally(
        &mut self,
        now: Time,
        committer: &mut Committer<M::Record>,
        observer: &mut Option<&mut dyn Observer<M>>,
    ) {
        self.context.drain_tally();
        self.team.post_records(&mut self.context.records);
        self.meet(SyncState::NOTHING);
        if let Some(observer) = observer {
            committer.take(&mut self.team.collect_records());
            committer.commit_before(now.max(Time(1)), *observer);
        }
    }

    /// Adds this thread's part to a snapshot at `now`.
    fn share_snapshot(&self) {
        let part = SnapshotPart {
            first: self.context.range.start,
            lps: self
                .slots
                .iter()
                .map(|slot| SavedLp::new(self.model, slot))
                .collect(),
            pending: self.context.calendar.events().collect(),
        };
        self.parts
            .lock()
            .expect("no worker panics while it appends")
            .push(part);
    }

    /// Executes the window that holds `next`, up to `limit`.
    fn window(&mut self, next: Time, limit: Time, clock: &mut Clock) {
        let window = self.context.calendar.take(next);
        (self.context.window_begin, self.context.window_end) = self.context.calendar.bounds(next);
        let Some(mut window) = window else { return };
        window.active.sort_unstable();
        clock.lap(|s| &mut s.queue);
        for (place, block) in window.active.iter().enumerate() {
            if place == 0 {
                self.plan(*block, &window.blocks);
            }
            std::mem::swap(&mut self.schedule, &mut self.following);
            let next = window.active.get(place + 1);
            match next {
                Some(next) => self.plan(*next, &window.blocks),
                None => self.following.clear(),
            }
            let ahead = UpcomingEvents {
                events: &window.blocks[*block as usize],
                following: next.map_or(&[], |next| &window.blocks[*next as usize]),
            };
            for index in 0..self.schedule.lps().len() {
                self.prefetch_ahead(index, &ahead);
                self.execute_lp(self.schedule.lps()[index], ahead.events, limit);
            }
            window.blocks[*block as usize].clear();
        }
        self.context.calendar.recycle(window);
        clock.lap(|s| &mut s.processing);
    }

    /// Schedules the block after the current one.
    fn plan(&mut self, block: u32, blocks: &[Vec<Event<M::Payload>>]) {
        let origin = self.context.range.start;
        let first = origin + block * self.context.calendar.block_size() as u32;
        let events = &blocks[block as usize];
        self.following.fill(
            &mut self.sorter,
            (origin, first),
            self.context.window_begin,
            events,
        );
    }

    /// Prefetches the memory of the next LPs: first the LP itself, then the memory it points to and, in large models,
    /// the memory that its events will touch.
    #[inline]
    fn prefetch_ahead(&self, index: usize, ahead: &UpcomingEvents<'_, M::Payload>) {
        let many = self.slots.len() >= MANY;
        let [own, theirs, each] = if many { FAR } else { NEAR };
        let find = |index: usize| {
            let here = self.schedule.lps();
            match here.get(index) {
                Some(lp) => Some((&self.schedule, *lp, ahead.events)),
                None => {
                    let lp = self.following.lps().get(index - here.len())?;
                    Some((&self.following, *lp, ahead.following))
                }
            }
        };
        if let Some((schedule, lp, events)) = find(index + own) {
            prefetch_front(&self.slots[lp.local as usize], FRONT);
            // These lines were prefetched with the schedule, but others have replaced them since.
            schedule
                .events(lp)
                .for_each(|event| prefetch_begin(events, event as usize));
        }
        if let Some((_, lp, _)) = find(index + theirs) {
            self.model.prefetch(&self.slots[lp.local as usize].lp);
        }
        if many && let Some((schedule, lp, events)) = find(index + each) {
            let state = &self.slots[lp.local as usize].lp;
            for event in schedule.events(lp) {
                self.model.prefetch_for(state, &events[event as usize]);
            }
        }
    }

    /// Executes the events of one LP in a window in the total order, including those that it sends itself.
    fn execute_lp(&mut self, lp: ScheduledLp, events: &[Event<M::Payload>], limit: Time) {
        let local = lp.local as usize;
        let entries = self.schedule.entries(lp);
        self.sorter.time_sorter().sort(entries, events);

        let (model, slot, context) = (self.model, &mut self.slots[local], &mut self.context);
        context
            .signer
            .open(LpId(context.range.start + local as u32), slot);
        let mut execute = |context: &mut WorkerContext<'_, M>, event: &Event<M::Payload>| {
            if event.time >= limit {
                // The run ends inside this window.
                context.leftover.push(*event);
                return;
            }
            context.key = event.key();
            context.emitted = 0;
            model.handle(&mut slot.lp, event, context);
            self.processed += 1;
        };
        let mut planned = entries.iter().map(|entry| &events[*entry as u32 as usize]);
        let mut next = planned.next();
        loop {
            match next {
                Some(event) if context.soon.peek().is_none_or(|soon| event.key() < soon.key) => {
                    execute(context, event);
                    next = planned.next();
                }
                _ => match context.soon.pop() {
                    Some(soon) => {
                        let event = context.soon_events[soon.index as usize];
                        execute(context, &event);
                    }
                    None => break,
                },
            }
        }
        self.last = self.last.max(context.key.time);
        context.soon_events.clear();
        context.signer.close(slot);
    }
}
