//! The context of a pattern: the hosts of its job, and the network if the job has all of its hosts.

use std::path::Path;

use config::{Error, Section};

use super::TrafficRandom;

/// A network as patterns see it: hosts, their routers, and the relation of routers. Hosts of one router have
/// consecutive numbers.
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
    /// Number of hosts of every router that has any; `None` if it differs. Host `h` is then on the `h / n`-th
    /// of these routers.
    fn hosts_per_router(&self) -> Option<u32>;
    /// Number of hosts of every group; `None` if there are no groups or sizes differ. Host `h` is then in group
    /// `h / n`. Groups are those of a dragonfly, and the subtrees below the top level of a tree.
    fn hosts_per_group(&self) -> Option<u32>;
    /// The coordinates, if there are any and all routers have the same number of hosts.
    fn grid(&self) -> Option<RouterGrid>;
    /// Whether the network is a plain graph: without groups, levels or coordinates.
    fn is_graph(&self) -> bool;
}

/// Links between the routers of a line of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GridKind {
    /// Each router to the next.
    Mesh,
    /// Each router to the next, and the last to the first.
    Torus,
    /// All routers to each other.
    AllToAll,
}

/// Routers in a grid, numbered with dimension 0 fastest, each with the same number of hosts.
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
    /// The host in the same position on another router: `change` gives the new coordinate for the size of a
    /// dimension and the coordinate.
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

/// The context that a pattern is built in.
pub struct PatternContext<'a> {
    /// Number of hosts of the job, at least 2.
    pub hosts: u32,
    /// The network, if the job has all its hosts in order.
    pub network: Option<&'a dyn Geometry>,
    /// Folder of relative paths.
    pub folder: &'a Path,
    /// Random numbers for building, which depend on the run's seed and the job's number.
    pub random: &'a mut dyn TrafficRandom,
}

impl<'a> PatternContext<'a> {
    /// The network.
    ///
    /// # Errors
    /// The job has only a part of the hosts; `what` is needed of the network.
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
    /// The network has no coordinates, or the job has only a part of it.
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
