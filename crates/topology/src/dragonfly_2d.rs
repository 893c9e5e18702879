//! Dragonfly whose groups are grids: all-to-all in every row and in every column of a group.
//!
//! Source: B. Alverson, E. Froese, L. Kaplan, D. Roweth, "Cray XC series network", Cray Inc. white paper
//! WP-Aries01-1112, 2012: a group has 6 chassis (`rows`) of 16 routers (`columns`), one link between two routers of
//! a chassis, three between routers at the same place of two chassis, and 4 hosts on a router; 96 routers and 384
//! hosts in a group.
//!
//! Router number in its group: row * columns + column. Ports of a router: its hosts; the other routers of its row
//! in their order, cable by cable; those of its column, cable by cable; the global ports (see `arrangement.rs`).
//!
//! Inside a group, paths follow the row first, then the column. Row links wait for column links only, and column
//! links for no local link.

use config::{Error, Section, Type, parameters};

use crate::arrangement::{ARRANGEMENT, GROUPS, GlobalLinks, GroupMember, LINKS_BETWEEN_GROUPS, SEED};
use crate::dragonfly::NAMES;
use crate::grouped::Grouped;
use crate::host_ports::HostPorts;
use crate::size::{count, counted, ports, positive};
use crate::sizing::{ChosenParameters, groups_for, one, smallest};
use crate::{
    Divisor, HOST_LINK, HostId, Kind, Layout, LinkClass, Peer, Port, RouterId, Shape, SizingRule, Topology,
    search,
};

pub(crate) const KIND: Kind = Kind {
    name: "dragonfly-2d",
    summary: "dragonfly whose groups are grids, all-to-all in every row and column (Cray XC)",
    parameters: parameters! {
        integer("hosts_per_router", 4, "hosts on every router");
        integer("rows", 6, "rows of routers in every group");
        integer("columns", 16, "columns of routers in every group: how many a row has");
        integer("row_links", 1, "parallel links between two routers of a row");
        integer("column_links", 3, "parallel links between two routers of a column");
        computed("global_links_per_router", Type::Integer, "required, or links_between_groups, or network.hosts",
            "links of every router to other groups");
        LINKS_BETWEEN_GROUPS;
        GROUPS;
        ARRANGEMENT;
        SEED;
    },
    example: "hosts_per_router = 1\nrows = 2\ncolumns = 3\ncolumn_links = 2\nglobal_links_per_router = 1\n\
              groups = 5\n",
    build: |section| Ok(Box::new(Dragonfly2d::read(section)?)),
    sizing: Some(SizingRule {
        summary: "a group has 2 to 6 rows of 8/3 as many columns, as Cray XC (Alverson et al. 2012), unless they are \
                  given, a router has as many links to other groups as hosts, or more, up to 2.5 for each host, and \
                  there are two groups or more",
        determines: &["global_links_per_router", "links_between_groups", "groups"],
        choose: sized,
    }),
};

/// The smallest network of groups that are like those of Cray XC, or smaller ones of the same shape. A router of it has
/// 4 hosts and 10 links to other groups. Fewer than one for each host would lack bandwidth.
fn sized(section: &Section, hosts: u64, radix: u32) -> Result<Option<ChosenParameters>, Error> {
    let p = u64::from(positive(section, "hosts_per_router")?);
    let row_links = u64::from(positive(section, "row_links")?);
    let column_links = u64::from(positive(section, "column_links")?);
    let given = |key: &str| match section.has(key) {
        true => positive(section, key).map(|number| Some(u64::from(number))),
        false => Ok(None),
    };
    let (rows, columns) = (given("rows")?, given("columns")?);
    let shapes = (2..=6u64).map(|number| {
        (
            rows.unwrap_or(number),
            columns.unwrap_or((8 * number).div_ceil(3)),
        )
    });
    let candidates = shapes.filter_map(|(rows, columns)| {
        let local = (columns - 1) * row_links + (rows - 1) * column_links;
        let global = u64::from(radix).checked_sub(p + local)?.min((5 * p).div_ceil(2));
        let routers = rows * columns;
        let groups = groups_for(hosts, p * routers);
        let chosen = [
            ("hosts_per_router", p),
            ("rows", rows),
            ("columns", columns),
            ("global_links_per_router", global),
            ("groups", groups),
        ];
        let fits = global >= p && groups <= routers * global + 1;
        fits.then_some((groups * routers, groups * routers * p, chosen))
    });
    Ok(smallest(candidates).map(|chosen| chosen.map(|(key, number)| (key, one(number))).to_vec()))
}

const ROW_LINK: LinkClass = LinkClass(1);
const COLUMN_LINK: LinkClass = LinkClass(2);
const GLOBAL_LINK: LinkClass = LinkClass(3);

/// A dragonfly whose groups are grids. Public so that routing can be compiled for it.
#[derive(Clone, Debug)]
pub struct Dragonfly2d {
    hosts: u32,
    routers: u32,
    host_ports: HostPorts,
    routers_per_group: Divisor,
    rows: GridAxis,
    columns: GridAxis,
    local_paths: u16,
    global: GlobalLinks,
    first_global_port: u16,
    ports: u16,
}

/// The links of a router to the other routers of its row or column.
#[derive(Clone, Copy, Debug)]
struct GridAxis {
    /// Number of routers of a row or column.
    size: Divisor,
    /// Number of other routers, size - 1, but at least 1.
    others: Divisor,
    /// Parallel links between two routers.
    cables: Divisor,
    first_port: u32,
}

impl GridAxis {
    fn new(size: u32, cables: u32, first_port: u32) -> GridAxis {
        GridAxis {
            size: Divisor::new(size),
            others: Divisor::new((size - 1).max(1)),
            cables: Divisor::new(cables),
            first_port,
        }
    }

    /// The port at position `here` that leads to position `there`.
    #[inline]
    fn port(self, here: u32, there: u32, cable: u32) -> Port {
        let index = if there < here { there } else { there - 1 };
        Port((self.first_port + cable * self.others.get() + index) as u16)
    }

    /// The position to which a port at position `here` leads, and its cable.
    fn lead(self, here: u32, port: Port) -> (u32, u32) {
        let (cable, index) = self.others.divide(u32::from(port.0) - self.first_port);
        (if index < here { index } else { index + 1 }, cable)
    }
}

impl Dragonfly2d {
    fn read(section: &Section) -> Result<Dragonfly2d, Error> {
        let host_ports = HostPorts::read(section, "hosts_per_router")?;
        let p = host_ports.count();
        let rows = positive(section, "rows")?;
        let columns = positive(section, "columns")?;
        let row_links = positive(section, "row_links")?;
        let column_links = positive(section, "column_links")?;
        let routers_per_group = count(section, "rows", "routers of a group", &[rows, columns])?;
        let local_paths = count(section, "column_links", "paths", &[row_links, column_links])?;
        let local_paths = u16::try_from(local_paths).map_err(|_| {
            let text = format!(
                "{row_links} x {column_links} paths inside a group are too many; expected at most {}",
                u16::MAX
            );
            section.error("column_links", text)
        })?;
        let global = GlobalLinks::read(section, routers_per_group, &NAMES)?;
        let (groups, h) = (global.groups(), global.ports_of_router());
        let row_ports = count(section, "columns", "links", &[columns - 1, row_links])?;
        let column_ports = count(section, "rows", "links", &[rows - 1, column_links])?;
        let ports = ports(section, "columns", &[p, row_ports, column_ports, h])?;
        Ok(Dragonfly2d {
            routers: count(section, "groups", "routers", &[groups, routers_per_group])?,
            hosts: count(section, "groups", "hosts", &[groups, routers_per_group, p])?,
            host_ports,
            routers_per_group: Divisor::new(routers_per_group),
            // The length of a row is the number of columns.
            rows: GridAxis::new(columns, row_links, p),
            columns: GridAxis::new(rows, column_links, p + row_ports),
            local_paths,
            global,
            first_global_port: ports - h as u16,
            ports,
        })
    }

    /// Row and column of a router, from its number in the group.
    #[inline]
    fn spot(&self, router: u32) -> (u32, u32) {
        self.rows.size.divide(router)
    }

    /// Number of local links between two routers of one group. `to` is a number in the group.
    #[inline]
    fn local_distance(&self, from: (u32, u32), to: u32) -> u8 {
        let to = self.spot(to);
        u8::from(from.0 != to.0) + u8::from(from.1 != to.1)
    }
}

impl Topology for Dragonfly2d {
    fn hosts(&self) -> u32 {
        self.hosts
    }

    fn routers(&self) -> u32 {
        self.routers
    }

    fn ports(&self, _: RouterId) -> u16 {
        self.ports
    }

    fn peer(&self, router: RouterId, port: Port) -> Peer {
        if let Some(host) = self.host_ports.peer(router.0, port) {
            return host;
        }
        let at = self.member(router);
        if port.0 >= self.first_global_port {
            let k = u32::from(port.0 - self.first_global_port);
            return self.global_peer(at, k);
        }
        let (row, column) = self.spot(at.router);
        let first = router.0 - at.router;
        if u32::from(port.0) < self.columns.first_port {
            let (there, cable) = self.rows.lead(column, port);
            let other = RouterId(first + row * self.rows.size.get() + there);
            return Peer::Router(other, self.rows.port(there, column, cable));
        }
        let (there, cable) = self.columns.lead(row, port);
        let other = RouterId(first + there * self.rows.size.get() + column);
        Peer::Router(other, self.columns.port(there, row, cable))
    }

    #[inline]
    fn attachment(&self, host: HostId) -> (RouterId, Port) {
        self.host_ports.attachment(host)
    }

    /// Several global links can be shorter than one with its local links, so this distance can be less than that of
    /// minimal routing. A search finds it in those cases.
    fn distance(&self, from: RouterId, to: RouterId) -> u32 {
        let (here, there) = (self.member(from), self.member(to));
        if here.group == there.group {
            return u32::from(self.local_distance(self.spot(here.router), there.router));
        }
        let direct = self.nearest(here, there, 0).1 + 1;
        // A path with one link is a direct one.
        search::distance(self, from, to, 2, direct)
    }

    fn link_classes(&self) -> Vec<&str> {
        vec!["host", "row", "column", "global"]
    }

    fn link_class(&self, _: RouterId, port: Port) -> LinkClass {
        if self.host_ports.has(port) {
            HOST_LINK
        } else if u32::from(port.0) < self.columns.first_port {
            ROW_LINK
        } else if port.0 < self.first_global_port {
            COLUMN_LINK
        } else {
            GLOBAL_LINK
        }
    }

    fn coordinates(&self, router: RouterId) -> String {
        let at = self.member(router);
        let (row, column) = self.spot(at.router);
        format!("group {}, row {row}, column {column}", at.group)
    }

    fn describe(&self) -> String {
        let (in_row, in_column) = (self.rows.cables.get(), self.columns.cables.get());
        let mut text = format!(
            "dragonfly of {} of {} x {} routers with {} each",
            counted(self.global.groups(), "group"),
            self.rows.size.get(),
            self.columns.size.get(),
            counted(self.host_ports.count(), "host"),
        );
        if in_row > 1 || in_column > 1 {
            text += &format!(", {in_row} and {in_column} parallel links in rows and columns");
        }
        text + &self.global.describe()
    }

    fn shape(&self) -> Shape<'_> {
        Shape::Groups(self)
    }

    /// A group is drawn as a grid.
    fn layout(&self) -> Layout<'_> {
        Layout::Ring {
            groups: self,
            rows: vec![self.rows.size.get(); self.columns.size.get() as usize],
        }
    }

    fn router_links(&self) -> u64 {
        let local = u32::from(self.first_global_port) - self.host_ports.count();
        u64::from(self.routers) * u64::from(local)
            + u64::from(self.global.groups()) * u64::from(self.global.wired())
    }
}

impl Grouped for Dragonfly2d {
    #[inline]
    fn global(&self) -> &GlobalLinks {
        &self.global
    }

    #[inline]
    fn group_size(&self) -> Divisor {
        self.routers_per_group
    }

    #[inline]
    fn first_global_port(&self) -> u16 {
        self.first_global_port
    }

    #[inline]
    fn nearest(&self, from: GroupMember, to: GroupMember, draw: u32) -> (u32, u32) {
        let (near, far) = (self.spot(from.router), self.spot(to.router));
        self.global.nearest_by(from.group, to.group, draw, |here, there| {
            self.local_distance(near, here) + self.local_distance(far, there)
        })
    }

    fn group_diameter(&self) -> u32 {
        let wide = |line: GridAxis| u32::from(line.size.get() > 1);
        (wide(self.rows) + wide(self.columns)).max(1)
    }

    #[inline]
    fn group_paths(&self) -> u16 {
        self.local_paths
    }

    #[inline]
    fn group_port(&self, from: RouterId, to: RouterId, path: u16) -> Port {
        let from = self.spot(self.routers_per_group.remainder(from.0));
        let to = self.spot(self.routers_per_group.remainder(to.0));
        let (column_cable, row_cable) = self.rows.cables.divide(u32::from(path));
        if from.1 != to.1 {
            self.rows.port(from.1, to.1, row_cable)
        } else {
            self.columns.port(from.0, to.0, column_cable)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Groups;

    fn built(parameters: &str) -> Dragonfly2d {
        let section = Section::from_toml(parameters, "x.toml").unwrap();
        Dragonfly2d::read(section.declare(KIND.parameters)).unwrap()
    }

    /// The group of the white paper has 96 routers and 384 hosts, 15 links in the row and 15 in the column.
    #[test]
    fn a_group_is_that_of_the_cray_xc() {
        let network = built("global_links_per_router = 10\ngroups = 3");
        assert_eq!(network.routers_per_group(), 96);
        assert_eq!(network.hosts(), 3 * 384);
        assert_eq!(network.ports, 4 + 15 + 15 + 10);
        assert_eq!(network.links_between(0, 2), 480);
        assert_eq!(
            network.describe(),
            "dragonfly of 3 groups of 16 x 6 routers with 4 hosts each, 1 and 3 parallel links in rows and \
             columns, 480 links between any two groups"
        );
    }

    #[test]
    fn paths_go_along_the_row_first() {
        let network = built("rows = 3\ncolumns = 4\nhosts_per_router = 2\nglobal_links_per_router = 1");
        // The path leads from row 0, column 1 to row 2, column 3.
        let (from, to) = (RouterId(1), RouterId(11));
        let port = network.local_port(from, to, 2);
        let Peer::Router(next, _) = network.peer(from, port) else {
            panic!("not a link between routers")
        };
        assert_eq!(next, RouterId(3));
        // Each of two routers of the column has three links; this is the third link to row 2.
        assert_eq!(network.local_port(next, to, 2), Port(2 + 3 + 2 * 2 + 1));
    }
}
