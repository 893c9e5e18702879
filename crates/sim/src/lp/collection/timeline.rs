//! Timelines: the records of a host about its ranks, its messages and the packets that wait in its NIC.

use des::{Context, Journal, Time};
use fabric::{NicSource, NicWaitTracker, NicWaitTrackerUndo, Packet, Wait, WaitOutputs};
use mpi::{COLLECTIVE_CONTEXT, Message, RMA_CONTEXT, TimelineEvent};
use topology::HOST_LINK;

use super::host::{HostCollectionUndo, HostDepartureFacts};
use crate::lp::net_event::Record;
use crate::lp::simulation::Simulation;
use crate::lp::timeline_record::{MessageKey, TimelineRecord};
use crate::lp::times_by_job::TimesByJob;

/// Writes the timeline records of a host.
pub struct HostTimeline {
    /// Whether it records ranks and their messages.
    of_ranks: bool,
    /// By rail; empty unless waits are collected.
    pub wait_trackers: Box<[NicWaitTracker]>,
    /// Times that the injection links took to transmit the packets of each job, if energy is divided among jobs.
    pub transmissions: Option<TimesByJob>,
}

/// Keeps undo steps of the wait tracker of a NIC port.
struct NicWaitJournal<'a, C> {
    rail: u8,
    context: &'a mut C,
}

/// Where the wait tracker of a NIC port writes while a packet departs.
struct NicWaitSink<'a, C> {
    rail: u8,
    /// The first VC of the packet's traffic class.
    vc: u8,
    packet: Packet,
    /// Records of the packet's wait so far.
    record: u8,
    context: &'a mut C,
}

impl HostTimeline {
    /// `None` unless timelines or waits are collected, or energy is divided among jobs.
    pub fn new(simulation: &Simulation) -> Option<HostTimeline> {
        let rails = if simulation.waits {
            simulation.network.rails.count()
        } else {
            0
        };
        let divides_energy = simulation.divides_energy();
        (simulation.timeline || simulation.waits || divides_energy).then(|| HostTimeline {
            of_ranks: simulation.timeline,
            wait_trackers: vec![NicWaitTracker::default(); rails as usize].into(),
            transmissions: divides_energy.then(TimesByJob::default),
        })
    }

    /// The NIC port of a rail takes a message of this source.
    #[inline(never)]
    pub fn taken<C: Context<Simulation>>(&mut self, rail: u8, source: NicSource, context: &mut C) {
        if let Some(wait_tracker) = self.wait_trackers.get_mut(usize::from(rail)) {
            let now = context.now();
            wait_tracker.taken(now, source, &mut NicWaitJournal { rail, context });
        }
    }

    /// A packet departs into a VC.
    pub fn departed<C: Context<Simulation>>(
        &mut self,
        vc: u8,
        packet: Packet,
        facts: HostDepartureFacts,
        context: &mut C,
    ) {
        let HostDepartureFacts {
            rail,
            source,
            serialization,
            last,
            ..
        } = facts;
        let now = context.now();
        if let Some(transmissions) = &mut self.transmissions {
            let step = transmissions.add(packet.job, HOST_LINK, serialization);
            if C::REVERSIBLE {
                context.undo(HostCollectionUndo::Transmission(step).into());
            }
        }
        if let Some(wait_tracker) = self.wait_trackers.get_mut(usize::from(rail)) {
            let mut sink = NicWaitSink {
                rail,
                vc,
                packet,
                record: 0,
                context: &mut *context,
            };
            wait_tracker.departed(now, (packet.job, source), serialization, last, &mut sink);
        }
        if self.of_ranks && last && !packet.standalone() {
            context.emit(Record::Timeline(TimelineRecord::Injected {
                source: packet.source,
                number: packet.message,
                at: now + serialization,
            }));
        }
    }
}

impl<C: Context<Simulation>> Journal<NicWaitTrackerUndo> for NicWaitJournal<'_, C> {
    const KEPT: bool = C::REVERSIBLE;

    fn keep(&mut self, step: NicWaitTrackerUndo) {
        let rail = self.rail;
        self.context
            .undo(HostCollectionUndo::WaitTracker { rail, step }.into());
    }
}

impl<C: Context<Simulation>> Journal<NicWaitTrackerUndo> for NicWaitSink<'_, C> {
    const KEPT: bool = C::REVERSIBLE;

    fn keep(&mut self, step: NicWaitTrackerUndo) {
        let rail = self.rail;
        NicWaitJournal {
            rail,
            context: &mut *self.context,
        }
        .keep(step);
    }
}

impl<C: Context<Simulation>> WaitOutputs<NicWaitTrackerUndo> for NicWaitSink<'_, C> {
    fn waited(&mut self, wait: Wait) {
        let Packet {
            job,
            source,
            message: number,
            bytes,
            ..
        } = self.packet;
        self.context.emit(Record::Timeline(TimelineRecord::Waited {
            job,
            source,
            number,
            lp: self.context.lp(),
            port: u16::from(self.rail),
            vc: self.vc,
            bytes,
            part: self.record,
            wait,
        }));
        self.record = self.record.saturating_add(1);
    }
}

/// Emits the records of a message that a rank asks to send. An answer of its protocol is asked for now.
pub fn emit_asked(
    job: u16,
    message: &Message,
    number: Option<u32>,
    asked: Option<(Time, Option<u16>)>,
    context: &mut impl Context<Simulation>,
) {
    let (at, algorithm) = asked.unwrap_or((context.now(), None));
    let key = MessageKey::new(job, message);
    let of_program = message.communicator & (COLLECTIVE_CONTEXT | RMA_CONTEXT) == 0;
    context.emit(Record::Timeline(TimelineRecord::Asked { key, number, at }));
    context.emit(Record::Timeline(TimelineRecord::Described {
        key,
        bytes: message.bytes,
        tag: of_program.then_some(message.tag),
        algorithm,
    }));
}

/// Emits what a rank did. When it asked for its next message, and by which algorithm of a collective, is returned.
pub fn emit_rank_event(
    note: TimelineEvent,
    (job, rank): (u16, u32),
    context: &mut impl Context<Simulation>,
) -> Option<(Time, Option<u16>)> {
    let record = match note {
        TimelineEvent::SendIssued { at, algorithm } => return Some((at, algorithm)),
        TimelineEvent::Activity {
            what,
            since,
            until,
            blocked,
        } => TimelineRecord::Did {
            job,
            rank,
            since,
            until,
            what: what.into(),
            blocked,
        },
        TimelineEvent::ReceiveMatched(message) => TimelineRecord::Matched {
            key: MessageKey::new(job, &message),
        },
    };
    context.emit(Record::Timeline(record));
    None
}
