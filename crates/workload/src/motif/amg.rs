//! amg: a stand-in for AMG, the algebraic multigrid of the Design Forward applications.
//!
//! Published: 13,824 ranks (24 by 24 by 24), 10 GiB in all, a run of 7.5 s with 39.66 % communication, exchange with up
//! to six nearest neighbours in three dimensions with messages that become smaller from level to level. All else is an
//! assumption, see `docs/methods/motifs.md`.

use super::cycle::{Cycles, PublishedApplication, parameters};
use super::parameters::computation_ps;
use super::{Motif, workload};

const PUBLISHED: PublishedApplication = PublishedApplication {
    ranks: 13_824,
    volume: 10 << 30,
    compute_ps: computation_ps(7_500, 3_966),
    all_levels: true,
};

pub(super) const MOTIF: Motif = Motif {
    name: "amg",
    summary: "stand-in for Design Forward's AMG: V-cycles with six neighbours on ever fewer ranks",
    source: "Design Forward, AMG (LLNL)",
    parameters: &parameters(
        "the product of the sides, or 13824",
        "until one rank is left",
        6,
        "10 GiB for each 13,824 ranks",
    ),
    example: "pex = 3\npey = 2\npez = 2\nnx = 4\nny = 5\nnz = 6\niterations = 2",
    build: |section| Ok(workload(Cycles::read(section, &PUBLISHED)?)),
};

#[cfg(test)]
mod tests {
    use super::super::test_support::{error, open, totals};
    use crate::Collective;

    /// Four ranks in a row, four cells each along x, one along y and z: 4, 2 and 1 cells on the levels 0 to 2,
    /// every second rank on level 3, with neighbours along x only. One face is one cell everywhere.
    #[test]
    fn messages_and_bytes() {
        let text = "pex = 4\npey = 1\npez = 1\nnx = 4\nny = 1\nnz = 1\niterations = 3\nvolume = \"1300 B\"";
        let found = totals("amg", text);
        // Both directions on three levels with three pairs of neighbours, once on one level with one pair.
        let messages = 2 * (2 * (3 + 3 + 3) + 1);
        assert_eq!(found.messages, 3 * messages);
        assert_eq!(found.bytes, 3 * messages * (1300 / (3 * messages)));
        assert_eq!(found.calls(Collective::Allreduce), 3 * 4);
        let fewer = totals("amg", &format!("{text}\nlevels = 2"));
        assert_eq!(fewer.messages, 3 * 2 * (2 * 3 + 3));
    }

    #[test]
    fn coarser_levels_have_smaller_faces_and_less_to_compute() {
        let text = "pex = 2\npey = 1\npez = 1\nnx = 8\nny = 8\nnz = 4\nlevels = 3\nvolume = \"84 MB\"\ncompute = \"64 ns\"";
        let found = totals("amg", text);
        // Faces of 32, 8 and 2 cells, one message each way, the first two twice: 164 parts.
        assert_eq!(
            found.bytes,
            2 * (2 * (32 * 84_000_000 / 164) + 2 * (8 * 84_000_000 / 164) + 2 * 84_000_000 / 164)
        );
        assert_eq!(found.compute_ps, 2 * (2 * 64_000 + 2 * 8_000 + 1_000));
    }

    /// The total deviates from the volume by less than a byte per message.
    #[test]
    fn the_published_size() {
        let workload = open("amg", "");
        assert_eq!(workload.ranks(), 13_824);
        let found = totals("amg", "ranks = 216\nperiodic = false");
        let volume = (10 << 30) / 64;
        assert!(
            found.bytes <= volume && volume - found.bytes < found.messages,
            "{}",
            found.bytes
        );
        let text = "ranks = 60\nneighbours = 26\nvolume = \"1 GB\"\niterations = 2";
        let found = totals("amg", text);
        assert!(found.bytes <= 1_000_000_000 && 1_000_000_000 - found.bytes < found.messages);
    }

    /// As the first test, with 14 bytes for each of the cells: one of each face.
    #[test]
    fn bytes_follow_from_cells() {
        let text =
            "pex = 4\npey = 1\npez = 1\nnx = 4\nny = 2\nnz = 1\niterations = 3\nbytes_per_cell = \"14 B\"";
        let found = totals("amg", text);
        // Faces of two cells on the first level, and of one on the others.
        assert_eq!(found.messages, 3 * 2 * (2 * 9 + 1));
        assert_eq!(found.bytes, 3 * 2 * 14 * (2 * (3 * 2 + 3 + 3) + 1));
    }

    /// All visits of all levels in all cycles take the time of the published computation together.
    #[test]
    fn the_published_computation() {
        let text = "ranks = 1\nlevels = 3\niterations = 7\npublished_compute = true";
        let found = totals("amg", text);
        // 7.5 s of which 60.34 % is computation; each of 5 visits of 7 cycles is rounded down.
        let published = 4_525_500_000_000;
        assert!(
            found.compute_ps <= published && published - found.compute_ps < 35,
            "{}",
            found.compute_ps
        );
        // Of 32, 16 and 8 cells along each side, the first two twice.
        let first = open("amg", text).program(0).unwrap().next().unwrap();
        let Some(crate::Operation::Compute { ps, .. }) = first else {
            panic!("{first:?}")
        };
        assert_eq!(ps, published * 64 / (7 * (2 * 64 + 2 * 8 + 1)));
    }

    #[test]
    fn wrong_parameters() {
        for (text, needle) in [
            (
                "ranks = 8\nvolume = \"1 MB\"\nbytes_per_cell = \"8 B\"",
                "bytes_per_cell: goes without volume",
            ),
            ("ranks = 8\nbytes_per_cell = \"900 GiB\"", "more than 1 TiB"),
            ("ranks = 8\nneighbours = 18", "expected 6 or 26"),
            ("ranks = 8\nlevels = 7", "expected at most 6"),
            ("ranks = 8\nnx = 2000000", "expected 1 to 1048576"),
            ("ranks = 2\nvolume = \"900 TiB\"", "more than 1 TiB"),
            (
                "ranks = 8\npublished_compute = true\ncompute = \"1 us\"",
                "published_compute: goes without compute",
            ),
            (
                "ranks = 8\npublished_compute = true\ncompute_per_cell = \"1 ns\"",
                "published_compute: goes without compute_per_cell",
            ),
            ("pex = 5", "ranks = 13824 is no multiple of pex = 5"),
        ] {
            let found = error("amg", text);
            assert!(found.contains(needle), "{found}");
        }
    }
}
