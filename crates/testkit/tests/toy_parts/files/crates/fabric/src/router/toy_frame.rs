//! A frame for toy routers without credits between routers: the state is a value, and an undo step is a copy of it.
//!
//! A toy returns the credits of a NIC when its packet arrives. Its links have no load, so they are in no table.

use std::fmt::Debug;

use config::Section;
use des::Time;
use routing::{At, Congestion, Random};
use serde::Serialize;
use serde::de::DeserializeOwned;
use topology::{Port, RouterId};

use super::{Arrival, Holding, RouterModel, RouterModelKind, RouterOutputs, RouterSetup, RoutingContext};
use crate::capabilities::RouterCapabilities;
use crate::{LinkUse, Packet, Rate};

/// A toy model.
pub trait Toy: Sized + Send + 'static {
    /// Name and summary.
    const KIND: (&'static str, &'static str);
    /// Whether it sends signals to hosts.
    const SIGNALS_TO_HOSTS: bool = false;
    /// What it keeps for each port.
    type Link: Clone + Debug + Default + PartialEq + Send + Serialize + DeserializeOwned + 'static;
    /// Content of a timer.
    type Timer: Copy + Debug + Send + Sync + Serialize + DeserializeOwned + 'static;
    /// Content of a signal.
    type Signal: Copy + Debug + Send + Sync + Serialize + DeserializeOwned + 'static;

    /// The simulation begins.
    fn start<O: RouterOutputs<Framed<Self>>>(router: &Framed<Self>, out: &mut O) {
        let _ = (router, out);
    }

    /// A packet has arrived at a port, and has been routed to another one.
    fn arrived<O: RouterOutputs<Framed<Self>>>(
        router: &mut Framed<Self>,
        packet: Packet,
        ports: (u16, u16),
        out: &mut O,
    );

    /// A timer expires.
    fn timer<O: RouterOutputs<Framed<Self>>>(
        router: &mut Framed<Self>,
        now: Time,
        timer: Self::Timer,
        out: &mut O,
    );

    /// A signal has arrived at a port; `route` gives the output of a packet, which it changes.
    fn signal<O: RouterOutputs<Framed<Self>>>(
        router: &mut Framed<Self>,
        port: u16,
        signal: Self::Signal,
        route: impl FnMut(&mut Packet) -> u16,
        out: &mut O,
    );

    /// The packets that wait at a port.
    fn held(link: &Self::Link) -> impl Iterator<Item = &Packet>;

    /// The packet of a timer.
    fn in_timer(timer: &Self::Timer) -> Option<&Packet> {
        let _ = timer;
        None
    }

    /// The packet of a signal.
    fn in_signal(signal: &Self::Signal) -> Option<&Packet>;
}

/// A router of a toy model.
pub struct Framed<T: Toy> {
    id: RouterId,
    /// Speed of each port, and whether it leads to a host.
    pub ports: Vec<(Rate, bool)>,
    pub links: Vec<T::Link>,
}

/// The congestion, of which the toys see nothing.
struct Unseen;

impl Congestion for Unseen {
    fn load(&self, _: Port) -> u64 {
        0
    }
    fn free_space(&self, _: Port, _: u8) -> u64 {
        0
    }
}

/// The output of a packet, whose routing state changes.
fn route(
    id: RouterId,
    (input, vc): (u16, u8),
    packet: &mut Packet,
    context: &RoutingContext<'_>,
    random: &mut dyn Random,
) -> u16 {
    let at = At {
        router: id,
        input: Port(input),
        vc,
        source: packet.source,
        destination: packet.destination,
    };
    let hop = context.routing.route(at, &mut packet.route, &Unseen, random);
    hop.port.0
}

impl<T: Toy> Framed<T> {
    fn note<O: RouterOutputs<Self>>(&self, out: &mut O) {
        out.note(|| Box::new(self.links.clone()));
    }

    /// Time of a packet on the link of a port.
    pub fn serialization(&self, port: u16, packet: &Packet) -> Time {
        self.ports[usize::from(port)].0.serialization(packet.bytes)
    }

    /// Whether a port leads to a host.
    pub fn leads_to_host(&self, port: u16) -> bool {
        self.ports[usize::from(port)].1
    }
}

impl<T: Toy> RouterModel for Framed<T> {
    const MODEL: RouterModelKind = RouterModelKind {
        name: T::KIND.0,
        summary: T::KIND.1,
        parameters: &[],
        capabilities: RouterCapabilities {
            takes_credits: false,
            signals_to_hosts: T::SIGNALS_TO_HOSTS,
            ..RouterCapabilities::NONE
        },
    };

    type Parameters = ();
    type Undo = Box<Vec<T::Link>>;
    type State = Vec<T::Link>;
    type Timer = T::Timer;
    type Signal = T::Signal;
    type WaitTracker = ();

    fn read(_: &Section) -> Result<(), config::Error> {
        Ok(())
    }

    fn bytes_per_port(_: u64, _: u64, _: bool) -> u64 {
        size_of::<T::Link>() as u64
    }

    fn new(setup: &RouterSetup<'_>, (): ()) -> Self {
        Framed {
            id: setup.id,
            ports: setup.ports.iter().map(|port| (port.rate, port.to_host)).collect(),
            links: vec![T::Link::default(); setup.ports.len()],
        }
    }

    fn start<O: RouterOutputs<Self>>(&mut self, out: &mut O) {
        T::start(self, out);
    }

    fn arrived<O: RouterOutputs<Self>>(
        &mut self,
        _: Time,
        arrival: Arrival,
        context: &RoutingContext<'_>,
        out: &mut O,
    ) {
        self.note(out);
        let Arrival {
            input,
            vc,
            mut packet,
        } = arrival;
        if self.leads_to_host(input) {
            out.credit(input, vc, packet.bytes, Time::ZERO);
        }
        let output = route(self.id, (input, vc), &mut packet, context, &mut out.random());
        T::arrived(self, packet, (input, output), out);
    }

    fn credit<O: RouterOutputs<Self>>(&mut self, _: Time, _: u16, _: u8, _: u32, _: &mut O) {}

    fn timer<O: RouterOutputs<Self>>(
        &mut self,
        now: Time,
        timer: T::Timer,
        _: &RoutingContext<'_>,
        out: &mut O,
    ) {
        self.note(out);
        T::timer(self, now, timer, out);
    }

    fn signal<O: RouterOutputs<Self>>(
        &mut self,
        _: Time,
        port: u16,
        signal: T::Signal,
        context: &RoutingContext<'_>,
        out: &mut O,
    ) {
        /// Random numbers, which the routing of the toys does not draw.
        struct Undrawn;
        impl Random for Undrawn {
            fn below(&mut self, _: u32) -> u32 {
                unreachable!("fixed paths draw nothing")
            }
        }
        self.note(out);
        let id = self.id;
        let route = |packet: &mut Packet| route(id, (port, 0), packet, context, &mut Undrawn);
        T::signal(self, port, signal, route, out);
    }

    fn undo(&mut self, before: Box<Vec<T::Link>>) {
        self.links = *before;
    }

    fn state(&self) -> Vec<T::Link> {
        self.links.clone()
    }

    fn restore(&mut self, links: Vec<T::Link>) -> Result<(), String> {
        if links.len() != self.links.len() {
            return Err(format!("router {}: the saved state has other ports", self.id.0));
        }
        self.links = links;
        Ok(())
    }

    fn id(&self) -> RouterId {
        self.id
    }

    fn for_each_held(&self, see: &mut dyn FnMut(Holding)) {
        let packets = self.links.iter().flat_map(T::held);
        packets.for_each(|packet| see(Holding::Packet(*packet)));
    }

    fn in_timer(timer: &T::Timer, see: &mut dyn FnMut(Holding)) {
        T::in_timer(timer)
            .into_iter()
            .for_each(|packet| see(Holding::Packet(*packet)));
    }

    fn in_signal(signal: &T::Signal, _: u16, see: &mut dyn FnMut(Holding)) {
        T::in_signal(signal)
            .into_iter()
            .for_each(|packet| see(Holding::Packet(*packet)));
    }

    fn load(&self, _: u16) -> u64 {
        0
    }

    fn credits(&self, _: u16, _: u8) -> u32 {
        0
    }

    fn used(&self, _: u16, _: Time) -> LinkUse {
        LinkUse::default()
    }

    fn waiting_at(&self, port: u16) -> u32 {
        T::held(&self.links[usize::from(port)]).count() as u32
    }

    fn is_active(&self, _: u16, _: Time) -> bool {
        false
    }
}
