//! Execution of a program's operations on the CPU of a rank.
//!
//! A rank continues until an operation takes time. Operations without time (an overhead of zero, a receive
//! whose message has arrived) are executed inline, without a call of the owner.

use des::Time;
use workload::{Call, Operation};

use crate::agreement::RankCall;
use crate::cpu::{CpuActivity, CpuState, CpuStep, OutgoingSend, SendOrigin};
use crate::job::Group;
use crate::matching::{MatchPattern, PostedReceive};
use crate::message::{COLLECTIVE_CONTEXT, Message, MessageKind, NO_REQUEST};
use crate::path::PackedPath;
use crate::rank::{Action, Rank};
use crate::requests::{Owner, Request, RequestInfo, RequestKind};
use crate::settings::time_at;
use crate::statistics::CountedMessage;
use crate::timeline::{TimelineActivity, TimelineEvent, index_of};
use crate::{CollectiveCall, ReplayError};

impl Rank {
    /// Executes operations until one takes time or the program ends.
    pub(crate) fn advance(&mut self, now: Time, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        loop {
            let step = if self.collective.in_progress() {
                self.collective_step(now, out)?
            } else {
                self.next_operation(now, out)?
            };
            if step == CpuStep::Suspend {
                return Ok(());
            }
        }
    }

    /// Continues after a busy CPU span.
    pub(crate) fn resume_after(
        &mut self,
        departure: Option<OutgoingSend>,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<(), ReplayError> {
        if let Some(departure) = departure
            && self.depart(departure, now, out)? == CpuStep::Suspend
        {
            return Ok(());
        }
        self.advance(now, out)
    }

    fn next_operation(&mut self, now: Time, out: &mut Vec<Action>) -> Result<CpuStep, ReplayError> {
        self.close_activity(now, out);
        if self.answering.is_some() {
            self.tell_program(now);
        }
        match self.program.next(&mut self.journal)? {
            Some(operation) => self.begin(operation, now, out),
            None => {
                self.state.set(CpuState::Finished, &mut self.journal);
                self.stats.finish(now, &mut self.journal);
                out.push(Action::Finished);
                Ok(CpuStep::Suspend)
            }
        }
    }

    /// Adds the time of the activity that ends now.
    pub(crate) fn close_activity(&mut self, now: Time, out: &mut Vec<Action>) {
        let since = *self.since;
        let span = now.saturating_sub(since);
        match *self.activity {
            CpuActivity::None => {}
            CpuActivity::Compute(region) => {
                self.stats.count_compute(span, &mut self.journal);
                if span > Time::ZERO {
                    self.report_rest(TimelineActivity::Compute(region), now, out);
                }
            }
            CpuActivity::Call { call, calls } => {
                self.stats.count_call(call, calls, span, &mut self.journal);
                // A call that ended with a wait is already reported.
                let is_reported = span > Time::ZERO && self.timeline_until() == now;
                if !is_reported && (span > Time::ZERO || calls > 0) {
                    self.report_rest(TimelineActivity::Call(call), now, out);
                }
            }
        }
        self.activity.set(CpuActivity::None, &mut self.journal);
        self.since.set(now, &mut self.journal);
    }

    /// Reports the unreported rest of an activity.
    fn report_rest(&self, what: TimelineActivity, now: Time, out: &mut Vec<Action>) {
        let did = || TimelineEvent::Activity {
            what,
            since: self.timeline_until(),
            until: now,
            blocked: false,
        };
        self.add_to_timeline(did, out);
    }

    pub(crate) fn enter(&mut self, call: Call, calls: u64) {
        self.activity
            .set(CpuActivity::Call { call, calls }, &mut self.journal);
    }

    fn begin(
        &mut self,
        operation: Operation,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<CpuStep, ReplayError> {
        match operation {
            Operation::Compute { ps, region } => {
                self.activity.set(CpuActivity::Compute(region), &mut self.journal);
                let span = self
                    .job
                    .settings
                    .compute
                    .apply(Time::from_ps(ps), region, self.rank);
                self.add_compute(span);
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
                    None => SendOrigin::Blocking,
                    Some(request) => SendOrigin::NonBlocking(self.check_unused(call, request)?),
                };
                self.begin_send(
                    OutgoingSend {
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
                let info = RequestInfo {
                    kind: RequestKind::Receive,
                    peer,
                    tag,
                    context,
                    call,
                };
                self.begin_receive(info, bytes, request, now, out)
            }
            Operation::Wait { requests, call } => {
                self.enter(call, u64::from(call != Call::Sendrecv));
                self.begin_waiting(now);
                for request in &requests {
                    let handle = self.take_request(call, *request)?;
                    self.wait_for(handle)?;
                }
                self.finish_wait(now, out)
            }
            Operation::Select {
                requests,
                takes,
                blocks,
                call,
            } => {
                self.enter(call, 1);
                self.begin_select(requests, (takes, blocks), call, now, out)
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
                self.begin_probe(MatchPattern { context, from, tag }, now, out)
            }
            Operation::Iprobe {
                from,
                tag,
                communicator: context,
                call,
            } => {
                self.enter(call, 1);
                self.member(call, context)?;
                let from = from.map(|from| self.peer(call, context, from)).transpose()?;
                self.begin_iprobe(MatchPattern { context, from, tag }, now, out)
            }
            Operation::MatchedProbe {
                from,
                tag,
                communicator: context,
                message,
                blocks,
                call,
            } => {
                self.enter(call, 1);
                self.member(call, context)?;
                let from = from.map(|from| self.peer(call, context, from)).transpose()?;
                let pattern = MatchPattern { context, from, tag };
                self.begin_matched_probe(pattern, (message, blocks), call, now, out)
            }
            Operation::ReceiveMatched {
                message,
                bytes,
                request,
                call,
            } => {
                self.enter(call, 1);
                self.begin_receive_matched(message, bytes, request, call, now, out)
            }
            Operation::Cancel { request, call } => {
                self.enter(call, 1);
                self.cancel(request, call)
            }
            Operation::NewCommunicator {
                communicator,
                members,
                call,
            } => self.make_communicator(communicator, members, call),
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
                self.enter(call, 1);
                let own = self.own_call(call, communicator, root, bytes)?;
                let request = request
                    .map(|request| self.check_unused(call, request))
                    .transpose()?;
                let own_call = RankCall {
                    collective,
                    call,
                    own,
                    counts,
                    reduction,
                    blocks: request.is_none(),
                };
                let schedule = self.next_schedule(communicator | COLLECTIVE_CONTEXT, own_call)?;
                match request {
                    None => self.begin_collective(schedule, now, out),
                    Some(request) => self.begin_nonblocking(schedule, request, now, out),
                }
            }
            Operation::Put {
                to,
                communicator,
                bytes,
                call,
            } => self.begin_one_sided(SendOrigin::Put, (to, communicator, bytes), call, now, out),
            Operation::Get {
                from,
                communicator,
                bytes,
                call,
            } => self.begin_one_sided(SendOrigin::Get, (from, communicator, bytes), call, now, out),
            Operation::Fence { communicator, call } => self.begin_fence(communicator, call, now, out),
            Operation::RepetitionEnd {
                number,
                goes_on,
                is_endless,
            } => {
                self.check_repetition(number, is_endless, now)?;
                Ok(self.end_repetition((number, goes_on), now, out))
            }
        }
    }

    fn begin_receive(
        &mut self,
        info: RequestInfo,
        capacity: u64,
        request: Option<u64>,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<CpuStep, ReplayError> {
        let request = request
            .map(|request| self.check_unused(info.call, request))
            .transpose()?;
        let handle = self.post(info, capacity, now, out)?;
        self.own_receive(handle, request, now, out)
    }

    /// A receive becomes a request of the program, or the rank waits for it.
    pub(crate) fn own_receive(
        &mut self,
        handle: u32,
        request: Option<u64>,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<CpuStep, ReplayError> {
        if let Some(request) = request {
            self.open.insert(request, handle, &mut self.journal);
            return Ok(CpuStep::Continue);
        }
        self.begin_waiting(now);
        self.wait_for(handle)?;
        self.finish_wait(now, out)
    }

    /// Probes for a message and waits until one arrives.
    fn begin_probe(
        &mut self,
        pattern: MatchPattern,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<CpuStep, ReplayError> {
        let search = self.matching.probe(&pattern);
        let cost = self.search_cost(search.looked_at);
        let busy_until = self.add_time(now, cost)?;
        self.add_overhead(cost);
        if let Some(index) = search.found {
            if self.answering.is_some() {
                self.tell_found(index);
            }
            self.wait(0, busy_until);
            return self.finish_wait(now, out);
        }
        self.await_probed(pattern, busy_until, None)
    }

    /// Keeps the CPU busy for a span, then issues `departure`.
    fn occupy(
        &mut self,
        now: Time,
        span: Time,
        departure: Option<OutgoingSend>,
        out: &mut Vec<Action>,
    ) -> Result<CpuStep, ReplayError> {
        if span == Time::ZERO {
            return match departure {
                Some(departure) => self.depart(departure, now, out),
                None => Ok(CpuStep::Continue),
            };
        }
        let until = self.add_time(now, span)?;
        self.state
            .set(CpuState::Busy { until, departure }, &mut self.journal);
        out.push(Action::ResumeAt(until));
        Ok(CpuStep::Suspend)
    }

    /// CPU time of the sender: the overhead, and the copy of a payload that does not leave from the buffer of the
    /// program.
    #[inline]
    pub(crate) fn send_cost(&self, leaving: &OutgoingSend) -> Time {
        let settings = &self.job.settings;
        if settings.send_copy_bandwidth.is_none() {
            return settings.send_overhead;
        }
        self.send_cost_with_copy(leaving)
    }

    /// Apart, so that sends of jobs without copies stay short enough to be inlined.
    #[cold]
    fn send_cost_with_copy(&self, leaving: &OutgoingSend) -> Time {
        let settings = &self.job.settings;
        let copies = leaving.is_two_sided()
            && leaving.bytes > settings.short_threshold
            && (leaving.is_copied(settings) || !leaving.is_rendezvous(settings));
        let copied = if copies { leaving.bytes } else { 0 };
        let copy = time_at(copied, settings.send_copy_bandwidth);
        Time(settings.send_overhead.ps().saturating_add(copy.ps()))
    }

    /// Pays the send overhead and the copy of the sender, then issues the send.
    #[inline]
    pub(crate) fn begin_send(
        &mut self,
        departure: OutgoingSend,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<CpuStep, ReplayError> {
        let cost = self.send_cost(&departure);
        self.add_overhead(cost);
        self.occupy(now, cost, Some(departure), out)
    }

    /// Issues a send, then continues according to its origin.
    fn depart(
        &mut self,
        leaving: OutgoingSend,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<CpuStep, ReplayError> {
        let origin = leaving.origin;
        // When it began to pay. Only a timeline asks, and a send is on the hot path.
        let at = || now.saturating_sub(self.send_cost(&leaving));
        if !leaving.is_two_sided() {
            let algorithm = None;
            self.add_to_timeline(|| TimelineEvent::SendIssued { at: at(), algorithm }, out);
            self.issue_one_sided(&leaving, out);
            return Ok(CpuStep::Continue);
        }
        let algorithm = || match origin {
            SendOrigin::Collective => self.collective.algorithm().and_then(index_of),
            _ => None,
        };
        self.add_to_timeline(
            || TimelineEvent::SendIssued {
                at: at(),
                algorithm: algorithm(),
            },
            out,
        );
        let pending = self.issue(&leaving, out);
        match (origin, pending) {
            (SendOrigin::Blocking, Some(handle)) => {
                self.begin_waiting(now);
                self.wait_for(handle)?;
                return self.finish_wait(now, out);
            }
            (SendOrigin::NonBlocking(number), pending) => {
                let complete = Request {
                    complete: true,
                    ..Request::new(leaving.info(), Owner::Program)
                };
                let handle = pending.unwrap_or_else(|| self.requests.add(complete, &mut self.journal));
                self.open.insert(number, handle, &mut self.journal);
            }
            (SendOrigin::Collective, Some(handle)) => self.collective.add_pending(handle, &mut self.journal),
            _ => {}
        }
        Ok(CpuStep::Continue)
    }

    /// Issues a message, or the request to send it. Returns the request if the send is not complete yet.
    pub(crate) fn issue(&mut self, leaving: &OutgoingSend, out: &mut Vec<Action>) -> Option<u32> {
        let OutgoingSend {
            to,
            context,
            tag,
            bytes,
            ..
        } = *leaving;
        let settings = &self.job.settings;
        let (rendezvous, copied) = (leaving.is_rendezvous(settings), leaving.is_copied(settings));
        let (kind, request) = if rendezvous {
            let owner = if copied { Owner::Unawaited } else { Owner::Program };
            let info = leaving.info();
            let handle = self.requests.open(info, owner, &mut self.journal);
            (MessageKind::RequestToSend, handle)
        } else {
            (MessageKind::Eager, NO_REQUEST)
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
            path: PackedPath::default(),
        };
        let message = self.with_path(message);
        out.push(Action::Send(message));
        let of_collective = message.is_of_collective();
        if self.answering.is_some() && !of_collective {
            self.tell_sent(to, sequence);
        }
        self.stats
            .count_sent(CountedMessage { of_collective, bytes }, &mut self.journal);
        // A copied or eager send is complete for the sender.
        (rendezvous && !copied).then_some(request)
    }

    /// Posts a receive, which may take an unexpected message. It costs no CPU time.
    pub(crate) fn post(
        &mut self,
        info: RequestInfo,
        capacity: u64,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<u32, ReplayError> {
        let receive = Request {
            cost: self.job.settings.receive_overhead,
            ..Request::new(info, Owner::Program)
        };
        let handle = self.requests.add(receive, &mut self.journal);
        let RequestInfo {
            peer: from,
            tag,
            context,
            ..
        } = info;
        let pattern = MatchPattern { context, from, tag };
        let posted = PostedReceive {
            pattern,
            capacity,
            handle,
        };
        let search = self.matching.post(posted, &mut self.journal);
        self.charge_match(handle, search.looked_at, None);
        if let Some(unexpected) = search.found {
            self.charge_match(handle, unexpected.looked_at, Some(&unexpected.message));
            self.accept(posted, unexpected.message, now, out)?;
        }
        Ok(handle)
    }

    /// Adds to the completion of a receive the CPU time of comparing queue entries, and of copying the message that it
    /// matches. Most jobs have neither, so that one flag of the job decides.
    #[inline]
    pub(crate) fn charge_match(&mut self, handle: u32, entries: u32, matched: Option<&Message>) {
        if self.job.matching_takes_time() {
            self.charge_search_and_copy(handle, entries, matched);
        }
    }

    #[cold]
    fn charge_search_and_copy(&mut self, handle: u32, entries: u32, matched: Option<&Message>) {
        self.charge(handle, self.search_cost(entries));
        if let Some(message) = matched {
            self.charge(handle, self.receive_copy(message));
        }
    }

    /// CPU time of copying an eager payload out of the buffer of the library. The data of a rendezvous and one-sided
    /// transfers go into the buffer of the program.
    fn receive_copy(&self, envelope: &Message) -> Time {
        let settings = &self.job.settings;
        let copied = envelope.kind == MessageKind::Eager && envelope.bytes > settings.short_threshold;
        time_at(
            if copied { envelope.bytes } else { 0 },
            settings.receive_copy_bandwidth,
        )
    }

    /// CPU time of comparing this many queue entries.
    pub(crate) fn search_cost(&self, entries: u32) -> Time {
        let each = self.job.settings.matching_overhead.ps();
        Time(each.saturating_mul(entries.into()))
    }

    /// Adds CPU time to the completion of a request.
    pub(crate) fn charge(&mut self, handle: u32, span: Time) {
        if span > Time::ZERO {
            let add =
                |request: &mut Request| request.cost = Time(request.cost.ps().saturating_add(span.ps()));
            self.requests.alter(handle, add, &mut self.journal);
        }
    }

    /// Starts a wait for no requests yet.
    pub(crate) fn begin_waiting(&mut self, now: Time) {
        let (outstanding, busy_until) = (0, now);
        self.wait(outstanding, busy_until);
    }

    /// Waits for this many requests.
    pub(crate) fn wait(&mut self, outstanding: u32, busy_until: Time) {
        let waiting = CpuState::Waiting {
            outstanding,
            busy_until,
        };
        self.state.set(waiting, &mut self.journal);
    }

    /// Adds a request to the wait, or pays its overhead if it is complete.
    pub(crate) fn wait_for(&mut self, handle: u32) -> Result<(), ReplayError> {
        let (
            CpuState::Waiting {
                outstanding,
                busy_until,
            },
            Some(request),
        ) = (*self.state, self.requests.get(handle))
        else {
            return Err(self.contract_error(format!("request handle {handle} is gone")));
        };
        if !request.complete {
            self.set_owner(handle, Owner::Blocked);
            self.wait(outstanding + 1, busy_until);
            return Ok(());
        }
        let cost = request.cost;
        if cost > Time::ZERO {
            let busy_until = self.add_time(busy_until, cost)?;
            self.wait(outstanding, busy_until);
            self.add_overhead(cost);
        }
        self.requests.close(handle, &mut self.journal);
        self.tell(|answering| answering.completed(handle));
        Ok(())
    }

    pub(crate) fn set_owner(&mut self, handle: u32, owner: Owner) {
        let own = |request: &mut Request| request.owner = owner;
        self.requests.alter(handle, own, &mut self.journal);
    }

    /// Ends the wait if no request is outstanding.
    pub(crate) fn finish_wait(&mut self, now: Time, out: &mut Vec<Action>) -> Result<CpuStep, ReplayError> {
        let CpuState::Waiting {
            outstanding: 0,
            busy_until,
        } = *self.state
        else {
            return Ok(CpuStep::Suspend);
        };
        self.state.set(CpuState::Running, &mut self.journal);
        self.occupy(now, busy_until.saturating_sub(now), None, out)
    }

    /// Continues if the wait has ended.
    pub(crate) fn resume_if_complete(&mut self, now: Time, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        match self.finish_wait(now, out)? {
            CpuStep::Continue => self.advance(now, out),
            CpuStep::Suspend => Ok(()),
        }
    }

    /// The members of a communicator of the job, or of one that this rank has made.
    #[inline]
    pub(crate) fn group(&self, communicator: u32) -> Option<&Group> {
        match self.job.group(communicator) {
            None => self.made_group(communicator),
            group => group,
        }
    }

    /// The rank in a communicator of a rank of the job; that rank itself if it is not a member.
    pub(crate) fn rank_in(&self, communicator: u32, rank: u32) -> u32 {
        let group = self.group(communicator);
        group.and_then(|group| group.rank_in(rank)).unwrap_or(rank)
    }

    /// The members of a communicator that the rank calls.
    #[inline]
    pub(crate) fn known(&self, call: Call, communicator: u32) -> Result<&Group, ReplayError> {
        match self.group(communicator) {
            None => self.job.known(self.rank, call, communicator),
            Some(group) => Ok(group),
        }
    }

    /// The call of this rank in a collective of a communicator.
    pub(crate) fn own_call(
        &self,
        call: Call,
        communicator: u32,
        root: u32,
        bytes: u64,
    ) -> Result<CollectiveCall, ReplayError> {
        let group = self.known(call, communicator)?;
        let rank = group.member(self.rank, call, communicator)?;
        group.peer(self.rank, call, communicator, root)?;
        Ok(CollectiveCall::new(rank, group.size(), root, bytes))
    }

    /// This rank in the communicator.
    pub(crate) fn member(&self, call: Call, communicator: u32) -> Result<u32, ReplayError> {
        self.known(call, communicator)?
            .member(self.rank, call, communicator)
    }

    /// The rank of the job that is `peer` in the communicator.
    pub(crate) fn peer(&self, call: Call, communicator: u32, peer: u32) -> Result<u32, ReplayError> {
        let group = self.known(call, communicator)?;
        group.peer(self.rank, call, communicator, peer)
    }

    /// Removes and returns the handle of the program's request, for which the operation waits.
    pub(crate) fn take_request(&mut self, call: Call, request: u64) -> Result<u32, ReplayError> {
        let Some(handle) = self.open.remove(request, &mut self.journal) else {
            return Err(self.unknown_request(call, request));
        };
        self.tell(|answering| answering.awaits(handle, request));
        Ok(handle)
    }

    /// The handle of the program's request.
    pub(crate) fn open_request(&self, call: Call, request: u64) -> Result<u32, ReplayError> {
        let handle = self.open.get(request);
        handle.ok_or_else(|| self.unknown_request(call, request))
    }

    fn unknown_request(&self, call: Call, request: u64) -> ReplayError {
        ReplayError::UnknownRequest {
            rank: self.rank,
            call: call.name(),
            request,
        }
    }

    /// Returns the request number if it is not in use.
    pub(crate) fn check_unused(&self, call: Call, request: u64) -> Result<u64, ReplayError> {
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
    pub(crate) fn add_time(&self, time: Time, span: Time) -> Result<Time, ReplayError> {
        let overflow = || ReplayError::TimeOverflow {
            rank: self.rank,
            now: time,
            span,
        };
        time.ps()
            .checked_add(span.ps())
            .map(Time::from_ps)
            .ok_or_else(overflow)
    }
}
