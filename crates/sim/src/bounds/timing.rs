//! How long the packets of a message take that meet no others: the formulas of `docs/methods/packet.md`, link by
//! link.

use topology::{HOST_LINK, LinkClass};

use crate::setup::network::Network;

/// Sizes and speeds that decide the latency of a message's packets.
pub struct Timing {
    /// Packets of a message.
    packets: u64,
    /// By link class: how long a full packet, and how long the last one takes on the wire, and the cable.
    classes: Vec<ClassTiming>,
    router_delay: u64,
}

#[derive(Clone, Copy)]
struct ClassTiming {
    full: u64,
    last: u64,
    latency: u64,
    /// The first class of the same speed.
    speed: u8,
}

/// What later links need to know of the earlier ones. Times are in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Behind {
    /// The last link's class, or one of the same speed.
    class: u8,
    /// A full packet on the slowest link so far: the distance of full packets.
    pace: u64,
    /// How much later than the first packet the last one starts on the last link.
    lag: u64,
}

/// What the ejection link adds, in picoseconds.
pub struct Tail {
    /// Mean over the packets of the message.
    pub mean: f64,
    /// The latest.
    pub max: f64,
}

impl Timing {
    /// Of messages of so many bytes.
    pub fn new(network: &Network, message_bytes: u64) -> Timing {
        let packets = message_bytes.div_ceil(u64::from(network.packet)).max(1);
        let last = (message_bytes - (packets - 1) * u64::from(network.packet)) as u32;
        let full = if packets == 1 { last } else { network.packet };
        let class = |index: usize| {
            let link = network.links[index];
            let same = |other: &crate::LinkSetting| other.rate == link.rate;
            ClassTiming {
                full: link.rate.serialization(full).ps(),
                last: link.rate.serialization(last).ps(),
                latency: link.latency.ps(),
                speed: network.links.iter().position(same).unwrap_or(index) as u8,
            }
        };
        Timing {
            packets,
            classes: (0..network.links.len()).map(class).collect(),
            router_delay: network.router_delay.ps(),
        }
    }

    fn class(&self, class: LinkClass) -> ClassTiming {
        self.classes[usize::from(class.0)]
    }

    /// Over the injection link: until the head of the first packet is through the first router.
    pub fn injection(&self) -> (Behind, u64) {
        let class = self.class(HOST_LINK);
        let behind = Behind {
            class: class.speed,
            pace: class.full,
            lag: (self.packets - 1) * class.full,
        };
        (behind, class.latency + self.router_delay)
    }

    /// Onto the next link: from the head's being through one router until it starts on the link.
    fn onto(&self, behind: Behind, next: LinkClass) -> (Behind, u64) {
        let (before, class) = (self.class(LinkClass(behind.class)), self.class(next));
        // It must not run dry.
        let wait = before.full.saturating_sub(class.full);
        let pace = behind.pace.max(class.full);
        let lag = match self.packets {
            1 => 0,
            // The last packet must not run dry either, nor overtake the one before it.
            packets => {
                let ready = behind.lag + before.last.saturating_sub(class.last);
                ready.saturating_sub(wait).max((packets - 2) * pace + class.full)
            }
        };
        let behind = Behind {
            class: class.speed,
            pace,
            lag,
        };
        (behind, wait)
    }

    /// Over a link to the next router: until the head of the first packet is through that.
    pub fn link(&self, behind: Behind, class: LinkClass) -> (Behind, u64) {
        let (behind, wait) = self.onto(behind, class);
        (behind, wait + self.class(class).latency + self.router_delay)
    }

    /// Over the ejection link: until the tails are there.
    pub fn ejection(&self, behind: Behind) -> Tail {
        let (behind, wait) = self.onto(behind, HOST_LINK);
        let class = self.class(HOST_LINK);
        let before = (wait + class.latency) as f64;
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
