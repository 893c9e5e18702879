//! The conservative executor: windows of the model's lookahead (YAWNS), on threads.
//!
//! Time is cut into windows as long as the lookahead. What one LP does in a window cannot reach another
//! LP before the next, so inside a window each LP's events are carried out together, LP by LP, its state
//! loaded once; threads meet only between windows. An LP sees its own events in the total order, which is
//! all that its state can depend on; records are sorted into the total order before they are committed.

mod barrier;
mod calendar;
mod worker;

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::event::Key;
use crate::run::{Anatomy, End, Finished, Settings};
use crate::{Control, Event, Model, Time};

use barrier::Barrier;
use worker::{Report, Worker};

/// A record with its place in the total order: of the event that emitted it, then of the emission.
pub(crate) struct Emitted<R> {
    key: Key,
    index: u32,
    record: R,
}

/// What a worker tells the others at the end of a window.
///
/// There are two of each, used in turn: a fast worker may already report the next window while a slow
/// one still reads this one, but cannot be two ahead.
#[derive(Default)]
struct Notice {
    /// Earliest event that this worker holds or has just sent, in ps.
    next: AtomicU64,
    /// Earliest stop that a model of this worker asked for, in ps.
    stop: AtomicU64,
    /// The run is to end now: interrupted or failed.
    halt: AtomicBool,
}

/// Events from one worker to another.
type Mailbox<P> = Mutex<Vec<Event<P>>>;

/// What all workers share.
struct Shared<M: Model> {
    barrier: Barrier,
    notices: [Vec<Notice>; 2],
    /// `mail[to][from]`: events sent in the last window. Locked by one worker at a time, as a barrier
    /// lies between filling and emptying (or, for a fast sender, it only arrives early).
    mail: Vec<Vec<Mailbox<M::Payload>>>,
    /// Records of each worker, on their way to the first.
    records: Vec<Mutex<Vec<Emitted<M::Record>>>>,
}

/// What the workers agreed on between two windows.
struct Agreement {
    next: Time,
    stop: Time,
    halt: bool,
}

impl<M: Model> Shared<M> {
    fn new(workers: usize) -> Self {
        let notices = || (0..workers).map(|_| Notice::default()).collect();
        Shared {
            barrier: Barrier::new(workers),
            notices: [notices(), notices()],
            mail: (0..workers)
                .map(|_| (0..workers).map(|_| Mutex::default()).collect())
                .collect(),
            records: (0..workers).map(|_| Mutex::default()).collect(),
        }
    }

    /// Tells the others where this worker stands, waits for all, and returns what holds for everybody.
    fn agree(&self, round: usize, me: usize, next: Time, stop: Time, halt: bool) -> Agreement {
        let notices = &self.notices[round % 2];
        notices[me].next.store(next.0, Relaxed);
        notices[me].stop.store(stop.0, Relaxed);
        notices[me].halt.store(halt, Relaxed);
        // The barrier orders these stores before the loads below.
        self.barrier.wait();
        Agreement {
            next: Time(
                notices
                    .iter()
                    .map(|n| n.next.load(Relaxed))
                    .min()
                    .unwrap_or(u64::MAX),
            ),
            stop: Time(
                notices
                    .iter()
                    .map(|n| n.stop.load(Relaxed))
                    .min()
                    .unwrap_or(u64::MAX),
            ),
            halt: notices.iter().any(|n| n.halt.load(Relaxed)),
        }
    }
}

/// Hands records to the results in the total order, window by window.
pub(crate) struct Committer<'a, R> {
    commit: &'a mut dyn FnMut(Time, R),
    /// Records of a window that not all workers have left yet.
    early: VecDeque<Emitted<R>>,
}

impl<R> Committer<'_, R> {
    /// Takes what the workers have emitted and commits what lies before `bound`, a time that all of them
    /// have passed.
    fn commit_before(&mut self, bound: Time, records: &[Mutex<Vec<Emitted<R>>>]) {
        for outbox in records {
            self.early.extend(
                outbox
                    .lock()
                    .expect("no worker panics while it appends")
                    .drain(..),
            );
        }
        if self.early.is_empty() {
            return;
        }
        self.early
            .make_contiguous()
            .sort_unstable_by_key(|e| (e.key, e.index));
        while self.early.front().is_some_and(|e| e.key.time < bound) {
            let emitted = self.early.pop_front().expect("just seen");
            (self.commit)(emitted.key.time, emitted.record);
        }
    }
}

pub(crate) fn run<M: Model>(
    model: &M,
    settings: &Settings,
    control: &Control,
    commit: &mut dyn FnMut(Time, M::Record),
) -> Finished<M> {
    let workers = settings.partition.parts();
    let shared = Shared::<M>::new(workers);
    let reports: Vec<Report<M>> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..workers)
            .map(|me| {
                let shared = &shared;
                scope.spawn(move || Worker::new(model, settings, control, shared, me).run(None))
            })
            .collect();
        // The first worker runs on the caller's thread, so that `commit` need not be Send.
        let committer = Committer {
            commit,
            early: VecDeque::new(),
        };
        let first = Worker::new(model, settings, control, &shared, 0).run(Some(committer));
        std::iter::once(first)
            .chain(
                others
                    .into_iter()
                    .map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
            )
            .collect()
    });
    gather(settings, reports)
}

/// Puts the workers' parts together.
fn gather<M: Model>(settings: &Settings, reports: Vec<Report<M>>) -> Finished<M> {
    let stop = reports[0].stop;
    let mut anatomy = Anatomy {
        windows: reports[0].windows,
        ..Anatomy::default()
    };
    let (mut lps, mut pending) = (Vec::new(), Vec::new());
    let mut last = Time::ZERO;
    let mut interrupted = false;
    let mut failure: Option<(Key, M::Error)> = None;
    for report in reports {
        anatomy.processed += report.processed;
        anatomy.remote += report.remote;
        anatomy.threads.push(report.seconds);
        last = last.max(report.last);
        lps.extend(report.lps);
        pending.extend(report.pending);
        interrupted |= report.interrupted;
        if let Some(candidate) = report.failure
            && failure.as_ref().is_none_or(|first| candidate.0 < first.0)
        {
            failure = Some(candidate);
        }
    }
    anatomy.committed = anatomy.processed;
    let (end, time) = match failure {
        Some((key, error)) => (End::Failed(error), key.time),
        None if interrupted => (End::Interrupted, last),
        None if stop < settings.until => (End::Stopped, stop),
        None if pending.is_empty() => (End::Drained, last),
        None => (End::Until, settings.until),
    };
    Finished {
        end,
        time,
        lps,
        pending,
        anatomy,
    }
}
