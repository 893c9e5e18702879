//! Large networks under load. A Slim Fly of 74 thousand and one of a million hosts, as the Slim Fly study of CODES ran
//! them: uniform traffic at 10 %, minimal routing (N. Wolfe et al., *Modeling a million-node Slim Fly network using
//! parallel discrete-event simulation*, SIGSIM-PADS 2016). A dragonfly of 263 thousand hosts at 50 %, four times as
//! long as in the bench `packet_hops`.
//!
//! `cargo bench -p fabricsim-sim --bench large_networks` runs each case with the series that are collected by default,
//! and without, each in a process of its own, some minutes in all; `-- NAME` runs the cases whose name contains NAME,
//! `-- NAME ROUNDS` runs them in so many rounds, in turn. Seconds are of wall-clock time: `windows` is the
//! simulation itself, of the slowest thread; `run` all of it, with construction, audit and tables in memory.

use std::process::Command;
use std::time::Instant;

use experiment::Experiment;
use fabricsim_sim::{RunControl, run};

/// The allocator of the command `fabricsim`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct Case {
    name: &'static str,
    topology: &'static str,
    /// Part of the injection bandwidth.
    load: f64,
    threads: u32,
    microseconds: u32,
}

const CASES: &[Case] = &[
    case("slim-fly-73926/1-thread", SLIM_FLY_74K, 0.1, 1, 220),
    case("slim-fly-73926/2-threads", SLIM_FLY_74K, 0.1, 2, 220),
    case("slim-fly-1009622/2-threads", SLIM_FLY_1M, 0.1, 2, 100),
    case("dragonfly-262656/1-thread", DRAGONFLY_262K, 0.5, 1, 12),
];

/// `collect.series`: the default, and none.
const SERIES: [&str; 2] = ["auto", "off"];

const SLIM_FLY_74K: &str = r#"kind = "slim-fly", q = 37, hosts_per_router = 27"#;
const SLIM_FLY_1M: &str = r#"kind = "slim-fly", q = 163, hosts_per_router = 19"#;

const DRAGONFLY_262K: &str =
    r#"kind = "dragonfly", hosts_per_router = 16, routers_per_group = 32, global_links_per_router = 16"#;

/// Argument of the process that runs one case.
const ONE: &str = "--one";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [one, name, series] = arguments.as_slice()
        && one == ONE
    {
        let case = CASES.iter().find(|case| case.name == name);
        return measure(case.expect("the name of a case"), series);
    }
    let mut arguments = arguments.into_iter().filter(|a| !a.starts_with('-'));
    let filter = arguments.next().unwrap_or_default();
    let rounds = arguments.next().map_or(1, |rounds| {
        rounds.parse().expect("the second argument is a number of rounds")
    });
    println!(
        "{:28} {:>6} {:>12} {:>12} {:>10} {:>8} {:>8} {:>13} {:>9}",
        "case", "series", "packet-hops", "events", "windows s", "run s", "CPU s", "M hops/CPU s", "peak GiB"
    );
    for case in CASES.iter().filter(|case| case.name.contains(&filter)) {
        for round in 0..rounds {
            for turn in 0..SERIES.len() {
                let series = SERIES[(turn + round) % SERIES.len()];
                let program = std::env::current_exe().expect("it is running");
                let status = Command::new(program).args([ONE, case.name, series]).status();
                assert!(status.expect("it starts").success(), "{}", case.name);
            }
        }
    }
}

const fn case(
    name: &'static str,
    topology: &'static str,
    load: f64,
    threads: u32,
    microseconds: u32,
) -> Case {
    Case {
        name,
        topology,
        load,
        threads,
        microseconds,
    }
}

fn measure(case: &Case, series: &str) {
    let Case {
        name,
        topology,
        load,
        threads,
        microseconds,
    } = case;
    let toml = format!(
        r#"
        [network]
        topology = {{ {topology} }}
        routing = {{ algorithm = "minimal" }}
        link = {{ bandwidth = "100 Gbps", latency = "50 ns" }}
        router = {{ delay = "100 ns", buffer = "100 KB" }}
        packet = "256 B"
        [[job]]
        traffic = {{ pattern = "uniform", load = {load} }}
        [run]
        until = "{microseconds} us"
        threads = {threads}
        [collect]
        series = "{series}"
        "#
    );
    let start = Instant::now();
    let experiment = Experiment::from_toml(&toml, name, &[]).expect("the case is valid");
    let result = run(&experiment, &RunControl::new()).expect("the case runs");
    let run_s = start.elapsed().as_secs_f64();
    let (cost, hops) = (&result.summary.run, result.summary.network.packet_hops);
    let threads = cost.thread_seconds.iter();
    let windows_s = threads
        .map(|t| t.processing + t.queue + t.synchronisation)
        .fold(0.0, f64::max);
    println!(
        "{name:28} {series:>6} {hops:>12} {:>12} {windows_s:>10.1} {run_s:>8.1} {:>8.1} {:>13.2} {:>9.2}",
        cost.events_committed,
        cost.cpu_s,
        hops as f64 / cost.cpu_s / 1e6,
        cost.peak_rss_bytes as f64 / f64::from(1 << 30)
    );
}
