//! The turns of a block of LPs in one window: which LPs have events, and which events each has.

use crate::{Event, prefetch};

/// No event: the end of an LP's list.
const NONE: u32 = u32::MAX;

/// Events of a block are asked for so many before they are looked at.
const AHEAD: usize = 8;

/// LPs of a block that have events in a window, in their order, each with its events as a list: that needs no
/// memory but one number per event.
#[derive(Default)]
pub(super) struct Agenda {
    turns: Vec<Turn>,
    /// By event: the next one of the same LP.
    next: Vec<u32>,
}

/// An LP whose turn comes.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    /// The LP, counted from the first of its worker.
    pub(super) local: u32,
    /// Place of one of its events.
    head: u32,
}

/// What filling an agenda needs for a moment; as large as a block.
pub(super) struct Sorter {
    /// By LP of the block: the event found last.
    heads: Vec<u32>,
    /// LPs that have events, one bit each.
    active: Vec<u64>,
}

impl Sorter {
    /// For blocks of so many LPs.
    pub(super) fn new(block: usize) -> Sorter {
        Sorter {
            heads: vec![NONE; block],
            active: vec![0; block.div_ceil(64)],
        }
    }
}

impl Agenda {
    /// The agenda of these events of a block whose LPs begin at `first`, counted from `origin`, the first LP of
    /// the worker.
    pub(super) fn fill<P>(&mut self, sorter: &mut Sorter, origin: u32, first: u32, events: &[Event<P>]) {
        assert!(
            events.len() < NONE as usize,
            "more than 2^32 events in one window"
        );
        let (heads, active) = (&mut sorter.heads[..], &mut sorter.active[..]);
        self.next.clear();
        self.next.extend(events.iter().enumerate().map(|(i, event)| {
            if let Some(soon) = events.get(i + AHEAD) {
                prefetch(soon);
            }
            let inside = (event.target.0 - origin - first) as usize;
            active[inside / 64] |= 1 << (inside % 64);
            std::mem::replace(&mut heads[inside], i as u32)
        }));
        self.turns.clear();
        for (word, bits) in active.iter_mut().enumerate() {
            let mut bits = std::mem::take(bits);
            while bits != 0 {
                let inside = word as u32 * 64 + bits.trailing_zeros();
                self.turns.push(Turn {
                    local: first + inside,
                    head: std::mem::replace(&mut heads[inside as usize], NONE),
                });
                bits &= bits - 1;
            }
        }
    }

    /// No turns.
    pub(super) fn clear(&mut self) {
        self.turns.clear();
    }

    /// The turns, in the order of the LPs.
    pub(super) fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// Places of the events of one turn, in no particular order.
    #[inline]
    pub(super) fn events(&self, turn: Turn) -> impl Iterator<Item = u32> + '_ {
        let there = |index: u32| (index != NONE).then_some(index);
        std::iter::successors(there(turn.head), move |index| there(self.next[*index as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LpId, Time};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_event_is_on_the_list_of_its_lp(blocks in prop::collection::vec(prop::collection::vec(0u32..130, 0..60), 1..4)) {
            let (origin, first) = (1000, 260);
            let mut sorter = Sorter::new(130);
            let mut agenda = Agenda::default();
            for targets in blocks {
                let event = |inside: &u32| Event {
                    time: Time(0),
                    source: LpId(0),
                    sequence: 0,
                    target: LpId(origin + first + inside),
                    payload: (),
                };
                let events: Vec<_> = targets.iter().map(event).collect();
                agenda.fill(&mut sorter, origin, first, &events);
                let mut seen = 0;
                for turn in agenda.turns() {
                    let of: Vec<u32> = agenda.events(*turn).collect();
                    prop_assert!(of.iter().all(|e| targets[*e as usize] + first == turn.local));
                    prop_assert!(!of.is_empty());
                    seen += of.len();
                }
                prop_assert_eq!(seen, targets.len());
                prop_assert!(agenda.turns().is_sorted_by_key(|turn| turn.local));
            }
        }
    }
}
