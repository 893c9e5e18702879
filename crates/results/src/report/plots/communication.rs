//! Communication matrices: what the ranks of a job sent to each other, from `messages`.

use plotly::common::{ColorBar, Font, Title};
use plotly::{HeatMap, Plot};

use super::{
    Figure, Height, MOST_COLUMN_TICKS, MOST_ROW_TICKS, RowName, escape, groups, loads, plot, rounded3, ticks,
};
use crate::report::source::TableSource;
use crate::{Communication, ReadError, Sent, Summary, carries_data, show};

/// Maximum number of rows and columns. More ranks share them.
const MOST_BLOCKS: u32 = 64;
/// Maximum number of jobs with a matrix: the first ones of the experiment.
const MOST_MATRICES: usize = 4;
/// Share of the scale of colours at which the least value is drawn, so that it differs from the ground.
const LEAST: f64 = 0.2;
/// Maximum number of intervals between the numbers beside the scale.
const MOST_STEPS: u32 = 4;

/// What is counted: its name, value and words.
type Counted = (&'static str, fn(&Sent) -> u64, fn(u64) -> String);

const COUNTED: [Counted; 2] = [
    ("bytes", |sent| sent.bytes, show::bytes),
    ("messages", |sent| sent.messages, show::count),
];

/// The matrix of one job.
struct JobMatrix<'s> {
    job: &'s str,
    ranks: u32,
    sent: Communication,
}

/// Bytes and messages from each rank to each other one. `None` without the table, or if no rank sent anything.
pub(super) fn matrices(summary: &Summary, source: TableSource) -> Result<Option<Figure>, ReadError> {
    let Some(mut matrices) = collect(summary, source)? else {
        return Ok(None);
    };
    let of_ranks = summary.jobs.iter().filter(|job| job.ranks > 0).count();
    matrices.retain(|matrix| matrix.sent.cells().next().is_some());
    Ok((!matrices.is_empty()).then(|| figure(&matrices, of_ranks)))
}

fn collect<'s>(summary: &'s Summary, source: TableSource) -> Result<Option<Vec<JobMatrix<'s>>>, ReadError> {
    let of_ranks = summary.jobs.iter().filter(|job| job.ranks > 0);
    let mut matrices: Vec<JobMatrix> = of_ranks
        .take(MOST_MATRICES)
        .map(|job| {
            let ranks = u32::try_from(job.ranks).unwrap_or(u32::MAX);
            JobMatrix {
                job: &job.name,
                ranks,
                sent: Communication::new(ranks, MOST_BLOCKS),
            }
        })
        .collect();
    let columns = ["job", "from_rank", "to_rank", "bytes", "protocol"];
    let read = source.each("messages", &columns, |rows| {
        let (job, protocol) = (rows.texts("job")?, rows.texts("protocol")?);
        let (from, to) = (rows.short_integers("from_rank")?, rows.short_integers("to_rank")?);
        let bytes = rows.integers("bytes")?;
        for i in 0..bytes.len() {
            let matrix = matrices.iter_mut().find(|matrix| Some(matrix.job) == job[i]);
            // A damaged table may have ranks that the job does not have.
            let is_of = |matrix: &&mut JobMatrix| from[i].max(to[i]) < matrix.ranks;
            if let Some(matrix) = matrix.filter(is_of)
                && carries_data(protocol[i].unwrap_or_default())
            {
                matrix.sent.add(from[i], to[i], bytes[i]);
            }
        }
        Some(())
    })?;
    Ok(read.map(|()| matrices))
}

impl JobMatrix<'_> {
    /// Values by sender and receiver; `None` where nothing was sent.
    fn cells(&self, value: fn(&Sent) -> u64) -> Vec<Vec<Option<u64>>> {
        let blocks = self.sent.blocks(self.ranks) as usize;
        let mut cells = vec![vec![None; blocks]; blocks];
        for ((from, to), sent) in self.sent.cells() {
            cells[from as usize][to as usize] = Some(value(&sent));
        }
        cells
    }

    /// The plot of one kind of values, its caption and its description.
    fn panel(&self, (name, value, words): Counted, several: bool) -> (String, String, Plot) {
        let names = groups("rank", self.ranks as usize, self.sent.ranks_per_cell() as usize);
        let cells = self.cells(value);
        let (mut total, mut most, mut between) = (0, 0, (0, 0));
        for (from, row) in cells.iter().enumerate() {
            for (to, value) in row.iter().enumerate() {
                let value = value.unwrap_or_default();
                total += u128::from(value);
                if value > most {
                    (most, between) = (value, (from, to));
                }
            }
        }
        let total = u64::try_from(total).unwrap_or(u64::MAX);
        let in_all = match name {
            "bytes" => format!("{} in all", words(total)),
            _ => format!("{name}, {} in all", words(total)),
        };
        let caption = match several {
            true => format!("{}: {in_all}", self.job),
            false => in_all,
        };
        let (from, to) = (&names[between.0].long, &names[between.1].long);
        let alt = format!(
            "Matrix of the {name} that {} ranks of {} sent to each other: {} in all. The most is {}, from {from} to \
             {to}.",
            show::count(self.ranks.into()),
            self.job,
            words(total),
            words(most),
        );
        (caption, alt, drawn(&names, &cells, name, words, most))
    }
}

/// The matrix on a logarithmic scale, as neighbours and collectives differ by orders of magnitude.
fn drawn(
    names: &[RowName],
    cells: &[Vec<Option<u64>>],
    name: &str,
    words: fn(u64) -> String,
    most: u64,
) -> Plot {
    let level = |value: u64| rounded3((1.0 + value as f64).log10());
    let z: Vec<Vec<Option<f64>>> = cells
        .iter()
        .map(|row| row.iter().map(|value| value.map(level)).collect())
        .collect();
    let texts: Vec<Vec<String>> = cells
        .iter()
        .map(|row| {
            row.iter()
                .map(|value| value.map_or_else(String::new, words))
                .collect()
        })
        .collect();
    let highest = level(most.max(1));
    let decades = most.max(1).ilog10();
    let marks: Vec<u64> = (0..=decades)
        .step_by((decades / MOST_STEPS + 1) as usize)
        .map(|decade| 10u64.pow(decade))
        .collect();
    let places: Vec<String> = names.iter().map(|name| escape(&name.long)).collect();
    let x = ticks(names, MOST_COLUMN_TICKS).title(Title::with_text("to rank"));
    // The first rank is at the top, as in the viewer.
    let y = ticks(names, MOST_ROW_TICKS)
        .title(Title::with_text("from rank"))
        .range(vec![names.len() as f64 - 0.5, -0.5]);
    let mut plot = plot(x, y);
    let bar = ColorBar::new()
        .title(Title::with_text(name))
        .thickness(12)
        .outline_width(0)
        .tick_vals(marks.iter().map(|mark| level(*mark)).collect())
        .tick_text(marks.iter().map(|mark| words(*mark)).collect())
        .tick_font(Font::new().size(11));
    let trace = HeatMap::new(places.clone(), places, z)
        .color_scale(loads())
        .zauto(false)
        .zmin(rounded3(-highest * LEAST / (1.0 - LEAST)))
        .zmax(highest)
        .text_matrix(texts)
        .hover_on_gaps(false)
        .color_bar(bar)
        .hover_template(format!(
            "from %{{y}}<br>to %{{x}}<br>{name}: %{{text}}<extra></extra>"
        ));
    plot.add_trace(trace);
    plot
}

fn figure(matrices: &[JobMatrix], of_ranks: usize) -> Figure {
    let several = matrices.len() > 1;
    let mut text = "What each rank (row) sent to each other one (column), on a logarithmic scale. Messages of \
                    collectives and those through memory are included, control messages are not. Cells between \
                    which nothing was sent are empty."
        .to_string();
    for matrix in matrices.iter().filter(|matrix| matrix.sent.ranks_per_cell() > 1) {
        let of = if several {
            format!(" of {}", matrix.job)
        } else {
            String::new()
        };
        text += &format!(
            " A row or column{of} is {} ranks that follow each other.",
            matrix.sent.ranks_per_cell()
        );
    }
    if of_ranks > MOST_MATRICES {
        text += &format!(
            " Only the first {MOST_MATRICES} of {} jobs of ranks have a matrix.",
            show::count(of_ranks as u64)
        );
    }
    let mut figure = Figure::new("communication", "Communication of ranks", text);
    for matrix in matrices {
        for counted in COUNTED {
            let (caption, alt, plot) = matrix.panel(counted, several);
            figure = figure.captioned(caption, Height::Square, alt, plot);
        }
    }
    figure
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::source::tests::{ColumnCells, made};
    use crate::report::tests::summary;
    use crate::{JobSummary, Table};

    /// Rows of job, sender, receiver, bytes and protocol.
    fn messages(rows: &[(&'static str, u32, u32, u64, &'static str)]) -> Table {
        made(
            "messages",
            vec![
                (
                    "job",
                    ColumnCells::Words(rows.iter().map(|row| Some(row.0)).collect()),
                ),
                (
                    "from_rank",
                    ColumnCells::U32(rows.iter().map(|row| row.1).collect()),
                ),
                (
                    "to_rank",
                    ColumnCells::U32(rows.iter().map(|row| row.2).collect()),
                ),
                ("bytes", ColumnCells::U64(rows.iter().map(|row| row.3).collect())),
                (
                    "protocol",
                    ColumnCells::Text(rows.iter().map(|row| row.4).collect()),
                ),
            ],
        )
    }

    fn plotted(figure: &Figure, panel: usize) -> serde_json::Value {
        let plot: serde_json::Value = serde_json::from_str(&figure.panels[panel].plot.to_json()).unwrap();
        plot["data"][0].clone()
    }

    #[test]
    fn cells_are_sums_of_the_messages_with_data() {
        let tables = [messages(&[
            ("halo", 0, 1, 999, "eager"),
            ("halo", 0, 1, 0, "eager"),
            ("halo", 2, 3, 99_999, "request-to-send"),
            ("halo", 3, 2, 99_999, "clear-to-send"),
            ("halo", 2, 3, 99_999, "rendezvous"),
            ("halo", 3, 3, 0, "eager"),
            ("other", 1, 0, 5, "eager"),
        ])];
        let figure = matrices(&summary(), TableSource::new(&tables, None))
            .unwrap()
            .unwrap();
        assert_eq!(figure.panels.len(), 2);
        let (bytes, count) = (plotted(&figure, 0), plotted(&figure, 1));
        let none = serde_json::Value::Null;
        assert_eq!(
            bytes["z"],
            serde_json::json!([
                [none, 3.0, none, none],
                [none, none, none, none],
                [none, none, none, 5.0],
                [none, none, none, 0.0]
            ])
        );
        assert_eq!(
            (&bytes["text"][0][1], &count["text"][0][1]),
            (&"999 B".into(), &"2".into())
        );
        assert_eq!(
            (&count["text"][2][3], &count["text"][3][2]),
            (&"1".into(), &"".into())
        );
        assert_eq!(bytes["y"][2], "rank 2");
        // The least value is above the start of the scale.
        assert!(bytes["zmin"].as_f64().unwrap() < -0.5 && bytes["zmax"] == 5.0);
        let caption = figure.panels[0].caption.as_deref();
        assert_eq!(caption, Some("101 kB in all"));
        let alt = &figure.panels[0].alt;
        assert!(
            alt.contains("4 ranks of halo") && alt.contains("100 kB, from rank 2 to rank 3"),
            "{alt}"
        );
    }

    #[test]
    fn many_ranks_share_rows_and_many_jobs_are_left_out() {
        let mut summary = summary();
        let first = summary.jobs[0].clone();
        summary.jobs = (0..6)
            .map(|n| JobSummary {
                name: format!("job {n}"),
                ranks: 1000,
                ..first.clone()
            })
            .collect();
        let tables = [messages(&[
            ("job 0", 999, 0, 1, "eager"),
            ("job 0", 998, 15, 2, "eager"),
            ("job 1", 5000, 0, 2, "eager"),
            ("job 3", 16, 17, 4, "eager"),
            ("job 5", 0, 0, 8, "eager"),
        ])];
        let figure = matrices(&summary, TableSource::new(&tables, None))
            .unwrap()
            .unwrap();
        // Job 2 sent nothing, and job 1 has no such rank.
        assert_eq!(figure.panels.len(), 4);
        let text = plotted(&figure, 0)["text"].clone();
        assert_eq!(text.as_array().unwrap().len(), 63, "1000 ranks in blocks of 16");
        assert_eq!(text[62][0], "3 B");
        assert_eq!(plotted(&figure, 2)["y"][1], "ranks 16 to 31");
        assert_eq!(figure.panels[2].caption.as_deref(), Some("job 3: 4 B in all"));
        assert!(
            figure.explanation.contains("of job 3 is 16 ranks"),
            "{}",
            figure.explanation
        );
        assert!(
            figure
                .explanation
                .ends_with("the first 4 of 6 jobs of ranks have a matrix."),
            "{}",
            figure.explanation
        );
    }

    #[test]
    fn results_without_the_table_or_its_columns_have_no_matrix() {
        let none = |tables: &[Table]| {
            matrices(&summary(), TableSource::new(tables, None))
                .unwrap()
                .is_none()
        };
        assert!(none(&[]));
        assert!(none(&[messages(&[])]));
        assert!(none(&[messages(&[("background", 0, 1, 8, "eager")])]));
        assert!(none(&[made(
            "messages",
            vec![("job", ColumnCells::Text(vec!["halo"]))]
        )]));
    }
}
