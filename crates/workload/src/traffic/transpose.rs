//! Matrix transpose: hosts are the elements of a square matrix, row by row, and exchange across its diagonal.
//!
//! Dally and Towles 2004, table 3.1, as a bit permutation: d_i = s_((i + b/2) mod b) of b bits, b even. It is
//! the transposed index where the side of the matrix is a power of two. BookSim: `transpose`.

use super::PatternKind;
use super::pair::PartnerPattern;

pub(super) const KIND: PatternKind = PatternKind {
    name: "transpose",
    summary: "from row and column of a square matrix of hosts to column and row; a square number of hosts",
    parameters: &[],
    example: "",
    build: |section, place| {
        let hosts = place.hosts;
        let side = hosts.isqrt();
        if side * side != hosts {
            let message = format!(
                "transposes a square matrix of hosts; expected a square number of them, and the job has \
                 {hosts}; hosts = {} takes as many from the front",
                side * side
            );
            return Err(section.error("pattern", message));
        }
        let transposed = move |source| source % side * side + source / side;
        Ok(Box::new(PartnerPattern(transposed)))
    },
};

#[cfg(test)]
mod tests {
    use super::super::test_support::{error, partners};

    #[test]
    fn nine_hosts() {
        let expected = [0, 3, 6, 1, 4, 7, 2, 5, 8].map(Some);
        let found = partners("transpose", "", 9);
        for (host, partner) in found.iter().enumerate() {
            assert_eq!(partner.or(Some(host as u32)), expected[host]);
            assert_eq!(partner.is_none(), host % 4 == 0, "the diagonal is silent");
        }
    }

    /// The bit permutation of the book.
    #[test]
    fn powers_of_two_exchange_halves_of_the_bits() {
        for (host, partner) in partners("transpose", "", 256).into_iter().enumerate() {
            let bits = (host as u32 >> 4) | (host as u32 & 15) << 4;
            assert_eq!(partner.unwrap_or(host as u32), bits);
        }
    }

    #[test]
    fn other_numbers_of_hosts_are_refused() {
        let error = error("transpose", "", 32);
        assert!(
            error.contains("square number of them, and the job has 32; hosts = 25"),
            "{error}"
        );
    }
}
