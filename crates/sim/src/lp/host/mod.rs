//! The host as a logical process: its NIC with one port for each rail, the MPI ranks and the traffic sources
//! behind it. They share an LP because they communicate without delay.

mod rails;
mod ranks;
mod tracing;
mod traffic;
mod transit;
mod undo;

use des::{Context, Purpose, Time};
use experiment::EndPoint;
use fabric::{LinkUse, NicModel, Packet};
use mpi::Rank;
use serde::{Deserialize, Serialize};
use topology::HostId;

pub use self::ranks::RankSlot;
pub use self::undo::HostUndo;

use self::rails::{HostNic, HostNicState};
use self::ranks::{Ranks, RanksState, hand_over};
use self::traffic::Sources;
use self::undo::HostJournal;
use crate::lp::counts::{JobCounts, counts_of, of_job};
use crate::lp::net_event::{NetEvent, Record};
use crate::lp::sampling::{HostSampler, HostSamples, TallyStep};
use crate::lp::simulation::Simulation;
use crate::lp::times_by_job::TimesByJob;
use crate::lp::trace_record::{MessageKey, TraceRecord};

/// One host. A network can have a million hosts, and the memory of a host is rarely cached when it gets an event. So
/// the fields that synthetic traffic touches lie side by side, those for sending before those for receiving.
#[repr(C)]
pub struct Host {
    sampler: HostSampler,
    sources: Sources,
    nic: HostNic,
    ranks: Ranks,
}

/// The state of a host that changes, for checkpoints.
#[derive(Serialize, Deserialize)]
pub struct HostState {
    nic: HostNicState,
    ranks: RanksState,
    sources: Vec<u64>,
    samples: Option<HostSamples>,
}

impl Host {
    /// A host before the run.
    pub fn new(simulation: &Simulation, id: HostId) -> Host {
        Host {
            sampler: HostSampler::new(simulation, id),
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
        des::prefetch(&self.nic.counts);
    }

    /// Prefetches the memory that this event touches.
    #[inline]
    pub fn prefetch_for(&self, simulation: &Simulation, now: Time, event: &NetEvent) {
        match event {
            NetEvent::PacketArrived { packet, .. } => {
                if let Some(counts) = self.nic.counts.first() {
                    counts.prefetch_for(now, packet);
                }
                if !packet.standalone() {
                    let source = simulation.network.rails.host(EndPoint(packet.source));
                    self.ranks.inbox.prefetch_for(source, packet.message);
                }
            }
            NetEvent::CreditReturned { .. }
            | NetEvent::InjectionFree { .. }
            | NetEvent::TrafficDue { .. } => {
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
        if self.sampler.is_due(now) {
            self.sample(simulation, context);
        }
        match *event {
            NetEvent::PacketArrived { port, packet, .. } => {
                let (nic, mut adapter) = self.nic.port(simulation, port as u8, context);
                if let Some(packet) = nic.arrived(now, packet, &mut adapter) {
                    self.packet(simulation, packet, context);
                }
            }
            NetEvent::CreditReturned { port, vc, bytes } => {
                let class = simulation.network.traffic_classes.of_vc(vc);
                let (nic, mut adapter) = self.nic.port(simulation, port as u8, context);
                nic.credit(now, class, bytes, &mut adapter);
            }
            NetEvent::InjectionFree { rail } => {
                let (nic, mut adapter) = self.nic.port(simulation, rail, context);
                if let Some(packet) = nic.timer(now, (), &mut adapter) {
                    self.packet(simulation, packet, context);
                }
            }
            NetEvent::TrafficDue { source } => {
                self.sources.send_due(&mut self.nic, simulation, source, context)
            }
            NetEvent::MessageAnnounced(announced) => self.ranks.announced(simulation, announced, context),
            NetEvent::MessageDue(due) => {
                let RankSlot { job, rank, .. } = self.ranks.slots()[usize::from(due.slot)];
                let message = due.at_sender(rank);
                if simulation.timeline {
                    let key = MessageKey::new(job, &message);
                    context.emit(Record::Trace(TraceRecord::Handed { key }));
                }
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
            | NetEvent::SignalArrived { .. }
            | NetEvent::ReportDue
            | NetEvent::LoadsReported { .. }
            | NetEvent::RankFinished { .. }
            | NetEvent::RoundDue
            | NetEvent::DrainReported { .. }
            | NetEvent::ProgressReported { .. } => {
                unreachable!("{event:?} does not happen to a host")
            }
        }
    }

    /// Tells the termination detector how much measured traffic is under way, as far as this host knows.
    #[cold]
    #[inline(never)]
    fn report_drain<C: Context<Simulation>>(&self, simulation: &Simulation, context: &mut C) {
        let under_way = |counts: &JobCounts| counts.offered_bytes.wrapping_sub(counts.measured_bytes);
        let bytes = self.nic.counts.iter().map(under_way);
        let bytes = bytes.fold(0, u64::wrapping_add);
        let bytes = [bytes as u32, (bytes >> 32) as u32];
        context.send(
            simulation.numbering.termination_detector(),
            simulation.network.lookahead(),
            NetEvent::DrainReported { bytes },
        );
    }

    /// Samples the host for the bins that end before now.
    #[cold]
    #[inline(never)]
    fn sample<C: Context<Simulation>>(&mut self, simulation: &Simulation, context: &mut C) {
        let now = context.now();
        let seen = self.nic.seen();
        let note = |index, before| context.undo(HostUndo::PeaksRaised { index, before }.into());
        self.sampler.raise_peaks(simulation, &seen, now, note);
        let emit = &mut |record| context.emit(record);
        if let Some(before) = self.sampler.sample(simulation, &seen, now, C::REVERSIBLE, emit) {
            context.undo(HostUndo::Sampled(before).into());
        }
    }

    /// Emits the last samples, at the end of the run.
    pub fn finish(&self, simulation: &Simulation, end: Time, emit: &mut impl FnMut(Record)) {
        self.sampler.finish(simulation, &self.nic.seen(), end, emit);
    }

    /// The NIC delivers a packet.
    fn packet<C: Context<Simulation>>(&mut self, simulation: &Simulation, packet: Packet, context: &mut C) {
        let payload = simulation.payload(&packet);
        if simulation.shortcuts.tallies.is_on() {
            tally_delivered(&packet, payload, context);
        }
        let notes = &mut HostJournal(context);
        let counts = counts_of(&mut self.nic.counts, packet.job, notes);
        counts.delivered(notes.0.now(), (&packet, payload), simulation.measured, notes);
        if packet.standalone() {
            return;
        }
        let source = simulation.network.rails.host(EndPoint(packet.source));
        let whole = self.ranks.inbox.packet(source, packet.message, payload, notes);
        if let Some(message) = whole {
            self.ranks
                .deliver_packet(&mut self.nic, simulation, &packet, message, context);
        }
    }

    /// Undoes one step; steps are undone in reverse order.
    pub fn undo(&mut self, simulation: &Simulation, step: HostUndo) {
        match step {
            HostUndo::Sampled(before) => self.sampler.undo(simulation.plan.bins(), before),
            HostUndo::PeaksRaised { index, before } => self.sampler.undo_raise(index, before),
            HostUndo::Nic { rail, step } => self.nic.undo_port(rail, step),
            HostUndo::NextRail { before } => self.nic.undo_next_rail(before),
            HostUndo::Divided { message, before } => self.nic.undo_divided(message, before),
            HostUndo::WaitTracker { rail, step } => self.nic.undo_wait_tracker(rail, step),
            HostUndo::Transmission(step) => self.nic.undo_transmission(step),
            HostUndo::Inbox(step) => self.ranks.inbox.undo(step),
            HostUndo::Counts(step) => step.undo(&mut self.nic.counts),
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

    /// The state that changes.
    pub fn state(&self) -> HostState {
        HostState {
            nic: self.nic.state(),
            ranks: self.ranks.state(),
            sources: self.sources.state(),
            samples: self.sampler.state(),
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
        self.nic.restore(state.nic)?;
        self.ranks.restore(simulation, state.ranks, purpose)?;
        self.sources.restore(state.sources)?;
        self.sampler.restore(simulation.plan.bins(), state.samples)
    }

    /// Its ranks, by slot.
    pub fn ranks(&self) -> &[RankSlot] {
        self.ranks.slots()
    }

    /// What a job has sent and received here.
    pub fn counts(&self, job: usize) -> Option<&JobCounts> {
        of_job(&self.nic.counts, job)
    }

    /// Credits of one rail for a traffic class, in bytes.
    pub fn credits(&self, rail: u32, class: u8) -> u32 {
        self.nic.credits(rail, class)
    }

    /// Times that its injection links took to transmit the packets of each job. `None` unless energy is divided among
    /// jobs.
    pub fn transmissions(&self) -> Option<&TimesByJob> {
        self.nic.transmissions()
    }

    /// Use of the injection link of one rail.
    pub fn injection_use(&self, rail: u32, end: Time) -> LinkUse {
        self.nic.injection_use(rail, end)
    }
}

/// Adds a delivered packet to the tally of the worker.
// Not inlined, to keep the code of runs without series small.
#[inline(never)]
fn tally_delivered(packet: &Packet, payload: u32, context: &mut impl Context<Simulation>) {
    context.tally(TallyStep::Delivered {
        time: context.now(),
        job: packet.job,
        // What ranks receive counts by message.
        bytes: packet.standalone().then_some(payload),
    });
}

/// Memory of a host with this number of rails and traffic classes, in bytes.
pub fn bytes_with(rails: u32, classes: u8) -> u64 {
    size_of::<Host>() as u64 + rails::bytes_of_more(rails, classes)
}
