//! The first ports of a router, which lead to its hosts. Hosts are numbered router by router. All topologies use
//! this, except trees, where only leaves have hosts.

use config::{Error, Section};

use crate::size::positive;
use crate::{Divisor, HostId, Peer, Port, RouterId};

#[derive(Clone, Copy, Debug)]
pub(crate) struct HostPorts {
    per_router: Divisor,
}

impl HostPorts {
    pub(crate) fn new(per_router: u32) -> HostPorts {
        HostPorts {
            per_router: Divisor::new(per_router),
        }
    }

    /// Reads the number of hosts of a router.
    ///
    /// # Errors
    /// The value is missing (without a default), not a whole number, or zero.
    pub(crate) fn read(section: &Section, key: &str) -> Result<HostPorts, Error> {
        positive(section, key).map(HostPorts::new)
    }

    /// Number of hosts of a router, which is the number of its first other port.
    #[inline]
    pub(crate) fn count(self) -> u32 {
        self.per_router.get()
    }

    /// Whether a port leads to a host.
    #[inline]
    pub(crate) fn has(self, port: Port) -> bool {
        u32::from(port.0) < self.count()
    }

    /// The host at a port, if the port leads to one. `router` counts routers with hosts only.
    #[inline]
    pub(crate) fn peer(self, router: u32, port: Port) -> Option<Peer> {
        self.has(port)
            .then(|| Peer::Host(HostId(router * self.count() + u32::from(port.0))))
    }

    /// Router and port of a host. Counts routers with hosts only.
    #[inline]
    pub(crate) fn attachment(self, host: HostId) -> (RouterId, Port) {
        let (router, port) = self.per_router.divide(host.0);
        (RouterId(router), Port(port as u16))
    }
}
