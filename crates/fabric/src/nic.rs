//! One port of a NIC: messages become packets on the injection link; packets from the network are delivered.
//!
//! [`NicModel`] is the interface, [`Nic`] the model that simulations use.

mod arbiter;
mod class_queues;

use std::collections::VecDeque;
use std::fmt::Debug;

use des::{Journal, Time};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use topology::HostId;

use crate::capabilities::NicCapabilities;
use crate::link::{LinkCounters, StallCounters};
use crate::{ClassTurnUndo, ClassTurns, LinkUse, Measured, Packet, PacketFormat, Rate, TrafficClasses};

pub use arbiter::{NIC_ARBITERS, NicArbiter, NicSource, TurnUndo};
use arbiter::{OtherSources, Sending, SourceQueue};
use class_queues::ClassQueues;
pub use class_queues::NicClassView;

/// A message for the network. `T` identifies it to the layer above.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<T> {
    /// The receiving end point.
    pub destination: HostId,
    /// Its number, which its packets carry.
    pub number: u32,
    /// Payload of its packets in bytes, at least 1.
    pub bytes: u64,
    /// Job.
    pub job: u16,
    /// The number that the job has for the source of the message on this host: one for each rank, and one for synthetic
    /// traffic.
    pub source: u16,
    /// Traffic class of the job.
    pub traffic_class: u8,
    /// Whether its packets count individually (see [`Packet::standalone`]).
    pub standalone: bool,
    /// Reported when the last byte has left.
    pub report: Option<T>,
}

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

/// An undo step of a [`Nic`].
#[derive(Clone, Copy, Debug)]
pub enum NicUndo<T> {
    /// A message went to the end of the queue of the source whose turn it is.
    Taken {
        /// The source that had its turn before.
        source: u16,
    },
    /// The other sources, or the turn, changed.
    Turn(TurnUndo),
    /// The timer expired.
    Woken {
        /// Whether a timer was pending.
        pending: bool,
    },
    /// The timer was set.
    TimerSet,
    /// The router returned credits.
    Credited {
        /// Bytes.
        bytes: u32,
    },
    /// The next packet lacked credits.
    Blocked,
    /// A packet of the first message departed.
    Departed {
        /// Bytes of the packet on the wire.
        bytes: u32,
        /// End of the previous link reservation.
        busy_until: Time,
        /// Since when the packet had lacked credits.
        blocked_since: Option<Time>,
    },
    /// The queues and credits of another traffic class were loaded.
    ClassLoaded {
        /// The class before.
        class: u8,
    },
    /// The turns of the traffic classes changed.
    ClassTurn(ClassTurnUndo),
    /// The first message went to the end of the queue.
    MovedBack,
    /// The first message was completely sent and left the queue.
    Finished {
        /// Receiving end point.
        destination: HostId,
        /// Its number.
        number: u32,
        /// Job.
        job: u16,
        /// Whether its packets count individually.
        standalone: bool,
        /// The report that was due.
        report: Option<T>,
        /// Time at which the host handed it over.
        created_at: Time,
    },
}

const _: () = assert!(size_of::<NicUndo<(u16, u32)>>() == 32);

/// The mutable state of a [`Nic`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicState<T> {
    /// By traffic class.
    classes: Vec<NicClassState<T>>,
    /// `None` with one traffic class.
    class_turns: Option<ClassTurns>,
    busy_until: Time,
    wake_pending: bool,
    blocked_since: Option<Time>,
    counters: LinkCounters,
    stalls: StallCounters,
}

/// The mutable state of one traffic class of a [`Nic`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicClassState<T> {
    queue: Vec<Queued<T>>,
    /// Of the source to which the queue belongs; 0 if the queue is empty or messages compete.
    source: u16,
    /// What this source may send in its turn; 0 without other sources.
    deficit: u32,
    /// Sources that wait for their turn.
    others: Vec<SourceQueue<Queued<T>>>,
    credits: u32,
}

/// A model of one port of a NIC, with an injection link and an ejection link: a state machine like a router.
pub trait NicModel: Sized {
    /// What exact shortcuts and the audit may rely on.
    const CAPABILITIES: NicCapabilities;

    /// Identifies a message to the layer above.
    type Report: Copy;
    /// An undo step.
    type Undo;
    /// The mutable state.
    type State: Serialize + DeserializeOwned;
    /// Content of a timer.
    type Timer: Copy + Debug + Send + Sync + Serialize + DeserializeOwned + 'static;

    /// Takes a message that is created at the second time, not before now.
    fn send<O: NicOutputs<Self>>(
        &mut self,
        times: (Time, Time),
        message: &Outgoing<Self::Report>,
        out: &mut O,
    );

    /// The router's input buffer has freed `bytes` bytes of a traffic class.
    fn credit<O: NicOutputs<Self>>(&mut self, now: Time, class: u8, bytes: u32, out: &mut O);

    /// A timer that was set by [`NicOutputs::timer`] expires. Returns the packet that is delivered now, if any.
    fn timer<O: NicOutputs<Self>>(&mut self, now: Time, timer: Self::Timer, out: &mut O) -> Option<Packet>;

    /// The tail of a packet has arrived from the network. Returns the packet that is delivered now, if any.
    #[inline(always)]
    fn arrived<O: NicOutputs<Self>>(&mut self, now: Time, packet: Packet, out: &mut O) -> Option<Packet> {
        let _ = (now, out);
        Some(packet)
    }

    /// Undoes one step that was noted in [`NicOutputs`]. Steps are undone in reverse order.
    fn undo(&mut self, step: Self::Undo);

    /// The mutable state. States that no input can distinguish are equal.
    fn state(&self) -> Self::State;

    /// Restores a saved state into a new NIC with the same settings.
    ///
    /// # Errors
    /// The state contradicts itself; the NIC is unchanged.
    fn restore(&mut self, state: Self::State) -> Result<(), String>;
}

/// The outputs of a NIC, and the journal of its undo steps.
pub trait NicOutputs<N: NicModel>: Journal<N::Undo> {
    /// The packet of `source` starts onto the injection link after `wait`; its tail leaves `serialization` later.
    /// `last` tells whether it is the last packet of its message on this port.
    fn depart(&mut self, packet: Packet, source: NicSource, wait: Time, serialization: Time, last: bool);

    /// As [`NicOutputs::depart`], for a message of one packet that was not queued.
    #[inline]
    fn depart_at_once(&mut self, packet: Packet, source: NicSource, wait: Time, serialization: Time) {
        self.depart(packet, source, wait, serialization, true);
    }

    /// Whether a reservation of the link that begins at this time may be made now.
    #[inline]
    fn sends_ahead(&self, start: Time) -> bool {
        let _ = start;
        false
    }

    /// [`NicModel::timer`] is called after this span.
    fn timer(&mut self, timer: N::Timer, after: Time);

    /// The last byte of a message leaves after this span.
    fn injected(&mut self, report: N::Report, after: Time);

    /// The next packet lacks credits.
    #[inline]
    fn lacks_credits(&mut self) {}

    /// The injection link was free from `since` to `until` while its next packet lacked credits.
    #[inline]
    fn link_stalled(&mut self, since: Time, until: Time) {
        let _ = (since, until);
    }
}

/// One port of a NIC. The [`NicArbiter`] says which source sends; the messages of one source alternate packet by
/// packet. With several [`TrafficClasses`], each has its own sources and credits, and those of one class are loaded at
/// a time ([`ClassQueues`]). Packets are delivered on arrival. Under an optimistic executor it may receive a credit for
/// a packet that it has not sent in this timeline, so its credits wrap. Fields that every packet touches come first.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Nic<T> {
    rate: Rate,
    measured: Measured,
    busy_until: Time,
    counters: LinkCounters,
    /// Free bytes in the router's input buffer, of the loaded traffic class.
    credits: u32,
    format: PacketFormat,
    end_point: HostId,
    wake_pending: bool,
    arbiter: NicArbiter,
    /// The number of the source to which the queue belongs. Meaningless if the queue is empty or messages compete.
    source: u16,
    /// Messages of the source whose turn it is. Empty only if no other source waits.
    queue: VecDeque<Queued<T>>,
    /// `None` with one traffic class, until two sources compete.
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
    /// Other traffic classes; `None` without any.
    classes: Option<ClassQueues<T>>,
}

/// No packet lacks credits.
const NOT_BLOCKED: Time = Time::MAX;

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Nic<(u16, u32)>>() == 176);

impl<T: Copy + Serialize + DeserializeOwned> Nic<T> {
    /// An idle NIC that sends packets of this format, and may send `credits` bytes before the router returns any.
    pub fn new(
        end_point: HostId,
        rate: Rate,
        (format, credits): (PacketFormat, u32),
        arbiter: NicArbiter,
        measured: Measured,
    ) -> Self {
        Nic {
            end_point,
            rate,
            format,
            measured,
            arbiter,
            source: 0,
            queue: VecDeque::new(),
            others: None,
            backlog: 0,
            credits,
            busy_until: Time::ZERO,
            wake_pending: false,
            blocked_since: NOT_BLOCKED,
            counters: LinkCounters::default(),
            stalls: StallCounters::default(),
        }
    }

    /// The source of a message, as the arbiter distinguishes sources.
    #[inline]
    pub fn source_of(&self, message: &Outgoing<T>) -> NicSource {
        self.arbiter
            .source(message.traffic_class, message.job, message.source)
    }

    /// Whether no message waits, and none of another traffic class can come.
    #[inline]
    pub fn is_clear(&self) -> bool {
        !self.wake_pending && self.queue.is_empty() && self.other_classes().is_none()
    }

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
        out.depart_at_once(packet, self.source_of(message), wait, serialization);
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
        if self.wake_pending || !self.has_messages() {
            return;
        }
        if self.busy_until > now {
            self.set_timer(self.busy_until - now, out);
            return;
        }
        if self.other_classes().is_some() && !self.load_next_class(out) {
            return self.block(now, out);
        }
        let front = self.queue.front().expect("not empty");
        let payload = front.next_payload(self.format);
        let bytes = payload + self.format.header;
        if self.credits < bytes {
            return self.block(now, out);
        }
        out.note(|| NicUndo::Departed {
            bytes,
            busy_until: self.busy_until,
            blocked_since: self.blocked_since(),
        });
        if let Some(since) = self.blocked_since() {
            self.blocked_since = NOT_BLOCKED;
            self.stalls.unblock(since, now, self.measured);
            out.link_stalled(since, now);
        }
        let serialization = self.reserve_link(now, bytes);
        let front = self.queue.front_mut().expect("not empty");
        front.left -= u64::from(payload);
        let Queued {
            destination,
            number,
            job,
            standalone,
            created_at,
            ..
        } = *front;
        let packet = self.packet((destination, number, job, standalone), created_at, bytes);
        self.backlog -= u64::from(payload);
        let queued = self.queue.pop_front().expect("not empty");
        if self.queue.is_empty() {
            // The next message reuses this memory, which is still in a cache.
            self.queue.clear();
        }
        out.note(|| queued.undo_departure());
        let last = queued.left == 0;
        if !last {
            self.queue.push_back(queued);
        } else if let Some(report) = queued.report {
            out.injected(report, serialization);
        }
        let source = self.arbiter.source(self.loaded_class(), job, self.source);
        out.depart(packet, source, Time::ZERO, serialization, last);
        if self.others.is_some() {
            self.pass_turn(bytes, out);
        }
        if self.has_messages() {
            self.set_timer(serialization, out);
        }
    }

    /// The link idles, since no packet has credits.
    #[inline]
    fn block<O: NicOutputs<Self>>(&mut self, now: Time, out: &mut O) {
        if self.blocked_since == NOT_BLOCKED {
            self.blocked_since = now;
            out.note(|| NicUndo::Blocked);
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
        out.note(|| NicUndo::Turn(step));
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
            out.note(|| NicUndo::Turn(step));
        }
        if let Some(classes) = self.other_classes_mut()
            && let Some(step) = classes.sent(bytes)
        {
            out.note(|| NicUndo::ClassTurn(step));
        }
    }

    /// Bytes that a turn adds to what a source may send; 0 if a turn has one packet.
    fn quantum(&self) -> u32 {
        match self.arbiter {
            NicArbiter::DeficitRoundRobin => self.format.largest(),
            NicArbiter::RoundRobin | NicArbiter::ByMessage => 0,
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

    #[inline]
    fn set_timer<O: NicOutputs<Self>>(&mut self, after: Time, out: &mut O) {
        self.wake_pending = true;
        out.note(|| NicUndo::TimerSet);
        out.timer((), after);
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
        if let Some(front) = self.queue.front_mut() {
            let payload = u64::from(bytes - self.format.header);
            front.left += payload;
            self.backlog += payload;
        }
    }

    /// Since when the next packet has lacked credits.
    #[inline]
    fn blocked_since(&self) -> Option<Time> {
        Some(self.blocked_since).filter(|since| *since != NOT_BLOCKED)
    }

    /// Prefetches the memory that its next packet touches.
    #[inline]
    pub fn prefetch(&self) {
        des::prefetch_begin(self.queue.as_slices().0, 0);
    }

    /// Bytes that wait to be sent, without headers.
    pub fn backlog(&self) -> u64 {
        let others = self.other_classes().map_or(0, ClassQueues::backlog);
        self.backlog + others
    }

    /// Use of the injection link until `end`.
    pub fn used(&self, end: Time) -> LinkUse {
        let mut stalls = self.stalls;
        if let Some(since) = self.blocked_since() {
            stalls.unblock(since, end, self.measured);
        }
        LinkUse::new(self.counters, stalls, (end, self.busy_until), self.measured)
    }

    /// Whether its link is busy or blocked at `time` if no event comes before.
    pub fn is_active(&self, time: Time) -> bool {
        self.busy_until > time || self.blocked_since != NOT_BLOCKED
    }
}

impl<T: Copy + Serialize + DeserializeOwned> NicModel for Nic<T> {
    const CAPABILITIES: NicCapabilities = NicCapabilities {
        accepts_every_arrival: true,
        needs_arrivals: false,
        sends_only_messages: true,
        final_reservations: true,
        reports_credit_waits: true,
    };

    type Report = T;
    type Undo = NicUndo<T>;
    type State = NicState<T>;
    /// The injection link is free again.
    type Timer = ();

    /// `created_at` is later than now only if [`Nic::is_clear`].
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
            out.note(|| NicUndo::Taken { source });
        } else {
            self.queue_beside(queued, message.source, out);
        }
        if created_at > now {
            self.set_timer(created_at.max(self.busy_until) - now, out);
        } else {
            self.serve(now, out);
        }
    }

    fn credit<O: NicOutputs<Self>>(&mut self, now: Time, class: u8, bytes: u32, out: &mut O) {
        if self.other_classes().is_some() {
            self.load_class(class, out);
        }
        self.credits = self.credits.wrapping_add(bytes);
        out.note(|| NicUndo::Credited { bytes });
        self.serve(now, out);
    }

    fn timer<O: NicOutputs<Self>>(&mut self, now: Time, (): (), out: &mut O) -> Option<Packet> {
        out.note(|| NicUndo::Woken {
            pending: self.wake_pending,
        });
        self.wake_pending = false;
        self.serve(now, out);
        None
    }

    fn undo(&mut self, step: NicUndo<T>) {
        match step {
            NicUndo::Taken { source } => {
                self.source = source;
                if let Some(taken) = self.queue.pop_back() {
                    self.backlog -= taken.left;
                }
            }
            NicUndo::Turn(step) => self.undo_turn(step),
            NicUndo::Woken { pending } => self.wake_pending = pending,
            NicUndo::TimerSet => self.wake_pending = false,
            NicUndo::Credited { bytes } => self.credits = self.credits.wrapping_sub(bytes),
            NicUndo::Blocked => self.blocked_since = NOT_BLOCKED,
            NicUndo::Departed {
                bytes,
                busy_until,
                blocked_since,
            } => self.undo_depart(bytes, busy_until, blocked_since),
            NicUndo::ClassLoaded { class } => {
                self.swap_class(class);
            }
            NicUndo::ClassTurn(step) => {
                if let Some(classes) = self.other_classes_mut() {
                    classes.turns.undo(step);
                }
            }
            NicUndo::MovedBack => self.queue.rotate_right(1),
            NicUndo::Finished {
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

    fn state(&self) -> NicState<T> {
        let classes = self.other_classes();
        let count = classes.map_or(1, ClassQueues::count);
        NicState {
            classes: (0..count).map(|class| self.class_state(class)).collect(),
            class_turns: classes.map(|classes| classes.turns),
            busy_until: self.busy_until,
            wake_pending: self.wake_pending,
            blocked_since: self.blocked_since(),
            counters: self.counters,
            stalls: self.stalls,
        }
    }

    fn restore(&mut self, state: NicState<T>) -> Result<(), String> {
        let port = self.end_point.0;
        let is_empty = state.classes.iter().all(|class| class.queue.is_empty());
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
        if !fits {
            return Err(format!(
                "NIC port {port}: its saved state is that of other traffic classes"
            ));
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
}

impl<T> Default for Others<T> {
    fn default() -> Self {
        Others {
            sources: OtherSources::default(),
            classes: None,
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
    fn undo_departure(&self) -> NicUndo<T> {
        if self.left > 0 {
            return NicUndo::MovedBack;
        }
        NicUndo::Finished {
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
