//! A killed run resumes from its checkpoint, on any executor and any number of threads and processes, with the result
//! of an undisturbed run. Invalid checkpoints are rejected.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use config::Override;
use des::{Executor, Optimism, Pace, Processes, SingleProcess, Time};
use experiment::Experiment;
use results::RunResult;
use sim::{Checkpoint, Checkpoints, Error, Every, RunContext, RunControl, run_in};
use tempfile::TempDir;
use testkit::processes::ThreadProcess;

use crate::support::{
    assert_same, compute, job, jobs_on, otf2_is_available, receive, root, run, run_from, send,
};

/// Executors, processes and threads that write checkpoints and continue from them.
const WAYS: [(Executor, usize, usize); 8] = [
    (Executor::Sequential, 1, 1),
    (Executor::Conservative, 1, 2),
    (Executor::Optimistic, 1, 3),
    (Executor::Optimistic, 1, 1),
    (Executor::Conservative, 2, 2),
    (Executor::Optimistic, 2, 1),
    (Executor::Conservative, 3, 1),
    (Executor::Optimistic, 3, 2),
];

const SMALL: &str = r#"
[network]
topology = { kind = "dragonfly", hosts_per_router = 1, routers_per_group = 3, global_links_per_router = 1 }
routing = { algorithm = "ugal" }
[[job]]
traffic = { pattern = "uniform", load = 0.5 }
[run]
until = "20 us"
"#;

fn corpus(name: &str) -> Experiment {
    let path = root().join("tests/corpus").join(name);
    Experiment::load(&path, &[]).unwrap_or_else(|e| panic!("{e}"))
}

fn small() -> Experiment {
    Experiment::from_toml(SMALL, "small.toml", &[]).unwrap()
}

/// The path of a checkpoint.
fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("checkpoint.fabricsim");
    (folder, file)
}

/// Runs with a checkpoint each `every`, and interrupts the run when `stop` returns true. Returns the result if the
/// run ended before.
fn begin(
    experiment: &mut Experiment,
    (executor, processes, threads): (Executor, usize, usize),
    from: Option<&Checkpoint>,
    checkpoints: &Checkpoints,
    stop: impl Fn() -> bool + Sync,
) -> Option<RunResult> {
    (experiment.run.executor, experiment.run.threads) = (executor, threads);
    // Only the first of several processes can be interrupted here.
    let control = RunControl::new();
    let experiment = &*experiment;
    let mut ends = thread::scope(|scope| {
        let runs = scope.spawn(|| {
            ThreadProcess::run(processes, |process| {
                let own = RunControl::new();
                let way = RunContext {
                    processes: process,
                    checkpoints: Some(checkpoints),
                    from,
                    ..RunContext::default()
                };
                let is_first = process.index() == 0;
                run_in(experiment, if is_first { &control } else { &own }, &way)
            })
        });
        while !runs.is_finished() {
            if stop() {
                control.stop();
            }
            thread::sleep(Duration::from_millis(1));
        }
        runs.join().unwrap()
    });
    match ends.remove(0) {
        Ok(result) => result,
        Err(Error::Interrupted) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Continues from a checkpoint to the end.
fn resume(file: &Path, (executor, processes, threads): (Executor, usize, usize)) -> RunResult {
    let checkpoint = Checkpoint::load(file).unwrap_or_else(|e| panic!("{e}"));
    let overrides = [
        Override::by_option("--executor", "run.executor", format!("\"{}\"", executor.name())),
        Override::by_option("--threads", "run.threads", threads.to_string()),
    ];
    let experiment = checkpoint
        .experiment(&overrides, &[])
        .unwrap_or_else(|e| panic!("{e}"));
    let result = run_from(&experiment, processes, None, Some(&checkpoint));
    let resumed_at = result.summary.run.resumed_at_ns;
    assert_eq!(resumed_at, Some(Time(checkpoint.time_ps()).as_ns()));
    result
}

/// The number of threads changes again and again, also between two checkpoints.
#[test]
fn threads_become_fewer_and_more_between_checkpoints() {
    let mut experiment = small();
    let reference = run(&experiment);
    experiment.run.pace = Pace::Threads(150);
    for executor in [Executor::Conservative, Executor::Optimistic] {
        let (_folder, file) = place();
        let checkpoints = Checkpoints {
            file: file.clone().into(),
            every: Every::Simulated(Time::from_ns(5_000).ps()),
        };
        let result = begin(&mut experiment, (executor, 1, 4), None, &checkpoints, || false);
        let result = result.expect("nothing interrupts it");
        assert_same(&reference, &result, executor.name());
        let cost = &result.summary.run;
        let used = cost.fewer_threads.iter();
        let used: Vec<_> = used.map(|gear| (gear.executor.as_str(), gear.threads)).collect();
        assert_eq!(used, [4, 2, 1].map(|threads| (executor.name(), threads)));
        assert!(cost.auto.is_empty() && cost.executor == executor.name());
        assert_eq!(cost.parts.len() as u64, cost.threads);
        assert_eq!(cost.thread_seconds.len() as u64, cost.threads);
        let events: u64 = cost.fewer_threads.iter().map(|gear| gear.events).sum();
        assert_eq!(events, cost.events_committed);
        let resumed = resume(&file, (executor, 1, 3));
        assert_same(&reference, &resumed, &format!("{} resumed", executor.name()));
    }
}

/// Checkpoints early and late in a run, each continued in several ways.
fn goes_on_everywhere(name: &str) {
    let mut experiment = corpus(name);
    experiment.run.executor = Executor::Sequential;
    let reference = run(&experiment);
    let end = Time::from_ns(reference.summary.run.simulated_ns as u64);
    for (round, share) in [0.55, 0.1, 0.8].into_iter().enumerate() {
        let (_folder, file) = place();
        let way = WAYS[(round * 3 + name.len()) % WAYS.len()];
        let checkpoints = Checkpoints {
            file: file.clone().into(),
            every: Every::Simulated((end.ps() as f64 * share) as u64),
        };
        // After one half of the run there is only one checkpoint, which may stay the last.
        let done = begin(&mut experiment, way, None, &checkpoints, || {
            share < 0.5 && file.exists()
        });
        if let Some(result) = done {
            assert_same(&reference, &result, &format!("{name}: with checkpoints, {way:?}"));
        }
        let at = Checkpoint::load(&file).unwrap_or_else(|e| panic!("{name}, {way:?}: {e}"));
        assert!(at.time_ps() >= (end.ps() as f64 * share) as u64 && at.time_ps() < end.ps());
        for next in WAYS {
            let what = format!(
                "{name}: {way:?} at {} ps of {}, then {next:?}",
                at.time_ps(),
                end.ps()
            );
            eprintln!("{what}");
            assert_same(&reference, &resume(&file, next), &what);
        }
    }
}

#[test]
fn traffic_goes_on_everywhere() {
    for name in [
        "dragonfly-ugal.toml",
        "torus-dimension-order-full-buffers.toml",
        "several-traffic-jobs.toml",
        "drain-dragonfly-ugal.toml",
        "rails-torus-full-buffers.toml",
    ] {
        goes_on_everywhere(name);
    }
}

#[test]
fn an_application_goes_on_everywhere() {
    if otf2_is_available() {
        goes_on_everywhere("lammps-torus.toml");
        goes_on_everywhere("lammps-torus-preset.toml");
        goes_on_everywhere("rails-fat-tree-planes.toml");
    }
}

#[test]
fn an_application_beside_traffic_goes_on_everywhere() {
    if otf2_is_available() {
        goes_on_everywhere("lammps-beside-traffic.toml");
        goes_on_everywhere("rails-beside-traffic.toml");
    }
}

/// Timelines and waits of messages and packets that are in flight at the checkpoint.
#[test]
fn what_is_collected_goes_on() {
    goes_on_everywhere("collect-jobs-torus.toml");
    goes_on_everywhere("collect-input-queued.toml");
    goes_on_everywhere("crossbar-shared-torus.toml");
    goes_on_everywhere("input-queued-traffic-classes.toml");
    goes_on_everywhere("collect-host-latency.toml");
    goes_on_everywhere("collect-network-latency.toml");
    goes_on_everywhere("nic-pairs-dragonfly.toml");
}

/// The first checkpoint lies in a repetition, the second between two.
#[test]
fn repeated_jobs_and_those_with_seats_go_on() {
    if otf2_is_available() {
        goes_on_everywhere("lammps-repeated.toml");
        goes_on_everywhere("mappings.toml");
    }
}

/// Jobs that are stopped, and jobs that follow them on their hosts.
#[test]
fn jobs_that_are_stopped_go_on() {
    goes_on_everywhere("jobs-end-and-reuse-hosts.toml");
}

/// The run is interrupted again and again, each time at another time.
#[test]
fn from_checkpoint_to_checkpoint() {
    let mut experiment = corpus("dragonfly-ugal-group.toml");
    let reference = run(&experiment);
    let end = (reference.summary.run.simulated_ns * 1e3) as u64;
    let (_folder, file) = place();
    let checkpoints = Checkpoints {
        file: file.clone().into(),
        every: Every::Simulated(end / 12),
    };
    let mut times = Vec::new();
    let result = (0..)
        .find_map(|round| {
            let from = file.exists().then(|| Checkpoint::load(&file).unwrap());
            let before = from.as_ref().map_or(0, Checkpoint::time_ps);
            let has_next = || Checkpoint::load(&file).is_ok_and(|next| next.time_ps() > before);
            let way = WAYS[round % WAYS.len()];
            experiment.run.optimism = Optimism {
                batch: 10,
                gvt_interval: 4,
                ..Optimism::default()
            };
            let result = begin(&mut experiment, way, from.as_ref(), &checkpoints, has_next);
            times.push(Checkpoint::load(&file).unwrap().time_ps());
            result
        })
        .expect("it ends");
    assert!(times.is_sorted(), "{times:?}");
    assert_same(&reference, &result, &format!("checkpoints at {times:?}"));
}

/// The memory allows hardly any event ahead of GVT, and the parts roll back all the time.
#[test]
fn a_checkpoint_in_the_midst_of_rollbacks() {
    let mut experiment = corpus("short-links.toml");
    let reference = run(&experiment);
    let end = (reference.summary.run.simulated_ns * 1e3) as u64;
    for (ahead, memory) in [
        (Some(Time::MAX), 128 << 20),
        (None, 1),
        (Some(Time::ZERO), 10_000),
    ] {
        let (_folder, file) = place();
        experiment.run.optimism = Optimism {
            batch: 50,
            gvt_interval: 10,
            ahead,
            memory,
        };
        let checkpoints = Checkpoints {
            file: file.clone().into(),
            every: Every::Simulated(end / 10),
        };
        let way = (Executor::Optimistic, 1, 3);
        let result = begin(&mut experiment, way, None, &checkpoints, || false);
        assert_same(&reference, &result.unwrap(), "with ten checkpoints");
        assert_same(&reference, &resume(&file, WAYS[0]), "sequential from the last");
    }
}

#[test]
fn programs_in_memory_are_refused_at_the_start() {
    let network = "[network]\ntopology = { kind = \"torus\", sizes = [3] }\n\
                   routing = { algorithm = \"dimension-order\" }\n";
    let programs = vec![vec![compute(10), send(1, 64)], vec![receive(0, 64)]];
    let job = job("pair", programs, &mpi::MpiSettings::default(), &[0, 1]);
    let mut experiment = jobs_on(network, vec![job]);
    let (folder, file) = place();
    for executor in [Executor::Sequential, Executor::Conservative, Executor::Optimistic] {
        experiment.run.executor = executor;
        let control = RunControl::new();
        let checkpoints = Checkpoints {
            file: file.clone().into(),
            // This run never reaches it.
            every: Every::Wall(Duration::from_secs(100_000)),
        };
        let way = RunContext {
            checkpoints: Some(&checkpoints),
            ..RunContext::default()
        };
        let Err(Error::Checkpoint { file: named, why }) = run_in(&experiment, &control, &way) else {
            panic!("it is not refused");
        };
        assert_eq!(named, file.display().to_string());
        assert_eq!(
            why,
            "job 'pair' cannot be checkpointed: its programs exist in this process only"
        );
        assert_eq!(control.now_ps(), 0, "nothing has been simulated");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

/// The first line of a checkpoint.
const LAYOUT: &[u8] = b"FABRICSIM CHECKPOINT 13\n";

/// The bytes of a valid checkpoint of [`SMALL`].
fn good() -> Vec<u8> {
    let (_folder, file) = place();
    let checkpoints = Checkpoints {
        file: file.clone().into(),
        every: Every::Simulated(11_000_000),
    };
    let way = (Executor::Conservative, 1, 1);
    begin(&mut small(), way, None, &checkpoints, || false).expect("it is not interrupted");
    fs::read(file).unwrap()
}

/// The error of loading these bytes. It names the file.
fn refusal(bytes: &[u8]) -> String {
    let (_folder, file) = place();
    fs::write(&file, bytes).unwrap();
    let Err(Error::Checkpoint { file: named, why }) = Checkpoint::load(&file) else {
        panic!("it is taken for a checkpoint");
    };
    assert_eq!(named, file.display().to_string());
    why
}

#[test]
fn a_damaged_file_is_refused() {
    let good = good();
    assert!(good.starts_with(LAYOUT) && good.len() > 2_000, "{}", good.len());
    // The file ends early: within the first lines, the head, or the body.
    for length in (30..600).step_by(7).chain([good.len() / 2, good.len() - 1]) {
        assert_eq!(refusal(&good[..length]), "is damaged", "{length} bytes of it");
    }
    // One bit is wrong: in the digest, the length, the experiment, or the run.
    for place in (LAYOUT.len()..900)
        .step_by(3)
        .chain([good.len() / 2, good.len() - 1])
    {
        let mut bytes = good.clone();
        bytes[place] ^= 1 << (place % 8);
        assert_eq!(refusal(&bytes), "is damaged", "byte {place}");
    }
    let unknown = "is not a checkpoint of this version of FabricSim";
    let other_layout = [b"FABRICSIM CHECKPOINT 1\n", &good[LAYOUT.len()..]].concat();
    for bytes in [&other_layout, &b"Dear diary"[..], b"", &good[..10], &good[1..]] {
        assert_eq!(refusal(bytes), unknown);
    }
    assert_eq!(refusal(&[&good[..], b"more"].concat()), "is damaged");
}

/// The layout is the same, but the version of FabricSim differs, whose LPs may be saved in another form.
#[test]
fn another_version_is_refused() {
    let good = good();
    let (rest, own) = (&good[LAYOUT.len() + 65..], env!("CARGO_PKG_VERSION"));
    // The text has the length of the real one, so that nothing else changes.
    let other: String = own
        .chars()
        .map(|c| if c.is_ascii_digit() { '7' } else { c })
        .collect();
    let of = |version: &str| format!("\"version\":\"{version}\"").into_bytes();
    let place = rest.windows(of(own).len()).position(|w| w == of(own)).unwrap();
    let rest = [&rest[..place], &of(&other), &rest[place + of(own).len()..]].concat();
    let bytes = [LAYOUT, results::hash(&[&rest]).as_bytes(), b"\n", &rest].concat();
    assert_eq!(
        refusal(&bytes),
        format!("was written by version {other} of FabricSim; this is {own}")
    );
}

#[test]
fn a_missing_file_and_a_folder_are_refused() {
    let (folder, file) = place();
    for path in [file.as_path(), folder.path()] {
        let Err(error) = Checkpoint::load(path) else {
            panic!("there is nothing to load")
        };
        let start = format!("{}: cannot be read: ", path.display());
        assert!(error.to_string().starts_with(&start), "{error}");
    }
}

#[test]
fn a_network_of_another_size_is_refused() {
    let (_folder, file) = place();
    fs::write(&file, good()).unwrap();
    let checkpoint = Checkpoint::load(&file).unwrap();
    let overrides = [Override::by_option("--set", "network.topology.groups", "3")];
    let smaller = checkpoint.experiment(&overrides, &[]).unwrap();
    let try_in = |processes: &dyn Processes| {
        let way = RunContext {
            processes,
            from: Some(&checkpoint),
            ..RunContext::default()
        };
        let ended = run_in(&smaller, &RunControl::new(), &way);
        ended.unwrap_err().to_string()
    };
    let said = format!(
        "{}: cannot be continued: it has 25 logical processes, the model has 19",
        file.display()
    );
    assert_eq!(try_in(&SingleProcess), said);
    // All of several processes report the error, and none waits for the others.
    let errors = ThreadProcess::run(2, |process| try_in(process));
    assert_eq!(errors, [said.clone(), said]);
}

/// A path that cannot be written ends the run with an error.
#[test]
fn a_checkpoint_that_cannot_be_written_ends_the_run() {
    let (folder, _) = place();
    let taken = folder.path().join("taken");
    fs::write(&taken, "a file where a folder should be").unwrap();
    let checkpoints = Checkpoints {
        file: taken.join("checkpoint.fabricsim").into(),
        every: Every::Simulated(1_000_000),
    };
    for (executor, processes, threads) in WAYS {
        let mut experiment = small();
        (experiment.run.executor, experiment.run.threads) = (executor, threads);
        let errors = ThreadProcess::run(processes, |process| {
            let way = RunContext {
                processes: process,
                checkpoints: Some(&checkpoints),
                ..RunContext::default()
            };
            run_in(&experiment, &RunControl::new(), &way)
                .map(|_| ())
                .unwrap_err()
        });
        let Error::CheckpointNotWritten { file, .. } = &errors[0] else {
            panic!("{}", errors[0])
        };
        assert!(file.ends_with("checkpoint.fabricsim"), "{}", errors[0]);
        assert!(
            errors[1..]
                .iter()
                .all(|error| matches!(error, Error::Interrupted)),
            "{errors:?}"
        );
    }
}
