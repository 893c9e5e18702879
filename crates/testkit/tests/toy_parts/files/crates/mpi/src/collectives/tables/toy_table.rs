//! A toy table: every collective by its simplest algorithm.

use super::{SelectionTable, always};

pub(super) const TABLE: SelectionTable = SelectionTable {
    name: "toy-table",
    summary: "linear, where there is such an algorithm",
    source: "a toy",
    names: &[],
    rules: &[&[
        ("barrier", &[always("linear")]),
        ("bcast", &[always("linear")]),
        ("reduce", &[always("linear")]),
        ("allreduce", &[always("ring")]),
        ("allgather", &[always("ring")]),
        ("allgatherv", &[always("ring")]),
        ("alltoall", &[always("linear")]),
        ("alltoallv", &[always("linear")]),
        ("gather", &[always("linear")]),
        ("gatherv", &[always("linear")]),
        ("scatter", &[always("linear")]),
        ("scatterv", &[always("linear")]),
        ("reduce-scatter", &[always("ring")]),
        ("scan", &[always("linear")]),
        ("exscan", &[always("linear")]),
    ]],
};
