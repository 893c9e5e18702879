//! Numbered packets on links that fail: a router keeps a packet until the far end has acknowledged its number, and
//! sends it again after a timeout. The far end ignores repeated numbers.

use std::collections::VecDeque;

use des::Time;
use fabric::Packet;
use fabric::router::{Arrival, RouterOutputs};
use routing::Random;
use serde::{Deserialize, Serialize};

use crate::line::{self, Line, TO_NIC};
use crate::toy::{Toy, ToyRouter};

pub struct Retry;

/// Time until a packet is sent again.
const PATIENCE: Time = Time(400_000);

/// Time for which a link stays up or down.
const PERIOD: Time = Time(700_000);

/// Time from which no link changes.
const QUIET: Time = Time(6_000_000);

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Link {
    is_down: bool,
    waiting: VecDeque<Packet>,
    /// Number of the first kept packet.
    next: u32,
    /// Number of the next packet from the far end.
    expected: u32,
    /// Packets sent again, and packets received again.
    repeated: (u32, u32),
}

pub type State = [Link; 3];

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Timer {
    /// A link goes up or down.
    Toggle(u16),
    /// A packet may be lost.
    Retry(u16, u32),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Signal {
    Numbered(Packet, u32),
    Acknowledged(u32),
}

impl Retry {
    fn enqueue<O: RouterOutputs<ToyRouter<Retry>>>(
        router: &mut ToyRouter<Retry>,
        packet: Packet,
        output: u16,
        out: &mut O,
    ) {
        if output == TO_NIC {
            return out.depart(
                output,
                0,
                packet,
                Time::ZERO,
                line::rate().serialization(packet.bytes),
            );
        }
        let link = &mut router.state[usize::from(output)];
        link.waiting.push_back(packet);
        if link.waiting.len() == 1 {
            Retry::transmit(link, output, out);
        }
    }

    fn transmit<O: RouterOutputs<ToyRouter<Retry>>>(link: &Link, output: u16, out: &mut O) {
        let Some(packet) = link.waiting.front() else {
            return;
        };
        if !link.is_down {
            out.signal(output, Signal::Numbered(*packet, link.next), Time::ZERO);
        }
        out.timer(Timer::Retry(output, link.next), PATIENCE);
    }
}

impl Toy for Retry {
    type State = State;
    type Timer = Timer;
    type Signal = Signal;

    fn start<O: RouterOutputs<ToyRouter<Self>>>(_: &ToyRouter<Self>, out: &mut O) {
        for output in 0..TO_NIC {
            let after = Time(1 + u64::from(out.random().below(PERIOD.0 as u32)));
            out.timer(Timer::Toggle(output), after);
        }
    }

    fn arrived<O: RouterOutputs<ToyRouter<Self>>>(
        router: &mut ToyRouter<Self>,
        _: Time,
        arrival: Arrival,
        output: u16,
        out: &mut O,
    ) {
        out.credit(TO_NIC, 0, arrival.packet.bytes, Time::ZERO);
        Retry::enqueue(router, arrival.packet, output, out);
    }

    fn timer<O: RouterOutputs<ToyRouter<Self>>>(
        router: &mut ToyRouter<Self>,
        now: Time,
        timer: Timer,
        out: &mut O,
    ) {
        match timer {
            Timer::Toggle(output) => {
                let link = &mut router.state[usize::from(output)];
                link.is_down = now < QUIET && !link.is_down;
                if now < QUIET {
                    out.timer(timer, PERIOD);
                }
            }
            Timer::Retry(output, number) => {
                let link = &mut router.state[usize::from(output)];
                if number == link.next && !link.waiting.is_empty() {
                    link.repeated.0 += 1;
                    Retry::transmit(link, output, out);
                }
            }
        }
    }

    fn signal<O: RouterOutputs<ToyRouter<Self>>>(
        router: &mut ToyRouter<Self>,
        _: Time,
        port: u16,
        signal: Signal,
        route: impl Fn(&Packet) -> u16,
        out: &mut O,
    ) {
        let link = &mut router.state[usize::from(port)];
        match signal {
            Signal::Numbered(packet, number) => {
                if !link.is_down {
                    out.signal(port, Signal::Acknowledged(number), Time::ZERO);
                }
                if number != link.expected {
                    link.repeated.1 += 1;
                    return;
                }
                link.expected += 1;
                Retry::enqueue(router, packet, route(&packet), out);
            }
            Signal::Acknowledged(number) => {
                if number == link.next && link.waiting.pop_front().is_some() {
                    link.next += 1;
                    Retry::transmit(link, port, out);
                }
            }
        }
    }
}

#[test]
fn every_packet_passes_links_that_go_down_once_and_in_order() {
    let (deliveries, states) = Line::<ToyRouter<Retry>, _>::new((), line::nic).check();
    line::assert_each_message_once(&deliveries);
    let routers: Vec<State> = line::router_states(&states);
    let repeated = routers.iter().flatten().map(|link| link.repeated);
    let (sent, received) = repeated.fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    assert!(
        sent > received && received > 0,
        "{sent} sent again, {received} received again"
    );
}
