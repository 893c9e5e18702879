//! atratus: Atratus.

use config::{Parameter, parameters};

use crate::motif::Motif;

use super::{Application, ITERATIONS, RANKS, SOURCE};

const PARAMETERS: &[Parameter] = parameters! {
    RANKS;
    ITERATIONS;
    time("compute", "35 ms", "time of the computation of a rank in an iteration; assumed, from the share of communication in P4, fig. 7");
    integer("nx", 8, "cells of a rank along x on the finest level; assumed");
    integer("ny", 8, "cells of a rank along y on the finest level; assumed");
    integer("nz", 8, "cells of a rank along z on the finest level; assumed");
    size("bytes_per_cell", "14 B", "bytes for each cell between two neighbours; source: P4, mean message below 1 KB; the value as for hypre is assumed");
    integer("sweeps", 2, "V-cycles of messages for one of the solver; assumed");
    integer("reductions", 3, "allreduces of 8 bytes; assumed");
    size("large", "128 KiB", "message to the ranks before and after; source: P4, largest message above 100 KB; the value is assumed");
};

pub(super) const APPLICATION: Application = Application {
    parameters: PARAMETERS,
    file: "atratus.toml",
    phases: include_str!("atratus.toml"),
    derived: |_, ranks| Ok(vec![("ranks", u64::from(ranks))]),
};

pub(in crate::motif) const MOTIF: Motif = Motif {
    name: "atratus",
    summary: "stand-in for Atratus: V-cycles with 26 neighbours and small messages, and few large messages",
    source: SOURCE,
    parameters: PARAMETERS,
    example: "ranks = 12\niterations = 2\nnx = 4\nlarge = \"9 KiB\"",
    build: |section| APPLICATION.build(section),
};
