//! The router as a logical process: turns "port 7" into "LP 311, port 2, 50 ns".

use des::{Context, Journal, Time};
use fabric::Packet;
use fabric::router::packet::{self, Arrival, FEW_PORTS, Outputs, PortSetting, Ready, Router};
use routing::Random;
use topology::{Peer, Port, RouterId};

use crate::fact::Fact;
use crate::model::{Simulation, Undo};
use crate::wiring::Wire;

/// A router and what its ports are wired to.
pub struct RouterProcess {
    /// The state machine.
    pub router: Router,
    /// By port; none: no cable.
    wires: Box<[Option<Wire>]>,
}

/// The random stream of the LP at work.
pub struct Draws<'a, C>(pub &'a mut C);

/// Where a router's outputs go: into events.
struct Cables<'a, C> {
    wires: &'a [Option<Wire>],
    context: &'a mut C,
}

impl RouterProcess {
    /// An idle router.
    pub fn new(simulation: &Simulation, router: RouterId) -> RouterProcess {
        let network = &simulation.network;
        let topology = network.topology.as_ref();
        let vcs = network.routing.vcs();
        let ports: Vec<PortSetting> = (0..topology.ports(router))
            .map(|port| PortSetting {
                rate: network.rate(router, Port(port)),
                to_host: matches!(topology.peer(router, Port(port)), Peer::Host(_)),
                credits: network.buffer_of_vc(vcs),
            })
            .collect();
        RouterProcess {
            router: Router::new(router, vcs, &ports, network.slot(), simulation.warmup),
            wires: (0..topology.ports(router))
                .map(|port| simulation.numbering.wire(network, router, Port(port)))
                .collect(),
        }
    }

    /// Asks for the memory that its next events will touch.
    #[inline]
    pub fn prefetch(&self) {
        self.router.prefetch();
        if self.wires.len() <= FEW_PORTS {
            des::prefetch(&*self.wires);
        }
    }

    /// Carries out one event.
    #[inline]
    pub fn handle(&mut self, simulation: &Simulation, fact: &Fact, context: &mut impl Context<Simulation>) {
        let now = context.now();
        match *fact {
            Fact::PacketArrived { port, vc, packet } => {
                let arrival = Arrival {
                    input: port,
                    vc,
                    packet,
                };
                let hop =
                    self.router
                        .route(arrival, simulation.network.routing.as_ref(), &mut Draws(context));
                let mut cables = Cables {
                    wires: &self.wires,
                    context,
                };
                self.router.arrived(now, hop, &mut cables);
            }
            Fact::PacketReady {
                input,
                output,
                input_vc,
                output_vc,
                entry,
                packet,
            } => {
                let ready = Ready {
                    packet,
                    input,
                    output,
                    input_vc,
                    output_vc,
                    entry,
                };
                let mut cables = Cables {
                    wires: &self.wires,
                    context,
                };
                self.router.ready(now, ready, &mut cables);
            }
            Fact::CreditReturned { port, vc, bytes } => {
                let mut cables = Cables {
                    wires: &self.wires,
                    context,
                };
                self.router.credit(now, port, vc, bytes, &mut cables);
            }
            _ => unreachable!("{fact:?} does not happen to a router"),
        }
    }
}

impl<C: Context<Simulation>> Random for Draws<'_, C> {
    #[inline]
    fn below(&mut self, bound: u32) -> u32 {
        // Lemire's multiply-shift: the bias is below bound / 2^64.
        ((u128::from(self.0.random()) * u128::from(bound)) >> 64) as u32
    }
}

impl<C: Context<Simulation>> Cables<'_, C> {
    #[inline]
    fn wire(&self, port: u16) -> Wire {
        self.wires[usize::from(port)].expect("routing uses wired ports only")
    }
}

impl<C: Context<Simulation>> Journal<packet::Undo> for Cables<'_, C> {
    const KEPT: bool = C::REVERSIBLE;

    #[inline]
    fn note(&mut self, step: packet::Undo) {
        self.context.undo(Undo::Router(step));
    }
}

impl<C: Context<Simulation>> Outputs for Cables<'_, C> {
    #[inline]
    fn depart(&mut self, port: u16, vc: u8, packet: Packet, wait: Time, serialization: Time) {
        let wire = self.wire(port);
        let delay = wait + wire.delay(serialization);
        let fact = Fact::PacketArrived {
            port: wire.port,
            vc,
            packet,
        };
        self.context.send(wire.lp, delay, fact);
    }

    #[inline]
    fn credit(&mut self, port: u16, vc: u8, bytes: u32, after: Time) {
        let wire = self.wire(port);
        let fact = Fact::CreditReturned {
            port: wire.port,
            vc,
            bytes,
        };
        self.context.send(wire.lp, after + wire.credit, fact);
    }

    #[inline]
    fn ready(&mut self, ready: Ready, after: Time) {
        let fact = Fact::PacketReady {
            input: ready.input,
            output: ready.output,
            input_vc: ready.input_vc,
            output_vc: ready.output_vc,
            entry: ready.entry,
            packet: ready.packet,
        };
        self.context.send(self.context.lp(), after, fact);
    }
}
