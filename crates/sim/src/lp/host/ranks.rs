//! Ranks: the MPI ranks of a host, what they send, and what is delivered to them.

use des::{Context, Purpose, Time};
use experiment::{JobKind, RankJob};
use fabric::{Inbox, InboxState, Outgoing, Packet};
use mpi::{Action, Message, Rank, RankState, Transit};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use topology::HostId;
use workload::{Operation, Program, TraceError};

use super::rails::HostNic;
use super::transit::{through_memory, through_network};
use super::undo::{HostJournal, HostUndo, Injected};
use crate::Error;
use crate::lp::collection::MadeMessage;
use crate::lp::host_message::HostMessage;
use crate::lp::net_event::{NetEvent, Record};
use crate::lp::simulation::Simulation;

/// The ranks of a host, and the inbox that gathers their messages.
#[repr(C)]
pub struct Ranks {
    pub inbox: Inbox<HostMessage>,
    slots: Vec<RankSlot>,
    /// Job and rank by slot: a copy in little memory, for announcements.
    occupants: SmallVec<[(u16, u32); 2]>,
    /// Earliest time at which the NIC takes the next message of a rank.
    next_handover: Time,
    /// Reused buffer; empty between events.
    actions: Vec<Action>,
}

/// A rank on this host.
pub struct RankSlot {
    /// Job.
    pub job: u16,
    /// Rank in the job.
    pub rank: u32,
    /// Messages that it has sent less those that have arrived for it, modulo 2^32.
    in_flight: u32,
    /// End of the job; [`Time::MAX`] if it has none. The rank does nothing from then on.
    pub end: Time,
    /// `None` until the rank starts.
    pub state: Option<Rank>,
}

/// The state of the ranks that changes, for checkpoints.
#[derive(Serialize, Deserialize)]
pub struct RanksState {
    inbox: InboxState<HostMessage>,
    /// By slot; `None` until the rank starts.
    slots: Vec<Option<RankState>>,
    /// By slot.
    in_flight: Vec<u32>,
    next_handover: Time,
}

impl Ranks {
    /// The ranks of a host before the run.
    pub fn new(simulation: &Simulation, host: HostId) -> Ranks {
        let slot = |(job, rank)| RankSlot {
            job,
            rank,
            in_flight: 0,
            end: simulation.jobs[usize::from(job)].end.unwrap_or(Time::MAX),
            state: None,
        };
        let occupants: SmallVec<_> = simulation.occupants.ranks(host).collect();
        Ranks {
            inbox: Inbox::default(),
            slots: occupants.iter().copied().map(slot).collect(),
            occupants,
            next_handover: Time::ZERO,
            actions: Vec::new(),
        }
    }

    /// By slot.
    pub fn slots(&self) -> &[RankSlot] {
        &self.slots
    }

    /// A message for one of its ranks is announced.
    pub fn announced(
        &mut self,
        simulation: &Simulation,
        announced: HostMessage,
        context: &mut impl Context<Simulation>,
    ) {
        let (job, rank) = self.occupants[usize::from(announced.slot)];
        let message = announced.at_receiver(rank);
        let JobKind::Ranks(ranks) = &simulation.jobs[usize::from(job)].kind else {
            unreachable!("only ranks announce messages")
        };
        let source = ranks.hosts[message.from as usize];
        let bytes = wire_bytes(&message, &ranks.mpi.settings);
        self.inbox.announced(
            source,
            announced.number,
            bytes,
            announced,
            &mut HostJournal(context),
        );
    }

    /// The last packet of a message of this size on the wire has arrived.
    pub fn deliver_packet<C: Context<Simulation>>(
        &mut self,
        nic: &mut HostNic,
        simulation: &Simulation,
        last: &Packet,
        (bytes, message): (u64, HostMessage),
        context: &mut C,
    ) {
        let transit = through_network(simulation, context.now(), last, bytes);
        self.deliver(nic, simulation, message, (bytes, transit), context);
    }

    /// A message has arrived through memory.
    pub fn deliver_through_memory<C: Context<Simulation>>(
        &mut self,
        nic: &mut HostNic,
        simulation: &Simulation,
        message: HostMessage,
        context: &mut C,
    ) {
        let RankSlot { job, rank, .. } = self.slots[usize::from(message.slot)];
        let JobKind::Ranks(ranks) = &simulation.jobs[usize::from(job)].kind else {
            unreachable!("only ranks receive messages")
        };
        let bytes = wire_bytes(&message.at_receiver(rank), &ranks.mpi.settings);
        let transit = through_memory(simulation, bytes);
        self.deliver(nic, simulation, message, (bytes, transit), context);
    }

    /// A whole message of this size on the wire has arrived for one of this host's ranks.
    #[inline(always)]
    fn deliver<C: Context<Simulation>>(
        &mut self,
        nic: &mut HostNic,
        simulation: &Simulation,
        message: HostMessage,
        (bytes, transit): (u64, Transit),
        context: &mut C,
    ) {
        let slot = message.slot;
        let rank_slot = &mut self.slots[usize::from(slot)];
        rank_slot.in_flight = rank_slot.in_flight.wrapping_sub(1);
        let (job, message) = (rank_slot.job, message.at_receiver(rank_slot.rank));
        if C::REVERSIBLE {
            context.undo(HostUndo::MessageReceived { slot }.into());
        }
        let now = context.now();
        let collection = &mut nic.collection;
        collection.received(simulation, (job, &message), bytes, transit.queueing, context);
        self.with_rank(nic, simulation, slot, context, |rank, actions| {
            rank.arrived(now, message, transit, actions)
        });
    }

    /// Tells the termination detector which ranks of each job are active, and how many messages are in flight.
    pub fn report_progress(&self, simulation: &Simulation, context: &mut impl Context<Simulation>) {
        let active = |rank_slot: &&RankSlot| {
            let state = rank_slot.state.as_ref();
            state.is_none_or(|rank| !rank.ended() && !rank.blocked())
        };
        for of_job in self.slots.chunk_by(|one, next| one.job == next.job) {
            let record = NetEvent::ProgressReported {
                job: of_job[0].job,
                active: of_job.iter().filter(active).count() as u32,
                in_flight: of_job.iter().fold(0, |sum, of| sum.wrapping_add(of.in_flight)),
            };
            context.send(
                simulation.numbering.termination_detector(),
                simulation.network.lookahead(),
                record,
            );
        }
    }

    /// Starts a rank.
    pub fn start_rank<C: Context<Simulation>>(
        &mut self,
        nic: &mut HostNic,
        simulation: &Simulation,
        slot: u16,
        context: &mut C,
    ) {
        let rank_slot = &mut self.slots[usize::from(slot)];
        let job = &simulation.jobs[usize::from(rank_slot.job)];
        let JobKind::Ranks(ranks) = &job.kind else {
            unreachable!("only jobs with ranks have rank slots")
        };
        match ranks.workload.program(rank_slot.rank) {
            Ok(program) => {
                let mut rank = Rank::new(ranks.mpi.clone(), rank_slot.rank, program);
                rank.set_timeline(simulation.timeline);
                if ranks.workload.reacts() {
                    rank.set_answering();
                }
                rank_slot.state = Some(rank);
            }
            Err(error) => return context.fail(Error::from(experiment::Error::from(error)).into()),
        }
        if C::REVERSIBLE {
            context.undo(HostUndo::Started { slot }.into());
        }
        let now = context.now();
        self.with_rank(nic, simulation, slot, context, |rank, actions| {
            rank.start(now, actions)
        });
    }

    /// Stops a rank at the end of its job. What it has sent stays under way, also what waits for the NIC.
    pub fn stop_rank<C: Context<Simulation>>(
        &mut self,
        nic: &mut HostNic,
        simulation: &Simulation,
        slot: u16,
        context: &mut C,
    ) {
        let now = context.now();
        self.act(nic, simulation, slot, context, |rank, actions| {
            rank.stop(now, actions);
            Ok(())
        });
    }

    /// Resumes a rank, and executes the actions that it asks for. From the end of its job on, nothing reaches a rank.
    #[inline]
    pub fn with_rank<C: Context<Simulation>>(
        &mut self,
        nic: &mut HostNic,
        simulation: &Simulation,
        slot: u16,
        context: &mut C,
        step: impl FnOnce(&mut Rank, &mut Vec<Action>) -> Result<(), mpi::ReplayError>,
    ) {
        if context.now() < self.slots[usize::from(slot)].end {
            self.act(nic, simulation, slot, context, step);
        }
    }

    fn act<C: Context<Simulation>>(
        &mut self,
        nic: &mut HostNic,
        simulation: &Simulation,
        slot: u16,
        context: &mut C,
        step: impl FnOnce(&mut Rank, &mut Vec<Action>) -> Result<(), mpi::ReplayError>,
    ) {
        let rank_slot = &mut self.slots[usize::from(slot)];
        let (job, rank) = (rank_slot.job, rank_slot.rank);
        let Some(state) = &mut rank_slot.state else {
            // A rank that could not start ends the run. All others have started before messages arrive.
            return;
        };
        let mut actions = std::mem::take(&mut self.actions);
        state.keep_changes(C::REVERSIBLE);
        let done = step(state, &mut actions);
        if C::REVERSIBLE
            && let Some(changes) = state.take_changes()
        {
            context.undo(HostUndo::Rank { slot, changes }.into());
        }
        if let Err(source) = done {
            let job = simulation.jobs[usize::from(job)].name.clone();
            context.fail(Error::Replay { job, source }.into());
        }
        let mut asked = None;
        for action in actions.drain(..) {
            match action {
                Action::Send(message) => {
                    self.send(nic, simulation, (slot, job), message, asked.take(), context);
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
                        NetEvent::RankFinished { job },
                    );
                }
                Action::Stopped => {
                    context.send(
                        simulation.numbering.termination_detector(),
                        simulation.network.lookahead(),
                        NetEvent::RankFinished { job },
                    );
                }
                Action::RepetitionEnded(number) => context.emit(Record::RepetitionDone { job, number }),
                Action::Timeline(note) => {
                    asked = nic.collection.rank_did(note, (job, rank), context).or(asked)
                }
            }
        }
        self.actions = actions;
    }

    /// Sends a rank's message: through the NIC after the gap, or through memory if its receiver is on this host.
    /// `asked`: when the rank asked for it, and by which algorithm of a collective, if timelines are collected.
    fn send<C: Context<Simulation>>(
        &mut self,
        nic: &mut HostNic,
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
        let made = MadeMessage {
            job,
            bytes,
            at: context.now(),
            leaves: destination != nic.id,
        };
        nic.collection.made(simulation, made, context);
        let in_flight = &mut self.slots[usize::from(slot)].in_flight;
        *in_flight = in_flight.wrapping_add(1);
        let (number, numbered) = (nic.next_message, made.leaves);
        nic.next_message = number.wrapping_add(u32::from(numbered));
        if C::REVERSIBLE {
            context.undo(HostUndo::MessageSent { slot, numbered }.into());
        }
        let of_message = (job, &message);
        let got = numbered.then_some(number);
        nic.collection
            .numbered(simulation, of_message, got, asked, context);
        let request = message.request;
        if !numbered {
            let Transit { latency, memory, .. } = through_memory(simulation, bytes);
            let delay = latency + memory;
            let receiver = simulation.occupants.slot(job, message.to);
            let delivered = NetEvent::MemoryDelivered(HostMessage::to_receiver(receiver, number, &message));
            context.send(context.lp(), delay, delivered);
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
                context.undo(HostUndo::HandedOver { before }.into());
            }
            if due > now {
                let event = NetEvent::MessageDue(HostMessage::to_sender(slot, number, &message));
                return context.send(context.lp(), due - now, event);
            }
        }
        hand_over(nic, simulation, (slot, job), number, message, context);
    }

    /// Undoes the start of a rank.
    pub fn undo_started(&mut self, slot: u16) {
        self.slots[usize::from(slot)].state = None;
    }

    /// Undoes operations of a rank.
    pub fn undo_rank(&mut self, slot: u16, changes: mpi::Changes) {
        if let Some(rank) = &mut self.slots[usize::from(slot)].state {
            rank.undo(changes);
        }
    }

    /// Undoes that a message was sent.
    pub fn undo_sent(&mut self, slot: u16) {
        let in_flight = &mut self.slots[usize::from(slot)].in_flight;
        *in_flight = in_flight.wrapping_sub(1);
    }

    /// Undoes that a message was received.
    pub fn undo_received(&mut self, slot: u16) {
        let in_flight = &mut self.slots[usize::from(slot)].in_flight;
        *in_flight = in_flight.wrapping_add(1);
    }

    /// Undoes that a message was handed to the NIC.
    pub fn undo_handed_over(&mut self, before: Time) {
        self.next_handover = before;
    }

    /// The state that changes.
    pub fn state(&self) -> RanksState {
        let slots = self.slots.iter();
        RanksState {
            inbox: self.inbox.state(),
            slots: slots
                .map(|rank_slot| rank_slot.state.as_ref().map(Rank::state))
                .collect(),
            in_flight: self.slots.iter().map(|of| of.in_flight).collect(),
            next_handover: self.next_handover,
        }
    }

    /// Replaces the state by a saved one.
    ///
    /// # Errors
    /// The saved state is that of another host or experiment, or a trace has changed.
    pub fn restore(
        &mut self,
        simulation: &Simulation,
        state: RanksState,
        purpose: Purpose,
    ) -> Result<(), String> {
        if state.slots.len() != self.slots.len() || state.in_flight.len() != self.slots.len() {
            return Err("it has other ranks".into());
        }
        self.inbox.restore(state.inbox)?;
        for ((rank_slot, saved), in_flight) in self.slots.iter_mut().zip(state.slots).zip(state.in_flight) {
            rank_slot.in_flight = in_flight;
            rank_slot.state = saved
                .map(|saved| restore_rank(simulation, rank_slot.job, rank_slot.rank, saved, purpose))
                .transpose()?;
        }
        self.next_handover = state.next_handover;
        Ok(())
    }
}

/// Hands the message of a rank, given by its slot on this host and its job, to the NIC.
pub fn hand_over<C: Context<Simulation>>(
    nic: &mut HostNic,
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
        source: slot,
        traffic_class: simulation.traffic_class_of(job),
        standalone: false,
        report: message.reports_injection().then_some(Injected { slot, request }),
    };
    let receiver = simulation.occupants.slot(job, message.to);
    nic.inject(
        simulation,
        context.now(),
        (outgoing, Some(receiver)),
        None,
        context,
    );
    let announced = NetEvent::MessageAnnounced(HostMessage::to_receiver(receiver, number, &message));
    // The lookahead is at most the latency of one link, and a packet crosses two.
    context.send(
        simulation.numbering.host(destination),
        simulation.network.lookahead(),
        announced,
    );
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
        JobKind::Traffic(_) => unreachable!("only jobs with ranks have rank slots"),
    };
    let program: Box<dyn Program> = match purpose {
        Purpose::GoOn => workload.program(rank).map_err(|error| error.to_string())?,
        Purpose::Read => Box::new(UnreadProgram),
    };
    let rank = Rank::restore(mpi.clone(), rank, program, saved);
    let mut rank = rank.map_err(|error| error.to_string())?;
    rank.set_timeline(simulation.timeline);
    Ok(rank)
}

/// A program of which no further operation is read.
struct UnreadProgram;

impl Program for UnreadProgram {
    fn next(&mut self) -> Result<Option<Operation>, TraceError> {
        Ok(Some(Operation::Compute { ps: 0, region: None }))
    }
}
