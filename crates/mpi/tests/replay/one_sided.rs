//! Put, get and fence. Times as in `timing`.

use des::Time;
use mpi::{MessageKind, RankStats};
use workload::{Call, Collective};

use super::network::*;

const CONTROL: u64 = 1000 + 4;

fn traffic(stats: &RankStats) -> [u64; 4] {
    [
        stats.messages_sent,
        stats.bytes_sent,
        stats.messages_received,
        stats.bytes_received,
    ]
}

#[test]
fn a_put_is_over_when_its_acknowledgement_is_back() {
    for bytes in [100, 0, 5000] {
        let outcome = run(
            settings(),
            fixed(),
            vec![vec![put(1, bytes), fence()], vec![fence()]],
        )
        .unwrap();
        outcome.assert_clean();
        let acknowledged = 10 + 1000 + bytes + 2 + CONTROL;
        // Then a barrier of two ranks with one round; the message of rank 1 has already arrived.
        assert_eq!(
            (outcome.end_ns(0), outcome.end_ns(1)),
            (acknowledged + 10 + 20, acknowledged + 10 + 1002 + 20)
        );
        assert_eq!(outcome.stats(0).call(Call::Put).time, Time::from_ns(10));
        assert_eq!(outcome.stats(1).call(Call::WinFence).calls, 1);
        assert_eq!(traffic(outcome.stats(0)), [1, bytes, 0, 0]);
        assert_eq!(traffic(outcome.stats(1)), [0, 0, 1, bytes]);
        let kinds: Vec<MessageKind> = outcome.sent.iter().map(|message| message.kind).collect();
        assert_eq!(
            kinds,
            [
                MessageKind::Put,
                MessageKind::Eager,
                MessageKind::PutDone,
                MessageKind::Eager
            ]
        );
    }
}

#[test]
fn a_get_is_over_when_its_data_are_here() {
    for bytes in [100, 0, 5000] {
        let outcome = run(
            settings(),
            fixed(),
            vec![vec![get(1, bytes), fence()], vec![fence()]],
        )
        .unwrap();
        outcome.assert_clean();
        let back = 10 + CONTROL + 1000 + bytes + 2;
        assert_eq!(
            (outcome.end_ns(0), outcome.end_ns(1)),
            (back + 10 + 20, back + 10 + 1002 + 20)
        );
        // Bytes count in the direction of the data.
        assert_eq!(traffic(outcome.stats(0)), [0, 0, 1, bytes]);
        assert_eq!(traffic(outcome.stats(1)), [1, bytes, 0, 0]);
    }
}

#[test]
fn the_cpu_of_the_target_has_no_part_in_it() {
    let programs = vec![
        vec![put(1, 100), get(1, 100), fence()],
        vec![compute(50_000), fence()],
    ];
    let outcome = run(settings(), fixed(), programs).unwrap();
    outcome.assert_clean();
    assert_eq!(outcome.end_ns(1), 50_000 + 10 + 20);
    assert_eq!(outcome.end_ns(0), 50_000 + 10 + 1002 + 20);
    assert_eq!(outcome.stats(1).call(Call::WinFence).time, Time::from_ns(30));
}

#[test]
fn one_may_reach_oneself() {
    let outcome = run(settings(), fixed(), vec![vec![put(0, 0), get(0, 64), fence()]]).unwrap();
    outcome.assert_clean();
    assert_eq!(outcome.end_ns(0), 20 + CONTROL + 1000 + 66);
    assert_eq!(traffic(outcome.stats(0)), [2, 64, 2, 64]);
}

#[test]
fn a_fence_ends_only_what_its_window_has() {
    // A put in communicator 1 does not delay the fence in communicator 0.
    let programs = vec![
        vec![put_on(1, 1, 5000), fence(), fence_on(1)],
        vec![fence(), fence_on(1)],
    ];
    let communicators = vec![vec![0, 1], vec![0, 1]];
    let outcome = run_in(settings(), fixed(), communicators, programs).unwrap();
    outcome.assert_clean();
    let acknowledged = 10 + 1000 + 5002 + CONTROL;
    assert_eq!(outcome.end_ns(0), acknowledged + 10 + 20);
}

#[test]
fn nobody_waits_for_what_has_no_fence() {
    let outcome = run(settings(), fixed(), vec![vec![put(1, 100), get(1, 7)], vec![]]).unwrap();
    outcome.assert_clean();
    assert_eq!(outcome.end_ns(0), 20);
}

#[test]
fn fences_and_collectives_of_a_communicator_do_not_mix() {
    // MPI does not order the fences of a window with the collectives of the communicator from which it was created.
    let barrier = || nonblocking(Collective::Barrier, 0, 0, 0, 1);
    for seed in 0..50 {
        let programs = vec![
            vec![barrier(), put(1, 30), fence(), wait(&[1]), fence()],
            vec![fence(), barrier(), fence(), wait(&[1])],
        ];
        run(settings(), Delay::Random { seed }, programs)
            .unwrap()
            .assert_clean();
    }
}
