//! Switch allocation: each flit at the front of an input VC asks for the crossbar, if there is a credit for it.
//!
//! With allocation per packet, the VC that has won holds the crossbar for the next flits of its packet.
//!
//! Of the VCs of an input port that ask for one output, only the first one from a pointer on stands. Then the allocator
//! matches input ports with output ports. The pointer of an input moves past a VC that wins.

use des::Time;

use super::super::{RouterOutputs, RoutingContext};
use super::{FlitRouter, FlitStage, InputVc, PointersOf, Work};
use crate::capabilities::Switching;

impl FlitRouter {
    /// Whether the next flit of an input VC, which has a VC of its output, has credits.
    fn has_credits(&self, index: usize, output: usize) -> bool {
        let (flit, credits) = (self.parameters.flit, self.outputs[output].credits);
        let needed = match self.parameters.switching {
            Switching::CutThrough if self.inputs[index].sent == 0 => {
                let first = self.pool.front(self.buffers[index]);
                first.map_or(flit, |held| self.whole_flits(&held.packet))
            }
            _ => flit,
        };
        credits >= needed
    }

    /// A VC of which a flit has just left holds the crossbar for the next one, if that is of the same packet and here.
    /// Its state has been noted.
    fn hold_crossbar(&mut self, index: usize) {
        let input = &mut self.inputs[index];
        let has_next = input.stage == FlitStage::SwitchAllocation && input.sent > 0 && input.flits > 0;
        let holds = self.parameters.holds_crossbar && has_next;
        if input.holds != holds {
            input.holds = holds;
            self.set_bits(index);
        }
    }

    /// The next flits of VCs that hold the crossbar leave. Without a credit a VC gives it up, and asks from the next
    /// step on. Nothing else may ask for what was held when the step began.
    fn send_over_held_crossbar<O: RouterOutputs<FlitRouter>>(
        &mut self,
        (now, cycle, step): (Time, u64, u64),
        work: &mut Work,
        context: &RoutingContext<'_>,
        out: &mut O,
    ) {
        work.held_inputs.clear();
        work.held_outputs.clear();
        for port in 0..self.ports.len() {
            let mut bits = self.holding[port];
            while bits != 0 {
                let vc = bits.trailing_zeros() as u8;
                bits &= bits - 1;
                let index = self.index(port as u16, vc);
                let InputVc {
                    output, vc: to_vc, ..
                } = self.inputs[index];
                work.held_inputs.push(port as u32);
                work.held_outputs.push(u32::from(output));
                work.again = true;
                if self.ports[usize::from(output)].to_host {
                    self.take_host_credits(output, cycle, out);
                }
                if self.has_credits(index, self.index(output, to_vc)) {
                    work.able.push(output);
                    self.send_flit((now, cycle, step), index, context, out);
                    self.hold_crossbar(index);
                } else {
                    work.lacking.push(output);
                    self.note_input(index, out);
                    self.inputs[index].holds = false;
                    self.set_bits(index);
                }
            }
        }
    }

    /// Flits get the crossbar and leave.
    pub(super) fn allocate_switch<O: RouterOutputs<FlitRouter>>(
        &mut self,
        (now, cycle, step): (Time, u64, u64),
        work: &mut Work,
        context: &RoutingContext<'_>,
        out: &mut O,
    ) {
        work.requests.clear();
        work.stands_for.clear();
        if self.parameters.holds_crossbar {
            self.send_over_held_crossbar((now, cycle, step), work, context, out);
        }
        let first_pointer = self.place_of(PointersOf::Inputs).0;
        for port in 0..self.ports.len() {
            let all = self.sending[port];
            if all == 0 {
                continue;
            }
            if work.held_inputs.contains(&(port as u32)) {
                work.again = true;
                continue;
            }
            let preferred = self.pointers[first_pointer + port];
            let later = all & (u64::MAX << preferred);
            let of_port = work.requests.len();
            for mut bits in [later, all & !later] {
                while bits != 0 {
                    let vc = bits.trailing_zeros() as u8;
                    bits &= bits - 1;
                    let index = self.index(port as u16, vc);
                    let input = self.inputs[index];
                    if input.ready > step {
                        work.again = true;
                        continue;
                    }
                    let to = &self.ports[usize::from(input.output)];
                    if to.to_host {
                        self.take_host_credits(input.output, cycle, out);
                    }
                    if !self.has_credits(index, self.index(input.output, input.vc)) {
                        // The credits of hosts come without an event.
                        work.again |= self.ports[usize::from(input.output)].to_host;
                        work.lacking.push(input.output);
                        continue;
                    }
                    work.able.push(input.output);
                    let request = (port as u32, u32::from(input.output));
                    if work.held_outputs.contains(&request.1) {
                        work.again = true;
                        continue;
                    }
                    if work.requests[of_port..].contains(&request) {
                        work.again = true;
                        continue;
                    }
                    work.requests.push(request);
                    work.stands_for.push(vc);
                }
            }
        }
        self.allocate(PointersOf::Switch, work, out);
        work.again |= work.granted.len() < work.requests.len();
        let granted = std::mem::take(&mut work.granted);
        for request in &granted {
            let (port, vc) = (work.requests[*request].0, work.stands_for[*request]);
            let place = first_pointer + port as usize;
            let next = (u32::from(vc) + 1) % u32::from(self.vcs);
            let before = std::mem::replace(&mut self.pointers[place], next);
            out.note(|| super::FlitUndo::Pointer(place as u32, before));
            let index = self.index(port as u16, vc);
            self.send_flit((now, cycle, step), index, context, out);
            self.hold_crossbar(index);
            work.again |= self.sending[port as usize] | self.allocating[port as usize] != 0;
        }
        // A VC that a tail has left may be asked for in the next step.
        if !granted.is_empty() {
            work.again |= self.allocating.iter().any(|bits| *bits != 0);
        }
        work.granted = granted;
    }
}
