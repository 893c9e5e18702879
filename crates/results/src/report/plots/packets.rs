//! Latency and hops of packets.

use plotly::Bar;
use plotly::common::Marker;
use plotly::layout::AxisType;

use super::{Figure, Height, MOST_JOBS, SeriesColour, curve, escape, plot, x_axis, y_axis};
use crate::{Summary, Table, show};

/// Above this number of hops the axis chooses its own ticks.
const MOST_TICKS: u64 = 24;

/// Values and their numbers of packets.
type ValueCounts = Vec<(u64, u64)>;

/// Rows of a histogram table by job. The whole network is named `all packets`.
fn by_job<'t>(table: &'t Table, value: &str) -> Option<Vec<(&'t str, ValueCounts)>> {
    let (values, packets) = (table.u64s(value)?, table.u64s("packets")?);
    let mut jobs: Vec<(&str, ValueCounts)> = Vec::new();
    for (i, job) in table.texts("job")?.enumerate() {
        let job = job.unwrap_or("all packets");
        if jobs.last().is_none_or(|(name, _)| *name != job) {
            jobs.push((job, Vec::new()));
        }
        jobs.last_mut()?.1.push((values[i], packets[i]));
    }
    // With one job, its line would coincide with that of all packets.
    if jobs.len() == 2 {
        jobs.remove(0);
    }
    jobs.truncate(1 + MOST_JOBS);
    (!jobs.is_empty()).then_some(jobs)
}

/// Distribution of latencies, as a cumulative share.
pub(super) fn latency(summary: &Summary, table: &Table) -> Option<Figure> {
    let jobs = by_job(table, "high_ps")?;
    let max_ps = jobs.iter().flat_map(|(_, rows)| rows).map(|(ps, _)| *ps).max()?;
    let unit = show::time_unit(max_ps as f64 / 1000.0);
    let x = x_axis(&format!("packet latency ({})", unit.name)).type_(AxisType::Log);
    let mut plot = plot(x, y_axis("share of packets (%)").range(vec![0.0, 101.0]));
    for (job, rows) in &jobs {
        let total: u64 = rows.iter().map(|(_, packets)| packets).sum();
        let mut seen = 0;
        let points = rows.iter().map(|(ps, packets)| {
            seen += packets;
            (
                *ps as f64 / (1000.0 * unit.ns),
                100.0 * seen as f64 / total as f64,
            )
        });
        let (x, y) = points.unzip();
        plot.add_trace(curve(job, SeriesColour::of_job(summary, job), x, y));
    }
    let figure = Figure::new(
        "latency",
        "Packet latency",
        "Share of the packets that took at most this long, from the sender's queue to the last byte's arrival.",
    );
    let alt = format!(
        "Cumulative distribution of packet latency of {}; the slowest packet took {}.",
        jobs.iter().map(|(job, _)| *job).collect::<Vec<_>>().join(", "),
        show::time(max_ps as f64 / 1000.0)
    );
    Some(figure.with(Height::Usual, alt, plot).at_half_width())
}

/// Distribution of hops.
pub(super) fn hops(summary: &Summary, table: &Table) -> Option<Figure> {
    let jobs = by_job(table, "low_hops")?;
    // With several jobs, the whole network would only repeat their sum.
    let several = jobs.len() > 1;
    let shown = jobs.len() - usize::from(several);
    let longest = jobs
        .iter()
        .flat_map(|(_, rows)| rows)
        .map(|(hops, _)| *hops)
        .max()?;
    let x = x_axis("links crossed");
    let x = if longest > MOST_TICKS {
        x
    } else {
        x.dtick(1.0).range(vec![0.5, longest as f64 + 0.5])
    };
    let mut plot = plot(x, y_axis("share of packets (%)"));
    for (job, rows) in jobs.iter().skip(usize::from(several)) {
        let total: u64 = rows.iter().map(|(_, packets)| packets).sum();
        let share = rows
            .iter()
            .map(|(hops, packets)| (*hops, 100.0 * *packets as f64 / total as f64));
        let (x, y): (Vec<u64>, Vec<f64>) = share.unzip();
        let marker = Marker::new().color(SeriesColour::of_job(summary, job).colour());
        // Without a width, Plotly makes bars as wide as the smallest distance between occurring hops.
        let bar = Bar::new(x, y)
            .name(escape(job))
            .marker(marker)
            .width(0.7 / shown as f64);
        plot.add_trace(bar.show_legend(several));
    }
    let figure = Figure::new(
        "hops",
        "Hops",
        "How many links the packets crossed, injection and ejection included.",
    );
    let alt = format!("Share of packets by links crossed; the longest path has {longest}.");
    Some(figure.with(Height::Usual, alt, plot).at_half_width())
}
