//! The host as a logical process: its NIC with one port for each rail, the MPI ranks and the traffic sources
//! behind it. They share an LP because they communicate without delay.

mod port;
mod rails;
mod ranks;
mod traffic;
mod transit;
mod undo;

use des::{Context, Purpose, Time};
use experiment::EndPoint;
use fabric::{LinkUse, NicParameters, Packet, TrafficClasses};
use mpi::Rank;
use serde::{Deserialize, Serialize};
use topology::HostId;

pub use self::ranks::RankSlot;
pub use self::undo::HostUndo;

use self::port::PortInput;
use self::rails::{HostNic, HostNicState};
use self::ranks::{Ranks, RanksState, hand_over};
use self::traffic::Sources;
use self::undo::HostJournal;
use crate::lp::collection::{HostCollection, HostCollectionUndo};
use crate::lp::net_event::{NetEvent, Record};
use crate::lp::simulation::Simulation;

/// One host. A network can have a million hosts, and the memory of a host is rarely cached when it gets an event. So
/// the fields that synthetic traffic touches lie side by side in the NIC, those for sending before those for receiving;
/// the sources share the cache line of the LP's tag. In this order nothing is padded.
#[repr(C)]
pub struct Host {
    sources: Sources,
    ranks: Ranks,
    nic: HostNic,
}

/// The state of a host that changes, for checkpoints.
#[derive(Serialize, Deserialize)]
pub struct HostState {
    nic: HostNicState,
    ranks: RanksState,
    sources: Vec<u64>,
}

impl Host {
    /// A host before the run.
    pub fn new(simulation: &Simulation, id: HostId) -> Host {
        Host {
            sources: Sources::new(simulation.occupants.sources(id)),
            nic: HostNic::new(simulation, id),
            ranks: Ranks::new(simulation, id),
        }
    }

    /// Schedules the first events: starts and ends of ranks, first messages of sources.
    pub fn start(&mut self, simulation: &Simulation, context: &mut impl Context<Simulation>) {
        for (slot, rank_slot) in self.ranks.slots().iter().enumerate() {
            let slot = slot as u16;
            let start = simulation.jobs[usize::from(rank_slot.job)].start;
            context.send(context.lp(), start, NetEvent::RankStarted { slot });
            if rank_slot.end < Time::MAX {
                context.send(context.lp(), rank_slot.end, NetEvent::EndReached { slot });
            }
        }
        self.sources.start(simulation, context);
    }

    /// Prefetches the memory that the next events touch.
    #[inline]
    pub fn prefetch(&self) {
        self.nic.collection.prefetch();
    }

    /// Prefetches the memory that this event touches.
    #[inline]
    pub fn prefetch_for(&self, simulation: &Simulation, now: Time, event: &NetEvent) {
        match event {
            NetEvent::PacketArrived { packet, .. } => {
                self.nic.collection.prefetch_for(now, packet);
                if !packet.standalone() {
                    let source = simulation.network.rails.host(EndPoint(packet.source));
                    self.ranks.inbox.prefetch_for(source, packet.message);
                }
            }
            NetEvent::CreditReturned { .. } | NetEvent::NicTimer { .. } | NetEvent::TrafficDue { .. } => {
                self.nic.prefetch();
            }
            _ => {}
        }
    }

    /// Executes one event.
    #[inline]
    pub fn handle<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        event: &NetEvent,
        context: &mut C,
    ) {
        let now = context.now();
        self.nic.event(simulation, context);
        match *event {
            NetEvent::PacketArrived { port, packet, .. } => {
                self.take_input(simulation, port as u8, PortInput::Packet(packet), context)
            }
            NetEvent::CreditReturned { port, vc, bytes } => {
                self.take_input(simulation, port as u8, PortInput::Credit { vc, bytes }, context)
            }
            NetEvent::NicTimer { rail, timer } => {
                self.take_input(simulation, rail, PortInput::Timer(timer), context)
            }
            NetEvent::SignalArrived { port, signal } => {
                self.take_input(simulation, port as u8, PortInput::Signal(signal), context)
            }
            NetEvent::TrafficDue { source } => {
                self.sources.send_due(&mut self.nic, simulation, source, context)
            }
            NetEvent::MessageAnnounced(announced) => self.ranks.announced(simulation, announced, context),
            NetEvent::MessageDue(due) => {
                let RankSlot { job, rank, .. } = self.ranks.slots()[usize::from(due.slot)];
                let message = due.at_sender(rank);
                self.nic
                    .collection
                    .handed_over(simulation, (job, &message), context);
                hand_over(
                    &mut self.nic,
                    simulation,
                    (due.slot, job),
                    due.number,
                    message,
                    context,
                );
            }
            NetEvent::MemoryDelivered(message) => {
                self.ranks
                    .deliver_through_memory(&mut self.nic, simulation, message, context)
            }
            NetEvent::RankStarted { slot } => self.ranks.start_rank(&mut self.nic, simulation, slot, context),
            NetEvent::EndReached { slot } => self.ranks.stop_rank(&mut self.nic, simulation, slot, context),
            NetEvent::RankResumed { slot } => {
                let resume = |rank: &mut Rank, actions: &mut _| rank.resume(now, actions);
                self.ranks
                    .with_rank(&mut self.nic, simulation, slot, context, resume)
            }
            NetEvent::MessageInjected { slot, request } => {
                if self.nic.take_injection(slot, request, context) {
                    let injected = |rank: &mut Rank, actions: &mut _| rank.injected(now, request, actions);
                    self.ranks
                        .with_rank(&mut self.nic, simulation, slot, context, injected);
                }
            }
            NetEvent::DrainAsked => self.report_drain(simulation, context),
            NetEvent::ProgressAsked => self.ranks.report_progress(simulation, context),
            NetEvent::RouterTimer(_)
            | NetEvent::LoadReportDue
            | NetEvent::LoadsReported { .. }
            | NetEvent::RankFinished { .. }
            | NetEvent::RoundDue
            | NetEvent::DrainReported { .. }
            | NetEvent::ProgressReported { .. } => {
                unreachable!("{event:?} does not happen to a host")
            }
        }
    }

    /// Gives an input to a port of the NIC, and to the ranks what it delivers.
    #[inline(always)]
    fn take_input<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        rail: u8,
        input: PortInput,
        context: &mut C,
    ) {
        if let Some(packet) = self.nic.take_input(simulation, rail, input, context) {
            self.packet(simulation, packet, context);
        }
    }

    /// Tells the termination detector how much measured traffic is under way, as far as this host knows.
    #[cold]
    #[inline(never)]
    fn report_drain<C: Context<Simulation>>(&self, simulation: &Simulation, context: &mut C) {
        let bytes = self.nic.collection.measured_under_way();
        let bytes = [bytes as u32, (bytes >> 32) as u32];
        context.send(
            simulation.numbering.termination_detector(),
            simulation.network.lookahead(),
            NetEvent::DrainReported { bytes },
        );
    }

    /// Emits the last samples, at the end of the run.
    pub fn finish(&self, simulation: &Simulation, end: Time, emit: &mut impl FnMut(Record)) {
        let seen = &self.nic.seen();
        self.nic.collection.finish(simulation, seen, end, emit);
    }

    /// The NIC delivers a packet.
    fn packet<C: Context<Simulation>>(&mut self, simulation: &Simulation, packet: Packet, context: &mut C) {
        let payload = simulation.payload(&packet);
        self.nic
            .collection
            .delivered(simulation, &packet, payload, context);
        if packet.standalone() {
            return;
        }
        let source = simulation.network.rails.host(EndPoint(packet.source));
        let journal = &mut HostJournal(context);
        let whole = self.ranks.inbox.packet(source, packet.message, payload, journal);
        if let Some(message) = whole {
            self.ranks
                .deliver_packet(&mut self.nic, simulation, &packet, message, context);
        }
    }

    /// Undoes one step; steps are undone in reverse order.
    pub fn undo(&mut self, step: HostUndo) {
        match step {
            HostUndo::Nic { rail, step } => self.nic.undo_port(rail, step),
            HostUndo::NextRail { before } => self.nic.undo_next_rail(before),
            HostUndo::Divided { message, before } => self.nic.undo_divided(message, before),
            HostUndo::Inbox(step) => self.ranks.inbox.undo(step),
            HostUndo::Started { slot } => self.ranks.undo_started(slot),
            HostUndo::Rank { slot, changes } => self.ranks.undo_rank(slot, changes),
            HostUndo::SourceSent { source } => {
                self.sources.undo_sent(source);
                self.nic.next_message = self.nic.next_message.wrapping_sub(1);
            }
            HostUndo::MessageSent { slot, numbered } => {
                self.ranks.undo_sent(slot);
                self.nic.next_message = self.nic.next_message.wrapping_sub(u32::from(numbered));
            }
            HostUndo::HandedOver { before } => self.ranks.undo_handed_over(before),
            HostUndo::MessageReceived { slot } => self.ranks.undo_received(slot),
        }
    }

    /// Undoes one step of what it collects.
    pub fn undo_collection(&mut self, simulation: &Simulation, step: HostCollectionUndo) {
        self.nic.collection.undo(simulation, step);
    }

    /// What it collects.
    pub fn collection(&self) -> &HostCollection {
        &self.nic.collection
    }

    /// The state that changes.
    pub fn state(&self) -> HostState {
        HostState {
            nic: self.nic.state(),
            ranks: self.ranks.state(),
            sources: self.sources.state(),
        }
    }

    /// Replaces the state by one that [`Host::state`] returned for the same host.
    ///
    /// # Errors
    /// The saved state is that of another host or experiment, or a trace has changed.
    pub fn restore(
        &mut self,
        simulation: &Simulation,
        state: HostState,
        purpose: Purpose,
    ) -> Result<(), String> {
        self.nic.restore(simulation, state.nic)?;
        self.ranks.restore(simulation, state.ranks, purpose)?;
        self.sources.restore(state.sources)
    }

    /// Its ranks, by slot.
    pub fn ranks(&self) -> &[RankSlot] {
        self.ranks.slots()
    }

    /// Credits of one rail for a traffic class, in bytes.
    pub fn credits(&self, rail: u32, vc: u8) -> u32 {
        self.nic.credits(rail, vc)
    }

    /// Packets that have arrived at its NIC, and are neither delivered nor consumed yet.
    pub fn held_packets(&self) -> u64 {
        self.nic.held_packets()
    }

    /// Use of the injection link of one rail.
    pub fn injection_use(&self, rail: u32, end: Time) -> LinkUse {
        self.nic.injection_use(rail, end)
    }
}

/// Memory of a host with NICs of this model, this number of rails and traffic classes, in bytes.
pub fn bytes_with(nic: NicParameters, rails: u32, classes: &TrafficClasses) -> u64 {
    size_of::<Host>() as u64 + rails::bytes_of_more(nic, rails, classes)
}
