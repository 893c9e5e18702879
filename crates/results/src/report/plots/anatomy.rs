//! The time of the simulator's own threads.

use plotly::Bar;
use plotly::common::{Marker, Orientation};
use plotly::layout::{Axis, BarMode};

use super::{Figure, Height, plot, x_axis};
use crate::{Summary, ThreadTimes, colours};

/// Maximum number of threads.
const MOST_THREADS: usize = 64;

/// The time of the threads by activity.
pub(super) fn threads(summary: &Summary) -> Option<Figure> {
    let threads = &summary.run.thread_seconds;
    let threads = &threads[..threads.len().min(MOST_THREADS)];
    if threads.is_empty() {
        return None;
    }
    let per_process = summary.run.threads.max(1) as usize;
    let name = |thread: usize| match summary.run.processes {
        0 | 1 => format!("thread {thread}"),
        _ => format!(
            "process {}, thread {}",
            thread / per_process,
            thread % per_process
        ),
    };
    let names: Vec<String> = (0..threads.len()).map(name).collect();
    let of = |part: fn(&ThreadTimes) -> f64| threads.iter().map(part).collect::<Vec<f64>>();
    let parts = [
        ("executing events", colours::series(0), of(|t| t.processing)),
        ("queue of events", colours::series(1), of(|t| t.queue)),
        ("rolling back events", colours::series(2), of(|t| t.rollback)),
        ("synchronisation", colours::series(3), of(|t| t.synchronisation)),
        ("idle", colours::other(), of(|t| t.idle)),
    ]
    .into_iter()
    .filter(|(_, _, seconds)| seconds.iter().any(|s| *s > 0.0));
    let y = Axis::new()
        .auto_margin(true)
        .range(vec![threads.len() as f64 - 0.5, -0.5]);
    let mut plot = plot(x_axis("seconds"), y);
    for (name, colour, seconds) in parts {
        let bar = Bar::new(seconds, names.clone());
        plot.add_trace(
            bar.orientation(Orientation::Horizontal)
                .name(name)
                .marker(Marker::new().color(colour)),
        );
    }
    let layout = plot.layout().clone().bar_mode(BarMode::Stack);
    plot.set_layout(layout);
    let height = if threads.len() <= 4 {
        Height::Low
    } else {
        Height::Usual
    };
    let left_out = match summary.run.thread_seconds.len() - threads.len() {
        0 => String::new(),
        n => format!(" {n} more threads are in summary.json."),
    };
    let figure = Figure::new(
        "cost",
        "Cost of the run",
        format!("The time of the simulator's own threads by activity. It differs between runs.{left_out}"),
    );
    let alt = format!(
        "Bars, one for each of {} threads: seconds by activity.",
        threads.len()
    );
    Some(figure.with(height, alt, plot).at_half_width())
}
