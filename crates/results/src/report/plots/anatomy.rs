//! Where the simulator's own time went.

use plotly::Bar;
use plotly::common::{Marker, Orientation};
use plotly::layout::{Axis, BarMode};

use super::{BLUE, COLOURS, Figure, GREY, Height, plot, x_axis};
use crate::Summary;

/// The threads' time by what they did.
pub(super) fn threads(summary: &Summary) -> Option<Figure> {
    let threads = &summary.run.thread_seconds;
    if threads.is_empty() {
        return None;
    }
    let names: Vec<String> = (0..threads.len()).map(|t| format!("thread {t}")).collect();
    let parts = [
        (
            "carrying out events",
            BLUE,
            threads.iter().map(|t| t.processing).collect(),
        ),
        (
            "queue of events",
            COLOURS[0],
            threads.iter().map(|t| t.queue).collect(),
        ),
        (
            "waiting for other threads",
            GREY,
            threads.iter().map(|t| t.synchronisation).collect::<Vec<f64>>(),
        ),
    ];
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
    Some(Figure {
        heading: "What the run cost".into(),
        explanation: "Where the simulator's own threads spent their time. This differs from run to run."
            .into(),
        height: if threads.len() <= 4 {
            Height::Low
        } else {
            Height::Usual
        },
        plot,
    })
}
