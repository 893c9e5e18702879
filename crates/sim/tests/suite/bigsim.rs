//! BigSim traces: the bounds of the recorded ones, the time of a small one to the picosecond, one result on all
//! executors that programs with answers have, and inputs that are refused.

use std::path::{Path, PathBuf};

use des::Executor;
use experiment::Experiment;
use results::RunResult;
use testkit::bigsim::{BigsimFixture, FixtureLog};

use crate::support::{experiment, root, run, sum, table};

/// A trace that only some machines have.
fn recorded(name: &str) -> Option<PathBuf> {
    let folder = root().join("../shared/bigsim").join(name);
    if !folder.is_dir() {
        testkit::skipped!("{} is not there", folder.display());
        return None;
    }
    Some(folder)
}

/// A switch whose links cost next to nothing, and an MPI library without costs.
const FREE: &str = "[network]\ntopology = { kind = \"hyperx\", shape = [1], hosts_per_router = 64 }\n\
    routing = { algorithm = \"minimal\" }\nlink = { bandwidth = \"1000 Tbps\", latency = \"1 ps\" }\n\
    router = { delay = \"0 ns\", buffer = \"64 MiB\" }\npacket = \"1 MiB\"\n\
    [mpi]\nsend_overhead = \"0 ns\"\nreceive_overhead = \"0 ns\"\n";

/// The experiment of a trace on a network, with further keys of the workload and further lines.
fn replay(network: &str, folder: &Path, keys: &str, more: &str) -> String {
    let folder = folder.display().to_string();
    format!("{network}\n[[job]]\nname = \"trace\"\nworkload = {{ bigsim = {folder:?}{keys} }}\n{more}\n")
}

/// The result, which is the same on all executors of programs with answers.
fn run_forwards(text: &str) -> RunResult {
    let mut experiment: Experiment = experiment(text);
    let mut results = Vec::new();
    for (executor, threads) in [
        (Executor::Sequential, 1),
        (Executor::Conservative, 1),
        (Executor::Conservative, 2),
    ] {
        (experiment.run.executor, experiment.run.threads) = (executor, threads);
        results.push(run(&experiment));
    }
    let digests: Vec<_> = results.iter().map(|result| &result.summary.digest).collect();
    assert!(digests.iter().all(|digest| *digest == digests[0]), "{digests:?}");
    results.swap_remove(0)
}

/// The lower bounds are those of another program, to a nanosecond: the longest path, or the work of the busiest PE. No
/// PE of these traces waits where it could work, so that the replay takes no longer.
#[test]
fn recorded_traces_take_the_time_of_their_lower_bounds() {
    for (name, messages, bytes, recorded_ns) in [
        ("traceJ0", 1_343, 415_328, 710_726.0),
        ("traceJ1", 671, 289_376, 431_776.0),
    ] {
        let Some(folder) = recorded(name) else { return };
        for (keys, least_ns) in [("", 43_392.0), (", runtime_logs = \"recorded\"", recorded_ns)] {
            let result = run_forwards(&replay(FREE, &folder, keys, ""));
            let job = &result.summary.jobs[0];
            let ranks = table(&result, "ranks");
            assert!(job.finished);
            for (column, expected) in [("messages", messages), ("bytes", bytes)] {
                for end in ["sent", "received"] {
                    assert_eq!(sum(ranks, &format!("{column}_{end}")), expected, "{column} {end}");
                }
            }
            let time_ns = job.time_ns;
            assert!((time_ns - least_ns).abs() <= 1.0, "{name}{keys}: {time_ns} ns");
        }
    }
}

/// A router between two hosts: 100 ps for each byte, and 140 ns for two cables and the router.
const SWITCH: &str = "[network]\ntopology = { kind = \"hyperx\", shape = [1], hosts_per_router = 2 }\n\
    routing = { algorithm = \"minimal\" }\nlink = { bandwidth = \"80 Gbps\", latency = \"20 ns\" }\n\
    router = { delay = \"100 ns\" }\npacket = \"1 KiB\"\n\
    [mpi]\nsend_overhead = \"700 ns\"\nreceive_overhead = \"300 ns\"\nheader_size = \"0 B\"\n";

/// A log that takes this many nanoseconds.
fn log(name: &'static str, ns: u32, started_by: Option<(i32, i32)>, before: &[i32]) -> FixtureLog {
    FixtureLog {
        name,
        exec_s: f64::from(ns) * 1e-9,
        started_by,
        before: before.to_vec(),
        ..FixtureLog::default()
    }
}

/// PE 0 sends to PE 1 and to itself, and PE 1 answers.
fn question_and_answer() -> BigsimFixture {
    let first = FixtureLog {
        sends: vec![(0, 1, 0, 500), (1, 0, 0, 80)],
        ..log("a", 1000, None, &[])
    };
    let answers = FixtureLog {
        sends: vec![(0, 0, 0, 300)],
        ..log("c", 100, None, &[1])
    };
    BigsimFixture::new(vec![
        vec![
            first,
            log("own", 200, Some((0, 1)), &[]),
            log("b", 400, None, &[0]),
            log("end", 50, Some((1, 0)), &[]),
        ],
        vec![
            log("x", 3000, None, &[]),
            log("AMPI_generic", 999, Some((0, 0)), &[]),
            answers,
            log("y", 150, None, &[0]),
        ],
    ])
}

fn written(trace: &BigsimFixture) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    trace.write(folder.path());
    folder
}

/// The message of PE 0 leaves after its overhead and arrives at 700 + 140 + 50 ns, while PE 1 executes x. At 3000 ns
/// PE 1 takes it, and so its log goes before y, but c, which waits for this log, after y. The answer leaves at 3000 +
/// 300 + 150 + 700 ns, arrives 140 + 30 ns later, and PE 0, which has nothing else to do, takes it in 300 ns.
#[test]
fn two_pes_take_the_time_of_their_closed_form() {
    let folder = written(&question_and_answer());
    let ends = |more: &str| {
        let result = run_forwards(&replay(SWITCH, folder.path(), "", more));
        let mut ends = table(&result, "ranks").u64s("time_ps").unwrap().to_vec();
        ends.iter_mut().for_each(|end| {
            assert_eq!(*end % 1000, 0, "whole nanoseconds");
            *end /= 1000;
        });
        ends
    };
    let answer = |leaves: u64| leaves + 140 + 30 + 300;
    let leaves = 3000 + 300 + 150 + 700;
    assert_eq!(ends(""), [answer(leaves) + 50, leaves + 100]);
    let leaves = 6000 + 300 + 10 + 700;
    assert_eq!(
        ends("compute = { scale = 2.0, regions = { y = \"10 ns\" } }"),
        [answer(leaves) + 100, leaves + 200]
    );
}

/// Several threads on each node, and every kind of destination: all messages come.
#[test]
fn broadcasts_reach_all_and_nodes_have_several_pes() {
    let first = FixtureLog {
        sends: vec![
            (0, -1, -1, 100),
            (1, -101, -1, 200),
            (2, 2, -1, 300),
            (3, -100, 1, 400),
        ],
        ..log("user_code", 10, None, &[])
    };
    let logs = |pe: i32| {
        let mut logs = if pe == 0 { vec![first.clone()] } else { vec![] };
        logs.push(log("all", 10, Some((0, 0)), &[]));
        if pe / 2 != 1 {
            logs.push(log("but node 1", 10, Some((0, 1)), &[]));
        }
        if pe / 2 == 2 {
            logs.push(log("node 2", 10, Some((0, 2)), &[]));
        }
        if pe != 1 {
            logs.push(log("but PE 1", 10, Some((0, 3)), &[]));
        }
        logs
    };
    let folder = written(&BigsimFixture {
        grid: [1, 1, 3],
        threads: 2,
        files: 3,
        is_big_endian: true,
        ..BigsimFixture::new((0..6).map(logs).collect())
    });
    // A thread of a node is a rank of its host.
    let result = run_forwards(&replay(FREE, folder.path(), "", "ranks_per_host = 2"));
    let ranks = table(&result, "ranks");
    assert_eq!(sum(ranks, "messages_received"), 5 + 3 + 2 + 4);
    assert_eq!(
        sum(ranks, "bytes_received"),
        5 * 100 + 3 * 200 + 2 * 300 + 4 * 400
    );
    let computed = ranks.u64s("compute_ps").unwrap();
    assert_eq!(computed, [40, 20, 20, 20, 40, 40].map(|ns| ns * 1000));
}

/// More messages than posted receives come while PE 0 executes one log. With rendezvous, the data of those that wait
/// for a receive come at its end.
#[test]
fn many_messages_wait_for_the_end_of_a_log() {
    const MESSAGES: i32 = 200;
    let traces = |bytes: i32| {
        let mut logs = vec![log("long", 100_000, None, &[])];
        logs.extend((0..MESSAGES).map(|id| log("short", 10, Some((1, id)), &[])));
        let sends = FixtureLog {
            sends: (0..MESSAGES).map(|id| (id, 0, 0, bytes)).collect(),
            ..log("sends", 0, None, &[])
        };
        written(&BigsimFixture::new(vec![logs, vec![sends]]))
    };
    let time_ns = |bytes| {
        let result = run_forwards(&replay(FREE, traces(bytes).path(), "", ""));
        assert_eq!(sum(table(&result, "ranks"), "messages_received"), 200);
        result.summary.jobs[0].time_ns
    };
    assert_eq!(time_ns(1000), 102_000.0);
    let asked = time_ns(65_536);
    assert!((102_000.0..102_010.0).contains(&asked), "{asked} ns");
}

#[test]
fn job_traces_repeat_their_applications() {
    let folder = written(&question_and_answer());
    let trace = folder.path().join("t.csv");
    std::fs::write(&trace, "arrival,nodes,duration,application\n0,2,4,a\n").unwrap();
    let (network, _) = SWITCH.split_once("[mpi]").unwrap();
    let text = format!(
        "{network}\n[job_trace]\nfile = {:?}\n[[job_trace.application]]\nname = \"*\"\nworkload = {{ bigsim = {:?} }}\n",
        trace.display().to_string(),
        folder.path().display().to_string()
    );
    let read = Experiment::from_toml(&text, "test.toml", &[]);
    let found = read.map(|_| ()).unwrap_err().to_string();
    assert!(
        found.contains("workload: this workload cannot be repeated"),
        "{found}"
    );
}

#[test]
fn what_a_trace_cannot_do_is_refused() {
    let folder = written(&question_and_answer());
    let refused = |keys: &str, more: &str| {
        let text = replay(SWITCH, folder.path(), keys, more);
        let read = Experiment::from_toml(&text, "test.toml", &[]);
        read.map(|_| ()).unwrap_err().to_string()
    };
    for (keys, more, message) in [
        (
            "",
            "[run]\nexecutor = \"optimistic\"",
            "run.executor: it undoes events",
        ),
        (
            "",
            "repetitions = 2",
            "job.0.workload: this workload cannot be repeated",
        ),
        (
            "",
            "end = \"1 ms\"",
            "job.0.workload: this workload cannot be repeated",
        ),
        (
            ", window = \"all\"",
            "",
            "job.0.workload.window: a BigSim trace names its own start; remove",
        ),
        (
            ", runtime_logs = \"record\"",
            "",
            "job.0.workload.runtime_logs: unknown name 'record'; did you mean 'recorded'?",
        ),
        (", clock = \"cpu\"", "", "unknown key 'clock'"),
    ] {
        let found = refused(keys, more);
        assert!(found.contains(message), "{found}");
    }
    std::fs::remove_file(folder.path().join("bgTrace0")).unwrap();
    let found = refused("", "");
    assert!(
        found.contains("job.0.workload.bigsim: ") && found.contains("bgTrace0: cannot be opened"),
        "{found}"
    );
}
