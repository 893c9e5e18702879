//! Interference of jobs: each job with ranks runs alone, and its time is compared with that of the common run.
//!
//! A job alone has the same network, hosts and random streams. Only the other jobs are removed, and their hosts
//! stay empty. All differences are effects of the other jobs.

use experiment::{CollectSetting, Experiment, Job, JobKind, Series};
use results::{Interference, RunResult, SlowDown};

use crate::Error;
use crate::run::{RunContext, RunControl, run_in};

/// Runs an experiment, then each of its jobs with ranks alone. The result is that of the whole experiment, with the
/// slow-down of each job.
///
/// `control` applies to all runs. They cannot resume from a checkpoint, so `context` must have none.
///
/// # Errors
/// As [`run_in`], for any of the runs; no job has ranks; `context` has checkpoints.
pub fn run_with_interference(
    experiment: &Experiment,
    control: &RunControl,
    context: &RunContext<'_>,
) -> Result<Option<RunResult>, Error> {
    if context.checkpoints.is_some() || context.from.is_some() {
        let message = "runs for the interference of jobs have no checkpoints".to_string();
        return Err(Error::Interference(message));
    }
    let with_ranks = experiment
        .jobs
        .iter()
        .enumerate()
        .filter_map(|(index, job)| match &job.kind {
            JobKind::Ranks(_) => Some(index),
            JobKind::Traffic(_) => None,
        });
    let with_ranks: Vec<usize> = with_ranks.collect();
    if with_ranks.is_empty() {
        let message = "no job has ranks, and synthetic traffic has no time that others could lengthen; expected \
                       [[job]] with a workload";
        return Err(Error::Interference(message.into()));
    }
    let mut result = together(experiment, control, context)?;
    let mut jobs = Vec::new();
    for index in with_ranks {
        // With one job, both runs are the same.
        let alone = match experiment.jobs.len() {
            1 => None,
            _ => {
                let context = RunContext {
                    processes: context.processes,
                    partition: context.partition.clone(),
                    ..RunContext::default()
                };
                together(&alone(experiment, index), control, &context)?
            }
        };
        if let Some(result) = &result {
            let alone = alone.as_ref().map_or((result, index), |alone| (alone, 0));
            jobs.push(SlowDown::of((result, index), alone));
        }
    }
    if let Some(result) = &mut result {
        result.summary.interference = Some(Interference { jobs });
    }
    Ok(result)
}

/// Runs with all processes. If one fails, the others do not start the next run.
fn together(
    experiment: &Experiment,
    control: &RunControl,
    context: &RunContext<'_>,
) -> Result<Option<RunResult>, Error> {
    let result = run_in(experiment, control, context);
    let mut all_are_well = [u64::from(result.is_ok())];
    context.processes.least(&mut all_are_well);
    match result {
        Ok(_) if all_are_well == [0] => Err(Error::Elsewhere),
        result => result,
    }
}

/// An experiment with only one of its jobs with ranks, on the same hosts.
fn alone(experiment: &Experiment, index: usize) -> Experiment {
    let job = &experiment.jobs[index];
    let JobKind::Ranks(ranks) = &job.kind else {
        unreachable!("traffic is never run alone")
    };
    let job = Job {
        name: job.name.clone(),
        start: job.start,
        end: job.end,
        traffic_class: job.traffic_class,
        kind: JobKind::Ranks(ranks.clone()),
    };
    Experiment {
        network: experiment.network.clone(),
        jobs: [job].into(),
        run: experiment.run.clone(),
        collect: CollectSetting::of(Series::Off),
        power: experiment.power.clone(),
        settings: experiment.settings.clone(),
        rounded_rates: experiment.rounded_rates.clone(),
        assumptions: experiment.assumptions.clone(),
        sizing: experiment.sizing.clone(),
        routing_is_default: experiment.routing_is_default,
        schedule: experiment.schedule.clone(),
        source: None,
    }
}
