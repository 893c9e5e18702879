//! Pending events of one worker, by window and by neighbourhood of LPs.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::event::Head;
use crate::prefetch::prefetch_end;
use crate::{Event, Time};

/// Windows ahead that have a bucket of their own, at least: most events are for the next few.
const NEAR: u64 = 4;

/// Windows of an epoch: events further ahead wait together, in the order in which they come, until theirs is
/// near. A busy model knows its events hundreds of windows ahead; spread at once over as many buckets as there are
/// windows and blocks, nearly every one of them would cost two misses of all caches.
const EPOCH: u64 = 2;

/// Buckets of windows: those that are near, and those of the epoch that has become so last.
const BUCKETS: usize = (NEAR + 2 * EPOCH) as usize;

/// Epochs ahead; what lies further waits in a heap.
const EPOCHS: u64 = 512;

/// Events of a chunk of an epoch.
const CHUNK: usize = 1024;

/// Blocks of LPs at most; a power of two.
const MAX_BLOCKS: u32 = 256;

/// LPs of a block at least, as a power of two: with fewer, blocks would hold too few events.
const MIN_BLOCK_BITS: u32 = 7;

/// A ring of buckets, one per window; a ring of epochs of several windows behind it; and a heap for the far
/// future (a timing wheel of two levels: G. Varghese, A. Lauck, IEEE/ACM Trans. Networking 5(6), 1997). Events of
/// one window come out together, unsorted but for the block of LPs that they go to: a window of a large model does
/// not fit the cache, a block of it does.
pub(crate) struct Calendar<P> {
    width: u64,
    /// First LP.
    first: u32,
    /// LPs per block, as a power of two.
    block_bits: u32,
    blocks: usize,
    /// Index of the window that the next `take` looks at first.
    window: u64,
    /// Its begin.
    begin: u64,
    ring: Box<[Option<Window<P>>; BUCKETS]>,
    /// Memory of windows that are done, for those to come: few windows hold events at any time, and
    /// theirs stays in the cache.
    spare: Vec<Window<P>>,
    /// Windows in the ring that hold events.
    near: usize,
    /// First window whose events wait with their epoch; the first of one.
    spread: u64,
    epochs: Box<[Epoch<P>]>,
    /// Epochs that hold events.
    waiting: usize,
    /// Memory of epochs that have been spread.
    chunks: Vec<Vec<Event<P>>>,
    far: BinaryHeap<Far<P>>,
}

/// The events of one window.
pub(crate) struct Window<P> {
    /// By block of LPs.
    pub(crate) blocks: Vec<Vec<Event<P>>>,
    /// Blocks that are not empty, in the order in which they got their first event.
    pub(crate) active: Vec<u32>,
}

/// The events of some windows that are not near yet.
struct Epoch<P> {
    /// All full but for the last.
    chunks: Vec<Vec<Event<P>>>,
    /// Time of the first of them.
    earliest: Time,
}

impl<P> Epoch<P> {
    const EMPTY: Epoch<P> = Epoch {
        chunks: Vec::new(),
        earliest: Time::MAX,
    };
}

/// An event in the heap; the earliest is the greatest.
struct Far<P>(Event<P>);

impl<P> PartialEq for Far<P> {
    fn eq(&self, other: &Self) -> bool {
        self.0.time == other.0.time
    }
}
impl<P> Eq for Far<P> {}
impl<P> PartialOrd for Far<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<P> Ord for Far<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.time.cmp(&self.0.time)
    }
}

impl<P: Copy> Calendar<P> {
    /// An empty calendar of windows as long as `width`, for events of these LPs.
    pub(crate) fn new(width: Time, lps: &Range<u32>) -> Self {
        let count = lps.len() as u32;
        let block_bits = count
            .div_ceil(MAX_BLOCKS)
            .next_power_of_two()
            .ilog2()
            .max(MIN_BLOCK_BITS);
        Calendar {
            width: width.0,
            first: lps.start,
            block_bits,
            blocks: (count as usize).div_ceil(1 << block_bits),
            window: 0,
            begin: 0,
            ring: Box::new([const { None }; BUCKETS]),
            spare: Vec::new(),
            near: 0,
            spread: NEAR,
            epochs: (0..EPOCHS).map(|_| Epoch::EMPTY).collect(),
            waiting: 0,
            chunks: Vec::new(),
            far: BinaryHeap::new(),
        }
    }

    /// LPs of a block, counted from the calendar's first LP.
    pub(crate) fn block_size(&self) -> usize {
        1 << self.block_bits
    }

    /// Begin and end of the window that holds `time`.
    pub(crate) fn bounds(&self, time: Time) -> (Time, Time) {
        let begin = time.0 / self.width * self.width;
        (Time(begin), Time(begin.saturating_add(self.width)))
    }

    /// Adds an event of a window that has not been taken yet.
    #[inline(always)]
    pub(crate) fn push(&mut self, head: Head, payload: P) {
        let window = self.window + self.windows_ahead(head.time);
        if window < self.spread {
            self.push_near(window, head, payload);
        } else {
            self.push_later(window, head.event(payload));
        }
    }

    /// [`Calendar::push`] of an event that is there already.
    pub(crate) fn add(&mut self, event: Event<P>) {
        let (head, payload) = event.into_parts();
        self.push(head, payload);
    }

    #[inline(never)]
    fn push_later(&mut self, window: u64, event: Event<P>) {
        let ahead = (window - self.spread) / EPOCH;
        if ahead >= EPOCHS {
            self.far.push(Far(event));
            return;
        }
        let epoch = &mut self.epochs[(window / EPOCH % EPOCHS) as usize];
        self.waiting += usize::from(epoch.chunks.is_empty());
        epoch.earliest = epoch.earliest.min(event.time);
        match epoch.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push(event),
            _ => {
                let mut chunk = self.chunks.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK));
                chunk.push(event);
                epoch.chunks.push(chunk);
            }
        }
    }

    /// Gives all windows that have become near their events.
    fn spread(&mut self) {
        if self.waiting == 0 {
            // Nothing is between: no need to go through it.
            self.spread = self
                .spread
                .max(self.window.saturating_add(NEAR) / EPOCH * EPOCH + EPOCH);
        }
        // Nothing is before the window that is taken next.
        self.spread = self.spread.max(self.window / EPOCH * EPOCH);
        while self.spread < self.window.saturating_add(NEAR) {
            let epoch = &mut self.epochs[(self.spread / EPOCH % EPOCHS) as usize];
            self.waiting -= usize::from(!epoch.chunks.is_empty());
            let Epoch { chunks, .. } = std::mem::replace(epoch, Epoch::EMPTY);
            self.spread += EPOCH;
            for mut chunk in chunks {
                for event in chunk.drain(..) {
                    let (head, payload) = event.into_parts();
                    self.push_near(head.time.0 / self.width, head, payload);
                }
                self.chunks.push(chunk);
            }
        }
        while let Some(Far(event)) = self.far.peek()
            && let window = event.time.0 / self.width
            && window < self.spread.saturating_add(EPOCH * EPOCHS)
        {
            let Far(event) = self.far.pop().expect("just seen");
            if window < self.spread {
                let (head, payload) = event.into_parts();
                self.push_near(window, head, payload);
            } else {
                self.push_later(window, event);
            }
        }
    }

    /// Whole windows between the next to be taken and that of `time`. Most events are for the next two
    /// or three, which are found without a division.
    #[inline(always)]
    fn windows_ahead(&self, time: Time) -> u64 {
        debug_assert!(time.0 >= self.begin);
        let ahead = time.0 - self.begin;
        match () {
            () if ahead < self.width => 0,
            () if ahead < 2 * self.width => 1,
            () if ahead < 3 * self.width => 2,
            () => ahead / self.width,
        }
    }

    #[inline(always)]
    fn push_near(&mut self, window: u64, head: Head, payload: P) {
        let slot = &mut self.ring[window as usize % BUCKETS];
        let bucket = slot.get_or_insert_with(|| {
            self.near += 1;
            self.spare.pop().unwrap_or_else(|| Window::new(self.blocks))
        });
        let block = (head.target.0 - self.first) >> self.block_bits;
        let events = &mut bucket.blocks[block as usize];
        if events.is_empty() {
            bucket.active.push(block);
        }
        events.push(head.event(payload));
        // Others come in between, and push this line out of the nearest cache.
        prefetch_end(events);
    }

    /// A time not after the earliest event, and in the same window; [`Time::MAX`] if there is none.
    pub(crate) fn next(&self) -> Time {
        if self.near > 0 {
            let ahead = (self.window..self.window + BUCKETS as u64)
                .find(|w| self.ring[*w as usize % BUCKETS].is_some())
                .expect("the ring is not empty");
            return Time(ahead * self.width);
        }
        if self.waiting > 0 {
            let first = self.spread / EPOCH;
            let mut epochs = (first..first + EPOCHS).map(|e| &self.epochs[(e % EPOCHS) as usize]);
            let epoch = epochs.find(|epoch| !epoch.chunks.is_empty());
            return epoch.expect("some epoch holds events").earliest;
        }
        self.far.peek().map_or(Time::MAX, |far| far.0.time)
    }

    /// Moves on to the window that holds `time`, which is not after the earliest event's, and takes its
    /// events. To be given back with [`Calendar::recycle`].
    pub(crate) fn take(&mut self, time: Time) -> Option<Window<P>> {
        self.window = time.0 / self.width;
        self.spread();
        let window = self.ring[self.window as usize % BUCKETS].take();
        self.near -= usize::from(window.is_some());
        self.window += 1;
        self.begin = self.window.saturating_mul(self.width);
        window
    }

    /// Takes back a window that is done; all its blocks are empty.
    pub(crate) fn recycle(&mut self, mut window: Window<P>) {
        debug_assert!(window.blocks.iter().all(Vec::is_empty));
        window.active.clear();
        self.spare.push(window);
    }

    /// All events that are left, in no particular order.
    pub(crate) fn events(&self) -> impl Iterator<Item = Event<P>> + '_ {
        let near = self
            .ring
            .iter()
            .flatten()
            .flat_map(|window| window.blocks.iter().flatten().copied());
        let later = self
            .epochs
            .iter()
            .flat_map(|epoch| epoch.chunks.iter().flatten().copied());
        near.chain(later).chain(self.far.iter().map(|far| far.0))
    }

    /// All events that are left.
    pub(crate) fn into_events(self) -> impl Iterator<Item = Event<P>> {
        let near = self
            .ring
            .into_iter()
            .flatten()
            .flat_map(|window| window.blocks.into_iter().flatten());
        let later = self
            .epochs
            .into_iter()
            .flat_map(|epoch| epoch.chunks.into_iter().flatten());
        near.chain(later).chain(self.far.into_iter().map(|far| far.0))
    }
}

impl<P> Window<P> {
    fn new(blocks: usize) -> Self {
        Window {
            blocks: (0..blocks).map(|_| Vec::new()).collect(),
            active: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LpId;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn windows_come_out_in_order_and_whole(times in proptest::collection::vec(0u64..500_000, 1..300), width in 1u64..200) {
            let lps = 100..217;
            let mut calendar = Calendar::new(Time(width), &lps);
            for (i, time) in times.iter().enumerate() {
                let target = LpId(100 + (*time % 117) as u32);
                calendar.add(Event { time: Time(*time), source: LpId(0), sequence: i as u32, target, payload: () });
            }
            let mut expected = times.clone();
            expected.sort_unstable();
            let mut seen = Vec::new();
            while calendar.next() != Time::MAX {
                let next = calendar.next();
                let (_, end) = calendar.bounds(next);
                let mut window = calendar.take(next).unwrap();
                let mut times = Vec::new();
                for block in window.active.clone() {
                    let events = &mut window.blocks[block as usize];
                    prop_assert!(!events.is_empty());
                    for event in events.drain(..) {
                        prop_assert_eq!((event.target.0 - 100) as usize / calendar.block_size(), block as usize);
                        times.push(event.time.0);
                    }
                }
                calendar.recycle(window);
                prop_assert!(times.iter().all(|t| *t < end.0 && *t >= end.0 - width));
                times.sort_unstable();
                seen.extend(times);
            }
            prop_assert_eq!(seen, expected);
        }
    }
}
