//! Jobs of ranks that are stopped at a given time, and jobs that use the same hosts one after another.

use std::sync::Arc;

use des::Time;
use experiment::{Experiment, Job, JobKind};
use results::RunResult;
use sim::{Error, RunContext, RunControl, run_with_interference};
use testkit::executors::OF_SIMULATIONS;
use workload::{Operation, repeated, repeated_without_end};

use crate::support::{
    Programs, compute, experiment, job, job_beside_traffic, job_of, jobs_on, receive, run, run_everywhere,
    send, table, try_run,
};

const NETWORK: &str = r#"
[network]
topology = { kind = "mesh", sizes = [4], hosts_per_router = 2 }
routing = { algorithm = "dimension-order" }
link = { bandwidth = "10 Gbps", latency = "50 ns" }
"#;

/// A job that repeats these programs from `start` until `end`, in nanoseconds.
fn stopped(name: &str, programs: Vec<Vec<Operation>>, (start, end): (u64, u64), hosts: &[u32]) -> Job {
    let workload = repeated_without_end(Arc::new(Programs(programs)));
    let mut job = job_of(name, workload, &mpi::MpiSettings::default(), hosts);
    (job.start, job.end) = (Time::from_ns(start), Some(Time::from_ns(end)));
    let JobKind::Ranks(ranks) = &mut job.kind else {
        unreachable!()
    };
    ranks.repetitions = 0;
    job
}

fn ping_pong(bytes: u64) -> Vec<Vec<Operation>> {
    vec![
        vec![compute(100), send(1, bytes), receive(1, bytes)],
        vec![receive(0, bytes), send(0, bytes)],
    ]
}

/// Times of the repetitions of a job, in picoseconds.
fn repetitions(result: &RunResult, job: &str) -> Vec<u64> {
    let table = table(result, "repetitions");
    let times = table.texts("job").unwrap().zip(table.u64s("time_ps").unwrap());
    times
        .filter_map(|(name, time)| (name == Some(job)).then_some(*time))
        .collect()
}

/// Values of a column of the table `ranks` for a job.
fn of_ranks(result: &RunResult, job: &str, column: &str) -> Vec<u64> {
    let table = table(result, "ranks");
    let values = table.texts("job").unwrap().zip(table.u64s(column).unwrap());
    values
        .filter_map(|(name, value)| (name == Some(job)).then_some(*value))
        .collect()
}

#[test]
fn a_ping_pong_is_stopped_in_the_middle_of_a_repetition() {
    // The period is known from a run that ends by itself.
    let times = 3;
    let workload = repeated(Arc::new(Programs(ping_pong(3000))), times, false);
    let whole = run(&jobs_on(
        NETWORK,
        vec![job_of("pairs", workload, &mpi::MpiSettings::default(), &[0, 6])],
    ));
    let known = repetitions(&whole, "pairs");
    let three: u64 = known.iter().sum();
    let (start, end) = (2_000, 2_000 + (three + known[0] / 2) / 1000);
    let mut job = stopped("pairs", ping_pong(3000), (start, end), &[0, 6]);
    let result = run_everywhere(&mut jobs_on(NETWORK, vec![job]));
    let pairs = &result.summary.jobs[0];
    assert_eq!(
        (pairs.stopped, pairs.finished, pairs.repetitions),
        (true, false, 0)
    );
    assert_eq!(pairs.time_ns, (end - start) as f64);
    assert_eq!(pairs.repetition_times.unwrap().complete, 3);
    assert_eq!(repetitions(&result, "pairs"), known);
    let length = (end - start) * 1000;
    assert_eq!(of_ranks(&result, "pairs", "time_ps"), [length; 2]);
    assert!(pairs.bound_by.is_none() && pairs.unreceived.is_none());
    // The rank computes 100 ns in each of the repetitions that it has begun.
    assert_eq!(of_ranks(&result, "pairs", "compute_ps")[0], 400_000);
    assert!(result.summary.notes.iter().all(|note| note.kind != "cut-off"));

    // A limit that is not reached changes nothing.
    let workload = repeated(Arc::new(Programs(ping_pong(3000))), times, false);
    job = job_of("pairs", workload, &mpi::MpiSettings::default(), &[0, 6]);
    job.end = Some(Time(3 * three));
    let result = run_everywhere(&mut jobs_on(NETWORK, vec![job]));
    assert_eq!(result.summary.digest, whole.summary.digest);
    assert_eq!(
        (result.summary.jobs[0].finished, result.summary.jobs[0].stopped),
        (true, false)
    );
}

/// What a rank would do at the end itself does not happen, in whatever order its host gets the events of that time.
#[test]
fn the_end_does_not_belong_to_the_job() {
    let job = stopped("steps", vec![vec![compute(100)]; 2], (0, 300), &[0, 1]);
    let result = run_everywhere(&mut jobs_on(NETWORK, vec![job]));
    assert_eq!(repetitions(&result, "steps"), [100_000; 2]);
    assert_eq!(result.summary.jobs[0].compute_ns, 300.0);

    // A message that arrives at the end is discarded, from either side.
    for hosts in [[0, 6], [6, 0]] {
        let programs = vec![vec![send(1, 500)], vec![receive(0, 500)]];
        let once = run(&jobs_on(
            NETWORK,
            vec![job_named("once", programs.clone(), &hosts)],
        ));
        let arrival = of_ranks(&once, "once", "time_ps")[1];
        for (end, received) in [(arrival, 0), (arrival + 1, 1)] {
            let mut job = job_named("once", programs.clone(), &hosts);
            job.end = Some(Time(end));
            let result = run_everywhere(&mut jobs_on(NETWORK, vec![job]));
            assert_eq!(
                of_ranks(&result, "once", "messages_received"),
                [0, received],
                "{end}"
            );
            assert_eq!(result.summary.jobs[0].stopped, received == 0);
        }
    }
}

/// A job without MPI overheads.
fn job_named(name: &str, programs: Vec<Vec<Operation>>, hosts: &[u32]) -> Job {
    job(name, programs, &without_overheads(), hosts)
}

fn without_overheads() -> mpi::MpiSettings {
    mpi::MpiSettings {
        send_overhead: Time::ZERO,
        receive_overhead: Time::ZERO,
        ..mpi::MpiSettings::default()
    }
}

/// Messages that are under way at the end arrive, and no rank gets them.
#[test]
fn what_is_under_way_at_the_end_is_delivered_and_discarded() {
    let bytes = 100_000;
    let sender = vec![send(1, bytes), compute(100_000), send(1, bytes)];
    let settings = mpi::MpiSettings {
        eager_threshold: 1 << 20,
        ..without_overheads()
    };
    let receiver = vec![receive(0, bytes); 2];
    let mut late = job("late", vec![sender, receiver], &settings, &[0, 6]);
    late.end = Some(Time::from_ns(150_000));
    let long = job_named("long", vec![vec![compute(1_000_000)]], &[3]);
    let result = run_everywhere(&mut jobs_on(NETWORK, vec![late, long]));
    let network = &result.summary.network;
    // 100 kB take 80 us on the link: one message arrives before the end, and the other one later.
    assert_eq!(network.packets_in_flight, 0);
    assert!(network.bytes_delivered >= 2 * bytes, "{network:?}");
    assert_eq!(of_ranks(&result, "late", "messages_received"), [0, 1]);
    // The sender has nothing to wait for, and the receiver is stopped.
    assert_eq!(of_ranks(&result, "late", "time_ps"), [100_000_000, 150_000_000]);
    let late = &result.summary.jobs[0];
    assert_eq!(
        (late.stopped, late.finished, late.time_ns),
        (true, false, 150_000.0)
    );
    assert_eq!(result.summary.jobs[1].time_ns, 1_000_000.0);
}

/// The second job has the times that it has alone.
#[test]
fn two_jobs_use_the_same_hosts_one_after_the_other() {
    let second = || stopped("second", ping_pong(2000), (30_000, 61_234), &[6, 0]);
    let alone = run(&jobs_on(NETWORK, vec![second()]));
    for (name, settings) in [("stopped", (0, 20_000)), ("until then", (4_000, 29_000))] {
        let first = stopped(name, ping_pong(3000), settings, &[0, 6]);
        let result = run_everywhere(&mut jobs_on(NETWORK, vec![first, second()]));
        assert_eq!(repetitions(&result, "second"), repetitions(&alone, "second"));
        assert!(repetitions(&alone, "second").len() > 3);
        for column in [
            "time_ps",
            "compute_ps",
            "mpi_ps",
            "messages_sent",
            "messages_received",
        ] {
            assert_eq!(
                of_ranks(&result, "second", column),
                of_ranks(&alone, "second", column),
                "{column}"
            );
        }
        let (job, of) = (&result.summary.jobs[1], &alone.summary.jobs[0]);
        assert_eq!((job.packets, job.latency_ns), (of.packets, of.latency_ns));
    }
}

/// The file may have the later job first, and ranks may share hosts.
#[test]
fn the_order_of_the_file_does_not_matter() {
    let programs = || [ping_pong(700), ping_pong(900)].concat();
    let pairs = |name, lifetime| {
        let mut four = programs();
        for (rank, other) in [(2, 3), (3, 2)] {
            for operation in &mut four[rank] {
                match operation {
                    Operation::Send { to, .. } => *to = other,
                    Operation::Receive { from, .. } => *from = Some(other),
                    _ => {}
                }
            }
        }
        stopped(name, four, lifetime, &[0, 6, 6, 0])
    };
    let jobs = |swapped: bool| {
        let mut jobs = vec![pairs("early", (0, 9_000)), pairs("late", (9_000, 23_456))];
        if swapped {
            jobs.reverse();
        }
        jobs_on(NETWORK, jobs)
    };
    let (one, other) = (run_everywhere(&mut jobs(false)), run_everywhere(&mut jobs(true)));
    for name in ["early", "late"] {
        assert_eq!(repetitions(&one, name), repetitions(&other, name));
        assert_eq!(of_ranks(&one, name, "mpi_ps"), of_ranks(&other, name, "mpi_ps"));
    }
}

#[test]
fn placements_take_hosts_that_are_free_in_the_lifetime() {
    let text = format!(
        "{NETWORK}\n\
         [[job]]\nname = \"a\"\nworkload = {{ motif = \"ping-pong\", ranks = 4 }}\nend = \"5 us\"\n\
         [[job]]\nname = \"b\"\nworkload = {{ motif = \"ping-pong\", ranks = 3 }}\nstart = \"5 us\"\nend = \"9 us\"\n\
         [[job]]\nname = \"c\"\nworkload = {{ motif = \"ping-pong\", ranks = 3 }}\nstart = \"8 us\"\n\
         [[job]]\nname = \"d\"\nworkload = {{ motif = \"ping-pong\", ranks = 2 }}\nstart = \"2 us\"\nend = \"8 us\"\n\
         [[job]]\ntraffic = {{ pattern = \"uniform\", load = 0.1 }}\nhosts = \"free\"\n"
    );
    let mut experiment = experiment(&text);
    let result = run_everywhere(&mut experiment);
    let hosts = |job| {
        let table = table(&result, "ranks");
        let values = table.texts("job").unwrap().zip(table.u32s("host").unwrap());
        let of = values.filter_map(|(name, host)| (name == Some(job)).then_some(*host));
        of.collect::<Vec<u32>>()
    };
    assert_eq!(hosts("a"), [0, 1, 2, 3]);
    assert_eq!(hosts("b"), [0, 1, 2]);
    assert_eq!(hosts("c"), [3, 4, 5]);
    // Job c takes its hosts from 8 us on.
    assert_eq!(hosts("d"), [4, 5]);
    assert_eq!(result.summary.jobs[4].hosts, 2);
    assert_eq!(result.summary.jobs[1].time_ns, 4_000.0);
}

#[test]
fn slow_downs_of_stopped_jobs_are_those_of_a_repetition() {
    let flood = vec![vec![send(1, 20_000)], vec![receive(0, 20_000)]];
    let jobs = vec![
        stopped("pairs", ping_pong(20_000), (0, 900_000), &[0, 6]),
        stopped("flood", flood, (0, 900_000), &[1, 7]),
        stopped("short", ping_pong(20_000), (0, 100), &[2, 4]),
    ];
    let experiment = jobs_on(NETWORK, jobs);
    let result = run_with_interference(&experiment, &RunControl::new(), &RunContext::default());
    let result = result.unwrap().expect("it is alone");
    let compared = &result.summary.interference.as_ref().unwrap().jobs;
    let alone = stopped("pairs", ping_pong(20_000), (0, 900_000), &[0, 6]);
    let alone = run(&jobs_on(NETWORK, vec![alone]));
    let mean = |result: &RunResult| result.summary.jobs[0].repetition_times.unwrap().mean_ns;
    let factor = compared[0].slowdown.unwrap();
    assert_eq!(factor, mean(&result) / mean(&alone));
    assert!(factor > 1.1 && factor < 3.0, "{factor}");
    // It has not ended a repetition.
    assert_eq!(compared[2].slowdown, None);
}

/// The error of the run. All executors give the same one.
fn error_everywhere(experiment: &mut Experiment) -> Error {
    let mut errors = Vec::new();
    for (executor, threads) in OF_SIMULATIONS {
        (experiment.run.executor, experiment.run.threads) = (executor, threads);
        errors.push(try_run(experiment).expect_err("an error"));
    }
    let texts: Vec<String> = errors.iter().map(Error::to_string).collect();
    assert!(texts.windows(2).all(|pair| pair[0] == pair[1]), "{texts:#?}");
    errors.remove(0)
}

/// A deadlock is reported long before the end of the job, also on hosts where another job has left messages.
#[test]
fn a_deadlock_before_the_end_is_found() {
    let stuck = || {
        let mut job = job_named("stuck", vec![vec![receive(1, 8)], vec![receive(0, 8)]], &[6, 0]);
        (job.start, job.end) = (Time::from_ns(50_000), Some(Time::from_ns(90_000_000)));
        job
    };
    let flood = vec![vec![send(1, 20_000)], vec![receive(0, 20_000)]];
    let left = || stopped("left", flood.clone(), (0, 50_000), &[0, 6]);
    for mut experiment in [
        jobs_on(NETWORK, vec![stuck()]),
        jobs_on(NETWORK, vec![left(), stuck()]),
        job_beside_traffic(NETWORK, 0.1, stuck()),
    ] {
        experiment.run.watchdog = Time::from_ns(100_000);
        let error = error_everywhere(&mut experiment);
        assert!(matches!(error, Error::Deadlock(_)), "{error}");
        let text = error.to_string();
        assert!(
            text.contains("job 'stuck', rank 0: MPI_Recv for a message from rank 1"),
            "{text}"
        );
        assert!(text.contains("2 ranks have not finished"), "{text}");
    }
}

#[test]
fn an_endless_repetition_without_time_is_refused() {
    let idle = stopped("idle", vec![vec![compute(0)]], (0, 10_000), &[0]);
    let error = error_everywhere(&mut jobs_on(NETWORK, vec![idle])).to_string();
    assert!(
        error.contains("rank 0: many repetitions in a row take no time"),
        "{error}"
    );
}

#[test]
fn the_keys_are_read() {
    let text = |keys: &str| {
        format!(
            "{NETWORK}\n[[job]]\nname = \"pairs\"\nworkload = {{ motif = \"ping-pong\", bytes = \"4 KB\" }}\n{keys}\n"
        )
    };
    let result = run_everywhere(&mut experiment(&text("start = \"1 us\"\nend = \"101 us\"")));
    let pairs = &result.summary.jobs[0];
    assert_eq!(
        (pairs.time_ns, pairs.stopped, pairs.repetitions),
        (100_000.0, true, 0)
    );
    assert!(pairs.repetition_times.unwrap().complete > 1);
    let limited = run(&experiment(&text("end = \"90 ms\"\nrepetitions = 3")));
    let pairs = &limited.summary.jobs[0];
    assert_eq!(
        (pairs.stopped, pairs.finished, pairs.repetitions),
        (false, true, 3)
    );
    assert!(pairs.time_ns < 90e6);
    // The run may end before.
    let cut = run(&experiment(
        &(text("end = \"101 us\"") + "[run]\nuntil = \"50 us\"\n"),
    ));
    let pairs = &cut.summary.jobs[0];
    assert_eq!(
        (pairs.stopped, pairs.finished, pairs.time_ns),
        (false, false, 50_000.0)
    );
}

#[test]
fn wrong_ends_and_hosts_that_overlap_are_errors() {
    let workload = "workload = { motif = \"ping-pong\" }";
    let traffic = "traffic = { pattern = \"uniform\", load = 0.1 }";
    let on = |keys: &str| format!("{workload}\nplacement = {{ hostlist = \"n[2-3]\" }}\n{keys}");
    let early = "name = \"early\"\nstart = \"1 us\"\nend = \"5 us\"";
    let cases = [
        (
            vec![format!("{workload}\nstart = \"3 us\"\nend = \"2 us\"")],
            "job.0.end: 2 us is not after the start of the job, 3 us; expected a later time",
        ),
        (
            vec![format!("{workload}\nend = \"0 ps\"")],
            "is not after the start of the job",
        ),
        (vec![format!("{workload}\nend = \"101 days\"")], "job.0.end: "),
        (
            vec![format!("{traffic}\nend = \"5 us\"")],
            "job.0.end: synthetic traffic lasts until the end of the run",
        ),
        (
            vec![format!(
                "{workload}\nend = \"5 us\"\nrepeat_until_others_end = true"
            )],
            "job.0.repeat_until_others_end: a job with `end` repeats until then; expected one of both keys",
        ),
        (
            vec![on(early), on("name = \"late\"\nstart = \"4 us\"\nend = \"8 us\"")],
            "n2: host 2 is taken by the ranks of job 'early', from 1 us to 5 us, and job 'late' needs it from 4 us \
             to 8 us",
        ),
        (
            vec![on(early), on("name = \"late\"")],
            "n2: host 2 is taken by the ranks of job 'early', from 1 us to 5 us, and job 'late' needs it from 0 ps \
             on, without an end",
        ),
        (
            vec![
                on("name = \"ever\""),
                on("name = \"late\"\nstart = \"4 us\"\nend = \"8 us\""),
            ],
            "host 2 is taken by the ranks of job 'ever', from 0 ps on, without an end, and job 'late'",
        ),
        (
            vec![
                "workload = { motif = \"ping-pong\", ranks = 7 }\nend = \"5 us\"".into(),
                format!("{workload}\nstart = \"4 us\"\nend = \"8 us\""),
            ],
            "2 ranks at 1 per host need 2 hosts, but only 1 of 8 are free from 4 us to 8 us",
        ),
    ];
    for (jobs, expected) in cases {
        let jobs: String = jobs.iter().map(|job| format!("[[job]]\n{job}\n")).collect();
        let text = format!("{NETWORK}\n{jobs}[run]\nuntil = \"10 us\"\n");
        let error = Experiment::from_toml(&text, "x.toml", &[]).err();
        let error = error.unwrap_or_else(|| panic!("no error: {text}")).to_string();
        assert!(error.contains(expected), "{error}\nexpected: {expected}");
    }
    // One after the other they fit.
    let text = format!(
        "{NETWORK}\n[[job]]\n{}\n[[job]]\n{}\n",
        on(early),
        on("name = \"late\"\nstart = \"5 us\"")
    );
    run_everywhere(&mut experiment(&text));
}
