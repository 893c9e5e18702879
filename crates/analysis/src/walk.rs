//! The way back along the critical path of a job.
//!
//! At any moment it is at a rank and a time. What the rank did until then is a step of the path, except where
//! it was blocked in an MPI call: it went on when a message arrived, or when data of its own had left, and the way
//! goes over to that message and from there to whoever let it go: the CPU of the sender, or a message that this
//! one answers without a CPU (clear to send, data, the rounds of a non-blocking collective). Times in the tables
//! are exact, so that what let something go on is what happened in the same picosecond.
//!
//! Time only decreases. So the tables are read backwards once, and what is in memory are the span that each rank
//! is in and the messages that are under way.

use std::collections::{BTreeSet, BinaryHeap, HashMap};

use crate::backwards::{Backwards, Groups};
use crate::columns::Name;
use crate::crossing::{self, Cause, Stay};
use crate::tables::{MessageSpan, PacketWait, Part, State, TimelineSpan};

/// A step of the path: what took the time from `begin` to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathStep {
    pub begin: u64,
    pub end: u64,
    pub what: PathStepKind,
}

// A path may have many.
const _: () = assert!(size_of::<PathStep>() <= 64);

/// What took the time of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathStepKind {
    /// A rank computed, in this region.
    Compute { rank: u32, region: Option<Name> },
    /// The CPU of a rank worked for MPI, in this call.
    Overhead { rank: u32, call: Option<Name> },
    /// A message crossed network or memory.
    Transfer(Leg),
    /// A message waited for the NIC to take it, or its packets at a link.
    PacketWait { leg: Leg, at: HeldBy },
    /// A rank was blocked, and the tables do not say what let it go on.
    Unknown { rank: u32, call: Option<Name> },
}

/// The message that a step is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leg {
    pub from: u32,
    pub to: u32,
    pub part: Part,
    /// None: through memory.
    pub number: Option<u32>,
}

/// What held a message up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeldBy {
    /// Packets at this link.
    Link { link: u32, cause: Cause },
    /// The least time between two messages of a host.
    Gap,
}

/// The path of a job, and where it begins and ends.
#[derive(Debug, Default)]
pub(crate) struct Path {
    /// From the last to the first, without gap.
    pub steps: Vec<PathStep>,
    /// Messages on it.
    pub messages: u64,
    /// The rank that it ends on.
    pub rank: u32,
    /// When; none: there are no rows.
    pub end: Option<u64>,
}

/// Rows of the three tables about one job, and what is known about links.
pub(crate) struct History<'a, S: Groups, M: Groups, W: Groups> {
    pub spans: Backwards<S>,
    pub messages: Backwards<M>,
    pub waits: Backwards<W>,
    /// Time of so many bytes on a link.
    pub serialization: &'a dyn Fn(u32, u32) -> u64,
    /// The job.
    pub own: Name,
}

/// Finds the path.
pub(crate) fn walk<S, M, W, E>(history: History<'_, S, M, W>) -> Result<Path, E>
where
    S: Groups<Row = TimelineSpan, Error = E>,
    M: Groups<Row = MessageSpan, Error = E>,
    W: Groups<Row = PacketWait, Error = E>,
{
    let mut ranks = RankCursors {
        rows: history.spans,
        current: HashMap::new(),
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
    ranks.current.insert(last.rank, last);
    (walk.path.rank, walk.path.end) = (last.rank, Some(last.end));
    let (mut rank, mut now) = (last.rank, last.end);
    while let Some(span) = ranks.at(rank, now)? {
        let step = |what| PathStep {
            begin: span.begin,
            end: now,
            what,
        };
        let activity = span.activity;
        match span.state {
            State::Compute => walk.path.steps.push(step(PathStepKind::Compute {
                rank,
                region: activity,
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
        now = span.begin;
    }
    Ok(walk.path)
}

/// What ranks do at a time that goes backwards.
struct RankCursors<S>
where
    S: Groups,
{
    rows: Backwards<S>,
    /// The earliest span that has been read of each rank.
    current: HashMap<u32, TimelineSpan>,
}

impl<S: Groups<Row = TimelineSpan>> RankCursors<S> {
    /// What the rank did until `now`; nothing before it began.
    fn at(&mut self, rank: u32, now: u64) -> Result<Option<TimelineSpan>, S::Error> {
        let current = &mut self.current;
        self.rows.down_to(now, |span| {
            current.insert(span.rank, span);
        })?;
        let span = current.get(&rank).copied();
        Ok(span.filter(|span| span.begin < now && now <= span.end))
    }
}

/// How a message let something go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// Its last byte came in.
    Arrived(MessageSpan),
    /// Its last byte had left.
    Injected(MessageSpan),
}

/// Messages under way at a time that goes backwards: those that had been sent before and not arrived by then.
struct JobTraffic<M: Groups> {
    rows: Backwards<M>,
    /// By a number of their own.
    under_way: HashMap<u64, MessageSpan>,
    next: u64,
    arrivals: BTreeSet<(u32, u64, u64)>,
    injections: BTreeSet<(u32, u64, u64)>,
    keys: HashMap<Key, u64>,
    /// By when they were sent.
    begins: BinaryHeap<(u64, u64)>,
}

/// What a message is among those under way: part, ranks from and to, and what it has in common with others of its
/// protocol.
type Key = (Part, u32, u32, u32);

fn key(message: &MessageSpan) -> Key {
    (message.part, message.from, message.to, message.sequence)
}

/// The message that this one answers.
fn answered(message: &MessageSpan) -> Option<Key> {
    let part = message.part.answers()?;
    Some((part, message.to, message.from, message.sequence))
}

impl<M: Groups<Row = MessageSpan>> JobTraffic<M> {
    fn new(rows: Backwards<M>) -> JobTraffic<M> {
        JobTraffic {
            rows,
            under_way: HashMap::new(),
            next: 0,
            arrivals: BTreeSet::new(),
            injections: BTreeSet::new(),
            keys: HashMap::new(),
            begins: BinaryHeap::new(),
        }
    }

    fn go_back_to(&mut self, now: u64) -> Result<(), M::Error> {
        let mut come = Vec::new();
        self.rows.down_to(now, |message| come.push(message))?;
        for message in come.into_iter().filter(|message| message.sent < now) {
            self.add(message);
        }
        while let Some((_, id)) = self.begins.peek().copied().filter(|(sent, _)| *sent >= now) {
            self.begins.pop();
            if let Some(message) = self.under_way.remove(&id) {
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
        self.begins.push((message.sent, id));
        self.under_way.insert(id, message);
    }

    /// What let a rank go on now that had waited, or let a message go that no CPU did.
    fn released(&mut self, rank: u32, now: u64) -> Result<Option<Event>, M::Error> {
        self.go_back_to(now)?;
        let of = |events: &BTreeSet<(u32, u64, u64)>| -> Vec<MessageSpan> {
            let range = events.range((rank, now, 0)..=(rank, now, u64::MAX));
            range.map(|(_, _, id)| self.under_way[id]).collect()
        };
        // A rank waits for messages to it that need no answer; a request to send may be what held up others.
        let arrived = of(&self.arrivals);
        let arrived = arrived
            .into_iter()
            .filter(|message| message.part <= Part::RequestToSend);
        let injected = of(&self.injections).into_iter().map(Event::Injected);
        let events = arrived.map(Event::Arrived).chain(injected);
        // Of several at the same time any will do, but always the same one.
        Ok(events.min_by_key(|event| match event {
            Event::Arrived(it) => (it.part, false, it.from, it.sequence),
            Event::Injected(it) => (it.part, true, it.to, it.sequence),
        }))
    }

    /// A message that arrived by `now`, but not before `earliest`.
    fn find(&mut self, wanted: Key, now: u64, earliest: u64) -> Result<Option<MessageSpan>, M::Error> {
        self.go_back_to(now)?;
        loop {
            let found = self.keys.get(&wanted).and_then(|id| self.under_way.get(id));
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

/// When the last byte of data was out of the memory of the sender, which may then go on.
fn left(message: &MessageSpan) -> Option<u64> {
    let told = message.part == Part::Data;
    told.then_some(message.injected.unwrap_or(message.arrived))
}

struct BackwardWalk<'a, M: Groups, W: Groups> {
    traffic: JobTraffic<M>,
    waits: Backwards<W>,
    serialization: &'a dyn Fn(u32, u32) -> u64,
    own: Name,
    path: Path,
}

impl<M, W> BackwardWalk<'_, M, W>
where
    M: Groups<Row = MessageSpan>,
    W: Groups<Row = PacketWait, Error = M::Error>,
{
    /// Follows what happened now to the rank, and the time, from which its CPU let it go.
    fn follow<S>(
        &mut self,
        event: Event,
        now: u64,
        ranks: &mut RankCursors<S>,
    ) -> Result<(u32, u64), M::Error>
    where
        S: Groups<Row = TimelineSpan, Error = M::Error>,
    {
        let (mut event, mut now) = (event, now);
        loop {
            let (Event::Arrived(message) | Event::Injected(message)) = event;
            let sent = message.sent.min(now);
            self.cross(&message, sent, now)?;
            let before = match answered(&message) {
                // Data are let go when the clear to send is there.
                Some(clear) if message.part == Part::Data => {
                    let found = self.traffic.find(clear, sent, message.posted.min(sent))?;
                    now = found.map_or(sent, |clear| clear.arrived);
                    self.wait_for_nic(&message, now, sent);
                    found.map(Event::Arrived)
                }
                // Other answers too, unless they had to wait for a receive, which the CPU posts.
                Some(asked) => {
                    now = message.posted.min(sent);
                    self.wait_for_nic(&message, now, sent);
                    let found = self.traffic.find(asked, now, now)?;
                    match found {
                        Some(asked) => Some(Event::Arrived(asked)),
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

    /// What happened now and let a message go, if the CPU of the rank did not: it was in the middle of something
    /// else.
    fn beside_the_cpu<S>(
        &mut self,
        rank: u32,
        now: u64,
        ranks: &mut RankCursors<S>,
    ) -> Result<Option<Event>, M::Error>
    where
        S: Groups<Row = TimelineSpan, Error = M::Error>,
    {
        match ranks.at(rank, now)? {
            Some(span) if span.end > now => self.traffic.released(rank, now),
            _ => Ok(None),
        }
    }

    /// Adds the time from when the CPU came to a message until it was sent: overhead, and then the NIC's gap.
    fn leave<S>(
        &mut self,
        message: &MessageSpan,
        posted: u64,
        sent: u64,
        ranks: &mut RankCursors<S>,
    ) -> Result<(), M::Error>
    where
        S: Groups<Row = TimelineSpan, Error = M::Error>,
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

    /// Adds the time that a message waited for the NIC to take it.
    fn wait_for_nic(&mut self, message: &MessageSpan, begin: u64, end: u64) {
        let (leg, at) = (Leg::of(message), HeldBy::Gap);
        self.path.push(begin, end, PathStepKind::PacketWait { leg, at });
    }

    /// Adds the time in which a message crossed network or memory until now.
    fn cross(&mut self, message: &MessageSpan, sent: u64, now: u64) -> Result<(), M::Error> {
        self.path.messages += 1;
        let leg = Leg::of(message);
        let mut stays = match message.number {
            Some(number) => self.stays(message.from_host, number, sent, now)?,
            None => Vec::new(),
        };
        for piece in crossing::divide(sent, now, &mut stays, self.own) {
            let what = match piece.wait {
                None => PathStepKind::Transfer(leg),
                Some((link, cause)) => PathStepKind::PacketWait {
                    leg,
                    at: HeldBy::Link { link, cause },
                },
            };
            self.path.push(piece.begin, piece.end, what);
        }
        Ok(())
    }

    /// Where packets of a message waited until they started, between `begin` and `end`.
    fn stays(&mut self, host: u32, number: u32, begin: u64, end: u64) -> Result<Vec<Stay>, M::Error> {
        let mut waits = Vec::new();
        self.waits.down_to(begin + 1, |wait| {
            if (wait.from_host, wait.number) == (host, number) && wait.end <= end {
                waits.push(wait);
            }
        })?;
        Ok(stays(waits, self.serialization))
    }
}

/// Puts the parts of waits together.
fn stays(mut waits: Vec<PacketWait>, serialization: &dyn Fn(u32, u32) -> u64) -> Vec<Stay> {
    waits.sort_by_key(|wait| (wait.link, wait.vc, wait.begin, wait.end, wait.part));
    let mut stays: Vec<Stay> = Vec::new();
    // Those that may go on, by link, VC, end and number of the next part.
    let mut open: HashMap<(u32, u8, u64, u8), usize> = HashMap::new();
    for wait in waits {
        let at = (wait.link, wait.vc, wait.begin, wait.part);
        let before = open.remove(&at).filter(|_| wait.part > 0);
        let index = before.unwrap_or_else(|| {
            stays.push(Stay {
                link: wait.link,
                begin: wait.begin,
                end: wait.begin,
                serialization: serialization(wait.link, wait.bytes),
                parts: Vec::new(),
            });
            stays.len() - 1
        });
        let (reason, holder) = (wait.reason, wait.holder);
        stays[index]
            .parts
            .push((Cause { reason, holder }, wait.end.saturating_sub(wait.begin)));
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
            part: message.part,
            number: message.number,
        }
    }
}

impl Path {
    /// Adds a step, unless it takes no time.
    fn push(&mut self, begin: u64, end: u64, what: PathStepKind) {
        if begin < end {
            self.steps.push(PathStep { begin, end, what });
        }
    }
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
