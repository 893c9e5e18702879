//! Tables of selection rules that come with FabricSim.

/// Rules for all collectives.
#[derive(Debug)]
pub struct SelectionTable {
    /// Name in experiments.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Source of the rules.
    pub source: &'static str,
    /// Rules by name of the variant, in order. The last rule of each is unconditional.
    pub(super) rules: &'static [(&'static str, &'static [TableRow])],
}

/// One rule of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableRow {
    pub below: Option<u64>,
    pub ranks_below: Option<u32>,
    pub power_of_two: Option<bool>,
    pub algorithm: &'static str,
}

const fn always(algorithm: &'static str) -> TableRow {
    TableRow {
        below: None,
        ranks_below: None,
        power_of_two: None,
        algorithm,
    }
}

impl TableRow {
    /// Restricts the rule to calls of fewer bytes.
    const fn below(self, bytes: u64) -> TableRow {
        TableRow {
            below: Some(bytes),
            ..self
        }
    }

    /// Restricts the rule to calls of at most so many bytes.
    const fn up_to(self, bytes: u64) -> TableRow {
        self.below(bytes + 1)
    }

    const fn ranks_below(self, ranks: u32) -> TableRow {
        TableRow {
            ranks_below: Some(ranks),
            ..self
        }
    }

    const fn power_of_two(self) -> TableRow {
        TableRow {
            power_of_two: Some(true),
            ..self
        }
    }
}

const KIB: u64 = 1024;

const ALLGATHER_OF_MPICH: &[TableRow] = &[
    always("recursive-doubling").below(512 * KIB).power_of_two(),
    always("bruck").below(80 * KIB),
    always("ring"),
];

/// The first table is the default.
pub static TABLES: &[SelectionTable] = &[SelectionTable {
    name: "thakur-2005",
    summary: "the choice of MPICH",
    source: "Thakur, Rabenseifner, Gropp 2005; where that is silent, the defaults of MPICH",
    rules: &[
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
    ],
}];
