//! Runs the programs of all ranks to their end, so that every opened trace can be simulated and receives
//! without sends are found with their line. Summarises the trace.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::AllprofArchive;
use super::program::{AllprofProgram, Unrecorded};
use crate::recording_window::RecordingEdges;
use crate::scan::{OperationTotals, counted_notes};
use crate::{Operation, Program, TraceError, TraceInfo};

/// Checks that all programs reach their end and that sends and receives agree.
///
/// # Errors
/// The first error, with file, rank, line and call.
pub fn check(archive: &Arc<AllprofArchive>) -> Result<(), TraceError> {
    run_programs(archive).map(|_| ())
}

/// Summarises a trace; `main` is its file.
///
/// # Errors
/// As [`check`].
pub fn info(archive: AllprofArchive, main: &Path) -> Result<TraceInfo, TraceError> {
    let archive = Arc::new(archive);
    let (operations, unrecorded) = run_programs(&archive)?;
    let notes = notes(&unrecorded, operations.internal);
    let (totals, communicators) = (&archive.totals, &archive.communicators);
    Ok(operations.into_info(main, super::FORMAT.name, totals, communicators, notes))
}

fn run_programs(archive: &Arc<AllprofArchive>) -> Result<(OperationTotals, Unrecorded), TraceError> {
    let mut operations = OperationTotals::default();
    let mut unrecorded = Unrecorded::default();
    let mut balance = MessageBalance::default();
    for rank in 0..archive.files.len() as u32 {
        let mut program = AllprofProgram::new(archive.clone(), rank, RecordingEdges::MPI);
        while let Some(operation) = program.next()? {
            operations.add(&operation, rank, &archive.communicators);
            balance.add(&operation, rank, program.at, archive);
        }
        operations.add_recording(program.recording());
        unrecorded.add(&program.unrecorded);
    }
    balance.check(archive)?;
    Ok((operations, unrecorded))
}

impl Unrecorded {
    fn add(&mut self, other: &Unrecorded) {
        for (sum, n) in [
            (&mut self.wildcards, other.wildcards),
            (&mut self.tests, other.tests),
            (&mut self.not_made, other.not_made),
            (&mut self.left, other.left),
            (&mut self.backwards, other.backwards),
        ] {
            *sum = sum.saturating_add(n);
        }
    }
}

/// Line and name of a call.
type CallPlace = (u64, &'static str);

/// Communicator, receiver, sender and tag; no tag where tags are not distinguished.
type MessageKey = (u32, u32, u32, Option<u32>);

/// Largest number of keys with tags.
const MOST_TAGGED: usize = 1 << 20;

/// Messages sent and not received, and the reverse, while ranks are read in order.
#[derive(Default)]
struct MessageBalance {
    /// Sends minus receives, and the last receive.
    messages: BTreeMap<MessageKey, (i64, CallPlace)>,
    /// Receives from any source or with any tag by communicator and receiver, and the last one.
    wild: BTreeMap<(u32, u32), (i64, CallPlace)>,
    /// Number of collectives by communicator and rank, and the last one.
    collectives: BTreeMap<(u32, u32), (u64, CallPlace)>,
    /// Whether tags are not distinguished, because there are too many.
    without_tags: bool,
}

impl MessageBalance {
    fn add(&mut self, operation: &Operation, rank: u32, at: CallPlace, archive: &AllprofArchive) {
        // The last communicator is that of each rank alone.
        let groups = archive.groups();
        let world = |group: u32, peer: u32| groups.get(group as usize).map_or(peer, |g| g[peer as usize]);
        match operation {
            Operation::Send {
                to,
                tag,
                communicator,
                ..
            } => {
                let to = world(*communicator, *to);
                self.count((*communicator, to, rank, Some(*tag)), 1, None);
            }
            Operation::Receive {
                from,
                tag,
                communicator,
                ..
            } => match (from, tag) {
                (Some(from), Some(tag)) => {
                    let from = world(*communicator, *from);
                    self.count((*communicator, rank, from, Some(*tag)), -1, Some(at));
                }
                _ => {
                    let entry = self.wild.entry((*communicator, rank)).or_insert((0, at));
                    *entry = (entry.0 + 1, at);
                }
            },
            Operation::Collective { communicator, .. } => {
                let entry = self.collectives.entry((*communicator, rank)).or_insert((0, at));
                *entry = (entry.0 + 1, at);
            }
            _ => {}
        }
    }

    fn count(&mut self, envelope: MessageKey, change: i64, at: Option<CallPlace>) {
        let (group, to, from, tag) = envelope;
        let key = (group, to, from, tag.filter(|_| !self.without_tags));
        let entry = self.messages.entry(key).or_insert((0, (0, "")));
        *entry = (entry.0 + change, at.unwrap_or(entry.1));
        if entry.0 == 0 {
            self.messages.remove(&key);
        }
        if self.messages.len() > MOST_TAGGED && !self.without_tags {
            self.without_tags = true;
            for ((group, to, from, _), (n, at)) in std::mem::take(&mut self.messages) {
                let entry = self.messages.entry((group, to, from, None)).or_insert((0, at));
                *entry = (entry.0 + n, entry.1.max(at));
            }
        }
    }

    /// # Errors
    /// There are more receives than sends, or the members of a communicator call different numbers of
    /// collectives.
    fn check(self, archive: &AllprofArchive) -> Result<(), TraceError> {
        let mut surplus: BTreeMap<(u32, u32), i64> = BTreeMap::new();
        for ((group, to, from, tag), (n, (line, name))) in self.messages {
            if n < 0 {
                let tag = tag.map(|tag| format!(" with tag {tag}")).unwrap_or_default();
                return Err(archive.files[to as usize].error(format!(
                    "line {line}: {name}: the last of {} receives from rank {from}{tag} that nothing is sent to",
                    -n
                )));
            }
            *surplus.entry((group, to)).or_default() += n;
        }
        for ((group, to), (n, (line, name))) in self.wild {
            let surplus = surplus.get(&(group, to)).copied().unwrap_or(0);
            if n > surplus {
                return Err(archive.files[to as usize].error(format!(
                    "line {line}: {name}: the last of {n} receives from any source or with any tag, for which \
                     only {surplus} messages are left"
                )));
            }
        }
        for (group, members) in archive.groups().iter().enumerate() {
            let calls = |rank: &u32| {
                let none = (0, (1, "no collective"));
                *self.collectives.get(&(group as u32, *rank)).unwrap_or(&none)
            };
            let counts = members.iter().map(|rank| (calls(rank), *rank));
            let Some(((most, _), other)) = counts.clone().max_by_key(|((n, _), _)| *n) else {
                continue;
            };
            if let Some(((n, (line, name)), rank)) = counts.clone().find(|((n, _), _)| *n < most) {
                return Err(archive.files[rank as usize].error(format!(
                    "line {line}: {name}: the last of {n} collectives on a communicator of {} ranks, but rank {other} \
                     calls {most}",
                    members.len()
                )));
            }
        }
        Ok(())
    }
}

fn notes(unrecorded: &Unrecorded, internal: u64) -> Vec<String> {
    let mut notes = vec!["computation is the time between calls on each rank's own wall clock".to_string()];
    let counted = [
        (
            unrecorded.wildcards,
            "receives are from any source or with any tag; what they took is not recorded, so they take what \
             comes first",
        ),
        (
            unrecorded.tests,
            "times a request was tested; what was found is not recorded, so it is waited for where its variable \
             is used again, or at the end",
        ),
        (
            unrecorded.not_made,
            "requests are waited for that no recorded call has put there: MPI_REQUEST_NULL, or copies; they are \
             not waited for here",
        ),
        (unrecorded.left, "requests are never waited for"),
        (
            unrecorded.backwards,
            "calls begin before the one before has ended; there is no computation between them",
        ),
        (
            internal,
            "collective operations are internal to calls that create communicators, as in MPICH",
        ),
    ];
    notes.extend(counted_notes(counted));
    notes
}
