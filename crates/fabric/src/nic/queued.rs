//! The model `queued`: messages wait in queues by source, and a packet leaves if the router's buffer has space for all
//! of it.

mod class_queues;
mod memory;
mod pair_windows;
mod pairs;
mod undo;

use std::collections::VecDeque;

use config::{Bandwidth, Parameter, Section, Type, parameters};
use des::Time;
use serde::{Deserialize, Serialize};
use topology::{HostId, check_bandwidth};

use super::arbiter::{NicArbiter, OtherSources, Sending, SourceQueue, TurnUndo};
use super::model::{NicClassView, NicModel, NicModelKind, NicOutputs, NicReport, NicSetup, Outgoing};
use crate::capabilities::{NicCapabilities, Switching};
use crate::link::{LinkCounters, StallCounters};
use crate::router::packet::PacketRouter;
use crate::{
    ClassTurnUndo, ClassTurns, LinkUse, Measured, NicSource, Packet, PacketFormat, Rate, TrafficClasses,
};

use class_queues::ClassQueues;
use memory::MemoryQueue;
use pair_windows::{CONGESTION_CONTROLS, PairWindows, PairWindowsState};

pub use pair_windows::PairControl;
pub use undo::QueuedNicUndo;

/// The part of a message that is not sent yet, and what its packets carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Queued<T> {
    destination: HostId,
    number: u32,
    job: u16,
    standalone: bool,
    report: Option<T>,
    created_at: Time,
    left: u64,
}

/// The sources that wait, and the one whose turn it is. `M` is a message.
type Competitors<'a, M> = (&'a mut OtherSources<M>, Sending<'a, M>);

/// The mutable state of a [`QueuedNic`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedNicState<T> {
    /// By traffic class.
    classes: Vec<NicClassState<T>>,
    /// `None` with one traffic class.
    class_turns: Option<ClassTurns>,
    busy_until: Time,
    wake_pending: bool,
    blocked_since: Option<Time>,
    counters: LinkCounters,
    stalls: StallCounters,
    /// When the way into memory is free, and packets on it; `None` without a bandwidth of memory.
    memory: Option<(Time, u32)>,
    /// `None` without congestion control.
    pairs: Option<Box<PairWindowsState>>,
}

/// The mutable state of one traffic class of a [`QueuedNic`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicClassState<T> {
    queue: Vec<Queued<T>>,
    /// Of the source to which the queue belongs; 0 if the queue is empty or messages compete.
    source: u16,
    /// What this source may send in its turn; 0 without other sources.
    deficit: u32,
    /// Sources that wait for their turn.
    others: Vec<SourceQueue<Queued<T>>>,
    /// By copy of the class's first VC.
    credits: Vec<u32>,
}

/// One port of a NIC. The [`NicArbiter`] says which source sends; the messages of one source alternate packet by
/// packet. With several [`TrafficClasses`], each has its own sources and credits, and those of one class are loaded at
/// a time ([`ClassQueues`]). With several copies of a virtual channel, a packet goes to the one with most credits, and
/// waits only if no copy has space for it. Packets are delivered on arrival, or when they are in memory. Under an
/// optimistic executor it may receive a credit for a packet that it has not sent in this timeline, so its credits wrap.
/// Fields that every packet touches come first.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct QueuedNic<T> {
    rate: Rate,
    measured: Measured,
    busy_until: Time,
    counters: LinkCounters,
    /// Free bytes in the router's input buffer, of the loaded VC.
    credits: u32,
    format: PacketFormat,
    end_point: HostId,
    wake_pending: bool,
    arbiter: NicArbiter,
    /// The number of the source to which the queue belongs. Meaningless if the queue is empty or messages compete.
    source: u16,
    /// Messages of the source whose turn it is. Empty only if no other source waits.
    queue: VecDeque<Queued<T>>,
    /// `None` with one VC, until two sources compete.
    others: Option<Box<Others<T>>>,
    /// Bytes in all queues of the loaded traffic class, without headers.
    backlog: u64,
    /// Since when the next packet has lacked credits, or [`NOT_BLOCKED`]. An `Option` would be 8 bytes longer, and a
    /// host more than whole cache lines.
    blocked_since: Time,
    stalls: StallCounters,
}

/// What a port has that one source does not need.
#[derive(Clone, Debug)]
struct Others<T> {
    /// Other sources of the loaded traffic class.
    sources: OtherSources<Queued<T>>,
    /// Other traffic classes, and copies of VCs; `None` without any.
    classes: Option<ClassQueues<T>>,
    /// `None`: memory takes packets as they arrive.
    memory: Option<MemoryQueue>,
    /// `None` without congestion control.
    pairs: Option<Box<PairWindows>>,
}

/// A timer of a [`QueuedNic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum QueuedNicTimer {
    /// The injection link is free again.
    Free,
    /// A packet is in memory.
    Stored(Packet),
}

/// The parameters of a [`QueuedNic`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuedNicParameters {
    /// Bandwidth of the way into memory; `None`: no limit.
    pub memory: Option<Rate>,
    /// Congestion control by pairs of end points; `None`: a port sends as fast as its router takes packets.
    pub pairs: Option<PairControl>,
}

/// The parameter of the way into memory.
pub(super) const MEMORY: &[Parameter] = parameters! {
    computed("memory_bandwidth", Type::Rate, "no limit",
        "bandwidth of the way from a NIC port into memory, in which packets queue");
};

/// Reads the bandwidth of the way into memory.
///
/// # Errors
/// It is out of range.
pub(super) fn read_memory(section: &Section) -> Result<Option<Rate>, config::Error> {
    let memory: Option<Bandwidth> = section.optional("memory_bandwidth")?;
    if let Some(bandwidth) = memory {
        check_bandwidth(bandwidth).map_err(|why| section.error("memory_bandwidth", why))?;
    }
    Ok(memory.map(|bandwidth| Rate::bits_per_s(bandwidth.bits_per_s)))
}

/// No packet lacks credits.
const NOT_BLOCKED: Time = Time::MAX;

impl<T: NicReport> QueuedNic<T> {
    /// Sends a message of one packet that is certain to start at `start`. It bypasses the queue.
    #[inline]
    fn send_at_once<O: NicOutputs<Self>>(
        &mut self,
        (now, created_at, start): (Time, Time, Time),
        message: &Outgoing<T>,
        out: &mut O,
    ) {
        let bytes = message.bytes as u32 + self.format.header;
        let serialization = self.reserve_link(start, bytes);
        let Outgoing {
            destination,
            number,
            job,
            standalone,
            ..
        } = *message;
        let packet = self.packet((destination, number, job, standalone), created_at, bytes);
        let wait = start - now;
        if let Some(report) = message.report {
            out.injected(report, wait + serialization);
        }
        // A port with several VCs is never clear.
        out.depart_at_once(0, packet, self.source_of(message), wait, serialization);
    }

    /// A packet of a message, at its first link.
    #[inline]
    fn packet(&self, of: (HostId, u32, u16, bool), created_at: Time, bytes: u32) -> Packet {
        let (destination, number, job, standalone) = of;
        let mut packet = Packet::new(self.end_point, destination, number, bytes, created_at, job);
        packet.set_standalone(standalone);
        packet.hops = 1;
        packet
    }

    /// Takes credits and reserves the link from `start` on. Returns the serialization time.
    #[inline]
    fn reserve_link(&mut self, start: Time, bytes: u32) -> Time {
        let serialization = self.rate.serialization(bytes);
        self.credits -= bytes;
        self.busy_until = start + serialization;
        self.counters
            .depart(start, serialization, bytes, self.measured, || &mut self.stalls);
        serialization
    }

    fn serve<O: NicOutputs<Self>>(&mut self, now: Time, out: &mut O) {
        if self.wake_pending || !self.has_packets() {
            return;
        }
        if self.busy_until > now {
            self.set_timer(self.busy_until - now, out);
            return;
        }
        if self.others.is_some() && !self.choose(now, out) {
            return;
        }
        let front = self.queue.front().expect("not empty");
        let payload = front.next_payload(self.format);
        let bytes = payload + self.format.header;
        if self.credits < bytes {
            return self.block(now, out);
        }
        out.note(|| QueuedNicUndo::Departed {
            bytes,
            busy_until: self.busy_until,
            blocked_since: self.blocked_since(),
        });
        self.end_stall(now, out);
        let serialization = self.reserve_link(now, bytes);
        let front = self.queue.front_mut().expect("not empty");
        front.left -= u64::from(payload);
        let front = *front;
        let Queued {
            destination,
            number,
            job,
            standalone,
            created_at,
            ..
        } = front;
        let packet = self.packet((destination, number, job, standalone), created_at, bytes);
        self.backlog -= u64::from(payload);
        let last = front.left == 0;
        if last || self.arbiter != NicArbiter::InOrder {
            let queued = self.queue.pop_front().expect("not empty");
            if self.queue.is_empty() {
                // The next message reuses this memory, which is still in a cache.
                self.queue.clear();
            }
            out.note(|| queued.undo_departure());
            if !last {
                self.queue.push_back(queued);
            } else if let Some(report) = queued.report {
                out.injected(report, serialization);
            }
        }
        let source = self.arbiter.source(self.loaded_class(), job, self.source);
        let vc = self.loaded_vc();
        out.depart(vc, packet, source, Time::ZERO, serialization, last);
        if self.others.is_some() {
            self.load_best_copy(out);
            self.pass_turn(bytes, out);
            self.count_sent(destination, payload, out);
        }
        if self.has_packets() {
            self.set_timer(serialization, out);
        }
    }

    /// Loads the traffic class, or brings the message to the front, that sends next. Returns whether a packet of a
    /// message can leave if it has credits.
    // Not inlined, to keep the code of ports with one source small.
    #[inline(never)]
    fn choose<O: NicOutputs<Self>>(&mut self, now: Time, out: &mut O) -> bool {
        if self.other_classes().is_some() && !self.load_next_class(out) {
            self.block(now, out);
            return false;
        }
        self.pairs().is_none() || self.choose_by_windows(now, out)
    }

    /// The link no longer idles for lack of credits. The step with the time since when it did has been noted.
    #[inline]
    fn end_stall<O: NicOutputs<Self>>(&mut self, now: Time, out: &mut O) {
        if let Some(since) = self.blocked_since() {
            self.blocked_since = NOT_BLOCKED;
            self.stalls.unblock(since, now, self.measured);
            out.link_stalled(since, now);
        }
    }

    /// The link idles, since no packet has credits.
    #[inline]
    fn block<O: NicOutputs<Self>>(&mut self, now: Time, out: &mut O) {
        if self.blocked_since == NOT_BLOCKED {
            self.blocked_since = now;
            out.note(|| QueuedNicUndo::Blocked);
        }
        out.lacks_credits();
    }

    /// Whether a message goes to the queue of the source whose turn it is.
    #[inline]
    fn joins_queue(&self, message: &Outgoing<T>) -> bool {
        let Some(first) = self.queue.front() else {
            return true;
        };
        let sending = self.arbiter.source(message.traffic_class, first.job, self.source);
        sending == self.source_of(message)
    }

    /// Queues a message of a source that does not have its turn.
    // Not inlined, to keep the code of ports with one source small.
    #[inline(never)]
    fn queue_beside<O: NicOutputs<Self>>(&mut self, message: Queued<T>, of_job: u16, out: &mut O) {
        let quantum = self.quantum();
        let others = &mut self.others.get_or_insert_default().sources;
        let step = others.queue(message, of_job, quantum, |other| {
            other.of_job == of_job
                && other
                    .messages
                    .front()
                    .is_some_and(|first| first.job == message.job)
        });
        out.note(|| QueuedNicUndo::Turn(step));
    }

    /// After a packet of `bytes` bytes, gives the turn to the source that sends next.
    #[inline(never)]
    fn pass_turn<O: NicOutputs<Self>>(&mut self, bytes: u32, out: &mut O) {
        let quantum = self.quantum();
        let next = self
            .queue
            .front()
            .map(|first| first.next_payload(self.format) + self.format.header);
        if let Some((others, mut sending)) = self.sources()
            && let Some(step) = others.sent(&mut sending, bytes, next, quantum)
        {
            out.note(|| QueuedNicUndo::Turn(step));
        }
        if let Some(classes) = self.other_classes_mut()
            && let Some(step) = classes.sent(bytes)
        {
            out.note(|| QueuedNicUndo::ClassTurn(step));
        }
    }

    /// Bytes that a turn adds to what a source may send; 0 if a turn has one packet.
    fn quantum(&self) -> u32 {
        match self.arbiter {
            NicArbiter::DeficitRoundRobin => self.format.largest(),
            NicArbiter::RoundRobin | NicArbiter::ByMessage | NicArbiter::InOrder => 0,
        }
    }

    /// The sources that wait, if two have ever competed, and the one whose turn it is.
    fn sources(&mut self) -> Option<Competitors<'_, Queued<T>>> {
        let sending = Sending {
            of_job: &mut self.source,
            messages: &mut self.queue,
        };
        Some((&mut self.others.as_mut()?.sources, sending))
    }

    /// A packet's tail has arrived. It is acknowledged where congestion is controlled, and goes on into memory. Returns
    /// the packet if it is there now.
    // Not inlined, to keep the code of ports without memory small.
    #[inline(never)]
    fn store<O: NicOutputs<Self>>(&mut self, now: Time, packet: Packet, out: &mut O) -> Option<Packet> {
        if self.pairs().is_some() && !self.receive(now, &packet, out) {
            return None;
        }
        let Some(memory) = self.memory_mut() else {
            return Some(packet);
        };
        let stored = memory.stored(now, packet.bytes);
        let (free, held) = (memory.free, stored > now);
        memory.free = stored;
        memory.held = memory.held.wrapping_add(u32::from(held));
        out.note(|| QueuedNicUndo::Stored { free, held });
        if !held {
            return Some(packet);
        }
        out.timer(QueuedNicTimer::Stored(packet), stored - now);
        None
    }

    fn memory(&self) -> Option<&MemoryQueue> {
        self.others.as_ref()?.memory.as_ref()
    }

    fn memory_mut(&mut self) -> Option<&mut MemoryQueue> {
        self.others.as_mut()?.memory.as_mut()
    }

    /// Changes the number of packets on their way into memory.
    fn hold(&mut self, change: impl FnOnce(u32) -> u32) {
        if let Some(memory) = self.memory_mut() {
            memory.held = change(memory.held);
        }
    }

    #[inline]
    fn set_timer<O: NicOutputs<Self>>(&mut self, after: Time, out: &mut O) {
        self.wake_pending = true;
        out.note(|| QueuedNicUndo::TimerSet);
        out.timer(QueuedNicTimer::Free, after);
    }

    fn undo_turn(&mut self, step: TurnUndo) {
        let quantum = self.quantum();
        let Some((others, mut sending)) = self.sources() else {
            return;
        };
        if let Some(taken) = others.undo(step, &mut sending, quantum) {
            self.backlog -= taken.left;
        }
    }

    fn undo_depart(&mut self, bytes: u32, busy_until: Time, blocked_since: Option<Time>) {
        self.undo_link(bytes, busy_until, blocked_since);
        if let Some(front) = self.queue.front_mut() {
            let payload = u64::from(bytes - self.format.header);
            front.left += payload;
            self.backlog += payload;
        }
    }

    fn undo_link(&mut self, bytes: u32, busy_until: Time, blocked_since: Option<Time>) {
        let serialization = self.rate.serialization(bytes);
        let start = self.busy_until - serialization;
        self.counters
            .undo_depart(start, serialization, bytes, self.measured, || &mut self.stalls);
        if let Some(since) = blocked_since {
            self.stalls.undo_unblock(since, start, self.measured);
        }
        self.blocked_since = blocked_since.unwrap_or(NOT_BLOCKED);
        self.busy_until = busy_until;
        self.credits = self.credits.wrapping_add(bytes);
    }

    /// Since when the next packet has lacked credits.
    #[inline]
    fn blocked_since(&self) -> Option<Time> {
        Some(self.blocked_since).filter(|since| *since != NOT_BLOCKED)
    }
}

impl<T: NicReport> NicModel for QueuedNic<T> {
    const MODEL: NicModelKind = NicModelKind {
        name: "queued",
        summary: "queues by source, packets delivered on arrival or through a queue into memory",
        parameters: parameters! {
            ..MEMORY;
            choice("congestion_control", CONGESTION_CONTROLS,
                "whether a port limits what it has under way to each destination, where a last hop is congested");
            computed("pair_window", Type::Size, "256 KiB with pairs",
                "with pairs: most bytes that a port has under way to one destination, at most 1 GiB");
            computed("congestion_threshold", Type::Time, "1 us with pairs",
                "with pairs: wait of a packet for the link to its host beyond which its sender slows down, at most 1 s");
        },
        capabilities: NicCapabilities {
            switching: Switching::CutThrough,
            accepts_every_arrival: true,
            needs_arrivals: false,
            sends_only_messages: true,
            final_reservations: true,
            reports_credit_waits: true,
            signals_of: None,
        },
    };

    type Parameters = QueuedNicParameters;
    type Report = T;
    type Undo = QueuedNicUndo<T>;
    type State = QueuedNicState<T>;
    type Timer = QueuedNicTimer;
    type Router = PacketRouter;

    fn read(section: &Section) -> Result<QueuedNicParameters, config::Error> {
        Ok(QueuedNicParameters {
            memory: read_memory(section)?,
            pairs: PairControl::read(section)?,
        })
    }

    fn capabilities(parameters: QueuedNicParameters) -> NicCapabilities {
        NicCapabilities {
            accepts_every_arrival: parameters.memory.is_none(),
            needs_arrivals: parameters.memory.is_some() || parameters.pairs.is_some(),
            sends_only_messages: parameters.pairs.is_none(),
            ..Self::MODEL.capabilities
        }
    }

    fn memory_rate(parameters: QueuedNicParameters) -> Option<Rate> {
        parameters.memory
    }

    fn mark_after(parameters: QueuedNicParameters) -> Option<Time> {
        parameters.pairs.map(|pairs| pairs.threshold)
    }

    fn more_bytes(classes: &TrafficClasses, parameters: QueuedNicParameters) -> u64 {
        let of_classes = match classes.has_routing_vcs_only() {
            true if parameters == QueuedNicParameters::default() => return 0,
            true => 0,
            false => ClassQueues::<T>::bytes(classes),
        };
        let of_pairs = parameters.pairs.map_or(0, |_| size_of::<PairWindows>() as u64);
        size_of::<Others<T>>() as u64 + of_classes + of_pairs
    }

    fn new(setup: &NicSetup, parameters: QueuedNicParameters) -> Self {
        let has_classes = !setup.traffic_classes.has_routing_vcs_only();
        let needs_others = has_classes || parameters != QueuedNicParameters::default();
        let others = needs_others.then(|| {
            Box::new(Others {
                sources: OtherSources::default(),
                classes: has_classes.then(|| ClassQueues::new(setup.traffic_classes, setup.credits)),
                memory: parameters
                    .memory
                    .map(|rate| MemoryQueue::new(setup.ejection, rate)),
                pairs: parameters
                    .pairs
                    .map(|control| Box::new(PairWindows::new(control, setup.format.payload))),
            })
        });
        QueuedNic {
            end_point: setup.end_point,
            rate: setup.rate,
            format: setup.format,
            measured: setup.measured,
            arbiter: setup.arbiter,
            source: 0,
            queue: VecDeque::new(),
            others,
            backlog: 0,
            credits: setup.credits,
            busy_until: Time::ZERO,
            wake_pending: false,
            blocked_since: NOT_BLOCKED,
            counters: LinkCounters::default(),
            stalls: StallCounters::default(),
        }
    }

    fn send<O: NicOutputs<Self>>(
        &mut self,
        (now, created_at): (Time, Time),
        message: &Outgoing<T>,
        out: &mut O,
    ) {
        let PacketFormat { payload, header } = self.format;
        let has_space = message.bytes <= u64::from(payload)
            && message.bytes + u64::from(header) <= u64::from(self.credits);
        if !O::KEPT && has_space && self.is_clear() {
            let start = created_at.max(self.busy_until);
            // Ahead of time, messages of several sources would leave in the order in which they came.
            if start == now || self.arbiter == NicArbiter::ByMessage && out.sends_ahead(start) {
                return self.send_at_once((now, created_at, start), message, out);
            }
        }
        if self.other_classes().is_some() {
            self.load_class(message.traffic_class, out);
        }
        self.backlog += message.bytes;
        let queued = Queued {
            destination: message.destination,
            number: message.number,
            job: message.job,
            standalone: message.standalone,
            report: message.report,
            created_at,
            left: message.bytes,
        };
        if self.joins_queue(message) {
            let source = std::mem::replace(&mut self.source, message.source);
            self.queue.push_back(queued);
            out.note(|| QueuedNicUndo::Taken { source });
        } else {
            self.queue_beside(queued, message.source, out);
        }
        if created_at > now {
            self.set_timer(created_at.max(self.busy_until) - now, out);
        } else {
            self.serve(now, out);
        }
    }

    fn credit<O: NicOutputs<Self>>(&mut self, now: Time, vc: u8, bytes: u32, out: &mut O) {
        if self.other_classes().is_some() {
            self.load_vc(vc, out);
        }
        self.credits = self.credits.wrapping_add(bytes);
        out.note(|| QueuedNicUndo::Credited { bytes });
        if self.others.is_some() {
            self.load_best_copy(out);
        }
        self.serve(now, out);
    }

    fn timer<O: NicOutputs<Self>>(
        &mut self,
        now: Time,
        timer: QueuedNicTimer,
        out: &mut O,
    ) -> Option<Packet> {
        if let QueuedNicTimer::Stored(packet) = timer {
            self.hold(|held| held.wrapping_sub(1));
            out.note(|| QueuedNicUndo::Delivered);
            return Some(packet);
        }
        out.note(|| QueuedNicUndo::Woken {
            pending: self.wake_pending,
        });
        self.wake_pending = false;
        self.serve(now, out);
        None
    }

    #[inline(always)]
    fn arrived<O: NicOutputs<Self>>(&mut self, now: Time, packet: Packet, out: &mut O) -> Option<Packet> {
        match self.others {
            None => Some(packet),
            Some(_) => self.store(now, packet, out),
        }
    }

    fn undo(&mut self, step: QueuedNicUndo<T>) {
        match step {
            QueuedNicUndo::Stored { free, held } => {
                if let Some(memory) = self.memory_mut() {
                    memory.free = free;
                    memory.held = memory.held.wrapping_sub(u32::from(held));
                }
            }
            QueuedNicUndo::Delivered => self.hold(|held| held.wrapping_add(1)),
            QueuedNicUndo::PairChanged { to, before } => {
                if let Some(pairs) = self.pairs_mut() {
                    pairs.set(to, before);
                }
            }
            QueuedNicUndo::AcknowledgementQueued => {
                if let Some(pairs) = self.pairs_mut() {
                    pairs.acknowledgements.pop_back();
                }
            }
            QueuedNicUndo::Acknowledged(acknowledgement) => {
                if let Some(pairs) = self.pairs_mut() {
                    pairs.acknowledgements.push_front(acknowledgement);
                }
            }
            QueuedNicUndo::LinkReserved {
                bytes,
                busy_until,
                blocked_since,
            } => self.undo_link(bytes, busy_until, blocked_since),
            QueuedNicUndo::Unblocked { since, until } => self.undo_unblock(since, until),
            QueuedNicUndo::MovedForward { from } => self.undo_forward(from),
            QueuedNicUndo::Taken { source } => {
                self.source = source;
                if let Some(taken) = self.queue.pop_back() {
                    self.backlog -= taken.left;
                }
            }
            QueuedNicUndo::Turn(step) => self.undo_turn(step),
            QueuedNicUndo::Woken { pending } => self.wake_pending = pending,
            QueuedNicUndo::TimerSet => self.wake_pending = false,
            QueuedNicUndo::Credited { bytes } => self.credits = self.credits.wrapping_sub(bytes),
            QueuedNicUndo::Blocked => self.blocked_since = NOT_BLOCKED,
            QueuedNicUndo::Departed {
                bytes,
                busy_until,
                blocked_since,
            } => self.undo_depart(bytes, busy_until, blocked_since),
            QueuedNicUndo::ClassLoaded { class } => {
                self.swap_class(class);
            }
            QueuedNicUndo::CopyLoaded { copy } => {
                self.swap_copy(copy);
            }
            QueuedNicUndo::ClassTurn(step) => {
                if let Some(classes) = self.other_classes_mut() {
                    classes.turns.undo(step);
                }
            }
            QueuedNicUndo::MovedBack => self.queue.rotate_right(1),
            QueuedNicUndo::Finished {
                destination,
                number,
                job,
                standalone,
                report,
                created_at,
            } => self.queue.push_front(Queued {
                destination,
                number,
                job,
                standalone,
                report,
                created_at,
                left: 0,
            }),
        }
    }

    fn state(&self) -> QueuedNicState<T> {
        let classes = self.other_classes();
        let count = classes.map_or(1, ClassQueues::count);
        QueuedNicState {
            classes: (0..count).map(|class| self.class_state(class)).collect(),
            class_turns: classes.map(|classes| classes.turns),
            busy_until: self.busy_until,
            wake_pending: self.wake_pending,
            blocked_since: self.blocked_since(),
            counters: self.counters,
            stalls: self.stalls,
            memory: self.memory().map(|memory| (memory.free, memory.held)),
            pairs: self.pairs().map(|pairs| Box::new(pairs.state())),
        }
    }

    fn restore(&mut self, state: QueuedNicState<T>) -> Result<(), String> {
        let port = self.end_point.0;
        let acknowledges = |pairs: &PairWindowsState| !pairs.acknowledgements.is_empty();
        let is_empty = state.classes.iter().all(|class| class.queue.is_empty())
            && !state.pairs.as_deref().is_some_and(acknowledges);
        if state.blocked_since.is_some() && is_empty {
            return Err(format!(
                "NIC port {port}: its saved state lacks credits, but has nothing to send"
            ));
        }
        let lacks_messages = |class: &NicClassState<T>| {
            let waiting = &class.others;
            !waiting.is_empty() && class.queue.is_empty() || waiting.iter().any(|of| of.messages.is_empty())
        };
        if state.classes.iter().any(lacks_messages) {
            return Err(format!(
                "NIC port {port}: in its saved state a source without messages takes turns with others"
            ));
        }
        let largest = self.format.largest();
        let fits = match (self.other_classes(), &state.class_turns) {
            (None, None) => state.classes.len() == 1,
            (Some(classes), Some(turns)) => {
                state.classes.len() == usize::from(classes.count()) && classes.allow(turns, largest)
            }
            _ => false,
        };
        let copies = self.other_classes().map_or(1, ClassQueues::copies);
        let fits = fits && state.classes.iter().all(|class| class.credits.len() == copies);
        if !fits {
            return Err(format!(
                "NIC port {port}: its saved state is that of other traffic classes or virtual channels"
            ));
        }
        if self.memory().is_some() != state.memory.is_some() {
            return Err(format!(
                "NIC port {port}: its saved state is that of another bandwidth of memory"
            ));
        }
        let fits = match (self.pairs(), &state.pairs) {
            (None, None) => true,
            (Some(pairs), Some(saved)) => pairs.allow(saved),
            _ => false,
        };
        if !fits {
            return Err(format!(
                "NIC port {port}: its saved state is that of another congestion control"
            ));
        }
        if let (Some(pairs), Some(saved)) = (self.pairs_mut(), state.pairs) {
            pairs.restore(*saved);
        }
        if let (Some(memory), Some((free, held))) = (self.memory_mut(), state.memory) {
            (memory.free, memory.held) = (free, held);
        }
        for (class, saved) in (0..).zip(state.classes) {
            self.restore_class(class, saved);
        }
        if let (Some(classes), Some(turns)) = (self.other_classes_mut(), state.class_turns) {
            classes.turns = turns;
        }
        self.busy_until = state.busy_until;
        self.wake_pending = state.wake_pending;
        self.blocked_since = state.blocked_since.unwrap_or(NOT_BLOCKED);
        self.counters = state.counters;
        self.stalls = state.stalls;
        Ok(())
    }

    #[inline]
    fn source_of(&self, message: &Outgoing<T>) -> NicSource {
        self.arbiter
            .source(message.traffic_class, message.job, message.source)
    }

    #[inline]
    fn is_clear(&self) -> bool {
        let is_plain = |others: &Others<T>| others.classes.is_none() && others.pairs.is_none();
        !self.wake_pending && self.queue.is_empty() && self.others.as_deref().is_none_or(is_plain)
    }

    fn backlog(&self) -> u64 {
        let others = self.other_classes().map_or(0, ClassQueues::backlog);
        self.backlog + others
    }

    fn credits(&self, vc: u8) -> u32 {
        self.other_classes().map_or(self.credits, |classes| {
            let (class, copy) = classes.place(vc);
            self.credits_of(class, copy)
        })
    }

    fn class_view(&self, class: u8) -> NicClassView {
        let count = self.other_classes().map_or(1, ClassQueues::count);
        match class < count {
            true => NicClassView {
                backlog: self.backlog_of(class),
                credits: self.all_credits_of(class),
            },
            false => NicClassView::default(),
        }
    }

    fn held_packets(&self) -> u64 {
        self.memory().map_or(0, |memory| memory.held.into())
    }

    fn used(&self, end: Time) -> LinkUse {
        let mut stalls = self.stalls;
        if let Some(since) = self.blocked_since() {
            stalls.unblock(since, end, self.measured);
        }
        LinkUse::new(self.counters, stalls, (end, self.busy_until), self.measured)
    }

    fn is_active(&self, time: Time) -> bool {
        self.busy_until > time || self.blocked_since != NOT_BLOCKED
    }

    #[inline]
    fn prefetch(&self) {
        des::prefetch_begin(self.queue.as_slices().0, 0);
    }
}

impl<T> Default for Others<T> {
    fn default() -> Self {
        Others {
            sources: OtherSources::default(),
            classes: None,
            memory: None,
            pairs: None,
        }
    }
}

impl<T: Copy> Queued<T> {
    /// Payload of its next packet in bytes.
    #[inline]
    fn next_payload(&self, format: PacketFormat) -> u32 {
        self.left.min(u64::from(format.payload)) as u32
    }

    /// The step that makes the current first message the first again after its packet has left.
    fn undo_departure(&self) -> QueuedNicUndo<T> {
        if self.left > 0 {
            return QueuedNicUndo::MovedBack;
        }
        QueuedNicUndo::Finished {
            destination: self.destination,
            number: self.number,
            job: self.job,
            standalone: self.standalone,
            report: self.report,
            created_at: self.created_at,
        }
    }
}

#[cfg(test)]
mod tests;
