//! The schedule of a strip of LPs in one window: which LPs have events, and which events each has.

use std::cmp::Ordering;

use crate::prefetch::prefetch_begin;
use crate::{Event, Time};

/// Prefetch distance in events.
const AHEAD: usize = 24;

/// Largest number of entries that are sorted by counting the lower ones; a power of two.
const FEW: usize = 16;

/// Largest number of entries that are sorted by bins of time.
const MANY: usize = 4096;

/// Largest number of bins of time; a power of two.
const BINS: usize = 256;

/// Largest number of entries of a bin. Insertion within a bin takes the square of it.
const BIN: u16 = 16;

/// LPs of a strip that have events in a window, in LP order, each with its events side by side (a counting sort by
/// LP).
#[derive(Default)]
pub(crate) struct LpSchedule {
    lps: Vec<ScheduledLp>,
    /// Events by LP. An entry holds the time since the window's begin (upper half) and the index in the strip (lower
    /// half). Sorting moves entries instead of events.
    entries: Vec<u64>,
}

/// An LP with its range of entries.
#[derive(Clone, Copy)]
pub(crate) struct ScheduledLp {
    /// LP number relative to the first LP of the worker.
    pub(crate) local: u32,
    start: u32,
    end: u32,
}

/// Scratch memory for filling a schedule.
pub(crate) struct ScheduleSorter {
    /// By LP of the strip: number of events, then index of its next entry.
    places: Vec<u32>,
    /// Entry of each event.
    entries: Vec<u64>,
    /// LP of each event, relative to the first of the strip.
    inside: Vec<u32>,
    /// Right shift that makes times within a window fit 32 bits.
    shift: u32,
    time_sorter: TimeSorter,
}

/// Sorts the entries of an LP.
pub(crate) struct TimeSorter {
    /// Bits of the greatest time of an entry.
    bits: u32,
    /// Scratch memory: entries by bin.
    binned: Vec<u64>,
}

impl ScheduleSorter {
    /// Scratch memory for strips of this many LPs and windows of length `width`.
    pub(crate) fn new(strip: usize, width: Time) -> ScheduleSorter {
        let bits = 64 - width.ps().leading_zeros();
        let shift = bits.saturating_sub(32);
        ScheduleSorter {
            places: vec![0; strip],
            entries: Vec::new(),
            inside: Vec::new(),
            shift,
            time_sorter: TimeSorter {
                bits: bits - shift,
                binned: Vec::new(),
            },
        }
    }

    /// What sorts the entries of one LP.
    pub(crate) fn time_sorter(&mut self) -> &mut TimeSorter {
        &mut self.time_sorter
    }
}

impl LpSchedule {
    /// Fills the schedule with the events of a strip in the window that begins at `begin`. `first` is the first LP of
    /// the strip, `origin` that of the worker.
    pub(crate) fn fill<P>(
        &mut self,
        sorter: &mut ScheduleSorter,
        (origin, first): (u32, u32),
        start: Time,
        events: &[Event<P>],
    ) {
        assert!(
            u32::try_from(events.len()).is_ok(),
            "more than 2^32 events in one window"
        );
        if events.len() <= FEW {
            return self.fill_few(sorter.shift, (origin, first), start, events);
        }
        let ScheduleSorter {
            places,
            entries,
            inside,
            shift,
            ..
        } = sorter;
        let places = &mut places[..];
        for list in [&mut *entries, &mut self.entries] {
            list.resize(events.len(), 0);
        }
        inside.resize(events.len(), 0);
        let noted = entries.iter_mut().zip(inside.iter_mut());
        for ((i, event), (entry, inside)) in events.iter().enumerate().zip(noted) {
            prefetch_begin(events, i + AHEAD);
            *entry = ((event.time - start).ps() >> *shift) << 32 | i as u64;
            *inside = event.target.0 - first;
            places[*inside as usize] += 1;
        }
        self.lps.clear();
        let mut end = 0;
        for (local, place) in (first - origin..).zip(places.iter_mut()) {
            let start = end;
            end += std::mem::replace(place, start);
            if end > start {
                self.lps.push(ScheduledLp { local, start, end });
            }
        }
        let sorted = &mut self.entries[..];
        for (entry, inside) in entries.iter().zip(&*inside) {
            let place = &mut places[*inside as usize];
            sorted[*place as usize] = *entry;
            *place += 1;
        }
        places.fill(0);
    }

    /// [`LpSchedule::fill`] with so few events that counting for each LP of the strip would take longer than sorting.
    fn fill_few<P>(&mut self, shift: u32, (origin, first): (u32, u32), start: Time, events: &[Event<P>]) {
        let mut order = [0; FEW];
        let order = &mut order[..events.len()];
        for ((place, event), entry) in events.iter().enumerate().zip(&mut *order) {
            *entry = u64::from(event.target.0 - first) << 32 | place as u64;
        }
        sort_few(order);
        self.lps.clear();
        self.entries.clear();
        for (place, entry) in (0..).zip(&*order) {
            let local = first - origin + (entry >> 32) as u32;
            let index = entry & u64::from(u32::MAX);
            let since_start = (events[index as usize].time - start).ps() >> shift;
            self.entries.push(since_start << 32 | index);
            match self.lps.last_mut() {
                Some(lp) if lp.local == local => lp.end += 1,
                _ => self.lps.push(ScheduledLp {
                    local,
                    start: place,
                    end: place + 1,
                }),
            }
        }
    }

    /// Removes all LPs.
    pub(crate) fn clear(&mut self) {
        self.lps.clear();
    }

    /// The scheduled LPs, in LP order.
    pub(crate) fn lps(&self) -> &[ScheduledLp] {
        &self.lps
    }

    /// Entries of one LP, in no particular order.
    #[inline]
    pub(crate) fn entries(&mut self, lp: ScheduledLp) -> &mut [u64] {
        &mut self.entries[lp.start as usize..lp.end as usize]
    }

    /// Indices of the events of one LP, in no particular order.
    #[inline]
    pub(crate) fn events(&self, lp: ScheduledLp) -> impl Iterator<Item = u32> + '_ {
        let entries = &self.entries[lp.start as usize..lp.end as usize];
        entries.iter().map(|entry| *entry as u32)
    }
}

impl TimeSorter {
    /// Sorts the entries of one LP into the total order.
    #[inline]
    pub(crate) fn sort<P>(&mut self, entries: &mut [u64], events: &[Event<P>]) {
        match entries.len() {
            1 => return,
            2 => order(entries, 0, 1),
            3 => [(0, 1), (1, 2), (0, 1)]
                .iter()
                .for_each(|(a, b)| order(entries, *a, *b)),
            4..=FEW => sort_few(entries),
            _ => self.sort_many(entries),
        }
        // Times nearly always decide, so keys are compared for ties only.
        let key = |entry: u64| events[entry as u32 as usize].key();
        let before = |a: u64, b: u64| match (a >> 32).cmp(&(b >> 32)) {
            Ordering::Equal => key(a) < key(b),
            order => order.is_lt(),
        };
        for end in 1..entries.len() {
            let moving = entries[end];
            let mut hole = end;
            while hole > 0 && before(moving, entries[hole - 1]) {
                entries[hole] = entries[hole - 1];
                hole -= 1;
            }
            if hole < end {
                entries[hole] = moving;
            }
        }
    }

    /// Sorts entries by bin of time, as many bins as entries (W. Dobosiewicz, Information Processing Letters 7(1),
    /// 1978). Events of an LP are mostly spread over its window, so that a bin holds one or two, and insertion does the
    /// rest. Entries that crowd in a bin are sorted by comparison.
    #[inline(never)]
    fn sort_many(&mut self, entries: &mut [u64]) {
        if entries.len() > MANY {
            return entries.sort_unstable();
        }
        let bins = entries.len().next_power_of_two().min(BINS);
        let shift = 32 + self.bits.saturating_sub(bins.ilog2());
        let bin = |entry: u64| (entry >> shift) as usize % BINS;
        let mut places = [0u16; BINS];
        for entry in &*entries {
            places[bin(*entry)] += 1;
        }
        let (mut end, mut largest) = (0, 0);
        for place in &mut places[..bins] {
            largest = largest.max(*place);
            end += std::mem::replace(place, end);
        }
        if largest > BIN {
            return entries.sort_unstable();
        }
        self.binned.resize(entries.len(), 0);
        for entry in &*entries {
            let place = &mut places[bin(*entry)];
            self.binned[*place as usize] = *entry;
            *place += 1;
        }
        entries.copy_from_slice(&self.binned);
    }
}

/// Swaps two entries that are out of order, without a branch that depends on the data.
#[inline(always)]
fn order(entries: &mut [u64], first: usize, second: usize) {
    let (a, b) = (entries[first], entries[second]);
    (entries[first], entries[second]) = (a.min(b), a.max(b));
}

/// Counts for each entry the entries below it. For a few entries this takes more work than insertion sort, but it has
/// no branch that depends on the data, half of which would be mispredicted.
#[inline]
fn sort_few(entries: &mut [u64]) {
    let mut sorted = [0; FEW];
    for entry in &*entries {
        let below = entries
            .iter()
            .map(|other| usize::from(other < entry))
            .sum::<usize>();
        sorted[below % FEW] = *entry;
    }
    entries.copy_from_slice(&sorted[..entries.len()]);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::LpId;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_lp_has_its_events_in_the_total_order(
            strips in prop::collection::vec(prop::collection::vec((0u32..130, 0u64..9, 0u32..3), 0..60), 1..6),
            width in prop::sample::select(vec![9u64, 1 << 40]),
        ) {
            let (origin, first, start) = (1000, 1260, Time(500));
            let mut sorter = ScheduleSorter::new(130, Time(width));
            let mut schedule = LpSchedule::default();
            for strip in strips {
                let event = |(sequence, (inside, time, source)): (usize, &(u32, u64, u32))| Event {
                    time: start + Time(time * (width / 9)),
                    source: LpId(*source),
                    sequence: 100 - sequence as u32,
                    target: LpId(first + inside),
                    payload: (),
                };
                let events: Vec<_> = strip.iter().enumerate().map(event).collect();
                schedule.fill(&mut sorter, (origin, first), start, &events);
                let mut seen = 0;
                for lp in schedule.lps().to_vec() {
                    let entries = schedule.entries(lp);
                    sorter.time_sorter().sort(entries, &events);
                    let of: Vec<_> = entries.iter().map(|e| events[*e as u32 as usize]).collect();
                    prop_assert!(of.iter().all(|e| e.target.0 - origin == lp.local));
                    prop_assert!(of.is_sorted_by_key(|e| e.key()));
                    prop_assert!(!of.is_empty());
                    seen += of.len();
                }
                prop_assert_eq!(seen, events.len());
                prop_assert!(schedule.lps().is_sorted_by_key(|lp| lp.local));
            }
        }
    }
}
