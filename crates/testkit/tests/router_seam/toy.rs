//! A frame for toy router models: the state is a value, and an undo step is a copy of it.

use std::fmt::Debug;

use des::Time;
use fabric::router::RoutingContext;
use fabric::router::{Arrival, Held, RouterModel, RouterModelKind, RouterOutputs, RouterSetup};
use fabric::{LinkUse, Packet, RouterCapabilities};
use routing::{At, Congestion};
use serde::Serialize;
use serde::de::DeserializeOwned;
use topology::{Port, RouterId};

/// A toy model.
pub trait Toy: Sized + Send + 'static {
    /// Its state.
    type State: Clone + Debug + Default + Send + Serialize + DeserializeOwned + 'static;
    /// Content of a timer.
    type Timer: Copy + Debug + Send + Sync + Serialize + DeserializeOwned + 'static;
    /// Content of a signal.
    type Signal: Copy + Debug + Send + Sync + Serialize + DeserializeOwned + 'static;

    /// The simulation begins.
    fn start<O: RouterOutputs<ToyRouter<Self>>>(router: &ToyRouter<Self>, out: &mut O) {
        let _ = (router, out);
    }

    /// A packet has arrived and has been routed.
    fn arrived<O: RouterOutputs<ToyRouter<Self>>>(
        router: &mut ToyRouter<Self>,
        now: Time,
        arrival: Arrival,
        output: u16,
        out: &mut O,
    );

    /// A timer expires.
    fn timer<O: RouterOutputs<ToyRouter<Self>>>(
        router: &mut ToyRouter<Self>,
        now: Time,
        timer: Self::Timer,
        out: &mut O,
    );

    /// A signal has arrived; `route` gives the output of a packet in it.
    fn signal<O: RouterOutputs<ToyRouter<Self>>>(
        router: &mut ToyRouter<Self>,
        now: Time,
        port: u16,
        signal: Self::Signal,
        route: impl Fn(&Packet) -> u16,
        out: &mut O,
    );
}

/// A router of a toy model.
pub struct ToyRouter<T: Toy> {
    id: RouterId,
    pub state: T::State,
}

/// The congestion, which routing on a line ignores.
struct Unseen;

impl Congestion for Unseen {
    fn load(&self, _: Port) -> u64 {
        0
    }
    fn free_space(&self, _: Port, _: u8) -> u64 {
        0
    }
}

/// Random numbers, which routing on a line does not draw.
struct Undrawn;

impl routing::Random for Undrawn {
    fn below(&mut self, _: u32) -> u32 {
        unreachable!("routing on a line draws nothing")
    }
}

fn route(id: RouterId, packet: &Packet, context: &RoutingContext<'_>) -> u16 {
    let at = At {
        router: id,
        input: Port(0),
        vc: 0,
        source: packet.source,
        destination: packet.destination,
    };
    let mut state = packet.route;
    let hop = context.routing.route(at, &mut state, &Unseen, &mut Undrawn);
    hop.port.0
}

impl<T: Toy> ToyRouter<T> {
    fn note<O: RouterOutputs<Self>>(&self, out: &mut O) {
        out.note(|| Box::new(self.state.clone()));
    }
}

impl<T: Toy> RouterModel for ToyRouter<T> {
    const MODEL: RouterModelKind = RouterModelKind {
        name: "toy",
        summary: "a toy",
        parameters: &[],
        capabilities: RouterCapabilities::NONE,
    };

    type Parameters = ();
    type Undo = Box<T::State>;
    type State = T::State;
    type Timer = T::Timer;
    type Signal = T::Signal;
    type WaitTracker = ();

    fn read(_: &config::Section) -> Result<(), config::Error> {
        Ok(())
    }

    fn bytes_per_port(_: u64, _: u64, _: bool) -> u64 {
        0
    }

    fn new(setup: &RouterSetup<'_>, (): ()) -> Self {
        ToyRouter {
            id: setup.id,
            state: T::State::default(),
        }
    }

    fn start<O: RouterOutputs<Self>>(&mut self, out: &mut O) {
        T::start(self, out);
    }

    fn arrived<O: RouterOutputs<Self>>(
        &mut self,
        now: Time,
        arrival: Arrival,
        context: &RoutingContext<'_>,
        out: &mut O,
    ) {
        self.note(out);
        let output = route(self.id, &arrival.packet, context);
        T::arrived(self, now, arrival, output, out);
    }

    fn credit<O: RouterOutputs<Self>>(&mut self, _: Time, _: u16, _: u8, _: u32, _: &mut O) {}

    fn timer<O: RouterOutputs<Self>>(
        &mut self,
        now: Time,
        timer: T::Timer,
        _: &RoutingContext<'_>,
        out: &mut O,
    ) {
        self.note(out);
        T::timer(self, now, timer, out);
    }

    fn signal<O: RouterOutputs<Self>>(
        &mut self,
        now: Time,
        port: u16,
        signal: T::Signal,
        context: &RoutingContext<'_>,
        out: &mut O,
    ) {
        self.note(out);
        let id = self.id;
        T::signal(self, now, port, signal, |packet| route(id, packet, context), out);
    }

    fn undo(&mut self, before: Box<T::State>) {
        self.state = *before;
    }

    fn state(&self) -> T::State {
        self.state.clone()
    }

    fn restore(&mut self, state: T::State) -> Result<(), String> {
        self.state = state;
        Ok(())
    }

    fn id(&self) -> RouterId {
        self.id
    }

    fn for_each_held(&self, _: &mut dyn FnMut(Held)) {}

    fn load(&self, _: u16) -> u64 {
        0
    }

    fn credits(&self, _: u16, _: u8) -> u32 {
        0
    }

    fn used(&self, _: u16, _: Time) -> LinkUse {
        LinkUse::default()
    }

    fn waiting_at(&self, _: u16) -> u32 {
        0
    }

    fn is_active(&self, _: u16, _: Time) -> bool {
        false
    }
}
