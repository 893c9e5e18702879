//! Jobs of a job trace run when and where its schedule says.

use experiment::Experiment;
use results::JobSummary;
use sim::check;

use crate::support::{run, table};

/// A runs, B waits for it, C is short, D is long.
const TRACE: &str = "arrival,nodes,duration,application\n0,3,4,a\n1,4,3,b\n2,1,2,a\n2,1,5,b\n";

// One rank communicates with no other, and a repetition without computation would take no time.
const EXPERIMENT: &str = r#"
[network]
topology = { kind = "torus", sizes = [2, 2] }
routing = { algorithm = "dimension-order" }
[job_trace]
file = "t.csv"
scheduler = "easy-backfill"
time_scale = 1000000
[[job_trace.application]]
name = "*"
workload = { motif = "allreduce", compute = "100 ns" }
"#;

/// All jobs are stopped at the end that the schedule gives, and their results have a row of the schedule.
#[test]
fn jobs_run_until_their_ends() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.csv"), TRACE).unwrap();
    let file = folder.path().join("x.toml");
    std::fs::write(&file, EXPERIMENT).unwrap();
    let experiment = Experiment::load(&file, &[]).unwrap_or_else(|e| panic!("{e}"));
    let result = run(&experiment);
    let times: Vec<(&str, bool, f64)> = result
        .summary
        .jobs
        .iter()
        .map(|job| (job.name.as_str(), job.stopped, job.time_ns))
        .collect();
    let expected = [
        ("job1", 4000.0),
        ("job2", 3000.0),
        ("job3", 2000.0),
        ("job4", 5000.0),
    ];
    assert_eq!(times, expected.map(|(name, time)| (name, true, time)));
    let complete = |job: &JobSummary| {
        job.repetition_times
            .as_ref()
            .is_some_and(|times| times.complete > 0)
    };
    assert!(result.summary.jobs.iter().all(complete));
    assert_eq!(table(&result, "schedule").rows(), 4);
    assert_eq!(
        result.summary.schedule,
        Some(experiment.schedule.as_ref().unwrap().summary.clone())
    );
}

/// The text of `check` has the schedule, and the processors of a node if the trace says them.
#[test]
fn check_shows_the_schedule_and_the_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.toml");
    let check_of = |name: &str, trace: &str, experiment: &str| {
        std::fs::write(folder.path().join(name), trace).unwrap();
        std::fs::write(&file, experiment).unwrap();
        check(&Experiment::load(&file, &[]).unwrap()).unwrap().to_string()
    };
    let text = check_of("t.csv", TRACE, EXPERIMENT);
    let schedule = "schedule  easy-backfill: 4 of 4 jobs on 4 hosts, utilisation 64.6 %, wait 2 s in the mean, 5 s at most";
    assert!(text.contains(schedule), "{text}");
    assert!(!text.contains("processors"), "{text}");
    let line = "4 0 -1 10 9 -1 -1 9 -1 -1 1 1 1 7 1 1 -1 -1\n";
    let trace = format!("; MaxNodes: 4\n; MaxProcs: 16\n{line}");
    let text = check_of("t.swf", &trace, &EXPERIMENT.replace("t.csv", "t.swf"));
    assert!(
        text.contains("nodes     of the trace have 4 processors each"),
        "{text}"
    );
}
