//! Ranks that wait forever end the run with an error that names them and the ranks they wait for, whatever other
//! traffic is on the network. No application that can continue gets this error.

use std::sync::Arc;

use des::Time;
use experiment::{Experiment, NetworkModel, Plane};
use routing::{
    At, BufferClaim, Congestion, Hop, NotProven, Random, RouteState, Routing, prove_deadlock_free,
};
use testkit::executors::OF_SIMULATIONS;
use workload::{Call, Operation};

use crate::support::{
    compute, job, job_beside_traffic, jobs_on, receive, run, run_everywhere, send, try_run,
};

const NETWORK: &str = r#"
[network]
topology = { kind = "torus", sizes = [3, 3] }
routing = { algorithm = "dimension-order" }
"#;

/// Ranks 0 and 1 receive before they send. Rank 2 waits for a message that no rank sends. Rank 3 has finished.
fn wait_cycle() -> Vec<Vec<Operation>> {
    vec![
        vec![compute(700), receive(1, 64), send(1, 64)],
        vec![send(3, 50_000), receive(0, 64), send(0, 64)],
        vec![receive(3, 64)],
        vec![receive(1, 50_000)],
    ]
}

/// The error of the run. All executors give the same one.
fn error_everywhere(experiment: &mut Experiment) -> String {
    let mut errors = Vec::new();
    for (executor, threads) in OF_SIMULATIONS {
        (experiment.run.executor, experiment.run.threads) = (executor, threads);
        let error = try_run(experiment).expect_err("the application waits forever");
        assert!(matches!(error, sim::Error::Deadlock(_)), "{error}");
        errors.push(error.to_string());
    }
    assert!(errors.windows(2).all(|e| e[0] == e[1]), "{errors:#?}");
    errors.remove(0)
}

fn assert_names_the_cycle(error: &str) {
    for line in [
        "job 'cycle', rank 0: MPI_Recv for a message from rank 1, tag 0, communicator 0",
        "job 'cycle', rank 1: MPI_Recv for a message from rank 0, tag 0, communicator 0",
        "job 'cycle', rank 2: MPI_Recv for a message from rank 3, tag 0, communicator 0",
        "3 ranks have not finished",
        "job 'cycle': rank 0 waits for rank 1, which waits for rank 0",
        "job 'cycle': rank 2 waits for rank 3, which has ended",
    ] {
        assert!(error.contains(line), "'{line}' is missing: {error}");
    }
    assert!(!error.contains("rank 3:"), "rank 3 has finished: {error}");
}

#[test]
fn alone_it_is_found_when_nothing_is_left_to_happen() {
    let cycle = job("cycle", wait_cycle(), &mpi::MpiSettings::default(), &[0, 4, 4, 8]);
    assert_names_the_cycle(&error_everywhere(&mut jobs_on(NETWORK, vec![cycle])));
}

#[test]
fn beside_endless_traffic_the_watchdog_finds_it() {
    let cycle = job("cycle", wait_cycle(), &mpi::MpiSettings::default(), &[0, 4, 4, 8]);
    let mut experiment = job_beside_traffic(NETWORK, 0.3, cycle);
    experiment.run.watchdog = Time::from_ns(20_000);
    let error = error_everywhere(&mut experiment);
    assert_names_the_cycle(&error);
    // All messages have arrived after some microseconds. The first round asks one lookahead after the interval and
    // finds no message in flight.
    assert!(error.contains("at 20.05 us"), "{error}");
}

/// Wait cycles lead through all blocking calls. Descriptions count ranks in the communicator, cycles in the job.
#[test]
fn circles_are_named_through_collectives_probes_fences_and_requests() {
    let collective = |collective, request: Option<u64>, call| Operation::Collective {
        collective,
        communicator: 0,
        root: 0,
        bytes: 8,
        counts: None,
        request,
        reduction: None,
        call,
    };
    let probe = |from| Operation::Probe {
        from: Some(from),
        tag: None,
        communicator: 0,
        call: Call::Probe,
    };
    let wait = Operation::Wait {
        requests: vec![1],
        call: Call::Wait,
    };
    let fence = Operation::Fence {
        communicator: 0,
        call: Call::WinFence,
    };
    let put = Operation::Put {
        to: 1,
        communicator: 0,
        bytes: 5000,
        call: Call::Put,
    };
    let barrier = || collective(workload::Collective::Barrier, None, Call::Barrier);
    let ibarrier = || collective(workload::Collective::Barrier, Some(1), Call::Ibarrier);
    let bcast = || collective(workload::Collective::Bcast, None, Call::Bcast);
    for (programs, lines) in [
        (
            vec![vec![barrier(), send(1, 8)], vec![receive(0, 8), barrier()]],
            [
                "rank 0: MPI_Barrier for a message from rank 1, round 0, communicator 0",
                "rank 0 waits for rank 1, which waits for rank 0",
            ],
        ),
        (
            vec![
                vec![probe(2), bcast()],
                vec![bcast(), send(2, 8)],
                vec![receive(1, 8), send(0, 8), bcast()],
            ],
            [
                "rank 0: MPI_Probe for a message from rank 2, any tag, communicator 0",
                "rank 0 waits for rank 2, which waits for rank 1, which waits for rank 0",
            ],
        ),
        (
            vec![vec![put, fence.clone()], vec![probe(0), fence]],
            [
                "rank 0: MPI_Win_fence for a message from rank 1, round 0, communicator 0",
                "rank 0 waits for rank 1, which waits for rank 0",
            ],
        ),
        (
            vec![
                vec![ibarrier(), wait, send(1, 8)],
                vec![receive(0, 8), ibarrier()],
            ],
            [
                "rank 0: MPI_Wait for MPI_Ibarrier: a message from rank 1, round 0, communicator 0",
                "rank 0 waits for rank 1, which waits for rank 0",
            ],
        ),
    ] {
        let hosts = &[0, 4, 8][..programs.len()];
        let cycle = job("cycle", programs, &mpi::MpiSettings::default(), hosts);
        let error = error_everywhere(&mut jobs_on(NETWORK, vec![cycle]));
        for line in lines {
            assert!(error.contains(line), "'{line}' is missing: {error}");
        }
    }
}

/// Ranks that compute, start late, or have a message in flight for many rounds are not waiting forever.
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
        // This rank computes for 50 rounds while all other ranks wait for it.
        vec![compute(50_000), isend, wait, receive(3, 100_000)],
        // The message takes more than 240 rounds.
        vec![receive(0, 3_000_000), send(2, 64)],
        vec![receive(1, 64), send(3, 64)],
        // Ranks 2 and 3 share a host and communicate through memory.
        vec![receive(2, 64), send(0, 100_000)],
    ];
    let with_watchdog = |interval: Time| {
        let mut slow = job(
            "slow",
            programs.clone(),
            &mpi::MpiSettings::default(),
            &[0, 4, 8, 8],
        );
        slow.start = Time::from_ns(5_000);
        let mut experiment = job_beside_traffic(NETWORK, 0.1, slow);
        experiment.run.watchdog = interval;
        experiment
    };
    let often = run_everywhere(&mut with_watchdog(Time::from_ns(1_000)));
    assert!(often.summary.jobs[1].finished);
    // Rounds of the termination detector change nothing: a run without any round has the same result.
    let never = run(&with_watchdog(Time::from_ns(1_000_000_000)));
    assert_eq!(often.summary.digest, never.summary.digest);
    // Not events processed: this run chooses its executor, and may undo events.
    assert!(often.summary.run.events_committed > never.summary.run.events_committed);
}

/// A routing algorithm whose packets enter rings whenever the buffer has space for them.
struct WithoutBubbles(Arc<dyn Routing>);

impl WithoutBubbles {
    fn hop(hop: Hop) -> Hop {
        Hop::new(hop.port, hop.vc)
    }
}

impl Routing for WithoutBubbles {
    fn vcs(&self) -> u8 {
        self.0.vcs()
    }
    fn packets_per_vc(&self) -> u32 {
        self.0.packets_per_vc()
    }
    fn route(
        &self,
        at: At,
        state: &mut RouteState,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> Hop {
        let hop = self.0.route(at, state, congestion, random);
        assert_ne!(hop.claim, BufferClaim::Reserved);
        WithoutBubbles::hop(hop)
    }
    fn options(&self, at: At, state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        let from = out.len();
        self.0.options(at, state, out);
        for (hop, _) in &mut out[from..] {
            *hop = WithoutBubbles::hop(*hop);
        }
    }
}

/// A network that the proof refuses deadlocks: only bubbles keep a ring moving.
#[test]
fn without_bubbles_a_saturated_ring_comes_to_rest() {
    let text = r#"
[network]
topology = { kind = "torus", sizes = [16], hosts_per_router = 4 }
routing = { algorithm = "dimension-order", deadlock = "bubble" }
router = { buffer = "512 B" }
packet = "256 B"
[[job]]
traffic = { pattern = "uniform", load = 1.0, message = "300 B" }
[run]
until = "100 us"
"#;
    let mut experiment = Experiment::from_toml(text, "x.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let network = experiment.network.clone();
    let routing: Arc<dyn Routing> = Arc::new(WithoutBubbles(network.routing.clone()));
    let careless = NetworkModel {
        topology: network.topology.clone(),
        routing: routing.clone(),
        plane: Plane {
            topology: network.topology.clone(),
            routing,
        },
        links: network.links.clone(),
        class_names: network.class_names.clone(),
        router_models: network.router_models.clone(),
        ..*network
    };
    let proof = prove_deadlock_free(network.topology.as_ref(), network.routing.as_ref(), 1_000_000);
    assert_eq!(proof.map(|proof| proof.rings), Ok(2));
    let proof = prove_deadlock_free(careless.topology.as_ref(), careless.routing.as_ref(), 1_000_000);
    assert!(matches!(proof, Err(NotProven::Cycle(_))), "{proof:?}");
    let careless = Arc::new(careless);
    let mut delivered = |network: &Arc<NetworkModel>, until_us: u64| {
        experiment.network = network.clone();
        experiment.run.until = Some(Time::from_ns(1000 * until_us));
        run(&experiment).summary.network.packets_delivered
    };
    let (once, later) = (delivered(&careless, 100), delivered(&careless, 200));
    assert_eq!(once, later, "without bubbles it moves on");
    let (once, later) = (delivered(&network, 100), delivered(&network, 200));
    assert!(later > once + once / 2, "with bubbles it comes to rest");
}
