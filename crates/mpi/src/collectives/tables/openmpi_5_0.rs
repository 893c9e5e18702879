//! The choice of Open MPI 5.0: its component `han` where ranks share hosts, on two levels, and elsewhere the fixed
//! rules of `tuned`, which are those of [version 4.1](super::openmpi_4_1).

use super::{NamedAlgorithm, SelectionTable, TableRow, always, openmpi_4_1, stand_in};

pub(super) const TABLE: SelectionTable = SelectionTable {
    name: "openmpi-5.0",
    summary: "the choice of Open MPI 5.0: component han where ranks share hosts, else tuned as in 4.1",
    source: "open-mpi/ompi, branch v5.0.x, ompi/mca/coll/han and ompi/mca/coll/tuned/coll_tuned_decision_fixed.c",
    names: &[NAMES, openmpi_4_1::NAMES],
    rules: &[RULES, openmpi_4_1::RULES],
};

const TREES: &str =
    "tuned and libnbc choose an algorithm for each level; here both levels are binomial trees";

const NAMES: &[NamedAlgorithm] = &[
    stand_in(
        "allgather",
        "han intra",
        "two-level",
        "leaders in a ring, hosts by binomial trees",
    ),
    stand_in("allreduce", "han intra", "two-level", TREES),
    stand_in(
        "barrier",
        "han simple",
        "two-level",
        "dissemination on both levels",
    ),
    stand_in("bcast", "han intra", "two-level", TREES),
    stand_in("gather", "han simple", "two-level", TREES),
    stand_in("reduce", "han intra", "two-level", TREES),
    stand_in("scatter", "han intra", "two-level", TREES),
];

const TWO_LEVEL: &[TableRow] = &[always("two-level")];

const RULES: &[(&str, &[TableRow])] = &[
    ("allgather", TWO_LEVEL),
    ("allreduce", TWO_LEVEL),
    ("barrier", TWO_LEVEL),
    ("bcast", TWO_LEVEL),
    ("gather", TWO_LEVEL),
    ("reduce", TWO_LEVEL),
    ("scatter", TWO_LEVEL),
];
