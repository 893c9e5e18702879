//! An application that waits for ever ends the run with an error that says who waits for whom, whatever
//! else is on the network; and no other application is taken for one.

use des::Time;
use sim::Experiment;
use testkit::executors::EXECUTORS;
use workload::{Call, Operation};

use crate::support::{
    compute, job, job_beside_traffic, jobs_on, receive, run, run_everywhere, send, try_run,
};

const NETWORK: &str = r#"
[network]
topology = { kind = "torus", sizes = [3, 3] }
routing = { algorithm = "dimension-order" }
"#;

/// Ranks 0 and 1 receive before they send; rank 2 waits for a send that nobody makes, and rank 3 is done.
fn knot() -> Vec<Vec<Operation>> {
    vec![
        vec![compute(700), receive(1, 64), send(1, 64)],
        vec![send(3, 50_000), receive(0, 64), send(0, 64)],
        vec![receive(3, 64)],
        vec![receive(1, 50_000)],
    ]
}

/// The error of the run, which is the same from all executors.
fn error_everywhere(experiment: &mut Experiment) -> String {
    let mut errors = Vec::new();
    for (executor, threads) in EXECUTORS {
        (experiment.run.executor, experiment.run.threads) = (executor, threads);
        let error = try_run(experiment).expect_err("the application waits for ever");
        assert!(matches!(error, sim::Error::Deadlock(_)), "{error}");
        errors.push(error.to_string());
    }
    assert!(errors.windows(2).all(|e| e[0] == e[1]), "{errors:#?}");
    errors.remove(0)
}

fn assert_names_the_knot(error: &str) {
    for line in [
        "job 'knot', rank 0: MPI_Recv for a message from rank 1, tag 0, communicator 0",
        "job 'knot', rank 1: MPI_Recv for a message from rank 0, tag 0, communicator 0",
        "job 'knot', rank 2: MPI_Recv for a message from rank 3, tag 0, communicator 0",
        "3 ranks have not finished",
    ] {
        assert!(error.contains(line), "'{line}' is missing: {error}");
    }
    assert!(!error.contains("rank 3:"), "rank 3 has finished: {error}");
}

#[test]
fn alone_it_is_found_when_nothing_is_left_to_happen() {
    let knot = job("knot", knot(), &mpi::Settings::default(), &[0, 4, 4, 8]);
    assert_names_the_knot(&error_everywhere(&mut jobs_on(NETWORK, vec![knot])));
}

#[test]
fn beside_endless_traffic_the_watchdog_finds_it() {
    let knot = job("knot", knot(), &mpi::Settings::default(), &[0, 4, 4, 8]);
    let mut experiment = job_beside_traffic(NETWORK, 0.3, knot);
    experiment.run.watchdog = Time::from_ns(20_000);
    let error = error_everywhere(&mut experiment);
    assert_names_the_knot(&error);
    // All messages are there after some microseconds: the first round, which asks one lookahead after
    // the interval, finds nothing under way.
    assert!(error.contains("at 20.05 us"), "{error}");
}

/// Ranks that compute, start late, or have a message under way for many rounds are not stuck.
#[test]
fn whoever_can_go_on_is_left_alone() {
    let isend = Operation::Send {
        to: 1,
        tag: 0,
        communicator: 0,
        bytes: 3_000_000,
        request: Some(1),
        call: Call::Isend,
    };
    let wait = Operation::Wait {
        requests: vec![1],
        call: Call::Wait,
    };
    let programs = vec![
        // A computation of 50 rounds, while everybody else waits for this rank.
        vec![compute(50_000), isend, wait, receive(3, 100_000)],
        // The message takes more than 240 rounds.
        vec![receive(0, 3_000_000), send(2, 64)],
        vec![receive(1, 64), send(3, 64)],
        // Through memory: ranks 2 and 3 share a host.
        vec![receive(2, 64), send(0, 100_000)],
    ];
    let with_watchdog = |interval: Time| {
        let mut slow = job("slow", programs.clone(), &mpi::Settings::default(), &[0, 4, 8, 8]);
        slow.start = Time::from_ns(5_000);
        let mut experiment = job_beside_traffic(NETWORK, 0.1, slow);
        experiment.run.watchdog = interval;
        experiment
    };
    let often = run_everywhere(&mut with_watchdog(Time::from_ns(1_000)));
    assert!(often.summary.jobs[1].finished);
    // Being asked changes nothing: a run without a single round has the same result.
    let never = run(&with_watchdog(Time::from_ns(1_000_000_000)));
    assert_eq!(often.summary.digest, never.summary.digest);
    assert!(often.summary.run.events_processed > never.summary.run.events_processed);
}
