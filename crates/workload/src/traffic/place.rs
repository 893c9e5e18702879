//! What a pattern may know of where it is: the hosts of its job, and the network if all of it is the job's.

use std::path::Path;

use config::{Error, Section};

use super::Random;

/// A network as patterns see it: hosts, the routers that they are on, and how these lie to each other.
/// Hosts of one router have consecutive numbers.
pub trait Geometry {
    /// One line for people, for example `torus of 4 x 4 routers with 1 host each`.
    fn describe(&self) -> String;
    /// Number of routers.
    fn routers(&self) -> u32;
    /// The router of a host.
    fn router(&self, host: u32) -> u32;
    /// The first host of a router, if it has any.
    fn first_host(&self, router: u32) -> Option<u32>;
    /// Calls `each` with the router at the far end of each link to another router, in the order of ports.
    fn neighbours(&self, router: u32, each: &mut dyn FnMut(u32));
    /// Hosts of every router that has any; none if they differ. Host `h` is then on the `h / n`-th of those.
    fn hosts_per_router(&self) -> Option<u32>;
    /// Hosts of every group; none if there are no groups, or of different sizes. Host `h` is then in the
    /// group number `h / n`. Groups are those of a dragonfly, and what is below the top level of a tree.
    fn hosts_per_group(&self) -> Option<u32>;
    /// The coordinates, if it has such and the same number of hosts on every router.
    fn grid(&self) -> Option<RouterGrid>;
    /// Whether it is nothing but a graph: no groups, levels or coordinates that say what its worst case is.
    fn is_graph(&self) -> bool;
}

/// How the routers of a line of a grid are linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GridKind {
    /// Each to the next.
    Mesh,
    /// Each to the next, and the last to the first.
    Torus,
    /// All to each other.
    AllToAll,
}

/// Routers at the points of a grid, numbered with dimension 0 fastest, each with as many hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterGrid {
    /// Routers in each dimension.
    pub sizes: Vec<u32>,
    /// How they are linked.
    pub kind: GridKind,
    /// Hosts of every router.
    pub hosts_per_router: u32,
}

impl RouterGrid {
    /// The host in the same position on the router whose coordinates are those of `host` changed by
    /// `change`, which is given the dimension, its size, and the coordinate.
    pub(super) fn moved(&self, host: u32, change: impl Fn(u32, u32) -> u32) -> u32 {
        let (mut rest, position) = (host / self.hosts_per_router, host % self.hosts_per_router);
        let (mut router, mut stride) = (0, 1);
        for size in &self.sizes {
            router += change(*size, rest % size) * stride;
            rest /= size;
            stride *= size;
        }
        router * self.hosts_per_router + position
    }
}

/// The place that a pattern is built for.
pub struct PatternContext<'a> {
    /// Number of hosts of the job, at least 2.
    pub hosts: u32,
    /// The network, if the job has all of its hosts in their order.
    pub network: Option<&'a dyn Geometry>,
    /// What paths are relative to.
    pub folder: &'a Path,
    /// What is drawn once, when the pattern is built: depends on the run's seed and the job's number.
    pub random: &'a mut dyn Random,
}

impl<'a> PatternContext<'a> {
    /// The network.
    ///
    /// # Errors
    /// The job has a part of the hosts only; `what` is wanted of the network.
    pub(super) fn network(&self, section: &Section, what: &str) -> Result<&'a dyn Geometry, Error> {
        self.network.ok_or_else(|| {
            let message = format!(
                "needs {what}, and this job has not all hosts of the network in their order; expected \
                 hosts = \"all\" with it, or a pattern that is made of host numbers only, such as \"shift\""
            );
            section.error("pattern", message)
        })
    }

    /// The grid.
    ///
    /// # Errors
    /// The network has no coordinates, or is not all this job's.
    pub(super) fn grid(&self, section: &Section) -> Result<RouterGrid, Error> {
        let network = self.network(section, "the coordinates of routers")?;
        network.grid().ok_or_else(|| {
            let message = format!(
                "needs coordinates; expected a mesh, a torus or a HyperX, and this is a {}",
                network.describe()
            );
            section.error("pattern", message)
        })
    }
}
