//! The plots of the report: from tables to Plotly figures.
//!
//! However large the run, a plot holds a few thousand points at most: ranks are averaged in groups, and
//! distributions and series are reduced before they reach the page; maps have at most some ten thousand
//! cells. Colours are those of Okabe and Ito, "Color
//! Universal Design" (2008), and of maps cividis (Nunez, Anderton, Renslow, "Optimizing colormaps with
//! consideration for color vision deficiency", PLOS ONE 13(7), 2018), which people with any colour vision tell
//! apart.

mod anatomy;
mod buffers;
mod classes;
mod hosts;
mod links;
mod messages;
mod packets;
mod path;
mod progress;
mod ranks;
mod routers;
mod split;
mod waits;

use std::collections::BTreeMap;

use plotly::common::{
    Anchor, ColorBar, ColorScale, ColorScaleElement, DashType, Font, Line, LineShape, Mode, Orientation,
    Title,
};
use plotly::configuration::{DisplayModeBar, ModeBarButtonName};
use plotly::layout::{Axis, HoverMode, Legend, Margin, ModeBar, RangeMode, TraceOrder};
use plotly::{Configuration, HeatMap, Layout, Plot, Scatter};

use super::escape;
use super::grid::TimeGrid;
use super::source::TableSource;
use crate::show::{self, TimeUnit};
use crate::{ReadError, Summary};

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
#[derive(Clone, Copy)]
pub(super) enum Height {
    Low,
    Usual,
    Tall,
}

/// A plot, and what it shows in words.
pub(super) struct Panel {
    pub caption: Option<String>,
    /// For those who cannot see it.
    pub alt: String,
    pub height: Height,
    pub plot: Plot,
}

/// Plots with their heading.
pub(super) struct Figure {
    pub id: String,
    pub heading: String,
    pub explanation: String,
    pub panels: Vec<Panel>,
    /// The same in numbers: HTML, below the plots.
    pub table: String,
    /// Whether it stands before interference and bounds: where the time of jobs goes.
    pub first: bool,
}

impl Figure {
    /// A figure without plots so far.
    fn new(id: &str, heading: impl Into<String>, explanation: impl Into<String>) -> Figure {
        Figure {
            id: id.into(),
            heading: heading.into(),
            explanation: explanation.into(),
            panels: Vec::new(),
            table: String::new(),
            first: false,
        }
    }

    fn with(mut self, height: Height, alt: impl Into<String>, plot: Plot) -> Figure {
        self.panels.push(Panel {
            caption: None,
            alt: alt.into(),
            height,
            plot,
        });
        self
    }

    fn captioned(mut self, caption: impl Into<String>, height: Height, alt: String, plot: Plot) -> Figure {
        self.panels.push(Panel {
            caption: Some(caption.into()),
            alt,
            height,
            plot,
        });
        self
    }
}

/// Every figure for which the run has data, in the order of the page.
pub(super) fn figures(summary: &Summary, source: TableSource) -> Result<Vec<Figure>, ReadError> {
    let links = source.table("links");
    let mut figures = Vec::new();
    figures.extend(split::jobs(summary, source)?);
    figures.extend(path::critical(summary, source)?);
    figures.iter_mut().for_each(|figure| figure.first = true);
    if let Some(ranks) = source.table("ranks") {
        figures.extend(ranks::times(ranks, source.table("calls")));
    }
    figures.extend(progress::jobs(summary, source)?);
    figures.extend(messages::phases(source)?);
    figures.extend(source.table("latency_histogram").and_then(packets::latency));
    figures.extend(source.table("hops_histogram").and_then(packets::hops));
    if let Some(links) = links {
        figures.extend(links::hottest(links));
        figures.extend(routers::hottest(links));
        figures.extend(links::utilisation(links));
    }
    figures.extend(classes::over_time(source)?);
    figures.extend(waits::reasons(source)?);
    figures.extend(buffers::occupancy(source)?);
    figures.extend(hosts::maps(source)?);
    figures.extend(anatomy::threads(summary));
    Ok(figures)
}

/// What is known under a name, made where it is not yet; without a copy of the name where it is.
fn named<'m, V: Default>(known: &'m mut BTreeMap<String, V>, name: &str) -> &'m mut V {
    if !known.contains_key(name) {
        known.insert(name.into(), V::default());
    }
    known.get_mut(name).expect("it was put there")
}

/// The unit in which a time axis up to this time is labelled.
fn unit_of(end_ps: u64) -> &'static TimeUnit {
    show::time_unit(end_ps as f64 / 1000.0)
}

/// Times for an axis in this unit, with as many digits as a screen has.
fn in_unit(ps: u64, unit: &TimeUnit) -> f64 {
    rounded(ps as f64 / (1000.0 * unit.ns))
}

/// Six significant digits: what is drawn needs no more, and a page of a million digits is shorter.
fn rounded(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return 0.0;
    }
    let digits = 5 - x.abs().log10().floor() as i32;
    let scale = 10f64.powi(digits);
    let rounded = (x * scale).round() / scale;
    if rounded.is_finite() { rounded } else { x }
}

/// A map of values by row and column of time, light where they are low. Rows are given by the names that the
/// reader gets to see when pointing at them.
fn heat_map(grid: &TimeGrid, unit: &TimeUnit, names: Vec<String>, z: Vec<Vec<f64>>, scale: &Scale) -> Plot {
    let edges: Vec<f64> = grid.edges_ps().into_iter().map(|ps| in_unit(ps, unit)).collect();
    let x = x_axis(&format!("simulated time ({})", unit.name))
        .show_grid(false)
        .range(vec![0.0, *edges.last().unwrap_or(&1.0)]);
    let y = Axis::new()
        .title(Title::with_text(scale.rows))
        .show_tick_labels(false)
        .tick_length(0)
        .show_grid(false)
        .zero_line(false)
        .auto_range(true);
    let mut plot = plot(x, y);
    let bar = ColorBar::new()
        .title(Title::with_text(scale.name))
        .thickness(12)
        .outline_width(0)
        .tick_font(Font::new().size(11));
    let trace = HeatMap::new(
        edges,
        names.iter().map(|name| escape(name)).collect::<Vec<_>>(),
        z,
    )
    .color_scale(light_to_dark())
    .zauto(false)
    .zmin(0.0)
    .zmax(scale.most)
    .color_bar(bar)
    .hover_template(format!(
        "%{{y}}<br>from %{{x}} {}: %{{z}} {}<extra></extra>",
        unit.name, scale.unit
    ));
    plot.add_trace(trace);
    plot
}

/// Cividis turned round, so that much is dark, and begun with the white of the paper: nothing is blank.
fn light_to_dark() -> ColorScale {
    let colours = [
        (0.0, "#FFFFFF"),
        (0.06, "#FFF4B0"),
        (0.15, "#F3DB4F"),
        (0.32, "#D1BF66"),
        (0.5, "#928C78"),
        (0.7, "#5B5F6D"),
        (0.85, "#273F6C"),
        (1.0, "#00204C"),
    ];
    let elements = colours.map(|(share, colour)| ColorScaleElement(share, colour.into()));
    ColorScale::Vector(elements.to_vec())
}

/// What the colours of a map mean.
struct Scale {
    /// Beside the colours.
    name: &'static str,
    unit: &'static str,
    /// Beside the rows.
    rows: &'static str,
    /// The darkest colour.
    most: f64,
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
    drawn(name, i, x, y, LineShape::Hv, DASHES[i % DASHES.len()].clone())
}

/// A curve in the i-th colour.
fn line(name: &str, i: usize, x: Vec<f64>, y: Vec<f64>, dash: DashType) -> Box<Scatter<f64, f64>> {
    drawn(name, i, x, y, LineShape::Linear, dash)
}

fn drawn(
    name: &str,
    i: usize,
    x: Vec<f64>,
    y: Vec<f64>,
    shape: LineShape,
    dash: DashType,
) -> Box<Scatter<f64, f64>> {
    let line = Line::new()
        .color(series_colour(i))
        .width(2.5)
        .shape(shape)
        .dash(dash);
    Scatter::new(x, y)
        .mode(Mode::Lines)
        .name(escape(name))
        .line(line)
        .show_legend(true)
}
