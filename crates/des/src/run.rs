//! Running a model: settings in, final LPs and the anatomy of the run out.

use std::str::FromStr;
use std::time::Duration;

use crate::{Control, Event, LpId, Model, Time, conservative, sequential};

/// How events are carried out. All give the same result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Executor {
    /// One event after the other in the total order: the reference.
    Sequential,
    /// Windows of the model's lookahead, LP by LP inside a window, on threads (YAWNS). The fastest for
    /// large models, also on one thread.
    Conservative,
}

impl Executor {
    /// Names in experiments.
    pub const NAMES: [&'static str; 2] = ["sequential", "conservative"];

    /// Name in experiments.
    pub fn name(self) -> &'static str {
        Executor::NAMES[self as usize]
    }
}

impl FromStr for Executor {
    type Err = ();
    fn from_str(name: &str) -> Result<Self, ()> {
        match name {
            "sequential" => Ok(Executor::Sequential),
            "conservative" => Ok(Executor::Conservative),
            _ => Err(()),
        }
    }
}

/// Which thread owns which LPs: contiguous ranges, so that a model that numbers neighbours
/// consecutively keeps them together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// First LP of each part, and the number of LPs at the end; ascending.
    bounds: Vec<u32>,
}

impl Partition {
    /// `parts` ranges with about the same sum of weights; `weight` gives each LP's expected share of
    /// the work.
    pub fn balanced(lps: u32, parts: usize, weight: impl Fn(LpId) -> u64) -> Partition {
        let total: u64 = (0..lps).map(|lp| weight(LpId(lp))).sum();
        let mut bounds = vec![0];
        let mut sum = 0;
        for lp in 0..lps {
            // The LP starts the next part once the parts before have their share.
            if bounds.len() < parts
                && u128::from(sum) * parts as u128 >= u128::from(total) * bounds.len() as u128
                && lp > 0
            {
                bounds.push(lp);
            }
            sum += weight(LpId(lp));
        }
        bounds.resize(parts, lps);
        bounds.push(lps);
        Partition { bounds }
    }

    /// Number of parts.
    pub fn parts(&self) -> usize {
        self.bounds.len() - 1
    }

    /// LPs of a part.
    pub fn range(&self, part: usize) -> std::ops::Range<u32> {
        self.bounds[part]..self.bounds[part + 1]
    }

    /// The part that owns an LP.
    #[inline]
    pub fn owner(&self, lp: LpId) -> usize {
        self.bounds[1..].partition_point(|end| *end <= lp.0)
    }
}

/// What to run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How.
    pub executor: Executor,
    /// Parts of the LPs, one per thread; `Sequential` takes the first thread for all.
    pub partition: Partition,
    /// Seed of all random streams.
    pub seed: u64,
    /// Events at or after this time are not carried out.
    pub until: Time,
}

/// Why a run ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End<E> {
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
}

/// Where one thread's time went, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ThreadSeconds {
    /// Carrying out events, sends included.
    pub processing: f64,
    /// Sorting and moving pending events, committing records.
    pub queue: f64,
    /// Waiting for the other threads.
    pub synchronisation: f64,
}

/// What a run cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Anatomy {
    /// Events carried out.
    pub processed: u64,
    /// Events whose effects stand.
    pub committed: u64,
    /// Events carried out and taken back.
    pub rolled_back: u64,
    /// Events sent to another thread.
    pub remote: u64,
    /// Windows (conservative).
    pub windows: u64,
    /// Per thread.
    pub threads: Vec<ThreadSeconds>,
}

/// The end of a run.
pub struct Finished<M: Model> {
    /// Why it ended.
    pub end: End<M::Error>,
    /// First time at which nothing was carried out any more: `until`, the time of the stop, or (drained)
    /// that of the last event.
    pub time: Time,
    /// Final state of all LPs, by id.
    pub lps: Vec<M::Lp>,
    /// Events that were not carried out, in no particular order: what was still under way.
    pub pending: Vec<Event<M::Payload>>,
    /// What it cost.
    pub anatomy: Anatomy,
}

/// Runs a model to its end. `commit` receives the records in the total order.
///
/// # Panics
/// If the model breaks its contract (see [`crate::Context::send`]) or panics itself.
pub fn run<M: Model>(
    model: &M,
    settings: &Settings,
    control: &Control,
    commit: &mut dyn FnMut(Time, M::Record),
) -> Finished<M> {
    assert!(
        model.lookahead() >= Time(1),
        "a model's lookahead is at least 1 ps"
    );
    match settings.executor {
        Executor::Sequential => sequential::run(model, settings, control, commit),
        Executor::Conservative => conservative::run(model, settings, control, commit),
    }
}

pub(crate) fn seconds(span: Duration) -> f64 {
    span.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn partitions_cover_all_lps_once(weights in proptest::collection::vec(0u64..100, 0..200), parts in 1usize..9) {
            let lps = weights.len() as u32;
            let partition = Partition::balanced(lps, parts, |lp| weights[lp.0 as usize]);
            prop_assert_eq!(partition.parts(), parts);
            let mut next = 0;
            for part in 0..parts {
                let range = partition.range(part);
                prop_assert_eq!(range.start, next);
                next = range.end;
                for lp in range {
                    prop_assert_eq!(partition.owner(LpId(lp)), part);
                }
            }
            prop_assert_eq!(next, lps);
        }
    }

    #[test]
    fn equal_weights_make_equal_parts() {
        let partition = Partition::balanced(9, 3, |_| 5);
        assert_eq!(
            (0..3).map(|p| partition.range(p).len()).collect::<Vec<_>>(),
            [3, 3, 3]
        );
    }
}
