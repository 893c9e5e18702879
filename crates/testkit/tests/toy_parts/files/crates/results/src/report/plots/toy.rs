//! Toy section of the report: payload received by each job.

use plotly::Bar;

use super::{Figure, Height, MOST_JOBS, escape, plot, x_axis, y_axis};
use crate::Table;

/// A bar for each of the first jobs.
pub(super) fn totals(table: &Table) -> Option<Figure> {
    let bytes = table.u64s("bytes")?;
    let names = table.texts("job")?.take(MOST_JOBS);
    let names: Vec<String> = names.map(|name| escape(name.unwrap_or_default())).collect();
    let shown = bytes
        .iter()
        .take(names.len())
        .map(|bytes| *bytes as f64)
        .collect();
    let mut plot = plot(x_axis("job"), y_axis("payload (bytes)"));
    plot.add_trace(Bar::new(names, shown));
    let figure = Figure::new("toy-totals", "Toy totals", "Payload of the messages of each job.");
    Some(figure.with(Height::Low, "Bars of the payload of each job.", plot))
}
