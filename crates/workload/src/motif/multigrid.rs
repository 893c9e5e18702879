//! multigrid: a stand-in for MultiGrid, the geometric multigrid of the Design Forward applications.
//!
//! Published: 110,592 ranks (48 by 48 by 48), 326 GiB in all, a run of 5.199 s with 3.4 % communication. All else is an
//! assumption, see `docs/methods/motifs.md`.

use super::cycle::{Cycles, PublishedApplication, parameters};
use super::parameters::computation_ps;
use super::{Motif, workload};

const PUBLISHED: PublishedApplication = PublishedApplication {
    ranks: 110_592,
    volume: 326 << 30,
    compute_ps: computation_ps(5_199, 340),
    all_levels: false,
};

pub(super) const MOTIF: Motif = Motif {
    name: "multigrid",
    summary: "stand-in for Design Forward's MultiGrid: V-cycles with 26 neighbours, all ranks on all levels",
    source: "Design Forward, MultiGrid (BoxLib)",
    parameters: &parameters(
        "the product of the sides, or 110592",
        "until the shortest side has two cells",
        26,
        "326 GiB for each 110,592 ranks",
    ),
    example: "pex = 3\npey = 2\npez = 2\nnx = 4\nny = 5\nnz = 6\niterations = 2",
    build: |section| Ok(workload(Cycles::read(section, &PUBLISHED)?)),
};

#[cfg(test)]
mod tests {
    use super::super::test_support::totals;
    use crate::Collective;

    /// Each rank of a torus has 26 neighbours on every level: 32 to 2 cells, that is five levels.
    #[test]
    fn messages_and_bytes() {
        let found = totals("multigrid", "ranks = 60\nperiodic = true\niterations = 2");
        assert_eq!(found.messages, 2 * 60 * 26 * 9);
        let volume = (326u64 << 30) * 60 / 110_592;
        assert!(found.bytes <= volume && volume - found.bytes < found.messages);
        assert_eq!(found.calls(Collective::Allreduce), 2 * 60);
    }
}
