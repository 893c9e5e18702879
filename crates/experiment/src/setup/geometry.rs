//! A topology as the patterns of synthetic traffic see it.

use topology::{HostId, Peer, Port, RouterId, Shape, Topology, Tree};
use workload::traffic::{Geometry, GridKind, RouterGrid};

use crate::setup::network::NetworkModel;
use crate::setup::rails::Rails;

/// A topology, or one of its planes. The position of a host is that of its first rail. Regularities of host numbers are
/// computed on request, from all hosts.
pub struct HostGeometry<'a> {
    plane: &'a dyn Topology,
    rails: &'a Rails,
}

impl<'a> HostGeometry<'a> {
    /// The geometry of a network.
    pub fn new(network: &'a NetworkModel) -> HostGeometry<'a> {
        HostGeometry {
            plane: network.plane.topology.as_ref(),
            rails: &network.rails,
        }
    }

    /// The group of a host: in a tree, the subtree below the top level; `None` if the network has no groups.
    pub fn group(&self, host: u32) -> Option<u64> {
        match self.plane.shape() {
            Shape::Groups(groups) => Some(u64::from(groups.group(RouterId(self.router(host))))),
            Shape::Tree(tree) => Some(below_top(self.plane, tree, RouterId(self.router(host)))),
            Shape::Cartesian(_) | Shape::HyperX(_) | Shape::Graph(_) | Shape::Planes(_) => None,
        }
    }

    fn sizes(&self) -> Option<(Vec<u32>, GridKind)> {
        match self.plane.shape() {
            Shape::Cartesian(grid) if grid.wraps() => Some((grid.sizes().to_vec(), GridKind::Torus)),
            Shape::Cartesian(grid) => Some((grid.sizes().to_vec(), GridKind::Mesh)),
            Shape::HyperX(hyperx) => {
                let sizes = (0..hyperx.dimensions()).map(|dimension| hyperx.size(dimension));
                Some((sizes.collect(), GridKind::AllToAll))
            }
            Shape::Groups(_) | Shape::Tree(_) | Shape::Graph(_) | Shape::Planes(_) => None,
        }
    }
}

/// Length of the stretches of consecutive hosts with one owner, if all have the same length and each owner has one.
fn stretch_size(hosts: u32, owner: impl Fn(u32) -> u64) -> Option<u32> {
    let first = owner(0);
    let size = (1..hosts).find(|host| owner(*host) != first).unwrap_or(hosts);
    if !hosts.is_multiple_of(size) {
        return None;
    }
    let (mut owners, mut start) = (Vec::with_capacity((hosts / size) as usize), 0);
    while start < hosts {
        let of = owner(start);
        if (start + 1..start + size).any(|host| owner(host) != of) {
            return None;
        }
        owners.push(of);
        start += size;
    }
    owners.sort_unstable();
    owners.windows(2).all(|pair| pair[0] != pair[1]).then_some(size)
}

/// The subtree below the top level that contains a host: the first router of that level on the first upward path from
/// the host's router.
fn below_top(topology: &dyn Topology, tree: &dyn Tree, mut router: RouterId) -> u64 {
    while tree.level(router) + 2 < tree.levels() {
        let mut up = tree.up_ports(router);
        match up.next().map(|port| topology.peer(router, Port(port))) {
            Some(Peer::Router(above, _)) => router = above,
            _ => break,
        }
    }
    u64::from(router.0)
}

impl Geometry for HostGeometry<'_> {
    fn describe(&self) -> String {
        match self.rails.count() / self.rails.planes() {
            1 => self.plane.describe(),
            ports => format!(
                "{}, {ports} of which are rails of one host",
                self.plane.describe()
            ),
        }
    }

    fn routers(&self) -> u32 {
        self.plane.routers()
    }

    fn router(&self, host: u32) -> u32 {
        let end_point = self.rails.first_in_plane(HostId(host));
        self.plane.attachment(end_point).0.0
    }

    fn first_host(&self, router: u32) -> Option<u32> {
        let router = RouterId(router);
        let hosts =
            (0..self.plane.ports(router)).filter_map(|port| match self.plane.peer(router, Port(port)) {
                Peer::Host(end_point) => self.rails.host_of_first(end_point).map(|host| host.0),
                Peer::Router(..) | Peer::Unwired => None,
            });
        hosts.min()
    }

    fn neighbours(&self, router: u32, each: &mut dyn FnMut(u32)) {
        let router = RouterId(router);
        for port in 0..self.plane.ports(router) {
            if let Peer::Router(end, _) = self.plane.peer(router, Port(port)) {
                each(end.0);
            }
        }
    }

    fn hosts_per_router(&self) -> Option<u32> {
        stretch_size(self.rails.hosts(), |host| u64::from(self.router(host)))
    }

    fn hosts_per_group(&self) -> Option<u32> {
        self.group(0)?;
        stretch_size(self.rails.hosts(), |host| self.group(host).unwrap_or_default())
    }

    fn grid(&self) -> Option<RouterGrid> {
        let (sizes, kind) = self.sizes()?;
        let hosts_per_router = self.hosts_per_router()?;
        let every_router = u64::from(self.routers()) * u64::from(hosts_per_router);
        (every_router == u64::from(self.rails.hosts())).then_some(RouterGrid {
            sizes,
            kind,
            hosts_per_router,
        })
    }

    fn is_graph(&self) -> bool {
        matches!(self.plane.shape(), Shape::Graph(_))
    }
}

#[cfg(test)]
mod tests {
    use config::Section;

    use super::*;

    fn topology(text: &str) -> Box<dyn Topology> {
        topology::build(&Section::from_toml(text, "x.toml").unwrap()).unwrap()
    }

    fn rails(plane: &dyn Topology, keys: &str) -> Result<Rails, config::Error> {
        let section = Section::from_toml(keys, "x.toml").unwrap();
        Rails::read(&section, plane, Rails::read_planes(&section)?)
    }

    /// Every registered topology, with one rail and, where possible, more: hosts agree with the blocks, links have two
    /// ends, coordinates are those of the topology.
    #[test]
    fn blocks_links_and_coordinates_are_those_of_the_topology() {
        let mut built = 0;
        let networks = topology::REGISTRY.iter().flat_map(|kind| {
            let keys = [
                "",
                "rails = 2\nplanes = 2",
                "rails = 4\nplanes = 2",
                "rails = 2\nrail_arrangement = \"spread\"",
            ];
            keys.map(|keys| (kind, keys))
        });
        for (kind, keys) in networks {
            let topology = topology(&format!("kind = \"{}\"\n{}", kind.name, kind.example));
            let Ok(rails) = rails(topology.as_ref(), keys) else {
                assert!(!keys.is_empty(), "{}", kind.name);
                continue;
            };
            built += 1;
            let geometry = HostGeometry {
                plane: topology.as_ref(),
                rails: &rails,
            };
            if let Some(size) = geometry.hosts_per_router() {
                for host in 0..rails.hosts() {
                    let router = geometry.router(host);
                    assert_eq!(
                        geometry.first_host(router),
                        Some(host - host % size),
                        "{}",
                        kind.name
                    );
                }
            }
            for router in 0..geometry.routers() {
                geometry.neighbours(router, &mut |end| {
                    let mut back = 0;
                    geometry.neighbours(end, &mut |other| back += u32::from(other == router));
                    assert!(back > 0, "{}: {router} - {end}", kind.name);
                });
            }
            let (Some(grid), shape) = (geometry.grid(), topology.shape()) else {
                continue;
            };
            let mut stride = 1;
            for (dimension, size) in grid.sizes.iter().enumerate() {
                for router in (0..geometry.routers()).map(RouterId) {
                    let x = router.0 / stride % size;
                    match shape {
                        Shape::Cartesian(cartesian) => assert_eq!(cartesian.coordinate(router, dimension), x),
                        Shape::HyperX(hyperx) if x > 0 => {
                            let from = RouterId(router.0 - x * stride);
                            assert_eq!(hyperx.first_difference(from, router), Some((dimension, x)));
                        }
                        _ => {}
                    }
                }
                stride *= size;
            }
        }
        assert!(built > 3 * topology::REGISTRY.len(), "{built}");
    }

    /// Planes change nothing. With several ports in a plane, there are fewer hosts.
    #[test]
    fn a_host_is_where_its_first_rail_is() {
        let torus = topology("kind = \"torus\"\nsizes = [4, 3]\nhosts_per_router = 4");
        let of = |keys: &str| {
            let rails = rails(torus.as_ref(), keys).unwrap();
            let geometry = HostGeometry {
                plane: torus.as_ref(),
                rails: &rails,
            };
            let routers: Vec<u32> = (0..6).map(|host| geometry.router(host)).collect();
            let firsts: Vec<_> = (0..3).map(|router| geometry.first_host(router)).collect();
            let per_router = geometry.grid().map(|grid| grid.hosts_per_router);
            (routers, firsts, geometry.hosts_per_router(), per_router)
        };
        let one = of("");
        let expected = (
            vec![0, 0, 0, 0, 1, 1],
            vec![Some(0), Some(4), Some(8)],
            Some(4),
            Some(4),
        );
        assert_eq!(one, expected);
        assert_eq!(of("rails = 3\nplanes = 3"), one);
        let adjacent = (
            vec![0, 0, 1, 1, 2, 2],
            vec![Some(0), Some(2), Some(4)],
            Some(2),
            Some(2),
        );
        assert_eq!(of("rails = 4\nplanes = 2"), adjacent);
        let spread = (
            vec![0, 0, 0, 0, 2, 2],
            vec![Some(0), None, Some(4)],
            Some(4),
            None,
        );
        assert_eq!(of("rails = 2\nrail_arrangement = \"spread\""), spread);
        // Hosts 0, 1, 2 begin at end points 0, 3, 6.
        assert_eq!(of("rails = 3").2, None);
    }

    #[test]
    fn groups_and_pods() {
        let dragonfly =
            "kind = \"dragonfly\"\nhosts_per_router = 2\nrouters_per_group = 4\nglobal_links_per_router = 2";
        let numbers = |text: &str| {
            let topology = topology(text);
            let rails = rails(topology.as_ref(), "").unwrap();
            let geometry = HostGeometry {
                plane: topology.as_ref(),
                rails: &rails,
            };
            (geometry.hosts_per_router(), geometry.hosts_per_group())
        };
        assert_eq!(numbers(dragonfly), (Some(2), Some(8)));
        assert_eq!(numbers("kind = \"fat-tree\"\nradix = 4"), (Some(2), Some(4)));
        assert_eq!(
            numbers("kind = \"fat-tree\"\nradix = 4\nlevels = 2"),
            (Some(2), Some(2))
        );
        assert_eq!(numbers("kind = \"torus\"\nsizes = [3, 3]"), (Some(1), None));
    }

    #[test]
    fn stretches_of_different_length_are_none() {
        let owners = |owners: &'static [u64]| stretch_size(owners.len() as u32, |host| owners[host as usize]);
        assert_eq!(owners(&[5, 5, 1, 1]), Some(2));
        assert_eq!(owners(&[5]), Some(1));
        assert_eq!(owners(&[5, 5, 5, 1, 1]), None);
        assert_eq!(owners(&[5, 5, 1, 2]), None);
        assert_eq!(owners(&[5, 5, 1, 1, 5, 5]), None);
    }
}
