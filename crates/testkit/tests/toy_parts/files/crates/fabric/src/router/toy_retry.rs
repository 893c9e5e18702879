//! Toy of links that go down: a router numbers packets, keeps each until the far end has acknowledged its number, and
//! sends it again after a timeout. The far end ignores repeated numbers.

use std::collections::VecDeque;

use des::Time;
use routing::Random;
use serde::{Deserialize, Serialize};

use super::RouterOutputs;
use super::toy_frame::{Framed, Toy};
use crate::{DropReason, Packet, PacketFate};

pub type ToyRetryRouter = Framed<Retry>;

pub struct Retry;

/// Time until a packet is sent again.
const PATIENCE: Time = Time(400_000);

/// Time for which a link stays up or down.
const PERIOD: Time = Time(700_000);

/// Time from which no link changes.
const QUIET: Time = Time(6_000_000);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Link {
    is_down: bool,
    waiting: VecDeque<Packet>,
    /// Number of the first kept packet.
    next: u16,
    /// Number of the next packet from the far end.
    expected: u16,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Timer {
    /// A link goes up or down.
    Toggle(u16),
    /// A packet may be lost.
    Retry(u16, u16),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Signal {
    /// A copy of a packet, with its number.
    Numbered(Packet),
    Acknowledged(u16),
}

impl Retry {
    fn enqueue<O: RouterOutputs<ToyRetryRouter>>(
        router: &mut ToyRetryRouter,
        packet: Packet,
        output: u16,
        out: &mut O,
    ) {
        let packet = packet.on_next_link();
        if router.leads_to_host(output) {
            let serialization = router.serialization(output, &packet);
            return out.depart(output, 0, packet, Time::ZERO, serialization);
        }
        let link = &mut router.links[usize::from(output)];
        link.waiting.push_back(packet);
        if link.waiting.len() == 1 {
            Retry::transmit(link, output, out);
        }
    }

    /// Sends a copy of the first packet.
    fn transmit<O: RouterOutputs<ToyRetryRouter>>(link: &Link, output: u16, out: &mut O) {
        let Some(packet) = link.waiting.front() else {
            return;
        };
        out.fate(packet, PacketFate::Multiplied);
        if link.is_down {
            out.fate(packet, PacketFate::Dropped(DropReason::LinkDown));
        } else {
            let mut copy = *packet;
            copy.sequence = link.next;
            out.signal(output, Signal::Numbered(copy), Time::ZERO);
        }
        out.timer(Timer::Retry(output, link.next), PATIENCE);
    }
}

impl Toy for Retry {
    const KIND: (&'static str, &'static str) =
        ("toy-retry", "packets that are repeated on links that go down");

    type Link = Link;
    type Timer = Timer;
    type Signal = Signal;

    fn start<O: RouterOutputs<ToyRetryRouter>>(router: &ToyRetryRouter, out: &mut O) {
        for output in (0..router.ports.len() as u16).filter(|port| !router.leads_to_host(*port)) {
            let after = Time(1 + u64::from(out.random().below(PERIOD.0 as u32)));
            out.timer(Timer::Toggle(output), after);
        }
    }

    fn arrived<O: RouterOutputs<ToyRetryRouter>>(
        router: &mut ToyRetryRouter,
        packet: Packet,
        (_, output): (u16, u16),
        out: &mut O,
    ) {
        Retry::enqueue(router, packet, output, out);
    }

    fn timer<O: RouterOutputs<ToyRetryRouter>>(
        router: &mut ToyRetryRouter,
        now: Time,
        timer: Timer,
        out: &mut O,
    ) {
        match timer {
            Timer::Toggle(output) => {
                let link = &mut router.links[usize::from(output)];
                link.is_down = now < QUIET && !link.is_down;
                if now < QUIET {
                    out.timer(timer, PERIOD);
                }
            }
            Timer::Retry(output, number) => {
                let link = &router.links[usize::from(output)];
                if number == link.next {
                    Retry::transmit(link, output, out);
                }
            }
        }
    }

    fn signal<O: RouterOutputs<ToyRetryRouter>>(
        router: &mut ToyRetryRouter,
        port: u16,
        signal: Signal,
        mut route: impl FnMut(&mut Packet) -> u16,
        out: &mut O,
    ) {
        let link = &mut router.links[usize::from(port)];
        match signal {
            Signal::Numbered(mut packet) => {
                let number = packet.sequence;
                if !link.is_down {
                    out.signal(port, Signal::Acknowledged(number), Time::ZERO);
                }
                if number != link.expected {
                    return out.fate(&packet, PacketFate::Consumed);
                }
                link.expected = link.expected.wrapping_add(1);
                let output = route(&mut packet);
                Retry::enqueue(router, packet, output, out);
            }
            Signal::Acknowledged(number) => {
                if number == link.next
                    && let Some(packet) = link.waiting.pop_front()
                {
                    // The copy goes on.
                    out.fate(&packet, PacketFate::Consumed);
                    link.next = link.next.wrapping_add(1);
                    Retry::transmit(link, port, out);
                }
            }
        }
    }

    fn held(link: &Link) -> impl Iterator<Item = &Packet> {
        link.waiting.iter()
    }

    fn in_signal(signal: &Signal) -> Option<&Packet> {
        match signal {
            Signal::Numbered(packet) => Some(packet),
            Signal::Acknowledged(_) => None,
        }
    }
}
