//! The executor that chooses: it runs on one of the others for a while, measures, and goes on with another if that is
//! faster.
//!
//! Which executor is the fastest, and on how many threads, depends on the model, on its phase, and on what else the
//! machine does. So nothing is predicted: a *gear* is an executor with a number of threads, and a gear is tried by going
//! on with it for a short leg ([`crate::leg`]). No event is executed twice, and the result is that of any executor.
//! Trials are short beside the legs between them, so that a gear that is far slower costs little.

use std::time::Duration;

use crate::leg::{FirstLeg, Length, Midway, RunLeg};
use crate::run::{Finished, Observer, Run};
use crate::statistics::{EngineStatistics, GearTime};
use crate::{Executor, Model, Pace, Partition, Settings, conservative, optimistic, sequential};

/// The first leg, and the shortest of a trial. A shift of a small model takes some 0.1 ms.
const TRIAL: Duration = Duration::from_millis(8);

/// A trial takes at least so many times as long as the shift before it.
const PER_SHIFT: u32 = 4;

/// The leg after a round of trials takes at least so many times as long as a trial.
const PER_TRIAL: u32 = 10;

/// Length of the first leg after a round of trials. It doubles while trials change nothing.
const STEADY: Duration = Duration::from_millis(400);

/// Longest leg without a trial.
const LONGEST: Duration = Duration::from_secs(10);

/// A gear is taken if it is faster by this factor.
const FASTER: f64 = 1.05;

/// Events per window from which on single events are not tried: windows are faster from about four.
const FEW: u64 = 32;

/// Events per window and thread from which on nothing is gained by speculation, and most probably much by threads: a
/// window then takes a hundred times as long as its synchronisation.
const MANY: u64 = 2_000;

/// An executor with its threads.
#[derive(Clone, Debug)]
struct Gear {
    executor: Executor,
    partition: Partition,
}

/// Gears by number, in the order of threads. The first executes one event after the other, the second windows on one
/// thread, all others use several threads.
fn gears(partition: &Partition) -> Vec<Gear> {
    let one = Partition::new(vec![0, partition.lps()]);
    let gear = |executor, partition: &Partition| Gear {
        executor,
        partition: partition.clone(),
    };
    let mut gears = vec![
        gear(Executor::Sequential, &one),
        gear(Executor::Conservative, &one),
    ];
    let mut parts = 2;
    while parts < partition.parts() {
        gears.push(gear(Executor::Conservative, &partition.joined(parts)));
        parts *= 2;
    }
    if partition.parts() > 1 {
        gears.push(gear(Executor::Conservative, partition));
        gears.push(gear(Executor::Optimistic, partition));
    }
    gears
}

/// Number of the gear of windows on one thread.
const ONE_THREAD: usize = 1;

/// LPs from which on a run begins with windows on all threads, which then create LPs together. Moving so many LPs to
/// another gear takes as long as a trial.
const LARGE_MODEL: u32 = 16_384;

/// The gear in which a run begins.
fn first_gear(gears: &[Gear], lps: u32) -> usize {
    match lps >= LARGE_MODEL && gears.len() > ONE_THREAD + 1 {
        // The last one speculates.
        true => gears.len() - 2,
        false => ONE_THREAD,
    }
}

/// What a leg has shown.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// Events per second.
    rate: f64,
    /// Events per window of all threads; 0 if it is not known.
    per_window: u64,
    /// Time before the first event: of the shift to this gear, or of the creation of all LPs.
    before: Duration,
}

/// Decides which gear comes next, and for how long.
struct Gearbox {
    /// Threads of each gear.
    threads: Vec<usize>,
    /// The best gear so far.
    best: usize,
    rate: f64,
    /// Gears that are still to be tried in this round, the next one last.
    trials: Vec<usize>,
    /// Gears whose rate is known from this round.
    tried: Vec<usize>,
    /// Whether a trial of this round has changed the gear.
    has_changed: bool,
    steady: Duration,
    /// The longest shift.
    shift: Duration,
    is_first: bool,
}

impl Gearbox {
    /// `threads` of each gear. The run begins in the gear `best`.
    fn new(threads: Vec<usize>, best: usize) -> Gearbox {
        Gearbox {
            threads,
            best,
            rate: 0.0,
            trials: Vec::new(),
            tried: Vec::new(),
            has_changed: true,
            steady: STEADY,
            shift: Duration::ZERO,
            is_first: true,
        }
    }

    /// Whether windows of so many events are large for the threads of a gear.
    fn is_large(&self, gear: usize, per_window: u64) -> bool {
        per_window >= MANY * self.threads[gear] as u64
    }

    /// The next gear and the length of its leg, after a leg in this one.
    fn next(&mut self, gear: usize, measured: Seen) -> (usize, Duration) {
        // Before the first leg LPs were created. Where the trials that follow have time, a shift counts as long.
        if !std::mem::take(&mut self.is_first)
            || self.is_large(gear, measured.per_window) && gear != ONE_THREAD
        {
            self.shift = self.shift.max(measured.before);
        }
        let trial = TRIAL.max(self.shift * PER_SHIFT);
        let is_steady = gear == self.best;
        if is_steady {
            self.tried.clear();
        }
        self.tried.push(gear);
        if is_steady || measured.rate > self.rate * FASTER {
            self.has_changed |= !is_steady;
            (self.best, self.rate) = (gear, measured.rate);
            self.trials = self.candidates(measured.per_window);
            self.trials.retain(|candidate| !self.tried.contains(candidate));
        }
        if let Some(candidate) = self.trials.pop() {
            return (candidate, trial);
        }
        self.steady = match std::mem::take(&mut self.has_changed) {
            true => STEADY,
            false => (self.steady * 2).min(LONGEST),
        };
        (self.best, self.steady.max(trial * PER_TRIAL))
    }

    /// Gears that may be faster than the best one, the first to try last.
    fn candidates(&self, per_window: u64) -> Vec<usize> {
        let (last, several) = (self.threads.len() - 1, self.threads.len() > ONE_THREAD + 1);
        let is_large = |gear: usize| self.is_large(gear, per_window);
        let mut candidates = Vec::new();
        let best = self.best;
        if several && best != last && !is_large(best) {
            candidates.push(last);
        }
        match best {
            0 => candidates.push(ONE_THREAD),
            ONE_THREAD => (),
            // Also from the last one, which speculates: all threads, but in windows.
            best => candidates.push(best - 1),
        }
        if several && (ONE_THREAD..last - 1).contains(&best) {
            candidates.push(best + 1);
            if is_large(last) && best + 2 < last {
                // All threads at once: each step on the way would take a trial.
                candidates.push(last - 1);
            }
        }
        if best != 0 && per_window < FEW {
            candidates.push(0);
        }
        candidates
    }
}

pub(crate) fn run<M: Model>(
    run: &Run<'_, M>,
    first: RunLeg<M>,
    observer: &mut dyn Observer<M>,
) -> Result<Finished<M>, String> {
    let gears = gears(&run.settings.partition);
    let threads = gears.iter().map(|gear| gear.partition.parts());
    let begin_in = first_gear(&gears, run.settings.partition.lps());
    let mut gearbox = Gearbox::new(threads.collect(), begin_in);
    let mut statistics = EngineStatistics::default();
    let (last, stop) = (first.last, first.stop);
    let (mut midway, mut gear, mut length) = (None, begin_in, TRIAL);
    loop {
        let Gear { executor, partition } = &gears[gear];
        let settings = Settings {
            executor: *executor,
            partition: partition.clone(),
            ..run.settings.clone()
        };
        let length_of_leg = match run.settings.pace {
            // Trials of fewer threads have time, where windows are large.
            Pace::Measured if statistics.gears.is_empty() && gear != ONE_THREAD => Length::First(FirstLeg {
                trial: TRIAL,
                many: MANY,
                steady: STEADY,
                per_beginning: PER_SHIFT * PER_TRIAL,
            }),
            Pace::Measured => Length::Time(length),
            Pace::Events(events) => Length::Events(events),
        };
        let begin = std::time::Instant::now();
        let leg = RunLeg::new(midway.take(), partition, length_of_leg, RunLeg::whole(last, stop));
        let this = Run {
            settings: &settings,
            ..*run
        };
        let finished = match executor {
            Executor::Sequential => sequential::run(&this, &leg, observer)?,
            Executor::Optimistic => optimistic::run(&this, &leg, observer)?,
            _ => conservative::run(&this, &leg, observer)?,
        };
        let whole = begin.elapsed();
        let of_leg = &finished.statistics;
        let events = of_leg.committed as f64;
        let measured = leg.measured().map(|leg| Seen {
            rate: events * leg.share / leg.half.as_secs_f64().max(1e-9),
            per_window: of_leg
                .committed
                .checked_div(of_leg.windows.max(of_leg.gvt_rounds))
                .unwrap_or(0),
            before: whole.saturating_sub(leg.whole),
        });
        let time = GearTime {
            executor: *executor,
            threads: partition.parts(),
            seconds: whole.as_secs_f64(),
            events: of_leg.committed,
        };
        statistics.go_on(finished.statistics, time);
        let Some(stop) = leg.paused() else {
            return Ok(Finished {
                statistics,
                ..finished
            });
        };
        midway = Some(Midway {
            slots: finished.lps.into_slots(),
            pending: finished.pending,
            last: finished.time,
            stop,
        });
        (gear, length) = match run.settings.pace {
            Pace::Measured => match measured {
                Some(seen) => gearbox.next(gear, seen),
                None => (gear, length),
            },
            // All gears in turn.
            Pace::Events(_) => ((gear + 1) % gears.len(), length),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The gears that a run takes where they have these rates, and the time that it spends in each.
    fn drive(rates: &[f64], per_window: u64, begin_in: usize, legs: usize) -> (usize, Vec<Duration>) {
        // Speculation on as many threads as the most of windows.
        let threads = |gear: usize| {
            1 << gear
                .saturating_sub(ONE_THREAD)
                .min(rates.len().saturating_sub(ONE_THREAD + 2))
        };
        let mut gearbox = Gearbox::new((0..rates.len()).map(threads).collect(), begin_in);
        let mut spent = vec![Duration::ZERO; rates.len()];
        let (mut gear, mut length) = (begin_in, TRIAL);
        for _ in 0..legs {
            spent[gear] += length;
            let measured = Seen {
                rate: rates[gear],
                per_window,
                before: Duration::from_micros(50),
            };
            (gear, length) = gearbox.next(gear, measured);
        }
        (gearbox.best, spent)
    }

    #[test]
    fn it_finds_the_fastest_gear_and_stays_there() {
        // Events one by one, windows on 1, 2, 4 and 8 threads, speculation on 8.
        for (best, rates, per_window) in [
            (1, [5.0, 10.0, 4.0, 2.0, 1.0, 1.0], 1_000_000),
            (2, [5.0, 10.0, 19.0, 12.0, 1.0, 1.0], 1_000_000),
            (4, [5.0, 10.0, 19.0, 35.0, 60.0, 50.0], 1_000_000),
            (0, [5.0, 2.0, 0.5, 0.2, 0.1, 0.1], 3),
            (5, [5.0, 6.0, 3.0, 2.0, 1.0, 9.0], 20),
            // Two threads are faster than one, but single events are the fastest, and speculation is faster than they.
            (0, [9.0, 4.0, 5.0, 2.0, 1.0, 6.0], 16),
            (5, [9.0, 4.0, 5.0, 2.0, 1.0, 11.0], 16),
        ] {
            for begin_in in [ONE_THREAD, rates.len() - 2] {
                let (found, spent) = drive(&rates, per_window, begin_in, 60);
                assert_eq!(found, best, "{rates:?} from {begin_in}");
                let all: Duration = spent.iter().sum();
                assert!(spent[best] > all * 9 / 10, "{rates:?} from {begin_in}: {spent:?}");
            }
        }
    }

    #[test]
    fn one_thread_has_two_gears() {
        assert_eq!(drive(&[1.0, 2.0], 1_000, ONE_THREAD, 20).0, 1);
        assert_eq!(drive(&[2.0, 1.0], 4, ONE_THREAD, 20).0, 0);
        let (best, spent) = drive(&[2.0, 1.0], 1_000, ONE_THREAD, 20);
        assert!(
            best == 1 && spent[0] == Duration::ZERO,
            "windows with many events are the fastest"
        );
    }

    #[test]
    fn large_windows_take_all_threads_at_once() {
        let (best, spent) = drive(&[5.0, 10.0, 19.0, 35.0, 60.0, 50.0], 1_000_000, ONE_THREAD, 3);
        assert_eq!(best, 4);
        assert_eq!(spent[2], Duration::ZERO, "{spent:?}");
    }

    #[test]
    fn a_trial_takes_longer_than_its_shift() {
        let mut gearbox = Gearbox::new(vec![1, 1, 2, 2], ONE_THREAD);
        let measured = Seen {
            rate: 1.0,
            per_window: 3_000,
            before: Duration::from_secs(1),
        };
        let (gear, length) = gearbox.next(ONE_THREAD, measured);
        assert_eq!((gear, length), (2, TRIAL), "the creation of LPs is no shift");
        let (gear, length) = gearbox.next(2, measured);
        assert_eq!((gear, length), (ONE_THREAD, Duration::from_secs(40)));
    }

    #[test]
    fn large_models_begin_on_all_threads() {
        let begin = |lps, parts| {
            let gears = gears(&Partition::balanced(lps, parts, |_| 1));
            let gear = &gears[first_gear(&gears, lps)];
            (gear.executor.name(), gear.partition.parts())
        };
        assert_eq!(begin(1_000, 4), ("conservative", 1));
        assert_eq!(begin(100_000, 4), ("conservative", 4));
        assert_eq!(begin(100_000, 1), ("conservative", 1));
        let mut gearbox = Gearbox::new(vec![1, 1, 2, 4, 4], 3);
        let measured = Seen {
            rate: 1.0,
            per_window: 100_000,
            before: Duration::from_secs(1),
        };
        assert_eq!(gearbox.next(3, measured), (2, Duration::from_secs(4)));
    }

    #[test]
    fn gears_double_the_threads() {
        let threads = |parts| {
            let gears = gears(&Partition::balanced(100, parts, |_| 1));
            let of = |gear: &Gear| (gear.executor.name(), gear.partition.parts());
            gears.iter().map(of).collect::<Vec<_>>()
        };
        let one = [("sequential", 1), ("conservative", 1)];
        assert_eq!(threads(1), one);
        let six = [
            ("conservative", 2),
            ("conservative", 4),
            ("conservative", 6),
            ("optimistic", 6),
        ];
        assert_eq!(threads(6), [one.as_slice(), &six].concat());
        let two = [("conservative", 2), ("optimistic", 2)];
        assert_eq!(threads(2), [one.as_slice(), &two].concat());
    }
}
