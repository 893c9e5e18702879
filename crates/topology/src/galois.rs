//! Arithmetic in the finite field GF(q), q = p^k, for q up to 16 bits.
//!
//! An element is a polynomial over GF(p) of degree less than k, written as a number whose digits in base p are its
//! coefficients: 0 and 1 are themselves, and for k = 1 an element is a number modulo p. Products use tables of the
//! powers of a primitive element and of logarithms (R. Lidl, H. Niederreiter, "Finite Fields", 2nd ed. 1997,
//! chapter 10); sums use the digits. Each table has about q entries.

use crate::Divisor;

#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// The order of the field (q).
    order: u32,
    /// The characteristic (p).
    characteristic: Divisor,
    /// The degree (k).
    degree: u32,
    /// Powers of the primitive element from 0 to 2 (q - 1) - 1, so that two logarithms can be added.
    powers: Vec<u16>,
    /// Logarithm by element. The entry of 0 is unused.
    logarithms: Vec<u16>,
}

/// Writes `q` as p^k with a prime p, if it is the power of a prime.
pub(crate) fn prime_power(q: u32) -> Option<(u32, u32)> {
    if q < 2 {
        return None;
    }
    let divides = |p: &u32| q.is_multiple_of(*p);
    let root = q.isqrt();
    let p = (2..=root).find(divides).unwrap_or(q);
    let (mut rest, mut k) = (q, 0);
    while rest.is_multiple_of(p) {
        rest /= p;
        k += 1;
    }
    (rest == 1).then_some((p, k))
}

impl Field {
    /// The field of `p^k` elements, p prime, at least 3 and at most 65,536 elements.
    pub(crate) fn new(p: u32, k: u32) -> Field {
        let order = p.pow(k);
        let mut field = Field {
            order,
            characteristic: Divisor::new(p),
            degree: k,
            powers: Vec::new(),
            logarithms: vec![0; order as usize],
        };
        // One in about 3 k polynomials is primitive.
        field.powers = (1..order)
            .find_map(|reduction| field.powers_of_x(reduction))
            .expect("every finite field has a primitive element");
        for (logarithm, power) in field.powers.iter().enumerate() {
            field.logarithms[usize::from(*power)] = logarithm as u16;
        }
        field.powers.extend_from_within(..);
        field
    }

    /// All powers of x where x^k = `reduction`, if these are all elements but 0. Then there is no zero
    /// divisor: the polynomial is irreducible, and x is primitive.
    fn powers_of_x(&self, reduction: u32) -> Option<Vec<u16>> {
        let leading = Divisor::new(self.order / self.characteristic.get());
        let mut powers = Vec::new();
        let mut power = 1;
        loop {
            powers.push(power as u16);
            let (top, rest) = leading.divide(power);
            power = self.digits(rest * self.characteristic.get(), reduction, |a, b| a + top * b);
            if power <= 1 || powers.len() as u32 == self.order {
                break;
            }
        }
        (power == 1 && powers.len() as u32 == self.order - 1).then_some(powers)
    }

    /// Combines two elements digit by digit, modulo p.
    #[inline]
    fn digits(&self, mut a: u32, mut b: u32, combine: impl Fn(u32, u32) -> u32) -> u32 {
        let p = self.characteristic;
        if self.degree == 1 {
            return p.remainder(combine(a, b));
        }
        let (mut sum, mut place) = (0, 1);
        for _ in 0..self.degree {
            let (x, y);
            (a, x) = p.divide(a);
            (b, y) = p.divide(b);
            sum += place * p.remainder(combine(x, y));
            place *= p.get();
        }
        sum
    }

    /// The order of the field (q).
    #[inline]
    pub(crate) fn order(&self) -> u32 {
        self.order
    }

    /// The `exponent`-th power of the primitive element, below 2 (q - 1).
    pub(crate) fn power(&self, exponent: u32) -> u32 {
        u32::from(self.powers[exponent as usize])
    }

    #[inline]
    pub(crate) fn add(&self, a: u32, b: u32) -> u32 {
        let p = self.characteristic.get();
        match (p, self.degree) {
            (2, _) => a ^ b,
            // The difference is below p or, wrapped, far above it.
            (_, 1) => (a + b).min((a + b).wrapping_sub(p)),
            _ => self.digits(a, b, |a, b| a + b),
        }
    }

    #[inline]
    pub(crate) fn subtract(&self, a: u32, b: u32) -> u32 {
        let p = self.characteristic.get();
        match (p, self.degree) {
            (2, _) => a ^ b,
            (_, 1) => a.wrapping_sub(b).min(a.wrapping_sub(b).wrapping_add(p)),
            _ => self.digits(a, b, |a, b| a + p - b),
        }
    }

    #[inline]
    pub(crate) fn multiply(&self, a: u32, b: u32) -> u32 {
        if a == 0 || b == 0 {
            return 0;
        }
        let logarithm = |a: u32| usize::from(self.logarithms[a as usize]);
        u32::from(self.powers[logarithm(a) + logarithm(b)])
    }

    /// `a / b`; `b` is not 0.
    #[inline]
    pub(crate) fn divide(&self, a: u32, b: u32) -> u32 {
        if a == 0 {
            return 0;
        }
        let logarithm = |a: u32| usize::from(self.logarithms[a as usize]);
        u32::from(self.powers[logarithm(a) + self.order as usize - 1 - logarithm(b)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prime_powers_are_recognised() {
        let found: Vec<u32> = (0..=32).filter(|q| prime_power(*q).is_some()).collect();
        assert_eq!(
            found,
            [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32]
        );
        assert_eq!(prime_power(343), Some((7, 3)));
        assert_eq!(prime_power(4_294_967_291), Some((4_294_967_291, 1)));
        assert_eq!(prime_power(u32::MAX), None);
    }

    #[test]
    fn fields_obey_their_laws() {
        for q in [3, 4, 5, 7, 8, 9, 16, 25, 27, 32] {
            let (p, k) = prime_power(q).unwrap();
            let f = Field::new(p, k);
            for a in 0..q {
                assert_eq!((f.add(a, 0), f.multiply(a, 1), f.multiply(a, 0)), (a, a, 0));
                assert_eq!((0..p).fold(0, |sum, _| f.add(sum, a)), 0, "characteristic");
                for b in 0..q {
                    assert_eq!(f.add(a, b), f.add(b, a));
                    assert_eq!(f.add(f.subtract(a, b), b), a);
                    assert_eq!(f.multiply(a, b), f.multiply(b, a));
                    assert_eq!(f.multiply(a, b) == 0, a == 0 || b == 0, "a zero divisor");
                    if b != 0 {
                        assert_eq!(f.multiply(f.divide(a, b), b), a);
                    }
                    for c in 0..q {
                        let sum = f.add(f.multiply(a, c), f.multiply(b, c));
                        assert_eq!(f.multiply(f.add(a, b), c), sum, "({a} + {b}) {c} in GF({q})");
                    }
                }
            }
        }
    }

    #[test]
    fn large_fields_are_built() {
        for q in [163, 40_961, 32_768, 28_561] {
            let (p, k) = prime_power(q).unwrap();
            let f = Field::new(p, k);
            assert_eq!(f.power(q - 1), 1);
            assert_eq!(f.divide(f.multiply(q - 1, q / 2), q / 2), q - 1);
        }
    }
}
