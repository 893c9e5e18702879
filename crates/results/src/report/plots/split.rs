//! The composition of the time of each job: computation, MPI by purpose of the call, and idle time of ranks that
//! finish before the others.
//!
//! The timeline is the most exact source and separates the overhead of calls from blocking. Without it, the tables
//! `ranks` and `calls` are used.

use std::collections::BTreeMap;

use plotly::Bar;
use plotly::common::{Marker, Orientation};
use plotly::layout::{Axis, BarMode};

use super::{BLUE, COLOURS, Figure, GREY, Height, escape, named, plot, x_axis};
use crate::report::html::{Column, numbers, table, words};
use crate::report::source::TableSource;
use crate::{ReadError, Summary, show};

/// Maximum number of jobs with a bar.
const MOST_BARS: usize = 16;

/// Categories of time, in the order of the bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SplitKind {
    Computation,
    Waiting,
    Sending,
    Collectives,
    OneSided,
    Overhead,
    OtherMpi,
    Done,
}

use SplitKind::{Collectives, Computation, Done, OneSided, OtherMpi, Overhead, Sending, Waiting};

const KINDS: [(SplitKind, &str, &str); 8] = [
    (Computation, "computation", BLUE),
    (Waiting, "waiting and receiving", COLOURS[0]),
    (Sending, "sending and posting", COLOURS[1]),
    (Collectives, "collectives", COLOURS[2]),
    (OneSided, "one-sided", COLOURS[3]),
    (Overhead, "overhead of calls", COLOURS[4]),
    (OtherMpi, "other MPI", GREY),
    (Done, "finished before others", COLOURS[5]),
];

/// The category of a timeline state or call, from its name alone.
fn kind(state: &str) -> SplitKind {
    match state {
        "compute" => return Computation,
        "overhead" => return Overhead,
        _ => {}
    }
    let Some(call) = state.strip_prefix("MPI_") else {
        return OtherMpi;
    };
    let begins = |words: &[&str]| words.iter().any(|word| call.starts_with(word));
    if begins(&[
        "Wait", "Test", "Recv", "Mrecv", "Probe", "Mprobe", "Iprobe", "Improbe", "Sendrecv",
    ]) && !call.ends_with("_init")
    {
        Waiting
    } else if begins(&[
        "Put",
        "Get",
        "Accumulate",
        "Rput",
        "Rget",
        "Raccumulate",
        "Fetch",
        "Compare_and",
        "Win_",
    ]) && !call.starts_with("Get_")
        || call.starts_with("Get_accumulate")
    {
        OneSided
    } else if begins(&[
        "Send", "Bsend", "Ssend", "Rsend", "Isend", "Ibsend", "Issend", "Irsend", "Irecv", "Start",
    ]) || call.ends_with("_init")
    {
        Sending
    } else if begins(&[
        "Barrier",
        "Bcast",
        "Reduce",
        "Allreduce",
        "Allgather",
        "Alltoall",
        "Gather",
        "Scatter",
        "Scan",
        "Exscan",
        "Ibarrier",
        "Ibcast",
        "Ireduce",
        "Iallreduce",
        "Iallgather",
        "Ialltoall",
        "Igather",
        "Iscatter",
        "Iscan",
        "Iexscan",
        "Neighbor",
        "Ineighbor",
    ]) {
        Collectives
    } else {
        OtherMpi
    }
}

/// Time of all ranks of a job together, by kind, in picoseconds.
type Split = BTreeMap<SplitKind, u128>;

/// The times of jobs, and whether overhead and blocking are separate.
type Splits = (BTreeMap<String, Split>, bool);

fn of_timeline(source: TableSource) -> Result<Option<Splits>, ReadError> {
    let mut jobs: BTreeMap<String, Split> = BTreeMap::new();
    let mut told_apart = false;
    let columns = ["job", "begin_ps", "end_ps", "state", "blocked"];
    let read = source.each("timeline", &columns, |rows| {
        let (begin, end) = (rows.integers("begin_ps")?, rows.integers("end_ps")?);
        let (job, state) = (rows.texts("job")?, rows.texts("state")?);
        let blocked = rows.flags("blocked");
        told_apart = blocked.is_some();
        for i in 0..begin.len() {
            let time = u128::from(end[i].saturating_sub(begin[i]));
            let kind = match (kind(state[i].unwrap_or_default()), &blocked) {
                (Computation, _) => Computation,
                (_, Some(blocked)) if !blocked[i] => Overhead,
                (kind, _) => kind,
            };
            let split = named(&mut jobs, job[i].unwrap_or_default());
            *split.entry(kind).or_default() += time;
        }
        Some(())
    })?;
    let jobs = read.map(|()| jobs).filter(|jobs| !jobs.is_empty());
    Ok(jobs.map(|jobs| (jobs, told_apart)))
}

fn of_calls(source: TableSource) -> Option<BTreeMap<String, Split>> {
    let mut jobs: BTreeMap<String, Split> = BTreeMap::new();
    let ranks = source.table("ranks")?;
    let (compute, mpi) = (ranks.u64s("compute_ps")?, ranks.u64s("mpi_ps")?);
    for (i, job) in ranks.texts("job")?.enumerate() {
        let split = jobs.entry(job.unwrap_or_default().into()).or_default();
        *split.entry(Computation).or_default() += u128::from(compute[i]);
        *split.entry(OtherMpi).or_default() += u128::from(mpi[i]);
    }
    if let Some(calls) = source.table("calls") {
        let time = calls.u64s("time_ps")?;
        for (i, (job, call)) in calls.texts("job")?.zip(calls.texts("call")?).enumerate() {
            let Some(split) = jobs.get_mut(job.unwrap_or_default()) else {
                continue;
            };
            // A call of category "other MPI" is part of the remainder already, so it is added and subtracted.
            let time = u128::from(time[i]);
            *split.entry(kind(call.unwrap_or_default())).or_default() += time;
            let rest = split.entry(OtherMpi).or_default();
            *rest = rest.saturating_sub(time);
        }
    }
    Some(jobs)
}

/// One bar per job: the mean over its ranks, as shares of the time of the job.
pub(super) fn jobs(summary: &Summary, source: TableSource) -> Result<Option<Figure>, ReadError> {
    let of_timeline = of_timeline(source)?;
    let Some((splits, exact)) = of_timeline.or_else(|| Some((of_calls(source)?, false))) else {
        return Ok(None);
    };
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
    Ok(figure(&jobs, exact))
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

fn figure(jobs: &[(&str, BTreeMap<SplitKind, f64>, f64)], exact: bool) -> Option<Figure> {
    let drawn = &jobs[..jobs.len().min(MOST_BARS)];
    let (first, shares, _) = drawn.first()?;
    let share =
        |shares: &BTreeMap<SplitKind, f64>, kind: SplitKind| shares.get(&kind).copied().unwrap_or(0.0);
    let present: Vec<_> = KINDS
        .iter()
        .filter(|(kind, _, _)| jobs.iter().any(|(_, shares, _)| share(shares, *kind) > 0.0))
        .collect();
    let names: Vec<String> = drawn.iter().map(|(name, _, _)| escape(name)).collect();
    let y = Axis::new()
        .auto_margin(true)
        .range(vec![drawn.len() as f64 - 0.5, -0.5]);
    let mut plot = plot(x_axis("share of the job's time (%)").range(vec![0.0, 100.0]), y);
    for (kind, name, colour) in &present {
        let values = drawn
            .iter()
            .map(|(_, shares, _)| super::rounded(100.0 * share(shares, *kind)));
        let bar = Bar::new(values.collect(), names.clone());
        plot.add_trace(
            bar.orientation(Orientation::Horizontal)
                .name(*name)
                .show_legend(true)
                .marker(Marker::new().color(*colour)),
        );
    }
    let layout = plot.layout().clone().bar_mode(BarMode::Stack);
    plot.set_layout(layout);
    let mut columns = vec![words("job"), numbers("time")];
    columns.extend(present.iter().map(|(_, name, _)| Column(name, true)));
    let rows: Vec<_> = jobs
        .iter()
        .map(|(name, shares, time_ns)| {
            let mut row = vec![name.to_string(), show::time(*time_ns)];
            row.extend(present.iter().map(|(kind, _, _)| {
                let share = share(shares, *kind);
                format!("{} ({})", show::time(share * time_ns), show::percent(share))
            }));
            row
        })
        .collect();
    let from = if exact {
        "Overhead of calls is CPU time in MPI. The other parts of calls are times in which ranks were blocked."
    } else {
        "A call's time is its overhead and the time in which the rank was blocked in it; collect.timeline separates the two."
    };
    let left_out = match jobs.len() - drawn.len() {
        0 => String::new(),
        n => format!(" {n} more jobs are in the table only."),
    };
    let mut figure = Figure::new(
        "split",
        "Composition of job time",
        format!("The time of the ranks of a job by activity, mean over its ranks. {from}{left_out}"),
    );
    figure.table = table(&columns, &rows, "ranks.parquet");
    let described: Vec<String> = present
        .iter()
        .map(|(kind, name, _)| format!("{name} {}", show::percent(share(shares, *kind))))
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
    fn calls_are_told_apart_by_their_names() {
        for (call, expected) in [
            ("compute", Computation),
            ("overhead", Overhead),
            ("MPI_Waitall", Waiting),
            ("MPI_Recv", Waiting),
            ("MPI_Recv_init", Sending),
            ("MPI_Sendrecv_replace", Waiting),
            ("MPI_Send", Sending),
            ("MPI_Irecv", Sending),
            ("MPI_Startall", Sending),
            ("MPI_Allreduce", Collectives),
            ("MPI_Reduce_scatter_block", Collectives),
            ("MPI_Iallgatherv", Collectives),
            ("MPI_Put", OneSided),
            ("MPI_Get", OneSided),
            ("MPI_Get_accumulate", OneSided),
            ("MPI_Win_fence", OneSided),
            ("MPI_Get_elements", OtherMpi),
            ("MPI_Init", OtherMpi),
            ("anything", OtherMpi),
        ] {
            assert_eq!(kind(call), expected, "{call}");
        }
    }

    #[test]
    fn calls_in_which_a_rank_was_not_blocked_are_overhead() {
        let columns = |blocked: Option<Vec<bool>>| {
            let mut columns = vec![
                ("job", ColumnCells::Text(vec!["a"; 4])),
                ("begin_ps", ColumnCells::U64(vec![0, 10, 13, 20])),
                ("end_ps", ColumnCells::U64(vec![10, 13, 20, 21])),
                (
                    "state",
                    ColumnCells::Text(vec!["compute", "MPI_Recv", "MPI_Recv", "MPI_Bcast"]),
                ),
            ];
            columns.extend(blocked.map(|blocked| ("blocked", ColumnCells::Bool(blocked))));
            [made("timeline", columns)]
        };
        let tables = columns(Some(vec![false, false, true, true]));
        let (jobs, told_apart) = of_timeline(TableSource::new(&tables, None)).unwrap().unwrap();
        let expected = Split::from([(Computation, 10), (Overhead, 3), (Waiting, 7), (Collectives, 1)]);
        assert!(told_apart && jobs["a"] == expected, "{jobs:?}");
        let tables = columns(None);
        let (jobs, told_apart) = of_timeline(TableSource::new(&tables, None)).unwrap().unwrap();
        let expected = Split::from([(Computation, 10), (Waiting, 10), (Collectives, 1)]);
        assert!(!told_apart && jobs["a"] == expected, "{jobs:?}");
    }

    #[test]
    fn parts_of_a_job_add_up_to_its_time() {
        // Two ranks in a job of 10 ns: 8 + 4 ns of computation, 2 + 3 ns in Wait; one finished 3 ns early.
        let split = Split::from([(Computation, 12_000), (Waiting, 5_000)]);
        let shares = shares(&split, 2, 10.0);
        assert_eq!((shares[&Computation], shares[&Waiting]), (0.6, 0.25));
        assert!((shares[&Done] - 0.15).abs() < 1e-12);
    }
}
