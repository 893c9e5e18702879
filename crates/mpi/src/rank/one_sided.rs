//! One-sided communication: put, get, and the fence that ends them.
//!
//! Source: MPI 4.1, chapter 12 "One-Sided Communications", synchronisation by `MPI_Win_fence`. The protocol is
//! that of NICs with remote memory access: the CPU of the target takes no part.

use des::Time;
use workload::Call;

use crate::ReplayError;
use crate::agreement::RankCall;
use crate::cpu::{CpuStep, OutgoingSend, SendOrigin};
use crate::message::{COLLECTIVE_CONTEXT, Message, MessageKind, NO_REQUEST, RMA_CONTEXT};
use crate::path::PackedPath;
use crate::rank::{Action, Rank};
use crate::requests::{Owner, RequestKind};
use crate::statistics::CountedMessage;

impl Rank {
    /// Pays the overhead of a put or get ([`SendOrigin::Put`], [`SendOrigin::Get`]), then issues it.
    pub(crate) fn begin_one_sided(
        &mut self,
        origin: SendOrigin,
        (peer, communicator, bytes): (u32, u32, u64),
        call: Call,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<CpuStep, ReplayError> {
        self.enter(call, 1);
        let departure = OutgoingSend {
            to: self.peer(call, communicator, peer)?,
            context: communicator | RMA_CONTEXT,
            tag: 0,
            bytes,
            call,
            origin,
        };
        self.begin_send(departure, now, out)
    }

    /// Issues a put or get. Only the fence waits for it.
    pub(crate) fn issue_one_sided(&mut self, leaving: &OutgoingSend, out: &mut Vec<Action>) {
        let info = leaving.info();
        let request = self.requests.open(info, Owner::Unawaited, &mut self.journal);
        let kind = match info.kind {
            RequestKind::Get => MessageKind::Get,
            _ => MessageKind::Put,
        };
        let message = self.with_path(Message {
            from: self.rank,
            to: leaving.to,
            communicator: leaving.context,
            tag: leaving.tag,
            bytes: leaving.bytes,
            sequence: 0,
            request,
            kind,
            path: PackedPath::default(),
        });
        out.push(Action::Send(message));
        if kind == MessageKind::Put {
            self.stats.count_sent(payload(leaving.bytes), &mut self.journal);
        }
    }

    /// Executes a put or get on the memory of this rank.
    pub(crate) fn serve_one_sided(
        &mut self,
        message: Message,
        out: &mut Vec<Action>,
    ) -> Result<(), ReplayError> {
        if message.request == NO_REQUEST {
            return Err(self.contract_error(format!("it received the unrequested {message:?}")));
        }
        let (moved, answer) = (payload(message.bytes), message.kind == MessageKind::Put);
        if answer {
            self.stats.count_received(moved, &mut self.journal);
            out.push(Action::Send(self.with_path(message.reply(MessageKind::PutDone))));
        } else {
            self.stats.count_sent(moved, &mut self.journal);
            out.push(Action::Send(self.with_path(message.reply(MessageKind::GetData))));
        }
        Ok(())
    }

    /// Accepts the answer to a put or get.
    pub(crate) fn accept_reply(
        &mut self,
        answer: Message,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<(), ReplayError> {
        let kind = match answer.kind {
            MessageKind::GetData => RequestKind::Get,
            _ => RequestKind::Put,
        };
        let asked = self
            .requests
            .get(answer.request)
            .is_some_and(|request| request.info.kind == kind && request.info.peer == Some(answer.from));
        if !asked {
            return Err(self.contract_error(format!("it did not ask for {answer:?}")));
        }
        if kind == RequestKind::Get {
            self.stats
                .count_received(payload(answer.bytes), &mut self.journal);
        }
        self.complete(answer.request, now, out)
    }

    /// Waits for the rank's own puts and gets, then for all other ranks in a barrier.
    pub(crate) fn begin_fence(
        &mut self,
        communicator: u32,
        call: Call,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<CpuStep, ReplayError> {
        self.enter(call, 1);
        let own_call = self.own_call(call, communicator, 0, 0)?;
        let window = communicator | RMA_CONTEXT;
        let schedule = self.next_schedule(window | COLLECTIVE_CONTEXT, RankCall::fence(call, own_call))?;
        // The barrier posts its first receives now, which costs nothing. Its first send follows the wait.
        self.begin_collective(schedule, now, out)?;
        let own: Vec<u32> = self
            .requests
            .iter()
            .filter(|(_, request)| {
                let info = &request.info;
                matches!(info.kind, RequestKind::Put | RequestKind::Get) && info.context == window
            })
            .map(|(handle, _)| handle)
            .collect();
        self.begin_waiting(now);
        for handle in own {
            self.wait_for(handle)?;
        }
        self.finish_wait(now, out)
    }
}

/// One-sided data counts as point-to-point messages, in the direction of the data.
fn payload(bytes: u64) -> CountedMessage {
    CountedMessage {
        of_collective: false,
        bytes,
    }
}
