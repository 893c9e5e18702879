//! Routers that lose packets, and a NIC with a receive side and timers: it acknowledges packets, resends packets
//! without acknowledgement, and delivers each packet once after a processing time.

use std::collections::{BTreeMap, BTreeSet};

use des::Time;
use fabric::nic::NicModelKind;
use fabric::router::packet::PacketRouter;
use fabric::router::{Arrival, Never, RouterOutputs};
use fabric::{
    LinkUse, NicArbiter, NicCapabilities, NicClassView, NicModel, NicOutputs, NicSetup, NicSource, Outgoing,
    Packet,
};
use routing::Random;
use serde::{Deserialize, Serialize};
use topology::HostId;

use crate::line::{self, Line, TO_NIC};
use crate::toy::{Toy, ToyRouter};

/// A router that loses every fifth packet.
pub struct Lossy;

impl Toy for Lossy {
    /// Packets lost.
    type State = u32;
    type Timer = Never;
    type Signal = Never;

    fn arrived<O: RouterOutputs<ToyRouter<Self>>>(
        router: &mut ToyRouter<Self>,
        _: Time,
        arrival: Arrival,
        output: u16,
        out: &mut O,
    ) {
        let Arrival { input, packet, .. } = arrival;
        if input == TO_NIC {
            out.credit(input, 0, packet.bytes, Time::ZERO);
        }
        if out.random().below(5) == 0 {
            router.state += 1;
            return;
        }
        let serialization = line::rate().serialization(packet.bytes);
        out.depart(output, 0, packet, Time::ZERO, serialization);
    }

    fn timer<O: RouterOutputs<ToyRouter<Self>>>(_: &mut ToyRouter<Self>, _: Time, timer: Never, _: &mut O) {
        match timer {}
    }

    fn signal<O: RouterOutputs<ToyRouter<Self>>>(
        _: &mut ToyRouter<Self>,
        _: Time,
        _: u16,
        signal: Never,
        _: impl Fn(&Packet) -> u16,
        _: &mut O,
    ) {
        match signal {}
    }
}

/// Job number of acknowledgements.
const ACKNOWLEDGEMENT: u16 = 1;

/// Time until a packet is sent again.
const PATIENCE: Time = Time(2_000_000);

/// Processing time of a received packet.
const PROCESSING: Time = Time(10_000);

/// A NIC that sends each message as one packet until it is acknowledged.
pub struct ReliableNic {
    host: HostId,
    state: State,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct State {
    busy_until: Time,
    unacknowledged: BTreeMap<u32, Packet>,
    received: BTreeSet<(u32, u32)>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Timer {
    Retry(u32),
    Deliver(Packet),
}

impl ReliableNic {
    fn note<O: NicOutputs<Self>>(&self, out: &mut O) {
        out.note(|| Box::new(self.state.clone()));
    }

    fn depart<O: NicOutputs<Self>>(&mut self, now: Time, packet: Packet, out: &mut O) {
        let start = now.max(self.state.busy_until);
        let serialization = line::rate().serialization(packet.bytes);
        self.state.busy_until = start + serialization;
        let source = NicArbiter::default().source(0, packet.job, 0);
        out.depart(packet, source, start - now, serialization, true);
    }

    fn transmit<O: NicOutputs<Self>>(&mut self, now: Time, packet: Packet, out: &mut O) {
        self.depart(now, packet, out);
        out.timer(Timer::Retry(packet.message), PATIENCE);
    }
}

impl NicModel for ReliableNic {
    const MODEL: NicModelKind = NicModelKind {
        name: "toy",
        summary: "a toy",
        parameters: &[],
        capabilities: NicCapabilities::NONE,
    };

    type Parameters = ();
    type Report = ();
    type Undo = Box<State>;
    type State = State;
    type Timer = Timer;
    type Router = PacketRouter;

    fn read(_: &config::Section) -> Result<(), config::Error> {
        Ok(())
    }

    fn more_bytes(_: u8) -> u64 {
        0
    }

    fn new(setup: &NicSetup, (): ()) -> Self {
        ReliableNic {
            host: setup.end_point,
            state: State::default(),
        }
    }

    fn send<O: NicOutputs<Self>>(
        &mut self,
        (now, created_at): (Time, Time),
        message: &Outgoing<()>,
        out: &mut O,
    ) {
        self.note(out);
        let (number, bytes) = (message.number, message.bytes as u32);
        let packet = Packet::new(
            self.host,
            message.destination,
            number,
            bytes,
            created_at,
            message.job,
        );
        self.state.unacknowledged.insert(number, packet);
        self.transmit(now, packet, out);
    }

    fn credit<O: NicOutputs<Self>>(&mut self, _: Time, _: u8, _: u32, _: &mut O) {}

    fn timer<O: NicOutputs<Self>>(&mut self, now: Time, timer: Timer, out: &mut O) -> Option<Packet> {
        match timer {
            Timer::Retry(number) => {
                let packet = *self.state.unacknowledged.get(&number)?;
                self.note(out);
                self.transmit(now, packet, out);
                None
            }
            Timer::Deliver(packet) => Some(packet),
        }
    }

    fn arrived<O: NicOutputs<Self>>(&mut self, now: Time, packet: Packet, out: &mut O) -> Option<Packet> {
        self.note(out);
        if packet.job == ACKNOWLEDGEMENT {
            self.state.unacknowledged.remove(&packet.message);
            return None;
        }
        let to = packet.source;
        let answer = Packet::new(self.host, to, packet.message, 1, now, ACKNOWLEDGEMENT);
        self.depart(now, answer, out);
        if self.state.received.insert((to.0, packet.message)) {
            out.timer(Timer::Deliver(packet), PROCESSING);
        }
        None
    }

    fn source_of(&self, message: &Outgoing<()>) -> NicSource {
        NicArbiter::default().source(message.traffic_class, message.job, message.source)
    }

    fn is_clear(&self) -> bool {
        false
    }

    fn backlog(&self) -> u64 {
        0
    }

    fn credits(&self, _: u8) -> u32 {
        0
    }

    fn class_view(&self, _: u8) -> NicClassView {
        NicClassView::default()
    }

    fn used(&self, _: Time) -> LinkUse {
        LinkUse::default()
    }

    fn is_active(&self, _: Time) -> bool {
        false
    }

    fn undo(&mut self, before: Box<State>) {
        self.state = *before;
    }

    fn state(&self) -> State {
        self.state.clone()
    }

    fn restore(&mut self, state: State) -> Result<(), String> {
        self.state = state;
        Ok(())
    }
}

#[test]
fn every_message_is_delivered_once_though_routers_lose_packets() {
    let (deliveries, states) =
        Line::<ToyRouter<Lossy>, _>::new((), |host| ReliableNic::new(&line::nic_setup(host), ())).check();
    line::assert_each_message_once(&deliveries);
    let lost: Vec<u32> = line::router_states(&states);
    assert!(lost.iter().all(|lost| *lost > 0), "{lost:?}");
}
