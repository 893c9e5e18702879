//! All operations of ranks at once on a network: the result is the same on all executors, and every event can be
//! undone.

use des::Time;
use mpi::MpiSettings;
use results::RunResult;
use workload::{Call, Collective, Operation};

use crate::support::{compute, job, jobs_on, receive, run, run_everywhere, send, sum, table};
use crate::tracing::{assert_messages, assert_timelines};

const NETWORK: &str = r#"
[network]
topology = { kind = "torus", sizes = [3, 3] }
routing = { algorithm = "dimension-order" }
[collect]
timeline = true
waits = true
"#;

fn nonblocking(collective: Collective, bytes: u64, request: u64) -> Operation {
    Operation::Collective {
        collective,
        communicator: 0,
        root: 1,
        bytes,
        counts: None,
        request: Some(request),
        reduction: None,
        call: Call::Iallreduce,
    }
}

fn blocking(collective: Collective, bytes: u64) -> Operation {
    Operation::Collective {
        collective,
        communicator: 0,
        root: 0,
        bytes,
        counts: None,
        request: None,
        reduction: None,
        call: Call::Allreduce,
    }
}

/// A program of each of six ranks, two of which share a host.
pub fn programs() -> Vec<Vec<Operation>> {
    let program = |rank: u32| {
        let (next, last) = ((rank + 1) % 6, (rank + 5) % 6);
        let fence = Operation::Fence {
            communicator: 0,
            call: Call::WinFence,
        };
        vec![
            nonblocking(Collective::Allreduce, 20_000, 1),
            nonblocking(Collective::Barrier, 0, 2),
            compute(u64::from(100 * rank)),
            Operation::Send {
                to: next,
                tag: 0,
                communicator: 0,
                bytes: 12_000,
                request: Some(3),
                call: Call::Issend,
            },
            Operation::Probe {
                from: None,
                tag: Some(0),
                communicator: 0,
                call: Call::Probe,
            },
            receive(last, 12_000),
            blocking(Collective::Allreduce, 300),
            Operation::Wait {
                requests: vec![2, 3],
                call: Call::Waitall,
            },
            Operation::Put {
                to: next,
                communicator: 0,
                bytes: 3000,
                call: Call::Put,
            },
            Operation::Get {
                from: rank,
                communicator: 0,
                bytes: 100,
                call: Call::Get,
            },
            Operation::Get {
                from: last,
                communicator: 0,
                bytes: 0,
                call: Call::Get,
            },
            nonblocking(Collective::Bcast, 500, 4),
            fence,
            Operation::Wait {
                requests: vec![4, 1],
                call: Call::Waitall,
            },
        ]
    };
    (0..6).map(program).collect()
}

fn settings() -> MpiSettings {
    MpiSettings {
        nic_gap: Time::from_ns(250),
        matching_overhead: Time::from_ns(15),
        copy_threshold: 9000,
        short_threshold: 64,
        send_copy_bandwidth: Some(40_000_000_000),
        receive_copy_bandwidth: Some(56_000_000_000),
        reduction_bandwidth: Some(24_000_000_000),
        ..MpiSettings::default()
    }
}

const HOSTS: [u32; 6] = [0, 1, 4, 4, 7, 8];

fn assert_whole(result: &RunResult) {
    let ranks = table(result, "ranks");
    assert!(result.summary.jobs[0].finished);
    for count in ["messages", "bytes", "collective_messages", "collective_bytes"] {
        let (sent, received) = (format!("{count}_sent"), format!("{count}_received"));
        assert_eq!(sum(ranks, &sent), sum(ranks, &received), "{count}");
    }
    // A send, a put and two gets of each rank.
    assert_eq!(sum(ranks, "messages_sent"), 6 * 4);
    assert_eq!(sum(ranks, "bytes_sent"), 6 * (12_000 + 3000 + 100));
}

#[test]
fn all_executors_agree_on_all_of_it() {
    for settings in [MpiSettings::default(), settings()] {
        let job = job("all", programs(), &settings, &HOSTS);
        let mut experiment = jobs_on(NETWORK, vec![job]);
        let result = run_everywhere(&mut experiment);
        assert_whole(&result);
        assert_timelines("all of it", &experiment, &result);
        assert_messages("all of it", &experiment, &result);
    }
}

/// The end of each rank in ps.
fn ends(result: &RunResult) -> Vec<u64> {
    let times = table(result, "ranks").u64s("time_ps");
    times.expect("a time of each rank").to_vec()
}

#[test]
fn messages_of_a_host_keep_their_distance() {
    let with_gap = |gap_ns: u64| {
        let settings = MpiSettings {
            nic_gap: Time::from_ns(gap_ns),
            ..MpiSettings::default()
        };
        // The ranks of one router have the same distance; rank 4 shares the sender's host.
        let programs = vec![
            vec![send(1, 8), send(2, 8), send(4, 8), send(3, 8)],
            vec![receive(0, 8)],
            vec![receive(0, 8)],
            vec![receive(0, 8)],
            vec![receive(0, 8)],
        ];
        let network = r#"
[network]
topology = { kind = "mesh", sizes = [1], hosts_per_router = 6 }
routing = { algorithm = "dimension-order" }
"#;
        let job = job("gap", programs, &settings, &[0, 1, 2, 3, 0]);
        ends(&run(&jobs_on(network, vec![job])))
    };
    let (none, small, large) = (with_gap(0), with_gap(100), with_gap(5000));
    // Sends follow each other after 300 ns, so a gap of 100 ns changes nothing.
    assert_eq!(none, small);
    assert_eq!((none[2] - none[1], none[3] - none[2]), (300_000, 600_000));
    assert_eq!((large[2] - large[1], large[3] - large[2]), (5_000_000, 5_000_000));
    // Neither the sender nor messages through memory wait.
    assert_eq!((none[0], none[1], none[4]), (large[0], large[1], large[4]));
}
