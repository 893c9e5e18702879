//! Rails: the NIC of a host, with one port for each rail, and how messages are divided among the ports.

use std::collections::BTreeMap;

use des::{Context, Time};
use experiment::{MAX_RAILS, RailChoice};
use fabric::{
    LinkUse, Nic, NicArbiter, NicParameters, NicSetup, NicState, NicUndo, Outgoing, Packet, TrafficClasses,
};
use serde::{Deserialize, Serialize};
use topology::{HOST_LINK, HostId};

use super::port::{NicLinkAdapter, PortInput, SendMessage, TakeInput};
use super::undo::{HostUndo, Injected};
use crate::lp::collection::{HostCollection, HostCollectionState};
use crate::lp::sampling::{HostView, RailView, SentSum};
use crate::lp::simulation::Simulation;
use crate::lp::wiring::LinkEnd;

/// The NIC of a host: numbers, divides and sends its messages.
#[repr(C)]
pub struct HostNic {
    first: Rail,
    /// Number of the next message, modulo 2^32.
    pub next_message: u32,
    pub id: HostId,
    /// `None` where the first is the only rail.
    more: Option<Box<MoreRails>>,
    /// What the host collects, mostly about its NIC.
    pub collection: HostCollection,
}

/// One port of the NIC.
#[repr(C)]
struct Rail {
    injection: LinkEnd,
    nic: Nic<Injected>,
}

/// State that only a host with several rails has.
struct MoreRails {
    /// All but the first.
    others: Box<[Rail]>,
    /// The rail that is next in round robin.
    next: u8,
    /// By message that is divided among rails and whose injection a rank awaits: rails that still send a part of it.
    divided: BTreeMap<Injected, u8>,
}

/// The state of a NIC that changes, for checkpoints.
#[derive(Serialize, Deserialize)]
pub struct HostNicState {
    /// By rail.
    nics: Vec<NicState<Injected>>,
    next: u8,
    divided: BTreeMap<Injected, u8>,
    next_message: u32,
    collection: HostCollectionState,
}

impl HostNic {
    /// The NIC of a host before the run.
    pub fn new(simulation: &Simulation, id: HostId) -> HostNic {
        let rails = simulation.network.rails.count();
        let more = (rails > 1).then(|| {
            Box::new(MoreRails {
                others: (1..rails).map(|rail| Rail::new(simulation, id, rail)).collect(),
                next: 0,
                divided: BTreeMap::new(),
            })
        });
        HostNic {
            next_message: 0,
            id,
            more,
            first: Rail::new(simulation, id, 0),
            collection: HostCollection::new(simulation, id),
        }
    }

    /// Prefetches the memory that the next packet touches.
    #[inline]
    pub fn prefetch(&self) {
        self.first.nic.prefetch();
    }

    /// Whether nothing is queued at the first port, and credits suffice for the next packet.
    #[inline]
    pub fn is_clear(&self) -> bool {
        self.first.nic.is_clear()
    }

    /// Executes an input of a port. Returns the packet that is delivered, if any.
    #[inline(always)]
    pub fn take_input<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        rail: u8,
        input: PortInput,
        context: &mut C,
    ) -> Option<Packet> {
        let (nic, adapter) = self.port(simulation, rail, context);
        nic.visit(TakeInput { adapter, input })
    }

    /// The NIC port of a rail, and the adapter for its outputs.
    #[inline]
    fn port<'a, 'r, C>(
        &'a mut self,
        simulation: &'a Simulation,
        rail: u8,
        context: &'a mut C,
    ) -> (&'a mut Nic<Injected>, NicLinkAdapter<'a, 'r, C>) {
        let port = match (rail, &mut self.more) {
            (1.., Some(more)) => &mut more.others[usize::from(rail) - 1],
            _ => &mut self.first,
        };
        let adapter = NicLinkAdapter {
            rail,
            link_end: port.injection,
            collection: &mut self.collection,
            sum: None,
            simulation,
            context,
        };
        (&mut port.nic, adapter)
    }

    /// Hands a message that is made at `created_at` to the NIC. Its `destination` is still the number of a host.
    /// `receiver` is the slot of the receiving rank, if a rank sends it. `sum`: see [`HostCollection::made_in_event`].
    #[inline]
    pub fn inject<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        created_at: Time,
        (message, receiver): (Outgoing<Injected>, Option<u16>),
        sum: Option<&mut SentSum>,
        context: &mut C,
    ) {
        if self.more.is_some() {
            self.collection.queued(&message, created_at, sum, context);
            return self.deal_out(simulation, (message, receiver), context);
        }
        // With one rail, hosts and end points have the same numbers.
        let times = (context.now(), created_at);
        let (nic, mut adapter) = self.port(simulation, 0, context);
        adapter.sum = sum;
        let message = &message;
        let sum = nic.visit(SendMessage {
            adapter,
            times,
            message,
        });
        self.collection.queued(message, created_at, sum, context);
    }

    /// Divides a message among several rails.
    // Not inlined, to keep the code of hosts with one rail small.
    #[inline(never)]
    fn deal_out<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        (message, receiver): (Outgoing<Injected>, Option<u16>),
        context: &mut C,
    ) {
        let Some(more) = &mut self.more else { return };
        let (network, now) = (&simulation.network, context.now());
        let (rails, bytes) = (&network.rails, message.bytes);
        let unit = rails.unit(bytes, network.packet.payload);
        let (mut shares, next_rail) = ([0; MAX_RAILS], more.next);
        let shares = &mut shares[..rails.count() as usize];
        // The rail by which the message arrives, if it is not the one by which it leaves.
        let mut arrives_by = None;
        let choice = match (rails.choice(), receiver) {
            // Traffic has no ranks.
            (RailChoice::ByRank, None) => RailChoice::RoundRobin,
            (choice, _) => choice,
        };
        let advanced = match choice {
            RailChoice::ByRank => {
                let occupants = &simulation.occupants;
                let sender = occupants.place(self.id, message.source);
                let receiver = occupants.place(message.destination, receiver.unwrap_or_default());
                let (leaves_by, arrives) = rails.between_ranks(sender, receiver);
                shares[leaves_by as usize] = bytes;
                arrives_by = Some(arrives);
                usize::from(next_rail)
            }
            RailChoice::RoundRobin => fabric::rails::round_robin(bytes, unit, usize::from(next_rail), shares),
            RailChoice::LeastLoaded => {
                let mut queued = [0; MAX_RAILS];
                queued[0] = self.first.nic.backlog();
                for (queued, rail) in queued[1..].iter_mut().zip(&more.others) {
                    *queued = rail.nic.backlog();
                }
                let queued = &queued[..shares.len()];
                fabric::rails::least_loaded(bytes, unit, usize::from(next_rail), queued, shares)
            }
            RailChoice::ByDestination => {
                shares[rails.by_destination(self.id, message.destination) as usize] = bytes;
                usize::from(next_rail)
            }
        };
        if C::REVERSIBLE && advanced != usize::from(next_rail) {
            context.undo(HostUndo::NextRail { before: next_rail }.into());
        }
        more.next = advanced as u8;
        let parts = shares.iter().filter(|share| **share > 0).count() as u8;
        if let Some(injected) = message.report
            && parts > 1
        {
            more.note_divided(injected, parts, context);
        }
        let to = message.destination;
        for (rail, bytes) in (0..).zip(&*shares).filter(|(_, bytes)| **bytes > 0) {
            let part = Outgoing {
                destination: rails.end_point(to, arrives_by.unwrap_or(u32::from(rail))).0,
                bytes: *bytes,
                ..message
            };
            let (nic, adapter) = self.port(simulation, rail, context);
            nic.visit(SendMessage {
                adapter,
                times: (now, now),
                message: &part,
            });
        }
    }

    /// Notes that a rail has sent its part of a message. Returns whether all parts are sent.
    #[inline]
    pub fn take_injection<C: Context<Simulation>>(
        &mut self,
        slot: u16,
        request: u32,
        context: &mut C,
    ) -> bool {
        let Some(more) = &mut self.more else { return true };
        let message = Injected { slot, request };
        let Some(left) = more.divided.get(&message) else {
            return true;
        };
        let left = left - 1;
        more.note_divided(message, left, context);
        left == 0
    }

    /// Undoes a step of the NIC port of a rail.
    pub fn undo_port(&mut self, rail: u8, step: NicUndo<Injected>) {
        match (rail, &mut self.more) {
            (1.., Some(more)) => more.others[usize::from(rail) - 1].nic.undo(step),
            _ => self.first.nic.undo(step),
        }
    }

    /// Undoes an advance of round robin.
    pub fn undo_next_rail(&mut self, before: u8) {
        if let Some(more) = &mut self.more {
            more.next = before;
        }
    }

    /// Undoes a change of the number of rails that send a part of a message.
    pub fn undo_divided(&mut self, message: Injected, before: u8) {
        if let Some(more) = &mut self.more {
            more.set_divided(message, before);
        }
    }

    /// The state that changes.
    pub fn state(&self) -> HostNicState {
        let more = self.more.as_ref();
        HostNicState {
            nics: self.rails().map(|rail| rail.nic.state()).collect(),
            next: more.map_or(0, |more| more.next),
            divided: more.map_or(BTreeMap::new(), |more| more.divided.clone()),
            next_message: self.next_message,
            collection: self.collection.state(),
        }
    }

    /// Replaces the state by a saved one.
    ///
    /// # Errors
    /// The saved state is that of another host or experiment.
    pub fn restore(&mut self, simulation: &Simulation, state: HostNicState) -> Result<(), String> {
        if state.nics.len() != self.rails().count() || usize::from(state.next) >= state.nics.len() {
            return Err("it has other rails".into());
        }
        let others = self.more.iter_mut().flat_map(|more| more.others.iter_mut());
        for (rail, nic) in std::iter::once(&mut self.first).chain(others).zip(state.nics) {
            rail.nic.restore(nic)?;
        }
        if let Some(more) = &mut self.more {
            more.next = state.next;
            more.divided = state.divided;
            more.divided.retain(|_, left| *left > 0);
        }
        self.next_message = state.next_message;
        self.collection.restore(simulation, state.collection)
    }

    fn rails(&self) -> impl Iterator<Item = &Rail> {
        let others = self.more.iter().flat_map(|more| more.others.iter());
        std::iter::once(&self.first).chain(others)
    }

    fn rail(&self, rail: u32) -> &Rail {
        rail_of(&self.first, self.more.as_deref(), rail)
    }

    /// Credits of one rail for a traffic class, in bytes.
    pub fn credits(&self, rail: u32, vc: u8) -> u32 {
        self.rail(rail).nic.credits(vc)
    }

    /// Packets that have arrived at a port, and are neither delivered nor consumed yet.
    pub fn held_packets(&self) -> u64 {
        self.rails().map(|rail| rail.nic.held_packets()).sum()
    }

    /// Use of the injection link of one rail.
    pub fn injection_use(&self, rail: u32, end: Time) -> LinkUse {
        self.rail(rail).nic.used(end)
    }

    /// Tells the collection of an event.
    #[inline(always)]
    pub fn event<C: Context<Simulation>>(&mut self, simulation: &Simulation, context: &mut C) {
        let (id, first, more) = (self.id, &self.first, self.more.as_deref());
        self.collection
            .event(simulation, || seen(id, first, more), context);
    }

    /// The state of the NIC, for the sampler.
    pub fn seen(&self) -> HostView<impl Fn(u32, Time) -> RailView + use<'_>> {
        seen(self.id, &self.first, self.more.as_deref())
    }
}

fn rail_of<'a>(first: &'a Rail, more: Option<&'a MoreRails>, rail: u32) -> &'a Rail {
    match (rail, more) {
        (1.., Some(more)) => &more.others[rail as usize - 1],
        _ => first,
    }
}

/// The state of these rails of a host, for the sampler.
fn seen<'a>(
    id: HostId,
    first: &'a Rail,
    more: Option<&'a MoreRails>,
) -> HostView<impl Fn(u32, Time) -> RailView + use<'a>> {
    HostView {
        id,
        rail: move |rail, time| {
            let nic = &rail_of(first, more, rail).nic;
            RailView {
                flow: nic.used(time).total,
                backlog: nic.backlog(),
                traffic_classes: std::array::from_fn(|class| nic.class_view(class as u8)),
                is_active: nic.is_active(time),
            }
        },
        rails: 1 + more.map_or(0, |more| more.others.len() as u32),
    }
}

impl Rail {
    fn new(simulation: &Simulation, host: HostId, rail: u32) -> Rail {
        let (network, occupants) = (&simulation.network, &simulation.occupants);
        let sources = occupants.ranks(host).count() + occupants.sources(host).count();
        let arbiter = match (network.nic_arbiter, sources) {
            (NicArbiter::InOrder, _) => NicArbiter::InOrder,
            (_, 0 | 1) => NicArbiter::ByMessage,
            (arbiter, _) => arbiter,
        };
        let (router, _) = network.attachment(host, rail);
        let setup = NicSetup {
            end_point: network.rails.end_point(host, rail).0,
            rate: network.injection,
            ejection: network.links[usize::from(HOST_LINK.0)].rate,
            format: network.packet,
            credits: network.buffer_of_vc(HOST_LINK),
            flits: network.router_models.capabilities_of(router).flits,
            pipeline: network.nic_injection_delay + network.links[usize::from(HOST_LINK.0)].router_delay,
            arbiter,
            traffic_classes: network.traffic_classes,
            measured: simulation.measured,
        };
        Rail {
            injection: simulation.numbering.injection(network, host, rail),
            nic: Nic::new(&setup, network.router_models.nic_of(router)),
        }
    }
}

impl MoreRails {
    /// Notes how many rails still send a part of a message.
    fn note_divided<C: Context<Simulation>>(&mut self, message: Injected, left: u8, context: &mut C) {
        let before = self.set_divided(message, left);
        if C::REVERSIBLE {
            context.undo(HostUndo::Divided { message, before }.into());
        }
    }

    /// Sets the number of rails. Returns the number before.
    fn set_divided(&mut self, message: Injected, left: u8) -> u8 {
        let before = match left {
            0 => self.divided.remove(&message),
            _ => self.divided.insert(message, left),
        };
        before.unwrap_or(0)
    }
}

/// Memory of the rails after the first, and of what a port has beside its own size, in bytes.
pub fn bytes_of_more(nic: NicParameters, rails: u32, classes: &TrafficClasses) -> u64 {
    let of_classes = u64::from(rails) * nic.more_bytes(classes);
    let more = match rails {
        1 => 0,
        _ => (size_of::<MoreRails>() + (rails as usize - 1) * size_of::<Rail>()) as u64,
    };
    more + of_classes
}
