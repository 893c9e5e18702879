//! The host as a logical process: its NIC with one port for each rail, the MPI ranks and the traffic sources
//! behind it. They talk with each other without delay, hence share an LP.

use std::collections::BTreeMap;

use des::{Context, Journal, Purpose, Time};
use fabric::{
    Inbox, InboxState, InboxUndo, LinkUse, Nic, NicModel, NicOutputs, NicState, NicUndo, NicWaitTracker,
    NicWaitTrackerUndo, Outgoing, Packet, Wait, WaitOutputs,
};
use mpi::{Action, COLLECTIVE_CONTEXT, Changes, Message, Rank, RankState, TraceEvent, WINDOW_CONTEXT};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use topology::{HOST_LINK, HostId};
use workload::{Operation, Program, TraceError};

use crate::Error;
use crate::collect::{HostSampler, HostSamples, HostSeen, RailSeen};
use crate::lp::counts::{AllCounts, CountsUndo, JobCounts, counts_of, of_job};
use crate::lp::model::{Failure, Simulation, Undo};
use crate::lp::net_event::{NetEvent, Record};
use crate::lp::trace_record::{MessageKey, TraceRecord};
use crate::lp::wiring::LinkEnd;
use crate::setup::job::{JobKind, RankJob, TrafficJob};
use crate::setup::rails::{Choice, EndPoint, MAX_RAILS};

/// What the NIC gives back when a message has left: the rank's place on the host and its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Injected {
    slot: u16,
    request: u32,
}

/// One host. Of a million hosts each has an event now and then, and nothing of it is near then: what synthetic traffic
/// touches lies side by side, what it sends with in front of what it receives with.
#[repr(C)]
pub struct Host {
    /// Samples it, if anything is sampled.
    sampler: HostSampler,
    /// Number of its next message, modulo 2^32.
    next_message: u32,
    id: HostId,
    sources: SmallVec<[Source; 1]>,
    /// None where the first is the only rail.
    more: Option<Box<MoreRails>>,
    /// What it tells of itself; none: nothing.
    tracer: Option<Box<Tracer>>,
    first: Rail,
    /// Of the jobs that this host has had to do with: few, and looked for from the front.
    counts: AllCounts,
    inbox: Inbox<Message>,
    ranks: Vec<RankSlot>,
    /// Messages sent by its ranks less those received by them, modulo 2^32.
    in_flight: u32,
    /// When the NIC takes the next message of a rank at the earliest.
    next_handover: Time,
    actions: Vec<Action>,
}

/// One port of the NIC.
#[repr(C)]
struct Rail {
    injection: LinkEnd,
    nic: Nic<Injected>,
}

/// What a host has more if it has several rails.
struct MoreRails {
    /// All but the first.
    others: Box<[Rail]>,
    /// The rail whose turn it is.
    turn: u8,
    /// Messages that several rails carry and a rank wants to know the end of: how many still have some of it.
    divided: BTreeMap<Injected, u8>,
}

/// What a host remembers to tell of itself.
struct Tracer {
    /// Whether it tells of its ranks and their messages.
    timeline: bool,
    /// Of each rail, if it tells for whom packets wait.
    wait_trackers: Box<[NicWaitTracker]>,
}

/// A rank on this host.
pub struct RankSlot {
    /// Job.
    pub job: u16,
    /// Rank in the job.
    pub rank: u32,
    /// Its state; none before it starts.
    pub state: Option<Rank>,
}

/// A source of synthetic traffic on this host.
struct Source {
    job: u16,
    /// This host's number among those of the job.
    index: u32,
    /// Messages so far.
    sent: u64,
}

/// One step back of a host.
pub enum HostUndo {
    /// Of one port of its NIC.
    Nic { rail: u8, step: NicUndo<Injected> },
    /// Its rails took turns.
    Turned { before: u8 },
    /// Of a message that several rails carry, another number of them has some left; 0: none was noted.
    Divided { message: Injected, before: u8 },
    /// Of its inbox.
    Inbox(InboxUndo<Message>),
    /// Of its counts.
    Counts(CountsUndo),
    /// A rank has begun.
    Started { slot: u16 },
    /// A rank has gone on.
    Rank { slot: u16, changes: Changes },
    /// A source has sent a message, which got a number.
    SourceSent { source: u16 },
    /// One of its ranks has sent a message.
    MessageSent {
        /// Whether it got a number.
        numbered: bool,
    },
    /// A message for one of its ranks has come.
    MessageReceived,
    /// It was sampled.
    Sampled(Box<HostSamples>),
    /// Of the diary of one port of its NIC.
    WaitTracker { rail: u8, step: NicWaitTrackerUndo },
    /// The NIC keeps its distance from another message.
    HandedOver {
        /// When it would have taken the next one before.
        before: Time,
    },
}

/// All of a host that changes.
#[derive(Serialize, Deserialize)]
pub struct HostState {
    /// Of each rail.
    nics: Vec<NicState<Injected>>,
    turn: u8,
    divided: BTreeMap<Injected, u8>,
    next_message: u32,
    inbox: InboxState<Message>,
    /// Of each seat; none before the rank starts.
    ranks: Vec<Option<RankState>>,
    /// Messages of each source so far.
    sent: Vec<u64>,
    counts: Vec<JobCounts>,
    in_flight: u32,
    next_handover: Time,
    samples: Option<HostSamples>,
    /// Of each rail, if diaries are kept.
    wait_trackers: Vec<NicWaitTracker>,
}

/// Where the outputs of a port of the NIC go: into events.
struct NicLinkAdapter<'a, C> {
    rail: u8,
    link_end: LinkEnd,
    counts: &'a mut AllCounts,
    tracer: Option<&'a mut Tracer>,
    simulation: &'a Simulation,
    context: &'a mut C,
}

impl Host {
    /// A host before the run.
    pub fn new(simulation: &Simulation, id: HostId) -> Host {
        let rails = simulation.network.rails.count();
        let more = (rails > 1).then(|| {
            Box::new(MoreRails {
                others: (1..rails).map(|rail| Rail::new(simulation, id, rail)).collect(),
                turn: 0,
                divided: BTreeMap::new(),
            })
        });
        let ranks = simulation.seats.ranks(id).map(|(job, rank)| RankSlot {
            job,
            rank,
            state: None,
        });
        let sources = simulation
            .seats
            .sources(id)
            .map(|(job, index)| Source { job, index, sent: 0 });
        Host {
            id,
            first: Rail::new(simulation, id, 0),
            more,
            next_message: 0,
            inbox: Inbox::default(),
            ranks: ranks.collect(),
            sources: sources.collect(),
            counts: AllCounts::new(),
            in_flight: 0,
            next_handover: Time::ZERO,
            actions: Vec::new(),
            sampler: HostSampler::new(simulation, id),
            tracer: Tracer::new(simulation).map(Box::new),
        }
    }

    /// First events: ranks begin, traffic sets in.
    pub fn start(&mut self, simulation: &Simulation, context: &mut impl Context<Simulation>) {
        for (slot, rank_slot) in self.ranks.iter().enumerate() {
            let start = simulation.jobs[usize::from(rank_slot.job)].start;
            context.send(context.lp(), start, NetEvent::RankStarted { slot: slot as u16 });
        }
        for (source, of) in self.sources.iter().enumerate() {
            let job = &simulation.jobs[usize::from(of.job)];
            let first = traffic(simulation, of).gap(0, &mut Random(context));
            context.send(
                context.lp(),
                job.start + first,
                NetEvent::TrafficDue {
                    source: source as u16,
                },
            );
        }
    }

    /// Asks for the memory that its next events will touch.
    #[inline]
    pub fn prefetch(&self) {
        des::prefetch(&self.counts);
    }

    /// Asks for the memory that this event will touch.
    #[inline]
    pub fn prefetch_for(&self, simulation: &Simulation, now: Time, event: &NetEvent) {
        match event {
            NetEvent::PacketArrived { packet, .. } => {
                if let Some(counts) = self.counts.first() {
                    counts.prefetch_for(now, packet);
                }
                if !packet.standalone {
                    let source = simulation.network.rails.host(EndPoint(packet.source));
                    self.inbox.prefetch_for(source, packet.message);
                }
            }
            NetEvent::CreditReturned { .. }
            | NetEvent::InjectionFree { .. }
            | NetEvent::TrafficDue { .. } => {
                self.first.nic.prefetch();
            }
            _ => {}
        }
    }

    /// Carries out one event.
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
                let (nic, mut adapter) = self.nic(simulation, port as u8, context);
                if let Some(packet) = nic.arrived(now, packet, &mut adapter) {
                    self.packet(simulation, packet, context);
                }
            }
            NetEvent::CreditReturned { port, bytes, .. } => {
                let (nic, mut adapter) = self.nic(simulation, port as u8, context);
                nic.credit(now, bytes, &mut adapter);
            }
            NetEvent::InjectionFree { rail } => {
                let (nic, mut adapter) = self.nic(simulation, rail, context);
                if let Some(packet) = nic.timer(now, (), &mut adapter) {
                    self.packet(simulation, packet, context);
                }
            }
            NetEvent::TrafficDue { source } => self.traffic(simulation, source, context),
            NetEvent::MessageAnnounced { job, number, message } => {
                let JobKind::Ranks(ranks) = &simulation.jobs[usize::from(job)].kind else {
                    unreachable!("only ranks announce messages")
                };
                let source = ranks.hosts[message.from as usize];
                let bytes = wire_bytes(&message, &ranks.mpi.settings);
                self.inbox
                    .announced(source, number, bytes, message, &mut Notes(context));
            }
            NetEvent::MessageDue { job, number, message } => {
                let seats = &simulation.seats;
                let slot = seats.slot(&simulation.jobs[usize::from(job)], message.from);
                if simulation.timeline {
                    let key = MessageKey::new(job, &message);
                    context.emit(Record::Trace(TraceRecord::Handed { key }));
                }
                self.hand_over(simulation, (slot, job), number, message, context);
            }
            NetEvent::MemoryDelivered { job, message } => self.deliver(simulation, job, message, context),
            NetEvent::RankStarted { slot } => self.start_rank(simulation, slot, context),
            NetEvent::RankResumed { slot } => self.with_rank(simulation, slot, context, |rank, actions| {
                rank.resume(now, actions)
            }),
            NetEvent::MessageInjected { slot, request } => {
                if self.take_injection(slot, request, context) {
                    self.with_rank(simulation, slot, context, |rank, actions| {
                        rank.injected(now, request, actions)
                    });
                }
            }
            NetEvent::ProgressAsked => self.tell_progress(simulation, context),
            NetEvent::RouterTimer(_)
            | NetEvent::SignalArrived { .. }
            | NetEvent::ReportDue
            | NetEvent::LoadsTold { .. }
            | NetEvent::RankFinished
            | NetEvent::RoundDue
            | NetEvent::ProgressTold { .. } => {
                unreachable!("{event:?} does not happen to a host")
            }
        }
    }

    /// Notes what has been in the bins before the one that begins.
    #[cold]
    #[inline(never)]
    fn sample<C: Context<Simulation>>(&mut self, simulation: &Simulation, context: &mut C) {
        let now = context.now();
        let Host {
            id,
            first,
            more,
            counts,
            sampler,
            ..
        } = self;
        let seen = seen(*id, first, more.as_deref(), counts);
        let emit = &mut |record| context.emit(record);
        if let Some(before) = sampler.sample(simulation, &seen, now, C::REVERSIBLE, emit) {
            context.undo(Undo::Host(HostUndo::Sampled(before)));
        }
    }

    /// The last samples, of a host to which nothing will happen any more.
    pub fn finish(&self, simulation: &Simulation, end: Time, emit: &mut impl FnMut(Record)) {
        let seen = seen(self.id, &self.first, self.more.as_deref(), &self.counts);
        self.sampler.finish(simulation, &seen, end, emit);
    }

    #[inline]
    fn nic<'a, C>(
        &'a mut self,
        simulation: &'a Simulation,
        rail: u8,
        context: &'a mut C,
    ) -> (&'a mut Nic<Injected>, NicLinkAdapter<'a, C>) {
        let port = match (rail, &mut self.more) {
            (1.., Some(more)) => &mut more.others[usize::from(rail) - 1],
            _ => &mut self.first,
        };
        let adapter = NicLinkAdapter {
            rail,
            link_end: port.injection,
            counts: &mut self.counts,
            tracer: self.tracer.as_deref_mut(),
            simulation,
            context,
        };
        (&mut port.nic, adapter)
    }

    /// Hands a message that is made at `created_at` to the NIC, its `destination` still the number of a host.
    #[inline]
    fn inject<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        created_at: Time,
        message: Outgoing<Injected>,
        context: &mut C,
    ) {
        if self.more.is_some() {
            return self.deal_out(simulation, message, context);
        }
        // Hosts with one rail have the number of their end point.
        let now = context.now();
        let (nic, mut adapter) = self.nic(simulation, 0, context);
        adapter.take(now);
        nic.send((now, created_at), &message, &mut adapter);
    }

    /// Gives each of several rails its part of a message.
    // Out of the way of hosts with one rail.
    #[inline(never)]
    fn deal_out<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        message: Outgoing<Injected>,
        context: &mut C,
    ) {
        let Some(more) = &mut self.more else { return };
        let (network, now) = (&simulation.network, context.now());
        let (rails, bytes) = (&network.rails, message.bytes);
        let unit = rails.unit(bytes, network.packet);
        let (mut shares, turn) = ([0; MAX_RAILS], more.turn);
        let shares = &mut shares[..rails.count() as usize];
        let next = match rails.choice() {
            Choice::RoundRobin => fabric::rails::in_turn(bytes, unit, usize::from(turn), shares),
            Choice::LeastLoaded => {
                let mut queued = [0; MAX_RAILS];
                queued[0] = self.first.nic.backlog();
                for (queued, rail) in queued[1..].iter_mut().zip(&more.others) {
                    *queued = rail.nic.backlog();
                }
                let queued = &queued[..shares.len()];
                fabric::rails::to_the_least_loaded(bytes, unit, usize::from(turn), queued, shares)
            }
            Choice::ByDestination => {
                shares[rails.by_destination(self.id, message.destination) as usize] = bytes;
                usize::from(turn)
            }
        };
        if C::REVERSIBLE && next != usize::from(turn) {
            context.undo(Undo::Host(HostUndo::Turned { before: turn }));
        }
        more.turn = next as u8;
        let parts = shares.iter().filter(|share| **share > 0).count() as u8;
        if let Some(injected) = message.report
            && parts > 1
        {
            more.note_divided(injected, parts, context);
        }
        let to = message.destination;
        for (rail, bytes) in (0..).zip(&*shares).filter(|(_, bytes)| **bytes > 0) {
            let part = Outgoing {
                destination: rails.end_point(to, u32::from(rail)).0,
                bytes: *bytes,
                ..message
            };
            let (nic, mut adapter) = self.nic(simulation, rail, context);
            adapter.take(now);
            nic.send((now, now), &part, &mut adapter);
        }
    }

    /// A rail has sent all that it had of a message: whether that was the last of it.
    #[inline]
    fn take_injection<C: Context<Simulation>>(&mut self, slot: u16, request: u32, context: &mut C) -> bool {
        let Some(more) = &mut self.more else { return true };
        let message = Injected { slot, request };
        let Some(left) = more.divided.get(&message) else {
            return true;
        };
        let left = left - 1;
        more.note_divided(message, left, context);
        left == 0
    }

    /// The NIC delivers a packet.
    fn packet<C: Context<Simulation>>(&mut self, simulation: &Simulation, packet: Packet, context: &mut C) {
        let notes = &mut Notes(context);
        let counts = counts_of(&mut self.counts, packet.job, notes);
        counts.delivered(notes.0.now(), &packet, simulation.warmup, notes);
        if packet.standalone {
            return;
        }
        let source = simulation.network.rails.host(EndPoint(packet.source));
        let whole = self.inbox.packet(source, packet.message, packet.bytes, notes);
        if let Some(message) = whole {
            self.deliver(simulation, packet.job, message, context);
        }
    }

    /// The next message of a source is due: sends it, and all that follow it without a gap. A source that its
    /// pattern keeps silent learns of it here, and is never due again.
    fn traffic<C: Context<Simulation>>(&mut self, simulation: &Simulation, source: u16, context: &mut C) {
        let now = context.now();
        let mut due = now;
        loop {
            let of = &mut self.sources[usize::from(source)];
            let (job, index, traffic) = (of.job, of.index, traffic(simulation, of));
            let Some(destination) = traffic.destination(index, of.sent, &mut Random(context)) else {
                return;
            };
            of.sent += 1;
            let number = self.next_message;
            self.next_message = number.wrapping_add(1);
            if C::REVERSIBLE {
                context.undo(Undo::Host(HostUndo::SourceSent { source }));
            }
            let bytes = traffic.bytes(&mut Random(context));
            let gap = traffic.gap(of.sent, &mut Random(context));
            let message = Outgoing {
                destination,
                number,
                bytes,
                job,
                standalone: true,
                report: None,
            };
            self.count_message(job, bytes, due >= simulation.warmup, context);
            self.inject(simulation, due, message, context);
            due += gap;
            if due > now && !self.sends_ahead(simulation, now, due) {
                break;
            }
        }
        context.send(context.lp(), due - now, NetEvent::TrafficDue { source });
    }

    /// Whether the next message of its only source may be made ahead of its time.
    #[inline]
    fn sends_ahead(&self, simulation: &Simulation, now: Time, due: Time) -> bool {
        simulation.shortcuts.send_ahead.reaches(now, due)
            && self.sources.len() == 1
            && self.first.nic.is_clear()
    }

    fn count_message<C: Context<Simulation>>(
        &mut self,
        job: u16,
        bytes: u64,
        offered: bool,
        context: &mut C,
    ) {
        let notes = &mut Notes(context);
        counts_of(&mut self.counts, job, notes).message(bytes, offered, notes);
    }

    /// A whole message has come for one of this host's ranks.
    fn deliver<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        job: u16,
        message: Message,
        context: &mut C,
    ) {
        self.in_flight = self.in_flight.wrapping_sub(1);
        if C::REVERSIBLE {
            context.undo(Undo::Host(HostUndo::MessageReceived));
        }
        if simulation.timeline {
            let key = MessageKey::new(job, &message);
            context.emit(Record::Trace(TraceRecord::Arrived { key }));
        }
        let now = context.now();
        let of = &simulation.jobs[usize::from(job)];
        if let JobKind::Ranks(ranks) = &of.kind {
            let bytes = wire_bytes(&message, &ranks.mpi.settings);
            let notes = &mut Notes(context);
            counts_of(&mut self.counts, job, notes).received(bytes, notes);
        }
        let slot = simulation.seats.slot(of, message.to);
        self.with_rank(simulation, slot, context, |rank, actions| {
            rank.arrived(now, message, actions)
        });
    }

    fn tell_progress(&self, simulation: &Simulation, context: &mut impl Context<Simulation>) {
        let active = |rank_slot: &&RankSlot| {
            let state = rank_slot.state.as_ref();
            state.is_none_or(|rank| !rank.finished() && !rank.blocked())
        };
        let record = NetEvent::ProgressTold {
            active: self.ranks.iter().filter(active).count() as u32,
            in_flight: self.in_flight,
        };
        context.send(
            simulation.numbering.termination_detector(),
            simulation.network.lookahead(),
            record,
        );
    }

    fn start_rank<C: Context<Simulation>>(&mut self, simulation: &Simulation, slot: u16, context: &mut C) {
        let rank_slot = &mut self.ranks[usize::from(slot)];
        let job = &simulation.jobs[usize::from(rank_slot.job)];
        let JobKind::Ranks(ranks) = &job.kind else {
            unreachable!("only jobs with ranks have seats")
        };
        match ranks.workload.program(rank_slot.rank) {
            Ok(program) => {
                let mut rank = Rank::new(ranks.mpi.clone(), rank_slot.rank, program);
                rank.set_tracing(simulation.timeline);
                rank_slot.state = Some(rank);
            }
            Err(error) => return context.fail(Error::from(error).into()),
        }
        if C::REVERSIBLE {
            context.undo(Undo::Host(HostUndo::Started { slot }));
        }
        let now = context.now();
        self.with_rank(simulation, slot, context, |rank, actions| {
            rank.start(now, actions)
        });
    }

    /// Lets a rank go on, and carries out what it wants done.
    fn with_rank<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        slot: u16,
        context: &mut C,
        step: impl FnOnce(&mut Rank, &mut Vec<Action>) -> Result<(), mpi::ReplayError>,
    ) {
        let rank_slot = &mut self.ranks[usize::from(slot)];
        let (job, rank) = (rank_slot.job, rank_slot.rank);
        let Some(state) = &mut rank_slot.state else {
            // Messages come to ranks that have started, but for one that could not, which ends the run.
            return;
        };
        let mut actions = std::mem::take(&mut self.actions);
        state.keep_changes(C::REVERSIBLE);
        let done = step(state, &mut actions);
        if C::REVERSIBLE
            && let Some(changes) = state.take_changes()
        {
            context.undo(Undo::Host(HostUndo::Rank { slot, changes }));
        }
        if let Err(source) = done {
            let job = simulation.jobs[usize::from(job)].name.clone();
            context.fail(Error::Replay { job, source }.into());
        }
        let mut asked = None;
        for action in actions.drain(..) {
            match action {
                Action::Send(message) => {
                    self.send(simulation, (slot, job), message, asked.take(), context);
                }
                Action::ResumeAt(time) => {
                    let delay = time - context.now();
                    context.send(context.lp(), delay, NetEvent::RankResumed { slot });
                }
                Action::Finished => {
                    context.emit(Record::RankDone { job, rank });
                    let delay = simulation.network.lookahead();
                    context.send(
                        simulation.numbering.termination_detector(),
                        delay,
                        NetEvent::RankFinished,
                    );
                }
                Action::Trace(TraceEvent::Activity {
                    what,
                    since,
                    until,
                    blocked,
                }) => context.emit(Record::Trace(TraceRecord::Did {
                    job,
                    rank,
                    since,
                    until,
                    what: what.into(),
                    blocked,
                })),
                Action::Trace(TraceEvent::SendIssued { at, algorithm }) => asked = Some((at, algorithm)),
                Action::Trace(TraceEvent::ReceiveMatched(message)) => {
                    let key = MessageKey::new(job, &message);
                    context.emit(Record::Trace(TraceRecord::Matched { key }));
                }
            }
        }
        self.actions = actions;
    }

    /// Sends a rank's message: through the NIC when it is its turn, or through memory if its receiver is on this
    /// host. `asked`: when it came to it, and by which algorithm of a collective, where that is told.
    fn send<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        (slot, job): (u16, u16),
        message: Message,
        asked: Option<(Time, Option<u16>)>,
        context: &mut C,
    ) {
        let JobKind::Ranks(ranks) = &simulation.jobs[usize::from(job)].kind else {
            unreachable!("only ranks send messages")
        };
        let destination = ranks.hosts[message.to as usize];
        let bytes = wire_bytes(&message, &ranks.mpi.settings);
        let offered = destination != self.id && context.now() >= simulation.warmup;
        self.count_message(job, bytes, offered, context);
        self.in_flight = self.in_flight.wrapping_add(1);
        let (number, numbered) = (self.next_message, destination != self.id);
        self.next_message = number.wrapping_add(u32::from(numbered));
        if C::REVERSIBLE {
            context.undo(Undo::Host(HostUndo::MessageSent { numbered }));
        }
        if simulation.timeline {
            let number = numbered.then_some(number);
            tell_asked(job, &message, number, asked, context);
        }
        let request = message.request;
        if !numbered {
            let memory = simulation.network.memory;
            // A copy through memory can be longer than a packet: whole mebibytes, then the rest.
            let mebibytes = memory.rate.serialization(1 << 20).ps() * (bytes >> 20);
            let delay =
                memory.latency + Time(mebibytes) + memory.rate.serialization((bytes & 0xF_FFFF) as u32);
            context.send(context.lp(), delay, NetEvent::MemoryDelivered { job, message });
            if message.reports_injection() {
                context.send(context.lp(), delay, NetEvent::MessageInjected { slot, request });
            }
            return;
        }
        let gap = ranks.mpi.settings.nic_gap;
        if gap > Time::ZERO {
            let (now, before) = (context.now(), self.next_handover);
            let due = before.max(now);
            self.next_handover = due.saturating_add(gap);
            if C::REVERSIBLE {
                context.undo(Undo::Host(HostUndo::HandedOver { before }));
            }
            if due > now {
                let event = NetEvent::MessageDue { job, number, message };
                return context.send(context.lp(), due - now, event);
            }
        }
        self.hand_over(simulation, (slot, job), number, message, context);
    }

    /// Hands the message of a rank, by its place on this host and its job, to the NIC.
    fn hand_over<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        (slot, job): (u16, u16),
        number: u32,
        message: Message,
        context: &mut C,
    ) {
        let JobKind::Ranks(ranks) = &simulation.jobs[usize::from(job)].kind else {
            unreachable!("only ranks send messages")
        };
        let (destination, request) = (ranks.hosts[message.to as usize], message.request);
        let outgoing = Outgoing {
            destination,
            number,
            bytes: wire_bytes(&message, &ranks.mpi.settings),
            job,
            standalone: false,
            report: message.reports_injection().then_some(Injected { slot, request }),
        };
        self.inject(simulation, context.now(), outgoing, context);
        let announced = NetEvent::MessageAnnounced { job, number, message };
        // One lookahead is at most one cable, and a packet crosses two.
        context.send(
            simulation.numbering.host(destination),
            simulation.network.lookahead(),
            announced,
        );
    }

    /// Takes back one step; steps are taken back in reverse order.
    pub fn undo(&mut self, simulation: &Simulation, step: HostUndo) {
        match step {
            HostUndo::Sampled(before) => self.sampler.undo(simulation.plan.bins(), before),
            HostUndo::Nic { rail, step } => match (rail, &mut self.more) {
                (1.., Some(more)) => more.others[usize::from(rail) - 1].nic.undo(step),
                _ => self.first.nic.undo(step),
            },
            HostUndo::Turned { before } => {
                if let Some(more) = &mut self.more {
                    more.turn = before;
                }
            }
            HostUndo::Divided { message, before } => {
                if let Some(more) = &mut self.more {
                    more.set_divided(message, before);
                }
            }
            HostUndo::Inbox(step) => self.inbox.undo(step),
            HostUndo::Counts(step) => step.undo(&mut self.counts),
            HostUndo::Started { slot } => self.ranks[usize::from(slot)].state = None,
            HostUndo::Rank { slot, changes } => {
                if let Some(rank) = &mut self.ranks[usize::from(slot)].state {
                    rank.undo(changes);
                }
            }
            HostUndo::SourceSent { source } => {
                self.sources[usize::from(source)].sent -= 1;
                self.next_message = self.next_message.wrapping_sub(1);
            }
            HostUndo::MessageSent { numbered } => {
                self.in_flight = self.in_flight.wrapping_sub(1);
                self.next_message = self.next_message.wrapping_sub(u32::from(numbered));
            }
            HostUndo::HandedOver { before } => self.next_handover = before,
            HostUndo::MessageReceived => self.in_flight = self.in_flight.wrapping_add(1),
            HostUndo::WaitTracker { rail, step } => {
                let wait_trackers = self.tracer.as_mut().map(|tracer| &mut tracer.wait_trackers);
                if let Some(wait_tracker) =
                    wait_trackers.and_then(|wait_trackers| wait_trackers.get_mut(usize::from(rail)))
                {
                    wait_tracker.undo(step);
                }
            }
        }
    }

    /// All of it that changes.
    pub fn state(&self) -> HostState {
        HostState {
            nics: self.rails().map(|rail| rail.nic.state()).collect(),
            turn: self.more.as_ref().map_or(0, |more| more.turn),
            divided: self
                .more
                .as_ref()
                .map_or(BTreeMap::new(), |more| more.divided.clone()),
            next_message: self.next_message,
            inbox: self.inbox.state(),
            ranks: self
                .ranks
                .iter()
                .map(|rank_slot| rank_slot.state.as_ref().map(Rank::state))
                .collect(),
            sent: self.sources.iter().map(|source| source.sent).collect(),
            counts: self.counts.to_vec(),
            in_flight: self.in_flight,
            next_handover: self.next_handover,
            samples: self.sampler.state(),
            wait_trackers: self.wait_trackers().to_vec(),
        }
    }

    /// Takes over a state that [`Host::state`] gave of the same host.
    ///
    /// # Errors
    /// It is the state of another host or experiment, or a trace is not what it was.
    pub fn restore(
        &mut self,
        simulation: &Simulation,
        state: HostState,
        purpose: Purpose,
    ) -> Result<(), String> {
        if state.ranks.len() != self.ranks.len() || state.sent.len() != self.sources.len() {
            return Err("it has other ranks or sources of traffic".into());
        }
        self.restore_rails(state.nics, state.turn, state.divided)?;
        if state.wait_trackers.len() != self.wait_trackers().len() {
            return Err("it keeps other diaries of waits".into());
        }
        if let Some(tracer) = &mut self.tracer {
            tracer.wait_trackers = state.wait_trackers.into();
        }
        self.next_message = state.next_message;
        self.inbox.restore(state.inbox)?;
        for (rank_slot, saved) in self.ranks.iter_mut().zip(state.ranks) {
            rank_slot.state = saved
                .map(|saved| restore_rank(simulation, rank_slot.job, rank_slot.rank, saved, purpose))
                .transpose()?;
        }
        for (source, sent) in self.sources.iter_mut().zip(state.sent) {
            source.sent = sent;
        }
        self.counts = state.counts.into();
        self.in_flight = state.in_flight;
        self.next_handover = state.next_handover;
        self.sampler.restore(simulation.plan.bins(), state.samples)
    }

    /// Its ranks.
    pub fn ranks(&self) -> &[RankSlot] {
        &self.ranks
    }

    /// What a job has sent and received here.
    pub fn counts(&self, job: usize) -> Option<&JobCounts> {
        of_job(&self.counts, job)
    }

    fn wait_trackers(&self) -> &[NicWaitTracker] {
        self.tracer.as_ref().map_or(&[], |tracer| &tracer.wait_trackers)
    }

    fn rails(&self) -> impl Iterator<Item = &Rail> {
        let others = self.more.iter().flat_map(|more| more.others.iter());
        std::iter::once(&self.first).chain(others)
    }

    fn rail(&self, rail: u32) -> &Rail {
        match (rail, &self.more) {
            (1.., Some(more)) => &more.others[rail as usize - 1],
            _ => &self.first,
        }
    }

    fn restore_rails(
        &mut self,
        nics: Vec<NicState<Injected>>,
        turn: u8,
        divided: BTreeMap<Injected, u8>,
    ) -> Result<(), String> {
        if nics.len() != self.rails().count() || usize::from(turn) >= nics.len() {
            return Err("it has other rails".into());
        }
        let others = self.more.iter_mut().flat_map(|more| more.others.iter_mut());
        for (rail, nic) in std::iter::once(&mut self.first).chain(others).zip(nics) {
            rail.nic.restore(nic)?;
        }
        if let Some(more) = &mut self.more {
            more.turn = turn;
            more.divided = divided;
            more.divided.retain(|_, left| *left > 0);
        }
        Ok(())
    }

    /// Credits of one rail, in bytes.
    pub fn credits(&self, rail: u32) -> u32 {
        self.rail(rail).nic.credits()
    }

    /// Use of the injection link of one rail.
    pub fn injection_use(&self, rail: u32, end: Time) -> LinkUse {
        self.rail(rail).nic.used(end)
    }
}

impl Rail {
    fn new(simulation: &Simulation, host: HostId, rail: u32) -> Rail {
        let network = &simulation.network;
        Rail {
            injection: simulation.numbering.injection(network, host, rail),
            // All of the first VC: the only one that hosts inject into.
            nic: Nic::new(
                network.rails.end_point(host, rail).0,
                network.links[usize::from(HOST_LINK.0)].rate,
                network.packet,
                network.buffer_of_vc(network.routing.vcs()),
                simulation.warmup,
            ),
        }
    }
}

impl Tracer {
    /// None: nothing is to be told.
    fn new(simulation: &Simulation) -> Option<Tracer> {
        let rails = if simulation.waits {
            simulation.network.rails.count()
        } else {
            0
        };
        (simulation.timeline || simulation.waits).then(|| Tracer {
            timeline: simulation.timeline,
            wait_trackers: vec![NicWaitTracker::default(); rails as usize].into(),
        })
    }
}

impl MoreRails {
    /// So many rails have some left of a message.
    fn note_divided<C: Context<Simulation>>(&mut self, message: Injected, left: u8, context: &mut C) {
        let before = self.set_divided(message, left);
        if C::REVERSIBLE {
            context.undo(Undo::Host(HostUndo::Divided { message, before }));
        }
    }

    /// Gives the number before.
    fn set_divided(&mut self, message: Injected, left: u8) -> u8 {
        let before = match left {
            0 => self.divided.remove(&message),
            _ => self.divided.insert(message, left),
        };
        before.unwrap_or(0)
    }
}

/// What is sampled of a host.
fn seen<'a>(
    id: HostId,
    first: &'a Rail,
    more: Option<&'a MoreRails>,
    counts: &'a [JobCounts],
) -> HostSeen<'a, impl Fn(u32, Time) -> RailSeen + use<'a>> {
    let rail = move |rail: u32, time| {
        let nic = match (rail, more) {
            (1.., Some(more)) => &more.others[rail as usize - 1].nic,
            _ => &first.nic,
        };
        RailSeen {
            flow: nic.used(time).total,
            backlog: nic.backlog(),
            credits: nic.credits(),
            is_active: nic.is_active(time),
        }
    };
    HostSeen {
        id,
        rail,
        rails: 1 + more.map_or(0, |more| more.others.len() as u32),
        counts,
    }
}

/// Memory of a host with so many rails, in bytes.
pub fn bytes_with(rails: u32) -> u64 {
    let more = match rails {
        1 => 0,
        _ => size_of::<MoreRails>() + (rails as usize - 1) * size_of::<Rail>(),
    };
    (size_of::<Host>() + more) as u64
}

/// Tells of a message that a rank wants to be sent; an answer that its protocol gives is wanted now.
fn tell_asked(
    job: u16,
    message: &Message,
    number: Option<u32>,
    asked: Option<(Time, Option<u16>)>,
    context: &mut impl Context<Simulation>,
) {
    let (at, algorithm) = asked.unwrap_or((context.now(), None));
    let key = MessageKey::new(job, message);
    let of_program = message.communicator & (COLLECTIVE_CONTEXT | WINDOW_CONTEXT) == 0;
    context.emit(Record::Trace(TraceRecord::Asked { key, number, at }));
    context.emit(Record::Trace(TraceRecord::Described {
        key,
        bytes: message.bytes,
        tag: of_program.then_some(message.tag),
        algorithm,
    }));
}

/// Bytes that the network carries for a message: at least one, so that it has a packet.
fn wire_bytes(message: &Message, settings: &mpi::MpiSettings) -> u64 {
    message.wire_bytes(settings).max(1)
}

fn restore_rank(
    simulation: &Simulation,
    job: u16,
    rank: u32,
    saved: RankState,
    purpose: Purpose,
) -> Result<Rank, String> {
    let RankJob { workload, mpi, .. } = match &simulation.jobs[usize::from(job)].kind {
        JobKind::Ranks(ranks) => ranks,
        JobKind::Traffic(_) => unreachable!("only jobs with ranks have seats"),
    };
    let program: Box<dyn Program> = match purpose {
        Purpose::GoOn => workload.program(rank).map_err(|error| error.to_string())?,
        Purpose::Read => Box::new(Unread),
    };
    let rank = Rank::restore(mpi.clone(), rank, program, saved);
    let mut rank = rank.map_err(|error| error.to_string())?;
    rank.set_tracing(simulation.timeline);
    Ok(rank)
}

/// Stands for a program that nobody will read any more.
struct Unread;

impl Program for Unread {
    fn next(&mut self) -> Result<Option<Operation>, TraceError> {
        Ok(Some(Operation::Compute { ps: 0, region: None }))
    }
}

fn traffic<'a>(simulation: &'a Simulation, source: &Source) -> &'a TrafficJob {
    match &simulation.jobs[usize::from(source.job)].kind {
        JobKind::Traffic(traffic) => traffic,
        JobKind::Ranks(_) => unreachable!("only synthetic traffic has sources"),
    }
}

/// The random stream of the LP at work.
struct Random<'a, C>(&'a mut C);

impl<C: Context<Simulation>> workload::traffic::Random for Random<'_, C> {
    fn next_u64(&mut self) -> u64 {
        self.0.random()
    }
}

/// The journal of the LP at work, for the parts of a host.
struct Notes<'a, C>(&'a mut C);

impl<C: Context<Simulation>> Journal<InboxUndo<Message>> for Notes<'_, C> {
    const KEPT: bool = C::REVERSIBLE;

    #[inline]
    fn keep(&mut self, step: InboxUndo<Message>) {
        self.0.undo(Undo::Host(HostUndo::Inbox(step)));
    }
}

impl<C: Context<Simulation>> Journal<CountsUndo> for Notes<'_, C> {
    const KEPT: bool = C::REVERSIBLE;

    #[inline]
    fn keep(&mut self, step: CountsUndo) {
        self.0.undo(Undo::Host(HostUndo::Counts(step)));
    }
}

impl<C: Context<Simulation>> Journal<NicUndo<Injected>> for NicLinkAdapter<'_, C> {
    const KEPT: bool = C::REVERSIBLE;

    #[inline]
    fn keep(&mut self, step: NicUndo<Injected>) {
        let rail = self.rail;
        self.context.undo(Undo::Host(HostUndo::Nic { rail, step }));
    }
}

/// The diary of a port of the NIC, when it gives a packet to the wire.
struct WaitSink<'a, C> {
    rail: u8,
    packet: Packet,
    /// Parts told of its wait.
    record: u8,
    context: &'a mut C,
}

impl<C: Context<Simulation>> Journal<NicWaitTrackerUndo> for WaitSink<'_, C> {
    const KEPT: bool = C::REVERSIBLE;

    fn keep(&mut self, step: NicWaitTrackerUndo) {
        let rail = self.rail;
        self.context
            .undo(Undo::Host(HostUndo::WaitTracker { rail, step }));
    }
}

impl<C: Context<Simulation>> WaitOutputs<NicWaitTrackerUndo> for WaitSink<'_, C> {
    fn waited(&mut self, wait: Wait) {
        let Packet {
            job,
            source,
            message: number,
            bytes,
            ..
        } = self.packet;
        self.context.emit(Record::Trace(TraceRecord::Waited {
            job,
            source,
            number,
            lp: self.context.lp(),
            port: u16::from(self.rail),
            vc: 0,
            bytes,
            part: self.record,
            wait,
        }));
        self.record = self.record.saturating_add(1);
    }
}

impl<C: Context<Simulation>> Journal<NicWaitTrackerUndo> for NicLinkAdapter<'_, C> {
    const KEPT: bool = C::REVERSIBLE;

    fn keep(&mut self, step: NicWaitTrackerUndo) {
        let rail = self.rail;
        self.context
            .undo(Undo::Host(HostUndo::WaitTracker { rail, step }));
    }
}

impl<C: Context<Simulation>> NicLinkAdapter<'_, C> {
    /// The NIC is about to take a message.
    #[inline]
    fn take(&mut self, now: Time) {
        if self.tracer.is_some() {
            self.tell_taken(now);
        }
    }

    #[inline(never)]
    fn tell_taken(&mut self, now: Time) {
        let Some(tracer) = self.tracer.take() else { return };
        if let Some(wait_tracker) = tracer.wait_trackers.get_mut(usize::from(self.rail)) {
            wait_tracker.taken(now, self);
        }
        self.tracer = Some(tracer);
    }

    /// A packet starts onto the link.
    #[inline(never)]
    fn tell_departure(&mut self, packet: Packet, serialization: Time, last: bool) {
        let Some(tracer) = &mut self.tracer else { return };
        let now = self.context.now();
        if let Some(wait_tracker) = tracer.wait_trackers.get_mut(usize::from(self.rail)) {
            let mut sink = WaitSink {
                rail: self.rail,
                packet,
                record: 0,
                context: &mut *self.context,
            };
            wait_tracker.departed(now, packet.job, serialization, last, &mut sink);
        }
        if tracer.timeline && last && !packet.standalone {
            self.context.emit(Record::Trace(TraceRecord::Injected {
                source: packet.source,
                number: packet.message,
                at: now + serialization,
            }));
        }
    }
}

impl<C: Context<Simulation>> NicOutputs<Nic<Injected>> for NicLinkAdapter<'_, C> {
    #[inline]
    fn depart(&mut self, packet: Packet, wait: Time, serialization: Time, last: bool) {
        if self.tracer.is_some() {
            self.tell_departure(packet, serialization, last);
        }
        let notes = &mut Notes(&mut *self.context);
        counts_of(self.counts, packet.job, notes).injected(notes);
        let event = NetEvent::PacketArrived {
            port: self.link_end.port,
            vc: 0,
            packet,
        };
        self.context
            .send(self.link_end.lp, wait + self.link_end.arrival, event);
    }

    #[inline]
    fn sends_ahead(&self, start: Time) -> bool {
        self.simulation.shortcuts.send_ahead.covers(start)
    }

    #[inline]
    fn timer(&mut self, (): (), after: Time) {
        let event = NetEvent::InjectionFree { rail: self.rail };
        self.context.send(self.context.lp(), after, event);
    }

    fn injected(&mut self, report: Injected, after: Time) {
        let Injected { slot, request } = report;
        self.context.send(
            self.context.lp(),
            after,
            NetEvent::MessageInjected { slot, request },
        );
    }

    #[inline]
    fn lacks_credits(&mut self) {
        if self.simulation.shortcuts.credit_batching.is_on() {
            self.context.fail(Failure::CreditsRanShort);
        }
    }
}
