//! Pending events of one worker, by window.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::{Event, Time};

/// Windows that have a bucket of their own; what lies further ahead waits in a heap.
const BUCKETS: usize = 1024;

/// A ring of buckets, one per window, and a heap for the far future. Events of one window come out
/// together, unsorted.
pub(crate) struct Calendar<P> {
    width: u64,
    /// Index of the window that the next `take` looks at first.
    window: u64,
    ring: Vec<Vec<Event<P>>>,
    /// Events in the ring.
    near: usize,
    far: BinaryHeap<Far<P>>,
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
    pub(crate) fn new(width: Time) -> Self {
        Calendar {
            width: width.0,
            window: 0,
            ring: (0..BUCKETS).map(|_| Vec::new()).collect(),
            near: 0,
            far: BinaryHeap::new(),
        }
    }

    /// End of the window that holds `time`.
    pub(crate) fn window_end(&self, time: Time) -> Time {
        Time((time.0 / self.width + 1).saturating_mul(self.width))
    }

    /// Adds an event of a window that has not been taken yet.
    #[inline]
    pub(crate) fn push(&mut self, event: Event<P>) {
        let window = event.time.0 / self.width;
        debug_assert!(window >= self.window);
        if window - self.window < BUCKETS as u64 {
            self.ring[window as usize % BUCKETS].push(event);
            self.near += 1;
        } else {
            self.far.push(Far(event));
        }
    }

    /// A time not after the earliest event, and in the same window; [`Time::MAX`] if there is none.
    pub(crate) fn next(&self) -> Time {
        if self.near > 0 {
            let ahead = (self.window..self.window + BUCKETS as u64)
                .find(|w| !self.ring[*w as usize % BUCKETS].is_empty())
                .expect("the ring is not empty");
            return Time(ahead * self.width);
        }
        self.far.peek().map_or(Time::MAX, |far| far.0.time)
    }

    /// Moves on to the window that holds `time`, which is not after the earliest event's, and takes its
    /// events into `out`, which must be empty (and whose memory serves the ring from then on).
    pub(crate) fn take(&mut self, time: Time, out: &mut Vec<Event<P>>) {
        debug_assert!(out.is_empty());
        self.window = time.0 / self.width;
        while self
            .far
            .peek()
            .is_some_and(|far| far.0.time.0 / self.width - self.window < BUCKETS as u64)
        {
            let Far(event) = self.far.pop().expect("just seen");
            self.ring[(event.time.0 / self.width) as usize % BUCKETS].push(event);
            self.near += 1;
        }
        std::mem::swap(out, &mut self.ring[self.window as usize % BUCKETS]);
        self.near -= out.len();
        self.window += 1;
    }

    /// All events that are left.
    pub(crate) fn into_events(self) -> impl Iterator<Item = Event<P>> {
        self.ring
            .into_iter()
            .flatten()
            .chain(self.far.into_iter().map(|far| far.0))
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
            let mut calendar = Calendar::new(Time(width));
            for (i, time) in times.iter().enumerate() {
                calendar.push(Event { time: Time(*time), source: LpId(0), sequence: i as u32, target: LpId(0), payload: () });
            }
            let mut expected = times.clone();
            expected.sort_unstable();
            let mut out = Vec::new();
            let mut seen = Vec::new();
            while calendar.next() != Time::MAX {
                let next = calendar.next();
                let end = calendar.window_end(next);
                calendar.take(next, &mut out);
                prop_assert!(!out.is_empty());
                let mut window: Vec<u64> = out.drain(..).map(|e| e.time.0).collect();
                window.sort_unstable();
                prop_assert!(window.iter().all(|t| *t < end.0 && *t >= end.0 - width));
                seen.extend(window);
            }
            prop_assert_eq!(seen, expected);
        }
    }
}
