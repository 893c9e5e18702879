//! The keys of `[job_trace]`, and the jobs that they select from a file.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use config::{DefaultValue, Error, Parameter, Section, Type, parameters};

use super::{FORMAT_NAMES, JobRecord, JobSize, JobTraceFormat, MAX_JOBS, TraceHeader, TraceTime};
use crate::setup::schedule::{JobRequest, SCHEDULERS, SchedulerKind};

/// A time of the trace: seconds, or with a unit.
const TRACE_TIME: Type = Type::Either(&[Type::Number, Type::Time]);

/// Names of the schedulers.
const SCHEDULER_NAMES: &[&str] = config::names_of!(SCHEDULERS);

/// Largest number of seconds of the trace in a simulated second.
const MAX_TIME_SCALE: u64 = 1_000_000_000_000;

/// Name of the application of all jobs whose application has no table.
const ANY: &str = "*";

/// Keys of `[job_trace]`, beside its placement and its tables.
pub const JOB_TRACE: &[Parameter] = parameters! {
    required("file", Type::Path, "path, relative to the experiment's file");
    computed("format", Type::Choice(FORMAT_NAMES), "the extension of the file",
        "format (fabricsim list job-trace-formats)");
    new("scheduler", Type::Choice(SCHEDULER_NAMES), DefaultValue::Text("fcfs"),
        "which job starts when (fabricsim list schedulers)");
    integer("time_scale", 1, "seconds of the trace in a simulated second, 1 to 1000000000000");
    integer("first", 1, "number of the first job of the file that is scheduled");
    computed("jobs", Type::Integer, "all", "number of jobs of the file that are scheduled, at most 1000000");
    computed("from", TRACE_TIME, "the first arrival", "time of the trace at which the simulation begins");
    computed("until", TRACE_TIME, "the end of the last job", "time of the trace at which running jobs are cut off");
    choice("invalid", &["error", "skip"], "what happens to jobs that cannot run");
    computed("processors_per_node", Type::Integer, "MaxProcs / MaxNodes of the file, or 1",
        "processors that make a node, with the format swf");
    integer("ranks_per_host", 1, "ranks on each host, 1 to 4096, unless the application or the job says otherwise");
};

/// Keys of `[[job_trace.application]]`, beside the tables that a job of ranks has.
pub const APPLICATION: &[Parameter] = parameters! {
    required("name", Type::Text, "application of the trace, or * for all that have no table");
    computed("ranks_per_host", Type::Integer, "job_trace.ranks_per_host", "ranks on each host, 1 to 4096");
};

/// A job of the trace that is scheduled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceJob {
    /// Line in the file.
    pub line: u64,
    /// Name in results.
    pub name: String,
    /// Name of its application in the trace; empty if it has none.
    pub application: Arc<str>,
    /// Number of the table of its application.
    pub table: usize,
    /// Times in nanoseconds, and hosts.
    pub request: JobRequest,
    /// Ranks on each of its hosts, if the trace says so.
    pub ranks_per_host: Option<u32>,
}

/// Jobs that cannot run, by the reason.
pub type LeftOut = BTreeMap<&'static str, u64>;

/// A part of a trace.
pub struct TraceSetting {
    /// The file, as the experiment names it.
    pub file: String,
    /// The scheduler.
    pub scheduler: &'static SchedulerKind,
    /// Seconds of the trace in a simulated second.
    pub time_scale: u64,
    /// Start of the simulation in the trace; `None`: the first arrival.
    pub from: Option<TraceTime>,
    /// End of the simulation in the trace; `None`: the end of the last job.
    pub until: Option<TraceTime>,
    /// The scheduled jobs, by arrival.
    pub jobs: Vec<TraceJob>,
    /// Jobs that cannot run and were skipped.
    pub left_out: LeftOut,
}

impl TraceSetting {
    /// Reads the keys, and the file for a machine of this many hosts. `folder` is the base of its path.
    ///
    /// # Errors
    /// A wrong key, a wrong line, a job that cannot run, an application without a table.
    pub fn read(section: &Section, hosts: u32, folder: &Path) -> Result<TraceSetting, Error> {
        section.declare(JOB_TRACE);
        let file: String = section.get("file")?;
        let format = match section.has("format") {
            true => section.choice_or("format", FORMAT_NAMES[0], FORMAT_NAMES)?,
            false => match JobTraceFormat::of_file(&file) {
                Some(format) => section.choice_or("format", format.name, FORMAT_NAMES)?,
                None => {
                    let message = format!(
                        "the extension of {file} tells no format; expected one of: {}",
                        FORMAT_NAMES.join(", ")
                    );
                    return Err(section.error("format", message));
                }
            },
        };
        let format = JobTraceFormat::named(format).expect("one of the names");
        let scheduler = section.choice("scheduler")?;
        let scheduler = SCHEDULERS
            .iter()
            .find(|kind| kind.name == scheduler)
            .expect("one of the names");
        let from: Option<TraceTime> = section.optional("from")?;
        let until: Option<TraceTime> = section.optional("until")?;
        if let (Some(from), Some(until)) = (from, until)
            && until <= from
        {
            let message = format!("{until} is not after from = {from}; expected a later time");
            return Err(section.error("until", message));
        }
        let time_scale = in_range(section, "time_scale", section.get("time_scale")?, MAX_TIME_SCALE)?;
        in_range(section, "ranks_per_host", section.get("ranks_per_host")?, 4096)?;
        let (records, header) = records(section, format, &folder.join(&file), &file)?;
        let selection = Selection {
            section,
            file: &file,
            hosts,
            processors_per_node: processors_per_node(section, format, header)?,
            skips: section.choice("invalid")? == "skip",
            applications: applications(section)?,
        };
        let (jobs, left_out) = selection.jobs(records)?;
        Ok(TraceSetting {
            file,
            scheduler,
            time_scale,
            from,
            until,
            jobs,
            left_out,
        })
    }
}

fn in_range(section: &Section, key: &str, value: u64, most: u64) -> Result<u64, Error> {
    match (1..=most).contains(&value) {
        true => Ok(value),
        false => Err(section.error(key, format!("{value} is out of range; expected 1 to {most}"))),
    }
}

/// The selected jobs of the file.
fn records(
    section: &Section,
    format: &JobTraceFormat,
    path: &Path,
    file: &str,
) -> Result<(Vec<JobRecord>, TraceHeader), Error> {
    let first = in_range(section, "first", section.get("first")?, u64::MAX)?;
    let jobs: Option<u64> = section.optional("jobs")?;
    if let Some(jobs) = jobs {
        in_range(section, "jobs", jobs, MAX_JOBS)?;
    }
    let mut records = Vec::new();
    let mut number = 0;
    let header = format.read(path, file, &mut |record| {
        number += 1;
        if number < first {
            return Ok(ControlFlow::Continue(()));
        }
        if records.len() as u64 == MAX_JOBS {
            return Err(format!(
                "is more than {MAX_JOBS} jobs; expected fewer: select a part with first and jobs"
            ));
        }
        records.push(record);
        match jobs.is_some_and(|jobs| records.len() as u64 == jobs) {
            true => Ok(ControlFlow::Break(())),
            false => Ok(ControlFlow::Continue(())),
        }
    });
    let header = header.map_err(|message| section.error("file", message))?;
    if records.is_empty() {
        let message =
            format!("{file} has {number} jobs; expected at least {first}, the first one of the part");
        return Err(section.error("file", message));
    }
    Ok((records, header))
}

/// Processors that make a node.
fn processors_per_node(
    section: &Section,
    format: &JobTraceFormat,
    header: TraceHeader,
) -> Result<u64, Error> {
    let key = "processors_per_node";
    if section.has(key) && format.name != "swf" {
        let message = format!(
            "a trace in the format {} counts nodes; remove this key",
            format.name
        );
        return Err(section.error(key, message));
    }
    let known = match (header.max_processors, header.max_nodes) {
        (Some(processors), Some(nodes)) if !section.has(key) => {
            if processors < nodes || processors % nodes > 0 {
                let message = format!(
                    "MaxProcs {processors} and MaxNodes {nodes} of the file give no whole number of processors in \
                     a node; expected this key"
                );
                return Err(section.error(key, message));
            }
            processors / nodes
        }
        _ => 1,
    };
    match format.name {
        "swf" => in_range(section, key, section.or(key, known)?, u64::MAX),
        _ => Ok(1),
    }
}

/// The number of the table of each application.
fn applications(section: &Section) -> Result<BTreeMap<String, usize>, Error> {
    let tables = section.sections("application")?;
    let mut numbers = BTreeMap::new();
    for (number, table) in tables.iter().enumerate() {
        let name: String = table.declare(APPLICATION).get("name")?;
        if numbers.insert(name.clone(), number).is_some() {
            let message = format!("the application '{name}' has two tables; expected one");
            return Err(table.error("name", message));
        }
    }
    match numbers.is_empty() {
        false => Ok(numbers),
        true => Err(section.error(
            "application",
            "missing: the jobs have nothing to execute; expected [[job_trace.application]] with name and workload",
        )),
    }
}

/// What selects the jobs that can run.
struct Selection<'a> {
    section: &'a Section,
    file: &'a str,
    hosts: u32,
    processors_per_node: u64,
    skips: bool,
    applications: BTreeMap<String, usize>,
}

impl Selection<'_> {
    /// The jobs by arrival, those of one time in the order of the file.
    fn jobs(&self, records: Vec<JobRecord>) -> Result<(Vec<TraceJob>, LeftOut), Error> {
        let (total, mut jobs) = (records.len(), Vec::with_capacity(records.len()));
        let mut left_out = LeftOut::new();
        let mut names: BTreeMap<String, u64> = BTreeMap::new();
        for (number, record) in (1u64..).zip(records) {
            let line = record.line;
            let request = match self.request(&record) {
                Ok(request) => request,
                Err((reason, _)) if self.skips => {
                    *left_out.entry(reason).or_default() += 1;
                    continue;
                }
                Err((_, message)) => {
                    let message = format!(
                        "{message}; expected a job that can run here, or invalid = \"skip\" to leave such jobs out"
                    );
                    return Err(self.error(line, &message));
                }
            };
            let name = match &record.name {
                Some(name) if name.bytes().all(|byte| byte.is_ascii_digit()) => format!("job{name}"),
                Some(name) => name.to_string(),
                None => format!("job{number}"),
            };
            if let Some(before) = names.insert(name.clone(), line) {
                let message = format!("the job {name} is also in line {before}; expected different names");
                return Err(self.error(line, &message));
            }
            let application = record.application.clone().unwrap_or_default();
            let table = self
                .applications
                .get(&*application)
                .or(self.applications.get(ANY));
            let Some(table) = table.copied() else {
                let message = format!(
                    "the application '{application}' has no table; expected [[job_trace.application]] with this \
                     name, or with the name \"*\" for all others"
                );
                return Err(self.error(line, &message));
            };
            jobs.push(TraceJob {
                line,
                name,
                application,
                table,
                request,
                ranks_per_host: record.ranks_per_host,
            });
        }
        if jobs.is_empty() {
            let message = format!("none of the {total} jobs can run; expected at least one");
            return Err(self.section.error("file", format!("{}: {message}", self.file)));
        }
        jobs.sort_by_key(|job| job.request.arrival);
        Ok((jobs, left_out))
    }

    /// What the scheduler needs. An error has the reason in general, and with numbers.
    fn request(&self, record: &JobRecord) -> Result<JobRequest, (&'static str, String)> {
        let Some(arrival) = record.arrival else {
            return Err(("no arrival", "its arrival is not known".into()));
        };
        let Some(duration) = record.duration.filter(|duration| duration.ns > 0) else {
            return Err(("no duration", "its duration is 0 or not known".into()));
        };
        let nodes = match record.size {
            Some(JobSize::Nodes(nodes)) => nodes,
            Some(JobSize::Processors(processors)) => processors.div_ceil(self.processors_per_node),
            None => 0,
        };
        if nodes == 0 {
            return Err(("no nodes", "its number of nodes is 0 or not known".into()));
        }
        let hosts = u32::try_from(nodes).ok().filter(|nodes| *nodes <= self.hosts);
        let Some(hosts) = hosts else {
            let message = format!("it needs {nodes} nodes, and the machine has {} hosts", self.hosts);
            return Err(("more nodes than the machine has", message));
        };
        Ok(JobRequest {
            arrival: arrival.ns,
            hosts,
            duration: duration.ns,
            estimate: record.estimate.map_or(duration.ns, |estimate| estimate.ns),
        })
    }

    fn error(&self, line: u64, message: &str) -> Error {
        self.section
            .error("file", format!("{}:{line}: {message}", self.file))
    }
}
