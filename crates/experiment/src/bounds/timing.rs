//! Latency of the packets of a message in an idle network: the formulas of `docs/methods/packet.md`, link by link.

use fabric::Rate;
use topology::{HOST_LINK, HostId, LinkClass, RouterId};

use crate::setup::network::NetworkModel;

/// Number of routers to which the distance from the first router is asked.
const SAMPLED_ROUTERS: u32 = 4096;

/// An estimate of the longest time of a message of this size in an idle network, in picoseconds, for any routing: a
/// detour of twice the longest distance over the slowest links, and the message on the slowest link.
///
/// The longest distance is that from the router of the first host to [`SAMPLED_ROUTERS`] others, in even steps. In a
/// network that looks different from other routers it may be half of the true one.
pub fn longest_idle_ps(network: &NetworkModel, bytes: u64) -> u64 {
    let topology = network.topology.as_ref();
    let from = network.attachment(HostId(0), 0).0;
    let step = topology.routers().div_ceil(SAMPLED_ROUTERS).max(1) as usize;
    let distances = (0..topology.routers()).step_by(step);
    let distances = distances.map(|router| topology.distance(from, RouterId(router)));
    // Two planes have no distance.
    let longest = distances
        .filter(|distance| *distance != u32::MAX)
        .max()
        .unwrap_or(0);
    let latency = network
        .links
        .iter()
        .map(|link| link.to_router().ps())
        .max()
        .unwrap_or(0);
    let payload = network.packet.payload.min(bytes.try_into().unwrap_or(u32::MAX));
    let serialization = |bytes: u32| {
        let times = network
            .links
            .iter()
            .map(|link| link.rate.serialization(bytes).ps());
        times.max().unwrap_or(0)
    };
    let links = u64::from(2 * longest + 2);
    let nics = network.nic_injection_delay + network.nic_reception_delay;
    let path = links * latency + nics.ps();
    let packet = payload + network.packet.header;
    let of_nics = [Some(network.injection), network.router_models.memory_rate()];
    let of_nics = of_nics
        .iter()
        .flatten()
        .map(|rate| rate.serialization(packet).ps());
    let slowest = of_nics.fold(serialization(packet), u64::max);
    path + network.packet.packets(bytes) * slowest
}

/// Sizes and speeds that determine the latency of the packets of a message.
pub struct Timing {
    /// Number of packets of a message.
    packets: u64,
    /// By link class: serialisation of a full packet and of the last packet, and latencies.
    classes: Vec<LinkClassTiming>,
    /// Delay of the sending NIC.
    injection_delay: u64,
    /// Delay of the receiving NIC.
    reception_delay: u64,
    /// The injection link, behind the classes of the network.
    injection: LinkClass,
    /// The way of the receiving NIC into memory, the last of the classes; `None` if it takes no time.
    memory: Option<LinkClass>,
}

#[derive(Clone, Copy)]
struct LinkClassTiming {
    full: u64,
    last: u64,
    /// Latency of the cable.
    latency: u64,
    /// Latency of the cable and of the router behind it.
    to_router: u64,
    /// The first class with the same speed.
    speed: u8,
}

/// The state that later links need of earlier ones. Times are in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Upstream {
    /// Class of the last link, or one of the same speed.
    class: u8,
    /// Serialisation of a full packet on the slowest link so far, which is the distance of full packets.
    pace: u64,
    /// Start of the last packet minus start of the first packet, on the last link.
    lag: u64,
}

/// Latency of the ejection link, in picoseconds.
pub struct Tail {
    /// Mean over the packets of the message.
    pub mean: f64,
    /// Maximum over the packets of the message.
    pub max: f64,
}

impl Timing {
    /// The timing of messages of this size.
    pub fn new(network: &NetworkModel, message_bytes: u64) -> Timing {
        let packet = network.packet;
        let packets = packet.packets(message_bytes);
        let last = (message_bytes - (packets - 1) * u64::from(packet.payload)) as u32 + packet.header;
        let full = if packets == 1 { last } else { packet.largest() };
        let class = |index: usize| {
            let link = network.links[index];
            let same = |other: &crate::LinkSetting| other.rate == link.rate;
            LinkClassTiming {
                full: link.rate.serialization(full).ps(),
                last: link.rate.serialization(last).ps(),
                latency: link.latency.ps(),
                to_router: link.to_router().ps(),
                speed: network.links.iter().position(same).unwrap_or(index) as u8,
            }
        };
        let mut classes: Vec<LinkClassTiming> = (0..network.links.len()).map(class).collect();
        let mut add = |rate: Rate| {
            let speed = classes.len() as u8;
            classes.push(LinkClassTiming {
                full: rate.serialization(full).ps(),
                last: rate.serialization(last).ps(),
                speed,
                ..class(usize::from(HOST_LINK.0))
            });
            LinkClass(speed)
        };
        let injection = match network.injection == network.links[usize::from(HOST_LINK.0)].rate {
            true => HOST_LINK,
            false => add(network.injection),
        };
        let memory = network.router_models.memory_rate().map(add);
        Timing {
            packets,
            classes,
            injection,
            memory,
            injection_delay: network.nic_injection_delay.ps(),
            reception_delay: network.nic_reception_delay.ps(),
        }
    }

    fn class(&self, class: LinkClass) -> LinkClassTiming {
        self.classes[usize::from(class.0)]
    }

    /// Crosses the injection link, until the head of the first packet has passed the first router.
    pub fn injection(&self) -> (Upstream, u64) {
        let class = self.class(self.injection);
        let behind = Upstream {
            class: class.speed,
            pace: class.full,
            lag: (self.packets - 1) * class.full,
        };
        (behind, self.injection_delay + class.to_router)
    }

    /// Enters the next link: from the head's passing a router until it starts on the link.
    fn onto(&self, behind: Upstream, next: LinkClass) -> (Upstream, u64) {
        let (before, class) = (self.class(LinkClass(behind.class)), self.class(next));
        // The link must not underrun.
        let wait = before.full.saturating_sub(class.full);
        let pace = behind.pace.max(class.full);
        let lag = match self.packets {
            1 => 0,
            // The last packet must not underrun either, nor overtake its predecessor.
            packets => {
                let ready = behind.lag + before.last.saturating_sub(class.last);
                ready.saturating_sub(wait).max((packets - 2) * pace + class.full)
            }
        };
        let behind = Upstream {
            class: class.speed,
            pace,
            lag,
        };
        (behind, wait)
    }

    /// Crosses a link to the next router, until the head of the first packet has passed it.
    pub fn link(&self, behind: Upstream, class: LinkClass) -> (Upstream, u64) {
        let (behind, wait) = self.onto(behind, class);
        (behind, wait + self.class(class).to_router)
    }

    /// Crosses the ejection link and the way into memory, until the tails have arrived.
    pub fn ejection(&self, behind: Upstream) -> Tail {
        let (mut behind, wait) = self.onto(behind, HOST_LINK);
        let mut class = self.class(HOST_LINK);
        let mut before = wait + class.latency + self.reception_delay;
        if let Some(memory) = self.memory {
            let (through, wait) = self.onto(behind, memory);
            behind = through;
            class = self.class(memory);
            before += wait;
        }
        let before = before as f64;
        let last = (behind.lag + class.last) as f64;
        if self.packets == 1 {
            return Tail {
                mean: before + last,
                max: before + last,
            };
        }
        let full_packets = (self.packets - 1) as f64;
        let (pace, full) = (behind.pace as f64, class.full as f64);
        let sum = full_packets * full + pace * full_packets * (full_packets - 1.0) / 2.0 + last;
        Tail {
            mean: before + sum / self.packets as f64,
            max: before + last.max((full_packets - 1.0) * pace + full),
        }
    }
}
