//! The `packet` router: virtual cut-through with input-buffered virtual channels and credits.
//!
//! A packet's head is taken in when its link and the router's pipeline are behind it. It is routed at
//! once and keeps its place in the buffer of the input port and virtual channel (VC) it came by. If there
//! is room (credits) in the buffer at the far end of its output, it takes that room and its turn on the
//! wire: packets of all VCs leave in the order in which they got their room. Otherwise it waits, in order,
//! for credits of its output's VC, and holds up nobody else. The place in the input buffer becomes free,
//! and the credit for it sets out, when the tail leaves.
//!
//! Since a turn on the wire is decided when the room is there, a router needs no event for a wire that
//! becomes free: one event for the packet and one for its credit are all that a hop costs.
//!
//! Same idea as the packet-level models of CODES (Mubarak et al., 2012) with cut-through instead of
//! store-and-forward. What is left out: crossbar bandwidth and arbitration between inputs.
//!
//! The shape of the data: all that sending one packet touches of a port lies in one [`Output`] and one
//! [`Lane`]; packets without room wait in one pool per router, chained by index.
//!
//! Changes are taken back by reverse computation ([`Undo`]). A router under an optimistic executor may see
//! a credit for a packet that, in this timeline, it has not sent: load and credits wrap, and come back.

use des::{Journal, Time};
use routing::{At, Congestion, Random, RouteState, Routing};
use serde::{Deserialize, Serialize};
use topology::{HostId, Port, RouterId};

use crate::link::{Carried, Held};
use crate::{LinkUse, Packet, Rate};

/// End of a chain in the pool.
const NONE: u32 = u32::MAX;

/// Up to so many ports, most of them take part in a turn; of more, it is better not to guess.
pub const FEW_PORTS: usize = 32;

/// What a router makes happen, and where it notes how to take that back.
pub trait Outputs: Journal<Undo> {
    /// The packet starts onto the link of `port` after `wait`, bound for VC `vc`; its tail leaves
    /// `serialization` later.
    fn depart(&mut self, port: u16, vc: u8, packet: Packet, wait: Time, serialization: Time);
    /// After this span the buffer of input `port`, VC `vc` has `bytes` bytes of room more.
    fn credit(&mut self, port: u16, vc: u8, bytes: u32, after: Time);
    /// [`Router::ready`] is to be called with this packet after this span.
    fn ready(&mut self, ready: Ready, after: Time);
}

/// One step back of a router, for [`Router::undo`].
#[derive(Clone, Copy, Debug)]
pub enum Undo {
    /// A packet was routed to an output, whose load grew.
    Arrived {
        /// Output port.
        output: u16,
        /// Bytes of the packet.
        bytes: u32,
    },
    /// The far end of an output gave credits back.
    Credited {
        /// Output port.
        output: u16,
        /// VC.
        vc: u8,
        /// Bytes.
        bytes: u32,
    },
    /// A packet took its room and its turn on the wire.
    Sent {
        /// Output port.
        output: u16,
        /// VC whose room it took; none on the way to a host.
        vc: u8,
        /// Bytes of the packet.
        bytes: u32,
        /// Until when the wire had been taken.
        busy_until: Time,
        /// Since when it had idled for lack of room.
        idle_since: Time,
    },
    /// An output's first packet without room began to wait.
    Held {
        /// Output port.
        output: u16,
        /// Since when the wire had idled for lack of room before.
        idle_since: Time,
    },
    /// A packet without room went to the end of a queue.
    Enqueued {
        /// Output port.
        output: u16,
        /// VC.
        vc: u8,
        /// Place of the packet before it.
        after: u32,
    },
    /// A packet left the front of a queue; with [`Undo::Underway`], all that was known of it.
    Dequeued {
        /// Output port.
        output: u16,
        /// VC.
        vc: u8,
        /// Sending host.
        source: HostId,
        /// Receiving host.
        destination: HostId,
        /// Number of its message.
        message: u32,
        /// Bytes.
        bytes: u32,
        /// Job.
        job: u16,
        /// Links begun.
        hops: u8,
        /// Whether it counts by itself.
        alone: bool,
    },
    /// The other half of a packet that left the front of a queue.
    Underway {
        /// Output port.
        output: u16,
        /// VC.
        vc: u8,
        /// Input port.
        input: u16,
        /// VC of the input buffer.
        input_vc: u8,
        /// When its message was handed to the NIC.
        born: Time,
        /// The routing algorithm's own.
        route: RouteState,
    },
}

const _: () = assert!(size_of::<Undo>() == 24);

/// A packet that may go on, with the place that it keeps until it has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// The packet.
    pub packet: Packet,
    /// Input port.
    pub input: u16,
    /// Output port.
    pub output: u16,
    /// VC of the input buffer.
    pub input_vc: u8,
    /// VC at the far end of the output.
    pub output_vc: u8,
}

/// A packet that has come in.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Input port.
    pub input: u16,
    /// VC of its buffer.
    pub vc: u8,
    /// The packet.
    pub packet: Packet,
}

/// Memory of one port with so many virtual channels, in bytes.
pub fn bytes_per_port(vcs: u64) -> u64 {
    (size_of::<Output>() + size_of::<Held>()) as u64 + vcs * size_of::<Lane>() as u64
}

/// What a port of a router is wired to, as far as the router needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSetting {
    /// Speed of its cable, both ways.
    pub rate: Rate,
    /// Whether it leads to a host, which takes all that comes.
    pub to_host: bool,
    /// Room for each VC in the buffer at the far end, in bytes.
    pub credits: u32,
}

/// An output port: what sending a packet touches, in one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Output {
    busy_until: Time,
    rate: Rate,
    /// Bytes that wait here, are under way, or whose credit is not back.
    load: u64,
    /// Packets that wait for credits.
    waiting: u32,
    to_host: bool,
    /// While packets wait for credits: when the wire had nothing to carry any more.
    idle_since: Time,
    carried: Carried,
}

const _: () = assert!(size_of::<Output>() == 64);

/// The queue of packets for one VC of one output, and the room at the far end.
#[derive(Clone, Debug)]
struct Lane {
    head: u32,
    tail: u32,
    credits: u32,
}

/// A place in the pool.
#[derive(Clone, Debug)]
struct Place {
    ready: Ready,
    next: u32,
}

/// One router.
#[derive(Clone, Debug)]
pub struct Router {
    id: RouterId,
    vcs: u8,
    /// Whether all cables have one speed, so that no packet can run dry.
    one_rate: bool,
    warmup: Time,
    outputs: Vec<Output>,
    /// By output.
    held: Vec<Held>,
    /// By output, then VC.
    lanes: Vec<Lane>,
    pool: Vec<Place>,
    free: u32,
}

/// All of a router that changes: what it has done and what waits in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouterState {
    outputs: Vec<OutputState>,
    /// By output, then VC.
    lanes: Vec<LaneState>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct OutputState {
    busy_until: Time,
    load: u64,
    /// Only while packets wait: otherwise nothing depends on it.
    idle_since: Option<Time>,
    carried: Carried,
    held: Held,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LaneState {
    credits: u32,
    waiting: Vec<Ready>,
}

/// The congestion that routing sees.
struct Seen<'a>(&'a Router);

impl Congestion for Seen<'_> {
    fn load(&self, port: Port) -> u64 {
        self.0.outputs[usize::from(port.0)].load
    }

    fn room(&self, port: Port, vc: u8) -> u64 {
        let lane = &self.0.lanes[self.0.lane(port.0, vc)];
        if lane.head == NONE {
            u64::from(lane.credits)
        } else {
            0
        }
    }
}

impl Router {
    /// An empty router with `vcs` virtual channels on each port.
    pub fn new(id: RouterId, vcs: u8, ports: &[PortSetting], warmup: Time) -> Router {
        let output = |p: &PortSetting| Output {
            busy_until: Time::ZERO,
            rate: p.rate,
            load: 0,
            waiting: 0,
            to_host: p.to_host,
            idle_since: Time::ZERO,
            carried: Carried::default(),
        };
        let lane = |p: &PortSetting| Lane {
            head: NONE,
            tail: NONE,
            credits: p.credits,
        };
        Router {
            id,
            vcs,
            one_rate: ports.iter().all(|p| p.rate == ports[0].rate),
            warmup,
            held: vec![Held::default(); ports.len()],
            outputs: ports.iter().map(output).collect(),
            lanes: ports
                .iter()
                .flat_map(|p| (0..vcs).map(move |_| lane(p)))
                .collect(),
            pool: Vec::new(),
            free: NONE,
        }
    }

    /// Decides where a packet goes whose head has come in and is through the pipeline.
    #[inline]
    pub fn route(&self, arrival: Arrival, routing: &dyn Routing, random: &mut dyn Random) -> Ready {
        let Arrival {
            input,
            vc,
            mut packet,
        } = arrival;
        let at = At {
            router: self.id,
            input: Port(input),
            vc,
            source: packet.source,
            destination: packet.destination,
        };
        let hop = routing.route(at, &mut packet.route, &Seen(self), random);
        Ready {
            packet,
            input,
            output: hop.port.0,
            input_vc: vc,
            output_vc: hop.vc,
        }
    }

    /// A packet has been routed; it may leave once it cannot run dry on the way out.
    #[inline]
    pub fn arrived<O: Outputs>(&mut self, now: Time, ready: Ready, out: &mut O) {
        let bytes = ready.packet.bytes;
        let load = &mut self.outputs[usize::from(ready.output)].load;
        *load = load.wrapping_add(u64::from(bytes));
        if O::KEPT {
            out.note(Undo::Arrived {
                output: ready.output,
                bytes,
            });
        }
        if !self.one_rate {
            let slow = self.outputs[usize::from(ready.input)].rate.serialization(bytes);
            let fast = self.outputs[usize::from(ready.output)].rate.serialization(bytes);
            if slow > fast {
                out.ready(ready, slow - fast);
                return;
            }
        }
        self.ready(now, ready, out);
    }

    /// A packet may leave as soon as there is room for it.
    #[inline]
    pub fn ready<O: Outputs>(&mut self, now: Time, ready: Ready, out: &mut O) {
        let lane = self.lane(ready.output, ready.output_vc);
        let output = &mut self.outputs[usize::from(ready.output)];
        if output.to_host {
            self.send(now, ready, out);
            return;
        }
        let room = &mut self.lanes[lane];
        if room.head == NONE && room.credits >= ready.packet.bytes {
            room.credits -= ready.packet.bytes;
            self.send(now, ready, out);
            return;
        }
        if output.waiting == 0 {
            if O::KEPT {
                out.note(Undo::Held {
                    output: ready.output,
                    idle_since: output.idle_since,
                });
            }
            output.idle_since = now.max(output.busy_until);
        }
        self.enqueue(lane, ready, out);
    }

    /// The far end of `port` has room for `bytes` bytes more on `vc`.
    #[inline]
    pub fn credit<O: Outputs>(&mut self, now: Time, port: u16, vc: u8, bytes: u32, out: &mut O) {
        let lane = self.lane(port, vc);
        let load = &mut self.outputs[usize::from(port)].load;
        *load = load.wrapping_sub(u64::from(bytes));
        let credits = &mut self.lanes[lane].credits;
        *credits = credits.wrapping_add(bytes);
        if O::KEPT {
            let output = port;
            out.note(Undo::Credited { output, vc, bytes });
        }
        while let Lane { head, credits, .. } = self.lanes[lane]
            && head != NONE
            && credits >= self.pool[head as usize].ready.packet.bytes
        {
            let ready = self.dequeue(lane);
            self.lanes[lane].credits -= ready.packet.bytes;
            self.send(now, ready, out);
            // Only now: while it waited, the wire's idle time was the time of full buffers.
            self.outputs[usize::from(port)].waiting -= 1;
            if O::KEPT {
                for step in Undo::of_dequeued(&ready) {
                    out.note(step);
                }
            }
        }
    }

    #[inline]
    fn lane(&self, port: u16, vc: u8) -> usize {
        usize::from(port) * usize::from(self.vcs) + usize::from(vc)
    }

    /// Gives a packet that has its room the next turn on the wire.
    fn send<O: Outputs>(&mut self, now: Time, ready: Ready, out: &mut O) {
        let bytes = ready.packet.bytes;
        let output = &mut self.outputs[usize::from(ready.output)];
        let held = &mut self.held[usize::from(ready.output)];
        let serialization = output.rate.serialization(bytes);
        let start = now.max(output.busy_until);
        let wait = start - now;
        if O::KEPT {
            out.note(Undo::Sent {
                output: ready.output,
                vc: ready.output_vc,
                bytes,
                busy_until: output.busy_until,
                idle_since: output.idle_since,
            });
        }
        output.busy_until = start + serialization;
        output
            .carried
            .depart(start, serialization, bytes, self.warmup, held);
        if output.waiting > 0 {
            held.unblock(output.idle_since, start, self.warmup);
            output.idle_since = output.busy_until;
        }
        if output.to_host {
            output.load = output.load.wrapping_sub(u64::from(bytes));
        }
        let mut packet = ready.packet;
        packet.hops = packet.hops.saturating_add(1);
        out.depart(ready.output, ready.output_vc, packet, wait, serialization);
        out.credit(ready.input, ready.input_vc, bytes, wait + serialization);
    }

    fn enqueue<O: Outputs>(&mut self, lane: usize, ready: Ready, out: &mut O) {
        let place = Place { ready, next: NONE };
        let index = self.free;
        let index = if index == NONE {
            self.pool.push(place);
            (self.pool.len() - 1) as u32
        } else {
            self.free = self.pool[index as usize].next;
            self.pool[index as usize] = place;
            index
        };
        let lane = &mut self.lanes[lane];
        if O::KEPT {
            out.note(Undo::Enqueued {
                output: ready.output,
                vc: ready.output_vc,
                after: lane.tail,
            });
        }
        match lane.tail {
            NONE => lane.head = index,
            tail => self.pool[tail as usize].next = index,
        }
        lane.tail = index;
        self.outputs[usize::from(ready.output)].waiting += 1;
    }

    fn dequeue(&mut self, lane: usize) -> Ready {
        let lane = &mut self.lanes[lane];
        let index = lane.head;
        let place = &mut self.pool[index as usize];
        lane.head = place.next;
        if lane.head == NONE {
            lane.tail = NONE;
        }
        place.next = self.free;
        self.free = index;
        place.ready
    }

    /// Takes back one step that was noted in [`Outputs`]. Steps are taken back in reverse order, all of
    /// those that were noted since.
    ///
    /// Steps name places of the pool, and every packet comes back to its own: free places are a stack,
    /// and those by which the pool has grown since lie at its bottom in the order in which it grew.
    pub fn undo(&mut self, step: Undo) {
        match step {
            Undo::Arrived { output, bytes } => {
                let load = &mut self.outputs[usize::from(output)].load;
                *load = load.wrapping_sub(u64::from(bytes));
            }
            Undo::Credited { output, vc, bytes } => {
                let lane = self.lane(output, vc);
                let load = &mut self.outputs[usize::from(output)].load;
                *load = load.wrapping_add(u64::from(bytes));
                let credits = &mut self.lanes[lane].credits;
                *credits = credits.wrapping_sub(bytes);
            }
            Undo::Sent {
                output,
                vc,
                bytes,
                busy_until,
                idle_since,
            } => self.undo_send(output, vc, bytes, busy_until, idle_since),
            Undo::Held { output, idle_since } => self.outputs[usize::from(output)].idle_since = idle_since,
            Undo::Enqueued { output, vc, after } => {
                let lane = self.lane(output, vc);
                self.undo_enqueue(lane, after);
                self.outputs[usize::from(output)].waiting -= 1;
            }
            Undo::Dequeued {
                output,
                vc,
                source,
                destination,
                message,
                bytes,
                job,
                hops,
                alone,
            } => {
                let place = self.undo_dequeue(output, vc);
                let mut packet = Packet::new(source, destination, message, bytes, Time::ZERO, job);
                packet.hops = hops;
                packet.alone = alone;
                place.ready = Ready {
                    packet,
                    input: 0,
                    output,
                    input_vc: 0,
                    output_vc: vc,
                };
            }
            Undo::Underway {
                output,
                vc,
                input,
                input_vc,
                born,
                route,
            } => {
                let lane = self.lane(output, vc);
                let ready = &mut self.pool[self.lanes[lane].head as usize].ready;
                ready.input = input;
                ready.input_vc = input_vc;
                ready.packet.set_born(born);
                ready.packet.route = route;
            }
        }
    }

    fn undo_send(&mut self, port: u16, vc: u8, bytes: u32, busy_until: Time, idle_since: Time) {
        let lane = self.lane(port, vc);
        let output = &mut self.outputs[usize::from(port)];
        let held = &mut self.held[usize::from(port)];
        let serialization = output.rate.serialization(bytes);
        let start = output.busy_until - serialization;
        if output.waiting > 0 {
            held.undo_unblock(idle_since, start, self.warmup);
        }
        output
            .carried
            .undo_depart(start, serialization, bytes, self.warmup, held);
        output.busy_until = busy_until;
        output.idle_since = idle_since;
        if output.to_host {
            output.load = output.load.wrapping_add(u64::from(bytes));
        } else {
            let credits = &mut self.lanes[lane].credits;
            *credits = credits.wrapping_add(bytes);
        }
    }

    fn undo_enqueue(&mut self, lane: usize, after: u32) {
        let lane = &mut self.lanes[lane];
        let index = lane.tail;
        lane.tail = after;
        match after {
            NONE => lane.head = NONE,
            after => self.pool[after as usize].next = NONE,
        }
        self.pool[index as usize].next = self.free;
        self.free = index;
    }

    /// Gives a packet its place back, which is the one that became free last; what was in it is lost.
    fn undo_dequeue(&mut self, port: u16, vc: u8) -> &mut Place {
        let lane = self.lane(port, vc);
        let lane = &mut self.lanes[lane];
        self.outputs[usize::from(port)].waiting += 1;
        let index = self.free;
        let place = &mut self.pool[index as usize];
        self.free = place.next;
        place.next = lane.head;
        lane.head = index;
        if lane.tail == NONE {
            lane.tail = index;
        }
        place
    }

    /// Asks for the memory that its next packets and credits will touch.
    #[inline]
    pub fn prefetch(&self) {
        if self.outputs.len() <= FEW_PORTS {
            des::prefetch(self.outputs.as_slice());
            des::prefetch(self.lanes.as_slice());
        }
    }

    /// Its id.
    pub fn id(&self) -> RouterId {
        self.id
    }

    /// Packets that wait in its buffers.
    pub fn waiting(&self) -> impl Iterator<Item = &Ready> {
        self.lanes.iter().flat_map(|lane| self.queue(lane))
    }

    fn queue(&self, lane: &Lane) -> impl Iterator<Item = &Ready> {
        let place = |index| (index != NONE).then(|| &self.pool[index as usize]);
        std::iter::successors(place(lane.head), move |p| place(p.next)).map(|p| &p.ready)
    }

    /// Credits for a VC of the link at `port`, in bytes.
    pub fn credits(&self, port: u16, vc: u8) -> u32 {
        self.lanes[usize::from(port) * usize::from(self.vcs) + usize::from(vc)].credits
    }

    /// Use of the link at `port` up to `end`.
    pub fn used(&self, port: u16, end: Time) -> LinkUse {
        let output = &self.outputs[usize::from(port)];
        let mut held = self.held[usize::from(port)];
        if output.waiting > 0 {
            held.unblock(output.idle_since, end, self.warmup);
        }
        LinkUse::new(output.carried, held, end, output.busy_until)
    }

    /// All that changes; equal where no input can tell two routers apart.
    pub fn state(&self) -> RouterState {
        let output = |(output, held): (&Output, &Held)| OutputState {
            busy_until: output.busy_until,
            load: output.load,
            idle_since: (output.waiting > 0).then_some(output.idle_since),
            carried: output.carried,
            held: *held,
        };
        let lane = |lane: &Lane| LaneState {
            credits: lane.credits,
            waiting: self.queue(lane).copied().collect(),
        };
        RouterState {
            outputs: self.outputs.iter().zip(&self.held).map(output).collect(),
            lanes: self.lanes.iter().map(lane).collect(),
        }
    }

    /// Brings a new router into the state of one with the same settings.
    ///
    /// # Errors
    /// What does not fit these settings; the router is then as it was.
    pub fn restore(&mut self, state: RouterState) -> Result<(), String> {
        self.check(&state)?;
        for (port, saved) in state.outputs.into_iter().enumerate() {
            let output = &mut self.outputs[port];
            output.busy_until = saved.busy_until;
            output.load = saved.load;
            output.waiting = 0;
            output.idle_since = saved.idle_since.unwrap_or_default();
            output.carried = saved.carried;
            self.held[port] = saved.held;
        }
        self.pool.clear();
        self.free = NONE;
        for (lane, saved) in self.lanes.iter_mut().zip(state.lanes) {
            let first = self.pool.len() as u32;
            let count = saved.waiting.len() as u32;
            for (ready, next) in saved.waiting.into_iter().zip(first + 1..) {
                self.outputs[usize::from(ready.output)].waiting += 1;
                self.pool.push(Place { ready, next });
            }
            *lane = Lane {
                head: NONE,
                tail: NONE,
                credits: saved.credits,
            };
            if count > 0 {
                lane.head = first;
                lane.tail = first + count - 1;
                self.pool[lane.tail as usize].next = NONE;
            }
        }
        Ok(())
    }

    fn check(&self, state: &RouterState) -> Result<(), String> {
        let id = self.id.0;
        let (ports, lanes) = (self.outputs.len(), self.lanes.len());
        let (saved_ports, saved_lanes) = (state.outputs.len(), state.lanes.len());
        if (saved_ports, saved_lanes) != (ports, lanes) {
            return Err(format!(
                "router {id} has {ports} ports and {lanes} queues, its saved state {saved_ports} and {saved_lanes}"
            ));
        }
        for (index, lane) in state.lanes.iter().enumerate() {
            let (port, vc) = (index / usize::from(self.vcs), index % usize::from(self.vcs));
            let fits = |ready: &Ready| {
                (usize::from(ready.output), usize::from(ready.output_vc)) == (port, vc)
                    && usize::from(ready.input) < ports
                    && ready.input_vc < self.vcs
                    && !self.outputs[port].to_host
            };
            if !lane.waiting.iter().all(fits) {
                return Err(format!(
                    "router {id}: a packet in the saved state cannot wait for port {port}, VC {vc}"
                ));
            }
        }
        for (port, output) in state.outputs.iter().enumerate() {
            let vcs = usize::from(self.vcs);
            let mut lanes = state.lanes[port * vcs..(port + 1) * vcs].iter();
            let waits = lanes.any(|lane| !lane.waiting.is_empty());
            if output.idle_since.is_some() != waits {
                return Err(format!(
                    "router {id}: the saved state of port {port} contradicts its queues"
                ));
            }
        }
        Ok(())
    }
}

impl Undo {
    /// The steps that put a packet back at the front of its queue, in the order of noting.
    fn of_dequeued(ready: &Ready) -> [Undo; 2] {
        let Ready {
            packet,
            input,
            output,
            input_vc,
            output_vc: vc,
        } = *ready;
        let underway = Undo::Underway {
            output,
            vc,
            input,
            input_vc,
            born: packet.born(),
            route: packet.route,
        };
        let dequeued = Undo::Dequeued {
            output,
            vc,
            source: packet.source,
            destination: packet.destination,
            message: packet.message,
            bytes: packet.bytes,
            job: packet.job,
            hops: packet.hops,
            alone: packet.alone,
        };
        [underway, dequeued]
    }
}

#[cfg(test)]
#[path = "packet_tests.rs"]
mod tests;
