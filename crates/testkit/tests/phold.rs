//! All executors give the same result for PHOLD with any number of threads.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use des::{
    Context, Control, EngineStatistics, Event, Executor, Finished, LpId, Model, Observer, Optimism, Pace,
    Partition, Processes, Purpose, Run, RunEnd, Settings, SingleProcess, Snapshot, Time, run,
};
use fabricsim_testkit::executors::{DISTRIBUTED, EXECUTORS};
use fabricsim_testkit::phold::{Ball, Phold, TALLIED};
use fabricsim_testkit::processes::ThreadProcess;
use proptest::prelude::*;

/// The results that must not depend on the executor.
#[derive(Debug, PartialEq)]
struct Outcome {
    balls: Vec<Ball>,
    records: Vec<(Time, (u32, u64))>,
    end: RunEnd<String>,
    time: Time,
    committed: u64,
    pending: Vec<(Time, u32, u32, u32, u64)>,
}

fn balls(finished: &Finished<Phold>) -> Vec<Ball> {
    finished.lps.iter().cloned().collect()
}

/// All executors and thread counts; the first is the reference.
fn executors() -> impl Iterator<Item = (Executor, usize)> {
    EXECUTORS.into_iter().chain([
        (Executor::Auto, 1),
        (Executor::Auto, 3),
        (Executor::ReverseCheck, 1),
    ])
}

fn settings(executor: Executor, lps: u32, threads: usize, until: Time, seed: u64) -> Settings {
    Settings {
        executor,
        partition: Partition::balanced(lps, threads, |_| 1),
        seed,
        until,
        optimism: Optimism::default(),
        pace: Pace::Events(97),
    }
}

fn outcome(model: &Phold, settings: &Settings) -> (Outcome, EngineStatistics) {
    outcome_in(&SingleProcess, model, settings)
}

/// The outcome in this process; the first process has all of it.
fn outcome_in(processes: &dyn Processes, model: &Phold, settings: &Settings) -> (Outcome, EngineStatistics) {
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
    let mut pending: Vec<_> = finished
        .pending
        .iter()
        .map(|e| (e.time, e.source.0, e.sequence, e.target.0, e.payload))
        .collect();
    pending.sort();
    let outcome = Outcome {
        balls: balls(&finished),
        records,
        end: finished.end,
        time: finished.time,
        committed: finished.statistics.committed,
        pending,
    };
    (outcome, finished.statistics)
}

/// Parts with borders at these fractions of the LPs; some may be empty.
fn cut(lps: u32, shares: &[f64]) -> Partition {
    let mut bounds: Vec<u32> = shares
        .iter()
        .map(|share| (share * f64::from(lps + 1)) as u32)
        .collect();
    bounds.extend([0, lps]);
    bounds.sort_unstable();
    Partition::new(bounds)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn executors_agree(
        lps in 1u32..40,
        population in 0u32..6,
        lookahead in 1u64..2_000,
        spread in 0u64..5_000,
        remote in 0u64..65_536,
        seed: u64,
        until in 1u64..60_000,
        batch in 1u32..200,
        gvt_interval in 1u32..200,
        ahead in proptest::option::of(0u64..20_000),
        memory in 1usize..1_000_000,
        cuts in proptest::collection::vec(0.0f64..1.0, 0..4),
        processes in 2usize..4,
        threads in 1usize..3,
        borders in proptest::collection::vec(0.0f64..1.0, 5),
    ) {
        let model = Phold {
            lps,
            population,
            lookahead: Time(lookahead),
            spread: Time(spread),
            remote,
            records: true,
            tallies: false,
        };
        let settings = |executor, threads| settings(executor, lps, threads, Time(until), seed);
        let (reference, _) = outcome(&model, &settings(Executor::Sequential, 1));
        prop_assert!(reference.records.is_sorted_by_key(|r| r.0));
        for (executor, threads) in executors() {
            let (other, _) = outcome(&model, &settings(executor, threads));
            prop_assert_eq!(&reference, &other, "{:?} with {} threads", executor, threads);
        }
        // Parts of any size, with any limits of optimism.
        let partition = cut(lps, &cuts);
        let optimism = Optimism { batch, gvt_interval, ahead: ahead.map(Time), memory };
        for executor in [Executor::Conservative, Executor::Optimistic] {
            let settings = Settings { partition: partition.clone(), optimism, ..settings(executor, 1) };
            let (other, statistics) = outcome(&model, &settings);
            prop_assert_eq!(&reference, &other, "{:?} with {:?}", executor, settings);
            prop_assert_eq!(statistics.committed, statistics.processed - statistics.rolled_back);
        }
        // Threads that become fewer and more again in the middle of the run.
        for executor in [Executor::Conservative, Executor::Optimistic] {
            let partition = Partition::balanced(lps, 4, |_| 1);
            let pace = Pace::Threads(53);
            let settings = Settings { partition, pace, optimism, ..settings(executor, 1) };
            let (other, statistics) = outcome(&model, &settings);
            prop_assert_eq!(&reference, &other, "{:?} with {:?}", executor, settings);
            let threads: Vec<_> = statistics.gears.iter().map(|gear| gear.threads).collect();
            prop_assert!([4, 2, 1].starts_with(&threads), "{:?}", threads);
        }
        // The same run in several processes.
        let partition = cut(lps, &borders[..processes * threads - 1]);
        for executor in [Executor::Conservative, Executor::Optimistic] {
            let settings = Settings { partition: partition.clone(), optimism, ..settings(executor, 1) };
            let outcomes = ThreadProcess::run(processes, |process| outcome_in(process, &model, &settings));
            let (first, statistics) = &outcomes[0];
            prop_assert_eq!(&reference, first, "{:?} in {} processes with {:?}", executor, processes, settings);
            prop_assert_eq!(statistics.committed, statistics.processed - statistics.rolled_back);
            prop_assert_eq!(statistics.threads.len(), processes * threads);
            for (other, _) in &outcomes[1..] {
                prop_assert_eq!(&other.end, &first.end, "all processes know why the run ended");
                let is_empty = other.balls.is_empty() && other.records.is_empty() && other.pending.is_empty();
                prop_assert!(is_empty, "the first process has it all");
            }
        }
    }
}

#[test]
fn ties_at_one_time_have_one_order() {
    // Without spread, all events of a generation have the same time.
    let model = Phold {
        lps: 7,
        population: 5,
        lookahead: Time(10),
        spread: Time(0),
        remote: 65_536,
        records: true,
        tallies: false,
    };
    let settings = |executor, threads| settings(executor, 7, threads, Time(5_000), 3);
    let (reference, _) = outcome(&model, &settings(Executor::Sequential, 1));
    assert!(reference.committed > 15_000);
    for (executor, threads) in executors() {
        assert_eq!(reference, outcome(&model, &settings(executor, threads)).0);
    }
}

/// A lookahead of 1 ps and rare reads of the mailbox make stragglers frequent.
#[test]
fn thousands_of_rollbacks_leave_no_trace() {
    let model = Phold {
        lps: 16,
        population: 4,
        lookahead: Time(1),
        spread: Time(2_000),
        remote: 30_000,
        records: true,
        tallies: false,
    };
    let settings = |executor, threads| settings(executor, 16, threads, Time(400_000), 5);
    let (reference, _) = outcome(&model, &settings(Executor::Sequential, 1));
    for threads in 2..=4 {
        let optimism = Optimism {
            batch: 100,
            gvt_interval: 20,
            ahead: Some(Time::MAX),
            ..Optimism::default()
        };
        let settings = Settings {
            optimism,
            ..settings(Executor::Optimistic, threads)
        };
        let (other, statistics) = outcome(&model, &settings);
        assert_eq!(reference, other);
        assert!(
            statistics.primary_rollbacks > 0
                && statistics.secondary_rollbacks > 1_000
                && statistics.anti_messages > 1_000,
            "{statistics:?}"
        );
        assert!(
            statistics.rollbacks.iter().all(|count| *count > 10),
            "{statistics:?}"
        );
    }
}

/// One part has no event that could be late, so it executes windows and undoes nothing.
#[test]
fn one_part_executes_windows_optimistically_without_history() {
    let model = Phold {
        lps: 40,
        population: 8,
        lookahead: Time(100),
        spread: Time(2_000),
        remote: 30_000,
        records: true,
        tallies: false,
    };
    let run = |executor, threads| outcome(&model, &settings(executor, 40, threads, Time(50_000), 9));
    let (reference, conservative) = run(Executor::Conservative, 1);
    let (one, statistics) = run(Executor::Optimistic, 1);
    assert_eq!(reference, one);
    assert!(conservative.windows > 400, "{conservative:?}");
    let without_times = |statistics: &EngineStatistics| EngineStatistics {
        threads: Vec::new(),
        ..statistics.clone()
    };
    assert_eq!(without_times(&statistics), without_times(&conservative));
    assert_eq!((statistics.rolled_back, statistics.gvt_rounds), (0, 0));
    assert!(statistics.rollbacks.is_empty(), "no LP has a history");
    let (two, statistics) = run(Executor::Optimistic, 2);
    assert_eq!(reference, two);
    assert!(statistics.gvt_rounds > 0 && statistics.rollbacks.len() == 40);
}

/// A run that changes its number of threads has the result of one that does not, and says what it used.
#[test]
fn threads_change_in_the_middle_of_a_run() {
    let model = Phold {
        lps: 40,
        population: 8,
        lookahead: Time(100),
        spread: Time(2_000),
        remote: 30_000,
        records: true,
        tallies: false,
    };
    let settings = |executor, threads| settings(executor, 40, threads, Time(50_000), 9);
    let (reference, one) = outcome(&model, &settings(Executor::Conservative, 1));
    assert!(one.gears.is_empty(), "one thread never changes");
    for executor in [Executor::Conservative, Executor::Optimistic] {
        let (other, statistics) = outcome(&model, &settings(executor, 5));
        assert!(reference == other, "{}", executor.name());
        assert!(
            statistics.gears.is_empty(),
            "only `auto` changes at the pace of events"
        );
        let changing = Settings {
            pace: Pace::Threads(97),
            ..settings(executor, 5)
        };
        let (other, statistics) = outcome(&model, &changing);
        assert!(reference == other, "{}", executor.name());
        let gears: Vec<_> = statistics.gears.iter().map(|g| (g.executor, g.threads)).collect();
        assert_eq!(gears, [5, 2, 1].map(|threads| (executor, threads)));
        let events: u64 = statistics.gears.iter().map(|gear| gear.events).sum();
        assert_eq!(events, reference.committed);
        assert!(
            statistics.gears.iter().all(|gear| gear.events > 97),
            "{statistics:?}"
        );
        assert_eq!(statistics.threads.len(), 5);
    }
}

/// Where windows are long, a round of GVT ends with its certain window. Where they are short it has many windows.
#[test]
fn rounds_of_gvt_are_as_long_as_they_are_worth() {
    let rounds_over_windows = |lps| {
        let model = Phold {
            lps,
            population: 8,
            lookahead: Time(100),
            spread: Time(2_000),
            remote: 30_000,
            records: true,
            tallies: false,
        };
        let settings = |executor, threads| settings(executor, lps, threads, Time(50_000), 9);
        let (reference, conservative) = outcome(&model, &settings(Executor::Conservative, 1));
        // A process of one thread has no other thread to wait for after its arrival, so it speculates before it or not
        // at all.
        let optimistic = settings(Executor::Optimistic, 2);
        let outcomes = ThreadProcess::run(2, |process| outcome_in(process, &model, &optimistic));
        let (other, statistics) = &outcomes[0];
        assert_eq!(&reference, other);
        statistics.gvt_rounds as f64 / conservative.windows as f64
    };
    let [short, long] = [40, 1_600].map(rounds_over_windows);
    assert!(short < 0.4 && (0.9..1.1).contains(&long), "{short} {long}");
}

/// LPs whose events stay with them. The last LP has none.
#[derive(Default)]
struct Uneven {
    /// Events with undo steps.
    reversible: AtomicU64,
}

impl Uneven {
    const LPS: u32 = 5;
}

impl Model for Uneven {
    type Payload = ();
    type Lp = u64;
    type Record = ();
    type Undo = ();
    type Error = ();
    type Tally = ();
    fn lps(&self) -> u32 {
        Uneven::LPS
    }
    fn lookahead(&self) -> Time {
        Time(10)
    }
    fn tally(&self) {}
    fn create(&self, _: LpId) -> u64 {
        0
    }
    fn start(&self, _: &mut u64, context: &mut impl Context<Self>) {
        if context.lp().0 < Uneven::LPS - 1 {
            context.send(context.lp(), Time(1), ());
        }
    }
    fn handle(&self, seen: &mut u64, _: &Event<()>, context: &mut impl Context<Self>) {
        *seen += 1;
        if reversible(context) {
            self.reversible.fetch_add(1, Relaxed);
            context.undo(());
        }
        context.send(context.lp(), Time(10), ());
    }
    fn undo(&self, seen: &mut u64, (): ()) {
        *seen -= 1;
    }
    fn save(&self, seen: &u64, bytes: &mut Vec<u8>) {
        bytes.extend(seen.to_le_bytes());
    }
    fn restore(&self, _: &mut u64, _: &[u8], _: Purpose) -> Result<(), String> {
        unreachable!("nothing is restored")
    }
}

/// Whether the current event may be undone.
fn reversible<C: Context<M>, M: Model>(_: &C) -> bool {
    C::REVERSIBLE
}

/// What a thread executes before anything of the others is certain, and needs no history.
#[test]
fn a_thread_with_all_of_the_work_needs_no_history() {
    let model = Uneven::default();
    let last = Uneven::LPS - 1;
    let partition = Partition::balanced(Uneven::LPS, 2, |lp| if lp.0 == last { 4 } else { 1 });
    assert_eq!([last - 1, last].map(|lp| partition.owner(LpId(lp))), [0, 1]);
    let settings = Settings {
        partition,
        ..settings(Executor::Optimistic, Uneven::LPS, 2, Time(1_000_000), 1)
    };
    let finished = run(&model, &settings, &Control::default(), &mut |_, ()| ());
    assert_eq!(
        finished.lps.iter().copied().collect::<Vec<_>>(),
        [100_000, 100_000, 100_000, 100_000, 0]
    );
    // It speculates while it waits for the other thread at the end of a round, which depends on the machine. But all of
    // the round is certain, not only its first window of four events.
    let statistics = finished.statistics;
    let certain = statistics.committed - model.reversible.load(Relaxed);
    let optimism = Optimism::default();
    let of_round = u64::from(optimism.batch) * u64::from(optimism.gvt_interval);
    let rounds = statistics.gvt_rounds.saturating_sub(3);
    assert!(
        certain >= rounds * of_round,
        "{certain} events in {rounds} rounds"
    );
}

/// Keeps all records and one snapshot.
struct Keeper {
    records: Vec<(Time, (u32, u64))>,
    /// Time from which it wants a snapshot, until it has one.
    wanted: Time,
    snapshot: Option<(Snapshot<u64>, usize)>,
}

impl Observer<Phold> for Keeper {
    fn commit(&mut self, time: Time, record: (u32, u64)) {
        self.records.push((time, record));
    }
    fn wants_snapshot(&mut self, now: Time) -> bool {
        self.snapshot.is_none() && now >= self.wanted
    }
    fn snapshot(&mut self, snapshot: Snapshot<u64>) {
        assert!(self.records.iter().all(|(time, _)| *time < snapshot.time));
        self.snapshot = Some((snapshot, self.records.len()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// A run that is continued from a snapshot on another executor has the same end.
    #[test]
    fn a_snapshot_continues_anywhere(
        lps in 1u32..20,
        lookahead in 1u64..2_000,
        remote in 0u64..65_536,
        seed: u64,
        wanted in 0u64..40_000,
        from in 0..EXECUTORS.len(),
    ) {
        let model = Phold {
            lps,
            population: 3,
            lookahead: Time(lookahead),
            spread: Time(3_000),
            remote,
            records: true,
            tallies: false,
        };
        let (executor, threads) = EXECUTORS[from];
        let until = Time(60_000);
        let (reference, _) = outcome(&model, &settings(Executor::Sequential, lps, 1, until, seed));
        let mut keeper = Keeper { records: Vec::new(), wanted: Time(wanted), snapshot: None };
        let first = Run {
            model: &model,
            settings: &Settings {
                optimism: Optimism { batch: 3, gvt_interval: 2, ..Optimism::default() },
                ..settings(executor, lps, threads, until, seed)
            },
            control: &Control::default(),
            processes: &SingleProcess,
            from: None,
        };
        let finished = first.execute(&mut keeper).unwrap();
        prop_assert_eq!(&balls(&finished), &reference.balls, "a snapshot does not disturb the run");
        prop_assert_eq!(&keeper.records, &reference.records);
        // The sequential executor checks only every few thousand events.
        let Some((snapshot, committed)) = keeper.snapshot else {
            return Ok(());
        };
        prop_assert!(snapshot.time < until && snapshot.pending.iter().all(|e| e.time >= snapshot.time));
        for (executor, threads) in executors() {
            let mut records = keeper.records[..committed].to_vec();
            let rest = Run {
                model: &model,
                settings: &settings(executor, lps, threads, until, seed),
                control: &Control::default(),
                processes: &SingleProcess,
                from: Some(&snapshot),
            };
            let finished = rest.execute(&mut |time, record| records.push((time, record))).unwrap();
            // Records at or after the snapshot's time are emitted again.
            prop_assert_eq!(&records, &reference.records, "{:?} with {} threads", executor, threads);
            prop_assert_eq!(&balls(&finished), &reference.balls);
            prop_assert_eq!((&finished.end, finished.time), (&reference.end, reference.time));
        }
        for (executor, processes, threads) in DISTRIBUTED {
            let settings = Settings {
                optimism: Optimism { batch: 100, ahead: Some(Time::MAX), ..Optimism::default() },
                ..settings(executor, lps, processes * threads, until, seed)
            };
            let ends = ThreadProcess::run(processes, |process| {
                let mut records = keeper.records[..committed].to_vec();
                let rest = Run {
                    model: &model,
                    settings: &settings,
                    control: &Control::default(),
                    processes: process,
                    from: Some(&snapshot),
                };
                let finished = rest.execute(&mut |time, record| records.push((time, record))).unwrap();
                (finished, records)
            });
            let (finished, records) = &ends[0];
            prop_assert_eq!(records, &reference.records, "{:?} in {} processes", executor, processes);
            prop_assert_eq!(&balls(finished), &reference.balls);
            prop_assert_eq!((&finished.end, finished.time), (&reference.end, reference.time));
        }
    }
}

/// Sums what is tallied, and wants a snapshot whenever it can have one.
struct Adder {
    tallied: u64,
    snapshots: Vec<(Snapshot<u64>, u64)>,
}

impl Observer<Phold> for Adder {
    fn commit(&mut self, _: Time, (lp, count): (u32, u64)) {
        assert_eq!(lp, TALLIED);
        self.tallied += count;
    }
    fn wants_snapshot(&mut self, now: Time) -> bool {
        now > Time::ZERO && self.snapshots.len() < 3
    }
    fn snapshot(&mut self, snapshot: Snapshot<u64>) {
        self.snapshots.push((snapshot, self.tallied));
    }
}

/// Each event is tallied once, before a snapshot or after it, on all threads of all processes.
#[test]
fn tallies_are_complete_at_snapshots_and_at_the_end() {
    let model = Phold {
        lps: 12,
        population: 40,
        lookahead: Time(500),
        spread: Time(3_000),
        remote: 40_000,
        records: false,
        tallies: true,
    };
    let until = Time(60_000);
    let execute = |executor, processes: &dyn Processes, threads, from: Option<&Snapshot<u64>>| {
        let mut adder = Adder {
            tallied: 0,
            snapshots: Vec::new(),
        };
        let settings = settings(executor, model.lps, processes.count() * threads, until, 7);
        let run = Run {
            model: &model,
            settings: &settings,
            control: &Control::default(),
            processes,
            from,
        };
        let finished = run.execute(&mut adder).expect("the snapshot is one of the model");
        (adder, finished.statistics.committed)
    };
    for (executor, threads) in [
        (Executor::Sequential, 1),
        (Executor::Conservative, 1),
        (Executor::Conservative, 3),
        (Executor::Optimistic, 1),
        (Executor::Optimistic, 3),
    ] {
        let (adder, events) = execute(executor, &SingleProcess, threads, None);
        assert!(
            events > 8_192,
            "the sequential executor looks for snapshots every 4096 events"
        );
        assert_eq!(adder.tallied, events);
        assert_eq!(adder.snapshots.len(), 3);
        for (snapshot, before) in &adder.snapshots {
            let (rest, after) = execute(executor, &SingleProcess, threads, Some(snapshot));
            assert_eq!((rest.tallied, before + after), (after, events));
        }
    }
    for executor in [Executor::Conservative, Executor::Optimistic] {
        let ends = ThreadProcess::run(2, |process| execute(executor, process, 2, None));
        let (adder, events) = &ends[0];
        assert_eq!(adder.tallied, *events);
        assert!(ends[1].0.tallied == 0, "the first process receives all records");
    }
    let (adder, events) = execute(Executor::ReverseCheck, &SingleProcess, 1, None);
    assert_eq!(
        adder.tallied, events,
        "each event is executed twice and tallied once"
    );
}

#[test]
fn a_snapshot_of_another_model_is_refused() {
    let phold = |lps| Phold {
        lps,
        population: 3,
        lookahead: Time(10),
        spread: Time(100),
        remote: 30_000,
        records: true,
        tallies: false,
    };
    let mut keeper = Keeper {
        records: Vec::new(),
        wanted: Time(0),
        snapshot: None,
    };
    let execute = |lps, from, observer: &mut dyn Observer<Phold>| {
        let run = Run {
            model: &phold(lps),
            settings: &settings(Executor::Conservative, lps, 2, Time(10_000), 1),
            control: &Control::default(),
            processes: &SingleProcess,
            from,
        };
        run.execute(observer).map(|finished| finished.time)
    };
    execute(5, None, &mut keeper).unwrap();
    let (snapshot, _) = keeper.snapshot.take().unwrap();
    let mut ignore = |_, _| ();
    let why = execute(6, Some(&snapshot), &mut ignore).unwrap_err();
    assert_eq!(why, "it has 5 logical processes, the model has 6");
    let bytes = postcard::to_stdvec(&snapshot).unwrap();
    let again = postcard::from_bytes(&bytes).unwrap();
    assert_eq!(execute(5, Some(&again), &mut ignore), Ok(Time(10_000)));
}

/// Any thread may detect the error, and all threads stop.
#[test]
fn a_snapshot_that_cannot_be_restored_is_refused_everywhere() {
    // The LPs of a chain have 8 bytes each.
    struct First(Option<Snapshot<u64>>);
    impl Observer<Chain> for First {
        fn commit(&mut self, _: Time, _: u64) {}
        fn wants_snapshot(&mut self, _: Time) -> bool {
            self.0.is_none()
        }
        fn snapshot(&mut self, snapshot: Snapshot<u64>) {
            self.0 = Some(snapshot);
        }
    }
    let chain = Chain {
        length: 50,
        stop_at: u64::MAX,
        fail_at: u64::MAX,
    };
    let mut first = First(None);
    let run = Run {
        model: &chain,
        settings: &settings(Executor::Conservative, 4, 1, Time::MAX, 1),
        control: &Control::default(),
        processes: &SingleProcess,
        from: None,
    };
    run.execute(&mut first).unwrap();
    let phold = Phold {
        lps: 4,
        population: 3,
        lookahead: Time(10),
        spread: Time(100),
        remote: 30_000,
        records: true,
        tallies: false,
    };
    for (executor, threads) in executors() {
        let run = Run {
            model: &phold,
            settings: &settings(executor, 4, threads, Time(10_000), 1),
            control: &Control::default(),
            processes: &SingleProcess,
            from: first.0.as_ref(),
        };
        let why = run.execute(&mut |_, _| ()).err().expect("it is refused");
        assert!(why.contains("a ball has 16 bytes"), "{executor:?}: {why}");
    }
}

/// The reverse check detects a model whose undo is incomplete.
#[test]
fn the_reverse_check_finds_a_wrong_undo() {
    struct Forgetful;
    impl Model for Forgetful {
        type Payload = ();
        type Lp = [u64; 2];
        type Record = ();
        type Undo = ();
        type Error = ();
        type Tally = ();
        fn lps(&self) -> u32 {
            1
        }
        fn lookahead(&self) -> Time {
            Time(10)
        }
        fn tally(&self) {}
        fn create(&self, _: LpId) -> [u64; 2] {
            [0; 2]
        }
        fn start(&self, _: &mut [u64; 2], context: &mut impl Context<Self>) {
            context.send(context.lp(), Time(5), ());
        }
        fn handle(&self, lp: &mut [u64; 2], _: &Event<()>, context: &mut impl Context<Self>) {
            *lp = lp.map(|count| count + 1);
            context.undo(());
        }
        fn undo(&self, lp: &mut [u64; 2], (): ()) {
            lp[0] -= 1;
        }
        fn save(&self, lp: &[u64; 2], bytes: &mut Vec<u8>) {
            lp.iter().for_each(|count| bytes.extend(count.to_le_bytes()));
        }
        fn restore(&self, _: &mut [u64; 2], _: &[u8], _: Purpose) -> Result<(), String> {
            unreachable!("nothing is restored")
        }
    }
    let settings = settings(Executor::ReverseCheck, 1, 1, Time::MAX, 1);
    let RunEnd::Irreversible(what) = run(&Forgetful, &settings, &Control::default(), &mut |_, ()| ()).end
    else {
        panic!("it is not found")
    };
    assert!(what.contains("byte 8 of the saved state"), "{what}");
}

/// A chain of events that ends in a stop, in a failure, or without events.
struct Chain {
    length: u64,
    stop_at: u64,
    fail_at: u64,
}

impl Model for Chain {
    type Payload = u64;
    type Lp = u64;
    type Record = u64;
    type Undo = ();
    type Error = String;
    type Tally = ();
    fn lps(&self) -> u32 {
        4
    }
    fn lookahead(&self) -> Time {
        Time(100)
    }
    fn tally(&self) {}
    fn create(&self, _: LpId) -> u64 {
        0
    }
    fn start(&self, _: &mut u64, context: &mut impl Context<Self>) {
        context.send(context.lp(), Time(0), 0);
    }
    fn handle(&self, seen: &mut u64, event: &Event<u64>, context: &mut impl Context<Self>) {
        *seen += 1;
        context.undo(());
        context.emit(event.payload);
        if event.payload == self.stop_at && context.lp().0 == 2 {
            context.stop();
        }
        if event.payload == self.fail_at && context.lp().0 != 0 {
            context.fail(format!("LP {} failed", context.lp().0));
        }
        if event.payload < self.length {
            context.send(context.lp(), Time(30), event.payload + 1);
        }
    }
    fn undo(&self, seen: &mut u64, (): ()) {
        *seen -= 1;
    }
    fn save(&self, seen: &u64, bytes: &mut Vec<u8>) {
        bytes.extend(seen.to_le_bytes());
    }
    fn restore(&self, seen: &mut u64, bytes: &[u8], _: Purpose) -> Result<(), String> {
        *seen = u64::from_le_bytes(bytes.try_into().map_err(|_| "8 bytes")?);
        Ok(())
    }
}

fn chain(model: &Chain, executor: Executor, threads: usize) -> (RunEnd<String>, Time, Vec<u64>, usize) {
    let settings = settings(executor, 4, threads, Time::MAX, 1);
    let mut records = 0;
    let finished = run(model, &settings, &Control::default(), &mut |_, _| records += 1);
    (
        finished.end,
        finished.time,
        finished.lps.iter().copied().collect(),
        records,
    )
}

#[test]
fn a_stop_takes_effect_one_lookahead_later_everywhere() {
    let model = Chain {
        length: 1_000,
        stop_at: 7,
        fail_at: u64::MAX,
    };
    for (executor, threads) in executors() {
        // The event at 210 ps stops the run at 310 ps: 0, 30, ..., 300 execute on every LP.
        assert_eq!(
            chain(&model, executor, threads),
            (RunEnd::Stopped, Time(310), vec![11; 4], 44)
        );
    }
}

#[test]
fn an_empty_queue_ends_the_run() {
    let model = Chain {
        length: 5,
        stop_at: u64::MAX,
        fail_at: u64::MAX,
    };
    for (executor, threads) in executors() {
        assert_eq!(
            chain(&model, executor, threads),
            (RunEnd::Drained, Time(150), vec![6; 4], 24)
        );
    }
}

#[test]
fn the_first_failure_in_the_total_order_counts() {
    let model = Chain {
        length: 50,
        stop_at: u64::MAX,
        fail_at: 3,
    };
    for (executor, threads) in executors() {
        assert_eq!(
            chain(&model, executor, threads).0,
            RunEnd::Failed("LP 1 failed".into())
        );
    }
}

/// All LPs except the first fail at the same time, so every process has failures. The first failure in the total
/// order counts: its process reports the error, and the others report that another process has it.
#[test]
fn a_failure_in_one_process_ends_the_others() {
    let model = Chain {
        length: 50,
        stop_at: u64::MAX,
        fail_at: 3,
    };
    for (executor, processes, threads) in DISTRIBUTED {
        let settings = settings(executor, 4, processes * threads, Time::MAX, 1);
        for bounds in [
            None,
            Some(vec![0, 1, 4]),
            Some(vec![0, 4, 4]),
            Some(vec![0, 0, 4]),
        ] {
            let mut settings = settings.clone();
            if let Some(bounds) = bounds {
                if processes * threads != 2 {
                    continue;
                }
                settings.partition = Partition::new(bounds);
            }
            let owner = settings.partition.owner(LpId(1)) / threads;
            let ends = ThreadProcess::run(processes, |process| {
                let run = Run {
                    model: &model,
                    settings: &settings,
                    control: &Control::default(),
                    processes: process,
                    from: None,
                };
                run.execute(&mut |_, _| ()).unwrap().end
            });
            for (process, end) in ends.into_iter().enumerate() {
                let expected = if process == owner {
                    RunEnd::Failed("LP 1 failed".to_string())
                } else {
                    RunEnd::FailedElsewhere
                };
                assert_eq!(end, expected, "process {process} with {settings:?}");
            }
        }
    }
}

/// Panics at an event of one LP.
struct Bomb;

impl Bomb {
    const LPS: u32 = 8;
}

impl Model for Bomb {
    type Payload = u64;
    type Lp = u64;
    type Record = ();
    type Undo = ();
    type Error = ();
    type Tally = ();
    fn lps(&self) -> u32 {
        Bomb::LPS
    }
    fn lookahead(&self) -> Time {
        Time(10)
    }
    fn tally(&self) {}
    fn create(&self, _: LpId) -> u64 {
        0
    }
    fn start(&self, _: &mut u64, context: &mut impl Context<Self>) {
        context.send(context.lp(), Time(1), 0);
    }
    fn handle(&self, seen: &mut u64, event: &Event<u64>, context: &mut impl Context<Self>) {
        assert!(
            event.payload < 200 || context.lp().0 + 1 < Bomb::LPS,
            "the bomb goes off"
        );
        *seen += 1;
        context.undo(());
        let next = LpId((context.lp().0 + 1) % Bomb::LPS);
        context.send(next, Time(10), event.payload + 1);
    }
    fn undo(&self, seen: &mut u64, (): ()) {
        *seen -= 1;
    }
    fn save(&self, seen: &u64, bytes: &mut Vec<u8>) {
        bytes.extend(seen.to_le_bytes());
    }
    fn restore(&self, _: &mut u64, _: &[u8], _: Purpose) -> Result<(), String> {
        unreachable!("nothing is restored")
    }
}

/// A panic in one process makes all threads of all processes panic, and none waits forever.
#[test]
fn a_panic_in_one_process_ends_the_others() {
    for (executor, processes, threads) in DISTRIBUTED {
        let settings = settings(executor, Bomb::LPS, processes * threads, Time::MAX, 1);
        let panics = std::thread::scope(|scope| {
            let started: Vec<_> = ThreadProcess::new(processes)
                .into_iter()
                .map(|process| {
                    let settings = &settings;
                    scope.spawn(move || {
                        let run = Run {
                            model: &Bomb,
                            settings,
                            control: &Control::default(),
                            processes: &process,
                            from: None,
                        };
                        run.execute(&mut |_, ()| ()).map(|finished| finished.time)
                    })
                })
                .collect();
            started
                .into_iter()
                .map(|thread| thread.join().is_err())
                .collect::<Vec<_>>()
        });
        assert_eq!(panics, vec![true; processes], "{settings:?}");
    }
}

#[test]
fn an_interrupted_run_says_so() {
    let model = Chain {
        length: u64::MAX,
        stop_at: u64::MAX,
        fail_at: u64::MAX,
    };
    for (executor, threads) in executors() {
        let control = Control::default();
        let settings = settings(executor, 4, threads, Time::MAX, 1);
        let finished = std::thread::scope(|scope| {
            let run = scope.spawn(|| run(&model, &settings, &control, &mut |_, _| ()).end);
            std::thread::sleep(std::time::Duration::from_millis(20));
            control.interrupt();
            run.join().unwrap()
        });
        assert_eq!(finished, RunEnd::Interrupted);
    }
}

#[test]
#[should_panic(expected = "less than")]
fn an_event_into_the_past_is_a_bug_of_the_model() {
    struct Hasty;
    impl Model for Hasty {
        type Payload = ();
        type Lp = ();
        type Record = ();
        type Undo = ();
        type Error = ();
        type Tally = ();
        fn lps(&self) -> u32 {
            2
        }
        fn lookahead(&self) -> Time {
            Time(10)
        }
        fn tally(&self) {}
        fn create(&self, _: LpId) {}
        fn start(&self, (): &mut (), context: &mut impl Context<Self>) {
            context.send(context.lp(), Time(0), ());
        }
        fn handle(&self, (): &mut (), _: &Event<()>, context: &mut impl Context<Self>) {
            context.send(LpId(1 - context.lp().0), Time(9), ());
        }
        fn undo(&self, (): &mut (), (): ()) {}
        fn save(&self, (): &(), _: &mut Vec<u8>) {}
        fn restore(&self, (): &mut (), _: &[u8], _: Purpose) -> Result<(), String> {
            Ok(())
        }
    }
    let settings = settings(Executor::Conservative, 2, 2, Time::MAX, 1);
    run(&Hasty, &settings, &Control::default(), &mut |_, ()| ());
}
