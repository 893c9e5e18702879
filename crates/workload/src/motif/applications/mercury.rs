//! mercury: Mercury, Monte Carlo particle transport.

use config::{Parameter, parameters};

use crate::motif::Motif;

use super::{Application, ITERATIONS, RANKS, SOURCE, none};

const PARAMETERS: &[Parameter] = parameters! {
    RANKS;
    ITERATIONS;
    time("compute", "30 ms", "time of the computation of a rank in an iteration; assumed, from the share of communication in P4, fig. 7");
    size("particles", "16 KiB", "message to each of six neighbours; source: P4, medium messages between far ranks; the value is assumed");
    integer("exchanges", 4, "exchanges with the neighbours; assumed");
    size("collective", "1 MB", "an allreduce, a bcast and a reduce of all ranks; source: P4, tables 2 to 4");
};

pub(super) const APPLICATION: Application = Application {
    parameters: PARAMETERS,
    file: "mercury.toml",
    phases: include_str!("mercury.toml"),
    derived: none,
};

pub(in crate::motif) const MOTIF: Motif = Motif {
    name: "mercury",
    summary: "stand-in for Mercury's particle transport: medium messages between far ranks, large collectives of all ranks",
    source: SOURCE,
    parameters: PARAMETERS,
    example: "ranks = 12\niterations = 2\ncollective = \"3 KiB\"",
    build: |section| APPLICATION.build(section),
};
