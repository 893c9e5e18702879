//! Explains the jobs of a result folder.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use results::rows::{CriticalPathRow, ResultRow};
use results::{
    CRITICAL_PATH_SCHEMA, CriticalPath, CriticalPaths, JobSummary, PathLink, PathRank, PathReason, PathWait,
    Summary,
};

use crate::Error;
use crate::backwards::Backwards;
use crate::columns::NameColumn;
use crate::contributions;
use crate::explained::Explained;
use crate::places::{self, Bandwidths, Link, LinkPlace};
use crate::tables::{Readable, Stored};
use crate::walk::{HeldBy, History, Path as JobPath, PathStep, PathStepKind, walk};

/// Maximum number of listed links and of listed ranks.
const LISTED: usize = 20;

/// Least share of the waits for a link class that the named groups cover. The other groups are not named.
const NAMED_SHARE: f64 = 0.95;

/// Finds the critical path of one job of a result, or of all jobs of ranks.
///
/// # Errors
/// The folder is no result, or its run did not collect the required tables; the job does not exist; tables are
/// damaged.
pub fn explain(folder: &Path, job: Option<&str>) -> Result<(CriticalPaths, Vec<CriticalPathRow>), Error> {
    let mut rows = Vec::new();
    let paths = find(folder, job, &mut |row| rows.push(row))?;
    Ok((paths, rows))
}

/// Finds the paths and passes on their steps row by row.
fn find(
    folder: &Path,
    job: Option<&str>,
    see: &mut impl FnMut(CriticalPathRow),
) -> Result<CriticalPaths, Error> {
    let summary = Summary::load(folder)?;
    let jobs = chosen(folder, &summary, job)?;
    were_collected(folder, &summary)?;
    let bandwidths = Bandwidths::read(folder)?;
    let memory_latency = memory_latency_ps(&summary);
    let mut paths = Vec::new();
    for job in jobs {
        paths.push(explain_job(folder, job, &bandwidths, memory_latency, see)?);
    }
    Ok(CriticalPaths {
        schema: CRITICAL_PATH_SCHEMA.into(),
        digest: summary.digest,
        jobs: paths,
    })
}

/// An explanation that lies in the folder of its result.
#[derive(Debug)]
pub struct StoredExplanation {
    /// The critical paths.
    pub paths: CriticalPaths,
    /// The report, which was written again to show them. `None` if the folder has none.
    pub report: Option<PathBuf>,
}

/// Runs [`explain`], writes `critical_path.parquet` and `critical_path.json` into the folder, and its report again if
/// it has one.
///
/// # Errors
/// As [`explain`], or the folder cannot be written.
pub fn write(folder: &Path, job: Option<&str>) -> Result<StoredExplanation, Error> {
    let mut columns = CriticalPathRow::columns();
    let paths = find(folder, job, &mut |row| row.push(&mut columns))?;
    paths.write(folder, &CriticalPathRow::table(&mut columns))?;
    let report = results::renew_report(folder)?;
    Ok(StoredExplanation { paths, report })
}

/// Checks that the run has written the required tables. A table without rows has no file.
fn were_collected(folder: &Path, summary: &Summary) -> Result<(), Error> {
    let asked = |key: &str| summary.experiment["collect"][key] == true;
    let tables = [
        ("timeline", "timeline"),
        ("messages", "timeline"),
        ("waits", "waits"),
    ];
    let missing: Vec<&'static str> = tables
        .into_iter()
        .filter(|(table, key)| !asked(key) && !folder.join(format!("{table}.parquet")).exists())
        .map(|(table, _)| table)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::NotCollected {
        folder: folder.into(),
        tables: missing,
    })
}

fn chosen<'a>(folder: &Path, summary: &'a Summary, name: Option<&str>) -> Result<Vec<&'a JobSummary>, Error> {
    let nothing = |why: String| Error::NoRanks {
        folder: folder.into(),
        why,
    };
    let Some(name) = name else {
        let jobs: Vec<&JobSummary> = summary.jobs.iter().filter(|job| job.ranks > 0).collect();
        if jobs.is_empty() {
            return Err(nothing(
                "none of its jobs has ranks, and synthetic traffic has no critical path".into(),
            ));
        }
        return Ok(jobs);
    };
    let job = summary.jobs.iter().find(|job| job.name == name);
    let job = job.ok_or_else(|| Error::NoSuchJob {
        folder: folder.into(),
        name: name.into(),
        known: summary.jobs.iter().map(|job| job.name.clone()).collect(),
    })?;
    if job.ranks == 0 {
        return Err(nothing(format!(
            "job '{name}' is synthetic traffic, which has no critical path"
        )));
    }
    Ok(vec![job])
}

fn explain_job(
    folder: &Path,
    job: &JobSummary,
    bandwidths: &Bandwidths,
    memory_latency: u64,
    see: &mut impl FnMut(CriticalPathRow),
) -> Result<CriticalPath, Error> {
    let names = Rc::new(RefCell::new(NameColumn::default()));
    let own = names.borrow_mut().number(&job.name);
    let mut path = walk(History {
        spans: open(folder, job, &names)?,
        messages: open(folder, job, &names)?,
        waits: open(folder, job, &names)?,
        serialization: &|link, bytes| bandwidths.serialization(link, bytes),
        own,
    })?;
    let names = names.borrow();
    add_what_was_cut_off(job, &mut path);
    check(folder, job, &path)?;
    let waited = path.steps.iter().filter_map(link_of);
    let told = Explained {
        links: places::links(folder, &waited.chain(path.serialized.keys().copied()).collect())?,
        names: &names,
        path: &path,
    };
    let name: Arc<str> = job.name.as_str().into();
    for (step, number) in path.steps.iter().rev().zip(0..) {
        see(told.row(&name, number, step));
    }
    Ok(told.summary(job, memory_latency))
}

/// Latency of a message between two ranks of one host in picoseconds, by the experiment.
fn memory_latency_ps(summary: &Summary) -> u64 {
    let text = summary.experiment["network"]["memory"]["latency"].as_str();
    text.and_then(|text| config::Duration::parse(text).ok())
        .map_or(0, |latency| latency.ps)
}

fn open<R: Readable>(
    folder: &Path,
    job: &JobSummary,
    names: &Rc<RefCell<NameColumn>>,
) -> Result<Backwards<Stored<R>>, Error> {
    Ok(Backwards::new(Stored::open(folder, &job.name, names)?))
}

/// The final state of ranks of an interrupted job has no rows.
fn add_what_was_cut_off(job: &JobSummary, path: &mut JobPath) {
    let start = path.steps.last().map_or(0, |first| first.start);
    let (known, end) = (path.end.unwrap_or(start), start.saturating_add(picoseconds(job)));
    if !job.finished && known < end {
        let what = PathStepKind::Unknown {
            rank: path.rank,
            call: None,
        };
        let rest = PathStep {
            start: known,
            end,
            what,
        };
        path.steps.insert(0, rest);
    }
}

fn picoseconds(job: &JobSummary) -> u64 {
    (job.time_ns * 1000.0).round() as u64
}

/// Checks that the path is as long as the job.
fn check(folder: &Path, job: &JobSummary, path: &JobPath) -> Result<(), Error> {
    let length: u64 = path.steps.iter().map(|step| step.end - step.start).sum();
    let time_ps = picoseconds(job);
    if length == time_ps {
        return Ok(());
    }
    Err(Error::Contradiction {
        folder: folder.into(),
        why: format!(
            "by its summary job '{}' took {time_ps} ps, by its tables there are {length} ps from the last end of a rank \
             back to the first start",
            job.name
        ),
    })
}

fn link_of(step: &PathStep) -> Option<u32> {
    match step.what {
        PathStepKind::PacketWait {
            at: HeldBy::Link { link, .. },
            ..
        } => Some(link),
        _ => None,
    }
}

/// Waits for links of one class that one job occupied, or for the NIC gap.
#[derive(Default)]
struct LinkWaits {
    ps: u64,
    reasons: BTreeMap<Arc<str>, u64>,
    sites: BTreeMap<Option<LinkPlace>, u64>,
}

impl Explained<'_> {
    fn row(&self, job: &Arc<str>, step: u32, at: &PathStep) -> CriticalPathRow {
        let mut row = CriticalPathRow {
            job: job.clone(),
            step,
            kind: "compute".into(),
            rank: 0,
            to_rank: None,
            begin_ps: at.start,
            end_ps: at.end,
            activity: None,
            link: None,
            reason: None,
            holder: None,
            message: None,
        };
        let (kind, rank, activity) = match at.what {
            PathStepKind::Compute { rank, site } => ("compute", rank, site.region),
            PathStepKind::Overhead { rank, call } => ("overhead", rank, call),
            PathStepKind::Unknown { rank, call } => ("unknown", rank, call),
            PathStepKind::Transfer(leg) | PathStepKind::PacketWait { leg, .. } => {
                row.to_rank = Some(leg.to);
                row.message = leg.number;
                row.activity = Some(leg.role.name().into());
                let kind = match at.what {
                    PathStepKind::PacketWait { .. } => "wait",
                    _ => "network",
                };
                (kind, leg.from, None)
            }
        };
        row.kind = kind.into();
        row.rank = rank;
        row.activity = activity.map(|name| self.text(name)).or(row.activity);
        if let PathStepKind::PacketWait { at, .. } = at.what {
            match at {
                HeldBy::Gap => row.reason = Some("gap".into()),
                HeldBy::Link { link, cause } => {
                    row.link = Some(link);
                    row.reason = Some(self.text(cause.reason));
                    row.holder = cause.holder.map(|holder| self.text(holder));
                }
            }
        }
        row
    }

    fn summary(&self, job: &JobSummary, memory_latency: u64) -> CriticalPath {
        let mut path = CriticalPath {
            job: job.name.clone(),
            finished: job.finished,
            steps: self.path.steps.len() as u64,
            messages: self.path.messages,
            ..CriticalPath::default()
        };
        let [mut compute, mut overhead, mut transfer, mut wait, mut unknown] = [0_u64; 5];
        let mut ranks: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        let mut links: BTreeMap<u32, u64> = BTreeMap::new();
        let mut buckets: BTreeMap<(Option<String>, Option<Arc<str>>), LinkWaits> = BTreeMap::new();
        for step in &self.path.steps {
            let ps = step.end - step.start;
            match step.what {
                PathStepKind::Compute { rank, .. } => {
                    compute += ps;
                    ranks.entry(rank).or_default().0 += ps;
                }
                PathStepKind::Overhead { rank, .. } => {
                    overhead += ps;
                    ranks.entry(rank).or_default().1 += ps;
                }
                PathStepKind::Unknown { rank, .. } => {
                    unknown += ps;
                    ranks.entry(rank).or_default();
                }
                PathStepKind::Transfer(_) => transfer += ps,
                PathStepKind::PacketWait { at, .. } => {
                    wait += ps;
                    if let HeldBy::Link { link, .. } = at {
                        *links.entry(link).or_default() += ps;
                    }
                    self.count(at, ps, &mut buckets);
                }
            }
        }
        let communication = overhead + transfer + wait + unknown;
        path.time_ns = ns(compute + communication);
        path.compute_ns = ns(compute);
        path.overhead_ns = ns(overhead);
        path.transfer_ns = ns(transfer);
        path.wait_ns = ns(wait);
        path.unknown_ns = ns(unknown);
        path.ranks = ranks.len() as u64;
        path.waits = waits(buckets, communication);
        path.links = self.busiest_links(links);
        path.busiest_ranks = longest(ranks, |(compute, overhead)| compute + overhead)
            .map(|(rank, (compute, overhead))| PathRank {
                rank,
                compute_ns: ns(compute),
                overhead_ns: ns(overhead),
            })
            .collect();
        let (contributions, bound_by) = contributions::of(self, job, memory_latency, &path.waits);
        (path.contributions, path.bound_by) = (contributions, bound_by);
        path.text = path.sentences();
        path
    }

    fn count(
        &self,
        at: HeldBy,
        ps: u64,
        buckets: &mut BTreeMap<(Option<String>, Option<Arc<str>>), LinkWaits>,
    ) {
        let (class, site, reason, holder) = match at {
            HeldBy::Gap => (None, None, "gap".into(), None),
            HeldBy::Link { link, cause } => {
                let known = self.links.get(&link);
                let class = known.map_or_else(String::new, |link| link.class.clone());
                let holder = cause.holder.map(|holder| self.text(holder));
                (
                    Some(class),
                    known.and_then(Link::site),
                    self.text(cause.reason),
                    holder,
                )
            }
        };
        let bucket = buckets.entry((class, holder)).or_default();
        bucket.ps += ps;
        *bucket.reasons.entry(reason).or_default() += ps;
        *bucket.sites.entry(site).or_default() += ps;
    }

    fn busiest_links(&self, links: BTreeMap<u32, u64>) -> Vec<PathLink> {
        let row = |(link, ps): (u32, u64)| {
            let Link { class, from, to } = self.links.get(&link).cloned().unwrap_or_default();
            PathLink {
                link,
                class,
                from,
                to,
                wait_ns: ns(ps),
            }
        };
        longest(links, |ps| *ps).map(row).collect()
    }
}

/// The entries with the largest times, largest first.
fn longest<T>(all: BTreeMap<u32, T>, key: impl Fn(&T) -> u64) -> impl Iterator<Item = (u32, T)> {
    let mut all: Vec<(u32, T)> = all.into_iter().collect();
    all.sort_by_key(|(number, it)| (std::cmp::Reverse(key(it)), *number));
    all.into_iter().take(LISTED)
}

fn waits(
    buckets: BTreeMap<(Option<String>, Option<Arc<str>>), LinkWaits>,
    communication: u64,
) -> Vec<PathWait> {
    let mut buckets: Vec<_> = buckets.into_iter().collect();
    buckets.sort_by(|(a, x), (b, y)| (y.ps, a).cmp(&(x.ps, b)));
    let wait = |((class, holder), bucket): ((Option<String>, Option<Arc<str>>), LinkWaits)| {
        let (place, unit, numbers) = match &class {
            None => ("the NIC's gap between two messages".into(), None, Vec::new()),
            Some(class) => place(class, &bucket),
        };
        PathWait {
            place,
            class,
            unit,
            numbers,
            holder: holder.map(|holder| holder.to_string()),
            wait_ns: ns(bucket.ps),
            reasons: bucket
                .reasons
                .into_iter()
                .map(|(reason, ps)| PathReason {
                    reason: reason.to_string(),
                    wait_ns: ns(ps),
                })
                .collect(),
            share_of_communication: bucket.ps as f64 / communication as f64,
        }
    };
    buckets.into_iter().map(wait).collect()
}

/// The links of a group of waits in words, and the numbers of the groups with the largest waits.
fn place(class: &str, bucket: &LinkWaits) -> (String, Option<String>, Vec<u64>) {
    let mut sites: Vec<(&LinkPlace, u64)> = bucket
        .sites
        .iter()
        .filter_map(|(site, ps)| Some((site.as_ref()?, *ps)))
        .collect();
    sites.sort_by_key(|(site, ps)| (std::cmp::Reverse(*ps), *site));
    let Some(unit) = sites.first().map(|(site, _)| site.unit) else {
        return (format!("{class} links"), None, Vec::new());
    };
    let (mut numbers, mut named) = (Vec::new(), 0);
    for (site, ps) in sites.iter().filter(|(site, _)| site.unit == unit) {
        if named as f64 >= NAMED_SHARE * bucket.ps as f64 {
            break;
        }
        numbers.push(site.number);
        named += ps;
    }
    numbers.sort_unstable();
    let most = numbers.len() < bucket.sites.len();
    (
        places::name(class, unit, &numbers, most),
        Some(unit.into()),
        numbers,
    )
}

fn ns(ps: u64) -> f64 {
    ps as f64 / 1000.0
}
