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
