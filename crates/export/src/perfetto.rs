//! Perfetto: states of ranks, messages as arrows, loads as curves, critical paths, for https://ui.perfetto.dev and
//! trace_processor. A job is a process of the trace, a rank a thread, and the network a group of curves.
//!
//! Source: Perfetto's documentation, "Writing TrackEvent Protos Synthetically"
//! (https://perfetto.dev/docs/reference/synthetic-track-event). Perfetto counts in nanoseconds; picoseconds are
//! rounded down.

mod bins;
mod curves;
mod jobs;
mod packets;
mod path;
mod ranks;
#[cfg(test)]
mod tests;
mod trace;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::Error;
use crate::folder::ExportSource;
use crate::folder::ReadStop;
use crate::format::{ExportFormat, Made, Options};
use jobs::JobTracks;
use ranks::{RankTracks, TracePosition};
use trace::Trace;

pub(crate) const FORMAT: ExportFormat = ExportFormat {
    name: "perfetto",
    summary: "ranks, messages, loads and critical paths over time, for ui.perfetto.dev: a TrackEvent file",
    options: &["links"],
    made: |_| Made::File(".pftrace".into()),
    write,
};

/// Default number of links with curves.
const LINKS: usize = 16;

/// Exported tables and their form in the trace.
const SHOWN: [(&str, &str); 6] = [
    ("timeline", "what ranks did"),
    ("messages", "messages"),
    ("class_series", "loads of the network"),
    ("link_series", "loads of single links"),
    ("job_series", "progress of jobs"),
    ("critical_path", "critical paths"),
];

fn write(folder: &ExportSource, options: &Options, out: &Path) -> Result<Vec<String>, Error> {
    if !SHOWN.iter().any(|(table, _)| folder.has(table)) {
        folder.require("timeline")?;
    }
    if options.links.is_some_and(|links| links > 0) {
        folder.require("link_series")?;
    }
    let most = options.links.unwrap_or(LINKS);
    let mut trace = Trace::create(out)?;
    let mut jobs = JobTracks::describe(folder, &mut trace)?;
    let busiest = match folder.has("link_series") && most > 0 {
        true => curves::busiest(folder, most)?,
        false => Vec::new(),
    };
    let mut named: BTreeSet<u32> = busiest.iter().copied().collect();
    if folder.has("critical_path") {
        named.extend(path::links(folder)?);
    }
    let names = names(folder, &named)?;
    if folder.has("critical_path") {
        path::paths(folder, &mut jobs, &mut trace, &names)?;
    }
    if folder.has("job_series") {
        curves::jobs(folder, &mut jobs, &mut trace)?;
    }
    if folder.has("timeline") || folder.has("messages") {
        rank_states(folder, &mut jobs, &mut trace)?;
    }
    if folder.has("class_series") || !busiest.is_empty() {
        let network = trace.track(None, "network")?;
        if folder.has("class_series") {
            curves::classes(folder, &mut trace, network)?;
        }
        if !busiest.is_empty() {
            curves::links(folder, &mut trace, network, &busiest, &names)?;
        }
    }
    trace.finish()?;
    let missing = SHOWN.iter().filter(|(table, _)| !folder.has(table));
    let missing = missing.filter(|(table, _)| *table != "link_series" || most > 0);
    Ok(missing
        .map(|(table, what)| {
            format!(
                "without {what}: there is no table {table}: {}",
                folder.why_not(table)
            )
        })
        .collect())
}

/// States of ranks, with their messages.
fn rank_states(folder: &ExportSource, jobs: &mut JobTracks, trace: &mut Trace) -> Result<(), Error> {
    let mut ranks = RankTracks::describe(folder, jobs, trace)?;
    let messages = folder.has("messages");
    if messages {
        ranks.messages(folder, jobs, trace, TracePosition::BeforeSlices)?;
    }
    if folder.has("timeline") {
        ranks.timeline(folder, jobs, trace)?;
    }
    if messages {
        ranks.messages(folder, jobs, trace, TracePosition::AfterSlices)?;
    }
    Ok(())
}

/// Names of these links. Before a run has ended, links have numbers only.
fn names(folder: &ExportSource, wanted: &BTreeSet<u32>) -> Result<BTreeMap<u32, String>, Error> {
    let mut names = BTreeMap::new();
    if wanted.is_empty() || folder.summary().is_none() || !folder.has("links") {
        return Ok(names);
    }
    folder.each("links", &["link", "class", "from", "to"], |rows| {
        let (links, classes) = (rows.short_integers("link")?, rows.texts("class")?);
        let (from, to) = (rows.texts("from")?, rows.texts("to")?);
        for (row, link) in links.iter().enumerate().filter(|(_, link)| wanted.contains(link)) {
            let (class, from, to) = (classes.or_empty(row), from.or_empty(row), to.or_empty(row));
            names.insert(*link, format!("link {link} ({class}): {from} to {to}"));
        }
        Ok::<(), ReadStop>(())
    })?;
    Ok(names)
}
