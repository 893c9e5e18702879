//! Pending events of one worker, by window and by strip of LPs.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashSet};
use std::ops::Range;

use crate::event::{Head, Key};
use crate::prefetch::prefetch_end;
use crate::{Event, LpId, Time};

/// Least number of future windows with a bucket of their own. Most events are for the next few windows.
const NEAR: u64 = 4;

/// Windows of an epoch. Events of a later epoch stay in one list, in order of arrival, until the epoch is near. A
/// busy model has events hundreds of windows ahead. With a bucket for every window and strip, nearly every one of
/// them would cost two cache misses.
const EPOCH: u64 = 2;

/// Number of window buckets: the near windows, those of the epoch that has become near last, and some earlier ones, to
/// which the calendar can go back at no cost.
const BUCKETS: usize = 16;

const _: () = assert!(BUCKETS as u64 >= NEAR + 2 * EPOCH, "near windows have buckets");

/// Number of epochs in the ring.
const EPOCHS: u64 = 512;

/// Windows of an era, into which the time after the epochs is divided. With a lookahead of picoseconds, most events are
/// thousands of windows ahead.
const ERA: u64 = EPOCH * EPOCHS / 2;

/// Number of eras in their ring. Later events wait in a heap.
const ERAS: u64 = 1024;

/// Number of events of a chunk of an epoch.
const CHUNK: usize = 1024;

/// Largest number of strips of LPs; a power of two.
const MAX_STRIPS: u32 = 256;

/// Least number of LPs of a strip, as a power of two. Smaller strips would hold too few events.
const MIN_STRIP_BITS: u32 = 7;

/// A ring of buckets, one per window, rings of epochs and of eras of several windows behind it, and a heap for later
/// events (a timing wheel of three levels: G. Varghese, A. Lauck, IEEE/ACM Trans. Networking 5(6), 1997). Events of one
/// window are unsorted except for the strip of their LP. A window of a large model does not fit the cache, but a strip
/// of it does.
pub(crate) struct Calendar<P> {
    width: u64,
    /// 2^64 over the width, rounded up; zero for a width of 1 ps.
    reciprocal: u64,
    /// The first LP.
    first: u32,
    /// LPs per strip, as a power of two.
    strip_bits: u32,
    strips: usize,
    /// Index of the window that the next `take` visits first.
    window: u64,
    /// Start of that window.
    start: u64,
    ring: Box<[Option<Window<P>>; BUCKETS]>,
    /// Memory of completed windows, for reuse. Few windows hold events at any time, and their memory stays in the
    /// cache.
    unused: Vec<Window<P>>,
    /// Number of windows in the ring that hold events.
    near: usize,
    /// First window whose events are still in an epoch; the first window of that epoch.
    spread: u64,
    epochs: Box<[Epoch<P>]>,
    /// Number of epochs that hold events.
    waiting: usize,
    /// First window whose events are still in an era; the first window of that era.
    horizon: u64,
    /// Empty until an event is that far.
    eras: Vec<Epoch<P>>,
    /// Number of eras that hold events.
    waiting_eras: usize,
    /// Memory of spread epochs and eras, for reuse.
    chunks: Vec<Vec<Event<P>>>,
    far: BinaryHeap<Far<P>>,
    /// Removed events that are still in an era or the heap.
    removed: HashSet<Key>,
}

/// Events of one window.
pub(crate) struct Window<P> {
    /// By strip of LPs.
    pub(crate) strips: Vec<Vec<Event<P>>>,
    /// Non-empty strips, in the order of their first event.
    pub(crate) active: Vec<u32>,
}

/// Events of the windows of one epoch or era.
struct Epoch<P> {
    /// All chunks except the last are full.
    chunks: Vec<Vec<Event<P>>>,
    /// Time of the first event.
    earliest: Time,
}

impl<P> Epoch<P> {
    const EMPTY: Epoch<P> = Epoch {
        chunks: Vec::new(),
        earliest: Time::MAX,
    };

    fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Adds an event, in a chunk of `unused` if it needs one.
    fn push(&mut self, event: Event<P>, unused: &mut Vec<Vec<Event<P>>>) {
        self.earliest = self.earliest.min(event.time);
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push(event),
            _ => {
                let mut chunk = unused.pop().unwrap_or_default();
                chunk.push(event);
                self.chunks.push(chunk);
            }
        }
    }
}

impl<P: Copy> Epoch<P> {
    fn events(&self) -> impl Iterator<Item = Event<P>> + '_ {
        self.chunks.iter().flatten().copied()
    }
}

/// The first window of the eras, where windows from `spread` on are in epochs. Before it all epochs have their place.
fn first_of_eras(spread: u64) -> u64 {
    spread.saturating_add(EPOCH * EPOCHS) / ERA * ERA
}

/// An event in the heap. The earliest is the greatest.
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
    /// An empty calendar of windows of length `width`, for events of these LPs.
    pub(crate) fn new(width: Time, lps: &Range<u32>) -> Self {
        let count = lps.len() as u32;
        let strip_bits = count
            .div_ceil(MAX_STRIPS)
            .next_power_of_two()
            .ilog2()
            .max(MIN_STRIP_BITS);
        Calendar {
            width: width.0,
            reciprocal: (u64::MAX / width.0).wrapping_add(1),
            first: lps.start,
            strip_bits,
            strips: (count as usize).div_ceil(1 << strip_bits),
            window: 0,
            start: 0,
            ring: Box::new([const { None }; BUCKETS]),
            unused: Vec::new(),
            near: 0,
            spread: NEAR,
            epochs: (0..EPOCHS).map(|_| Epoch::EMPTY).collect(),
            waiting: 0,
            horizon: first_of_eras(NEAR),
            eras: Vec::new(),
            waiting_eras: 0,
            chunks: Vec::new(),
            far: BinaryHeap::new(),
            removed: HashSet::new(),
        }
    }

    /// Begins the empty calendar at the window that holds `time`: no event is added before it. Windows, epochs and eras
    /// are those next to it.
    pub(crate) fn begin_at(&mut self, time: Time) {
        debug_assert_eq!(self.next(), Time::MAX);
        self.window = time.0 / self.width;
        self.start = self.window * self.width;
        self.spread();
    }

    /// LPs of a strip, counted from the calendar's first LP.
    pub(crate) fn strip_size(&self) -> usize {
        1 << self.strip_bits
    }

    /// Start and end of the window that holds `time`.
    pub(crate) fn bounds(&self, time: Time) -> (Time, Time) {
        let start = time.0 / self.width * self.width;
        (Time(start), Time(start.saturating_add(self.width)))
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

    /// [`Calendar::push`] of an existing event.
    pub(crate) fn add(&mut self, event: Event<P>) {
        let (head, payload) = event.into_parts();
        self.push(head, payload);
    }

    #[inline(never)]
    fn push_later(&mut self, window: u64, event: Event<P>) {
        if window >= self.horizon {
            return self.push_far(window, event);
        }
        let epoch = &mut self.epochs[(window / EPOCH % EPOCHS) as usize];
        self.waiting += usize::from(epoch.is_empty());
        epoch.push(event, &mut self.chunks);
    }

    /// Adds an event of an era or the heap.
    fn push_far(&mut self, window: u64, event: Event<P>) {
        let era = window / ERA;
        let is_near = era - self.horizon / ERA < ERAS;
        if !self.removed.is_empty() && self.removed.remove(&event.key()) {
            // There must not be two events with this key.
            self.discard(event.key(), is_near.then_some(era));
        }
        if !is_near {
            return self.far.push(Far(event));
        }
        if self.eras.is_empty() {
            self.eras.resize_with(ERAS as usize, || Epoch::EMPTY);
        }
        let era = &mut self.eras[(era % ERAS) as usize];
        self.waiting_eras += usize::from(era.is_empty());
        era.push(event, &mut self.chunks);
    }

    /// Removes a removed event from its era, or from the heap.
    #[cold]
    fn discard(&mut self, key: Key, era: Option<u64>) {
        match era {
            None => self.far.retain(|far| far.0.key() != key),
            Some(era) => {
                let ring_index = (era % ERAS) as usize;
                self.waiting_eras -= usize::from(!self.eras[ring_index].is_empty());
                for chunk in std::mem::replace(&mut self.eras[ring_index], Epoch::EMPTY).chunks {
                    for event in chunk.into_iter().filter(|event| event.key() != key) {
                        self.waiting_eras += usize::from(self.eras[ring_index].is_empty());
                        self.eras[ring_index].push(event, &mut self.chunks);
                    }
                }
            }
        }
    }

    /// Takes the events of an era.
    fn take_era(&mut self, era: u64) -> Vec<Vec<Event<P>>> {
        let Some(era) = self.eras.get_mut((era % ERAS) as usize) else {
            return Vec::new();
        };
        self.waiting_eras -= usize::from(!era.is_empty());
        std::mem::replace(era, Epoch::EMPTY).chunks
    }

    /// Moves an event of an era or the heap to where it belongs now.
    fn come_nearer(&mut self, event: Event<P>) {
        let window = event.time.0 / self.width;
        if !self.removed.is_empty() && self.removed.remove(&event.key()) {
            return;
        }
        if window < self.spread {
            let (head, payload) = event.into_parts();
            self.push_near(window, head, payload);
        } else {
            self.push_later(window, event);
        }
    }

    /// Moves the events of all epochs that have become near into their windows.
    fn spread(&mut self) {
        if self.waiting == 0 {
            // No events lie in between, so the windows are skipped.
            self.spread = self
                .spread
                .max(self.window.saturating_add(NEAR) / EPOCH * EPOCH + EPOCH);
        }
        // No events lie before the next window.
        self.spread = self.spread.max(self.window / EPOCH * EPOCH);
        while self.spread < self.window.saturating_add(NEAR) {
            let epoch = &mut self.epochs[(self.spread / EPOCH % EPOCHS) as usize];
            self.waiting -= usize::from(!epoch.is_empty());
            let Epoch { chunks, .. } = std::mem::replace(epoch, Epoch::EMPTY);
            let first = self.spread;
            self.spread += EPOCH;
            for mut chunk in chunks {
                for event in chunk.drain(..) {
                    let (head, payload) = event.into_parts();
                    let window = first + self.windows_in(head.time.0 - first * self.width);
                    self.push_near(window, head, payload);
                }
                self.chunks.push(chunk);
            }
        }
        let horizon = first_of_eras(self.spread);
        while self.waiting_eras > 0 && self.horizon < horizon {
            let era = self.take_era(self.horizon / ERA);
            self.horizon += ERA;
            for mut chunk in era {
                chunk.drain(..).for_each(|event| self.come_nearer(event));
                self.chunks.push(chunk);
            }
        }
        // No events lie in between.
        self.horizon = self.horizon.max(horizon);
        while let Some(Far(event)) = self.far.peek()
            && event.time.0 / self.width / ERA < self.horizon / ERA + ERAS
        {
            let Far(event) = self.far.pop().expect("just seen");
            self.come_nearer(event);
        }
    }

    /// Number of whole windows between the next window and that of `time`.
    #[inline(always)]
    fn windows_ahead(&self, time: Time) -> u64 {
        debug_assert!(time.0 >= self.start);
        self.windows_in(time.0 - self.start)
    }

    /// Number of whole windows in a span: a product, since a division takes longer, and so do comparisons with the
    /// first few windows, of which many are mispredicted.
    #[inline(always)]
    fn windows_in(&self, span: u64) -> u64 {
        // The reciprocal is too large by less than 1, so the product by less than span / 2^64. That is less than
        // 1 / width, the least distance of a quotient from the next integer.
        match span < self.reciprocal.saturating_sub(1) {
            true => ((u128::from(span) * u128::from(self.reciprocal)) >> 64) as u64,
            false => span / self.width,
        }
    }

    #[inline(always)]
    fn push_near(&mut self, window: u64, head: Head, payload: P) {
        let bucket_cell = &mut self.ring[window as usize % BUCKETS];
        let bucket = bucket_cell.get_or_insert_with(|| {
            self.near += 1;
            self.unused.pop().unwrap_or_else(|| Window::new(self.strips))
        });
        let strip = (head.target.0 - self.first) >> self.strip_bits;
        let events = &mut bucket.strips[strip as usize];
        if events.is_empty() {
            bucket.active.push(strip);
        }
        events.push(head.event(payload));
        // Other accesses evict this line from the nearest cache.
        prefetch_end(events);
    }

    /// A time in the window of the earliest event and not after that event; [`Time::MAX`] without events.
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
            let epoch = epochs.find(|epoch| !epoch.is_empty());
            return epoch.expect("some epoch holds events").earliest;
        }
        if self.waiting_eras > 0 {
            let first = self.horizon / ERA;
            let mut eras = (first..first + ERAS).map(|e| &self.eras[(e % ERAS) as usize]);
            let era = eras.find(|era| !era.is_empty());
            return era.expect("some era holds events").earliest;
        }
        self.far.peek().map_or(Time::MAX, |far| far.0.time)
    }

    /// Advances to the window that holds `time`, which is not after the earliest event, and takes its events. Return
    /// it with [`Calendar::recycle`].
    pub(crate) fn take(&mut self, time: Time) -> Option<Window<P>> {
        self.window = time.0 / self.width;
        self.spread();
        let window = self.ring[self.window as usize % BUCKETS].take();
        self.near -= usize::from(window.is_some());
        self.window += 1;
        self.start = self.window.saturating_mul(self.width);
        window
    }

    /// Takes back a completed window whose strips are all empty.
    pub(crate) fn recycle(&mut self, mut window: Window<P>) {
        debug_assert!(window.strips.iter().all(Vec::is_empty));
        window.active.clear();
        self.unused.push(window);
    }

    /// Takes back a window that was taken last, with the events of the strips that have not been executed.
    pub(crate) fn untake(&mut self, window: Window<P>) {
        self.window -= 1;
        self.start = self.window * self.width;
        self.near += 1;
        let empty = self.ring[self.window as usize % BUCKETS].replace(window);
        debug_assert!(empty.is_none(), "nothing was added to a window that was taken");
    }

    /// Goes back to the window that holds `time`, if that was taken or passed over, so that events can be added to it.
    pub(crate) fn go_back(&mut self, time: Time) {
        if time.0 >= self.start {
            return;
        }
        let window = time.0 / self.width;
        if self.spread > window + BUCKETS as u64 {
            self.gather(window);
        }
        self.window = window;
        self.start = window * self.width;
    }

    /// Moves the events of near windows into epochs, those of the last epochs into eras, and those of the last eras
    /// into the heap, so that `window` can be the first one.
    fn gather(&mut self, window: u64) {
        let spread = std::mem::replace(&mut self.spread, (window + NEAR) / EPOCH * EPOCH + EPOCH);
        let horizon = std::mem::replace(&mut self.horizon, first_of_eras(self.spread));
        let (new, old) = (self.horizon / ERA, horizon / ERA);
        for era in (new + ERAS).max(old)..old + ERAS {
            for mut chunk in self.take_era(era) {
                self.far.extend(chunk.drain(..).map(Far));
                self.chunks.push(chunk);
            }
        }
        for first in (self.horizon.max(spread)..horizon).step_by(EPOCH as usize) {
            let epoch = &mut self.epochs[(first / EPOCH % EPOCHS) as usize];
            self.waiting -= usize::from(!epoch.is_empty());
            let Epoch { chunks, .. } = std::mem::replace(epoch, Epoch::EMPTY);
            for mut chunk in chunks {
                for event in chunk.drain(..) {
                    let window = event.time.0 / self.width;
                    debug_assert!((first..first + EPOCH).contains(&window));
                    self.push_far(window, event);
                }
                self.chunks.push(chunk);
            }
        }
        for late in self.window.max(self.spread)..spread {
            if let Some(mut held) = self.ring[late as usize % BUCKETS].take() {
                self.near -= 1;
                for strip in held.active.drain(..) {
                    let mut events = std::mem::take(&mut held.strips[strip as usize]);
                    events.drain(..).for_each(|event| self.push_later(late, event));
                    held.strips[strip as usize] = events;
                }
                self.recycle(held);
            }
        }
    }

    /// Removes a pending event. Returns whether it was there. Within a bucket the events are searched one by one.
    pub(crate) fn remove(&mut self, key: Key, target: LpId) -> bool {
        let window = key.time.0 / self.width;
        let is_it = |event: &Event<P>| event.time == key.time && event.key() == key;
        if window < self.spread {
            let strip = (target.0 - self.first) >> self.strip_bits;
            let bucket_cell = &mut self.ring[window as usize % BUCKETS];
            let Some(bucket) = bucket_cell.as_mut().filter(|_| key.time.0 >= self.start) else {
                return false;
            };
            let events = &mut bucket.strips[strip as usize];
            let Some(place) = events.iter().rposition(is_it) else {
                return false;
            };
            events.swap_remove(place);
            if events.is_empty() {
                bucket.active.retain(|active| *active != strip);
                if bucket.active.is_empty() {
                    self.near -= 1;
                    self.unused.extend(bucket_cell.take());
                }
            }
            return true;
        }
        if window >= self.horizon {
            // Whether it is there is not known.
            return self.removed.insert(key);
        }
        let epoch = &mut self.epochs[(window / EPOCH % EPOCHS) as usize];
        let found = epoch
            .chunks
            .iter()
            .enumerate()
            .rev()
            .find_map(|(chunk, events)| Some((chunk, events.iter().rposition(is_it)?)));
        let Some((chunk, place)) = found else {
            return false;
        };
        // The last event takes its place, so that all chunks before the last stay full.
        if let Some(last) = epoch.chunks.last_mut().and_then(Vec::pop)
            && let Some(event) = epoch.chunks[chunk].get_mut(place)
        {
            *event = last;
        }
        if epoch.chunks.last().is_some_and(Vec::is_empty) {
            self.chunks.extend(epoch.chunks.pop());
        }
        if epoch.is_empty() {
            epoch.earliest = Time::MAX;
            self.waiting -= 1;
        }
        true
    }

    /// All remaining events, in no particular order, in the lists in which they lie.
    pub(crate) fn into_lists(mut self) -> Vec<Vec<Event<P>>> {
        let mut lists = Vec::new();
        for window in self.ring.into_iter().flatten() {
            let strips = window.strips.into_iter();
            lists.extend(strips.filter(|events| !events.is_empty()));
        }
        for epoch in &mut self.epochs {
            lists.append(&mut epoch.chunks);
        }
        let far = lists.len();
        for era in &mut self.eras {
            lists.append(&mut era.chunks);
        }
        lists.push(self.far.into_iter().map(|far| far.0).collect());
        if !self.removed.is_empty() {
            for events in &mut lists[far..] {
                events.retain(|event| !self.removed.contains(&event.key()));
            }
        }
        lists
    }

    /// All remaining events, in no particular order.
    pub(crate) fn events(&self) -> impl Iterator<Item = Event<P>> + '_ {
        let near = self
            .ring
            .iter()
            .flatten()
            .flat_map(|window| window.strips.iter().flatten().copied());
        let later = self.epochs.iter().flat_map(Epoch::events);
        let far = self.eras.iter().flat_map(Epoch::events);
        let far = far.chain(self.far.iter().map(|far| far.0));
        near.chain(later)
            .chain(far.filter(|event| !self.removed.contains(&event.key())))
    }
}

impl<P> Window<P> {
    fn new(strips: usize) -> Self {
        Window {
            strips: (0..strips).map(|_| Vec::new()).collect(),
            active: Vec::new(),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::LpId;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn spans_are_divided_exactly(
            width_bits in 0u32..64,
            span_bits in 0u32..64,
            width: u64,
            span: u64,
            multiple: u64,
        ) {
            let width = (width >> width_bits).max(1);
            let calendar: Calendar<()> = Calendar::new(Time(width), &(0..1));
            let span = span >> span_bits;
            let near = (multiple >> span_bits).saturating_mul(width);
            for span in [span, near, near.saturating_sub(1), near.saturating_add(1)] {
                prop_assert_eq!(calendar.windows_in(span), span / width);
            }
        }

        #[test]
        fn windows_come_out_in_order_and_whole(
            times in proptest::collection::vec(0u64..5_000_000, 1..300),
            width in 1u64..200,
            begins_late in any::<bool>(),
        ) {
            let lps = 100..217;
            let mut calendar = Calendar::new(Time(width), &lps);
            if begins_late {
                calendar.begin_at(Time(*times.iter().min().unwrap()));
            }
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
                for strip in window.active.clone() {
                    let events = &mut window.strips[strip as usize];
                    prop_assert!(!events.is_empty());
                    for event in events.drain(..) {
                        prop_assert_eq!((event.target.0 - 100) as usize / calendar.strip_size(), strip as usize);
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

        /// Events are added to windows that were taken, removed, and left in windows that were taken; each window holds
        /// exactly those that are pending then.
        #[test]
        fn it_goes_back_and_removes(
            steps in proptest::collection::vec((0u8..8, 0u64..10_000_000, 0u32..300), 1..300),
            width in prop::sample::select(vec![1u64, 7, 150, 4_000]),
            spans in prop::sample::select(vec![3u64, 60, 3_000, 2_000_000]),
        ) {
            let lps = 100..400;
            let mut calendar = Calendar::new(Time(width), &lps);
            let mut pending: Vec<Event<u32>> = Vec::new();
            let (mut now, mut sequence) = (0, 0);
            for (step, number, lp) in steps {
                let mut at = |time| {
                    // Some keys come again, as those of events that are sent once more.
                    sequence += u32::from(number % 5 != 0);
                    Event { time: Time(time), source: LpId(1), sequence, target: LpId(100 + lp), payload: sequence }
                };
                match step {
                    0..=2 => {
                        let event = at(now + number % (width * spans));
                        if pending.iter().all(|other| other.key() != event.key()) {
                            calendar.add(event);
                            pending.push(event);
                        }
                    }
                    3 => {
                        let event = at(number % (now + 1));
                        if pending.iter().all(|other| other.key() != event.key()) {
                            calendar.go_back(event.time);
                            calendar.add(event);
                            pending.push(event);
                            now = now.min(event.time.0 / width * width);
                        }
                    }
                    4 | 5 if !pending.is_empty() => {
                        let event = pending.swap_remove(number as usize % pending.len());
                        prop_assert!(calendar.remove(event.key(), event.target));
                    }
                    _ => {
                        let next = calendar.next();
                        let first = pending.iter().map(|event| event.time.0).min();
                        prop_assert!(next.0 <= first.unwrap_or(u64::MAX));
                        if next == Time::MAX {
                            continue;
                        }
                        let (start, end) = calendar.bounds(next);
                        now = end.0;
                        let Some(mut window) = calendar.take(next) else {
                            prop_assert!(first.is_none_or(|first| first >= end.0), "an empty window");
                            continue;
                        };
                        window.active.sort_unstable();
                        let executed = 1 + number as usize % window.active.len();
                        let whole = executed == window.active.len();
                        for strip in window.active.drain(..executed) {
                            for event in window.strips[strip as usize].drain(..) {
                                prop_assert!(event.time >= start && event.time < end);
                                let place = pending.iter().position(|other| other.key() == event.key());
                                let place = place.expect("only pending events come out");
                                prop_assert_eq!(pending.swap_remove(place).payload, event.payload);
                            }
                        }
                        if whole {
                            prop_assert!(pending.iter().all(|event| event.time >= end));
                            calendar.recycle(window);
                        } else {
                            calendar.untake(window);
                            now = start.0;
                        }
                    }
                }
                let facts = |event: Event<_>| (event.time, event.sequence, event.target);
                let mut left: Vec<_> = calendar.events().map(facts).collect();
                let mut expected: Vec<_> = pending.iter().copied().map(facts).collect();
                left.sort_unstable();
                expected.sort_unstable();
                prop_assert_eq!(left, expected);
            }
            let lists = calendar.into_lists();
            let mut left: Vec<_> = lists.iter().flatten().map(|event| event.payload).collect();
            let mut expected: Vec<_> = pending.iter().map(|event| event.payload).collect();
            left.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(left, expected);
        }
    }
}
