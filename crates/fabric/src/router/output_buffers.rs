//! Output buffers of limited size: packets that have taken the crossbar of a router and whose tails have not left.

use std::collections::VecDeque;

use des::Time;
use serde::{Deserialize, Serialize};

/// A packet in an output buffer, whose tail has not left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UnsentPacket {
    /// The time at which its tail leaves the link.
    pub(super) until: Time,
    /// Its bytes.
    pub(super) bytes: u32,
}

/// The output buffers of a router.
///
/// The times at which tails leave are known in advance. So the space at a time follows from the packets, and those that
/// have left need no event; they are removed when the next packet comes.
#[derive(Clone, Debug, Default)]
pub(super) struct OutputBuffers {
    /// Size of each in bytes.
    size: u32,
    /// By output, in the order of departure; no outputs if the buffers have no limit.
    held: Vec<VecDeque<UnsentPacket>>,
}

impl OutputBuffers {
    /// Buffers of this size for so many outputs; without a size they have no limit.
    pub(super) fn new(size: Option<u32>, outputs: usize) -> OutputBuffers {
        match size {
            Some(size) => OutputBuffers {
                size,
                held: vec![VecDeque::new(); outputs],
            },
            None => OutputBuffers::default(),
        }
    }

    /// Size of each in bytes, if it is limited.
    #[inline]
    pub(super) fn size(&self) -> Option<u32> {
        (!self.held.is_empty()).then_some(self.size)
    }

    /// Whether a packet of this size has space at this time.
    #[inline]
    pub(super) fn has_space(&self, now: Time, output: u16, bytes: u32) -> bool {
        self.held
            .get(usize::from(output))
            .is_none_or(|held| self.fits(held, now, bytes))
    }

    fn fits(&self, held: &VecDeque<UnsentPacket>, now: Time, bytes: u32) -> bool {
        let newest_first = held.iter().rev().take_while(|held| held.until > now);
        let taken: u64 = newest_first.map(|held| u64::from(held.bytes)).sum();
        taken + u64::from(bytes) <= u64::from(self.size)
    }

    /// Removes one packet that has left by now, if there is one.
    pub(super) fn remove_left(&mut self, now: Time, output: u16) -> Option<UnsentPacket> {
        let held = self.held.get_mut(usize::from(output))?;
        held.front().filter(|held| held.until <= now)?;
        held.pop_front()
    }

    /// Undoes [`OutputBuffers::remove_left`].
    pub(super) fn undo_remove(&mut self, output: u16, left: UnsentPacket) {
        self.held[usize::from(output)].push_front(left);
    }

    /// A packet takes its space.
    pub(super) fn add(&mut self, output: u16, added: UnsentPacket) {
        self.held[usize::from(output)].push_back(added);
    }

    /// Undoes [`OutputBuffers::add`].
    pub(super) fn undo_add(&mut self, output: u16) {
        self.held[usize::from(output)].pop_back();
    }

    /// The packets, for a saved state.
    pub(super) fn state(&self) -> Vec<VecDeque<UnsentPacket>> {
        self.held.clone()
    }

    /// Whether a saved state belongs to buffers of this size: packets leave one after the other.
    pub(super) fn allows(&self, state: &[VecDeque<UnsentPacket>]) -> bool {
        let in_order = |held: &VecDeque<UnsentPacket>| held.iter().is_sorted_by_key(|held| held.until);
        state.len() == self.held.len() && state.iter().all(in_order)
    }

    /// Restores a saved state that is allowed.
    pub(super) fn restore(&mut self, state: Vec<VecDeque<UnsentPacket>>) {
        self.held = state;
    }
}
