//! Switch allocation: each flit at the front of an input VC asks for the crossbar, if there is a credit for it.
//!
//! Of the VCs of an input port that ask for one output, only the first one from a pointer on stands. Then the allocator
//! matches input ports with output ports. The pointer of an input moves past a VC that wins.

use des::Time;

use super::super::{RouterOutputs, RoutingContext};
use super::{FlitRouter, PointersOf, Work};
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
        let first_pointer = self.place_of(PointersOf::Inputs).0;
        for port in 0..self.ports.len() {
            let all = self.sending[port];
            if all == 0 {
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
            work.again |= self.sending[port as usize] | self.allocating[port as usize] != 0;
        }
        // A VC that a tail has left may be asked for in the next step.
        if !granted.is_empty() {
            work.again |= self.allocating.iter().any(|bits| *bits != 0);
        }
        work.granted = granted;
    }
}
