//! VCs by the phase of a path, as in the dragonfly of BookSim 2, instead of those of path segments.
//!
//! Minimal paths have two phases: VC 0 up to the link between groups, VC 1 on it and after it. Paths of UGAL have
//! three: VC 0 on the whole way to the intermediate router, VC 1 from there on, or from the start of a minimal path,
//! and VC 2 on the next link between groups and after it, and for packets that stay in their group.
//!
//! On VC 0 of UGAL packets wait for links between groups behind local ones and the other way round, so there are cycles
//! of channels. Minimal paths have none.
//!
//! The link to a host has the VC of the phase in which a packet gets there ([`Routing::host_vc`]).
//!
//! State: `flags` is the phase of the last link; the other fields are those of the algorithm that chooses the path.

use std::sync::Arc;

use config::{Error, Parameter, Section};
use topology::{Groups, HostId, Peer, Port, RouterId, Shape, Topology};

use crate::{At, Chance, Congestion, Hop, LoadMetric, Oblivious, Random, Reports, RouteState, Routing};

/// The parameter of the algorithms that can have such VCs.
pub(crate) const VCS: Parameter = Parameter::choice(
    "vcs",
    &["by-segment", "by-phase"],
    "virtual channels of a path: by-segment, without cycles of waiting packets; by-phase, in a dragonfly those of \
     BookSim, which under ugal can deadlock",
);

/// The paths whose VCs are given by phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PhaseNumbering {
    Minimal,
    /// With segments through an intermediate router.
    Ugal,
}

/// Reads [`VCS`], and gives routing such VCs.
///
/// # Errors
/// A network other than a dragonfly, or parameters whose paths have no such phases.
pub(crate) fn renumbered(
    section: &Section,
    topology: Arc<dyn Topology>,
    phases: PhaseNumbering,
    build: impl FnOnce(Arc<dyn Topology>) -> Result<Box<dyn Routing>, Error>,
) -> Result<Box<dyn Routing>, Error> {
    if section.choice(VCS.name)? == "by-segment" {
        return build(topology);
    }
    let is_dragonfly = |groups: &dyn Groups| {
        groups.local_diameter() <= 1 && groups.host_routers_per_group() == groups.routers_per_group()
    };
    if !matches!(topology.shape(), Shape::Groups(groups) if is_dragonfly(groups)) {
        let text = format!(
            "this {} is no dragonfly; expected by-segment",
            topology.describe()
        );
        return Err(section.error(VCS.name, text));
    }
    if phases == PhaseNumbering::Ugal {
        let known = [
            ("intermediate", &["router", "any-group"][..]),
            ("local", &["minimal"]),
        ];
        for (key, expected) in known {
            if !expected.contains(&section.choice(key)?) {
                let text = format!(
                    "phases are those of paths through a router of another group; expected by-segment, or {key} = \
                     \"{}\"",
                    expected.join("\" or \"")
                );
                return Err(section.error(VCS.name, text));
            }
        }
    }
    Ok(Box::new(ByPhase {
        paths: build(topology.clone())?,
        topology,
        phases,
    }))
}

struct ByPhase {
    paths: Box<dyn Routing>,
    topology: Arc<dyn Topology>,
    phases: PhaseNumbering,
}

impl ByPhase {
    /// A state as the algorithm left it, and the phase.
    fn split(state: RouteState) -> (RouteState, u8) {
        (RouteState { flags: 0, ..state }, state.flags)
    }

    /// Whether a port leads to another group.
    fn leaves_group(&self, router: RouterId, port: Port) -> bool {
        match (self.topology.shape(), self.topology.peer(router, port)) {
            (Shape::Groups(groups), Peer::Router(far, _)) => groups.group(router) != groups.group(far),
            _ => false,
        }
    }

    /// The phase of a link, after one of another phase, of which the algorithm uses a VC.
    fn phase(&self, router: RouterId, before: u8, port: Port, vc: u8) -> u8 {
        match self.phases {
            PhaseNumbering::Minimal => before | u8::from(self.leaves_group(router, port)),
            // Segments have two VCs each, and the first one is a phase as a whole.
            PhaseNumbering::Ugal => vc.saturating_sub(1),
        }
    }

    /// The hop and its state with the VC of its phase.
    fn renumber(&self, router: RouterId, before: u8, hop: Hop, state: RouteState) -> (Hop, RouteState) {
        if let Peer::Host(_) = self.topology.peer(router, hop.port) {
            return (
                hop,
                RouteState {
                    flags: before,
                    ..state
                },
            );
        }
        let phase = self.phase(router, before, hop.port, hop.vc);
        (
            Hop { vc: phase, ..hop },
            RouteState {
                flags: phase,
                ..state
            },
        )
    }
}

/// The congestion by the VCs of the algorithm that chooses the path.
struct CongestionOfPhases<'a> {
    routing: &'a ByPhase,
    router: RouterId,
    /// The phase of the last link.
    before: u8,
    congestion: &'a dyn Congestion,
}

impl CongestionOfPhases<'_> {
    fn vc(&self, port: Port, vc: u8) -> u8 {
        self.routing.phase(self.router, self.before, port, vc)
    }
}

impl Congestion for CongestionOfPhases<'_> {
    fn load(&self, port: Port) -> u64 {
        self.congestion.load(port)
    }

    fn load_by(&self, metric: LoadMetric, port: Port, vc: u8) -> u64 {
        self.congestion.load_by(metric, port, self.vc(port, vc))
    }

    fn free_space(&self, port: Port, vc: u8) -> u64 {
        self.congestion.free_space(port, self.vc(port, vc))
    }

    fn reported_load(&self, index: usize) -> u64 {
        self.congestion.reported_load(index)
    }
}

impl Routing for ByPhase {
    fn vcs(&self) -> u8 {
        match self.phases {
            PhaseNumbering::Minimal => 2,
            PhaseNumbering::Ugal => 3,
        }
    }

    fn reports(&self) -> Option<&Reports> {
        self.paths.reports()
    }

    fn load_metric(&self) -> LoadMetric {
        self.paths.load_metric()
    }

    fn detour_load(&self) -> Option<u64> {
        self.paths.detour_load()
    }

    fn packets_per_vc(&self) -> u32 {
        self.paths.packets_per_vc()
    }

    fn reserves_space(&self) -> bool {
        self.paths.reserves_space()
    }

    fn route(
        &self,
        at: At,
        state: &mut RouteState,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> Hop {
        let (mut of_path, before) = Self::split(*state);
        let seen = CongestionOfPhases {
            routing: self,
            router: at.router,
            before,
            congestion,
        };
        let hop = self.paths.route(at, &mut of_path, &seen, random);
        let (hop, after) = self.renumber(at.router, before, hop, of_path);
        *state = after;
        hop
    }

    fn host_vc(&self, at: At, state: RouteState) -> Option<u8> {
        let at_source = matches!(self.topology.peer(at.router, at.input), Peer::Host(_));
        match self.phases {
            PhaseNumbering::Ugal if at_source => Some(self.vcs() - 1),
            _ => Some(state.flags),
        }
    }

    fn predicted_port(&self, at: At, state: RouteState) -> Option<Port> {
        self.paths.predicted_port(at, Self::split(state).0)
    }

    fn options(&self, at: At, state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        let (of_path, before) = Self::split(state);
        let first = out.len();
        self.paths.options(at, of_path, out);
        for option in &mut out[first..] {
            *option = self.renumber(at.router, before, option.0, option.1);
        }
    }

    fn oblivious(&self) -> Option<Oblivious> {
        self.paths.oblivious()
    }

    fn chances(&self, router: RouterId, destination: HostId, state: RouteState, out: &mut Vec<Chance>) {
        self.paths.chances(router, destination, state, out);
    }
}
