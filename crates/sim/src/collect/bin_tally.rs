//! Flows of link classes and jobs in time bins, added up by each worker for all of its LPs.
//!
//! What an event decides about a link is an interval of time: a reservation, or a time without credits. It is added to
//! the bins that it covers when it is decided, whether they have begun or not. So nothing is asked of an LP later, and
//! nothing prevents that events are spared (`crate::lp::shortcuts::tallies`).

use std::collections::BTreeMap;

use des::{Tally, Time};

use super::Bins;
use super::plan::{EJECTION, INJECTION, OF_TOPOLOGY};
use crate::lp::net_event::{BinFlow, JobFlow, Record};
use crate::lp::wiring::LinkEnd;

/// The tally of a worker.
pub struct BinTally {
    /// Begin and end of the current bin: equal if nothing is added up.
    begin: Time,
    end: Time,
    bins: Bins,
    is_on: bool,
    /// The current bin: that of the latest event, as far as this is known. Nearly all additions are to it.
    current: u32,
    sums: BinSums,
    /// All other bins to which something was added.
    others: BTreeMap<u32, BinSums>,
}

/// Sums of one bin.
struct BinSums {
    /// By link class.
    classes: Box<[BinFlow]>,
    jobs: Box<[JobFlow]>,
}

/// The class of a link of routers, as the collector numbers them.
#[inline]
fn class_of(link_end: &LinkEnd) -> u8 {
    match link_end.leads_to_host() {
        true => EJECTION,
        false => OF_TOPOLOGY + link_end.class.0,
    }
}

impl BinTally {
    /// A tally to which nothing is added.
    pub fn off() -> BinTally {
        BinTally {
            is_on: false,
            ..BinTally::new(Bins::constant(Time(1)), 0, 0)
        }
    }

    /// An empty tally for this number of link classes and jobs.
    pub fn new(bins: Bins, classes: usize, jobs: usize) -> BinTally {
        BinTally {
            begin: Time::ZERO,
            end: bins.end(0),
            bins,
            is_on: true,
            current: 0,
            sums: BinSums {
                classes: vec![BinFlow::default(); classes].into(),
                jobs: vec![JobFlow::default(); jobs].into(),
            },
            others: BTreeMap::new(),
        }
    }

    /// Whether anything is added up.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Adds the reservation of a link of a router for a packet that starts at `start`.
    #[inline(always)]
    pub fn link(&mut self, now: Time, link_end: &LinkEnd, start: Time, serialization: Time, bytes: u32) {
        self.reservation(now, class_of(link_end), start, serialization, bytes);
    }

    /// Adds the reservation of an injection link.
    #[inline(always)]
    pub fn injection(&mut self, now: Time, start: Time, serialization: Time, bytes: u32) {
        self.reservation(now, INJECTION, start, serialization, bytes);
    }

    #[inline(always)]
    fn reservation(&mut self, now: Time, class: u8, start: Time, serialization: Time, bytes: u32) {
        if start >= self.begin
            && start + serialization <= self.end
            && let Some(flow) = self.sums.classes.get_mut(usize::from(class))
        {
            flow.packets += 1;
            flow.bytes += u64::from(bytes);
            flow.busy_ps += serialization.ps();
        } else {
            self.reservation_elsewhere(now, class, start, serialization, bytes);
        }
    }

    /// Adds a reservation that is not within the current bin.
    #[cold]
    #[inline(never)]
    fn reservation_elsewhere(&mut self, now: Time, class: u8, start: Time, serialization: Time, bytes: u32) {
        // A packet counts where its first bit leaves.
        let flow = &mut self.bin_of(now, start).classes[usize::from(class)];
        flow.packets += 1;
        flow.bytes += u64::from(bytes);
        self.spread(now, (start, start + serialization), |sums, part| {
            sums.classes[usize::from(class)].busy_ps += part.ps();
        });
    }

    /// Adds the time from `from` to `to`, in which a link of a router was free and its packets lacked credits.
    #[inline]
    pub fn link_stalled(&mut self, now: Time, link_end: &LinkEnd, span: (Time, Time)) {
        self.stall(now, class_of(link_end), span);
    }

    /// As [`BinTally::link_stalled`], for an injection link.
    #[inline]
    pub fn injection_stalled(&mut self, now: Time, span: (Time, Time)) {
        self.stall(now, INJECTION, span);
    }

    #[inline(never)]
    fn stall(&mut self, now: Time, class: u8, span: (Time, Time)) {
        self.spread(now, span, |sums, part| {
            sums.classes[usize::from(class)].buffer_full_ps += part.ps();
        });
    }

    /// Divides a span of time among its bins.
    fn spread(&mut self, now: Time, (from, to): (Time, Time), mut add: impl FnMut(&mut BinSums, Time)) {
        let mut from = from;
        while from < to {
            let end = match self.begin <= from && from < self.end {
                true => self.end,
                false => self.bins.end(self.bins.of(from)),
            };
            let part = to.min(end) - from;
            add(self.bin_of(now, from), part);
            from = end;
        }
    }

    /// Adds a message that a job sends at `time`.
    #[inline]
    pub fn sent(&mut self, now: Time, time: Time, job: u16, bytes: u64) {
        let flow = self.job(now, time, job);
        flow.messages_sent += 1;
        flow.bytes_sent += bytes;
    }

    /// Adds a message of ranks that has arrived.
    #[inline]
    pub fn received(&mut self, now: Time, job: u16, bytes: u64) {
        let flow = self.job(now, now, job);
        flow.messages_received += 1;
        flow.bytes_received += bytes;
    }

    /// Adds a packet that arrives at `time`. `bytes`: its payload, unless its message counts when it has arrived.
    #[inline]
    pub fn delivered(&mut self, now: Time, time: Time, job: u16, bytes: Option<u32>) {
        let flow = self.job(now, time, job);
        flow.packets_delivered += 1;
        flow.bytes_received += u64::from(bytes.unwrap_or(0));
    }

    /// The flow of a job in the bin of a time.
    #[inline]
    fn job(&mut self, now: Time, time: Time, job: u16) -> &mut JobFlow {
        &mut self.bin_of(now, time).jobs[usize::from(job)]
    }

    /// The sums of the bin of a time.
    #[inline]
    fn bin_of(&mut self, now: Time, time: Time) -> &mut BinSums {
        if self.begin <= time && time < self.end {
            return &mut self.sums;
        }
        self.other_bin_of(now, time)
    }

    #[inline(never)]
    fn other_bin_of(&mut self, now: Time, time: Time) -> &mut BinSums {
        if now >= self.end {
            self.turn_to(now);
        }
        let bin = self.bins.of(time) as u32;
        if bin == self.current {
            return &mut self.sums;
        }
        let like = &self.sums;
        self.others.entry(bin).or_insert_with(|| like.emptied())
    }

    /// Makes the bin of a time the current one.
    fn turn_to(&mut self, now: Time) {
        let bin = self.bins.of(now) as u32;
        let sums = self.others.remove(&bin);
        let sums = sums.unwrap_or_else(|| self.sums.emptied());
        let before = std::mem::replace(&mut self.sums, sums);
        self.others.insert(self.current, before);
        self.current = bin;
        (self.begin, self.end) = (self.bins.begin(bin.into()), self.bins.end(bin.into()));
    }
}

impl BinSums {
    fn emptied(&self) -> BinSums {
        BinSums {
            classes: vec![BinFlow::default(); self.classes.len()].into(),
            jobs: vec![JobFlow::default(); self.jobs.len()].into(),
        }
    }

    /// Passes on the sums as records, and sets them to zero.
    fn drain(&mut self, bin: u32, emit: &mut dyn FnMut(Record)) {
        for (class, flow) in (0..).zip(&mut self.classes) {
            let flow = std::mem::take(flow);
            if !flow.is_nothing() {
                emit(Record::ClassSample { bin, class, flow });
            }
        }
        for (job, flow) in (0..).zip(&mut self.jobs) {
            let flow = std::mem::take(flow);
            if flow != JobFlow::default() {
                emit(Record::JobSample { bin, job, flow });
            }
        }
    }
}

impl Tally<Record> for BinTally {
    fn drain(&mut self, emit: &mut dyn FnMut(Record)) {
        if !self.is_on {
            return;
        }
        for (bin, mut sums) in std::mem::take(&mut self.others) {
            sums.drain(bin, emit);
        }
        self.sums.drain(self.current, emit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CLASS: u8 = EJECTION;

    fn drained(tally: &mut BinTally) -> BTreeMap<u32, (BinFlow, JobFlow)> {
        let mut sums: BTreeMap<u32, (BinFlow, JobFlow)> = BTreeMap::new();
        tally.drain(&mut |record| match record {
            Record::ClassSample { bin, class, flow } => {
                assert_eq!(class, CLASS);
                sums.entry(bin).or_default().0 = flow;
            }
            Record::JobSample { bin, job, flow } => {
                assert_eq!(job, 1);
                sums.entry(bin).or_default().1 = flow;
            }
            other => unreachable!("{other:?}"),
        });
        sums
    }

    #[test]
    fn an_interval_is_divided_at_the_ends_of_bins() {
        let mut tally = BinTally::new(Bins::constant(Time(100)), 2, 2);
        // From bin 2, when the latest event was in bin 0, until the middle of bin 4.
        tally.reservation(Time(5), CLASS, Time(290), Time(160), 64);
        // From one end to the next.
        tally.reservation(Time(5), CLASS, Time(100), Time(100), 32);
        tally.stall(Time(310), CLASS, (Time(90), Time(301)));
        tally.stall(Time(310), CLASS, (Time(301), Time(301)));
        tally.delivered(Time(310), Time(99), 1, None);
        tally.delivered(Time(310), Time(310), 1, Some(8));
        let sums = drained(&mut tally);
        let of = |bin: u32| {
            let (flow, job) = sums.get(&bin).copied().unwrap_or_default();
            (
                flow.packets,
                flow.bytes,
                flow.busy_ps,
                flow.buffer_full_ps,
                job.packets_delivered,
            )
        };
        assert_eq!(of(0), (0, 0, 0, 10, 1));
        assert_eq!(of(1), (1, 32, 100, 100, 0));
        assert_eq!(of(2), (1, 64, 10, 100, 0));
        assert_eq!(of(3), (0, 0, 100, 1, 1));
        assert_eq!(of(4), (0, 0, 50, 0, 0));
        assert_eq!(sums.len(), 5);
        assert!(
            drained(&mut tally).is_empty(),
            "what was passed on does not come again"
        );
    }

    proptest! {
        /// Whatever the bins and the order of events, sums are those of the intervals.
        #[test]
        fn nothing_is_lost(
            width in 1u64..200,
            grow: bool,
            intervals in proptest::collection::vec((0u64..90_000, 0u64..3_000, 0u64..90_000), 1..40),
            drain_at in 0usize..40,
        ) {
            let bins = if grow { Bins::growing(Time(width)) } else { Bins::constant(Time(width)) };
            let mut tally = BinTally::new(bins, 2, 2);
            let mut sums: BTreeMap<u32, BinFlow> = BTreeMap::new();
            let mut take = |tally: &mut BinTally| {
                for (bin, (flow, _)) in drained(tally) {
                    let sum = sums.entry(bin).or_default();
                    sum.packets += flow.packets;
                    sum.bytes += flow.bytes;
                    sum.busy_ps += flow.busy_ps;
                }
            };
            for (index, (start, length, now)) in intervals.iter().enumerate() {
                if index == drain_at {
                    take(&mut tally);
                }
                tally.reservation(Time(*now), CLASS, Time(*start), Time(*length), 7);
            }
            take(&mut tally);
            for (bin, sum) in &sums {
                let (begin, end) = (bins.begin((*bin).into()).ps(), bins.end((*bin).into()).ps());
                let inside = intervals.iter().filter(|(start, ..)| (begin..end).contains(start)).count() as u64;
                let busy: u64 = intervals
                    .iter()
                    .map(|(start, length, _)| (start + length).min(end).saturating_sub(*start.max(&begin)))
                    .sum();
                prop_assert_eq!((sum.packets, sum.bytes, sum.busy_ps), (inside, 7 * inside, busy));
            }
            let packets: u64 = sums.values().map(|sum| sum.packets).sum();
            let busy: u64 = sums.values().map(|sum| sum.busy_ps).sum();
            let all: u64 = intervals.iter().map(|(_, length, _)| length).sum();
            prop_assert_eq!((packets, busy), (intervals.len() as u64, all));
        }
    }
}
