//! A run that goes on in another gear. A *gear* is an executor with a number of threads.
//!
//! Each gear executes a leg ([`crate::leg`]), and what the leg has shown decides which gear comes next. No event is
//! executed twice, and the result is that of any executor.

use std::time::{Duration, Instant};

use crate::leg::{LegLength, Midway, RunLeg};
use crate::run::{Finished, Observer, Run};
use crate::statistics::{EngineStatistics, GearTime};
use crate::{Executor, Model, Partition, Settings, conservative, optimistic, sequential};

/// An executor with its threads.
#[derive(Clone, Debug)]
pub(crate) struct Gear {
    pub(crate) executor: Executor,
    pub(crate) partition: Partition,
}

/// What a leg has shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Events per second, without the shift to this gear.
    pub(crate) rate: f64,
    /// Events per window of all threads, if there were windows.
    pub(crate) per_window: Option<u64>,
    /// Pending events at its end.
    pub(crate) pending: usize,
    /// Its events, and all its time.
    pub(crate) events: f64,
    pub(crate) whole: Duration,
    /// As [`crate::leg::LegMeasured::on_core`].
    pub(crate) on_core: f64,
    /// As [`crate::leg::LegMeasured::served`].
    pub(crate) served: f64,
}

/// Decides which gear comes next, and for how long.
pub(crate) trait ChooseGear {
    /// The next gear and the length of its leg, after a leg in this one.
    fn next(&mut self, gear: usize, seen: Seen) -> (usize, LegLength);
}

/// Executes a run from its first leg to its end. `begin_in`: its first gear, and the length of the leg. `pace`: takes
/// all gears in turn, each for so many events of the leading thread, whatever `choose` would decide.
pub(crate) fn in_gears<M: Model>(
    run: &Run<'_, M>,
    first: RunLeg<M>,
    gears: &[Gear],
    begin_in: (usize, LegLength),
    pace: Option<u64>,
    choose: &mut dyn ChooseGear,
    observer: &mut dyn Observer<M>,
) -> Result<Finished<M>, String> {
    let mut statistics = EngineStatistics::default();
    let (last, stop) = (first.last, first.stop);
    let (mut midway, (mut gear, mut length)) = (None, begin_in);
    loop {
        let Gear { executor, partition } = &gears[gear];
        let settings = Settings {
            executor: *executor,
            partition: partition.clone(),
            ..run.settings.clone()
        };
        let start = Instant::now();
        let of_leg = pace.map_or(length, LegLength::Events);
        let leg = RunLeg::new(midway.take(), partition, of_leg, RunLeg::whole(last, stop));
        let this = Run {
            settings: &settings,
            ..*run
        };
        let finished = match executor {
            Executor::Sequential => sequential::run(&this, &leg, observer)?,
            Executor::Optimistic if partition.parts() > 1 => optimistic::run(&this, &leg, observer)?,
            _ => conservative::run(&this, &leg, observer)?,
        };
        let whole = start.elapsed();
        let of_leg = &finished.statistics;
        let events = of_leg.committed as f64;
        let (pending, next) = leg.take_left();
        let measured = leg.measured().map(|leg| Seen {
            rate: events * leg.share / leg.half.as_secs_f64().max(1e-9),
            per_window: of_leg.committed.checked_div(of_leg.windows),
            pending: pending.iter().map(Vec::len).sum(),
            events,
            whole,
            on_core: leg.on_core,
            served: leg.served,
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
            lps: finished.lps,
            pending,
            next,
            last: finished.time,
            stop,
        });
        (gear, length) = match (pace, measured) {
            (Some(_), _) => ((gear + 1) % gears.len(), length),
            (None, Some(seen)) => choose.next(gear, seen),
            (None, None) => (gear, length),
        };
    }
}
