//! Counter-based random numbers: the n-th draw of an LP is a function of seed, LP and n, the same in all executors.
//! Decrementing n undoes a draw.
//!
//! Philox2x64-10 of Salmon, Moraes, Dror and Shaw, *Parallel random numbers: as easy as 1, 2, 3* (SC11).

/// One block of Philox2x64 with ten rounds.
#[inline]
pub fn philox2x64(counter: [u64; 2], key: u64) -> [u64; 2] {
    const MULTIPLIER: u64 = 0xD2B7_4407_B1CE_6E93;
    const WEYL: u64 = 0x9E37_79B9_7F4A_7C15;
    let [mut left, mut right] = counter;
    let mut key = key;
    for _ in 0..10 {
        let product = u128::from(left) * u128::from(MULTIPLIER);
        left = (product >> 64) as u64 ^ key ^ right;
        right = product as u64;
        key = key.wrapping_add(WEYL);
    }
    [left, right]
}

/// The random stream of one LP. Its position is its only state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomStream {
    seed: u64,
    lp: u32,
    draws: u64,
}

impl RandomStream {
    /// The stream of an LP after `draws` numbers.
    pub fn new(seed: u64, lp: u32, draws: u64) -> RandomStream {
        RandomStream { seed, lp, draws }
    }

    /// The next number.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let [number, _] = philox2x64([self.draws, u64::from(self.lp)], self.seed);
        self.draws += 1;
        number
    }

    /// Numbers drawn so far.
    pub fn draws(&self) -> u64 {
        self.draws
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known-answer tests of the authors' Random123 library (kat_vectors, philox2x64-10).
    #[test]
    fn known_answers() {
        let max = u64::MAX;
        assert_eq!(
            philox2x64([0, 0], 0),
            [0xca00_a045_9843_d731, 0x66c2_4222_c9a8_45b5]
        );
        assert_eq!(
            philox2x64([max, max], max),
            [0x65b0_21d6_0cd8_310f, 0x4d02_f322_2f86_df20]
        );
        assert_eq!(
            philox2x64(
                [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344],
                0xa409_3822_299f_31d0
            ),
            [0x0a5e_742c_2997_341c, 0xb0f8_83d3_8000_de5d]
        );
    }

    #[test]
    fn streams_of_lps_and_seeds_differ() {
        let first = |seed, lp| RandomStream::new(seed, lp, 0).next_u64();
        assert_ne!(first(1, 1), first(1, 2));
        assert_ne!(first(1, 1), first(2, 1));
        let mut stream = RandomStream::new(1, 1, 0);
        let (a, b) = (stream.next_u64(), stream.next_u64());
        assert_ne!(a, b);
        assert_eq!(RandomStream::new(1, 1, 1).next_u64(), b);
    }
}
