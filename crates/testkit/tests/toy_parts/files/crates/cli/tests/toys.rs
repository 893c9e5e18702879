//! The toys in several processes, which are threads of this one: all that crosses is serialised.

use std::path::PathBuf;

use experiment::Experiment;
use sim::{RunContext, RunControl, run_in};
use testkit::processes::ThreadProcess;

/// An experiment in the folder of the environment variable `TOYS`.
fn experiment(file: &str, (router, nic): (&str, &str), executor: &str, more: &[(&str, &str)]) -> Experiment {
    let folder = PathBuf::from(std::env::var("TOYS").expect("the folder of the experiments"));
    let set = [
        ("network.router.model", router),
        ("network.nic.model", nic),
        ("run.executor", executor),
    ];
    let overrides: Vec<(String, String)> = set
        .iter()
        .chain(more)
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect();
    Experiment::load(&folder.join(file), &overrides).unwrap_or_else(|e| panic!("{e}"))
}

/// Digest of the result in this many processes.
fn digest(experiment: &Experiment, processes: usize) -> String {
    let results = ThreadProcess::run(processes, |process| {
        let context = RunContext {
            processes: process,
            ..RunContext::default()
        };
        run_in(experiment, &RunControl::new(), &context).unwrap_or_else(|e| panic!("{e}"))
    });
    let first = results.into_iter().flatten().next();
    first.expect("the first process has the result").summary.digest.to_string()
}

#[test]
fn toys_agree_in_several_processes() {
    for models in [
        ("toy-queues", "queued"),
        ("toy-flits", "queued"),
        ("toy-retry", "queued"),
        ("toy-lossy", "toy-resend"),
    ] {
        let until = [("run.until", "14us"), ("run.warmup", "1us")];
        for (file, more) in [("traffic.toml", &until[..]), ("ranks.toml", &[])] {
            let more: Vec<_> = more.iter().copied().chain([("run.threads", "1")]).collect();
            let of = |executor: &str, processes| digest(&experiment(file, models, executor, &more), processes);
            let alone = of("sequential", 1);
            for (executor, processes) in [("conservative", 3), ("optimistic", 2)] {
                assert_eq!(of(executor, processes), alone, "{models:?} {file} {executor}");
            }
        }
    }
}
