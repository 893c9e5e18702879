//! Cost of building a network as a run does: topology and routing, then routers, hosts and their first
//! events, on one thread.
//!
//! `cargo bench -p fabricsim-sim --bench construction` builds each case in a process of its own and prints
//! seconds and the peak of memory; it fails if one is above [`LIMITS`]. `-- NAME` builds the cases whose name
//! contains NAME.

use std::process::{Command, ExitCode};
use std::time::Instant;

use experiment::Experiment;
use fabricsim_sim::{Error, RunControl, run};

/// The allocator of the command `fabricsim`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Name and topology.
const CASES: &[(&str, &str)] = &[
    (
        "slim-fly-73926",
        r#"kind = "slim-fly", q = 37, hosts_per_router = 27"#,
    ),
    (
        "slim-fly-1009622",
        r#"kind = "slim-fly", q = 163, hosts_per_router = 19"#,
    ),
];

/// Most seconds, and most GiB.
const LIMITS: (f64, f64) = (20.0, 3.0);

/// Argument of the process that builds one case.
const ONE: &str = "--one";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [one, name] = arguments.as_slice()
        && one == ONE
    {
        let case = CASES.iter().find(|case| case.0 == name);
        return build(case.expect("the name of a case"));
    }
    let filter = arguments
        .into_iter()
        .find(|a| !a.starts_with('-'))
        .unwrap_or_default();
    println!(
        "{:20} {:>9} {:>9} {:>17} {:>15} {:>9} {:>11}",
        "network", "routers", "hosts", "topology, routing", "routers, hosts", "CPU s", "peak GiB"
    );
    let mut kept = true;
    for (name, _) in CASES.iter().filter(|case| case.0.contains(&filter)) {
        let program = std::env::current_exe().expect("it is running");
        let status = Command::new(program).args([ONE, name]).status();
        kept &= status.expect("it starts").success();
    }
    println!("limits: {} s, {} GiB", LIMITS.0, LIMITS.1);
    ExitCode::from(u8::from(!kept))
}

fn build((name, topology): &(&str, &str)) -> ExitCode {
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
        until = "1 us"
        [collect]
        series = "off"
        "#
    );
    let start = Instant::now();
    let cpu = cpu_time::ProcessTime::now();
    let experiment = Experiment::from_toml(&toml, name, &[]).expect("the case is valid");
    let graph_s = start.elapsed().as_secs_f64();
    // An interrupted run gives up when it has made all LPs, before the first of their events.
    let control = RunControl::new();
    control.stop();
    let ended = run(&experiment, &control);
    assert!(matches!(ended, Err(Error::Interrupted)), "it was told to stop");
    let (all_s, cpu_s) = (start.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64());
    let topology = experiment.network.topology.as_ref();
    let gib = peak_bytes() / f64::from(1 << 30);
    println!(
        "{name:20} {:>9} {:>9} {graph_s:>15.2} s {:>13.2} s {cpu_s:>9.2} {gib:>11.2}",
        topology.routers(),
        topology.hosts(),
        all_s - graph_s
    );
    ExitCode::from(u8::from(cpu_s > LIMITS.0 || gib > LIMITS.1))
}

/// Most memory that was resident.
fn peak_bytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the bench runs on Linux");
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kib.expect("Linux says so") * 1024.0
}
