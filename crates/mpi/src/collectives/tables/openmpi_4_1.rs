//! The choice of Open MPI 4.1: the fixed rules of its component `tuned`, and the linear algorithms of `basic`
//! for the collectives that `tuned` does not serve. Operations commute; no algorithm has segments.

use super::{KIB, SelectionTable, TableRow, always, same, stand_in};

pub(super) const TABLE: SelectionTable = SelectionTable {
    name: "openmpi-4.1",
    summary: "the choice of Open MPI 4.1, component tuned",
    source: "open-mpi/ompi, branch v4.1.x, ompi/mca/coll/tuned/coll_tuned_decision_fixed.c",
    names: &[NAMES],
    rules: &[RULES],
};

pub(super) const NAMES: &[super::NamedAlgorithm] = &[
    same("barrier", "bruck", "dissemination"),
    same("barrier", "recursive_doubling", "recursive-doubling"),
    same("bcast", "basic_linear", "linear"),
    same("bcast", "binary_tree", "binary-tree"),
    same("bcast", "pipeline", "chain"),
    stand_in(
        "bcast",
        "scatter_allgather",
        "scatter-recursive-doubling-allgather",
        "with other than powers of two, ranks that are left out get the vector at the end",
    ),
    stand_in(
        "bcast",
        "split_binary_tree",
        "binary-tree",
        "halves of the vector on two subtrees, exchanged at the end; here the whole vector on the same tree",
    ),
    same("reduce", "binary", "binary-tree"),
    same("reduce", "in-order_binary", "in-order-binary-tree"),
    same("reduce", "pipeline", "chain"),
    stand_in(
        "reduce",
        "rabenseifner",
        "linear",
        "chosen for fewer elements than ranks only, where Open MPI itself replaces it by linear",
    ),
    stand_in(
        "allreduce",
        "nonoverlapping",
        "reduce-bcast",
        "its parts follow the rules of reduce and bcast; here both are binomial",
    ),
    same("allreduce", "recursive_doubling", "recursive-doubling"),
    same("allreduce", "segmented_ring", "ring"),
    same("allgather", "neighbor", "neighbor-exchange"),
    same("allgather", "recursive_doubling", "recursive-doubling"),
    same("allgather", "two_proc", "recursive-doubling"),
    same("allgatherv", "default", "gather-bcast"),
    same("allgatherv", "neighbor", "neighbor-exchange"),
    same("allgatherv", "two_proc", "ring"),
    same("alltoall", "linear_sync", "linear"),
    same("alltoall", "modified_bruck", "bruck"),
    same("alltoall", "two_proc", "pairwise"),
    same("alltoallv", "basic_linear", "linear"),
    same("gather", "basic_linear", "linear"),
    stand_in(
        "gather",
        "linear_sync",
        "linear",
        "the root asks each rank for the rest of its block; here all send at once",
    ),
    same("scatter", "basic_linear", "linear"),
    same("scatter", "linear_nb", "linear"),
    stand_in(
        "reduce-scatter",
        "butterfly",
        "recursive-halving",
        "any number of ranks without folding, and an exchange at the end; here recursive halving",
    ),
    stand_in(
        "reduce-scatter",
        "non-overlapping",
        "reduce-scatterv",
        "its reduce follows the rules of reduce; here it is binomial",
    ),
    same("reduce-scatter", "recursive_halving", "recursive-halving"),
];

/// Rules by collective, as [`SelectionTable::rules`]. They are also those of later versions inside a host.
pub(super) const RULES: &[(&str, &[TableRow])] = &[
    (
        "barrier",
        &[
            always("recursive-doubling").ranks_below(4),
            always("linear").ranks_below(8),
            always("recursive-doubling").ranks_below(64),
            always("dissemination").ranks_below(256),
            always("tree").ranks_below(512),
            always("dissemination").ranks_below(1024),
            always("tree").ranks_below(4096),
            always("dissemination"),
        ],
    ),
    (
        "bcast",
        &[
            always("chain").below(32).ranks_below(4),
            always("binary-tree").below(256).ranks_below(4),
            always("chain").below(512).ranks_below(4),
            always("knomial").below(KIB).ranks_below(4),
            always("linear").below(32 * KIB).ranks_below(4),
            always("binary-tree").below(128 * KIB).ranks_below(4),
            always("chain").below(256 * KIB).ranks_below(4),
            always("linear").below(512 * KIB).ranks_below(4),
            always("binomial").below(1 << 20).ranks_below(4),
            always("binary-tree").ranks_below(4),
            always("binary-tree").below(64).ranks_below(8),
            always("binomial").below(128).ranks_below(8),
            always("binary-tree").below(2 * KIB).ranks_below(8),
            always("binomial").below(8 * KIB).ranks_below(8),
            always("linear").below(1 << 20).ranks_below(8),
            always("chain").ranks_below(8),
            always("knomial").below(8).ranks_below(16),
            always("binary-tree").below(64).ranks_below(16),
            always("knomial").below(4 * KIB).ranks_below(16),
            always("binary-tree").below(16 * KIB).ranks_below(16),
            always("binomial").below(32 * KIB).ranks_below(16),
            always("linear").ranks_below(16),
            always("knomial").below(4 * KIB).ranks_below(32),
            always("binomial").below(1 << 20).ranks_below(32),
            always("scatter-recursive-doubling-allgather").ranks_below(32),
            always("binomial").below(2 * KIB).ranks_below(64),
            always("knomial").ranks_below(64),
            always("knomial").ranks_below(128),
            always("binomial").below(2).ranks_below(256),
            always("binary-tree").below(16 * KIB).ranks_below(256),
            always("linear").below(32 * KIB).ranks_below(256),
            always("binary-tree").below(64 * KIB).ranks_below(256),
            always("knomial").ranks_below(256),
            always("knomial").below(16 * KIB).ranks_below(1024),
            always("binary-tree").below(32 * KIB).ranks_below(1024),
            always("knomial").ranks_below(1024),
            always("knomial").below(512 * KIB).ranks_below(2048),
            always("scatter-recursive-doubling-allgather").ranks_below(2048),
            always("knomial").below(256 * KIB).ranks_below(4096),
            always("scatter-recursive-doubling-allgather").ranks_below(4096),
            always("knomial").below(8 * KIB),
            always("binary-tree").below(16 * KIB),
            always("knomial").below(256 * KIB),
            always("scatter-recursive-doubling-allgather"),
        ],
    ),
    (
        "reduce",
        &[
            always("linear").below(8).ranks_below(4),
            always("binary-tree").below(16).ranks_below(4),
            always("chain").below(32).ranks_below(4),
            always("linear").below(256 * KIB).ranks_below(4),
            always("chain").ranks_below(4),
            always("binary-tree").below(4 * KIB).ranks_below(8),
            always("chain").below(64 * KIB).ranks_below(8),
            always("binomial").below(256 * KIB).ranks_below(8),
            always("linear").below(512 * KIB).ranks_below(8),
            always("binomial").below(1 << 20).ranks_below(8),
            always("linear").ranks_below(8),
            always("binary-tree").below(8 * KIB).ranks_below(16),
            always("binomial").ranks_below(16),
            always("binary-tree").below(4 * KIB).ranks_below(32),
            always("binomial").ranks_below(32),
            always("binomial").ranks_below(256),
            always("binomial").below(8 * KIB).ranks_below(512),
            always("in-order-binary-tree").below(16 * KIB).ranks_below(512),
            always("binomial").ranks_below(512),
            always("binomial").ranks_below(2048),
            always("binomial").below(512).ranks_below(4096),
            always("in-order-binary-tree").below(KIB).ranks_below(4096),
            always("binomial").below(8 * KIB).ranks_below(4096),
            always("in-order-binary-tree").below(16 * KIB).ranks_below(4096),
            always("binomial").ranks_below(4096),
            always("binomial").below(16),
            always("in-order-binary-tree").below(32),
            always("binomial").below(KIB),
            always("in-order-binary-tree").below(2 * KIB),
            always("binomial").below(8 * KIB),
            always("in-order-binary-tree").below(16 * KIB),
            always("binomial"),
        ],
    ),
    (
        "allreduce",
        &[
            always("recursive-doubling")
                .elements_below_ranks()
                .below(8)
                .ranks_below(4),
            always("ring").below(8).ranks_below(4),
            always("recursive-doubling").below(4 * KIB).ranks_below(4),
            always("recursive-doubling")
                .elements_below_ranks()
                .below(8 * KIB)
                .ranks_below(4),
            always("ring").below(8 * KIB).ranks_below(4),
            always("recursive-doubling").below(16 * KIB).ranks_below(4),
            always("recursive-doubling")
                .elements_below_ranks()
                .below(256 * KIB)
                .ranks_below(4),
            always("ring").below(256 * KIB).ranks_below(4),
            always("rabenseifner").ranks_below(4),
            always("recursive-doubling")
                .elements_below_ranks()
                .below(16)
                .ranks_below(8),
            always("ring").below(16).ranks_below(8),
            always("recursive-doubling").below(8 * KIB).ranks_below(8),
            always("rabenseifner").ranks_below(8),
            always("recursive-doubling").below(8 * KIB).ranks_below(16),
            always("rabenseifner").ranks_below(16),
            always("recursive-doubling")
                .elements_below_ranks()
                .below(64)
                .ranks_below(32),
            always("ring").below(64).ranks_below(32),
            always("recursive-doubling").below(4 * KIB).ranks_below(32),
            always("rabenseifner").ranks_below(32),
            always("recursive-doubling")
                .elements_below_ranks()
                .below(128)
                .ranks_below(64),
            always("ring").below(128).ranks_below(64),
            always("rabenseifner").ranks_below(64),
            always("recursive-doubling").below(256 * KIB).ranks_below(128),
            always("rabenseifner").ranks_below(128),
            always("reduce-bcast").below(128 * KIB).ranks_below(256),
            always("recursive-doubling").below(256 * KIB).ranks_below(256),
            always("rabenseifner").ranks_below(256),
            always("reduce-bcast").below(4 * KIB).ranks_below(512),
            always("rabenseifner").ranks_below(512),
            always("reduce-bcast").below(2 * KIB).ranks_below(2048),
            always("recursive-doubling").below(16 * KIB).ranks_below(2048),
            always("rabenseifner").ranks_below(2048),
            always("reduce-bcast").below(2 * KIB).ranks_below(4096),
            always("recursive-doubling")
                .elements_below_ranks()
                .below(4 * KIB)
                .ranks_below(4096),
            always("ring").below(4 * KIB).ranks_below(4096),
            always("recursive-doubling").below(16 * KIB).ranks_below(4096),
            always("rabenseifner").ranks_below(4096),
            always("reduce-bcast").below(2 * KIB),
            always("recursive-doubling")
                .elements_below_ranks()
                .below(16 * KIB),
            always("ring").below(16 * KIB),
            always("recursive-doubling").below(32 * KIB),
            always("rabenseifner"),
        ],
    ),
    (
        "allgather",
        &[
            always("recursive-doubling").ranks_below(3),
            always("recursive-doubling").power_of_two().ranks_below(32),
            always("bruck").ranks_below(32),
            always("recursive-doubling")
                .power_of_two()
                .below_per_rank(KIB)
                .ranks_below(64),
            always("bruck").below_per_rank(KIB).ranks_below(64),
            always("neighbor-exchange")
                .below_per_rank(64 * KIB)
                .ranks_below(64),
            always("ring").ranks_below(64),
            always("recursive-doubling")
                .power_of_two()
                .below_per_rank(512)
                .ranks_below(128),
            always("bruck").below_per_rank(512).ranks_below(128),
            always("neighbor-exchange")
                .below_per_rank(64 * KIB)
                .ranks_below(128),
            always("ring").ranks_below(128),
            always("recursive-doubling")
                .power_of_two()
                .below_per_rank(512)
                .ranks_below(256),
            always("bruck").below_per_rank(512).ranks_below(256),
            always("neighbor-exchange")
                .below_per_rank(128 * KIB)
                .ranks_below(256),
            always("ring").below_per_rank(512 * KIB).ranks_below(256),
            always("neighbor-exchange")
                .below_per_rank(1 << 20)
                .ranks_below(256),
            always("ring").ranks_below(256),
            always("recursive-doubling")
                .power_of_two()
                .below_per_rank(32)
                .ranks_below(512),
            always("bruck").below_per_rank(32).ranks_below(512),
            always("bruck").below_per_rank(128).ranks_below(512),
            always("recursive-doubling")
                .power_of_two()
                .below_per_rank(KIB)
                .ranks_below(512),
            always("bruck").below_per_rank(KIB).ranks_below(512),
            always("neighbor-exchange")
                .below_per_rank(128 * KIB)
                .ranks_below(512),
            always("ring").below_per_rank(512 * KIB).ranks_below(512),
            always("neighbor-exchange")
                .below_per_rank(1 << 20)
                .ranks_below(512),
            always("ring").ranks_below(512),
            always("recursive-doubling")
                .power_of_two()
                .below_per_rank(64)
                .ranks_below(1024),
            always("bruck").below_per_rank(64).ranks_below(1024),
            always("bruck").below_per_rank(256).ranks_below(1024),
            always("recursive-doubling")
                .power_of_two()
                .below_per_rank(2 * KIB)
                .ranks_below(1024),
            always("bruck").below_per_rank(2 * KIB).ranks_below(1024),
            always("neighbor-exchange").ranks_below(1024),
            always("recursive-doubling")
                .power_of_two()
                .below_per_rank(4)
                .ranks_below(2048),
            always("bruck").below_per_rank(4).ranks_below(2048),
            always("bruck").below_per_rank(8).ranks_below(2048),
            always("recursive-doubling")
                .power_of_two()
                .below_per_rank(16)
                .ranks_below(2048),
            always("bruck").below_per_rank(16).ranks_below(2048),
            always("bruck").below_per_rank(32).ranks_below(2048),
            always("recursive-doubling")
                .power_of_two()
                .below_per_rank(256)
                .ranks_below(2048),
            always("bruck").below_per_rank(256).ranks_below(2048),
            always("bruck").below_per_rank(512).ranks_below(2048),
            always("recursive-doubling")
                .power_of_two()
                .below_per_rank(4 * KIB)
                .ranks_below(2048),
            always("bruck").below_per_rank(4 * KIB).ranks_below(2048),
            always("neighbor-exchange").ranks_below(2048),
            always("bruck").below_per_rank(32).ranks_below(4096),
            always("recursive-doubling")
                .power_of_two()
                .below_per_rank(128)
                .ranks_below(4096),
            always("bruck").below_per_rank(128).ranks_below(4096),
            always("bruck").below_per_rank(512).ranks_below(4096),
            always("recursive-doubling")
                .power_of_two()
                .below_per_rank(4 * KIB)
                .ranks_below(4096),
            always("bruck").below_per_rank(4 * KIB).ranks_below(4096),
            always("neighbor-exchange").ranks_below(4096),
            always("recursive-doubling").power_of_two().below_per_rank(2),
            always("bruck").below_per_rank(2),
            always("bruck").below_per_rank(8),
            always("recursive-doubling").power_of_two().below_per_rank(16),
            always("bruck").below_per_rank(16),
            always("bruck").below_per_rank(512),
            always("recursive-doubling")
                .power_of_two()
                .below_per_rank(4 * KIB),
            always("bruck").below_per_rank(4 * KIB),
            always("neighbor-exchange"),
        ],
    ),
    (
        "allgatherv",
        &[
            always("ring").ranks_below(3),
            always("gather-bcast").below_per_rank(256).ranks_below(8),
            always("neighbor-exchange").below_per_rank(4 * KIB).ranks_below(8),
            always("ring").below_per_rank(8 * KIB).ranks_below(8),
            always("neighbor-exchange")
                .below_per_rank(16 * KIB)
                .ranks_below(8),
            always("bruck").below_per_rank(256 * KIB).ranks_below(8),
            always("neighbor-exchange").ranks_below(8),
            always("gather-bcast").below_per_rank(KIB).ranks_below(16),
            always("bruck").ranks_below(16),
            always("gather-bcast").below_per_rank(128).ranks_below(32),
            always("bruck").below_per_rank(256 * KIB).ranks_below(32),
            always("ring").ranks_below(32),
            always("gather-bcast").below_per_rank(256).ranks_below(64),
            always("bruck").below_per_rank(8 * KIB).ranks_below(64),
            always("ring").ranks_below(64),
            always("gather-bcast").below_per_rank(256).ranks_below(128),
            always("bruck").below_per_rank(4 * KIB).ranks_below(128),
            always("ring").ranks_below(128),
            always("bruck").below_per_rank(KIB).ranks_below(256),
            always("neighbor-exchange")
                .below_per_rank(64 * KIB)
                .ranks_below(256),
            always("ring").ranks_below(256),
            always("bruck").below_per_rank(KIB).ranks_below(512),
            always("ring").ranks_below(512),
            always("bruck").below_per_rank(512).ranks_below(1024),
            always("gather-bcast").below_per_rank(KIB).ranks_below(1024),
            always("bruck").below_per_rank(4 * KIB).ranks_below(1024),
            always("neighbor-exchange")
                .below_per_rank(1 << 20)
                .ranks_below(1024),
            always("ring").ranks_below(1024),
            always("bruck").below_per_rank(4 * KIB),
            always("neighbor-exchange"),
        ],
    ),
    (
        "alltoall",
        &[
            always("pairwise").below(32 * KIB).ranks_below(3),
            always("linear").below(256 * KIB).ranks_below(3),
            always("pairwise").ranks_below(3),
            always("linear").below(512 * KIB).ranks_below(8),
            always("pairwise").below(1 << 20).ranks_below(8),
            always("linear").ranks_below(8),
            always("linear").ranks_below(16),
            always("linear").below(4).ranks_below(32),
            always("bruck").below(512).ranks_below(32),
            always("linear").ranks_below(32),
            always("bruck").below(512).ranks_below(64),
            always("linear").ranks_below(64),
            always("bruck").below(KIB).ranks_below(128),
            always("linear").below(256 * KIB).ranks_below(128),
            always("pairwise").ranks_below(128),
            always("bruck").below(KIB).ranks_below(256),
            always("linear").below(256 * KIB).ranks_below(256),
            always("pairwise").ranks_below(256),
            always("bruck").below(KIB).ranks_below(512),
            always("linear").below(32 * KIB).ranks_below(512),
            always("pairwise").ranks_below(512),
            always("bruck").below(512).ranks_below(1024),
            always("linear").below(256 * KIB).ranks_below(1024),
            always("pairwise").ranks_below(1024),
            always("bruck").below(512).ranks_below(2048),
            always("linear").ranks_below(2048),
            always("bruck").below(KIB).ranks_below(4096),
            always("linear").ranks_below(4096),
            always("bruck").below(2 * KIB),
            always("linear"),
        ],
    ),
    (
        "alltoallv",
        &[
            always("pairwise").ranks_below(4),
            always("linear").ranks_below(64),
            always("pairwise").ranks_below(128),
            always("linear").ranks_below(256),
            always("pairwise").ranks_below(1024),
            always("linear"),
        ],
    ),
    (
        "gather",
        &[
            always("linear").below(4).ranks_below(4),
            always("binomial").below(32 * KIB).ranks_below(4),
            always("linear").below(64 * KIB).ranks_below(4),
            always("binomial").below(128 * KIB).ranks_below(4),
            always("linear").ranks_below(4),
            always("binomial").below(KIB).ranks_below(8),
            always("linear").below(8 * KIB).ranks_below(8),
            always("binomial").below(32 * KIB).ranks_below(8),
            always("linear").ranks_below(8),
            always("binomial").ranks_below(256),
            always("binomial").below(2 * KIB).ranks_below(512),
            always("linear").below(8 * KIB).ranks_below(512),
            always("binomial").ranks_below(512),
            always("binomial"),
        ],
    ),
    ("gatherv", &[always("linear")]),
    (
        "scatter",
        &[
            always("linear").ranks_below(4),
            always("binomial").below(2 * KIB).ranks_below(8),
            always("linear").below(4 * KIB).ranks_below(8),
            always("binomial").below(8 * KIB).ranks_below(8),
            always("linear").ranks_below(8),
            always("binomial").below(16 * KIB).ranks_below(16),
            always("linear").ranks_below(16),
            always("binomial").below(16 * KIB).ranks_below(32),
            always("linear").ranks_below(32),
            always("binomial").below(512).ranks_below(64),
            always("linear").below(8 * KIB).ranks_below(64),
            always("binomial").below(16 * KIB).ranks_below(64),
            always("linear").ranks_below(64),
            always("binomial").below(512),
            always("linear"),
        ],
    ),
    ("scatterv", &[always("linear")]),
    (
        "reduce-scatter",
        &[
            always("ring").below(64 * KIB).ranks_below(4),
            always("recursive-halving").below(128 * KIB).ranks_below(4),
            always("ring").ranks_below(4),
            always("reduce-scatterv").below(8).ranks_below(8),
            always("recursive-halving").below(256 * KIB).ranks_below(8),
            always("ring").ranks_below(8),
            always("recursive-halving").below(256 * KIB).ranks_below(32),
            always("ring").ranks_below(32),
            always("reduce-scatterv").below(64).ranks_below(64),
            always("recursive-halving").below(512 * KIB).ranks_below(64),
            always("ring").ranks_below(64),
            always("reduce-scatterv").below(256).ranks_below(128),
            always("recursive-halving").ranks_below(128),
            always("reduce-scatterv").below(256).ranks_below(256),
            always("recursive-halving").ranks_below(256),
            always("reduce-scatterv").below(256).ranks_below(512),
            always("recursive-halving").ranks_below(512),
            always("reduce-scatterv").below(512).ranks_below(1024),
            always("recursive-halving").ranks_below(1024),
            always("reduce-scatterv").below(512).ranks_below(2048),
            always("recursive-halving").ranks_below(2048),
            always("reduce-scatterv").below(512).ranks_below(4096),
            always("recursive-halving").ranks_below(4096),
            always("reduce-scatterv").below(KIB),
            always("recursive-halving"),
        ],
    ),
    ("scan", &[always("linear")]),
    ("exscan", &[always("linear")]),
];
