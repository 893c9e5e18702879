//! The `analytic` model: nothing contends inside the network.
//!
//! A packet goes from its NIC to the last router of its path at once: its head is there after the latency of a shortest
//! path, with the pipelines of the routers on it. There it reserves the link to its host, in the order in which heads
//! arrive. So the injection and the ejection port of each host are servers, and everything between them is a delay:
//! LogGP's model (A. Alexandrov, M. Ionescu, K. Schauser, C. Scheiman, "LogGP: incorporating long messages into the
//! LogP model", SPAA 1995), where L is the latency of the path, G the time of a byte on the link of a host, o and g the
//! overheads and the gap of `[mpi]`. Long messages go packet by packet.

use config::Section;
use des::Time;
use routing::BufferClaim;
use topology::RouterId;

use super::output_queued::{OutputQueuedRouter, OutputQueuedRouterState, OutputQueuedUndo};
use super::routed_packet::RoutedPacket;
use super::{
    Arrival, Holding, Never, RouterModel, RouterModelKind, RouterOutputs, RouterSetup, RoutingContext,
};
use crate::LinkUse;
use crate::capabilities::RouterCapabilities;
use crate::waits::PacketWaitTracker;

/// One router, of which only the links to hosts carry packets.
#[derive(Clone, Debug)]
pub struct AnalyticRouter(OutputQueuedRouter);

impl RouterModel for AnalyticRouter {
    const MODEL: RouterModelKind = RouterModelKind {
        name: "analytic",
        summary: "no contention between routers (LogGP): only the ports of hosts are busy",
        parameters: &[],
        capabilities: RouterCapabilities {
            takes_credits: false,
            // No packet waits for them.
            reports_credit_waits: true,
            final_reservations: true,
            sends_signals: false,
            // Routing decides nothing, so that it may ask for anything.
            bubbles: true,
            reserved_space: true,
            load_metrics: true,
            load_reports: true,
            traffic_classes: true,
            vc_copies: true,
            crosses_at_once: true,
            ..RouterCapabilities::NONE
        },
    };

    type Parameters = ();
    type Undo = OutputQueuedUndo;
    type State = OutputQueuedRouterState;
    type Timer = Never;
    type Signal = Never;
    type WaitTracker = PacketWaitTracker;

    fn read(_: &Section) -> Result<(), config::Error> {
        Ok(())
    }

    fn bytes_per_port(ports: u64, vcs: u64, bubbles: bool) -> u64 {
        OutputQueuedRouter::bytes_per_port(ports, vcs, bubbles)
    }

    fn new(setup: &RouterSetup<'_>, (): ()) -> AnalyticRouter {
        AnalyticRouter(OutputQueuedRouter::new(setup, ()))
    }

    // Not inlined, so that this model does not enlarge the dispatch for `packet`.
    #[inline(never)]
    fn arrived<O: RouterOutputs<Self>>(
        &mut self,
        now: Time,
        arrival: Arrival,
        _: &RoutingContext<'_>,
        out: &mut O,
    ) {
        let Arrival { input, vc, packet } = arrival;
        let routed = RoutedPacket {
            packet,
            input,
            output: input,
            input_vc: vc,
            output_vc: 0,
            claim: BufferClaim::Credit,
        };
        let ready = now + self.0.underrun_guard(input, packet.bytes);
        self.0.reserve(now, ready, &routed, out);
    }

    /// NICs have their credits back at once. Nothing to do.
    fn credit<O: RouterOutputs<Self>>(&mut self, _: Time, _: u16, _: u8, _: u32, _: &mut O) {}

    fn timer<O: RouterOutputs<Self>>(&mut self, _: Time, timer: Never, _: &RoutingContext<'_>, _: &mut O) {
        match timer {}
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

    fn undo(&mut self, step: OutputQueuedUndo) {
        self.0.undo(step);
    }

    fn state(&self) -> OutputQueuedRouterState {
        self.0.state()
    }

    fn restore(&mut self, state: OutputQueuedRouterState) -> Result<(), String> {
        self.0.restore(state)
    }

    fn id(&self) -> RouterId {
        self.0.id()
    }

    /// None: a packet that has reserved its link is in the event of its arrival.
    fn for_each_held(&self, _: &mut dyn FnMut(Holding)) {}

    fn load(&self, port: u16) -> u64 {
        self.0.load(port)
    }

    fn credits(&self, port: u16, vc: u8) -> u32 {
        self.0.credits(port, vc)
    }

    fn used(&self, port: u16, end: Time) -> LinkUse {
        self.0.used(port, end)
    }

    fn waiting_at(&self, port: u16) -> u32 {
        self.0.waiting_at(port)
    }

    fn is_active(&self, port: u16, time: Time) -> bool {
        self.0.is_active(port, time)
    }
}
