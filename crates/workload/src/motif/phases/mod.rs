//! phases: an application made of motifs, collectives and computations, in sequence, repeated and nested.
//!
//! `read` makes a flat list of steps that all ranks share. `program` has the position of one rank in it. `over`
//! has the ranks of a collective, by formula. `computation` has the time of a computation.

mod computation;
mod over;
mod program;
mod read;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use config::{Parameter, Type, parameters};

use super::Motif;
use super::parameters::{iterations, ranks};

pub use over::OVER;

pub(super) const MOTIF: Motif = Motif {
    name: "phases",
    summary: "motifs, collectives and computations in sequence, repeated and nested",
    source: "composed by the experiment",
    parameters: parameters! {
        required("ranks", Type::Integer, "number of ranks");
        required("phases", Type::List(&Type::Table), "the phases in their order");
        integer("iterations", 1, "how many times all phases");
        computed("grid", Type::INTEGERS, "three sides, as cubic as can be",
            "ranks in each dimension of the process grid, the first fastest: of rows, columns and planes");
    },
    example: "ranks = 12\niterations = 2\nphases = [
 { motif = \"halo3d\", nx = 2, barriers = false },
 { collective = \"allreduce\", bytes = \"8 B\", over = \"row\" },
 { compute = \"1 us\", imbalance = 0.5, distribution = \"exponential\" },
 { iterations = 3, phases = [
  { collective = \"alltoall\", bytes = \"5 B\", over = \"plane\" },
  { motif = \"subcom3d-a2a\" } ] } ]",
    build: |section| {
        let ranks = ranks(section)?;
        let iterations = iterations(section)?;
        let phases = read::Reader::new(section, ranks)?.read(section, iterations)?;
        Ok(Arc::new(program::PhasesWorkload::new(phases)))
    },
};

/// Keys of `job.workload.phases`, beside those of a motif.
pub const PHASE: &[Parameter] = parameters! {
    computed("collective", Type::Choice(COLLECTIVE_NAMES), "one of these", "a blocking collective");
    computed("compute", Type::Time, "one of these", "a computation; its mean time");
    computed("phases", Type::List(&Type::Table), "one of these", "phases in sequence");
    integer("iterations", 1, "repetitions of a collective, a computation or phases");
    computed("bytes", Type::Size, "required, except for a barrier", "size as in the arguments of the call");
    integer("root", 0, "bcast, reduce, gather, scatter: the root, a rank of each group");
    choice("over", over::NAMES, "ranks that take part in one collective, in the grid; or a table of other groups");
    number("imbalance", 0.0, "greatest deviation of a rank's mean time from compute, as a fraction");
    choice("distribution", &["fixed", "uniform", "normal", "exponential"],
        "times of a rank's computations around its mean");
    number("variation", 0.5, "of the rank's mean, uniform: greatest deviation of a time; normal: standard deviation");
    integer("seed", 1331, "of the lots; ranks have the same deviation in all phases with the same seed");
};

/// Names of [`read::COLLECTIVES`].
const COLLECTIVE_NAMES: &[&str] = &{
    let mut names = [""; read::COLLECTIVES.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = read::COLLECTIVES[at].name();
        at += 1;
    }
    names
};
