//! The speed of a link: bytes to picoseconds without floating point.

use des::Time;

const FRACTION_BITS: u32 = 24;

/// Picoseconds per byte as a fixed-point number, rounded up: a link never carries more than its
/// bandwidth. The error is below 2^-24 ps per byte; bandwidths that divide 8 Tbit/s are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(u64);

impl Rate {
    /// Bandwidth of the slowest link that can be expressed: at 1 Mbps a byte takes 8 us.
    pub const MIN_BITS_PER_S: u64 = 1_000_000;

    /// The rate of a link in bits per second, at least [`Rate::MIN_BITS_PER_S`].
    pub fn bits_per_s(bits: u64) -> Rate {
        assert!(bits >= Rate::MIN_BITS_PER_S, "{bits} bits per second is too slow");
        let fixed = (8_000_000_000_000u128 << FRACTION_BITS).div_ceil(u128::from(bits));
        Rate(u64::try_from(fixed).expect("a megabit per second gives 2^47"))
    }

    /// Serialization time of `bytes` bytes.
    #[inline]
    pub fn serialization(self, bytes: u32) -> Time {
        let fixed = u128::from(bytes) * u128::from(self.0);
        Time(((fixed + (1 << FRACTION_BITS) - 1) >> FRACTION_BITS) as u64)
    }

    /// A rate `numerator` / `denominator` times as high, at least 1 times, rounded down.
    pub(crate) fn faster(self, numerator: u32, denominator: u32) -> Rate {
        let fixed = (u128::from(self.0) * u128::from(denominator)).div_ceil(u128::from(numerator));
        Rate(u64::try_from(fixed).unwrap_or(u64::MAX))
    }

    /// Bytes that a link of this rate carries in a span, rounded down: of the serialization time of a packet, its
    /// bytes, unless a byte takes less than a picosecond.
    pub(crate) fn bytes_in(self, span: Time) -> u64 {
        let bytes = (u128::from(span.ps()) << FRACTION_BITS) / u128::from(self.0);
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn round_numbers_are_exact() {
        assert_eq!(Rate::bits_per_s(100_000_000_000).serialization(256), Time(20_480));
        assert_eq!(
            Rate::bits_per_s(400_000_000_000).serialization(4096),
            Time(81_920)
        );
        assert_eq!(Rate::bits_per_s(8_000_000_000_000).serialization(1), Time(1));
    }

    proptest! {
        #[test]
        fn never_faster_than_the_bandwidth_and_at_most_a_picosecond_slower(
            bits in Rate::MIN_BITS_PER_S..20_000_000_000_000u64,
            bytes in 1u32..1 << 20,
        ) {
            let exact = (u128::from(bytes) * 8_000_000_000_000).div_ceil(u128::from(bits)) as u64;
            let ps = Rate::bits_per_s(bits).serialization(bytes).ps();
            prop_assert!(ps == exact || ps == exact + 1, "{} ps, exactly {}", ps, exact);
        }

        #[test]
        fn the_time_of_a_packet_has_its_bytes(
            bits in Rate::MIN_BITS_PER_S..8_000_000_000_000u64,
            bytes in 1u32..1 << 20,
        ) {
            let rate = Rate::bits_per_s(bits);
            prop_assert_eq!(rate.bytes_in(rate.serialization(bytes)), u64::from(bytes));
            let almost = Time(rate.serialization(bytes).ps() - 1);
            prop_assert!(rate.bytes_in(almost) < u64::from(bytes));
        }
    }
}
