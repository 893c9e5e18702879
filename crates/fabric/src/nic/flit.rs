//! The model `flit-queued`: a NIC port that sends packets flit by flit, for the router model `flit`.
//!
//! A port holds one packet at a time, which it takes from the queues of [`QueuedNic`]: these decide which message is
//! next. In each cycle it sends a flit, if the virtual channel (VC) has a credit. The VC of a packet is the first one
//! with a credit after that of the packet before, or a random one, by a parameter of the routers; if none or not the
//! drawn one has a credit, the port tries again in the next cycle. Credits count in the cycle in which they arrive. The
//! next packet is taken when the tail has left.
//!
//! Packets from the network are delivered as by [`QueuedNic`].
//!
//! Source: the nodes of BookSim 2 (N. Jiang et al., ISPASS 2013).

use std::collections::VecDeque;

use config::{Parameter, Section};
use des::{Journal, Time};
use routing::Random;
use serde::{Deserialize, Serialize};

use super::model::{
    NicClassView, NicModel, NicModelKind, NicOutputs, NicReport, NicSetup, Outgoing, SignalOf,
};
use super::queued::{
    MEMORY, QueuedNic, QueuedNicParameters, QueuedNicState, QueuedNicTimer, QueuedNicUndo, read_memory,
};
use crate::capabilities::{FlitFlow, NicCapabilities, Switching};
use crate::link::{LinkCounters, StallCounters};
use crate::router::flit::{BodyFlit, FlitClock, FlitRouter, SharedBuffer, vcs_by_output};
use crate::{LinkUse, Measured, NicSource, Packet, PacketFate, Rate, TrafficClasses};

/// Bandwidth at which packets leave the queues: they take hardly any time, and wait for the flits before them.
const AT_ONCE: u64 = 1_000_000_000_000_000;

/// No cycle is to be evaluated.
const ASLEEP: u64 = u64::MAX;

/// A packet of which a flit has not left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PacketInParts<T> {
    packet: Packet,
    source: NicSource,
    /// Whether it is the last packet of its message.
    last: bool,
    /// Due when its tail has left.
    report: Option<T>,
    /// Flits that have left.
    sent: u32,
}

/// The mutable state of the part of a port that sends flits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlitSender<T> {
    packet: Option<PacketInParts<T>>,
    /// The next cycle that is evaluated, or [`ASLEEP`].
    next: u64,
    /// VC of the packet, or of the one before.
    vc: u8,
    /// Start of the last flit on the link.
    start: Time,
    /// Since when the packet has lacked credits.
    blocked_since: Option<Time>,
    counters: LinkCounters,
    stalls: StallCounters,
}

/// An undo step of a [`FlitNic`].
#[derive(Debug)]
pub enum FlitNicUndo<T> {
    /// The queues changed.
    Queues(Box<QueuedNicUndo<T>>),
    /// The part that sends flits changed.
    Sender(Box<FlitSender<T>>),
    /// The credits of a VC changed.
    Credits(u8, u32),
    /// A packet goes on into memory.
    Storing,
    /// A packet is in memory.
    Stored(Box<Packet>),
}

/// A timer of a [`FlitNic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FlitNicTimer {
    /// The middle of a cycle.
    Cycle,
    /// The packet that the queues have given is away.
    Free,
    /// The first packet on its way into memory is there. It stays at the port, so that an event fits a cache line.
    Stored,
}

/// The mutable state of a [`FlitNic`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlitNicState<T> {
    queues: Box<QueuedNicState<T>>,
    sender: Box<FlitSender<T>>,
    credits: Vec<u32>,
    storing: VecDeque<Packet>,
}

/// One port of a NIC. Boxed: other models are smaller.
#[derive(Clone, Debug)]
pub struct FlitNic<T>(Box<FlitNicPort<T>>);

#[derive(Clone, Debug)]
struct FlitNicPort<T> {
    /// Messages, and packets on their way into memory. It has credits for one packet, or none while one is in parts.
    queues: QueuedNic<T>,
    sender: FlitSender<T>,
    /// Packets on their way into memory, in order.
    storing: VecDeque<Packet>,
    /// By VC into which it injects: free bytes in the router's buffer.
    credits: Box<[u32]>,
    /// Credits of a VC with which a packet takes it.
    needed: u32,
    /// Bytes of an equal part of the router's buffer, and of the private part of a VC if they share it.
    equal: u32,
    private_part: Option<u32>,
    /// Whether a VC is chosen by the packet's output at the router.
    vcs_by_next_output: bool,
    /// Whether it is drawn, in each cycle until the drawn one has a credit.
    draws_vcs: bool,
    /// Bytes of a flit.
    flit: u32,
    /// Bytes of the largest packet, and of a header.
    largest: u32,
    header: u32,
    clock: FlitClock,
    /// From a flit's arrival at the router until it is in the buffer.
    pipeline: Time,
    measured: Measured,
}

/// What the queues do while they are driven.
struct QueueOutputs<'a, T, O> {
    out: &'a mut O,
    storing: &'a mut VecDeque<Packet>,
    packet: Option<PacketInParts<T>>,
    report: Option<T>,
}

impl<T: NicReport, O: NicOutputs<FlitNic<T>>> Journal<QueuedNicUndo<T>> for QueueOutputs<'_, T, O> {
    const KEPT: bool = O::KEPT;

    fn keep(&mut self, step: QueuedNicUndo<T>) {
        self.out.note(|| FlitNicUndo::Queues(Box::new(step)));
    }
}

impl<T: NicReport, O: NicOutputs<FlitNic<T>>> NicOutputs<QueuedNic<T>> for QueueOutputs<'_, T, O> {
    fn depart(&mut self, _: u8, packet: Packet, source: NicSource, _: Time, _: Time, last: bool) {
        self.packet = Some(PacketInParts {
            packet,
            source,
            last,
            report: self.report.take(),
            sent: 0,
        });
    }

    fn timer(&mut self, timer: QueuedNicTimer, after: Time) {
        let timer = match timer {
            QueuedNicTimer::Free => FlitNicTimer::Free,
            QueuedNicTimer::Stored(packet) => {
                self.storing.push_back(packet);
                self.out.note(|| FlitNicUndo::Storing);
                FlitNicTimer::Stored
            }
        };
        self.out.timer(timer, after);
    }

    fn signal(&mut self, signal: SignalOf<QueuedNic<T>>, _: Time) {
        match signal {}
    }

    fn random(&mut self) -> impl Random {
        self.out.random()
    }

    fn fate(&mut self, packet: &Packet, fate: PacketFate) {
        self.out.fate(packet, fate);
    }

    fn injected(&mut self, report: T, _: Time) {
        self.report = Some(report);
    }
}

impl<T: NicReport> FlitNic<T> {
    fn note<O: NicOutputs<Self>>(&self, out: &mut O) {
        out.note(|| FlitNicUndo::Sender(Box::new(self.0.sender)));
    }

    /// Drives the queues. If they give a packet, it is sent from the next cycle on.
    fn drive<O: NicOutputs<Self>, R>(
        &mut self,
        now: Time,
        out: &mut O,
        input: impl FnOnce(&mut QueuedNic<T>, &mut QueueOutputs<'_, T, O>) -> R,
    ) -> R {
        let port = &mut *self.0;
        let mut outputs = QueueOutputs {
            out,
            storing: &mut port.storing,
            packet: None,
            report: None,
        };
        let result = input(&mut port.queues, &mut outputs);
        if let Some(packet) = outputs.packet.take() {
            // No other packet until the tail has left.
            let left = port.queues.credits(0);
            port.queues.credit(now, 0, left.wrapping_neg(), &mut outputs);
            self.note(out);
            self.0.sender.packet = Some(packet);
            self.wake(now, out);
        }
        result
    }

    /// The first cycle that is evaluated after a time will be evaluated. The change has been noted.
    fn wake<O: NicOutputs<Self>>(&mut self, now: Time, out: &mut O) {
        let cycle = self.0.clock.after(now);
        if cycle < self.0.sender.next {
            self.0.sender.next = cycle;
            out.timer(FlitNicTimer::Cycle, self.0.clock.middle(cycle) - now);
        }
    }

    /// Bytes that may be sent on a VC.
    fn room(&self, vc: u8) -> u32 {
        let FlitNicPort {
            credits,
            equal,
            private_part,
            ..
        } = &*self.0;
        let Some(private) = *private_part else {
            return credits[usize::from(vc)];
        };
        let shared = SharedBuffer {
            private,
            equal: *equal,
        };
        shared.room(credits.iter().copied(), credits[usize::from(vc)])
    }

    /// Whether a packet may take a VC.
    fn may_take(&self, vc: u8) -> bool {
        let FlitNicPort {
            credits,
            needed,
            flit,
            private_part,
            ..
        } = &*self.0;
        match private_part {
            None => credits[usize::from(vc)] >= *needed,
            // It waits for the credits of a VC only if it needs more than a flit.
            Some(_) => self.room(vc) >= *flit && (needed == flit || credits[usize::from(vc)] == *needed),
        }
    }

    /// The VC of a packet's head, if one has a credit.
    fn choose_vc<O: NicOutputs<Self>>(&self, packet: &Packet, out: &mut O) -> Option<u8> {
        let FlitNicPort {
            credits,
            sender,
            vcs_by_next_output,
            draws_vcs,
            ..
        } = &*self.0;
        let all = 0..credits.len() as u8;
        if *draws_vcs {
            let drawn = out.random().below(u32::from(all.end)) as u8;
            return Some(drawn).filter(|vc| self.may_take(*vc));
        }
        let allowed = match vcs_by_next_output.then(|| out.first_output(packet)) {
            Some(Some(output)) => vcs_by_output(all, output),
            _ => all,
        };
        let count = allowed.len() as u8;
        let (from, tries) = match allowed.contains(&sender.vc) {
            true => (sender.vc - allowed.start + 1, count),
            // As in BookSim: only the first one.
            false => (0, 1),
        };
        let mut after = (from..from + tries).map(|by| allowed.start + by % count);
        after.find(|vc| self.may_take(*vc))
    }

    /// A cycle is evaluated.
    fn run_cycle<O: NicOutputs<Self>>(&mut self, now: Time, out: &mut O) {
        let cycle = self.0.sender.next;
        if cycle == ASLEEP || self.0.clock.middle(cycle) != now {
            return;
        }
        self.note(out);
        self.0.sender.next = ASLEEP;
        let Some(mut of) = self.0.sender.packet else {
            return;
        };
        let vc = match of.sent {
            0 => self.choose_vc(&of.packet, out),
            _ => Some(self.0.sender.vc).filter(|vc| self.room(*vc) >= self.0.flit),
        };
        let Some(vc) = vc else {
            let free = self.0.sender.start + self.0.clock.cycle();
            self.0.sender.blocked_since.get_or_insert(now.max(free));
            let draws = self.0.draws_vcs && of.sent == 0;
            // Another VC may be drawn in the next cycle. Otherwise a credit will wake it.
            if draws && (0..self.0.credits.len() as u8).any(|vc| self.may_take(vc)) {
                self.wake(now, out);
            }
            return;
        };
        let place = usize::from(vc);
        let before = self.0.credits[place];
        out.note(|| FlitNicUndo::Credits(vc, before));
        let flit = self.0.flit;
        self.0.credits[place] = before.wrapping_sub(flit);
        let (begins, time) = (self.0.clock.end(cycle), self.0.clock.cycle());
        let wait = begins - now;
        let flits = of.packet.bytes.div_ceil(flit);
        let (is_head, is_tail) = (of.sent == 0, of.sent + 1 == flits);
        let bytes = if is_tail {
            of.packet.bytes - (flits - 1) * flit
        } else {
            flit
        };
        let measured = self.0.measured;
        let FlitSender {
            start,
            blocked_since,
            counters,
            stalls,
            vc: last_vc,
            ..
        } = &mut self.0.sender;
        *last_vc = vc;
        if let Some(since) = blocked_since.take() {
            let until = now.max(since);
            stalls.unblock(since, until, measured);
            out.link_stalled(since, until);
        }
        *start = begins;
        match is_head {
            true => counters.depart(begins, time, bytes, measured, || stalls),
            false => counters.carry(begins, time, bytes, measured, || stalls),
        }
        of.sent += 1;
        self.0.sender.packet = Some(of).filter(|_| !is_tail);
        if is_head {
            let serialization = Time(time.ps() * u64::from(flits));
            out.depart(vc, of.packet, of.source, wait, serialization, of.last);
        } else {
            out.signal(BodyFlit { vc, bytes: flit }, wait + self.0.pipeline);
        }
        if is_tail {
            if let Some(report) = of.report {
                out.injected(report, wait + time);
            }
            let largest = self.0.largest;
            self.drive(now, out, |queues, outputs| {
                queues.credit(now, 0, largest, outputs)
            });
        } else {
            self.wake(now, out);
        }
    }

    /// Bytes of the packet in parts that have not left, without its header.
    fn unsent(&self) -> u64 {
        let FlitNicPort {
            sender, flit, header, ..
        } = &*self.0;
        sender.packet.map_or(0, |of| {
            let sent = of.sent.saturating_mul(*flit);
            u64::from(of.packet.bytes.saturating_sub((*header).max(sent)))
        })
    }
}

impl<T: NicReport> NicModel for FlitNic<T> {
    const MODEL: NicModelKind = NicModelKind {
        name: "flit-queued",
        summary: "queues by source, packets sent flit by flit; for the router model flit",
        parameters: PARAMETERS,
        capabilities: NicCapabilities {
            switching: Switching::Wormhole,
            accepts_every_arrival: true,
            needs_arrivals: false,
            sends_only_messages: true,
            final_reservations: false,
            reports_credit_waits: false,
            signals_of: Some("flit"),
        },
    };

    type Parameters = QueuedNicParameters;
    type Report = T;
    type Undo = FlitNicUndo<T>;
    type State = FlitNicState<T>;
    type Timer = FlitNicTimer;
    type Router = FlitRouter;

    fn read(section: &Section) -> Result<QueuedNicParameters, config::Error> {
        Ok(QueuedNicParameters {
            memory: read_memory(section)?,
            pairs: None,
        })
    }

    fn capabilities(parameters: QueuedNicParameters) -> NicCapabilities {
        NicCapabilities {
            accepts_every_arrival: parameters.memory.is_none(),
            needs_arrivals: parameters.memory.is_some(),
            ..Self::MODEL.capabilities
        }
    }

    fn memory_rate(parameters: QueuedNicParameters) -> Option<Rate> {
        QueuedNic::<T>::memory_rate(parameters)
    }

    fn more_bytes(classes: &TrafficClasses, parameters: QueuedNicParameters) -> u64 {
        let queues = QueuedNic::<T>::more_bytes(&TrafficClasses::one(1), parameters);
        size_of::<FlitNicPort<T>>() as u64 + queues + u64::from(classes.all_vcs()) * size_of::<u32>() as u64
    }

    fn new(setup: &NicSetup, parameters: QueuedNicParameters) -> Self {
        // Without flits, which the network needs for this model, a packet is one.
        let flow = setup.flits.unwrap_or(FlitFlow {
            bytes: setup.format.largest(),
            awaits_credits: false,
            vcs_by_next_output: false,
            host_vcs_by_routing: false,
            private_part: None,
        });
        let flit = flow.bytes;
        let vcs = setup.traffic_classes.all_vcs();
        let queues = NicSetup {
            rate: Rate::bits_per_s(AT_ONCE),
            credits: setup.format.largest(),
            traffic_classes: TrafficClasses::one(1),
            ..*setup
        };
        FlitNic(Box::new(FlitNicPort {
            queues: QueuedNic::new(&queues, parameters),
            sender: FlitSender {
                packet: None,
                next: ASLEEP,
                vc: vcs - 1,
                start: Time::ZERO,
                blocked_since: None,
                counters: LinkCounters::default(),
                stalls: StallCounters::default(),
            },
            storing: VecDeque::new(),
            credits: vec![setup.credits; usize::from(vcs)].into(),
            // A VC is taken with a credit for a flit, or with all of them.
            equal: setup.credits,
            private_part: flow.private_part,
            needed: if flow.awaits_credits { setup.credits } else { flit },
            vcs_by_next_output: flow.vcs_by_next_output,
            draws_vcs: flow.host_vcs_by_routing,
            flit,
            largest: setup.format.largest(),
            header: setup.format.header,
            clock: FlitClock::new(setup.rate.serialization(flit)),
            pipeline: setup.pipeline,
            measured: setup.measured,
        }))
    }

    fn send<O: NicOutputs<Self>>(
        &mut self,
        (now, created_at): (Time, Time),
        message: &Outgoing<T>,
        out: &mut O,
    ) {
        self.drive(now, out, |queues, outputs| {
            queues.send((now, created_at), message, outputs)
        });
    }

    fn credit<O: NicOutputs<Self>>(&mut self, now: Time, vc: u8, bytes: u32, out: &mut O) {
        // A credit for another VC comes only in a timeline that is undone later.
        let Some(credits) = self.0.credits.get_mut(usize::from(vc)) else {
            return;
        };
        let before = std::mem::replace(credits, credits.wrapping_add(bytes));
        out.note(|| FlitNicUndo::Credits(vc, before));
        if self.0.sender.packet.is_some() {
            self.note(out);
            self.wake(now, out);
        }
    }

    fn timer<O: NicOutputs<Self>>(&mut self, now: Time, timer: FlitNicTimer, out: &mut O) -> Option<Packet> {
        match timer {
            FlitNicTimer::Cycle => {
                self.run_cycle(now, out);
                None
            }
            FlitNicTimer::Free => self.drive(now, out, |queues, outputs| {
                queues.timer(now, QueuedNicTimer::Free, outputs)
            }),
            FlitNicTimer::Stored => {
                // None comes only in a timeline that is undone later.
                let packet = self.0.storing.pop_front()?;
                out.note(|| FlitNicUndo::Stored(Box::new(packet)));
                self.drive(now, out, |queues, outputs| {
                    queues.timer(now, QueuedNicTimer::Stored(packet), outputs)
                })
            }
        }
    }

    fn arrived<O: NicOutputs<Self>>(&mut self, now: Time, packet: Packet, out: &mut O) -> Option<Packet> {
        self.drive(now, out, |queues, outputs| queues.arrived(now, packet, outputs))
    }

    fn undo(&mut self, step: FlitNicUndo<T>) {
        match step {
            FlitNicUndo::Queues(step) => self.0.queues.undo(*step),
            FlitNicUndo::Sender(before) => self.0.sender = *before,
            FlitNicUndo::Credits(vc, before) => self.0.credits[usize::from(vc)] = before,
            FlitNicUndo::Storing => {
                self.0.storing.pop_back();
            }
            FlitNicUndo::Stored(packet) => self.0.storing.push_front(*packet),
        }
    }

    fn state(&self) -> FlitNicState<T> {
        FlitNicState {
            queues: Box::new(self.0.queues.state()),
            sender: Box::new(self.0.sender),
            credits: self.0.credits.to_vec(),
            storing: self.0.storing.clone(),
        }
    }

    fn restore(&mut self, state: FlitNicState<T>) -> Result<(), String> {
        let FlitSender { packet, vc, .. } = &*state.sender;
        let flits = |packet: &Packet| packet.bytes.div_ceil(self.0.flit);
        let is_good = |of: &PacketInParts<T>| of.packet.bytes > 0 && of.sent < flits(&of.packet);
        if state.credits.len() != self.0.credits.len()
            || usize::from(*vc) >= state.credits.len()
            || !packet.as_ref().is_none_or(is_good)
        {
            return Err("a NIC port: its saved state is that of other virtual channels or flits".into());
        }
        self.0.queues.restore(*state.queues)?;
        self.0.sender = *state.sender;
        self.0.credits = state.credits.into();
        self.0.storing = state.storing;
        Ok(())
    }

    fn source_of(&self, message: &Outgoing<T>) -> NicSource {
        self.0.queues.source_of(message)
    }

    /// Never: what is sent before its time would leave in another cycle.
    fn is_clear(&self) -> bool {
        false
    }

    fn backlog(&self) -> u64 {
        self.0.queues.backlog() + self.unsent()
    }

    fn credits(&self, vc: u8) -> u32 {
        self.0.credits.get(usize::from(vc)).copied().unwrap_or(0)
    }

    fn class_view(&self, class: u8) -> NicClassView {
        match class {
            0 => NicClassView {
                backlog: self.backlog(),
                credits: self
                    .0
                    .credits
                    .iter()
                    .fold(0, |all, vc| u32::wrapping_add(all, *vc)),
            },
            _ => NicClassView::default(),
        }
    }

    fn held_packets(&self) -> u64 {
        self.0.queues.held_packets()
    }

    fn used(&self, end: Time) -> LinkUse {
        let FlitSender {
            blocked_since,
            counters,
            mut stalls,
            ..
        } = self.0.sender;
        if let Some(since) = blocked_since {
            stalls.unblock(since, end, self.0.measured);
        }
        let measured = self.0.measured;
        LinkUse::new(counters, stalls, (end, end + self.to_come(end)), measured)
    }

    fn is_active(&self, time: Time) -> bool {
        self.to_come(time) > Time::ZERO || self.0.sender.blocked_since.is_some()
    }
}

impl<T> FlitNic<T> {
    /// Time after `time` for which the link carries the last flit.
    fn to_come(&self, time: Time) -> Time {
        let start = self.0.sender.start;
        match start {
            Time::ZERO => Time::ZERO,
            _ => (start + self.0.clock.cycle()).saturating_sub(time.max(start)),
        }
    }
}

/// Those of [`QueuedNic`] without congestion control: no packet of this model waits where routers mark it.
const PARAMETERS: &[Parameter] = MEMORY;
