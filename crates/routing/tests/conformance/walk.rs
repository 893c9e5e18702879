//! Networks and routings of the tests, and the walk of one packet with the checks that hold for every routing.

use std::sync::Arc;

use config::Section;
use fabricsim_routing::*;
use topology::{HostId, Peer, Port, RouterId, Topology};

use crate::networks::VARIANTS;

pub struct Load<F: Fn(Port) -> u64>(pub F);

impl<F: Fn(Port) -> u64> Congestion for Load<F> {
    fn load(&self, port: Port) -> u64 {
        (self.0)(port)
    }

    fn reported_load(&self, index: usize) -> u64 {
        (self.0)(Port(index as u16 + 1))
    }

    fn free_space(&self, port: Port, vc: u8) -> u64 {
        6 * 2048 - (self.0)(Port(port.0 + u16::from(vc)))
    }
}

/// Load by port, free space by port and VC.
pub struct Known<L: Fn(u16) -> u64, R: Fn(u16, u8) -> u64>(pub L, pub R);

impl<L: Fn(u16) -> u64, R: Fn(u16, u8) -> u64> Congestion for Known<L, R> {
    fn load(&self, port: Port) -> u64 {
        (self.0)(port.0)
    }

    fn free_space(&self, port: Port, vc: u8) -> u64 {
        (self.1)(port.0, vc)
    }
}

/// A linear congruential generator. Its upper half is sufficiently random for any bound.
pub struct Draws(pub u64);

impl Random for Draws {
    fn below(&mut self, bound: u32) -> u32 {
        assert!(bound >= 1);
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (((self.0 >> 32) * u64::from(bound)) >> 32) as u32
    }
}

pub fn network(toml: &str) -> Arc<dyn Topology> {
    let section = Section::from_toml(toml, "x.toml").unwrap();
    topology::build(&section)
        .unwrap_or_else(|e| panic!("{toml}: {e}"))
        .into()
}

pub fn section(algorithm: &str, parameters: &str) -> Section {
    Section::from_toml(&format!("algorithm = \"{algorithm}\"\n{parameters}\n"), "x.toml").unwrap()
}

pub fn routing(algorithm: &str, parameters: &str, topology: &Arc<dyn Topology>) -> Box<dyn Routing> {
    build(&section(algorithm, parameters), topology.clone()).unwrap_or_else(|e| panic!("{e}"))
}

/// Every algorithm with its variants on a topology: name, parameters, routing.
pub fn routings(topology: &Arc<dyn Topology>) -> Vec<(&'static str, &'static str, Box<dyn Routing>)> {
    let defaults = REGISTRY.iter().map(|a| (a, ""));
    let known = VARIANTS.iter().filter(|(.., knows)| knows(&topology.shape()));
    let variants = known.map(|(name, parameters, _)| {
        (
            REGISTRY.iter().find(|a| a.name == *name).expect("registered"),
            *parameters,
        )
    });
    defaults
        .chain(variants)
        .filter(|(a, _)| (a.routes)(&topology.shape()))
        .map(|(a, parameters)| (a.name, parameters, routing(a.name, parameters, topology)))
        .collect()
}

/// The links that a packet crosses between routers, as (router, port, VC).
pub fn path(
    topology: &dyn Topology,
    routing: &dyn Routing,
    (source, destination): (HostId, HostId),
    draws: &mut Draws,
) -> Vec<(RouterId, Port, u8)> {
    let (router, input) = topology.attachment(source);
    let mut at = At {
        router,
        input,
        vc: 0,
        source,
        destination,
    };
    let (mut state, mut crossed) = (RouteState::default(), Vec::new());
    loop {
        let mut options = Vec::new();
        routing.options(at, state, &mut options);
        if at.input != input || at.router != router {
            let mut of_another = Vec::new();
            let other = HostId((source.0 + 1) % topology.hosts());
            routing.options(At { source: other, ..at }, state, &mut of_another);
            assert_eq!(options, of_another, "a later router looks at the source");
        }
        let salt = draws.below(1000);
        let load = Load(|port| u64::from((u32::from(port.0) * 7919 + salt) % 7) * 2048);
        let hop = routing.route(at, &mut state, &load, draws);
        if hop.claim == BufferClaim::Reserved {
            assert!(
                load.free_space(hop.port, hop.vc) > 0,
                "the hop has no free space to reserve"
            );
        }
        assert!(
            options.contains(&(hop, state)),
            "{hop:?} {state:?} is not among {options:?}"
        );
        match topology.peer(at.router, hop.port) {
            Peer::Host(host) => {
                assert_eq!((host, hop.vc), (destination, 0));
                return crossed;
            }
            Peer::Router(next, input) => {
                assert!(hop.vc < routing.vcs());
                crossed.push((at.router, hop.port, hop.vc));
                assert!(crossed.len() < 100, "does not arrive");
                at = At {
                    router: next,
                    input,
                    vc: hop.vc,
                    ..at
                };
            }
            Peer::Unwired => panic!("sent to an unwired port"),
        }
    }
}

pub fn pairs(topology: &dyn Topology) -> impl Iterator<Item = (HostId, HostId)> + use<> {
    let hosts = topology.hosts();
    (0..hosts).flat_map(move |a| (0..hosts).map(move |b| (HostId(a), HostId(b))))
}

/// The first hop of a packet from host 0 to the last one, for given loads and free spaces by port and VC.
pub fn first_hop(
    (algorithm, parameters): (&str, &str),
    topology: &Arc<dyn Topology>,
    congestion: &dyn Congestion,
    draws: &mut Draws,
) -> Hop {
    let (source, destination) = (HostId(0), HostId(topology.hosts() - 1));
    let (router, input) = topology.attachment(source);
    let at = At {
        router,
        input,
        vc: 0,
        source,
        destination,
    };
    routing(algorithm, parameters, topology).route(at, &mut RouteState::default(), congestion, draws)
}
