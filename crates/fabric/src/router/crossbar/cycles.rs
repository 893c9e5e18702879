//! The crossbar router with the other arbiters: the crossbar has cycles, and a link takes a packet when it is idle.

use des::Time;
use routing::Random;

use super::super::{Arbiter, RouterOutputs, RoutingContext};
use super::{CrossbarOutput, CrossbarPacket, CrossbarRouter, CrossbarTimer, CrossbarUndo, LeavingPacket};
use crate::waits::{CrossbarCrossing, CrossbarObservation};

impl CrossbarRouter {
    pub(super) fn set_clock<J: des::Journal<CrossbarUndo>>(
        &mut self,
        clock: usize,
        time: Time,
        journal: &mut J,
    ) {
        let before = std::mem::replace(&mut self.clocks[clock], time);
        journal.note(|| CrossbarUndo::Clock(clock as u32, before));
    }

    /// The first turns of the arbiter. Least recently used: by input queue the number of its last win, then the number
    /// of wins. iSLIP: by output the preferred input, by input the preferred output, then by input the preferred VC.
    /// Round robin: by output port and VC the preferred input queue, then by output the preferred VC. Rotating: by
    /// input the preferred VC.
    pub(super) fn turns(arbiter: Arbiter, (ports, queues): (usize, usize), vcs: u8) -> Vec<u64> {
        match arbiter {
            Arbiter::LeastRecentlyUsed => (0..=queues as u64).collect(),
            Arbiter::Islip => vec![0; 3 * ports],
            Arbiter::RoundRobin => vec![0; ports * usize::from(vcs) + ports],
            Arbiter::Rotating => vec![0; ports],
            Arbiter::Age | Arbiter::Random | Arbiter::FirstCome => Vec::new(),
        }
    }

    fn set_turn<J: des::Journal<CrossbarUndo>>(&mut self, turn: usize, value: u64, journal: &mut J) {
        let before = std::mem::replace(&mut self.turns[turn], value);
        journal.note(|| CrossbarUndo::Turn(turn as u32, before));
    }

    /// Whether the link of an output is idle, and takes the packet that has just crossed after a flit: no other packet
    /// can cross to this output before that.
    pub(super) fn is_next(&self, now: Time, output: u16) -> bool {
        let CrossbarOutput { rate, state, .. } = &self.outputs[usize::from(output)];
        let start = now + rate.serialization(self.parameters.flit);
        state.queued == 0
            && state.free < now
            && self.clocks[self.link_clock(output)] == Time::MAX
            && self.clocks[self.output_clock(output)] >= start
    }

    /// A packet that has just crossed starts onto its idle link after a flit.
    pub(super) fn send_next<O: RouterOutputs<CrossbarRouter>>(
        &mut self,
        now: Time,
        held: CrossbarPacket,
        out: &mut O,
    ) {
        let (output, vc, bytes) = (held.output, held.output_vc, held.packet.bytes);
        self.note_output(output, out);
        let CrossbarOutput { rate, state, .. } = &mut self.outputs[usize::from(output)];
        state.last_vc = vc;
        let start = now + rate.serialization(self.parameters.flit);
        let time = rate.serialization(bytes);
        self.send(now, held, start, time, out);
        let index = self.index(output, vc);
        self.buffers[index]
            .leaving
            .push_back(LeavingPacket { at: start, bytes });
        out.note(|| CrossbarUndo::Leaves(index as u32));
    }

    /// The first packet of an input queue, if there is one, begins to wait for its output. In the queue of a VC it is
    /// routed now.
    pub(super) fn begin_first<O: RouterOutputs<CrossbarRouter>>(
        &mut self,
        now: Time,
        queue: usize,
        context: &RoutingContext<'_>,
        out: &mut O,
    ) {
        let Some(mut held) = self.first(queue).copied() else {
            return;
        };
        let before = held.packet.route;
        out.note(|| CrossbarUndo::Ready(queue as u32, held.ready, held.first));
        if !self.parameters.queue_per_output {
            self.route(now, &mut held, context, out);
            held.first = now;
        }
        let output = &self.outputs[usize::from(held.output)];
        let on_link = output.rate.serialization(held.packet.bytes);
        // With cut-through no byte leaves before it has come.
        let guard = held.arrived + held.incoming.saturating_sub(on_link);
        let complete = held.arrived + held.incoming;
        held.ready = now.max(if self.parameters.stores { complete } else { guard });
        if let Some(first) = self.first_mut(queue) {
            *first = held;
        }
        if !self.parameters.queue_per_output {
            out.note(|| CrossbarUndo::Routed(queue as u32, before));
        }
        let free = self.clocks[self.input_clock(held.input)].max(self.clocks[self.output_clock(held.output)]);
        self.await_cycle(now, self.cycle_after(held.ready).max(free), out);
    }

    /// The first cycle after a time.
    fn cycle_after(&self, time: Time) -> Time {
        Time((time.ps() / self.cycle.ps() + 1) * self.cycle.ps())
    }

    /// A packet may cross in a cycle.
    fn await_cycle<O: RouterOutputs<CrossbarRouter>>(&mut self, now: Time, cycle: Time, out: &mut O) {
        let clock = self.cycle_clock();
        if cycle < self.clocks[clock] {
            self.set_clock(clock, cycle, out);
            out.timer(CrossbarTimer::Cycle, cycle - now);
        }
    }

    /// Free bytes of an output buffer.
    fn space(&self, now: Time, index: usize) -> u32 {
        let buffer = &self.buffers[index];
        let left = buffer.leaving.iter().take_while(|leaving| leaving.at <= now);
        left.fold(buffer.numbers.space, |space, left| space.wrapping_add(left.bytes))
    }

    /// Adds the input queues with a packet that can cross now.
    fn find_able(&self, now: Time, able: &mut Vec<usize>) {
        for (index, word) in self.requests.iter().enumerate() {
            let mut bits = *word;
            while bits != 0 {
                let queue = index * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                if self.can_cross(now, queue) {
                    able.push(queue);
                }
            }
        }
    }

    fn can_cross(&self, now: Time, queue: usize) -> bool {
        let Some(held) = self.first(queue) else {
            return false;
        };
        held.ready < now
            && self.clocks[self.input_clock(held.input)] <= now
            && self.clocks[self.output_clock(held.output)] <= now
            && self.space(now, self.index(held.output, held.output_vc)) >= held.packet.bytes
    }

    /// A cycle of the crossbar begins.
    pub(super) fn run_cycle<O: RouterOutputs<CrossbarRouter>>(
        &mut self,
        now: Time,
        context: &RoutingContext<'_>,
        out: &mut O,
    ) {
        let clock = self.cycle_clock();
        if self.clocks[clock] != now {
            return;
        }
        self.set_clock(clock, Time::MAX, out);
        let mut able = std::mem::take(&mut self.able);
        self.find_able(now, &mut able);
        if self.parameters.arbiter == Arbiter::Islip {
            self.match_islip(now, &able, context, out);
        } else {
            self.order(now, &mut able, out);
            able.retain(|queue| {
                let wins = self.can_cross(now, *queue);
                if wins {
                    self.grant(now, *queue, context, out);
                }
                wins
            });
            self.won(&able, out);
        }
        able.clear();
        self.able = able;
        self.await_others(now, out);
    }

    /// The next cycle in which one of the packets that have not crossed may cross. Those without space wait for it.
    fn await_others<O: RouterOutputs<CrossbarRouter>>(&mut self, now: Time, out: &mut O) {
        let (mut next, from_now) = (Time::MAX, self.cycle_after(now));
        if self.clocks[self.cycle_clock()] <= from_now {
            return;
        }
        for (index, word) in self.requests.iter().enumerate() {
            let mut bits = *word;
            while bits != 0 {
                let queue = index * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let Some(held) = self.first(queue) else {
                    continue;
                };
                let mut ready = held.ready;
                let index = self.index(held.output, held.output_vc);
                if self.space(now, index) < held.packet.bytes {
                    let mut leaving = self.buffers[index].leaving.iter();
                    match leaving.find(|leaving| leaving.at > now) {
                        Some(leaving) => ready = ready.max(leaving.at),
                        None => continue,
                    }
                }
                let cycle = match ready <= now {
                    true => from_now,
                    false => self.cycle_after(ready),
                };
                let input = self.clocks[self.input_clock(held.input)];
                let output = self.clocks[self.output_clock(held.output)];
                next = next.min(cycle.max(input).max(output));
            }
        }
        if next < Time::MAX {
            self.await_cycle(now, next, out);
        }
    }

    /// Sorts the queues as the arbiter asks them.
    fn order<O: RouterOutputs<CrossbarRouter>>(&self, now: Time, able: &mut [usize], out: &mut O) {
        if able.len() < 2 {
            return;
        }
        let vcs = usize::from(self.vcs);
        match self.parameters.arbiter {
            Arbiter::LeastRecentlyUsed => able.sort_unstable_by_key(|queue| self.turns[*queue]),
            Arbiter::Age => able.sort_unstable_by_key(|queue| {
                let created = self.first(*queue).map(|held| held.packet.created_at());
                (created, *queue)
            }),
            Arbiter::Random => {
                for last in (1..able.len()).rev() {
                    let other = out.random().below(last as u32 + 1) as usize;
                    able.swap(last, other);
                }
            }
            Arbiter::Rotating => {
                // In each cycle another input is asked first, whether a packet waits there or not.
                let ports = self.outputs.len();
                let cycles = now.ps() / self.cycle.ps();
                let first = (cycles.wrapping_sub(1) % ports as u64) as usize;
                able.sort_unstable_by_key(|queue| {
                    let (input, vc) = self.input_of(*queue);
                    let preferred = self.turns[input] as usize;
                    ((input + ports - first) % ports, (vc + vcs - preferred) % vcs)
                });
            }
            _ => {
                // For each output the VC after the one that has won last, and for each VC the queue after the one that
                // has won last: packets of one VC take no turns of those of another. Another output is first in each
                // cycle.
                let (ports, queues) = (self.outputs.len(), self.queues());
                let first = (now.ps() / self.cycle.ps() % ports as u64) as usize;
                able.sort_unstable_by_key(|queue| {
                    let of = self.first(*queue);
                    let (output, vc) = of.map_or((0, 0), |held| {
                        (usize::from(held.output), usize::from(held.output_vc))
                    });
                    let preferred = self.turns[output * vcs + vc] as usize;
                    let preferred_vc = self.turns[ports * vcs + output] as usize;
                    (
                        (output + ports - first) % ports,
                        (vc + vcs - preferred_vc) % vcs,
                        (queue + queues - preferred) % queues,
                    )
                });
            }
        }
    }

    /// The turns after a cycle, of the queues in the order in which they won.
    fn won<O: RouterOutputs<CrossbarRouter>>(&mut self, winners: &[usize], out: &mut O) {
        match self.parameters.arbiter {
            Arbiter::LeastRecentlyUsed => {
                let count = self.turns.len() - 1;
                // As in hr_router, of the winners of one cycle the first becomes the very last.
                for queue in winners.iter().rev() {
                    let wins = self.turns[count];
                    self.set_turn(*queue, wins, out);
                    self.set_turn(count, wins + 1, out);
                }
            }
            Arbiter::Rotating => {
                for queue in winners {
                    let (input, vc) = self.input_of(*queue);
                    let next = (vc as u64 + 1) % u64::from(self.vcs);
                    self.set_turn(input, next, out);
                }
            }
            _ => {}
        }
    }

    /// iSLIP: in each iteration each idle output grants one input, each idle input accepts one output. The preferences
    /// change where a grant of the first iteration was accepted.
    fn match_islip<O: RouterOutputs<CrossbarRouter>>(
        &mut self,
        now: Time,
        able: &[usize],
        context: &RoutingContext<'_>,
        out: &mut O,
    ) {
        let (ports, vcs) = (self.outputs.len(), usize::from(self.vcs));
        for iteration in 0..self.parameters.iterations {
            // By output the granted input.
            let mut granted: Vec<Option<usize>> = vec![None; ports];
            let distance = |from: usize, to: u64| (from + ports - to as usize) % ports;
            let open: Vec<usize> = able
                .iter()
                .copied()
                .filter(|queue| self.can_cross(now, *queue))
                .collect();
            for queue in &open {
                let Some(held) = self.first(*queue) else {
                    continue;
                };
                let (input, output) = (usize::from(held.input), usize::from(held.output));
                let preferred = self.turns[output];
                let best = &mut granted[output];
                if best.is_none_or(|best| distance(input, preferred) < distance(best, preferred)) {
                    *best = Some(input);
                }
            }
            // By input the accepted output.
            let mut accepted: Vec<Option<usize>> = vec![None; ports];
            for (output, input) in granted.iter().enumerate() {
                let Some(input) = *input else {
                    continue;
                };
                let preferred = self.turns[ports + input];
                let best = &mut accepted[input];
                if best.is_none_or(|best| distance(output, preferred) < distance(best, preferred)) {
                    *best = Some(output);
                }
            }
            let mut any = false;
            for (input, output) in accepted.into_iter().enumerate() {
                let Some(output) = output else {
                    continue;
                };
                // Of several VCs of the input, the preferred one.
                let preferred = self.turns[2 * ports + input] as usize;
                let of_pair = open.iter().copied().filter(|queue| {
                    let ports = |held: &CrossbarPacket| (usize::from(held.input), usize::from(held.output));
                    self.first(*queue).map(ports) == Some((input, output))
                });
                let vc = |queue: &usize| self.input_of(*queue).1;
                let Some(queue) = of_pair.min_by_key(|queue| (vc(queue) + vcs - preferred) % vcs) else {
                    continue;
                };
                self.grant(now, queue, context, out);
                any = true;
                if iteration == 0 {
                    self.set_turn(output, ((input + 1) % ports) as u64, out);
                    self.set_turn(ports + input, ((output + 1) % ports) as u64, out);
                    self.set_turn(
                        2 * ports + input,
                        ((self.input_of(queue).1 + 1) % vcs) as u64,
                        out,
                    );
                }
            }
            if !any {
                break;
            }
        }
    }

    /// The first packet of an input queue crosses.
    fn grant<O: RouterOutputs<CrossbarRouter>>(
        &mut self,
        now: Time,
        queue: usize,
        context: &RoutingContext<'_>,
        out: &mut O,
    ) {
        let Some(mut held) = self.pop(queue, out) else {
            return;
        };
        let bytes = held.packet.bytes;
        let index = self.index(held.output, held.output_vc);
        self.forget_left(now, index, out);
        self.note_buffer(index, out);
        let space = &mut self.buffers[index].numbers.space;
        *space = space.wrapping_sub(bytes);
        let flits = u64::from(bytes.div_ceil(self.parameters.flit));
        let span = Time(flits * self.cycle.ps());
        self.set_clock(self.input_clock(held.input), now + span, out);
        self.set_clock(self.output_clock(held.output), now + span, out);
        if out.tracks_waits() {
            let crossing = CrossbarCrossing {
                server: held.output,
                job: held.packet.job,
                queue: self.index(held.input, held.input_vc) as u32,
                wait: Time::ZERO,
                span,
            };
            let output = (held.output, held.output_vc);
            out.observe(held.packet, output, CrossbarObservation::Crosses(crossing));
        }
        if self.parameters.arbiter == Arbiter::RoundRobin {
            let (buffers, queues) = (self.buffers.len(), self.queues());
            self.set_turn(index, ((queue + 1) % queues) as u64, out);
            let next_vc = (held.output_vc + 1) % self.vcs;
            self.set_turn(buffers + usize::from(held.output), next_vc.into(), out);
        }
        let crossed = now + if self.parameters.stores { span } else { Time::ZERO };
        out.credit(held.input, held.input_vc, bytes, crossed - now);
        // The first cycle in which it could have crossed.
        held.ready = self.cycle_after(held.ready).min(now);
        self.begin_first(now, queue, context, out);
        held.crossed = crossed;
        if crossed == now {
            self.reach_output(now, held, out);
        } else {
            let server = held.output;
            self.push(self.crossing_list(server), held, out);
            out.timer(CrossbarTimer::Crossed { server }, crossed - now);
        }
    }

    /// A packet has entered an output buffer, or its link has a credit: the link takes a packet when it is idle.
    pub(super) fn await_link<O: RouterOutputs<CrossbarRouter>>(
        &mut self,
        now: Time,
        output: u16,
        out: &mut O,
    ) {
        let clock = self.link_clock(output);
        if self.clocks[clock] != Time::MAX || self.outputs[usize::from(output)].state.queued == 0 {
            return;
        }
        let (next, lacks_credits) = self.next_vc(output);
        if lacks_credits {
            out.lacks_credits();
        }
        self.set_blocked(now, output, next.is_none(), out);
        if next.is_none() {
            return;
        }
        let CrossbarOutput { rate, state, .. } = &self.outputs[usize::from(output)];
        let at = match now <= state.free {
            true => state.free,
            false => now + rate.serialization(self.parameters.flit),
        };
        self.set_clock(clock, at, out);
        match at == now {
            true => self.serve_link(now, output, out),
            false => out.timer(CrossbarTimer::Link { output }, at - now),
        }
    }

    /// The VC that a link serves next: the first after the last one with a packet that has credits. And whether a
    /// packet lacks them.
    pub(super) fn next_vc(&self, output: u16) -> (Option<u8>, bool) {
        let last = self.outputs[usize::from(output)].state.last_vc;
        let mut lacks_credits = false;
        for vc in (last + 1..self.vcs).chain(0..=last) {
            let index = self.index(output, vc);
            if let Some(held) = self.first(self.output_list(index)) {
                if self.has_credits(index, held) {
                    return (Some(vc), lacks_credits);
                }
                lacks_credits = true;
            }
        }
        (None, lacks_credits)
    }

    /// A link takes a packet.
    pub(super) fn serve_link<O: RouterOutputs<CrossbarRouter>>(
        &mut self,
        now: Time,
        output: u16,
        out: &mut O,
    ) {
        let clock = self.link_clock(output);
        if self.clocks[clock] != now {
            return;
        }
        self.set_clock(clock, Time::MAX, out);
        let (next, lacks_credits) = self.next_vc(output);
        if lacks_credits {
            out.lacks_credits();
        }
        if let Some(vc) = next
            && let index = self.index(output, vc)
            && let Some(held) = self.pop(self.output_list(index), out)
        {
            self.note_output(output, out);
            let CrossbarOutput { rate, state, .. } = &mut self.outputs[usize::from(output)];
            state.last_vc = vc;
            state.queued = state.queued.wrapping_sub(1);
            let bytes = held.packet.bytes;
            let time = rate.serialization(bytes);
            self.send(now, held, now, time, out);
            self.note_buffer(index, out);
            let space = &mut self.buffers[index].numbers.space;
            *space = space.wrapping_add(bytes);
            // A packet that waits for this space may cross in the next cycle.
            self.await_others(now, out);
            self.await_link(now, output, out);
        } else {
            self.set_blocked(now, output, lacks_credits, out);
        }
    }
}
