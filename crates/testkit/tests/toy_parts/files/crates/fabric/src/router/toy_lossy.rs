//! Toy of loss: a router drops every fifth packet, tells the host that sent it, if that is attached to it, and marks
//! every other one.

use des::Time;
use routing::Random;
use serde::{Deserialize, Serialize};

use super::toy_frame::{Framed, Toy};
use super::{Never, RouterOutputs};
use crate::{DropReason, Packet, PacketFate};

pub type ToyLossyRouter = Framed<Lossy>;

pub struct Lossy;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Signal {
    /// To a NIC: its packet of this number was dropped.
    Lost(u16),
    /// From a NIC: it has sent a packet again that was lost.
    Repeated,
}

impl Toy for Lossy {
    const KIND: (&'static str, &'static str) = ("toy-lossy", "drops every fifth packet");

    const SIGNALS_TO_HOSTS: bool = true;

    /// Of a port to a host: packets that its NIC has sent again when it heard of the loss.
    type Link = u32;
    type Timer = Never;
    type Signal = Signal;

    fn arrived<O: RouterOutputs<ToyLossyRouter>>(
        router: &mut ToyLossyRouter,
        packet: Packet,
        (input, output): (u16, u16),
        out: &mut O,
    ) {
        let mut packet = packet.on_next_link();
        if out.random().below(5) == 0 {
            if router.leads_to_host(input) && !packet.is_control() {
                out.signal(input, Signal::Lost(packet.sequence), Time::ZERO);
            }
            return out.fate(&packet, PacketFate::Dropped(DropReason::BufferFull));
        }
        packet.set_mark(packet.mark() ^ 1);
        let serialization = router.serialization(output, &packet);
        out.depart(output, 0, packet, Time::ZERO, serialization);
    }

    fn timer<O: RouterOutputs<ToyLossyRouter>>(_: &mut ToyLossyRouter, _: Time, timer: Never, _: &mut O) {
        match timer {}
    }

    fn signal<O: RouterOutputs<ToyLossyRouter>>(
        router: &mut ToyLossyRouter,
        port: u16,
        signal: Signal,
        _: impl FnMut(&mut Packet) -> u16,
        _: &mut O,
    ) {
        match signal {
            Signal::Repeated => router.links[usize::from(port)] += 1,
            Signal::Lost(_) => unreachable!("only NICs hear of losses"),
        }
    }

    fn held(_: &u32) -> impl Iterator<Item = &Packet> {
        std::iter::empty()
    }

    fn in_signal(_: &Signal) -> Option<&Packet> {
        None
    }
}
