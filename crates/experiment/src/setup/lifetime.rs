//! The lifetime of a job: its start, its end, and how often it executes its workload.

use std::fmt;
use std::sync::Arc;

use config::{Duration, Section};
use des::Time;
use workload::Workload;

use crate::setup::limits::{LATEST, at_most};

/// Largest number of repetitions of a job.
const MAX_REPETITIONS: u64 = 1_000_000_000;

/// The time from the start of a job to its end. The end does not belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// Start.
    pub start: Time,
    /// When the ranks of the job are stopped; `None` if they are not.
    pub end: Option<Time>,
}

impl Lifetime {
    /// The lifetime of synthetic traffic.
    pub const WHOLE_RUN: Lifetime = Lifetime {
        start: Time::ZERO,
        end: None,
    };

    /// Reads `start` and `end`.
    ///
    /// # Errors
    /// A time out of range, an end that is not after the start.
    pub fn read(section: &Section) -> Result<Lifetime, config::Error> {
        let start: Duration = section.get("start")?;
        at_most(section, "start", start, LATEST)?;
        let end: Option<Duration> = section.optional("end")?;
        if let Some(end) = end {
            at_most(section, "end", end, LATEST)?;
            if end <= start {
                let message =
                    format!("{end} is not after the start of the job, {start}; expected a later time");
                return Err(section.error("end", message));
            }
        }
        Ok(Lifetime {
            start: Time(start.ps),
            end: end.map(|end| Time(end.ps)),
        })
    }

    /// Whether both have a time in common.
    pub fn overlaps(self, other: Lifetime) -> bool {
        let begins_before_end = |one: Lifetime, other: Lifetime| one.end.is_none_or(|end| other.start < end);
        begins_before_end(self, other) && begins_before_end(other, self)
    }
}

impl fmt::Display for Lifetime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.end {
            Some(end) => write!(f, "from {} to {end}", self.start),
            None => write!(f, "from {} on, without an end", self.start),
        }
    }
}

/// How often a job of ranks executes its workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepetitionRule {
    /// This often.
    Times(u64),
    /// This often, and further, unmeasured, until the other jobs are measured.
    GoOnAfter(u64),
    /// As often as possible before the end of the job.
    UntilEnd,
}

impl RepetitionRule {
    /// Reads `repetitions` and `repeat_until_others_end` of a job with this lifetime.
    ///
    /// # Errors
    /// A number out of range, keys that contradict each other.
    pub fn read(section: &Section, lifetime: Lifetime) -> Result<RepetitionRule, config::Error> {
        let number: Option<u64> = section.optional("repetitions")?;
        if let Some(number) = number
            && !(1..=MAX_REPETITIONS).contains(&number)
        {
            let message = format!("{number} is out of range; expected 1 to {MAX_REPETITIONS}");
            return Err(section.error("repetitions", message));
        }
        let goes_on: bool = section.get("repeat_until_others_end")?;
        if goes_on && lifetime.end.is_some() {
            let message = "a job with `end` repeats until then; expected one of both keys";
            return Err(section.error("repeat_until_others_end", message));
        }
        if number.is_none() && lifetime.end.is_some() {
            return Ok(RepetitionRule::UntilEnd);
        }
        let number = section.or("repetitions", 1)?;
        Ok(match goes_on {
            true => RepetitionRule::GoOnAfter(number),
            false => RepetitionRule::Times(number),
        })
    }

    /// Checks that the workload of this table can be repeated so.
    ///
    /// # Errors
    /// It can only be executed once.
    pub fn check(self, workload: &dyn Workload, source: &Section) -> Result<(), config::Error> {
        if workload.repeats() || self == RepetitionRule::Times(1) {
            return Ok(());
        }
        let message = "this workload cannot be repeated: its receives from any source could take messages of the next \
                       repetition; expected a job without repetitions that ends with its ranks";
        Err(source.error("", message))
    }

    /// The number of repetitions that are measured; 0: as many as fit.
    pub fn number(self) -> u64 {
        match self {
            RepetitionRule::Times(number) | RepetitionRule::GoOnAfter(number) => number,
            RepetitionRule::UntilEnd => 0,
        }
    }

    /// Whether the job goes on, unmeasured.
    pub fn goes_on(self) -> bool {
        matches!(self, RepetitionRule::GoOnAfter(_))
    }

    /// The workload, repeated.
    pub fn of(self, workload: Arc<dyn Workload>) -> Arc<dyn Workload> {
        match self {
            RepetitionRule::Times(number) => workload::repeated(workload, number, false),
            RepetitionRule::GoOnAfter(number) => workload::repeated(workload, number, true),
            RepetitionRule::UntilEnd => workload::repeated_without_end(workload),
        }
    }
}
