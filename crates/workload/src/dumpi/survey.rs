//! Sums up a trace: what the first pass has counted, and what the programs of all ranks do.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::Archive;
use super::program::RankProgram;
use crate::info::{CommunicatorInfo, MessageInfo};
use crate::share::Collectives;
use crate::{Call, Collective, Operation, Program, TraceError, TraceInfo};

/// Sums up a trace; `main` is its file, for the record. All programs run to their end, so that a trace that
/// has been summed up can be simulated.
pub fn info(archive: Archive, main: &Path) -> Result<TraceInfo, TraceError> {
    let archive = Arc::new(archive);
    let mut tally = Tally::default();
    for rank in 0..archive.files.len() as u32 {
        let mut program = RankProgram::new(archive.clone(), rank);
        let mut own = BTreeMap::new();
        while let Some(operation) = program.next()? {
            tally.note(&operation, rank, &mut own, &archive);
        }
        tally.open += program.open_requests() as u64;
        tally.dropped += program.dropped;
        tally.wild += program.wild;
    }
    Ok(tally.into_info(&archive, main))
}

#[derive(Default)]
struct Tally {
    compute_ps: u64,
    sizes: BTreeMap<u64, u64>,
    collectives: Collectives,
    housekeeping: u64,
    open: u64,
    dropped: u64,
    wild: u64,
}

impl Tally {
    fn note(&mut self, operation: &Operation, rank: u32, own: &mut BTreeMap<u32, u64>, archive: &Archive) {
        match operation {
            Operation::Compute { ps, .. } => self.compute_ps = self.compute_ps.saturating_add(*ps),
            Operation::Send { bytes, .. } => *self.sizes.entry(*bytes).or_default() += 1,
            Operation::Collective { collective, call, .. } if makes_or_frees(*call, *collective) => {
                self.housekeeping += 1;
            }
            Operation::Collective { communicator, .. } => {
                let members = &archive.communicators.members[*communicator as usize];
                let position = || members.iter().position(|m| *m == rank).unwrap_or(0) as u64;
                let own = *own.entry(*communicator).or_insert_with(position);
                self.collectives.note(operation, members.len(), own);
            }
            _ => {}
        }
    }

    fn into_info(self, archive: &Archive, main: &Path) -> TraceInfo {
        let totals = &archive.totals;
        let total_ps = totals.total_ns.saturating_mul(1000).max(1);
        TraceInfo {
            file: main.display().to_string(),
            format: super::FORMAT.name.into(),
            ranks: archive.files.len() as u32,
            span_ps: totals.span_ns.saturating_mul(1000),
            compute_ps: self.compute_ps,
            compute_share: self.compute_ps as f64 / total_ps as f64,
            events: totals.records,
            mpi_calls: totals.calls.values().sum(),
            mpi_calls_by_name: totals
                .calls
                .iter()
                .map(|(name, n)| ((*name).into(), *n))
                .collect(),
            messages: MessageInfo::from_sizes(&self.sizes),
            notes: self.notes(archive),
            collectives: self.collectives.into_info(),
            communicators: communicators(archive),
        }
    }

    fn notes(&self, archive: &Archive) -> Vec<String> {
        let totals = &archive.totals;
        let mut notes = vec![match archive.clock_name() {
            Some(clock) => format!("computation is the time between calls on the {clock} clock"),
            None => "no times were recorded; there is no computation".into(),
        }];
        let calls_of = |prefix: &str| -> u64 {
            let calls = totals.calls.iter().filter(|(name, _)| name.starts_with(prefix));
            calls.map(|(_, n)| n).sum()
        };
        let counted = [
            (
                totals.by_threads,
                "calls were made by other threads than the first; they are replayed as recorded, as if one thread had made all",
            ),
            (
                self.open,
                "requests never complete; receives among them are left out if they are from any source",
            ),
            (
                self.dropped,
                "receives were cancelled or never complete; they are left out",
            ),
            (
                self.wild,
                "receives are from any source or with any tag, and were recorded without a status; they take what comes first",
            ),
            (
                self.housekeeping,
                "collective operations are those inside calls that make or free communicators and windows, as in MPICH",
            ),
            (
                calls_of("MPI_File_") + calls_of("MPIO_"),
                "calls of MPI-IO; they are not replayed",
            ),
        ];
        notes.extend(
            counted
                .iter()
                .filter(|(n, _)| *n > 0)
                .map(|(n, what)| format!("{n} {what}")),
        );
        if totals.version > [13, 0, 0] {
            let [major, minor, patch] = totals.version;
            notes.push(format!(
                "written by version {major}.{minor}.{patch} of the library, which is newer than what this reader was made for (13.0.0)"
            ));
        }
        notes
    }
}

fn makes_or_frees(call: Call, collective: Collective) -> bool {
    let made_by_others = call == Call::Other && collective != Collective::Alltoall;
    matches!(
        call,
        Call::CommDup
            | Call::CommSplit
            | Call::CommCreate
            | Call::CartCreate
            | Call::WinCreate
            | Call::WinFree
    ) || made_by_others
}

fn communicators(archive: &Archive) -> Vec<CommunicatorInfo> {
    let groups = &archive.communicators.members[..archive.communicators.groups];
    CommunicatorInfo::by_size(groups.iter().map(|members| members.len() as u32))
}
