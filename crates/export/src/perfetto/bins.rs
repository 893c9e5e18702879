//! Series by bins of time: rows in bin order, and curves that account for bins without rows.

use std::collections::BTreeMap;

use super::trace::{Trace, Track};
use crate::Error;
use crate::folder::ExportSource;
use crate::folder::ReadStop;

/// A bin of time with its values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BinRow {
    pub start: u64,
    pub end: u64,
    pub values: Vec<u64>,
}

/// Rows that follow later rows of the same item in the file.
type Late = BTreeMap<String, BTreeMap<u64, BinRow>>;

impl BinRow {
    /// Picoseconds.
    pub fn width(&self) -> u64 {
        self.end.saturating_sub(self.start).max(1)
    }

    /// Gigabits per second, from bytes in the bin.
    pub fn gbps(&self, bytes: u64) -> f64 {
        bytes as f64 * 8000.0 / self.width() as f64
    }

    /// Percent of the time of a number of items.
    pub fn percent(&self, ps: u64, things: u64) -> f64 {
        ps as f64 * 100.0 / (self.width() as f64 * things.max(1) as f64)
    }

    fn add(&mut self, other: &BinRow) {
        self.end = self.end.max(other.end);
        for (value, more) in self.values.iter_mut().zip(&other.values) {
            *value += more;
        }
    }
}

/// Passes on all bins of a table of sums, those of each item in time order. A late addition to a bin is a row of its
/// own, further on in the table. These few rows are searched first.
pub(crate) fn sums(
    folder: &ExportSource,
    table: &str,
    thing: &str,
    values: &[&str],
    mut take: impl FnMut(&str, &BinRow) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut late = Late::new();
    in_order(
        folder,
        table,
        thing,
        values,
        |thing, bin| {
            let bins = late.entry(thing.into()).or_default();
            match bins.get_mut(&bin.start) {
                Some(known) => known.add(&bin),
                None => {
                    bins.insert(bin.start, bin);
                }
            }
        },
        |_, _| Ok(()),
    )?;
    in_order(
        folder,
        table,
        thing,
        values,
        |_, _| {},
        |thing, mut bin| {
            if let Some(bins) = late.get_mut(thing) {
                let rest = bins.split_off(&bin.start);
                for before in std::mem::replace(bins, rest).values() {
                    take(thing, before)?;
                }
                if let Some(more) = bins.remove(&bin.start) {
                    bin.add(&more);
                }
            }
            take(thing, &bin)
        },
    )?;
    for (thing, bins) in &late {
        for bin in bins.values() {
            take(thing, bin)?;
        }
    }
    Ok(())
}

/// Reads a table of sums. `late` receives the rows that are not in time order.
fn in_order(
    folder: &ExportSource,
    table: &str,
    thing: &str,
    values: &[&str],
    mut late: impl FnMut(&str, BinRow),
    mut take: impl FnMut(&str, BinRow) -> Result<(), Error>,
) -> Result<(), Error> {
    let columns: Vec<&str> = ["begin_ps", "end_ps", thing]
        .into_iter()
        .chain(values.iter().copied())
        .collect();
    // Start of the newest bin of each item, plus one.
    let mut newest = BTreeMap::<String, u64>::new();
    folder.each(table, &columns, |rows| {
        let (starts, ends) = (rows.integers("begin_ps")?, rows.integers("end_ps")?);
        let things = rows.texts(thing)?;
        let mut cells = Vec::new();
        for value in values {
            cells.push(rows.integers(value)?);
        }
        for row in 0..rows.rows() {
            let thing = things.or_empty(row);
            let bin = BinRow {
                start: starts[row],
                end: ends[row],
                values: cells.iter().map(|cells| cells[row]).collect(),
            };
            let newest = match newest.get_mut(thing) {
                Some(newest) => newest,
                None => newest.entry(thing.into()).or_default(),
            };
            if bin.start < *newest {
                late(thing, bin);
            } else {
                *newest = bin.start + 1;
                take(thing, bin)?;
            }
        }
        Ok::<(), ReadStop>(())
    })
}

/// A curve that is being drawn. It begins at its first value other than 0.
pub(crate) struct Curve {
    parent: Track,
    name: String,
    unit: &'static str,
    scale: Option<&'static str>,
    track: Option<Track>,
    value: f64,
    /// End of the latest bin.
    end: u64,
}

impl Curve {
    /// Begins a curve of this name. Curves that share a scale are drawn to it.
    pub fn new(parent: Track, name: &str, unit: &'static str, scale: Option<&'static str>) -> Curve {
        Curve {
            parent,
            name: name.into(),
            unit,
            scale,
            track: None,
            value: 0.0,
            end: 0,
        }
    }

    /// Adds the value of a bin. Earlier bins without a row have the value 0.
    pub fn flow(&mut self, trace: &mut Trace, bin: &BinRow, value: f64) -> Result<(), Error> {
        if self.end < bin.start {
            self.value_at(trace, self.end, 0.0)?;
        }
        self.end = bin.end;
        self.value_at(trace, bin.start, value)
    }

    /// Sets the value from the end of a bin on.
    pub fn level(&mut self, trace: &mut Trace, bin: &BinRow, value: f64) -> Result<(), Error> {
        self.end = bin.end;
        self.value_at(trace, bin.end, value)
    }

    /// Ends the curve with 0 after the last bin.
    pub fn finish(&mut self, trace: &mut Trace) -> Result<(), Error> {
        self.value_at(trace, self.end, 0.0)
    }

    fn value_at(&mut self, trace: &mut Trace, at_ps: u64, value: f64) -> Result<(), Error> {
        if value == self.value {
            return Ok(());
        }
        let track = match self.track {
            Some(track) => track,
            None => {
                let track = trace.curve(self.parent, &self.name, self.unit, self.scale)?;
                if at_ps > 0 {
                    trace.value(track, 0, 0.0)?;
                }
                self.track = Some(track);
                track
            }
        };
        self.value = value;
        trace.value(track, at_ps, value)
    }
}
