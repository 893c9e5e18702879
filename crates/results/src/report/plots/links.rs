//! Which links carried how much: the hottest by name, all by class.

use std::collections::BTreeMap;

use plotly::Bar;
use plotly::common::{ConstrainText, Font, HoverInfo, Marker, Orientation, TextAnchor, TextPosition};
use plotly::layout::{Axis, RangeMode};

use super::{Figure, Height, curve, escape, plot, series_colour, x_axis, y_axis};
use crate::{Table, show};

const HOTTEST: usize = 20;
/// Points of a curve.
const MOST_POINTS: usize = 400;

/// Links by class, classes in alphabetical order so that both plots colour them alike.
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
    // Hottest at the top; the bars carry the names, for which an axis has no room on a phone.
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
            .marker(Marker::new().color(series_colour(c)))
            .width(0.82)
            .text_array(bars.iter().map(|(_, i)| label(*i)).collect())
            .hover_text_array(bars.iter().map(|(_, i)| hover(*i)).collect())
            .hover_info(HoverInfo::Text)
            .text_position(TextPosition::Auto)
            .inside_text_anchor(TextAnchor::Start)
            .constrain_text(ConstrainText::None)
            .text_font(Font::new().size(12))
            .inside_text_font(
                Font::new()
                    .size(12)
                    .color(if c == 0 { "#FFFFFF" } else { "#1B1F24" }),
            )
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
        height: if order.len() > 8 {
            Height::Tall
        } else {
            Height::Usual
        },
        plot,
    })
}

/// How evenly the links of a class are used.
pub(super) fn utilisation(links: &Table) -> Option<Figure> {
    let busy = links.f64s("busy_fraction")?;
    let mut plot = plot(
        x_axis("busy (% of the measured time)").range_mode(RangeMode::ToZero),
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
        height: Height::Usual,
        plot,
    })
}
