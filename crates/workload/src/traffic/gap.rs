//! The mean time between two messages of a host, with a fraction of a picosecond.

use config::Error;

/// A mean gap in units of 2^-32 ps, which keeps the offered load exact over a long run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeanGap {
    ps: u64,
    fraction: u32,
}

/// A mean number of bytes in units of 2^-16, since mean sizes may be fractions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeanBytes(u64);

/// Resolution of loads.
pub(super) const LOAD_STEPS: u64 = 1_000_000_000;

/// A load in units of 1e-9.
///
/// # Errors
/// The load is not a number above 0.
pub(super) fn load_steps(load: f64) -> Result<u64, Error> {
    let steps = (load * LOAD_STEPS as f64 + 0.5) as u64;
    if !load.is_finite() || steps == 0 {
        return Err(Error::general(format!(
            "a load of {load} is not a number above 0 (at least 1e-9)"
        )));
    }
    Ok(steps)
}

impl MeanBytes {
    /// A whole number, below 2^48.
    pub fn whole(bytes: u64) -> MeanBytes {
        MeanBytes(bytes << 16)
    }

    /// `numerator` / `denominator` (not 0) bytes, to the nearest 2^-16.
    ///
    /// # Errors
    /// 2^48 bytes or more.
    pub(super) fn from_ratio(numerator: u128, denominator: u128) -> Result<MeanBytes, Error> {
        let too_large = || Error::general("the mean size of messages is beyond 256 TiB");
        let scaled = numerator.checked_mul(1 << 16).ok_or_else(too_large)?;
        let nearest = (scaled + denominator / 2) / denominator;
        u64::try_from(nearest).map(MeanBytes).map_err(|_| too_large())
    }

    /// As a reduced fraction with a small numerator.
    fn ratio(self) -> (u128, u128) {
        let excess = (64 - self.0.leading_zeros()).saturating_sub(48);
        let shift = self.0.trailing_zeros().min(16).max(excess);
        (u128::from(self.0 >> shift), 1 << (16 - shift))
    }

    /// As a number to be shown.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 65536.0
    }
}

/// Longest mean gap: longer ones do not fit the arithmetic of the arrival processes.
const LONGEST_PS: u128 = 1 << 56;

impl MeanGap {
    /// `numerator` / `denominator` picoseconds, rounded down to 2^-32 ps.
    ///
    /// # Errors
    /// The denominator is 0 or the gap is longer than 2^56 ps (20 hours).
    pub fn from_ratio(numerator: u128, denominator: u128) -> Result<MeanGap, Error> {
        let whole = numerator.checked_div(denominator).filter(|ps| *ps < LONGEST_PS);
        let too_long = || Error::general("the mean time between two messages is longer than 20 hours");
        let ps = whole.ok_or_else(too_long)? as u64;
        let rest = numerator % denominator;
        // Denominators beyond 96 bits lose digits below a 32-bit fraction.
        let excess = (128 - rest.leading_zeros()).saturating_sub(96);
        let fraction = ((rest >> excess) << 32) / (denominator >> excess);
        Ok(MeanGap {
            ps,
            fraction: fraction.min(u32::MAX.into()) as u32,
        })
    }

    /// The mean gap at which messages of `bytes` fill the share `load` of a link of `bits_per_s`; `load` is
    /// rounded to nine decimals.
    ///
    /// # Errors
    /// The load is not a number above 0, or the gap is longer than 20 hours.
    pub fn for_load(bytes: MeanBytes, bits_per_s: u64, load: f64) -> Result<MeanGap, Error> {
        let steps = load_steps(load)?;
        const PS_PER_S: u128 = 1_000_000_000_000;
        let (bytes, parts) = bytes.ratio();
        let numerator = (bytes * 8).checked_mul(PS_PER_S * u128::from(LOAD_STEPS));
        let too_large = || Error::general(format!("messages of {} bytes are too large", bytes / parts));
        MeanGap::from_ratio(
            numerator.ok_or_else(too_large)?,
            u128::from(bits_per_s) * u128::from(steps) * parts,
        )
    }

    /// The gap minus `other`; 0 if that is longer.
    pub(super) fn minus(self, other: MeanGap) -> MeanGap {
        let rest = self.parts().saturating_sub(other.parts());
        MeanGap {
            ps: (rest >> 32) as u64,
            fraction: rest as u32,
        }
    }

    /// In units of 2^-32 ps.
    pub(super) fn parts(self) -> u128 {
        u128::from(self.ps) << 32 | u128::from(self.fraction)
    }

    /// The nearest number of picoseconds to `count` gaps.
    pub(super) fn rounded(self, count: u64) -> u64 {
        ((self.parts() * u128::from(count) + (1 << 31)) >> 32) as u64
    }

    /// Picoseconds, rounded down.
    pub const fn ps(self) -> u64 {
        self.ps
    }

    /// `count` gaps modulo 2^64 ps, rounded down once. Differences are exact even if they wrap.
    fn times(self, count: u64) -> u64 {
        let fractions = (u128::from(count) * u128::from(self.fraction)) >> 32;
        self.ps.wrapping_mul(count).wrapping_add(fractions as u64)
    }

    /// Gap number `index`, from 1, in whole picoseconds. The fraction is carried, so that sums are exact.
    pub(super) fn step(self, index: u64) -> u64 {
        self.times(index).wrapping_sub(self.times(index - 1))
    }

    /// The gap times a factor in units of 2^-58, rounded to the nearest picosecond.
    pub(super) fn scaled(self, factor: u64) -> u64 {
        let whole = u128::from(self.ps) * u128::from(factor);
        let fraction = (u128::from(self.fraction) * u128::from(factor)) >> 32;
        ((whole + fraction + (1 << 57)) >> 58) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn impossible_loads_are_errors() {
        for load in [0.0, -0.5, 1e-12, f64::NAN, f64::INFINITY] {
            let error = MeanGap::for_load(MeanBytes::whole(256), 1, load)
                .unwrap_err()
                .to_string();
            assert!(error.contains("not a number above 0"), "{error}");
        }
        assert!(MeanGap::for_load(MeanBytes::whole(256), 0, 0.5).is_err());
        assert!(
            MeanGap::for_load(MeanBytes::whole(1 << 30), 1, 0.5)
                .unwrap_err()
                .to_string()
                .contains("20 hours")
        );
        assert!(MeanGap::for_load(MeanBytes(u64::MAX), 1, 0.5).is_err());
        assert!(MeanBytes::from_ratio(u128::MAX, 1).is_err() && MeanBytes::from_ratio(1 << 100, 3).is_err());
    }

    #[test]
    fn loads_give_their_gap() {
        let mean = MeanGap::for_load(MeanBytes::whole(256), 100_000_000_000, 0.5).unwrap();
        assert_eq!(
            mean,
            MeanGap {
                ps: 40_960,
                fraction: 0
            }
        );
        let third = MeanGap::for_load(MeanBytes::whole(256), 100_000_000_000, 0.3).unwrap();
        assert_eq!(third.ps(), 68_266);
        assert_eq!(third.fraction, (2u64.pow(33) / 3) as u32);
        assert_eq!(third.times(3), 204_799, "2^-32 short of 204,800");
        assert_eq!(third.times(3_000_000_000), 204_799_999_999_999);
    }

    /// 3.5 bytes at half load equal 7 bytes at full load.
    #[test]
    fn means_that_are_no_whole_numbers_give_their_gap() {
        let half = MeanBytes::from_ratio(7, 2).unwrap();
        assert_eq!(half.as_f64(), 3.5);
        assert_eq!(
            MeanGap::for_load(half, 1_000_000_007, 0.5).unwrap(),
            MeanGap::for_load(MeanBytes::whole(7), 1_000_000_007, 1.0).unwrap()
        );
        let third = MeanBytes::from_ratio(1000, 3).unwrap();
        let gap = MeanGap::for_load(third, 8_000_000_000, 1.0).unwrap();
        assert!(gap.ps().abs_diff(333_333) <= 1, "{gap:?}");
        // The largest, with as much of a fraction as fits.
        let large = MeanBytes::from_ratio((1 << 41) + 1, 2).unwrap();
        let gap = MeanGap::for_load(large, 100_000_000_000, 1.0).unwrap();
        assert!(gap.ps().abs_diff((1u64 << 43) * 10) <= 1_000_000, "{gap:?}");
    }

    #[test]
    fn differences_and_rounded_multiples() {
        let [long, short] = [(7u128, 2), (1, 4)].map(|(n, d)| MeanGap::from_ratio(n, d).unwrap());
        assert_eq!(long.minus(short), MeanGap::from_ratio(13, 4).unwrap());
        assert_eq!(short.minus(long), MeanGap::from_ratio(0, 1).unwrap());
        assert_eq!([1, 2, 3].map(|n| long.rounded(n)), [4, 7, 11]);
        assert_eq!([1, 2, 4].map(|n| short.rounded(n)), [0, 1, 1]);
    }

    proptest! {
        #[test]
        fn ratios_are_exact_to_the_fraction(n in 0u128..1 << 80, d in 1u128..1 << 60) {
            prop_assume!(n / d < LONGEST_PS);
            let mean = MeanGap::from_ratio(n, d).unwrap();
            prop_assert_eq!(u128::from(mean.ps), n / d);
            prop_assert_eq!(u128::from(mean.fraction), ((n % d) << 32) / d);
        }

        #[test]
        fn scaling_by_one_is_the_gap(ps in 0u64..1 << 56, fraction: u32) {
            let mean = MeanGap { ps, fraction };
            prop_assert_eq!(mean.scaled(1 << 58), ps + u64::from(fraction >= 1 << 31));
        }
    }
}
