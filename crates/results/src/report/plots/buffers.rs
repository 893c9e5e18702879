//! Fill of the buffers behind links, by link, VC and time, from `vc_series`.
//!
//! SOURCE: maps of the occupancy of VCs over ports and time, as in N. Wolfe, C. D. Carothers, M. Mubarak, R. Ross, P.
//! Carns, "Modeling a million-node Slim Fly network using parallel discrete-event simulation", SIGSIM-PADS 2016.

use std::collections::BTreeMap;

use super::{Figure, Height, RowName, Scale, heat_map, rounded, unit_of};
use crate::report::grid::{Held, TimeGrid};
use crate::report::source::TableSource;
use crate::{ReadError, Table, show};

/// Maximum number of links of a map. Those with the fullest buffers are chosen.
const MOST_LINKS: usize = 128;
/// Maximum number of VCs with a map. The most used ones are chosen.
const MOST_VCS: usize = 8;

type Buffer = (u32, u8);

/// The running sum of one buffer while its rows are read.
#[derive(Clone, Copy, Default)]
struct BufferSum {
    held: Held,
    /// Occupied share of the buffer times picoseconds.
    taken_ps: f64,
}

/// Passes on rows of a buffer: begin, buffer, occupied share.
fn rows_of(source: TableSource, mut take: impl FnMut(u64, Buffer, f64)) -> Result<Option<()>, ReadError> {
    let columns = ["begin_ps", "link", "vc", "used_bytes", "capacity_bytes"];
    source.each("vc_series", &columns, |rows| {
        let (begin, link) = (rows.integers("begin_ps")?, rows.integers("link")?);
        let (vc, used) = (rows.integers("vc")?, rows.integers("used_bytes")?);
        let capacity = rows.integers("capacity_bytes")?;
        for i in 0..begin.len() {
            let buffer = (u32::try_from(link[i]).ok()?, u8::try_from(vc[i]).ok()?);
            take(begin[i], buffer, used[i] as f64 / capacity[i].max(1) as f64);
        }
        Some(())
    })
}

/// Mean occupied share of every buffer over the whole time.
fn means(source: TableSource, grid: &TimeGrid) -> Result<Option<BTreeMap<Buffer, f64>>, ReadError> {
    let mut sums: BTreeMap<Buffer, BufferSum> = BTreeMap::new();
    let read = rows_of(source, |begin, buffer, share| {
        let sum = sums.entry(buffer).or_default();
        let (from, to, level) = sum.held.set(begin, share);
        sum.taken_ps += level * (to - from) as f64;
    })?;
    let mean = |(buffer, sum): (Buffer, BufferSum)| {
        let (from, to, level) = sum.held.until(grid.end_ps());
        let last = level * to.saturating_sub(from) as f64;
        (buffer, (sum.taken_ps + last) / grid.end_ps() as f64)
    };
    Ok(read.map(|()| sums.into_iter().map(mean).collect()))
}

/// Occupied share of chosen buffers by column of time.
fn over_time(
    source: TableSource,
    grid: &TimeGrid,
    chosen: &[Buffer],
) -> Result<BTreeMap<Buffer, Vec<f64>>, ReadError> {
    let mut levels: BTreeMap<Buffer, (Held, Vec<f64>)> = chosen
        .iter()
        .map(|buffer| (*buffer, (Held::default(), vec![0.0; grid.columns()])))
        .collect();
    rows_of(source, |begin, buffer, share| {
        if let Some((held, sums)) = levels.get_mut(&buffer) {
            let (from, to, level) = held.set(begin, share);
            grid.hold(sums, from, to, level);
        }
    })?;
    let finished = levels.into_iter().map(|(buffer, (held, mut sums))| {
        let (from, to, level) = held.until(grid.end_ps());
        grid.hold(&mut sums, from, to, level);
        let mean = |(column, sum): (usize, &f64)| sum / grid.time_ps(column);
        (buffer, sums.iter().enumerate().map(mean).collect())
    });
    Ok(finished.collect())
}

/// The selection of buffers for the maps.
struct BufferChoice {
    links: Vec<u32>,
    of_links: usize,
    vcs: Vec<u8>,
    of_vcs: usize,
}

/// The links and VCs with the largest mean occupancy, in the order of their numbers.
fn choose(means: &BTreeMap<Buffer, f64>) -> BufferChoice {
    let (mut by_link, mut by_vc) = (BTreeMap::new(), BTreeMap::new());
    for ((link, vc), mean) in means {
        *by_link.entry(*link).or_insert(0.0) += mean;
        *by_vc.entry(*vc).or_insert(0.0) += mean;
    }
    BufferChoice {
        of_links: by_link.len(),
        of_vcs: by_vc.len(),
        links: fullest(by_link, MOST_LINKS),
        vcs: fullest(by_vc, MOST_VCS),
    }
}

fn fullest<K: Ord + Copy>(sums: BTreeMap<K, f64>, most: usize) -> Vec<K> {
    let mut order: Vec<(K, f64)> = sums.into_iter().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    order.truncate(most);
    let mut keys: Vec<K> = order.into_iter().map(|(key, _)| key).collect();
    keys.sort();
    keys
}

/// One map per VC.
pub(super) fn occupancy(source: TableSource) -> Result<Option<Figure>, ReadError> {
    let Some(grid) = TimeGrid::of(&source, "vc_series")? else {
        return Ok(None);
    };
    let Some(means) = means(source, &grid)?.filter(|means| !means.is_empty()) else {
        return Ok(None);
    };
    let choice = choose(&means);
    let buffers: Vec<Buffer> = choice
        .links
        .iter()
        .flat_map(|link| choice.vcs.iter().map(|vc| (*link, *vc)))
        .collect();
    let taken = over_time(source, &grid, &buffers)?;
    Ok(Some(figure(
        &grid,
        &choice,
        &taken,
        &names(source, &choice.links),
    )))
}

/// Names of rows of a map: number of the link, and its ends if known.
fn names(source: TableSource, links: &[u32]) -> Vec<RowName> {
    let mut names: BTreeMap<u32, String> = links.iter().map(|link| (*link, format!("link {link}"))).collect();
    if let Some(table) = source.table("links") {
        add_ends(table, &mut names);
    }
    let rows = names.into_iter().map(|(link, long)| RowName {
        short: link.to_string(),
        long,
    });
    rows.collect()
}

fn add_ends(links: &Table, names: &mut BTreeMap<u32, String>) -> Option<()> {
    let (from, to) = (links.texts("from")?, links.texts("to")?);
    for (link, (from, to)) in links.u32s("link")?.iter().zip(from.zip(to)) {
        if let Some(name) = names.get_mut(link) {
            *name += &format!(": {} → {}", from.unwrap_or_default(), to.unwrap_or_default());
        }
    }
    Some(())
}

fn figure(
    grid: &TimeGrid,
    choice: &BufferChoice,
    taken: &BTreeMap<Buffer, Vec<f64>>,
    names: &[RowName],
) -> Figure {
    let unit = unit_of(grid.end_ps());
    let mut chosen = match (choice.links.len(), choice.of_links) {
        (shown, all) if shown < all => format!(
            "The {shown} of {} links with the fullest buffers, in the order of their numbers",
            show::count(all as u64)
        ),
        (_, all) => format!("All {} links that were sampled", show::count(all as u64)),
    };
    if choice.vcs.len() < choice.of_vcs {
        chosen += &format!(
            "; the {} of {} VCs with the fullest buffers",
            choice.vcs.len(),
            choice.of_vcs
        );
    }
    let most = taken.values().flatten().copied().fold(0.0, f64::max);
    let mut figure = Figure::new(
        "buffers",
        "Buffers over ports and time",
        format!(
            "Occupied share of the buffer behind each link, by VC. Each row is a link; a full buffer has the end of the scale. {chosen}. The tooltip of a row names the link."
        ),
    );
    let scale = Scale {
        name: "% taken",
        unit: "% taken",
        rows: "number of the link",
        // Upper end of the colour scale: a round value above the data.
        most: [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]
            .into_iter()
            .find(|limit| 100.0 * most <= *limit)
            .unwrap_or(100.0),
    };
    for vc in &choice.vcs {
        let of = |link: &u32| &taken[&(*link, *vc)];
        let z: Vec<Vec<f64>> = choice
            .links
            .iter()
            .map(|link| {
                of(link)
                    .iter()
                    .map(|share| (1000.0 * share).round() / 10.0)
                    .collect()
            })
            .collect();
        let (link, column, fullest) = fullest_cell(&z);
        let alt = format!(
            "Map of the buffers of VC {vc} by link and time. The fullest is that of {}, {} occupied at {}.",
            names[link].long,
            show::percent(fullest / 100.0),
            show::time(grid.edges_ps()[column] as f64 / 1000.0)
        );
        let height = if choice.links.len() <= 24 {
            Height::Low
        } else {
            Height::Usual
        };
        let plot = heat_map(grid, unit, names, z, &scale);
        figure = figure.captioned(format!("VC {vc}"), height, alt, plot);
    }
    figure
}

/// Row, column and value of the largest cell.
fn fullest_cell(z: &[Vec<f64>]) -> (usize, usize, f64) {
    let mut fullest = (0, 0, 0.0);
    for (r, row) in z.iter().enumerate() {
        for (c, cell) in row.iter().enumerate() {
            if *cell > fullest.2 {
                fullest = (r, c, rounded(*cell));
            }
        }
    }
    fullest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::source::tests::{ColumnCells, made};

    fn series(rows: &[(u64, u32, u8, u32)]) -> Table {
        made(
            "vc_series",
            vec![
                ("begin_ps", ColumnCells::U64(rows.iter().map(|r| r.0).collect())),
                (
                    "end_ps",
                    ColumnCells::U64(rows.iter().map(|r| r.0 + 10).collect()),
                ),
                ("link", ColumnCells::U32(rows.iter().map(|r| r.1).collect())),
                ("vc", ColumnCells::U8(rows.iter().map(|r| r.2).collect())),
                ("used_bytes", ColumnCells::U32(rows.iter().map(|r| r.3).collect())),
                (
                    "capacity_bytes",
                    ColumnCells::U32(rows.iter().map(|_| 100).collect()),
                ),
            ],
        )
    }

    #[test]
    fn levels_hold_until_the_next_row_of_the_same_buffer() {
        // Link 7, VC 0: half full in the first bin and until the fourth; VC 1 full in the last bin only.
        let tables = [series(&[(0, 7, 0, 50), (30, 7, 0, 0), (30, 7, 1, 100)])];
        let source = TableSource::new(&tables, None);
        let grid = TimeGrid::of(&source, "vc_series").unwrap().unwrap();
        let taken = over_time(source, &grid, &[(7, 0), (7, 1)]).unwrap();
        assert_eq!(taken[&(7, 0)], [0.5, 0.5, 0.5, 0.0]);
        assert_eq!(taken[&(7, 1)], [0.0, 0.0, 0.0, 1.0]);
        let means = means(source, &grid).unwrap().unwrap();
        assert_eq!((means[&(7, 0)], means[&(7, 1)]), (0.375, 0.25));
    }

    #[test]
    fn of_many_links_the_fullest_are_shown_in_the_order_of_their_numbers() {
        let means: BTreeMap<Buffer, f64> = (0..1000u32)
            .map(|link| ((link, 0), f64::from(link % 500)))
            .collect();
        let choice = choose(&means);
        assert_eq!((choice.links.len(), choice.of_links), (MOST_LINKS, 1000));
        assert_eq!((choice.links[0], choice.links[MOST_LINKS / 2]), (436, 936));
        assert!(choice.links.is_sorted());
        assert_eq!((choice.vcs, choice.of_vcs), (vec![0], 1));
    }

    #[test]
    fn the_fullest_buffer_is_named_for_those_who_cannot_see_the_map() {
        let tables = [series(&[(0, 3, 0, 10), (0, 7, 0, 50), (30, 7, 0, 90)])];
        let figure = occupancy(TableSource::new(&tables, None)).unwrap().unwrap();
        let alt = &figure.panels[0].alt;
        assert!(
            alt.contains("link 7") && alt.contains("90.0 % occupied at 0.03 ns"),
            "{alt}"
        );
        assert!(figure.explanation.contains("All 2 links"));
    }
}
