//! The reverse check: every event is executed, undone, compared, and executed again.
//!
//! ROSS has the idea as `--synch=6` (`core/check-revent`). Here the comparison covers the whole LP, as
//! [`Model::save`] writes it, and the sends, draws and records of both passes.

use crate::event_signer::EventSigner;
use crate::lps::{LpEntry, Lps};
use crate::queue::Queue;
use crate::run::{Finished, Observer, Run, RunEnd};
use crate::statistics::EngineStatistics;
use crate::tally::DRAIN_INTERVAL;
use crate::team::to_bytes;
use crate::{Context, Event, LpId, Model, Tally, TallyStep, Time};

/// The withheld effects of a handler.
struct Recorder<M: Model> {
    signer: EventSigner,
    now: Time,
    sent: Vec<Event<M::Payload>>,
    records: Vec<M::Record>,
    tallied: Vec<TallyStep<M>>,
    steps: Vec<M::Undo>,
    stops: bool,
    failure: Option<M::Error>,
}

impl<M: Model> Context<M> for Recorder<M> {
    const REVERSIBLE: bool = true;

    fn now(&self) -> Time {
        self.now
    }
    fn lp(&self) -> LpId {
        self.signer.lp()
    }
    fn send(&mut self, target: LpId, delay: Time, payload: M::Payload) {
        self.sent
            .push(self.signer.write(self.now, target, delay, payload));
    }
    fn random(&mut self) -> u64 {
        self.signer.draw()
    }
    fn emit(&mut self, record: M::Record) {
        self.signer.may_emit();
        self.records.push(record);
    }
    fn tally(&mut self, step: TallyStep<M>) {
        self.tallied.push(step);
    }
    fn undo(&mut self, step: M::Undo) {
        self.steps.push(step);
    }
    fn stop(&mut self) {
        self.stops = true;
    }
    fn fail(&mut self, error: M::Error) {
        self.failure.get_or_insert(error);
    }
}

impl<M: Model> Recorder<M> {
    fn new(run: &Run<'_, M>) -> Self {
        Recorder {
            signer: EventSigner::new(run.model.lookahead(), run.settings),
            now: Time::ZERO,
            sent: Vec::new(),
            records: Vec::new(),
            tallied: Vec::new(),
            steps: Vec::new(),
            stops: false,
            failure: None,
        }
    }

    /// Resets the recorder for an LP.
    fn open(&mut self, now: Time, lp: LpId, entry: &LpEntry<M::Lp>) {
        self.now = now;
        self.signer.open(lp, entry);
        self.sent.clear();
        self.records.clear();
        self.tallied.clear();
        self.steps.clear();
        self.stops = false;
        self.failure = None;
    }

    /// The effects that other LPs can see.
    fn effects(&self) -> Vec<u8> {
        to_bytes(&(
            &self.sent,
            &self.records,
            self.tallied.len(),
            self.stops,
            self.failure.is_some(),
            self.signer.counters(),
        ))
    }
}

fn saved<M: Model>(model: &M, lp: &M::Lp) -> Vec<u8> {
    let mut bytes = Vec::new();
    model.save(lp, &mut bytes);
    bytes
}

/// Executes an event twice with an undo in between. The recorder holds the effects of the second pass.
fn handle<M: Model>(
    model: &M,
    entry: &mut LpEntry<M::Lp>,
    event: &Event<M::Payload>,
    recorder: &mut Recorder<M>,
) -> Result<(), String> {
    let at = || format!("LP {} at {}", event.target.0, event.time);
    let before = saved(model, &entry.lp);
    recorder.open(event.time, event.target, entry);
    model.handle(&mut entry.lp, event, recorder);
    let (effects, after) = (recorder.effects(), saved(model, &entry.lp));
    while let Some(step) = recorder.steps.pop() {
        model.undo(&mut entry.lp, step);
    }
    if let Some(difference) = difference(&before, &saved(model, &entry.lp)) {
        return Err(format!(
            "{}: taking an event back does not restore the state: {difference}",
            at()
        ));
    }
    recorder.open(event.time, event.target, entry);
    model.handle(&mut entry.lp, event, recorder);
    if let Some(difference) = difference(&after, &saved(model, &entry.lp)) {
        return Err(format!(
            "{}: undoing the event gives another state: {difference}",
            at()
        ));
    }
    if effects != recorder.effects() {
        return Err(format!(
            "{}: the event sends, draws or emits something else when it is executed again",
            at()
        ));
    }
    Ok(())
}

/// The first difference between two states.
fn difference(expected: &[u8], found: &[u8]) -> Option<String> {
    if expected == found {
        return None;
    }
    let byte = expected
        .iter()
        .zip(found)
        .position(|(a, b)| a != b)
        .unwrap_or(expected.len().min(found.len()));
    Some(format!(
        "byte {byte} of the saved state, {} instead of {} bytes",
        found.len(),
        expected.len()
    ))
}

pub(crate) fn run<M: Model>(run: &Run<'_, M>, observer: &mut dyn Observer<M>) -> Result<Finished<M>, String> {
    let Run {
        model,
        settings,
        control,
        ..
    } = *run;
    let mut entries = run.entries(0..model.lps())?;
    let mut queue = Queue::new(model.lookahead());
    let mut recorder = Recorder::new(run);
    let mut now = run.from.map_or(Time::ZERO, |snapshot| snapshot.time);
    let mut stop = run.from.map_or(Time::MAX, |snapshot| snapshot.stop);
    match run.from {
        Some(snapshot) => snapshot.pending.iter().for_each(|event| queue.push(*event)),
        None => {
            for (lp, entry) in entries.iter_mut().enumerate() {
                recorder.open(now, LpId(lp as u32), entry);
                model.start(&mut entry.lp, &mut recorder);
                recorder.sent.drain(..).for_each(|event| queue.push(event));
                recorder.signer.close(entry);
            }
        }
    }
    recorder.signer.begin_events();
    let (mut tally, mut processed) = (model.tally(), 0u64);
    let end = loop {
        control.report(now, processed);
        if control.interrupted() {
            break RunEnd::Interrupted;
        }
        let Some(event) = queue.pop_before(settings.until.min(stop)) else {
            break match () {
                () if stop < settings.until => RunEnd::Stopped,
                () if queue.next().is_none() => RunEnd::Drained,
                () => RunEnd::Until,
            };
        };
        now = event.time;
        let entry = &mut entries[event.target.0 as usize];
        if let Err(what) = handle(model, entry, &event, &mut recorder) {
            break RunEnd::Irreversible(what);
        }
        processed += 1;
        if let Some(error) = recorder.failure.take() {
            break RunEnd::Failed(error);
        }
        recorder.signer.close(entry);
        recorder.sent.drain(..).for_each(|event| queue.push(event));
        recorder
            .records
            .drain(..)
            .for_each(|record| observer.commit(now, record));
        recorder.tallied.drain(..).for_each(|step| tally.add(now, step));
        if processed.is_multiple_of(DRAIN_INTERVAL) {
            tally.drain(&mut |record| observer.commit(now, record));
        }
        if recorder.stops {
            stop = stop.min(recorder.signer.stop(now));
        }
    };
    tally.drain(&mut |record| observer.commit(now, record));
    let time = match end {
        RunEnd::Until => settings.until,
        RunEnd::Stopped => stop,
        _ => now,
    };
    Ok(Finished {
        end,
        time,
        lps: Lps::new(entries),
        pending: queue.events().collect(),
        statistics: EngineStatistics {
            // Every event executes once forward, once backward, and once finally.
            processed: 2 * processed,
            committed: processed,
            rolled_back: processed,
            ..EngineStatistics::default()
        },
    })
}
