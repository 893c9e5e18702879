//! Times against closed forms, to the picosecond. In `settings()` and `fixed()`: o_s = 10, o_r = 20,
//! L = 1000, G = 1 per byte, header 2, control 4 (nanoseconds, bytes).

use std::sync::Arc;

use des::Time;
use mpi::{Action, MpiJob, MpiSettings, Rank};
use workload::{Call, Collective};

use super::network::*;

const CONTROL: u64 = 1000 + 4;

#[test]
fn eager() {
    let early = run(
        settings(),
        fixed(),
        vec![vec![send(1, 0, 100)], vec![receive(Some(0), Some(0), 100)]],
    );
    let early = early.unwrap();
    early.assert_clean();
    assert_eq!((early.end_ns(0), early.end_ns(1)), (10, 10 + 1000 + 102 + 20));
    assert_eq!(early.stats(1).call(Call::Recv).time, Time::from_ns(1132));

    let late = vec![
        vec![send(1, 0, 100)],
        vec![compute(5000), receive(Some(0), Some(0), 100)],
    ];
    let late = run(settings(), fixed(), late).unwrap();
    assert_eq!((late.end_ns(0), late.end_ns(1)), (10, 5000 + 20));
    assert_eq!(late.stats(1).compute, Time::from_ns(5000));
    assert_eq!(late.stats(1).call(Call::Recv).time, Time::from_ns(20));
}

#[test]
fn rendezvous() {
    for (call, bytes) in [
        (Call::Send, 101),
        (Call::Ssend, 101),
        (Call::Ssend, 0),
        (Call::Ssend, 100),
    ] {
        let sender = vec![send_as(call, 1, 0, bytes, None)];
        let early = run(
            settings(),
            fixed(),
            vec![sender.clone(), vec![receive(Some(0), Some(0), bytes)]],
        );
        let early = early.unwrap();
        early.assert_clean();
        let injected = 10 + 2 * CONTROL + bytes + 2;
        assert_eq!(
            (early.end_ns(0), early.end_ns(1)),
            (injected, injected + 1000 + 20)
        );

        let late = vec![sender, vec![compute(5000), receive(Some(0), Some(0), bytes)]];
        let late = run(settings(), fixed(), late).unwrap();
        late.assert_clean();
        let injected = 5000 + CONTROL + bytes + 2;
        assert_eq!((late.end_ns(0), late.end_ns(1)), (injected, injected + 1000 + 20));
    }
}

#[test]
fn a_rendezvous_makes_progress_during_computation() {
    let programs = vec![
        vec![isend(1, 0, 5000, 1), compute(20_000), wait(&[1])],
        vec![ireceive(Some(0), Some(0), 5000, 1), compute(20_000), wait(&[1])],
    ];
    let outcome = run(settings(), fixed(), programs).unwrap();
    outcome.assert_clean();
    assert_eq!((outcome.end_ns(0), outcome.end_ns(1)), (20_010, 20_020));
    assert_eq!(outcome.stats(0).call(Call::Wait).time, Time::ZERO);
}

#[test]
fn modes_of_sends_end_when_mpi_says() {
    // Completion of a small and of a large send whose receive is posted late, at 9000.
    let (posted, data) = (9000, |bytes: u64| CONTROL + bytes + 2);
    for (call, small, large) in [
        (Call::Send, 10, posted + data(101)),
        (Call::Rsend, 10, posted + data(101)),
        (Call::Bsend, 10, 10),
        (Call::Ssend, posted + data(100), posted + data(101)),
        (Call::Isend, 10, posted + data(101)),
        (Call::Irsend, 10, posted + data(101)),
        (Call::Ibsend, 10, 10),
        (Call::Issend, posted + data(100), posted + data(101)),
        (Call::Start, 10, posted + data(101)),
        (Call::Startall, 10, posted + data(101)),
    ] {
        for (bytes, end) in [(100, small), (101, large)] {
            let blocking = matches!(call, Call::Send | Call::Rsend | Call::Bsend | Call::Ssend);
            let sender = match blocking {
                true => vec![send_as(call, 1, 0, bytes, None)],
                false => vec![send_as(call, 1, 0, bytes, Some(1)), wait(&[1])],
            };
            let receiver = vec![compute(posted), receive(Some(0), Some(0), bytes)];
            let outcome = run(settings(), fixed(), vec![sender, receiver]).unwrap();
            outcome.assert_clean();
            assert_eq!(outcome.end_ns(0), end, "{call:?} of {bytes} bytes");
        }
    }
}

#[test]
fn what_the_sender_copies_leaves_as_a_rendezvous_and_ends_at_once() {
    let settings = MpiSettings {
        copy_threshold: 200,
        ..settings()
    };
    let (posted, data) = (9000, |bytes: u64| CONTROL + bytes + 2);
    for (call, bytes, end) in [
        (Call::Send, 100, 10),
        (Call::Send, 200, 10),
        (Call::Send, 201, posted + data(201)),
        (Call::Ssend, 150, posted + data(150)),
        (Call::Bsend, 201, 10),
    ] {
        let receiver = vec![compute(posted), receive(Some(0), Some(0), bytes)];
        let sender = vec![send_as(call, 1, 0, bytes, None)];
        let outcome = run(settings.clone(), fixed(), vec![sender, receiver]).unwrap();
        outcome.assert_clean();
        assert_eq!(outcome.end_ns(0), end, "{call:?} of {bytes} bytes");
        let received = if bytes > 100 { data(bytes) + 1000 } else { 0 };
        assert_eq!(outcome.end_ns(1), posted + received + 20);
    }
}

/// The ranges of a library, by hand: up to 8 B no copy; up to 100 B the sender copies at 0.5 ns per byte and the
/// receiver at 0.25; up to 200 B only the sender copies, and the data goes into the buffer of the receiver; beyond,
/// none.
#[test]
fn copies_cost_cpu_time_on_the_side_that_copies() {
    let settings = MpiSettings {
        short_threshold: 8,
        copy_threshold: 200,
        send_copy_bandwidth: Some(16_000_000_000),
        receive_copy_bandwidth: Some(32_000_000_000),
        ..settings()
    };
    for (call, bytes, sender_copies, receiver_copies) in [
        (Call::Send, 0, false, false),
        (Call::Send, 8, false, false),
        (Call::Send, 12, true, true),
        (Call::Send, 100, true, true),
        (Call::Rsend, 100, true, true),
        (Call::Bsend, 8, false, false),
        (Call::Bsend, 100, true, true),
        (Call::Send, 104, true, false),
        (Call::Send, 200, true, false),
        (Call::Send, 204, false, false),
        (Call::Bsend, 204, true, false),
        (Call::Ssend, 100, false, false),
        (Call::Ssend, 200, false, false),
    ] {
        let what = format!("{call:?} of {bytes} bytes");
        let (send_copy, receive_copy) = (
            if sender_copies { bytes / 2 } else { 0 },
            if receiver_copies { bytes / 4 } else { 0 },
        );
        let leaves = 10 + send_copy;
        let is_eager = bytes <= 100 && call != Call::Ssend;
        let handshake = if is_eager { 0 } else { 2 * CONTROL };
        let data = leaves + handshake + bytes + 2;
        // The send is complete when its copy, or its last byte, has left.
        let complete = if is_eager || sender_copies { leaves } else { data };
        let sender = vec![send_as(call, 1, 0, bytes, None)];
        let receiver = vec![receive(Some(0), Some(0), bytes)];
        let early = run(settings.clone(), fixed(), vec![sender.clone(), receiver]).unwrap();
        early.assert_clean();
        let received = data + 1000 + 20 + receive_copy;
        assert_eq!((early.end_ns(0), early.end_ns(1)), (complete, received), "{what}");
        assert_eq!(early.ranks[0].path().overhead, Time::from_ns(leaves), "{what}");

        // A receive that is posted after the arrival pays its copy too, as MPI overhead of its own path.
        let receiver = vec![compute(9000), receive(Some(0), Some(0), bytes)];
        let late = run(settings.clone(), fixed(), vec![sender, receiver]).unwrap();
        if is_eager {
            assert_eq!(late.end_ns(1), 9000 + 20 + receive_copy, "{what}");
            let overhead = late.ranks[1].path().overhead;
            assert_eq!(overhead, Time::from_ns(20 + receive_copy), "{what}");
            assert_eq!(late.stats(1).call(Call::Recv).time, overhead, "{what}");
        }
        assert_eq!(late.stats(1).compute, Time::from_ns(9000));
    }
}

/// Neither side copies what a put or get moves.
#[test]
fn one_sided_transfers_have_no_copies() {
    let programs = || vec![vec![put(1, 60), get(1, 80), fence()], vec![fence()]];
    let copies = MpiSettings {
        send_copy_bandwidth: Some(1_000_000_000),
        receive_copy_bandwidth: Some(1_000_000_000),
        ..settings()
    };
    let [with, without] = [copies, settings()].map(|settings| run(settings, fixed(), programs()).unwrap());
    // The messages of the fence are empty.
    for rank in 0..2 {
        assert_eq!(with.end_ns(rank), without.end_ns(rank));
    }
}

/// Copies are work of a CPU that serves one message after the other.
#[test]
fn copies_queue_up_on_the_cpu() {
    let settings = MpiSettings {
        send_copy_bandwidth: Some(8_000_000_000),
        receive_copy_bandwidth: Some(2_000_000_000),
        ..settings()
    };
    // They leave at 60, 120 and 180 and arrive 1052 later; each takes 20 + 4 * 50 of the receiver's time.
    let programs = vec![
        (0..3).map(|tag| send(1, tag, 50)).collect(),
        (0..3)
            .map(|tag| ireceive(Some(0), Some(tag), 50, tag.into()))
            .chain([wait(&[0, 1, 2])])
            .collect(),
    ];
    let outcome = run(settings, fixed(), programs).unwrap();
    outcome.assert_clean();
    assert_eq!((outcome.end_ns(0), outcome.end_ns(1)), (180, 60 + 1052 + 3 * 220));
}

/// CODES' MPI replay copies at the sender, at 0.55 ns per byte, up to 8,191 B. Its file `mpi_replay_a01.csv` has the
/// start of the NIC: 3,510 ns of constant delays and 11.01 ns of the NIC after the send, and the copy.
#[test]
fn an_eager_copy_takes_as_long_as_in_codes() {
    let settings = MpiSettings {
        eager_threshold: 8191,
        send_overhead: Time::from_ns(3510),
        send_copy_bandwidth: Some(14_545_454_545),
        ..settings()
    };
    for (bytes, ready_ns, nic_ns) in [
        (64, 0, 3556.21),
        (256, 5000, 8661.81),
        (4096, 0, 5773.81),
        (8191, 0, 8026.06),
    ] {
        let sender = vec![compute(ready_ns), send(1, 0, bytes)];
        let outcome = run(
            settings.clone(),
            fixed(),
            vec![sender, vec![receive(Some(0), Some(0), bytes)]],
        );
        let handed_over = outcome.unwrap().stats(0).finished_at.unwrap();
        let difference = handed_over.ps() as f64 / 1000.0 + 11.01 - nic_ns;
        assert!(difference.abs() < 0.011, "{bytes} bytes: {difference} ns");
    }
}

#[test]
fn a_persistent_request_is_started_again_and_again() {
    let start = |n: u32| send_as(Call::Start, 1, n, 500, Some(4));
    let again = |n: u32| {
        let mut receive = ireceive(Some(0), Some(n), 500, 4);
        if let workload::Operation::Receive { call, .. } = &mut receive {
            *call = Call::Start;
        }
        receive
    };
    let programs = vec![
        (0..3).flat_map(|n| [start(n), wait(&[4])]).collect(),
        (0..3).flat_map(|n| [again(n), wait(&[4])]).collect(),
    ];
    let outcome = run(settings(), fixed(), programs).unwrap();
    outcome.assert_clean();
    let starts = |rank| outcome.stats(rank).call(Call::Start);
    assert_eq!((starts(0).calls, starts(1).calls), (3, 3));
    assert_eq!((starts(0).time, starts(1).time), (Time::from_ns(30), Time::ZERO));
}

#[test]
fn buffered_sends_end_with_their_overhead() {
    let programs = vec![
        vec![
            send_as(Call::Bsend, 1, 0, 5000, None),
            send_as(Call::Ibsend, 1, 0, 5000, Some(3)),
            wait(&[3]),
        ],
        vec![receive(Some(0), Some(0), 5000), receive(Some(0), Some(0), 5000)],
    ];
    let outcome = run(settings(), fixed(), programs).unwrap();
    outcome.assert_clean();
    assert_eq!(outcome.end_ns(0), 20);
}

#[test]
fn receive_overheads_queue_up_on_the_cpu() {
    // Three messages leave at 10, 20 and 30 and arrive 1002 later; each takes 20 of CPU time.
    let programs = vec![
        (0..3).map(|tag| send(1, tag, 0)).collect(),
        (0..3)
            .map(|tag| ireceive(Some(0), Some(tag), 0, tag.into()))
            .chain([wait(&[2, 0, 1])])
            .collect(),
    ];
    let outcome = run(settings(), fixed(), programs.clone()).unwrap();
    outcome.assert_clean();
    assert_eq!(outcome.end_ns(1), 1012 + 3 * 20);

    // With gaps between arrivals the CPU is idle until the last one.
    let spread = MpiSettings {
        send_overhead: Time::from_ns(100),
        ..settings()
    };
    assert_eq!(run(spread, fixed(), programs).unwrap().end_ns(1), 300 + 1002 + 20);
}

#[test]
fn without_overheads_everything_is_inline() {
    let free = MpiSettings {
        send_overhead: Time::ZERO,
        receive_overhead: Time::ZERO,
        ..settings()
    };
    let programs = vec![
        vec![
            send(1, 0, 0),
            compute(0),
            isend(1, 1, 8, 0),
            wait(&[0]),
            wait(&[]),
        ],
        vec![receive(Some(0), Some(0), 0), receive(None, None, 8)],
    ];
    let outcome = run(free, fixed(), programs).unwrap();
    outcome.assert_clean();
    assert_eq!((outcome.end_ns(0), outcome.end_ns(1)), (0, 1010));
    assert_eq!(outcome.stats(0).call(Call::Wait).calls, 1);
    assert_eq!(outcome.stats(0).call(Call::Waitall).calls, 1);
}

#[test]
fn a_message_to_oneself_goes_out_and_comes_back() {
    let programs = vec![vec![
        ireceive(Some(0), Some(0), 500, 1),
        send(0, 0, 500),
        wait(&[1]),
    ]];
    let outcome = run(settings(), fixed(), programs).unwrap();
    outcome.assert_clean();
    assert_eq!(outcome.end_ns(0), 10 + 2 * CONTROL + 502 + 1000 + 20);
}

#[test]
fn computation_is_scaled() {
    let mut halved = settings();
    halved.compute = mpi::ComputeRule::scaled(0.5).unwrap();
    let outcome = run(halved, fixed(), vec![vec![compute(3000)]]).unwrap();
    assert_eq!(outcome.end_ns(0), 1500);
    assert_eq!(outcome.stats(0).compute, Time::from_ns(1500));
}

#[test]
fn a_sendrecv_counts_once() {
    let exchange = |peer: u32| {
        let call = Call::Sendrecv;
        let mut operations = vec![
            ireceive(Some(peer), None, 64, 1),
            isend(peer, 0, 64, 2),
            wait(&[1, 2]),
        ];
        for operation in &mut operations {
            match operation {
                workload::Operation::Send { call: c, .. }
                | workload::Operation::Receive { call: c, .. }
                | workload::Operation::Wait { call: c, .. } => *c = call,
                _ => {}
            }
        }
        operations
    };
    let outcome = run(settings(), fixed(), vec![exchange(1), exchange(0)]).unwrap();
    outcome.assert_clean();
    let sendrecv = outcome.stats(0).call(Call::Sendrecv);
    assert_eq!(
        (sendrecv.calls, sendrecv.time),
        (1, Time::from_ns(10 + 1066 + 20))
    );
}

#[test]
fn collectives_take_their_rounds() {
    // 5 ranks: three rounds with one send and one receive each.
    let barrier = vec![vec![collective(Collective::Barrier, 0, 0, 0)]; 5];
    let outcome = run(settings(), fixed(), barrier).unwrap();
    outcome.assert_clean();
    for rank in 0..5 {
        assert_eq!(outcome.end_ns(rank), 3 * (10 + 1002 + 20));
        assert_eq!(outcome.stats(rank).call(Call::Barrier).calls, 1);
    }

    // 8 ranks with rendezvous: injection, then arrival of the data, then its overhead.
    let allreduce = vec![vec![collective(Collective::Allreduce, 0, 0, 1000)]; 8];
    let outcome = run(settings(), fixed(), allreduce).unwrap();
    outcome.assert_clean();
    assert_eq!(outcome.end_ns(3), 3 * (10 + 2 * CONTROL + 1002 + 1000 + 20));
}

#[test]
fn an_interrupted_operation_counts_up_to_the_end() {
    let job = Arc::new(MpiJob::new(2, vec![vec![0, 1]].into(), settings()).unwrap());
    let program = vec![compute(1000), receive(Some(1), None, 8)];
    let mut rank = Rank::new(job, 0, Box::new(List(program.into_iter())));
    let mut out = Vec::new();
    rank.start(Time(500), &mut out).unwrap();
    let computing = rank.stats_at(Time(900));
    assert_eq!((computing.compute, computing.calls().len()), (Time(400), 0));
    assert_eq!(rank.stats().compute, Time::ZERO, "the rank itself is unchanged");
    let Some(Action::ResumeAt(until)) = out.first().copied() else {
        panic!("{out:?}")
    };
    rank.resume(until, &mut out).unwrap();
    let end = Time(until.ps() + 70);
    let waiting = rank.stats_at(end);
    let receive = waiting.call(Call::Recv);
    assert_eq!((receive.calls, receive.time), (1, Time(70)));
    assert_eq!(waiting.compute + waiting.communication(), end - Time(500));
}
