//! Flits: a router sends the head of a packet before it knows when the tail will leave, since the tail may be
//! delayed. The tail travels as a separate signal.

use std::collections::VecDeque;

use des::Time;
use fabric::Packet;
use fabric::router::{Arrival, RouterOutputs};
use routing::Random;
use serde::{Deserialize, Serialize};

use crate::line::{self, Line, TO_NIC};
use crate::toy::{Toy, ToyRouter};

pub struct Flits;

/// A packet at an output.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Worm {
    packet: Packet,
    /// Whether its tail has arrived.
    has_tail: bool,
    /// Whether all flits but the tail have left.
    is_sent: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct State {
    /// Queues by output.
    worms: [VecDeque<Worm>; 3],
    /// Tails that left later than the body.
    late_tails: u32,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Timer {
    /// The tail of a packet from the NIC has arrived at an output.
    Tail(u16, u32, u32),
    /// The body of the first packet of an output has left.
    Body(u16),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Signal {
    Head(Packet),
    /// The tail, with the packet that it belongs to.
    Tail(Packet),
}

impl Flits {
    fn head<O: RouterOutputs<ToyRouter<Flits>>>(
        router: &mut ToyRouter<Flits>,
        packet: Packet,
        output: u16,
        out: &mut O,
    ) {
        let worms = &mut router.state.worms[usize::from(output)];
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
    fn begin<O: RouterOutputs<ToyRouter<Flits>>>(router: &ToyRouter<Flits>, output: u16, out: &mut O) {
        let Some(worm) = router.state.worms[usize::from(output)].front() else {
            return;
        };
        if output != TO_NIC {
            out.signal(output, Signal::Head(worm.packet), Time::ZERO);
        }
        let held_up = Time(u64::from(out.random().below(30_000)));
        let body = line::rate().serialization(worm.packet.bytes) + held_up;
        out.timer(Timer::Body(output), body);
    }

    fn tail<O: RouterOutputs<ToyRouter<Flits>>>(
        router: &mut ToyRouter<Flits>,
        output: u16,
        (source, message): (u32, u32),
        out: &mut O,
    ) {
        let worms = &mut router.state.worms[usize::from(output)];
        let is_it = |worm: &&mut Worm| (worm.packet.source.0, worm.packet.message) == (source, message);
        if let Some(worm) = worms.iter_mut().find(is_it) {
            worm.has_tail = true;
            router.state.late_tails += u32::from(worm.is_sent);
        }
        Flits::end(router, output, out);
    }

    /// The tail of the first packet of an output leaves, if it is there.
    fn end<O: RouterOutputs<ToyRouter<Flits>>>(router: &mut ToyRouter<Flits>, output: u16, out: &mut O) {
        let worms = &mut router.state.worms[usize::from(output)];
        if !worms.front().is_some_and(|worm| worm.has_tail && worm.is_sent) {
            return;
        }
        let Some(Worm { packet, .. }) = worms.pop_front() else {
            return;
        };
        if output == TO_NIC {
            out.depart(output, 0, packet, Time::ZERO, Time::ZERO);
        } else {
            out.signal(output, Signal::Tail(packet), Time::ZERO);
        }
        Flits::begin(router, output, out);
    }
}

impl Toy for Flits {
    type State = State;
    type Timer = Timer;
    type Signal = Signal;

    /// From the NIC, whose packets are not delayed.
    fn arrived<O: RouterOutputs<ToyRouter<Self>>>(
        router: &mut ToyRouter<Self>,
        _: Time,
        arrival: Arrival,
        output: u16,
        out: &mut O,
    ) {
        let packet = arrival.packet;
        let serialization = line::rate().serialization(packet.bytes);
        out.timer(
            Timer::Tail(output, packet.source.0, packet.message),
            serialization,
        );
        out.credit(TO_NIC, 0, packet.bytes, serialization);
        Flits::head(router, packet, output, out);
    }

    fn timer<O: RouterOutputs<ToyRouter<Self>>>(
        router: &mut ToyRouter<Self>,
        _: Time,
        timer: Timer,
        out: &mut O,
    ) {
        match timer {
            Timer::Tail(output, source, message) => Flits::tail(router, output, (source, message), out),
            Timer::Body(output) => {
                if let Some(worm) = router.state.worms[usize::from(output)].front_mut() {
                    worm.is_sent = true;
                }
                Flits::end(router, output, out);
            }
        }
    }

    fn signal<O: RouterOutputs<ToyRouter<Self>>>(
        router: &mut ToyRouter<Self>,
        _: Time,
        _: u16,
        signal: Signal,
        route: impl Fn(&Packet) -> u16,
        out: &mut O,
    ) {
        match signal {
            Signal::Head(packet) => Flits::head(router, packet, route(&packet), out),
            Signal::Tail(packet) => {
                Flits::tail(router, route(&packet), (packet.source.0, packet.message), out);
            }
        }
    }
}

#[test]
fn tails_arrive_at_times_that_no_head_knew() {
    let (deliveries, states) = Line::<ToyRouter<Flits>, _>::new((), line::nic).check();
    assert_eq!(deliveries.len(), line::MESSAGES);
    let routers: Vec<State> = line::router_states(&states);
    assert!(
        routers
            .iter()
            .all(|state| state.worms.iter().all(VecDeque::is_empty))
    );
    assert!(routers.iter().any(|state| state.late_tails > 0));
}
