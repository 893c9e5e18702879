//! All timelines of a trace in memory, in little space, and the counts over all logs.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::files;
use super::log::{BigsimLog, BigsimMachine, BigsimMessage, BigsimSend};
use crate::TraceError;

/// A trace.
pub struct BigsimTimelines {
    /// The file `bgTrace`.
    pub main: PathBuf,
    /// The machine.
    pub machine: BigsimMachine,
    /// The logs of each PE.
    pub pes: Vec<BigsimTimeline>,
    /// Names of the logs, in the order in which the files have them.
    pub names: Vec<String>,
    /// Counts over all logs.
    pub totals: BigsimTotals,
}

/// The logs of a PE.
#[derive(Default)]
pub struct BigsimTimeline {
    /// In the order in which they ran.
    pub logs: Vec<CompactLog>,
    sends: Vec<BigsimSend>,
    links: Vec<u32>,
}

/// A log, whose lists are in its timeline.
pub struct CompactLog {
    /// The message that starts it.
    pub started_by: Option<BigsimMessage>,
    /// Its time in picoseconds.
    pub exec_ps: u64,
    /// Index of its name.
    pub name: u32,
    /// Whether it is a collective of MPI that is no messages.
    pub is_collective: bool,
    /// Whether the simulation starts with its first message.
    pub is_start: bool,
    sends: Range<usize>,
    before: Range<usize>,
    after: Range<usize>,
}

/// Counts over all logs.
#[derive(Default)]
pub struct BigsimTotals {
    /// Logs by name, in the order of the names.
    pub by_name: Vec<u64>,
    /// Sends by size.
    pub sizes: BTreeMap<u64, u64>,
    /// Sends to all PEs, or to all but some.
    pub broadcasts: u64,
    /// Logs that a message starts.
    pub started: u64,
    /// Entries of the lists of logs that must have ended.
    pub before: u64,
    /// Entries of the lists of logs that wait.
    pub after: u64,
    /// Events.
    pub events: u64,
    /// Sum of the times of logs, in picoseconds.
    pub exec_ps: u64,
    /// The latest end of a log, in picoseconds.
    pub end_ps: u64,
}

impl BigsimTimelines {
    /// Reads a trace.
    ///
    /// # Errors
    /// A file is missing or damaged.
    pub fn read(main: &Path) -> Result<BigsimTimelines, TraceError> {
        let machine = files::machine(main)?;
        // The number of PEs is believed once the files have a timeline for each.
        let mut found: BTreeMap<u32, BigsimTimeline> = BTreeMap::new();
        let mut totals = BigsimTotals::default();
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        files::read(main, &machine, |pe, log| {
            let next = numbers.len() as u32;
            let name = match numbers.get(&log.name) {
                Some(name) => *name,
                None => *numbers.entry(log.name.clone()).or_insert(next),
            };
            totals.add(&log, name);
            found.entry(pe).or_default().add(log, name);
            Ok(())
        })?;
        let pes = (0..machine.pes).map(|pe| found.remove(&pe).unwrap_or_default());
        let mut names: Vec<(String, u32)> = numbers.into_iter().collect();
        names.sort_by_key(|(_, number)| *number);
        Ok(BigsimTimelines {
            main: main.into(),
            machine,
            pes: pes.collect(),
            names: names.into_iter().map(|(name, _)| name).collect(),
            totals,
        })
    }

    /// An error of a PE.
    pub fn error(&self, pe: u32, message: String) -> TraceError {
        TraceError {
            file: self.main.display().to_string(),
            rank: Some(pe),
            message,
        }
    }

    /// A log for errors: `log 7 (user_code)`.
    pub fn described(&self, pe: u32, log: u32) -> String {
        let name = self.pes[pe as usize].logs[log as usize].name;
        format!("log {log} ({})", self.names[name as usize])
    }
}

impl BigsimTotals {
    fn add(&mut self, log: &BigsimLog, name: u32) {
        let name = name as usize;
        self.by_name.resize(self.by_name.len().max(name + 1), 0);
        self.by_name[name] += 1;
        for send in &log.sends {
            *self.sizes.entry(u64::from(send.bytes)).or_default() += 1;
            self.broadcasts += u64::from(send.to.is_broadcast());
        }
        self.started += u64::from(log.started_by.is_some());
        self.before += log.before.len() as u64;
        self.after += log.after.len() as u64;
        self.events += log.events;
        self.exec_ps = self.exec_ps.saturating_add(log.exec_ps);
        self.end_ps = self.end_ps.max(log.end_ps);
    }
}

impl BigsimTimeline {
    fn add(&mut self, log: BigsimLog, name: u32) {
        fn appended<T: Copy>(list: &mut Vec<T>, more: &[T]) -> Range<usize> {
            let start = list.len();
            list.extend_from_slice(more);
            start..list.len()
        }
        self.logs.push(CompactLog {
            started_by: log.started_by,
            exec_ps: log.exec_ps,
            name,
            is_collective: log.collective != 0,
            is_start: log.is_start,
            sends: appended(&mut self.sends, &log.sends),
            before: appended(&mut self.links, &log.before),
            after: appended(&mut self.links, &log.after),
        });
    }

    /// Messages that leave when a log starts, in order.
    pub fn sends(&self, log: u32) -> &[BigsimSend] {
        &self.sends[self.logs[log as usize].sends.clone()]
    }

    /// Logs that must have ended before a log starts.
    pub fn before(&self, log: u32) -> &[u32] {
        &self.links[self.logs[log as usize].before.clone()]
    }

    /// Logs that wait for a log, in the order in which they queue up.
    pub fn after(&self, log: u32) -> &[u32] {
        &self.links[self.logs[log as usize].after.clone()]
    }
}
