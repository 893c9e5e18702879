//! Messages and collectives that cross the borders of a window.
//!
//! MPI matches the messages between two ranks with one tag in order, and members of a communicator call its collectives
//! in one order. Counts of sends, receives and collectives before and in the window therefore tell which of them have
//! both ends inside. One pass over the programs, up to the end of the window, finds these counts. Memory is that of the
//! distinct pairs of ranks and tags, and is limited.

use std::collections::BTreeMap;

use super::edges::error;
use super::{CuttableRecording, RecordingEdges, RecordingWindow};
use crate::{Operation, TraceError};

/// Largest number of distinct messages by communicator, ranks and tag.
const MOST_KEYS: usize = 1 << 22;

/// What an operation is matched by. Ranks are those of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchKey {
    /// A send.
    Send(MatchedMessages),
    /// A receive.
    Receive(MatchedMessages),
    /// A collective on a communicator.
    Collective(u32),
    /// A fence on the communicator of a window.
    Fence(u32),
}

/// Messages that MPI keeps in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MatchedMessages {
    pub communicator: u32,
    pub from: u32,
    pub to: u32,
    pub tag: u32,
}

/// Operations of a rank in its window that have a partner inside, by number in the window from 0. An absent key keeps
/// all.
pub type KeptOperations = BTreeMap<MatchKey, (u64, u64)>;

/// Operations of one key: before the window, and in it.
#[derive(Clone, Copy, Debug, Default)]
struct BorderCounts {
    before: u64,
    inside: u64,
}

impl BorderCounts {
    fn add(&mut self, inside: bool) {
        if inside {
            self.inside += 1;
        } else {
            self.before += 1;
        }
    }

    fn end(self) -> u64 {
        self.before + self.inside
    }
}

/// Collectives or fences of one communicator.
#[derive(Default)]
struct CollectiveCounts {
    members: BTreeMap<u32, BorderCounts>,
}

/// The key of an operation of a rank. `None` if it has no partner, or if the recording does not tell its source or tag.
pub fn match_key(operation: &Operation, rank: u32, communicators: &[Vec<u32>]) -> Option<MatchKey> {
    let world = |communicator: u32, peer: u32| {
        let members = communicators.get(communicator as usize);
        members.and_then(|members| members.get(peer as usize)).copied()
    };
    match *operation {
        Operation::Send {
            to,
            tag,
            communicator,
            ..
        } => Some(MatchKey::Send(MatchedMessages {
            communicator,
            from: rank,
            to: world(communicator, to)?,
            tag,
        })),
        Operation::Receive {
            from,
            tag,
            communicator,
            ..
        }
        | Operation::Probe {
            from,
            tag,
            communicator,
            ..
        }
        | Operation::Iprobe {
            from,
            tag,
            communicator,
            ..
        }
        | Operation::MatchedProbe {
            from,
            tag,
            communicator,
            ..
        } => Some(MatchKey::Receive(MatchedMessages {
            communicator,
            from: world(communicator, from?)?,
            to: rank,
            tag: tag?,
        })),
        Operation::Collective { communicator, .. } => Some(MatchKey::Collective(communicator)),
        Operation::Fence { communicator, .. }
        | Operation::Put { communicator, .. }
        | Operation::Get { communicator, .. } => Some(MatchKey::Fence(communicator)),
        Operation::Compute { .. }
        | Operation::Wait { .. }
        | Operation::Select { .. }
        | Operation::ReceiveMatched { .. }
        | Operation::Cancel { .. }
        | Operation::NewCommunicator { .. }
        | Operation::RepetitionEnd { .. } => None,
    }
}

/// Whether an operation takes its place in the order of its key. Probes, puts and gets refer to the next that does.
pub fn is_counted(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Send { .. }
            | Operation::Receive { .. }
            | Operation::Collective { .. }
            | Operation::Fence { .. }
    )
}

/// Counts of all ranks.
#[derive(Default)]
struct Borders {
    /// Of the sender and of the receiver.
    messages: BTreeMap<MatchedMessages, [BorderCounts; 2]>,
    collectives: BTreeMap<MatchKey, CollectiveCounts>,
    calls_inside: u64,
}

/// What each rank keeps.
///
/// # Errors
/// The window is empty or beyond the end, the recording does not tell the source of a message, or it is damaged.
pub fn find(
    recorded: &dyn CuttableRecording,
    window: &RecordingWindow,
    edges: &[RecordingEdges],
) -> Result<Vec<KeptOperations>, TraceError> {
    let communicators = recorded.communicators();
    let mut borders = Borders::default();
    for (rank, edges) in (0..).zip(edges) {
        borders.count_rank(recorded, window, rank, *edges, &communicators)?;
    }
    if borders.calls_inside == 0 {
        let message = "the window holds no MPI call of any rank; choose a longer one within the recording (`fabricsim \
                       trace info` shows its length)";
        return Err(error(recorded, None, message));
    }
    Ok(borders.kept(recorded.ranks(), &communicators))
}

impl Borders {
    fn count_rank(
        &mut self,
        recorded: &dyn CuttableRecording,
        window: &RecordingWindow,
        rank: u32,
        edges: RecordingEdges,
        communicators: &[Vec<u32>],
    ) -> Result<(), TraceError> {
        let mut program = recorded.program_between(rank, edges)?;
        while !program.is_past()
            && let Some(operation) = program.next()?
        {
            let inside = program.is_inside();
            // Operations after the window are not counted: those that it holds would be their partners.
            if inside || !program.is_past() {
                self.count(recorded, &operation, rank, inside, communicators)?;
            }
        }
        let (calls, inside) = program.calls();
        self.calls_inside += inside;
        let RecordingWindow::Calls(bounds) = window else {
            return Ok(());
        };
        // The window may end after the last call.
        let beyond = [("start", bounds.start, calls), ("end", bounds.end, calls + 1)];
        for (key, bound, last) in beyond {
            if let Some(bound) = bound.filter(|bound| *bound > last) {
                let message = format!(
                    "makes {calls} MPI calls, but the window has {key} = {bound}; choose at most {last}"
                );
                return Err(error(recorded, Some(rank), message));
            }
        }
        Ok(())
    }

    fn count(
        &mut self,
        recorded: &dyn CuttableRecording,
        operation: &Operation,
        rank: u32,
        inside: bool,
        communicators: &[Vec<u32>],
    ) -> Result<(), TraceError> {
        if let Operation::Receive { from, tag, call, .. } | Operation::Probe { from, tag, call, .. } =
            operation
            && (from.is_none() || tag.is_none())
        {
            let message = format!(
                "{} takes a message from any source or with any tag, and the recording does not tell which one, so that a \
                 window cannot tell which messages cross its border; choose kind = \"mpi\" or \"all\"",
                call.name()
            );
            return Err(error(recorded, Some(rank), message));
        }
        if !is_counted(operation) {
            return Ok(());
        }
        match match_key(operation, rank, communicators) {
            Some(MatchKey::Send(key)) => self.messages.entry(key).or_default()[0].add(inside),
            Some(MatchKey::Receive(key)) => self.messages.entry(key).or_default()[1].add(inside),
            Some(key) => {
                let counts = self.collectives.entry(key).or_default();
                counts.members.entry(rank).or_default().add(inside);
            }
            None => {}
        }
        if self.messages.len() > MOST_KEYS {
            let message = format!(
                "the messages up to the end of the window have more than {MOST_KEYS} different pairs of ranks and tags, too \
                 many to find those that cross its border; choose an earlier or shorter window"
            );
            return Err(error(recorded, Some(rank), message));
        }
        Ok(())
    }

    /// The operations that each rank keeps, for the keys of which it does not keep all.
    fn kept(self, ranks: u32, communicators: &[Vec<u32>]) -> Vec<KeptOperations> {
        let mut kept = vec![KeptOperations::new(); ranks as usize];
        let mut keep = |rank: u32, key: MatchKey, own: BorderCounts, (start, end): (u64, u64)| {
            if start > own.before || end < own.end() {
                let from = start.saturating_sub(own.before);
                let until = end.saturating_sub(own.before).max(from);
                if let Some(kept) = kept.get_mut(rank as usize) {
                    kept.insert(key, (from, until));
                }
            }
        };
        for (key, [sends, receives]) in self.messages {
            let both = (sends.before.max(receives.before), sends.end().min(receives.end()));
            keep(key.from, MatchKey::Send(key), sends, both);
            // Probes of messages that were received before the window's end count as receives.
            keep(key.to, MatchKey::Receive(key), receives, both);
        }
        for (key, counts) in self.collectives {
            let (MatchKey::Collective(communicator) | MatchKey::Fence(communicator)) = key else {
                continue;
            };
            let members = communicators.get(communicator as usize).map_or(0, Vec::len);
            let of = || counts.members.values();
            // A member without any call has none inside.
            let end = match counts.members.len() < members {
                true => 0,
                false => of().map(|counts| counts.end()).min().unwrap_or(0),
            };
            let start = of().map(|counts| counts.before).max().unwrap_or(0);
            for (rank, own) in &counts.members {
                keep(*rank, key, *own, (start, end));
            }
        }
        kept
    }
}
