//! Series of link classes, pairs of blocks, loads and jobs are the same, bin by bin, whether workers tally them or LPs
//! are sampled, and equal to the sums over series of single links.

use des::Executor;
use experiment::{CreditSetting, Series};
use proptest::prelude::*;
use results::RunResult;

use crate::support::{assert_same_simulation, experiment, run, sum, table};

/// The tables of two results that sums go to are equal.
fn assert_same_series(one: &RunResult, other: &RunResult, what: &str) {
    for name in [
        "class_series",
        "job_series",
        "pair_series",
        "load_histogram_series",
        "router_load_series",
        "top_links",
    ] {
        assert_eq!(
            table(one, name).batch(),
            table(other, name).batch(),
            "{what}: {name}"
        );
    }
}

const DRAGONFLY: &str = "topology = { kind = \"dragonfly\", hosts_per_router = 2, routers_per_group = 4, \
                         global_links_per_router = 2 }";

/// Compares the series of an experiment that are tallied with those that are sampled.
fn compare(text: &str) -> RunResult {
    let mut experiment = experiment(text);
    experiment.collect.set_series(Series::Classes);
    experiment.run.executor = Executor::Sequential;
    let tallied = run(&experiment);
    for threads in [1, 3] {
        (experiment.run.executor, experiment.run.threads) = (Executor::Conservative, threads);
        let conservative = run(&experiment);
        assert_same_simulation(&tallied, &conservative, text);
        assert_same_series(&tallied, &conservative, text);
    }
    experiment.run.credits = CreditSetting::Each;
    assert_same_series(&tallied, &run(&experiment), text);
    (experiment.run.executor, experiment.run.threads) = (Executor::Optimistic, 2);
    let sampled = run(&experiment);
    assert_same_simulation(&tallied, &sampled, text);
    assert_same_series(&tallied, &sampled, text);
    experiment.collect.set_series(Series::Links);
    let links = run(&experiment);
    assert_same_series(&tallied, &links, text);
    for column in ["bytes", "packets", "busy_ps", "buffer_full_ps"] {
        let of_links = sum(table(&links, "link_series"), column);
        assert_eq!(
            sum(table(&tallied, "class_series"), column),
            of_links,
            "{text}: {column}"
        );
    }
    tallied
}

fn stalls(result: &RunResult) -> u64 {
    sum(table(result, "class_series"), "buffer_full_ps")
}

/// Traffic that fills buffers in each router model, with links of two speeds, rails and several jobs.
#[test]
fn tallies_equal_samples_with_all_router_models() {
    for (router, fills) in [
        ("model = \"packet\", buffer = \"2 KiB\"", true),
        ("model = \"input-queued\", buffer = \"2 KiB\"", true),
        (
            "model = \"input-queued\", buffer = \"2 KiB\", speedup = 1.5, output_buffer = \"1 KiB\"",
            true,
        ),
        ("model = \"output-queued\", buffer = \"2 KiB\"", true),
        ("model = \"crossbar\", buffer = \"2 KiB\"", true),
        (
            "model = \"crossbar\", arbiter = \"first-come\", buffer = \"2 KiB\", speedup = 1.5",
            true,
        ),
    ] {
        for rails in [1, 2] {
            let result = compare(&format!(
                "[network]\n{DRAGONFLY}\nrouting = {{ algorithm = \"minimal\" }}\nrouter = {{ {router} }}\n\
                 links = {{ global.bandwidth = \"40 Gbps\" }}\npacket = \"256 B\"\nrails = {rails}\n\
                 [[job]]\nname = \"a\"\nhosts = 20\ntraffic = {{ pattern = \"uniform\", load = 0.9 }}\n\
                 [[job]]\nname = \"b\"\ntraffic = {{ pattern = \"uniform\", load = 0.5, message = \"1 KiB\" }}\n\
                 [run]\nuntil = \"4321 ns\"\nwarmup = \"1 us\"\n[collect]\nbin = \"100 ns\"\n"
            ));
            assert_eq!(stalls(&result) > 0, fills, "{router}");
        }
    }
}

/// Acknowledgements of NICs take time on links, and are no packets of jobs.
#[test]
fn tallies_have_what_nics_send_themselves() {
    compare(&format!(
        "[network]\n{DRAGONFLY}\nrouting = {{ algorithm = \"minimal\" }}\nrouter = {{ buffer = \"2 KiB\" }}\n\
         nic = {{ congestion_control = \"pairs\", pair_window = \"1 KiB\", congestion_threshold = \"50 ns\" }}\n\
         packet = \"256 B\"\npacket_header = \"32 B\"\n\
         [[job]]\ntraffic = {{ pattern = \"incast\", targets = 3, load = 0.3, message = \"1 KiB\" }}\n\
         [run]\nuntil = \"4321 ns\"\nwarmup = \"1 us\"\n[collect]\nbin = \"100 ns\"\n"
    ));
}

/// Ranks that finish, end the traffic beside them, and leave packets on links.
#[test]
fn a_run_that_ranks_end_has_nothing_after_its_end() {
    for bin in ["\"auto\"", "\"7 ns\"", "\"1 us\""] {
        let result = compare(&format!(
            "[network]\n{DRAGONFLY}\nrouting = {{ algorithm = \"ugal\" }}\nrouter = {{ buffer = \"4 KiB\" }}\n\
             [[job]]\nworkload = {{ motif = \"all-to-all\", ranks = 12, bytes = \"3 KiB\", iterations = 2 }}\n\
             [[job]]\ntraffic = {{ pattern = \"uniform\", load = 0.7 }}\n\
             [run]\nuntil = \"1 ms\"\n[collect]\nbin = {bin}\n"
        ));
        let sent = sum(table(&result, "job_series"), "messages_sent");
        assert!(sent > 200, "{sent} messages");
    }
}

/// The last event ends the run, or a drain phase does.
#[test]
fn runs_that_end_with_their_last_event_have_the_same_series() {
    for rest in ["", "[run]\nuntil = \"1 ms\"\n[collect]\nbin = \"50 ns\"\n"] {
        compare(&format!(
            "[network]\n{DRAGONFLY}\nrouting = {{ algorithm = \"minimal\" }}\n\
             [[job]]\nworkload = {{ motif = \"halo3d-26\", ranks = 27, nx = 8, ny = 8, nz = 8, iterations = 2 }}\n\
             {rest}"
        ));
    }
    compare(&format!(
        "[network]\n{DRAGONFLY}\nrouting = {{ algorithm = \"ugal\" }}\n\
         [[job]]\ntraffic = {{ pattern = \"adversarial\", load = 0.6 }}\n\
         [run]\nuntil = \"3 us\"\nwarmup = \"1 us\"\ndrain = \"50 us\"\n[collect]\nbin = \"100 ns\"\n"
    ));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    /// The end cuts through reservations, stalls and what was decided ahead of time.
    #[test]
    fn the_end_cuts_through_what_was_tallied_ahead(
        load in 0.05f64..1.0,
        until in 1_500_000u64..3_000_000,
        bin in prop::sample::select(vec!["auto", "9 ns", "333 ns", "5 us"]),
        buffer in prop::sample::select(vec!["600 B", "2 KiB", "64 KiB"]),
        routing in prop::sample::select(vec!["minimal", "valiant", "ugal"]),
        arrival in prop::sample::select(vec!["exponential", "fixed", "on-off"]),
        header in prop::sample::select(vec!["0 B", "16 B"]),
        seed in 0u64..1000,
    ) {
        let ns = until / 1000;
        let bias = if routing == "ugal" { ", bias = \"256 B\"" } else { "" };
        compare(&format!(
            "[network]\n{DRAGONFLY}\nrouting = {{ algorithm = \"{routing}\"{bias} }}\nrouter = {{ buffer = \"{buffer}\" }}\n\
             link = {{ bandwidth = \"100 Gbps\", latency = \"20 ns\" }}\npacket = \"{}\"\n\
             packet_header = \"{header}\"\n\
             [[job]]\ntraffic = {{ pattern = \"uniform\", load = {load}, arrival = \"{arrival}\" }}\n\
             [run]\nuntil = \"{ns} ns\"\nseed = {seed}\n[collect]\nbin = \"{bin}\"\n",
            if buffer == "600 B" { "64 B" } else { "256 B" },
        ));
    }
}
