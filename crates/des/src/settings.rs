//! The settings of a run: executor, partition, seed, end, and the limits of optimism.

use std::str::FromStr;

use crate::{Partition, Time};

/// The algorithm that executes events. All give the same result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Executor {
    /// One event after the other in the total order: the reference.
    Sequential,
    /// Windows of the model's lookahead, LP by LP inside a window, on threads (YAWNS). The fastest executor for large
    /// models, also on one thread.
    Conservative,
    /// Speculative execution with rollback by reverse computation, on threads (Time Warp). For models whose lookahead
    /// holds few events. One part has nothing to speculate about, and executes as `Conservative`.
    Optimistic,
    /// One of those above after the other, on one thread or several, with the fastest for the longest time.
    Auto,
    /// As `Sequential`, but every event is executed, undone, compared and executed again. Finds wrong undo steps.
    ReverseCheck,
}

impl Executor {
    /// Names in experiments.
    pub const NAMES: [&'static str; 5] = [
        "sequential",
        "conservative",
        "optimistic",
        "auto",
        "reverse-check",
    ];

    /// Name in experiments.
    pub fn name(self) -> &'static str {
        Executor::NAMES[self as usize]
    }

    /// Whether it supports several threads and processes.
    pub fn is_parallel(self) -> bool {
        matches!(
            self,
            Executor::Conservative | Executor::Optimistic | Executor::Auto
        )
    }
}

impl FromStr for Executor {
    type Err = ();
    fn from_str(name: &str) -> Result<Self, ()> {
        match name {
            "sequential" => Ok(Executor::Sequential),
            "conservative" => Ok(Executor::Conservative),
            "optimistic" => Ok(Executor::Optimistic),
            "auto" => Ok(Executor::Auto),
            "reverse-check" => Ok(Executor::ReverseCheck),
            _ => Err(()),
        }
    }
}

/// Limits of the optimistic executor. They have no effect on results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Optimism {
    /// Events between two reads of the mailbox, at least 1.
    pub batch: u32,
    /// Batches between two computations of global virtual time (GVT), at least 1.
    pub gvt_interval: u32,
    /// Events this far beyond GVT and later wait. `None`: each thread adapts its own limit to its rollbacks.
    pub ahead: Option<Time>,
    /// Bytes that one thread may use for uncommitted events, without memory owned by undo steps. At the limit it
    /// executes only events within one lookahead of GVT.
    pub memory: usize,
}

impl Optimism {
    /// The default limits.
    pub const DEFAULT: Optimism = Optimism {
        batch: 16,
        gvt_interval: 64,
        ahead: None,
        memory: 128 << 20,
    };
}

impl Default for Optimism {
    fn default() -> Self {
        Optimism::DEFAULT
    }
}

/// When a run goes on with another executor or number of threads. It has no effect on results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// [`Executor::Auto`] when it has measured that another one is faster. `Conservative` and `Optimistic` with another
    /// number of threads, when the system does not serve them.
    #[default]
    Measured,
    /// `Auto` after so many events, with all executors in turn, and others never. For tests.
    Events(u64),
    /// As `Events`; `Conservative` and `Optimistic` after so many events, with all their numbers of threads in turn.
    /// For tests.
    Threads(u64),
}

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The executor.
    pub executor: Executor,
    /// Parts of the LPs, one per thread of each process. Sequential executors take all of them.
    pub partition: Partition,
    /// Seed of all random streams.
    pub seed: u64,
    /// Events at or after this time are not executed.
    pub until: Time,
    /// Limits of `Optimistic`.
    pub optimism: Optimism,
    /// When the run changes its executor or number of threads.
    pub pace: Pace,
}
