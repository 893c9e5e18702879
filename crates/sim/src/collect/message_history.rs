//! Builds rows of the tables `timeline`, `messages` and `waits` from timeline records of ranks, NICs and routers, in
//! the total order.
//!
//! Two hosts record the life of a message. Neither knows the times of the other. This module joins both parts. It
//! keeps messages in flight only.

use std::collections::BTreeMap;
use std::sync::Arc;

use des::{LpId, Time};
use experiment::{EndPoint, Job, JobKind, NetworkModel};
use mpi::{ALGORITHMS, MessageKind};
use results::rows::{MessageRow, TimelineRow, WaitRow};
use serde::{Deserialize, Serialize};
use topology::{HostId, Peer, Port, RouterId};

use crate::lp::simulation::Simulation;
use crate::lp::timeline_record::{Activity, MessageKey, TimelineRecord};
use crate::lp::wiring::{LpIdentity, Numbering};

/// A row of one of the tables.
#[derive(Clone, Debug, PartialEq)]
pub enum BuiltRow {
    /// A row of `timeline`.
    Timeline(TimelineRow),
    /// A row of `messages`.
    Message(MessageRow),
    /// A row of `waits`.
    Wait(WaitRow),
}

/// The messages in flight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MessageHistory {
    in_flight: BTreeMap<MessageKey, MessageTimes>,
    /// Messages whose last byte has not left, by host and number.
    leaving: BTreeMap<(u32, u32), MessageKey>,
    /// By request to send: the time at which its rank began it, and the algorithm, for the data that follow.
    handshakes: BTreeMap<MessageKey, (Time, Option<u16>)>,
}

/// The recorded times of one message.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct MessageTimes {
    bytes: u64,
    tag: Option<u32>,
    algorithm: Option<u16>,
    number: Option<u32>,
    posted: Time,
    sent: Time,
    injected: Option<Time>,
    arrived: Option<Time>,
}

/// Builds table rows from timeline records.
pub struct TimelineBuilder {
    network: Arc<NetworkModel>,
    numbering: Arc<Numbering>,
    jobs: Arc<[Job]>,
    names: Vec<JobNames>,
    message_history: MessageHistory,
    /// Number of the first link, by router.
    links: Vec<u32>,
}

struct JobNames {
    name: Arc<str>,
    regions: Vec<Arc<str>>,
}

/// The name of a protocol part in the column of `messages`.
fn protocol(kind: u8) -> &'static str {
    const KINDS: [(MessageKind, &str); 8] = [
        (MessageKind::Eager, "eager"),
        (MessageKind::RequestToSend, "request-to-send"),
        (MessageKind::ClearToSend, "clear-to-send"),
        (MessageKind::Data, "rendezvous"),
        (MessageKind::Put, "put"),
        (MessageKind::PutDone, "put-done"),
        (MessageKind::Get, "get"),
        (MessageKind::GetData, "get-data"),
    ];
    let found = KINDS.iter().find(|(of, _)| *of as u8 == kind);
    found.map_or("", |(_, name)| name)
}

/// Whether a receive must match the message.
fn is_matched(kind: u8) -> bool {
    [MessageKind::Eager as u8, MessageKind::RequestToSend as u8].contains(&kind)
}

impl TimelineBuilder {
    /// Continues with these messages in flight.
    pub fn new(simulation: &Simulation, message_history: MessageHistory) -> TimelineBuilder {
        let names = |job: &Job| JobNames {
            name: job.name.as_str().into(),
            regions: match &job.kind {
                JobKind::Ranks(ranks) => ranks
                    .workload
                    .regions()
                    .iter()
                    .map(|name| name.as_str().into())
                    .collect(),
                JobKind::Traffic(_) => Vec::new(),
            },
        };
        TimelineBuilder {
            network: simulation.network.clone(),
            numbering: simulation.numbering.clone(),
            jobs: simulation.jobs.clone(),
            names: simulation.jobs.iter().map(names).collect(),
            message_history,
            links: if simulation.waits {
                first_links(&simulation.network)
            } else {
                Vec::new()
            },
        }
    }

    /// The messages in flight.
    pub fn message_history(&self) -> &MessageHistory {
        &self.message_history
    }

    /// Takes a committed record. Returns the row that it completes.
    pub fn take(&mut self, now: Time, record: TimelineRecord) -> Option<BuiltRow> {
        match record {
            TimelineRecord::Did {
                job,
                rank,
                since,
                until,
                what,
                blocked,
            } => {
                let row = self.timeline(job, rank, (since, until), what);
                Some(BuiltRow::Timeline(TimelineRow { blocked, ..row }))
            }
            TimelineRecord::Asked { key, number, at } => {
                let message = MessageTimes {
                    bytes: 0,
                    tag: None,
                    algorithm: None,
                    number,
                    posted: at,
                    sent: now,
                    injected: None,
                    arrived: None,
                };
                if let Some(number) = number {
                    let host = self.host_of_rank(key.job, key.from);
                    self.message_history.leaving.insert((host.0, number), key);
                }
                self.message_history.in_flight.insert(key, message);
                None
            }
            TimelineRecord::Described {
                key,
                bytes,
                tag,
                algorithm,
            } => {
                let message = self.message_history.in_flight.get_mut(&key)?;
                (message.bytes, message.tag, message.algorithm) = (bytes, tag, algorithm);
                let message = *message;
                self.inherit_handshake(key, message);
                None
            }
            TimelineRecord::Handed { key } => {
                if let Some(message) = self.message_history.in_flight.get_mut(&key) {
                    message.sent = now;
                }
                None
            }
            TimelineRecord::Injected { source, number, at } => {
                let host = self.host_of(source);
                if let Some(key) = self.message_history.leaving.get(&(host, number))
                    && let Some(message) = self.message_history.in_flight.get_mut(key)
                {
                    // Of several rails, the last one counts.
                    message.injected = message.injected.max(Some(at));
                }
                None
            }
            TimelineRecord::Arrived { key } => {
                let message = self.message_history.in_flight.get_mut(&key)?;
                message.arrived = Some(now);
                let number = message.number;
                if let Some(number) = number {
                    let from = self.host_of_rank(key.job, key.from);
                    self.message_history.leaving.remove(&(from.0, number));
                }
                if is_matched(key.kind) {
                    return None;
                }
                self.finish_message(key, now)
            }
            TimelineRecord::Matched { key } => self.finish_message(key, now),
            TimelineRecord::Waited {
                job,
                source,
                number,
                lp,
                port,
                vc,
                bytes,
                part,
                wait,
            } => {
                let (link, in_nic) = self.link(lp, port);
                let reason = match (wait.reason, in_nic) {
                    (fabric::Reason::Wire, true) => "nic",
                    (reason, _) => reason.name(),
                };
                Some(BuiltRow::Wait(WaitRow {
                    job: self.name(job),
                    from_host: self.host_of(source),
                    number,
                    link,
                    vc,
                    begin_ps: wait.start.ps(),
                    end_ps: wait.end.ps(),
                    reason: reason.into(),
                    holder: wait.holder.map(|job| self.name(job)),
                    part,
                    bytes,
                }))
            }
        }
    }

    fn name(&self, job: u16) -> Arc<str> {
        self.names[usize::from(job)].name.clone()
    }

    fn host_of(&self, end_point: HostId) -> u32 {
        self.network.rails.host(EndPoint(end_point)).0
    }

    fn host_of_rank(&self, job: u16, rank: u32) -> HostId {
        match &self.jobs[usize::from(job)].kind {
            JobKind::Ranks(ranks) => ranks.hosts[rank as usize],
            JobKind::Traffic(_) => unreachable!("messages of ranks are those of jobs with ranks"),
        }
    }

    fn timeline(&self, job: u16, rank: u32, (start, end): (Time, Time), what: Activity) -> TimelineRow {
        let (state, region) = match what {
            Activity::Compute(region) => ("compute", region),
            Activity::Call(call) => (call.name(), None),
        };
        let regions = &self.names[usize::from(job)].regions;
        TimelineRow {
            job: self.name(job),
            rank,
            begin_ps: start.ps(),
            end_ps: end.ps(),
            state: state.into(),
            blocked: false,
            region: region.and_then(|region| regions.get(region as usize).cloned()),
        }
    }

    /// Copies the times of a request to send to the clear to send and the data of the same rendezvous.
    fn inherit_handshake(&mut self, key: MessageKey, message: MessageTimes) {
        let request = |from, to| MessageKey {
            kind: MessageKind::RequestToSend as u8,
            from,
            to,
            ..key
        };
        if key.kind == MessageKind::RequestToSend as u8 {
            self.message_history
                .handshakes
                .insert(key, (message.posted, message.algorithm));
            return;
        }
        let (posted, algorithm) = if key.kind == MessageKind::ClearToSend as u8 {
            let of = self.message_history.handshakes.get(&request(key.to, key.from));
            (message.posted, of.and_then(|(_, algorithm)| *algorithm))
        } else if key.kind == MessageKind::Data as u8
            && let Some(of) = self.message_history.handshakes.remove(&request(key.from, key.to))
        {
            of
        } else {
            return;
        };
        if let Some(message) = self.message_history.in_flight.get_mut(&key) {
            (message.posted, message.algorithm) = (posted, algorithm);
        }
    }

    /// Completes a message.
    fn finish_message(&mut self, key: MessageKey, matched: Time) -> Option<BuiltRow> {
        let message = self.message_history.in_flight.remove(&key)?;
        let host = |rank| self.host_of_rank(key.job, rank).0;
        let algorithm = message
            .algorithm
            .and_then(|index| ALGORITHMS.get(usize::from(index)));
        Some(BuiltRow::Message(MessageRow {
            job: self.name(key.job),
            from_rank: key.from,
            to_rank: key.to,
            sequence: key.sequence,
            number: message.number,
            from_host: host(key.from),
            to_host: host(key.to),
            bytes: message.bytes,
            tag: message.tag.map(|tag| tag as i32),
            collective: algorithm.map(|of| format!("{} {}", of.collective.name(), of.name).into()),
            protocol: protocol(key.kind).into(),
            posted_ps: message.posted.ps(),
            sent_ps: message.sent.ps(),
            injected_ps: message.injected.map(Time::ps),
            arrived_ps: message.arrived.unwrap_or(matched).ps(),
            matched_ps: matched.ps(),
        }))
    }

    /// Number of a link in the table `links`, by its sending end, and whether that end is a NIC.
    fn link(&self, lp: LpId, port: u16) -> (u32, bool) {
        let network = &self.network;
        match self.numbering.identity(lp) {
            LpIdentity::Host(host) => (host.0 * network.rails.count() + u32::from(port), true),
            LpIdentity::Router(router) => {
                let wired = |port: &u16| network.topology.peer(router, Port(*port)) != Peer::Unwired;
                let before = (0..port).filter(wired).count() as u32;
                (self.links[router.0 as usize] + before, false)
            }
            LpIdentity::TerminationDetector => unreachable!("the termination detector has no links"),
        }
    }
}

/// Number of the first link in the table `links`, by router.
fn first_links(network: &NetworkModel) -> Vec<u32> {
    let topology = network.topology.as_ref();
    let mut next = network.hosts() * network.rails.count();
    let first = |router| {
        let first = next;
        let wired = |port: &u16| topology.peer(router, Port(*port)) != Peer::Unwired;
        next += (0..topology.ports(router)).filter(wired).count() as u32;
        first
    };
    (0..topology.routers()).map(RouterId).map(first).collect()
}
