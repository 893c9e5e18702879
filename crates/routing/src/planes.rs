//! Routing in several planes. Each packet stays in the plane into which it was injected, and is routed there as if
//! there were no other.
//!
//! There is no deadlock if the routing of one plane has none: planes share no link, so no packet waits for one of
//! another plane. The proof covers one plane.

use std::sync::Arc;

use topology::{Divisor, HostId, Planes, Port, RouterId};

use crate::{At, Congestion, Hop, LoadMetric, Oblivious, Random, RouteState, Routing};

/// The routing of one plane, applied to all planes.
pub struct InPlanes {
    plane: Arc<dyn Routing>,
    count: Divisor,
}

impl InPlanes {
    /// `plane` is the routing of one of the `planes`.
    pub fn new(plane: Arc<dyn Routing>, planes: &Planes) -> InPlanes {
        InPlanes {
            plane,
            count: Divisor::new(planes.count()),
        }
    }

    #[inline]
    fn router(&self, router: RouterId) -> RouterId {
        RouterId(self.count.quotient(router.0))
    }

    #[inline]
    fn host(&self, host: HostId) -> HostId {
        HostId(self.count.quotient(host.0))
    }

    /// The position in the numbering of its plane. Port numbers are the same in all planes.
    #[inline]
    fn in_plane(&self, at: At) -> At {
        At {
            router: self.router(at.router),
            source: self.host(at.source),
            destination: self.host(at.destination),
            ..at
        }
    }
}

impl Routing for InPlanes {
    fn vcs(&self) -> u8 {
        self.plane.vcs()
    }

    fn load_metric(&self) -> LoadMetric {
        self.plane.load_metric()
    }

    fn detour_load(&self) -> Option<u64> {
        self.plane.detour_load()
    }

    fn packets_per_vc(&self) -> u32 {
        self.plane.packets_per_vc()
    }

    fn reserves_space(&self) -> bool {
        self.plane.reserves_space()
    }

    fn channel_order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64> {
        self.plane.channel_order(self.router(router), port, vc)
    }

    fn route(
        &self,
        at: At,
        state: &mut RouteState,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> Hop {
        self.plane.route(self.in_plane(at), state, congestion, random)
    }

    fn host_vc(&self, at: At, state: RouteState) -> Option<u8> {
        self.plane.host_vc(self.in_plane(at), state)
    }

    fn options(&self, at: At, state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        self.plane.options(self.in_plane(at), state, out);
    }

    fn oblivious(&self) -> Option<Oblivious> {
        self.plane.oblivious()
    }

    fn chances(
        &self,
        router: RouterId,
        destination: HostId,
        state: RouteState,
        out: &mut Vec<(Port, RouteState, f64)>,
    ) {
        self.plane
            .chances(self.router(router), self.host(destination), state, out);
    }
}
