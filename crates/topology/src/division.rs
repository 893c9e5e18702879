//! Division by a number that is known when the network is built.

/// Divides by a fixed number with one multiplication.
///
/// Coordinates follow from router and host numbers by division, several times per packet and router. A hardware
/// division costs about ten times as much. With `m = floor((2^64 - 1) / d)` the upper half of `m * (n + 1)` is `n /
/// d` for all 32-bit `n` and `d` (A. D. Robison, "N-bit unsigned division via N-bit multiply-add", ARITH 2005).
#[derive(Clone, Copy, Debug)]
pub struct Divisor {
    by: u32,
    reciprocal: u64,
}

impl Divisor {
    /// A divisor.
    ///
    /// # Panics
    /// `by` is 0.
    pub fn new(by: u32) -> Divisor {
        Divisor {
            by,
            reciprocal: u64::MAX / u64::from(by),
        }
    }

    /// The number to divide by.
    pub fn get(self) -> u32 {
        self.by
    }

    /// The quotient.
    #[inline]
    pub fn quotient(self, n: u32) -> u32 {
        ((u128::from(self.reciprocal) * u128::from(u64::from(n) + 1)) >> 64) as u32
    }

    /// The quotient, rounded up.
    #[inline]
    pub fn quotient_up(self, n: u32) -> u32 {
        if n == 0 { 0 } else { self.quotient(n - 1) + 1 }
    }

    /// Quotient and remainder.
    #[inline]
    pub fn divide(self, n: u32) -> (u32, u32) {
        let quotient = self.quotient(n);
        (quotient, n - quotient * self.by)
    }

    /// The remainder.
    #[inline]
    pub fn remainder(self, n: u32) -> u32 {
        self.divide(n).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn limits() {
        for by in [
            1,
            2,
            3,
            5,
            7,
            1 << 16,
            (1 << 31) - 1,
            1 << 31,
            u32::MAX - 1,
            u32::MAX,
        ] {
            let divisor = Divisor::new(by);
            for near in [0, by - 1, by, by.saturating_mul(2), u32::MAX / by * by, u32::MAX] {
                for n in [near.saturating_sub(1), near, near.saturating_add(1)] {
                    assert_eq!(divisor.divide(n), (n / by, n % by), "{n} / {by}");
                    assert_eq!(divisor.quotient_up(n), n.div_ceil(by), "{n} / {by}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn is_division(n: u32, by in 1u32..) {
            prop_assert_eq!(Divisor::new(by).divide(n), (n / by, n % by));
        }
    }
}
