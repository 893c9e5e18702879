//! paradis: ParaDiS, dislocation dynamics.

use config::{Parameter, parameters};

use crate::motif::Motif;

use super::{Application, ITERATIONS, RANKS, SOURCE, none};

const PARAMETERS: &[Parameter] = parameters! {
    RANKS;
    ITERATIONS;
    time("compute", "60 ms", "time of the computation of a rank in an iteration; assumed, from the share of communication in P4, fig. 7");
    number("imbalance", 0.2, "greatest deviation of a rank's mean time from compute, as a fraction; assumed");
    size("small", "256 B", "message to a neighbour at a corner; at an edge four times, at a face 16 times as much; source: P4, small to medium messages; the value is assumed");
    integer("exchanges", 4, "exchanges with 26 neighbours; source: P4, many such messages; the number is assumed");
    size("large", "128 KiB", "message to each of six neighbours, once; source: P4, exchanges above 100 KB; the value is assumed");
    size("reduction", "256 KiB", "an allreduce of all ranks; source: P4, large allreduces; the value is assumed");
};

pub(super) const APPLICATION: Application = Application {
    parameters: PARAMETERS,
    file: "paradis.toml",
    phases: include_str!("paradis.toml"),
    derived: none,
};

pub(in crate::motif) const MOTIF: Motif = Motif {
    name: "paradis",
    summary: "stand-in for ParaDiS's dislocation dynamics: imbalance, many small messages, few large ones, large allreduces",
    source: SOURCE,
    parameters: PARAMETERS,
    example: "ranks = 12\niterations = 2\nlarge = \"9 KiB\"\nreduction = \"3 KiB\"",
    build: |section| APPLICATION.build(section),
};
