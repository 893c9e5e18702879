//! Early commit and sending ahead change no result, only the number of events.

use des::{Executor, Time};
use experiment::{CreditSetting, Experiment, Series};
use proptest::prelude::*;
use results::RunResult;

use crate::support::{assert_same_simulation, experiment, run, run_everywhere};

fn on(network: &str, jobs: &[&str]) -> Experiment {
    let jobs: String = jobs.iter().map(|job| format!("[[job]]\n{job}\n")).collect();
    let mut experiment = experiment(&format!(
        "[network]\n\
         {network}\n\
         link = {{ bandwidth = \"100 Gbps\", latency = \"20 ns\" }}\n\
         packet = \"256 B\"\n\
         {jobs}\
         [run]\n\
         until = \"5 us\"\n\
         warmup = \"1 us\"\n"
    ));
    experiment.collect.set_series(Series::Off);
    experiment
}

/// A run without shortcuts: one thread, each credit by itself, and time series, which observe hosts.
fn in_its_time(experiment: &mut Experiment) -> RunResult {
    let before = experiment.run.clone();
    (experiment.run.executor, experiment.run.credits) = (Executor::Sequential, CreditSetting::Each);
    experiment.collect.set_series(Series::Links);
    let result = run(experiment);
    experiment.run = before;
    experiment.collect.set_series(Series::Off);
    result
}

const DRAGONFLY: &str = "topology = { kind = \"dragonfly\", hosts_per_router = 2, routers_per_group = 4, \
                         global_links_per_router = 2 }";
const SLIM_FLY: &str = "topology = { kind = \"slim-fly\", q = 5, hosts_per_router = 3 }";
const ROUTER: &str = "router = { delay = \"20 ns\", buffer = \"64 KiB\" }";

#[test]
fn nothing_changes_but_the_number_of_events() {
    let routed = |topology: &str, routing: &str| {
        format!("{topology}\nrouting = {{ algorithm = \"{routing}\" }}\n{ROUTER}")
    };
    let input_queued = format!(
        "{DRAGONFLY}\nrouting = {{ algorithm = \"minimal\" }}\n\
         router = {{ model = \"input-queued\", delay = \"20 ns\", buffer = \"64 KiB\" }}"
    );
    let output_queued = input_queued.replace("input-queued", "output-queued");
    // Packets wait for the link of a host behind the crossbar.
    let crossbar = input_queued.replace("input-queued", "crossbar");
    let speedup = input_queued.replace(
        "input-queued\"",
        "input-queued\", speedup = 2, output_buffer = \"2 KiB\"",
    );
    let rails = format!("{}\nrails = 2", routed(DRAGONFLY, "ugal"));
    let (minimal, ugal) = (routed(DRAGONFLY, "minimal"), routed(DRAGONFLY, "ugal"));
    let slim_fly = routed(SLIM_FLY, "minimal");
    let low = "traffic = { pattern = \"uniform\", load = 0.1 }";
    let high = "traffic = { pattern = \"uniform\", load = 0.8 }";
    let long = "traffic = { pattern = \"uniform\", load = 0.4, message = \"3 KiB\", arrival = \"fixed\" }";
    let bursts = "traffic = { pattern = \"uniform\", load = 0.3, arrival = \"on-off\" }";
    // Three ways to a router: 120 + 20 + 25, 20 + 0 and 20 + 90 ns.
    let by_class = format!(
        "{minimal}\nlinks = {{ host.router_delay = \"25 ns\", local.router_delay = \"0 ns\", \
         global.router_delay = \"90 ns\" }}\n\
         nic_injection_delay = \"120 ns\"\nnic_reception_delay = \"80 ns\""
    );
    let header = format!("{minimal}\npacket_header = \"40 B\"");
    let silent = "traffic = { pattern = \"transpose\", load = 0.3 }\nhosts = 16";
    // The least saving in percent.
    for (network, jobs, saved) in [
        (&minimal, &[low][..], 30),
        (&by_class, &[low], 30),
        (&header, &[low], 30),
        (&header, &[long], 5),
        (&slim_fly, &[low], 30),
        (&slim_fly, &[high], 30),
        (&ugal, &[high], 15),
        (&minimal, &[long], 5),
        (&minimal, &[bursts], 15),
        (&input_queued, &[low], 10),
        (&speedup, &[high], 3),
        (&output_queued, &[high], 30),
        (&crossbar, &[high], 3),
        (&ugal, &[low, long], 5),
        (&rails, &[low, long], 3),
        (&minimal, &[silent], 15),
    ] {
        let what = format!("{network}\n{jobs:?}");
        let mut experiment = on(network, jobs);
        let reference = in_its_time(&mut experiment);
        let hops = reference.summary.network.packet_hops;
        assert!(hops > 1000, "{what}: {hops} packet-hops");
        assert_same_simulation(&reference, &run_everywhere(&mut experiment), &what);
        experiment.run.executor = Executor::Conservative;
        let events = |result: &RunResult| result.summary.run.events_committed;
        let (less, all) = (events(&run(&experiment)), events(&reference));
        (experiment.run.executor, experiment.run.threads) = (Executor::Optimistic, 1);
        assert_eq!(
            events(&run(&experiment)),
            less,
            "{what}: one thread undoes nothing"
        );
        assert!(
            less * 100 <= all * (100 - saved),
            "{what}: {less} of {all} events"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]
    /// Packets are everywhere when the warm-up and the run end: in NICs, on links, between a router and its host.
    #[test]
    fn ends_cut_through_what_was_noted_ahead(
        load in 0.05f64..1.0,
        (warmup, measured) in (0u64..1_500_000, 1u64..2_000_000),
        seed in 0u64..1000,
        mean in prop::sample::select(vec![64u32, 256, 700]),
        arrival in prop::sample::select(vec!["exponential", "fixed", "bernoulli"]),
        routing in prop::sample::select(vec!["minimal", "ugal"]),
        threads in 1usize..3,
    ) {
        let network = format!("{DRAGONFLY}\nrouting = {{ algorithm = \"{routing}\" }}\n{ROUTER}");
        let traffic = format!(
            "traffic = {{ pattern = \"uniform\", load = {load}, message = \"{mean} B\", arrival = \"{arrival}\" }}"
        );
        let mut experiment = on(&network, &[&traffic]);
        experiment.run.seed = seed;
        (experiment.run.warmup, experiment.run.until) = (Time(warmup), Some(Time(warmup + measured)));
        let reference = in_its_time(&mut experiment);
        (experiment.run.executor, experiment.run.threads) = (Executor::Conservative, threads);
        assert_same_simulation(&reference, &run(&experiment), "conservative");
        experiment.run.executor = Executor::Optimistic;
        assert_same_simulation(&reference, &run(&experiment), "optimistic");
        experiment.run.executor = Executor::Sequential;
        assert_same_simulation(&reference, &run(&experiment), "sequential");
    }
}
