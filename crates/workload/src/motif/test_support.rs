//! Executes all ranks of a motif symbolically: without time and network. No message leaves before its receive
//! is posted.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use config::Section;

use crate::{Collective, Communicator, Counts, Operation, Program, Workload};

/// The table of a motif with these parameters.
pub fn section(name: &str, parameters: &str) -> Section {
    let text = format!("motif = \"{name}\"\n{parameters}\n");
    Section::from_toml(&text, "x.toml").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// A valid motif whose parameters are all known.
pub fn open(name: &str, parameters: &str) -> Arc<dyn Workload> {
    let section = section(name, parameters);
    let workload = super::read(&section).unwrap_or_else(|e| panic!("{e}\n{name}: {parameters}"));
    section
        .finish()
        .unwrap_or_else(|e| panic!("{e}\n{name}: {parameters}"));
    workload
}

/// The error of invalid parameters.
pub fn error(name: &str, parameters: &str) -> String {
    super::read(&section(name, parameters))
        .map(|_| ())
        .expect_err(parameters)
        .to_string()
}

/// Totals over all ranks of a motif.
#[derive(Debug, Default)]
pub struct MotifTotals {
    pub messages: u64,
    pub bytes: u64,
    pub compute_ps: u64,
    /// Messages from every rank to every rank, itself included.
    pub all_to_all_bytes: u64,
    calls: BTreeMap<&'static str, u64>,
}

impl MotifTotals {
    /// Over all ranks.
    pub fn calls(&self, collective: Collective) -> u64 {
        self.calls.get(collective.name()).copied().unwrap_or(0)
    }
}

/// Communicator, sender, receiver, tag.
type Envelope = (Communicator, u32, u32, u32);

/// One side of a message that waits for the other: rank, request (`None` if blocking), bytes.
type Side = (u32, Option<u64>, u64);

struct RankProgress {
    program: Box<dyn Program>,
    /// Open requests.
    pending: BTreeSet<u64>,
    /// Complete requests that were not waited for.
    complete: BTreeSet<u64>,
    /// Requests on which it blocks. If empty and not `held`, the rank runs.
    awaited: BTreeSet<u64>,
    /// Whether it is in a blocking call or a collective.
    held: bool,
    ended: bool,
}

struct CollectiveArrivals {
    collective: Collective,
    bytes: u64,
    counts: BTreeMap<u32, Option<Box<Counts>>>,
}

struct MessageKey {
    ranks: Vec<RankProgress>,
    sends: BTreeMap<Envelope, VecDeque<Side>>,
    receives: BTreeMap<Envelope, VecDeque<Side>>,
    gatherings: BTreeMap<Communicator, CollectiveArrivals>,
    ready: VecDeque<u32>,
    totals: MotifTotals,
}

/// Runs all ranks to their end.
pub fn totals(name: &str, parameters: &str) -> MotifTotals {
    let workload = open(name, parameters);
    let communicators = workload.communicators();
    let ranks = (0..workload.ranks())
        .map(|rank| RankProgress {
            program: workload.program(rank).unwrap(),
            pending: BTreeSet::new(),
            complete: BTreeSet::new(),
            awaited: BTreeSet::new(),
            held: false,
            ended: false,
        })
        .collect();
    let mut state = MessageKey {
        ranks,
        sends: BTreeMap::new(),
        receives: BTreeMap::new(),
        gatherings: BTreeMap::new(),
        ready: (0..workload.ranks()).collect(),
        totals: MotifTotals::default(),
    };
    while let Some(rank) = state.ready.pop_front() {
        while !state.ranks[rank as usize].ended && state.is_free(rank) {
            match state.ranks[rank as usize].program.next().unwrap() {
                Some(operation) => state.execute(rank, operation, &communicators),
                None => state.ranks[rank as usize].ended = true,
            }
        }
    }
    let context = format!("{name}: {parameters}");
    for (number, rank) in state.ranks.iter_mut().enumerate() {
        assert!(rank.ended, "{context}: rank {number} waits forever");
        assert!(
            rank.pending.is_empty() && rank.complete.is_empty(),
            "{context}: rank {number} forgets requests"
        );
        assert!(
            rank.program.next().unwrap().is_none(),
            "{context}: an end is the end"
        );
    }
    let left = |sides: &BTreeMap<Envelope, VecDeque<Side>>| sides.values().any(|queue| !queue.is_empty());
    assert!(
        !left(&state.sends) && !left(&state.receives),
        "{context}: something is left"
    );
    assert!(state.gatherings.is_empty(), "{context}: a collective is left");
    state.totals
}

impl MessageKey {
    fn is_free(&self, rank: u32) -> bool {
        let rank = &self.ranks[rank as usize];
        !rank.held && rank.awaited.is_empty()
    }

    fn execute(&mut self, rank: u32, operation: Operation, communicators: &[Vec<u32>]) {
        match operation {
            Operation::Compute { ps, .. } => self.totals.compute_ps += ps,
            Operation::Send {
                to,
                tag,
                communicator,
                bytes,
                request,
                ..
            } => {
                self.totals.messages += 1;
                self.totals.bytes += bytes;
                let to = communicators[communicator as usize][to as usize];
                let envelope = (communicator, rank, to, tag);
                self.begin(rank, request);
                let taken = self.receives.get_mut(&envelope).and_then(VecDeque::pop_front);
                self.meet(envelope, (rank, request, bytes), taken, true);
            }
            Operation::Receive {
                from,
                tag,
                communicator,
                bytes,
                request,
                ..
            } => {
                let from = communicators[communicator as usize][from.unwrap() as usize];
                let envelope = (communicator, from, rank, tag.unwrap());
                self.begin(rank, request);
                let taken = self.sends.get_mut(&envelope).and_then(VecDeque::pop_front);
                self.meet(envelope, (rank, request, bytes), taken, false);
            }
            Operation::Wait { requests, .. } => {
                let rank = &mut self.ranks[rank as usize];
                for request in requests {
                    if !rank.complete.remove(&request) {
                        assert!(rank.pending.remove(&request), "request {request} is unknown");
                        rank.awaited.insert(request);
                    }
                }
            }
            Operation::Collective {
                collective,
                communicator,
                bytes,
                counts,
                request,
                ..
            } => {
                assert_eq!(request, None);
                let members = &communicators[communicator as usize];
                assert!(members.contains(&rank), "rank {rank} is no member");
                *self.totals.calls.entry(collective.name()).or_default() += 1;
                if collective == Collective::Alltoall {
                    self.totals.all_to_all_bytes += match &counts {
                        Some(counts) => counts.sends.iter().sum(),
                        None => bytes * members.len() as u64,
                    };
                }
                let is_uneven = counts.is_some();
                let gathering = self
                    .gatherings
                    .entry(communicator)
                    .or_insert_with(|| CollectiveArrivals {
                        collective,
                        bytes,
                        counts: BTreeMap::new(),
                    });
                assert_eq!(gathering.collective, collective);
                assert!(is_uneven || gathering.bytes == bytes);
                assert!(gathering.counts.insert(rank, counts).is_none());
                self.ranks[rank as usize].held = true;
                if gathering.counts.len() == members.len() {
                    let gathering = self.gatherings.remove(&communicator).unwrap();
                    check_counts(&gathering, members);
                    for member in members {
                        self.ranks[*member as usize].held = false;
                        self.ready.push_back(*member);
                    }
                }
            }
            other => panic!("no motif does {other:?}"),
        }
    }

    fn begin(&mut self, rank: u32, request: Option<u64>) {
        let rank = &mut self.ranks[rank as usize];
        match request {
            Some(request) => {
                assert!(!rank.complete.contains(&request) && rank.pending.insert(request));
            }
            None => rank.held = true,
        }
    }

    fn meet(&mut self, envelope: Envelope, own: Side, other: Option<Side>, sends: bool) {
        match other {
            Some(other) => {
                assert_eq!(own.2, other.2, "sizes of {envelope:?}");
                self.complete(own);
                self.complete(other);
            }
            None => {
                let queues = if sends {
                    &mut self.sends
                } else {
                    &mut self.receives
                };
                queues.entry(envelope).or_default().push_back(own);
            }
        }
    }

    fn complete(&mut self, (number, request, _): Side) {
        let rank = &mut self.ranks[number as usize];
        match request {
            None => rank.held = false,
            Some(request) => {
                if rank.pending.remove(&request) {
                    rank.complete.insert(request);
                }
                rank.awaited.remove(&request);
            }
        }
        self.ready.push_back(number);
    }
}

/// Checks that each rank sends what the other receives.
fn check_counts(gathering: &CollectiveArrivals, members: &[u32]) {
    let counts: Vec<&Option<Box<Counts>>> = members.iter().map(|member| &gathering.counts[member]).collect();
    if counts.iter().all(|counts| counts.is_none()) {
        return;
    }
    let counts: Vec<&Counts> = counts
        .into_iter()
        .map(|counts| counts.as_deref().unwrap())
        .collect();
    for (from, giver) in counts.iter().enumerate() {
        assert_eq!(
            (giver.sends.len(), giver.receives.len()),
            (members.len(), members.len())
        );
        for (to, taker) in counts.iter().enumerate() {
            assert_eq!(giver.sends[to], taker.receives[from]);
        }
    }
}
