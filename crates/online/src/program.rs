//! What one rank's process posts, as a program.

use std::collections::HashMap;
use std::sync::Arc;

use rank_channel::{Needs, Payload, Post, PostedData, Reply, SimulatorEnd};
use workload::{Answer, Call, Communicator, Operation, Program, SentMessage, Takes, TraceError, WORLD};

use crate::exchange::CollectiveKey;
use crate::job::OnlineJob;
use crate::launch::Launched;

/// A collective in which the rank takes part: which one, and what it needs at the end.
type Joined = (CollectiveKey, Needs);

/// The program of one rank.
pub(crate) struct OnlineRank {
    job: Arc<OnlineJob>,
    rank: u32,
    started: Option<Started>,
    /// Number of members of each communicator, and this rank among them.
    communicators: HashMap<Communicator, (u32, usize)>,
    /// Number of collectives begun in each communicator.
    begun: HashMap<Communicator, u64>,
    answer: Answer,
    /// What the last send brings, until it leaves.
    leaving: Option<Payload>,
    /// Whether the last operation is a probe, which receives nothing.
    probes: bool,
    /// The blocking collective that is the last operation.
    blocking: Option<Joined>,
    /// Blocking collectives that are complete, and of which the rank has not been told.
    complete: Vec<Joined>,
    /// Non-blocking collectives, by request.
    nonblocking: HashMap<u64, Joined>,
    /// The last operation, if its answer tells what is noted of it.
    unanswered: Option<Operation>,
    /// Whether its operations cannot be noted, and why.
    unnoted: Option<String>,
    /// What the rank copies after the last reply.
    reading: Vec<Payload>,
    /// Collectives of which it copies contributions.
    ending: Vec<CollectiveKey>,
}

struct Started {
    launched: Arc<Launched>,
    end: SimulatorEnd,
}

impl OnlineRank {
    pub fn new(job: Arc<OnlineJob>, rank: u32) -> OnlineRank {
        let world = (rank, job.ranks() as usize);
        OnlineRank {
            job,
            rank,
            started: None,
            communicators: HashMap::from([(WORLD, world)]),
            begun: HashMap::new(),
            answer: Answer::default(),
            leaving: None,
            probes: false,
            blocking: None,
            complete: Vec::new(),
            nonblocking: HashMap::new(),
            unanswered: None,
            unnoted: None,
            reading: Vec::new(),
            ending: Vec::new(),
        }
    }

    fn error(&self, message: String) -> TraceError {
        TraceError {
            file: self.job.command(),
            rank: Some(self.rank),
            message,
        }
    }

    /// What the rank posts next.
    fn next_post(&mut self) -> Result<Post, TraceError> {
        if self.started.is_none() {
            let launched = self.job.launched().map_err(|message| self.error(message))?;
            let end = launched.end(self.rank);
            self.started = Some(Started { launched, end });
        }
        loop {
            let started = self.started.as_mut().expect("started above");
            if let Some(post) = started.end.take() {
                return Ok(post);
            }
            let reply = match started.end.awaits_reply() {
                true => self.reply(),
                false => Reply::default(),
            };
            let started = self.started.as_mut().expect("started above");
            if started.end.exchange(&reply).is_err() {
                let ended = started.launched.how_ended(self.rank);
                return Err(self.error(ended));
            }
            let exchange = self.job.exchange();
            self.reading
                .drain(..)
                .for_each(|payload| exchange.release(payload));
            self.ending.drain(..).for_each(|key| exchange.finish(key));
        }
    }

    fn reply(&mut self) -> Reply {
        let answer = std::mem::take(&mut self.answer);
        let mut reply = Reply::default();
        let mut joined: Vec<(Option<u64>, Joined)> = self.complete.drain(..).map(|own| (None, own)).collect();
        for (index, completed) in answer.completed.iter().enumerate() {
            if let Some(message) = completed.message
                && !self.probes
                && let Some(payload) = self.job.exchange().receive(message.sent)
            {
                reply.messages.push((index as u32, payload));
                self.reading.push(payload);
            }
            if let Some(request) = completed.request
                && let Some(own) = self.nonblocking.remove(&request)
            {
                joined.push((Some(request), own));
            }
        }
        for (request, (key, needs)) in joined {
            let contributions = self.job.exchange().contributions(key, needs);
            reply.contributions.push((request, contributions));
            self.ending.push(key);
        }
        reply.answer = answer;
        reply.released = self.job.exchange().take_released(self.rank);
        reply
    }

    /// Notes what an operation brings, and whom it concerns.
    fn note(&mut self, operation: &Operation, contribution: PostedData) {
        self.probes = matches!(
            operation,
            Operation::Probe { .. } | Operation::Iprobe { .. } | Operation::MatchedProbe { .. }
        );
        match operation {
            Operation::Send { .. } => self.leaving = contribution.payload,
            Operation::NewCommunicator {
                communicator,
                members,
                ..
            } => {
                let own = members.iter().position(|member| *member == self.rank);
                let own = own.unwrap_or_default() as u32;
                self.communicators.insert(*communicator, (own, members.len()));
            }
            Operation::Collective {
                communicator,
                request,
                ..
            } => {
                let number = self.begun.entry(*communicator).or_default();
                let key = (*communicator, *number);
                *number += 1;
                // An unknown communicator is an error of the operation itself.
                if let Some(own) = self.communicators.get(communicator) {
                    self.job.exchange().contribute(key, *own, contribution.payload);
                }
                let joined = (key, contribution.needs);
                match request {
                    None => self.blocking = Some(joined),
                    Some(request) => {
                        self.nonblocking.insert(*request, joined);
                    }
                }
            }
            _ => {}
        }
    }
}

impl OnlineRank {
    /// Notes an operation, at once or with its answer.
    fn leave_or_wait(&mut self, operation: &Operation) {
        match operation {
            Operation::Select { .. } | Operation::MatchedProbe { blocks: false, .. } => {
                self.unanswered = Some(operation.clone());
            }
            _ => self.leave(operation.clone()),
        }
    }

    /// Notes an operation.
    fn leave(&mut self, operation: Operation) {
        if let Err(error) = self.job.note(self.rank, operation) {
            self.unnoted = Some(error.to_string());
        }
    }
}

/// A test that has found nothing.
fn nothing_found(call: Call) -> Operation {
    Operation::Select {
        requests: Vec::new(),
        takes: Takes::All,
        blocks: false,
        call,
    }
}

/// An operation with what the simulation has decided, so that it needs no answer.
fn decided(operation: Operation, answer: &Answer) -> Operation {
    let found = !answer.completed.is_empty();
    match operation {
        Operation::Select { call, .. } if found => Operation::Wait {
            requests: answer.completed.iter().filter_map(|one| one.request).collect(),
            call,
        },
        Operation::Select { call, .. } => nothing_found(call),
        Operation::MatchedProbe {
            from,
            tag,
            communicator,
            call,
            ..
        } if !found => Operation::Iprobe {
            from,
            tag,
            communicator,
            call,
        },
        other => other,
    }
}

impl Program for OnlineRank {
    fn answer(&mut self, answer: Answer) {
        if let Some(operation) = self.unanswered.take() {
            self.leave(decided(operation, &answer));
        }
        self.answer = answer;
        match self.blocking.take() {
            Some((key, Needs::Nothing)) => self.job.exchange().finish(key),
            other => self.complete.extend(other),
        }
    }

    fn sent(&mut self, message: SentMessage) {
        if let Some(payload) = self.leaving.take() {
            self.job.exchange().send(message, payload);
        }
    }

    fn next(&mut self) -> Result<Option<Operation>, TraceError> {
        let next = match self.next_post()? {
            Post::Operation {
                operation,
                contribution,
            } => {
                self.note(&operation, contribution);
                self.leave_or_wait(&operation);
                Some(operation)
            }
            Post::Clock { again: false } => {
                let none = Operation::Compute { ps: 0, region: None };
                self.leave(none.clone());
                Some(none)
            }
            // Costs `mpi.poll_overhead`, so that a loop that waits for a time ends.
            Post::Clock { again: true } => {
                let poll = nothing_found(Call::Other);
                self.leave(poll.clone());
                Some(poll)
            }
            Post::Finished => {
                if let Err(error) = self.job.finish() {
                    self.unnoted = Some(error.to_string());
                }
                None
            }
            Post::Abort { status, message } => {
                self.job.aborted(status);
                return Err(self.error(message));
            }
        };
        match self.unnoted.take() {
            Some(error) => Err(self.error(format!("its operations cannot be written: {error}"))),
            None => Ok(next),
        }
    }
}
