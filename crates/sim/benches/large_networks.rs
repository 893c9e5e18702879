//! Networks of 74 thousand and of a million hosts under load, as the Slim Fly study of CODES ran them: uniform
//! traffic at 10 %, minimal routing (N. Wolfe et al., *Modeling a million-node Slim Fly network using parallel
//! discrete-event simulation*, SIGSIM-PADS 2016).
//!
//! `cargo bench -p fabricsim-sim --bench large_networks` runs each case with the series that are collected by default,
//! and without, each in a process of its own, some minutes in all; `-- NAME` runs the cases whose name contains NAME.
//! Seconds are of wall-clock time: `windows` is the
//! simulation itself, of the slowest thread; `run` all of it, with construction, audit and tables in memory.

use std::process::Command;
use std::time::Instant;

use fabricsim_sim::{Experiment, RunControl, run};

/// The allocator of the command `fabricsim`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Name, topology, threads, simulated microseconds.
const CASES: &[(&str, &str, u32, u32)] = &[
    ("slim-fly-73926/1-thread", SLIM_FLY_74K, 1, 220),
    ("slim-fly-73926/2-threads", SLIM_FLY_74K, 2, 220),
    ("slim-fly-1009622/2-threads", SLIM_FLY_1M, 2, 100),
];

/// `collect.series`: the default, and none.
const SERIES: [&str; 2] = ["auto", "off"];

const SLIM_FLY_74K: &str = r#"kind = "slim-fly", q = 37, hosts_per_router = 27"#;
const SLIM_FLY_1M: &str = r#"kind = "slim-fly", q = 163, hosts_per_router = 19"#;

/// Argument of the process that runs one case.
const ONE: &str = "--one";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [one, name, series] = arguments.as_slice()
        && one == ONE
    {
        let case = CASES.iter().find(|case| case.0 == name);
        return measure(case.expect("the name of a case"), series);
    }
    let filter = arguments
        .into_iter()
        .find(|a| !a.starts_with('-'))
        .unwrap_or_default();
    println!(
        "{:28} {:>6} {:>12} {:>12} {:>10} {:>8} {:>8} {:>13} {:>9}",
        "case", "series", "packet-hops", "events", "windows s", "run s", "CPU s", "M hops/CPU s", "peak GiB"
    );
    for (name, ..) in CASES.iter().filter(|case| case.0.contains(&filter)) {
        for series in SERIES {
            let program = std::env::current_exe().expect("it is running");
            let status = Command::new(program).args([ONE, name, series]).status();
            assert!(status.expect("it starts").success(), "{name}");
        }
    }
}

fn measure((name, topology, threads, microseconds): &(&str, &str, u32, u32), series: &str) {
    let toml = format!(
        r#"
        [network]
        topology = {{ {topology} }}
        routing = {{ algorithm = "minimal" }}
        link = {{ bandwidth = "100 Gbps", latency = "50 ns" }}
        router = {{ delay = "100 ns", buffer = "100 KB" }}
        packet = "256 B"
        [[job]]
        traffic = {{ pattern = "uniform", load = 0.1 }}
        [run]
        until = "{microseconds} us"
        threads = {threads}
        [collect]
        series = "{series}"
        "#
    );
    let begin = Instant::now();
    let experiment = Experiment::from_toml(&toml, name, &[]).expect("the case is valid");
    let result = run(&experiment, &RunControl::new()).expect("the case runs");
    let run_s = begin.elapsed().as_secs_f64();
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
