//! pf3d: pF3D, laser-plasma interaction.

use config::{Parameter, Type, parameters};

use crate::motif::Motif;
use crate::motif::grid::most_cubic;

use super::{Application, ITERATIONS, PLANE_DEFAULT, RANKS, SOURCE, plane_of};

const PARAMETERS: &[Parameter] = parameters! {
    RANKS;
    ITERATIONS;
    time("compute", "64 ms", "time of the computation of a rank in an iteration; assumed, from the share of communication in P4, fig. 7");
    computed("plane", Type::Integer, PLANE_DEFAULT, "consecutive ranks of an all-to-all; source: P4, 64 to 256");
    size("pair", "8 KiB", "from each rank to each of its plane; source: P4, 1 MB of a rank in an all-to-all, here of 128 ranks");
    integer("transforms", 2, "all-to-alls, forth and back; assumed");
    size("face", "64 KiB", "message to each of six neighbours; assumed");
};

pub(super) const APPLICATION: Application = Application {
    parameters: PARAMETERS,
    file: "pf3d.toml",
    phases: include_str!("pf3d.toml"),
    derived: |section, ranks| {
        let plane = plane_of(section, ranks)?;
        let sides = most_cubic(plane, 2);
        Ok(vec![
            ("plane", u64::from(plane)),
            ("plane_x", u64::from(sides[0])),
            ("plane_y", u64::from(sides[1])),
            ("planes", u64::from(ranks / plane)),
        ])
    },
};

pub(in crate::motif) const MOTIF: Motif = Motif {
    name: "pf3d",
    summary: "stand-in for pF3D's laser-plasma interaction: all-to-all in planes of consecutive ranks, exchange with six neighbours",
    source: SOURCE,
    parameters: PARAMETERS,
    example: "ranks = 12\niterations = 2\nplane = 4\npair = \"300 B\"",
    build: |section| APPLICATION.build(section),
};
