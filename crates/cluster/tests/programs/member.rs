//! One process of the tests in `mpirun.rs`; its argument says which case.

use std::process::Command;
use std::thread;
use std::time::Duration;

use des::Processes;
use fabricsim_cluster::{self as cluster, ProcessGroup};

fn main() {
    let case = std::env::args().nth(1).expect("the name of a case");
    let member = cluster::join().unwrap_or_else(|error| panic!("{error}"));
    match case.as_str() {
        "alone" => alone(&member),
        "exchange" => {
            is_right(&member, 20, 20_000);
            // 16 bytes for each of four processes and round.
            is_right(&member.in_pieces_of(64), 20, 500);
        }
        "tiny-pieces" => is_right(&member.in_pieces_of(1), 5, 40),
        "again" => {
            drop(member);
            let again = cluster::join().err().expect("MPI cannot be initialised again");
            assert_eq!(again, cluster::JoinError::JoinedBefore);
        }
        "other-thread" => {
            let member = &member;
            let result = thread::scope(|scope| scope.spawn(|| member.least(&mut [1])).join());
            assert!(result.is_err(), "only the thread that joined may communicate");
        }
        "panic" => {
            begin(&member);
            assert!(member.index() != 1, "process 1 fails by itself");
            wait(&member);
        }
        "abort" => {
            begin(&member);
            if member.index() == 2 {
                member.abort(7);
            }
            wait(&member);
        }
        "killed" => {
            begin(&member);
            if member.index() == 1 {
                let own = std::process::id().to_string();
                Command::new("kill")
                    .args(["-9", &own])
                    .status()
                    .expect("kill runs");
            }
            wait(&member);
        }
        _ => panic!("no case {case}"),
    }
    println!("passed");
}

/// Says that all processes are there.
fn begin(member: &ProcessGroup) {
    member.least(&mut [1]);
    println!("under way");
    // A launcher that ends its processes may drop what they have said but a moment ago.
    thread::sleep(Duration::from_millis(300));
}

/// Waits for all processes, one of which never comes.
fn wait(member: &ProcessGroup) {
    member.exchange(vec![Vec::new(); member.count()]);
    unreachable!("one process never comes");
}

fn alone(member: &ProcessGroup) {
    assert_eq!((member.index(), member.count()), (0, 1));
    assert_eq!(member.exchange(vec![vec![5]]), [[5]]);
    assert!(!rsmpi::environment::is_initialized());
}

/// Exchanges parcels whose contents everyone can compute: of many lengths, often empty, in some rounds
/// all empty, in some from one process only.
fn is_right(member: &ProcessGroup, rounds: u64, longest: u64) {
    let (own, count) = (member.index(), member.count());
    for round in 0..rounds {
        let parcel = |from: usize, to: usize| -> Vec<u8> {
            let mut random = (round * 64 + from as u64) * 64 + to as u64;
            let silent = round % 5 == 3 || (round % 5 == 4 && from != count - 1);
            let length = match next(&mut random) % 4 {
                _ if silent => 0,
                0 => 0,
                1 => next(&mut random) % 4,
                _ => next(&mut random) % longest,
            };
            (0..length).map(|_| next(&mut random) as u8).collect()
        };
        let received = member.exchange((0..count).map(|to| parcel(own, to)).collect());
        assert_eq!(received.len(), count);
        for (from, received) in received.iter().enumerate() {
            assert!(
                *received == parcel(from, own),
                "round {round}: from {from} to {own}"
            );
        }
        let value = |rank: usize, place: u64| next(&mut (round * 99 + place * 9 + rank as u64));
        let mut values: Vec<u64> = (0..3).map(|place| value(own, place)).collect();
        values.push(u64::MAX);
        values.push(if own == 0 { u64::MAX } else { own as u64 });
        member.least(&mut values);
        for (place, least) in values[..3].iter().enumerate() {
            let all = (0..count).map(|rank| value(rank, place as u64));
            assert_eq!(Some(*least), all.min());
        }
        let last = if count == 1 { u64::MAX } else { 1 };
        assert_eq!(values[3..], [u64::MAX, last]);
    }
}

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
