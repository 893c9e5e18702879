//! The pending events of the sequential executor, in the total order.
//!
//! A calendar queue (R. Brown, CACM 31(10), 1988) whose buckets are sorted only when they become current. An event is
//! appended to its bucket and sorted once, where a heap would move it through memory several times. Events before the
//! end of the current bucket go to a separate heap.

use std::collections::BinaryHeap;

use crate::Time;
use crate::event::Indexed;

/// Number of future buckets. Later events wait in a heap.
const BUCKETS: usize = 1024;

/// Target number of events per bucket. Fewer events cost more buckets, more events cost cache misses.
const WANTED: std::ops::Range<usize> = 8..128;

/// Least number of buckets between two adjustments of their width.
const LOOKS: usize = 16;

pub(crate) struct Pending {
    /// Width of a bucket, in ps.
    width: u64,
    /// Number of the next bucket, counted from time zero.
    next: u64,
    /// The current bucket, latest first.
    current: Vec<Indexed>,
    /// Events before the end of the current bucket that arrived after it was sorted.
    early: BinaryHeap<Indexed>,
    ring: Box<[Vec<Indexed>; BUCKETS]>,
    /// Number of events in the ring.
    near: usize,
    far: BinaryHeap<Indexed>,
    /// Buckets opened, and events in them, since the last adjustment.
    opened: usize,
    held: usize,
    /// Those of them that were in buckets with events of several times.
    mixed: usize,
    /// Events that came from the heap to their bucket since then.
    came: usize,
}

impl Pending {
    /// An empty queue. `width` is a first estimate of the bucket width, in ps.
    pub(crate) fn new(width: Time) -> Pending {
        Pending {
            width: width.0.max(1),
            next: 0,
            current: Vec::new(),
            early: BinaryHeap::new(),
            ring: Box::new([const { Vec::new() }; BUCKETS]),
            near: 0,
            far: BinaryHeap::new(),
            opened: 0,
            held: 0,
            mixed: 0,
            came: 0,
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, entry: Indexed) {
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

    /// The first event in the total order.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<Indexed> {
        loop {
            match (self.current.last(), self.early.peek()) {
                (Some(current), Some(early)) if early.key < current.key => return Some(*early),
                (Some(current), _) => return Some(*current),
                (None, Some(early)) => return Some(*early),
                (None, None) => self.advance()?,
            }
        }
    }

    /// Removes the event that [`Pending::peek`] returned.
    #[inline]
    pub(crate) fn pop(&mut self) {
        match (self.current.last(), self.early.peek()) {
            (Some(current), Some(early)) if early.key < current.key => drop(self.early.pop()),
            (Some(_), _) => drop(self.current.pop()),
            (None, _) => drop(self.early.pop()),
        }
    }

    /// Opens the next non-empty bucket. Returns false if no event is left.
    fn advance(&mut self) -> Option<()> {
        // As many events as are pending, so that an adjustment, which moves all of them, costs each event one move. In
        // models with a clock fewer of them are part of a cycle, and buckets at its ticks hold thousands of events
        // where others hold a few: widths would never settle.
        if self.opened >= LOOKS && self.held >= self.near + self.far.len() {
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
            self.came += 1;
        }
        std::mem::swap(&mut self.current, &mut self.ring[bucket as usize % BUCKETS]);
        self.next = bucket.saturating_add(1);
        self.near -= self.current.len();
        self.opened += 1;
        self.held += self.current.len();
        // `Indexed` has the order of a heap: latest first.
        self.current.sort_unstable();
        if let [last, .., first] = &*self.current
            && first.key.time != last.key.time
        {
            self.mixed += self.current.len();
        }
        Some(())
    }

    /// Makes buckets wider or narrower if they held too few or too many events. Also wider if most events are beyond
    /// the ring, and buckets do not hold too many then: the heap of far events costs more than the sorting of a bucket.
    ///
    /// A bucket whose events have one time cannot be divided. Models with a clock have thousands of such events:
    /// narrower buckets would only bring the later cycles into the heap.
    fn fit(&mut self) {
        let mean = self.held / self.opened;
        let is_far = self.came > self.held / 2 && mean < WANTED.end / 2;
        let divisible = self.mixed / self.opened;
        (self.opened, self.held, self.mixed, self.came) = (0, 0, 0, 0);
        let width = match mean {
            _ if mean < WANTED.start || is_far => self.width.saturating_mul(2).min(1 << 50),
            _ if divisible >= WANTED.end => (self.width / 2).max(1),
            _ => return,
        };
        if width == self.width {
            return;
        }
        let all: Vec<Indexed> = self.iter().copied().collect();
        // Earlier events stay before the next bucket.
        let start = self.next.saturating_mul(self.width);
        self.width = width;
        self.next = start / width;
        self.ring.iter_mut().for_each(Vec::clear);
        self.near = 0;
        self.far.clear();
        self.early.clear();
        self.current.clear();
        all.into_iter().for_each(|entry| self.push(entry));
    }

    /// All pending events, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Indexed> {
        let near = self.ring.iter().flatten();
        self.current
            .iter()
            .chain(&self.early)
            .chain(near)
            .chain(&self.far)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::LpId;
    use crate::event::Key;
    use proptest::prelude::*;

    proptest! {
        /// Behaves as a heap, also for events before those already removed.
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
