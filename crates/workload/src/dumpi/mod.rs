//! DUMPI traces, as the library of SST's trace tools writes them: one binary file per rank.
//!
//! `files` finds the files and their parts, `calls` is the table of functions, `record` streams records,
//! `communicators` works out who is in which, `datatypes` how large types are, `ahead` where messages came
//! from, `program` makes operations of calls, `survey` adds it all up for people. `docs/formats/dumpi.md`
//! says what is read and what is not.
//!
//! Source: the documentation and headers of sst-dumpi, <https://github.com/sstsimulator/sst-dumpi>.

mod ahead;
mod calls;
mod communicators;
mod datatypes;
mod files;
mod program;
mod record;
mod survey;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod written;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::trace::Format;
use crate::{Program, TraceError, TraceInfo, Workload};
use communicators::{Calls, Communicators};
use datatypes::Hints;
use files::RankFile;
use program::RankProgram;
pub(crate) use program::{COLOR_AND_KEY, CONTEXT_MASK};
use record::{Cursor, Interval, Record};

/// This format.
pub const FORMAT: Format = Format {
    name: "dumpi",
    summary: "DUMPI, as SST's library writes it: give the file NAME.meta, or the folder that holds it",
    main: "*.meta",
    is_main: |name| name.ends_with(".meta"),
    recognise: |head| head.starts_with(&files::MAGIC) || files::is_meta(head),
    open: |main| open(main, Clock::Any),
    info,
};

/// Which clock tells how long a rank computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// The CPU's where it was recorded, otherwise the wall clock.
    #[default]
    Any,
    /// The CPU's: what the process itself has used.
    Cpu,
    /// The wall clock: it runs on while other processes have the CPU.
    Wall,
}

impl Clock {
    /// Names in experiments, `any` first.
    pub const NAMES: [&'static str; 3] = ["any", "cpu", "wall"];

    /// The clock of a name.
    pub fn from_name(name: &str) -> Clock {
        match name {
            "cpu" => Clock::Cpu,
            "wall" => Clock::Wall,
            _ => Clock::Any,
        }
    }
}

/// What is known of one rank before its program begins.
#[derive(Debug)]
struct Facts {
    /// Whether it calls `MPI_Cancel`.
    cancels: bool,
    /// Sizes of types that no call makes.
    sizes: BTreeMap<u16, u64>,
}

/// Counts over all records.
#[derive(Debug, Default)]
struct Totals {
    records: u64,
    /// Calls by name.
    calls: BTreeMap<&'static str, u64>,
    /// Calls with a time on the CPU's clock, and on the wall clock.
    timed: [u64; 2],
    /// Calls by other threads than the first.
    by_threads: u64,
    /// Longest time of a rank, and the sum over ranks, in nanoseconds.
    span_ns: u64,
    total_ns: u64,
    /// Newest version of the library.
    version: record::Version,
}

/// A trace that any number of programs read.
#[derive(Debug)]
struct Archive {
    files: Vec<Arc<RankFile>>,
    communicators: Communicators,
    ranks: Vec<Facts>,
    totals: Totals,
    clock: Clock,
}

impl Archive {
    /// Opens a trace, and reads all of it once to learn who is in which communicator.
    fn open(main: &Path, clock: Clock) -> Result<Archive, TraceError> {
        let files = files::open(main)?;
        let mut totals = Totals::default();
        let mut calls = Vec::new();
        let mut ranks = Vec::new();
        for file in &files {
            let (own, facts) = first_pass(file, files.len() as u32, &mut totals)?;
            calls.push(own);
            ranks.push(facts);
        }
        let [cpu, wall] = totals.timed;
        let missing = match clock {
            Clock::Cpu => (cpu == 0).then_some("CPU clock"),
            Clock::Wall => (wall == 0).then_some("wall clock"),
            Clock::Any => None,
        };
        if let Some(missing) = missing {
            return Err(TraceError {
                file: main.display().to_string(),
                rank: None,
                message: format!("was recorded without times on the {missing}; choose another clock"),
            });
        }
        let communicators = communicators::resolve(calls, &files)?;
        Ok(Archive {
            files,
            communicators,
            ranks,
            totals,
            clock,
        })
    }

    /// Which clock computation is measured with.
    fn clock_name(&self) -> Option<&'static str> {
        let [cpu, wall] = self.totals.timed;
        match self.clock {
            Clock::Cpu => Some("CPU"),
            Clock::Wall => Some("wall"),
            Clock::Any if cpu > 0 => Some("CPU"),
            Clock::Any if wall > 0 => Some("wall"),
            Clock::Any => None,
        }
    }
}

/// Reads a rank's file once.
fn first_pass(file: &Arc<RankFile>, ranks: u32, totals: &mut Totals) -> Result<(Calls, Facts), TraceError> {
    let mut calls = Calls::default();
    let mut hints = Hints::default();
    let mut cancels = false;
    let mut cursor = Cursor::new(file.clone());
    let mut record = Record::default();
    let mut span = Span::default();
    totals.version = totals.version.max(file.version);
    while cursor.next(&mut record)? {
        totals.records += 1;
        if record.function > calls::ALL_FUNCTIONS {
            continue;
        }
        let name = record.name();
        *totals.calls.entry(name).or_default() += 1;
        for (count, time) in totals.timed.iter_mut().zip([record.cpu, record.wall]) {
            *count += u64::from(time.is_some());
        }
        totals.by_threads += u64::from(record.thread > 0);
        span.note(&record);
        cancels |= name == "MPI_Cancel";
        hints.note(&record);
        calls.note(&record, file.rank, ranks).map_err(|message| {
            let offset = record.offset;
            file.error(format!("{name} at byte {offset}: {message}"))
        })?;
    }
    totals.span_ns = totals.span_ns.max(span.nanoseconds());
    totals.total_ns += span.nanoseconds();
    let sizes = hints.into_sizes();
    Ok((calls, Facts { cancels, sizes }))
}

/// Time from a rank's first to its last call, on the wall clock where there is one.
#[derive(Default)]
struct Span {
    last: Option<Interval>,
    ns: i64,
}

impl Span {
    fn note(&mut self, record: &Record) {
        let Some(now) = record.wall.or(record.cpu) else {
            return;
        };
        let since = self.last.unwrap_or(Interval {
            start: now.start,
            stop: now.start,
        });
        self.ns = self.ns.saturating_add(now.stop.since(since.stop));
        self.last = Some(now);
    }

    fn nanoseconds(&self) -> u64 {
        u64::try_from(self.ns).unwrap_or(0)
    }
}

struct Trace {
    archive: Arc<Archive>,
}

/// Opens a trace; `main` is its meta file, or the file of any rank.
///
/// # Errors
/// It is damaged, incomplete, or has what cannot be replayed.
pub fn open(main: &Path, clock: Clock) -> Result<Arc<dyn Workload>, TraceError> {
    let archive = Arc::new(Archive::open(main, clock)?);
    Ok(Arc::new(Trace { archive }))
}

fn info(main: &Path) -> Result<TraceInfo, TraceError> {
    survey::info(Archive::open(main, Clock::Any)?, main)
}

impl Workload for Trace {
    fn ranks(&self) -> u32 {
        self.archive.files.len() as u32
    }

    fn communicators(&self) -> Arc<[Vec<u32>]> {
        self.archive.communicators.members.clone()
    }

    fn program(&self, rank: u32) -> Result<Box<dyn Program>, TraceError> {
        Ok(Box::new(RankProgram::new(self.archive.clone(), rank)))
    }

    fn reopens(&self) -> bool {
        true
    }
}
