//! Simulated time: whole picoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A point in simulated time, or a time span, in picoseconds. 2^64 ps are 213 days.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct Time(pub u64);

impl Time {
    /// The start of every run.
    pub const ZERO: Time = Time(0);
    /// Later than any event.
    pub const MAX: Time = Time(u64::MAX);

    /// Picoseconds.
    pub const fn from_ps(ps: u64) -> Time {
        Time(ps)
    }
    /// Nanoseconds.
    pub const fn from_ns(ns: u64) -> Time {
        Time(ns * 1_000)
    }
    /// Picoseconds.
    pub const fn ps(self) -> u64 {
        self.0
    }
    /// Nanoseconds, for output only.
    pub fn as_ns(self) -> f64 {
        self.0 as f64 / 1e3
    }
    /// The span since `earlier`; zero if `earlier` is later.
    pub const fn saturating_sub(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }
    /// The time after this span, or [`Time::MAX`] if that is earlier.
    pub const fn saturating_add(self, span: Time) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl Add for Time {
    type Output = Time;
    fn add(self, span: Time) -> Time {
        Time(self.0 + span.0)
    }
}
impl AddAssign for Time {
    fn add_assign(&mut self, span: Time) {
        self.0 += span.0;
    }
}
impl Sub for Time {
    type Output = Time;
    fn sub(self, earlier: Time) -> Time {
        Time(self.0 - earlier.0)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, factor) = [
            ("s", 1_000_000_000_000),
            ("ms", 1_000_000_000),
            ("us", 1_000_000),
            ("ns", 1_000),
        ]
        .into_iter()
        .find(|u| self.0 >= u.1)
        .unwrap_or(("ps", 1));
        write!(f, "{} {unit}", self.0 as f64 / factor as f64)
    }
}
