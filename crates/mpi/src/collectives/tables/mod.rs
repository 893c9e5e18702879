//! Tables of selection rules that come with FabricSim.

mod mpich;
mod openmpi_4_1;
mod openmpi_5_0;
mod thakur_2005;
mod tracer;

/// Rules for all collectives.
#[derive(Debug)]
pub struct SelectionTable {
    /// Name in experiments.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Source of the rules.
    pub source: &'static str,
    /// Algorithms with another name in the source, or with a stand-in, in parts.
    pub(super) names: &'static [&'static [NamedAlgorithm]],
    /// Rules by name of the variant, in order, in parts that follow each other. The last rule of each variant is
    /// unconditional.
    pub(super) rules: &'static [&'static [(&'static str, &'static [TableRow])]],
}

impl SelectionTable {
    /// Algorithms that have another name in the source, or that another algorithm stands in for.
    pub fn names(&self) -> impl Iterator<Item = &'static NamedAlgorithm> {
        self.names.iter().copied().flatten()
    }
}

/// What an algorithm of the source of a table is here.
#[derive(Clone, Copy, Debug)]
pub struct NamedAlgorithm {
    /// The collective in experiments, for example `allgatherv`.
    pub collective: &'static str,
    /// Name in the source.
    pub name: &'static str,
    /// Name here.
    pub algorithm: &'static str,
    /// How they differ, if this algorithm stands in for that of the source; `None` if they are the same.
    pub difference: Option<&'static str>,
}

/// The same algorithm under two names.
const fn same(collective: &'static str, name: &'static str, algorithm: &'static str) -> NamedAlgorithm {
    NamedAlgorithm {
        collective,
        name,
        algorithm,
        difference: None,
    }
}

/// Another algorithm that stands in for that of the source.
const fn stand_in(
    collective: &'static str,
    name: &'static str,
    algorithm: &'static str,
    difference: &'static str,
) -> NamedAlgorithm {
    NamedAlgorithm {
        collective,
        name,
        algorithm,
        difference: Some(difference),
    }
}

/// One rule of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableRow {
    pub below: Option<u64>,
    pub below_per_rank: Option<u64>,
    pub below_per_power_of_two: Option<u64>,
    pub ranks_below: Option<u32>,
    pub power_of_two: Option<bool>,
    pub algorithm: &'static str,
}

const fn always(algorithm: &'static str) -> TableRow {
    TableRow {
        below: None,
        below_per_rank: None,
        below_per_power_of_two: None,
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

    /// Restricts the rule to calls of fewer bytes per rank.
    const fn below_per_rank(self, bytes: u64) -> TableRow {
        TableRow {
            below_per_rank: Some(bytes),
            ..self
        }
    }

    /// Restricts the rule to vectors with fewer elements than the ranks.
    const fn elements_below_ranks(self) -> TableRow {
        self.below_per_rank(BYTES_OF_AN_ELEMENT)
    }

    /// Restricts the rule to vectors with fewer elements than the largest power of two of ranks.
    const fn elements_below_power_of_two(self) -> TableRow {
        TableRow {
            below_per_power_of_two: Some(BYTES_OF_AN_ELEMENT),
            ..self
        }
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

/// Libraries compare the number of elements of a vector with the number of ranks. Workloads give bytes; the
/// tables assume elements of 8 B, such as `MPI_DOUBLE`.
const BYTES_OF_AN_ELEMENT: u64 = 8;

/// MPICH's rules for allgather and allgatherv, of all versions.
const ALLGATHER_OF_MPICH: &[TableRow] = &[
    always("recursive-doubling").below(512 * KIB).power_of_two(),
    always("bruck").below(80 * KIB),
    always("ring"),
];

/// The first table is the default.
pub static TABLES: &[SelectionTable] = &[
    thakur_2005::TABLE,
    mpich::TABLE,
    openmpi_4_1::TABLE,
    openmpi_5_0::TABLE,
    tracer::TABLE,
];
