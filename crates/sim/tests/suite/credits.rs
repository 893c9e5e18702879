//! Credit batching changes no result. A run that could change restarts with single credits.

use des::{Executor, Time};
use experiment::{CreditSetting, Experiment};
use proptest::prelude::*;
use results::RunResult;
use sim::{RunContext, RunControl, run_in};

use crate::support::{assert_same, experiment, run, run_everywhere, run_together};

/// An experiment that collects nothing whose rows follow the order of events.
fn on(topology: &str, routing: &str, traffic: &str, buffer: &str) -> Experiment {
    experiment(&format!(
        "[network]\n\
         topology = {{ {topology} }}\n\
         routing = {{ {routing} }}\n\
         link = {{ bandwidth = \"100 Gbps\", latency = \"20 ns\" }}\n\
         router = {{ delay = \"20 ns\", buffer = \"{buffer}\" }}\n\
         packet = \"256 B\"\n\
         [[job]]\n\
         traffic = {{ {traffic} }}\n\
         [run]\n\
         until = \"6 us\"\n\
         warmup = \"1 us\"\n\
         [collect]\n\
         series = \"classes\"\n"
    ))
}

const DRAGONFLY: &str =
    "kind = \"dragonfly\", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2";
const MINIMAL: &str = "algorithm = \"minimal\"";
const UNIFORM: &str = "pattern = \"uniform\", load = 0.4";

/// The reference uses single credits on one thread.
fn each(experiment: &mut Experiment) -> RunResult {
    let setting = experiment.run.clone();
    experiment.run.credits = CreditSetting::Each;
    (experiment.run.executor, experiment.run.threads) = (Executor::Sequential, 1);
    let result = run(experiment);
    assert_eq!(result.summary.run.credits, "each");
    experiment.run = setting;
    result
}

#[test]
fn batches_change_nothing_but_the_number_of_events() {
    for (topology, routing) in [
        (DRAGONFLY, MINIMAL),
        (
            "kind = \"fat-tree\", levels = 2, radix = 8",
            "algorithm = \"scatter\"",
        ),
        (
            "kind = \"slim-fly\", q = 5, hosts_per_router = 3",
            "algorithm = \"valiant\"",
        ),
    ] {
        let mut experiment = on(topology, routing, UNIFORM, "64 KiB");
        let reference = each(&mut experiment);
        let result = run_everywhere(&mut experiment);
        assert_eq!(result.summary.run.credits, "batches", "{topology}");
        assert_same(&reference, &result, topology);
        let events = |result: &RunResult| result.summary.run.events_committed;
        assert!(
            events(&result) < events(&reference) * 3 / 4,
            "{topology}: {} of {} events",
            events(&result),
            events(&reference)
        );
    }
}

/// All processes agree that the first attempt is valid.
#[test]
fn several_processes_keep_the_first_attempt() {
    let mut experiment = on(DRAGONFLY, MINIMAL, UNIFORM, "64 KiB");
    for (executor, processes) in [
        (Executor::Conservative, 2),
        (Executor::Conservative, 3),
        (Executor::Optimistic, 2),
    ] {
        experiment.run.executor = executor;
        let result = run_together(&experiment, processes);
        let what = format!("{} in {processes} processes", executor.name());
        assert_eq!(result.summary.run.credits, "batches", "{what}");
    }
}

/// All hosts send to one host, so buffers fill up at once.
#[test]
fn a_run_that_finds_too_few_credits_begins_again() {
    let hot = "pattern = \"hotspot\", targets = [3], share = 0.5, load = 0.5";
    let mut experiment = on(DRAGONFLY, MINIMAL, hot, "16 KiB");
    let reference = each(&mut experiment);
    let full = reference.summary.network.packet_hops;
    assert!(full > 10_000, "{full} packet-hops");
    let result = run_everywhere(&mut experiment);
    assert_eq!(result.summary.run.credits, "each");
    assert_same(&reference, &result, "begun again");

    // The rows of the first attempt are gone.
    let folder = tempfile::tempdir().unwrap();
    let way = RunContext {
        parts: Some(&folder.path().into()),
        ..RunContext::default()
    };
    (experiment.run.executor, experiment.run.threads) = (Executor::Conservative, 2);
    let result = run_in(&experiment, &RunControl::new(), &way).unwrap().unwrap();
    assert_eq!(result.summary.digest, reference.summary.digest);
    assert_eq!(result.summary.collect, reference.summary.collect);
    let together = run_together(&experiment, 3);
    assert_eq!(together.summary.run.credits, "each");
    assert_same(&reference, &together, "three processes");
}

/// Observers of credits, or of the order of their events, get single credits.
#[test]
fn who_looks_at_credits_gets_each() {
    let credits = |experiment: &Experiment| run(experiment).summary.run.credits;
    let mut experiment = on(DRAGONFLY, MINIMAL, UNIFORM, "64 KiB");
    assert_eq!(credits(&experiment), "batches");
    assert_eq!(
        credits(&on(DRAGONFLY, "algorithm = \"ugal\"", UNIFORM, "64 KiB")),
        "each"
    );
    assert_eq!(credits(&on(DRAGONFLY, MINIMAL, UNIFORM, "4 KiB")), "each");
    // One class with small buffers is enough.
    let small = "algorithm = \"minimal\" }\nlinks = { global.buffer = \"4 KiB\"";
    assert_eq!(credits(&on(DRAGONFLY, small, UNIFORM, "64 KiB")), "each");
    for series in [experiment::Series::Links, experiment::Series::Vcs] {
        experiment.collect.set_series(series);
        assert_eq!(credits(&experiment), "each");
    }
}

/// Buffers of unequal size have batches of one size. Credits that take longer than packets are late in either case.
#[test]
fn batches_change_nothing_with_buffers_by_class_and_late_credits() {
    let by_class =
        "algorithm = \"minimal\" }\nlinks = { host.buffer = \"16 KiB\", global.buffer = \"200 KiB\"";
    for credit_delay in ["0 ns", "1 ps", "400 ns"] {
        let router = format!("32 KiB\", credit_delay = \"{credit_delay}");
        let mut experiment = on(DRAGONFLY, by_class, UNIFORM, &router);
        let reference = each(&mut experiment);
        let result = run_everywhere(&mut experiment);
        assert_eq!(result.summary.run.credits, "batches", "{credit_delay}");
        assert_same(&reference, &result, credit_delay);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn batches_change_nothing_at_any_load(
        load in 0.05f64..1.0,
        buffer_kib in 9u32..64,
        seed in 0u64..1000,
        mean in prop::sample::select(vec![256u32, 700, 4096]),
    ) {
        let traffic = format!("pattern = \"uniform\", load = {load}, message = \"{mean} B\"");
        let mut experiment = on(DRAGONFLY, MINIMAL, &traffic, &format!("{buffer_kib} KiB"));
        (experiment.run.seed, experiment.run.until) = (seed, Some(Time::from_ns(4000)));
        let reference = each(&mut experiment);
        (experiment.run.executor, experiment.run.threads) = (Executor::Conservative, 2);
        assert_same(&reference, &run(&experiment), "conservative");
        experiment.run.executor = Executor::Optimistic;
        assert_same(&reference, &run(&experiment), "optimistic");
    }
}
