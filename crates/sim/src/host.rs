//! The host as a logical process: a NIC, the MPI ranks and the traffic sources behind it. They talk with
//! each other without delay, hence share an LP.

use des::{Context, Time};
use fabric::{Inbox, LinkUse, Nic, NicOutputs, Outgoing, Packet};
use mpi::{Action, Message, Rank};
use results::Histogram;
use topology::{HOST_LINK, HostId};

use crate::Error;
use crate::fact::{Fact, RankDone};
use crate::model::Simulation;
use crate::placement::{JobKind, TrafficJob};
use crate::wiring::Wire;

/// What the NIC gives back when a message has left: the rank's place on the host and its request.
#[derive(Clone, Copy, Debug)]
pub struct Injected {
    slot: u16,
    request: u32,
}

/// One host.
pub struct Host {
    id: HostId,
    injection: Wire,
    nic: Nic<Injected>,
    inbox: Inbox<Message>,
    ranks: Vec<Seat>,
    sources: Vec<Source>,
    /// Of the jobs that this host has had to do with: few, and looked for from the front.
    counts: Vec<JobCounts>,
    /// Messages sent by its ranks less those received by them, modulo 2^32.
    under_way: u32,
    actions: Vec<Action>,
}

/// A rank on this host.
pub struct Seat {
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

/// What one job has sent and received at one host.
#[derive(Clone, Debug, Default)]
pub struct JobCounts {
    job: u16,
    /// Messages handed to the NIC (or to memory).
    pub messages: u64,
    /// Bytes of those.
    pub bytes: u64,
    /// Bytes handed to the NIC in the measured part.
    pub offered_bytes: u64,
    /// Packets begun.
    pub packets_injected: u64,
    /// Packets received.
    pub packets_delivered: u64,
    /// Bytes of those.
    pub bytes_delivered: u64,
    /// Bytes received in the measured part.
    pub accepted_bytes: u64,
    /// From the message being handed to the NIC to the packet's tail at the receiver, in ps, of packets
    /// whose message was handed over in the measured part.
    pub latency: Histogram,
    /// Links crossed by the same packets.
    pub hops: Histogram,
}

/// Where a NIC's outputs go: into events.
struct Cable<'a, C> {
    wire: Wire,
    counts: &'a mut Vec<JobCounts>,
    context: &'a mut C,
}

impl Host {
    /// A host before the run.
    pub fn new(simulation: &Simulation, id: HostId) -> Host {
        let network = &simulation.network;
        let injection = simulation.numbering.injection(network, id);
        let ranks = simulation.seats.ranks(id).map(|(job, rank)| Seat {
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
            injection,
            // All of the first VC: the only one that hosts inject into.
            nic: Nic::new(
                id,
                network.links[usize::from(HOST_LINK.0)].rate,
                network.packet,
                network.buffer_of_vc(network.routing.vcs()),
                simulation.warmup,
            ),
            inbox: Inbox::default(),
            ranks: ranks.collect(),
            sources: sources.collect(),
            counts: Vec::new(),
            under_way: 0,
            actions: Vec::new(),
        }
    }

    /// First events: ranks begin, traffic sets in.
    pub fn start(&mut self, simulation: &Simulation, context: &mut impl Context<Simulation>) {
        for (slot, seat) in self.ranks.iter().enumerate() {
            let start = simulation.jobs[usize::from(seat.job)].start;
            context.send(context.lp(), start, Fact::RankStarted { slot: slot as u16 });
        }
        for (source, of) in self.sources.iter().enumerate() {
            let job = &simulation.jobs[usize::from(of.job)];
            let first = traffic(simulation, of).gap(0, &mut Random(context));
            context.send(
                context.lp(),
                job.start + first,
                Fact::TrafficDue {
                    source: source as u16,
                },
            );
        }
    }

    /// Asks for the memory that its next events will touch.
    #[inline]
    pub fn prefetch(&self) {
        if let Some(counts) = self.counts.first() {
            des::prefetch(counts);
        }
    }

    /// Carries out one event.
    #[inline]
    pub fn handle(&mut self, simulation: &Simulation, fact: &Fact, context: &mut impl Context<Simulation>) {
        let now = context.now();
        match *fact {
            Fact::PacketArrived { packet, .. } => self.packet(simulation, packet, context),
            Fact::CreditReturned { bytes, .. } => {
                let (nic, mut cable) = self.nic(context);
                nic.credit(now, bytes, &mut cable);
            }
            Fact::InjectionFree => {
                let (nic, mut cable) = self.nic(context);
                nic.wake(now, &mut cable);
            }
            Fact::TrafficDue { source } => self.traffic(simulation, source, context),
            Fact::MessageAnnounced { job, number, message } => {
                let JobKind::Ranks(ranks) = &simulation.jobs[usize::from(job)].kind else {
                    unreachable!("only ranks announce messages")
                };
                let source = ranks.hosts[message.from as usize];
                self.inbox
                    .announced(source, number, wire_bytes(&message, &ranks.mpi.settings), message);
            }
            Fact::MemoryDelivered { job, message } => self.deliver(simulation, job, message, context),
            Fact::RankStarted { slot } => self.start_rank(simulation, slot, context),
            Fact::RankResumed { slot } => self.with_rank(simulation, slot, context, |rank, actions| {
                rank.resume(now, actions)
            }),
            Fact::MessageInjected { slot, request } => {
                self.with_rank(simulation, slot, context, |rank, actions| {
                    rank.injected(now, request, actions)
                })
            }
            Fact::ProgressAsked => self.tell_progress(simulation, context),
            Fact::PacketReady { .. } | Fact::RankFinished | Fact::RoundDue | Fact::ProgressTold { .. } => {
                unreachable!("{fact:?} does not happen to a host")
            }
        }
    }

    fn nic<'a, C>(&'a mut self, context: &'a mut C) -> (&'a mut Nic<Injected>, Cable<'a, C>) {
        let cable = Cable {
            wire: self.injection,
            counts: &mut self.counts,
            context,
        };
        (&mut self.nic, cable)
    }

    /// A packet's tail has come in.
    fn packet(&mut self, simulation: &Simulation, packet: Packet, context: &mut impl Context<Simulation>) {
        let now = context.now();
        let counts = counts_of(&mut self.counts, packet.job);
        counts.packets_delivered += 1;
        counts.bytes_delivered += u64::from(packet.bytes);
        if now >= simulation.warmup {
            counts.accepted_bytes += u64::from(packet.bytes);
        }
        if packet.born() >= simulation.warmup {
            counts.latency.record((now - packet.born()).ps());
            counts.hops.record(u64::from(packet.hops));
        }
        if packet.alone {
            return;
        }
        if let Some(message) = self.inbox.packet(packet.source, packet.message, packet.bytes) {
            self.deliver(simulation, packet.job, message, context);
        }
    }

    /// The next message of a source is due: sends it, and all that follow it without a gap.
    fn traffic(&mut self, simulation: &Simulation, source: u16, context: &mut impl Context<Simulation>) {
        let now = context.now();
        let gap = loop {
            let of = &mut self.sources[usize::from(source)];
            let (job, index) = (of.job, of.index);
            of.sent += 1;
            let (sent, traffic) = (of.sent, traffic(simulation, of));
            let message = Outgoing {
                destination: traffic.destination(index, &mut Random(context)),
                bytes: traffic.message_bytes,
                job,
                alone: true,
                report: None,
            };
            let gap = traffic.gap(sent, &mut Random(context));
            self.count_message(simulation, job, traffic.message_bytes, true, now);
            let (nic, mut cable) = self.nic(context);
            nic.send(now, message, &mut cable);
            if gap > Time::ZERO {
                break gap;
            }
        };
        context.send(context.lp(), gap, Fact::TrafficDue { source });
    }

    fn count_message(&mut self, simulation: &Simulation, job: u16, bytes: u64, network: bool, now: Time) {
        let counts = counts_of(&mut self.counts, job);
        counts.messages += 1;
        counts.bytes += bytes;
        if network && now >= simulation.warmup {
            counts.offered_bytes += bytes;
        }
    }

    /// A whole message has come for one of this host's ranks.
    fn deliver(
        &mut self,
        simulation: &Simulation,
        job: u16,
        message: Message,
        context: &mut impl Context<Simulation>,
    ) {
        self.under_way = self.under_way.wrapping_sub(1);
        let now = context.now();
        let slot = simulation
            .seats
            .slot(&simulation.jobs[usize::from(job)], message.to);
        self.with_rank(simulation, slot, context, |rank, actions| {
            rank.arrived(now, message, actions)
        });
    }

    fn tell_progress(&self, simulation: &Simulation, context: &mut impl Context<Simulation>) {
        let active = |seat: &&Seat| {
            let state = seat.state.as_ref();
            state.is_none_or(|rank| !rank.finished() && !rank.blocked())
        };
        let told = Fact::ProgressTold {
            active: self.ranks.iter().filter(active).count() as u32,
            under_way: self.under_way,
        };
        context.send(
            simulation.numbering.overseer(),
            simulation.network.lookahead(),
            told,
        );
    }

    fn start_rank(&mut self, simulation: &Simulation, slot: u16, context: &mut impl Context<Simulation>) {
        let seat = &mut self.ranks[usize::from(slot)];
        let job = &simulation.jobs[usize::from(seat.job)];
        let JobKind::Ranks(ranks) = &job.kind else {
            unreachable!("only jobs with ranks have seats")
        };
        match ranks.workload.program(seat.rank) {
            Ok(program) => seat.state = Some(Rank::new(ranks.mpi.clone(), seat.rank, program)),
            Err(error) => return context.fail(error.into()),
        }
        let now = context.now();
        self.with_rank(simulation, slot, context, |rank, actions| {
            rank.start(now, actions)
        });
    }

    /// Lets a rank go on, and carries out what it wants done.
    fn with_rank(
        &mut self,
        simulation: &Simulation,
        slot: u16,
        context: &mut impl Context<Simulation>,
        step: impl FnOnce(&mut Rank, &mut Vec<Action>) -> Result<(), mpi::ReplayError>,
    ) {
        let seat = &mut self.ranks[usize::from(slot)];
        let (job, rank) = (seat.job, seat.rank);
        let mut actions = std::mem::take(&mut self.actions);
        let state = seat
            .state
            .as_mut()
            .expect("messages come to ranks that have started");
        if let Err(source) = step(state, &mut actions) {
            let job = simulation.jobs[usize::from(job)].name.clone();
            context.fail(Error::Replay { job, source });
        }
        for action in actions.drain(..) {
            match action {
                Action::Send(message) => self.send(simulation, slot, job, message, context),
                Action::ResumeAt(time) => {
                    let delay = time - context.now();
                    context.send(context.lp(), delay, Fact::RankResumed { slot });
                }
                Action::Finished => {
                    let time = context.now();
                    context.emit(RankDone { job, rank, time });
                    let delay = simulation.network.lookahead();
                    context.send(simulation.numbering.overseer(), delay, Fact::RankFinished);
                }
            }
        }
        self.actions = actions;
    }

    /// Hands a rank's message to the NIC, or to memory if its receiver is on this host.
    fn send(
        &mut self,
        simulation: &Simulation,
        slot: u16,
        job: u16,
        message: Message,
        context: &mut impl Context<Simulation>,
    ) {
        let JobKind::Ranks(ranks) = &simulation.jobs[usize::from(job)].kind else {
            unreachable!("only ranks send messages")
        };
        let now = context.now();
        let destination = ranks.hosts[message.to as usize];
        let bytes = wire_bytes(&message, &ranks.mpi.settings);
        self.count_message(simulation, job, bytes, destination != self.id, now);
        self.under_way = self.under_way.wrapping_add(1);
        let request = message.request;
        if destination == self.id {
            let memory = simulation.network.memory;
            // A copy through memory can be longer than a packet: whole mebibytes, then the rest.
            let mebibytes = memory.rate.serialization(1 << 20).ps() * (bytes >> 20);
            let delay =
                memory.latency + Time(mebibytes) + memory.rate.serialization((bytes & 0xF_FFFF) as u32);
            context.send(context.lp(), delay, Fact::MemoryDelivered { job, message });
            if message.reports_injection() {
                context.send(context.lp(), delay, Fact::MessageInjected { slot, request });
            }
            return;
        }
        let outgoing = Outgoing {
            destination,
            bytes,
            job,
            alone: false,
            report: message.reports_injection().then_some(Injected { slot, request }),
        };
        let (nic, mut cable) = self.nic(context);
        let number = nic.send(now, outgoing, &mut cable);
        let announced = Fact::MessageAnnounced { job, number, message };
        // One lookahead is at most one cable, and a packet crosses two.
        context.send(
            simulation.numbering.host(destination),
            simulation.network.lookahead(),
            announced,
        );
    }

    /// Its ranks.
    pub fn ranks(&self) -> &[Seat] {
        &self.ranks
    }

    /// What a job has sent and received here.
    pub fn counts(&self, job: usize) -> Option<&JobCounts> {
        self.counts.iter().find(|counts| usize::from(counts.job) == job)
    }

    /// Credits of its NIC, in bytes.
    pub fn credits(&self) -> u32 {
        self.nic.credits()
    }

    /// Use of its injection link.
    pub fn injection_use(&self, end: Time) -> LinkUse {
        self.nic.used(end)
    }
}

/// The counts of a job, new ones if it has none yet.
#[inline]
fn counts_of(counts: &mut Vec<JobCounts>, job: u16) -> &mut JobCounts {
    let index = counts.iter().position(|c| c.job == job).unwrap_or_else(|| {
        counts.push(JobCounts {
            job,
            ..JobCounts::default()
        });
        counts.len() - 1
    });
    &mut counts[index]
}

/// Bytes that the network carries for a message: at least one, so that it has a packet.
fn wire_bytes(message: &Message, settings: &mpi::Settings) -> u64 {
    message.wire_bytes(settings).max(1)
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

impl<C: Context<Simulation>> NicOutputs<Injected> for Cable<'_, C> {
    #[inline]
    fn depart(&mut self, packet: Packet, _serialization: Time) {
        counts_of(self.counts, packet.job).packets_injected += 1;
        let fact = Fact::PacketArrived {
            port: self.wire.port,
            vc: 0,
            packet,
        };
        self.context.send(self.wire.lp, self.wire.arrival, fact);
    }

    #[inline]
    fn wake(&mut self, after: Time) {
        self.context.send(self.context.lp(), after, Fact::InjectionFree);
    }

    fn injected(&mut self, report: Injected, after: Time) {
        let Injected { slot, request } = report;
        self.context
            .send(self.context.lp(), after, Fact::MessageInjected { slot, request });
    }
}
