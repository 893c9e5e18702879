//! Flows of link classes and jobs in time bins, added up by each worker for all of its LPs.
//!
//! What an event decides about an injection link is an interval of time: a reservation, or a time without credits. It
//! is added to the bins that it covers when it is decided, whether they have begun or not; the same holds for messages
//! and deliveries. So nothing is asked of a host later, and nothing prevents that its events are spared
//! (`crate::lp::shortcuts::tallies`). Routers are sampled, since that costs less than to add each packet, and their
//! samples are added here.

use std::collections::BTreeMap;

use des::{Tally, Time};

use super::Bins;
use super::bins::Periods;
use super::blocks::SumsShape;
use super::link_sums::LinkSums;
use super::plan::INJECTION;
use crate::lp::net_event::{BinFlow, JobFlow, Record};

/// One addition to the tally of a worker.
#[derive(Clone, Copy)]
pub enum TallyStep {
    /// The reservation of an injection link.
    Injection {
        /// When the packet starts onto the link.
        start: Time,
        serialization: Time,
        bytes: u32,
    },
    /// The time in which an injection link was free and its next packet lacked credits.
    InjectionStalled { since: Time, until: Time },
    /// A message that a job sends at `time`.
    Sent { time: Time, job: u16, bytes: u64 },
    /// A message of ranks that has arrived.
    Received { job: u16, bytes: u64 },
    /// A packet that arrives at `time`. `bytes`: its payload, unless its message counts when it has arrived.
    Delivered {
        time: Time,
        job: u16,
        bytes: Option<u32>,
    },
    /// A sample of an LP.
    Sample(Record),
}

/// The tally of a worker.
pub struct BinTally {
    /// Begin of the current bin.
    begin: Time,
    /// Ends of the current bin and of the next one, in picoseconds since that begin.
    ends: [u64; 2],
    bins: Bins,
    is_on: bool,
    /// The current bin: that of the latest event, as far as this is known.
    current: u32,
    /// Sums of the current bin, and of the next one. Nearly all additions are to these.
    near: [BinSums; 2],
    /// All other bins to which something was added.
    others: BTreeMap<u32, BinSums>,
    periods: Periods,
    shape: SumsShape,
    /// Sums over the links of routers by period, for those to which something was added: few, the latest ones last.
    links: Vec<(u32, LinkSums)>,
}

/// Sums of one bin.
struct BinSums {
    /// By link class.
    classes: Box<[BinFlow]>,
    jobs: Box<[JobFlow]>,
}

impl BinTally {
    /// A tally to which nothing is added.
    pub fn off() -> BinTally {
        BinTally {
            is_on: false,
            ..BinTally::new(
                Periods::new(Bins::constant(Time(1)), Time(1), 1),
                SumsShape::default(),
                0,
            )
        }
    }

    /// An empty tally for this number of jobs.
    pub fn new(periods: Periods, shape: SumsShape, jobs: usize) -> BinTally {
        let (bins, classes) = (periods.bins(), shape.classes);
        BinTally {
            begin: Time::ZERO,
            ends: ends_since(bins, 0),
            bins,
            is_on: true,
            current: 0,
            near: [BinSums::new(classes, jobs), BinSums::new(classes, jobs)],
            others: BTreeMap::new(),
            periods,
            shape,
            links: Vec::new(),
        }
    }

    /// Adds the reservation of an injection link.
    #[inline(always)]
    fn injection(&mut self, now: Time, start: Time, serialization: Time, bytes: u32) {
        let offset = self.offset(start);
        // In this order: the sum may wrap around for a time before the current bin.
        if offset < self.ends[1] && offset + serialization.ps() <= self.ends[self.near(offset)] {
            let flow = self.near[self.near(offset)].injection();
            flow.packets += 1;
            flow.bytes += u64::from(bytes);
            flow.busy_ps += serialization.ps();
        } else {
            self.injection_elsewhere(now, start, serialization, bytes);
        }
    }

    /// Adds a reservation that is not within one near bin.
    #[cold]
    #[inline(never)]
    fn injection_elsewhere(&mut self, now: Time, start: Time, serialization: Time, bytes: u32) {
        // A packet counts where its first bit leaves.
        let flow = self.bin_of(now, start).injection();
        flow.packets += 1;
        flow.bytes += u64::from(bytes);
        self.spread(now, (start, start + serialization), |sums, part| {
            sums.injection().busy_ps += part.ps();
        });
    }

    /// Adds the time in which an injection link was free and its next packet lacked credits.
    #[inline(never)]
    fn injection_stalled(&mut self, now: Time, span: (Time, Time)) {
        self.spread(now, span, |sums, part| {
            sums.injection().buffer_full_ps += part.ps();
        });
    }

    /// Adds a sample of an LP.
    fn take(&mut self, record: Record) {
        match record {
            Record::ClassSample { bin, class, flow } => {
                self.sums_of(bin).classes[usize::from(class)].add(&flow);
            }
            Record::TileSample { period, tile, load } => self.links_of(period).add_tile(tile, load),
            Record::LinkUse { period, pair, link } => {
                let number = u64::from(period);
                let width = self
                    .periods
                    .end(number)
                    .saturating_sub(self.periods.begin(number));
                self.links_of(period).add(width, pair, link);
            }
            _ => {}
        }
    }

    /// The sums over links of a period.
    #[inline]
    fn links_of(&mut self, period: u32) -> &mut LinkSums {
        let place = self.links.iter().rposition(|(of, _)| *of == period);
        let place = place.unwrap_or_else(|| {
            self.links.push((period, LinkSums::new(self.shape)));
            self.links.len() - 1
        });
        &mut self.links[place].1
    }

    /// Divides a span of time among its bins.
    fn spread(&mut self, now: Time, (from, to): (Time, Time), mut add: impl FnMut(&mut BinSums, Time)) {
        let mut from = from;
        while from < to {
            let end = self.bins.end(self.bins.of(from));
            let part = to.min(end) - from;
            add(self.bin_of(now, from), part);
            from = end;
        }
    }

    /// Adds a message that a job sends at `time`.
    #[inline(always)]
    fn sent(&mut self, now: Time, time: Time, job: u16, bytes: u64) {
        let add = move |flow: &mut JobFlow| {
            flow.messages_sent += 1;
            flow.bytes_sent += bytes;
        };
        self.add(now, time, job, add);
    }

    /// Adds a message of ranks that has arrived.
    #[inline(always)]
    fn received(&mut self, now: Time, job: u16, bytes: u64) {
        let add = move |flow: &mut JobFlow| {
            flow.messages_received += 1;
            flow.bytes_received += bytes;
        };
        self.add(now, now, job, add);
    }

    /// Adds a packet that arrives at `time`. `bytes`: its payload, unless its message counts when it has arrived.
    #[inline(always)]
    fn delivered(&mut self, now: Time, time: Time, job: u16, bytes: Option<u32>) {
        let add = move |flow: &mut JobFlow| {
            flow.packets_delivered += 1;
            flow.bytes_received += u64::from(bytes.unwrap_or(0));
        };
        self.add(now, time, job, add);
    }

    /// Adds to the flow of a job in the bin of a time. Nothing is called for a near bin: this is done for each packet.
    #[inline(always)]
    fn add(&mut self, now: Time, time: Time, job: u16, add: impl FnOnce(&mut JobFlow)) {
        let offset = self.offset(time);
        if offset < self.ends[1]
            && let Some(flow) = self.near[self.near(offset)].jobs.get_mut(usize::from(job))
        {
            add(flow);
        } else {
            self.add_elsewhere(now, time, job, add);
        }
    }

    #[cold]
    #[inline(never)]
    fn add_elsewhere(&mut self, now: Time, time: Time, job: u16, add: impl FnOnce(&mut JobFlow)) {
        add(&mut self.bin_of(now, time).jobs[usize::from(job)]);
    }

    /// Picoseconds since the begin of the current bin. A time before it has an offset beyond all ends of bins.
    #[inline(always)]
    fn offset(&self, time: Time) -> u64 {
        time.ps().wrapping_sub(self.begin.ps())
    }

    /// Which of the near bins an offset is in, if it is in one.
    #[inline(always)]
    fn near(&self, offset: u64) -> usize {
        usize::from(offset >= self.ends[0])
    }

    /// The sums of the bin of a time.
    fn bin_of(&mut self, now: Time, time: Time) -> &mut BinSums {
        if now.ps().saturating_sub(self.begin.ps()) >= self.ends[0] {
            self.turn_to(now);
        }
        self.sums_of(self.bins.of(time) as u32)
    }

    fn sums_of(&mut self, bin: u32) -> &mut BinSums {
        match bin.wrapping_sub(self.current) {
            near @ 0..=1 => &mut self.near[near as usize],
            _ => {
                let like = &self.near[0];
                self.others.entry(bin).or_insert_with(|| like.emptied())
            }
        }
    }

    /// Makes the bin of a time, which lies behind the current one, the current one.
    #[cold]
    fn turn_to(&mut self, now: Time) {
        let bin = self.bins.of(now) as u32;
        for near in 0..2 {
            let before = self.near[near as usize].emptied();
            let before = std::mem::replace(&mut self.near[near as usize], before);
            self.others.insert(self.current.wrapping_add(near), before);
        }
        self.current = bin;
        for near in 0..2 {
            if let Some(sums) = self.others.remove(&bin.wrapping_add(near)) {
                self.near[near as usize] = sums;
            }
        }
        let bin = u64::from(bin);
        self.begin = self.bins.begin(bin);
        self.ends = ends_since(self.bins, bin);
    }
}

/// Ends of a bin and of the next one, in picoseconds since the begin of the first.
fn ends_since(bins: Bins, bin: u64) -> [u64; 2] {
    let begin = bins.begin(bin);
    [bin, bin + 1].map(|bin| bins.end(bin).saturating_sub(begin).ps())
}

impl BinSums {
    fn new(classes: usize, jobs: usize) -> BinSums {
        BinSums {
            classes: vec![BinFlow::default(); classes].into(),
            jobs: vec![JobFlow::default(); jobs].into(),
        }
    }

    /// The flow of injection links.
    #[inline(always)]
    fn injection(&mut self) -> &mut BinFlow {
        &mut self.classes[usize::from(INJECTION)]
    }

    fn emptied(&self) -> BinSums {
        BinSums::new(self.classes.len(), self.jobs.len())
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
    type Step = TallyStep;

    #[inline(always)]
    fn add(&mut self, now: Time, step: TallyStep) {
        match step {
            TallyStep::Injection {
                start,
                serialization,
                bytes,
            } => self.injection(now, start, serialization, bytes),
            TallyStep::InjectionStalled { since, until } => self.injection_stalled(now, (since, until)),
            TallyStep::Sent { time, job, bytes } => self.sent(now, time, job, bytes),
            TallyStep::Received { job, bytes } => self.received(now, job, bytes),
            TallyStep::Delivered { time, job, bytes } => self.delivered(now, time, job, bytes),
            TallyStep::Sample(record) => self.take(record),
        }
    }

    fn drain(&mut self, emit: &mut dyn FnMut(Record)) {
        if !self.is_on {
            return;
        }
        for (bin, mut sums) in std::mem::take(&mut self.others) {
            sums.drain(bin, emit);
        }
        for (near, sums) in (0..).zip(&mut self.near) {
            sums.drain(self.current.wrapping_add(near), emit);
        }
        for (period, links) in std::mem::take(&mut self.links) {
            links.emit(period, emit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CLASS: u8 = INJECTION;

    /// A tally of two link classes and two jobs.
    fn tally(bins: Bins) -> BinTally {
        let shape = SumsShape {
            classes: 2,
            ..SumsShape::default()
        };
        BinTally::new(Periods::new(bins, Time(1), 1), shape, 2)
    }

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
        let mut tally = tally(Bins::constant(Time(100)));
        // From bin 2, when the latest event was in bin 0, until the middle of bin 4.
        tally.injection(Time(5), Time(290), Time(160), 64);
        // From one end to the next.
        tally.injection(Time(5), Time(100), Time(100), 32);
        tally.injection_stalled(Time(310), (Time(90), Time(301)));
        tally.injection_stalled(Time(310), (Time(301), Time(301)));
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
            let mut tally = tally(bins);
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
                tally.injection(Time(*now), Time(*start), Time(*length), 7);
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
