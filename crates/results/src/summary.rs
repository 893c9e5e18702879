//! `summary.json`: experiment, results, cost. Documented in `docs/formats/summary.md`.
//!
//! The experiment and its seed determine everything except [`Summary::run`]. Times are in nanoseconds, the usual unit
//! of the field. They are exact quotients of the measured integer picoseconds.

use config::RoundedRate;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::nanoseconds::nanoseconds;
use crate::{
    Assumptions, BoundBy, Bounds, EnergySummary, Fairness, Histogram, Interference, JobEnergy, MpiParts,
    Note, RecordingSummary, RepetitionSummary, ScheduleSummary, Verdict, show,
};

/// Version of the keys and their meaning.
pub const SCHEMA: &str = "fabricsim/summary/1";

/// The summary of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Version: [`SCHEMA`].
    pub schema: String,
    /// Hash of all results, 64 hexadecimal digits, equal for all executors, thread counts and machines.
    pub digest: String,
    /// The experiment with all defaults.
    pub experiment: Value,
    /// Totals of the network.
    pub network: NetworkSummary,
    /// Totals of the jobs, in the order of the experiment.
    pub jobs: Vec<JobSummary>,
    /// What a reader must know of these numbers. Not part of the digest. Empty in results of older versions.
    #[serde(default)]
    pub notes: Vec<Note>,
    /// One sentence about the run, then where, when, why, what to try. Not part of the digest. `None` in results of
    /// older versions. [`crate::RunResult::judge`] sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Data rates of the experiment that are not whole numbers of bits per second, with the rates that are used. Not
    /// part of the digest. Empty in results of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounded_rates: Vec<RoundedRate>,
    /// Values that the experiment takes from presets and defaults without a source. Not part of the digest. Empty in
    /// results of older versions.
    #[serde(default, skip_serializing_if = "Assumptions::is_empty")]
    pub assumptions: Assumptions,
    /// Utilisation and waits of the schedule of a job trace. `None` without one. Not part of the digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<ScheduleSummary>,
    /// Slow-down of jobs of ranks by other jobs. `None` without standalone runs. The caller that ran them sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interference: Option<Interference>,
    /// Bounds of the synthetic traffic, computed without a run. `None` without such traffic, and in results of older
    /// versions. [`crate::RunResult::set_bounds`] sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// Tables collected during the run. `None` in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collect: Option<Collect>,
    /// Cost of the run: the only part that differs between runs.
    pub run: RunSummary,
}

impl Summary {
    /// The summary of an older version, with no value in place of 0 where no packet was measured.
    pub(crate) fn without_zeros(mut self) -> Summary {
        let network = &mut self.network;
        network.latency_ns = network.latency_ns.without_zeros();
        network.mean_hops = network.mean_hops.filter(|hops| *hops > 0.0);
        for job in &mut self.jobs {
            job.latency_ns = job.latency_ns.without_zeros();
        }
        self
    }
}

/// Tables collected during a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Collect {
    /// Hash of all rows of these tables, 64 hexadecimal digits, equal for all executors, thread counts and machines.
    /// [`Summary::digest`] does not cover them.
    pub digest: String,
    /// Sampling level: `off`, `classes`, `links` or `vcs`.
    pub series: String,
    /// Width of the first bins of time, in picoseconds.
    pub first_bin_ps: u64,
    /// Number of bins after which the width doubles. `null` for a constant width.
    pub bins_per_width: Option<u64>,
    /// Number of bins in a period, for which there are sums over links. `None` in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bins_per_period: Option<u64>,
    /// The period with the most full links. `None` without series, if no link did anything, and in results of older
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest_period: Option<BusiestPeriod>,
    /// Tables with rows. Tables that were not collected or are empty are absent.
    pub tables: Vec<CollectedTable>,
}

/// The period with the most full links of routers; of several the one with the most blocked links, then the earliest.
/// If the end of the run cuts off more than half of the last period, that does not count, unless it is the only one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusiestPeriod {
    /// Its start, in picoseconds.
    pub begin_ps: u64,
    /// Its end or that of the run, in picoseconds.
    pub end_ps: u64,
    /// Links of routers, idle ones included.
    pub links: u64,
    /// Those with bits on them for at least 95 % of the period.
    pub full_links: u64,
    /// Those that were free, but had no packet with credits, for at least 10 % of the period.
    pub blocked_links: u64,
}

/// One collected table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CollectedTable {
    /// Name of the table.
    pub table: String,
    /// Number of rows.
    pub rows: u64,
    /// Hash of the rows, 64 hexadecimal digits.
    pub digest: String,
}

/// Lost packets of one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedSummary {
    /// The reason, for example `buffer-full`.
    pub reason: String,
    /// Packets.
    pub packets: u64,
    /// Their bytes with headers.
    pub bytes: u64,
}

/// Totals of the network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkSummary {
    /// The topology with its dimensions, for people.
    pub topology: String,
    /// Hosts.
    pub hosts: u64,
    /// NIC ports of each host.
    // Absent in results of older versions.
    #[serde(default = "one")]
    pub rails: u64,
    /// Disjoint copies of the topology, each with the same number of rails of every host.
    #[serde(default = "one")]
    pub planes: u64,
    /// Routers.
    pub routers: u64,
    /// Links: one per direction of a cable, those of hosts included.
    pub links: u64,
    /// Load of a minimal path's port, in bytes, above which routing may take a detour over idle links. `None` for
    /// routing that does not compare loads of paths, and in results of older versions.
    #[serde(default)]
    pub detour_load_bytes: Option<u64>,
    /// Buffer of one virtual channel of a link between routers, in bytes.
    #[serde(default)]
    pub vc_buffer_bytes: u64,
    /// Packets that NICs began to send, over the whole run.
    pub packets_injected: u64,
    /// Packets that arrived completely, over the whole run.
    pub packets_delivered: u64,
    /// Packets still in the network at the end: injected minus delivered, and minus those that were dropped or consumed
    /// on the way.
    pub packets_in_flight: u64,
    /// Packets that routers or NICs dropped, by reason. Absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<DroppedSummary>,
    /// Payload of the delivered packets in bytes, MPI's headers of messages included.
    pub bytes_delivered: u64,
    /// Links crossed by packets, injection and ejection included, over the whole run.
    pub packet_hops: u64,
    /// Mean links crossed by the measured packets. `None` without such packets.
    pub mean_hops: Option<f64>,
    /// Latency of the measured packets, in nanoseconds.
    pub latency_ns: Latency,
    /// Mean latency of the measured packets from the start onto the injection link, in nanoseconds: without the wait at
    /// the source. `None` if [`NetworkSummary::source_wait_ns`] is, if it is of other packets, because some that left
    /// in a drain phase had not arrived, without such packets, and in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_network_latency_ns: Option<f64>,
    /// Latency of the measured packets from the start onto the injection link, in nanoseconds. `None` unless
    /// `collect.network_latency` is set, with jobs of ranks, and in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_latency_ns: Option<Latency>,
    /// Waits at the source, in nanoseconds: with a drain phase of the packets that left of messages made in the
    /// measured time, otherwise of the measured packets. `None` with neither a drain phase nor
    /// [`NetworkSummary::network_latency_ns`], and in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_wait_ns: Option<Latency>,
    /// Traffic offered after the warm-up, as a fraction of the injection bandwidth of all hosts.
    pub offered_load: f64,
    /// Traffic delivered after the warm-up, as a fraction of the injection bandwidth of all hosts.
    pub accepted_load: f64,
    /// Simulated time after the warm-up, the measurement time of loads, latencies and link counters, in nanoseconds.
    pub measured_ns: f64,
    /// Energy from time 0 to the end of the run. `None` unless the experiment gives the power of its parts, and in
    /// results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergySummary>,
}

fn one() -> u64 {
    1
}

impl NetworkSummary {
    /// `16`, or with rails `16 with 4 rails in 2 planes`.
    pub(crate) fn hosts_text(&self) -> String {
        let hosts = show::count(self.hosts);
        match (self.rails, self.planes) {
            (..=1, _) => hosts,
            (rails, ..=1) => format!("{hosts} with {rails} rails"),
            (rails, planes) => format!("{hosts} with {rails} rails in {planes} planes"),
        }
    }
}

/// A distribution of latencies in nanoseconds. All values are `None` without measured packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Mean from the exact sum.
    pub mean: Option<f64>,
    /// Median, at most 1/64 above the exact one.
    pub p50: Option<f64>,
    /// 99th percentile, at most 1/64 above the exact one.
    pub p99: Option<f64>,
    /// Exact maximum.
    pub max: Option<f64>,
}

impl Latency {
    /// The latencies of a histogram of picoseconds.
    pub fn of_ps(histogram: &Histogram) -> Latency {
        if histogram.count() == 0 {
            return Latency::default();
        }
        Latency {
            mean: Some(histogram.mean() / 1000.0),
            p50: Some(nanoseconds(histogram.quantile(0.50))),
            p99: Some(nanoseconds(histogram.quantile(0.99))),
            max: Some(nanoseconds(histogram.max())),
        }
    }

    /// Replaces the zeros that results of older versions have without measured packets.
    fn without_zeros(self) -> Latency {
        if self.max == Some(0.0) {
            Latency::default()
        } else {
            self
        }
    }
}

/// Totals of one job.
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
    /// Number of repetitions of the workload of the ranks; 0: as many as fit before the end of the job.
    // Absent in results of older versions.
    #[serde(default = "one")]
    pub repetitions: u64,
    /// Times of the repetitions that all ranks have ended. `None` for a job of one repetition, for traffic, and in
    /// results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetition_times: Option<RepetitionSummary>,
    /// Whether all ranks reached the end of their programs before the job or the run ended; always true for traffic.
    pub finished: bool,
    /// Whether the end of the job interrupted ranks. Its time then is that from its start to its end, which says
    /// nothing about its work; [`JobSummary::repetition_times`] do.
    // Absent in results of older versions.
    #[serde(default)]
    pub stopped: bool,
    /// Predicted time: from the job's start to the end of its last rank, or to the end of the job or of the run.
    pub time_ns: f64,
    /// Computation per rank, mean over the ranks.
    pub compute_ns: f64,
    /// MPI calls per rank, mean over the ranks.
    pub mpi_ns: f64,
    /// Its parts. `None` for traffic, and in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mpi_parts: Option<MpiParts>,
    /// Messages sent, those of collectives included.
    pub messages: u64,
    /// Payload of these messages in bytes.
    pub bytes: u64,
    /// Packets delivered to the job's hosts and measured.
    pub packets: u64,
    /// Latency of these packets, in nanoseconds.
    pub latency_ns: Latency,
    /// As in [`NetworkSummary`], of these packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_network_latency_ns: Option<f64>,
    /// As in [`NetworkSummary`], of these packets. `None` for ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_latency_ns: Option<Latency>,
    /// As in [`NetworkSummary`], of the packets that left the job's hosts with a drain phase, otherwise of these
    /// packets. `None` for ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_wait_ns: Option<Latency>,
    /// Offered and accepted traffic. `None` for ranks, and in results of older versions.
    #[serde(default)]
    pub traffic: Option<TrafficSummary>,
    /// What the recording tells beside the replayed operations. `None` if the job is no recording, if no rank finished,
    /// and in results of older versions.
    #[serde(default)]
    pub recording: Option<RecordingSummary>,
    /// Messages of the program that no rank has received. `None` if there are none, for traffic, for a job that did not
    /// finish, and in results of older versions.
    #[serde(default)]
    pub unreceived: Option<Unreceived>,
    /// What bounds its time. `None` for traffic, for a job that did not finish, and in results of older versions.
    #[serde(default)]
    pub bound_by: Option<BoundBy>,
    /// Energy that is attributed to the job. `None` unless the experiment gives the power of its parts, and in results
    /// of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<JobEnergy>,
}

/// Messages of the program of a finished job that no rank has received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Unreceived {
    /// Their number.
    pub messages: u64,
    /// Number of messages that the program sent.
    pub sent: u64,
    /// One of them that had arrived. `None` if none had.
    pub example: Option<UnreceivedMessage>,
}

/// A message that no rank has received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UnreceivedMessage {
    /// Sending rank of the job.
    pub from: u64,
    /// Receiving rank of the job.
    pub to: u64,
    /// Tag.
    pub tag: u64,
}

/// Offered and accepted traffic of a job of synthetic traffic, without that of other jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrafficSummary {
    /// Traffic generated after the warm-up, as a fraction of the injection bandwidth of the job's hosts.
    pub offered_load: f64,
    /// Traffic delivered after the warm-up, as a fraction of the same bandwidth.
    pub accepted_load: f64,
    /// Bytes generated after the warm-up.
    pub offered_bytes: u64,
    /// Bytes delivered after the warm-up.
    pub accepted_bytes: u64,
    /// Bytes that were generated in the whole run, and had not arrived at its end.
    pub backlog_bytes: u64,
    /// Bytes generated in the measured time that had not arrived at the end of the drain phase; latency leaves them
    /// out. `None` without a drain phase, and in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_bytes: Option<u64>,
    /// Growth of the backlog in the last intervals of the measured time; the last one first.
    pub backlog: Vec<BacklogInterval>,
    /// Accepted load by sending host. `None` if no host of the job alone offered traffic.
    pub fairness: Option<Fairness>,
}

impl TrafficSummary {
    /// Delivered over offered bytes. Above 1 if bytes of the warm-up arrived after it; `None` if nothing was offered.
    pub(crate) fn delivered_share(&self) -> Option<f64> {
        (self.offered_bytes > 0).then(|| self.accepted_bytes as f64 / self.offered_bytes as f64)
    }
}

/// Growth of the backlog of synthetic traffic in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BacklogInterval {
    /// Start of the interval, in nanoseconds after the warm-up.
    pub from_ns: f64,
    /// Its end.
    pub until_ns: f64,
    /// Bytes generated minus bytes delivered in it.
    pub growth_bytes: i64,
}

/// Cost of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
// Results of older versions lack some fields.
#[serde(default)]
pub struct RunSummary {
    /// FabricSim's version.
    pub version: String,
    /// Executor; of several, that of the longest time.
    pub executor: String,
    /// Credit batching: `each` for credits returned one by one, or `batches`.
    pub credits: String,
    /// Number of processes.
    pub processes: u64,
    /// Threads per process; of several numbers, that of the longest time.
    pub threads: u64,
    /// Executors and numbers of threads that `auto` chose, in the order of their first use; empty for other executors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub auto: Vec<GearSummary>,
    /// Of another executor whose threads were not served by the system: its numbers of threads in the order of their
    /// first use, which begins with the number that was asked for; empty if that was the only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fewer_threads: Vec<GearSummary>,
    /// Wall-clock time of the simulation in seconds, without reading the experiment and writing the result.
    pub wall_s: f64,
    /// Processor time of all threads of all processes in seconds.
    pub cpu_s: f64,
    /// Largest resident memory, summed over the processes, in bytes.
    pub peak_rss_bytes: u64,
    /// Simulated time, in nanoseconds.
    pub simulated_ns: f64,
    /// Simulated time of the checkpoint from which the run was resumed. Cost counts from there.
    pub resumed_at_ns: Option<f64>,
    /// Executed events.
    pub events_processed: u64,
    /// Committed events. The number depends on the executor: hosts send ahead only where nothing can be rolled back.
    pub events_committed: u64,
    /// Executed events that were rolled back.
    pub events_rolled_back: u64,
    /// Events sent to another thread.
    pub events_remote: u64,
    /// 1 - rolled back / processed.
    pub efficiency: f64,
    /// Rollbacks because of an event that arrived late.
    pub primary_rollbacks: u64,
    /// Rollbacks because of the cancellation of an executed event.
    pub secondary_rollbacks: u64,
    /// Rollbacks by kind of logical process.
    pub rollbacks: Rollbacks,
    /// Cancellations sent to other threads.
    pub anti_messages: u64,
    /// Windows (conservative executor, and optimistic executor on one thread).
    pub windows: u64,
    /// Computations of global virtual time (optimistic executor on several threads).
    pub gvt_rounds: u64,
    /// Packet-hops per second of processor time. 0 for a resumed run, because packet-hops count over the whole run.
    /// [`crate::RunResult::new`] sets it.
    pub packet_hops_per_cpu_s: f64,
    /// The share of each thread in the simulation.
    pub parts: Vec<WorkerSummary>,
    /// The time of each thread by activity, in the order of `parts`.
    pub thread_seconds: Vec<ThreadTimes>,
}

/// What a run executed with one executor on some number of threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GearSummary {
    /// Executor.
    pub executor: String,
    /// Threads.
    pub threads: u64,
    /// Wall-clock time, with the time of going over to it, in seconds.
    pub wall_s: f64,
    /// Committed events.
    pub events: u64,
}

impl RunSummary {
    /// The same in at most 25 characters.
    pub fn executed_by_in_short(&self) -> String {
        let RunSummary {
            executor, threads, ..
        } = self;
        match (self.auto.is_empty(), self.processes) {
            (false, _) => format!("auto ({executor} {threads})"),
            (true, 0 | 1) => format!("{executor}, {threads} thread(s)"),
            (true, n) => format!("{executor}, {n} x {threads}"),
        }
    }

    /// The executor in words, with its processes and threads, with what `auto` chose, and with the number of threads
    /// that was asked for.
    pub fn executed_by(&self) -> String {
        let threads = |threads: u64| match threads {
            1 => "1 thread".into(),
            n => format!("{n} threads"),
        };
        let on = threads(self.threads);
        let chosen = match self.processes {
            0 | 1 => format!("{}, {on}", self.executor),
            n => format!("{}, {n} processes of {on}", self.executor),
        };
        let is_main = |gear: &&GearSummary| (&gear.executor, gear.threads) == (&self.executor, self.threads);
        let percent = |gears: &[GearSummary]| {
            let all: f64 = gears.iter().map(|gear| gear.wall_s).sum();
            let main = gears.iter().find(is_main)?;
            Some(100.0 * main.wall_s / all.max(1e-9))
        };
        if let Some(asked) = self.fewer_threads.first() {
            let percent = percent(&self.fewer_threads).unwrap_or(0.0);
            let asked = threads(asked.threads);
            return format!("{chosen} for {percent:.0} % of the time ({asked} had too few cores)");
        }
        match percent(&self.auto) {
            None => chosen,
            Some(_) if self.auto.len() == 1 => format!("auto: {chosen}"),
            Some(percent) => format!("auto: {chosen} ({percent:.0} % of the time)"),
        }
    }
}

/// Rollbacks by kind of logical process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rollbacks {
    /// Rollbacks of routers.
    pub router: u64,
    /// Rollbacks of hosts.
    pub host: u64,
    /// Rollbacks of the termination detector.
    // Results of older versions call it so.
    #[serde(alias = "overseer")]
    pub termination_detector: u64,
}

/// The part of a partition that a worker, one thread of a process, simulates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerSummary {
    /// Number of the process.
    pub process: u64,
    /// Number of the thread in the process.
    pub thread: u64,
    /// Number of routers.
    pub routers: u64,
    /// Number of hosts.
    pub hosts: u64,
    /// First router and the one after the last. The numbers are consecutive.
    pub router_range: [u64; 2],
    /// Share of the expected work.
    pub share: f64,
}

/// The time of one thread by activity, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ThreadTimes {
    /// Executing events.
    pub processing: f64,
    /// Sorting and moving pending events, receiving events of other threads, committing.
    pub queue: f64,
    /// Waiting for other threads to agree on a window or on global virtual time.
    pub synchronisation: f64,
    /// Rolling back events.
    pub rollback: f64,
    /// Idle waiting.
    pub idle: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_shown_with_their_rails_if_they_have_several() {
        let shown = |rails, planes| {
            let network = NetworkSummary {
                hosts: 16,
                rails,
                planes,
                ..NetworkSummary::default()
            };
            network.hosts_text()
        };
        assert_eq!(shown(1, 1), "16");
        assert_eq!(shown(4, 1), "16 with 4 rails");
        assert_eq!(shown(4, 2), "16 with 4 rails in 2 planes");
    }

    #[test]
    fn a_run_says_what_has_executed_it() {
        let gear = |executor: &str, threads, wall_s| GearSummary {
            executor: executor.into(),
            threads,
            wall_s,
            events: 1,
        };
        let shown = |auto, fewer_threads| {
            let run = RunSummary {
                executor: "conservative".into(),
                processes: 1,
                threads: 1,
                auto,
                fewer_threads,
                ..RunSummary::default()
            };
            run.executed_by()
        };
        assert_eq!(shown(vec![], vec![]), "conservative, 1 thread");
        let one = gear("conservative", 1, 3.0);
        assert_eq!(shown(vec![one.clone()], vec![]), "auto: conservative, 1 thread");
        let several = vec![gear("optimistic", 2, 1.0), one.clone()];
        assert_eq!(
            shown(several, vec![]),
            "auto: conservative, 1 thread (75 % of the time)"
        );
        let fewer = vec![gear("conservative", 4, 1.0), one];
        assert_eq!(
            shown(vec![], fewer),
            "conservative, 1 thread for 75 % of the time (4 threads had too few cores)"
        );
    }
}
