//! Toy of a NIC with a receive side and timers: it numbers packets, acknowledges those that arrive, resends those
//! without acknowledgement or with news of their loss, and delivers each once after a processing time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use config::Section;
use des::Time;
use serde::{Deserialize, Serialize};
use topology::HostId;

use super::model::{NicClassView, NicModel, NicModelKind, NicOutputs, NicReport, NicSetup, Outgoing};
use crate::capabilities::NicCapabilities;
use crate::router::toy_lossy::{Signal, ToyLossyRouter};
use crate::{LinkUse, NicSource, Packet, PacketFate, TrafficClasses};

/// Time until a packet is sent again.
const PATIENCE: Time = Time(2_000_000);

/// Processing time of a received packet.
const PROCESSING: Time = Time(10_000);

/// A port that repeats each packet until it is acknowledged.
pub struct ToyResendNic<T> {
    setup: Box<NicSetup>,
    state: Box<State<T>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State<T> {
    credits: u32,
    busy_until: Time,
    is_waking: bool,
    queue: VecDeque<Entry<T>>,
    /// Number of the next packet.
    next: u16,
    unacknowledged: BTreeMap<u16, Packet>,
    /// Source and number of packets that have arrived.
    received: BTreeSet<(HostId, u16)>,
    /// Packets that are processed.
    processed: u64,
}

/// A packet that waits for the link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Entry<T> {
    packet: Packet,
    source: u16,
    last: bool,
    report: Option<T>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Timer {
    /// The link is free.
    Free,
    /// A packet may be lost.
    Retry(u16),
    /// A packet is processed.
    Deliver(Packet),
}

impl<T: NicReport> ToyResendNic<T> {
    fn note<O: NicOutputs<Self>>(&self, out: &mut O) {
        out.note(|| self.state.clone());
    }

    fn enqueue<O: NicOutputs<Self>>(&mut self, now: Time, entry: Entry<T>, out: &mut O) {
        self.state.queue.push_back(entry);
        self.serve(now, out);
    }

    /// Sends a packet again, unless it is acknowledged. Returns whether it does.
    fn repeat<O: NicOutputs<Self>>(&mut self, now: Time, number: u16, out: &mut O) -> bool {
        let Some(packet) = self.state.unacknowledged.get(&number).copied() else {
            return false;
        };
        let entry = Entry {
            packet,
            source: 0,
            last: false,
            report: None,
        };
        self.enqueue(now, entry, out);
        true
    }

    /// Sends the first packet, if link and credits allow.
    fn serve<O: NicOutputs<Self>>(&mut self, now: Time, out: &mut O) {
        let state = &mut *self.state;
        let Some(entry) = state.queue.front().copied() else {
            return;
        };
        if state.busy_until > now {
            if !std::mem::replace(&mut state.is_waking, true) {
                out.timer(Timer::Free, state.busy_until - now);
            }
            return;
        }
        let packet = entry.packet;
        if state.credits < packet.bytes {
            return out.lacks_credits();
        }
        state.queue.pop_front();
        state.credits -= packet.bytes;
        let serialization = self.setup.rate.serialization(packet.bytes);
        state.busy_until = now + serialization;
        let source = self.setup.arbiter.source(0, packet.job, entry.source);
        if let Some(report) = entry.report {
            out.injected(report, serialization);
        }
        out.depart(0, packet, source, Time::ZERO, serialization, entry.last);
        if !packet.is_control() {
            out.timer(Timer::Retry(packet.sequence), PATIENCE);
        }
        self.serve(now, out);
    }
}

impl<T: NicReport> NicModel for ToyResendNic<T> {
    const MODEL: NicModelKind = NicModelKind {
        name: "toy-resend",
        summary: "repeats each packet until it is acknowledged",
        parameters: &[],
        capabilities: NicCapabilities {
            signals_of: Some("toy-lossy"),
            ..NicCapabilities::NONE
        },
    };

    type Parameters = ();
    type Report = T;
    type Undo = Box<State<T>>;
    type State = State<T>;
    type Timer = Timer;
    type Router = ToyLossyRouter;

    fn read(_: &Section) -> Result<(), config::Error> {
        Ok(())
    }

    fn more_bytes(_: &TrafficClasses, (): ()) -> u64 {
        size_of::<State<T>>() as u64
    }

    fn new(setup: &NicSetup, (): ()) -> Self {
        let state = State {
            credits: setup.credits,
            busy_until: Time::ZERO,
            is_waking: false,
            queue: VecDeque::new(),
            next: 0,
            unacknowledged: BTreeMap::new(),
            received: BTreeSet::new(),
            processed: 0,
        };
        ToyResendNic {
            setup: Box::new(*setup),
            state: Box::new(state),
        }
    }

    fn send<O: NicOutputs<Self>>(
        &mut self,
        (now, created_at): (Time, Time),
        message: &Outgoing<T>,
        out: &mut O,
    ) {
        self.note(out);
        let format = self.setup.format;
        let mut left = message.bytes;
        while left > 0 {
            let payload = left.min(u64::from(format.payload));
            left -= payload;
            let bytes = payload as u32 + format.header;
            let end_points = (self.setup.end_point, message.destination);
            let mut packet = Packet::new(
                end_points.0,
                end_points.1,
                message.number,
                bytes,
                created_at,
                message.job,
            );
            packet.set_standalone(message.standalone);
            packet.hops = 1;
            packet.sequence = self.state.next;
            self.state.next = self.state.next.wrapping_add(1);
            self.state.unacknowledged.insert(packet.sequence, packet);
            let entry = Entry {
                packet,
                source: message.source,
                last: left == 0,
                report: message.report.filter(|_| left == 0),
            };
            self.enqueue(now, entry, out);
        }
    }

    fn credit<O: NicOutputs<Self>>(&mut self, now: Time, _: u8, bytes: u32, out: &mut O) {
        self.note(out);
        self.state.credits = self.state.credits.wrapping_add(bytes);
        self.serve(now, out);
    }

    fn timer<O: NicOutputs<Self>>(&mut self, now: Time, timer: Timer, out: &mut O) -> Option<Packet> {
        self.note(out);
        match timer {
            Timer::Free => {
                self.state.is_waking = false;
                self.serve(now, out);
                None
            }
            Timer::Retry(number) => {
                self.repeat(now, number, out);
                None
            }
            Timer::Deliver(packet) => {
                self.state.processed = self.state.processed.wrapping_sub(1);
                Some(packet)
            }
        }
    }

    fn arrived<O: NicOutputs<Self>>(&mut self, now: Time, packet: Packet, out: &mut O) -> Option<Packet> {
        self.note(out);
        if packet.is_control() {
            self.state.unacknowledged.remove(&packet.sequence);
            out.fate(&packet, PacketFate::Consumed);
            return None;
        }
        let mut answer = Packet::new(
            self.setup.end_point,
            packet.source,
            packet.message,
            1,
            now,
            packet.job,
        );
        answer.set_standalone(packet.standalone());
        answer.hops = 1;
        answer.sequence = packet.sequence;
        answer.set_control();
        let entry = Entry {
            packet: answer,
            source: 0,
            last: false,
            report: None,
        };
        self.enqueue(now, entry, out);
        if self.state.received.insert((packet.source, packet.sequence)) {
            self.state.processed = self.state.processed.wrapping_add(1);
            out.timer(Timer::Deliver(packet), PROCESSING);
        } else {
            out.fate(&packet, PacketFate::Consumed);
        }
        None
    }

    fn signal<O: NicOutputs<Self>>(&mut self, now: Time, signal: Signal, out: &mut O) -> Option<Packet> {
        self.note(out);
        if let Signal::Lost(number) = signal
            && self.repeat(now, number, out)
        {
            out.signal(Signal::Repeated, Time::ZERO);
        }
        None
    }

    fn undo(&mut self, before: Box<State<T>>) {
        self.state = before;
    }

    fn state(&self) -> State<T> {
        (*self.state).clone()
    }

    fn restore(&mut self, state: State<T>) -> Result<(), String> {
        *self.state = state;
        Ok(())
    }

    fn source_of(&self, message: &Outgoing<T>) -> NicSource {
        self.setup
            .arbiter
            .source(message.traffic_class, message.job, message.source)
    }

    fn is_clear(&self) -> bool {
        false
    }

    fn backlog(&self) -> u64 {
        let packets = self.state.queue.iter().map(|entry| &entry.packet);
        packets
            .map(|packet| u64::from(packet.bytes - self.setup.format.header.min(packet.bytes)))
            .sum()
    }

    fn credits(&self, _: u8) -> u32 {
        self.state.credits
    }

    fn class_view(&self, class: u8) -> NicClassView {
        match class {
            0 => NicClassView {
                backlog: self.backlog(),
                credits: self.state.credits,
            },
            _ => NicClassView::default(),
        }
    }

    fn held_packets(&self) -> u64 {
        self.state.processed
    }

    fn used(&self, _: Time) -> LinkUse {
        LinkUse::default()
    }

    fn is_active(&self, time: Time) -> bool {
        self.state.busy_until > time
    }
}
