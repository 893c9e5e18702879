//! The pending events of one thread of the optimistic executor, in the total order.
//!
//! A calendar queue (R. Brown, CACM 31(10), 1988) whose buckets are sorted only when their turn comes: an
//! event is appended to its bucket and sorted once, where a heap would move it through memory several
//! times. What is earlier than the end of the bucket at work, as after a rollback, goes to a heap beside it.

use std::collections::BinaryHeap;

use crate::Time;
use crate::event::Indexed;

/// Buckets ahead of the one at work; what lies further ahead waits in a heap.
const BUCKETS: usize = 1024;

/// Events that a bucket should hold: fewer cost more buckets, more cost the cache.
const WANTED: std::ops::Range<usize> = 8..128;

/// Buckets between two looks at how many events they held.
const LOOKS: usize = 16;

pub(super) struct Pending {
    /// Width of a bucket in ps.
    width: u64,
    /// Number of the bucket that comes next, counted from time zero.
    next: u64,
    /// The bucket at work, latest first.
    current: Vec<Indexed>,
    /// Of the time up to the end of the bucket at work.
    early: BinaryHeap<Indexed>,
    ring: Vec<Vec<Indexed>>,
    /// Events in the ring.
    near: usize,
    far: BinaryHeap<Indexed>,
    /// Buckets opened and events in them since the last look.
    opened: usize,
    held: usize,
}

impl Pending {
    /// None so far; `width` is a first guess at what holds some hundred events.
    pub(super) fn new(width: Time) -> Pending {
        Pending {
            width: width.0.max(1),
            next: 0,
            current: Vec::new(),
            early: BinaryHeap::new(),
            ring: (0..BUCKETS).map(|_| Vec::new()).collect(),
            near: 0,
            far: BinaryHeap::new(),
            opened: 0,
            held: 0,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, entry: Indexed) {
        let bucket = entry.key.time.0 / self.width;
        if bucket < self.next {
            self.early.push(entry);
        } else if bucket - self.next < BUCKETS as u64 {
            self.ring[bucket as usize % BUCKETS].push(entry);
            self.near += 1;
        } else {
            self.far.push(entry);
        }
    }

    /// The first in the total order.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<Indexed> {
        loop {
            match (self.current.last(), self.early.peek()) {
                (Some(current), Some(early)) if early.key < current.key => return Some(*early),
                (Some(current), _) => return Some(*current),
                (None, Some(early)) => return Some(*early),
                (None, None) => self.advance()?,
            }
        }
    }

    /// Takes the first, which [`Pending::peek`] has shown.
    #[inline]
    pub(super) fn pop(&mut self) {
        match (self.current.last(), self.early.peek()) {
            (Some(current), Some(early)) if early.key < current.key => drop(self.early.pop()),
            (Some(_), _) => drop(self.current.pop()),
            (None, _) => drop(self.early.pop()),
        }
    }

    /// Opens the next bucket that holds anything; none if nothing is left.
    fn advance(&mut self) -> Option<()> {
        if self.opened >= LOOKS {
            self.fit();
        }
        let bucket = match self.near {
            0 => self.far.peek()?.key.time.0 / self.width,
            _ => (self.next..)
                .find(|bucket| !self.ring[*bucket as usize % BUCKETS].is_empty())
                .expect("the ring is not empty"),
        };
        self.next = bucket;
        while let Some(first) = self.far.peek()
            && first.key.time.0 / self.width - self.next < BUCKETS as u64
        {
            let place = (first.key.time.0 / self.width) as usize % BUCKETS;
            self.ring[place].extend(self.far.pop());
            self.near += 1;
        }
        std::mem::swap(&mut self.current, &mut self.ring[bucket as usize % BUCKETS]);
        self.next = bucket.saturating_add(1);
        self.near -= self.current.len();
        self.opened += 1;
        self.held += self.current.len();
        // The order of `Indexed` is that of a heap: latest first.
        self.current.sort_unstable();
        Some(())
    }

    /// Makes buckets wider or narrower if they have held too few events or too many.
    fn fit(&mut self) {
        let mean = self.held / self.opened;
        (self.opened, self.held) = (0, 0);
        let width = match mean {
            _ if mean < WANTED.start => self.width.saturating_mul(2).min(1 << 50),
            _ if mean >= WANTED.end => (self.width / 2).max(1),
            _ => return,
        };
        if width == self.width {
            return;
        }
        let all: Vec<Indexed> = self.iter().copied().collect();
        // What came before the next bucket still does.
        let begin = self.next.saturating_mul(self.width);
        self.width = width;
        self.next = begin / width;
        self.ring.iter_mut().for_each(Vec::clear);
        self.near = 0;
        self.far.clear();
        self.early.clear();
        self.current.clear();
        all.into_iter().for_each(|entry| self.push(entry));
    }

    /// All of them, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Indexed> {
        let near = self.ring.iter().flatten();
        self.current
            .iter()
            .chain(&self.early)
            .chain(near)
            .chain(&self.far)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LpId;
    use crate::event::Key;
    use proptest::prelude::*;

    proptest! {
        /// As a heap, also for events that come before those already taken.
        #[test]
        fn agrees_with_a_heap(
            width in 1u64..2_000,
            steps in proptest::collection::vec((0u64..2_000_000, 0u32..4, 0u8..9), 1..2_000),
        ) {
            let (mut pending, mut heap) = (Pending::new(Time(width)), BinaryHeap::new());
            let mut now = 0u64;
            for (index, (span, takes, kind)) in steps.into_iter().enumerate() {
                let time = match kind {
                    0 => now.saturating_sub(span / 100),
                    1 => now + span,
                    _ => now + span / 1000,
                };
                let entry = Indexed { key: Key::new(Time(time), LpId(0), index as u32), index: index as u32 };
                pending.push(entry);
                heap.push(entry);
                for _ in 0..takes {
                    let first = heap.pop();
                    prop_assert_eq!(pending.peek().map(|entry| entry.key), first.map(|entry| entry.key));
                    if let Some(first) = first {
                        pending.pop();
                        now = first.key.time.0;
                    }
                }
                prop_assert_eq!(pending.iter().count(), heap.len());
            }
            while let Some(first) = heap.pop() {
                prop_assert_eq!(pending.peek().map(|entry| entry.key), Some(first.key));
                pending.pop();
            }
            prop_assert!(pending.peek().is_none());
        }
    }
}
