//! The mean time between two packets of a host, with a fraction of a picosecond.

use config::Error;

/// A mean gap in units of 2^-32 ps, so that the offered load is right to the last packet of a long run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeanGap {
    ps: u64,
    fraction: u32,
}

/// Loads are resolved to this part.
const LOAD_STEPS: u64 = 1_000_000_000;

/// Above a day, gaps would not fit the arithmetic of the arrival processes.
const LONGEST_PS: u128 = 1 << 56;

impl MeanGap {
    /// `numerator` / `denominator` picoseconds, rounded down to 2^-32 ps.
    ///
    /// # Errors
    /// The denominator is 0 or the gap is longer than 2^56 ps (20 hours).
    pub fn from_ratio(numerator: u128, denominator: u128) -> Result<MeanGap, Error> {
        let whole = numerator.checked_div(denominator).filter(|ps| *ps < LONGEST_PS);
        let too_long = || Error::general("the mean time between two packets is longer than 20 hours");
        let ps = whole.ok_or_else(too_long)? as u64;
        let rest = numerator % denominator;
        // Denominators beyond 96 bits lose digits that a 32-bit fraction cannot show anyway.
        let excess = (128 - rest.leading_zeros()).saturating_sub(96);
        let fraction = ((rest >> excess) << 32) / (denominator >> excess);
        Ok(MeanGap {
            ps,
            fraction: fraction.min(u32::MAX.into()) as u32,
        })
    }

    /// The mean gap at which packets of `bytes` fill the share `load` of a link of `bits_per_s`; `load` is
    /// rounded to nine decimals.
    ///
    /// # Errors
    /// The load is not a number above 0, or the gap is longer than 20 hours.
    pub fn for_load(bytes: u64, bits_per_s: u64, load: f64) -> Result<MeanGap, Error> {
        let steps = (load * LOAD_STEPS as f64 + 0.5) as u64;
        if !load.is_finite() || steps == 0 {
            return Err(Error::general(format!(
                "a load of {load} is not a number above 0 (at least 1e-9)"
            )));
        }
        const PS_PER_S: u128 = 1_000_000_000_000;
        let bits = u128::from(bytes) * 8;
        let numerator = bits.checked_mul(PS_PER_S * u128::from(LOAD_STEPS));
        let too_large = || Error::general(format!("packets of {bytes} bytes are too large"));
        MeanGap::from_ratio(
            numerator.ok_or_else(too_large)?,
            u128::from(bits_per_s) * u128::from(steps),
        )
    }

    /// Picoseconds, rounded down.
    pub const fn ps(self) -> u64 {
        self.ps
    }

    /// `count` gaps modulo 2^64 ps, rounded down once. Differences of these are right even where they wrap.
    pub(super) fn times(self, count: u64) -> u64 {
        let fractions = (u128::from(count) * u128::from(self.fraction)) >> 32;
        self.ps.wrapping_mul(count).wrapping_add(fractions as u64)
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
            let error = MeanGap::for_load(256, 1, load).unwrap_err().to_string();
            assert!(error.contains("not a number above 0"), "{error}");
        }
        assert!(MeanGap::for_load(256, 0, 0.5).is_err());
        assert!(
            MeanGap::for_load(1 << 30, 1, 0.5)
                .unwrap_err()
                .to_string()
                .contains("20 hours")
        );
        assert!(MeanGap::for_load(u64::MAX, 1, 0.5).is_err());
    }

    #[test]
    fn loads_give_their_gap() {
        let mean = MeanGap::for_load(256, 100_000_000_000, 0.5).unwrap();
        assert_eq!(
            mean,
            MeanGap {
                ps: 40_960,
                fraction: 0
            }
        );
        let third = MeanGap::for_load(256, 100_000_000_000, 0.3).unwrap();
        assert_eq!(third.ps(), 68_266);
        assert_eq!(third.fraction, (2u64.pow(33) / 3) as u32);
        assert_eq!(third.times(3), 204_799, "2^-32 short of 204,800");
        assert_eq!(third.times(3_000_000_000), 204_799_999_999_999);
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
