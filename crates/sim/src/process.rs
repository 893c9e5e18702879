//! The router as a logical process: turns "port 7" into "LP 311, port 2, 50 ns".

use des::{Context, Journal, Time};
use fabric::router::input_queued::Arrival;
use fabric::router::packet::{self, FEW_PORTS, Outputs, PortSetting, Ready};
use fabric::router::{Guide, input_queued};
use fabric::{
    InputQueuedDiary, InputQueuedDiaryUndo, Lane, LinkUse, Packet, Passage, RouterDiary, RouterDiaryUndo,
    Wait, Waits,
};
use routing::{At, Entry, Random};
use topology::{Peer, Port, RouterId};

use crate::Error;
use crate::collect::{RouterSampler, RouterSamplerUndo, RouterSamples};
use crate::counts::{AllCounts, JobCounts, Unkept, counts_of, of_job};
use crate::experiment::RouterModel;
use crate::fact::{Fact, Record};
use crate::hearsay::Hearsay;
use crate::model::{self, Simulation, Undo};
use crate::told::Told;
use crate::wiring::Wire;

/// A router and what its ports are wired to.
pub struct RouterProcess {
    /// The state machine.
    pub switch: Switch,
    /// By port; none: no cable.
    wires: Box<[Option<Wire>]>,
    /// What it has been told of loads elsewhere, if its routing asks for that.
    hearsay: Option<Box<Hearsay>>,
    /// Samples it, if anything is sampled.
    pub sampler: RouterSampler,
    /// Who waits for whom, where that is told.
    diary: Option<Box<Diary>>,
    /// Packets whose tails reach its hosts, as far as it counted them ahead of their time.
    delivered: AllCounts,
}

/// The diary of a router of one of the models.
pub enum Diary {
    /// `packet`.
    Packet(RouterDiary),
    /// `input-queued`.
    InputQueued(InputQueuedDiary),
}

/// A router of one of the models, the same in all of a simulation; not boxed, as a box would cost a cache
/// miss per turn.
#[allow(clippy::large_enum_variant)]
pub enum Switch {
    /// `packet`.
    Packet(packet::Router),
    /// `input-queued`.
    InputQueued(input_queued::Router),
}

/// The random stream of the LP at work.
pub struct Draws<'a, C>(pub &'a mut C);

/// Where a router's outputs go: into events.
struct Cables<'a, C> {
    wires: &'a [Option<Wire>],
    simulation: &'a Simulation,
    sampler: &'a mut RouterSampler,
    diary: Option<&'a mut Diary>,
    delivered: &'a mut AllCounts,
    /// Parts told of the wait of the packet that departs next.
    told: u8,
    context: &'a mut C,
}

impl RouterProcess {
    /// An idle router.
    pub fn new(simulation: &Simulation, router: RouterId) -> RouterProcess {
        let network = &simulation.network;
        let topology = network.topology.as_ref();
        let vcs = network.routing.vcs();
        let ports: Vec<PortSetting> = (0..topology.ports(router))
            .map(|port| PortSetting {
                rate: network.rate(router, Port(port)),
                to_host: matches!(topology.peer(router, Port(port)), Peer::Host(_)),
                credits: network.buffer_of_vc(vcs),
            })
            .collect();
        let switch = match network.model {
            RouterModel::Packet => {
                let mut router = packet::Router::new(router, vcs, &ports, network.slot(), simulation.warmup);
                router.batch_credits(simulation.credits.batch());
                Switch::Packet(router)
            }
            RouterModel::InputQueued { arbiter } => {
                let setting = input_queued::Setting {
                    arbiter,
                    largest_packet: network.packet,
                    warmup: simulation.warmup,
                };
                Switch::InputQueued(input_queued::Router::new(router, vcs, &ports, setting))
            }
        };
        RouterProcess {
            switch,
            wires: (0..topology.ports(router))
                .map(|port| simulation.numbering.wire(network, router, Port(port)))
                .collect(),
            hearsay: network
                .routing
                .reports()
                .map(|reports| Box::new(Hearsay::new(reports))),
            sampler: RouterSampler::new(simulation, router),
            diary: simulation
                .waits
                .then(|| Box::new(Diary::new(network.model, ports.len(), vcs))),
            delivered: AllCounts::new(),
        }
    }

    /// Asks for the memory that its next events will touch.
    #[inline]
    pub fn prefetch(&self) {
        if let Switch::Packet(router) = &self.switch {
            router.prefetch();
        }
        if self.wires.len() <= FEW_PORTS {
            des::prefetch(&*self.wires);
        }
    }

    /// Asks for the memory that this event will touch.
    #[inline]
    pub fn prefetch_for(&self, simulation: &Simulation, fact: &Fact) {
        let Switch::Packet(router) = &self.switch else {
            return;
        };
        let few = self.wires.len() <= FEW_PORTS;
        match fact {
            Fact::CreditReturned { port, vc, .. } if few => router.prefetch_waiting(*port, *vc),
            Fact::CreditReturned { port, .. } => router.prefetch_output(*port),
            Fact::PacketArrived { port, vc, packet } if !few => {
                router.prefetch_input(*port);
                if simulation.credits.batch() == 0 {
                    des::prefetch(&self.wires[usize::from(*port)]);
                }
                let at = At {
                    router: router.id(),
                    input: Port(*port),
                    vc: *vc,
                    source: packet.source,
                    destination: packet.destination,
                };
                if let Some(port) = simulation.network.routing.foreseen(at, packet.route) {
                    router.prefetch_output(port.0);
                    des::prefetch(&self.wires[usize::from(port.0)]);
                }
            }
            _ => {}
        }
    }

    /// Carries out one event.
    #[inline]
    pub fn handle(&mut self, simulation: &Simulation, fact: &Fact, context: &mut impl Context<Simulation>) {
        if self.sampler.is_due(context.now()) {
            self.sample(simulation, context);
        }
        if let Fact::PacketArrived { .. } = fact
            && self.sampler.receive()
        {
            context.undo(Undo::RouterSampler(RouterSamplerUndo::Received));
        }
        if self.hearsay.is_some() {
            return self.handle_informed(simulation, fact, context);
        }
        let cables = Cables {
            wires: &self.wires,
            simulation,
            sampler: &mut self.sampler,
            diary: self.diary.as_deref_mut(),
            delivered: &mut self.delivered,
            told: 0,
            context,
        };
        self.switch.handle(simulation, &[], fact, cables);
    }

    /// Notes what has been in the bins before the one that begins.
    #[cold]
    #[inline(never)]
    fn sample<C: Context<Simulation>>(&mut self, simulation: &Simulation, context: &mut C) {
        let now = context.now();
        let emit = &mut |record| context.emit(record);
        let before = self
            .sampler
            .sample(&simulation.plan, &self.switch, now, C::REVERSIBLE, emit);
        if let Some(before) = before {
            context.undo(Undo::RouterSampler(RouterSamplerUndo::Sampled(before)));
        }
    }

    /// The same where routers tell each other of their loads.
    #[inline(never)]
    fn handle_informed(
        &mut self,
        simulation: &Simulation,
        fact: &Fact,
        context: &mut impl Context<Simulation>,
    ) {
        let RouterProcess {
            switch,
            wires,
            hearsay,
            sampler,
            diary,
            delivered,
        } = self;
        let (Some(hearsay), Some(reports)) = (hearsay, simulation.network.routing.reports()) else {
            unreachable!("who has been told something is told by routing what")
        };
        match *fact {
            Fact::ReportDue => {
                let load = |port| switch.load(port);
                hearsay.report(simulation, reports, switch.id(), load, context);
            }
            Fact::LoadsTold { slot, count, loads } => hearsay.heard(slot, count, loads, context),
            _ => {
                let cables = Cables {
                    wires,
                    simulation,
                    sampler,
                    diary: diary.as_deref_mut(),
                    delivered,
                    told: 0,
                    context: &mut *context,
                };
                switch.handle(simulation, hearsay.told(), fact, cables);
                hearsay.look(reports, switch.id(), |port| switch.load(port), context);
            }
        }
    }

    /// Takes back one step.
    #[inline]
    pub fn undo(&mut self, simulation: &Simulation, step: Undo) {
        match (step, &mut self.hearsay) {
            (Undo::RouterSampler(step), _) => self.sampler.undo(&simulation.plan, step),
            (Undo::Hearsay(step), Some(hearsay)) => hearsay.undo(step),
            (Undo::Diary(step), _) => {
                if let Some(Diary::Packet(diary)) = self.diary.as_deref_mut() {
                    diary.undo(step);
                }
            }
            (Undo::InputQueuedDiary(step), _) => {
                if let Some(Diary::InputQueued(diary)) = self.diary.as_deref_mut() {
                    diary.undo(step);
                }
            }
            (step, _) => self.switch.undo(step),
        }
    }

    /// What it has counted of a job's packets for its hosts, ahead of their time.
    pub fn delivered(&self, job: usize) -> Option<&JobCounts> {
        of_job(&self.delivered, job)
    }

    /// Appends its state.
    pub fn save(&self, bytes: &mut Vec<u8>) {
        model::write(&self.delivered.to_vec(), bytes);
        if let Some(hearsay) = &self.hearsay {
            model::write(hearsay, bytes);
        }
        if let Some(samples) = self.sampler.state() {
            model::write(&samples, bytes);
        }
        match self.diary.as_deref() {
            Some(Diary::Packet(diary)) => model::write(diary, bytes),
            Some(Diary::InputQueued(diary)) => model::write(diary, bytes),
            None => {}
        }
        self.switch.save(bytes);
    }

    /// Brings a new one into a saved state.
    ///
    /// # Errors
    /// The bytes are no state of such a router.
    pub fn restore(&mut self, simulation: &Simulation, bytes: &[u8]) -> Result<(), String> {
        let (delivered, mut bytes): (Vec<JobCounts>, _) = model::read_first(bytes)?;
        self.delivered = delivered.into();
        if let Some(hearsay) = &mut self.hearsay {
            let (saved, rest): (Hearsay, _) = model::read_first(bytes)?;
            hearsay.restore(saved)?;
            bytes = rest;
        }
        if self.sampler.samples() {
            let ((received, samples), rest): ((u64, RouterSamples), _) = model::read_first(bytes)?;
            self.sampler.restore(&simulation.plan, received, samples)?;
            bytes = rest;
        }
        if let Some(diary) = &mut self.diary {
            bytes = diary.restore(bytes)?;
        }
        self.switch.restore(bytes)
    }
}

#[inline]
fn handle_packet<C: Context<Simulation>>(
    router: &mut packet::Router,
    guide: &Guide<'_>,
    fact: &Fact,
    mut cables: Cables<'_, C>,
) {
    let now = cables.context.now();
    match *fact {
        Fact::PacketArrived { port, vc, packet } => {
            let mut ready = Ready::arrived(packet, port, vc);
            router.route(&mut ready, guide, &mut Draws(&mut *cables.context));
            router.arrived(now, &ready, &mut cables);
        }
        Fact::PacketReady {
            input,
            output,
            input_vc,
            output_vc,
            entry,
            packet,
        } => {
            let ready = Ready {
                packet,
                input,
                output,
                input_vc,
                output_vc,
                entry,
            };
            router.ready(now, &ready, &mut cables);
        }
        Fact::CreditReturned { port, vc, bytes } => router.credit(now, port, vc, bytes, &mut cables),
        _ => unreachable!("{fact:?} does not happen to a router of the model packet"),
    }
}

/// Not inlined: `packet` is to stay as small as it is without it.
#[inline(never)]
fn handle_input_queued<C: Context<Simulation>>(
    router: &mut input_queued::Router,
    guide: Guide<'_>,
    fact: &Fact,
    mut cables: Cables<'_, C>,
) {
    let now = cables.context.now();
    match *fact {
        Fact::PacketArrived { port, vc, packet } => {
            let arrival = Arrival {
                input: port,
                vc,
                packet,
            };
            router.arrived(now, arrival, guide, &mut cables);
        }
        Fact::SwitchDue => router.due(now, guide, &mut cables),
        Fact::CreditReturned { port, vc, bytes } => router.credit(now, port, vc, bytes, &mut cables),
        _ => unreachable!("{fact:?} does not happen to a router of the model input-queued"),
    }
}

impl Diary {
    fn new(model: RouterModel, ports: usize, vcs: u8) -> Diary {
        match model {
            RouterModel::Packet => Diary::Packet(RouterDiary::new(ports, vcs)),
            RouterModel::InputQueued { .. } => Diary::InputQueued(InputQueuedDiary::new(ports, vcs)),
        }
    }

    /// Takes over a saved one; gives the bytes behind it.
    fn restore<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], String> {
        let (fits, rest) = match self {
            Diary::Packet(diary) => {
                let (saved, rest): (RouterDiary, _) = model::read_first(bytes)?;
                let fits = saved.fits(diary);
                *diary = saved;
                (fits, rest)
            }
            Diary::InputQueued(diary) => {
                let (saved, rest): (InputQueuedDiary, _) = model::read_first(bytes)?;
                let fits = saved.fits(diary);
                *diary = saved;
                (fits, rest)
            }
        };
        fits.then_some(rest)
            .ok_or_else(|| "its diary of waits is that of another router".into())
    }
}

impl Switch {
    #[inline(always)]
    fn handle<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        told: &[u16],
        fact: &Fact,
        cables: Cables<'_, C>,
    ) {
        let guide = Guide {
            routing: simulation.network.routing.as_ref(),
            told,
        };
        match self {
            Switch::Packet(router) => handle_packet(router, &guide, fact, cables),
            Switch::InputQueued(router) => handle_input_queued(router, guide, fact, cables),
        }
    }

    /// Packets that wait for a port.
    pub fn waiting_at(&self, port: u16) -> u32 {
        match self {
            Switch::Packet(router) => router.waiting_at(port),
            Switch::InputQueued(router) => router.waiting_at(port),
        }
    }

    /// Whether the link at a port goes on to be used, or to be held up, at `time`, if nothing happens.
    pub fn is_active(&self, port: u16, time: Time) -> bool {
        match self {
            Switch::Packet(router) => router.is_active(port, time),
            Switch::InputQueued(router) => router.is_active(port, time),
        }
    }

    /// Bytes that wait for a port, are under way there, or whose credit is not back.
    pub fn load(&self, port: Port) -> u64 {
        match self {
            Switch::Packet(router) => router.load(port.0),
            Switch::InputQueued(router) => router.load(port.0),
        }
    }

    /// The router's id.
    pub fn id(&self) -> RouterId {
        match self {
            Switch::Packet(router) => router.id(),
            Switch::InputQueued(router) => router.id(),
        }
    }

    /// Shows each packet that holds a place in an input buffer, with port and VC.
    pub fn buffered(&self, see: &mut dyn FnMut(&Packet, u16, u8)) {
        match self {
            Switch::Packet(router) => router.waiting().for_each(|w| see(&w.packet, w.input, w.input_vc)),
            Switch::InputQueued(router) => router.waiting().for_each(|w| see(w.packet, w.input, w.input_vc)),
        }
    }

    /// Bytes that have left the input buffer of a VC of `port`, and whose credits are kept for a batch.
    pub fn owed(&self, port: u16, vc: u8) -> u32 {
        match self {
            Switch::Packet(router) => router.owed(port, vc),
            Switch::InputQueued(_) => 0,
        }
    }

    /// Credits for a VC of the link at `port`, in bytes.
    pub fn credits(&self, port: u16, vc: u8) -> u32 {
        match self {
            Switch::Packet(router) => router.credits(port, vc),
            Switch::InputQueued(router) => router.credits(port, vc),
        }
    }

    /// Use of the link at `port` up to `end`.
    pub fn used(&self, port: u16, end: Time) -> LinkUse {
        match self {
            Switch::Packet(router) => router.used(port, end),
            Switch::InputQueued(router) => router.used(port, end),
        }
    }

    /// Takes back one step.
    #[inline]
    fn undo(&mut self, step: Undo) {
        match (self, step) {
            (Switch::Packet(router), Undo::Router(step)) => router.undo(step),
            (Switch::InputQueued(router), Undo::InputQueued(step)) => router.undo(step),
            _ => unreachable!("a router takes back its own steps"),
        }
    }

    /// Appends its state.
    fn save(&self, bytes: &mut Vec<u8>) {
        match self {
            Switch::Packet(router) => model::write(&router.state(), bytes),
            Switch::InputQueued(router) => model::write(&router.state(), bytes),
        }
    }

    /// Brings a new one into a saved state.
    ///
    /// # Errors
    /// The bytes are no state of such a router.
    fn restore(&mut self, bytes: &[u8]) -> Result<(), String> {
        match self {
            Switch::Packet(router) => router.restore(model::read(bytes)?),
            Switch::InputQueued(router) => router.restore(model::read(bytes)?),
        }
    }
}

impl<C: Context<Simulation>> Random for Draws<'_, C> {
    #[inline]
    fn below(&mut self, bound: u32) -> u32 {
        // Lemire's multiply-shift: the bias is below bound / 2^64.
        ((u128::from(self.0.random()) * u128::from(bound)) >> 64) as u32
    }
}

impl<C: Context<Simulation>> Cables<'_, C> {
    #[inline]
    fn wire(&self, port: u16) -> Wire {
        self.wires[usize::from(port)].expect("routing uses wired ports only")
    }
}

impl<C: Context<Simulation>> Journal<packet::Undo> for Cables<'_, C> {
    const KEPT: bool = C::REVERSIBLE;

    #[inline]
    fn note(&mut self, step: packet::Undo) {
        self.context.undo(Undo::Router(step));
    }
}

impl<C: Context<Simulation>> Cables<'_, C> {
    #[inline(always)]
    fn depart_after(&mut self, port: u16, vc: u8, packet: Packet, wait: Time, serialization: Time) {
        let start = self.context.now() + wait;
        if self.sampler.is_later(start) {
            self.note_later(port, start, packet.bytes);
        }
        let wire = self.wire(port);
        let delay = wait + wire.delay(serialization);
        if !C::REVERSIBLE && wire.to_host && packet.alone {
            let arrival = self.context.now() + delay;
            if self.simulation.horizon.covers(arrival) {
                return self.count_delivered(arrival, &packet);
            }
        }
        let fact = Fact::PacketArrived {
            port: wire.port,
            vc,
            packet,
        };
        self.context.send(wire.lp, delay, fact);
    }

    /// What the host would do with a packet whose tail comes at `arrival`.
    #[inline]
    fn count_delivered(&mut self, arrival: Time, packet: &Packet) {
        let counts = counts_of(self.delivered, packet.job, &mut Unkept);
        counts.delivered(arrival, packet, self.simulation.warmup, &mut Unkept);
    }

    #[cold]
    #[inline(never)]
    fn note_later(&mut self, port: u16, start: Time, bytes: u32) {
        if let Some(bin) = self.sampler.note_later(&self.simulation.plan, port, start, bytes)
            && C::REVERSIBLE
        {
            let step = RouterSamplerUndo::Later { port, bytes, bin };
            self.context.undo(Undo::RouterSampler(step));
        }
    }

    #[inline]
    fn return_credit(&mut self, port: u16, vc: u8, bytes: u32, after: Time) {
        let wire = self.wire(port);
        let fact = Fact::CreditReturned {
            port: wire.port,
            vc,
            bytes,
        };
        // Only credits in batches can be due sooner, and these may come late.
        let delay = (after + wire.credit).max(self.simulation.lookahead);
        self.context.send(wire.lp, delay, fact);
    }
}

/// The diary of a router, about one packet.
struct Page<'a, C> {
    port: u16,
    vc: u8,
    packet: &'a Packet,
    /// Parts told of its wait.
    told: &'a mut u8,
    context: &'a mut C,
}

impl<C: Context<Simulation>> Journal<RouterDiaryUndo> for Page<'_, C> {
    const KEPT: bool = C::REVERSIBLE;

    fn note(&mut self, step: RouterDiaryUndo) {
        self.context.undo(Undo::Diary(step));
    }
}

impl<C: Context<Simulation>> Waits<RouterDiaryUndo> for Page<'_, C> {
    fn waited(&mut self, wait: Wait) {
        self.tell(wait);
    }
}

impl<C: Context<Simulation>> Journal<InputQueuedDiaryUndo> for Page<'_, C> {
    const KEPT: bool = C::REVERSIBLE;

    fn note(&mut self, step: InputQueuedDiaryUndo) {
        self.context.undo(Undo::InputQueuedDiary(step));
    }
}

impl<C: Context<Simulation>> Waits<InputQueuedDiaryUndo> for Page<'_, C> {
    fn waited(&mut self, wait: Wait) {
        self.tell(wait);
    }
}

impl<C: Context<Simulation>> Page<'_, C> {
    fn tell(&mut self, wait: Wait) {
        let Packet {
            job,
            source,
            message: number,
            bytes,
            ..
        } = *self.packet;
        self.context.emit(Record::Told(Told::Waited {
            job,
            source,
            number,
            lp: self.context.lp(),
            port: self.port,
            vc: self.vc,
            bytes,
            part: *self.told,
            wait,
        }));
        *self.told = self.told.saturating_add(1);
    }
}

impl<C: Context<Simulation>> Cables<'_, C> {
    /// Writes about a packet for a port and VC into the diary, if there is one.
    #[inline(never)]
    fn write(
        &mut self,
        (port, vc): (u16, u8),
        packet: &Packet,
        line: impl FnOnce(&mut Diary, Time, &mut Page<'_, C>),
    ) {
        let Some(diary) = &mut self.diary else { return };
        let now = self.context.now();
        let mut page = Page {
            port,
            vc,
            packet,
            told: &mut self.told,
            context: &mut *self.context,
        };
        line(diary, now, &mut page);
    }
}

impl<C: Context<Simulation>> Cables<'_, C> {
    /// Writes a departure into the diary. Takes the packet by value: who asks for its address keeps it in memory.
    #[cold]
    #[inline(never)]
    fn write_departure(&mut self, port: u16, vc: u8, packet: Packet, [wait, serialization]: [Time; 2]) {
        self.write((port, vc), &packet, |diary, now, page| {
            if let Diary::Packet(diary) = diary {
                diary.sent(now, (port, vc, packet.job), wait, serialization, page);
            }
        });
        self.told = 0;
    }
}

fn lane(ready: &Ready) -> Lane {
    Lane {
        output: ready.output,
        vc: ready.output_vc,
        entering: ready.entry == Entry::Bubble,
    }
}

impl<C: Context<Simulation>> Outputs for Cables<'_, C> {
    // Into its callers, or the packet would be written once more on the way.
    #[inline(always)]
    fn depart(&mut self, port: u16, vc: u8, packet: Packet, wait: Time, serialization: Time) {
        if self.diary.is_some() {
            self.write_departure(port, vc, packet, [wait, serialization]);
        }
        self.depart_after(port, vc, packet, wait, serialization);
    }

    #[inline]
    fn credit(&mut self, port: u16, vc: u8, bytes: u32, after: Time) {
        self.return_credit(port, vc, bytes, after);
    }

    #[inline]
    fn ready(&mut self, ready: Ready, after: Time) {
        let fact = Fact::PacketReady {
            input: ready.input,
            output: ready.output,
            input_vc: ready.input_vc,
            output_vc: ready.output_vc,
            entry: ready.entry,
            packet: ready.packet,
        };
        self.context.send(self.context.lp(), after, fact);
    }

    #[inline]
    fn waits(&mut self, ready: &Ready) {
        if self.simulation.credits.batch() > 0 {
            self.context.fail(Error::ShortOfCredits);
        }
        if self.diary.is_some() {
            let place = (ready.output, ready.output_vc);
            self.write(place, &ready.packet, |diary, now, page| {
                if let Diary::Packet(diary) = diary {
                    diary.queued(now, lane(ready), page);
                }
            });
        }
    }

    #[inline]
    fn has_room(&mut self, ready: &Ready) {
        if self.diary.is_some() {
            let place = (ready.output, ready.output_vc);
            self.write(place, &ready.packet, |diary, now, page| {
                if let Diary::Packet(diary) = diary {
                    diary.left(now, lane(ready), page);
                }
            });
        }
    }
}

impl<C: Context<Simulation>> Journal<input_queued::Undo> for Cables<'_, C> {
    const KEPT: bool = C::REVERSIBLE;

    fn note(&mut self, step: input_queued::Undo) {
        self.context.undo(Undo::InputQueued(step));
    }
}

impl<C: Context<Simulation>> Random for Cables<'_, C> {
    fn below(&mut self, bound: u32) -> u32 {
        Draws(&mut *self.context).below(bound)
    }
}

impl<C: Context<Simulation>> input_queued::Outputs for Cables<'_, C> {
    fn depart(&mut self, port: u16, vc: u8, packet: Packet, serialization: Time) {
        self.depart_after(port, vc, packet, Time::ZERO, serialization);
    }

    fn credit(&mut self, port: u16, vc: u8, bytes: u32, after: Time) {
        self.return_credit(port, vc, bytes, after);
    }

    fn due(&mut self, after: Time) {
        self.context.send(self.context.lp(), after, Fact::SwitchDue);
    }

    #[inline]
    fn keeps_diary(&self) -> bool {
        self.diary.is_some()
    }

    fn came(&mut self, packet: &Packet) {
        self.write((0, 0), packet, |diary, now, page| {
            if let Diary::InputQueued(diary) = diary {
                diary.arrived(now, page);
            }
        });
    }

    fn passes(&mut self, packet: &Packet, passage: Passage) {
        self.write((passage.output, passage.output_vc), packet, |diary, now, page| {
            if let Diary::InputQueued(diary) = diary {
                diary.sent(now, passage, page);
            }
        });
        self.told = 0;
    }
}
