//! The seam of NIC models: what a port of a NIC is built from, what it does, and what it acts on.

use std::fmt::Debug;

use config::{Parameter, Section};
use des::{Journal, Time};
use routing::Random;
use serde::Serialize;
use serde::de::DeserializeOwned;
use topology::HostId;

use super::arbiter::NicArbiter;
use crate::capabilities::{FlitFlow, NicCapabilities};
use crate::router::{Registered, RouterModel};
use crate::{LinkUse, Measured, NicSource, Packet, PacketFate, PacketFormat, Rate, TrafficClasses};

/// What identifies a message to the layer above the NIC.
pub trait NicReport: Copy + Debug + Send + Sync + Serialize + DeserializeOwned + 'static {}

impl<T: Copy + Debug + Send + Sync + Serialize + DeserializeOwned + 'static> NicReport for T {}

/// A message for the network. `T` identifies it to the layer above.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<T> {
    /// The receiving end point.
    pub destination: HostId,
    /// Its number, which its packets carry.
    pub number: u32,
    /// Payload of its packets in bytes, at least 1.
    pub bytes: u64,
    /// Job.
    pub job: u16,
    /// The number that the job has for the source of the message on this host: one for each rank, and one for synthetic
    /// traffic.
    pub source: u16,
    /// Traffic class of the job.
    pub traffic_class: u8,
    /// Whether its packets count individually (see [`Packet::standalone`]).
    pub standalone: bool,
    /// Reported when the last byte has left.
    pub report: Option<T>,
}

/// The settings from which a port of any model is built.
#[derive(Clone, Copy, Debug)]
pub struct NicSetup {
    /// Its end point.
    pub end_point: HostId,
    /// Bandwidth at which it sends.
    pub rate: Rate,
    /// Bandwidth at which packets arrive.
    pub ejection: Rate,
    /// Sizes of packets.
    pub format: PacketFormat,
    /// Bytes that it may send into a virtual channel before the router returns any. Hosts inject into the copies of the
    /// first virtual channel of each class ([`TrafficClasses::copies_of`]).
    pub credits: u32,
    /// How routers move flits; `None`: whole packets.
    pub flits: Option<FlitFlow>,
    /// From the end of the cable until a flit is in the router's buffer: the injection delay and the router's pipeline.
    pub pipeline: Time,
    /// How sources share the port.
    pub arbiter: NicArbiter,
    /// The traffic classes.
    pub traffic_classes: TrafficClasses,
    /// The measured part of the run.
    pub measured: Measured,
}

/// One traffic class of a NIC port, as it is seen from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NicClassView {
    /// Bytes that wait to be sent, without headers.
    pub backlog: u64,
    /// Credits left, in bytes, of all virtual channels into which it injects.
    pub credits: u32,
}

/// Registry entry of a NIC model.
pub struct NicModelKind {
    /// Name in experiments, `fabricsim list` and the docs.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Parameters.
    pub parameters: &'static [Parameter],
    /// What shortcuts, checks and the audit may rely on, with parameters that are not given.
    pub capabilities: NicCapabilities,
}

/// Content of links besides packets and credits, as a NIC model sends and understands it.
pub type SignalOf<N> = <<N as NicModel>::Router as RouterModel>::Signal;

/// A model of one port of a NIC, with an injection link and an ejection link: a state machine like a router, which is
/// driven by method calls and acts through [`NicOutputs`].
///
/// Every method that changes the port notes an undo step ([`Journal`]). Under an optimistic executor it may receive a
/// credit for a packet that it has not sent in this timeline. So counters wrap, and no method panics.
pub trait NicModel: Sized {
    /// The registry entry.
    const MODEL: NicModelKind;

    /// Its parameters in experiments.
    type Parameters: Copy + Debug + PartialEq + Eq;
    /// Identifies a message to the layer above.
    type Report: NicReport;
    /// An undo step: at most 32 bytes.
    type Undo: Debug + Send;
    /// The mutable state of a port.
    type State: Serialize + DeserializeOwned;
    /// Content of a timer: at most 42 bytes, so that an event fits a cache line.
    type Timer: Copy + Debug + Send + Sync + Serialize + DeserializeOwned + 'static;
    /// The router model whose signals it sends and understands, the one that
    /// [`NicCapabilities::signals_of`] names. Without signals, any.
    type Router: Registered;

    /// Reads the parameters from the section `network.nic` of an experiment.
    ///
    /// # Errors
    /// A value is out of range or of a wrong type.
    fn read(section: &Section) -> Result<Self::Parameters, config::Error>;

    /// What a port with these parameters declares: that of the registry, unless they change it.
    fn capabilities(parameters: Self::Parameters) -> NicCapabilities {
        let _ = parameters;
        Self::MODEL.capabilities
    }

    /// Bandwidth at which a port passes packets on into memory; `None`: memory takes them as they arrive.
    fn memory_rate(parameters: Self::Parameters) -> Option<Rate> {
        let _ = parameters;
        None
    }

    /// Wait of a packet for the link to its host beyond which it is marked ([`Packet::set_mark`]); `None`: no packet is
    /// marked. Routers then need [`RouterCapabilities::waits_at_departure`](crate::RouterCapabilities).
    fn mark_after(parameters: Self::Parameters) -> Option<Time> {
        let _ = parameters;
        None
    }

    /// Memory of a port in bytes beside its own size, with these traffic classes.
    fn more_bytes(classes: &TrafficClasses, parameters: Self::Parameters) -> u64;

    /// An idle port.
    fn new(setup: &NicSetup, parameters: Self::Parameters) -> Self;

    /// Takes a message that is created at the second time, not before now. It is later than now only if
    /// [`NicModel::is_clear`].
    fn send<O: NicOutputs<Self>>(
        &mut self,
        times: (Time, Time),
        message: &Outgoing<Self::Report>,
        out: &mut O,
    );

    /// The router's input buffer has freed `bytes` bytes of a virtual channel.
    fn credit<O: NicOutputs<Self>>(&mut self, now: Time, vc: u8, bytes: u32, out: &mut O);

    /// A timer that was set by [`NicOutputs::timer`] expires. Returns the packet that is delivered now, if any.
    fn timer<O: NicOutputs<Self>>(&mut self, now: Time, timer: Self::Timer, out: &mut O) -> Option<Packet>;

    /// The tail of a packet has arrived from the network. Returns the packet that is delivered now, if any.
    #[inline(always)]
    fn arrived<O: NicOutputs<Self>>(&mut self, now: Time, packet: Packet, out: &mut O) -> Option<Packet> {
        let _ = (now, out);
        Some(packet)
    }

    /// A signal has arrived from the router. Returns the packet that is delivered now, if any.
    fn signal<O: NicOutputs<Self>>(
        &mut self,
        now: Time,
        signal: SignalOf<Self>,
        out: &mut O,
    ) -> Option<Packet> {
        let _ = (now, signal, out);
        None
    }

    /// Undoes one step that was noted in [`NicOutputs`]. Steps are undone in reverse order.
    fn undo(&mut self, step: Self::Undo);

    /// The mutable state. States that no input can distinguish are equal.
    fn state(&self) -> Self::State;

    /// Restores a saved state into a new port with the same settings.
    ///
    /// # Errors
    /// The state contradicts itself; the port is unchanged.
    fn restore(&mut self, state: Self::State) -> Result<(), String>;

    /// The source of a message, as its turns distinguish sources.
    fn source_of(&self, message: &Outgoing<Self::Report>) -> NicSource;

    /// Whether no message waits, and none of another traffic class can come.
    fn is_clear(&self) -> bool;

    /// Bytes that wait to be sent, without headers.
    fn backlog(&self) -> u64;

    /// Credits left of a virtual channel into which it injects, in bytes.
    fn credits(&self, vc: u8) -> u32;

    /// What waits of a class, and its credits; zeros without such a class.
    fn class_view(&self, class: u8) -> NicClassView;

    /// Packets that have arrived, and are neither delivered nor consumed yet.
    fn held_packets(&self) -> u64 {
        0
    }

    /// Use of the injection link until `end`.
    fn used(&self, end: Time) -> LinkUse;

    /// Whether its link is busy or blocked at `time` if no event comes before.
    fn is_active(&self, time: Time) -> bool;

    /// Prefetches the memory that its next packet touches.
    #[inline]
    fn prefetch(&self) {}
}

/// The outputs of a NIC, and the journal of its undo steps.
pub trait NicOutputs<N: NicModel>: Journal<N::Undo> {
    /// The packet of `source` starts onto the injection link after `wait`, to VC `vc`; its tail leaves `serialization`
    /// later. `last` tells whether it is the last packet of its message on this port.
    fn depart(
        &mut self,
        vc: u8,
        packet: Packet,
        source: NicSource,
        wait: Time,
        serialization: Time,
        last: bool,
    );

    /// As [`NicOutputs::depart`], for a message of one packet that was not queued.
    #[inline]
    fn depart_at_once(&mut self, vc: u8, packet: Packet, source: NicSource, wait: Time, serialization: Time) {
        self.depart(vc, packet, source, wait, serialization, true);
    }

    /// As [`NicOutputs::depart`], for a packet of the NIC itself ([`Packet::is_control`]).
    fn depart_control(&mut self, vc: u8, packet: Packet, wait: Time, serialization: Time) {
        self.depart(vc, packet, NicSource(0), wait, serialization, false);
    }

    /// Whether a reservation of the link that begins at this time may be made now.
    #[inline]
    fn sends_ahead(&self, start: Time) -> bool {
        let _ = start;
        false
    }

    /// [`NicModel::timer`] is called after this span.
    fn timer(&mut self, timer: N::Timer, after: Time);

    /// The signal starts onto the injection link after this span. It takes the latency of the cable.
    fn signal(&mut self, signal: SignalOf<N>, after: Time);

    /// Lookahead: the output of a packet at the first router, and the number of that router's ports. `None`: the output
    /// depends on more than the packet.
    fn first_output(&self, packet: &Packet) -> Option<(u16, u16)> {
        let _ = packet;
        None
    }

    /// The random stream of the host.
    fn random(&mut self) -> impl Random;

    /// Something becomes of the packet other than a departure or a delivery.
    fn fate(&mut self, packet: &Packet, fate: PacketFate);

    /// The last byte of a message leaves after this span.
    fn injected(&mut self, report: N::Report, after: Time);

    /// The next packet lacks credits.
    #[inline]
    fn lacks_credits(&mut self) {}

    /// The injection link was free from `since` to `until` while its next packet lacked credits.
    #[inline]
    fn link_stalled(&mut self, since: Time, until: Time) {
        let _ = (since, until);
    }
}
