//! `summary.json`: what was asked, what came out, what it cost. Documented in
//! `docs/formats/summary.md`.
//!
//! Everything but [`Summary::run`] is decided by the experiment and its seed alone. Times are in
//! nanoseconds as the field quotes them; they are exact quotients of the integer picoseconds that were
//! measured.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Bounds, Histogram, Interference};

/// Version of the keys and their meaning.
pub const SCHEMA: &str = "fabricsim/summary/1";

/// The summary of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`SCHEMA`].
    pub schema: String,
    /// Hash over all results, 64 hexadecimal digits: the same for every executor, thread count, machine.
    pub digest: String,
    /// The experiment with every default filled in.
    pub experiment: Value,
    /// What the network did.
    pub network: NetworkSummary,
    /// What the jobs did, in the order of the experiment.
    pub jobs: Vec<JobSummary>,
    /// How much slower jobs of ranks are in company than alone; none where they were not run alone. Set by
    /// whoever has run them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interference: Option<Interference>,
    /// What the network allows the synthetic traffic at most, computed and not simulated; none without such
    /// traffic, and in results of older versions. Set by whoever has computed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// What was collected while the run went on; none in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collect: Option<Collect>,
    /// What the run cost: the only part that differs from run to run.
    pub run: RunSummary,
}

/// What was collected while a run went on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Collect {
    /// Hash over all rows of these tables, 64 hexadecimal digits: as [`Summary::digest`], which does not cover them,
    /// the same for every executor, thread count, machine.
    pub digest: String,
    /// What was sampled: `off`, `classes`, `links` or `vcs`.
    pub series: String,
    /// Width of the first bins of time, in picoseconds.
    pub first_bin_ps: u64,
    /// Bins after which the width doubles; null: all have the same width.
    pub bins_per_width: Option<u64>,
    /// The tables that have rows; those that were not collected, or stayed empty, are not there.
    pub tables: Vec<CollectedTable>,
}

/// One table of what was collected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CollectedTable {
    /// Its name.
    pub table: String,
    /// Its rows.
    pub rows: u64,
    /// Hash over them, 64 hexadecimal digits.
    pub digest: String,
}

/// What the network did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkSummary {
    /// The topology with its dimensions, for people.
    pub topology: String,
    /// Hosts.
    pub hosts: u64,
    /// NIC ports of each host.
    // Results of older versions lack it.
    #[serde(default = "one")]
    pub rails: u64,
    /// Disjoint copies of the topology, each with the same number of rails of every host.
    #[serde(default = "one")]
    pub planes: u64,
    /// Routers.
    pub routers: u64,
    /// Links: one per direction of a cable, those of hosts included.
    pub links: u64,
    /// Packets that a NIC began to send, over the whole run.
    pub packets_injected: u64,
    /// Packets that arrived whole, over the whole run.
    pub packets_delivered: u64,
    /// Packets still in the network at the end: injected less delivered.
    pub packets_in_flight: u64,
    /// Bytes of the delivered packets, headers included.
    pub bytes_delivered: u64,
    /// Links crossed by packets, injection and ejection included, over the whole run.
    pub packet_hops: u64,
    /// Mean links crossed by the packets that were measured.
    pub mean_hops: f64,
    /// Latency of the packets that were measured, in nanoseconds.
    pub latency_ns: Latency,
    /// Traffic offered after the warm-up, as a fraction of the injection bandwidth of all hosts.
    pub offered_load: f64,
    /// Traffic delivered after the warm-up, as a fraction of the injection bandwidth of all hosts.
    pub accepted_load: f64,
    /// Simulated span after the warm-up that loads, latencies and link counters cover, in nanoseconds.
    pub measured_ns: f64,
}

fn one() -> u64 {
    1
}

/// A distribution of latencies in nanoseconds; all zero if nothing was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Mean, from the exact sum.
    pub mean: f64,
    /// Median, at most 1/64 above the exact one.
    pub p50: f64,
    /// 99th percentile, at most 1/64 above the exact one.
    pub p99: f64,
    /// Maximum, exact.
    pub max: f64,
}

impl Latency {
    /// Of a histogram of picoseconds.
    pub fn of_ps(histogram: &Histogram) -> Latency {
        Latency {
            mean: histogram.mean() / 1000.0,
            p50: nanoseconds(histogram.quantile(0.50)),
            p99: nanoseconds(histogram.quantile(0.99)),
            max: nanoseconds(histogram.max()),
        }
    }
}

/// What one job did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobSummary {
    /// Name of the job.
    pub name: String,
    /// `trace`, `motif`, `program` or `traffic`.
    pub kind: String,
    /// MPI ranks; 0 for synthetic traffic.
    pub ranks: u64,
    /// Hosts.
    pub hosts: u64,
    /// How often the ranks did what their workload holds.
    // Results of older versions lack it.
    #[serde(default = "one")]
    pub repetitions: u64,
    /// Whether all ranks reached their end before the run ended; always true for traffic.
    pub finished: bool,
    /// Predicted time: from the job's start to the end of its last rank, or to the end of the run.
    pub time_ns: f64,
    /// Computation per rank, mean over the ranks.
    pub compute_ns: f64,
    /// MPI calls per rank, mean over the ranks.
    pub mpi_ns: f64,
    /// Messages sent, those of collectives included.
    pub messages: u64,
    /// Their payload in bytes.
    pub bytes: u64,
    /// Packets delivered to the job's hosts and measured.
    pub packets: u64,
    /// Latency of these packets, in nanoseconds.
    pub latency_ns: Latency,
}

/// What the run cost, and where.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
// Results of older versions lack some of it.
#[serde(default)]
pub struct RunSummary {
    /// FabricSim's version.
    pub version: String,
    /// Executor.
    pub executor: String,
    /// How credits went back: `each` by itself, or in `batches`.
    pub credits: String,
    /// Processes.
    pub processes: u64,
    /// Threads of each process.
    pub threads: u64,
    /// Wall-clock time of the simulation, without reading the experiment and writing the result, in seconds.
    pub wall_s: f64,
    /// Processor time of all threads of all processes, in seconds.
    pub cpu_s: f64,
    /// Largest resident memory, the processes' added up, in bytes.
    pub peak_rss_bytes: u64,
    /// Simulated time, in nanoseconds.
    pub simulated_ns: f64,
    /// Simulated time of the checkpoint that the run was resumed from. What the run cost counts from there.
    pub resumed_at_ns: Option<f64>,
    /// Events carried out.
    pub events_processed: u64,
    /// Events whose effects stand.
    pub events_committed: u64,
    /// Events carried out and taken back.
    pub events_rolled_back: u64,
    /// Events sent to another thread.
    pub events_remote: u64,
    /// 1 - rolled back / processed.
    pub efficiency: f64,
    /// Rollbacks because an event came too late.
    pub primary_rollbacks: u64,
    /// Rollbacks because an event was cancelled that had been carried out.
    pub secondary_rollbacks: u64,
    /// Rollbacks by what was rolled back.
    pub rollbacks: Rollbacks,
    /// Cancellations sent to other threads.
    pub anti_messages: u64,
    /// Windows of the conservative executor.
    pub windows: u64,
    /// Computations of global virtual time by the optimistic executor.
    pub gvt_rounds: u64,
    /// Packet-hops per second of processor time; 0 for a resumed run, as the packet-hops are those of the whole
    /// run. Set by [`crate::RunResult::new`].
    pub packet_hops_per_cpu_s: f64,
    /// What each thread has simulated.
    pub parts: Vec<PartSummary>,
    /// Where each thread's time went; in the order of `parts`.
    pub thread_seconds: Vec<ThreadTimes>,
}

/// Rollbacks by kind of logical process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rollbacks {
    /// Of routers.
    pub router: u64,
    /// Of hosts.
    pub host: u64,
    /// Of the overseer.
    pub overseer: u64,
}

/// What one thread simulates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartSummary {
    /// Process.
    pub process: u64,
    /// Thread of the process.
    pub thread: u64,
    /// Number of routers.
    pub routers: u64,
    /// Number of hosts.
    pub hosts: u64,
    /// First router and the one after the last; the ids are consecutive.
    pub router_range: [u64; 2],
    /// Share of the expected work.
    pub share: f64,
}

/// Where one thread's time went, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ThreadTimes {
    /// Carrying out events.
    pub processing: f64,
    /// Sorting and moving pending events, taking in those of others, committing.
    pub queue: f64,
    /// Waiting for other threads to agree on a window or on global virtual time.
    pub synchronisation: f64,
    /// Taking events back.
    pub rollback: f64,
    /// Waiting with nothing else to do.
    pub idle: f64,
}

/// Picoseconds as nanoseconds.
pub(crate) fn nanoseconds(ps: u64) -> f64 {
    ps as f64 / 1000.0
}
