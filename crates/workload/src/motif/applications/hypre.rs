//! hypre: algebraic multigrid of the solver library Hypre.

use config::{Parameter, parameters};

use crate::motif::Motif;

use super::{Application, ITERATIONS, RANKS, SOURCE, none};

const PARAMETERS: &[Parameter] = parameters! {
    RANKS;
    ITERATIONS;
    time("compute", "35 ms", "time of the computation of a rank in an iteration; assumed, from the share of communication in P4, fig. 7");
    integer("nx", 8, "cells of a rank along x on the finest level; source: recording hypre-amg-27");
    integer("ny", 8, "cells of a rank along y on the finest level; source: recording hypre-amg-27");
    integer("nz", 8, "cells of a rank along z on the finest level; source: recording hypre-amg-27");
    size("bytes_per_cell", "14 B", "bytes for each cell between two neighbours; source: recording hypre-amg-27 (mean message of 124 B; P4: below 1 KB)");
    integer("sweeps", 2, "V-cycles of messages for one of the solver, as smoothing exchanges repeatedly; assumed");
    integer("reductions", 3, "allreduces of 8 bytes (their size: P4), as of conjugate gradients; assumed");
};

pub(super) const APPLICATION: Application = Application {
    parameters: PARAMETERS,
    file: "hypre.toml",
    phases: include_str!("hypre.toml"),
    derived: none,
};

pub(in crate::motif) const MOTIF: Motif = Motif {
    name: "hypre",
    summary: "stand-in for Hypre's algebraic multigrid: V-cycles with 26 neighbours and small messages, small allreduces",
    source: SOURCE,
    parameters: PARAMETERS,
    example: "ranks = 12\niterations = 2\nnx = 4",
    build: |section| APPLICATION.build(section),
};
