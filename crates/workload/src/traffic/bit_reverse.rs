//! Bit reverse: the bits of the host number from last to first, as in a fast Fourier transform.
//!
//! Dally and Towles 2004, table 3.1: d_i = s_(b-i-1) of b bits. BookSim: `bitrev`.

use super::PatternKind;
use super::bits::bits;
use super::pair::PartnerPattern;

pub(super) const KIND: PatternKind = PatternKind {
    name: "bit-reverse",
    summary: "to the host whose number has the bits in reverse order; a power of two hosts",
    parameters: &[],
    example: "",
    build: |section, place| {
        let unused = u32::BITS - bits(section, place)?;
        Ok(Box::new(PartnerPattern(move |source: u32| {
            source.reverse_bits() >> unused
        })))
    },
};

#[cfg(test)]
mod tests {
    use super::super::test_support::{error, partners};

    /// 1 = 001 to 100, 3 = 011 to 110; palindromes are silent.
    #[test]
    fn eight_hosts() {
        let expected = [None, Some(4), None, Some(6), Some(1), None, Some(3), None];
        assert_eq!(partners("bit-reverse", "", 8), expected);
        assert_eq!(partners("bit-reverse", "", 2), [None, None]);
    }

    #[test]
    fn other_numbers_of_hosts_are_refused() {
        assert!(error("bit-reverse", "", 12).contains("a power of two hosts"));
    }
}
