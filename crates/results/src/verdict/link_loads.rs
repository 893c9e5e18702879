//! Loads of the links over the measured time, by class, in one pass over the table `links`.

use std::collections::HashMap;

use super::thresholds::{BLOCKED, FULL};
use crate::{BatchColumns, Table};

/// Number of steps of the distribution of loads.
const STEPS: usize = 1000;

/// Class of the links from hosts.
pub(super) const INJECTION: &str = "injection";
/// Class of the links to hosts.
pub(super) const EJECTION: &str = "ejection";

/// The loads of all links of a run.
pub(super) struct LinkLoads<'a> {
    measured_ps: u64,
    classes: Vec<LinkClassLoads>,
    /// Class of each row, an index into `classes`.
    class_of: Vec<u16>,
    busy_ps: &'a [u64],
    buffer_full_ps: &'a [u64],
    from: &'a [u32],
    to: &'a [u32],
    numbers: &'a [u32],
    bandwidth: &'a [u64],
    table: &'a Table,
}

/// The loads of the links of one class. Loads are shares of the measured time.
pub(super) struct LinkClassLoads {
    /// Name of the class.
    pub name: String,
    /// Links.
    pub links: u64,
    /// Full links.
    pub full: u64,
    /// Blocked links.
    pub blocked: u64,
    /// Greatest load.
    pub max: f64,
    measured_ps: u64,
    busy_sum_ps: u128,
    steps: Vec<LoadStep>,
}

/// The links of a class with about one load.
#[derive(Clone, Copy, Default)]
struct LoadStep {
    links: u64,
    sum_ps: u128,
    max_ps: u64,
}

/// Full links to hosts, and the links that wait for them.
pub(super) struct HeldUp {
    /// Blocked links from whose end a chain of blocked links leads to the router of an overloaded host.
    pub links: u64,
    /// How many of them begin at hosts.
    pub hosts: u64,
    /// Full links between routers that do not end at a router of such a chain.
    pub full_elsewhere: u64,
}

/// Pairs of groups with one number of cables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CabledPairs {
    /// Cables of each pair.
    pub cables: u64,
    /// Number of pairs.
    pub pairs: u64,
    /// Mean load of these cables.
    pub load: f64,
}

impl LinkClassLoads {
    fn new(name: &str, measured_ps: u64) -> LinkClassLoads {
        LinkClassLoads {
            name: name.into(),
            links: 0,
            full: 0,
            blocked: 0,
            max: 0.0,
            measured_ps,
            busy_sum_ps: 0,
            steps: vec![LoadStep::default(); STEPS + 1],
        }
    }

    fn add(&mut self, busy_ps: u64, buffer_full_ps: u64) {
        let load = busy_ps as f64 / self.measured_ps as f64;
        self.links += 1;
        self.full += u64::from(load >= FULL);
        self.blocked += u64::from(buffer_full_ps as f64 >= BLOCKED * self.measured_ps as f64);
        self.max = self.max.max(load);
        self.busy_sum_ps += u128::from(busy_ps);
        let step = &mut self.steps[((load * STEPS as f64) as usize).min(STEPS)];
        step.links += 1;
        step.sum_ps += u128::from(busy_ps);
        step.max_ps = step.max_ps.max(busy_ps);
    }

    fn share(&self, ps: f64) -> f64 {
        ps / self.measured_ps as f64
    }

    /// Mean load.
    pub fn mean(&self) -> f64 {
        self.share(self.busy_sum_ps as f64 / self.links.max(1) as f64)
    }

    /// Share of full links.
    pub fn full_share(&self) -> f64 {
        self.full as f64 / self.links.max(1) as f64
    }

    /// A load that half of the links do not exceed, at most a thousandth above the least such load.
    pub fn median(&self) -> f64 {
        let mut left = self.links.div_ceil(2);
        for step in &self.steps {
            if step.links >= left {
                return self.share(step.max_ps as f64);
            }
            left -= step.links;
        }
        0.0
    }

    /// Mean load of the busiest hundredth of the links, at least one. Of a step that is divided, its mean counts.
    pub fn busiest_hundredth(&self) -> f64 {
        let count = self.links.div_ceil(100);
        let (mut left, mut sum_ps) = (count, 0.0);
        for step in self.steps.iter().rev().filter(|step| step.links > 0) {
            let taken = step.links.min(left);
            sum_ps += step.sum_ps as f64 * (taken as f64 / step.links as f64);
            left -= taken;
            if left == 0 {
                break;
            }
        }
        self.share(sum_ps / count.max(1) as f64)
    }
}

impl<'a> LinkLoads<'a> {
    /// `None` if the table lacks a column, as in results of older versions, or if nothing was measured.
    pub fn of(table: &'a Table, measured_ns: f64) -> Option<LinkLoads<'a>> {
        let measured_ps = (measured_ns * 1000.0).round() as u64;
        if measured_ps == 0 || table.rows() == 0 {
            return None;
        }
        let columns = BatchColumns::new(table.batch());
        let names = columns.texts("class").ok()?;
        let (busy_ps, buffer_full_ps) = (table.u64s("busy_ps")?, table.u64s("buffer_full_ps")?);
        let mut classes: Vec<LinkClassLoads> = Vec::new();
        let mut class_of = Vec::with_capacity(table.rows());
        let mut last = 0;
        for row in 0..table.rows() {
            let name = names.or_empty(row);
            if classes.get(last).is_none_or(|class| class.name != name) {
                last = match classes.iter().position(|class| class.name == name) {
                    Some(known) => known,
                    None => {
                        classes.push(LinkClassLoads::new(name, measured_ps));
                        classes.len() - 1
                    }
                };
            }
            classes[last].add(busy_ps[row], buffer_full_ps[row]);
            class_of.push(u16::try_from(last).ok()?);
        }
        Some(LinkLoads {
            measured_ps,
            classes,
            class_of,
            busy_ps,
            buffer_full_ps,
            from: table.u32s("from_id")?,
            to: table.u32s("to_id")?,
            numbers: table.u32s("link")?,
            bandwidth: table.u64s("bandwidth_bits_per_s")?,
            table,
        })
    }

    /// A class by its name.
    pub fn class(&self, name: &str) -> Option<&LinkClassLoads> {
        self.classes.iter().find(|class| class.name == name)
    }

    /// All classes except injection links, in the order of the table.
    pub fn others(&self) -> impl Iterator<Item = &LinkClassLoads> {
        self.classes.iter().filter(|class| class.name != INJECTION)
    }

    /// The class, without injection links, with the greatest share of full links; if none is full, with the greatest
    /// mean load.
    pub fn worst(&self) -> Option<&LinkClassLoads> {
        let key = |class: &&LinkClassLoads| (class.full_share(), class.mean());
        self.others().reduce(|worst, class| {
            let (a, b) = (key(&worst), key(&class));
            if b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)).is_gt() {
                class
            } else {
                worst
            }
        })
    }

    /// The greatest load of any link, injection links included.
    pub fn max(&self) -> f64 {
        self.classes.iter().map(|class| class.max).fold(0.0, f64::max)
    }

    /// Greatest bandwidth of the links of a class, in bits per second.
    pub fn bandwidth(&self, class: &str) -> Option<u64> {
        self.rows(class).map(|row| self.bandwidth[row]).max()
    }

    /// Whether a link begins at a router, and whether it ends at one.
    fn at_router(&self, row: usize) -> (bool, bool) {
        let class = &self.classes[usize::from(self.class_of[row])].name;
        (class != INJECTION, class != EJECTION)
    }

    fn rows(&self, class: &str) -> impl Iterator<Item = usize> + '_ {
        let index = self.classes.iter().position(|known| known.name == class);
        (0..self.class_of.len()).filter(move |row| index == Some(usize::from(self.class_of[*row])))
    }

    /// The busiest links of a class, at most `count`: number, begin, end and load. Ties go to the smaller number.
    pub fn busiest(&self, class: &str, count: usize) -> Vec<(u32, String, f64)> {
        let mut top: Vec<usize> = Vec::new();
        for row in self.rows(class) {
            let place = top.partition_point(|above| self.busy_ps[*above] >= self.busy_ps[row]);
            if place < count {
                top.insert(place, row);
                top.truncate(count);
            }
        }
        let columns = BatchColumns::new(self.table.batch());
        let (from, to) = (columns.texts("from").ok(), columns.texts("to").ok());
        let text = |row: usize| match (&from, &to) {
            (Some(from), Some(to)) => format!("{} to {}", from.or_empty(row), to.or_empty(row)),
            _ => format!("link {}", self.numbers[row]),
        };
        top.iter()
            .map(|row| {
                let load = self.busy_ps[*row] as f64 / self.measured_ps as f64;
                (self.numbers[*row], text(*row), load)
            })
            .collect()
    }

    /// Follows blocked links backwards from the routers of full ejection links.
    pub fn held_up(&self) -> HeldUp {
        let limit = BLOCKED * self.measured_ps as f64;
        let full = |row: usize| self.busy_ps[row] as f64 >= FULL * self.measured_ps as f64;
        let mut into: HashMap<u32, Vec<usize>> = HashMap::new();
        for row in 0..self.class_of.len() {
            if self.at_router(row).1 && self.buffer_full_ps[row] as f64 >= limit {
                into.entry(self.to[row]).or_default().push(row);
            }
        }
        let mut held = HeldUp {
            links: 0,
            hosts: 0,
            full_elsewhere: 0,
        };
        let mut reached: std::collections::HashSet<u32> = self
            .rows(EJECTION)
            .filter(|row| full(*row))
            .map(|row| self.from[row])
            .collect();
        let mut open: Vec<u32> = reached.iter().copied().collect();
        while let Some(router) = open.pop() {
            for row in into.get(&router).into_iter().flatten() {
                held.links += 1;
                if !self.at_router(*row).0 {
                    held.hosts += 1;
                } else if reached.insert(self.from[*row]) {
                    open.push(self.from[*row]);
                }
            }
        }
        let between = (0..self.class_of.len()).filter(|row| self.at_router(*row) == (true, true));
        held.full_elsewhere = between
            .filter(|row| full(*row) && !reached.contains(&self.to[*row]))
            .count() as u64;
        held
    }

    /// The pairs of groups that links of this class connect, by their number of cables, the fewest first.
    /// `group_of` has the group of each router. Empty if no such link connects two groups.
    pub fn pairs(&self, class: &str, group_of: &[Option<u64>]) -> Vec<CabledPairs> {
        let group = |router: u32| group_of.get(router as usize).copied().flatten();
        let mut pairs: HashMap<(u64, u64), (u64, u128)> = HashMap::new();
        for row in self
            .rows(class)
            .filter(|row| self.at_router(*row) == (true, true))
        {
            if let (Some(a), Some(b)) = (group(self.from[row]), group(self.to[row]))
                && a != b
            {
                let pair = pairs.entry((a.min(b), a.max(b))).or_default();
                *pair = (pair.0 + 1, pair.1 + u128::from(self.busy_ps[row]));
            }
        }
        // Sums of integers do not depend on the order of the map.
        let mut by_cables: std::collections::BTreeMap<u64, (u64, u128)> = std::collections::BTreeMap::new();
        for (links, busy_ps) in pairs.into_values() {
            let sum = by_cables.entry(links / 2).or_default();
            *sum = (sum.0 + 1, sum.1 + busy_ps);
        }
        let of = |(cables, (pairs, busy_ps)): (u64, (u64, u128))| CabledPairs {
            cables,
            pairs,
            load: busy_ps as f64 / (2 * cables * pairs).max(1) as f64 / self.measured_ps as f64,
        };
        by_cables.into_iter().map(of).collect()
    }
}
