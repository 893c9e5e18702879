//! Every algorithm through whole ranks, over a network that changes the order.

use mpi::{ALGORITHMS, Settings};

use super::network::*;

#[test]
fn every_algorithm_ends_on_every_size() {
    for algorithm in ALGORITHMS {
        for ranks in 1..=17u32 {
            for bytes in [0, 10, 5000] {
                let mut settings: Settings = settings();
                settings
                    .collectives
                    .choose(algorithm.collective, algorithm.name)
                    .unwrap();
                let operation = collective(algorithm.collective, 0, ranks / 2, bytes);
                // Twice, so that a fast rank is in the next one while others are in the first.
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
    for algorithm in ALGORITHMS {
        let programs = (0..7)
            .map(|rank| vec![collective(algorithm.collective, 0, 0, 60 * rank)])
            .collect();
        run(settings(), Delay::Random { seed: 1 }, programs)
            .unwrap()
            .assert_clean();
    }
}
