//! VC allocation: a head asks for each VC of its output that no packet holds.
//!
//! Credits are not asked for. Requesters are input VCs, resources output VCs, in the order of ports, then VCs.

use super::super::RouterOutputs;
use super::{FREE, FlitRouter, FlitStage, PointersOf, Work};

impl FlitRouter {
    /// The VCs that the first packet of an input VC may get, as indices.
    fn asked_for(&self, index: usize) -> std::ops::Range<usize> {
        let input = self.inputs[index];
        let class = self.classes.of_vc(self.port_of(index).1);
        let vcs = match self.ports[usize::from(input.output)].to_host {
            true => self.classes.vcs_of(class),
            false => self.classes.copies_of(class, input.vc),
        };
        let first = self.index(input.output, vcs.start);
        first..first + vcs.len()
    }

    /// Heads get VCs.
    pub(super) fn allocate_vcs<O: RouterOutputs<FlitRouter>>(
        &mut self,
        (cycle, step): (u64, u64),
        work: &mut Work,
        out: &mut O,
    ) {
        work.requests.clear();
        for port in 0..self.ports.len() {
            let mut bits = self.allocating[port];
            while bits != 0 {
                let vc = bits.trailing_zeros();
                bits &= bits - 1;
                let index = self.index(port as u16, vc as u8);
                if self.inputs[index].ready > step {
                    work.again = true;
                    continue;
                }
                let to = self.inputs[index].output;
                if self.parameters.awaits_credits && self.ports[usize::from(to)].to_host {
                    // The credits of hosts come without an event.
                    self.take_host_credits(to, cycle, out);
                    work.again = true;
                }
                let free = self
                    .asked_for(index)
                    .filter(|output| self.outputs[*output].owner == FREE);
                work.requests
                    .extend(free.map(|output| (index as u32, output as u32)));
            }
        }
        if work.requests.is_empty() {
            return;
        }
        work.again = true;
        self.allocate(PointersOf::Vcs, work, out);
        for request in work.granted.drain(..) {
            let (input, output) = work.requests[request];
            let (index, output) = (input as usize, output as usize);
            self.note_output(output, out);
            self.outputs[output].owner = input;
            let vc = self.port_of(output).1;
            self.note_input(index, out);
            let of = &mut self.inputs[index];
            (of.stage, of.vc, of.ready) = (FlitStage::SwitchAllocation, vc, step + 1);
            self.set_bits(index);
        }
    }
}
