//! What a run with real programs leaves so that it can be replayed: the operations of each program, and an experiment
//! that names them.

use experiment::{Experiment, JobKind};
use results::{Replay, RunPath};
use serde_json::json;

/// Lets the real programs of an experiment leave their operations in a folder. What replays the run, for its result;
/// `None` without such programs. The experiment in it names files of other jobs as this experiment does.
pub fn leave_operations(experiment: &Experiment, folder: &RunPath) -> Option<Replay> {
    let mut settings = experiment.settings.clone();
    let mut operations = Vec::new();
    for (index, job) in experiment.jobs.iter().enumerate() {
        let JobKind::Ranks(ranks) = &job.kind else {
            continue;
        };
        let name = format!("job-{index}{}", results::OPERATIONS);
        let file = folder.join(&name);
        if ranks.workload.leaves_operations(&file.at_first()) {
            operations.push(file);
            if let Some(workload) = settings.pointer_mut(&format!("/job/{index}/workload")) {
                *workload = json!({ "operations": name });
            }
        }
    }
    let experiment = results::experiment_toml(&settings);
    (!operations.is_empty()).then_some(Replay {
        experiment,
        operations,
    })
}
