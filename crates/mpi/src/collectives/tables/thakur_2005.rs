//! The choice of Thakur, Rabenseifner and Gropp 2005.

use super::{ALLGATHER_OF_MPICH, KIB, SelectionTable, always};

pub(super) const TABLE: SelectionTable = SelectionTable {
    name: "thakur-2005",
    summary: "the choice of MPICH up to 3.x",
    source: "Thakur, Rabenseifner, Gropp 2005; where that is silent, the defaults of MPICH",
    names: &[],
    rules: &[&[
        ("barrier", &[always("dissemination")]),
        (
            "bcast",
            &[
                always("binomial").below(12 * KIB),
                always("binomial").ranks_below(8),
                always("scatter-recursive-doubling-allgather")
                    .below(512 * KIB)
                    .power_of_two(),
                always("scatter-ring-allgather"),
            ],
        ),
        (
            "reduce",
            &[always("binomial").up_to(2 * KIB), always("rabenseifner")],
        ),
        (
            "allreduce",
            &[
                always("recursive-doubling").up_to(2 * KIB),
                always("rabenseifner"),
            ],
        ),
        ("allgather", ALLGATHER_OF_MPICH),
        ("allgatherv", ALLGATHER_OF_MPICH),
        (
            "alltoall",
            &[
                always("scattered").up_to(32 * KIB).ranks_below(8),
                always("bruck").up_to(256),
                always("scattered").up_to(32 * KIB),
                always("pairwise"),
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
