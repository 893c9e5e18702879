//! Jobs: what runs on the network, and on which hosts.
//!
//! The [placement](crate::setup::placement) of a job determines the order of its hosts. Its
//! [mapping](crate::setup::mapping) determines the host of each rank.

use std::path::Path;
use std::sync::Arc;

use config::{DefaultValue, Parameter, PrintableName, Section, Type, parameters};
use des::{RandomStream, Time};
use fabric::PacketFormat;
use mpi::ComputeRule;
use topology::HostId;
use workload::traffic::{
    ArrivalProcess, Geometry, OfferedLoad, Pattern, PatternContext, SizeDistribution, TrafficRandom,
};
use workload::{Interpreters, Workload};

use crate::Error;
use crate::setup::geometry::HostGeometry;
use crate::setup::job_trace::{self, TraceContext, TraceSchedule};
use crate::setup::lifetime::{Lifetime, RepetitionRule};
use crate::setup::mapping;
use crate::setup::network::NetworkModel;
use crate::setup::occupancy::{Occupancy, Occupant};
use crate::setup::placement::{self, HostOrder, PlacementSite};
use crate::setup::traffic_classes;

/// One application or one kind of synthetic traffic.
pub struct Job {
    /// Name in results.
    pub name: String,
    /// Start time.
    pub start: Time,
    /// When its ranks are stopped, after the start; `None` if they are not. Traffic has none.
    pub end: Option<Time>,
    /// Number of its traffic class.
    pub traffic_class: u8,
    /// Ranks or synthetic traffic.
    pub kind: JobKind,
}

/// The two kinds of jobs.
pub enum JobKind {
    /// MPI ranks. The job ends by itself.
    Ranks(RankJob),
    /// Synthetic traffic. The job continues until the run ends.
    Traffic(TrafficJob),
}

/// A job of MPI ranks.
#[derive(Clone)]
pub struct RankJob {
    /// The operations of the ranks, repetitions included.
    pub workload: Arc<dyn Workload>,
    /// Number of repetitions, for people; those that are measured, if the job goes on; 0: as many as fit before its
    /// end.
    pub repetitions: u64,
    /// Whether the job repeats its workload until all jobs of ranks are measured.
    pub goes_on: bool,
    /// Kind of the workload ([`workload::Source::kind`]), for people.
    pub kind: &'static str,
    /// State that the ranks share.
    pub mpi: Arc<mpi::MpiJob>,
    /// The host of each rank.
    pub hosts: Vec<HostId>,
}

/// Synthetic traffic between hosts.
pub struct TrafficJob {
    /// Chooses destinations.
    pattern: Box<dyn Pattern>,
    /// Chooses the times of messages.
    arrival: Box<dyn ArrivalProcess>,
    /// Chooses the sizes of messages.
    size: Box<dyn SizeDistribution>,
    /// Bytes that each sending host sends, as a fraction of the bandwidth of its injection link.
    pub load: f64,
    /// The hosts of the job; `None` for all hosts.
    pub(super) hosts: Option<Vec<HostId>>,
    /// Number of hosts of the job.
    pub host_count: u32,
}

impl Job {
    /// Whether another process that reads the same experiment builds the same job.
    pub fn reopens(&self) -> bool {
        match &self.kind {
            JobKind::Ranks(ranks) => ranks.workload.reopens(),
            JobKind::Traffic(_) => true,
        }
    }

    /// Whether what its ranks do may depend on the simulation ([`Workload::reacts`](workload::Workload::reacts)).
    pub fn reacts(&self) -> bool {
        match &self.kind {
            JobKind::Ranks(ranks) => ranks.workload.reacts(),
            JobKind::Traffic(_) => false,
        }
    }

    /// From its start to its end.
    pub(crate) fn lifetime(&self) -> Lifetime {
        Lifetime {
            start: self.start,
            end: self.end,
        }
    }

    /// Whether the job is synthetic traffic.
    pub fn is_traffic(&self) -> bool {
        matches!(self.kind, JobKind::Traffic(_))
    }

    /// Whether the job may continue although its ranks or those of other jobs wait forever.
    pub fn goes_on(&self) -> bool {
        match &self.kind {
            JobKind::Ranks(ranks) => ranks.goes_on || self.end.is_some(),
            JobKind::Traffic(_) => true,
        }
    }

    /// Number of hosts of the job.
    pub fn host_count(&self) -> u32 {
        match &self.kind {
            JobKind::Traffic(traffic) => traffic.host_count,
            JobKind::Ranks(ranks) => {
                let mut hosts = ranks.hosts.clone();
                hosts.sort_unstable();
                hosts.dedup();
                hosts.len() as u32
            }
        }
    }
}

impl RankJob {
    /// A job with the ranks of `workload`. `hosts` gives the host of each rank. Several ranks may share a host; two
    /// jobs of an experiment may have the same host one after the other only.
    ///
    /// # Errors
    /// The number of hosts differs from the number of ranks, or communicators contradict each other.
    pub fn new(
        workload: Arc<dyn Workload>,
        settings: mpi::MpiSettings,
        hosts: Vec<HostId>,
    ) -> Result<RankJob, mpi::ReplayError> {
        let ranks = workload.ranks();
        if hosts.len() != ranks as usize {
            let message = format!("{} hosts are given for {ranks} ranks", hosts.len());
            return Err(mpi::ReplayError::Job(message));
        }
        let mpi = mpi::MpiJob::new(ranks, workload.communicators(), settings)?
            .on_hosts(|rank| hosts[rank as usize].0);
        Ok(RankJob {
            workload,
            repetitions: 1,
            goes_on: false,
            kind: "program",
            mpi: Arc::new(mpi),
            hosts,
        })
    }
}

impl TrafficJob {
    /// The traffic pattern, in numbers of the job's hosts.
    pub(crate) fn pattern(&self) -> &dyn Pattern {
        self.pattern.as_ref()
    }

    /// The time from message `index` - 1 of a host (from the start of the job if `index` is 0) to message `index`. It
    /// may be zero.
    #[inline]
    pub fn gap(&self, index: u64, random: &mut dyn TrafficRandom) -> Time {
        Time(self.arrival.gap_ps(index, random))
    }

    /// The destination of message `index` of the job's host `source`; `None` if the host never sends.
    #[inline]
    pub fn destination(&self, source: u32, index: u64, random: &mut dyn TrafficRandom) -> Option<HostId> {
        let to = self.pattern.destination(source, self.host_count, index, random)?;
        Some(self.host(to))
    }

    /// Mean size of a message, in bytes.
    pub fn mean_bytes(&self) -> f64 {
        self.size.mean().as_f64()
    }

    /// Bytes on the wire for each byte of a message, in the mean: 1 without headers of packets.
    pub fn wire_factor(&self, packet: PacketFormat) -> f64 {
        if packet.header == 0 {
            return 1.0;
        }
        1.0 + self.mean_packets(packet) * f64::from(packet.header) / self.mean_bytes()
    }

    /// Mean number of packets of a message.
    pub fn mean_packets(&self, packet: PacketFormat) -> f64 {
        self.size.mean_packets(packet.payload.into())
    }

    /// Largest size of a message, in bytes, as [`SizeDistribution::largest`].
    ///
    /// [`SizeDistribution::largest`]: workload::traffic::SizeDistribution::largest
    pub fn largest_bytes(&self) -> u64 {
        self.size.largest()
    }

    /// Size of the next message, in bytes.
    #[inline]
    pub fn bytes(&self, random: &mut dyn TrafficRandom) -> u64 {
        self.size.bytes(random)
    }

    /// The host with this number in the job.
    #[inline]
    pub fn host(&self, number: u32) -> HostId {
        match &self.hosts {
            None => HostId(number),
            Some(hosts) => hosts[number as usize],
        }
    }

    /// Calls `each` with the destinations of the job's host `source` and their shares of its traffic. Shares add up to
    /// 1. A silent host has no destinations.
    pub fn shares(&self, source: u32, each: &mut dyn FnMut(HostId, f64)) {
        let each = &mut |to, share| each(self.host(to), share);
        self.pattern.shares(source, self.host_count, each);
    }
}

/// Assigns hosts to jobs.
struct HostAllocator<'a> {
    occupancy: Occupancy,
    /// By job: its name and lifetime.
    jobs: &'a [(String, Lifetime)],
    network: &'a NetworkModel,
    seed: u64,
    /// Base of relative paths.
    folder: &'a Path,
    interpreters: Interpreters<'a>,
}

/// Keys of `[[job]]`, beside its tables.
pub const JOB: &[Parameter] = parameters! {
    computed("name", Type::Text, "job0, job1, ...", "name in results");
    time("start", "0 ps", "start of its ranks or traffic; at most 100 days");
    computed("end", Type::Time, "none",
        "time at which its ranks are stopped, after its start; at most 100 days");
    computed("repetitions", Type::Integer, "1, or without limit until `end`",
        "repetitions of the workload, 1 to 1000000000");
    flag("repeat_until_others_end", false,
        "whether the ranks repeat the workload further, unmeasured, until all other ranks are measured");
    computed("traffic_class", Type::Text, "the first of `network.traffic_class`",
        "traffic class of all messages of the job");
    computed("ranks_per_host", Type::Integer, "1, or as many as the mapping says",
        "ranks on each host, 1 to 4096");
    new("hosts", Type::Either(&[Type::Choice(&["all", "free"]), Type::Integer]), DefaultValue::Text("all"),
        "hosts of the traffic: all, those without ranks, or this many");
};

/// Keys of `job.traffic`, beside those of its pattern, arrival process and message sizes.
pub const TRAFFIC: &[Parameter] = parameters! {
    required("pattern", Type::Text, "destinations (fabricsim list patterns)");
    required("load", Type::Number,
        "bytes sent by each host, without headers of packets, as a fraction of its injection bandwidth");
    text("arrival", workload::traffic::DEFAULT_ARRIVAL.name,
        "times between messages (fabricsim list arrivals)");
    computed("message", Type::Size, "network.packet", "size of each message");
};

/// Reads all `[[job]]` tables and places the jobs in their order, ranks before traffic.
///
/// # Errors
/// No job, a wrong key or value, a trace that cannot be read, more ranks than fit.
pub fn read_jobs(
    root: &Section,
    network: &NetworkModel,
    mpi: &mpi::MpiSettings,
    seed: u64,
    folder: &Path,
    interpreters: Interpreters<'_>,
) -> Result<(Vec<Job>, Option<TraceSchedule>), Error> {
    let sections = root.sections("job")?;
    let has_trace = root.has("job_trace");
    if sections.is_empty() && !has_trace {
        let message = "missing: nothing runs on this network; expected at least one [[job]], or [job_trace]";
        return Err(root.error("job", message).into());
    }
    if sections.len() > usize::from(u16::MAX) {
        return Err(root.error("job", "more than 65535 jobs").into());
    }
    let known = (0..)
        .zip(sections)
        .map(|(index, section)| read_name(section, index));
    let known = known.collect::<Result<Vec<_>, _>>()?;
    let classes = sections
        .iter()
        .map(|section| traffic_classes::of_job(section, &network.class_names));
    let classes = classes.collect::<Result<Vec<_>, _>>()?;
    let mut allocator = HostAllocator {
        occupancy: Occupancy::new(network.hosts() as usize),
        jobs: &known,
        network,
        seed,
        folder,
        interpreters,
    };
    let mut kinds: Vec<Option<JobKind>> = Vec::new();
    for (index, section) in sections.iter().enumerate() {
        let ranks = match (section.has("traffic"), section.has("workload")) {
            (false, true) => Some(allocator.read_ranks(section, index, mpi)?),
            (true, false) => None,
            _ => {
                let sources: Vec<&str> = workload::SOURCES.iter().map(|source| source.key).collect();
                let message = format!(
                    "expected either traffic = {{ pattern = ... }}, or workload = {{ ... }} with one of {}",
                    sources.join(", ")
                );
                return Err(section.error("", message).into());
            }
        };
        kinds.push(ranks);
    }
    // The machine of the trace has the hosts that no other job of ranks has.
    let trace = match has_trace {
        false => None,
        true => Some(allocator.read_trace(root.section("job_trace")?, sections.len(), mpi)?),
    };
    for (index, section) in sections.iter().enumerate() {
        if kinds[index].is_none() {
            kinds[index] = Some(allocator.read_traffic(section, index)?);
        }
    }
    let jobs = known.into_iter().zip(kinds.into_iter().flatten());
    let mut jobs: Vec<Job> = jobs
        .zip(classes)
        .map(|(((name, lifetime), kind), traffic_class)| Job {
            name,
            start: lifetime.start,
            end: lifetime.end,
            traffic_class,
            kind,
        })
        .collect();
    let schedule = trace.map(|(scheduled, schedule)| {
        jobs.extend(scheduled);
        schedule
    });
    Ok((jobs, schedule))
}

/// Name and lifetime of a job.
fn read_name(section: &Section, index: usize) -> Result<(String, Lifetime), config::Error> {
    section.declare(JOB);
    let name = section.or("name", PrintableName(format!("job{index}")))?;
    Ok((name.0, Lifetime::read(section)?))
}

impl HostAllocator<'_> {
    fn read_ranks(
        &mut self,
        section: &Section,
        index: usize,
        mpi: &mpi::MpiSettings,
    ) -> Result<JobKind, Error> {
        let lifetime = self.jobs[index].1;
        let source = section.section("workload")?;
        let workload = workload::read(source, self.folder, self.interpreters)?;
        let mut settings = mpi.clone();
        settings.compute = ComputeRule::read(section, &workload.regions())?;
        let repetitions = RepetitionRule::read(section, lifetime)?;
        repetitions.check(workload.as_ref(), source)?;
        let ranks = workload.ranks();
        let stream = RandomStream::new(self.seed, MAPPING_STREAMS - index as u32, 0);
        let rank_mapping = mapping::map_ranks(section, ranks, self.folder, stream)?;
        let order = self.order(section, index, self.occupancy.free_during(lifetime))?;
        let (needed, free) = (rank_mapping.host_count() as usize, order.hosts.len());
        if needed > free {
            let per_host = rank_mapping.per_host;
            let message = match order.is_named {
                true => format!(
                    "{ranks} ranks at {per_host} per host need {needed} hosts, but the placement names {free}"
                ),
                false => format!(
                    "{ranks} ranks at {per_host} per host need {needed} hosts, but only {free} of {} are free{}",
                    self.occupancy.hosts(),
                    match lifetime.end {
                        Some(_) => format!(" {lifetime}"),
                        None => String::new(),
                    }
                ),
            };
            let key = if order.is_named { "placement" } else { "workload" };
            return Err(section.error(key, message).into());
        }
        let hosts: Vec<HostId> = rank_mapping
            .hosts
            .iter()
            .map(|host| order.hosts[*host as usize])
            .collect();
        let occupant = Occupant { job: index, lifetime };
        if let Err(host) = self.occupancy.take(occupant, &hosts) {
            let message = format!(
                "host {} would have more than 65536 ranks of jobs one after another; expected fewer jobs or \
                 ranks_per_host",
                host.0
            );
            return Err(section.error("placement", message).into());
        }
        let host_numbers: Vec<u32> = hosts.iter().map(|host| host.0).collect();
        workload.placed(&host_numbers);
        let job = RankJob::new(repetitions.of(workload), settings, hosts)
            .map_err(|e| source.error("", e.to_string()))?;
        let kind = workload::named(source)?.kind;
        Ok(JobKind::Ranks(RankJob {
            repetitions: repetitions.number(),
            goes_on: repetitions.goes_on(),
            kind,
            ..job
        }))
    }

    /// The jobs of a job trace, numbered from `index`, on the free hosts.
    fn read_trace(
        &mut self,
        section: &Section,
        index: usize,
        mpi: &mpi::MpiSettings,
    ) -> Result<(Vec<Job>, TraceSchedule), Error> {
        let machine = self.occupancy.never_taken();
        let context = TraceContext {
            network: self.network,
            mpi,
            machine: &machine,
            seed: self.seed,
            placement_stream: PLACEMENT_STREAMS - index as u32,
            mapping_stream: MAPPING_STREAMS - index as u32,
            most: usize::from(u16::MAX) - index,
            folder: self.folder,
            interpreters: self.interpreters,
        };
        let (expanded, schedule) = job_trace::read(section, &context)?;
        let mut jobs = Vec::with_capacity(expanded.len());
        for (job, one) in (index..).zip(expanded) {
            let occupant = Occupant {
                job,
                lifetime: one.lifetime,
            };
            if let Err(host) = self.occupancy.take(occupant, &one.hosts) {
                let message = format!(
                    "host {} would have more than 65536 ranks of jobs one after another; expected a shorter part of \
                     the trace, or fewer ranks_per_host",
                    host.0
                );
                return Err(section.error("file", message).into());
            }
            let ranks = RankJob::new(one.workload, one.settings, one.hosts).map_err(|error| {
                section.error("application", format!("{error}; for the job {}", one.name))
            })?;
            jobs.push(Job {
                name: one.name,
                start: one.lifetime.start,
                end: one.lifetime.end,
                traffic_class: 0,
                kind: JobKind::Ranks(RankJob {
                    repetitions: RepetitionRule::UntilEnd.number(),
                    kind: one.kind,
                    ..ranks
                }),
            });
        }
        Ok((jobs, schedule))
    }

    fn read_traffic(&mut self, section: &Section, index: usize) -> Result<JobKind, Error> {
        if self.jobs[index].1.end.is_some() {
            let message =
                "synthetic traffic lasts until the end of the run; expected it with `workload` only";
            return Err(section.error("end", message).into());
        }
        let (network, folder) = (self.network, self.folder);
        let traffic = section.section("traffic")?;
        let hosts = self.traffic_hosts(section, index)?;
        let host_count = hosts.as_ref().map_or(self.occupancy.hosts(), Vec::len) as u32;
        if host_count < 2 {
            return Err(section
                .error(
                    "hosts",
                    format!("traffic between {host_count} hosts; expected at least 2"),
                )
                .into());
        }
        let geometry = HostGeometry::new(network);
        let all_in_order = |hosts: &Vec<HostId>| {
            hosts
                .iter()
                .copied()
                .eq((0..self.occupancy.hosts() as u32).map(HostId))
        };
        let is_whole = hosts.as_ref().is_none_or(all_in_order);
        let mut place = PatternContext {
            hosts: host_count,
            network: is_whole.then_some(&geometry as &dyn Geometry),
            folder,
            random: &mut PatternRandom(RandomStream::new(self.seed, PATTERN_STREAMS - index as u32, 0)),
        };
        let pattern = workload::traffic::pattern(traffic, &mut place)?;
        let arrival = workload::traffic::arrival(traffic)?;
        let size = workload::traffic::size::size(traffic, u64::from(network.packet.payload), folder)?;
        let load: f64 = traffic.declare(TRAFFIC).get("load")?;
        if !(load > 0.0 && load <= 1.0) {
            let message = format!(
                "{load} is out of range; expected a fraction of the injection bandwidth, 0 < load <= 1"
            );
            return Err(traffic.error("load", message).into());
        }
        let injection = network.injection_bits_per_s();
        let pace =
            OfferedLoad::new(size.mean(), injection, load).map_err(|e| traffic.error("load", e.message))?;
        Ok(JobKind::Traffic(TrafficJob {
            pattern,
            arrival: (arrival.build)(traffic.declare(arrival.parameters), &pace)?,
            size,
            load,
            hosts,
            host_count,
        }))
    }

    /// The hosts of `hosts = "all"`, `"free"` (hosts without ranks) or a number; `None` for all hosts in ascending
    /// order.
    fn traffic_hosts(&self, section: &Section, index: usize) -> Result<Option<Vec<HostId>>, Error> {
        let all = self.occupancy.hosts();
        let everywhere = || (0..all as u32).map(HostId).collect();
        if section.has("hosts")
            && let Ok(count) = section.required::<u32>("hosts")
        {
            let HostOrder { mut hosts, is_named } = self.order(section, index, everywhere())?;
            if count as usize > hosts.len() {
                let message = match is_named {
                    true => format!("the placement names {} hosts", hosts.len()),
                    false => format!("the network has {all} hosts"),
                };
                return Err(section.error("hosts", message).into());
            }
            hosts.truncate(count as usize);
            return Ok(Some(hosts));
        }
        match section.choice_of("hosts", &["all", "free"])? {
            "free" => Ok(Some(
                self.order(section, index, self.occupancy.never_taken())?.hosts,
            )),
            _ => {
                // All hosts keep their order, unless the placement names hosts.
                let order = self.order(section, index, everywhere())?;
                Ok(order.is_named.then_some(order.hosts))
            }
        }
    }

    /// These hosts, in the order of the job's placement.
    fn order(&self, section: &Section, index: usize, free: Vec<HostId>) -> Result<HostOrder, Error> {
        let mut site = PlacementSite {
            free,
            holder: &|host| self.holder(host, index),
            hosts: self.occupancy.hosts() as u32,
            geometry: &HostGeometry::new(self.network),
            folder: self.folder,
            random: RandomStream::new(self.seed, PLACEMENT_STREAMS - index as u32, 0),
        };
        Ok(placement::order(section, &mut site)?)
    }

    /// The job that has a host while job `index` needs it, for messages.
    fn holder(&self, host: HostId, index: usize) -> String {
        let (name, lifetime) = &self.jobs[index];
        // Traffic needs hosts that are never taken.
        let lifetime = match self.occupancy.holder(host, *lifetime) {
            Some(_) => *lifetime,
            None => Lifetime::WHOLE_RUN,
        };
        match self.occupancy.holder(host, lifetime) {
            None => "another job".into(),
            Some(occupant) => {
                let of = &self.jobs[occupant.job].0;
                format!(
                    "job '{of}', {}, and job '{name}' needs it {lifetime}",
                    occupant.lifetime
                )
            }
        }
    }
}

/// First random stream of placements. Each of up to 2^16 jobs uses one stream, downwards. LPs are numbered from 0, so
/// no LP uses them.
const PLACEMENT_STREAMS: u32 = u32::MAX;
const PATTERN_STREAMS: u32 = u32::MAX - (1 << 16);
const MAPPING_STREAMS: u32 = u32::MAX - (2 << 16);

/// The random stream that patterns use when they are built.
struct PatternRandom(RandomStream);

impl TrafficRandom for PatternRandom {
    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}
