//! Loads of the classes of links over time, from the table `class_series`.

use super::link_loads::EJECTION;
use super::thresholds::{BUSY_CLASS, CHANGE, GROWTH, PACKET_TIMES};
use super::{Evidence, VerdictTime};
use crate::{BatchColumns, Table, show};

/// Greatest number of intervals that a verdict names.
const INTERVALS: usize = 4;

/// Least mean number of links that wait for buffer space, below which their growth is noise.
const WAITING_LINKS: f64 = 1.0;

/// The rows of the measured time.
pub(super) struct LinkClassSeries {
    from_ps: u64,
    until_ps: u64,
    rows: Vec<SeriesRow>,
    names: Vec<String>,
}

struct SeriesRow {
    begin_ps: u64,
    end_ps: u64,
    class: usize,
    links: u64,
    bytes: u64,
    busy_ps: u64,
    buffer_full_ps: u64,
}

/// A sum over an interval.
#[derive(Clone, Copy, Default)]
struct LoadInterval {
    begin_ps: u64,
    end_ps: u64,
    busy_ps: f64,
    capacity_ps: f64,
}

impl LoadInterval {
    fn load(&self) -> f64 {
        self.busy_ps / self.capacity_ps.max(1.0)
    }
}

impl LinkClassSeries {
    /// `None` if the table lacks a column, or has no row in the measured time.
    pub fn of(table: &Table, from_ps: u64, until_ps: u64) -> Option<LinkClassSeries> {
        let columns = BatchColumns::new(table.batch());
        let classes = columns.texts("class").ok()?;
        let integers = |name: &str| columns.integers(name).ok();
        let (begin, end, links) = (integers("begin_ps")?, integers("end_ps")?, integers("links")?);
        let (bytes, busy, full) = (
            integers("bytes")?,
            integers("busy_ps")?,
            integers("buffer_full_ps")?,
        );
        let (mut names, mut rows) = (Vec::<String>::new(), Vec::new());
        for row in 0..table.rows() {
            // A bin that begins in the warm-up has both.
            if begin[row] < from_ps || end[row] > until_ps {
                continue;
            }
            let name = classes.or_empty(row);
            let class = names.iter().position(|known| known == name).unwrap_or_else(|| {
                names.push(name.into());
                names.len() - 1
            });
            rows.push(SeriesRow {
                begin_ps: begin[row],
                end_ps: end[row],
                class,
                links: links[row],
                bytes: bytes[row],
                busy_ps: busy[row],
                buffer_full_ps: full[row],
            });
        }
        (!rows.is_empty()).then_some(LinkClassSeries {
            from_ps,
            until_ps,
            rows,
            names,
        })
    }

    /// Neighbouring bins of a class as intervals of at least this length. Bins without activity have no row; they are
    /// part of the interval in which they lie.
    fn intervals(&self, class: &str, least_ps: f64) -> Vec<LoadInterval> {
        let mut intervals: Vec<LoadInterval> = Vec::new();
        for row in self.rows.iter().filter(|row| self.names[row.class] == class) {
            let open = intervals
                .last_mut()
                .filter(|interval| ((interval.end_ps - interval.begin_ps) as f64) < least_ps);
            let interval = match open {
                Some(interval) => interval,
                None => {
                    intervals.push(LoadInterval {
                        begin_ps: row.begin_ps,
                        ..LoadInterval::default()
                    });
                    intervals.last_mut().expect("one was added")
                }
            };
            interval.end_ps = row.end_ps;
            interval.busy_ps += row.busy_ps as f64;
            interval.capacity_ps = row.links as f64 * (row.end_ps - interval.begin_ps) as f64;
        }
        // A short rest at the end says as little as a short bin.
        if intervals.len() > 1
            && let Some(last) = intervals.last()
            && ((last.end_ps - last.begin_ps) as f64) < least_ps
        {
            intervals.pop();
        }
        intervals
    }

    /// A sum over the rows that begin in quarter 0 to 3 of the measured time, divided by its length in picoseconds.
    fn in_quarter(&self, quarter: u64, of: impl Fn(&SeriesRow) -> u64) -> f64 {
        let length = (self.until_ps - self.from_ps) as f64 / 4.0;
        let begin = self.from_ps as f64 + quarter as f64 * length;
        // A bin that crosses the border counts in both quarters by its overlap.
        let part = |row: &SeriesRow| {
            let overlap = (row.end_ps as f64).min(begin + length) - (row.begin_ps as f64).max(begin);
            overlap.max(0.0) / ((row.end_ps - row.begin_ps) as f64).max(1.0)
        };
        let sum: f64 = self.rows.iter().map(|row| of(row) as f64 * part(row)).sum();
        sum / length.max(1.0)
    }

    /// Change of the delivered load from the third quarter to the last, relative to the third; `None` if it is small or
    /// not known.
    pub fn change(&self) -> Option<f64> {
        let ejected = |row: &SeriesRow| match self.names[row.class] == EJECTION {
            true => row.bytes,
            false => 0,
        };
        let (third, last) = (self.in_quarter(2, ejected), self.in_quarter(3, ejected));
        let change = last / third - 1.0;
        (third > 0.0 && change.abs() > CHANGE).then_some(change)
    }

    /// Mean number of links that wait for buffer space in the second and in the last quarter, if it grows.
    pub fn growth(&self) -> Option<(f64, f64)> {
        let waiting = |quarter| self.in_quarter(quarter, |row| row.buffer_full_ps);
        let (second, last) = (waiting(1), waiting(3));
        (last >= WAITING_LINKS && last >= GROWTH * second).then_some((second, last))
    }
}

/// When the links of a class are busy: the intervals in which its mean load is high, or else the busiest one, if it is
/// well above the mean. Then whether waits grow.
pub(super) fn times(evidence: &Evidence<'_>, class: &str) -> Vec<VerdictTime> {
    let Some(series) = &evidence.series else {
        return Vec::new();
    };
    let least_ps = PACKET_TIMES * evidence.packet_time_ps(class).unwrap_or(0.0);
    let intervals = series.intervals(class, least_ps);
    let mut busy: Vec<LoadInterval> = Vec::new();
    for interval in intervals.iter().filter(|interval| interval.load() >= BUSY_CLASS) {
        match busy.last_mut().filter(|last| last.end_ps == interval.begin_ps) {
            Some(last) => {
                last.end_ps = interval.end_ps;
                last.busy_ps += interval.busy_ps;
                last.capacity_ps += interval.capacity_ps;
            }
            None => busy.push(*interval),
        }
    }
    busy.sort_by_key(|interval| std::cmp::Reverse(interval.end_ps - interval.begin_ps));
    busy.truncate(INTERVALS);
    busy.sort_by_key(|interval| interval.begin_ps);
    let sum = intervals.iter().fold((0.0, 0.0), |sum, interval| {
        (sum.0 + interval.busy_ps, sum.1 + interval.capacity_ps)
    });
    if busy.is_empty()
        && let Some(most) = intervals.iter().max_by(|a, b| a.load().total_cmp(&b.load()))
        && most.load() >= GROWTH * sum.0 / sum.1.max(1.0)
    {
        busy.push(*most);
    }
    let mut times: Vec<VerdictTime> = busy
        .iter()
        .map(|interval| {
            let load = show::percent(interval.load());
            let found = format!("{class} links carry {load} on average");
            VerdictTime::new(interval.begin_ps, interval.end_ps, found)
        })
        .collect();
    if busy.is_empty() && sum.0 > 0.0 {
        let load = show::percent(sum.0 / sum.1);
        let found = format!("{class} links carry {load} on average, about as much all the time");
        times.push(VerdictTime::new(series.from_ps, series.until_ps, found));
    }
    if let Some((second, last)) = series.growth() {
        let found = format!(
            "links that wait for buffer space still grow in number: {second:.1} on average in the second quarter of the \
             measured time, {last:.1} in the last"
        );
        times.push(VerdictTime::new(series.from_ps, series.until_ps, found));
    }
    times
}
