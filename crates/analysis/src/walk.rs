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

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};

use crate::backwards::{Backwards, Groups};
use crate::columns::Name;
use crate::crossing::{self, Cause, Stay};
use crate::tables::{Message, Part, Span, State, Wait};

/// A step of the path: what took the time from `begin` to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub begin: u64,
    pub end: u64,
    pub what: What,
}

/// What took the time of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A rank computed, in this region.
    Compute { rank: u32, region: Option<Name> },
    /// The CPU of a rank worked for MPI, in this call.
    Overhead { rank: u32, call: Option<Name> },
    /// A message crossed network or memory.
    Transfer(Leg),
    /// A message waited for the NIC to take it, or its packets at a link.
    Wait { leg: Leg, at: Held },
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
pub(crate) enum Held {
    /// Packets at this link.
    Link { link: u32, cause: Cause },
    /// The least time between two messages of a host.
    Gap,
}

/// The path of a job, and where it begins and ends.
#[derive(Debug, Default)]
pub(crate) struct Path {
    /// From the last to the first, without gap.
    pub steps: Vec<Step>,
    /// Messages on it.
    pub messages: u64,
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
    S: Groups<Row = Span, Error = E>,
    M: Groups<Row = Message, Error = E>,
    W: Groups<Row = Wait, Error = E>,
{
    let mut ranks = Ranks {
        rows: history.spans,
        current: HashMap::new(),
    };
    let mut walk = Walk {
        traffic: Traffic::new(history.messages),
        waits: history.waits,
        serialization: history.serialization,
        own: history.own,
        path: Path::default(),
    };
    let Some(last) = ranks.rows.next()? else {
        return Ok(walk.path);
    };
    ranks.current.insert(last.rank, last);
    let (mut rank, mut now) = (last.rank, last.end);
    while let Some(span) = ranks.at(rank, now)? {
        let step = |what| Step {
            begin: span.begin,
            end: now,
            what,
        };
        let activity = span.activity;
        match span.state {
            State::Compute => walk.path.steps.push(step(What::Compute {
                rank,
                region: activity,
            })),
            State::Overhead => walk
                .path
                .steps
                .push(step(What::Overhead { rank, call: activity })),
            State::Blocked => {
                if let Some(event) = walk.traffic.released(rank, now)? {
                    (rank, now) = walk.follow(event, now, &mut ranks)?;
                    continue;
                }
                walk.path.steps.push(step(What::Unknown { rank, call: activity }));
            }
        }
        now = span.begin;
    }
    Ok(walk.path)
}

/// What ranks do at a time that goes backwards.
struct Ranks<S>
where
    S: Groups,
{
    rows: Backwards<S>,
    /// The earliest span that has been read of each rank.
    current: HashMap<u32, Span>,
}

impl<S: Groups<Row = Span>> Ranks<S> {
    /// What the rank did until `now`; nothing before it began.
    fn at(&mut self, rank: u32, now: u64) -> Result<Option<Span>, S::Error> {
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
    Arrived(Message),
    /// Its last byte had left.
    Injected(Message),
}

/// Messages under way at a time that goes backwards: those that had been let go before and not arrived by then.
struct Traffic<M: Groups> {
    rows: Backwards<M>,
    /// By a number of their own.
    under_way: HashMap<u64, Message>,
    next: u64,
    arrivals: BTreeSet<(u32, u64, u64)>,
    injections: BTreeSet<(u32, u64, u64)>,
    /// By when they were let go.
    begins: BinaryHeap<(u64, u64)>,
}

impl<M: Groups<Row = Message>> Traffic<M> {
    fn new(rows: Backwards<M>) -> Traffic<M> {
        Traffic {
            rows,
            under_way: HashMap::new(),
            next: 0,
            arrivals: BTreeSet::new(),
            injections: BTreeSet::new(),
            begins: BinaryHeap::new(),
        }
    }

    fn go_back_to(&mut self, now: u64) -> Result<(), M::Error> {
        let Traffic {
            rows,
            under_way,
            next,
            arrivals,
            injections,
            begins,
        } = self;
        rows.down_to(now, |message| {
            if message.posted >= now {
                return;
            }
            let id = *next;
            *next += 1;
            if let Some(arrived) = message.arrived {
                arrivals.insert((message.to, arrived, id));
            }
            if let Some(left) = left(&message) {
                injections.insert((message.from, left, id));
            }
            begins.push((message.posted, id));
            under_way.insert(id, message);
        })?;
        while let Some((_, id)) = begins.peek().copied().filter(|(posted, _)| *posted >= now) {
            begins.pop();
            if let Some(message) = under_way.remove(&id) {
                if let Some(arrived) = message.arrived {
                    arrivals.remove(&(message.to, arrived, id));
                }
                if let Some(left) = left(&message) {
                    injections.remove(&(message.from, left, id));
                }
            }
        }
        Ok(())
    }

    /// What happened to the messages of a rank at a time, by the part that they play.
    fn at(&mut self, rank: u32, now: u64) -> Result<Vec<Event>, M::Error> {
        self.go_back_to(now)?;
        let of = |events: &BTreeSet<(u32, u64, u64)>| -> Vec<Message> {
            let range = events.range((rank, now, 0)..=(rank, now, u64::MAX));
            range.map(|(_, _, id)| self.under_way[id]).collect()
        };
        let arrived = of(&self.arrivals).into_iter().map(Event::Arrived);
        let mut events: Vec<Event> = arrived
            .chain(of(&self.injections).into_iter().map(Event::Injected))
            .collect();
        // Rows at one time come in the order of the file, which is the same for the same run.
        events.sort_by_key(|event| match event {
            Event::Arrived(message) => (message.part, false, message.from, message.number),
            Event::Injected(message) => (message.part, true, message.to, message.number),
        });
        Ok(events)
    }

    /// What ended the wait of a rank that went on now.
    fn released(&mut self, rank: u32, now: u64) -> Result<Option<Event>, M::Error> {
        Ok(self.at(rank, now)?.into_iter().next())
    }

    /// The message of this part from `from` to `to` that arrived now.
    fn arrived(&mut self, part: Part, (from, to): (u32, u32), now: u64) -> Result<Option<Event>, M::Error> {
        let wanted =
            |event: &Event| matches!(event, Event::Arrived(it) if it.part == part && it.from == from);
        Ok(self.at(to, now)?.into_iter().find(wanted))
    }
}

/// When the last byte of data was out of the memory of the sender, which may then go on.
fn left(message: &Message) -> Option<u64> {
    let told = message.part == Part::Data;
    let left = match message.number {
        Some(_) => message.injected,
        None => message.arrived,
    };
    left.filter(|_| told)
}

struct Walk<'a, M: Groups, W: Groups> {
    traffic: Traffic<M>,
    waits: Backwards<W>,
    serialization: &'a dyn Fn(u32, u32) -> u64,
    own: Name,
    path: Path,
}

impl<M, W> Walk<'_, M, W>
where
    M: Groups<Row = Message>,
    W: Groups<Row = Wait, Error = M::Error>,
{
    /// Follows what happened now to the rank, and the time, from which its CPU let it go.
    fn follow<S>(&mut self, event: Event, now: u64, ranks: &mut Ranks<S>) -> Result<(u32, u64), M::Error>
    where
        S: Groups<Row = Span, Error = M::Error>,
    {
        let (mut event, mut now) = (event, now);
        loop {
            let (Event::Arrived(message) | Event::Injected(message)) = event;
            self.cross(&message, now)?;
            let (rank, posted) = (message.from, message.posted);
            now = posted;
            let before = match message.part.answers() {
                Some(part) => self.traffic.arrived(part, (message.to, rank), posted)?,
                // The CPU let it go, and so has just ended something; but for a collective beside the program,
                // whose rounds go on while the rank does something else.
                None if message.of_collective => match ranks.at(rank, posted)? {
                    Some(span) if span.end > posted => self.traffic.released(rank, posted)?,
                    _ => None,
                },
                None => None,
            };
            match before {
                Some(before) => event = before,
                None => return Ok((rank, posted)),
            }
        }
    }

    /// Adds the time from when a message was let go until now.
    fn cross(&mut self, message: &Message, now: u64) -> Result<(), M::Error> {
        self.path.messages += 1;
        let leg = Leg {
            from: message.from,
            to: message.to,
            part: message.part,
            number: message.number,
        };
        let sent = message.sent.clamp(message.posted, now);
        let mut stays = match message.number {
            Some(number) => self.stays(message.from_host, number, sent, now)?,
            None => Vec::new(),
        };
        for piece in crossing::divide(sent, now, &mut stays, self.own) {
            let what = match piece.wait {
                None => What::Transfer(leg),
                Some((link, cause)) => What::Wait {
                    leg,
                    at: Held::Link { link, cause },
                },
            };
            self.path.steps.push(Step {
                begin: piece.begin,
                end: piece.end,
                what,
            });
        }
        if message.posted < sent {
            self.path.steps.push(Step {
                begin: message.posted,
                end: sent,
                what: What::Wait { leg, at: Held::Gap },
            });
        }
        Ok(())
    }

    /// Where packets of a message waited until they started, between `begin` and `end`.
    fn stays(&mut self, host: u32, number: u32, begin: u64, end: u64) -> Result<Vec<Stay>, M::Error> {
        // Of a packet at a link, by when it came: parts of a wait have that in common.
        let mut stays: BTreeMap<(u32, u64, u64), Stay> = BTreeMap::new();
        let serialization = self.serialization;
        self.waits.down_to(begin + 1, |wait| {
            if (wait.from_host, wait.number) != (host, number) || wait.end > end {
                return;
            }
            let stay = stays
                .entry((wait.link, wait.since, wait.start))
                .or_insert_with(|| Stay {
                    link: wait.link,
                    begin: wait.since,
                    end: wait.start,
                    serialization: serialization(wait.link, wait.bytes),
                    parts: Vec::new(),
                });
            let cause = Cause {
                reason: wait.reason,
                holder: wait.holder,
            };
            stay.parts.push((cause, wait.end - wait.begin));
        })?;
        // Rows came backwards.
        Ok(stays
            .into_values()
            .map(|mut stay| {
                stay.parts.reverse();
                stay
            })
            .collect())
    }
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
