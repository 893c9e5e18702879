//! Bytes that hosts send and receive over time, and bytes that wait in their NICs, from `host_series`.
//!
//! SOURCE: maps of sends and receives over hosts and time, as in N. Wolfe, C. D. Carothers, M. Mubarak, R. Ross, P.
//! Carns, "Modeling a million-node Slim Fly network using parallel discrete-event simulation", SIGSIM-PADS 2016.

use plotly::Plot;

use super::{
    Figure, Height, Scale, SeriesColour, curve, groups, heat_map, in_unit, plot, rounded, rounded3, unit_of,
    x_axis, y_axis,
};
use crate::report::grid::{Held, TimeGrid};
use crate::report::source::TableSource;
use crate::{ReadError, show};

/// Maximum number of rows of a map. More hosts are averaged in groups.
const MOST_ROWS: usize = 128;

/// Bytes by group of hosts and column of time.
struct HostMaps {
    hosts: usize,
    /// Hosts per row of a map.
    group: usize,
    sent: Vec<Vec<f64>>,
    received: Vec<Vec<f64>>,
    /// Bytes in the queues of all NICs, times picoseconds.
    queued: Vec<f64>,
}

/// Maps of sends and receives, their sums, and the queues of the NICs.
pub(super) fn maps(source: TableSource) -> Result<Option<Figure>, ReadError> {
    let Some(grid) = TimeGrid::of(&source, "host_series")? else {
        return Ok(None);
    };
    let mut last = 0;
    let read = source.each("host_series", &["host"], |rows| {
        last = last.max(rows.integers("host")?.into_iter().max().unwrap_or(0));
        Some(())
    })?;
    // Host numbers have 32 bits.
    let hosts = read
        .and_then(|()| u32::try_from(last).ok())
        .map(|last| last as usize + 1);
    let Some(traffic) = hosts
        .map(|hosts| collect(source, &grid, hosts))
        .transpose()?
        .flatten()
    else {
        return Ok(None);
    };
    Ok(Some(figure(&grid, &traffic)))
}

fn collect(source: TableSource, grid: &TimeGrid, hosts: usize) -> Result<Option<HostMaps>, ReadError> {
    let group = hosts.div_ceil(MOST_ROWS).max(1);
    let empty = vec![vec![0.0; grid.columns()]; hosts.div_ceil(group)];
    let mut traffic = HostMaps {
        hosts,
        group,
        sent: empty.clone(),
        received: empty,
        queued: vec![0.0; grid.columns()],
    };
    let mut queues = vec![Held::default(); hosts];
    let columns = [
        "begin_ps",
        "end_ps",
        "host",
        "bytes_sent",
        "bytes_received",
        "nic_queue_bytes",
    ];
    let read = source.each("host_series", &columns, |rows| {
        let (begin, end) = (rows.integers("begin_ps")?, rows.integers("end_ps")?);
        let (host, queue) = (rows.integers("host")?, rows.integers("nic_queue_bytes")?);
        let (sent, received) = (rows.integers("bytes_sent")?, rows.integers("bytes_received")?);
        for i in 0..begin.len() {
            let row = host[i] as usize / group;
            grid.add(&mut traffic.sent[row], begin[i], end[i], sent[i] as f64);
            grid.add(&mut traffic.received[row], begin[i], end[i], received[i] as f64);
            let (from, to, level) = queues[host[i] as usize].set(begin[i], queue[i] as f64);
            grid.hold(&mut traffic.queued, from, to, level);
        }
        Some(())
    })?;
    for held in queues {
        let (from, to, level) = held.until(grid.end_ps());
        grid.hold(&mut traffic.queued, from, to, level);
    }
    Ok(read.map(|()| traffic))
}

/// Bytes of a column of time as gigabits per second.
fn gbps(grid: &TimeGrid, column: usize, bytes: f64) -> f64 {
    8000.0 * bytes / grid.time_ps(column)
}

impl HostMaps {
    /// Rate per host, by row.
    fn rates(&self, grid: &TimeGrid, bytes: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let rows = bytes.iter().enumerate().map(|(row, bytes)| {
            let hosts = self.group.min(self.hosts - row * self.group) as f64;
            let rate = |(column, bytes): (usize, &f64)| rounded3(gbps(grid, column, *bytes) / hosts);
            bytes.iter().enumerate().map(rate).collect()
        });
        rows.collect()
    }

    fn total(&self, grid: &TimeGrid, bytes: &[Vec<f64>]) -> Vec<f64> {
        let sum = |column: usize| bytes.iter().map(|row| row[column]).sum::<f64>();
        (0..grid.columns())
            .map(|column| rounded(gbps(grid, column, sum(column))))
            .collect()
    }
}

fn figure(grid: &TimeGrid, traffic: &HostMaps) -> Figure {
    let unit = unit_of(grid.end_ps());
    let names = groups("host", traffic.hosts, traffic.group);
    let grouped = if traffic.group > 1 {
        format!(
            " Each row is the mean of {} consecutive hosts.",
            show::count(traffic.group as u64)
        )
    } else {
        String::new()
    };
    let mut figure = Figure::new(
        "hosts",
        "Sends and receives over time",
        format!(
            "Data that hosts sent and received, headers included, by host and time; then the sums over all hosts, and the data in the queues of their NICs.{grouped}"
        ),
    );
    let (sent, received) = (
        traffic.rates(grid, &traffic.sent),
        traffic.rates(grid, &traffic.received),
    );
    let most = sent
        .iter()
        .chain(&received)
        .flatten()
        .copied()
        .fold(0.0, f64::max);
    let height = if names.len() <= 24 {
        Height::Low
    } else {
        Height::Usual
    };
    for (caption, z) in [("sent", sent), ("received", received)] {
        let scale = Scale {
            name: "Gbps per host",
            unit: "Gbps",
            rows: "host",
            most: if most > 0.0 { most } else { 1.0 },
        };
        let alt = format!(
            "Map of what {} hosts {caption} over time, in gigabits per second; at most {most} per host.",
            traffic.hosts
        );
        figure = figure.captioned(caption, height, alt, heat_map(grid, unit, &names, z, &scale));
    }
    let totals = [
        ("sent", traffic.total(grid, &traffic.sent)),
        ("received", traffic.total(grid, &traffic.received)),
    ];
    let alt = "Data sent and received by all hosts together over time.".to_string();
    figure = figure.captioned(
        "all hosts together",
        Height::Usual,
        alt,
        lines(grid, &totals, "Gbps"),
    );
    queues(figure, grid, traffic)
}

/// Adds the sum of the NIC queues over time, if any byte ever waited.
fn queues(figure: Figure, grid: &TimeGrid, traffic: &HostMaps) -> Figure {
    let queued: Vec<f64> = traffic
        .queued
        .iter()
        .enumerate()
        .map(|(c, sum)| sum / grid.time_ps(c))
        .collect();
    let most = queued.iter().copied().fold(0.0, f64::max);
    if most == 0.0 {
        return figure;
    }
    let (scale, name) = match most {
        most if most >= 1e9 => (1e9, "GB"),
        most if most >= 1e6 => (1e6, "MB"),
        most if most >= 1e3 => (1e3, "kB"),
        _ => (1.0, "B"),
    };
    let queued = queued.into_iter().map(|bytes| rounded(bytes / scale)).collect();
    let alt = format!(
        "Bytes in the queues of all NICs over time; at most {}.",
        show::bytes(most as u64)
    );
    figure.captioned(
        "in the queues of the NICs",
        Height::Usual,
        alt,
        lines(grid, &[("queued", queued)], name),
    )
}

fn lines(grid: &TimeGrid, series: &[(&str, Vec<f64>)], title: &str) -> Plot {
    let unit = unit_of(grid.end_ps());
    let mut plot = plot(x_axis(&format!("simulated time ({})", unit.name)), y_axis(title));
    for (i, (name, values)) in series.iter().enumerate() {
        let x = grid.edges_ps().into_iter().map(|ps| in_unit(ps, unit)).collect();
        let y = values.iter().chain(values.last()).copied().collect();
        plot.add_trace(curve(name, SeriesColour::Number(i), x, y));
    }
    plot
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Table;
    use crate::report::source::tests::{ColumnCells, made};

    /// Rows of start, host, bytes sent, bytes received, bytes queued; bins of 1000 ps.
    fn series(rows: &[(u64, u32, u64, u64, u64)]) -> Table {
        made(
            "host_series",
            vec![
                ("begin_ps", ColumnCells::U64(rows.iter().map(|r| r.0).collect())),
                (
                    "end_ps",
                    ColumnCells::U64(rows.iter().map(|r| r.0 + 1000).collect()),
                ),
                ("host", ColumnCells::U32(rows.iter().map(|r| r.1).collect())),
                ("bytes_sent", ColumnCells::U64(rows.iter().map(|r| r.2).collect())),
                (
                    "bytes_received",
                    ColumnCells::U64(rows.iter().map(|r| r.3).collect()),
                ),
                (
                    "nic_queue_bytes",
                    ColumnCells::U64(rows.iter().map(|r| r.4).collect()),
                ),
            ],
        )
    }

    #[test]
    fn bytes_become_rates_and_queues_hold() {
        // 100 bytes in a nanosecond are 800 Gbps.
        let tables = [series(&[
            (0, 0, 100, 0, 64),
            (0, 1, 0, 50, 16),
            (2000, 0, 0, 25, 0),
        ])];
        let source = TableSource::new(&tables, None);
        let grid = TimeGrid::of(&source, "host_series").unwrap().unwrap();
        let traffic = collect(source, &grid, 2).unwrap().unwrap();
        assert_eq!(traffic.rates(&grid, &traffic.sent), [[800.0, 0.0, 0.0], [0.0; 3]]);
        assert_eq!(
            traffic.rates(&grid, &traffic.received),
            [[0.0, 0.0, 200.0], [400.0, 0.0, 0.0]]
        );
        assert_eq!(traffic.total(&grid, &traffic.received), [400.0, 0.0, 200.0]);
        assert_eq!(traffic.queued, [80_000.0, 80_000.0, 16_000.0]);
    }

    #[test]
    fn many_hosts_are_averaged_in_groups() {
        let rows: Vec<_> = (0..300u32).map(|host| (0, host, 100, 0, 0)).collect();
        let tables = [series(&rows)];
        let source = TableSource::new(&tables, None);
        let grid = TimeGrid::of(&source, "host_series").unwrap().unwrap();
        let traffic = collect(source, &grid, 300).unwrap().unwrap();
        assert_eq!((traffic.group, traffic.sent.len()), (3, 100));
        assert!(
            traffic
                .rates(&grid, &traffic.sent)
                .iter()
                .all(|row| row == &[800.0])
        );
        let figure = maps(source).unwrap().unwrap();
        assert!(figure.explanation.contains("mean of 3 consecutive hosts"));
        assert_eq!(figure.panels.len(), 3, "nothing was queued");
    }
}
