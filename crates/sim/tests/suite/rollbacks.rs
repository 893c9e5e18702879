//! Thousands of rollbacks of every kind of LP leave no trace. The number of rollbacks of an optimistic run depends on
//! the machine. So runs are repeated with other parts and another pace until every kind of LP has rolled back often
//! enough. Each run has to give the result of the sequential run.

use des::{Executor, Optimism, Pace, Partition, Time};
use experiment::Experiment;
use results::Rollbacks;
use workload::Operation;

use crate::support::{assert_same, compute, job, job_beside_traffic, lps, receive, run, run_in_parts, send};

/// Sufficient rollbacks of each kind of LP.
const ENOUGH: u64 = 1_000;

/// Processes and threads, events of a batch, and batches between two values of GVT. Longer batches roll back each
/// event more often than a test has time for.
const PACES: [(usize, usize, u32, u32); 6] = [
    (1, 4, 100, 20),
    (1, 2, 400, 20),
    (2, 2, 30, 5),
    (1, 4, 500, 2),
    (1, 2, 100, 50),
    (2, 2, 100, 4),
];

/// How far a thread executes ahead of GVT: a part of the whole run, which takes about 300 ns.
const AHEAD: Time = Time::from_ns(60);

/// The largest number of runs. The first one is enough on an idle machine with two cores.
const MOST_RUNS: usize = 60;

/// A lookahead of 1 ps, routers without delay, and buffers of one packet for each of two VCs, so that
/// credits decide.
const NETWORK: &str = r#"
[network]
topology = { kind = "torus", sizes = [2, 2], hosts_per_router = 3 }
routing = { algorithm = "dimension-order" }
link = { bandwidth = "400 Gbps", latency = "1 ns" }
links.host.latency = "1 ps"
router = { delay = "0 ns", buffer = "512 B" }
packet = "256 B"
"#;

/// LPs of a router with its hosts.
const FAMILY: u32 = 4;

/// The same network with a port of each host in either of two planes. Messages are divided among the planes.
const RAILS: &str = "rails = 2\nplanes = 2\nrail_choice = \"least-loaded\"\nrail_per = \"packet\"\n";

/// LPs of a router with its hosts, and of the router at the same position in the other plane.
const FAMILY_WITH_RAILS: u32 = 5;

/// Pairs of ranks that play ping-pong with different pauses.
fn ping_pong(ranks: u32, rounds: u32) -> Vec<Vec<Operation>> {
    let program = |rank: u32| {
        let other = rank ^ 1;
        let round = |round: u32| {
            let pause = compute(u64::from((rank * 7 + round * 3) % 23));
            let (to, from) = (send(other, 300), receive(other, 300));
            if rank.is_multiple_of(2) {
                [pause, to, from]
            } else {
                [pause, from, to]
            }
        };
        (0..rounds).flat_map(round).collect()
    };
    (0..ranks).map(program).collect()
}

/// Ranks on every second host beside traffic. The termination detector asks them for their progress every 20 ns.
/// Timelines and packet waits are recorded.
fn watched(network: &str, settings: &mpi::MpiSettings) -> Experiment {
    let hosts = [0, 6, 2, 8, 4, 10];
    let ranks = job("ping-pong", ping_pong(6, 2), settings, &hosts);
    let mut experiment = job_beside_traffic(network, 0.4, ranks);
    experiment.run.watchdog = Time::from_ns(20);
    experiment.collect.set_traces(true, true);
    experiment.run.executor = Executor::Sequential;
    experiment
}

/// Borders that separate routers from their hosts, hosts from each other, and the termination detector from all
/// others.
fn adverse(lps: u32, size: u32, threads: usize, attempt: usize) -> Partition {
    let families = (lps - 1) / size;
    let mut bounds = vec![0, lps];
    for border in 1..threads as u32 {
        let family = border * families / threads as u32;
        bounds.push(match attempt % 3 {
            // This border lies behind the router.
            0 => family * size + 1,
            1 => family * size + 2,
            // The last part is the termination detector.
            _ if border + 1 == threads as u32 => lps - 1,
            _ => family * size + 1,
        });
    }
    bounds.sort_unstable();
    Partition::new(bounds)
}

fn is_enough(rollbacks: &Rollbacks) -> bool {
    [rollbacks.router, rollbacks.host, rollbacks.termination_detector]
        .iter()
        .all(|count| *count > ENOUGH)
}

#[test]
fn of_every_kind_of_lp_leave_no_trace() {
    let mut experiment = watched(NETWORK, &mpi::MpiSettings::default());
    leave_no_trace(&mut experiment, FAMILY);
}

/// Requests to send make a rank wait for the last packet of a message that both rails carry.
#[test]
fn of_hosts_with_rails_leave_no_trace() {
    let settings = mpi::MpiSettings {
        eager_threshold: 0,
        ..mpi::MpiSettings::default()
    };
    let mut experiment = watched(&format!("{NETWORK}{RAILS}"), &settings);
    leave_no_trace(&mut experiment, FAMILY_WITH_RAILS);
}

fn leave_no_trace(experiment: &mut Experiment, family: u32) {
    let reference = run(experiment);
    assert!(reference.summary.jobs[1].finished, "the ranks get to their end");
    experiment.run.executor = Executor::Optimistic;
    // All threads go on where other programs take their cores.
    experiment.run.pace = Pace::Events(u64::MAX);
    let mut sum = Rollbacks::default();
    let mut runs = 0;
    while runs < PACES.len() || !is_enough(&sum) {
        assert!(runs < MOST_RUNS, "too few rollbacks in {runs} runs: {sum:?}");
        let (processes, threads, batch, gvt_interval) = PACES[runs % PACES.len()];
        experiment.run.threads = threads;
        experiment.run.optimism = Optimism {
            batch,
            gvt_interval,
            // A thread that the system holds back would make the others roll back without limit.
            ahead: Some(AHEAD),
            ..Optimism::default()
        };
        let partition = adverse(lps(experiment), family, processes * threads, runs + runs / 3);
        let result = run_in_parts(experiment, processes, &partition);
        let what = format!(
            "{processes} processes, {partition:?}, {:?}",
            experiment.run.optimism
        );
        assert_same(&reference, &result, &what);
        let run = &result.summary.run;
        let found = &run.rollbacks;
        assert_eq!(
            run.events_committed,
            run.events_processed - run.events_rolled_back,
            "{what}"
        );
        eprintln!("{what}: {found:?}, {:.2} s", run.wall_s);
        sum.router += found.router;
        sum.host += found.host;
        sum.termination_detector += found.termination_detector;
        runs += 1;
    }
}
