//! qbox: Qbox, first-principles molecular dynamics.

use config::{Parameter, Type, parameters};

use crate::motif::Motif;

use super::{Application, ITERATIONS, PLANE_DEFAULT, RANKS, SOURCE, plane_of};

const PARAMETERS: &[Parameter] = parameters! {
    RANKS;
    ITERATIONS;
    time("compute", "23 ms", "time of the computation of a rank in an iteration; assumed, from the share of communication in P4, fig. 7");
    computed("plane", Type::Integer, PLANE_DEFAULT, "ranks of a column, which are consecutive; source: P4, nearby columns; the value is assumed");
    size("pair", "2 KiB", "from each rank to each of its column; assumed");
    integer("transforms", 2, "all-to-alls in columns, forth and back; assumed");
    size("large", "256 KiB", "a bcast, a reduce and an allreduce in each row; source: P4, large messages of 128 to 1024 ranks; the value is assumed");
};

pub(super) const APPLICATION: Application = Application {
    parameters: PARAMETERS,
    file: "qbox.toml",
    phases: include_str!("qbox.toml"),
    derived: |section, ranks| {
        let plane = plane_of(section, ranks)?;
        Ok(vec![
            ("plane", u64::from(plane)),
            ("planes", u64::from(ranks / plane)),
        ])
    },
};

pub(in crate::motif) const MOTIF: Motif = Motif {
    name: "qbox",
    summary: "stand-in for Qbox's molecular dynamics: all-to-all in columns of consecutive ranks, large collectives in rows",
    source: SOURCE,
    parameters: PARAMETERS,
    example: "ranks = 12\niterations = 2\nplane = 4\nlarge = \"3 KiB\"",
    build: |section| APPLICATION.build(section),
};
