//! The settings of a run: executor, partition, seed, end, and the limits of optimism.

use std::str::FromStr;

use crate::{Partition, Time};

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
