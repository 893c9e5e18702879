//! milc: MILC, lattice quantum chromodynamics.

use config::{Parameter, parameters};

use crate::motif::Motif;

use super::{Application, ITERATIONS, RANKS, SOURCE, none};

const PARAMETERS: &[Parameter] = parameters! {
    RANKS;
    ITERATIONS;
    time("compute", "19 ms", "time of the computation of a rank in an iteration; assumed, from the share of communication in P4, fig. 7");
    integer("nx", 16, "sites of a rank along x; source: P4, 16384 sites per rank; the sides are assumed");
    integer("ny", 16, "sites of a rank along y; source: as nx");
    integer("nz", 8, "sites of a rank along z; source: as nx");
    integer("nt", 8, "sites of a rank along t; source: as nx");
    size("bytes_per_site", "48 B", "bytes for each site of a face, as of a colour vector of three complex numbers; assumed");
    integer("exchanges", 1, "exchanges of the solver before the allreduces; assumed");
    integer("reductions", 2, "allreduces of 8 bytes, as of conjugate gradients; source: P4, small allreduces; the number is assumed");
};

pub(super) const APPLICATION: Application = Application {
    parameters: PARAMETERS,
    file: "milc.toml",
    phases: include_str!("milc.toml"),
    derived: none,
};

pub(in crate::motif) const MOTIF: Motif = Motif {
    name: "milc",
    summary: "stand-in for MILC's lattice QCD: exchange with eight neighbours in four dimensions, small allreduces",
    source: SOURCE,
    parameters: PARAMETERS,
    example: "ranks = 12\niterations = 2\nnx = 4\nny = 4",
    build: |section| APPLICATION.build(section),
};
