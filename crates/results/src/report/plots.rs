//! The plots of the report: from tables to Plotly figures.
//!
//! However large the run, a plot holds a few thousand points at most: ranks are averaged in groups, and
//! distributions are reduced before they reach the page. Colours are those of Okabe and Ito, "Color
//! Universal Design" (2008), which people with any colour vision tell apart.

use std::collections::BTreeMap;

use plotly::common::{
    Anchor, ConstrainText, DashType, Font, Line, LineShape, Marker, Mode, Orientation, TextAnchor,
    TextPosition, Title,
};
use plotly::layout::{Axis, AxisType, BarMode, HoverMode, Legend, Margin};
use plotly::{Bar, Configuration, Layout, Plot, Scatter};

use super::escape;
use crate::{Summary, Table, show};

const BLUE: &str = "#0072B2";
const GREY: &str = "#8C959F";
/// For series that have no colour of their own, most distinct first.
const COLOURS: [&str; 7] = [
    "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#8C959F",
];
const DASHES: [DashType; 4] = [DashType::Solid, DashType::Dash, DashType::DashDot, DashType::Dot];

const MOST_BARS: usize = 400;
const MOST_CALLS: usize = 5;
const MOST_JOBS: usize = 7;
const MOST_POINTS: usize = 400;
const HOTTEST: usize = 20;

/// A plot with its heading.
pub(super) struct Figure {
    pub heading: String,
    pub explanation: String,
    pub tall: bool,
    pub plot: Plot,
}

/// Every figure for which the run has data, in the order of the page.
pub(super) fn figures(summary: &Summary, tables: &[Table]) -> Vec<Figure> {
    let table = |name: &str| tables.iter().find(|t| t.name() == name && t.rows() > 0);
    let mut figures = Vec::new();
    if let Some(ranks) = table("ranks") {
        figures.extend(rank_times(ranks, table("calls")));
    }
    figures.extend(table("latency_histogram").and_then(latency));
    figures.extend(table("hops_histogram").and_then(hops));
    if let Some(links) = table("links") {
        figures.extend(hottest_links(links));
        figures.extend(link_use(links));
    }
    figures.extend(anatomy(summary));
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
    x_axis(title).range_mode(plotly::layout::RangeMode::ToZero)
}

fn plot(x: Axis, y: Axis) -> Plot {
    let legend = Legend::new()
        .orientation(Orientation::Horizontal)
        .x(0.0)
        .y(1.02)
        .y_anchor(Anchor::Bottom);
    let layout = Layout::new()
        .x_axis(x)
        .y_axis(y)
        .legend(legend)
        .margin(Margin::new().left(50).right(12).top(28).bottom(48))
        .paper_background_color("rgba(0,0,0,0)")
        .plot_background_color("rgba(0,0,0,0)")
        .font(Font::new().size(13).color("#1b1f24"))
        .hover_mode(HoverMode::Closest)
        .auto_size(true);
    let mut plot = Plot::new();
    plot.set_layout(layout);
    plot.set_configuration(Configuration::new().responsive(true).display_logo(false));
    plot
}

/// Ranks of one job: computation and the calls that took most, in picoseconds per rank.
#[derive(Default)]
struct JobTimes<'t> {
    ranks: Vec<u32>,
    compute: Vec<u64>,
    mpi: Vec<u64>,
    calls: BTreeMap<&'t str, BTreeMap<u32, u64>>,
}

fn rank_times(ranks: &Table, calls: Option<&Table>) -> Vec<Figure> {
    let Some(jobs) = job_times(ranks, calls) else {
        return Vec::new();
    };
    let several = jobs.len() > 1;
    let figures = jobs
        .into_iter()
        .take(MOST_JOBS)
        .map(|(name, times)| rank_figure(name, &times, several));
    figures.collect()
}

fn job_times<'t>(ranks: &'t Table, calls: Option<&'t Table>) -> Option<Vec<(&'t str, JobTimes<'t>)>> {
    let (rank, compute, mpi) = (
        ranks.u32s("rank")?,
        ranks.u64s("compute_ps")?,
        ranks.u64s("mpi_ps")?,
    );
    // Jobs stay in the order of the experiment.
    let mut jobs: Vec<(&str, JobTimes)> = Vec::new();
    for (i, job) in ranks.texts("job")?.enumerate() {
        let job = job.unwrap_or_default();
        if jobs.last().is_none_or(|(name, _)| *name != job) {
            jobs.push((job, JobTimes::default()));
        }
        let (_, times) = jobs.last_mut()?;
        times.ranks.push(rank[i]);
        times.compute.push(compute[i]);
        times.mpi.push(mpi[i]);
    }
    if let Some(calls) = calls {
        let (rank, time) = (calls.u32s("rank")?, calls.u64s("time_ps")?);
        for (i, (job, call)) in calls.texts("job")?.zip(calls.texts("call")?).enumerate() {
            if let Some((_, times)) = jobs.iter_mut().find(|(name, _)| Some(*name) == job) {
                *times
                    .calls
                    .entry(call.unwrap_or_default())
                    .or_default()
                    .entry(rank[i])
                    .or_default() += time[i];
            }
        }
    }
    Some(jobs)
}

fn rank_figure(job: &str, times: &JobTimes, several: bool) -> Figure {
    let mut calls: Vec<_> = times
        .calls
        .iter()
        .map(|(call, by_rank)| (by_rank.values().sum::<u64>(), *call))
        .collect();
    calls.sort_by(|a, b| b.cmp(a));
    let mut series = vec![("computation".to_string(), BLUE, times.compute.clone())];
    let mut rest = times.mpi.clone();
    for ((_, call), colour) in calls
        .iter()
        .filter(|(sum, _)| *sum > 0)
        .take(MOST_CALLS)
        .zip(COLOURS)
    {
        let by_rank = &times.calls[call];
        let values: Vec<u64> = times
            .ranks
            .iter()
            .map(|r| by_rank.get(r).copied().unwrap_or(0))
            .collect();
        rest.iter_mut()
            .zip(&values)
            .for_each(|(rest, value)| *rest = rest.saturating_sub(*value));
        series.push((escape(call), colour, values));
    }
    if rest.iter().any(|ps| *ps > 0) {
        series.push((
            if calls.is_empty() { "MPI" } else { "other MPI" }.into(),
            GREY,
            rest,
        ));
    }
    let longest = times
        .compute
        .iter()
        .zip(&times.mpi)
        .map(|(c, m)| c + m)
        .max()
        .unwrap_or(0);
    let unit = show::time_unit(longest as f64 / 1000.0);
    let group = times.ranks.len().div_ceil(MOST_BARS).max(1);
    let firsts: Vec<u32> = times.ranks.chunks(group).map(|ranks| ranks[0]).collect();
    let mut plot = plot(x_axis("rank"), y_axis(&format!("time ({})", unit.name)));
    for (name, colour, values) in series {
        let means = values.chunks(group).map(|group| {
            let sum: u128 = group.iter().map(|ps| u128::from(*ps)).sum();
            sum as f64 / group.len() as f64 / (1000.0 * unit.ns)
        });
        plot.add_trace(
            Bar::new(firsts.clone(), means.collect())
                .name(name)
                .marker(Marker::new().color(colour)),
        );
    }
    let layout = plot
        .layout()
        .clone()
        .bar_mode(BarMode::Stack)
        .bar_gap(0.08)
        .hover_mode(HoverMode::X);
    plot.set_layout(layout);
    let grouped = if group > 1 {
        format!(" Each bar is the mean of {group} consecutive ranks.")
    } else {
        String::new()
    };
    Figure {
        heading: if several {
            format!("Time per rank: {job}")
        } else {
            "Time per rank".into()
        },
        explanation: format!("Where each MPI rank spent its time, from its start to its end.{grouped}"),
        tall: false,
        plot,
    }
}

/// Values and the packets that have them.
type Counts = Vec<(u64, u64)>;

/// Rows of a histogram table by job; the whole network is called `all packets`.
fn by_job<'t>(table: &'t Table, value: &str) -> Option<Vec<(&'t str, Counts)>> {
    let (values, packets) = (table.u64s(value)?, table.u64s("packets")?);
    let mut jobs: Vec<(&str, Counts)> = Vec::new();
    for (i, job) in table.texts("job")?.enumerate() {
        let job = job.unwrap_or("all packets");
        if jobs.last().is_none_or(|(name, _)| *name != job) {
            jobs.push((job, Vec::new()));
        }
        jobs.last_mut()?.1.push((values[i], packets[i]));
    }
    // One job's packets are all packets: a second line on top of the first says nothing.
    if jobs.len() == 2 {
        jobs.remove(0);
    }
    jobs.truncate(1 + MOST_JOBS);
    (!jobs.is_empty()).then_some(jobs)
}

fn latency(table: &Table) -> Option<Figure> {
    let jobs = by_job(table, "high_ps")?;
    let max_ps = jobs.iter().flat_map(|(_, rows)| rows).map(|(ps, _)| *ps).max()?;
    let unit = show::time_unit(max_ps as f64 / 1000.0);
    let x = x_axis(&format!("packet latency ({})", unit.name)).type_(AxisType::Log);
    let mut plot = plot(x, y_axis("share of packets (%)").range(vec![0.0, 101.0]));
    for (i, (job, rows)) in jobs.iter().enumerate() {
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
        plot.add_trace(curve(job, i, x, y));
    }
    Some(Figure {
        heading: "Packet latency".into(),
        explanation: "Share of the packets that took at most this long, from the sender's queue to the last byte's arrival.".into(),
        tall: false,
        plot,
    })
}

/// A step curve in the i-th colour and dash.
fn curve(name: &str, i: usize, x: Vec<f64>, y: Vec<f64>) -> Box<Scatter<f64, f64>> {
    let colour = if i == 0 {
        BLUE
    } else {
        COLOURS[(i - 1) % COLOURS.len()]
    };
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

fn hops(table: &Table) -> Option<Figure> {
    let jobs = by_job(table, "low_hops")?;
    // With several jobs, the whole network would only repeat their sum.
    let jobs = if jobs.len() > 1 { &jobs[1..] } else { &jobs[..] };
    let mut plot = plot(
        x_axis("links crossed, injection and ejection included").dtick(1.0),
        y_axis("share of packets (%)"),
    );
    for (i, (job, rows)) in jobs.iter().enumerate() {
        let total: u64 = rows.iter().map(|(_, packets)| packets).sum();
        let share = rows
            .iter()
            .map(|(hops, packets)| (*hops, 100.0 * *packets as f64 / total as f64));
        let (x, y): (Vec<u64>, Vec<f64>) = share.unzip();
        let colour = if i == 0 {
            BLUE
        } else {
            COLOURS[(i - 1) % COLOURS.len()]
        };
        plot.add_trace(
            Bar::new(x, y)
                .name(escape(job))
                .marker(Marker::new().color(colour))
                .show_legend(jobs.len() > 1),
        );
    }
    let longest = jobs
        .iter()
        .flat_map(|(_, rows)| rows)
        .map(|(hops, _)| *hops)
        .max()?;
    if longest > 24 {
        let layout = plot
            .layout()
            .clone()
            .x_axis(x_axis("links crossed, injection and ejection included"));
        plot.set_layout(layout);
    }
    Some(Figure {
        heading: "Hops".into(),
        explanation: "How many links the packets crossed.".into(),
        tall: false,
        plot,
    })
}

/// Links by class, classes in alphabetical order so that both plots colour them alike.
fn classes(links: &Table) -> Option<BTreeMap<&str, Vec<usize>>> {
    let mut classes: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, class) in links.texts("class")?.enumerate() {
        classes.entry(class.unwrap_or_default()).or_default().push(i);
    }
    Some(classes)
}

fn class_colour(i: usize) -> &'static str {
    if i == 0 {
        BLUE
    } else {
        COLOURS[(i - 1) % COLOURS.len()]
    }
}

fn hottest_links(links: &Table) -> Option<Figure> {
    let busy = links.f64s("busy_fraction")?;
    let full = links.u64s("buffer_full_ps")?;
    let mut order: Vec<usize> = (0..links.rows()).filter(|i| busy[*i] > 0.0).collect();
    // Links that are as busy stay in their order.
    order.sort_by(|a, b| {
        busy[*b]
            .total_cmp(&busy[*a])
            .then(full[*b].cmp(&full[*a]))
            .then(a.cmp(b))
    });
    order.truncate(HOTTEST);
    let top = 100.0 * busy[*order.first()?];
    let (from, to): (Vec<_>, Vec<_>) = (links.texts("from")?.collect(), links.texts("to")?.collect());
    let x = x_axis("busy (% of the measured time)").range(vec![0.0, 1.02 * top]);
    let mut y = Axis::new()
        .range(vec![order.len() as f64 + 0.5, 0.5])
        .fixed_range(true)
        .grid_color("rgba(0,0,0,0)");
    y = y.zero_line(false).dtick(1.0);
    let mut plot = plot(x, y);
    for (c, (class, members)) in classes(links)?.iter().enumerate() {
        let bars: Vec<(usize, usize)> = order
            .iter()
            .enumerate()
            .filter(|(_, link)| members.binary_search(link).is_ok())
            .map(|(place, link)| (place + 1, *link))
            .collect();
        if bars.is_empty() {
            continue;
        }
        let label = |i: usize| escape(&format!("{} → {}", from[i].unwrap_or(""), to[i].unwrap_or("")));
        let hover = |i: usize| {
            let waited = show::time(full[i] as f64 / 1000.0);
            format!(
                "{}<br>busy {}<br>buffer downstream full {waited}",
                label(i),
                show::percent(busy[i])
            )
        };
        let trace = Bar::new(
            bars.iter().map(|(_, i)| 100.0 * busy[*i]).collect(),
            bars.iter().map(|(place, _)| *place as f64).collect(),
        );
        let trace = trace
            .orientation(Orientation::Horizontal)
            .name(escape(class))
            .marker(Marker::new().color(class_colour(c)))
            .width(0.82)
            .text_array(bars.iter().map(|(_, i)| label(*i)).collect())
            .hover_text_array(bars.iter().map(|(_, i)| hover(*i)).collect())
            .hover_info(plotly::common::HoverInfo::Text)
            .text_position(TextPosition::Auto)
            .inside_text_anchor(TextAnchor::Start)
            .constrain_text(ConstrainText::None)
            .text_font(Font::new().size(12))
            .show_legend(true);
        plot.add_trace(trace);
    }
    Some(Figure {
        heading: "Hottest links".into(),
        explanation: format!(
            "The {} busiest of {} links: the share of the measured time in which they carried packets.",
            order.len(),
            show::count(links.rows() as u64)
        ),
        tall: order.len() > 8,
        plot,
    })
}

fn link_use(links: &Table) -> Option<Figure> {
    let busy = links.f64s("busy_fraction")?;
    let mut plot = plot(
        x_axis("busy (% of the measured time)"),
        y_axis("share of the links (%)").range(vec![0.0, 101.0]),
    );
    for (c, (class, members)) in classes(links)?.iter().enumerate() {
        let mut sorted: Vec<f64> = members.iter().map(|i| 100.0 * busy[*i]).collect();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len() - 1;
        let mut places: Vec<usize> = (0..MOST_POINTS).map(|p| p * last / (MOST_POINTS - 1)).collect();
        places.dedup();
        let (mut x, mut y) = (vec![sorted[0]], vec![0.0]);
        for place in places {
            x.push(sorted[place]);
            y.push(100.0 * (place + 1) as f64 / sorted.len() as f64);
        }
        plot.add_trace(curve(&format!("{class} ({})", members.len()), c, x, y));
    }
    Some(Figure {
        heading: "Link utilisation by class".into(),
        explanation: "Share of the links of a class that were busy at most this much; in brackets, how many links it has.".into(),
        tall: false,
        plot,
    })
}

fn anatomy(summary: &Summary) -> Option<Figure> {
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
    let mut plot = plot(x_axis("seconds"), Axis::new().auto_margin(true).auto_range(true));
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
        tall: false,
        plot,
    })
}
