//! What TraceR does with the collectives of an OTF2 trace.

use super::{KIB, SelectionTable, always, same, stand_in};

const ALLGATHER: &[super::TableRow] = &[always("bruck").up_to(160 * KIB), always("ring")];

/// TraceR does not simulate the collective.
const NOT_SIMULATED: &str = "TraceR does not simulate it; the choice of thakur-2005";

pub(super) const TABLE: SelectionTable = SelectionTable {
    name: "tracer",
    summary: "the choice of TraceR",
    source: "hpcgroup/TraceR, tracer/coll-events.C and tracer/tracer-driver.h",
    names: &[&[
        same("barrier", "allreduce of 0 B", "binary-tree"),
        stand_in(
            "allreduce",
            "reduce and bcast of bytes / ranks",
            "binary-tree",
            "TraceR divides the recorded bytes by the number of ranks; here messages have the whole vector",
        ),
        same("alltoall", "pairwise by XOR, else ring", "pairwise-exchange"),
        stand_in(
            "alltoallv",
            "direct, 32 at a time",
            "scattered",
            "TraceR sends the mean block, always eager; here each block has its size, if it is known, and the \
             eager threshold of the experiment applies",
        ),
        stand_in("gather", "none", "binomial", NOT_SIMULATED),
        stand_in("gatherv", "none", "linear", NOT_SIMULATED),
        stand_in("scatterv", "none", "linear", NOT_SIMULATED),
        stand_in(
            "reduce-scatter",
            "none",
            "recursive-halving, pairwise",
            NOT_SIMULATED,
        ),
        stand_in("scan", "none", "recursive-doubling", NOT_SIMULATED),
        stand_in("exscan", "none", "recursive-doubling", NOT_SIMULATED),
    ]],
    rules: &[&[
        ("barrier", &[always("binary-tree")]),
        ("bcast", &[always("binary-tree")]),
        ("reduce", &[always("binary-tree")]),
        ("allreduce", &[always("binary-tree")]),
        ("allgather", ALLGATHER),
        ("allgatherv", ALLGATHER),
        (
            "alltoall",
            &[always("bruck").up_to(512), always("pairwise-exchange")],
        ),
        ("alltoallv", &[always("scattered")]),
        ("gather", &[always("binomial")]),
        ("gatherv", &[always("linear")]),
        ("scatter", &[always("binomial")]),
        ("scatterv", &[always("linear")]),
        (
            "reduce-scatter",
            &[always("recursive-halving").below(512 * KIB), always("pairwise")],
        ),
        ("scan", &[always("recursive-doubling")]),
        ("exscan", &[always("recursive-doubling")]),
    ]],
};
