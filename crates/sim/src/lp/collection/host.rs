//! What a host LP collects: counts of its jobs, samples, and timelines of its ranks, messages and packets.

use des::{Context, Journal, Time};
use fabric::{NicSource, NicWaitTracker, NicWaitTrackerUndo, Outgoing, Packet, PacketFate};
use mpi::{Message, TimelineEvent};
use serde::{Deserialize, Serialize};
use topology::HostId;

use super::timeline::{HostTimeline, emit_asked, emit_rank_event};
use crate::lp::counts::{AllCounts, CountsUndo, JobCounts, counts_of, of_job};
use crate::lp::ledger::{PacketLedger, PacketLedgerUndo};
use crate::lp::net_event::Record;
use crate::lp::sampling::{HostSampler, HostSamples, HostView, RailView, SampledVc, SentSum, TallyStep};
use crate::lp::simulation::Simulation;
use crate::lp::timeline_record::{MessageKey, TimelineRecord};
use crate::lp::times_by_job::{TimesByJob, TimesByJobUndo};

/// What a host LP collects.
// What sending touches lies together: its memory is rarely cached.
#[repr(C)]
pub struct HostCollection {
    sampler: HostSampler,
    /// What few runs collect; `None` in all others.
    rare: Option<Box<RareHostCollection>>,
    /// By job, in the order in which this host first met them: few, and searched from the front.
    counts: AllCounts,
}

/// What a host collects in few runs.
#[derive(Default)]
struct RareHostCollection {
    /// `None` unless timelines or waits are collected, or energy is divided among jobs.
    timeline: Option<HostTimeline>,
    /// Packets of its NIC itself, and what became of packets other than departures and deliveries.
    ledger: PacketLedger,
}

/// What changes, for checkpoints.
#[derive(Serialize, Deserialize)]
pub struct HostCollectionState {
    counts: Vec<JobCounts>,
    samples: Option<HostSamples>,
    /// By rail; empty unless waits are collected.
    wait_trackers: Vec<NicWaitTracker>,
    /// `None` unless energy is divided among jobs.
    transmissions: Option<TimesByJob>,
    ledger: Option<PacketLedger>,
}

/// One step of a host's collection to undo.
pub enum HostCollectionUndo {
    /// Of its counts.
    Counts(CountsUndo),
    /// It was sampled.
    Sampled(Box<HostSamples>),
    /// The peaks of a VC have grown; VCs are numbered by rail, then traffic class.
    PeaksRaised { index: u16, before: SampledVc },
    /// The wait tracker of a port of its NIC has changed.
    WaitTracker { rail: u8, step: NicWaitTrackerUndo },
    /// Of the transmissions of each job.
    Transmission(TimesByJobUndo),
    /// Of what became of packets.
    Ledger(PacketLedgerUndo),
}

/// A message that a host makes.
#[derive(Clone, Copy)]
pub struct MadeMessage {
    /// Job.
    pub job: u16,
    /// Bytes.
    pub bytes: u64,
    /// When it is made.
    pub at: Time,
    /// Whether it leaves through the NIC, not through the memory of the host.
    pub leaves: bool,
}

/// A packet that leaves a host.
#[derive(Clone, Copy)]
pub struct HostDepartureFacts {
    /// Port of the NIC.
    pub rail: u8,
    /// VC into which the packet goes.
    pub vc: u8,
    /// What the packet is of.
    pub source: NicSource,
    /// Time until it starts onto the link.
    pub wait: Time,
    /// Time that it takes to leave.
    pub serialization: Time,
    /// Whether it is the last packet of its message.
    pub last: bool,
}

/// Keeps undo steps of a host's collection.
struct CollectionJournal<'a, C>(&'a mut C);

impl<C: Context<Simulation>> Journal<CountsUndo> for CollectionJournal<'_, C> {
    const KEPT: bool = C::REVERSIBLE;

    #[inline]
    fn keep(&mut self, step: CountsUndo) {
        self.0.undo(HostCollectionUndo::Counts(step).into());
    }
}

impl HostCollection {
    /// The collection of a host before the run.
    pub fn new(simulation: &Simulation, host: HostId) -> HostCollection {
        HostCollection {
            sampler: HostSampler::new(simulation, host),
            rare: HostTimeline::new(simulation).map(|timeline| {
                Box::new(RareHostCollection {
                    timeline: Some(timeline),
                    ..RareHostCollection::default()
                })
            }),
            counts: AllCounts::new(),
        }
    }

    /// Prefetches the memory that the next events touch.
    #[inline]
    pub fn prefetch(&self) {
        des::prefetch(self);
    }

    /// Prefetches the memory that the arrival of a packet touches.
    #[inline]
    pub fn prefetch_for(&self, now: Time, packet: &Packet) {
        if let Some(counts) = self.counts.first() {
            counts.prefetch_for(now, packet);
        }
    }

    /// An event comes, which the host has not seen yet.
    #[inline(always)]
    pub fn event<R: Fn(u32, Time) -> RailView, C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        seen: impl FnOnce() -> HostView<R>,
        context: &mut C,
    ) {
        if self.sampler.is_due(context.now()) {
            self.sample(simulation, &seen(), context);
        }
    }

    /// Samples the host for the bins that end before now.
    #[cold]
    #[inline(never)]
    fn sample<R: Fn(u32, Time) -> RailView, C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        seen: &HostView<R>,
        context: &mut C,
    ) {
        let now = context.now();
        let note = |index, before| context.undo(HostCollectionUndo::PeaksRaised { index, before }.into());
        self.sampler.raise_peaks(simulation, seen, now, note);
        let (emit, state) = (&mut |record| context.emit(record), (seen, &*self.counts));
        if let Some(before) = self.sampler.sample(simulation, state, now, C::REVERSIBLE, emit) {
            context.undo(HostCollectionUndo::Sampled(before).into());
        }
    }

    /// A rank makes a message.
    #[inline]
    pub fn made<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        message: MadeMessage,
        context: &mut C,
    ) {
        if simulation.shortcuts.tallies.is_on() {
            tally_made(message.at, message.job, message.bytes, context);
        }
        self.count(simulation, message, context);
    }

    /// A source makes a message; what comes of it is told before the next one is made
    /// ([`HostCollection::departed_at_once`] or [`HostCollection::queued`]). `sum`: messages of the same event. Returns
    /// it if the message is to be added to it.
    #[inline]
    pub fn made_in_event<'r, C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        message: MadeMessage,
        sum: &'r mut SentSum,
        context: &mut C,
    ) -> Option<&'r mut SentSum> {
        self.count(simulation, message, context);
        simulation.shortcuts.tallies.is_on().then_some(sum)
    }

    /// A message that was made at this time did not leave at once. `sum`: what [`HostCollection::made_in_event`]
    /// returned for it, if a source makes it.
    #[inline]
    pub fn queued<S, C: Context<Simulation>>(
        &mut self,
        message: &Outgoing<S>,
        made_at: Time,
        sum: Option<&mut SentSum>,
        context: &mut C,
    ) {
        if sum.is_some() {
            tally_made(made_at, message.job, message.bytes, context);
        }
    }

    #[inline]
    fn count<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        message: MadeMessage,
        context: &mut C,
    ) {
        let MadeMessage {
            job,
            bytes,
            at,
            leaves,
        } = message;
        let measured = simulation.measured;
        let offered = (leaves && measured.contains(at)).then(|| at - measured.from);
        let journal = &mut CollectionJournal(context);
        counts_of(&mut self.counts, job, journal).message(bytes, offered, journal);
    }

    /// A port of the NIC takes a message of this source.
    #[inline]
    pub fn taken<C: Context<Simulation>>(
        &mut self,
        rail: u8,
        source: impl FnOnce() -> NicSource,
        context: &mut C,
    ) {
        if self.rare.is_some()
            && let Some(timeline) = self.timeline_mut()
        {
            timeline.taken(rail, source(), context);
        }
    }

    fn timeline(&self) -> Option<&HostTimeline> {
        self.rare.as_ref()?.timeline.as_ref()
    }

    fn timeline_mut(&mut self) -> Option<&mut HostTimeline> {
        self.rare.as_mut()?.timeline.as_mut()
    }

    /// The NIC sends a packet of its own.
    #[cold]
    #[inline(never)]
    pub fn sent_control<C: Context<Simulation>>(&mut self, context: &mut C) {
        let step = self.rare.get_or_insert_default().ledger.note_control();
        if C::REVERSIBLE {
            context.undo(HostCollectionUndo::Ledger(step).into());
        }
    }

    /// The NIC sends a packet of its own, whose time on the link is final.
    #[cold]
    #[inline(never)]
    pub fn control_departed<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        bytes: u32,
        (wait, serialization): (Time, Time),
        context: &mut C,
    ) {
        if simulation.shortcuts.tallies.is_on() {
            tally_injection(bytes, wait, serialization, context);
        }
        self.sent_control(context);
    }

    /// Something becomes of a packet other than a departure or a delivery.
    #[cold]
    #[inline(never)]
    pub fn fate<C: Context<Simulation>>(&mut self, packet: &Packet, fate: PacketFate, context: &mut C) {
        let step = self.rare.get_or_insert_default().ledger.note(packet, fate);
        if C::REVERSIBLE {
            context.undo(HostCollectionUndo::Ledger(step).into());
        }
    }

    /// What [`HostCollection::sent_control`] and [`HostCollection::fate`] were told; `None` where nothing was.
    pub fn ledger(&self) -> Option<&PacketLedger> {
        let ledger = self.rare.as_ref().map(|rare| &rare.ledger);
        ledger.filter(|ledger| **ledger != PacketLedger::default())
    }

    /// A packet leaves. It carries its wait for the link, if that is collected where it arrives.
    #[inline(always)]
    pub fn departed<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        packet: &mut Packet,
        facts: HostDepartureFacts,
        context: &mut C,
    ) {
        if simulation.shortcuts.tallies.is_on() {
            tally_departure(packet.bytes, facts, context);
        }
        self.count_departure(simulation, packet, facts, context);
    }

    /// As [`HostCollection::departed`], for a message of one packet in the event in which it is made. `sum`: what
    /// [`HostCollection::made_in_event`] returned for it.
    #[inline(always)]
    pub fn departed_at_once<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        packet: &mut Packet,
        facts: HostDepartureFacts,
        sum: Option<&mut SentSum>,
        context: &mut C,
    ) {
        if let Some(sum) = sum {
            sum.add(simulation, packet, (facts.wait, facts.serialization), context);
        } else if simulation.shortcuts.tallies.is_on() {
            tally_departure(packet.bytes, facts, context);
        }
        self.count_departure(simulation, packet, facts, context);
    }

    #[inline(always)]
    fn count_departure<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        packet: &mut Packet,
        facts: HostDepartureFacts,
        context: &mut C,
    ) {
        if self.rare.is_some() {
            self.timeline_departure(packet, facts, context);
        }
        let journal = &mut CollectionJournal(&mut *context);
        let counts = counts_of(&mut self.counts, packet.job, journal);
        counts.injected(journal);
        if !packet.standalone() {
            let start = journal.0.now() + facts.wait;
            counts.message_injected((start, facts.serialization), packet, facts.last, journal);
        } else if simulation.uses_source_wait {
            let start = journal.0.now() + facts.wait;
            if simulation.drains {
                counts.waited(start, packet, simulation.measured, journal);
            }
            if simulation.network_latency {
                packet.set_source_wait(start.saturating_sub(packet.created_at()));
            }
        }
    }

    #[inline(never)]
    fn timeline_departure<C: Context<Simulation>>(
        &mut self,
        packet: &Packet,
        facts: HostDepartureFacts,
        context: &mut C,
    ) {
        if let Some(timeline) = self.timeline_mut() {
            timeline.departed(facts.vc, *packet, facts, context);
        }
    }

    /// An injection link waited for credits.
    #[inline]
    pub fn stalled<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        since: Time,
        until: Time,
        context: &mut C,
    ) {
        if simulation.shortcuts.tallies.is_on() {
            context.tally(TallyStep::InjectionStalled { since, until });
        }
    }

    /// A packet with this payload has arrived.
    #[inline]
    pub fn delivered<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        packet: &Packet,
        payload: u32,
        context: &mut C,
    ) {
        if simulation.shortcuts.tallies.is_on() {
            tally_delivered(packet, payload, context);
        }
        let journal = &mut CollectionJournal(context);
        let counts = counts_of(&mut self.counts, packet.job, journal);
        counts.delivered(journal.0.now(), (packet, payload), simulation.measured, journal);
    }

    /// A message of this size on the wire has arrived for a rank, after a time in queues.
    #[inline]
    pub fn received<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        (job, message): (u16, &Message),
        bytes: u64,
        queueing: Time,
        context: &mut C,
    ) {
        if simulation.timeline {
            let key = MessageKey::new(job, message);
            context.emit(Record::Timeline(TimelineRecord::Arrived { key }));
        }
        if simulation.shortcuts.tallies.is_on() {
            context.tally(TallyStep::Received { job, bytes });
        }
        let journal = &mut CollectionJournal(context);
        counts_of(&mut self.counts, job, journal).received(bytes, queueing, journal);
    }

    /// The message of a rank got its number, if it leaves through the NIC. `asked`: when the rank asked for it, and by
    /// which algorithm of a collective, if [`HostCollection::rank_did`] returned it.
    #[inline]
    pub fn numbered<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        (job, message): (u16, &Message),
        number: Option<u32>,
        asked: Option<(Time, Option<u16>)>,
        context: &mut C,
    ) {
        if simulation.timeline {
            emit_asked(job, message, number, asked, context);
        }
    }

    /// The message of a rank, which waited for the gap after another one, reaches the NIC.
    pub fn handed_over<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        (job, message): (u16, &Message),
        context: &mut C,
    ) {
        if simulation.timeline {
            let key = MessageKey::new(job, message);
            context.emit(Record::Timeline(TimelineRecord::Handed { key }));
        }
    }

    /// A rank of a job notes what it did. Returns when it asked for its next message, and by which algorithm of a
    /// collective, if the note says so.
    pub fn rank_did<C: Context<Simulation>>(
        &mut self,
        note: TimelineEvent,
        rank: (u16, u32),
        context: &mut C,
    ) -> Option<(Time, Option<u16>)> {
        emit_rank_event(note, rank, context)
    }

    /// Undoes one step.
    #[inline]
    pub fn undo(&mut self, simulation: &Simulation, step: HostCollectionUndo) {
        match step {
            HostCollectionUndo::Counts(step) => step.undo(&mut self.counts),
            HostCollectionUndo::Sampled(before) => self.sampler.undo(simulation.plan.bins(), before),
            HostCollectionUndo::PeaksRaised { index, before } => self.sampler.undo_raise(index, before),
            HostCollectionUndo::WaitTracker { rail, step } => {
                let wait_trackers = self.timeline_mut().map(|timeline| &mut timeline.wait_trackers);
                let wait_tracker = wait_trackers.and_then(|all| all.get_mut(usize::from(rail)));
                if let Some(wait_tracker) = wait_tracker {
                    wait_tracker.undo(step);
                }
            }
            HostCollectionUndo::Transmission(step) => {
                let transmissions = self.timeline_mut().map(|timeline| &mut timeline.transmissions);
                if let Some(Some(transmissions)) = transmissions {
                    transmissions.undo(step);
                }
            }
            HostCollectionUndo::Ledger(step) => {
                if let Some(rare) = &mut self.rare {
                    rare.ledger.undo(step);
                }
            }
        }
    }

    /// Emits the last samples, at the end of the run.
    pub fn finish<R: Fn(u32, Time) -> RailView>(
        &self,
        simulation: &Simulation,
        seen: &HostView<R>,
        end: Time,
        emit: &mut impl FnMut(Record),
    ) {
        self.sampler.finish(simulation, (seen, &self.counts), end, emit);
    }

    /// What a job has sent and received.
    pub fn counts(&self, job: usize) -> Option<&JobCounts> {
        of_job(&self.counts, job)
    }

    /// Bytes of measured traffic that were offered here less those that arrived here, modulo 2^64.
    pub fn measured_under_way(&self) -> u64 {
        let under_way = |counts: &JobCounts| counts.offered_bytes.wrapping_sub(counts.measured_bytes);
        let bytes = self.counts.iter().map(under_way);
        bytes.fold(0, u64::wrapping_add)
    }

    /// Times that the injection links took to transmit the packets of each job. `None` unless energy is divided among
    /// jobs.
    pub fn transmissions(&self) -> Option<&TimesByJob> {
        self.timeline()?.transmissions.as_ref()
    }

    fn wait_trackers(&self) -> &[NicWaitTracker] {
        self.timeline().map_or(&[], |timeline| &timeline.wait_trackers)
    }

    /// The state that changes.
    pub fn state(&self) -> HostCollectionState {
        HostCollectionState {
            counts: self.counts.to_vec(),
            samples: self.sampler.state(),
            wait_trackers: self.wait_trackers().to_vec(),
            transmissions: self.transmissions().cloned(),
            ledger: self.ledger().cloned(),
        }
    }

    /// Replaces the state by a saved one.
    ///
    /// # Errors
    /// The saved state is that of another host or experiment.
    pub fn restore(&mut self, simulation: &Simulation, state: HostCollectionState) -> Result<(), String> {
        if state.wait_trackers.len() != self.wait_trackers().len() {
            return Err("it has other wait trackers".into());
        }
        if state.transmissions.is_some() != self.transmissions().is_some() {
            return Err("it counts other transmissions".into());
        }
        if let Some(ledger) = state.ledger {
            self.rare.get_or_insert_default().ledger = ledger;
        }
        if let Some(timeline) = self.timeline_mut() {
            timeline.wait_trackers = state.wait_trackers.into();
            timeline.transmissions = state.transmissions;
        }
        self.counts = state.counts.into();
        self.sampler.restore(simulation.plan.bins(), state.samples)
    }
}

/// Adds a message to the tally of the worker.
// This and what follows is not inlined, to keep the code of runs without series small.
#[inline(never)]
fn tally_made(time: Time, job: u16, bytes: u64, context: &mut impl Context<Simulation>) {
    context.tally(TallyStep::Sent { time, job, bytes });
}

/// Adds a reservation of an injection link to the tally of the worker.
#[inline(never)]
fn tally_departure(bytes: u32, facts: HostDepartureFacts, context: &mut impl Context<Simulation>) {
    tally_injection(bytes, facts.wait, facts.serialization, context);
}

fn tally_injection(bytes: u32, wait: Time, serialization: Time, context: &mut impl Context<Simulation>) {
    context.tally(TallyStep::Injection {
        start: context.now() + wait,
        serialization,
        bytes,
    });
}

/// Adds a delivered packet to the tally of the worker.
#[inline(never)]
fn tally_delivered(packet: &Packet, payload: u32, context: &mut impl Context<Simulation>) {
    context.tally(TallyStep::Delivered {
        time: context.now(),
        job: packet.job,
        // What ranks receive counts by message.
        bytes: packet.standalone().then_some(payload),
    });
}
