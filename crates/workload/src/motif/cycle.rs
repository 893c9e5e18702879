//! V-cycles of a multigrid over ranks in a grid of three dimensions, for `amg` and `multigrid`.
//!
//! A cycle goes from the finest level to the coarsest and back. On each level ranks exchange with their
//! neighbours; each level halves the cells along each dimension. Where a rank's part has one cell left, every
//! second rank of that dimension is idle on the next level, and the distance of neighbours doubles.
//!
//! Message sizes follow from the total volume: each is proportional to the cells it stands for, rounded down to
//! bytes.

use config::{Bytes, Error, Parameter, Section, Type};

use crate::{Collective, WORLD};

use super::halo::{CORNERS, EDGES, FACES, HaloDirection};
use super::parameters::{
    MAX_COUNT, PUBLISHED_COMPUTE, cells, compute, in_count, in_range, iterations, published_compute,
};
use super::{RankGrid, Script, Skeleton};

/// Largest number of cells along a side of a rank's part.
const MAX_SIDE: u64 = 1 << 20;

/// Published data of an application.
pub(super) struct PublishedApplication {
    pub ranks: u32,
    /// Bytes of all messages together.
    pub volume: u64,
    /// Computation of a rank in the whole run, from its run time and its share of communication.
    pub compute_ps: u64,
    /// Whether the number of active ranks falls by default until one is left.
    pub all_levels: bool,
}

/// The parameters that [`Cycles::read`] asks for, with the defaults that differ.
pub(super) const fn parameters(
    ranks: &'static str,
    levels: &'static str,
    neighbours: i64,
    volume: &'static str,
) -> [Parameter; 17] {
    [
        Parameter::computed("ranks", Type::Integer, ranks, "number of ranks"),
        Parameter::computed("pex", Type::Integer, "as cubic as can be", "ranks along x"),
        Parameter::computed("pey", Type::Integer, "as cubic as can be", "ranks along y"),
        Parameter::computed("pez", Type::Integer, "as cubic as can be", "ranks along z"),
        Parameter::integer("nx", 32, "cells of a rank along x on the finest level"),
        Parameter::integer("ny", 32, "cells of a rank along y on the finest level"),
        Parameter::integer("nz", 32, "cells of a rank along z on the finest level"),
        Parameter::computed("levels", Type::Integer, levels, "from the finest to the coarsest"),
        Parameter::integer("neighbours", neighbours, "6 or 26"),
        Parameter::computed("volume", Type::Size, volume, "bytes of all messages together"),
        Parameter::computed(
            "bytes_per_cell",
            Type::Size,
            "from volume",
            "instead of volume: bytes for each cell between two neighbours",
        ),
        Parameter::integer("iterations", 1, "how many V-cycles"),
        Parameter::time(
            "compute",
            "0 ps",
            "time of the computation on the finest level; others: by their cells",
        ),
        Parameter::time("compute_per_cell", "0 ps", "more of it for each cell"),
        PUBLISHED_COMPUTE,
        Parameter::flag("periodic", false, "whether the ends of the grid are neighbours"),
        Parameter::flag(
            "reduce",
            true,
            "whether each cycle ends with an allreduce of 8 bytes",
        ),
    ]
}

/// Repeated V-cycles.
pub(super) struct Cycles {
    grid: RankGrid<3>,
    /// Levels from the finest to the coarsest.
    levels: Vec<CycleLevel>,
    cycles: u64,
    reduce: bool,
}

struct CycleLevel {
    /// Distance of active ranks along each dimension.
    strides: [u32; 3],
    /// The grid of active ranks.
    grid: RankGrid<3>,
    compute_ps: u64,
    /// Directions, and the size of each message.
    exchanges: Vec<(&'static HaloDirection, u64)>,
}

impl Cycles {
    pub fn read(section: &Section, published: &PublishedApplication) -> Result<Cycles, Error> {
        let periodic = section.get("periodic")?;
        let keys = ["pex", "pey", "pez"];
        let grid = RankGrid::read_or(section, keys, periodic, Some(published.ranks))?;
        let keys = ["nx", "ny", "nz"];
        let sides = cells(section, keys)?;
        if let Some((key, side)) = keys.iter().zip(sides).find(|(_, side)| *side > MAX_SIDE) {
            let message = format!("{side} is out of range; expected 1 to {MAX_SIDE}");
            return Err(section.error(key, message));
        }
        let directions = match section.get("neighbours")? {
            6 => FACES.iter().collect::<Vec<_>>(),
            26 => FACES.iter().chain(&EDGES).chain(&CORNERS).collect(),
            other => {
                let message = format!("{other} is no kind of neighbourhood; expected 6 or 26");
                return Err(section.error("neighbours", message));
            }
        };
        let depth = depth(section, &grid, sides, published.all_levels)?;
        let iterations = iterations(section)?;
        let bytes_per_cell = section.optional::<Bytes>("bytes_per_cell")?;
        if bytes_per_cell.is_some() && section.has("volume") {
            let message = "goes without volume, which follows from it; remove one of both";
            return Err(section.error("bytes_per_cell", message));
        }
        let volume = match bytes_per_cell {
            Some(_) => 0,
            None => {
                let all = u128::from(published.volume) * u128::from(grid.ranks());
                let share = (all / u128::from(published.ranks)) as u64;
                section.or("volume", Bytes { bytes: share })?.bytes
            }
        };
        let published_compute = published_compute(section, published.compute_ps)?;
        let whole = compute(section, &sides)?;
        let all_cells = sides.map(u128::from).iter().product::<u128>();

        let mut levels: Vec<CycleLevel> = (0..depth)
            .map(|level| CycleLevel::new(level, &grid, sides))
            .collect();
        // Every level except the coarsest is visited twice in a cycle.
        let mut units = 0u128;
        for (number, level) in (1..).zip(&levels) {
            let visits = if number == depth { 1 } else { 2 };
            for direction in &directions {
                units += visits * level.pairs(direction) * level.shared(number - 1, direction, sides);
            }
        }
        let units = units * u128::from(iterations);
        // Cells that a rank computes in all visits of a cycle, if it is active on all levels.
        let computed: u128 = (0..depth)
            .map(|level| if level + 1 == depth { 1 } else { 2 } * local_cells(sides, level))
            .sum();
        for (number, level) in (0..).zip(&mut levels) {
            for direction in &directions {
                // At most 2^40 by 2^64.
                let cells = level.shared(number, direction, sides);
                let bytes = match bytes_per_cell {
                    Some(each) => in_range(section, "bytes_per_cell", cells * u128::from(each.bytes))?,
                    None => {
                        let bytes = (cells * u128::from(volume)).checked_div(units).unwrap_or(0);
                        in_range(section, "volume", bytes)?
                    }
                };
                level.exchanges.push((direction, bytes));
            }
            // At most 2^63 by 2^60.
            let local = local_cells(sides, number);
            level.compute_ps = match published_compute {
                Some(ps) => (u128::from(ps) * local / (computed * u128::from(iterations))) as u64,
                None => (u128::from(whole) * local / all_cells) as u64,
            };
        }
        Ok(Cycles {
            grid,
            levels,
            cycles: u64::from(iterations),
            reduce: section.get("reduce")?,
        })
    }
}

/// Cells of a rank on a level.
fn local_cells(sides: [u64; 3], level: u32) -> u128 {
    coarse(sides, level).map(u128::from).iter().product()
}

/// Cells of a rank along each dimension on a level.
fn coarse(sides: [u64; 3], level: u32) -> [u64; 3] {
    sides.map(|side| (side.div_ceil(1u64 << level.min(63))).max(1))
}

/// Number of halvings of a dimension until a rank has one cell.
fn halvings(side: u64) -> u32 {
    side.next_power_of_two().trailing_zeros()
}

/// Number of levels.
fn depth(section: &Section, grid: &RankGrid<3>, sides: [u64; 3], all: bool) -> Result<u32, Error> {
    // With this depth, one rank is left in each dimension after the last level.
    let most = (grid.sides.iter().zip(sides))
        .map(|(ranks, side)| halvings(side) + ranks.next_power_of_two().trailing_zeros())
        .max()
        .unwrap_or(0)
        .max(1);
    // With this depth, all ranks are active, and the shortest side keeps two cells if it had them.
    let whole = sides.into_iter().map(halvings).min().unwrap_or(0).clamp(1, most);
    let depth = section.or("levels", if all { most } else { whole })?;
    let depth = in_count(section, "levels", depth, MAX_COUNT)?;
    if depth > most {
        let message = format!("{depth} levels: after {most} one rank has one cell; expected at most {most}");
        return Err(section.error("levels", message));
    }
    Ok(depth)
}

impl CycleLevel {
    fn new(level: u32, grid: &RankGrid<3>, sides: [u64; 3]) -> CycleLevel {
        // At most 2^23, since levels are limited.
        let strides = sides.map(|side| 1u32 << level.saturating_sub(halvings(side)).min(31));
        let mut coarse = *grid;
        for (side, stride) in coarse.sides.iter_mut().zip(strides) {
            *side = side.div_ceil(stride);
        }
        CycleLevel {
            strides,
            grid: coarse,
            compute_ps: 0,
            exchanges: Vec::new(),
        }
    }

    /// Messages in a direction.
    fn pairs(&self, direction: &HaloDirection) -> u128 {
        let along = self.grid.sides.iter().zip(direction.offset);
        along
            .map(|(side, step)| u128::from(*side) - u128::from(step != 0 && !self.grid.periodic))
            .product()
    }

    /// Cells that a message in a direction stands for.
    fn shared(&self, level: u32, direction: &HaloDirection, sides: [u64; 3]) -> u128 {
        direction
            .cells(coarse(sides, level))
            .map(u128::from)
            .iter()
            .product()
    }

    /// Number of the rank among active ranks; `None` if it is idle.
    fn worker(&self, place: [u32; 3]) -> Option<u32> {
        let mut coarse = place;
        for (coordinate, stride) in coarse.iter_mut().zip(self.strides) {
            if *coordinate % stride != 0 {
                return None;
            }
            *coordinate /= stride;
        }
        Some(self.grid.rank(coarse))
    }
}

impl Skeleton for Cycles {
    fn ranks(&self) -> u32 {
        self.grid.ranks()
    }

    /// One step is one visit of a level.
    fn step(&self, rank: u32, step: u64, script: &mut Script) -> bool {
        let depth = self.levels.len() as u64;
        let visits = 2 * depth - 1;
        let visit = step % visits;
        let level = &self.levels[visit.min(visits - 1 - visit) as usize];
        if let Some(worker) = level.worker(self.grid.place(rank)) {
            script.compute(level.compute_ps);
            for (direction, bytes) in &level.exchanges {
                if let Some(peer) = level.grid.neighbour(worker, direction.offset) {
                    let mut place = level.grid.place(peer);
                    for (coordinate, stride) in place.iter_mut().zip(level.strides) {
                        *coordinate *= stride;
                    }
                    let peer = self.grid.rank(place);
                    script.start_receive(peer, direction.tag, *bytes);
                    script.start_send(peer, direction.tag, *bytes);
                }
            }
            script.wait_all();
        }
        if visit + 1 == visits && self.reduce {
            script.collective(Collective::Allreduce, WORLD, 8);
        }
        step + 1 < self.cycles * visits
    }
}
