//! The first ports of a router lead to its hosts, which are numbered router by router. What all topologies
//! do with them is here, but for trees of which only the leaves have hosts.

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
    /// Missing (without a default), not a whole number, or zero.
    pub(crate) fn read(section: &Section, key: &str, default: Option<u32>) -> Result<HostPorts, Error> {
        positive(section, key, default).map(HostPorts::new)
    }

    /// Hosts on every router: the number of the first port behind them.
    #[inline]
    pub(crate) fn count(self) -> u32 {
        self.per_router.get()
    }

    /// Whether a port leads to a host.
    #[inline]
    pub(crate) fn has(self, port: Port) -> bool {
        u32::from(port.0) < self.count()
    }

    /// The host at a port, if it is one of a host. Routers are counted without those that have none.
    #[inline]
    pub(crate) fn peer(self, router: u32, port: Port) -> Option<Peer> {
        self.has(port)
            .then(|| Peer::Host(HostId(router * self.count() + u32::from(port.0))))
    }

    /// Router and port of a host. Routers are counted without those that have none.
    #[inline]
    pub(crate) fn attachment(self, host: HostId) -> (RouterId, Port) {
        let (router, port) = self.per_router.divide(host.0);
        (RouterId(router), Port(port as u16))
    }
}
