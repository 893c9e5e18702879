//! Received data and progress of jobs over time, from `job_series`.

use std::collections::BTreeMap;

use plotly::Plot;
use plotly::common::DashType;

use super::{
    Figure, Height, MOST_JOBS, SeriesColour, curve, in_unit, plot, rounded, unit_of, x_axis, y_axis,
};
use crate::report::grid::TimeGrid;
use crate::report::source::TableSource;
use crate::{ReadError, Summary};

/// Sums by column of time.
#[derive(Clone)]
struct ProgressFigure {
    bytes_received: Vec<f64>,
    messages_received: Vec<f64>,
    packets_delivered: Vec<f64>,
    ranks_finished: Vec<f64>,
}

fn collect(
    source: TableSource,
    grid: &TimeGrid,
) -> Result<Option<BTreeMap<String, ProgressFigure>>, ReadError> {
    let mut jobs: BTreeMap<String, ProgressFigure> = BTreeMap::new();
    let columns = [
        "begin_ps",
        "end_ps",
        "job",
        "bytes_received",
        "messages_received",
        "packets_delivered",
        "ranks_finished",
    ];
    let read = source.each("job_series", &columns, |rows| {
        let (begin, end) = (rows.integers("begin_ps")?, rows.integers("end_ps")?);
        let (job, bytes) = (rows.texts("job")?, rows.integers("bytes_received")?);
        let (messages, ranks) = (
            rows.integers("messages_received")?,
            rows.integers("ranks_finished")?,
        );
        let packets = rows.integers("packets_delivered")?;
        for i in 0..begin.len() {
            let name = job[i].unwrap_or_default();
            if !jobs.contains_key(name) {
                let none = vec![0.0; grid.columns()];
                let progress = ProgressFigure {
                    bytes_received: none.clone(),
                    messages_received: none.clone(),
                    packets_delivered: none.clone(),
                    ranks_finished: none,
                };
                jobs.insert(name.into(), progress);
            }
            let job = jobs.get_mut(name)?;
            grid.add(&mut job.bytes_received, begin[i], end[i], bytes[i] as f64);
            grid.add(&mut job.messages_received, begin[i], end[i], messages[i] as f64);
            grid.add(&mut job.packets_delivered, begin[i], end[i], packets[i] as f64);
            grid.add(&mut job.ranks_finished, begin[i], end[i], ranks[i] as f64);
        }
        Some(())
    })?;
    Ok(read.map(|()| jobs))
}

/// Data received per time, and progress, by job.
pub(super) fn jobs(summary: &Summary, source: TableSource) -> Result<Option<Figure>, ReadError> {
    let Some(grid) = TimeGrid::of(&source, "job_series")? else {
        return Ok(None);
    };
    let Some(series) = collect(source, &grid)?.filter(|jobs| !jobs.is_empty()) else {
        return Ok(None);
    };
    // The order of the experiment, as everywhere on the page.
    let ordered: Vec<(&str, &ProgressFigure)> = summary
        .jobs
        .iter()
        .filter_map(|job| Some((job.name.as_str(), series.get(&job.name)?)))
        .collect();
    Ok((!ordered.is_empty()).then(|| figure(&grid, summary, &ordered)))
}

/// Shares of the sum that have arrived by the end of each column, in percent; starts with 0.
fn cumulative(values: &[f64]) -> Option<Vec<f64>> {
    let total: f64 = values.iter().sum();
    if total <= 0.0 {
        return None;
    }
    let mut sum = 0.0;
    let parts = values.iter().map(|value| {
        sum += value;
        rounded(100.0 * sum / total)
    });
    Some(std::iter::once(0.0).chain(parts).collect())
}

fn figure(grid: &TimeGrid, summary: &Summary, jobs: &[(&str, &ProgressFigure)]) -> Figure {
    let shown = &jobs[..jobs.len().min(MOST_JOBS)];
    let left_out = match jobs.len() - shown.len() {
        0 => String::new(),
        n => format!(" The first {MOST_JOBS} jobs of the experiment; {n} more are in job_series.parquet."),
    };
    let names: Vec<&str> = shown.iter().map(|(name, _)| *name).collect();
    let figure = Figure::new(
        "progress",
        "Jobs over time",
        format!(
            "Data that a job received per second, and the share of its messages (for synthetic traffic: of its packets) that had arrived. Dotted: the share of its ranks that had ended.{left_out}"
        ),
    );
    let alt = format!("Data received per second over time by {}.", names.join(", "));
    let figure = figure.with(Height::Usual, alt, rates(grid, summary, shown));
    let alt = format!("Share of messages received over time by {}.", names.join(", "));
    figure.with(Height::Usual, alt, shares(grid, summary, shown))
}

fn times(grid: &TimeGrid) -> (String, Vec<f64>) {
    let unit = unit_of(grid.end_ps());
    let edges = grid.edges_ps().into_iter().map(|ps| in_unit(ps, unit)).collect();
    (format!("simulated time ({})", unit.name), edges)
}

fn rates(grid: &TimeGrid, summary: &Summary, jobs: &[(&str, &ProgressFigure)]) -> Plot {
    let (title, edges) = times(grid);
    let mut plot = plot(x_axis(&title), y_axis("received (Gbps)"));
    for (name, job) in jobs {
        let series = SeriesColour::of_job(summary, name);
        let rate = |(column, bytes): (usize, &f64)| rounded(8000.0 * bytes / grid.time_ps(column));
        let mut rates: Vec<f64> = job.bytes_received.iter().enumerate().map(rate).collect();
        rates.extend(rates.last().copied());
        plot.add_trace(curve(name, series, edges.clone(), rates));
    }
    plot
}

fn shares(grid: &TimeGrid, summary: &Summary, jobs: &[(&str, &ProgressFigure)]) -> Plot {
    let (title, edges) = times(grid);
    let mut plot = plot(x_axis(&title), y_axis("share (%)").range(vec![0.0, 101.0]));
    for (name, job) in jobs {
        let series = SeriesColour::of_job(summary, name);
        let parts = cumulative(&job.messages_received).or_else(|| cumulative(&job.packets_delivered));
        if let Some(parts) = parts {
            plot.add_trace(super::line(
                name,
                series,
                edges.clone(),
                parts,
                super::DASHES[0].clone(),
            ));
        }
        if let Some(parts) = cumulative(&job.ranks_finished) {
            let name = format!("{name}: ranks ended");
            plot.add_trace(super::line(&name, series, edges.clone(), parts, DashType::Dot));
        }
    }
    plot
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::source::tests::{ColumnCells, made};

    #[test]
    fn progress_is_the_share_of_what_has_come_so_far() {
        let tables = [made(
            "job_series",
            vec![
                ("begin_ps", ColumnCells::U64(vec![0, 0, 20])),
                ("end_ps", ColumnCells::U64(vec![10, 10, 30])),
                ("job", ColumnCells::Words(vec![Some("a"), Some("b"), Some("a")])),
                ("bytes_received", ColumnCells::U64(vec![30, 0, 10])),
                ("messages_received", ColumnCells::U64(vec![3, 0, 1])),
                ("packets_delivered", ColumnCells::U64(vec![0, 9, 0])),
                ("ranks_finished", ColumnCells::U64(vec![0, 0, 2])),
            ],
        )];
        let source = TableSource::new(&tables, None);
        let grid = TimeGrid::of(&source, "job_series").unwrap().unwrap();
        let jobs = collect(source, &grid).unwrap().unwrap();
        assert_eq!(jobs["a"].bytes_received, [30.0, 0.0, 10.0]);
        assert_eq!(
            cumulative(&jobs["a"].messages_received),
            Some(vec![0.0, 75.0, 75.0, 100.0])
        );
        assert_eq!(
            cumulative(&jobs["a"].ranks_finished),
            Some(vec![0.0, 0.0, 0.0, 100.0])
        );
        assert_eq!(
            cumulative(&jobs["b"].messages_received),
            None,
            "nothing of nothing"
        );
    }
}
