//! OTF2: an archive like that of a measured run, so that trace tools open a simulated run.
//!
//! The tables are ordered by time over all ranks; an archive has separate events for each rank. So the tables are
//! read several times: once to scan them (`survey`), then once for each group of ranks that fits in memory. The rows
//! of each rank are converted to events (`calls`, `rank`) and written. The definitions follow at the end.
//!
//! `docs/exports.md` describes the archive and its limits. Format and library:
//! <https://perftools.pages.jsc.fz-juelich.de/cicd/otf2/>.

mod calls;
mod definitions;
mod rank;
mod survey;

use std::io;
use std::ops::Range;
use std::path::Path;

use ::otf2::ArchiveWriter;

use crate::Error;
use crate::folder::ExportSource;
use crate::format::{ExportFormat, Made, Options};
use calls::CallSpan;
use rank::{MessageEnd, MessageSide, RankInput};
use results::{BatchColumns, WrongColumn};
use survey::{MESSAGES, Survey, TIMELINE, sides};

pub(crate) const FORMAT: ExportFormat = ExportFormat {
    name: "otf2",
    summary: "the ranks' calls and messages as an Open Trace Format archive, for Vampir, Scalasca, otf2-print: a folder",
    options: &[],
    made: |_| Made::Folder("-otf2".into()),
    write,
};

/// Maximum number of table rows in memory: about 100 bytes each, with their events. A rank with more rows is in
/// memory with all of its own.
const ROWS: u64 = 2_500_000;

fn write(folder: &ExportSource, _options: &Options, out: &Path) -> Result<Vec<String>, Error> {
    let refused = |why: String| Error::Write {
        path: out.into(),
        source: io::Error::other(why),
    };
    folder.require("timeline")?;
    let mut survey = Survey::new(folder)?;
    let creator = concat!("FabricSim ", env!("CARGO_PKG_VERSION"));
    let writer = ArchiveWriter::create(out, creator, "a simulated run", survey.locations.len() as u64);
    let mut writer = writer.map_err(|why| match ::otf2::is_available() {
        true => refused(why),
        false => Error::NoLibrary(why),
    })?;
    let groups = definitions::groups(folder, &survey)?;
    let (mut counts, mut last) = (Vec::with_capacity(survey.locations.len()), 0);
    let mut next = 0;
    while next < survey.locations.len() {
        let range = next..next + fitting(&survey.locations[next..], ROWS);
        next = range.end;
        for (location, input) in (range.start as u64..).zip(inputs_of(folder, &mut survey, &range)?) {
            let names = definitions::names(&survey, survey.jobs.of(location));
            let events = rank::events(input, &survey.activities.all, names);
            last = last.max(events.last().map_or(0, |event| event.time));
            counts.push(events.len() as u64);
            writer.events(location, &events).map_err(refused)?;
            writer.end_location(location).map_err(refused)?;
        }
    }
    definitions::define(&mut writer, &survey, &groups, &counts, last).map_err(refused)?;
    writer.finish().map_err(refused)?;
    Ok(notes(folder))
}

/// Number of these ranks that fit in memory, at least one.
fn fitting(locations: &[survey::TraceLocation], rows: u64) -> usize {
    let mut sum = 0;
    let fit = locations.iter().take_while(|location| {
        sum += location.rows;
        sum <= rows
    });
    fit.count().max(1)
}

/// Table rows of a range of locations.
fn inputs_of(
    folder: &ExportSource,
    survey: &mut Survey,
    range: &Range<usize>,
) -> Result<Vec<RankInput>, Error> {
    let mut input = vec![RankInput::default(); range.len()];
    folder.each("timeline", &TIMELINE, |rows| {
        Ok(spans(rows, survey, range, &mut input)?)
    })?;
    if folder.has("messages") {
        folder.each("messages", &MESSAGES, |rows| {
            Ok(ends(rows, survey, range, &mut input)?)
        })?;
    }
    Ok(input)
}

/// Index of a rank in the range. `None` if it is outside.
fn place(survey: &Survey, range: &Range<usize>, job: &str, rank: u64) -> Option<usize> {
    let location = survey.jobs.location(job, rank)? as usize;
    range.contains(&location).then(|| location - range.start)
}

fn spans(
    rows: &BatchColumns<'_>,
    survey: &mut Survey,
    range: &Range<usize>,
    input: &mut [RankInput],
) -> Result<(), WrongColumn> {
    let (jobs, ranks) = (rows.texts("job")?, rows.integers("rank")?);
    let (start, end) = (rows.integers("begin_ps")?, rows.integers("end_ps")?);
    let (states, regions) = (rows.texts("state")?, rows.texts("region")?);
    let blocked = rows.flags("blocked")?;
    for row in 0..rows.rows() {
        let Some(place) = place(survey, range, jobs.or_empty(row), ranks[row]) else {
            continue;
        };
        let span = CallSpan {
            start: start[row],
            end: end[row],
            activity: survey.activities.number(states.or_empty(row), regions.get(row)),
            blocked: blocked.value(row),
        };
        let spans = &mut input[place].spans;
        let earliest = spans.last().map_or(0, |last| last.end);
        if span.start < earliest || span.end < span.start {
            let (job, rank) = (jobs.or_empty(row), ranks[row]);
            return Err(WrongColumn(format!(
                "rank {rank} of job {job} does two things at {} ps",
                span.start
            )));
        }
        spans.push(span);
    }
    Ok(())
}

fn ends(
    rows: &BatchColumns<'_>,
    survey: &Survey,
    range: &Range<usize>,
    input: &mut [RankInput],
) -> Result<(), WrongColumn> {
    let (jobs, protocols) = (rows.texts("job")?, rows.texts("protocol")?);
    let ranks = [rows.integers("from_rank")?, rows.integers("to_rank")?];
    let (sequences, bytes) = (rows.integers("sequence")?, rows.integers("bytes")?);
    let (tags, numbers) = (rows.maybe_signed("tag")?, rows.maybe_integers("number")?);
    let (posted, sent) = (rows.integers("posted_ps")?, rows.integers("sent_ps")?);
    let injected = rows.maybe_integers("injected_ps")?;
    let (arrived, matched) = (rows.integers("arrived_ps")?, rows.integers("matched_ps")?);
    for row in 0..rows.rows() {
        let protocol = protocols.or_empty(row);
        for (side, of_sender) in sides(protocol)? {
            let (own, other) = match of_sender {
                true => (ranks[0][row], ranks[1][row]),
                false => (ranks[1][row], ranks[0][row]),
            };
            let Some(place) = place(survey, range, jobs.or_empty(row), own) else {
                continue;
            };
            let (begun, done) = match side {
                // A small message is copied; its buffer is free at once.
                MessageSide::Out if protocol == "eager" => (posted[row], posted[row]),
                MessageSide::Out => (posted[row], injected[row].unwrap_or(posted[row])),
                MessageSide::Put | MessageSide::Get | MessageSide::Asking => (posted[row], posted[row]),
                MessageSide::In | MessageSide::Asked => (matched[row], matched[row]),
                MessageSide::Answer => (arrived[row], arrived[row]),
            };
            input[place].ends.push(MessageEnd {
                side: *side,
                peer: other as u32,
                sequence: sequences[row] as u32,
                bytes: bytes[row],
                // OTF2 stores unsigned 32-bit integers.
                tag: tags[row].map(|tag| tag as u32),
                begun,
                done,
                // Messages through memory have no number and come first.
                found: arrived[row] < matched[row],
                busy: sent[row].saturating_sub(posted[row]),
                order: numbers[row].map_or(0, |number| (number as u32).saturating_add(1)),
            });
        }
    }
    Ok(())
}

/// Content that the archive lacks.
fn notes(folder: &ExportSource) -> Vec<String> {
    let jobs = folder
        .summary()
        .map_or(&[][..], |summary| summary.jobs.as_slice());
    let traffic = jobs.iter().filter(|job| job.ranks == 0);
    let note =
        |name: &str| format!("job {name} is synthetic traffic: it has no ranks, and is not in the archive");
    traffic.map(|job| note(&job.name)).collect()
}

#[cfg(test)]
#[path = "otf2/tests.rs"]
mod tests;
