//! The program of a PE: a scheduler that runs logs in the order in which they become ready.
//!
//! Messages of other PEs are received from any source. A PE looks for them when a log has ended, and waits for one
//! when no log is ready. A message to the own PE only queues up, as in Charm++, and is no message of MPI.

use std::sync::Arc;

use super::log::BigsimMessage;
use super::replay::{BigsimReplay, PeProgress};
use crate::{Answer, Call, Operation, Program, Takes, TraceError, WORLD};

/// Receives that are posted at a time. Further messages wait, in the order of their arrival, for the next look.
const POSTED: usize = 64;

/// How long logs of AMPI and of Charm++'s collectives take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimeLogs {
    /// No time: the layer of MPI has the costs of communication.
    Simulated,
    /// As recorded.
    Recorded,
}

impl RuntimeLogs {
    /// Their names in experiments; the first is the default.
    pub const NAMES: [&str; 2] = ["simulated", "recorded"];

    /// The one of a name.
    pub fn from_name(name: &str) -> RuntimeLogs {
        match name {
            "recorded" => RuntimeLogs::Recorded,
            _ => RuntimeLogs::Simulated,
        }
    }
}

/// Whether logs of this name belong to AMPI or to a collective of Charm++: those to which TraceR gives no time, or its
/// `soft_delay_mpi`.
pub fn is_of_runtime(name: &str) -> bool {
    const OTHERS: [&str; 10] = [
        "ATAReq_wait",
        "RECV_RESUME",
        "SPLIT_RESUME",
        "PROBE_RESUME",
        "IPROBE_RESUME",
        "msgep",
        "GroupReduce",
        "start-broadcast",
        "split-broadcast",
        "end-broadcast",
    ];
    name.starts_with("AMPI_") || OTHERS.contains(&name)
}

/// What the program does next.
enum SchedulerStep {
    /// Takes the next log that is ready, or waits.
    Next,
    /// Sends the messages of a log from this one on, then executes it.
    Send { log: u32, number: usize },
    /// Looks for messages, at the end of this log.
    Look { log: u32 },
    /// Takes the messages that the look has found.
    Looked { log: u32 },
    /// Takes the message that has ended the wait.
    Waited,
}

/// The program of a PE.
pub struct BigsimProgram {
    replay: Arc<BigsimReplay>,
    pe: u32,
    /// Whether logs take their recorded time, by name.
    takes_time: Arc<[bool]>,
    progress: PeProgress,
    step: SchedulerStep,
    /// Destinations of the message that is being sent, those that are left.
    destinations: Box<dyn Iterator<Item = u32> + Send>,
    /// Open receives.
    open: Vec<u64>,
    /// Receives that are not posted yet.
    unposted: u64,
    /// Whether time may have passed since the last look.
    has_passed: bool,
    answer: Answer,
}

impl BigsimProgram {
    /// The program of a PE.
    pub fn new(replay: Arc<BigsimReplay>, pe: u32, takes_time: Arc<[bool]>) -> BigsimProgram {
        BigsimProgram {
            progress: replay.progress(pe),
            unposted: replay.pes[pe as usize].arrivals,
            replay,
            pe,
            takes_time,
            step: SchedulerStep::Next,
            destinations: Box::new(std::iter::empty()),
            open: Vec::new(),
            has_passed: false,
            answer: Answer::default(),
        }
    }

    /// The next receive to post, if there are too few.
    fn post(&mut self) -> Option<Operation> {
        if self.unposted == 0 || self.open.len() >= POSTED {
            return None;
        }
        // A message that waits for this receive is in it at once.
        self.has_passed = true;
        let request = self.unposted;
        self.unposted -= 1;
        self.open.push(request);
        Some(Operation::Receive {
            from: None,
            tag: None,
            communicator: WORLD,
            bytes: u64::MAX,
            request: Some(request),
            call: Call::Irecv,
        })
    }

    /// Asks for the messages that have arrived.
    fn select(&mut self, blocks: bool) -> Operation {
        Operation::Select {
            requests: self.open.clone(),
            takes: Takes::Arrived,
            blocks,
            call: if blocks { Call::Waitsome } else { Call::Testsome },
        }
    }

    /// Takes the messages of the last answer. Their reception may have taken time.
    fn take(&mut self) {
        for completed in std::mem::take(&mut self.answer.completed) {
            self.open.retain(|request| completed.request != Some(*request));
            if let Some(message) = completed.message {
                let (from, id) = (message.source, message.tag);
                let message = BigsimMessage { from, id };
                self.progress.arrive(&self.replay.pes[self.pe as usize], message);
            }
            self.has_passed = true;
        }
    }

    /// The next message of a log to another PE, or its computation, if it has one.
    fn send_or_execute(&mut self, log: u32, mut number: usize) -> Option<Operation> {
        let replay = self.replay.clone();
        let timeline = &replay.timelines.pes[self.pe as usize];
        let sends = timeline.sends(log);
        loop {
            // Destinations are those of the send before `number`.
            if let Some(to) = self.destinations.next() {
                let send = sends[number - 1];
                let message = BigsimMessage {
                    from: self.pe,
                    id: send.id,
                };
                if to == self.pe {
                    self.progress.arrive(&replay.pes[self.pe as usize], message);
                    continue;
                }
                self.step = SchedulerStep::Send { log, number };
                self.has_passed = true;
                return Some(Operation::Send {
                    to,
                    tag: send.id,
                    communicator: WORLD,
                    bytes: send.bytes.into(),
                    request: None,
                    call: Call::Bsend,
                });
            }
            let Some(send) = sends.get(number) else {
                break;
            };
            self.destinations = Box::new(send.to.pes(&replay.timelines.machine));
            number += 1;
        }
        self.step = SchedulerStep::Look { log };
        let recorded = &timeline.logs[log as usize];
        let ps = recorded.exec_ps;
        if ps == 0 || !self.takes_time[recorded.name as usize] {
            return None;
        }
        self.has_passed = true;
        let region = Some(recorded.name);
        Some(Operation::Compute { ps, region })
    }

    /// Lets the logs that wait for this one queue up.
    fn end(&mut self, log: u32) {
        self.progress
            .end(&self.replay.timelines.pes[self.pe as usize], log);
        self.step = SchedulerStep::Next;
    }
}

impl Program for BigsimProgram {
    fn next(&mut self) -> Result<Option<Operation>, TraceError> {
        loop {
            match self.step {
                SchedulerStep::Next => {
                    if let Some(post) = self.post() {
                        return Ok(Some(post));
                    }
                    if let Some(log) = self.progress.next() {
                        self.step = SchedulerStep::Send { log, number: 0 };
                        continue;
                    }
                    if self.open.is_empty() {
                        // What opens has no logs that never start.
                        return Ok(None);
                    }
                    self.step = SchedulerStep::Waited;
                    return Ok(Some(self.select(true)));
                }
                SchedulerStep::Waited => {
                    self.take();
                    self.step = SchedulerStep::Next;
                }
                SchedulerStep::Send { log, number } => {
                    if let Some(operation) = self.send_or_execute(log, number) {
                        return Ok(Some(operation));
                    }
                }
                SchedulerStep::Look { log } => {
                    if let Some(post) = self.post() {
                        return Ok(Some(post));
                    }
                    if !self.has_passed || self.open.is_empty() {
                        self.end(log);
                        continue;
                    }
                    self.has_passed = false;
                    self.step = SchedulerStep::Looked { log };
                    return Ok(Some(self.select(false)));
                }
                SchedulerStep::Looked { log } => {
                    self.take();
                    self.step = SchedulerStep::Look { log };
                }
            }
        }
    }

    fn answer(&mut self, answer: Answer) {
        self.answer = answer;
    }
}
