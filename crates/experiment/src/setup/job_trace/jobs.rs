//! Jobs of ranks from `[job_trace]`: each job of the simulated part executes its application until its end.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;
use std::sync::Arc;

use config::{Location, Section};
use des::RandomStream;
use mpi::ComputeRule;
use topology::HostId;
use workload::{Interpreters, Workload};

use super::expansion::{Expansion, ExpansionError, PlacedJob, TraceSchedule, expand};
use super::setting::{APPLICATION, TraceJob, TraceSetting};
use crate::Error;
use crate::setup::geometry::HostGeometry;
use crate::setup::lifetime::{Lifetime, RepetitionRule};
use crate::setup::mapping;
use crate::setup::network::NetworkModel;
use crate::setup::placement::{self, PlacementSite};

/// Parts of the experiment that jobs of a trace need.
pub struct TraceContext<'a> {
    /// The network.
    pub network: &'a NetworkModel,
    /// Settings of MPI.
    pub mpi: &'a mpi::MpiSettings,
    /// Hosts of the machine, in ascending order.
    pub machine: &'a [HostId],
    /// Seed of the run.
    pub seed: u64,
    /// Random stream of the placement.
    pub placement_stream: u32,
    /// Random stream of the mapping of the first job; those of further jobs are below it.
    pub mapping_stream: u32,
    /// Largest number of jobs.
    pub most: usize,
    /// Base of relative paths.
    pub folder: &'a Path,
    /// Interpreters of programs in other languages.
    pub interpreters: Interpreters<'a>,
}

/// A job of ranks of the simulated part.
pub struct ExpandedJob {
    /// Name in results.
    pub name: String,
    /// Start and end in the simulation.
    pub lifetime: Lifetime,
    /// Its application, repeated without end.
    pub workload: Arc<dyn Workload>,
    /// Settings of MPI.
    pub settings: mpi::MpiSettings,
    /// Kind of its workload, as in results.
    pub kind: &'static str,
    /// The host of each rank.
    pub hosts: Vec<HostId>,
}

/// Reads `[job_trace]`: the jobs of the simulated part, by arrival, and the schedule.
///
/// # Errors
/// A wrong key or file, a part without jobs, an application that cannot run with the ranks of a job.
pub fn read(
    section: &Section,
    context: &TraceContext<'_>,
) -> Result<(Vec<ExpandedJob>, TraceSchedule), Error> {
    let setting = TraceSetting::read(section, context.machine.len() as u32, context.folder)?;
    let geometry = HostGeometry::new(context.network);
    let mut random = RandomStream::new(context.seed, context.placement_stream, 0);
    let order = |_, free| {
        let mut site = PlacementSite {
            free,
            holder: &|_| "another job".into(),
            hosts: context.network.hosts(),
            geometry: &geometry,
            folder: context.folder,
            random,
        };
        let order = placement::order(section, &mut site)?;
        random = site.random;
        match order.is_named {
            false => Ok(order.hosts),
            true => Err(section.error(
                "placement",
                "names single hosts, which other jobs may have at that time; expected an order of all free hosts, \
                 such as \"linear\" or \"random\"",
            )),
        }
    };
    let Expansion { jobs, schedule } =
        expand(&setting, context.machine, order).map_err(|error| match error {
            ExpansionError::Key(key, message) => section.error(key, message),
            ExpansionError::Order(error) => error,
        })?;
    if jobs.len() > context.most {
        let message = format!(
            "{} jobs run in this part of the trace; expected at most {}: shorten it with from and until, or jobs",
            jobs.len(),
            context.most
        );
        return Err(section.error("file", message).into());
    }
    let mut applications = Applications {
        section,
        setting: &setting,
        context,
        known: BTreeMap::new(),
    };
    let built: Result<Vec<ExpandedJob>, Error> = (0u32..)
        .zip(&jobs)
        .map(|(index, placed)| applications.job(index, placed))
        .collect();
    let built = built?;
    // Keys of the tables were checked in copies, one for each job.
    for table in section.sections("application")? {
        table.everything()?;
    }
    Ok((built, schedule))
}

/// The workloads of applications, shared by jobs of one size.
struct Applications<'a> {
    section: &'a Section,
    setting: &'a TraceSetting,
    context: &'a TraceContext<'a>,
    /// By table, hosts and ranks on each host.
    known: BTreeMap<(usize, u32, Option<u32>), SizedApplication>,
}

#[derive(Clone)]
struct SizedApplication {
    workload: Arc<dyn Workload>,
    settings: mpi::MpiSettings,
    kind: &'static str,
}

impl Applications<'_> {
    fn job(&mut self, index: u32, placed: &PlacedJob) -> Result<ExpandedJob, Error> {
        let job = &self.setting.jobs[placed.number];
        let located = |mut error: config::Error| {
            let TraceJob { name, line, .. } = job;
            error.message += &format!("; for the job {name} of {}:{line}", self.setting.file);
            error
        };
        let table = self.table(job)?;
        let key = (job.table, job.request.hosts, job.ranks_per_host);
        let known = self.known.get(&key).cloned();
        let application = match known {
            Some(known) => known,
            None => self.application(&table, job).map_err(located)?,
        };
        let ranks = application.workload.ranks();
        let stream = RandomStream::new(self.context.seed, self.context.mapping_stream - index, 0);
        let mapped = mapping::map_ranks(&table, ranks, self.context.folder, stream).map_err(located)?;
        if mapped.host_count() as usize != placed.hosts.len() {
            let message = format!(
                "{ranks} ranks at {} per host need {} hosts, and the job has {}; expected ranks for all of its hosts",
                mapped.per_host,
                mapped.host_count(),
                placed.hosts.len()
            );
            return Err(located(table.error("workload", message)).into());
        }
        if let Entry::Vacant(entry) = self.known.entry(key) {
            table.finish()?;
            entry.insert(application.clone());
        }
        let hosts = mapped
            .hosts
            .iter()
            .map(|host| placed.hosts[*host as usize])
            .collect();
        Ok(ExpandedJob {
            name: job.name.clone(),
            lifetime: Lifetime {
                start: placed.start,
                end: Some(placed.end),
            },
            workload: application.workload,
            settings: application.settings,
            kind: application.kind,
            hosts,
        })
    }

    /// A copy of the table of the job's application, with the ranks of the job.
    fn table(&self, job: &TraceJob) -> Result<Section, Error> {
        let original = &self.section.sections("application")?[job.table];
        if original.has("ranks") || original.section("workload")?.has("ranks") {
            let workload = original.section("workload")?;
            let message = "the trace gives the size of each job; remove this key, and see ranks_per_host";
            return Err(workload.error("ranks", message).into());
        }
        let mut table = original.clone();
        let location = Location {
            file: self.setting.file.as_str().into(),
            line: u32::try_from(job.line).unwrap_or(u32::MAX),
        };
        if let Some(ranks) = job.ranks_per_host {
            table.set_from("ranks_per_host", &ranks.to_string(), location.clone())?;
        }
        table.inherit("ranks_per_host", self.section);
        let per_host: u64 = table.or("ranks_per_host", 1)?;
        if !(1..=4096).contains(&per_host) {
            let message = format!("{per_host} is out of range; expected 1 to 4096");
            return Err(table.error("ranks_per_host", message).into());
        }
        let kind = workload::named(table.section("workload")?)?.kind;
        // A recording has as many ranks as were recorded.
        if kind != "trace" {
            let ranks = u64::from(job.request.hosts) * per_host;
            table.set_from("workload.ranks", &ranks.to_string(), location)?;
        }
        table.declare(APPLICATION).get::<String>("name")?;
        Ok(table)
    }

    fn application(&self, table: &Section, job: &TraceJob) -> Result<SizedApplication, config::Error> {
        let source = table.section("workload")?;
        let workload = workload::read(source, self.context.folder, self.context.interpreters)?;
        RepetitionRule::UntilEnd.check(workload.as_ref(), source)?;
        let per_host: u64 = table.or("ranks_per_host", 1)?;
        let expected = u64::from(job.request.hosts) * per_host;
        if u64::from(workload.ranks()) != expected {
            let message = format!(
                "has {} ranks; the job has {} hosts with {per_host} ranks each and needs {expected}",
                workload.ranks(),
                job.request.hosts
            );
            return Err(source.error("", message));
        }
        let mut settings = self.context.mpi.clone();
        settings.compute = ComputeRule::read(table, &workload.regions())?;
        Ok(SizedApplication {
            workload: RepetitionRule::UntilEnd.of(workload),
            settings,
            kind: workload::named(source)?.kind,
        })
    }
}
