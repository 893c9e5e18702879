//! The plots of the report: from tables to Plotly figures.
//!
//! However large the run, a plot holds a few thousand points at most: ranks are averaged in groups, and
//! distributions are reduced before they reach the page. Colours are those of Okabe and Ito, "Color
//! Universal Design" (2008), which people with any colour vision tell apart.

mod anatomy;
mod links;
mod packets;
mod ranks;

use plotly::common::{Anchor, DashType, Font, Line, LineShape, Mode, Orientation, Title};
use plotly::configuration::{DisplayModeBar, ModeBarButtonName};
use plotly::layout::{Axis, HoverMode, Legend, Margin, ModeBar, RangeMode, TraceOrder};
use plotly::{Configuration, Layout, Plot, Scatter};

use super::escape;
use crate::{Summary, Table};

const BLUE: &str = "#0072B2";
const GREY: &str = "#8C959F";
/// For series that have no colour of their own, most distinct first.
const COLOURS: [&str; 7] = [
    "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#8C959F",
];
const DASHES: [DashType; 4] = [DashType::Solid, DashType::Dash, DashType::DashDot, DashType::Dot];
/// Jobs that a plot shows at most: as many as there are colours.
const MOST_JOBS: usize = 7;

/// How much of the page a plot takes; the style sheet knows how much that is on which screen.
pub(super) enum Height {
    Low,
    Usual,
    Tall,
}

/// A plot with its heading.
pub(super) struct Figure {
    pub heading: String,
    pub explanation: String,
    pub height: Height,
    pub plot: Plot,
}

/// Every figure for which the run has data, in the order of the page.
pub(super) fn figures(summary: &Summary, tables: &[Table]) -> Vec<Figure> {
    let table = |name: &str| tables.iter().find(|t| t.name() == name && t.rows() > 0);
    let mut figures = Vec::new();
    if let Some(ranks) = table("ranks") {
        figures.extend(ranks::times(ranks, table("calls")));
    }
    figures.extend(table("latency_histogram").and_then(packets::latency));
    figures.extend(table("hops_histogram").and_then(packets::hops));
    if let Some(links) = table("links") {
        figures.extend(links::hottest(links));
        figures.extend(links::utilisation(links));
    }
    figures.extend(anatomy::threads(summary));
    figures
}

fn x_axis(title: &str) -> Axis {
    Axis::new()
        .title(Title::with_text(title))
        .auto_margin(true)
        .grid_color("#E6EAEE")
        .zero_line(false)
}

fn y_axis(title: &str) -> Axis {
    x_axis(title).range_mode(RangeMode::ToZero)
}

fn plot(x: Axis, y: Axis) -> Plot {
    let legend = Legend::new()
        .orientation(Orientation::Horizontal)
        .x(0.0)
        .y(1.02)
        .y_anchor(Anchor::Bottom)
        .trace_order(TraceOrder::Normal);
    let buttons = ModeBar::new()
        .background_color("rgba(0,0,0,0)")
        .color("#8C959F")
        .active_color(BLUE);
    let layout = Layout::new()
        .x_axis(x)
        .y_axis(y)
        .legend(legend)
        .margin(Margin::new().left(50).right(12).top(34).bottom(48))
        .paper_background_color("rgba(0,0,0,0)")
        .plot_background_color("rgba(0,0,0,0)")
        .font(Font::new().size(13).color("#1b1f24"))
        .mode_bar(buttons)
        .hover_mode(HoverMode::Closest)
        .auto_size(true);
    let mut plot = Plot::new();
    plot.set_layout(layout);
    use ModeBarButtonName::{AutoScale2d, Lasso2d, Pan2d, Select2d, Zoom2d, ZoomIn2d, ZoomOut2d};
    // What dragging and a double click do anyway needs no button, and the buttons would cover the legend.
    let superfluous = vec![Zoom2d, Pan2d, Select2d, Lasso2d, ZoomIn2d, ZoomOut2d, AutoScale2d];
    let configuration = Configuration::new()
        .responsive(true)
        .display_logo(false)
        .display_mode_bar(DisplayModeBar::Hover)
        .mode_bar_buttons_to_remove(superfluous);
    plot.set_configuration(configuration);
    plot
}

/// Blue first, then the rest: the i-th job or class has the i-th colour in every plot.
fn series_colour(i: usize) -> &'static str {
    if i == 0 {
        BLUE
    } else {
        COLOURS[(i - 1) % COLOURS.len()]
    }
}

/// A step curve in the i-th colour and dash.
fn curve(name: &str, i: usize, x: Vec<f64>, y: Vec<f64>) -> Box<Scatter<f64, f64>> {
    let colour = series_colour(i);
    let line = Line::new()
        .color(colour)
        .width(2.5)
        .shape(LineShape::Hv)
        .dash(DASHES[i % DASHES.len()].clone());
    Scatter::new(x, y)
        .mode(Mode::Lines)
        .name(escape(name))
        .line(line)
        .show_legend(true)
}
