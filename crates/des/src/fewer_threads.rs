//! A named executor on several threads, which goes on with fewer while the system does not serve them.
//!
//! Threads wait for each other once per window or round. Where another program has one of their cores, the thread on it
//! gets its turn after milliseconds, and all wait: a run on two threads may take ten times as long as on one. This is
//! seen in CPU times ([`crate::service`]), and then half of the threads are tried. They stay if they are faster, and
//! more threads are tried again later. On a quiet machine, the threads only note their CPU time now and then.

use std::time::Duration;

use crate::gears::{ChooseGear, Gear, Seen, in_gears};
use crate::leg::{LegLength, RunLeg};
use crate::run::{Finished, Observer, Run};
use crate::service::ServiceWatch;
use crate::{Model, Pace};

/// From one look at CPU times to the next. A scheduler's turns take some milliseconds.
const SPAN: Duration = Duration::from_millis(100);

/// CPU time of all threads over wall-clock time below which they are not served. One thread then takes less time by at
/// least this factor, if it gets a core.
const LEAST: f64 = 0.8;

/// A trial takes so long. Its second half counts.
const TRIAL: Duration = Duration::from_millis(40);

/// Other threads are tried no earlier than after so many times as long as a trial took. The time doubles while trials
/// change nothing ...
const PER_TRIAL: u32 = 16;

/// ... up to this one.
const LONGEST: Duration = Duration::from_secs(10);

/// Another number of threads is taken if it is faster by this factor. All threads of the user's number, once they are
/// served again, also if they are slower by no more than that.
const FASTER: f64 = 1.05;

/// Numbers of threads as gears: the user's, half of it, and so on down to one.
fn rungs<M: Model>(run: &Run<'_, M>) -> Vec<Gear> {
    let partition = &run.settings.partition;
    let halves = std::iter::successors(Some(partition.parts()), |parts| Some(parts / 2));
    halves
        .take_while(|parts| *parts > 0)
        .map(|parts| Gear {
            executor: run.settings.executor,
            partition: partition.joined(parts),
        })
        .collect()
}

/// Decides on which of several numbers of threads a run goes on: rung 0 has the most threads, the last one has one.
struct ThreadLadder {
    rungs: usize,
    /// The rung between trials.
    settled: usize,
    /// Events per second there, as last seen.
    rate: f64,
    /// Time between two trials.
    pause: Duration,
    /// Whether a trial of more threads was the last to change the rung.
    has_climbed: bool,
}

impl ThreadLadder {
    fn new(rungs: usize) -> ThreadLadder {
        ThreadLadder {
            rungs,
            settled: 0,
            rate: 0.0,
            pause: TRIAL * PER_TRIAL,
            has_climbed: false,
        }
    }

    /// A leg on the rung between trials, with the first look at CPU times after `first_look`.
    fn leg(&self, first_look: Duration) -> (usize, LegLength) {
        let watch = ServiceWatch {
            first_look,
            span: SPAN,
            // One thread has nothing to go down to.
            least: if self.settled + 1 < self.rungs { LEAST } else { 0.0 },
            most: if self.settled == 0 {
                Duration::MAX
            } else {
                self.pause
            },
        };
        (self.settled, LegLength::Served(watch))
    }

    fn trial(&self, rung: usize) -> (usize, LegLength) {
        let watch = ServiceWatch {
            first_look: TRIAL / 2,
            span: TRIAL / 2,
            least: 0.0,
            most: TRIAL,
        };
        (rung, LegLength::Served(watch))
    }

    /// After a leg on the rung between trials.
    fn after_leg(&mut self, seen: Seen) -> (usize, LegLength) {
        self.rate = seen.rate;
        if seen.served < LEAST && self.settled + 1 < self.rungs {
            // The first look of the leg may have been after the pause.
            if seen.whole >= self.pause * 2 {
                self.pause = TRIAL * PER_TRIAL;
            } else if self.has_climbed {
                // The other program comes and goes.
                self.pause = (self.pause * 2).min(LONGEST);
            }
            return self.trial(self.settled + 1);
        }
        match self.settled {
            0 => self.leg(SPAN),
            _ => self.trial(self.settled - 1),
        }
    }

    fn after_trial(&mut self, rung: usize, seen: Seen) -> (usize, LegLength) {
        let climbs = rung < self.settled;
        let faster = match climbs && seen.served >= LEAST {
            true => 1.0 / FASTER,
            false => FASTER,
        };
        let least_pause = seen.whole * PER_TRIAL;
        if seen.rate > self.rate * faster {
            (self.settled, self.rate, self.has_climbed) = (rung, seen.rate, climbs);
            self.pause = self.pause.max(least_pause);
            return self.leg(SPAN);
        }
        self.pause = (self.pause * 2).min(LONGEST).max(least_pause);
        // Fewer threads were not faster: they are not tried again at once.
        self.leg(if climbs { SPAN } else { self.pause })
    }
}

impl ChooseGear for ThreadLadder {
    fn next(&mut self, rung: usize, seen: Seen) -> (usize, LegLength) {
        match rung == self.settled {
            true => self.after_leg(seen),
            false => self.after_trial(rung, seen),
        }
    }
}

pub(crate) fn run<M: Model>(
    run: &Run<'_, M>,
    first: RunLeg<M>,
    observer: &mut dyn Observer<M>,
) -> Result<Finished<M>, String> {
    let rungs = rungs(run);
    let mut ladder = ThreadLadder::new(rungs.len());
    let pace = match run.settings.pace {
        Pace::Threads(events) => Some(events),
        Pace::Measured | Pace::Events(_) => None,
    };
    let begin = match run.settings.pace {
        Pace::Events(_) => (0, LegLength::Whole),
        Pace::Measured | Pace::Threads(_) => ladder.leg(SPAN),
    };
    let mut finished = in_gears(run, first, &rungs, begin, pace, &mut ladder, observer)?;
    if finished.statistics.gears.len() == 1 {
        finished.statistics.gears.clear();
    }
    Ok(finished)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// What the machine gives to each rung: events per second, and CPU time of all threads over wall-clock time.
    type Machine<'a> = &'a [(f64, f64)];

    /// Drives a ladder for some time. The machine changes with the time. Returns the last rung between trials, and the
    /// time that was spent on each rung.
    fn drive<'a>(
        rungs: usize,
        time: Duration,
        machine: impl Fn(Duration) -> Machine<'a>,
    ) -> (usize, Vec<Duration>) {
        let mut ladder = ThreadLadder::new(rungs);
        let mut spent = vec![Duration::ZERO; rungs];
        let (mut rung, mut length) = ladder.leg(SPAN);
        let mut now = Duration::ZERO;
        while now < time {
            let LegLength::Served(watch) = length else {
                panic!("{length:?}")
            };
            // As `LegTimer` looks.
            let begin = now;
            let mut next_look = watch.first_look;
            let seen = loop {
                now = begin + next_look;
                let (rate, served) = machine(now)[rung];
                let whole = now - begin;
                if served < watch.least || whole >= watch.most || now >= time {
                    break Seen {
                        rate,
                        per_window: None,
                        pending: 0,
                        events: rate * whole.as_secs_f64(),
                        whole,
                        on_core: served,
                        served,
                    };
                }
                next_look = (whole + watch.span).min(watch.most);
            };
            spent[rung] += now - begin;
            if now < time {
                (rung, length) = ladder.next(rung, seen);
            }
        }
        (ladder.settled, spent)
    }

    const SECOND: Duration = Duration::from_secs(1);

    /// Two threads of which one shares its core, and one thread.
    const BUSY: [(f64, f64); 2] = [(1.0, 0.1), (10.0, 1.0)];
    const QUIET: [(f64, f64); 2] = [(18.0, 2.0), (10.0, 1.0)];

    #[test]
    fn served_threads_go_on_for_good() {
        // Also if one of them has nearly all of the work, and if they are slower than one.
        for all in [(18.0, 2.0), (10.5, 1.05), (9.0, 1.9)] {
            let machine = [all, (10.0, 1.0)];
            let (settled, spent) = drive(2, 60 * SECOND, |_| &machine);
            assert_eq!((settled, spent[1]), (0, Duration::ZERO), "{all:?}");
        }
    }

    #[test]
    fn threads_that_are_not_served_become_one() {
        let (settled, spent) = drive(2, 2 * SECOND, |_| &BUSY);
        assert_eq!(settled, 1);
        // Less than a tenth of the time is lost, and less and less of it.
        assert!(
            spent[0] >= SPAN && spent[0] < Duration::from_millis(200),
            "{spent:?}"
        );
        let (_, spent) = drive(2, 100 * SECOND, |_| &BUSY);
        assert!(spent[0] < SECOND, "{spent:?}");
    }

    #[test]
    fn all_threads_come_back_with_their_cores() {
        let machine = |now| if now < 3 * SECOND { &BUSY[..] } else { &QUIET[..] };
        let (settled, spent) = drive(2, 13 * SECOND, machine);
        assert_eq!(settled, 0);
        assert!(spent[0] > 6 * SECOND, "{spent:?}");
    }

    #[test]
    fn a_run_that_loses_by_fewer_threads_tries_them_rarely() {
        // The observer waits for a disk, or every core is shared.
        let (settled, spent) = drive(2, 100 * SECOND, |_| &[(10.0, 0.5), (6.0, 0.3)]);
        assert_eq!(settled, 0);
        assert!(spent[1] > Duration::ZERO && spent[1] < SECOND, "{spent:?}");
    }

    #[test]
    fn half_of_the_threads_may_be_enough() {
        // Four threads on four cores, of which another program has one.
        let busy = [(3.0, 0.4), (19.0, 1.9), (10.0, 1.0)];
        let (settled, spent) = drive(3, 100 * SECOND, |_| &busy);
        assert_eq!(settled, 1);
        assert!(spent[1] > 98 * SECOND && spent[2] == Duration::ZERO, "{spent:?}");
        // Another program on each but one core, until it ends: up again, rung by rung.
        let most = [(1.0, 0.2), (2.0, 0.3), (10.0, 1.0)];
        let quiet = [(36.0, 4.0), (19.0, 2.0), (10.0, 1.0)];
        let machine = |now| if now < 5 * SECOND { &most[..] } else { &quiet[..] };
        assert_eq!(drive(3, 4 * SECOND, machine).0, 2);
        assert_eq!(drive(3, 60 * SECOND, machine).0, 0);
    }

    #[test]
    fn a_program_that_comes_and_goes_is_followed_less_and_less() {
        // It has a core in every other second.
        let machine = |now: Duration| match now.as_secs() % 2 {
            0 => &BUSY[..],
            _ => &QUIET[..],
        };
        let changes = |seconds| {
            let (_, spent) = drive(2, seconds * SECOND, machine);
            spent[0].as_secs_f64() / f64::from(seconds)
        };
        assert!(changes(100) < changes(10), "{} {}", changes(100), changes(10));
    }
}
