//! Time per rank, stacked: computation, then the MPI calls with the most time.

use std::collections::{BTreeMap, BTreeSet};

use plotly::Bar;
use plotly::common::Marker;
use plotly::layout::{BarMode, HoverMode};

use super::{Figure, Height, MOST_JOBS, escape, plot, x_axis, y_axis};
use crate::{Table, colours, show};

/// Maximum number of bars. More ranks are averaged in groups.
const MOST_BARS: usize = 400;
const MOST_CALLS: usize = 5;

/// Ranks of one job: computation and the longest calls, in picoseconds per rank.
#[derive(Default)]
struct JobTimes<'t> {
    ranks: Vec<u32>,
    compute: Vec<u64>,
    mpi: Vec<u64>,
    calls: BTreeMap<&'t str, BTreeMap<u32, u64>>,
}

/// One figure per job that has ranks.
pub(super) fn times(ranks: &Table, calls: Option<&Table>) -> Vec<Figure> {
    let Some(jobs) = job_times(ranks, calls) else {
        return Vec::new();
    };
    let several = jobs.len() > 1;
    let names: BTreeSet<&str> = jobs
        .iter()
        .flat_map(|(_, times)| times.calls.keys().copied())
        .collect();
    let names: Vec<&str> = names.into_iter().collect();
    let figures = jobs
        .into_iter()
        .take(MOST_JOBS)
        .enumerate()
        .map(|(number, (name, times))| figure(number, name, &times, several, &names));
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

fn figure(number: usize, job: &str, times: &JobTimes, several: bool, names: &[&str]) -> Figure {
    let mut calls: Vec<_> = times
        .calls
        .iter()
        .map(|(call, by_rank)| (by_rank.values().sum::<u64>(), *call))
        .collect();
    calls.sort_by(|a, b| b.cmp(a));
    let mut series = vec![(
        "computation".to_string(),
        colours::time("compute"),
        times.compute.clone(),
    )];
    let mut rest = times.mpi.clone();
    for (_, call) in calls.iter().filter(|(sum, _)| *sum > 0).take(MOST_CALLS) {
        let by_rank = &times.calls[call];
        let values: Vec<u64> = times
            .ranks
            .iter()
            .map(|r| by_rank.get(r).copied().unwrap_or(0))
            .collect();
        rest.iter_mut()
            .zip(&values)
            .for_each(|(rest, value)| *rest = rest.saturating_sub(*value));
        // A call has one colour in the figures of all jobs.
        let place = names.iter().position(|name| name == call).unwrap_or(0);
        series.push((escape(call), colours::state(place), values));
    }
    if rest.iter().any(|ps| *ps > 0) {
        series.push((
            if calls.is_empty() { "MPI" } else { "other MPI" }.into(),
            colours::other(),
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
    let heading = if several {
        format!("Time per rank: {job}")
    } else {
        "Time per rank".into()
    };
    let figure = Figure::new(
        &format!("ranks-{number}"),
        heading,
        format!("The time of each MPI rank by activity, from its start to its end.{grouped}"),
    );
    let alt = format!(
        "Stacked bars for {} ranks of {job}: computation and MPI calls; the longest rank took {}.",
        times.ranks.len(),
        show::time(longest as f64 / 1000.0)
    );
    figure.with(Height::Usual, alt, plot)
}
