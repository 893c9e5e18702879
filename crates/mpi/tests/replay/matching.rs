//! Matching of receives and messages: order, wildcards, communicators.

use workload::{Call, Collective, Operation};

use super::network::*;

/// Buffers have exactly the expected sizes: any other match is too long for one of them.
fn sizes() -> impl Iterator<Item = (u32, u64)> {
    [500u64, 3, 90, 400, 0, 101, 100, 7, 1000, 8]
        .into_iter()
        .enumerate()
        .map(|(i, size)| (i as u32, size))
}

#[test]
fn messages_do_not_overtake_each_other() {
    for seed in 0..200 {
        let sender: Vec<_> = sizes().map(|(i, size)| isend(1, i % 2, size, i.into())).collect();
        for (from, with_tags) in [(Some(0), true), (None, true), (Some(0), false), (None, false)] {
            let receives = sizes().map(|(i, size)| receive(from, with_tags.then_some(i % 2), size));
            let all: Vec<u64> = (0..10).collect();
            let programs = vec![
                sender.iter().cloned().chain([wait(&all)]).collect(),
                receives.collect::<Vec<_>>(),
            ];
            let outcome = run(settings(), Delay::Random { seed }, programs).unwrap();
            outcome.assert_clean();
        }
    }
}

#[test]
fn any_source_takes_from_everyone_once() {
    for seed in 0..100 {
        let ranks = 9;
        let collect = (1..ranks).map(|_| receive(None, Some(4), 300));
        let mut programs = vec![collect.collect::<Vec<_>>()];
        for rank in 1..ranks {
            programs.push(vec![send(0, 4, if rank % 2 == 0 { 300 } else { 30 })]);
        }
        run(settings(), Delay::Random { seed }, programs)
            .unwrap()
            .assert_clean();
    }
}

#[test]
fn a_receive_with_tag_leaves_other_tags_alone() {
    let programs = vec![
        vec![send(1, 1, 10), send(1, 2, 20), send(1, 3, 30)],
        vec![
            receive(Some(0), Some(3), 30),
            receive(Some(0), Some(1), 10),
            receive(None, None, 20),
        ],
    ];
    run(settings(), fixed(), programs).unwrap().assert_clean();
}

#[test]
fn communicators_and_collectives_are_kept_apart() {
    let on = |communicator: u32, mut operation: Operation| {
        match &mut operation {
            Operation::Send { communicator: c, .. } | Operation::Receive { communicator: c, .. } => {
                *c = communicator;
            }
            _ => unreachable!("only messages have one here"),
        }
        operation
    };
    // In communicator 1 the ranks are numbered backwards. The wildcard receive is posted before the barrier. It
    // must not take messages of the barrier or of the other communicator.
    let programs = vec![
        vec![
            collective(Collective::Barrier, 0, 0, 0),
            on(1, send(0, 5, 40)),
            send(1, 5, 8),
            collective(Collective::Barrier, 1, 0, 0),
        ],
        vec![
            ireceive(None, None, 8, 1),
            on(1, ireceive(Some(1), Some(5), 40, 2)),
            collective(Collective::Barrier, 0, 0, 0),
            wait(&[1, 2]),
            collective(Collective::Barrier, 1, 0, 0),
        ],
    ];
    for seed in 0..100 {
        let communicators = vec![vec![0, 1], vec![1, 0]];
        let outcome = run_in(
            settings(),
            Delay::Random { seed },
            communicators,
            programs.clone(),
        )
        .unwrap();
        outcome.assert_clean();
        assert_eq!(outcome.stats(0).collective_messages_sent, 2);
        assert_eq!(
            (
                outcome.stats(1).messages_received,
                outcome.stats(1).bytes_received
            ),
            (2, 48)
        );
        assert_eq!(outcome.stats(1).call(Call::Barrier).calls, 2);
    }
}
