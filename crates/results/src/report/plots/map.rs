//! The map of the network: the load of the links from each unit of the network to each other one, mean and greatest,
//! over the whole measured time, from `pairs` and `units`.

use plotly::common::{ColorBar, Font, Title};
use plotly::{HeatMap, Plot};

use super::{
    Figure, Height, MOST_COLUMN_TICKS, MOST_ROW_TICKS, RowName, escape, loads, plot, rounded, ticks,
};
use crate::report::source::TableSource;
use crate::{ReadError, Summary, show};

/// Maximum number of rows and columns. More units are joined with their neighbours.
const MOST_BLOCKS: usize = 64;

/// Links of one cell.
#[derive(Clone, Copy, Default)]
struct PairLoad {
    links: u64,
    busy_ps: u128,
    busy_ps_max: u64,
}

/// Loads by block at the start and block at the end. The last row and column are the hosts.
struct NetworkMap {
    /// Units per block.
    joined: usize,
    units: usize,
    blocks: Vec<RowName>,
    cells: Vec<Vec<PairLoad>>,
}

/// The map. `None` in a result of an older version, and where a unit is the whole network.
pub(super) fn network(summary: &Summary, source: TableSource) -> Result<Option<Figure>, ReadError> {
    let Some(map) = collect(source)? else {
        return Ok(None);
    };
    let measured_ps = 1000.0 * summary.network.measured_ns;
    Ok((map.units > 1 && measured_ps > 0.0).then(|| figure(&map, measured_ps)))
}

fn collect(source: TableSource) -> Result<Option<NetworkMap>, ReadError> {
    let mut names: Vec<String> = Vec::new();
    let read = source.each("units", &["unit", "name"], |rows| {
        // Units are in the order of their numbers.
        names.extend(
            rows.texts("name")?
                .into_iter()
                .map(|name| name.unwrap_or_default().into()),
        );
        Some(())
    })?;
    if read.is_none() || names.is_empty() {
        return Ok(None);
    }
    let joined = names.len().div_ceil(MOST_BLOCKS);
    let mut blocks: Vec<RowName> = names.chunks(joined).map(block).collect();
    let hosts = blocks.len();
    blocks.push(RowName {
        short: "hosts".into(),
        long: "the hosts".into(),
    });
    let mut cells = vec![vec![PairLoad::default(); blocks.len()]; blocks.len()];
    let columns = ["class", "from_unit", "to_unit", "links", "busy_ps", "busy_ps_max"];
    let read = source.each("pairs", &columns, |rows| {
        let class = rows.texts("class")?;
        let (from, to) = (rows.integers("from_unit")?, rows.integers("to_unit")?);
        let (links, busy) = (rows.integers("links")?, rows.integers("busy_ps")?);
        let most = rows.integers("busy_ps_max")?;
        for i in 0..class.len() {
            let (from, to) = (from[i] as usize / joined, to[i] as usize / joined);
            let (row, column) = match class[i] {
                Some("injection") => (hosts, to),
                Some("ejection") => (from, hosts),
                _ => (from, to),
            };
            let cell = cells.get_mut(row)?.get_mut(column)?;
            cell.links += links[i];
            cell.busy_ps += u128::from(busy[i]);
            cell.busy_ps_max = cell.busy_ps_max.max(most[i]);
        }
        Some(())
    })?;
    Ok(read.map(|()| NetworkMap {
        joined,
        units: names.len(),
        blocks,
        cells,
    }))
}

/// The name of units that follow each other.
fn block(names: &[String]) -> RowName {
    let short = |name: &str| {
        let is_level = name.starts_with("level ");
        // The kind of the units is in the title of the axis.
        match name.split_once(' ') {
            Some((_, rest)) if !is_level => rest.to_string(),
            _ => name.replace("level ", "L").replace(", pod ", " pod "),
        }
    };
    let (first, last) = (&names[0], &names[names.len() - 1]);
    RowName {
        short: short(first),
        long: if names.len() == 1 {
            first.clone()
        } else {
            format!("{first} to {last}")
        },
    }
}

impl NetworkMap {
    /// Busy shares in percent by row and column; `None` without links.
    fn shares(&self, of: impl Fn(&PairLoad) -> f64) -> Vec<Vec<Option<f64>>> {
        let share = |cell: &PairLoad| (cell.links > 0).then(|| rounded(100.0 * of(cell)));
        self.cells
            .iter()
            .map(|row| row.iter().map(share).collect())
            .collect()
    }

    /// The name and value of the largest cell.
    fn busiest(&self, shares: &[Vec<Option<f64>>]) -> (String, f64) {
        let mut busiest = (String::new(), -1.0);
        for (r, row) in shares.iter().enumerate() {
            for (c, share) in row.iter().enumerate() {
                if let Some(share) = share.filter(|share| *share > busiest.1) {
                    busiest = (self.name(r, c), share);
                }
            }
        }
        busiest
    }

    fn name(&self, row: usize, column: usize) -> String {
        let (from, to) = (&self.blocks[row].long, &self.blocks[column].long);
        if row == column {
            format!("inside {from}")
        } else {
            format!("from {from} to {to}")
        }
    }

    fn plot(&self, shares: Vec<Vec<Option<f64>>>) -> Plot {
        let names: Vec<usize> = (0..self.blocks.len()).collect();
        let places: Vec<String> = names.iter().map(ToString::to_string).collect();
        let texts: Vec<Vec<String>> = names
            .iter()
            .map(|row| {
                let text = |column: &usize| match self.cells[*row][*column].links {
                    0 => format!("{}<br>no link", escape(&self.name(*row, *column))),
                    links => format!(
                        "{}<br>links: {}",
                        escape(&self.name(*row, *column)),
                        show::count(links)
                    ),
                };
                names.iter().map(text).collect()
            })
            .collect();
        let x = ticks(&self.blocks, MOST_COLUMN_TICKS).title(Title::with_text("to"));
        // The first unit is at the top, as in the viewer.
        let y = ticks(&self.blocks, MOST_ROW_TICKS)
            .title(Title::with_text("from"))
            .range(vec![self.blocks.len() as f64 - 0.5, -0.5]);
        let mut plot = plot(x, y);
        let bar = ColorBar::new()
            .title(Title::with_text("busy (%)"))
            .thickness(12)
            .outline_width(0)
            .tick_font(Font::new().size(11));
        let trace = HeatMap::new(places.clone(), places, shares)
            .color_scale(loads())
            .zauto(false)
            .zmin(0.0)
            .zmax(100.0)
            .text_matrix(texts)
            .hover_on_gaps(false)
            .color_bar(bar)
            .hover_template("%{text}<br>busy %{z} %<extra></extra>");
        plot.add_trace(trace);
        plot
    }
}

fn figure(map: &NetworkMap, measured_ps: f64) -> Figure {
    let mean = map.shares(|cell| cell.busy_ps as f64 / (measured_ps * cell.links as f64));
    let most = map.shares(|cell| cell.busy_ps_max as f64 / measured_ps);
    let joined = match map.joined {
        1 => String::new(),
        n => format!(" A row is {n} units that follow each other."),
    };
    let mut figure = Figure::new(
        "map",
        "Map of the network",
        format!(
            "The share of the measured time in which links carried packets, from each of {} units of the network \
             (groups, levels, slices, columns or routers) to each other one; the diagonal has the links inside a unit. \
             The last row has the links on which hosts send, the last column those on which they receive. Cells \
             without \
             a link are empty. The scale ends at 100 %.{joined}",
            show::count(map.units as u64)
        ),
    );
    for (caption, words, shares) in [
        ("mean of the links of a cell", "mean", mean),
        ("the busiest link of a cell", "greatest", most),
    ] {
        let (place, share) = map.busiest(&shares);
        let alt = format!(
            "Map of the {words} load of links between units of the network. The highest is {}, {place}.",
            show::percent(share.max(0.0) / 100.0)
        );
        figure = figure.captioned(caption, Height::Square, alt, map.plot(shares));
    }
    figure
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::source::tests::{ColumnCells, made};
    use crate::rows::{PairRow, UnitRow, pairs, units};
    use crate::{NetworkSummary, Table};

    fn unit(unit: u32) -> UnitRow {
        UnitRow {
            unit,
            name: format!("group {unit}"),
            kind: "group".into(),
            first_router: unit,
            routers: 1,
            block: unit,
        }
    }

    fn pair(
        class: &'static str,
        from_unit: u32,
        to_unit: u32,
        links: u32,
        busy_ps: u64,
        most: u64,
    ) -> PairRow {
        PairRow {
            class: class.into(),
            from_unit,
            to_unit,
            links,
            bytes: 0,
            busy_ps,
            busy_ps_max: most,
            buffer_full_ps: 0,
            full_links: 0,
            blocked_links: 0,
        }
    }

    fn tables(count: u32, rows: Vec<PairRow>) -> Vec<Table> {
        vec![units((0..count).map(unit)), pairs(rows)]
    }

    #[test]
    fn cells_are_shares_of_the_measured_time_of_their_links() {
        // 1000 ps are measured. Two global links from 0 to 1 are busy for 300 and 500 ps.
        let tables = tables(
            2,
            vec![
                pair("injection", 0, 0, 1, 250, 250),
                pair("ejection", 1, 1, 1, 1000, 1000),
                pair("global", 0, 1, 2, 800, 500),
                pair("local", 0, 0, 4, 0, 0),
            ],
        );
        let map = collect(TableSource::new(&tables, None)).unwrap().unwrap();
        let mean = map.shares(|cell| cell.busy_ps as f64 / (1000.0 * cell.links as f64));
        assert_eq!(
            mean,
            [
                [Some(0.0), Some(40.0), None],
                [None, None, Some(100.0)],
                [Some(25.0), None, None]
            ]
        );
        assert_eq!(map.busiest(&mean), ("from group 1 to the hosts".into(), 100.0));
        let summary = |measured_ns: f64| Summary {
            network: NetworkSummary {
                measured_ns,
                ..NetworkSummary::default()
            },
            ..crate::report::tests::summary()
        };
        let figure = network(&summary(1.0), TableSource::new(&tables, None))
            .unwrap()
            .unwrap();
        assert!(
            figure.panels[1].alt.contains("100.0 %"),
            "{}",
            figure.panels[1].alt
        );
        let page = figure.panels[1].plot.to_json();
        assert!(
            page.contains("from group 0 to group 1<br>links: 2") && page.contains("50.0"),
            "{page}"
        );
        assert!(
            network(&summary(0.0), TableSource::new(&tables, None))
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn many_units_are_joined_and_keep_their_links() {
        let rows = (0..200)
            .map(|u| pair("global", u, (u + 1) % 200, 1, 10, u64::from(u)))
            .collect();
        let tables = tables(200, rows);
        let map = collect(TableSource::new(&tables, None)).unwrap().unwrap();
        assert_eq!((map.joined, map.blocks.len()), (4, 51));
        assert_eq!(map.blocks[1].long, "group 4 to group 7");
        assert_eq!(map.blocks[1].short, "4");
        let links: u64 = map.cells.iter().flatten().map(|cell| cell.links).sum();
        assert_eq!(links, 200);
        assert_eq!(map.cells[49][0].busy_ps_max, 199);
    }

    #[test]
    fn results_without_the_tables_have_no_map() {
        assert!(collect(TableSource::new(&[], None)).unwrap().is_none());
        let older = [
            units([unit(0), unit(1)]),
            made("pairs", vec![("class", ColumnCells::Text(vec!["global"]))]),
        ];
        assert!(collect(TableSource::new(&older, None)).unwrap().is_none());
    }
}
