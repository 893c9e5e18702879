//! All executors agree on a model whose events send none or several events, to other LPs and to their own, and that
//! reaches beyond the end of the run with any delay. PHOLD sends one event for each, within the lookahead.

use des::{
    Context, Control, Event, Executor, LpId, Model, Optimism, Pace, Partition, Processes, Purpose, Run,
    RunEnd, Settings, SingleProcess, Time,
};
use fabricsim_testkit::executors::EXECUTORS;
use fabricsim_testkit::processes::ThreadProcess;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

/// The parameters.
#[derive(Clone, Debug)]
struct Branching {
    lps: u32,
    lookahead: Time,
    spread: Time,
    /// The end of the run, from which on delays may be shorter than the lookahead.
    until: Time,
    /// In 65536ths: the probability that an event goes to another LP.
    remote: u64,
    /// The run stops after an LP has seen this many events.
    stops_after: u64,
}

/// The state of one LP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    events: u64,
    history: u64,
    /// Payloads that wait until the next event, as in a queue.
    queue: Vec<u32>,
}

impl Model for Branching {
    type Payload = u32;
    type Lp = Seen;
    type Record = (u32, u64);
    type Undo = Seen;
    type Error = String;
    type Tally = ();

    fn lps(&self) -> u32 {
        self.lps
    }
    fn lookahead(&self) -> Time {
        self.lookahead
    }
    fn tally(&self) {}
    fn create(&self, _: LpId) -> Seen {
        Seen::default()
    }
    fn start(&self, _: &mut Seen, context: &mut impl Context<Self>) {
        let me = context.lp();
        let first = context.random() % self.lookahead.0;
        context.send(me, Time(first), 0);
        context.send(me, Time(first + 1), 4);
    }
    fn handle(&self, seen: &mut Seen, event: &Event<u32>, context: &mut impl Context<Self>) {
        context.undo(seen.clone());
        let (now, me) = (context.now(), context.lp());
        seen.events += 1;
        let mixed = u64::from(event.payload) ^ now.ps().rotate_left(32) ^ u64::from(event.source.0) << 20;
        seen.history = (seen.history.rotate_left(5) ^ mixed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        for _ in 0..seen.history % 3 {
            context.emit((me.0, seen.history));
        }
        if seen.events == self.stops_after {
            context.stop();
        }
        let draw = seen.history >> 60;
        if event.payload == 0 {
            // The LP's clock, so that events do not die out.
            context.send(me, Time(1 + seen.history % (self.lookahead + self.spread).0), 0);
        } else {
            seen.queue.push(event.payload);
        }
        // None, one or several, and less than one on average, so that they do not multiply.
        let sends = match draw {
            0..=7 => 0,
            8..=12 => 1,
            13 | 14 => 2,
            _ => seen.queue.len().min(4),
        };
        for _ in 0..sends {
            let payload = seen.queue.pop().unwrap_or(7);
            let (choice, number) = (context.random(), context.random());
            let other = LpId((me.0 + 1 + (choice >> 16) as u32 % self.lps.max(2)) % self.lps);
            let any = Time(1 + number % (self.lookahead + self.spread).0);
            let delay = match choice & 0xFFFF < self.remote && other != me {
                false => {
                    context.send(me, any, payload + 1);
                    continue;
                }
                true if now + any >= self.until => any,
                true => self.lookahead + Time(number % (self.spread.0 + 1)),
            };
            context.send(other, delay, payload + 1);
        }
    }
    fn undo(&self, seen: &mut Seen, step: Seen) {
        *seen = step;
    }
    fn save(&self, seen: &Seen, bytes: &mut Vec<u8>) {
        bytes.extend(postcard::to_stdvec(seen).expect("a value in memory"));
    }
    fn restore(&self, seen: &mut Seen, bytes: &[u8], _: Purpose) -> Result<(), String> {
        *seen = postcard::from_bytes(bytes).map_err(|e| e.to_string())?;
        Ok(())
    }
}

/// The results that must not depend on the executor.
#[derive(Debug, PartialEq)]
struct Outcome {
    lps: Vec<Seen>,
    records: Vec<(Time, (u32, u64))>,
    end: RunEnd<String>,
    time: Time,
    committed: u64,
    pending: Vec<(Time, u32, u32, u32, u32)>,
}

/// What differs between two outcomes, in short.
fn difference(a: &Outcome, b: &Outcome) -> Option<String> {
    if a == b {
        return None;
    }
    let lps = a.lps.iter().zip(&b.lps).position(|(a, b)| a != b);
    let record = a.records.iter().zip(&b.records).position(|(a, b)| a != b);
    let only = |a: &Outcome, b: &Outcome| {
        let mut missing = a.pending.clone();
        missing.retain(|event| !b.pending.contains(event));
        missing
    };
    Some(format!(
        "ends {:?} at {:?} and {:?} at {:?}; {} and {} events; {} and {} records, first differing {record:?}; first differing LP \
         {lps:?}; pending only here {:?}, only there {:?}",
        a.end,
        a.time,
        b.end,
        b.time,
        a.committed,
        b.committed,
        a.records.len(),
        b.records.len(),
        only(a, b),
        only(b, a)
    ))
}

fn outcome(processes: &dyn Processes, model: &Branching, settings: &Settings) -> (Outcome, u64) {
    let mut records = Vec::new();
    let run = Run {
        model,
        settings,
        control: &Control::default(),
        processes,
        from: None,
    };
    let finished = run
        .execute(&mut |time, record| records.push((time, record)))
        .expect("there is no snapshot that could be wrong");
    let pending = finished.pending.iter();
    let mut pending: Vec<_> = pending
        .map(|e| (e.time, e.source.0, e.sequence, e.target.0, e.payload))
        .collect();
    pending.sort_unstable();
    let outcome = Outcome {
        lps: finished.lps.iter().cloned().collect(),
        records,
        end: finished.end,
        time: finished.time,
        committed: finished.statistics.committed,
        pending,
    };
    (outcome, finished.statistics.rolled_back)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn executors_agree(
        lps in 1u32..30,
        lookahead in 1u64..2_000,
        spread in 0u64..5_000,
        remote in 0u64..65_536,
        seed: u64,
        until in 1u64..60_000,
        stops_after in proptest::option::of(1u64..60),
        batch in 1u32..200,
        gvt_interval in 1u32..200,
        ahead in proptest::option::of(0u64..20_000),
    ) {
        let until = Time(until);
        let stops_after = stops_after.unwrap_or(u64::MAX);
        let model = Branching { lps, lookahead: Time(lookahead), spread: Time(spread), until, remote, stops_after };
        let optimism = Optimism { batch, gvt_interval, ahead: ahead.map(Time), ..Optimism::default() };
        let settings = |executor, parts| Settings {
            executor,
            partition: Partition::balanced(lps, parts, |_| 1),
            seed,
            until,
            optimism,
            pace: Pace::Events(31),
        };
        let (reference, _) = outcome(&SingleProcess, &model, &settings(Executor::Sequential, 1));
        let others = [(Executor::Auto, 1), (Executor::Auto, 3), (Executor::ReverseCheck, 1)];
        for (executor, threads) in EXECUTORS.into_iter().chain(others) {
            let (other, _) = outcome(&SingleProcess, &model, &settings(executor, threads));
            prop_assert_eq!(None, difference(&reference, &other), "{:?} with {} threads", executor, threads);
        }
        for executor in [Executor::Conservative, Executor::Optimistic] {
            let settings = settings(executor, 4);
            let outcomes = ThreadProcess::run(2, |process| outcome(process, &model, &settings).0);
            prop_assert_eq!(None, difference(&reference, &outcomes[0]), "{:?} in two processes", executor);
        }
    }
}
