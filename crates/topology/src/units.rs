//! Units of a network: groups, parts of tree levels, slices of grids, columns; otherwise single routers. Tables and
//! pictures add up links by the units at their ends, so that networks of any size have few.

use crate::{HostId, Layout, RouterId, Shape, Topology, Tree};

/// What units are parts of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    /// Groups of a dragonfly, 2D dragonfly or Dragonfly+.
    Group,
    /// The routers of one level of a tree in one pod, or parts of its top level.
    Level,
    /// Slices of a grid, torus or HyperX along its last dimension.
    Slice,
    /// Columns of a Slim Fly.
    Column,
    /// Routers without such a structure.
    Router,
}

/// A unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The kind.
    pub kind: UnitKind,
    /// For example `group 3`, or `groups 0 to 7` if several are joined.
    pub name: String,
    /// The router with the smallest number.
    pub first_router: RouterId,
    /// Number of routers.
    pub routers: u32,
}

/// A network divided into units. Each router belongs to one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Units {
    units: Vec<Unit>,
    by_router: Vec<u32>,
}

/// Units of one plane that follow each other and have equal sizes.
struct Stretch {
    kind: UnitKind,
    /// Routers of the stretch.
    routers: u32,
    /// Routers of a unit.
    size: u32,
    /// In front of the names.
    prefix: String,
    /// Name of one unit, and of several.
    names: [&'static str; 2],
}

impl UnitKind {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            UnitKind::Group => "group",
            UnitKind::Level => "level",
            UnitKind::Slice => "slice",
            UnitKind::Column => "column",
            UnitKind::Router => "router",
        }
    }
}

impl Units {
    /// Divides a network into its units. Where there are more than `most`, units that follow each other are joined,
    /// the same power of two of them everywhere, so that the units of a smaller `most` consist of whole units of a
    /// greater one; but a plane, and a level of a tree, has at least one.
    pub fn of(topology: &dyn Topology, most: u32) -> Units {
        let Shape::Planes(planes) = topology.shape() else {
            return Units::join(&stretches(topology), most);
        };
        let count = planes.count();
        let one = Units::join(&stretches(planes.plane()), most / count.max(1));
        let in_plane = one.units.len() as u32;
        // Planes number their routers in turn.
        let numbers = |of: u32| (0..count).map(move |plane| (of, plane));
        let by_router = one.by_router.iter().flat_map(|unit| numbers(*unit));
        let units = (0..count).flat_map(|plane| {
            one.units.iter().map(move |unit| Unit {
                name: format!("plane {plane}, {}", unit.name),
                first_router: RouterId(unit.first_router.0 * count + plane),
                ..unit.clone()
            })
        });
        Units {
            units: units.collect(),
            by_router: by_router.map(|(unit, plane)| plane * in_plane + unit).collect(),
        }
    }

    /// The units, by number.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// Number of the unit of a router.
    pub fn of_router(&self, router: RouterId) -> u32 {
        self.by_router[router.0 as usize]
    }

    fn join(stretches: &[Stretch], most: u32) -> Units {
        let (mut units, mut by_router) = (Vec::new(), Vec::new());
        let most = (most / stretches.len().max(1) as u32).max(1);
        for stretch in stretches {
            let count = stretch.routers.div_ceil(stretch.size);
            let joined = count.div_ceil(most).next_power_of_two();
            for first in (0..count).step_by(joined as usize) {
                let end = (first + joined).min(count);
                let routers = (end * stretch.size).min(stretch.routers) - first * stretch.size;
                let [one, several] = stretch.names;
                let name = match end - first {
                    1 => format!("{}{one} {first}", stretch.prefix),
                    _ => format!("{}{several} {first} to {}", stretch.prefix, end - 1),
                };
                by_router.extend(std::iter::repeat_n(units.len() as u32, routers as usize));
                units.push(Unit {
                    kind: stretch.kind,
                    name,
                    first_router: RouterId(by_router.len() as u32 - routers),
                    routers,
                });
            }
        }
        Units { units, by_router }
    }
}

/// The stretches of a network without planes, in the order of its routers.
fn stretches(topology: &dyn Topology) -> Vec<Stretch> {
    let routers = topology.routers();
    let (kind, size, names) = match topology.layout() {
        Layout::Levels(tree) => return levels(routers, topology.hosts(), tree),
        Layout::Ring { groups, .. } => (UnitKind::Group, groups.routers_per_group(), ["group", "groups"]),
        Layout::Grid(sizes) => {
            let last = sizes.iter().rev().find(|size| **size > 1).copied();
            (UnitKind::Slice, routers / last.unwrap_or(1), ["slice", "slices"])
        }
        Layout::Columns { rows, .. } => (UnitKind::Column, rows, ["column", "columns"]),
        Layout::Circle | Layout::Positions(_) | Layout::Distances => {
            (UnitKind::Router, 1, ["router", "routers"])
        }
    };
    vec![Stretch {
        kind,
        routers,
        size: size.max(1),
        prefix: String::new(),
        names,
    }]
}

/// Routers of one level follow each other, and those of one pod within a level, too.
fn levels(routers: u32, hosts: u32, tree: &dyn Tree) -> Vec<Stretch> {
    let top = tree.levels() - 1;
    let mut counts = vec![0; tree.levels() as usize];
    let mut first_below_top = None;
    for router in (0..routers).map(RouterId) {
        let level = tree.level(router);
        counts[level as usize] += 1;
        if level + 1 == top && first_below_top.is_none() {
            first_below_top = Some(router);
        }
    }
    // A pod has the hosts below a router of the level before the top.
    let below = |router| {
        let hosts = (0..hosts).map(HostId);
        hosts
            .filter(|host| tree.down_port(router, *host).is_some())
            .count() as u32
    };
    let pods = match first_below_top.map(below) {
        Some(below) if below > 0 => hosts.div_ceil(below),
        _ => 1,
    };
    let levels = (0..).zip(counts);
    let stretch = |(level, count): (u32, u32)| {
        let in_pods = level < top && pods > 0 && count % pods == 0;
        let (size, names) = match in_pods {
            true => (count / pods, ["pod", "pods"]),
            false => (1, ["router", "routers"]),
        };
        Stretch {
            kind: UnitKind::Level,
            routers: count,
            size: size.max(1),
            prefix: format!("level {level}, "),
            names,
        }
    };
    levels.filter(|(_, count)| *count > 0).map(stretch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::Section;

    fn units(toml: &str, most: u32) -> Units {
        let section = Section::from_toml(toml, "x.toml").unwrap();
        Units::of(crate::build(&section).unwrap().as_ref(), most)
    }

    fn names(units: &Units) -> Vec<&str> {
        units.units().iter().map(|unit| unit.name.as_str()).collect()
    }

    const DRAGONFLY: &str =
        "kind = \"dragonfly\"\nhosts_per_router = 2\nrouters_per_group = 4\nglobal_links_per_router = 2";

    #[test]
    fn groups_are_joined_evenly() {
        let all = units(DRAGONFLY, u32::MAX);
        assert_eq!(all.units().len(), 9);
        assert_eq!(all.units()[3].name, "group 3");
        assert_eq!(all.units()[3].first_router, RouterId(12));
        let joined = units(DRAGONFLY, 4);
        assert_eq!(names(&joined), ["groups 0 to 3", "groups 4 to 7", "group 8"]);
        assert_eq!(joined.units()[2].routers, 4);
        let halved = units(DRAGONFLY, 8);
        assert_eq!(halved.units().len(), 5);
    }

    #[test]
    fn levels_of_a_tree_are_divided_into_pods() {
        let three = units("kind = \"fat-tree\"\nlevels = 3\nradix = 4", 16);
        let pods = |level: u32| (0..4).map(move |pod| format!("level {level}, pod {pod}"));
        let tops = (0..4).map(|router| format!("level 2, router {router}"));
        let expected: Vec<String> = pods(0).chain(pods(1)).chain(tops).collect();
        assert_eq!(names(&three), expected);
        // With two levels each leaf is a pod.
        let two = units("kind = \"fat-tree\"\nlevels = 2\nradix = 8", 8);
        assert_eq!(two.units()[0].name, "level 0, pods 0 to 1");
        assert_eq!(two.units()[4].name, "level 1, router 0");
        assert_eq!(two.units().len(), 8);
    }

    #[test]
    fn grids_have_slices_and_slim_flies_columns() {
        let torus = units("kind = \"torus\"\nsizes = [4, 3, 5]", 128);
        assert_eq!(torus.units().len(), 5);
        assert_eq!(torus.units()[4].name, "slice 4");
        assert_eq!(torus.units()[4].first_router, RouterId(48));
        let slim_fly = units("kind = \"slim-fly\"\nq = 5", 128);
        assert_eq!(slim_fly.units().len(), 10);
        assert_eq!(slim_fly.units()[9].routers, 5);
        let flat = units("kind = \"hyperx\"\nshape = [6]\nhosts_per_router = 1", 128);
        assert_eq!(flat.units()[5].name, "router 5");
    }

    #[test]
    fn planes_have_units_of_their_own() {
        let section = Section::from_toml(DRAGONFLY, "x.toml").unwrap();
        let plane = crate::build(&section).unwrap();
        let planes = crate::Planes::new(plane.into(), 2).unwrap();
        let units = Units::of(&planes, 128);
        assert_eq!(units.units().len(), 18);
        assert_eq!(units.units()[10].name, "plane 1, group 1");
        assert_eq!(units.units()[10].first_router, RouterId(9));
        assert_eq!(units.of_router(RouterId(9)), 10);
        assert_eq!(units.of_router(RouterId(8)), 1);
    }
}
