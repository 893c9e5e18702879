//! A leg of a run: what one executor executes of it. A run on a single executor has one leg.
//!
//! Between two legs, all events before some point in the total order have been executed, and no other. So any executor
//! can go on from there, on any number of threads. LPs are moved, not saved: what they know of later times stays.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;

use crate::lps::{LpEntry, Lps};
use crate::service::{CpuMeter, CpuTimes, ServiceWatch};
use crate::statistics::Clock;
use crate::{Event, Model, Partition, Time};

/// The state of a run between two legs.
pub(crate) struct Midway<M: Model> {
    pub(crate) lps: Lps<M::Lp>,
    pub(crate) pending: EventLists<M>,
    /// No pending event is earlier.
    pub(crate) next: Time,
    /// Time of the last executed event.
    pub(crate) last: Time,
    /// The earliest stop that was requested.
    pub(crate) stop: Time,
}

/// Events in several lists, in no particular order, so that they can be handed over as they lie in memory.
pub(crate) type EventLists<M> = Vec<Vec<Event<<M as Model>::Payload>>>;

/// LPs of a part, and the pending events of all parts.
type PartOfMidway<M> = (Vec<LpEntry<<M as Model>::Lp>>, Arc<EventLists<M>>);

/// When a leg ends, unless the run does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LegLength {
    /// With the run.
    Whole,
    /// After this time.
    Time(Duration),
    /// After this time and, where it took longer until the first event, after that; later while its rate rises.
    Trial(Duration),
    /// After so many events of the leading thread.
    Events(u64),
    /// The first leg of a large model that chooses its executor.
    First(FirstLeg),
    /// A leg of a small one.
    Watched(Watch),
    /// With the run, while the system serves the threads.
    Served(ServiceWatch),
}

/// How long the first leg of a large model takes.
///
/// To try other executors is paid for once, and waiting for other threads all the time, as one buys or goes on to rent.
/// So the leg is over when its leading thread has waited for as long as trials take: a thread that hardly waits has
/// little to gain by them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstLeg {
    /// It takes at least so long, ...
    pub(crate) trial: Duration,
    /// ... and until its leading thread has spent so many times the time before the first event on other things than
    /// events.
    pub(crate) waits_per_beginning: u32,
}

/// A leg in windows that goes on as long as nothing speaks against it.
///
/// It is looked at after its time at the first look, and after each doubling of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    pub(crate) first_look: Duration,
    /// Before this time, only few events per window count.
    pub(crate) warm: Duration,
    /// It takes at most so long.
    pub(crate) most: Duration,
    /// Threads of its gear.
    pub(crate) threads: usize,
    /// It ends if its windows have fewer events, on all threads ...
    pub(crate) fewest: u64,
    pub(crate) fewest_while_cold: u64,
    /// ... or if the leading one of several threads has a core for less than this part of it.
    pub(crate) on_core: f64,
}

impl LegLength {
    /// When the leg is over or, of the first one or a watched one, may be. `before`: the time until its first event.
    fn time_after(self, before: Duration) -> Duration {
        match self {
            LegLength::Time(time) | LegLength::First(FirstLeg { trial: time, .. }) => time,
            LegLength::Trial(time) => time.max(before),
            LegLength::Watched(watch) => watch.first_look,
            LegLength::Served(watch) => watch.first_look.min(watch.most.max(before)),
            LegLength::Whole | LegLength::Events(_) => Duration::MAX,
        }
    }
}

/// A leg of a run.
pub(crate) struct RunLeg<M: Model> {
    /// By part; `None` if the run begins with this leg.
    parts: Option<Vec<Mutex<PartOfMidway<M>>>>,
    /// Time of the last event before the leg.
    pub(crate) last: Time,
    /// No event is earlier.
    pub(crate) next: Time,
    /// The earliest stop requested before the leg.
    pub(crate) stop: Time,
    length: LegLength,
    /// When it was made.
    made: Instant,
    /// What the leading thread has measured.
    measured: Mutex<Option<LegMeasured>>,
    /// Of the threads that note them.
    cpu_times: CpuTimes,
    /// The earliest stop at the end of the leg, plus one; 0 while the run goes on in it, or if the run ended with it.
    paused: AtomicU64,
    /// Events that it has left to the next one.
    left: Mutex<EventLists<M>>,
    /// No event is earlier that it has left.
    left_from: AtomicU64,
}

/// What the leading thread has measured in a leg.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LegMeasured {
    /// The second half, from the first event on. In the first one, threads start and caches fill.
    pub(crate) half: Duration,
    /// Part of the thread's events that lie in the second half.
    pub(crate) share: f64,
    /// Part of the leg in which the thread had a core, from the first event on; 1 where the system does not tell.
    pub(crate) on_core: f64,
    /// CPU time of all threads over the time between the last two looks at it; 1 where nothing looks.
    pub(crate) served: f64,
}

/// Decides on the leading thread when a leg ends.
pub(crate) struct LegTimer {
    length: LegLength,
    /// When it is over, if time decides.
    time: Duration,
    start: Instant,
    /// CPU time of this thread from then on, if the system tells it.
    cpu_time: Option<ThreadTime>,
    /// Time of the leg before its first event.
    before: Duration,
    /// When half of the leg was over, and events of this thread until then.
    half: Option<(Duration, u64)>,
    /// How often a trial went on because its rate rose.
    extensions: u32,
    /// Questions since the start.
    questions: u32,
    /// Events of this thread at the last look at the clock.
    at_look: u64,
    /// The CPU times of all threads, this one included, if something looks at them.
    service: Option<Service>,
}

/// The CPU times of all threads, as the leading one sees them.
struct Service {
    all: CpuTimes,
    meter: CpuMeter,
    /// CPU time of all threads at the last look.
    at_look: Duration,
    /// CPU time of all threads over the time between the last two looks.
    served: f64,
}

/// A look at the clock costs as much as a short window, so there is one after so many questions ...
const QUESTIONS: u32 = 16;

/// ... or after so many events, which take far longer.
const EVENTS: u64 = 512;

/// A trial whose rate rises is doubled at most so many times. Caches fill and, under speculation, limits are found.
const EXTENSIONS: u32 = 2;

impl LegTimer {
    /// Whether the leg is over. `processed`: events of this thread; `clock`: what it spends its time on.
    #[inline]
    pub(crate) fn is_over(&mut self, processed: u64, clock: &Clock) -> bool {
        self.is_over_at(processed, clock.seconds.processing, || clock.last())
    }

    /// As [`LegTimer::is_over`], where nothing has measured how long the events took or when the last one ended.
    #[inline]
    pub(crate) fn is_over_at(
        &mut self,
        processed: u64,
        processing: f64,
        now: impl FnOnce() -> Instant,
    ) -> bool {
        match self.length {
            LegLength::Whole => false,
            LegLength::Events(events) => processed >= events,
            LegLength::Served(watch) => {
                let now = now();
                let elapsed = now.saturating_duration_since(self.start);
                elapsed >= self.time && self.is_unserved(watch, processed, elapsed, now)
            }
            _ => self.is_time_over(processed, processing),
        }
    }

    fn is_time_over(&mut self, processed: u64, processing: f64) -> bool {
        self.questions += 1;
        if !self.questions.is_multiple_of(QUESTIONS) && processed - self.at_look < EVENTS {
            return false;
        }
        self.at_look = processed;
        let elapsed = self.start.elapsed();
        if self.half.is_none() && elapsed >= self.time / 2 {
            self.half = Some((elapsed, processed));
        }
        if elapsed < self.time {
            return false;
        }
        let mut most = Duration::MAX;
        match self.length {
            LegLength::First(first) => {
                let waited = elapsed.as_secs_f64() - processing;
                if waited >= (self.before * first.waits_per_beginning).as_secs_f64() {
                    return true;
                }
            }
            LegLength::Trial(_) if self.extensions < EXTENSIONS && self.rises(processed) => {
                self.extensions += 1
            }
            LegLength::Watched(watch) if elapsed < watch.most => {
                // There is a question after each window.
                let per_window = processed * watch.threads as u64 / u64::from(self.questions);
                let is_warm = elapsed >= watch.warm;
                let fewest = if is_warm {
                    watch.fewest
                } else {
                    watch.fewest_while_cold
                };
                let shares = || watch.threads > 1 && self.on_core(elapsed) < watch.on_core;
                if per_window < fewest || is_warm && shares() {
                    return true;
                }
                most = watch.most;
            }
            _ => return true,
        }
        // It goes on for as long again.
        self.half = Some((elapsed, processed));
        self.time = (elapsed * 2).min(most);
        false
    }

    /// Whether the leg is over at this look, since threads are not served or since it has taken long enough.
    fn is_unserved(&mut self, watch: ServiceWatch, processed: u64, elapsed: Duration, now: Instant) -> bool {
        let since = self.half.map_or(Duration::ZERO, |(half, _)| half);
        if let Some(service) = &mut self.service {
            service.meter.note(now);
            let all = service.all.total();
            service.served = (all - service.at_look).div_duration_f64(elapsed - since);
            service.at_look = all;
            if service.served < watch.least {
                return true;
            }
        }
        let most = watch.most.max(self.before);
        if elapsed >= most {
            return true;
        }
        self.half = Some((elapsed, processed));
        self.time = (elapsed + watch.span).min(most);
        false
    }

    /// Part of the time since the first event in which the thread had a core, if `elapsed` is that time.
    fn on_core(&self, elapsed: Duration) -> f64 {
        let on_core = self.cpu_time.and_then(|start| start.try_elapsed().ok());
        on_core.map_or(1.0, |on_core| on_core.div_duration_f64(elapsed).min(1.0))
    }

    /// Whether the second half of the leg had half as many events again as the first one.
    fn rises(&self, processed: u64) -> bool {
        self.half
            .is_some_and(|(_, before)| 2 * (processed - before) > 3 * before)
    }

    /// What was measured. `processed`: events of this thread.
    fn measured(&self, processed: u64) -> LegMeasured {
        let whole = self.start.elapsed();
        let on_core = self.on_core(whole);
        let served = self.service.as_ref().map_or(1.0, |service| service.served);
        match self.half {
            Some((half, before)) if processed > before && whole > half => LegMeasured {
                half: whole - half,
                share: (processed - before) as f64 / processed as f64,
                on_core,
                served,
            },
            // A single window was as long as the leg.
            _ => LegMeasured {
                half: whole,
                share: 1.0,
                on_core,
                served,
            },
        }
    }

    /// Events until the next question, of an executor that asks every `events` events.
    pub(crate) fn interval(&self, events: u64) -> u64 {
        match self.length {
            LegLength::Events(most) => events.min(most).max(1),
            _ => events,
        }
    }
}

impl<M: Model> RunLeg<M> {
    /// The only leg of a run. `stop` and `last`: those of the snapshot from which it begins.
    pub(crate) fn whole(last: Time, stop: Time) -> RunLeg<M> {
        RunLeg {
            parts: None,
            last,
            next: Time::ZERO,
            stop,
            length: LegLength::Whole,
            made: Instant::now(),
            measured: Mutex::new(None),
            cpu_times: CpuTimes::default(),
            paused: AtomicU64::new(0),
            left: Mutex::default(),
            left_from: AtomicU64::new(0),
        }
    }

    /// A leg of this length. `midway`: what the one before has left.
    pub(crate) fn new(
        midway: Option<Midway<M>>,
        partition: &Partition,
        length: LegLength,
        first: RunLeg<M>,
    ) -> RunLeg<M> {
        let Some(midway) = midway else {
            return RunLeg { length, ..first };
        };
        let parts = midway.lps.into_parts(partition);
        let pending = Arc::new(midway.pending);
        let parts = parts.into_iter().map(|entries| (entries, Arc::clone(&pending)));
        RunLeg {
            parts: Some(parts.map(Mutex::new).collect()),
            last: midway.last,
            next: midway.next,
            stop: midway.stop,
            length,
            ..first
        }
    }

    /// The LPs of a part, and the pending events of all; `None` if the run begins with this leg.
    pub(crate) fn take(&self, part: usize) -> Option<PartOfMidway<M>> {
        let mut part = self.parts.as_ref()?[part]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Some(std::mem::take(&mut *part))
    }

    /// What decides when the leg ends, on the leading thread. Called when the first event is about to execute.
    pub(crate) fn start(&self) -> LegTimer {
        let before = self.made.elapsed();
        LegTimer {
            length: self.length,
            time: self.length.time_after(before),
            start: Instant::now(),
            cpu_time: ThreadTime::try_now().ok(),
            before,
            half: None,
            extensions: 0,
            questions: 0,
            at_look: 0,
            service: self.meter().map(|meter| Service {
                all: self.cpu_times.clone(),
                meter,
                at_look: Duration::ZERO,
                served: 1.0,
            }),
        }
    }

    /// What notes the CPU time of a thread, if the leg ends by it. On each thread but the leading one, whose timer has
    /// it, when the first event is about to execute.
    pub(crate) fn meter(&self) -> Option<CpuMeter> {
        match self.length {
            LegLength::Served(_) => Some(CpuMeter::start(self.cpu_times.clone())),
            _ => None,
        }
    }

    /// Notes that the leg is over and the run is not, on each thread; the leading one has the timer. `next`: no pending
    /// event is earlier. `stop`: the earliest stop that was requested. `processed`: events of this thread.
    pub(crate) fn pause(&self, next: Time, stop: Time, timer: Option<&LegTimer>, processed: u64) {
        self.left_from.store(next.0, Relaxed);
        self.paused.store(stop.0.saturating_add(1), Relaxed);
        if let Some(timer) = timer {
            let mut measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
            *measured = Some(timer.measured(processed));
        }
    }

    /// Leaves the pending events of a thread to the next leg.
    pub(crate) fn leave(&self, mut events: EventLists<M>) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.append(&mut events);
    }

    /// The pending events of all threads, and a time before which there is none.
    pub(crate) fn take_left(&self) -> (EventLists<M>, Time) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut left), Time(self.left_from.load(Relaxed)))
    }

    /// The earliest stop, if the leg is over and the run is not.
    pub(crate) fn paused(&self) -> Option<Time> {
        match self.paused.load(Relaxed) {
            0 => None,
            u64::MAX => Some(Time::MAX),
            more => Some(Time(more - 1)),
        }
    }

    /// What the leading thread has measured, if the leg is over and the run is not.
    pub(crate) fn measured(&self) -> Option<LegMeasured> {
        *self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timer(length: LegLength, before: u64) -> LegTimer {
        let before = Duration::from_millis(before);
        LegTimer {
            time: length.time_after(before),
            length,
            start: Instant::now(),
            cpu_time: ThreadTime::try_now().ok(),
            before,
            half: None,
            extensions: 0,
            questions: 0,
            at_look: 0,
            service: None,
        }
    }

    #[test]
    fn a_trial_takes_at_least_as_long_as_the_shift_before_it() {
        let trial = LegLength::Trial(Duration::from_millis(8));
        assert_eq!(timer(trial, 2).time, Duration::from_millis(8));
        assert_eq!(timer(trial, 300).time, Duration::from_millis(300));
        assert_eq!(
            timer(LegLength::Time(Duration::from_millis(8)), 300).time,
            Duration::from_millis(8)
        );
    }

    #[test]
    fn a_trial_goes_on_while_its_rate_rises() {
        // Events until half of it and until its end, and whether it is over then.
        for (halves, is_over) in [
            ([100, 200], true),
            ([100, 240], true),
            ([100, 260], false),
            ([0, 10], false),
        ] {
            let mut trial = timer(LegLength::Trial(Duration::from_secs(8)), 0);
            trial.questions = QUESTIONS - 1;
            trial.start -= Duration::from_secs(5);
            assert!(!trial.is_over_at(halves[0], 0.0, Instant::now));
            trial.questions = QUESTIONS - 1;
            trial.start -= Duration::from_secs(4);
            assert_eq!(
                trial.is_over_at(halves[1], 0.0, Instant::now),
                is_over,
                "{halves:?}"
            );
            assert_eq!(trial.time >= Duration::from_secs(18), !is_over);
        }
        let mut rising = timer(LegLength::Trial(Duration::from_secs(1)), 0);
        let mut events = 1;
        while !rising.is_over_at(events, 0.0, Instant::now) {
            rising.questions = QUESTIONS - 1;
            rising.start -= Duration::from_millis(500);
            events *= 10;
        }
        assert_eq!(rising.extensions, EXTENSIONS, "not forever");
    }

    #[test]
    fn the_first_leg_goes_on_until_its_thread_has_waited() {
        let first = LegLength::First(FirstLeg {
            trial: Duration::ZERO,
            waits_per_beginning: 6,
        });
        assert!(
            timer(first, 0).is_over_at(EVENTS, 0.0, Instant::now),
            "nothing was created"
        );
        let mut busy = timer(first, 1);
        busy.start -= Duration::from_millis(100);
        assert!(
            !busy.is_over_at(EVENTS, 0.0999, Instant::now),
            "it has hardly waited"
        );
        let twice = busy.time;
        assert!(twice >= Duration::from_millis(200));
        assert!(
            !busy.is_over_at(2 * EVENTS, 0.0, Instant::now),
            "no look before the leg is twice as long"
        );
        busy.start -= Duration::from_millis(200);
        assert!(busy.is_over_at(3 * EVENTS, 0.2, Instant::now));
        let measured = busy.measured(3 * EVENTS);
        assert_eq!(measured.share, 2.0 / 3.0, "all that came after the first look");
        assert!(
            measured.half >= Duration::from_millis(200) && measured.half < twice + Duration::from_millis(200)
        );
    }
    #[test]
    fn a_watched_leg_goes_on_while_nothing_speaks_against_it() {
        let watch = Watch {
            first_look: Duration::from_secs(1),
            warm: Duration::ZERO,
            most: Duration::from_secs(5),
            threads: 2,
            fewest: 10,
            fewest_while_cold: 5,
            on_core: 0.0,
        };
        let cold = Watch {
            warm: Duration::from_secs(2),
            on_core: 0.9,
            ..watch
        };
        // Events of this thread in 16 windows, and whether it is over after one second.
        for (watch, events, is_over) in [
            (watch, 80, false),
            (watch, 79, true),
            (Watch { threads: 1, ..watch }, 160, false),
            (Watch { threads: 1, ..watch }, 159, true),
            (cold, 40, false),
            (cold, 39, true),
            // The thread of this test has no core in the second before it begins.
            (
                Watch {
                    on_core: 0.9,
                    ..watch
                },
                80,
                true,
            ),
            (
                Watch {
                    on_core: 0.9,
                    threads: 1,
                    ..watch
                },
                160,
                false,
            ),
        ] {
            let mut timer = timer(LegLength::Watched(watch), 0);
            timer.questions = QUESTIONS - 1;
            timer.start -= Duration::from_secs(1);
            assert_eq!(
                timer.is_over_at(events, 0.0, Instant::now),
                is_over,
                "{events} {watch:?}"
            );
        }
        let mut timer = timer(LegLength::Watched(watch), 0);
        let mut seconds = 0;
        while !timer.is_over_at(1_000_000, 0.0, Instant::now) {
            timer.questions = QUESTIONS - 1;
            timer.start -= Duration::from_secs(1);
            seconds += 1;
        }
        assert_eq!(seconds, 5, "it takes no longer than its time");
    }

    /// A timer of a leg that began a second ago, whose other thread has noted this CPU time.
    fn watching(watch: ServiceWatch, other: Duration) -> LegTimer {
        let all = CpuTimes::default();
        let mut timer = timer(LegLength::Served(watch), 0);
        timer.start -= Duration::from_secs(1);
        timer.service = Some(Service {
            meter: CpuMeter::start(all.clone()),
            all: all.clone(),
            at_look: Duration::ZERO,
            served: 1.0,
        });
        all.add(other);
        timer
    }

    #[test]
    fn a_leg_is_over_when_no_thread_has_a_core() {
        let watch = ServiceWatch {
            first_look: Duration::from_millis(900),
            span: Duration::from_millis(900),
            least: 0.8,
            most: Duration::MAX,
        };
        // This thread has waited for the other one, which has worked all the time.
        let mut timer = watching(watch, Duration::from_secs(1));
        let now = timer.start + Duration::from_secs(1);
        assert!(
            !timer.is_over_at(500, 0.0, || now),
            "{}",
            timer.measured(500).served
        );
        assert!(timer.measured(500).served >= 0.9);
        // It had a core for half of the time.
        let mut timer = watching(watch, Duration::from_millis(500));
        let now = timer.start + Duration::from_secs(1);
        assert!(timer.is_over_at(500, 0.0, || now));
        let served = timer.measured(500).served;
        assert!((0.4..0.6).contains(&served), "{served}");
        // Before the first look nothing counts.
        let later = ServiceWatch {
            first_look: Duration::from_secs(60),
            ..watch
        };
        assert!(!watching(later, Duration::ZERO).is_over_at(500, 0.0, Instant::now));
    }

    #[test]
    fn a_leg_that_is_served_takes_its_time() {
        let watch = ServiceWatch {
            first_look: Duration::from_millis(900),
            span: Duration::from_secs(2),
            least: 0.0,
            most: Duration::from_secs(2),
        };
        let mut timer = watching(watch, Duration::ZERO);
        assert!(!timer.is_over_at(300, 0.0, Instant::now));
        let (half, events) = timer.half.expect("it has looked");
        assert!(half >= Duration::from_secs(1) && events == 300);
        assert_eq!(timer.time, Duration::from_secs(2));
        timer.start -= Duration::from_secs(1);
        assert!(timer.is_over_at(900, 0.0, Instant::now));
        assert_eq!(
            timer.measured(900).share,
            2.0 / 3.0,
            "all that came after the first look"
        );
    }
}
