//! What jobs do to each other: each job of ranks alone, compared with all of them together.
//!
//! A job alone has the network, the hosts and the random streams that it has in company: only the others are
//! left out, and their hosts stay empty. What differs is what the others do to it.

use results::{Interference, RunResult, SlowDown};

use crate::Error;
use crate::collect::{CollectSetting, Series};
use crate::run::{Control, RunContext, run_in};
use crate::setup::experiment::Experiment;
use crate::setup::job::{Job, JobKind};

/// Runs an experiment, and then each of its jobs of ranks alone. The result is that of the whole experiment,
/// and says how much slower each job was in company.
///
/// `control` is that of all these runs. They cannot be continued from a checkpoint, so `context` has none.
///
/// # Errors
/// As [`run_in`], of any of the runs; no job has ranks; `context` has checkpoints.
pub fn run_with_interference(
    experiment: &Experiment,
    control: &Control,
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
        // Nothing would be left out.
        let alone = match experiment.jobs.len() {
            1 => None,
            _ => {
                let context = RunContext {
                    processes: context.processes,
                    partition: context.partition.clone(),
                    ..RunContext::default()
                };
                together(&experiment.alone(index), control, &context)?
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

/// Runs, with all processes: where one fails, the others do not go on to the next run without it.
fn together(
    experiment: &Experiment,
    control: &Control,
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

impl Experiment {
    /// The same with one of its jobs of ranks only, on the hosts that it has.
    fn alone(&self, index: usize) -> Experiment {
        let job = &self.jobs[index];
        let JobKind::Ranks(ranks) = &job.kind else {
            unreachable!("traffic is never run alone")
        };
        let job = Job {
            name: job.name.clone(),
            start: job.start,
            kind: JobKind::Ranks(ranks.clone()),
        };
        Experiment {
            network: self.network.clone(),
            jobs: [job].into(),
            run: self.run.clone(),
            collect: CollectSetting::of(Series::Off),
            settings: self.settings.clone(),
            source: None,
        }
    }
}
