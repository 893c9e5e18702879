//! Switch allocation: each flit at the front of an input VC asks for the crossbar, if there is a credit for it.
//!
//! With allocation per packet, the VC that has won holds the crossbar for the next flits of its packet.
//!
//! With speculation, a head asks for the crossbar in the step in which it asks for a VC, after or beside the others.
//! What it has won counts only if it has got a VC with a credit, too.
//!
//! With speedups of inputs and outputs, a port has several inputs or outputs of the crossbar: its VCs are dealt out to
//! the inputs, and the input ports to the outputs.
//!
//! Of the VCs of an input that ask for one output, only the first one from a pointer on stands, or the oldest. Then the
//! allocator matches inputs with outputs of the crossbar. The pointer of an input moves past a VC that wins.

use des::Time;

use super::super::{RouterOutputs, RoutingContext};
use super::{FROM_LINK, FlitRouter, FlitStage, InputVc, PointersOf, Speculation, Work, first_turn};
use crate::capabilities::Switching;

impl FlitRouter {
    /// Whether the next flit of an input VC, which has a VC of its output, has credits.
    pub(super) fn has_credits(&self, index: usize, output: usize) -> bool {
        let flit = self.parameters.flit;
        let needed = match self.parameters.switching {
            Switching::CutThrough if self.inputs[index].sent == 0 => {
                let first = self.pool.front(self.buffers[index]);
                first.map_or(flit, |held| self.whole_flits(&held.packet))
            }
            _ => flit,
        };
        self.room(output) >= needed
    }

    /// The output of the crossbar through which an input port reaches an output port.
    #[inline]
    fn crossbar_output(&self, input: u16, output: u16) -> u32 {
        let lanes = u32::from(self.parameters.output_speedup);
        u32::from(output) * lanes + u32::from(input) % lanes
    }

    /// Whether the queue before a link, without the flits that pass the crossbar, has space in a step.
    #[inline]
    fn has_space(&self, output: u16, (cycle, step): (u64, u64)) -> bool {
        let Some(most) = self.parameters.output_flits else {
            return true;
        };
        let queued = self.ports[usize::from(output)].state.queued.iter();
        let waits = |(reached, leaves): &&(u64, u64)| *reached < step && *leaves >= cycle;
        queued.filter(waits).count() < most as usize
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
            let mut bits = self.waiting[port].holding;
            while bits != 0 {
                let vc = bits.trailing_zeros() as u8;
                bits &= bits - 1;
                let index = self.index(port as u16, vc);
                let InputVc {
                    output, vc: to_vc, ..
                } = self.inputs[index];
                let lanes = u32::from(self.parameters.input_speedup);
                work.held_inputs.push(port as u32 * lanes + u32::from(vc) % lanes);
                work.held_outputs.push(self.crossbar_output(port as u16, output));
                work.again = true;
                if self.ports[usize::from(output)].to_host {
                    self.take_host_credits(output, cycle, out);
                }
                let has_credits = self.has_credits(index, self.index(output, to_vc));
                match has_credits {
                    true => work.able.push(output),
                    false => work.lacking.push(output),
                }
                if has_credits && self.has_space(output, (cycle, step)) {
                    let place = work.held_inputs.len() as u32;
                    self.send_flit((now, cycle, step), (index, place), context, out);
                    self.hold_crossbar(index);
                } else {
                    self.note_input(index, out);
                    let place = work.held_inputs.len() as u32;
                    let input = &mut self.inputs[index];
                    (input.holds, input.turn) = (false, first_turn(step, FROM_LINK + place));
                    self.set_bits(index);
                }
            }
        }
    }

    /// Heads without a VC get what is left of the crossbar by an allocator of their own: its grants are added to the
    /// others.
    fn allocate_early<O: RouterOutputs<FlitRouter>>(&mut self, work: &mut Work, out: &mut O) {
        if work.early_requests.is_empty() {
            return;
        }
        let swap = |work: &mut Work| {
            std::mem::swap(&mut work.requests, &mut work.early_requests);
            std::mem::swap(&mut work.granted, &mut work.early_granted);
        };
        // They have no priorities among each other.
        work.ranks.clear();
        swap(work);
        self.allocate(PointersOf::Early, work, out);
        swap(work);
        let masked_by_requests = self.parameters.speculation == Speculation::MaskedByRequests;
        let others = work.granted.len();
        let requests = work.requests.len();
        for place in work.early_granted.drain(..) {
            let (input, output) = work.early_requests[place];
            let granted = &work.granted[..others];
            let meets = |request: &usize| {
                let (other_input, other_output) = work.requests[*request];
                other_input == input || other_output == output
            };
            let mut asked = work.requests[..requests].iter();
            let is_masked = granted.iter().any(meets)
                || masked_by_requests && asked.any(|(_, other_output)| *other_output == output);
            if !is_masked {
                work.granted.push(work.requests.len());
                work.requests.push((input, output));
                work.stands_for.push(work.early_stands_for[place]);
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
        work.ranks.clear();
        work.has_waiting = false;
        if self.parameters.holds_crossbar {
            self.send_over_held_crossbar((now, cycle, step), work, context, out);
        }
        let first_pointer = self.place_of(PointersOf::Inputs).0;
        let lanes = self.lanes.len();
        let oldest_first = self.parameters.oldest_first;
        let speculates = self.parameters.speculation != Speculation::None;
        let low_priority = self.parameters.speculation == Speculation::LowPriority;
        let is_ranked = oldest_first || low_priority;
        work.early_requests.clear();
        work.early_stands_for.clear();
        for input in 0..self.ports.len() * lanes {
            // Short divisions are faster, and most crossbars have one input for each port.
            let (port, lane) = match lanes {
                1 => (input, 0),
                _ => (input / lanes, input % lanes),
            };
            let early = if speculates { work.early[port] } else { 0 };
            let all = (self.waiting[port].sending | early) & self.lanes[lane];
            if all == 0 {
                continue;
            }
            if work.held_inputs.contains(&(input as u32)) {
                work.again = true;
                continue;
            }
            let preferred = self.pointers[first_pointer + input];
            let later = all & (u64::MAX << preferred);
            let (of_input, early_of_input) = (work.requests.len(), work.early_requests.len());
            for mut bits in [later, all & !later] {
                while bits != 0 {
                    let vc = bits.trailing_zeros() as u8;
                    bits &= bits - 1;
                    let index = self.index(port as u16, vc);
                    let InputVc {
                        ready,
                        output,
                        vc: to_vc,
                        ..
                    } = self.inputs[index];
                    let is_early = early & 1 << vc != 0;
                    if ready > step && !is_early {
                        work.again = true;
                        continue;
                    }
                    work.has_waiting = true;
                    if self.ports[usize::from(output)].to_host {
                        self.take_host_credits(output, cycle, out);
                    }
                    if !is_early && !self.has_credits(index, self.index(output, to_vc)) {
                        // The credits of hosts come without an event.
                        work.again |= self.ports[usize::from(output)].to_host;
                        work.lacking.push(output);
                        continue;
                    }
                    if !is_early {
                        work.able.push(output);
                    }
                    let request = (input as u32, self.crossbar_output(port as u16, output));
                    if work.held_outputs.contains(&request.1) || !self.has_space(output, (cycle, step)) {
                        work.again = true;
                        continue;
                    }
                    if is_early && !low_priority {
                        if !work.early_requests[early_of_input..].contains(&request) {
                            work.early_requests.push(request);
                            work.early_stands_for.push(vc);
                        }
                        continue;
                    }
                    let age = if oldest_first { self.age(index) } else { 0 };
                    let age = age | u64::from(is_early) << 63;
                    let mut others = work.requests[of_input..].iter();
                    if let Some(place) = others.position(|other| *other == request) {
                        work.again = true;
                        let place = of_input + place;
                        if is_ranked && age < work.ranks[place][0] {
                            (work.stands_for[place], work.ranks[place]) = (vc, [age, age]);
                        }
                        continue;
                    }
                    if is_ranked {
                        work.ranks.push([age, age]);
                    }
                    work.requests.push(request);
                    work.stands_for.push(vc);
                }
            }
        }
        self.allocate(PointersOf::Switch, work, out);
        work.again |= work.granted.len() < work.requests.len() || self.turns(work);
        self.allocate_early(work, out);
        let mut granted = std::mem::take(&mut work.granted);
        self.in_turn(&mut granted, |request| {
            let port = work.requests[request].0 as usize / lanes;
            self.index(port as u16, work.stands_for[request])
        });
        let held = work.held_inputs.len() as u32;
        for (place, request) in (held..).zip(&granted) {
            let (input, vc) = (work.requests[*request].0, work.stands_for[*request]);
            let port = input / lanes as u32;
            let pointer = first_pointer + input as usize;
            let next = (u32::from(vc) + lanes as u32) % u32::from(self.vcs);
            let before = std::mem::replace(&mut self.pointers[pointer], next);
            out.note(|| super::FlitUndo::Pointer(pointer as u32, before));
            let index = self.index(port as u16, vc);
            let is_early = speculates && work.early[port as usize] & 1 << vc != 0;
            if is_early && !self.has_speculated_well(index, step, out) {
                continue;
            }
            self.send_flit((now, cycle, step), (index, place), context, out);
            self.hold_crossbar(index);
            work.again |= self.waiting[port as usize].sending | self.waiting[port as usize].allocating != 0;
        }
        // A VC that a tail has left may be asked for in the next step.
        if !granted.is_empty() {
            work.again |= self.waiting.iter().any(|vcs| vcs.allocating != 0);
        }
        work.granted = granted;
    }
}
