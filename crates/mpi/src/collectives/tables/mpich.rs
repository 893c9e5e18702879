//! The choice of MPICH 4.1 to 5.0.1, between hosts with one rank each.

use super::{ALLGATHER_OF_MPICH, KIB, SelectionTable, always, same};

pub(super) const TABLE: SelectionTable = SelectionTable {
    name: "mpich",
    summary: "the choice of MPICH 4.1 to 5.0.1, on flat communicators",
    source: "pmodels/mpich, maint/tuning/coll/mpir/generic.json",
    names: &[&[
        same("barrier", "k_dissemination", "dissemination"),
        same(
            "bcast",
            "scatter_recursive_doubling_allgather",
            "scatter-recursive-doubling-allgather",
        ),
        same("bcast", "scatter_ring_allgather", "scatter-ring-allgather"),
        same("reduce", "reduce_scatter_gather", "rabenseifner"),
        same("allreduce", "recursive_doubling", "recursive-doubling"),
        same("allreduce", "reduce_scatter_allgather", "rabenseifner"),
        same("allgather", "recursive_doubling", "recursive-doubling"),
        same("allgather", "brucks", "bruck"),
        same("allgatherv", "recursive_doubling", "recursive-doubling"),
        same("allgatherv", "brucks", "bruck"),
        same("alltoall", "brucks", "bruck"),
        same("alltoall", "pairwise", "pairwise-exchange"),
        same("reduce-scatter", "recursive_halving", "recursive-halving"),
        same("scan", "recursive_doubling", "recursive-doubling"),
        same("exscan", "recursive_doubling", "recursive-doubling"),
    ]],
    rules: &[&[
        ("barrier", &[always("dissemination")]),
        (
            "bcast",
            &[
                always("binomial").ranks_below(8),
                always("binomial").up_to(12 * KIB),
                always("scatter-recursive-doubling-allgather")
                    .up_to(512 * KIB)
                    .power_of_two(),
                always("scatter-ring-allgather"),
            ],
        ),
        (
            "reduce",
            &[
                always("binomial").up_to(2 * KIB),
                always("binomial").elements_below_power_of_two(),
                always("rabenseifner"),
            ],
        ),
        (
            "allreduce",
            &[
                always("recursive-doubling").up_to(8),
                always("recursive-doubling").elements_below_power_of_two(),
                always("rabenseifner"),
            ],
        ),
        ("allgather", ALLGATHER_OF_MPICH),
        ("allgatherv", ALLGATHER_OF_MPICH),
        (
            "alltoall",
            &[
                always("scattered").up_to(32 * KIB).ranks_below(8),
                always("pairwise-exchange").ranks_below(8),
                always("bruck").up_to(256),
                always("scattered").up_to(32 * KIB),
                always("pairwise-exchange"),
            ],
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
