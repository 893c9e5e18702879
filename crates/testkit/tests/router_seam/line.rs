//! A kernel model: a line of routers of any model, each with one NIC of any model.

use std::marker::PhantomData;

use des::{
    Context, Control, Event, Executor, Journal, LpId, Model, Optimism, Pace, Partition, Purpose, RunEnd,
    Settings, Time, run,
};
use fabric::nic::queued::QueuedNic;
use fabric::router::{Arrival, PortSetting, RouterModel, RouterOutputs, RouterSetup, RoutingContext};
use fabric::{
    Measured, NicArbiter, NicModel, NicOutputs, NicSetup, NicSource, Outgoing, Packet, PacketFate,
    PacketFormat, Rate, SignalOf, TrafficClasses,
};
use fabricsim_testkit::executors::EXECUTORS;
use routing::{At, Congestion, Hop, Random, RouteState, Routing};
use serde::{Deserialize, Serialize};
use topology::{HostId, Port, RouterId};

/// Routers, and NICs.
const ROUTERS: u16 = 5;

/// Messages of each NIC.
const MESSAGES_EACH: u32 = 12;

/// All messages.
pub const MESSAGES: usize = ROUTERS as usize * MESSAGES_EACH as usize;

/// Latency of each link.
pub const LATENCY: Time = Time(50_000);

/// Bytes of an input buffer.
const CREDITS: u32 = 400;

/// Ports of a router: to the previous router, to the next one, to its NIC.
pub const TO_NIC: u16 = 2;

/// 8 Gbps: 1000 ps per byte.
pub fn rate() -> Rate {
    Rate::bits_per_s(8_000_000_000)
}

/// Routing on a line.
struct Straight;

impl Routing for Straight {
    fn vcs(&self) -> u8 {
        1
    }
    fn route(&self, at: At, _: &mut RouteState, _: &dyn Congestion, _: &mut dyn Random) -> Hop {
        let port = match at.destination.0.cmp(&at.router.0) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Greater => 1,
            std::cmp::Ordering::Equal => TO_NIC,
        };
        Hop {
            port: Port(port),
            vc: 0,
            claim: routing::BufferClaim::Credit,
        }
    }
    fn options(&self, _: At, _: RouteState, _: &mut Vec<(Hop, RouteState)>) {
        unreachable!("no proof is asked for")
    }
}

const CONTEXT: RoutingContext<'static> = RoutingContext {
    routing: &Straight,
    loads: &[],
};

/// The network.
pub struct Line<R: RouterModel, N> {
    parameters: R::Parameters,
    nic: fn(HostId) -> N,
}

/// A router model that the kernel can run.
pub trait AnyRouter: RouterModel<Parameters: Sync> + Send + 'static {}

impl<R: RouterModel<Parameters: Sync> + Send + 'static> AnyRouter for R {}

/// A NIC model that the kernel can run.
pub trait AnyNic: NicModel<Report = (), Undo: Send> + Send + 'static {}

impl<N: NicModel<Report = (), Undo: Send> + Send + 'static> AnyNic for N {}

/// One LP.
pub enum Lp<R, N> {
    Router(R),
    Nic(N),
}

/// Content of an event.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub enum Payload<T, S, U> {
    Arrived(u16, u8, Packet),
    Signal(u16, S),
    Credit(u16, u8, u32),
    RouterTimer(T),
    NicTimer(U),
    Send(u32),
}

/// An undo step.
pub enum Undo<R, N> {
    Router(R),
    Nic(N),
}

/// A delivery: its time, source, destination and message.
pub type Delivery = (Time, (u32, u32, u32));

/// The settings of the NIC of a host.
pub fn nic_setup(host: HostId) -> NicSetup {
    NicSetup {
        end_point: host,
        rate: rate(),
        format: PacketFormat::without_header(256),
        credits: CREDITS,
        arbiter: NicArbiter::default(),
        traffic_classes: TrafficClasses::one(1),
        measured: Measured::after(Time::ZERO),
    }
}

/// A NIC of the model that simulations use.
pub fn nic(host: HostId) -> QueuedNic<()> {
    QueuedNic::new(&nic_setup(host), ())
}

impl<R: AnyRouter, N: AnyNic> Line<R, N> {
    /// A line of routers with these parameters.
    pub fn new(parameters: R::Parameters, nic: fn(HostId) -> N) -> Line<R, N> {
        Line { parameters, nic }
    }

    /// Runs it with all executors and the reverse check. Returns deliveries and the saved final states.
    pub fn check(&self) -> (Vec<Delivery>, Vec<Vec<u8>>) {
        let (reference, states) = self.run(Executor::Sequential, 1);
        for (executor, threads) in EXECUTORS.into_iter().chain([(Executor::ReverseCheck, 1)]) {
            let (deliveries, other) = self.run(executor, threads);
            assert_eq!(reference, deliveries, "{executor:?} with {threads} threads");
            assert_eq!(states, other, "{executor:?} with {threads} threads");
        }
        (reference, states)
    }

    fn run(&self, executor: Executor, threads: usize) -> (Vec<Delivery>, Vec<Vec<u8>>) {
        let settings = Settings {
            executor,
            partition: Partition::balanced(self.lps(), threads, |_| 1),
            seed: 7,
            until: Time::MAX,
            optimism: Optimism::default(),
            pace: Pace::default(),
        };
        let mut deliveries = Vec::new();
        let finished = run(self, &settings, &Control::default(), &mut |time, record| {
            deliveries.push((time, record));
        });
        assert_eq!(finished.end, RunEnd::Drained, "{executor:?}");
        let mut states = Vec::new();
        for (lp, state) in finished.lps.iter().enumerate() {
            let mut bytes = Vec::new();
            self.save(state, &mut bytes);
            let mut restored = self.create(LpId(lp as u32));
            self.restore(&mut restored, &bytes, Purpose::GoOn)
                .expect("a state of this LP");
            let mut again = Vec::new();
            self.save(&restored, &mut again);
            assert_eq!(bytes, again, "LP {lp}");
            states.push(bytes);
        }
        (deliveries, states)
    }

    fn router(&self, id: u32) -> R {
        let port = |to_host| PortSetting {
            rate: rate(),
            to_host,
            credits: CREDITS,
        };
        let setup = RouterSetup {
            id: RouterId(id),
            vcs: 1,
            traffic_classes: TrafficClasses::one(1),
            ports: &[port(false), port(false), port(true)],
            largest_packet: 256,
            bubbles: false,
            measured: Measured::after(Time::ZERO),
        };
        R::new(&setup, self.parameters)
    }

    fn deliver<C: Context<Self>>(packet: Option<Packet>, context: &mut C) {
        if let Some(packet) = packet {
            context.emit((packet.source.0, packet.destination.0, packet.message));
        }
    }
}

impl<R: AnyRouter, N: AnyNic> Model for Line<R, N> {
    type Payload = Payload<R::Timer, R::Signal, N::Timer>;
    type Lp = Lp<R, N>;
    type Record = (u32, u32, u32);
    type Undo = Undo<R::Undo, N::Undo>;
    type Error = String;
    type Tally = ();

    fn lps(&self) -> u32 {
        2 * u32::from(ROUTERS)
    }

    fn lookahead(&self) -> Time {
        LATENCY
    }

    fn tally(&self) {}

    fn create(&self, LpId(lp): LpId) -> Lp<R, N> {
        match lp.checked_sub(u32::from(ROUTERS)) {
            None => Lp::Router(self.router(lp)),
            Some(host) => Lp::Nic((self.nic)(HostId(host))),
        }
    }

    fn start(&self, lp: &mut Lp<R, N>, context: &mut impl Context<Self>) {
        match lp {
            Lp::Router(router) => router.start(&mut RouterOut::of(context)),
            Lp::Nic(_) => {
                for number in 0..MESSAGES_EACH {
                    let after = Time(1 + u64::from(number) * 120_000);
                    context.send(context.lp(), after, Payload::Send(number));
                }
            }
        }
    }

    fn handle(
        &self,
        lp: &mut Lp<R, N>,
        event: &Event<Payload<R::Timer, R::Signal, N::Timer>>,
        context: &mut impl Context<Self>,
    ) {
        let now = context.now();
        let me = context.lp().0;
        match (lp, event.payload) {
            (Lp::Router(router), Payload::Arrived(input, vc, packet)) => {
                let arrival = Arrival { input, vc, packet };
                router.arrived(now, arrival, &CONTEXT, &mut RouterOut::of(context));
            }
            (Lp::Router(router), Payload::Credit(port, vc, bytes)) => {
                router.credit(now, port, vc, bytes, &mut RouterOut::of(context));
            }
            (Lp::Router(router), Payload::RouterTimer(timer)) => {
                router.timer(now, timer, &CONTEXT, &mut RouterOut::of(context));
            }
            (Lp::Router(router), Payload::Signal(port, signal)) => {
                router.signal(now, port, signal, &CONTEXT, &mut RouterOut::of(context));
            }
            (Lp::Nic(nic), Payload::Arrived(_, _, packet)) => {
                let delivered = nic.arrived(now, packet, &mut NicOut::of(context));
                Self::deliver(delivered, context);
            }
            (Lp::Nic(nic), Payload::Credit(_, _, bytes)) => {
                nic.credit(now, 0, bytes, &mut NicOut::of(context));
            }
            (Lp::Nic(nic), Payload::NicTimer(timer)) => {
                let delivered = nic.timer(now, timer, &mut NicOut::of(context));
                Self::deliver(delivered, context);
            }
            (Lp::Nic(nic), Payload::Send(number)) => {
                let hosts = u32::from(ROUTERS);
                let message = Outgoing {
                    destination: HostId((me - hosts + 1 + number % (hosts - 1)) % hosts),
                    number,
                    bytes: u64::from(50 + 30 * (number % 4)),
                    job: 0,
                    source: 0,
                    traffic_class: 0,
                    standalone: true,
                    report: None,
                };
                nic.send((now, now), &message, &mut NicOut::of(context));
            }
            _ => unreachable!("an event of the other kind of LP"),
        }
    }

    fn undo(&self, lp: &mut Lp<R, N>, step: Undo<R::Undo, N::Undo>) {
        match (lp, step) {
            (Lp::Router(router), Undo::Router(step)) => router.undo(step),
            (Lp::Nic(nic), Undo::Nic(step)) => nic.undo(step),
            _ => unreachable!("an LP undoes its own steps"),
        }
    }

    fn save(&self, lp: &Lp<R, N>, bytes: &mut Vec<u8>) {
        let state = match lp {
            Lp::Router(router) => postcard::to_stdvec(&router.state()),
            Lp::Nic(nic) => postcard::to_stdvec(&nic.state()),
        };
        bytes.extend(state.expect("no more than memory"));
    }

    fn restore(&self, lp: &mut Lp<R, N>, bytes: &[u8], _: Purpose) -> Result<(), String> {
        let wrong = |error: postcard::Error| error.to_string();
        match lp {
            Lp::Router(router) => router.restore(postcard::from_bytes(bytes).map_err(wrong)?),
            Lp::Nic(nic) => nic.restore(postcard::from_bytes(bytes).map_err(wrong)?),
        }
    }
}

/// The LP at the far end of a router's port, and the port there.
fn far_end(LpId(router): LpId, port: u16) -> (LpId, u16) {
    match port {
        0 => (LpId(router - 1), 1),
        1 => (LpId(router + 1), 0),
        _ => (LpId(router + u32::from(ROUTERS)), 0),
    }
}

/// The router of a NIC.
fn router_of(LpId(nic): LpId) -> LpId {
    LpId(nic - u32::from(ROUTERS))
}

/// The outputs of a router.
struct RouterOut<'a, C, R, N>(&'a mut C, PhantomData<(R, N)>);

impl<'a, C: Context<Line<R, N>>, R: AnyRouter, N: AnyNic> RouterOut<'a, C, R, N> {
    fn of(context: &'a mut C) -> Self {
        RouterOut(context, PhantomData)
    }
}

impl<C: Context<Line<R, N>>, R: AnyRouter, N: AnyNic> Journal<R::Undo> for RouterOut<'_, C, R, N> {
    const KEPT: bool = C::REVERSIBLE;

    fn keep(&mut self, step: R::Undo) {
        self.0.undo(Undo::Router(step));
    }
}

impl<C: Context<Line<R, N>>, R: AnyRouter, N: AnyNic> RouterOutputs<R> for RouterOut<'_, C, R, N> {
    fn depart(&mut self, port: u16, vc: u8, packet: Packet, wait: Time, serialization: Time) {
        let (far, far_port) = far_end(self.0.lp(), port);
        let tail = if port == TO_NIC { serialization } else { Time::ZERO };
        self.0
            .send(far, wait + tail + LATENCY, Payload::Arrived(far_port, vc, packet));
    }

    fn credit(&mut self, port: u16, vc: u8, bytes: u32, after: Time) {
        let (far, far_port) = far_end(self.0.lp(), port);
        self.0
            .send(far, after + LATENCY, Payload::Credit(far_port, vc, bytes));
    }

    fn timer(&mut self, timer: R::Timer, after: Time) {
        self.0.send(self.0.lp(), after, Payload::RouterTimer(timer));
    }

    fn signal(&mut self, port: u16, signal: R::Signal, after: Time) {
        let (far, far_port) = far_end(self.0.lp(), port);
        self.0
            .send(far, after + LATENCY, Payload::Signal(far_port, signal));
    }

    fn fate(&mut self, _: &Packet, _: PacketFate) {}

    fn random(&mut self) -> impl Random {
        Draws(&mut *self.0, PhantomData::<(R, N)>)
    }
}

/// The random stream of an LP.
struct Draws<'a, C, R, N>(&'a mut C, PhantomData<(R, N)>);

impl<C: Context<Line<R, N>>, R: AnyRouter, N: AnyNic> Random for Draws<'_, C, R, N> {
    fn below(&mut self, bound: u32) -> u32 {
        (self.0.random() % u64::from(bound)) as u32
    }
}

/// The outputs of a NIC.
struct NicOut<'a, C, R, N>(&'a mut C, PhantomData<(R, N)>);

impl<'a, C: Context<Line<R, N>>, R: AnyRouter, N: AnyNic> NicOut<'a, C, R, N> {
    fn of(context: &'a mut C) -> Self {
        NicOut(context, PhantomData)
    }
}

impl<C: Context<Line<R, N>>, R: AnyRouter, N: AnyNic> Journal<N::Undo> for NicOut<'_, C, R, N> {
    const KEPT: bool = C::REVERSIBLE;

    fn keep(&mut self, step: N::Undo) {
        self.0.undo(Undo::Nic(step));
    }
}

impl<C: Context<Line<R, N>>, R: AnyRouter, N: AnyNic> NicOutputs<N> for NicOut<'_, C, R, N> {
    fn depart(&mut self, packet: Packet, _: NicSource, wait: Time, _: Time, _: bool) {
        let router = router_of(self.0.lp());
        self.0
            .send(router, wait + LATENCY, Payload::Arrived(TO_NIC, 0, packet));
    }

    fn timer(&mut self, timer: N::Timer, after: Time) {
        self.0.send(self.0.lp(), after, Payload::NicTimer(timer));
    }

    fn signal(&mut self, _: SignalOf<N>, _: Time) {
        unreachable!("NICs on the line send packets only")
    }

    fn fate(&mut self, _: &Packet, _: PacketFate) {}

    fn random(&mut self) -> impl Random {
        Draws(&mut *self.0, PhantomData::<(R, N)>)
    }

    fn injected(&mut self, (): (), _: Time) {}
}

/// The final states of all routers.
pub fn router_states<S: serde::de::DeserializeOwned>(states: &[Vec<u8>]) -> Vec<S> {
    let routers = &states[..usize::from(ROUTERS)];
    let state = |bytes: &Vec<u8>| postcard::from_bytes(bytes).expect("the state of a router");
    routers.iter().map(state).collect()
}

/// Checks that every message was delivered exactly once.
pub fn assert_each_message_once(deliveries: &[Delivery]) {
    let mut messages: Vec<_> = deliveries.iter().map(|(_, message)| *message).collect();
    messages.sort_unstable();
    messages.dedup();
    assert_eq!((messages.len(), deliveries.len()), (MESSAGES, MESSAGES));
}
