//! All executors give the same result for PHOLD, whatever the number of threads.

use des::{Context, Control, End, Event, Executor, LpId, Model, Partition, Settings, Time, run};
use fabricsim_testkit::phold::{Ball, Phold};
use proptest::prelude::*;

/// Everything that must not depend on the executor.
#[derive(Debug, PartialEq)]
struct Outcome {
    balls: Vec<Ball>,
    records: Vec<(Time, (u32, u64))>,
    end: End<String>,
    time: Time,
    processed: u64,
    pending: Vec<(Time, u32, u32, u32, u64)>,
}

fn outcome(model: &Phold, executor: Executor, threads: usize, until: Time, seed: u64) -> Outcome {
    let settings = Settings {
        executor,
        partition: Partition::balanced(model.lps, threads, |_| 1),
        seed,
        until,
    };
    let mut records = Vec::new();
    let finished = run(model, &settings, &Control::default(), &mut |time, record| {
        records.push((time, record))
    });
    let mut pending: Vec<_> = finished
        .pending
        .iter()
        .map(|e| (e.time, e.source.0, e.sequence, e.target.0, e.payload))
        .collect();
    pending.sort();
    Outcome {
        balls: finished.lps,
        records,
        end: finished.end,
        time: finished.time,
        processed: finished.anatomy.processed,
        pending,
    }
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
    ) {
        let model = Phold { lps, population, lookahead: Time(lookahead), spread: Time(spread), remote, records: true };
        let reference = outcome(&model, Executor::Sequential, 1, Time(until), seed);
        prop_assert!(reference.records.is_sorted_by_key(|r| r.0));
        for threads in 1..=3 {
            prop_assert_eq!(&reference, &outcome(&model, Executor::Conservative, threads, Time(until), seed));
        }
    }
}

#[test]
fn ties_at_one_time_have_one_order() {
    // No spread: all events of a generation share a time stamp.
    let model = Phold {
        lps: 7,
        population: 5,
        lookahead: Time(10),
        spread: Time(0),
        remote: 65_536,
        records: true,
    };
    let reference = outcome(&model, Executor::Sequential, 1, Time(5_000), 3);
    assert!(reference.processed > 15_000);
    for threads in 1..=4 {
        assert_eq!(
            reference,
            outcome(&model, Executor::Conservative, threads, Time(5_000), 3)
        );
    }
}

/// A chain of events that ends in a stop, in a failure, or by itself.
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
    fn lps(&self) -> u32 {
        4
    }
    fn lookahead(&self) -> Time {
        Time(100)
    }
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
    fn restore(&self, seen: &mut u64, bytes: &[u8]) -> Result<(), String> {
        *seen = u64::from_le_bytes(bytes.try_into().map_err(|_| "8 bytes")?);
        Ok(())
    }
}

fn chain(model: &Chain, executor: Executor, threads: usize) -> (End<String>, Time, Vec<u64>, usize) {
    let settings = Settings {
        executor,
        partition: Partition::balanced(4, threads, |_| 1),
        seed: 1,
        until: Time::MAX,
    };
    let mut records = 0;
    let finished = run(model, &settings, &Control::default(), &mut |_, _| records += 1);
    (finished.end, finished.time, finished.lps, records)
}

#[test]
fn a_stop_takes_effect_one_lookahead_later_everywhere() {
    let model = Chain {
        length: 1_000,
        stop_at: 7,
        fail_at: u64::MAX,
    };
    for (executor, threads) in [
        (Executor::Sequential, 1),
        (Executor::Conservative, 1),
        (Executor::Conservative, 3),
    ] {
        // The event of 210 ps stops at 310 ps: 0, 30, ..., 300 are carried out on every LP.
        assert_eq!(
            chain(&model, executor, threads),
            (End::Stopped, Time(310), vec![11; 4], 44)
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
    for (executor, threads) in [
        (Executor::Sequential, 1),
        (Executor::Conservative, 1),
        (Executor::Conservative, 3),
    ] {
        assert_eq!(
            chain(&model, executor, threads),
            (End::Drained, Time(150), vec![6; 4], 24)
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
    for (executor, threads) in [
        (Executor::Sequential, 1),
        (Executor::Conservative, 1),
        (Executor::Conservative, 4),
    ] {
        assert_eq!(
            chain(&model, executor, threads).0,
            End::Failed("LP 1 failed".into())
        );
    }
}

#[test]
fn an_interrupted_run_says_so() {
    let model = Chain {
        length: u64::MAX,
        stop_at: u64::MAX,
        fail_at: u64::MAX,
    };
    for (executor, threads) in [(Executor::Sequential, 1), (Executor::Conservative, 2)] {
        let control = Control::default();
        let settings = Settings {
            executor,
            partition: Partition::balanced(4, threads, |_| 1),
            seed: 1,
            until: Time::MAX,
        };
        let finished = std::thread::scope(|scope| {
            let run = scope.spawn(|| run(&model, &settings, &control, &mut |_, _| ()).end);
            std::thread::sleep(std::time::Duration::from_millis(20));
            control.interrupt();
            run.join().unwrap()
        });
        assert_eq!(finished, End::Interrupted);
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
        fn lps(&self) -> u32 {
            2
        }
        fn lookahead(&self) -> Time {
            Time(10)
        }
        fn create(&self, _: LpId) {}
        fn start(&self, (): &mut (), context: &mut impl Context<Self>) {
            context.send(context.lp(), Time(0), ());
        }
        fn handle(&self, (): &mut (), _: &Event<()>, context: &mut impl Context<Self>) {
            context.send(LpId(1 - context.lp().0), Time(9), ());
        }
        fn undo(&self, (): &mut (), (): ()) {}
        fn save(&self, (): &(), _: &mut Vec<u8>) {}
        fn restore(&self, (): &mut (), _: &[u8]) -> Result<(), String> {
            Ok(())
        }
    }
    let settings = Settings {
        executor: Executor::Conservative,
        partition: Partition::balanced(2, 2, |_| 1),
        seed: 1,
        until: Time::MAX,
    };
    run(&Hasty, &settings, &Control::default(), &mut |_, ()| ());
}
