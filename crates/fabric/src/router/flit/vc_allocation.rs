//! VC allocation: a head asks for each VC of its output that no packet holds.
//!
//! Credits are not asked for, unless parameters say so. Requesters are input VCs, resources output VCs, in the order of
//! ports, then VCs; requesters also in that of VCs, then ports.

use std::ops::Range;

use super::super::RouterOutputs;
use super::{
    FREE, FlitRouter, FlitStage, FlitUndo, InputVc, PointersOf, Speculation, SpeculationNeeds, Work,
    first_turn,
};
use crate::Packet;

/// Of some VCs, those of one of so many outputs: as many for each output, the rest of the division for none. All of
/// them, if there are fewer than outputs.
pub(crate) fn vcs_by_output(vcs: Range<u8>, (output, outputs): (u16, u16)) -> Range<u8> {
    match vcs.len() as u16 / outputs.max(1) {
        0 => vcs,
        each => {
            let first = vcs.start + (output.min(outputs - 1) * each) as u8;
            first..first + each as u8
        }
    }
}

impl FlitRouter {
    /// The VCs that a packet of an input VC may get at an output, of which it takes a VC of routing.
    pub(super) fn allowed_vcs<O: RouterOutputs<FlitRouter>>(
        &self,
        (input, input_vc): (u16, u8),
        (output, routing_vc): (u16, u8),
        packet: &Packet,
        out: &O,
    ) -> Range<u8> {
        let class = self.classes.of_vc(input_vc);
        let to_host = self.ports[usize::from(output)].to_host;
        let vcs = match to_host {
            true => self.classes.vcs_of(class),
            false => self.classes.copies_of(class, routing_vc),
        };
        if !self.parameters.vcs_by_next_output {
            return vcs;
        }
        let next = match to_host {
            // As in BookSim, the output here stands for the next one, if the packet comes from a router.
            true if self.ports[usize::from(input)].to_host => None,
            true => Some((output, self.ports.len() as u16)),
            false => out.output_ahead(output, routing_vc, packet),
        };
        next.map_or(vcs.clone(), |next| vcs_by_output(vcs, next))
    }

    /// The VCs that the first packet of an input VC may get, as indices.
    fn asked_for(&self, index: usize) -> Range<usize> {
        let InputVc {
            output,
            first_vc,
            vcs,
            ..
        } = self.inputs[index];
        let first = self.index(output, first_vc);
        first..first + usize::from(vcs)
    }

    /// The number of an input VC among the requesters.
    #[inline]
    fn requester(&self, index: usize) -> u32 {
        match self.parameters.requesters_by_vc {
            false => index as u32,
            true => {
                let (port, vc) = self.port_of(index);
                u32::from(vc) * self.ports.len() as u32 + u32::from(port)
            }
        }
    }

    /// The input VC of a requester.
    #[inline]
    fn requesting(&self, requester: u32) -> usize {
        match self.parameters.requesters_by_vc {
            false => requester as usize,
            true => {
                let ports = self.ports.len() as u32;
                self.index((requester % ports) as u16, (requester / ports) as u8)
            }
        }
    }

    /// Whether a head without a VC may ask for the crossbar. Its flit is missing only in a timeline that is undone
    /// later.
    fn may_speculate<O: RouterOutputs<FlitRouter>>(&mut self, index: usize, cycle: u64, out: &mut O) -> bool {
        let InputVc {
            output: to, flits, ..
        } = self.inputs[index];
        if flits == 0 {
            return false;
        }
        if self.ports[usize::from(to)].to_host {
            self.take_host_credits(to, cycle, out);
        }
        let mut free = self
            .asked_for(index)
            .filter(|output| self.outputs[*output].owner == FREE);
        match self.parameters.speculation_needs {
            SpeculationNeeds::Nothing => true,
            SpeculationNeeds::Free => free.next().is_some(),
            SpeculationNeeds::Credit => free.any(|output| self.room(output) >= self.parameters.flit),
        }
    }

    /// A head without a VC has won the crossbar. Whether it may pass: it got a VC in this step, or gets one now, with a
    /// credit.
    pub(super) fn has_speculated_well<O: RouterOutputs<FlitRouter>>(
        &mut self,
        index: usize,
        step: u64,
        out: &mut O,
    ) -> bool {
        if self.parameters.vcs_with_switch {
            return self.take_vc(index, step, out);
        }
        let InputVc {
            output, vc, stage, ..
        } = self.inputs[index];
        stage == FlitStage::SwitchAllocation && self.has_credits(index, self.index(output, vc))
    }

    /// Takes a free VC with a credit, the first one from the pointer of the output on.
    fn take_vc<O: RouterOutputs<FlitRouter>>(&mut self, index: usize, step: u64, out: &mut O) -> bool {
        let to = self.inputs[index].output;
        let place = self.place_of(PointersOf::Outputs).0 + usize::from(to);
        let first = self.pointers[place] as u8;
        let range = self.asked_for(index);
        let mut all =
            (0..self.vcs).map(|by| ((u16::from(first) + u16::from(by)) % u16::from(self.vcs)) as u8);
        let found = all.find(|vc| {
            let output = self.index(to, *vc);
            let is_free = range.contains(&output) && self.outputs[output].owner == FREE;
            is_free && self.has_credits(index, output)
        });
        let Some(vc) = found else {
            return false;
        };
        let before = std::mem::replace(&mut self.pointers[place], u32::from((vc + 1) % self.vcs));
        out.note(|| FlitUndo::Pointer(place as u32, before));
        let output = self.index(to, vc);
        self.note_output(output, out);
        self.outputs[output].owner = index as u32;
        self.note_input(index, out);
        let of = &mut self.inputs[index];
        (of.stage, of.vc, of.ready) = (FlitStage::SwitchAllocation, vc, step + 1);
        true
    }

    /// Takes back requests of an input VC for VCs without a credit, and ranks the others. Those from a place on are its
    /// requests.
    fn look_at_credits(&self, (index, place): (usize, usize), work: &mut Work) {
        if self.parameters.asks_with_credit {
            let mut kept = place;
            for request in place..work.requests.len() {
                let (_, output) = work.requests[request];
                if self.room(output as usize) >= self.parameters.flit {
                    work.requests[kept] = work.requests[request];
                    kept += 1;
                }
            }
            // It asks again when there are credits.
            work.again |= kept < work.requests.len();
            work.requests.truncate(kept);
        }
        if self.parameters.prefers_empty || self.parameters.oldest_first {
            let age = self.age(index);
            for (_, output) in &work.requests[place..] {
                let far = self.ports[usize::from(self.port_of(*output as usize).0)].far;
                let is_used = self.outputs[*output as usize].credits < far;
                work.ranks
                    .push([u64::from(self.parameters.prefers_empty && is_used), age]);
            }
        }
    }

    /// The cycle in which the first packet of an input VC was created, if older packets go first.
    pub(super) fn age(&self, index: usize) -> u64 {
        let first = self.pool.front(self.buffers[index]);
        let age = first.map(|held| held.packet.created_at().ps() / self.clock.cycle().ps());
        age.filter(|_| self.parameters.oldest_first).unwrap_or(0)
    }

    /// Heads get VCs.
    pub(super) fn allocate_vcs<O: RouterOutputs<FlitRouter>>(
        &mut self,
        (cycle, step): (u64, u64),
        work: &mut Work,
        out: &mut O,
    ) {
        work.requests.clear();
        work.ranks.clear();
        work.has_waiting = false;
        let speculates = self.parameters.speculation != Speculation::None;
        if speculates {
            work.early.clear();
            work.early.resize(self.ports.len(), 0);
        }
        for port in 0..self.ports.len() {
            let mut bits = self.waiting[port].allocating;
            while bits != 0 {
                let vc = bits.trailing_zeros();
                bits &= bits - 1;
                let index = self.index(port as u16, vc as u8);
                if self.inputs[index].ready > step {
                    work.again = true;
                    continue;
                }
                work.has_waiting = true;
                let to = self.inputs[index].output;
                let sees_credits = self.parameters.asks_with_credit || self.parameters.prefers_empty;
                if (self.parameters.awaits_credits || sees_credits) && self.ports[usize::from(to)].to_host {
                    // The credits of hosts come without an event.
                    self.take_host_credits(to, cycle, out);
                    work.again = true;
                }
                if speculates && self.may_speculate(index, cycle, out) {
                    work.early[port] |= 1 << vc;
                    work.again = true;
                }
                if self.parameters.vcs_with_switch {
                    // It asks again when there are credits.
                    work.again = true;
                    continue;
                }
                let free = self
                    .asked_for(index)
                    .filter(|output| self.outputs[*output].owner == FREE);
                let before = work.requests.len();
                let requester = self.requester(index);
                work.requests
                    .extend(free.map(|output| (requester, output as u32)));
                if sees_credits || self.parameters.oldest_first {
                    self.look_at_credits((index, before), work);
                }
            }
        }
        if work.requests.is_empty() && !self.turns(work) {
            return;
        }
        work.again = true;
        self.allocate(PointersOf::Vcs, work, out);
        self.in_turn(&mut work.granted, |request| {
            self.requesting(work.requests[request].0)
        });
        for (place, request) in (0..).zip(work.granted.drain(..)) {
            let (input, output) = work.requests[request];
            let (index, output) = (self.requesting(input), output as usize);
            self.note_output(output, out);
            self.outputs[output].owner = index as u32;
            let vc = self.port_of(output).1;
            self.note_input(index, out);
            let of = &mut self.inputs[index];
            of.turn = first_turn(step, place);
            (of.stage, of.vc, of.ready) = (FlitStage::SwitchAllocation, vc, step + 1);
            self.set_bits(index);
        }
    }
}
