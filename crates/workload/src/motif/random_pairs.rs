//! random-pairs: each rank exchanges with a random rank of the other half.
//!
//! Source: Chatterbug, `pairs/pairs.C`, which uses the random numbers of the C library. Here they are
//! SplitMix64 with the shuffle of Fisher and Yates.

use crate::traffic::{SplitMix, TrafficRandom};
use config::{Type, parameters};

use super::parameters::{bytes, iterations, pause, ranks};
use super::{Motif, Script, Skeleton, workload};

pub(super) const MOTIF: Motif = Motif {
    name: "random-pairs",
    summary: "each rank exchanges with one of the other half, found by lot or opposite",
    source: "Chatterbug, pairs",
    parameters: parameters! {
        required("ranks", Type::Integer, "number of ranks; even");
        size("bytes", "64 KiB", "of each message");
        integer("iterations", 1, "how many");
        time("compute", "0 ps", "time of the computation before each");
        flag("random", true, "whether partners are found by lot; else rank r and r + ranks / 2 are");
        integer("seed", 1331, "of the lot");
        flag("barriers", true, "the barriers before and after");
    },
    example: "ranks = 6\niterations = 2",
    build: |section| {
        let ranks = ranks(section)?;
        if ranks % 2 != 0 {
            let message = format!("{ranks} ranks cannot be paired; expected an even number");
            return Err(section.error("ranks", message));
        }
        let half = ranks / 2;
        let mut partners: Vec<u32> = (half..ranks).collect();
        let seed = section.get::<u64>("seed")?;
        if section.get("random")? {
            let mut random = SplitMix(seed);
            for last in (1..partners.len()).rev() {
                partners.swap(last, random.below(last as u64 + 1) as usize);
            }
        }
        // The same for the upper half.
        partners.resize(ranks as usize, 0);
        for lower in 0..half {
            let upper = partners[lower as usize];
            partners[upper as usize] = lower;
        }
        Ok(workload(RandomPairs {
            partners,
            bytes: bytes(section, "bytes")?,
            iterations: u64::from(iterations(section)?),
            compute_ps: pause(section)?,
            barriers: section.get("barriers")?,
        }))
    },
};

struct RandomPairs {
    /// Partner of each rank.
    partners: Vec<u32>,
    bytes: u64,
    iterations: u64,
    compute_ps: u64,
    barriers: bool,
}

impl Skeleton for RandomPairs {
    fn ranks(&self) -> u32 {
        self.partners.len() as u32
    }

    fn step(&self, rank: u32, step: u64, script: &mut Script) -> bool {
        if step == 0 && self.barriers {
            script.barrier();
        }
        let partner = self.partners[rank as usize];
        script.compute(self.compute_ps);
        script.start_receive(partner, 0, self.bytes);
        script.start_send(partner, 0, self.bytes);
        script.wait_all();
        script.end_iteration(step + 1 < self.iterations, self.barriers)
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{error, open, totals};
    use crate::Operation;

    fn partners(text: &str) -> Vec<u32> {
        let workload = open("random-pairs", text);
        (0..workload.ranks())
            .map(|rank| {
                let mut program = workload.program(rank).unwrap();
                loop {
                    if let Some(Operation::Send { to, .. }) = program.next().unwrap() {
                        return to;
                    }
                }
            })
            .collect()
    }

    #[test]
    fn messages_and_bytes() {
        let found = totals(
            "random-pairs",
            "ranks = 10\nbytes = \"3 B\"\niterations = 4\ncompute = \"1 ps\"",
        );
        assert_eq!((found.messages, found.bytes, found.compute_ps), (40, 120, 40));
    }

    #[test]
    fn the_seed_decides() {
        assert_eq!(partners("ranks = 6\nrandom = false"), [3, 4, 5, 0, 1, 2]);
        assert_eq!(partners("ranks = 100"), partners("ranks = 100\nseed = 1331"));
        let other = partners("ranks = 100\nseed = 2");
        assert_ne!(partners("ranks = 100"), other);
        for (rank, partner) in (0..).zip(&other) {
            assert!((rank < 50) != (*partner < 50));
            assert_eq!(other[*partner as usize], rank);
        }
        assert!(error("random-pairs", "ranks = 7").contains("expected an even number"));
    }
}
