//! Probes wait for a message and do not receive it. Times as in `timing`.

use des::Time;
use mpi::MpiSettings;
use workload::Call;

use super::network::*;

const EAGER: u64 = 1000 + 102;
const CONTROL: u64 = 1000 + 4;

#[test]
fn a_probe_ends_when_the_envelope_is_here_and_leaves_it() {
    let programs = |wait: u64| {
        vec![
            vec![send(1, 7, 100)],
            vec![
                compute(wait),
                probe(Some(0), Some(7)),
                receive(Some(0), Some(7), 100),
            ],
        ]
    };
    let early = run(settings(), fixed(), programs(0)).unwrap();
    early.assert_clean();
    assert_eq!(early.end_ns(1), 10 + EAGER + 20);
    assert_eq!(early.stats(1).call(Call::Probe).time, Time::from_ns(10 + EAGER));
    assert_eq!(early.stats(1).call(Call::Recv).time, Time::from_ns(20));

    let late = run(settings(), fixed(), programs(5000)).unwrap();
    late.assert_clean();
    assert_eq!(late.end_ns(1), 5000 + 20);
    let calls = late.stats(1).call(Call::Probe);
    assert_eq!((calls.calls, calls.time), (1, Time::ZERO));
}

#[test]
fn a_rendezvous_is_seen_by_its_request_to_send() {
    let programs = vec![
        vec![send(1, 7, 1000)],
        vec![probe(None, None), receive(Some(0), Some(7), 1000)],
    ];
    let outcome = run(settings(), fixed(), programs).unwrap();
    outcome.assert_clean();
    assert_eq!(
        outcome.stats(1).call(Call::Probe).time,
        Time::from_ns(10 + CONTROL)
    );
    // The clear to send leaves when the receive is posted, as without a probe.
    assert_eq!(outcome.end_ns(1), 10 + 2 * CONTROL + 1002 + 1000 + 20);
}

#[test]
fn posted_receives_take_their_messages_before_a_probe_sees_them() {
    // The first message matches both receives; the probe waits for the second.
    let programs = vec![
        vec![send(1, 7, 100), compute(3000), send(1, 7, 100)],
        vec![
            ireceive(None, None, 100, 1),
            probe(Some(0), Some(7)),
            receive(Some(0), Some(7), 100),
            wait(&[1]),
        ],
    ];
    let outcome = run(settings(), fixed(), programs).unwrap();
    outcome.assert_clean();
    let second = 10 + 3000 + 10 + EAGER;
    assert_eq!(outcome.stats(1).call(Call::Probe).time, Time::from_ns(second));
    assert_eq!(outcome.end_ns(1), second + 2 * 20);
}

#[test]
fn messages_that_do_not_fit_do_not_end_a_probe() {
    // The probe matches neither tag nor communicator nor source; collectives have a context of their own.
    let other = |mut operation: workload::Operation| {
        if let workload::Operation::Send { communicator, .. } = &mut operation {
            *communicator = 1;
        }
        operation
    };
    let programs = vec![
        vec![
            send(1, 8, 0),
            other(send(1, 7, 0)),
            collective(workload::Collective::Bcast, 0, 0, 0),
            compute(5000),
            send(1, 7, 0),
        ],
        vec![
            probe(Some(0), Some(7)),
            receive(Some(0), Some(7), 0),
            collective(workload::Collective::Bcast, 0, 0, 0),
            receive(Some(0), Some(8), 0),
        ],
    ];
    let communicators = vec![vec![0, 1], vec![0, 1]];
    let outcome = run_in(settings(), fixed(), communicators, programs).unwrap();
    assert_eq!(
        outcome.stats(1).call(Call::Probe).time,
        Time::from_ns(4 * 10 + 5000 + 1002)
    );
    assert_eq!(
        outcome.ranks[1].unexpected_messages(),
        1,
        "the one in communicator 1"
    );
}

#[test]
fn what_is_looked_at_in_the_queues_costs_the_receiver() {
    let settings = MpiSettings {
        matching_overhead: Time::from_ns(7),
        ..settings()
    };
    let sender = || vec![send(1, 2, 0), send(1, 1, 0), send(1, 0, 0)];
    // Receives of tags 0, 1, 2 are posted: the message of tag 2 is compared with all three.
    let posted = (0..3)
        .map(|tag| ireceive(Some(0), Some(tag), 0, tag.into()))
        .chain([wait(&[0, 1, 2])])
        .collect();
    let outcome = run(settings.clone(), fixed(), vec![sender(), posted]).unwrap();
    outcome.assert_clean();
    assert_eq!(outcome.end_ns(1), 1012 + 3 * 20 + (3 + 2 + 1) * 7);

    // Unexpected messages have tags 2, 1, 0: the receive of tag 0 compares three of them, and so does the probe.
    let late = vec![
        compute(5000),
        probe(None, Some(0)),
        receive(Some(0), Some(0), 0),
        receive(Some(0), Some(1), 0),
        receive(Some(0), Some(2), 0),
    ];
    let outcome = run(settings.clone(), fixed(), vec![sender(), late]).unwrap();
    outcome.assert_clean();
    assert_eq!(outcome.stats(1).call(Call::Probe).time, Time::from_ns(3 * 7));
    assert_eq!(outcome.end_ns(1), 5000 + 3 * 7 + 3 * 20 + (3 + 2 + 1) * 7);

    // A message that passes one posted receive, and the receive of this message, both compare one entry. The other
    // receive compares none.
    let both = vec![
        ireceive(Some(0), Some(9), 0, 9),
        compute(5000),
        ireceive(Some(0), Some(1), 0, 1),
        wait(&[1]),
        wait(&[9]),
    ];
    let sender = vec![send(1, 1, 0), compute(6000), send(1, 9, 0)];
    let outcome = run(settings.clone(), fixed(), vec![sender, both]).unwrap();
    outcome.assert_clean();
    assert_eq!(outcome.end_ns(1), 10 + 6000 + 10 + 1002 + 20 + 7);
    assert_eq!(
        outcome.stats(1).call(Call::Wait).time + outcome.stats(1).call(Call::Irecv).time,
        Time::from_ns(outcome.end_ns(1) - 5000)
    );

    // A waiting probe compares each arriving message, the matching one included.
    let waiting = vec![
        probe(Some(0), Some(0)),
        receive(Some(0), Some(0), 0),
        receive(Some(0), Some(1), 0),
        receive(Some(0), Some(2), 0),
    ];
    let sender = vec![send(1, 2, 0), send(1, 1, 0), send(1, 0, 0)];
    let outcome = run(settings, fixed(), vec![sender, waiting]).unwrap();
    outcome.assert_clean();
    assert_eq!(outcome.stats(1).call(Call::Probe).time, Time::from_ns(1032 + 7));
}
