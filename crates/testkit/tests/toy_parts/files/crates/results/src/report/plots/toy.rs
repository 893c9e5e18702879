//! Toy section of the report: payload sent by each job.

use plotly::Bar;

use super::{Figure, Height, MOST_JOBS, escape, plot, x_axis, y_axis};
use crate::Summary;

/// A bar for each of the first jobs.
pub(super) fn totals(summary: &Summary) -> Option<Figure> {
    let shown = summary.jobs.iter().take(MOST_JOBS);
    let (names, bytes): (Vec<String>, Vec<f64>) =
        shown.map(|job| (escape(&job.name), job.bytes as f64)).unzip();
    let mut plot = plot(x_axis("job"), y_axis("payload (bytes)"));
    plot.add_trace(Bar::new(names, bytes));
    let figure = Figure::new("toy-totals", "Toy totals", "Payload of the messages of each job.");
    Some(figure.with(Height::Low, "Bars of the payload of each job.", plot))
}
