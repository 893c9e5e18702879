//! Bit complement: all bits of the host number inverted.
//!
//! Dally and Towles, *Principles and Practices of Interconnection Networks* (2004), section 3.2, table 3.1:
//! d_i = not s_i. Every message crosses the middle of the host numbers. BookSim: `bitcomp`.

use super::PatternKind;
use super::bits::bits;
use super::pair::PartnerPattern;

pub(super) const KIND: PatternKind = PatternKind {
    name: "bit-complement",
    summary: "to the host whose number has all bits inverted; a power of two hosts",
    parameters: &[],
    example: "",
    build: |section, place| {
        let last = (1 << bits(section, place)?) - 1;
        Ok(Box::new(PartnerPattern(move |source| source ^ last)))
    },
};

#[cfg(test)]
mod tests {
    use super::super::test_support::{error, partners};

    #[test]
    fn eight_hosts() {
        assert_eq!(
            partners("bit-complement", "", 8),
            [7, 6, 5, 4, 3, 2, 1, 0].map(Some)
        );
    }

    #[test]
    fn other_numbers_of_hosts_are_refused() {
        let error = error("bit-complement", "", 72);
        assert!(
            error.contains("a power of two hosts, and the job has 72"),
            "{error}"
        );
        assert!(error.contains("hosts = 64"), "{error}");
    }
}
