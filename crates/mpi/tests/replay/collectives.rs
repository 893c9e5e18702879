//! Every algorithm on whole ranks, over a network that reorders messages.

use mpi::{ALGORITHMS, MpiSettings};
use workload::{Call, Collective, Counts, Operation};

use super::network::*;

#[test]
fn every_algorithm_ends_on_every_size() {
    for algorithm in ALGORITHMS {
        for ranks in 1..=17u32 {
            for bytes in [0, 10, 5000, 200_000] {
                let mut settings: MpiSettings = settings();
                settings
                    .collectives
                    .choose(algorithm.collective, algorithm.name)
                    .unwrap();
                let operation = collective(algorithm.collective, 0, ranks / 2, bytes);
                // Two calls, so that a fast rank is in the second while others are in the first.
                let programs = vec![vec![operation.clone(), operation]; ranks as usize];
                let outcome = run(settings, Delay::Random { seed: ranks.into() }, programs).unwrap();
                outcome.assert_clean();
                assert_eq!(outcome.sent.is_empty(), ranks == 1);
            }
        }
    }
}

#[test]
fn they_run_in_communicators_with_their_own_order() {
    for algorithm in ALGORITHMS {
        let communicators = vec![(0..6).collect(), vec![4, 2, 5], vec![3, 1]];
        let in_order = |members: &[u32]| (0..6).map(|rank| members.contains(&rank)).collect::<Vec<_>>();
        let programs = (0..6)
            .map(|rank: usize| {
                (0..3u32)
                    .filter(|c| in_order(&communicators[*c as usize])[rank])
                    .map(|c| collective(algorithm.collective, c, 1, 64))
                    .collect()
            })
            .collect();
        run_in(settings(), Delay::Random { seed: 1 }, communicators, programs)
            .unwrap()
            .assert_clean();
    }
}

#[test]
fn contributions_may_differ_between_ranks() {
    for algorithm in ALGORITHMS.iter().filter(|algorithm| algorithm.varying) {
        let mut settings: MpiSettings = settings();
        settings
            .collectives
            .choose(algorithm.collective, algorithm.name)
            .unwrap();
        let programs = (0..7)
            .map(|rank| vec![collective(algorithm.collective, 0, 0, 60 * rank)])
            .collect();
        run(settings, Delay::Random { seed: 1 }, programs)
            .unwrap()
            .assert_clean();
    }
}

/// The ranks of a `v` variant know no sizes of others, and select the same algorithm whatever they send.
#[test]
fn ranks_that_give_different_amounts_choose_alike() {
    for (which, call) in [
        (Collective::Allgather, Call::Allgatherv),
        (Collective::Alltoall, Call::Alltoallv),
        (Collective::Gather, Call::Gatherv),
        (Collective::Scatter, Call::Scatterv),
        (Collective::Allgather, Call::Iallgatherv),
        (Collective::Alltoall, Call::Ialltoallv),
        (Collective::Gather, Call::Igatherv),
        (Collective::Scatter, Call::Iscatterv),
        (Collective::Alltoall, Call::Other),
    ] {
        let programs = (0..16)
            .map(|rank| {
                let mut operation = collective(which, 0, 3, 1 << (2 * rank));
                let Operation::Collective { call: of, counts, .. } = &mut operation else {
                    unreachable!("made so")
                };
                *of = call;
                *counts = (call == Call::Other).then(Box::default);
                vec![operation]
            })
            .collect();
        run(settings(), Delay::Random { seed: 1 }, programs)
            .unwrap()
            .assert_clean();
    }
}

#[test]
fn known_sizes_are_what_is_sent() {
    const RANKS: u32 = 6;
    let size = |from: u32, to: u32| u64::from((from * 5 + to * 3) % 7) * 40;
    let all = |of: &dyn Fn(u32) -> u64| (0..RANKS).map(of).collect::<Vec<u64>>();
    let root = 4;
    // Bytes that a rank sends and receives, and the total on the network.
    type Sizes<'a> = Box<dyn Fn(u32) -> Counts + 'a>;
    let own = |rank: u32| size(rank, 0);
    let sum_of_own: u64 = (0..RANKS).map(own).sum();
    let alltoallv: Sizes = Box::new(|rank| Counts {
        sends: all(&|to| size(rank, to)),
        receives: all(&|from| size(from, rank)),
        ..Counts::default()
    });
    let pairs = (0..RANKS).flat_map(|from| (0..RANKS).map(move |to| (from, to)));
    let exchanged = pairs
        .filter(|(from, to)| from != to)
        .map(|(from, to)| size(from, to));
    let gatherv: Sizes = Box::new(|rank| Counts {
        sends: vec![own(rank)],
        receives: if rank == root { all(&own) } else { vec![] },
        ..Counts::default()
    });
    let scatterv: Sizes = Box::new(|rank| Counts {
        sends: if rank == root { all(&own) } else { vec![] },
        receives: vec![own(rank)],
        ..Counts::default()
    });
    let allgatherv: Sizes = Box::new(|rank| Counts {
        sends: vec![own(rank)],
        receives: all(&own),
        ..Counts::default()
    });
    let reduce_scatter: Sizes = Box::new(|_| Counts {
        sends: vec![],
        receives: all(&own),
        ..Counts::default()
    });
    for (which, sizes, bytes) in [
        (Collective::Alltoall, alltoallv, exchanged.sum()),
        (Collective::Gather, gatherv, sum_of_own - own(root)),
        (Collective::Scatter, scatterv, sum_of_own - own(root)),
        (Collective::Allgather, allgatherv, 5 * sum_of_own),
        // Recursive halving: three vectors among four ranks, two of ranks that sit out, and their parts.
        (
            Collective::ReduceScatter,
            reduce_scatter,
            5 * sum_of_own + own(0) + own(2),
        ),
    ] {
        for request in [None, Some(1)] {
            let programs = (0..RANKS).map(|rank| {
                let operation = Operation::Collective {
                    collective: which,
                    communicator: 0,
                    root,
                    bytes: 1_000_000,
                    counts: Some(Box::new(sizes(rank))),
                    request,
                    reduction: None,
                    call: Call::Other,
                };
                let wait = request.map(|request| wait(&[request]));
                [operation].into_iter().chain(wait).collect()
            });
            let outcome = run(settings(), Delay::Random { seed: 5 }, programs.collect()).unwrap();
            outcome.assert_clean();
            let sent: u64 = (0..RANKS as usize)
                .map(|rank| outcome.stats(rank).collective_bytes_sent)
                .sum();
            assert_eq!(sent, bytes, "{which:?}");
        }
    }
}

#[test]
fn counts_for_another_number_of_ranks_are_refused() {
    let mut operation = collective(Collective::Alltoall, 0, 0, 8);
    let Operation::Collective { counts, call, .. } = &mut operation else {
        unreachable!("made so")
    };
    (*call, *counts) = (
        Call::Alltoallv,
        Some(Box::new(Counts {
            sends: vec![1, 2, 3],
            receives: vec![1, 2],
            ..Counts::default()
        })),
    );
    let message = run(settings(), fixed(), vec![vec![operation]; 3])
        .err()
        .unwrap()
        .to_string();
    assert_eq!(
        message,
        "rank 0: MPI_Alltoallv: 2 counts for communicator 0 of 3 ranks"
    );
}
