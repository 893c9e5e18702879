//! The jobs of a result. Each is a process of the trace.

use serde_json::Value;

use super::trace::{Trace, Track};
use crate::Error;
use crate::folder::ExportSource;

/// All jobs, by number.
#[derive(Default)]
pub(crate) struct JobTracks {
    jobs: Vec<(String, Track)>,
}

impl JobTracks {
    /// Describes the jobs of the experiment, in order.
    pub fn describe(folder: &ExportSource, trace: &mut Trace) -> Result<JobTracks, Error> {
        let mut jobs = JobTracks::default();
        let of_summary = folder.summary().map(|summary| summary.jobs.iter());
        let of_experiment = folder.experiment()["job"].as_array();
        let names: Vec<&str> = match of_summary {
            Some(of_summary) => of_summary.map(|job| job.name.as_str()).collect(),
            None => of_experiment
                .into_iter()
                .flatten()
                .filter_map(|job| job.get("name").and_then(Value::as_str))
                .collect(),
        };
        for name in names {
            jobs.number(trace, name)?;
        }
        Ok(jobs)
    }

    /// The number of a job. The first call for a job describes it.
    pub fn number(&mut self, trace: &mut Trace, name: &str) -> Result<usize, Error> {
        if let Some(job) = self.jobs.iter().position(|(known, _)| known == name) {
            return Ok(job);
        }
        let job = self.jobs.len();
        let track = trace.process(JobTracks::pid(job), name)?;
        self.jobs.push((name.into(), track));
        Ok(job)
    }

    /// The track of a job.
    pub fn track(&self, job: usize) -> Track {
        self.jobs[job].1
    }

    /// Number of the process of a job. 0 means no process.
    pub fn pid(job: usize) -> i32 {
        i32::try_from(job).map_or(i32::MAX, |job| job.saturating_add(1))
    }
}
