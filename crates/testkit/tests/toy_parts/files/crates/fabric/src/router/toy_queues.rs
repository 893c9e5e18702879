//! Toy router model: one first-in first-out queue for each output port and virtual channel (VC), of any length.
//!
//! A packet is routed when its head has passed the pipeline, which the model applies itself, and waits in the queue of
//! its output and VC. A free output sends from
//! its lowest VC whose first packet has credits. The space in the input buffer becomes free when the tail leaves. So
//! a packet waits only for packets with the same next channel.
//!
//! Not modelled: links of different speeds, which a packet could underrun; reserved space
//! ([`routing::BufferClaim::Reserved`]) and bubbles; waits; the time for which full buffers block a link.
//!
//! An undo step is a copy of the one output that a call changes, or a step of a pipeline.

use std::collections::VecDeque;

use config::Section;
use des::Time;
use routing::{At, Congestion};
use serde::{Deserialize, Serialize};
use topology::{Port, RouterId};

use super::{
    Arrival, Holding, Never, RouterModel, RouterModelKind, RouterOutputs, RouterSetup, RoutingContext,
};
use crate::capabilities::RouterCapabilities;
use crate::link::{LinkCounters, StallCounters};
use crate::{LinkUse, Measured, Packet, Rate};

/// One router.
pub struct ToyQueuesRouter {
    id: RouterId,
    vcs: u8,
    measured: Measured,
    /// Speed of each port, and whether it leads to a host.
    ports: Vec<(Rate, bool)>,
    /// From the arrival of a head by each port until it is routed.
    pipelines: Vec<Time>,
    outputs: Vec<ToyQueuesOutput>,
    /// Packets in the pipeline of each port, each with its VC.
    arriving: Vec<VecDeque<(u8, Packet)>>,
}

/// The state of a router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToyQueuesState {
    outputs: Vec<ToyQueuesOutput>,
    arriving: Vec<VecDeque<(u8, Packet)>>,
}

/// What happens after a span.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum ToyQueuesTimer {
    /// An output becomes free.
    Free(u16),
    /// The first packet of an input has passed the pipeline.
    Passed(u16),
}

/// An output port: all of it that changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToyQueuesOutput {
    busy_until: Time,
    /// By VC.
    queues: Vec<VecDeque<Queued>>,
    /// Credits by VC, in bytes.
    credits: Vec<u32>,
    /// Bytes that wait, are in flight, or whose credit is not back.
    load: u64,
    counters: LinkCounters,
    stalls: StallCounters,
}

/// A packet that waits, with input port and VC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Queued {
    packet: Packet,
    input: u16,
    input_vc: u8,
}

/// An undo step.
#[derive(Clone, Debug)]
pub enum Undo {
    /// An output before a call.
    Output(u16, Box<ToyQueuesOutput>),
    /// A packet entered the pipeline of an input.
    Entered(u16),
    /// A packet left the pipeline of an input.
    Passed(u16, Box<(u8, Packet)>),
}

/// The congestion that routing sees.
struct ToyQueuesCongestion<'a> {
    router: &'a ToyQueuesRouter,
    bytes: u32,
    context: &'a RoutingContext<'a>,
}

impl Congestion for ToyQueuesCongestion<'_> {
    fn load(&self, port: Port) -> u64 {
        self.router.load(port.0)
    }

    fn reported_load(&self, slot: usize) -> u64 {
        self.context.reported_load(slot)
    }

    fn free_space(&self, port: Port, vc: u8) -> u64 {
        let output = &self.router.outputs[usize::from(port.0)];
        let credits = output.credits[usize::from(vc)];
        match output.queues[usize::from(vc)].is_empty() && credits >= self.bytes {
            true => u64::from(credits),
            false => 0,
        }
    }
}

impl ToyQueuesRouter {
    fn note<O: RouterOutputs<ToyQueuesRouter>>(&self, port: u16, out: &mut O) {
        out.note(|| Undo::Output(port, Box::new(self.outputs[usize::from(port)].clone())));
    }

    /// Lets a free output send a packet.
    fn serve<O: RouterOutputs<ToyQueuesRouter>>(&mut self, now: Time, port: u16, out: &mut O) {
        let (rate, to_host) = self.ports[usize::from(port)];
        let ToyQueuesOutput {
            busy_until,
            queues,
            credits,
            load,
            counters,
            stalls,
        } = &mut self.outputs[usize::from(port)];
        if *busy_until > now {
            return;
        }
        let sendable = |vc: &usize| {
            let first = queues[*vc].front();
            first.is_some_and(|queued| to_host || credits[*vc] >= queued.packet.bytes)
        };
        let Some(vc) = (0..queues.len()).find(sendable) else {
            return;
        };
        let Some(queued) = queues[vc].pop_front() else {
            return;
        };
        let mut packet = queued.packet;
        let serialization = rate.serialization(packet.bytes);
        *busy_until = now + serialization;
        counters.depart(now, serialization, packet.bytes, self.measured, || stalls);
        match to_host {
            true => *load = load.wrapping_sub(u64::from(packet.bytes)),
            false => credits[vc] -= packet.bytes,
        }
        packet.hops = packet.hops.saturating_add(1);
        out.depart(port, vc as u8, packet, Time::ZERO, serialization);
        out.credit(queued.input, queued.input_vc, packet.bytes, serialization);
        out.timer(ToyQueuesTimer::Free(port), serialization);
    }

    /// The first packet of an input has passed the pipeline.
    fn route<O: RouterOutputs<ToyQueuesRouter>>(
        &mut self,
        now: Time,
        input: u16,
        context: &RoutingContext<'_>,
        out: &mut O,
    ) {
        let Some((input_vc, mut packet)) = self.arriving[usize::from(input)].pop_front() else {
            return;
        };
        out.note(|| Undo::Passed(input, Box::new((input_vc, packet))));
        let at = At {
            router: self.id,
            input: Port(input),
            vc: input_vc,
            source: packet.source,
            destination: packet.destination,
        };
        let seen = ToyQueuesCongestion {
            router: self,
            bytes: packet.bytes,
            context,
        };
        let mut route = packet.route;
        let hop = context.routing.route(at, &mut route, &seen, &mut out.random());
        packet.route = route;
        let port = hop.port.0;
        self.note(port, out);
        let output = &mut self.outputs[usize::from(port)];
        output.load = output.load.wrapping_add(u64::from(packet.bytes));
        output.queues[usize::from(hop.vc)].push_back(Queued {
            packet,
            input,
            input_vc,
        });
        self.serve(now, port, out);
    }
}

impl RouterModel for ToyQueuesRouter {
    const MODEL: RouterModelKind = RouterModelKind {
        name: "toy-queues",
        summary: "a queue of any length for each output port and virtual channel",
        parameters: &[],
        capabilities: RouterCapabilities {
            own_pipeline: true,
            ..RouterCapabilities::NONE
        },
    };

    type Parameters = ();
    type Undo = Undo;
    type State = ToyQueuesState;
    type Timer = ToyQueuesTimer;
    type Signal = Never;
    type WaitTracker = ();

    fn read(_: &Section) -> Result<(), config::Error> {
        Ok(())
    }

    fn bytes_per_port(_: u64, vcs: u64, _: bool) -> u64 {
        let per_vc = size_of::<VecDeque<Queued>>() + size_of::<u32>();
        size_of::<ToyQueuesOutput>() as u64 + vcs * per_vc as u64
    }

    fn new(setup: &RouterSetup<'_>, (): ()) -> ToyQueuesRouter {
        let output = |port: &super::PortSetting| ToyQueuesOutput {
            busy_until: Time::ZERO,
            queues: vec![VecDeque::new(); usize::from(setup.vcs)],
            credits: vec![port.credits; usize::from(setup.vcs)],
            load: 0,
            counters: LinkCounters::default(),
            stalls: StallCounters::default(),
        };
        ToyQueuesRouter {
            id: setup.id,
            vcs: setup.vcs,
            measured: setup.measured,
            ports: setup.ports.iter().map(|port| (port.rate, port.to_host)).collect(),
            pipelines: setup.ports.iter().map(|port| port.pipeline).collect(),
            outputs: setup.ports.iter().map(output).collect(),
            arriving: vec![VecDeque::new(); setup.ports.len()],
        }
    }

    fn arrived<O: RouterOutputs<Self>>(
        &mut self,
        now: Time,
        arrival: Arrival,
        context: &RoutingContext<'_>,
        out: &mut O,
    ) {
        let Arrival { input, vc, packet } = arrival;
        self.arriving[usize::from(input)].push_back((vc, packet));
        out.note(|| Undo::Entered(input));
        match self.pipelines[usize::from(input)] {
            Time::ZERO => self.route(now, input, context, out),
            pipeline => out.timer(ToyQueuesTimer::Passed(input), pipeline),
        }
    }

    fn credit<O: RouterOutputs<Self>>(&mut self, now: Time, port: u16, vc: u8, bytes: u32, out: &mut O) {
        self.note(port, out);
        let output = &mut self.outputs[usize::from(port)];
        let credits = &mut output.credits[usize::from(vc)];
        *credits = credits.wrapping_add(bytes);
        output.load = output.load.wrapping_sub(u64::from(bytes));
        self.serve(now, port, out);
    }

    fn timer<O: RouterOutputs<Self>>(
        &mut self,
        now: Time,
        timer: ToyQueuesTimer,
        context: &RoutingContext<'_>,
        out: &mut O,
    ) {
        match timer {
            ToyQueuesTimer::Free(port) => {
                self.note(port, out);
                self.serve(now, port, out);
            }
            ToyQueuesTimer::Passed(input) => self.route(now, input, context, out),
        }
    }

    fn signal<O: RouterOutputs<Self>>(
        &mut self,
        _: Time,
        _: u16,
        signal: Never,
        _: &RoutingContext<'_>,
        _: &mut O,
    ) {
        match signal {}
    }

    fn undo(&mut self, step: Undo) {
        match step {
            Undo::Output(port, before) => self.outputs[usize::from(port)] = *before,
            Undo::Entered(input) => {
                self.arriving[usize::from(input)].pop_back();
            }
            Undo::Passed(input, packet) => self.arriving[usize::from(input)].push_front(*packet),
        }
    }

    fn state(&self) -> ToyQueuesState {
        ToyQueuesState {
            outputs: self.outputs.clone(),
            arriving: self.arriving.clone(),
        }
    }

    fn restore(&mut self, state: ToyQueuesState) -> Result<(), String> {
        let vcs = usize::from(self.vcs);
        let fits = |output: &ToyQueuesOutput| output.queues.len() == vcs && output.credits.len() == vcs;
        let ports = self.outputs.len();
        if (state.outputs.len(), state.arriving.len()) != (ports, ports) || !state.outputs.iter().all(fits) {
            return Err(format!(
                "router {}: the saved state has other ports or VCs",
                self.id.0
            ));
        }
        self.outputs = state.outputs;
        self.arriving = state.arriving;
        Ok(())
    }

    fn id(&self) -> RouterId {
        self.id
    }

    fn for_each_held(&self, see: &mut dyn FnMut(Holding)) {
        let queues = self.outputs.iter().flat_map(|output| &output.queues);
        for queued in queues.flatten() {
            Holding::whole(&queued.packet, (queued.input, queued.input_vc), see);
        }
        for (input, packets) in (0..).zip(&self.arriving) {
            for (vc, packet) in packets {
                Holding::whole(packet, (input, *vc), see);
            }
        }
    }

    fn load(&self, port: u16) -> u64 {
        self.outputs[usize::from(port)].load
    }

    fn credits(&self, port: u16, vc: u8) -> u32 {
        self.outputs[usize::from(port)].credits[usize::from(vc)]
    }

    fn used(&self, port: u16, end: Time) -> LinkUse {
        let output = &self.outputs[usize::from(port)];
        LinkUse::new(
            output.counters,
            output.stalls,
            (end, output.busy_until),
            self.measured,
        )
    }

    fn waiting_at(&self, port: u16) -> u32 {
        let queues = &self.outputs[usize::from(port)].queues;
        queues.iter().map(|queue| queue.len() as u32).sum()
    }

    fn is_active(&self, port: u16, time: Time) -> bool {
        self.outputs[usize::from(port)].busy_until > time
    }
}
