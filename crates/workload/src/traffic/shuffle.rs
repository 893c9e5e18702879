//! Perfect shuffle: the bits of the host number rotated left, as in sorting and Fourier transforms.
//!
//! Dally and Towles 2004, table 3.1: d_i = s_((i-1) mod b) of b bits. BookSim: `shuffle`.

use super::PatternKind;
use super::bits::bits;
use super::pair::PartnerPattern;

pub(super) const KIND: PatternKind = PatternKind {
    name: "shuffle",
    summary: "to the host whose number has the bits rotated left by one; a power of two hosts",
    parameters: &[],
    example: "",
    build: |section, place| {
        let bits = bits(section, place)?;
        let rotated = move |source: u32| (source << 1 & ((1 << bits) - 1)) | source >> (bits - 1);
        Ok(Box::new(PartnerPattern(rotated)))
    },
};

#[cfg(test)]
mod tests {
    use super::super::test_support::{error, partners};

    /// 2 s for the lower half, 2 s - 7 for the upper one.
    #[test]
    fn eight_hosts() {
        let expected = [None, Some(2), Some(4), Some(6), Some(1), Some(3), Some(5), None];
        assert_eq!(partners("shuffle", "", 8), expected);
        assert_eq!(partners("shuffle", "", 2), [None, None]);
    }

    #[test]
    fn other_numbers_of_hosts_are_refused() {
        assert!(error("shuffle", "", 7).contains("a power of two hosts"));
    }
}
