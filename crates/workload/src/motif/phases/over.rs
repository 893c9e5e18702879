//! The ranks that take part in one collective: groups of the job's ranks, by formula.

use config::{Error, Parameter, Section, Type, parameters};

/// Values of `over` without a table.
pub(super) const NAMES: &[&str] = &["all", "row", "column", "plane"];

/// Keys of `job.workload.phases.over`.
pub const OVER: &[Parameter] = parameters! {
    computed("group", Type::Integer, "one of these", "groups of this many consecutive ranks; the last may be smaller");
    computed("axes", Type::INTEGERS, "one of these",
        "groups of the ranks that differ along these dimensions of the grid only, numbered from 0");
    computed("grid", Type::INTEGERS, "the grid of the workload",
        "with axes: ranks in each dimension, the first fastest");
    computed("ranks", Type::Integer, "one of these", "one group of this many ranks; the others do not take part");
    integer("first", 0, "with ranks: the first");
    integer("stride", 1, "with ranks: distance from one to the next");
};

/// Dimensions of a grid at most.
const MAX_DIMENSIONS: usize = 12;

/// Groups of ranks. Members are numbered in ascending order of ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// One group of all ranks.
    All,
    /// Consecutive ranks.
    Blocks {
        /// Ranks of each group but the last.
        size: u32,
    },
    /// Ranks with the same coordinates along the other dimensions.
    Axes {
        /// Ranks along each dimension, and whether it is one of the group's.
        sides: Vec<(u32, bool)>,
    },
    /// One group. The other ranks are in none.
    Subset { first: u32, ranks: u32, stride: u32 },
}

impl Over {
    /// Reads `over` of a phase of a job with `ranks` ranks, whose process grid is `grid`.
    pub(super) fn read(phase: &Section, ranks: u32, grid: &[u32]) -> Result<Over, Error> {
        if !phase.has("over") || phase.section("over").is_err() {
            return match phase.choice("over")? {
                "row" => along(phase, "over", grid, &[0]),
                "column" => along(phase, "over", grid, &[1]),
                "plane" => along(phase, "over", grid, &[0, 1]),
                _ => Ok(Over::All),
            };
        }
        let table = phase.section("over")?.declare(OVER);
        let given: Vec<&str> = ["group", "axes", "ranks"]
            .into_iter()
            .filter(|key| table.has(key))
            .collect();
        match given[..] {
            ["group"] => {
                let size = up_to(table, "group", ranks)?;
                Ok(match size == ranks {
                    true => Over::All,
                    false => Over::Blocks { size },
                })
            }
            ["axes"] => {
                let own = match table.has("grid") {
                    true => Some(read_grid(table, "grid", ranks)?),
                    false => None,
                };
                let axes: Vec<u32> = table.required("axes")?;
                along(table, "axes", own.as_deref().unwrap_or(grid), &axes)
            }
            ["ranks"] => subset(table, ranks),
            _ => {
                let found = if given.is_empty() { "none" } else { "several" };
                let message = format!("expected one of group, axes, ranks; found {found} of them");
                Err(table.error("", message))
            }
        }
    }

    /// Number of the group that a rank belongs to, from 0.
    pub(super) fn group(&self, rank: u32) -> Option<u32> {
        match self {
            Over::All => Some(0),
            Over::Blocks { size } => Some(rank / size),
            Over::Axes { sides } => {
                let (mut rest, mut group, mut stride) = (rank, 0, 1);
                for (side, is_within) in sides {
                    if !is_within {
                        group += rest % side * stride;
                        stride *= side;
                    }
                    rest /= side;
                }
                Some(group)
            }
            Over::Subset { first, ranks, stride } => {
                let after = rank.checked_sub(*first)?;
                (after % stride == 0 && after / stride < *ranks).then_some(0)
            }
        }
    }

    /// Number of ranks in the smallest group.
    pub(super) fn least(&self, ranks: u32) -> u32 {
        match self {
            Over::All => ranks,
            Over::Blocks { size } => match ranks % size {
                0 => *size,
                rest => rest,
            },
            Over::Axes { sides } => sides
                .iter()
                .filter(|(_, is_within)| *is_within)
                .map(|(side, _)| side)
                .product(),
            Over::Subset { ranks, .. } => *ranks,
        }
    }

    /// Members of each group, in ascending order.
    pub(super) fn members(&self, ranks: u32) -> Vec<Vec<u32>> {
        let mut groups: Vec<Vec<u32>> = Vec::new();
        for rank in 0..ranks {
            if let Some(group) = self.group(rank) {
                let group = group as usize;
                if group >= groups.len() {
                    groups.resize(group + 1, Vec::new());
                }
                groups[group].push(rank);
            }
        }
        groups
    }
}

/// A process grid of all ranks.
pub(super) fn read_grid(section: &Section, key: &str, ranks: u32) -> Result<Vec<u32>, Error> {
    let grid: Vec<u32> = section.required(key)?;
    if !(1..=MAX_DIMENSIONS).contains(&grid.len()) {
        let message = format!("{} dimensions; expected 1 to {MAX_DIMENSIONS}", grid.len());
        return Err(section.error(key, message));
    }
    let product = grid
        .iter()
        .try_fold(1u32, |product, side| product.checked_mul(*side));
    if product != Some(ranks) {
        let shown = product.map_or("more than 2^32".into(), |product| product.to_string());
        let message = format!("a grid of {grid:?} has {shown} ranks; expected the {ranks} of the job");
        return Err(section.error(key, message));
    }
    Ok(grid)
}

/// Groups along dimensions of a grid.
fn along(section: &Section, key: &str, grid: &[u32], axes: &[u32]) -> Result<Over, Error> {
    let mut sides: Vec<(u32, bool)> = grid.iter().map(|side| (*side, false)).collect();
    if axes.is_empty() {
        return Err(section.error(key, "has no dimension; expected at least one"));
    }
    for axis in axes {
        let Some((_, is_within)) = sides.get_mut(*axis as usize) else {
            let message = format!(
                "needs dimension {axis}; the grid {grid:?} has the dimensions 0 to {}",
                grid.len() - 1
            );
            return Err(section.error(key, message));
        };
        if *is_within {
            return Err(section.error(key, format!("has dimension {axis} twice; expected it once")));
        }
        *is_within = true;
    }
    Ok(
        match sides.iter().all(|(side, is_within)| *is_within || *side == 1) {
            true => Over::All,
            false => Over::Axes { sides },
        },
    )
}

fn subset(table: &Section, ranks: u32) -> Result<Over, Error> {
    let count = up_to(table, "ranks", ranks)?;
    let first: u32 = table.get("first")?;
    if first >= ranks {
        let message = format!(
            "rank {first} does not exist; the job has the ranks 0 to {}",
            ranks - 1
        );
        return Err(table.error("first", message));
    }
    let stride = up_to(table, "stride", ranks)?;
    let last = u64::from(first) + u64::from(count - 1) * u64::from(stride);
    if last >= u64::from(ranks) {
        let message = format!(
            "{count} ranks from {first} in steps of {stride} end with rank {last}; the job has the ranks 0 to {}",
            ranks - 1
        );
        return Err(table.error("ranks", message));
    }
    Ok(match count == ranks {
        true => Over::All,
        false => Over::Subset {
            first,
            ranks: count,
            stride,
        },
    })
}

/// A number from 1 to `ranks`.
fn up_to(table: &Section, key: &str, ranks: u32) -> Result<u32, Error> {
    let value: u32 = match key {
        "stride" => table.get(key)?,
        _ => table.required(key)?,
    };
    if !(1..=ranks).contains(&value) {
        let message = format!("{value} is out of range; expected 1 to {ranks}, the ranks of the job");
        return Err(table.error(key, message));
    }
    Ok(value)
}
