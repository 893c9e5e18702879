//! The executor that chooses: it runs on one of the others for a while, measures, and goes on with another if that is
//! faster.
//!
//! Which executor is the fastest, and on how many threads, depends on the model, on its phase, and on what else the
//! machine does. So it is measured: a gear ([`crate::gears`]) is tried by going on with it for a short leg
//! ([`crate::leg`]). No event is executed twice, and the result is that of any executor. Trials
//! are short beside the legs between them, so that a gear that is far slower costs little. A run of a few milliseconds
//! is too short for trials: its gear is guessed from the events per window and from the CPU time of its first thread.

use std::time::Duration;

use crate::gears::{ChooseGear, Gear, Seen, in_gears};
use crate::leg::{FirstLeg, LegLength, RunLeg, Watch};
use crate::run::{Finished, Observer, Run};
use crate::{Executor, Model, Pace, Partition};

/// A trial takes so long, and less while the run is young ...
const TRIAL: Duration = Duration::from_millis(8);

/// ... namely the run so far over this number ...
const PER_TRIAL: u32 = 16;

/// ... but at least so long. A shift of a small model takes some 0.1 ms.
const SHORTEST: Duration = Duration::from_micros(750);

/// A small model has no trials before it has run for so long. Until then its gear is guessed: a run that ends earlier
/// loses nothing by trials ...
const GUESSED: Duration = Duration::from_millis(16);

/// ... and the first guess is checked after so long. At first, only very short windows count: events become more, and
/// threads start.
const FIRST_LOOK: Duration = Duration::from_micros(125);
const WARM: Duration = Duration::from_micros(500);

/// Speculation is tried from the first trial on that takes so long: it starts slowly.
const SPECULATION: Duration = Duration::from_millis(4);

/// The leg after a round of trials takes at least so many times as long as was lost in them.
const PER_LOSS: u32 = 16;

/// Length of the first leg after a round of trials, and in a young run at most so many times its time so far. It
/// doubles while trials change nothing.
const STEADY: Duration = Duration::from_millis(400);
const PER_RUN: u32 = 4;

/// While pending events grow, the model is not yet in the state in which it stays, and a leg after a round of trials is
/// shorter by this factor.
const PER_GROWTH: u32 = 4;

/// The first leg of a large model goes on until its leading thread has waited for so many times as long as its
/// construction took: trials with their shifts take about as long.
const WAITS_PER_CONSTRUCTION: u32 = 2;

/// Longest leg without a trial.
const LONGEST: Duration = Duration::from_secs(10);

/// A gear is taken if it is faster by this factor.
const FASTER: f64 = 1.05;

/// Events per window from which on single events are not tried: windows are faster from about four.
const FEW: u64 = 32;

/// Events per window below which single events are guessed to be the fastest.
const FEWER: u64 = 24;

/// Until it is warm.
const FEWER_WHILE_COLD: u64 = 8;

/// Part of a leg below which its leading thread is guessed to share its core, or to wait for one that does.
const ON_CORE: f64 = 0.6;

/// Part of a leg from which on its leading thread has a core of its own, and hardly waits for others without using it.
const HAS_CORE: f64 = 0.9;

/// Pending events from which on single events are not tried: their heap no longer fits a cache.
const MANY_PENDING: usize = 65_536;

/// Events per window and thread from which on nothing is gained by speculation, and most probably much by threads: a
/// window then takes a hundred times as long as its synchronisation.
const MANY: u64 = 2_000;

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

/// Number of the gear of windows on one thread; the next one has two threads, if any has.
const ONE_THREAD: usize = 1;

/// LPs from which on a run begins with windows on all threads, which then create LPs together. Moving so many LPs to
/// another gear takes as long as a trial.
const LARGE_MODEL: u32 = 16_384;

/// The gear in which a run begins.
fn first_gear(gears: &[Gear], lps: u32) -> usize {
    match (gears.len() > ONE_THREAD + 1, lps >= LARGE_MODEL) {
        (false, _) => ONE_THREAD,
        (true, false) => ONE_THREAD + 1,
        // The last one speculates.
        (true, true) => gears.len() - 2,
    }
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
    /// Time lost in this round: beyond that of the same events in the best gear.
    lost: Duration,
    steady: Duration,
    /// Time of all legs so far.
    elapsed: Duration,
    /// Whether the gear of the leg was guessed.
    guesses: bool,
    /// The gear of the first leg, until it has been measured again. Then threads start, and memory is touched first.
    cold: Option<usize>,
    is_first: bool,
    /// Events per window of all threads, as last seen.
    per_window: u64,
    /// Pending events, as last seen.
    pending: usize,
    /// As last seen.
    on_core: f64,
    /// Pending events at the ends of the last two legs between trials, of which the first leg of a run is one.
    pending_between: Option<[usize; 2]>,
}

impl Gearbox {
    /// `threads` of each gear. The run begins in the gear `best`. `guesses`: as a small model does.
    fn new(threads: Vec<usize>, best: usize, guesses: bool) -> Gearbox {
        Gearbox {
            threads,
            best,
            rate: 0.0,
            trials: Vec::new(),
            tried: Vec::new(),
            has_changed: true,
            lost: Duration::ZERO,
            steady: STEADY,
            elapsed: Duration::ZERO,
            guesses,
            cold: None,
            is_first: true,
            per_window: 0,
            pending: 0,
            on_core: 0.0,
            pending_between: None,
        }
    }

    /// Whether windows are large for the threads of a gear.
    fn is_large(&self, gear: usize) -> bool {
        self.per_window >= MANY * self.threads[gear] as u64
    }

    /// Length of a trial.
    fn trial(&self) -> Duration {
        (self.elapsed / PER_TRIAL).clamp(SHORTEST, TRIAL)
    }

    /// Length of a leg in a gear that was guessed.
    fn guessed_length(&self, gear: usize) -> LegLength {
        match gear {
            // It has no windows.
            0 => LegLength::Time(GUESSED),
            _ => LegLength::Watched(Watch {
                first_look: FIRST_LOOK,
                warm: WARM,
                most: GUESSED,
                threads: self.threads[gear],
                fewest: FEWER,
                fewest_while_cold: FEWER_WHILE_COLD,
                on_core: ON_CORE,
            }),
        }
    }

    /// The gear that is most probably the fastest, after a leg in this one.
    fn guess(&self, gear: usize, seen: Seen) -> usize {
        if self.per_window < FEWER && self.pending < MANY_PENDING {
            0
        } else if seen.on_core < ON_CORE {
            ONE_THREAD
        } else {
            gear
        }
    }

    /// Gears that may be faster than the best one, the first to try last.
    fn candidates(&self) -> Vec<usize> {
        let (last, several) = (self.threads.len() - 1, self.threads.len() > ONE_THREAD + 1);
        let is_large = |gear: usize| self.is_large(gear);
        let mut candidates = Vec::new();
        let best = self.best;
        if several && best != last && !is_large(best) && self.trial() >= SPECULATION {
            candidates.push(last);
        }
        match best {
            0 => candidates.push(ONE_THREAD),
            ONE_THREAD => (),
            // Fewer threads are no faster where each has a core and works far longer than it synchronises.
            best if best != last && is_large(best) && self.on_core >= HAS_CORE => (),
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
        if best != 0 && self.per_window < FEW && self.pending < MANY_PENDING {
            candidates.push(0);
        }
        candidates
    }
}

impl ChooseGear for Gearbox {
    fn next(&mut self, gear: usize, seen: Seen) -> (usize, LegLength) {
        self.per_window = seen.per_window.unwrap_or(self.per_window);
        self.pending = seen.pending;
        self.on_core = seen.on_core;
        self.elapsed += seen.whole;
        if self.guesses {
            self.is_first = false;
            let guess = self.guess(gear, seen);
            if guess != gear {
                self.best = guess;
                return (guess, self.guessed_length(guess));
            }
            self.guesses = false;
            let rest = GUESSED.saturating_sub(seen.whole);
            if rest > WARM {
                // It ended early, since its leading thread had fewer events than others, or many events wait.
                return (gear, LegLength::Time(rest));
            }
        }
        let is_steady = gear == self.best;
        if is_steady {
            let [_, before] = self.pending_between.unwrap_or([seen.pending; 2]);
            self.pending_between = Some([before, seen.pending]);
            self.tried.clear();
            self.lost = Duration::ZERO;
        } else {
            let in_best = Duration::try_from_secs_f64(seen.events / self.rate).unwrap_or_default();
            self.lost += seen.whole.saturating_sub(in_best);
        }
        self.tried.push(gear);
        if std::mem::take(&mut self.is_first) {
            self.cold = Some(gear);
        } else {
            self.cold = self.cold.filter(|cold| *cold != gear);
        }
        if is_steady || seen.rate > self.rate * FASTER {
            self.has_changed |= !is_steady;
            (self.best, self.rate) = (gear, seen.rate);
            self.trials = self.candidates();
            self.trials.retain(|candidate| !self.tried.contains(candidate));
        }
        let again = || self.cold.filter(|cold| *cold != self.best);
        if let Some(candidate) = self.trials.pop().or_else(again) {
            return (candidate, LegLength::Trial(self.trial()));
        }
        self.steady = match std::mem::take(&mut self.has_changed) {
            true => STEADY.min(self.elapsed * PER_RUN),
            false => (self.steady * 2).min(LONGEST),
        };
        let mut steady = self.steady.max(self.lost * PER_LOSS);
        if self
            .pending_between
            .is_some_and(|[before, _]| 4 * self.pending > 5 * before)
        {
            steady /= PER_GROWTH;
        }
        (self.best, LegLength::Time(steady))
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
    let is_large = run.settings.partition.lps() >= LARGE_MODEL && begin_in > ONE_THREAD;
    let mut gearbox = Gearbox::new(threads.collect(), begin_in, !is_large);
    let first_length = match is_large {
        // A shift of so many LPs takes longer.
        true => LegLength::First(FirstLeg {
            trial: TRIAL,
            waits_per_beginning: WAITS_PER_CONSTRUCTION,
        }),
        false => gearbox.guessed_length(begin_in),
    };
    let pace = match run.settings.pace {
        Pace::Measured => None,
        Pace::Events(events) | Pace::Threads(events) => Some(events),
    };
    in_gears(
        run,
        first,
        &gears,
        (begin_in, first_length),
        pace,
        &mut gearbox,
        observer,
    )
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
        let mut gearbox = Gearbox::new((0..rates.len()).map(threads).collect(), begin_in, false);
        let mut spent = vec![Duration::ZERO; rates.len()];
        let (mut gear, mut length) = (begin_in, TRIAL);
        for leg in 0..legs {
            spent[gear] += length;
            let seen = Seen {
                // The first leg has cold caches.
                rate: if leg == 0 { rates[gear] / 3.0 } else { rates[gear] },
                per_window: Some(per_window),
                pending: 1_000,
                events: rates[gear] * length.as_secs_f64(),
                whole: length + Duration::from_micros(50),
                // What threads lack in speed is lost in waits.
                on_core: rates[gear] / (rates[ONE_THREAD] * threads(gear) as f64),
                served: 1.0,
            };
            let next = gearbox.next(gear, seen);
            (gear, length) = (next.0, time(next.1));
        }
        (gearbox.best, spent)
    }

    fn time(length: LegLength) -> Duration {
        match length {
            LegLength::Time(time) | LegLength::Trial(time) | LegLength::Watched(Watch { most: time, .. }) => {
                time
            }
            other => panic!("{other:?}"),
        }
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
    fn single_events_are_for_few_pending_ones() {
        for (pending, next) in [(1_000, 0), (MANY_PENDING, 2)] {
            let mut gearbox = Gearbox::new(vec![1, 1, 2, 2], ONE_THREAD, false);
            let seen = Seen {
                rate: 1.0,
                per_window: Some(2),
                pending,
                events: 1.0,
                whole: TRIAL,
                on_core: 1.0,
                served: 1.0,
            };
            assert_eq!(gearbox.next(ONE_THREAD, seen).0, next, "{pending}");
        }
    }

    #[test]
    fn large_windows_take_all_threads_at_once() {
        let (best, spent) = drive(&[5.0, 10.0, 19.0, 35.0, 60.0, 50.0], 1_000_000, ONE_THREAD, 3);
        assert_eq!(best, 4);
        assert_eq!(spent[2], Duration::ZERO, "{spent:?}");
    }

    #[test]
    fn the_leg_after_costly_trials_is_long() {
        let seen = |rate: f64, whole: f64| Seen {
            rate,
            per_window: Some(300),
            pending: 1_000,
            events: rate * 0.1,
            whole: Duration::from_secs_f64(whole),
            on_core: 1.0,
            served: 1.0,
        };
        let mut gearbox = Gearbox::new(vec![1, 1, 2, 2], ONE_THREAD, false);
        let (gear, length) = gearbox.next(ONE_THREAD, seen(10.0, 1.0));
        assert_eq!((gear, time(length)), (2, TRIAL));
        // Its tenth of a second took a second, with the shift, and its events a twentieth in the other gear.
        let (gear, length) = gearbox.next(2, seen(5.0, 1.0));
        assert_eq!(gear, 3, "speculation is tried too");
        assert_eq!(time(length), TRIAL);
        let (gear, length) = gearbox.next(3, seen(5.0, 1.0));
        assert_eq!(gear, ONE_THREAD);
        assert_eq!(time(length), Duration::from_millis(1_900) * PER_LOSS);
    }

    #[test]
    fn legs_are_short_while_pending_events_grow() {
        let mut gearbox = Gearbox::new(vec![1, 1], ONE_THREAD, false);
        let seen = |pending| Seen {
            rate: 1.0,
            per_window: Some(100),
            pending,
            events: 1.0,
            whole: STEADY,
            on_core: 1.0,
            served: 1.0,
        };
        let lengths = [1_000, 1_200, 1_600, 2_400, 2_500, 2_500]
            .map(|pending| time(gearbox.next(ONE_THREAD, seen(pending)).1));
        let [second, third] = [4, 8].map(|times| STEADY * times / PER_GROWTH);
        assert_eq!(lengths, [STEADY, 2 * STEADY, second, third, 16 * STEADY, LONGEST]);
    }

    #[test]
    fn large_windows_on_cores_of_their_own_need_no_trials() {
        for (best, on_core, next) in [(3, 1.0, 3), (3, 0.8, 2), (4, 1.0, 3)] {
            let mut gearbox = Gearbox::new(vec![1, 1, 2, 4, 4], best, false);
            let seen = Seen {
                rate: 1.0,
                per_window: Some(4 * MANY),
                pending: 1_000,
                events: 1.0,
                whole: STEADY,
                on_core,
                served: 1.0,
            };
            assert_eq!(gearbox.next(best, seen).0, next, "{best} {on_core}");
        }
    }

    #[test]
    fn the_first_gear_is_measured_again() {
        let seen = |rate: f64| Seen {
            rate,
            per_window: Some(100_000),
            pending: 1_000,
            events: rate,
            whole: TRIAL,
            on_core: 0.5,
            served: 1.0,
        };
        let mut gearbox = Gearbox::new(vec![1, 1, 2, 2], 2, false);
        assert_eq!(gearbox.next(2, seen(3.0)).0, ONE_THREAD);
        assert_eq!(gearbox.next(ONE_THREAD, seen(5.0)).0, 2);
        assert_eq!(gearbox.next(2, seen(9.0)).0, 2);
        assert_eq!((gearbox.best, gearbox.rate), (2, 9.0));
    }

    #[test]
    fn large_models_begin_on_all_threads() {
        let begin = |lps, parts| {
            let gears = gears(&Partition::balanced(lps, parts, |_| 1));
            let gear = &gears[first_gear(&gears, lps)];
            (gear.executor.name(), gear.partition.parts())
        };
        assert_eq!(begin(1_000, 4), ("conservative", 2));
        assert_eq!(begin(1_000, 1), ("conservative", 1));
        assert_eq!(begin(100_000, 4), ("conservative", 4));
        assert_eq!(begin(100_000, 1), ("conservative", 1));
    }

    #[test]
    fn a_young_run_guesses() {
        let seen = |per_window, pending, on_core, whole| Seen {
            rate: 1.0,
            per_window: Some(per_window),
            pending,
            events: 1.0,
            whole,
            on_core,
            served: 1.0,
        };
        for (per_window, pending, on_core, guess) in [
            (FEWER, 1_000, 1.0, 2),
            (FEWER - 1, 1_000, 1.0, 0),
            (FEWER - 1, MANY_PENDING, 1.0, 2),
            (1_000_000, 1_000, 0.5, ONE_THREAD),
        ] {
            let mut gearbox = Gearbox::new(vec![1, 1, 2, 4, 4], 2, true);
            let (gear, length) = gearbox.next(2, seen(per_window, pending, on_core, FIRST_LOOK));
            assert_eq!(gear, guess, "{per_window} {pending} {on_core}");
            assert!(time(length) >= GUESSED - FIRST_LOOK, "{length:?}");
            // Then it tries another gear, for a short time.
            let (gear, length) = gearbox.next(guess, seen(per_window, pending, 1.0, GUESSED));
            assert_ne!(gear, guess);
            assert_eq!(time(length), (FIRST_LOOK + GUESSED) / PER_TRIAL);
        }
    }

    #[test]
    fn speculation_is_tried_when_trials_are_long() {
        let mut gearbox = Gearbox::new(vec![1, 1, 2, 2], 2, false);
        let seen = |milliseconds| Seen {
            rate: 1.0,
            per_window: Some(100),
            pending: 1_000,
            events: 1.0,
            whole: Duration::from_millis(milliseconds),
            on_core: 1.0,
            served: 1.0,
        };
        assert_eq!(gearbox.next(2, seen(20)).0, ONE_THREAD);
        assert!(matches!(
            gearbox.next(ONE_THREAD, seen(1)),
            (2, LegLength::Time(_))
        ));
        let young = gearbox.next(2, seen(20));
        assert_eq!(young.0, ONE_THREAD, "{young:?}");
        assert_eq!(gearbox.next(2, seen(64)).0, ONE_THREAD);
        assert_eq!(gearbox.next(ONE_THREAD, seen(4)).0, 3);
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
