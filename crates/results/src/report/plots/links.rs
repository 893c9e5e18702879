//! Link loads: the busiest links by name, all links by class.

use std::collections::BTreeMap;

use plotly::common::{ConstrainText, Font, HoverInfo, Line, Marker, Orientation, TextAnchor, TextPosition};
use plotly::layout::{Axis, RangeMode};
use plotly::{Bar, Plot};

use super::{Figure, Height, SeriesColour, curve, escape, plot, x_axis, y_axis};
use crate::report::html::{details, numbers, table, words};
use crate::{Table, colours, show};

const HOTTEST: usize = 12;
/// Maximum number of points of a curve.
const MOST_POINTS: usize = 400;

/// Links by class, in alphabetical order so that both plots use the same colours.
fn classes(links: &Table) -> Option<BTreeMap<&str, Vec<usize>>> {
    let mut classes: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, class) in links.texts("class")?.enumerate() {
        classes.entry(class.unwrap_or_default()).or_default().push(i);
    }
    Some(classes)
}

/// The busiest links by name.
pub(super) fn hottest(links: &Table) -> Option<Figure> {
    let busy = links.f64s("busy_fraction")?;
    let full = links.u64s("buffer_full_ps")?;
    let mut order: Vec<usize> = (0..links.rows()).filter(|i| busy[*i] > 0.0).collect();
    // Equally busy links stay in order.
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
    // The busiest link is at the top. The bars carry the names, because an axis has no space for them on a phone.
    let y = Axis::new()
        .range(vec![order.len() as f64 + 0.5, 0.5])
        .fixed_range(true)
        .show_grid(false)
        .zero_line(false)
        .show_tick_labels(false);
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
        let label = |link: usize| {
            escape(&format!(
                "{} → {}",
                from[link].unwrap_or(""),
                to[link].unwrap_or("")
            ))
        };
        let hover = |link: usize| {
            let waited = show::time(full[link] as f64 / 1000.0);
            format!(
                "{}<br>busy {}<br>downstream buffer full {waited}",
                label(link),
                show::percent(busy[link])
            )
        };
        let loads = bars.iter().map(|(_, link)| 100.0 * busy[*link]).collect();
        let places = bars.iter().map(|(place, _)| *place as f64).collect();
        let paint = SeriesColour::Number(c).colour();
        let trace = Bar::new(loads, places)
            .name(escape(class))
            .marker(
                Marker::new()
                    .color(paint)
                    .opacity(0.4)
                    .line(Line::new().color(paint).width(1.5)),
            )
            .text_array(bars.iter().map(|(_, link)| label(*link)).collect())
            .hover_text_array(bars.iter().map(|(_, link)| hover(*link)).collect());
        plot.add_trace(named_bars(trace));
    }
    let mut figure = Figure::new(
        "links",
        "Hottest links",
        format!(
            "The {} busiest of {} links: the share of the measured time in which they carried packets.",
            order.len(),
            show::count(links.rows() as u64)
        ),
    );
    let first = order[0];
    let alt = format!(
        "Bars of the busiest links. The busiest leads from {} to {}: {}.",
        from[first].unwrap_or(""),
        to[first].unwrap_or(""),
        show::percent(busy[first])
    );
    figure.table = details("The same in numbers", &numbers_of(links, &order)?);
    Some(figure.with(Height::Usual, alt, plot))
}

/// The style of horizontal bars that carry their names. Text is readable on pale bars, and continues beside short ones.
fn named_bars(bars: Box<Bar<f64, f64>>) -> Box<Bar<f64, f64>> {
    bars.orientation(Orientation::Horizontal)
        .width(0.82)
        .hover_info(HoverInfo::Text)
        .text_position(TextPosition::Inside)
        .inside_text_anchor(TextAnchor::Start)
        .constrain_text(ConstrainText::None)
        .text_font(Font::new().size(12))
        .inside_text_font(Font::new().size(12).color(colours::page("ink")))
        .show_legend(true)
}

/// The busiest links as a table.
fn numbers_of(links: &Table, order: &[usize]) -> Option<String> {
    let columns = [
        words("from"),
        words("to"),
        words("class"),
        numbers("busy"),
        numbers("data"),
        numbers("packets"),
        numbers("downstream buffer full"),
    ];
    let text = |name: &str| -> Option<Vec<Option<&str>>> { Some(links.texts(name)?.collect()) };
    let (from, to, class) = (text("from")?, text("to")?, text("class")?);
    let (busy, bytes) = (links.f64s("busy_fraction")?, links.u64s("bytes")?);
    let (packets, full) = (links.u64s("packets")?, links.u64s("buffer_full_ps")?);
    let row = |i: &usize| {
        let i = *i;
        vec![
            from[i].unwrap_or_default().into(),
            to[i].unwrap_or_default().into(),
            class[i].unwrap_or_default().into(),
            show::percent(busy[i]),
            show::bytes(bytes[i]),
            show::count(packets[i]),
            show::time(full[i] as f64 / 1000.0),
        ]
    };
    let rows: Vec<_> = order.iter().map(row).collect();
    Some(table(&columns, &rows, "links.parquet"))
}

/// Balance of load and stalls of the links of a class.
pub(super) fn utilisation(links: &Table) -> Option<Figure> {
    let busy: Vec<f64> = links
        .f64s("busy_fraction")?
        .iter()
        .map(|busy| 100.0 * busy)
        .collect();
    let figure = Figure::new(
        "utilisation",
        "Link utilisation by class",
        "Cumulative share of the links of a class by busy time; the number of links is in brackets. The second plot, if packets ever waited for buffers: the time in which a packet was ready and the downstream buffer was full.",
    );
    let alt = "Cumulative distributions, by class, of the share of time in which links were busy.";
    let of_busy = distribution(links, &busy, "busy (% of the measured time)")?;
    let figure = figure.with(Height::Usual, alt, of_busy);
    let full = links.u64s("buffer_full_ps")?;
    let most = full.iter().copied().max()?;
    if most == 0 {
        return Some(figure);
    }
    let unit = super::unit_of(most);
    let full: Vec<f64> = full.iter().map(|ps| super::in_unit(*ps, unit)).collect();
    let title = format!("downstream buffer full ({})", unit.name);
    let alt = "Cumulative distributions, by class, of the time in which the buffer downstream was full.";
    Some(figure.with(Height::Usual, alt, distribution(links, &full, &title)?))
}

/// A value of links as a cumulative share, by class.
fn distribution(links: &Table, quantity: &[f64], title: &str) -> Option<Plot> {
    let mut plot = plot(
        x_axis(title).range_mode(RangeMode::ToZero),
        y_axis("share of the links (%)").range(vec![0.0, 101.0]),
    );
    for (c, (class, members)) in classes(links)?.iter().enumerate() {
        let mut sorted: Vec<f64> = members.iter().map(|i| super::rounded(quantity[*i])).collect();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len() - 1;
        let mut places: Vec<usize> = (0..MOST_POINTS).map(|p| p * last / (MOST_POINTS - 1)).collect();
        places.dedup();
        let (mut x, mut y) = (vec![sorted[0]], vec![0.0]);
        for place in places {
            x.push(sorted[place]);
            y.push(super::rounded(100.0 * (place + 1) as f64 / sorted.len() as f64));
        }
        plot.add_trace(curve(
            &format!("{class} ({})", members.len()),
            SeriesColour::Number(c),
            x,
            y,
        ));
    }
    Some(plot)
}
