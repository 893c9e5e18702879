//! The plots of the report: from tables to Plotly figures.
//!
//! A plot has a few thousand points at most, whatever the size of the run: ranks are averaged in groups,
//! distributions and series are reduced, and maps have about ten thousand cells at most. Colours are those of
//! `crates/results/src/colours.json` for a light ground. The script of the page repaints the plots for a dark one.
//! A job has the colour of its place in the experiment in every plot.

mod anatomy;
mod buffers;
mod classes;
mod communication;
mod host_latency;
mod hosts;
mod links;
mod map;
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
    Anchor, ColorBar, ColorScale, ColorScaleElement, DashType, Font, Line, LineShape, Marker, Mode,
    Orientation, Pattern, PatternShape, Title,
};
use plotly::configuration::{DisplayModeBar, ImageButtonFormats, ModeBarButtonName, ToImageButtonOptions};
use plotly::layout::{Axis, AxisType, HoverMode, Legend, Margin, ModeBar, RangeMode, TraceOrder};
use plotly::{Configuration, HeatMap, Layout, Plot, Scatter};

use super::escape;
use super::grid::TimeGrid;
use super::source::TableSource;
use crate::show::{self, TimeUnit};
use crate::{ReadError, Summary, colours};

const DASHES: [DashType; 4] = [DashType::Solid, DashType::Dash, DashType::DashDot, DashType::Dot];
/// Maximum number of jobs in a plot: the number of colours.
const MOST_JOBS: usize = colours::SERIES;

/// Maximum number of names along the vertical and the horizontal axis of a map. Those along the latter stand beside
/// each other on a phone, too.
const MOST_ROW_TICKS: usize = 12;
const MOST_COLUMN_TICKS: usize = 6;

/// Width of a plot on the page. The style sheet maps it to screen sizes.
#[derive(Clone, Copy)]
pub(super) enum Height {
    Low,
    Usual,
    /// For maps of equal sides.
    Square,
}

/// A plot and its description in words.
pub(super) struct Panel {
    pub caption: Option<String>,
    /// Description for screen readers.
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
    /// The same content in numbers: HTML below the plots.
    pub table: String,
    /// Whether it shares a row with its neighbour where the page is wide.
    pub half: bool,
    /// Whether it precedes interference and bounds, as the composition of job times does.
    pub first: bool,
}

impl Figure {
    /// A figure without plots.
    fn new(id: &str, heading: impl Into<String>, explanation: impl Into<String>) -> Figure {
        Figure {
            id: id.into(),
            heading: heading.into(),
            explanation: explanation.into(),
            panels: Vec::new(),
            table: String::new(),
            half: false,
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

    /// The figure at half the width of a wide page.
    fn at_half_width(mut self) -> Figure {
        self.half = true;
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

/// All figures for which the run has data, in page order.
pub(super) fn figures(summary: &Summary, source: TableSource) -> Result<Vec<Figure>, ReadError> {
    let links = source.table("links");
    let mut figures = Vec::new();
    figures.extend(split::jobs(summary, source));
    figures.extend(path::critical(summary, source)?);
    figures.iter_mut().for_each(|figure| figure.first = true);
    if let Some(ranks) = source.table("ranks") {
        figures.extend(ranks::times(ranks, source.table("calls")));
    }
    figures.extend(progress::jobs(summary, source)?);
    figures.extend(communication::matrices(summary, source)?);
    figures.extend(messages::phases(source)?);
    let latencies = source.table("latency_histogram");
    figures.extend(latencies.and_then(|table| packets::latency(summary, table)));
    let hops = source.table("hops_histogram");
    figures.extend(hops.and_then(|table| packets::hops(summary, table)));
    figures.extend(host_latency::sorted(summary, source)?);
    figures.extend(map::network(summary, source)?);
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

/// The entry of a name, created on first use. Copies the name only then.
fn named<'m, V: Default>(known: &'m mut BTreeMap<String, V>, name: &str) -> &'m mut V {
    if !known.contains_key(name) {
        known.insert(name.into(), V::default());
    }
    known.get_mut(name).expect("it was put there")
}

/// The unit for labels of a time axis up to this time.
fn unit_of(end_ps: u64) -> &'static TimeUnit {
    show::time_unit(end_ps as f64 / 1000.0)
}

/// Times in this unit, with the precision of a screen.
fn in_unit(ps: u64, unit: &TimeUnit) -> f64 {
    rounded(ps as f64 / (1000.0 * unit.ns))
}

/// Rounds to six significant digits: more are invisible, and would lengthen the page.
fn rounded(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return 0.0;
    }
    let digits = 5 - x.abs().log10().floor() as i32;
    let scale = 10f64.powi(digits);
    let rounded = (x * scale).round() / scale;
    if rounded.is_finite() { rounded } else { x }
}

/// Cells of maps have at most three decimals, because there are many of them.
fn rounded3(x: f64) -> f64 {
    (1000.0 * x).round() / 1000.0
}

/// A map of values by row and column of time; low values are close to the ground. The axis has the short names of
/// rows, tooltips the long ones.
fn heat_map(grid: &TimeGrid, unit: &TimeUnit, rows: &[RowName], z: Vec<Vec<f64>>, scale: &Scale) -> Plot {
    let edges: Vec<f64> = grid.edges_ps().into_iter().map(|ps| in_unit(ps, unit)).collect();
    let x = x_axis(&format!("simulated time ({})", unit.name))
        .show_grid(false)
        .range(vec![0.0, *edges.last().unwrap_or(&1.0)]);
    let y = ticks(rows, MOST_ROW_TICKS)
        .title(Title::with_text(scale.rows))
        .auto_range(true);
    let mut plot = plot(x, y);
    let bar = ColorBar::new()
        .title(Title::with_text(scale.name))
        .thickness(12)
        .outline_width(0)
        .tick_font(Font::new().size(11));
    let trace = HeatMap::new(
        edges,
        rows.iter().map(|row| escape(&row.long)).collect::<Vec<_>>(),
        z,
    )
    .color_scale(loads())
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

/// The colours of loads, as in the viewer.
fn loads() -> ColorScale {
    let loads = colours::load();
    let last = (loads.len() - 1) as f64;
    let elements = loads
        .enumerate()
        .map(|(i, colour)| ColorScaleElement(rounded(i as f64 / last), colour.into()));
    ColorScale::Vector(elements.collect())
}

/// A row or column of a map: its name on the axis, and in tooltips.
#[derive(Clone, Debug)]
struct RowName {
    short: String,
    long: String,
}

/// The rows of a map in which so many things of a kind have rows of `group` of them, by number.
fn groups(kind: &str, things: usize, group: usize) -> Vec<RowName> {
    (0..things)
        .step_by(group)
        .map(|first| {
            let last = (first + group).min(things) - 1;
            RowName {
                short: first.to_string(),
                long: match first == last {
                    true => format!("{kind} {first}"),
                    false => format!("{kind}s {first} to {last}"),
                },
            }
        })
        .collect()
}

/// An axis of a map with the names of so many rows at most, at equal distances.
fn ticks(rows: &[RowName], most: usize) -> Axis {
    let places: Vec<usize> = (0..rows.len())
        .step_by(rows.len().div_ceil(most).max(1))
        .collect();
    Axis::new()
        .type_(AxisType::Category)
        .tick_values(places.iter().map(|place| *place as f64).collect())
        .tick_text(places.iter().map(|place| escape(&rows[*place].short)).collect())
        .tick_font(Font::new().size(11))
        .tick_angle(0.0)
        .auto_margin(true)
        .show_grid(false)
        .zero_line(false)
}

/// Labels of a map.
struct Scale {
    /// Label of the colour bar.
    name: &'static str,
    unit: &'static str,
    /// Label of the rows.
    rows: &'static str,
    /// Value of the darkest colour.
    most: f64,
}

fn x_axis(title: &str) -> Axis {
    Axis::new()
        .title(Title::with_text(title))
        .auto_margin(true)
        .grid_color(colours::page("grid"))
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
        .color(colours::other())
        .active_color(colours::page("mark"));
    let layout = Layout::new()
        .x_axis(x)
        .y_axis(y)
        .legend(legend)
        .margin(Margin::new().left(50).right(12).top(34).bottom(48))
        .paper_background_color("rgba(0,0,0,0)")
        .plot_background_color("rgba(0,0,0,0)")
        .font(Font::new().size(13).color(colours::page("ink")))
        .mode_bar(buttons)
        .hover_mode(HoverMode::Closest)
        .auto_size(true);
    let mut plot = Plot::new();
    plot.set_layout(layout);
    use ModeBarButtonName::{AutoScale2d, Lasso2d, Pan2d, Select2d, Zoom2d, ZoomIn2d, ZoomOut2d};
    // Dragging and double clicks replace the buttons, which would cover the legend.
    let superfluous = vec![Zoom2d, Pan2d, Select2d, Lasso2d, ZoomIn2d, ZoomOut2d, AutoScale2d];
    // The camera saves the plot for papers and slides.
    let image = ToImageButtonOptions::new()
        .format(ImageButtonFormats::Svg)
        .filename("fabricsim");
    let configuration = Configuration::new()
        .to_image_button_options(image)
        .responsive(true)
        .display_logo(false)
        .display_mode_bar(DisplayModeBar::Hover)
        .mode_bar_buttons_to_remove(superfluous);
    plot.set_configuration(configuration);
    plot
}

/// What a line or a bar shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SeriesColour {
    /// The whole network, beside its jobs.
    Whole,
    /// The i-th job of the experiment, or the i-th class of links.
    Number(usize),
}

impl SeriesColour {
    /// A job by its place in the experiment.
    fn of_job(summary: &Summary, name: &str) -> SeriesColour {
        match summary.jobs.iter().position(|job| job.name == name) {
            Some(i) => SeriesColour::Number(i),
            None => SeriesColour::Whole,
        }
    }

    fn colour(self) -> &'static str {
        match self {
            SeriesColour::Whole => colours::other(),
            SeriesColour::Number(i) => colours::series(i),
        }
    }

    fn dash(self) -> DashType {
        match self {
            SeriesColour::Whole => DASHES[0].clone(),
            SeriesColour::Number(i) => DASHES[i % DASHES.len()].clone(),
        }
    }
}

/// A step curve in the colour and dash of its series.
fn curve(name: &str, series: SeriesColour, x: Vec<f64>, y: Vec<f64>) -> Box<Scatter<f64, f64>> {
    drawn(name, series, x, y, LineShape::Hv, series.dash())
}

/// A curve in the colour of its series.
fn line(
    name: &str,
    series: SeriesColour,
    x: Vec<f64>,
    y: Vec<f64>,
    dash: DashType,
) -> Box<Scatter<f64, f64>> {
    drawn(name, series, x, y, LineShape::Linear, dash)
}

/// A bar in a colour, hatched if it stands for collectives or has no colour of its own.
fn marker(colour: &'static str, hatch: Option<PatternShape>) -> Marker {
    let marker = Marker::new().color(colour);
    match hatch {
        None => marker,
        Some(shape) => marker.pattern(
            Pattern::new()
                .shape(shape)
                .background_color(colour)
                .foreground_color(colours::page("paper"))
                .size(6.0)
                .solidity(0.25),
        ),
    }
}

fn drawn(
    name: &str,
    series: SeriesColour,
    x: Vec<f64>,
    y: Vec<f64>,
    shape: LineShape,
    dash: DashType,
) -> Box<Scatter<f64, f64>> {
    let line = Line::new()
        .color(series.colour())
        .width(2.5)
        .shape(shape)
        .dash(dash);
    Scatter::new(x, y)
        .mode(Mode::Lines)
        .name(escape(name))
        .line(line)
        .show_legend(true)
}
