//! What can be said of an experiment's synthetic traffic without simulating it. `docs/methods/bounds.md` says how
//! it is computed; here it is only kept and shown.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::show;

/// What a network allows the traffic of an experiment at most, whatever its flow control.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bounds {
    /// Of each job of synthetic traffic by itself, in the order of the experiment.
    pub jobs: Vec<JobBounds>,
    /// Factor on the loads of all these jobs at which the first link is full; none where the load of links is
    /// not known.
    pub scale: Option<f64>,
    /// The link that is full first; empty where it is not known.
    pub scale_limited_by: String,
    /// What can be accepted at most at the loads asked for, as a fraction of the injection bandwidth of all
    /// hosts; none where jobs of ranks add to it.
    pub accepted_load: Option<f64>,
}

/// What a network allows one job of synthetic traffic by itself. Loads are fractions of the bandwidth of an
/// injection link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobBounds {
    /// Name of the job.
    pub name: String,
    /// Load of every host at which the first link is full, injection and ejection links included.
    pub throughput: Option<f64>,
    /// The link that is full first; empty where it is not known.
    pub limited_by: String,
    /// The same as `throughput`, of injection and ejection links only.
    pub host_throughput: Option<f64>,
    /// The same as `throughput`, of links between routers only; none if it is not known or none of them is used.
    pub router_throughput: Option<f64>,
    /// Mean load of the links between routers if every host offers a load of 1.
    pub mean_channel_load: Option<f64>,
    /// Greatest load of a link between routers if every host offers a load of 1.
    pub max_channel_load: Option<f64>,
    /// Mean links crossed, injection and ejection included.
    pub mean_hops: Option<f64>,
    /// Latency of packets that meet no others, in nanoseconds.
    pub zero_load_latency_ns: Option<ZeroLoad>,
    /// Why some of it is not known; empty if all of it is.
    pub not_computed: String,
}

/// Latency of packets that meet no others, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ZeroLoad {
    /// Mean.
    pub mean: f64,
    /// Longest.
    pub max: f64,
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, job) in self.jobs.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "bound     {job}")?;
        }
        if let (true, Some(scale)) = (self.jobs.len() > 1, self.scale) {
            write!(
                f,
                "\nbound     all jobs: {scale:.4} times the loads asked for; full first: {}",
                self.scale_limited_by
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for JobBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.name)?;
        match self.throughput {
            Some(throughput) => write!(
                f,
                "at most {throughput:.4} of the injection bandwidth; full first: {}",
                self.limited_by
            )?,
            None => write!(f, "none known")?,
        }
        let indent = "\n          ";
        if let (Some(mean), Some(max)) = (self.mean_channel_load, self.max_channel_load) {
            write!(
                f,
                "{indent}links between routers at a load of 1: mean {mean:.4}, largest {max:.4}"
            )?;
            if let Some(throughput) = self.router_throughput {
                write!(f, ", so at most {throughput:.4}")?;
            }
        }
        if let (Some(hops), Some(latency)) = (self.mean_hops, self.zero_load_latency_ns) {
            write!(
                f,
                "{indent}mean hops {hops:.4} ({:.4} between routers), without load {} mean, {} at most",
                hops - 2.0,
                show::time(latency.mean),
                show::time(latency.max)
            )?;
        }
        if !self.not_computed.is_empty() {
            write!(f, "{indent}not computed: {}", self.not_computed)?;
        }
        Ok(())
    }
}
