//! Whether the ranks of a job agree about their collectives.
//!
//! MPI requires that all ranks of a communicator call the same collectives in the same order, with the same root,
//! reduction and matching sizes, all blocking or all non-blocking (MPI 4.1, chapter 6 and section 6.12). Each rank
//! keeps one [`CollectiveHistory`] per communicator, of constant size. [`check_histories`] compares the histories after
//! the run. Where they differ, it reads the programs again up to the first call that differs.

use std::collections::BTreeMap;

use des::Journal;
use serde::{Deserialize, Serialize};
use workload::{Call, Collective, Counts, Operation, Program, Reduction, TraceError};

use crate::collectives::CollectiveVariant;
use crate::message::{COLLECTIVE_CONTEXT, RMA_CONTEXT, communicator_of};
use crate::{CollectiveCall, MpiJob, ReplayError};

/// The collectives of one rank in one context, condensed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CollectiveHistory {
    /// Number of calls.
    calls: u64,
    /// Hash of what must be equal on all ranks, over the calls in order.
    common: u64,
    /// Sum of the hashes of transfers that the rank sends, less those that it receives, modulo 2^64. The sum over
    /// all ranks is 0 if each transfer has the same size on both sides.
    transfers: u64,
}

/// The histories of a rank by context.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CollectiveHistories(BTreeMap<u32, CollectiveHistory>);

/// The previous history of a context.
#[derive(Debug)]
pub(crate) struct HistoryChange {
    context: u32,
    old: Option<CollectiveHistory>,
}

impl CollectiveHistories {
    /// Number of collectives in a context, modulo 2^32.
    pub fn calls(&self, context: u32) -> u32 {
        self.of(context).calls as u32
    }

    fn of(&self, context: u32) -> CollectiveHistory {
        self.0.get(&context).copied().unwrap_or_default()
    }

    /// Adds a call to the history of its context.
    pub fn add(&mut self, context: u32, call: &CallArguments<'_>, journal: &mut impl Journal<HistoryChange>) {
        let before = self.of(context);
        let after = CollectiveHistory {
            calls: before.calls + 1,
            common: call.common_hash(before.common),
            transfers: before.transfers.wrapping_add(call.transfers_hash(before.calls)),
        };
        let old = self.0.insert(context, after);
        journal.note(|| HistoryChange { context, old });
    }

    pub fn undo(&mut self, HistoryChange { context, old }: HistoryChange) {
        match old {
            Some(history) => self.0.insert(context, history),
            None => self.0.remove(&context),
        };
    }
}

/// The arguments of one rank in a collective.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallArguments<'a> {
    pub collective: Collective,
    pub call: Call,
    pub own: CollectiveCall,
    pub counts: Option<&'a Counts>,
    pub reduction: Option<Reduction>,
    pub blocks: bool,
}

/// Whether the description of a call names its reduction.
#[derive(Clone, Copy, Debug, PartialEq)]
enum WithReduction {
    Yes,
    No,
}

impl<'a> CallArguments<'a> {
    /// Root; `None` if the collective has none.
    fn root(&self) -> Option<u32> {
        use Collective::{Bcast, Gather, Reduce, Scatter};
        matches!(self.collective, Bcast | Gather | Reduce | Scatter).then_some(self.own.root)
    }

    /// Bytes that must be equal on all ranks; `None` where sizes may differ.
    fn bytes(&self) -> Option<u64> {
        let varying = CollectiveVariant::of(self.collective, self.call, self.counts).varying;
        let is_known = self.counts.is_none() || self.in_place_bytes().is_some();
        let equal = !varying && is_known && self.collective != Collective::Barrier;
        equal.then_some(self.own.bytes)
    }

    /// Bytes if the call was in place, where the recording does not tell.
    fn in_place_bytes(&self) -> Option<u64> {
        Some(self.counts?.in_place_bytes?.get())
    }

    /// Whether the bytes of two calls contradict each other, whichever of them was in place.
    fn sizes_differ(&self, other: &CallArguments<'_>) -> bool {
        let (Some(own), Some(others)) = (self.bytes(), other.bytes()) else {
            return false;
        };
        let others = [Some(others), other.in_place_bytes()];
        ![Some(own), self.in_place_bytes()]
            .iter()
            .any(|bytes| bytes.is_some() && others.contains(bytes))
    }

    /// Sizes of a list that must be equal on all ranks; empty if there is none.
    fn list(&self) -> &'a [u64] {
        match (self.collective, self.counts) {
            (Collective::ReduceScatter, Some(counts)) => &counts.receives,
            _ => &[],
        }
    }

    /// Bytes to a rank, where known.
    fn sent_to(&self, to: u32) -> Option<u64> {
        let sends = match self.collective {
            Collective::Gather => to == self.own.root,
            Collective::Scatter => self.own.rank == self.own.root,
            Collective::Allgather | Collective::Alltoall => true,
            _ => false,
        };
        entry(&self.counts.filter(|_| sends)?.sends, to)
    }

    /// Bytes from a rank, where known.
    fn received_from(&self, from: u32) -> Option<u64> {
        let receives = match self.collective {
            Collective::Gather => self.own.rank == self.own.root,
            Collective::Scatter => from == self.own.root,
            Collective::Allgather | Collective::Alltoall => true,
            _ => false,
        };
        entry(&self.counts.filter(|_| receives)?.receives, from)
    }

    fn common_hash(&self, before: u64) -> u64 {
        let root = self.root().map_or(0, |root| u64::from(root) + 1);
        let reduction = self.reduction.map_or(0, |reduction| reduction as u64 + 1);
        let kind = (self.collective as u64) << 40 | u64::from(self.blocks) << 39 | reduction << 34;
        let kind = mix(before, kind | root);
        let bytes = mix(kind, self.bytes().map_or(0, |bytes| bytes.wrapping_add(1)));
        self.list().iter().fold(bytes, |hash, part| mix(hash, *part))
    }

    /// Hashes of the transfers of call `number`: those sent less those received.
    fn transfers_hash(&self, number: u64) -> u64 {
        if self.counts.is_none() {
            return 0;
        }
        let CollectiveCall { rank, ranks, .. } = self.own;
        let base = mix(number, 1);
        let hash = |from: u32, to: u32, bytes| mix(mix(base, u64::from(from) << 32 | u64::from(to)), bytes);
        let mut sum = 0u64;
        for peer in 0..ranks {
            if let Some(bytes) = self.sent_to(peer) {
                sum = sum.wrapping_add(hash(rank, peer, bytes));
            }
            if let Some(bytes) = self.received_from(peer) {
                sum = sum.wrapping_sub(hash(peer, rank, bytes));
            }
        }
        sum
    }

    /// The call with its arguments, for messages. `index` is the entry of the list to show.
    fn describe(&self, index: Option<usize>, with_reduction: WithReduction) -> String {
        let mut text = self.call.name().to_string();
        if self.call.collective() != Some(self.collective) && self.call != Call::WinFence {
            text += &format!(" ({})", self.collective.name());
        }
        let root = self.root().map(|root| format!("root {root}"));
        let bytes = self.bytes().map(|bytes| match self.in_place_bytes() {
            None => format!("{bytes} B"),
            Some(in_place) => format!("{bytes} B ({in_place} B if in place)"),
        });
        let reduction = self.reduction.filter(|_| with_reduction == WithReduction::Yes);
        let reduction = reduction.map(|reduction| reduction.name().into());
        let part = index.map(|rank| match self.list().get(rank) {
            Some(bytes) => format!("{bytes} B for rank {rank}"),
            None => "no counts".into(),
        });
        let arguments: Vec<String> = root
            .into_iter()
            .chain(bytes)
            .chain(reduction)
            .chain(part)
            .collect();
        if !arguments.is_empty() {
            text += &format!(" with {}", arguments.join(", "));
        }
        text
    }

    /// Description of a contradiction between two calls in what must be equal.
    fn contradiction(&self, other: &CallArguments<'_>) -> Option<String> {
        let (list, others) = (self.list(), other.list());
        let both = !list.is_empty() && !others.is_empty();
        let index = (0..list.len()).find(|index| both && list[*index] != others[*index]);
        let is_same = self.collective == other.collective;
        let reductions = self.reduction.zip(other.reduction);
        let with_reduction = match reductions.is_some_and(|(own, others)| own != others) {
            true => WithReduction::Yes,
            false => WithReduction::No,
        };
        let contradicts = !is_same
            || self.root() != other.root()
            || self.blocks != other.blocks
            || self.sizes_differ(other)
            || with_reduction == WithReduction::Yes
            || index.is_some();
        contradicts.then(|| {
            let [a, b] = [self, other].map(|call| (call.own.rank, call.describe(index, with_reduction)));
            let rule = match is_same && self.blocks != other.blocks {
                true => "; blocking collectives do not match non-blocking ones",
                false => "",
            };
            format!("rank {} calls {}; rank {} calls {}{rule}", a.0, a.1, b.0, b.1)
        })
    }

    /// Description of a transfer to `other` whose sizes contradict each other.
    fn wrong_transfer(&self, other: &CallArguments<'_>) -> Option<String> {
        let (from, to) = (self.own.rank, other.own.rank);
        let (sent, received) = (self.sent_to(to)?, other.received_from(from)?);
        let [sender, receiver] = [self, other].map(|call| call.describe(None, WithReduction::No));
        (sent != received).then(|| {
            format!(
                "rank {from} calls {sender} and sends {sent} B to rank {to}; rank {to} calls {receiver} and expects \
                 {received} B from rank {from}"
            )
        })
    }
}

/// The entry of a rank in a list of one or all ranks; `None` if the list is empty.
fn entry(list: &[u64], rank: u32) -> Option<u64> {
    match list {
        [all] => Some(*all),
        _ => list.get(rank as usize).copied(),
    }
}

/// A multiplicative hash. The constants are those of SplitMix64 and MurmurHash3.
fn mix(hash: u64, value: u64) -> u64 {
    let product = (hash.rotate_left(17) ^ value).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let product = product.wrapping_mul(0xff51_afd7_ed55_8ccd);
    product ^ product >> 32
}

/// What a rank has called, up to the end of its measured part.
#[derive(Clone, Copy)]
pub(crate) struct RankHistories<'a> {
    pub histories: &'a CollectiveHistories,
    /// Whether it has executed its program, so that it calls no more.
    pub finished: bool,
}

/// Checks that the ranks of a job agree about their collectives. `ranks` has one entry for each rank, `None` if the
/// rank has not started. `program` opens the program of a rank again; `None` if programs cannot be read again.
pub(crate) fn check_histories(
    job: &MpiJob,
    ranks: &[Option<RankHistories<'_>>],
    program: Option<impl Fn(u32) -> Result<Box<dyn Program>, TraceError>>,
) -> Result<(), ReplayError> {
    for context in suspects(job, ranks) {
        let members = job.members_of(communicator_of(context));
        let Some(program) = &program else {
            let of = |rank: &u32| ranks.get(*rank as usize).copied().flatten();
            compare_histories(context, &members.iter().map(of).collect::<Vec<_>>())?;
            continue;
        };
        let readers = members.iter().zip(0..).map(|(rank, own)| {
            let state = ranks.get(*rank as usize).copied().flatten();
            Ok(MemberReader {
                program: program(*rank)?,
                context,
                own: CollectiveCall::new(own, members.len() as u32, 0, 0),
                calls: state.map_or(0, |rank| rank.histories.of(context).calls),
                finished: state.is_some_and(|rank| rank.finished),
            })
        });
        let mut readers = readers.collect::<Result<Vec<_>, TraceError>>()?;
        find_disagreement(context, &mut readers)?;
    }
    Ok(())
}

/// The contexts in which the histories of the members contradict each other.
fn suspects(job: &MpiJob, ranks: &[Option<RankHistories<'_>>]) -> Vec<u32> {
    /// The histories of a context together.
    struct Total {
        members: usize,
        first: CollectiveHistory,
        equal: bool,
        transfers: u64,
    }
    let mut totals = BTreeMap::new();
    for (context, history) in ranks.iter().flatten().flat_map(|rank| &rank.histories.0) {
        let total = totals.entry(*context).or_insert(Total {
            members: 0,
            first: *history,
            equal: true,
            transfers: 0,
        });
        total.members += 1;
        total.equal &= (history.calls, history.common) == (total.first.calls, total.first.common);
        total.transfers = total.transfers.wrapping_add(history.transfers);
    }
    let agrees = |context: u32, total: &Total| {
        let members = job.members_of(communicator_of(context));
        members.len() == total.members && total.equal && total.transfers == 0
    };
    let suspects = totals
        .into_iter()
        .filter(|(context, total)| !agrees(*context, total));
    suspects.map(|(context, _)| context).collect()
}

/// Reads the collectives of one member of a communicator from its program.
struct MemberReader {
    program: Box<dyn Program>,
    context: u32,
    /// The member, without root and bytes.
    own: CollectiveCall,
    /// Calls that the member made in the run.
    calls: u64,
    finished: bool,
}

/// The call of one rank in a collective.
pub(crate) struct RankCall {
    pub collective: Collective,
    pub call: Call,
    pub own: CollectiveCall,
    pub counts: Option<Box<Counts>>,
    pub reduction: Option<Reduction>,
    pub blocks: bool,
}

impl RankCall {
    /// The barrier of a fence.
    pub fn fence(call: Call, own: CollectiveCall) -> RankCall {
        RankCall {
            collective: Collective::Barrier,
            call,
            own,
            counts: None,
            reduction: None,
            blocks: true,
        }
    }

    pub fn arguments(&self) -> CallArguments<'_> {
        CallArguments {
            collective: self.collective,
            call: self.call,
            own: self.own,
            counts: self.counts.as_deref(),
            reduction: self.reduction,
            blocks: self.blocks,
        }
    }
}

impl MemberReader {
    /// The next collective of the context; `None` at the end of the program.
    fn next(&mut self) -> Result<Option<RankCall>, TraceError> {
        while let Some(operation) = self.program.next()? {
            let (context, read) = match operation {
                Operation::Collective {
                    collective,
                    communicator,
                    root,
                    bytes,
                    counts,
                    request,
                    reduction,
                    call,
                } => {
                    let own = CollectiveCall {
                        root,
                        bytes,
                        ..self.own
                    };
                    (
                        communicator,
                        RankCall {
                            collective,
                            call,
                            own,
                            counts,
                            reduction,
                            blocks: request.is_none(),
                        },
                    )
                }
                Operation::Fence { communicator, call } => {
                    (communicator | RMA_CONTEXT, RankCall::fence(call, self.own))
                }
                _ => continue,
            };
            if context | COLLECTIVE_CONTEXT == self.context {
                return Ok(Some(read));
            }
        }
        Ok(None)
    }
}

/// Reads the collectives of all members in step, up to the first on which they disagree.
fn find_disagreement(context: u32, readers: &mut [MemberReader]) -> Result<(), ReplayError> {
    let most = readers.iter().map(|reader| reader.calls).max().unwrap_or(0);
    for number in 0..most {
        let mut calls = Vec::with_capacity(readers.len());
        let mut absent = None;
        for reader in &mut *readers {
            if number < reader.calls {
                calls.extend(reader.next()?);
            } else if reader.finished {
                absent = absent.or(Some(reader.own.rank));
            }
        }
        if let Some(what) = disagreement(number, &calls, absent) {
            return Err(ReplayError::Collective {
                communicator: communicator_of(context),
                kind: kind_of(context),
                number,
                what,
            });
        }
    }
    Ok(())
}

/// As [`find_disagreement`], from the histories of the members alone: it does not know the calls.
fn compare_histories(context: u32, members: &[Option<RankHistories<'_>>]) -> Result<(), ReplayError> {
    let history =
        |of: &Option<RankHistories<'_>>| of.map_or_else(Default::default, |of| of.histories.of(context));
    let calls: Vec<CollectiveHistory> = members.iter().map(history).collect();
    let disagree = |number, what| {
        Err(ReplayError::Collective {
            communicator: communicator_of(context),
            kind: kind_of(context),
            number,
            what,
        })
    };
    let most = calls.iter().map(|of| of.calls).max().unwrap_or(0);
    let ended = |rank: &usize| members[*rank].is_some_and(|of| of.finished) && calls[*rank].calls < most;
    let other = calls.iter().position(|of| of.calls == most).unwrap_or(0);
    if let Some(rank) = (0..calls.len()).find(ended) {
        let what = format!("rank {rank} has ended without the call; rank {other} calls it");
        return disagree(calls[rank].calls, what);
    }
    let differs = |of: &CollectiveHistory| of.calls == most && of.common != calls[other].common;
    if let Some(rank) = calls.iter().position(differs) {
        let what = format!(
            "ranks {other} and {rank} differ in the collective, the root or the size of it or of an earlier one"
        );
        return disagree(most.saturating_sub(1), what);
    }
    let transfers = calls.iter().fold(0u64, |sum, of| sum.wrapping_add(of.transfers));
    if transfers != 0 && calls.iter().all(|of| of.calls == most) {
        let what =
            "in it or in an earlier one, a rank sends another one more or fewer bytes than that expects";
        return disagree(most.saturating_sub(1), what.into());
    }
    Ok(())
}

fn kind_of(context: u32) -> &'static str {
    match context & RMA_CONTEXT {
        0 => "collective",
        _ => "fence",
    }
}

/// How the calls of the members contradict each other. `absent` is a member that has ended without the call.
fn disagreement(number: u64, calls: &[RankCall], absent: Option<u32>) -> Option<String> {
    let first = calls.first()?.arguments();
    let others = || calls.iter().map(RankCall::arguments);
    let has_size = |call: &CallArguments<'_>| call.bytes().is_some() || !call.list().is_empty();
    let sized = others()
        .filter(has_size)
        .min_by_key(|call| call.in_place_bytes().is_some());
    let reducing = others().find(|call| call.reduction.is_some());
    let references = [first, sized.unwrap_or(first), reducing.unwrap_or(first)];
    let contradiction = references
        .iter()
        .find_map(|reference| others().find_map(|other| reference.contradiction(&other)));
    let missing = || {
        absent.map(|rank| {
            let (caller, call) = (first.own.rank, first.describe(None, WithReduction::No));
            format!("rank {caller} calls {call}; rank {rank} ends without it")
        })
    };
    let wrong_transfer = || {
        let hashes = others().map(|call| call.transfers_hash(number));
        if hashes.fold(0, u64::wrapping_add) == 0 {
            return None;
        }
        others().find_map(|from| others().find_map(|to| from.wrong_transfer(&to)))
    };
    contradiction.or_else(missing).or_else(wrong_transfer)
}
