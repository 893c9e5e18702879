//! The routers with the most traffic, with their coordinates, from the links that leave them.

use std::collections::BTreeMap;

use super::Figure;
use crate::report::html::{details, numbers, table, words};
use crate::{Table, show};

/// Most listed routers.
const HOTTEST: usize = 50;

/// Sums over the links that leave one router.
#[derive(Default)]
struct Leaving {
    links: u64,
    busy: f64,
    full_ps: u64,
    bytes: u64,
    /// Row of its busiest link.
    busiest: usize,
}

/// Routers by number, named like the start of a link: `router 3 (group 0, router 3) port 5` without its port.
fn by_router(links: &Table) -> Option<BTreeMap<u32, (&str, Leaving)>> {
    let (busy, full) = (links.f64s("busy_fraction")?, links.u64s("buffer_full_ps")?);
    let bytes = links.u64s("bytes")?;
    let (numbers, kinds) = (links.u32s("from_id")?, links.texts("from_kind")?);
    let mut routers: BTreeMap<u32, (&str, Leaving)> = BTreeMap::new();
    for (i, (kind, from)) in kinds.zip(links.texts("from")?).enumerate() {
        if kind != Some("router") {
            continue;
        }
        let (_, leaving) = routers.entry(numbers[i]).or_insert_with(|| {
            let from = from.unwrap_or_default();
            let name = from.rsplit_once(" port ").map_or(from, |(name, _)| name);
            (name, Leaving::default())
        });
        if leaving.links == 0 || busy[i] > busy[leaving.busiest] {
            leaving.busiest = i;
        }
        leaving.links += 1;
        leaving.busy += busy[i];
        leaving.full_ps += full[i];
        leaving.bytes += bytes[i];
    }
    Some(routers)
}

/// The routers whose links were busiest.
pub(super) fn hottest(links: &Table) -> Option<Figure> {
    let routers = by_router(links)?;
    let all = routers.len();
    let busy = links.f64s("busy_fraction")?;
    let to: Vec<Option<&str>> = links.texts("to")?.collect();
    let mut order: Vec<(&str, Leaving)> = routers.into_values().filter(|(_, r)| r.busy > 0.0).collect();
    let mean = |leaving: &Leaving| leaving.busy / leaving.links as f64;
    order.sort_by(|a, b| {
        mean(&b.1)
            .total_cmp(&mean(&a.1))
            .then(b.1.full_ps.cmp(&a.1.full_ps))
            .then(a.0.cmp(b.0))
    });
    order.truncate(HOTTEST);
    let (name, most) = order.first()?;
    let columns = [
        words("router"),
        numbers("links busy"),
        numbers("busiest"),
        words("which leads to"),
        numbers("downstream full"),
        numbers("data"),
    ];
    let rows: Vec<Vec<String>> = order
        .iter()
        .map(|(name, leaving)| {
            vec![
                name.to_string(),
                show::percent(mean(leaving)),
                show::percent(busy[leaving.busiest]),
                to[leaving.busiest].unwrap_or_default().into(),
                show::time(leaving.full_ps as f64 / 1000.0),
                show::bytes(leaving.bytes),
            ]
        })
        .collect();
    let mut figure = Figure::new(
        "routers",
        "Hottest routers",
        format!(
            "The {} of {} routers with the largest mean load of links, those to hosts included. The time in which \
             buffers downstream were full is the sum over their links. Hottest: {name}, {} busy.",
            rows.len(),
            show::count(all as u64),
            show::percent(mean(most))
        ),
    );
    figure.table = details("In numbers", &table(&columns, &rows, "links.parquet"));
    Some(figure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{LinkRow, links};

    fn row(router: Option<u32>, from: &str, busy_fraction: f64, bytes: u64) -> LinkRow {
        LinkRow {
            link: 0,
            class: "local".into(),
            from: from.into(),
            from_kind: router.map_or("host", |_| "router").into(),
            from_id: router.unwrap_or(0),
            to: format!("{from}'s peer"),
            bandwidth_bits_per_s: 1,
            bytes,
            packets: 0,
            busy_ps: 0,
            busy_fraction,
            buffer_full_ps: 1000 * bytes,
            ..LinkRow::default()
        }
    }

    #[test]
    fn routers_are_ordered_by_how_busy_their_links_are() {
        let table = links([
            row(None, "host 0", 1.0, 9),
            row(Some(0), "router 0 (0,0) port 0", 0.75, 10),
            row(Some(0), "router 0 (0,0) port 1", 0.25, 5),
            row(Some(1), "router 1 (0,1) port 0", 0.625, 1),
            row(Some(2), "router 2 (1,0) port 0", 0.0, 0),
        ]);
        let figure = hottest(&table).unwrap();
        let table = &figure.table;
        assert!(
            figure.explanation.contains("2 of 3 routers"),
            "{}",
            figure.explanation
        );
        assert!(table.find("router 1 (0,1)").unwrap() < table.find("router 0 (0,0)").unwrap());
        assert!(
            table.contains(
                "<td>router 0 (0,0)</td><td class=\"n\">50.0 %</td><td class=\"n\">75.0 %</td>\
             <td>router 0 (0,0) port 0&#39;s peer</td><td class=\"n\">15 ns</td><td class=\"n\">15 B</td>"
            ),
            "{table}"
        );
    }
}
