//! The collector: turns records, in the total order, into table rows.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use des::{Finished, Time};
use experiment::{Bins, CollectSetting, Periods, Series};
use fabric::Flow;
use results::rows::{
    ClassSeriesRow, HostSeriesRow, JobSeriesRow, LinkSeriesRow, LoadHistogramSeriesRow, PairSeriesRow,
    ResultRow, RouterLoadSeriesRow, RouterSeriesRow, TopLinkRow, VcSeriesRow,
};
use results::{BusiestPeriod, Chain, Collected, RepetitionTimes, Stream, StreamState, TableStore};
use serde::{Deserialize, Serialize};

use crate::collect::message_history::{BuiltRow, MessageHistory, TimelineBuilder};
use crate::collect::repetitions::RepetitionBuilder;
use crate::lp::model::NetworkLp;
use crate::lp::net_event::{BinFlow, JobFlow, LoadStep, Record};
use crate::lp::not_begun::NotBegun;
use crate::lp::sampling::{BlockPair, Blocks, INJECTION, LinkSums, SumsShape, link_classes};
use crate::lp::simulation::Simulation;

/// Records between two reads of the clock.
const UNSEEN: u32 = 4096;

/// Wall-clock time before incomplete row groups are first written for readers of a running simulation. The pause
/// doubles each time, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// With the value `off` in this environment variable nothing is written for readers of a running simulation. Who counts
/// the instructions of a run needs work that does not depend on the wall-clock.
const PREVIEW: &str = "FABRICSIM_PREVIEW";

macro_rules! tables {
    ($( $field:ident: $row:ident, )*) => {
        /// The tables that grow during a run.
        struct Tables {
            $( $field: Stream<results::rows::$row>, )*
        }

        /// Names of the tables.
        pub const COLLECTED: &[&str] = &[ $( <results::rows::$row as ResultRow>::TABLE, )* ];

        impl Tables {
            fn new(store: &TableStore) -> Tables {
                Tables { $( $field: Stream::new(store), )* }
            }

            fn restored(store: &TableStore, states: Vec<StreamState>) -> io::Result<Tables> {
                let mut states = states.into_iter();
                let mut next = || states.next().ok_or_else(|| io::Error::other("saved tables are missing"));
                Ok(Tables { $( $field: Stream::restored(store, next()?)?, )* })
            }

            fn states(&mut self) -> Vec<StreamState> {
                vec![ $( self.$field.state(), )* ]
            }

            /// Writes the rows that fill no row group yet.
            fn write_tails(&mut self) -> io::Result<()> {
                $( self.$field.write_tail([])?; )*
                Ok(())
            }

            fn finish(self) -> io::Result<Vec<Collected>> {
                let all = [ $( self.$field.finish()?, )* ];
                Ok(all.into_iter().flatten().collect())
            }
        }
    };
}

tables! {
    class_series: ClassSeriesRow,
    host_series: HostSeriesRow,
    job_series: JobSeriesRow,
    link_series: LinkSeriesRow,
    load_histogram_series: LoadHistogramSeriesRow,
    messages: MessageRow,
    pair_series: PairSeriesRow,
    repetitions: RepetitionRow,
    router_load_series: RouterLoadSeriesRow,
    router_series: RouterSeriesRow,
    timeline: TimelineRow,
    top_links: TopLinkRow,
    vc_series: VcSeriesRow,
    waits: WaitRow,
}

/// Sums over all LPs in one bin. A bin is written when many later bins exist, or at the end of the run: LPs hardly
/// ever add to it after that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Sums {
    /// Sums by link class.
    classes: Vec<BinFlow>,
    /// Sums by job.
    jobs: Vec<JobSum>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct JobSum {
    flow: JobFlow,
    ranks_finished: u64,
}

/// A bin with its sums.
#[derive(Default)]
struct CollectedBin {
    number: u32,
    begin_ps: u64,
    end_ps: u64,
    sums: Sums,
}

/// The period with the most full links, then the most blocked ones, then the earliest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Busiest {
    full_links: u64,
    blocked_links: u64,
    period: Reverse<u32>,
}

/// Number of bins whose sums stay in memory.
const OPEN_BINS: usize = 4096;

/// Sums by pair of blocks and by tile that stay in memory, of all periods: at most some 300 MB. Beyond, the oldest
/// periods are written, and what is added to them later becomes rows of its own.
const OPEN_LINK_SUMS: usize = 1 << 23;

/// Constants that rows refer to.
struct CollectedNames {
    bins: Bins,
    periods: Periods,
    shape: SumsShape,
    /// Pairs of blocks by number.
    pairs: Vec<BlockPair>,
    /// Routers by tile: the first one, and their number.
    tiles: Vec<(u32, u32)>,
    /// Link classes, with their number of links.
    classes: Vec<(Arc<str>, u64)>,
    jobs: Vec<Arc<str>>,
    /// End of the run; the largest time until it is known.
    end: Time,
}

/// Receives the records of a run.
pub struct Collector {
    setting: CollectSetting,
    /// Whether sums are tallied ([`super::BinTally`]).
    tallies: bool,
    names: CollectedNames,
    /// The bin of the latest record, with its sums. The next record nearly always belongs to the same bin.
    bin: CollectedBin,
    /// Sums of the other bins.
    sums: BTreeMap<u32, Sums>,
    /// The period of the latest record about links in a period, with their sums. The next one nearly always belongs to
    /// the same period.
    period: Option<(u32, LinkSums)>,
    /// Sums over the links of routers in the other periods.
    links: BTreeMap<u32, LinkSums>,
    /// The busiest of the periods that are written.
    busiest: Option<Busiest>,
    /// Digest of the records that belong to the results, independent of what is collected.
    records: Chain,
    tables: Tables,
    repetitions: RepetitionBuilder,
    /// Builds rows from timeline records.
    timeline_builder: TimelineBuilder,
    /// Records since the clock was last read.
    unseen: u32,
    shown: Instant,
    pause: Duration,
}

/// The state that a resumed run needs to continue collecting.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CollectorState {
    /// The collection settings, for comparison.
    setting: String,
    records: Chain,
    sums: BTreeMap<u32, Sums>,
    links: BTreeMap<u32, LinkSums>,
    busiest: Option<Busiest>,
    tables: Vec<StreamState>,
    message_history: MessageHistory,
    repetitions: RepetitionBuilder,
}

impl Collector {
    /// The collector before the run.
    pub fn new(simulation: &Simulation, setting: &CollectSetting, store: TableStore) -> Collector {
        let network = &simulation.network;
        let classes = match setting.series {
            Series::Off => Vec::new(),
            _ => link_classes(network),
        };
        let blocks = simulation.plan.blocks();
        let names = CollectedNames {
            bins: setting.bins,
            periods: setting.periods,
            shape: blocks.map(Blocks::shape).unwrap_or_default(),
            pairs: blocks.map(|blocks| blocks.pairs().to_vec()).unwrap_or_default(),
            tiles: blocks.map(Blocks::tiles).unwrap_or_default(),
            classes,
            jobs: simulation
                .jobs
                .iter()
                .map(|job| job.name.as_str().into())
                .collect(),
            end: Time::MAX,
        };
        Collector {
            setting: setting.clone(),
            tallies: simulation.shortcuts.tallies.is_on(),
            names,
            bin: CollectedBin::default(),
            sums: BTreeMap::new(),
            period: None,
            links: BTreeMap::new(),
            busiest: None,
            records: Chain::new(),
            tables: Tables::new(&store),
            repetitions: RepetitionBuilder::new(simulation),
            timeline_builder: TimelineBuilder::new(simulation, MessageHistory::default()),
            unseen: 0,
            shown: Instant::now(),
            pause: match std::env::var_os(PREVIEW).is_some_and(|value| value == "off") {
                true => Duration::MAX,
                false => FIRST_PAUSE,
            },
        }
        .opened()
    }

    /// Opens the first bin.
    fn opened(mut self) -> Collector {
        self.open(0);
        self
    }

    /// Continues from a state that [`Collector::state`] returned.
    ///
    /// # Errors
    /// The settings differ, or collected rows are missing.
    pub fn restored(
        simulation: &Simulation,
        setting: &CollectSetting,
        store: TableStore,
        state: CollectorState,
    ) -> io::Result<Collector> {
        if state.setting != format!("{setting:?}") {
            let message = "the checkpoint has other collection settings; expected the same [collect] as \
                           before";
            return Err(io::Error::other(message));
        }
        let shape = simulation.plan.blocks().map(Blocks::shape).unwrap_or_default();
        // Sums of another network. The kernel refuses its LPs, and names both numbers.
        let mut links = state.links;
        links.retain(|_, links| links.fits(shape));
        let tables = Tables::restored(&store, state.tables)?;
        let restored = Collector {
            records: state.records,
            links,
            busiest: state.busiest,
            sums: state.sums,
            tables,
            repetitions: state.repetitions,
            timeline_builder: TimelineBuilder::new(simulation, state.message_history),
            ..Collector::new(simulation, setting, store)
        };
        Ok(restored.opened())
    }

    /// The state from which [`Collector::restored`] continues.
    pub fn state(&mut self) -> CollectorState {
        self.store_period();
        CollectorState {
            setting: format!("{:?}", self.setting),
            records: self.records,
            sums: self.all_sums(),
            links: self.links.clone(),
            busiest: self.busiest,
            tables: self.tables.states(),
            message_history: self.timeline_builder.message_history().clone(),
            repetitions: self.repetitions.clone(),
        }
    }

    /// The sums of all bins that may still grow.
    fn all_sums(&self) -> BTreeMap<u32, Sums> {
        let mut sums = self.sums.clone();
        if self.bin.sums != Sums::default() {
            sums.insert(self.bin.number, self.bin.sums.clone());
        }
        sums
    }

    /// Takes a committed record, in the total order.
    ///
    /// # Errors
    /// Rows cannot be written.
    pub fn take(&mut self, time: Time, record: Record) -> io::Result<()> {
        match record {
            Record::RankDone { job, rank } => {
                let numbers = [time.ps(), u64::from(job), u64::from(rank)];
                self.records.integers("rank done", &numbers);
                if self.setting.series > Series::Off {
                    self.turn_to(self.names.bins.of(time) as u32)?;
                    self.sum_of_job(job).ranks_finished += 1;
                }
            }
            Record::RepetitionDone { job, number } => {
                if let Some(row) = self.repetitions.ended(job, number, time) {
                    self.tables.repetitions.push(row)?;
                }
            }
            Record::LinkClassSample { bin, class, flow } => {
                self.turn_to(bin)?;
                self.add_class_flow(class, flow);
            }
            Record::LinkSample {
                bin,
                link,
                class,
                flow,
                waiting_packets,
                waiting_bytes,
            } => {
                self.turn_to(bin)?;
                let CollectedBin { begin_ps, end_ps, .. } = self.bin;
                self.tables.link_series.push(LinkSeriesRow {
                    begin_ps,
                    end_ps,
                    link,
                    bytes: flow.bytes,
                    packets: flow.packets,
                    busy_ps: flow.busy_ps,
                    buffer_full_ps: flow.buffer_full_ps,
                    waiting_packets,
                    waiting_bytes,
                })?;
                self.add_class_flow(class, flow);
            }
            Record::LinkUse { period, pair, link } => {
                let (begin_ps, end_ps) = self.names.span_of_period(period);
                self.links_of(period)?.add(Time(end_ps - begin_ps), pair, link);
            }
            Record::PairSample { period, pair, sum } => self.links_of(period)?.add_pair(pair, &sum),
            Record::TileSample { period, tile, load } => self.links_of(period)?.add_tile(tile, load),
            Record::LoadSample { period, step, links } => self.links_of(period)?.add_load(step, links),
            Record::TopLink { period, link } => self.links_of(period)?.add_top(link),
            Record::VcSample {
                bin,
                link,
                vc,
                levels,
                capacity,
            } => {
                self.turn_to(bin)?;
                let CollectedBin { begin_ps, end_ps, .. } = self.bin;
                self.tables.vc_series.push(VcSeriesRow {
                    begin_ps,
                    end_ps,
                    link,
                    vc,
                    used_bytes: levels.used,
                    capacity_bytes: capacity,
                    used_bytes_max: levels.used_max,
                    waiting_packets: levels.waiting,
                    waiting_packets_max: levels.waiting_max,
                })?;
            }
            Record::HostSample {
                bin,
                host,
                packets_sent,
                packets_received,
                bytes_sent,
                bytes_received,
                queue_bytes,
            } => {
                self.turn_to(bin)?;
                let CollectedBin { begin_ps, end_ps, .. } = self.bin;
                self.tables.host_series.push(HostSeriesRow {
                    begin_ps,
                    end_ps,
                    host,
                    packets_sent: u64::from(packets_sent),
                    packets_received: u64::from(packets_received),
                    bytes_sent,
                    bytes_received,
                    nic_queue_bytes: queue_bytes,
                })?;
            }
            Record::RouterSample {
                bin,
                router,
                packets_sent,
                packets_received,
            } => {
                self.turn_to(bin)?;
                let CollectedBin { begin_ps, end_ps, .. } = self.bin;
                self.tables.router_series.push(RouterSeriesRow {
                    begin_ps,
                    end_ps,
                    router,
                    packets_sent: u64::from(packets_sent),
                    packets_received: u64::from(packets_received),
                })?;
            }
            Record::JobSample { bin, job, flow } => {
                self.turn_to(bin)?;
                self.sum_of_job(job).flow.add(&flow);
            }
            Record::Timeline(record) => match self.timeline_builder.take(time, record) {
                Some(BuiltRow::Timeline(row)) => self.tables.timeline.push(row)?,
                Some(BuiltRow::Message(row)) => self.tables.messages.push(row)?,
                Some(BuiltRow::Wait(row)) => self.tables.waits.push(row)?,
                None => {}
            },
        }
        self.unseen += 1;
        if self.unseen >= UNSEEN {
            self.look_at_the_clock()?;
        }
        Ok(())
    }

    /// Makes a bin the current one.
    #[inline]
    fn turn_to(&mut self, bin: u32) -> io::Result<()> {
        if self.bin.number != bin {
            self.store_bin()?;
            self.open(bin);
        }
        Ok(())
    }

    /// Stores the sums of the current bin.
    fn store_bin(&mut self) -> io::Result<()> {
        let sums = std::mem::take(&mut self.bin.sums);
        if sums != Sums::default() {
            self.sums.insert(self.bin.number, sums);
        }
        // Other workers may still add to any bin of a tally.
        while self.sums.len() > OPEN_BINS && !self.tallies {
            if let Some((bin, sums)) = self.sums.pop_first() {
                self.write_sums(bin, &sums)?;
            }
        }
        Ok(())
    }

    fn open(&mut self, bin: u32) {
        let (begin_ps, end_ps) = self.names.span(bin);
        self.bin = CollectedBin {
            number: bin,
            begin_ps,
            end_ps,
            sums: self.sums.remove(&bin).unwrap_or_default(),
        };
    }

    /// The sums over links of a period.
    #[inline]
    fn links_of(&mut self, period: u32) -> io::Result<&mut LinkSums> {
        if self.period.as_ref().is_none_or(|(number, _)| *number != period) {
            self.turn_to_period(period)?;
        }
        let shape = self.names.shape;
        let (_, links) = self.period.get_or_insert_with(|| (period, LinkSums::new(shape)));
        Ok(links)
    }

    /// Makes a period the current one, if it has sums. Writes the oldest ones if there are many.
    fn turn_to_period(&mut self, period: u32) -> io::Result<()> {
        self.store_period();
        let shape = self.names.shape;
        let most = OPEN_LINK_SUMS / (shape.pairs + shape.tiles).max(1);
        while self.links.len() > most.max(2) {
            if let Some((oldest, links)) = self.links.pop_first() {
                self.write_links(oldest, &links)?;
            }
        }
        self.period = self.links.remove_entry(&period);
        Ok(())
    }

    /// Stores the sums of the current period.
    fn store_period(&mut self) {
        self.links.extend(self.period.take());
    }

    fn sum_of_job(&mut self, job: u16) -> &mut JobSum {
        let jobs = &mut self.bin.sums.jobs;
        if jobs.is_empty() {
            jobs.resize(self.names.jobs.len(), JobSum::default());
        }
        &mut jobs[usize::from(job)]
    }

    /// The sum over the links of a class in the current bin.
    #[inline]
    fn flow_of_class(&mut self, class: u8) -> &mut BinFlow {
        let classes = &mut self.bin.sums.classes;
        if classes.is_empty() {
            classes.resize(self.names.classes.len(), BinFlow::default());
        }
        &mut classes[usize::from(class)]
    }

    #[inline]
    fn add_class_flow(&mut self, class: u8, flow: BinFlow) {
        self.flow_of_class(class).add(&flow);
    }

    fn write_sums(&mut self, bin: u32, sums: &Sums) -> io::Result<()> {
        for row in self.names.class_rows(bin, sums) {
            self.tables.class_series.push(row)?;
        }
        for row in self.names.job_rows(bin, sums) {
            self.tables.job_series.push(row)?;
        }
        Ok(())
    }

    fn write_links(&mut self, period: u32, links: &LinkSums) -> io::Result<()> {
        let (begin_ps, end_ps) = self.names.span_of_period(period);
        let whole = self.names.periods.end(period.into()).ps() - begin_ps;
        // Few packets fill a short rest at the end of the run.
        if self.busiest.is_none() || end_ps - begin_ps >= whole / 2 {
            let (full_links, blocked_links) = links.full_and_blocked();
            let written = Busiest {
                full_links,
                blocked_links,
                period: Reverse(period),
            };
            self.busiest = self.busiest.max(Some(written));
        }
        for row in self.names.pair_rows(period, links) {
            self.tables.pair_series.push(row)?;
        }
        for row in self.names.tile_rows(period, links) {
            self.tables.router_load_series.push(row)?;
        }
        for row in self.names.load_rows(period, links) {
            self.tables.load_histogram_series.push(row)?;
        }
        for row in self.names.top_rows(period, links) {
            self.tables.top_links.push(row)?;
        }
        Ok(())
    }

    #[cold]
    fn look_at_the_clock(&mut self) -> io::Result<()> {
        self.unseen = 0;
        if self.shown.elapsed() < self.pause {
            return Ok(());
        }
        let sums = self.all_sums();
        self.store_period();
        let (names, tables) = (&self.names, &mut self.tables);
        tables.write_tails()?;
        let classes = sums.iter().flat_map(|(bin, sums)| names.class_rows(*bin, sums));
        tables.class_series.write_tail(classes)?;
        let jobs = sums.iter().flat_map(|(bin, sums)| names.job_rows(*bin, sums));
        tables.job_series.write_tail(jobs)?;
        let links = || self.links.iter().map(|(period, links)| (*period, links));
        let pairs = links().flat_map(|(period, links)| names.pair_rows(period, links));
        tables.pair_series.write_tail(pairs)?;
        let tiles = links().flat_map(|(period, links)| names.tile_rows(period, links));
        tables.router_load_series.write_tail(tiles)?;
        let loads = links().flat_map(|(period, links)| names.load_rows(period, links));
        tables.load_histogram_series.write_tail(loads)?;
        let top = links().flat_map(|(period, links)| names.top_rows(period, links));
        tables.top_links.write_tail(top)?;
        self.shown = Instant::now();
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Ok(())
    }

    /// Times of the complete repetitions of each job.
    pub fn repetitions(&self) -> Vec<RepetitionTimes> {
        self.repetitions.times()
    }

    /// Digest of the records that belong to the results.
    pub fn records(&self) -> Chain {
        self.records
    }

    /// All tables, at the end of the run.
    ///
    /// # Errors
    /// Rows cannot be written.
    pub fn finish(
        mut self,
        simulation: &Simulation,
        finished: &Finished<Simulation>,
        not_begun: &NotBegun,
    ) -> io::Result<(Vec<Collected>, Option<BusiestPeriod>)> {
        self.names.end = finished.time;
        // The end is known now.
        self.store_bin()?;
        self.open(0);
        self.take_last_samples(simulation, finished, not_begun)?;
        self.store_bin()?;
        for (bin, sums) in std::mem::take(&mut self.sums) {
            self.write_sums(bin, &sums)?;
        }
        self.store_period();
        for (period, links) in std::mem::take(&mut self.links) {
            self.write_links(period, &links)?;
        }
        let busiest = self.busiest_period();
        Ok((self.tables.finish()?, busiest))
    }

    /// The busiest of the periods that are written, as the result prints it.
    fn busiest_period(&self) -> Option<BusiestPeriod> {
        let Busiest {
            full_links,
            blocked_links,
            period: Reverse(period),
        } = self.busiest?;
        let (begin_ps, end_ps) = self.names.span_of_period(period);
        let of_routers = self.names.classes.iter().enumerate();
        let of_routers = of_routers.filter(|(class, _)| *class != usize::from(INJECTION));
        Some(BusiestPeriod {
            begin_ps,
            end_ps,
            links: of_routers.map(|(_, (_, links))| links).sum(),
            full_links,
            blocked_links,
        })
    }

    /// Takes the last samples of all LPs, and ends tallies.
    fn take_last_samples(
        &mut self,
        simulation: &Simulation,
        finished: &Finished<Simulation>,
        not_begun: &NotBegun,
    ) -> io::Result<()> {
        let (plan, end, tallies) = (&simulation.plan, finished.time, self.tallies);
        if tallies {
            // Links may be reserved beyond the end.
            let last = plan.last_before(end) as u32;
            self.sums.retain(|bin, _| *bin <= last);
        }
        for lp in finished.lps.iter() {
            let mut taken = Ok(());
            let emit = &mut |record| {
                if taken.is_ok() {
                    taken = self.take(end, record);
                }
            };
            match lp {
                NetworkLp::Router(router) => {
                    router.finish(plan, end, not_begun, emit);
                }
                NetworkLp::Host(host) if !tallies => host.finish(simulation, end, emit),
                NetworkLp::Host(host) => {
                    for rail in 0..simulation.network.rails.count() {
                        self.end_injection(end, |time| host.injection_use(rail, time).total)?;
                    }
                }
                NetworkLp::TerminationDetector(_) => {}
            }
            taken?;
        }
        Ok(())
    }

    /// Takes away from a tally what an injection link carries after the end of the run, and adds its stall that lasts
    /// until then. Its use until any time follows from its last state.
    fn end_injection(&mut self, end: Time, used: impl Fn(Time) -> Flow) -> io::Result<()> {
        let bins = self.names.bins;
        let last = bins.of(end.saturating_sub(Time(1)));
        let at_end = used(end);
        let busy_after = used(bins.end(last)).busy.saturating_sub(at_end.busy);
        if busy_after > Time::ZERO {
            self.turn_to(last as u32)?;
            self.flow_of_class(INJECTION).busy_ps -= busy_after.ps();
        }
        let stalled = at_end.buffer_full.saturating_sub(used(Time::ZERO).buffer_full);
        let mut from = end.saturating_sub(stalled);
        while from < end {
            let bin = bins.of(from);
            let to = bins.end(bin).min(end);
            self.turn_to(bin as u32)?;
            self.flow_of_class(INJECTION).buffer_full_ps += (to - from).ps();
            from = to;
        }
        Ok(())
    }
}

impl CollectedNames {
    /// Start and end of a bin, in ps.
    fn span(&self, bin: u32) -> (u64, u64) {
        let bin = u64::from(bin);
        let end = self.bins.end(bin).min(self.end);
        (self.bins.start(bin).ps(), end.ps())
    }

    fn class_rows<'a>(&'a self, bin: u32, sums: &'a Sums) -> impl Iterator<Item = ClassSeriesRow> + 'a {
        let (begin_ps, end_ps) = self.span(bin);
        let classes = self.classes.iter().zip(&sums.classes);
        let some = classes.filter(|(_, sum)| **sum != BinFlow::default());
        some.map(move |((class, links), sum)| ClassSeriesRow {
            begin_ps,
            end_ps,
            class: class.clone(),
            links: *links,
            bytes: sum.bytes,
            packets: sum.packets,
            busy_ps: sum.busy_ps,
            buffer_full_ps: sum.buffer_full_ps,
        })
    }

    /// Start and end of a period, in ps.
    fn span_of_period(&self, period: u32) -> (u64, u64) {
        let period = u64::from(period);
        let end = self.periods.end(period).min(self.end);
        (self.periods.start(period).ps(), end.ps())
    }

    fn pair_rows<'a>(&'a self, period: u32, links: &'a LinkSums) -> impl Iterator<Item = PairSeriesRow> + 'a {
        let (begin_ps, end_ps) = self.span_of_period(period);
        links.pairs().map(move |(pair, sum)| {
            let pair = &self.pairs[pair as usize];
            PairSeriesRow {
                begin_ps,
                end_ps,
                class: self.classes[usize::from(pair.class)].0.clone(),
                from_block: pair.from,
                to_block: pair.to,
                links: pair.links,
                busy_ps: sum.busy_ps,
                busy_ps_max: sum.busy_ps_max,
                buffer_full_ps: sum.buffer_full_ps,
                full_links: sum.full_links,
                blocked_links: sum.blocked_links,
            }
        })
    }

    fn tile_rows<'a>(
        &'a self,
        period: u32,
        links: &'a LinkSums,
    ) -> impl Iterator<Item = RouterLoadSeriesRow> + 'a {
        let (begin_ps, end_ps) = self.span_of_period(period);
        links.tiles().map(move |(tile, [busy, buffer_full])| {
            let (first_router, routers) = self.tiles[tile as usize];
            RouterLoadSeriesRow {
                begin_ps,
                end_ps,
                first_router,
                routers,
                busy_percent_max: busy,
                buffer_full_percent_max: buffer_full,
            }
        })
    }

    /// Links that did nothing are in the first step, if another link of their class did anything.
    fn load_rows<'a>(
        &'a self,
        period: u32,
        links: &LinkSums,
    ) -> impl Iterator<Item = LoadHistogramSeriesRow> + use<'a> {
        let (begin_ps, end_ps) = self.span_of_period(period);
        let mut loads: BTreeMap<LoadStep, u32> = links.loads().collect();
        let mut active: BTreeMap<u8, u64> = BTreeMap::new();
        for ((class, ..), links) in &loads {
            *active.entry(*class).or_default() += u64::from(*links);
        }
        for (class, active) in active {
            let idle = self.classes[usize::from(class)].1 - active;
            if idle > 0 {
                *loads.entry((class, 0, 0)).or_default() += idle as u32;
            }
        }
        loads
            .into_iter()
            .map(move |((class, busy, full), links)| LoadHistogramSeriesRow {
                begin_ps,
                end_ps,
                class: self.classes[usize::from(class)].0.clone(),
                busy_step: busy,
                buffer_full_step: full,
                links,
            })
    }

    fn top_rows<'a>(&'a self, period: u32, links: &LinkSums) -> impl Iterator<Item = TopLinkRow> + use<'a> {
        let (begin_ps, end_ps) = self.span_of_period(period);
        links.top().map(move |link| TopLinkRow {
            begin_ps,
            end_ps,
            link: link.link,
            class: self.classes[usize::from(link.class)].0.clone(),
            busy_ps: link.busy_ps,
            buffer_full_ps: link.buffer_full_ps,
        })
    }

    fn job_rows<'a>(&'a self, bin: u32, sums: &'a Sums) -> impl Iterator<Item = JobSeriesRow> + 'a {
        let (begin_ps, end_ps) = self.span(bin);
        let jobs = self.jobs.iter().zip(&sums.jobs);
        let some = jobs.filter(|(_, sum)| **sum != JobSum::default());
        some.map(move |(job, sum)| JobSeriesRow {
            begin_ps,
            end_ps,
            job: job.clone(),
            messages_sent: sum.flow.messages_sent,
            bytes_sent: sum.flow.bytes_sent,
            messages_received: sum.flow.messages_received,
            bytes_received: sum.flow.bytes_received,
            packets_delivered: sum.flow.packets_delivered,
            ranks_finished: sum.ranks_finished,
        })
    }
}
