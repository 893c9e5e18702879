//! The crossbar router with the arbiter first-come: packets are booked when they have their space.

use des::Time;

use super::super::RouterOutputs;
use super::super::bookings::Booking;
use super::{CrossbarPacket, CrossbarRouter, CrossbarTimer, CrossbarUndo, LeavingPacket, SlowPacket};
use crate::Rate;
use crate::waits::{CrossbarCrossing, CrossbarObservation};

impl CrossbarRouter {
    /// A packet takes space in its output buffer and crosses, or waits for space.
    pub(super) fn admit<O: RouterOutputs<CrossbarRouter>>(
        &mut self,
        now: Time,
        held: CrossbarPacket,
        out: &mut O,
    ) {
        let index = self.index(held.output, held.output_vc);
        self.forget_left(now, index, out);
        let list = self.waiting_list(index);
        if self.lists[list].is_empty() && self.buffers[index].numbers.space >= held.packet.bytes {
            self.cross(now, held, out);
            return;
        }
        if self.lists[list].is_empty() {
            self.await_space(now, index, out);
        }
        self.push(list, held, out);
    }

    /// Sets a timer for the next packet that leaves an output buffer.
    pub(super) fn await_space<O: RouterOutputs<CrossbarRouter>>(
        &mut self,
        now: Time,
        index: usize,
        out: &mut O,
    ) {
        if let Some(leaving) = self.buffers[index].leaving.front() {
            let (output, vc) = (index / usize::from(self.vcs), index % usize::from(self.vcs));
            let timer = CrossbarTimer::Left {
                output: output as u16,
                vc: vc as u8,
            };
            out.timer(timer, leaving.at - now);
        }
    }

    /// Books the crossbar for a packet with space in its output buffer.
    fn cross<O: RouterOutputs<CrossbarRouter>>(&mut self, now: Time, mut held: CrossbarPacket, out: &mut O) {
        let index = self.index(held.output, held.output_vc);
        let bytes = held.packet.bytes;
        self.note_buffer(index, out);
        let space = &mut self.buffers[index].numbers.space;
        *space = space.wrapping_sub(bytes);
        let server = self.server(held.output);
        let part = self.outputs.len() + usize::from(server);
        let booking = self.book(part as u16, now, self.crossbar, (bytes, held.incoming), out);
        let wait = booking.head - now;
        if out.tracks_waits() {
            let crossing = CrossbarCrossing {
                server,
                job: held.packet.job,
                queue: self.index(held.input, held.input_vc) as u32,
                wait,
                span: self.crossbar.serialization(bytes),
            };
            let output = (held.output, held.output_vc);
            out.observe(held.packet, output, CrossbarObservation::Crosses(crossing));
        }
        out.credit(held.input, held.input_vc, bytes, wait);
        held.incoming = booking.tail - booking.head;
        held.crossed = booking.head;
        if wait == Time::ZERO {
            self.reach_output(now, held, out);
        } else {
            self.push(self.crossing_list(server), held, out);
            out.timer(CrossbarTimer::Crossed { server }, wait);
        }
    }

    fn book<J: des::Journal<CrossbarUndo>>(
        &mut self,
        server: u16,
        now: Time,
        rate: Rate,
        (bytes, incoming): (u32, Time),
        journal: &mut J,
    ) -> Booking {
        let bookings = &mut self.servers[usize::from(server)];
        journal.note(|| match bookings.is_simple() {
            true => CrossbarUndo::BookedNext(server, bookings.free()),
            false => CrossbarUndo::Booked(server, Box::new(bookings.clone())),
        });
        match self.parameters.stores {
            true => bookings.store_and_forward(now, rate, bytes),
            false => bookings.cut_through(now, rate, bytes, incoming),
        }
    }

    /// Books the link for a packet with credits.
    pub(super) fn send_booked<O: RouterOutputs<CrossbarRouter>>(
        &mut self,
        now: Time,
        held: CrossbarPacket,
        out: &mut O,
    ) {
        let (output, bytes) = (held.output, held.packet.bytes);
        let rate = self.outputs[usize::from(output)].rate;
        let booking = self.book(output, now, rate, (bytes, held.incoming), out);
        let (wait, on_link) = (booking.head - now, rate.serialization(bytes));
        let incoming = booking.tail - booking.head;
        let to_host = self.outputs[usize::from(output)].to_host;
        if incoming > on_link && !to_host {
            out.signal(output, SlowPacket::new(incoming), wait);
        }
        // Stored packets, and those for hosts, arrive with their tails.
        let start = match to_host || self.parameters.stores {
            true => booking.tail - on_link,
            false => booking.head,
        };
        self.send(now, held, start, booking.busy, out);
        let index = self.index(output, held.output_vc);
        if wait == Time::ZERO {
            self.note_buffer(index, out);
            let space = &mut self.buffers[index].numbers.space;
            *space = space.wrapping_add(bytes);
            self.use_space(now, index, out);
        } else {
            let is_only = self.buffers[index].leaving.is_empty();
            let at = booking.head;
            self.buffers[index].leaving.push_back(LeavingPacket { at, bytes });
            out.note(|| CrossbarUndo::Leaves(index as u32));
            if is_only && !self.lists[self.waiting_list(index)].is_empty() {
                self.await_space(now, index, out);
            }
        }
    }

    /// Packets that wait for the space of an output buffer cross while there is space for the first of them.
    pub(super) fn use_space<O: RouterOutputs<CrossbarRouter>>(
        &mut self,
        now: Time,
        index: usize,
        out: &mut O,
    ) {
        let list = self.waiting_list(index);
        while let Some(first) = self.first(list)
            && first.packet.bytes <= self.buffers[index].numbers.space
        {
            if let Some(held) = self.pop(list, out) {
                self.cross(now, held, out);
            }
        }
    }
}
