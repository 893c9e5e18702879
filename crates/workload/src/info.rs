//! The summary of a trace, as text and as data.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::Recording;

/// The summary of a trace. All counts are over all ranks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceInfo {
    /// File that was read.
    pub file: String,
    /// Its format.
    pub format: String,
    /// MPI ranks.
    pub ranks: u32,
    /// Time from the first to the last event of all ranks, as recorded, in picoseconds. In DUMPI, whose clocks differ
    /// between hosts, the longest time of a rank.
    pub span_ps: u64,
    /// Where MPI is initialized and finalized.
    pub mpi: MpiTimes,
    /// Time outside MPI, summed over ranks, in picoseconds.
    pub compute_ps: u64,
    /// Share of `compute_ps` in all recorded time, between 0 and 1.
    pub compute_share: f64,
    /// Records in the trace.
    pub events: u64,
    /// Calls of MPI functions.
    pub mpi_calls: u64,
    /// Calls of MPI functions by name.
    pub mpi_calls_by_name: BTreeMap<String, u64>,
    /// Point-to-point messages sent.
    pub messages: MessageInfo,
    /// Collective operations that move data or synchronise, by name.
    pub collectives: BTreeMap<String, CollectiveInfo>,
    /// Communicators by size.
    pub communicators: Vec<CommunicatorInfo>,
    /// What only a BigSim trace has, whose logs are no MPI calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bigsim: Option<BigsimInfo>,
    /// Notes on the limits of these numbers and of a simulation.
    pub notes: Vec<String>,
}

/// What only a BigSim trace has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BigsimInfo {
    /// Nodes in each dimension.
    pub grid: [u32; 3],
    /// Worker threads of a node, each a PE.
    pub threads: u32,
    /// Files with timelines.
    pub files: u32,
    /// Version of the layout of logs.
    pub version: u32,
    /// Logs.
    pub logs: u64,
    /// Sends of all logs.
    pub sends: u64,
    /// Sends to all PEs, or to all but some.
    pub broadcasts: u64,
    /// Logs that a message starts.
    pub started_by_messages: u64,
    /// Entries in the lists of logs that must have ended before a log.
    pub before: u64,
    /// Entries in the lists of logs that wait for a log.
    pub after: u64,
    /// Events inside logs.
    pub events: u64,
    /// Logs by name.
    pub logs_by_name: BTreeMap<String, u64>,
    /// What is replayed; `None` if nothing can be.
    pub replay: Option<BigsimReplayInfo>,
}

/// The part of a BigSim trace that is replayed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BigsimReplayInfo {
    /// The message with which it starts, its PE and its number there; `None` if all logs are replayed.
    pub start: Option<[u32; 2]>,
    /// Logs.
    pub logs: u64,
    /// Their sends.
    pub sends: u64,
    /// Messages to other PEs, one for each.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Where the ranks initialize and finalize MPI. Times are picoseconds after the first event of the rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MpiTimes {
    /// The latest end of `MPI_Init` or `MPI_Init_thread`; `None` if no rank records it.
    pub init_ends_ps: Option<u64>,
    /// The earliest start of `MPI_Finalize`; `None` if no rank records it.
    pub finalize_begins_ps: Option<u64>,
    /// Time before the end of `MPI_Init` and after the start of `MPI_Finalize`, summed over ranks.
    pub outside_ps: u64,
    /// Recorded time, summed over ranks.
    pub total_ps: u64,
}

impl MpiTimes {
    /// Adds a rank, whose program has ended.
    pub fn add(&mut self, recording: &Recording) {
        self.init_ends_ps = self.init_ends_ps.max(recording.window_start_ps);
        let both = [self.finalize_begins_ps, recording.window_end_ps];
        self.finalize_begins_ps = both.into_iter().flatten().min();
        self.outside_ps = self.outside_ps.saturating_add(recording.outside_ps());
        self.total_ps = self.total_ps.saturating_add(recording.span_ps);
    }
}

/// Point-to-point messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MessageInfo {
    /// Number.
    pub count: u64,
    /// Sum of their sizes.
    pub bytes: u64,
    /// Size of the smallest; `None` if there is no message.
    pub min_bytes: Option<u64>,
    /// Median size.
    pub median_bytes: Option<u64>,
    /// Size of the largest.
    pub max_bytes: Option<u64>,
    /// Number by size, in ranges that double: 0, 1, 2 to 3, 4 to 7, ...; without empty ranges.
    pub histogram: Vec<SizeRange>,
}

/// One range of message sizes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SizeRange {
    /// Smallest size in it.
    pub from_bytes: u64,
    /// Largest size in it.
    pub to_bytes: u64,
    /// Messages.
    pub count: u64,
}

/// One collective operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CollectiveInfo {
    /// Calls, summed over ranks.
    pub calls: u64,
    /// Bytes sent, as the recording counts them.
    pub sent_bytes: u64,
    /// Bytes received, as the recording counts them.
    pub received_bytes: u64,
}

/// Communicators of one size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CommunicatorInfo {
    /// Members.
    pub ranks: u32,
    /// Number of such communicators.
    pub count: u64,
}

impl CommunicatorInfo {
    /// Counts communicators given by size, the largest first.
    pub fn by_size(sizes: impl IntoIterator<Item = u32>) -> Vec<CommunicatorInfo> {
        let mut by_size: BTreeMap<u32, u64> = BTreeMap::new();
        for ranks in sizes {
            *by_size.entry(ranks).or_default() += 1;
        }
        let largest_first = by_size.into_iter().rev();
        largest_first
            .map(|(ranks, count)| CommunicatorInfo { ranks, count })
            .collect()
    }
}

impl MessageInfo {
    /// Summarises messages by size.
    pub fn from_sizes(sizes: &BTreeMap<u64, u64>) -> MessageInfo {
        let count = sizes.values().sum();
        let mut ranges: BTreeMap<u32, u64> = BTreeMap::new();
        for (size, n) in sizes {
            *ranges.entry(u64::BITS - size.leading_zeros()).or_default() += n;
        }
        let histogram = ranges.into_iter().map(|(bits, count)| SizeRange {
            from_bytes: if bits == 0 { 0 } else { 1 << (bits - 1) },
            to_bytes: if bits == 0 {
                0
            } else {
                u64::MAX >> (u64::BITS - bits)
            },
            count,
        });
        MessageInfo {
            count,
            // Damaged traces have sizes of any kind, so the sum saturates.
            bytes: sizes.iter().fold(0, |sum: u64, (size, n)| {
                sum.saturating_add(size.saturating_mul(*n))
            }),
            min_bytes: sizes.keys().next().copied(),
            median_bytes: median(sizes, count),
            max_bytes: sizes.keys().next_back().copied(),
            histogram: histogram.collect(),
        }
    }
}

fn median(sizes: &BTreeMap<u64, u64>, count: u64) -> Option<u64> {
    let mut seen = 0;
    let not_exceeded = |(size, n): (&u64, &u64)| {
        seen += n;
        (seen >= count.div_ceil(2)).then_some(*size)
    };
    sizes.iter().find_map(not_exceeded)
}

impl fmt::Display for TraceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ({})", self.file, self.format)?;
        let mut row = |name: &str, value: String| writeln!(f, "  {name:<15} {value}");
        row("ranks", grouped(self.ranks.into()))?;
        row("span", time(self.span_ps))?;
        if let Some(bigsim) = &self.bigsim {
            row("computation", time(self.compute_ps))?;
            bigsim.show(f)?;
            self.show_messages(f)?;
            return self.show_notes(f);
        }
        row("MPI", self.mpi.line())?;
        row(
            "computation",
            format!("{:.1} % of all ranks' time", 100.0 * self.compute_share),
        )?;
        row("events", grouped(self.events))?;
        row("communicators", self.communicator_line())?;
        row("MPI calls", grouped(self.mpi_calls))?;
        table(f, &["calls"], &self.call_rows())?;
        self.show_messages(f)?;
        self.show_collectives(f)?;
        self.show_notes(f)
    }
}

impl BigsimInfo {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |name: &str, value: String| writeln!(f, "  {name:<15} {value}");
        let [x, y, z] = self.grid;
        row("grid", format!("{x}x{y}x{z} nodes, {} PEs each", self.threads))?;
        row(
            "files",
            format!("{}, logs of version {}", self.files, self.version),
        )?;
        let (started, events) = (grouped(self.started_by_messages), grouped(self.events));
        row(
            "logs",
            format!(
                "{}; {started} started by a message; {events} events",
                grouped(self.logs)
            ),
        )?;
        let (before, after) = (grouped(self.before), grouped(self.after));
        row("dependences", format!("{before} before, {after} after"))?;
        let (sends, broadcasts) = (grouped(self.sends), grouped(self.broadcasts));
        row("sends", format!("{sends}, {broadcasts} of them broadcasts"))?;
        row(
            "replay",
            self.replay.as_ref().map_or("none".into(), BigsimReplayInfo::line),
        )?;
        let names = self.logs_by_name.iter();
        let mut names: Vec<_> = names.map(|(name, n)| (name.clone(), vec![*n])).collect();
        names.sort_by_key(|(_, n)| std::cmp::Reverse(n[0]));
        table(f, &["logs"], &names)
    }
}

impl BigsimReplayInfo {
    fn line(&self) -> String {
        let start = match self.start {
            Some([pe, message]) => format!("from message {message} of PE {pe} on"),
            None => "everything".to_string(),
        };
        let (logs, sends, messages) = (grouped(self.logs), grouped(self.sends), grouped(self.messages));
        format!(
            "{start}: {logs} logs, {sends} sends; {messages} messages to other PEs with {}",
            size(self.bytes)
        )
    }
}

impl MpiTimes {
    fn line(&self) -> String {
        let init = self.init_ends_ps.map_or_else(
            || "MPI_Init is not recorded".to_string(),
            |ps| format!("MPI_Init ends after {}", time(ps)),
        );
        let finalize = self.finalize_begins_ps.map_or_else(
            || "MPI_Finalize is not recorded".to_string(),
            |ps| format!("MPI_Finalize begins after {}", time(ps)),
        );
        let share = 100.0 * self.outside_ps as f64 / self.total_ps.max(1) as f64;
        format!("{init}; {finalize}; {share:.1} % of all ranks' time lie outside")
    }
}

impl TraceInfo {
    fn communicator_line(&self) -> String {
        let total: u64 = self.communicators.iter().map(|c| c.count).sum();
        let ranks = |n| if n == 1 { "rank" } else { "ranks" };
        let of = |c: &CommunicatorInfo| {
            format!(
                "{} of {} {}",
                grouped(c.count),
                grouped(c.ranks.into()),
                ranks(c.ranks)
            )
        };
        let sizes: Vec<String> = self.communicators.iter().map(of).collect();
        format!("{} ({})", grouped(total), sizes.join(", "))
    }

    /// Calls by name, the most frequent first.
    fn call_rows(&self) -> Vec<(String, Vec<u64>)> {
        let mut calls: Vec<_> = self
            .mpi_calls_by_name
            .iter()
            .map(|(name, n)| (name.clone(), vec![*n]))
            .collect();
        calls.sort_by_key(|(_, n)| std::cmp::Reverse(n[0]));
        calls
    }

    fn show_notes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.notes.is_empty() {
            writeln!(f, "  notes")?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "    - {note}"))
    }

    fn show_messages(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let m = &self.messages;
        writeln!(
            f,
            "  {:<15} {} with {}",
            "messages",
            grouped(m.count),
            size(m.bytes)
        )?;
        if let (Some(min), Some(median), Some(max)) = (m.min_bytes, m.median_bytes, m.max_bytes) {
            let (min, median, max) = (size(min), size(median), size(max));
            writeln!(f, "    smallest {min}; median {median}; largest {max}")?;
        }
        let label = |r: &SizeRange| match r.from_bytes {
            same if same == r.to_bytes => format!("{} B", grouped(same)),
            from => format!("{} to {} B", grouped(from), grouped(r.to_bytes)),
        };
        let rows: Vec<_> = m.histogram.iter().map(|r| (label(r), vec![r.count])).collect();
        table(f, &["messages"], &rows)
    }

    fn show_collectives(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls: u64 = self.collectives.values().map(|c| c.calls).sum();
        writeln!(f, "  {:<15} {}", "collectives", grouped(calls))?;
        let row = |(name, c): (&String, &CollectiveInfo)| {
            (name.clone(), vec![c.calls, c.sent_bytes, c.received_bytes])
        };
        let rows: Vec<_> = self.collectives.iter().map(row).collect();
        table(f, &["calls", "B sent", "B received"], &rows)
    }
}

/// Writes names on the left and numbers on the right; nothing if there are no rows.
fn table(f: &mut fmt::Formatter<'_>, columns: &[&str], rows: &[(String, Vec<u64>)]) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    let first = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max(22);
    let cell = |row: &[u64], i: usize| grouped(row[i]);
    let width = |i: usize| {
        rows.iter()
            .map(|(_, row)| cell(row, i).len())
            .max()
            .unwrap_or(0)
            .max(columns[i].len())
    };
    write!(f, "    {:<first$}", "")?;
    for (i, column) in columns.iter().enumerate() {
        write!(f, "  {column:>w$}", w = width(i))?;
    }
    writeln!(f)?;
    for (name, row) in rows {
        write!(f, "    {name:<first$}")?;
        for i in 0..columns.len() {
            write!(f, "  {:>w$}", cell(row, i), w = width(i))?;
        }
        writeln!(f)?;
    }
    Ok(())
}

/// `70,768`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `100,396,328 B (95.7 MiB)`.
fn size(bytes: u64) -> String {
    let exact = format!("{} B", grouped(bytes));
    let units = [
        (1u64 << 40, "TiB"),
        (1 << 30, "GiB"),
        (1 << 20, "MiB"),
        (1 << 10, "KiB"),
    ];
    match units.iter().find(|(factor, _)| bytes >= *factor) {
        Some((factor, unit)) => format!("{exact} ({:.1} {unit})", bytes as f64 / *factor as f64),
        None => exact,
    }
}

/// `28.949 ms`.
fn time(ps: u64) -> String {
    let units = [
        (1_000_000_000_000, "s"),
        (1_000_000_000, "ms"),
        (1_000_000, "us"),
        (1_000, "ns"),
    ];
    match units.iter().find(|(factor, _)| ps >= *factor) {
        Some((factor, unit)) => format!("{:.3} {unit}", ps as f64 / *factor as f64),
        None => format!("{ps} ps"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_messages_have_no_smallest() {
        let info = MessageInfo::from_sizes(&BTreeMap::new());
        assert_eq!(info, MessageInfo::default());
    }

    #[test]
    fn sizes_in_ranges_that_double() {
        let sizes = BTreeMap::from([(0, 1), (1, 2), (4, 1), (7, 3), (8, 1), (u64::MAX / 8, 1)]);
        let info = MessageInfo::from_sizes(&sizes);
        assert_eq!(
            (info.min_bytes, info.median_bytes, info.max_bytes),
            (Some(0), Some(7), Some(u64::MAX / 8))
        );
        let ranges: Vec<_> = info
            .histogram
            .iter()
            .map(|r| (r.from_bytes, r.to_bytes, r.count))
            .collect();
        let top = (1 << 60, (1 << 61) - 1, 1);
        assert_eq!(ranges, [(0, 0, 1), (1, 1, 2), (4, 7, 4), (8, 15, 1), top]);
        assert_eq!(
            MessageInfo::from_sizes(&BTreeMap::from([(u64::MAX, 1)])).histogram[0].to_bytes,
            u64::MAX
        );
        assert_eq!(
            MessageInfo::from_sizes(&BTreeMap::from([(3, 1), (5, 1)])).median_bytes,
            Some(3)
        );
    }

    #[test]
    fn numbers_are_grouped_and_units_chosen() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(100_396_328), "100,396,328");
        assert_eq!(size(100_396_328), "100,396,328 B (95.7 MiB)");
        assert_eq!(time(28_948_550_000), "28.949 ms");
        assert_eq!(time(12), "12 ps");
    }
}
