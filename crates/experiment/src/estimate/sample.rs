//! Samples of ranks and hosts, and the random numbers of an estimate.

use des::RandomStream;
use routing::Random;

/// Random numbers of an estimate. No LP draws from their stream.
pub struct SampleRandom {
    stream: RandomStream,
    /// Whether a choice of several was asked for since this was last set.
    pub was_asked: bool,
}

impl SampleRandom {
    /// The numbers of an experiment with this seed.
    pub fn new(seed: u64) -> SampleRandom {
        SampleRandom {
            // Nothing of a run uses the complement of its seed.
            stream: RandomStream::new(!seed, 0, 0),
            was_asked: false,
        }
    }
}

impl Random for SampleRandom {
    fn below(&mut self, bound: u32) -> u32 {
        self.was_asked |= bound > 1;
        ((u128::from(self.stream.next_u64()) * u128::from(bound)) >> u64::BITS) as u32
    }
}

impl workload::traffic::TrafficRandom for SampleRandom {
    fn next_u64(&mut self) -> u64 {
        self.stream.next_u64()
    }
}

/// One of a number of ranks or hosts, and how many it stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    /// Number.
    pub index: u32,
    /// How many it stands for, itself included.
    pub stands_for: u32,
}

/// At most `most` of `all`, evenly spaced: number 0, which stands for itself because it is the usual root, and one at
/// random of each of equal parts of the others. Equal distances would meet the same coordinate in a grid each time, and
/// the same level in a tree.
pub fn sample(all: u32, most: u32, random: &mut SampleRandom) -> Vec<Sampled> {
    let others = all.saturating_sub(1);
    let parts = others.min(most.max(2) - 1);
    let border = |part: u32| 1 + (u64::from(others) * u64::from(part) / u64::from(parts.max(1))) as u32;
    let root = Sampled {
        index: 0,
        stands_for: 1,
    };
    let mut sampled: Vec<Sampled> = (all > 0).then_some(root).into_iter().collect();
    sampled.extend((0..parts).map(|part| {
        let stands_for = border(part + 1) - border(part);
        Sampled {
            index: border(part) + random.below(stands_for),
            stands_for,
        }
    }));
    sampled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_stands_for_all() {
        let mut random = SampleRandom::new(3);
        for (all, most) in [
            (0, 9),
            (1, 9),
            (2, 1),
            (9, 9),
            (10, 9),
            (1000, 64),
            (u32::MAX, 64),
        ] {
            let sampled = sample(all, most, &mut random);
            assert!(sampled.len() <= most.max(2) as usize, "{all} {most}");
            let total: u64 = sampled.iter().map(|one| u64::from(one.stands_for)).sum();
            assert_eq!(total, u64::from(all));
            assert!(sampled.windows(2).all(|pair| pair[0].index < pair[1].index));
            assert!(sampled.iter().all(|one| one.index < all));
        }
        let all: Vec<u32> = sample(9, 9, &mut random).iter().map(|one| one.index).collect();
        assert_eq!(all, (0..9).collect::<Vec<u32>>());
    }

    #[test]
    fn numbers_are_below_their_bound_and_spread() {
        let mut random = SampleRandom::new(1);
        let mut found = [0u32; 5];
        for _ in 0..5000 {
            found[random.below(5) as usize] += 1;
        }
        assert!(found.iter().all(|count| (800..1200).contains(count)), "{found:?}");
        random.was_asked = false;
        assert_eq!(random.below(1), 0);
        assert!(!random.was_asked);
    }
}
