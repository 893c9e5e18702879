//! Several jobs on one network: their effect on each other, repetitions, computation, and the end of a run with
//! endless traffic.

use std::sync::Arc;

use des::{Executor, Time};
use experiment::{Experiment, Job, JobKind, RankJob};
use mpi::ComputeRule;
use results::{RunResult, SlowDown};
use sim::{Error, RunContext, RunControl, run_with_interference};
use testkit::executors::{OF_DISTRIBUTED_SIMULATIONS, OF_SIMULATIONS};
use testkit::processes::ThreadProcess;
use topology::HostId;
use workload::{Call, Operation, Program, TraceError, Workload, repeated};

use crate::support::{
    Programs, assert_same, compute, experiment, job, job_beside_traffic, jobs_on, receive, run,
    run_everywhere, send, sum, table,
};

/// A line of routers with two hosts each. All traffic between the two halves shares one link.
const LINE: &str = r#"
[network]
topology = { kind = "mesh", sizes = [4], hosts_per_router = 2 }
routing = { algorithm = "dimension-order" }
link = { bandwidth = "10 Gbps", latency = "50 ns" }
"#;

/// Rank 0 sends to rank 1, which answers, for this number of rounds.
fn ping_pong(rounds: usize, bytes: u64) -> Vec<Vec<Operation>> {
    let often = |round: [Operation; 2]| vec![round; rounds].concat();
    vec![
        often([send(1, bytes), receive(1, bytes)]),
        often([receive(0, bytes), send(0, bytes)]),
    ]
}

/// The first rank floods the second one with messages.
fn flood(messages: usize, bytes: u64) -> Vec<Vec<Operation>> {
    vec![vec![send(1, bytes); messages], vec![receive(0, bytes); messages]]
}

fn interference(experiment: &Experiment) -> (RunResult, Vec<SlowDown>) {
    let result = run_with_interference(experiment, &RunControl::new(), &RunContext::default());
    let result = result.unwrap_or_else(|e| panic!("{e}")).expect("it is alone");
    let jobs = result
        .summary
        .interference
        .clone()
        .expect("it was asked for")
        .jobs;
    (result, jobs)
}

/// All executors and numbers of processes give the same result.
fn interference_everywhere(experiment: &mut Experiment) -> (RunResult, Vec<SlowDown>) {
    let mut all = Vec::new();
    for (executor, threads) in OF_SIMULATIONS {
        (experiment.run.executor, experiment.run.threads) = (executor, threads);
        all.push(interference(experiment));
    }
    for (executor, processes, threads) in OF_DISTRIBUTED_SIMULATIONS {
        (experiment.run.executor, experiment.run.threads) = (executor, threads);
        let mut results = ThreadProcess::run(processes, |process| {
            let way = RunContext {
                processes: process,
                ..RunContext::default()
            };
            run_with_interference(experiment, &RunControl::new(), &way).unwrap_or_else(|e| panic!("{e}"))
        })
        .into_iter();
        let first = results
            .next()
            .flatten()
            .expect("the first process has the result");
        assert!(results.all(|other| other.is_none()), "the others have none");
        let jobs = first.summary.interference.clone().expect("it was asked for").jobs;
        all.push((first, jobs));
    }
    for (result, jobs) in &all[1..] {
        assert_same(&all[0].0, result, "interference");
        assert_eq!(&all[0].1, jobs);
    }
    all.swap_remove(0)
}

#[test]
fn jobs_that_share_a_link_slow_each_other_down() {
    let mpi = mpi::MpiSettings::default();
    // Hosts 0 and 1 are on the first router, 6 and 7 on the last. The third job has a router of its own.
    let jobs = vec![
        job("pairs", ping_pong(20, 20_000), &mpi, &[0, 6]),
        job("flood", flood(50, 20_000), &mpi, &[1, 7]),
        job("aside", ping_pong(5, 500), &mpi, &[4, 5]),
    ];
    let mut experiment = jobs_on(LINE, jobs);
    let (result, slow_downs) = interference_everywhere(&mut experiment);
    let plain = run(&experiment);
    assert_same(&plain, &result, "what is run besides");
    let factor = |at: usize| slow_downs[at].slowdown.expect("it ended");
    assert!(factor(0) > 1.1 && factor(0) < 3.0, "{slow_downs:#?}");
    assert!(factor(1) > 1.01 && factor(1) < 3.0, "{slow_downs:#?}");
    assert_eq!(factor(2), 1.0, "{slow_downs:#?}");
    // The standalone time of a job is the time of an experiment with only this job on these hosts.
    let by_itself = run(&jobs_on(
        LINE,
        vec![job("pairs", ping_pong(20, 20_000), &mpi, &[0, 6])],
    ));
    assert_eq!(slow_downs[0].alone_ns, by_itself.summary.jobs[0].time_ns);
    assert_eq!(slow_downs[0].alone_digest, by_itself.summary.digest);
    assert_eq!(slow_downs[0].time_ns, plain.summary.jobs[0].time_ns);
    assert_eq!(slow_downs[1].name, "flood");
}

#[test]
fn a_job_alone_is_not_slowed_down() {
    let mpi = mpi::MpiSettings::default();
    let experiment = jobs_on(LINE, vec![job("pairs", ping_pong(5, 5_000), &mpi, &[0, 6])]);
    let (result, jobs) = interference(&experiment);
    assert_eq!(jobs[0].slowdown, Some(1.0));
    assert_eq!(jobs[0].alone_digest, result.summary.digest);
}

/// Traffic slows a job down, and has no slowdown itself. A job that is cut off has no factor.
#[test]
fn traffic_interferes_and_is_not_compared() {
    let mpi = mpi::MpiSettings::default();
    let pairs = || job("pairs", ping_pong(20, 20_000), &mpi, &[0, 6]);
    let mut experiment = job_beside_traffic(LINE, 0.4, pairs());
    let (_, jobs) = interference_everywhere(&mut experiment);
    assert_eq!(jobs.len(), 1);
    assert!(jobs[0].slowdown.is_some_and(|factor| factor > 1.05), "{jobs:#?}");
    experiment.run.until = Some(Time::from_ns(jobs[0].alone_ns as u64 + 1));
    let (_, cut_off) = interference(&experiment);
    assert_eq!((cut_off[0].slowdown, cut_off[0].alone_finished), (None, true));
    experiment.run.until = Some(Time::from_ns(1000));
    assert!(!interference(&experiment).1[0].alone_finished);
}

#[test]
fn without_ranks_there_is_nothing_to_compare() {
    let text =
        format!("{LINE}[[job]]\ntraffic = {{ pattern = \"uniform\", load = 0.1 }}\n[run]\nuntil = \"1 us\"");
    let error =
        run_with_interference(&experiment(&text), &RunControl::new(), &RunContext::default()).unwrap_err();
    assert!(matches!(error, Error::Interference(_)), "{error}");
    assert!(error.to_string().contains("no job has ranks"), "{error}");
}

/// The error of one of the runs ends all of them, in all processes.
#[test]
fn a_job_that_waits_for_ever_alone_is_told_everywhere() {
    let mpi = mpi::MpiSettings::default();
    let jobs = vec![
        job("pairs", ping_pong(5, 500), &mpi, &[0, 6]),
        job("cycle", vec![vec![receive(0, 8)]], &mpi, &[1]),
    ];
    let experiment = jobs_on(LINE, jobs);
    let errors = ThreadProcess::run(2, |process| {
        let way = RunContext {
            processes: process,
            ..RunContext::default()
        };
        let result = run_with_interference(&experiment, &RunControl::new(), &way);
        result.map(|_| ()).unwrap_err().to_string()
    });
    assert!(errors[0].contains("job 'cycle', rank 0"), "{errors:?}");
    assert_eq!(errors[1], Error::Elsewhere.to_string());
}

/// A workload that says that its programs read answers.
struct Answered(Arc<dyn Workload>);

impl Workload for Answered {
    fn ranks(&self) -> u32 {
        self.0.ranks()
    }

    fn communicators(&self) -> Arc<[Vec<u32>]> {
        self.0.communicators()
    }

    fn program(&self, rank: u32) -> Result<Box<dyn Program>, TraceError> {
        self.0.program(rank)
    }

    fn reacts(&self) -> bool {
        true
    }
}

#[test]
fn programs_that_read_answers_run_in_one_process() {
    let mpi = mpi::MpiSettings::default();
    let workload = Arc::new(Answered(Arc::new(Programs(ping_pong(5, 500)))));
    let mut experiment = jobs_on(LINE, vec![on_first_hosts(workload, &mpi)]);
    experiment.run.executor = Executor::Conservative;
    let errors = ThreadProcess::run(2, |process| {
        let way = RunContext {
            processes: process,
            ..RunContext::default()
        };
        let result = run_with_interference(&experiment, &RunControl::new(), &way);
        result.map(|_| ()).unwrap_err().to_string()
    });
    for error in errors {
        assert!(
            error.contains("the programs of job 'job' read answers"),
            "{error}"
        );
    }
}

/// A job of these programs on hosts 0, 1, ..., with changes.
fn on_first_hosts(workload: Arc<dyn Workload>, settings: &mpi::MpiSettings) -> Job {
    let hosts = (0..workload.ranks()).map(HostId).collect();
    Job {
        name: "job".into(),
        start: Time::ZERO,
        end: None,
        traffic_class: 0,
        kind: JobKind::Ranks(
            RankJob::new(workload, settings.clone(), hosts).expect("a job that can be built"),
        ),
    }
}

#[test]
fn a_repeated_job_takes_as_often_as_long() {
    let mpi = mpi::MpiSettings::default();
    let programs = || {
        let mut programs = ping_pong(3, 3_000);
        programs[0].insert(0, compute(700));
        Arc::new(Programs(programs))
    };
    let once = run(&jobs_on(LINE, vec![on_first_hosts(programs(), &mpi)]));
    let mut five_times = jobs_on(LINE, vec![on_first_hosts(repeated(programs(), 5, false), &mpi)]);
    let five_times = run_everywhere(&mut five_times);
    let (one, five) = (&once.summary.jobs[0], &five_times.summary.jobs[0]);
    assert_eq!((five.messages, five.bytes), (5 * one.messages, 5 * one.bytes));
    assert_eq!(sum(table(&five_times, "ranks"), "compute_ps"), 5 * 700_000);
    // The last rank to finish is the one that began: each round ends where the next begins.
    let difference = five.time_ns - 5.0 * one.time_ns;
    assert!(
        difference.abs() < 0.01 * five.time_ns,
        "{} and 5 times {}",
        five.time_ns,
        one.time_ns
    );
}

/// Requests that no repetition waits for, and ranks that are ahead, do not affect the next repetition.
#[test]
fn repetitions_do_not_clash() {
    let isend = Operation::Send {
        to: 1,
        tag: 0,
        communicator: 0,
        bytes: 100,
        request: Some(7),
        call: Call::Isend,
    };
    let programs = vec![
        vec![isend, compute(10)],
        vec![receive(0, 100), compute(3_000), send(2, 40_000)],
        vec![receive(1, 40_000)],
    ];
    let workload = repeated(Arc::new(Programs(programs)), 20, false);
    let mut experiment = jobs_on(LINE, vec![on_first_hosts(workload, &mpi::MpiSettings::default())]);
    let result = run_everywhere(&mut experiment);
    assert!(result.summary.jobs[0].finished);
    assert_eq!(sum(table(&result, "ranks"), "messages_received"), 40);
}

/// One rank computes in named regions.
struct Parts;

struct Computations(std::vec::IntoIter<Operation>);

impl Program for Computations {
    fn next(&mut self) -> Result<Option<Operation>, TraceError> {
        Ok(self.0.next())
    }
}

impl Workload for Parts {
    fn ranks(&self) -> u32 {
        1
    }
    fn communicators(&self) -> Arc<[Vec<u32>]> {
        Arc::new([vec![0]])
    }
    fn regions(&self) -> Arc<[String]> {
        Arc::new(["solve".to_string(), "write".to_string()])
    }
    fn program(&self, _: u32) -> Result<Box<dyn Program>, TraceError> {
        let spans = [
            (1_000, None),
            (2_000, Some(0)),
            (4_000, Some(1)),
            (8_000, Some(0)),
        ];
        let all = spans.map(|(ns, region)| Operation::Compute {
            ps: ns * 1000,
            region,
        });
        Ok(Box::new(Computations(Vec::from(all).into_iter())))
    }
}

#[test]
fn computations_follow_the_rule() {
    for (rule, ns) in [
        ("", 15_000.0),
        ("compute = \"off\"", 0.0),
        ("compute = { scale = 2 }", 30_000.0),
        ("compute = { each = \"3 us\" }", 12_000.0),
        ("compute = { regions = { solve = 0.5 } }", 10_000.0),
        ("compute = { scale = 0, regions = { write = \"7 us\" } }", 7_000.0),
    ] {
        let section = config::Section::from_toml(rule, "x.toml").unwrap();
        let settings = mpi::MpiSettings {
            compute: ComputeRule::read(&section, &Parts.regions()).unwrap(),
            ..mpi::MpiSettings::default()
        };
        let mut experiment = jobs_on(LINE, vec![on_first_hosts(Arc::new(Parts), &settings)]);
        let result = run_everywhere(&mut experiment);
        assert_eq!(result.summary.jobs[0].time_ns, ns, "{rule}");
        assert_eq!(result.summary.jobs[0].compute_ns, ns, "{rule}");
    }
}

/// Without `until`, the run ends with the ranks. With it, the run may end earlier.
#[test]
fn a_run_ends_with_its_ranks_although_traffic_goes_on() {
    let mpi = mpi::MpiSettings::default();
    let pairs = || job("pairs", ping_pong(10, 5_000), &mpi, &[0, 6]);
    let mut experiment = job_beside_traffic(LINE, 0.2, pairs());
    let open = run_everywhere(&mut experiment);
    let of = &open.summary.jobs[1];
    assert!(of.finished && of.time_ns > 0.0);
    assert!(
        open.summary.run.simulated_ns < of.time_ns + 1_000.0,
        "{}",
        open.summary.run.simulated_ns
    );
    assert!(open.summary.jobs[0].messages > 0);
    experiment.run.until = Some(Time::from_ns(of.time_ns as u64 / 2));
    let cut = run_everywhere(&mut experiment);
    assert!(!cut.summary.jobs[1].finished);
    experiment.run.until = Some(Time::from_ns(10 * of.time_ns as u64));
    let late = run_everywhere(&mut experiment);
    assert_same(&open, &late, "an end that is never reached");
}
