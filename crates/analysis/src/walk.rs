//! The backward walk along the critical path of a job.
//!
//! The walk is at a rank and a time. The preceding span of the rank is a step of the path, unless the rank was
//! blocked in an MPI call. A blocked rank resumed when a message arrived, or when its own data had left. The walk
//! then continues with that message, and from there with its cause: the CPU of the sender, or a message that this one
//! answers without a CPU (clear to send, data, the rounds of a non-blocking collective). Times in the tables are
//! exact, so that a cause has the same picosecond as its effect.
//!
//! Time only decreases, so that the tables are read backwards once. Memory holds the current span of each rank and
//! the messages in flight.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};

use crate::backwards::{Backwards, TimedGroups};
use crate::columns::Name;
use crate::crossing::{self, Cause, Stay};
use crate::tables::{MessageRole, MessageSpan, PacketWait, State, TimelineSpan};

/// A step of the path: the cause of the time from `begin` to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathStep {
    pub start: u64,
    pub end: u64,
    pub what: PathStepKind,
}

// Small, because a path may have many steps.
const _: () = assert!(size_of::<PathStep>() <= 64);

/// The kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathStepKind {
    /// A rank computed.
    Compute { rank: u32, site: ComputeSite },
    /// The CPU of a rank executed MPI code in this call.
    Overhead { rank: u32, call: Option<Name> },
    /// A message crossed the network or memory.
    Transfer(Leg),
    /// A message waited for the NIC, or its packets waited at a link.
    PacketWait { leg: Leg, at: HeldBy },
    /// A rank was blocked, and the tables do not contain the cause of its resumption.
    Unknown { rank: u32, call: Option<Name> },
}

/// A place of the program that computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ComputeSite {
    pub region: Option<Name>,
    /// The MPI call that follows on the same rank. `None` at its end.
    pub before: Option<Name>,
}

/// All computations of a job at one site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SiteTotals {
    pub ps: u64,
    pub count: u64,
}

/// The message of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leg {
    pub from: u32,
    pub to: u32,
    pub role: MessageRole,
    /// `None` for messages through memory.
    pub number: Option<u32>,
}

/// The resource for which a message waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeldBy {
    /// Packets waited at this link.
    Link { link: u32, cause: Cause },
    /// The least time between two messages of a host.
    Gap,
}

/// The path of a job, with its start and end.
#[derive(Debug, Default)]
pub(crate) struct Path {
    /// Steps from the last to the first, without gap.
    pub steps: Vec<PathStep>,
    /// Number of messages on the path.
    pub messages: u64,
    /// Number of those through memory.
    pub memory_messages: u64,
    /// Part of the transfer that the bandwidth of a link determines, by link.
    pub serialized: BTreeMap<u32, u64>,
    /// Computations of all ranks, on the path or not.
    pub computations: BTreeMap<ComputeSite, SiteTotals>,
    /// Rank at the end of the path.
    pub rank: u32,
    /// End time. `None` if the job has no rows.
    pub end: Option<u64>,
}

/// Rows of the three tables for one job, and bandwidths of links.
pub(crate) struct History<'a, S: TimedGroups, M: TimedGroups, W: TimedGroups> {
    pub spans: Backwards<S>,
    pub messages: Backwards<M>,
    pub waits: Backwards<W>,
    /// Serialisation time of a number of bytes on a link.
    pub serialization: &'a dyn Fn(u32, u32) -> u64,
    /// The job.
    pub own: Name,
}

/// Finds the path.
pub(crate) fn walk<S, M, W, E>(history: History<'_, S, M, W>) -> Result<Path, E>
where
    S: TimedGroups<Row = TimelineSpan, Error = E>,
    M: TimedGroups<Row = MessageSpan, Error = E>,
    W: TimedGroups<Row = PacketWait, Error = E>,
{
    let mut ranks = RankCursors {
        rows: history.spans,
        seen: SeenSpans::default(),
    };
    let mut walk = BackwardWalk {
        traffic: JobTraffic::new(history.messages),
        waits: history.waits,
        serialization: history.serialization,
        own: history.own,
        path: Path::default(),
    };
    let Some(last) = ranks.rows.next()? else {
        return Ok(walk.path);
    };
    ranks.seen.see(last);
    (walk.path.rank, walk.path.end) = (last.rank, Some(last.end));
    let (mut rank, mut now) = (last.rank, last.end);
    while let Some(span) = ranks.at(rank, now)? {
        let step = |what| PathStep {
            start: span.start,
            end: now,
            what,
        };
        let activity = span.activity;
        match span.state {
            State::Compute => walk.path.steps.push(step(PathStepKind::Compute {
                rank,
                site: ranks.seen.site(&span),
            })),
            State::Overhead => walk
                .path
                .steps
                .push(step(PathStepKind::Overhead { rank, call: activity })),
            State::Blocked => {
                if let Some(event) = walk.traffic.released(rank, now)? {
                    (rank, now) = walk.follow(event, now, &mut ranks)?;
                    continue;
                }
                walk.path
                    .steps
                    .push(step(PathStepKind::Unknown { rank, call: activity }));
            }
        }
        now = span.start;
    }
    walk.path.computations = ranks.seen.computations;
    Ok(walk.path)
}

/// States of ranks at a decreasing time.
struct RankCursors<S>
where
    S: TimedGroups,
{
    rows: Backwards<S>,
    seen: SeenSpans,
}

/// The spans of all ranks read so far.
#[derive(Default)]
struct SeenSpans {
    /// The earliest one of each rank.
    current: HashMap<u32, TimelineSpan>,
    /// The earliest MPI call of each rank.
    next_call: HashMap<u32, Name>,
    /// All computations.
    computations: BTreeMap<ComputeSite, SiteTotals>,
}

impl SeenSpans {
    /// The site of the earliest span of its rank, which computes.
    fn site(&self, span: &TimelineSpan) -> ComputeSite {
        ComputeSite {
            region: span.activity,
            before: self.next_call.get(&span.rank).copied(),
        }
    }

    /// Takes the span that comes before those of its rank read so far.
    fn see(&mut self, span: TimelineSpan) {
        if span.state == State::Compute {
            let totals = self.computations.entry(self.site(&span)).or_default();
            totals.ps += span.end - span.start;
            totals.count += 1;
        } else if let Some(call) = span.activity {
            self.next_call.insert(span.rank, call);
        }
        self.current.insert(span.rank, span);
    }
}

impl<S: TimedGroups<Row = TimelineSpan>> RankCursors<S> {
    /// State of the rank before `now`. `None` before its start.
    fn at(&mut self, rank: u32, now: u64) -> Result<Option<TimelineSpan>, S::Error> {
        let seen = &mut self.seen;
        self.rows.down_to(now, |span| seen.see(span))?;
        let span = seen.current.get(&rank).copied();
        Ok(span.filter(|span| span.start < now && now <= span.end))
    }
}

/// An event of a message that let a rank or another message continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageEvent {
    /// Its last byte arrived.
    Arrived(MessageSpan),
    /// Its last byte left the NIC.
    Injected(MessageSpan),
}

/// Messages in flight at a decreasing time: sent before it and not arrived by it.
struct JobTraffic<M: TimedGroups> {
    rows: Backwards<M>,
    /// Messages by a number of their own.
    in_flight: HashMap<u64, MessageSpan>,
    next: u64,
    arrivals: BTreeSet<(u32, u64, u64)>,
    injections: BTreeSet<(u32, u64, u64)>,
    keys: HashMap<Key, u64>,
    /// Messages by send time.
    starts: BinaryHeap<(u64, u64)>,
}

/// Key of a message in flight: role, source and destination rank, and the number that it shares with its answers.
type Key = (MessageRole, u32, u32, u32);

fn key(message: &MessageSpan) -> Key {
    (message.role, message.from, message.to, message.sequence)
}

/// The message that this one answers.
fn answered(message: &MessageSpan) -> Option<Key> {
    let role = message.role.answers()?;
    Some((role, message.to, message.from, message.sequence))
}

impl<M: TimedGroups<Row = MessageSpan>> JobTraffic<M> {
    fn new(rows: Backwards<M>) -> JobTraffic<M> {
        JobTraffic {
            rows,
            in_flight: HashMap::new(),
            next: 0,
            arrivals: BTreeSet::new(),
            injections: BTreeSet::new(),
            keys: HashMap::new(),
            starts: BinaryHeap::new(),
        }
    }

    fn go_back_to(&mut self, now: u64) -> Result<(), M::Error> {
        let mut arrived = Vec::new();
        self.rows.down_to(now, |message| arrived.push(message))?;
        for message in arrived.into_iter().filter(|message| message.sent < now) {
            self.add(message);
        }
        while let Some((_, id)) = self.starts.peek().copied().filter(|(sent, _)| *sent >= now) {
            self.starts.pop();
            if let Some(message) = self.in_flight.remove(&id) {
                self.arrivals.remove(&(message.to, message.arrived, id));
                if let Some(left) = left(&message) {
                    self.injections.remove(&(message.from, left, id));
                }
                if self.keys.get(&key(&message)) == Some(&id) {
                    self.keys.remove(&key(&message));
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, message: MessageSpan) {
        let id = self.next;
        self.next += 1;
        self.arrivals.insert((message.to, message.arrived, id));
        if let Some(left) = left(&message) {
            self.injections.insert((message.from, left, id));
        }
        self.keys.insert(key(&message), id);
        self.starts.push((message.sent, id));
        self.in_flight.insert(id, message);
    }

    /// The message event that let a rank resume now, or that triggered a message without a CPU.
    fn released(&mut self, rank: u32, now: u64) -> Result<Option<MessageEvent>, M::Error> {
        self.go_back_to(now)?;
        let of = |events: &BTreeSet<(u32, u64, u64)>| -> Vec<MessageSpan> {
            let range = events.range((rank, now, 0)..=(rank, now, u64::MAX));
            range.map(|(_, _, id)| self.in_flight[id]).collect()
        };
        // A rank waits for messages to it that need no answer. A request to send may be what delayed others.
        let arrived = of(&self.arrivals);
        let arrived = arrived
            .into_iter()
            .filter(|message| message.role <= MessageRole::RequestToSend);
        let injected = of(&self.injections).into_iter().map(MessageEvent::Injected);
        let events = arrived.map(MessageEvent::Arrived).chain(injected);
        // Any of several at the same time is valid; the choice is deterministic.
        Ok(events.min_by_key(|event| match event {
            MessageEvent::Arrived(it) => (it.role, false, it.from, it.sequence),
            MessageEvent::Injected(it) => (it.role, true, it.to, it.sequence),
        }))
    }

    /// A message that arrived by `now`, and not before `earliest`.
    fn find(&mut self, wanted: Key, now: u64, earliest: u64) -> Result<Option<MessageSpan>, M::Error> {
        self.go_back_to(now)?;
        loop {
            let found = self.keys.get(&wanted).and_then(|id| self.in_flight.get(id));
            if let Some(message) = found.copied().filter(|message| message.arrived <= now) {
                return Ok((message.arrived >= earliest).then_some(message));
            }
            let Some(message) = self.rows.next()? else {
                return Ok(None);
            };
            self.add(message);
            if message.arrived < earliest {
                return Ok(None);
            }
        }
    }
}

/// Time at which the last byte of data had left the memory of the sender, which may then continue.
fn left(message: &MessageSpan) -> Option<u64> {
    let is_data = message.role == MessageRole::Data;
    is_data.then_some(message.injected.unwrap_or(message.arrived))
}

struct BackwardWalk<'a, M: TimedGroups, W: TimedGroups> {
    traffic: JobTraffic<M>,
    waits: Backwards<W>,
    serialization: &'a dyn Fn(u32, u32) -> u64,
    own: Name,
    path: Path,
}

impl<M, W> BackwardWalk<'_, M, W>
where
    M: TimedGroups<Row = MessageSpan>,
    W: TimedGroups<Row = PacketWait, Error = M::Error>,
{
    /// Follows the current event to the rank and time at which its CPU triggered it.
    fn follow<S>(
        &mut self,
        event: MessageEvent,
        now: u64,
        ranks: &mut RankCursors<S>,
    ) -> Result<(u32, u64), M::Error>
    where
        S: TimedGroups<Row = TimelineSpan, Error = M::Error>,
    {
        let (mut event, mut now) = (event, now);
        loop {
            let (MessageEvent::Arrived(message) | MessageEvent::Injected(message)) = event;
            let sent = message.sent.min(now);
            self.cross(&message, sent, now)?;
            let before = match answered(&message) {
                // The clear to send triggers the data.
                Some(clear) if message.role == MessageRole::Data => {
                    let found = self.traffic.find(clear, sent, message.posted.min(sent))?;
                    now = found.map_or(sent, |clear| clear.arrived);
                    self.wait_for_nic(&message, now, sent);
                    found.map(MessageEvent::Arrived)
                }
                // Other answers are triggered in the same way, unless they waited for a receive, which the CPU posts.
                Some(asked) => {
                    now = message.posted.min(sent);
                    self.wait_for_nic(&message, now, sent);
                    let found = self.traffic.find(asked, now, now)?;
                    match found {
                        Some(asked) => Some(MessageEvent::Arrived(asked)),
                        None => self.beside_the_cpu(message.from, now, ranks)?,
                    }
                }
                None => {
                    now = message.posted.min(sent);
                    self.leave(&message, now, sent, ranks)?;
                    match message.of_collective {
                        true => self.beside_the_cpu(message.from, now, ranks)?,
                        false => None,
                    }
                }
            };
            match before {
                Some(before) => event = before,
                None => return Ok((message.from, now)),
            }
        }
    }

    /// The message event that triggered a message now. `None` if the CPU of the rank triggered it.
    fn beside_the_cpu<S>(
        &mut self,
        rank: u32,
        now: u64,
        ranks: &mut RankCursors<S>,
    ) -> Result<Option<MessageEvent>, M::Error>
    where
        S: TimedGroups<Row = TimelineSpan, Error = M::Error>,
    {
        match ranks.at(rank, now)? {
            Some(span) if span.end > now => self.traffic.released(rank, now),
            _ => Ok(None),
        }
    }

    /// Adds the time from the start of a message in the CPU until it was sent: overhead, then the NIC gap.
    fn leave<S>(
        &mut self,
        message: &MessageSpan,
        posted: u64,
        sent: u64,
        ranks: &mut RankCursors<S>,
    ) -> Result<(), M::Error>
    where
        S: TimedGroups<Row = TimelineSpan, Error = M::Error>,
    {
        if posted == sent {
            return Ok(());
        }
        let rank = message.from;
        let paid = ranks
            .at(rank, posted + 1)?
            .filter(|span| span.state == State::Overhead);
        let (left, call) = paid.map_or((posted, None), |span| (span.end.min(sent), span.activity));
        self.wait_for_nic(message, left, sent);
        self.path
            .push(posted, left, PathStepKind::Overhead { rank, call });
        Ok(())
    }

    /// Adds the time that a message waited for the NIC.
    fn wait_for_nic(&mut self, message: &MessageSpan, start: u64, end: u64) {
        let (leg, at) = (Leg::of(message), HeldBy::Gap);
        self.path.push(start, end, PathStepKind::PacketWait { leg, at });
    }

    /// Adds the time in which a message crossed the network or memory until now.
    fn cross(&mut self, message: &MessageSpan, sent: u64, now: u64) -> Result<(), M::Error> {
        self.path.messages += 1;
        let leg = Leg::of(message);
        let mut stays = match message.number {
            Some(number) => self.stays(message.from_host, number, sent, now)?,
            None => Vec::new(),
        };
        let crossing = crossing::divide(sent, now, &mut stays, self.own);
        for (link, ps) in crossing.serialized {
            *self.path.serialized.entry(link).or_default() += ps;
        }
        self.path.memory_messages += u64::from(message.number.is_none());
        for piece in crossing.pieces {
            let what = match piece.wait {
                None => PathStepKind::Transfer(leg),
                Some((link, cause)) => PathStepKind::PacketWait {
                    leg,
                    at: HeldBy::Link { link, cause },
                },
            };
            self.path.push(piece.start, piece.end, what);
        }
        Ok(())
    }

    /// Stays of packets of a message at links between `begin` and `end`.
    fn stays(&mut self, host: u32, number: u32, start: u64, end: u64) -> Result<Vec<Stay>, M::Error> {
        let mut waits = Vec::new();
        self.waits.down_to(start + 1, |wait| {
            if (wait.from_host, wait.number) == (host, number) && wait.end <= end {
                waits.push(wait);
            }
        })?;
        Ok(stays(waits, self.serialization))
    }
}

/// Merges the rows of each wait.
fn stays(mut waits: Vec<PacketWait>, serialization: &dyn Fn(u32, u32) -> u64) -> Vec<Stay> {
    waits.sort_by_key(|wait| (wait.link, wait.vc, wait.start, wait.end, wait.part));
    let mut stays: Vec<Stay> = Vec::new();
    // Waits that may continue, by link, VC, end and number of the next row.
    let mut open: HashMap<(u32, u8, u64, u8), usize> = HashMap::new();
    for wait in waits {
        let at = (wait.link, wait.vc, wait.start, wait.part);
        let before = open.remove(&at).filter(|_| wait.part > 0);
        let index = before.unwrap_or_else(|| {
            stays.push(Stay {
                link: wait.link,
                start: wait.start,
                end: wait.start,
                serialization: serialization(wait.link, wait.bytes),
                parts: Vec::new(),
            });
            stays.len() - 1
        });
        let (reason, holder) = (wait.reason, wait.holder);
        stays[index]
            .parts
            .push((Cause { reason, holder }, wait.end.saturating_sub(wait.start)));
        stays[index].end = wait.end;
        open.insert((wait.link, wait.vc, wait.end, wait.part.saturating_add(1)), index);
    }
    stays
}

impl Leg {
    fn of(message: &MessageSpan) -> Leg {
        Leg {
            from: message.from,
            to: message.to,
            role: message.role,
            number: message.number,
        }
    }
}

impl Path {
    /// Adds a step, unless its duration is 0.
    fn push(&mut self, start: u64, end: u64, what: PathStepKind) {
        if start < end {
            self.steps.push(PathStep { start, end, what });
        }
    }
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
