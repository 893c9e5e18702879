//! Samples a router: its links, their buffers and its packets.

use std::collections::VecDeque;
use std::ops::Range;

use des::Time;
use experiment::Series;
use fabric::router::Router;
use fabric::{Flow, WaitingChange};
use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};
use topology::{Port, RouterId};

use super::deliveries::SampledDeliveries;
use super::link_sums::percent;
use super::plan::{Plan, RouterLinks};
use super::sampled_link::{SampledLink, SampledVc, bytes_of_links};
use crate::lp::counts::JobCounts;
use crate::lp::net_event::{BinFlow, JobFlow, PeriodLink, Record, TileLoad};
use crate::lp::not_begun::NotBegun;
use crate::lp::simulation::Simulation;

/// Sampled link of a port without a cable.
const NO_LINK: u16 = u16::MAX;

/// Sampled links of most routers, if each is a class of links. They are stored with the sampler, so that a sample finds
/// all in memory side by side.
const FEW_LINKS: usize = 4;

/// State of a router's sampler at the last sample: everything that changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouterSamples {
    /// Bin of the latest event; `None` before the first event.
    open: Option<u64>,
    /// End of the bin after the open one; zero if VCs are sampled. It follows from `open`.
    #[serde(skip)]
    next_end: Time,
    sampled_links: SmallVec<[SampledLink; FEW_LINKS]>,
    /// By sampled link, then VC; empty unless VCs are sampled.
    vcs: Vec<SampledVc>,
    /// Empty unless VCs are sampled.
    waiting: WaitingPackets,
    /// Packets received.
    received: u64,
    /// What each link did up to the last period, by port.
    links: Vec<LinkTimes>,
    /// Deliveries that the router counts early.
    deliveries: SampledDeliveries,
}

/// What a link has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct LinkTimes {
    busy: Time,
    buffer_full: Time,
}

/// The packets that wait for each VC of links between routers, as the router's observations add up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct WaitingPackets {
    /// Packets by sampled link, then VC.
    counts: Vec<u32>,
    /// The counted packets that have reserved the link, by sampled link: start and VC, in order. Some may have started
    /// since the last change.
    reserved: Vec<VecDeque<(Time, u8)>>,
    /// Where packets began to wait in the latest event. The peaks do not include it yet: a packet that leaves in the
    /// same event has not waited.
    grown: Vec<u32>,
}

/// The links of a sampled link. Mostly they are side by side.
type LinkRanges = SmallVec<[LinkRange; 1]>;

/// Links of one sampled link at successive ports.
#[derive(Clone)]
struct LinkRange {
    ports: Range<u16>,
    /// Number of the first link.
    link: u32,
}

/// The constant part of a router's sampler.
struct SampledPorts {
    /// Sampled link by port.
    by_port: Box<[u16]>,
    /// The links of each sampled link, by port.
    ranges: SmallVec<[LinkRanges; FEW_LINKS]>,
    /// Class by port; that of a port without a cable has no meaning.
    classes: Box<[u8]>,
    /// Pair of blocks by port, see [`RouterLinks::pairs`].
    pairs: Box<[u32]>,
    tile: u32,
    /// Number of the first link.
    first: u32,
    /// Whether each sampled link is one link.
    details: bool,
    vcs: u8,
    /// Buffer size of one VC at the far end by port, in bytes; empty unless each sampled link is one link.
    capacities: Box<[u32]>,
}

/// The receiver of a router's samples: a tally, or a function of records.
pub trait SampleSink {
    /// The receiver of the links of a router in one period.
    type Period<'a>: PeriodSink
    where
        Self: 'a;

    /// A sample, or a sum of some.
    fn record(&mut self, record: Record);

    /// The links of one class in a bin.
    fn class(&mut self, bin: u32, class: u8, flow: BinFlow) {
        self.record(Record::LinkClassSample { bin, class, flow });
    }

    /// What a job has delivered in a bin.
    fn job(&mut self, bin: u32, job: u16, flow: JobFlow) {
        self.record(Record::JobSample { bin, job, flow });
    }

    /// What receives the links of a router in a period.
    fn period(&mut self, period: u32) -> Self::Period<'_>;
}

/// The receiver of the links of a router in one period.
pub trait PeriodSink {
    /// A link of a pair of blocks.
    fn link(&mut self, pair: u32, link: PeriodLink);

    /// The greatest loads of a link of a tile.
    fn tile(&mut self, tile: u32, load: TileLoad);
}

impl<F: FnMut(Record)> SampleSink for F {
    type Period<'a>
        = PeriodRecords<'a, F>
    where
        Self: 'a;

    fn record(&mut self, record: Record) {
        self(record);
    }

    fn period(&mut self, period: u32) -> PeriodRecords<'_, F> {
        PeriodRecords { period, sink: self }
    }
}

/// Passes on the links of a period as records.
pub struct PeriodRecords<'a, F> {
    period: u32,
    sink: &'a mut F,
}

impl<F: FnMut(Record)> PeriodSink for PeriodRecords<'_, F> {
    fn link(&mut self, pair: u32, link: PeriodLink) {
        let period = self.period;
        (self.sink)(Record::LinkUse { period, pair, link });
    }

    fn tile(&mut self, tile: u32, load: TileLoad) {
        let period = self.period;
        (self.sink)(Record::TileSample { period, tile, load });
    }
}

/// Samples a router.
pub struct RouterSampler {
    /// Time from which [`RouterSampler::sample`] must precede the next event: the end of the open bin; zero if VCs are
    /// sampled, whose peaks need every event; the largest time if nothing is sampled.
    due: Time,
    /// Packets received, if they are counted.
    received: u64,
    /// Whether received packets are counted: only a sample of the whole router has their number.
    counts_received: bool,
    sampled: Option<Box<(SampledPorts, RouterSamples)>>,
}

/// One undo step of a sampler.
pub enum RouterSamplerUndo {
    /// A sample was taken.
    Sampled(Box<RouterSamples>),
    /// A packet was received.
    Received,
    /// A packet reserved a link in a later bin.
    LaterReservation {
        /// Output port.
        port: u16,
        /// Bytes.
        bytes: u32,
        /// The bin.
        bin: u64,
    },
    /// A delivery in a later bin was counted.
    LaterDelivery {
        /// The job.
        job: u16,
        /// Bytes.
        bytes: u32,
        /// The bin.
        bin: u64,
    },
    /// A packet began to wait for a VC.
    WaitBegan {
        /// Index of the VC.
        vc_index: u32,
    },
    /// A packet ended to wait for a VC.
    WaitEnded {
        /// Index of the VC.
        vc_index: u32,
    },
    /// A packet reserved a link.
    LinkReserved {
        /// The sampled link.
        sampled_link: u16,
        /// The VC.
        vc: u8,
    },
    /// A packet with a reservation started.
    Started {
        /// The sampled link.
        sampled_link: u16,
        /// The VC.
        vc: u8,
        /// Start of the reservation.
        start: Time,
    },
    /// Packets began to wait for a VC in the latest event, and count for its peak.
    PeakSettled {
        /// Index of the VC.
        vc_index: u32,
        /// Its samples before.
        before: SampledVc,
    },
    /// The peak of a buffer's use rose.
    UsePeakRaised {
        /// Index of the VC.
        vc_index: u32,
        /// Its samples before.
        before: SampledVc,
    },
}

impl RouterSampler {
    /// Memory of the sampler of a router with this number of ports, in bytes.
    pub fn bytes(plan: &Plan, ports: u64, vcs: u64) -> u64 {
        let of_period = 1 + 4 + size_of::<LinkTimes>() as u64;
        // Sampled links of classes are stored with the sampler.
        let of_details = match plan.setting.series >= Series::Links {
            true => (4 + size_of::<LinkRanges>() as u64) * ports + bytes_of_links(plan, ports, vcs),
            false => 0,
        };
        match plan.samples() {
            true => size_of::<(SampledPorts, RouterSamples)>() as u64 + ports * (2 + of_period) + of_details,
            false => 0,
        }
    }

    /// The sampler of an idle router.
    pub fn new(simulation: &Simulation, router: RouterId) -> RouterSampler {
        let (plan, network) = (&simulation.plan, &simulation.network);
        let Some(links) = plan.links_of(network, router) else {
            return RouterSampler {
                due: Time::MAX,
                received: 0,
                counts_received: false,
                sampled: None,
            };
        };
        let vcs = network.traffic_classes.all_vcs();
        let RouterLinks {
            classes,
            pairs,
            tile,
            first,
            details,
        } = links;
        let mut sampled_links: SmallVec<[SampledLink; FEW_LINKS]> = SmallVec::new();
        let mut by_port = vec![NO_LINK; classes.len()];
        for (place, class) in by_port.iter_mut().zip(&classes) {
            let Some(class) = *class else { continue };
            let known = match details {
                true => None,
                false => sampled_links
                    .iter()
                    .position(|sampled_link| sampled_link.class == class),
            };
            *place = known.unwrap_or_else(|| {
                sampled_links.push(SampledLink::of_class(class));
                sampled_links.len() - 1
            }) as u16;
        }
        let sampled_vcs = match details && plan.vcs() {
            true => sampled_links.len() * usize::from(vcs),
            false => 0,
        };
        let waiting = match sampled_vcs {
            0 => WaitingPackets::default(),
            _ => WaitingPackets {
                counts: vec![0; sampled_vcs],
                reserved: vec![VecDeque::new(); sampled_links.len()],
                grown: Vec::new(),
            },
        };
        let ports = match details {
            true => 0..network.topology.ports(router),
            false => 0..0,
        };
        let capacities = ports
            .map(|port| network.buffer_of_vc(network.topology.link_class(router, Port(port))))
            .collect();
        let sampled_ports = SampledPorts {
            ranges: ranges_of(&by_port, sampled_links.len(), first),
            by_port: by_port.into(),
            classes: classes.iter().map(|class| class.unwrap_or(0)).collect(),
            pairs: pairs.into(),
            tile,
            first,
            details,
            vcs,
            capacities,
        };
        let samples = RouterSamples {
            open: None,
            next_end: Time::ZERO,
            sampled_links,
            vcs: vec![SampledVc::default(); sampled_vcs],
            waiting,
            received: 0,
            links: vec![LinkTimes::default(); classes.len()],
            deliveries: SampledDeliveries::default(),
        };
        RouterSampler {
            due: Time::ZERO,
            received: 0,
            counts_received: details,
            sampled: Some(Box::new((sampled_ports, samples))),
        }
    }

    /// Whether [`RouterSampler::sample`] must precede an event at this time.
    #[inline(always)]
    pub fn is_due(&self, now: Time) -> bool {
        now >= self.due
    }

    /// Prefetches what a sample reads.
    #[cold]
    pub fn prefetch(&self) {
        if let Some(sampled) = &self.sampled {
            des::prefetch(&**sampled);
        }
    }

    /// Whether the packets that wait are counted by VC. The router's observations must then be reported to
    /// [`RouterSampler::count_waiting`].
    pub fn counts_waiting(&self) -> bool {
        self.sampled
            .as_ref()
            .is_some_and(|sampled| !sampled.1.vcs.is_empty())
    }

    /// Index of a VC of a link between routers, if VCs are sampled.
    fn vc_index(&self, port: u16, vc: u8) -> Option<(u16, u32)> {
        let (sampled_ports, samples) = &**self.sampled.as_ref()?;
        let sampled_link = *sampled_ports.by_port.get(usize::from(port))?;
        let is_to_router =
            samples.sampled_links.get(usize::from(sampled_link))?.class > super::plan::EJECTION;
        let vc_index = u32::from(sampled_link) * u32::from(sampled_ports.vcs) + u32::from(vc);
        (is_to_router && (vc_index as usize) < samples.vcs.len()).then_some((sampled_link, vc_index))
    }

    /// Counts a change of the packets that wait for a VC of a port.
    pub fn count_waiting(
        &mut self,
        now: Time,
        (port, vc): (u16, u8),
        change: WaitingChange,
        note: &mut impl FnMut(RouterSamplerUndo),
    ) {
        let Some((sampled_link, vc_index)) = self.vc_index(port, vc) else {
            return;
        };
        let Some(sampled) = &mut self.sampled else { return };
        let (sampled_ports, samples) = &mut **sampled;
        let waiting = &mut samples.waiting;
        waiting.forget_started(sampled_link, sampled_ports.vcs, |start| start <= now, note);
        match change {
            WaitingChange::Began => {
                waiting.begin(vc_index);
                note(RouterSamplerUndo::WaitBegan { vc_index });
            }
            WaitingChange::Ended => {
                waiting.add(vc_index, 1u32.wrapping_neg());
                note(RouterSamplerUndo::WaitEnded { vc_index });
            }
            WaitingChange::Reserved(wait) => {
                waiting.begin(vc_index);
                waiting.reserved[usize::from(sampled_link)].push_back((now + wait, vc));
                note(RouterSamplerUndo::LinkReserved { sampled_link, vc });
            }
        }
    }

    /// Adds to the peaks of waiting packets what the latest event has changed. It precedes each event if VCs are
    /// sampled.
    pub fn settle(&mut self, note: &mut impl FnMut(RouterSamplerUndo)) {
        if let Some(sampled) = &mut self.sampled {
            sampled.1.settle(note);
        }
    }

    /// Adds the use of a VC's buffer to its peak. It precedes each return of credits: the use grows until then.
    pub fn raise_use(
        &mut self,
        router: &Router,
        (port, vc): (u16, u8),
        note: impl FnOnce(RouterSamplerUndo),
    ) {
        let Some((_, vc_index)) = self.vc_index(port, vc) else {
            return;
        };
        let Some(sampled) = &mut self.sampled else { return };
        let (sampled_ports, samples) = &mut **sampled;
        let used = sampled_ports.used(router, port, vc);
        let sampled_vc = &mut samples.vcs[vc_index as usize];
        let before = *sampled_vc;
        sampled_vc.raise(used, 0);
        if *sampled_vc != before {
            note(RouterSamplerUndo::UsePeakRaised { vc_index, before });
        }
    }

    /// Samples up to the bin of the event that is executed next. `delivered`: the deliveries that the router counts
    /// early. Returns the state before, if it may have to be restored.
    #[cold]
    #[inline(never)]
    pub fn sample(
        &mut self,
        plan: &Plan,
        (router, delivered): (&Router, &[JobCounts]),
        now: Time,
        reversible: bool,
        sink: &mut impl SampleSink,
    ) -> Option<Box<RouterSamples>> {
        let (sampled_ports, samples) = &mut **self.sampled.as_mut()?;
        if samples.open.is_some_and(|open| now < plan.bins().end(open)) {
            return None;
        }
        let before = reversible.then(|| Box::new(samples.clone()));
        let bin = match samples.open {
            // Nearly always a bin ends with its successor.
            Some(open) if now < plan.bins().end(open + 1) => open + 1,
            _ => plan.bins().of(now),
        };
        if let Some(open) = samples.open {
            let wanted = SampleInput {
                plan,
                sampled_ports,
                router,
                delivered,
                received: self.received,
                not_begun: None,
            };
            let of_bin = |bin| plan.periods().of_bin(bin);
            wanted.sample(samples, open..bin, None, sink);
            wanted.sample_periods(samples, of_bin(open)..of_bin(bin), None, sink);
        }
        samples.open = Some(bin);
        self.due = samples.set_ends(plan);
        before
    }

    /// Takes the last samples, at the end of the run.
    pub fn finish(
        &self,
        plan: &Plan,
        (router, delivered): (&Router, &[JobCounts]),
        end: Time,
        not_begun: &NotBegun,
        sink: &mut impl SampleSink,
    ) {
        let Some(sampled) = &self.sampled else { return };
        let (sampled_ports, mut samples) = (&sampled.0, sampled.1.clone());
        let Some(open) = samples.open else { return };
        samples.settle(&mut |_| {});
        let wanted = SampleInput {
            plan,
            sampled_ports,
            router,
            delivered,
            received: self.received,
            not_begun: Some(not_begun),
        };
        let last = plan.last_before(end);
        wanted.sample(&mut samples, open..last + 1, Some(end), sink);
        let of_bin = |bin| plan.periods().of_bin(bin);
        wanted.sample_periods(&mut samples, of_bin(open)..of_bin(last) + 1, Some(end), sink);
    }

    /// Counts a received packet. Returns whether it was counted.
    #[inline(always)]
    pub fn receive(&mut self) -> bool {
        if self.counts_received {
            self.received += 1;
        }
        self.counts_received
    }

    /// Whether [`RouterSampler::note_later`] must see a link reservation that begins at this time.
    #[inline(always)]
    pub fn is_later(&self, start: Time) -> bool {
        start >= self.due
    }

    /// Counts a link reservation if it begins in a later bin. Returns the bin.
    #[inline(always)]
    pub fn note_later(&mut self, plan: &Plan, port: u16, start: Time, bytes: u32) -> Option<u64> {
        let (sampled_ports, samples) = &mut **self.sampled.as_mut()?;
        let sampled_link = usize::from(sampled_ports.by_port[usize::from(port)]);
        let (open, sampled_link) = (samples.open?, samples.sampled_links.get_mut(sampled_link)?);
        if start < samples.next_end {
            sampled_link.add_next(bytes);
            return Some(open + 1);
        }
        sampled_link.add_elsewhere(plan, (open, start), bytes)
    }

    /// Notes a delivery that is counted early, if its packet's tail arrives in a later bin. Returns the bin.
    #[inline(always)]
    pub fn note_later_delivery(&mut self, plan: &Plan, arrival: Time, job: u16, bytes: u32) -> Option<u64> {
        let samples = &mut self.sampled.as_mut()?.1;
        let open = samples.open?;
        let bin = match arrival < samples.next_end {
            true => open + 1,
            false => plan.bins().of(arrival),
        };
        samples.deliveries.add_later(bin, job, bytes);
        Some(bin)
    }

    /// Undoes one step.
    pub fn undo(&mut self, plan: &Plan, step: RouterSamplerUndo) {
        let Some(sampled) = &mut self.sampled else { return };
        let (sampled_ports, samples) = &mut **sampled;
        match step {
            RouterSamplerUndo::Sampled(before) => {
                *samples = *before;
                self.due = samples.set_ends(plan);
            }
            RouterSamplerUndo::Received => self.received -= 1,
            RouterSamplerUndo::LaterReservation { port, bytes, bin } => {
                let sampled_link = usize::from(sampled_ports.by_port[usize::from(port)]);
                if let (Some(open), Some(sampled_link)) =
                    (samples.open, samples.sampled_links.get_mut(sampled_link))
                {
                    sampled_link.take_later(open, bin, bytes);
                }
            }
            RouterSamplerUndo::LaterDelivery { job, bytes, bin } => {
                samples.deliveries.take_later(bin, job, bytes);
            }
            RouterSamplerUndo::WaitBegan { vc_index } => samples.waiting.undo_begin(vc_index),
            RouterSamplerUndo::WaitEnded { vc_index } => samples.waiting.add(vc_index, 1),
            RouterSamplerUndo::LinkReserved { sampled_link, vc } => {
                samples.waiting.reserved[usize::from(sampled_link)].pop_back();
                let vc_index = u32::from(sampled_link) * u32::from(sampled_ports.vcs) + u32::from(vc);
                samples.waiting.undo_begin(vc_index);
            }
            RouterSamplerUndo::Started {
                sampled_link,
                vc,
                start,
            } => {
                samples.waiting.reserved[usize::from(sampled_link)].push_front((start, vc));
                let vc_index = u32::from(sampled_link) * u32::from(sampled_ports.vcs) + u32::from(vc);
                samples.waiting.add(vc_index, 1);
            }
            RouterSamplerUndo::PeakSettled { vc_index, before } => {
                samples.vcs[vc_index as usize] = before;
                samples.waiting.grown.push(vc_index);
            }
            RouterSamplerUndo::UsePeakRaised { vc_index, before } => {
                samples.vcs[vc_index as usize] = before;
            }
        }
    }

    /// All state that changes; `None` if nothing is sampled.
    pub fn state(&self) -> Option<(u64, &RouterSamples)> {
        self.sampled.as_ref().map(|sampled| (self.received, &sampled.1))
    }

    /// Whether it has state.
    pub fn samples(&self) -> bool {
        self.sampled.is_some()
    }

    /// Replaces the state by one that [`RouterSampler::state`] returned.
    ///
    /// # Errors
    /// The state belongs to another router, or the collection settings differ.
    pub fn restore(&mut self, plan: &Plan, received: u64, saved: RouterSamples) -> Result<(), String> {
        let Some(sampled) = &mut self.sampled else {
            return Ok(());
        };
        let (sampled_ports, samples) = &mut **sampled;
        let shape = |samples: &RouterSamples| {
            let waiting = &samples.waiting;
            let of_waiting = (waiting.counts.len(), waiting.reserved.len());
            let of_links = (samples.sampled_links.len(), samples.links.len());
            (of_links, samples.vcs.len(), of_waiting)
        };
        let vcs = sampled_ports.vcs;
        let fits = |saved: &RouterSamples| {
            let mut reserved = saved.waiting.reserved.iter().flatten();
            let mut grown = saved.waiting.grown.iter();
            reserved.all(|(_, vc)| *vc < vcs) && grown.all(|index| (*index as usize) < saved.vcs.len())
        };
        if shape(samples) != shape(&saved) || !fits(&saved) {
            return Err("the router was sampled differently".into());
        }
        self.received = received;
        *samples = saved;
        self.due = samples.set_ends(plan);
        Ok(())
    }
}

/// The links of each of `count` sampled links. `by_port`: that of each port. `first`: number of the first link.
fn ranges_of(by_port: &[u16], count: usize, first: u32) -> SmallVec<[LinkRanges; FEW_LINKS]> {
    let mut ranges: SmallVec<[LinkRanges; FEW_LINKS]> = smallvec![LinkRanges::new(); count];
    let wired = (0..)
        .zip(by_port)
        .filter(|(_, sampled_link)| **sampled_link != NO_LINK);
    for (link, (port, sampled_link)) in (first..).zip(wired) {
        let of_link = &mut ranges[usize::from(*sampled_link)];
        match of_link.last_mut() {
            Some(range) if range.ports.end == port => range.ports.end += 1,
            _ => of_link.push(LinkRange {
                ports: port..port + 1,
                link,
            }),
        }
    }
    ranges
}

impl SampledPorts {
    /// Bytes in use of the buffer of a VC at the far end, if each sampled link is one link.
    fn used(&self, router: &Router, port: u16, vc: u8) -> u32 {
        // Credits of a shared buffer may be negative.
        let credits = i64::from(router.credits(port, vc) as i32);
        (i64::from(self.capacities[usize::from(port)]) - credits).max(0) as u32
    }
}

impl LinkTimes {
    /// Sets the times to those of a flow. Returns the differences in ps, if the link has done anything.
    #[inline]
    fn advance(&mut self, flow: &Flow) -> Option<[u64; 2]> {
        let LinkTimes { busy, buffer_full } = *self;
        *self = LinkTimes {
            busy: flow.busy,
            buffer_full: flow.buffer_full,
        };
        let times = [(flow.busy, busy), (flow.buffer_full, buffer_full)]
            .map(|(now, before)| now.saturating_sub(before).ps());
        (times != [0, 0]).then_some(times)
    }
}

impl RouterSamples {
    /// Sets what follows from the open bin. Returns [`RouterSampler::due`].
    fn set_ends(&mut self, plan: &Plan) -> Time {
        let open = self.open.filter(|_| self.vcs.is_empty());
        let end = |ahead| open.map_or(Time::ZERO, |bin| plan.bins().end(bin + ahead));
        self.next_end = end(1);
        end(0)
    }

    /// See [`RouterSampler::settle`].
    fn settle(&mut self, note: &mut impl FnMut(RouterSamplerUndo)) {
        while let Some(vc_index) = self.waiting.grown.pop() {
            let sampled = &mut self.vcs[vc_index as usize];
            let before = *sampled;
            sampled.raise(0, self.waiting.counts[vc_index as usize]);
            note(RouterSamplerUndo::PeakSettled { vc_index, before });
        }
    }
}

impl WaitingPackets {
    fn add(&mut self, vc_index: u32, packets: u32) {
        let count = &mut self.counts[vc_index as usize];
        *count = count.wrapping_add(packets);
    }

    fn begin(&mut self, vc_index: u32) {
        self.add(vc_index, 1);
        self.grown.push(vc_index);
    }

    fn undo_begin(&mut self, vc_index: u32) {
        self.grown.pop();
        self.add(vc_index, 1u32.wrapping_neg());
    }

    /// Packets of a sampled link whose reservation has begun no longer wait.
    fn forget_started(
        &mut self,
        sampled_link: u16,
        vcs: u8,
        has_begun: impl Fn(Time) -> bool,
        note: &mut impl FnMut(RouterSamplerUndo),
    ) {
        while let Some((start, vc)) = self.reserved[usize::from(sampled_link)]
            .front()
            .copied()
            .filter(|(start, _)| has_begun(*start))
        {
            self.reserved[usize::from(sampled_link)].pop_front();
            self.add(
                u32::from(sampled_link) * u32::from(vcs) + u32::from(vc),
                1u32.wrapping_neg(),
            );
            note(RouterSamplerUndo::Started {
                sampled_link,
                vc,
                start,
            });
        }
    }
}

/// The links of a router in a period that ends.
struct OpenPeriod<'a, S> {
    sampled_ports: &'a SampledPorts,
    sink: S,
    /// Longest times of a link so far: busy, and with full buffers.
    greatest: [u64; 2],
}

impl<'a, S: PeriodSink> OpenPeriod<'a, S> {
    fn new(sampled_ports: &'a SampledPorts, sink: S) -> OpenPeriod<'a, S> {
        OpenPeriod {
            sampled_ports,
            sink,
            greatest: [0; 2],
        }
    }

    /// Adds a link.
    #[inline(always)]
    fn add(&mut self, (port, number): (u16, u32), flow: &Flow, links: &mut [LinkTimes]) {
        let port = usize::from(port);
        if let Some([busy_ps, buffer_full_ps]) = links[port].advance(flow) {
            self.greatest = [
                busy_ps.max(self.greatest[0]),
                buffer_full_ps.max(self.greatest[1]),
            ];
            let link = PeriodLink {
                link: number,
                class: self.sampled_ports.classes[port],
                busy_ps,
                buffer_full_ps,
            };
            self.sink.link(self.sampled_ports.pairs[port], link);
        }
    }

    /// Ends a period of this width.
    fn close(mut self, width: Time) {
        if self.greatest != [0; 2] {
            let load = self.greatest.map(|time_ps| percent(time_ps, width));
            self.sink.tile(self.sampled_ports.tile, load);
        }
    }
}

/// The inputs of a sample.
struct SampleInput<'a> {
    plan: &'a Plan,
    sampled_ports: &'a SampledPorts,
    router: &'a Router,
    /// Deliveries that the router counts early, by job; empty unless sums are tallied.
    delivered: &'a [JobCounts],
    received: u64,
    /// At the end of the run: reservations that had not begun.
    not_begun: Option<&'a NotBegun>,
}

impl SampleInput<'_> {
    /// Samples successive bins while anything happens in them.
    fn sample(
        &self,
        samples: &mut RouterSamples,
        bins: Range<u64>,
        run_end: Option<Time>,
        sink: &mut impl SampleSink,
    ) {
        for bin in bins {
            let mut end = self.plan.bins().end(bin);
            let mut is_last = false;
            if let Some(run_end) = run_end {
                is_last = end >= run_end;
                end = end.min(run_end);
            }
            let goes_on = match self.sampled_ports.details {
                true => self.sample_links(samples, bin, end, is_last, sink),
                false => self.sample_classes(samples, bin, end, is_last, sink),
            };
            if !goes_on {
                break;
            }
        }
    }

    /// What the link at a port has carried up to the end of a bin, and the reservations after that.
    fn flow(&self, port: u16, sampled_link: &SampledLink, end: Time, is_last: bool) -> (Flow, (u64, u64)) {
        let mut flow = self.router.used(port, end).total;
        let later = match self.not_begun {
            Some(not_begun) if is_last => {
                let key = (self.router.id(), Port(port));
                not_begun.get(&key).copied().unwrap_or_default()
            }
            _ => sampled_link.after_open().unwrap_or_default(),
        };
        flow.packets = flow.packets.saturating_sub(later.0);
        flow.bytes = flow.bytes.saturating_sub(later.1);
        (flow, later)
    }

    /// Samples each link. Returns whether anything happens after the bin.
    #[inline(never)]
    fn sample_links(
        &self,
        samples: &mut RouterSamples,
        bin: u64,
        end: Time,
        is_last: bool,
        sink: &mut impl SampleSink,
    ) -> bool {
        let (mut goes_on, mut sent, number) = (false, 0, bin as u32);
        let vcs = usize::from(self.sampled_ports.vcs);
        for (port, index) in (0..).zip(&self.sampled_ports.by_port) {
            let index = usize::from(*index);
            let Some(sampled_link) = samples.sampled_links.get_mut(index) else {
                continue;
            };
            let (flow, later) = self.flow(port, sampled_link, end, is_last);
            if sampled_link.after_open().is_some() {
                goes_on = true;
                sampled_link.open_next(bin);
            }
            goes_on |= self.router.is_active(port, end);
            let flow = sampled_link.advance(flow);
            sent += flow.packets;
            let is_to_router = sampled_link.class > super::plan::EJECTION;
            let taken = match is_to_router {
                true => (0..self.sampled_ports.vcs)
                    .map(|vc| self.sampled_ports.used(self.router, port, vc))
                    .fold(0, |sum, used| sum + u64::from(used)),
                false => 0,
            };
            let waiting_packets = self.router.waiting_at(port).saturating_add(later.0 as u32);
            let waiting_bytes = self
                .router
                .load(port)
                .saturating_sub(taken)
                .saturating_add(later.1);
            let link = self.sampled_ports.first + index as u32;
            if sampled_link.wait(waiting_packets, waiting_bytes) || !flow.is_nothing() {
                sink.record(Record::LinkSample {
                    bin: number,
                    link,
                    class: sampled_link.class,
                    flow,
                    waiting_packets,
                    waiting_bytes,
                });
            }
            if is_to_router && let Some(of_link) = samples.vcs.get_mut(index * vcs..(index + 1) * vcs) {
                let waiting = &mut samples.waiting;
                // A packet that starts at the end of the bin belongs to the next one.
                let sampled_link = index as u16;
                waiting.forget_started(
                    sampled_link,
                    self.sampled_ports.vcs,
                    |start| start < end,
                    &mut |_| {},
                );
                for (vc, (sampled, waiting)) in
                    (0..).zip(of_link.iter_mut().zip(&waiting.counts[index * vcs..]))
                {
                    let used = self.sampled_ports.used(self.router, port, vc);
                    if let Some(levels) = sampled.close(used, *waiting) {
                        sink.record(Record::VcSample {
                            bin: number,
                            link,
                            vc,
                            levels,
                            capacity: self.sampled_ports.capacities[usize::from(port)],
                        });
                    }
                }
            }
        }
        let received = (self.received - samples.received) as u32;
        samples.received = self.received;
        if sent > 0 || received > 0 {
            sink.record(Record::RouterSample {
                bin: number,
                router: self.router.id().0,
                packets_sent: sent as u32,
                packets_received: received,
            });
        }
        goes_on
    }

    /// Samples each link in successive periods, for sums over links, while anything happens in them.
    #[inline(never)]
    fn sample_periods(
        &self,
        samples: &mut RouterSamples,
        periods: Range<u64>,
        run_end: Option<Time>,
        sink: &mut impl SampleSink,
    ) {
        for number in periods {
            let end = self.plan.periods().end(number).min(run_end.unwrap_or(Time::MAX));
            let mut goes_on = false;
            let mut period = OpenPeriod::new(self.sampled_ports, sink.period(number as u32));
            for LinkRange { ports, link } in self.sampled_ports.ranges.iter().flatten() {
                self.router.flows(ports.clone(), end, |port, flow, is_active| {
                    let number = link + u32::from(port - ports.start);
                    period.add((port, number), &flow, &mut samples.links);
                    goes_on |= is_active;
                });
            }
            period.close(end.saturating_sub(self.plan.periods().start(number)));
            if !goes_on {
                break;
            }
        }
    }

    /// Samples the sums by class. Returns whether anything happens after the bin.
    fn sample_classes(
        &self,
        samples: &mut RouterSamples,
        bin: u64,
        end: Time,
        is_last: bool,
        sink: &mut impl SampleSink,
    ) -> bool {
        let not_begun = self.not_begun.filter(|_| is_last);
        let mut goes_on = false;
        for (sampled_link, ranges) in samples.sampled_links.iter_mut().zip(&self.sampled_ports.ranges) {
            let mut sum = self.add_up(ranges, end, &mut goes_on);
            if let Some(not_begun) = not_begun {
                self.subtract(ranges, not_begun, &mut sum);
            }
            if let Some(later) = sampled_link.after_open() {
                if not_begun.is_none() {
                    sum.packets = sum.packets.saturating_sub(later.0);
                    sum.bytes = sum.bytes.saturating_sub(later.1);
                }
                sampled_link.open_next(bin);
                goes_on = true;
            }
            let (class, flow) = (sampled_link.class, sampled_link.advance(sum));
            if !flow.is_nothing() {
                sink.class(bin as u32, class, flow);
            }
        }
        let emit = |job, flow| sink.job(bin as u32, job, flow);
        goes_on | samples.deliveries.sample(bin, self.delivered, emit)
    }

    /// Adds up what the links of a sampled link have carried until `end`. Sets `goes_on` if one of them is active then.
    #[inline]
    fn add_up(&self, ranges: &LinkRanges, end: Time, goes_on: &mut bool) -> Flow {
        let mut sum = Flow::default();
        for range in ranges {
            let (of_range, is_active) = self.router.flow_of(range.ports.clone(), end);
            sum.add(&of_range);
            *goes_on |= is_active;
        }
        sum
    }

    /// Subtracts the packets of links that had not begun at the end of the run.
    #[cold]
    fn subtract(&self, ranges: &LinkRanges, not_begun: &NotBegun, sum: &mut Flow) {
        for port in ranges.iter().flat_map(|range| range.ports.clone()) {
            let key = (self.router.id(), Port(port));
            let (packets, bytes) = not_begun.get(&key).copied().unwrap_or_default();
            sum.packets = sum.packets.saturating_sub(packets);
            sum.bytes = sum.bytes.saturating_sub(bytes);
        }
    }
}
