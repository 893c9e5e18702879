//! crystal-router: exchange in the dimensions of a hypercube, a stand-in for the Design Forward application.
//!
//! Published: 10,000 ranks, 2 TiB in all, a run of 1.37 s with 89 % communication. The exchange is that of the crystal
//! router of Nek5000 (<https://github.com/Nek5000/gslib>, `src/crystal.c`; G. C. Fox et al., *Solving Problems on
//! Concurrent Processors*, 1988) for any number of ranks: a group is halved, the lower half not smaller, and each rank
//! exchanges with its mirror image. The middle rank of an odd group has none; it sends to the lowest rank of the upper
//! half, which receives twice. Message sizes, which depend on the data, are assumed to be equal. Messages that only
//! announce a size are left out.

use config::{Bytes, Type, parameters};

use super::parameters::{
    MAX_COUNT, MAX_RANKS, PUBLISHED_COMPUTE, computation_ps, count, in_range, pause, published_compute,
};
use super::{Motif, Script, Skeleton, workload};

const PUBLISHED_RANKS: u32 = 10_000;
const PUBLISHED_VOLUME: u64 = 2 << 40;

pub(super) const MOTIF: Motif = Motif {
    name: "crystal-router",
    summary: "stand-in for Design Forward's Crystal Router: exchange in the dimensions of a hypercube",
    source: "Design Forward, Crystal Router (Nek5000)",
    parameters: parameters! {
        integer("ranks", PUBLISHED_RANKS as i64, "number of ranks");
        computed("volume", Type::Size, "2 TiB for each 10,000 ranks", "bytes of all messages together");
        integer("iterations", 100, "how many times through all dimensions");
        time("compute", "0 ps", "time of the computation before each");
        flag("published_compute", false, PUBLISHED_COMPUTE.summary);
    },
    example: "ranks = 13\nvolume = \"1 MB\"\niterations = 2",
    build: |section| {
        let ranks = count(section, "ranks", MAX_RANKS)?;
        let iterations = u64::from(count(section, "iterations", MAX_COUNT)?);
        let share = u128::from(PUBLISHED_VOLUME) * u128::from(ranks) / u128::from(PUBLISHED_RANKS);
        let volume = section.or("volume", Bytes { bytes: share as u64 })?.bytes;
        let messages = u128::from(messages(ranks)) * u128::from(iterations);
        let bytes = u128::from(volume).checked_div(messages).unwrap_or(0);
        Ok(workload(CrystalRouter {
            ranks,
            bytes: in_range(section, "volume", bytes)?,
            iterations,
            compute_ps: match published_compute(section, computation_ps(1_370, 8_900))? {
                Some(ps) => ps / iterations,
                None => pause(section)?,
            },
        }))
    },
};

/// Messages of a group: one of each rank, and those of its halves.
fn messages(ranks: u32) -> u64 {
    match ranks {
        0 | 1 => 0,
        _ => {
            let (upper, lower) = (ranks / 2, ranks.div_ceil(2));
            let below = if upper == lower {
                2 * messages(upper)
            } else {
                messages(upper) + messages(lower)
            };
            u64::from(ranks) + below
        }
    }
}

struct CrystalRouter {
    ranks: u32,
    bytes: u64,
    iterations: u64,
    compute_ps: u64,
}

impl Skeleton for CrystalRouter {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    /// One step passes through all dimensions.
    fn step(&self, rank: u32, step: u64, script: &mut Script) -> bool {
        script.compute(self.compute_ps);
        let (mut first, mut size, mut tag) = (0, self.ranks, 0);
        while size > 1 {
            let lower = size.div_ceil(2);
            let upper_first = first + lower;
            let mirror = first + (size - 1 - (rank - first));
            let in_the_middle = mirror == rank;
            if !in_the_middle {
                script.start_receive(mirror, tag, self.bytes);
            }
            if size % 2 == 1 && rank == upper_first {
                script.start_receive(upper_first - 1, tag, self.bytes);
            }
            script.start_send(if in_the_middle { upper_first } else { mirror }, tag, self.bytes);
            script.wait_all();
            if rank < upper_first {
                size = lower;
            } else {
                (first, size) = (upper_first, size - lower);
            }
            tag += 1;
        }
        step + 1 < self.iterations
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{open, totals};
    use crate::Operation;

    /// 1.37 s of which 11 % is computation, in all passes together.
    #[test]
    fn the_published_computation() {
        let text = "ranks = 2\niterations = 10\npublished_compute = true";
        let found = totals("crystal-router", text);
        assert_eq!(found.compute_ps, 2 * 10 * 15_070_000_000);
    }

    /// The destinations of a rank in one pass.
    fn peers(ranks: u32, rank: u32) -> Vec<u32> {
        let workload = open("crystal-router", &format!("ranks = {ranks}\niterations = 1"));
        let mut program = workload.program(rank).unwrap();
        std::iter::from_fn(|| program.next().unwrap())
            .filter_map(|operation| match operation {
                Operation::Send { to, .. } => Some(to),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn powers_of_two_are_hypercubes() {
        assert_eq!(peers(8, 0), [7, 3, 1]);
        assert_eq!(peers(8, 5), [2, 6, 4]);
        let found = totals(
            "crystal-router",
            "ranks = 64\nvolume = \"768 KB\"\niterations = 2",
        );
        assert_eq!((found.messages, found.bytes), (2 * 64 * 6, 768_000));
    }

    /// 7 = 4 + 3: rank 3 is in the middle and sends to 4. 3 = 2 + 1: rank 5 is in the middle and sends to 6.
    #[test]
    fn odd_groups() {
        assert_eq!(peers(7, 3), [4, 0, 2]);
        assert_eq!(peers(7, 4), [2, 6, 5]);
        assert_eq!(peers(7, 5), [1, 6, 4]);
        assert_eq!(peers(7, 6), [0, 4]);
        let found = totals("crystal-router", "ranks = 7\niterations = 1\nvolume = \"190 B\"");
        // 7, then 4 and 3, then 2, 2 and 2.
        assert_eq!((found.messages, found.bytes), (7 + 4 + 3 + 2 + 2 + 2, 20 * 9));
    }

    #[test]
    fn the_published_size() {
        assert_eq!(open("crystal-router", "").ranks(), 10_000);
        // 10,000 ranks and 13 or 14 dimensions.
        assert_eq!(super::messages(10_000), 133_616);
        assert_eq!(super::messages(1), 0);
        let found = totals("crystal-router", "ranks = 100\niterations = 3");
        let volume = (2u64 << 40) / 100;
        assert!(found.bytes <= volume && volume - found.bytes < found.messages);
    }
}
