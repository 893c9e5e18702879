//! Summarises a schedule. The program of each rank runs to its end, so that a summarised schedule can be
//! simulated.

use std::collections::BTreeMap;

use super::GoalSchedule;
use super::balance::MessageCounts;
use crate::info::{CommunicatorInfo, MessageInfo};
use crate::scan::counted_notes;
use crate::{MpiTimes, Operation, Program, TraceError, TraceInfo, Workload};

/// Summarises a schedule.
pub fn info(schedule: &GoalSchedule) -> Result<TraceInfo, TraceError> {
    let mut totals = ScheduleTotals::default();
    for rank in 0..schedule.ranks() {
        totals.rank(schedule, rank)?;
    }
    let file = schedule.file.display().to_string();
    totals.balance.check().map_err(|(rank, message)| TraceError {
        file: file.clone(),
        rank: Some(rank),
        message,
    })?;
    Ok(totals.into_info(file, schedule.ranks()))
}

/// Counts over all ranks.
#[derive(Default)]
struct ScheduleTotals {
    operations: u64,
    compute_ps: u64,
    calls: BTreeMap<String, u64>,
    sizes: BTreeMap<u64, u64>,
    sent_bytes: u128,
    received_bytes: u128,
    wildcards: u64,
    balance: MessageCounts,
    several_cpus: u64,
    several_nics: u64,
}

impl ScheduleTotals {
    fn rank(&mut self, schedule: &GoalSchedule, rank: u32) -> Result<(), TraceError> {
        let mut program = schedule.rank_program(rank)?;
        while let Some(operation) = program.next()? {
            self.operation(rank, &operation);
        }
        self.operations += u64::from(program.started());
        let (cpus, nics) = program.several_units();
        self.several_cpus += u64::from(cpus);
        self.several_nics += u64::from(nics);
        Ok(())
    }

    fn operation(&mut self, rank: u32, operation: &Operation) {
        let call = match operation {
            Operation::Compute { ps, .. } => {
                self.compute_ps = self.compute_ps.saturating_add(*ps);
                return;
            }
            Operation::Send { to, bytes, call, .. } => {
                self.balance.add(*to, 1, 0);
                *self.sizes.entry(*bytes).or_default() += 1;
                self.sent_bytes += u128::from(*bytes);
                call
            }
            Operation::Receive {
                from,
                tag,
                bytes,
                call,
                ..
            } => {
                self.balance.add(rank, 0, 1);
                self.wildcards += u64::from(from.is_none() || tag.is_none());
                self.received_bytes += u128::from(*bytes);
                call
            }
            Operation::Wait { call, .. } => call,
            // A schedule has no other operations.
            _ => return,
        };
        *self.calls.entry(call.name().into()).or_default() += 1;
    }

    fn into_info(self, file: String, ranks: u32) -> TraceInfo {
        TraceInfo {
            file,
            format: super::FORMAT.name.into(),
            ranks,
            span_ps: 0,
            mpi: MpiTimes::default(),
            compute_ps: self.compute_ps,
            compute_share: 0.0,
            events: self.operations,
            mpi_calls: self.calls.values().sum(),
            notes: self.notes(),
            mpi_calls_by_name: self.calls,
            messages: MessageInfo::from_sizes(&self.sizes),
            collectives: BTreeMap::new(),
            communicators: vec![CommunicatorInfo { ranks, count: 1 }],
            bigsim: None,
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = vec!["a schedule has no recorded times; its span is 0".to_string()];
        let counted = [
            (
                self.several_cpus,
                "ranks use several CPUs; each rank is replayed on one CPU, sequentially",
            ),
            (
                self.several_nics,
                "ranks name several NICs; the rails of the experiment determine the NIC",
            ),
            (self.wildcards, "receives accept any source or any tag"),
        ];
        notes.extend(counted_notes(counted));
        if self.sent_bytes != self.received_bytes {
            notes.push(format!(
                "{} bytes are sent, but {} received: buffers are larger than messages, or too small",
                self.sent_bytes, self.received_bytes
            ));
        }
        notes
    }
}
