//! Sums over a trace in which MPI calls are recorded, for its [`TraceInfo`].

use std::collections::BTreeMap;
use std::path::Path;

use crate::collective_totals::CollectiveTotals;
use crate::info::{CommunicatorInfo, MessageInfo};
use crate::mpi_calls::{CommunicatorRef, Communicators};
use crate::{Call, Collective, MpiTimes, Operation, Recording, TraceInfo};

/// Counts over all records.
#[derive(Debug, Default)]
pub struct RecordTotals {
    /// Records.
    pub records: u64,
    /// Calls by name.
    pub calls: BTreeMap<&'static str, u64>,
    /// Earliest first event of a rank and latest last one, in picoseconds of the recording's clock.
    span: Option<(i128, i128)>,
    /// Sum of the times of all ranks in picoseconds.
    pub total_ps: u64,
}

impl RecordTotals {
    /// Counts a call.
    pub fn add_call(&mut self, name: &'static str) {
        *self.calls.entry(name).or_default() += 1;
    }

    /// Adds the first and the last event of a rank, in picoseconds.
    pub fn add_span(&mut self, first: i128, last: i128) {
        let (from, until) = self.span.unwrap_or((first, last));
        self.span = Some((from.min(first), until.max(last)));
        self.total_ps = self.total_ps.saturating_add(picoseconds(last - first));
    }

    /// Time from the first to the last event of all ranks in picoseconds; 0 without times.
    pub fn span_ps(&self) -> u64 {
        self.span.map_or(0, |(from, until)| picoseconds(until - from))
    }
}

fn picoseconds(difference: i128) -> u64 {
    u64::try_from(difference.max(0)).unwrap_or(u64::MAX)
}

/// Sums over the operations of all ranks.
#[derive(Default)]
pub struct OperationTotals {
    compute_ps: u64,
    sizes: BTreeMap<u64, u64>,
    collectives: CollectiveTotals,
    /// Collectives inside calls that create or free communicators and RMA windows.
    pub internal: u64,
    mpi: MpiTimes,
    /// The current rank, and its numbers in communicators.
    rank: u32,
    positions: BTreeMap<u32, u64>,
}

impl OperationTotals {
    /// Adds an operation. Operations come rank by rank.
    pub fn add(&mut self, operation: &Operation, rank: u32, communicators: &Communicators) {
        if rank != self.rank {
            self.rank = rank;
            self.positions.clear();
        }
        match operation {
            Operation::Compute { ps, .. } => self.compute_ps = self.compute_ps.saturating_add(*ps),
            Operation::Send { bytes, .. } => *self.sizes.entry(*bytes).or_default() += 1,
            Operation::Collective { collective, call, .. } if is_internal(*call, *collective) => {
                self.internal += 1;
            }
            Operation::Collective { communicator, .. } => {
                let position = || {
                    let (own, _) = communicators.position(CommunicatorRef::Group(*communicator), rank);
                    own as u64
                };
                let own = *self.positions.entry(*communicator).or_insert_with(position);
                let ranks = communicators.members[*communicator as usize].len();
                self.collectives.add(operation, ranks, own);
            }
            _ => {}
        }
    }

    /// Adds what the recording of a rank tells, at the end of its program.
    pub fn add_recording(&mut self, recording: Option<&Recording>) {
        if let Some(recording) = recording {
            self.mpi.add(recording);
        }
    }

    /// The summary of the trace in `main`.
    pub fn into_info(
        self,
        main: &Path,
        format: &str,
        records: &RecordTotals,
        communicators: &Communicators,
        notes: Vec<String>,
    ) -> TraceInfo {
        let calls = records.calls.iter();
        TraceInfo {
            file: main.display().to_string(),
            format: format.into(),
            ranks: communicators.created.len() as u32,
            span_ps: records.span_ps(),
            mpi: self.mpi,
            compute_ps: self.compute_ps,
            compute_share: self.compute_ps as f64 / records.total_ps.max(1) as f64,
            events: records.records,
            mpi_calls: records.calls.values().sum(),
            mpi_calls_by_name: calls.map(|(name, n)| ((*name).into(), *n)).collect(),
            messages: MessageInfo::from_sizes(&self.sizes),
            notes,
            collectives: self.collectives.into_info(),
            communicators: CommunicatorInfo::by_size(communicators.sizes()),
            bigsim: None,
        }
    }
}

/// Whether a collective belongs to a call that creates or frees a communicator or RMA window.
fn is_internal(call: Call, collective: Collective) -> bool {
    use Call::{CartCreate, CommCreate, CommDup, CommSplit, Other, WinCreate, WinFree};
    match call {
        CommDup | CommSplit | CommCreate | CartCreate | WinCreate | WinFree => true,
        // MPI_Alltoallw is `Other`, too.
        Other => collective != Collective::Alltoall,
        _ => false,
    }
}

/// Notes of the counts above 0.
pub fn counted_notes<'a>(counts: impl IntoIterator<Item = (u64, &'a str)>) -> impl Iterator<Item = String> {
    let counted = counts.into_iter().filter(|(n, _)| *n > 0);
    counted.map(|(n, what)| format!("{n} {what}"))
}
