//! The sending side of a NIC: messages in, packets out onto the injection link.
//!
//! Changes are taken back by reverse computation ([`NicUndo`]). A NIC under an optimistic executor may see
//! a credit for a packet that, in this timeline, it has not sent: its credits wrap, and come back.

use std::collections::VecDeque;

use des::{Journal, Time};
use serde::{Deserialize, Serialize};
use topology::HostId;

use crate::link::{LinkCounters, StallCounters};
use crate::{LinkUse, Packet, Rate};

/// A message on its way into the network. `T` identifies it to the layer above.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<T> {
    /// The end point that it goes to.
    pub destination: HostId,
    /// What the layer above calls it; its packets carry that.
    pub number: u32,
    /// Bytes on the wire, all packets together; at least 1.
    pub bytes: u64,
    /// Job.
    pub job: u16,
    /// Whether nobody waits for it as a whole (see [`Packet::standalone`]).
    pub standalone: bool,
    /// If given, comes back when the last byte has left.
    pub report: Option<T>,
}

/// What is not sent yet of a message, and what its packets carry.
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

/// One step back of a NIC, for [`Nic::undo`].
#[derive(Clone, Copy, Debug)]
pub enum NicUndo<T> {
    /// A message was taken, to the end of the queue.
    Taken,
    /// A wake-up came.
    Woken {
        /// Whether one was awaited.
        pending: bool,
    },
    /// A wake-up was asked for.
    WakeAsked,
    /// The router gave credits back.
    Credited {
        /// Bytes.
        bytes: u32,
    },
    /// There was no room for the next packet.
    Blocked,
    /// The first message in the queue gave a packet to the wire.
    Departed {
        /// Bytes of the packet.
        bytes: u32,
        /// Until when the wire had been taken.
        busy_until: Time,
        /// Since when there had been no room.
        blocked_since: Option<Time>,
    },
    /// The first message went to the end of the queue.
    Turned,
    /// The first message was all sent and left the queue.
    Finished {
        /// Where it went.
        destination: HostId,
        /// Its number.
        number: u32,
        /// Job.
        job: u16,
        /// Whether it counts by its packets.
        standalone: bool,
        /// What was to come back.
        report: Option<T>,
        /// When it was taken.
        created_at: Time,
    },
}

/// All of a NIC that changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicState<T> {
    queue: Vec<Queued<T>>,
    credits: u32,
    busy_until: Time,
    wake_pending: bool,
    blocked_since: Option<Time>,
    counters: LinkCounters,
    held: StallCounters,
}

/// What a NIC makes happen, and where it notes how to take that back.
pub trait NicOutputs<T>: Journal<NicUndo<T>> {
    /// The packet starts onto the injection link after `wait`; its tail leaves `serialization` later. `last`: it is the
    /// last of what this port has of its message.
    fn depart(&mut self, packet: Packet, wait: Time, serialization: Time, last: bool);
    /// Whether a turn on the wire that begins at this time may be given before. For those who do not look before then.
    #[inline]
    fn sends_ahead(&self, start: Time) -> bool {
        let _ = start;
        false
    }
    /// [`Nic::wake`] is to be called after this span.
    fn wake(&mut self, after: Time);
    /// The last byte of a message leaves after this span.
    fn injected(&mut self, report: T, after: Time);
    /// The router has no room for the next packet. For those who let credits come in batches.
    #[inline]
    fn waits(&mut self) {}
}

/// The sending side of one port of a NIC, with one injection link. Messages under way take turns packet by packet.
/// What every packet touches lies in front.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Nic<T> {
    rate: Rate,
    warmup: Time,
    busy_until: Time,
    counters: LinkCounters,
    /// Room in the router's input buffer, in bytes.
    credits: u32,
    packet_bytes: u32,
    end_point: HostId,
    wake_pending: bool,
    queue: VecDeque<Queued<T>>,
    /// Bytes in the queue.
    backlog: u64,
    blocked_since: Option<Time>,
    held: StallCounters,
}

impl<T: Copy> Nic<T> {
    /// An idle NIC that may send `credits` bytes before the router returns any.
    pub fn new(end_point: HostId, rate: Rate, packet_bytes: u32, credits: u32, warmup: Time) -> Self {
        Nic {
            end_point,
            rate,
            packet_bytes,
            warmup,
            queue: VecDeque::new(),
            backlog: 0,
            credits,
            busy_until: Time::ZERO,
            wake_pending: false,
            blocked_since: None,
            counters: LinkCounters::default(),
            held: StallCounters::default(),
        }
    }

    /// Takes a message that is made at `created_at`: now, or later if [`Nic::is_clear`].
    pub fn send<O: NicOutputs<T>>(
        &mut self,
        (now, created_at): (Time, Time),
        message: &Outgoing<T>,
        out: &mut O,
    ) {
        let has_room = message.bytes <= u64::from(self.packet_bytes.min(self.credits));
        if !O::KEPT && has_room && self.is_clear() {
            let start = created_at.max(self.busy_until);
            if start == now || out.sends_ahead(start) {
                return self.send_alone((now, created_at, start), message, out);
            }
        }
        self.backlog += message.bytes;
        self.queue.push_back(Queued {
            destination: message.destination,
            number: message.number,
            job: message.job,
            standalone: message.standalone,
            report: message.report,
            created_at,
            left: message.bytes,
        });
        if O::KEPT {
            out.note(NicUndo::Taken);
        }
        if created_at > now {
            self.ask_wake(created_at.max(self.busy_until) - now, out);
        } else {
            self.serve(now, out);
        }
    }

    /// Whether nothing waits to be sent.
    #[inline]
    pub fn is_clear(&self) -> bool {
        !self.wake_pending && self.queue.is_empty()
    }

    /// A message of one packet, whose turn on the wire is certain to begin at `start`: it need not be queued.
    #[inline]
    fn send_alone<O: NicOutputs<T>>(
        &mut self,
        (now, created_at, start): (Time, Time, Time),
        message: &Outgoing<T>,
        out: &mut O,
    ) {
        let bytes = message.bytes as u32;
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
        out.depart(packet, wait, serialization, true);
    }

    /// A packet of a message, on its first link.
    #[inline]
    fn packet(&self, of: (HostId, u32, u16, bool), created_at: Time, bytes: u32) -> Packet {
        let (destination, number, job, standalone) = of;
        let mut packet = Packet::new(self.end_point, destination, number, bytes, created_at, job);
        packet.standalone = standalone;
        packet.hops = 1;
        packet
    }

    /// A packet takes its room and the wire from `start` on: for how long.
    #[inline]
    fn reserve_link(&mut self, start: Time, bytes: u32) -> Time {
        let serialization = self.rate.serialization(bytes);
        self.credits -= bytes;
        self.busy_until = start + serialization;
        self.counters
            .depart(start, serialization, bytes, self.warmup, || &mut self.held);
        serialization
    }

    /// The injection link is free again.
    pub fn wake<O: NicOutputs<T>>(&mut self, now: Time, out: &mut O) {
        if O::KEPT {
            out.note(NicUndo::Woken {
                pending: self.wake_pending,
            });
        }
        self.wake_pending = false;
        self.serve(now, out);
    }

    /// The router has room for so many bytes more.
    pub fn credit<O: NicOutputs<T>>(&mut self, now: Time, bytes: u32, out: &mut O) {
        self.credits = self.credits.wrapping_add(bytes);
        if O::KEPT {
            out.note(NicUndo::Credited { bytes });
        }
        self.serve(now, out);
    }

    fn serve<O: NicOutputs<T>>(&mut self, now: Time, out: &mut O) {
        if self.wake_pending || self.queue.is_empty() {
            return;
        }
        if self.busy_until > now {
            self.ask_wake(self.busy_until - now, out);
            return;
        }
        let front = self.queue.front().expect("not empty");
        let bytes = front.left.min(u64::from(self.packet_bytes)) as u32;
        if self.credits < bytes {
            if O::KEPT && self.blocked_since.is_none() {
                out.note(NicUndo::Blocked);
            }
            self.blocked_since.get_or_insert(now);
            out.waits();
            return;
        }
        if O::KEPT {
            out.note(NicUndo::Departed {
                bytes,
                busy_until: self.busy_until,
                blocked_since: self.blocked_since,
            });
        }
        if let Some(since) = self.blocked_since.take() {
            self.held.unblock(since, now, self.warmup);
        }
        let serialization = self.reserve_link(now, bytes);
        let front = self.queue.front_mut().expect("not empty");
        front.left -= u64::from(bytes);
        let Queued {
            destination,
            number,
            job,
            standalone,
            created_at,
            ..
        } = *front;
        let packet = self.packet((destination, number, job, standalone), created_at, bytes);
        self.backlog -= u64::from(bytes);
        let queued = self.queue.pop_front().expect("not empty");
        if self.queue.is_empty() {
            // The next one takes the same place again, which is near then.
            self.queue.clear();
        }
        if O::KEPT {
            out.note(queued.undo_turn());
        }
        let last = queued.left == 0;
        if !last {
            self.queue.push_back(queued);
        } else if let Some(report) = queued.report {
            out.injected(report, serialization);
        }
        out.depart(packet, Time::ZERO, serialization, last);
        if !self.queue.is_empty() {
            self.ask_wake(serialization, out);
        }
    }

    #[inline]
    fn ask_wake<O: NicOutputs<T>>(&mut self, after: Time, out: &mut O) {
        self.wake_pending = true;
        if O::KEPT {
            out.note(NicUndo::WakeAsked);
        }
        out.wake(after);
    }

    /// Takes back one step that was noted in [`NicOutputs`]. Steps are taken back in reverse order, all of
    /// those that were noted since.
    pub fn undo(&mut self, step: NicUndo<T>) {
        match step {
            NicUndo::Taken => {
                if let Some(taken) = self.queue.pop_back() {
                    self.backlog -= taken.left;
                }
            }
            NicUndo::Woken { pending } => self.wake_pending = pending,
            NicUndo::WakeAsked => self.wake_pending = false,
            NicUndo::Credited { bytes } => self.credits = self.credits.wrapping_sub(bytes),
            NicUndo::Blocked => self.blocked_since = None,
            NicUndo::Departed {
                bytes,
                busy_until,
                blocked_since,
            } => self.undo_depart(bytes, busy_until, blocked_since),
            NicUndo::Turned => self.queue.rotate_right(1),
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

    fn undo_depart(&mut self, bytes: u32, busy_until: Time, blocked_since: Option<Time>) {
        let serialization = self.rate.serialization(bytes);
        let start = self.busy_until - serialization;
        self.counters
            .undo_depart(start, serialization, bytes, self.warmup, || &mut self.held);
        if let Some(since) = blocked_since {
            self.held.undo_unblock(since, start, self.warmup);
        }
        self.blocked_since = blocked_since;
        self.busy_until = busy_until;
        self.credits = self.credits.wrapping_add(bytes);
        if let Some(front) = self.queue.front_mut() {
            front.left += u64::from(bytes);
            self.backlog += u64::from(bytes);
        }
    }

    /// Asks for the memory that its next packet will touch.
    #[inline]
    pub fn prefetch(&self) {
        des::prefetch_begin(self.queue.as_slices().0, 0);
    }

    /// Bytes that wait to be sent.
    pub fn backlog(&self) -> u64 {
        self.backlog
    }

    /// Credits left, in bytes.
    pub fn credits(&self) -> u32 {
        self.credits
    }

    /// Use of the injection link up to `end`.
    pub fn used(&self, end: Time) -> LinkUse {
        let mut held = self.held;
        if let Some(since) = self.blocked_since {
            held.unblock(since, end, self.warmup);
        }
        LinkUse::new(self.counters, held, end, self.busy_until)
    }

    /// Whether its link goes on to be used, or to be held up, at `time`, if nothing happens.
    pub fn is_active(&self, time: Time) -> bool {
        self.busy_until > time || self.blocked_since.is_some()
    }

    /// All that changes; equal where no input can tell two NICs apart.
    pub fn state(&self) -> NicState<T> {
        NicState {
            queue: self.queue.iter().copied().collect(),
            credits: self.credits,
            busy_until: self.busy_until,
            wake_pending: self.wake_pending,
            blocked_since: self.blocked_since,
            counters: self.counters,
            held: self.held,
        }
    }

    /// Brings a new NIC into the state of one with the same settings.
    ///
    /// # Errors
    /// What contradicts itself; the NIC is then as it was.
    pub fn restore(&mut self, state: NicState<T>) -> Result<(), String> {
        if state.blocked_since.is_some() && state.queue.is_empty() {
            return Err(format!(
                "NIC port {}: by its saved state it waits for room, but has nothing to send",
                self.end_point.0
            ));
        }
        self.backlog = state.queue.iter().map(|queued| queued.left).sum();
        self.queue = state.queue.into();
        self.credits = state.credits;
        self.busy_until = state.busy_until;
        self.wake_pending = state.wake_pending;
        self.blocked_since = state.blocked_since;
        self.counters = state.counters;
        self.held = state.held;
        Ok(())
    }
}

impl<T: Copy> Queued<T> {
    /// How to put it first again, once its packet has left.
    fn undo_turn(&self) -> NicUndo<T> {
        if self.left > 0 {
            return NicUndo::Turned;
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
mod tests {
    use super::*;
    use crate::reverse_check::{Recorder, Reversible, check, script};
    use proptest::prelude::*;

    #[derive(Default)]
    struct Out {
        departed: Vec<(u32, u32)>,
        wake: Option<Time>,
        injected: Vec<(char, Time)>,
    }

    impl Journal<NicUndo<char>> for Out {
        const KEPT: bool = false;
        fn note(&mut self, _: NicUndo<char>) {}
    }

    impl NicOutputs<char> for Out {
        fn depart(&mut self, packet: Packet, _: Time, _: Time, _: bool) {
            self.departed.push((packet.message, packet.bytes));
        }
        fn wake(&mut self, after: Time) {
            assert!(self.wake.replace(after).is_none(), "one wake-up at a time");
        }
        fn injected(&mut self, report: char, after: Time) {
            self.injected.push((report, after));
        }
    }

    fn message(number: u32, bytes: u64, report: char) -> Outgoing<char> {
        Outgoing {
            destination: HostId(9),
            number,
            bytes,
            job: 0,
            standalone: false,
            report: Some(report),
        }
    }

    /// 8 Gbps: 1000 ps per byte.
    fn nic(credits: u32) -> Nic<char> {
        Nic::new(
            HostId(0),
            Rate::bits_per_s(8_000_000_000),
            100,
            credits,
            Time::ZERO,
        )
    }

    #[test]
    fn messages_take_turns_and_report_their_end() {
        let (mut nic, mut out) = (nic(10_000), Out::default());
        nic.send((Time(0), Time(0)), &message(0, 250, 'a'), &mut out);
        nic.send((Time(0), Time(0)), &message(1, 120, 'b'), &mut out);
        let mut now = Time(0);
        while let Some(after) = out.wake.take() {
            now += after;
            nic.wake(now, &mut out);
        }
        assert_eq!(out.departed, [(0, 100), (0, 100), (1, 100), (0, 50), (1, 20)]);
        assert_eq!(out.injected, [('a', Time(50_000)), ('b', Time(20_000))]);
        assert_eq!(nic.used(Time(370_000)).busy, Time(370_000));
        assert_eq!(nic.used(Time(360_000)).busy, Time(360_000), "clipped at the end");
    }

    #[test]
    fn without_credit_nothing_leaves_and_the_wait_is_counted() {
        let (mut nic, mut out) = (nic(150), Out::default());
        nic.send((Time(0), Time(0)), &message(0, 200, 'a'), &mut out);
        let after = out.wake.take().unwrap();
        nic.wake(after, &mut out);
        assert_eq!((out.departed.len(), nic.credits(), nic.backlog()), (1, 50, 100));
        nic.credit(Time(130_000), 100, &mut out);
        assert_eq!((out.departed.len(), nic.credits(), nic.backlog()), (2, 50, 0));
        assert_eq!(nic.used(Time(500_000)).buffer_full, Time(30_000));
    }

    /// As large as what identifies a request to the layer above.
    type Report = (u16, u32);

    const _: () = assert!(size_of::<NicUndo<Report>>() == 32);

    #[derive(Clone, Debug)]
    pub(crate) enum Op {
        Send(Outgoing<Report>),
        /// Also when none was asked for.
        Wake,
        /// Also of what was never sent.
        Credit(u32),
    }

    #[derive(Debug, PartialEq)]
    pub(crate) enum Output {
        Depart(Packet, Time, bool),
        Wake(Time),
        Injected(Report, Time),
        Backlog(u64),
    }

    impl<const KEPT: bool> NicOutputs<Report> for Recorder<NicUndo<Report>, Output, KEPT> {
        fn depart(&mut self, packet: Packet, _: Time, serialization: Time, last: bool) {
            self.outputs.push(Output::Depart(packet, serialization, last));
        }
        fn wake(&mut self, after: Time) {
            self.outputs.push(Output::Wake(after));
        }
        fn injected(&mut self, report: Report, after: Time) {
            self.outputs.push(Output::Injected(report, after));
        }
    }

    impl Reversible for Nic<Report> {
        type Op = Op;
        type Step = NicUndo<Report>;
        type Output = Output;
        type State = NicState<Report>;

        fn fresh() -> Nic<Report> {
            let rate = Rate::bits_per_s(8_000_000_000);
            Nic::new(HostId(0), rate, 100, 250, Time(1_000_000))
        }

        fn apply<const KEPT: bool>(
            &mut self,
            now: Time,
            op: &Op,
            out: &mut Recorder<NicUndo<Report>, Output, KEPT>,
        ) {
            match *op {
                Op::Send(message) => self.send((now, now), &message, out),
                Op::Wake => self.wake(now, out),
                Op::Credit(bytes) => self.credit(now, bytes, out),
            }
            assert_eq!(self.backlog(), self.queue.iter().map(|q| q.left).sum::<u64>());
            out.outputs.push(Output::Backlog(self.backlog()));
        }

        fn undo(&mut self, step: NicUndo<Report>) {
            Nic::undo(self, step);
            assert_eq!(self.backlog(), self.queue.iter().map(|q| q.left).sum::<u64>());
        }
        fn state(&self) -> NicState<Report> {
            Nic::state(self)
        }
        fn restore(&mut self, state: NicState<Report>) -> Result<(), String> {
            Nic::restore(self, state)
        }
    }

    fn op() -> impl Strategy<Value = Op> {
        let message = (
            any::<u32>(),
            any::<u32>(),
            0u64..350,
            any::<u16>(),
            any::<bool>(),
            any::<Option<Report>>(),
        );
        let send = message.prop_map(|(destination, number, bytes, job, standalone, report)| {
            Op::Send(Outgoing {
                destination: HostId(destination),
                number,
                bytes,
                job,
                standalone,
                report,
            })
        });
        prop_oneof![
            3 => send,
            5 => Just(Op::Wake),
            4 => (0u32..200).prop_map(Op::Credit),
            1 => any::<u32>().prop_map(Op::Credit),
        ]
    }

    proptest! {
        #[test]
        fn whatever_it_sees_can_be_taken_back_and_saved(script in script(op(), 150_000)) {
            check::<Nic<Report>>(&script)?;
        }
    }

    #[test]
    fn a_state_that_contradicts_itself_is_refused() {
        let (mut fresh, mut out) = (nic(150), Out::default());
        let mut state = fresh.state();
        state.blocked_since = Some(Time(5));
        let error = fresh.restore(state).unwrap_err();
        assert!(error.contains("nothing to send"), "{error}");
        fresh.send((Time(0), Time(0)), &message(0, 200, 'a'), &mut out);
        assert_eq!(out.departed, [(0, 100)]);
    }
}
