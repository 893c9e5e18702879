//! Link load by class over time, from `class_series`.

use std::collections::BTreeMap;

use plotly::Plot;

use super::{Figure, Height, SeriesColour, curve, in_unit, plot, rounded, unit_of, x_axis, y_axis};
use crate::ReadError;
use crate::report::grid::TimeGrid;
use crate::report::source::TableSource;
use crate::show;

/// Sums over the links of one class, by column of time.
struct LinkClassLoad {
    links: u64,
    busy_ps: Vec<f64>,
    full_ps: Vec<f64>,
}

impl LinkClassLoad {
    /// Busy share of the time of all its links, in percent.
    fn percent(&self, grid: &TimeGrid, sums: &[f64]) -> Vec<f64> {
        let links = self.links.max(1) as f64;
        let share = |(column, sum): (usize, &f64)| 100.0 * sum / (links * grid.time_ps(column));
        sums.iter().enumerate().map(share).map(rounded).collect()
    }
}

/// Link load over time, and the time for which full buffers stalled links.
pub(super) fn over_time(source: TableSource) -> Result<Option<Figure>, ReadError> {
    let Some(grid) = TimeGrid::of(&source, "class_series")? else {
        return Ok(None);
    };
    Ok(collect(source, &grid)?.map(|classes| figure(&grid, &classes)))
}

fn collect(
    source: TableSource,
    grid: &TimeGrid,
) -> Result<Option<BTreeMap<String, LinkClassLoad>>, ReadError> {
    let mut classes: BTreeMap<String, LinkClassLoad> = BTreeMap::new();
    let columns = [
        "begin_ps",
        "end_ps",
        "class",
        "links",
        "busy_ps",
        "buffer_full_ps",
    ];
    let read = source.each("class_series", &columns, |rows| {
        let (begin, end) = (rows.integers("begin_ps")?, rows.integers("end_ps")?);
        let (class, links) = (rows.texts("class")?, rows.integers("links")?);
        let (busy, full) = (rows.integers("busy_ps")?, rows.integers("buffer_full_ps")?);
        for i in 0..begin.len() {
            let name = class[i].unwrap_or_default();
            if !classes.contains_key(name) {
                let class = LinkClassLoad {
                    links: 0,
                    busy_ps: vec![0.0; grid.columns()],
                    full_ps: vec![0.0; grid.columns()],
                };
                classes.insert(name.into(), class);
            }
            let class = classes.get_mut(name)?;
            class.links = class.links.max(links[i]);
            grid.add(&mut class.busy_ps, begin[i], end[i], busy[i] as f64);
            grid.add(&mut class.full_ps, begin[i], end[i], full[i] as f64);
        }
        Some(())
    })?;
    Ok(read.map(|()| classes).filter(|classes| !classes.is_empty()))
}

fn figure(grid: &TimeGrid, classes: &BTreeMap<String, LinkClassLoad>) -> Figure {
    let shares = |of: fn(&LinkClassLoad) -> &[f64]| -> Vec<Vec<f64>> {
        classes
            .values()
            .map(|class| class.percent(grid, of(class)))
            .collect()
    };
    let busy = shares(|class| &class.busy_ps);
    let full = shares(|class| &class.full_ps);
    let (column, most) = busy
        .iter()
        .flat_map(|shares| shares.iter().copied().enumerate())
        .fold((0, 0.0), |most, next| if next.1 > most.1 { next } else { most });
    let alt = format!(
        "Mean load of the links of each class over time; the highest is {} at {}.",
        show::percent(most / 100.0),
        show::time(grid.edges_ps()[column] as f64 / 1000.0)
    );
    let figure = Figure::new(
        "load",
        "Link load over time",
        "Share of time in which the links of a class carried packets, mean over its links. The second plot, if packets ever waited for buffers: share of time in which a packet was ready and the downstream buffer was full.",
    );
    let figure = figure.with(Height::Usual, alt, lines(grid, classes, &busy, "busy (%)"));
    if full.iter().flatten().all(|share| *share == 0.0) {
        return figure;
    }
    let alt = "Mean share of time in which the buffers downstream of a class of links were full, over time.";
    figure.with(
        Height::Usual,
        alt,
        lines(grid, classes, &full, "downstream buffer full (%)"),
    )
}

fn lines(
    grid: &TimeGrid,
    classes: &BTreeMap<String, LinkClassLoad>,
    shares: &[Vec<f64>],
    title: &str,
) -> Plot {
    let unit = unit_of(grid.end_ps());
    let mut plot = plot(x_axis(&format!("simulated time ({})", unit.name)), y_axis(title));
    for (c, (name, shares)) in classes.keys().zip(shares).enumerate() {
        let x = grid.edges_ps().into_iter().map(|ps| in_unit(ps, unit)).collect();
        // Ends the last step at the end of its column.
        let y = shares.iter().chain(shares.last()).copied().collect();
        plot.add_trace(curve(name, SeriesColour::Number(c), x, y));
    }
    plot
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::source::tests::{ColumnCells, made};

    #[test]
    fn loads_are_shares_of_the_time_of_all_links_of_a_class() {
        // Two local links, 10 ps bins: together 10 and 20 ps busy, so half and all of the time.
        let tables = [made(
            "class_series",
            vec![
                ("begin_ps", ColumnCells::U64(vec![0, 0, 10])),
                ("end_ps", ColumnCells::U64(vec![10, 10, 20])),
                ("class", ColumnCells::Text(vec!["local", "global", "local"])),
                ("links", ColumnCells::U64(vec![2, 1, 2])),
                ("busy_ps", ColumnCells::U64(vec![10, 2, 20])),
                ("buffer_full_ps", ColumnCells::U64(vec![0, 0, 5])),
            ],
        )];
        let source = TableSource::new(&tables, None);
        let grid = TimeGrid::of(&source, "class_series").unwrap().unwrap();
        let classes = collect(source, &grid).unwrap().unwrap();
        let local = &classes["local"];
        assert_eq!(local.percent(&grid, &local.busy_ps), [50.0, 100.0]);
        assert_eq!(local.percent(&grid, &local.full_ps), [0.0, 25.0]);
        let global = &classes["global"];
        assert_eq!(global.percent(&grid, &global.busy_ps), [20.0, 0.0]);
    }

    #[test]
    fn a_table_without_the_columns_is_left_out() {
        let tables = [made(
            "class_series",
            vec![
                ("begin_ps", ColumnCells::U64(vec![0])),
                ("end_ps", ColumnCells::U64(vec![10])),
            ],
        )];
        assert!(over_time(TableSource::new(&tables, None)).unwrap().is_none());
        assert!(over_time(TableSource::new(&[], None)).unwrap().is_none());
    }
}
