//! The output of a run: histograms, tables, digest, summary, Parquet and the report page.
//!
//! This crate knows no simulation. It receives plain rows and numbers ([`Outcome`]) and turns them into a
//! [`RunResult`], which is one folder on disk. Nothing here reads a clock or depends on the machine. The [`Digest`]
//! covers everything on which two runs of one experiment must agree.

mod assumed;
mod batch;
mod bound_by;
mod bounds;
mod checksums;
pub mod colours;
mod communication;
mod compare;
mod compared_runs;
mod contribution;
mod costs;
mod critical_path;
mod delivery;
mod differing_keys;
mod digest;
mod energy;
mod entries;
mod error;
mod extremes;
mod fairness;
mod folder;
mod folder_checksums;
mod headline;
mod histogram;
mod interference;
mod mpi_parts;
mod nanoseconds;
mod note;
mod notes;
mod outcome;
mod partial;
mod recording;
mod repetition;
mod report;
mod router_model;
pub mod rows;
mod run_path;
mod run_result;
mod running;
mod schedule;
mod show;
mod slow_down;
pub mod stream;
mod summary;
mod table;
mod table_file;
mod verdict;
mod verdict_content;
mod verify;

pub use assumed::{AssumedValue, Assumptions, MeasuredError};
pub use batch::{BATCH_ROWS, BatchColumns, TextColumn, WrongColumn, read_batches};
pub use bound_by::{BoundBy, LinkShare, PathTotals, TransferWeight};
pub use bounds::{Bounds, JobBounds, ZeroLoad};
pub use communication::{Communication, Sent, carries_data};
pub use compare::{NETWORK_BOUNDS, compare};
pub use compared_runs::{ComparedRuns, ComparedValue, compare_runs};
pub use contribution::PathContribution;
pub use costs::{BillItem, CableCount, CostTable, Inventory, RouterCount, router_kind};
pub use critical_path::{
    CRITICAL_PATH_SCHEMA, CriticalPath, CriticalPaths, PathLink, PathRank, PathReason, PathWait,
};
pub use delivery::{Delivery, deliveries};
pub use differing_keys::{DifferingKey, differing_keys};
pub use digest::{Chain, Digest, hash};
pub use energy::{ComponentEnergy, ComponentTotals, EnergySummary, EnergyTotals, JobEnergy, JobEnergyTotals};
pub use entries::{CHECKPOINT, CRITICAL_PATH, OPERATIONS, PARTIAL_CHECKPOINT, REPLAY, RUNNING, SUMMARY};
pub use error::{ReadError, RegenerateError, WriteError};
pub use extremes::Better;
pub use fairness::{Fairness, HostTraffic};
pub use folder::{may_write, regenerate_report, renew_report};
pub use folder_checksums::accept_damage;
pub use headline::{TIE_OF_TIMES, TIE_OF_TRAFFIC};
pub use histogram::{Bucket, Histogram};
pub use interference::{Interference, SlowDown};
pub use mpi_parts::{MpiParts, MpiPartsTotals};
pub use note::{Note, Severity};
pub use notes::{NOTE_KINDS, NoteKind};
pub use outcome::{BacklogGrowth, JobTotals, LatencyParts, NetworkTotals, Outcome, TrafficTotals};
pub use recording::{CutSummary, NotReplayed, RecordedGap, RecordingSummary, RecordingTotals};
pub use repetition::{RepetitionSummary, RepetitionTimes};
pub use report::{REPORT_BYTES, experiment_toml, report};
pub use router_model::{OFF_FROM, OffFrom, only_router_model, other_router_models, router_model, waits_for};
pub use run_path::RunPath;
pub use run_result::{Replay, RunResult};
pub use running::{Running, RunningFolder, refuse_in_use};
pub use schedule::{ScheduleDistribution, ScheduleSummary, ScheduledSpan, bounded_slowdown};
pub use stream::{Collected, Stream, StreamState, TableStore};
pub use summary::{
    BacklogInterval, BusiestPeriod, Collect, CollectedTable, DroppedSummary, GearSummary, JobSummary,
    Latency, NetworkSummary, Rollbacks, RunSummary, SCHEMA, Summary, ThreadTimes, TrafficSummary, Unreceived,
    UnreceivedMessage, WorkerSummary,
};
pub use table::Table;
pub use table_file::TableFile;
pub use verdict::{
    DELIVERED, RepeatedRun, VERDICT_RULES, VERDICT_THRESHOLDS, VerdictRule, explained_summary, verdict,
    verdict_of_folder,
};
pub use verdict_content::{
    ChangedKey, Comparison, Confidence, ConfidenceLevel, Verdict, VerdictPlace, VerdictTime,
};
pub use verify::{DamagedFile, VerifiedFolder, lacks_checksums, verify, verify_summary};
