//! Experiments with a job trace: jobs with starts and hosts, and keys that are refused.

use std::path::Path;

use crate::{Experiment, JobKind};

/// A runs, B waits for it, C is short, D is long: see the tests of schedules.
const BACKFILL: &str = "arrival,nodes,duration,application\n0,3,4,a\n1,4,3,b\n2,1,2,a\n2,1,5,b\n";
const EASY: &str = "file = \"t.csv\"\nscheduler = \"easy-backfill\"\ntime_scale = 1000000\n";
const ANY: &str = "[[job_trace.application]]\nname = \"*\"\nworkload = { motif = \"allreduce\" }\n";

fn load(folder: &Path, trace: (&str, &str), keys: &str) -> Result<Experiment, String> {
    std::fs::write(folder.join(trace.0), trace.1).unwrap();
    let network = "[network]\ntopology = { kind = \"torus\", sizes = [2, 2] }\n\
                   routing = { algorithm = \"dimension-order\" }\n";
    let file = folder.join("x.toml");
    std::fs::write(&file, format!("{network}[job_trace]\n{keys}")).unwrap();
    Experiment::load(&file, &[]).map_err(|error| error.to_string())
}

fn built(trace: (&str, &str), keys: &str) -> Experiment {
    let folder = tempfile::tempdir().unwrap();
    load(folder.path(), trace, keys).unwrap_or_else(|error| panic!("{error}"))
}

/// Name, start in microseconds, and host of each rank.
fn jobs(experiment: &Experiment) -> Vec<(&str, u64, Vec<u32>)> {
    let shown = experiment.jobs.iter().map(|job| {
        let JobKind::Ranks(ranks) = &job.kind else {
            panic!("{} has no ranks", job.name)
        };
        let hosts = ranks.hosts.iter().map(|host| host.0).collect();
        (job.name.as_str(), job.start.ps() / 1_000_000, hosts)
    });
    shown.collect()
}

#[test]
fn jobs_start_when_and_where_the_schedule_says() {
    let experiment = built(("t.csv", BACKFILL), &format!("{EASY}{ANY}"));
    assert_eq!(
        jobs(&experiment),
        [
            ("job1", 0, vec![0, 1, 2]),
            ("job2", 4, vec![0, 1, 2, 3]),
            ("job3", 2, vec![3]),
            ("job4", 7, vec![0]),
        ]
    );
    let schedule = experiment.schedule.as_ref().unwrap();
    let ends: Vec<u64> = schedule
        .rows
        .iter()
        .flat_map(|row| row.simulated_end_ps)
        .collect();
    assert_eq!(ends, [4_000_000, 7_000_000, 4_000_000, 12_000_000]);
    assert_eq!(
        schedule.summary.to_string(),
        "easy-backfill: 4 of 4 jobs on 4 hosts, utilisation 64.6 %, wait 2 s in the mean, 5 s at most"
    );
}

/// A and C run at its start, D at its end.
#[test]
fn a_part_begins_with_the_jobs_that_run() {
    let experiment = built(
        ("t.csv", BACKFILL),
        &format!("{EASY}from = 3\nuntil = \"8000 ms\"\n{ANY}"),
    );
    assert_eq!(
        jobs(&experiment),
        [
            ("job1", 0, vec![0, 1, 2]),
            ("job2", 1, vec![0, 1, 2, 3]),
            ("job3", 0, vec![3]),
            ("job4", 4, vec![0]),
        ]
    );
    let schedule = experiment.schedule.as_ref().unwrap();
    let ends: Vec<u64> = schedule
        .rows
        .iter()
        .flat_map(|row| row.simulated_end_ps)
        .collect();
    assert_eq!(ends, [1_000_000, 4_000_000, 1_000_000, 5_000_000]);
    assert_eq!(schedule.summary.utilisation, 17.0 / 20.0);
    assert_eq!(schedule.summary.wait_s, None);
    let experiment = built(("t.csv", BACKFILL), &format!("{EASY}from = 7\n{ANY}"));
    assert_eq!(jobs(&experiment), [("job4", 0, vec![0])]);
}

#[test]
fn processors_become_nodes_and_ranks() {
    let line = |number: u32, arrival: u32, processors: i32| {
        format!("{number} {arrival} -1 10 {processors} -1 -1 9 -1 -1 1 1 1 7 1 1 -1 -1\n")
    };
    let lines = line(4, 0, 9) + &line(5, 0, 99) + &line(9, 1, -1);
    let trace = format!("; MaxNodes: 4\n; MaxProcs: 16\n{lines}");
    let keys = "file = \"t.swf\"\nranks_per_host = 2\ninvalid = \"skip\"\n[[job_trace.application]]\nname = \"7\"\n\
                workload = { motif = \"allreduce\" }\nmapping = \"round-robin\"\n";
    let experiment = built(("t.swf", &trace), keys);
    // 9 processors of nodes with 4 need 3 nodes.
    let names: Vec<_> = jobs(&experiment)
        .into_iter()
        .map(|(name, _, hosts)| (name, hosts))
        .collect();
    assert_eq!(
        names,
        [("job4", vec![0, 1, 2, 0, 1, 2]), ("job9", vec![0, 1, 2, 0, 1, 2])]
    );
    let left_out = &experiment.schedule.as_ref().unwrap().summary.left_out;
    let one: Vec<_> = left_out
        .iter()
        .map(|(reason, jobs)| (reason.as_str(), *jobs))
        .collect();
    assert_eq!(one, [("more nodes than the machine has", 1)]);
    let keys = format!("processors_per_node = 9\n{keys}");
    let names: Vec<_> = jobs(&built(("t.swf", &trace), &keys))
        .into_iter()
        .map(|job| job.2)
        .collect();
    assert_eq!(names, [vec![0, 0], vec![1, 1]]);
}

#[test]
fn a_selection_of_lines_is_scheduled() {
    let experiment = built(("t.csv", BACKFILL), &format!("{EASY}first = 3\njobs = 1\n{ANY}"));
    assert_eq!(jobs(&experiment), [("job1", 0, vec![0])]);
}

#[test]
fn wrong_traces_are_refused_by_key_and_line() {
    let csv = "arrival,nodes,duration,application\n";
    let any = |keys: &str| format!("{keys}\n{ANY}");
    let file = "file = \"t.csv\"";
    for (lines, keys, needle) in [
        ("0,1,1,a", any(""), "job_trace.file: missing"),
        (
            "0,1,1,a",
            any("file = \"none.csv\""),
            "job_trace.file: none.csv: ",
        ),
        (
            "0,1,1,a",
            any("file = \"t.txt\""),
            "job_trace.format: the extension of t.txt tells no format",
        ),
        (
            "0,1,1,a",
            any("file = \"t.csv\"\nformat = \"swff\""),
            "job_trace.format: unknown name 'swff'; did you mean 'swf'?",
        ),
        (
            "0,1,1,a",
            any("file = \"t.csv\"\nscheduler = \"fcf\""),
            "job_trace.scheduler: unknown name 'fcf'; did you mean 'fcfs'?",
        ),
        (
            "0,1,1,a",
            any("file = \"t.csv\"\nplacment = \"linear\""),
            "unknown key 'placment'; did you mean 'placement'?",
        ),
        (
            "0,1,1,a",
            any("file = \"t.csv\"\nplacement = { hostlist = \"n1\" }"),
            "job_trace.placement: names single hosts",
        ),
        (
            "0,1,1,a",
            any("file = \"t.csv\"\ntime_scale = 0"),
            "job_trace.time_scale: 0 is out of range",
        ),
        (
            "0,1,1,a",
            any("file = \"t.csv\"\nfirst = 2"),
            "job_trace.file: t.csv has 1 jobs; expected at least 2",
        ),
        (
            "0,1,1,a",
            any("file = \"t.csv\"\nfrom = 9"),
            "job_trace.from: no job runs between",
        ),
        (
            "0,1,1,a",
            any("file = \"t.csv\"\nfrom = 2\nuntil = 1"),
            "job_trace.until: 1 s is not after from = 2 s",
        ),
        (
            "0,1,1,a",
            any("file = \"t.csv\"\nprocessors_per_node = 2"),
            "counts nodes; remove this key",
        ),
        ("0,1,1,a", file.into(), "job_trace.application: missing"),
        (
            "0,5,1,a",
            any(file),
            "t.csv:2: it needs 5 nodes, and the machine has 4 hosts",
        ),
        (
            "0,0,1,a",
            any(file),
            "t.csv:2: its number of nodes is 0 or not known; expected a job that can run here",
        ),
        ("0,1,0,a", any(file), "t.csv:2: its duration is 0 or not known"),
        (",1,1,a", any(file), "t.csv:2: its arrival is not known"),
        (
            ",1,1,a",
            any("file = \"t.csv\"\ninvalid = \"skip\""),
            "t.csv: none of the 1 jobs can run",
        ),
        (
            "0,1,1 ns,a",
            any("file = \"t.csv\"\ntime_scale = 1000000"),
            "the job job1 would run for less than 1 ps",
        ),
        ("0,1,9000000,a", any(file), "more than 100 days of simulated time"),
        (
            "0,1,1,a",
            format!("{file}\n{}", ANY.replace('*', "b")),
            "t.csv:2: the application 'a' has no table",
        ),
        (
            "0,1,1,a",
            format!("{file}\n{ANY}{ANY}"),
            "the application '*' has two tables",
        ),
        (
            "0,1,1,a",
            format!("{file}\n{}", ANY.replace("allreduce\"", "allreduce\", ranks = 3")),
            "job_trace.application.0.workload.ranks: the trace gives the size of each job",
        ),
        (
            "0,1,1,a",
            format!("{file}\n{}", ANY.replace("allreduce\"", "allreduce\", byte = 3")),
            "job_trace.application.0.workload.byte: unknown key 'byte'; did you mean 'bytes'?",
        ),
        (
            "0,4,1,a\n1,3,1,a",
            format!("{file}\n{}", ANY.replace("allreduce", "random-pairs")),
            "; for the job job2 of t.csv:3",
        ),
        (
            "0,1,1,a",
            format!("{file}\n[[job_trace.application]]\nname = \"a\""),
            "found none of them",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let trace = format!("{csv}{lines}\n");
        let message = load(folder.path(), ("t.csv", &trace), &keys)
            .map(|_| ())
            .unwrap_err();
        assert!(message.contains(needle), "{lines} {keys}: {message}");
    }
}

#[test]
fn headers_that_give_no_processors_of_a_node_are_refused() {
    let keys =
        "file = \"t.swf\"\n[[job_trace.application]]\nname = \"7\"\nworkload = { motif = \"allreduce\" }\n";
    let lines = "1 0 -1 10 4 -1 -1 4 -1 -1 1 1 1 7 1 1 -1 -1\n";
    let refused = |header: &str, keys: &str| {
        let folder = tempfile::tempdir().unwrap();
        let trace = format!("{header}\n{lines}");
        load(folder.path(), ("t.swf", &trace), keys)
            .map(|experiment| jobs(&experiment)[0].2.len())
            .unwrap_err()
    };
    let message = refused("; MaxNodes: 128\n; MaxProcs: 1000", keys);
    let says =
        "job_trace.processors_per_node: MaxProcs 1000 and MaxNodes 128 of the file give no whole number";
    assert!(message.contains(says), "{message}");
    for wrong in ["~1024", "1,24", "many", "", "0"] {
        let message = refused(&format!("; MaxNodes: 4\n; MaxProcs: {wrong}"), keys);
        let says = format!("the header MaxProcs is '{wrong}'; expected a whole number of at least 1");
        assert!(message.contains("t.swf") && message.contains(&says), "{message}");
    }
    for header in [
        "; MaxNodes: 4\n; MaxProcs: 1,024",
        ";maxnodes = 4\n;MAXPROCS=1024 (four racks)",
        "; MaxNodes: 4\n; MaxProcs: -1",
    ] {
        let hosts = built(("t.swf", &format!("{header}\n{lines}")), keys);
        let expected = if header.contains("-1") { 4 } else { 1 };
        assert_eq!(jobs(&hosts)[0].2.len(), expected, "{header}");
    }
}
