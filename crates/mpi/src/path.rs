//! The critical path of a job, kept while the job runs.
//!
//! Each rank knows how its time so far divides into computation, MPI overhead and latency along the chain of events
//! that led to its present state. A rank that waited idly takes the division over from the message that ended its
//! wait; a message carries that of its cause. The rest of the time was spent in transfers: bytes on wires or in memory,
//! and waits for them. So the rank that finishes last has the critical path of the job, without a trace of the run.
//!
//! Source: J. K. Hollingsworth, "An Online Computation of Critical Path Profiling", SPDT 1996: profiles travel with
//! messages.
//!
//! A message has 7 bytes for its profile. Times are rounded up or down at random such that the mean of the rounded
//! times is the time, so that errors do not add up over the messages of a path: after a million messages the standard
//! deviation is 0.5 % of the largest part.

use des::Time;
use serde::{Deserialize, Serialize};

/// Time on the critical path of a rank by cause. The rest of the time since the start of the job is transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathTime {
    /// Computation.
    pub compute: Time,
    /// CPU time in MPI: overheads of sends and receives, copies, searches of queues.
    pub overhead: Time,
    /// Latency of messages: cables, router pipelines, memory.
    pub latency: Time,
}

/// The time between the handover of a message and its arrival, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transit {
    /// Cables, router pipelines, memory latency.
    pub latency: Time,
    /// Its bytes on the links of the hosts.
    pub serialization: Time,
    /// Its bytes through memory.
    pub memory: Time,
    /// The rest: waits for links and buffers.
    pub queueing: Time,
}

/// A [`PathTime`] in 7 bytes: the times in units of 2^`exponent` ps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(C, packed)]
pub struct PackedPath {
    exponent: u8,
    times: [u16; 3],
}

const _: () = assert!(size_of::<PackedPath>() == 7);

/// An arrival that a rank executes. Its path stays packed, as most arrivals do not need it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arriving {
    /// The path of its cause.
    pub cause: PackedPath,
    /// The time since that cause.
    pub transit: Transit,
    /// Whether it belongs to a collective.
    pub of_collective: bool,
}

impl Arriving {
    /// The path that ends with it.
    pub fn path(&self) -> PathTime {
        self.cause.after(self.transit.latency)
    }
}

/// What a rank keeps about its path, in one place, as most events touch it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PathState {
    /// The critical path up to the end of what the CPU does now.
    pub path: PathTime,
    /// Times of the messages that ended an idle wait.
    pub awaited: Awaited,
}

/// Times of the messages that ended an idle wait of a rank, by cause and without latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Awaited {
    /// Their bytes on the links of the hosts.
    pub serialization: Time,
    /// Their bytes through memory.
    pub memory: Time,
    /// Waits for links and buffers.
    pub queueing: Time,
}

/// Adds a time. The sum wraps, so that speculation cannot overflow it.
pub(crate) fn add(sum: &mut Time, time: Time) {
    *sum = Time(sum.ps().wrapping_add(time.ps()));
}

impl PathTime {
    /// The path in 7 bytes. `seed` determines the direction of rounding.
    pub(crate) fn pack(&self, seed: u64) -> PackedPath {
        let PathTime {
            compute,
            overhead,
            latency,
        } = *self;
        let largest = compute.ps() | overhead.ps() | latency.ps();
        let exponent = (u64::BITS - largest.leading_zeros()).saturating_sub(u16::BITS);
        let below = (1u64 << exponent) - 1;
        // Fibonacci hashing; the upper bits are the good ones, and the parts overlap too little to matter.
        let random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
        let round = |time: Time, shift: u32| {
            let units = time.ps().wrapping_add(random.rotate_left(shift) & below) >> exponent;
            units.min(u16::MAX.into()) as u16
        };
        PackedPath {
            exponent: exponent as u8,
            times: [round(compute, 0), round(overhead, 21), round(latency, 42)],
        }
    }
}

impl PackedPath {
    /// The path, with `latency` added.
    pub(crate) fn after(self, latency: Time) -> PathTime {
        let PackedPath { exponent, times } = self;
        // A saved state may be damaged: the shift is bounded.
        let [compute, overhead, carried] = times.map(|units| Time(u64::from(units) << exponent.min(48)));
        PathTime {
            compute,
            overhead,
            latency: Time(carried.ps().saturating_add(latency.ps())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(compute: u64, overhead: u64, latency: u64) -> PathTime {
        PathTime {
            compute: Time(compute),
            overhead: Time(overhead),
            latency: Time(latency),
        }
    }

    #[test]
    fn short_times_are_packed_exactly() {
        for times in [[0, 0, 0], [65_535, 1, 0], [3, 40_000, 65_535]] {
            let path = path(times[0], times[1], times[2]);
            assert_eq!(path.pack(77).after(Time::ZERO), path);
        }
        assert_eq!(path(1, 2, 3).pack(0).after(Time(10)), path(1, 2, 13));
        let longest = path(u64::MAX / 2, 0, 1).pack(1).after(Time::ZERO);
        assert!(
            longest.compute.ps().abs_diff(u64::MAX / 2) < 1 << 48,
            "{longest:?}"
        );
    }

    #[test]
    fn a_rounded_time_is_less_than_a_unit_away() {
        for seed in 0..1000 {
            let exact = path(1 << 40, 123_456_789, 987_654_321_012);
            let rounded = exact.pack(seed).after(Time::ZERO);
            let unit = 1 << 25;
            for (exact, rounded) in [
                (exact.compute, rounded.compute),
                (exact.overhead, rounded.overhead),
                (exact.latency, rounded.latency),
            ] {
                assert!(exact.ps().abs_diff(rounded.ps()) < unit, "{exact:?} {rounded:?}");
            }
        }
    }

    /// Additions that are far below a unit must neither vanish nor grow.
    #[test]
    fn errors_do_not_add_up_over_a_path() {
        const MESSAGES: u64 = 200_000;
        let mut path = path(1 << 42, 0, 0);
        for sequence in 0..MESSAGES {
            add(&mut path.overhead, Time(600_000));
            path = path.pack(sequence.wrapping_mul(8)).after(Time(400_000));
        }
        let close = |time: Time, expected: u64| {
            let error = time.ps() as f64 / expected as f64 - 1.0;
            assert!(error.abs() < 0.08, "{time:?} instead of {expected} ps");
        };
        close(path.overhead, 600_000 * MESSAGES);
        close(path.latency, 400_000 * MESSAGES);
        assert!(path.compute.ps().abs_diff(1 << 42) < 1 << 36, "{path:?}");
    }
}
