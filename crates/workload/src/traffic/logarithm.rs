//! The natural logarithm in integers, bit-identical on every machine.
//!
//! Implementations of `ln` may differ in the last bit, which would make runs differ. The function uses range
//! reduction to 1 <= f < 2, division of f by the nearest of 256 tabulated numbers (multiplication with its
//! reciprocal), and seven terms of the series of ln(1 + z) for the rest, |z| < 2^-8.9. The compiler computes
//! the table with 96 fractional bits.

/// -ln((x + 1) / 2^64) in units of 2^-58, off by less than 2^-56: between 0 and 64 ln 2 = 44.36.
///
/// For uniformly distributed x this is exponentially distributed with mean 1.
pub fn minus_ln(x: u64) -> u64 {
    // u = 1, the only value whose leading bit does not fit below.
    let Some(v) = x.checked_add(1) else {
        return 0;
    };
    let zeros = v.leading_zeros();
    // u = f / 2^(zeros + 1), where f has 63 fractional bits.
    let f = v << zeros;
    let (reciprocal, ln_reciprocal) = TABLE[(f >> 55 & 0xff) as usize];
    let z = (i128::from(f) * i128::from(reciprocal) - (1 << 79)) >> 15;
    let whole = (i128::from(zeros + 1) * LN2_Q96) >> (96 - 62);
    let minus_ln = whole - i128::from(ln_reciprocal) - i128::from(ln_1p(z as i64));
    ((minus_ln.max(0) + (1 << 3)) >> 4) as u64
}

/// ln(1 + z): z with 64 fractional bits, the result with 62.
fn ln_1p(z: i64) -> i64 {
    let times_z = |a: i64| ((i128::from(a) * i128::from(z)) >> 64) as i64;
    let one = 1i64 << 62;
    // Horner's rule for z (1 - z (1/2 - z (1/3 - ...))).
    let sum = (1..7).rev().fold(one / 7, |sum, k| one / k - times_z(sum));
    times_z(sum)
}

/// For each 256th part of 1 <= f < 2: a reciprocal of its middle with 16 fractional bits, and minus the
/// logarithm of that with 62.
const TABLE: [(u32, i64); 256] = {
    let mut table = [(0, 0); 256];
    let mut i = 0;
    while i < 256 {
        // 2^16 / (1 + (i + 1/2) / 256), rounded.
        let twice_middle = 2 * (256 + i as u32) + 1;
        let reciprocal = ((1 << 26) / twice_middle).div_ceil(2);
        table[i] = (reciprocal, (minus_ln_q96(reciprocal) >> (96 - 62)) as i64);
        i += 1;
    }
    table
};

const LN2_Q96: i128 = minus_ln_q96(1 << 15);

/// -ln(r / 2^16) with 96 fractional bits, for 2^15 <= r <= 2^16: 2 artanh((1 - r) / (1 + r)).
const fn minus_ln_q96(r: u32) -> i128 {
    let one = 1 << 16;
    let t = ((one - r as i128) << 96) / (one + r as i128);
    let t2 = multiply_q96(t, t);
    let (mut power, mut sum, mut k) = (t, 0, 1);
    // t <= 1/3: the terms fall by 9 each.
    while power > 0 {
        sum += power / k;
        power = multiply_q96(power, t2);
        k += 2;
    }
    2 * sum
}

/// Product of two numbers below 1 with 96 fractional bits.
const fn multiply_q96(a: i128, b: i128) -> i128 {
    const HALF: i128 = (1 << 48) - 1;
    let (a1, a0, b1, b0) = (a >> 48, a & HALF, b >> 48, b & HALF);
    a1 * b1 + ((a1 * b0 + a0 * b1 + ((a0 * b0) >> 48)) >> 48)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// x and -ln((x + 1) / 2^64) 2^58 to the nearest integer, computed with 60 digits by mpmath 1.3.
    const REFERENCE: &[(u64, u64)] = &[
        (0, 12_786_308_645_202_655_660),
        (1, 12_586_522_572_621_364_165),
        (2, 12_469_655_211_994_953_478),
        (3, 12_386_736_500_040_072_670),
        (9, 12_122_633_677_727_657_706),
        (255, 11_188_020_064_552_323_702),
        (256, 11_186_896_357_958_838_526),
        (65_536, 9_589_727_085_889_034_732),
        (4_294_967_295, 6_393_154_322_601_327_830),
        (4_294_967_296, 6_393_154_322_534_218_966),
        (4_503_599_627_382_841, 2_397_432_870_974_707_792),
        (4_611_686_018_427_387_903, 399_572_145_162_582_989),
        (9_223_372_036_854_775_806, 199_786_072_581_291_495),
        (9_223_372_036_854_775_807, 199_786_072_581_291_495),
        (9_223_372_036_854_775_808, 199_786_072_581_291_495),
        (13_835_058_055_282_163_713, 82_918_711_954_880_807),
        (6_457_827_717_110_365_317, 302_525_129_202_409_712),
        (3_203_168_211_198_807_973, 504_618_609_298_701_974),
        (18_446_744_069_414_584_320, 67_108_864),
        (18_446_744_073_709_551_613, 0),
        (18_446_744_073_709_551_614, 0),
        (18_446_744_073_709_551_615, 0),
    ];

    #[test]
    fn agrees_with_a_reference_of_sixty_digits() {
        for (x, exact) in REFERENCE {
            let difference = minus_ln(*x).abs_diff(*exact);
            assert!(difference <= 4, "{x}: {} is {difference} off", minus_ln(*x));
        }
    }

    /// All values are the nearest integer except these, which are pinned because a change would change every
    /// simulation.
    #[test]
    fn golden_values() {
        let off = |(x, exact): &(u64, u64)| (minus_ln(*x) as i64).wrapping_sub(*exact as i64);
        let off: Vec<i64> = REFERENCE.iter().map(off).collect();
        assert_eq!(off, OFF);
    }

    const OFF: [i64; 22] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];

    proptest! {
        #[test]
        fn agrees_with_the_platform(x: u64, shift in 0u32..64) {
            let x = x >> shift;
            // Close to 1, the reference needs ln_1p, which gets 1 - u exactly.
            let exact = if x > 1 << 63 {
                -(-((u64::MAX - x) as f64) / 2f64.powi(64)).ln_1p()
            } else {
                -((x + 1) as f64 / 2f64.powi(64)).ln()
            };
            let ours = minus_ln(x) as f64 / 2f64.powi(58);
            prop_assert!((ours - exact).abs() < 3e-16 + 3e-16 * exact, "{}: {} {}", x, ours, exact);
        }
    }

    #[test]
    fn never_rises() {
        let mut last = u64::MAX;
        for i in 0..100_000u64 {
            let value = minus_ln(i * (u64::MAX / 100_000));
            assert!(value <= last);
            last = value;
        }
    }
}
