//! Positions of routers and hosts in a picture of the network. Each kind of network is drawn by its structure: groups
//! in a ring, grids as grids with unfolded higher dimensions, trees by levels, planes side by side, other graphs by
//! distance.
//!
//! Positions are floats. No simulated result depends on them. A drawing takes time in proportion to the
//! number of routers; that of a graph from a file, to the number of cables.
//!
//! Source of the drawing of graphs: U. Brandes, C. Pich, "Eigensolver methods for progressive multidimensional
//! scaling of large data", GD 2006 (PivotMDS), then T. Fruchterman, E. Reingold, "Graph drawing by force-directed
//! placement", Software: Practice and Experience 21, 1991, for as many steps as a fixed amount of work allows.

use std::collections::VecDeque;
use std::f64::consts::TAU;

use crate::{Groups, Peer, Port, RouterId, Shape, Topology, Tree};

/// The structure that a picture of the network shows.
pub enum Layout<'a> {
    /// Groups in a ring.
    Ring {
        /// The groups.
        groups: &'a dyn Groups,
        /// Routers in each row of a group, the outermost row first. An empty list draws a group as a small ring.
        rows: Vec<u32>,
    },
    /// Levels one above the other.
    Levels(&'a dyn Tree),
    /// A grid of these sizes. Router numbers run along the first dimension first.
    Grid(Vec<u32>),
    /// Blocks side by side, made of columns. Router numbers run along the columns.
    Columns {
        /// Number of blocks.
        blocks: u32,
        /// Columns of a block.
        columns: u32,
        /// Routers of a column.
        rows: u32,
    },
    /// All routers on one ring.
    Circle,
    /// Given positions: x and y (downwards) of each router, in any unit.
    Positions(&'a [[f64; 2]]),
    /// Positions from distances only.
    Distances,
}

/// The default layout of a shape.
pub(crate) fn of_shape(shape: Shape<'_>) -> Layout<'_> {
    match shape {
        Shape::Groups(groups) => {
            let (all, with_hosts) = (groups.routers_per_group(), groups.host_routers_per_group());
            let rows = match all == with_hosts {
                true => Vec::new(),
                false => vec![with_hosts, all - with_hosts],
            };
            Layout::Ring { groups, rows }
        }
        Shape::Tree(tree) => Layout::Levels(tree),
        Shape::Cartesian(grid) => match grid.sizes() {
            [size] if grid.wraps() && *size > 2 => Layout::Circle,
            sizes => Layout::Grid(sizes.to_vec()),
        },
        Shape::HyperX(hyperx) => match hyperx.dimensions() {
            1 => Layout::Circle,
            dimensions => Layout::Grid((0..dimensions).map(|d| hyperx.size(d)).collect()),
        },
        Shape::Graph(_) => Layout::Distances,
        Shape::Planes(planes) => planes.plane().layout(),
    }
}

/// The position of a router.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// The group of the router, if the network has groups. Each plane has groups of its own.
    pub group: Option<u32>,
    /// From left to right, 0 to 1.
    pub x: f32,
    /// Downwards, 0 to 1.
    pub y: f32,
}

/// Positions of all routers, in the unit square.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// By router.
    pub routers: Vec<Spot>,
    /// Radius of the free space around a router.
    clearance: f32,
    /// Whether hosts are drawn in a row below their routers instead of around them.
    hosts_below: bool,
}

/// A drawing before it is scaled and moved into the unit square.
struct Sketch {
    spots: Vec<(Option<u32>, f64, f64)>,
    clearance: f64,
    hosts_below: bool,
}

impl Drawing {
    /// Draws a network.
    pub fn of(topology: &dyn Topology) -> Drawing {
        let Shape::Planes(planes) = topology.shape() else {
            return sketch(topology).fitted();
        };
        let one = sketch(planes.plane());
        beside(&one, planes.count()).fitted()
    }

    /// Position of the `index`-th of the `hosts` hosts of a router.
    pub fn host(&self, router: RouterId, index: u32, hosts: u32) -> (f32, f32) {
        let Spot { x, y, .. } = self.routers[router.0 as usize];
        let share = (f64::from(index) + 0.5) / f64::from(hosts.max(1));
        let (dx, dy) = if self.hosts_below {
            ((share - 0.5) * 0.9, 0.6)
        } else {
            // The angle avoids the directions of the links of grids.
            let angle = TAU * (share + 0.07);
            (0.38 * angle.sin(), -0.38 * angle.cos())
        };
        (x + self.clearance * dx as f32, y + self.clearance * dy as f32)
    }
}

impl Sketch {
    fn new(routers: u32, clearance: f64) -> Sketch {
        Sketch {
            spots: Vec::with_capacity(routers as usize),
            clearance,
            hosts_below: false,
        }
    }

    fn push(&mut self, group: Option<u32>, x: f64, y: f64) {
        self.spots.push((group, x, y));
    }

    /// Least and greatest x and y.
    fn bounds(&self) -> [f64; 4] {
        let mut bounds = [f64::MAX, f64::MIN, f64::MAX, f64::MIN];
        for (_, x, y) in &self.spots {
            bounds = [
                bounds[0].min(*x),
                bounds[1].max(*x),
                bounds[2].min(*y),
                bounds[3].max(*y),
            ];
        }
        bounds
    }

    /// Scales and moves the drawing into the unit square, with space for hosts. Keeps proportions.
    fn fitted(self) -> Drawing {
        let [left, right, top, bottom] = self.bounds();
        let side = (right - left).max(bottom - top) + 2.0 * self.clearance;
        let (x0, y0) = ((left + right - side) / 2.0, (top + bottom - side) / 2.0);
        let routers = self.spots.iter().map(|(group, x, y)| Spot {
            group: *group,
            x: ((x - x0) / side) as f32,
            y: ((y - y0) / side) as f32,
        });
        Drawing {
            routers: routers.collect(),
            clearance: (self.clearance / side) as f32,
            hosts_below: self.hosts_below,
        }
    }
}

fn sketch(topology: &dyn Topology) -> Sketch {
    let routers = topology.routers();
    match topology.layout() {
        Layout::Ring { groups, rows } => ring(routers, groups, &rows),
        Layout::Levels(tree) => levels(routers, tree),
        Layout::Grid(sizes) => grid(routers, &sizes),
        Layout::Columns {
            blocks,
            columns,
            rows,
        } => columns_of(blocks, columns, rows),
        Layout::Circle => circle(routers),
        Layout::Positions(positions) => at(positions),
        Layout::Distances => by_distances(topology),
    }
}

/// Copies of a drawing, with routers numbered as in [`crate::Planes`].
fn beside(one: &Sketch, planes: u32) -> Sketch {
    let [left, right, top, bottom] = one.bounds();
    let (width, height) = (
        right - left + 3.0 * one.clearance,
        bottom - top + 3.0 * one.clearance,
    );
    let in_row = match planes {
        0..=4 => planes,
        _ => f64::from(planes).sqrt().ceil() as u32,
    };
    let groups = one
        .spots
        .iter()
        .filter_map(|spot| spot.0)
        .max()
        .map_or(0, |g| g + 1);
    let mut all = Sketch::new(planes * one.spots.len() as u32, one.clearance);
    all.hosts_below = one.hosts_below;
    for (group, x, y) in &one.spots {
        for plane in 0..planes {
            all.push(
                group.map(|g| g + plane * groups),
                x + f64::from(plane % in_row) * width,
                y + f64::from(plane / in_row) * height,
            );
        }
    }
    all
}

/// Given positions, with about as much space around each router as they would have on a square grid.
fn at(positions: &[[f64; 2]]) -> Sketch {
    let mut drawing = Sketch::new(positions.len() as u32, 0.5);
    for [x, y] in positions {
        drawing.push(None, *x, *y);
    }
    let [left, right, top, bottom] = drawing.bounds();
    let side = (right - left).max(bottom - top);
    if side > 0.0 {
        drawing.clearance = side / (positions.len() as f64).sqrt() / 2.0;
    }
    drawing
}

fn circle(routers: u32) -> Sketch {
    let radius = f64::from(routers) / TAU;
    let mut drawing = Sketch::new(routers, 1.0);
    for router in 0..routers {
        let angle = TAU * f64::from(router) / f64::from(routers);
        drawing.push(None, radius * angle.sin(), -radius * angle.cos());
    }
    drawing
}

/// Groups on a ring of radius 1, the first one at the top, the others clockwise.
fn ring(routers: u32, groups: &dyn Groups, rows: &[u32]) -> Sketch {
    let (count, each) = (f64::from(groups.groups()), groups.routers_per_group());
    // Half of the space of a group on the ring.
    let half = if count > 1.0 {
        (0.8 * (TAU / 2.0 / count).sin()).min(0.45)
    } else {
        0.45
    };
    let widest = rows.iter().copied().max().unwrap_or(0);
    // Leaves and spines are far apart, since cables are between them. Rows of a grid are as far apart as its columns.
    let (along, between) = match rows.len() {
        0 => (0.0, 0.0),
        2 => (2.0 * half / f64::from(widest), half),
        _ => {
            let step = 2.0 * half / f64::from(widest.max(rows.len() as u32));
            (step, step)
        }
    };
    let clearance = match rows {
        [] if each > 1 => half * 2.0 * (TAU / 2.0 / f64::from(each)).sin(),
        [] => half,
        _ => along.min(between),
    };
    let mut drawing = Sketch::new(routers, clearance.min(half));
    for router in 0..routers {
        let group = groups.group(RouterId(router));
        let angle = TAU * f64::from(group) / count;
        // Unit vectors outwards and clockwise along the ring, at the middle of the group.
        let (out, on) = in_group(router % each, each, rows, half, along, between);
        let radius = if count > 1.0 { 1.0 + out } else { out };
        let x = radius * angle.sin() + on * angle.cos();
        let y = -radius * angle.cos() + on * angle.sin();
        drawing.push(Some(group), x, y);
    }
    drawing
}

fn in_group(router: u32, each: u32, rows: &[u32], half: f64, along: f64, between: f64) -> (f64, f64) {
    if rows.is_empty() {
        let angle = TAU * f64::from(router) / f64::from(each);
        return match each {
            1 => (0.0, 0.0),
            _ => (half * angle.cos(), half * angle.sin()),
        };
    }
    let (mut row, mut place) = (0, router);
    while row + 1 < rows.len() && place >= rows[row] {
        place -= rows[row];
        row += 1;
    }
    let out = (f64::from(rows.len() as u32 - 1) / 2.0 - row as f64) * between;
    // A row of spines is as wide as the row of the leaves.
    let widest = rows.iter().copied().max().unwrap_or(1);
    let step = along * f64::from(widest) / f64::from(rows[row].max(1));
    (out, (f64::from(place) - f64::from(rows[row] - 1) / 2.0) * step)
}

/// Level by level, the leaves at the bottom, each level as wide as the leaves.
fn levels(routers: u32, tree: &dyn Tree) -> Sketch {
    let levels = tree.levels() as usize;
    let mut of_level = vec![0u32; levels];
    for router in 0..routers {
        of_level[tree.level(RouterId(router)) as usize] += 1;
    }
    let width = f64::from(of_level.iter().copied().max().unwrap_or(1));
    let height = (width / 2.2 / levels.max(2) as f64).max(1.0);
    let mut drawing = Sketch::new(routers, (width / f64::from(of_level[0])).min(height / 2.0));
    drawing.hosts_below = true;
    let mut placed = vec![0u32; levels];
    for router in 0..routers {
        let level = tree.level(RouterId(router)) as usize;
        let x = (f64::from(placed[level]) + 0.5) / f64::from(of_level[level]) * width;
        placed[level] += 1;
        drawing.push(None, x, -(level as f64) * height);
    }
    drawing
}

/// The first two dimensions run to the right and downwards. Copies along each further dimension form rows, so that
/// the whole is about square.
fn grid(routers: u32, sizes: &[u32]) -> Sketch {
    struct DrawnDimension {
        size: u32,
        in_row: u32,
        step: (f64, f64),
    }
    let (mut width, mut height) = (1.0, 1.0);
    let mut dimensions = Vec::new();
    let mut wide = 0;
    for size in sizes {
        let gap = if wide < 2 { 0.0 } else { 1.0 };
        let in_row = match wide {
            0 => *size,
            1 => 1,
            _ => {
                let square = (f64::from(*size) * (height + gap) / (width + gap)).sqrt();
                // An incomplete last row leaves a gap, so a divisor is preferred.
                let near = (square.round() as u32).clamp(1, *size);
                let divides = |n: &u32| size.is_multiple_of(*n);
                (near..=(2 * near).min(*size)).find(divides).unwrap_or(near)
            }
        };
        wide += u32::from(*size > 1);
        dimensions.push(DrawnDimension {
            size: *size,
            in_row,
            step: (width + gap, height + gap),
        });
        let rows = size.div_ceil(in_row);
        (width, height) = (
            f64::from(in_row) * (width + gap) - gap,
            f64::from(rows) * (height + gap) - gap,
        );
    }
    let mut drawing = Sketch::new(routers, 1.0);
    for router in 0..routers {
        let (mut rest, mut x, mut y) = (router, 0.0, 0.0);
        for dimension in &dimensions {
            let coordinate = rest % dimension.size;
            rest /= dimension.size;
            x += f64::from(coordinate % dimension.in_row) * dimension.step.0;
            y += f64::from(coordinate / dimension.in_row) * dimension.step.1;
        }
        drawing.push(None, x, y);
    }
    drawing
}

fn columns_of(blocks: u32, columns: u32, rows: u32) -> Sketch {
    let mut drawing = Sketch::new(blocks * columns * rows, 1.0);
    let between = f64::from(columns) + (f64::from(columns) / 2.0).max(1.0);
    for block in 0..blocks {
        for column in 0..columns {
            for row in 0..rows {
                let x = f64::from(block) * between + f64::from(column);
                drawing.push(Some(block), x, f64::from(row));
            }
        }
    }
    drawing
}

/// Routers from which distances are measured.
const PIVOTS: usize = 24;
/// Number of pairs of routers that the improvement visits at most: about a tenth of a second.
const WORK: u64 = 20_000_000;
/// Number of improvement steps at most.
const STEPS: u64 = 120;

fn by_distances(topology: &dyn Topology) -> Sketch {
    let routers = topology.routers() as usize;
    let neighbours: Vec<Vec<u32>> = (0..topology.routers()).map(|r| neighbours(topology, r)).collect();
    let mut places = pivot_scaling(&neighbours);
    // One unit is the space of a router if routers fill a square.
    let side = (routers as f64).sqrt();
    scale_to(&mut places, side);
    // Routers with equal distances would coincide, so each is moved slightly in another direction.
    for (index, place) in places.iter_mut().enumerate() {
        let angle = index as f64 * 2.399_963_229_728_653;
        place.0 += 0.3 * angle.sin();
        place.1 += 0.3 * angle.cos();
    }
    let steps = (WORK / (routers as u64 * routers as u64).max(1)).min(STEPS);
    if steps >= 10 {
        spring(&mut places, &neighbours, steps);
        scale_to(&mut places, side);
    }
    let mut drawing = Sketch::new(topology.routers(), 0.5);
    for (x, y) in places {
        drawing.push(None, x, y);
    }
    drawing
}

fn neighbours(topology: &dyn Topology, router: u32) -> Vec<u32> {
    let ports = (0..topology.ports(RouterId(router))).map(Port);
    let mut all: Vec<u32> = ports
        .filter_map(|port| match topology.peer(RouterId(router), port) {
            Peer::Router(far, _) => Some(far.0),
            Peer::Host(_) | Peer::Unwired => None,
        })
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn scale_to(places: &mut [(f64, f64)], side: f64) {
    let most = places
        .iter()
        .fold(0.0f64, |m, (x, y)| m.max(x.abs()).max(y.abs()));
    if most > 0.0 {
        for place in places {
            place.0 *= side / 2.0 / most;
            place.1 *= side / 2.0 / most;
        }
    }
}

/// Distances from one router to all. Unreachable routers are one farther than the farthest reachable one.
fn distances(neighbours: &[Vec<u32>], from: usize) -> Vec<f64> {
    let mut steps = vec![u32::MAX; neighbours.len()];
    let mut open = VecDeque::from([from]);
    steps[from] = 0;
    let mut farthest = 0;
    while let Some(router) = open.pop_front() {
        farthest = steps[router];
        for next in &neighbours[router] {
            let next = *next as usize;
            if steps[next] == u32::MAX {
                steps[next] = steps[router] + 1;
                open.push_back(next);
            }
        }
    }
    let steps = steps.into_iter().map(|s| f64::from(s.min(farthest + 1)));
    steps.collect()
}

/// PivotMDS: the two directions in which squared distances to pivots differ most.
fn pivot_scaling(neighbours: &[Vec<u32>]) -> Vec<(f64, f64)> {
    let routers = neighbours.len();
    let pivots = PIVOTS.min(routers);
    // Each pivot is as far as possible from those before it.
    let (mut columns, mut nearest, mut pivot) = (Vec::with_capacity(pivots), vec![f64::MAX; routers], 0);
    for _ in 0..pivots {
        let column = distances(neighbours, pivot);
        for (nearest, distance) in nearest.iter_mut().zip(&column) {
            *nearest = nearest.min(*distance);
        }
        pivot = (0..routers).fold(0, |best, r| if nearest[r] > nearest[best] { r } else { best });
        columns.push(column.into_iter().map(|d| d * d).collect::<Vec<f64>>());
    }
    // The matrix is centred by rows and columns.
    let row_mean: Vec<f64> = (0..routers)
        .map(|r| columns.iter().map(|c| c[r]).sum::<f64>() / pivots as f64)
        .collect();
    let all_mean = row_mean.iter().sum::<f64>() / routers as f64;
    for column in &mut columns {
        let mean = column.iter().sum::<f64>() / routers as f64;
        for (value, row) in column.iter_mut().zip(&row_mean) {
            *value = -0.5 * (*value - mean - row + all_mean);
        }
    }
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let square: Vec<Vec<f64>> = columns
        .iter()
        .map(|a| columns.iter().map(|b| product(a, b)).collect())
        .collect();
    let first = direction(&square, None);
    let second = direction(&square, Some(&first));
    let along = |direction: &[f64], r: usize| columns.iter().zip(direction).map(|(c, d)| c[r] * d).sum();
    (0..routers)
        .map(|r| (along(&first, r), along(&second, r)))
        .collect()
}

/// The eigenvector of the greatest eigenvalue among those orthogonal to `other`, by power iteration.
fn direction(matrix: &[Vec<f64>], other: Option<&[f64]>) -> Vec<f64> {
    let size = matrix.len();
    // The start vector is not orthogonal to an eigenvector by a symmetry of the network.
    let mut vector: Vec<f64> = (0..size).map(|i| 1.0 + (i as f64 * 0.618).fract()).collect();
    for _ in 0..100 {
        if let Some(other) = other {
            let share: f64 = vector.iter().zip(other).map(|(a, b)| a * b).sum();
            vector.iter_mut().zip(other).for_each(|(v, o)| *v -= share * o);
        }
        let next: Vec<f64> = matrix
            .iter()
            .map(|row| row.iter().zip(&vector).map(|(a, b)| a * b).sum())
            .collect();
        let length = next.iter().map(|v| v * v).sum::<f64>().sqrt();
        if length < 1e-12 {
            return vec![0.0; size];
        }
        vector = next.into_iter().map(|v| v / length).collect();
    }
    vector
}

/// Routers repel each other and cables attract their ends. Each step limits the movement further.
fn spring(places: &mut [(f64, f64)], neighbours: &[Vec<u32>], steps: u64) {
    let routers = places.len();
    for step in 0..steps {
        let reach = 0.1 * (routers as f64).sqrt() * (1.0 - step as f64 / steps as f64) + 0.01;
        let mut forces = vec![(0.0, 0.0); routers];
        for a in 0..routers {
            for b in 0..a {
                let (dx, dy) = (places[a].0 - places[b].0, places[a].1 - places[b].1);
                let square = (dx * dx + dy * dy).max(1e-4);
                let (fx, fy) = (dx / square, dy / square);
                forces[a] = (forces[a].0 + fx, forces[a].1 + fy);
                forces[b] = (forces[b].0 - fx, forces[b].1 - fy);
            }
            for b in &neighbours[a] {
                let (dx, dy) = (
                    places[*b as usize].0 - places[a].0,
                    places[*b as usize].1 - places[a].1,
                );
                let length = (dx * dx + dy * dy).sqrt();
                forces[a] = (forces[a].0 + dx * length, forces[a].1 + dy * length);
            }
        }
        for (place, (fx, fy)) in places.iter_mut().zip(forces) {
            let length = (fx * fx + fy * fy).sqrt().max(1e-9);
            let moved = length.min(reach);
            place.0 += fx / length * moved;
            place.1 += fy / length * moved;
        }
    }
}
