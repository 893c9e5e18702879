//! Test bench: one router of any model with its outputs, and inputs for property tests.

use std::fmt::Debug;

use des::{Journal, Time};
use proptest::prelude::*;
use routing::{Random, RouteState};
use topology::{HostId, RouterId};

use super::{Holding, PortSetting, RouterModel, RouterOutputs, RouterSetup, RoutingContext};
use crate::reverse_check::UndoRecorder;
use crate::{Measured, Packet, PacketFate, Rate, TrafficClasses};

/// 8 Gbps: 1000 ps per byte.
pub(super) const SLOW: u64 = 8_000_000_000;

/// A router with its outputs.
pub(super) struct Bench<M: RouterModel> {
    pub(super) router: M,
    pub(super) now: Time,
    pub(super) outputs: RecordedOutputs<M>,
    context: RoutingContext<'static>,
}

pub(super) struct RecordedOutputs<M: RouterModel> {
    now: Time,
    timers: Vec<(Time, M::Timer)>,
    /// Start, port, VC and end of every departure.
    pub(super) departed: Vec<(u64, u16, u8, u64)>,
    /// The packets of these departures.
    pub(super) packets: Vec<Packet>,
    pub(super) credits: Vec<(u64, u16, u8, u32)>,
    /// Start, port and content.
    pub(super) signals: Vec<(u64, u16, String)>,
    draws: BenchDraws,
}

#[derive(Clone, Copy, Default)]
struct BenchDraws(u32);

impl Random for BenchDraws {
    fn below(&mut self, bound: u32) -> u32 {
        // A generator of full period. Its high bits are sufficiently random.
        self.0 = self.0.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        ((u64::from(self.0) * u64::from(bound)) >> 32) as u32
    }
}

impl<M: RouterModel> Journal<M::Undo> for RecordedOutputs<M> {
    const KEPT: bool = false;
    fn keep(&mut self, _: M::Undo) {}
}

impl<M: RouterModel> RouterOutputs<M> for RecordedOutputs<M> {
    fn depart(&mut self, port: u16, vc: u8, packet: Packet, wait: Time, serialization: Time) {
        assert_eq!(packet.hops, 1);
        let start = self.now + wait;
        self.departed.push((start.0, port, vc, (start + serialization).0));
        self.packets.push(packet);
    }
    fn credit(&mut self, port: u16, vc: u8, bytes: u32, after: Time) {
        self.credits.push(((self.now + after).0, port, vc, bytes));
    }
    fn timer(&mut self, timer: M::Timer, after: Time) {
        self.timers.push((self.now + after, timer));
    }
    fn signal(&mut self, port: u16, signal: M::Signal, after: Time) {
        let sent = (self.now + after).0;
        self.signals.push((sent, port, format!("{signal:?}")));
    }
    fn fate(&mut self, _: &Packet, fate: PacketFate) {
        unreachable!("no model reports {fate:?}")
    }
    fn random(&mut self) -> impl Random {
        struct Mine<'a>(&'a mut BenchDraws);
        impl Random for Mine<'_> {
            fn below(&mut self, bound: u32) -> u32 {
                self.0.below(bound)
            }
        }
        Mine(&mut self.draws)
    }
}

/// Four ports of 1000 ps per byte; the last leads to a host and is twice as fast.
pub(super) fn ports(credits: u32) -> [PortSetting; 4] {
    let port = |to_host, bits| PortSetting {
        rate: Rate::bits_per_s(bits),
        to_host,
        credits,
        pipeline: Time::ZERO,
        cable: Time::ZERO,
        whole_packets: false,
    };
    let slow = port(false, SLOW);
    [slow, slow, slow, port(true, 2 * SLOW)]
}

/// A router with two VCs.
pub(super) fn setup(ports: &[PortSetting], largest_packet: u32, bubbles: bool) -> RouterSetup<'_> {
    RouterSetup {
        id: RouterId(0),
        vcs: 2,
        traffic_classes: TrafficClasses::one(2),
        ports,
        injection: Rate::bits_per_s(2 * SLOW),
        largest_packet,
        bubbles,
        credit_delay: Time::ZERO,
        measured: Measured::after(Time::ZERO),
    }
}

impl<M: RouterModel> Bench<M> {
    pub(super) fn of(router: M, context: RoutingContext<'static>) -> Bench<M> {
        Bench {
            router,
            now: Time::ZERO,
            outputs: RecordedOutputs {
                now: Time::ZERO,
                timers: Vec::new(),
                departed: Vec::new(),
                packets: Vec::new(),
                credits: Vec::new(),
                signals: Vec::new(),
                draws: BenchDraws::default(),
            },
            context,
        }
    }

    pub(super) fn credit(&mut self, at: u64, port: u16, vc: u8, bytes: u32) {
        self.until(Time(at));
        self.router.credit(self.now, port, vc, bytes, &mut self.outputs);
    }

    /// Expires all timers that are due by `end`.
    pub(super) fn until(&mut self, end: Time) {
        while let Some(i) = (0..self.outputs.timers.len()).min_by_key(|i| self.outputs.timers[*i].0)
            && self.outputs.timers[i].0 <= end
        {
            let (time, timer) = self.outputs.timers.swap_remove(i);
            self.outputs.now = time;
            self.router.timer(time, timer, &self.context, &mut self.outputs);
        }
        self.now = end;
        self.outputs.now = end;
    }

    /// Packets in its input buffers.
    pub(super) fn buffered(&self) -> usize {
        let mut count = 0;
        self.router
            .for_each_held(&mut |held| count += usize::from(matches!(held, Holding::Packet(_))));
        count
    }
}

/// An output of a router, for the comparison of the reverse check.
#[derive(Debug, PartialEq)]
pub(super) enum RecordedOutput<Timer> {
    Depart(u16, u8, Packet, Time, Time),
    Credit(u16, u8, u32, Time),
    Timer(Timer, Time),
    Signal(u16, String, Time),
    Drawn(u32),
}

/// The recorder of a router of this model.
pub(super) type RouterRecorder<M, const KEPT: bool> =
    UndoRecorder<<M as RouterModel>::Undo, RecordedOutput<<M as RouterModel>::Timer>, KEPT>;

impl<M: RouterModel, const KEPT: bool> RouterOutputs<M> for RouterRecorder<M, KEPT> {
    fn depart(&mut self, port: u16, vc: u8, packet: Packet, wait: Time, serialization: Time) {
        self.outputs
            .push(RecordedOutput::Depart(port, vc, packet, wait, serialization));
    }
    fn credit(&mut self, port: u16, vc: u8, bytes: u32, after: Time) {
        self.outputs.push(RecordedOutput::Credit(port, vc, bytes, after));
    }
    fn timer(&mut self, timer: M::Timer, after: Time) {
        self.outputs.push(RecordedOutput::Timer(timer, after));
    }
    fn signal(&mut self, port: u16, signal: M::Signal, after: Time) {
        let signal = format!("{signal:?}");
        self.outputs.push(RecordedOutput::Signal(port, signal, after));
    }
    fn fate(&mut self, _: &Packet, fate: PacketFate) {
        unreachable!("no model reports {fate:?}")
    }
    fn random(&mut self) -> impl Random {
        struct Recorded<'a, T>(&'a mut Vec<RecordedOutput<T>>);
        impl<T> Random for Recorded<'_, T> {
            fn below(&mut self, bound: u32) -> u32 {
                // A repeated operation draws the same numbers.
                let number = (self.0.len() as u32 * 5 + 3) % bound;
                self.0.push(RecordedOutput::Drawn(number));
                number
            }
        }
        Recorded(&mut self.outputs)
    }
}

/// Random packets of these sizes.
pub(crate) fn packets(bytes: impl Strategy<Value = u32>) -> impl Strategy<Value = Packet> {
    let packet = (
        any::<[u32; 3]>(),
        bytes,
        any::<u64>(),
        any::<u16>(),
        any::<u8>(),
        any::<bool>(),
    );
    let route = (any::<u32>(), any::<u16>(), any::<u8>(), any::<u8>());
    (packet, route).prop_map(|(packet, (via, path, phase, flags))| {
        let ([source, destination, message], bytes, created_at, job, hops, standalone) = packet;
        let (source, destination) = (HostId(source), HostId(destination));
        let mut packet = Packet::new(source, destination, message, bytes, Time(created_at), job);
        packet.route = RouteState {
            via,
            path,
            phase,
            flags,
        };
        packet.hops = hops;
        packet.set_standalone(standalone);
        packet
    })
}

/// Credits for a router of four ports and two VCs: port, VC and bytes.
pub(super) fn credits(bytes: impl Strategy<Value = u32>) -> impl Strategy<Value = (u16, u8, u32)> {
    (0u16..4, 0u8..2, bytes)
}
