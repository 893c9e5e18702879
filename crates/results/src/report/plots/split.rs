//! The composition of the time of each job: computation, MPI overhead, idle time by cause, and idle time of ranks that
//! finish before the others.

use std::collections::BTreeMap;

use plotly::Bar;
use plotly::common::{Orientation, PatternShape};
use plotly::layout::{Axis, BarMode};

use super::{Figure, Height, escape, marker, plot, x_axis};
use crate::report::html::{Column, details, numbers, table, words};
use crate::report::source::TableSource;
use crate::{Summary, colours, show};

/// Maximum number of jobs with a bar.
const MOST_BARS: usize = 16;

/// A category is shown if it has this share of the time of some job, which is printed as 0.1 %.
const SMALLEST: f64 = 0.0005;

/// Categories of time, in the order of the bars, each with its name, its cause in the table of colours and its
/// column in `ranks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SplitKind {
    Computation,
    Overhead,
    Partner,
    Transfer,
    LinkWait,
    CollectivePartner,
    CollectiveTransfer,
    CollectiveLinkWait,
    /// All time in calls, of a result of an older version.
    Mpi,
    /// After the end of a rank.
    Done,
}

use SplitKind::{
    CollectiveLinkWait, CollectivePartner, CollectiveTransfer, Computation, Done, LinkWait, Mpi, Overhead,
    Partner, Transfer,
};

const KINDS: [(SplitKind, &str, &str, &str); 10] = [
    (Computation, "computation", "compute", "compute_ps"),
    (Overhead, "MPI overhead", "overhead", "overhead_ps"),
    (Partner, "waiting for the partner", "partner", "partner_ps"),
    (Transfer, "transfer", "transfer", "transfer_ps"),
    (LinkWait, "waiting for links", "link_wait", "link_wait_ps"),
    (
        CollectivePartner,
        "collectives: waiting for the partner",
        "partner",
        "collective_partner_ps",
    ),
    (
        CollectiveTransfer,
        "collectives: transfer",
        "transfer",
        "collective_transfer_ps",
    ),
    (
        CollectiveLinkWait,
        "collectives: waiting for links",
        "link_wait",
        "collective_link_wait_ps",
    ),
    (Mpi, "MPI calls", "overhead", "mpi_ps"),
    (Done, "finished before others", "", ""),
];

impl SplitKind {
    fn colour(self, cause: &str) -> &'static str {
        match self {
            Done => colours::other(),
            _ => colours::time(cause),
        }
    }

    /// Collectives have the colours of point-to-point calls.
    fn hatch(self) -> Option<PatternShape> {
        match self {
            CollectivePartner | CollectiveTransfer | CollectiveLinkWait => {
                Some(PatternShape::RightDiagonalLine)
            }
            Mpi => Some(PatternShape::Cross),
            _ => None,
        }
    }
}

/// Time of all ranks of a job together, by kind, in picoseconds.
type Split = BTreeMap<SplitKind, u128>;

fn of_ranks(source: TableSource) -> Option<BTreeMap<String, Split>> {
    let mut jobs: BTreeMap<String, Split> = BTreeMap::new();
    let ranks = source.table("ranks")?;
    let has_parts = ranks.u64s("overhead_ps").is_some();
    for (kind, _, _, column) in KINDS {
        if kind == Done || kind == Mpi && has_parts {
            continue;
        }
        let Some(times) = ranks.u64s(column) else { continue };
        for (job, time) in ranks.texts("job")?.zip(times) {
            let split = jobs.entry(job.unwrap_or_default().into()).or_default();
            *split.entry(kind).or_default() += u128::from(*time);
        }
    }
    Some(jobs)
}

/// One bar per job: the mean over its ranks, as shares of the time of the job.
pub(super) fn jobs(summary: &Summary, source: TableSource) -> Option<Figure> {
    let splits = of_ranks(source)?;
    let mut jobs = Vec::new();
    for job in summary
        .jobs
        .iter()
        .filter(|job| job.ranks > 0 && job.time_ns > 0.0)
    {
        if let Some(split) = splits.get(&job.name) {
            jobs.push((
                job.name.as_str(),
                shares(split, job.ranks, job.time_ns),
                job.time_ns,
            ));
        }
    }
    figure(&jobs)
}

/// Shares of the time of a job, mean over the ranks. The difference to 1 is the time after the end of a rank.
fn shares(split: &Split, ranks: u64, time_ns: f64) -> BTreeMap<SplitKind, f64> {
    let whole_ps = 1000.0 * time_ns * ranks as f64;
    let mut shares: BTreeMap<SplitKind, f64> = split
        .iter()
        .map(|(kind, ps)| (*kind, *ps as f64 / whole_ps))
        .collect();
    let rest = 1.0 - shares.values().sum::<f64>();
    // Smaller shares are below the resolution of the measurement.
    shares.insert(Done, if rest > 1e-6 { rest } else { 0.0 });
    shares
}

fn figure(jobs: &[(&str, BTreeMap<SplitKind, f64>, f64)]) -> Option<Figure> {
    let drawn = &jobs[..jobs.len().min(MOST_BARS)];
    let (first, shares, _) = drawn.first()?;
    let share =
        |shares: &BTreeMap<SplitKind, f64>, kind: SplitKind| shares.get(&kind).copied().unwrap_or(0.0);
    let present: Vec<_> = KINDS
        .iter()
        .filter(|(kind, ..)| jobs.iter().any(|(_, shares, _)| share(shares, *kind) >= SMALLEST))
        .collect();
    let names: Vec<String> = drawn.iter().map(|(name, _, _)| escape(name)).collect();
    let y = Axis::new()
        .auto_margin(true)
        .range(vec![drawn.len() as f64 - 0.5, -0.5]);
    let mut plot = plot(x_axis("share of the job's time (%)").range(vec![0.0, 100.0]), y);
    for (kind, name, cause, _) in &present {
        let values = drawn
            .iter()
            .map(|(_, shares, _)| super::rounded(100.0 * share(shares, *kind)));
        let bar = Bar::new(values.collect(), names.clone());
        plot.add_trace(
            bar.orientation(Orientation::Horizontal)
                .name(*name)
                .show_legend(true)
                .marker(marker(kind.colour(cause), kind.hatch())),
        );
    }
    let layout = plot.layout().clone().bar_mode(BarMode::Stack);
    plot.set_layout(layout);
    let mut columns = vec![words("job"), numbers("time")];
    columns.extend(present.iter().map(|(_, name, ..)| Column(name, true)));
    let rows: Vec<_> = jobs
        .iter()
        .map(|(name, shares, time_ns)| {
            let mut row = vec![name.to_string(), show::time(*time_ns)];
            row.extend(present.iter().map(|(kind, ..)| {
                let share = share(shares, *kind);
                format!("{} ({})", show::time(share * time_ns), show::percent(share))
            }));
            row
        })
        .collect();
    let left_out = match jobs.len() - drawn.len() {
        0 => String::new(),
        n => format!(" {n} more jobs are in the table only."),
    };
    let mut figure = Figure::new(
        "split",
        "Composition of job time",
        format!(
            "The time of the ranks of a job, mean over its ranks. Idle time in calls is divided by what would have made it \
             shorter: no waits of the message for links and buffers, no transfer, a partner that hands the message \
             over \
             earlier.{left_out}"
        ),
    );
    figure.table = details("In numbers", &table(&columns, &rows, "ranks.parquet"));
    let described: Vec<String> = present
        .iter()
        .map(|(kind, name, ..)| format!("{name} {}", show::percent(share(shares, *kind))))
        .collect();
    let alt = format!("Stacked bars, one per job. {first}: {}.", described.join(", "));
    let height = if drawn.len() <= 3 {
        Height::Low
    } else {
        Height::Usual
    };
    Some(figure.with(height, alt, plot))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::source::tests::{ColumnCells, made};

    #[test]
    fn calls_have_parts_except_in_results_of_older_versions() {
        let columns = |parts: bool| {
            let mut columns = vec![
                ("job", ColumnCells::Text(vec!["a", "b", "a"])),
                ("compute_ps", ColumnCells::U64(vec![10, 1, 20])),
                ("mpi_ps", ColumnCells::U64(vec![7, 2, 8])),
            ];
            if parts {
                columns.push(("overhead_ps", ColumnCells::U64(vec![3, 2, 3])));
                columns.push(("link_wait_ps", ColumnCells::U64(vec![4, 0, 5])));
            }
            [made("ranks", columns)]
        };
        let jobs = of_ranks(TableSource::new(&columns(true), None)).unwrap();
        assert_eq!(
            jobs["a"],
            Split::from([(Computation, 30), (Overhead, 6), (LinkWait, 9)])
        );
        let jobs = of_ranks(TableSource::new(&columns(false), None)).unwrap();
        assert_eq!(jobs["b"], Split::from([(Computation, 1), (Mpi, 2)]));
    }

    #[test]
    fn parts_of_a_job_add_up_to_its_time() {
        // Two ranks in a job of 10 ns: 8 + 4 ns of computation, 2 + 3 ns of waiting; one finished 3 ns early.
        let split = Split::from([(Computation, 12_000), (Partner, 5_000)]);
        let shares = shares(&split, 2, 10.0);
        assert_eq!((shares[&Computation], shares[&Partner]), (0.6, 0.25));
        assert!((shares[&Done] - 0.15).abs() < 1e-12);
    }
}
