//! The clock of a router: cycles of one flit, and the steps that allocators and crossbar make in them.

use des::Time;

use super::super::Speedup;

/// Cycles of one length from time 0 on. What has arrived by the middle of a cycle takes part in it; what leaves in a
/// cycle starts at its end. So no arrival and no decision have the same time where cables take whole cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlitClock {
    cycle: Time,
}

impl FlitClock {
    /// A clock with cycles of at least 2 ps.
    pub(crate) fn new(cycle: Time) -> FlitClock {
        FlitClock {
            cycle: cycle.max(Time(2)),
        }
    }

    /// Length of a cycle.
    pub(crate) fn cycle(self) -> Time {
        self.cycle
    }

    fn half(self) -> u64 {
        self.cycle.ps() / 2
    }

    /// The middle of a cycle, at which it is evaluated.
    pub(crate) fn middle(self, cycle: u64) -> Time {
        Time(cycle * self.cycle.ps() + self.half())
    }

    /// The end of a cycle.
    pub(crate) fn end(self, cycle: u64) -> Time {
        Time((cycle + 1) * self.cycle.ps())
    }

    /// The first cycle that is evaluated after a time.
    pub(crate) fn after(self, time: Time) -> u64 {
        match time.ps().checked_sub(self.half()) {
            None => 0,
            Some(since) => since / self.cycle.ps() + 1,
        }
    }

    /// Cycles that begin within a span, rounded up.
    pub(crate) fn cycles(self, span: Time) -> u64 {
        span.ps().div_ceil(self.cycle.ps())
    }
}

/// A speedup of two.
const TWO: u32 = 2 * Speedup::UNIT;

/// The number of steps that are made before a cycle: in each, by `speedup`, one more or not.
#[inline]
pub(super) fn steps_before(speedup: Speedup, cycle: u64) -> u64 {
    match speedup.units() {
        Speedup::UNIT => cycle,
        TWO => 2 * cycle,
        units => (u128::from(cycle) * u128::from(units) / u128::from(Speedup::UNIT)) as u64,
    }
}

/// The cycle in which a step is made.
#[inline]
pub(super) fn cycle_of(speedup: Speedup, step: u64) -> u64 {
    match speedup.units() {
        Speedup::UNIT => step,
        TWO => step / 2,
        units => {
            // The least cycle with more than `step` steps before its end.
            let (unit, units) = (u128::from(Speedup::UNIT), u128::from(units));
            (((u128::from(step) + 1) * unit).div_ceil(units) - 1) as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrives_before_the_middle_takes_part() {
        let clock = FlitClock::new(Time(10));
        assert_eq!(clock.after(Time(0)), 0);
        assert_eq!(clock.after(Time(4)), 0);
        assert_eq!(clock.after(Time(5)), 1);
        assert_eq!(clock.after(Time(10)), 1);
        assert_eq!((clock.middle(3), clock.end(3)), (Time(35), Time(40)));
        assert_eq!(clock.after(clock.middle(3)), 4);
        assert_eq!((clock.cycles(Time(20)), clock.cycles(Time(21))), (2, 3));
    }

    #[test]
    fn a_speedup_makes_so_many_steps() {
        let of = |speedup: f64| Speedup::new(speedup).expect("a speedup");
        // One step in even cycles, two in odd ones.
        let before: Vec<u64> = (0..5).map(|cycle| steps_before(of(1.5), cycle)).collect();
        assert_eq!(before, [0, 1, 3, 4, 6]);
        for speedup in [1.0, 1.5, 2.0, 1.000_001] {
            let speedup = of(speedup);
            for cycle in 0..20 {
                for step in steps_before(speedup, cycle)..steps_before(speedup, cycle + 1) {
                    assert_eq!(cycle_of(speedup, step), cycle);
                }
            }
        }
    }
}
