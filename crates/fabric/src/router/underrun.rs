//! Packets that wait until they cannot underrun on a faster output: the tail must come before the link needs it.
//!
//! A packet from a slow input waits for less time than its bytes take on the input link. So the next head on that link
//! comes later, and an input has at most one such packet. Under an optimistic executor a second one may come in a
//! timeline that is undone later; it is not kept.

use serde::{Deserialize, Serialize};

use super::routed_packet::RoutedPacket;

/// The packet of an input has waited until it cannot underrun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardExpired {
    /// Input port.
    pub input: u16,
}

/// By input port, the packet that waits. Empty until the first one comes.
#[derive(Clone, Debug, Default)]
pub(super) struct UnderrunGuards {
    by_input: Vec<Option<RoutedPacket>>,
}

impl UnderrunGuards {
    /// Keeps a packet. Returns whether its input had none.
    // Not inlined, to keep the code of networks with one link speed small.
    #[inline(never)]
    pub fn keep(&mut self, routed: &RoutedPacket) -> bool {
        let input = usize::from(routed.input);
        if self.by_input.len() <= input {
            self.by_input.resize(input + 1, None);
        }
        let kept = &mut self.by_input[input];
        let was_free = kept.is_none();
        kept.get_or_insert(*routed);
        was_free
    }

    /// Takes the packet of an input.
    #[inline(never)]
    pub fn take(&mut self, input: u16) -> Option<RoutedPacket> {
        self.by_input.get_mut(usize::from(input))?.take()
    }

    /// The packets, by input.
    pub fn iter(&self) -> impl Iterator<Item = &RoutedPacket> {
        self.by_input.iter().flatten()
    }

    /// Those that a state has.
    ///
    /// # Errors
    /// An input that has no port, or two packets.
    pub fn restored(packets: &[RoutedPacket], ports: usize) -> Result<UnderrunGuards, String> {
        let mut guards = UnderrunGuards::default();
        for routed in packets {
            if usize::from(routed.input) >= ports || !guards.keep(routed) {
                return Err("has another packet that waits for its tail".into());
            }
        }
        Ok(guards)
    }
}
