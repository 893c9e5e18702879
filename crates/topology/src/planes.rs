//! Planes: disjoint copies of one network, side by side. Hosts with a port in each plane connect them; the planes do
//! not know these hosts.
//!
//! Corresponding parts of all planes have consecutive numbers: router `r` of plane `k` is router `r * planes + k`,
//! and likewise for end points. Such routers share hosts. So close numbers mean neighbours, and a cut between two
//! numbers cuts all planes at the same position.

use std::sync::Arc;

use crate::{Divisor, HostId, LinkClass, LinkSpeed, Peer, Port, RouterId, Shape, Topology};

/// Disjoint copies of a network.
pub struct Planes {
    plane: Arc<dyn Topology>,
    count: Divisor,
}

impl Planes {
    /// Builds this many copies.
    ///
    /// # Errors
    /// No copy, or more routers or end points than 32 bits can number.
    pub fn new(plane: Arc<dyn Topology>, count: u32) -> Result<Planes, String> {
        if count == 0 {
            return Err("0 is not possible; expected at least 1".into());
        }
        for (what, each) in [("routers", plane.routers()), ("end points", plane.hosts())] {
            if each.checked_mul(count).is_none() {
                return Err(format!(
                    "{count} planes of {each} {what} are too many; expected at most {} {what} together",
                    u32::MAX
                ));
            }
        }
        Ok(Planes {
            plane,
            count: Divisor::new(count),
        })
    }

    /// Number of planes.
    pub fn count(&self) -> u32 {
        self.count.get()
    }

    /// The network of one plane.
    pub fn plane(&self) -> &dyn Topology {
        &*self.plane
    }

    /// A router's number in its plane, and its plane.
    fn router(&self, router: RouterId) -> (RouterId, u32) {
        let (router, plane) = self.count.divide(router.0);
        (RouterId(router), plane)
    }

    /// A router's number among those of all planes.
    fn number(&self, in_plane: u32, plane: u32) -> u32 {
        in_plane * self.count() + plane
    }
}

impl Topology for Planes {
    fn hosts(&self) -> u32 {
        self.plane.hosts() * self.count()
    }

    fn routers(&self) -> u32 {
        self.plane.routers() * self.count()
    }

    fn ports(&self, router: RouterId) -> u16 {
        self.plane.ports(self.router(router).0)
    }

    fn peer(&self, router: RouterId, port: Port) -> Peer {
        let (router, plane) = self.router(router);
        match self.plane.peer(router, port) {
            Peer::Router(far, port) => Peer::Router(RouterId(self.number(far.0, plane)), port),
            Peer::Host(host) => Peer::Host(HostId(self.number(host.0, plane))),
            Peer::Unwired => Peer::Unwired,
        }
    }

    fn attachment(&self, host: HostId) -> (RouterId, Port) {
        let (host, plane) = self.count.divide(host.0);
        let (router, port) = self.plane.attachment(HostId(host));
        (RouterId(self.number(router.0, plane)), port)
    }

    fn distance(&self, from: RouterId, to: RouterId) -> u32 {
        let ((from, of), (to, other)) = (self.router(from), self.router(to));
        if of != other {
            return u32::MAX;
        }
        self.plane.distance(from, to)
    }

    fn link_classes(&self) -> Vec<&str> {
        self.plane.link_classes()
    }

    fn link_speed(&self, class: LinkClass) -> LinkSpeed {
        self.plane.link_speed(class)
    }

    fn link_class(&self, router: RouterId, port: Port) -> LinkClass {
        self.plane.link_class(self.router(router).0, port)
    }

    fn coordinates(&self, router: RouterId) -> String {
        let (router, plane) = self.router(router);
        format!("plane {plane}, {}", self.plane.coordinates(router))
    }

    fn describe(&self) -> String {
        match self.count() {
            1 => self.plane.describe(),
            planes => format!("{planes} planes, each a {}", self.plane.describe()),
        }
    }

    fn shape(&self) -> Shape<'_> {
        Shape::Planes(self)
    }

    fn router_links(&self) -> u64 {
        self.plane.router_links() * u64::from(self.count())
    }

    fn is_symmetric(&self) -> bool {
        self.plane.is_symmetric()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::Section;
    use std::collections::HashSet;

    fn plane(toml: &str) -> Arc<dyn Topology> {
        let section = Section::from_toml(toml, "x.toml").unwrap();
        crate::build(&section).unwrap().into()
    }

    const PLANE: &str = "kind = \"dragonfly\"\nhosts_per_router = 2\nrouters_per_group = 3\nglobal_links_per_router = 2\ngroups = 4";

    /// Routers that can be reached over cables.
    fn reached(topology: &dyn Topology, from: RouterId) -> HashSet<u32> {
        let (mut seen, mut open) = (HashSet::from([from.0]), vec![from]);
        while let Some(router) = open.pop() {
            for port in (0..topology.ports(router)).map(Port) {
                if let Peer::Router(far, back) = topology.peer(router, port) {
                    assert_eq!(topology.peer(far, back), Peer::Router(router, port));
                    if seen.insert(far.0) {
                        open.push(far);
                    }
                }
            }
        }
        seen
    }

    #[test]
    fn planes_are_copies_without_a_cable_between_them() {
        let one = plane(PLANE);
        let three = Planes::new(one.clone(), 3).unwrap();
        assert_eq!(three.routers(), 3 * one.routers());
        assert_eq!(three.hosts(), 3 * one.hosts());
        assert_eq!(three.router_links(), 3 * one.router_links());
        for k in 0..3 {
            let expected: HashSet<u32> = (0..one.routers()).map(|r| 3 * r + k).collect();
            assert_eq!(reached(&three, RouterId(k)), expected);
        }
        for from in (0..three.routers()).map(RouterId) {
            for to in (0..three.routers()).map(RouterId) {
                let expected = match from.0 % 3 == to.0 % 3 {
                    true => one.distance(RouterId(from.0 / 3), RouterId(to.0 / 3)),
                    false => u32::MAX,
                };
                assert_eq!(three.distance(from, to), expected);
            }
            for port in (0..three.ports(from)).map(Port) {
                let original = RouterId(from.0 / 3);
                assert_eq!(three.link_class(from, port), one.link_class(original, port));
                assert_eq!(
                    three.peer(from, port) == Peer::Unwired,
                    one.peer(original, port) == Peer::Unwired
                );
            }
        }
        for host in (0..three.hosts()).map(HostId) {
            let (router, port) = three.attachment(host);
            assert_eq!(three.peer(router, port), Peer::Host(host));
            assert_eq!(router.0 % 3, host.0 % 3, "in its plane");
            assert_eq!(one.attachment(HostId(host.0 / 3)), (RouterId(router.0 / 3), port));
        }
    }

    #[test]
    fn planes_are_described() {
        let three = Planes::new(plane(PLANE), 3).unwrap();
        let one = plane(PLANE).describe();
        assert_eq!(three.describe(), format!("3 planes, each a {one}"));
        let fourth = three.plane().coordinates(RouterId(3));
        assert_eq!(three.coordinates(RouterId(11)), format!("plane 2, {fourth}"));
    }

    #[test]
    fn planes_that_cannot_be_numbered_are_refused() {
        let fail = |count| Planes::new(plane(PLANE), count).map(|_| ()).unwrap_err();
        assert!(fail(0).contains("at least 1"));
        assert!(fail(1 << 30).contains("too many"), "{}", fail(1 << 30));
    }
}
