//! Running a model: settings in, final LPs and the anatomy of the run out.

use std::str::FromStr;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::slot::Lps;
use crate::snapshot::Snapshot;
use crate::{
    Control, Event, Model, Partition, Processes, SingleProcess, Time, conservative, optimistic,
    reverse_check, sequential,
};

/// How events are carried out. All give the same result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Executor {
    /// One event after the other in the total order: the reference.
    Sequential,
    /// Windows of the model's lookahead, LP by LP inside a window, on threads (YAWNS). The fastest for
    /// large models, also on one thread.
    Conservative,
    /// Ahead of what is certain, with rollback by reverse computation, on threads (Time Warp). For models
    /// whose lookahead holds few events.
    Optimistic,
    /// As `Sequential`, and every event is carried out, taken back, compared and carried out again: finds
    /// models whose undo steps are wrong.
    ReverseCheck,
}

impl Executor {
    /// Names in experiments.
    pub const NAMES: [&'static str; 4] = ["sequential", "conservative", "optimistic", "reverse-check"];

    /// Name in experiments.
    pub fn name(self) -> &'static str {
        Executor::NAMES[self as usize]
    }

    /// Whether it knows threads and processes; the others take one of each.
    pub fn is_parallel(self) -> bool {
        matches!(self, Executor::Conservative | Executor::Optimistic)
    }
}

impl FromStr for Executor {
    type Err = ();
    fn from_str(name: &str) -> Result<Self, ()> {
        match name {
            "sequential" => Ok(Executor::Sequential),
            "conservative" => Ok(Executor::Conservative),
            "optimistic" => Ok(Executor::Optimistic),
            "reverse-check" => Ok(Executor::ReverseCheck),
            _ => Err(()),
        }
    }
}

/// How far ahead of certainty `Optimistic` goes. None of it decides about results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Optimism {
    /// Events between two looks at the mail, at least 1.
    pub batch: u32,
    /// Batches between two computations of global virtual time (GVT), at least 1.
    pub gvt_interval: u32,
    /// Events so far beyond GVT and later are not carried out yet. None: each thread finds its own limit, from
    /// how much it has to take back.
    pub ahead: Option<Time>,
    /// Bytes that one thread may spend on events that it has carried out without certainty; what their undo
    /// steps own is not counted. At the limit it waits for GVT, but for events within one lookahead of it.
    pub memory: usize,
}

impl Default for Optimism {
    fn default() -> Self {
        Optimism {
            batch: 16,
            gvt_interval: 64,
            ahead: None,
            memory: 128 << 20,
        }
    }
}

/// What to run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How.
    pub executor: Executor,
    /// Parts of the LPs, one per thread of each process; executors that are not parallel take all of them.
    pub partition: Partition,
    /// Seed of all random streams.
    pub seed: u64,
    /// Events at or after this time are not carried out.
    pub until: Time,
    /// For `Optimistic`.
    pub optimism: Optimism,
}

/// Who is told what happens as a run goes on, on the thread that called [`run`], in the first process.
pub trait Observer<M: Model> {
    /// A record, in the total order.
    fn commit(&mut self, time: Time, record: M::Record);

    /// Whether a snapshot is wanted, now that all events before `now` are certain. Asked often.
    fn wants_snapshot(&mut self, now: Time) -> bool {
        let _ = now;
        false
    }

    /// The snapshot that was wanted, of now or a little later.
    fn snapshot(&mut self, snapshot: Snapshot<M::Payload>) {
        let _ = snapshot;
    }
}

impl<M: Model, F: FnMut(Time, M::Record)> Observer<M> for F {
    fn commit(&mut self, time: Time, record: M::Record) {
        self(time, record);
    }
}

/// Why a run ended.
#[derive(Debug, PartialEq, Eq)]
pub enum RunEnd<E> {
    /// No event was left.
    Drained,
    /// `until` was reached.
    Until,
    /// The model stopped it.
    Stopped,
    /// The owner interrupted it through [`Control::interrupt`]; nothing of it is a result.
    Interrupted,
    /// A handler failed.
    Failed(E),
    /// A handler failed, and another process knows how.
    FailedElsewhere,
    /// `ReverseCheck` found that an event is not taken back as it should be, for developers of models.
    Irreversible(String),
}

/// Where one thread's time went, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadSeconds {
    /// Carrying out events, sends included.
    pub processing: f64,
    /// Sorting and moving pending events, collecting mail, committing.
    pub queue: f64,
    /// Waiting for the other threads to agree on a window or on GVT.
    pub synchronisation: f64,
    /// Taking events back.
    pub rollback: f64,
    /// Waiting for the other threads without anything else to do.
    pub idle: f64,
}

/// What a run cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Anatomy {
    /// Events carried out.
    pub processed: u64,
    /// Events whose effects stand.
    pub committed: u64,
    /// Events carried out and taken back.
    pub rolled_back: u64,
    /// Rollbacks of an LP because an event came too late.
    pub primary_rollbacks: u64,
    /// Rollbacks of an LP because an event was cancelled that it had already carried out.
    pub secondary_rollbacks: u64,
    /// Cancellations sent to other threads.
    pub anti_messages: u64,
    /// Events sent to another thread.
    pub remote: u64,
    /// Windows (conservative).
    pub windows: u64,
    /// Computations of GVT (optimistic).
    pub gvt_rounds: u64,
    /// Per thread, of the first process first.
    pub threads: Vec<ThreadSeconds>,
    /// Rollbacks of each LP, by id; empty if the executor never rolls back.
    pub rollbacks: Vec<u32>,
}

impl Anatomy {
    /// Adds what another thread has counted, whose LPs follow.
    pub(crate) fn append(&mut self, other: Anatomy) {
        self.processed += other.processed;
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.primary_rollbacks += other.primary_rollbacks;
        self.secondary_rollbacks += other.secondary_rollbacks;
        self.anti_messages += other.anti_messages;
        self.remote += other.remote;
        self.windows = self.windows.max(other.windows);
        self.gvt_rounds = self.gvt_rounds.max(other.gvt_rounds);
        self.threads.extend(other.threads);
        self.rollbacks.extend(other.rollbacks);
    }
}

/// The end of a run.
pub struct Finished<M: Model> {
    /// Why it ended.
    pub end: RunEnd<M::Error>,
    /// First time at which nothing was carried out any more: `until`, the time of the stop, or (drained)
    /// that of the last event.
    pub time: Time,
    /// Final state of all LPs, by id; in the first process, none in the others.
    pub lps: Lps<M::Lp>,
    /// Events that were not carried out, in no particular order: what was still under way. In the first
    /// process.
    pub pending: Vec<Event<M::Payload>>,
    /// What it cost all processes; in the first.
    pub anatomy: Anatomy,
}

/// A run before it begins. All processes of a run have the same, but for themselves.
pub struct Run<'a, M: Model> {
    /// What is run.
    pub model: &'a M,
    /// How.
    pub settings: &'a Settings,
    /// Progress out, interruption in.
    pub control: &'a Control,
    /// Who takes part.
    pub processes: &'a dyn Processes,
    /// Where to begin; none: at the model's start.
    pub from: Option<&'a Snapshot<M::Payload>>,
}

impl<M: Model> Run<'_, M> {
    /// Carries the run out to its end.
    ///
    /// # Errors
    /// The snapshot to begin with is not one of this model.
    ///
    /// # Panics
    /// If the model breaks its contract (see [`crate::Context::send`]) or panics itself; if an executor that
    /// is not parallel is given several processes.
    pub fn execute(&self, observer: &mut dyn Observer<M>) -> Result<Finished<M>, String> {
        assert!(
            self.model.lookahead() >= Time(1),
            "a model's lookahead is at least 1 ps"
        );
        let executor = self.settings.executor;
        assert!(
            executor.is_parallel() || self.processes.count() == 1,
            "{} runs in one process",
            executor.name()
        );
        let lps = self.model.lps();
        if let Some(snapshot) = self.from
            && snapshot.lps.len() != lps as usize
        {
            let found = snapshot.lps.len();
            return Err(format!("it has {found} logical processes, the model has {lps}"));
        }
        match executor {
            Executor::Sequential => sequential::run(self, observer),
            Executor::Conservative => conservative::run(self, observer),
            Executor::Optimistic => optimistic::run(self, observer),
            Executor::ReverseCheck => reverse_check::run(self, observer),
        }
    }
}

/// Runs a model to its end, in one process and from its start. `commit` receives the records in the total
/// order.
///
/// # Panics
/// As [`Run::execute`].
pub fn run<M: Model>(
    model: &M,
    settings: &Settings,
    control: &Control,
    commit: &mut dyn FnMut(Time, M::Record),
) -> Finished<M> {
    let run = Run {
        model,
        settings,
        control,
        processes: &SingleProcess,
        from: None,
    };
    run.execute(&mut |time, record| commit(time, record))
        .expect("there is no snapshot that could be wrong")
}

pub(crate) fn seconds(span: Duration) -> f64 {
    span.as_secs_f64()
}

/// Attributes wall time to phases.
pub(crate) struct Clock {
    last: Instant,
    pub(crate) seconds: ThreadSeconds,
}

impl Clock {
    pub(crate) fn start() -> Clock {
        Clock {
            last: Instant::now(),
            seconds: ThreadSeconds::default(),
        }
    }

    /// The time since the last lap belongs to this phase.
    pub(crate) fn lap(&mut self, phase: impl FnOnce(&mut ThreadSeconds) -> &mut f64) {
        let now = Instant::now();
        *phase(&mut self.seconds) += seconds(now - self.last);
        self.last = now;
    }
}
