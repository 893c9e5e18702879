//! What a run with real programs leaves so that it can be replayed: the operations of each, and an experiment that names
//! them.

use std::path::Path;

use experiment::{Experiment, JobKind};
use serde_json::json;

/// The experiment that replays the run, in the folder of its result.
pub const REPLAY: &str = "replay.toml";

/// File of the operations of a job.
fn file_name(job: usize) -> String {
    format!("job-{job}.operations")
}

/// Lets the real programs of an experiment leave their operations in a folder. The experiment that replays the run, as
/// TOML, if there are such programs. It names files of other jobs as this experiment does.
pub fn leave_operations(experiment: &Experiment, folder: &Path) -> Option<String> {
    let mut settings = experiment.settings.clone();
    let mut leaves = false;
    for (index, job) in experiment.jobs.iter().enumerate() {
        let JobKind::Ranks(ranks) = &job.kind else {
            continue;
        };
        let name = file_name(index);
        if ranks.workload.leaves_operations(&folder.join(&name)) {
            leaves = true;
            if let Some(workload) = settings.pointer_mut(&format!("/job/{index}/workload")) {
                *workload = json!({ "operations": name });
            }
        }
    }
    leaves.then(|| results::experiment_toml(&settings))
}
