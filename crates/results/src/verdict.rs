//! The verdict on a run: one sentence with the numbers that carry it, then where, when, why, what to try.
//!
//! A verdict is a pure function of a finished result: it simulates nothing, and it is not part of the digest. Each
//! family of rules is a file here; the first rule that holds gives the verdict. `docs/methods/verdict.md` describes the
//! rules and their thresholds. A verdict never promises: what to try are runs to compare with.

mod applications;
mod carried;
mod class_loads;
mod comparisons;
mod confidence;
mod link_loads;
mod overloaded;
mod proposals;
mod text;
mod thresholds;
mod undecided;

use std::path::Path;

use crate::{
    BatchColumns, ChangedKey, Comparison, Confidence, ConfidenceLevel, CriticalPaths, JobSummary, ReadError,
    RunResult, Summary, Table, TrafficSummary, Verdict, VerdictPlace, VerdictTime, show,
};
use class_loads::LinkClassSeries;
use link_loads::{LinkClassLoads, LinkLoads};

pub use text::RepeatedRun;
pub use thresholds::{DELIVERED, VERDICT_THRESHOLDS};

/// A rule of the verdict.
#[derive(Clone, Copy, Debug)]
pub struct VerdictRule {
    /// Name.
    pub name: &'static str,
    apply: fn(&Evidence<'_>) -> Option<Finding>,
}

/// All rules, in their order: the first one that holds gives the verdict. The last one always holds.
pub const VERDICT_RULES: &[VerdictRule] = &[
    VerdictRule {
        name: "nothing-known",
        apply: undecided::nothing_known,
    },
    VerdictRule {
        name: "network-bound",
        apply: applications::network_bound,
    },
    VerdictRule {
        name: "overhead-bound",
        apply: applications::overhead_bound,
    },
    VerdictRule {
        name: "memory-bound",
        apply: applications::memory_bound,
    },
    VerdictRule {
        name: "computation-bound",
        apply: applications::computation_bound,
    },
    VerdictRule {
        name: "unfinished",
        apply: undecided::unfinished,
    },
    VerdictRule {
        name: "links-unknown",
        apply: undecided::links_unknown,
    },
    VerdictRule {
        name: "full-hosts",
        apply: overloaded::full_hosts,
    },
    VerdictRule {
        name: "uneven-cabling",
        apply: overloaded::uneven_cabling,
    },
    VerdictRule {
        name: "few-full-links",
        apply: overloaded::few_full_links,
    },
    VerdictRule {
        name: "full-class",
        apply: overloaded::full_class,
    },
    VerdictRule {
        name: "uneven-load",
        apply: overloaded::uneven_load,
    },
    VerdictRule {
        name: "too-short",
        apply: undecided::too_short,
    },
    VerdictRule {
        name: "no-full-link",
        apply: overloaded::no_full_link,
    },
    VerdictRule {
        name: "hot-hosts",
        apply: carried::hot_hosts,
    },
    VerdictRule {
        name: "queues",
        apply: carried::queues,
    },
    VerdictRule {
        name: "at-ease",
        apply: carried::at_ease,
    },
];

/// What a rule found.
#[derive(Default)]
struct Finding {
    headline: String,
    places: Vec<VerdictPlace>,
    times: Vec<VerdictTime>,
    causes: Vec<String>,
    comparisons: Vec<Comparison>,
    /// Why it is not known, if the rule says so.
    unknown: Option<String>,
    /// What of it is an estimate, and how to know it.
    estimate: Option<String>,
}

/// What rules see.
struct Evidence<'a> {
    summary: &'a Summary,
    links: Option<LinkLoads<'a>>,
    routers: Option<&'a Table>,
    calls: Option<&'a Table>,
    series: Option<LinkClassSeries>,
    paths: Option<&'a CriticalPaths>,
}

/// A job of traffic of which less arrived than was offered.
#[derive(Clone, Copy)]
struct LackingJob<'a> {
    job: &'a JobSummary,
    traffic: &'a TrafficSummary,
}

/// The verdict on a run. Tables that are missing make it say less, never wrong: `links` carries most rules, `routers`
/// and `calls` some, `class_series` says when. `paths` is what `fabricsim explain` found, if it ran: its shares of a
/// job's time then replace those of the summary.
pub fn verdict(summary: &Summary, tables: &[Table], paths: Option<&CriticalPaths>) -> Verdict {
    let explained = paths.map(|paths| paths.lead(summary));
    let summary = explained.as_ref().unwrap_or(summary);
    let table = |name: &str| tables.iter().find(|table| table.name() == name);
    let mut evidence = Evidence {
        summary,
        links: table("links").and_then(|links| LinkLoads::of(links, summary.network.measured_ns)),
        routers: table("routers"),
        calls: table("calls"),
        series: None,
        paths,
    };
    let (from_ps, until_ps) = evidence.measured_ps();
    evidence.series = table("class_series").and_then(|series| LinkClassSeries::of(series, from_ps, until_ps));
    let found = VERDICT_RULES
        .iter()
        .find_map(|rule| Some((rule.name, (rule.apply)(&evidence)?)));
    let (rule, finding) = found.expect("the last rule holds for every run");
    let confidence = confidence::of(&evidence, &finding);
    Verdict {
        rule: rule.into(),
        headline: finding.headline,
        places: finding.places,
        times: finding.times,
        causes: finding.causes,
        comparisons: finding.comparisons,
        confidence,
    }
}

impl RunResult {
    /// Sets the verdict. Bounds, notes and collected tables precede it.
    pub fn judge(&mut self) {
        // Without `class_series` the verdict does not say when. A part that cannot be read fails when the result is
        // written, with its name.
        let series = self
            .collected
            .iter()
            .find(|collected| collected.name() == "class_series" && collected.in_memory().is_none())
            .and_then(|collected| collected.table().ok());
        self.summary.verdict = Some(match series {
            // A table is a few references to its columns, so that this copies no rows.
            Some(series) => verdict(&self.summary, &[self.tables.as_slice(), &[series]].concat(), None),
            None => verdict(&self.summary, &self.tables, None),
        });
    }
}

impl<'a> Evidence<'a> {
    /// Start and end of the measured time, in picoseconds of simulated time.
    fn measured_ps(&self) -> (u64, u64) {
        let warmup = self.summary.experiment["run"]["warmup"].as_str();
        let from_ps = warmup
            .and_then(|text| config::Duration::parse(text).ok())
            .map_or(0, |time| time.ps);
        let measured_ps = (self.summary.network.measured_ns * 1000.0).round() as u64;
        (from_ps, from_ps.saturating_add(measured_ps))
    }

    /// Time of the largest packet on a link of a class, in picoseconds.
    fn packet_time_ps(&self, class: &str) -> Option<f64> {
        let packet = self.summary.experiment["network"]["packet"].as_str()?;
        let bits = 8.0 * config::Bytes::parse(packet).ok()?.bytes as f64;
        Some(bits * 1e12 / self.links.as_ref()?.bandwidth(class)? as f64)
    }

    /// Whether a result has a note of this kind.
    fn has_note(&self, kind: &str) -> bool {
        self.summary.notes.iter().any(|note| note.kind == kind)
    }

    /// Jobs of synthetic traffic that offered some in the measured time.
    fn traffic(&self) -> impl Iterator<Item = LackingJob<'a>> {
        let summary: &'a Summary = self.summary;
        summary.jobs.iter().filter_map(|job| {
            let traffic = job.traffic.as_ref().filter(|traffic| traffic.offered_bytes > 0)?;
            Some(LackingJob { job, traffic })
        })
    }

    /// The job of traffic that lacks the greatest share of what it offered, if it lacks more than noise.
    fn lacking(&self) -> Option<LackingJob<'a>> {
        let share = |job: &LackingJob| job.traffic.delivered_share().unwrap_or(1.0);
        let least = self.traffic().min_by(|a, b| share(a).total_cmp(&share(b)))?;
        (share(&least) < DELIVERED).then_some(least)
    }

    /// Delivered and offered load of a job in words: `the network delivers 3.1 % of the injection bandwidth, of 50.0 %
    /// offered`.
    fn loads(&self, LackingJob { job, traffic }: LackingJob<'_>) -> String {
        let of = match self.summary.jobs.len() {
            0 | 1 => String::new(),
            _ => format!(" for job {}", job.name),
        };
        format!(
            "the network delivers {} of the injection bandwidth{of}, of {} offered",
            show::percent(traffic.accepted_load),
            show::percent(traffic.offered_load)
        )
    }

    /// The routing algorithm.
    fn routing(&self) -> &'a str {
        let summary: &'a Summary = self.summary;
        summary.experiment["network"]["routing"]["algorithm"]
            .as_str()
            .unwrap_or("of this network")
    }
}

/// `33 of 1 056 global links are full`.
fn full_of(class: &LinkClassLoads) -> String {
    format!(
        "{} of {} {} links {} full",
        show::count(class.full),
        show::count(class.links),
        class.name,
        if class.full == 1 { "is" } else { "are" }
    )
}

/// The first letter in upper case.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

/// Number of single links that a verdict names.
const NAMED_LINKS: usize = 3;

/// The busiest links of a class, and other classes in which a comparable share of links is full.
fn busy_places(links: &LinkLoads<'_>, worst: &LinkClassLoads) -> Vec<VerdictPlace> {
    let busiest = links.busiest(&worst.name, NAMED_LINKS).into_iter();
    let named = |load: f64| worst.full == 0 || load >= thresholds::FULL;
    let mut places: Vec<VerdictPlace> = busiest
        .filter(|(_, _, load)| named(*load))
        .map(|(number, text, load)| VerdictPlace {
            found: format!("{} link {text}: {}", worst.name, show::percent(load)),
            class: Some(worst.name.clone()),
            links: vec![number],
        })
        .collect();
    let also = links.others().filter(|class| {
        class.name != worst.name
            && class.full > 0
            && class.full_share() >= thresholds::NAMED_CLASS * worst.full_share()
    });
    places.extend(also.map(|class| VerdictPlace {
        found: format!("also {}", full_of(class)),
        class: Some(class.name.clone()),
        links: Vec::new(),
    }));
    places
}

/// The verdict on a result folder: the one of its run, or a new one for results of older versions, and if
/// `fabricsim explain` has found since then where messages of the critical path waited.
///
/// # Errors
/// A table or the explanation is damaged or cannot be read.
pub fn verdict_of_folder(folder: &Path, summary: &Summary) -> Result<Verdict, ReadError> {
    let read = |name: &str| {
        let path = folder.join(format!("{name}.parquet"));
        let table = path.exists().then(|| Table::read(&path)).transpose();
        table.map_err(|source| ReadError::Io { path, source })
    };
    of_tables(Some(folder), summary, read)
}

/// The summary of a result folder with its verdict as [`verdict_of_folder`] gives it, and with the shares of jobs'
/// times that `fabricsim explain` found, if it ran. This is what every display of a folder shows.
///
/// # Errors
/// As [`verdict_of_folder`].
pub fn explained_summary(folder: &Path, summary: &Summary) -> Result<Summary, ReadError> {
    let verdict = verdict_of_folder(folder, summary)?;
    let paths = CriticalPaths::load(folder, &summary.digest)?;
    let mut explained = paths.map_or_else(|| summary.clone(), |paths| paths.lead(summary));
    explained.verdict = Some(verdict);
    Ok(explained)
}

/// As [`verdict_of_folder`], with tables from anywhere.
pub(crate) fn of_tables(
    folder: Option<&Path>,
    summary: &Summary,
    read: impl Fn(&str) -> Result<Option<Table>, ReadError>,
) -> Result<Verdict, ReadError> {
    let paths = folder.map(|folder| CriticalPaths::load(folder, &summary.digest));
    let paths = paths.transpose()?.flatten();
    match &summary.verdict {
        Some(verdict) if paths.is_none() => Ok(verdict.clone()),
        _ => {
            let tables = TABLES.iter().map(|name| read(name));
            let tables: Vec<Option<Table>> = tables.collect::<Result<_, _>>()?;
            let tables: Vec<Table> = tables.into_iter().flatten().collect();
            Ok(verdict(summary, &tables, paths.as_ref()))
        }
    }
}

/// The tables that rules read.
const TABLES: [&str; 4] = ["links", "routers", "calls", "class_series"];

/// The group of each router, if the network has groups.
fn groups(routers: &Table) -> Option<Vec<Option<u64>>> {
    let columns = BatchColumns::new(routers.batch());
    let groups = columns.maybe_integers("group").ok()?;
    groups.iter().any(Option::is_some).then_some(groups)
}
