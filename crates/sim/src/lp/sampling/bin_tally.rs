//! Flows of link classes and jobs in time bins, added up by each worker for all of its LPs.
//!
//! What an event decides about an injection link is an interval of time: a reservation, or a time without credits. It
//! is added to the bins that it covers when it is decided, whether they have begun or not; the same holds for messages
//! and deliveries. So nothing is asked of a host later, and nothing prevents that its events are saved
//! (`crate::lp::shortcuts::tallies`). Routers are sampled, since that costs less than to add each packet, and their
//! samples are added here.

use std::collections::BTreeMap;
use std::ops::Range;

use des::{Tally, Time};
use experiment::{Bins, Periods};

use super::blocks::SumsShape;
use super::link_sums::LinkSums;
use super::plan::INJECTION;
use super::router_sampler::{PeriodSink, SampleSink};
use crate::lp::net_event::{BinFlow, JobFlow, PeriodLink, Record, TileLoad};

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
    /// Messages of one packet each, and the reservations of an injection link for them.
    SentAtOnce(SentAtOnce),
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

/// Messages of one packet each that a host makes in one bin, in which their packets leave as well.
#[derive(Clone, Copy)]
pub struct SentAtOnce {
    /// When one of them is made.
    pub time: Time,
    pub job: u16,
    pub messages: u32,
    /// Bytes of the packets, and thus of the messages and headers.
    pub packet_bytes: u64,
    /// Serialization of the packets.
    pub busy: Time,
}

/// The tally of a worker.
pub struct BinTally {
    bins: Bins,
    is_on: bool,
    /// Bytes of the header of a packet.
    header: u32,
    /// Bins in a row, around the times of the latest events. Nearly all additions are to these.
    near: NearBins,
    /// All other bins to which something was added.
    others: BTreeMap<u32, BinSums>,
    periods: Periods,
    shape: SumsShape,
    /// Sums over the links of routers, for periods to which something was added: few, the latest ones last.
    links: Vec<PeriodSums>,
}

/// Sums over the links of routers in one period.
pub struct PeriodSums {
    period: u32,
    width: Time,
    links: LinkSums,
}

/// Most near bins. Events lie within a window, and what they decide mostly within some microseconds: longer than one
/// bin, or a few.
const NEAR: usize = 16;

/// Near bins before the bin of the latest event: other LPs of the worker may not have come as far.
const NEAR_BEFORE: u64 = 3;

/// Widths, in ps, of which several bins are near: 2^64 over the width fits into 64 bits, and so does an offset of
/// [`NEAR`] bins times the width ([`NearBins::place`]).
const WIDTHS: Range<u64> = 2..1 << 30;

/// Successive bins of one width.
struct NearBins {
    /// Start of the first one.
    start: Time,
    /// Number of the first one.
    first: u32,
    count: usize,
    /// Width of each, in ps.
    width: u64,
    /// Width of all, in ps.
    span: u64,
    /// 2^64 over the width, rounded up; zero if there is one bin.
    reciprocal: u64,
    sums: [BinSums; NEAR],
}

/// Sums of one bin.
struct BinSums {
    /// Of injection links.
    injection: BinFlow,
    /// By class, for all other links.
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
                (0, 0),
            )
        }
    }

    /// An empty tally for this number of jobs, and headers of packets of so many bytes.
    pub fn new(periods: Periods, shape: SumsShape, (jobs, header): (usize, u32)) -> BinTally {
        BinTally {
            bins: periods.bins(),
            is_on: true,
            header,
            near: NearBins::around(periods.bins(), 0, |_| BinSums::new(shape.classes, jobs)),
            others: BTreeMap::new(),
            periods,
            shape,
            links: Vec::new(),
        }
    }

    /// End of the bin that contains a time.
    #[inline]
    pub fn end_of_bin(&self, time: Time) -> Time {
        match self.near.place(time) {
            Some((_, end)) => end,
            None => self.bins.end_of_bin(time),
        }
    }

    /// Adds the reservation of an injection link.
    #[inline(always)]
    fn injection(&mut self, now: Time, start: Time, serialization: Time, bytes: u32) {
        if let Some((place, end)) = self.near.place(start)
            && start + serialization <= end
        {
            let flow = &mut self.near.sums[place].injection;
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
        let flow = &mut self.sums_at(now, start).injection;
        flow.packets += 1;
        flow.bytes += u64::from(bytes);
        self.spread(now, (start, start + serialization), |sums, part| {
            sums.injection.busy_ps += part.ps();
        });
    }

    /// Adds messages of one packet each, and the reservations for them.
    #[inline(always)]
    fn sent_at_once(&mut self, now: Time, sent: SentAtOnce) {
        let header = self.header;
        let sums = match self.near.place(sent.time) {
            Some((place, _)) => &mut self.near.sums[place],
            None => self.sums_at(now, sent.time),
        };
        let messages = u64::from(sent.messages);
        let job = &mut sums.jobs[usize::from(sent.job)];
        job.messages_sent += messages;
        job.bytes_sent += sent.packet_bytes - messages * u64::from(header);
        sums.injection.packets += messages;
        sums.injection.bytes += sent.packet_bytes;
        sums.injection.busy_ps += sent.busy.ps();
    }

    /// Adds the time in which an injection link was free and its next packet lacked credits.
    #[inline(never)]
    fn injection_stalled(&mut self, now: Time, span: (Time, Time)) {
        self.spread(now, span, |sums, part| {
            sums.injection.buffer_full_ps += part.ps();
        });
    }

    #[cold]
    fn open_period(&mut self, period: u32) -> usize {
        let number = u64::from(period);
        let (start, end) = (self.periods.start(number), self.periods.end(number));
        self.links.push(PeriodSums {
            period,
            width: end.saturating_sub(start),
            links: LinkSums::new(self.shape),
        });
        self.links.len() - 1
    }

    /// Divides a span of time among its bins.
    fn spread(&mut self, now: Time, (from, to): (Time, Time), mut add: impl FnMut(&mut BinSums, Time)) {
        let mut from = from;
        while from < to {
            let end = self.end_of_bin(from);
            let part = to.min(end) - from;
            add(self.sums_at(now, from), part);
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
        if let Some((place, _)) = self.near.place(time)
            && let Some(flow) = self.near.sums[place].jobs.get_mut(usize::from(job))
        {
            add(flow);
        } else {
            self.add_elsewhere(now, time, job, add);
        }
    }

    #[cold]
    #[inline(never)]
    fn add_elsewhere(&mut self, now: Time, time: Time, job: u16, add: impl FnOnce(&mut JobFlow)) {
        add(&mut self.sums_at(now, time).jobs[usize::from(job)]);
    }

    /// The sums of the bin of a time. Moves the near bins if the latest event is not in one, or the time lies behind
    /// them.
    fn sums_at(&mut self, now: Time, time: Time) -> &mut BinSums {
        if self.near.place(time).is_none() {
            self.near_at(now);
        }
        match self.near.place(time) {
            Some((place, _)) => &mut self.near.sums[place],
            None => self.sums_of(self.bins.of(time) as u32),
        }
    }

    fn sums_of(&mut self, bin: u32) -> &mut BinSums {
        match bin.wrapping_sub(self.near.first) as usize {
            place if place < self.near.count => &mut self.near.sums[place],
            _ => {
                let like = &self.near.sums[0];
                self.others.entry(bin).or_insert_with(|| like.emptied())
            }
        }
    }

    /// Makes the bins around a time the near ones, unless they are so or the time lies before them.
    #[cold]
    fn near_at(&mut self, now: Time) {
        let first = NearBins::first_around(self.bins, self.bins.of(now));
        if first <= u64::from(self.near.first) {
            return;
        }
        for (bin, sums) in (self.near.first..).zip(&mut self.near.sums) {
            let empty = sums.emptied();
            let sums = std::mem::replace(sums, empty);
            if !sums.is_nothing() {
                self.others.insert(bin, sums);
            }
        }
        let like = self.near.sums[0].emptied();
        let others = &mut self.others;
        self.near = NearBins::around(self.bins, first, |bin| {
            let sums = bin.and_then(|bin| others.remove(&bin));
            sums.unwrap_or_else(|| like.emptied())
        });
    }
}

impl SampleSink for BinTally {
    type Period<'a> = &'a mut PeriodSums;

    fn record(&mut self, record: Record) {
        match record {
            Record::LinkClassSample { bin, class, flow } => self.class(bin, class, flow),
            Record::JobSample { bin, job, flow } => self.job(bin, job, flow),
            Record::TileSample { period, tile, load } => self.period(period).tile(tile, load),
            Record::LinkUse { period, pair, link } => self.period(period).link(pair, link),
            _ => {}
        }
    }

    #[inline]
    fn class(&mut self, bin: u32, class: u8, flow: BinFlow) {
        self.sums_of(bin).of_class(class).add(&flow);
    }

    #[inline]
    fn job(&mut self, bin: u32, job: u16, flow: JobFlow) {
        self.sums_of(bin).jobs[usize::from(job)].add(&flow);
    }

    /// The sums over links of a period.
    #[inline]
    fn period(&mut self, period: u32) -> &mut PeriodSums {
        let place = self.links.iter().rposition(|sums| sums.period == period);
        let place = place.unwrap_or_else(|| self.open_period(period));
        &mut self.links[place]
    }
}

impl PeriodSink for &mut PeriodSums {
    #[inline]
    fn link(&mut self, pair: u32, link: PeriodLink) {
        self.links.add(self.width, pair, link);
    }

    #[inline]
    fn tile(&mut self, tile: u32, load: TileLoad) {
        self.links.add_tile(tile, load);
    }
}

impl NearBins {
    /// The first of the near bins while the latest event is in a bin.
    fn first_around(bins: Bins, bin: u64) -> u64 {
        match bins.in_a_row(bin.saturating_sub(NEAR_BEFORE)) {
            // The width grows meanwhile.
            (_, count) if count <= NEAR_BEFORE => bin,
            (width, _) if !WIDTHS.contains(&width.ps()) => bin,
            _ => bin.saturating_sub(NEAR_BEFORE),
        }
    }

    /// The bins from `first` on, with their sums. Places behind the last of them belong to no bin, and stay empty.
    fn around(bins: Bins, first: u64, mut sums: impl FnMut(Option<u32>) -> BinSums) -> NearBins {
        let (width, count) = bins.in_a_row(first);
        let width = width.ps();
        let count = match WIDTHS.contains(&width) {
            true => count.min(NEAR as u64),
            false => 1,
        };
        let (first, count) = (first as u32, count as usize);
        NearBins {
            start: bins.start(first.into()),
            first,
            count,
            width,
            span: width * count as u64,
            reciprocal: if count > 1 { u64::MAX / width + 1 } else { 0 },
            sums: std::array::from_fn(|place| {
                sums((place < count).then_some(first.wrapping_add(place as u32)))
            }),
        }
    }

    /// Where the sums of the bin of a time are, and the end of this bin, if it is near.
    #[inline(always)]
    fn place(&self, time: Time) -> Option<(usize, Time)> {
        // A time before the first bin has an offset beyond the last one.
        let offset = time.ps().wrapping_sub(self.start.ps());
        if offset >= self.span {
            return None;
        }
        // The quotient is exact. The reciprocal is too large by less than 1, so the product by less than
        // offset / 2^64, which is less than 1 / width, the least distance of a quotient from the next integer.
        let place = ((u128::from(offset) * u128::from(self.reciprocal)) >> 64) as usize % NEAR;
        let end = self.start.ps() + (place as u64 + 1) * self.width;
        Some((place, Time(end)))
    }
}

impl BinSums {
    fn new(classes: usize, jobs: usize) -> BinSums {
        BinSums {
            injection: BinFlow::default(),
            classes: vec![BinFlow::default(); classes].into(),
            jobs: vec![JobFlow::default(); jobs].into(),
        }
    }

    /// The flow of the links of a class.
    fn of_class(&mut self, class: u8) -> &mut BinFlow {
        match class {
            INJECTION => &mut self.injection,
            class => &mut self.classes[usize::from(class)],
        }
    }

    fn is_nothing(&self) -> bool {
        self.injection.is_nothing()
            && self.classes.iter().all(BinFlow::is_nothing)
            && self.jobs.iter().all(|flow| *flow == JobFlow::default())
    }

    fn emptied(&self) -> BinSums {
        BinSums::new(self.classes.len(), self.jobs.len())
    }

    /// Passes on the sums as records, and sets them to zero.
    fn drain(&mut self, bin: u32, emit: &mut dyn FnMut(Record)) {
        for class in 0..self.classes.len() as u8 {
            let flow = std::mem::take(self.of_class(class));
            if !flow.is_nothing() {
                emit(Record::LinkClassSample { bin, class, flow });
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
            TallyStep::SentAtOnce(sent) => self.sent_at_once(now, sent),
            TallyStep::Received { job, bytes } => self.received(now, job, bytes),
            TallyStep::Delivered { time, job, bytes } => self.delivered(now, time, job, bytes),
            TallyStep::Sample(record) => self.record(record),
        }
    }

    fn drain(&mut self, emit: &mut dyn FnMut(Record)) {
        if !self.is_on {
            return;
        }
        for (bin, mut sums) in std::mem::take(&mut self.others) {
            sums.drain(bin, emit);
        }
        for (bin, sums) in (self.near.first..).zip(&mut self.near.sums) {
            sums.drain(bin, emit);
        }
        for PeriodSums { period, links, .. } in std::mem::take(&mut self.links) {
            links.emit(period, emit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CLASS: u8 = INJECTION;
    const HEADER: u32 = 3;

    /// A tally of two link classes and two jobs.
    fn tally(bins: Bins) -> BinTally {
        let shape = SumsShape {
            classes: 2,
            ..SumsShape::default()
        };
        BinTally::new(Periods::new(bins, Time(1), 1), shape, (2, HEADER))
    }

    fn drained(tally: &mut BinTally) -> BTreeMap<u32, (BinFlow, JobFlow)> {
        let mut sums: BTreeMap<u32, (BinFlow, JobFlow)> = BTreeMap::new();
        tally.drain(&mut |record| match record {
            Record::LinkClassSample { bin, class, flow } => {
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

    #[test]
    fn messages_sent_at_once_count_for_their_job_and_for_links() {
        let mut together = tally(Bins::constant(Time(100)));
        let mut apart = tally(Bins::constant(Time(100)));
        // In a near bin, then in one far ahead.
        for time in [40, 5_000] {
            together.sent_at_once(
                Time(40),
                SentAtOnce {
                    time: Time(time),
                    job: 1,
                    messages: 2,
                    packet_bytes: u64::from(30 + 20 + 2 * HEADER),
                    busy: Time(25),
                },
            );
            for (bytes, serialization) in [(30, 15), (20, 10)] {
                apart.sent(Time(40), Time(time), 1, u64::from(bytes));
                apart.injection(Time(40), Time(time), Time(serialization), bytes + HEADER);
            }
        }
        let sums = drained(&mut together);
        assert_eq!(sums.keys().copied().collect::<Vec<_>>(), [0, 50]);
        assert_eq!(sums, drained(&mut apart));
    }

    #[test]
    fn what_lies_behind_the_near_bins_stays_there() {
        // One bin of these widths is near at a time; others are added to before and after the near one has moved.
        for width in [1, WIDTHS.end, 1 << 40] {
            let mut tally = tally(Bins::constant(Time(width)));
            for (now, bin) in [(0, 1), (0, 2), (1, 1), (1, 2), (2, 2), (2, 3)] {
                tally.delivered(Time(now * width), Time(bin * width), 1, Some(8));
            }
            let sums = drained(&mut tally);
            let delivered: Vec<_> = sums
                .iter()
                .map(|(bin, (_, job))| (*bin, job.packets_delivered))
                .collect();
            assert_eq!(delivered, [(1, 2), (2, 3), (3, 1)], "bins of {width} ps");
        }
        // The width grows after 128 bins.
        let bins = Bins::growing(Time(100));
        let mut tally = tally(bins);
        for (now, bin) in [
            (120, 128),
            (120, 129),
            (122, 128),
            (126, 129),
            (129, 129),
            (140, 150),
            (150, 150),
        ] {
            tally.delivered(bins.start(now), bins.start(bin), 1, Some(8));
        }
        let sums = drained(&mut tally);
        let delivered: Vec<_> = sums
            .iter()
            .map(|(bin, (_, job))| (*bin, job.packets_delivered))
            .collect();
        assert_eq!(delivered, [(128, 2), (129, 3), (150, 2)]);
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
                let (bin_start, end) = (bins.start((*bin).into()).ps(), bins.end((*bin).into()).ps());
                let inside = intervals.iter().filter(|(start, ..)| (bin_start..end).contains(start)).count() as u64;
                let busy: u64 = intervals
                    .iter()
                    .map(|(start, length, _)| (start + length).min(end).saturating_sub(*start.max(&bin_start)))
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
