//! What the network delivers of the synthetic traffic of a job, so that runs of different networks can be compared.
//!
//! Both amounts are those of the job's own hosts. Idle hosts, other jobs and the bandwidth of links change fractions of
//! the injection bandwidth, but not these values.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::verdict::DELIVERED;
use crate::{JobSummary, Summary};

/// Offered and delivered traffic of a job of synthetic traffic, after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Delivery {
    /// Delivered over offered bytes, at most 1. Bytes that were generated in the warm-up may arrive after it.
    pub share: f64,
    /// Offered traffic for each host of the job, in Gbps. `None` in results of older versions.
    pub offered_gbps: Option<f64>,
    /// Delivered traffic for each host of the job, in Gbps. `None` in results of older versions.
    pub delivered_gbps: Option<f64>,
    /// Mean latency of the job's packets, in nanoseconds. `None` without measured packets.
    pub latency_ns: Option<f64>,
}

impl Delivery {
    /// `None` for a job of ranks, and if the job offered nothing after the warm-up.
    pub(crate) fn of(run: &Summary, job: &JobSummary) -> Option<Delivery> {
        let latency_ns = job.latency_ns.mean;
        let Some(traffic) = job.traffic.as_ref().filter(|_| job.ranks == 0) else {
            return Delivery::of_older_version(run, job, latency_ns);
        };
        let gbps = |bytes: u64| {
            let host_ns = run.network.measured_ns * job.hosts as f64;
            (host_ns > 0.0).then(|| bytes as f64 * 8.0 / host_ns)
        };
        Some(Delivery {
            share: traffic.delivered_share()?.min(1.0),
            offered_gbps: gbps(traffic.offered_bytes),
            delivered_gbps: gbps(traffic.accepted_bytes),
            latency_ns,
        })
    }

    /// Results of older versions have the loads of the network only. They are those of a job that is alone.
    fn of_older_version(run: &Summary, job: &JobSummary, latency_ns: Option<f64>) -> Option<Delivery> {
        let network = &run.network;
        let is_known = job.ranks == 0 && run.jobs.len() == 1 && network.offered_load > 0.0;
        is_known.then(|| Delivery {
            share: (network.accepted_load / network.offered_load).min(1.0),
            offered_gbps: None,
            delivered_gbps: None,
            latency_ns,
        })
    }

    /// Whether the network delivers what is offered, beyond noise.
    pub(crate) fn is_complete(&self) -> bool {
        self.share >= DELIVERED
    }
}

/// What the network delivers of each job of synthetic traffic that offered any, by the name of the job.
pub fn deliveries(run: &Summary) -> BTreeMap<String, Delivery> {
    let jobs = run.jobs.iter();
    jobs.filter_map(|job| Some((job.name.clone(), Delivery::of(run, job)?)))
        .collect()
}
