//! Repetitions of jobs: their times, and jobs that repeat until all others are measured.

use std::sync::Arc;

use des::Time;
use experiment::{Experiment, Job, JobKind};
use results::RunResult;
use testkit::executors::OF_SIMULATIONS;
use workload::{Operation, repeated};

use crate::support::{
    Programs, compute, experiment, job, job_of, jobs_on, receive, run, run_everywhere, send, sum, table,
    try_run,
};

const NETWORK: &str = r#"
[network]
topology = { kind = "torus", sizes = [3, 3] }
routing = { algorithm = "dimension-order" }
"#;

/// A job of these programs that repeats them `times` times, and then until others end.
fn going_on(name: &str, programs: Vec<Vec<Operation>>, times: u64, hosts: &[u32]) -> Job {
    let workload = repeated(Arc::new(Programs(programs)), times, true);
    let mut job = job_of(name, workload, &mpi::MpiSettings::default(), hosts);
    let JobKind::Ranks(ranks) = &mut job.kind else {
        unreachable!()
    };
    (ranks.goes_on, ranks.repetitions) = (true, times);
    job
}

fn alone(name: &str, programs: Vec<Vec<Operation>>, hosts: &[u32]) -> Job {
    job(name, programs, &mpi::MpiSettings::default(), hosts)
}

/// Rows of a job in the table `repetitions`: number, begin, end, time, mean time of a rank.
fn rows(result: &RunResult, job: &str) -> Vec<[u64; 5]> {
    let table = table(result, "repetitions");
    let names: Vec<Option<&str>> = table.texts("job").unwrap().collect();
    let columns = ["repetition", "begin_ps", "end_ps", "time_ps", "mean_rank_time_ps"];
    let columns = columns.map(|column| table.u64s(column).unwrap());
    (0..table.rows())
        .filter(|row| names[*row] == Some(job))
        .map(|row| columns.map(|column| column[row]))
        .collect()
}

#[test]
fn each_repetition_has_a_row() {
    // Rank 1 takes twice as long and waits for no other.
    let programs = vec![vec![compute(100)], vec![compute(200)]];
    let workload = repeated(Arc::new(Programs(programs)), 3, false);
    let mut repeats = job_of("repeats", workload, &mpi::MpiSettings::default(), &[0, 1]);
    repeats.start = Time::from_ns(1000);
    let result = run_everywhere(&mut jobs_on(NETWORK, vec![repeats]));
    let ns = 1000;
    assert_eq!(
        rows(&result, "repeats"),
        [
            [1, 1000 * ns, 1200 * ns, 200 * ns, 150 * ns],
            [2, 1100 * ns, 1400 * ns, 200 * ns, 150 * ns],
            [3, 1200 * ns, 1600 * ns, 200 * ns, 150 * ns],
        ]
    );
    let job = &result.summary.jobs[0];
    let times = job.repetition_times.expect("it repeats");
    assert_eq!((times.complete, times.mean_ns, times.min_ns), (3, 200.0, 200.0));
    assert!((times.per_s.unwrap() - 5e6).abs() < 1e-3);
    assert_eq!(job.time_ns, 600.0);
}

#[test]
fn a_job_without_repetitions_has_no_rows() {
    let result = run(&jobs_on(
        NETWORK,
        vec![alone("once", vec![vec![compute(5)]], &[0])],
    ));
    assert!(result.table("repetitions").is_none());
    assert_eq!(result.summary.jobs[0].repetition_times, None);
}

/// The job that goes on is measured over its own repetitions only, whatever it does later.
#[test]
fn a_job_goes_on_until_the_others_are_measured() {
    let pair = || vec![vec![compute(300), send(1, 4000)], vec![receive(0, 4000)]];
    let long = || alone("long", vec![vec![compute(50_000)]], &[4]);
    let mut together = jobs_on(NETWORK, vec![going_on("pair", pair(), 2, &[0, 1]), long()]);
    let result = run_everywhere(&mut together);
    assert_eq!(result.summary.jobs[1].time_ns, 50_000.0);
    let measured = &result.summary.jobs[0];
    let times = measured.repetition_times.expect("it repeats");
    assert!(times.complete > 20, "{times:?}");
    assert!(measured.finished);

    // The same job alone ends after its two repetitions with the same numbers.
    let workload = repeated(Arc::new(Programs(pair())), 2, false);
    let twice = job_of("pair", workload, &mpi::MpiSettings::default(), &[0, 1]);
    let expected = run(&jobs_on(NETWORK, vec![twice, long()]));
    let job = &expected.summary.jobs[0];
    assert_eq!((measured.time_ns, measured.mpi_ns), (job.time_ns, job.mpi_ns));
    assert_eq!((measured.compute_ns, measured.messages), (600.0 / 2.0, 2));
    assert_eq!((measured.bytes, measured.bound_by.is_some()), (8000, true));
    assert_eq!(rows(&result, "pair")[..2], rows(&expected, "pair")[..]);
    for column in ["time_ps", "compute_ps", "mpi_ps", "messages_received"] {
        assert_eq!(
            sum(table(&result, "ranks"), column),
            sum(table(&expected, "ranks"), column),
            "{column}"
        );
    }
}

/// All jobs go on, so the run ends when the slowest is measured.
#[test]
fn jobs_that_all_go_on_end() {
    let jobs = vec![
        going_on("slow", vec![vec![compute(7000)]], 3, &[0]),
        going_on("fast", vec![vec![compute(1000)]], 1, &[1]),
    ];
    let result = run_everywhere(&mut jobs_on(NETWORK, jobs));
    let complete = |job: usize| result.summary.jobs[job].repetition_times.unwrap().complete;
    assert_eq!((complete(0), complete(1)), (3, 21));
    assert_eq!(result.summary.jobs[1].time_ns, 1000.0);
}

#[test]
fn a_deadlock_beside_a_job_that_goes_on_is_found() {
    let jobs = vec![
        alone("stuck", vec![vec![receive(1, 8)], vec![compute(3)]], &[4, 5]),
        going_on("busy", vec![vec![compute(1000)]], 1, &[0]),
    ];
    let mut experiment = jobs_on(NETWORK, jobs);
    let errors = errors_everywhere(&mut experiment);
    for line in [
        "job 'stuck', rank 0: MPI_Recv for a message from rank 1",
        "1 ranks have not finished",
    ] {
        assert!(errors.contains(line), "'{line}' is missing: {errors}");
    }
}

/// A repetition that takes no time would stop the time.
#[test]
fn an_endless_repetition_without_time_is_refused() {
    let jobs = vec![
        alone("long", vec![vec![compute(50_000)]], &[4]),
        going_on("idle", vec![vec![compute(0)]], 2, &[0]),
    ];
    let error = errors_everywhere(&mut jobs_on(NETWORK, jobs));
    assert!(
        error.contains("rank 0: many repetitions in a row take no time"),
        "{error}"
    );
}

/// The error of the run. All executors give the same one.
fn errors_everywhere(experiment: &mut Experiment) -> String {
    let mut errors = Vec::new();
    for (executor, threads) in OF_SIMULATIONS {
        (experiment.run.executor, experiment.run.threads) = (executor, threads);
        errors.push(try_run(experiment).expect_err("an error").to_string());
    }
    assert!(errors.windows(2).all(|pair| pair[0] == pair[1]), "{errors:#?}");
    errors.remove(0)
}

#[test]
fn the_key_is_read() {
    let text = |key: &str| {
        format!(
            "{NETWORK}\n[[job]]\nname = \"pairs\"\nworkload = {{ motif = \"ping-pong\" }}\n{key}\n\
             [[job]]\nname = \"halo\"\nworkload = {{ motif = \"halo3d\", ranks = 4, iterations = 20 }}\n"
        )
    };
    let mut goes_on = experiment(&text("repeat_until_others_end = true"));
    let result = run_everywhere(&mut goes_on);
    let times = result.summary.jobs[0].repetition_times.expect("it repeats");
    assert!(times.complete > 1, "{times:?}");
    let once = run(&experiment(&text("")));
    assert!(once.summary.jobs[0].repetition_times.is_none());
    assert_eq!(once.summary.jobs[0].time_ns, result.summary.jobs[0].time_ns);
}
