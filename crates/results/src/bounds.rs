//! Bounds of an experiment's synthetic traffic, computed without a run. `docs/methods/bounds.md` describes the
//! computation; this file stores and shows the results.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::show;

/// The limits of a network for the traffic of an experiment, for any flow control.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bounds {
    /// Bounds of each job of synthetic traffic by itself, in the order of the experiment.
    pub jobs: Vec<JobBounds>,
    /// Factor on the loads of all these jobs at which the first link is full. `None` where the load of no link is
    /// known.
    pub scale: Option<f64>,
    /// The first full link; empty if not known.
    pub scale_limited_by: String,
    /// The job with the greatest load on it; empty if not known, and in results of older versions.
    pub scale_job: String,
    /// Whether `scale` covers links of hosts only, as those between routers are not known. Then it is an upper limit.
    pub scale_of_host_links: bool,
    /// Largest acceptable load at the requested loads, as a fraction of the injection bandwidth of all hosts. `None`
    /// if jobs of ranks add to it.
    pub accepted_load: Option<f64>,
}

/// The limits of a network for one job of synthetic traffic by itself. Loads are fractions of the bandwidth of an
/// injection link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobBounds {
    /// Name of the job.
    pub name: String,
    /// Load of every host at which the first link is full, injection and ejection links included.
    pub throughput: Option<f64>,
    /// The first full link; empty if not known.
    pub limited_by: String,
    /// Like `throughput`, for injection and ejection links only.
    pub host_throughput: Option<f64>,
    /// Like `throughput`, for links between routers only. `None` if not known, or if none of them is used.
    pub router_throughput: Option<f64>,
    /// Mean load of the links between routers if every host offers a load of 1.
    pub mean_channel_load: Option<f64>,
    /// Greatest load of a link between routers if every host offers a load of 1.
    pub max_channel_load: Option<f64>,
    /// Mean links crossed, injection and ejection included.
    pub mean_hops: Option<f64>,
    /// Latency of packets in an empty network, in nanoseconds.
    pub zero_load_latency_ns: Option<ZeroLoad>,
    /// Estimate of the longest time of the job's largest message in an empty network, in nanoseconds, on the longest
    /// path of any routing. `None` in results of older versions.
    pub longest_idle_ns: Option<f64>,
    /// Whether a hash of source and destination chooses among equal paths, and loads of links between routers are those
    /// of an even spread: expected ones. The hash puts more pairs on some links, which are full earlier. False in
    /// results of older versions.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub expected: bool,
    /// Reason why some values are not known; empty if all are.
    pub not_computed: String,
}

/// Latency of packets in an empty network, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ZeroLoad {
    /// Mean latency.
    pub mean: f64,
    /// Largest latency.
    pub max: f64,
}

/// What an expected bound is, for people.
pub(crate) const EXPECTED: &str = "expected if the hash that chooses among equal paths spread all pairs of hosts evenly: \
                                   it does not, and some links are full earlier";

/// Least excess of the requested loads over the bound, against rounding.
const ROUNDING: f64 = 0.001;

impl Bounds {
    /// Whether loads of links are those of an evenly spread hash.
    pub(crate) fn is_expected(&self) -> bool {
        self.jobs.iter().any(|job| job.expected)
    }

    /// `scale`, if the requested loads exceed the bound.
    pub(crate) fn exceeded(&self) -> Option<f64> {
        self.scale.filter(|scale| *scale < 1.0 - ROUNDING)
    }

    /// The links that `scale` covers, for people.
    pub(crate) fn limiting_link(&self) -> &'static str {
        if self.scale_of_host_links {
            "link of a host"
        } else {
            "link"
        }
    }
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
                "\nbound     all jobs: {scale:.4} times the requested loads; first full {}: {}",
                self.limiting_link(),
                self.scale_limited_by
            )?;
        }
        if let Some(scale) = self.exceeded() {
            write!(
                f,
                "\nbound     the requested load is above it: the first {} is full at {scale:.4} times the load, mostly \
                 with job {}; the run will be saturated",
                self.limiting_link(),
                self.scale_job
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
                "{} {throughput:.4} of the injection bandwidth; first full link: {}",
                if self.expected { "expected" } else { "at most" },
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
                "{indent}mean hops {hops:.4} ({:.4} between routers), latency without load {} mean, {} at most",
                hops - 2.0,
                show::time(latency.mean),
                show::time(latency.max)
            )?;
        }
        if self.expected {
            write!(f, "{indent}{EXPECTED}")?;
        }
        if !self.not_computed.is_empty() {
            write!(f, "{indent}not computed: {}", self.not_computed)?;
        }
        Ok(())
    }
}
