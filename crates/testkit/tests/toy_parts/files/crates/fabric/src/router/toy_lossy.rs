//! Toy of loss: a router drops every fifth packet, and marks every other one.

use des::Time;
use routing::Random;

use super::toy_frame::{Framed, Toy};
use super::{Never, RouterOutputs};
use crate::{DropReason, Packet, PacketFate};

pub type ToyLossyRouter = Framed<Lossy>;

pub struct Lossy;

impl Toy for Lossy {
    const KIND: (&'static str, &'static str) = ("toy-lossy", "drops every fifth packet");

    type Link = ();
    type Timer = Never;
    type Signal = Never;

    fn arrived<O: RouterOutputs<ToyLossyRouter>>(
        router: &mut ToyLossyRouter,
        _: Time,
        packet: Packet,
        output: u16,
        out: &mut O,
    ) {
        let mut packet = packet.on_next_link();
        if out.random().below(5) == 0 {
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
        _: &mut ToyLossyRouter,
        _: u16,
        signal: Never,
        _: impl FnMut(&mut Packet) -> u16,
        _: &mut O,
    ) {
        match signal {}
    }

    fn held((): &()) -> impl Iterator<Item = &Packet> {
        std::iter::empty()
    }

    fn in_signal(signal: &Never) -> Option<&Packet> {
        match *signal {}
    }
}
