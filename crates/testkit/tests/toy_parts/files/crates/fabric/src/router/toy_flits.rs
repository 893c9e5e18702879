//! Toy of flits: a router sends the head of a packet before it knows when the tail will leave, since the tail may be
//! delayed. The tail travels as a separate signal. A packet is where its tail is.

use std::collections::VecDeque;

use des::Time;
use routing::Random;
use serde::{Deserialize, Serialize};

use super::RouterOutputs;
use super::toy_frame::{Framed, Toy};
use crate::Packet;

pub type ToyFlitsRouter = Framed<Flits>;

pub struct Flits;

/// A packet at an output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Worm {
    packet: Packet,
    /// Whether its tail has arrived.
    has_tail: bool,
    /// Whether all flits but the tail have left.
    is_sent: bool,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Timer {
    /// The tail of a packet from a NIC arrives at an output.
    Tail { output: u16, packet: Packet },
    /// The body of the first packet of an output has left.
    Body { output: u16 },
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Signal {
    Head(Packet),
    /// The tail, with the packet that it belongs to.
    Tail(Packet),
}

impl Flits {
    fn head<O: RouterOutputs<ToyFlitsRouter>>(
        router: &mut ToyFlitsRouter,
        packet: Packet,
        output: u16,
        out: &mut O,
    ) {
        let worms = &mut router.links[usize::from(output)];
        worms.push_back(Worm {
            packet,
            has_tail: false,
            is_sent: false,
        });
        if worms.len() == 1 {
            Flits::begin(router, output, out);
        }
    }

    /// The head of the first packet of an output leaves.
    fn begin<O: RouterOutputs<ToyFlitsRouter>>(router: &ToyFlitsRouter, output: u16, out: &mut O) {
        let Some(worm) = router.links[usize::from(output)].front() else {
            return;
        };
        if !router.leads_to_host(output) {
            out.signal(output, Signal::Head(worm.packet.on_next_link()), Time::ZERO);
        }
        let held_up = Time(u64::from(out.random().below(30_000)));
        let body = router.serialization(output, &worm.packet) + held_up;
        out.timer(Timer::Body { output }, body);
    }

    fn tail<O: RouterOutputs<ToyFlitsRouter>>(
        router: &mut ToyFlitsRouter,
        output: u16,
        tail: &Packet,
        out: &mut O,
    ) {
        let is_it = |worm: &&mut Worm| {
            let of = &worm.packet;
            !worm.has_tail
                && (of.source, of.message, of.sequence) == (tail.source, tail.message, tail.sequence)
        };
        if let Some(worm) = router.links[usize::from(output)].iter_mut().find(is_it) {
            worm.has_tail = true;
        }
        Flits::end(router, output, out);
    }

    /// The tail of the first packet of an output leaves, if it is there.
    fn end<O: RouterOutputs<ToyFlitsRouter>>(router: &mut ToyFlitsRouter, output: u16, out: &mut O) {
        let worms = &mut router.links[usize::from(output)];
        if !worms.front().is_some_and(|worm| worm.has_tail && worm.is_sent) {
            return;
        }
        let Some(Worm { packet, .. }) = worms.pop_front() else {
            return;
        };
        let packet = packet.on_next_link();
        if router.leads_to_host(output) {
            out.depart(output, 0, packet, Time::ZERO, Time::ZERO);
        } else {
            out.signal(output, Signal::Tail(packet), Time::ZERO);
        }
        Flits::begin(router, output, out);
    }
}

impl Toy for Flits {
    const KIND: (&'static str, &'static str) = ("toy-flits", "heads and tails that travel apart");

    type Link = VecDeque<Worm>;
    type Timer = Timer;
    type Signal = Signal;

    /// From a NIC, whose packets are not delayed.
    fn arrived<O: RouterOutputs<ToyFlitsRouter>>(
        router: &mut ToyFlitsRouter,
        packet: Packet,
        (_, output): (u16, u16),
        out: &mut O,
    ) {
        let serialization = router.serialization(output, &packet);
        out.timer(Timer::Tail { output, packet }, serialization);
        Flits::head(router, packet, output, out);
    }

    fn timer<O: RouterOutputs<ToyFlitsRouter>>(
        router: &mut ToyFlitsRouter,
        _: Time,
        timer: Timer,
        out: &mut O,
    ) {
        match timer {
            Timer::Tail { output, packet } => Flits::tail(router, output, &packet, out),
            Timer::Body { output } => {
                if let Some(worm) = router.links[usize::from(output)].front_mut() {
                    worm.is_sent = true;
                }
                Flits::end(router, output, out);
            }
        }
    }

    fn signal<O: RouterOutputs<ToyFlitsRouter>>(
        router: &mut ToyFlitsRouter,
        _: u16,
        signal: Signal,
        mut route: impl FnMut(&mut Packet) -> u16,
        out: &mut O,
    ) {
        match signal {
            Signal::Head(mut packet) => {
                let output = route(&mut packet);
                Flits::head(router, packet, output, out);
            }
            Signal::Tail(mut packet) => {
                let output = route(&mut packet);
                Flits::tail(router, output, &packet, out);
            }
        }
    }

    fn held(worms: &VecDeque<Worm>) -> impl Iterator<Item = &Packet> {
        let here = worms.iter().filter(|worm| worm.has_tail);
        here.map(|worm| &worm.packet)
    }

    fn in_timer(timer: &Timer) -> Option<&Packet> {
        match timer {
            Timer::Tail { packet, .. } => Some(packet),
            Timer::Body { .. } => None,
        }
    }

    fn in_signal(signal: &Signal) -> Option<&Packet> {
        match signal {
            Signal::Tail(packet) => Some(packet),
            Signal::Head(_) => None,
        }
    }
}
