//! What the operations of a program do to a rank: the side of the CPU.
//!
//! A rank goes on until an operation takes time. What takes none (an overhead of zero, a receive whose
//! message is there) is done inline, without a round trip through the owner.

use des::Time;
use workload::{Call, Operation};

use crate::matching::{Pattern, Posted};
use crate::message::{COLLECTIVE_CONTEXT, Kind, Message, NO_REQUEST};
use crate::note::{Doing, Note, index_of};
use crate::rank::{Action, Activity, Departure, Origin, Rank, State};
use crate::requests::{Direction, Owner, Request, Subject};
use crate::statistics::Traffic;
use crate::{CollectiveCall, ReplayError};

/// Whether the CPU is free for the next step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    GoesOn,
    /// The state says until when.
    Stops,
}

impl Rank {
    /// Carries out operations until one takes time or the program ends.
    pub(crate) fn advance(&mut self, now: Time, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        loop {
            let step = if self.collective.is_under_way() {
                self.collective_step(now, out)?
            } else {
                self.next_operation(now, out)?
            };
            if step == Step::Stops {
                return Ok(());
            }
        }
    }

    /// Goes on after a span that kept the CPU busy.
    pub(crate) fn go_on(
        &mut self,
        departure: Option<Departure>,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<(), ReplayError> {
        if let Some(departure) = departure
            && self.depart(departure, now, out)? == Step::Stops
        {
            return Ok(());
        }
        self.advance(now, out)
    }

    fn next_operation(&mut self, now: Time, out: &mut Vec<Action>) -> Result<Step, ReplayError> {
        self.close_activity(now, out);
        match self.program.next(&mut self.journal)? {
            Some(operation) => self.begin(operation, now, out),
            None => {
                self.state.set(State::Finished, &mut self.journal);
                self.stats.finish(now, &mut self.journal);
                out.push(Action::Finished);
                Ok(Step::Stops)
            }
        }
    }

    /// Accounts for the time of the activity that ends now.
    fn close_activity(&mut self, now: Time, out: &mut Vec<Action>) {
        let since = *self.since;
        let span = now.saturating_sub(since);
        match *self.activity {
            Activity::None => {}
            Activity::Compute(region) => {
                self.stats.count_compute(span, &mut self.journal);
                if span > Time::ZERO {
                    let what = Doing::Compute(region);
                    self.tell(|| Note::Did { what, since }, out);
                }
            }
            Activity::Call { call, calls } => {
                self.stats.count_call(call, calls, span, &mut self.journal);
                if span > Time::ZERO || calls > 0 {
                    let what = Doing::Call(call);
                    self.tell(|| Note::Did { what, since }, out);
                }
            }
        }
        self.activity.set(Activity::None, &mut self.journal);
        self.since.set(now, &mut self.journal);
    }

    pub(crate) fn enter(&mut self, call: Call, calls: u64) {
        self.activity
            .set(Activity::Call { call, calls }, &mut self.journal);
    }

    fn begin(&mut self, operation: Operation, now: Time, out: &mut Vec<Action>) -> Result<Step, ReplayError> {
        match operation {
            Operation::Compute { ps, region } => {
                self.activity.set(Activity::Compute(region), &mut self.journal);
                let span = self.job.settings.compute.apply(Time::from_ps(ps), region);
                self.occupy(now, span, None, out)
            }
            Operation::Send {
                to,
                tag,
                communicator: context,
                bytes,
                request,
                call,
            } => {
                self.enter(call, 1);
                let to = self.peer(call, context, to)?;
                let origin = match request {
                    None => Origin::Blocking,
                    Some(request) => Origin::NonBlocking(self.unused(call, request)?),
                };
                self.begin_send(
                    Departure {
                        to,
                        context,
                        tag,
                        bytes,
                        call,
                        origin,
                    },
                    now,
                    out,
                )
            }
            Operation::Receive {
                from,
                tag,
                communicator: context,
                bytes,
                request,
                call,
            } => {
                self.enter(call, u64::from(call != Call::Sendrecv));
                self.member(call, context)?;
                let peer = from.map(|from| self.peer(call, context, from)).transpose()?;
                let subject = Subject {
                    direction: Direction::Receive,
                    peer,
                    tag,
                    context,
                    call,
                };
                self.begin_receive(subject, bytes, request, now, out)
            }
            Operation::Wait { requests, call } => {
                self.enter(call, u64::from(call != Call::Sendrecv));
                self.begin_waiting(now);
                for request in &requests {
                    let handle = self.surrender(call, *request)?;
                    self.wait_for(handle)?;
                }
                self.settle(now, out)
            }
            Operation::Probe {
                from,
                tag,
                communicator: context,
                call,
            } => {
                self.enter(call, 1);
                self.member(call, context)?;
                let from = from.map(|from| self.peer(call, context, from)).transpose()?;
                self.begin_probe(Pattern { context, from, tag }, now, out)
            }
            Operation::Collective {
                collective,
                communicator,
                root,
                bytes,
                counts,
                request,
                call,
            } => {
                self.enter(call, 1);
                let rank = self.member(call, communicator)?;
                self.peer(call, communicator, root)?;
                let share = CollectiveCall {
                    rank,
                    ranks: self.size_of(communicator),
                    root,
                    bytes,
                };
                let request = request.map(|request| self.unused(call, request)).transpose()?;
                let part =
                    self.next_part(collective, communicator | COLLECTIVE_CONTEXT, share, counts, call)?;
                match request {
                    None => self.begin_collective(part, now, out),
                    Some(request) => self.begin_in_background(part, request, now, out),
                }
            }
            Operation::Put {
                to,
                communicator,
                bytes,
                call,
            } => self.begin_one_sided(Origin::Put, (to, communicator, bytes), call, now, out),
            Operation::Get {
                from,
                communicator,
                bytes,
                call,
            } => self.begin_one_sided(Origin::Get, (from, communicator, bytes), call, now, out),
            Operation::Fence { communicator, call } => self.begin_fence(communicator, call, now, out),
        }
    }

    fn begin_receive(
        &mut self,
        subject: Subject,
        capacity: u64,
        request: Option<u64>,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<Step, ReplayError> {
        let request = request
            .map(|request| self.unused(subject.call, request))
            .transpose()?;
        let handle = self.post(subject, capacity, now, out)?;
        if let Some(request) = request {
            self.open.insert(request, handle, &mut self.journal);
            return Ok(Step::GoesOn);
        }
        self.begin_waiting(now);
        self.wait_for(handle)?;
        self.settle(now, out)
    }

    /// Looks for a message, and waits for it if it is not here.
    fn begin_probe(
        &mut self,
        pattern: Pattern,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<Step, ReplayError> {
        let search = self.matching.probe(&pattern);
        let busy_until = self.after(now, self.looking_at(search.looked_at))?;
        if search.found.is_some() {
            self.wait(0, busy_until);
            return self.settle(now, out);
        }
        let probing = State::Probing { pattern, busy_until };
        self.state.set(probing, &mut self.journal);
        Ok(Step::Stops)
    }

    /// Keeps the CPU busy for a span, after which `departure` leaves.
    fn occupy(
        &mut self,
        now: Time,
        span: Time,
        departure: Option<Departure>,
        out: &mut Vec<Action>,
    ) -> Result<Step, ReplayError> {
        if span == Time::ZERO {
            return match departure {
                Some(departure) => self.depart(departure, now, out),
                None => Ok(Step::GoesOn),
            };
        }
        let until = self.after(now, span)?;
        self.state
            .set(State::Busy { until, departure }, &mut self.journal);
        out.push(Action::ResumeAt(until));
        Ok(Step::Stops)
    }

    /// Pays the send overhead and then lets the message go.
    pub(crate) fn begin_send(
        &mut self,
        departure: Departure,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<Step, ReplayError> {
        self.occupy(now, self.job.settings.send_overhead, Some(departure), out)
    }

    /// Lets the message go, and goes on as its sender does.
    fn depart(&mut self, leaving: Departure, now: Time, out: &mut Vec<Action>) -> Result<Step, ReplayError> {
        let origin = leaving.origin;
        let at = now.saturating_sub(self.job.settings.send_overhead);
        if matches!(origin, Origin::Put | Origin::Get) {
            let algorithm = None;
            self.tell(|| Note::Asked { at, algorithm }, out);
            self.reach_out(&leaving, out);
            return Ok(Step::GoesOn);
        }
        let algorithm = || match origin {
            Origin::Collective => self.collective.algorithm().and_then(index_of),
            _ => None,
        };
        self.tell(
            || Note::Asked {
                at,
                algorithm: algorithm(),
            },
            out,
        );
        let pending = self.let_go(&leaving, out);
        match (origin, pending) {
            (Origin::Blocking, Some(handle)) => {
                self.begin_waiting(now);
                self.wait_for(handle)?;
                return self.settle(now, out);
            }
            (Origin::NonBlocking(number), pending) => {
                let complete = Request {
                    complete: true,
                    ..Request::new(leaving.subject(), Owner::Program)
                };
                let handle = pending.unwrap_or_else(|| self.requests.add(complete, &mut self.journal));
                self.open.insert(number, handle, &mut self.journal);
            }
            (Origin::Collective, Some(handle)) => self.collective.await_also(handle, &mut self.journal),
            _ => {}
        }
        Ok(Step::GoesOn)
    }

    /// Lets the message go: all of it, or the request to send it. Gives the request if the send is not
    /// complete with that.
    pub(crate) fn let_go(&mut self, leaving: &Departure, out: &mut Vec<Action>) -> Option<u32> {
        let Departure {
            to,
            context,
            tag,
            bytes,
            ..
        } = *leaving;
        let settings = &self.job.settings;
        let rendezvous = leaving.is_synchronous() || bytes > settings.eager_threshold;
        let copied = leaving.is_buffered() || !leaving.is_synchronous() && bytes <= settings.copy_threshold;
        let (kind, request) = if rendezvous {
            let owner = if copied { Owner::Nobody } else { Owner::Program };
            let subject = leaving.subject();
            let handle = self.requests.open(subject, owner, &mut self.journal);
            (Kind::RequestToSend, handle)
        } else {
            (Kind::Eager, NO_REQUEST)
        };
        let sequence = self.ordering.number(to, &mut self.journal);
        let from = self.rank;
        let message = Message {
            from,
            to,
            communicator: context,
            tag,
            bytes,
            sequence,
            request,
            kind,
        };
        out.push(Action::Send(message));
        let of_collective = message.is_of_collective();
        self.stats
            .count_sent(Traffic { of_collective, bytes }, &mut self.journal);
        // A copied or eager send is complete for the sender, whatever the network does.
        (rendezvous && !copied).then_some(request)
    }

    /// Posts a receive, which may take an unexpected message at once. Costs the CPU nothing.
    pub(crate) fn post(
        &mut self,
        subject: Subject,
        capacity: u64,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<u32, ReplayError> {
        let receive = Request {
            cost: self.job.settings.receive_overhead,
            ..Request::new(subject, Owner::Program)
        };
        let handle = self.requests.add(receive, &mut self.journal);
        let Subject {
            peer: from,
            tag,
            context,
            ..
        } = subject;
        let pattern = Pattern { context, from, tag };
        let posted = Posted {
            pattern,
            capacity,
            handle,
        };
        let search = self.matching.post(posted, &mut self.journal);
        self.charge(handle, self.looking_at(search.looked_at));
        if let Some(unexpected) = search.found {
            self.charge(handle, self.looking_at(unexpected.looked_at));
            self.take(posted, unexpected.message, now, out)?;
        }
        Ok(handle)
    }

    /// CPU time of looking at so many entries of a queue.
    pub(crate) fn looking_at(&self, entries: u32) -> Time {
        let each = self.job.settings.matching_overhead.ps();
        Time(each.saturating_mul(entries.into()))
    }

    /// Adds to the CPU time that the completion of a request costs.
    pub(crate) fn charge(&mut self, handle: u32, span: Time) {
        if span > Time::ZERO {
            let add =
                |request: &mut Request| request.cost = Time(request.cost.ps().saturating_add(span.ps()));
            self.requests.alter(handle, add, &mut self.journal);
        }
    }

    /// Begins a wait, for nothing so far.
    pub(crate) fn begin_waiting(&mut self, now: Time) {
        let (outstanding, busy_until) = (0, now);
        self.wait(outstanding, busy_until);
    }

    /// Waits for so many requests.
    pub(crate) fn wait(&mut self, outstanding: u32, busy_until: Time) {
        let waiting = State::Waiting {
            outstanding,
            busy_until,
        };
        self.state.set(waiting, &mut self.journal);
    }

    /// Adds a request to the wait that has begun, or pays its overhead if it is complete.
    pub(crate) fn wait_for(&mut self, handle: u32) -> Result<(), ReplayError> {
        let (
            State::Waiting {
                outstanding,
                busy_until,
            },
            Some(request),
        ) = (*self.state, self.requests.get(handle))
        else {
            return Err(self.broken(format!("request handle {handle} is gone")));
        };
        if !request.complete {
            let block = |request: &mut Request| request.owner = Owner::Blocked;
            self.requests.alter(handle, block, &mut self.journal);
            self.wait(outstanding + 1, busy_until);
            return Ok(());
        }
        if request.cost > Time::ZERO {
            let busy_until = self.after(busy_until, request.cost)?;
            self.wait(outstanding, busy_until);
        }
        self.requests.close(handle, &mut self.journal);
        Ok(())
    }

    /// Ends the wait if nothing is outstanding any more.
    pub(crate) fn settle(&mut self, now: Time, out: &mut Vec<Action>) -> Result<Step, ReplayError> {
        let State::Waiting {
            outstanding: 0,
            busy_until,
        } = *self.state
        else {
            return Ok(Step::Stops);
        };
        self.state.set(State::Running, &mut self.journal);
        self.occupy(now, busy_until.saturating_sub(now), None, out)
    }

    /// Goes on if what has just happened ends a wait.
    pub(crate) fn wake(&mut self, now: Time, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        match self.settle(now, out)? {
            Step::GoesOn => self.advance(now, out),
            Step::Stops => Ok(()),
        }
    }

    /// Number of ranks in a communicator.
    pub(crate) fn size_of(&self, communicator: u32) -> u32 {
        let members = self.job.members(communicator);
        members.map_or(0, |members| members.len() as u32)
    }

    /// This rank in the communicator.
    pub(crate) fn member(&self, call: Call, communicator: u32) -> Result<u32, ReplayError> {
        let (rank, call) = (self.rank, call.name());
        if self.job.members(communicator).is_none() {
            let known = self.job.communicators.len() as u32;
            return Err(ReplayError::NoSuchCommunicator {
                rank,
                call,
                communicator,
                known,
            });
        }
        let not_a_member = ReplayError::NotAMember {
            rank,
            call,
            communicator,
        };
        self.job.rank_in(communicator, rank).ok_or(not_a_member)
    }

    /// The rank of the job that is `peer` in the communicator.
    pub(crate) fn peer(&self, call: Call, communicator: u32, peer: u32) -> Result<u32, ReplayError> {
        self.member(call, communicator)?;
        let members = self.job.members(communicator).unwrap_or_default();
        members
            .get(peer as usize)
            .copied()
            .ok_or(ReplayError::NoSuchRank {
                rank: self.rank,
                call: call.name(),
                peer,
                communicator,
                size: members.len() as u32,
            })
    }

    /// The handle of a request that the program now waits for.
    fn surrender(&mut self, call: Call, request: u64) -> Result<u32, ReplayError> {
        let unknown = ReplayError::UnknownRequest {
            rank: self.rank,
            call: call.name(),
            request,
        };
        self.open.remove(request, &mut self.journal).ok_or(unknown)
    }

    /// The request, if it is free to be opened.
    fn unused(&self, call: Call, request: u64) -> Result<u64, ReplayError> {
        if self.open.contains(request) {
            return Err(ReplayError::RequestInUse {
                rank: self.rank,
                call: call.name(),
                request,
            });
        }
        Ok(request)
    }

    /// The time a span after `time`.
    pub(crate) fn after(&self, time: Time, span: Time) -> Result<Time, ReplayError> {
        let overflow = ReplayError::TimeOverflow {
            rank: self.rank,
            now: time,
            span,
        };
        time.ps()
            .checked_add(span.ps())
            .map(Time::from_ps)
            .ok_or(overflow)
    }
}
