//! Switch and link traversal, and credits: a flit that has got the crossbar leaves its buffer, passes the crossbar, and
//! starts onto the link when it is free, in the order of the grants, from a queue with or without bound.
//!
//! The input port sends one message with credits in a cycle: those of the flits of one step. A host takes a flit in
//! each cycle, and returns its credit at once.

use des::Time;

use super::super::{RouterOutputs, RoutingContext};
use crate::waits::{CrossbarCrossing, CrossbarDeparture, CrossbarObservation};

use super::{
    BodyFlit, BufferedPacket, DRAINING, FREE, FlitPort, FlitPortState, FlitRouter, FlitStage, FlitUndo,
    InputVc, StageOfBatches, Work, cycle_of, joined_after,
};

impl FlitRouter {
    /// Credits of a host that count by now.
    pub(super) fn take_host_credits<O: RouterOutputs<FlitRouter>>(
        &mut self,
        port: u16,
        cycle: u64,
        out: &mut O,
    ) {
        let is_due = |at_host: Option<&(u64, u8)>| at_host.is_some_and(|(due, _)| *due <= cycle);
        if !is_due(self.ports[usize::from(port)].state.at_host.front()) {
            return;
        }
        self.note_port(port, out);
        let flit = self.parameters.flit;
        while is_due(self.ports[usize::from(port)].state.at_host.front()) {
            if let Some((_, vc)) = self.ports[usize::from(port)].state.at_host.pop_front() {
                let index = self.index(port, vc);
                self.note_output(index, out);
                let far = self.ports[usize::from(port)].far;
                let output = &mut self.outputs[index];
                output.credits = output.credits.wrapping_add(flit);
                if output.owner == DRAINING && output.credits == far {
                    output.owner = FREE;
                }
            }
        }
    }

    /// The next flit of an input VC has got the crossbar, which has a place among those of the step.
    pub(super) fn send_flit<O: RouterOutputs<FlitRouter>>(
        &mut self,
        (now, cycle, step): (Time, u64, u64),
        (index, place): (usize, u32),
        context: &RoutingContext<'_>,
        out: &mut O,
    ) {
        let Some(held) = self.pool.front(self.buffers[index]).copied() else {
            return;
        };
        let packet = held.packet;
        let flit = self.parameters.flit;
        let (port, vc) = self.port_of(index);
        let (is_head, is_tail) = {
            let sent = self.inputs[index].sent;
            (sent == 0, sent + 1 == self.flits_of(&packet))
        };
        let (to, to_vc) = (self.inputs[index].output, self.inputs[index].vc);
        self.note_input(index, out);
        let input = &mut self.inputs[index];
        input.flits = input.flits.wrapping_sub(1);
        input.sent += 1;

        // The credit of its place goes back, with those of other flits from there in this step.
        self.note_port(port, out);
        let FlitPortState {
            credit_free,
            credit_step,
            ..
        } = &mut self.ports[usize::from(port)].state;
        if *credit_step != step {
            (*credit_free, *credit_step) = (cycle.max(*credit_free) + 1, step);
        }
        let leaves = *credit_free - 1;
        let freed = self.counted_bytes(port, &packet, is_tail);
        out.credit(port, vc, freed, self.clock.end(leaves) - now);

        // It takes a credit of the buffer behind the link.
        let output = self.index(to, to_vc);
        self.note_output(output, out);
        let taken = self.counted_bytes(to, &packet, is_tail);
        self.outputs[output].credits = self.outputs[output].credits.wrapping_sub(taken);
        let class = self.classes.of_vc(to_vc);
        let first_copy = self.counted_at(to, class, self.classes.routing_vc(to_vc));
        self.note_output(first_copy, out);
        let waiting = &mut self.outputs[first_copy].waiting;
        *waiting = waiting.wrapping_sub(flit);
        if is_tail {
            self.outputs[output].owner = match self.parameters.awaits_credits {
                true => DRAINING,
                false => FREE,
            };
        }

        // Crossbar and link.
        // The step in which it is in the queue before the link: it comes into the crossbar in the next one.
        let reached = self.after_stage(StageOfBatches::Crossbar, step + 1, out) - 1;
        let crossed = cycle_of(self.parameters.speedup, reached);
        let bytes = match is_tail {
            true => packet.bytes - (self.flits_of(&packet) - 1) * flit,
            false => flit,
        };
        // A router with flits gets a packet with its head, others and hosts with its tail: there it counts.
        let departs = if self.sends_with_tail(to) {
            is_tail
        } else {
            is_head
        };
        self.note_port(to, out);
        let start = self.book(to, cycle, crossed, (bytes, departs));
        if self.parameters.output_flits.is_some() {
            let queued = &mut self.ports[usize::from(to)].state.queued;
            while queued.front().is_some_and(|(_, leaves)| *leaves < cycle) {
                queued.pop_front();
            }
            queued.push_back((reached, start));
        }
        let wait = self.clock.end(start) - now;
        if departs && out.tracks_waits() {
            self.observe_departure((index, &held), (crossed, wait), out);
        }
        let flits = self.flits_of(&packet);
        let FlitPort {
            flit: on_link,
            to_host,
            whole_packets,
            pipeline,
            host_loop,
            state,
            ..
        } = &mut self.ports[usize::from(to)];
        // The rest of the last flit takes no credit, which would take it off the load.
        state.load = state.load.wrapping_sub(u64::from(flit - taken));
        if departs {
            state.requested = state.requested.wrapping_sub(1);
        }
        let (on_link, pipeline, to_host, to_whole) = (*on_link, *pipeline, *to_host, *whole_packets);
        if to_host {
            state.load = state.load.wrapping_sub(u64::from(flit));
            state.at_host.push_back((start + *host_loop, to_vc));
            if is_tail {
                out.depart(to, to_vc, packet.on_next_link(), wait, on_link);
            }
        } else if to_whole {
            if is_tail {
                let after = joined_after(pipeline, on_link, flits);
                out.depart_with_tail(to, to_vc, packet.on_next_link(), (wait, on_link), after);
            }
        } else if is_head {
            out.depart(to, to_vc, packet.on_next_link(), wait, on_link);
        } else {
            let body = BodyFlit {
                vc: to_vc,
                bytes: flit,
            };
            out.signal(to, body, wait + pipeline);
        }

        // The next packet of the input VC.
        if is_tail {
            self.pool.pop_front(&mut self.buffers[index]);
            out.note(|| FlitUndo::Popped(index as u32, Box::new(held)));
            self.inputs[index].stage = FlitStage::Idle;
            self.inputs[index].sent = 0;
            if !self.buffers[index].is_empty() {
                self.begin_packet(now, (index, step + 1, place), context, out);
            }
        }
        self.set_bits(index);
    }

    /// A head, or the tail for a host, leaves after `wait`; it has crossed by a cycle.
    fn observe_departure<O: RouterOutputs<FlitRouter>>(
        &self,
        (index, held): (usize, &BufferedPacket),
        (crossed, wait): (u64, Time),
        out: &mut O,
    ) {
        let InputVc { output, vc, .. } = self.inputs[index];
        let packet = held.packet.on_next_link();
        let port = &self.ports[usize::from(output)];
        let flits = u64::from(self.flits_of(&packet));
        let (on_link, before) = match self.sends_with_tail(output) {
            true => (port.flit.ps(), port.flit.ps() * (flits - 1)),
            false => (port.flit.ps() * flits, 0),
        };
        let crossing = CrossbarCrossing {
            server: output,
            job: packet.job,
            queue: index as u32,
            wait: Time::ZERO,
            span: Time(on_link),
        };
        let departure = CrossbarDeparture {
            server: output,
            output,
            vc,
            job: packet.job,
            queue: index as u32,
            arrived: held.arrived,
            first: held.first,
            ready: held.ready + Time(before),
            crossed: self.clock.end(crossed),
            wait,
            serialization: Time(on_link),
        };
        // It has waited for all copies of a VC, which are counted in one place.
        let class = self.classes.of_vc(vc);
        let counted = self.counted_at(output, class, self.classes.routing_vc(vc));
        let at = self.port_of(counted);
        out.observe(packet, at, CrossbarObservation::Crosses(crossing));
        out.observe(packet, at, CrossbarObservation::Departs(departure));
        out.observe(packet, at, CrossbarObservation::Reserved(wait));
    }

    /// Books the link for a flit that has crossed by a cycle. Returns the cycle in which it leaves.
    fn book(&mut self, port: u16, cycle: u64, crossed: u64, (bytes, departs): (u32, bool)) -> u64 {
        let now = self.clock.middle(cycle);
        let measured = self.measured;
        let clock = self.clock;
        let FlitPort {
            flit,
            flit_cycles,
            state,
            ..
        } = &mut self.ports[usize::from(port)];
        let start = crossed.max(state.link_free);
        state.link_free = start + *flit_cycles;
        while state
            .booked
            .front()
            .is_some_and(|booked| booked + 1 + *flit_cycles < cycle)
        {
            state.booked.pop_front();
        }
        state.booked.push_back(start);
        let begins = clock.end(start);
        if let Some(since) = state.blocked_since.take() {
            state.stalls.unblock(since, now.max(since), measured);
        }
        let stalls = &mut state.stalls;
        match departs {
            true => state.counters.depart(begins, *flit, bytes, measured, || stalls),
            false => state.counters.carry(begins, *flit, bytes, measured, || stalls),
        }
        start
    }

    /// Time after `time` for which the link of a port is booked.
    pub(super) fn to_come(&self, port: u16, time: Time) -> Time {
        let FlitPort { flit, state, .. } = &self.ports[usize::from(port)];
        let later = state.booked.iter().rev().map(|booked| {
            let begins = self.clock.end(*booked);
            (begins + *flit).saturating_sub(time.max(begins))
        });
        let later = later.take_while(|span| *span > Time::ZERO);
        later.fold(Time::ZERO, |all, span| all + span)
    }

    /// Counts the time during which an idle link had flits, but none with credits.
    pub(super) fn count_blocked<O: RouterOutputs<FlitRouter>>(
        &mut self,
        now: Time,
        work: &Work,
        out: &mut O,
    ) {
        for port in &work.lacking {
            let state = &self.ports[usize::from(*port)].state;
            if state.blocked_since.is_none() && !work.able.contains(port) {
                let free = self.clock.end(state.link_free);
                self.note_port(*port, out);
                self.ports[usize::from(*port)].state.blocked_since = Some(now.max(free));
            }
        }
    }
}
