//! Non-blocking collectives: concurrent with the program, several at once, and their order. Times as in `timing`.

use std::collections::BTreeSet;

use des::Time;
use mpi::{ALGORITHMS, COLLECTIVE_CONTEXT, MessageKind, MpiSettings};
use workload::{Call, Collective, Operation};

use super::network::*;

const CONTROL: u64 = 1000 + 4;

/// Time of one of five ranks for a non-blocking barrier with a computation before its wait.
fn ibarrier(computed: u64) -> Outcome {
    let program = vec![
        nonblocking(Collective::Barrier, 0, 0, 0, 1),
        compute(computed),
        wait(&[1]),
    ];
    let outcome = run(settings(), fixed(), vec![program; 5]).unwrap();
    outcome.assert_clean();
    outcome
}

#[test]
fn a_wait_at_once_makes_it_the_blocking_one() {
    let outcome = ibarrier(0);
    for rank in 0..5 {
        assert_eq!(outcome.end_ns(rank), 3 * (10 + 1002 + 20));
    }
    let allreduce = vec![nonblocking(Collective::Allreduce, 0, 0, 1000, 1), wait(&[1])];
    let outcome = run(settings(), fixed(), vec![allreduce; 8]).unwrap();
    outcome.assert_clean();
    assert_eq!(outcome.end_ns(3), 3 * (10 + 2 * CONTROL + 1002 + 1000 + 20));
}

#[test]
fn computation_overlaps_with_the_network_and_not_with_the_overheads() {
    let rounds = 3 * 1002;
    for (computed, end) in [(2000, rounds + 3 * 30), (10_000, 10_000 + 3 * 30)] {
        let outcome = ibarrier(computed);
        assert_eq!(outcome.end_ns(4), end);
        let stats = outcome.stats(4);
        assert_eq!(stats.compute, Time::from_ns(computed));
        assert_eq!(stats.call(Call::Wait).time, Time::from_ns(end - computed));
        let started = stats.call(Call::Ibarrier);
        assert_eq!((started.calls, started.time), (1, Time::ZERO));
        assert_eq!(stats.collective_messages_sent, 3);
    }
}

#[test]
fn a_late_rank_holds_up_the_others() {
    // Two ranks, one round: the message of the late rank leaves when it starts.
    let late = |computed| {
        vec![
            compute(computed),
            nonblocking(Collective::Barrier, 0, 0, 0, 1),
            wait(&[1]),
        ]
    };
    let outcome = run(settings(), fixed(), vec![late(0), late(5000)]).unwrap();
    outcome.assert_clean();
    assert_eq!(
        (outcome.end_ns(0), outcome.end_ns(1)),
        (5000 + 1002 + 30, 5000 + 30)
    );
}

#[test]
fn several_end_in_any_order() {
    // A long collective, then a short one that is waited for first. Each wait pays its overheads.
    let program = vec![
        nonblocking(Collective::Allreduce, 0, 0, 2000, 1),
        nonblocking(Collective::Barrier, 0, 0, 0, 2),
        wait(&[2]),
        wait(&[1]),
    ];
    let outcome = run(settings(), fixed(), vec![program; 2]).unwrap();
    outcome.assert_clean();
    assert_eq!(outcome.end_ns(0), 2 * CONTROL + 2002 + 1000 + 30);
    let mut stopped = outcome.stats(0).call(Call::Wait);
    assert_eq!((stopped.calls, stopped.time.ps() / 1000), (2, outcome.end_ns(0)));

    // In one wait, the CPU serves one queue.
    let together = vec![
        nonblocking(Collective::Barrier, 0, 0, 0, 1),
        nonblocking(Collective::Barrier, 0, 0, 0, 2),
        nonblocking(Collective::Barrier, 0, 0, 0, 3),
        wait(&[3, 1, 2]),
    ];
    let outcome = run(settings(), fixed(), vec![together; 2]).unwrap();
    outcome.assert_clean();
    assert_eq!(outcome.end_ns(0), 1002 + 3 * 30);
    stopped = outcome.stats(0).call(Call::Waitall);
    assert_eq!((stopped.calls, stopped.time.ps() / 1000), (1, outcome.end_ns(0)));
}

#[test]
fn blocking_ones_go_on_beside_them() {
    // The blocking barrier starts and ends while the allreduce on the same communicator is in progress.
    let program = vec![
        nonblocking(Collective::Allreduce, 0, 0, 2000, 1),
        collective(Collective::Barrier, 0, 0, 0),
        collective(Collective::Allreduce, 0, 0, 8),
        wait(&[1]),
    ];
    let outcome = run(settings(), fixed(), vec![program; 2]).unwrap();
    outcome.assert_clean();
    let stats = outcome.stats(0);
    assert_eq!(stats.call(Call::Barrier).time, Time::from_ns(10 + 1002 + 20));
    assert_eq!(stats.call(Call::Allreduce).time, Time::from_ns(10 + 1010 + 20));
    assert_eq!(outcome.end_ns(0), 2 * CONTROL + 2002 + 1000 + 30);
}

#[test]
fn no_two_on_a_communicator_share_a_tag() {
    let mut program: Vec<Operation> = (0..6)
        .map(|n| nonblocking(Collective::Allreduce, 0, 0, 40 * n, n))
        .collect();
    program.push(collective(Collective::Allreduce, 0, 0, 8));
    program.push(collective(Collective::Allreduce, 1, 0, 8));
    program.push(wait(&[5, 0, 1, 2, 3, 4]));
    for seed in 0..20 {
        let communicators = vec![vec![0, 1, 2, 3], vec![3, 1, 2, 0]];
        let programs = vec![program.clone(); 4];
        let outcome = run_in(settings(), Delay::Random { seed }, communicators, programs).unwrap();
        outcome.assert_clean();
        let mut seen = BTreeSet::new();
        for message in &outcome.sent {
            if matches!(message.kind, MessageKind::Eager | MessageKind::RequestToSend) {
                assert_ne!({ message.communicator } & COLLECTIVE_CONTEXT, 0);
                let key = ({ message.from }, { message.to }, { message.communicator }, {
                    message.tag
                });
                assert!(seen.insert(key), "{message:?}");
            }
        }
    }
}

#[test]
fn every_algorithm_ends_beside_others() {
    for algorithm in ALGORITHMS {
        for ranks in [1, 2, 3, 7, 8] {
            let mut settings: MpiSettings = settings();
            settings
                .collectives
                .choose(algorithm.collective, algorithm.name)
                .unwrap();
            let start = |n: u64| nonblocking(algorithm.collective, 0, 0, 70 * n, n);
            let program = vec![
                start(1),
                start(2),
                collective(algorithm.collective, 0, 0, 10),
                start(3),
                wait(&[2]),
                start(2),
                wait(&[1, 2, 3]),
            ];
            let programs = vec![program; ranks];
            let outcome = run(settings.clone(), Delay::Random { seed: 5 }, programs.clone()).unwrap();
            outcome.assert_clean();
            // The numbers of messages and bytes are those of blocking collectives.
            let blocking = |operation: &Operation| match operation.clone() {
                Operation::Collective {
                    collective,
                    communicator,
                    root,
                    bytes,
                    counts,
                    call,
                    ..
                } => Some(Operation::Collective {
                    collective,
                    communicator,
                    root,
                    bytes,
                    counts,
                    request: None,
                    reduction: None,
                    call,
                }),
                _ => None,
            };
            let programs = programs
                .iter()
                .map(|program| program.iter().filter_map(blocking).collect())
                .collect();
            let alike = run(settings, Delay::Random { seed: 5 }, programs).unwrap();
            for rank in 0..ranks {
                let (one, other) = (outcome.stats(rank), alike.stats(rank));
                assert_eq!(one.collective_messages_sent, other.collective_messages_sent);
                assert_eq!(one.collective_bytes_sent, other.collective_bytes_sent);
            }
        }
    }
}

#[test]
fn a_collective_without_wait_ends() {
    let outcome = run(
        settings(),
        fixed(),
        vec![vec![nonblocking(Collective::Barrier, 0, 0, 0, 1)]; 5],
    )
    .unwrap();
    for rank in 0..5 {
        assert_eq!(outcome.end_ns(rank), 0);
        assert_eq!(outcome.stats(rank).collective_messages_received, 3);
        assert_eq!(outcome.ranks[rank].open_requests(), 1, "it was not asked about");
    }
}

#[test]
fn the_number_in_progress_is_limited() {
    let start = |count: u64| {
        (0..count)
            .map(|n| nonblocking(Collective::Barrier, 0, 0, 0, n))
            .collect::<Vec<_>>()
    };
    let fits = run(settings(), fixed(), vec![start(1024), vec![]]).unwrap();
    assert_eq!(fits.ranks[0].open_requests(), 2 * 1024);
    let refused = run(settings(), fixed(), vec![start(1025), vec![]]).map(|_| ());
    assert_eq!(
        refused.unwrap_err().to_string(),
        "rank 0: MPI_Ibarrier: 1024 collectives of communicator 0 are in progress, more than the simulator \
         distinguishes; wait for some of them first"
    );
    // With waits between them, their number is unlimited.
    let program: Vec<Operation> = (0..3000)
        .flat_map(|n| [nonblocking(Collective::Barrier, 0, 0, 0, n), wait(&[n])])
        .collect();
    run(settings(), fixed(), vec![program; 2]).unwrap().assert_clean();
}
