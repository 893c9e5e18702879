//! The plots of the report: from tables to Plotly figures.
//!
//! A plot has a few thousand points at most, whatever the size of the run: ranks are averaged in groups,
//! distributions and series are reduced, and maps have about ten thousand cells at most. Colours are those of Okabe
//! and Ito, "Color Universal Design" (2008), and of maps cividis (Nunez, Anderton, Renslow, "Optimizing colormaps
//! with consideration for color vision deficiency", PLOS ONE 13(7), 2018), which are distinct with any colour vision.

mod anatomy;
mod buffers;
mod classes;
mod host_latency;
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
use plotly::configuration::{DisplayModeBar, ImageButtonFormats, ModeBarButtonName, ToImageButtonOptions};
use plotly::layout::{Axis, HoverMode, Legend, Margin, ModeBar, RangeMode, TraceOrder};
use plotly::{Configuration, HeatMap, Layout, Plot, Scatter};

use super::escape;
use super::grid::TimeGrid;
use super::source::TableSource;
use crate::show::{self, TimeUnit};
use crate::{ReadError, Summary};

const BLUE: &str = "#0072B2";
const GREY: &str = "#8C959F";
/// Colours of series without a colour of their own, most distinct first.
const COLOURS: [&str; 7] = [
    "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#8C959F",
];
const DASHES: [DashType; 4] = [DashType::Solid, DashType::Dash, DashType::DashDot, DashType::Dot];
/// Maximum number of jobs in a plot: the number of colours.
const MOST_JOBS: usize = 7;

/// Width of a plot on the page. The style sheet maps it to screen sizes.
#[derive(Clone, Copy)]
pub(super) enum Height {
    Low,
    Usual,
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
    figures.extend(messages::phases(source)?);
    figures.extend(source.table("latency_histogram").and_then(packets::latency));
    figures.extend(source.table("hops_histogram").and_then(packets::hops));
    figures.extend(host_latency::sorted(summary, source)?);
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

/// A map of values by row and column of time; low values are light. Tooltips show the names of rows.
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

/// Cividis reversed, so that high values are dark. It begins with white, the colour of an empty cell.
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

/// Blue first, then the others. The i-th job or class has the i-th colour in every plot.
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
