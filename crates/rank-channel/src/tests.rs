use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use operation::{Answer, Call, Operation};

use crate::*;

fn wait(requests: Vec<u64>) -> Post {
    let call = Call::Waitall;
    Post::of(Operation::Wait { requests, call })
}

fn reply(now_ps: u64, requests: u64) -> Reply {
    let completed = |request| operation::Completed {
        request: Some(request),
        message: None,
    };
    Reply {
        answer: Answer {
            now_ps,
            flag: true,
            completed: (0..requests).map(completed).collect(),
        },
        ..Reply::default()
    }
}

fn two_ends(ranks: u32, rank: u32) -> (SimulatorEnd, RankEnd) {
    let memory = Arc::new(SharedMemory::create(ranks, false).unwrap());
    let other = SharedMemory::open(memory.path().as_ref()).unwrap();
    let simulator = SimulatorEnd::new(memory, rank, Arc::new(AtomicBool::new(true)));
    (simulator, RankEnd::new(other, rank).unwrap())
}

#[test]
fn what_a_rank_posts_arrives_in_order_and_is_replied_to() {
    // Frames longer than the buffer go in chunks, in both directions.
    let long = 100_000;
    let (mut simulator, mut rank) = two_ends(3, 2);
    let program = thread::spawn(move || {
        rank.compute(5);
        rank.compute(0);
        let short = rank.ask(&wait(vec![1]));
        let answered = rank.ask(&wait((0..long).collect()));
        for number in 0..10_000 {
            rank.post(&wait(vec![number]));
        }
        rank.end(&Post::Finished);
        (short, answered)
    });
    let mut next = |now, requests| {
        while simulator.posts.is_empty() {
            assert_eq!(simulator.awaits_reply(), now > 0);
            simulator.exchange(&reply(now, requests)).unwrap();
        }
        simulator.take().unwrap()
    };
    let compute = Operation::Compute { ps: 5, region: None };
    assert_eq!(next(0, 0), Post::of(compute));
    assert_eq!(next(0, 0), wait(vec![1]));
    assert_eq!(next(7, 1), wait((0..long).collect()));
    for number in 0..10_000 {
        assert_eq!(next(8, long), wait(vec![number]));
    }
    assert_eq!(next(9, 0), Post::Finished);
    let (short, answered) = program.join().unwrap();
    assert_eq!(short, reply(7, 1));
    assert_eq!(answered, reply(8, long));
}

#[test]
fn a_rank_that_ends_is_missed_at_once() {
    let memory = Arc::new(SharedMemory::create(1, false).unwrap());
    let lives = Arc::new(AtomicBool::new(true));
    let mut simulator = SimulatorEnd::new(memory.clone(), 0, lives.clone());
    let waiting = thread::spawn(move || simulator.exchange(&Reply::default()));
    thread::sleep(Duration::from_millis(20));
    lives.store(false, Ordering::Release);
    SimulatorEnd::rouse(&memory, 0);
    assert_eq!(waiting.join().unwrap(), Err(Gone));
}

#[test]
fn payloads_are_read_elsewhere_and_their_blocks_used_again() {
    let memory = SharedMemory::create(2, false).unwrap();
    let mut arena = Arena::new(1);
    let first = arena.store(&memory, &[b"one", b"two"]).unwrap();
    let second = arena.store(&memory, &[&[7; 100]]).unwrap();
    assert_eq!((first.sender(), first.bytes, second.bytes), (1, 6, 100));
    let other = SharedMemory::open(memory.path().as_ref()).unwrap();
    let (mut text, mut rest) = ([0; 6], [0; 2]);
    first.read_from(&other, 0, &mut text).unwrap();
    first.read_from(&other, 4, &mut rest).unwrap();
    assert_eq!((&text, &rest), (b"onetwo", b"wo"));
    arena.release(first);
    let again = arena.store(&memory, &[b"three"]).unwrap();
    assert_eq!(again, Payload { bytes: 5, ..first });
    assert_ne!(
        arena.store(&memory, &[b""]).unwrap(),
        Payload { bytes: 0, ..first }
    );
    let (mut far, mut third) = (Arena::new(0), [0; 5]);
    assert_eq!(far.store(&memory, &[b"x"]).unwrap().sender(), 0);
    again.read_from(&other, 0, &mut third).unwrap();
    assert_eq!(&third, b"three");
}

#[test]
fn wrong_ranks_and_memories_are_refused() {
    let memory = SharedMemory::create(2, false).unwrap();
    let error = RankEnd::new(memory, 2).unwrap_err().to_string();
    assert_eq!(error, "FABRICSIM_RANK=2, and there are 2 ranks");
    assert!(SharedMemory::open("/dev/zero".as_ref()).is_err());
    assert!(SharedMemory::create(u32::MAX, false).is_err());
}
